//! Communities of sampled graphs, and their agreement with the blocks.

use gnarl_graph::centrality::Centrality;
use gnarl_graph::community::study::{Score, sbbam_scores};
use gnarl_graph::community::{ClusterConfig, Method};
use gnarl_graph::generate::SbbamConfig;
use serde::{Deserialize, Serialize};

use super::{CellInput, CellWork, RowKind, RunInput, Work, read_by_name, write_by_name};
use crate::measure::{Agreement, Measure};
use crate::measured::Measured;
use gnarl_graph::Result;

/// Number of graphs sampled for each requested run: the thesis' 200 for the ten runs of other
/// tables.
const GRAPHS_A_RUN: usize = 20;

/// Samples graphs, finds communities in them and takes their agreement with the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusteringRow {
    /// The clustering method.
    pub method: Method,
    /// The centrality, for spectral clustering.
    #[serde(deserialize_with = "read_by_name")]
    pub centrality: Centrality,
    /// The measure of agreement.
    pub agreement: Agreement,
}

/// The clustering method, and the number of graphs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clustering {
    /// The method.
    pub method: Method,
    /// The centrality, for spectral clustering.
    #[serde(serialize_with = "write_by_name")]
    pub centrality: Centrality,
    /// Number of sampled graphs.
    pub graphs: usize,
    /// Seed of the first graph.
    pub seed: u64,
}

impl RowKind for ClusteringRow {
    fn work(&self, cell: &CellInput<'_>) -> Result<Work> {
        Ok(Work::Clustering(Clustering {
            method: self.method,
            centrality: self.centrality,
            graphs: GRAPHS_A_RUN * cell.runs,
            seed: cell.seed,
        }))
    }

    fn measure(&self) -> Option<Measure> {
        Some(Measure::Agreement(self.agreement))
    }
}

impl CellWork for Clustering {
    fn kind(&self) -> &'static str {
        self.method.name()
    }

    fn effort(&self) -> f64 {
        self.graphs as f64
    }

    fn run(&self, _: &RunInput<'_>) -> Result<Option<Measured>> {
        let config = ClusterConfig {
            centrality: self.centrality,
            ..ClusterConfig::new(self.method)
        };
        let scores = sbbam_scores(
            &SbbamConfig::published(),
            self.graphs,
            &config,
            self.seed,
            &|| (),
        )?;
        let (ami, ari) = (
            per_cent(&scores, |score| score.ami),
            per_cent(&scores, |score| score.ari),
        );
        // Graphs take the place of splits: methods are compared on the same graphs.
        let splits = (0..scores.len() as u64)
            .map(|i| format!("graph {}", self.seed.wrapping_add(i)))
            .collect();
        let named = |agreement: Agreement, values| (agreement.name().to_string(), values);
        let parts = vec![
            named(Agreement::Ami, ami.clone()),
            named(Agreement::Ari, ari),
        ];
        Ok(Some(Measured {
            values: ami,
            splits,
            parts,
            ..Measured::default()
        }))
    }
}

fn per_cent(scores: &[Score], of: impl Fn(&Score) -> f64) -> Vec<f64> {
    scores.iter().map(|score| 100.0 * of(score)).collect()
}
