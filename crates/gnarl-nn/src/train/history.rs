//! Learning curve and result of a training.

use serde::{Deserialize, Serialize};

/// Result of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Training loss before the step, or the mean over an epoch's steps.
    pub loss: f32,
    /// Validation loss and accuracy after the epoch; `None` without validation nodes or graphs.
    /// Stored as `val_loss` and `val_accuracy`.
    #[serde(flatten)]
    pub validation: Option<Validation>,
}

impl Epoch {
    /// Returns the validation accuracy after the epoch, per cent; `None` without validation nodes
    /// or graphs.
    pub fn val_accuracy(&self) -> Option<f64> {
        self.validation.map(|validation| validation.accuracy)
    }
}

/// Validation loss and accuracy of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Validation loss.
    #[serde(rename = "val_loss")]
    pub loss: f32,
    /// Validation accuracy, per cent.
    #[serde(rename = "val_accuracy")]
    pub accuracy: f64,
}

impl Validation {
    /// Returns true for a higher accuracy, or an equal accuracy and a lower loss.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        (self.accuracy, -self.loss) > (other.accuracy, -other.loss)
    }
}

/// Result of one training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trained {
    /// One entry per completed epoch.
    pub curve: Vec<Epoch>,
    /// Epoch of the selected weights, from 1.
    pub kept_epoch: usize,
    /// Median training time of an epoch in milliseconds: forward, backward, update, and preparing
    /// its batches.
    pub epoch_ms: f64,
    /// True if it was stopped from outside.
    pub interrupted: bool,
}

/// Returns the median; zero for no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
