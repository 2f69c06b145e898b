//! The tables of what datasets are like that the chapters open with. The thesis calls four of them
//! `data_statistics`: a chapter in a name is ours.

use crate::thesis::table::{
    Baseline, Figure, Property, Row, SetProperty, Spec, Table, count, value,
};

/// Where gnarl's numbers differ from those printed, and why.
const NODE_NOTES: &[&str] = &[
    "edges are undirected, without self-loops, and counted once; the thesis counts both directions, and self-loops, of all but the citation networks and CS, has 70 fewer of Cora and 14 more of PubMed",
    "classes are those that nodes have; a class without nodes is none",
];
/// Of its ch. 5 and 6.
const SMALLER: &[&str] = &[
    NODE_NOTES[0],
    "the thesis' OGBN-Arxiv has 31,971 nodes of 169,343, and nothing says which",
];
const SET_NOTES: &[&str] = &["as the collection has them"];

/// Properties of the graphs.
pub const DATA_STATISTICS_NODE: Table = Table {
    name: "tab:data_statistics_node",
    title: "Properties of the graphs",
    section: "ch. 2, Datasets for the Node Classification Task",
    columns: &[
        "Cora",
        "CiteSeer",
        "PubMed",
        "CS",
        "arxiv-year",
        "chameleon",
        "Cornell",
        "deezer-europe",
        "squirrel",
        "Wisconsin",
        "Texas",
        "Photo",
        "ogbn-arxiv",
        "Computers",
        "Physics",
        "Penn94",
    ],
    rows: &[
        Row {
            label: "features",
            spec: Spec::Property(Property::Features),
            figures: &[
                count(1_433),
                count(3_703),
                count(500),
                count(6_805),
                count(128),
                count(2_325),
                count(1_703),
                count(31_241),
                count(2_089),
                count(1_703),
                count(1_703),
                count(745),
                count(128),
                count(767),
                count(8_415),
                count(4_814),
            ],
        },
        Row {
            label: "nodes",
            spec: Spec::Property(Property::Nodes),
            figures: &[
                count(2_708),
                count(3_327),
                count(19_717),
                count(18_333),
                count(169_343),
                count(2_277),
                count(183),
                count(28_281),
                count(5_201),
                count(251),
                count(183),
                count(7_650),
                count(169_343),
                count(13_752),
                count(34_493),
                count(41_554),
            ],
        },
        Row {
            label: "edges",
            spec: Spec::Property(Property::Edges),
            figures: &[
                count(5_208),
                count(4_552),
                count(44_338),
                count(81_894),
                count(1_157_799),
                count(62_792),
                count(557),
                count(185_504),
                count(396_846),
                count(916),
                count(574),
                count(238_162),
                count(2_315_598),
                count(491_722),
                count(495_924),
                count(2_724_458),
            ],
        },
        Row {
            label: "classes",
            spec: Spec::Property(Property::Classes),
            figures: &[
                count(7),
                count(6),
                count(3),
                count(15),
                count(5),
                count(5),
                count(5),
                count(2),
                count(5),
                count(5),
                count(5),
                count(8),
                count(40),
                count(10),
                count(5),
                count(3),
            ],
        },
        Row {
            label: "homophily",
            spec: Spec::Property(Property::Homophily),
            figures: &[
                value(0.809, 0.001),
                value(0.735, 0.001),
                value(0.802, 0.001),
                value(0.808, 0.001),
                value(0.218, 0.001),
                value(0.231, 0.001),
                value(0.132, 0.001),
                value(0.525, 0.001),
                value(0.222, 0.001),
                value(0.206, 0.001),
                value(0.111, 0.001),
                value(0.827, 0.001),
                value(0.654, 0.001),
                value(0.777, 0.001),
                value(0.931, 0.001),
                value(0.47, 0.001),
            ],
        },
    ],
    baseline: Baseline::None,
    notes: NODE_NOTES,
};

/// Properties of the sets of graphs.
pub const DATA_STATISTICS_GRAPH: Table = Table {
    name: "tab:data_statistics_graph",
    title: "Properties of the sets of graphs",
    section: "ch. 2, Datasets for the Graph Classification Task",
    columns: &["IMDB-BINARY", "IMDB-MULTI", "MUTAG", "PROTEINS", "DD"],
    rows: &[
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
    ],
    baseline: Baseline::None,
    notes: SET_NOTES,
};

/// Properties of the graphs of chapter 3: the figures of chapter 2 once more.
pub const DATA_STATISTICS_CH3: Table = Table {
    name: "cgsO:tab:data_statistics_ch3",
    title: "Properties of the graphs of chapter 3",
    section: "ch. 3, appendix, Dataset Statistics",
    ..DATA_STATISTICS_NODE
};

