//! Shared parts of the commands that run a study: what they print, and a run with progress and
//! cancellation.

use gnarl::model::Model;
use gnarl_data::Task;
use gnarl_nn::train::{Callbacks, Epoch};
use serde::Serialize;

use super::dry_run::DryRun;
use crate::interrupt;
use crate::output::Report;
use crate::progress::{self, Steps};

/// Output of a command that runs a study.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum StudyOutput<R> {
    /// Spec of the model, for `--print-spec`.
    Spec(Box<SpecReport>),
    /// Plan of the runs, for `--dry-run`.
    DryRun(DryRun),
    /// Result of the study.
    Report(R),
}

impl<R> StudyOutput<R> {
    /// Builds the output of `--print-spec`.
    pub fn spec(model: &Model, task: Task) -> anyhow::Result<Self> {
        let spec = SpecReport::new(model, task)?;
        Ok(StudyOutput::Spec(Box::new(spec)))
    }
}

impl<R: Report> Report for StudyOutput<R> {
    fn text(&self) -> String {
        match self {
            StudyOutput::Spec(spec) => spec.text(),
            StudyOutput::DryRun(plan) => plan.text(),
            StudyOutput::Report(report) => report.text(),
        }
    }

    fn complaint(self) -> Option<anyhow::Error> {
        match self {
            StudyOutput::Spec(_) | StudyOutput::DryRun(_) => None,
            StudyOutput::Report(report) => report.complaint(),
        }
    }
}

/// Spec of a model, with every option that applies filled in.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct SpecReport {
    model: Model,
    #[serde(skip)]
    text: String,
}

impl SpecReport {
    fn new(model: &Model, task: Task) -> anyhow::Result<Self> {
        let model = model.plan(task)?.model;
        Ok(Self {
            model,
            text: model.to_toml()?,
        })
    }
}

impl Report for SpecReport {
    fn text(&self) -> String {
        self.text.clone()
    }
}

/// Progress and cancellation of a running study.
pub struct StudyProgress<'a> {
    bar: &'a Steps,
    /// Callbacks of trainings: every epoch is a step.
    pub training: Callbacks<'a>,
}

impl StudyProgress<'_> {
    /// Moves the bar by some steps.
    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Returns callbacks of trainings whose epochs are no steps of their own.
    pub fn silent_training(&self) -> Callbacks<'_> {
        self.training.silent()
    }
}

/// Runs a study under a progress bar of so many steps; Ctrl-C is its stop request.
pub fn run_study<T>(
    label: &str,
    steps: u64,
    study: impl FnOnce(&StudyProgress<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let bar = progress::steps(label, steps);
    let on_epoch = |_: usize, _: &Epoch| bar.inc(1);
    let result = study(&StudyProgress {
        bar: &bar,
        training: Callbacks::new(&on_epoch, interrupt::flag()),
    })?;
    bar.finish_and_clear();
    Ok(result)
}
