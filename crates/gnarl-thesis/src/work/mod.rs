//! Kinds of rows and of cells: what a row of a table asks for, and the work of a cell.
//!
//! A kind of row is a struct that implements `RowKind` and one line of [`Spec`]: it makes the
//! work of its cells. A kind of work is a type that implements `CellWork` and one line of
//! [`Work`]: it runs, and its fields are the stored configuration of a cell. Rows of several kinds
//! may share a kind of work, and then share cells.
//!
//! | file | rows | work |
//! | --- | --- | --- |
//! | `nodes` | a network, one of fixed depth, a scalar of its operator, the best depth | node classification |
//! | `halves` | a depth | joined sparse and dense halves of a graph |
//! | `exits` | a network and a training scheme | exits at every layer |
//! | `attacked` | a model and an attack | attacks on trained models |
//! | `graphs` | a classifier of graphs | folds of a set |
//! | `seconds` | exits, inference rules | times, one run after another |
//! | `clustering` | a method | communities of sampled graphs |
//! | `properties` | a property | a property of a graph or a set |

mod attacked;
mod clustering;
mod exits;
mod graphs;
mod halves;
mod nodes;
mod properties;
mod seconds;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use gnarl_data::registry::{self, Protocol};
use gnarl_data::{Benchmark, Content, Dataset, Task};
use serde::{Deserialize, Deserializer, Serialize};

use super::measure::Measure;
use super::measured::Measured;
use super::recipe::Recipe;
use gnarl::model::fit::FitOptions;
use gnarl::model::{Fitted, Model};
use gnarl::study::attack::AttackCache;
use gnarl::study::train::{Run, TrainResult, TrainStudy};
use gnarl_graph::Result;
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::Callbacks;

pub use attacked::{AttackedRow, UnderAttack};
pub use clustering::{Clustering, ClusteringRow};
pub use exits::{AdaptiveDepth, AdaptiveDepthRow};
pub use graphs::{GraphsRow, OnGraphs};
pub use halves::{HalvesRow, Joined};
pub use nodes::{
    BestDepth, BestDepthRow, FixedDepthRow, LearnedRow, NodeClassification, NodeClassificationRow,
};
pub use properties::{NODES, Property, SetProperty};
pub use seconds::{ExitsTime, ExitsTimeRow, InferenceTime, InferenceTimeRow};

/// Depth of the deepest network of ch. 4's comparison.
pub const MAX_DEPTH: usize = 5;

/// A kind of row.
pub(crate) trait RowKind {
    /// Makes the work of the row's cell on a dataset.
    fn work(&self, cell: &CellInput<'_>) -> Result<Work>;

    /// Returns true if it is repeated over seeds and splits, with a recipe's settings.
    fn is_trained(&self) -> bool {
        true
    }

    /// Returns the measure that the row shows, if a cell has several.
    fn measure(&self) -> Option<Measure> {
        None
    }

    /// Returns the means that the row may have.
    fn means(&self) -> RangeInclusive<f64> {
        0.0..=100.0
    }

    /// Returns the flaw of the row, if any: an attack without meaning, a prediction that the cell
    /// does not have.
    fn flaw(&self) -> Option<String> {
        None
    }
}

/// A kind of work.
pub(crate) trait CellWork {
    /// Returns the name of the kind: cells of one kind take about as long for the same effort.
    fn kind(&self) -> &'static str;

    /// Returns the effort for each entry of the graph, to estimate the time left: width times
    /// epochs, over all trainings.
    fn effort(&self) -> f64;

    /// Returns true if the results are per cents; otherwise they have their own units.
    fn is_accuracy(&self) -> bool {
        true
    }

