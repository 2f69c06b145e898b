//! Linear head that maps latent vectors of graphs or nodes to class scores, trained separately from
//! the network.

use gnarl_graph::random::stream;
use gnarl_tensor::{Result, Tensor};

use super::linear::{Input, Linear};
use super::params::{Params, Pass};
use gnarl_tensor::dropout;

/// The site of the head's dropout, beyond those of layers and bodies.
#[doc(hidden)]
pub const HEAD_SITE: u64 = 4 << 32;

/// `x · W + b` on vectors, with dropout before it in training.
#[derive(Debug)]
pub struct Head {
    params: Params,
    linear: Linear,
    dropout: f32,
}

impl Head {
    /// Returns a new head, sampled from the seed.
    pub fn new(latent_dim: usize, num_classes: usize, dropout: f32, seed: u64) -> Result<Self> {
        Self::sampled([latent_dim, num_classes], true, dropout, seed)
    }

    /// Returns a new head that can replace another: of the same width, and with a bias if the other
    /// has one.
    pub fn like(other: &Linear, dropout: f32, seed: u64) -> Result<Self> {
        Self::sampled(
            [other.in_dim(), other.out_dim()],
            other.bias.is_some(),
            dropout,
            seed,
        )
    }

    fn sampled([from, to]: [usize; 2], bias: bool, dropout: f32, seed: u64) -> Result<Self> {
        let mut params = Params::default();
        let rng = &mut stream(seed, "fresh head", 0);
        let linear = Linear::kaiming(&mut params, "head", from, to, bias, rng)?.free(&mut params);
        Ok(Self {
            params,
            linear,
            dropout,
        })
    }

    /// Returns its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Computes class scores in a pass.
    pub fn forward(&self, latent: &Tensor, pass: &Pass<'_>) -> Result<Tensor> {
        classify(&self.linear, self.dropout, latent, pass)
    }

    /// Computes class scores without dropout, detached from any gradient.
    pub fn scores(&self, latent: &Tensor) -> Result<Tensor> {
        let weights = self.params.weights()?.detached();
        self.forward(latent, &Pass::evaluation(&weights))
    }

    /// Copies its values to another linear map.
    pub(super) fn copy_to(&self, other: &Linear, params: &Params) -> Result<()> {
        let own = [Some(self.linear.weight), self.linear.bias];
        for pair in own.into_iter().zip([Some(other.weight), other.bias]) {
            match pair {
                (None, None) => {}
                (Some(from), Some(to))
                    if self.params.get(from).var.dims() == params.get(to).var.dims() =>
                {
                    params
                        .get(to)
                        .var
                        .set(self.params.get(from).var.as_tensor())?;
                }
                _ => gnarl_tensor::bail!(
                    "a head of {} by {} does not fit one of {} by {}",
                    self.linear.in_dim(),
                    self.linear.out_dim(),
                    other.in_dim(),
                    other.out_dim()
                ),
            }
        }
        Ok(())
    }
}

/// Computes class scores of vectors, with dropout if the pass trains.
pub(super) fn classify(
    head: &Linear,
    rate: f32,
    latent: &Tensor,
    pass: &Pass<'_>,
) -> Result<Tensor> {
    head.forward(
        &Input::Dense(dropout(latent, pass.dropout(rate, HEAD_SITE))?),
        pass,
    )
}
