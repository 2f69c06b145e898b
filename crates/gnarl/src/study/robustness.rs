//! How far a model's answers move when its input does, by sampling, and how far they ever can (thesis ch. 5).

use std::time::Instant;

use gnarl_graph::dataset::Benchmark;
use gnarl_graph::{Error, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::summary::Accuracy;
use crate::classifier::{Classifier, WhiteBox};
use crate::error::Result;
use crate::inference::{Defended, Perturbed};
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use crate::robustness::bounds::{Distance, operator_distance};
use crate::robustness::estimate::drawn_graph;
use crate::robustness::{Bounds, Budget, Estimate, Region, ScoreDistances, Settings, estimate};
use crate::train::Watch;

/// A model, and the regions around its input that are looked at.
#[derive(Debug, Clone)]
pub struct RobustnessStudy {
    /// The model.
    pub model: Model,
    /// One for each radius.
    pub settings: Vec<Settings>,
    /// How many networks: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

/// What is told while a study runs.
pub struct RobustnessWatch<'a> {
    /// The training.
    pub training: Watch<'a>,
    /// Called when training is over and after every radius.
    pub on_radius: &'a (dyn Fn() + Sync),
}

/// What was found at each radius, and how well the models do.
#[derive(Debug)]
pub struct RobustnessResult {
    /// On test nodes, over runs; `None` where none is labelled.
    pub test_accuracy: Option<Accuracy>,
    /// In the order of the settings; fewer where the study was stopped.
    pub curve: Vec<RadiusReport>,
    /// Why there are no bounds, where there are none.
    pub no_bounds: Option<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// One radius.
#[derive(Debug, Serialize)]
pub struct RadiusReport {
    /// Over the samples of all runs; its intervals are for these networks, not for others.
    #[serde(flatten)]
    pub pooled: Estimate,
    /// The mean distance of each run.
    pub distance: Accuracy,
    /// The bounds, where there are any.
    pub bounds: Vec<BoundReport>,
    /// Seconds of the estimates.
    pub seconds: f64,
}

/// One bound, over all runs, beside what was seen.
#[derive(Debug, Serialize)]
pub struct BoundReport {
    /// Of what.
    pub distance: Distance,
    /// Of a bound by how far operators moved: the largest distance of those drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_distance: Option<f64>,
    /// What no input exceeds.
    pub sound: f64,
    /// The thesis' formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thesis: Option<f64>,
    /// The largest distance of a sample.
    pub seen: f64,
    /// Whether a sample of some run went beyond the thesis' formula.
    pub thesis_exceeded: bool,
}

impl RobustnessStudy {
    /// The part of the input that moves, which is what an inference looks around in.
    pub fn moved_part(region: &Region) -> Perturbed {
        match region {
            Region::Structure { .. } => Perturbed::Structure,
            Region::Features(_) | Region::Both { .. } => Perturbed::Features,
        }
    }

    /// Epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(gnarl_graph::dataset::Task::Node)?;
        Ok((plan.trainings(Some(&on.content)) * plan.training.epochs * self.runs) as u64)
    }

    /// Fits, then estimates and bounds at every radius.
    pub fn run(&self, on: &Benchmark, watch: &RobustnessWatch<'_>) -> Result<RobustnessResult> {
        let start = Instant::now();
        let original = on.content.graph()?;
        let ready = self.model.ready(&on.name, &on.content, FitOptions::default())?;
        if self.runs == 0 {
            return Err(Error::argument("robustness", "0 runs; at least 1 is needed").into());
        }
        let one = |ready: &Ready, i: usize| {
            let (split, seed) = (&on.splits[i % on.splits.len()], self.seed.wrapping_add(i as u64));
            ready.fit(split, seed, &watch.training)
        };
        // What is perturbed is what the network takes: features scaled once, for all runs as the first settled it.
        let first = one(&ready, 0)?;
        let graph = first.scaled(original)?;
        let settled = self.model.features(first.scaler().scaling());
        let ready = settled.ready(&on.name, &on.content, FitOptions::default())?;
        let others = (1..self.runs).into_par_iter().map(|i| one(&ready, i)).collect::<Result<Vec<_>>>()?;
        let fitted: Vec<Fitted> = std::iter::once(first).chain(others).collect();
        let train_seconds = start.elapsed().as_secs_f64();
        self.settings.iter().try_for_each(|settings| settings.check(&graph))?;
        let accuracies = fitted.iter().map(|model| {
            let predictions = model.predict(&on.content)?;
            model.accuracy_on(&predictions, &on.content, model.trained_on().split.test())
        });
        let test_accuracy = Accuracy::of_all(accuracies.collect::<Result<Vec<_>>>()?.into_iter())?;
        (watch.on_radius)();
        let subjects: Vec<Subject<'_>> = fitted.iter().map(Subject::new).collect();
        let (bounds, mut no_bounds) = match self.bounds(&subjects, &graph) {
            Ok(bounds) => (bounds, None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let mut curve = Vec::with_capacity(self.settings.len());
        let mut interrupted = fitted.iter().any(|model| model.report().interrupted);
        for settings in &self.settings {
            if watch.training.stopped() {
                interrupted = true;
                break;
            }
            let started = Instant::now();
            let estimates =
                subjects.iter().map(|subject| subject.estimate(&graph, settings)).collect::<Result<Vec<_>>>()?;
            let seconds = started.elapsed().as_secs_f64();
            let found = match bounds.is_empty() {
                true => Ok(Vec::new()),
                false => bound(&bounds, &graph, settings, &estimates),
            };
            let found = found.unwrap_or_else(|why| {
                no_bounds = Some(why.to_string());
                Vec::new()
            });
            curve.push(RadiusReport {
                distance: Accuracy::of(estimates.iter().map(|e| e.mean).collect())?,
                pooled: pooled(&estimates, &settings.sigmas),
                bounds: found,
                seconds,
            });
            (watch.on_radius)();
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(RobustnessResult { test_accuracy, curve, no_bounds, interrupted, train_seconds, seconds })
    }

    /// The bounds of every run; fails where the model has none.
    fn bounds<'a>(&self, subjects: &'a [Subject<'_>], graph: &Graph) -> Result<Vec<(&'a WhiteBox, Bounds)>> {
        if !self.model.inference.is_plain() {
            let what = "they are for a plain forward pass, not for another inference";
            return Err(Error::argument("bounds", what).into());
        }
        let one = |subject: &'a Subject<'_>| match subject.bare.white_box() {
            Some(network) => Ok((network, Bounds::new(network, graph)?)),
            None => Err(Error::argument("bounds", "they are for plain networks, without exits and defences").into()),
        };
        subjects.iter().map(one).collect()
    }
}

/// A fitted model on graphs whose features are scaled.
struct Subject<'a> {
    fitted: &'a Fitted,
    bare: crate::model::fitted::Bare<'a>,
}

impl<'a> Subject<'a> {
    fn new(fitted: &'a Fitted) -> Self {
        Self { fitted, bare: fitted.bare() }
    }

    fn estimate(&self, graph: &Graph, settings: &Settings) -> Result<Estimate> {
        match self.fitted.reading().is_plain() {
            true => estimate(&self.bare, graph, settings),
            false => {
                let reading = self.fitted.reading();
                estimate(&Defended { model: &self.bare, reading, seed: self.fitted.seed() }, graph, settings)
            }
        }
    }
}

/// All runs' samples as one estimate.
fn pooled(estimates: &[Estimate], sigmas: &[f64]) -> Estimate {
    let all = Estimate::of(estimates.iter().flat_map(|e| e.distances.iter().copied()).collect(), sigmas);
    let most = |of: fn(&ScoreDistances) -> f64| estimates.iter().map(|e| of(&e.scores)).fold(0.0, f64::max);
    let changed = estimates.iter().map(|e| e.changed).sum::<f64>() / estimates.len() as f64;
    Estimate {
        changed,
        scores: ScoreDistances { l1: most(|s| s.l1), l2: most(|s| s.l2), linf: most(|s| s.linf) },
        ..all
    }
}

/// The bounds of every run at a radius, the loosest of each beside the most that was seen.
fn bound(
    bounds: &[(&WhiteBox, Bounds)],
    graph: &Graph,
    settings: &Settings,
    estimates: &[Estimate],
) -> Result<Vec<BoundReport>> {
    let budget = match settings.region {
        Region::Features(ball) => Budget::Features { norm: ball.norm(), epsilon: ball.epsilon() },
        Region::Structure { flips, .. } => Budget::Structure { flips },
        Region::Both { ball, flips, .. } => Budget::Both { norm: ball.norm(), epsilon: ball.epsilon(), flips },
    };
    let distance = match (budget, bounds.first()) {
        (Budget::Structure { .. }, Some((model, _))) => Some(farthest(model, graph, settings)?),
        _ => None,
    };
    let mut found: Vec<BoundReport> = Vec::new();
    for ((_, bounds), estimate) in bounds.iter().zip(estimates) {
        let mut all: Vec<_> = bounds.within(budget)?.into_iter().map(|b| (b, None)).collect();
        if let Some(distance) = distance {
            all.insert(1, (bounds.within_distance(distance)?, Some(distance)));
        }
        for (i, (b, operator_distance)) in all.into_iter().enumerate() {
            let seen = match b.distance {
                Distance::L1 => estimate.scores.l1,
                Distance::L2 => estimate.scores.l2,
                Distance::Linf => estimate.scores.linf,
                Distance::Scaled => estimate.largest,
            };
            let thesis_exceeded = b.thesis.is_some_and(|t| t < seen);
            match found.get_mut(i) {
                None => found.push(BoundReport {
                    distance: b.distance,
                    operator_distance,
                    sound: b.sound,
                    thesis: b.thesis,
                    seen,
                    thesis_exceeded,
                }),
                Some(known) => {
                    known.sound = known.sound.max(b.sound);
                    known.thesis = known.thesis.zip(b.thesis).map(|(a, b)| a.max(b));
                    known.seen = known.seen.max(seen);
                    known.thesis_exceeded |= thesis_exceeded;
                }
            }
        }
    }
    Ok(found)
}

/// The farthest that the operator of a drawn graph is from the graph's own. Graphs are the same ones in every run.
fn farthest(model: &WhiteBox, graph: &Graph, settings: &Settings) -> Result<f64> {
    let clean = model.propagation(graph)?.operator;
    let one = |sample: usize| -> Result<f64> {
        match drawn_graph(graph, settings, sample)? {
            Some(other) => operator_distance(&clean, &model.propagation(&other)?.operator),
            None => Ok(0.0),
        }
    };
    let all = (0..settings.samples).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().fold(0.0, f64::max))
}
