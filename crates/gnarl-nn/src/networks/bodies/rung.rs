//! RUNG ([Hou et al. 2024](https://arxiv.org/abs/2311.14934), "Robust Graph Neural Networks via
//! Unbiased Aggregation"): a two-layer perceptron, then steps towards the minimum of
//! `Σ_ij ρ(y_ij) + λ Σ_i |f_i - f⁰_i|²`, `y_ij = |f_i / √d_i - f_j / √d_j|`.
//!
//! ρ is the minimax concave penalty: differences above γ cost no more than γ does, so that an edge
//! between dissimilar nodes has no influence on either. A step of quasi-Newton iteratively
//! reweighted least squares is `F ← (diag(q) + λ)^-1 ((W ∘ Ã) F + λ F⁰)` with
//! `W_ij = max(0, 1 / (2 y_ij) - 1 / (2 γ))`, zero on the diagonal, `q_i = Σ_j W_ij A_ij / d_i`,
//! `Ã = D^-1/2 A D^-1/2` and degrees that count a self-loop. `λ = α / (1 - α)` for the teleport
//! probability α; `y` is at least 0.1, as in the authors' code. In training W is a constant, as in
//! that code; in prediction gradients go through it.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::{Edges, TINY, held};
use crate::networks::entry::{Architecture, DefaultOperator, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// Robust graph network by unbiased aggregation (Hou et al. 2024,
/// [arXiv:2311.14934](https://arxiv.org/abs/2311.14934)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "rung",
    constant,
    about = "robust aggregation with unbiased edge weights (RUNG)"
)]
pub struct Rung {
    /// Teleport probability.
    #[setting(default = 0.1, range = 0.0..=1.0, flag = "teleport", was = "teleport")]
    pub alpha: f64,
    /// Number of propagation steps after the perceptron (K).
    #[setting(default = 10, range = 0..=10_000)]
    pub propagation_steps: usize,
    /// Difference between the ends of an edge above which the edge has zero weight (γ).
    #[setting(default = 3.0, range = 1e-6.., was = "level")]
    pub gamma: f64,
}

impl Architecture for Rung {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            ..Entry::new(&[S::Hidden, S::Dropout, S::InputDropout, S::OrthogonalStart])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        Ok(Box::new(RungBody {
            first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
            second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
            dropout: plan.dropout as f32,
            steps: self.propagation_steps,
            alpha: self.alpha,
            gamma: self.gamma,
        }))
    }

    fn propagation_steps(&self) -> Option<usize> {
        Some(self.propagation_steps)
    }
}

/// Constant added to squared differences: no weight is above five.
const SOFTENING: f64 = 0.01;

#[derive(Debug)]
struct RungBody {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    alpha: f64,
    gamma: f64,
}

impl Body for RungBody {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let predicted = self.second.forward(&Input::Dense(h), pass)?;
        let edges = Edges::of(&propagation.operator)?;
        let scale = (edges.sums(&edges.sizes)? + 1.0)?.powf(-0.5)?;
        let (weights, sizes) = (
            edges.off_diagonal(&edges.weights)?,
            edges.off_diagonal(&edges.sizes)?,
        );
        let kept = (&predicted * self.alpha)?;
        let mut f = predicted;
        for _ in 0..self.steps {
            let scaled = f.broadcast_mul(&scale)?;
            let distances = (edges.squared_distances(&scaled)? + SOFTENING)?.sqrt()?;
            let by_penalty = ((distances.recip()? * 0.5)? - 0.5 / self.gamma)?.relu()?;
            let by_penalty = held(by_penalty, pass.trains());
            let aggregated = edges
                .with_values(&(&by_penalty * &weights)?)?
                .apply(&scaled)?
                .broadcast_mul(&scale)?;
            let q = (edges.sums(&(&by_penalty * &sizes)?)? * scale.sqr()?)?;
            // Both sides of the quotient times 1 - α.
            let share = ((q * (1.0 - self.alpha))? + (self.alpha + TINY))?.recip()?;
            f = ((aggregated * (1.0 - self.alpha))? + &kept)?.broadcast_mul(&share)?;
        }
        Ok(f)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
