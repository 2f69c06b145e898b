//! The meeting place of the five axes: a model is a value, `fit` turns it and data into a fitted
//! model, and a fitted model answers.
//!
//! | file | what |
//! | --- | --- |
//! | [`value`] | [`Model`]: a backbone and a choice on each axis, serialisable, with a builder |
//! | [`options`] | what can be told beside the axes: the network's shape, the training |
//! | [`plan`] | what is left open filled in, what cannot be refused: the one place that says no |
//! | `demand` | what a plan asks of the machine, refused before anything is made |
//! | [`spec`] | a model as TOML |
//! | [`fit`] | from a model and data to a fitted model |
//! | `fit_node`, `fit_sampled`, `fit_graphs`, `fit_graph_exits` | the same on one graph, on neighbourhoods sampled in it, on a set, and on a set with exits |
//! | [`graph_data`], [`batches`], [`heads`] | sets of graphs made ready, training on batches of them, fresh heads |
//! | [`report`] | how fitting went |
//! | [`fitted`] | [`Fitted`]: answers, accuracies, exits |
//! | [`shared`] | training whose steps are shared among workers |
//! | [`file`](mod@file) | a fitted model as one safetensors file |
//!
//! Everything above this room asks questions of fitted models and never reaches inside.

pub mod batches;
pub mod combine;
mod demand;
pub mod file;
pub mod fit;
mod fit_graph_exits;
mod fit_graphs;
mod fit_node;
mod fit_sampled;
pub mod fitted;
pub mod graph_data;
pub mod heads;
pub mod options;
pub mod plan;
pub mod report;
pub mod search;
pub mod shared;
pub mod spec;
pub mod value;

pub use fitted::{Fitted, Predictions};
pub use options::{FitOptions, TrainingCorruption};

pub use gnarl_nn::networks::NetworkOptions;
pub use gnarl_nn::train::TrainingOptions;
pub use plan::Plan;
pub use report::{FitReport, FreshHeadReport};
pub use search::Trial;
pub use shared::SharedTraining;
pub use value::{Model, Section};
