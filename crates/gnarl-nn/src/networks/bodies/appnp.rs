//! APPNP ([Gasteiger et al. 2019](https://arxiv.org/abs/1810.05997)): a two-layer perceptron, then
//! personalised propagation `H ← (1 - α) Φ H + α H_0`.

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

/// Predict, then propagate by personalised PageRank (Gasteiger et al. 2019,
/// [arXiv:1810.05997](https://arxiv.org/abs/1810.05997)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "appnp",
    constant,
    about = "predict, then propagate by personalised PageRank"
)]
pub struct Appnp {
    /// Teleport probability.
    #[setting(default = 0.1, range = 0.0..=1.0, flag = "teleport", was = "teleport")]
    pub alpha: f64,
    /// Number of propagation steps after the perceptron (K).
    #[setting(default = 10, range = 0..=10_000)]
    pub propagation_steps: usize,
}

impl Architecture for Appnp {
    fn entry(&self) -> Entry {
        Entry::new(&[S::Hidden, S::Dropout, S::InputDropout, S::OrthogonalStart])
            .with(&[Capability::OperatorFree])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        Ok(Box::new(AppnpBody {
            first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
            second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
            dropout: plan.dropout as f32,
            steps: self.propagation_steps,
            alpha: self.alpha,
        }))
    }

    fn propagation_steps(&self) -> Option<usize> {
        Some(self.propagation_steps)
    }
}

#[derive(Debug)]
struct AppnpBody {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    alpha: f64,
}

impl Body for AppnpBody {
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
