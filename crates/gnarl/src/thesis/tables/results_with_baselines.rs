//! `dynam:tab:results_with_baselines` (ch. 4): other ways of combining layers with the GCN
//! backbone.

use crate::depth::Kind;
use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{
    ADMP_ST, Baseline, CORE, DEGREE, DEPTHS, Figure, LEARNED_POLICIES, OOM, PAGERANK, Row, Table,
    WALKS, acc, best_depth, st, st_by,
};

/// The table.
pub const RESULTS_WITH_BASELINES: Table = Table {
    name: "dynam:tab:results_with_baselines",
    title: "Accuracy of other ways of combining layers, the GCN backbone, at the best of depths 0 to 5",
    section: "ch. 4, Experimental Results",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "genius", "ogbn-arxiv"],
    rows: ROWS,
    baseline: Baseline::Row("GCN"),
    notes: &[
        DEPTHS,
        ADMP_ST,
        LEARNED_POLICIES,
        "JKNET-MAX's figures on Cora, CiteSeer, CS, PubMed and Genius are, digit by digit, the best ones of ADMP-GCN (ALM) in the thesis' other table: they may not be JK-Net's",
    ],
};

const ROWS: &[Row] = &[
    Row {
        label: "JKNET-CAT",
        spec: best_depth(Backbone::JkCat),
        figures: &[
            acc(79.52, 1.16),
            acc(69.69, 0.05),
            acc(91.23, 1.26),
            acc(77.63, 0.59),
            acc(81.46, 0.1),
            acc(68.54, 0.57),
        ],
    },
    Row {
        label: "JKNET-MAX",
        spec: best_depth(Backbone::JkMax),
        figures: &[
            acc(75.67, 0.18),
            acc(70.12, 0.04),
            acc(90.55, 0.74),
            acc(75.1, 2.41),
            acc(80.13, 0.29),
            acc(56.66, 0.31),
        ],
    },
    Row {
        label: "JKNET-LSTM",
        spec: best_depth(Backbone::JkLstm),
        figures: &[
            acc(78.95, 0.62),
            acc(65.83, 1.27),
            acc(90.17, 1.41),
            acc(77.73, 0.67),
            OOM,
            OOM,
        ],
    },
    Row {
        label: "GCNII",
        spec: best_depth(Backbone::Gcnii),
        figures: &[
            acc(76.84, 0.2),
            acc(69.72, 0.06),
            acc(90.84, 1.35),
            acc(77.82, 0.44),
            acc(81.36, 1.13),
            acc(61.48, 3.1),
        ],
    },
    Row {
        label: "AdaGCN",
        spec: best_depth(Backbone::AdaGcn),
        figures: &[
            acc(75.08, 0.27),
            acc(69.58, 0.19),
            acc(89.62, 0.51),
            acc(76.4, 0.12),
            acc(79.85, 0.0),
            acc(22.06, 1.67),
        ],
    },
    Row {
        label: "GPR-GNN",
        spec: best_depth(Backbone::GprGnn),
        figures: &[
            acc(79.91, 0.43),
            acc(69.21, 0.81),
            acc(91.42, 1.12),
            acc(79.0, 0.39),
            acc(81.04, 0.41),
            acc(68.03, 0.23),
        ],
    },
    Row {
        label: "GCN",
        spec: best_depth(Backbone::Gcn),
        figures: &[
            acc(80.78, 0.72),
            acc(71.25, 0.72),
            acc(92.2, 0.0),
            acc(79.32, 0.41),
            acc(80.76, 1.05),
            acc(64.37, 0.43),
        ],
    },
    Row {
        label: "ADMP-GCN",
        spec: st(Backbone::Gcn, Measure::BestExit),
        figures: &[
            acc(81.22, 0.36),
            acc(71.33, 0.4),
            acc(91.49, 0.66),
            acc(79.02, 0.21),
            acc(80.17, 0.79),
            acc(69.29, 0.74),
        ],
    },
    Row {
        label: "ADMP-GCN w/ degree",
        spec: st_by(Backbone::Gcn, DEGREE),
        figures: &[
            acc(81.03, 0.53),
            acc(71.1, 0.5),
            acc(91.26, 0.59),
            acc(78.71, 0.39),
            acc(80.73, 1.0),
            acc(69.59, 0.28),
        ],
    },
    Row {
        label: "ADMP-GCN w/ core",
        spec: st_by(Backbone::Gcn, CORE),
        figures: &[
            acc(81.19, 0.4),
            acc(71.27, 0.53),
            acc(91.29, 0.68),
            acc(78.73, 0.41),
            acc(80.73, 1.0),
            acc(69.55, 0.33),
        ],
    },
    Row {
        label: "ADMP-GCN w/ walks",
        spec: st_by(Backbone::Gcn, WALKS),
        figures: &[
            acc(81.14, 0.41),
            acc(71.14, 0.5),
            acc(91.19, 0.64),
            acc(78.64, 0.6),
            acc(80.68, 0.97),
            acc(69.55, 0.34),
        ],
    },
    Row {
        label: "ADMP-GCN w/ PageRank",
        spec: st_by(Backbone::Gcn, PAGERANK),
        figures: &[
            acc(81.05, 0.46),
            acc(71.0, 0.29),
            acc(91.09, 0.99),
            acc(78.69, 0.56),
            acc(81.12, 1.41),
            acc(69.6, 0.29),
        ],
    },
    Row {
        label: "ADMP-GCN w/ offsets (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Offsets)),
        figures: &[Figure::Absent; 6],
    },
    Row {
        label: "ADMP-GCN w/ pool (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Pool)),
        figures: &[Figure::Absent; 6],
    },
    Row {
        label: "ADMP-GCN w/ echo (ours)",
        spec: st(Backbone::Gcn, Measure::Policy(Kind::Echo)),
        figures: &[Figure::Absent; 6],
    },
];
