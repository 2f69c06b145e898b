//! `gnarl axes`: a plain model against each axis switched on, every pair of axes, and all of them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::attack::Attack;
use gnarl::model::Model;
use gnarl::study::axes::{AxesStudy, Combination, Judged, Outcome};
use gnarl::train::Watch;
use gnarl_graph::dataset::Task;
use serde::Serialize;

use super::model::ModelArgs;
use super::train::SpecReport;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Report, difference, real};
use crate::progress;

/// `gnarl axes`
#[derive(Debug, Args)]
pub struct AxesArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Judge on attacked inputs too: the name of an attack of `gnarl attack`, at its defaults
    #[arg(long, value_name = "KIND", help_heading = "The study")]
    pub attack: Option<String>,
    /// Of --attack: how much may change
    #[arg(long, value_name = "X", requires = "attack", help_heading = "The study")]
    pub budget: Option<String>,
    /// Single axes only, without pairs and all of them
    #[arg(long, help_heading = "The study")]
    pub alone: bool,
    /// Runs of one graph, each with its own seed and, where there are several, its own split; of a set, folds
    #[arg(long, default_value_t = 10, value_parser = RangedU64ValueParser::<usize>::new().range(2..=100_000))]
    pub runs: usize,
    /// Write the table as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// What `gnarl axes` found.
#[derive(Debug, Serialize)]
pub struct AxesReport {
    data: String,
    /// The plain model, with every option that applies filled in.
    model: Model,
    #[serde(skip_serializing_if = "Option::is_none")]
    attack: Option<Attack>,
    runs: usize,
    seed: u64,
    interrupted: bool,
    combinations: Vec<Combination>,
    #[serde(skip)]
    asked: usize,
}

/// Runs every combination and reports.
pub fn run(global: &Global, args: &AxesArgs) -> anyhow::Result<output::Either<SpecReport, AxesReport>> {
    let attack = args.attack.as_ref().map(|name| {
        let budget = args.budget.iter().map(|text| ("budget".to_string(), text.clone()));
        name.parse::<Attack>()?.with(&budget.collect::<Vec<_>>())
    });
    let attack = attack.transpose()?;
    let (data, benchmark) = args.model.benchmark(global, args.runs)?;
    let task = benchmark.content.task();
    let model = args.model.model(&data.name, task)?;
    if args.model.print_spec {
        return Ok(output::Either::Left(SpecReport::new(&model, task)?));
    }
    let study = AxesStudy { model, runs: args.runs, seed: global.seed, attack, alone: args.alone };
    let bar = progress::steps(&format!("axes on {}", data.name), study.combinations(task).len() as u64);
    let watch = Watch::stopped_by(interrupt::flag());
    let combinations = study.run(&benchmark, &watch, |_| bar.inc(1))?;
    bar.finish_and_clear();
    let report = AxesReport {
        data: data.name,
        model: model.plan(task)?.model,
        attack,
        runs: if task == Task::Node { args.runs } else { benchmark.splits.len() },
        seed: global.seed,
        interrupted: watch.stopped(),
        asked: study.combinations(task).len(),
        combinations,
    };
    if let Some(file) = &args.write {
        gnarl_graph::files::write_atomically(file, report.markdown().as_bytes())?;
    }
    Ok(output::Either::Right(report))
}

impl AxesReport {
    fn heads(&self) -> Vec<&'static str> {
        let mut heads = vec!["switched on", ">clean, %", ">minus plain"];
        if self.attack.is_some() {
            heads.extend([">attacked, %", ">minus plain"]);
        }
        heads.push(">seconds");
        heads
    }

    fn cells(&self, combination: &Combination) -> Vec<String> {
        let Judged { clean, minus_plain, attacked, attacked_minus_plain, seconds } = match &combination.outcome {
            Outcome::Judged(judged) => judged,
            Outcome::Refused(why) => return vec![combination.name(), format!("- ({why})")],
        };
        let minus = |d: &Option<_>| d.as_ref().map_or_else(|| "-".to_string(), difference);
        let mut cells = vec![combination.name(), clean.text(), minus(minus_plain)];
        if let Some(attacked) = attacked {
            cells.extend([attacked.text(), minus(attacked_minus_plain)]);
        }
        cells.push(real(*seconds));
        cells
    }

    fn markdown(&self) -> String {
        let heads: Vec<&str> = self.heads().iter().map(|head| head.trim_start_matches('>')).collect();
        let rule: Vec<&str> = self.heads().iter().map(|h| if h.starts_with('>') { "---:" } else { "---" }).collect();
        let row =
            |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| c.trim()).collect::<Vec<_>>().join(" | "));
        let mut text = format!("| {} |\n| {} |\n", heads.join(" | "), rule.join(" | "));
        self.combinations.iter().for_each(|combination| text += &row(&self.cells(combination)));
        text
    }
}

impl Report for AxesReport {
    fn text(&self) -> String {
        let mut table = output::table(&self.heads());
        let width = self.heads().len();
        for combination in &self.combinations {
            let mut cells = self.cells(combination);
            cells.resize(width, String::new());
            table.add_row(cells);
        }
        let attack = self.attack.map_or(String::new(), |attack| match attack.budget() {
            Ok(budget) => format!(", {attack}, {budget}"),
            Err(_) => format!(", {attack}"),
        });
        let mut text = format!(
            "{} on {}, {} runs{attack}; differences are paired, run by run (* beyond two standard errors)\n{}",
            self.model.backbone,
            self.data,
            self.runs,
            output::render(&table)
        );
        if self.interrupted {
            text += "\ninterrupted: what was not reached is left out\n";
        }
        text
    }

    fn complaint(self) -> Option<anyhow::Error> {
        self.interrupted.then(|| Interrupted { finished: self.combinations.len(), asked: self.asked }.into())
    }
}
