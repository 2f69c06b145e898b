//! Node centrality: degree, core number, PageRank and walk count, as in the centrality graph shift
//! operators (CGSOs) of [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655). The degree of
//! the closed neighbourhood, by which a graph convolution is scaled, is here as well.
//!
//! [`Centrality::scores`] returns the plain measure. [`Centrality::values`] returns the `v` of the
//! centrality matrix `V = diag(v)`. The two differ for PageRank alone: there `v = 1 / (1 - PR)`.

mod core;
mod degree;
mod pagerank;
mod walks;

use std::fmt;
use std::str::FromStr;

pub use self::core::core_numbers;
pub use self::degree::degrees;
pub use self::pagerank::{PageRank, pagerank};
pub use self::walks::walk_counts;

use crate::error::{Error, Result};
use crate::graph::Graph;

/// A centrality measure.
///
/// A walk count has a length, written `walks:3`, so names are parsed by hand and not by
/// [`named!`](crate::named).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Centrality {
    /// Number of neighbours (sum of weights in a weighted graph).
    Degree,
    /// The largest k such that the node is in the k-core.
    Core,
    /// PageRank with damping 0.85.
    PageRank,
    /// Number of walks of this length that start at the node.
    Walks {
        /// Steps per walk; 2 in the experiments of the CGSO paper.
        length: u32,
    },
    /// Degree plus one for the node itself: one more than [`Degree`](Self::Degree), and so above 0
    /// for an isolated node.
    ClosedDegree,
}

impl Centrality {
    /// Names of the measures, walks without their length.
    const NAMES: [&str; 5] = ["degree", "core", "pagerank", "walks", "closed-degree"];

    /// The four measures of the CGSO paper.
    pub const ALL: [Centrality; 4] = [
        Centrality::Degree,
        Centrality::Core,
        Centrality::PageRank,
        Centrality::Walks { length: 2 },
    ];

    /// Returns the measure for every node.
    pub fn scores(self, graph: &Graph) -> Result<Vec<f64>> {
        match self {
            Centrality::Degree => Ok(degrees(graph)),
            Centrality::Core => Ok(core_numbers(graph).into_iter().map(f64::from).collect()),
            Centrality::PageRank => pagerank(graph, &PageRank::default()),
            Centrality::Walks { length } => walk_counts(graph, length),
            Centrality::ClosedDegree => Ok(degrees(graph)
                .into_iter()
                .map(|degree| degree + 1.0)
                .collect()),
        }
    }

    /// Returns the diagonal `v` of the centrality matrix: the scores, but `1 / (1 - PR)` for
    /// PageRank.
    ///
    /// For a graph of one node, whose PageRank is 1, that is infinite: an error.
    pub fn values(self, graph: &Graph) -> Result<Vec<f64>> {
        let mut values = self.scores(graph)?;
        if self == Centrality::PageRank {
            for v in &mut values {
                *v = 1.0 / (1.0 - *v);
            }
            if values.iter().any(|v| !v.is_finite()) {
                return Err(Error::unsupported(
                    "centrality pagerank",
                    "1 / (1 - PR) is infinite on a graph of one node; choose another centrality",
                ));
            }
        }
        Ok(values)
    }
}

impl fmt::Display for Centrality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Centrality::Degree => "degree",
            Centrality::Core => "core",
            Centrality::PageRank => "pagerank",
            Centrality::Walks { length: 2 } => "walks",
            Centrality::Walks { length } => return write!(f, "walks:{length}"),
            Centrality::ClosedDegree => "closed-degree",
        })
    }
}

impl FromStr for Centrality {
    type Err = Error;

    /// Reads `degree`, `core`, `pagerank`, `walks` (length 2), `walks:LENGTH` or `closed-degree`.
    fn from_str(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        if let Some(length) = lower.strip_prefix("walks:") {
            let length = length.parse().map_err(|_| {
                Error::argument(
                    "centrality",
                    format!("walk length '{length}' is not a whole number, as in walks:3"),
                )
            })?;
            return Ok(Centrality::Walks { length });
        }
        Self::ALL
            .into_iter()
            .chain([Centrality::ClosedDegree])
            .find(|c| c.to_string() == lower)
            .ok_or_else(|| Error::unknown("centrality", name, Self::NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for c in Centrality::ALL
            .into_iter()
            .chain([Centrality::Walks { length: 5 }, Centrality::ClosedDegree])
        {
            assert_eq!(c.to_string().parse::<Centrality>().unwrap(), c);
        }
        assert_eq!("Core".parse::<Centrality>().unwrap(), Centrality::Core);
        assert!(
            "degre"
                .parse::<Centrality>()
                .unwrap_err()
                .to_string()
                .contains("did you mean degree?")
        );
        assert!("walks:x".parse::<Centrality>().is_err());
    }

    #[test]
    fn the_closed_degree_counts_the_node_itself() {
        let g = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0;
        assert_eq!(
            Centrality::ClosedDegree.values(&g).unwrap(),
            [2.0, 3.0, 2.0, 1.0]
        );
    }

    #[test]
    fn pagerank_values_are_the_inverse_of_one_minus_the_score() {
        let g = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let (scores, values) = (
            Centrality::PageRank.scores(&g).unwrap(),
            Centrality::PageRank.values(&g).unwrap(),
        );
        for (s, v) in scores.iter().zip(values) {
            assert!((v * (1.0 - s) - 1.0).abs() < 1e-15);
        }
        assert!(
            Centrality::PageRank
                .values(&Graph::empty(1).unwrap())
                .is_err()
        );
    }
}
