//! Trains and evaluates a model over splits and seeds on test nodes or graphs, with the
//! contribution of its axes.
//!
//! On one graph, run `i` takes split `i` (in turn) and seed `seed + i`. On a set, initialisation
//! `j` of fold `i` has seed `seed + i + j · folds`, and a fold counts with the mean of its
//! initialisations. Runs are parallel on the cores available; the results are those of sequential
//! runs.
//!
//! ```
//! use gnarl::prelude::*;
//! use gnarl::study::train::TrainStudy;
//! use gnarl::train::Callbacks;
//! let karate = Dataset::load("karate")?.benchmark(0, 3)?;
//! let study = TrainStudy::new(Model::new(Backbone::GCN).epochs(20)).runs(3);
//! let result = study.run(&karate, &Callbacks::quiet())?;
//! if let Some(accuracy) = result.test_accuracy()? {
//!     println!("{} % on test nodes", accuracy.text());
//! }
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Instant;

use gnarl_data::{Benchmark, Task};
use gnarl_graph::metrics::{ClassScores, PairedDifference, paired_difference};
use gnarl_graph::{DenseMatrix, Split};
use rayon::prelude::*;
use serde::Serialize;

use super::summary::{Accuracy, as_object};
use crate::model::fit::{FitOptions, Ready};
use crate::model::{FitReport, Fitted, Model};
use gnarl_graph::{Error, Result};
use gnarl_nn::depth::{ExitPredictions, Kind, Policy, Structure, cross_fitted_accuracy};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::{Callbacks, Targets, median};

/// Trains and evaluates a model over splits and seeds.
#[derive(Debug, Clone)]
pub struct TrainStudy {
    /// The model.
    pub model: Model,
    /// Number of runs on one graph. A set has as many as its benchmark has folds.
    pub runs: usize,
    /// Number of initialisations of each fold of a set.
    pub inits: usize,
    /// Seed of the first run.
    pub seed: u64,
    /// Exit policies to report in addition to the model's own, for models with exits.
    pub policies: Vec<Kind>,
    /// Further options of each fit.
    pub options: FitOptions,
    /// The run whose model is kept.
    pub keep_run: KeepRun,
}

gnarl_graph::named! {
    /// The run whose model is kept.
    #[non_exhaustive]
    pub enum KeepRun as "run to keep" {
        /// The first finished run.
        First = "first",
        /// The run with the best validation accuracy; the first of equal ones.
        Best = "best",
    }
}

