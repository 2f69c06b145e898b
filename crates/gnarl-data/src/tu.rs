//! TU graph-classification text ([Morris et al. 2020](https://arxiv.org/abs/2007.08663)): MUTAG,
//! PROTEINS, IMDB, NCI1, DD.
//!
//! A folder holds, for a set called NAME:
//!
//! | file | a line |
//! | --- | --- |
//! | `NAME_A.txt` | an arc `u, v` between nodes, counted from 1 over all graphs; both directions are listed |
//! | `NAME_graph_indicator.txt` | the graph of a node, counted from 1 |
//! | `NAME_graph_labels.txt` | the class of a graph |
//! | `NAME_node_labels.txt` (optional) | the label of a node |
//! | `NAME_node_attributes.txt` (optional) | the attributes of a node, separated by commas |
//!
//! Features are the node labels one-hot, columns in ascending order of label, then the attributes;
//! either may be missing. A set with neither has no features; one-hot degrees are a common
//! replacement.
//!
//! The fold files of [Errica et al. 2020](https://arxiv.org/abs/1912.09893), `NAME_splits.json` or
//! `NAME_full_splits.json`, give the splits `errica-0` to `errica-9`; ids in them count graphs from
//! 0.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::npz::integer_labels;
use super::sources::Sources;
use super::text::{self, at_line, lines, parse, parse_f32, parse_id};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::graph_set::GraphSet;
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};
use gnarl_graph::split::Split;

/// Returns the name of the set whose files are in a folder, by its `NAME_A.txt` and
/// `NAME_graph_indicator.txt`; `None` if there is no such pair. Two sets in a folder are refused.
pub fn name_in(dir: &Path) -> Result<Option<String>> {
    let Ok(files) = std::fs::read_dir(dir) else {
        return Ok(None);
    };
    let name = |file: std::fs::DirEntry| {
        Some(
            file.file_name()
                .to_str()?
                .strip_suffix("_A.txt")?
                .to_string(),
        )
    };
    let mut names: Vec<String> = files.filter_map(|file| name(file.ok()?)).collect();
    names.retain(|name| dir.join(format!("{name}_graph_indicator.txt")).is_file());
    names.sort_unstable();
    match &names[..] {
        [] => Ok(None),
        [name] => Ok(Some(name.clone())),
        [a, b, ..] => Err(Error::data(
            dir,
            "folder",
            format!("two sets of graphs, {a} and {b}; give each a folder"),
        )),
    }
}

/// Loads the set `name` from `dir`, and its folds from `splits_dir` if that has a fold file for it.
///
/// The report sums the reports of the graphs. Since both directions are listed, half of the arcs
/// count as duplicates.
pub fn load(
    dir: &Path,
    splits_dir: Option<&Path>,
    name: &str,
) -> Result<(GraphSet, BuildReport, Sources)> {
    let required = |part: &str| TextFile::read(dir.join(format!("{name}_{part}.txt")));
    let optional = |part: &str| {
        let path = dir.join(format!("{name}_{part}.txt"));
        path.exists().then(|| TextFile::read(path)).transpose()
    };
    let folds = splits_dir.and_then(|dir| {
        let candidates = [
            format!("{name}_splits.json"),
            format!("{name}_full_splits.json"),
        ];
        candidates
            .into_iter()
            .map(|file| dir.join(file))
            .find(|path| path.exists())
    });
    let files = Files {
        arcs: required("A")?,
        indicator: required("graph_indicator")?,
        graph_labels: required("graph_labels")?,
        node_labels: optional("node_labels")?,
        node_attributes: optional("node_attributes")?,
        folds: folds.map(TextFile::read).transpose()?,
    };
    let (set, report) = files.parse()?;
    let mut sources = files.sources();
    sources.leave_the_rest(
        dir,
        "not read: arcs, graph indicator, graph labels, node labels and node attributes are",
    );
    Ok((set, report, sources))
}

/// A file in memory.
struct TextFile {
    path: PathBuf,
    text: String,
}

impl TextFile {
    fn read(path: PathBuf) -> Result<Self> {
        Ok(Self {
            text: text::read(&path)?,
            path,
        })
    }

    /// Returns one line per graph or node, in order; only the last lines may be empty.
    fn rows(&self) -> Result<Vec<(usize, &str)>> {
        let rows: Vec<(usize, &str)> = lines(&self.text).collect();
        match (1..)
            .zip(&rows)
            .find(|(expected, (line, _))| expected != line)
        {
            Some((empty, _)) => Err(at_line(
                &self.path,
                empty,
                "empty, and what comes after it would be of another",
            )),
            None => Ok(rows),
        }
    }

    /// One integer per line.
    fn integers(&self, what: &str) -> Result<Vec<i64>> {
        self.rows()?
            .into_iter()
            .map(|(line, field)| parse(&self.path, line, field, what))
            .collect()
    }

    /// Returns an error about the file as a whole.
    fn fault(&self, what: impl Into<String>) -> Error {
        Error::data(&self.path, "whole file", what)
    }

