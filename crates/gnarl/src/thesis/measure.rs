//! Which of a cell's figures a row shows.

use crate::depth::Kind;

/// Which of the figures of a cell that holds several: of a network with exits, of a model under
/// attack, of a classifier of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    Scalar(&'static str),
    /// A further figure of the same runs, by its name.
    Part(&'static str),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// That of a plain forward pass.
    Bare,
    /// That of the cell's inference.
    Defended,
}
