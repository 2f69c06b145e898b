//! `gen:tab:results_gin` (ch. 7): augmentations of the training set with the GIN backbone.

use super::holes::{FOLDS, READ_AGAINST_RETRAIN, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{
    Classifier, DROP_EDGE, DROP_NODE, G_MIXUP, GEO_MIX, GRATIN, RETRAIN, SUBMIX,
};
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, accuracy};

/// The table.
pub const RESULTS_GIN: Table = Table {
    name: "gen:tab:results_gin",
    title: "Accuracy of graph classification with augmentations, the GIN backbone",
    section: "ch. 7, Experimental Results",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::RowAnd("No Aug.", &[("GRATIN", "retrain (ours)")]),
    notes: &[FOLDS, READ_AGAINST_RETRAIN, STRENGTHS],
};

const GIN: Classifier = Classifier::new(Backbone::Gin);

const ROWS: &[Row] = &[
    Row {
        label: "No Aug.",
        spec: accuracy(GIN),
        figures: &[
            acc(70.3, 3.66),
            acc(48.53, 4.05),
            acc(83.42, 2.12),
            acc(69.54, 3.61),
            acc(68.0, 3.18),
        ],
    },
    Row {
        label: "DropEdge",
        spec: accuracy(GIN.with(DROP_EDGE)),
        figures: &[
            acc(70.4, 4.03),
            acc(46.8, 3.91),
            acc(74.88, 9.62),
            acc(68.27, 5.21),
            acc(67.82, 4.46),
        ],
    },
    Row {
        label: "DropNode",
        spec: accuracy(GIN.with(DROP_NODE)),
        figures: &[
            acc(70.3, 3.49),
            acc(45.2, 4.24),
            acc(75.53, 7.89),
            acc(65.4, 4.71),
            acc(69.01, 3.95),
        ],
    },
    Row {
        label: "SubMix",
        spec: accuracy(GIN.with(SUBMIX)),
        figures: &[
            acc(72.5, 4.98),
            acc(48.13, 2.12),
            acc(81.9, 9.21),
            acc(70.44, 2.58),
            acc(68.59, 5.04),
        ],
    },
    Row {
        label: "G-Mixup",
        spec: accuracy(GIN.with(G_MIXUP)),
        figures: &[
            acc(70.7, 3.1),
            acc(47.73, 4.95),
            acc(87.77, 7.48),
            acc(68.82, 3.48),
            acc(63.91, 2.09),
        ],
    },
    Row {
        label: "GeoMix",
        spec: accuracy(GIN.with(GEO_MIX)),
        figures: &[
            acc(70.6, 4.61),
            acc(47.2, 3.75),
            acc(81.9, 7.55),
            acc(69.8, 5.33),
            acc(68.34, 5.3),
        ],
    },
    Row {
        label: "retrain (ours)",
        spec: accuracy(GIN.with(RETRAIN)),
        figures: &[Figure::Absent; 5],
    },
    Row {
        label: "GRATIN",
        spec: accuracy(GIN.with(GRATIN)),
        figures: &[
            acc(71.7, 4.24),
            acc(49.2, 2.06),
            acc(88.83, 5.02),
            acc(71.33, 5.04),
            acc(68.61, 4.62),
        ],
    },
];
