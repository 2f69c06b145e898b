//! `dynam:tab:results_with_baselines_2` (ch. 4): other ways of combining layers with the GCN
//! backbone, on seven more datasets.

use crate::depth::Kind;
use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{
    ADMP_ST, Baseline, CORE, DEGREE, DEPTHS, Figure, LEARNED_POLICIES, PAGERANK, Row, Table, WALKS,
    acc, best_depth, st, st_by,
};

/// The table.
pub const RESULTS_WITH_BASELINES_2: Table = Table {
    name: "dynam:tab:results_with_baselines_2",
    title: "Accuracy of other ways of combining layers, the GCN backbone, on seven more datasets, at the best of depths 0 to 5",
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
    baseline: Baseline::Row("GCN"),
    notes: &[DEPTHS, ADMP_ST, LEARNED_POLICIES],
};

const ROWS: &[Row] = &[
    Row {
        label: "JKNET-CAT",
        spec: best_depth(Backbone::JkCat),
        figures: &[
            acc(87.92, 1.98),
            acc(74.68, 6.92),
            acc(56.89, 1.77),
            acc(46.22, 5.73),
            acc(72.55, 0.0),
            acc(64.86, 0.0),
            acc(41.26, 0.88),
        ],
    },
    Row {
        label: "JKNET-MAX",
        spec: best_depth(Backbone::JkMax),
        figures: &[
            acc(88.02, 2.21),
            acc(77.97, 2.57),
            acc(57.7, 2.79),
            acc(45.95, 5.41),
            acc(62.75, 2.63),
            acc(68.65, 4.05),
            acc(41.36, 0.59),
        ],
    },
    Row {
        label: "JKNET-LSTM",
        spec: best_depth(Backbone::JkLstm),
        figures: &[
            acc(87.74, 1.94),
            acc(77.13, 2.8),
            acc(53.07, 4.47),
            acc(43.78, 3.78),
            acc(62.94, 2.23),
            acc(64.86, 0.0),
            acc(41.32, 0.58),
        ],
    },
    Row {
        label: "GCNII",
        spec: best_depth(Backbone::Gcnii),
        figures: &[
            acc(86.99, 2.47),
            acc(62.83, 19.61),
            acc(61.03, 2.07),
            acc(55.14, 8.48),
            acc(70.59, 0.0),
            acc(64.86, 0.0),
            acc(35.9, 1.25),
        ],
    },
    Row {
        label: "AdaGCN",
        spec: best_depth(Backbone::AdaGcn),
        figures: &[
            acc(64.84, 0.89),
            acc(58.68, 1.31),
            acc(47.37, 0.48),
            acc(70.0, 4.75),
            acc(75.88, 1.76),
            acc(72.43, 1.62),
            acc(29.15, 0.77),
        ],
    },
    Row {
        label: "GPR-GNN",
        spec: best_depth(Backbone::GprGnn),
        figures: &[
            acc(89.16, 2.04),
            acc(77.43, 3.32),
            acc(63.29, 0.91),
            acc(62.7, 4.65),
            acc(58.82, 1.24),
            acc(59.19, 3.72),
            acc(38.52, 1.06),
        ],
    },
    Row {
        label: "GCN",
        spec: best_depth(Backbone::Gcn),
        figures: &[
            acc(86.51, 2.33),
            acc(75.32, 4.18),
            acc(58.73, 0.96),
            acc(54.59, 2.91),
            acc(70.59, 0.0),
            acc(64.86, 0.0),
            acc(37.73, 0.8),
        ],
    },
    Row {
        label: "ADMP-GCN",
        spec: st(Backbone::Gcn, Measure::BestExit),
        figures: &[
            acc(87.08, 0.77),
            acc(74.53, 3.65),
            acc(58.77, 1.08),
            acc(55.95, 4.02),
            acc(70.59, 0.0),
            acc(64.86, 0.0),
            acc(34.74, 0.48),
        ],
    },
    Row {
        label: "ADMP-GCN w/ degree",
        spec: st_by(Backbone::Gcn, DEGREE),
        figures: &[
            acc(88.15, 1.52),
            acc(75.53, 2.09),
            acc(58.75, 0.91),
            acc(44.32, 4.22),
            acc(63.92, 1.3),
            acc(56.49, 1.89),
            acc(35.07, 1.13),
        ],
    },
    Row {
        label: "ADMP-GCN w/ core",
        spec: st_by(Backbone::Gcn, CORE),
        figures: &[
            acc(88.31, 1.31),
            acc(75.57, 1.88),
            acc(58.97, 1.09),
            acc(48.11, 4.65),
            acc(68.82, 1.37),
            acc(60.81, 3.25),
            acc(34.46, 0.7),
        ],
    },
    Row {
        label: "ADMP-GCN w/ walks",
        spec: st_by(Backbone::Gcn, WALKS),
        figures: &[
            acc(88.42, 1.51),
            acc(76.14, 2.08),
            acc(58.29, 1.22),
            acc(51.89, 4.32),
            acc(67.45, 1.8),
            acc(68.65, 2.16),
            acc(34.39, 0.89),
        ],
    },
    Row {
        label: "ADMP-GCN w/ PageRank",
        spec: st_by(Backbone::Gcn, PAGERANK),
        figures: &[
            acc(88.21, 1.45),
            acc(75.5, 2.23),
            acc(58.44, 1.23),
            acc(55.14, 4.86),
            acc(65.29, 2.16),
            acc(60.0, 3.15),
            acc(34.68, 0.66),
        ],
    },
    Row {
        label: "ADMP-GCN w/ offsets (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Offsets)),
        figures: &[Figure::Absent; 7],
    },
    Row {
        label: "ADMP-GCN w/ pool (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Pool)),
        figures: &[Figure::Absent; 7],
    },
    Row {
        label: "ADMP-GCN w/ echo (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Echo)),
        figures: &[Figure::Absent; 7],
    },
];
