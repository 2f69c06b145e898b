//! SGC ([Wu et al. 2019](https://arxiv.org/abs/1902.07153)): `Φ^layers X W + b`.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// Simple graph convolution (Wu et al. 2019,
/// [arXiv:1902.07153](https://arxiv.org/abs/1902.07153)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "sgc",
    constant,
    about = "one linear map of propagated features"
)]
pub struct Sgc {}

impl Architecture for Sgc {
    fn entry(&self) -> Entry {
        Entry::new(&[S::Layers, S::InputDropout, S::OrthogonalStart])
            .with(&[Capability::OperatorFree, Capability::OneMap])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let linear = Linear::glorot(params, "linear", plan.in_dim, plan.num_classes, true, rng)?;
        Ok(Box::new(SgcBody {
            linear,
            hops: plan.layers,
        }))
    }
}

#[derive(Debug)]
struct SgcBody {
    linear: Linear,
    hops: usize,
}

impl Body for SgcBody {
    /// Computes Φ^K (X W) + b: the linear map first, since its output is narrower.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let mut h = x.matmul(pass.weight(self.linear.weight), None)?;
        for step in 0..self.hops {
            let bias = self
                .linear
                .bias
                .filter(|_| step + 1 == self.hops)
                .map(|b| pass.weight(b));
            h = propagation.layer(step).apply_with_bias(&h, bias)?;
        }
        Ok(h)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn reach(&self) -> Option<usize> {
        Some(self.hops)
    }
}
