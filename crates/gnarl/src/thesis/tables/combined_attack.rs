//! Edges and features attacked together (ch. 5, appendix). The thesis gives this table no label.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{COMBINED, Subject};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Row, Table, acc, under};

/// The table.
pub const COMBINED_ATTACK: Table = Table {
    name: "tab:combined_attack",
    title: "Accuracy under edges and features attacked together",
    section: "ch. 5, appendix, Experimental Validation",
    columns: &["Cora", "CiteSeer", "PubMed", "CoraML"],
    rows: ROWS,
    baseline: Baseline::Row("GCN"),
    notes: &[
        STUDY_5,
        "the thesis gives this table no label: the name is ours",
        "Mettack flips a tenth of the edges through a surrogate, and noise of psi 5 is put on every feature; the trained model meets both at once (evasion)",
        "with psi the expected norm of a node's noise, as the text of chapter 5 has it, 5.0 leaves nothing of row-normalised features; the thesis' figures cannot be of that",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
const RGCN: Subject = Subject::new(Backbone::Rgcn, Recipe::ThesisCh5);
const GNN_GUARD: Subject = Subject::new(Backbone::GnnGuard, Recipe::ThesisCh5);

const ROWS: &[Row] = &[
    Row {
        label: "GCN",
        spec: under(GCN, COMBINED),
        figures: &[
            acc(76.7, 1.2),
            acc(68.7, 0.3),
            acc(47.0, 0.4),
            acc(63.3, 0.0),
        ],
    },
    Row {
        label: "GCN-Jaccard",
        spec: under(GCN.jaccard(), COMBINED),
        figures: &[
            acc(76.7, 0.4),
            acc(71.5, 0.3),
            acc(49.4, 0.8),
            acc(32.2, 1.5),
        ],
    },
    Row {
        label: "RGCN",
        spec: under(RGCN, COMBINED),
        figures: &[
            acc(78.1, 0.6),
            acc(68.9, 0.8),
            acc(51.2, 0.4),
            acc(59.7, 1.4),
        ],
    },
    Row {
        label: "GNN-SVD",
        spec: under(GCN.svd(), COMBINED),
        figures: &[
            acc(65.9, 4.0),
            acc(68.3, 0.5),
            acc(47.7, 0.5),
            acc(53.8, 0.8),
        ],
    },
    Row {
        label: "GNNGuard",
        spec: under(GNN_GUARD, COMBINED),
        figures: &[
            acc(61.0, 0.4),
            acc(65.0, 0.3),
            acc(40.3, 0.3),
            acc(32.2, 1.5),
        ],
    },
    Row {
        label: "ParsevalR",
        spec: under(GCN.parseval(), COMBINED),
        figures: &[
            acc(77.6, 1.1),
            acc(70.9, 0.6),
            acc(49.7, 1.1),
            acc(65.4, 0.2),
        ],
    },
    Row {
        label: "GCORN",
        spec: under(GCN.orthonormal(2), COMBINED),
        figures: &[
            acc(79.8, 0.7),
            acc(74.2, 0.3),
            acc(53.9, 0.8),
            acc(77.4, 1.1),
        ],
    },
];
