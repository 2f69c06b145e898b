//! One exit for all nodes: a network of that depth. It is the baseline of the policies, and the
//! result of learning a policy without validation nodes.

use serde::{Deserialize, Serialize};

use super::{Chosen, ExitPredictions, Learned, Structure};
use gnarl_graph::Result;

/// One exit for every node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// Number of the exit.
    pub exit: usize,
}

impl Learned for Single {
    fn choose(&self, _: &Structure<'_>, predictions: &ExitPredictions) -> Result<Chosen> {
        Ok(Chosen::of_exits(vec![self.exit; predictions.num_items]))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.exit < exits
    }
}
