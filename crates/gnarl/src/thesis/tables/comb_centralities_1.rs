//! `cgsO:tab:comb_centralities_1` (ch. 3, Experimental Evaluation): local and global centralities
//! together.

use crate::nn::Backbone;
use crate::thesis::table::{
    Baseline, CHOSEN, CORE, DEGREE, PAGERANK, Row, Table, WALKS, acc, learned, learned_sum,
};

/// The table.
pub const COMB_CENTRALITIES_1: Table = Table {
    name: "cgsO:tab:comb_centralities_1",
    title: "Classification accuracy of CGCN with one centrality and with degree and a global one summed",
    section: "ch. 3, Experimental Evaluation",
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
    baseline: Baseline::Row("CGCN w/ D"),
    notes: &[CHOSEN],
};

const ROWS: &[Row] = &[
    Row {
        label: "CGCN w/ D",
        spec: learned(Backbone::Gcn, DEGREE),
        figures: &[
            acc(68.35, 0.45),
            acc(78.70, 1.10),
            acc(45.39, 0.45),
            acc(64.17, 8.10),
            acc(72.43, 13.09),
            acc(58.04, 1.06),
            acc(42.30, 1.34),
            acc(76.86, 7.70),
        ],
    },
    Row {
        label: "CGCN w/ core",
        spec: learned(Backbone::Gcn, CORE),
        figures: &[
            acc(68.40, 0.75),
            acc(77.91, 0.41),
            acc(47.27, 0.31),
            acc(63.68, 5.00),
            acc(73.78, 12.16),
            acc(60.90, 2.28),
            acc(40.59, 2.21),
            acc(74.90, 6.52),
        ],
    },
    Row {
        label: "CGCN w/ walks",
        spec: learned(Backbone::Gcn, WALKS),
        figures: &[
            acc(67.31, 0.75),
            acc(77.57, 0.37),
            acc(39.35, 0.49),
            acc(66.21, 2.49),
            acc(72.70, 3.24),
            acc(59.15, 1.24),
            acc(36.03, 5.81),
            acc(74.90, 4.19),
        ],
    },
    Row {
        label: "CGCN w/ PR",
        spec: learned(Backbone::Gcn, PAGERANK),
        figures: &[
            acc(67.11, 0.56),
            acc(78.17, 4.27),
            acc(47.14, 0.31),
            acc(60.94, 7.00),
            acc(76.22, 16.30),
            acc(63.41, 0.77),
            acc(32.17, 3.94),
            acc(80.78, 11.70),
        ],
    },
    Row {
        label: "CGCN w/ D & core",
        spec: learned_sum(Backbone::Gcn, DEGREE, CORE),
        figures: &[
            acc(69.00, 0.64),
            acc(78.77, 0.34),
            acc(48.37, 0.15),
            acc(65.04, 4.37),
            acc(73.24, 6.56),
            acc(59.81, 0.51),
            acc(40.74, 4.77),
            acc(74.51, 3.62),
        ],
    },
    Row {
        label: "CGCN w/ D & walks",
        spec: learned_sum(Backbone::Gcn, DEGREE, WALKS),
        figures: &[
            acc(67.99, 0.55),
            acc(78.53, 0.39),
            acc(49.12, 0.41),
            acc(58.09, 3.78),
            acc(74.32, 2.77),
            acc(59.30, 0.70),
            acc(34.49, 2.66),
            acc(81.37, 3.64),
        ],
    },
    Row {
        label: "CGCN w/ D & PR",
        spec: learned_sum(Backbone::Gcn, DEGREE, PAGERANK),
        figures: &[
            acc(68.45, 0.60),
            acc(77.75, 0.55),
            acc(39.63, 1.27),
            acc(64.32, 3.13),
            acc(72.97, 4.98),
            acc(59.28, 0.75),
            acc(42.80, 6.58),
            acc(74.31, 3.97),
        ],
    },
];
