//! `gnarl attack`: fits a model, perturbs its graph within a budget, and measures its accuracy.
//! In a set, each graph has its own budget.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::builder::RangedU64ValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use gnarl::model::fit::FitOptions;
use gnarl::model::{Model, Section};
use gnarl::study::Accuracy;
use gnarl::study::attack::{
    AttackResult, AttackRun, AttackStudy, AttackedGraphStudy, AttackerAccess, DefendedReport,
    LabelKnowledge, Mode, Targets, attacked_part,
};
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
use super::dry_run::DryRun;
use super::model::{ModelArgs, ProtocolName};
use super::model_page;
use super::study::{StudyOutput, run_study};
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
    fn refuse_settings(&self) -> gnarl_graph::Result<()> {
        match self.settings.first() {
            Some((flag, _)) => {
                let what = "is a setting of --attack, and --on evaluates a graph that is already attacked; leave one of them out";
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

/// Output of the command; its report is about one attack on one model, or compares several.
pub type AttackOutput = StudyOutput<Either<AttackReport, CompareReport>>;

/// Trains, attacks and reports.
pub fn run(global: &Global, args: &AttackArgs) -> anyhow::Result<AttackOutput> {
    gnarl_graph::limits::force(args.force.then_some(progress::print_forced));
    // A wrong option should fail before the data is loaded.
    let attacks = if args.on.is_some() {
        args.attack.refuse_settings()?;
        Vec::new()
    } else {
        args.attack.attacks()?
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
            "apply to one graph, and the dataset is a set of graphs; leave them out",
        )
        .into());
    }
    let targets = match &targets {
        Some((file, nodes)) => found_targets(file, nodes, benchmark.content.graph()?)?,
        None => Targets::default(),
    };
    args.check(&data.name, &benchmark, attacks.len())?;
    let study = AttackRequest {
        args,
        global,
        data: &data,
        benchmark: &benchmark,
        targets,
        runs,
    };
    match (&args.on, &attacks[..]) {
        (Some(file), _) => study.evaluate_given(file),
        (None, [attack]) if args.model.model.len() < 2 => study.attack_one(*attack),
        (None, _) => study.compare(attacks),
    }
}

impl AttackArgs {
    /// Fails if an option does not apply to the data or to so many attacks.
    fn check(&self, data: &str, on: &Benchmark, attacks: usize) -> gnarl_graph::Result<()> {
        let models = self.model.model.len();
        if self.page.is_some() {
            model_page::check(data, &on.content)?;
            let refused = |what: &str| Err(Error::argument("--page", format!("shows {what}")));
            if self.mode == Mode::Poisoning {
                return refused(
                    "a trained model whose input is attacked; leave --mode poisoning out",
                );
            }
            if models > 1 || attacks > 1 {
                return refused("one model under one attack; name one --model and one --budget");
            }
        }
        if self.model.policy.len() > 1 {
            let what = "an attacked model takes its exits by one policy; name one";
            return Err(Error::argument("--policy", what));
        }
        if self.plot.is_some() && models < 2 && attacks < 2 {
            let what = "plots a curve for each model; name several with --model A,B or several budgets with --budget 0,0.05,0.1";
            return Err(Error::argument("--plot", what));
        }
        Ok(())
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
        let applies = self.args.mode == Mode::Evasion
            && self.transfer().is_none()
            && attack.is_black_box()
            && models.into_iter().any(|model| !model.inference.is_plain());
        if self.args.sees == AttackerAccess::Network && !applies {
            let black_box: Vec<&str> = Attack::all()
                .filter(|a| a.is_black_box())
                .map(|a| a.info().name)
                .collect();
            let what = format!(
                "network applies to a trained model with an inference rule, attacked without --transfer by {}; leave --sees out",
                join_names(&black_box)
            );
            return Err(Error::argument("--sees", what));
        }
        Ok(())
    }

    /// Plans `--dry-run`: each model under each attack, or on the given attacked graph.
    pub fn dry_run(
        &self,
        models: &[(String, Model)],
        attacks: &[Attack],
    ) -> anyhow::Result<AttackOutput> {
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
            Some(surrogate) => format!("the attacks and their surrogate {surrogate}"),
            None => "the attacks".to_string(),
        };
        let planned = DryRun::new(
            self.global,
            "attack",
            self.benchmark,
            &cells,
            Some(left_out),
        )?;
        Ok(StudyOutput::DryRun(planned))
    }

    /// Attacks one model with one attack.
    fn attack_one(&self, attack: Attack) -> anyhow::Result<AttackOutput> {
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
        let adapted = |model: Model| model.inference(model.inference.on(attacked_part(&attack)));
        let model = args.model.model_with(&data.name, task, adapted)?;
        if args.model.print_spec {
            return StudyOutput::spec(&model, task);
        }
        let study = AttackStudy::new(model, attack)
            .mode(args.mode)
            .surrogate(self.transfer())
            .targets(self.targets.clone())
            .labels(args.labels)
            .access(args.sees)
            .runs(runs)
            .seed(global.seed);
        study.check()?;
        self.check_sees(&attack, [&model])?;
        if args.dry_run {
            return self.dry_run(&[(model.backbone.to_string(), model)], &[attack]);
        }
        let label = format!("{attack} against {} on {}", model.backbone, data.name);
        let result = run_study(&label, study.epochs(benchmark)?, |progress| {
            Ok(study.run(benchmark, &progress.training)?)
        })?;
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
        let report = self.report(Some(attack), &model, result, study.is_adaptive(), files)?;
        Ok(StudyOutput::Report(Either::Left(report)))
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
    fn evaluate_given(&self, file: &Path) -> anyhow::Result<AttackOutput> {
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
            return StudyOutput::spec(&model, Task::Node);
        }
        if args.dry_run {
            return self.dry_run(&[(model.backbone.to_string(), model)], &[]);
        }
        let study = AttackedGraphStudy::new(model, args.mode)
            .features(features)
            .runs(runs)
            .seed(global.seed);
        let epochs = model.plan(Task::Node)?.training.epochs as u64;
        let trainings = runs as u64 * if args.mode == Mode::Poisoning { 2 } else { 1 };
        let label = format!("{} on {}", model.backbone, file.display());
        let result = run_study(&label, epochs * trainings, |progress| {
            Ok(study.run(benchmark, &read.graph, &self.targets, &progress.training)?)
        })?;
        let report = AttackReport {
            notes: read.notes,
            ..self.report(None, &model, result, false, Vec::new())?
        };
        Ok(StudyOutput::Report(Either::Left(report)))
    }

    fn report(
        &self,
        attack: Option<Attack>,
        model: &Model,
        result: AttackResult,
        adaptive: bool,
        files: Vec<String>,
    ) -> anyhow::Result<AttackReport> {
        let Self {
            args,
            global,
            data,
            runs,
            ..
        } = *self;
        if result.runs.is_empty() {
            let interrupted = Interrupted::before_first(runs);
            if files.is_empty() {
                return Err(interrupted.into());
            }
            // The partial results are still reported.
            let partial = anyhow::anyhow!("partial results are in {}", files.join(", "));
            return Err(partial.context(interrupted));
        }
        let count = result.runs.len() as f64;
        let spent =
            |run: &AttackRun| (run.edges_added + run.edges_removed + run.features.entries) as f64;
        Ok(AttackReport {
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
        })
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
        .map_err(|_| Error::data(file, "targets", format!("the file is not text: {EXPECTED}")))?;
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
    if nodes.is_empty() {
        let what = format!("the file has no targets: {EXPECTED}");
        return Err(Error::data(file, "targets", what));
    }
    Ok(nodes)
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
                format!("'{node}' is not a node: {expected}"),
            )
        })?;
        match first.insert(u, *line) {
            None => Ok(u),
            Some(before) => {
                let what =
                    format!("'{node}' is listed twice, also on line {before}; remove one of them");
                Err(Error::data(file, format!("line {line}"), what))
            }
        }
    };
    let found: Vec<u32> = nodes
        .iter()
        .map(found)
        .collect::<gnarl_graph::Result<_>>()?;
    Ok(found.into())
}

