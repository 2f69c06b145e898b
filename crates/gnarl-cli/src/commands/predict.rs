//! `gnarl predict`: the answers of a saved model, or of a program outside, on a graph.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use gnarl::classifier::{Classifier, Leaving, WhiteBox};
use gnarl::depth::{Answers, ExitNetwork, Structure};
use gnarl::features::FeatureScaling;
use gnarl::inference::{Choice, Defended, External};
use gnarl::task::attack::answers;
use gnarl::task::depth::count_exits;
use gnarl::task::node::{Preparation, Prepared};
use gnarl::train::{Checkpoint, Stored};
use gnarl_graph::dataset::{Content, Dataset};
use gnarl_graph::{Graph, Labels};
use serde::Serialize;

use super::graphs::{self, SetPredictReport};
use super::inference::InferenceArgs;
use super::train::{load_with_splits, splits_of};
use super::{OnData, load};
use crate::args::Global;
use crate::output::{self, Report};

/// `gnarl predict`
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A safetensors file written by `gnarl train --save`
    #[arg(long, value_name = "FILE", required_unless_present = "external", conflicts_with = "external")]
    pub load: Option<PathBuf>,
    /// A program that answers over standard input and output (docs/inference.md has the protocol), as in "python3 model.py"
    #[arg(long, value_name = "COMMAND")]
    pub external: Option<String>,
    /// Of --external: seconds an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub time_limit: f64,
    /// Of --external: as-loaded or row-normalised features
    #[arg(long, value_name = "SCALING", default_value = "as-loaded")]
    pub features: FeatureScaling,
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Of --inference clean-crf: the dataset that the model was trained on, from which it learns what looks clean [default: the
    /// one of --data]
    #[arg(long, value_name = "NAME")]
    pub clean_data: Option<String>,
    #[command(flatten)]
    pub inference: InferenceArgs,
}

/// What `gnarl predict` found.
#[derive(Debug, Serialize)]
pub struct PredictReport {
    data: String,
    model: String,
    nodes: usize,
    /// Per cent right among the labelled nodes of the first split's test set.
    test_accuracy: f64,
    /// The same of a plain forward pass, where another inference was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<Choice>,
    /// The class of every node.
    predictions: Vec<usize>,
    /// Nodes per predicted class.
    class_counts: Vec<usize>,
    /// Of a model with exits: nodes that leave at each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    leave_at: Option<Vec<usize>>,
}

/// A model that is ready, and what it asks of a graph.
struct Model {
    name: String,
    classifier: Box<dyn Classifier>,
    scaling: FeatureScaling,
    leave_at: Option<Vec<usize>>,
}

/// Loads and predicts, on one graph or on a set of them.
pub fn run(global: &Global, args: &PredictArgs) -> anyhow::Result<OnData<PredictReport, SetPredictReport>> {
    // A wrong option or file should not wait for the data.
    let choice = args.inference.choice(&args.data, None)?;
    let stored = args.load.as_ref().map(|file| Stored::read(file)).transpose()?;
    let loaded = load(global, &args.data)?;
    if !matches!(loaded.content, Content::Graphs(_)) {
        return run_nodes(global, args, stored, loaded).map(OnData::OneGraph);
    }
    match (stored, choice) {
        (Some(stored), None) => graphs::predict(global, &stored, &loaded).map(OnData::Graphs),
        _ => {
            let what = format!("{} is a set of graphs: it takes --load and a plain forward pass", loaded.name);
            Err(gnarl_graph::Error::argument("predict", what).into())
        }
    }
}

fn run_nodes(
    global: &Global,
    args: &PredictArgs,
    stored: Option<Stored>,
    loaded: Dataset,
) -> anyhow::Result<PredictReport> {
    if let Some(stored) = stored.as_ref().filter(|stored| stored.checkpoint.graphs.is_some()) {
        let what = format!("a classifier of graphs, but {} is one graph", loaded.name);
        return Err(stored.wrong(&what).into());
    }
    let (data, graph, splits) = splits_of(global, loaded, 1)?;
    let choice = args.inference.choice(&data, None)?;
    let model = match (&args.load, &args.external) {
        (Some(file), _) => restore(file, &data, &graph)?,
        (None, Some(command)) => outside(command, args)?,
        (None, None) => return Err(gnarl_graph::Error::argument("predict", "needs --load or --external").into()),
    };
    let classifier = &*model.classifier;
    let graph = model.scaling.scaled(&graph)?;
    let plain = answers(classifier, &graph)?;
    let test = |answers: &[usize]| graph.labels().map_or(f64::NAN, |labels| right(answers, splits[0].test(), labels));
    let plain_accuracy = test(&plain);

    let mut report = PredictReport {
        data,
        model: model.name,
        nodes: graph.num_nodes(),
        test_accuracy: plain_accuracy,
        plain_accuracy: None,
        inference: None,
        predictions: plain,
        class_counts: vec![0; classifier.num_classes()],
        leave_at: model.leave_at,
    };
    if let Some(choice) = choice {
        let clean = match &args.clean_data {
            Some(name) => {
                let (_, clean, splits) = load_with_splits(global, name, 1)?;
                Some((model.scaling.scaled(&clean)?, splits))
            }
            None => None,
        };
        let (trained_on, split) = clean.as_ref().map_or((&graph, &splits[0]), |(graph, splits)| (graph, &splits[0]));
        let choice = match args.inference.inference_tune {
            true => choice.tuned(classifier, trained_on, &graph, &splits[0], global.seed)?,
            false => choice,
        };
        if let Some(around) = choice.around(classifier, trained_on, split)? {
            let defended = Defended { model: classifier, crf: choice.crf, around: &around, seed: global.seed };
            report.predictions = answers(&defended, &graph)?;
        }
        report.plain_accuracy = Some(plain_accuracy);
        report.test_accuracy = test(&report.predictions);
        report.inference = Some(choice);
    }
    for &p in &report.predictions {
        report.class_counts[p] += 1;
    }
    Ok(report)
}

