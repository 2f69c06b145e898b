//! `gnarl predict`: class scores of a saved model.

use std::path::PathBuf;

use clap::Args;
use gnarl::depth::{Answers, Exits, Structure};
use gnarl::task::depth::count_exits;
use gnarl::task::node::{Preparation, Prepared};
use gnarl::train::{Checkpoint, Stored, Targets, argmax, predict};
use gnarl_graph::dataset::{Dataset, Loaded};
use serde::Serialize;

use super::graphs::{self, SetPredictReport};
use super::train::splits_of;
use super::{OnData, load};
use crate::args::Global;
use crate::output::{self, Report};

/// `gnarl predict`
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A safetensors file written by `gnarl train --save`
    #[arg(long, value_name = "FILE")]
    pub load: PathBuf,
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
}

/// What `gnarl predict` found.
#[derive(Debug, Serialize)]
pub struct PredictReport {
    data: String,
    model: String,
    nodes: usize,
    /// Per cent right among the labelled nodes of the first split's test set.
    test_accuracy: f64,
    /// The class of every node.
    predictions: Vec<usize>,
    /// Nodes per predicted class.
    class_counts: Vec<usize>,
    /// Of a model with exits: nodes that leave at each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    leave_at: Option<Vec<usize>>,
}

/// Loads and predicts, on one graph or on a set of them.
pub fn run(global: &Global, args: &PredictArgs) -> anyhow::Result<OnData<PredictReport, SetPredictReport>> {
    let stored = Stored::read(&args.load)?;
    let loaded = load(global, &args.data)?;
    if matches!(loaded.dataset, Dataset::Graphs(_)) {
        return graphs::predict(global, &stored, &loaded).map(OnData::Graphs);
    }
    run_nodes(global, args, &stored, loaded).map(OnData::OneGraph)
}

fn run_nodes(global: &Global, args: &PredictArgs, stored: &Stored, loaded: Loaded) -> anyhow::Result<PredictReport> {
    if stored.checkpoint.graphs.is_some() {
        let what = format!("a classifier of graphs, but {} is one graph", loaded.name);
        return Err(stored.wrong(&what).into());
    }
    let checkpoint = &stored.checkpoint;
    let wrong = |what: String| gnarl::Error::Checkpoint { file: args.load.clone(), what };
    let preparation: Preparation = serde_json::from_value(checkpoint.preparation.clone())
        .map_err(|e| wrong(format!("its preparation is broken: {e}")))?;
    let (data, graph, splits) = splits_of(global, loaded, 1)?;
    let prepared = Prepared::new(&graph, checkpoint.network.backbone, preparation)?;
    let (features, classes) = (prepared.input.dim(), prepared.labels.num_classes());
    if (features, classes) != (checkpoint.in_dim, checkpoint.num_classes) {
        let what = format!(
            "trained on {} with {} features and {} classes, but {data} has {features} and {classes}",
            checkpoint.dataset, checkpoint.in_dim, checkpoint.num_classes
        );
        return Err(wrong(what).into());
    }
    let test = Targets::new(splits[0].test(), &prepared.labels);
    let (predictions, test_accuracy, leave_at) = match Exits::load(stored)? {
        None => {
            let network = Checkpoint::load(&args.load)?.1;
            let scores = predict(&network, &prepared.hear, &prepared.input)?;
            let rows = scores.to_vec2::<f32>().map_err(gnarl::Error::from)?;
            (rows.iter().map(|s| argmax(s)).collect::<Vec<usize>>(), test.accuracy(&scores)?, None)
        }
        Some((exits, policy)) => {
            let answers = Answers::new(&exits.predict(&prepared.hear, &prepared.input).map_err(gnarl::Error::from)?)?;
            let chosen = policy.exits(&Structure::new(&graph, &policy.kinds())?, &answers)?;
            let classes = chosen.iter().enumerate().map(|(node, &exit)| answers.class(exit, node) as usize).collect();
            (classes, answers.policy_accuracy(&chosen, &test), Some(count_exits(&chosen, answers.num_exits())))
        }
    };
    let mut class_counts = vec![0; classes];
    for &p in &predictions {
        class_counts[p] += 1;
    }
    let model = checkpoint.network.backbone.to_string();
    Ok(PredictReport { data, model, nodes: predictions.len(), test_accuracy, predictions, class_counts, leave_at })
}

impl Report for PredictReport {
    fn text(&self) -> String {
        let mut table = output::table(&["class", ">nodes"]);
        for (class, count) in self.class_counts.iter().enumerate() {
            table.add_row([class.to_string(), output::count(*count as u64)]);
        }
        let line = format!("{} on {}: {:.2} % right on the test set\n", self.model, self.data, self.test_accuracy);
        let mut text = line + &output::render(&table);
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
