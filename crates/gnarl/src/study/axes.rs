//! Measures the axes alone and together: a plain model, each axis switched on alone, every pair,
//! and all of them, over the same splits and seeds, clean or under an attack.
//!
//! Every choice has its default settings, so the result is that of a user who only switches an axis
//! on.
//!
//! ```
//! use gnarl::prelude::*;
//! use gnarl::study::axes::{AxesStudy, Which};
//! use gnarl::train::Callbacks;
//! let karate = Dataset::load("karate")?.benchmark(0, 2)?;
//! let model = Model::new(Backbone::GCN).epochs(5);
//! let study = AxesStudy::new(model).which(Which::Alone).rows(["parseval"]);
//! let found = study.run(&karate, &Callbacks::quiet(), |row| println!("{}", row.name()))?;
//! assert_eq!(found.len(), 2, "the plain model, and the one with Parseval regularisation");
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

use std::collections::BTreeSet;
use std::time::Instant;

use gnarl_data::{Benchmark, Task};
use gnarl_graph::Graph;
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::settings::SettingText;
use rayon::prelude::*;
use serde::Serialize;

use super::attack::{AttackRun, AttackStudy, RunOptions};
use super::forecast::Planned;
use super::summary::Accuracy;
use super::train::TrainStudy;
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_graph::{Error, Result};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attack, Property};

/// Measures a plain model with axes switched on, alone and in combination.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AxesStudy {
    /// The plain model that axes are switched on in.
    pub model: Model,
    /// Number of runs on one graph. A set has as many as its benchmark has folds.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
    /// Attacks on whose inputs the models are evaluated too.
    pub attacks: Vec<Attack>,
    /// The combinations to run in addition to single axes.
    pub which: Which,
    /// Names of the rows to run, such as `cgso+orthonormal`, in addition to the plain model; `all`
    /// stands for all axes at once. Empty for every row.
    pub rows: Vec<String>,
}

/// The combinations of axes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Which {
    /// Single axes, every pair of them, and all at once.
    #[default]
    Everything,
    /// Single axes and all at once.
    WithoutPairs,
    /// Single axes.
    Alone,
}

/// A choice of an axis, by the names of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Switched {
    /// The axis.
    pub axis: &'static str,
    /// The choice.
    pub choice: &'static str,
}

/// The choices of the axes: a published method of each, or gnarl's variant where that is preferred.
/// [CGSO](https://arxiv.org/abs/2411.04655), [ADMP-GNN](https://arxiv.org/abs/2509.01170),
/// [GCORN](https://arxiv.org/abs/2404.17947), [RobustCRF](https://arxiv.org/abs/2411.05399),
/// [GRATIN](https://arxiv.org/abs/2411.08638).
const SWITCHED: &[Switched] = &[
    Switched {
        axis: "operator",
        choice: "cgso",
    },
    Switched {
        axis: "depth",
        choice: "admp-st",
    },
    Switched {
        axis: "weights",
        choice: "orthonormal",
    },
    Switched {
        axis: "weights",
        choice: "parseval",
    },
    Switched {
        axis: "inference",
        choice: "clean-crf",
    },
    Switched {
        axis: "augment",
        choice: "dropedge",
    },
    Switched {
        axis: "augment",
        choice: "gratin",
    },
];

impl Switched {
    /// The choices of the axes for a task.
    pub fn all(task: Task) -> Vec<Switched> {
        // On one graph, GRATIN has no graph vectors to sample; on sets it is the published
        // augmentation.
        let of_other_task = if task == Task::Node {
            "gratin"
        } else {
            "dropedge"
        };
        SWITCHED
            .iter()
            .copied()
            .filter(|s| s.choice != of_other_task)
            .collect()
    }
}

/// A model with some axes switched.
pub(super) fn with_switched(model: &Model, switched: &[Switched]) -> gnarl_graph::Result<Model> {
    let options: Vec<SettingText> = switched
        .iter()
        .map(|s| (s.axis.to_string(), s.choice.to_string()))
        .collect();
    model.over(&options)
}

