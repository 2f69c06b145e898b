//! One exit for all nodes: a network of that depth. It is what policies are compared with, and what
//! a policy without validation nodes comes to.

use serde::{Deserialize, Serialize};

use super::{Answers, Chosen, Learned, Structure};
use gnarl_graph::Result;

/// Every node takes one exit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Single {
    /// That exit.
    pub exit: usize,
}

impl Learned for Single {
    fn choose(&self, _: &Structure<'_>, answers: &Answers) -> Result<Chosen> {
        Ok(Chosen::of_exits(vec![self.exit; answers.num_items]))
    }

    fn fits(&self, exits: usize, _: usize) -> bool {
        self.exit < exits
    }
}
