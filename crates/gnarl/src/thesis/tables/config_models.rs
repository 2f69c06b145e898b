//! `gen:tab:config_models` (ch. 7): the configuration model as an augmentation.

use super::holes::{FOLDS, STRENGTHS};
use crate::nn::Backbone;
use crate::thesis::graphs::{CONFIGURATION, Classifier};
use crate::thesis::table::{Baseline, Row, Table, acc, accuracy};

/// The table.
pub const CONFIG_MODELS: Table = Table {
    name: "gen:tab:config_models",
    title: "Accuracy of graph classification with edges of training graphs rejoined at random",
    section: "ch. 7, appendix, Configuration Models",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::Pairs(&[
        ("Config Models w/ GCN", "No Aug. w/ GCN"),
        ("Config Models w/ GIN", "No Aug. w/ GIN"),
    ]),
    notes: &[
        FOLDS,
        STRENGTHS,
        "new copies in every epoch; the thesis does not say",
        "the rows without augmentation are those of results_gcn and results_gin",
    ],
};

const GCN: Classifier = Classifier::new(Backbone::Gcn);
const GIN: Classifier = Classifier::new(Backbone::Gin);

const ROWS: &[Row] = &[
    Row {
        label: "No Aug. w/ GCN",
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
        label: "Config Models w/ GCN",
        spec: accuracy(GCN.with(CONFIGURATION)),
        figures: &[
            acc(71.7, 3.16),
            acc(48.4, 3.88),
            acc(74.97, 6.77),
            acc(70.08, 4.93),
            acc(69.01, 3.44),
        ],
    },
    Row {
        label: "No Aug. w/ GIN",
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
        label: "Config Models w/ GIN",
        spec: accuracy(GIN.with(CONFIGURATION)),
        figures: &[
            acc(71.7, 4.24),
            acc(49.0, 3.44),
            acc(81.43, 10.05),
            acc(68.34, 5.3),
            acc(71.61, 5.93),
        ],
    },
];