impl TrainStudy {
    /// A study of one run, or of one initialisation of every fold, with seed 0.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            runs: 1,
            inits: 1,
            seed: 0,
            policies: Vec::new(),
            options: FitOptions::default(),
            keep_run: KeepRun::First,
        }
    }

    /// Sets the number of runs on one graph.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the number of initialisations of each fold of a set.
    #[must_use]
    pub fn inits(self, inits: usize) -> Self {
        Self { inits, ..self }
    }

    /// Sets the seed of the first run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the exit policies to report in addition to the model's own.
    #[must_use]
    pub fn policies(self, policies: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            policies: policies.into_iter().collect(),
            ..self
        }
    }

    /// Sets further options of each fit.
    #[must_use]
    pub fn options(self, options: FitOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the run whose model is kept.
    #[must_use]
    pub fn keep_run(self, keep_run: KeepRun) -> Self {
        Self { keep_run, ..self }
    }

    /// Number of epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(on.content.task())?;
        Ok(plan.trainings(Some(&on.content)) as u64
            * plan.training.epochs as u64
            * self.num_fits(on) as u64)
    }

    fn num_fits(&self, on: &Benchmark) -> usize {
        match on.content.task() {
            Task::Node => self.runs,
            Task::Graph => on.splits.len() * self.inits,
        }
    }

    /// The split and seed of fit `i`.
    fn place<'a>(&self, on: &'a Benchmark, i: usize) -> (&'a Split, u64) {
        let folds = on.splits.len();
        match on.content.task() {
            Task::Node => (&on.splits[i % folds], self.seed.wrapping_add(i as u64)),
            Task::Graph => {
                let (fold, init) = (i / self.inits, i % self.inits);
                (
                    &on.splits[fold],
                    self.seed.wrapping_add((fold + init * folds) as u64),
                )
            }
        }
    }

    /// Everything that determines the study's result, for a [`Journal`](gnarl_nn::train::Journal): an
    /// interrupted study resumes only with the same settings.
    pub fn resume_key(&self, on: &Benchmark) -> Result<serde_json::Value> {
        let plan = self.model.plan(on.content.task())?;
        let splits: Vec<[&[u32]; 3]> = on
            .splits
            .iter()
            .map(|s| [s.train(), s.val(), s.test()])
            .collect();
        let splits = serde_json::to_vec(&splits)
            .map(|bytes| crc32fast::hash(&bytes))
            .unwrap_or_default();
        Ok(serde_json::json!({
            "data": on.name,
            "content": format!("{:016x}", on.content.fingerprint()),
            "model": plan.model,
            "splits": splits,
            "runs": self.num_fits(on),
            "inits": self.inits,
            "seed": self.seed,
            "corruption": self.options.corruption,
            "influence": self.options.study_influence,
        }))
    }

    /// Fits and evaluates the model.
    pub fn run(&self, on: &Benchmark, watch: &Callbacks<'_>) -> Result<TrainResult> {
        let start = Instant::now();
        if on.splits.is_empty() {
            let what = "the data has no split to train on";
            return Err(Error::missing("train", what, "add one to the folder"));
        }
        if self.num_fits(on) == 0 {
            return Err(Error::argument("train", "0 runs; at least 1 is needed"));
        }
        let ready = self.model.ready(&on.name, &on.content, self.options)?;
        ready.plan().check_policies(&self.policies)?;
        ready
            .plan()
            .check_demand(&on.name, &on.content, self.num_fits(on) as f64, 0.0)?;
        let evaluator = Evaluator::new(self, on)?;
        let kept = Mutex::new(None::<(Rank, Fitted)>);
        let one = |i: usize| {
            // Many short runs would each begin, only to be stopped.
            if watch.stopped() {
                return Ok(None);
            }
            let (run, fitted) = evaluator.fit(&ready, i, watch)?;
            let rank = Rank::of(self.keep_run, &run, i);
            let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
            if !run.fit.interrupted && kept.as_ref().is_none_or(|(other, _)| rank.is_before(other))
            {
                *kept = Some((rank, fitted));
            }
            Ok(Some(run).filter(|run| !run.fit.interrupted))
        };
        let done: Vec<Option<Run>> = (0..self.num_fits(on))
            .into_par_iter()
            .map(one)
            .collect::<Result<_>>()?;
        let planned = done.len();
        let mut runs = Vec::with_capacity(planned);
        // A fold counts only if all its initialisations are finished.
        let of_fold = if on.content.task() == Task::Graph {
            self.inits
        } else {
            1
        };
        let mut done = done.into_iter();
        for _ in 0..planned / of_fold {
            let fold: Vec<Option<Run>> = done.by_ref().take(of_fold).collect();
            runs.extend(
                fold.into_iter()
                    .collect::<Option<Vec<Run>>>()
                    .into_iter()
                    .flatten(),
            );
        }
        let unfinished = planned - runs.len();
        let kept = kept
            .into_inner()
            .unwrap_or_else(|e| e.into_inner())
            .map(|(_, fitted)| fitted);
        Ok(TrainResult {
            runs,
            unfinished,
            kept,
            inits: of_fold,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Rank of a run among the runs of which one is kept.
struct Rank {
    val_accuracy: f64,
    place: usize,
}

impl Rank {
    fn of(keep: KeepRun, run: &Run, place: usize) -> Self {
        let val_accuracy = match keep {
            KeepRun::First => 0.0,
            KeepRun::Best => run.fit.val_accuracy.unwrap_or(0.0),
        };
        Self {
            val_accuracy,
            place,
        }
    }

    /// Returns true if this run precedes the other. The order is total, so the same run is first in
    /// any order of comparison.
    fn is_before(&self, other: &Self) -> bool {
        (other.val_accuracy, self.place).partial_cmp(&(self.val_accuracy, other.place))
            == Some(std::cmp::Ordering::Less)
    }
}

/// One run: one split, one seed. Accuracies in per cent.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Accuracy on the test nodes or graphs; `None` without labels.
    pub test_accuracy: Option<f64>,
    /// Scores class by class.
    #[serde(skip)]
    pub class_scores: Option<ClassScores>,
    /// The feature scaling in use.
    pub features: FeatureScaling,
    /// True if an unconstrained head was chosen instead of a constrained last layer; `None` if that
    /// was not left open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chose_head: Option<bool>,
    /// Test accuracy of a plain forward pass, for a model with an inference rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_test_accuracy: Option<f64>,
    /// The report of the fit.
    #[serde(flatten)]
    pub fit: FitReport,
    /// Accuracies of exits and policies, for a model with exits.
    #[serde(flatten)]
    pub exits: Option<ExitRun>,
    /// The operator's initialisation, if it was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
    /// Class distributions of the test nodes or graphs.
    #[serde(skip)]
    pub test_probabilities: DenseMatrix<f32>,
}

/// Accuracies of exits and policies on the test nodes or graphs of a run.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExitRun {
    /// Test accuracy of every exit.
    pub exit_accuracy: Vec<f64>,
    /// Validation accuracy of every exit.
    pub exit_val_accuracy: Vec<f64>,
    /// The exit with the best validation accuracy; the first of equal ones.
    pub single_layer: usize,
    /// Test accuracy of every reported policy, in order.
    pub policy_accuracy: Vec<f64>,
    /// Cross-fitted accuracy of every policy, on validation nodes or graphs that it was not learned
    /// on.
    pub policy_val_accuracy: Vec<f64>,
    /// Number of nodes or graphs, of all in the data, that use each exit under the model's own
    /// policy.
    pub taken: Vec<usize>,
    /// Oracle accuracy: the share of test nodes or graphs on which any exit is correct.
    pub oracle_accuracy: f64,
}

impl ExitRun {
    /// Test accuracy of the single layer with the best validation accuracy.
    pub fn single_layer_accuracy(&self) -> f64 {
        self.exit_accuracy[self.single_layer]
    }
}

/// All runs that were finished.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrainResult {
    /// The runs in the order of their seeds; for a set fold after fold.
    pub runs: Vec<Run>,
    /// Number of runs that were stopped before their end, which do not count.
    pub unfinished: usize,
    /// The model of the run to keep, among the finished ones.
    pub kept: Option<Fitted>,
    /// Number of initialisations of each fold.
    pub inits: usize,
    /// Seconds in all.
    pub seconds: f64,
}

