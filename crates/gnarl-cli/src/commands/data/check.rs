//! `gnarl data check`: loads datasets and compares their statistics with the registry.

use std::path::Path;

use clap::Args;
use gnarl_data::registry::Expected;
use gnarl_data::{Content, Source, Sources, disk, facts};
use gnarl_graph::{BuildReport, Split};
use serde::Serialize;
use serde_json::Value;

use crate::commands::load;
use crate::global::Global;
use crate::output::{self, Report, count, real};
use crate::progress;

/// Arguments of `gnarl data check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Datasets: names of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

/// Result of `gnarl data check`: the statistics for one name, a list of them for several names.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum CheckReport {
    /// Statistics of one dataset.
    One(Box<Checked>),
    /// Statistics of several datasets.
    Several {
        /// Datasets in the order given.
        datasets: Vec<Checked>,
    },
}

/// Statistics of one dataset.
#[derive(Debug, Serialize)]
pub struct Checked {
    name: String,
    stats: Value,
    /// Counts of what loading dropped.
    report: BuildReport,
    splits: Vec<SplitSizes>,
    /// Files that were read and files that were not, for a user's own data; absent for a dataset by
    /// name.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Sources>,
    /// Statistics in the registry; null for a graph that is not in it.
    expected: Option<Expected>,
    mismatches: Vec<facts::Check>,
}

#[derive(Debug, Serialize)]
struct SplitSizes {
    name: String,
    train: usize,
    val: usize,
    test: usize,
}

impl From<&Split> for SplitSizes {
    fn from(split: &Split) -> Self {
        let name = split.name().to_string();
        Self {
            name,
            train: split.train().len(),
            val: split.val().len(),
            test: split.test().len(),
        }
    }
}

/// Loads every named dataset and gathers its statistics.
pub fn run(global: &Global, args: &CheckArgs) -> anyhow::Result<CheckReport> {
    let mut checked = args
        .names
        .iter()
        .map(|name| check(global, name))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(match checked.pop() {
        Some(only) if checked.is_empty() => CheckReport::One(Box::new(only)),
        last => CheckReport::Several {
            datasets: checked.into_iter().chain(last).collect(),
        },
    })
}

fn check(global: &Global, name: &str) -> anyhow::Result<Checked> {
    let folder = Path::new(name);
    if disk::is_folder(folder) {
        progress::during(&format!("reading every number of {name}"), || {
            disk::verify(folder)
        })?;
    }
    let loaded = load(global, name)?;
    let (stats, splits) = progress::during(&format!("statistics of {}", loaded.name), || {
        Ok::<_, gnarl_graph::Error>(match &loaded.content {
            Content::Graph(graph) => (
                facts::node_facts(graph, &loaded.report, &loaded.name)?,
                graph.splits(),
            ),
            Content::Graphs(set) => (facts::graph_set_facts(set), set.splits()),
        })
    })?;
    Ok(Checked {
        mismatches: loaded
            .entry
            .map_or_else(Vec::new, |entry| facts::mismatches(entry, &stats)),
        expected: loaded.entry.map(|entry| entry.expected),
        splits: splits.iter().map(SplitSizes::from).collect(),
        report: loaded.report,
        sources: Some(loaded.sources).filter(|sources| *sources != Sources::default()),
        stats,
        name: loaded.name,
    })
}

impl CheckReport {
    fn all(&self) -> &[Checked] {
        match self {
            CheckReport::One(only) => std::slice::from_ref(only),
            CheckReport::Several { datasets } => datasets,
        }
    }
}

impl Report for CheckReport {
    fn text(&self) -> String {
        self.all()
            .iter()
            .map(Checked::text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn complaint(self) -> Option<anyhow::Error> {
        let wrong: Vec<String> = (self.all().iter())
            .flat_map(|c| c.mismatches.iter().map(move |m| format!("{}: {m}", c.name)))
            .collect();
        let first = wrong.first()?;
        let more = if wrong.len() > 1 {
            format!(" and {} more", wrong.len() - 1)
        } else {
            String::new()
        };
        Some(anyhow::anyhow!(
            "{first}{more}; the files are not the published ones: delete them and run gnarl data get again"
        ))
    }
}

impl Checked {
    fn text(&self) -> String {
        let mut table = output::table(&[&self.name, ">", ""]);
        for (key, value) in self.stats.as_object().into_iter().flatten() {
            // The only statistic that is a node, not a number.
            let shown = if key == "pagerank_argmax" {
                value.to_string()
            } else {
                show(value)
            };
            table.add_row([key.clone(), shown, self.verdict(key)]);
        }
        let BuildReport {
            edges_given,
            self_loops,
            duplicates,
            conflicting_weights,
            ..
        } = self.report;
        let mut text = output::render(&table);
        if edges_given > 0 {
            text += &format!(
                "\nof {} edges in the files, {} self-loops and {} repetitions were dropped\n",
                count(edges_given),
                count(self_loops),
                count(duplicates)
            );
        }
        if conflicting_weights > 0 {
            text += &format!(
                "{} repetitions had another weight; the first was kept\n",
                count(conflicting_weights)
            );
        }
        if let [first, ..] = &self.splits[..] {
            let SplitSizes {
                name,
                train,
                val,
                test,
            } = first;
            let (number, train, val, test) = (
                self.splits.len(),
                count(*train as u64),
                count(*val as u64),
                count(*test as u64),
            );
            text += &format!("splits: {number}, {name} has {train} / {val} / {test}\n");
        }
        if let Some(sources) = &self.sources {
            let lines = |list: &[Source]| {
                list.iter()
                    .map(|s| format!("  {}: {}\n", s.file, s.what))
                    .collect::<String>()
            };
            text += &format!("used:\n{}", lines(&sources.used));
            if !sources.unused.is_empty() {
                text += &format!("not used:\n{}", lines(&sources.unused));
            }
        }
        text
    }

    /// Returns a tick if the registry agrees, a cross and its number if not, and nothing without an
    /// entry.
    fn verdict(&self, key: &str) -> String {
        if let Some(wrong) = self.mismatches.iter().find(|m| m.key == key) {
            return format!("✗ {} expected", show(&wrong.expected));
        }
        let Some(expected) = &self.expected else {
            return String::new();
        };
        let is_compared = match key {
            "nodes" | "classes" => true,
            "graphs" | "node_labels" => expected.graphs.is_some(),
            "features" => expected.graphs.is_none(),
            "undirected_edges" | "mean_undirected_edges" => expected.undirected_edges.is_some(),
            _ => false,
        };
        if is_compared {
            "✓".to_string()
        } else {
            String::new()
        }
    }
}

/// Formats a statistic.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => count(whole),
            None => number.as_f64().map_or_else(|| number.to_string(), real),
        },
        Value::Array(items) => items.iter().map(show).collect::<Vec<_>>().join(", "),
        Value::Object(items) => items
            .iter()
            .map(|(k, v)| format!("{k}: {}", show(v)))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}
