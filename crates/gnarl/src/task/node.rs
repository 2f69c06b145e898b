//! Node classification: a graph, a network, splits and seeds in; accuracies and learning curves out.

use std::sync::atomic::Ordering;
use std::time::Instant;

use candle_core::{Device, Tensor};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{CsrMatrix, Graph, Labels, Split};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::depth::{ExitNetwork, adagcn};
use crate::error::{Error, Result};
use crate::features::FeatureScaling;
use crate::nn::{Backbone, Input, Network, NetworkConfig, Propagation, Shape};
use crate::operator::{CgsoConfig, Initialisation, OperatorChoice, mean_log_degree, propagation};
use crate::tensor::Operator;
use crate::train::{Problem, Targets, TrainConfig, Trained, Watch, predict, train};

/// How a graph is made ready for a network: stored with every checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// The operator.
    pub operator: OperatorChoice,
    /// The features.
    pub features: FeatureScaling,
}

/// A graph made ready: operator, input, labels.
#[derive(Debug)]
pub struct Prepared {
    /// What nodes hear.
    pub propagation: Propagation,
    /// What nodes are.
    pub input: Input,
    /// What nodes should be called.
    pub labels: Labels,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
}

impl Prepared {
    /// Makes a graph ready for a backbone. A graph without features gets the identity; one without labels is refused.
    pub fn new(graph: &Graph, backbone: Backbone, preparation: Preparation) -> Result<Self> {
        let refuse = |what: &str| Err(Error::Graph(gnarl_graph::Error::argument("node classification", what)));
        let Some(labels) = graph.labels() else { return refuse("the graph has no labels") };
        if graph.num_nodes() == 0 {
            return refuse("the graph has no nodes");
        }
        let input = match graph.features() {
            Some(features) => Input::from_features(&preparation.features.apply(features))?,
            None => Input::Sparse(Operator::constant_f32(&CsrMatrix::identity(graph.num_nodes()))),
        };
        let propagation = propagation(graph, backbone, preparation.operator)?;
        let mean_log_degree = mean_log_degree(graph);
        Ok(Self { propagation, input, labels: labels.clone(), mean_log_degree })
    }

    /// A network of the right size for this graph, with the scalars that a learnable operator asks for.
    pub fn network(&self, config: &NetworkConfig, seed: u64) -> Result<Network> {
        Network::new(config, &self.shape().with_scalars(&self.propagation.scalars()), seed)
    }

    /// The same with an exit at every layer from 0 to `config.layers`.
    pub fn exits(&self, config: &NetworkConfig, seed: u64) -> Result<ExitNetwork> {
        ExitNetwork::new(config, &self.shape().with_scalars(&self.propagation.scalars()), seed)
    }

    fn shape(&self) -> Shape<'static> {
        Shape::new(self.input.dim(), self.labels.num_classes(), self.mean_log_degree)
    }
}

/// One run: one split, one seed.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// The split's name.
    pub split: String,
    /// Test accuracy of the kept weights, per cent.
    pub test_accuracy: f64,
    /// Validation accuracy of the kept weights, per cent.
    pub val_accuracy: f64,
    /// What training came to.
    pub trained: Trained,
    /// The scalars of a learnable operator with their learned values; none for a fixed one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operator: Vec<(String, f64)>,
    /// Seconds in all.
    pub seconds: f64,
}

