//! `gen:tab:complexity` (ch. 7): seconds of augmentation and of training.

use crate::nn::Backbone;
use crate::thesis::graphs::{
    Classifier, DROP_EDGE, DROP_NODE, G_MIXUP, GEO_MIX, GRATIN, RETRAIN, SUBMIX,
};
use crate::thesis::table::{
    Baseline, Figure, Row, Table, augmentation_time, graph_training_time, value,
};

/// The table.
pub const COMPLEXITY: Table = Table {
    name: "gen:tab:complexity",
    title: "Seconds of augmentation and of training of graph classification",
    section: "ch. 7, appendix, Training and Augmentation time",
    columns: &["IMDB-BINARY", "MUTAG", "DD"],
    rows: ROWS,
    baseline: Baseline::Pairs(PAIRS),
    notes: &[
        "seconds of one core of this machine, fold after fold; other cells run beside, unless with --threads 1: rows can be compared with each other, not with the thesis",
        "the GCN backbone; the thesis does not name it",
        "augmentation: making one copy of every training graph, with its operator; of GRATIN and retrain, all that follows the training of the network: vectors, draws and the fresh head, so that GRATIN minus retrain is the drawing",
        "training: a whole run, augmentation included",
    ],
};

const GCN: Classifier = Classifier::new(Backbone::Gcn);

/// Rows and what each is compared with.
const PAIRS: &[(&str, &str)] = &[
    ("augmentation, s: GRATIN", "augmentation, s: retrain (ours)"),
    ("training, s: DropEdge", "training, s: Vanilla"),
    ("training, s: DropNode", "training, s: Vanilla"),
    ("training, s: SubMix", "training, s: Vanilla"),
    ("training, s: G-Mixup", "training, s: Vanilla"),
    ("training, s: GeoMix", "training, s: Vanilla"),
    ("training, s: retrain (ours)", "training, s: Vanilla"),
    ("training, s: GRATIN", "training, s: Vanilla"),
];

const ROWS: &[Row] = &[
    Row {
        label: "augmentation, s: DropEdge",
        spec: augmentation_time(GCN.with(DROP_EDGE)),
        figures: &[value(0.02, 0.01), value(0.01, 0.01), value(0.01, 0.01)],
    },
    Row {
        label: "augmentation, s: DropNode",
        spec: augmentation_time(GCN.with(DROP_NODE)),
        figures: &[value(0.01, 0.01), value(0.02, 0.01), value(0.01, 0.01)],
    },
    Row {
        label: "augmentation, s: SubMix",
        spec: augmentation_time(GCN.with(SUBMIX)),
        figures: &[value(1.27, 0.01), value(0.23, 0.01), value(0.45, 0.01)],
    },
    Row {
        label: "augmentation, s: G-Mixup",
        spec: augmentation_time(GCN.with(G_MIXUP)),
        figures: &[value(0.74, 0.01), value(0.11, 0.01), value(4.26, 0.01)],
    },
    Row {
        label: "augmentation, s: GeoMix",
        spec: augmentation_time(GCN.with(GEO_MIX)),
        figures: &[
            value(2344.12, 0.01),
            value(73.52, 0.01),
            value(1005.35, 0.01),
        ],
    },
    Row {
        label: "augmentation, s: retrain (ours)",
        spec: augmentation_time(GCN.with(RETRAIN)),
        figures: &[Figure::Absent; 3],
    },
    Row {
        label: "augmentation, s: GRATIN",
        spec: augmentation_time(GCN.with(GRATIN)),
        figures: &[value(2.87, 0.01), value(0.51, 0.01), value(3.25, 0.01)],
    },
    Row {
        label: "training, s: Vanilla",
        spec: graph_training_time(GCN),
        figures: &[value(765.96, 0.01), value(99.32, 0.01), value(428.1, 0.01)],
    },
    Row {
        label: "training, s: DropEdge",
        spec: graph_training_time(GCN.with(DROP_EDGE)),
        figures: &[
            value(892.14, 0.01),
            value(596.82, 0.01),
            value(3037.3, 0.01),
        ],
    },
    Row {
        label: "training, s: DropNode",
        spec: graph_training_time(GCN.with(DROP_NODE)),
        figures: &[value(884.71, 0.01), value(803.63, 0.01), value(3325.0, 1.0)],
    },
    Row {
        label: "training, s: SubMix",
        spec: graph_training_time(GCN.with(SUBMIX)),
        figures: &[
            value(1711.01, 0.01),
            value(1487.03, 0.01),
            value(2751.92, 0.01),
        ],
    },
    Row {
        label: "training, s: G-Mixup",
        spec: graph_training_time(GCN.with(G_MIXUP)),
        figures: &[value(148.71, 0.01), value(28.14, 0.01), value(177.55, 0.01)],
    },
    Row {
        label: "training, s: GeoMix",
        spec: graph_training_time(GCN.with(GEO_MIX)),
        figures: &[value(89.01, 0.01), value(101.82, 0.01), value(123.41, 0.01)],
    },
    Row {
        label: "training, s: retrain (ours)",
        spec: graph_training_time(GCN.with(RETRAIN)),
        figures: &[Figure::Absent; 3],
    },
    Row {
        label: "training, s: GRATIN",
        spec: graph_training_time(GCN.with(GRATIN)),
        figures: &[
            value(774.47, 0.01),
            value(101.56, 0.01),
            value(438.39, 0.01),
        ],
    },
];
