//! `gnarl bench growth`: measures how the time of an epoch grows with the graph.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::model::Model;
use gnarl::model::fit::{FitOptions, Ready};
use gnarl_data::Content;
use gnarl_graph::generate::{CsbmConfig, csbm};
use gnarl_graph::{Error, Split};
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::{Callbacks, Keep, median};
use serde::Serialize;

use crate::global::Global;
use crate::output::{self, Report, count, real};
use crate::progress;

/// Arguments of `gnarl bench growth`.
#[derive(Debug, Args)]
pub struct GrowthArgs {
    /// Model: gcn, gat, gatv2, gin, sage, sgc, appnp, pna or mlp
    #[arg(long, default_value = "gcn")]
    pub model: Backbone,
    /// Numbers of nodes of the graphs, at least two
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "10000,30000,100000,300000,1000000"
    )]
    pub sizes: Vec<usize>,
    /// Mean degree of every graph
    #[arg(long, default_value_t = 10.0)]
    pub degree: f64,
    /// Number of measurements of every size, in turn
    #[arg(long, default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub rounds: usize,
}

/// Share of training nodes: half, so that their receptive field is the whole graph at every size. A
/// fixed number of training nodes would make epochs hardly grow, because training uses their
/// receptive field alone.
const TRAIN_SHARE: f64 = 0.5;
const VALIDATION_SHARE: f64 = 0.1;

/// Returns the number of epochs of a measurement: many if they are short, so that the median is
/// stable.
fn epochs(num_nodes: usize) -> usize {
    (2_000_000 / num_nodes.max(1)).clamp(5, 100)
}

/// Result of `gnarl bench growth`.
#[derive(Debug, Serialize)]
pub struct GrowthReport {
    model: String,
    /// Description of the graphs.
    graph: String,
    sizes: Vec<Size>,
    /// Slope of log milliseconds over log nodes, by least squares.
    exponent: f64,
    threads: usize,
}

#[derive(Debug, Serialize)]
struct Size {
    nodes: usize,
    edges: usize,
    epochs: usize,
    /// Median over the rounds of the median epoch in milliseconds.
    epoch_ms: f64,
    /// Median epoch of each round in milliseconds.
    rounds_ms: Vec<f64>,
}

/// One graph, prepared for training.
struct Subject {
    ready: Ready,
    split: Split,
    nodes: usize,
    edges: usize,
}

impl Subject {
    /// Samples a graph of this size and prepares the model for it.
    fn new(backbone: Backbone, config: CsbmConfig, seed: u64) -> anyhow::Result<Self> {
        let graph = csbm(&config, seed)?;
        let nodes = config.num_nodes;
        let mut model = Model::new(backbone).epochs(epochs(nodes));
        model.training.keep = Some(Keep::Last);
        let Some(labels) = graph.labels() else {
            return Err(Error::argument("bench growth", "no classes").into());
        };
        let split = Split::fractions(labels, TRAIN_SHARE, VALIDATION_SHARE, seed)?;
        let edges = graph.num_edges();
        Ok(Self {
            ready: model.ready("csbm", &Content::Graph(graph), FitOptions::default())?,
            split,
            nodes,
            edges,
        })
    }

    /// Trains once and returns the median milliseconds of an epoch.
    fn epoch_ms(&self, seed: u64) -> anyhow::Result<f64> {
        let fitted = self.ready.fit(&self.split, seed, &Callbacks::quiet())?;
        Ok(median(
            fitted.report().trained.iter().map(|t| t.epoch_ms).collect(),
        ))
    }

    fn size(&self, rounds_ms: Vec<f64>) -> Size {
        Size {
            nodes: self.nodes,
            edges: self.edges,
            epochs: epochs(self.nodes),
            epoch_ms: median(rounds_ms.clone()),
            rounds_ms,
        }
    }
}

