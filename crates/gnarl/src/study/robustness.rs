//! Measures how far predictions move when the input does: by sampling (expected robustness,
//! [Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)) and by upper bounds. In a set of
//! graphs, the regions lie around each of the test graphs.

use std::time::Instant;

use gnarl_data::Benchmark;
use gnarl_data::Content;
use gnarl_graph::random::mix;
use gnarl_graph::{Error, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::summary::Accuracy;
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_graph::Result;
use gnarl_nn::train::Callbacks;
use gnarl_robust::classifier::{Classifier, WhiteBox};
use gnarl_robust::inference::{Defended, FittedInference, PerturbationTarget};
use gnarl_robust::robustness::bounds::{Distance, operator_distance};
use gnarl_robust::robustness::estimate::{drawn_graph, estimate_watched};
use gnarl_robust::robustness::{
    Bound, Bounds, Budget, Estimate, Region, SampleCallbacks, ScoreDistances, Settings, estimate,
};

/// A model, and the regions around its input to sample from.
#[derive(Debug, Clone)]
pub struct RobustnessStudy {
    /// The model.
    pub model: Model,
    /// Settings, one for each radius.
    pub settings: Vec<Settings>,
    /// Number of networks: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// Callbacks while a study runs.
pub struct RobustnessWatch<'a> {
    /// Callbacks of the training.
    pub training: Callbacks<'a>,
    /// Called with the number of new samples since the last call.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
}

/// The result at each radius, and the accuracy of the models.
#[derive(Debug)]
pub struct RobustnessResult {
    /// Accuracy on test nodes or graphs over runs; `None` without labels.
    pub test_accuracy: Option<Accuracy>,
    /// Reports in the order of the settings; fewer if the study was stopped.
    pub curve: Vec<RadiusReport>,
    /// The reason why there are no bounds, if there are none.
    pub no_bounds: Option<String>,
    /// True if the study was stopped before its end.
    pub interrupted: bool,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// The result at one radius.
#[derive(Debug, Serialize)]
pub struct RadiusReport {
    /// Estimate over the samples of all runs, for a set around each test graph; its intervals hold
    /// for these networks, not for others.
    #[serde(flatten)]
    pub pooled: Estimate,
    /// Mean distance of each run.
    pub distance: Accuracy,
    /// The bounds, if there are any.
    pub bounds: Vec<BoundReport>,
    /// Seconds of the estimates.
    pub seconds: f64,
}

/// One bound over all runs and, for a set, over their test graphs, next to the sampled distance.
#[derive(Debug, Serialize)]
pub struct BoundReport {
    /// The distance that is bounded.
    pub distance: Distance,
    /// Largest operator distance of the sampled graphs, for a bound by operator distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_distance: Option<f64>,
    /// Sound bound: no input exceeds it.
    pub sound: f64,
    /// The published formula, which may be too small ([Abbahaddou et al.
    /// 2024](https://arxiv.org/abs/2404.17947)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thesis: Option<f64>,
    /// Largest distance of a sample.
    pub seen: f64,
    /// True if a sample of some run exceeded the published formula.
    pub thesis_exceeded: bool,
}

impl RobustnessStudy {
    /// The part of the input that moves, which an inference rule perturbs.
    pub fn moved_part(region: &Region) -> PerturbationTarget {
        match region {
            Region::Structure { .. } => PerturbationTarget::Structure,
            Region::Features(_) | Region::Both { .. } => PerturbationTarget::Features,
        }
    }

    /// Number of epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(on.content.task())?;
        Ok(plan.trainings(Some(&on.content)) as u64
            * plan.training.epochs as u64
            * self.runs as u64)
    }

    /// Number of samples of all radii together, for progress.
    pub fn samples(&self, on: &Benchmark) -> u64 {
        let graphs = |i: usize| match on.content {
            Content::Graph(_) => 1,
            Content::Graphs(_) => on
                .splits
                .get(i % on.splits.len().max(1))
                .map_or(0, |split| split.test().len()),
        };
        let each: usize = self.settings.iter().map(|settings| settings.samples).sum();
        (0..self.runs).map(|i| graphs(i) as u64 * each as u64).sum()
    }

    /// Fits models, then estimates and bounds their robustness at every radius.
    pub fn run(&self, on: &Benchmark, watch: &RobustnessWatch<'_>) -> Result<RobustnessResult> {
        let start = Instant::now();
        let ready = self
            .model
            .ready(&on.name, &on.content, FitOptions::default())?;
        if self.runs == 0 {
            return Err(Error::argument(
                "robustness",
                "0 runs; at least 1 is needed",
            ));
        }
        ready.plan().check_demand(
            &on.name,
            &on.content,
            self.runs as f64,
            self.samples(on) as f64,
        )?;
        let one = |ready: &Ready, i: usize| {
            let (split, seed) = (
                &on.splits[i % on.splits.len()],
                self.seed.wrapping_add(i as u64),
            );
            ready.fit(split, seed, &watch.training)
        };
        // Perturbations apply to features as the network takes them: scaled in one way for all
        // runs, as in the first run.
        let first = one(&ready, 0)?;
        let settled = self.model.features(first.scaler().scaling());
        let ready = settled.ready(&on.name, &on.content, FitOptions::default())?;
        let others = (1..self.runs)
            .into_par_iter()
            .map(|i| one(&ready, i))
            .collect::<Result<Vec<_>>>()?;
        let fitted: Vec<Fitted> = std::iter::once(first).chain(others).collect();
        let train_seconds = start.elapsed().as_secs_f64();
        let inputs = fitted
            .iter()
            .map(|model| looked_at(model, &on.content))
            .collect::<Result<Vec<_>>>()?;
        let cases = || {
            fitted
                .iter()
                .zip(&inputs)
                .flat_map(|(fitted, inputs)| inputs.iter().map(move |i| (fitted, i)))
        };
        let cases: Vec<Case<'_>> = cases()
            .map(|(fitted, input)| Case::new(fitted, input))
            .collect();
        for settings in &self.settings {
            cases
                .iter()
                .try_for_each(|case| case.settings(settings).check(&case.input.graph))?;
        }
        let accuracies = fitted.iter().map(|model| {
            let predictions = model.predict(&on.content)?;
            model.accuracy_on(&predictions, &on.content, model.trained_on().split.test())
        });
        let test_accuracy = Accuracy::of_all(accuracies.collect::<Result<Vec<_>>>()?.into_iter())?;
        let (bounds, mut no_bounds) = match self.bounds(&cases) {
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
            let samples = SampleCallbacks {
                on_samples: watch.on_samples,
                stop: watch.training.stop,
            };
            let estimates = cases.iter().map(|case| case.estimate(settings, samples));
            let Some(estimates) = estimates.collect::<Result<Option<Vec<Estimate>>>>()? else {
                interrupted = true;
                break;
            };
            let seconds = started.elapsed().as_secs_f64();
            let found = match bounds.is_empty() {
                true => Ok(Vec::new()),
                false => bound(&bounds, &cases, settings, &estimates, samples),
            };
            let found = found.unwrap_or_else(|why| {
                no_bounds = Some(why.to_string());
                Vec::new()
            });
            let mut left = &estimates[..];
            let of_run = |inputs: &Vec<Input>| {
                let (own, others) = left.split_at(inputs.len());
                left = others;
                own.iter().map(|e| e.mean).sum::<f64>() / own.len() as f64
            };
            curve.push(RadiusReport {
                distance: Accuracy::of(inputs.iter().map(of_run).collect())?,
                pooled: pooled(&estimates, &settings.sigmas),
                bounds: found,
                seconds,
            });
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(RobustnessResult {
            test_accuracy,
            curve,
            no_bounds,
            interrupted,
            train_seconds,
            seconds,
        })
    }

    /// The bounds of every case; fails if the model has none.
    fn bounds<'a>(&self, cases: &'a [Case<'_>]) -> Result<Vec<(&'a WhiteBox, Bounds)>> {
        let is_plain = self.model.inference.is_plain();
        let one = |case: &'a Case<'_>| bounds_of(&case.bare, is_plain, &case.input.graph);
        cases.iter().map(one).collect()
    }
}

/// The network of a classifier and its bounds around a graph. Fails for a classifier that has none.
fn bounds_of<'a>(
    model: &'a dyn Classifier,
    is_plain: bool,
    graph: &Graph,
) -> Result<(&'a WhiteBox, Bounds)> {
    let refuse = |what: &str| Err(Error::unsupported("bounds", what));
    match (is_plain, model.white_box()) {
        (false, _) => refuse("they are for a plain forward pass, not for another inference"),
        (true, None) => refuse("they are for plain networks of gnarl, without exits and defences"),
        (true, Some(network)) => Ok((network, Bounds::new(network, graph)?)),
    }
}

/// The robustness of one classifier around a graph whose features are scaled for it: an estimate by
/// sampling, and the bounds or why there are none.
pub fn measure(
    model: &dyn Classifier,
    reading: &FittedInference,
    graph: &Graph,
    settings: &Settings,
) -> Result<(Estimate, Result<Vec<Bound>>)> {
    let is_plain = reading.is_plain();
    let defended = Defended {
        model,
        reading,
        seed: settings.seed,
    };
    let found = match is_plain {
        true => estimate(model, graph, settings)?,
        false => estimate(&defended, graph, settings)?,
    };
    let bounds = bounds_of(model, is_plain, graph)
        .and_then(|(_, bounds)| bounds.within(settings.region.budget()));
    Ok((found, bounds))
}

/// A graph to perturb, its features scaled.
struct Input {
    graph: Graph,
    /// Index of the graph in its set.
    place: Option<u32>,
}

/// The inputs of a fitted model: its graph, or the test graphs of its set that have nodes.
fn looked_at(fitted: &Fitted, content: &Content) -> Result<Vec<Input>> {
    let set = match content {
        Content::Graph(graph) => {
            return Ok(vec![Input {
                graph: fitted.scaled(graph)?,
                place: None,
            }]);
        }
        Content::Graphs(set) => set,
    };
    let split = &fitted.trained_on().split;
    let with_nodes = split
        .test()
        .iter()
        .filter(|&&g| set.graphs()[g as usize].num_nodes() > 0);
    let one = |&g: &u32| {
        Ok(Input {
            graph: fitted.scaled(&set.graphs()[g as usize])?,
            place: Some(g),
        })
    };
    let inputs = with_nodes.map(one).collect::<Result<Vec<_>>>()?;
    match inputs.is_empty() {
        false => Ok(inputs),
        true => {
            let what = format!(
                "fold {} has no test graph with nodes to perturb",
                split.name()
            );
            Err(Error::argument("robustness", what))
        }
    }
}

/// A fitted model and a graph to perturb.
struct Case<'a> {
    fitted: &'a Fitted,
    bare: crate::model::fitted::PreprocessedModel<'a>,
    input: &'a Input,
}

