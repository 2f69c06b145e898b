//! APPNP (Gasteiger et al. 2019): a two-layer perceptron, then personalised propagation
//! `H ← (1 - α) Φ H + α H_0`.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::entry::{Entry, NetworkOption, Plan};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor};

use NetworkOption::{Dropout, Hidden, InputDropout, OrthogonalStart, PropagationSteps, Teleport};

pub(in crate::nn) const ENTRY: Entry = Entry {
    applies_alone: true,
    ..Entry::new(
        "appnp",
        "predict, then propagate by personalised PageRank",
        build,
        &[
            Hidden,
            Dropout,
            InputDropout,
            PropagationSteps,
            Teleport,
            OrthogonalStart,
        ],
    )
};

#[derive(Debug)]
struct Appnp {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    alpha: f64,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    Ok(Box::new(Appnp {
        first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
        second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
        dropout: plan.dropout,
        steps: plan.propagation_steps,
        alpha: plan.teleport,
    }))
}

impl Body for Appnp {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let h = self
            .first
            .forward_activated(x, pass, pass.dropout(self.dropout, 0))?;
        let predicted = self.second.forward(&Input::Dense(h), pass)?;
        let kept = (&predicted * self.alpha)?;
        let mut h = predicted;
        for _ in 0..self.steps {
            h = ((propagation.operator.apply(&h)? * (1.0 - self.alpha))? + &kept)?;
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
