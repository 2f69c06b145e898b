//! Reads a user's own archives: the output of `scipy.sparse.save_npz`, or the only array of a
//! `numpy.savez`.
//!
//! A sparse matrix has the members `format` (`csr`, `csc` or `coo`), `shape`, `data`, and `indices`
//! with `indptr` or `row` with `col`. Zero entries of an adjacency are no edges, and weights count
//! unless they are all one. Duplicate entries are summed, as SciPy does. [`load`] also reads the
//! layouts of [`npz`] and [`linkx`], recognised by their members.

use std::path::Path;

use super::edge_list::EdgeFile;
use super::edge_sink::sane_end;
use super::linkx;
use super::npz::{self, NpzArchive};
use super::sources::Sources;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::matrix::CsrMatrix;

/// Loads the graph in an archive of any supported layout.
pub fn load(path: &Path) -> Result<(Graph, BuildReport, Sources)> {
    load_from(path, &mut NpzArchive::open(path)?)
}

fn load_from(path: &Path, archive: &mut NpzArchive) -> Result<(Graph, BuildReport, Sources)> {
    let mut sources = Sources::default();
    let (graph, report) = if is_sparse(archive) {
        let EdgeFile {
            num_nodes,
            edges,
            weights,
            ..
        } = edges(archive)?;
        let what = if weights.is_some() {
            "a SciPy adjacency with weights"
        } else {
            "a SciPy adjacency"
        };
        sources.used(path, what);
        let (graph, report) = match weights {
            None => Graph::from_edges(num_nodes, edges)?,
            Some(w) => Graph::from_weighted_edges(
                num_nodes,
                edges.into_iter().zip(w).map(|((u, v), w)| (u, v, w)),
            )?,
        };
        (with_nodes(graph, archive, &mut sources)?, report)
    } else if archive.has("local_info") {
        sources.used(path, "edges, features and labels, as Facebook100 has them");
        linkx::facebook100_from(archive)?
    } else if archive.has("label") {
        sources.used(path, "edges, features and labels, as LINKX has them");
        linkx::load_from(archive)?
    } else if npz::is_graph(archive) {
        sources.used(
            path,
            "edges, features and labels, by adj_, attr_ and labels",
        );
        npz::load_from(archive, false)?
    } else {
        let what = format!(
            "members {}: a graph has adj_indices, adj_indptr and adj_shape, or edge_index and label, or is a SciPy matrix \
             saved with scipy.sparse.save_npz",
            archive.members().join(", ")
        );
        return Err(Error::data(path, "archive", what));
    };
    for member in archive.members_not_read() {
        sources.unused(path, format!("member {member} not read"));
    }
    Ok((graph, report, sources))
}

/// Adds the node data of gnarl's own archives, in addition to the adjacency.
fn with_nodes(mut graph: Graph, archive: &mut NpzArchive, sources: &mut Sources) -> Result<Graph> {
    if let Some(features) = npz::read_attributes(archive, false)? {
        sources.used(archive.path(), "features, by attr_");
        graph = graph
            .with_features(features)
            .map_err(|e| archive.fault("attr_shape", e.to_string()))?;
    }
    if archive.has("labels") {
        sources.used(archive.path(), "labels, none where they are -1");
        let class = |value: i64| Some(value).filter(|&value| value != -1);
        let labels = npz::integer_labels(
            archive
                .i64s("labels")?
                .data
                .into_iter()
                .map(class)
                .collect(),
        );
        graph = graph
            .with_labels(labels)
            .map_err(|e| archive.fault("labels", e.to_string()))?;
    }
    if archive.has("attr_scaling") {
        let what = format!(
            "features are scaled already: {}",
            archive.text("attr_scaling")?
        );
        sources.used(archive.path(), what);
    }
    Ok(graph)
}

/// Reads the edges of a SciPy adjacency.
pub(super) fn read_edges(path: &Path) -> Result<EdgeFile> {
    let mut archive = NpzArchive::open(path)?;
    if !is_sparse(&archive) {
        let what = format!(
            "members {}, a SciPy matrix is expected",
            archive.members().join(", ")
        );
        return Err(Error::data(path, "archive", what));
    }
    edges(&mut archive)
}

fn is_sparse(archive: &NpzArchive) -> bool {
    archive.has("format") && archive.has("shape") && archive.has("data")
}

fn edges(archive: &mut NpzArchive) -> Result<EdgeFile> {
    let matrix = SparseMatrix::read(archive)?;
    if matrix.num_rows != matrix.num_cols {
        let what = format!(
            "{} rows and {} columns, an adjacency must be square",
            matrix.num_rows, matrix.num_cols
        );
        return Err(archive.fault("shape", what));
    }
    let all_one = matrix.entries.iter().all(|entry| entry.2 == 1.0);
    Ok(EdgeFile {
        num_nodes: matrix.num_rows,
        weights: (!all_one).then(|| matrix.entries.iter().map(|entry| entry.2).collect()),
        edges: matrix.entries.into_iter().map(|(u, v, _)| (u, v)).collect(),
        ..EdgeFile::default()
    })
}

