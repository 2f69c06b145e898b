//! `gnarl data list`: lists every dataset that gnarl can load by name.

use std::path::Path;

use gnarl_data::load::{BUILT_IN, is_embedded};
use gnarl_data::registry::{self, Entry, Task};
use serde::Serialize;

use crate::commands::load_graph;
use crate::global::Global;
use crate::output::{self, Report, count};

/// Result of `gnarl data list`.
#[derive(Debug, Serialize)]
pub struct ListReport {
    data_dir: String,
    datasets: Vec<Row>,
}

/// One dataset.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub name: String,
    pub aliases: Vec<&'static str>,
    pub task: &'static str,
    pub graphs: Option<usize>,
    pub nodes: usize,
    pub undirected_edges: Option<usize>,
    pub features: Option<usize>,
    pub classes: usize,
    pub format: &'static str,
    pub present: bool,
    /// True if a copy embedded in the program is read.
    pub embedded: bool,
}

/// Lists the built-in graphs, then the registry.
pub fn run(global: &Global) -> anyhow::Result<ListReport> {
    let dir = gnarl_data::data_dir(global.data_dir.as_deref());
    let mut datasets = Vec::new();
    for name in BUILT_IN {
        datasets.push(built_in(global, name)?.0);
    }
    datasets.extend(registry::all().map(|entry| known(entry, &dir)));
    Ok(ListReport {
        data_dir: dir.display().to_string(),
        datasets,
    })
}

/// Describes a built-in graph and returns the number of its own splits.
pub(super) fn built_in(global: &Global, name: &str) -> anyhow::Result<(Row, usize)> {
    let (name, graph) = load_graph(global, name, "data")?;
    let splits = graph.splits().len();
    let row = Row {
        name,
        aliases: Vec::new(),
        task: Task::Node.name(),
        graphs: None,
        nodes: graph.num_nodes(),
        undirected_edges: Some(graph.num_edges()),
        features: graph.features().map(|f| f.num_cols()),
        classes: graph.labels().map_or(0, |l| l.num_classes()),
        format: "built in",
        present: true,
        embedded: true,
    };
    Ok((row, splits))
}

fn known(entry: &Entry, data_dir: &Path) -> Row {
    Row {
        name: entry.name.to_string(),
        aliases: entry.aliases.to_vec(),
        task: entry.task.name(),
        graphs: entry.expected.graphs,
        nodes: entry.expected.nodes,
        undirected_edges: entry.expected.undirected_edges,
        features: entry.expected.features,
        classes: entry.expected.classes,
        format: entry.format.folder(),
        present: entry.first_missing(data_dir).is_none(),
        embedded: is_embedded(entry, data_dir),
    }
}

impl Row {
    fn presence(&self) -> &'static str {
        match (self.present, self.embedded) {
            (true, _) => "yes",
            (false, true) => "built in",
            (false, false) => "no",
        }
    }
}

impl Report for ListReport {
    fn text(&self) -> String {
        let headers = [
            "name",
            "task",
            ">graphs",
            ">nodes",
            ">edges",
            ">features",
            ">classes",
            "format",
            "present",
        ];
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
                row.presence().to_string(),
            ]);
        }
        format!(
            "{}\ndata folder: {}\n",
            output::render(&table),
            self.data_dir
        )
    }
}
