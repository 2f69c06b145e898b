//! DICE, "delete internally, connect externally" (Waniek et al. 2018,
//! [doi:10.1038/s41562-017-0290-3](https://doi.org/10.1038/s41562-017-0290-3)): each flip removes
//! an edge between nodes of one class or adds an edge between nodes of different classes. Both have
//! equal probability, as in Zügner and Günnemann (2019,
//! [arXiv:1902.08412](https://arxiv.org/abs/1902.08412)).
//!
//! The attacker needs a class for every node: the true ones, as in the reference, or true ones for
//! training nodes and a model's predictions elsewhere. Nodes without a class are left alone. If one
//! kind of flip runs out, the other kind spends the rest of the budget.

use std::collections::HashSet;

use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{Error, Graph};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::method::{AttackInput, Method, Requirement, edges};
use crate::perturb::{Budget, EdgeShare, flipped, sample_edges, sample_pairs};
use gnarl_graph::Result;

/// Removes edges within classes and adds edges between classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "dice",
    about = "edges within classes removed, between classes added"
)]
pub struct Dice {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
}

impl Dice {
    /// Returns the attack with this share of the edges.
    pub const fn budget(budget: f64) -> Self {
        Self { budget }
    }
}

impl Method for Dice {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let labels = input.labels.ok_or_else(|| {
            let what = "dice needs the classes of nodes, and the graph has no labels";
            Error::missing("attack", what, "take a graph with labels")
        })?;
        let (graph, flips) = (input.graph, EdgeShare::new(self.budget)?.flips(input.graph));
        let rng = &mut stream(seed, "dice", 0);
        let together = |u: u32, v: u32| labels.get(u).is_some() && labels.get(u) == labels.get(v);
        let apart = |u: u32, v: u32| {
            labels
                .get(u)
                .zip(labels.get(v))
                .is_some_and(|(a, b)| a != b)
        };

        let internal: Vec<_> = graph.edges().filter(|&(u, v)| together(u, v)).collect();
        let parted = (0..flips)
            .filter(|_| rng.random_bool(0.5))
            .count()
            .min(internal.len());
        let mut order = sample_edges(internal, flips, rng);
        let external = |u: u32, v: u32| apart(u, v) && !graph.has_edge(u, v);
        let joined = sample_pairs(
            graph.num_nodes(),
            flips - parted,
            external,
            &mut HashSet::new(),
            rng,
        );
        order.truncate(flips - joined.len());
        order.extend(joined);
        flipped(graph, &order)
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Labels])
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::graph;
    use crate::attack::{Attack, Attacked};
    use gnarl_graph::Labels;

    fn attack(graph: &Graph, labels: Option<&Labels>, share: f64, seed: u64) -> Result<Attacked> {
        let input = AttackInput {
            graph,
            model: None,
            targets: &[],
            labels,
            training: &[],
            stop: None,
        };
        Attack::from(Dice::budget(share)).run(&input, seed)
    }

    #[test]
    fn only_edges_within_a_class_go_and_only_edges_between_classes_come() {
        let graph = graph(2);
        let labels = graph.labels().unwrap();
        let (mut added, mut removed) = (0, 0);
        for seed in 0..20 {
            let change = attack(&graph, Some(labels), 0.2, seed).unwrap().change;
            assert_eq!(change.num_flips(), graph.num_edges() / 5);
            assert!(
                change
                    .removed
                    .iter()
                    .all(|&(u, v)| labels.get(u) == labels.get(v))
            );
            assert!(
                change
                    .added
                    .iter()
                    .all(|&(u, v)| labels.get(u) != labels.get(v))
            );
            added += change.added.len();
            removed += change.removed.len();
        }
        // Fair coins: six standard deviations of a sum of that many.
        let (total, difference) = (
            (added + removed) as f64,
            (added as f64 - removed as f64).abs(),
        );
        assert!(
            difference < 6.0 * total.sqrt(),
            "{added} added, {removed} removed"
        );
    }

    #[test]
    fn one_side_takes_what_the_other_leaves() {
        let ring = |n: u32| {
            Graph::from_edges(n as usize, (0..n).map(|u| (u, (u + 1) % n)))
                .unwrap()
                .0
        };
        let alternating = Labels::new((0..8).map(|u| Some(u % 2)).collect(), 2).unwrap();
        let change = attack(&ring(8), Some(&alternating), 0.5, 1).unwrap().change;
        assert_eq!(
            (change.added.len(), change.removed.len()),
            (4, 0),
            "no edge is internal"
        );
        let one = Labels::new(vec![Some(0); 8], 1).unwrap();
        let change = attack(&ring(8), Some(&one), 0.5, 1).unwrap().change;
        assert_eq!(
            (change.added.len(), change.removed.len()),
            (0, 4),
            "no pair is external"
        );
        let none = Labels::new(vec![None; 8], 1).unwrap();
        assert_eq!(
            attack(&ring(8), Some(&none), 0.5, 1)
                .unwrap()
                .change
                .num_flips(),
            0
        );
        let e = attack(&ring(8), None, 0.5, 1).unwrap_err().to_string();
        assert_eq!(
            e,
            "attack: dice needs the classes of nodes, and the graph has no labels; take a graph with labels"
        );
    }
}
