//! No defence: the graph stays as it is.

use gnarl_graph::Graph;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Preprocess;
use gnarl_graph::Result;

/// Leaves the graph as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "none", about = "no defence")]
pub struct Nothing {}

impl Preprocess for Nothing {
    fn preprocessed(&self, graph: &Graph) -> Result<Graph> {
        Ok(graph.clone())
    }
}
