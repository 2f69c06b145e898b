//! `gnarl axes`: compares a plain model with each axis switched on, every pair of axes, and all of
//! them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::model::Model;
use gnarl::study::axes::{AxesStudy, Combination, Evaluated, Outcome, Which};
use gnarl_data::Task;
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_robust::attack::Attack;
use serde::Serialize;

use super::dry_run::DryRun;
use super::model::ModelArgs;
use super::study::{StudyOutput, run_study};
use crate::global::Global;
use crate::interrupt::Interrupted;
use crate::output::{self, Report, difference, real};

/// Arguments of `gnarl axes`.
#[derive(Debug, Args)]
pub struct AxesArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Evaluate on attacked inputs too: attacks of `gnarl attack` at their defaults, each with an
    /// optional budget behind a colon, as in gaussian:0.5,dice:0.1
    #[arg(
        long,
        value_name = "KIND[:X],…",
        value_delimiter = ',',
        help_heading = "The study"
    )]
    pub attack: Vec<String>,
    /// Budget of the attacks of --attack that have none of their own
    #[arg(
        long,
        value_name = "X",
        requires = "attack",
        help_heading = "The study"
    )]
    pub budget: Option<String>,
    /// Run single axes only, without pairs and without all of them
    #[arg(long, help_heading = "The study")]
    pub alone: bool,
    /// Run single axes and all of them, without pairs
    #[arg(long, conflicts_with = "alone", help_heading = "The study")]
    pub no_pairs: bool,
    /// Rows to run next to the plain model: choices joined by +, as in cgso+dropedge, or all for
    /// all axes at once
    #[arg(
        long,
        value_name = "ROW,…",
        value_delimiter = ',',
        help_heading = "The study"
    )]
    pub rows: Vec<String>,
    /// Number of runs on one graph, each with its own seed and, if there are several splits, its
    /// own split; for a set, folds
    #[arg(long, default_value_t = 10, value_parser = RangedU64ValueParser::<usize>::new().range(2..=100_000))]
    pub runs: usize,
    /// Print the planned runs and an estimate of their time, from a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec")]
    pub dry_run: bool,
    /// Write the table as Markdown to this file, again after every row
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// Result of `gnarl axes`.
#[derive(Debug, Serialize)]
pub struct AxesReport {
    data: String,
    /// The plain model, with every option that applies filled in.
    model: Model,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attacks: Vec<Attack>,
    runs: usize,
    seed: u64,
    interrupted: bool,
    combinations: Vec<Combination>,
    /// Accuracy of all axes at once minus that of the best single axis, on clean inputs and on
    /// those of each attack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    all_minus_best: Vec<AgainstBest>,
    #[serde(skip)]
    requested: usize,
}

/// Runs every combination and reports.
pub fn run(global: &Global, args: &AxesArgs) -> anyhow::Result<StudyOutput<AxesReport>> {
    let attacks = args
        .attack
        .iter()
        .map(|text| attack(text, args.budget.as_deref()));
    let attacks = attacks.collect::<gnarl_graph::Result<Vec<Attack>>>()?;
    let (data, benchmark) = args.model.benchmark(global, args.runs)?;
    let task = benchmark.content.task();
    let model = args.model.model(&data.name, task)?;
    if args.model.print_spec {
        return StudyOutput::spec(&model, task);
    }
    let which = match (args.alone, args.no_pairs) {
        (true, _) => Which::Alone,
        (false, true) => Which::WithoutPairs,
        (false, false) => Which::Everything,
    };
    let study = AxesStudy::new(model)
        .runs(args.runs)
        .seed(global.seed)
        .attacks(attacks.clone())
        .which(which)
        .rows(args.rows.clone());
    if args.dry_run {
        let left_out = (!attacks.is_empty()).then(|| "the attacks".to_string());
        let rows = study.planned(&benchmark)?;
        return DryRun::new(global, "axes", &benchmark, &rows, left_out).map(StudyOutput::DryRun);
    }
    let requested = study.combinations(task)?.len();
    let mut report = AxesReport {
        data: data.name,
        model: model.plan(task)?.model,
        attacks,
        runs: if task == Task::Node {
            args.runs
        } else {
            benchmark.splits.len()
        },
        seed: global.seed,
        interrupted: false,
        combinations: Vec::new(),
        all_minus_best: Vec::new(),
        requested,
    };
    let write = |report: &AxesReport| match &args.write {
        Some(file) => gnarl_graph::files::write_atomically(file, report.markdown().as_bytes()),
        None => Ok(()),
    };
    // Rows may take hours: finished rows are written at once, and a file that cannot be written
    // fails at the first row.
    let mut written = Ok(());
    let label = format!("axes on {}", report.data);
    report.interrupted = run_study(&label, requested as u64, |progress| {
        let callbacks = progress.silent_training();
        study.run(&benchmark, &callbacks, |combination| {
            report.combinations.push(combination.clone());
            if written.is_ok() {
                written = write(&report);
            }
            progress.advance(1);
        })?;
        Ok(callbacks.stopped())
    })?;
    written?;
    report.all_minus_best = report.against_best()?;
    write(&report)?;
    Ok(StudyOutput::Report(report))
}

/// Parses an attack by name, with its budget behind a colon or else the given one.
fn attack(text: &str, budget: Option<&str>) -> gnarl_graph::Result<Attack> {
    let (name, own) = text
        .split_once(':')
        .map_or((text, None), |(name, own)| (name, Some(own)));
    let budget = own
        .or(budget)
        .map(|text| ("budget".to_string(), text.to_string()));
    name.parse::<Attack>()?
        .with(&budget.into_iter().collect::<Vec<_>>())
}