    /// Fails unless there is one line per node.
    fn check_lines(&self, found: usize, num_nodes: usize) -> Result<()> {
        if found == num_nodes {
            return Ok(());
        }
        Err(self.fault(format!(
            "{found} lines, but the graph indicator lists {num_nodes} nodes"
        )))
    }
}

/// The files of a set.
struct Files {
    arcs: TextFile,
    indicator: TextFile,
    graph_labels: TextFile,
    node_labels: Option<TextFile>,
    node_attributes: Option<TextFile>,
    folds: Option<TextFile>,
}

impl Files {
    fn parse(&self) -> Result<(GraphSet, BuildReport)> {
        let labels: Vec<Option<i64>> = self
            .graph_labels
            .integers("a graph label")?
            .into_iter()
            .map(Some)
            .collect();
        let nodes = Nodes::parse(&self.indicator, labels.len())?;
        let arcs = parse_arcs(&self.arcs, &nodes)?;
        let (features, num_node_labels) = self.features(&nodes)?;

        let mut report = BuildReport::default();
        let mut graphs = Vec::with_capacity(labels.len());
        for (i, arcs) in arcs.iter().enumerate() {
            let members = nodes.members(i);
            let (graph, part) = Graph::from_edges(members.len(), arcs.iter().copied())?;
            report.edges_given += part.edges_given;
            report.self_loops += part.self_loops;
            report.self_loop_nodes += part.self_loop_nodes;
            report.duplicates += part.duplicates;
            graphs.push(match &features {
                Some(all) => graph.with_features(all.select_rows(members))?,
                None => graph,
            });
        }
        let set = GraphSet::new(graphs, integer_labels(labels), num_node_labels)?;
        let splits = self
            .folds
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |file| parse_folds(file, set.len()))?;
        Ok((set.with_splits(splits)?, report))
    }

    /// Records the contents of each file.
    fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        sources.used(&self.arcs.path, "arcs");
        sources.used(&self.indicator.path, "the graph of each node");
        sources.used(&self.graph_labels.path, "the class of each graph");
        let optional = [
            (&self.node_labels, "node labels, one-hot features"),
            (&self.node_attributes, "node attributes, features"),
            (&self.folds, "folds"),
        ];
        for (file, what) in optional {
            if let Some(file) = file {
                sources.used(&file.path, what);
            }
        }
        sources
    }

    /// Returns features of all nodes, and the number of distinct node labels if there are any.
    fn features(&self, nodes: &Nodes) -> Result<(Option<Features>, Option<usize>)> {
        let labels = self
            .node_labels
            .as_ref()
            .map(|file| parse_node_labels(file, nodes))
            .transpose()?;
        let attributes = self
            .node_attributes
            .as_ref()
            .map(|file| parse_attributes(file, nodes))
            .transpose()?;
        let num_labels = labels.as_ref().map(Labels::num_classes);
        let features = match (labels, attributes) {
            (None, None) => None,
            (None, Some(attributes)) => Some(Features::Dense(attributes)),
            (Some(labels), None) => {
                let columns: Vec<u32> = labels.classes().iter().flatten().copied().collect();
                let n = columns.len();
                let one_hot = CsrMatrix::new(
                    labels.num_classes(),
                    (0..=n as u64).collect(),
                    columns,
                    vec![1.0; n],
                )?;
                Some(Features::Sparse(one_hot))
            }
            (Some(labels), Some(attributes)) => {
                Some(Features::Dense(side_by_side(&labels, &attributes)))
            }
        };
        Ok((features, num_labels))
    }
}

fn parse_node_labels(file: &TextFile, nodes: &Nodes) -> Result<Labels> {
    let values = file.integers("a node label")?;
    file.check_lines(values.len(), nodes.num_nodes())?;
    Ok(Labels::from_values(values.into_iter().map(Some)))
}

fn parse_attributes(file: &TextFile, nodes: &Nodes) -> Result<DenseMatrix<f32>> {
    let (mut data, mut num_rows, mut num_cols) = (Vec::new(), 0, 0);
    for (line, row) in file.rows()? {
        let before = data.len();
        for field in row.split(',') {
            data.push(parse_f32(&file.path, line, field, "an attribute")?);
        }
        let found = data.len() - before;
        if num_rows == 0 {
            num_cols = found;
        } else if found != num_cols {
            let what = format!("{found} attributes, but the lines before have {num_cols}");
            return Err(at_line(&file.path, line, what));
        }
        num_rows += 1;
    }
    file.check_lines(num_rows, nodes.num_nodes())?;
    DenseMatrix::new(num_rows, num_cols, data)
}

/// Joins one-hot labels and attributes.
fn side_by_side(labels: &Labels, attributes: &DenseMatrix<f32>) -> DenseMatrix<f32> {
    let num_labels = labels.num_classes();
    let mut both = DenseMatrix::zeros(attributes.num_rows(), num_labels + attributes.num_cols());
    for u in 0..attributes.num_rows() {
        let row = both.row_mut(u);
        if let Some(label) = labels.get(u as u32) {
            row[label as usize] = 1.0;
        }
        row[num_labels..].copy_from_slice(attributes.row(u));
    }
    both
}

