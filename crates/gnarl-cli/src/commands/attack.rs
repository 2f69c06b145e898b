//! `gnarl attack`: fits a model, perturbs its graph within a budget, and counts the predictions
//! that turn wrong. In a set, each graph has its own budget.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use gnarl::model::fit::FitOptions;
use gnarl::model::{Model, Section};
use gnarl::study::Accuracy;
use gnarl::study::attack::{
    AttackResult, AttackRun, AttackStudy, AttackerAccess, DefendedReport, GivenStudy,
    LabelKnowledge, Mode, Targets, attacked_part,
};
use gnarl::study::attack_compare::targets_of;
use gnarl::study::forecast::Planned;
use gnarl::study::portrait::walk_along;
use gnarl_data::Task;
use gnarl_data::{Benchmark, Dataset};
use gnarl_graph::metrics::PairedDifference;
use gnarl_graph::settings::{Setting, SettingText, by_flag, join_names};
use gnarl_graph::{Error, Graph};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::{Callbacks, median};
use gnarl_robust::attack::{Attack, Attacked, Part, Requirement};
use gnarl_robust::inference::PerturbationTarget;
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::attack_compare::CompareReport;
use super::dry_run::{DryRun, SpecOrDryRun};
use super::model::{ModelArgs, ProtocolName};
use super::model_page;
use super::train::SpecReport;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::options::{choice_option, setting_option};
use crate::output::{self, Either, Report, real};
use crate::progress;

/// Arguments of `gnarl attack`.
#[derive(Debug, Args)]
pub struct AttackArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub attack: AttackOptions,
    /// Threat model: evasion (the input of a trained model is attacked) or poisoning (the graph, or
    /// the graphs of a set, are attacked before training)
    #[arg(long, default_value = "evasion", help_heading = "The attack")]
    pub mode: Mode,
    /// Attack through a surrogate GCN instead of the model, as by --transfer gcn; poisoning always
    /// does so
    #[arg(long, help_heading = "The attack", conflicts_with = "transfer")]
    pub surrogate: bool,
    /// Attack through a surrogate model of this kind: the weaker transfer attack, which does not
    /// use the model itself
    #[arg(long, value_name = "MODEL", help_heading = "The attack")]
    pub transfer: Option<Backbone>,
    /// Target nodes to attack and to evaluate: a list as JSON, or one on each line, by name or
    /// number [default: test nodes; for nettack forty of them by margin, as in its published
    /// protocol]
    #[arg(long, value_name = "FILE", help_heading = "The attack")]
    pub targets: Option<PathBuf>,
    /// Evaluate the model on this attacked graph instead of attacking: a SciPy adjacency, with
    /// features if it has them
    #[arg(long, value_name = "FILE", help_heading = "The attack", conflicts_with_all = ["attack", "transfer", "surrogate", "write", "plot", "labels", "sees"])]
    pub on: Option<PathBuf>,
    /// Write the attacked graph of the first run as FILE.npz for SciPy and gnarl, and its flips in
    /// their order as FILE.csv
    #[arg(long, value_name = "FILE.npz", help_heading = "The attack")]
    pub write: Option<PathBuf>,
    /// Write a page about the first run: the graph with a slider through the flips of its edges,
    /// the nodes whose class changed, and the predictions of the model
    #[arg(
        long,
        value_name = "FILE.html",
        help_heading = "The attack",
        conflicts_with = "on"
    )]
    pub page: Option<PathBuf>,
    /// Write the table of several models or budgets as STEM.csv and plot it as STEM.svg and
    /// STEM.png
    #[arg(long, value_name = "STEM", help_heading = "The attack")]
    pub plot: Option<PathBuf>,
    /// Print the planned runs and an estimate of their time, from a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec", help_heading = "The attack")]
    pub dry_run: bool,
    /// Class labels that the attacker has for nodes or graphs outside the training set: true, or
    /// predicted by the attacker's model
    #[arg(
        long,
        value_name = "KIND",
        default_value = "true",
        help_heading = "The attack"
    )]
    pub labels: LabelKnowledge,
    /// Access of the attacker to a model with an inference rule: its predictions, or the network
    /// alone
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "predictions",
        help_heading = "The attack"
    )]
    pub sees: AttackerAccess,
    /// Continue although the estimate exceeds the memory or the time; the estimate is printed
    /// nevertheless
    #[arg(long)]
    pub force: bool,
    /// Number of runs, each with its own seed and, if there are several splits, its own split; for
    /// a set, its first folds [default: 1, for a set all folds]
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
}

