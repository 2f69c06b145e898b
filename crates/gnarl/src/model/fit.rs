//! Fits a model to data.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use gnarl_data::Task;
use gnarl_data::{Content, SplitData};
use gnarl_graph::{Error as GraphError, Graph, Labels, Split};

use super::NetworkOptions;
use super::fit_graphs::{PreparedSet, SetSource};
use super::fit_node::OnGraph;
use super::fitted::{Fitted, Learned, TrainedOn};
use super::graph_data::Inputs;
use super::report::{FitReport, refused};
use super::search::{Rule, Search, Selected, Trial};
use super::{Model, Plan, fit_graphs, fit_node, fit_sampled};
use gnarl_graph::Result;
use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler};
use gnarl_nn::operator::{OperatorChoice, Prepared, RowOperator};
use gnarl_nn::train::{Callbacks, SampledProblem, Sampling};
use gnarl_robust::inference::{CleanInputs, FittedInference, PerturbationTarget};

pub use super::options::FitOptions;

impl Model {
    /// Fits the model to the training nodes or graphs of a split. Validation nodes or graphs select
    /// the epoch, the initialisation and the policy. `seed` fixes all random samples.
    ///
    /// ```
    /// use gnarl::prelude::*;
    /// let data = Dataset::load("karate")?;
    /// let fitted = Model::new(Backbone::GCN).epochs(50).fit(&data.split(0)?, 0)?;
    /// assert!(fitted.accuracy(&data, Part::Train)? > 90.0);
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn fit(&self, on: &SplitData, seed: u64) -> Result<Fitted> {
        self.fit_watched(on, seed, &Callbacks::quiet())
    }

    /// Fits the model, reports progress, and can be cancelled.
    pub fn fit_watched(&self, on: &SplitData, seed: u64, watch: &Callbacks<'_>) -> Result<Fitted> {
        self.ready(&on.name, &on.content, FitOptions::default())?
            .fit(&on.split, seed, watch)
    }

    /// Returns the model with its inference set to the edges, if the part to perturb is open. It
    /// applies to a set whose graphs have no features to perturb.
    pub(super) fn settled_for(&self, content: &Content) -> Self {
        match content {
            Content::Graphs(set) if set.graphs().iter().all(|graph| graph.features().is_none()) => {
                self.inference(self.inference.on(PerturbationTarget::Structure))
            }
            _ => *self,
        }
    }

