//! Statistics of the two graphs that need no files.

use gnarl_data::{Content, facts};
use gnarl_graph::centrality::Centrality;
use gnarl_graph::spectrum::{self, EigenSettings, Gap};
use serde::Serialize;
use serde_json::Value;

use crate::commands::centrality::{Scored, top};
use crate::commands::load;
use crate::global::Global;
use crate::html::{self, Cell};
use crate::output::{count, real};

/// Statistics of one graph.
#[derive(Debug, Serialize)]
pub struct GraphFacts {
    pub name: String,
    pub what: &'static str,
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

/// Computes the statistics of the karate club and of a block model.
pub fn both(global: &Global) -> anyhow::Result<Vec<GraphFacts>> {
    Ok(vec![
        look(
            global,
            "karate",
            "Zachary's karate club, 34 members and 78 ties",
        )?,
        look(
            global,
            "csbm",
            "a contextual stochastic block model, sampled from the seed",
        )?,
    ])
}

fn look(global: &Global, name: &str, what: &'static str) -> anyhow::Result<GraphFacts> {
    let loaded = load(global, name)?;
    let Content::Graph(graph) = &loaded.content else {
        anyhow::bail!("{name} is not one graph")
    };
    let gaps = Centrality::ALL
        .into_iter()
        .map(|centrality| {
            let Gap { laplacian, .. } =
                spectrum::gap(graph, &centrality.values(graph)?, &EigenSettings::default())?;
            Ok(CentralityGap {
                centrality: centrality.to_string(),
                gap: laplacian,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(GraphFacts {
        what,
        stats: facts::node_facts(graph, &loaded.report, &loaded.name)?,
        top_pagerank: top(graph, &Centrality::PAGERANK.scores(graph)?, 3),
        gaps,
        name: loaded.name,
    })
}

/// Formats the statistics as a table with a column for each graph.
pub fn markup(graphs: &[GraphFacts]) -> String {
    let headers: Vec<&str> = std::iter::once("")
        .chain(graphs.iter().map(|s| s.name.as_str()))
        .collect();
    let mut rows = Vec::new();
    let mut row = |name: &str, cell: &dyn Fn(&GraphFacts) -> String| {
        rows.push((
            name.to_string(),
            graphs.iter().map(|s| Cell::text(&cell(s))).collect(),
        ));
    };
    row("nodes", &|s| whole(&s.stats["nodes"]));
    row("edges", &|s| whole(&s.stats["undirected_edges"]));
    row("features", &|s| whole(&s.stats["features"]));
    row("classes", &|s| whole(&s.stats["classes"]));
    row("edge homophily", &|s| float(&s.stats["edge_homophily"]));
    row("components", &|s| whole(&s.stats["components"]));
    row("degree, mean / max", &|s| mean_max(s, "degree"));
    row("core, mean / max", &|s| mean_max(s, "core"));
    row("walks of 2 steps, mean / max", &|s| mean_max(s, "walks_2"));
    row("first by PageRank", &|s| {
        s.top_pagerank
            .iter()
            .map(|t| t.node.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    });
    for (i, centrality) in Centrality::ALL.into_iter().enumerate() {
        row(&format!("spectral gap, {centrality}"), &|s| {
            s.gaps[i].gap.map_or_else(|| "-".to_string(), real)
        });
    }
    html::table(&headers, &rows)
}

fn whole(value: &Value) -> String {
    value.as_u64().map_or_else(|| "-".to_string(), count)
}

fn float(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_string(), real)
}

fn mean_max(facts: &GraphFacts, what: &str) -> String {
    format!(
        "{} / {}",
        float(&facts.stats[format!("mean_{what}")]),
        float(&facts.stats[format!("max_{what}")])
    )
}
