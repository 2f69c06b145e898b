//! Thesis ch. 4, `dynam:tab:oracle_GIN`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{BY_TEST, Baseline, PLAIN_LEFT_OUT, Row, Table, acc, st};

/// The best layer of ADMP-GIN and what a perfect choice of layers would give.
pub const ORACLE_GIN: Table = Table {
    name: "dynam:tab:oracle_GIN",
    title: "The best layer of ADMP-GIN and what a perfect choice of layers would give",
    section: "ch. 4, \"Empirical Insights into Node Specific Depth\"",
    columns: &["Cora", "CiteSeer", "CS", "PubMed", "Genius", "ogbn-arxiv"],
    rows: ROWS,
    baseline: Baseline::Row("ADMP-GIN (ST), best layer"),
    notes: &[PLAIN_LEFT_OUT, BY_TEST],
};

const ROWS: &[Row] = &[
    Row {
        label: "ADMP-GIN (ST), best layer",
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
        label: "ADMP-GIN (ST), oracle",
        spec: st(Backbone::Gin, Measure::Oracle),
        figures: &[
            acc(90.76, 0.27),
            acc(81.87, 0.63),
            acc(97.64, 0.18),
            acc(92.73, 0.54),
            acc(92.07, 6.13),
            acc(71.23, 2.69),
        ],
    },
];
