//! Certificates: predictions that no attacker within a radius can change, node by node.
//!
//! | file | what |
//! | --- | --- |
//! | [`sparse_smoothing`] | flips of bits that a smoothed classifier is certified for |
//! | [`votes`] | predictions of a classifier on noisy copies of its input |
//! | `sampling` | noisy copies of bits |
//! | [`probability`] | confidence bounds on probabilities from samples |
//! | [`lipschitz`] | changes of features and edges, by margins over Lipschitz constants |
//! | [`propagation`] | flips of edges under models that predict, then propagate |
//! | [`convex`] | flips of binary features under a GCN of two layers |

pub mod convex;
pub mod lipschitz;
pub mod probability;
pub mod propagation;
mod sampling;
pub mod sparse_smoothing;
pub mod votes;

pub use super::callbacks::SampleCallbacks;
pub use convex::{BinaryGcn, FeatureFlips};
pub use lipschitz::{LipschitzMargins, Scope};
pub use propagation::{Propagated, Steps, Threat};
pub use sparse_smoothing::{Certainty, FlipNoise, Flips, Regions, Rule, largest};
pub use votes::{Noise, Smoothed, Votes};
