//! Thesis ch. 4, `dynam:tab:multi_task_updated`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{Baseline, NO_COLLAPSE, Row, Table, acc, alm, fixed_depth, st};

/// GCN of 0 to 5 layers: plain, exits trained at once (ALM), exits trained in turn (ST).
pub const MULTI_TASK_UPDATED: Table = Table {
    name: "dynam:tab:multi_task_updated",
    title: "GCN of 0 to 5 layers: plain, exits trained at once (ALM), exits trained in turn (ST)",
    section: "ch. 4, \"Comparison of ADMP-GNN Training Paradigms\"",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "Genius", "ogbn-arxiv"],
    rows: ROWS,
    baseline: Baseline::None,
    notes: &[NO_COLLAPSE],
};

const ROWS: &[Row] = &[
    Row {
        label: "0: GCN",
        spec: fixed_depth(Backbone::Gcn, 0),
        figures: &[
            acc(56.38, 0.04),
            acc(57.18, 0.12),
            acc(88.04, 0.49),
            acc(72.50, 0.09),
            acc(80.82, 1.00),
            acc(48.88, 0.06),
        ],
    },
    Row {
        label: "0: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(0)),
        figures: &[
            acc(56.96, 0.20),
            acc(58.44, 0.21),
            acc(87.06, 1.06),
            acc(72.11, 0.18),
            acc(80.03, 0.37),
            acc(36.50, 0.12),
        ],
    },
    Row {
        label: "0: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(0)),
        figures: &[
            acc(56.38, 0.06),
            acc(57.17, 0.09),
            acc(87.27, 1.29),
            acc(72.48, 0.14),
            acc(80.17, 0.79),
            acc(48.86, 0.03),
        ],
    },
    Row {
        label: "1: GCN",
        spec: fixed_depth(Backbone::Gcn, 1),
        figures: &[
            acc(76.90, 0.14),
            acc(69.68, 0.06),
            acc(91.74, 0.80),
            acc(76.63, 0.13),
            acc(80.23, 0.37),
            acc(55.21, 0.50),
        ],
    },
    Row {
        label: "1: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(1)),
        figures: &[
            acc(75.67, 0.18),
            acc(70.12, 0.04),
            acc(90.55, 0.74),
            acc(73.74, 0.16),
            acc(80.13, 0.29),
            acc(39.54, 1.44),
        ],
    },
    Row {
        label: "1: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(1)),
        figures: &[
            acc(76.90, 0.00),
            acc(69.70, 0.00),
            acc(90.89, 0.81),
            acc(76.60, 0.00),
            acc(79.93, 0.00),
            acc(55.15, 0.00),
        ],
    },
    Row {
        label: "2: GCN",
        spec: fixed_depth(Backbone::Gcn, 2),
        figures: &[
            acc(81.06, 0.50),
            acc(71.05, 0.48),
            acc(91.67, 0.94),
            acc(79.46, 0.31),
            acc(79.88, 0.51),
            acc(66.92, 0.67),
        ],
    },
    Row {
        label: "2: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(2)),
        figures: &[
            acc(70.82, 4.05),
            acc(60.95, 2.39),
            acc(31.20, 12.85),
            acc(75.10, 2.41),
            acc(79.64, 0.60),
            acc(55.25, 0.92),
        ],
    },
    Row {
        label: "2: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(2)),
        figures: &[
            acc(80.73, 0.33),
            acc(71.33, 0.40),
            acc(91.49, 0.66),
            acc(79.02, 0.21),
            acc(80.06, 0.11),
            acc(66.51, 0.65),
        ],
    },
    Row {
        label: "3: GCN",
        spec: fixed_depth(Backbone::Gcn, 3),
        figures: &[
            acc(79.14, 1.58),
            acc(66.33, 1.35),
            acc(89.80, 0.87),
            acc(78.50, 0.68),
            acc(80.00, 0.04),
            acc(67.33, 0.55),
        ],
    },
    Row {
        label: "3: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(3)),
        figures: &[
            acc(68.64, 5.14),
            acc(51.30, 6.74),
            acc(47.82, 12.98),
            acc(74.17, 1.98),
            acc(80.04, 0.10),
            acc(56.22, 0.50),
        ],
    },
    Row {
        label: "3: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(3)),
        figures: &[
            acc(80.21, 0.52),
            acc(70.08, 0.90),
            acc(89.83, 1.02),
            acc(78.25, 0.51),
            acc(79.93, 0.00),
            acc(68.31, 0.48),
        ],
    },
    Row {
        label: "4: GCN",
        spec: fixed_depth(Backbone::Gcn, 4),
        figures: &[
            acc(75.96, 1.93),
            acc(60.33, 2.38),
            acc(78.90, 22.33),
            acc(76.59, 0.98),
            acc(80.01, 0.04),
            acc(65.49, 0.99),
        ],
    },
    Row {
        label: "4: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(4)),
        figures: &[
            acc(67.88, 6.05),
            acc(49.29, 7.87),
            acc(52.76, 11.79),
            acc(73.40, 1.95),
            acc(80.04, 0.10),
            acc(56.43, 0.31),
        ],
    },
    Row {
        label: "4: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(4)),
        figures: &[
            acc(81.05, 0.49),
            acc(67.99, 0.74),
            acc(88.86, 0.70),
            acc(75.27, 1.02),
            acc(79.93, 0.00),
            acc(69.29, 0.74),
        ],
    },
    Row {
        label: "5: GCN",
        spec: fixed_depth(Backbone::Gcn, 5),
        figures: &[
            acc(70.09, 4.01),
            acc(57.40, 3.43),
            acc(77.96, 15.24),
            acc(74.32, 3.66),
            acc(80.01, 0.04),
            acc(63.04, 1.33),
        ],
    },
    Row {
        label: "5: ADMP-GCN (ALM)",
        spec: alm(Backbone::Gcn, Measure::Exit(5)),
        figures: &[
            acc(67.68, 7.04),
            acc(50.14, 7.65),
            acc(54.53, 10.61),
            acc(73.27, 1.51),
            acc(80.04, 0.10),
            acc(56.66, 0.31),
        ],
    },
    Row {
        label: "5: ADMP-GCN (ST)",
        spec: st(Backbone::Gcn, Measure::Exit(5)),
        figures: &[
            acc(81.22, 0.36),
            acc(67.42, 0.75),
            acc(86.65, 1.52),
            acc(75.08, 0.94),
            acc(79.93, 0.00),
            acc(68.92, 1.00),
        ],
    },
];