/// Reads features from an archive: a SciPy matrix, or its only array.
pub(super) fn features(archive: &mut NpzArchive) -> Result<Features> {
    if is_sparse(archive) {
        return SparseMatrix::read(archive)?.into_features();
    }
    match &archive.members()[..] {
        [only] => Ok(Features::Dense(archive.dense_f32s(only)?)),
        members => {
            let what = format!(
                "{}: a SciPy matrix or one array is expected",
                members.join(", ")
            );
            Err(Error::data(archive.path(), "members", what))
        }
    }
}

/// A sparse matrix as entries by row and column, none of them zero.
struct SparseMatrix {
    num_rows: usize,
    num_cols: usize,
    entries: Vec<(u32, u32, f64)>,
}

impl SparseMatrix {
    fn read(archive: &mut NpzArchive) -> Result<Self> {
        let shape = archive.u64s("shape")?.data;
        let &[num_rows, num_cols] = &shape[..] else {
            let what = format!("{} numbers, rows and columns are expected", shape.len());
            return Err(archive.fault("shape", what));
        };
        if num_rows.max(num_cols) > gnarl_graph::graph::MAX_NODES as u64 {
            let what = format!(
                "{num_rows} rows and {num_cols} columns, at most {} fit",
                gnarl_graph::graph::MAX_NODES
            );
            return Err(archive.fault("shape", what));
        }
        let format = archive.text("format")?;
        let values = archive.f32_sized("data")?.data;
        let (rows, cols) = match format.as_str() {
            "csr" => compressed(archive, num_rows, num_cols)?,
            "csc" => {
                let (cols, rows) = compressed(archive, num_cols, num_rows)?;
                (rows, cols)
            }
            "coo" => (
                archive.ids("row", num_rows)?.data,
                archive.ids("col", num_cols)?.data,
            ),
            other => {
                let what = format!("'{other}' is not read, save the matrix as csr, csc or coo");
                return Err(archive.fault("format", what));
            }
        };
        // A csr matrix has a number for each row; in other formats a mistyped shape must not
        // allocate memory.
        if format != "csr" && num_rows >= sane_end(values.len()) {
            let what = format!(
                "{num_rows} rows for {} values, save the matrix as csr",
                values.len()
            );
            return Err(archive.fault("shape", what));
        }
        if rows.len() != values.len() || cols.len() != values.len() {
            let what = format!(
                "{} values for {} rows and {} columns",
                values.len(),
                rows.len(),
                cols.len()
            );
            return Err(archive.fault("data", what));
        }
        let mut entries: Vec<(u32, u32, f64)> = rows
            .into_iter()
            .zip(cols)
            .zip(values)
            .map(|((u, v), value)| (u, v, value))
            .collect();
        entries.sort_by_key(|&(u, v, _)| (u, v));
        entries.dedup_by(|later, kept| {
            let same = (later.0, later.1) == (kept.0, kept.1);
            if same {
                kept.2 += later.2;
            }
            same
        });
        entries.retain(|entry| entry.2 != 0.0);
        if let Some((u, v, sum)) = entries
            .iter()
            .find(|entry| entry.2.abs() > f64::from(f32::MAX))
        {
            let what = format!(
                "row {u}, column {v} sums to {sum:e}, at most {:e} fits",
                f32::MAX
            );
            return Err(archive.fault("data", what));
        }
        Ok(Self {
            num_rows: num_rows as usize,
            num_cols: num_cols as usize,
            entries,
        })
    }

    fn into_features(self) -> Result<Features> {
        let mut offsets = vec![0u64; self.num_rows + 1];
        for (row, ..) in &self.entries {
            offsets[*row as usize + 1] += 1;
        }
        for row in 0..self.num_rows {
            offsets[row + 1] += offsets[row];
        }
        let indices = self.entries.iter().map(|entry| entry.1).collect();
        let values = self.entries.iter().map(|entry| entry.2 as f32).collect();
        Ok(Features::Sparse(CsrMatrix::new(
            self.num_cols,
            offsets,
            indices,
            values,
        )?))
    }
}

/// Returns the row and column of each entry of a compressed matrix.
fn compressed(
    archive: &mut NpzArchive,
    num_lines: u64,
    length: u64,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let places = archive.ids("indices", length)?.data;
    let bounds = archive.u64s("indptr")?.data;
    let fits = bounds.len() as u64 == num_lines + 1
        && bounds.is_sorted()
        && bounds.first() == Some(&0)
        && bounds.last() == Some(&(places.len() as u64));
    if !fits {
        let what = format!(
            "not the {} bounds, rising from 0 to {}, of {num_lines} rows or columns",
            num_lines + 1,
            places.len()
        );
        return Err(archive.fault("indptr", what));
    }
    let lines = (0u32..)
        .zip(bounds.windows(2))
        .flat_map(|(line, w)| std::iter::repeat_n(line, (w[1] - w[0]) as usize));
    Ok((lines.collect(), places))
}

/// Loads a graph or features from the bytes of an archive, for fuzzing: any bytes give one or an
/// error.
#[doc(hidden)]
pub fn fuzz_scipy(data: &[u8]) {
    let path = Path::new("fuzz.npz");
    if let Ok(mut archive) = NpzArchive::from_bytes(path, data) {
        let _ = load_from(path, &mut archive);
        let _ = features(&mut archive);
    }
}
