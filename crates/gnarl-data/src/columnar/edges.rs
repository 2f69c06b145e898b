//! Edges of a columnar table.

use std::path::Path;

use arrow_array::{Array, ArrayRef, RecordBatch};

use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

use super::batches::{ROWS, batches};
use super::values::{integers, value_as_text, weights};
use crate::edge_sink::{
    EdgeSink, NameIndex, Streamed, TITLES, is_one_of, is_weight_title, sane_end,
};

/// Returns true if a file of edges has weights.
pub(crate) fn is_weighted(path: &Path) -> Result<bool> {
    match batches(path)?.next() {
        Some(batch) => Ok(EdgeColumns::find(path, &batch?)?.weight.is_some()),
        None => Ok(false),
    }
}

/// Passes every edge of a file to the sink.
pub(crate) fn stream_edges(path: &Path, sink: &mut dyn EdgeSink) -> Result<Streamed> {
    let size = std::fs::metadata(path)
        .map_err(|e| Error::io(path, e))?
        .len();
    let mut reader: Option<EdgeReader<'_>> = None;
    for batch in batches(path)? {
        let batch = batch?;
        let reader = match &mut reader {
            Some(reader) => reader,
            none => none.insert(EdgeReader::new(path, &batch)?),
        };
        let weights = reader.read(&batch)?;
        sink.take(&reader.edges, &weights)?;
        sink.advance((size / 2).min(16 * reader.num_rows));
    }
    reader.map_or_else(|| Ok(Streamed::default()), EdgeReader::finish)
}

/// Columns of ids and weights.
struct EdgeColumns {
    ends: [usize; 2],
    weight: Option<usize>,
    dropped: Vec<String>,
}

impl EdgeColumns {
    fn find(path: &Path, batch: &RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let titles: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        if titles.len() < 2 {
            let what = format!(
                "{} columns, one for each end of an edge is expected",
                titles.len()
            );
            return Err(Error::data(path, "columns", what));
        }
        let known: Vec<usize> = (0..titles.len())
            .filter(|&i| is_one_of(titles[i], &TITLES))
            .collect();
        let ends = match known[..] {
            [u, v] => [u, v],
            _ => [0, 1],
        };
        let weight = (0..titles.len()).find(|i| !ends.contains(i) && is_weight_title(titles[*i]));
        let rest = (0..titles.len()).filter(|i| !ends.contains(i) && Some(*i) != weight);
        Ok(Self {
            ends,
            weight,
            dropped: rest.map(|i| titles[i].to_string()).collect(),
        })
    }
}

/// Ids of the nodes that have occurred.
enum NodeIds {
    /// Integers, and the largest of them.
    Numbers(Option<u32>),
    /// Names, numbered in order of first occurrence.
    Names(NameIndex),
}

/// Reads the edges of one batch after the other.
struct EdgeReader<'a> {
    path: &'a Path,
    columns: EdgeColumns,
    ids: NodeIds,
    /// Number of rows read.
    num_rows: u64,
    /// Edges of the batch that was read last.
    edges: Vec<(u32, u32)>,
}

impl<'a> EdgeReader<'a> {
    /// Makes a reader of tables with the columns of this first batch.
    fn new(path: &'a Path, batch: &RecordBatch) -> Result<Self> {
        let columns = EdgeColumns::find(path, batch)?;
        let is_integer = |&end: &usize| batch.column(end).data_type().is_integer();
        let ids = if columns.ends.iter().all(is_integer) {
            NodeIds::Numbers(None)
        } else {
            NodeIds::Names(NameIndex::default())
        };
        Ok(Self {
            path,
            columns,
            ids,
            num_rows: 0,
            edges: Vec::with_capacity(ROWS),
        })
    }

    /// Reads a batch into `edges`, and returns the edges' weights if there are any.
    fn read(&mut self, batch: &RecordBatch) -> Result<Vec<f64>> {
        self.edges.clear();
        let ends = self.columns.ends.map(|end| batch.column(end));
        let row = Row {
            path: self.path,
            before: self.num_rows,
        };
        match &mut self.ids {
            NodeIds::Numbers(largest) => {
                let [Some(us), Some(vs)] = ends.map(integers) else {
                    let what = "ids that are no integers";
                    return Err(Error::data(self.path, "columns", what));
                };
                for (i, (u, v)) in us.into_iter().zip(vs).enumerate() {
                    let (u, v) = (row.node_id(i, u)?, row.node_id(i, v)?);
                    *largest = (*largest).max(Some(u.max(v)));
                    self.edges.push((u, v));
                }
            }
            NodeIds::Names(names) => {
                for i in 0..batch.num_rows() {
                    let u = names.get_or_add(&row.name(i, ends[0])?);
                    let v = names.get_or_add(&row.name(i, ends[1])?);
                    self.edges.push((u, v));
                }
            }
        }
        let weights = match self.columns.weight {
            None => Vec::new(),
            Some(column) => weights(self.path, batch.column(column), self.num_rows)?,
        };
        self.num_rows += batch.num_rows() as u64;
        Ok(weights)
    }

    /// Returns the summary of all batches. Fails if ids leave gaps too large for the rows.
    fn finish(self) -> Result<Streamed> {
        let (num_nodes, names) = match self.ids {
            NodeIds::Names(names) => (names.len(), Some(names.into_names())),
            NodeIds::Numbers(None) => (0, None),
            NodeIds::Numbers(Some(id)) if u64::from(id) >= sane_end(self.num_rows as usize) => {
                let what = format!("node id {id} in a file of {} rows", self.num_rows);
                let remedy = "nodes are numbered 0, 1, 2, … without large gaps, renumber them";
                return Err(Error::data(
                    self.path,
                    "whole file",
                    format!("{what}: {remedy}"),
                ));
            }
            NodeIds::Numbers(Some(id)) => (id as usize + 1, None),
        };
        Ok(Streamed {
            num_nodes,
            num_rows: self.num_rows,
            names,
            columns_dropped: self.columns.dropped,
        })
    }
}

/// Rows of a batch, for the values in them and for messages.
struct Row<'a> {
    path: &'a Path,
    /// Number of rows in the batches before.
    before: u64,
}

impl Row<'_> {
    /// Makes an error about row `i` of the batch.
    fn error(&self, i: usize, what: impl Into<String>) -> Error {
        let row = self.before + i as u64 + 1;
        Error::data(self.path, format!("row {row}"), what)
    }

    fn missing(&self, i: usize) -> Error {
        self.error(i, "an edge without one of its ends")
    }

    /// Converts a value of row `i` to a node id.
    fn node_id(&self, i: usize, value: Option<i128>) -> Result<u32> {
        let value = value.ok_or_else(|| self.missing(i))?;
        match u64::try_from(value) {
            Ok(id) if id < MAX_NODES as u64 => Ok(id as u32),
            _ => Err(self.error(i, format!("{value} is not a node id"))),
        }
    }

    /// Returns the name of a node in row `i`.
    fn name(&self, i: usize, column: &ArrayRef) -> Result<String> {
        if column.is_null(i) {
            return Err(self.missing(i));
        }
        value_as_text(column, i).map_err(|what| Error::data(self.path, "columns", what))
    }
}
