//! Degree of the closed neighbourhood, by which a graph convolution is scaled.

use serde::{Deserialize, Serialize};

use super::Measure;
use super::degree::degrees;
use crate::error::Result;
use crate::graph::Graph;
use crate::settings::Settings;

/// Degree plus one for the node itself, and so above 0 for an isolated node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "closed-degree", about = "degree plus one", constant)]
pub struct ClosedDegree {}

impl Measure for ClosedDegree {
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>> {
        Ok(degrees(graph)
            .into_iter()
            .map(|degree| degree + 1.0)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_itself_counts() {
        let g = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0;
        assert_eq!(ClosedDegree {}.values(&g).unwrap(), [2.0, 3.0, 2.0, 1.0]);
        assert!(
            ClosedDegree {}
                .scores(&Graph::empty(0).unwrap())
                .unwrap()
                .is_empty()
        );
    }
}