/// The graph of each node, and its id there.
struct Nodes {
    graph: Vec<u32>,
    local: Vec<u32>,
    /// Nodes sorted by graph, in file order within one; graph `i` owns `starts[i]..starts[i + 1]`.
    sorted: Vec<u32>,
    starts: Vec<usize>,
}

impl Nodes {
    fn parse(file: &TextFile, num_graphs: usize) -> Result<Self> {
        let range = 1..num_graphs as u64 + 1;
        let graph = file
            .rows()?
            .into_iter()
            .map(|(line, field)| {
                Ok(parse_id(&file.path, line, field, "a graph id", range.clone())? - 1)
            })
            .collect::<Result<Vec<u32>>>()?;
        let mut starts = vec![0; num_graphs + 1];
        for &g in &graph {
            starts[g as usize + 1] += 1;
        }
        for i in 0..num_graphs {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; graph.len()];
        let mut local = Vec::with_capacity(graph.len());
        for (u, &g) in graph.iter().enumerate() {
            let slot = &mut next[g as usize];
            local.push((*slot - starts[g as usize]) as u32);
            sorted[*slot] = u as u32;
            *slot += 1;
        }
        Ok(Self {
            graph,
            local,
            sorted,
            starts,
        })
    }

    fn num_nodes(&self) -> usize {
        self.graph.len()
    }

    fn num_graphs(&self) -> usize {
        self.starts.len() - 1
    }

    fn members(&self, graph: usize) -> &[u32] {
        &self.sorted[self.starts[graph]..self.starts[graph + 1]]
    }
}

/// Returns the arcs of each graph, by the ids of its own nodes.
fn parse_arcs(file: &TextFile, nodes: &Nodes) -> Result<Vec<Vec<(u32, u32)>>> {
    let range = 1..nodes.num_nodes() as u64 + 1;
    let mut arcs = vec![Vec::new(); nodes.num_graphs()];
    for (line, text) in lines(&file.text) {
        let Some((u, v)) = text.split_once(',') else {
            return Err(at_line(
                &file.path,
                line,
                format!("{} is not an arc 'u, v'", text::quoted(text)),
            ));
        };
        let node = |field| {
            parse_id(&file.path, line, field, "a node id", range.clone()).map(|id| id as usize - 1)
        };
        let (u, v) = (node(u)?, node(v)?);
        let graph = nodes.graph[u];
        if graph != nodes.graph[v] {
            let (u, v, other) = (u + 1, v + 1, nodes.graph[v] + 1);
            let what = format!(
                "node {u} of graph {} is joined to node {v} of graph {other}",
                graph + 1
            );
            return Err(at_line(&file.path, line, what));
        }
        arcs[graph as usize].push((nodes.local[u], nodes.local[v]));
    }
    Ok(arcs)
}

/// One fold of Errica et al.: test graphs, and the division of the others.
#[derive(Deserialize)]
struct Fold {
    test: Vec<u32>,
    model_selection: Vec<Inner>,
}

#[derive(Deserialize)]
struct Inner {
    train: Vec<u32>,
    validation: Vec<u32>,
}

fn parse_folds(file: &TextFile, num_graphs: usize) -> Result<Vec<Split>> {
    let folds: Vec<Fold> = serde_json::from_str(&file.text)
        .map_err(|e| at_line(&file.path, e.line(), format!("not a list of folds: {e}")))?;
    let split = |(i, fold): (usize, Fold)| {
        let fault = |what: String| Error::data(&file.path, format!("fold {i}"), what);
        let Some(inner) = fold.model_selection.into_iter().next() else {
            return Err(fault(
                "model_selection is empty, train and validation are expected in it".into(),
            ));
        };
        let split = Split::new(
            format!("errica-{i}"),
            inner.train,
            inner.validation,
            fold.test,
        )
        .map_err(|e| fault(e.to_string()))?;
        split
            .check_range(num_graphs)
            .map_err(|e| fault(e.to_string()))?;
        Ok(split)
    };
    folds.into_iter().enumerate().map(split).collect()
}

/// Loads a set from its files, for fuzzing: any bytes give a set or an error. The files are
/// separated by zero bytes in the order arcs, indicator, graph labels, node labels, node
/// attributes, folds.
#[doc(hidden)]
pub fn fuzz_tu(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut parts = text.split('\0').map(|part| TextFile {
        path: "fuzz.txt".into(),
        text: part.into(),
    });
    let mut next = || parts.next().filter(|file| !file.text.is_empty());
    let (Some(arcs), Some(indicator), Some(graph_labels)) = (next(), next(), next()) else {
        return;
    };
    let (node_labels, node_attributes, folds) = (next(), next(), next());
    let _ = Files {
        arcs,
        indicator,
        graph_labels,
        node_labels,
        node_attributes,
        folds,
    }
    .parse();
}
