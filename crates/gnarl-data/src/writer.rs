//! Writes a dataset in the forms of a user's own files. The loaders
//! [`edge_list`](super::edge_list), [`scipy`](super::scipy) and [`tu`](super::tu) read them back to
//! equal numbers.
//!
//! | path | one graph | set of graphs |
//! | --- | --- | --- |
//! | a folder | `edges.csv`, and `features.csv`, `labels.csv`, `splits.csv` if there are any | `NAME_A.txt` and the other files of the TU collection |
//! | `….npz` | an archive for SciPy: edges, features and labels | - |
//! | `….csv`, `.tsv`, `.txt`, `.edges` | edges alone | - |

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Content, npz_writer};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::files::write_atomically;
use gnarl_graph::graph::Graph;
use gnarl_graph::graph_set::GraphSet;
use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};

/// Files that were written, and data that the form cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Descriptions of the data that was left out.
    pub left_out: Vec<&'static str>,
}

/// Writes a dataset in the form given by the path's extension; each file is written completely or
/// not at all. A missing folder is made; a folder that is not empty is refused.
pub fn write(path: &Path, name: &str, content: &Content) -> Result<Written> {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .map(str::to_ascii_lowercase);
    let graph = match (ending.as_deref(), content) {
        (None, content) => {
            make_folder(path)?;
            return match content {
                Content::Graph(graph) => write_folder(path, graph),
                Content::Graphs(set) => write_set(path, name, set),
            };
        }
        (Some(_), Content::Graphs(_)) => {
            let what = "a set of graphs is a folder of files; give a name without an ending";
            return Err(Error::data(path, "output", what));
        }
        (Some(_), Content::Graph(graph)) => graph,
    };
    match ending.as_deref().unwrap_or_default() {
        "npz" => write_npz(path, graph),
        "csv" => write_edges(path, graph, ","),
        "tsv" | "txt" | "edges" => write_edges(path, graph, "\t"),
        other => {
            let what = format!(
                "'.{other}' is no form that is written: .npz, .csv, .tsv, .txt, .edges, or a folder"
            );
            Err(Error::data(path, "output", what))
        }
    }
}

fn write_npz(path: &Path, graph: &Graph) -> Result<Written> {
    npz_writer::save(path, graph)?;
    let left_out = [
        ("names of nodes", graph.node_names().is_some()),
        ("splits", !graph.splits().is_empty()),
    ];
    Ok(Written {
        files: vec![path.to_path_buf()],
        left_out: kept(&left_out),
    })
}

fn write_edges(path: &Path, graph: &Graph, separator: &str) -> Result<Written> {
    write_atomically(path, edges(graph, separator))?;
    let left_out = [
        ("features", graph.features().is_some()),
        ("labels", graph.labels().is_some()),
        ("splits", !graph.splits().is_empty()),
        (
            "nodes without an edge",
            nodes(graph).any(|u| graph.degree(u) == 0),
        ),
    ];
    Ok(Written {
        files: vec![path.to_path_buf()],
        left_out: kept(&left_out),
    })
}

