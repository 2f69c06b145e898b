//! `gnarl train`: fits a model to a dataset over several runs and reports its accuracy.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::augment::{Augment, Copies, Corruption, Samples};
use gnarl::model::fit::FitOptions;
use gnarl::model::{Model, NetworkOptions, TrainingCorruption};
use gnarl::study::Accuracy;
use gnarl::study::summary::as_object;
use gnarl::study::train::{
    AugmentationReport, DepthReport, InferenceReport, InitialisationReport, KeepRun,
    LatentDistance, PolicyAccuracy, Run, Scores, TrainResult, TrainStudy,
};
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::metrics::paired_difference;
use gnarl_graph::{Error, Split};
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::train::Journal;
use gnarl_thesis::Recipe;
use serde::Serialize;

use super::classes::ByClass;
use super::influence::{Certainty, InfluenceReport};
use super::model::{ModelArgs, ProtocolName};
use super::model_page;
use super::study::{StudyOutput, run_study};
use crate::global::Global;
use crate::interrupt::Interrupted;
use crate::options::out_of_range;
use crate::output::{self, Report, difference, real};

/// Arguments of `gnarl train`.
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub study: StudyArgs,
    /// Number of runs, each with its own seed and, if there are several splits, its own split
    /// [default: 1; for a set of graphs, its folds]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
    /// Write the model of the run that --save-run selects to this safetensors file
    #[arg(long, value_name = "FILE", group = "kept")]
    pub save: Option<PathBuf>,
    /// Run whose model --save and --page use: the first, or the best on its validation nodes or
    /// graphs [default: first]
    #[arg(long, value_name = "WHICH", requires = "kept")]
    pub save_run: Option<KeepRun>,
    /// Write a page about the graph and the model of the run that --save-run selects
    #[arg(long, value_name = "FILE.html", group = "kept")]
    pub page: Option<PathBuf>,
    /// Include every run's learning curve in the JSON
    #[arg(long)]
    pub curves: bool,
    #[command(flatten)]
    pub checkpoints: CheckpointArgs,
}

/// Checkpoint options of a training.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointArgs {
    /// Folder for checkpoints, from which an interrupted training can resume
    #[arg(long, value_name = "FOLDER")]
    pub checkpoint: Option<PathBuf>,
    /// Minutes between two checkpoints of a training; its end is always written
    #[arg(
        long,
        value_name = "MINUTES",
        requires = "checkpoint",
        default_value_t = 5.0
    )]
    pub checkpoint_every: f64,
    /// Resume from the checkpoints in the folder; the result equals that of an uninterrupted
    /// training
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
}

impl CheckpointArgs {
    /// Opens the journal of a study, if one was requested.
    fn journal(&self, study: &TrainStudy, on: &Benchmark) -> anyhow::Result<Option<Journal>> {
        let Some(folder) = &self.checkpoint else {
            return Ok(None);
        };
        let every = Duration::try_from_secs_f64(60.0 * self.checkpoint_every).map_err(|_| {
            let range = "a number of minutes >= 0";
            out_of_range("--checkpoint-every", range, self.checkpoint_every)
        })?;
        Ok(Some(Journal::open(
            folder,
            every,
            study.resume_key(on)?,
            self.resume,
        )?))
    }
}

/// Study options in addition to the model.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The study")]
pub struct StudyArgs {
    /// Number of training nodes or graphs of each class of a split, sampled by the seed
    /// [default: all]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub per_class: Option<usize>,
    /// Number of training nodes or graphs of one rare class, fewer than --per-class; the rare class
    /// is class 0 in the first fold or run, class 1 in the second, and so on
    #[arg(long, value_name = "N", requires = "per_class", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub rare: Option<usize>,
    /// Number of initialisations of each fold of a set of graphs; a fold counts with their mean
    /// [default: 1]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub inits: Option<usize>,
    /// Share of the training graphs' edges to remove and add at random, for sets of graphs, as in
    /// 0.1
    #[arg(long, value_name = "SHARE")]
    pub corrupt: Option<f64>,
    /// Keep the one-hot degrees of the graphs before --corrupt
    #[arg(long, requires = "corrupt")]
    pub keep_degrees: bool,
    /// Write every sampled vector's influence under --augment gratin, its density, and the accuracy
    /// by share kept to STEM.csv, STEM.svg, STEM-filter.csv, …
    #[arg(long, value_name = "STEM")]
    pub influence: Option<PathBuf>,
    /// Plot the confidence and the entropy on test nodes or graphs to STEM-confidence.svg,
    /// STEM-entropy.svg and as PNG
    #[arg(long, value_name = "STEM")]
    pub histograms: Option<PathBuf>,
}

