//! AirGNN (Liu et al. 2021, "Graph Neural Networks with Adaptive Residual"): a two-layer
//! perceptron, then adaptive message passing `Y = Φ H`, `H ← H⁰ + s ∘ (Y - H⁰)` with
//! `s_i = max(0, 1 - γ λ / |y_i - h⁰_i|)`.
//!
//! A node whose neighbours agree with it keeps its own answer, one that is unlike them listens:
//! features that stand out are smoothed. λ in 0 to 1 and `γ = 1 / (2 (1 - λ))`, the paper's step.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::edges::TINY;
use crate::nn::entry::{Entry, Level, NetworkOption, Plan};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor};

use NetworkOption::{Dropout, Hidden, InputDropout, OrthogonalStart, PropagationSteps};

pub(in crate::nn) const ENTRY: Entry = Entry {
    applies_alone: true,
    level: Some(Level {
        usual: 0.5,
        least: 0.0,
        most: 0.999,
    }),
    ..Entry::new(
        "airgnn",
        "predict, then propagate with a residual that adapts to every node",
        build,
        &[
            Hidden,
            Dropout,
            InputDropout,
            PropagationSteps,
            OrthogonalStart,
            NetworkOption::Level,
        ],
    )
};

#[derive(Debug)]
struct Air {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    /// γ λ
    slack: f64,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    Ok(Box::new(Air {
        first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
        second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
        dropout: plan.dropout,
        steps: plan.propagation_steps,
        slack: plan.level / (2.0 * (1.0 - plan.level)),
    }))
}

impl Body for Air {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let own = self.second.forward(&Input::Dense(h), pass)?;
        let mut h = own.clone();
        for _ in 0..self.steps {
            let apart = (propagation.operator.apply(&h)? - &own)?;
            let length = (apart.sqr()?.sum_keepdim(1)? + TINY)?.sqrt()?;
            let share = ((&length - self.slack)?.relu()? / length)?;
            h = (&own + apart.broadcast_mul(&share)?)?;
        }
        Ok(h)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.first.weight]
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
