//! `gnarl predict`: predicts with a saved model, or with an external program, on a graph or a set.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gnarl::model::Fitted;
use gnarl::study::predict::{self, ClassifierStudy, PredictResult};
use gnarl_data::columnar::{self, Column};
use gnarl_data::{Content, Dataset};
use gnarl_graph::metrics::ClassScores;
use gnarl_graph::settings::{ChoiceInfo, SettingText};
use gnarl_graph::{DenseMatrix, Error};
use gnarl_nn::features::FeatureScaling;
use gnarl_robust::inference::{External, Inference};
use serde::Serialize;

use super::classes::ByClass;
use super::load;
use super::model::ModelOptions;
use crate::global::Global;
use crate::options::out_of_range;
use crate::output::{self, Report, real};

/// Arguments of `gnarl predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A safetensors file written by `gnarl train --save`
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "external",
        conflicts_with = "external"
    )]
    pub load: Option<PathBuf>,
    /// External program that predicts over standard input and output (docs/inference.md has the
    /// protocol), as in "python3 model.py"
    #[arg(long, value_name = "COMMAND")]
    pub external: Option<String>,
    /// Time limit of --external in seconds for a prediction
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub time_limit: f64,
    /// Feature scaling for --external: as-loaded or row-normalised [default: as-loaded]
    #[arg(long, value_name = "SCALING", conflicts_with = "load")]
    pub features: Option<FeatureScaling>,
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own
    /// files; labels are not needed
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Write node (or graph), class and a probability per class to this file, as CSV, or as Parquet
    /// if it ends in .parquet
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the embedding of every node of a --load model, or of every graph of a set, to this
    /// file, as .npy or .csv
    #[arg(long, value_name = "FILE", conflicts_with = "external")]
    pub embeddings: Option<PathBuf>,
    /// List every prediction in the JSON even for more than 100,000 nodes or graphs
    #[arg(long)]
    pub values: bool,
    #[command(flatten)]
    pub inference: InferenceOptions,
}

/// Options of the inference axis.
#[derive(Debug, Clone, Default)]
pub struct InferenceOptions(Vec<SettingText>);

impl InferenceOptions {
    /// Returns the requested inference rule; `None` if there was none.
    fn choice(&self) -> gnarl_graph::Result<Option<Inference>> {
        let Some((_, name)) = self.0.iter().find(|(flag, _)| flag == AXIS) else {
            return match self.0.first() {
                None => Ok(None),
                Some((flag, _)) => Err(Error::setting(
                    &format!("--{flag}"),
                    "belongs to --inference, which is not set",
                )),
            };
        };
        let settings: Vec<SettingText> = self
            .0
            .iter()
            .filter_map(|(flag, text)| Some((stored(flag)?, text.clone())))
            .collect();
        name.parse::<Inference>()?.with(&settings).map(Some)
    }
}

const AXIS: &str = "inference";

/// Returns the name under which a flag's setting is stored.
fn stored(flag: &str) -> Option<String> {
    let list: &[ChoiceInfo] = Inference::LIST;
    list.iter()
        .flat_map(|entry| entry.settings)
        .find(|s| s.flag == flag)
        .map(|s| s.name.to_string())
}

fn is_of_inference(flag: &str) -> bool {
    flag == AXIS || stored(flag).is_some()
}

