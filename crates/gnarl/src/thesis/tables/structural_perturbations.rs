//! `tab:structural_perturbations` (ch. 5): accuracy under attacks on edges.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{DICE, METTACK, PGD_STRUCTURE, Subject};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Figure, Row, Table, acc, before, under};

/// The table.
pub const STRUCTURAL_PERTURBATIONS: Table = Table {
    name: "tab:structural_perturbations",
    title: "Accuracy under attacks on a tenth of the edges",
    section: "ch. 5, Experimental Results",
    columns: &["Cora", "CiteSeer", "PubMed", "CoraML"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        STUDY_5,
        "Mettack is Meta-Self by a linear surrogate, against the training; PGD goes through every defence to the edges; GCN-Jaccard and GNN-SVD have DeepRobust's defaults (0.01, rank 50)",
        "a trained model's input is attacked; the thesis does not say whether its models were trained before or after PGD and DICE",
        "each dataset is split by its own protocol: public splits, and 10 / 10 / 80 % of CoraML's largest component; the clean rows are ours",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
const RGCN: Subject = Subject::new(Backbone::Rgcn, Recipe::ThesisCh5);
const PARSEVAL: Subject = GCN.parseval();
const GCORN: Subject = GCN.orthonormal(2);
const JACCARD: Subject = GCN.jaccard();
const SVD: Subject = GCN.svd();
const GUARD: Subject = Subject::new(Backbone::GnnGuard, Recipe::ThesisCh5);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("clean: RGCN", "clean: GCN"),
    ("clean: ParsevalR", "clean: GCN"),
    ("clean: GCORN", "clean: GCN"),
    ("PGD: RGCN", "PGD: GCN"),
    ("PGD: ParsevalR", "PGD: GCN"),
    ("PGD: GCORN", "PGD: GCN"),
    ("DICE: RGCN", "DICE: GCN"),
    ("DICE: ParsevalR", "DICE: GCN"),
    ("DICE: GCORN", "DICE: GCN"),
    ("Mettack: GCN-Jaccard", "Mettack: GCN"),
    ("Mettack: RGCN", "Mettack: GCN"),
    ("Mettack: GNN-SVD", "Mettack: GCN"),
    ("Mettack: GNN-Guard", "Mettack: GCN"),
    ("Mettack: ParsevalR", "Mettack: GCN"),
    ("Mettack: GCORN", "Mettack: GCN"),
    ("PGD: GCN-Jaccard", "PGD: GCN"),
    ("PGD: GNN-SVD", "PGD: GCN"),
    ("PGD: GNN-Guard", "PGD: GCN"),
    ("DICE: GCN-Jaccard", "DICE: GCN"),
    ("DICE: GNN-SVD", "DICE: GCN"),
    ("DICE: GNN-Guard", "DICE: GCN"),
];

const ROWS: &[Row] = &[
    Row {
        label: "clean: GCN",
        spec: before(GCN, DICE),
        figures: &[
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
        ],
    },
    Row {
        label: "clean: RGCN",
        spec: before(RGCN, DICE),
        figures: &[
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
        ],
    },
    Row {
        label: "clean: ParsevalR",
        spec: before(PARSEVAL, DICE),
        figures: &[
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
        ],
    },
    Row {
        label: "clean: GCORN",
        spec: before(GCORN, DICE),
        figures: &[
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
            Figure::Absent,
        ],
    },
    Row {
        label: "Mettack: GCN",
        spec: under(GCN, METTACK),
        figures: &[
            acc(73.0, 0.7),
            acc(63.2, 0.9),
            acc(60.7, 0.7),
            acc(73.1, 0.6),
        ],
    },
    Row {
        label: "Mettack: GCN-Jaccard",
        spec: under(JACCARD, METTACK),
        figures: &[
            acc(75.4, 1.8),
            acc(69.5, 1.9),
            acc(62.9, 1.8),
            acc(75.4, 0.4),
        ],
    },
    Row {
        label: "Mettack: RGCN",
        spec: under(RGCN, METTACK),
        figures: &[
            acc(69.2, 0.3),
            acc(68.9, 0.6),
            acc(65.1, 0.4),
            acc(77.1, 1.1),
        ],
    },
    Row {
        label: "Mettack: GNN-SVD",
        spec: under(SVD, METTACK),
        figures: &[
            acc(73.6, 0.9),
            acc(65.8, 0.6),
            acc(82.1, 0.8),
            acc(71.3, 1.0),
        ],
    },
    Row {
        label: "Mettack: GNN-Guard",
        spec: under(GUARD, METTACK),
        figures: &[
            acc(74.4, 0.8),
            acc(68.8, 1.5),
            acc(84.8, 0.3),
            acc(76.5, 0.7),
        ],
    },
    Row {
        label: "Mettack: ParsevalR",
        spec: under(PARSEVAL, METTACK),
        figures: &[
            acc(71.9, 0.7),
            acc(68.3, 0.8),
            acc(69.5, 1.1),
            acc(76.9, 1.3),
        ],
    },
    Row {
        label: "Mettack: GCORN",
        spec: under(GCORN, METTACK),
        figures: &[
            acc(77.3, 0.5),
            acc(73.7, 0.3),
            acc(71.8, 0.4),
            acc(79.2, 0.6),
        ],
    },
    Row {
        label: "PGD: GCN",
        spec: under(GCN, PGD_STRUCTURE),
        figures: &[
            acc(76.7, 0.9),
            acc(67.8, 0.8),
            acc(75.3, 1.6),
            acc(76.9, 1.2),
        ],
    },
    Row {
        label: "PGD: GCN-Jaccard",
        spec: under(JACCARD, PGD_STRUCTURE),
        figures: &[
            acc(78.3, 1.1),
            acc(70.9, 1.0),
            acc(73.8, 1.3),
            acc(75.0, 2.4),
        ],
    },
    Row {
        label: "PGD: RGCN",
        spec: under(RGCN, PGD_STRUCTURE),
        figures: &[
            acc(72.0, 0.3),
            acc(62.2, 1.8),
            acc(78.6, 0.4),
            acc(77.5, 0.3),
        ],
    },
    Row {
        label: "PGD: GNN-SVD",
        spec: under(SVD, PGD_STRUCTURE),
        figures: &[
            acc(71.6, 0.4),
            acc(60.3, 2.4),
            acc(81.9, 0.4),
            acc(73.1, 0.5),
        ],
    },
    Row {
        label: "PGD: GNN-Guard",
        spec: under(GUARD, PGD_STRUCTURE),
        figures: &[
            acc(75.0, 2.0),
            acc(68.9, 2.2),
            acc(84.3, 0.4),
            acc(75.5, 0.8),
        ],
    },
    Row {
        label: "PGD: ParsevalR",
        spec: under(PARSEVAL, PGD_STRUCTURE),
        figures: &[
            acc(78.4, 1.2),
            acc(70.6, 1.0),
            acc(77.3, 0.7),
            acc(81.3, 0.4),
        ],
    },
    Row {
        label: "PGD: GCORN",
        spec: under(GCORN, PGD_STRUCTURE),
        figures: &[
            acc(79.9, 0.4),
            acc(73.1, 0.5),
            acc(77.4, 0.4),
            acc(84.1, 0.2),
        ],
    },
    Row {
        label: "DICE: GCN",
        spec: under(GCN, DICE),
        figures: &[
            acc(74.9, 0.8),
            acc(64.1, 0.5),
            acc(79.4, 0.4),
            acc(78.3, 0.6),
        ],
    },
    Row {
        label: "DICE: GCN-Jaccard",
        spec: under(JACCARD, DICE),
        figures: &[
            acc(76.9, 0.9),
            acc(66.0, 0.6),
            acc(78.3, 0.2),
            acc(77.5, 0.3),
        ],
    },
    Row {
        label: "DICE: RGCN",
        spec: under(RGCN, DICE),
        figures: &[
            acc(79.6, 0.3),
            acc(68.7, 0.5),
            acc(79.8, 0.4),
            acc(80.1, 0.4),
        ],
    },
    Row {
        label: "DICE: GNN-SVD",
        spec: under(SVD, DICE),
        figures: &[
            acc(72.2, 1.4),
            acc(62.6, 1.2),
            acc(76.6, 0.5),
            acc(58.7, 0.4),
        ],
    },
    Row {
        label: "DICE: GNN-Guard",
        spec: under(GUARD, DICE),
        figures: &[
            acc(75.6, 1.1),
            acc(65.5, 1.1),
            acc(77.8, 0.7),
            acc(77.5, 0.2),
        ],
    },
    Row {
        label: "DICE: ParsevalR",
        spec: under(PARSEVAL, DICE),
        figures: &[
            acc(79.7, 0.8),
            acc(68.9, 0.4),
            acc(79.2, 0.3),
            acc(80.5, 1.3),
        ],
    },
    Row {
        label: "DICE: GCORN",
        spec: under(GCORN, DICE),
        figures: &[
            acc(78.9, 0.4),
            acc(74.6, 0.4),
            acc(78.1, 0.6),
            acc(81.1, 0.8),
        ],
    },
];