impl StudyArgs {
    /// Fails if an option was given for a dataset that is one graph, or for a model to which it
    /// does not apply.
    fn check(&self, model: &Model, task: Task, data: &str) -> gnarl_graph::Result<()> {
        let of_sets = [
            ("--inits", self.inits.is_some()),
            ("--corrupt", self.corrupt.is_some()),
        ];
        if let (Task::Node, Some((option, _))) = (task, of_sets.iter().find(|(_, given)| *given)) {
            let what = format!(
                "belongs to sets of graphs, and {data} is one graph; `gnarl data list` shows the datasets of task graph"
            );
            return Err(Error::argument(*option, what));
        }
        if self.influence.is_some() && !matches!(model.augment, Augment::Gratin(_)) {
            return Err(Error::argument(
                "--influence",
                format!(
                    "belongs to gratin, and the augmentation is {}",
                    model.augment
                ),
            ));
        }
        if let (Augment::Gratin(gratin), None) = (model.augment, &self.influence)
            && gratin.uses_network_influence()
            && gratin.select.is_none()
        {
            return Err(Error::argument(
                "--influence-layers",
                "belongs to --select and --influence, which are not set",
            ));
        }
        if let (Some(rare), Some(others)) = (self.rare, self.per_class)
            && rare >= others
        {
            let range = format!("less than --per-class {others}");
            return Err(out_of_range("--rare", range, rare));
        }
        Ok(())
    }

    fn options(&self, seed: u64) -> gnarl_graph::Result<FitOptions> {
        let keep_degrees = self.keep_degrees;
        let corruption = self.corrupt.map(Corruption::new).transpose()?;
        let corruption = corruption.map(|edges| TrainingCorruption {
            edges,
            keep_degrees,
        });
        Ok(FitOptions {
            corruption,
            corruption_seed: seed,
            study_influence: self.influence.is_some(),
        })
    }
}

/// Configuration needed to run the training again.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    pub data: String,
    pub protocol: ProtocolName,
    pub recipe: Recipe,
    /// The model, with every option that applies filled in.
    pub model: Model,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corruption: Option<TrainingCorruption>,
    pub seed: u64,
}

