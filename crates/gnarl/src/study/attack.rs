//! Evaluates models under attack: fits a model to a split, attacks it, and compares its predictions
//! on the same test nodes. Sets of graphs are attacked graph by graph (`attack_set`).
//!
//! Evasion changes the input of a fitted model. Poisoning changes its training graph: the model
//! does not exist yet, so the attacker uses a GCN surrogate or no model, and the model is trained
//! and evaluated on the changed graph.
//!
//! Attacks take features as the network does, and edges before any defence.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gnarl_data::Benchmark;
use gnarl_data::Content;
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::random::{mix, stream};
use gnarl_graph::{DenseMatrix, Graph, Labels, Split};
use rand::seq::index::sample;
use rayon::prelude::*;
use serde::Serialize;

use super::attack_cache::{self, AttackCache};
use super::attack_set;
use super::summary::Accuracy;
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::{Callbacks, argmax, median};
use gnarl_robust::attack::{Attack, AttackInput, Attacked, Property, Requirement};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::PerturbationTarget;
use gnarl_robust::perturb::FeatureChange;

gnarl_graph::named! {
    /// The attacked phase: prediction or training.
    pub enum Mode as "mode" {
        /// The input graph of a trained model is attacked.
        Evasion = "evasion",
        /// The training graph of a model is attacked.
        Poisoning = "poisoning",
    }
}

gnarl_graph::named! {
    /// The class labels that the attacker has.
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
pub enum Targets {
    /// All test nodes. A targeted attack has forty targets by Nettack's rule ([Zügner et al.
    /// 2018](https://arxiv.org/abs/1805.07984)): the ten correct predictions with the largest
    /// margin, the ten with the smallest margin and twenty at random.
    #[default]
    Usual,
    /// These nodes.
    Nodes(Arc<[u32]>),
}

/// A model, and an attack on it.
#[derive(Debug, Clone, PartialEq)]
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

/// One run: one split, one seed. Accuracies are of the test nodes or graphs, in per cent, by a
/// plain forward pass unless stated otherwise.
#[derive(Debug, Clone, Serialize)]
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

/// The model's inference on the inputs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DefendedRun {
    /// Accuracy before the attack.
    pub clean_accuracy: f64,
    /// Accuracy after the attack.
    pub attacked_accuracy: f64,
    /// The weight that the inference rule gives itself after it tested its own assumption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<f64>,
    /// Seconds of the two inferences.
    pub seconds: f64,
}

/// Accuracies on the same nodes before and after an attack, in per cent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Accuracy before the attack.
    pub clean_accuracy: f64,
    /// Accuracy after the attack.
    pub attacked_accuracy: f64,
    /// Share of the correct predictions that are wrong after the attack; 0 if none were correct.
    pub success_rate: f64,
}

impl Verdict {
    /// Compares predictions on some nodes with their true classes.
    pub fn new(before: &[usize], after: &[usize], nodes: &[(u32, u32)]) -> Self {
        let right = |answers: &[usize], &(u, c): &(u32, u32)| answers[u as usize] == c as usize;
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let clean: Vec<_> = nodes.iter().filter(|t| right(before, t)).collect();
        let after_right = nodes.iter().filter(|t| right(after, t)).count();
        let fallen = clean.iter().filter(|t| !right(after, t)).count();
        Self {
            clean_accuracy: share(clean.len(), nodes.len()),
            attacked_accuracy: share(after_right, nodes.len()),
            success_rate: share(fallen, clean.len()),
        }
    }
}

/// The predicted class of every node, or of the graph.
pub fn answers(model: &dyn Classifier, graph: &Graph) -> Result<Vec<usize>> {
    let scores = model.scores(graph)?;
    Ok((0..scores.num_rows())
        .map(|u| argmax(scores.row(u)))
        .collect())
}

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
) -> Result<(Attacked, Verdict)> {
    let items = labelled(split.test(), true_labels(graph)?);
    let attacker = Attacker {
        attack,
        knowledge,
        split,
        items: &items,
        seed,
        stop: None,
    };
    let attacked = attacker.run(graph, Some(surrogate.unwrap_or(classifier)))?;
    let (before, after) = (
        answers(classifier, graph)?,
        answers(classifier, &attacked.graph)?,
    );
    Ok((attacked, Verdict::new(&before, &after, &items)))
}

/// An attacker of one graph.
struct Attacker<'a> {
    attack: &'a Attack,
    knowledge: LabelKnowledge,
    split: &'a Split,
    /// The attacked nodes or graphs, with their true classes.
    items: &'a [(u32, u32)],
    seed: u64,
    stop: Option<&'a AtomicBool>,
}

