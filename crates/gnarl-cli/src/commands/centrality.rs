//! `gnarl centrality`: how central each node is, in numbers.

use clap::Args;
use gnarl_graph::Graph;
use gnarl_graph::centrality::Centrality;
use serde::Serialize;
use std::path::PathBuf;

use super::load_graph;
use crate::global::Global;
use crate::node_id::{self, NodeId};
use crate::output::{self, Report, bars, count, real};
use crate::progress;

/// `gnarl centrality`
#[derive(Debug, Args)]
pub struct CentralityArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// degree, core, pagerank, walks (length 2) or walks:LENGTH
    #[arg(long)]
    pub kind: Centrality,
    /// How many of the most central nodes to show
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,
    /// Write the value of every node to this CSV file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List every value in the JSON even where there are more than 100,000
    #[arg(long)]
    pub values: bool,
}

/// Beyond this many nodes the JSON lists the values only when asked to.
const MANY_NODES: usize = 100_000;
/// Bins of the histogram.
const BINS: usize = 40;

/// What `gnarl centrality` found.
#[derive(Debug, Serialize)]
pub struct CentralityReport {
    data: String,
    kind: String,
    nodes: usize,
    edges: usize,
    summary: Option<Summary>,
    top: Vec<Scored>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// The spread of the values; there is none without nodes.
#[derive(Debug, Serialize)]
struct Summary {
    min: f64,
    mean: f64,
    max: f64,
    /// Nodes per bin of equal width from `min` to `max`.
    histogram: Vec<usize>,
}

/// A node and its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scored {
    /// The node.
    pub node: NodeId,
    /// Its centrality.
    pub value: f64,
}

/// Computes the centrality of every node of one graph.
pub fn run(global: &Global, args: &CentralityArgs) -> anyhow::Result<CentralityReport> {
    let (data, graph) = load_graph(global, &args.data, "centrality")?;
    let values = progress::during(&format!("{} of {data}", args.kind), || args.kind.scores(&graph))?;
    if let Some(file) = &args.output {
        let rows = values.iter().zip(0u32..).map(|(value, u)| [graph.node_name(u), value.to_string()]);
        output::write_whole(file, node_id::csv(["node", &args.kind.to_string()], rows)?)?;
    }
    Ok(CentralityReport {
        data,
        kind: args.kind.to_string(),
        nodes: graph.num_nodes(),
        edges: graph.num_edges(),
        summary: summarise(&values),
        top: top(&graph, &values, args.top),
        values: (args.values || values.len() <= MANY_NODES).then_some(values),
        output: args.output.as_ref().map(|file| file.display().to_string()),
    })
}

/// The `k` largest values, of equals the smaller node first.
pub fn top(graph: &Graph, values: &[f64], k: usize) -> Vec<Scored> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]).then(a.cmp(&b)));
    order.truncate(k);
    order.into_iter().map(|u| Scored { node: NodeId::of(graph, u), value: values[u as usize] }).collect()
}

fn summarise(values: &[f64]) -> Option<Summary> {
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mut histogram = vec![0; BINS];
    for value in values {
        let share = if max > min { (value - min) / (max - min) } else { 0.0 };
        histogram[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    Some(Summary { min, mean, max, histogram })
}

impl Report for CentralityReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} of {}: {} nodes, {} edges\n",
            self.kind,
            self.data,
            count(self.nodes as u64),
            count(self.edges as u64)
        );
        if let Some(Summary { min, mean, max, histogram }) = &self.summary {
            text += &format!("min {}   mean {}   max {}\n", real(*min), real(*mean), real(*max));
            text += &format!("{} |{}| {}\n", real(*min), bars(histogram), real(*max));
        }
        if !self.top.is_empty() {
            let mut table = output::table(&[">node", &format!(">{}", self.kind)]);
            for Scored { node, value } in &self.top {
                table.add_row([node.to_string(), real(*value)]);
            }
            text += &format!("\n{}", output::render(&table));
        }
        if let Some(file) = &self.output {
            text += &format!("\nevery value is in {file}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_listed_by_node() {
        let graph = Graph::empty(4).unwrap();
        let nodes =
            |graph: &Graph| top(graph, &[1.0, 3.0, 3.0, 2.0], 3).into_iter().map(|s| s.node).collect::<Vec<_>>();
        assert_eq!(nodes(&graph), [1, 2, 3].map(NodeId::Number));
        let named = graph.with_node_names(["a", "b", "c", "d"].map(String::from).to_vec()).unwrap();
        assert_eq!(nodes(&named), ["b", "c", "d"].map(|name| NodeId::Name(name.into())));
        assert!(top(&named, &[1.0], 0).is_empty());
    }

    #[test]
    fn the_histogram_counts_every_node_once() {
        let s = summarise(&[0.0, 0.0, 1.0, 4.0]).unwrap();
        assert_eq!((s.min, s.mean, s.max), (0.0, 1.25, 4.0));
        assert_eq!((s.histogram[0], s.histogram[10], s.histogram[BINS - 1]), (2, 1, 1));
        assert_eq!(summarise(&[7.0; 3]).unwrap().histogram[0], 3, "equal values fill one bin");
        assert!(summarise(&[]).is_none());
    }
}
