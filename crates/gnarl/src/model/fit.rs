//! From a model and data to a fitted model.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use gnarl_graph::dataset::Task;
use gnarl_graph::{Content, Error as GraphError, Graph, Labels, Split, SplitData};

use super::fit_graphs::{PreparedSet, SetSource};
use super::fit_node::OnGraph;
use super::fitted::{Fitted, Learned, TrainedOn};
use super::graph_data::Inputs;
use super::options::NetworkOptions;
use super::report::{FitReport, Tried, TriedHead, TriedScaling, refused};
use super::{Model, Plan, fit_graphs, fit_node, fit_sampled};
use crate::error::{Error, Result};
use crate::features::{FeatureKind, FeatureScaling, Scaler};
use crate::inference::{CleanInputs, Perturbed, Reading};
use crate::operator::{OperatorChoice, Prepared, RowOperator};
use crate::train::{SampledProblem, Watch};

pub use super::options::FitOptions;

impl Model {
    /// Fits the model to the training items of a split; validation items choose among epochs,
    /// initialisations and policies. `seed` fixes every random draw.
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
        self.ready(&on.name, &on.content, FitOptions::default())?
            .fit(&on.split, seed, watch)
    }

    /// The same with its inference set on the edges, where that is left open and the graphs of a
    /// set carry no features to look around in.
    pub(super) fn settled_for(&self, content: &Content) -> Self {
        match content {
            Content::Graphs(set) if set.graphs().iter().all(|graph| graph.features().is_none()) => {
                self.inference(self.inference.on(Perturbed::Structure))
            }
            _ => *self,
        }
    }

    /// Data made ready for this model, to fit it to several splits of it, or by several seeds.
    pub fn ready(&self, name: &str, content: &Content, options: FitOptions) -> Result<Ready> {
        let settled = self.settled_for(content);
        let plan = settled.plan(content.task())?;
        plan.check_asked(&options)?;
        plan.check_demand(name, content, 1.0, 0.0)?;
        let (candidates, headed) = match plan.leaves_head_open() {
            true => (
                settled.headed(false).candidates(plan.task)?,
                settled.headed(true).candidates(plan.task)?,
            ),
            false => (settled.candidates(plan.task)?, Vec::new()),
        };
        let mut scouts = Vec::new();
        let data = match content {
            Content::Graph(graph) => {
                if graph.num_nodes() == 0 {
                    return Err(refused("the graph has no nodes"));
                }
                let Some(labels) = graph.labels().cloned() else {
                    return Err(refused("the graph has no labels to learn from"));
                };
                refuse_idle_scaling(self.features, std::slice::from_ref(graph))?;
                let graph = plan.model.defense.method().purified(graph)?;
                let scalings = plan.scalings(FeatureKind::of([&graph].into_iter()));
                let scaled = scalings.into_iter().map(|scaling| {
                    let scaler = Scaler::fit(scaling, [&graph].into_iter())?;
                    let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                    let rows = candidates.iter().map(|_| OnceLock::new()).collect();
                    // Sampled rows are scaled as they are read: there may be no room for all of
                    // them.
                    let graph = if plan.sampling.is_some() {
                        graph.clone()
                    } else {
                        scaler.scaled(&graph)?
                    };
                    Ok(ScaledGraph {
                        graph,
                        scaler,
                        prepared,
                        rows,
                    })
                });
                let scaled = scaled.collect::<Result<Vec<_>>>()?;
                if plan.scouts(content) && (scaled.len() > 1 || candidates.len() > 1) {
                    scouts = scouts_of(&candidates)?;
                }
                ReadyData::Graph { labels, scaled }
            }
            Content::Graphs(set) => {
                let kind = FeatureKind::of(set.graphs().iter());
                refuse_idle_scaling(self.features, set.graphs())?;
                let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                let scaling = plan.scalings(kind)[0];
                if plan.scouts(content) && candidates.len() > 1 {
                    scouts = scouts_of(&candidates)?;
                }
                ReadyData::Graphs {
                    source: SetSource::new(set, &plan, &options)?,
                    scaling,
                    prepared,
                }
            }
        };
        let fingerprint = content.fingerprint();
        Ok(Ready {
            name: name.to_string(),
            fingerprint,
            plan,
            candidates,
            headed,
            scouts,
            options,
            data,
        })
    }

    /// The plan with each operator that is tried.
    fn candidates(&self, task: Task) -> Result<Vec<Plan>> {
        self.operator
            .candidates()
            .into_iter()
            .map(|operator| self.operator(operator).plan(task))
            .collect()
    }

    /// The same with a free linear map at its end, or without.
    fn headed(&self, head: bool) -> Self {
        Self {
            network: NetworkOptions {
                head: Some(head),
                ..self.network
            },
            ..*self
        }
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
    /// The same with a head, where that is left open; or none.
    headed: Vec<Plan>,
    /// In the place of the candidates while one of them is settled on, where they are long to train
    /// and there is much to train on; or none.
    scouts: Vec<Plan>,
    options: FitOptions,
    data: ReadyData,
}

