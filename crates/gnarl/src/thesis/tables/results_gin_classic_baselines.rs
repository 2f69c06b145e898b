//! `gen:tab:results_gin_classic_baselines` (ch. 7): one changed graph for each training graph, with
//! the GIN backbone.

use super::holes::{FOLDS, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{Classifier, ONE_DROP_EDGE, ONE_DROP_NODE, ONE_SUBMIX};
use crate::thesis::table::{Baseline, Row, Table, acc, accuracy};

/// The table.
pub const RESULTS_GIN_CLASSIC_BASELINES: Table = Table {
    name: "gen:tab:results_gin_classic_baselines",
    title: "Accuracy of graph classification with one changed graph beside each for all epochs, the GIN backbone",
    section: "ch. 7, appendix, Training and Augmentation time",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::Row("No Aug."),
    notes: &[
        FOLDS,
        STRENGTHS,
        "the row without augmentation, and the same augmentations made anew in every epoch, are those of results_gin",
    ],
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
        spec: accuracy(GIN.with(ONE_DROP_EDGE)),
        figures: &[
            acc(71.7, 3.25),
            acc(43.67, 6.58),
            acc(72.36, 10.4),
            acc(66.31, 5.49),
            acc(70.2, 2.85),
        ],
    },
    Row {
        label: "DropNode",
        spec: accuracy(GIN.with(ONE_DROP_NODE)),
        figures: &[
            acc(71.0, 4.49),
            acc(42.67, 5.54),
            acc(75.0, 6.67),
            acc(64.6, 4.52),
            acc(70.8, 3.31),
        ],
    },
    Row {
        label: "SubMix",
        spec: accuracy(GIN.with(ONE_SUBMIX)),
        figures: &[
            acc(71.1, 4.15),
            acc(42.8, 3.93),
            acc(84.53, 6.66),
            acc(60.1, 3.78),
            acc(70.03, 2.61),
        ],
    },
];
