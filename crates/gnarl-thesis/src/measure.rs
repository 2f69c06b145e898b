//! Which of a cell's figures a row shows.

use gnarl_nn::depth::Kind;
use serde::Deserialize;

/// Which of the figures of a cell that holds several: of a network with exits, of a model under
/// attack, of a classifier of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// That of an exit.
    Exit(usize),
    /// That of the exit with the best mean test accuracy, as the thesis' study chose.
    BestExit,
    /// That of the layer with the best validation accuracy.
    SingleLayer,
    /// That of a policy, one of [`POLICIES`](super::measured::POLICIES).
    Policy(Kind),
    /// Where any exit is right.
    Oracle,
    /// Before an attack.
    Clean(Answer),
    /// After it.
    Attacked(Answer),
    /// On the test graphs.
    TestAccuracy,
    /// What a scalar of a learned operator came to.
    Scalar(Scalar),
    /// How well communities agree with blocks.
    Agreement(Agreement),
    /// Seconds of one augmentation of the training graphs.
    AugmentationSeconds,
    /// Seconds of training: of a model under attack the median step, times the steps; of a
    /// classifier of graphs a whole run.
    TrainingSeconds,
}

impl Measure {
    /// Whether it is a time, which has no place among per cents.
    pub fn is_seconds(self) -> bool {
        matches!(
            self,
            Measure::AugmentationSeconds | Measure::TrainingSeconds
        )
    }
}

/// Which of the two answers to an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// That of a plain forward pass.
    Bare,
    /// That of the cell's inference.
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
    /// How well communities agree with blocks, in per cent.
    pub enum Agreement as "agreement" {
        /// Adjusted mutual information.
        Ami = "AMI",
        /// Adjusted Rand index.
        Ari = "ARI",
    }
}
