//! Core numbers by the bucket algorithm of [Batagelj and Zaveršnik
//! 2003](https://arxiv.org/abs/cs/0310049), one bucket at a time.
//!
//! One pruning pass for each k is not enough: a k-core needs pruning to a fixed point. Here the
//! nodes of remaining degree k have core number k, as do nodes that come down to k during the
//! removal. The published algorithm keeps all buckets up to date and touches four arrays for each
//! arc; collecting a bucket when its turn has come touches one.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Measure;
use crate::error::Result;
use crate::graph::Graph;
use crate::settings::Settings;

/// Largest k such that the node is in the k-core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "core", about = "core number", constant)]
pub struct Core {}

impl Measure for Core {
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>> {
        Ok(core_numbers(graph).into_iter().map(f64::from).collect())
    }
}

/// Returns the core number of every node: the largest k such that the node is in a subgraph of
/// minimum degree k.
///
/// Weights are not used. O(n + m) time: a node is visited once for each arc, and in `core + 1 <=
/// degree + 1` passes. Memory: two `u32` arrays of at most n in addition to the result.
pub fn core_numbers(graph: &Graph) -> Vec<u32> {
    let n = graph.num_nodes() as u32;
    let mut degree: Vec<u32> = (0..n).map(|u| graph.degree(u) as u32).collect();
    let mut left: Vec<u32> = (0..n).collect();
    let mut bucket = Vec::new();
    let mut k = 0;
    while !left.is_empty() {
        // Degrees below k belong to nodes that joined an earlier bucket while it was emptied.
        left.retain(|&u| {
            let remaining = degree[u as usize].cmp(&k);
            if remaining == Ordering::Equal {
                bucket.push(u);
            }
            remaining == Ordering::Greater
        });
        while let Some(u) = bucket.pop() {
            for &v in graph.neighbours(u) {
                let d = &mut degree[v as usize];
                if *d > k {
                    *d -= 1;
                    if *d == k {
                        bucket.push(v);
                    }
                }
            }
        }
        k += 1;
    }
    degree
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Prunes nodes of degree below k until none is left, for each k: the definition.
    fn by_definition(graph: &Graph) -> Vec<u32> {
        let n = graph.num_nodes();
        let mut core = vec![0u32; n];
        for k in 1..=n as u32 {
            let mut alive = vec![true; n];
            loop {
                let weak: Vec<usize> = (0..n)
                    .filter(|&u| {
                        let degree = graph
                            .neighbours(u as u32)
                            .iter()
                            .filter(|&&v| alive[v as usize])
                            .count();
                        alive[u] && (degree as u32) < k
                    })
                    .collect();
                if weak.is_empty() {
                    break;
                }
                for u in weak {
                    alive[u] = false;
                }
            }
            for u in 0..n {
                if alive[u] {
                    core[u] = k;
                }
            }
        }
        core
    }

    proptest! {
        #[test]
        fn equals_the_definition(n in 1usize..14, edges in prop::collection::vec((0u32..14, 0u32..14), 0..60)) {
            let inside = edges.into_iter().filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let g = Graph::from_edges(n, inside).unwrap().0;
            prop_assert_eq!(core_numbers(&g), by_definition(&g));
        }
    }

    #[test]
    fn pruning_goes_to_a_fixed_point() {
        // A path has core number 1 everywhere; one pruning pass for k = 2 would leave its inner
        // nodes in the 2-core.
        let path = Graph::from_edges(6, (1..6).map(|v| (v - 1, v))).unwrap().0;
        assert_eq!(core_numbers(&path), [1; 6]);
    }

    #[test]
    fn complete_empty_and_isolated() {
        let k5 = Graph::from_edges(6, (0..5u32).flat_map(|u| (0..u).map(move |v| (u, v))))
            .unwrap()
            .0;
        assert_eq!(core_numbers(&k5), [4, 4, 4, 4, 4, 0]);
        assert!(core_numbers(&Graph::empty(0).unwrap()).is_empty());
    }
}
