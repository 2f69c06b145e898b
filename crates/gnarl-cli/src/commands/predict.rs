//! `gnarl predict`: the answers of a saved model, or of a program outside, on a graph or a set.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gnarl::features::{FeatureScaling, Scaler};
use gnarl::inference::{External, Inference, Reading};
use gnarl::model::Fitted;
use gnarl::thesis::inference_values::thesis_inference;
use gnarl::train::argmax;
use gnarl_graph::dataset::columnar::{self, Column};
use gnarl_graph::metrics::ClassScores;
use gnarl_graph::names::{Given, Listed};
use gnarl_graph::{Content, Dataset, DenseMatrix, Error, Graph, Part};
use serde::Serialize;

use super::classes::ByClass;
use super::load;
use super::model::ModelOptions;
use crate::global::Global;
use crate::output::{self, Report, real};

/// `gnarl predict`
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
    /// A program that answers over standard input and output (docs/inference.md has the protocol),
    /// as in "python3 model.py"
    #[arg(long, value_name = "COMMAND")]
    pub external: Option<String>,
    /// Of --external: seconds an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub time_limit: f64,
    /// Of --external: as-loaded or row-normalised features [default: as-loaded]
    #[arg(long, value_name = "SCALING", conflicts_with = "load")]
    pub features: Option<FeatureScaling>,
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files;
    /// labels are not needed
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Write node (or graph), class and a probability per class to this file, as CSV, or as Parquet
    /// where it ends in .parquet
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Of --load: write the last representation of every node, or of a set every graph's vector, to
    /// this file, as .npy or .csv
    #[arg(long, value_name = "FILE", conflicts_with = "external")]
    pub embeddings: Option<PathBuf>,
    /// List every prediction in the JSON even where there are more than 100,000
    #[arg(long)]
    pub values: bool,
    #[command(flatten)]
    pub inference: InferenceOptions,
}

/// The inference axis alone.
#[derive(Debug, Clone, Default)]
pub struct InferenceOptions(Vec<Given>);

impl InferenceOptions {
    /// What was asked for; `None` where nothing was.
    fn choice(&self) -> gnarl_graph::Result<Option<Inference>> {
        let Some((_, name)) = self.0.iter().find(|(flag, _)| flag == AXIS) else {
            return match self.0.first() {
                None => Ok(None),
                Some((flag, _)) => Err(Error::setting(
                    &format!("--{flag}"),
                    "belongs to --inference, which was not asked for",
                )),
            };
        };
        let settings: Vec<Given> = self
            .0
            .iter()
            .filter_map(|(flag, text)| Some((stored(flag)?, text.clone())))
            .collect();
        name.parse::<Inference>()?.with(&settings).map(Some)
    }
}

const AXIS: &str = "inference";

