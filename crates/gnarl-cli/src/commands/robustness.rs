//! `gnarl robustness`: estimates by sampling how far predictions of a model move under perturbed
//! inputs, and bounds the distance from above.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::model::Model;
use gnarl::study::robustness::{RadiusReport, RobustnessCallbacks, RobustnessStudy};
use gnarl::study::{Accuracy, forecast};
use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_nn::train::Callbacks;
use gnarl_robust::perturb::{Norm, Sampler};
use gnarl_robust::robustness::bounds::Distance;
use gnarl_robust::robustness::{Estimate, RegionOptions, Settings, Target};
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::dry_run::{DryRun, SpecOrDryRun};
use super::model::{ModelArgs, ProtocolName};
use super::train::SpecReport;
use crate::global::Global;
use crate::html::Cell;
use crate::interrupt::{self, Interrupted};
use crate::options::by_option;
use crate::output::{self, Report, real};
use crate::page::{Axis, Component, Lines, Page, Section, Series};
use crate::plot::{self, Line, LineChart, Point};
use crate::progress;

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
    asked: usize,
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
) -> anyhow::Result<output::Either<SpecOrDryRun, RobustnessReport>> {
    // A wrong option should fail before the data is loaded.
    let asked = args.target.unwrap_or(Target::Features);
    args.settings(asked, global.seed)?;
    let (data, benchmark) = args.model.benchmark(global, args.runs)?;
    let task = benchmark.content.task();
    let has_features = match &benchmark.content {
        Content::Graph(graph) => graph.features().is_some(),
        Content::Graphs(set) => set.graphs().iter().any(|graph| graph.features().is_some()),
    };
    let target = match args.target {
        None if !has_features && args.norm.is_none() => Target::Structure,
        _ => asked,
    };
    let settings = args.settings(target, global.seed)?;
    let runs = if task == Task::Node {
        args.runs
    } else {
        benchmark.splits.len().min(args.runs)
    };
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
        return Ok(output::Either::Left(output::Either::Left(SpecReport::new(
            &model, task,
        )?)));
    }
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
        let samples = study.samples(&benchmark);
        let name = format!(
            "{}, {} radii of {} samples",
            model.backbone,
            study.settings.len(),
            args.samples
        );
        let passes = forecast::passes(&benchmark.content, samples);
        let cell = forecast::Planned {
            name,
            model: Ok(model),
            fits: runs,
            passes,
        };
        let planned = DryRun::new(
            global,
            "robustness",
            &benchmark,
            &[cell],
            Some("the bounds".into()),
        )?;
        return Ok(output::Either::Left(output::Either::Right(planned)));
    }
    let total = study.epochs(&benchmark)? + study.samples(&benchmark);
    let bar = progress::steps(&format!("{} on {}", model.backbone, data.name), total);
    let on_epoch = |_: usize, _: &_| bar.inc(1);
    let watch = RobustnessCallbacks {
        training: Callbacks::new(&on_epoch, interrupt::flag()),
        on_samples: &|count| bar.inc(count as u64),
    };
    let result = study.run(&benchmark, &watch)?;
    bar.finish_and_clear();
    let asked = study.settings.len();
    if result.curve.is_empty() {
        return Err(Interrupted { finished: 0, asked }.into());
    }
    let radii = args.radii(target);
    let curve = radii
        .iter()
        .zip(result.curve)
        .map(|(&epsilon, found)| Radius { epsilon, found });
    let mut report = RobustnessReport {
        data: data.name.clone(),
        model: model.backbone.to_string(),
        target,
        norm: args.region(target).norm(),
        sampler: args.sampler,
        samples: args.samples,
        test_accuracy: result.test_accuracy,
        curve: curve.collect(),
        no_bounds: result.no_bounds,
        interrupted: result.interrupted,
        train_seconds: result.train_seconds,
        estimate_seconds: 0.0,
        seconds: result.seconds,
        config: Config {
            data: data.name,
            protocol: args.model.protocol,
            recipe: args.model.recipe,
            model: plan.model,
            runs,
            seed: global.seed,
        },
        files: Vec::new(),
        runs,
        item: match task {
            Task::Node => "",
            Task::Graph => " around each test graph",
        },
        asked,
    };
    report.estimate_seconds = report.curve.iter().map(|radius| radius.found.seconds).sum();
    if let Some(stem) = &args.output {
        report.write(stem)?;
    }
    if let Some(file) = &args.page {
        output::write_whole(file, report.page()?)?;
        report.files.push(file.display().to_string());
    }
    Ok(output::Either::Right(report))
}

