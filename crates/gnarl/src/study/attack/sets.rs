//! Attacks on sets of graphs: every graph is attacked separately, with its own budget.
//!
//! Evasion changes the test graphs that a fitted model is given. Poisoning changes the labelled
//! graphs that it is trained and validated on, and the test graphs stay as they are.

use std::time::Instant;

use gnarl_data::Content;
use gnarl_graph::random::mix;
use gnarl_graph::settings::join_names;
use gnarl_graph::{Graph, GraphSet, Split};
use rayon::prelude::*;

use super::attacker::fit_surrogate;
use super::evaluation::{AttackAccuracy, Evaluation, evaluate_inference, predicted_classes};
use super::refused;
use super::report::AttackRun;
use super::request::{AttackStudy, LabelKnowledge, Mode};
use super::targets::labelled;
use crate::model::Fitted;
use crate::model::fit::{FitOptions, Ready};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attack, AttackInput, Attacked, Property, Requirement};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::perturb::FeatureChange;

/// Refuses an attack that needs more than the graphs of a set have: node classes, or loaded
/// features.
pub(super) fn check(attack: &Attack, set: &GraphSet) -> Result<()> {
    let missing = if attack.needs(Requirement::TrainingNodes) {
        "needs training nodes, and a set of graphs has none"
    } else if attack.needs(Requirement::Labels) {
        "needs the classes of nodes, and the graphs of a set have none"
    } else if attack.has(Property::Features)
        && set.graphs().iter().all(|graph| graph.features().is_none())
    {
        "changes features, and the graphs have none of their own"
    } else {
        return Ok(());
    };
    let on_edges = |a: &Attack| {
        !a.needs(Requirement::Labels)
            && !a.needs(Requirement::TrainingNodes)
            && !a.has(Property::Features)
    };
    let others: Vec<&str> = Attack::all().filter(on_edges).map(|a| a.name()).collect();
    Err(refused(&format!(
        "{attack} {missing}; attack their edges by {}",
        join_names(&others)
    )))
}

/// An attacker of the graphs of a set.
struct SetAttacker<'a> {
    attack: &'a Attack,
    /// The model that the attacker evaluates.
    model: Option<&'a dyn Classifier>,
    labels: LabelKnowledge,
    split: &'a Split,
    seed: u64,
}

impl SetAttacker<'_> {
    /// Attacks these labelled graphs, each within its own budget; a graph's samples depend on the
    /// seed and its place in the set.
    fn run(&self, graphs: &[Graph], targets: &[(u32, u32)]) -> Result<Vec<Attacked>> {
        let one = |&(id, class): &(u32, u32)| -> Result<Attacked> {
            let graph = &graphs[id as usize];
            let class = match (self.labels, self.model) {
                (LabelKnowledge::True, _) => class,
                (LabelKnowledge::Predicted, _) if self.split.train().contains(&id) => class,
                (LabelKnowledge::Predicted, Some(model)) => {
                    predicted_classes(model, graph)?[0] as u32
                }
                (LabelKnowledge::Predicted, None) => {
                    let what = "predicted labels need a model that predicts them";
                    return Err(Error::missing("attack", what, "name a model"));
                }
            };
            let target = [(0, class)];
            let input = AttackInput::new(graph, &target)
                .model(self.model)
                .labels(None);
            self.attack
                .run(&input, mix(self.seed ^ mix(u64::from(id) + 1)))
        };
        targets.par_iter().map(one).collect()
    }
}

/// A fitted model and a fold of a set.
struct Fold<'a> {
    clean: &'a Fitted,
    /// The set, its features scaled for the model.
    set: &'a GraphSet,
    split: &'a Split,
    seed: u64,
    /// The labelled test graphs.
    test: &'a [(u32, u32)],
    surrogate: Option<&'a dyn Classifier>,
}

/// The result of an attack on a set.
struct Outcome {
    attacked: Vec<Attacked>,
    found: Evaluation,
    attack_seconds: f64,
}

impl AttackStudy {
    /// Prepares and runs one run on a set.
    pub(super) fn run_on_set(
        &self,
        ready: &Ready,
        set: &GraphSet,
        split: &Split,
        seed: u64,
        watch: &Callbacks<'_>,
    ) -> Result<AttackRun> {
        let start = Instant::now();
        let test = labelled(split.test(), set.labels());
        if test.is_empty() {
            let name = split.name();
            let what = format!("fold {name} has no labelled test graphs to evaluate an attack by");
            return Err(Error::missing("attack", what, "name another fold"));
        }
        let clean = ready.fit(split, seed, watch)?;
        let graphs = set
            .graphs()
            .par_iter()
            .map(|graph| clean.scaled(graph))
            .collect::<Result<Vec<_>>>()?;
        let scaled = with_graphs(set, graphs)?;
        let epochs = ready.plan().training.epochs;
        let surrogate = match self.needed_surrogate() {
            Some(backbone) => {
                let content = Content::Graphs(scaled.clone());
                Some(fit_surrogate(
                    &content, backbone, epochs, split, seed, watch,
                )?)
            }
            None => None,
        };
        let fold = Fold {
            clean: &clean,
            set: &scaled,
            split,
            seed,
            test: &test,
            surrogate: surrogate.as_ref().map(Fitted::network).transpose()?,
        };
        let outcome = match self.mode {
            Mode::Evasion => self.evade_set(&fold)?,
            Mode::Poisoning => self.poison_set(&fold, watch)?,
        };
        let changes = outcome.attacked.iter().map(|attacked| &attacked.change);
        Ok(AttackRun {
            edges_added: changes.clone().map(|change| change.added.len()).sum(),
            edges_removed: changes.clone().map(|change| change.removed.len()).sum(),
            features: changes.fold(FeatureChange::default(), |sum, change| {
                sum.and(change.features)
            }),
            attack_seconds: outcome.attack_seconds,
            ..AttackRun::unchanged(&clean, (split, seed), outcome.found, start, watch)
        })
    }