#[derive(Debug)]
enum ReadyData {
    /// One graph, in every way of scaling that is tried.
    Graph {
        labels: Labels,
        scaled: Vec<ScaledGraph>,
    },
    /// A set, whose scaling may have to learn from the training graphs of a split: what is kept
    /// does not.
    Graphs {
        source: SetSource,
        scaling: FeatureScaling,
        prepared: Vec<OnceLock<PreparedSet>>,
    },
}

/// A graph with its features scaled, made ready for each operator that is tried.
#[derive(Debug)]
struct ScaledGraph {
    scaler: Scaler,
    graph: Graph,
    prepared: Vec<OnceLock<Prepared>>,
    /// The same by rows, where neighbourhoods are sampled; its graph is not scaled.
    rows: Vec<OnceLock<Arc<RowOperator>>>,
}

/// What fitting came to on the graph in the way of scaling that was settled on.
struct Scaled<'a> {
    on: &'a ScaledGraph,
    fitted: OnNodes,
    scalings: Vec<TriedScaling>,
}

/// What fitting to one graph came to.
struct OnNodes {
    learned: Learned,
    report: FitReport,
    mean_log_degree: f64,
}

impl Ready {
    /// The plan that models are fitted by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fits to the training items of a split.
    pub fn fit(&self, split: &Split, seed: u64, watch: &Watch<'_>) -> Result<Fitted> {
        match &self.data {
            ReadyData::Graph { labels, scaled } => {
                self.fit_graph(labels, scaled, split, seed, watch)
            }
            ReadyData::Graphs {
                source,
                scaling,
                prepared,
            } => self.fit_graphs(source, *scaling, prepared, split, seed, watch),
        }
    }

