//! The ways from features to class scores, one file per family. A [`Network`](super::Network) has one of them, a
//! [`Body`](super::body::Body), which its backbone's entry names.
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
//! what remains of its formula: a map of a node's own features.

pub(super) mod appnp;
pub(super) mod boosted;
pub(super) mod gcnii;
pub(super) mod gpr;
pub(super) mod h2gcn;
pub(super) mod jumping;
pub(super) mod rgcn;
pub(super) mod sgc;
pub(super) mod stack;
