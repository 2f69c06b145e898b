//! Neighbours sampled by dropping edges that do not look like those of the training graph (new in
//! gnarl).
//!
//! In a clean graph, edges join similar nodes, and nodes of high degree more often than nodes of
//! low degree. An edge between u and v has probability `d_u d_v ω / 2m`, where ω depends on whether
//! both are of one class. This is the degree-corrected block model of
//! [Karrer and Newman 2011](https://arxiv.org/abs/1008.3926). An adversarial edge joins any two
//! nodes of different classes.
//!
//! The model's predictions tell how similar nodes are. On the training graph, predictions agree
//! along a certain share of the edges. If they agree less on another graph, the share of
//! adversarial edges is the one that explains the difference. Bayes' rule then gives each edge a
//! probability of being clean, and a neighbour keeps the edge with that probability. A graph along
//! whose edges predictions agree as much as before is its own neighbour.
//!
//! The prior depends on the training graph, never on the attack: if that graph was poisoned, the
//! method sees nothing.

use std::collections::BTreeSet;

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Graph};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::crf::{Crf, NeighbourSampler, Neighbourhood};
use super::trial::Trial;
use super::{CleanPrior, PerturbationTarget};
use crate::classifier::Classifier;
use gnarl_graph::{Error, Result};

/// Prior of a clean graph for a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CleanEdges {
    /// Mean agreement of the model's predictions along edges.
    agreement: f64,
    /// Largest share of adversarial edges to correct: above it, a graph is its own neighbour.
    /// Infinite if untested; stored as nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<f64>,
}

/// Shares of adversarial edges in a test.
const TRIAL_SHARES: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
/// Number of neighbours of a graph in a test, without neighbours of neighbours: enough to see an
/// effect.
const TRIAL_NEIGHBOURS: usize = 3;
/// Extrapolation factor: between two tested shares, the method is used up to this multiple of the
/// lower one.
const BEYOND: f64 = 1.5;

/// Largest share of edges that may count as adversarial.
const MAX_ADVERSARIAL_SHARE: f64 = 0.5;

impl CleanEdges {
    /// Learns the prior from the graph that the model was trained on.
    pub fn fit(model: &dyn Classifier, graph: &Graph) -> Result<Self> {
        let prediction = Crf::new(1.0).output(model.scores(graph)?)?;
        Ok(Self {
            agreement: mean(&agreements(graph, &prediction)),
            trusted: None,
        })
    }

    /// Tests the prior on the graph that the model was trained on, and limits its use to the shares
    /// that pass. Edges between nodes of different predicted classes are added. Predictions with
    /// neighbours must agree with those on the clean graph more often than predictions without, by
    /// more than the standard error of that difference.
    pub fn tested(self, model: &dyn Classifier, graph: &Graph, crf: &Crf) -> Result<Self> {
        let clean = Trial::clean(model, &[graph])?;
        let crf = Crf {
            samples: crf.samples.min(TRIAL_NEIGHBOURS),
            iterations: crf.iterations.min(1),
            stop_early: false,
            ..*crf
        };
        let untested = Self {
            trusted: None,
            ..self
        };
        let changed =
            |share| Ok(with_foreign_edges(graph, &clean[0], share)?.map(|changed| vec![changed]));
        let trusted = Trial::tested_limit(&TRIAL_SHARES, changed, |changed| {
            Trial::new(model, &untested, &crf, changed, &clean)
        })?;
        Ok(Self {
            trusted: Some(trusted),
            ..self
        })
    }