impl TrainResult {
    /// Returns one value for each split; for a set the mean over a fold's initialisations. `None`
    /// if a run lacks it.
    pub fn over(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<Vec<f64>> {
        let of_fold = |fold: &[Run]| -> Option<f64> {
            let values = fold.iter().map(&value).collect::<Option<Vec<f64>>>()?;
            Some(values.iter().sum::<f64>() / values.len() as f64)
        };
        self.runs
            .chunks(self.inits)
            .map(of_fold)
            .collect::<Option<Vec<f64>>>()
            .filter(|values| !values.is_empty())
    }

    /// Test accuracy over splits; `None` without labelled test nodes or graphs, or without a
    /// finished run.
    pub fn test_accuracy(&self) -> gnarl_graph::Result<Option<Accuracy>> {
        self.over(|run| run.test_accuracy)
            .map(Accuracy::of)
            .transpose()
    }

    /// Balanced accuracy, macro F1 and the area under the ROC curve on test nodes or graphs over
    /// splits, per cent; `None` if one is not defined.
    pub fn scores(&self) -> gnarl_graph::Result<Scores> {
        let over = |of: fn(&ClassScores) -> Option<f64>| {
            let percent = |run: &Run| {
                run.class_scores
                    .as_ref()
                    .and_then(of)
                    .map(|share| 100.0 * share)
            };
            self.over(percent).map(Accuracy::of).transpose()
        };
        Ok(Scores {
            balanced_accuracy: over(|scores| Some(scores.balanced_accuracy))?,
            macro_f1: over(|scores| Some(scores.macro_f1))?,
            roc_auc: over(|scores| scores.roc_auc)?,
        })
    }

    /// Scores class by class on the test nodes or graphs of all runs.
    pub fn class_scores(&self) -> Option<ClassScores> {
        ClassScores::pooled(self.runs.iter().filter_map(|run| run.class_scores.as_ref()))
    }

    /// Validation accuracy over splits.
    pub fn val_accuracy(&self) -> gnarl_graph::Result<Option<Accuracy>> {
        self.over(|run| run.fit.val_accuracy)
            .map(Accuracy::of)
            .transpose()
    }

    /// Median milliseconds of an epoch's training.
    pub fn epoch_ms(&self) -> f64 {
        median(
            self.runs
                .iter()
                .flat_map(|run| run.fit.trained.iter().map(|t| t.epoch_ms))
                .collect(),
        )
    }

    /// Each scalar of a learnable operator over the runs.
    pub fn operator_parameters(&self) -> gnarl_graph::Result<Vec<(String, Accuracy)>> {
        let Some(first) = self.runs.first() else {
            return Ok(Vec::new());
        };
        let over_runs =
            |i: usize| Accuracy::of(self.runs.iter().map(|run| run.fit.operator[i].1).collect());
        first
            .fit
            .operator
            .iter()
            .enumerate()
            .map(|(i, (name, _))| Ok((name.clone(), over_runs(i)?)))
            .collect()
    }

    /// Validation accuracy of each initialisation, if each run chose one.
    pub fn initialisations(&self) -> Vec<InitialisationReport> {
        let Some(first) = self.runs.first() else {
            return Vec::new();
        };
        let of = |init: &String| {
            let tried = self
                .runs
                .iter()
                .flat_map(|run| run.fit.trials_of("init"))
                .filter(|trial| trial.value == *init);
            let values: Vec<f64> = tried.filter_map(|tried| tried.val_accuracy).collect();
            InitialisationReport {
                init: init.clone(),
                val_accuracy: (!values.is_empty())
                    .then(|| values.iter().sum::<f64>() / values.len() as f64),
                chosen: self
                    .runs
                    .iter()
                    .filter(|run| run.init.as_ref() == Some(init))
                    .count(),
            }
        };
        first
            .fit
            .trials_of("init")
            .map(|trial| of(&trial.value))
            .collect()
    }

    /// Accuracies of exits and policies over runs; `None` for a model of one depth, and without
    /// labelled test nodes or graphs.
    pub fn depth(&self, policies: &[Kind], own: Kind) -> gnarl_graph::Result<Option<DepthReport>> {
        let exits: Option<Vec<&ExitRun>> = self
            .runs
            .iter()
            .map(|run| run.exits.as_ref().filter(|_| run.test_accuracy.is_some()))
            .collect();
        match exits {
            Some(exits) if !exits.is_empty() => {
                DepthReport::new(&exits, self.inits, policies, own, &self.runs).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The effect of a retrained head, fold by fold; `None` without one.
    pub fn augmentation(&self) -> gnarl_graph::Result<Option<AugmentationReport>> {
        AugmentationReport::new(self)
    }

    /// The effect of the inference rule, run by run; `None` for a plain forward pass.
    pub fn inference(&self) -> gnarl_graph::Result<Option<InferenceReport>> {
        let (Some(plain), Some(ours)) = (
            self.over(|run| run.plain_test_accuracy),
            self.over(|run| run.test_accuracy),
        ) else {
            return Ok(None);
        };
        let minus_plain = paired_difference(&ours, &plain)?;
        let tested_limit: Vec<f64> = self
            .runs
            .iter()
            .filter_map(|run| run.fit.tested_limit)
            .collect();
        let fallback_runs = (!tested_limit.is_empty()).then(|| {
            tested_limit
                .iter()
                .filter(|&&tested_limit| tested_limit == 0.0)
                .count()
        });
        Ok(Some(InferenceReport {
            plain_test_accuracy: Accuracy::of(plain)?,
            minus_plain,
            fallback_runs,
        }))
    }
}

/// Class-balanced scores on test nodes or graphs over splits, per cent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scores {
    /// Balanced accuracy: the mean recall of the classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<Accuracy>,
    /// Macro F1: the mean F1 of the classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macro_f1: Option<Accuracy>,
    /// Area under the ROC curve; for more than two classes the mean of one class against the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<Accuracy>,
}

/// An initialisation that runs chose among.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InitialisationReport {
    /// The initialisation.
    pub init: String,
    /// Mean validation accuracy over the runs whose training succeeded; `None` if none did.
    pub val_accuracy: Option<f64>,
    /// Number of runs that chose it.
    pub chosen: usize,
}

/// The effect of the inference rule.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InferenceReport {
    /// Test accuracy of a plain forward pass.
    pub plain_test_accuracy: Accuracy,
    /// Difference of the inference rule to the plain forward pass.
    pub minus_plain: PairedDifference,
    /// Number of runs whose inference rule failed its own test on the training graph and falls back
    /// to a plain forward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_runs: Option<usize>,
}

/// Evaluates fits on the test nodes or graphs of their splits.
struct Evaluator<'a> {
    study: &'a TrainStudy,
    on: &'a Benchmark,
    /// Inputs of exit policies and the reported policies, for models with exits.
    structure: Option<Structure<'a>>,
}

