//! `gnarl attack` with several models or budgets: one table, and one curve for each model.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use gnarl::model::Model;
use gnarl::study::attack::compare::{Cell, Comparison, Outcome};
use gnarl::study::attack::{AttackerAccess, LabelKnowledge, Mode, attacked_part};
use gnarl_graph::Error;
use gnarl_nn::networks::Backbone;
use gnarl_robust::attack::Attack;
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::attack::{AttackOutput, AttackRequest, peak_bytes};
use super::model::ProtocolName;
use super::study::{StudyOutput, run_study};
use crate::interrupt::Interrupted;
use crate::output::{self, Either, Report, real};
use crate::plot::{self, Line, LineChart, Point};

/// Result of `gnarl attack` with several models or budgets.
#[derive(Debug, Serialize)]
pub struct CompareReport {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    attack: &'static str,
    mode: Mode,
    labels: LabelKnowledge,
    sees: AttackerAccess,
    #[serde(serialize_with = "gnarl_nn::networks::backbone::by_name")]
    transfer: Option<Backbone>,
    /// File of the target nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    targets: Option<String>,
    runs: usize,
    seed: u64,
    /// Name of each model.
    models: Vec<String>,
    /// Specification of each model, with every option that applies filled in.
    specs: Vec<Model>,
    /// Attacks with their settings.
    attacks: Vec<Attack>,
    /// Budget of each attack in words.
    budgets: Vec<String>,
    /// Budget of each attack as the number that was given.
    amounts: Vec<f64>,
    cells: Vec<Cell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<u64>,
    seconds: f64,
    interrupted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

impl AttackRequest<'_> {
    /// Attacks every model at every budget, and an MLP, which does not use edges.
    pub fn compare(&self, attacks: Vec<Attack>) -> anyhow::Result<AttackOutput> {
        let AttackRequest {
            args,
            data,
            benchmark,
            ..
        } = *self;
        if args.write.is_some() || args.model.print_spec {
            let what = "apply to one model and one budget; name one of each";
            return Err(Error::argument("--write, --print-spec", what).into());
        }
        let models = self.compared_models(&attacks[0])?;
        for (_, model) in &models {
            model.plan(benchmark.content.task())?;
        }
        self.check_sees(&attacks[0], models.iter().map(|(_, model)| model))?;
        if args.dry_run {
            return self.dry_run(&models, &attacks);
        }
        let start = Instant::now();
        let comparison = self.comparison(models, attacks);
        let requested = comparison.models.len() * comparison.attacks.len();
        let label = format!("{} on {}", comparison.attacks[0].name(), data.name);
        let cells = run_study(&label, requested as u64, |progress| {
            let callbacks = progress.silent_training();
            Ok(comparison.run(benchmark, &callbacks, |_| progress.advance(1))?)
        })?;
        let mut report = self.compare_report(comparison, cells)?;
        report.seconds = start.elapsed().as_secs_f64();
        if let Some(stem) = &args.plot {
            report.write(stem)?;
        }
        Ok(StudyOutput::Report(Either::Right(report)))
    }

    /// Returns the models to compare, each with its name: those that were named, and an MLP.
    fn compared_models(&self, attack: &Attack) -> anyhow::Result<Vec<(String, Model)>> {
        let (args, data) = (&self.args.model, &self.data.name);
        let task = self.benchmark.content.task();
        let adapted = |model: Model| model.inference(model.inference.on(attacked_part(attack)));
        let mut models: Vec<(String, Model)> = Vec::new();
        if args.spec.is_some() {
            models.push(("spec".into(), args.model_with(data, task, adapted)?));
        } else {
            for &backbone in &args.model {
                let one = args.one_of_several(backbone, task);
                models.push((backbone.to_string(), one.model_with(data, task, adapted)?));
            }
        }
        let Some((_, first)) = models.first() else {
            return Err(Error::argument("--model", "name a model, or a file with --spec").into());
        };
        if !models
            .iter()
            .any(|(_, model)| model.backbone.is(Backbone::MLP))
        {
            let mlp = Model {
                features: first.features,
                ..Model::new(Backbone::MLP)
            };
            models.push(("mlp".into(), args.recipe.fill(mlp, data, task)));
        }
        Ok(models)
    }

    fn comparison(&self, models: Vec<(String, Model)>, attacks: Vec<Attack>) -> Comparison {
        Comparison {
            models,
            mode: self.args.mode,
            surrogate: self.transfer(),
            targets: self.targets.clone(),
            labels: self.args.labels,
            access: self.args.sees,
            runs: self.runs,
            seed: self.global.seed,
            attacks,
        }
    }

    /// Builds the report of a comparison, without its time and before any file is written.
    fn compare_report(
        &self,
        comparison: Comparison,
        cells: Vec<Cell>,
    ) -> anyhow::Result<CompareReport> {
        let args = self.args;
        let task = self.benchmark.content.task();
        let models = &comparison.models;
        let budget = |attack: &Attack| {
            attack
                .budget()
                .map_or_else(|_| attack.to_string(), |budget| budget.to_string())
        };
        Ok(CompareReport {
            data: self.data.name.clone(),
            protocol: args.model.protocol,
            recipe: args.model.recipe,
            attack: comparison.attacks[0].name(),
            mode: args.mode,
            labels: args.labels,
            sees: args.sees,
            transfer: comparison.surrogate,
            targets: args.targets.as_ref().map(|file| file.display().to_string()),
            runs: self.runs,
            seed: self.global.seed,
            specs: models
                .iter()
                .map(|(_, model)| Ok(model.plan(task)?.model))
                .collect::<anyhow::Result<_>>()?,
            models: models.iter().map(|(name, _)| name.clone()).collect(),
            budgets: comparison.attacks.iter().map(budget).collect(),
            amounts: comparison.attacks.iter().map(amount).collect(),
            interrupted: cells.len() < models.len() * comparison.attacks.len(),
            attacks: comparison.attacks,
            cells,
            peak_bytes: peak_bytes(),
            seconds: 0.0,
            files: Vec::new(),
        })
    }
}

