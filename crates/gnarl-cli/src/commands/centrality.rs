//! `gnarl centrality`: how central each node is, in numbers.

use std::io::Write;
use std::path::Path;

use gnarl_graph::Error;
use gnarl_graph::centrality::Centrality;
use serde::Serialize;

use super::load_graph;
use crate::args::{CentralityArgs, Global};
use crate::output::{self, Report, bars, count, real};
use crate::progress;

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scored {
    /// The node.
    pub node: usize,
    /// Its centrality.
    pub value: f64,
}

/// Computes the centrality of every node of one graph.
pub fn run(global: &Global, args: &CentralityArgs) -> anyhow::Result<CentralityReport> {
    let (data, graph) = load_graph(global, &args.data, "centrality")?;
    let values = progress::during(&format!("{} of {data}", args.kind), || args.kind.scores(&graph))?;
    if let Some(file) = &args.output {
        write_csv(file, args.kind, &values)?;
    }
    Ok(CentralityReport {
        data,
        kind: args.kind.to_string(),
        nodes: graph.num_nodes(),
        edges: graph.num_edges(),
        summary: summarise(&values),
        top: top(&values, args.top),
        values: (args.values || values.len() <= MANY_NODES).then_some(values),
        output: args.output.as_ref().map(|file| file.display().to_string()),
    })
}

/// The `k` largest values, of equals the smaller node first.
pub fn top(values: &[f64], k: usize) -> Vec<Scored> {
    let mut scored: Vec<Scored> = values.iter().enumerate().map(|(node, &value)| Scored { node, value }).collect();
    scored.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.node.cmp(&b.node)));
    scored.truncate(k);
    scored
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

/// Writes `node,value` lines under a temporary name and renames: a reader never sees half a file.
fn write_csv(file: &Path, kind: Centrality, values: &[f64]) -> anyhow::Result<()> {
    let Some(name) = file.file_name() else {
        return Err(Error::argument("--output", format!("{} names no file", file.display())).into());
    };
    let mut temporary_name = name.to_os_string();
    temporary_name.push(format!(".{}.part", std::process::id()));
    let temporary = file.with_file_name(temporary_name);
    let write = || -> std::io::Result<()> {
        let mut out = std::io::BufWriter::new(std::fs::File::create(&temporary)?);
        writeln!(out, "node,{kind}")?;
        for (node, value) in values.iter().enumerate() {
            writeln!(out, "{node},{value}")?;
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&temporary, file)
    };
    write().map_err(|source| {
        // Best effort: the error to report is the first one.
        let _ = std::fs::remove_file(&temporary);
        Error::io(file, source).into()
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
        let nodes: Vec<usize> = top(&[1.0, 3.0, 3.0, 2.0], 3).iter().map(|s| s.node).collect();
        assert_eq!(nodes, [1, 2, 3]);
        assert!(top(&[1.0], 0).is_empty());
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
