//! Test helpers that several modules share: labels, and networks before and after a short training.

use gnarl_graph::{Graph, Labels};
pub use gnarl_tensor::testing::{critical, kolmogorov, kolmogorov_two};

use crate::classifier::WhiteBox;
use crate::nn::{Network, NetworkConfig};
use crate::operator::{OperatorChoice, Prepared};
use crate::train::{Problem, TrainConfig, Watch, train};

/// Returns the labels of a graph that has some.
pub fn labels(graph: &Graph) -> &Labels {
    graph.labels().expect("a labelled graph")
}

/// Returns a network with its initial weights.
pub fn network(
    graph: &Graph,
    config: &NetworkConfig,
    operator: OperatorChoice,
    seed: u64,
) -> Network {
    let prepared = Prepared::new(graph, config.backbone, operator).unwrap();
    Network::new(config, &prepared.shape(labels(graph).num_classes()), seed).unwrap()
}

/// Returns a network after training on the first split of a graph, with unscaled features.
pub fn trained(
    graph: &Graph,
    config: &NetworkConfig,
    training: &TrainConfig,
    seed: u64,
) -> WhiteBox {
    let prepared = Prepared::new(graph, config.backbone, OperatorChoice::Usual).unwrap();
    let network = network(graph, config, OperatorChoice::Usual, seed);
    let problem = Problem::new(
        &prepared.propagation,
        &prepared.input,
        labels(graph),
        &graph.splits()[0],
    );
    train(&network, &problem, training, seed, &Watch::quiet()).unwrap();
    WhiteBox::new(network, OperatorChoice::Usual).unwrap()
}
