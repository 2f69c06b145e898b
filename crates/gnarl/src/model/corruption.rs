//! Training graphs whose edges were changed at random (thesis ch. 7, "Robustness to Structure Corruption").

use serde::{Deserialize, Serialize};

use crate::augment::Corruption;

/// Corruption of the training graphs; validation and test graphs stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainingCorruption {
    /// Which edges change.
    pub edges: Corruption,
    /// Whether one-hot degrees stay those of the graph before it; else they are those of the corrupted one.
    pub keep_degrees: bool,
}
