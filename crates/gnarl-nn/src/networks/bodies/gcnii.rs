//! GCNII ([Chen et al. 2020](https://arxiv.org/abs/2007.02133)): initial residual and identity
//! mapping.
//!
//! `h_0 = relu(X W_in + b)`, `h_l = relu(s ((1 - β_l) I + β_l W_l))` with
//! `s = (1 - α) Φ h_{l-1} + α h_0` and `β_l = ln(θ / l + 1)`, then a linear map. Dropout follows
//! every ReLU, but `h_0` enters the residuals without dropout. This is PyTorch Geometric's
//! `GCN2Conv` with shared weights. With zero layers it is a two-layer perceptron.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::{Body, EMBEDDING_SITE, first_rows};
use crate::networks::config::NetworkSetting as S;
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::init::Init;
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{DType, Device, Result, Tensor, dropout, relu_dropout};

/// Deep GCN with initial residual and identity mapping (Chen et al. 2020,
/// [arXiv:2007.02133](https://arxiv.org/abs/2007.02133)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gcnii",
    constant,
    about = "initial residual and identity mapping"
)]
pub struct Gcnii {}

impl Architecture for Gcnii {
    fn entry(&self) -> Entry {
        Entry {
            min_layers: 0,
            ..Entry::new(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::OrthogonalStart,
            ])
            .with(&[Capability::Head])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let hidden = plan.hidden;
        let embed = Linear::kaiming(params, "embed", plan.in_dim, hidden, true, rng)?;
        let mut weight = |i: usize| {
            params.add(
                format!("layers.{i}.weight"),
                &[hidden, hidden],
                Init::Glorot,
                Group::Weight,
                rng,
            )
        };
        let weights = (0..plan.layers).map(&mut weight).collect::<Result<_>>()?;
        let classify =
            Linear::kaiming(params, "classify", hidden, plan.num_classes, true, rng)?.free(params);
        Ok(Box::new(GcniiBody {
            embed,
            weights,
            classify,
            dropout: plan.dropout as f32,
        }))
    }
}

/// α of the paper: the weight of the initial representation in every layer.
const ALPHA: f64 = 0.1;
/// θ of the paper (its λ), which controls the distance of the weights from the identity.
const THETA: f64 = 0.5;

#[derive(Debug)]
struct GcniiBody {
    embed: Linear,
    weights: Vec<ParamId>,
    classify: Linear,
    dropout: f32,
}

impl Body for GcniiBody {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.classify
            .forward(&self.latent(propagation, x, pass)?, pass)
    }

    fn head(&self) -> Option<&Linear> {
        Some(&self.classify)
    }

    fn latent(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Input> {
        let first = self
            .embed
            .forward_activated(x, pass, pass.dropout(0.0, EMBEDDING_SITE))?;
        let mut h = dropout(&first, pass.dropout(self.dropout, EMBEDDING_SITE))?;
        let kept = (&first * ALPHA)?;
        for (i, weight) in self.weights.iter().enumerate() {
            let aggregated = (propagation.layer(i).apply(&h)? * (1.0 - ALPHA))?;
            let mixed = (&aggregated + first_rows(&kept, aggregated.dims()[0])?)?;
            let beta = (THETA / (i + 1) as f64 + 1.0).ln();
            let mapped = mixed.matmul(&near_identity(pass.weight(*weight), beta)?)?;
            h = relu_dropout(&mapped, pass.dropout(self.dropout, i as u64))?;
        }
        Ok(Input::Dense(h))
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.embed.weight]
    }

    fn reach(&self) -> Option<usize> {
        Some(self.weights.len())
    }
}

/// Computes `(1 - β) I + β W`.
fn near_identity(weight: &Tensor, beta: f64) -> Result<Tensor> {
    let identity = Tensor::eye(weight.dims()[0], DType::F32, &Device::Cpu)?;
    (weight * beta)? + (identity * (1.0 - beta))?
}
