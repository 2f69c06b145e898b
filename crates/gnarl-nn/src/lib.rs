//! Graph neural networks: layers and networks, propagation operators, weight constraints, adaptive
//! depth, and training.
//!
//! | module | contents |
//! | --- | --- |
//! | [`features`] | feature scaling and one-hot degrees |
//! | [`weights`] | constraints on the Lipschitz constant of a layer: orthonormal weights, Parseval |
//! | [`networks`] | parameters, layers, networks, readouts |
//! | [`operator`] | message-passing operators: classical, learned from centralities |
//! | [`train`] | the training loop: best-validation weights, early stopping, sampling |
//! | [`depth`] | exits and the policies that choose an exit for each node |

#![forbid(unsafe_code)]

pub mod depth;
pub mod features;
pub mod networks;
mod operations;
pub mod operator;
#[doc(hidden)]
pub mod testing;
pub mod train;
pub mod weights;
