//! The operator axis: classical and learnable message-passing operators.
//!
//! | file | contents |
//! | --- | --- |
//! | [`config`] | settings of the learnable operator: centralities and initialisation |
//! | [`choice`] | the list of operators, and the propagation of an operator on a graph |
//! | [`cgso`] | the learnable operator on a graph: from seven scalars to an [`Operator`](gnarl_tensor::Operator) |
//! | [`prepared`] | a graph made ready for a network |
//! | [`rows`] | a graph and its operator by its rows, for neighbourhoods and for one layer after the other |
//! | [`energy`] | Dirichlet energy of what an operator makes of the features, by depth |
//!
//! Networks know nothing of centralities: they own the scalars that a
//! [`LearnableOperator`](crate::networks::LearnableOperator) asks for and get an operator back, once per
//! pass.

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
