//! Seconds of training and of predictions, on all cores, one run after another.

use std::ops::RangeInclusive;
use std::time::Instant;

use gnarl_data::Task;
use serde::{Deserialize, Serialize};

use super::exits::with_exits;
use super::{CellInput, CellWork, RowKind, RunInput, Runs, Work};
use crate::measure::Measure;
use crate::measured::Measured;
use crate::recipe::Recipe;
use gnarl::model::Model;
use gnarl_graph::Result;
use gnarl_nn::depth::Scheme;
use gnarl_nn::networks::Backbone;
use gnarl_robust::inference::{Inference, RobustCrf};

/// Trains a network with exits at all layers, one run after another, and takes its seconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitsTimeRow {
    /// The network.
    pub backbone: Backbone,
    /// The training scheme of its exits.
    pub scheme: Scheme,
}

/// Trains a GCN and takes the seconds of RobustCRF's predictions for all nodes, one run after
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceTimeRow {
    /// Number of sampled neighbours of an input.
    pub neighbours: usize,
    /// Number of updates.
    pub updates: usize,
}

/// Settings of timed training with exits: none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExitsTime {}

/// Settings of timed predictions: none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InferenceTime {}

impl RowKind for ExitsTimeRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let model = with_exits(self.backbone, self.scheme);
        Ok(Work::ExitsTime(cell.chapter_4(model, ExitsTime {})?))
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::TrainingSeconds)
    }
}

impl RowKind for InferenceTimeRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let inference = Inference::RobustCrf(RobustCrf {
            samples: self.neighbours,
            iterations: self.updates,
            ..RobustCrf::default()
        });
        let recipe = if cell.recipe == Recipe::Thesis {
            Recipe::ThesisCh6
        } else {
            cell.recipe
        };
        let model = Model::new(Backbone::GCN).inference(inference);
        let model = recipe.fill(model, cell.dataset, Task::Node);
        let runs = cell.filled(recipe, model, Task::Node, InferenceTime {})?;
        Ok(Work::InferenceTime(runs))
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::TrainingSeconds)
    }

    fn means(&self) -> RangeInclusive<f64> {
        0.0..=f64::INFINITY
    }
}

impl CellWork for Runs<ExitsTime> {
    fn kind(&self) -> &'static str {
        "seconds of exits"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node)
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        self.one_by_one(on, |fitted, _| Ok(fitted.report().training_seconds))
    }
}

impl CellWork for Runs<InferenceTime> {
    fn kind(&self) -> &'static str {
        "seconds of predictions"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node)
    }

    fn is_accuracy(&self) -> bool {
        false
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        self.one_by_one(on, |fitted, content| {
            let start = Instant::now();
            fitted.predict(content)?;
            Ok(start.elapsed().as_secs_f64())
        })
    }
}
