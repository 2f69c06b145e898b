//! From a model and data to a fitted model.

use std::sync::OnceLock;
use std::time::Instant;

use gnarl_graph::{Content, Error as GraphError, Graph, Labels, Split, SplitData};

use super::fit_graphs::{PreparedSet, SetSource};
use super::fit_node::OnGraph;
use super::fitted::{Fitted, Learned, TrainedOn};
use super::graph_data::Inputs;
use super::report::{FitReport, Tried, refused};
use super::{Model, Plan, fit_graphs, fit_node};
use crate::error::{Error, Result};
use crate::features::FeatureScaling;
use crate::inference::Reading;
use crate::operator::{OperatorChoice, Prepared};
use crate::train::Watch;

pub use super::options::FitOptions;

impl Model {
    /// Fits the model to the training items of a split; validation items choose among epochs, initialisations and policies. `seed`
    /// fixes every random draw.
    ///
    /// ```
    /// use gnarl::prelude::*;
    /// let data = Dataset::load("karate")?;
    /// let fitted = Model::new(Backbone::Gcn).epochs(50).fit(&data.split(0)?, 0)?;
    /// assert!(fitted.accuracy(&data, Part::Train)? > 90.0);
    /// # Ok::<(), gnarl::Error>(())
    /// ```
    pub fn fit(&self, on: &SplitData, seed: u64) -> Result<Fitted> {
        self.fit_watched(on, seed, &Watch::quiet())
    }

    /// The same, telling how it goes and stopping when asked.
    pub fn fit_watched(&self, on: &SplitData, seed: u64, watch: &Watch<'_>) -> Result<Fitted> {
        self.ready(&on.name, &on.content, FitOptions::default())?.fit(&on.split, seed, watch)
    }

    /// Data made ready for this model, to fit it to several splits of it, or by several seeds.
    pub fn ready(&self, name: &str, content: &Content, options: FitOptions) -> Result<Ready> {
        let plan = self.plan(content.task())?;
        plan.check_asked(&options)?;
        let candidates = plan.model.operator.candidates().into_iter().map(|operator| plan.with_operator(operator));
        let candidates: Vec<Plan> = candidates.collect();
        let data = match content {
            Content::Graph(graph) => {
                if graph.num_nodes() == 0 {
                    return Err(refused("the graph has no nodes"));
                }
                let Some(labels) = graph.labels().cloned() else {
                    return Err(refused("the graph has no labels to learn from"));
                };
                let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                ReadyData::Graph { graph: plan.prepared(graph)?, labels, prepared }
            }
            Content::Graphs(set) => {
                refuse_idle_scaling(self.features, set.graphs())?;
                let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                ReadyData::Graphs { source: SetSource::new(set, &plan, &options)?, prepared }
            }
        };
        let fingerprint = content.fingerprint();
        Ok(Ready { name: name.to_string(), fingerprint, plan, candidates, options, data })
    }
}

/// Data made ready for a model: what all splits and seeds share is made once.
#[derive(Debug)]
pub struct Ready {
    name: String,
    fingerprint: u64,
    plan: Plan,
    /// The plan with each operator that is tried.
    candidates: Vec<Plan>,
    options: FitOptions,
    data: ReadyData,
}

#[derive(Debug)]
enum ReadyData {
    Graph { graph: Graph, labels: Labels, prepared: Vec<OnceLock<Prepared>> },
    Graphs { source: SetSource, prepared: Vec<OnceLock<PreparedSet>> },
}

impl Ready {
    /// The plan that models are fitted by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fits to the training items of a split.
    pub fn fit(&self, split: &Split, seed: u64, watch: &Watch<'_>) -> Result<Fitted> {
        let start = Instant::now();
        match &self.data {
            ReadyData::Graph { graph, labels, prepared } => {
                let attempt = |candidate: usize| {
                    let plan = &self.candidates[candidate];
                    let make = || Prepared::new(graph, plan.network.backbone, plan.model.operator);
                    let prepared = once(&prepared[candidate], make)?;
                    let on = OnGraph { graph, labels, prepared, split };
                    Ok((fit_node::fit(plan, &on, seed, watch)?, prepared.mean_log_degree))
                };
                let settled = settle(&self.candidates, watch, attempt, |((_, report), _)| report)?;
                let Settled { candidate, fitted: ((learned, report), mean_log_degree), tried } = settled;
                let plan = self.candidates[candidate].clone();
                let reading = read_off(&plan, &learned, graph, split, seed)?;
                let interrupted = report.interrupted || watch.stopped();
                let seconds = start.elapsed().as_secs_f64();
                Ok(Fitted {
                    learned,
                    classes: (0..labels.num_classes() as u32).map(|c| labels.name(c)).collect(),
                    mean_log_degree,
                    inputs: Inputs::of_graph(graph),
                    reading,
                    trained_on: self.trained_on(split),
                    seed,
                    report: FitReport { tried, seconds, interrupted, ..report },
                    plan,
                })
            }
            ReadyData::Graphs { source, prepared } => {
                let attempt = |candidate: usize| {
                    let plan = &self.candidates[candidate];
                    let prepared = once(&prepared[candidate], || source.prepared(plan))?;
                    Ok((
                        fit_graphs::fit(plan, source, prepared, split, &self.options, seed, watch)?,
                        prepared.mean_log_degree(),
                    ))
                };
                let settled = settle(&self.candidates, watch, attempt, |((_, report), _)| report)?;
                let Settled { candidate, fitted: ((classifier, report), mean_log_degree), tried } = settled;
                let labels = source.labels();
                let interrupted = report.interrupted || watch.stopped();
                Ok(Fitted {
                    plan: self.candidates[candidate].clone(),
                    learned: Learned::Graphs(classifier),
                    classes: (0..labels.num_classes() as u32).map(|c| labels.name(c)).collect(),
                    mean_log_degree,
                    inputs: source.inputs(),
                    reading: Reading::default(),
                    trained_on: self.trained_on(split),
                    seed,
                    report: FitReport { tried, interrupted, ..report },
                })
            }
        }
    }

