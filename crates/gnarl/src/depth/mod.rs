//! The depth axis (thesis ch. 4): after how many rounds of propagation a node, or a graph of a set,
//! is answered, decided one by one, and how the answers on the way are combined.
//!
//! | file | what |
//! | --- | --- |
//! | [`choice`] | what a user chooses: one depth for all, or exits and a policy |
//! | [`exits`] | a network that answers after every layer, for any backbone made of layers and any operator |
//! | [`graph_exits`] | the same for sets of graphs: a readout and a head after every layer |
//! | [`training`] | sequential training (ST) and aggregate loss minimisation (ALM) |
//! | [`policies`] | which exit an item takes: buckets of centralities, confidence, pooled answers; the oracle |
//! | [`fit`] | the small convex fits that policies are learned by |
//! | [`adagcn`] | AdaBoost over depths |
//!
//! JK-Net, GCNII and GPR-GNN are networks like any other and live in
//! [`nn::bodies`](crate::nn::bodies).

pub mod adagcn;
pub mod choice;
pub mod exits;
pub mod fit;
pub mod graph_exits;
pub mod policies;
pub mod training;

pub use choice::{Depth, Exits};
pub use exits::ExitNetwork;
pub use graph_exits::ExitClassifier;
pub use policies::{Answers, Chosen, Kind, Policy, Structure, cross_fitted_accuracy};
pub use training::{Scheme, train_exits};
