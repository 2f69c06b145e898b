//! Report of fitting.

use std::time::Instant;

use serde::Serialize;

use super::heads::SampleReport;
use super::search::Trial;
use gnarl_graph::Error;
use gnarl_nn::train::Trained;

/// Report of fitting.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct FitReport {
    /// Accuracy of the fitted model on the validation data, in per cent, by a plain forward pass;
    /// none without validation data. Cross-fitted if a policy was learned on the validation data.
    pub val_accuracy: Option<f64>,
    /// Report of each training: one, or one for each stage or learner.
    pub trained: Vec<Trained>,
    /// The scalars of a learnable operator with their learned values; empty for a fixed one.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub operator: Vec<(String, f64)>,
    /// The candidates of every setting that was selected on validation data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// Tested limit of the inference, if it tests its own assumption
    /// ([`FittedInference::tested_limit`](gnarl_robust::inference::FittedInference::tested_limit)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested_limit: Option<f64>,
    /// Report of the fresh head, if the augmentation trained one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_head: Option<FreshHeadReport>,
    /// Seconds for making augmented copies of training graphs and their operators, if there were
    /// any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_seconds: Option<f64>,
    /// Seconds for training alone.
    pub training_seconds: f64,
    /// Seconds in total, without controls and analyses.
    pub seconds: f64,
    /// True if fitting was cancelled.
    pub interrupted: bool,
}

/// Report of a fresh head: accuracies of the heads it is compared with, and its training.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FreshHeadReport {
    /// Test accuracy of the head that was trained with the rest, per cent.
    pub none_test_accuracy: f64,
    /// Validation accuracy of the head that was trained with the rest, per cent.
    pub none_val_accuracy: f64,
    /// Test accuracy of the control in per cent, the same fresh head without sampled vectors, if
    /// vectors were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrain_test_accuracy: Option<f64>,
    /// Seconds for vectors and training of the head, without the control.
    pub seconds: f64,
    /// Report of the sampled vectors, if vectors were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampleReport>,
}

impl FitReport {
    /// Returns the report of trainings that began at `start`.
    pub(super) fn of_training(trained: Vec<Trained>, start: Instant) -> Self {
        Self {
            interrupted: trained.iter().any(|t| t.interrupted),
            trained,
            training_seconds: start.elapsed().as_secs_f64(),
            ..Self::default()
        }
    }

    /// Returns the candidates of one setting; empty if nothing had to be selected.
    pub fn trials_of(&self, setting: &str) -> impl Iterator<Item = &Trial> {
        self.trials
            .iter()
            .filter(move |trial| trial.setting == setting)
    }
}

/// Serialises named values as one object.
fn by_name<S: serde::Serializer>(
    pairs: &[(String, f64)],
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// Returns the error of a graph without labels to learn from.
pub(in crate::model) fn no_labels() -> Error {
    let what = "the graph has no labels to learn from";
    Error::missing("fit", what, "take a graph with labels")
}

/// Returns the error of a model that cannot be fitted.
pub(super) fn refused(what: &str) -> Error {
    Error::argument("fit", what)
}
