//! `gnarl advise`: finds the axes worth switching on for a dataset.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::study::advise::{Advice, AdviseStudy, DatasetSummary, Outcome, TriedChoice};
use gnarl_data::Task;
use gnarl_nn::features::FeatureKind;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;
use serde::Serialize;

use super::dry_run::{DryRun, SpecOrDryRun};
use super::model::ModelArgs;
use super::train::SpecReport;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Report, count, difference, real};
use crate::progress;

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
pub fn run(
    global: &Global,
    args: &AdviseArgs,
) -> anyhow::Result<output::Either<SpecOrDryRun, AdviceReport>> {
    let (data, benchmark) = args.model.benchmark(global, 1)?;
    let task = benchmark.content.task();
    let usual = if task == Task::Node {
        Backbone::GCN
    } else {
        Backbone::GIN
    };
    let model = args.model.or_model(usual).model(&data.name, task)?;
    if args.model.print_spec {
        return Ok(output::Either::Left(output::Either::Left(SpecReport::new(
            &model, task,
        )?)));
    }
    let study = AdviseStudy::new(model).runs(args.runs).seed(global.seed);
    if args.dry_run {
        let choices = study.choices(&benchmark.first())?;
        let left_out = "what is joined once something helps".to_string();
        let planned = DryRun::new(global, "advise", &benchmark, &choices, Some(left_out))?;
        return Ok(output::Either::Left(output::Either::Right(planned)));
    }
    let choices = study.num_choices(task);
    let bar = progress::steps(&format!("choices on {}", data.name), choices as u64);
    let watch = Callbacks::stopped_by(interrupt::flag());
    let advice = match study.run(&benchmark.first(), &watch, |_| bar.inc(1)) {
        Err(_) if watch.stopped() => {
            return Err(Interrupted {
                finished: 0,
                asked: choices,
            }
            .into());
        }
        advice => advice?,
    };
    bar.finish_and_clear();
    if let Some(file) = &args.write {
        output::write_whole(file, advice.model.to_toml()?)?;
    }
    let options = advice
        .switch_on
        .iter()
        .map(|s| format!("--{} {}", s.axis, s.choice))
        .collect::<Vec<_>>()
        .join(" ");
    Ok(output::Either::Right(AdviceReport {
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
        let Outcome::Evaluated(judged) = &control.outcome else {
            return None;
        };
        let difference = judged
            .minus_plain
            .as_ref()
            .filter(|difference| difference.is_clear())?;
        Some(match difference.mean > 0.0 {
            true => {
                "Without edges the plain model would be better: what neighbours say misleads it as it stands."
            }
            false => "Edges help: without them the plain model is worse.",
        })
    }

    fn verdict(&self) -> String {
        let Advice {
            switch_on, tried, ..
        } = &self.advice;
        let train = format!("gnarl train --data {} --model {}", self.data, self.backbone);
        if switch_on.is_empty() {
            return format!(
                "Nothing that was tried helps beyond a standard error: the plain model is the one to take.\n{train}\n"
            );
        }
        let names: Vec<String> = switch_on
            .iter()
            .map(|s| format!("{} {}", s.axis, s.choice))
            .collect();
        let of_choice = tried.iter().rev().find(|one| one.switched == *switch_on);
        let gain = of_choice.and_then(|one| match &one.outcome {
            Outcome::Evaluated(judged) => judged.minus_plain.as_ref().map(difference),
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
fn looks(looks: &DatasetSummary) -> Vec<(&'static str, String)> {
    let items = if looks.task == Task::Node {
        "nodes"
    } else {
        "graphs"
    };
    let homophily = looks.homophily.map(|share| {
        let percent = 100.0 * share;
        let meaning = match share {
            _ if share >= 0.5 => "neighbours mostly agree",
            _ => "neighbours mostly differ",
        };
        format!("{percent:.0} % of edges are within a class: {meaning}")
    });
    let kind = match looks.features {
        FeatureKind::Plain if looks.columns.is_none() => "none of their own".to_string(),
        FeatureKind::Plain => "one-hot".into(),
        FeatureKind::Words => "words or counts".into(),
        FeatureKind::Continuous => "continuous".into(),
    };
    let columns = looks.columns.map_or(String::new(), |columns| {
        format!(", {} columns", count(columns as u64))
    });
    let (class, rarest) = &looks.rarest;
    let isolated = match looks.isolated {
        0 => String::new(),
        isolated => format!(", {} without neighbours", count(isolated as u64)),
    };
    let mut rows = vec![
        (
            items,
            format!(
                "{}, {} edges",
                count(looks.items as u64),
                count(looks.edges as u64)
            ),
        ),
        (
            "degrees",
            format!(
                "{:.1} on average, {} at most{isolated}",
                looks.mean_degree, looks.max_degree
            ),
        ),
    ];
    rows.extend(homophily.map(|text| ("homophily", text)));
    rows.push(("features", format!("{kind}{columns}")));
    rows.push((
        "classes",
        format!(
            "{}; the rarest, {class}, has {rarest} training items, the most common {}",
            looks.classes, looks.most_common
        ),
    ));
    rows.push((
        "labels",
        format!(
            "{} train, {} validate",
            count(looks.train as u64),
            count(looks.validation as u64)
        ),
    ));
    rows
}

fn cells(one: &TriedChoice) -> Vec<String> {
    match &one.outcome {
        Outcome::Evaluated(judged) => vec![
            one.name(),
            format!("{:.2}", judged.accuracy),
            judged
                .minus_plain
                .as_ref()
                .map_or_else(|| "-".into(), difference),
            judged
                .minus_before
                .as_ref()
                .map_or_else(|| "-".into(), difference),
            real(judged.seconds),
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
            ">right, %",
            ">minus plain",
            ">minus without the last",
            ">seconds",
        ]);
        advice.tried.iter().for_each(|one| {
            table.add_row(cells(one));
        });
        let mut text = format!(
            "{}{} on {}, judged on {} training and validation items, held back in {} parts, {} fits each; test labels are not looked at.\n\
             Differences are paired, item by item (* beyond two standard errors)\n{}\n",
            output::render(&output::pairs(looks(&advice.summary))),
            self.backbone,
            self.data,
            count(advice.evaluated_items as u64),
            advice.parts,
            self.runs,
            output::render(&table)
        );
        if advice.interrupted {
            text += "interrupted: what was not reached is left out\n";
        }
        if let Some(on_edges) = self.on_edges() {
            text += &format!("{on_edges}\n");
        }
        text + &self.verdict()
    }

    fn complaint(self) -> Option<anyhow::Error> {
        let finished = self.advice.tried.len();
        self.advice.interrupted.then(|| {
            Interrupted {
                finished,
                asked: self.choices.max(finished + 1),
            }
            .into()
        })
    }
}