/// Measures every size in turn, for the given number of rounds.
pub fn growth(global: &Global, args: &GrowthArgs) -> anyhow::Result<GrowthReport> {
    let mut distinct = args.sizes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < 2 {
        let what =
            "two different numbers are needed to fit a slope; name them as in --sizes 10000,30000";
        return Err(Error::argument("--sizes", what).into());
    }
    let like = CsbmConfig {
        mean_degree: args.degree,
        ..CsbmConfig::default()
    };
    let subjects = progress::during("sampling graphs", || {
        let sizes = args.sizes.iter();
        let one = |&num_nodes: &usize| {
            let config = CsbmConfig {
                num_nodes,
                ..like.clone()
            };
            Subject::new(args.model, config, global.seed)
        };
        sizes.map(one).collect::<anyhow::Result<Vec<Subject>>>()
    })?;
    let rounds_ms = measured(args, &subjects, global.seed)?;
    let sizes: Vec<Size> = subjects
        .iter()
        .zip(rounds_ms)
        .map(|(subject, rounds_ms)| subject.size(rounds_ms))
        .collect();
    let points: Vec<(f64, f64)> = sizes
        .iter()
        .map(|s| ((s.nodes as f64).ln(), s.epoch_ms.ln()))
        .collect();
    Ok(GrowthReport {
        model: args.model.to_string(),
        graph: format!(
            "contextual block model: {} classes, {} % of edges inside, mean degree {}, {} dense features; neighbours are \
             anywhere in memory; half of the nodes train",
            like.num_classes,
            100.0 * like.homophily,
            args.degree,
            like.num_features
        ),
        exponent: slope(&points),
        sizes,
        threads: rayon::current_num_threads(),
    })
}

/// Measures the epochs of every graph, round by round, so that slow drifts affect all sizes alike.
fn measured(args: &GrowthArgs, subjects: &[Subject], seed: u64) -> anyhow::Result<Vec<Vec<f64>>> {
    let bar = progress::steps(
        &format!("{} epochs", args.model),
        (args.rounds * subjects.len()) as u64,
    );
    let mut rounds_ms = vec![Vec::with_capacity(args.rounds); subjects.len()];
    for _ in 0..args.rounds {
        for (subject, ms) in subjects.iter().zip(&mut rounds_ms) {
            ms.push(subject.epoch_ms(seed)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(rounds_ms)
}

/// Fits a line through points by least squares and returns its slope.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (above, below) = points.iter().fold((0.0, 0.0), |(a, b), p| {
        (a + (p.0 - x) * (p.1 - y), b + (p.0 - x).powi(2))
    });
    above / below
}

impl Report for GrowthReport {
    fn text(&self) -> String {
        let mut table = output::table(&[
            ">nodes",
            ">edges",
            ">ms an epoch",
            ">ns a node",
            ">rounds, ms",
        ]);
        for size in &self.sizes {
            table.add_row([
                count(size.nodes as u64),
                count(size.edges as u64),
                real(size.epoch_ms),
                real(size.epoch_ms * 1e6 / size.nodes as f64),
                size.rounds_ms
                    .iter()
                    .map(|ms| real(*ms))
                    .collect::<Vec<_>>()
                    .join(" "),
            ]);
        }
        format!(
            "{}, {} threads; {}\n\n{}\ntime grows with nodes to the power {:.3}\n",
            self.model,
            self.threads,
            self.graph,
            output::render(&table),
            self.exponent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recovers the exponent of ms = 3 n^1.25 with noise.
    #[test]
    fn the_exponent_is_that_of_the_power_law() {
        let points = [1e2, 1e3, 1e5].map(|n: f64| (n.ln(), (3.0 * n.powf(1.25)).ln()));
        assert!((slope(&points) - 1.25).abs() < 1e-12);
        assert!(
            (slope(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)]) - 0.5).abs() < 1e-12,
            "by hand: 1 / 2"
        );
    }

    #[test]
    fn long_epochs_are_few() {
        assert_eq!([100, 30_000, 1_000_000].map(epochs), [100, 66, 5]);
    }
}
