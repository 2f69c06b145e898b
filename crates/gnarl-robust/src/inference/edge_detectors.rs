//! Small networks that separate a graph's own edges from adversarial ones (GOOD-AT,
//! [Li et al. 2024](https://openreview.net/forum?id=DCDT918ZkI)).
//!
//! Each detector is trained on its own attack on the trained model. The attack adds the pairs with
//! the largest gradients of the model's margins. It adds a few at a time, in random blocks of
//! pairs, for shares of the edges from 0.05 to 0.4 in turn. A model without gradients to edges is
//! attacked by random pairs with different predictions. Clean edges, on the clean graph and on the
//! attacked one, are the edges to keep.
//!
//! The detectors of the paper use the scores and all features of both ends. The detectors of gnarl
//! use less, so that they are small enough to be stored with a model: the products and the
//! differences of the ends' probabilities by class, the cosine of their features, their degrees and
//! the number of common neighbours. The order of the ends does not matter.

use std::collections::HashSet;
use std::sync::Arc;

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Features, Graph};
use rand::RngExt;
use rand::seq::index::sample;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::crf::{Crf, Neighbourhood};
use super::trial::Trial;
use super::{CleanPrior, PerturbationTarget};
use crate::classifier::{Classifier, Relaxed, WhiteBox};
use crate::perturb::{Pair, sample_pairs};
use gnarl_graph::{Error, Result};
use gnarl_nn::networks::{DefaultOperator, Propagation};
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::argmax;
use gnarl_tensor::{Adam, AdamSettings, Device, Tensor, Var, add_bias, masked_cross_entropy};

/// Subject of the errors of this module.
const OP: &str = "good-at";

/// Shares of adversarial edges in the training of detectors, in turn.
const SHARES: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
/// Shares of adversarial edges in a test.
const TRIAL_SHARES: [f64; 2] = [0.05, 0.1];
/// Number of steps of an attack, each with a block of its own.
const BATCHES: usize = 3;
/// Number of pairs of a block, for each edge; the next constant is the maximum.
const BLOCK_OF_EDGE: usize = 10;
const MOST_PAIRS: usize = 200_000;
/// Largest number of edges of each kind that a detector is trained on.
const MOST_EDGES: usize = 8_000;
/// Number of hidden units of a detector. The paper has 64 for a thousand feature columns.
const HIDDEN: usize = 16;
const EPOCHS: usize = 100;
const LEARNING_RATE: f64 = 0.02;
const DECAY: f64 = 1e-4;
/// Default threshold without validation data.
pub(super) const THRESHOLD: f64 = 0.5;
/// Candidate thresholds, the one that drops least first.
pub(super) const THRESHOLDS: [f64; 6] = [0.99, 0.95, 0.9, 0.8, 0.65, 0.5];
/// Smallest increase of the mean suspicion of edges over the clean graph's: about one adversarial
/// edge in a hundred.
const SUSPICION_MARGIN: f64 = 0.005;
/// Number of columns of an edge in addition to two for each class.
const NUM_STRUCTURAL: usize = 4;

/// Trained detectors, and the results of their test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeDetectors {
    detectors: Vec<Detector>,
    /// Threshold: an edge is dropped if a detector gives it a larger probability of being
    /// adversarial.
    threshold: f64,
    /// Mean suspicion of the clean graph's edges: a graph whose edges are hardly more suspicious
    /// gets the plain prediction. Nothing if untested. Stored as `usual`.
    #[serde(rename = "usual", default, skip_serializing_if = "Option::is_none")]
    clean_suspicion: Option<f64>,
    /// Largest share of adversarial edges at which the detectors help; zero means plain
    /// predictions, nothing means untested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<f64>,
}

/// One detector: `w · relu(x W + b) + c`, the log-odds that an edge is adversarial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Detector {
    /// `[columns, hidden]`
    first: Vec<f32>,
    first_bias: Vec<f32>,
    second: Vec<f32>,
    second_bias: f32,
}

/// Nodes that evaluate a test, with the class that each should have.
type ReferenceClasses = Vec<(u32, usize)>;

