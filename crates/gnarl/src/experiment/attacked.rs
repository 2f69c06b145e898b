//! Models under attack as cells of a table (ch. 5 and 6): who is attacked, how, and which of the accuracies a row shows.
//!
//! One cell holds all that was found on the same inputs: before and after the attack, by a plain forward pass and by the cell's
//! inference. Rows that show one of these each share it, so that their paired differences are between answers to the same input.

use std::sync::atomic::{AtomicBool, Ordering};

use gnarl_graph::dataset::registry::Protocol;
use gnarl_graph::dataset::{self, Dataset};
use serde::{Deserialize, Serialize};

use super::cell::{Measured, Nothing, Runs};
use super::table::{Measure, Spec};
use crate::attack::Attack;
use crate::attack::dice::Dice;
use crate::attack::gaussian::Gaussian;
use crate::attack::pgd_features::PgdFeatures;
use crate::attack::pgd_structure::PgdStructure;
use crate::error::Result;
use crate::inference::{self, Choice, Part};
use crate::nn::{Backbone, NetworkConfig};
use crate::operator::OperatorChoice;
use crate::task::attack::{AttackRun, AttackStudy, Known, Mode};
use crate::task::node::Preparation;
use crate::task::recipe::Recipe;
use crate::train::Watch;
use crate::weights::{Orthonormal, Parseval, Scaling, WeightsChoice};

/// A model of the studies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The network.
    pub backbone: Backbone,
    /// What nodes hear through; settled, since an attacked model is trained once.
    pub operator: OperatorChoice,
    /// What is asked of the weights.
    pub weights: WeightsChoice,
    /// Deviation of the noise on hidden representations while training.
    pub noise: f32,
    /// The recipe of the chapter, which is what the thesis' recipe means here.
    pub chapter: Recipe,
}

impl Model {
    /// A network as its chapter has it.
    pub const fn new(backbone: Backbone, chapter: Recipe) -> Self {
        Self { backbone, operator: OperatorChoice::Usual, weights: WeightsChoice::Free, noise: 0.0, chapter }
    }

    /// With orthonormal weights, projected by an expansion of this order: GCORN, GIORN.
    pub const fn orthonormal(self, order: usize) -> Self {
        let settings = Orthonormal { order, iterations: 25, scaling: Scaling::Spectral };
        Self { weights: WeightsChoice::Orthonormal(settings), ..self }
    }

    /// With Parseval's regularisation.
    pub const fn parseval(self) -> Self {
        Self { weights: WeightsChoice::Parseval(Parseval { beta: 0.01 }), ..self }
    }

    /// With noise on hidden representations: NoisyGCN. The thesis has no deviation; a tenth is within the range of its authors.
    pub const fn noisy(self) -> Self {
        Self { noise: 0.1, ..self }
    }

    /// The runs of this model on a dataset.
    pub(super) fn runs(self, dataset: &str, recipe: Recipe, runs: usize, seed: u64) -> Runs {
        let recipe = if recipe == Recipe::Thesis { self.chapter } else { recipe };
        let (network, training, features) = recipe.settings(dataset, self.backbone);
        let network = NetworkConfig { weights: self.weights, noise: self.noise, ..network };
        let preparation = Preparation { operator: self.operator, features };
        Runs { recipe, preparation, network, training, more: Nothing {}, runs, seed }
    }
}

/// What is done to a model, and how its answers are read off besides a plain forward pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threat {
    /// The attack.
    pub attack: Attack,
    /// Whether the input or the training is attacked.
    pub mode: Mode,
    /// Whether the attacker looks into a GCN of their own.
    pub surrogate: bool,
    /// Whether the graph is the largest component with 10 / 10 / 80 % of its nodes, whatever the dataset's own protocol.
    pub tenths: bool,
    /// The inference besides.
    pub inference: Option<inference::Kind>,
}

/// Noise of this psi on every feature.
pub const fn noise(psi: f64) -> Threat {
    against_input(Attack::Gaussian(Gaussian::budget(psi)))
}

/// Gradient ascent on features, 15 % of their norm.
pub const PGD_FEATURES: Threat = against_input(Attack::PgdFeatures(PgdFeatures::budget(0.15)));
/// Gradient ascent on a tenth of the edges.
pub const PGD_STRUCTURE: Threat = against_input(Attack::PgdStructure(PgdStructure::budget(0.1)));
/// A tenth of the edges removed within classes and added between them.
pub const DICE: Threat = against_input(Attack::Dice(Dice::budget(0.1)));

const fn against_input(attack: Attack) -> Threat {
    Threat { attack, mode: Mode::Evasion, surrogate: false, tenths: false, inference: None }
}

impl Threat {
    /// Against the training.
    pub const fn poisoning(self) -> Self {
        Self { mode: Mode::Poisoning, ..self }
    }

    /// Through a GCN of the attacker's own.
    pub const fn through_surrogate(self) -> Self {
        Self { surrogate: true, ..self }
    }

    /// On tenths of the largest component.
    pub const fn on_tenths(self) -> Self {
        Self { tenths: true, ..self }
    }

