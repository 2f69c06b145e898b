//! Random flips of node pairs, the baseline of structure attacks
//! (Dai et al. 2018, [arXiv:1806.02371](https://arxiv.org/abs/1806.02371)).

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::method::{AttackInput, Method, edges};
use crate::perturb::{Budget, EdgeShare, flipped, sample_pairs};
use gnarl_graph::Result;

/// Flips random node pairs. Most pairs of a sparse graph have no edge, so most flips add one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "random-flips", about = "random node pairs flipped")]
pub struct RandomFlips {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
}

impl RandomFlips {
    /// Returns the attack with this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Method for RandomFlips {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let graph = input.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        let pairs = sample_pairs(
            graph.num_nodes(),
            count,
            |_, _| true,
            &mut HashSet::new(),
            rng,
        );
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
    fn as_many_pairs_are_flipped_as_the_budget_allows() {
        let graph = graph(5);
        for seed in 0..5 {
            assert_eq!(
                change(RandomFlips::budget(0.25), &graph, seed).num_flips(),
                graph.num_edges() / 4
            );
        }
        let full = Graph::from_edges(5, (0..5).flat_map(|u| (u + 1..5).map(move |v| (u, v))))
            .unwrap()
            .0;
        assert_eq!(
            change(RandomFlips::budget(1.0), &full, 0).removed.len(),
            10,
            "all pairs are edges"
        );
        assert_eq!(
            change(RandomFlips::budget(1.0), &Graph::empty(3).unwrap(), 0).num_flips(),
            0
        );
    }
}
