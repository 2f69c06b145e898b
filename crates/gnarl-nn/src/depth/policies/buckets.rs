//! Policies of ADMP-GNN (Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)): buckets of nodes by one centrality, or by
//! two in a grid, each with the best exit on its validation nodes.

use std::cmp::Reverse;

use gnarl_data::Task;
use gnarl_graph::centrality::Centrality;
use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::depth::fit::FOLDS;
use crate::operator::Centralities;
use crate::train::Targets;
use gnarl_graph::Result;

/// Exit of the node's bucket. Bucket `b` of a centrality holds values with exactly `b` cuts at or
/// below them; with two centralities the second one is the faster index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// Centralities that rank the nodes.
    centralities: Centralities,
    /// Ascending lower bounds of the buckets of each centrality, without the first bucket's.
    cuts: Vec<Vec<f64>>,
    /// Exit of every bucket.
    exits: Vec<usize>,
}

/// Maximal number of buckets of one centrality, and of each of two.
const MAX_BUCKETS: usize = 10;
const MAX_GRID: usize = 4;

impl Family for Buckets {
    type Setting = Centralities;

    /// Learns buckets of equal size, with the exit of most correct validation nodes in each. Ties
    /// go to the exit that is better on all validation nodes; a bucket without validation nodes
    /// takes it too. The number of buckets has the best cross-validated accuracy: exits are chosen
    /// on four fifths of the validation nodes and evaluated on the rest. Ties go to fewer buckets.
    fn learn(
        centralities: Centralities,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let (cuts, exits) = learned(
            &values_of(centralities, structure)?,
            structure,
            predictions,
            val,
        );
        Ok(Self {
            centralities,
            cuts,
            exits,
        })
    }

    fn refused_on(centralities: Centralities, task: Task) -> Option<&'static str> {
        let mut all = centralities.iter();
        (task == Task::Graph && all.any(|kind| kind == Centrality::PAGERANK)).then_some(
            "does not work for graphs of a set, whose mean PageRank is 1 / size; use size",
        )
    }
}

/// Learns the cuts of every list of values, one value for each node or graph, and the exit of every
/// bucket.
pub(super) fn learned(
    values: &[&[f64]],
    structure: &Structure<'_>,
    predictions: &ExitPredictions,
    val: &Targets,
) -> (Vec<Vec<f64>>, Vec<usize>) {
    let hits: Vec<Vec<bool>> = (0..predictions.num_exits())
        .map(|exit| predictions.hits(exit, val))
        .collect();
    let most = if values.len() == 1 {
        MAX_BUCKETS
    } else {
        MAX_GRID
    };
    let evaluated = |count: usize| {
        let cuts: Vec<Vec<f64>> = values
            .iter()
            .map(|values| cuts_of(&structure.known(values), count))
            .collect();
        let buckets: Vec<usize> = val
            .items
            .iter()
            .map(|&u| bucket(values, &cuts, u as usize))
            .collect();
        let num_buckets = cuts.iter().map(|cuts| cuts.len() + 1).product();
        let choose = |is_used: &dyn Fn(usize) -> bool| {
            exits_by_bucket(&hits, &buckets, num_buckets, is_used)
        };
        let correct_in = |fold: usize| {
            let exits = choose(&|i| i % FOLDS != fold);
            (fold..buckets.len())
                .step_by(FOLDS)
                .filter(|&i| hits[exits[buckets[i]]][i])
                .count()
        };
        let correct: usize = (0..FOLDS).map(correct_in).sum();
        (correct, (cuts, choose(&|_| true)))
    };
    type Evaluated = (usize, (Vec<Vec<f64>>, Vec<usize>));
    let counts = 2..=most.min(predictions.num_items.max(1));
    let better = |best: Evaluated, next: Evaluated| if next.0 > best.0 { next } else { best };
    counts.map(evaluated).fold(evaluated(1), better).1
}

impl Learned for Buckets {
    fn choose(&self, structure: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let values = values_of(self.centralities, structure)?;
        let exit = |node: usize| self.exits[bucket(&values, &self.cuts, node)];
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        let buckets = self
            .cuts
            .iter()
            .try_fold(1usize, |n, cuts| n.checked_mul(cuts.len() + 1));
        self.cuts.len() == self.centralities.iter().count()
            && buckets == Some(self.exits.len())
            && self.exits.iter().all(|exit| *exit < exits)
    }

    fn centralities(&self) -> Vec<Centrality> {
        self.centralities.iter().collect()
    }
}

fn values_of<'a>(
    centralities: Centralities,
    structure: &'a Structure<'_>,
) -> Result<Vec<&'a [f64]>> {
    centralities
        .iter()
        .map(|c| structure.centrality(c))
        .collect()
}

