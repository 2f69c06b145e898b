//! Facebook100 and LINKX graphs ([Lim et al. 2021](https://arxiv.org/abs/2110.14446)): Penn94,
//! genius, deezer-europe.
//!
//! They are published as MATLAB files; `scripts/mat_to_npz.py` converts these to NumPy zips of this
//! layout, which is what is read here:
//!
//! | member | Facebook100 | LINKX |
//! | --- | --- | --- |
//! | `edge_index`, 2 × arcs, or CSR `adj_indices`, `adj_indptr`, `adj_shape` | yes | yes |
//! | `local_info`, nodes × 7 integers | yes | |
//! | `label`, an integer per node, -1 where it has none | | yes |
//! | `node_feat`, nodes × features, or CSR `attr_data`, `attr_indices`, `attr_indptr`, `attr_shape` | | optional |
//! | `train_idx`, `val_idx`, `test_idx`, runs × ids | optional | optional |
//!
//! The columns of `local_info` are student or faculty, gender, major, second major, dorm, year and
//! high school, 0 for unknown. Gender is the class, and 0 makes a node unlabelled: Penn94's "three
//! classes" count unknown. The other six become one-hot features, a column for each value that
//! occurs, 0 included: 4,814 columns for Penn94.

use std::path::Path;

use super::npz::{NpzArchive, Pattern, integer_labels, read_attributes};
use gnarl_graph::error::Result;
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::CsrMatrix;
use gnarl_graph::split::Split;

const INFO_COLUMNS: usize = 7;
const GENDER: usize = 1;
/// Largest number of runs; more are an error in the file.
const MAX_RUNS: usize = 1000;

/// Loads a Facebook100 graph: gender as class, the other columns of `local_info` one-hot, splits
/// `linkx-0`, `linkx-1`, …
pub fn load_facebook100(path: &Path) -> Result<(Graph, BuildReport)> {
    facebook100_from(&mut NpzArchive::open(path)?)
}

pub(super) fn facebook100_from(archive: &mut NpzArchive) -> Result<(Graph, BuildReport)> {
    let info = archive.i64s("local_info")?;
    let &[num_nodes, INFO_COLUMNS] = &info.shape[..] else {
        let what = format!(
            "shape {:?}, a row of {INFO_COLUMNS} numbers per node is expected",
            info.shape
        );
        return Err(archive.fault("local_info", what));
    };
    let column = |c: usize| info.data.iter().skip(c).step_by(INFO_COLUMNS).copied();
    let gender = integer_labels(
        column(GENDER)
            .map(|g| Some(g).filter(|&g| g != 0))
            .collect(),
    );
    let mut one_hot = Vec::with_capacity(INFO_COLUMNS - 1);
    for c in (0..INFO_COLUMNS).filter(|&c| c != GENDER) {
        one_hot.push(Labels::from_values(column(c).map(Some)));
    }
    let (graph, report) = read_graph(archive, num_nodes)?;
    let graph = graph
        .with_features(Features::Sparse(side_by_side(&one_hot, num_nodes)?))?
        .with_labels(gender)?;
    Ok((with_splits(archive, graph)?, report))
}

/// Loads a LINKX graph: `label`, optional features, splits `linkx-0`, `linkx-1`, …
pub fn load(path: &Path) -> Result<(Graph, BuildReport)> {
    load_from(&mut NpzArchive::open(path)?)
}

pub(super) fn load_from(archive: &mut NpzArchive) -> Result<(Graph, BuildReport)> {
    let labels = archive.i64s("label")?.data;
    let (mut graph, report) = read_graph(archive, labels.len())?;
    let labels = labels
        .into_iter()
        .map(|l| Some(l).filter(|&l| l != -1))
        .collect();
    graph = graph.with_labels(integer_labels(labels))?;
    if archive.has("node_feat") {
        let features = Features::Dense(archive.dense_f32s("node_feat")?);
        graph = graph
            .with_features(features)
            .map_err(|e| archive.fault("node_feat", e.to_string()))?;
    } else if let Some(features) = read_attributes(archive, false)? {
        graph = graph
            .with_features(features)
            .map_err(|e| archive.fault("attr_shape", e.to_string()))?;
    }
    Ok((with_splits(archive, graph)?, report))
}

