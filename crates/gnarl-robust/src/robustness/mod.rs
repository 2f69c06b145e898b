//! Measures how far predictions move when inputs do: expected robustness by sampling, and bounds
//! that no input exceeds ([Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)). The module
//! [`perturb`] samples perturbed inputs.
//!
//! | file | what |
//! | --- | --- |
//! | [`estimate`](mod@estimate) | `Adv_eps[f]`, the mean distance, and their intervals |
//! | [`region`] | regions that perturbed inputs are sampled from |
//! | [`prediction`] | distances between two predictions |
//! | [`bounds`] | upper bounds on features, structure and both, of stacks of GCN or GIN layers |
//! | [`certify`] | certificates: changes that cannot change the class of a node |
//! | `callbacks` | callbacks while samples are taken |
//!
//! [`perturb`]: crate::perturb

pub mod bounds;
mod callbacks;
pub mod certify;
pub mod estimate;
pub mod prediction;
pub mod region;

pub use bounds::{Bound, Bounds, Budget};
pub use callbacks::SampleCallbacks;
pub use estimate::{Estimate, Exceedance, Settings, estimate, estimate_over};
pub use prediction::ScoreDistances;
pub use region::{Region, RegionOptions, Target};
