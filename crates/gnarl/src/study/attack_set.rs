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

use super::attack::{
    AttackRun, AttackStudy, DefendedRun, LabelKnowledge, Mode, Verdict, answers, fit_surrogate,
    labelled, refused,
};
use crate::model::Fitted;
use crate::model::fit::{FitOptions, Ready};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::{Callbacks, median};
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
struct Attacker<'a> {
    attack: &'a Attack,
    /// The model that the attacker evaluates.
    model: Option<&'a dyn Classifier>,
    labels: LabelKnowledge,
    split: &'a Split,
    seed: u64,
}

impl Attacker<'_> {
    /// Attacks these labelled graphs, each within its own budget; a graph's samples depend on the
    /// seed and its place in the set.
    fn run(&self, graphs: &[Graph], items: &[(u32, u32)]) -> Result<Vec<Attacked>> {
        let one = |&(item, class): &(u32, u32)| -> Result<Attacked> {
            let graph = &graphs[item as usize];
            let class = match (self.labels, self.model) {
                (LabelKnowledge::True, _) => class,
                (LabelKnowledge::Predicted, _) if self.split.train().contains(&item) => class,
                (LabelKnowledge::Predicted, Some(model)) => answers(model, graph)?[0] as u32,
                (LabelKnowledge::Predicted, None) => {
                    let what = "predicted labels need a model that predicts them";
                    return Err(Error::missing("attack", what, "name a model"));
                }
            };
            let input = AttackInput {
                graph,
                model: self.model,
                targets: &[(0, class)],
                labels: None,
                training: &[],
                stop: None,
            };
            self.attack
                .run(&input, mix(self.seed ^ mix(u64::from(item) + 1)))
        };
        items.par_iter().map(one).collect()
    }
}

/// The class that a model predicts for each of some graphs.
fn classes<'a>(
    model: &dyn Classifier,
    graphs: impl IntoParallelIterator<Item = &'a Graph>,
) -> Result<Vec<usize>> {
    graphs
        .into_par_iter()
        .map(|graph| Ok(answers(model, graph)?[0]))
        .collect()
}