/// A combination of axes and its result.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Combination {
    /// The axes that are switched on; none for the plain model.
    pub switched: Vec<Switched>,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Combination {
    /// The name of the combination: `cgso + orthonormal`, or `plain`.
    pub fn name(&self) -> String {
        name(&self.switched)
    }
}

fn name(switched: &[Switched]) -> String {
    if switched.is_empty() {
        return "plain".into();
    }
    let choices: Vec<&str> = switched.iter().map(|s| s.choice).collect();
    choices.join(" + ")
}

/// The result of a combination.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Accuracies on the test nodes or graphs.
    Evaluated(Evaluated),
    /// The reason why the combination is refused.
    Refused(String),
}

/// Accuracies of a combination with its own inference, in per cent.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Evaluated {
    /// Accuracy on clean inputs.
    pub clean: Accuracy,
    /// Difference to the plain model, paired run by run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minus_plain: Option<PairedDifference>,
    /// Accuracy on the inputs of each attack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attacked: Vec<Accuracy>,
    /// Difference to the plain model under each attack, paired run by run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attacked_minus_plain: Vec<PairedDifference>,
    /// Seconds of all its runs.
    pub seconds: f64,
}

/// One combination of axes, clean and under several attacks.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnderAttacks {
    /// The axes that are switched on; none for the plain model.
    pub switched: Vec<Switched>,
    /// Test accuracy on the clean graph, per cent.
    pub clean: Accuracy,
    /// Test accuracy under each attack, per cent.
    pub attacked: Vec<Accuracy>,
    /// Seconds of all its runs.
    pub seconds: f64,
    /// The fitted model of every run.
    pub models: Vec<Fitted>,
}

