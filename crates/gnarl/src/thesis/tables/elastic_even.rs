//! ElasticGNN and EvenNet beside GCORN under attacks on features (ch. 5, appendix). The thesis
//! gives this table no label.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{PGD_FEATURES, Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Row, Table, acc, under};

/// The table.
pub const ELASTIC_EVEN: Table = Table {
    name: "tab:elastic_even",
    title: "Accuracy of ElasticGNN, EvenNet and GCORN under attacks on features",
    section: "ch. 5, appendix, Additional Results",
    columns: &["Cora", "CiteSeer", "PubMed"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        STUDY_5,
        "the thesis gives this table no label: the name is ours. It prints psi 0.5 over two blocks; the second has the figures that GCORN has at 1.0 elsewhere",
    ],
};

const ELASTIC_GNN: Subject = Subject::new(Backbone::ElasticGnn, Recipe::ThesisCh5);
const EVEN_NET: Subject = Subject::new(Backbone::EvenNet, Recipe::ThesisCh5);
const GCORN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5).orthonormal(2);

const PSI_0_5: Threat = noise(0.5);
const PSI_1: Threat = noise(1.0);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("psi 0.5: GCORN", "psi 0.5: ElasticGNN"),
    ("psi 0.5: GCORN", "psi 0.5: EvenNet"),
    ("psi 1.0: GCORN", "psi 1.0: ElasticGNN"),
    ("psi 1.0: GCORN", "psi 1.0: EvenNet"),
    ("PGD: GCORN", "PGD: ElasticGNN"),
    ("PGD: GCORN", "PGD: EvenNet"),
];

const ROWS: &[Row] = &[
    Row {
        label: "psi 0.5: ElasticGNN",
        spec: under(ELASTIC_GNN, PSI_0_5),
        figures: &[acc(72.5, 2.4), acc(58.9, 2.3), acc(70.5, 0.6)],
    },
    Row {
        label: "psi 0.5: EvenNet",
        spec: under(EVEN_NET, PSI_0_5),
        figures: &[acc(69.7, 1.8), acc(48.6, 1.6), acc(68.8, 1.6)],
    },
    Row {
        label: "psi 0.5: GCORN",
        spec: under(GCORN, PSI_0_5),
        figures: &[acc(77.1, 1.8), acc(67.8, 1.4), acc(73.1, 1.1)],
    },
    Row {
        label: "psi 1.0: ElasticGNN",
        spec: under(ELASTIC_GNN, PSI_1),
        figures: &[acc(54.4, 2.4), acc(43.8, 2.0), acc(56.8, 2.1)],
    },
    Row {
        label: "psi 1.0: EvenNet",
        spec: under(EVEN_NET, PSI_1),
        figures: &[acc(48.9, 2.1), acc(39.7, 4.2), acc(58.5, 3.2)],
    },
    Row {
        label: "psi 1.0: GCORN",
        spec: under(GCORN, PSI_1),
        figures: &[acc(57.6, 1.9), acc(57.3, 1.7), acc(65.8, 1.4)],
    },
    Row {
        label: "PGD: ElasticGNN",
        spec: under(ELASTIC_GNN, PGD_FEATURES),
        figures: &[acc(64.7, 1.6), acc(50.8, 3.2), acc(64.6, 1.5)],
    },
    Row {
        label: "PGD: EvenNet",
        spec: under(EVEN_NET, PGD_FEATURES),
        figures: &[acc(57.6, 3.6), acc(37.1, 3.3), acc(61.0, 4.1)],
    },
    Row {
        label: "PGD: GCORN",
        spec: under(GCORN, PGD_FEATURES),
        figures: &[acc(71.1, 1.4), acc(65.6, 1.4), acc(72.3, 1.3)],
    },
];
