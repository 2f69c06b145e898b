//! `cgsO:tab:comb_centralities_2` (ch. 3, Combining Local and Global Centralities): local and
//! global centralities together.

use crate::nn::Backbone;
use crate::thesis::table::{
    Baseline, CHOSEN, CORE, DEGREE, PAGERANK, Row, Table, WALKS, acc, learned, learned_sum,
};

/// The table.
pub const COMB_CENTRALITIES_2: Table = Table {
    name: "cgsO:tab:comb_centralities_2",
    title: "Classification accuracy of CGCN with one centrality and with degree and a global one summed, additional datasets",
    section: "ch. 3, Combining Local and Global Centralities",
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
    baseline: Baseline::Row("CGCN w/ D"),
    notes: &[CHOSEN],
};

const ROWS: &[Row] = &[
    Row {
        label: "CGCN w/ D",
        spec: learned(Backbone::Gcn, DEGREE),
        figures: &[
            acc(79.45, 0.58),
            acc(81.89, 9.38),
            acc(88.78, 1.74),
            acc(69.09, 0.21),
            acc(91.28, 1.29),
            acc(79.26, 1.87),
            acc(92.51, 1.16),
            acc(73.06, 0.34),
        ],
    },
    Row {
        label: "CGCN w/ core",
        spec: learned(Backbone::Gcn, CORE),
        figures: &[
            acc(79.80, 0.43),
            acc(77.84, 5.51),
            acc(88.53, 1.40),
            acc(65.54, 0.57),
            acc(91.37, 1.18),
            acc(77.35, 2.67),
            acc(91.98, 1.49),
            acc(78.11, 3.74),
        ],
    },
    Row {
        label: "CGCN w/ walks",
        spec: learned(Backbone::Gcn, WALKS),
        figures: &[
            acc(79.52, 0.35),
            acc(78.11, 5.82),
            acc(83.72, 2.03),
            acc(22.54, 8.22),
            acc(89.87, 1.20),
            acc(68.56, 3.39),
            acc(89.84, 2.74),
            acc(68.44, 0.37),
        ],
    },
    Row {
        label: "CGCN w/ PR",
        spec: learned(Backbone::Gcn, PAGERANK),
        figures: &[
            acc(79.51, 15.01),
            acc(82.70, 4.95),
            acc(81.28, 6.08),
            acc(68.56, 0.18),
            acc(88.76, 30.68),
            acc(65.54, 6.43),
            acc(89.64, 10.30),
            acc(72.59, 0.84),
        ],
    },
    Row {
        label: "CGCN w/ D & core",
        spec: learned_sum(Backbone::Gcn, DEGREE, CORE),
        figures: &[
            acc(79.88, 0.38),
            acc(78.92, 4.32),
            acc(89.06, 1.28),
            acc(67.67, 0.26),
            acc(91.63, 0.95),
            acc(78.41, 1.94),
            acc(91.28, 3.17),
            acc(80.28, 2.93),
        ],
    },
    Row {
        label: "CGCN w/ D & walks",
        spec: learned_sum(Backbone::Gcn, DEGREE, WALKS),
        figures: &[
            acc(79.38, 0.72),
            acc(81.89, 4.69),
            acc(86.78, 2.75),
            acc(69.57, 0.24),
            acc(91.78, 1.04),
            acc(78.39, 2.36),
            acc(91.20, 1.56),
            acc(72.50, 0.48),
        ],
    },
    Row {
        label: "CGCN w/ D & PR",
        spec: learned_sum(Backbone::Gcn, DEGREE, PAGERANK),
        figures: &[
            acc(79.84, 0.40),
            acc(78.11, 2.55),
            acc(82.76, 2.06),
            acc(21.28, 9.89),
            acc(90.04, 0.57),
            acc(65.66, 4.96),
            acc(90.24, 1.86),
            acc(71.03, 5.83),
        ],
    },
];
