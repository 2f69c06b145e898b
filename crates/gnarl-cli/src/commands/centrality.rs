//! `gnarl centrality`: computes the centrality of each node.

use clap::Args;
use gnarl_graph::Graph;
use gnarl_graph::centrality::Centrality;
use serde::Serialize;
use std::path::PathBuf;

use super::load_graph;
use crate::global::Global;
use crate::node_id::{self, NodeId};
use crate::output::{self, Report, bars, count, real};
use crate::plot::{self, Line, LineChart, Point};
use crate::progress;

/// Arguments of `gnarl centrality`.
#[derive(Debug, Args)]
pub struct CentralityArgs {
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Kind of centrality: degree, core, pagerank, walks (length 2) or walks:LENGTH
    #[arg(long)]
    pub kind: Centrality,
    /// Number of most central nodes to show
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub top: usize,
    /// Write the value of every node to this CSV file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Plot the distribution of the values to STEM.svg and STEM.png: over all nodes, and over the
    /// nodes of each class, in the whole graph and in the subgraph of the class
    #[arg(long, value_name = "STEM")]
    pub plot: Option<PathBuf>,
    /// List every value in the JSON even for more than 100,000 nodes
    #[arg(long)]
    pub values: bool,
}

/// Number of nodes above which the JSON lists the values only with `--values`.
const MANY_NODES: usize = 100_000;
/// Number of classes above which the lines of a plot are hard to tell apart.
const MANY_CLASSES: usize = 3;
/// Number of bins of the histogram.
const BINS: usize = 40;

/// Result of `gnarl centrality`.
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
    /// Picture files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
}

/// Summary statistics of the values; absent for a graph without nodes.
#[derive(Debug, Serialize)]
struct Summary {
    min: f64,
    mean: f64,
    max: f64,
    /// Number of nodes per bin of equal width from `min` to `max`.
    histogram: Vec<usize>,
}

/// A node and its centrality.
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
    let values = progress::during(&format!("{} of {data}", args.kind), || {
        args.kind.scores(&graph)
    })?;
    if let Some(file) = &args.output {
        let rows = values
            .iter()
            .zip(0u32..)
            .map(|(value, u)| [graph.node_name(u), value.to_string()]);
        output::write_whole(file, node_id::csv(["node", &args.kind.to_string()], rows)?)?;
    }
    let mut files = Vec::new();
    if let Some(stem) = &args.plot {
        let chart = distributions(&data, &graph, args.kind, &values)?;
        files.extend(plot::write(&chart, stem)?.map(|file| file.display().to_string()));
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
        files,
    })
}

/// Plots the distribution of the values: over all nodes, over the nodes of each class, and over the
/// nodes of each class in the subgraph of that class. A graph with more than [`MANY_CLASSES`]
/// classes has the line of all nodes alone.
fn distributions(
    data: &str,
    graph: &Graph,
    kind: Centrality,
    values: &[f64],
) -> anyhow::Result<LineChart> {
    let mut groups = vec![("all nodes".to_string(), values.to_vec())];
    if let Some(labels) = graph
        .labels()
        .filter(|labels| labels.num_classes() <= MANY_CLASSES)
    {
        for class in 0..labels.num_classes() as u32 {
            let nodes: Vec<u32> = (0..values.len() as u32)
                .filter(|&u| labels.get(u) == Some(class))
                .collect();
            let name = labels.name(class);
            let alone = kind.scores(&graph.subgraph(&nodes)?)?;
            groups.push((
                format!("class {name}"),
                nodes.iter().map(|&u| values[u as usize]).collect(),
            ));
            groups.push((format!("{name} by itself"), alone));
        }
    }
    let all = || groups.iter().flat_map(|(_, values)| values).copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    // Whole numbers get a bin each if there are not too many.
    let is_whole = all().all(|v| v.fract() == 0.0) && high - low <= 200.0;
    let (bins, width) = if is_whole {
        ((high - low) as usize + 1, 1.0)
    } else {
        (BINS, (high - low).max(f64::MIN_POSITIVE) / BINS as f64)
    };
    let line = |(name, values): &(String, Vec<f64>)| {
        let mut shares = vec![0.0; bins];
        for value in values {
            shares[(((value - low) / width) as usize).min(bins - 1)] += 100.0 / values.len() as f64;
        }
        let middle = if is_whole { 0.0 } else { width / 2.0 };
        let point = |(i, y): (usize, f64)| Point {
            x: low + width * i as f64 + middle,
            y,
            band: None,
        };
        Line {
            name: name.clone(),
            points: shares.into_iter().enumerate().map(point).collect(),
        }
    };
    Ok(LineChart {
        title: format!("{kind} of {data}"),
        x_label: kind.to_string(),
        y_label: "share of the nodes, %".into(),
        lines: groups
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(line)
            .collect(),
    })
}

