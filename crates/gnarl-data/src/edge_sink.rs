//! Shared parts of all edge readers: titles of columns, names of nodes, plausible ids, and the sink
//! of edges.

use std::collections::HashMap;

use gnarl_graph::error::Result;
use gnarl_graph::graph::MAX_NODES;

/// Titles of the two id columns, which distinguish a header from an edge between names.
pub(super) const TITLES: [&str; 30] = [
    "source",
    "target",
    "src",
    "dst",
    "from",
    "to",
    "head",
    "tail",
    "u",
    "v",
    "node",
    "neighbour",
    "neighbor",
    "node1",
    "node2",
    "node_1",
    "node_2",
    "id1",
    "id2",
    "id_1",
    "id_2",
    "source_id",
    "target_id",
    "sender",
    "receiver",
    "start",
    "end",
    "from_node",
    "to_node",
    "nodes",
];

/// Titles of the weight column.
const WEIGHT_TITLES: [&str; 3] = ["weight", "weights", "w"];

/// A consumer of edges, with their weights if they have some.
pub(super) trait EdgeSink {
    /// Takes some edges; there are as many weights as edges, or none.
    fn take(&mut self, edges: &[(u32, u32)], weights: &[f64]) -> Result<()>;

    /// Discards all edges: the file is read again, in another way.
    fn reset(&mut self);

    /// Reports the number of bytes of the file that were read.
    fn advance(&mut self, bytes: u64);
}

/// Summary of an edge file that was read.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// The largest id plus one, or the number of names.
    pub num_nodes: usize,
    pub num_rows: u64,
    /// Names of the nodes, in order of first occurrence; `None` if ids are integers.
    pub names: Option<Vec<String>>,
    /// Titles of columns that are neither ids nor weights.
    pub columns_dropped: Vec<String>,
}

/// Names, numbered in order of first occurrence.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    pub names: Vec<String>,
    ids: HashMap<String, u32>,
}

impl NameIndex {
    pub fn new(names: Vec<String>) -> Self {
        let ids = names
            .iter()
            .zip(0u32..)
            .map(|(name, id)| (name.clone(), id))
            .collect();
        Self { names, ids }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn get(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// Returns the number of a name, adding it if it is new.
    pub fn get_or_add(&mut self, name: &str) -> u32 {
        if let Some(id) = self.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_string());
        self.ids.insert(name.to_string(), id);
        id
    }

    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// Returns the bound below which ids are plausible in a file of that many rows.
pub(super) fn sane_end(num_rows: usize) -> u64 {
    (100 * num_rows as u64 + 1_000_001).min(MAX_NODES as u64)
}

/// Returns true if a column of this title holds weights.
pub(super) fn is_weight_title(title: &str) -> bool {
    is_one_of(title, &WEIGHT_TITLES)
}

/// Returns true if a title is among `titles`, ignoring case.
pub(super) fn is_one_of(title: &str, titles: &[&str]) -> bool {
    titles.iter().any(|known| known.eq_ignore_ascii_case(title))
}
