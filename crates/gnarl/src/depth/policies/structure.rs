//! What policies know of a graph: its centralities and who neighbours whom.

use gnarl_graph::Graph;
use gnarl_graph::centrality::Centrality;

use super::Kind;
use crate::error::{Error, Result};

/// A graph with the centralities that policies ask for.
#[derive(Debug)]
pub struct Structure<'a> {
    pub(super) graph: &'a Graph,
    centralities: Vec<(Centrality, Vec<f64>)>,
    /// `ln(1 + degree)`, less its mean, by its deviation.
    pub(super) degree: Vec<f64>,
}

impl<'a> Structure<'a> {
    /// Computes the centralities that these policies ask for.
    pub fn new(graph: &'a Graph, kinds: &[Kind]) -> Result<Self> {
        let mut centralities: Vec<(Centrality, Vec<f64>)> = Vec::new();
        for asked in kinds.iter().flat_map(Kind::centralities) {
            if !centralities.iter().any(|(known, _)| *known == asked) {
                centralities.push((asked, asked.scores(graph)?));
            }
        }
        let logs: Vec<f64> = (0..graph.num_nodes() as u32).map(|u| (1.0 + graph.degree(u) as f64).ln()).collect();
        let n = logs.len().max(1) as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let deviation = (logs.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n).sqrt();
        // A graph whose nodes all have one degree has nothing to say by it.
        let scale = if deviation > 1e-9 { 1.0 / deviation } else { 0.0 };
        Ok(Self { graph, centralities, degree: logs.iter().map(|d| (d - mean) * scale).collect() })
    }

    /// The values of a centrality that was asked for.
    pub(super) fn centrality(&self, kind: Centrality) -> Result<&[f64]> {
        let found = self.centralities.iter().find(|(known, _)| *known == kind);
        found.map(|(_, values)| &values[..]).ok_or_else(|| {
            Error::Graph(gnarl_graph::Error::argument("policy", format!("{kind} was not computed for this graph")))
        })
    }
}
