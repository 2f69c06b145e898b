//! `tab:results_graph_classification` (ch. 5's appendix): accuracy of graph classifiers under
//! attacks on features.

use crate::nn::Backbone;
use crate::thesis::attacked::{PGD_OF_GRAPHS, Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, before, under};

/// The table.
pub const RESULTS_GRAPH_CLASSIFICATION: Table = Table {
    name: "tab:results_graph_classification",
    title: "Accuracy of graph classifiers under attacks on features: noise and gradient ascent",
    section: "ch. 5's appendix, Graph Classification",
    columns: &["PROTEINS", "DD", "NCI1"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        "the study's network, as far as it is said: two layers of 16 without bias and a linear head behind the mean over nodes, no decay, \
         an orthogonal start; training is ch. 7's",
        "noise has psi 0.5, gradient ascent a fifth of every node's L2 norm; each test graph is attacked by itself",
        "the rows of GIN and GIORN are ours",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
const GIN: Subject = Subject::new(Backbone::Gin, Recipe::ThesisCh5);
const GCORN: Subject = GCN.orthonormal(2);
const GIORN: Subject = GIN.orthonormal(2);

const PSI_0_5: Threat = noise(0.5);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("clean: GCORN", "clean: GCN"),
    ("clean: GIORN", "clean: GIN"),
    ("psi 0.5: GCORN", "psi 0.5: GCN"),
    ("psi 0.5: GIORN", "psi 0.5: GIN"),
    ("PGD: GCORN", "PGD: GCN"),
    ("PGD: GIORN", "PGD: GIN"),
];

const OURS: &[Figure] = &[Figure::Absent, Figure::Absent, Figure::Absent];

const ROWS: &[Row] = &[
    Row {
        label: "clean: GCN",
        spec: before(GCN, PSI_0_5),
        figures: &[acc(73.4, 2.8), acc(75.8, 3.6), acc(75.7, 2.2)],
    },
    Row {
        label: "clean: GCORN",
        spec: before(GCORN, PSI_0_5),
        figures: &[acc(74.1, 1.9), acc(76.4, 4.1), acc(74.8, 1.7)],
    },
    Row {
        label: "clean: GIN",
        spec: before(GIN, PSI_0_5),
        figures: OURS,
    },
    Row {
        label: "clean: GIORN",
        spec: before(GIORN, PSI_0_5),
        figures: OURS,
    },
    Row {
        label: "psi 0.5: GCN",
        spec: under(GCN, PSI_0_5),
        figures: &[acc(66.7, 2.5), acc(70.9, 3.2), acc(67.1, 2.6)],
    },
    Row {
        label: "psi 0.5: GCORN",
        spec: under(GCORN, PSI_0_5),
        figures: &[acc(71.7, 2.8), acc(75.1, 4.8), acc(71.8, 2.1)],
    },
    Row {
        label: "psi 0.5: GIN",
        spec: under(GIN, PSI_0_5),
        figures: OURS,
    },
    Row {
        label: "psi 0.5: GIORN",
        spec: under(GIORN, PSI_0_5),
        figures: OURS,
    },
    Row {
        label: "PGD: GCN",
        spec: under(GCN, PGD_OF_GRAPHS),
        figures: &[acc(56.7, 2.8), acc(61.8, 4.1), acc(54.9, 2.9)],
    },
    Row {
        label: "PGD: GCORN",
        spec: under(GCORN, PGD_OF_GRAPHS),
        figures: &[acc(65.4, 3.1), acc(68.6, 4.3), acc(62.4, 2.1)],
    },
    Row {
        label: "PGD: GIN",
        spec: under(GIN, PGD_OF_GRAPHS),
        figures: OURS,
    },
    Row {
        label: "PGD: GIORN",
        spec: under(GIORN, PGD_OF_GRAPHS),
        figures: OURS,
    },
];
