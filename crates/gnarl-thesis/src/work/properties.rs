//! Properties of a graph and of a set of graphs, computed once.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::{Error, Graph, GraphSet, properties};
use serde::{Deserialize, Serialize};

use super::{CellInput, CellWork, RowKind, RunInput, Work};
use crate::measured::Measured;
use gnarl_graph::Result;
use gnarl_robust::inference::log2_neighbours_at_least;

/// The name of a part that holds the number of nodes.
pub const NODES: &str = "nodes";

/// A property of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Number of nodes.
    Nodes,
    /// Number of edges, each once.
    Edges,
    /// Number of features of a node; none if it has none.
    Features,
    /// Number of classes of nodes.
    Classes,
    /// Share of pairs that are joined.
    Density,
    /// Mean number of neighbours of a node.
    MeanDegree,
    /// Mean PageRank: one over the number of nodes.
    MeanPageRank,
    /// Mean core number.
    MeanCore,
    /// Mean number of walks of two steps from a node.
    MeanWalks,
    /// Share of edges within a class.
    Homophily,
    /// Lower bound on the base-2 logarithm of the number of graphs within so many flips of an edge.
    Neighbours {
        /// Number of flips.
        radius: u32,
    },
}

impl Property {
    /// The value for a graph; a graph without labelled edges has no homophily, which is an error.
    pub fn of(self, graph: &Graph) -> Result<f64> {
        let mean = |kind: Centrality| -> Result<f64> {
            let scores = kind.scores(graph)?;
            Ok(scores.iter().sum::<f64>() / scores.len().max(1) as f64)
        };
        match self {
            Property::Nodes => Ok(graph.num_nodes() as f64),
            Property::Edges => Ok(graph.num_edges() as f64),
            Property::Features => {
                Ok(graph.features().map_or(0, |features| features.num_cols()) as f64)
            }
            Property::Classes => Ok(graph.labels().map_or(0, |labels| {
                labels.counts().iter().filter(|count| **count > 0).count()
            }) as f64),
            Property::Density => Ok(properties::density(graph)),
            Property::MeanDegree => Ok(properties::degree_summary(graph).mean),
            Property::MeanPageRank => mean(Centrality::PAGERANK),
            Property::MeanCore => mean(Centrality::CORE),
            Property::MeanWalks => mean(Centrality::WALKS),
            Property::Neighbours { radius } => Ok(log2_neighbours_at_least(
                graph.num_nodes(),
                f64::from(radius),
            )),
            Property::Homophily => properties::edge_homophily(graph).ok_or_else(|| {
                let what = "no edge of the graph joins two labelled nodes";
                Error::missing("homophily", what, "take a graph with labels")
            }),
        }
    }

    /// The axis that it is plotted against: nodes, for a property that grows with them.
    pub fn parts(self, graph: &Graph) -> Vec<(String, Vec<f64>)> {
        match self {
            Property::Neighbours { .. } => vec![(NODES.into(), vec![graph.num_nodes() as f64])],
            _ => Vec::new(),
        }
    }
}

/// A property of a set of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetProperty {
    /// Number of graphs.
    Graphs,
    /// Number of features of a node; none if models take degrees instead.
    Features,
    /// Mean number of nodes of a graph.
    MeanNodes,
    /// Mean number of edges of a graph.
    MeanEdges,
    /// Number of classes of graphs.
    Classes,
}

impl SetProperty {
    /// The value for a set.
    pub fn of(self, set: &GraphSet) -> f64 {
        let features = || {
            set.graphs()
                .first()
                .and_then(Graph::features)
                .map_or(0, |features| features.num_cols())
        };
        let mean = |total: usize| total as f64 / set.len().max(1) as f64;
        match self {
            SetProperty::Graphs => set.len() as f64,
            SetProperty::Features => features() as f64,
            SetProperty::MeanNodes => mean(set.num_nodes()),
            SetProperty::MeanEdges => mean(set.num_edges()),
            SetProperty::Classes => set.labels().num_classes() as f64,
        }
    }
}

impl RowKind for Property {
    fn work(&self, _: &CellInput<'_>) -> Result<Work> {
        Ok(Work::Property(*self))
    }

    fn is_trained(&self) -> bool {
        false
    }
}

impl CellWork for Property {
    fn kind(&self) -> &'static str {
        Work::PROPERTY
    }

    fn effort(&self) -> f64 {
        1.0
    }

    fn is_accuracy(&self) -> bool {
        false
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let graph = on.loaded.graph()?;
        Ok(Some(Measured {
            values: vec![self.of(graph)?],
            parts: self.parts(graph),
            ..Measured::default()
        }))
    }
}

impl RowKind for SetProperty {
    fn work(&self, _: &CellInput<'_>) -> Result<Work> {
        Ok(Work::SetProperty(*self))
    }

    fn is_trained(&self) -> bool {
        false
    }
}

impl CellWork for SetProperty {
    fn kind(&self) -> &'static str {
        Work::PROPERTY
    }

    fn effort(&self) -> f64 {
        1.0
    }

    fn is_accuracy(&self) -> bool {
        false
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        Ok(Some(Measured {
            values: vec![self.of(on.loaded.graph_set()?)],
            ..Measured::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Karate: 34 nodes, 78 edges, core numbers and walks from NetworkX (see `data check`).
    #[test]
    fn properties_of_karate() {
        let karate = gnarl_data::embedded::karate();
        let expect = [
            (Property::Nodes, 34.0),
            (Property::Edges, 78.0),
            (Property::Features, 34.0),
            (Property::Classes, 4.0),
            (Property::Density, 2.0 * 78.0 / (34.0 * 33.0)),
            (Property::MeanDegree, 156.0 / 34.0),
            (Property::MeanPageRank, 1.0 / 34.0),
            (Property::MeanCore, 99.0 / 34.0),
            (Property::MeanWalks, 1212.0 / 34.0),
            (Property::Homophily, 57.0 / 78.0),
            // H(1 / 561) 561 - log2 sqrt(8 (1 - 1 / 561)), for the 561 pairs of 34 nodes.
            (Property::Neighbours { radius: 1 }, 9.074_552_384_183_5),
        ];
        for (property, expected) in expect {
            let found = property.of(&karate).unwrap();
            assert!(
                (found - expected).abs() < 1e-9,
                "{property:?}: {found} against {expected}"
            );
        }
        let bare = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        assert!(
            Property::Homophily
                .of(&bare)
                .unwrap_err()
                .to_string()
                .contains("two labelled nodes")
        );
    }
}