/// The attack and its settings, as listed by the library.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    name: String,
    /// Settings by option.
    settings: Vec<SettingText>,
}

fn section() -> Section {
    Section::of_axis("attack", "The attack", Attack::LIST)
}

impl Args for AttackOptions {
    fn augment_args(mut command: Command) -> Command {
        let section = section();
        if let Some(option) = choice_option(&section) {
            command = command.arg(option.required_unless_present("on"));
        }
        for setting in &section.settings {
            command = command.arg(setting_option(&section, setting));
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
            matches
                .get_one::<String>(setting.flag)
                .map(|text| (setting.flag.to_string(), text.clone()))
        };
        let name = matches
            .get_one::<String>("attack")
            .cloned()
            .unwrap_or_default();
        Ok(Self {
            name,
            settings: section().settings.iter().filter_map(given).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl AttackOptions {
    /// Fails if settings were given that only an attack has.
    fn none(&self) -> gnarl_graph::Result<()> {
        match self.settings.first() {
            Some((flag, _)) => {
                let what = "is a setting of an attack, and --on judges a graph that is attacked already; leave one of them out";
                Err(Error::argument(format!("--{flag}"), what))
            }
            None => Ok(()),
        }
    }

    /// Returns the attack, once for each named budget.
    fn attacks(&self) -> gnarl_graph::Result<Vec<Attack>> {
        let attack = self.name.parse::<Attack>()?;
        // A setting is stored under the name that the attack has for it.
        let own = attack.info().settings;
        let all = section().settings;
        let by_name = |(flag, text): &SettingText| {
            let setting = own.iter().chain(&all).find(|known| known.flag == flag);
            let name = setting.map_or(flag.as_str(), |known| known.name);
            (name.to_string(), text.clone())
        };
        let as_given = |e: Error| by_flag(&all, e);
        let (budgets, others): (Vec<SettingText>, Vec<SettingText>) = self
            .settings
            .iter()
            .map(by_name)
            .partition(|(name, _)| name == "budget");
        let Some((name, budgets)) = budgets.into_iter().next() else {
            return Ok(vec![attack.with(&others).map_err(as_given)?]);
        };
        let one = |budget: &str| {
            let mut settings = others.clone();
            settings.push((name.clone(), budget.trim().to_string()));
            attack.with(&settings).map_err(as_given)
        };
        budgets.split(',').map(one).collect()
    }
}

/// Approximate number of graph states that a page shows.
const STEPS_SHOWN: usize = 40;

/// Configuration needed to run the attack again.
#[derive(Debug, Serialize)]
pub struct AttackConfig {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    /// The model, with every option that applies filled in.
    model: Model,
    #[serde(skip_serializing_if = "Option::is_none")]
    attack: Option<Attack>,
    /// File of the attacked graph that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    mode: Mode,
    #[serde(serialize_with = "gnarl_nn::networks::backbone::by_name")]
    surrogate: Option<Backbone>,
    /// File of the target nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    targets: Option<String>,
    labels: LabelKnowledge,
    sees: AttackerAccess,
    runs: usize,
    seed: u64,
}

/// Result of `gnarl attack`.
#[derive(Debug, Serialize)]
pub struct AttackReport {
    data: String,
    model: String,
    attack: &'static str,
    /// Test accuracy of the clean model on clean inputs, by a plain forward pass.
    test_accuracy: Accuracy,
    #[serde(skip_serializing_if = "Option::is_none")]
    val_accuracy: Option<Accuracy>,
    clean_accuracy: Accuracy,
    attacked_accuracy: Accuracy,
    /// Per cent of the test nodes or graphs that were correct before the attack and are wrong after
    /// it.
    success_rate: Accuracy,
    /// Results on the same inputs under the model's inference rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    defended: Option<DefendedReport>,
    /// True if the attack is adaptive: it used the gradients or predictions of the evaluated model,
    /// including its inference rule and defences.
    adaptive: bool,
    /// Mean number of flipped edges and changed feature entries; noise changes all entries.
    flips: f64,
    /// Median milliseconds of a training step.
    epoch_ms: f64,
    /// Mean seconds of an attack.
    attack_seconds: f64,
    /// Peak memory of the whole run in bytes, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<u64>,
    seconds: f64,
    interrupted: bool,
    /// Files written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// Parts of a given file that a graph cannot hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    config: AttackConfig,
    runs: Vec<AttackRun>,
}

/// Output of the command: a spec, a plan, or one of two reports.
pub type Printed = Either<SpecOrDryRun, Either<AttackReport, CompareReport>>;

/// Trains, attacks and reports.
pub fn run(global: &Global, args: &AttackArgs) -> anyhow::Result<Printed> {
    gnarl_graph::limits::force(args.force.then_some(progress::forced));
    // A wrong option should fail before the data is loaded.
    let attacks = match args.on.is_some() {
        true => args.attack.none().map(|()| Vec::new())?,
        false => args.attack.attacks()?,
    };
    let targets = args
        .targets
        .as_deref()
        .map(|file| Ok::<_, Error>((file, read_targets(file)?)))
        .transpose()?;
    if let Some(file) = &args.write {
        check_ending(file)?;
    }
    let (data, benchmark) = args.model.benchmark_of(
        global,
        args.runs.unwrap_or(1),
        args.runs.unwrap_or(usize::MAX),
    )?;
    let task = benchmark.content.task();
    let runs = match task {
        Task::Node => args.runs.unwrap_or(1),
        Task::Graph => benchmark.splits.len(),
    };
    if task == Task::Graph && (args.on.is_some() || args.write.is_some() || args.targets.is_some())
    {
        return Err(Error::argument(
            "--on, --write, --targets",
            "belong to one graph, and this is a set",
        )
        .into());
    }
    let targets = match &targets {
        Some((file, nodes)) => found_targets(file, nodes, benchmark.content.graph()?)?,
        None => Targets::default(),
    };
    if args.page.is_some() {
        model_page::check(&data.name, &benchmark.content)?;
        let refused = |what: &str| Error::argument("--page", format!("shows {what}"));
        if args.mode == Mode::Poisoning {
            return Err(refused(
                "a trained model whose input is attacked; leave --mode poisoning out",
            )
            .into());
        }
        if args.model.model.len() > 1 || attacks.len() > 1 {
            return Err(
                refused("one model under one attack; name one --model and one --budget").into(),
            );
        }
    }
    if args.model.policy.len() > 1 {
        return Err(Error::argument(
            "--policy",
            "an attacked model takes its exits by one policy",
        )
        .into());
    }
    if args.plot.is_some() && args.model.model.len() < 2 && attacks.len() < 2 {
        let what = "draws a curve for each model; name several with --model A,B or several budgets with --budget 0,0.05,0.1";
        return Err(Error::argument("--plot", what).into());
    }
    let study = AttackRequest {
        args,
        global,
        data: &data,
        benchmark: &benchmark,
        targets,
        runs,
    };
    match (&args.on, &attacks[..]) {
        (Some(file), _) => study.on_given(file),
        (None, [attack]) if args.model.model.len() < 2 => study.one(*attack),
        (None, _) => study.compare(attacks),
    }
}

/// A request with its data.
pub(super) struct AttackRequest<'a> {
    pub args: &'a AttackArgs,
    pub global: &'a Global,
    pub data: &'a Dataset,
    pub benchmark: &'a Benchmark,
    pub targets: Targets,
    pub runs: usize,
}

impl AttackRequest<'_> {
    pub fn transfer(&self) -> Option<Backbone> {
        self.args
            .transfer
            .or(self.args.surrogate.then_some(Backbone::GCN))
    }

    /// Fails if `--sees network` is given for an attack or model to which it does not apply.
    pub fn check_sees<'m>(
        &self,
        attack: &Attack,
        models: impl IntoIterator<Item = &'m Model>,
    ) -> gnarl_graph::Result<()> {
        let would_see = self.args.mode == Mode::Evasion
            && self.transfer().is_none()
            && attack.is_black_box()
            && models.into_iter().any(|model| !model.inference.is_plain());
        if self.args.sees == AttackerAccess::Network && !would_see {
            let by_answers: Vec<&str> = Attack::all()
                .filter(|a| a.is_black_box())
                .map(|a| a.info().name)
                .collect();
            let what = format!(
                "network is for a trained model with an inference, attacked without --transfer by {}; leave it out",
                join_names(&by_answers)
            );
            return Err(Error::argument("--sees", what));
        }
        Ok(())
    }

    /// Plans `--dry-run`: each model under each attack, or on the given attacked graph.
    pub fn would_run(
        &self,
        models: &[(String, Model)],
        attacks: &[Attack],
    ) -> anyhow::Result<Printed> {
        // Poisoning trains a second model, on the poisoned graph.
        let poisons = self.args.mode == Mode::Poisoning;
        let mut cells = Vec::new();
        for (name, model) in models {
            let names: Vec<String> = match attacks {
                [] => vec![name.clone()],
                _ => attacks
                    .iter()
                    .map(|attack| format!("{name}, {}", named(attack)))
                    .collect(),
            };
            let fits = self.runs * if poisons { 2 } else { 1 };
            cells.extend(names.into_iter().map(|name| Planned {
                name,
                model: Ok(*model),
                fits,
                passes: 0.0,
            }));
        }
        let left_out = match self.transfer() {
            Some(surrogate) => format!("the attacks and the {surrogate} that they look into"),
            None => "the attacks".to_string(),
        };
        let planned = DryRun::new(
            self.global,
            "attack",
            self.benchmark,
            &cells,
            Some(left_out),
        )?;
        Ok(Either::Left(Either::Right(planned)))
    }

    /// Attacks one model with one attack.
    fn one(&self, attack: Attack) -> anyhow::Result<Printed> {
        let Self {
            args,
            global,
            data,
            benchmark,
            runs,
            ..
        } = *self;
        let task = benchmark.content.task();
        // The attacked part of the input must be set before the recipe fills in the radius of the
        // inference rule.
        let settle = |model: Model| model.inference(model.inference.on(attacked_part(&attack)));
        let model = args.model.model_with(&data.name, task, settle)?;
        if args.model.print_spec {
            return Ok(Either::Left(Either::Left(SpecReport::new(&model, task)?)));
        }
        let study = AttackStudy {
            model,
            attack,
            mode: args.mode,
            surrogate: self.transfer(),
            targets: self.targets.clone(),
            labels: args.labels,
            access: args.sees,
            runs,
            seed: global.seed,
        };
        study.check()?;
        self.check_sees(&attack, [&model])?;
        if args.dry_run {
            return self.would_run(&[(model.backbone.to_string(), model)], &[attack]);
        }
        let label = format!("{attack} against {} on {}", model.backbone, data.name);
        let bar = progress::steps(&label, study.epochs(benchmark)?);
        let result = study.run(
            benchmark,
            &Callbacks::new(&|_, _| bar.inc(1), interrupt::flag()),
        )?;
        bar.finish_and_clear();
        let mut files = match (&args.write, &result.first) {
            (Some(file), Some(attacked)) => {
                write_attacked(file, benchmark.content.graph()?, attacked)?
            }
            _ => Vec::new(),
        };
        if let (Some(file), Some(attacked)) = (&args.page, &result.first) {
            self.write_page(file, &model, attack, attacked)?;
            files.push(file.display().to_string());
        }
        self.report(Some(attack), &model, result, study.is_adaptive(), files)
    }

    /// Writes the page of the first run. Its model is fitted once more: the same seed gives the
    /// same model.
    fn write_page(
        &self,
        file: &Path,
        model: &Model,
        attack: Attack,
        attacked: &Attacked,
    ) -> anyhow::Result<()> {
        let Self {
            global,
            data,
            benchmark,
            ..
        } = *self;
        let (content, split) = (&benchmark.content, &benchmark.splits[0]);
        let ready = model.ready(&data.name, content, FitOptions::default())?;
        let fitted = ready.fit(
            split,
            global.seed,
            &Callbacks::stopped_by(interrupt::flag()),
        )?;
        let walk = walk_along(
            &fitted,
            content.graph()?,
            split,
            &attacked.flips,
            STEPS_SHOWN,
        )?;
        let title = attack.to_string();
        let shown = (!walk.flips.is_empty()).then_some((title.as_str(), &walk));
        model_page::write(file, &data.name, content, &fitted, shown, global.seed)
    }

    /// Evaluates one model on a graph that is attacked already.
    fn on_given(&self, file: &Path) -> anyhow::Result<Printed> {
        let Self {
            args,
            global,
            data,
            benchmark,
            runs,
            ..
        } = *self;
        let graph = benchmark.content.graph()?;
        let read = gnarl_data::attacked::read_onto(graph, file)?;
        let features = match read.scaling {
            Some(name) => name
                .parse()
                .map_err(|e: Error| Error::data(file, "attr_scaling", e.to_string()))?,
            None => FeatureScaling::AsLoaded,
        };
        let model = args.model.model(&data.name, Task::Node)?;
        if args.model.print_spec {
            return Ok(Either::Left(Either::Left(SpecReport::new(
                &model,
                Task::Node,
            )?)));
        }
        if args.dry_run {
            return self.would_run(&[(model.backbone.to_string(), model)], &[]);
        }
        let study = GivenStudy {
            model,
            mode: args.mode,
            features,
            runs,
            seed: global.seed,
        };
        let epochs = model.plan(Task::Node)?.training.epochs as u64;
        let trainings = runs as u64 * if args.mode == Mode::Poisoning { 2 } else { 1 };
        let bar = progress::steps(
            &format!("{} on {}", model.backbone, file.display()),
            epochs * trainings,
        );
        let on_epoch = |_: usize, _: &_| bar.inc(1);
        let watch = Callbacks::new(&on_epoch, interrupt::flag());
        let result = study.run(benchmark, &read.graph, &self.targets, &watch)?;
        bar.finish_and_clear();
        let printed = self.report(None, &model, result, false, Vec::new())?;
        Ok(match printed {
            Either::Right(Either::Left(report)) => Either::Right(Either::Left(AttackReport {
                notes: read.notes,
                ..report
            })),
            other => other,
        })
    }

    fn report(
        &self,
        attack: Option<Attack>,
        model: &Model,
        result: AttackResult,
        adaptive: bool,
        files: Vec<String>,
    ) -> anyhow::Result<Printed> {
        let Self {
            args,
            global,
            data,
            runs,
            ..
        } = *self;
        if result.runs.is_empty() {
            let interrupted = Interrupted {
                finished: 0,
                asked: runs,
            };
            // The partial results are still reported.
            return Err(match files.is_empty() {
                true => interrupted.into(),
                false => anyhow::anyhow!("what was found until then is in {}", files.join(", "))
                    .context(interrupted),
            });
        }
        let count = result.runs.len() as f64;
        let spent =
            |run: &AttackRun| (run.edges_added + run.edges_removed + run.features.entries) as f64;
        Ok(Either::Right(Either::Left(AttackReport {
            data: data.name.clone(),
            model: model.backbone.to_string(),
            attack: attack.map_or("given", |attack| attack.name()),
            test_accuracy: result.over(|r| r.clean_accuracy)?,
            val_accuracy: Accuracy::of_all(result.runs.iter().map(|r| r.val_accuracy))?,
            clean_accuracy: result.over(|r| r.clean_accuracy)?,
            attacked_accuracy: result.over(|r| r.attacked_accuracy)?,
            success_rate: result.over(|r| r.success_rate)?,
            defended: result.defended()?,
            adaptive,
            flips: result.runs.iter().map(spent).sum::<f64>() / count,
            epoch_ms: median(result.runs.iter().map(|r| r.epoch_ms).collect()),
            attack_seconds: result.runs.iter().map(|r| r.attack_seconds).sum::<f64>() / count,
            peak_bytes: peak_bytes(),
            seconds: result.seconds,
            interrupted: result.unfinished > 0,
            files,
            notes: Vec::new(),
            config: AttackConfig {
                data: data.name.clone(),
                protocol: args.model.protocol,
                recipe: args.model.recipe,
                model: model.plan(self.benchmark.content.task())?.model,
                attack,
                on: args.on.as_ref().map(|file| file.display().to_string()),
                mode: args.mode,
                surrogate: self.transfer(),
                targets: args.targets.as_ref().map(|file| file.display().to_string()),
                labels: args.labels,
                sees: args.sees,
                runs,
                seed: global.seed,
            },
            runs: result.runs,
        })))
    }
}

/// Describes an attack with its budget.
fn named(attack: &Attack) -> String {
    attack.budget().map_or_else(
        |_| attack.to_string(),
        |budget| format!("{attack}, {budget}"),
    )
}

/// Returns the peak memory of this process in bytes, if the system reports it.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Reads the target nodes of a file, each with its line. The file is a list as JSON, the published
/// form with `attacked_test_nodes`, or one node on each line.
fn read_targets(file: &Path) -> gnarl_graph::Result<Vec<(usize, String)>> {
    #[derive(serde::Deserialize)]
    struct Published {
        attacked_test_nodes: Vec<serde_json::Value>,
    }
    const EXPECTED: &str = "a list of nodes as JSON is expected, or one node on each line";
    let bytes = std::fs::read(file).map_err(|e| Error::io(file, e))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::data(file, "targets", format!("no text: {EXPECTED}")))?;
    let start = text.trim_start();
    let faulty = |e: serde_json::Error| Error::data(file, format!("line {}", e.line()), EXPECTED);
    let of_json = |nodes: Vec<serde_json::Value>| {
        let word = |value: serde_json::Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string)
        };
        nodes.into_iter().map(|value| (1, word(value))).collect()
    };
    let nodes: Vec<(usize, String)> = if start.starts_with('{') {
        of_json(
            serde_json::from_str::<Published>(&text)
                .map_err(faulty)?
                .attacked_test_nodes,
        )
    } else if start.starts_with('[') {
        of_json(serde_json::from_str(&text).map_err(faulty)?)
    } else {
        let lines = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim().is_empty());
        lines
            .map(|(line, at)| (at, line.trim().to_string()))
            .collect()
    };
    match nodes.is_empty() {
        true => Err(Error::data(
            file,
            "targets",
            format!("there are none: {EXPECTED}"),
        )),
        false => Ok(nodes),
    }
}