/// Per cent of the labelled nodes given that answers are right on.
fn right(answers: &[usize], nodes: &[u32], labels: &Labels) -> f64 {
    let labelled: Vec<(u32, u32)> = nodes.iter().filter_map(|&u| labels.get(u).map(|c| (u, c))).collect();
    let right = labelled.iter().filter(|(u, c)| answers[*u as usize] == *c as usize).count();
    100.0 * right as f64 / labelled.len().max(1) as f64
}

/// A saved model that fits a graph.
fn restore(file: &Path, data: &str, graph: &Graph) -> anyhow::Result<Model> {
    let stored = Stored::read(file)?;
    let checkpoint = &stored.checkpoint;
    let wrong = |what: String| gnarl::Error::Checkpoint { file: file.to_path_buf(), what };
    let preparation: Preparation = serde_json::from_value(checkpoint.preparation.clone())
        .map_err(|e| wrong(format!("its preparation is broken: {e}")))?;
    let prepared = Prepared::new(graph, checkpoint.network.backbone, preparation)?;
    let (features, classes) = (prepared.input.dim(), prepared.labels.num_classes());
    if (features, classes) != (checkpoint.in_dim, checkpoint.num_classes) {
        let what = format!(
            "trained on {} with {} features and {} classes, but {data} has {features} and {classes}",
            checkpoint.dataset, checkpoint.in_dim, checkpoint.num_classes
        );
        return Err(wrong(what).into());
    }
    let operator = preparation.operator;
    let (classifier, leave_at): (Box<dyn Classifier>, _) = match ExitNetwork::load(&stored)? {
        None => (Box::new(WhiteBox::new(Checkpoint::load(file)?.1, operator)?), None),
        Some((exits, policy)) => {
            let found =
                Answers::new(&exits.predict(&prepared.propagation, &prepared.input).map_err(gnarl::Error::from)?)?;
            let chosen = policy.exits(&Structure::new(graph, &policy.kinds())?, &found)?;
            let counts = count_exits(&chosen, found.num_exits());
            (Box::new(Leaving { exits, policy, operator }), Some(counts))
        }
    };
    let name = checkpoint.network.backbone.to_string();
    Ok(Model { name, classifier, scaling: preparation.features, leave_at })
}

/// A program outside. Its words are parted by spaces: a script of its own is the place for anything longer.
fn outside(command: &str, args: &PredictArgs) -> anyhow::Result<Model> {
    let Ok(limit) = Duration::try_from_secs_f64(args.time_limit) else {
        let what = format!("{} is not a time limit in seconds", args.time_limit);
        return Err(gnarl_graph::Error::argument("--time-limit", what).into());
    };
    let words: Vec<String> = command.split_whitespace().map(String::from).collect();
    let classifier = Box::new(External::start(&words, limit)?);
    Ok(Model { name: command.to_string(), classifier, scaling: args.features, leave_at: None })
}

impl Report for PredictReport {
    fn text(&self) -> String {
        let mut table = output::table(&["class", ">nodes"]);
        for (class, count) in self.class_counts.iter().enumerate() {
            table.add_row([class.to_string(), output::count(*count as u64)]);
        }
        let mut line = format!("{} on {}: {:.2} % right on the test set", self.model, self.data, self.test_accuracy);
        if let (Some(plain), Some(choice)) = (self.plain_accuracy, &self.inference) {
            line += &format!(" with {}, {plain:.2} % without", choice.kind);
        }
        let mut text = line + "\n" + &output::render(&table);
        if let Some(leave_at) = &self.leave_at {
            let mut table = output::table(&["exit", ">nodes leaving"]);
            for (exit, count) in leave_at.iter().enumerate() {
                table.add_row([exit.to_string(), output::count(*count as u64)]);
            }
            text += &format!("\n{}", output::render(&table));
        }
        text
    }
}
