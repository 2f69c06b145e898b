//! `gnarl robustness`: estimates the sensitivity of predictions to perturbed inputs by sampling, and
//! bounds it from above.
//!
//! | file | contents |
//! | --- | --- |
//! | `page` | the HTML page |

mod page;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::model::Model;
use gnarl::study::robustness::{
    BoundReport, RadiusReport, RobustnessCallbacks, RobustnessResult, RobustnessStudy,
};
use gnarl::study::{Accuracy, forecast};
use gnarl_data::{Benchmark, Content, Task};
use gnarl_robust::perturb::{Norm, Sampler};
use gnarl_robust::robustness::bounds::Distance;
use gnarl_robust::robustness::{Estimate, RegionOptions, Settings, Target};
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::dry_run::DryRun;
use super::model::{ModelArgs, ProtocolName};
use super::study::{StudyOutput, run_study};
use crate::global::Global;
use crate::interrupt::Interrupted;
use crate::options::by_option;
use crate::output::{self, Report, real};
use crate::plot::{self, Line, LineChart, Point};

/// Arguments of `gnarl robustness`.
#[derive(Debug, Args)]
pub struct RobustnessArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Radii, as in 1,5,10: norms of the perturbation of every node's features, or, with --target
    /// structure, numbers of flipped edges, in each graph of a set [default: 0.5,1 of features, 1,2
    /// flips]
    #[arg(
        long,
        value_name = "X,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub epsilon: Vec<f64>,
    /// Number of perturbed inputs sampled at each radius, for a set around each test graph
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub samples: usize,
    /// Perturbed part of the input: features, structure, or both [default: features, or structure
    /// without features]
    #[arg(long)]
    pub target: Option<Target>,
    /// Norm of a node's perturbation: 1, 2, inf, or any number of at least 1 [default: 2]
    #[arg(long, value_name = "P")]
    pub norm: Option<Norm>,
    /// Largest number of flipped edges with --target both
    #[arg(long, value_name = "N")]
    pub flips: Option<usize>,
    /// Sampler of the ball: exact (uniform) or thesis (as in the published experiments)
    #[arg(long, default_value = "exact")]
    pub sampler: Sampler,
    /// Distances above which an attack counts as successful
    #[arg(
        long,
        value_name = "X,…",
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5",
        allow_hyphen_values = true
    )]
    pub sigma: Vec<f64>,
    /// Number of runs, each with its own network; for a set, its first folds
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
    /// Print the planned runs and an estimate of their time, from a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec")]
    pub dry_run: bool,
    /// Write the curve over the radii to STEM.csv, STEM.svg and STEM.png
    #[arg(long, value_name = "STEM")]
    pub output: Option<PathBuf>,
    /// Write an HTML page: the curves over the radii, the histogram of every radius, and the
    /// observed distances next to the bounds
    #[arg(long, value_name = "FILE.html")]
    pub page: Option<PathBuf>,
}

/// Configuration needed to run the estimate again.
#[derive(Debug, Serialize)]
struct Config {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    model: Model,
    runs: usize,
    seed: u64,
}

/// Result of `gnarl robustness`.
#[derive(Debug, Serialize)]
pub struct RobustnessReport {
    data: String,
    model: String,
    target: Target,
    #[serde(skip_serializing_if = "Option::is_none")]
    norm: Option<Norm>,
    sampler: Sampler,
    samples: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<Accuracy>,
    /// Results by radius.
    curve: Vec<Radius>,
    /// Reason why there are no bounds, if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_bounds: Option<String>,
    interrupted: bool,
    train_seconds: f64,
    estimate_seconds: f64,
    seconds: f64,
    config: Config,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    #[serde(skip)]
    runs: usize,
    /// Phrase after the number of samples: empty, or ` around each test graph`.
    #[serde(skip)]
    item: &'static str,
    #[serde(skip)]
    requested: usize,
}

/// Results at one radius.
#[derive(Debug, Serialize)]
struct Radius {
    epsilon: f64,
    #[serde(flatten)]
    found: RadiusReport,
}

impl RobustnessArgs {
    fn region(&self, target: Target) -> RegionOptions {
        RegionOptions {
            target,
            norm: self.norm,
            flips: self.flips,
            sampler: self.sampler,
        }
    }

