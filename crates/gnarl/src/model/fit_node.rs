//! Fitting on the nodes of one graph: a plain network, or one with exits and a policy.

use std::time::Instant;

use gnarl_graph::random::mix;
use gnarl_graph::{Graph, Labels, Split};

use super::fitted::Learned;
use super::report::FitReport;
use super::{Model, Plan};
use crate::augment::transform::transform_in_place;
use crate::classifier::{EarlyExit, WhiteBox};
use crate::depth::{Answers, ExitNetwork, Exits, Policy, Structure, adagcn, cross_fitted_accuracy, train_exits};
use crate::error::Result;
use crate::nn::{Input, Network};
use crate::operator::{Prepared, propagation};
use crate::train::{Anew, Problem, Scene, Targets, Watch, predict, train};

/// A graph that is prepared already (defended, features scaled), made ready for an operator, and a split of its nodes.
pub(super) struct OnGraph<'a> {
    pub graph: &'a Graph,
    pub labels: &'a Labels,
    pub prepared: &'a Prepared,
    pub split: &'a Split,
}

/// Fits to the nodes of a graph. The operator must be settled.
pub(super) fn fit(plan: &Plan, on: &OnGraph<'_>, seed: u64, watch: &Watch<'_>) -> Result<(Learned, FitReport)> {
    let anew = |epoch: usize| changed(&plan.model, on.graph, seed, epoch);
    let is_changed = plan.model.augment.method().transform().is_some();
    let problem = Problem {
        propagation: &on.prepared.propagation,
        input: &on.prepared.input,
        labels: on.labels,
        split: on.split,
        anew: is_changed.then_some(&anew as Anew<'_>),
    };
    match plan.model.depth.exits() {
        None => fit_network(plan, on, &problem, seed, watch),
        Some(exits) => fit_exits(plan, exits, on, &problem, seed, watch),
    }
}

/// The graph of an epoch, where the data axis changes its edges or its features.
fn changed(model: &Model, graph: &Graph, seed: u64, epoch: usize) -> Result<Scene> {
    let method = model.augment.method();
    let Some((transform, _)) = method.transform() else { return Ok(Scene { propagation: None, input: None }) };
    let changed = transform_in_place(transform, graph, mix(seed), epoch)?;
    match (method.works_on_features(), changed.features()) {
        (true, Some(features)) => Ok(Scene { propagation: None, input: Some(Input::from_features(features)?) }),
        (true, None) => {
            let what = format!("{} changes features, and the graph has none", model.augment);
            Err(gnarl_graph::Error::setting("augment", what).into())
        }
        (false, _) => {
            Ok(Scene { propagation: Some(propagation(&changed, model.backbone, model.operator)?), input: None })
        }
    }
}

fn fit_network(
    plan: &Plan,
    on: &OnGraph<'_>,
    problem: &Problem<'_>,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, prepared) = (Instant::now(), on.prepared);
    let network = Network::new(&plan.network, &prepared.shape(problem.labels.num_classes()), seed)?;
    let trained = match network.num_learners() {
        0 => train(&network, problem, &plan.training, seed, watch)?,
        _ => adagcn::train(&network, problem, &plan.training, seed, watch)?,
    };
    let training_seconds = start.elapsed().as_secs_f64();
    network.params().check_finite()?;
    let scores = predict(&network, &prepared.propagation, &prepared.input)?;
    let val = Targets::new(problem.split.val(), problem.labels);
    let report = FitReport {
        val_accuracy: (!val.items.is_empty()).then(|| val.accuracy(&scores)).transpose()?,
        operator: network.operator_scalars()?,
        interrupted: trained.interrupted,
        trained: vec![trained],
        training_seconds,
        ..FitReport::default()
    };
    Ok((Learned::Network(WhiteBox::new(network, plan.model.operator)?), report))
}

fn fit_exits(
    plan: &Plan,
    choice: Exits,
    on: &OnGraph<'_>,
    problem: &Problem<'_>,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Learned, FitReport)> {
    let (start, prepared) = (Instant::now(), on.prepared);
    let exits = ExitNetwork::new(&plan.network, &prepared.shape(problem.labels.num_classes()), seed)?;
    let trained = train_exits(&exits, problem, choice.scheme, &plan.training, seed, watch)?;
    let training_seconds = start.elapsed().as_secs_f64();
    exits.params().check_finite()?;
    let answers = Answers::new(&exits.predict(&prepared.propagation, &prepared.input)?)?;
    let structure = Structure::new(on.graph, &[choice.policy])?;
    let val = Targets::new(problem.split.val(), problem.labels);
    let policy = Policy::learn(choice.policy, &structure, &answers, &val)?;
    let val_accuracy = match val.items.is_empty() {
        true => None,
        false => Some(cross_fitted_accuracy(choice.policy, &structure, &answers, &val)?),
    };
    let report = FitReport {
        val_accuracy,
        operator: exits.operator_scalars()?,
        interrupted: trained.iter().any(|t| t.interrupted),
        trained,
        training_seconds,
        ..FitReport::default()
    };
    Ok((Learned::Exits(EarlyExit { exits, policy, operator: plan.model.operator }), report))
}