/// Result of `gnarl train`.
#[derive(Debug, Serialize)]
pub struct TrainReport {
    data: String,
    model: String,
    /// Test accuracy: one value per run, or for a set one per fold, the mean over its
    /// initialisations. Absent without labelled test nodes or graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<Accuracy>,
    /// Validation accuracy; absent without labelled validation nodes or graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    val_accuracy: Option<Accuracy>,
    /// Scores on test nodes or graphs, in per cent.
    #[serde(flatten)]
    scores: Scores,
    /// Scores by class on the test nodes or graphs of all runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_class: Option<ByClass>,
    /// Median milliseconds of a training epoch.
    epoch_ms: f64,
    seconds: f64,
    parameters: usize,
    /// True if runs were interrupted before their end; they are not counted.
    interrupted: bool,
    #[serde(skip_serializing_if = "is_zero")]
    unfinished_runs: usize,
    config: Config,
    runs: Vec<serde_json::Value>,
    /// Accuracies of exits and policies.
    #[serde(flatten)]
    depth: Option<DepthReport>,
    /// Effect of the inference rule, if it is not a plain forward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<InferenceReport>,
    /// Results of the same runs before a fresh head was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    augmentation: Option<AugmentationReport>,
    /// Influence of the sampled vectors, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    influence: Option<InfluenceReport>,
    /// Confidence on the test nodes or graphs of all runs.
    #[serde(flatten)]
    certainty: Certainty,
    /// Values of a learnable operator's scalars, over the runs.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    operator_parameters: Vec<(String, Accuracy)>,
    /// Feature scaling in words.
    #[serde(skip)]
    scalings: String,
    /// Number of runs that selected an unconstrained head, in words; `None` if it was not selected.
    #[serde(skip)]
    heads: Option<String>,
    /// Initialisations tried, if each run selected one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    initialisations: Vec<InitialisationReport>,
    /// Files of figures and tables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
    #[serde(skip)]
    requested: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Trains and reports.
pub fn run(global: &Global, args: &TrainArgs) -> anyhow::Result<StudyOutput<TrainReport>> {
    let on_sets = args.runs.unwrap_or(usize::MAX);
    let (data, mut benchmark) = args
        .model
        .benchmark_of(global, args.runs.unwrap_or(1), on_sets)?;
    let task = benchmark.content.task();
    let model = args.model.model(&data.name, task)?;
    if args.model.print_spec {
        return StudyOutput::spec(&model, task);
    }
    args.study.check(&model, task, &data.name)?;
    if args.page.is_some() {
        model_page::check(&data.name, &benchmark.content)?;
    }
    if let (Some(count), Some(labels)) = (args.study.per_class, benchmark.content.labels().cloned())
    {
        let wanted = if task == Task::Node {
            args.runs.unwrap_or(1)
        } else {
            benchmark.splits.len()
        };
        let rare = args.study.rare;
        benchmark.splits =
            Split::fewer_in_turn(&benchmark.splits, wanted, &labels, count, rare, global.seed)?;
    }
    let study = TrainStudy {
        runs: args.runs.unwrap_or(1),
        inits: args.study.inits.unwrap_or(1),
        seed: global.seed,
        policies: args.model.policies(&model, task),
        options: args.study.options(global.seed)?,
        keep_run: args.save_run.unwrap_or(KeepRun::First),
        ..TrainStudy::new(model)
    };
    train(args, &study, &benchmark).map(StudyOutput::Report)
}

fn train(args: &TrainArgs, study: &TrainStudy, on: &Benchmark) -> anyhow::Result<TrainReport> {
    let task = on.content.task();
    let label = format!("{} on {}", study.model.backbone, on.name);
    let result = run_study(&label, study.epochs(on)?, |progress| {
        let journal = args.checkpoints.journal(study, on)?;
        let callbacks = progress.training.with_journal(journal.as_ref());
        Ok(study.run(on, &callbacks)?)
    })?;
    let requested = result.runs.len() + result.unfinished;
    if result.runs.is_empty() {
        return Err(Interrupted::before_first(requested).into());
    }
    if let (Some(file), Some(kept)) = (&args.save, &result.kept) {
        kept.save(file)?;
    }
    if let (Some(file), Some(kept)) = (&args.page, &result.kept) {
        model_page::write(file, &on.name, &on.content, kept, None, study.seed)?;
    }
    report(args, study, on, task, result, requested)
}

fn report(
    args: &TrainArgs,
    study: &TrainStudy,
    on: &Benchmark,
    task: Task,
    result: TrainResult,
    requested: usize,
) -> anyhow::Result<TrainReport> {
    let plan = study.model.plan(task)?;
    let title = format!("{} on {}", study.model.backbone, on.name);
    let certainty = Certainty::new(&result.runs)?;
    let influence = InfluenceReport::new(&result)?;
    let mut written = Vec::new();
    if let (Some(stem), Some(influence)) = (&args.study.influence, &influence) {
        written.extend(influence.write(&result.runs, stem, &title)?);
    }
    if let Some(stem) = &args.study.histograms {
        written.extend(certainty.draw(stem, &title)?);
    }
    written.extend(args.page.clone().filter(|_| result.kept.is_some()));
    let of_sets = |value: usize| (task == Task::Graph).then_some(value);
    let own = study.model.depth.exits().map(|exits| exits.policy);
    let names = result.kept.as_ref().map(|kept| kept.classes().to_vec());
    let saved = args
        .save
        .as_ref()
        .filter(|_| result.kept.is_some())
        .map(|file| file.display().to_string());
    Ok(TrainReport {
        data: on.name.clone(),
        model: study.model.backbone.to_string(),
        test_accuracy: result.test_accuracy()?,
        val_accuracy: result.val_accuracy()?,
        scores: result.scores()?,
        by_class: names.and_then(|names| Some(ByClass::new(&names, result.class_scores()?))),
        epoch_ms: result.epoch_ms(),
        seconds: result.seconds,
        parameters: result.kept.as_ref().map_or(0, |kept| kept.num_parameters()),
        interrupted: result.unfinished > 0,
        unfinished_runs: result.unfinished,
        config: Config {
            data: on.name.clone(),
            protocol: args.model.protocol,
            recipe: args.model.recipe,
            model: plan.model,
            runs: (task == Task::Node).then_some(study.runs),
            folds: of_sets(on.splits.len()),
            inits: of_sets(study.inits),
            per_class: args.study.per_class,
            rare: args.study.rare,
            corruption: study.options.corruption,
            seed: study.seed,
        },
        depth: own
            .map(|own| result.depth(&study.policies, own))
            .transpose()?
            .flatten(),
        inference: result.inference()?,
        augmentation: result.augmentation()?,
        influence,
        certainty,
        operator_parameters: result.operator_parameters()?,
        scalings: scalings(&result),
        heads: heads(&result),
        initialisations: result.initialisations(),
        runs: result
            .runs
            .iter()
            .map(|run| describe(run, args.curves))
            .collect::<Result<_, _>>()?,
        written: written
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
        saved,
        requested,
    })
}

/// Describes the feature scaling: `row-normalised`, or `row-normalised in 7 runs, as-loaded in 3`
/// if each run selected one.
fn scalings(result: &TrainResult) -> String {
    let count = |scaling: FeatureScaling| {
        result
            .runs
            .iter()
            .filter(|run| run.features == scaling)
            .count()
    };
    let used = FeatureScaling::ALL
        .iter()
        .map(|&scaling| (scaling, count(scaling)))
        .filter(|(_, runs)| *runs > 0);
    match used.collect::<Vec<_>>()[..] {
        [(one, _)] => one.to_string(),
        ref several => several
            .iter()
            .map(|(s, runs)| format!("{s} in {runs} runs"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Describes the selection of a head, as in `selected in 3 of 10 runs`.
fn heads(result: &TrainResult) -> Option<String> {
    let chosen: Vec<bool> = result
        .runs
        .iter()
        .filter_map(|run| run.chose_head)
        .collect();
    let count = chosen.iter().filter(|head| **head).count();
    (!chosen.is_empty()).then(|| format!("selected in {count} of {} runs", chosen.len()))
}

/// Formats one run for the JSON, with its curves if requested.
fn describe(run: &Run, with_curves: bool) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(run)?;
    if !with_curves && let Some(trained) = value.get_mut("trained").and_then(|t| t.as_array_mut()) {
        for training in trained.iter_mut().filter_map(|t| t.as_object_mut()) {
            let epochs = training
                .remove("curve")
                .and_then(|c| c.as_array().map(Vec::len));
            training.insert("epochs".into(), epochs.into());
        }
    }
    Ok(value)
}

/// Formats an accuracy, as in `81.23 ± 0.45`, or a dash without labels.
fn text_of(accuracy: &Option<Accuracy>) -> String {
    accuracy
        .as_ref()
        .map_or_else(|| "-".to_string(), Accuracy::text)
}

/// Row of the printed table: a name and its value.
type TableRow = (&'static str, String);

impl TrainReport {
    /// Returns the rows of the printed table.
    fn rows(&self) -> Vec<TableRow> {
        let mut rows = self.score_rows();
        rows.extend(self.training_rows());
        rows.extend(self.model_rows());
        rows.push(("epoch time", format!("{} ms", real(self.epoch_ms))));
        rows.push(("total time", format!("{} s", real(self.seconds))));
        rows.extend(self.saved.clone().map(|file| ("saved", file)));
        if self.interrupted {
            let (finished, requested) = (self.runs.len(), self.requested);
            rows.push((
                "interrupted",
                format!("yes: {finished} of {requested} runs were finished and count"),
            ));
        }
        rows
    }

    fn score_rows(&self) -> Vec<TableRow> {
        let mut rows = vec![
            ("test accuracy", text_of(&self.test_accuracy)),
            ("validation accuracy", text_of(&self.val_accuracy)),
        ];
        let Scores {
            balanced_accuracy,
            macro_f1,
            roc_auc,
            ..
        } = &self.scores;
        if balanced_accuracy.is_some() {
            let all = [balanced_accuracy, macro_f1, roc_auc].map(text_of);
            rows.push(("balanced accuracy, macro F1, ROC AUC", all.join(", ")));
        }
        rows
    }

    /// Returns the rows about runs and training data.
    fn training_rows(&self) -> Vec<TableRow> {
        let config = &self.config;
        let mut rows = vec![match (config.folds, config.inits) {
            (Some(folds), Some(inits)) => (
                "folds, initialisations of each",
                format!("{folds}, {inits}"),
            ),
            _ => ("runs", self.runs.len().to_string()),
        }];
        if let Some(count) = config.per_class {
            let rare = config.rare.map_or(String::new(), |rare| {
                format!(", {rare} of one class in turn")
            });
            let name = if config.folds.is_some() {
                "training graphs"
            } else {
                "training nodes"
            };
            rows.push((name, format!("at most {count} of each class{rare}")));
        }
        if let Some(TrainingCorruption {
            edges,
            keep_degrees,
        }) = &config.corruption
        {
            let degrees = if *keep_degrees {
                "; degree features of the graphs before it"
            } else {
                ""
            };
            let share = real(100.0 * edges.share);
            rows.push((
                "corrupted",
                format!("{share} % of the training graphs' edges{degrees}"),
            ));
        }
        rows.push(("features", self.scalings.clone()));
        rows.extend(
            self.heads
                .clone()
                .map(|heads| ("unconstrained head", heads)),
        );
        rows
    }

    /// Returns the rows about the axes that are switched on, and the shape of the network.
    fn model_rows(&self) -> Vec<TableRow> {
        let model = &self.config.model;
        let mut rows = vec![("operator", model.operator.to_string())];
        for (axis, choice, plain) in [
            ("depth", model.depth.name(), model.depth.exits().is_none()),
            (
                "weights",
                model.weights.name(),
                model.weights.is_unconstrained(),
            ),
            (
                "inference",
                model.inference.name(),
                model.inference.is_plain(),
            ),
            ("defence", model.defense.name(), model.defense.is_nothing()),
        ] {
            if !plain {
                rows.push((axis, choice.to_string()));
            }
        }
        if !model.augment.is_nothing() {
            rows.push(("data", self.data_axis()));
        }
        rows.extend(shape_row(&model.network));
        if let (Some(readout), Some(rate)) = (model.network.readout, model.network.head_dropout) {
            rows.push((
                "readout, dropout before the head",
                format!("{readout}, {rate}"),
            ));
        }
        rows
    }

    /// Returns the plural of what is classified.
    fn items(&self) -> &'static str {
        if self.config.folds.is_some() {
            "graphs"
        } else {
            "nodes"
        }
    }

    /// Describes the augmentation of the training data.
    fn data_axis(&self) -> String {
        let augment = self.config.model.augment;
        match (augment, augment.method().transform()) {
            (Augment::Gratin(gratin), _) => {
                let report = self
                    .augmentation
                    .as_ref()
                    .and_then(|report| report.gaussians);
                let count = match report.filter(|_| gratin.density.takes_components()) {
                    Some((least, most)) if least == most => format!(" ({most})"),
                    Some((least, most)) => format!(" ({least} to {most})"),
                    None => String::new(),
                };
                let many = match gratin.samples {
                    Samples::AsMany => "as many as the class has",
                    Samples::Level => "up to twice the largest class",
                };
                let kept = gratin.select.map_or(String::new(), |share| {
                    format!("; {} % kept by influence", real(100.0 * share))
                });
                format!("gratin: {}{count}; {many}{kept}", gratin.density.about())
            }
            (_, Some((_, copies))) => {
                let how = match (copies, self.config.folds) {
                    (Copies::Fixed, _) => "one copy of each training graph, added to them",
                    (Copies::EachEpoch, Some(_)) => {
                        "new copies in every epoch, in place of the training graphs"
                    }
                    (Copies::EachEpoch, None) => "sampled in every epoch",
                };
                let mut settings = augment.info().settings.iter();
                let stored = serde_json::to_value(augment).unwrap_or_default();
                let value = settings.find_map(|setting| {
                    let x = stored[setting.name].as_f64()?;
                    Some(format!(" with {} {x}", setting.name))
                });
                format!("{augment}{}, {how}", value.unwrap_or_default())
            }
            _ => augment.to_string(),
        }
    }
}

/// Returns the row with the width, the depth and the dropout of a network, as far as it has them.
fn shape_row(network: &NetworkOptions) -> Option<TableRow> {
    let name = match (network.hidden, network.layers, network.dropout) {
        (Some(_), Some(_), Some(_)) => "hidden, layers, dropout",
        (Some(_), Some(_), None) => "hidden, layers",
        (Some(_), None, Some(_)) => "hidden, dropout",
        (None, Some(_), Some(_)) => "layers, dropout",
        (Some(_), None, None) => "hidden",
        (None, Some(_), None) => "layers",
        (None, None, Some(_)) => "dropout",
        (None, None, None) => return None,
    };
    let counts = [network.hidden, network.layers].into_iter().flatten();
    let values: Vec<String> = counts
        .map(|count| count.to_string())
        .chain(network.dropout.map(|rate| rate.to_string()))
        .collect();
    Some((name, values.join(", ")))
}

impl Report for TrainReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} on {}\n{}",
            self.model,
            self.data,
            output::render(&output::pairs(self.rows()))
        );
        if let Some(table) = self
            .by_class
            .as_ref()
            .map(ByClass::text)
            .filter(|table| !table.is_empty())
        {
            text += &format!("\ntest {} of all runs, by class\n{table}", self.items());
        }
        if let Some(inference) = &self.inference {
            text += &format!(
                "\ntest accuracy with {} {}, with a plain forward pass {}, difference {}\n",
                self.config.model.inference,
                text_of(&self.test_accuracy),
                inference.plain_test_accuracy.text(),
                difference(&inference.minus_plain)
            );
            text += &output::assumption_test(inference.fallback_runs, self.runs.len())
                .map_or(String::new(), |s| s + "\n");
        }
        if let Some(depth) = &self.depth {
            text += &depth_text(depth, self.items());
        }
        if let Some(report) = &self.augmentation {
            text += &augmentation_text(
                report,
                self.config.model.augment.name(),
                &self.test_accuracy,
            );
        }
        if let Some(influence) = &self.influence {
            text += &format!("\n{}", influence.text());
        }
        for file in &self.written {
            text += &format!("wrote {file}\n");
        }
        text + &learned_text(&self.operator_parameters, &self.initialisations)
    }

