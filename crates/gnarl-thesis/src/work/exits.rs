//! Networks with an exit at every layer.

use gnarl_data::Task;
use gnarl_graph::centrality::Centrality;
use serde::{Deserialize, Serialize};

use super::{CellInput, CellWork, MAX_DEPTH, RowKind, RunInput, Runs, Work, curve, finished};
use crate::measure::Measure;
use crate::measured::{ByDepth, Measured, POLICIES};
use gnarl::model::Model;
use gnarl::study::train::{ExitRun, TrainStudy};
use gnarl_graph::Result;
use gnarl_nn::depth::{Exits, Kind, Scheme};
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::Centralities;

/// Trains a network with exits at layers 0 to [`MAX_DEPTH`] and takes one of its accuracies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveDepthRow {
    /// The network.
    pub backbone: Backbone,
    /// The training scheme of its exits.
    pub scheme: Scheme,
    /// The accuracy to show.
    pub measure: Measure,
}

/// Settings of runs with exits: none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdaptiveDepth {}

impl RowKind for AdaptiveDepthRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let model = with_exits(self.backbone, self.scheme);
        let runs = cell.chapter_4(model, AdaptiveDepth {})?;
        Ok(Work::AdaptiveDepth(runs))
    }

    fn measure(&self) -> Option<Measure> {
        Some(self.measure)
    }
}

impl CellWork for Runs<AdaptiveDepth> {
    fn kind(&self) -> &'static str {
        "exits"
    }

    fn effort(&self) -> f64 {
        self.training_effort(Task::Node)
    }

    /// Returns the results of the best layer on validation nodes, and of all layers and policies.
    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let study = TrainStudy {
            policies: POLICIES.to_vec(),
            ..self.study()
        };
        let benchmark = on.loaded.benchmark(study.seed, study.runs)?;
        let Some(result) = finished(&study, &benchmark, on.stop)? else {
            return Ok(None);
        };
        let exits: Vec<&ExitRun> = result
            .runs
            .iter()
            .filter_map(|run| run.exits.as_ref())
            .collect();
        let depth = ByDepth::new(&exits);
        Ok(Some(Measured {
            values: depth.single_layer.clone(),
            curve: curve(&result.runs[0]),
            splits: result.runs.iter().map(|run| run.split.clone()).collect(),
            depth: Some(Box::new(depth)),
            ..Measured::default()
        }))
    }
}

/// Returns a network with exits at layers 0 to [`MAX_DEPTH`].
pub(super) fn with_exits(backbone: Backbone, scheme: Scheme) -> Model {
    Model::new(backbone).depth(Exits {
        scheme,
        max_depth: MAX_DEPTH,
        policy: Kind::Buckets(Centralities::one(Centrality::DEGREE)),
    })
}
