//! `cgsO:tab:sgc_1` (ch. 3, Simple Graph Convolutional Networks): SGC with learned operators.

use crate::nn::Backbone;
use crate::thesis::table::{
    Baseline, CHOSEN, CORE, DEGREE, PAGERANK, Row, Table, WALKS, acc, learned, vanilla,
};

/// The table.
pub const SGC_1: Table = Table {
    name: "cgsO:tab:sgc_1",
    title: "Classification accuracy of SGC and CSGC",
    section: "ch. 3, Simple Graph Convolutional Networks",
    columns: &[
        "CiteSeer",
        "PubMed",
        "arxiv-year",
        "chameleon",
        "Cornell",
        "deezer-europe",
        "squirrel",
        "Wisconsin",
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
            acc(67.70, 0.17),
            acc(77.37, 0.25),
            acc(35.01, 0.16),
            acc(59.10, 1.66),
            acc(72.70, 4.26),
            acc(58.22, 0.47),
            acc(40.12, 1.69),
            acc(75.88, 4.96),
        ],
    },
    Row {
        label: "CSGC w/ core",
        spec: learned(Backbone::Sgc, CORE),
        figures: &[
            acc(66.85, 0.15),
            acc(78.19, 0.12),
            acc(37.71, 0.17),
            acc(63.11, 4.56),
            acc(72.16, 5.55),
            acc(61.29, 0.50),
            acc(38.66, 2.27),
            acc(75.10, 4.12),
        ],
    },
    Row {
        label: "CSGC w/ walks",
        spec: learned(Backbone::Sgc, WALKS),
        figures: &[
            acc(67.09, 0.05),
            acc(77.50, 0.18),
            acc(36.67, 0.22),
            acc(45.26, 2.51),
            acc(74.32, 6.07),
            acc(59.69, 0.50),
            acc(27.85, 1.38),
            acc(81.76, 3.73),
        ],
    },
    Row {
        label: "CSGC w/ PR",
        spec: learned(Backbone::Sgc, PAGERANK),
        figures: &[
            acc(64.91, 0.47),
            acc(76.47, 0.37),
            acc(23.87, 0.51),
            acc(55.18, 3.36),
            acc(69.46, 5.14),
            acc(58.94, 0.48),
            acc(26.73, 2.25),
            acc(75.29, 4.31),
        ],
    },
    Row {
        label: "SGC",
        spec: vanilla(Backbone::Sgc),
        figures: &[
            acc(64.96, 0.10),
            acc(75.72, 0.12),
            acc(26.61, 0.24),
            acc(38.44, 4.41),
            acc(45.41, 5.77),
            acc(62.66, 0.48),
            acc(19.88, 0.79),
            acc(53.53, 8.09),
        ],
    },
];
