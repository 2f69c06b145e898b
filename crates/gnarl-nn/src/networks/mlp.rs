//! Multilayer perceptron: linear layers with the interface of a message-passing layer, without
//! propagation. An MLP is the baseline that uses features alone.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::bodies::stack;
use super::body::Body;
use super::config::NetworkSetting as S;
use super::entry::{Architecture, Capability, DefaultOperator, Entry, Layered, Place, Plan};
use super::layer::Layer;
use super::linear::{Input, Linear};
use super::params::{ParamId, Params, Pass};
use gnarl_tensor::{Dropout, Operator, Result, Tensor};

/// Multilayer perceptron: features alone, without the graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "mlp",
    constant,
    about = "a perceptron of the features alone, without the graph"
)]
pub struct Mlp {}

impl Architecture for Mlp {
    fn entry(&self) -> Entry {
        Entry {
            default_operator: DefaultOperator::ADJACENCY,
            min_layers: 0,
            fixed_operator: Some(
                "does not use an operator's values: there is nothing for cgso to learn",
            ),
            ..stack::entry(&[
                S::Hidden,
                S::Layers,
                S::Dropout,
                S::InputDropout,
                S::Head,
                S::OrthogonalStart,
                S::Noise,
            ])
            .with(&[Capability::Exits, Capability::LastMap])
            .without(&[Capability::MessagePassing, Capability::EdgeWeights])
        }
    }

    fn build(&self, plan: &Plan<'_>, params: &mut Params, rng: &mut Rng) -> Result<Box<dyn Body>> {
        stack::build(self, plan, params, rng)
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for Mlp {
    fn layer(
        &self,
        _plan: &Plan<'_>,
        at: Place<'_>,
        params: &mut Params,
        rng: &mut Rng,
    ) -> Result<Box<dyn Layer>> {
        Ok(Box::new(Dense::new(params, at.name, at.from, at.to, rng)?))
    }
}

/// Layer of an MLP.
#[derive(Debug)]
pub struct Dense {
    linear: Linear,
}

impl Dense {
    /// Adds the layer with Glorot weights and zero bias, so that it differs from a GCN in the
    /// operator alone.
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
