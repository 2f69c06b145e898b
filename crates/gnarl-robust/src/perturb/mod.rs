//! Perturbations of features and edges: their size, their distributions, and the difference between
//! two graphs. Attacks, inference rules and robustness measures all use these definitions.
//!
//! | file | contents |
//! | --- | --- |
//! | [`norm`] | norms of rows |
//! | [`ball`] | uniform points of products of L_p balls; the stratified sampler of GCORN |
//! | [`reduced`] | the image of a uniform point of an L2 ball under a narrow linear map, sampled directly |
//! | [`pairs`] | random pairs of nodes, in memory that grows with their number |
//! | [`flips`] | edges added and removed, and the graphs within some flips |
//! | [`budget`] | budgets, as types with valid values only |
//! | [`change`] | the difference between two graphs, and the check against a budget |
//! | [`rows`] | rows of dense or sparse features |

pub mod ball;
pub mod budget;
pub mod change;
pub mod flips;
pub mod norm;
pub mod pairs;
pub mod reduced;
pub mod rows;

pub use ball::{Ball, Sampler};
pub use budget::{Budget, EdgeShare, FeatureBudget, Noise, Radii, Scope};
pub use change::{Change, FeatureChange};
pub use flips::{FlipBall, FlipLaw, flipped};
pub use norm::Norm;
pub use pairs::{Pair, sample_edges, sample_pairs};
pub use reduced::{ReducedBall, RowDetails};
