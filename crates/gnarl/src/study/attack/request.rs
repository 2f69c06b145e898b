//! [`AttackStudy`]: a model, an attack on it, and what the attacker knows.

use std::sync::Arc;

use gnarl_data::Benchmark;
use gnarl_graph::{Error, Result};

use crate::model::Model;
use gnarl_nn::networks::Backbone;
use gnarl_robust::attack::{Attack, Property};
use gnarl_robust::inference::PerturbationTarget;

gnarl_graph::named! {
    /// The attacked phase: prediction or training.
    #[non_exhaustive]
    pub enum Mode as "mode" {
        /// The input graph of a trained model is attacked.
        Evasion = "evasion",
        /// The training graph of a model is attacked.
        Poisoning = "poisoning",
    }
}

gnarl_graph::named! {
    /// The class labels that the attacker has.
    #[non_exhaustive]
    pub enum LabelKnowledge as "labels" {
        /// True labels: the strongest attacker, and the setting of DICE's reference ([Waniek et al.
        /// 2018](https://arxiv.org/abs/1608.00375)).
        True = "true",
        /// True labels of training nodes, and predictions of the attacker's model elsewhere.
        Predicted = "predicted",
    }
}

gnarl_graph::named! {
    /// The attacker's access to a model with an inference rule.
    #[non_exhaustive]
    pub enum AttackerAccess as "attacker access" {
        /// The predictions after inference: black-box attacks compare candidates by them, and
        /// gradients pass straight through the inference. Other attacks use the network alone.
        Predictions = "predictions",
        /// The network before inference, as in the evaluation of RobustCRF ([Abbahaddou et al.
        /// 2024](https://arxiv.org/abs/2411.05399)).
        Network = "network",
    }
}

/// The part of the input that an attack changes, and that an inference rule against it perturbs.
pub fn attacked_part(attack: &Attack) -> PerturbationTarget {
    if attack.has(Property::Features) {
        PerturbationTarget::Features
    } else {
        PerturbationTarget::Structure
    }
}

/// The predictions that are attacked and evaluated.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Targets {
    /// All test nodes. A targeted attack has forty targets by Nettack's rule ([Zügner et al.
    /// 2018](https://arxiv.org/abs/1805.07984)): the ten correct predictions with the largest
    /// margin, the ten with the smallest margin and twenty at random.
    #[default]
    ByAttack,
    /// These nodes.
    Nodes(Arc<[u32]>),
}

impl From<Vec<u32>> for Targets {
    fn from(nodes: Vec<u32>) -> Self {
        Targets::Nodes(Arc::from(nodes))
    }
}

/// Measures the accuracy of a model before and after an attack.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AttackStudy {
    /// The model.
    pub model: Model,
    /// The attack.
    pub attack: Attack,
    /// Evasion or poisoning.
    pub mode: Mode,
    /// The attacker's surrogate (transfer attack). Poisoning needs one if the attack evaluates a
    /// model: a GCN by default.
    pub surrogate: Option<Backbone>,
    /// The predictions that are attacked and evaluated.
    pub targets: Targets,
    /// The class labels that the attacker has.
    pub labels: LabelKnowledge,
    /// The attacker's access to the inference.
    pub access: AttackerAccess,
    /// Number of runs: run `i` takes split or fold `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

impl AttackStudy {
    /// One run of an adaptive evasion attack with true labels, seed 0.
    #[must_use]
    pub fn new(model: Model, attack: impl Into<Attack>) -> Self {
        Self {
            model,
            attack: attack.into(),
            mode: Mode::Evasion,
            surrogate: None,
            targets: Targets::default(),
            labels: LabelKnowledge::True,
            access: AttackerAccess::Predictions,
            runs: 1,
            seed: 0,
        }
    }

    /// Sets the attacked phase.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Sets the attacker's surrogate: a transfer attack.
    #[must_use]
    pub fn surrogate(self, surrogate: impl Into<Option<Backbone>>) -> Self {
        Self {
            surrogate: surrogate.into(),
            ..self
        }
    }

    /// Sets the predictions that are attacked and evaluated.
    #[must_use]
    pub fn targets(self, targets: impl Into<Targets>) -> Self {
        Self {
            targets: targets.into(),
            ..self
        }
    }

    /// Sets the class labels that the attacker has.
    #[must_use]
    pub fn labels(self, labels: LabelKnowledge) -> Self {
        Self { labels, ..self }
    }

    /// Sets the attacker's access to the inference.
    #[must_use]
    pub fn access(self, access: AttackerAccess) -> Self {
        Self { access, ..self }
    }

    /// Sets the number of runs.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the first run's seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    fn uses_model(&self) -> bool {
        self.attack.queries_model() || self.labels == LabelKnowledge::Predicted
    }

    /// The surrogate that the attacker trains, if any.
    pub(super) fn needed_surrogate(&self) -> Option<Backbone> {
        let poisons = self.mode == Mode::Poisoning && self.uses_model();
        self.surrogate.or(poisons.then_some(Backbone::GCN))
    }

    /// Returns true for an adaptive attack: the attacker uses gradients or predictions of the
    /// evaluated model itself, with its defence and inference.
    pub fn is_adaptive(&self) -> bool {
        self.mode == Mode::Evasion
            && self.attack.queries_model()
            && self.surrogate.is_none()
            && (self.model.inference.is_plain() || self.sees_predictions())
    }

    /// Returns true if the attack compares candidates by the predictions of an inference rule.
    pub fn sees_predictions(&self) -> bool {
        let has_inference = self.mode == Mode::Evasion
            && self.surrogate.is_none()
            && !self.model.inference.is_plain();
        has_inference && self.access == AttackerAccess::Predictions && self.attack.is_black_box()
    }

    /// Number of epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.resolved_model().plan(on.content.task())?;
        let own =
            plan.trainings(Some(&on.content)) * (1 + usize::from(self.mode == Mode::Poisoning));
        Ok(((own + usize::from(self.needed_surrogate().is_some()))
            * plan.training.epochs
            * self.runs) as u64)
    }

    /// Refuses predicted labels or a surrogate for an attack that does not use them.
    pub fn check(&self) -> Result<()> {
        self.attack.check()?;
        let uses_labels = self.attack.uses_labels();
        if self.labels == LabelKnowledge::Predicted && !uses_labels {
            let what = format!("{} uses no labels; leave --labels out", self.attack);
            return Err(Error::unsupported("labels", what));
        }
        if self.surrogate.is_some() && !self.uses_model() {
            let with = if uses_labels { " with true labels" } else { "" };
            let what = format!("{}{with} evaluates no model; leave it out", self.attack);
            return Err(Error::unsupported("surrogate, transfer", what));
        }
        Ok(())
    }

    /// The model, with an open part of its inference set to the attacked part.
    pub fn resolved_model(&self) -> Model {
        self.model
            .inference(self.model.inference.on(attacked_part(&self.attack)))
    }
}
