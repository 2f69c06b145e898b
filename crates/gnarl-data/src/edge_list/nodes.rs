//! Resolves the node of a row: by number, or by name.

use super::edges::sparse_ids;
use super::table::Table;
use crate::edge_sink::{NameIndex, sane_end};
use crate::text::{at_line, parse_id, quoted};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

/// The nodes of a graph while its files are read; features and labels may add new ones.
pub(super) enum Nodes {
    /// Node count, given by the largest number.
    Numbered(usize),
    /// Names in order of first occurrence.
    Named(NameIndex),
}

impl Nodes {
    pub fn len(&self) -> usize {
        match self {
            Nodes::Numbered(count) => *count,
            Nodes::Named(names) => names.len(),
        }
    }

    pub fn is_named(&self) -> bool {
        matches!(self, Nodes::Named(_))
    }

    /// Returns the name of a node for messages.
    pub fn called(&self, u: usize) -> String {
        match self {
            Nodes::Numbered(_) => u.to_string(),
            Nodes::Named(names) => quoted(&names.names[u]),
        }
    }

    /// Returns the node named by a field, adding a new node if it is unknown. A number may exceed
    /// the others, but not by much for a file with this many rows.
    pub fn get_or_add(&mut self, table: &Table, line: usize, field: &str) -> Result<u32> {
        match self {
            Nodes::Named(_) if field.is_empty() => {
                Err(at_line(&table.path, line, "a node without a name"))
            }
            Nodes::Named(names) => Ok(names.get_or_add(field)),
            Nodes::Numbered(count) => {
                let id = parse_id(&table.path, line, field, "a node id", 0..MAX_NODES as u64)?;
                if u64::from(id) >= sane_end(table.num_rows()).max(*count as u64) {
                    return Err(sparse_ids(&table.path, line, id, table.num_rows()));
                }
                *count = (*count).max(id as usize + 1);
                Ok(id)
            }
        }
    }

    /// Returns the node named by a field, which must be known.
    pub fn get(&self, table: &Table, line: usize, field: &str) -> Result<u32> {
        match self {
            Nodes::Numbered(count) => {
                parse_id(&table.path, line, field, "a node id", 0..*count as u64)
            }
            Nodes::Named(names) => names.get(field).ok_or_else(|| {
                at_line(
                    &table.path,
                    line,
                    format!(
                        "{} is no node of the edges, features or labels",
                        quoted(field)
                    ),
                )
            }),
        }
    }

    /// Extends the nodes to a row per node, in order.
    pub fn extend_to(&mut self, num_rows: usize) {
        if let Nodes::Numbered(count) = self {
            *count = (*count).max(num_rows);
        }
    }

    /// Explains why rows cannot be in the order of the nodes.
    pub fn needs_header(&self, table: &Table) -> Error {
        let word = match self {
            Nodes::Named(names) => names
                .names
                .iter()
                .find(|name| name.parse::<f64>().is_err())
                .cloned(),
            Nodes::Numbered(_) => None,
        };
        let what = format!(
            "nodes go by name here, such as {}: a header whose first column is 'node' is needed, and a name in each row",
            quoted(&word.unwrap_or_default())
        );
        table.fault(what)
    }
}

/// The nodes of the rows of a file: in order, or named by each row.
#[derive(Default)]
pub(super) struct RowNodes {
    /// The node and the line of each row; `None` if rows are in order.
    named: Option<Vec<(u32, usize)>>,
    pub num_rows: usize,
}

impl RowNodes {
    pub fn in_order() -> Self {
        Self::default()
    }

    pub fn by_node() -> Self {
        Self {
            named: Some(Vec::new()),
            num_rows: 0,
        }
    }

    /// Adds the node of the next row.
    pub fn push(&mut self, node: u32, line: usize) {
        if let Some(named) = &mut self.named {
            named.push((node, line));
        }
        self.num_rows += 1;
    }

    /// Returns the row of each node. Fails if rows in order do not match the nodes, or if two rows
    /// name one node.
    pub fn row_of(&self, table: &Table, nodes: &Nodes) -> Result<Vec<Option<u32>>> {
        let (rows, num_nodes) = (self.num_rows, nodes.len());
        let Some(named) = &self.named else {
            if rows != num_nodes {
                let what = format!(
                    "{rows} rows, but there are {num_nodes} nodes, one row each is expected"
                );
                return Err(table.fault(what));
            }
            return Ok((0..num_nodes as u32).map(Some).collect());
        };
        let mut row_of = vec![None; num_nodes];
        for (row, &(node, line)) in named.iter().enumerate() {
            if let Some(first) = row_of[node as usize].replace(row as u32) {
                let (who, before) = (nodes.called(node as usize), named[first as usize].1);
                return Err(at_line(
                    &table.path,
                    line,
                    format!("node {who} has a row already, on line {before}"),
                ));
            }
        }
        Ok(row_of)
    }
}
