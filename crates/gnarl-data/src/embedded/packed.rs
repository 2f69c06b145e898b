//! Cora and MUTAG embedded in the program, packed by `scripts/embed_data.py`; the `README.md` next
//! to the files has authors and licences.

use std::io::Read;

use flate2::read::ZlibDecoder;

use crate::Content;
use crate::npz::integer_labels;
use crate::registry::Entry;
use gnarl_graph::error::Result;
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::graph_set::GraphSet;
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::CsrMatrix;
use gnarl_graph::split::Split;

/// Returns true if a dataset of the registry is embedded in the program.
pub fn holds(entry: &Entry) -> bool {
    matches!(entry.name, "cora" | "MUTAG")
}

/// Returns an embedded dataset as its loader gives it; `None` for another dataset. O(its size), a
/// few milliseconds.
pub fn unpack(entry: &Entry) -> Option<(Content, BuildReport)> {
    match entry.name {
        "cora" => {
            let (graph, report) = cora().expect("what is packed is a valid graph");
            Some((Content::Graph(graph), report))
        }
        "MUTAG" => {
            let (set, report) = mutag().expect("what is packed is a valid set of graphs");
            Some((Content::Graphs(set), report))
        }
        _ => None,
    }
}

/// Unsigned numbers, seven bits per byte.
struct Numbers {
    bytes: std::vec::IntoIter<u8>,
}

impl Numbers {
    fn of(packed: &[u8]) -> Self {
        let mut bytes = Vec::new();
        ZlibDecoder::new(packed)
            .read_to_end(&mut bytes)
            .expect("what is packed is whole");
        Self {
            bytes: bytes.into_iter(),
        }
    }

    fn next(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.bytes.next().expect("what is packed is whole");
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return number;
            }
            shift += 7;
        }
    }

    fn size(&mut self) -> usize {
        self.next() as usize
    }

    /// Reads ascending numbers, stored as differences.
    fn list(&mut self) -> Vec<u32> {
        let mut before = 0;
        let len = self.size();
        let member = |_| {
            before += self.next() as u32;
            before
        };
        (0..len).map(member).collect()
    }

    /// Reads the edges of this many nodes, each a list of larger neighbours.
    fn edges(&mut self, num_nodes: usize) -> Vec<(u32, u32)> {
        let of = |u: u32, list: Vec<u32>| list.into_iter().map(move |v| (u, v));
        (0..num_nodes as u32)
            .flat_map(|u| of(u, self.list()))
            .collect()
    }

    fn report(&mut self) -> BuildReport {
        BuildReport {
            edges_given: self.next(),
            self_loops: self.next(),
            self_loop_nodes: self.next(),
            duplicates: self.next(),
            conflicting_weights: 0,
        }
    }
}

fn cora() -> Result<(Graph, BuildReport)> {
    let mut numbers = Numbers::of(include_bytes!("cora.bin"));
    let report = numbers.report();
    let (num_nodes, num_columns, num_classes) = (numbers.size(), numbers.size(), numbers.size());
    let classes = (0..num_nodes)
        .map(|_| Some(numbers.next() as u32))
        .collect();
    let (train, val) = (numbers.next() as u32, numbers.next() as u32);
    let split = Split::new(
        "public",
        (0..train).collect(),
        (train..train + val).collect(),
        numbers.list(),
    )?;
    let edges = numbers.edges(num_nodes);
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for _ in 0..num_nodes {
        indices.extend(numbers.list());
        offsets.push(indices.len() as u64);
    }
    let ones = vec![1.0; indices.len()];
    let graph = Graph::from_edges(num_nodes, edges)?
        .0
        .with_features(Features::Sparse(CsrMatrix::new(
            num_columns,
            offsets,
            indices,
            ones,
        )?))?
        .with_labels(Labels::new(classes, num_classes)?)?
        .with_splits(vec![split])?;
    Ok((graph, report))
}

fn mutag() -> Result<(GraphSet, BuildReport)> {
    let mut numbers = Numbers::of(include_bytes!("mutag.bin"));
    let report = numbers.report();
    let (num_graphs, num_node_labels) = (numbers.size(), numbers.size());
    let signed = |folded: u64| {
        if folded.is_multiple_of(2) {
            (folded / 2) as i64
        } else {
            -((folded / 2 + 1) as i64)
        }
    };
    let classes: Vec<Option<i64>> = (0..num_graphs)
        .map(|_| Some(signed(numbers.next())))
        .collect();
    let mut graphs = Vec::with_capacity(num_graphs);
    for _ in 0..num_graphs {
        let num_nodes = numbers.size();
        let labels: Vec<u32> = (0..num_nodes).map(|_| numbers.next() as u32).collect();
        let one_hot = CsrMatrix::new(
            num_node_labels,
            (0..=num_nodes as u64).collect(),
            labels,
            vec![1.0; num_nodes],
        )?;
        let (graph, _) = Graph::from_edges(num_nodes, numbers.edges(num_nodes))?;
        graphs.push(graph.with_features(Features::Sparse(one_hot))?);
    }
    Ok((
        GraphSet::new(graphs, integer_labels(classes), Some(num_node_labels))?,
        report,
    ))
}
