//! Reads a user's own graph: an edge list with optional features, labels and splits.
//!
//! A path to a file is read as edges alone. A path to a folder may hold these files, each as
//! `.csv`, `.tsv`, `.txt`, `.parquet` or `.arrow`:
//!
//! | file | a line |
//! | --- | --- |
//! | `edges` (also `.edges`, `.npz`) | `u,v` or `u,v,weight` |
//! | `features` (also `.npz`) | the features of one node, in order; `node,…` under a header that starts with `node`; or one non-zero value, under the header `node,column,value` |
//! | `labels` | the class of one node, in order; or `node,class` |
//! | `splits` | `node,split,part`, where part is `train`, `val` or `test`; `node,part` for a single split |
//! | `nodes` | under a header: the node (`node` or `id`), its class (`label` or `class`), its part (`split` or `part`) and features, any other columns of numbers; a file for one of these takes precedence |
//!
//! Fields are separated by commas, tabs or spaces and may be quoted; lines that start with `#` or
//! `%` are comments.
//!
//! Ids that are integers number the nodes from 0 without large gaps; the largest id or the longest
//! file gives the number of nodes. If one id is no number, all of them are names, such as
//! `user_183`. Named nodes are numbered in order of first occurrence and keep their names
//! ([`Graph::node_name`]). Their rows of features and labels need a header whose first column is
//! `node`. A node that occurs in features or labels alone is added, without edges. If there are
//! features, every node needs them (missing ones in the sparse form are zero); labels may be
//! missing.
//!
//! A first line without numbers is a header above integers. Above names it is a header in two
//! cases: it has a third column that is not a number, or both words are titles such as `source` and
//! `target` and name no node. Otherwise it is an edge. With a header an edge file may have more
//! columns: only `weight` is read. The class column of labels is the one called `label` or `class`,
//! else the second. Anything not read is reported ([`Sources`]).
//!
//! A class is a number or a name; an empty one, `-1` or `?` means unlabelled (blank lines at the
//! end of a file do not count). Edges are undirected: self-loops and duplicates are dropped and
//! reported, and the first weight of duplicates is kept. Numbers that are not finite, or too large
//! for 32 bits, are refused.
//!
//! An archive is the output of `scipy.sparse.save_npz`: the adjacency for edges, one row per node
//! for features. Features may also be the only array of a `numpy.savez`. Its rows are in order, so
//! nodes must have numbers.

mod edges;
mod features;
mod labels;
mod node_table;
mod nodes;
mod splits;
mod stream;
mod table;

use std::path::{Path, PathBuf};

pub use self::edges::{EdgeFile, read_edges};
pub(super) use self::stream::{is_weighted, stream_edges};

use self::features::FeatureRows;
use self::labels::LabelRows;
use self::node_table::NodeTable;
use self::nodes::Nodes;
use self::table::Table;
use super::columnar::read_text;
use super::edge_sink::{NameIndex, Streamed};
use super::npz::NpzArchive;
use super::scipy;
use super::sources::Sources;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};

/// Loads a graph from an edge file or from a folder of the files above, and reports what was read.
/// O(bytes).
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// std::fs::write(dir.path().join("edges.csv"), "# a path\nfrom,to\nada,bob\nbob,cyd\n")?;
/// std::fs::write(dir.path().join("labels.csv"), "node,class\ncyd,cat\nada,dog\n")?;
/// let (graph, ..) = gnarl_data::edge_list::load(dir.path()).unwrap();
/// assert_eq!((graph.num_nodes(), graph.num_edges()), (3, 2));
/// assert_eq!((graph.node_name(0), graph.labels().unwrap().name(1)), ("ada".into(), "dog".into()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn load(path: &Path) -> Result<(Graph, BuildReport, Sources)> {
    let mut files = if path.is_dir() {
        Files::in_folder(path)?
    } else {
        Files::edges_alone(path)?
    };
    let (graph, report) = files.build()?;
    if path.is_dir() {
        let why = "not read: edges, features, labels, splits and nodes are, as .csv, .tsv, .txt, .npz, .parquet or .arrow";
        files.sources.leave_the_rest(path, why);
    }
    Ok((graph, report, files.sources))
}

