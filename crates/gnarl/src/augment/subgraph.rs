//! Subgraph sampling (GraphCL, You et al. 2020,
//! [arXiv:2010.13902](https://arxiv.org/abs/2010.13902)): a connected part of the graph.
//!
//! The part grows from a random node by random neighbours until it has the required size or covers
//! its component.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{Copies, GraphTransform};

/// Keeps a connected part of at most `⌈(1 - drop_ratio) n⌉` nodes, and at least one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "subgraph",
    about = "samples connected subgraphs of the training graphs",
    constant
)]
pub struct Subgraph {
    /// Share of the nodes to leave out.
    #[setting(default = 0.2, range = 0.0..=1.0, was = "strength")]
    pub drop_ratio: f64,
    /// Schedule of the augmented copies: those of each epoch replace the training graphs, fixed ones
    /// are added to them.
    #[setting(default = Copies::EachEpoch)]
    pub copies: Copies,
}

impl Subgraph {
    /// Returns subgraph sampling without this share of the nodes, and new copies in every epoch.
    #[must_use]
    pub const fn new(drop_ratio: f64) -> Self {
        Self {
            drop_ratio,
            ..Self::DEFAULT
        }
    }
}

impl Augmentation for Subgraph {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }
}

impl GraphTransform for Subgraph {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let size = ((1.0 - self.drop_ratio) * graph.num_nodes() as f64).ceil() as usize;
        let mut part = grow(graph, size.max(1), rng);
        part.sort_unstable();
        graph.subgraph(&part)
    }
}

/// Returns at most `size` nodes in the order they were found: every prefix of the list is
/// connected. Empty for a graph without nodes. O(size + their degrees), and O(n) to mark visited
/// nodes.
pub(super) fn grow(graph: &Graph, size: usize, rng: &mut Rng) -> Vec<u32> {
    let n = graph.num_nodes();
    if n == 0 {
        return Vec::new();
    }
    let mut seen = vec![false; n];
    let first = rng.random_range(0..n as u32);
    seen[first as usize] = true;
    let (mut found, mut next) = (Vec::with_capacity(size.min(n)), vec![first]);
    while found.len() < size && !next.is_empty() {
        let u = next.swap_remove(rng.random_range(0..next.len()));
        found.push(u);
        for &v in graph.neighbours(u) {
            if !std::mem::replace(&mut seen[v as usize], true) {
                next.push(v);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;
    use gnarl_graph::{generate, properties};

    #[test]
    fn a_connected_part_of_the_size_asked_for() {
        for (graph, connected) in [
            (generate::cycle(20).unwrap(), true),
            (generate::star(20).unwrap(), true),
            (two_triangles(), false),
        ] {
            for seed in 0..50 {
                let part = Subgraph::new(0.25)
                    .apply(&graph, &mut stream(seed, "subgraph test", 0))
                    .unwrap();
                assert_eq!(
                    part.num_nodes(),
                    if connected { 15 } else { 3 },
                    "a component is all there is to find"
                );
                assert_eq!(properties::components(&part).count(), 1);
                assert!(part.edges().count() >= part.num_nodes() - 1);
            }
        }
        let whole = Subgraph::new(0.0)
            .apply(&generate::cycle(9).unwrap(), &mut stream(1, "t", 0))
            .unwrap();
        assert_eq!(
            whole.targets(),
            generate::cycle(9).unwrap().targets(),
            "all of it, in its order"
        );
        let e = Subgraph::new(2.0).check().unwrap_err().to_string();
        assert_eq!(e, "drop-ratio must be in [0, 1] (got 2)");
    }

    fn two_triangles() -> Graph {
        Graph::from_edges(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
            .unwrap()
            .0
    }
}
