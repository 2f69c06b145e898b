//! Fits to the graphs of a set: preparation, and selection of the initialisation on validation
//! graphs.

use std::sync::OnceLock;

use gnarl_graph::{GraphSet, Result};

use super::source::{OnSet, PreparedSet, SetSource};
use super::{Attempt, FitOptions, Ready, Run, Selection, classifier, once};
use crate::model::learned::Learned;
use crate::model::{Fitted, Plan};
use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler};

/// A set of graphs. Its scaling may depend on the training graphs of a split, so only what does not
/// depend on them is kept.
#[derive(Debug)]
pub(super) struct ReadySet {
    source: SetSource,
    scaling: FeatureScaling,
    prepared: Vec<OnceLock<PreparedSet>>,
}

impl ReadySet {
    /// Preprocesses a set for so many candidates.
    pub fn new(
        set: &GraphSet,
        plan: &Plan,
        options: &FitOptions,
        candidates: usize,
    ) -> Result<Self> {
        Ok(Self {
            source: SetSource::new(set, plan, options)?,
            scaling: plan.scalings(FeatureKind::of(set.graphs().iter()))[0],
            prepared: (0..candidates).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Fits the candidates to a split and keeps the selected one.
    pub fn fit(&self, ready: &Ready, run: Run<'_>) -> Result<Fitted> {
        let scaler = self.source.scaler(self.scaling, run.split)?;
        let attempt =
            |candidate: usize, plan: &Plan| self.attempt(ready, candidate, plan, &scaler, run);
        let items = run.split.val().len();
        let selected = ready.candidates.select(items, None, run, attempt)?;
        let selected = Selection {
            plan: ready.candidates.plan(selected.candidate),
            attempt: selected.fitted,
            trials: selected.trials,
            scaler: &scaler,
            labels: self.source.labels(),
            inputs: self.source.inputs(),
        };
        let inference = |plan: &Plan, learned: &Learned| {
            let network = learned.classifier();
            self.source
                .with_inference(plan, network, &scaler, run.split, run.seed)
        };
        ready.fitted(selected, inference, run)
    }

    /// Fits one candidate initialisation.
    fn attempt(
        &self,
        ready: &Ready,
        candidate: usize,
        plan: &Plan,
        scaler: &Scaler,
        run: Run<'_>,
    ) -> Result<Attempt> {
        let own;
        let prepared = match scaler {
            Scaler::Standardised(_) => {
                own = self.source.prepared(plan, scaler)?;
                &own
            }
            _ => once(&self.prepared[candidate], || {
                self.source.prepared(plan, scaler)
            })?,
        };
        let on = OnSet {
            source: &self.source,
            prepared,
            scaler,
            split: run.split,
        };
        let (learned, report) = classifier::fit(plan, &on, &ready.options, run)?;
        Ok(Attempt {
            learned,
            report,
            mean_log_degree: prepared.mean_log_degree(),
        })
    }
}
