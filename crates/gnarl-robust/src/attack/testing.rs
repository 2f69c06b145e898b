//! Small graphs and models for tests of attacks.

use gnarl_graph::Graph;
use gnarl_graph::generate::{CsbmConfig, csbm};

use super::{Attack, AttackInput};
use crate::classifier::{Classifier, WhiteBox};
use crate::perturb::Change;
use crate::testing;
use gnarl_nn::networks::{Backbone, NetworkConfig};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::{TrainConfig, argmax};

/// Returns a graph of 200 nodes in three classes, with twelve features and a split.
pub fn graph(seed: u64) -> Graph {
    let config = CsbmConfig {
        num_nodes: 200,
        num_classes: 3,
        num_features: 12,
        ..CsbmConfig::default()
    };
    csbm(&config, seed).unwrap()
}

fn config(backbone: Backbone) -> NetworkConfig {
    NetworkConfig {
        hidden: 8,
        ..NetworkConfig::new(backbone.where_taken("heads", 2))
    }
}

/// Returns a model after a short training.
pub fn trained(graph: &Graph, backbone: Backbone) -> WhiteBox {
    testing::trained(
        graph,
        &config(backbone),
        &TrainConfig {
            epochs: 60,
            ..TrainConfig::default()
        },
        3,
    )
}

/// Returns a model with its initial weights.
pub fn untrained(graph: &Graph, backbone: Backbone) -> WhiteBox {
    untrained_with(graph, backbone, OperatorChoice::Default)
}

/// Returns a model with its initial weights, on an operator.
pub fn untrained_with(graph: &Graph, backbone: Backbone, operator: OperatorChoice) -> WhiteBox {
    WhiteBox::new(
        testing::network(graph, &config(backbone), operator, 5),
        operator,
    )
    .unwrap()
}

/// Returns the test nodes of the first split with their classes.
pub fn targets(graph: &Graph) -> Vec<(u32, u32)> {
    let labels = graph.labels().unwrap();
    graph.splits()[0]
        .test()
        .iter()
        .filter_map(|&u| labels.get(u).map(|c| (u, c)))
        .collect()
}

/// Returns the training nodes of the first split with their classes.
pub fn training(graph: &Graph) -> Vec<(u32, u32)> {
    let labels = graph.labels().unwrap();
    graph.splits()[0]
        .train()
        .iter()
        .filter_map(|&u| labels.get(u).map(|c| (u, c)))
        .collect()
}

/// Returns the accuracy of a model on the targets in per cent, on another version of the graph.
pub fn accuracy(model: &dyn Classifier, graph: &Graph, at: &Graph) -> f64 {
    let (scores, targets) = (model.scores(at).unwrap(), targets(graph));
    let correct = targets
        .iter()
        .filter(|(u, c)| argmax(scores.row(*u as usize)) == *c as usize)
        .count();
    100.0 * correct as f64 / targets.len() as f64
}

/// Returns the change by an attack that evaluates no model.
pub fn change(attack: impl Into<Attack>, graph: &Graph, seed: u64) -> Change {
    let input = AttackInput {
        graph,
        model: None,
        targets: &[],
        labels: None,
        training: &[],
        stop: None,
    };
    attack.into().run(&input, seed).unwrap().change
}
