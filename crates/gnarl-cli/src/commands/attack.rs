//! `gnarl attack`: fit a model, change its graph within a budget, or each graph of a set within its own, and say how many of its answers
//! turn wrong.

use clap::builder::RangedU64ValueParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use gnarl::attack::Attack;
use gnarl::model::Model;
use gnarl::study::Accuracy;
use gnarl::study::attack::{AttackRun, AttackStudy, DefendedReport, Known, Mode, attacked_part};
use gnarl::thesis::Recipe;
use gnarl::train::{Watch, median};
use gnarl_graph::Error;
use gnarl_graph::dataset::Task;
use gnarl_graph::metrics::PairedDifference;
use gnarl_graph::names::{Given, Setting};
use serde::Serialize;

use super::model::{ModelArgs, ProtocolName};
use super::train::SpecReport;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Report, real};
use crate::progress;

/// `gnarl attack`
#[derive(Debug, Args)]
pub struct AttackArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub attack: AttackOptions,
    /// evasion (a trained model's input is attacked) or poisoning (the graph, or the graphs of a set, that it is trained on)
    #[arg(long, default_value = "evasion", help_heading = "The attack")]
    pub mode: Mode,
    /// Let the attacker look into a GCN of their own instead of the model; when poisoning that is always so
    #[arg(long, help_heading = "The attack")]
    pub surrogate: bool,
    /// What the attacker takes for the classes of items that are not for training: true, or predicted by the model looked into
    #[arg(long, value_name = "KIND", default_value = "true", help_heading = "The attack")]
    pub labels: Known,
    /// Runs, each with its own seed and, where there are several, its own split; of a set, its first folds [default: 1, of a set all folds]
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
}

/// The attack and its settings, as the library's list has them.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    name: String,
    settings: Vec<Given>,
}

/// The settings of all attacks, once each.
fn settings() -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for setting in Attack::LIST.iter().flat_map(|entry| entry.settings) {
        if !all.iter().any(|known| known.flag == setting.flag) {
            all.push(*setting);
        }
    }
    all
}