impl AxesStudy {
    /// One run of every combination, without attacks, seed 0.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            runs: 1,
            seed: 0,
            attacks: Vec::new(),
            which: Which::default(),
            rows: Vec::new(),
        }
    }

    /// Sets the number of runs on one graph.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the seed of the first run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the attacks on whose inputs the models are evaluated too.
    #[must_use]
    pub fn attacks(self, attacks: impl IntoIterator<Item = Attack>) -> Self {
        Self {
            attacks: attacks.into_iter().collect(),
            ..self
        }
    }

    /// Sets the combinations to run in addition to single axes.
    #[must_use]
    pub fn which(self, which: Which) -> Self {
        Self { which, ..self }
    }

    /// Sets the rows to run, by name.
    #[must_use]
    pub fn rows(self, rows: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            rows: rows.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// The requested combinations: the plain model first, then single axes, pairs, and all at once.
    pub fn combinations(&self, task: Task) -> gnarl_graph::Result<Vec<Vec<Switched>>> {
        let all = self.every_combination(task);
        let mut asked = vec![self.rows.is_empty(); all.len()];
        asked[0] = true;
        for row in &self.rows {
            let choices = |text: &str| -> BTreeSet<String> {
                text.split('+').map(|c| c.trim().to_string()).collect()
            };
            let is_it = |one: &Vec<Switched>| match row.trim() {
                "all" => one.len() > 2,
                _ => choices(&name(one)) == choices(row),
            };
            let mut found = (0..all.len()).filter(|&i| is_it(&all[i])).peekable();
            if found.peek().is_none() {
                let names: Vec<String> = all.iter().map(|one| name(one).replace(' ', "")).collect();
                return Err(Error::argument(
                    "rows",
                    format!("there is no row {row:?}; there are {}", names.join(", ")),
                ));
            }
            found.for_each(|i| asked[i] = true);
        }
        Ok(all
            .into_iter()
            .zip(asked)
            .filter_map(|(one, asked)| asked.then_some(one))
            .collect())
    }

    fn every_combination(&self, task: Task) -> Vec<Vec<Switched>> {
        let choices = Switched::all(task);
        let mut all = vec![Vec::new()];
        all.extend(choices.iter().map(|&one| vec![one]));
        if self.which == Which::Alone {
            return all;
        }
        let paired = if self.which == Which::Everything {
            &choices[..]
        } else {
            &[]
        };
        for (i, &one) in paired.iter().enumerate() {
            all.extend(
                choices[i + 1..]
                    .iter()
                    .filter(|other| other.axis != one.axis)
                    .map(|&other| vec![one, other]),
            );
        }
        for &weights in choices.iter().filter(|s| s.axis == "weights") {
            all.push(
                choices
                    .iter()
                    .copied()
                    .filter(|s| s.axis != "weights" || *s == weights)
                    .collect(),
            );
        }
        all
    }

    /// The planned cells: every combination, each with its number of runs.
    pub fn planned(&self, on: &Benchmark) -> gnarl_graph::Result<Vec<Planned>> {
        let task = on.content.task();
        let fits = if task == Task::Node {
            self.runs
        } else {
            on.splits.len()
        };
        let one = |switched: Vec<Switched>| Planned {
            name: name(&switched),
            model: self.model(&switched).map_err(|e| e.to_string()),
            fits,
            passes: 0.0,
        };
        Ok(self.combinations(task)?.into_iter().map(one).collect())
    }

    /// The model with some axes switched.
    pub fn model(&self, switched: &[Switched]) -> gnarl_graph::Result<Model> {
        with_switched(&self.model, switched)
    }

    /// Runs one combination; with the difference to the plain model if that is given.
    pub fn run_one(
        &self,
        switched: &[Switched],
        on: &Benchmark,
        plain: Option<&Evaluated>,
        watch: &Callbacks<'_>,
    ) -> Result<Combination> {
        self.run_reusing(switched, on, plain, &mut Reusable::default(), watch)
    }

    /// Runs one combination with the models and scalings that earlier combinations left.
    fn run_reusing(
        &self,
        switched: &[Switched],
        on: &Benchmark,
        plain: Option<&Evaluated>,
        kept: &mut Reusable,
        watch: &Callbacks<'_>,
    ) -> Result<Combination> {
        let start = Instant::now();
        let found = self.evaluate(switched, on, kept, watch);
        let (clean, attacked) = match found {
            Ok(found) => found,
            Err(why) if why.is_refusal() => {
                return Ok(Combination {
                    switched: switched.to_vec(),
                    outcome: Outcome::Refused(why.to_string()),
                });
            }
            Err(other) => return Err(other),
        };
        let minus = |ours: &Accuracy, plain: &Accuracy| paired_difference(&ours.runs, &plain.runs);
        let attacked_minus_plain = match plain {
            Some(plain) => attacked
                .iter()
                .zip(&plain.attacked)
                .map(|(ours, plain)| minus(ours, plain))
                .collect(),
            None => Ok(Vec::new()),
        };
        let evaluated = Evaluated {
            minus_plain: plain.map(|plain| minus(&clean, &plain.clean)).transpose()?,
            attacked_minus_plain: attacked_minus_plain?,
            clean,
            attacked,
            seconds: start.elapsed().as_secs_f64(),
        };
        Ok(Combination {
            switched: switched.to_vec(),
            outcome: Outcome::Evaluated(evaluated),
        })
    }

    /// Accuracies on clean inputs and on the inputs of each attack.
    fn evaluate(
        &self,
        switched: &[Switched],
        on: &Benchmark,
        kept: &mut Reusable,
        watch: &Callbacks<'_>,
    ) -> Result<(Accuracy, Vec<Accuracy>)> {
        let model = self.model(switched)?;
        if self.attacks.is_empty() {
            let study = TrainStudy {
                runs: self.runs,
                seed: self.seed,
                ..TrainStudy::new(model)
            };
            let result = study.run(on, watch)?;
            if result.unfinished > 0 {
                return Err(unfinished());
            }
            let accuracy = result.test_accuracy()?;
            let clean =
                accuracy.ok_or_else(|| refused("there are no labelled test nodes or graphs"))?;
            return Ok((clean, Vec::new()));
        }
        if on.content.task() == Task::Node {
            let UnderAttacks {
                clean,
                attacked,
                models,
                ..
            } = self.under_attacks_reusing(switched, &self.attacks, on, kept, watch)?;
            kept.keep(switched, models);
            return Ok((clean, attacked));
        }
        let (mut clean, mut attacked) = (None, Vec::new());
        for &attack in &self.attacks {
            let study = self.evasion(model, attack).runs(on.splits.len());
            let result = study.run(on, watch)?;
            if result.unfinished > 0 {
                return Err(unfinished());
            }
            clean.get_or_insert(result.over(AttackRun::own_clean_accuracy)?);
            attacked.push(result.over(AttackRun::own_attacked_accuracy)?);
        }
        let clean = clean.ok_or_else(no_attack)?;
        Ok((clean, attacked))
    }

    /// An adaptive evasion attack with the true labels.
    fn evasion(&self, model: Model, attack: Attack) -> AttackStudy {
        AttackStudy::new(model, attack)
            .runs(self.runs)
            .seed(self.seed)
    }

    /// Evaluates one combination on one graph, clean and under several attacks, each model fitted
    /// once. An inference rule is set to the part that each attack changes; clean predictions use
    /// the rule against the first attack.
    pub fn under_attacks(
        &self,
        switched: &[Switched],
        attacks: &[Attack],
        on: &Benchmark,
        watch: &Callbacks<'_>,
    ) -> Result<UnderAttacks> {
        self.under_attacks_reusing(switched, attacks, on, &mut Reusable::default(), watch)
    }

    /// Evaluates one combination with models fitted by earlier ones, and with the plain model's
    /// feature scaling. Noise of a given standard deviation is small for word counts and large for
    /// shares of them, so all combinations use features of one scale.
    fn under_attacks_reusing(
        &self,
        switched: &[Switched],
        attacks: &[Attack],
        on: &Benchmark,
        kept: &mut Reusable,
        watch: &Callbacks<'_>,
    ) -> Result<UnderAttacks> {
        let start = Instant::now();
        let graph = on.content.graph()?;
        let model = self.model(switched)?;
        let studies: Vec<AttackStudy> = attacks
            .iter()
            .map(|&attack| self.evasion(model, attack))
            .collect();
        let first = studies.first().ok_or_else(no_attack)?;
        let fixes_scaling = attacks.iter().any(|attack| attack.has(Property::Features));
        let scalings = if fixes_scaling {
            &kept.scalings[..]
        } else {
            &[]
        };
        let runs = AttackedRuns {
            on,
            graph,
            ready: ReadyRuns::new(first.resolved_model(), scalings, self.runs, on)?,
            studies: &studies,
            seed: self.seed,
            watch,
        };
        let mut earlier: Vec<Option<Fitted>> = kept
            .take_for(switched)
            .into_iter()
            .flatten()
            .map(Some)
            .collect();
        earlier.resize_with(self.runs, || None);
        let done = earlier
            .into_par_iter()
            .enumerate()
            .map(|(i, earlier)| runs.run(i, earlier))
            .collect::<Result<Vec<_>>>()?;
        if watch.stopped() {
            return Err(unfinished());
        }
        let over = |a: usize, f: fn(&AttackRun) -> f64| {
            Accuracy::of(done.iter().map(|(runs, _)| f(&runs[a])).collect())
        };
        let clean = over(0, AttackRun::own_clean_accuracy)?;
        let attacked = (0..attacks.len())
            .map(|a| over(a, AttackRun::own_attacked_accuracy))
            .collect::<Result<Vec<Accuracy>>>()?;
        let models: Vec<Fitted> = done.into_iter().map(|(_, fitted)| fitted).collect();
        Ok(UnderAttacks {
            switched: switched.to_vec(),
            clean,
            attacked,
            seconds: start.elapsed().as_secs_f64(),
            models,
        })
    }

    /// Runs every combination, with a call after each; combinations not reached before a requested
    /// stop are left out.
    pub fn run(
        &self,
        on: &Benchmark,
        watch: &Callbacks<'_>,
        mut on_done: impl FnMut(&Combination),
    ) -> Result<Vec<Combination>> {
        let mut done: Vec<Combination> = Vec::new();
        let mut kept = Reusable::default();
        for switched in self.combinations(on.content.task())? {
            let plain = done.first().and_then(|plain| match &plain.outcome {
                Outcome::Evaluated(evaluated) => Some(evaluated.clone()),
                Outcome::Refused(_) => None,
            });
            let combination = self.run_reusing(&switched, on, plain.as_ref(), &mut kept, watch)?;
            if watch.stopped() {
                break;
            }
            on_done(&combination);
            done.push(combination);
        }
        Ok(done)
    }
}

