//! `dynam:fig:photo_synthetic` (ch. 4, Depth Analysis on Synthetic Graphs): a figure as a table. A
//! row is a depth, a cell holds the accuracy on all test nodes of the joined halves, on those of
//! the sparse half and on those of the dense one.

use crate::thesis::table::{Baseline, Figure, Row, Spec, Table};

/// The figure.
pub const PHOTO_SYNTHETIC: Table = Table {
    name: "dynam:fig:photo_synthetic",
    title: "Accuracy of GCNs by depth on joined sparse and dense halves of Photo and Computers",
    section: "ch. 4, Depth Analysis on Synthetic Graphs",
    columns: &["Photo", "Computers"],
    rows: &[
        at(0, "depth 0"),
        at(1, "depth 1"),
        at(2, "depth 2"),
        at(3, "depth 3"),
        at(4, "depth 4"),
        at(5, "depth 5"),
        at(6, "depth 6"),
        at(7, "depth 7"),
        at(8, "depth 8"),
        at(9, "depth 9"),
        at(10, "depth 10"),
    ],
    baseline: Baseline::None,
    notes: &[
        "5,000 nodes: in each class the same number from its half of lower core numbers and from its half of higher ones, with the original edges; run i draws them by seed + i",
        "the thesis prints a picture, no figures: dense accuracy falls with depth earlier than sparse accuracy",
    ],
};

const fn at(depth: usize, label: &'static str) -> Row {
    Row {
        label,
        spec: Spec::Halves { depth },
        figures: &[Figure::Absent, Figure::Absent],
    }
}