impl<'a> Evaluator<'a> {
    fn new(study: &'a TrainStudy, on: &'a Benchmark) -> Result<Self> {
        let structure = match study.model.depth.exits() {
            Some(exits) => {
                let mut kinds = study.policies.clone();
                kinds.push(exits.policy);
                Some(Structure::of(&on.content, &kinds)?)
            }
            None => None,
        };
        Ok(Self {
            study,
            on,
            structure,
        })
    }

    fn fit(&self, ready: &Ready, i: usize, watch: &Callbacks<'_>) -> Result<(Run, Fitted)> {
        let (split, seed) = self.study.place(self.on, i);
        let fitted = ready.fit(split, seed, watch)?;
        let content = &self.on.content;
        let predictions = fitted.predict(content)?;
        let test_accuracy = fitted.accuracy_on(&predictions, content, split.test())?;
        let plain_test_accuracy = if fitted.fitted_inference().is_plain() {
            None
        } else {
            fitted.accuracy_on(&fitted.predict_plain(content)?, content, split.test())?
        };
        let exits = match &self.structure {
            Some(structure) => fitted
                .exit_predictions(content)?
                .map(|predictions| self.evaluate_exits(&fitted, structure, &predictions, split))
                .transpose()?,
            None => None,
        };
        let init = match (
            fitted.report().trials_of("init").next().is_none(),
            fitted.model().operator,
        ) {
            (false, gnarl_nn::operator::OperatorChoice::Cgso(cgso)) => Some(cgso.init.to_string()),
            _ => None,
        };
        let run = Run {
            seed,
            split: split.name().to_string(),
            test_accuracy,
            class_scores: fitted.class_scores(&predictions, content, split.test())?,
            features: fitted.scaler().scaling(),
            chose_head: fitted
                .report()
                .trials_of("head")
                .next()
                .is_some()
                .then(|| fitted.model().network.head == Some(true)),
            plain_test_accuracy,
            fit: fitted.report().clone(),
            exits,
            init,
            test_probabilities: predictions.probabilities.select_rows(split.test()),
        };
        Ok((run, fitted))
    }

