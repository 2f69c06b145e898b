//! `tab:time_analysis` (ch. 5, appendix): seconds of training defended networks.

use super::holes::STUDY_5;
use crate::nn::Backbone;
use crate::thesis::attacked::{Subject, Threat, noise};
use crate::thesis::recipe::Recipe;
use crate::thesis::table::{Baseline, Row, Table, training_time, value};

/// The table.
pub const TIME_ANALYSIS: Table = Table {
    name: "tab:time_analysis",
    title: "Seconds of training GCORN and others",
    section: "ch. 5, appendix, Time and Complexity Analysis",
    columns: &["Cora", "CiteSeer", "PubMed", "CS"],
    rows: ROWS,
    baseline: Baseline::Row("GCN"),
    notes: &[
        STUDY_5,
        "time is the median step times the steps, of runs side by side on this machine: rows can be compared with each other, not with the thesis",
        "the thesis' column OGBN-Arxiv is left out: it has 31,971 nodes of 169,343, and nothing says which",
    ],
};

const GCN: Subject = Subject::new(Backbone::Gcn, Recipe::ThesisCh5);
const GCN_K: Subject = Subject::new(Backbone::GcnK, Recipe::ThesisCh5);
const AIR_GNN: Subject = Subject::new(Backbone::AirGnn, Recipe::ThesisCh5);
const RGCN: Subject = Subject::new(Backbone::Rgcn, Recipe::ThesisCh5);
/// The noise whose cells are run anyway.
const PSI: Threat = noise(0.5);

const ROWS: &[Row] = &[
    Row {
        label: "GCN",
        spec: training_time(GCN, PSI),
        figures: &[
            value(2.8, 0.1),
            value(2.4, 0.1),
            value(5.9, 0.1),
            value(6.1, 0.1),
        ],
    },
    Row {
        label: "GCN-k",
        spec: training_time(GCN_K, PSI),
        figures: &[
            value(1.8, 0.1),
            value(5.8, 0.1),
            value(8.9, 0.1),
            value(12.1, 0.1),
        ],
    },
    Row {
        label: "AirGNN",
        spec: training_time(AIR_GNN, PSI),
        figures: &[
            value(2.6, 0.1),
            value(2.9, 0.1),
            value(7.4, 0.1),
            value(12.4, 0.1),
        ],
    },
    Row {
        label: "RGCN",
        spec: training_time(RGCN, PSI),
        figures: &[
            value(3.2, 0.1),
            value(2.4, 0.1),
            value(14.5, 0.1),
            value(13.8, 0.1),
        ],
    },
    Row {
        label: "GCORN",
        spec: training_time(GCN.orthonormal(2), PSI),
        figures: &[
            value(4.8, 0.1),
            value(4.6, 0.1),
            value(7.3, 0.1),
            value(15.5, 0.1),
        ],
    },
];
