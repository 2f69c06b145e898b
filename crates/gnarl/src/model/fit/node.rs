//! Fitting on the nodes of one graph: a plain network, or one with exits and a policy.

use std::time::Instant;

use gnarl_data::Part;
use gnarl_graph::random::{mix, stream};
use gnarl_graph::{Graph, Labels, Split};

use super::{FitOptions, Run};
use crate::augment::transform::transform_in_place;
use crate::augment::{FreshHead as FreshHeadSettings, ManifoldMixup};
use crate::model::heads::{self, HeadedModel, TrainedNodes, augmented_head};
use crate::model::learned::Learned;
use crate::model::report::{FitReport, FreshHeadReport};
use crate::model::{Model, Plan};
use gnarl_graph::Result;
use gnarl_nn::depth::{
    ExitNetwork, ExitPredictions, Exits, Policy, Structure, adagcn, cross_fitted_accuracy,
    train_exits,
};
use gnarl_nn::networks::{Head, Input, Network};
use gnarl_nn::operator::{Prepared, propagation};
use gnarl_nn::train::{EpochInput, EpochSampler, Mixer, Mixing, Problem, Targets, predict, train};

/// A preprocessed graph (defended, features scaled), prepared for an operator, and a split of its
/// nodes.
pub(super) struct OnGraph<'a> {
    pub graph: &'a Graph,
    pub labels: &'a Labels,
    pub prepared: &'a Prepared,
    pub split: &'a Split,
}