    /// Prepares data for this model, to fit it to several splits or with several seeds.
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
        let mut uses_proxy_runs = Vec::new();
        let data = match content {
            Content::Graph(graph) => {
                if graph.num_nodes() == 0 {
                    return Err(refused("the graph has no nodes"));
                }
                let Some(labels) = graph.labels().cloned() else {
                    return Err(refused("the graph has no labels to learn from"));
                };
                refuse_idle_scaling(self.features, std::slice::from_ref(graph))?;
                let graph = plan.model.defense.method().preprocessed(graph)?;
                let scalings = plan.scalings(FeatureKind::of([&graph].into_iter()));
                let scaled = scalings.into_iter().map(|scaling| {
                    let scaler = Scaler::fit(scaling, [&graph].into_iter())?;
                    let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                    let rows = candidates.iter().map(|_| OnceLock::new()).collect();
                    // Sampled rows are scaled when they are read: all of them may not fit into
                    // memory.
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
                if plan.uses_proxy_runs(content) && (scaled.len() > 1 || candidates.len() > 1) {
                    uses_proxy_runs = scouts_of(&candidates)?;
                }
                ReadyData::Graph { labels, scaled }
            }
            Content::Graphs(set) => {
                let kind = FeatureKind::of(set.graphs().iter());
                refuse_idle_scaling(self.features, set.graphs())?;
                let prepared = candidates.iter().map(|_| OnceLock::new()).collect();
                let scaling = plan.scalings(kind)[0];
                if plan.uses_proxy_runs(content) && candidates.len() > 1 {
                    uses_proxy_runs = scouts_of(&candidates)?;
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
            uses_proxy_runs,
            options,
            data,
        })
    }

    /// Returns the plan with each candidate operator.
    fn candidates(&self, task: Task) -> Result<Vec<Plan>> {
        self.operator
            .candidates()
            .into_iter()
            .map(|operator| self.operator(operator).plan(task))
            .collect()
    }

    /// Returns the model with an unconstrained linear output map, or without.
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

/// Data prepared for a model; everything that splits and seeds share is computed once.
#[derive(Debug)]
pub struct Ready {
    name: String,
    fingerprint: u64,
    plan: Plan,
    /// The plan with each candidate operator.
    candidates: Vec<Plan>,
    /// The plan with an output head, if the head is open; or none.
    headed: Vec<Plan>,
    /// Cheaper plans that select among the candidates, if the candidates take long to train and the
    /// data is large; or none.
    uses_proxy_runs: Vec<Plan>,
    options: FitOptions,
    data: ReadyData,
}

#[derive(Debug)]
enum ReadyData {
    /// One graph, with each candidate feature scaling.
    Graph {
        labels: Labels,
        scaled: Vec<ScaledGraph>,
    },
    /// A set of graphs. Its scaling may depend on the training graphs of a split, so only what does
    /// not depend on them is kept.
    Graphs {
        source: SetSource,
        scaling: FeatureScaling,
        prepared: Vec<OnceLock<PreparedSet>>,
    },
}

/// A graph with its features scaled, prepared for each candidate operator.
#[derive(Debug)]
struct ScaledGraph {
    scaler: Scaler,
    graph: Graph,
    prepared: Vec<OnceLock<Prepared>>,
    /// The operator by rows, if neighbourhoods are sampled; its graph is not scaled.
    rows: Vec<OnceLock<Arc<RowOperator>>>,
}

/// One graph with everything that fitting a candidate needs.
struct OneGraph<'a> {
    ready: &'a Ready,
    labels: &'a Labels,
    scaled: &'a [ScaledGraph],
    split: &'a Split,
    seed: u64,
    watch: &'a Callbacks<'a>,
    /// Number of labelled validation nodes.
    items: usize,
}

/// The result of fitting with the feature scaling that was selected.
struct Scaled<'a> {
    on: &'a ScaledGraph,
    fitted: OnNodes,
    trials: Vec<Trial>,
}

/// The result of fitting to one graph.
struct OnNodes {
    learned: Learned,
    report: FitReport,
    mean_log_degree: f64,
}

impl Ready {
    /// Returns the plan that models are fitted by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fits to the training nodes or graphs of a split.
    pub fn fit(&self, split: &Split, seed: u64, watch: &Callbacks<'_>) -> Result<Fitted> {
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

    /// Selects feature scaling, then the initialisation of the operator, then the head.
    fn fit_graph(
        &self,
        labels: &Labels,
        scaled: &[ScaledGraph],
        split: &Split,
        seed: u64,
        watch: &Callbacks<'_>,
    ) -> Result<Fitted> {
        let start = Instant::now();
        let is_labelled = |u: &&u32| labels.get(**u).is_some();
        let data = OneGraph {
            ready: self,
            labels,
            scaled,
            split,
            seed,
            watch,
            items: split.val().iter().filter(is_labelled).count(),
        };
        let (plan, Scaled { on, fitted, trials }) = data.select()?;
        let OnNodes {
            learned,
            report,
            mean_log_degree,
        } = fitted;
        let plan = plan.scaled_by(&on.scaler);
        let reading = match plan.sampling {
            Some(_) => FittedInference::default(),
            None => with_inference(&plan, &learned, &on.graph, split, seed)?,
        };
        let (trusted, interrupted) = (reading.trusted(), report.interrupted || watch.stopped());
        let seconds = start.elapsed().as_secs_f64();
        let names = (0..labels.num_classes() as u32).map(|class| labels.name(class));
        Ok(Fitted {
            learned,
            classes: names.collect(),
            mean_log_degree,
            scaler: on.scaler.clone(),
            inputs: Inputs::of_graph(&on.graph),
            reading,
            trained_on: self.trained_on(split),
            seed,
            report: FitReport {
                trials,
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
        watch: &Callbacks<'_>,
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
        let names = self.initialisations();
        let search = Search {
            setting: "init",
            values: &names,
            rule: Rule::Best,
            items: split.val().len(),
        };
        let Selected {
            candidate,
            fitted,
            trials,
        } = search.run(watch, trial, |((_, report), _)| report.val_accuracy)?;
        let ((learned, report), mean_log_degree) = match self.uses_proxy_runs.is_empty() {
            true => fitted,
            false => attempt(candidate, &self.candidates[candidate])?,
        };
        let labels = source.labels();
        let plan = self.candidates[candidate].scaled_by(&scaler);
        let reading = source.with_inference(&plan, learned.classifier(), &scaler, split, seed)?;
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
                trials,
                trusted,
                interrupted,
                ..report
            },
        })
    }

    /// Returns the plan that is trained to rate a candidate.
    fn scout(&self, candidate: usize) -> &Plan {
        self.uses_proxy_runs
            .get(candidate)
            .unwrap_or(&self.candidates[candidate])
    }

    /// Returns the candidate initialisations, by name.
    fn initialisations(&self) -> Vec<String> {
        let name = |plan: &Plan| match plan.model.operator {
            OperatorChoice::Cgso(cgso) => cgso.init.to_string(),
            other => other.to_string(),
        };
        self.candidates.iter().map(name).collect()
    }

    fn trained_on(&self, split: &Split) -> TrainedOn {
        TrainedOn {
            dataset: self.name.clone(),
            fingerprint: self.fingerprint,
            split: split.clone(),
        }
    }
}

/// Returns the candidates at a fixed depth.
fn scouts_of(candidates: &[Plan]) -> Result<Vec<Plan>> {
    candidates.iter().map(Plan::scout).collect()
}

impl<'a> OneGraph<'a> {
    /// Fits one candidate initialisation with one feature scaling.
    fn attempt(&self, on: &'a ScaledGraph, candidate: usize, plan: &Plan) -> Result<OnNodes> {
        if let Some(sampling) = plan.sampling {
            return self.attempt_sampled(on, candidate, plan, sampling);
        }
        let prepared = once(&on.prepared[candidate], || {
            self.prepared(on, candidate, plan)
        })?;
        let data = OnGraph {
            graph: &on.graph,
            labels: self.labels,
            prepared,
            split: self.split,
        };
        let options = &self.ready.options;
        let (learned, report) = fit_node::fit(plan, &data, options, self.seed, self.watch)?;
        Ok(OnNodes {
            learned,
            report,
            mean_log_degree: prepared.mean_log_degree,
        })
    }

