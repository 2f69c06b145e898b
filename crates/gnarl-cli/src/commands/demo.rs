//! `gnarl` alone: a tour on the two graphs that need no files.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::dataset::{Dataset, facts};
use gnarl_graph::spectrum::{self, EigenSettings, Gap};
use serde::Serialize;
use serde_json::Value;

use super::centrality::{Scored, top};
use super::load;
use crate::args::Global;
use crate::output::{self, Report, count, real};

/// What one may type next.
const NEXT: [(&str, &str); 3] = [
    ("gnarl spectrum --data karate --centrality core", "the eigenvalues behind the gap, and the bounds on it"),
    ("gnarl centrality --data csbm --kind pagerank --top 5", "who is central, and how much"),
    ("gnarl data list", "real datasets, to be fetched with `gnarl data get NAME`"),
];

/// What the tour found.
#[derive(Debug, Serialize)]
pub struct DemoReport {
    seed: u64,
    graphs: Vec<Sight>,
    next: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Sight {
    name: String,
    what: &'static str,
    stats: Value,
    top_pagerank: Vec<Scored>,
    gaps: Vec<CentralityGap>,
}

/// The second smallest eigenvalue of `V^-1 (D - A)`.
#[derive(Debug, Serialize)]
struct CentralityGap {
    centrality: String,
    gap: Option<f64>,
}

/// Looks at both graphs.
pub fn run(global: &Global) -> anyhow::Result<DemoReport> {
    let graphs = vec![
        look(global, "karate", "Zachary's karate club, embedded")?,
        look(global, "csbm", "a contextual stochastic block model, drawn from the seed")?,
    ];
    Ok(DemoReport { seed: global.seed, graphs, next: NEXT.map(|(command, _)| command).to_vec() })
}

fn look(global: &Global, name: &str, what: &'static str) -> anyhow::Result<Sight> {
    let loaded = load(global, name)?;
    let Dataset::Node(graph) = &loaded.dataset else { anyhow::bail!("{name} is not one graph") };
    let gaps = Centrality::ALL
        .into_iter()
        .map(|centrality| {
            let Gap { laplacian, .. } = spectrum::gap(graph, &centrality.values(graph)?, &EigenSettings::default())?;
            Ok(CentralityGap { centrality: centrality.to_string(), gap: laplacian })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Sight {
        what,
        stats: facts::node_facts(graph, &loaded.report, &loaded.name)?,
        top_pagerank: top(&Centrality::PageRank.scores(graph)?, 3),
        gaps,
        name: loaded.name,
    })
}

impl Report for DemoReport {
    fn text(&self) -> String {
        let mut text = String::new();
        for Sight { name, what, .. } in &self.graphs {
            text += &format!("{name}: {what}\n");
        }
        let headers: Vec<String> = self.graphs.iter().map(|g| format!(">{}", g.name)).collect();
        let headers: Vec<&str> = std::iter::once("").chain(headers.iter().map(String::as_str)).collect();
        let mut table = output::table(&headers);
        let mut row = |name: &str, cell: &dyn Fn(&Sight) -> String| {
            table.add_row(std::iter::once(name.to_string()).chain(self.graphs.iter().map(cell)));
        };
        row("nodes", &|g| whole(&g.stats["nodes"]));
        row("edges", &|g| whole(&g.stats["undirected_edges"]));
        row("features", &|g| whole(&g.stats["features"]));
        row("classes", &|g| whole(&g.stats["classes"]));
        row("edge homophily", &|g| float(&g.stats["edge_homophily"]));
        row("components", &|g| whole(&g.stats["components"]));
        row("degree, mean / max", &|g| mean_max(g, "degree"));
        row("core, mean / max", &|g| mean_max(g, "core"));
        row("walks of 2 steps, mean / max", &|g| mean_max(g, "walks_2"));
        row("first by PageRank", &|g| g.top_pagerank.iter().map(|t| t.node.to_string()).collect::<Vec<_>>().join(", "));
        for (i, centrality) in Centrality::ALL.into_iter().enumerate() {
            row(&format!("spectral gap, {centrality}"), &|g| g.gaps[i].gap.map_or_else(|| "-".to_string(), real));
        }
        text += &format!("\n{}\nwhat next:\n", output::render(&table));
        for (command, why) in NEXT {
            text += &format!("  {command:<55}{why}\n");
        }
        text
    }
}

fn whole(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".to_string(), count)
}

fn float(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_string(), real)
}

fn mean_max(sight: &Sight, what: &str) -> String {
    format!("{} / {}", float(&sight.stats[format!("mean_{what}")]), float(&sight.stats[format!("max_{what}")]))
}
