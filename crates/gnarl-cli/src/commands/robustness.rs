//! `gnarl robustness`: how far a model's answers move when its input does, by sampling, and how far they ever can.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::classifier::WhiteBox;
use gnarl::features::FeatureScaling;
use gnarl::inference::{Defended, Inference, Perturbed, Reading};
use gnarl::nn::Network;
use gnarl::perturb::{Ball, FlipLaw, Norm, Sampler};
use gnarl::robustness::bounds::{Distance, operator_distance};
use gnarl::robustness::estimate::drawn_graph;
use gnarl::robustness::{Bounds, Budget, Estimate, Region, ScoreDistances, Settings, estimate};
use gnarl::task::node::{self, Preparation, Prepared, Run};
use gnarl::train::Watch;
use gnarl_graph::{Error, Graph, Split};
use rayon::prelude::*;
use serde::Serialize;

use super::inference::InferenceArgs;
use super::train::{Accuracy, Config, ModelArgs, load_for};
use crate::global::Global;
use crate::output::{self, Report, real};
use crate::plot::{self, Line, LineChart, Point};
use crate::{interrupt, progress};

/// `gnarl robustness`
#[derive(Debug, Args)]
pub struct RobustnessArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Radii, as in 1,5,10: of every node's features, or, with --target structure, numbers of flipped edges
    #[arg(long, value_name = "X,…", value_delimiter = ',', required = true, allow_hyphen_values = true)]
    pub epsilon: Vec<f64>,
    /// Perturbed inputs drawn at each radius
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub samples: usize,
    /// What moves: features, structure, or both
    #[arg(long, default_value = "features")]
    pub target: Target,
    /// The norm of a node's perturbation: 1, 2, inf, or any number of at least 1 [default: 2]
    #[arg(long, value_name = "P")]
    pub norm: Option<Norm>,
    /// Of --target both: the most flipped edges
    #[arg(long, value_name = "N")]
    pub flips: Option<usize>,
    /// exact (uniform in the ball) or thesis (as its appendix draws)
    #[arg(long, default_value = "exact")]
    pub sampler: Sampler,
    /// Distances that count as an attacker's success
    #[arg(long, value_name = "X,…", value_delimiter = ',', default_value = "0.1,0.25,0.5", allow_hyphen_values = true)]
    pub sigma: Vec<f64>,
    #[command(flatten)]
    pub inference: InferenceArgs,
    /// Runs, each a network of its own
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
    /// Write the curve over the radii to STEM.csv, STEM.svg and STEM.png
    #[arg(long, value_name = "STEM")]
    pub output: Option<PathBuf>,
}

/// What moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Features,
    Structure,
    Both,
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "features" => Ok(Target::Features),
            "structure" => Ok(Target::Structure),
            "both" => Ok(Target::Both),
            _ => Err(Error::unknown("target", name, ["features", "structure", "both"])),
        }
    }
}