    fn evaluate_exits(
        &self,
        fitted: &Fitted,
        structure: &Structure<'_>,
        predictions: &ExitPredictions,
        split: &Split,
    ) -> Result<ExitRun> {
        let Some(labels) = self.on.content.labels() else {
            return Err(Error::missing(
                "train",
                "the graph has no labels",
                "take a graph with labels",
            ));
        };
        let seen = match self.on.content.task() {
            Task::Node => Cow::Borrowed(structure),
            Task::Graph => Cow::Owned(structure.knowing([split.train(), split.val()].concat())),
        };
        let structure = &*seen;
        let (val, test) = (
            Targets::new(split.val(), labels),
            Targets::new(split.test(), labels),
        );
        let single_layer = if val.items.is_empty() {
            predictions.num_exits() - 1
        } else {
            predictions.best_exit(&val)
        };
        let (mut policy_accuracy, mut policy_val_accuracy) = (Vec::new(), Vec::new());
        for &kind in &self.study.policies {
            let policy = Policy::learn(kind, structure, predictions, &val)?;
            policy_accuracy
                .push(predictions.policy_accuracy(&policy.choose(structure, predictions)?, &test));
            policy_val_accuracy.push(cross_fitted_accuracy(kind, structure, predictions, &val)?);
        }
        let every_exit = |targets| {
            (0..predictions.num_exits())
                .map(|exit| predictions.accuracy(exit, targets))
                .collect()
        };
        let own = fitted
            .policy()
            .ok_or_else(|| internal("a model with exits has no policy"))?;
        let mut taken = vec![0; predictions.num_exits()];
        own.exits(structure, predictions)?
            .iter()
            .for_each(|&exit| taken[exit] += 1);
        Ok(ExitRun {
            exit_accuracy: every_exit(&test),
            exit_val_accuracy: every_exit(&val),
            single_layer,
            policy_accuracy,
            policy_val_accuracy,
            taken,
            oracle_accuracy: predictions.oracle_accuracy(&test),
        })
    }
}

