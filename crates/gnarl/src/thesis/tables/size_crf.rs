//! `crf:lem:size_CRF` (ch. 6): how many graphs lie around one, at least. The thesis draws the bound
//! by the radius (`crf:fig:lower_bound`); here a row is a radius and a column a dataset, drawn by
//! its number of nodes.

use crate::thesis::table::{Baseline, Figure, Property, Row, Spec, Table};

/// The figure.
pub const SIZE_CRF: Table = Table {
    name: "crf:lem:size_CRF",
    title: "Base-2 logarithm of the number of graphs within so many flips, at least",
    section: "ch. 6, appendix, Empirical Investigation of the Lower Bound",
    columns: &[
        "Texas", "PolBlogs", "Cora", "CoraML", "CiteSeer", "CS", "PubMed",
    ],
    rows: &[
        within(1, "1 flip"),
        within(10, "10 flips"),
        within(100, "100 flips"),
        within(1000, "1000 flips"),
    ],
    baseline: Baseline::None,
    notes: &[
        "the bound counts n (n - 1) / 2 places for an edge, where the lemma counts n (n + 1) / 2 and with them edges from a node to itself, which these graphs do not have: ours are a little smaller for that reason",
        "it depends on nodes and radius alone; the thesis prints a picture, no figures",
    ],
};

const fn within(radius: u32, label: &'static str) -> Row {
    Row {
        label,
        spec: Spec::Property(Property::Neighbours { radius }),
        figures: &[Figure::Absent; 7],
    }
}
