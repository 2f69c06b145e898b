//! `dynam:tab:results_with_baselines_GIN_2` (ch. 4): other ways of combining layers with the GIN
//! backbone, on seven more datasets.

use crate::depth::Kind;
use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{
    ADMP_ST, Baseline, CORE, DEGREE, DEPTHS, Figure, LEARNED_POLICIES, PAGERANK, Row, Table, WALKS,
    acc, best_depth, st, st_by,
};

/// The table.
pub const RESULTS_WITH_BASELINES_GIN_2: Table = Table {
    name: "dynam:tab:results_with_baselines_GIN_2",
    title: "Accuracy of other ways of combining layers, the GIN backbone, on seven more datasets, at the best of depths 0 to 5",
    section: "ch. 4, appendix",
    columns: &[
        "Photo",
        "Computers",
        "chameleon",
        "Cornell",
        "Wisconsin",
        "Texas",
        "squirrel",
    ],
    rows: ROWS,
    baseline: Baseline::Row("GIN"),
    notes: &[
        DEPTHS,
        ADMP_ST,
        LEARNED_POLICIES,
        "the thesis does not define GPR-GIN; nn/bodies/gpr.rs says what is run here",
    ],
};

const ROWS: &[Row] = &[
    Row {
        label: "JKNET-MAX",
        spec: best_depth(Backbone::JkMaxGin),
        figures: &[
            acc(82.48, 2.95),
            acc(69.62, 3.57),
            acc(59.61, 2.24),
            acc(47.84, 4.84),
            acc(57.84, 2.19),
            acc(66.49, 2.16),
            acc(23.19, 3.55),
        ],
    },
    Row {
        label: "JKNET-LSTM",
        spec: best_depth(Backbone::JkLstmGin),
        figures: &[
            acc(87.02, 1.42),
            acc(76.5, 1.44),
            acc(62.61, 1.39),
            acc(50.54, 3.64),
            acc(57.84, 3.64),
            acc(70.81, 3.15),
            acc(26.34, 4.31),
        ],
    },
    Row {
        label: "GPR-GIN",
        spec: best_depth(Backbone::GprGin),
        figures: &[
            acc(85.82, 1.02),
            acc(76.01, 3.2),
            acc(67.26, 0.5),
            acc(62.97, 2.97),
            acc(68.04, 3.62),
            acc(73.78, 2.72),
            acc(46.78, 1.8),
        ],
    },
    Row {
        label: "GIN",
        spec: best_depth(Backbone::Gin),
        figures: &[
            acc(83.86, 2.19),
            acc(70.9, 2.64),
            acc(63.57, 1.01),
            acc(61.62, 2.65),
            acc(70.59, 0.0),
            acc(66.76, 4.69),
            acc(47.65, 0.27),
        ],
    },
    Row {
        label: "ADMP-GIN",
        spec: st(Backbone::Gin, Measure::BestExit),
        figures: &[
            acc(83.35, 1.67),
            acc(71.88, 3.8),
            acc(62.3, 2.18),
            acc(59.46, 2.42),
            acc(70.59, 0.0),
            acc(68.92, 5.7),
            acc(47.65, 0.0),
        ],
    },
    Row {
        label: "ADMP-GIN w/ degree",
        spec: st_by(Backbone::Gin, DEGREE),
        figures: &[
            acc(84.15, 1.17),
            acc(74.55, 2.89),
            acc(64.43, 1.47),
            acc(46.49, 4.65),
            acc(66.47, 2.83),
            acc(69.46, 3.21),
            acc(47.65, 0.0),
        ],
    },
    Row {
        label: "ADMP-GIN w/ core",
        spec: st_by(Backbone::Gin, CORE),
        figures: &[
            acc(84.08, 1.09),
            acc(74.58, 3.56),
            acc(64.65, 1.45),
            acc(46.76, 4.84),
            acc(70.78, 4.68),
            acc(71.89, 4.22),
            acc(47.65, 0.0),
        ],
    },
    Row {
        label: "ADMP-GIN w/ walks",
        spec: st_by(Backbone::Gin, WALKS),
        figures: &[
            acc(84.03, 1.31),
            acc(73.85, 3.7),
            acc(63.38, 1.53),
            acc(58.11, 6.07),
            acc(63.14, 3.9),
            acc(74.86, 2.97),
            acc(47.65, 0.0),
        ],
    },
    Row {
        label: "ADMP-GIN w/ PageRank",
        spec: st_by(Backbone::Gin, PAGERANK),
        figures: &[
            acc(84.36, 1.32),
            acc(74.27, 2.97),
            acc(63.31, 1.1),
            acc(55.41, 3.68),
            acc(65.49, 3.3),
            acc(70.81, 3.78),
            acc(47.65, 0.0),
        ],
    },
    Row {
        label: "ADMP-GIN w/ offsets (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Offsets)),
        figures: &[Figure::Absent; 7],
    },
    Row {
        label: "ADMP-GIN w/ pool (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Pool)),
        figures: &[Figure::Absent; 7],
    },
    Row {
        label: "ADMP-GIN w/ echo (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Echo)),
        figures: &[Figure::Absent; 7],
    },
];
