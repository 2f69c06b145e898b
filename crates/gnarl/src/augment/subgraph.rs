//! Subgraph sampling (You et al. 2020; thesis ch. 7, baselines): a connected part of the graph.
//!
//! From a random node the part grows by random nodes next to it, as You et al.'s walk does, until
//! it has its size or its component has no more.

use gnarl_graph::random::Rng;
use gnarl_graph::{Graph, Result};
use rand::RngExt;

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use super::transform::{COPIES, Copies, GraphTransform, check_share};

/// A connected part of at most `⌈(1 - rate) n⌉` nodes, at least one where there are nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Subgraph {
    /// the share of nodes left out, 0 to 1.
    pub strength: f64,
    /// How often a copy is made.
    pub copies: Copies,
}

impl Subgraph {
    /// With this share, copies made anew in every epoch.
    pub const fn share(strength: f64) -> Self {
        Self {
            strength,
            copies: Copies::EachEpoch,
        }
    }
}

impl Default for Subgraph {
    fn default() -> Self {
        Self::share(0.2)
    }
}

impl Choice for Subgraph {
    const NAME: &'static str = "subgraph";
    const ABOUT: &'static str = "connected parts of the training graphs";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "strength",
            "X",
            "the share of nodes left out, 0 to 1 [default: 0.2]",
        ),
        COPIES,
    ];

    fn check(&self) -> Result<()> {
        check_share(Self::NAME, self.strength)
    }
}

impl Augmentation for Subgraph {
    fn transform(&self) -> Option<(&dyn GraphTransform, Copies)> {
        Some((self, self.copies))
    }
}

impl GraphTransform for Subgraph {
    fn apply(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let size = ((1.0 - self.strength) * graph.num_nodes() as f64).ceil() as usize;
        let mut part = grow(graph, size.max(1), rng);
        part.sort_unstable();
        graph.subgraph(&part)
    }
}

/// At most `size` nodes in the order they were found: every beginning of the list is connected.
/// Empty for a graph without nodes. O(size + their degrees), and O(n) to remember who was seen.
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
    use gnarl_graph::{generate, properties};

    #[test]
    fn a_connected_part_of_the_size_asked_for() {
        for (graph, connected) in [
            (generate::cycle(20).unwrap(), true),
            (generate::star(20).unwrap(), true),
            (two_triangles(), false),
        ] {
            for seed in 0..50 {
                let part = Subgraph::share(0.25)
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
        let whole = Subgraph::share(0.0)
            .apply(&generate::cycle(9).unwrap(), &mut stream(1, "t", 0))
            .unwrap();
        assert_eq!(
            whole.targets(),
            generate::cycle(9).unwrap().targets(),
            "all of it, in its order"
        );
        let e = Subgraph::share(2.0).check().unwrap_err().to_string();
        assert_eq!(e, "subgraph: a strength of 2; it must lie in 0 to 1");
    }

    fn two_triangles() -> Graph {
        Graph::from_edges(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
            .unwrap()
            .0
    }
}