    /// Runs the work. `None` if it was stopped before all runs were done.
    fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>>;
}

/// Makes an enum of kinds, one line each, with access to the trait that all of them implement.
macro_rules! kinds {
    ($(#[$meta:meta])* pub enum $Enum:ident for $Trait:ident {
        $($(#[$doc:meta])* $Variant:ident($Kind:ty)),+ $(,)?
    }) => {
        $(#[$meta])*
        pub enum $Enum { $($(#[$doc])* $Variant($Kind)),+ }

        impl $Enum {
            fn of_kind(&self) -> &dyn $Trait {
                match self { $(Self::$Variant(kind) => kind),+ }
            }
        }
    };
}

kinds! {
    /// The work of a row.
    #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub enum Spec for RowKind {
        /// Trains a network to classify nodes and takes its test accuracy in per cent, run by run.
        NodeClassification(NodeClassificationRow),
        /// Trains a network at every depth, and takes the depth with the best mean test accuracy.
        BestDepth(BestDepthRow),
        /// Trains a GCN on joined sparse and dense halves of the graph, and tests it on each.
        Halves(HalvesRow),
        /// Trains a network of a depth with the settings of chapter 4.
        FixedDepth(FixedDepthRow),
        /// Trains a network with exits at all layers, and takes one of its accuracies.
        AdaptiveDepth(AdaptiveDepthRow),
        /// Trains a model, attacks it, and takes one of its accuracies.
        Attacked(AttackedRow),
        /// Trains a classifier of graphs on the folds of a set, and takes one of its results.
        Graphs(GraphsRow),
        /// Trains a GCN with a learned operator, and takes one of its scalars.
        Learned(LearnedRow),
        /// Samples graphs, finds communities in them and takes their agreement with the blocks.
        Clustering(ClusteringRow),
        /// Trains a network with exits, one run after another, and takes its seconds.
        ExitsTime(ExitsTimeRow),
        /// Trains a GCN and takes the seconds of RobustCRF's predictions for all nodes.
        InferenceTime(InferenceTimeRow),
        /// Computes a property of the graph, once.
        Property(Property),
        /// Computes a property of a set of graphs, once.
        SetProperty(SetProperty),
    }
}

kinds! {
    /// The work of a cell.
    #[derive(Debug, Clone, PartialEq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Work for CellWork {
        /// Runs of node classification: run `i` takes split `i` and seed `seed + i`.
        NodeClassification(Runs<NodeClassification>),
        /// Runs of node classification at every depth from 0 to that of the network, and the best
        /// depth.
        BestDepth(Runs<BestDepth>),
        /// Runs on joined sparse and dense halves of the graph: run `i` samples halves and split
        /// with seed `seed + i`.
        Halves(Runs<Joined>),
        /// Runs of node classification with an exit at every layer, evaluated with the policies of
        /// chapter 4.
        AdaptiveDepth(Runs<AdaptiveDepth>),
        /// Attacks on trained models: run `i` takes split `i` and seed `seed + i`.
        Attacked(Runs<UnderAttack>),
        /// Runs of graph classification: run `i` takes fold `i`.
        Graphs(Runs<OnGraphs>),
        /// Runs with an exit at every layer, one after another, for their seconds.
        ExitsTime(Runs<ExitsTime>),
        /// Runs whose predictions for all nodes are timed one after another.
        InferenceTime(Runs<InferenceTime>),
        /// Communities of sampled graphs: graph `i` comes from seed `seed + i`.
        Clustering(Clustering),
        /// A property of the graph.
        Property(Property),
        /// A property of the set of graphs.
        SetProperty(SetProperty),
    }
}

impl Spec {
    /// Returns true if it is repeated over seeds and splits, with a recipe's settings.
    pub fn is_trained(self) -> bool {
        self.of_kind().is_trained()
    }

    /// Returns the measure that it shows, if a cell has several.
    pub fn measure(self) -> Option<Measure> {
        self.of_kind().measure()
    }

    pub(crate) fn means(self) -> RangeInclusive<f64> {
        self.of_kind().means()
    }

    pub(crate) fn flaw(self) -> Option<String> {
        self.of_kind().flaw()
    }
}

impl Work {
    /// The kind of work that is computed once.
    pub(crate) const PROPERTY: &'static str = "property";

    /// Makes the work of a row on a dataset, with a recipe's settings.
    pub(crate) fn new(spec: Spec, cell: &CellInput<'_>) -> Result<Self> {
        spec.of_kind().work(cell)
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.of_kind().kind()
    }

    pub(crate) fn effort(&self) -> f64 {
        self.of_kind().effort()
    }

    /// Returns true if the results are per cents; otherwise they have their own units.
    pub fn is_accuracy(&self) -> bool {
        self.of_kind().is_accuracy()
    }

    pub(crate) fn run(&self, on: &RunInput<'_>) -> Result<Option<Measured>> {
        self.of_kind().run(on)
    }
}

/// The dataset of a cell, and the settings that all rows share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellInput<'a> {
    /// The dataset, by its registry name.
    pub dataset: &'a str,
    pub recipe: Recipe,
    /// Number of runs.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// The data of a run.
pub(crate) struct RunInput<'a> {
    pub loaded: &'a Dataset,
    /// Cache of attacked versions of the dataset.
    pub cache: &'a AttackCache,
    /// Set to stop.
    pub stop: &'a AtomicBool,
}

impl CellInput<'_> {
    /// Returns the runs of a model, with every option that applies filled in, and the settings of
    /// their kind of work.
    fn filled<More>(
        &self,
        recipe: Recipe,
        model: Model,
        task: Task,
        more: More,
    ) -> Result<Runs<More>> {
        Ok(Runs {
            recipe,
            model: model.plan(task)?.model,
            more,
            runs: self.runs,
            seed: self.seed,
        })
    }

    /// Returns the runs of a model with the settings of chapter 4.
    fn chapter_4<More>(&self, model: Model, more: More) -> Result<Runs<More>> {
        let model = self.recipe.fill_chapter_4(model, self.dataset);
        self.filled(self.recipe, model, Task::Node, more)
    }

    /// Returns the task of the dataset: sets of graphs have folds.
    fn task(&self) -> Task {
        if folds_of(self.dataset) == usize::MAX {
            Task::Node
        } else {
            Task::Graph
        }
    }
}

/// A model, fitted in a number of runs, and the settings of its kind of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runs<More> {
    /// The recipe of the settings.
    pub recipe: Recipe,
    /// The model, with every option that applies filled in.
    #[serde(serialize_with = "write_model")]
    pub model: Model,
    /// The settings of this kind of work.
    #[serde(flatten)]
    pub more: More,
    /// Number of runs.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

impl<More> Runs<More> {
    /// Effort of the runs: width times epochs, over all trainings.
    fn training_effort(&self, task: Task) -> f64 {
        let Ok(plan) = self.model.plan(task) else {
            return 0.0;
        };
        (plan.network.hidden * plan.training.epochs * plan.trainings(None) * self.runs) as f64
    }

    fn study(&self) -> TrainStudy {
        TrainStudy {
            runs: self.runs,
            seed: self.seed,
            ..TrainStudy::new(self.model)
        }
    }

    /// Takes a figure of each run, with no other run in parallel. `None` if stopped.
    fn one_by_one(
        &self,
        on: &RunInput<'_>,
        figure: impl Fn(&Fitted, &Content) -> Result<f64>,
    ) -> Result<Option<Measured>> {
        let benchmark = on.loaded.benchmark(self.seed, self.runs)?;
        let ready = self
            .model
            .ready(&benchmark.name, &benchmark.content, FitOptions::default())?;
        let (mut values, mut splits) = (Vec::new(), Vec::new());
        for i in 0..self.runs {
            let split = &benchmark.splits[i % benchmark.splits.len()];
            let fitted = ready.fit(
                split,
                self.seed.wrapping_add(i as u64),
                &Callbacks::stopped_by(on.stop),
            )?;
            if on.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            values.push(figure(&fitted, &benchmark.content)?);
            splits.push(split.name().to_string());
        }
        Ok(Some(Measured {
            values,
            splits,
            ..Measured::default()
        }))
    }
}

/// Reads a stored value by its name.
fn read_by_name<'de, T, D>(from: D) -> std::result::Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(from)?
        .parse()
        .map_err(serde::de::Error::custom)
}

/// Stores a value by its name.
fn write_by_name<S: serde::Serializer>(
    value: &impl Display,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Stores a model. Its default operator has the earlier name `usual`: cells are found by the text of
/// their configuration, so that cells from before it was renamed are found.
fn write_model<S: serde::Serializer>(model: &Model, to: S) -> std::result::Result<S::Ok, S::Error> {
    let mut stored = serde_json::to_value(model).map_err(serde::ser::Error::custom)?;
    if model.operator == OperatorChoice::Default {
        stored["operator"] = "usual".into();
    }
    stored.serialize(to)
}

/// Runs a study; `None` if it was stopped before all of its runs were done.
fn finished(
    study: &TrainStudy,
    benchmark: &Benchmark,
    stop: &AtomicBool,
) -> Result<Option<TrainResult>> {
    let result = study.run(benchmark, &Callbacks::stopped_by(stop))?;
    let is_whole = result.unfinished == 0 && !stop.load(Ordering::Relaxed);
    Ok(is_whole.then_some(result))
}

/// Validation accuracy after each epoch of a run.
fn curve(run: &Run) -> Vec<f64> {
    let last = run
        .fit
        .trained
        .last()
        .map_or(&[][..], |trained| &trained.curve);
    last.iter()
        .filter_map(|epoch| epoch.validation.map(|v| v.accuracy))
        .collect()
}

/// Accuracies on the test nodes or graphs of runs, which datasets of the registry always have.
fn test_accuracies(result: &TrainResult) -> Vec<f64> {
    result.over(|run| run.test_accuracy).unwrap_or_default()
}

/// Number of folds of a set, the largest number of runs; unlimited for one graph.
pub(crate) fn folds_of(dataset: &str) -> usize {
    match registry::get(dataset).map(|entry| entry.protocol) {
        Some(Protocol::Folds(folds)) => folds,
        _ => usize::MAX,
    }
}
