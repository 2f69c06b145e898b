//! `gen:tab:results_gcn_classic_baselines` (ch. 7): one changed graph for each training graph, with
//! the GCN backbone.

use super::holes::{FOLDS, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{Classifier, ONE_DROP_EDGE, ONE_DROP_NODE, ONE_SUBMIX};
use crate::thesis::table::{Baseline, Row, Table, acc, accuracy};

/// The table.
pub const RESULTS_GCN_CLASSIC_BASELINES: Table = Table {
    name: "gen:tab:results_gcn_classic_baselines",
    title: "Accuracy of graph classification with one changed graph beside each for all epochs, the GCN backbone",
    section: "ch. 7, appendix, Training and Augmentation time",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::Row("No Aug."),
    notes: &[
        FOLDS,
        STRENGTHS,
        "the row without augmentation, and the same augmentations made anew in every epoch, are those of results_gcn",
    ],
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
        spec: accuracy(GCN.with(ONE_DROP_EDGE)),
        figures: &[
            acc(71.4, 3.69),
            acc(48.47, 2.36),
            acc(73.88, 7.98),
            acc(67.56, 4.5),
            acc(66.04, 4.35),
        ],
    },
    Row {
        label: "DropNode",
        spec: accuracy(GCN.with(ONE_DROP_NODE)),
        figures: &[
            acc(71.8, 4.11),
            acc(48.6, 3.45),
            acc(72.78, 8.01),
            acc(67.83, 4.75),
            acc(66.55, 3.97),
        ],
    },
    Row {
        label: "SubMix",
        spec: accuracy(GCN.with(ONE_SUBMIX)),
        figures: &[
            acc(72.5, 3.9),
            acc(47.93, 3.58),
            acc(71.72, 10.59),
            acc(59.74, 2.83),
            acc(62.25, 3.29),
        ],
    },
];
