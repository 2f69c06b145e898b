//! SGC (Wu et al. 2019): `Φ^layers X W + b`.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::entry::{Entry, NetworkOption, Plan};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{ParamId, Params, Pass};
use crate::tensor::{Result, Tensor};

use NetworkOption::{InputDropout, Layers, OrthogonalStart};

pub(in crate::nn) const ENTRY: Entry = Entry {
    applies_alone: true,
    one_map: true,
    ..Entry::new(
        "sgc",
        "a linear map of propagated features",
        build,
        &[Layers, InputDropout, OrthogonalStart],
    )
};

#[derive(Debug)]
struct Sgc {
    linear: Linear,
    rounds: usize,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
    let linear = Linear::glorot(params, "linear", plan.in_dim, plan.num_classes, true, rng)?;
    Ok(Box::new(Sgc {
        linear,
        rounds: plan.layers,
    }))
}

impl Body for Sgc {
    /// Φ^K (X W) + b: the linear map first, since it is the narrower side.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let mut h = x.matmul(pass.weight(self.linear.weight), None)?;
        for step in 0..self.rounds {
            let bias = self
                .linear
                .bias
                .filter(|_| step + 1 == self.rounds)
                .map(|b| pass.weight(b));
            h = propagation.round(step).apply_with_bias(&h, bias)?;
        }
        Ok(h)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn reach(&self) -> Option<usize> {
        Some(self.rounds)
    }
}