/// All axes at once compared with the best single axis on the same inputs.
#[derive(Debug, Serialize)]
struct AgainstBest {
    all: String,
    /// `clean`, or the attack.
    on: String,
    /// The single axis of the highest mean test accuracy, chosen with hindsight.
    best: String,
    difference: PairedDifference,
}

impl AxesReport {
    fn heads(&self) -> Vec<String> {
        let mut heads: Vec<String> = ["switched on", ">clean, %", ">minus plain"]
            .map(String::from)
            .to_vec();
        for attack in self.attack_names() {
            heads.extend([format!(">{attack}, %"), ">minus plain".to_string()]);
        }
        heads.push(">seconds".to_string());
        heads
    }

    fn attack_names(&self) -> Vec<String> {
        let name = |attack: &Attack| match attack.budget() {
            Ok(budget) => format!("{attack}, {budget}"),
            Err(_) => attack.to_string(),
        };
        self.attacks.iter().map(name).collect()
    }

    fn cells(&self, combination: &Combination) -> Vec<String> {
        let Evaluated {
            clean,
            minus_plain,
            attacked,
            attacked_minus_plain,
            seconds,
            ..
        } = match &combination.outcome {
            Outcome::Evaluated(evaluated) => evaluated,
            Outcome::Refused(why) => return vec![combination.name(), format!("- ({why})")],
        };
        let minus = |d: Option<&_>| d.map_or_else(|| "-".to_string(), difference);
        let mut cells = vec![
            combination.name(),
            clean.text(),
            minus(minus_plain.as_ref()),
        ];
        for (i, attacked) in attacked.iter().enumerate() {
            cells.extend([attacked.text(), minus(attacked_minus_plain.get(i))]);
        }
        cells.push(real(*seconds));
        cells
    }

    /// Compares all axes at once with the best single axis: for each kind of weights, on clean
    /// inputs and on those of each attack.
    fn against_best(&self) -> gnarl_graph::Result<Vec<AgainstBest>> {
        let evaluated = |size: std::ops::Range<usize>| {
            let of_size = self
                .combinations
                .iter()
                .filter(move |c| size.contains(&c.switched.len()));
            of_size.filter_map(|c| match &c.outcome {
                Outcome::Evaluated(evaluated) => Some((c, evaluated)),
                Outcome::Refused(_) => None,
            })
        };
        let mut names = vec!["clean".to_string()];
        names.extend(self.attack_names());
        let mut found = Vec::new();
        for (all, of_all) in evaluated(3..usize::MAX) {
            for (i, on) in names.iter().enumerate() {
                let figure = |evaluated: &Evaluated| match i {
                    0 => evaluated.clean.clone(),
                    _ => evaluated.attacked[i - 1].clone(),
                };
                let best =
                    evaluated(1..2).max_by(|a, b| figure(a.1).mean.total_cmp(&figure(b.1).mean));
                let Some((best, of_best)) = best else {
                    continue;
                };
                let difference = paired_difference(&figure(of_all).runs, &figure(of_best).runs)?;
                found.push(AgainstBest {
                    all: all.name(),
                    on: on.clone(),
                    best: best.name(),
                    difference,
                });
            }
        }
        Ok(found)
    }

    fn against_best_lines(&self) -> String {
        let line = |a: &AgainstBest| {
            format!(
                "{}, {}: {} minus the best single axis, {}\n",
                a.all,
                a.on,
                difference(&a.difference),
                a.best
            )
        };
        self.all_minus_best.iter().map(line).collect()
    }

    fn markdown(&self) -> String {
        let heads = self.heads();
        let heads: Vec<&str> = heads
            .iter()
            .map(|head| head.trim_start_matches('>'))
            .collect();
        let rule: Vec<&str> = self
            .heads()
            .iter()
            .map(|h| if h.starts_with('>') { "---:" } else { "---" })
            .collect();
        let row = |cells: &[String]| {
            format!(
                "| {} |\n",
                cells
                    .iter()
                    .map(|c| c.trim())
                    .collect::<Vec<_>>()
                    .join(" | ")
            )
        };
        let mut text = format!("| {} |\n| {} |\n", heads.join(" | "), rule.join(" | "));
        self.combinations
            .iter()
            .for_each(|combination| text += &row(&self.cells(combination)));
        for line in self.against_best_lines().lines() {
            text += &format!("\n{line}\n");
        }
        text
    }
}

impl Report for AxesReport {
    fn text(&self) -> String {
        let heads = self.heads();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let (mut table, width) = (output::table(&heads), heads.len());
        for combination in &self.combinations {
            let mut cells = self.cells(combination);
            cells.resize(width, String::new());
            table.add_row(cells);
        }
        let mut text = format!(
            "{} on {}, {} runs; differences are paired by run (* marks more than two standard errors)\n{}",
            self.model.backbone,
            self.data,
            self.runs,
            output::render(&table)
        );
        if !self.all_minus_best.is_empty() {
            text += "\n\n";
            text += self.against_best_lines().trim_end();
        }
        if self.interrupted {
            text += "\ninterrupted: rows that were not reached are left out\n";
        }
        text
    }

    fn complaint(self) -> Option<anyhow::Error> {
        Interrupted::complaint(self.interrupted, self.combinations.len(), self.requested)
    }
}