impl EdgeDetectors {
    /// Trains `count` detectors on the graph that a model was trained on. O(count · (a few forward
    /// and backward passes of the model, edges)).
    pub fn fit(model: &dyn Classifier, graph: &Graph, count: usize) -> Result<Self> {
        let clean = distributions(model, graph)?;
        let classes = classes(&clean);
        let own = EdgeTable::new(graph, &clean);
        let one = |at: usize| -> Result<Option<Detector>> {
            let rng = &mut stream(at as u64, "edge detectors", graph.num_edges() as u64);
            let adversarial_pairs =
                adversarial_pairs(model, graph, &classes, SHARES[at % SHARES.len()], rng)?;
            if adversarial_pairs.is_empty() {
                return Ok(None);
            }
            let attacked = graph.add_edges(&adversarial_pairs)?.0;
            let prediction = distributions(model, &attacked)?;
            let seen = EdgeTable::new(&attacked, &prediction).rows();
            let foreign: HashSet<Pair> = adversarial_pairs.into_iter().collect();
            let (mut kept, mut dropped): (Vec<Vec<f32>>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
            for (edge, row) in attacked.edges().zip(seen) {
                if foreign.contains(&edge) {
                    dropped.push(row)
                } else {
                    kept.push(row)
                }
            }
            kept.extend(own.rows());
            Detector::fit(&kept, &dropped, rng).map(Some)
        };
        let detectors = (0..count)
            .into_par_iter()
            .map(one)
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            detectors: detectors.into_iter().flatten().collect(),
            threshold: THRESHOLD,
            clean_suspicion: None,
            trusted: None,
        })
    }

    /// Tests the detectors and selects the threshold with the best accuracy on labelled nodes,
    /// under attacks that the detectors have not seen. Their use is limited to the shares at which
    /// they improve predictions. A graph whose edges are hardly more suspicious than the clean
    /// graph's then gets the plain prediction. Without labelled nodes, all nodes count, with their
    /// clean predictions as classes.
    pub fn tested(self, model: &dyn Classifier, graph: &Graph, val: &[u32]) -> Result<Self> {
        if self.detectors.is_empty() {
            return Ok(Self {
                trusted: Some(0.0),
                ..self
            });
        }
        let clean = distributions(model, graph)?;
        let of_clean = classes(&clean);
        let tested = Self {
            clean_suspicion: Some(mean(&self.suspicions(&EdgeTable::new(graph, &clean))?)),
            ..self
        };
        let labels = graph.labels();
        let labelled = |&u: &u32| Some((u, labels?.get(u)? as usize));
        let labelled_nodes: ReferenceClasses = val.iter().filter_map(labelled).collect();
        let reference = if labelled_nodes.is_empty() {
            (0..).zip(of_clean.iter().copied()).collect()
        } else {
            labelled_nodes
        };
        let mut trial_graphs = Vec::new();
        for (at, &share) in TRIAL_SHARES.iter().enumerate() {
            let rng = &mut stream(
                at as u64,
                "a trial of edge detectors",
                graph.num_edges() as u64,
            );
            let adversarial_pairs = adversarial_pairs(model, graph, &of_clean, share, rng)?;
            if !adversarial_pairs.is_empty() {
                trial_graphs.push((
                    share,
                    TrialGraph::new(&tested, model, graph.add_edges(&adversarial_pairs)?.0)?,
                ));
            }
        }
        let (mut most, mut threshold, mut trusted) = (0, THRESHOLDS[0], 0.0);
        for tried in THRESHOLDS {
            let trial = |(share, trial_graph): &(f64, TrialGraph<'_>)| {
                Ok((*share, trial_graph.trial(model, tried, &reference)?))
            };
            let trials = trial_graphs.iter().map(trial).collect::<Result<Vec<_>>>()?;
            let correct: usize = trials.iter().map(|(_, (_, correct))| correct).sum();
            if correct > most {
                let helped = trials
                    .iter()
                    .filter(|(_, (trial, _))| trial.helps())
                    .map(|(share, _)| *share);
                (most, threshold, trusted) = (correct, tried, helped.fold(0.0, f64::max));
            }
        }
        Ok(Self {
            threshold,
            trusted: Some(trusted),
            ..tested
        })
    }

    /// Returns the default threshold: edges with a larger probability are dropped.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the graph without the edges above a threshold; `None` if there is no such edge, or
    /// if its edges look like those of the clean graph.
    fn without(&self, graph: &Graph, suspicions: &[f64], threshold: f64) -> Result<Option<Graph>> {
        if self
            .clean_suspicion
            .is_some_and(|clean_suspicion| mean(suspicions) <= clean_suspicion + SUSPICION_MARGIN)
        {
            return Ok(None);
        }
        let flagged: Vec<Pair> = graph
            .edges()
            .zip(suspicions)
            .filter(|(_, s)| **s > threshold)
            .map(|(edge, _)| edge)
            .collect();
        Ok(if flagged.is_empty() {
            None
        } else {
            Some(graph.remove_edges(&flagged)?)
        })
    }

    fn check_width(&self, table: &EdgeTable<'_>) -> Result<()> {
        if self
            .detectors
            .iter()
            .any(|d| d.first.len() != table.width() * d.second.len())
        {
            Err(Error::argument(
                OP,
                "the edge detectors were trained for another number of classes; fit the model again",
            ))
        } else {
            Ok(())
        }
    }

    fn suspicion(&self, row: &[f32]) -> f64 {
        self.detectors
            .iter()
            .map(|d| d.suspicion(row))
            .fold(0.0, f64::max)
    }

    /// Returns the largest probability of being adversarial over all detectors, for each edge.
    fn suspicions(&self, table: &EdgeTable<'_>) -> Result<Vec<f64>> {
        self.check_width(table)?;
        Ok(table
            .rows()
            .par_iter()
            .map(|row| self.suspicion(row))
            .collect())
    }
}