impl Attacker<'_> {
    /// The attack with the attacker's knowledge, and a model to evaluate.
    fn run(&self, graph: &Graph, model: Option<&dyn Classifier>) -> Result<Attacked> {
        let truth = true_labels(graph)?;
        let guessed = match (self.knowledge, model) {
            (LabelKnowledge::True, _) => None,
            (LabelKnowledge::Predicted, Some(model)) => {
                Some(guesses(graph, truth, &answers(model, graph)?, self.split)?)
            }
            (LabelKnowledge::Predicted, None) => {
                let what = "predicted labels need a model that predicts them";
                return Err(Error::missing("attack", what, "name a model"));
            }
        };
        let labels = guessed.as_ref().unwrap_or(truth);
        let nodes: Vec<u32> = self.items.iter().map(|&(u, _)| u).collect();
        let (targets, training) = (
            labelled(&nodes, labels),
            labelled(self.split.train(), truth),
        );
        let input = AttackInput {
            graph,
            model,
            targets: &targets,
            labels: Some(labels),
            training: &training,
            stop: self.stop,
        };
        self.attack.run(&input, self.seed)
    }
}

/// Runs an attack that evaluates no model on a graph as it is loaded.
pub fn attacked_alone(
    graph: &Graph,
    attack: &Attack,
    targets: &Targets,
    split: &Split,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Attacked> {
    let labels = true_labels(graph)?;
    let items = match targets {
        Targets::Usual => tested(split, labels)?,
        Targets::Nodes(nodes) => chosen(nodes, labels)?,
    };
    Attacker {
        attack,
        knowledge: LabelKnowledge::True,
        split,
        items: &items,
        seed,
        stop: Some(stop),
    }
    .run(graph, None)
}

/// True classes of training nodes, predictions elsewhere.
fn guesses(graph: &Graph, truth: &Labels, answers: &[usize], split: &Split) -> Result<Labels> {
    let mut classes: Vec<Option<u32>> = answers.iter().map(|&c| Some(c as u32)).collect();
    for &u in split.train() {
        classes[u as usize] = truth.get(u).or(classes[u as usize]);
    }
    debug_assert_eq!(classes.len(), graph.num_nodes());
    Labels::new(classes, truth.num_classes())
}

/// Given target nodes, each once, with their classes.
fn chosen(nodes: &[u32], labels: &Labels) -> Result<Vec<(u32, u32)>> {
    let mut known = vec![false; labels.len()];
    for &u in nodes {
        match known.get_mut(u as usize) {
            None => {
                return Err(refused(&format!(
                    "target {u} is not a node; the graph has {} nodes",
                    labels.len()
                )));
            }
            Some(true) => {
                return Err(refused(&format!(
                    "target {u} is named twice; leave one out"
                )));
            }
            Some(known) => *known = true,
        }
    }
    match labelled(nodes, labels) {
        items if items.is_empty() => {
            let n = nodes.len();
            let what = format!("none of the {n} targets has a class to evaluate the attack by");
            Err(Error::missing("attack", what, "name nodes with a class"))
        }
        items => Ok(items),
    }
}

/// The test nodes with their classes.
fn tested(split: &Split, labels: &Labels) -> Result<Vec<(u32, u32)>> {
    match labelled(split.test(), labels) {
        items if items.is_empty() => {
            let name = split.name();
            let what = format!("split {name} has no labelled test nodes to evaluate an attack by");
            Err(Error::missing("attack", what, "name another split"))
        }
        items => Ok(items),
    }
}

pub(super) fn labelled(nodes: &[u32], labels: &Labels) -> Vec<(u32, u32)> {
    nodes
        .iter()
        .filter_map(|&u| labels.get(u).map(|c| (u, c)))
        .collect()
}

fn true_labels(graph: &Graph) -> Result<&Labels> {
    graph.labels().ok_or_else(|| {
        Error::missing(
            "attack",
            "the graph has no labels",
            "take a graph with labels",
        )
    })
}

pub(super) fn refused(what: &str) -> Error {
    Error::argument("attack", what)
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

impl AttackStudy {
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
        let plan = self.settled_model().plan(on.content.task())?;
        let own =
            plan.trainings(Some(&on.content)) * (1 + usize::from(self.mode == Mode::Poisoning));
        Ok(((own + usize::from(self.needed_surrogate().is_some()))
            * plan.training.epochs
            * self.runs) as u64)
    }

    /// Refuses predicted labels or a surrogate for an attack that does not use them.
    pub fn check(&self) -> gnarl_graph::Result<()> {
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

    /// Runs the study with these callbacks. [`AttackStudy::runner`] has more options.
    pub fn run(&self, on: &Benchmark, watch: &Callbacks<'_>) -> Result<AttackResult> {
        self.runner(watch).run(on)
    }

    /// A runner of the study, with options.
    pub fn runner<'a>(&'a self, watch: &'a Callbacks<'a>) -> AttackRunner<'a> {
        AttackRunner {
            study: self,
            cache: None,
            watch,
        }
    }

    /// The model, with an open part of its inference set to the attacked part.
    pub fn settled_model(&self) -> Model {
        self.model
            .inference(self.model.inference.on(attacked_part(&self.attack)))
    }

    /// The attacked and evaluated predictions, with their true classes.
    fn items(
        &self,
        clean: &Fitted,
        scaled: &Graph,
        split: &Split,
        seed: u64,
    ) -> Result<Vec<(u32, u32)>> {
        let labels = true_labels(scaled)?;
        match &self.targets {
            Targets::Nodes(nodes) => chosen(nodes, labels),
            Targets::Usual if self.attack.has(Property::Targeted) => {
                match by_rule(&clean.bare().scores(scaled)?, &tested(split, labels)?, seed) {
                    right if right.is_empty() => Err(refused(
                        "the model predicts no test node correctly, so no target is left; name --targets",
                    )),
                    right => Ok(right),
                }
            }
            Targets::Usual => tested(split, labels),
        }
    }
}