fn refused(what: &str) -> Error {
    Error::argument("axes", what)
}

fn unfinished() -> Error {
    refused("stopped before all runs were finished")
}

fn no_attack() -> Error {
    refused("at least one attack is needed")
}

/// One combination prepared for each feature scaling that its runs have.
struct ReadyRuns {
    ready: Vec<(Option<FeatureScaling>, Ready)>,
    /// The prepared model of each run.
    of_run: Vec<usize>,
}

impl ReadyRuns {
    /// Prepares a model for runs with these scalings; a run without one chooses its own.
    fn new(model: Model, scalings: &[FeatureScaling], runs: usize, on: &Benchmark) -> Result<Self> {
        let (mut ready, mut of_run) = (Vec::new(), Vec::with_capacity(runs));
        for scaling in (0..runs).map(|i| scalings.get(i).copied()) {
            let known = ready.iter().position(|(of, _)| *of == scaling);
            of_run.push(known.unwrap_or(ready.len()));
            if known.is_none() {
                let model = scaling.map_or(model, |scaling| model.features(scaling));
                let prepared = model.ready(&on.name, &on.content, FitOptions::default())?;
                ready.push((scaling, prepared));
            }
        }
        Ok(Self { ready, of_run })
    }

    fn of(&self, run: usize) -> &Ready {
        &self.ready[self.of_run[run]].1
    }
}