/// Drops the edges that a detector classifies as adversarial with more than `threshold`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flagging<'a> {
    /// The detectors.
    pub detectors: &'a EdgeDetectors,
    /// Probability above which an edge is dropped.
    pub threshold: f64,
}

impl Neighbourhood for Flagging<'_> {
    fn sample(
        &self,
        centre: &Graph,
        prediction: &DenseMatrix<f32>,
        _: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        if self.detectors.trusted == Some(0.0) || self.detectors.detectors.is_empty() {
            return Ok(None);
        }
        let suspicions = self
            .detectors
            .suspicions(&EdgeTable::new(centre, prediction))?;
        let cleaned = self
            .detectors
            .without(centre, &suspicions, self.threshold)?;
        Ok(cleaned.map(|graph| (graph, 1.0)))
    }
}

impl CleanPrior for EdgeDetectors {
    fn part(&self) -> PerturbationTarget {
        PerturbationTarget::Structure
    }

    fn check(&self) -> Result<()> {
        let share = |x: f64| (0.0..=1.0).contains(&x);
        let is_whole = |d: &Detector| {
            let values = d
                .first
                .iter()
                .chain(&d.first_bias)
                .chain(&d.second)
                .chain([&d.second_bias]);
            d.first_bias.len() == d.second.len()
                && !d.second.is_empty()
                && d.first.len().is_multiple_of(d.second.len())
                && values.into_iter().all(|v| v.is_finite())
        };
        if share(self.threshold)
            && self.clean_suspicion.is_none_or(share)
            && self.trusted.is_none_or(share)
            && self.detectors.iter().all(is_whole)
        {
            Ok(())
        } else {
            Err(Error::argument(
                OP,
                "the stored edge detectors are invalid; fit the model again",
            ))
        }
    }

    fn tested_limit(&self) -> Option<f64> {
        self.trusted
    }

    /// Judges pairs by the current graph and its predictions.
    fn keeps_edges(
        &self,
        model: &dyn Classifier,
        graph: &Graph,
        pairs: &[Pair],
    ) -> Result<Option<Vec<bool>>> {
        if self.trusted == Some(0.0) || self.detectors.is_empty() {
            return Ok(Some(vec![true; pairs.len()]));
        }
        let prediction = distributions(model, graph)?;
        let table = EdgeTable::new(graph, &prediction);
        self.check_width(&table)?;
        let stays = |&(u, v): &Pair| self.suspicion(&table.row(u, v)) <= self.threshold;
        Ok(Some(pairs.par_iter().map(stays).collect()))
    }
}

