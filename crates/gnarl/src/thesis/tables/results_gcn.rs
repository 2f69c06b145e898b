//! `gen:tab:results_gcn` (ch. 7): augmentations of the training set with the GCN backbone.

use super::holes::{FOLDS, READ_AGAINST_RETRAIN, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{
    Classifier, DROP_EDGE, DROP_NODE, G_MIXUP, GEO_MIX, GRATIN, RETRAIN, SUBMIX,
};
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, accuracy};

/// The table.
pub const RESULTS_GCN: Table = Table {
    name: "gen:tab:results_gcn",
    title: "Accuracy of graph classification with augmentations, the GCN backbone",
    section: "ch. 7, Experimental Results",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::RowAnd("No Aug.", &[("GRATIN", "retrain (ours)")]),
    notes: &[FOLDS, READ_AGAINST_RETRAIN, STRENGTHS],
};

const GCN: Classifier = Classifier::new(Backbone::Gcn);

const ROWS: &[Row] = &[
    Row {
        label: "No Aug.",
        spec: accuracy(GCN),
        figures: &[
            acc(73.0, 4.94),
            acc(47.73, 2.64),
            acc(73.92, 5.09),
            acc(69.99, 5.35),
            acc(69.69, 2.89),
        ],
    },
    Row {
        label: "DropEdge",
        spec: accuracy(GCN.with(DROP_EDGE)),
        figures: &[
            acc(71.7, 5.42),
            acc(45.67, 2.46),
            acc(73.39, 8.86),
            acc(70.07, 3.86),
            acc(69.35, 3.37),
        ],
    },
    Row {
        label: "DropNode",
        spec: accuracy(GCN.with(DROP_NODE)),
        figures: &[
            acc(74.0, 3.44),
            acc(43.8, 3.54),
            acc(73.89, 8.53),
            acc(69.81, 4.61),
            acc(69.01, 3.95),
        ],
    },
    Row {
        label: "SubMix",
        spec: accuracy(GCN.with(SUBMIX)),
        figures: &[
            acc(72.7, 5.59),
            acc(46.0, 2.44),
            acc(77.13, 9.69),
            acc(67.57, 4.56),
            acc(70.11, 4.48),
        ],
    },
    Row {
        label: "G-Mixup",
        spec: accuracy(GCN.with(G_MIXUP)),
        figures: &[
            acc(72.1, 3.27),
            acc(48.33, 3.06),
            acc(88.77, 5.71),
            acc(65.68, 5.03),
            acc(61.2, 3.88),
        ],
    },
    Row {
        label: "GeoMix",
        spec: accuracy(GCN.with(GEO_MIX)),
        figures: &[
            acc(69.69, 3.37),
            acc(49.8, 4.71),
            acc(74.39, 7.37),
            acc(69.63, 5.37),
            acc(68.5, 3.74),
        ],
    },
    Row {
        label: "retrain (ours)",
        spec: accuracy(GCN.with(RETRAIN)),
        figures: &[Figure::Absent; 5],
    },
    Row {
        label: "GRATIN",
        spec: accuracy(GCN.with(GRATIN)),
        figures: &[
            acc(71.0, 4.4),
            acc(49.82, 4.26),
            acc(76.05, 6.74),
            acc(70.97, 5.07),
            acc(71.9, 2.81),
        ],
    },
];
