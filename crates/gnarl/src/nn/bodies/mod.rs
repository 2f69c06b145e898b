//! The ways from features to class scores, one file per family. A [`Network`](super::Network) has one of them.
//!
//! | file | networks |
//! | --- | --- |
//! | `stack` | layer after layer: GCN, GAT, GATv2, GIN, GraphSAGE, PNA, MLP |
//! | `sgc`, `appnp`, `h2gcn` | one network each |
//! | `rgcn` | RGCN: representations with a mean and a variance, a defence |
//! | `jumping` | JK-Net: every layer's representations joined before the answer (cat, max, LSTM attention) |
//! | `gcnii` | GCNII: a share of the first representation in every round, near-identity weights |
//! | `gpr` | GPR-GNN and its GIN form: a learned weight for every round |
//! | `boosted` | AdaGCN: a learner for every depth, added up |
//!
//! The last four of them are thesis ch. 4's other ways of combining layers (`dynam:tab:results_with_baselines`). With no layers each is
//! what its formula leaves: a map of a node's own features.

pub(super) mod appnp;
pub(super) mod boosted;
pub(super) mod gcnii;
pub(super) mod gpr;
pub(super) mod h2gcn;
pub(super) mod jumping;
pub(super) mod rgcn;
pub(super) mod sgc;
pub(crate) mod stack;

use candle_core::{Result, Tensor};
use gnarl_graph::random::Rng;

use super::layer::Propagation;
use super::linear::Input;
use super::network::NetworkConfig;
use super::params::{ParamId, Params, Pass};
use crate::tensor::{Dropout, relu_dropout};

/// The way through a network's parameters.
pub trait Body: std::fmt::Debug + Send + Sync {
    /// Class scores before the softmax, `[nodes, num_classes]`.
    fn forward(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor>;

    /// `relu(forward)`, for a network whose output is a representation and no score. A body that can do it in one go says how.
    fn forward_activated(&self, propagation: &Propagation, x: &Input, pass: &Pass<'_>) -> Result<Tensor> {
        relu_dropout(&self.forward(propagation, x, pass)?, Dropout::NONE)
    }

    /// How many rounds away a node can be and still matter; `None` where every node may. A body that says `Some` gives its
    /// scores for the rows of the last round's operator.
    fn reach(&self) -> Option<usize>;

    /// The linear maps that are all it does to features; none where it does something else first.
    fn input_maps(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Learners that are trained one after the other, none for a network that is trained whole. The parameters of learner `i`
    /// begin with `learners.i.`
    fn num_learners(&self) -> usize {
        0
    }

    /// The scores of one learner, on the rows of round `i - 1`.
    fn learner(&self, i: usize, _propagation: &Propagation, _x: &Input, _pass: &Pass<'_>) -> Result<Tensor> {
        candle_core::bail!("there is no learner {i}")
    }
}

/// What a body is made for.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The network's settings.
    pub config: &'a NetworkConfig,
    /// Input features.
    pub in_dim: usize,
    /// Classes, or the width of a representation.
    pub num_classes: usize,
    /// Mean of `ln(degree + 1)`, for PNA.
    pub mean_log_degree: f64,
}

/// Makes a body and its parameters.
pub type Build = fn(&Plan<'_>, &mut Params, &mut Rng) -> Result<Box<dyn Body>>;

/// Sites of dropout that are not a layer's own.
pub(super) const INPUT_SITE: u64 = 1 << 32;
const ATTENTION_SITES: u64 = 2 << 32;
const EMBEDDING_SITE: u64 = 3 << 32;
const NOISE_SITES: u64 = 4 << 32;

/// The first `rows` rows: where the last round hears fewer nodes than the ones before, those that it gives.
fn head(h: &Tensor, rows: usize) -> Result<Tensor> {
    if h.dims()[0] == rows { Ok(h.clone()) } else { h.narrow(0, 0, rows) }
}
