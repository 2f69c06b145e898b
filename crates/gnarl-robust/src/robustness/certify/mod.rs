//! Certificates: what no attacker within a radius can change, node by node.
//!
//! | file | what |
//! | --- | --- |
//! | [`sparse_smoothing`] | how many flips of bits the answer of a smoothed classifier stands |
//! | [`votes`] | what a classifier says of noisy copies of its input |
//! | `draws` | noisy copies of bits |
//! | [`probability`] | what samples say of a probability |
//! | [`lipschitz`] | how far features may move and how many edges may flip, from margins and how far a network stretches |
//! | [`propagation`] | edges that flip under models that predict, then propagate |
//! | [`convex`] | flips of binary features under a GCN of two layers |

pub mod convex;
mod draws;
pub mod lipschitz;
pub mod probability;
pub mod propagation;
pub mod sparse_smoothing;
pub mod votes;

pub use super::watch::SampleWatch;
pub use convex::{BinaryGcn, FeatureFlips};
pub use lipschitz::{LipschitzMargins, Scope};
pub use propagation::{Propagated, Steps, Threat};
pub use sparse_smoothing::{Certainty, FlipNoise, Flips, Regions, Rule, largest};
pub use votes::{Noise, Smoothed, Votes};
