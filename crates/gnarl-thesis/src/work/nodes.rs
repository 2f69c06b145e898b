//! Node classification: a network, one of fixed depth, a scalar of its operator, the best depth.

use std::ops::RangeInclusive;

use gnarl_data::Task;
use gnarl_graph::centrality::Centrality;
use serde::{Deserialize, Serialize};

use super::{
    CellInput, CellWork, MAX_DEPTH, RowKind, RunInput, Runs, Work, curve, finished, read_by_name,
    test_accuracies,
};
use crate::measure::{Measure, Scalar};
use crate::measured::{LearnedOperator, Measured};
use gnarl::model::Model;
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::{Cgso, OperatorChoice};

/// Trains a network to classify nodes and takes its test accuracy in per cent, run by run; the
/// other settings are the recipe's for the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeClassificationRow {
    /// The network.
    pub backbone: Backbone,
    /// The operator.
    #[serde(default)]
    pub operator: OperatorChoice,
}

/// Trains a network at every depth from 0 to [`MAX_DEPTH`] and takes the depth with the best mean
/// test accuracy, as in the thesis; the depth with the best mean validation accuracy is shown next
/// to it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestDepthRow {
    /// The network; GCN and GIN of no layers are a linear map of the features.
    pub backbone: Backbone,
}

/// Trains a network of this depth with the settings of chapter 4; without layers, a linear map.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedDepthRow {
    /// The network.
    pub backbone: Backbone,
    /// Number of message-passing layers.
    pub layers: usize,
}

/// Trains a GCN with a learned operator, as the rows of accuracies do, and takes one of its
/// scalars.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedRow {
    /// The centrality of the operator.
    #[serde(deserialize_with = "read_by_name")]
    pub centrality: Centrality,
    /// The scalar.
    pub scalar: Scalar,
}

/// Settings of node classification: none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeClassification {}

/// Settings of a search for the best depth: none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestDepth {}

impl RowKind for NodeClassificationRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let model = Model::new(self.backbone).operator(self.operator);
        let model = cell.recipe.fill(model, cell.dataset, Task::Node);
        let runs = cell.filled(cell.recipe, model, Task::Node, NodeClassification {})?;
        Ok(Work::NodeClassification(runs))
    }
}

impl RowKind for BestDepthRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let deepest = at_depth(self.backbone, MAX_DEPTH);
        Ok(Work::BestDepth(cell.chapter_4(deepest, BestDepth {})?))
    }
}

impl RowKind for FixedDepthRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let model = at_depth(self.backbone, self.layers);
        let runs = cell.chapter_4(model, NodeClassification {})?;
        Ok(Work::NodeClassification(runs))
    }
}

impl RowKind for LearnedRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let cgcn = NodeClassificationRow {
            backbone: Backbone::GCN,
            operator: OperatorChoice::Cgso(Cgso::by(self.centrality)),
        };
        cgcn.work(cell)
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::Scalar(self.scalar))
    }

    fn means(&self) -> RangeInclusive<f64> {
        -100.0..=100.0
    }
}

impl CellWork for Runs<NodeClassification> {
    fn kind(&self) -> &'static str {
        "nodes"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node)
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        Ok(self.classify(on)?.map(|(found, _)| found))
    }
}

impl CellWork for Runs<BestDepth> {
    fn kind(&self) -> &'static str {
        "best depth"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node) * (MAX_DEPTH + 1) as f64
    }

    /// Returns the best depth on test nodes, as in the thesis, and on validation nodes; the
    /// shallower of equal ones.
    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let mut by_depth: Vec<(Measured, f64)> = Vec::new();
        for depth in 0..=MAX_DEPTH {
            let Some(found) = self.at_depth(depth).classify(on)? else {
                return Ok(None);
            };
            by_depth.push(found);
        }
        let tests: Vec<f64> = by_depth
            .iter()
            .map(|(found, _)| mean(&found.values))
            .collect();
        let vals: Vec<f64> = by_depth.iter().map(|(_, val)| *val).collect();
        let (on_test, on_val) = (first_best(&tests), first_best(&vals));
        let part = |name: &str, depth: usize| {
            let values = by_depth[depth].0.values.clone();
            (format!("{name} [{depth}]"), values)
        };
        let parts = vec![part("on test", on_test), part("on validation", on_val)];
        Ok(Some(Measured {
            parts,
            ..by_depth.swap_remove(on_test).0
        }))
    }
}

impl<More: Clone> Runs<More> {
    /// Returns the runs with the network at another depth.
    fn at_depth(&self, depth: usize) -> Self {
        let shape = at_depth(self.model.backbone, depth);
        let mut model = Model {
            backbone: shape.backbone,
            ..self.model
        };
        model.network.layers = shape.network.layers;
        model.network = model.network.only(|setting| shape.backbone.takes(setting));
        Self {
            model,
            ..self.clone()
        }
    }

    /// Runs on the dataset's splits, and their mean validation accuracy. `None` if stopped.
    fn classify(&self, on: &RunInput<'_>) -> Result<Option<(Measured, f64)>> {
        let benchmark = on.loaded.benchmark(self.seed, self.runs)?;
        let Some(result) = finished(&self.study(), &benchmark, on.stop)? else {
            return Ok(None);
        };
        let val = result
            .val_accuracy()?
            .map_or(f64::NAN, |accuracy| accuracy.mean);
        let found = Measured {
            operator: LearnedOperator::of(self.model.operator, &result.runs).map(Box::new),
            curve: curve(&result.runs[0]),
            values: test_accuracies(&result),
            splits: result.runs.iter().map(|run| run.split.clone()).collect(),
            ..Measured::default()
        };
        Ok(Some((found, val)))
    }
}

/// Returns a model of this depth; GCN and GIN of no layer are a linear map of the features.
pub(super) fn at_depth(backbone: Backbone, depth: usize) -> Model {
    let linear = depth == 0 && matches!(backbone, Backbone::Gcn(_) | Backbone::Gin(_));
    Model::new(if linear { Backbone::MLP } else { backbone }).layers(depth)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn first_best(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_layers_are_a_linear_map_and_the_first_of_equals_is_best() {
        let at = |backbone, depth| {
            (
                at_depth(backbone, depth).backbone,
                at_depth(backbone, depth).network.layers,
            )
        };
        assert_eq!(at(Backbone::GIN, 0), (Backbone::MLP, Some(0)));
        assert_eq!(at(Backbone::GCN, 4), (Backbone::GCN, Some(4)));
        assert_eq!(at(Backbone::GCNII, 0), (Backbone::GCNII, Some(0)));
        assert_eq!(
            (first_best(&[1.0, 3.0, 3.0, 2.0]), first_best(&[5.0])),
            (1, 0)
        );
    }
}
