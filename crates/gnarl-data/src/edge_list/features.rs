//! Features of a user's own graph: a table with a row per node, sparse rows `node,column,value`, or
//! an archive of NumPy or SciPy.

use std::collections::HashSet;

use super::nodes::{Nodes, RowNodes};
use super::table::{Table, is_header};
use crate::edge_sink::{NameIndex, sane_end};
use crate::text::{at_line, parse_f32, parse_id, quoted};
use gnarl_graph::error::Result;
use gnarl_graph::features::Features;
use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};

/// The header of the sparse form.
const SPARSE: [&str; 3] = ["node", "column", "value"];

/// The rows of a features file, before the number of nodes is known.
pub(super) enum FeatureRows {
    Dense(DenseRows),
    Sparse(SparseRows),
}

impl FeatureRows {
    pub fn parse(table: &Table, nodes: &mut Nodes) -> Result<Self> {
        let first = table.first()?;
        let is_sparse = first.len() == 3
            && first
                .iter()
                .zip(SPARSE)
                .all(|(a, b)| a.eq_ignore_ascii_case(b));
        if is_sparse {
            return Ok(Self::Sparse(SparseRows::parse(table, nodes)?));
        }
        Ok(Self::Dense(DenseRows::parse(table, &first, nodes)?))
    }

    /// Builds a row for each node. Fails if a node of a dense table has none; in a sparse table a
    /// missing row is all zeros.
    pub fn build(self, table: &Table, nodes: &Nodes) -> Result<Features> {
        match self {
            Self::Dense(rows) => rows.build(table, nodes),
            Self::Sparse(rows) => rows.build(nodes),
        }
    }
}

pub(super) struct DenseRows {
    nodes: RowNodes,
    num_cols: usize,
    values: Vec<f32>,
}

impl DenseRows {
    fn parse(table: &Table, first: &[String], nodes: &mut Nodes) -> Result<Self> {
        let by_node = first
            .first()
            .is_some_and(|title| title.eq_ignore_ascii_case("node"));
        if nodes.is_named() && !by_node {
            return Err(nodes.needs_header(table));
        }
        let row_nodes = if by_node {
            RowNodes::by_node()
        } else {
            RowNodes::in_order()
        };
        let mut rows = Self {
            nodes: row_nodes,
            num_cols: 0,
            values: Vec::new(),
        };
        let mut is_title = by_node || is_header(first);
        let num_titles = if is_title {
            first.len() - usize::from(by_node)
        } else {
            0
        };
        table.each_row(|line, fields| {
            if std::mem::take(&mut is_title) {
                return Ok(());
            }
            let values = if by_node { &fields[1..] } else { fields };
            let (before, expected) = match rows.nodes.num_rows {
                0 => (
                    "the header has",
                    if num_titles > 0 {
                        num_titles
                    } else {
                        values.len()
                    },
                ),
                _ => ("the rows before have", rows.num_cols),
            };
            if values.len() != expected {
                return Err(at_line(
                    &table.path,
                    line,
                    format!("{} features, but {before} {expected}", values.len()),
                ));
            }
            rows.num_cols = expected;
            for field in values {
                rows.values
                    .push(parse_f32(&table.path, line, field, "a feature")?);
            }
            let node = if by_node {
                nodes.get_or_add(table, line, fields[0])?
            } else {
                0
            };
            rows.nodes.push(node, line);
            Ok(())
        })?;
        if !by_node {
            nodes.extend_to(rows.nodes.num_rows);
        }
        Ok(rows)
    }

    fn build(self, table: &Table, nodes: &Nodes) -> Result<Features> {
        let order = self.nodes.row_of(table, nodes)?;
        if let Some(u) = order.iter().position(Option::is_none) {
            let what = format!(
                "node {} has no row, but there are {} nodes",
                nodes.called(u),
                nodes.len()
            );
            return Err(table.fault(what));
        }
        let matrix = DenseMatrix::new(self.nodes.num_rows, self.num_cols, self.values)?;
        let order: Vec<u32> = order.into_iter().flatten().collect();
        Ok(Features::Dense(if order.is_sorted() {
            matrix
        } else {
            matrix.select_rows(&order)
        }))
    }
}

pub(super) struct SparseRows {
    entries: Vec<(u32, u32, f32)>,
    num_cols: usize,
}

impl SparseRows {
    fn parse(table: &Table, nodes: &mut Nodes) -> Result<Self> {
        let mut columns = Columns::find(table)?;
        let mut entries = Vec::with_capacity(table.num_rows());
        let mut seen = HashSet::with_capacity(table.num_rows());
        let mut is_title = true;
        table.each_row(|line, fields| {
            if std::mem::take(&mut is_title) {
                return Ok(());
            }
            let &[node, column, value] = fields else {
                return Err(at_line(
                    &table.path,
                    line,
                    format!(
                        "{} fields, node, column and value are expected",
                        fields.len()
                    ),
                ));
            };
            let node_id = nodes.get_or_add(table, line, node)?;
            let column_id = columns.get(table, line, column)?;
            if !seen.insert((node_id, column_id)) {
                let what = format!(
                    "node {} has a value in column {} already",
                    quoted(node),
                    quoted(column)
                );
                return Err(at_line(&table.path, line, what));
            }
            entries.push((
                node_id,
                column_id,
                parse_f32(&table.path, line, value, "a feature")?,
            ));
            Ok(())
        })?;
        Ok(Self {
            entries,
            num_cols: columns.count(),
        })
    }

    fn build(mut self, nodes: &Nodes) -> Result<Features> {
        self.entries.retain(|(_, _, value)| *value != 0.0);
        self.entries
            .sort_unstable_by_key(|&(node, column, _)| (node, column));
        let mut offsets = vec![0u64; nodes.len() + 1];
        for (node, ..) in &self.entries {
            offsets[*node as usize + 1] += 1;
        }
        for u in 0..nodes.len() {
            offsets[u + 1] += offsets[u];
        }
        let indices = self.entries.iter().map(|entry| entry.1).collect();
        let values = self.entries.iter().map(|entry| entry.2).collect();
        Ok(Features::Sparse(CsrMatrix::new(
            self.num_cols,
            offsets,
            indices,
            values,
        )?))
    }
}

/// Columns of the sparse form: by number if all are integers, else by name.
enum Columns {
    Numbered(usize),
    Named(NameIndex),
}

impl Columns {
    fn find(table: &Table) -> Result<Self> {
        let mut integers = true;
        let mut is_title = true;
        table.each_row(|_, fields| {
            integers &= std::mem::take(&mut is_title)
                || fields.get(1).is_none_or(|c| c.parse::<u64>().is_ok());
            Ok(())
        })?;
        Ok(if integers {
            Self::Numbered(0)
        } else {
            Self::Named(NameIndex::default())
        })
    }

    fn get(&mut self, table: &Table, line: usize, field: &str) -> Result<u32> {
        match self {
            Self::Named(names) => Ok(names.get_or_add(field)),
            Self::Numbered(count) => {
                let id = parse_id(
                    &table.path,
                    line,
                    field,
                    "a column",
                    0..sane_end(table.num_rows()),
                )?;
                *count = (*count).max(id as usize + 1);
                Ok(id)
            }
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Numbered(count) => *count,
            Self::Named(names) => names.len(),
        }
    }
}
