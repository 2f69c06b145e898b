//! Edges added at random: what an attack that adds edges must beat.

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use serde::{Deserialize, Serialize};

use super::method::{Method, OF_EDGES, Scene, TENTH, edges};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, draw_pairs, flipped};

/// As many new edges as the budget allows and the graph has room for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RandomAdd {
    /// Share of the edges.
    pub budget: f64,
}

impl RandomAdd {
    /// With this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Default for RandomAdd {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for RandomAdd {
    const NAME: &'static str = "random-add";
    const ABOUT: &'static str = "edges added at random";
    const SETTINGS: &'static [Setting] = &[OF_EDGES];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget).map(drop)
    }
}

impl Method for RandomAdd {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let graph = scene.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let apart = |u: u32, v: u32| !graph.has_edge(u, v);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        let pairs = draw_pairs(graph.num_nodes(), count, apart, &mut HashSet::new(), rng);
        Ok(flipped(graph, &pairs)?)
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::{change, graph};

    #[test]
    fn edges_are_added_and_none_removed() {
        let graph = graph(5);
        for seed in 0..5 {
            let found = change(RandomAdd::budget(0.25), &graph, seed);
            assert_eq!(
                (found.added.len(), found.removed.len()),
                (graph.num_edges() / 4, 0)
            );
        }
        let added = |seed| change(RandomAdd::budget(0.25), &graph, seed).added;
        assert_ne!(added(1), added(2));
    }

    #[test]
    fn a_full_graph_has_no_room() {
        let full = Graph::from_edges(5, (0..5).flat_map(|u| (u + 1..5).map(move |v| (u, v))))
            .unwrap()
            .0;
        assert_eq!(change(RandomAdd::budget(1.0), &full, 0).num_flips(), 0);
        for nodes in [0, 3] {
            assert_eq!(
                change(RandomAdd::budget(1.0), &Graph::empty(nodes).unwrap(), 0).num_flips(),
                0
            );
        }
    }
}
