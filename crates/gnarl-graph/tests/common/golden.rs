//! The golden files: expected values from NetworkX, igraph, NumPy, SciPy and scikit-learn, made by
//! `tests/golden/make.sh`, which names each call.
#![allow(dead_code, reason = "each test file compares its own part")]

use std::path::Path;

use gnarl_graph::Graph;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads a golden file.
pub fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Contents of `graphs.json`: graphs with everything that can be compared number by number.
#[derive(Deserialize)]
pub struct Graphs {
    pub graphs: Vec<GraphRow>,
}

/// One graph and its values by other tools.
#[derive(Deserialize)]
pub struct GraphRow {
    pub name: String,
    pub num_nodes: usize,
    pub edges: Vec<(u32, u32)>,
    pub weights: Option<Vec<f64>>,
    pub degree: Vec<f64>,
    pub core: Vec<u32>,
    pub pagerank: Vec<f64>,
    /// Lengths 1 to 4.
    pub walks: Vec<Vec<f64>>,
    pub component_of: Vec<u32>,
    /// Diameter, `None` if the graph is not connected.
    pub diameter: Option<u32>,
    pub density: f64,
    pub modularity: Vec<ModularityRow>,
}

/// A partition and its modularity.
#[derive(Deserialize)]
pub struct ModularityRow {
    pub communities: Vec<u32>,
    pub resolution: f64,
    pub value: f64,
}

impl GraphRow {
    /// The graph itself.
    pub fn graph(&self) -> Graph {
        let (graph, report) = match &self.weights {
            None => Graph::from_edges(self.num_nodes, self.edges.iter().copied()),
            Some(weights) => Graph::from_weighted_edges(
                self.num_nodes,
                self.edges
                    .iter()
                    .zip(weights)
                    .map(|(&(u, v), &w)| (u, v, w)),
            ),
        }
        .unwrap();
        assert_eq!(
            (report.duplicates, report.self_loops),
            (0, 0),
            "{}",
            self.name
        );
        graph
    }
}

/// Asserts that two lists agree entry by entry; `what` names the list in the message.
#[track_caller]
pub fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: number of values");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() <= tolerance,
            "{what}: value {i} is {g}, expected {e}"
        );
    }
}
