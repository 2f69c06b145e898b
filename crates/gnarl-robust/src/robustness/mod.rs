//! How far answers move when inputs do: expected robustness by sampling, and bounds that no input
//! exceeds (thesis ch. 5, "Expected Adversarial Robustness" and its appendix). Where inputs are
//! drawn from is the business of [`perturb`].
//!
//! | file | what |
//! | --- | --- |
//! | [`estimate`](mod@estimate) | `Adv_eps[f]`, the mean distance, and their intervals |
//! | [`region`] | where perturbed inputs are sampled from |
//! | [`answer`] | how far two answers are apart |
//! | [`bounds`] | upper bounds on features, structure and both, of stacks of GCN or GIN layers |
//! | [`certify`] | for each node what no attacker within a radius can change |
//! | `watch` | who looks on while samples are drawn |
//!
//! [`perturb`]: crate::perturb

pub mod answer;
pub mod bounds;
pub mod certify;
pub mod estimate;
pub mod region;
mod watch;

pub use answer::ScoreDistances;
pub use bounds::{Bound, Bounds, Budget};
pub use estimate::{Estimate, Exceedance, Settings, estimate, estimate_over};
pub use region::{Region, RegionOptions, Target};
pub use watch::SampleWatch;