/// Uses the selected threshold.
impl Neighbourhood for EdgeDetectors {
    fn sample(
        &self,
        centre: &Graph,
        prediction: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>> {
        Flagging {
            detectors: self,
            threshold: self.threshold,
        }
        .sample(centre, prediction, rng)
    }
}

/// A graph of a test with the detectors' probabilities for its edges.
struct TrialGraph<'a> {
    detectors: &'a EdgeDetectors,
    graph: Graph,
    plain: Vec<usize>,
    suspicions: Vec<f64>,
}

impl<'a> TrialGraph<'a> {
    fn new(detectors: &'a EdgeDetectors, model: &dyn Classifier, graph: Graph) -> Result<Self> {
        let prediction = distributions(model, &graph)?;
        let suspicions = detectors.suspicions(&EdgeTable::new(&graph, &prediction))?;
        Ok(Self {
            detectors,
            plain: classes(&prediction),
            suspicions,
            graph,
        })
    }

    /// Returns the effect of dropping on the test nodes' predictions, and the number of correct
    /// predictions after it.
    fn trial(
        &self,
        model: &dyn Classifier,
        threshold: f64,
        reference: &ReferenceClasses,
    ) -> Result<(Trial, usize)> {
        let cleaned = match self
            .detectors
            .without(&self.graph, &self.suspicions, threshold)?
        {
            Some(graph) => classes(&distributions(model, &graph)?),
            None => self.plain.clone(),
        };
        let correct = reference
            .iter()
            .filter(|(u, class)| cleaned[*u as usize] == *class)
            .count();
        Ok((Trial::of(&self.plain, &cleaned, reference), correct))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn distributions(model: &dyn Classifier, graph: &Graph) -> Result<DenseMatrix<f32>> {
    Crf::new(1.0).output(model.scores(graph)?)
}

fn classes(predictions: &DenseMatrix<f32>) -> Vec<usize> {
    (0..predictions.num_rows())
        .map(|u| argmax(predictions.row(u)))
        .collect()
}

/// Inputs of the detectors for edges.
struct EdgeTable<'a> {
    graph: &'a Graph,
    prediction: &'a DenseMatrix<f32>,
    lengths: Vec<f64>,
}

impl<'a> EdgeTable<'a> {
    fn new(graph: &'a Graph, prediction: &'a DenseMatrix<f32>) -> Self {
        let length = |u: u32| {
            graph
                .features()
                .map_or(0.0, |features| product(features, u, u).sqrt())
        };
        Self {
            graph,
            prediction,
            lengths: (0..graph.num_nodes() as u32).map(length).collect(),
        }
    }

    fn width(&self) -> usize {
        2 * self.prediction.num_cols() + NUM_STRUCTURAL
    }

    /// Returns one row for each edge, in their order.
    fn rows(&self) -> Vec<Vec<f32>> {
        let edges: Vec<Pair> = self.graph.edges().collect();
        edges.par_iter().map(|&(u, v)| self.row(u, v)).collect()
    }

    fn row(&self, u: u32, v: u32) -> Vec<f32> {
        let ends = self
            .prediction
            .row(u as usize)
            .iter()
            .zip(self.prediction.row(v as usize));
        let mut row: Vec<f32> = ends.flat_map(|(a, b)| [a * b, (a - b).abs()]).collect();
        let lengths = self.lengths[u as usize] * self.lengths[v as usize];
        let cosine = match self.graph.features() {
            Some(features) if lengths > 0.0 => product(features, u, v) / lengths,
            _ => 0.0,
        };
        let degrees = [u, v].map(|w| (self.graph.degree(w) as f64).ln_1p());
        let shared = self.shared(u, v) as f64;
        row.extend(
            [
                cosine,
                degrees[0].min(degrees[1]),
                degrees[0].max(degrees[1]),
                shared.ln_1p(),
            ]
            .map(|x| x as f32),
        );
        row
    }