fn kept(all: &[(&'static str, bool)]) -> Vec<&'static str> {
    all.iter()
        .filter(|(_, there)| *there)
        .map(|(what, _)| *what)
        .collect()
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
    let mut inside = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
    match inside.next() {
        None => Ok(()),
        Some(_) => Err(Error::data(
            path,
            "output",
            "the folder is not empty; name one that is not there yet",
        )),
    }
}

/// Formats a field for CSV: quoted if necessary.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\t', ' ', '#', '%', '\r', '\n']) || text.is_empty() {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

/// Formats edges under a header, once each.
fn edges(graph: &Graph, separator: &str) -> String {
    let weighted = graph.weights().is_some();
    let mut text =
        ["source", "target", "weight"][..if weighted { 3 } else { 2 }].join(separator) + "\n";
    for (u, v, weight) in graph.weighted_edges() {
        text += &[field(&graph.node_name(u)), field(&graph.node_name(v))].join(separator);
        if weighted {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{weight}");
        }
        text.push('\n');
    }
    text
}

fn write_folder(folder: &Path, graph: &Graph) -> Result<Written> {
    let tables = [
        ("edges.csv", Some(edges(graph, ","))),
        ("features.csv", graph.features().map(|f| features(graph, f))),
        ("labels.csv", labels(graph)),
        ("splits.csv", splits(graph)),
    ];
    let mut files = Vec::new();
    for (name, text) in tables {
        if let Some(text) = text {
            let file = folder.join(name);
            write_atomically(&file, text)?;
            files.push(file);
        }
    }
    Ok(Written {
        files,
        left_out: Vec::new(),
    })
}

/// Returns a node's name as a field.
fn node_field(graph: &Graph, u: u32) -> String {
    field(&graph.node_name(u))
}

fn nodes(graph: &Graph) -> std::ops::Range<u32> {
    0..graph.num_nodes() as u32
}

/// Formats features: a column each if they are dense, else a row for each value.
fn features(graph: &Graph, features: &Features) -> String {
    match features {
        Features::Dense(dense) => dense_features(graph, dense),
        Features::Sparse(sparse) => sparse_features(graph, sparse),
    }
}

fn dense_features(graph: &Graph, dense: &DenseMatrix<f32>) -> String {
    let columns = (0..dense.num_cols()).map(|i| format!("x{i}"));
    let mut text = std::iter::once("node".to_string())
        .chain(columns)
        .collect::<Vec<_>>()
        .join(",")
        + "\n";
    for u in nodes(graph) {
        text += &node_field(graph, u);
        for x in dense.row(u as usize) {
            let _ = write!(text, ",{x}");
        }
        text.push('\n');
    }
    text
}

fn sparse_features(graph: &Graph, sparse: &CsrMatrix<f32>) -> String {
    let mut text = String::from("node,column,value\n");
    for u in nodes(graph) {
        let (columns, values) = sparse.row(u as usize);
        let name = node_field(graph, u);
        for (column, x) in columns.iter().zip(values) {
            let _ = writeln!(text, "{name},{column},{x}");
        }
    }
    // A last column, or a last node, without a value is written explicitly, as a zero.
    if let (1.., 1..) = (graph.num_nodes(), sparse.num_cols()) {
        let (u, column) = (graph.num_nodes() - 1, sparse.num_cols() - 1);
        if !sparse.row(u).0.contains(&(column as u32)) {
            let _ = writeln!(text, "{},{column},0", node_field(graph, u as u32));
        }
    }
    text
}

/// Formats the classes of nodes. Without features they determine the number of nodes, and are
/// written for a graph without labels that has isolated nodes.
fn labels(graph: &Graph) -> Option<String> {
    let has_isolated = || nodes(graph).any(|u| graph.degree(u) == 0);
    let counts_nodes = graph.features().is_none() && has_isolated();
    if graph.labels().is_none() && !counts_nodes {
        return None;
    }
    let class = |u: u32| {
        let labels = graph.labels()?;
        Some(field(&labels.name(labels.get(u)?)))
    };
    let mut text = String::from("node,class\n");
    for u in nodes(graph) {
        let class = class(u).unwrap_or("?".into());
        let _ = writeln!(text, "{},{class}", node_field(graph, u));
    }
    Some(text)
}

/// Formats the splits; `None` if there are none.
fn splits(graph: &Graph) -> Option<String> {
    if graph.splits().is_empty() {
        return None;
    }
    let mut text = String::from("node,split,part\n");
    for split in graph.splits() {
        let name = field(split.name());
        for (part, items) in [
            ("train", split.train()),
            ("val", split.val()),
            ("test", split.test()),
        ] {
            for &u in items {
                let _ = writeln!(text, "{},{name},{part}", node_field(graph, u));
            }
        }
    }
    Some(text)
}

/// Files of the TU collection that are written even if they are empty.
const REQUIRED: [&str; 2] = ["A", "graph_indicator"];

/// Writes the files of the TU collection. Nodes are counted from 1 over all graphs.
fn write_set(folder: &Path, name: &str, set: &GraphSet) -> Result<Written> {
    let mut text = SetText::default();
    for (g, graph) in set.graphs().iter().enumerate() {
        text.add_structure(g, graph);
        text.add_class(set, g)?;
        if let Some(features) = graph.features() {
            text.add_features(&features.to_dense(), set.num_node_labels().unwrap_or(0));
        }
    }
    let mut files = Vec::new();
    for (what, text) in text.files() {
        if !text.is_empty() || REQUIRED.contains(&what) {
            let file = folder.join(format!("{name}_{what}.txt"));
            write_atomically(&file, text)?;
            files.push(file);
        }
    }
    let left_out = [
        (
            "weights of edges",
            set.graphs().iter().any(|graph| graph.weights().is_some()),
        ),
        ("published folds", !set.splits().is_empty()),
    ];
    Ok(Written {
        files,
        left_out: kept(&left_out),
    })
}

/// Content of the files of the TU collection. Writing to a string cannot fail.
#[derive(Default)]
struct SetText {
    arcs: String,
    indicator: String,
    classes: String,
    node_labels: String,
    attributes: String,
    /// Number of nodes in the graphs before.
    num_nodes: usize,
}

impl SetText {
    fn files(self) -> [(&'static str, String); 5] {
        [
            ("A", self.arcs),
            ("graph_indicator", self.indicator),
            ("graph_labels", self.classes),
            ("node_labels", self.node_labels),
            ("node_attributes", self.attributes),
        ]
    }

    fn add_structure(&mut self, g: usize, graph: &Graph) {
        let first = self.num_nodes + 1;
        for u in nodes(graph) {
            let _ = writeln!(self.indicator, "{}", g + 1);
            for v in graph.neighbours(u) {
                let _ = writeln!(self.arcs, "{}, {}", first + u as usize, first + *v as usize);
            }
        }
        self.num_nodes += graph.num_nodes();
    }

    /// Adds the class of graph `g`: its name if that is a whole number.
    fn add_class(&mut self, set: &GraphSet, g: usize) -> Result<()> {
        let labels = set.labels();
        let class = labels.get(g as u32).ok_or_else(|| {
            let what = format!("graph {g} has no class");
            Error::missing("write", what, "give every graph a class")
        })?;
        let name = labels.name(class);
        let number = name.parse::<i64>().unwrap_or(i64::from(class));
        let _ = writeln!(self.classes, "{number}");
        Ok(())
    }

    /// Adds a graph's features: the first `num_labels` columns are one node label each.
    fn add_features(&mut self, features: &DenseMatrix<f32>, num_labels: usize) {
        for u in 0..features.num_rows() {
            let row = features.row(u);
            let (one_hot, rest) = row.split_at(num_labels.min(row.len()));
            if num_labels > 0 {
                let label = one_hot.iter().position(|&x| x != 0.0).unwrap_or(0);
                let _ = writeln!(self.node_labels, "{label}");
            }
            if !rest.is_empty() {
                let rest: Vec<String> = rest.iter().map(f32::to_string).collect();
                let _ = writeln!(self.attributes, "{}", rest.join(", "));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use gnarl_graph::labels::Labels;
    use gnarl_graph::split::Split;

    /// Returns a graph with names that need quotes, a node without edges or features, a class
    /// without nodes and a class that is a word.
    fn odd(sparse: bool) -> Graph {
        let values = vec![
            0.5, 0.0, -1.25, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e-7, 0.0,
        ];
        let features = DenseMatrix::new(4, 3, values).unwrap();
        let features = if sparse {
            Features::Sparse(CsrMatrix::from_dense(&features))
        } else {
            Features::Dense(features)
        };
        let names = ["Doe, Jo", "ann", "say \"hi\"", "#4"]
            .map(String::from)
            .to_vec();
        let labels = Labels::new(vec![Some(1), None, Some(0), Some(1)], 2).unwrap();
        let split = Split::new("mine", vec![0], vec![2], vec![3]).unwrap();
        let (graph, _) = Graph::from_weighted_edges(4, [(0, 1, 0.5), (1, 2, 2.0)]).unwrap();
        let graph = graph
            .with_features(features)
            .unwrap()
            .with_node_names(names)
            .unwrap();
        let labels = labels
            .with_names(vec!["cat".into(), "big dog".into()])
            .unwrap();
        graph
            .with_labels(labels)
            .unwrap()
            .with_splits(vec![split])
            .unwrap()
    }

    fn again(path: &Path) -> Content {
        load(path.to_str().unwrap(), Path::new("/nowhere"), 0)
            .unwrap()
            .content
    }

    #[test]
    fn a_folder_is_read_back_as_it_was() {
        for sparse in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let (path, graph) = (dir.path().join("new"), odd(sparse));
            let written = write(&path, "odd", &Content::Graph(graph.clone())).unwrap();
            assert_eq!((written.files.len(), written.left_out.len()), (4, 0));
            let Content::Graph(read) = again(&path) else {
                panic!("one graph")
            };
            assert_eq!(read.node_names(), graph.node_names());
            assert_eq!(
                read.weighted_edges().collect::<Vec<_>>(),
                graph.weighted_edges().collect::<Vec<_>>()
            );
            assert_eq!(
                read.features().unwrap().to_dense(),
                graph.features().unwrap().to_dense()
            );
            let classes = |g: &Graph| {
                (0..4)
                    .map(|u| {
                        g.labels()
                            .unwrap()
                            .get(u)
                            .map(|c| g.labels().unwrap().name(c))
                    })
                    .collect::<Vec<_>>()
            };
            assert_eq!(classes(&read), classes(&graph));
            let split = read.split("mine").unwrap();
            assert_eq!(
                (split.train(), split.val(), split.test()),
                (&[0][..], &[2][..], &[3][..])
            );
            let e = write(&path, "odd", &Content::Graph(graph))
                .unwrap_err()
                .to_string();
            assert!(e.contains("the folder is not empty"), "{e}");
        }
    }

    #[test]
    fn files_hold_what_they_can_and_say_what_not() {
        let dir = tempfile::tempdir().unwrap();
        let graph = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0;
        let graph = graph
            .with_labels(Labels::new(vec![Some(0); 4], 1).unwrap())
            .unwrap();
        let content = Content::Graph(graph);
        for (name, left_out, nodes) in [
            ("a.npz", &[][..], 4),
            ("a.csv", &["labels", "nodes without an edge"], 3),
            ("a.tsv", &["labels", "nodes without an edge"], 3),
        ] {
            let path = dir.path().join(name);
            assert_eq!(
                write(&path, "x", &content).unwrap().left_out,
                left_out,
                "{name}"
            );
            let Content::Graph(read) = again(&path) else {
                panic!("one graph")
            };
            assert_eq!(
                (read.num_nodes(), read.edges().collect::<Vec<_>>()),
                (nodes, vec![(0, 1), (1, 2)]),
                "{name}"
            );
            assert_eq!(read.labels().is_some(), left_out.is_empty(), "{name}");
        }
        let e = write(&dir.path().join("a.xml"), "x", &content)
            .unwrap_err()
            .to_string();
        assert!(e.contains("'.xml' is no form that is written"), "{e}");
    }

    #[test]
    fn a_set_is_read_back_as_it_was() {
        let one_hot = |kinds: &[usize]| {
            let values = kinds
                .iter()
                .flat_map(|&k| (0..3).map(move |i| if i == k { 1.0 } else { 0.0 }))
                .collect();
            Features::Dense(DenseMatrix::new(kinds.len(), 3, values).unwrap())
        };
        let triangle = Graph::from_edges(3, [(0, 1), (1, 2), (0, 2)])
            .unwrap()
            .0
            .with_features(one_hot(&[0, 2, 1]))
            .unwrap();
        let pair = Graph::from_edges(2, [(0, 1)])
            .unwrap()
            .0
            .with_features(one_hot(&[1, 1]))
            .unwrap();
        let labels = Labels::new(vec![Some(0), Some(1)], 2)
            .unwrap()
            .with_names(vec!["-1".into(), "1".into()])
            .unwrap();
        let set = GraphSet::new(vec![triangle, pair], labels, Some(3)).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("set");
        write(&path, "SHAPES", &Content::Graphs(set.clone())).unwrap();
        let Content::Graphs(read) = again(&path) else {
            panic!("a set")
        };
        assert_eq!((read.len(), read.num_node_labels()), (2, Some(3)));
        for (read, graph) in read.graphs().iter().zip(set.graphs()) {
            assert_eq!(
                read.edges().collect::<Vec<_>>(),
                graph.edges().collect::<Vec<_>>()
            );
            assert_eq!(
                read.features().unwrap().to_dense(),
                graph.features().unwrap().to_dense()
            );
        }
        assert_eq!(
            (read.labels().name(0), read.labels().name(1)),
            ("-1".into(), "1".into())
        );
        assert!(write(&dir.path().join("a.csv"), "x", &Content::Graphs(set)).is_err());
        let labels = Labels::new(vec![Some(0), Some(1)], 2).unwrap();
        let empty = GraphSet::new(
            vec![Graph::empty(0).unwrap(), Graph::empty(0).unwrap()],
            labels,
            None,
        )
        .unwrap();
        let path = dir.path().join("empty");
        write(&path, "EMPTY", &Content::Graphs(empty)).unwrap();
        let Content::Graphs(read) = again(&path) else {
            panic!("a set")
        };
        assert_eq!((read.len(), read.graphs()[1].num_nodes()), (2, 0));
    }
}
