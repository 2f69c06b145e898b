//! Models as combinations of the five axes: a [`Model`] is a plain value, `fit` trains it on data,
//! and a [`Fitted`] model predicts.
//!
//! | file | what |
//! | --- | --- |
//! | [`value`] | [`Model`]: a backbone and a choice on each axis, serialisable, with a builder |
//! | [`options`] | options in addition to the axes: the network's shape, the training |
//! | [`plan`] | fills in open options and refuses invalid combinations |
//! | `demand` | memory and time estimates of a plan, checked before anything is allocated |
//! | [`spec`] | a model as TOML |
//! | [`fit`] | fits a model to data |
//! | `learned` | the trained network: for nodes or graphs, of one depth or with exits |
//! | [`graph_data`], [`batches`], [`heads`] | prepared sets of graphs, training on batches of them, fresh heads |
//! | [`report`] | reports of fitting |
//! | [`fitted`] | [`Fitted`]: predictions, accuracies, exits |
//! | `graph_exits` | predictions of exits for the graphs of a set |
//! | `scaled` | a fitted model on scaled features: the target of attacks |
//! | [`shared`] | data-parallel training |
//! | [`file`](mod@file) | a fitted model as one safetensors file |
//!
//! Modules above this one use the public interface of fitted models alone.

#[doc(hidden)]
pub mod batches;
#[doc(hidden)]
pub mod combine;
mod demand;
#[doc(hidden)]
pub mod file;
#[doc(hidden)]
pub mod fit;
#[doc(hidden)]
pub mod fitted;
#[doc(hidden)]
pub mod graph_data;
mod graph_exits;
#[doc(hidden)]
pub mod heads;
mod learned;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod report;
mod scaled;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod shared;
#[doc(hidden)]
pub mod spec;
#[doc(hidden)]
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
