//! `gnarl --tour karate`: trains a handful of models on the embedded karate club, as a table and as
//! a page with pictures.
//!
//! | file | contents |
//! | --- | --- |
//! | `entries` | the models, one row each |
//! | `layout` | positions of the nodes in a drawing |
//! | `page` | the HTML page |
//! | `facts` | statistics of the graphs that need no files |

mod entries;
mod facts;
mod layout;
mod page;

use std::path::Path;

use gnarl::model::FitReport;
use gnarl::model::Model;
use gnarl::model::fit::{FitOptions, Ready};
use gnarl::study::Accuracy;
use gnarl_data::Content;
use gnarl_graph::metrics::paired_difference;
use gnarl_graph::{Error, Graph, Split};
use gnarl_nn::train::{Callbacks, Epoch, median};
use rayon::prelude::*;
use serde::Serialize;

use self::entries::{ENTRIES, Entry, PLAIN};
use self::facts::GraphFacts;
use super::{check_writable, refuse};
use crate::commands::load_graph;
use crate::global::Global;
use crate::output::{self, Report, real};
use crate::{interrupt, progress};

/// Name of the dataset.
const DATA: &str = "karate";
/// Number of random splits; every row is trained once on each.
const SPLITS: usize = 20;
/// Number of training members of each community.
const TRAIN_PER_CLASS: usize = 2;
/// Number of validation members, which select the epoch whose weights are kept; the rest are test
/// members.
const VALIDATE: usize = 8;

/// Suggested next commands.
const NEXT: [(&str, &str); 4] = [
    (
        "gnarl train --data karate --model gcn --operator H",
        "train one of these rows, with every setting",
    ),
    (
        "gnarl spectrum --data karate --centrality core",
        "compute the eigenvalues of operators, and their bounds",
    ),
    (
        "gnarl centrality --data csbm --kind pagerank --top 5",
        "list the most central nodes",
    ),
    (
        "gnarl data list",
        "list all datasets; `gnarl data get NAME` downloads one",
    ),
];

/// Result of the karate demo.
#[derive(Debug, Serialize)]
pub struct DemoReport {
    data: &'static str,
    seed: u64,
    protocol: Protocol,
    /// Accuracy of always predicting the largest community.
    majority: Accuracy,
    rows: Vec<Row>,
    /// True if Ctrl-C ended the training early.
    interrupted: bool,
    /// Statistics of the graphs that need no files.
    graphs: Vec<GraphFacts>,
    /// File of the page.
    report: String,
    next: Vec<&'static str>,
}

/// Split protocol: the numbers of training, validation and test members.
#[derive(Debug, Serialize)]
struct Protocol {
    splits: usize,
    train_per_class: usize,
    validate: usize,
    test: usize,
    epochs: usize,
}

/// A row of the table.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    entry: Entry,
    test_accuracy: Accuracy,
    val_accuracy: Accuracy,
    /// Accuracy of this row minus that of the plain GCN, split by split.
    minus_plain: Option<Difference>,
    /// Median milliseconds of a training step, with runs in parallel.
    epoch_ms: f64,
    /// Validation accuracy by epoch, the mean over splits.
    #[serde(skip)]
    val_curve: Vec<f64>,
    /// Training loss by epoch, the mean over splits.
    #[serde(skip)]
    loss_curve: Vec<f64>,
    /// Test predictions of every node over the splits.
    #[serde(skip)]
    predictions: Vec<Predictions>,
}

#[derive(Debug, Serialize)]
struct Difference {
    mean: f64,
    standard_error: f64,
    is_clear: bool,
}

/// Test predictions of a node over the splits.
#[derive(Debug, Clone, Default)]
struct Predictions {
    /// Number of predictions of each class.
    counts: Vec<usize>,
    wrong: usize,
}

