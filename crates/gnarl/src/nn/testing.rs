//! Test helpers for layers.

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::{Rng, stream};

use super::layer::{Layer, classical};
use super::params::{Params, Pass};
use crate::tensor::{Operator, Tensor};

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
    classical(graph, ClassicalOperator::Adjacency).unwrap()
}

/// Sets the values of a parameter.
pub fn plant(params: &Params, name: &str, values: &[f32]) {
    let p = params
        .list()
        .iter()
        .find(|p| p.name == name)
        .unwrap_or_else(|| panic!("no parameter is called {name}"));
    let values = Tensor::from_slice(values, p.var.dims(), p.var.device()).unwrap();
    p.var.set(&values).unwrap();
}

/// Computes the prediction of a layer on one feature per node.
pub fn predict(layer: &dyn Layer, operator: &Operator, params: &Params, x: &[f32]) -> Vec<f32> {
    let x = Tensor::from_slice(x, (x.len(), 1), &crate::tensor::Device::Cpu).unwrap();
    let weights = params.weights().unwrap();
    let y = layer
        .forward(operator, &x.into(), &Pass::evaluation(&weights))
        .unwrap();
    y.flatten_all().unwrap().to_vec1().unwrap()
}

/// Compares value by value, to a tolerance relative above one and absolute below.
pub fn assert_close(got: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() <= tolerance * (1.0 + e.abs()),
            "{what}, value {i}: {g}, not {e}"
        );
    }
}