/// Number of columns of a histogram.
const BARS: usize = 30;

/// Computes a histogram of distances: per cent in each of [`BARS`] equal parts up to the largest.
fn histogram(distances: &[f64], largest: f64) -> Vec<f64> {
    let mut bars = vec![0.0; BARS];
    for distance in distances {
        let at = (distance / largest * BARS as f64) as usize;
        bars[at.min(BARS - 1)] += 100.0 / distances.len() as f64;
    }
    bars
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
    fn what_moves(&self) -> String {
        let drawn = match self.sampler {
            Sampler::Exact => "uniform",
            Sampler::Thesis => "the thesis' law",
        };
        let norm = self.norm.map_or(String::new(), |p| format!("L{p}"));
        match self.target {
            Target::Features => {
                format!("every node's features within an {norm} ball of radius epsilon, {drawn}")
            }
            Target::Structure => format!("up to epsilon flipped edges, {drawn}"),
            Target::Both => {
                format!(
                    "flipped edges, and every node's features within an {norm} ball of radius epsilon, {drawn}"
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
            title: format!("{} on {}: how far answers move", self.model, self.data),
            x_label: "epsilon".into(),
            y_label: "probability, distance".into(),
            lines,
        }
    }
}

impl RobustnessReport {
    /// Renders a page with the contents of the text.
    fn page(&self) -> anyhow::Result<String> {
        let mut curve: Vec<&Radius> = self.curve.iter().collect();
        curve.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        let x = || {
            Axis::at(
                "epsilon",
                curve.iter().map(|radius| radius.epsilon).collect(),
            )
        };
        let of = |value: &dyn Fn(&Estimate) -> f64| {
            curve
                .iter()
                .map(|r| value(&r.found.pooled))
                .collect::<Vec<f64>>()
        };
        let lines = |title: &str, label: &str, series| {
            Component::from(Lines {
                title: title.into(),
                x: x(),
                y: Axis::of(label),
                series,
            })
        };
        let mean = Series {
            name: "mean distance".into(),
            values: of(&|found| found.mean),
            low: Some(of(&|found| {
                found.interval.map_or(found.mean, |[low, _]| low)
            })),
            high: Some(of(&|found| {
                found.interval.map_or(found.mean, |[_, high]| high)
            })),
        };
        let largest = Series {
            name: "largest seen".into(),
            values: of(&|found| found.largest),
            ..Series::default()
        };
        let sigmas = curve
            .first()
            .map_or(&[][..], |radius| &radius.found.pooled.exceedances);
        let beyond = sigmas.iter().enumerate().map(|(s, exceedance)| Series {
            name: format!("further than {}", exceedance.sigma),
            values: of(&|found| found.exceedances[s].probability),
            low: Some(of(&|found| found.exceedances[s].interval[0])),
            high: Some(of(&|found| found.exceedances[s].interval[1])),
        });
        let changed = Series {
            name: "answers".into(),
            values: of(&|found| 100.0 * found.changed),
            ..Series::default()
        };
        let mut drawings = vec![
            lines(
                "How far answers move",
                "scaled distance",
                vec![mean, largest],
            ),
            lines(
                "Answers of another class",
                "% of the answers",
                vec![changed],
            ),
        ];
        if !sigmas.is_empty() {
            drawings.push(lines(
                "How often they move far",
                "probability",
                beyond.collect(),
            ));
        }
        let top = curve
            .iter()
            .map(|radius| radius.found.pooled.largest)
            .fold(0.0, f64::max);
        // Rounding errors are not plotted.
        if top > 1e-6 {
            let places = (0..BARS)
                .map(|bar| top * (bar as f64 + 0.5) / BARS as f64)
                .collect();
            let series = curve.iter().map(|radius| Series {
                name: format!("epsilon {}", real(radius.epsilon)),
                values: histogram(&radius.found.pooled.distances, top),
                ..Series::default()
            });
            drawings.push(
                Lines {
                    title: "The samples of each radius".into(),
                    x: Axis::at("scaled distance", places),
                    y: Axis::of("% of the samples"),
                    series: series.collect(),
                }
                .into(),
            );
        }
        let moves = format!(
            "{}, {} samples at each radius{}.",
            self.what_moves(),
            self.samples,
            self.item
        );
        let seen = Section::new("seen", "What samples show")
            .text(&format!("{moves} The distance is that of class probabilities, Frobenius over twice the root of the number of answers: 0.707 at most. Bands are 95 % intervals, for these networks."))
            .side_by_side(drawings);
        let accuracy = self
            .test_accuracy
            .as_ref()
            .map_or_else(|| "-".into(), Accuracy::text);
        let mut tiles = vec![
            (accuracy, "test accuracy".to_string()),
            (self.runs.to_string(), "networks".to_string()),
        ];
        if let Some(last) = curve.last() {
            let label = format!("mean distance at epsilon {}", real(last.epsilon));
            tiles.push((format!("{:.4}", last.found.pooled.mean), label));
        }
        let page = Page::new(&format!(
            "{} on {}: how far answers move",
            self.model, self.data
        ));
        Ok(page
            .tiles(&tiles)
            .section(seen)
            .section(self.proved(&curve))
            .render()?)
    }

    /// Builds the section with observed distances next to their upper bounds.
    fn proved(&self, curve: &[&Radius]) -> Section {
        let section = Section::new("bounds", "What no input exceeds");
        if let Some(why) = &self.no_bounds {
            return section.text(why);
        }
        let row = |radius: &&Radius| {
            let found = &radius.found.pooled;
            let cells = [
                real(found.mean),
                real(found.largest),
                radius.scaled_bound().map_or_else(|| "-".into(), real),
                format!("{:.1}", 100.0 * found.changed),
            ];
            (
                real(radius.epsilon),
                cells.iter().map(|text| Cell::text(text)).collect(),
            )
        };
        let rows: Vec<(String, Vec<Cell>)> = curve.iter().map(row).collect();
        section
            .text("The bound holds for every input within the radius, sampled or not.")
            .table(
                &[
                    "epsilon",
                    "mean",
                    "largest seen",
                    "bound",
                    "classes changed, %",
                ],
                &rows,
            )
    }
}

impl Report for RobustnessReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} on {}: test accuracy {}, {} run{}\n{}, {} samples at each radius{}\n\
             distance: of class probabilities, Frobenius over 2 sqrt(answers), at most 0.707; in brackets 95 % intervals\n\n",
            self.model,
            self.data,
            self.test_accuracy
                .as_ref()
                .map_or_else(|| "-".into(), Accuracy::text),
            self.runs,
            if self.runs == 1 { "" } else { "s" },
            self.what_moves(),
            self.samples,
            self.item,
        );
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
            let found = &radius.found.pooled;
            let interval = found
                .interval
                .map_or_else(String::new, |[low, high]| format!(" [{low:.4}, {high:.4}]"));
            let mut cells = vec![
                real(radius.epsilon),
                format!("{:.4}{interval}", found.mean),
                format!("{:.1}", 100.0 * found.changed),
            ];
            let range = |e: &gnarl_robust::robustness::Exceedance| {
                format!(
                    "{:.2} [{:.2}, {:.2}]",
                    e.probability, e.interval[0], e.interval[1]
                )
            };
            cells.extend(found.exceedances.iter().map(range));
            cells.push(radius.scaled_bound().map_or_else(|| "-".into(), real));
            table.add_row(cells);
        }
        text += &output::render(&table);
        if let Some(why) = &self.no_bounds {
            text += &format!("\n{why}\n");
        }
        if let Some(last) = self.curve.last().filter(|r| !r.found.bounds.is_empty()) {
            let mut table = output::table(&[
                "distance of",
                ">largest seen",
                ">bound",
                ">thesis' formula",
                "",
            ]);
            for b in &last.found.bounds {
                let name = match (b.distance, b.operator_distance) {
                    (Distance::L1, _) => "scores, sum of L1".to_string(),
                    (Distance::L2, None) => "scores, Frobenius".to_string(),
                    (Distance::L2, Some(d)) => {
                        format!("scores, Frobenius, of operators within {}", real(d))
                    }
                    (Distance::Linf, _) => "scores, largest entry".to_string(),
                    (Distance::Scaled, _) => "probabilities, scaled".to_string(),
                };
                let thesis = b.published.map_or_else(|| "-".into(), real);
                let exceeded = if b.published_exceeded {
                    "✗ exceeded by a sample"
                } else {
                    ""
                };
                table.add_row([
                    name,
                    real(b.largest_sampled),
                    real(b.sound),
                    thesis,
                    exceeded.to_string(),
                ]);
            }
            text += &format!(
                "\nat epsilon {}:\n{}",
                real(last.epsilon),
                output::render(&table)
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
        self.interrupted.then(|| {
            Interrupted {
                finished: self.curve.len(),
                asked: self.asked,
            }
            .into()
        })
    }
}