/// Fits to the nodes of a graph. The operator must be initialised.
pub(super) fn fit(
    plan: &Plan,
    on: &OnGraph<'_>,
    options: &FitOptions,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let seed = run.seed;
    let changed = |epoch: usize| changed_graph(&plan.model, on.graph, seed, epoch);
    let method = plan.model.augment.method();
    let mixup = method.mixup();
    let mixing = |epoch: usize, count: usize| mixed(mixup, count, seed, epoch);
    let problem = Problem {
        propagation: &on.prepared.propagation,
        input: &on.prepared.input,
        labels: on.labels,
        split: on.split,
        epoch_sampler: method.transform().map(|_| &changed as EpochSampler<'_>),
        mixing: mixup.map(|_| &mixing as Mixer<'_>),
    };
    match plan.model.depth.exits() {
        None => fit_network(plan, on, &problem, options, run),
        Some(exits) => fit_exits(plan, exits, on, &problem, run),
    }
}

/// Returns the mixing of the training nodes in an epoch; without mixup each node keeps its own
/// vector.
fn mixed(mixup: Option<ManifoldMixup>, count: usize, seed: u64, epoch: usize) -> Result<Mixing> {
    match mixup {
        Some(mixup) => Ok(mixup.sample(
            count,
            &mut stream(seed, "manifold mixup", (epoch as u64) << 32),
        )?),
        None => Ok(Mixing {
            partners: (0..count as u32).collect(),
            kept: 1.0,
        }),
    }
}

/// Returns the graph of an epoch, if the augmentation changes its edges or its features.
fn changed_graph(model: &Model, graph: &Graph, seed: u64, epoch: usize) -> Result<EpochInput> {
    let method = model.augment.method();
    let Some((transform, _)) = method.transform() else {
        return Ok(EpochInput::default());
    };
    let changed = transform_in_place(transform, graph, mix(seed), epoch)?;
    match (method.works_on_features(), changed.features()) {
        (true, Some(features)) => Ok(EpochInput {
            input: Some(Input::from_features(features)?),
            ..EpochInput::default()
        }),
        (true, None) => {
            let what = format!("{} changes features, and the graph has none", model.augment);
            Err(gnarl_graph::Error::missing(
                "augment",
                what,
                "take a graph with features",
            ))
        }
        (false, _) => {
            let operator_override = model.defense.method().operator_override();
            let propagation = match &operator_override {
                Some(operator_override) => operator_override.propagation(&changed)?,
                None => propagation(&changed, model.backbone, model.operator)?,
            };
            // A defence may propagate between nodes that have no message in the graph, neither with
            // the edge nor without it.
            let new_edges = transform.adds_edges() || operator_override.is_some();
            Ok(EpochInput {
                propagation: Some(propagation),
                new_edges,
                input: None,
            })
        }
    }
}

fn fit_network(
    plan: &Plan,
    on: &OnGraph<'_>,
    problem: &Problem<'_>,
    options: &FitOptions,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, seed, watch) = (Instant::now(), run.seed, run.watch);
    let shape = on.prepared.shape(problem.labels.num_classes());
    let network = Network::new(&plan.network, &shape, seed)?;
    let trained = match network.num_learners() {
        0 => train(&network, problem, &plan.training, seed, watch)?,
        _ => adagcn::train(&network, problem, &plan.training, seed, watch)?,
    };
    let mut report = FitReport::of_training(vec![trained], start);
    network.params().check_finite()?;
    if let Some(fresh_head) = plan.model.augment.method().fresh_head() {
        train_fresh_head(
            &network,
            problem,
            plan,
            &fresh_head,
            options,
            run,
            &mut report,
        )?;
        network.params().check_finite()?;
    }
    [report.val_accuracy, _] = accuracies(&network, problem)?;
    report.operator = network.operator_scalars()?;
    Ok((Learned::network(network, plan)?, report))
}

/// Returns the accuracies of a network on validation and test nodes, in per cent; `None` without
/// labelled ones.
fn accuracies(network: &Network, problem: &Problem<'_>) -> Result<[Option<f64>; 2]> {
    let scores = predict(network, problem.propagation, problem.input)?;
    let of = |nodes: &[u32]| {
        let targets = Targets::new(nodes, problem.labels);
        (!targets.items.is_empty())
            .then(|| targets.accuracy(&scores))
            .transpose()
    };
    Ok([of(problem.split.val())?, of(problem.split.test())?])
}

/// Trains a fresh head by the augmentation and puts it into the network.
fn train_fresh_head(
    network: &Network,
    problem: &Problem<'_>,
    plan: &Plan,
    settings: &FreshHeadSettings,
    options: &FitOptions,
    run: Run<'_>,
    report: &mut FitReport,
) -> Result<()> {
    let [none_val, none_test] = accuracies(network, problem)?;
    let nodes = TrainedNodes::new(network, problem)?;
    let study = options.study_influence;
    let fresh = augmented_head(&nodes, plan, settings, study, run.seed, run.watch)?;
    let test_accuracy = |head: &Head| heads::accuracy(head, &nodes.vectors(Part::Test)?);
    let control = fresh.control.as_ref().map(test_accuracy).transpose()?;
    network.set_head(&fresh.head)?;
    report.interrupted |= fresh.interrupted;
    report.fresh_head = Some(FreshHeadReport {
        none_test_accuracy: none_test.unwrap_or(0.0),
        none_val_accuracy: none_val.unwrap_or(0.0),
        retrain_test_accuracy: control,
        seconds: fresh.seconds,
        sampled: fresh.sampled,
    });
    Ok(())
}

fn fit_exits(
    plan: &Plan,
    choice: Exits,
    on: &OnGraph<'_>,
    problem: &Problem<'_>,
    run: Run<'_>,
) -> Result<(Learned, FitReport)> {
    let start = Instant::now();
    let shape = on.prepared.shape(problem.labels.num_classes());
    let exits = ExitNetwork::new(&plan.network, &shape, run.seed)?;
    let (training, scheme) = (&plan.training, choice.scheme);
    let trained = train_exits(&exits, problem, scheme, training, run.seed, run.watch)?;
    let report = FitReport::of_training(trained, start);
    exits.params().check_finite()?;
    with_policy(plan, choice, exits, on, report)
}

/// Learns the policy of trained exits on validation nodes and completes the report.
pub(super) fn with_policy(
    plan: &Plan,
    choice: Exits,
    exits: ExitNetwork,
    on: &OnGraph<'_>,
    mut report: FitReport,
) -> Result<(Learned, FitReport)> {
    let scores = exits.predict(&on.prepared.propagation, &on.prepared.input)?;
    let predictions = ExitPredictions::new(&scores)?;
    let structure = Structure::new(on.graph, &[choice.policy])?;
    let val = Targets::new(on.split.val(), on.labels);
    let policy = Policy::learn(choice.policy, &structure, &predictions, &val)?;
    if !val.items.is_empty() {
        let accuracy = cross_fitted_accuracy(choice.policy, &structure, &predictions, &val)?;
        report.val_accuracy = Some(accuracy);
    }
    report.operator = exits.operator_scalars()?;
    Ok((Learned::exits(exits, policy, plan), report))
}
