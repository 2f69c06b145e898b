//! Thesis ch. 4, `dynam:tab:oracle_GIN_2`.

use crate::nn::Backbone;
use crate::thesis::measure::Measure;
use crate::thesis::table::{BY_TEST, Baseline, PLAIN_LEFT_OUT, Row, Table, acc, st};

/// The best layer of ADMP-GIN and what a perfect choice of layers would give.
pub const ORACLE_GIN_2: Table = Table {
    name: "dynam:tab:oracle_GIN_2",
    title: "The best layer of ADMP-GIN and what a perfect choice of layers would give",
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
    baseline: Baseline::Row("ADMP-GIN (ST), best layer"),
    notes: &[PLAIN_LEFT_OUT, BY_TEST],
};

const ROWS: &[Row] = &[
    Row {
        label: "ADMP-GIN (ST), best layer",
        spec: st(Backbone::Gin, Measure::BestExit),
        figures: &[
            acc(83.35, 1.67),
            acc(71.88, 3.80),
            acc(62.30, 2.18),
            acc(59.46, 2.42),
            acc(70.59, 0.00),
            acc(68.92, 5.70),
            acc(47.65, 0.00),
        ],
    },
    Row {
        label: "ADMP-GIN (ST), oracle",
        spec: st(Backbone::Gin, Measure::Oracle),
        figures: &[
            acc(95.92, 1.03),
            acc(90.40, 2.66),
            acc(86.73, 0.90),
            acc(73.24, 4.75),
            acc(80.78, 1.18),
            acc(84.05, 3.07),
            acc(78.41, 0.89),
        ],
    },
];
