//! `tab:order_iter_analysis` (ch. 5, appendix): what the order of the projection costs and gives.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Row, Table, acc, before, training_time, under};

/// The table.
pub const ORDER_ITER_ANALYSIS: Table = Table {
    name: "tab:order_iter_analysis",
    title: "Training time and accuracy of GCORN by the order of its projection",
    section: "ch. 5, appendix",
    columns: &["Cora"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        STUDY_5,
        "25 iterations at every order; the thesis does not state their number",
        "time is the median step times the steps, of runs side by side on this machine: rows can be compared with each other, not with the thesis; gnarl bench epoch measures alone",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
const PSI: Threat = noise(0.5);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("training time, s: GCORN (1 ord)", "training time, s: GCN"),
    ("training time, s: GCORN (2 ord)", "training time, s: GCN"),
    ("training time, s: GCORN (3 ord)", "training time, s: GCN"),
    ("clean: GCORN (1 ord)", "clean: GCN"),
    ("clean: GCORN (2 ord)", "clean: GCN"),
    ("clean: GCORN (3 ord)", "clean: GCN"),
    ("psi 0.5: GCORN (1 ord)", "psi 0.5: GCN"),
    ("psi 0.5: GCORN (2 ord)", "psi 0.5: GCN"),
    ("psi 0.5: GCORN (3 ord)", "psi 0.5: GCN"),
];

const ROWS: &[Row] = &[
    Row {
        label: "training time, s: GCN",
        spec: training_time(GCN, PSI),
        figures: &[acc(2.8, 0.01)],
    },
    Row {
        label: "training time, s: GCORN (1 ord)",
        spec: training_time(GCN.orthonormal(1), PSI),
        figures: &[acc(4.8, 0.07)],
    },
    Row {
        label: "training time, s: GCORN (2 ord)",
        spec: training_time(GCN.orthonormal(2), PSI),
        figures: &[acc(8.7, 0.07)],
    },
    Row {
        label: "training time, s: GCORN (3 ord)",
        spec: training_time(GCN.orthonormal(3), PSI),
        figures: &[acc(10.9, 0.08)],
    },
    Row {
        label: "clean: GCN",
        spec: before(GCN, PSI),
        figures: &[acc(79.2, 1.6)],
    },
    Row {
        label: "clean: GCORN (1 ord)",
        spec: before(GCN.orthonormal(1), PSI),
        figures: &[acc(78.8, 1.3)],
    },
    Row {
        label: "clean: GCORN (2 ord)",
        spec: before(GCN.orthonormal(2), PSI),
        figures: &[acc(79.8, 0.9)],
    },
    Row {
        label: "clean: GCORN (3 ord)",
        spec: before(GCN.orthonormal(3), PSI),
        figures: &[acc(80.8, 1.1)],
    },
    Row {
        label: "psi 0.5: GCN",
        spec: under(GCN, PSI),
        figures: &[acc(68.4, 1.9)],
    },
    Row {
        label: "psi 0.5: GCORN (1 ord)",
        spec: under(GCN.orthonormal(1), PSI),
        figures: &[acc(77.1, 2.1)],
    },
    Row {
        label: "psi 0.5: GCORN (2 ord)",
        spec: under(GCN.orthonormal(2), PSI),
        figures: &[acc(78.3, 1.1)],
    },
    Row {
        label: "psi 0.5: GCORN (3 ord)",
        spec: under(GCN.orthonormal(3), PSI),
        figures: &[acc(78.6, 0.4)],
    },
];