    /// Returns the number of common neighbours of two nodes.
    fn shared(&self, u: u32, v: u32) -> usize {
        let (a, b) = (self.graph.neighbours(u), self.graph.neighbours(v));
        let (mut i, mut j, mut shared) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            shared += usize::from(a[i] == b[j]);
            let (next_i, next_j) = (a[i] <= b[j], b[j] <= a[i]);
            i += usize::from(next_i);
            j += usize::from(next_j);
        }
        shared
    }
}

/// Returns the inner product of two nodes' features.
fn product(features: &Features, u: u32, v: u32) -> f64 {
    match features {
        Features::Dense(m) => m
            .row(u as usize)
            .iter()
            .zip(m.row(v as usize))
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum(),
        Features::Sparse(m) => {
            let ((a, x), (b, y)) = (m.row(u as usize), m.row(v as usize));
            let (mut i, mut j, mut sum) = (0, 0, 0.0);
            while i < a.len() && j < b.len() {
                if a[i] == b[j] {
                    sum += f64::from(x[i]) * f64::from(y[j]);
                }
                let (next_i, next_j) = (a[i] <= b[j], b[j] <= a[i]);
                i += usize::from(next_i);
                j += usize::from(next_j);
            }
            sum
        }
    }
}

/// Returns pairs that an attack on the model adds, as a share of the edges: those with the largest
/// gradients if gradients reach edges, otherwise pairs with different predictions, otherwise any
/// pairs.
fn adversarial_pairs(
    model: &dyn Classifier,
    graph: &Graph,
    clean: &[usize],
    share: f64,
    rng: &mut Rng,
) -> Result<Vec<Pair>> {
    let wanted = (share * graph.num_edges() as f64).ceil() as usize;
    let (n, mut chosen, mut attacked) = (graph.num_nodes(), Vec::new(), graph.clone());
    let block = (BLOCK_OF_EDGE * graph.num_edges()).min(MOST_PAIRS);
    for batch in 0..BATCHES {
        let count = wanted * (batch + 1) / BATCHES - wanted * batch / BATCHES;
        let apart = |u: u32, v: u32| !attacked.has_edge(u, v);
        let candidates = sample_pairs(n, block, apart, &mut HashSet::new(), rng);
        if count == 0 || candidates.is_empty() {
            continue;
        }
        let Some(slopes) = slopes(model, &attacked, &candidates, clean)? else {
            let foreign = |u: u32, v: u32| apart(u, v) && clean[u as usize] != clean[v as usize];
            let mut taken = HashSet::new();
            let mut sampled = sample_pairs(n, wanted, foreign, &mut taken, rng);
            // A model that predicts the same for all nodes: any pairs.
            sampled.extend(sample_pairs(
                n,
                wanted - sampled.len(),
                apart,
                &mut taken,
                rng,
            ));
            chosen = sampled;
            break;
        };
        let mut order: Vec<usize> = (0..candidates.len()).filter(|&i| slopes[i] > 0.0).collect();
        order.sort_by(|&a, &b| slopes[b].total_cmp(&slopes[a]).then(a.cmp(&b)));
        let steepest: Vec<Pair> = order.iter().take(count).map(|&i| candidates[i]).collect();
        attacked = attacked.add_edges(&steepest)?.0;
        chosen.extend(steepest);
    }
    Ok(chosen)
}