    /// Returns the probability of being clean for every edge, in the order of [`Graph::edges`];
    /// `None` if all edges count as clean.
    fn chances(&self, graph: &Graph, prediction: &DenseMatrix<f32>) -> Option<Vec<f64>> {
        let agree = agreements(graph, prediction);
        let adversarial_share = ((self.agreement - mean(&agree))
            / self.agreement.max(f64::MIN_POSITIVE))
        .clamp(0.0, MAX_ADVERSARIAL_SHARE);
        let is_beyond = self
            .trusted
            .is_some_and(|trusted| adversarial_share > BEYOND * trusted);
        if adversarial_share == 0.0 || agree.is_empty() || is_beyond {
            return None;
        }
        let (nodes, edges) = (graph.num_nodes() as f64, graph.num_edges() as f64);
        let width = prediction.num_cols();
        let (mut by_ends, mut by_nodes) = (vec![0.0; width], vec![0.0; width]);
        for u in 0..graph.num_nodes() {
            let ends = graph.degree(u as u32) as f64;
            for (c, &p) in prediction.row(u).iter().enumerate() {
                by_ends[c] += f64::from(p) * ends / (2.0 * edges);
                by_nodes[c] += f64::from(p) / nodes;
            }
        }
        let alike = |shares: &[f64]| shares.iter().map(|s| s * s).sum::<f64>();
        let (ends_alike, nodes_unlike) = (alike(&by_ends), 1.0 - alike(&by_nodes));
        let chance = |((u, v), agree): ((u32, u32), &f64)| {
            let class_factor = agree * self.agreement / ends_alike.max(f64::MIN_POSITIVE)
                + (1.0 - agree) * (1.0 - self.agreement)
                    / (1.0 - ends_alike).max(f64::MIN_POSITIVE);
            let degrees = graph.degree(u) as f64 * graph.degree(v) as f64;
            let clean = (1.0 - adversarial_share) * degrees / (2.0 * edges) * class_factor;
            let foreign = adversarial_share * edges
                / (nodes * (nodes - 1.0) / 2.0 * nodes_unlike).max(1.0)
                * (1.0 - agree);
            if clean + foreign > 0.0 {
                clean / (clean + foreign)
            } else {
                1.0
            }
        };
        Some(graph.edges().zip(&agree).map(chance).collect())
    }
}

/// Returns the graph with new edges between nodes of different classes, as a share of its edges;
/// `None` if there is no free pair.
fn with_foreign_edges(graph: &Graph, classes: &[usize], share: f64) -> Result<Option<Graph>> {
    let wanted = (share * graph.num_edges() as f64).ceil() as usize;
    let nodes = graph.num_nodes() as u32;
    if nodes < 2 || wanted == 0 {
        return Ok(None);
    }
    let rng = &mut stream(0, "a trial of clean edges", wanted as u64);
    let mut added = BTreeSet::new();
    // The graph may be nearly complete, or of one class: the number of tries is limited.
    for _ in 0..20 * wanted {
        let (u, v) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
        if classes[u as usize] != classes[v as usize] && !graph.has_edge(u, v) {
            added.insert((u.min(v), u.max(v)));
        }
        if added.len() == wanted {
            break;
        }
    }
    let added: Vec<(u32, u32)> = added.into_iter().collect();
    Ok((!added.is_empty())
        .then(|| graph.add_edges(&added))
        .transpose()?
        .map(|(graph, _)| graph))
}

