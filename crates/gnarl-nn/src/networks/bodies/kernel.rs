//! GCN-k ([Seddik et al. 2022](https://arxiv.org/abs/2109.01785), "Node Feature Kernels Increase
//! Graph Convolutional Network Robustness"): graph convolutions with
//! `(1 - κ) Φ + κ D_K^-1/2 K D_K^-1/2`, where K compares the features of all nodes.
//!
//! K is the linear kernel of rows scaled to length one, `K = X̂ X̂ᵀ`, and `D_K` its row sums. A
//! node whose row sum is not positive is excluded from the kernel. K is never stored:
//! `K H = X̂ (X̂ᵀ H)` costs as much as two products with the features. Changes of edges do not
//! change the kernel.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::networks::body::Body;
use crate::networks::config::NetworkSetting as S;
use crate::networks::edges::{TINY, unit_rows};
use crate::networks::entry::{Architecture, Capability, Entry, Plan};
use crate::networks::layer::Propagation;
use crate::networks::linear::{Input, Linear};
use crate::networks::params::{Params, Pass};
use gnarl_tensor::{DType, Device, Result, Tensor, add_bias, relu_dropout};

/// Graph convolutions combined with a kernel of node features (Seddik et al. 2022,
/// [arXiv:2109.01785](https://arxiv.org/abs/2109.01785)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gcn-k",
    constant,
    about = "graph convolutions combined with a kernel of node features"
)]
pub struct GcnK {
    /// Weight of the kernel against the operator.
    #[setting(default = 0.5, range = 0.0..=1.0, was = "level")]
    pub kernel_weight: f64,
}

impl Architecture for GcnK {
    fn entry(&self) -> Entry {
        Entry::new(&[
            S::Hidden,
            S::Layers,
            S::Dropout,
            S::InputDropout,
            S::OrthogonalStart,
        ])
        .with(&[Capability::OperatorFree])
        .without(&[Capability::GraphSets])
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        let count = plan.layers;
        let layers = (0..count)
            .map(|i| {
                let from = if i == 0 { plan.in_dim } else { plan.hidden };
                let to = if i + 1 == count {
                    plan.num_classes
                } else {
                    plan.hidden
                };
                Linear::glorot(params, &format!("layers.{i}"), from, to, true, rng)
            })
            .collect::<Result<_>>()?;
        Ok(Box::new(ByKernel {
            layers,
            dropout: plan.dropout as f32,
            share: self.kernel_weight,
        }))
    }
}

#[derive(Debug)]
struct ByKernel {
    layers: Vec<Linear>,
    dropout: f32,
    share: f64,
}

/// `D_K^-1/2 K D_K^-1/2` as a product of factors.
struct Kernel {
    /// X̂
    x: Input,
    /// `D_K^-1/2`, `[nodes, 1]`.
    scale: Tensor,
}

impl Kernel {
    fn of(x: &Input) -> Result<Self> {
        let x = match x {
            Input::Dense(x) => Input::Dense(unit_rows(x)?),
            Input::Sparse(x) => {
                let values = x.values()?;
                let ones = Tensor::ones((x.num_cols(), 1), DType::F32, &Device::Cpu)?;
                let squares = (x.with_values(&values.sqr()?)?.apply(&ones)? + TINY)?;
                let rows = x.pattern().entry_rows();
                let index = Tensor::from_slice(&rows, rows.len(), &Device::Cpu)?;
                let by_row = squares.powf(-0.5)?.index_select(&index, 0)?.flatten_all()?;
                Input::Sparse(x.with_values(&(values * by_row)?)?)
            }
        };
        let ones = Tensor::ones((x.num_rows(), 1), DType::F32, &Device::Cpu)?;
        let degrees = product(&x, &ones)?;
        let counts = degrees.gt(LEAST_DEGREE)?;
        let inverse = counts
            .where_cond(&degrees, &degrees.ones_like()?)?
            .powf(-0.5)?;
        Ok(Self {
            scale: counts.where_cond(&inverse, &degrees.zeros_like()?)?,
            x,
        })
    }

    fn apply(&self, h: &Tensor) -> Result<Tensor> {
        product(&self.x, &h.broadcast_mul(&self.scale)?)?.broadcast_mul(&self.scale)
    }
}

/// Row sums of the kernel up to this value count as zero: they are rounding errors.
const LEAST_DEGREE: f64 = 1e-6;

/// Computes `X (Xᵀ h)`.
fn product(x: &Input, h: &Tensor) -> Result<Tensor> {
    match x {
        Input::Dense(x) => x.matmul(&x.t()?.matmul(h)?),
        Input::Sparse(x) => x.apply(&x.apply_transposed(h)?),
    }
}

impl Body for ByKernel {
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        let kernel = Kernel::of(x)?;
        let mut x = x.clone();
        for (i, layer) in self.layers.iter().enumerate() {
            let mapped = x.matmul(pass.weight(layer.weight), None)?;
            let by_edges = (propagation.operator.apply(&mapped)? * (1.0 - self.share))?;
            let aggregated = (by_edges + (kernel.apply(&mapped)? * self.share)?)?;
            let h = match layer.bias {
                Some(bias) => add_bias(&aggregated, pass.weight(bias))?,
                None => aggregated,
            };
            if i + 1 == self.layers.len() {
                return Ok(h);
            }
            x = Input::Dense(relu_dropout(&h, pass.dropout(self.dropout, i as u64))?);
        }
        gnarl_tensor::bail!("a network has at least one layer")
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