fn internal(what: &str) -> Error {
    Error::Internal {
        op: "study",
        what: what.to_string(),
    }
}

/// Accuracies of a network with exits, over runs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct DepthReport {
    /// Test accuracy of every exit.
    pub exit_accuracy: Vec<Accuracy>,
    /// Test accuracy of every policy.
    #[serde(serialize_with = "as_object")]
    pub policy_accuracy: Vec<(String, PolicyAccuracy)>,
    /// Test accuracy of the layer with the best validation accuracy in each run.
    pub single_layer_accuracy: Accuracy,
    /// Oracle accuracy: any exit is correct.
    pub oracle_accuracy: Accuracy,
    /// The model's own policy.
    pub policy: String,
    /// Mean number of nodes or graphs that use each exit under that policy, over runs.
    pub taken: Vec<f64>,
    /// Seconds of training alone, in all runs together.
    pub training_seconds: f64,
}

/// Accuracy of a policy over runs, and against the best single layer of the same runs.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct PolicyAccuracy {
    /// Accuracy on test nodes or graphs.
    #[serde(flatten)]
    pub accuracy: Accuracy,
    /// Cross-fitted accuracy on validation nodes or graphs; the mean over runs.
    pub val_accuracy: f64,
    /// Difference to the single layer.
    pub minus_single: PairedDifference,
}

impl DepthReport {
    /// Summarises runs; a fold of a set counts with the mean of its initialisations.
    fn new(
        exits: &[&ExitRun],
        inits: usize,
        policies: &[Kind],
        own: Kind,
        runs: &[Run],
    ) -> gnarl_graph::Result<Self> {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let over = |f: &dyn Fn(&ExitRun) -> f64| {
            let of_fold = |fold: &[&ExitRun]| mean(fold.iter().map(|run| f(run)).collect());
            exits
                .chunks(inits.max(1))
                .map(of_fold)
                .collect::<Vec<f64>>()
        };
        let single = over(&|run| run.single_layer_accuracy());
        let policy_accuracy = policies.iter().enumerate().map(|(i, kind)| {
            let values = over(&|run| run.policy_accuracy[i]);
            let val_accuracy = mean(over(&|run| run.policy_val_accuracy[i]));
            let minus_single = paired_difference(&values, &single)?;
            Ok((
                kind.to_string(),
                PolicyAccuracy {
                    accuracy: Accuracy::of(values)?,
                    val_accuracy,
                    minus_single,
                },
            ))
        });
        let count = exits.first().map_or(0, |run| run.exit_accuracy.len());
        Ok(Self {
            exit_accuracy: (0..count)
                .map(|l| Accuracy::of(over(&|run| run.exit_accuracy[l])))
                .collect::<gnarl_graph::Result<_>>()?,
            policy_accuracy: policy_accuracy.collect::<gnarl_graph::Result<_>>()?,
            single_layer_accuracy: Accuracy::of(single)?,
            oracle_accuracy: Accuracy::of(over(&|run| run.oracle_accuracy))?,
            policy: own.to_string(),
            taken: (0..count)
                .map(|l| mean(over(&|run| run.taken[l] as f64)))
                .collect(),
            training_seconds: runs.iter().map(|run| run.fit.training_seconds).sum(),
        })
    }
}

