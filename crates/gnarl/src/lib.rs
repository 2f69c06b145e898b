//! Graph neural networks along five axes: operator, depth, weights, inference and data.
//!
//! | room | what belongs there |
//! | --- | --- |
//! | [`tensor`] | sparse kernels as candle operations, and the optimiser |
//! | [`nn`] | layers, readouts, networks |
//! | [`operator`] | the operator axis: learnable centrality operators |
//! | [`depth`] | the depth axis: AdaGCN's training; the other ways of combining layers are [`nn::bodies`] |
//! | [`train`] | the training loop: best-validation weights, early stopping, curves |
//! | [`depth`] | the depth axis: an exit at every layer, and policies that say where a node leaves |
//! | [`augment`] | the data axis: what graph classifiers are trained on |
//! | [`task`] | node and graph classification: data in, result out |
//! | [`experiment`] | the thesis' tables as data, and the runner |

pub mod augment;
pub mod depth;
pub mod error;
pub mod experiment;
pub mod nn;
pub mod operator;
pub mod task;
pub mod tensor;
pub mod train;

pub use error::{Error, Result};
