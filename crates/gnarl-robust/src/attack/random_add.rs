//! Random edge insertion, the baseline of attacks that add edges
//! (Dai et al. 2018, [arXiv:1806.02371](https://arxiv.org/abs/1806.02371)).

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::method::{AttackInput, Method, edges};
use crate::perturb::{Budget, EdgeShare, flipped, sample_pairs};
use gnarl_graph::Result;

/// Adds random edges, as many as the budget and the number of free pairs allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "random-add", about = "random edges added")]
pub struct RandomAdd {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
}

impl RandomAdd {
    /// Returns the attack with this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Method for RandomAdd {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let graph = input.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let apart = |u: u32, v: u32| !graph.has_edge(u, v);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        let pairs = sample_pairs(graph.num_nodes(), count, apart, &mut HashSet::new(), rng);
        flipped(graph, &pairs)
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
