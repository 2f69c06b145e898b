//! Layers and networks.
//!
//! | file | contents |
//! | --- | --- |
//! | [`params`] | parameters, the weights of a forward pass, the pass itself |
//! | [`init`] | Glorot, Kaiming, orthogonal |
//! | [`linear`] | `x W + b` with sparse or dense input |
//! | [`layer`] | the [`Layer`] trait, and what layers share |
//! | `gcn`, `gat`, `gatv2`, `gin`, `sage`, `pna`, `mlp`, `soft_median` | one layer each |
//! | `edges` | the entries of an operator as weighted edges, for networks that compute new edge weights |
//! | [`entry`] | properties and capabilities of a backbone |
//! | [`body`], [`bodies`] | from features to scores: layers stacked, joined, weighted or boosted |
//! | [`backbone`] | the list of backbones |
//! | [`config`] | a network's settings, and the shape of its data |
//! | [`network`] | whole networks |
//! | [`head`] | the linear head from latent vectors to classes, trained separately |
//! | [`batch_norm`], [`readout`] | batch normalisation, and readout from nodes to graphs |
//! | [`classifier`] | graph classification: a network, a readout, a head |
//!
//! A layer accepts any message-passing [`Operator`](gnarl_tensor::Operator): another operator,
//! gradients to it, or other values need no new layer. To add a layer: one file here with the
//! formula on top and its `ENTRY`, and its line in [`backbone`]. To add another combination of
//! layers: a file in [`bodies`] and its line in [`backbone`].

pub mod backbone;
pub mod batch_norm;
pub mod bodies;
pub mod body;
pub mod classifier;
pub mod config;
mod edges;
pub mod entry;
pub mod gain;
pub mod gat;
pub mod gatv2;
pub mod gcn;
pub mod gin;
pub mod head;
pub mod init;
pub mod layer;
pub mod linear;
pub mod mlp;
pub mod network;
pub mod params;
pub mod pna;
pub mod readout;
pub mod sage;
pub mod soft_median;
#[cfg(test)]
pub(crate) mod testing;

pub use backbone::Backbone;
pub use classifier::{Batch, GraphClassifier, GraphModel};
pub use config::{NetworkConfig, NetworkOptions, NetworkSetting, Shape};
pub use entry::{Architecture, Capability, DefaultOperator, FirstAggregation};
pub use gain::Gain;
pub use head::Head;
pub use layer::{Layer, LearnableOperator, OperatorScalar, Propagation};
pub use linear::{Input, Linear};
pub use network::Network;
pub use params::{Group, Param, ParamId, Params, Pass, Weights};
pub use readout::{Membership, Readout};