/// Returns the `k` largest values; of equal values the smaller node comes first.
pub fn top(graph: &Graph, values: &[f64], k: usize) -> Vec<Scored> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_by(|&a, &b| {
        values[b as usize]
            .total_cmp(&values[a as usize])
            .then(a.cmp(&b))
    });
    order.truncate(k);
    order
        .into_iter()
        .map(|u| Scored {
            node: NodeId::of(graph, u),
            value: values[u as usize],
        })
        .collect()
}

fn summarise(values: &[f64]) -> Option<Summary> {
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    // Divided first: a sum of huge counts would overflow.
    let mean = values.iter().map(|value| value / values.len() as f64).sum();
    let mut histogram = vec![0; BINS];
    for value in values {
        let share = if max > min {
            (value - min) / (max - min)
        } else {
            0.0
        };
        histogram[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    Some(Summary {
        min,
        mean,
        max,
        histogram,
    })
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
        if let Some(Summary {
            min,
            mean,
            max,
            histogram,
        }) = &self.summary
        {
            text += &format!(
                "min {}   mean {}   max {}\n",
                real(*min),
                real(*mean),
                real(*max)
            );
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
        if !self.files.is_empty() {
            text += &format!("\nwritten: {}\n", self.files.join(", "));
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
        let nodes = |graph: &Graph| {
            top(graph, &[1.0, 3.0, 3.0, 2.0], 3)
                .into_iter()
                .map(|s| s.node)
                .collect::<Vec<_>>()
        };
        assert_eq!(nodes(&graph), [1, 2, 3].map(NodeId::Number));
        let named = graph
            .with_node_names(["a", "b", "c", "d"].map(String::from).to_vec())
            .unwrap();
        assert_eq!(
            nodes(&named),
            ["b", "c", "d"].map(|name| NodeId::Name(name.into()))
        );
        assert!(top(&named, &[1.0], 0).is_empty());
    }

    #[test]
    fn distributions_are_shares_of_each_group() {
        let graph = Graph::from_edges(5, [(0, 1), (1, 2), (0, 2), (2, 3)])
            .unwrap()
            .0;
        let of = |graph: &Graph| {
            let values = Centrality::CORE.scores(graph).unwrap();
            distributions("five", graph, Centrality::CORE, &values)
                .unwrap()
                .lines
        };
        let ys = |line: &Line| line.points.iter().map(|p| p.y).collect::<Vec<_>>();
        let bare = of(&graph);
        assert_eq!(
            (bare.len(), ys(&bare[0])),
            (1, vec![20.0, 20.0, 60.0]),
            "cores 2, 2, 2, 1, 0"
        );
        let labels = gnarl_graph::Labels::new([0, 0, 1, 1, 1].map(Some).to_vec(), 2).unwrap();
        let lines = of(&graph.with_labels(labels).unwrap());
        assert_eq!(lines.len(), 5);
        assert_eq!(
            ys(&lines[1]),
            [0.0, 0.0, 100.0],
            "both of the first class are in the triangle"
        );
        assert_eq!(
            ys(&lines[2]),
            [0.0, 100.0, 0.0],
            "by themselves they are an edge"
        );
        assert!(of(&Graph::empty(0).unwrap()).is_empty());
    }

    #[test]
    fn the_histogram_counts_every_node_once() {
        let s = summarise(&[0.0, 0.0, 1.0, 4.0]).unwrap();
        assert_eq!((s.min, s.mean, s.max), (0.0, 1.25, 4.0));
        assert_eq!(
            (s.histogram[0], s.histogram[10], s.histogram[BINS - 1]),
            (2, 1, 1)
        );
        assert_eq!(
            summarise(&[7.0; 3]).unwrap().histogram[0],
            3,
            "equal values fill one bin"
        );
        assert!(summarise(&[]).is_none());
    }
}
