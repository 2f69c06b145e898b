//! Fits a model to data.
//!
//! | file | what |
//! | --- | --- |
//! | `candidates` | the plans that validation data select among, and cheaper proxies of them |
//! | `graph` | one graph: feature scaling, initialisation and head are selected |
//! | `node`, `sampled` | training on the nodes of a graph, and on neighbourhoods sampled in it |
//! | `set`, `source` | a set of graphs: selection of the initialisation, and preparation |
//! | `classifier`, `graph_exits` | training on graphs of a set, with one depth and with exits |
//! | `copies` | augmented copies of training graphs |

mod candidates;
mod classifier;
mod copies;
mod graph;
mod graph_exits;
mod node;
mod sampled;
mod set;
mod source;

use std::sync::OnceLock;

use gnarl_data::{Content, SplitData};
use gnarl_graph::{Error, Graph, Labels, Result, Split};

use self::candidates::Candidates;
use self::graph::ReadyGraph;
use self::set::ReadySet;
use super::fitted::{Fitted, TrainedOn};
use super::graph_data::Inputs;
use super::learned::Learned;
use super::report::FitReport;
use super::search::Trial;
use super::{Model, Plan};
use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler};
use gnarl_nn::train::Callbacks;
use gnarl_robust::inference::{FittedInference, PerturbationTarget};

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
    pub(super) fn resolved_for(&self, content: &Content) -> Self {
        match content {
            Content::Graphs(set) if set.graphs().iter().all(|graph| graph.features().is_none()) => {
                self.inference(self.inference.on(PerturbationTarget::Structure))
            }
            _ => *self,
        }
    }

    /// Prepares data for this model, to fit it to several splits or with several seeds.
    pub fn ready(&self, name: &str, content: &Content, options: FitOptions) -> Result<Ready> {
        let model = self.resolved_for(content);
        let plan = model.plan(content.task())?;
        plan.check_options(&options)?;
        plan.check_demand(name, content, 1.0, 0.0)?;
        let mut candidates = Candidates::new(&model, &plan)?;
        let data = match content {
            Content::Graph(graph) => ReadyData::Graph(ReadyGraph::new(
                graph,
                &plan,
                self.features,
                candidates.len(),
            )?),
            Content::Graphs(set) => {
                refuse_idle_scaling(self.features, set.graphs())?;
                ReadyData::Set(ReadySet::new(set, &plan, &options, candidates.len())?)
            }
        };
        let is_open = candidates.len() > 1 || data.num_scalings() > 1;
        if is_open && plan.uses_proxy_runs(content) {
            candidates.use_proxies()?;
        }
        Ok(Ready {
            name: name.to_string(),
            fingerprint: content.fingerprint(),
            plan,
            candidates,
            options,
            data,
        })
    }
}

/// Data prepared for a model; everything that splits and seeds share is computed once.
#[derive(Debug)]
pub struct Ready {
    name: String,
    fingerprint: u64,
    plan: Plan,
    candidates: Candidates,
    options: FitOptions,
    data: ReadyData,
}

#[derive(Debug)]
enum ReadyData {
    Graph(ReadyGraph),
    Set(ReadySet),
}

impl ReadyData {
    /// Returns the number of feature scalings to select among.
    fn num_scalings(&self) -> usize {
        match self {
            ReadyData::Graph(graph) => graph.num_scalings(),
            ReadyData::Set(_) => 1,
        }
    }
}

/// One fit: a split, a seed, and callbacks.
#[derive(Clone, Copy)]
struct Run<'a> {
    split: &'a Split,
    seed: u64,
    watch: &'a Callbacks<'a>,
}

/// A trained candidate.
struct Attempt {
    learned: Learned,
    report: FitReport,
    /// Mean of `ln(degree + 1)` over the training graphs.
    mean_log_degree: f64,
}

/// The candidate that was selected, and its data.
struct Selection<'a> {
    plan: &'a Plan,
    attempt: Attempt,
    /// The candidates of every setting that was selected.
    trials: Vec<Trial>,
    scaler: &'a Scaler,
    labels: &'a Labels,
    inputs: Inputs,
}

impl Ready {
    /// Returns the plan that models are fitted by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fits to the training nodes or graphs of a split.
    pub fn fit(&self, split: &Split, seed: u64, watch: &Callbacks<'_>) -> Result<Fitted> {
        let run = Run { split, seed, watch };
        match &self.data {
            ReadyData::Graph(graph) => graph.fit(self, run),
            ReadyData::Set(set) => set.fit(self, run),
        }
    }

    /// Returns the fitted model of the selected candidate, with its fitted inference.
    fn fitted(
        &self,
        selected: Selection<'_>,
        inference: impl FnOnce(&Plan, &Learned) -> Result<FittedInference>,
        run: Run<'_>,
    ) -> Result<Fitted> {
        let Selection {
            plan,
            attempt,
            trials,
            scaler,
            labels,
            inputs,
        } = selected;
        let Attempt {
            learned,
            report,
            mean_log_degree,
        } = attempt;
        let plan = plan.scaled_by(scaler);
        let inference = inference(&plan, &learned)?;
        Ok(Fitted {
            report: FitReport {
                trials,
                tested_limit: inference.tested_limit(),
                interrupted: report.interrupted || run.watch.stopped(),
                ..report
            },
            plan,
            learned,
            classes: (0..labels.num_classes() as u32)
                .map(|class| labels.name(class))
                .collect(),
            mean_log_degree,
            scaler: scaler.clone(),
            inputs,
            inference,
            trained_on: TrainedOn {
                dataset: self.name.clone(),
                fingerprint: self.fingerprint,
                split: run.split.clone(),
            },
            seed: run.seed,
        })
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
        (Some(scaling), Some(why)) => Err(Error::setting(
            "features",
            format!("{scaling} would change nothing: {why}"),
        )),
        _ => Ok(()),
    }
}
