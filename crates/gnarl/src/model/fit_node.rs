//! Fitting on the nodes of one graph: a plain network, or one with exits and a policy.

use std::time::Instant;

use gnarl_data::Part;
use gnarl_graph::random::{mix, stream};
use gnarl_graph::{Graph, Labels, Split};

use super::fitted::Learned;
use super::heads::{self, HeadedModel, TrainedNodes, augmented_head};
use super::options::FitOptions;
use super::report::{FitReport, FreshHeadReport};
use super::{Model, Plan};
use crate::augment::ManifoldMixup;
use crate::augment::transform::transform_in_place;
use gnarl_graph::Result;
use gnarl_nn::depth::{
    ExitNetwork, ExitPredictions, Exits, Policy, Structure, adagcn, cross_fitted_accuracy,
    train_exits,
};
use gnarl_nn::networks::{Head, Input, Network};
use gnarl_nn::operator::{Prepared, propagation};
use gnarl_nn::train::{
    Callbacks, EpochInput, EpochSampler, Mixer, Mixing, Problem, Targets, predict, train,
};
use gnarl_robust::classifier::{EarlyExit, WhiteBox};

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
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let anew = |epoch: usize| changed(&plan.model, on.graph, seed, epoch);
    let method = plan.model.augment.method();
    let mixup = method.mixup();
    let mixing = |epoch: usize, count: usize| mixed(mixup, count, seed, epoch);
    let problem = Problem {
        propagation: &on.prepared.propagation,
        input: &on.prepared.input,
        labels: on.labels,
        split: on.split,
        anew: method.transform().map(|_| &anew as EpochSampler<'_>),
        mixing: mixup.map(|_| &mixing as Mixer<'_>),
    };
    match plan.model.depth.exits() {
        None => fit_network(plan, on, &problem, options, seed, watch),
        Some(exits) => fit_exits(plan, exits, on, &problem, seed, watch),
    }
}

/// Returns the mixing of the training nodes in an epoch; without mixup each node keeps its own
/// vector.
fn mixed(mixup: Option<ManifoldMixup>, count: usize, seed: u64, epoch: usize) -> Result<Mixing> {
    match mixup {
        Some(mixup) => Ok(mixup.draw(
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
fn changed(model: &Model, graph: &Graph, seed: u64, epoch: usize) -> Result<EpochInput> {
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
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, prepared) = (Instant::now(), on.prepared);
    let network = Network::new(
        &plan.network,
        &prepared.shape(problem.labels.num_classes()),
        seed,
    )?;
    let trained = match network.num_learners() {
        0 => train(&network, problem, &plan.training, seed, watch)?,
        _ => adagcn::train(&network, problem, &plan.training, seed, watch)?,
    };
    let training_seconds = start.elapsed().as_secs_f64();
    let mut report = FitReport {
        interrupted: trained.interrupted,
        trained: vec![trained],
        training_seconds,
        ..FitReport::default()
    };
    network.params().check_finite()?;
    let accuracies = || -> Result<[Option<f64>; 2]> {
        let scores = predict(&network, &prepared.propagation, &prepared.input)?;
        let of = |items: &[u32]| {
            let targets = Targets::new(items, problem.labels);
            (!targets.items.is_empty())
                .then(|| targets.accuracy(&scores))
                .transpose()
        };
        Ok([of(problem.split.val())?, of(problem.split.test())?])
    };
    [report.val_accuracy, _] = match plan.model.augment.method().fresh_head() {
        None => accuracies()?,
        Some(fresh_head) => {
            let [none_val, none_test] = accuracies()?;
            let nodes = TrainedNodes::new(&network, problem)?;
            let fresh = augmented_head(
                &nodes,
                plan,
                &fresh_head,
                options.study_influence,
                seed,
                watch,
            )?;
            let test_accuracy = |head: &Head| heads::accuracy(head, &nodes.vectors(Part::Test)?);
            let control = fresh.control.as_ref().map(test_accuracy).transpose()?;
            network.set_head(&fresh.head)?;
            report.interrupted |= fresh.interrupted;
            report.fresh_head = Some(FreshHeadReport {
                none_test_accuracy: none_test.unwrap_or(0.0),
                none_val_accuracy: none_val.unwrap_or(0.0),
                retrain_test_accuracy: control,
                seconds: fresh.seconds,
                drawn: fresh.drawn,
            });
            network.params().check_finite()?;
            accuracies()?
        }
    };
    report.operator = network.operator_scalars()?;
    let network = WhiteBox::new(network, plan.model.operator)?
        .with_operator(plan.model.defense.method().operator_override());
    Ok((Learned::Network(network), report))
}

fn fit_exits(
    plan: &Plan,
    choice: Exits,
    on: &OnGraph<'_>,
    problem: &Problem<'_>,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, prepared) = (Instant::now(), on.prepared);
    let exits = ExitNetwork::new(
        &plan.network,
        &prepared.shape(problem.labels.num_classes()),
        seed,
    )?;
    let trained = train_exits(&exits, problem, choice.scheme, &plan.training, seed, watch)?;
    let training_seconds = start.elapsed().as_secs_f64();
    exits.params().check_finite()?;
    let answers = ExitPredictions::new(&exits.predict(&prepared.propagation, &prepared.input)?)?;
    let structure = Structure::new(on.graph, &[choice.policy])?;
    let val = Targets::new(problem.split.val(), problem.labels);
    let policy = Policy::learn(choice.policy, &structure, &answers, &val)?;
    let val_accuracy = match val.items.is_empty() {
        true => None,
        false => Some(cross_fitted_accuracy(
            choice.policy,
            &structure,
            &answers,
            &val,
        )?),
    };
    let report = FitReport {
        val_accuracy,
        operator: exits.operator_scalars()?,
        interrupted: trained.iter().any(|t| t.interrupted),
        trained,
        training_seconds,
        ..FitReport::default()
    };
    Ok((
        Learned::Exits(EarlyExit {
            exits,
            policy,
            operator: plan.model.operator,
        }),
        report,
    ))
}