/// What `gnarl robustness` found.
#[derive(Debug, Serialize)]
pub struct RobustnessReport {
    data: String,
    model: String,
    target: Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    norm: Option<Norm>,
    sampler: Sampler,
    samples: usize,
    test_accuracy: Accuracy,
    /// By radius.
    curve: Vec<RadiusReport>,
    /// Why there are no bounds, where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_bounds: Option<String>,
    train_seconds: f64,
    estimate_seconds: f64,
    seconds: f64,
    config: Config,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<Inference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// One radius.
#[derive(Debug, Serialize)]
struct RadiusReport {
    epsilon: f64,
    /// Over the samples of all runs; its intervals are for these networks, not for others.
    #[serde(flatten)]
    pooled: Estimate,
    /// The mean distance of each run.
    distance: Accuracy,
    bounds: Vec<BoundReport>,
    seconds: f64,
}

/// One bound, over all runs, beside what was seen.
#[derive(Debug, Serialize)]
struct BoundReport {
    distance: Distance,
    /// Of a bound by how far operators moved: the largest distance of those drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_distance: Option<f64>,
    sound: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    thesis: Option<f64>,
    /// The largest distance of a sample.
    seen: f64,
    /// Whether a sample of some run went beyond the thesis' formula.
    thesis_exceeded: bool,
}

impl RobustnessArgs {
    /// The radii as settings, checked before anything is trained.
    fn settings(&self, graph: &Graph, seed: u64) -> gnarl_graph::Result<Vec<Settings>> {
        let refuse = |op: &'static str, what: &str| Err(Error::argument(op, what));
        if self.target == Target::Structure && self.norm.is_some() {
            return refuse("--norm", "is of features, and --target structure leaves them alone");
        }
        if (self.target == Target::Both) != self.flips.is_some() {
            return refuse("--flips", "belongs to --target both, which needs it");
        }
        let law = match self.sampler {
            Sampler::Exact => FlipLaw::Uniform,
            Sampler::Thesis => FlipLaw::Binomial,
        };
        let one = |&epsilon: &f64| {
            let ball = Ball::new(self.norm.unwrap_or(Norm::L2), epsilon, self.sampler)?;
            let region = match (self.target, self.flips) {
                (Target::Both, Some(flips)) => Region::Both { ball, flips, law },
                (Target::Structure, _) => Region::Structure { flips: whole(epsilon)?, law },
                _ => Region::Features(ball),
            };
            let settings = Settings { region, samples: self.samples, sigmas: self.sigma.clone(), seed };
            settings.check(graph)?;
            Ok(settings)
        };
        self.epsilon.iter().map(one).collect()
    }
}

fn whole(epsilon: f64) -> gnarl_graph::Result<usize> {
    if epsilon.fract() == 0.0 && epsilon < usize::MAX as f64 {
        return Ok(epsilon as usize);
    }
    Err(Error::argument(
        "--epsilon",
        format!("{epsilon} is not a number of edges to flip, which --target structure takes"),
    ))
}

/// Trains, then estimates and bounds at every radius.
pub fn run(global: &Global, args: &RobustnessArgs) -> anyhow::Result<RobustnessReport> {
    let start = Instant::now();
    let (data, graph, splits) = load_for(global, &args.model, args.runs)?;
    let mut config = args.model.config(&data, args.runs, global.seed)?;
    config.training.check()?;
    config.network.check()?;
    // Scaled once, here: what is perturbed is what the network takes.
    let graph = config.preparation.features.scaled(&graph)?;
    let settings = args.settings(&graph, global.seed)?;
    let networks = train(&mut config, &graph, &splits, global.seed)?;
    let train_seconds = start.elapsed().as_secs_f64();

    let test_accuracy = Accuracy::of(networks.iter().map(|(run, _)| run.test_accuracy).collect())?;
    let models = networks
        .into_iter()
        .map(|(_, network)| WhiteBox::new(network, config.preparation.operator))
        .collect::<gnarl::Result<Vec<_>>>()?;
    let part = if args.target == Target::Structure { Perturbed::Structure } else { Perturbed::Features };
    let inference = args.inference.choice(&data, Some(part))?;
    let bounds = match inference {
        None => models.iter().map(|model| Bounds::new(model, &graph)).collect::<gnarl::Result<Vec<_>>>(),
        Some(_) => {
            Err(Error::argument("bounds", "they are for a plain forward pass, not for another inference").into())
        }
    };
    let readings = models.iter().enumerate().map(|(i, model)| {
        let (split, seed) = (&splits[i % splits.len()], global.seed.wrapping_add(i as u64));
        let Some(inference) = inference else { return Ok((Reading::default(), seed)) };
        let reading = inference.fit(model, &graph, split.train())?;
        Ok((if inference.tunes() { reading.tuned(model, &graph, split.val(), seed)? } else { reading }, seed))
    });
    let readings = readings.collect::<gnarl::Result<Vec<_>>>()?;
    let (bounds, mut no_bounds) = match bounds {
        Ok(bounds) => (bounds, None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    let bar = progress::steps(&format!("{} on {data}", config.network.backbone), settings.len() as u64);
    let mut curve = Vec::with_capacity(settings.len());
    for (&epsilon, settings) in args.epsilon.iter().zip(&settings) {
        let started = Instant::now();
        let estimates = models.iter().zip(&readings).map(|(model, (reading, seed))| match reading.is_plain() {
            true => estimate(model, &graph, settings),
            false => estimate(&Defended { model, reading, seed: *seed }, &graph, settings),
        });
        let estimates = estimates.collect::<gnarl::Result<Vec<_>>>()?;
        let seconds = started.elapsed().as_secs_f64();
        let found =
            if bounds.is_empty() { Ok(Vec::new()) } else { bound(&models, &bounds, &graph, settings, &estimates) };
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                no_bounds = Some(why.to_string());
                Vec::new()
            }
        };
        curve.push(RadiusReport {
            epsilon,
            distance: Accuracy::of(estimates.iter().map(|e| e.mean).collect())?,
            pooled: pooled(&estimates, &settings.sigmas),
            bounds: found,
            seconds,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut report = RobustnessReport {
        data,
        model: config.network.backbone.to_string(),
        target: args.target,
        norm: (args.target != Target::Structure).then(|| args.norm.unwrap_or(Norm::L2)),
        sampler: args.sampler,
        samples: args.samples,
        test_accuracy,
        no_bounds,
        train_seconds,
        estimate_seconds: curve.iter().map(|r| r.seconds).sum(),
        seconds: start.elapsed().as_secs_f64(),
        curve,
        config,
        inference,
        files: Vec::new(),
    };
    if let Some(stem) = &args.output {
        report.write(stem)?;
    }
    Ok(report)
}

/// A trained network for each run, with `config` left holding what was settled on the way.
fn train(config: &mut Config, graph: &Graph, splits: &[Split], seed: u64) -> anyhow::Result<Vec<(Run, Network)>> {
    let (network, training, count) = (&config.network, &config.training, config.runs);
    let candidates = config.preparation.operator.candidates();
    // An open initialisation is settled by all runs from each, then they are done once more to keep their networks.
    let rounds = if candidates > 1 { candidates + 1 } else { 1 };
    let steps = (rounds * count * training.epochs) as u64;
    let bar = progress::steps(&format!("training {} on {}", network.backbone, config.data), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop: interrupt::flag() };
    let ready = Preparation { features: FeatureScaling::AsLoaded, ..config.preparation };
    let ready = match candidates {
        1 => ready,
        _ => node::settled_runs(graph, ready, network, training, splits, count, seed, &watch)?.preparation,
    };
    let prepared = Prepared::new(graph, network.backbone, ready)?;
    let one = |i: usize| {
        let split = &splits[i % splits.len()];
        node::run(&prepared, network, training, split, seed.wrapping_add(i as u64), &watch)
    };
    let trained = (0..count).into_par_iter().map(one).collect::<gnarl::Result<Vec<_>>>()?;
    bar.finish_and_clear();
    config.preparation.operator = ready.operator;
    Ok(trained)
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
    models: &[WhiteBox],
    bounds: &[Bounds],
    graph: &Graph,
    settings: &Settings,
    estimates: &[Estimate],
) -> gnarl::Result<Vec<BoundReport>> {
    let budget = match settings.region {
        Region::Features(ball) => Budget::Features { norm: ball.norm(), epsilon: ball.epsilon() },
        Region::Structure { flips, .. } => Budget::Structure { flips },
        Region::Both { ball, flips, .. } => Budget::Both { norm: ball.norm(), epsilon: ball.epsilon(), flips },
    };
    let distance = match (budget, models.first()) {
        (Budget::Structure { .. }, Some(model)) => Some(farthest(model, graph, settings)?),
        _ => None,
    };
    let mut found: Vec<BoundReport> = Vec::new();
    for (bounds, estimate) in bounds.iter().zip(estimates) {
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
fn farthest(model: &WhiteBox, graph: &Graph, settings: &Settings) -> gnarl::Result<f64> {
    let clean = model.propagation(graph)?.operator;
    let one = |sample: usize| -> gnarl::Result<f64> {
        match drawn_graph(graph, settings, sample)? {
            Some(other) => operator_distance(&clean, &model.propagation(&other)?.operator),
            None => Ok(0.0),
        }
    };
    let all = (0..settings.samples).into_par_iter().map(one).collect::<gnarl::Result<Vec<_>>>()?;
    Ok(all.into_iter().fold(0.0, f64::max))
}

impl RadiusReport {
    /// The bound on the distance that is estimated.
    fn scaled_bound(&self) -> Option<f64> {
        self.bounds.iter().find(|b| b.distance == Distance::Scaled).map(|b| b.sound)
    }
}

impl RobustnessReport {
    fn what_moves(&self) -> String {
        let drawn = match self.sampler {
            Sampler::Exact => "uniform",
            Sampler::Thesis => "the thesis' law",
        };
        let norm = self.norm.map_or(String::new(), |p| format!("L{p}"));
        match self.target {
            Target::Features => format!("every node's features within an {norm} ball of radius epsilon, {drawn}"),
            Target::Structure => format!("up to epsilon flipped edges, {drawn}"),
            Target::Both => {
                format!("flipped edges, and every node's features within an {norm} ball of radius epsilon, {drawn}")
            }
        }
    }

    fn write(&mut self, stem: &Path) -> anyhow::Result<()> {
        let mut name = stem.as_os_str().to_os_string();
        name.push(".csv");
        let csv = PathBuf::from(name);
        output::write_whole(&csv, self.csv())?;
        let drawn = plot::write(&self.chart(), stem)?;
        self.files = std::iter::once(csv).chain(drawn).map(|file| file.display().to_string()).collect();
        Ok(())
    }

    fn csv(&self) -> String {
        let mut text = String::from("epsilon,mean,mean_low,mean_high,largest,changed,bound");
        // Writing to a string cannot fail.
        for e in self.curve.iter().take(1).flat_map(|r| &r.pooled.exceedances) {
            let _ = write!(text, ",adv_{0},adv_{0}_low,adv_{0}_high", e.sigma);
        }
        text.push('\n');
        let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for radius in &self.curve {
            let Estimate { mean, interval, largest, changed, exceedances, .. } = &radius.pooled;
            let (low, high) = (maybe(interval.map(|i| i[0])), maybe(interval.map(|i| i[1])));
            let bound = maybe(radius.scaled_bound());
            let _ = write!(text, "{},{mean},{low},{high},{largest},{changed},{bound}", radius.epsilon);
            for e in exceedances {
                let _ = write!(text, ",{},{},{}", e.probability, e.interval[0], e.interval[1]);
            }
            text.push('\n');
        }
        text
    }

    fn chart(&self) -> LineChart {
        let mean = |r: &RadiusReport| Point {
            x: r.epsilon,
            y: r.pooled.mean,
            band: r.pooled.interval.map(|[low, high]| (low, high)),
        };
        let mut lines = vec![Line { name: "mean distance".into(), points: self.curve.iter().map(mean).collect() }];
        let sigmas = self.curve.first().map_or(0, |r| r.pooled.exceedances.len());
        for s in 0..sigmas {
            let beyond = |r: &RadiusReport| {
                let e = &r.pooled.exceedances[s];
                Point { x: r.epsilon, y: e.probability, band: Some((e.interval[0], e.interval[1])) }
            };
            let name = format!("P(d > {})", self.curve[0].pooled.exceedances[s].sigma);
            lines.push(Line { name, points: self.curve.iter().map(beyond).collect() });
        }
        LineChart {
            title: format!("{} on {}: how far answers move", self.model, self.data),
            x_label: "epsilon".into(),
            y_label: "probability, distance".into(),
            lines,
        }
    }
}

impl Report for RobustnessReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} on {}: test accuracy {}, {} run{}\n{}, {} samples at each radius\n\
             distance: of class probabilities, Frobenius over 2 sqrt(n), at most 0.707; in brackets 95 % intervals\n\n",
            self.model,
            self.data,
            self.test_accuracy.text(),
            self.config.runs,
            if self.config.runs == 1 { "" } else { "s" },
            self.what_moves(),
            self.samples,
        );
        let mut headers: Vec<String> = [">epsilon", ">mean distance", ">classes changed, %"].map(String::from).into();
        let sigmas = self.curve.iter().take(1).flat_map(|r| &r.pooled.exceedances);
        headers.extend(sigmas.map(|e| format!(">P(d > {})", e.sigma)));
        headers.push(">bound".into());
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        for radius in &self.curve {
            let found = &radius.pooled;
            let interval = found.interval.map_or_else(String::new, |[low, high]| format!(" [{low:.4}, {high:.4}]"));
            let mut cells = vec![
                real(radius.epsilon),
                format!("{:.4}{interval}", found.mean),
                format!("{:.1}", 100.0 * found.changed),
            ];
            let range = |e: &gnarl::robustness::Exceedance| {
                format!("{:.2} [{:.2}, {:.2}]", e.probability, e.interval[0], e.interval[1])
            };
            cells.extend(found.exceedances.iter().map(range));
            cells.push(radius.scaled_bound().map_or_else(|| "-".into(), real));
            table.add_row(cells);
        }
        text += &output::render(&table);
        if let Some(why) = &self.no_bounds {
            text += &format!("\n{why}\n");
        }
        if let Some(last) = self.curve.last().filter(|r| !r.bounds.is_empty()) {
            let mut table = output::table(&["distance of", ">largest seen", ">bound", ">thesis' formula", ""]);
            for b in &last.bounds {
                let name = match (b.distance, b.operator_distance) {
                    (Distance::L1, _) => "scores, sum of L1".to_string(),
                    (Distance::L2, None) => "scores, Frobenius".to_string(),
                    (Distance::L2, Some(d)) => format!("scores, Frobenius, of operators within {}", real(d)),
                    (Distance::Linf, _) => "scores, largest entry".to_string(),
                    (Distance::Scaled, _) => "probabilities, scaled".to_string(),
                };
                let thesis = b.thesis.map_or_else(|| "-".into(), real);
                let exceeded = if b.thesis_exceeded { "✗ exceeded by a sample" } else { "" };
                table.add_row([name, real(b.seen), real(b.sound), thesis, exceeded.to_string()]);
            }
            text += &format!("\nat epsilon {}:\n{}", real(last.epsilon), output::render(&table));
        }
        text += &format!("\ntraining {} s, estimates {} s\n", real(self.train_seconds), real(self.estimate_seconds));
        if !self.files.is_empty() {
            text += &format!("written: {}\n", self.files.join(", "));
        }
        text
    }
}
