//! Bodies of networks, from features to class scores, one file per family. A
//! [`Network`](super::Network) has one [`Body`](super::body::Body), which its backbone's entry
//! names.
//!
//! | file | networks |
//! | --- | --- |
//! | `stack` | layer after layer: GCN, GAT, GATv2, GIN, GraphSAGE, PNA, MLP, soft median |
//! | `sgc`, `appnp`, `h2gcn` | one network each |
//! | `rgcn` | RGCN: representations with a mean and a variance, a defence |
//! | `rung`, `guard`, `elastic`, `evennet`, `air`, `kernel` | defences: RUNG, GNNGuard, ElasticGNN, EvenNet, AirGNN, GCN-k |
//! | `jumping` | JK-Net: every layer's representations joined before the prediction (cat, max, LSTM attention) |
//! | `gcnii` | GCNII: initial residual in every layer, near-identity weights |
//! | `gpr` | GPR-GNN and its GIN form: a learned weight for every propagation step |
//! | `boosted` | AdaGCN: a learner for every depth, summed |
//!
//! `jumping`, `gcnii`, `gpr` and `boosted` are the baselines of ADMP-GNN ([Abbahaddou et al.
//! 2025](https://arxiv.org/abs/2509.01170)) that combine layers. With zero layers each is the rest
//! of its formula: a map of a node's own features.

pub(super) mod air;
pub(super) mod appnp;
pub(super) mod boosted;
pub(super) mod elastic;
pub(super) mod evennet;
pub(super) mod gcnii;
pub(super) mod gpr;
pub(super) mod guard;
pub(super) mod h2gcn;
pub(super) mod jumping;
pub(super) mod kernel;
pub(super) mod rgcn;
pub(super) mod rung;
pub(super) mod sgc;
pub(super) mod stack;
