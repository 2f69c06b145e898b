//! `dynam:tab:results_with_baselines_GIN_2` (ch. 4): other ways of combining layers with the GIN backbone, on seven more datasets.

use crate::experiment::table::{ADMP_ELSEWHERE, DEPTHS, Row, Table, acc, best_depth};
use crate::nn::Backbone;

/// The table.
pub const RESULTS_WITH_BASELINES_GIN_2: Table = Table {
    name: "dynam:tab:results_with_baselines_GIN_2",
    title: "Accuracy of other ways of combining layers, the GIN backbone, on seven more datasets, at the best of depths 0 to 5",
    section: "ch. 4, appendix",
    columns: &["Photo", "Computers", "chameleon", "Cornell", "Wisconsin", "Texas", "squirrel"],
    rows: ROWS,
    baseline: Some("GIN"),
    notes: &[DEPTHS, ADMP_ELSEWHERE, "the thesis does not define GPR-GIN; nn/bodies/gpr.rs says what is run here"],
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
];
