//! `dynam:tab:results_with_baselines_GIN` (ch. 4): other ways of combining layers with the GIN
//! backbone.

use crate::depth::Kind;
use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{
    ADMP_ST, Baseline, CORE, DEGREE, DEPTHS, Figure, LEARNED_POLICIES, OOM, PAGERANK, Row, Table,
    WALKS, acc, best_depth, st, st_by,
};

/// The table.
pub const RESULTS_WITH_BASELINES_GIN: Table = Table {
    name: "dynam:tab:results_with_baselines_GIN",
    title: "Accuracy of other ways of combining layers, the GIN backbone, at the best of depths 0 to 5",
    section: "ch. 4, Experimental Results",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "genius", "ogbn-arxiv"],
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
        label: "JKNET-CAT",
        spec: best_depth(Backbone::JkCatGin),
        figures: &[
            acc(77.94, 0.67),
            acc(64.82, 0.04),
            acc(89.26, 1.18),
            acc(75.89, 2.5),
            OOM,
            acc(60.23, 0.37),
        ],
    },
    Row {
        label: "JKNET-MAX",
        spec: best_depth(Backbone::JkMaxGin),
        figures: &[
            acc(77.47, 0.81),
            acc(64.96, 2.08),
            acc(87.4, 2.11),
            acc(76.21, 1.73),
            OOM,
            acc(51.84, 4.01),
        ],
    },
    Row {
        label: "JKNET-LSTM",
        spec: best_depth(Backbone::JkLstmGin),
        figures: &[
            acc(77.39, 1.39),
            acc(64.52, 2.02),
            acc(87.27, 3.66),
            acc(75.9, 1.63),
            OOM,
            OOM,
        ],
    },
    Row {
        label: "GPR-GIN",
        spec: best_depth(Backbone::GprGin),
        figures: &[
            acc(76.83, 1.22),
            acc(66.43, 1.15),
            acc(88.15, 1.53),
            acc(77.27, 0.87),
            acc(80.82, 0.42),
            acc(63.05, 0.44),
        ],
    },
    Row {
        label: "GIN",
        spec: best_depth(Backbone::Gin),
        figures: &[
            acc(77.73, 0.99),
            acc(65.23, 1.45),
            acc(90.29, 0.99),
            acc(76.05, 1.14),
            acc(80.78, 1.03),
            acc(60.7, 0.15),
        ],
    },
    Row {
        label: "ADMP-GIN",
        spec: st(Backbone::Gin, Measure::BestExit),
        figures: &[
            acc(78.07, 0.68),
            acc(65.41, 1.91),
            acc(90.82, 1.15),
            acc(76.46, 1.04),
            acc(80.47, 0.91),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "ADMP-GIN w/ degree",
        spec: st_by(Backbone::Gin, DEGREE),
        figures: &[
            acc(78.12, 0.7),
            acc(66.82, 0.89),
            acc(90.7, 0.79),
            acc(76.07, 1.27),
            acc(81.68, 0.7),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "ADMP-GIN w/ core",
        spec: st_by(Backbone::Gin, CORE),
        figures: &[
            acc(78.1, 0.64),
            acc(66.36, 1.03),
            acc(90.85, 0.93),
            acc(75.93, 1.13),
            acc(81.48, 0.64),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "ADMP-GIN w/ walks",
        spec: st_by(Backbone::Gin, WALKS),
        figures: &[
            acc(78.19, 0.68),
            acc(65.79, 0.81),
            acc(90.77, 0.91),
            acc(76.72, 0.76),
            acc(81.21, 0.58),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "ADMP-GIN w/ PageRank",
        spec: st_by(Backbone::Gin, PAGERANK),
        figures: &[
            acc(77.78, 0.83),
            acc(67.08, 0.51),
            acc(90.72, 0.91),
            acc(76.63, 0.87),
            acc(81.89, 1.04),
            acc(60.85, 0.01),
        ],
    },
    Row {
        label: "ADMP-GIN w/ offsets (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Offsets)),
        figures: &[Figure::Absent; 6],
    },
    Row {
        label: "ADMP-GIN w/ pool (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Pool)),
        figures: &[Figure::Absent; 6],
    },
    Row {
        label: "ADMP-GIN w/ echo (ours)",
        spec: st(Backbone::Gin, Measure::Policy(Kind::Echo)),
        figures: &[Figure::Absent; 6],
    },
];
