//! Helpers for the tests of several crates: labels of a graph, and untrained networks.

use gnarl_graph::{Graph, Labels};
pub use gnarl_tensor::testing::{critical, kolmogorov, kolmogorov_two};

use gnarl_tensor::Tensor;

use crate::networks::{Network, NetworkConfig, Params};
use crate::operator::{OperatorChoice, Prepared};

/// Returns the labels of a labelled graph.
///
/// # Panics
///
/// If the graph has no labels.
pub fn labels(graph: &Graph) -> &Labels {
    graph.labels().expect("a labelled graph")
}

/// Returns a network before training.
///
/// # Panics
///
/// If the network cannot be built for the graph.
pub fn network(
    graph: &Graph,
    config: &NetworkConfig,
    operator: OperatorChoice,
    seed: u64,
) -> Network {
    let prepared =
        Prepared::new(graph, config.backbone, operator).expect("an operator for the graph");
    let classes = labels(graph).num_classes();
    Network::new(config, &prepared.shape(classes), seed).expect("a network for the graph")
}

/// Asserts that values agree, to a tolerance relative above one and absolute below.
///
/// # Panics
///
/// If they do not.
pub fn assert_close(got: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() <= tolerance * (1.0 + e.abs()),
            "{what}, value {i}: {g}, not {e}"
        );
    }
}

/// Sets the values of a parameter.
///
/// # Panics
///
/// If there is no such parameter.
pub fn plant(params: &Params, name: &str, values: &[f32]) {
    let p = params
        .list()
        .iter()
        .find(|p| p.name == name)
        .unwrap_or_else(|| panic!("no parameter is called {name}"));
    let values = Tensor::from_slice(values, p.var.dims(), p.var.device()).unwrap();
    p.var.set(&values).unwrap();
}