/// The files of a graph.
struct Files {
    edges_at: PathBuf,
    edges: EdgeFile,
    features: Option<FeatureFile>,
    /// The rows, and the whole text, in which blank lines count.
    labels: Option<(Table, String)>,
    splits: Option<Table>,
    sources: Sources,
}

enum FeatureFile {
    Table(Table),
    Archive(PathBuf, Features),
}

impl Files {
    fn edges_alone(path: &Path) -> Result<Self> {
        let edges = read_edges(path)?;
        let sources = Sources::default();
        Ok(Self {
            edges_at: path.to_path_buf(),
            edges,
            features: None,
            labels: None,
            splits: None,
            sources,
        })
    }

    fn in_folder(dir: &Path) -> Result<Self> {
        let Some(edges_at) = find(dir, "edges", &EDGES)? else {
            return Err(no_edges(dir));
        };
        let edges = if is_archive(&edges_at) {
            scipy::read_edges(&edges_at)?
        } else {
            read_edges(&edges_at)?
        };
        let features = match find(dir, "features", &FEATURES)? {
            Some(path) if is_archive(&path) => {
                let features = scipy::features(&mut NpzArchive::open(&path)?)?;
                Some(FeatureFile::Archive(path, features))
            }
            Some(path) => Some(FeatureFile::Table(Table::read(path)?)),
            None => None,
        };
        let labels = match find(dir, "labels", &TEXT)? {
            Some(path) => {
                let text = read_text(&path)?;
                Some((Table::parse(path, &text)?, text))
            }
            None => None,
        };
        let splits = find(dir, "splits", &TEXT)?.map(Table::read).transpose()?;
        let mut files = Self {
            edges_at,
            edges,
            features,
            labels,
            splits,
            sources: Sources::default(),
        };
        if let Some(path) = find(dir, "nodes", &TEXT)? {
            files.add_nodes(&Table::read(path)?, false)?;
        }
        Ok(files)
    }

    /// Adds what a table of nodes holds, except for anything that has a file of its own, even one
    /// read elsewhere.
    fn add_nodes(&mut self, table: &Table, has_features: bool) -> Result<()> {
        let wanted = [
            self.features.is_none() && !has_features,
            self.labels.is_none(),
            self.splits.is_none(),
        ];
        let found = NodeTable::parse(table, wanted, &mut self.sources)?;
        self.features = self
            .features
            .take()
            .or(found.features.map(FeatureFile::Table));
        self.labels = self
            .labels
            .take()
            .or(found.labels.map(|table| (table, String::new())));
        self.splits = self.splits.take().or(found.splits);
        Ok(())
    }

    fn build(&mut self) -> Result<(Graph, BuildReport)> {
        let edges = std::mem::take(&mut self.edges);
        if !self.edges_at.as_os_str().is_empty() {
            self.say_edges(&edges);
        }
        let mut nodes = match edges.names {
            None => Nodes::Numbered(edges.num_nodes),
            Some(names) => Nodes::Named(NameIndex::new(names)),
        };
        let rows = match &self.features {
            Some(FeatureFile::Table(table)) => Some(FeatureRows::parse(table, &mut nodes)?),
            Some(FeatureFile::Archive(path, features)) => {
                check_archive(path, features, &mut nodes)?;
                None
            }
            None => None,
        };
        let labels = self
            .labels
            .as_ref()
            .map(|(table, text)| LabelRows::parse(table, text, &mut nodes))
            .transpose()?;

        let n = nodes.len();
        if n == 0 {
            let what =
                "no edge in it and no node beside it; a line 'u,v' for each edge is expected";
            return Err(Error::data(&self.edges_at, "whole file", what));
        }
        let (mut graph, report) = match edges.weights {
            None => Graph::from_edges(n, edges.edges)?,
            Some(weights) => Graph::from_weighted_edges(
                n,
                edges
                    .edges
                    .into_iter()
                    .zip(weights)
                    .map(|((u, v), w)| (u, v, w)),
            )?,
        };
        if let Some((features, path)) = self.build_features(rows, &nodes)? {
            self.sources.used(
                &path,
                format!("{} features of each node", features.num_cols()),
            );
            graph = graph.with_features(features)?;
        }
        if let (Some((table, _)), Some(rows)) = (&self.labels, labels) {
            let dropped = rows.columns_dropped.clone();
            let labels = rows.build(table, &nodes)?;
            let labelled: usize = labels.counts().iter().sum();
            let what = format!(
                "{} classes, {labelled} of {n} nodes have one",
                labels.num_classes()
            );
            self.sources.used(&table.path, what);
            if !dropped.is_empty() {
                self.sources
                    .unused(&table.path, columns(&dropped, "neither node nor class"));
            }
            graph = graph.with_labels(labels)?;
        }
        if let Some(table) = &self.splits {
            let splits = splits::parse(table, &nodes)?;
            self.sources
                .used(&table.path, format!("{} splits", splits.len()));
            graph = graph.with_splits(splits)?;
        }
        if let Nodes::Named(names) = nodes {
            graph = graph.with_node_names(names.into_names())?;
        }
        Ok((graph, report))
    }

