//! `gnarl certify`: computes radii within which no attacker can change the predictions of a model.

use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use gnarl::model::{Model, Plan, Section};
use gnarl::study::certify::{
    Attempts, Cell, Certificate, Certified, CertifyCallbacks, CertifyReport, CertifyStudy,
    MethodName, Radius, Request, Rows, Survived, Target, binarised,
};
use gnarl::study::{Accuracy, forecast};
use gnarl_data::{Benchmark, Dataset};
use gnarl_graph::settings::SettingText;
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::dry_run::DryRun;
use super::model::{ModelArgs, ProtocolName};
use super::study::{StudyOutput, run_study};
use crate::global::Global;
use crate::interrupt::Interrupted;
use crate::options::{by_option, setting_option};
use crate::output::{self, Report, real};
use crate::plot::{self, HeatMap, HeatMaps, Line, LineChart, Point};

const HEADING: &str = "The certificate";

/// Arguments of `gnarl certify`.
#[derive(Debug, Args)]
pub struct CertifyArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', required = true, help_heading = HEADING, help = help_of_method())]
    pub method: Vec<MethodName>,
    /// Part of the input that an attacker changes: features, edges or both
    /// [default: features; edges if the method covers edges alone or the data has no features]
    #[arg(long, help_heading = HEADING)]
    pub target: Option<Target>,
    /// Set nonzero features to one before training, as studies of binary features do with counts
    /// and weights
    #[arg(long, help_heading = HEADING)]
    pub binary: bool,
    #[command(flatten)]
    pub settings: CertificateOptions,
    /// Number of test nodes to attack by nettack, one at a time; their accuracy is shown above the
    /// certified accuracy
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub attacked: Option<usize>,
    /// Number of attacks on each node inside the radius of every certificate without samples;
    /// attacks that change a class are counted
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub attempts: Option<usize>,
    /// Number of runs, each with its own network; for a set, folds
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
    /// Print the planned runs and an estimate of their time, from a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec")]
    pub dry_run: bool,
    /// Write the certified shares to STEM.csv, STEM.svg and STEM.png; smoothing by flips gives a
    /// heat map, and the curves along its borders as STEM-curves.svg and .png
    #[arg(long, value_name = "STEM")]
    pub output: Option<PathBuf>,
    /// Write the class and radius of every test node or graph of the first run to FILE.csv
    #[arg(long, value_name = "FILE.csv")]
    pub nodes: Option<PathBuf>,
}

fn section() -> Section {
    Section::of_axis("method", HEADING, Certificate::LIST)
}

/// Returns the help that lists the certificates.
fn help_of_method() -> String {
    let name = |(name, about): &(String, &str)| format!("{name} ({about})");
    let names: Vec<String> = section().names.iter().map(name).collect();
    let names = names.join(", ");
    format!(
        "{names}; several are compared; all stands for those that cover the target and the model"
    )
}

/// Settings of certificates that were given, by option.
#[derive(Debug, Clone, Default)]
pub struct CertificateOptions(pub Vec<SettingText>);

