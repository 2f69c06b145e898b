//! `gnarl advise`: finds the axes worth switching on for a dataset.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::study::advise::{Advice, AdviseStudy, DatasetSummary, Outcome, TriedChoice};
use gnarl_data::Task;
use gnarl_nn::features::FeatureKind;
use gnarl_nn::networks::Backbone;
use serde::Serialize;

use super::dry_run::DryRun;
use super::model::ModelArgs;
use super::study::{StudyOutput, run_study};
use crate::global::Global;
use crate::interrupt::Interrupted;
use crate::output::{self, Report, count, difference, real};

/// Arguments of `gnarl advise`.
#[derive(Debug, Args)]
pub struct AdviseArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Number of fits of each choice on each part of the data, each with its own seed
    #[arg(long, default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub runs: usize,
    /// Print the planned runs and an estimate of their time, from a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec")]
    pub dry_run: bool,
    /// Write the recommended model as TOML to this file, for --spec of other commands
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

/// Result of `gnarl advise`.
#[derive(Debug, Serialize)]
pub struct AdviceReport {
    data: String,
    backbone: Backbone,
    #[serde(flatten)]
    advice: Advice,
    runs: usize,
    seed: u64,
    /// Options of `gnarl train` that switch on the recommended axes.
    options: String,
    #[serde(skip)]
    choices: usize,
}

/// Summarises the data, tries the choices and reports.
pub fn run(global: &Global, args: &AdviseArgs) -> anyhow::Result<StudyOutput<AdviceReport>> {
    let (data, benchmark) = args.model.benchmark(global, 1)?;
    let task = benchmark.content.task();
    let default = if task == Task::Node {
        Backbone::GCN
    } else {
        Backbone::GIN
    };
    let model = args.model.or_model(default).model(&data.name, task)?;
    if args.model.print_spec {
        return StudyOutput::spec(&model, task);
    }
    let study = AdviseStudy::new(model).runs(args.runs).seed(global.seed);
    if args.dry_run {
        let choices = study.choices(&benchmark.first())?;
        let left_out = "combinations of axes that help".to_string();
        return DryRun::new(global, "advise", &benchmark, &choices, Some(left_out))
            .map(StudyOutput::DryRun);
    }
    let choices = study.num_choices(task);
    let label = format!("choices on {}", data.name);
    let advice = run_study(&label, choices as u64, |progress| {
        let callbacks = progress.silent_training();
        let advice = study.run(&benchmark.first(), &callbacks, |_| progress.advance(1));
        match advice {
            Err(_) if callbacks.stopped() => Err(Interrupted::before_first(choices).into()),
            advice => Ok(advice?),
        }
    })?;
    if let Some(file) = &args.write {
        output::write_whole(file, advice.model.to_toml()?)?;
    }
    let options = advice
        .switch_on
        .iter()
        .map(|s| format!("--{} {}", s.axis, s.choice))
        .collect::<Vec<_>>()
        .join(" ");
    Ok(StudyOutput::Report(AdviceReport {
        data: args.model.data.clone(),
        backbone: model.backbone,
        advice,
        runs: args.runs,
        seed: global.seed,
        options,
        choices,
    }))
}

impl AdviceReport {
    /// Returns the conclusion of the control without edges, if it is clear.
    fn on_edges(&self) -> Option<&'static str> {
        let control = self
            .advice
            .tried
            .iter()
            .find(|one| one.backbone.is_some())?;
        let Outcome::Evaluated(evaluated) = &control.outcome else {
            return None;
        };
        let difference = evaluated
            .minus_plain
            .as_ref()
            .filter(|difference| difference.is_clear())?;
        Some(if difference.mean > 0.0 {
            "The plain model has a higher accuracy without edges: its neighbourhoods are misleading."
        } else {
            "Edges help: without them the plain model is worse."
        })
    }

    fn verdict(&self) -> String {
        let Advice {
            switch_on, tried, ..
        } = &self.advice;
        let train = format!("gnarl train --data {} --model {}", self.data, self.backbone);
        if switch_on.is_empty() {
            return format!(
                "No choice improves on the plain model by more than a standard error: use the plain model.\n{train}\n"
            );
        }
        let names: Vec<String> = switch_on
            .iter()
            .map(|s| format!("{} {}", s.axis, s.choice))
            .collect();
        let of_choice = tried.iter().rev().find(|one| one.switched == *switch_on);
        let gain = of_choice.and_then(|one| match &one.outcome {
            Outcome::Evaluated(evaluated) => evaluated.minus_plain.as_ref().map(difference),
            Outcome::Refused(_) => None,
        });
        let gain = gain.map_or(String::new(), |gain| {
            format!(": {gain} points over the plain model")
        });
        format!(
            "Switch on {}{gain}.\n{train} {}\n",
            names.join(" and "),
            self.options
        )
    }
}

