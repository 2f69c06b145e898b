//! A linear layer in the shape of a message-passing one, without any propagation. A stack of them
//! is an MLP, the baseline that knows features alone.

use gnarl_graph::random::Rng;

use super::bodies::stack;
use super::entry::{Entry, NetworkOption, Place, Plan, UsualOperator};
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use crate::tensor::{Dropout, Operator, Result, Tensor};

use NetworkOption::{
    Dropout as DropoutRate, Head, Hidden, InputDropout, Layers, Noise, OrthogonalStart,
};

pub(super) const ENTRY: Entry = Entry {
    usual_operator: UsualOperator::ADJACENCY,
    uses_operator: false,
    fixed_operator: Some("does not use an operator's values: there is nothing for cgso to learn"),
    min_layers: 0,
    exits: true,
    last_map: true,
    ..stack::entry(
        "mlp",
        "a perceptron of the features alone, without propagation",
        layer,
        &[
            Hidden,
            Layers,
            DropoutRate,
            InputDropout,
            Head,
            OrthogonalStart,
            Noise,
        ],
    )
};

fn layer(
    _plan: &Plan,
    at: Place<'_>,
    params: &mut Params,
    rng: &mut Rng,
) -> Result<Box<dyn Layer>> {
    Ok(Box::new(Dense::new(params, at.name, at.from, at.to, rng)?))
}

/// One layer of an MLP.
#[derive(Debug)]
pub struct Dense {
    linear: Linear,
}

impl Dense {
    /// Glorot weights, zero bias, so that it differs from a GCN in the operator alone.
    pub fn new(
        params: &mut Params,
        name: &str,
        in_dim: usize,
        out_dim: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        Ok(Self {
            linear: Linear::glorot(params, name, in_dim, out_dim, true, rng)?,
        })
    }
}

impl Layer for Dense {
    fn forward(&self, _operator: &Operator, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        self.linear.forward(x, pass)
    }

    fn forward_activated(
        &self,
        _operator: &Operator,
        x: &Input,
        pass: &Pass<'_>,
        dropout: Dropout,
    ) -> Result<Tensor> {
        self.linear.forward_activated(x, pass, dropout)
    }

    fn input_maps(&self) -> Vec<ParamId> {
        vec![self.linear.weight]
    }

    fn last_map(&self) -> Option<&Linear> {
        Some(&self.linear)
    }

    fn before_last_map(&self, _operator: &Operator, x: &Input, _pass: &Pass<'_>) -> Result<Input> {
        Ok(x.clone())
    }

    fn out_dim(&self) -> usize {
        self.linear.out_dim()
    }
}
