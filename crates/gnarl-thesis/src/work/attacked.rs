//! Attacks on trained models.

use std::sync::atomic::Ordering;

use gnarl_data::Task;
use gnarl_data::registry::Protocol;
use serde::{Deserialize, Serialize};

use super::{CellInput, CellWork, RowKind, RunInput, Runs, Work, folds_of};
use crate::attacked::{Subject, Threat};
use crate::measure::{Measure, PredictionRule};
use crate::measured::{ByAttack, Measured};
use gnarl::study::attack::{
    AttackStudy, AttackerAccess, LabelKnowledge, Mode, RunOptions, attacked_part,
};
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::Attack;

/// Trains a model, attacks it, and takes one of its accuracies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackedRow {
    /// The model.
    pub subject: Subject,
    /// The attack, and the inference rule.
    pub threat: Threat,
    /// The accuracy to show.
    pub measure: Measure,
}

/// Settings of an attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderAttack {
    /// The split protocol; `None` for the dataset's own.
    pub protocol: Option<Protocol>,
    /// The attack.
    pub attack: Attack,
    /// The attacked phase.
    pub mode: Mode,
    /// True if the attacker uses a GCN surrogate.
    pub surrogate: bool,
    /// The class labels that the attacker has.
    pub known: LabelKnowledge,
    /// True if graphs of a set are attacked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub graphs: bool,
}

impl RowKind for AttackedRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        let (threat, task) = (self.threat, cell.task());
        let (recipe, model) = self.subject.model(cell.dataset, cell.recipe, task);
        let inference = threat
            .inference
            .unwrap_or_default()
            .on(attacked_part(&threat.attack));
        let model = recipe.fill(model.inference(inference), cell.dataset, task);
        let runs = cell.filled(recipe, model, task, UnderAttack::new(threat, task)?)?;
        Ok(Work::Attacked(Runs {
            runs: runs.runs.min(folds_of(cell.dataset)),
            ..runs
        }))
    }

    fn measure(&self) -> Option<Measure> {
        Some(self.measure)
    }

    fn flaw(&self) -> Option<String> {
        let is_defended = matches!(
            self.measure,
            Measure::Clean(PredictionRule::Defended) | Measure::Attacked(PredictionRule::Defended)
        );
        if is_defended && self.threat.inference.is_none() {
            return Some("shows an inference that it does not run".to_string());
        }
        self.threat.attack.check().err().map(|e| e.to_string())
    }
}

impl UnderAttack {
    /// Makes the settings of a threat; fails for an invalid budget.
    fn new(threat: Threat, task: Task) -> Result<Self> {
        threat.attack.check()?;
        Ok(Self {
            protocol: threat
                .tenths
                .then_some(Protocol::LargestComponentFractions {
                    train: 0.1,
                    val: 0.1,
                }),
            attack: threat.attack,
            mode: threat.mode,
            surrogate: threat.surrogate,
            known: LabelKnowledge::True,
            graphs: task == Task::Graph,
        })
    }

    fn task(&self) -> Task {
        if self.graphs { Task::Graph } else { Task::Node }
    }
}

impl CellWork for Runs<UnderAttack> {
    fn kind(&self) -> &'static str {
        self.more.attack.name()
    }

    fn effort(&self) -> f64 {
        let again =
            usize::from(self.more.mode == Mode::Poisoning) + usize::from(self.more.surrogate);
        self.training_effort(self.more.task()) * (1 + again) as f64
    }

    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        let UnderAttack {
            protocol,
            attack,
            mode,
            surrogate,
            known,
            ..
        } = self.more;
        let benchmark = match protocol {
            Some(protocol) => on
                .loaded
                .benchmark_by(Some(protocol), self.seed, self.runs)?,
            None => on.loaded.benchmark(self.seed, self.runs)?,
        };
        let study = AttackStudy::new(self.model, attack)
            .mode(mode)
            .surrogate(surrogate.then_some(Backbone::GCN))
            .labels(known)
            .access(AttackerAccess::Network)
            .runs(self.runs)
            .seed(self.seed);
        let watch = Callbacks::stopped_by(on.stop);
        let result = study.run(&benchmark, RunOptions::new(&watch).cache(on.cache))?;
        if on.stop.load(Ordering::Relaxed) || result.unfinished > 0 {
            return Ok(None);
        }
        let epochs = self.model.plan(self.more.task())?.training.epochs;
        Ok(Some(Measured {
            values: result
                .runs
                .iter()
                .map(|run| run.attacked_accuracy)
                .collect(),
            attacked: Some(Box::new(ByAttack::new(&result.runs, epochs))),
            splits: result.runs.into_iter().map(|run| run.split).collect(),
            ..Measured::default()
        }))
    }
}
