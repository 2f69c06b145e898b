//! GIN and GIORN under attacks on features (ch. 5, appendix). The thesis gives this table no label.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{PGD_FEATURES, Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, before, under};

/// The table.
pub const GIN_FEATURE_ATTACKS: Table = Table {
    name: "tab:gin_feature_attacks",
    title: "Accuracy of GIN with free and with orthonormal weights under attacks on features",
    section: "ch. 5, appendix, Experimental Results on GIN",
    columns: &["Cora", "CiteSeer", "PubMed"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        STUDY_5,
        "the thesis gives this table no label: the name is ours, and so are the clean rows",
    ],
};

const GIN: Subject = Subject::new(Backbone::Gin, Recipe::ThesisCh5);
const GIORN: Subject = GIN.orthonormal(2);

const PSI_0_5: Threat = noise(0.5);
const PSI_1: Threat = noise(1.0);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("clean: GIORN", "clean: GIN"),
    ("psi 0.5: GIORN", "psi 0.5: GIN"),
    ("psi 1.0: GIORN", "psi 1.0: GIN"),
    ("PGD: GIORN", "PGD: GIN"),
];

const ROWS: &[Row] = &[
    Row {
        label: "clean: GIN",
        spec: before(GIN, PSI_0_5),
        figures: &[Figure::Absent, Figure::Absent, Figure::Absent],
    },
    Row {
        label: "clean: GIORN",
        spec: before(GIORN, PSI_0_5),
        figures: &[Figure::Absent, Figure::Absent, Figure::Absent],
    },
    Row {
        label: "psi 0.5: GIN",
        spec: under(GIN, PSI_0_5),
        figures: &[acc(67.8, 1.3), acc(50.1, 0.3), acc(72.8, 0.4)],
    },
    Row {
        label: "psi 0.5: GIORN",
        spec: under(GIORN, PSI_0_5),
        figures: &[acc(71.8, 0.8), acc(60.8, 0.5), acc(74.3, 0.7)],
    },
    Row {
        label: "psi 1.0: GIN",
        spec: under(GIN, PSI_1),
        figures: &[acc(54.5, 0.9), acc(45.1, 0.4), acc(67.3, 0.6)],
    },
    Row {
        label: "psi 1.0: GIORN",
        spec: under(GIORN, PSI_1),
        figures: &[acc(66.7, 1.2), acc(54.4, 0.8), acc(68.9, 1.1)],
    },
    Row {
        label: "PGD: GIN",
        spec: under(GIN, PGD_FEATURES),
        figures: &[acc(61.4, 1.4), acc(44.1, 0.5), acc(70.6, 0.4)],
    },
    Row {
        label: "PGD: GIORN",
        spec: under(GIORN, PGD_FEATURES),
        figures: &[acc(69.5, 0.6), acc(58.3, 0.6), acc(73.1, 1.6)],
    },
];
