//! Fits to the nodes of one graph: feature scaling, the initialisation of the operator, and the
//! head are selected on validation nodes, one after the other.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use gnarl_graph::{Graph, Labels, Result};

use super::node::OnGraph;
use super::{Attempt, Ready, Run, Selection, node, once, refuse_idle_scaling, sampled};
use crate::model::graph_data::Inputs;
use crate::model::learned::Learned;
use crate::model::report::{no_labels, refused};
use crate::model::search::{Rule, Search, Trial};
use crate::model::{Fitted, Plan};
use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler};
use gnarl_nn::operator::{Prepared, RowOperator};
use gnarl_nn::train::{SampledProblem, Sampling};
use gnarl_robust::inference::FittedInference;

/// One graph, with each candidate feature scaling.
#[derive(Debug)]
pub(super) struct ReadyGraph {
    labels: Labels,
    scaled: Vec<ScaledGraph>,
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

impl ReadyGraph {
    /// Preprocesses a graph and scales its features for so many candidates.
    pub fn new(
        graph: &Graph,
        plan: &Plan,
        asked: Option<FeatureScaling>,
        candidates: usize,
    ) -> Result<Self> {
        if graph.num_nodes() == 0 {
            return Err(refused("the graph has no nodes"));
        }
        let Some(labels) = graph.labels().cloned() else {
            return Err(no_labels());
        };
        refuse_idle_scaling(asked, std::slice::from_ref(graph))?;
        let graph = plan.model.defense.method().preprocessed(graph)?;
        let scaled = plan
            .scalings(FeatureKind::of([&graph].into_iter()))
            .into_iter()
            .map(|scaling| ScaledGraph::new(&graph, plan, scaling, candidates))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { labels, scaled })
    }

    pub fn num_scalings(&self) -> usize {
        self.scaled.len()
    }

    /// Fits the candidates to a split and keeps the selected one.
    pub fn fit(&self, ready: &Ready, run: Run<'_>) -> Result<Fitted> {
        let start = Instant::now();
        let labelled = |u: &&u32| self.labels.get(**u).is_some();
        let search = GraphSearch {
            ready,
            on: self,
            run,
            items: run.split.val().iter().filter(labelled).count(),
        };
        let (
            plan,
            Scaled {
                on,
                attempt,
                trials,
            },
        ) = search.select()?;
        let selected = Selection {
            plan,
            attempt,
            trials,
            scaler: &on.scaler,
            labels: &self.labels,
            inputs: Inputs::of_graph(&on.graph),
        };
        let inference = |plan: &Plan, learned: &Learned| match plan.sampling {
            Some(_) => Ok(FittedInference::default()),
            None => {
                let parts = [run.split.train(), run.split.val()];
                learned.fit_inference(plan.model.inference, &on.graph, parts, run.seed)
            }
        };
        let mut fitted = ready.fitted(selected, inference, run)?;
        fitted.report.seconds = start.elapsed().as_secs_f64();
        Ok(fitted)
    }
}

impl ScaledGraph {
    fn new(graph: &Graph, plan: &Plan, scaling: FeatureScaling, candidates: usize) -> Result<Self> {
        let scaler = Scaler::fit(scaling, [graph].into_iter())?;
        // Sampled rows are scaled when they are read: all of them may not fit into memory.
        let graph = if plan.sampling.is_some() {
            graph.clone()
        } else {
            scaler.scaled(graph)?
        };
        Ok(Self {
            scaler,
            graph,
            prepared: (0..candidates).map(|_| OnceLock::new()).collect(),
            rows: (0..candidates).map(|_| OnceLock::new()).collect(),
        })
    }
}

/// The search over everything that is open, on one graph.
struct GraphSearch<'a> {
    ready: &'a Ready,
    on: &'a ReadyGraph,
    run: Run<'a>,
    /// Number of labelled validation nodes.
    items: usize,
}

/// A trained candidate with the feature scaling that was selected.
struct Scaled<'a> {
    on: &'a ScaledGraph,
    attempt: Attempt,
    trials: Vec<Trial>,
}

