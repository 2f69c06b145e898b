//! No defence: the graph as it is.

use gnarl_graph::Graph;
use gnarl_graph::names::Choice;
use serde::{Deserialize, Serialize};

use super::Purify;
use crate::error::Result;

/// The graph as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Nothing {}

impl Choice for Nothing {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "the graph as it is";
}

impl Purify for Nothing {
    fn purified(&self, graph: &Graph) -> Result<Graph> {
        Ok(graph.clone())
    }
}