    fn build_features(
        &mut self,
        rows: Option<FeatureRows>,
        nodes: &Nodes,
    ) -> Result<Option<(Features, PathBuf)>> {
        match (self.features.take(), rows) {
            (Some(FeatureFile::Table(table)), Some(rows)) => {
                Ok(Some((rows.build(&table, nodes)?, table.path)))
            }
            (Some(FeatureFile::Archive(path, features)), _) => {
                if features.num_rows() != nodes.len() {
                    let (rows, num_nodes) = (features.num_rows(), nodes.len());
                    let what = format!(
                        "{rows} rows, but there are {num_nodes} nodes, one row each is expected"
                    );
                    return Err(Error::data(&path, "whole file", what));
                }
                Ok(Some((features, path)))
            }
            _ => Ok(None),
        }
    }

    fn say_edges(&mut self, edges: &EdgeFile) {
        let weights = if edges.weights.is_some() {
            "edges with weights"
        } else {
            "edges"
        };
        let nodes = if edges.names.is_some() {
            "nodes by name"
        } else {
            "nodes by number"
        };
        self.sources
            .used(&self.edges_at, format!("{weights}, {nodes}"));
        if !edges.columns_dropped.is_empty() {
            self.sources.unused(
                &self.edges_at,
                columns(&edges.columns_dropped, "neither node nor weight"),
            );
        }
    }
}

const TEXT: [&str; 7] = ["csv", "tsv", "txt", "parquet", "arrow", "feather", "ipc"];
const EDGES: [&str; 9] = [
    "csv", "tsv", "txt", "edges", "npz", "parquet", "arrow", "feather", "ipc",
];
const FEATURES: [&str; 8] = [
    "csv", "tsv", "txt", "npz", "parquet", "arrow", "feather", "ipc",
];

/// Files next to a streamed edge file: the data of its nodes.
pub(super) struct Beside {
    /// File of features.
    pub features: Option<PathBuf>,
    /// File of labels.
    pub labels: Option<PathBuf>,
    /// File of splits.
    pub splits: Option<PathBuf>,
    /// File of nodes, with any of these columns.
    pub nodes: Option<PathBuf>,
}

impl Beside {
    /// Finds the edge file of a folder and the files next to it; a single file has none.
    pub fn find(path: &Path) -> Result<(PathBuf, Self)> {
        if !path.is_dir() {
            return Ok((
                path.to_path_buf(),
                Self {
                    features: None,
                    labels: None,
                    splits: None,
                    nodes: None,
                },
            ));
        }
        let Some(edges) = find(path, "edges", &EDGES)? else {
            return Err(no_edges(path));
        };
        let beside = Self {
            features: match find(path, "features", &FEATURES)? {
                Some(file) => Some(file),
                None => find(path, "features", &["npy"])?,
            },
            labels: find(path, "labels", &TEXT)?,
            splits: find(path, "splits", &TEXT)?,
            nodes: find(path, "nodes", &TEXT)?,
        };
        Ok((edges, beside))
    }