    fn fit_graph(
        &self,
        labels: &Labels,
        scaled: &[ScaledGraph],
        split: &Split,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Fitted> {
        let start = Instant::now();
        let attempt = |on: &ScaledGraph, candidate: usize, plan: &Plan| {
            if let Some(sampling) = plan.sampling {
                let Plan { network, model, .. } = plan;
                let make = || {
                    Ok(Arc::new(RowOperator::new(
                        &on.graph,
                        &on.scaler,
                        network.backbone,
                        model.operator,
                    )?))
                };
                let rows = once(&on.rows[candidate], make)?.clone();
                let mean_log_degree = rows.mean_log_degree();
                let problem = SampledProblem {
                    rows,
                    labels,
                    split,
                    sampling,
                };
                let (learned, report) = fit_sampled::fit(plan, &problem, &on.scaler, seed, watch)?;
                return Ok(OnNodes {
                    learned,
                    report,
                    mean_log_degree,
                });
            }
            let make = || {
                let other = scaled
                    .iter()
                    .find_map(|other| other.prepared[candidate].get());
                let Plan { network, model, .. } = plan;
                let mut prepared = Prepared::beside(
                    &on.graph,
                    network.backbone,
                    model.operator,
                    other.map(|other| &other.input),
                )?;
                if let Some(travel) = plan.model.defense.method().travel() {
                    prepared.propagation = travel.propagation(&on.graph)?;
                }
                Ok(prepared)
            };
            let prepared = once(&on.prepared[candidate], make)?;
            let on = OnGraph {
                graph: &on.graph,
                labels,
                prepared,
                split,
            };
            let (learned, report) = fit_node::fit(plan, &on, &self.options, seed, watch)?;
            Ok(OnNodes {
                learned,
                report,
                mean_log_degree: prepared.mean_log_degree,
            })
        };
        let items = split
            .val()
            .iter()
            .filter(|&&u| labels.get(u).is_some())
            .count();
        let Scaled {
            on,
            fitted: first,
            scalings,
        } = settle_scaling(scaled, items, watch, |on| attempt(on, 0, self.scout(0)))?;
        let first = Cell::new(Some(first));
        let again = |candidate: usize| match first.take() {
            Some(first) if candidate == 0 => Ok(first),
            _ => attempt(on, candidate, self.scout(candidate)),
        };
        let Settled {
            candidate,
            fitted,
            tried,
        } = settle(&self.candidates, watch, again, |fitted| &fitted.report)?;
        let fitted = match self.scouts.is_empty() {
            true => fitted,
            false => attempt(on, candidate, &self.candidates[candidate])?,
        };
        let (plan, usual) = (
            &self.candidates[candidate],
            Scaled {
                on,
                fitted,
                scalings,
            },
        );
        let (plan, kept, heads) = match self.headed.get(candidate) {
            Some(headed) if items > 0 && !watch.stopped() => {
                let with_head =
                    settle_scaling(scaled, items, watch, |on| attempt(on, candidate, headed));
                settle_head((plan, usual), (headed, with_head), items)?
            }
            _ => (plan, usual, Vec::new()),
        };
        let Scaled {
            on,
            fitted:
                OnNodes {
                    learned,
                    report,
                    mean_log_degree,
                },
            scalings,
        } = kept;
        let plan = plan.scaled_by(&on.scaler);
        let reading = match plan.sampling {
            Some(_) => Reading::default(),
            None => read_off(&plan, &learned, &on.graph, split, seed)?,
        };
        let (trusted, interrupted) = (reading.trusted(), report.interrupted || watch.stopped());
        let seconds = start.elapsed().as_secs_f64();
        Ok(Fitted {
            learned,
            classes: (0..labels.num_classes() as u32)
                .map(|c| labels.name(c))
                .collect(),
            mean_log_degree,
            scaler: on.scaler.clone(),
            inputs: Inputs::of_graph(&on.graph),
            reading,
            trained_on: self.trained_on(split),
            seed,
            report: FitReport {
                tried,
                scalings,
                heads,
                trusted,
                seconds,
                interrupted,
                ..report
            },
            plan,
        })
    }

    fn fit_graphs(
        &self,
        source: &SetSource,
        scaling: FeatureScaling,
        prepared: &[OnceLock<PreparedSet>],
        split: &Split,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Fitted> {
        let scaler = source.scaler(scaling, split)?;
        let attempt = |candidate: usize, plan: &Plan| {
            let own;
            let prepared = match scaler {
                Scaler::Standardised(_) => {
                    own = source.prepared(plan, &scaler)?;
                    &own
                }
                _ => once(&prepared[candidate], || source.prepared(plan, &scaler))?,
            };
            let on = fit_graphs::OnSet {
                source,
                prepared,
                scaler: &scaler,
                split,
            };
            Ok((
                fit_graphs::fit(plan, &on, &self.options, seed, watch)?,
                prepared.mean_log_degree(),
            ))
        };
        let trial = |candidate: usize| attempt(candidate, self.scout(candidate));
        let Settled {
            candidate,
            fitted,
            tried,
        } = settle(&self.candidates, watch, trial, |((_, report), _)| report)?;
        let ((learned, report), mean_log_degree) = match self.scouts.is_empty() {
            true => fitted,
            false => attempt(candidate, &self.candidates[candidate])?,
        };
        let labels = source.labels();
        let plan = self.candidates[candidate].scaled_by(&scaler);
        let reading = source.read_off(&plan, learned.classifier(), &scaler, split, seed)?;
        let (trusted, interrupted) = (reading.trusted(), report.interrupted || watch.stopped());
        Ok(Fitted {
            plan,
            learned,
            classes: (0..labels.num_classes() as u32)
                .map(|c| labels.name(c))
                .collect(),
            mean_log_degree,
            scaler,
            inputs: source.inputs(),
            reading,
            trained_on: self.trained_on(split),
            seed,
            report: FitReport {
                tried,
                trusted,
                interrupted,
                ..report
            },
        })
    }

    /// What is trained to judge a candidate by.
    fn scout(&self, candidate: usize) -> &Plan {
        self.scouts
            .get(candidate)
            .unwrap_or(&self.candidates[candidate])
    }

    fn trained_on(&self, split: &Split) -> TrainedOn {
        TrainedOn {
            dataset: self.name.clone(),
            fingerprint: self.fingerprint,
            split: split.clone(),
        }
    }
}

/// The same at a fixed depth.
fn scouts_of(candidates: &[Plan]) -> Result<Vec<Plan>> {
    candidates.iter().map(Plan::scout).collect()
}

/// The way of scaling to keep, with what fitting came to there: the usual one, unless validation
/// nodes are right about another by more than two standard errors of an accuracy. Without
/// validation nodes, the usual one.
fn settle_scaling<'a>(
    scaled: &'a [ScaledGraph],
    validation_nodes: usize,
    watch: &Watch<'_>,
    attempt: impl Fn(&'a ScaledGraph) -> Result<OnNodes>,
) -> Result<Scaled<'a>> {
    let Some((usual, others)) = scaled.split_first() else {
        return Err(refused("there is no way of scaling to try"));
    };
    let mut best = (usual, attempt(usual)?);
    let mut tried = Vec::new();
    let noted = |on: &ScaledGraph, fitted: &OnNodes| TriedScaling {
        scaling: on.scaler.scaling(),
        val_accuracy: fitted.report.val_accuracy,
    };
    for other in others.iter().filter(|_| validation_nodes > 0) {
        if watch.stopped() {
            break;
        }
        if tried.is_empty() {
            tried.push(noted(usual, &best.1));
        }
        // An input so large that training diverges is not better.
        let fitted = match attempt(other) {
            Err(Error::Diverged { .. }) => continue,
            fitted => fitted?,
        };
        tried.push(noted(other, &fitted));
        if is_better(&fitted, &best.1, 2.0, validation_nodes) {
            best = (other, fitted);
        }
    }
    let (on, fitted) = best;
    Ok(Scaled {
        on,
        fitted,
        scalings: tried,
    })
}

/// Whether validation nodes are right about `new` by more than so many standard errors of an
/// accuracy.
fn is_better(new: &OnNodes, old: &OnNodes, errors: f64, validation_nodes: usize) -> bool {
    let (Some(so_far), Some(now)) = (old.report.val_accuracy, new.report.val_accuracy) else {
        return false;
    };
    let share = so_far / 100.0;
    now > so_far + errors * 100.0 * (share * (1.0 - share) / validation_nodes as f64).sqrt()
}

/// Bounded weights all the way, unless validation nodes are right about a free head by more than
/// one standard error: a last map that is bounded, too, cannot leave out what tells no classes
/// apart.
fn settle_head<'a, 'b>(
    (plain_plan, plain): (&'b Plan, Scaled<'a>),
    (headed_plan, headed): (&'b Plan, Result<Scaled<'a>>),
    validation_nodes: usize,
) -> Result<(&'b Plan, Scaled<'a>, Vec<TriedHead>)> {
    let noted = |head, fitted: &OnNodes| TriedHead {
        head,
        val_accuracy: fitted.report.val_accuracy,
    };
    let headed = match headed {
        Err(Error::Diverged { .. }) => return Ok((plain_plan, plain, Vec::new())),
        headed => headed?,
    };
    let tried = vec![noted(false, &plain.fitted), noted(true, &headed.fitted)];
    Ok(
        match is_better(&headed.fitted, &plain.fitted, 1.0, validation_nodes) {
            true => (headed_plan, headed, tried),
            false => (plain_plan, plain, tried),
        },
    )
}

/// How answers are read off a model that was just trained; sigma and radius chosen on validation
/// nodes where that is asked for.
fn read_off(
    plan: &Plan,
    learned: &Learned,
    graph: &Graph,
    split: &Split,
    seed: u64,
) -> Result<Reading> {
    let (inference, network) = (plan.model.inference, learned.classifier());
    let clean = CleanInputs::Nodes {
        graph,
        train: split.train(),
        val: split.val(),
    };
    let reading = inference.fit_to(network, clean)?;
    match inference.tunes() {
        true => reading.tuned(network, graph, split.val(), seed),
        false => Ok(reading),
    }
}

/// What a cell holds, made first where it holds nothing. Two threads may make it at once; the
/// results are the same.
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

/// Tries every initialisation that a learnable operator leaves open and keeps the one with the best
/// validation accuracy, the first of equals. Test items have no say in it. An initialisation from
/// which training diverges counts as the worst.
fn settle<T>(
    candidates: &[Plan],
    watch: &Watch<'_>,
    attempt: impl Fn(usize) -> Result<T>,
    report: impl Fn(&T) -> &FitReport,
) -> Result<Settled<T>> {
    if candidates.len() == 1 {
        return Ok(Settled {
            candidate: 0,
            fitted: attempt(0)?,
            tried: Vec::new(),
        });
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
                tried.push(Tried {
                    init,
                    val_accuracy: Some(accuracy),
                    failure: None,
                });
                if best.as_ref().is_none_or(|(best, ..)| accuracy > *best) {
                    best = Some((accuracy, candidate, fitted));
                }
            }
            Err(diverged @ Error::Diverged { .. }) => {
                tried.push(Tried {
                    init,
                    val_accuracy: None,
                    failure: Some(diverged.to_string()),
                });
                failure = Some(diverged);
            }
            Err(other) => return Err(other),
        }
    }
    match (best, failure) {
        (Some((_, candidate, fitted)), _) => Ok(Settled {
            candidate,
            fitted,
            tried,
        }),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(refused("there is no initialisation to try")),
    }
}

/// Refuses a scaling that was asked for and would leave all features as they are: row sums where
/// every row of a set is one-hot, as node labels and degrees are, and deviations of columns that
/// are zeros and ones.
fn refuse_idle_scaling(asked: Option<FeatureScaling>, graphs: &[Graph]) -> Result<()> {
    let why = match asked {
        Some(FeatureScaling::RowNormalised) if graphs.len() > 1 => (FeatureKind::of(graphs.iter())
            == FeatureKind::Plain)
            .then_some("every node's features are one-hot"),
        Some(scaling @ FeatureScaling::Standardised) => Scaler::fit(scaling, graphs.iter())?
            .is_idle()
            .then_some("every column is zeros and ones, or constant"),
        _ => None,
    };
    match (asked, why) {
        (Some(scaling), Some(why)) => Err(GraphError::setting(
            "features",
            format!("{scaling} would change nothing: {why}"),
        )
        .into()),
        _ => Ok(()),
    }
}
