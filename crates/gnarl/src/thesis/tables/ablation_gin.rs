//! `gen:tab:ablation_GIN` (ch. 7): what GRATIN's vectors are drawn from, with the GIN backbone.

use super::holes::{DENSITIES, FOLDS, READ_AGAINST_RETRAIN};
use crate::augment::density::{Copula, Density, Gan, Kernel, Shared, Shrunken, Variational};
use crate::nn::Backbone;
use crate::thesis::graphs::{Classifier, GRATIN, RETRAIN, gratin_from};
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, accuracy};

/// The table.
pub const ABLATION_GIN: Table = Table {
    name: "gen:tab:ablation_GIN",
    title: "Accuracy of graph classification by the density that GRATIN draws from, the GIN backbone",
    section: "ch. 7, appendix, Ablation Study",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::Row("retrain (ours)"),
    notes: &[
        FOLDS,
        READ_AGAINST_RETRAIN,
        DENSITIES,
        "GMM w/ EM is the cell of GRATIN in results_gin",
    ],
};

const GIN: Classifier = Classifier::new(Backbone::Gin);

const ROWS: &[Row] = &[
    Row {
        label: "GMM w/ EM",
        spec: accuracy(GIN.with(GRATIN)),
        figures: &[
            acc(71.7, 4.24),
            acc(49.2, 2.06),
            acc(88.83, 5.02),
            acc(71.33, 5.04),
            acc(68.61, 4.62),
        ],
    },
    Row {
        label: "GMM w/ VBI",
        spec: accuracy(GIN.with(gratin_from(Density::Variational(Variational::new())))),
        figures: &[
            acc(71.4, 2.65),
            acc(47.8, 2.22),
            acc(88.3, 5.19),
            acc(70.25, 4.65),
            acc(67.82, 4.96),
        ],
    },
    Row {
        label: "KDE",
        spec: accuracy(GIN.with(gratin_from(Density::Kernel(Kernel {})))),
        figures: &[
            acc(69.1, 3.93),
            acc(41.46, 3.02),
            acc(77.6, 6.83),
            acc(60.37, 3.04),
            acc(67.48, 6.18),
        ],
    },
    Row {
        label: "Copula",
        spec: accuracy(GIN.with(gratin_from(Density::Copula(Copula {})))),
        figures: &[
            acc(70.6, 2.61),
            acc(47.6, 2.29),
            acc(88.3, 5.19),
            acc(70.16, 4.55),
            acc(67.91, 4.9),
        ],
    },
    Row {
        label: "GAN",
        spec: accuracy(GIN.with(gratin_from(Density::Gan(Gan {})))),
        figures: &[
            acc(70.5, 3.8),
            acc(48.4, 1.71),
            acc(88.83, 5.02),
            acc(71.33, 5.55),
            acc(67.74, 4.82),
        ],
    },
    Row {
        label: "one Gaussian, shrunken (ours)",
        spec: accuracy(GIN.with(gratin_from(Density::Shrunken(Shrunken {})))),
        figures: &[Figure::Absent; 5],
    },
    Row {
        label: "one Gaussian, shared covariance (ours)",
        spec: accuracy(GIN.with(gratin_from(Density::Shared(Shared {})))),
        figures: &[Figure::Absent; 5],
    },
    Row {
        label: "retrain (ours)",
        spec: accuracy(GIN.with(RETRAIN)),
        figures: &[Figure::Absent; 5],
    },
];