    fn attempt_sampled(
        &self,
        on: &'a ScaledGraph,
        candidate: usize,
        plan: &Plan,
        sampling: Sampling,
    ) -> Result<OnNodes> {
        let (backbone, operator) = (plan.network.backbone, plan.model.operator);
        let make = || {
            let rows = RowOperator::new(&on.graph, &on.scaler, backbone, operator)?;
            Ok(Arc::new(rows))
        };
        let rows = once(&on.rows[candidate], make)?.clone();
        let mean_log_degree = rows.mean_log_degree();
        let problem = SampledProblem {
            rows,
            labels: self.labels,
            split: self.split,
            sampling,
        };
        let (learned, report) =
            fit_sampled::fit(plan, &problem, &on.scaler, self.seed, self.watch)?;
        Ok(OnNodes {
            learned,
            report,
            mean_log_degree,
        })
    }

    /// Returns the operator and the input of a candidate; the input is shared between scalings.
    fn prepared(&self, on: &ScaledGraph, candidate: usize, plan: &Plan) -> Result<Prepared> {
        let mut others = self.scaled.iter();
        let other = others.find_map(|other| other.prepared[candidate].get());
        let input = other.map(|other| &other.input);
        let (backbone, operator) = (plan.network.backbone, plan.model.operator);
        let mut prepared = Prepared::beside(&on.graph, backbone, operator, input)?;
        if let Some(operator_override) = plan.model.defense.method().operator_override() {
            prepared.propagation = operator_override.propagation(&on.graph)?;
        }
        Ok(prepared)
    }

