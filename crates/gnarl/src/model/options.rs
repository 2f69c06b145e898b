//! Options of fitting next to the model itself. The options of a model are
//! [`NetworkOptions`](gnarl_nn::networks::NetworkOptions) and
//! [`TrainingOptions`](gnarl_nn::train::TrainingOptions), derived from the settings they leave open.

use serde::{Deserialize, Serialize};

use crate::augment::Corruption;

/// Options of fitting that a study sets next to the model itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FitOptions {
    /// Random changes of the training graphs' edges, for sets.
    pub corruption: Option<TrainingCorruption>,
    /// Seed of the corruption, the same for every fold and method of a study.
    pub corruption_seed: u64,
    /// True to compute the influence of each sampled vector, and the accuracies after keeping the
    /// best.
    pub study_influence: bool,
}

/// Corruption of the training graphs; validation and test graphs stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainingCorruption {
    /// Corruption of edges.
    pub edges: Corruption,
    /// True if one-hot degrees stay those of the clean graph; otherwise they are those of the
    /// corrupted graph.
    pub keep_degrees: bool,
}