/// Runs an [`AttackStudy`].
#[derive(Clone, Copy)]
pub struct AttackRunner<'a> {
    study: &'a AttackStudy,
    cache: Option<&'a AttackCache>,
    watch: &'a Callbacks<'a>,
}

impl<'a> AttackRunner<'a> {
    /// Shares attacked graphs with other models, if the attack evaluates none of them.
    #[must_use]
    pub fn cache(self, cache: &'a AttackCache) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }

    /// All runs in parallel, fewer at a time if attacked features are large. Runs that were stopped
    /// before their end do not count.
    pub fn run(&self, on: &Benchmark) -> Result<AttackResult> {
        let start = Instant::now();
        let study = self.study;
        study.check()?;
        if let Content::Graphs(set) = &on.content {
            attack_set::check(&study.attack, set)?;
        }
        let ready = study
            .settled_model()
            .ready(&on.name, &on.content, FitOptions::default())?;
        let (runs, passes) = (study.runs as f64, study.attack.method().passes());
        ready
            .plan()
            .check_demand(&on.name, &on.content, runs, runs * passes)?;
        let size = |graph: &Graph| graph.features().map_or(0, |f| f.num_rows() * f.num_cols());
        let entries: usize = match &on.content {
            Content::Graph(graph) => size(graph),
            Content::Graphs(set) => set.graphs().iter().map(size).sum(),
        };
        let chunk = (ENTRIES_AT_ONCE / entries.max(1)).clamp(1, study.runs.max(1));
        let all: Vec<usize> = (0..study.runs).collect();
        let (mut runs, mut first) = (Vec::with_capacity(study.runs), None);
        for some in all.chunks(chunk) {
            for (run, attacked) in some
                .par_iter()
                .map(|&i| self.run_one(&ready, on, i))
                .collect::<Result<Vec<_>>>()?
            {
                first = first.or(attacked);
                runs.push(run);
            }
        }
        runs.retain(|run| !run.interrupted);
        let unfinished = study.runs - runs.len();
        Ok(AttackResult {
            runs,
            unfinished,
            first,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// One run, and the attacked graph of the first run on a graph.
    fn run_one(
        &self,
        ready: &Ready,
        on: &Benchmark,
        i: usize,
    ) -> Result<(AttackRun, Option<Attacked>)> {
        let split = &on.splits[i % on.splits.len()];
        let seed = self.study.seed.wrapping_add(i as u64);
        let graph = match &on.content {
            Content::Graph(graph) => graph,
            Content::Graphs(set) => {
                let run = self.study.run_on_set(ready, set, split, seed, self.watch)?;
                return Ok((run, None));
            }
        };
        let start = Instant::now();
        let clean = ready.fit(split, seed, self.watch)?;
        let (mut run, attacked) = self.run_fitted(&clean, graph, split, seed)?;
        run.seconds = start.elapsed().as_secs_f64();
        Ok((run, (i == 0).then_some(attacked)))
    }

    /// One run of a fitted model: the study's completed model, fitted to this split with this seed.
    /// The attacked graph has its loaded features if the attack left them unchanged.
    pub(super) fn run_fitted(
        &self,
        clean: &Fitted,
        graph: &Graph,
        split: &Split,
        seed: u64,
    ) -> Result<(AttackRun, Attacked)> {
        let start = Instant::now();
        let (study, watch) = (self.study, self.watch);
        let scaled = clean.scaled(graph)?;
        let items = study.items(clean, &scaled, split, seed)?;
        let content = Content::Graph(scaled);
        let epochs = clean.plan().training.epochs;
        let fit = |backbone| fit_surrogate(&content, backbone, epochs, split, seed, watch);
        let surrogate = study.needed_surrogate().map(fit).transpose()?;
        let scaled = content.graph()?;
        let (victim, answering) = (clean.bare(), clean.answering());
        let model: Option<&dyn Classifier> = match (&surrogate, study.mode) {
            (Some(surrogate), _) => Some(surrogate.network()?),
            (None, _) if study.sees_predictions() => Some(&answering),
            (None, Mode::Evasion) => Some(&victim),
            (None, Mode::Poisoning) => None,
        };
        let before_attack = Instant::now();
        let stop = Some(watch.stop);
        let attacker = Attacker {
            attack: &study.attack,
            knowledge: study.labels,
            split,
            items: &items,
            seed,
            stop,
        };
        let on_loaded = study.attack.needs(Requirement::LoadedFeatures);
        let attack = || attacker.run(if on_loaded { graph } else { scaled }, model);
        let shared = self
            .cache
            .and_then(|cache| Some((cache, attack_cache::name_of(study, split, seed)?)));
        let mut attacked = match shared {
            Some((cache, name)) => cache.get_or_run(name, watch, attack)?,
            None => attack()?,
        };
        let attack_seconds = before_attack.elapsed().as_secs_f64();
        let after = if on_loaded {
            clean.scaled(&attacked.graph)?
        } else {
            attacked.graph.clone()
        };
        let judge = Evaluator {
            model: study.settled_model(),
            mode: study.mode,
            split,
            items: &items,
            seed,
        };
        let (verdict, defended) = judge.judge(clean, [scaled, &after], watch)?;
        if attacked.change.features.nodes == 0
            && let Some(features) = graph.features()
        {
            attacked.graph = attacked.graph.with_features(features.clone())?;
        } else if !on_loaded {
            attacked.features = clean.scaling();
        }
        let run = AttackRun {
            edges_added: attacked.change.added.len(),
            edges_removed: attacked.change.removed.len(),
            features: attacked.change.features,
            attack_seconds,
            ..judge.run(clean, verdict, defended, start, watch)
        };
        Ok((run, attacked))
    }
}

/// A model evaluated on a graph that is attacked already.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GivenStudy {
    /// The model.
    pub model: Model,
    /// Attacked phase. Evasion: the attacked graph is the input of a model trained on the clean
    /// graph. Poisoning: it is the training graph.
    pub mode: Mode,
    /// The scaling of the attacked graph's features: as loaded, or as a model takes them.
    pub features: FeatureScaling,
    /// Number of runs: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

impl GivenStudy {
    /// All runs in parallel, on a benchmark and an attacked version of its graph. `targets` or the
    /// test nodes are evaluated. Fails if the model scales features otherwise than the attacked
    /// graph.
    pub fn run(
        &self,
        on: &Benchmark,
        attacked: &Graph,
        targets: &Targets,
        watch: &Callbacks<'_>,
    ) -> Result<AttackResult> {
        let start = Instant::now();
        let graph = on.content.graph()?;
        let is_loaded = self.features == FeatureScaling::AsLoaded;
        let edges = match graph.features() {
            Some(features) => attacked.clone().with_features(features.clone())?,
            None => attacked.clone(),
        };
        let flips = Attacked::new(graph, edges)?.change.num_flips();
        let part = if flips == 0 {
            PerturbationTarget::Features
        } else {
            PerturbationTarget::Structure
        };
        let model = self.model.inference(self.model.inference.on(part));
        let ready = model.ready(&on.name, &on.content, FitOptions::default())?;
        let one = |i: usize| -> Result<AttackRun> {
            let (start, split) = (Instant::now(), &on.splits[i % on.splits.len()]);
            let seed = self.seed.wrapping_add(i as u64);
            let labels = true_labels(graph)?;
            let items = match targets {
                Targets::Usual => tested(split, labels)?,
                Targets::Nodes(nodes) => chosen(nodes, labels)?,
            };
            let clean = ready.fit(split, seed, watch)?;
            if !is_loaded && clean.scaling() != self.features {
                let (theirs, own) = (self.features, clean.scaling());
                let what = format!(
                    "the attacked graph's are {theirs}, and the model takes them {own}: say --features {theirs}"
                );
                return Err(Error::setting("features", what));
            }
            let before = clean.scaled(graph)?;
            let after = if is_loaded {
                clean.scaled(attacked)?
            } else {
                attacked.clone()
            };
            // Measured on the scale of the attacked graph: scaling a row with one flipped feature
            // would change every other entry of the row.
            let change = match is_loaded {
                true => Attacked::new(graph, attacked.clone())?.change,
                false => Attacked::new(&before, after.clone())?.change,
            };
            let judge = Evaluator {
                model,
                mode: self.mode,
                split,
                items: &items,
                seed,
            };
            let (verdict, defended) = judge.judge(&clean, [&before, &after], watch)?;
            Ok(AttackRun {
                edges_added: change.added.len(),
                edges_removed: change.removed.len(),
                features: change.features,
                ..judge.run(&clean, verdict, defended, start, watch)
            })
        };
        let mut runs = (0..self.runs)
            .into_par_iter()
            .map(one)
            .collect::<Result<Vec<_>>>()?;
        runs.retain(|run| !run.interrupted);
        let unfinished = self.runs - runs.len();
        Ok(AttackResult {
            runs,
            unfinished,
            first: None,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// The evaluation of a model on a clean and an attacked graph, both scaled.
struct Evaluator<'a> {
    /// The model, its inference completed.
    model: Model,
    mode: Mode,
    split: &'a Split,
    items: &'a [(u32, u32)],
    seed: u64,
}

impl Evaluator<'_> {
    fn judge(
        &self,
        clean: &Fitted,
        [before, after]: [&Graph; 2],
        watch: &Callbacks<'_>,
    ) -> Result<(Verdict, Option<DefendedRun>)> {
        let poisoned = match self.mode {
            Mode::Evasion => None,
            Mode::Poisoning => Some(self.fit_poisoned(after, watch)?),
        };
        let later = poisoned.as_ref().unwrap_or(clean);
        let (first, second) = (
            answers(&clean.bare(), before)?,
            answers(&later.bare(), after)?,
        );
        let verdict = Verdict::new(&first, &second, self.items);
        Ok((verdict, self.defended([(clean, before), (later, after)])?))
    }

    /// The model trained on a changed graph, whose features are scaled already.
    fn fit_poisoned(&self, graph: &Graph, watch: &Callbacks<'_>) -> Result<Fitted> {
        let model = self.model.features(FeatureScaling::AsLoaded);
        let content = Content::Graph(graph.clone());
        model
            .ready("poisoned", &content, FitOptions::default())?
            .fit(self.split, self.seed, watch)
    }

    /// The model's inference before and after the attack: models and their inputs.
    fn defended(&self, given: [(&Fitted, &Graph); 2]) -> Result<Option<DefendedRun>> {
        if self.model.inference.is_plain() {
            return Ok(None);
        }
        let start = Instant::now();
        let mut accuracies = [0.0; 2];
        for (accuracy, (model, graph)) in accuracies.iter_mut().zip(given) {
            let found = model.answers_on_scaled(graph, self.split)?;
            *accuracy = Verdict::new(&found, &found, self.items).clean_accuracy;
        }
        let [clean_accuracy, attacked_accuracy] = accuracies;
        let trusted = given[1].0.reading().trusted();
        Ok(Some(DefendedRun {
            clean_accuracy,
            attacked_accuracy,
            trusted,
            seconds: start.elapsed().as_secs_f64(),
        }))
    }

    /// The report of a run, without the change.
    fn run(
        &self,
        clean: &Fitted,
        verdict: Verdict,
        defended: Option<DefendedRun>,
        start: Instant,
        watch: &Callbacks<'_>,
    ) -> AttackRun {
        let report = clean.report();
        AttackRun {
            seed: self.seed,
            split: self.split.name().to_string(),
            clean_accuracy: verdict.clean_accuracy,
            attacked_accuracy: verdict.attacked_accuracy,
            success_rate: verdict.success_rate,
            defended,
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
}

/// Selects forty targets by the rule of Nettack ([Zügner et al.
/// 2018](https://arxiv.org/abs/1805.07984)): the ten correct predictions with the largest margin,
/// the ten with the smallest and twenty others at random. All correct predictions if there are
/// fewer. In the order of their nodes.
fn by_rule(scores: &DenseMatrix<f32>, items: &[(u32, u32)], seed: u64) -> Vec<(u32, u32)> {
    const ENDS: usize = 10;
    const AT_RANDOM: usize = 20;
    let margin = |&(u, class): &(u32, u32)| {
        let row = scores.row(u as usize);
        let others = row
            .iter()
            .enumerate()
            .filter(|(c, _)| *c != class as usize)
            .map(|(_, &z)| z);
        row[class as usize] - others.fold(f32::NEG_INFINITY, f32::max)
    };
    let mut right: Vec<(f32, (u32, u32))> = items
        .iter()
        .map(|t| (margin(t), *t))
        .filter(|(m, _)| *m > 0.0)
        .collect();
    right.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<(u32, u32)> = right.iter().map(|(_, t)| *t).collect();
    if chosen.len() > 2 * ENDS + AT_RANDOM {
        let middle = chosen[ENDS..chosen.len() - ENDS].to_vec();
        let rng = &mut stream(seed, "targets", 0);
        let drawn = sample(rng, middle.len(), AT_RANDOM)
            .into_iter()
            .map(|i| middle[i]);
        chosen = chosen[..ENDS]
            .iter()
            .chain(&chosen[chosen.len() - ENDS..])
            .copied()
            .chain(drawn)
            .collect();
    }
    chosen.sort_unstable();
    chosen
}

/// Largest number of dense feature entries of all parallel runs; each run has a few copies.
const ENTRIES_AT_ONCE: usize = 1 << 27;

/// All runs that were finished.
#[derive(Debug, Clone)]
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
    /// A value over the runs; fails without a finished run.
    pub fn over(&self, f: impl Fn(&AttackRun) -> f64) -> gnarl_graph::Result<Accuracy> {
        Accuracy::of(self.runs.iter().map(f).collect())
    }

    /// The model's inference rule on the same inputs; `None` for a plain forward pass.
    pub fn defended(&self) -> gnarl_graph::Result<Option<DefendedReport>> {
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
        let bare = |f: fn(&AttackRun) -> f64| self.runs.iter().map(f).collect::<Vec<f64>>();
        Ok(Some(DefendedReport {
            clean_difference: paired_difference(&clean, &bare(|r| r.clean_accuracy))?,
            attacked_difference: paired_difference(&attacked, &bare(|r| r.attacked_accuracy))?,
            clean_accuracy: Accuracy::of(clean)?,
            attacked_accuracy: Accuracy::of(attacked)?,
            seconds: defended.iter().map(|d| d.seconds).sum::<f64>() / defended.len().max(1) as f64,
        }))
    }
}

/// The accuracy of an inference rule on the inputs of all runs.
#[derive(Debug, Serialize)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_nn::depth::Exits;
    use gnarl_robust::attack::dice::Dice;
    use gnarl_robust::attack::gaussian::Gaussian;
    use gnarl_robust::attack::genetic::Genetic;
    use gnarl_robust::attack::grbcd::Grbcd;
    use gnarl_robust::attack::mettack::Mettack;
    use gnarl_robust::attack::pgd_features::PgdFeatures;
    use gnarl_robust::attack::pgd_structure::PgdStructure;
    use gnarl_robust::attack::prbcd::Prbcd;
    use gnarl_robust::classifier::FromFn;
    use gnarl_robust::defense::Jaccard;
    use gnarl_robust::inference::CleanCrf;

    fn benchmark() -> Benchmark {
        let config = CsbmConfig {
            num_nodes: 300,
            num_classes: 3,
            num_features: 16,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 1).unwrap();
        let splits = graph.splits().to_vec();
        Benchmark {
            name: "csbm".into(),
            content: Content::Graph(graph),
            splits,
        }
    }

    fn study(attack: impl Into<Attack>, mode: Mode) -> AttackStudy {
        let attack = match attack.into() {
            Attack::PgdStructure(pgd) => PgdStructure {
                steps: 20,
                block_size: 3000,
                ..pgd
            }
            .into(),
            Attack::Prbcd(prbcd) => Prbcd {
                epochs: 15,
                finetune_epochs: 5,
                block_size: 3000,
                ..prbcd
            }
            .into(),
            Attack::Grbcd(grbcd) => Grbcd {
                steps: 20,
                block_size: 3000,
                ..grbcd
            }
            .into(),
            Attack::Mettack(mettack) => Mettack {
                inner_steps: 20,
                flips_per_step: 10,
                ..mettack
            }
            .into(),
            Attack::Genetic(genetic) => Genetic {
                population_size: 6,
                generations: 4,
                ..genetic
            }
            .into(),
            other => other,
        };
        let model = Model::new(Backbone::GCN)
            .features(FeatureScaling::AsLoaded)
            .hidden(8)
            .epochs(40);
        AttackStudy {
            model,
            attack,
            mode,
            surrogate: None,
            targets: Targets::Usual,
            labels: LabelKnowledge::True,
            access: AttackerAccess::Predictions,
            runs: 2,
            seed: 1,
        }
    }

    fn runs(study: &AttackStudy) -> Result<Vec<AttackRun>> {
        Ok(study.run(&benchmark(), &Callbacks::quiet())?.runs)
    }

    fn mean(runs: &[AttackRun], f: fn(&AttackRun) -> f64) -> f64 {
        runs.iter().map(f).sum::<f64>() / runs.len() as f64
    }

    #[test]
    fn verdicts_by_hand() {
        let nodes = [(0, 1), (1, 0), (2, 1), (3, 2)];
        let verdict = Verdict::new(&[1, 0, 1, 0], &[1, 1, 0, 2], &nodes);
        assert_eq!(
            (verdict.clean_accuracy, verdict.attacked_accuracy),
            (75.0, 50.0)
        );
        assert!(
            (verdict.success_rate - 200.0 / 3.0).abs() < 1e-9,
            "two of three fell, the one that rose does not count"
        );
        assert_eq!(Verdict::new(&[0], &[0], &[(0, 1)]).success_rate, 0.0);
    }

    #[test]
    fn every_attack_runs_in_both_modes() {
        for attack in Attack::all() {
            for mode in [Mode::Evasion, Mode::Poisoning] {
                let study = study(attack, mode);
                let runs = runs(&study).unwrap();
                assert_eq!(runs.len(), 2);
                for run in &runs {
                    assert!(run.clean_accuracy > 60.0, "{attack}: {run:?}");
                    let changed = run.edges_added + run.edges_removed + run.features.nodes;
                    assert!(changed > 0, "{attack}: {run:?}");
                }
                let none = |name: &str| (name.to_string(), "0".to_string());
                let is_amount = |name: &&str| ["budget", "psi"].contains(name);
                let amounts = attack
                    .info()
                    .settings
                    .iter()
                    .map(|setting| setting.name)
                    .filter(is_amount);
                let nothing = attack.with(&amounts.map(none).collect::<Vec<_>>()).unwrap();
                for run in self::runs(&AttackStudy {
                    attack: nothing,
                    ..study
                })
                .unwrap()
                {
                    assert_eq!(
                        (run.clean_accuracy, run.success_rate),
                        (run.attacked_accuracy, 0.0),
                        "{attack} {mode}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_surrogate_attacks_what_has_no_gradients_and_less_well_than_the_model_itself() {
        let through = |surrogate| AttackStudy {
            surrogate,
            ..study(PgdFeatures::budget(0.1), Mode::Evasion)
        };
        let (own, other) = (
            runs(&through(None)).unwrap(),
            runs(&through(Some(Backbone::GCN))).unwrap(),
        );
        let after = |runs: &[AttackRun]| mean(runs, |r| r.attacked_accuracy);
        assert!(
            after(&own) < after(&other),
            "{} against {}",
            after(&own),
            after(&other)
        );
        assert!(
            after(&other) < mean(&other, |r| r.clean_accuracy) - 5.0,
            "it carries over"
        );
        let on_edges = study(PgdStructure::budget(0.1), Mode::Evasion);
        let gat = AttackStudy {
            model: Model {
                backbone: Backbone::GAT,
                ..on_edges.model
            },
            ..on_edges
        };
        assert!(runs(&gat).unwrap_err().to_string().contains("surrogate"));
        assert!(
            runs(&AttackStudy {
                surrogate: Some(Backbone::GCN),
                ..gat
            })
            .is_ok()
        );
        let e = runs(&AttackStudy {
            surrogate: Some(Backbone::GCN),
            ..study(Dice::budget(0.1), Mode::Evasion)
        })
        .unwrap_err();
        assert_eq!(
            e.to_string(),
            "surrogate, transfer: dice with true labels evaluates no model; leave it out"
        );
    }

    /// A classifier with scores and no network inside, such as an inference rule around a model.
    #[test]
    fn any_classifier_can_be_attacked() {
        let (on, study) = (benchmark(), study(PgdFeatures::budget(0.5), Mode::Evasion));
        let (graph, split) = (on.content.graph().unwrap(), &on.splits[0]);
        let fitted = study.model.fit(&on.split(0), 1).unwrap();
        let inner = fitted.network().unwrap();
        let closed = FromFn {
            num_classes: 3,
            function: |g: &Graph| inner.scores(g),
        };
        let against = |surrogate| {
            evade(
                graph,
                &closed,
                surrogate,
                &study.attack,
                LabelKnowledge::True,
                split,
                1,
            )
        };
        assert!(
            against(None)
                .unwrap_err()
                .to_string()
                .contains("this model has none")
        );
        let (attacked, verdict) = against(Some(inner)).unwrap();
        assert!(
            verdict.success_rate > 20.0 && attacked.change.features.nodes > 0,
            "{verdict:?}"
        );
    }

    #[test]
    fn a_model_with_exits_is_attacked_as_a_whole_and_through_a_surrogate() {
        let exits = |attack: Attack| {
            let study = study(attack, Mode::Evasion);
            AttackStudy {
                model: study
                    .model
                    .depth(Exits::st(3).policy("confidence".parse().unwrap())),
                ..study
            }
        };
        let noisy = runs(&exits(Gaussian::budget(3.0).into())).unwrap();
        assert!(
            mean(&noisy, |r| r.attacked_accuracy) < mean(&noisy, |r| r.clean_accuracy) - 5.0,
            "{noisy:?}"
        );
        let e = runs(&exits(PgdFeatures::budget(0.5).into()))
            .unwrap_err()
            .to_string();
        assert!(e.contains("this model has none"), "{e}");
        let through = runs(&AttackStudy {
            surrogate: Some(Backbone::GCN),
            ..exits(PgdFeatures::budget(0.5).into())
        })
        .unwrap();
        assert!(mean(&through, |r| r.success_rate) > 5.0, "{through:?}");
    }

    #[test]
    fn inference_and_defences_answer_the_same_inputs() {
        let plain = study(Dice::budget(0.2), Mode::Evasion);
        let guarded = AttackStudy {
            model: plain.model.inference(CleanCrf::default()),
            ..plain.clone()
        };
        let (bare, guarded) = (runs(&plain).unwrap(), runs(&guarded).unwrap());
        for (bare, guarded) in bare.iter().zip(&guarded) {
            assert_eq!(
                bare.attacked_accuracy, guarded.attacked_accuracy,
                "made against the model without it"
            );
            assert!(bare.defended.is_none() && guarded.defended.is_some());
        }
        let on_features = study(PgdFeatures::budget(0.1), Mode::Evasion);
        let jaccard = AttackStudy {
            model: on_features.model.defense(Jaccard::default()),
            ..on_features
        };
        let e = runs(&jaccard).unwrap_err().to_string();
        assert!(
            e.contains("this model has none"),
            "an attacker cannot look through dropped edges: {e}"
        );
    }

    #[test]
    fn predicted_labels_are_true_ones_on_training_nodes_alone() {
        let on = benchmark();
        let graph = on.content.graph().unwrap();
        let (truth, split) = (graph.labels().unwrap(), &on.splits[0]);
        let labels = guesses(graph, truth, &vec![2; 300], split).unwrap();
        assert!(split.train().iter().all(|&u| labels.get(u) == truth.get(u)));
        assert!(
            split
                .test()
                .iter()
                .chain(split.val())
                .all(|&u| labels.get(u) == Some(2))
        );
        // DICE uses classes: other labels give other flips, but the same number within the budget.
        let truthful = study(Dice::budget(0.1), Mode::Evasion);
        let predicted = AttackStudy {
            labels: LabelKnowledge::Predicted,
            ..truthful.clone()
        };
        let (truthful, predicted) = (runs(&truthful).unwrap(), runs(&predicted).unwrap());
        let count = |run: &AttackRun| run.edges_added + run.edges_removed;
        assert!(
            truthful
                .iter()
                .zip(&predicted)
                .all(|(a, b)| count(a) == count(b))
        );
        assert!(
            truthful
                .iter()
                .zip(&predicted)
                .any(|(a, b)| a.edges_added != b.edges_added
                    || a.attacked_accuracy != b.attacked_accuracy)
        );
        let poisoning = AttackStudy {
            labels: LabelKnowledge::Predicted,
            ..study(Dice::budget(0.1), Mode::Poisoning)
        };
        assert_eq!(
            poisoning.epochs(&benchmark()).unwrap(),
            3 * 40 * 2,
            "the model twice and a surrogate, in two runs"
        );
    }
}
