//! How fitting went.

use serde::Serialize;

use super::heads::DrawReport;
use super::search::Trial;
use gnarl_graph::Error;
use gnarl_nn::train::Trained;

/// How fitting went.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FitReport {
    /// Accuracy of the fitted model on the validation items, per cent, by a plain forward pass;
    /// none without such items. Where a policy was learned on them, cross-fitted.
    pub val_accuracy: Option<f64>,
    /// What each training came to: one, one for each stage or learner.
    pub trained: Vec<Trained>,
    /// The scalars of a learnable operator with their learned values; none for a fixed one.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_name")]
    pub operator: Vec<(String, f64)>,
    /// The candidates of every setting that was selected on validation items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// Where the inference tested its own assumption: how far it is trusted
    /// ([`Reading::trusted`](gnarl_robust::inference::Reading::trusted)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<f64>,
    /// Where the data axis trained a fresh head: what it is read against, and how it came about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_head: Option<FreshHeadReport>,
    /// Where copies of training graphs were trained on: seconds of making them and their operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_seconds: Option<f64>,
    /// Seconds of training alone.
    pub training_seconds: f64,
    /// Seconds in all, without controls and what is only looked at.
    pub seconds: f64,
    /// Whether somebody asked to stop before it was done.
    pub interrupted: bool,
}

/// What a fresh head is read against, and how it came about.
#[derive(Debug, Clone, Serialize)]
pub struct FreshHeadReport {
    /// Test accuracy of the head that was trained with the rest, per cent.
    pub none_test_accuracy: f64,
    /// Validation accuracy, likewise.
    pub none_val_accuracy: f64,
    /// Where vectors were drawn: test accuracy of the control, the same fresh head without them,
    /// per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrain_test_accuracy: Option<f64>,
    /// Seconds of making vectors and training the head, without the control.
    pub seconds: f64,
    /// Where vectors were drawn: which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawReport>,
}

impl FitReport {
    /// The candidates of one setting; empty where nothing had to be selected.
    pub fn trials_of(&self, setting: &str) -> impl Iterator<Item = &Trial> {
        self.trials
            .iter()
            .filter(move |trial| trial.setting == setting)
    }
}

/// Named values as one object.
fn by_name<S: serde::Serializer>(
    pairs: &[(String, f64)],
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// What cannot be fitted.
pub(super) fn refused(what: &str) -> Error {
    Error::argument("fit", what)
}
