//! Attacks one graph with the attacker's labels and model.

use std::sync::atomic::AtomicBool;

use gnarl_data::Content;
use gnarl_graph::random::mix;
use gnarl_graph::{Error, Graph, Labels, Result, Split};

use super::evaluation::{AttackAccuracy, predicted_classes};
use super::request::{LabelKnowledge, Targets};
use super::targets::{labelled, true_labels};
use crate::model::fit::FitOptions;
use crate::model::{Fitted, Model};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attack, AttackInput, Attacked};
use gnarl_robust::classifier::Classifier;

/// Attacks the input of any classifier and evaluates it on the test nodes of a split. The attacker
/// uses `surrogate` if there is one, else the classifier itself.
pub fn evade(
    graph: &Graph,
    classifier: &dyn Classifier,
    surrogate: Option<&dyn Classifier>,
    attack: &Attack,
    knowledge: LabelKnowledge,
    split: &Split,
    seed: u64,
) -> Result<(Attacked, AttackAccuracy)> {
    let targets = labelled(split.test(), true_labels(graph)?);
    let attacker = Attacker {
        attack,
        knowledge,
        split,
        targets: &targets,
        seed,
        stop: None,
    };
    let attacked = attacker.run(graph, Some(surrogate.unwrap_or(classifier)))?;
    let (before, after) = (
        predicted_classes(classifier, graph)?,
        predicted_classes(classifier, &attacked.graph)?,
    );
    Ok((attacked, AttackAccuracy::new(&before, &after, &targets)))
}

/// Runs an attack that evaluates no model on a graph as it is loaded.
pub fn attack_without_model(
    graph: &Graph,
    attack: &Attack,
    targets: &Targets,
    split: &Split,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Attacked> {
    let targets = targets.resolve(graph, split)?;
    Attacker {
        attack,
        knowledge: LabelKnowledge::True,
        split,
        targets: &targets,
        seed,
        stop: Some(stop),
    }
    .run(graph, None)
}

/// An attacker of one graph.
pub(super) struct Attacker<'a> {
    pub attack: &'a Attack,
    pub knowledge: LabelKnowledge,
    pub split: &'a Split,
    /// The attacked nodes, with their true classes.
    pub targets: &'a [(u32, u32)],
    pub seed: u64,
    pub stop: Option<&'a AtomicBool>,
}

impl Attacker<'_> {
    /// Runs the attack with the attacker's labels, on a model to evaluate.
    pub fn run(&self, graph: &Graph, model: Option<&dyn Classifier>) -> Result<Attacked> {
        let truth = true_labels(graph)?;
        let predicted = match (self.knowledge, model) {
            (LabelKnowledge::True, _) => None,
            (LabelKnowledge::Predicted, Some(model)) => {
                let predicted = predicted_classes(model, graph)?;
                Some(labels_with_predictions(truth, &predicted, self.split)?)
            }
            (LabelKnowledge::Predicted, None) => {
                let what = "predicted labels need a model that predicts them";
                return Err(Error::missing("attack", what, "name a model"));
            }
        };
        let labels = predicted.as_ref().unwrap_or(truth);
        let nodes: Vec<u32> = self.targets.iter().map(|&(u, _)| u).collect();
        let targets = labelled(&nodes, labels);
        let training = labelled(self.split.train(), truth);
        let input = AttackInput::new(graph, &targets)
            .model(model)
            .labels(labels)
            .training(&training)
            .stop(self.stop);
        self.attack.run(&input, self.seed)
    }
}

/// True classes of training nodes, predictions elsewhere.
pub(super) fn labels_with_predictions(
    truth: &Labels,
    predicted: &[usize],
    split: &Split,
) -> Result<Labels> {
    let mut classes: Vec<Option<u32>> = predicted.iter().map(|&c| Some(c as u32)).collect();
    for &u in split.train() {
        classes[u as usize] = truth.get(u).or(classes[u as usize]);
    }
    debug_assert_eq!(classes.len(), truth.len());
    Labels::new(classes, truth.num_classes())
}

/// The attacker's surrogate, with the default training.
pub(super) fn fit_surrogate(
    on: &Content,
    backbone: Backbone,
    epochs: usize,
    split: &Split,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Fitted> {
    let model = Model::new(backbone)
        .features(FeatureScaling::AsLoaded)
        .epochs(epochs);
    let ready = model.ready("surrogate", on, FitOptions::default())?;
    // A separate seed: the surrogate of a GCN must not be that GCN.
    ready.fit(split, mix(seed ^ SURROGATE), watch)
}

const SURROGATE: u64 = 0x5u64 << 60;
