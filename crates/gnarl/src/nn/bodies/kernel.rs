//! GCN-k (Seddik et al. 2022, "Node Feature Kernels Increase Graph Convolutional Network
//! Robustness"): graph convolutions by `(1 - κ) Φ + κ D_K^-1/2 K D_K^-1/2`, where K compares the
//! features of all nodes.
//!
//! K is the linear kernel of rows scaled to length one, `K = X̂ X̂ᵀ`, and `D_K` its row sums; a
//! node whose row sum is not above zero has no part in it. K is never written out:
//! `K H = X̂ (X̂ᵀ H)` costs what two products with the features do. Whatever is done to edges, the
//! kernel stays.

use gnarl_graph::random::Rng;

use crate::nn::body::Body;
use crate::nn::edges::{TINY, unit_rows};
use crate::nn::entry::{Entry, Level, NetworkOption, Plan};
use crate::nn::layer::Propagation;
use crate::nn::linear::{Input, Linear};
use crate::nn::params::{Params, Pass};
use crate::tensor::{DType, Device, Result, Tensor, add_bias, relu_dropout};

use NetworkOption::{Dropout, Hidden, InputDropout, Layers, OrthogonalStart};

pub(in crate::nn) const ENTRY: Entry = Entry {
    applies_alone: true,
    level: Some(Level {
        usual: 0.5,
        least: 0.0,
        most: 1.0,
    }),
    one_graph: true,
    ..Entry::new(
        "gcn-k",
        "graph convolutions beside a kernel of node features",
        build,
        &[
            Hidden,
            Layers,
            Dropout,
            InputDropout,
            OrthogonalStart,
            NetworkOption::Level,
        ],
    )
};

#[derive(Debug)]
struct ByKernel {
    layers: Vec<Linear>,
    dropout: f32,
    share: f64,
}

fn build(plan: &Plan, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
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
        dropout: plan.dropout,
        share: plan.level,
    }))
}

/// `D_K^-1/2 K D_K^-1/2` as what it does.
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

/// Row sums of the kernel up to this count as none: they are rounding.
const LEAST_DEGREE: f64 = 1e-6;

/// `X (Xᵀ h)`.
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
            let heard = (by_edges + (kernel.apply(&mapped)? * self.share)?)?;
            let h = match layer.bias {
                Some(bias) => add_bias(&heard, pass.weight(bias))?,
                None => heard,
            };
            if i + 1 == self.layers.len() {
                return Ok(h);
            }
            x = Input::Dense(relu_dropout(&h, pass.dropout(self.dropout, i as u64))?);
        }
        crate::tensor::bail!("a network has at least one layer")
    }

    fn reach(&self) -> Option<usize> {
        None
    }
}