    /// Builds a graph without edges whose nodes carry all data of these files. It has as many nodes
    /// as the edges, or more if a file has more. A file of features that is neither text nor an
    /// archive is left to the caller, with its number of rows.
    pub fn graph(
        &self,
        edges: &Streamed,
        rows_of_features: Option<usize>,
        sources: &mut Sources,
    ) -> Result<Graph> {
        let names = edges.names.clone();
        let streamed = EdgeFile {
            num_nodes: edges.num_nodes.max(rows_of_features.unwrap_or(0)),
            names,
            ..EdgeFile::default()
        };
        let read_features = |path: &PathBuf| {
            if is_archive(path) {
                Ok(FeatureFile::Archive(
                    path.clone(),
                    scipy::features(&mut NpzArchive::open(path)?)?,
                ))
            } else {
                Ok::<_, Error>(FeatureFile::Table(Table::read(path.clone())?))
            }
        };
        let read_labels = |path: &PathBuf| {
            let text = read_text(path)?;
            Ok::<_, Error>((Table::parse(path.clone(), &text)?, text))
        };
        let features = self
            .features
            .as_ref()
            .filter(|_| rows_of_features.is_none());
        let mut files = Files {
            edges_at: PathBuf::new(),
            edges: streamed,
            features: features.map(read_features).transpose()?,
            labels: self.labels.as_ref().map(read_labels).transpose()?,
            splits: self.splits.clone().map(Table::read).transpose()?,
            sources: std::mem::take(sources),
        };
        if let Some(path) = &self.nodes {
            files.add_nodes(&Table::read(path.clone())?, rows_of_features.is_some())?;
        }
        let (graph, _) = files.build()?;
        *sources = files.sources;
        Ok(graph)
    }
}

fn no_edges(dir: &Path) -> Error {
    let what = "no edges.csv, edges.tsv, edges.txt, edges.edges, edges.npz, edges.parquet or edges.arrow in it, and no NAME_A.txt of a set of graphs";
    Error::data(dir, "folder", what)
}

/// Finds the file of that stem, `None` if there is none; two of them are an error.
fn find(dir: &Path, stem: &str, endings: &[&str]) -> Result<Option<PathBuf>> {
    let mut found = endings
        .iter()
        .map(|ending| dir.join(format!("{stem}.{ending}")))
        .filter(|path| path.exists());
    let first = found.next();
    match (&first, found.next()) {
        (Some(first), Some(second)) => Err(Error::data(
            &second,
            "folder",
            format!("{} is there too, keep one of them", first.display()),
        )),
        _ => Ok(first),
    }
}

fn is_archive(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npz"))
}

fn check_archive(path: &Path, features: &Features, nodes: &mut Nodes) -> Result<()> {
    if nodes.is_named() {
        let what = "its rows stand in order, and nodes go by name here; give a features.csv with a column node instead";
        return Err(Error::data(path, "whole file", what));
    }
    nodes.extend_to(features.num_rows());
    Ok(())
}

/// Describes which columns were not read.
fn columns(titles: &[String], why: &str) -> String {
    let word = if titles.len() == 1 {
        "column"
    } else {
        "columns"
    };
    format!("{word} {} not read: {why}", titles.join(", "))
}

/// Loads a graph from its files, for fuzzing: any bytes give a graph or an error. The files are
/// separated by zero bytes in the order edges, features, labels, splits, nodes.
#[doc(hidden)]
pub fn fuzz_edge_list(data: &[u8]) {
    let path = Path::new("fuzz.csv");
    let mut parts = data.split(|&b| b == 0);
    let Ok(edges) = edges::parse_edges(path, parts.next().unwrap_or_default()) else {
        return;
    };
    let mut table = || {
        let text = parts
            .next()
            .filter(|part| !part.is_empty())
            .map(String::from_utf8_lossy)?;
        Some((
            Table::parse(path.to_path_buf(), &text).ok()?,
            text.into_owned(),
        ))
    };
    let (features, labels, splits, nodes) = (table(), table(), table(), table());
    let mut files = Files {
        edges_at: path.to_path_buf(),
        edges,
        features: features.map(|(table, _)| FeatureFile::Table(table)),
        labels,
        splits: splits.map(|(table, _)| table),
        sources: Sources::default(),
    };
    if nodes.is_none_or(|(table, _)| files.add_nodes(&table, false).is_ok()) {
        let _ = files.build();
    }
}
