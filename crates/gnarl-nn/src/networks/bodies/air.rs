//! AirGNN ([Liu et al.
//! 2021](https://proceedings.neurips.cc/paper/2021/hash/50abc3e730e36b387ca8e02c26dc0a22-Abstract.html),
//! "Graph Neural Networks with Adaptive Residual"): a two-layer perceptron, then adaptive message
//! passing `Y = Φ H`, `H ← H⁰ + s ∘ (Y - H⁰)` with `s_i = max(0, 1 - γ λ / |y_i - h⁰_i|)`.
//!
//! A node similar to its neighbours keeps its own prediction; a node unlike its neighbours
//! aggregates them, so that outlying features are smoothed. λ is in 0 to 1 and
//! `γ = 1 / (2 (1 - λ))`, the paper's step size.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::TINY;
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// Message passing with an adaptive residual (Liu et al. 2021, [NeurIPS
/// 2021](https://proceedings.neurips.cc/paper/2021/hash/50abc3e730e36b387ca8e02c26dc0a22-Abstract.html)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "airgnn",
    constant,
    about = "propagation with a residual that adapts to every node"
)]
pub struct AirGnn {
    /// Number of propagation steps after the perceptron (K).
    #[setting(default = 10, range = 0..=10_000)]
    pub propagation_steps: usize,
    /// Weight of the smoothness term against the residual.
    #[setting(default = 0.5, range = 0.0..=0.999, was = "level")]
    pub lambda: f64,
}

impl Architecture for AirGnn {
    fn entry(&self) -> Entry {
        Entry::new(&[S::Hidden, S::Dropout, S::InputDropout, S::OrthogonalStart])
            .with(&[Capability::OperatorFree])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        Ok(Box::new(Air {
            first: Linear::kaiming(params, "mlp.0", plan.in_dim, plan.hidden, true, rng)?,
            second: Linear::kaiming(params, "mlp.1", plan.hidden, plan.num_classes, true, rng)?,
            dropout: plan.dropout as f32,
            steps: self.propagation_steps,
            slack: self.lambda / (2.0 * (1.0 - self.lambda)),
        }))
    }

    fn propagation_steps(&self) -> Option<usize> {
        Some(self.propagation_steps)
    }
}

#[derive(Debug)]
struct Air {
    first: Linear,
    second: Linear,
    dropout: f32,
    steps: usize,
    /// Product γ λ.
    slack: f64,
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
