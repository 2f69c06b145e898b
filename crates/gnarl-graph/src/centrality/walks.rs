//! Walk count: number of walks of a given length that start at a node.

use serde::{Deserialize, Serialize};

use super::{Centrality, Measure};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::limits::{MOST, check_count};
use crate::settings::Settings;

/// Number of walks of a given length that start at the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(name = "walks", about = "number of walks of a given length", constant)]
pub struct Walks {
    /// Number of steps of each walk.
    // As in the experiments of the CGSO paper.
    #[setting(default = 2)]
    pub length: u32,
}

impl Measure for Walks {
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>> {
        walk_counts(graph, self.length)
    }

    fn suffix(&self) -> Option<String> {
        (*self != Self::DEFAULT).then(|| self.length.to_string())
    }

    fn with_suffix(&self, suffix: &str) -> Option<Result<Centrality>> {
        let wrong = |_| {
            Error::argument(
                "centrality",
                format!("walk length '{suffix}' is not a whole number, as in walks:3"),
            )
        };
        Some(suffix.parse().map(Centrality::walks).map_err(wrong))
    }
}

/// Returns `A^length · 1`: the number of walks with that many steps from each node (in a weighted
/// graph, the sum of the products of their weights). O(length · m).
///
/// Counts are exact up to 2^53 and rounded beyond. A count outside `f64`'s range is an error, never
/// an infinity; a length beyond a million is an error as well.
pub fn walk_counts(graph: &Graph, length: u32) -> Result<Vec<f64>> {
    use rayon::prelude::*;
    check_count("walks", u64::from(length), MOST)?;
    let mut counts = vec![1.0; graph.num_nodes()];
    let mut next = counts.clone();
    for step in 1..=length {
        next.par_iter_mut()
            .enumerate()
            .with_min_len(1024)
            .for_each(|(u, next)| {
                let neighbours = graph.neighbours(u as u32);
                *next = match graph.neighbour_weights(u as u32) {
                    None => neighbours.iter().map(|&v| counts[v as usize]).sum(),
                    Some(weights) => neighbours
                        .iter()
                        .zip(weights)
                        .map(|(&v, w)| w * counts[v as usize])
                        .sum(),
                };
            });
        std::mem::swap(&mut counts, &mut next);
        if let Some(u) = counts.iter().position(|c| !c.is_finite()) {
            let what = format!(
                "the walks of length {step} from node {u} are too many for a 64-bit float; use a shorter length"
            );
            return Err(Error::argument("walks", what));
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_on_a_star() {
        let star = Graph::from_edges(4, [(0, 1), (0, 2), (0, 3)]).unwrap().0;
        assert_eq!(walk_counts(&star, 0).unwrap(), [1.0; 4]);
        assert_eq!(walk_counts(&star, 1).unwrap(), [3.0, 1.0, 1.0, 1.0]);
        assert_eq!(walk_counts(&star, 2).unwrap(), [3.0, 3.0, 3.0, 3.0]);
        assert_eq!(walk_counts(&star, 3).unwrap(), [9.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn overflow_is_an_error_not_an_infinity() {
        let k20 = Graph::from_edges(20, (0..20u32).flat_map(|u| (0..u).map(move |v| (u, v))))
            .unwrap()
            .0;
        assert_eq!(walk_counts(&k20, 10).unwrap()[0], 19f64.powi(10));
        let e = walk_counts(&k20, 400).unwrap_err().to_string();
        assert!(e.contains("too many for a 64-bit float"), "{e}");
        assert!(
            walk_counts(&Graph::empty(0).unwrap(), 400)
                .unwrap()
                .is_empty()
        );
    }
}