/// Trains one network on one split and scores it. The network comes back trained.
pub fn run(
    prepared: &Prepared,
    network: &NetworkConfig,
    training: &TrainConfig,
    split: &Split,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<(Run, Network)> {
    let start = Instant::now();
    let network = prepared.network(network, seed)?;
    let Prepared { propagation, input, labels, .. } = prepared;
    let problem = Problem { propagation, input, labels, split };
    let by = if network.num_learners() > 0 { adagcn::train } else { train };
    let trained = by(&network, &problem, training, seed, watch)?;
    let scores = predict(&network, &prepared.propagation, &prepared.input)?;
    let accuracy = |items| Targets::new(items, &prepared.labels).accuracy(&scores);
    let run = Run {
        seed,
        split: split.name().to_string(),
        test_accuracy: accuracy(split.test())?,
        val_accuracy: accuracy(split.val())?,
        trained,
        operator: network.operator_scalars()?,
        seconds: start.elapsed().as_secs_f64(),
    };
    Ok((run, network))
}

/// Several runs side by side on the cores available: run `i` takes split `i` (in turn) and seed `seed + i`. The results
/// are those of running one after the other.
pub fn runs(
    prepared: &Prepared,
    network: &NetworkConfig,
    training: &TrainConfig,
    splits: &[Split],
    count: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Vec<Run>> {
    if splits.is_empty() {
        return Err(gnarl_graph::Error::argument("node classification", "there is no split to run on").into());
    }
    (0..count)
        .into_par_iter()
        .map(|i| Ok(run(prepared, network, training, &splits[i % splits.len()], seed.wrapping_add(i as u64), watch)?.0))
        .collect()
}

/// What training from one initialisation of a learnable operator came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// The initialisation.
    pub init: String,
    /// Mean validation accuracy over the runs, per cent; `None` where training failed.
    pub val_accuracy: Option<f64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Runs, and what was settled on the way to them.
#[derive(Debug)]
pub struct Settled<R = Run> {
    /// The preparation with nothing left to choose.
    pub preparation: Preparation,
    /// The graph made ready by it.
    pub prepared: Prepared,
    /// The runs.
    pub runs: Vec<R>,
    /// Every initialisation tried; none where the user named one.
    pub tried: Vec<Tried>,
}

impl Settled {
    /// The operator a run ended with: learned, or the one it had all along.
    pub fn learned_operator(&self, run: usize) -> Result<Operator> {
        let Some(learnable) = &self.prepared.propagation.learnable else {
            return Ok(self.prepared.propagation.operator.clone());
        };
        let scalar = |(_, value): &(String, f64)| Tensor::new(&[*value as f32], &Device::Cpu);
        let scalars = self.runs[run].operator.iter().map(scalar).collect::<candle_core::Result<Vec<_>>>()?;
        Ok(learnable.operators(&scalars.iter().collect::<Vec<_>>())?.swap_remove(0))
    }
}

/// [`runs`], after settling the initialisation of a learnable operator where that is left open (see [`settle`]).
#[allow(clippy::too_many_arguments)]
pub fn settled_runs(
    graph: &Graph,
    preparation: Preparation,
    network: &NetworkConfig,
    training: &TrainConfig,
    splits: &[Split],
    count: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Settled> {
    let run_all = |prepared: &Prepared| runs(prepared, network, training, splits, count, seed, watch);
    settle(graph, network.backbone, preparation, watch, run_all, |run| run.val_accuracy)
}

/// Does all runs, after settling the initialisation of a learnable operator where that is left open (see [`settle_operator`]).
pub fn settle<R>(
    graph: &Graph,
    backbone: Backbone,
    preparation: Preparation,
    watch: &Watch<'_>,
    run_all: impl Fn(&Prepared) -> Result<Vec<R>>,
    val_accuracy: impl Fn(&R) -> f64,
) -> Result<Settled<R>> {
    let attempt = |operator| {
        let prepared = Prepared::new(graph, backbone, Preparation { operator, ..preparation })?;
        let runs = run_all(&prepared)?;
        Ok((prepared, runs))
    };
    let (operator, prepared, runs, tried) = settle_operator(preparation.operator, watch, attempt, val_accuracy)?;
    Ok(Settled { preparation: Preparation { operator, ..preparation }, prepared, runs, tried })
}

/// Makes data ready for an operator and does all runs on it, by `attempt`. Where the initialisation of a learnable operator is
/// left open, all runs are done from each of the seven, and the one with the best mean validation accuracy is kept (the first
/// of equals). Test items have no say in it. An initialisation from which training diverges counts as the worst.
#[allow(clippy::type_complexity)]
pub fn settle_operator<P, R>(
    operator: OperatorChoice,
    watch: &Watch<'_>,
    attempt: impl Fn(OperatorChoice) -> Result<(P, Vec<R>)>,
    val_accuracy: impl Fn(&R) -> f64,
) -> Result<(OperatorChoice, P, Vec<R>, Vec<Tried>)> {
    let OperatorChoice::Cgso(config @ CgsoConfig { init: Initialisation::Auto, .. }) = operator else {
        let (prepared, runs) = attempt(operator)?;
        return Ok((operator, prepared, runs, Vec::new()));
    };
    let mut tried: Vec<Tried> = Vec::new();
    let mut best: Option<(f64, (OperatorChoice, P, Vec<R>))> = None;
    let mut last_failure = None;
    for init in ClassicalOperator::ALL {
        if best.is_some() && watch.stop.load(Ordering::Relaxed) {
            break;
        }
        let operator = OperatorChoice::Cgso(CgsoConfig { init: Initialisation::Of(init), ..config });
        let init = init.to_string();
        match attempt(operator) {
            Ok((prepared, runs)) => {
                let mean = runs.iter().map(&val_accuracy).sum::<f64>() / runs.len().max(1) as f64;
                tried.push(Tried { init, val_accuracy: Some(mean), failure: None });
                if best.as_ref().is_none_or(|(best, _)| mean > *best) {
                    best = Some((mean, (operator, prepared, runs)));
                }
            }
            Err(failure @ Error::Diverged { .. }) => {
                tried.push(Tried { init, val_accuracy: None, failure: Some(failure.to_string()) });
                last_failure = Some(failure);
            }
            Err(other) => return Err(other),
        }
    }
    match (best, last_failure) {
        (Some((_, (operator, prepared, runs))), _) => Ok((operator, prepared, runs, tried)),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(gnarl_graph::Error::argument("cgso", "there is no initialisation to try").into()),
    }
}
