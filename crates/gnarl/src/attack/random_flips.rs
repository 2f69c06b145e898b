//! Edges at random: what a structural attack must beat.

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::random::{Rng, stream};
use rand::seq::SliceRandom;
use serde::Serialize;

use super::Scene;
use super::budget::EdgeShare;
use super::pairs::{Pair, draw_pairs};
use crate::error::Result;

/// Which changes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Moves {
    /// Pairs drawn from all: joined ones are parted, the others, which are most, joined.
    Flip,
    /// Edges that were not there.
    Add,
    /// Edges that were there.
    Remove,
}

/// As many random changes as the budget allows and the graph has room for.
pub(super) fn attack(scene: &Scene<'_>, budget: EdgeShare, moves: Moves, seed: u64) -> Result<Graph> {
    let (graph, count) = (scene.graph, budget.flips(scene.graph));
    let rng = &mut stream(seed, "random flips", 0);
    let mut taken = HashSet::new();
    let flips = match moves {
        Moves::Flip => draw_pairs(graph.num_nodes(), count, |_, _| true, &mut taken, rng),
        Moves::Add => draw_pairs(graph.num_nodes(), count, |u, v| !graph.has_edge(u, v), &mut taken, rng),
        Moves::Remove => draw_edges(graph.edges().collect(), count, rng),
    };
    flip(graph, &flips)
}

/// Up to `count` of the edges.
pub(super) fn draw_edges(mut edges: Vec<Pair>, count: usize, rng: &mut Rng) -> Vec<Pair> {
    edges.shuffle(rng);
    edges.truncate(count);
    edges
}

/// The graph with these pairs flipped.
pub(super) fn flip(graph: &Graph, pairs: &[Pair]) -> Result<Graph> {
    let (removed, added): (Vec<Pair>, Vec<Pair>) = pairs.iter().partition(|&&(u, v)| graph.has_edge(u, v));
    Ok(graph.remove_edges(&removed)?.add_edges(&added)?.0)
}

#[cfg(test)]
mod tests {
    use crate::attack::testing::graph;
    use crate::attack::{Attack, Change, Kind, Options, Scene};
    use gnarl_graph::Graph;

    fn change(graph: &Graph, kind: Kind, share: f64, seed: u64) -> Change {
        let scene = Scene { graph, model: None, targets: &[], labels: None };
        Attack::new(kind, Some(share), Options::default()).unwrap().run(&scene, seed).unwrap().change
    }

    #[test]
    fn each_kind_makes_its_moves() {
        let graph = graph(5);
        let flips = graph.num_edges() / 4;
        for seed in 0..5 {
            let added = change(&graph, Kind::RandomAdd, 0.25, seed);
            assert_eq!((added.added.len(), added.removed.len()), (flips, 0));
            let removed = change(&graph, Kind::RandomRemove, 0.25, seed);
            assert_eq!((removed.added.len(), removed.removed.len()), (0, flips));
            assert_eq!(change(&graph, Kind::RandomFlips, 0.25, seed).num_flips(), flips);
        }
        assert_ne!(change(&graph, Kind::RandomAdd, 0.25, 1).added, change(&graph, Kind::RandomAdd, 0.25, 2).added);
    }

    #[test]
    fn a_full_graph_has_no_room_and_an_empty_one_no_edges() {
        let full = Graph::from_edges(5, (0..5).flat_map(|u| (u + 1..5).map(move |v| (u, v)))).unwrap().0;
        assert_eq!(change(&full, Kind::RandomAdd, 1.0, 0).num_flips(), 0);
        assert_eq!(change(&full, Kind::RandomFlips, 1.0, 0).removed.len(), 10, "all pairs are edges");
        assert_eq!(change(&full, Kind::RandomRemove, 1.0, 0).removed.len(), 10);
        for kind in [Kind::RandomAdd, Kind::RandomRemove, Kind::RandomFlips] {
            assert_eq!(change(&Graph::empty(3).unwrap(), kind, 1.0, 0).num_flips(), 0);
            assert_eq!(change(&Graph::empty(0).unwrap(), kind, 1.0, 0).num_flips(), 0);
        }
    }
}
