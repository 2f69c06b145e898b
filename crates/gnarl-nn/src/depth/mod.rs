//! Depth axis: the number of propagation steps, equal for all nodes or graphs or chosen for each by
//! a policy (ADMP-GNN, Abbahaddou et al. 2025,
//! [arXiv:2509.01170](https://arxiv.org/abs/2509.01170)).
//!
//! | file | contents |
//! | --- | --- |
//! | [`choice`] | the list of depths: one depth for all, or exits and a policy |
//! | [`ExitModel`] | a model with an exit after every layer, for any backbone made of layers and any operator |
//! | [`exits`] | exits for nodes: a classifying layer after every layer |
//! | [`graph_exits`] | exits for sets of graphs: a readout and a head after every layer |
//! | [`training`] | sequential training (ST) and aggregate loss minimisation (ALM) |
//! | [`policies`] | the policies that choose exits: buckets of centralities, confidence, pooled predictions; the oracle |
//! | [`fit`] | the convex fits of the policies |
//! | [`adagcn`] | AdaBoost over depths |
//!
//! JK-Net, GCNII and GPR-GNN are plain networks: see [`networks::bodies`](crate::networks::bodies).

pub mod adagcn;
pub mod choice;
pub mod exits;
pub mod fit;
pub mod graph_exits;
pub mod policies;
mod stages;
pub mod training;

pub use choice::{Depth, Exits};
pub use exits::ExitNetwork;
pub use graph_exits::ExitClassifier;
pub use policies::{Chosen, ExitPredictions, Kind, Policy, Structure, cross_fitted_accuracy};
pub use stages::ExitModel;
pub use training::{Scheme, train_exits};
