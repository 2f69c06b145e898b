//! Reports of attack studies: run by run, and over the runs.

use std::time::Instant;

use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::{Result, Split};
use serde::Serialize;

use super::evaluation::Evaluation;
use crate::model::Fitted;
use crate::study::summary::Accuracy;
use gnarl_nn::train::{Callbacks, median};
use gnarl_robust::attack::Attacked;
use gnarl_robust::perturb::FeatureChange;

/// One run: one split, one seed. Accuracies are of the test nodes or graphs, in per cent, by a
/// plain forward pass unless stated otherwise.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AttackRun {
    /// The seed.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Accuracy before the attack.
    pub clean_accuracy: f64,
    /// Accuracy after the attack.
    pub attacked_accuracy: f64,
    /// Share of the correct predictions that are wrong after the attack, in per cent.
    pub success_rate: f64,
    /// The model's inference rule on the same inputs; `None` for a plain forward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defended: Option<DefendedRun>,
    /// Accuracy of the clean model on validation nodes.
    pub val_accuracy: Option<f64>,
    /// Edges added.
    pub edges_added: usize,
    /// Edges removed.
    pub edges_removed: usize,
    /// The change of the features.
    pub features: FeatureChange,
    /// Median milliseconds of a training step.
    pub epoch_ms: f64,
    /// True if training was stopped early.
    pub interrupted: bool,
    /// Seconds of the attack alone.
    pub attack_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

impl AttackRun {
    /// The report of a run whose change of the input is not filled in yet.
    pub(super) fn unchanged(
        clean: &Fitted,
        (split, seed): (&Split, u64),
        found: Evaluation,
        start: Instant,
        watch: &Callbacks<'_>,
    ) -> Self {
        let report = clean.report();
        Self {
            seed,
            split: split.name().to_string(),
            clean_accuracy: found.plain.clean_accuracy,
            attacked_accuracy: found.plain.attacked_accuracy,
            success_rate: found.plain.success_rate,
            defended: found.defended,
            val_accuracy: report.val_accuracy,
            edges_added: 0,
            edges_removed: 0,
            features: FeatureChange::default(),
            epoch_ms: median(report.trained.iter().map(|t| t.epoch_ms).collect()),
            interrupted: report.interrupted || watch.stopped(),
            attack_seconds: 0.0,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// Clean accuracy with the model's own inference.
    pub fn own_clean_accuracy(&self) -> f64 {
        self.defended
            .map_or(self.clean_accuracy, |defended| defended.clean_accuracy)
    }

    /// Attacked accuracy with the model's own inference.
    pub fn own_attacked_accuracy(&self) -> f64 {
        self.defended.map_or(self.attacked_accuracy, |defended| {
            defended.attacked_accuracy
        })
    }
}

/// The model's inference on the inputs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DefendedRun {
    /// Accuracy before the attack.
    pub clean_accuracy: f64,
    /// Accuracy after the attack.
    pub attacked_accuracy: f64,
    /// The largest perturbation at which the inference rule improved predictions in its own test on
    /// the training graph; 0 if it failed there, `None` for a rule without such a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested_limit: Option<f64>,
    /// Seconds of the two inferences.
    pub seconds: f64,
}

/// All runs that were finished.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AttackResult {
    /// The runs in the order of their seeds.
    pub runs: Vec<AttackRun>,
    /// Number of runs that were stopped before their end.
    pub unfinished: usize,
    /// The attacked graph of the first run, complete or not; `None` for a set of graphs.
    pub first: Option<Attacked>,
    /// Seconds in all.
    pub seconds: f64,
}

impl AttackResult {
    /// The result of these runs, without those that were stopped before their end.
    pub(super) fn new(mut runs: Vec<AttackRun>, first: Option<Attacked>, start: Instant) -> Self {
        let planned = runs.len();
        runs.retain(|run| !run.interrupted);
        Self {
            unfinished: planned - runs.len(),
            runs,
            first,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// A value over the runs; fails without a finished run.
    pub fn over(&self, f: impl Fn(&AttackRun) -> f64) -> Result<Accuracy> {
        Accuracy::of(self.runs.iter().map(f).collect())
    }

    /// The model's inference rule on the same inputs; `None` for a plain forward pass.
    pub fn defended(&self) -> Result<Option<DefendedReport>> {
        let Some(defended) = self
            .runs
            .iter()
            .map(|run| run.defended)
            .collect::<Option<Vec<DefendedRun>>>()
        else {
            return Ok(None);
        };
        let clean: Vec<f64> = defended.iter().map(|d| d.clean_accuracy).collect();
        let attacked: Vec<f64> = defended.iter().map(|d| d.attacked_accuracy).collect();
        let plain = |f: fn(&AttackRun) -> f64| self.runs.iter().map(f).collect::<Vec<f64>>();
        Ok(Some(DefendedReport {
            clean_difference: paired_difference(&clean, &plain(|r| r.clean_accuracy))?,
            attacked_difference: paired_difference(&attacked, &plain(|r| r.attacked_accuracy))?,
            clean_accuracy: Accuracy::of(clean)?,
            attacked_accuracy: Accuracy::of(attacked)?,
            seconds: defended.iter().map(|d| d.seconds).sum::<f64>() / defended.len().max(1) as f64,
        }))
    }
}

/// The accuracy of an inference rule on the inputs of all runs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DefendedReport {
    /// Accuracy before the attack.
    pub clean_accuracy: Accuracy,
    /// Accuracy after the attack.
    pub attacked_accuracy: Accuracy,
    /// Difference to a plain forward pass before the attack, run by run.
    pub clean_difference: PairedDifference,
    /// Difference to a plain forward pass after the attack, run by run.
    pub attacked_difference: PairedDifference,
    /// Seconds of the two inferences of a run, on average.
    pub seconds: f64,
}