    /// Returns the settings of all radii, checked before anything is trained.
    fn settings(&self, target: Target, seed: u64) -> gnarl_graph::Result<Vec<Settings>> {
        let one = |&epsilon: &f64| {
            Ok(Settings {
                region: self.region(target).region(epsilon).map_err(by_option)?,
                samples: self.samples,
                sigmas: self.sigma.clone(),
                seed,
            })
        };
        self.radii(target).iter().map(one).collect()
    }

    /// Returns the part of the input that is perturbed: by default features, or edges without any.
    fn target_on(&self, content: &Content) -> Target {
        let has_features = match content {
            Content::Graph(graph) => graph.features().is_some(),
            Content::Graphs(set) => set.graphs().iter().any(|graph| graph.features().is_some()),
        };
        match self.target {
            None if !has_features && self.norm.is_none() => Target::Structure,
            target => target.unwrap_or(Target::Features),
        }
    }

    /// Builds the report of a study, before any file is written.
    fn report(
        &self,
        study: &RobustnessStudy,
        target: Target,
        on: &Benchmark,
        model: Model,
        result: RobustnessResult,
    ) -> RobustnessReport {
        let curve: Vec<Radius> = self
            .radii(target)
            .into_iter()
            .zip(result.curve)
            .map(|(epsilon, found)| Radius { epsilon, found })
            .collect();
        RobustnessReport {
            data: on.name.clone(),
            model: study.model.backbone.to_string(),
            target,
            norm: self.region(target).norm(),
            sampler: self.sampler,
            samples: self.samples,
            test_accuracy: result.test_accuracy,
            no_bounds: result.no_bounds,
            interrupted: result.interrupted,
            train_seconds: result.train_seconds,
            estimate_seconds: curve.iter().map(|radius| radius.found.seconds).sum(),
            seconds: result.seconds,
            curve,
            config: Config {
                data: on.name.clone(),
                protocol: self.model.protocol,
                recipe: self.model.recipe,
                model,
                runs: study.runs,
                seed: study.seed,
            },
            files: Vec::new(),
            runs: study.runs,
            item: match on.content.task() {
                Task::Node => "",
                Task::Graph => " around each test graph",
            },
            requested: study.settings.len(),
        }
    }

    /// Returns the radii, or the default radii if none were given.
    fn radii(&self, target: Target) -> Vec<f64> {
        if self.epsilon.is_empty() {
            self.region(target).default_radii()
        } else {
            self.epsilon.clone()
        }
    }
}

/// Fits, then estimates and bounds the distance at every radius.
pub fn run(
    global: &Global,
    args: &RobustnessArgs,
) -> anyhow::Result<StudyOutput<RobustnessReport>> {
    // A wrong option should fail before the data is loaded.
    args.settings(args.target.unwrap_or(Target::Features), global.seed)?;
    let (data, benchmark) = args.model.benchmark(global, args.runs)?;
    let task = benchmark.content.task();
    let target = args.target_on(&benchmark.content);
    let settings = args.settings(target, global.seed)?;
    let part = settings
        .first()
        .map(|settings| RobustnessStudy::perturbed_part(&settings.region));
    let model = args
        .model
        .model_with(&data.name, task, |model| match part {
            Some(part) => model.inference(model.inference.on(part)),
            None => model,
        })?;
    if args.model.print_spec {
        return StudyOutput::spec(&model, task);
    }
    let runs = match task {
        Task::Node => args.runs,
        Task::Graph => benchmark.splits.len().min(args.runs),
    };
    let study = RobustnessStudy::new(model, settings)
        .runs(runs)
        .seed(global.seed);
    let plan = model.plan(task)?;
    if let Content::Graph(graph) = &benchmark.content {
        study
            .settings
            .iter()
            .try_for_each(|settings| settings.check(graph))?;
    }
    if args.dry_run {
        return dry_run(global, args, &study, &benchmark).map(StudyOutput::DryRun);
    }
    let result = estimated(&study, &benchmark)?;
    let mut report = args.report(&study, target, &benchmark, plan.model, result);
    if let Some(stem) = &args.output {
        report.write(stem)?;
    }
    if let Some(file) = &args.page {
        output::write_whole(file, report.page()?)?;
        report.files.push(file.display().to_string());
    }
    Ok(StudyOutput::Report(report))
}

