//! `cgsO:tab:sgc_2` (ch. 3, Simple Graph Convolutional Networks): SGC with learned operators.

use crate::nn::Backbone;
use crate::thesis::table::{
    Baseline, CHOSEN, CORE, DEGREE, PAGERANK, Row, Table, WALKS, acc, learned, vanilla,
};

/// The table.
pub const SGC_2: Table = Table {
    name: "cgsO:tab:sgc_2",
    title: "Classification accuracy of SGC and CSGC, additional datasets",
    section: "ch. 3, Simple Graph Convolutional Networks",
    columns: &[
        "Cora",
        "Texas",
        "Photo",
        "ogbn-arxiv",
        "CS",
        "Computers",
        "Physics",
        "Penn94",
    ],
    rows: ROWS,
    baseline: Baseline::Row("SGC"),
    notes: &[CHOSEN],
};

const ROWS: &[Row] = &[
    Row {
        label: "CSGC w/ D",
        spec: learned(Backbone::Sgc, DEGREE),
        figures: &[
            acc(80.10, 0.11),
            acc(76.76, 3.24),
            acc(89.38, 1.81),
            acc(67.94, 0.06),
            acc(92.29, 1.04),
            acc(79.04, 1.94),
            acc(92.32, 1.20),
            acc(78.84, 4.15),
        ],
    },
    Row {
        label: "CSGC w/ core",
        spec: learned(Backbone::Sgc, CORE),
        figures: &[
            acc(78.80, 0.17),
            acc(77.30, 3.86),
            acc(88.58, 1.68),
            acc(62.54, 0.16),
            acc(91.82, 1.10),
            acc(76.46, 2.29),
            acc(91.71, 1.63),
            acc(76.25, 1.21),
        ],
    },
    Row {
        label: "CSGC w/ walks",
        spec: learned(Backbone::Sgc, WALKS),
        figures: &[
            acc(77.32, 0.29),
            acc(80.27, 5.41),
            acc(88.78, 2.69),
            acc(66.41, 0.05),
            acc(91.96, 0.84),
            acc(76.17, 4.92),
            acc(91.71, 1.58),
            acc(73.20, 0.36),
        ],
    },
    Row {
        label: "CSGC w/ PR",
        spec: learned(Backbone::Sgc, PAGERANK),
        figures: &[
            acc(76.92, 0.39),
            acc(77.30, 4.86),
            acc(84.33, 3.06),
            acc(44.82, 1.16),
            acc(90.24, 0.86),
            acc(61.51, 2.71),
            acc(91.57, 1.70),
            acc(77.24, 0.67),
        ],
    },
    Row {
        label: "SGC",
        spec: vanilla(Backbone::Sgc),
        figures: &[
            acc(78.79, 0.13),
            acc(58.65, 4.20),
            acc(24.00, 11.82),
            acc(60.48, 0.14),
            acc(70.78, 5.47),
            acc(11.34, 11.67),
            acc(91.69, 1.48),
            acc(66.63, 0.62),
        ],
    },
];
