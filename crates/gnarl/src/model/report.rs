//! How fitting went.

use serde::Serialize;

use super::heads::DrawReport;
use crate::error::Error;
use crate::features::FeatureScaling;
use crate::train::Trained;

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
    /// The ways of scaling features that were tried, where one had to be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<TriedScaling>,
    /// Bounded weights all the way and with a free head, where that was left open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<TriedHead>,
    /// The initialisations tried, where one had to be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// Where the inference tested its own assumption: how far it is trusted
    /// ([`Reading::trusted`](crate::inference::Reading::trusted)).
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

/// What training on features scaled in one way came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TriedScaling {
    /// The way.
    pub scaling: FeatureScaling,
    /// Validation accuracy, per cent.
    pub val_accuracy: Option<f64>,
}

/// What training with a free head, or without, came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TriedHead {
    /// Whether there was one.
    pub head: bool,
    /// Validation accuracy, per cent.
    pub val_accuracy: Option<f64>,
}

/// What training from one initialisation of a learnable operator came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// The initialisation.
    pub init: String,
    /// Validation accuracy, per cent; none where training failed.
    pub val_accuracy: Option<f64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
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

/// Named values as one object.
fn by_name<S: serde::Serializer>(
    pairs: &[(String, f64)],
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// What cannot be fitted.
pub(super) fn refused(what: &str) -> Error {
    gnarl_graph::Error::argument("fit", what).into()
}
