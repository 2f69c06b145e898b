//! Which operator messages travel by, and what it makes of a graph.

use std::fmt;
use std::sync::Arc;

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator;
use serde::{Deserialize, Serialize};

use super::{Cgso, CgsoConfig, Initialisation};
use crate::error::Result;
use crate::nn::layer::{classical, symmetric_normalised, two_hop_operator};
use crate::nn::{Backbone, LearnableOperator, Propagation, UsualOperator};
use crate::tensor::{Operator, Pattern};

/// The operator that messages travel by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorChoice {
    /// What the backbone's paper uses.
    Usual,
    /// A classical operator by name.
    #[serde(with = "classical_name")]
    Classical(ClassicalOperator),
    /// A learnable centrality operator.
    Cgso(CgsoConfig),
}

impl OperatorChoice {
    /// How many operators are trained to settle on one: seven where the initialisation is left open.
    pub fn candidates(self) -> usize {
        match self {
            OperatorChoice::Cgso(CgsoConfig { init: Initialisation::Auto, .. }) => ClassicalOperator::ALL.len(),
            _ => 1,
        }
    }
}

impl fmt::Display for OperatorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorChoice::Usual => f.write_str("the paper's"),
            OperatorChoice::Classical(op) => op.fmt(f),
            OperatorChoice::Cgso(config) => config.fmt(f),
        }
    }
}

/// Operators are stored by their names.
mod classical_name {
    use gnarl_graph::operator::ClassicalOperator;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(op: &ClassicalOperator, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(op)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<ClassicalOperator, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What the nodes of one graph hear through a choice of operator.
pub fn propagation(graph: &Graph, backbone: Backbone, choice: OperatorChoice) -> Result<Propagation> {
    propagation_of_union("node classification", graph, std::slice::from_ref(graph), backbone, choice)
}

/// What the nodes of a graph hear: the operator chosen and, for H2GCN, the two-hop one. The graph may be the disjoint union of
/// `parts`. `task` is who asks, for what is refused.
pub fn propagation_of_union(
    task: &'static str,
    graph: &Graph,
    parts: &[Graph],
    backbone: Backbone,
    choice: OperatorChoice,
) -> Result<Propagation> {
    let mut learnable: Option<Arc<dyn LearnableOperator>> = None;
    let operator = match choice {
        OperatorChoice::Classical(kind) => classical(graph, kind)?,
        OperatorChoice::Cgso(config) => {
            if let Some(why) = backbone.fixed_operator() {
                return Err(gnarl_graph::Error::argument(task, format!("{backbone} {why}")).into());
            }
            let cgso = Cgso::of_union(graph, parts, config)?;
            let started = cgso.started()?;
            learnable = Some(Arc::new(cgso));
            started
        }
        OperatorChoice::Usual => match backbone.usual_operator() {
            UsualOperator::Classical(kind) => classical(graph, kind)?,
            UsualOperator::SelfLoopPattern => {
                // A_hat has exactly the entries of A + I.
                let a_hat = ClassicalOperator::NormalisedAdjacency.matrix(graph)?;
                Operator::from_pattern(Arc::new(Pattern::of(&a_hat)))
            }
            UsualOperator::SymmetricNormalised => Operator::constant(&symmetric_normalised(graph)?),
        },
    };
    let two_hop = (backbone == Backbone::H2gcn).then(|| two_hop_operator(graph)).transpose()?;
    Ok(Propagation { operator, two_hop, learnable, rounds: Vec::new() })
}

/// Mean of `ln(degree + 1)`, for PNA; zero without nodes.
pub fn mean_log_degree(graph: &Graph) -> f64 {
    let log_degrees = (0..graph.num_nodes() as u32).map(|u| (graph.degree(u) as f64 + 1.0).ln());
    log_degrees.sum::<f64>() / graph.num_nodes().max(1) as f64
}