/// Fails if the ending of the file is not that of its format.
fn check_ending(file: &Path) -> gnarl_graph::Result<()> {
    if file.extension().is_some_and(|ending| ending == "npz") {
        return Ok(());
    }
    let what = format!("{}: a name that ends in .npz is expected", file.display());
    Err(Error::argument("--write", what))
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
    /// Returns true if the attacker used the network without its inference rule.
    fn bypasses_inference(&self) -> bool {
        let queries = self
            .config
            .attack
            .is_some_and(|attack| attack.queries_model());
        queries && self.config.mode == Mode::Evasion && !self.config.model.inference.is_plain()
    }

    /// Describes the threat model.
    fn mode_text(&self, mode: Mode) -> String {
        let access = match (self.config.surrogate, self.adaptive) {
            (Some(model), _) => format!(", transfer attack through a surrogate {model}"),
            (None, true) if !self.config.model.inference.is_plain() => {
                ", adaptive: by the predictions of the evaluated model under its inference rule"
                    .to_string()
            }
            (None, true) => {
                let uses_gradients = self
                    .config
                    .attack
                    .is_some_and(|attack| attack.needs(Requirement::Gradients));
                format!(
                    ", adaptive: by the {} of the evaluated model",
                    if uses_gradients {
                        "gradients"
                    } else {
                        "predictions"
                    }
                )
            }
            (None, false) if self.bypasses_inference() => {
                ", not adaptive: by the network without its inference rule".to_string()
            }
            (None, false) => String::new(),
        };
        format!("{mode}{access}")
    }
}