/// Describes the data, one property a line.
fn data_rows(data: &DatasetSummary) -> Vec<(&'static str, String)> {
    let items = items_of(data.task);
    let homophily = data.homophily.map(|share| {
        let percent = 100.0 * share;
        let meaning = match share {
            _ if share >= 0.5 => "homophilous",
            _ => "heterophilous",
        };
        format!("{percent:.0} % of edges are within a class: {meaning}")
    });
    let kind = match data.features {
        FeatureKind::Plain if data.columns.is_none() => "none".to_string(),
        FeatureKind::Plain => "one-hot".into(),
        FeatureKind::Words => "words or counts".into(),
        FeatureKind::Continuous => "continuous".into(),
    };
    let columns = data.columns.map_or(String::new(), |columns| {
        format!(", {} columns", count(columns as u64))
    });
    let (class, rarest) = &data.rarest;
    let isolated = match data.isolated {
        0 => String::new(),
        isolated => format!(", {} without neighbours", count(isolated as u64)),
    };
    let mut rows = vec![
        (
            items,
            format!(
                "{}, {} edges",
                count(data.size as u64),
                count(data.edges as u64)
            ),
        ),
        (
            "degrees",
            format!(
                "{:.1} on average, {} at most{isolated}",
                data.mean_degree, data.max_degree
            ),
        ),
    ];
    rows.extend(homophily.map(|text| ("homophily", text)));
    rows.push(("features", format!("{kind}{columns}")));
    rows.push((
        "classes",
        format!(
            "{}; the rarest, {class}, has {rarest} training {items}, the most common {}",
            data.classes, data.most_common
        ),
    ));
    rows.push((
        "labels",
        format!(
            "{} training, {} validation",
            count(data.train as u64),
            count(data.validation as u64)
        ),
    ));
    rows
}

/// Returns the plural of what is classified.
fn items_of(task: Task) -> &'static str {
    match task {
        Task::Node => "nodes",
        Task::Graph => "graphs",
    }
}

fn cells(one: &TriedChoice) -> Vec<String> {
    match &one.outcome {
        Outcome::Evaluated(evaluated) => vec![
            one.name(),
            format!("{:.2}", evaluated.accuracy),
            evaluated
                .minus_plain
                .as_ref()
                .map_or_else(|| "-".into(), difference),
            evaluated
                .minus_before
                .as_ref()
                .map_or_else(|| "-".into(), difference),
            real(evaluated.seconds),
        ],
        Outcome::Refused(why) => vec![
            one.name(),
            format!("- ({why})"),
            String::new(),
            String::new(),
            String::new(),
        ],
    }
}

impl Report for AdviceReport {
    fn text(&self) -> String {
        let advice = &self.advice;
        let mut table = output::table(&[
            "switched on",
            ">accuracy, %",
            ">minus plain",
            ">minus without the last",
            ">seconds",
        ]);
        advice.tried.iter().for_each(|one| {
            table.add_row(cells(one));
        });
        let items = items_of(advice.summary.task);
        let item = items.trim_end_matches('s');
        let mut text = format!(
            "{}{} on {}, evaluated on {} training and validation {items} by cross-validation in {} parts, {} fits each; test labels are not used.\n\
             Differences are paired by {item} (* marks more than two standard errors)\n{}\n",
            output::render(&output::pairs(data_rows(&advice.summary))),
            self.backbone,
            self.data,
            count(advice.evaluated_items as u64),
            advice.parts,
            self.runs,
            output::render(&table)
        );
        if advice.interrupted {
            text += "interrupted: choices that were not reached are left out\n";
        }
        if let Some(on_edges) = self.on_edges() {
            text += &format!("{on_edges}\n");
        }
        text + &self.verdict()
    }

    fn complaint(self) -> Option<anyhow::Error> {
        let finished = self.advice.tried.len();
        let requested = self.choices.max(finished + 1);
        Interrupted::complaint(self.advice.interrupted, finished, requested)
    }
}
