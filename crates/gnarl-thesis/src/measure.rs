//! The figure of a cell that a row shows.

use gnarl_nn::depth::Kind;
use serde::Deserialize;

/// A figure of a cell that holds several: of a network with exits, of a model under attack, of a
/// classifier of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Accuracy of an exit.
    Exit(usize),
    /// Accuracy of the exit with the best mean test accuracy, as the thesis' study chose.
    BestExit,
    /// Accuracy of the layer with the best validation accuracy.
    SingleLayer,
    /// Accuracy of a policy, one of [`POLICIES`](super::measured::POLICIES).
    Policy(Kind),
    /// Oracle accuracy: any exit is correct.
    Oracle,
    /// Accuracy before an attack.
    Clean(PredictionRule),
    /// Accuracy after an attack.
    Attacked(PredictionRule),
    /// Accuracy on the test graphs.
    TestAccuracy,
    /// Value of a scalar of a learned operator.
    Scalar(Scalar),
    /// Agreement of communities with blocks.
    Agreement(Agreement),
    /// Seconds of one augmentation of the training graphs.
    AugmentationSeconds,
    /// Seconds of training: for a model under attack the median step times the steps; for a
    /// classifier of graphs a whole run.
    TrainingSeconds,
}

impl Measure {
    /// Returns true if it is a time, which is not in per cent.
    pub fn is_seconds(self) -> bool {
        matches!(
            self,
            Measure::AugmentationSeconds | Measure::TrainingSeconds
        )
    }
}

/// The prediction for an input: with or without the cell's inference rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PredictionRule {
    /// The prediction of a plain forward pass.
    Bare,
    /// The prediction of the cell's inference rule.
    Defended,
}

gnarl_graph::named! {
    /// A scalar of a learned operator.
    pub enum Scalar as "scalar" {
        /// Scale of the additive centralities.
        M1 = "m1",
        /// Scale, and sign, of the adjacency.
        M2 = "m2",
        /// Scale of the identity.
        M3 = "m3",
        /// Exponent of the additive centralities.
        E1 = "e1",
        /// Exponent on the receiving node's side.
        E2 = "e2",
        /// Exponent on the sending node's side.
        E3 = "e3",
        /// Weight of the self-loops.
        A = "a",
    }
}

gnarl_graph::named! {
    /// Agreement of communities with blocks, in per cent.
    pub enum Agreement as "agreement" {
        /// Adjusted mutual information.
        Ami = "AMI",
        /// Adjusted Rand index.
        Ari = "ARI",
    }
}