/// Returns the decrease of the predictions' margins as a candidate becomes an edge; `None` if the
/// network has no gradients to edges.
fn slopes(
    model: &dyn Classifier,
    graph: &Graph,
    candidates: &[Pair],
    clean: &[usize],
) -> Result<Option<Vec<f32>>> {
    let Some((network, kind)) = model.white_box().and_then(relaxable) else {
        return Ok(None);
    };
    let relaxed = Relaxed::new(graph, kind, candidates)?;
    let count = relaxed.pairs().len();
    let flips = Var::from_tensor(&Tensor::from_vec(vec![0f32; count], count, &Device::Cpu)?)?;
    let propagation = Propagation::from(relaxed.operator(flips.as_tensor())?);
    let Ok(scores) = network.forward(&propagation, &network.input(graph)?) else {
        return Ok(None);
    };
    let values = scores.flatten_all()?.to_vec1::<f32>()?;
    // A network may use more of a graph than its operator's values, or be defended.
    let own = model.scores(graph)?;
    let size = own.data().iter().fold(1f32, |m, z| m.max(z.abs()));
    if values.len() != own.data().len()
        || values
            .iter()
            .zip(own.data())
            .any(|(a, b)| (a - b).abs() > 1e-3 * size)
    {
        return Ok(None);
    }
    let slope = Tensor::from_vec(falling(&own, clean), scores.shape(), &Device::Cpu)?;
    let grads = (scores * slope)?.sum_all()?.backward()?;
    let Some(found) = grads.get(&flips) else {
        return Ok(None);
    };
    Ok(Some(
        found.to_vec1::<f32>()?[relaxed.num_edges()..].to_vec(),
    ))
}

fn relaxable(network: &WhiteBox) -> Option<(&WhiteBox, gnarl_graph::operator::ClassicalOperator)> {
    match (
        network.operator(),
        network.network().config().backbone.default_operator(),
    ) {
        (OperatorChoice::Classical(kind), _)
        | (OperatorChoice::Default, DefaultOperator::Classical(kind)) => Some((network, kind)),
        _ => None,
    }
}

/// Returns the gradient of `-Σ tanh(m_i / s)` by the scores, with m the margins of these classes
/// and s their mean absolute value.
fn falling(scores: &DenseMatrix<f32>, classes: &[usize]) -> Vec<f32> {
    let width = scores.num_cols();
    let best_other = |u: usize, class: usize| {
        let others = scores
            .row(u)
            .iter()
            .enumerate()
            .filter(|(c, _)| *c != class);
        others
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map(|(c, &z)| (c, z))
    };
    let margins: Vec<Option<(usize, f64)>> = (classes.iter().enumerate())
        .map(|(u, &class)| {
            best_other(u, class).map(|(c, z)| (c, f64::from(scores.row(u)[class] - z)))
        })
        .collect();
    let sizes: f64 = margins.iter().flatten().map(|(_, m)| m.abs()).sum();
    let scale = (sizes / margins.len().max(1) as f64).max(1e-6);
    let mut slope = vec![0f32; scores.num_rows() * width];
    for (u, margin) in margins.iter().enumerate() {
        let Some((other, margin)) = margin else {
            continue;
        };
        let by = ((1.0 - (margin / scale).tanh().powi(2)) / scale) as f32;
        slope[u * width + classes[u]] -= by;
        slope[u * width + other] += by;
    }
    slope
}

