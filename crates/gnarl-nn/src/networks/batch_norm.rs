//! Batch normalisation ([Ioffe and Szegedy 2015](https://arxiv.org/abs/1502.03167)) over the rows
//! of a matrix.

use gnarl_graph::random::Rng;

use super::init::Init;
use super::params::{Group, ParamId, Params, Pass};
use gnarl_tensor::{Result, Tensor};

/// Weight of the old running statistic, and the constant added to variances: PyTorch's defaults.
const KEEP: f64 = 0.9;
const EPSILON: f64 = 1e-5;

/// `(x - mean) / sqrt(var + ε) · scale + shift`, with the batch's statistics in training and
/// running statistics in prediction.
#[derive(Debug)]
pub struct BatchNorm {
    scale: ParamId,
    shift: ParamId,
    mean: ParamId,
    variance: ParamId,
}

impl BatchNorm {
    /// Adds the parameters, initialised as the identity.
    pub fn new(params: &mut Params, name: &str, dim: usize, rng: &mut Rng) -> Result<Self> {
        let mut add = |part: &str, value: f32, group| {
            params.add(
                format!("{name}.{part}"),
                &[dim],
                Init::Constant(value),
                group,
                rng,
            )
        };
        Ok(Self {
            scale: add("scale", 1.0, Group::Bias)?,
            shift: add("shift", 0.0, Group::Bias)?,
            mean: add("mean", 0.0, Group::Statistic)?,
            variance: add("variance", 1.0, Group::Statistic)?,
        })
    }

    /// Normalises `[rows, dim]` to the same shape.
    pub fn forward(&self, x: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        let (mean, variance) = if pass.trains() {
            let rows = x.dims2()?.0.max(1) as f64;
            let mean = x.mean_keepdim(0)?;
            let variance = x.broadcast_sub(&mean)?.sqr()?.mean_keepdim(0)?;
            // The running variance is the unbiased one, as in PyTorch.
            let unbiased = (variance.detach() * (rows / (rows - 1.0).max(1.0)))?;
            for (id, new) in [(self.mean, mean.detach()), (self.variance, unbiased)] {
                let old = pass.weight(id).detach();
                pass.note_update(id, ((old * KEEP)? + (new.squeeze(0)? * (1.0 - KEEP))?)?);
            }
            (mean, variance)
        } else {
            (
                pass.weight(self.mean).unsqueeze(0)?,
                pass.weight(self.variance).unsqueeze(0)?,
            )
        };
        let scaled = x
            .broadcast_sub(&mean)?
            .broadcast_div(&(variance + EPSILON)?.sqrt()?)?;
        scaled
            .broadcast_mul(pass.weight(self.scale))?
            .broadcast_add(pass.weight(self.shift))
    }
}
