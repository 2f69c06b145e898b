//! Thesis ch. 4, `dynam:tab:multi_task_GIN`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{Baseline, NO_COLLAPSE, Row, Table, acc, alm, fixed_depth, st};

/// GIN of 0 to 5 layers: plain, exits trained at once (ALM), exits trained in turn (ST).
pub const MULTI_TASK_GIN: Table = Table {
    name: "dynam:tab:multi_task_GIN",
    title: "GIN of 0 to 5 layers: plain, exits trained at once (ALM), exits trained in turn (ST)",
    section: "ch. 4, \"Comparison of ADMP-GNN Training Paradigms\"",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "Genius", "ogbn-arxiv"],
    rows: ROWS,
    baseline: Baseline::None,
    notes: &[NO_COLLAPSE],
};

const ROWS: &[Row] = &[
    Row {
        label: "0: GIN",
        spec: fixed_depth(Backbone::Gin, 0),
        figures: &[
            acc(56.40, 0.06),
            acc(57.14, 0.09),
            acc(87.17, 1.41),
            acc(72.49, 0.08),
            acc(80.78, 1.03),
            acc(48.87, 0.04),
        ],
    },
    Row {
        label: "0: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(0)),
        figures: &[
            acc(58.00, 0.00),
            acc(61.50, 0.00),
            acc(86.36, 0.78),
            acc(73.20, 0.00),
            acc(79.95, 0.10),
            acc(36.49, 0.19),
        ],
    },
    Row {
        label: "0: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(0)),
        figures: &[
            acc(56.38, 0.04),
            acc(57.17, 0.08),
            acc(87.41, 0.95),
            acc(72.47, 0.14),
            acc(80.47, 0.91),
            acc(48.87, 0.04),
        ],
    },
    Row {
        label: "1: GIN",
        spec: fixed_depth(Backbone::Gin, 1),
        figures: &[
            acc(75.17, 0.09),
            acc(64.79, 0.03),
            acc(90.29, 0.99),
            acc(74.97, 0.11),
            acc(78.42, 4.95),
            acc(60.90, 0.15),
        ],
    },
    Row {
        label: "1: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(1)),
        figures: &[
            acc(74.50, 0.00),
            acc(66.50, 0.00),
            acc(88.66, 1.18),
            acc(75.40, 0.00),
            acc(72.07, 17.44),
            acc(59.43, 0.73),
        ],
    },
    Row {
        label: "1: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(1)),
        figures: &[
            acc(75.07, 0.06),
            acc(64.80, 0.00),
            acc(90.82, 1.15),
            acc(75.00, 0.00),
            acc(77.01, 12.06),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "2: GIN",
        spec: fixed_depth(Backbone::Gin, 2),
        figures: &[
            acc(77.73, 0.99),
            acc(65.23, 1.45),
            acc(87.93, 0.71),
            acc(76.05, 1.14),
            acc(78.89, 0.48),
            acc(16.23, 9.60),
        ],
    },
    Row {
        label: "2: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(2)),
        figures: &[
            acc(63.53, 4.80),
            acc(60.68, 2.09),
            acc(12.90, 8.05),
            acc(72.20, 4.11),
            acc(79.60, 0.51),
            acc(47.63, 3.20),
        ],
    },
    Row {
        label: "2: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(2)),
        figures: &[
            acc(78.07, 0.68),
            acc(65.41, 1.91),
            acc(87.47, 2.18),
            acc(76.04, 0.88),
            acc(72.99, 13.48),
            acc(10.13, 8.00),
        ],
    },
    Row {
        label: "3: GIN",
        spec: fixed_depth(Backbone::Gin, 3),
        figures: &[
            acc(74.40, 1.14),
            acc(60.81, 2.20),
            acc(82.13, 2.24),
            acc(74.97, 1.69),
            acc(52.22, 28.47),
            acc(6.00, 0.17),
        ],
    },
    Row {
        label: "3: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(3)),
        figures: &[
            acc(66.99, 2.85),
            acc(59.57, 2.57),
            acc(17.69, 12.02),
            acc(74.15, 2.00),
            acc(68.00, 23.98),
            acc(27.51, 16.25),
        ],
    },
    Row {
        label: "3: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(3)),
        figures: &[
            acc(76.28, 1.11),
            acc(65.13, 1.00),
            acc(83.60, 3.72),
            acc(76.21, 1.75),
            acc(80.04, 0.09),
            acc(13.74, 9.66),
        ],
    },
    Row {
        label: "4: GIN",
        spec: fixed_depth(Backbone::Gin, 4),
        figures: &[
            acc(67.68, 4.07),
            acc(57.54, 2.92),
            acc(47.37, 17.10),
            acc(73.62, 1.63),
            acc(80.05, 0.10),
            acc(6.07, 0.21),
        ],
    },
    Row {
        label: "4: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(4)),
        figures: &[
            acc(68.78, 4.30),
            acc(60.12, 2.36),
            acc(21.07, 14.15),
            acc(74.20, 2.57),
            acc(79.36, 1.18),
            acc(15.23, 11.85),
        ],
    },
    Row {
        label: "4: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(4)),
        figures: &[
            acc(74.94, 1.58),
            acc(65.21, 1.54),
            acc(81.33, 2.15),
            acc(76.46, 1.04),
            acc(80.04, 0.09),
            acc(16.02, 10.78),
        ],
    },
    Row {
        label: "5: GIN",
        spec: fixed_depth(Backbone::Gin, 5),
        figures: &[
            acc(32.48, 10.47),
            acc(54.76, 2.32),
            acc(18.56, 11.32),
            acc(67.98, 5.80),
            acc(80.05, 0.10),
            acc(6.19, 0.39),
        ],
    },
    Row {
        label: "5: ADMP-GIN (ALM)",
        spec: alm(Backbone::Gin, Measure::Exit(5)),
        figures: &[
            acc(67.46, 4.34),
            acc(59.74, 1.95),
            acc(29.16, 13.84),
            acc(73.94, 2.42),
            acc(79.99, 0.10),
            acc(14.61, 12.11),
        ],
    },
    Row {
        label: "5: ADMP-GIN (ST)",
        spec: st(Backbone::Gin, Measure::Exit(5)),
        figures: &[
            acc(71.34, 2.09),
            acc(63.89, 1.39),
            acc(79.10, 1.84),
            acc(75.75, 1.09),
            acc(79.57, 1.40),
            acc(15.72, 12.13),
        ],
    },
];
