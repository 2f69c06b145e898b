//! Options of fitting beside the model itself. The options of a model are
//! [`NetworkOptions`](gnarl_nn::networks::NetworkOptions) and
//! [`TrainingOptions`](gnarl_nn::train::TrainingOptions), derived from the settings they leave open.

use serde::{Deserialize, Serialize};

use crate::augment::Corruption;

/// What a study asks of fitting beside the model itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FitOptions {
    /// Of sets: random changes of the training graphs' edges.
    pub corruption: Option<TrainingCorruption>,
    /// What corruption is drawn from: the same for every fold and method of a study.
    pub corruption_seed: u64,
    /// Of drawn vectors: find out the influence of each and what keeping the best does.
    pub study_influence: bool,
}

/// Corruption of the training graphs; validation and test graphs stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainingCorruption {
    /// Which edges change.
    pub edges: Corruption,
    /// Whether one-hot degrees stay those of the graph before it; else they are those of the
    /// corrupted one.
    pub keep_degrees: bool,
}