/// Finds the target nodes in the graph: by name if the graph has names, else by number.
fn found_targets(
    file: &Path,
    nodes: &[(usize, String)],
    graph: &Graph,
) -> gnarl_graph::Result<Targets> {
    let names = graph.node_names().unwrap_or_default();
    let by_name: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let mut first: HashMap<u32, usize> = HashMap::new();
    let found = |(line, node): &(usize, String)| {
        let known = by_name
            .get(node.as_str())
            .copied()
            .or_else(|| node.parse().ok());
        let expected = if names.is_empty() {
            "a whole number is expected"
        } else {
            "a node's name, or its number, is expected"
        };
        let u = known.ok_or_else(|| {
            Error::data(
                file,
                format!("line {line}"),
                format!("'{node}' is no node: {expected}"),
            )
        })?;
        match first.insert(u, *line) {
            None => Ok(u),
            Some(before) => {
                let what = format!(
                    "'{node}' is there twice, on line {before} too, and counts once; leave one out"
                );
                Err(Error::data(file, format!("line {line}"), what))
            }
        }
    };
    Ok(targets_of(
        nodes
            .iter()
            .map(found)
            .collect::<gnarl_graph::Result<_>>()?,
    ))
}

/// Fails if the ending of the file is not that of its format.
fn check_ending(file: &Path) -> gnarl_graph::Result<()> {
    match file.extension().is_some_and(|ending| ending == "npz") {
        true => Ok(()),
        false => Err(Error::argument(
            "--write",
            format!("{}: a name that ends in .npz is expected", file.display()),
        )),
    }
}

