//! Augmentation in graph space: one graph in, another out.

use gnarl_graph::random::{Rng, mix, stream};
use gnarl_graph::{Graph, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Makes a graph into another of the same class. Features and labels go with the nodes ([`Graph::subgraph`],
/// [`Graph::remove_edges`] and [`Graph::add_edges`] carry them); one-hot degrees are made from the result.
pub trait GraphTransform: std::fmt::Debug + Send + Sync {
    /// The new graph. All chance comes from `rng`.
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph>;
}

/// How often a training graph is transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copies {
    /// Once: the same copy in every epoch.
    Fixed,
    /// Anew in every epoch.
    EachEpoch,
}

/// A transform of training graphs and how it is used.
#[derive(Debug, Clone, Copy)]
pub struct Augmentation<'a> {
    /// What is done to a graph.
    pub transform: &'a dyn GraphTransform,
    /// How often.
    pub copies: Copies,
    /// Whether the graphs as they are stay in the training set beside their copies.
    pub keep_originals: bool,
}

/// The transformed graphs. Graph `i` draws from a stream of its own: neither the order nor the thread count matters.
pub fn transform_all(transform: &dyn GraphTransform, graphs: &[&Graph], seed: u64, epoch: usize) -> Result<Vec<Graph>> {
    let seed = mix(seed ^ mix(epoch as u64));
    let one = |(i, graph): (usize, &&Graph)| transform.apply(graph, &mut stream(seed, "graph transform", i as u64));
    graphs.par_iter().enumerate().map(one).collect()
}