    /// Attacks the test graphs of a fitted model.
    fn evade_set(&self, on: &Fold<'_>) -> Result<Outcome> {
        let start = Instant::now();
        let (plain, adaptive) = (on.clean.attack_target(), on.clean.adaptive_target());
        let own: &dyn Classifier = if self.sees_predictions() {
            &adaptive
        } else {
            &plain
        };
        let attacked = self.attack_graphs(on, on.surrogate.or(Some(own)), on.test)?;
        let attack_seconds = start.elapsed().as_secs_f64();
        let before = test_graphs(on);
        let after: Vec<Graph> = attacked
            .iter()
            .map(|attacked| attacked.graph.clone())
            .collect();
        let found = self.evaluate_on([(on.clean, &before), (on.clean, &after)], on.test)?;
        Ok(Outcome {
            attacked,
            found,
            attack_seconds,
        })
    }

    /// Attacks the training and validation graphs and trains another model on them; both models are
    /// evaluated on the test graphs.
    fn poison_set(&self, on: &Fold<'_>, watch: &Callbacks<'_>) -> Result<Outcome> {
        let start = Instant::now();
        let known = labelled(
            &[on.split.train(), on.split.val()].concat(),
            on.set.labels(),
        );
        let attacked = self.attack_graphs(on, on.surrogate, &known)?;
        let attack_seconds = start.elapsed().as_secs_f64();
        let mut graphs = on.set.graphs().to_vec();
        known
            .iter()
            .zip(&attacked)
            .for_each(|(&(id, _), new)| graphs[id as usize] = new.graph.clone());
        let model = self.resolved_model().features(FeatureScaling::AsLoaded);
        let poisoned = Content::Graphs(with_graphs(on.set, graphs)?);
        let poisoned = model
            .ready("poisoned", &poisoned, FitOptions::default())?
            .fit(on.split, on.seed, watch)?;
        let test = test_graphs(on);
        let found = self.evaluate_on([(on.clean, &test), (&poisoned, &test)], on.test)?;
        Ok(Outcome {
            attacked,
            found,
            attack_seconds,
        })
    }

    fn attack_graphs(
        &self,
        on: &Fold<'_>,
        model: Option<&dyn Classifier>,
        targets: &[(u32, u32)],
    ) -> Result<Vec<Attacked>> {
        let attacker = SetAttacker {
            attack: &self.attack,
            model,
            labels: self.labels,
            split: on.split,
            seed: on.seed,
        };
        attacker.run(on.set.graphs(), targets)
    }

    /// Evaluates the models before and after the attack, each on its graphs.
    fn evaluate_on(
        &self,
        given: [(&Fitted, &[Graph]); 2],
        test: &[(u32, u32)],
    ) -> Result<Evaluation> {
        let by_place = by_place(test);
        let [before, after] = given.map(|(model, graphs)| classes(&model.attack_target(), graphs));
        let plain = AttackAccuracy::new(&before?, &after?, &by_place);
        let defended = if self.model.inference.is_plain() {
            None
        } else {
            let predict = Fitted::predict_scaled_graphs;
            Some(evaluate_inference(given, &by_place, predict)?)
        };
        Ok(Evaluation { plain, defended })
    }
}

/// The class that a model predicts for each of some graphs.
fn classes(model: &dyn Classifier, graphs: &[Graph]) -> Result<Vec<usize>> {
    graphs
        .par_iter()
        .map(|graph| Ok(predicted_classes(model, graph)?[0]))
        .collect()
}

/// The labelled test graphs of a fold, scaled.
fn test_graphs(on: &Fold<'_>) -> Vec<Graph> {
    on.test
        .iter()
        .map(|&(id, _)| on.set.graphs()[id as usize].clone())
        .collect()
}

/// The set with its graphs replaced.
fn with_graphs(set: &GraphSet, graphs: Vec<Graph>) -> Result<GraphSet> {
    GraphSet::new(graphs, set.labels().clone(), set.num_node_labels())
}

/// The classes of graphs by their position among them.
fn by_place(graphs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    (0..)
        .zip(graphs)
        .map(|(place, &(_, class))| (place, class))
        .collect()
}