impl Detector {
    /// Trains on rows of edges to keep and edges to drop, as many of each.
    fn fit(kept: &[Vec<f32>], dropped: &[Vec<f32>], rng: &mut Rng) -> Result<Self> {
        let width = kept.first().or(dropped.first()).map_or(0, Vec::len);
        let each = kept.len().clamp(1, MOST_EDGES);
        let of_kept = sample(rng, kept.len(), each.min(kept.len()))
            .into_iter()
            .map(|i| &kept[i]);
        let mut rows: Vec<&Vec<f32>> = of_kept.collect();
        let count = rows.len();
        rows.extend((0..each).map(|i| &dropped[i % dropped.len()]));
        let (mean, standard_deviation) = moments(&rows, width);
        let scaled = |row: &&Vec<f32>| {
            (0..width)
                .map(|c| (row[c] - mean[c]) / standard_deviation[c])
                .collect::<Vec<f32>>()
        };
        let x = Tensor::from_vec(
            rows.iter().flat_map(scaled).collect(),
            (rows.len(), width),
            &Device::Cpu,
        )?;
        let start = |from: usize, to: usize, rng: &mut Rng| -> Result<Var> {
            let bound = (6.0 / (from + to) as f32).sqrt();
            let values: Vec<f32> = (0..from * to)
                .map(|_| rng.random_range(-bound..bound))
                .collect();
            Ok(Var::from_tensor(&Tensor::from_vec(
                values,
                (from, to),
                &Device::Cpu,
            )?)?)
        };
        let zeros = |len: usize| -> Result<Var> {
            Ok(Var::from_tensor(&Tensor::from_vec(
                vec![0f32; len],
                len,
                &Device::Cpu,
            )?)?)
        };
        let (first, second) = (start(width, HIDDEN, rng)?, start(HIDDEN, 2, rng)?);
        let (first_bias, second_bias) = (zeros(HIDDEN)?, zeros(2)?);
        let mut adam = Adam::new(AdamSettings::default());
        for (var, decay) in [
            (&first, DECAY),
            (&first_bias, 0.0),
            (&second, DECAY),
            (&second_bias, 0.0),
        ] {
            adam.add(var, LEARNING_RATE, decay);
        }
        let items = Arc::new((0..rows.len() as u32).collect::<Vec<u32>>());
        let truth = Arc::new(
            (0..rows.len())
                .map(|i| u32::from(i >= count))
                .collect::<Vec<u32>>(),
        );
        for _ in 0..EPOCHS {
            let hidden = add_bias(&x.matmul(first.as_tensor())?, first_bias.as_tensor())?.relu()?;
            let scores = add_bias(&hidden.matmul(second.as_tensor())?, second_bias.as_tensor())?;
            adam.step(&masked_cross_entropy(&scores, &items, &truth)?.backward()?)?;
        }
        let values = |var: &Var| -> Result<Vec<f32>> {
            Ok(var.as_tensor().flatten_all()?.to_vec1::<f32>()?)
        };
        let (mut first, mut first_bias) = (values(&first)?, values(&first_bias)?);
        // The scaling of rows becomes part of the first map.
        for c in 0..width {
            for h in 0..HIDDEN {
                first[c * HIDDEN + h] /= standard_deviation[c];
                first_bias[h] -= mean[c] * first[c * HIDDEN + h];
            }
        }
        let (second, second_bias) = (values(&second)?, values(&second_bias)?);
        let second = second.chunks_exact(2).map(|w| w[1] - w[0]).collect();
        Ok(Self {
            first,
            first_bias,
            second,
            second_bias: second_bias[1] - second_bias[0],
        })
    }

    /// Returns the probability that an edge is adversarial.
    fn suspicion(&self, row: &[f32]) -> f64 {
        let hidden = self.second.len();
        let mut sums = self.first_bias.clone();
        for (x, weights) in row.iter().zip(self.first.chunks_exact(hidden)) {
            sums.iter_mut()
                .zip(weights)
                .for_each(|(sum, w)| *sum += x * w);
        }
        let odds = sums
            .iter()
            .zip(&self.second)
            .map(|(sum, w)| sum.max(0.0) * w)
            .sum::<f32>()
            + self.second_bias;
        1.0 / (1.0 + (-f64::from(odds)).exp())
    }
}