    /// Selects the feature scaling for one candidate.
    fn select_scaling(&self, candidate: usize, plan: &Plan) -> Result<Scaled<'a>> {
        let name = |on: &ScaledGraph| on.scaler.scaling().to_string();
        let values: Vec<String> = self.scaled.iter().map(name).collect();
        let search = Search {
            setting: "features",
            values: &values,
            rule: Rule::Margin(2.0),
            items: self.items,
        };
        let fit = |scaling: usize| self.attempt(&self.scaled[scaling], candidate, plan);
        let selected = search.run(self.watch, fit, |fitted| fitted.report.val_accuracy)?;
        Ok(Scaled {
            on: &self.scaled[selected.candidate],
            fitted: selected.fitted,
            trials: selected.trials,
        })
    }

    /// Selects everything that is open. The scaling is that of the first initialisation.
    fn select(&self) -> Result<(&'a Plan, Scaled<'a>)> {
        let ready = self.ready;
        let Scaled {
            on,
            fitted,
            mut trials,
        } = self.select_scaling(0, ready.scout(0))?;
        let mut first = Some(fitted);
        let names = ready.initialisations();
        let search = Search {
            setting: "init",
            values: &names,
            rule: Rule::Best,
            items: self.items,
        };
        let fit = |candidate: usize| match first.take() {
            Some(first) if candidate == 0 => Ok(first),
            _ => self.attempt(on, candidate, ready.scout(candidate)),
        };
        let selected = search.run(self.watch, fit, |fitted| fitted.report.val_accuracy)?;
        trials.extend(selected.trials);
        let candidate = selected.candidate;
        let plan = &ready.candidates[candidate];
        let fitted = match ready.uses_proxy_runs.is_empty() {
            true => selected.fitted,
            false => self.attempt(on, candidate, plan)?,
        };
        let plain = Scaled { on, fitted, trials };
        match ready.headed.get(candidate) {
            Some(headed) if self.items > 0 && !self.watch.stopped() => {
                self.select_head((plan, plain), (headed, candidate))
            }
            _ => Ok((plan, plain)),
        }
    }

    /// Selects between constrained weights in all layers and an unconstrained head, which can drop
    /// a direction that a constrained last map cannot drop.
    fn select_head(
        &self,
        (plan, plain): (&'a Plan, Scaled<'a>),
        (headed, candidate): (&'a Plan, usize),
    ) -> Result<(&'a Plan, Scaled<'a>)> {
        let plans = [plan, headed];
        let search = Search {
            setting: "head",
            values: &["false".to_string(), "true".to_string()],
            rule: Rule::Margin(1.0),
            items: self.items,
        };
        let mut plain = Some(plain);
        let fit = |which: usize| match plain.take() {
            Some(plain) if which == 0 => Ok(plain),
            _ => self.select_scaling(candidate, headed),
        };
        let selected = search.run(self.watch, fit, |scaled| scaled.fitted.report.val_accuracy)?;
        let mut kept = selected.fitted;
        kept.trials.extend(selected.trials);
        Ok((plans[selected.candidate], kept))
    }
}

/// Fits the inference to a newly trained model, with sigma and radius selected on validation nodes
/// if requested.
fn with_inference(
    plan: &Plan,
    learned: &Learned,
    graph: &Graph,
    split: &Split,
    seed: u64,
) -> Result<FittedInference> {
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

/// Returns the content of a cell, computed first if the cell is empty. Two threads may compute it
/// at once, with the same result.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(made) => Ok(made),
        None => {
            let made = make()?;
            Ok(cell.get_or_init(|| made))
        }
    }
}

/// Refuses a requested scaling that would leave all features as they are. Row sums do so if every
/// row of a set is one-hot, as node labels and degrees are. Standard deviations do so for columns
/// of zeros and ones.
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
        )),
        _ => Ok(()),
    }
}