/// The result of an attack on a set.
struct Outcome {
    attacked: Vec<Attacked>,
    verdict: Verdict,
    defended: Option<DefendedRun>,
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
        let scaled = || with_graphs(set, graphs.clone());
        let epochs = ready.plan().training.epochs;
        let surrogate = match self.needed_surrogate() {
            Some(backbone) => Some(fit_surrogate(
                &Content::Graphs(scaled()?),
                backbone,
                epochs,
                split,
                seed,
                watch,
            )?),
            None => None,
        };
        let eyes = surrogate.as_ref().map(Fitted::network).transpose()?;
        let outcome = match self.mode {
            Mode::Evasion => self.evade_set(&clean, eyes, &graphs, split, &test, seed)?,
            Mode::Poisoning => self.poison_set(&clean, eyes, &scaled()?, split, seed, watch)?,
        };
        let changes = outcome.attacked.iter().map(|attacked| &attacked.change);
        let report = clean.report();
        Ok(AttackRun {
            seed,
            split: split.name().to_string(),
            clean_accuracy: outcome.verdict.clean_accuracy,
            attacked_accuracy: outcome.verdict.attacked_accuracy,
            success_rate: outcome.verdict.success_rate,
            defended: outcome.defended,
            val_accuracy: report.val_accuracy,
            edges_added: changes.clone().map(|change| change.added.len()).sum(),
            edges_removed: changes.clone().map(|change| change.removed.len()).sum(),
            features: changes.fold(FeatureChange::default(), |sum, change| {
                sum.and(change.features)
            }),
            epoch_ms: median(report.trained.iter().map(|t| t.epoch_ms).collect()),
            interrupted: report.interrupted || watch.stopped(),
            attack_seconds: outcome.attack_seconds,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Attacks the test graphs of a fitted model.
    fn evade_set(
        &self,
        clean: &Fitted,
        eyes: Option<&dyn Classifier>,
        graphs: &[Graph],
        split: &Split,
        test: &[(u32, u32)],
        seed: u64,
    ) -> Result<Outcome> {
        let start = Instant::now();
        let (victim, answering) = (clean.bare(), clean.answering());
        let own: &dyn Classifier = if self.sees_predictions() {
            &answering
        } else {
            &victim
        };
        let model: Option<&dyn Classifier> = eyes.or(Some(own));
        let attacker = Attacker {
            attack: &self.attack,
            model,
            labels: self.labels,
            split,
            seed,
        };
        let attacked = attacker.run(graphs, test)?;
        let attack_seconds = start.elapsed().as_secs_f64();
        let before: Vec<Graph> = test
            .iter()
            .map(|&(item, _)| graphs[item as usize].clone())
            .collect();
        let after: Vec<Graph> = attacked
            .iter()
            .map(|attacked| attacked.graph.clone())
            .collect();
        let verdict = Verdict::new(
            &classes(&victim, &before)?,
            &classes(&victim, &after)?,
            &by_place(test),
        );
        let defended = self.defended_on([(clean, &before), (clean, &after)], test)?;
        Ok(Outcome {
            attacked,
            verdict,
            defended,
            attack_seconds,
        })
    }

    /// Attacks the training and validation graphs and trains another model on them; both models are
    /// evaluated on the test graphs.
    fn poison_set(
        &self,
        clean: &Fitted,
        eyes: Option<&dyn Classifier>,
        set: &GraphSet,
        split: &Split,
        seed: u64,
        watch: &Callbacks<'_>,
    ) -> Result<Outcome> {
        let start = Instant::now();
        let known = labelled(&[split.train(), split.val()].concat(), set.labels());
        let attacker = Attacker {
            attack: &self.attack,
            model: eyes,
            labels: self.labels,
            split,
            seed,
        };
        let attacked = attacker.run(set.graphs(), &known)?;
        let attack_seconds = start.elapsed().as_secs_f64();
        let mut graphs = set.graphs().to_vec();
        known
            .iter()
            .zip(&attacked)
            .for_each(|(&(item, _), new)| graphs[item as usize] = new.graph.clone());
        let model = self.settled_model().features(FeatureScaling::AsLoaded);
        let poisoned = Content::Graphs(with_graphs(set, graphs)?);
        let poisoned = model
            .ready("poisoned", &poisoned, FitOptions::default())?
            .fit(split, seed, watch)?;
        let test = labelled(split.test(), set.labels());
        let judged: Vec<Graph> = test
            .iter()
            .map(|&(item, _)| set.graphs()[item as usize].clone())
            .collect();
        let [before, after] = [clean.bare(), poisoned.bare()].map(|model| classes(&model, &judged));
        let verdict = Verdict::new(&before?, &after?, &by_place(&test));
        let defended = self.defended_on([(clean, &judged), (&poisoned, &judged)], &test)?;
        Ok(Outcome {
            attacked,
            verdict,
            defended,
            attack_seconds,
        })
    }

    /// Evaluates the model's inference before and after the attack: models, each with its graphs.
    fn defended_on(
        &self,
        given: [(&Fitted, &Vec<Graph>); 2],
        test: &[(u32, u32)],
    ) -> Result<Option<DefendedRun>> {
        if self.model.inference.is_plain() {
            return Ok(None);
        }
        let start = Instant::now();
        let mut accuracies = [0.0; 2];
        for (accuracy, (model, graphs)) in accuracies.iter_mut().zip(given) {
            let found = model.answers_on_scaled_graphs(graphs)?;
            *accuracy = Verdict::new(&found, &found, &by_place(test)).clean_accuracy;
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
}

/// The set with its graphs replaced.
fn with_graphs(set: &GraphSet, graphs: Vec<Graph>) -> Result<GraphSet> {
    GraphSet::new(graphs, set.labels().clone(), set.num_node_labels())
}

/// The classes of graphs by their position among them.
fn by_place(items: &[(u32, u32)]) -> Vec<(u32, u32)> {
    (0..)
        .zip(items)
        .map(|(place, &(_, class))| (place, class))
        .collect()
}