impl<'a> Case<'a> {
    fn new(fitted: &'a Fitted, input: &'a Input) -> Self {
        Self {
            fitted,
            bare: fitted.bare(),
            input,
        }
    }

    /// The settings of this case: each graph of a set has its own samples, and no more flips than
    /// pairs of nodes.
    fn settings(&self, settings: &Settings) -> Settings {
        let Some(place) = self.input.place else {
            return settings.clone();
        };
        let nodes = self.input.graph.num_nodes();
        let most = nodes * (nodes - 1) / 2;
        let region = match settings.region {
            Region::Structure { flips, law } => Region::Structure {
                flips: flips.min(most),
                law,
            },
            Region::Both { ball, flips, law } => Region::Both {
                ball,
                flips: flips.min(most),
                law,
            },
            features @ Region::Features(_) => features,
        };
        Settings {
            region,
            seed: mix(settings.seed ^ mix(u64::from(place) + 1)),
            ..settings.clone()
        }
    }

    fn estimate(
        &self,
        settings: &Settings,
        watch: SampleCallbacks<'_>,
    ) -> Result<Option<Estimate>> {
        let (graph, settings) = (&self.input.graph, &self.settings(settings));
        match self.fitted.reading().is_plain() {
            true => estimate_watched(&self.bare, graph, settings, watch),
            false => {
                let reading = self.fitted.reading();
                let defended = Defended {
                    model: &self.bare,
                    reading,
                    seed: self.fitted.seed(),
                };
                estimate_watched(&defended, graph, settings, watch)
            }
        }
    }
}

