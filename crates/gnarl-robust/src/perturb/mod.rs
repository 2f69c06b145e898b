//! What "a little different" means: how far features and edges may move, where perturbed inputs are
//! drawn from, and what was changed (thesis ch. 5 and 6). Attacks, inference and robustness all go
//! by these definitions.
//!
//! | file | what |
//! | --- | --- |
//! | [`norm`] | norms of rows |
//! | [`ball`] | uniform points of products of L_p balls; the thesis' sampler |
//! | [`reduced`] | what a narrow linear map makes of a uniform point of an L2 ball, drawn without the rest |
//! | [`pairs`] | pairs of nodes drawn at random, in memory that grows with their number |
//! | [`flips`] | edges joined and parted, and the graphs within some flips |
//! | [`budget`] | how much may change, as types that cannot say anything else |
//! | [`change`] | how one graph differs from another, and whether a budget allows it |
//! | [`rows`] | rows of features, whether they are stored with their zeros or not |

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
pub use pairs::{Pair, draw_edges, draw_pairs};
pub use reduced::{Beyond, ReducedBall};