impl clap::Args for InferenceOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        let all = ModelOptions::augment_args(clap::Command::new("all"));
        let ours = all
            .get_arguments()
            .filter(|arg| is_of_inference(arg.get_id().as_str()));
        command.args(ours.cloned().collect::<Vec<_>>())
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for InferenceOptions {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let flags = Inference::LIST
            .iter()
            .flat_map(|entry| entry.settings)
            .map(|s| s.flag)
            .chain([AXIS]);
        let mut given: Vec<SettingText> = Vec::new();
        for flag in flags {
            if let Some(text) = matches.get_one::<String>(flag)
                && !given.iter().any(|(known, _)| known == flag)
            {
                given.push((flag.to_string(), text.clone()));
            }
        }
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Number of predictions listed in the JSON without `--values`.
const MOST_LISTED: usize = 100_000;

/// Result of `gnarl predict`.
#[derive(Debug, Serialize)]
pub struct PredictReport {
    data: String,
    model: String,
    /// Number of predictions: nodes of a graph, or graphs of a set.
    num_predictions: usize,
    /// Task: `node` or `graph` classification.
    task: &'static str,
    /// Accuracy in per cent on the held-out test nodes or graphs; present only if the model has a
    /// record of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<f64>,
    /// Test accuracy of a plain forward pass, if another inference rule is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain_test_accuracy: Option<f64>,
    /// Accuracy in per cent on all labelled nodes or graphs, if no held-out ones are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// Balanced accuracy in per cent on the evaluated nodes or graphs: the mean of the classes'
    /// recalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    balanced_accuracy: Option<f64>,
    /// Mean of the classes' F1.
    #[serde(skip_serializing_if = "Option::is_none")]
    macro_f1: Option<f64>,
    /// Area under the ROC curve; with more than two classes the mean of each class against the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    roc_auc: Option<f64>,
    /// Scores class by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_class: Option<ByClass>,
    /// Names of classes in the data that the model does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_classes: Vec<String>,
    /// Inference rule, if it is not a plain forward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<Inference>,
    /// Predicted class of every node or graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Vec<String>>,
    /// Number of nodes or graphs per predicted class.
    class_counts: Vec<ClassCount>,
    /// Number of nodes or graphs that take each exit, for a model with exits.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<Embeddings>,
    #[serde(skip)]
    trained_on: String,
}

/// File and width of the embeddings.
#[derive(Debug, Serialize)]
struct Embeddings {
    file: String,
    width: usize,
}

#[derive(Debug, Serialize)]
struct ClassCount {
    class: String,
    count: usize,
}

/// Loads the model and predicts.
pub fn run(global: &Global, args: &PredictArgs) -> anyhow::Result<PredictReport> {
    // A wrong option or file should fail before the data is loaded.
    let choice = args.inference.choice()?;
    if let Some(file) = args
        .embeddings
        .as_deref()
        .filter(|file| !ends_in(file, "npy") && !ends_in(file, "csv"))
    {
        let what = format!(
            "{}: a name that ends in .npy or .csv is expected",
            file.display()
        );
        return Err(Error::argument("--embeddings", what).into());
    }
    let fitted = args.load.as_ref().map(Fitted::load).transpose()?;
    let data = load(global, &args.data)?;
    match (fitted, &args.external) {
        (Some(fitted), _) => with_model(args, fitted, choice, &data),
        (None, Some(command)) => with_program(global, args, command, choice, &data),
        (None, None) => Err(Error::argument("predict", "needs --load or --external").into()),
    }
}

fn with_model(
    args: &PredictArgs,
    fitted: Fitted,
    choice: Option<Inference>,
    data: &Dataset,
) -> anyhow::Result<PredictReport> {
    let fitted = match choice {
        Some(choice) => predict::with_inference(fitted, choice, data)?,
        None => fitted,
    };
    let found = predict::of_fitted(&fitted, data)?;
    let exits = found.predictions.exits.as_ref();
    let report = PredictReport {
        model: fitted.model().backbone.to_string(),
        taken: exits.map(|exits| counted(exits, fitted.num_exits())),
        embeddings: args
            .embeddings
            .as_deref()
            .map(|file| write_embeddings(file, &fitted, &found.content))
            .transpose()?,
        trained_on: fitted.trained_on().dataset.clone(),
        ..PredictReport::new(data, &found)
    };
    finish(args, report, found)
}

/// Predicts with an external program. Spaces separate its arguments; use a script for anything
/// longer.
fn with_program(
    global: &Global,
    args: &PredictArgs,
    command: &str,
    choice: Option<Inference>,
    data: &Dataset,
) -> anyhow::Result<PredictReport> {
    let Ok(limit) = Duration::try_from_secs_f64(args.time_limit) else {
        let range = "a number of seconds >= 0";
        return Err(out_of_range("--time-limit", range, args.time_limit).into());
    };
    let words: Vec<String> = command.split_whitespace().map(String::from).collect();
    let model = External::start(&words, limit)?;
    let study = ClassifierStudy {
        inference: choice,
        // An external program has its own feature scaling: features stay as loaded unless
        // requested.
        scaling: args.features.unwrap_or(FeatureScaling::AsLoaded),
        seed: global.seed,
    };
    let found = study.run(&model, data)?;
    let report = PredictReport {
        model: command.to_string(),
        ..PredictReport::new(data, &found)
    };
    finish(args, report, found)
}

impl PredictReport {
    /// Builds the report of predictions, without the model's own details and before anything is
    /// written.
    fn new(data: &Dataset, found: &PredictResult) -> Self {
        let (held_out, accuracy) = (found.held_out, found.accuracy);
        let per_cent = |of: fn(&ClassScores) -> f64| found.scores.as_ref().map(|s| 100.0 * of(s));
        Self {
            data: data.name.clone(),
            model: String::new(),
            num_predictions: found.content.num_items(),
            task: item_of(&found.content),
            test_accuracy: accuracy.filter(|_| held_out),
            plain_test_accuracy: found.plain_accuracy,
            accuracy: accuracy.filter(|_| !held_out),
            balanced_accuracy: per_cent(|scores| scores.balanced_accuracy),
            macro_f1: per_cent(|scores| scores.macro_f1),
            roc_auc: found
                .scores
                .as_ref()
                .and_then(|scores| scores.roc_auc)
                .map(|area| 100.0 * area),
            by_class: None,
            unknown_classes: found.unknown_classes.clone(),
            inference: found.inference,
            predictions: None,
            class_counts: Vec::new(),
            taken: None,
            output: None,
            embeddings: None,
            trained_on: data.name.clone(),
        }
    }
}

fn ends_in(file: &Path, ending: &str) -> bool {
    file.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Writes embeddings as an array for NumPy, or as rows with the names of nodes first.
fn write_embeddings(file: &Path, fitted: &Fitted, content: &Content) -> anyhow::Result<Embeddings> {
    let Some(vectors) = fitted.embeddings(content)? else {
        let what = format!(
            "{} has class scores but no embeddings; write them with --output",
            fitted.model().backbone
        );
        return Err(Error::argument("--embeddings", what).into());
    };
    if ends_in(file, "npy") {
        gnarl_data::npz_writer::save_matrix(file, &vectors)?;
    } else {
        let mut lines = csv::Writer::from_writer(Vec::new());
        let columns = (0..vectors.num_cols()).map(|i| format!("x{i}"));
        lines.write_record(std::iter::once(item_of(content).to_string()).chain(columns))?;
        for i in 0..vectors.num_rows() {
            let row = vectors.row(i).iter().map(f32::to_string);
            lines.write_record(std::iter::once(name_of(content, i)).chain(row))?;
        }
        output::write_whole(
            file,
            lines
                .into_inner()
                .map_err(|e| anyhow::anyhow!(e.to_string()))?,
        )?;
    }
    Ok(Embeddings {
        file: file.display().to_string(),
        width: vectors.num_cols(),
    })
}

/// Returns the name of node or graph `i`.
fn name_of(content: &Content, i: usize) -> String {
    match content {
        Content::Graph(graph) => graph.node_name(i as u32),
        Content::Graphs(_) => i.to_string(),
    }
}

fn item_of(content: &Content) -> &'static str {
    match content {
        Content::Graph(_) => "node",
        Content::Graphs(_) => "graph",
    }
}

fn counted(exits: &[usize], count: usize) -> Vec<usize> {
    let mut counts = vec![0; count];
    exits.iter().for_each(|&exit| counts[exit] += 1);
    counts
}

/// Counts, lists and writes the predictions.
fn finish(
    args: &PredictArgs,
    mut report: PredictReport,
    found: PredictResult,
) -> anyhow::Result<PredictReport> {
    let (content, names) = (&found.content, &found.classes);
    let classes = &found.predictions.classes;
    let probabilities = &found.predictions.probabilities;
    report.by_class = found.scores.map(|scores| ByClass::new(names, scores));
    let count = |class: usize| classes.iter().filter(|c| **c as usize == class).count();
    let counts = names.iter().enumerate().map(|(i, name)| ClassCount {
        class: name.clone(),
        count: count(i),
    });
    report.class_counts = counts.collect();
    if args.values || classes.len() <= MOST_LISTED {
        report.predictions = Some(classes.iter().map(|&c| names[c as usize].clone()).collect());
    }
    if let Some(file) = &args.output {
        if ends_in(file, "parquet") {
            write_parquet(file, report.task, content, names, classes, probabilities)?;
        } else {
            write_csv(file, report.task, content, names, classes, probabilities)?;
        }
        report.output = Some(file.display().to_string());
    }
    Ok(report)
}

/// Writes the columns of the CSV file as Parquet.
fn write_parquet(
    file: &Path,
    item: &str,
    content: &Content,
    names: &[String],
    classes: &[u32],
    probabilities: &DenseMatrix<f32>,
) -> anyhow::Result<()> {
    let items = (0..classes.len()).map(|i| name_of(content, i)).collect();
    let predicted = classes
        .iter()
        .map(|&class| names[class as usize].clone())
        .collect();
    let mut columns = vec![
        (item.to_string(), Column::Text(items)),
        ("class".to_string(), Column::Text(predicted)),
    ];
    for (c, name) in names.iter().enumerate() {
        let of_class = (0..classes.len())
            .map(|i| probabilities.row(i)[c])
            .collect();
        // A class may have the name of a column.
        let title = if name == item || name == "class" {
            format!("{name} (probability)")
        } else {
            name.clone()
        };
        columns.push((title, Column::Numbers(of_class)));
    }
    output::write_whole(file, columnar::parquet(columns)?)?;
    Ok(())
}

fn write_csv(
    file: &Path,
    item: &str,
    content: &Content,
    names: &[String],
    classes: &[u32],
    probabilities: &DenseMatrix<f32>,
) -> anyhow::Result<()> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    lines.write_record(
        [item, "class"]
            .into_iter()
            .map(String::from)
            .chain(names.iter().cloned()),
    )?;
    for (i, &class) in classes.iter().enumerate() {
        let row = [name_of(content, i), names[class as usize].clone()];
        lines.write_record(
            row.into_iter()
                .chain(probabilities.row(i).iter().map(f32::to_string)),
        )?;
    }
    output::write_whole(
        file,
        lines
            .into_inner()
            .map_err(|e| anyhow::anyhow!(e.to_string()))?,
    )?;
    Ok(())
}

