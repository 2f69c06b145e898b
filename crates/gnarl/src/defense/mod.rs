//! stub
use crate::error::Result;
use gnarl_graph::Graph;
use gnarl_graph::names::Choice;
use serde::{Deserialize, Serialize};
gnarl_graph::choices! {
    /// Defences.
    pub enum Defense: dyn Purify as "defense" { Nothing(Nothing) }
}
/// What it does.
pub trait Purify {
    /// The graph.
    fn purified(&self, graph: &Graph) -> Result<Graph>;
}
/// None.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Nothing {}
impl Choice for Nothing {
    const NAME: &'static str = "none";
    const ABOUT: &'static str = "x";
}
impl Purify for Nothing {
    fn purified(&self, graph: &Graph) -> Result<Graph> {
        Ok(graph.clone())
    }
}
impl Default for Defense {
    fn default() -> Self {
        Defense::Nothing(Nothing {})
    }
}
impl Defense {
    /// none
    pub fn is_nothing(&self) -> bool {
        true
    }
}
/// none
pub type Jaccard = Nothing;