    fn complaint(self) -> Option<anyhow::Error> {
        Interrupted::complaint(self.interrupted, self.runs.len(), self.requested)
    }
}

/// Formats two tables: exits, and policies against the single best layer.
fn depth_text(depth: &DepthReport, items: &str) -> String {
    let mut exits = output::table(&["exit", ">test accuracy", &format!(">{items} taking it")]);
    for (l, (accuracy, taken)) in depth.exit_accuracy.iter().zip(&depth.taken).enumerate() {
        exits.add_row([
            l.to_string(),
            accuracy.text(),
            real((10.0 * taken).round() / 10.0),
        ]);
    }
    let mut policies = output::table(&["policy", ">test accuracy", ">minus single layer"]);
    policies.add_row([
        "single layer, best on validation".into(),
        depth.single_layer_accuracy.text(),
        "-".into(),
    ]);
    for (
        name,
        PolicyAccuracy {
            accuracy,
            minus_single,
            ..
        },
    ) in &depth.policy_accuracy
    {
        let own = if *name == depth.policy {
            " (the model's own)"
        } else {
            ""
        };
        policies.add_row([
            format!("{name}{own}"),
            accuracy.text(),
            difference(minus_single),
        ]);
    }
    policies.add_row(["oracle".into(), depth.oracle_accuracy.text(), String::new()]);
    format!(
        "\n{}\n{}",
        output::render(&exits),
        output::render(&policies)
    )
}

