//! Edges removed at random: what an attack that removes edges must beat.

use gnarl_graph::Graph;
use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use serde::{Deserialize, Serialize};

use super::method::{Method, OF_EDGES, Scene, TENTH, edges};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, draw_edges, flipped};

/// As many edges gone as the budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RandomRemove {
    /// Share of the edges.
    pub budget: f64,
}

impl RandomRemove {
    /// With this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Default for RandomRemove {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for RandomRemove {
    const NAME: &'static str = "random-remove";
    const ABOUT: &'static str = "edges removed at random";
    const SETTINGS: &'static [Setting] = &[OF_EDGES];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget).map(drop)
    }
}

impl Method for RandomRemove {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let graph = scene.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        Ok(flipped(
            graph,
            &draw_edges(graph.edges().collect(), count, rng),
        )?)
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