impl Args for AttackOptions {
    fn augment_args(mut command: Command) -> Command {
        let names: Vec<String> = Attack::LIST.iter().map(|entry| format!("{} ({})", entry.name, entry.about)).collect();
        let arg =
            |flag: &'static str| Arg::new(flag).long(flag).help_heading("The attack").allow_negative_numbers(true);
        command = command.arg(arg("attack").value_name("KIND").required(true).help(names.join(", ")));
        for setting in settings() {
            let takers = Attack::LIST.iter().filter(|entry| entry.settings.iter().any(|s| s.flag == setting.flag));
            let takers: Vec<&str> = takers.map(|entry| entry.name).collect();
            let of =
                if takers.len() == Attack::LIST.len() { String::new() } else { format!("Of {}: ", takers.join(", ")) };
            command = command.arg(arg(setting.flag).value_name(setting.value).help(of + setting.about));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AttackOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |setting: &Setting| {
            matches.get_one::<String>(setting.flag).map(|text| (setting.name.to_string(), text.clone()))
        };
        let name = matches.get_one::<String>("attack").cloned().unwrap_or_default();
        Ok(Self { name, settings: settings().iter().filter_map(given).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl AttackOptions {
    fn attack(&self) -> gnarl_graph::Result<Attack> {
        self.name.parse::<Attack>()?.with(&self.settings)
    }
}

/// Everything needed to run it again.
#[derive(Debug, Serialize)]
pub struct AttackConfig {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    /// The model, with every option that applies filled in.
    model: Model,
    attack: Attack,
    mode: Mode,
    surrogate: bool,
    labels: Known,
    runs: usize,
    seed: u64,
}

/// What `gnarl attack` found.
#[derive(Debug, Serialize)]
pub struct AttackReport {
    data: String,
    model: String,
    attack: &'static str,
    /// Of the clean model on clean inputs, by a plain forward pass.
    test_accuracy: Accuracy,
    #[serde(skip_serializing_if = "Option::is_none")]
    val_accuracy: Option<Accuracy>,
    clean_accuracy: Accuracy,
    attacked_accuracy: Accuracy,
    /// Per cent of the test nodes or graphs that were right before and are wrong after.
    success_rate: Accuracy,
    /// The same inputs under the model's inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    defended: Option<DefendedReport>,
    /// Median milliseconds of a training step.
    epoch_ms: f64,
    /// Seconds of an attack, on average.
    attack_seconds: f64,
    seconds: f64,
    interrupted: bool,
    config: AttackConfig,
    runs: Vec<AttackRun>,
}

/// Trains, attacks and reports.
pub fn run(global: &Global, args: &AttackArgs) -> anyhow::Result<output::Either<SpecReport, AttackReport>> {
    // A wrong option should not wait for the data.
    let attack = args.attack.attack()?;
    let (data, benchmark) = args.model.benchmark_of(global, args.runs.unwrap_or(1), args.runs.unwrap_or(usize::MAX))?;
    let task = benchmark.content.task();
    let runs = match task {
        Task::Node => args.runs.unwrap_or(1),
        Task::Graph => benchmark.splits.len(),
    };
    let (mode, surrogate, known) = (args.mode, args.surrogate, args.labels);
    // The inference is set on what is attacked before the recipe fills in its radius.
    let model =
        args.model.model_with(&data.name, task, |model| model.inference(model.inference.on(attacked_part(&attack))))?;
    if args.model.print_spec {
        return Ok(output::Either::Left(SpecReport::new(&model, task)?));
    }
    if !args.model.policy.is_empty() && args.model.policy.len() > 1 {
        return Err(Error::argument("--policy", "an attacked model takes its exits by one policy").into());
    }
    let study = AttackStudy { model, attack, mode, surrogate, known, runs, seed: global.seed };
    study.check()?;
    let bar =
        progress::steps(&format!("{attack} against {} on {}", model.backbone, data.name), study.epochs(&benchmark)?);
    let result = study.run(&benchmark, &Watch { on_epoch: &|_, _| bar.inc(1), stop: interrupt::flag() })?;
    bar.finish_and_clear();
    if result.runs.is_empty() {
        return Err(Interrupted { finished: 0, asked: runs }.into());
    }
    let count = result.runs.len() as f64;
    Ok(output::Either::Right(AttackReport {
        data: data.name.clone(),
        model: model.backbone.to_string(),
        attack: attack.name(),
        test_accuracy: result.over(|r| r.clean_accuracy)?,
        val_accuracy: Accuracy::of_all(result.runs.iter().map(|r| r.val_accuracy))?,
        clean_accuracy: result.over(|r| r.clean_accuracy)?,
        attacked_accuracy: result.over(|r| r.attacked_accuracy)?,
        success_rate: result.over(|r| r.success_rate)?,
        defended: result.defended()?,
        epoch_ms: median(result.runs.iter().map(|r| r.epoch_ms).collect()),
        attack_seconds: result.runs.iter().map(|r| r.attack_seconds).sum::<f64>() / count,
        seconds: result.seconds,
        interrupted: result.unfinished > 0,
        config: AttackConfig {
            data: data.name,
            protocol: args.model.protocol,
            recipe: args.model.recipe,
            model: model.plan(task)?.model,
            attack,
            mode,
            surrogate,
            labels: known,
            runs,
            seed: global.seed,
        },
        runs: result.runs,
    }))
}

impl Report for AttackReport {
    fn text(&self) -> String {
        let AttackConfig { model, attack, mode, surrogate, .. } = &self.config;
        let count = self.runs.len() as f64;
        let mean = |f: fn(&AttackRun) -> f64| self.runs.iter().map(f).sum::<f64>() / count;
        let mut rows = vec![
            ("clean accuracy", self.clean_accuracy.text()),
            ("attacked accuracy", self.attacked_accuracy.text()),
            ("success rate", self.success_rate.text()),
        ];
        if let Some(defended) = &self.defended {
            let line = |accuracy: &Accuracy, difference: &PairedDifference| {
                format!("{} ({:+.2} ± {:.2})", accuracy.text(), difference.mean, difference.standard_error)
            };
            rows.extend([
                ("inference", model.inference.to_string()),
                ("  clean", line(&defended.clean_accuracy, &defended.clean_difference)),
                ("  attacked", line(&defended.attacked_accuracy, &defended.attacked_difference)),
            ]);
            let trusted: Vec<f64> = self.runs.iter().filter_map(|r| r.defended?.trusted).collect();
            let untrusted = (!trusted.is_empty()).then(|| trusted.iter().filter(|&&t| t == 0.0).count());
            rows.extend(output::untrusted(untrusted, trusted.len()).map(|line| ("  tested", line)));
        }
        rows.extend([
            ("attack", attack.budget().map_or_else(|_| attack.to_string(), |budget| format!("{attack}, {budget}"))),
            ("mode", if *surrogate { format!("{mode}, through a surrogate") } else { mode.to_string() }),
        ]);
        let (added, removed) = (mean(|r| r.edges_added as f64), mean(|r| r.edges_removed as f64));
        if added + removed > 0.0 {
            rows.push(("edges added, removed", format!("{}, {}", real(added), real(removed))));
        }
        let moved = mean(|r| r.features.l2);
        if moved > 0.0 {
            let largest = real(mean(|r| r.features.largest_l2));
            rows.push(("features moved by", format!("{} in all, {largest} at most for a node", real(moved))));
        }
        rows.extend([
            ("runs", self.runs.len().to_string()),
            ("operator", model.operator.to_string()),
            ("weights", model.weights.to_string()),
            ("attack took", format!("{} s", real(self.attack_seconds))),
            ("all", format!("{} s", real(self.seconds))),
        ]);
        if self.interrupted {
            let (finished, asked) = (self.runs.len(), self.config.runs);
            rows.push(("interrupted", format!("yes: {finished} of {asked} runs were finished and count")));
        }
        format!("{} on {}\n{}", self.model, self.data, output::render(&output::pairs(rows)))
    }

    fn complaint(self) -> Option<anyhow::Error> {
        self.interrupted.then(|| Interrupted { finished: self.runs.len(), asked: self.config.runs }.into())
    }
}
