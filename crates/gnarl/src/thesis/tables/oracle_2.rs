//! Thesis ch. 4, `dynam:tab:oracle_2`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{BY_TEST, Baseline, PLAIN_LEFT_OUT, Row, Table, acc, st};

/// The best layer of ADMP-GCN and what a perfect choice of layers would give.
pub const ORACLE_2: Table = Table {
    name: "dynam:tab:oracle_2",
    title: "The best layer of ADMP-GCN and what a perfect choice of layers would give",
    section: "ch. 4, \"Empirical Insights into Node Specific Depth\"",
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
    baseline: Baseline::Row("ADMP-GCN (ST), best layer"),
    notes: &[PLAIN_LEFT_OUT, BY_TEST],
};

const ROWS: &[Row] = &[
    Row {
        label: "ADMP-GCN (ST), best layer",
        spec: st(Backbone::Gcn, Measure::BestExit),
        figures: &[
            acc(87.08, 0.77),
            acc(74.53, 3.65),
            acc(58.77, 1.08),
            acc(55.95, 4.02),
            acc(70.59, 0.00),
            acc(64.86, 0.00),
            acc(34.74, 0.48),
        ],
    },
    Row {
        label: "ADMP-GCN (ST), oracle",
        spec: st(Backbone::Gcn, Measure::Oracle),
        figures: &[
            acc(96.14, 0.81),
            acc(90.15, 0.97),
            acc(79.50, 1.31),
            acc(74.59, 3.24),
            acc(80.39, 0.00),
            acc(77.84, 2.36),
            acc(69.54, 0.65),
        ],
    },
];
