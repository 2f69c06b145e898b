//! A GCN on joined sparse and dense halves of a graph, tested on both together and on each.

use std::sync::atomic::Ordering;

use gnarl_data::{Benchmark, Content, Task};
use gnarl_graph::generate::{Halves, sparse_dense_halves};
use gnarl_graph::{Error, Graph, Split};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::nodes::at_depth;
use super::{CellInput, CellWork, RowKind, RunInput, Runs, Work, curve};
use crate::measured::Measured;
use gnarl::study::train::{Run, TrainStudy};
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;

/// Number of nodes of the joined halves, as in the thesis.
const NUM_NODES: usize = 5000;

/// Trains a GCN of this depth on joined sparse and dense halves of the graph, and tests it on both
/// together and on each.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalvesRow {
    /// Number of layers; zero for a linear map of the features.
    pub depth: usize,
}

/// Settings of joined halves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Joined {
    /// Number of nodes of the two halves together.
    pub nodes: usize,
}

impl RowKind for HalvesRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let joined = Joined { nodes: NUM_NODES };
        let model = at_depth(Backbone::GCN, self.depth);
        Ok(Work::Halves(cell.chapter_4(model, joined)?))
    }
}

impl CellWork for Runs<Joined> {
    fn kind(&self) -> &'static str {
        "halves"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node)
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let graph = on.loaded.graph()?;
        let done = (0..self.runs)
            .into_par_iter()
            .map(|i| self.run_on_halves(graph, i, on))
            .collect::<Result<Vec<_>>>();
        if on.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let done = done?;
        let part = |name: &str, i: usize| {
            let values = done.iter().map(|(_, parts)| parts[i]).collect();
            (name.to_string(), values)
        };
        Ok(Some(Measured {
            values: done
                .iter()
                .filter_map(|(run, _)| run.test_accuracy)
                .collect(),
            splits: done.iter().map(|(run, _)| run.split.clone()).collect(),
            curve: curve(&done[0].0),
            parts: vec![part("sparse half", 0), part("dense half", 1)],
            ..Measured::default()
        }))
    }
}

impl Runs<Joined> {
    /// Returns a run, and its accuracy on the test nodes of the sparse and of the dense half.
    fn run_on_halves(&self, graph: &Graph, i: usize, on: &RunInput<'_>) -> Result<(Run, [f64; 2])> {
        let seed = self.seed.wrapping_add(i as u64);
        let Halves {
            graph, num_sparse, ..
        } = sparse_dense_halves(graph, self.more.nodes, seed)?;
        let Some(labels) = graph.labels() else {
            return Err(Error::missing("halves", "the graph has no labels", ""));
        };
        // Ch. 3's protocol for the two graphs that the halves come from.
        let split = Split::per_class(labels, 20, 500, 1000, seed)?;
        let (sparse, dense): (Vec<u32>, Vec<u32>) = split
            .test()
            .iter()
            .partition(|&&u| (u as usize) < num_sparse);
        let content = Content::Graph(graph);
        let benchmark = Benchmark {
            name: "halves".into(),
            content,
            splits: vec![split],
        };
        let study = TrainStudy {
            runs: 1,
            seed,
            ..TrainStudy::new(self.model)
        };
        let mut result = study.run(&benchmark, &Callbacks::stopped_by(on.stop))?;
        let (Some(fitted), false) = (&result.kept, result.runs.is_empty()) else {
            return Err(Error::argument("halves", "stopped before a run was done"));
        };
        let predictions = fitted.predict(&benchmark.content)?;
        let accuracy = |items: &[u32]| fitted.accuracy_on(&predictions, &benchmark.content, items);
        let parts = [
            accuracy(&sparse)?.unwrap_or(f64::NAN),
            accuracy(&dense)?.unwrap_or(f64::NAN),
        ];
        Ok((result.runs.swap_remove(0), parts))
    }
}