/// Returns means and standard deviations of columns; one if a column does not vary.
fn moments(rows: &[&Vec<f32>], width: usize) -> (Vec<f32>, Vec<f32>) {
    let count = rows.len().max(1) as f64;
    let mean = |c: usize| rows.iter().map(|row| f64::from(row[c])).sum::<f64>() / count;
    let about = |c: usize, mean: f64| {
        rows.iter()
            .map(|row| (f64::from(row[c]) - mean).powi(2))
            .sum::<f64>()
            / count
    };
    let of = |c: usize| {
        let mean = mean(c);
        let standard_deviation = about(c, mean).sqrt();
        (
            mean as f32,
            if standard_deviation > 1e-6 {
                standard_deviation as f32
            } else {
                1.0
            },
        )
    };
    (0..width).map(of).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_nn::networks::{Backbone, NetworkConfig};
    use gnarl_nn::train::TrainConfig;

    fn trial_graph() -> (Graph, WhiteBox) {
        let config = CsbmConfig {
            num_nodes: 300,
            num_classes: 3,
            num_features: 12,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 1).unwrap();
        let config = NetworkConfig {
            hidden: 8,
            ..NetworkConfig::new(Backbone::GCN)
        };
        let training = TrainConfig {
            epochs: 60,
            ..TrainConfig::default()
        };
        let model = crate::testing::trained(&graph, &config, &training, 3);
        (graph, model)
    }

    #[test]
    fn edges_added_by_an_attack_are_detected() {
        let (graph, model) = trial_graph();
        let clean = classes(&distributions(&model, &graph).unwrap());
        let detectors = EdgeDetectors::fit(&model, &graph, 4).unwrap();
        let adversarial_pairs =
            adversarial_pairs(&model, &graph, &clean, 0.1, &mut stream(9, "another", 0)).unwrap();
        assert_eq!(
            adversarial_pairs.len(),
            (0.1 * graph.num_edges() as f64).ceil() as usize
        );
        let attacked = graph.add_edges(&adversarial_pairs).unwrap().0;
        let prediction = distributions(&model, &attacked).unwrap();
        let fell = classes(&prediction)
            .iter()
            .zip(&clean)
            .filter(|(a, b)| a != b)
            .count();
        assert!(fell >= 30, "the attack moves {fell} answers of 300");
        let flagging = Flagging {
            detectors: &detectors,
            threshold: 0.5,
        };
        let (cleaned, _) = flagging
            .sample(&attacked, &prediction, &mut stream(1, "none", 0))
            .unwrap()
            .unwrap();
        let left = |pairs: &[Pair]| {
            pairs
                .iter()
                .filter(|(u, v)| cleaned.has_edge(*u, *v))
                .count() as f64
                / pairs.len() as f64
        };
        let own: Vec<Pair> = graph.edges().collect();
        assert!(
            left(&adversarial_pairs) + 0.2 < left(&own) && left(&own) > 0.5,
            "{} of those put in are left, {} of the others",
            left(&adversarial_pairs),
            left(&own)
        );
    }

    #[test]
    fn a_trial_chooses_what_does_no_harm() {
        let (graph, model) = trial_graph();
        let val = graph.splits()[0].val().to_vec();
        let tested = EdgeDetectors::fit(&model, &graph, 4)
            .unwrap()
            .tested(&model, &graph, &val)
            .unwrap();
        assert!(
            THRESHOLDS.contains(&tested.threshold()) && tested.tested_limit().is_some(),
            "{:?}",
            tested.tested_limit()
        );
        let prediction = distributions(&model, &graph).unwrap();
        let clean = Flagging {
            detectors: &tested,
            threshold: 0.5,
        }
        .sample(&graph, &prediction, &mut stream(1, "none", 0));
        assert!(
            clean.unwrap().is_none(),
            "the clean graph is answered plainly"
        );
        // Detectors that suspect every edge separate nothing.
        let suspicious = Detector {
            first: vec![0.0; 10],
            first_bias: vec![0.0],
            second: vec![1.0],
            second_bias: 9.0,
        };
        let all = EdgeDetectors {
            detectors: vec![suspicious],
            threshold: 0.5,
            clean_suspicion: None,
            trusted: None,
        };
        let all = all.tested(&model, &graph, &val).unwrap();
        assert_eq!(all.tested_limit(), Some(0.0));
        let flagging = Flagging {
            detectors: &all,
            threshold: 0.5,
        };
        assert!(
            flagging
                .sample(&graph, &prediction, &mut stream(1, "none", 0))
                .unwrap()
                .is_none(),
            "it answers plainly"
        );
    }

    #[test]
    fn graphs_without_edges_have_nothing_to_detect() {
        let (_, model) = trial_graph();
        let features = Features::Dense(DenseMatrix::zeros(5, 12));
        let empty = Graph::empty(5).unwrap().with_features(features).unwrap();
        let detectors = EdgeDetectors::fit(&model, &empty, 2)
            .unwrap()
            .tested(&model, &empty, &[])
            .unwrap();
        assert_eq!(
            (detectors.detectors.len(), detectors.tested_limit()),
            (0, Some(0.0))
        );
    }
}