impl Report for PredictReport {
    fn text(&self) -> String {
        let items = format!("{}s", self.task);
        let mut line = format!(
            "{} on {}: {} {items}",
            self.model,
            self.data,
            output::count(self.num_predictions as u64)
        );
        match (self.test_accuracy, self.accuracy) {
            (Some(test), _) => line += &format!(", test accuracy {test:.2} %"),
            (None, Some(accuracy)) => {
                line += &format!(
                    ", accuracy {accuracy:.2} % on all labelled {items} (the model was trained on {}; no test {items} are known)",
                    self.trained_on
                );
            }
            (None, None) => line += ", no labels",
        }
        if let (Some(plain), Some(inference)) = (self.plain_test_accuracy, &self.inference) {
            line += &format!(" with {inference}, {plain:.2} % without");
        }
        let mut text = line + "\n";
        if !self.unknown_classes.is_empty() {
            let names = self.unknown_classes.join(", ");
            text += &format!("classes outside the model, counted as errors: {names}\n");
        }
        if let (Some(balanced), Some(f1)) = (self.balanced_accuracy, self.macro_f1) {
            let area = self
                .roc_auc
                .map_or_else(|| "-".to_string(), |area| format!("{area:.2}"));
            text += &format!("balanced accuracy {balanced:.2}, macro F1 {f1:.2}, ROC AUC {area}\n");
        }
        if let Some(table) = self
            .by_class
            .as_ref()
            .map(ByClass::text)
            .filter(|table| !table.is_empty())
        {
            text += &format!("\nscores by class\n{table}\nall predictions\n");
        }
        let mut table = output::table(&["class", &format!(">{items}")]);
        for ClassCount { class, count } in &self.class_counts {
            table.add_row([class.clone(), output::count(*count as u64)]);
        }
        text += &output::render(&table);
        if let Some(taken) = &self.taken {
            let mut table = output::table(&["exit", &format!(">{items} taking it")]);
            for (exit, count) in taken.iter().enumerate() {
                table.add_row([exit.to_string(), real(*count as f64)]);
            }
            text += &format!("\n{}", output::render(&table));
        }
        if let Some(file) = &self.output {
            text += &format!("\nclasses and probabilities are in {file}\n");
        }
        if let Some(Embeddings { file, width }) = &self.embeddings {
            text += &format!("\nembeddings of width {width} are in {file}\n");
        }
        text
    }
}