/// Plans a study for `--dry-run`.
fn dry_run(
    global: &Global,
    args: &RobustnessArgs,
    study: &RobustnessStudy,
    on: &Benchmark,
) -> anyhow::Result<DryRun> {
    let cell = forecast::Planned {
        name: format!(
            "{}, {} radii of {} samples",
            study.model.backbone,
            study.settings.len(),
            args.samples
        ),
        model: Ok(study.model),
        fits: study.runs,
        passes: forecast::passes(&on.content, study.samples(on)),
    };
    DryRun::new(global, "robustness", on, &[cell], Some("the bounds".into()))
}

/// Runs a study with a progress bar.
fn estimated(study: &RobustnessStudy, on: &Benchmark) -> anyhow::Result<RobustnessResult> {
    let label = format!("{} on {}", study.model.backbone, on.name);
    let steps = study.epochs(on)? + study.samples(on);
    let result = run_study(&label, steps, |progress| {
        let callbacks = RobustnessCallbacks {
            training: progress.training,
            on_samples: &|count| progress.advance(count as u64),
        };
        Ok(study.run(on, &callbacks)?)
    })?;
    if result.curve.is_empty() {
        return Err(Interrupted::before_first(study.settings.len()).into());
    }
    Ok(result)
}

impl Radius {
    /// Returns the bound on the estimated distance.
    fn scaled_bound(&self) -> Option<f64> {
        self.found
            .bounds
            .iter()
            .find(|b| b.distance == Distance::Scaled)
            .map(|b| b.sound)
    }
}

impl RobustnessReport {
    fn perturbation(&self) -> String {
        let sampler = match self.sampler {
            Sampler::Exact => "uniform",
            Sampler::Thesis => "by the published sampler",
        };
        let norm = self.norm.map_or(String::new(), |p| format!("L{p}"));
        match self.target {
            Target::Features => {
                format!("every node's features within an {norm} ball of radius epsilon, {sampler}")
            }
            Target::Structure => format!("up to epsilon flipped edges, {sampler}"),
            Target::Both => {
                format!(
                    "flipped edges, and every node's features within an {norm} ball of radius epsilon, {sampler}"
                )
            }
        }
    }

    fn write(&mut self, stem: &Path) -> anyhow::Result<()> {
        self.files = plot::write_with_table(&self.chart(), self.csv(), stem)?;
        Ok(())
    }

    fn csv(&self) -> String {
        let mut text = String::from("epsilon,mean,mean_low,mean_high,largest,changed,bound");
        // Writing to a string cannot fail.
        for e in self
            .curve
            .iter()
            .take(1)
            .flat_map(|r| &r.found.pooled.exceedances)
        {
            let _ = write!(text, ",adv_{0},adv_{0}_low,adv_{0}_high", e.sigma);
        }
        text.push('\n');
        let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for radius in &self.curve {
            let Estimate {
                mean,
                interval,
                largest,
                changed,
                exceedances,
                ..
            } = &radius.found.pooled;
            let (low, high) = (maybe(interval.map(|i| i[0])), maybe(interval.map(|i| i[1])));
            let bound = maybe(radius.scaled_bound());
            let _ = write!(
                text,
                "{},{mean},{low},{high},{largest},{changed},{bound}",
                radius.epsilon
            );
            for e in exceedances {
                let _ = write!(
                    text,
                    ",{},{},{}",
                    e.probability, e.interval[0], e.interval[1]
                );
            }
            text.push('\n');
        }
        text
    }

    fn chart(&self) -> LineChart {
        let mean = |r: &Radius| Point {
            x: r.epsilon,
            y: r.found.pooled.mean,
            band: r.found.pooled.interval.map(|[low, high]| (low, high)),
        };
        let mut lines = vec![Line {
            name: "mean distance".into(),
            points: self.curve.iter().map(mean).collect(),
        }];
        let sigmas = self
            .curve
            .first()
            .map_or(0, |r| r.found.pooled.exceedances.len());
        for s in 0..sigmas {
            let beyond = |r: &Radius| {
                let e = &r.found.pooled.exceedances[s];
                Point {
                    x: r.epsilon,
                    y: e.probability,
                    band: Some((e.interval[0], e.interval[1])),
                }
            };
            let name = format!("P(d > {})", self.curve[0].found.pooled.exceedances[s].sigma);
            lines.push(Line {
                name,
                points: self.curve.iter().map(beyond).collect(),
            });
        }
        LineChart {
            title: format!(
                "{} on {}: sensitivity of predictions",
                self.model, self.data
            ),
            x_label: "epsilon".into(),
            y_label: "probability, distance".into(),
            lines,
        }
    }
}

