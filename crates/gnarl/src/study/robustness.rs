//! Measures how much predictions change with the input: by sampling (expected robustness,
//! [Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)) and by upper bounds. In a set of
//! graphs, the regions lie around each of the test graphs.
//!
//! ```
//! use gnarl::graph::generate::{CsbmConfig, csbm};
//! use gnarl::perturb::{Ball, Norm, Sampler};
//! use gnarl::prelude::*;
//! use gnarl::robustness::{Region, Settings};
//! use gnarl::study::robustness::{RobustnessCallbacks, RobustnessStudy};
//! let data = Dataset::from_graph("blocks", csbm(&CsbmConfig::default(), 0)?);
//! let model = Model::new(Backbone::GCN).epochs(20);
//! let region = Region::Features(Ball::new(Norm::L2, 0.1, Sampler::Exact)?);
//! let settings = Settings { region, samples: 20, sigmas: vec![0.05], seed: 0 };
//! let study = RobustnessStudy::new(model, [settings]);
//! let found = study.run(&data.benchmark(0, 1)?, &RobustnessCallbacks::quiet())?;
//! println!("mean distance {:.3}", found.curve[0].pooled.mean);
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

use std::time::Instant;

use gnarl_data::Benchmark;
use gnarl_data::Content;
use gnarl_graph::random::mix;
use gnarl_graph::{Error, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::summary::{Accuracy, test_accuracy};
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_graph::Result;
use gnarl_nn::train::Callbacks;
use gnarl_robust::classifier::{Classifier, WhiteBox};
use gnarl_robust::inference::{Defended, FittedInference, PerturbationTarget};
use gnarl_robust::robustness::bounds::{Distance, operator_distance};
use gnarl_robust::robustness::estimate::{estimate_watched, sampled_graph};
use gnarl_robust::robustness::{
    Bound, Bounds, Budget, Estimate, Region, SampleCallbacks, ScoreDistances, Settings, estimate,
};

/// Estimates and bounds the robustness of a model in regions around its input.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
pub struct RobustnessCallbacks<'a> {
    /// Callbacks of the training.
    pub training: Callbacks<'a>,
    /// Called with the number of new samples since the last call.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
}

impl RobustnessCallbacks<'_> {
    /// No progress and no cancellation.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            training: Callbacks::quiet(),
            on_samples: &|_| (),
        }
    }

    /// The callbacks of sampling.
    fn samples(&self) -> SampleCallbacks<'_> {
        SampleCallbacks {
            on_samples: self.on_samples,
            stop: self.training.stop,
        }
    }
}

/// The result at each radius, and the accuracy of the models.
#[derive(Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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
    pub published: Option<f64>,
    /// Largest distance of a sample.
    pub largest_sampled: f64,
    /// True if a sample of some run exceeded the published formula.
    pub published_exceeded: bool,
}

impl BoundReport {
    /// A bound of one case.
    fn new(bound: &Bound, operator_distance: Option<f64>, estimate: &Estimate) -> Self {
        let largest_sampled = match bound.distance {
            Distance::L1 => estimate.scores.l1,
            Distance::L2 => estimate.scores.l2,
            Distance::Linf => estimate.scores.linf,
            Distance::Scaled => estimate.largest,
        };
        Self {
            distance: bound.distance,
            operator_distance,
            sound: bound.sound,
            published: bound.thesis,
            largest_sampled,
            published_exceeded: bound.thesis.is_some_and(|bound| bound < largest_sampled),
        }
    }

    /// Adds another case: the larger bounds and distances.
    fn loosen(&mut self, other: &Self) {
        self.sound = self.sound.max(other.sound);
        self.published = self.published.zip(other.published).map(|(a, b)| a.max(b));
        self.largest_sampled = self.largest_sampled.max(other.largest_sampled);
        self.published_exceeded |= other.published_exceeded;
    }
}

impl RobustnessStudy {
    /// One run of a model, with seed 0, at each of these settings.
    #[must_use]
    pub fn new(model: Model, settings: impl IntoIterator<Item = Settings>) -> Self {
        Self {
            model,
            settings: settings.into_iter().collect(),
            runs: 1,
            seed: 0,
        }
    }

