//! Structure corruption of training graphs: random removals and additions of edges, as in the
//! robustness experiments of GRATIN ([arXiv:2411.08638](https://arxiv.org/abs/2411.08638)).
//!
//! A graph with m edges gets `round(share · m)` changes. Each change is a removal or an addition with
//! equal probability; edges to remove and pairs to join are sampled uniformly without replacement. A
//! graph with too few free pairs gets as many additions as it has free pairs.

use std::collections::HashSet;

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Graph, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::transform::GraphTransform;

/// Random changes of edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corruption {
    /// Number of changes per edge, 0 to 1.
    pub share: f64,
}

impl Corruption {
    /// Returns the corruption; fails for an invalid share.
    pub fn new(share: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::argument(
                "corruption",
                format!("share of edges must be in [0, 1] (got {share})"),
            ));
        }
        Ok(Self { share })
    }
}

impl GraphTransform for Corruption {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let changes = (self.share * graph.num_edges() as f64).round() as usize;
        let removals = (0..changes).filter(|_| rng.random_bool(0.5)).count();
        let mut edges: Vec<(u32, u32)> = graph.edges().collect();
        let gone = edges.partial_shuffle(rng, removals).0.to_vec();
        let added = free_pairs(graph, changes - removals, rng);
        graph.add_edges(&added)?.0.remove_edges(&gone)
    }
}

/// Samples `count` distinct pairs without an edge, or returns all there are.
fn free_pairs(graph: &Graph, count: usize, rng: &mut Rng) -> Vec<(u32, u32)> {
    let n = graph.num_nodes();
    let all_pairs = n * n.saturating_sub(1) / 2;
    let count = count.min(all_pairs - graph.num_edges());
    if 2 * (graph.num_edges() + count) > all_pairs {
        // Most pairs are joined: the others are few enough to list.
        let pairs = (0..n as u32).flat_map(|u| (u + 1..n as u32).map(move |v| (u, v)));
        let mut free: Vec<(u32, u32)> = pairs.filter(|&(u, v)| !graph.has_edge(u, v)).collect();
        return free.partial_shuffle(rng, count).0.to_vec();
    }
    let (mut found, mut seen) = (Vec::with_capacity(count), HashSet::with_capacity(count));
    while found.len() < count {
        let (u, v) = (rng.random_range(0..n as u32), rng.random_range(0..n as u32));
        let pair = (u.min(v), u.max(v));
        if u != v && !graph.has_edge(u, v) && seen.insert(pair) {
            found.push(pair);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate;
    use gnarl_graph::random::stream;

    fn differences(a: &Graph, b: &Graph) -> (usize, usize) {
        let removed = a.edges().filter(|&(u, v)| !b.has_edge(u, v)).count();
        let added = b.edges().filter(|&(u, v)| !a.has_edge(u, v)).count();
        (removed, added)
    }

    #[test]
    fn as_many_changes_as_asked_half_of_them_removals() {
        let graph = generate::erdos_renyi(60, 0.1, 1).unwrap();
        for (share, dense) in [(0.1, false), (0.2, false), (0.2, true), (0.0, false)] {
            let graph = if dense {
                generate::erdos_renyi(30, 0.8, 1).unwrap()
            } else {
                graph.clone()
            };
            let asked = (share * graph.num_edges() as f64).round() as usize;
            let mut removals = 0;
            for seed in 0..200 {
                let mut rng = stream(seed, "corruption test", 0);
                let corrupted = Corruption { share }.apply(&graph, &mut rng).unwrap();
                let (removed, added) = differences(&graph, &corrupted);
                assert_eq!(removed + added, asked, "share {share}");
                removals += removed;
            }
            // 200 · asked coin tosses: five standard deviations.
            let tosses = (200 * asked) as f64;
            assert!(
                (removals as f64 - tosses / 2.0).abs() <= 2.5 * tosses.sqrt(),
                "{removals} of {tosses}"
            );
        }
    }

    #[test]
    fn the_smallest_graphs_and_a_full_one() {
        for (graph, most) in [
            (Graph::empty(0).unwrap(), 0),
            (Graph::empty(1).unwrap(), 0),
            (Graph::empty(5).unwrap(), 0),
            (generate::complete(6).unwrap(), 15),
        ] {
            let mut rng = stream(1, "corruption test", 1);
            let corrupted = Corruption::new(1.0)
                .unwrap()
                .apply(&graph, &mut rng)
                .unwrap();
            assert_eq!(corrupted.num_nodes(), graph.num_nodes());
            assert!(differences(&graph, &corrupted).1 == 0 && corrupted.num_edges() <= most);
        }
        let e = Corruption::new(1.5).unwrap_err().to_string();
        assert_eq!(e, "corruption: share of edges must be in [0, 1] (got 1.5)");
        assert!(Corruption::new(f64::NAN).is_err());
    }
}
