//! Which node a row is about: by number, or by name.

use super::edges::sparse_ids;
use super::table::Table;
use crate::edge_sink::{NameIndex, sane_end};
use crate::text::{at_line, parse_id, quoted};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

/// The nodes of a graph while its files are read; those of features and labels may be new.
pub(super) enum Nodes {
    /// As many as the largest number says.
    Numbered(usize),
    /// In the order their names first occur.
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

    /// What a node is called in messages.
    pub fn called(&self, u: usize) -> String {
        match self {
            Nodes::Numbered(_) => u.to_string(),
            Nodes::Named(names) => quoted(&names.names[u]),
        }
    }

    /// The node a field names, a new one where it is none of those known. A number may lie beyond
    /// the others, but not by much for a file of that many rows.
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

    /// The node a field names, which must be one of those known.
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

    /// Makes room for a row per node, in order.
    pub fn extend_to(&mut self, num_rows: usize) {
        if let Nodes::Numbered(count) = self {
            *count = (*count).max(num_rows);
        }
    }

    /// Why rows cannot stand in the order of the nodes.
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

/// What the rows of a file are about: one node after the other, or those they name.
#[derive(Default)]
pub(super) struct RowNodes {
    /// The node and the line of each row; `None` where rows stand in order.
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

    /// Notes the node of the next row.
    pub fn push(&mut self, node: u32, line: usize) {
        if let Some(named) = &mut self.named {
            named.push((node, line));
        }
        self.num_rows += 1;
    }

    /// The row of each node. Fails where rows in order do not match the nodes, or two rows name one
    /// node.
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
