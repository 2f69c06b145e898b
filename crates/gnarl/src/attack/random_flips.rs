//! Pairs of nodes flipped at random: what a structural attack must beat.

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use serde::{Deserialize, Serialize};

use super::method::{Method, OF_EDGES, Scene, TENTH, edges};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, draw_pairs, flipped};

/// Pairs drawn from all: joined ones are parted, the others, which are most, joined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RandomFlips {
    /// Share of the edges.
    pub budget: f64,
}

impl RandomFlips {
    /// With this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Default for RandomFlips {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for RandomFlips {
    const NAME: &'static str = "random-flips";
    const ABOUT: &'static str = "pairs of nodes flipped at random";
    const SETTINGS: &'static [Setting] = &[OF_EDGES];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget).map(drop)
    }
}

impl Method for RandomFlips {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let graph = scene.graph;
        let rng = &mut stream(seed, "random flips", 0);
        let count = EdgeShare::new(self.budget)?.flips(graph);
        let pairs = draw_pairs(
            graph.num_nodes(),
            count,
            |_, _| true,
            &mut HashSet::new(),
            rng,
        );
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