impl Predictions {
    fn tested(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the share of tests in which the node was misclassified.
    fn share_wrong(&self) -> f64 {
        self.wrong as f64 / self.tested().max(1) as f64
    }
}

/// One training, and its prediction for every node.
struct Trial {
    fit: FitReport,
    test_accuracy: f64,
    classes: Vec<u32>,
}

impl Trial {
    fn curve(&self) -> &[Epoch] {
        self.fit
            .trained
            .first()
            .map_or(&[], |trained| &trained.curve)
    }
}

/// Trains every row on every split, writes the page, and returns the report.
pub fn run(global: &Global, file: &Path, rough: Option<usize>) -> anyhow::Result<DemoReport> {
    check_writable(file)?;
    let (_, graph) = load_graph(global, DATA, "the demo")?;
    let splits = splits(&graph, global.seed)?;
    let trials = train_all(&graph, &splits, global.seed, rough)?;
    let rows = rows(&graph, &splits, &trials)?;
    let epochs = trials
        .iter()
        .flatten()
        .map(|trial| trial.curve().len())
        .max()
        .unwrap_or(0);
    let report = DemoReport {
        data: DATA,
        seed: global.seed,
        protocol: Protocol {
            splits: SPLITS,
            train_per_class: TRAIN_PER_CLASS,
            validate: VALIDATE,
            test: splits[0].test().len(),
            epochs,
        },
        majority: majority(&graph, &splits)?,
        rows,
        interrupted: trials.iter().flatten().any(|trial| trial.fit.interrupted),
        graphs: facts::both(global)?,
        report: file.display().to_string(),
        next: NEXT.map(|(command, _)| command).to_vec(),
    };
    output::write_whole(file, page::page(&report, &graph)?)
        .map_err(|e| refuse(file, &e.to_string()))?;
    Ok(report)
}

/// Samples the splits; split `i` has seed `seed + i`.
fn splits(graph: &Graph, seed: u64) -> gnarl_graph::Result<Vec<Split>> {
    let labels = graph
        .labels()
        .ok_or_else(|| Error::missing("gnarl", "the graph has no labels", ""))?;
    let train: usize = labels
        .counts()
        .iter()
        .map(|&size| size.min(TRAIN_PER_CLASS))
        .sum();
    let test = graph.num_nodes().saturating_sub(train + VALIDATE);
    (0..SPLITS as u64)
        .map(|i| {
            Split::per_class(
                labels,
                TRAIN_PER_CLASS,
                VALIDATE,
                test,
                seed.wrapping_add(i),
            )
        })
        .collect()
}

/// Trains every row on every split in parallel; run `i` of every row has split `i` and seed `seed +
/// i`.
fn train_all(
    graph: &Graph,
    splits: &[Split],
    seed: u64,
    rough: Option<usize>,
) -> anyhow::Result<Vec<Vec<Trial>>> {
    let content = Content::Graph(graph.clone());
    let make = |entry: &Entry| {
        let model = Model::new(entry.backbone).operator(entry.choice);
        rough.map_or(model, |epochs| model.epochs(epochs)).ready(
            DATA,
            &content,
            FitOptions::default(),
        )
    };
    let ready: Vec<Ready> = ENTRIES.iter().map(make).collect::<Result<_, _>>()?;
    let epochs: usize = ready.iter().map(|ready| ready.plan().training.epochs).sum();
    let bar = progress::steps(
        &format!("training {} models on {DATA}", ENTRIES.len()),
        (epochs * splits.len()) as u64,
    );
    let on_epoch = |_: usize, _: &_| bar.inc(1);
    let callbacks = Callbacks::new(&on_epoch, interrupt::flag());
    let trial = |row: usize, i: usize| -> gnarl_graph::Result<Trial> {
        let fitted = ready[row].fit(&splits[i], seed.wrapping_add(i as u64), &callbacks)?;
        let predictions = fitted.predict(&content)?;
        let test_accuracy = fitted
            .accuracy_on(&predictions, &content, splits[i].test())?
            .unwrap_or(f64::NAN);
        Ok(Trial {
            fit: fitted.report().clone(),
            test_accuracy,
            classes: predictions.classes,
        })
    };
    let trials: Vec<Vec<Trial>> = (0..ENTRIES.len())
        .into_par_iter()
        .map(|row| {
            (0..splits.len())
                .into_par_iter()
                .map(|i| trial(row, i))
                .collect()
        })
        .collect::<gnarl_graph::Result<_>>()?;
    bar.finish_and_clear();
    Ok(trials)
}

fn rows(graph: &Graph, splits: &[Split], trials: &[Vec<Trial>]) -> anyhow::Result<Vec<Row>> {
    let test = |trials: &[Trial]| trials.iter().map(|t| t.test_accuracy).collect::<Vec<_>>();
    let plain = test(&trials[PLAIN]);
    let mut rows = Vec::with_capacity(ENTRIES.len());
    for (i, (entry, trials)) in ENTRIES.into_iter().zip(trials).enumerate() {
        let paired = paired_difference(&test(trials), &plain)?;
        let difference = Difference {
            mean: paired.mean,
            standard_error: paired.standard_error,
            is_clear: paired.is_clear(),
        };
        rows.push(Row {
            entry,
            test_accuracy: Accuracy::of(test(trials))?,
            val_accuracy: Accuracy::of(trials.iter().filter_map(|t| t.fit.val_accuracy).collect())?,
            minus_plain: (i != PLAIN).then_some(difference),
            epoch_ms: median(
                trials
                    .iter()
                    .flat_map(|t| t.fit.trained.iter().map(|t| t.epoch_ms))
                    .collect(),
            ),
            val_curve: mean_curve(trials, |epoch| epoch.val_accuracy()),
            loss_curve: mean_curve(trials, |epoch| Some(f64::from(epoch.loss))),
            predictions: test_predictions(graph, splits, trials),
        });
    }
    Ok(rows)
}

/// Returns the mean of a curve by epoch, over the runs that reached the epoch.
fn mean_curve(trials: &[Trial], of: impl Fn(&gnarl_nn::train::Epoch) -> Option<f64>) -> Vec<f64> {
    let curves = || trials.iter().map(Trial::curve);
    let epochs = curves().map(<[Epoch]>::len).max().unwrap_or(0);
    let mean = |epoch| {
        let values: Vec<f64> = curves()
            .filter_map(|curve| curve.get(epoch))
            .filter_map(&of)
            .collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    (0..epochs).map(mean).collect()
}

/// Counts the test predictions of every node over the splits.
fn test_predictions(graph: &Graph, splits: &[Split], trials: &[Trial]) -> Vec<Predictions> {
    let class = |u: u32| {
        graph
            .labels()
            .and_then(|labels| labels.get(u))
            .map(|c| c as usize)
    };
    let num_classes = graph.labels().map_or(0, gnarl_graph::Labels::num_classes);
    let mut predictions = vec![
        Predictions {
            counts: vec![0; num_classes],
            wrong: 0
        };
        graph.num_nodes()
    ];
    for (split, trial) in splits.iter().zip(trials) {
        for &u in split.test() {
            let predicted = trial.classes[u as usize] as usize;
            let of_node = &mut predictions[u as usize];
            of_node.counts[predicted] += 1;
            of_node.wrong += usize::from(class(u) != Some(predicted));
        }
    }
    predictions
}

/// Returns the accuracy of the largest class of the whole graph on the test nodes of each split.
fn majority(graph: &Graph, splits: &[Split]) -> gnarl_graph::Result<Accuracy> {
    let labels = graph
        .labels()
        .ok_or_else(|| Error::missing("gnarl", "the graph has no labels", ""))?;
    let counts = labels.counts();
    let largest =
        (0..counts.len() as u32).max_by_key(|&c| (counts[c as usize], std::cmp::Reverse(c)));
    let share = |split: &Split| {
        let correct = split
            .test()
            .iter()
            .filter(|&&u| labels.get(u) == largest)
            .count();
        100.0 * correct as f64 / split.test().len() as f64
    };
    Accuracy::of(splits.iter().map(share).collect())
}

impl DemoReport {
    /// Describes the protocol, in two sentences.
    fn protocol_text(&self) -> [String; 2] {
        let Protocol {
            splits,
            train_per_class,
            validate,
            test,
            epochs,
        } = self.protocol;
        [
            format!(
                "{splits} random splits from seed {} for every row: {train_per_class} training members of each community \
                 ({epochs} epochs), {validate} validation members, {test} test members",
                self.seed
            ),
            "± is the standard deviation over splits; after a difference, its standard error (* marks more than two)"
                .to_string(),
        ]
    }
}

impl Report for DemoReport {
    fn text(&self) -> String {
        let GraphFacts { name, what, .. } = &self.graphs[0];
        let mut text = format!(
            "{name}: {what}; task: predict which of four communities a member belongs to\n"
        );
        for line in self.protocol_text() {
            text += &format!("{line}\n");
        }
        let mut table = output::table(&[
            "model",
            "operator",
            ">test accuracy, %",
            ">minus plain GCN",
            ">ms an epoch",
        ]);
        let majority = format!("{:.1} ± {:.1}", self.majority.mean, self.majority.std);
        table.add_row(["largest community", "-", &majority, "-", "-"]);
        for row in &self.rows {
            let accuracy = format!(
                "{:.1} ± {:.1}",
                row.test_accuracy.mean, row.test_accuracy.std
            );
            let difference = row
                .minus_plain
                .as_ref()
                .map_or_else(|| "-".to_string(), Difference::text);
            let fields = [
                row.entry.model,
                row.entry.operator,
                &accuracy,
                &difference,
                &real(row.epoch_ms),
            ];
            table.add_row(fields);
        }
        text += &format!("\n{}\n", output::render(&table));
        if self.interrupted {
            text += "interrupted: these are the epochs done so far\n";
        }
        text += &format!(
            "written: {}, a page with the graph, the learning curves and the errors of every model\n",
            self.report
        );
        text += "\nnext commands:\n";
        for (command, why) in NEXT {
            text += &format!("  {command:<55}{why}\n");
        }
        text
    }
}

impl Difference {
    /// Formats a difference, as in `-3.1 ± 1.2 *`; the blank keeps columns aligned.
    fn text(&self) -> String {
        format!(
            "{:+.1} ± {:.1} {}",
            self.mean,
            self.standard_error,
            if self.is_clear { "*" } else { " " }
        )
    }
}