/// The runs of one combination on one graph under several attacks.
struct AttackedRuns<'a> {
    on: &'a Benchmark,
    graph: &'a Graph,
    ready: ReadyRuns,
    studies: &'a [AttackStudy],
    seed: u64,
    watch: &'a Callbacks<'a>,
}

impl AttackedRuns<'_> {
    /// One run under every attack, of a model that was fitted earlier or is fitted now. Returns the
    /// model with the inference rule against the last attack.
    fn run(&self, i: usize, earlier: Option<Fitted>) -> Result<(Vec<AttackRun>, Fitted)> {
        let split = &self.on.splits[i % self.on.splits.len()];
        let seed = self.seed.wrapping_add(i as u64);
        let mut fitted = match earlier {
            Some(fitted) => fitted,
            None => self.ready.of(i).fit(split, seed, self.watch)?,
        };
        let options = RunOptions::new(self.watch);
        let mut runs = Vec::with_capacity(self.studies.len());
        for study in self.studies {
            let inference = study.resolved_model().inference;
            if fitted.model().inference != inference && !inference.is_plain() {
                fitted = fitted.with_inference(inference, &self.on.content, true)?;
            }
            let (run, _) = study.run_on_fitted(&fitted, self.graph, split, seed, options)?;
            runs.push(run);
        }
        Ok((runs, fitted))
    }
}