/// Properties of the graphs of chapter 4.
pub const DATA_STATISTICS_CH4: Table = Table {
    name: "dynam:tab:data_statistics_ch4",
    title: "Properties of the graphs of chapter 4",
    section: "ch. 4, appendix, Dataset Statistics",
    columns: &[
        "Cora",
        "CiteSeer",
        "PubMed",
        "CS",
        "chameleon",
        "Cornell",
        "squirrel",
        "Wisconsin",
        "Texas",
        "Photo",
        "ogbn-arxiv",
        "Computers",
    ],
    rows: &[
        Row {
            label: "features",
            spec: Spec::Property(Property::Features),
            figures: &[
                count(1_433),
                count(3_703),
                count(500),
                count(6_805),
                count(2_325),
                count(1_703),
                count(2_089),
                count(1_703),
                count(1_703),
                count(745),
                count(128),
                count(767),
            ],
        },
        Row {
            label: "nodes",
            spec: Spec::Property(Property::Nodes),
            figures: &[
                count(2_708),
                count(3_327),
                count(19_717),
                count(18_333),
                count(2_277),
                count(183),
                count(5_201),
                count(251),
                count(183),
                count(7_650),
                count(169_343),
                count(13_752),
            ],
        },
        Row {
            label: "edges",
            spec: Spec::Property(Property::Edges),
            figures: &[
                count(5_208),
                count(4_552),
                count(44_338),
                count(81_894),
                count(62_792),
                count(557),
                count(396_846),
                count(916),
                count(574),
                count(238_162),
                count(2_315_598),
                count(491_722),
            ],
        },
        Row {
            label: "classes",
            spec: Spec::Property(Property::Classes),
            figures: &[
                count(7),
                count(6),
                count(3),
                count(15),
                count(5),
                count(5),
                count(5),
                count(5),
                count(5),
                count(8),
                count(40),
                count(10),
            ],
        },
        Row {
            label: "homophily",
            spec: Spec::Property(Property::Homophily),
            figures: &[
                value(0.809, 0.001),
                value(0.735, 0.001),
                value(0.802, 0.001),
                value(0.808, 0.001),
                value(0.231, 0.001),
                value(0.132, 0.001),
                value(0.222, 0.001),
                value(0.206, 0.001),
                value(0.111, 0.001),
                value(0.827, 0.001),
                value(0.654, 0.001),
                value(0.777, 0.001),
            ],
        },
    ],
    baseline: Baseline::None,
    notes: NODE_NOTES,
};

/// Properties of the graphs of chapter 5.
pub const DATA_STATISTICS_CH5: Table = Table {
    name: "tab:data_statistics_ch5",
    title: "Properties of the graphs of chapter 5",
    section: "ch. 5, appendix, Datasets and Implementation Details",
    columns: &["Cora", "CiteSeer", "PubMed", "CS", "ogbn-arxiv"],
    rows: &[
        Row {
            label: "features",
            spec: Spec::Property(Property::Features),
            figures: &[
                count(1_433),
                count(3_703),
                count(500),
                count(6_805),
                count(128),
            ],
        },
        Row {
            label: "nodes",
            spec: Spec::Property(Property::Nodes),
            figures: &[
                count(2_708),
                count(3_327),
                count(19_717),
                count(18_333),
                count(31_971),
            ],
        },
        Row {
            label: "edges",
            spec: Spec::Property(Property::Edges),
            figures: &[
                count(5_208),
                count(4_552),
                count(44_338),
                count(81_894),
                count(71_669),
            ],
        },
        Row {
            label: "classes",
            spec: Spec::Property(Property::Classes),
            figures: &[count(7), count(6), count(3), count(15), count(40)],
        },
    ],
    baseline: Baseline::None,
    notes: SMALLER,
};

/// Properties of the sets of graphs of chapter 5.
pub const DATA_STATISTICS_SETS_CH5: Table = Table {
    name: "tab:data_statistics_sets_ch5",
    title: "Properties of the sets of graphs of chapter 5",
    section: "ch. 5, appendix, Datasets and Implementation Details",
    columns: &["DD", "NCI1", "PROTEINS"],
    rows: &[
        Row {
            label: "graphs",
            spec: Spec::SetProperty(SetProperty::Graphs),
            figures: &[count(1178), count(4110), count(1113)],
        },
        Row {
            label: "mean nodes",
            spec: Spec::SetProperty(SetProperty::MeanNodes),
            figures: &[value(284.32, 0.01), value(29.87, 0.01), value(39.06, 0.01)],
        },
        Row {
            label: "mean edges",
            spec: Spec::SetProperty(SetProperty::MeanEdges),
            figures: &[value(715.66, 0.01), value(32.3, 0.01), value(72.82, 0.01)],
        },
        Row {
            label: "classes",
            spec: Spec::SetProperty(SetProperty::Classes),
            figures: &[count(2), count(2), count(2)],
        },
    ],
    baseline: Baseline::None,
    notes: SET_NOTES,
};

/// Properties of the graphs of chapter 6.
pub const DATA_STATISTICS_CH6: Table = Table {
    name: "crf:tab:data_statistics_ch6",
    title: "Properties of the graphs of chapter 6",
    section: "ch. 6, appendix, Experimental Setup",
    columns: &[
        "Cora",
        "CoraML",
        "CiteSeer",
        "PubMed",
        "CS",
        "PolBlogs",
        "Texas",
        "ogbn-arxiv",
    ],
    rows: &[
        Row {
            label: "features",
            spec: Spec::Property(Property::Features),
            figures: &[
                count(1_433),
                count(300),
                count(3_703),
                count(500),
                count(6_805),
                Figure::Absent,
                count(1_703),
                count(128),
            ],
        },
        Row {
            label: "nodes",
            spec: Spec::Property(Property::Nodes),
            figures: &[
                count(2_708),
                count(2_995),
                count(3_327),
                count(19_717),
                count(18_333),
                count(1_490),
                count(183),
                count(31_971),
            ],
        },
        Row {
            label: "edges",
            spec: Spec::Property(Property::Edges),
            figures: &[
                count(5_208),
                count(8_226),
                count(4_552),
                count(44_338),
                count(81_894),
                count(19_025),
                count(309),
                count(71_669),
            ],
        },
        Row {
            label: "classes",
            spec: Spec::Property(Property::Classes),
            figures: &[
                count(7),
                count(7),
                count(6),
                count(3),
                count(15),
                count(2),
                count(5),
                count(40),
            ],
        },
    ],
    baseline: Baseline::None,
    notes: SMALLER,
};
