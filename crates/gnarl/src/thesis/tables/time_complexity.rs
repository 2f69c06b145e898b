//! `dynam:tab:time_complexity` (ch. 4, appendix): seconds of training a network with exits.

use crate::depth::Scheme;
use crate::nn::Backbone;
use crate::thesis::table::{Baseline, Row, Spec, Table, value};

/// The table.
pub const TIME_COMPLEXITY: Table = Table {
    name: "dynam:tab:time_complexity",
    title: "Seconds of training ADMP-GCN at once (ALM) and in turn (ST)",
    section: "ch. 4, appendix, Time Complexity",
    columns: &[
        "Cora",
        "squirrel",
        "chameleon",
        "Computers",
        "Photo",
        "ogbn-arxiv",
    ],
    rows: &[
        Row {
            label: "ADMP-GCN ALM",
            spec: Spec::ExitsTime {
                backbone: Backbone::Gcn,
                scheme: Scheme::AdmpAlm,
            },
            figures: &[
                value(14.0, 1.0),
                value(36.0, 1.0),
                value(15.0, 1.0),
                value(51.0, 1.0),
                value(26.0, 1.0),
                value(266.0, 1.0),
            ],
        },
        Row {
            label: "ADMP-GCN ST",
            spec: Spec::ExitsTime {
                backbone: Backbone::Gcn,
                scheme: Scheme::AdmpSt,
            },
            figures: &[
                value(32.0, 1.0),
                value(88.0, 1.0),
                value(40.0, 1.0),
                value(175.0, 1.0),
                value(87.0, 1.0),
                value(882.0, 1.0),
            ],
        },
    ],
    baseline: Baseline::Row("ADMP-GCN ALM"),
    notes: &[
        "runs go one after another on all cores of this machine; the thesis' are of a GPU: rows can be compared with each other",
    ],
};
