//! Fits on sampled neighbourhoods of one graph, which may be on disk: a plain network, or a network
//! whose exits are trained together.

use std::time::Instant;

use gnarl_graph::Result;

use super::Run;
use super::node::{OnGraph, with_policy};
use crate::model::Plan;
use crate::model::learned::Learned;
use crate::model::report::FitReport;
use gnarl_nn::depth::{ExitNetwork, Exits};
use gnarl_nn::features::Scaler;
use gnarl_nn::networks::Network;
use gnarl_nn::operator::Prepared;
use gnarl_nn::train::{ClassWeights, SampledProblem, sampled_accuracy, train_sampled};

/// Fits the model. Validation accuracy is measured on sampled neighbourhoods, which select the
/// epoch; accuracy on all nodes is computed on request alone.
pub(super) fn fit(
    plan: &Plan,
    problem: &SampledProblem<'_>,
    scaler: &Scaler,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    match plan.model.depth.exits() {
        None => fit_network(plan, problem, run),
        Some(exits) => fit_exits(plan, exits, problem, scaler, run),
    }
}

fn fit_network(
    plan: &Plan,
    problem: &SampledProblem<'_>,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let shape = problem.rows.shape(problem.labels.num_classes());
    let network = Network::new(&plan.network, &shape, run.seed)?;
    let trained = train_sampled(&network, problem, &plan.training, run.seed, run.watch)?;
    // The accuracy at the kept epoch.
    let kept = trained.kept_epoch.checked_sub(1);
    let kept = kept.and_then(|epoch| trained.curve.get(epoch)?.val_accuracy());
    let mut report = FitReport::of_training(vec![trained], start);
    network.params().check_finite()?;
    report.operator = network.operator_scalars()?;
    report.val_accuracy = match plan.training.class_weights {
        ClassWeights::None => kept,
        // The curve weights nodes by their classes.
        _ => sampled_accuracy(&network, problem, run.seed)?,
    };
    Ok((Learned::network(network, plan)?, report))
}

/// Trains exits together. A policy needs the predictions of every exit for every node, which are
/// computed on the whole graph.
fn fit_exits(
    plan: &Plan,
    choice: Exits,
    problem: &SampledProblem<'_>,
    scaler: &Scaler,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let shape = problem.rows.shape(problem.labels.num_classes());
    let exits = ExitNetwork::new(&plan.network, &shape, run.seed)?;
    let trained = train_sampled(&exits, problem, &plan.training, run.seed, run.watch)?;
    let report = FitReport::of_training(vec![trained], start);
    exits.params().check_finite()?;
    let graph = &scaler.scaled(problem.rows.graph())?;
    let prepared = &Prepared::new(graph, plan.network.backbone, plan.model.operator)?;
    let on = OnGraph {
        graph,
        labels: problem.labels,
        prepared,
        split: problem.split,
    };
    with_policy(plan, choice, exits, &on, report)
}