    /// With answers read off by this, too.
    pub const fn read_by(self, inference: inference::Kind) -> Self {
        Self { inference: Some(inference), ..self }
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

/// A model's accuracy under attack.
pub const fn under(model: Model, threat: Threat) -> Spec {
    Spec::Attacked { model, threat, measure: Measure::Attacked(Answer::Bare) }
}

/// The same with the threat's inference.
pub const fn defended(model: Model, threat: Threat) -> Spec {
    Spec::Attacked { model, threat, measure: Measure::Attacked(Answer::Defended) }
}

/// A model's accuracy before an attack.
pub const fn before(model: Model, threat: Threat) -> Spec {
    Spec::Attacked { model, threat, measure: Measure::Clean(Answer::Bare) }
}

/// The same with the threat's inference.
pub const fn defended_before(model: Model, threat: Threat) -> Spec {
    Spec::Attacked { model, threat, measure: Measure::Clean(Answer::Defended) }
}

/// Seconds of a model's training.
pub const fn training_time(model: Model, threat: Threat) -> Spec {
    Spec::Attacked { model, threat, measure: Measure::TrainingSeconds }
}

/// What a cell needs to know of an attack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnderAttack {
    /// How nodes are split; `None` for the dataset's own protocol.
    pub protocol: Option<Protocol>,
    /// The attack.
    pub attack: Attack,
    /// What is attacked.
    pub mode: Mode,
    /// Whether the attacker looks into a GCN of their own.
    pub surrogate: bool,
    /// What the attacker knows of classes.
    pub known: Known,
    /// The inference besides a plain forward pass.
    pub inference: Option<Choice>,
}

impl UnderAttack {
    /// A threat on a dataset; fails for a budget that means nothing.
    pub(super) fn new(threat: Threat, dataset: &str) -> Result<Self> {
        let part = if threat.attack.method().changes_features() { Part::Features } else { Part::Structure };
        threat.attack.check()?;
        Ok(Self {
            protocol: threat.tenths.then_some(Protocol::LargestComponentFractions { train: 0.1, val: 0.1 }),
            attack: threat.attack,
            mode: threat.mode,
            surrogate: threat.surrogate,
            known: Known::True,
            inference: threat.inference.map(|kind| Choice::new(kind, part, dataset)),
        })
    }

    fn study(&self, setting: &Runs<UnderAttack>) -> AttackStudy {
        let UnderAttack { attack, mode, surrogate, known, inference, .. } = *self;
        let (network, training) = (setting.network.clone(), setting.training.clone());
        let operator = setting.preparation.operator;
        let (exits, tune) = (None, false);
        AttackStudy { operator, network, training, exits, attack, mode, surrogate, known, inference, tune }
    }
}

impl Runs<UnderAttack> {
    /// Networks trained in one run.
    pub(super) fn trainings(&self) -> usize {
        self.more.study(self).trainings()
    }

    /// Attacks on the dataset's splits. `None` where stopped.
    pub(super) fn attack(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        let (graph, splits) = match self.more.protocol {
            Some(protocol) => dataset::splits_by(loaded, Some(protocol), self.seed, self.runs)?,
            None => dataset::protocol_splits(loaded, self.seed, self.runs)?,
        };
        // What is attacked is what is heard.
        let graph = self.preparation.features.scaled(&graph)?;
        let watch = Watch { on_epoch: &|_, _| (), stop };
        let done = self.more.study(self).runs(&graph, &splits, self.runs, self.seed, &watch)?;
        if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.interrupted) {
            return Ok(None);
        }
        Ok(Some(Measured {
            values: done.iter().map(|run| run.attacked_accuracy).collect(),
            attacked: Some(Box::new(ByAttack::new(&done, self.training.epochs))),
            splits: done.into_iter().map(|run| run.split).collect(),
            ..Measured::default()
        }))
    }
}

/// What an attack came to, each a list over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByAttack {
    /// Test accuracy before the attack.
    pub clean: Vec<f64>,
    /// After it.
    pub attacked: Vec<f64>,
    /// Before, by the cell's inference; empty where it has none.
    pub defended_clean: Vec<f64>,
    /// After, by the cell's inference.
    pub defended_attacked: Vec<f64>,
    /// Median milliseconds of a training step.
    pub epoch_ms: Vec<f64>,
    /// That, times the steps, in seconds.
    pub training_seconds: Vec<f64>,
}

impl ByAttack {
    fn new(runs: &[AttackRun], epochs: usize) -> Self {
        let over = |f: &dyn Fn(&AttackRun) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
        let defended = || runs.iter().filter_map(|run| run.defended);
        Self {
            clean: over(&|run| run.clean_accuracy),
            attacked: over(&|run| run.attacked_accuracy),
            defended_clean: defended().map(|run| run.clean_accuracy).collect(),
            defended_attacked: defended().map(|run| run.attacked_accuracy).collect(),
            epoch_ms: over(&|run| run.epoch_ms),
            training_seconds: over(&|run| run.epoch_ms * epochs as f64 / 1000.0),
        }
    }

    /// The figures of a measure; none for one that is not of attacks.
    pub(super) fn of(&self, measure: Measure) -> Vec<f64> {
        match measure {
            Measure::Clean(Answer::Bare) => self.clean.clone(),
            Measure::Clean(Answer::Defended) => self.defended_clean.clone(),
            Measure::Attacked(Answer::Bare) => self.attacked.clone(),
            Measure::Attacked(Answer::Defended) => self.defended_attacked.clone(),
            Measure::TrainingSeconds => self.training_seconds.clone(),
            _ => Vec::new(),
        }
    }

    /// Further figures beside a measure.
    pub(super) fn parts(&self, measure: Measure) -> Vec<(String, Vec<f64>)> {
        match measure {
            Measure::TrainingSeconds => vec![("ms an epoch".into(), self.epoch_ms.clone())],
            _ => Vec::new(),
        }
    }
}
