//! Buckets of graphs by their number of nodes, each with the best exit on its validation graphs.
//! These are the buckets of ADMP-GNN (Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)), by the property in which graphs differ
//! most.

use gnarl_data::Task;
use serde::{Deserialize, Serialize};

use super::buckets::{bucket, learned};
use super::{Chosen, ExitPredictions, Family, Learned, Structure};
use crate::train::Targets;
use gnarl_graph::Result;

/// Exit of the graph's bucket; bucket `b` holds sizes with exactly `b` cuts at or below them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Ascending lower bounds of the buckets, without the first bucket's.
    cuts: Vec<f64>,
    /// Exit of every bucket.
    exits: Vec<usize>,
}

impl Family for Size {
    type Setting = ();

    fn learn(
        (): (),
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
        val: &Targets,
    ) -> Result<Self> {
        let (mut cuts, exits) = learned(&[structure.sizes()?], structure, predictions, val);
        Ok(Self {
            cuts: cuts.swap_remove(0),
            exits,
        })
    }

    fn refused_on((): (), task: Task) -> Option<&'static str> {
        (task == Task::Node)
            .then_some("compares the sizes of the graphs of a set, and this is one graph")
    }
}

impl Learned for Size {
    fn choose(&self, structure: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        let (sizes, cuts) = ([structure.sizes()?], std::slice::from_ref(&self.cuts));
        let exit = |graph: usize| self.exits[bucket(&sizes, cuts, graph)];
        Ok(Chosen::of_exits(
            (0..predictions.num_items).map(exit).collect(),
        ))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.exits.len() == self.cuts.len() + 1 && self.exits.iter().all(|exit| *exit < exits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depth::policies::testing::{confident, targets};
    use crate::depth::{Kind, Policy};
    use gnarl_graph::generate::cycle;

    /// Exit 0 is correct on small graphs, exit 1 on large ones; the sizes of graphs outside the
    /// known ones change no cut.
    #[test]
    fn small_and_large_graphs_take_the_exit_that_suits_them() {
        let graphs: Vec<_> = (0..60)
            .map(|i| cycle(if i % 3 == 0 { 20 } else { 3 + i % 5 }).unwrap())
            .collect();
        let truth: Vec<u32> = (0..60).map(|i| i / 3 % 2).collect();
        let is_large = |i: usize| i.is_multiple_of(3);
        let exit = |of_large: bool| {
            (0..60)
                .map(|i| {
                    if is_large(i) == of_large {
                        truth[i]
                    } else {
                        1 - truth[i]
                    }
                })
                .collect()
        };
        let predictions = confident(&[exit(false), exit(true)], 2);
        let structure = Structure::of_graphs(&graphs, &[])
            .unwrap()
            .knowing((0..40).collect());
        let policy = Policy::learn(
            Kind::Size,
            &structure,
            &predictions,
            &targets(0..40, &truth),
        )
        .unwrap();
        let chosen = policy.choose(&structure, &predictions).unwrap();
        assert_eq!(
            predictions.policy_accuracy(&chosen, &targets(40..60, &truth)),
            100.0,
            "{policy:?}"
        );
        let mut larger = graphs.clone();
        larger[40..].fill(cycle(90).unwrap());
        let larger = Structure::of_graphs(&larger, &[])
            .unwrap()
            .knowing((0..40).collect());
        assert_eq!(
            Policy::learn(Kind::Size, &larger, &predictions, &targets(0..40, &truth)).unwrap(),
            policy
        );
    }
}
