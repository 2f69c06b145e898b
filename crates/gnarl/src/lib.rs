//! Graph neural networks along five axes: operator, depth, weights, inference and data.
//!
//! | room | what belongs there |
//! | --- | --- |
//! | [`tensor`] | sparse kernels as candle operations, and the optimiser |
//! | [`features`] | what is done to features before a network sees them |
//! | [`nn`] | layers, readouts, networks |
//! | [`operator`] | the operator axis: learnable centrality operators |
//! | [`weights`] | the weights axis: orthonormal matrices, Parseval |
//! | [`train`] | the training loop: best-validation weights, early stopping, curves |
//! | [`depth`] | the depth axis: an exit at every layer, and policies that say where a node leaves |
//! | [`augment`] | the data axis: what graph classifiers are trained on |
//! | [`task`] | node and graph classification: data in, result out |
//! | [`classifier`] | a trained model as attacks and inference see it: a graph in, class scores out |
//! | [`robustness`] | how far answers move when inputs do: estimates and bounds |
//! | [`attack`] | changes to features and edges that make answers wrong, within a budget |
//! | [`defense`] | changes to a graph before a model sees it |
//! | [`inference`] | the inference axis: agreement over a neighbourhood of inputs |
//! | [`experiment`] | the thesis' tables as data, and the runner |

pub mod attack;
pub mod augment;
pub mod classifier;
pub mod defense;
pub mod depth;
pub mod error;
pub mod experiment;
pub mod features;
pub mod inference;
pub mod nn;
pub mod operator;
pub mod robustness;
pub mod task;
pub mod tensor;
pub mod train;
pub mod weights;

pub use error::{Error, Result};