impl CompareReport {
    fn cell(&self, model: usize, budget: usize) -> Option<&Outcome> {
        self.cells
            .iter()
            .find(|cell| (cell.model, cell.budget) == (model, budget))
            .map(|cell| &cell.outcome)
    }

    fn write(&mut self, stem: &Path) -> anyhow::Result<()> {
        self.files = plot::write_with_table(&self.chart(), self.csv(), stem)?;
        Ok(())
    }

    fn csv(&self) -> String {
        let mut text = String::from(
            "model,budget,clean_accuracy,attacked_accuracy,standard_deviation,adaptive,flips,attack_seconds\n",
        );
        for cell in &self.cells {
            let Outcome::Evaluated {
                clean_accuracy,
                attacked_accuracy,
                adaptive,
                flips,
                attack_seconds,
            } = &cell.outcome
            else {
                continue;
            };
            let std = attacked_accuracy.std;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{},{std},{adaptive},{flips},{attack_seconds}",
                self.models[cell.model],
                amount(&self.attacks[cell.budget]),
                clean_accuracy.mean,
                attacked_accuracy.mean
            );
        }
        text
    }

    fn chart(&self) -> LineChart {
        let point = |model: usize, budget: usize| match self.cell(model, budget)? {
            Outcome::Evaluated {
                attacked_accuracy: a,
                ..
            } => Some(Point {
                x: amount(&self.attacks[budget]),
                y: a.mean,
                band: (a.runs.len() > 1).then_some((a.mean - a.std, a.mean + a.std)),
            }),
            Outcome::Refused { .. } => None,
        };
        let line = |(model, name): (usize, &String)| Line {
            name: name.clone(),
            points: (0..self.attacks.len())
                .filter_map(|budget| point(model, budget))
                .collect(),
        };
        LineChart {
            title: format!("{} on {} ({})", self.attack, self.data, self.mode),
            x_label: format!("budget: {}", self.attacks[0].method().unit()),
            y_label: "test accuracy, per cent".into(),
            lines: self.models.iter().enumerate().map(line).collect(),
        }
    }
}

/// Returns the budget as the number that the user gave.
fn amount(attack: &Attack) -> f64 {
    let stored = serde_json::to_value(attack).unwrap_or_default();
    let find = |value: &serde_json::Value| value.get("budget").and_then(serde_json::Value::as_f64);
    find(&stored)
        .or_else(|| stored.as_object().and_then(|o| o.values().find_map(find)))
        .unwrap_or(0.0)
}

impl Report for CompareReport {
    fn text(&self) -> String {
        let headers: Vec<String> = std::iter::once("model".to_string())
            .chain(self.budgets.iter().map(|b| format!(">{b}")))
            .collect();
        let mut table = output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
        let mut refusals: Vec<String> = Vec::new();
        for (model, name) in self.models.iter().enumerate() {
            let mut row = vec![name.clone()];
            for budget in 0..self.attacks.len() {
                row.push(match self.cell(model, budget) {
                    Some(Outcome::Evaluated {
                        attacked_accuracy,
                        adaptive,
                        ..
                    }) => {
                        format!(
                            "{}{}",
                            attacked_accuracy.text(),
                            if *adaptive { " *" } else { "" }
                        )
                    }
                    Some(Outcome::Refused { refused }) => {
                        let line = format!("{name}: {refused}");
                        if !refusals.contains(&line) {
                            refusals.push(line);
                        }
                        "-".into()
                    }
                    None => "not run".into(),
                });
            }
            table.add_row(row);
        }
        let mut text = format!(
            "{} on {}, {}, accuracy after the attack\n{}",
            self.attack,
            self.data,
            self.mode,
            output::render(&table)
        );
        if self
            .cells
            .iter()
            .any(|cell| matches!(cell.outcome, Outcome::Evaluated { adaptive: true, .. }))
        {
            text.push_str(
                "* adaptive: the attacker used the gradients or predictions of the evaluated model\n",
            );
        }
        for line in refusals {
            text.push_str(&line);
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let memory = self.peak_bytes.map_or_else(String::new, |b| {
            format!(", peak memory {} MB", real(b as f64 / 1e6))
        });
        let runs = if self.runs == 1 {
            "1 run".to_string()
        } else {
            format!("{} runs", self.runs)
        };
        let _ = writeln!(text, "{runs} each, {} s{memory}", real(self.seconds));
        if !self.files.is_empty() {
            let _ = writeln!(text, "written: {}", self.files.join(", "));
        }
        text
    }

    fn complaint(self) -> Option<anyhow::Error> {
        let requested = self.models.len() * self.attacks.len();
        Interrupted::complaint(self.interrupted, self.cells.len(), requested)
    }
}
