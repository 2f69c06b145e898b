//! `crf:tab:order_iter_analysis` (ch. 6, appendix): seconds of an answer by RobustCRF. A table of
//! chapter 5 has the same label: this name is ours.

use crate::thesis::table::{Baseline, Figure, Row, Spec, Table, acc};

/// The table.
pub const INFERENCE_TIME: Table = Table {
    name: "crf:tab:inference_time",
    title: "Seconds in which RobustCRF answers, by samples and iterations",
    section: "ch. 6, appendix, Time and Complexity of RobustCRF",
    columns: &["Cora"],
    rows: ROWS,
    baseline: Baseline::None,
    notes: &[
        "the thesis names no dataset, and prints seconds of a GPU: growth can be compared, not seconds",
        "neighbours differ in features; L samples and K iterations are at most the sum of L^k for k up to K evaluations of the model",
    ],
};

const fn row(
    label: &'static str,
    (neighbours, updates): (usize, usize),
    figures: &'static [Figure],
) -> Row {
    Row {
        label,
        spec: Spec::InferenceTime {
            neighbours,
            updates,
        },
        figures,
    }
}

const ROWS: &[Row] = &[
    row("L = 5, 0 iterations", (5, 0), &[acc(0.26, 0.52)]),
    row("L = 5, 1 iteration", (5, 1), &[acc(1.99, 0.54)]),
    row("L = 5, 2 iterations", (5, 2), &[acc(16.4, 2.04)]),
    row("L = 10, 0 iterations", (10, 0), &[acc(0.2, 0.41)]),
    row("L = 10, 1 iteration", (10, 1), &[acc(3.24, 0.47)]),
    row("L = 10, 2 iterations", (10, 2), &[acc(58.28, 1.15)]),
    row("L = 20, 0 iterations", (20, 0), &[acc(0.22, 0.44)]),
    row("L = 20, 1 iteration", (20, 1), &[acc(5.86, 0.53)]),
    row("L = 20, 2 iterations", (20, 2), &[acc(224.86, 0.71)]),
];