impl<'a> GraphSearch<'a> {
    /// Selects everything that is open. The scaling is that of the first initialisation.
    fn select(&self) -> Result<(&'a Plan, Scaled<'a>)> {
        let candidates = &self.ready.candidates;
        let Scaled {
            on,
            attempt,
            mut trials,
        } = self.select_scaling(0, candidates.proxy(0))?;
        let selected =
            candidates.select(self.items, Some(attempt), self.run, |candidate, plan| {
                self.attempt(on, candidate, plan)
            })?;
        trials.extend(selected.trials);
        let candidate = selected.candidate;
        let plain = Scaled {
            on,
            attempt: selected.fitted,
            trials,
        };
        match candidates.headed(candidate) {
            Some(headed) if self.items > 0 && !self.run.watch.stopped() => {
                self.select_head(candidate, plain, headed)
            }
            _ => Ok((candidates.plan(candidate), plain)),
        }
    }

    /// Selects the feature scaling for one candidate.
    fn select_scaling(&self, candidate: usize, plan: &Plan) -> Result<Scaled<'a>> {
        let scaled = &self.on.scaled;
        let name = |on: &ScaledGraph| on.scaler.scaling().to_string();
        let values: Vec<String> = scaled.iter().map(name).collect();
        let search = Search {
            setting: "features",
            values: &values,
            rule: Rule::Margin(2.0),
            items: self.items,
        };
        let fit = |scaling: usize| self.attempt(&scaled[scaling], candidate, plan);
        let selected = search.run(self.run.watch, fit, |fitted| fitted.report.val_accuracy)?;
        Ok(Scaled {
            on: &scaled[selected.candidate],
            attempt: selected.fitted,
            trials: selected.trials,
        })
    }

    /// Selects between constrained weights in all layers and an unconstrained head, which can drop
    /// a direction that a constrained last map cannot drop.
    fn select_head(
        &self,
        candidate: usize,
        plain: Scaled<'a>,
        headed: &'a Plan,
    ) -> Result<(&'a Plan, Scaled<'a>)> {
        let plans = [self.ready.candidates.plan(candidate), headed];
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
        let accuracy = |scaled: &Scaled<'_>| scaled.attempt.report.val_accuracy;
        let selected = search.run(self.run.watch, fit, accuracy)?;
        let mut kept = selected.fitted;
        kept.trials.extend(selected.trials);
        Ok((plans[selected.candidate], kept))
    }

    /// Fits one candidate initialisation with one feature scaling.
    fn attempt(&self, on: &'a ScaledGraph, candidate: usize, plan: &Plan) -> Result<Attempt> {
        if let Some(sampling) = plan.sampling {
            return self.attempt_sampled(on, candidate, plan, sampling);
        }
        let prepared = once(&on.prepared[candidate], || {
            self.prepared(on, candidate, plan)
        })?;
        let data = OnGraph {
            graph: &on.graph,
            labels: &self.on.labels,
            prepared,
            split: self.run.split,
        };
        let (learned, report) = node::fit(plan, &data, &self.ready.options, self.run)?;
        Ok(Attempt {
            learned,
            report,
            mean_log_degree: prepared.mean_log_degree,
        })
    }

    /// Fits one candidate initialisation on sampled neighbourhoods.
    fn attempt_sampled(
        &self,
        on: &'a ScaledGraph,
        candidate: usize,
        plan: &Plan,
        sampling: Sampling,
    ) -> Result<Attempt> {
        let (backbone, operator) = (plan.network.backbone, plan.model.operator);
        let make = || {
            let rows = RowOperator::new(&on.graph, &on.scaler, backbone, operator)?;
            Ok(Arc::new(rows))
        };
        let rows = once(&on.rows[candidate], make)?.clone();
        let mean_log_degree = rows.mean_log_degree();
        let problem = SampledProblem {
            rows,
            labels: &self.on.labels,
            split: self.run.split,
            sampling,
        };
        let (learned, report) = sampled::fit(plan, &problem, &on.scaler, self.run)?;
        Ok(Attempt {
            learned,
            report,
            mean_log_degree,
        })
    }

    /// Returns the operator and the input of a candidate; the input is shared between scalings.
    fn prepared(&self, on: &ScaledGraph, candidate: usize, plan: &Plan) -> Result<Prepared> {
        let mut others = self.on.scaled.iter();
        let other = others.find_map(|other| other.prepared[candidate].get());
        let input = other.map(|other| &other.input);
        let (backbone, operator) = (plan.network.backbone, plan.model.operator);
        let mut prepared = Prepared::sharing_input(&on.graph, backbone, operator, input)?;
        if let Some(operator_override) = plan.model.defense.method().operator_override() {
            prepared.propagation = operator_override.propagation(&on.graph)?;
        }
        Ok(prepared)
    }
}
