//! `gnarl data list`: every dataset gnarl knows.

use gnarl_graph::dataset::load::BUILT_IN;
use gnarl_graph::dataset::registry::{DATASETS, Entry};
use serde::Serialize;

use super::{format_name, task_name};
use crate::global::Global;
use crate::commands::load_graph;
use crate::data_dir;
use crate::output::{self, Report, count};

/// What `gnarl data list` found.
#[derive(Debug, Serialize)]
pub struct ListReport {
    data_dir: String,
    datasets: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    aliases: Vec<&'static str>,
    task: &'static str,
    graphs: Option<usize>,
    nodes: usize,
    undirected_edges: Option<usize>,
    features: Option<usize>,
    classes: usize,
    format: &'static str,
    present: bool,
}

/// Lists the built-in graphs, then the registry.
pub fn run(global: &Global) -> anyhow::Result<ListReport> {
    let dir = data_dir::resolve(global.data_dir.as_deref());
    let mut datasets = Vec::new();
    for name in BUILT_IN {
        datasets.push(built_in(global, name)?);
    }
    datasets.extend(DATASETS.iter().map(|entry| known(entry, entry.first_missing(&dir).is_none())));
    Ok(ListReport { data_dir: dir.display().to_string(), datasets })
}

fn built_in(global: &Global, name: &str) -> anyhow::Result<Row> {
    let (name, graph) = load_graph(global, name, "data list")?;
    Ok(Row {
        name,
        aliases: Vec::new(),
        task: "node",
        graphs: None,
        nodes: graph.num_nodes(),
        undirected_edges: Some(graph.num_edges()),
        features: graph.features().map(|f| f.num_cols()),
        classes: graph.labels().map_or(0, |l| l.num_classes()),
        format: "built in",
        present: true,
    })
}

fn known(entry: &Entry, present: bool) -> Row {
    Row {
        name: entry.name.to_string(),
        aliases: entry.aliases.to_vec(),
        task: task_name(entry.task),
        graphs: entry.expected.graphs,
        nodes: entry.expected.nodes,
        undirected_edges: entry.expected.undirected_edges,
        features: entry.expected.features,
        classes: entry.expected.classes,
        format: format_name(entry.format),
        present,
    }
}

impl Report for ListReport {
    fn text(&self) -> String {
        let headers = ["name", "task", ">graphs", ">nodes", ">edges", ">features", ">classes", "format", "present"];
        let mut table = output::table(&headers);
        let optional = |n: Option<usize>| n.map_or_else(|| "-".to_string(), |n| count(n as u64));
        for row in &self.datasets {
            table.add_row([
                row.name.clone(),
                row.task.to_string(),
                optional(row.graphs),
                count(row.nodes as u64),
                optional(row.undirected_edges),
                optional(row.features),
                row.classes.to_string(),
                row.format.to_string(),
                if row.present { "yes" } else { "no" }.to_string(),
            ]);
        }
        format!("{}\ndata folder: {}\n", output::render(&table), self.data_dir)
    }
}
