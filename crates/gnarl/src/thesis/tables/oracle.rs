//! Thesis ch. 4, `dynam:tab:oracle`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{BY_TEST, Baseline, PLAIN_LEFT_OUT, Row, Table, acc, st};

/// The best layer of ADMP-GCN and what a perfect choice of layers would give.
pub const ORACLE: Table = Table {
    name: "dynam:tab:oracle",
    title: "The best layer of ADMP-GCN and what a perfect choice of layers would give",
    section: "ch. 4, \"Empirical Insights into Node Specific Depth\"",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "Genius", "ogbn-arxiv"],
    rows: ROWS,
    baseline: Baseline::Row("ADMP-GCN (ST), best layer"),
    notes: &[PLAIN_LEFT_OUT, BY_TEST],
};

const ROWS: &[Row] = &[
    Row {
        label: "ADMP-GCN (ST), best layer",
        spec: st(Backbone::Gcn, Measure::BestExit),
        figures: &[
            acc(81.22, 0.36),
            acc(71.33, 0.40),
            acc(91.49, 0.66),
            acc(79.02, 0.21),
            acc(80.17, 0.79),
            acc(69.29, 0.74),
        ],
    },
    Row {
        label: "ADMP-GCN (ST), oracle",
        spec: st(Backbone::Gcn, Measure::Oracle),
        figures: &[
            acc(89.43, 0.19),
            acc(81.96, 0.49),
            acc(97.24, 0.52),
            acc(90.13, 0.36),
            acc(85.97, 7.59),
            acc(79.64, 0.27),
        ],
    },
];