impl Args for CertificateOptions {
    fn augment_args(command: Command) -> Command {
        let section = section();
        let options = section.settings.iter();
        command.args(options.map(|setting| setting_option(&section, setting)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CertificateOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |flag: &str| {
            let text = matches.get_one::<String>(flag)?;
            Some((flag.to_string(), text.clone()))
        };
        let section = section();
        let given = section.settings.iter().filter_map(|s| given(s.flag));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Configuration needed to run the certificates again.
#[derive(Debug, Serialize)]
struct Config {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    model: Model,
    certificates: Vec<Certificate>,
    binary: bool,
    runs: usize,
    seed: u64,
}

/// Output of `gnarl certify`.
#[derive(Debug, Serialize)]
pub struct CertifyOutput {
    #[serde(flatten)]
    report: CertifyReport,
    config: Config,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// Fits, then certifies.
pub fn run(global: &Global, args: &CertifyArgs) -> anyhow::Result<StudyOutput<CertifyOutput>> {
    let request = Request {
        methods: args.method.clone(),
        target: args.target,
        settings: args.settings.0.clone(),
    };
    // A wrong option should fail before the data is loaded.
    request
        .certificates(request.threat(None))
        .map_err(by_option)?;
    let (data, mut benchmark) = args.model.benchmark(global, args.runs)?;
    if args.binary {
        benchmark.content = binarised(&benchmark.content)?;
    }
    let threat = request.threat(Some(&benchmark.content));
    let certificates = request.certificates(threat).map_err(by_option)?;
    let part = threat.target.part();
    let model = args.model.model_with(&data.name, threat.task, |model| {
        model.inference(model.inference.on(part))
    })?;
    if args.model.print_spec {
        return StudyOutput::spec(&model, threat.task);
    }
    let plan = model.plan(threat.task)?;
    let (certificates, left_out) = request.covering(certificates, &plan);
    let study = CertifyStudy::new(model, threat.target, certificates)
        .attacked(args.attacked.unwrap_or(0))
        .attempts(args.attempts.unwrap_or(0))
        .runs(args.runs)
        .seed(global.seed);
    study.check(&benchmark)?;
    if args.dry_run {
        return dry_run(global, &study, &benchmark).map(StudyOutput::DryRun);
    }
    let report = certified(&study, &data, &benchmark, left_out)?;
    let mut output = CertifyOutput {
        config: args.config(&data, &plan, &study),
        report,
        files: Vec::new(),
    };
    output.write(args, &benchmark)?;
    Ok(StudyOutput::Report(output))
}

impl CertifyArgs {
    fn config(&self, data: &Dataset, plan: &Plan, study: &CertifyStudy) -> Config {
        Config {
            data: data.name.clone(),
            protocol: self.model.protocol,
            recipe: self.model.recipe,
            model: plan.model,
            certificates: study.certificates.clone(),
            binary: self.binary,
            runs: study.runs,
            seed: study.seed,
        }
    }
}

/// Plans a study for `--dry-run`.
fn dry_run(global: &Global, study: &CertifyStudy, on: &Benchmark) -> anyhow::Result<DryRun> {
    let names: Vec<&str> = study.certificates.iter().map(Certificate::name).collect();
    let cell = forecast::Planned {
        name: format!("{}, {}", study.model.backbone, names.join(" and ")),
        model: Ok(study.model),
        fits: study.runs,
        passes: forecast::passes(&on.content, study.samples(on)),
    };
    let left_out = "certificates without samples, and attacks".to_string();
    DryRun::new(global, "certify", on, &[cell], Some(left_out))
}

/// Runs a study with a progress bar.
fn certified(
    study: &CertifyStudy,
    data: &Dataset,
    on: &Benchmark,
    left_out: Vec<String>,
) -> anyhow::Result<CertifyReport> {
    let label = format!("{} on {}", study.model.backbone, data.name);
    let steps = study.epochs(on)? + study.samples(on);
    let result = run_study(&label, steps, |progress| {
        let callbacks = CertifyCallbacks {
            training: progress.training,
            on_samples: &|count| progress.advance(count as u64),
        };
        Ok(study.run(on, &callbacks)?)
    })?;
    let report = CertifyReport::new(&data.name, on.content.task(), study, left_out, result);
    Ok(report.ok_or_else(|| Interrupted::before_first(study.certificates.len()))?)
}

/// Returns the table of additions and deletions, if a report is one such table.
fn grid(report: &CertifyReport) -> Option<Grid<'_>> {
    if report.others.is_empty() && report.survived.is_empty() {
        Grid::of(&report.first.certified)
    } else {
        None
    }
}

impl CertifyOutput {
    fn write(&mut self, args: &CertifyArgs, on: &Benchmark) -> anyhow::Result<()> {
        if let Some(stem) = &args.output {
            self.files = plotted(&self.report, stem)?;
        }
        if let Some(file) = &args.nodes {
            output::write_whole(file, self.report.items_csv(&on.content))?;
            self.files.push(file.display().to_string());
        }
        Ok(())
    }
}

/// Writes the certified shares as a table and as pictures.
fn plotted(report: &CertifyReport, stem: &Path) -> anyhow::Result<Vec<String>> {
    let title = format!("{} on {}: certified accuracy", report.model, report.data);
    let Some(grid) = grid(report) else {
        return plot::write_with_table(&chart(report, title), report.csv(), stem);
    };
    let map = HeatMaps {
        title: title.clone(),
        x_label: "deletions".into(),
        y_label: "additions".into(),
        value_label: "S, %".into(),
        framed: true,
        maps: vec![grid.heat_map()],
    };
    let mut files = plot::write_with_table(&map, report.csv(), stem)?;
    let mut curves = stem.as_os_str().to_os_string();
    curves.push("-curves");
    let drawn = plot::write(&grid.curves(title), Path::new(&curves))?;
    files.extend(drawn.iter().map(|file| file.display().to_string()));
    Ok(files)
}

fn chart(report: &CertifyReport, title: String) -> LineChart {
    let mut lines: Vec<Line> = Vec::new();
    if !report.survived.is_empty() {
        let point = |s: &Survived| Point {
            x: s.radius,
            y: 100.0 * s.accurate_share,
            band: None,
        };
        lines.push(Line {
            name: "unchanged and correct under nettack".into(),
            points: report.survived.iter().map(point).collect(),
        });
    }
    for certified in report.all() {
        let cells = if certified.by_flips.is_empty() {
            &certified.certified
        } else {
            &certified.by_flips
        };
        let point = |cell: &Cell| match cell.radius {
            Radius::One { radius } => Some(Point {
                x: radius,
                y: 100.0 * cell.accurate_share,
                band: None,
            }),
            _ => None,
        };
        lines.push(Line {
            name: certified.method.to_string(),
            points: cells.iter().filter_map(point).collect(),
        });
    }
    LineChart {
        title,
        x_label: "radius".into(),
        y_label: "certified accuracy, %".into(),
        lines,
    }
}

/// The certified ratio S(r_a, r_d) as a table.
struct Grid<'a> {
    additions: usize,
    deletions: usize,
    cells: &'a [Cell],
}

impl<'a> Grid<'a> {
    fn of(cells: &'a [Cell]) -> Option<Self> {
        match cells.last()?.radius {
            Radius::Flips { r_add, r_delete } => Some(Self {
                additions: r_add,
                deletions: r_delete,
                cells,
            }),
            _ => None,
        }
    }

    fn at(&self, additions: usize, deletions: usize) -> f64 {
        100.0 * self.cells[additions * (self.deletions + 1) + deletions].accurate_share
    }

    fn heat_map(&self) -> HeatMap {
        let to = |most: usize| (0..=most).map(|i| i as f64).collect();
        HeatMap {
            title: "S(additions, deletions)".into(),
            x: to(self.deletions),
            y: to(self.additions),
            values: self
                .cells
                .iter()
                .map(|cell| 100.0 * cell.accurate_share)
                .collect(),
        }
    }

    fn curves(&self, title: String) -> LineChart {
        let line = |name: &str, most: usize, of: &dyn Fn(usize) -> f64| Line {
            name: name.into(),
            points: (0..=most)
                .map(|r| Point {
                    x: r as f64,
                    y: of(r),
                    band: None,
                })
                .collect(),
        };
        LineChart {
            title,
            x_label: "radius, the other at 0".into(),
            y_label: "certified accuracy, %".into(),
            lines: vec![
                line("additions", self.additions, &|r| self.at(r, 0)),
                line("deletions", self.deletions, &|r| self.at(0, r)),
            ],
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn radius_text(radius: &Radius) -> String {
    match radius {
        Radius::One { radius } => real(*radius),
        Radius::Flips { r_add, r_delete } => format!("{r_add} additions, {r_delete} deletions"),
        Radius::Both {
            r_add,
            r_delete,
            edges_add,
            edges_delete,
        } => {
            format!("{r_add} and {r_delete} of features, {edges_add} and {edges_delete} of edges")
        }
    }
}

/// Formats the table of one certificate.
fn table(certified: &Certified) -> String {
    let Some(grid) = Grid::of(&certified.certified) else {
        let mut table = output::table(&["radius", ">certified, %", ">certified accuracy, %"]);
        for cell in &certified.certified {
            table.add_row([
                radius_text(&cell.radius),
                percent(cell.share),
                percent(cell.accurate_share),
            ]);
        }
        return output::render(&table);
    };
    let mut headers = vec![">".to_string()];
    headers.extend((0..=grid.deletions).map(|d| format!(">{d}")));
    let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    for a in 0..=grid.additions {
        let cells = (0..=grid.deletions).map(|d| format!("{:.1}", grid.at(a, d)));
        table.add_row(std::iter::once(a.to_string()).chain(cells));
    }
    let title = "certified accuracy, %: additions in rows, deletions in columns\n";
    title.to_string() + &output::render(&table)
}

/// Describes one certificate: its guarantee, its largest radii and its table.
fn certificate_text(report: &CertifyReport, certified: &Certified, promise: &str) -> String {
    let item = report.threat.item();
    let mut text = format!("\n{promise}\n");
    if certified.rows == Rows::Distances {
        text += &format!(
            "median L2 norm of a node's features {}\n",
            real(report.median_norm)
        );
    }
    if let Some(accuracy) = certified.smoothed_accuracy {
        text += &format!("accuracy of the smoothed classifier {accuracy:.2}\n");
    }
    if let Some(radius) = &certified.certifiable {
        text += &format!(
            "largest radius that these samples can certify: {}\n",
            radius_text(radius)
        );
    }
    text += &match &certified.max_radius {
        Some(radius) => {
            format!("largest radius of a test {item}: {}\n", radius_text(radius))
        }
        None => format!("no test {item} is certified at any radius\n"),
    };
    text + &table(certified)
}

/// Formats the table of an attack.
fn survived(survived: &[Survived]) -> String {
    let mut table = output::table(&["flips", ">unchanged, %", ">unchanged and correct, %"]);
    for s in survived {
        table.add_row([real(s.radius), percent(s.share), percent(s.accurate_share)]);
    }
    let table = output::render(&table);
    format!("\npredictions under nettack on test nodes, one at a time\n{table}")
}

fn attempts(attempts: &Attempts) -> String {
    let Attempts {
        method,
        attacks,
        violations,
        ..
    } = attempts;
    let found = if *violations == 0 {
        "none changed a class".into()
    } else {
        format!("{violations} CHANGED A CLASS")
    };
    format!("\n{attacks} attacks inside radii of {method}: {found}\n")
}

impl Report for CertifyOutput {
    fn text(&self) -> String {
        let (report, runs) = (&self.report, self.config.runs);
        let accuracy = report.test_accuracy.as_ref();
        let mut text = format!(
            "{} on {}: test accuracy {}, {} test {}s, {runs} run{}\n",
            report.model,
            report.data,
            accuracy.map_or_else(|| "-".into(), Accuracy::text),
            report.evaluated,
            report.threat.item(),
            if runs == 1 { "" } else { "s" },
        );
        for (certified, promise) in report.all().zip(&report.guarantees) {
            text += &certificate_text(report, certified, promise);
        }
        if !report.survived.is_empty() {
            text += &survived(&report.survived);
        }
        for tried in &report.attempts {
            text += &attempts(tried);
        }
        for why in &report.refused {
            text += &format!("\n{why}\n");
        }
        let seconds: f64 = report.all().map(|certified| certified.seconds).sum();
        text += &format!(
            "\ntraining {} s, certificates {} s\n",
            real(report.train_seconds),
            real(seconds)
        );
        if !self.files.is_empty() {
            text += &format!("written: {}\n", self.files.join(", "));
        }
        text
    }
}
