//! Fits on sampled neighbourhoods of one graph, which may be on disk: a plain network, or a network
//! whose exits are trained together.

use std::time::Instant;

use super::Plan;
use super::fitted::Learned;
use super::report::FitReport;
use gnarl_graph::Result;
use gnarl_nn::depth::{
    ExitNetwork, ExitPredictions, Exits, Policy, Structure, cross_fitted_accuracy,
};
use gnarl_nn::features::Scaler;
use gnarl_nn::networks::Network;
use gnarl_nn::operator::Prepared;
use gnarl_nn::train::{
    Callbacks, ClassWeights, SampledProblem, Targets, Trained, sampled_accuracy, train_sampled,
};
use gnarl_robust::classifier::{EarlyExit, WhiteBox};

/// Fits the model. Validation accuracy is measured on sampled neighbourhoods, which select the
/// epoch; accuracy on all nodes is computed on request alone.
pub(super) fn fit(
    plan: &Plan,
    problem: &SampledProblem<'_>,
    scaler: &Scaler,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    match plan.model.depth.exits() {
        None => fit_network(plan, problem, seed, watch),
        Some(exits) => fit_exits(plan, exits, problem, scaler, seed, watch),
    }
}

fn report(trained: Trained, start: Instant) -> FitReport {
    FitReport {
        interrupted: trained.interrupted,
        trained: vec![trained],
        training_seconds: start.elapsed().as_secs_f64(),
        ..FitReport::default()
    }
}

fn fit_network(
    plan: &Plan,
    problem: &SampledProblem<'_>,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let classes = problem.labels.num_classes();
    let network = Network::new(&plan.network, &problem.rows.shape(classes), seed)?;
    let mut report = report(
        train_sampled(&network, problem, &plan.training, seed, watch)?,
        start,
    );
    network.params().check_finite()?;
    report.operator = network.operator_scalars()?;
    let kept = report
        .trained
        .first()
        .and_then(|t| t.curve.get(t.kept_epoch.checked_sub(1)?)?.val_accuracy());
    report.val_accuracy = match plan.training.class_weights {
        ClassWeights::None => kept,
        // The curve weights nodes by their classes.
        _ => sampled_accuracy(&network, problem, seed)?,
    };
    Ok((
        Learned::Network(WhiteBox::new(network, plan.model.operator)?),
        report,
    ))
}

/// Trains exits together. A policy needs the predictions of every exit for every node, which are
/// computed on the whole graph.
fn fit_exits(
    plan: &Plan,
    choice: Exits,
    problem: &SampledProblem<'_>,
    scaler: &Scaler,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let exits = ExitNetwork::new(
        &plan.network,
        &problem.rows.shape(problem.labels.num_classes()),
        seed,
    )?;
    let mut report = report(
        train_sampled(&exits, problem, &plan.training, seed, watch)?,
        start,
    );
    exits.params().check_finite()?;
    let graph = scaler.scaled(problem.rows.graph())?;
    let prepared = Prepared::new(&graph, plan.network.backbone, plan.model.operator)?;
    let answers = ExitPredictions::new(&exits.predict(&prepared.propagation, &prepared.input)?)?;
    let structure = Structure::new(&graph, &[choice.policy])?;
    let val = Targets::new(problem.split.val(), problem.labels);
    let policy = Policy::learn(choice.policy, &structure, &answers, &val)?;
    if !val.items.is_empty() {
        report.val_accuracy = Some(cross_fitted_accuracy(
            choice.policy,
            &structure,
            &answers,
            &val,
        )?);
    }
    report.operator = exits.operator_scalars()?;
    Ok((
        Learned::Exits(EarlyExit {
            exits,
            policy,
            operator: plan.model.operator,
        }),
        report,
    ))
}
