//! Test helpers that several modules share: labels, and networks before and after a short training.

use gnarl_graph::Graph;
pub use gnarl_nn::testing::{critical, kolmogorov, kolmogorov_two, labels, network};

use crate::classifier::WhiteBox;
use gnarl_nn::networks::NetworkConfig;
use gnarl_nn::operator::{OperatorChoice, Prepared};
use gnarl_nn::train::{Callbacks, Problem, TrainConfig, train};

/// Returns a network after training on the first split of a graph, with unscaled features.
pub fn trained(
    graph: &Graph,
    config: &NetworkConfig,
    training: &TrainConfig,
    seed: u64,
) -> WhiteBox {
    let prepared = Prepared::new(graph, config.backbone, OperatorChoice::Default).unwrap();
    let network = network(graph, config, OperatorChoice::Default, seed);
    let problem = Problem::new(
        &prepared.propagation,
        &prepared.input,
        labels(graph),
        &graph.splits()[0],
    );
    train(&network, &problem, training, seed, &Callbacks::quiet()).unwrap();
    WhiteBox::new(network, OperatorChoice::Default).unwrap()
}
