//! The depth axis (thesis ch. 4): how many times a node listens, decided node by node.
//!
//! | file | what |
//! | --- | --- |
//! | [`exits`] | a network that answers after every layer, for any backbone made of layers and any operator |
//! | [`training`] | sequential training (ST) and aggregate loss minimisation (ALM) |
//! | [`policy`] | where a node leaves: buckets of centralities, confidence, pooled answers; the oracle |
//! | [`fit`] | the small convex fits that policies are learned by |

pub mod exits;
pub mod fit;
pub mod policy;
pub mod training;

pub use exits::Exits;
pub use policy::{Answers, Kind, Policy, Structure};
pub use training::{Scheme, train_exits};