/// Returns values that cut all nodes into `count` buckets of about the same size: those at ranks
/// `k n / count`. Nodes of equal value stay together, so there may be fewer buckets; a constant
/// gives one.
fn cuts_of(values: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let mut cuts: Vec<f64> = (1..count)
        .map(|k| k * n / count)
        .filter(|at| *at < n)
        .map(|at| sorted[at])
        .collect();
    cuts.dedup();
    cuts.retain(|cut| *cut > sorted[0]);
    cuts
}

pub(super) fn bucket(values: &[&[f64]], cuts: &[Vec<f64>], node: usize) -> usize {
    values.iter().zip(cuts).fold(0, |at, (values, cuts)| {
        at * (cuts.len() + 1) + cuts.partition_point(|cut| *cut <= values[node])
    })
}

/// Returns the best exit of every bucket, evaluated on the selected validation nodes.
fn exits_by_bucket(
    hits: &[Vec<bool>],
    buckets: &[usize],
    num_buckets: usize,
    is_used: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let mut correct = vec![vec![0usize; hits.len()]; num_buckets];
    let mut overall = vec![0usize; hits.len()];
    for (i, &b) in buckets.iter().enumerate().filter(|(i, _)| is_used(*i)) {
        for (exit, hits) in hits.iter().enumerate() {
            correct[b][exit] += usize::from(hits[i]);
            overall[exit] += usize::from(hits[i]);
        }
    }
    let best = |correct: &Vec<usize>| {
        (0..hits.len())
            .max_by_key(|&l| (correct[l], overall[l], Reverse(l)))
            .unwrap_or(0)
    };
    correct.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::policies::testing::{leaves_and_corners, targets};
    use crate::depth::{Kind, Policy};

    #[test]
    fn each_bucket_has_the_exit_that_is_best_for_it() {
        let (graph, predictions, truth) = leaves_and_corners();
        let val = targets((0..101).filter(|u| u % 2 == 0), &truth);
        let all = targets(0..101, &truth);
        assert_eq!(predictions.accuracy(0, &all), 100.0 * 40.0 / 101.0);
        assert_eq!(predictions.best_exit(&val), 1);
        for name in ["degree", "core", "walks", "degree+core"] {
            let kind: Kind = name.parse().unwrap();
            let structure = Structure::new(&graph, &[kind]).unwrap();
            let policy = Policy::learn(kind, &structure, &predictions, &val).unwrap();
            let chosen = policy.choose(&structure, &predictions).unwrap();
            let expected: Vec<usize> = (0..101)
                .map(|u| usize::from(!(1..=40).contains(&u)))
                .collect();
            // The hub has a core number of 1 and 40 walks of two steps, as its leaves do.
            let differ = (0..101)
                .filter(|&u| chosen.exits[u] != expected[u])
                .collect::<Vec<usize>>();
            assert!(
                differ.is_empty() || (["core", "walks"].contains(&name) && differ == [0]),
                "{name}: {differ:?} in {policy:?}"
            );
            assert!(predictions.policy_accuracy(&chosen, &all) >= 99.0, "{name}");
        }
    }

    #[test]
    fn values_are_cut_without_splitting_ties() {
        assert_eq!(cuts_of(&[4.0, 1.0, 3.0, 2.0], 2), [3.0]);
        assert_eq!(cuts_of(&[4.0, 1.0, 3.0, 2.0], 4), [2.0, 3.0, 4.0]);
        assert_eq!(
            cuts_of(&[1.0, 1.0, 1.0, 2.0], 2),
            [0.0; 0],
            "a cut among the ones would split them"
        );
        assert_eq!(cuts_of(&[1.0, 1.0, 1.0, 2.0], 4), [2.0]);
        assert_eq!(cuts_of(&[7.0; 5], 3), [0.0; 0]);
        assert_eq!(cuts_of(&[1.0, 2.0], 9), [2.0], "more buckets than nodes");
        assert_eq!(cuts_of(&[], 3), [0.0; 0]);
        let (a, b) = ([1.0, 5.0, 9.0], [2.0, 1.0, 2.0]);
        let cuts = [vec![5.0, 9.0], vec![2.0]];
        assert_eq!([0, 1, 2].map(|u| bucket(&[&a, &b], &cuts, u)), [1, 2, 5]);
    }

    #[test]
    fn ties_and_empty_buckets_go_to_the_exit_that_is_best_overall() {
        // Exit 2 is correct on nodes 0 to 3, exit 1 on 0 to 2, exit 0 on 0 alone. Bucket 0 holds
        // node 0, where all tie.
        let hits = [
            vec![true, false, false, false],
            vec![true, true, true, false],
            vec![true; 4],
        ];
        assert_eq!(
            exits_by_bucket(&hits, &[0, 1, 1, 1], 3, &|_| true),
            [2, 2, 2]
        );
        let hits = [vec![true, false, true], vec![false, true, true]];
        assert_eq!(
            exits_by_bucket(&hits, &[0, 1, 1], 3, &|_| true),
            [0, 1, 0],
            "of equals overall, the first"
        );
    }
}