impl AttackReport {
    /// Returns the mean of a statistic over the runs.
    fn mean(&self, of: fn(&AttackRun) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len() as f64
    }

    /// Returns the rows about the accuracy before and after the attack.
    fn accuracy_rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("clean accuracy", self.clean_accuracy.text()),
            ("attacked accuracy", self.attacked_accuracy.text()),
            ("success rate", self.success_rate.text()),
        ];
        let Some(defended) = &self.defended else {
            return rows;
        };
        let line = |accuracy: &Accuracy, difference: &PairedDifference| {
            format!("{} ({})", accuracy.text(), output::difference(difference))
        };
        rows.extend([
            ("inference", self.config.model.inference.to_string()),
            (
                "  clean",
                line(&defended.clean_accuracy, &defended.clean_difference),
            ),
            (
                "  attacked",
                line(&defended.attacked_accuracy, &defended.attacked_difference),
            ),
        ]);
        let tested: Vec<f64> = self
            .runs
            .iter()
            .filter_map(|r| r.defended?.tested_limit)
            .collect();
        let rejected = (!tested.is_empty()).then(|| tested.iter().filter(|&&t| t == 0.0).count());
        rows.extend(output::assumption_test(rejected, tested.len()).map(|line| ("  tested", line)));
        rows
    }

    /// Returns the rows about the attack and its changes.
    fn attack_rows(&self) -> Vec<(&'static str, String)> {
        let attack = self.config.attack;
        let made = match attack {
            Some(attack) => named(&attack),
            None => format!(
                "read from {}",
                self.config.on.as_deref().unwrap_or("a file")
            ),
        };
        let mut rows = vec![("attack", made), ("mode", self.mode_text(self.config.mode))];
        let added = self.mean(|r| r.edges_added as f64);
        let removed = self.mean(|r| r.edges_removed as f64);
        // An attack on edges that found none to flip is reported as such.
        let on_edges =
            attack.is_some_and(|attack| attacked_part(&attack) == PerturbationTarget::Structure);
        if added + removed > 0.0 || on_edges {
            rows.push((
                "edges added, removed",
                format!("{}, {}", real(added), real(removed)),
            ));
        }
        let moved = self.mean(|r| r.features.l2);
        if moved > 0.0 {
            let largest = real(self.mean(|r| r.features.largest_l2));
            rows.push((
                "feature change (L2)",
                format!("{} in all, {largest} at most for a node", real(moved)),
            ));
        }
        rows
    }

    /// Returns the rows about the runs, their cost, and the files written.
    fn run_rows(&self) -> Vec<(&'static str, String)> {
        let AttackConfig { model, runs, .. } = &self.config;
        let mut rows = vec![
            ("runs", self.runs.len().to_string()),
            ("operator", model.operator.to_string()),
            ("weights", model.weights.to_string()),
            ("attack time", format!("{} s", real(self.attack_seconds))),
            ("total time", format!("{} s", real(self.seconds))),
        ];
        rows.extend(
            self.peak_bytes
                .map(|bytes| ("peak memory", format!("{} MB", real(bytes as f64 / 1e6)))),
        );
        rows.extend((!self.files.is_empty()).then(|| ("written", self.files.join(", "))));
        rows.extend(self.notes.iter().map(|note| ("not read", note.clone())));
        if self.interrupted {
            let finished = self.runs.len();
            rows.push((
                "interrupted",
                format!("yes: {finished} of {runs} runs were finished and count"),
            ));
        }
        rows
    }
}

impl Report for AttackReport {
    fn text(&self) -> String {
        let mut rows = self.accuracy_rows();
        rows.extend(self.attack_rows());
        rows.extend(self.run_rows());
        format!(
            "{} on {}\n{}",
            self.model,
            self.data,
            output::render(&output::pairs(rows))
        )
    }

    fn complaint(self) -> Option<anyhow::Error> {
        Interrupted::complaint(self.interrupted, self.runs.len(), self.config.runs)
    }
}
