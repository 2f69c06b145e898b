//! The ways from features to class scores, one file per family. A [`Network`](super::Network) has
//! one of them, a [`Body`](super::body::Body), which its backbone's entry names.
//!
//! | file | networks |
//! | --- | --- |
//! | `stack` | layer after layer: GCN, GAT, GATv2, GIN, GraphSAGE, PNA, MLP, soft median |
//! | `sgc`, `appnp`, `h2gcn` | one network each |
//! | `rgcn` | RGCN: representations with a mean and a variance, a defence |
//! | `rung`, `guard`, `elastic`, `evennet`, `air`, `kernel` | defences: RUNG, GNNGuard, ElasticGNN, EvenNet, AirGNN, GCN-k |
//! | `jumping` | JK-Net: every layer's representations joined before the answer (cat, max, LSTM attention) |
//! | `gcnii` | GCNII: a share of the first representation in every round, near-identity weights |
//! | `gpr` | GPR-GNN and its GIN form: a learned weight for every round |
//! | `boosted` | AdaGCN: a learner for every depth, added up |
//!
//! `jumping`, `gcnii`, `gpr` and `boosted` are thesis ch. 4's other ways of combining layers
//! (`dynam:tab:results_with_baselines`). With no layers each is what remains of its formula: a map
//! of a node's own features.

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
