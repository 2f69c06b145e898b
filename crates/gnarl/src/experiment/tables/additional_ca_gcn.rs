//! `cgsO:tab:additional_CA_GCN` (ch. 3, "Additional Results for the Node Classification Task"): the rows of plain operators and vanilla
//! networks. The rows of CGCN and CGATv2 come with the learnable operators.

use gnarl_graph::operator::ClassicalOperator as Op;

use crate::experiment::table::{OOM, Row, Table, acc, gcn, vanilla};
use crate::nn::Backbone;

/// The table.
pub const ADDITIONAL_CA_GCN: Table = Table {
    name: "cgsO:tab:additional_CA_GCN",
    title: "Classification accuracy of GCNs with classical operators and of other networks, additional datasets",
    section: "ch. 3, Additional Results for the Node Classification Task",
    columns: &["Cora", "Texas", "Photo", "ogbn-arxiv", "CS", "Computers", "Physics", "Penn94"],
    rows: ROWS,
    baseline: Some("GCN w/ A_hat"),
    notes: &["the rows of CGCN and CGATv2 are left out: they need the learnable operators of the operator axis"],
};

const ROWS: &[Row] = &[
    Row {
        label: "GCN w/ A",
        spec: gcn(Op::Adjacency),
        figures: &[
            acc(78.61, 0.51),
            acc(63.51, 2.18),
            acc(82.31, 2.61),
            acc(13.23, 6.44),
            acc(87.70, 1.25),
            acc(69.32, 3.64),
            acc(88.92, 1.93),
            acc(52.35, 0.36),
        ],
    },
    Row {
        label: "GCN w/ L",
        spec: gcn(Op::Laplacian),
        figures: &[
            acc(31.57, 0.41),
            acc(84.32, 2.65),
            acc(27.42, 6.23),
            acc(10.91, 1.49),
            acc(23.75, 3.22),
            acc(26.27, 3.89),
            acc(35.31, 3.71),
            acc(65.31, 0.59),
        ],
    },
    Row {
        label: "GCN w/ Q",
        spec: gcn(Op::SignlessLaplacian),
        figures: &[
            acc(77.32, 0.50),
            acc(60.54, 1.32),
            acc(77.06, 6.73),
            acc(10.50, 1.97),
            acc(89.42, 1.31),
            acc(47.72, 18.37),
            acc(90.69, 2.13),
            acc(53.46, 2.16),
        ],
    },
    Row {
        label: "GCN w/ L_rw",
        spec: gcn(Op::RandomWalkLaplacian),
        figures: &[
            acc(26.59, 1.11),
            acc(78.38, 2.09),
            acc(24.60, 4.21),
            acc(8.07, 0.07),
            acc(26.34, 4.09),
            acc(13.76, 3.96),
            acc(28.19, 3.75),
            acc(69.82, 0.44),
        ],
    },
    Row {
        label: "GCN w/ L_sym",
        spec: gcn(Op::SymmetricLaplacian),
        figures: &[
            acc(26.79, 0.50),
            acc(71.35, 1.32),
            acc(22.82, 2.67),
            acc(20.18, 0.24),
            acc(24.39, 1.96),
            acc(16.06, 5.19),
            acc(30.94, 3.11),
            acc(70.57, 0.30),
        ],
    },
    Row {
        label: "GCN w/ A_hat",
        spec: gcn(Op::NormalisedAdjacency),
        figures: &[
            acc(80.84, 0.40),
            acc(60.81, 1.81),
            acc(78.94, 1.65),
            acc(65.80, 0.14),
            acc(91.52, 0.75),
            acc(68.91, 3.00),
            acc(93.72, 0.80),
            acc(74.60, 0.42),
        ],
    },
    Row {
        label: "GCN w/ H",
        spec: gcn(Op::MeanAggregation),
        figures: &[
            acc(80.15, 0.37),
            acc(59.46, 0.00),
            acc(73.95, 4.75),
            acc(63.34, 0.15),
            acc(90.98, 1.84),
            acc(62.01, 4.36),
            acc(92.16, 1.12),
            acc(71.78, 0.47),
        ],
    },
    Row {
        label: "GIN",
        spec: vanilla(Backbone::Gin),
        figures: &[
            acc(79.06, 0.47),
            acc(57.03, 1.89),
            acc(83.00, 2.52),
            acc(9.30, 6.42),
            acc(89.53, 1.20),
            acc(55.89, 13.45),
            acc(89.15, 2.44),
            OOM,
        ],
    },
    Row {
        label: "GAT",
        spec: vanilla(Backbone::Gat),
        figures: &[
            acc(77.73, 1.83),
            acc(52.16, 6.74),
            acc(71.56, 3.48),
            acc(67.36, 0.13),
            acc(67.67, 3.96),
            acc(59.73, 3.59),
            acc(80.91, 4.48),
            acc(73.85, 1.38),
        ],
    },
    Row {
        label: "GATv2",
        spec: vanilla(Backbone::GatV2),
        figures: &[
            acc(74.53, 2.48),
            acc(48.11, 3.78),
            acc(73.49, 2.49),
            acc(68.14, 0.07),
            acc(70.13, 4.92),
            acc(58.18, 4.76),
            acc(83.28, 3.68),
            acc(75.54, 2.54),
        ],
    },
    Row {
        label: "PNA",
        spec: vanilla(Backbone::Pna),
        figures: &[acc(56.67, 10.53), acc(63.51, 4.05), acc(16.75, 5.59), OOM, OOM, acc(13.62, 6.39), OOM, OOM],
    },
];
