//! A graph made ready for a network: the propagation of its operator, and its features as an input.

use gnarl_graph::{CsrMatrix, Graph};

use super::choice::{OperatorChoice, mean_log_degree, propagation};
use crate::error::Result;
use crate::nn::{Backbone, Input, OperatorScalar, Propagation, Shape};
use crate::tensor::Operator;

/// A graph made ready for a backbone. Its features enter as they are: scale them before.
#[derive(Debug)]
pub struct Prepared {
    /// How messages travel.
    pub propagation: Propagation,
    /// The features; the identity where there are none.
    pub input: Input,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
    scalars: Vec<OperatorScalar>,
}

impl Prepared {
    /// Makes a graph ready.
    pub fn new(graph: &Graph, backbone: Backbone, operator: OperatorChoice) -> Result<Self> {
        let propagation = propagation(graph, backbone, operator)?;
        let scalars = propagation.learnable.as_ref().map_or_else(Vec::new, |operator| operator.scalars());
        Ok(Self { propagation, input: input(graph)?, mean_log_degree: mean_log_degree(graph), scalars })
    }

    /// The shape of a network on this graph that tells so many classes apart.
    pub fn shape(&self, num_classes: usize) -> Shape<'_> {
        Shape { in_dim: self.input.dim(), num_classes, mean_log_degree: self.mean_log_degree, scalars: &self.scalars }
    }
}

/// The features of a graph as a network takes them; the identity where it has none.
pub fn input(graph: &Graph) -> Result<Input> {
    Ok(match graph.features() {
        Some(features) => Input::from_features(features)?,
        None => Input::Sparse(Operator::constant_f32(&CsrMatrix::identity(graph.num_nodes()))),
    })
}