/// Writes the attacked graph for SciPy, and its flips in their order.
fn write_attacked(
    file: &Path,
    original: &Graph,
    attacked: &Attacked,
) -> anyhow::Result<Vec<String>> {
    let scaling =
        (attacked.features != FeatureScaling::AsLoaded).then(|| attacked.features.to_string());
    gnarl_data::npz_writer::save_scaled(file, &attacked.graph, scaling.as_deref())?;
    let name = |u: u32| original.node_name(u);
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["order", "change", "node", "other", "target"])?;
    for (i, flip) in attacked.flips.iter().enumerate() {
        let (change, u, other) = match flip.part {
            Part::Edge(u, v) if original.has_edge(u, v) => ("remove", u, name(v)),
            Part::Edge(u, v) => ("add", u, name(v)),
            Part::Feature(u, column) => ("feature", u, column.to_string()),
        };
        let target = flip.target.map_or(String::new(), name);
        csv.write_record([&(i + 1).to_string(), change, &name(u), &other, &target])?;
    }
    let csv = csv.into_inner().map_err(|e| e.into_error())?;
    let list = file.with_extension("csv");
    output::write_whole(&list, csv)?;
    Ok([file, &list].map(|f| f.display().to_string()).to_vec())
}

impl AttackReport {
    /// Returns true if the attacker used the network past its inference rule.
    fn sees_less(&self) -> bool {
        let asks = self
            .config
            .attack
            .is_some_and(|attack| attack.queries_model());
        asks && self.config.mode == Mode::Evasion && !self.config.model.inference.is_plain()
    }