/// Joins one one-hot block per column, side by side.
fn side_by_side(columns: &[Labels], num_nodes: usize) -> Result<CsrMatrix<f32>> {
    let mut starts = Vec::with_capacity(columns.len());
    let mut num_cols = 0;
    for column in columns {
        starts.push(num_cols as u32);
        num_cols += column.num_classes();
    }
    let entry = |u: u32| {
        columns
            .iter()
            .zip(&starts)
            .filter_map(move |(c, start)| c.get(u).map(|class| start + class))
    };
    let indices: Vec<u32> = (0..num_nodes as u32).flat_map(entry).collect();
    let offsets = (0..=num_nodes as u64)
        .map(|u| u * columns.len() as u64)
        .collect();
    let values = vec![1.0; indices.len()];
    CsrMatrix::new(num_cols, offsets, indices, values)
}

fn read_graph(archive: &mut NpzArchive, num_nodes: usize) -> Result<(Graph, BuildReport)> {
    if archive.has("edge_index") {
        let arcs = archive.ids("edge_index", num_nodes as u64)?;
        if arcs.shape.len() != 2 || arcs.shape[0] != 2 {
            let what = format!("shape {:?}, two rows of node ids are expected", arcs.shape);
            return Err(archive.fault("edge_index", what));
        }
        let (from, to) = arcs.data.split_at(arcs.shape[1]);
        let edges = from.iter().copied().zip(to.iter().copied());
        return Graph::from_edges(num_nodes, edges)
            .map_err(|e| archive.fault("edge_index", e.to_string()));
    }
    let Some(pattern) = Pattern::read(archive, "adj")? else {
        return Err(archive.fault("edge_index", "missing, and there is no adj_indptr either"));
    };
    let (graph, report) = pattern.into_graph(archive)?;
    if graph.num_nodes() != num_nodes {
        let what = format!("{} nodes, but {num_nodes} are described", graph.num_nodes());
        return Err(archive.fault("adj_shape", what));
    }
    Ok((graph, report))
}

/// Returns the graph with the splits of the archive, if it has any.
fn with_splits(archive: &mut NpzArchive, graph: Graph) -> Result<Graph> {
    const MEMBERS: [&str; 3] = ["train_idx", "val_idx", "test_idx"];
    if !MEMBERS.iter().any(|member| archive.has(member)) {
        return Ok(graph);
    }
    let mut parts = Vec::with_capacity(MEMBERS.len());
    for member in MEMBERS {
        let ids = archive.ids(member, graph.num_nodes() as u64)?;
        let (num_runs, length) = match ids.shape[..] {
            [length] => (1, length),
            [num_runs, length] if num_runs <= MAX_RUNS => (num_runs, length),
            _ => {
                let what = format!(
                    "shape {:?}, at most {MAX_RUNS} runs of ids are expected",
                    ids.shape
                );
                return Err(archive.fault(member, what));
            }
        };
        parts.push((num_runs, length, ids.data));
    }
    let num_runs = parts[0].0;
    if let Some(k) = parts.iter().position(|part| part.0 != num_runs) {
        let what = format!("{} runs, but {} has {num_runs}", parts[k].0, MEMBERS[0]);
        return Err(archive.fault(MEMBERS[k], what));
    }
    let split = |run: usize| {
        let part = |k: usize| {
            let (_, length, ids) = &parts[k];
            ids[run * length..(run + 1) * length].to_vec()
        };
        Split::new(format!("linkx-{run}"), part(0), part(1), part(2))
            .map_err(|e| archive.fault(MEMBERS[0], e.to_string()))
    };
    graph.with_splits((0..num_runs).map(split).collect::<Result<Vec<Split>>>()?)
}

/// Loads a graph of either kind from the bytes of an archive, for fuzzing: any bytes give a graph
/// or an error.
#[doc(hidden)]
pub fn fuzz_linkx(data: &[u8]) {
    for read in [facebook100_from, load_from] {
        if let Ok(mut archive) = NpzArchive::from_bytes(Path::new("fuzz.npz"), data) {
            let _ = read(&mut archive);
        }
    }
}
