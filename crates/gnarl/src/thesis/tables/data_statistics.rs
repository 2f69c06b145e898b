//! `gen:tab:data_statistics` (ch. 7): the sets of graphs, which are columns here.

use crate::thesis::table::{Baseline, Figure, Row, SetProperty, Spec, Table, count, value};

/// The table.
pub const DATA_STATISTICS: Table = Table {
    name: "gen:tab:data_statistics",
    title: "Properties of the sets of graphs",
    section: "ch. 7, appendix, Experimental Setup",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: ROWS,
    baseline: Baseline::None,
    notes: &["nodes without features have one-hot degrees"],
};

const ROWS: &[Row] = &[
    Row {
        label: "graphs",
        spec: Spec::SetProperty(SetProperty::Graphs),
        figures: &[
            count(1000),
            count(1500),
            count(188),
            count(1113),
            count(1178),
        ],
    },
    Row {
        label: "features",
        spec: Spec::SetProperty(SetProperty::Features),
        figures: &[
            Figure::Absent,
            Figure::Absent,
            count(7),
            count(3),
            count(82),
        ],
    },
    Row {
        label: "mean nodes",
        spec: Spec::SetProperty(SetProperty::MeanNodes),
        figures: &[
            value(19.77, 0.01),
            value(13.0, 0.01),
            value(17.93, 0.01),
            value(39.06, 0.01),
            value(284.32, 0.01),
        ],
    },
    Row {
        label: "mean edges",
        spec: Spec::SetProperty(SetProperty::MeanEdges),
        figures: &[
            value(96.53, 0.01),
            value(65.94, 0.01),
            value(19.79, 0.01),
            value(72.82, 0.01),
            value(715.66, 0.01),
        ],
    },
    Row {
        label: "classes",
        spec: Spec::SetProperty(SetProperty::Classes),
        figures: &[count(2), count(3), count(2), count(2), count(2)],
    },
];