    /// Describes the threat model.
    fn mode_text(&self, mode: Mode) -> String {
        let eyes = match (self.config.surrogate, self.adaptive) {
            (Some(model), _) => format!(", through a {model} of the attacker's own"),
            (None, true) if !self.config.model.inference.is_plain() => {
                ", adaptive: by the answers of this very model, straight through its inference"
                    .to_string()
            }
            (None, true) => {
                let follows = self
                    .config
                    .attack
                    .is_some_and(|attack| attack.needs(Requirement::Gradients));
                format!(
                    ", adaptive: by the {} of this very model",
                    if follows { "gradients" } else { "answers" }
                )
            }
            (None, false) if self.sees_less() => {
                ", not adaptive: by the network inside, without its inference".to_string()
            }
            (None, false) => String::new(),
        };
        format!("{mode}{eyes}")
    }
}

impl Report for AttackReport {
    fn text(&self) -> String {
        let AttackConfig {
            model,
            attack,
            mode,
            ..
        } = &self.config;
        let count = self.runs.len() as f64;
        let mean = |f: fn(&AttackRun) -> f64| self.runs.iter().map(f).sum::<f64>() / count;
        let mut rows = vec![
            ("clean accuracy", self.clean_accuracy.text()),
            ("attacked accuracy", self.attacked_accuracy.text()),
            ("success rate", self.success_rate.text()),
        ];
        if let Some(defended) = &self.defended {
            let line = |accuracy: &Accuracy, difference: &PairedDifference| {
                format!("{} ({})", accuracy.text(), output::difference(difference))
            };
            rows.extend([
                ("inference", model.inference.to_string()),
                (
                    "  clean",
                    line(&defended.clean_accuracy, &defended.clean_difference),
                ),
                (
                    "  attacked",
                    line(&defended.attacked_accuracy, &defended.attacked_difference),
                ),
            ]);
            let trusted: Vec<f64> = self
                .runs
                .iter()
                .filter_map(|r| r.defended?.trusted)
                .collect();
            let untrusted =
                (!trusted.is_empty()).then(|| trusted.iter().filter(|&&t| t == 0.0).count());
            rows.extend(output::untrusted(untrusted, trusted.len()).map(|line| ("  tested", line)));
        }
        let made = match attack {
            Some(attack) => attack.budget().map_or_else(
                |_| attack.to_string(),
                |budget| format!("{attack}, {budget}"),
            ),
            None => format!("given by {}", self.config.on.as_deref().unwrap_or("a file")),
        };
        rows.extend([("attack", made), ("mode", self.mode_text(*mode))]);
        let (added, removed) = (
            mean(|r| r.edges_added as f64),
            mean(|r| r.edges_removed as f64),
        );
        // An attack on edges that found none to flip is reported as such.
        let on_edges =
            attack.is_some_and(|attack| attacked_part(&attack) == PerturbationTarget::Structure);
        if added + removed > 0.0 || on_edges {
            rows.push((
                "edges added, removed",
                format!("{}, {}", real(added), real(removed)),
            ));
        }
        let moved = mean(|r| r.features.l2);
        if moved > 0.0 {
            let largest = real(mean(|r| r.features.largest_l2));
            rows.push((
                "features moved by",
                format!("{} in all, {largest} at most for a node", real(moved)),
            ));
        }
        rows.extend([
            ("runs", self.runs.len().to_string()),
            ("operator", model.operator.to_string()),
            ("weights", model.weights.to_string()),
            ("attack took", format!("{} s", real(self.attack_seconds))),
            ("all", format!("{} s", real(self.seconds))),
        ]);
        rows.extend(
            self.peak_bytes
                .map(|bytes| ("peak memory", format!("{} MB", real(bytes as f64 / 1e6)))),
        );
        rows.extend((!self.files.is_empty()).then(|| ("written", self.files.join(", "))));
        rows.extend(self.notes.iter().map(|note| ("of the file", note.clone())));
        if self.interrupted {
            let (finished, asked) = (self.runs.len(), self.config.runs);
            rows.push((
                "interrupted",
                format!("yes: {finished} of {asked} runs were finished and count"),
            ));
        }
        format!(
            "{} on {}\n{}",
            self.model,
            self.data,
            output::render(&output::pairs(rows))
        )
    }

    fn complaint(self) -> Option<anyhow::Error> {
        self.interrupted.then(|| {
            Interrupted {
                finished: self.runs.len(),
                asked: self.config.runs,
            }
            .into()
        })
    }
}
