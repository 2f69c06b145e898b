//! RUNG (Hou et al. 2024, "Robust Graph Neural Networks via Unbiased Aggregation"): a two-layer
//! perceptron, then steps towards the minimum of `Σ_ij ρ(y_ij) + λ Σ_i |f_i - f⁰_i|²`,
//! `y_ij = |f_i / √d_i - f_j / √d_j|`.
//!
//! ρ is the minimax concave penalty: differences above γ cost no more than γ does, so that an edge
//! between unlike nodes pulls at neither. A step of the reweighted least squares, quasi-Newton, is
//! `F ← (diag(q) + λ)^-1 ((W ∘ Ã) F + λ F⁰)` with `W_ij = max(0, 1 / (2 y_ij) - 1 / (2 γ))`, zero
//! on the diagonal, `q_i = Σ_j W_ij A_ij / d_i`, `Ã = D^-1/2 A D^-1/2` and degrees that count a
//! loop. `λ = α / (1 - α)` for the teleport α; `y` is at least 0.1, as in the authors' code. While
//! training W is a constant, as there; of a prediction gradients go through it.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::edges::{Edges, TINY, held};
use crate::nn::entry::{Entry, Level, NetworkOption, Plan, UsualOperator};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor};

use NetworkOption::{Dropout, Hidden, InputDropout, OrthogonalStart, PropagationSteps, Teleport};

pub(in crate::nn) const ENTRY: Entry = Entry {
    usual_operator: UsualOperator::ADJACENCY,
    level: Some(Level {
        usual: 3.0,
        least: 1e-6,
        most: f64::INFINITY,
    }),
    ..Entry::new(
        "rung",
        "predict, then propagate where neighbours are not too unlike (unbiased robust aggregation)",
        build,
        &[
            Hidden,
            Dropout,
            InputDropout,
            PropagationSteps,
            Teleport,
            OrthogonalStart,
            NetworkOption::Level,
        ],
    )
};

/// Added to squared differences: no weight is above five.
const SOFTENING: f64 = 0.01;

#[derive(Debug)]
struct Rung {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    alpha: f64,
    gamma: f64,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    Ok(Box::new(Rung {
        first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
        second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
        dropout: plan.dropout,
        steps: plan.propagation_steps,
        alpha: plan.teleport,
        gamma: plan.level,
    }))
}

impl Body for Rung {
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
            let heard = edges
                .with_values(&(&by_penalty * &weights)?)?
                .apply(&scaled)?
                .broadcast_mul(&scale)?;
            let q = (edges.sums(&(&by_penalty * &sizes)?)? * scale.sqr()?)?;
            // Both sides of the quotient times 1 - α.
            let share = ((q * (1.0 - self.alpha))? + (self.alpha + TINY))?.recip()?;
            f = ((heard * (1.0 - self.alpha))? + &kept)?.broadcast_mul(&share)?;
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
