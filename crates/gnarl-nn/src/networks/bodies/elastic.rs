//! ElasticGNN ([Liu et al. 2021](https://arxiv.org/abs/2107.06996), "Elastic Graph Neural
//! Networks"): a two-layer perceptron, then elastic message passing: primal-dual steps towards the
//! minimum of `λ1 Σ_ij |f_i / √d_i - f_j / √d_j| + λ2 / 2 tr(Fᵀ (I - Ã) F) + 1 / 2 |F - F⁰|²`.
//!
//! `Y = γ F⁰ + (1 - γ) Ã F`, `Z ← clip(Z + β Δ (Y - γ Δᵀ Z))`, `F ← Y - γ Δᵀ Z` with
//! `γ = 1 / (1 + λ2)` and `β = 1 / (2 γ)`. Δ takes differences over edges of rows scaled by
//! `1 / √d`, and clip limits the length of every edge's row of Z to λ1 (the paper's ℓ21 form). A
//! few large differences are allowed, as between classes. λ1 and λ2 are equal. An edge's weight
//! multiplies its term, so that an edge of weight zero has no effect; degrees count a self-loop.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::{Edges, TINY};
use crate::networks::entry::{Architecture, DefaultOperator, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor, scatter_rows};

/// Elastic message passing (Liu et al. 2021,
/// [arXiv:2107.06996](https://arxiv.org/abs/2107.06996)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "elastic-gnn",
    constant,
    about = "elastic message passing: smooth except at a few edges"
)]
pub struct ElasticGnn {
    /// Number of propagation steps after the perceptron (K).
    #[setting(default = 10, range = 0..=10_000)]
    pub propagation_steps: usize,
    /// Weights of the L1 and the L2 smoothness term.
    #[setting(default = 3.0, range = 1e-6.., was = "level")]
    pub lambda: f64,
}

impl Architecture for ElasticGnn {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            ..Entry::new(&[S::Hidden, S::Dropout, S::InputDropout, S::OrthogonalStart])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        Ok(Box::new(Elastic {
            first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
            second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
            dropout: plan.dropout as f32,
            steps: self.propagation_steps,
            lambda: self.lambda,
        }))
    }

    fn propagation_steps(&self) -> Option<usize> {
        Some(self.propagation_steps)
    }
}

#[derive(Debug)]
struct Elastic {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    lambda: f64,
}

impl Elastic {
    /// Clips rows to length λ1.
    fn clipped(&self, z: &Tensor) -> Result<Tensor> {
        let length = (z.sqr()?.sum_keepdim(1)? + TINY)?.sqrt()?;
        // λ / max(length, λ)
        let share = (((length - self.lambda)?.relu()? + self.lambda)?.recip()? * self.lambda)?;
        z.broadcast_mul(&share)
    }
}

impl Body for Elastic {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let own = self.second.forward(&Input::Dense(h), pass)?;
        let edges = Edges::of(&propagation.operator)?;
        let scale = (edges.sums(&edges.sizes)? + 1.0)?.powf(-0.5)?;
        let weights = edges.weights.reshape((edges.weights.elem_count(), 1))?;
        let pattern = propagation.operator.pattern();
        let gamma = 1.0 / (1.0 + self.lambda);
        let beta = 1.0 / (2.0 * gamma);
        let by_edges =
            |z: &Tensor| scatter_rows(pattern, &z.broadcast_mul(&weights)?)?.broadcast_mul(&scale);
        let kept = (&own * gamma)?;
        let mut f = own;
        let mut z: Option<Tensor> = None;
        for _ in 0..self.steps {
            let scaled = f.broadcast_mul(&scale)?;
            let smooth = (propagation.operator.apply(&scaled)? + &scaled)?.broadcast_mul(&scale)?;
            let y = ((smooth * (1.0 - gamma))? + &kept)?;
            let ahead = match &z {
                Some(z) => (&y - (by_edges(z)? * gamma)?)?,
                None => y.clone(),
            };
            let ahead = ahead.broadcast_mul(&scale)?;
            // Both arcs of an edge have a row, each the negative of the other: the sum over a
            // node's rows is the whole term.
            let apart = ((edges.by_row(&ahead)? - edges.by_col(&ahead)?)? * beta)?;
            let next = self.clipped(&match &z {
                Some(z) => (z + apart)?,
                None => apart,
            })?;
            f = (&y - (by_edges(&next)? * gamma)?)?;
            z = Some(next);
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
