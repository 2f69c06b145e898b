//! `gen:tab:results_structure_corr` (ch. 7): training graphs with corrupted edges, a row for each share and method.

use super::holes::{FOLDS, READ_AGAINST_RETRAIN, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{Classifier, DROP_EDGE, DROP_NODE, G_MIXUP, GEO_MIX, GRATIN, RETRAIN, SUBMIX};
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, accuracy};

/// The table.
pub const RESULTS_STRUCTURE_CORR: Table = Table {
    name: "gen:tab:results_structure_corr",
    title: "Accuracy of graph classification where a tenth or a fifth of the training graphs' edges is corrupted, the GCN backbone",
    section: "ch. 7, Experimental Results",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        FOLDS,
        READ_AGAINST_RETRAIN,
        STRENGTHS,
        "all rows of a share train on the same corrupted graphs; one-hot degrees are those of the corrupted graph",
        "NoisyGNN's noise has a deviation of 0.1, which the thesis does not state; the rows without augmentation are ours too",
    ],
};

const TENTH: Classifier = Classifier::new(Backbone::Gcn).corrupted(0.1);
const FIFTH: Classifier = Classifier::new(Backbone::Gcn).corrupted(0.2);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("10 %: DropNode", "10 %: No Aug. (ours)"),
    ("10 %: DropEdge", "10 %: No Aug. (ours)"),
    ("10 %: SubMix", "10 %: No Aug. (ours)"),
    ("10 %: GeoMix", "10 %: No Aug. (ours)"),
    ("10 %: G-Mixup", "10 %: No Aug. (ours)"),
    ("10 %: NoisyGNN", "10 %: No Aug. (ours)"),
    ("10 %: retrain (ours)", "10 %: No Aug. (ours)"),
    ("10 %: GRATIN", "10 %: No Aug. (ours)"),
    ("10 %: GRATIN", "10 %: retrain (ours)"),
    ("20 %: DropNode", "20 %: No Aug. (ours)"),
    ("20 %: DropEdge", "20 %: No Aug. (ours)"),
    ("20 %: SubMix", "20 %: No Aug. (ours)"),
    ("20 %: GeoMix", "20 %: No Aug. (ours)"),
    ("20 %: G-Mixup", "20 %: No Aug. (ours)"),
    ("20 %: NoisyGNN", "20 %: No Aug. (ours)"),
    ("20 %: retrain (ours)", "20 %: No Aug. (ours)"),
    ("20 %: GRATIN", "20 %: No Aug. (ours)"),
    ("20 %: GRATIN", "20 %: retrain (ours)"),
];

const ROWS: &[Row] = &[
    Row { label: "10 %: No Aug. (ours)", spec: accuracy(TENTH), figures: &[Figure::Absent; 4] },
    Row {
        label: "10 %: DropNode",
        spec: accuracy(TENTH.with(DROP_NODE)),
        figures: &[acc(66.4, 5.51), acc(44.46, 2.13), acc(69.18, 4.87), acc(65.79, 3.23)],
    },
    Row {
        label: "10 %: DropEdge",
        spec: accuracy(TENTH.with(DROP_EDGE)),
        figures: &[acc(66.7, 5.1), acc(43.8, 3.11), acc(69.36, 5.9), acc(68.42, 4.76)],
    },
    Row {
        label: "10 %: SubMix",
        spec: accuracy(TENTH.with(SUBMIX)),
        figures: &[acc(69.3, 3.76), acc(46.73, 2.67), acc(69.8, 4.73), acc(68.04, 7.64)],
    },
    Row {
        label: "10 %: GeoMix",
        spec: accuracy(TENTH.with(GEO_MIX)),
        figures: &[acc(72.2, 5.19), acc(49.2, 4.31), acc(70.25, 4.75), acc(68.0, 3.64)],
    },
    Row {
        label: "10 %: G-Mixup",
        spec: accuracy(TENTH.with(G_MIXUP)),
        figures: &[acc(68.3, 5.13), acc(45.53, 4.12), acc(61.71, 5.81), acc(51.26, 8.76)],
    },
    Row {
        label: "10 %: NoisyGNN",
        spec: accuracy(TENTH.noisy()),
        figures: &[acc(70.5, 4.71), acc(40.66, 3.12), acc(69.45, 4.32), acc(64.18, 5.71)],
    },
    Row { label: "10 %: retrain (ours)", spec: accuracy(TENTH.with(RETRAIN)), figures: &[Figure::Absent; 4] },
    Row {
        label: "10 %: GRATIN",
        spec: accuracy(TENTH.with(GRATIN)),
        figures: &[acc(72.8, 2.99), acc(49.36, 4.53), acc(70.61, 4.3), acc(68.68, 3.72)],
    },
    Row { label: "20 %: No Aug. (ours)", spec: accuracy(FIFTH), figures: &[Figure::Absent; 4] },
    Row {
        label: "20 %: DropNode",
        spec: accuracy(FIFTH.with(DROP_NODE)),
        figures: &[acc(64.8, 5.01), acc(43.06, 2.86), acc(67.73, 6.43), acc(64.35, 4.56)],
    },
    Row {
        label: "20 %: DropEdge",
        spec: accuracy(FIFTH.with(DROP_EDGE)),
        figures: &[acc(63.2, 6.3), acc(41.8, 3.15), acc(68.1, 5.05), acc(67.06, 2.53)],
    },
    Row {
        label: "20 %: SubMix",
        spec: accuracy(FIFTH.with(SUBMIX)),
        figures: &[acc(63.7, 5.64), acc(43.73, 3.6), acc(69.09, 4.58), acc(59.18, 6.29)],
    },
    Row {
        label: "20 %: GeoMix",
        spec: accuracy(FIFTH.with(GEO_MIX)),
        figures: &[acc(70.9, 3.85), acc(48.86, 5.18), acc(68.36, 6.01), acc(67.31, 3.91)],
    },
    Row {
        label: "20 %: G-Mixup",
        spec: accuracy(FIFTH.with(G_MIXUP)),
        figures: &[acc(63.2, 5.54), acc(44.0, 4.63), acc(46.63, 5.05), acc(43.71, 7.12)],
    },
    Row {
        label: "20 %: NoisyGNN",
        spec: accuracy(FIFTH.noisy()),
        figures: &[acc(63.5, 5.43), acc(38.66, 4.12), acc(69.99, 3.78), acc(63.24, 5.02)],
    },
    Row { label: "20 %: retrain (ours)", spec: accuracy(FIFTH.with(RETRAIN)), figures: &[Figure::Absent; 4] },
    Row {
        label: "20 %: GRATIN",
        spec: accuracy(FIFTH.with(GRATIN)),
        figures: &[acc(73.1, 3.04), acc(49.53, 3.54), acc(70.32, 4.04), acc(69.01, 3.09)],
    },
];
