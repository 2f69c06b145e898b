//! Certifies a fitted classifier of graphs on the test graphs of its set: the class of each graph,
//! against changes of that graph.

use std::collections::HashMap;

use gnarl_graph::{Graph, GraphSet};
use rayon::prelude::*;

use super::nodes::no_network;
use super::tables::Items;
use crate::model::Fitted;
use gnarl_graph::Result;
use gnarl_nn::train::{argmax, median};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::perturb::{Norm, rows::row_norms};
use gnarl_robust::robustness::Bounds;

/// Relative error of scores from a forward pass in f32.
const ROUNDING: f64 = 1e-5;

/// A classifier, and the test graphs of its fold that have nodes.
pub struct Graphs<'a> {
    pub(super) fitted: &'a Fitted,
    attack_target: crate::model::fitted::PreprocessedModel<'a>,
    graphs: &'a [Graph],
    pub(super) items: Items,
    /// The median L2 norm of the rows of the features of all test graphs.
    pub(super) median_norm: f64,
}

impl<'a> Graphs<'a> {
    pub(super) fn new(fitted: &'a Fitted, set: &'a GraphSet, items: Vec<u32>) -> Result<Self> {
        let graphs = set.graphs();
        let matched = fitted.matched(set.labels());
        let class = |g: usize| {
            set.labels()
                .get(g as u32)
                .and_then(|c| matched.get(c as usize).copied().flatten())
        };
        let truth = (0..graphs.len()).map(class).collect();
        let with_nodes = |g: &u32| {
            graphs
                .get(*g as usize)
                .is_none_or(|graph| graph.num_nodes() > 0)
        };
        let items = Items::new(items.into_iter().filter(with_nodes).collect(), truth)?;
        let norms = |&g: &u32| -> Result<Vec<f64>> {
            let scaled = fitted.scaled(&graphs[g as usize])?;
            Ok(scaled
                .features()
                .map_or(Vec::new(), |features| row_norms(features, Norm::L2)))
        };
        let norms = items
            .test
            .iter()
            .map(norms)
            .collect::<Result<Vec<_>>>()?
            .concat();
        let median_norm = if norms.is_empty() { 0.0 } else { median(norms) };
        Ok(Self {
            fitted,
            attack_target: fitted.attack_target(),
            graphs,
            items,
            median_norm,
        })
    }

    pub(super) fn graph(&self, g: u32) -> &'a Graph {
        &self.graphs[g as usize]
    }

    /// The class of each test graph, and a radius from bounds and its margin: half of the
    /// difference to the next class, as both scores may move.
    pub(super) fn reached(
        &self,
        radius: impl Fn(&Bounds, f64) -> Result<f64> + Sync,
    ) -> Result<HashMap<u32, (usize, f64)>> {
        let network = self.attack_target.white_box().ok_or_else(no_network)?;
        let one = |&g: &u32| {
            let graph = self.fitted.scaled(self.graph(g))?;
            let scores = network.scores(&graph)?;
            let row = scores.row(0);
            let class = argmax(row);
            let next = row
                .iter()
                .enumerate()
                .filter(|(c, _)| *c != class)
                .map(|(_, &s)| f64::from(s));
            let largest = row.iter().map(|s| f64::from(s.abs())).fold(0.0, f64::max);
            let lead =
                f64::from(row[class]) - next.fold(f64::NEG_INFINITY, f64::max) - ROUNDING * largest;
            let reached = if lead > 0.0 {
                radius(&Bounds::new(network, &graph)?, 0.5 * lead)?
            } else {
                0.0
            };
            Ok((g, (class, reached)))
        };
        self.items.test.par_iter().map(one).collect()
    }
}