/// Pools the samples of all runs into one estimate.
fn pooled(estimates: &[Estimate], sigmas: &[f64]) -> Estimate {
    let all = Estimate::of(
        estimates
            .iter()
            .flat_map(|e| e.distances.iter().copied())
            .collect(),
        sigmas,
    );
    let most = |of: fn(&ScoreDistances) -> f64| {
        estimates.iter().map(|e| of(&e.scores)).fold(0.0, f64::max)
    };
    let changed = estimates.iter().map(|e| e.changed).sum::<f64>() / estimates.len() as f64;
    Estimate {
        changed,
        scores: ScoreDistances {
            l1: most(|s| s.l1),
            l2: most(|s| s.l2),
            linf: most(|s| s.linf),
        },
        ..all
    }
}

/// The bounds of every case at a radius: the loosest of each, next to the largest sampled distance.
fn bound(
    bounds: &[(&WhiteBox, Bounds)],
    cases: &[Case<'_>],
    settings: &Settings,
    estimates: &[Estimate],
    watch: SampleCallbacks<'_>,
) -> Result<Vec<BoundReport>> {
    // On one graph, the sampled graphs are the same in every run.
    let distance = match (settings.region.budget(), bounds.first(), cases.first()) {
        (
            Budget::Structure { .. },
            Some((model, _)),
            Some(Case {
                input: Input { graph, place: None },
                ..
            }),
        ) => farthest(model, graph, settings, watch)?,
        _ => None,
    };
    let mut found: Vec<BoundReport> = Vec::new();
    for (((_, bounds), case), estimate) in bounds.iter().zip(cases).zip(estimates) {
        let mut all: Vec<_> = bounds
            .within(case.settings(settings).region.budget())?
            .into_iter()
            .map(|b| (b, None))
            .collect();
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

/// The largest distance between the operators of sampled graphs and of the graph itself; `None` if
/// stopped. The graphs are the same in every run.
fn farthest(
    model: &WhiteBox,
    graph: &Graph,
    settings: &Settings,
    watch: SampleCallbacks<'_>,
) -> Result<Option<f64>> {
    let clean = model.propagation(graph)?.operator;
    let one = |sample: usize| -> Result<Option<f64>> {
        if watch.stopped() {
            return Ok(None);
        }
        match drawn_graph(graph, settings, sample)? {
            Some(other) => {
                operator_distance(&clean, &model.propagation(&other)?.operator).map(Some)
            }
            None => Ok(Some(0.0)),
        }
    };
    let all = (0..settings.samples)
        .into_par_iter()
        .map(one)
        .collect::<Result<Option<Vec<f64>>>>()?;
    Ok(all.map(|all| all.into_iter().fold(0.0, f64::max)))
}