/// Formats accuracies without an augmentation, of its control if there is one, and with it.
fn augmentation_text(report: &AugmentationReport, name: &str, with: &Option<Accuracy>) -> String {
    let nothing = || "-".to_string();
    let mut rows = vec![vec![
        "none".into(),
        report.none_test_accuracy.text(),
        nothing(),
        nothing(),
        nothing(),
    ]];
    let mut headers = vec![
        "augmentation",
        ">test accuracy",
        ">minus none",
        ">minus retrain",
        ">seconds",
    ];
    if let Some(retrain) = &report.retrain_test_accuracy {
        let minus_none = paired_difference(&retrain.runs, &report.none_test_accuracy.runs);
        let minus_none = minus_none.map_or_else(|_| nothing(), |of| difference(&of));
        rows.push(vec![
            "retrain".into(),
            retrain.text(),
            minus_none,
            nothing(),
            nothing(),
        ]);
    }
    let minus_retrain = report
        .minus_retrain
        .as_ref()
        .map_or_else(nothing, difference);
    rows.push(vec![
        name.to_string(),
        text_of(with),
        difference(&report.minus_none),
        minus_retrain,
        real(report.seconds),
    ]);
    if report.minus_retrain.is_none() {
        const MINUS_RETRAIN: usize = 3;
        headers.remove(MINUS_RETRAIN);
        rows.iter_mut()
            .for_each(|row| _ = row.remove(MINUS_RETRAIN));
    }
    let mut table = output::table(&headers);
    table.add_rows(rows);
    let mut text = format!("\n{}", output::render(&table));
    if let Some(LatentDistance {
        sampled: drawn,
        original,
        ..
    }) = &report.latent_distance
    {
        let (sampled, original) = (real(drawn.mean), real(original.mean));
        text += &format!(
            "mean distance of a sampled vector to the original vectors of its class {sampled}, among original vectors {original}\n"
        );
    }
    text
}

/// Formats tables of a learnable operator's parameters and of the initialisations tried; empty for
/// a fixed operator.
fn learned_text(parameters: &[(String, Accuracy)], tried: &[InitialisationReport]) -> String {
    let mut text = String::new();
    if !parameters.is_empty() {
        let mut table = output::table(&["learned", ">mean", ">std"]);
        for (name, Accuracy { mean, std, .. }) in parameters {
            table.add_row([name.clone(), format!("{mean:.3}"), format!("{std:.3}")]);
        }
        text += &format!("\n{}", output::render(&table));
    }
    if !tried.is_empty() {
        let mut table = output::table(&[
            "candidate initialisation",
            ">validation accuracy",
            ">runs that selected it",
        ]);
        for InitialisationReport {
            init,
            val_accuracy,
            chosen,
            ..
        } in tried
        {
            let accuracy = val_accuracy.map_or_else(|| "diverged".into(), |v| format!("{v:.2}"));
            table.add_row([init.clone(), accuracy, chosen.to_string()]);
        }
        text += &format!("\n{}", output::render(&table));
    }
    text
}
