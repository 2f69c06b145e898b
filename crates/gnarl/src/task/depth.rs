//! Node classification with an exit at every layer: one training, the accuracy of every exit and of every policy.

use std::time::Instant;

use gnarl_graph::{Graph, Split};
use rayon::prelude::*;
use serde::Serialize;

use super::node::{self, Preparation, Prepared, Settled};
use crate::depth::{Answers, Chosen, Exits, Kind, Policy, Scheme, Structure, cross_fitted_accuracy, train_exits};
use crate::error::Result;
use crate::nn::NetworkConfig;
use crate::train::{Problem, Targets, TrainConfig, Trained, Watch};

/// What is trained, and what is learned from it.
#[derive(Debug, Clone)]
pub struct DepthConfig {
    /// How the exits are trained.
    pub scheme: Scheme,
    /// The network; `layers` is the number of the last exit.
    pub network: NetworkConfig,
    /// The training of each stage, or of all at once.
    pub training: TrainConfig,
    /// Policies to learn.
    pub policies: Vec<Kind>,
    /// Which of them is the model's own, by position; the single best layer where there is none.
    pub own: usize,
}

/// One run: one split, one seed. Accuracies are of the test nodes, per cent, unless they say otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct DepthRun {
    /// The seed.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Of every exit.
    pub exit_accuracy: Vec<f64>,
    /// Of every exit on the validation nodes.
    pub exit_val_accuracy: Vec<f64>,
    /// The exit with the best validation accuracy, of equals the first.
    pub single_layer: usize,
    /// Of every policy asked for, in order.
    pub policy_accuracy: Vec<f64>,
    /// Of every policy on the validation nodes, cross-fitted: learned without the nodes that it is judged on.
    pub policy_val_accuracy: Vec<f64>,
    /// Nodes of the whole graph that leave at each exit under the model's own policy.
    pub leave_at: Vec<usize>,
    /// Of the model's own policy.
    pub own_accuracy: f64,
    /// The same on the validation nodes, cross-fitted.
    pub own_val_accuracy: f64,
    /// Where any exit is right.
    pub oracle_accuracy: f64,
    /// What each training came to.
    pub trained: Vec<Trained>,
    /// The scalars of a learnable operator, round by round; none for a fixed one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operator: Vec<(String, f64)>,
    /// Seconds of training alone.
    pub training_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

impl DepthRun {
    /// Accuracy of the single layer with the best validation accuracy.
    pub fn single_layer_accuracy(&self) -> f64 {
        self.exit_accuracy[self.single_layer]
    }
}

/// Trains the exits on one split, learns the policies on its validation nodes and scores everything. The exits come back
/// trained, with the model's own policy.
pub fn run(
    prepared: &Prepared,
    structure: &Structure<'_>,
    config: &DepthConfig,
    split: &Split,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(DepthRun, Exits, Policy)> {
    let start = Instant::now();
    let exits = prepared.exits(&config.network, seed)?;
    let Prepared { propagation, input, labels, .. } = prepared;
    let problem = Problem { propagation, input, labels, split };
    let trained = train_exits(&exits, &problem, config.scheme, &config.training, seed, watch)?;
    let training_seconds = start.elapsed().as_secs_f64();

    let answers = Answers::new(&exits.predict(propagation, input)?)?;
    let (val, test) = (Targets::new(split.val(), labels), Targets::new(split.test(), labels));
    let single_layer = answers.best_exit(&val);
    let every_node = Chosen::of_exits(vec![single_layer; propagation.operator.num_rows()]);
    let mut own = (Policy::single(single_layer), every_node, answers.accuracy(single_layer, &val));
    let (mut policy_accuracy, mut policy_val_accuracy) = (Vec::new(), Vec::new());
    for (i, &kind) in config.policies.iter().enumerate() {
        let policy = Policy::learn(kind, structure, &answers, &val)?;
        let chosen = policy.choose(structure, &answers)?;
        let val_accuracy = cross_fitted_accuracy(kind, structure, &answers, &val)?;
        policy_accuracy.push(answers.policy_accuracy(&chosen, &test));
        policy_val_accuracy.push(val_accuracy);
        if i == config.own {
            own = (policy, chosen, val_accuracy);
        }
    }
    let (own, chosen, own_val_accuracy) = own;
    let every_exit = |targets| (0..answers.num_exits()).map(|exit| answers.accuracy(exit, targets)).collect();
    let run = DepthRun {
        seed,
        split: split.name().to_string(),
        exit_accuracy: every_exit(&test),
        exit_val_accuracy: every_exit(&val),
        single_layer,
        policy_accuracy,
        policy_val_accuracy,
        leave_at: count_exits(&chosen.exits, answers.num_exits()),
        own_accuracy: answers.policy_accuracy(&chosen, &test),
        own_val_accuracy,
        oracle_accuracy: answers.oracle_accuracy(&test),
        trained,
        operator: exits.operator_scalars()?,
        training_seconds,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((run, exits, own))
}

/// How many nodes leave at each exit.
pub fn count_exits(chosen: &[usize], num_exits: usize) -> Vec<usize> {
    let mut counts = vec![0; num_exits];
    chosen.iter().for_each(|&exit| counts[exit] += 1);
    counts
}

/// Several runs side by side: run `i` takes split `i` (in turn) and seed `seed + i`. The results are those of running one
/// after the other.
pub fn runs(
    graph: &Graph,
    prepared: &Prepared,
    config: &DepthConfig,
    splits: &[Split],
    count: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Vec<DepthRun>> {
    if splits.is_empty() {
        return Err(gnarl_graph::Error::argument("node classification", "there is no split to run on").into());
    }
    let structure = Structure::new(graph, &config.policies)?;
    (0..count)
        .into_par_iter()
        .map(|i| {
            let split = &splits[i % splits.len()];
            Ok(run(prepared, &structure, config, split, seed.wrapping_add(i as u64), watch)?.0)
        })
        .collect()
}

/// [`runs`], after settling the initialisation of a learnable operator where that is left open, by the mean validation
/// accuracy of the single best layer.
pub fn settled_runs(
    graph: &Graph,
    preparation: Preparation,
    config: &DepthConfig,
    splits: &[Split],
    count: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Settled<DepthRun>> {
    let run_all = |prepared: &Prepared| runs(graph, prepared, config, splits, count, seed, watch);
    let val_accuracy = |run: &DepthRun| run.exit_val_accuracy[run.single_layer];
    node::settle(graph, config.network.backbone, preparation, watch, run_all, val_accuracy)
}
