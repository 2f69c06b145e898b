//! A linear layer in the shape of a message-passing one: it hears nobody. A stack of them is an MLP, the baseline that
//! knows features alone.

use candle_core::{Result, Tensor};
use gnarl_graph::random::Rng;

use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use crate::tensor::{Dropout, Operator};

/// One layer of an MLP.
#[derive(Debug)]
pub struct Deaf {
    linear: Linear,
}

impl Deaf {
    /// Glorot weights, zero bias, so that it differs from a GCN in the operator alone.
    pub fn new(params: &mut Params, name: &str, in_dim: usize, out_dim: usize, rng: &mut Rng) -> Result<Self> {
        Ok(Self { linear: Linear::glorot(params, name, in_dim, out_dim, true, rng)? })
    }
}

impl Layer for Deaf {
    fn forward(&self, _operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.linear.forward(x, pass)
    }

    fn forward_activated(&self, _operator: &Operator, x: &Input, pass: &Pass<'_>, dropout: Dropout) -> Result<Tensor> {
        self.linear.forward_activated(x, pass, dropout)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn out_dim(&self) -> usize {
        self.linear.out_dim()
    }
}