/// Returns the probability that both ends are of one class, for every edge.
fn agreements(graph: &Graph, prediction: &DenseMatrix<f32>) -> Vec<f64> {
    let product = |(u, v): (u32, u32)| {
        prediction
            .row(u as usize)
            .iter()
            .zip(prediction.row(v as usize))
            .map(|(a, b)| f64::from(a * b))
            .sum()
    };
    graph.edges().map(product).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Samples a graph that keeps each edge with its own probability.
pub(super) fn thinned(graph: &Graph, chances: &[f64], rng: &mut Rng) -> Result<(Graph, f64)> {
    let is_left_out = |(_, chance): &((u32, u32), &f64)| rng.random::<f64>() >= **chance;
    let left_out: Vec<(u32, u32)> = graph
        .edges()
        .zip(chances)
        .filter(is_left_out)
        .map(|(e, _)| e)
        .collect();
    Ok((graph.remove_edges(&left_out)?, 1.0))
}

impl CleanPrior for CleanEdges {
    fn part(&self) -> PerturbationTarget {
        PerturbationTarget::Structure
    }

    fn check(&self) -> Result<()> {
        // The agreement is a mean of products of probabilities, which sum to one up to rounding.
        let is_limit_valid = self
            .trusted
            .is_none_or(|share| (0.0..=1.0).contains(&share));
        if (0.0..=1.0 + 1e-5).contains(&self.agreement) && is_limit_valid {
            return Ok(());
        }
        let what = format!("an agreement of {} must lie in 0 to 1", self.agreement);
        Err(Error::argument("clean edges", what))
    }

    fn tested_limit(&self) -> Option<f64> {
        self.trusted
    }
}

impl Neighbourhood for CleanEdges {
    fn sample(
        &self,
        centre: &Graph,
        prediction: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        self.sampler(centre, prediction)?(rng)
    }

    fn sampler<'a>(
        &'a self,
        centre: &'a Graph,
        prediction: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        let chances = self.chances(centre, prediction);
        Ok(Box::new(move |rng| {
            chances
                .as_deref()
                .map(|chances| thinned(centre, chances, rng))
                .transpose()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;

    /// Two groups of 60 nodes, and a model that predicts the groups.
    fn fixture() -> (Graph, impl Classifier) {
        let rng = &mut stream(1, "clean edges", 0);
        let mut edges = Vec::new();
        for u in 0..120u32 {
            for v in u + 1..120 {
                let chance = if (u < 60) == (v < 60) { 0.2 } else { 0.01 };
                if rng.random::<f64>() < chance {
                    edges.push((u, v));
                }
            }
        }
        let model = FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let scores = (0..graph.num_nodes())
                    .flat_map(|u| if u < 60 { [3.0, -3.0] } else { [-3.0, 3.0] });
                DenseMatrix::new(graph.num_nodes(), 2, scores.collect())
            },
        };
        (Graph::from_edges(120, edges).unwrap().0, model)
    }

    #[test]
    fn the_training_graph_is_its_own_neighbour() {
        let (graph, model) = fixture();
        let prior = CleanEdges::fit(&model, &graph).unwrap();
        let prediction = Crf::new(1.0).output(model.scores(&graph).unwrap()).unwrap();
        assert!(
            prior
                .sample(&graph, &prediction, &mut stream(1, "draw", 0))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn added_edges_are_dropped_more_often() {
        let (graph, model) = fixture();
        let prior = CleanEdges::fit(&model, &graph).unwrap();
        let foreign: Vec<(u32, u32)> = (0..60u32)
            .map(|u| (u, 60 + (7 * u) % 60))
            .filter(|&(u, v)| !graph.has_edge(u, v))
            .collect();
        let attacked = graph.add_edges(&foreign).unwrap().0;
        let prediction = Crf::new(1.0)
            .output(model.scores(&attacked).unwrap())
            .unwrap();
        let rng = &mut stream(1, "draw", 0);
        let (mut kept_foreign, mut kept_own) = (0.0, 0.0);
        for _ in 0..50 {
            let (near, _) = prior.sample(&attacked, &prediction, rng).unwrap().unwrap();
            assert!(
                near.edges().all(|(u, v)| attacked.has_edge(u, v)),
                "an edge came from nowhere"
            );
            kept_foreign += foreign
                .iter()
                .filter(|&&(u, v)| near.has_edge(u, v))
                .count() as f64
                / foreign.len() as f64;
            kept_own += graph.edges().filter(|&(u, v)| near.has_edge(u, v)).count() as f64
                / graph.num_edges() as f64;
        }
        let (foreign, own) = (kept_foreign / 50.0, kept_own / 50.0);
        assert!(
            own > 0.95 && foreign < 0.5,
            "of the clean edges {own} are kept, of the others {foreign}"
        );
    }

    #[test]
    fn graphs_without_edges_and_models_without_agreement() {
        let (_, model) = fixture();
        let empty = Graph::empty(120).unwrap();
        let prior = CleanEdges::fit(&model, &empty).unwrap();
        let prediction = Crf::new(1.0).output(model.scores(&empty).unwrap()).unwrap();
        assert!(
            prior
                .sample(&empty, &prediction, &mut stream(1, "draw", 0))
                .unwrap()
                .is_none()
        );
    }
}
