//! Adjacency matrix of a graph as a picture, with nodes ordered by class.

use std::path::Path;

use gnarl_graph::Graph;

use crate::commands::load_graph;
use crate::global::Global;
use crate::plot::{self, HeatMap, HeatMaps};

/// Number of cells to a side: with a pixel for each pair, a picture of many nodes would show none.
const SIDE: usize = 48;

/// Loads the graph, writes `STEM.svg` and `STEM.png`, and returns their names.
pub fn draw(global: &Global, name: &str, stem: &Path) -> anyhow::Result<Vec<String>> {
    let (data, graph) = load_graph(global, name, "adjacency")?;
    Ok(plot::write(&picture(&data, &graph), stem)?
        .map(|file| file.display().to_string())
        .to_vec())
}

fn picture(data: &str, graph: &Graph) -> HeatMaps {
    let side = SIDE.min(graph.num_nodes());
    let axis: Vec<f64> = (0..side)
        .map(|i| (i as f64 + 0.5) * graph.num_nodes() as f64 / side as f64)
        .collect();
    let axis_label = if graph.labels().is_some() {
        "nodes, by class"
    } else {
        "nodes"
    };
    let map = HeatMap {
        title: String::new(),
        x: axis.clone(),
        y: axis,
        values: shares(graph, side),
    };
    HeatMaps {
        title: format!("Edges of {data}"),
        x_label: axis_label.into(),
        y_label: axis_label.into(),
        value_label: "pairs joined, %".into(),
        framed: false,
        maps: vec![map],
    }
}

/// Returns the per cent of pairs in each cell that are joined. Nodes are ordered by class; nodes
/// without a class are last.
fn shares(graph: &Graph, side: usize) -> Vec<f64> {
    let n = graph.num_nodes();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&u| {
        graph
            .labels()
            .and_then(|labels| labels.get(u))
            .unwrap_or(u32::MAX)
    });
    let mut cell_of = vec![0; n];
    let mut sizes = vec![0.0; side];
    for (place, &u) in order.iter().enumerate() {
        cell_of[u as usize] = place * side / n;
        sizes[place * side / n] += 1.0;
    }
    let mut shares = vec![0.0; side * side];
    for u in 0..n as u32 {
        for &v in graph.neighbours(u) {
            let (row, column) = (cell_of[u as usize], cell_of[v as usize]);
            // Self-pairs are not counted.
            let others = if row == column {
                sizes[column] - 1.0
            } else {
                sizes[column]
            };
            shares[row * side + column] += 100.0 / (sizes[row] * others);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_by_class() {
        let graph = Graph::from_edges(4, [(0, 2), (0, 1)]).unwrap().0;
        let labels = gnarl_graph::Labels::new(vec![Some(1), Some(0), Some(1), Some(0)], 2).unwrap();
        let graph = graph.with_labels(labels).unwrap();
        // In the order 1, 3, 0, 2: class 0 has no edge, the pair of class 1 is joined, and one of
        // four pairs is between.
        assert_eq!(shares(&graph, 2), [0.0, 25.0, 25.0, 100.0]);
        assert_eq!(
            shares(&graph, 4)
                .iter()
                .filter(|share| **share == 100.0)
                .count(),
            4
        );
        assert!(shares(&Graph::empty(0).unwrap(), 0).is_empty());
        assert!(
            plot::svg(&picture("none", &Graph::empty(0).unwrap()))
                .unwrap()
                .contains("Edges of none")
        );
    }
}
