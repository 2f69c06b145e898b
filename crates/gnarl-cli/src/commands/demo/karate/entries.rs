//! Models that the karate demo trains: one entry for each row of its table.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::operator::{Centralities, Cgso, Initialisation};
use serde::Serialize;

/// A named model configuration.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Entry {
    /// Axis on which the entry differs from the plain GCN.
    pub axis: &'static str,
    /// Name of the model, as people write it.
    pub model: &'static str,
    /// Name of the operator, as people write it.
    pub operator: &'static str,
    /// The model.
    #[serde(skip)]
    pub backbone: Backbone,
    /// The operator.
    #[serde(skip)]
    pub choice: OperatorChoice,
}

/// Index of the row that the others are compared with.
pub const PLAIN: usize = 0;

/// Every row, the plain GCN first.
pub const ENTRIES: [Entry; 11] = [
    plain("plain", "GCN", "A_hat", Backbone::GCN),
    gcn("A", ClassicalOperator::ADJACENCY),
    gcn("H = D^-1 A", ClassicalOperator::MEAN_AGGREGATION),
    gcn("L_sym", ClassicalOperator::SYMMETRIC_LAPLACIAN),
    learned("learned, by degree", Centrality::DEGREE),
    plain("model", "SGC", "A_hat", Backbone::SGC),
    plain("model", "APPNP", "A_hat, 10 steps", Backbone::APPNP),
    plain("model", "GraphSAGE", "H and itself", Backbone::SAGE),
    plain("model", "GIN", "A and itself", Backbone::GIN),
    plain("model", "GATv2", "attention", Backbone::GATV2),
    plain("model", "MLP", "none", Backbone::MLP),
];

const fn plain(
    axis: &'static str,
    model: &'static str,
    operator: &'static str,
    backbone: Backbone,
) -> Entry {
    Entry {
        axis,
        model,
        operator,
        backbone,
        choice: OperatorChoice::Default,
    }
}

const fn gcn(operator: &'static str, kind: ClassicalOperator) -> Entry {
    let choice = OperatorChoice::Classical(kind);
    Entry {
        axis: "operator",
        model: "GCN",
        operator,
        backbone: Backbone::GCN,
        choice,
    }
}

/// Returns a GCN with a learned operator, initialised at A_hat.
const fn learned(operator: &'static str, kind: Centrality) -> Entry {
    let init = Initialisation::Of(ClassicalOperator::NORMALISED_ADJACENCY);
    let choice = OperatorChoice::Cgso(Cgso {
        centrality: Centralities::one(kind),
        init,
    });
    Entry {
        axis: "operator",
        model: "GCN",
        operator,
        backbone: Backbone::GCN,
        choice,
    }
}

impl Entry {
    /// Returns the name of the entry, as in `GCN, A_hat`.
    pub fn name(&self) -> String {
        format!("{}, {}", self.model, self.operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_the_plain_one_is_plain() {
        let mut names: Vec<String> = ENTRIES.iter().map(Entry::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ENTRIES.len());
        let plain = ENTRIES[PLAIN];
        assert_eq!(
            (plain.backbone, plain.choice),
            (Backbone::GCN, OperatorChoice::Default)
        );
        assert_eq!(
            ENTRIES.iter().filter(|entry| entry.axis == "plain").count(),
            1
        );
    }
}
