//! Threat models of certificates: the part of the input that changes, and the rows of a table.

use gnarl_data::Task;
use gnarl_graph::named;

use gnarl_robust::inference::PerturbationTarget;

named! {
    /// The part of the input that an attacker changes.
    #[non_exhaustive]
    pub enum Target as "target" {
        /// Features.
        Features = "features",
        /// Edges.
        Edges = "edges",
        /// Features and edges.
        Both = "both",
    }
}

impl Target {
    /// The part that an inference rule perturbs in its neighbours.
    pub fn part(self) -> PerturbationTarget {
        match self {
            Target::Edges => PerturbationTarget::Structure,
            Target::Features | Target::Both => PerturbationTarget::Features,
        }
    }
}

/// The changes that an attacker may make, and the kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreatModel {
    /// The part of the input that changes.
    pub target: Target,
    /// Nodes of one graph, or graphs of a set.
    pub task: Task,
}

impl ThreatModel {
    /// The name of the classified unit: `node` or `graph`.
    pub fn item(&self) -> &'static str {
        match self.task {
            Task::Node => "node",
            Task::Graph => "graph",
        }
    }
}

/// The rows of a certificate's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rows {
    /// Radii in a norm; each node or graph has one radius, and smaller changes are certified.
    Distances,
    /// Numbers of flips from 0 to this one; each node or graph has a largest number.
    Flips(usize),
    /// Numbers of flips, or radii, that samples can certify.
    Samples,
}
