//! Test helpers for layers.

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::{Rng, stream};

use super::layer::{Layer, classical};
use super::params::{Params, Pass};
use gnarl_tensor::{Operator, Tensor};

/// Returns a random generator for parameters that a test then replaces.
pub fn rng() -> Rng {
    stream(1, "layer test", 0)
}

/// Returns the path 0–1–2.
pub fn path() -> Graph {
    Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0
}

/// Returns a graph's adjacency matrix as an operator.
pub fn adjacency(graph: &Graph) -> Operator {
    classical(graph, ClassicalOperator::ADJACENCY).unwrap()
}

/// Computes the prediction of a layer on one feature per node.
pub fn predict(layer: &dyn Layer, operator: &Operator, params: &Params, x: &[f32]) -> Vec<f32> {
    let x = Tensor::from_slice(x, (x.len(), 1), &gnarl_tensor::Device::Cpu).unwrap();
    let weights = params.weights().unwrap();
    let y = layer
        .forward(operator, &x.into(), &Pass::evaluation(&weights))
        .unwrap();
    y.flatten_all().unwrap().to_vec1().unwrap()
}

pub use crate::testing::{assert_close, plant};