/// The effect of the training-data augmentation, fold by fold.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct AugmentationReport {
    /// Test accuracy without it: the head that was trained with the rest.
    pub none_test_accuracy: Accuracy,
    /// Difference of the augmentation to no augmentation.
    pub minus_none: PairedDifference,
    /// Test accuracy of the control: a retrained head without sampled vectors; `None` if no vectors
    /// were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrain_test_accuracy: Option<Accuracy>,
    /// Difference of the augmentation to the control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus_retrain: Option<PairedDifference>,
    /// Median seconds of the augmentation in a run.
    pub seconds: f64,
    /// Smallest and largest number of Gaussians in the density of a class; `None` if no vectors
    /// were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaussians: Option<(usize, usize)>,
    /// Mean distance of sampled vectors to the original ones of their class over the runs, and the
    /// mean distance among the original ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latent_distance: Option<LatentDistance>,
}

/// Distances between sampled vectors and the vectors that their density was fitted to.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct LatentDistance {
    /// Distance from sampled to original vectors.
    pub sampled: Accuracy,
    /// Distance among original vectors.
    pub original: Accuracy,
}

impl AugmentationReport {
    fn new(result: &TrainResult) -> gnarl_graph::Result<Option<Self>> {
        let head = |run: &Run| run.fit.fresh_head.clone();
        let none = result.over(|run| head(run).map(|head| head.none_test_accuracy));
        let (Some(none), Some(ours)) = (none, result.over(|run| run.test_accuracy)) else {
            return Ok(None);
        };
        let retrain = result.over(|run| head(run)?.retrain_test_accuracy);
        let sampled = |run: &Run| run.fit.fresh_head.as_ref()?.sampled.clone();
        let gaussians = result
            .runs
            .iter()
            .filter_map(sampled)
            .flat_map(|sampled| sampled.fits.into_iter().map(|fit| fit.components));
        let gaussians: Vec<usize> = gaussians.collect();
        let distances = |f: fn(&crate::model::heads::SampleReport) -> f64| {
            result.over(|run| sampled(run).as_ref().map(f))
        };
        let latent_distance = match (
            distances(|d| d.distance),
            distances(|d| d.original_distance),
        ) {
            (Some(sampled), Some(original)) => Some(LatentDistance {
                sampled: Accuracy::of(sampled)?,
                original: Accuracy::of(original)?,
            }),
            _ => None,
        };
        Ok(Some(Self {
            minus_none: paired_difference(&ours, &none)?,
            minus_retrain: retrain
                .as_ref()
                .map(|retrain| paired_difference(&ours, retrain))
                .transpose()?,
            retrain_test_accuracy: retrain.map(Accuracy::of).transpose()?,
            none_test_accuracy: Accuracy::of(none)?,
            seconds: median(
                result
                    .runs
                    .iter()
                    .filter_map(|run| head(run).map(|head| head.seconds))
                    .collect(),
            ),
            gaussians: gaussians
                .iter()
                .min()
                .copied()
                .zip(gaussians.iter().max().copied()),
            latent_distance,
        }))
    }
}