    fn trained_on(&self, split: &Split) -> TrainedOn {
        TrainedOn { dataset: self.name.clone(), fingerprint: self.fingerprint, split: split.clone() }
    }
}

/// How answers are read off a model that was just trained; sigma and radius chosen on validation nodes where that is asked for.
fn read_off(plan: &Plan, learned: &Learned, graph: &Graph, split: &Split, seed: u64) -> Result<Reading> {
    let (inference, network) = (plan.model.inference, learned.classifier()?);
    let reading = inference.fit(network, graph, split.train())?;
    match inference.tunes() {
        true => reading.tuned(network, graph, split.val(), seed),
        false => Ok(reading),
    }
}

/// What a cell holds, made first where it holds nothing. Two threads may make it at once; the results are the same.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(made) => Ok(made),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

/// What was settled on.
struct Settled<T> {
    candidate: usize,
    fitted: T,
    tried: Vec<Tried>,
}

/// Tries every initialisation that a learnable operator leaves open and keeps the one with the best validation accuracy, the
/// first of equals. Test items have no say in it. An initialisation from which training diverges counts as the worst.
fn settle<T>(
    candidates: &[Plan],
    watch: &Watch<'_>,
    attempt: impl Fn(usize) -> Result<T>,
    report: impl Fn(&T) -> &FitReport,
) -> Result<Settled<T>> {
    if candidates.len() == 1 {
        return Ok(Settled { candidate: 0, fitted: attempt(0)?, tried: Vec::new() });
    }
    let mut tried: Vec<Tried> = Vec::new();
    let mut best: Option<(f64, usize, T)> = None;
    let mut failure = None;
    for (candidate, plan) in candidates.iter().enumerate() {
        if best.is_some() && watch.stopped() {
            break;
        }
        let init = match plan.model.operator {
            OperatorChoice::Cgso(cgso) => cgso.init.to_string(),
            other => other.to_string(),
        };
        match attempt(candidate) {
            Ok(fitted) => {
                let Some(accuracy) = report(&fitted).val_accuracy else {
                    let what = "auto chooses on validation items, and there are none; name an initialisation";
                    return Err(GraphError::argument("init", what).into());
                };
                tried.push(Tried { init, val_accuracy: Some(accuracy), failure: None });
                if best.as_ref().is_none_or(|(best, ..)| accuracy > *best) {
                    best = Some((accuracy, candidate, fitted));
                }
            }
            Err(diverged @ Error::Diverged { .. }) => {
                tried.push(Tried { init, val_accuracy: None, failure: Some(diverged.to_string()) });
                failure = Some(diverged);
            }
            Err(other) => return Err(other),
        }
    }
    match (best, failure) {
        (Some((_, candidate, fitted)), _) => Ok(Settled { candidate, fitted, tried }),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(refused("there is no initialisation to try")),
    }
}

/// Refuses a scaling that was asked for and would leave every graph of a set as it is, as it does with one-hot node labels and degrees.
fn refuse_idle_scaling(asked: Option<FeatureScaling>, graphs: &[Graph]) -> Result<()> {
    let Some(scaling) = asked.filter(|scaling| *scaling != FeatureScaling::AsLoaded) else { return Ok(()) };
    let stays = |graph: &Graph| graph.features().is_none_or(|features| scaling.apply(features) == *features);
    match graphs.iter().all(stays) {
        true => {
            let what = format!("{scaling} would change nothing: every node's features are one-hot");
            Err(GraphError::setting("features", what).into())
        }
        false => Ok(()),
    }
}