/// Models and scalings that later combinations reuse: models that differ in the inference alone (an
/// inference rule changes no training), and the scales of features.
#[derive(Default)]
struct Reusable {
    fitted: Vec<(Vec<Switched>, Vec<Fitted>)>,
    /// The feature scaling of the plain model in each run.
    scalings: Vec<FeatureScaling>,
}

impl Reusable {
    /// Takes the models of the combination that differs in the inference alone. Each is taken once:
    /// every combination has one such partner.
    fn take_for(&mut self, switched: &[Switched]) -> Option<Vec<Fitted>> {
        let (of_inference, others): (Vec<_>, Vec<_>) = switched
            .iter()
            .copied()
            .partition(|s| s.axis == "inference");
        if of_inference.is_empty() {
            return None;
        }
        let place = self.fitted.iter().position(|(of, _)| *of == others)?;
        Some(self.fitted.swap_remove(place).1)
    }

    /// Keeps the models of combinations that a single axis or a pair can reuse; larger combinations
    /// have one inference.
    fn keep(&mut self, switched: &[Switched], models: Vec<Fitted>) {
        if switched.is_empty() {
            self.scalings = models
                .iter()
                .map(|fitted| fitted.scaler().scaling())
                .collect();
        }
        if switched.len() < 2 && switched.iter().all(|s| s.axis != "inference") {
            self.fitted.push((switched.to_vec(), models));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_nn::networks::Backbone;

    fn study() -> AxesStudy {
        AxesStudy::new(Model::new(Backbone::GCN).epochs(5)).runs(2)
    }

    #[test]
    fn every_axis_alone_every_pair_and_all() {
        let all = study().combinations(Task::Node).unwrap();
        assert!(all[0].is_empty());
        // Six choices on five axes; pairs of different axes; all axes with either choice of
        // weights.
        assert_eq!(all.iter().filter(|c| c.len() == 1).count(), 6);
        assert_eq!(all.iter().filter(|c| c.len() == 2).count(), 14);
        assert_eq!(all.iter().filter(|c| c.len() == 5).count(), 2);
        for combination in &all {
            for (i, one) in combination.iter().enumerate() {
                assert!(
                    combination[i + 1..]
                        .iter()
                        .all(|other| other.axis != one.axis)
                );
            }
        }
        // A choice that is no longer in the lists would fail here.
        assert!(all.iter().all(|switched| study().model(switched).is_ok()));
        assert_eq!(
            AxesStudy {
                which: Which::Alone,
                ..study()
            }
            .combinations(Task::Graph)
            .unwrap()
            .len(),
            7
        );
        assert_eq!(
            AxesStudy {
                which: Which::WithoutPairs,
                ..study()
            }
            .combinations(Task::Graph)
            .unwrap()
            .len(),
            9
        );
    }

    #[test]
    fn rows_are_asked_for_by_name() {
        let asked = |rows: &[&str]| {
            let rows = rows.iter().map(|row| row.to_string()).collect();
            let found = AxesStudy { rows, ..study() }.combinations(Task::Node);
            found.map(|all| all.iter().map(|one| name(one)).collect::<Vec<_>>())
        };
        assert_eq!(
            asked(&["cgso + dropedge", "parseval"]).unwrap(),
            ["plain", "parseval", "cgso + dropedge"]
        );
        assert_eq!(
            asked(&["dropedge+cgso"]).unwrap(),
            ["plain", "cgso + dropedge"],
            "in any order"
        );
        assert_eq!(asked(&["all"]).unwrap().len(), 3);
        let why = asked(&["orthonormal+parseval"]).unwrap_err().to_string();
        assert!(
            why.contains("there is no row") && why.contains("cgso+dropedge"),
            "{why}"
        );
    }

    /// A model with another inference rule is not fitted again: results with and without the kept
    /// models are equal.
    #[test]
    fn inference_is_set_on_models_that_are_there() {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let splits = graph.splits().to_vec();
        let on = Benchmark {
            name: "csbm".into(),
            content: gnarl_data::Content::Graph(graph),
            splits,
        };
        let rows = ["clean-crf", "parseval", "parseval+clean-crf"]
            .map(String::from)
            .to_vec();
        let attacks: Vec<Attack> = ["gaussian", "dice"]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        let study = AxesStudy {
            rows,
            attacks,
            ..study()
        };
        let together = study.run(&on, &Callbacks::quiet(), |_| {}).unwrap();
        assert_eq!(together.len(), 4);
        for combination in &together {
            let alone = study
                .run_one(&combination.switched, &on, None, &Callbacks::quiet())
                .unwrap();
            let (Outcome::Evaluated(a), Outcome::Evaluated(b)) =
                (&combination.outcome, &alone.outcome)
            else {
                panic!("{combination:?}")
            };
            assert_eq!(
                (&a.clean, &a.attacked),
                (&b.clean, &b.attacked),
                "{}",
                combination.name()
            );
        }
    }

    /// Models fitted once, and models fitted once for each attack, have the same results.
    #[test]
    fn several_attacks_give_the_results_of_each_alone() {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let splits = graph.splits().to_vec();
        let on = Benchmark {
            name: "csbm".into(),
            content: gnarl_data::Content::Graph(graph),
            splits,
        };
        let attacks: Vec<Attack> = ["gaussian", "random-flips"]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        let (plain, crf) = (&SWITCHED[..0], &SWITCHED[4..5]);
        assert_eq!(crf[0].choice, "clean-crf");
        for switched in [plain, crf] {
            let found = study()
                .under_attacks(switched, &attacks, &on, &Callbacks::quiet())
                .unwrap();
            assert_eq!((found.attacked.len(), found.models.len()), (2, 2));
            for (a, &attack) in attacks.iter().enumerate() {
                let alone = AxesStudy {
                    attacks: vec![attack],
                    ..study()
                };
                let result = alone
                    .evasion(alone.model(switched).unwrap(), attack)
                    .run(&on, &Callbacks::quiet())
                    .unwrap();
                assert_eq!(
                    result.over(AttackRun::own_attacked_accuracy).unwrap(),
                    found.attacked[a],
                    "{attack}"
                );
                if a == 0 {
                    assert_eq!(
                        result.over(AttackRun::own_clean_accuracy).unwrap(),
                        found.clean
                    );
                }
            }
        }
        assert!(
            study()
                .under_attacks(plain, &[], &on, &Callbacks::quiet())
                .is_err()
        );
    }

    #[test]
    fn differences_are_to_the_plain_model_and_refusals_are_said() {
        let graph = gnarl_graph::generate::csbm(&Default::default(), 0).unwrap();
        let splits = graph.splits().to_vec();
        let on = Benchmark {
            name: "csbm".into(),
            content: gnarl_data::Content::Graph(graph),
            splits,
        };
        let study = AxesStudy {
            which: Which::Alone,
            ..study()
        };
        let mut told = 0;
        let found = study.run(&on, &Callbacks::quiet(), |_| told += 1).unwrap();
        assert_eq!((found.len(), told), (7, 7));
        assert_eq!(found[0].name(), "plain");
        for combination in &found[1..] {
            let Outcome::Evaluated(evaluated) = &combination.outcome else {
                panic!("{combination:?}")
            };
            assert_eq!(evaluated.clean.runs.len(), 2);
            assert!(evaluated.minus_plain.is_some() && evaluated.attacked.is_empty());
        }
        let mlp = AxesStudy {
            model: Model::new(Backbone::MLP).epochs(2),
            ..study
        };
        let refused = mlp
            .run_one(&SWITCHED[..1], &on, None, &Callbacks::quiet())
            .unwrap();
        let Outcome::Refused(why) = refused.outcome else {
            panic!("an operator for a perceptron")
        };
        assert!(
            why.contains("needs message passing, which mlp lacks"),
            "{why}"
        );
    }
}