/// The name that a flag's setting is stored under.
fn stored(flag: &str) -> Option<String> {
    let list: &[Listed] = Inference::LIST;
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
        let mut given: Vec<Given> = Vec::new();
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

/// Predictions listed in the JSON unless more are asked for.
const MOST_LISTED: usize = 100_000;

/// What `gnarl predict` found.
#[derive(Debug, Serialize)]
pub struct PredictReport {
    data: String,
    model: String,
    /// Nodes of a graph, or graphs of a set.
    items: usize,
    /// What they are: node or graph.
    item: &'static str,
    /// Per cent right among the items that were held out for testing; only where the model knows
    /// which those are.
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<f64>,
    /// The same of a plain forward pass, where another inference is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain_test_accuracy: Option<f64>,
    /// Per cent right among all labelled items of data of which nothing is known to be held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// Of the items that are judged, in per cent: the mean of the classes' recalls.
    #[serde(skip_serializing_if = "Option::is_none")]
    balanced_accuracy: Option<f64>,
    /// The mean of the classes' F1.
    #[serde(skip_serializing_if = "Option::is_none")]
    macro_f1: Option<f64>,
    /// The area under the ROC curve, of more than two classes the mean of each against the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    roc_auc: Option<f64>,
    /// Class by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_class: Option<ByClass>,
    /// Names of classes that the data has and the model does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_classes: Vec<String>,
    /// How answers are read off, where not plainly.
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<Inference>,
    /// The class of every item.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Vec<String>>,
    /// Items per predicted class.
    class_counts: Vec<ClassCount>,
    /// Of a model with exits: items that take each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<Embeddings>,
    #[serde(skip)]
    trained_on: String,
}

/// Where representations went, and how wide they are.
#[derive(Debug, Serialize)]
struct Embeddings {
    file: String,
    width: usize,
}

#[derive(Debug, Serialize)]
struct ClassCount {
    class: String,
    items: usize,
}

/// Loads and predicts.
pub fn run(global: &Global, args: &PredictArgs) -> anyhow::Result<PredictReport> {
    // A wrong option or file should not wait for the data.
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
    mut fitted: Fitted,
    choice: Option<Inference>,
    data: &Dataset,
) -> anyhow::Result<PredictReport> {
    let recognised = fitted.recognised(data);
    if let Some(choice) = choice {
        let choice = thesis_inference(choice, &fitted.trained_on().dataset);
        // What looks clean is learned from what the model was trained on, where this is it.
        let on = recognised.as_ref().unwrap_or(&data.content);
        fitted = fitted.with_inference(choice, on, recognised.is_some())?;
    }
    let content = recognised.clone().unwrap_or_else(|| data.content.clone());
    let predictions = fitted.predict(&content)?;
    let test = Part::Test.of(&fitted.trained_on().split).to_vec();
    let all: Vec<u32> = (0..content.num_items() as u32).collect();
    let plain = match fitted.reading().is_plain() {
        false => Some(fitted.predict_plainly(&content)?),
        true => None,
    };
    let judged = |predictions| {
        fitted.accuracy_on(
            predictions,
            &content,
            if recognised.is_some() { &test } else { &all },
        )
    };
    let accuracy = judged(&predictions)?;
    let names: Vec<String> = fitted.classes().to_vec();
    let report = PredictReport {
        data: data.name.clone(),
        model: fitted.model().backbone.to_string(),
        items: content.num_items(),
        item: item_of(&content),
        test_accuracy: accuracy.filter(|_| recognised.is_some()),
        plain_test_accuracy: plain
            .as_ref()
            .filter(|_| recognised.is_some())
            .map(judged)
            .transpose()?
            .flatten(),
        accuracy: accuracy.filter(|_| recognised.is_none()),
        balanced_accuracy: None,
        macro_f1: None,
        roc_auc: None,
        by_class: None,
        unknown_classes: content
            .labels()
            .map_or_else(Vec::new, |labels| fitted.unknown_classes(labels)),
        inference: (!fitted.reading().is_plain()).then(|| fitted.reading().inference()),
        predictions: None,
        class_counts: Vec::new(),
        taken: predictions
            .exits
            .as_ref()
            .map(|exits| counted(exits, fitted.num_exits())),
        output: None,
        embeddings: args
            .embeddings
            .as_deref()
            .map(|file| write_embeddings(file, &fitted, &content))
            .transpose()?,
        trained_on: fitted.trained_on().dataset.clone(),
    };
    let scores = fitted.class_scores(
        &predictions,
        &content,
        if recognised.is_some() { &test } else { &all },
    )?;
    let report = report.judged(&names, scores);
    finish(
        args,
        report,
        &content,
        &names,
        &predictions.classes,
        &predictions.probabilities,
    )
}

/// A program outside. Its words are parted by spaces: a script of its own is the place for anything
/// longer.
fn with_program(
    global: &Global,
    args: &PredictArgs,
    command: &str,
    choice: Option<Inference>,
    data: &Dataset,
) -> anyhow::Result<PredictReport> {
    let Ok(limit) = Duration::try_from_secs_f64(args.time_limit) else {
        let what = format!("{} is not a time limit in seconds", args.time_limit);
        return Err(Error::argument("--time-limit", what).into());
    };
    let words: Vec<String> = command.split_whitespace().map(String::from).collect();
    let model = External::start(&words, limit)?;
    let (graph, splits) = match data.graph()?.labels() {
        Some(_) => {
            let benchmark = data.benchmark(global.seed, 1)?;
            (benchmark.content.graph()?.clone(), benchmark.splits)
        }
        None => (data.graph()?.clone(), Vec::new()),
    };
    // An outside program has its own idea of features: nothing is done to them unless asked.
    let scaling = args.features.unwrap_or(FeatureScaling::AsLoaded);
    let graph = Scaler::fit(scaling, [&graph].into_iter())?.scaled(&graph)?;
    let train: Vec<u32> = splits.first().map_or_else(
        || (0..graph.num_nodes() as u32).collect(),
        |s| s.train().to_vec(),
    );
    let choice = choice.map(|choice| thesis_inference(choice, &data.name));
    let reading = match choice {
        Some(choice) => choice.fit(&model, &graph, &train)?,
        None => Reading::default(),
    };
    let reading = match (choice.is_some_and(|choice| choice.tunes()), splits.first()) {
        (true, Some(split)) => reading.tuned(&model, &graph, split.val(), global.seed)?,
        _ => reading,
    };
    let classes_of = |answers: &DenseMatrix<f32>| {
        (0..answers.num_rows())
            .map(|u| argmax(answers.row(u)) as u32)
            .collect()
    };
    let answers = reading.answer(&model, &graph, global.seed)?;
    let classes: Vec<u32> = classes_of(&answers);
    let plain: Vec<u32> = match reading.is_plain() {
        true => classes.clone(),
        false => classes_of(&Reading::default().answer(&model, &graph, global.seed)?),
    };
    let test: Vec<u32> = splits.first().map_or_else(Vec::new, |s| s.test().to_vec());
    let right = |classes: &[u32]| -> Option<f64> {
        let labelled: Vec<(u32, u32)> = test
            .iter()
            .filter_map(|&u| Some((u, graph.labels()?.get(u)?)))
            .collect();
        let right = labelled
            .iter()
            .filter(|(u, c)| classes[*u as usize] == *c)
            .count();
        (!labelled.is_empty()).then(|| 100.0 * right as f64 / labelled.len() as f64)
    };
    let names = (0..answers.num_cols() as u32).map(|c| match graph.labels() {
        Some(labels) if (c as usize) < labels.num_classes() => labels.name(c),
        _ => c.to_string(),
    });
    let names: Vec<String> = names.collect();
    let report = PredictReport {
        data: data.name.clone(),
        model: command.to_string(),
        items: graph.num_nodes(),
        item: "node",
        test_accuracy: right(&classes),
        plain_test_accuracy: (!reading.is_plain()).then(|| right(&plain)).flatten(),
        accuracy: None,
        balanced_accuracy: None,
        macro_f1: None,
        roc_auc: None,
        by_class: None,
        unknown_classes: Vec::new(),
        inference: (!reading.is_plain()).then(|| reading.inference()),
        predictions: None,
        class_counts: Vec::new(),
        taken: None,
        output: None,
        embeddings: None,
        trained_on: data.name.clone(),
    };
    let scores = outside_scores(&graph, &test, &classes, &answers)?;
    let report = report.judged(&names, scores);
    finish(
        args,
        report,
        &Content::Graph(graph),
        &names,
        &classes,
        &answers,
    )
}

/// What a program's answers are worth class by class, where it has as many classes as the labels.
fn outside_scores(
    graph: &Graph,
    test: &[u32],
    classes: &[u32],
    answers: &DenseMatrix<f32>,
) -> gnarl_graph::Result<Option<ClassScores>> {
    let Some(labels) = graph
        .labels()
        .filter(|labels| labels.num_classes() == answers.num_cols())
    else {
        return Ok(None);
    };
    let judged = test.iter().filter_map(|&u| Some((u, labels.get(u)?)));
    let (items, truth): (Vec<u32>, Vec<u32>) = judged.unzip();
    if items.is_empty() {
        return Ok(None);
    }
    let predicted: Vec<u32> = items.iter().map(|&u| classes[u as usize]).collect();
    ClassScores::new(
        &truth,
        &predicted,
        Some(&answers.select_rows(&items)),
        labels.num_classes(),
    )
    .map(Some)
}

impl PredictReport {
    /// With what the answers are worth class by class.
    fn judged(self, names: &[String], scores: Option<ClassScores>) -> Self {
        let Some(scores) = scores else { return self };
        Self {
            balanced_accuracy: Some(100.0 * scores.balanced_accuracy),
            macro_f1: Some(100.0 * scores.macro_f1),
            roc_auc: scores.roc_auc.map(|area| 100.0 * area),
            by_class: Some(ByClass::new(names, scores)),
            ..self
        }
    }
}

fn ends_in(file: &Path, ending: &str) -> bool {
    file.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Writes representations as an array for NumPy, or as rows behind the names of nodes.
fn write_embeddings(file: &Path, fitted: &Fitted, content: &Content) -> anyhow::Result<Embeddings> {
    let Some(vectors) = fitted.embeddings(content)? else {
        let what = format!(
            "{} has class scores alone, which --output has",
            fitted.model().backbone
        );
        return Err(Error::argument("--embeddings", what).into());
    };
    if ends_in(file, "npy") {
        gnarl_graph::dataset::npz_writer::save_matrix(file, &vectors)?;
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

/// What item `i` is called.
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

/// Counts, lists and writes what was predicted.
fn finish(
    args: &PredictArgs,
    mut report: PredictReport,
    content: &Content,
    names: &[String],
    classes: &[u32],
    probabilities: &DenseMatrix<f32>,
) -> anyhow::Result<PredictReport> {
    let count = |class: usize| classes.iter().filter(|c| **c as usize == class).count();
    let counts = names.iter().enumerate().map(|(i, name)| ClassCount {
        class: name.clone(),
        items: count(i),
    });
    report.class_counts = counts.collect();
    if args.values || classes.len() <= MOST_LISTED {
        report.predictions = Some(classes.iter().map(|&c| names[c as usize].clone()).collect());
    }
    if let Some(file) = &args.output {
        match ends_in(file, "parquet") {
            true => write_parquet(file, report.item, content, names, classes, probabilities)?,
            false => write_csv(file, report.item, content, names, classes, probabilities)?,
        }
        report.output = Some(file.display().to_string());
    }
    Ok(report)
}

/// The columns of the CSV file.
fn write_parquet(
    file: &Path,
    item: &str,
    content: &Content,
    names: &[String],
    classes: &[u32],
    probabilities: &DenseMatrix<f32>,
) -> anyhow::Result<()> {
    let items = (0..classes.len()).map(|i| name_of(content, i)).collect();
    let said = classes
        .iter()
        .map(|&class| names[class as usize].clone())
        .collect();
    let mut columns = vec![
        (item.to_string(), Column::Text(items)),
        ("class".to_string(), Column::Text(said)),
    ];
    for (c, name) in names.iter().enumerate() {
        let of_class = (0..classes.len())
            .map(|i| probabilities.row(i)[c])
            .collect();
        // A class may be called as a column is.
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
        let items = format!("{}s", self.item);
        let mut line = format!(
            "{} on {}: {} {items}",
            self.model,
            self.data,
            output::count(self.items as u64)
        );
        match (self.test_accuracy, self.accuracy) {
            (Some(test), _) => {
                line += &format!(", {test:.2} % right of those held out for testing")
            }
            (None, Some(accuracy)) => {
                line += &format!(
                    ", {accuracy:.2} % right of all labelled ones; the model was trained on {} and none of these is known to be held out",
                    self.trained_on
                );
            }
            (None, None) => line += ", none with a known label",
        }
        if let (Some(plain), Some(inference)) = (self.plain_test_accuracy, &self.inference) {
            line += &format!("; with {inference}, {plain:.2} % without");
        }
        let mut text = line + "\n";
        if !self.unknown_classes.is_empty() {
            let names = self.unknown_classes.join(", ");
            text += &format!(
                "classes that the model does not know, always counted as wrong: {names}\n"
            );
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
            text += &format!("\nof these, class by class\n{table}\nall predictions\n");
        }
        let mut table = output::table(&["class", &format!(">{items}")]);
        for ClassCount { class, items } in &self.class_counts {
            table.add_row([class.clone(), output::count(*items as u64)]);
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
            text += &format!("\nrepresentations of {width} numbers each are in {file}\n");
        }
        text
    }
}
