//! `crf:tab:combinations` (ch. 6): other defences with and without RobustCRF.

use super::holes::{GCORN_OF_5, NO_GAIN, STUDY_6};
use crate::nn::Backbone;
use crate::thesis::attacked::{PGD_FEATURES, ROBUST_CRF, Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Row, Table, acc, before, defended, defended_before, under};

/// The table.
pub const COMBINATIONS: Table = Table {
    name: "crf:tab:combinations",
    title: "Accuracy of other defences under attacks on features, with and without RobustCRF",
    section: "ch. 6, Empirical Investigation",
    columns: &["Cora", "CiteSeer", "PubMed", "Texas"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        STUDY_6,
        NO_GAIN,
        GCORN_OF_5,
        "the thesis has no radius and sigma for Texas: Cora's are taken; NoisyGCN's noise has a deviation of 0.1, which it does not state either",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh6);
const RGCN: Subject = Subject::new(Backbone::Rgcn, Recipe::ThesisCh6);
// Without a head, orthonormal weights cannot scale the scores: GCORN is that of ch. 5.
const GCORN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5).orthonormal(2);
const NOISY_GCN: Subject = GCN.noisy();

const PSI: Threat = noise(0.5).read_by(ROBUST_CRF);
const PGD: Threat = PGD_FEATURES.read_by(ROBUST_CRF);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("clean: RGCN w/ RobustCRF", "clean: RGCN"),
    ("clean: GCORN w/ RobustCRF", "clean: GCORN"),
    ("clean: NoisyGCN w/ RobustCRF", "clean: NoisyGCN"),
    ("psi 0.5: RGCN w/ RobustCRF", "psi 0.5: RGCN"),
    ("psi 0.5: GCORN w/ RobustCRF", "psi 0.5: GCORN"),
    ("psi 0.5: NoisyGCN w/ RobustCRF", "psi 0.5: NoisyGCN"),
    ("PGD: RGCN w/ RobustCRF", "PGD: RGCN"),
    ("PGD: GCORN w/ RobustCRF", "PGD: GCORN"),
    ("PGD: NoisyGCN w/ RobustCRF", "PGD: NoisyGCN"),
];

const ROWS: &[Row] = &[
    Row {
        label: "clean: RGCN",
        spec: before(RGCN, PSI),
        figures: &[
            acc(77.64, 0.52),
            acc(69.88, 0.47),
            acc(75.58, 0.65),
            acc(51.62, 13.91),
        ],
    },
    Row {
        label: "clean: RGCN w/ RobustCRF",
        spec: defended_before(RGCN, PSI),
        figures: &[
            acc(77.7, 0.46),
            acc(69.84, 0.39),
            acc(75.5, 0.6),
            acc(52.16, 14.2),
        ],
    },
    Row {
        label: "clean: GCORN",
        spec: before(GCORN, PSI),
        figures: &[
            acc(77.83, 2.33),
            acc(71.68, 1.54),
            acc(76.03, 1.29),
            acc(59.73, 4.9),
        ],
    },
    Row {
        label: "clean: GCORN w/ RobustCRF",
        spec: defended_before(GCORN, PSI),
        figures: &[
            acc(78.5, 1.17),
            acc(71.72, 1.46),
            acc(76.13, 1.08),
            acc(59.77, 4.68),
        ],
    },
    Row {
        label: "clean: NoisyGCN",
        spec: before(NOISY_GCN, PSI),
        figures: &[
            acc(81.04, 0.74),
            acc(70.36, 0.79),
            acc(78.13, 0.53),
            acc(48.91, 20.02),
        ],
    },
    Row {
        label: "clean: NoisyGCN w/ RobustCRF",
        spec: defended_before(NOISY_GCN, PSI),
        figures: &[
            acc(81.07, 0.7),
            acc(70.2, 0.85),
            acc(78.9, 0.46),
            acc(49.18, 19.59),
        ],
    },
    Row {
        label: "psi 0.5: RGCN",
        spec: under(RGCN, PSI),
        figures: &[
            acc(67.61, 0.8),
            acc(59.76, 1.01),
            acc(61.93, 1.18),
            acc(43.51, 10.22),
        ],
    },
    Row {
        label: "psi 0.5: RGCN w/ RobustCRF",
        spec: defended(RGCN, PSI),
        figures: &[
            acc(69.08, 0.73),
            acc(60.04, 1.01),
            acc(63.05, 0.88),
            acc(45.05, 9.99),
        ],
    },
    Row {
        label: "psi 0.5: GCORN",
        spec: under(GCORN, PSI),
        figures: &[
            acc(76.28, 1.96),
            acc(67.82, 2.18),
            acc(72.35, 1.43),
            acc(60.0, 4.95),
        ],
    },
    Row {
        label: "psi 0.5: GCORN w/ RobustCRF",
        spec: defended(GCORN, PSI),
        figures: &[
            acc(77.21, 1.17),
            acc(68.94, 3.0),
            acc(72.29, 1.29),
            acc(59.18, 3.71),
        ],
    },
    Row {
        label: "psi 0.5: NoisyGCN",
        spec: under(NOISY_GCN, PSI),
        figures: &[
            acc(78.59, 1.09),
            acc(66.83, 0.98),
            acc(73.6, 0.58),
            acc(48.91, 19.29),
        ],
    },
    Row {
        label: "psi 0.5: NoisyGCN w/ RobustCRF",
        spec: defended(NOISY_GCN, PSI),
        figures: &[
            acc(81.07, 0.99),
            acc(67.04, 1.38),
            acc(74.18, 0.98),
            acc(45.94, 14.54),
        ],
    },
    Row {
        label: "PGD: RGCN",
        spec: under(RGCN, PGD),
        figures: &[
            acc(68.45, 0.97),
            acc(64.63, 0.82),
            acc(73.35, 0.81),
            acc(60.81, 10.27),
        ],
    },
    Row {
        label: "PGD: RGCN w/ RobustCRF",
        spec: defended(RGCN, PGD),
        figures: &[
            acc(68.46, 0.93),
            acc(64.59, 0.84),
            acc(73.47, 0.72),
            acc(58.1, 11.09),
        ],
    },
    Row {
        label: "PGD: GCORN",
        spec: under(GCORN, PGD),
        figures: &[
            acc(73.32, 2.19),
            acc(69.05, 2.5),
            acc(74.49, 1.13),
            acc(59.73, 4.9),
        ],
    },
    Row {
        label: "PGD: GCORN w/ RobustCRF",
        spec: defended(GCORN, PGD),
        figures: &[
            acc(73.65, 1.55),
            acc(69.09, 2.57),
            acc(74.59, 0.9),
            acc(60.27, 4.68),
        ],
    },
    Row {
        label: "PGD: NoisyGCN",
        spec: under(NOISY_GCN, PGD),
        figures: &[
            acc(76.29, 1.69),
            acc(67.09, 1.5),
            acc(75.04, 0.53),
            acc(52.97, 19.11),
        ],
    },
    Row {
        label: "PGD: NoisyGCN w/ RobustCRF",
        spec: defended(NOISY_GCN, PGD),
        figures: &[
            acc(76.48, 1.65),
            acc(67.21, 1.35),
            acc(75.39, 0.45),
            acc(53.51, 19.07),
        ],
    },
];
