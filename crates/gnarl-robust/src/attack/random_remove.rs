//! Random edge deletion, the baseline of attacks that remove edges
//! (Dai et al. 2018, [arXiv:1806.02371](https://arxiv.org/abs/1806.02371)).

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::method::{AttackInput, Method, edges};
use crate::perturb::{Budget, EdgeShare, flipped, sample_edges};
use gnarl_graph::Result;

/// Removes random edges, as many as the budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "random-remove", about = "random edges removed")]
pub struct RandomRemove {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
}

impl RandomRemove {
    /// Returns the attack with this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Method for RandomRemove {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let graph = input.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        flipped(graph, &sample_edges(graph.edges().collect(), count, rng))
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
    fn edges_are_removed_and_none_added() {
        let graph = graph(5);
        for seed in 0..5 {
            let found = change(RandomRemove::budget(0.25), &graph, seed);
            assert_eq!(
                (found.added.len(), found.removed.len()),
                (0, graph.num_edges() / 4)
            );
        }
        assert_eq!(
            change(RandomRemove::budget(1.0), &graph, 0).removed.len(),
            graph.num_edges()
        );
        assert_eq!(
            change(RandomRemove::budget(1.0), &Graph::empty(3).unwrap(), 0).num_flips(),
            0
        );
    }
}
