//! The attacked predictions with their true classes.

use gnarl_graph::random::stream;
use gnarl_graph::{DenseMatrix, Error, Graph, Labels, Result, Split};
use rand::seq::index::sample;

use super::refused;
use super::request::{AttackStudy, Targets};
use crate::model::Fitted;
use gnarl_robust::attack::Property;
use gnarl_robust::classifier::Classifier;

impl AttackStudy {
    /// The attacked and evaluated predictions of a fitted model.
    pub(super) fn targets_of(
        &self,
        clean: &Fitted,
        scaled: &Graph,
        split: &Split,
        seed: u64,
    ) -> Result<Vec<(u32, u32)>> {
        let by_rule = self.targets == Targets::ByAttack && self.attack.has(Property::Targeted);
        if !by_rule {
            return self.targets.resolve(scaled, split);
        }
        let test = test_nodes(split, true_labels(scaled)?)?;
        let targets = nettack_targets(&clean.attack_target().scores(scaled)?, &test, seed);
        if targets.is_empty() {
            return Err(refused(
                "the model predicts no test node correctly, so no target is left; name --targets",
            ));
        }
        Ok(targets)
    }
}

impl Targets {
    /// The named nodes, or the test nodes, with their true classes.
    pub(super) fn resolve(&self, graph: &Graph, split: &Split) -> Result<Vec<(u32, u32)>> {
        let labels = true_labels(graph)?;
        match self {
            Targets::ByAttack => test_nodes(split, labels),
            Targets::Nodes(nodes) => named_nodes(nodes, labels),
        }
    }
}

/// Named target nodes, each once, with their classes.
fn named_nodes(nodes: &[u32], labels: &Labels) -> Result<Vec<(u32, u32)>> {
    let mut known = vec![false; labels.len()];
    for &u in nodes {
        match known.get_mut(u as usize) {
            None => {
                return Err(refused(&format!(
                    "target {u} is not a node; the graph has {} nodes",
                    labels.len()
                )));
            }
            Some(true) => {
                return Err(refused(&format!(
                    "target {u} is named twice; leave one out"
                )));
            }
            Some(known) => *known = true,
        }
    }
    match labelled(nodes, labels) {
        targets if targets.is_empty() => {
            let n = nodes.len();
            let what = format!("none of the {n} targets has a class to evaluate the attack by");
            Err(Error::missing("attack", what, "name nodes with a class"))
        }
        targets => Ok(targets),
    }
}

/// The test nodes with their classes.
fn test_nodes(split: &Split, labels: &Labels) -> Result<Vec<(u32, u32)>> {
    match labelled(split.test(), labels) {
        targets if targets.is_empty() => {
            let name = split.name();
            let what = format!("split {name} has no labelled test nodes to evaluate an attack by");
            Err(Error::missing("attack", what, "name another split"))
        }
        targets => Ok(targets),
    }
}

/// The labelled nodes or graphs among these, with their classes.
pub(super) fn labelled(nodes: &[u32], labels: &Labels) -> Vec<(u32, u32)> {
    nodes
        .iter()
        .filter_map(|&u| labels.get(u).map(|c| (u, c)))
        .collect()
}

pub(super) fn true_labels(graph: &Graph) -> Result<&Labels> {
    graph.labels().ok_or_else(|| {
        Error::missing(
            "attack",
            "the graph has no labels",
            "take a graph with labels",
        )
    })
}

/// Selects forty targets by the rule of Nettack ([Zügner et al.
/// 2018](https://arxiv.org/abs/1805.07984)): the ten correct predictions with the largest margin,
/// the ten with the smallest and twenty others at random. All correct predictions if there are
/// fewer. In the order of their nodes.
fn nettack_targets(scores: &DenseMatrix<f32>, nodes: &[(u32, u32)], seed: u64) -> Vec<(u32, u32)> {
    const ENDS: usize = 10;
    const AT_RANDOM: usize = 20;
    let mut correct: Vec<(f32, (u32, u32))> = nodes
        .iter()
        .map(|&node| (margin(scores, node), node))
        .filter(|(margin, _)| *margin > 0.0)
        .collect();
    correct.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<(u32, u32)> = correct.iter().map(|(_, node)| *node).collect();
    if chosen.len() > 2 * ENDS + AT_RANDOM {
        let middle = chosen[ENDS..chosen.len() - ENDS].to_vec();
        let rng = &mut stream(seed, "targets", 0);
        let sampled = sample(rng, middle.len(), AT_RANDOM)
            .into_iter()
            .map(|i| middle[i]);
        chosen = chosen[..ENDS]
            .iter()
            .chain(&chosen[chosen.len() - ENDS..])
            .copied()
            .chain(sampled)
            .collect();
    }
    chosen.sort_unstable();
    chosen
}

/// Score of a node's true class minus the largest score of another class.
fn margin(scores: &DenseMatrix<f32>, (u, class): (u32, u32)) -> f32 {
    let row = scores.row(u as usize);
    let others = row
        .iter()
        .enumerate()
        .filter(|(c, _)| *c != class as usize)
        .map(|(_, &z)| z);
    row[class as usize] - others.fold(f32::NEG_INFINITY, f32::max)
}