    /// Sets the number of networks.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the seed of the first run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The part of the input that moves, which an inference rule perturbs.
    pub fn perturbed_part(region: &Region) -> PerturbationTarget {
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
    pub fn run(&self, on: &Benchmark, watch: &RobustnessCallbacks<'_>) -> Result<RobustnessResult> {
        let start = Instant::now();
        let fitted = self.fit(on, &watch.training)?;
        let train_seconds = start.elapsed().as_secs_f64();
        let inputs = fitted
            .iter()
            .map(|model| inputs_of(model, &on.content))
            .collect::<Result<Vec<_>>>()?;
        let cases: Vec<Case<'_>> = fitted
            .iter()
            .zip(&inputs)
            .flat_map(|(fitted, inputs)| inputs.iter().map(|input| Case::new(fitted, input)))
            .collect();
        for settings in &self.settings {
            cases
                .iter()
                .try_for_each(|case| case.settings(settings).check(&case.input.graph))?;
        }
        let test_accuracy = test_accuracy(&fitted, &on.content)?;
        let (bounds, mut no_bounds) = match self.bounds(&cases) {
            Ok(bounds) => (bounds, None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let cases = Cases {
            cases: &cases,
            inputs: &inputs,
            bounds: &bounds,
        };
        let mut curve = Vec::with_capacity(self.settings.len());
        let mut interrupted = fitted.iter().any(|model| model.report().interrupted);
        for settings in &self.settings {
            match cases.radius(settings, watch)? {
                Some((report, why_not)) => {
                    curve.push(report);
                    no_bounds = why_not.or(no_bounds);
                }
                None => {
                    interrupted = true;
                    break;
                }
            }
        }
        Ok(RobustnessResult {
            test_accuracy,
            curve,
            no_bounds,
            interrupted,
            train_seconds,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The model of every run. Perturbations apply to features as the network takes them: scaled in
    /// one way for all runs, as in the first run.
    fn fit(&self, on: &Benchmark, watch: &Callbacks<'_>) -> Result<Vec<Fitted>> {
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
            let split = &on.splits[i % on.splits.len()];
            ready.fit(split, self.seed.wrapping_add(i as u64), watch)
        };
        let first = one(&ready, 0)?;
        let scaled = self.model.features(first.scaler().scaling());
        let ready = scaled.ready(&on.name, &on.content, FitOptions::default())?;
        let others = (1..self.runs)
            .into_par_iter()
            .map(|i| one(&ready, i))
            .collect::<Result<Vec<_>>>()?;
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// The bounds of every case; fails if the model has none.
    fn bounds<'a>(&self, cases: &'a [Case<'_>]) -> Result<Vec<(&'a WhiteBox, Bounds)>> {
        let is_plain = self.model.inference.is_plain();
        let one = |case: &'a Case<'_>| bounds_of(&case.attack_target, is_plain, &case.input.graph);
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
        (false, _) => refuse("they hold for a plain forward pass, not for another inference rule"),
        (true, None) => refuse("they hold for plain networks of gnarl, without exits and defences"),
        (true, Some(network)) => Ok((network, Bounds::new(network, graph)?)),
    }
}

/// The robustness of one classifier around a graph whose features are scaled for it: an estimate by
/// sampling, and the bounds or why there are none.
pub fn measure(
    model: &dyn Classifier,
    inference: &FittedInference,
    graph: &Graph,
    settings: &Settings,
) -> Result<(Estimate, Result<Vec<Bound>>)> {
    let is_plain = inference.is_plain();
    let defended = Defended {
        model,
        inference,
        seed: settings.seed,
    };
    let found = if is_plain {
        estimate(model, graph, settings)?
    } else {
        estimate(&defended, graph, settings)?
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
fn inputs_of(fitted: &Fitted, content: &Content) -> Result<Vec<Input>> {
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
    if inputs.is_empty() {
        let what = format!(
            "fold {} has no test graph with nodes to perturb",
            split.name()
        );
        return Err(Error::argument("robustness", what));
    }
    Ok(inputs)
}

/// A fitted model and a graph to perturb.
struct Case<'a> {
    fitted: &'a Fitted,
    attack_target: crate::model::fitted::PreprocessedModel<'a>,
    input: &'a Input,
}

impl<'a> Case<'a> {
    fn new(fitted: &'a Fitted, input: &'a Input) -> Self {
        Self {
            fitted,
            attack_target: fitted.attack_target(),
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
        let inference = self.fitted.fitted_inference();
        if inference.is_plain() {
            return estimate_watched(&self.attack_target, graph, settings, watch);
        }
        let defended = Defended {
            model: &self.attack_target,
            inference,
            seed: self.fitted.seed(),
        };
        estimate_watched(&defended, graph, settings, watch)
    }
}

/// The fitted models with the graphs to perturb, and their bounds.
struct Cases<'a> {
    /// The cases of all runs, one run after the other.
    cases: &'a [Case<'a>],
    /// The inputs of each run.
    inputs: &'a [Vec<Input>],
    /// The bounds of every case; empty if the model has none.
    bounds: &'a [(&'a WhiteBox, Bounds)],
}

impl Cases<'_> {
    /// The result at one radius, and the reason why it has no bounds if they failed. `None` if
    /// stopped.
    fn radius(
        &self,
        settings: &Settings,
        watch: &RobustnessCallbacks<'_>,
    ) -> Result<Option<(RadiusReport, Option<String>)>> {
        if watch.training.stopped() {
            return Ok(None);
        }
        let (start, samples) = (Instant::now(), watch.samples());
        let estimates = self
            .cases
            .iter()
            .map(|case| case.estimate(settings, samples));
        let Some(estimates) = estimates.collect::<Result<Option<Vec<Estimate>>>>()? else {
            return Ok(None);
        };
        let seconds = start.elapsed().as_secs_f64();
        let (bounds, why_not) = match self.bound(settings, &estimates, samples) {
            Ok(bounds) => (bounds, None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let report = RadiusReport {
            distance: Accuracy::of(self.run_means(&estimates))?,
            pooled: pooled(&estimates, &settings.sigmas),
            bounds,
            seconds,
        };
        Ok(Some((report, why_not)))
    }

    /// The mean estimate of every run.
    fn run_means(&self, estimates: &[Estimate]) -> Vec<f64> {
        let mut rest = estimates;
        let of_run = |inputs: &Vec<Input>| {
            let (own, others) = rest.split_at(inputs.len());
            rest = others;
            own.iter().map(|e| e.mean).sum::<f64>() / own.len() as f64
        };
        self.inputs.iter().map(of_run).collect()
    }

    /// The bounds at a radius: the loosest of all cases, next to the largest sampled distance.
    fn bound(
        &self,
        settings: &Settings,
        estimates: &[Estimate],
        watch: SampleCallbacks<'_>,
    ) -> Result<Vec<BoundReport>> {
        if self.bounds.is_empty() {
            return Ok(Vec::new());
        }
        let distance = self.operator_distance(settings, watch)?;
        let mut found: Vec<BoundReport> = Vec::new();
        for (((_, bounds), case), estimate) in self.bounds.iter().zip(self.cases).zip(estimates) {
            let mut all: Vec<_> = bounds
                .within(case.settings(settings).region.budget())?
                .into_iter()
                .map(|bound| (bound, None))
                .collect();
            if let Some(distance) = distance {
                all.insert(1, (bounds.within_distance(distance)?, Some(distance)));
            }
            for (i, (bound, operator_distance)) in all.into_iter().enumerate() {
                let report = BoundReport::new(&bound, operator_distance, estimate);
                match found.get_mut(i) {
                    None => found.push(report),
                    Some(known) => known.loosen(&report),
                }
            }
        }
        Ok(found)
    }

    /// The largest operator distance of the sampled graphs, for flips on one graph: its sampled
    /// graphs are the same in every run.
    fn operator_distance(
        &self,
        settings: &Settings,
        watch: SampleCallbacks<'_>,
    ) -> Result<Option<f64>> {
        match (settings.region.budget(), self.bounds, self.cases) {
            (Budget::Structure { .. }, [(model, _), ..], [case, ..])
                if case.input.place.is_none() =>
            {
                largest_operator_distance(model, &case.input.graph, settings, watch)
            }
            _ => Ok(None),
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

/// The largest distance between the operators of sampled graphs and of the graph itself; `None` if
/// stopped. The graphs are the same in every run.
fn largest_operator_distance(
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
        match sampled_graph(graph, settings, sample)? {
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
