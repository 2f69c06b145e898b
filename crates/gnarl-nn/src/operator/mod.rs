//! Operator axis: classical and learnable message-passing operators.
//!
//! | file | contents |
//! | --- | --- |
//! | [`config`] | settings of the learnable operator: centralities and initialisation |
//! | [`choice`] | the list of operators, and the propagation of an operator on a graph |
//! | [`cgso`] | the learnable operator on a graph: from seven scalars to an [`Operator`](gnarl_tensor::Operator) |
//! | [`prepared`] | a graph prepared for a network |
//! | [`rows`] | a graph and its operator by rows, for neighbourhoods and for layer-wise computation |
//! | [`energy`] | Dirichlet energy of the propagated features, by depth |
//!
//! Networks do not depend on centralities: they own the scalars of a
//! [`LearnableOperator`](crate::networks::LearnableOperator), which computes an operator from them once
//! per pass.

pub mod cgso;
pub mod choice;
pub mod config;
pub mod energy;
pub mod prepared;
pub mod rows;

pub use cgso::CgsoOperator;
#[doc(hidden)]
pub use cgso::NodeFactors;
pub use choice::{OperatorChoice, mean_log_degree, propagation, propagation_of_union};
pub use config::{Centralities, Cgso, Initialisation, Scalars};
pub use energy::{DepthEnergy, energy_by_depth};
pub use prepared::Prepared;
pub use rows::RowOperator;
