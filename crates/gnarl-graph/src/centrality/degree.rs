//! Degree, the local centrality measure.

use serde::{Deserialize, Serialize};

use super::Measure;
use crate::error::Result;
use crate::graph::Graph;
use crate::settings::Settings;

/// Number of neighbours; sum of weights in a weighted graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "degree", about = "number of neighbours", constant)]
pub struct Degree {}

impl Measure for Degree {
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>> {
        Ok(degrees(graph))
    }
}

/// Returns the degree of every node: its number of neighbours, or the sum of its weights in a
/// weighted graph.
pub fn degrees(graph: &Graph) -> Vec<f64> {
    (0..graph.num_nodes() as u32)
        .map(|u| match graph.neighbour_weights(u) {
            Some(weights) => weights.iter().sum(),
            None => graph.degree(u) as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_or_sums() {
        let g = Graph::from_edges(3, [(0, 1)]).unwrap().0;
        assert_eq!(degrees(&g), [1.0, 1.0, 0.0]);
        let w = Graph::from_weighted_edges(3, [(0, 1, 2.5), (1, 2, -1.0)])
            .unwrap()
            .0;
        assert_eq!(degrees(&w), [2.5, 1.5, -1.0]);
    }
}