impl RobustnessReport {
    /// Returns the first lines of the text: the model, the perturbation and the distance.
    fn heading(&self) -> String {
        format!(
            "{} on {}: test accuracy {}, {} run{}\n{}, {} samples at each radius{}\n\
             distance: Frobenius norm of the change of class probabilities over 2 sqrt(predictions), at most 0.707; in brackets 95 % intervals\n\n",
            self.model,
            self.data,
            self.accuracy_text(),
            self.runs,
            if self.runs == 1 { "" } else { "s" },
            self.perturbation(),
            self.samples,
            self.item,
        )
    }

    fn accuracy_text(&self) -> String {
        self.test_accuracy
            .as_ref()
            .map_or_else(|| "-".into(), Accuracy::text)
    }

    /// Formats the table of the estimates, a row for each radius.
    fn estimates_table(&self) -> String {
        let mut headers: Vec<String> = [">epsilon", ">mean distance", ">classes changed, %"]
            .map(String::from)
            .into();
        let sigmas = self
            .curve
            .iter()
            .take(1)
            .flat_map(|r| &r.found.pooled.exceedances);
        headers.extend(sigmas.map(|e| format!(">P(d > {})", e.sigma)));
        headers.push(">bound".into());
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        for radius in &self.curve {
            table.add_row(radius.cells());
        }
        output::render(&table)
    }
}

impl Radius {
    /// Returns the cells of the row of this radius.
    fn cells(&self) -> Vec<String> {
        let found = &self.found.pooled;
        let interval = found
            .interval
            .map_or_else(String::new, |[low, high]| format!(" [{low:.4}, {high:.4}]"));
        let mut cells = vec![
            real(self.epsilon),
            format!("{:.4}{interval}", found.mean),
            format!("{:.1}", 100.0 * found.changed),
        ];
        cells.extend(found.exceedances.iter().map(|e| {
            format!(
                "{:.2} [{:.2}, {:.2}]",
                e.probability, e.interval[0], e.interval[1]
            )
        }));
        cells.push(self.scaled_bound().map_or_else(|| "-".into(), real));
        cells
    }

    /// Formats the table of all bounds at this radius.
    fn bounds_table(&self) -> String {
        let mut table = output::table(&[
            "distance of",
            ">largest sampled",
            ">bound",
            ">published formula",
            "",
        ]);
        for bound in &self.found.bounds {
            let published = bound.published.map_or_else(|| "-".into(), real);
            let exceeded = if bound.published_exceeded {
                "✗ exceeded by a sample"
            } else {
                ""
            };
            table.add_row([
                bound_name(bound),
                real(bound.largest_sampled),
                real(bound.sound),
                published,
                exceeded.to_string(),
            ]);
        }
        output::render(&table)
    }
}

/// Returns the name of a bounded distance.
fn bound_name(bound: &BoundReport) -> String {
    match (bound.distance, bound.operator_distance) {
        (Distance::L1, _) => "scores, sum of L1".to_string(),
        (Distance::L2, None) => "scores, Frobenius".to_string(),
        (Distance::L2, Some(d)) => format!("scores, Frobenius, of operators within {}", real(d)),
        (Distance::Linf, _) => "scores, largest entry".to_string(),
        (Distance::Scaled, _) => "probabilities, scaled".to_string(),
    }
}

impl Report for RobustnessReport {
    fn text(&self) -> String {
        let mut text = self.heading() + &self.estimates_table();
        if let Some(why) = &self.no_bounds {
            text += &format!("\n{why}\n");
        }
        if let Some(last) = self.curve.last().filter(|r| !r.found.bounds.is_empty()) {
            text += &format!(
                "\nat epsilon {}:\n{}",
                real(last.epsilon),
                last.bounds_table()
            );
        }
        text += &format!(
            "\ntraining {} s, estimates {} s\n",
            real(self.train_seconds),
            real(self.estimate_seconds)
        );
        if !self.files.is_empty() {
            text += &format!("written: {}\n", self.files.join(", "));
        }
        text
    }

    fn complaint(self) -> Option<anyhow::Error> {
        Interrupted::complaint(self.interrupted, self.curve.len(), self.requested)
    }
}
