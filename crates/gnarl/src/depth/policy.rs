//! Where each node leaves (thesis ch. 4, "Generalization to Test Nodes"), learned on validation nodes alone.
//!
//! | name | a node leaves at |
//! | --- | --- |
//! | `degree`, `core`, `walks`, `pagerank` | the exit that is best on the validation nodes of its bucket (the thesis' policies) |
//! | `KIND+KIND` | the same with buckets of two centralities, a grid |
//! | `confidence` | the first exit whose calibrated confidence passes a threshold |
//! | `most-confident` | the exit whose calibrated confidence is largest |
//! | `mixture` | an exit that answers what the weighted mean of all exits' calibrated probabilities prefers |
//! | `blend` | the same with a weighted sum of log-probabilities |
//! | `pool` | the same with an offset per class besides |
//! | `echo` | the same, hearing besides what every exit says of the node's neighbours, heeded by degree |
//!
//! A policy is a map from nodes to exits. The last four weigh classes by all exits, then let the node leave at the first
//! exit that answers the preferred class; classes that no exit answers are not considered. So the oracle, right wherever
//! any exit is, bounds them all.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use candle_core::Tensor;
use gnarl_graph::Graph;
use gnarl_graph::centrality::Centrality;
use serde::{Deserialize, Serialize};

use super::fit::{self, Choices, FOLDS};
use crate::error::{Error, Result};
use crate::operator::Centralities;
use crate::train::{Targets, argmax};

/// The kinds of policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Kind {
    /// Buckets of one or two centralities.
    Buckets(Centralities),
    /// A threshold of confidence.
    Confidence,
    /// The largest confidence.
    MostConfident,
    /// A mixture of probabilities.
    Mixture,
    /// A weighted sum of log-probabilities.
    Blend,
    /// The same with an offset per class.
    Pool,
    /// A pool that listens to the neighbours too.
    Echo,
}

const WALKS: Centrality = Centrality::Walks { length: 2 };

impl Kind {
    /// What `all` stands for: the thesis' four, two grids, and what goes beyond.
    pub const ALL: [Kind; 12] = [
        Kind::Buckets(Centralities::one(Centrality::Degree)),
        Kind::Buckets(Centralities::one(Centrality::Core)),
        Kind::Buckets(Centralities::one(WALKS)),
        Kind::Buckets(Centralities::one(Centrality::PageRank)),
        Kind::Buckets(Centralities::sum(Centrality::Degree, Centrality::Core)),
        Kind::Buckets(Centralities::sum(WALKS, Centrality::PageRank)),
        Kind::Confidence,
        Kind::MostConfident,
        Kind::Mixture,
        Kind::Blend,
        Kind::Pool,
        Kind::Echo,
    ];

    /// The kinds that are named by a word of their own.
    const NAMED: [(&'static str, Kind); 6] = [
        ("confidence", Kind::Confidence),
        ("most-confident", Kind::MostConfident),
        ("mixture", Kind::Mixture),
        ("blend", Kind::Blend),
        ("pool", Kind::Pool),
        ("echo", Kind::Echo),
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Buckets(centralities) => centralities.fmt(f),
            named => f.write_str(Self::NAMED.iter().find(|(_, kind)| kind == named).map_or("?", |(name, _)| name)),
        }
    }
}

impl FromStr for Kind {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if let Some((_, kind)) = Self::NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Ok(*kind);
        }
        // Two centralities, or one that takes a number, have more to say about what is wrong.
        if name.contains(['+', ':']) {
            return name.parse().map(Kind::Buckets);
        }
        let known = ["degree", "core", "walks", "pagerank"].into_iter().chain(Self::NAMED.iter().map(|(n, _)| *n));
        name.parse().map(Kind::Buckets).map_err(|_| gnarl_graph::Error::unknown("policy", name, known))
    }
}

impl TryFrom<String> for Kind {
    type Error = gnarl_graph::Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.to_string()
    }
}

/// What policies know of a graph: its centralities and who neighbours whom.
#[derive(Debug)]
pub struct Structure<'a> {
    graph: &'a Graph,
    centralities: Vec<(Centrality, Vec<f64>)>,
    /// `ln(1 + degree)`, less its mean, by its deviation.
    degree: Vec<f64>,
}

impl<'a> Structure<'a> {
    /// Computes the centralities that these policies ask for.
    pub fn new(graph: &'a Graph, kinds: &[Kind]) -> Result<Self> {
        let mut centralities: Vec<(Centrality, Vec<f64>)> = Vec::new();
        for kind in kinds {
            let Kind::Buckets(asked) = kind else { continue };
            for kind in asked.iter() {
                if !centralities.iter().any(|(known, _)| *known == kind) {
                    centralities.push((kind, kind.scores(graph)?));
                }
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

    fn centrality(&self, kind: Centrality) -> Result<&[f64]> {
        let found = self.centralities.iter().find(|(known, _)| *known == kind);
        found.map(|(_, values)| &values[..]).ok_or_else(|| {
            Error::Graph(gnarl_graph::Error::argument("policy", format!("{kind} was not computed for this graph")))
        })
    }
}

/// What every exit says of every node.
#[derive(Debug, Clone)]
pub struct Answers {
    num_nodes: usize,
    num_classes: usize,
    /// Of each exit, log-probabilities `[nodes, classes]`.
    log_probabilities: Vec<Vec<f32>>,
    /// Of each exit, the class of every node.
    classes: Vec<Vec<u32>>,
}

impl Answers {
    /// From the scores of each exit, `[nodes, classes]`; at least one.
    pub fn new(scores: &[Tensor]) -> Result<Self> {
        let Some(first) = scores.first() else {
            return Err(gnarl_graph::Error::argument("policy", "there is no exit").into());
        };
        let (num_nodes, num_classes) = first.dims2()?;
        let rows = scores.iter().map(|s| Ok(s.flatten_all()?.to_vec1::<f32>()?)).collect::<Result<Vec<_>>>()?;
        Ok(Self::from_rows(rows, num_nodes, num_classes))
    }

    fn from_rows(mut exits: Vec<Vec<f32>>, num_nodes: usize, num_classes: usize) -> Self {
        let mut classes = Vec::with_capacity(exits.len());
        for exit in &mut exits {
            classes.push(exit.chunks_exact(num_classes.max(1)).map(|row| argmax(row) as u32).collect());
            for row in exit.chunks_exact_mut(num_classes.max(1)) {
                let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let total = row.iter().map(|s| (s - top).exp()).sum::<f32>().ln();
                row.iter_mut().for_each(|s| *s -= top + total);
            }
        }
        Self { num_nodes, num_classes, log_probabilities: exits, classes }
    }

    /// Number of exits.
    pub fn num_exits(&self) -> usize {
        self.classes.len()
    }

    /// The class that exit `exit` gives to a node.
    pub fn class(&self, exit: usize, node: usize) -> u32 {
        self.classes[exit][node]
    }

    fn row(&self, exit: usize, node: usize) -> &[f32] {
        &self.log_probabilities[exit][node * self.num_classes..(node + 1) * self.num_classes]
    }

    /// Per cent of the targets that an exit gets right.
    pub fn accuracy(&self, exit: usize, targets: &Targets) -> f64 {
        self.accuracy_by(|_| exit, targets)
    }

    /// Per cent of the targets that are right where each node leaves at `exits[node]`.
    pub fn policy_accuracy(&self, exits: &[usize], targets: &Targets) -> f64 {
        self.accuracy_by(|node| exits[node], targets)
    }

    fn accuracy_by(&self, exit: impl Fn(usize) -> usize, targets: &Targets) -> f64 {
        let right = |&(&node, &class): &(&u32, &u32)| self.classes[exit(node as usize)][node as usize] == class;
        let count = targets.items.iter().zip(targets.classes.iter()).filter(right).count();
        100.0 * count as f64 / targets.items.len().max(1) as f64
    }

    /// Per cent of the targets that at least one exit gets right: no policy can do better.
    pub fn oracle_accuracy(&self, targets: &Targets) -> f64 {
        let right = |&(&node, &class): &(&u32, &u32)| self.classes.iter().any(|exit| exit[node as usize] == class);
        let count = targets.items.iter().zip(targets.classes.iter()).filter(right).count();
        100.0 * count as f64 / targets.items.len().max(1) as f64
    }

    /// Whether exit `exit` is right about each target.
    fn hits(&self, exit: usize, targets: &Targets) -> Vec<bool> {
        let pairs = targets.items.iter().zip(targets.classes.iter());
        pairs.map(|(&node, &class)| self.classes[exit][node as usize] == class).collect()
    }

    /// The exit with the best accuracy on the targets, of equals the first.
    pub fn best_exit(&self, targets: &Targets) -> usize {
        let hits = |exit| self.hits(exit, targets).into_iter().filter(|h| *h).count();
        (0..self.num_exits()).max_by_key(|&exit| (hits(exit), Reverse(exit))).unwrap_or(0)
    }

    /// The largest probability of an exit's answer for a node, at an inverse temperature.
    fn confidence(&self, exit: usize, node: usize, beta: f64) -> f64 {
        let row = self.row(exit, node);
        let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        1.0 / row.iter().map(|s| (beta * (f64::from(*s) - top)).exp()).sum::<f64>()
    }

    /// The inverse temperature of every exit that fits the targets best.
    fn calibrate(&self, targets: &Targets) -> Vec<f64> {
        let of_exit = |exit: usize| {
            let pairs = targets.items.iter().zip(targets.classes.iter());
            let rows: Vec<_> = pairs.map(|(&node, &c)| (self.row(exit, node as usize), c as usize)).collect();
            fit::inverse_temperature(&rows)
        };
        (0..self.num_exits()).map(of_exit).collect()
    }
}

/// A learned policy: what a saved model carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// Every node leaves at one exit.
    Single {
        /// That exit.
        exit: usize,
    },
    /// The exit of the node's bucket. Bucket `b` of a centrality holds values with exactly `b` cuts at or below them; of
    /// two centralities the second counts faster.
    Buckets {
        /// What nodes are ranked by.
        centralities: Centralities,
        /// Ascending values at which the buckets of each centrality begin, the first bucket's left out.
        cuts: Vec<Vec<f64>>,
        /// The exit of every bucket.
        exits: Vec<usize>,
    },
    /// The first exit whose confidence at its inverse temperature is at least the threshold; `otherwise` where none is.
    Confidence {
        /// One per exit.
        inverse_temperatures: Vec<f64>,
        /// A confidence.
        threshold: f64,
        /// The exit of nodes of which no exit is sure.
        otherwise: usize,
    },
    /// The exit of the largest confidence, of equals the first.
    MostConfident {
        /// One per exit.
        inverse_temperatures: Vec<f64>,
    },
    /// The exit that answers what the mixture of probabilities prefers.
    Mixture {
        /// One per exit.
        inverse_temperatures: Vec<f64>,
        /// One per exit, of sum one.
        weights: Vec<f64>,
    },
    /// The exit that answers what the pool prefers.
    Pool {
        /// What is heard beside every exit's word on the node.
        hears: Hears,
        /// Of every exit, then of what is heard besides.
        coefficients: Vec<f64>,
    },
}

/// What a pool goes by beside every exit's word on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hears {
    /// Nothing.
    Nothing,
    /// An offset per class.
    Offsets,
    /// Offsets, and every exit's word on the neighbours, heeded by degree.
    Neighbours,
}

/// Most buckets of one centrality, and of each of two.
const MAX_BUCKETS: usize = 10;
const MAX_GRID: usize = 4;
/// Thresholds tried.
const THRESHOLDS: usize = 101;
/// Penalties tried for the coefficients of a pool.
const PENALTIES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Most validation nodes a pool is fitted on, evenly spread over all there are.
const MAX_FITTED: usize = 4000;

impl Policy {
    /// Learns a policy on validation nodes. Without any, every node leaves at the last exit.
    pub fn learn(kind: Kind, structure: &Structure<'_>, answers: &Answers, val: &Targets) -> Result<Self> {
        if val.items.is_empty() {
            return Ok(Policy::Single { exit: answers.num_exits() - 1 });
        }
        let inverse_temperatures = || answers.calibrate(val);
        Ok(match kind {
            Kind::Buckets(centralities) => learn_buckets(centralities, structure, answers, val)?,
            Kind::Confidence => learn_confidence(answers, val),
            Kind::MostConfident => Policy::MostConfident { inverse_temperatures: inverse_temperatures() },
            Kind::Mixture => {
                let inverse_temperatures = inverse_temperatures();
                let probability = |(&node, &class): (&u32, &u32)| {
                    let of_exit =
                        |(exit, beta): (usize, &f64)| tempered(answers.row(exit, node as usize), *beta)[class as usize];
                    inverse_temperatures.iter().enumerate().map(of_exit).collect()
                };
                let rows: Vec<Vec<f64>> = val.items.iter().zip(val.classes.iter()).map(probability).collect();
                Policy::Mixture { weights: fit::mixture_weights(&rows, answers.num_exits()), inverse_temperatures }
            }
            Kind::Blend => learn_pool(Hears::Nothing, structure, answers, val),
            Kind::Pool => learn_pool(Hears::Offsets, structure, answers, val),
            Kind::Echo => learn_pool(Hears::Neighbours, structure, answers, val),
        })
    }

    /// Where every node leaves. Fails for a policy of another number of exits or classes.
    pub fn exits(&self, structure: &Structure<'_>, answers: &Answers) -> Result<Vec<usize>> {
        self.check(answers)?;
        let nodes = 0..answers.num_nodes;
        Ok(match self {
            Policy::Single { exit } => vec![*exit; answers.num_nodes],
            Policy::Buckets { centralities, cuts, exits } => {
                let values = centralities.iter().map(|c| structure.centrality(c)).collect::<Result<Vec<_>>>()?;
                nodes.map(|u| exits[bucket(&values, cuts, u)]).collect()
            }
            Policy::Confidence { inverse_temperatures, threshold, otherwise } => nodes
                .map(|u| {
                    let sure = |&l: &usize| answers.confidence(l, u, inverse_temperatures[l]) >= *threshold;
                    (0..answers.num_exits()).find(sure).unwrap_or(*otherwise)
                })
                .collect(),
            Policy::MostConfident { inverse_temperatures } => nodes
                .map(|u| {
                    let confidence = |(l, beta): (usize, &f64)| answers.confidence(l, u, *beta) as f32;
                    argmax(&inverse_temperatures.iter().enumerate().map(confidence).collect::<Vec<f32>>())
                })
                .collect(),
            Policy::Mixture { inverse_temperatures, weights } => nodes
                .map(|u| {
                    let mut mixed = vec![0.0; answers.num_classes];
                    for (l, (beta, w)) in inverse_temperatures.iter().zip(weights).enumerate() {
                        let p = tempered(answers.row(l, u), *beta);
                        mixed.iter_mut().zip(p).for_each(|(m, p)| *m += w * p);
                    }
                    first_exit_that_answers(&mixed, answers, u)
                })
                .collect(),
            Policy::Pool { hears, coefficients } => {
                let evidence = Evidence::new(*hears, structure, answers);
                let mut rows = vec![0.0; answers.num_classes * evidence.width()];
                nodes
                    .map(|u| {
                        evidence.fill(u, &mut rows);
                        let score = |x: &[f64]| x.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>();
                        let scores: Vec<f64> = rows.chunks_exact(evidence.width()).map(score).collect();
                        first_exit_that_answers(&scores, answers, u)
                    })
                    .collect()
            }
        })
    }

    /// Refuses a policy that was made for something else, or is broken.
    fn check(&self, answers: &Answers) -> Result<()> {
        let (exits, classes) = (answers.num_exits(), answers.num_classes);
        let fits = match self {
            Policy::Single { exit } => *exit < exits,
            Policy::Buckets { centralities, cuts, exits: of } => {
                let buckets = cuts.iter().try_fold(1usize, |n, cuts| n.checked_mul(cuts.len() + 1));
                cuts.len() == centralities.iter().count()
                    && buckets == Some(of.len())
                    && of.iter().all(|exit| *exit < exits)
            }
            Policy::Confidence { inverse_temperatures, otherwise, .. } => {
                inverse_temperatures.len() == exits && *otherwise < exits
            }
            Policy::MostConfident { inverse_temperatures } => inverse_temperatures.len() == exits,
            Policy::Mixture { inverse_temperatures, weights } => {
                inverse_temperatures.len() == exits && weights.len() == exits
            }
            Policy::Pool { hears, coefficients } => coefficients.len() == Evidence::width_of(*hears, exits, classes),
        };
        let what = || format!("a policy that does not fit {exits} exits and {classes} classes; train the model again");
        if fits { Ok(()) } else { Err(gnarl_graph::Error::argument("policy", what()).into()) }
    }

    /// The centralities it needs.
    pub fn kinds(&self) -> Vec<Kind> {
        match self {
            Policy::Buckets { centralities, .. } => vec![Kind::Buckets(*centralities)],
            _ => Vec::new(),
        }
    }
}

/// Probabilities of a row of log-probabilities at an inverse temperature.
fn tempered(row: &[f32], beta: f64) -> Vec<f64> {
    let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let exp: Vec<f64> = row.iter().map(|s| (beta * (f64::from(*s) - top)).exp()).collect();
    let total: f64 = exp.iter().sum();
    exp.into_iter().map(|e| e / total).collect()
}

/// Of the classes that exits answer for a node, the one with the largest score (of equals the one answered first), and the
/// first exit that answers it.
fn first_exit_that_answers(scores: &[f64], answers: &Answers, node: usize) -> usize {
    let score = |exit: usize| scores[answers.class(exit, node) as usize];
    (1..answers.num_exits()).fold(0, |best, exit| if score(exit) > score(best) { exit } else { best })
}

/// Values that cut all nodes into `count` buckets of about the same size: those at ranks `k n / count`. Nodes of one value
/// stay together, so there may be fewer buckets; of a constant there is one.
fn cuts_of(values: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let mut cuts: Vec<f64> = (1..count).map(|k| k * n / count).filter(|at| *at < n).map(|at| sorted[at]).collect();
    cuts.dedup();
    cuts.retain(|cut| *cut > sorted[0]);
    cuts
}

fn bucket(values: &[&[f64]], cuts: &[Vec<f64>], node: usize) -> usize {
    values
        .iter()
        .zip(cuts)
        .fold(0, |at, (values, cuts)| at * (cuts.len() + 1) + cuts.partition_point(|cut| *cut <= values[node]))
}

/// Buckets of equal size, the exit with the most validation nodes right in each, ties going to the exit that is better on
/// all of them; a bucket without validation nodes takes that one too. The number of buckets is the one whose exits, chosen
/// on four fifths of the validation nodes, are right most often on the others; of equals the fewest.
fn learn_buckets(
    centralities: Centralities,
    structure: &Structure<'_>,
    answers: &Answers,
    val: &Targets,
) -> Result<Policy> {
    let values = centralities.iter().map(|c| structure.centrality(c)).collect::<Result<Vec<_>>>()?;
    let hits: Vec<Vec<bool>> = (0..answers.num_exits()).map(|exit| answers.hits(exit, val)).collect();
    let most = if values.len() == 1 { MAX_BUCKETS } else { MAX_GRID };
    let mut best: Option<(usize, Vec<Vec<f64>>, Vec<usize>)> = None;
    for count in 1..=most.min(answers.num_nodes.max(1)) {
        let cuts: Vec<Vec<f64>> = values.iter().map(|values| cuts_of(values, count)).collect();
        let buckets: Vec<usize> = val.items.iter().map(|&u| bucket(&values, &cuts, u as usize)).collect();
        let num_buckets = cuts.iter().map(|cuts| cuts.len() + 1).product();
        let choose = |is_used: &dyn Fn(usize) -> bool| exits_by_bucket(&hits, &buckets, num_buckets, is_used);
        let mut right = 0;
        for fold in 0..FOLDS {
            let exits = choose(&|i| i % FOLDS != fold);
            right += (fold..buckets.len()).step_by(FOLDS).filter(|&i| hits[exits[buckets[i]]][i]).count();
        }
        if best.as_ref().is_none_or(|(most, ..)| right > *most) {
            best = Some((right, cuts, choose(&|_| true)));
        }
    }
    let (_, cuts, exits) = best.expect("there is always one bucket");
    Ok(Policy::Buckets { centralities, cuts, exits })
}

/// The best exit of every bucket, judged on the validation nodes that are used.
fn exits_by_bucket(
    hits: &[Vec<bool>],
    buckets: &[usize],
    num_buckets: usize,
    is_used: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let mut right = vec![vec![0usize; hits.len()]; num_buckets];
    let mut overall = vec![0usize; hits.len()];
    for (i, &b) in buckets.iter().enumerate().filter(|(i, _)| is_used(*i)) {
        for (exit, hits) in hits.iter().enumerate() {
            right[b][exit] += usize::from(hits[i]);
            overall[exit] += usize::from(hits[i]);
        }
    }
    let best = |right: &Vec<usize>| (0..hits.len()).max_by_key(|&l| (right[l], overall[l], Reverse(l))).unwrap_or(0);
    right.iter().map(best).collect()
}

/// The threshold that is right most often on the validation nodes, of equals the highest, which leaves later.
fn learn_confidence(answers: &Answers, val: &Targets) -> Policy {
    let inverse_temperatures = answers.calibrate(val);
    let otherwise = answers.best_exit(val);
    let confidences: Vec<Vec<f64>> = inverse_temperatures
        .iter()
        .enumerate()
        .map(|(l, beta)| val.items.iter().map(|&u| answers.confidence(l, u as usize, *beta)).collect())
        .collect();
    let right_at = |threshold: f64| {
        let leaves = |i: usize| (0..confidences.len()).find(|&l| confidences[l][i] >= threshold).unwrap_or(otherwise);
        let is_right = |i: &usize| answers.class(leaves(*i), val.items[*i] as usize) == val.classes[*i];
        (0..val.items.len()).filter(is_right).count()
    };
    // Above one, nobody leaves early: the single best exit.
    let mut best = (1.01, right_at(1.01));
    for k in (0..THRESHOLDS).rev() {
        let threshold = k as f64 / (THRESHOLDS - 1) as f64;
        let right = right_at(threshold);
        if right > best.1 {
            best = (threshold, right);
        }
    }
    Policy::Confidence { inverse_temperatures, threshold: best.0, otherwise }
}

/// What is known of a node for each class: the log-probability that each exit gives it; from neighbours the logarithm of the
/// mean probability that each exit gives it over the node's neighbours, and both once more times the node's (standardised)
/// degree; last, with offsets, a one for the class itself, whose coefficient is its offset.
struct Evidence<'a> {
    answers: &'a Answers,
    hears: Hears,
    echo: Option<(Vec<Vec<f32>>, &'a [f64])>,
}

impl<'a> Evidence<'a> {
    fn new(hears: Hears, structure: &'a Structure<'_>, answers: &'a Answers) -> Self {
        let heard = |exit: usize| {
            let c = answers.num_classes;
            let mut rows = vec![0f32; answers.num_nodes * c];
            for (u, row) in rows.chunks_exact_mut(c.max(1)).enumerate() {
                let neighbours = structure.graph.neighbours(u as u32);
                for &v in neighbours {
                    row.iter_mut().zip(answers.row(exit, v as usize)).for_each(|(sum, p)| *sum += p.exp());
                }
                if neighbours.is_empty() {
                    row.copy_from_slice(answers.row(exit, u));
                } else {
                    // A floor: silence of the neighbours about a class must not rule it out.
                    row.iter_mut().for_each(|p| *p = (*p / neighbours.len() as f32).max(1e-4).ln());
                }
            }
            rows
        };
        let is_echo = hears == Hears::Neighbours;
        let echo = is_echo.then(|| ((0..answers.num_exits()).map(heard).collect(), &structure.degree[..]));
        Self { answers, hears, echo }
    }

    fn width_of(hears: Hears, exits: usize, classes: usize) -> usize {
        match hears {
            Hears::Nothing => exits,
            Hears::Offsets => exits + classes,
            Hears::Neighbours => 4 * exits + classes,
        }
    }

    fn width(&self) -> usize {
        Self::width_of(self.hears, self.answers.num_exits(), self.answers.num_classes)
    }

    /// The evidence about a node, `[classes, width]`.
    fn fill(&self, node: usize, rows: &mut [f64]) {
        let (exits, classes, width) = (self.answers.num_exits(), self.answers.num_classes, self.width());
        rows.fill(0.0);
        for (c, row) in rows.chunks_exact_mut(width).enumerate() {
            for l in 0..exits {
                let own = f64::from(self.answers.row(l, node)[c]);
                row[l] = own;
                if let Some((heard, degree)) = &self.echo {
                    let heard = f64::from(heard[l][node * classes + c]);
                    row[exits + l] = heard;
                    row[2 * exits + l] = own * degree[node];
                    row[3 * exits + l] = heard * degree[node];
                }
            }
            if self.hears != Hears::Nothing {
                row[width - classes + c] = 1.0;
            }
        }
    }
}

/// Coefficients by penalised likelihood on the validation nodes, pulled towards the single best exit or towards all exits
/// alike; which of the two, and how hard, is what predicts held-back validation nodes best.
fn learn_pool(hears: Hears, structure: &Structure<'_>, answers: &Answers, val: &Targets) -> Policy {
    let evidence = Evidence::new(hears, structure, answers);
    let (width, exits) = (evidence.width(), answers.num_exits());
    let step = val.items.len().div_ceil(MAX_FITTED).max(1);
    let fitted: Vec<usize> = (0..val.items.len()).step_by(step).collect();
    let size = answers.num_classes * width;
    let mut rows = vec![0.0; fitted.len() * size];
    for (&i, rows) in fitted.iter().zip(rows.chunks_exact_mut(size)) {
        evidence.fill(val.items[i] as usize, rows);
    }
    let right = fitted.iter().map(|&i| val.classes[i] as usize).collect();
    let choices = Choices { evidence: rows, alternatives: answers.num_classes, width, right };
    let betas = answers.calibrate(val);
    let best = answers.best_exit(val);
    let start = |weight: &dyn Fn(usize) -> f64| {
        let mut theta = vec![0.0; width];
        (0..exits).for_each(|l| theta[l] = weight(l) * betas[l]);
        theta
    };
    let starts = [start(&|l| if l == best { 1.0 } else { 0.0 }), start(&|_| 1.0 / exits as f64)];
    Policy::Pool { hears, coefficients: fit::fit_cross(&choices, &starts, &PENALTIES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::Labels;
    use gnarl_graph::generate::{cycle, star};
    use gnarl_graph::random::stream;
    use rand::RngExt;

    fn kind(name: &str) -> Kind {
        name.parse().unwrap()
    }

    /// Answers of exits that are sure of a class each: `classes[exit][node]`.
    fn sure(classes: &[Vec<u32>], num_classes: usize) -> Answers {
        let score = |c: &u32| (0..num_classes as u32).map(|k| if k == *c { 3.0 } else { 0.0 }).collect::<Vec<f32>>();
        let rows = classes.iter().map(|exit| exit.iter().flat_map(score).collect()).collect();
        Answers::from_rows(rows, classes[0].len(), num_classes)
    }

    fn targets(items: impl IntoIterator<Item = u32>, classes: &[u32]) -> Targets {
        let labels = Labels::new(classes.iter().map(|c| Some(*c)).collect(), 2).unwrap();
        Targets::new(&items.into_iter().collect::<Vec<_>>(), &labels)
    }

    /// A star of 40 leaves beside 20 triangles: the leaves have degree 1, the corners 2, the hub 40. Exit 0 is right about
    /// leaves alone, exit 1 about corners and the hub alone.
    fn leaves_and_corners() -> (Graph, Answers, Vec<u32>) {
        let star = (1..=40u32).map(|leaf| (0, leaf));
        let triangles =
            (0..20u32).flat_map(|t| [(41 + 3 * t, 42 + 3 * t), (42 + 3 * t, 43 + 3 * t), (43 + 3 * t, 41 + 3 * t)]);
        let graph = Graph::from_edges(101, star.chain(triangles)).unwrap().0;
        let truth: Vec<u32> = (0..101).map(|u| u % 2).collect();
        let is_leaf = |u: usize| (1..=40).contains(&u);
        let exit = |right_about_leaves: bool| {
            (0..101).map(|u| if is_leaf(u) == right_about_leaves { truth[u] } else { 1 - truth[u] }).collect()
        };
        (graph, sure(&[exit(true), exit(false)], 2), truth)
    }

    #[test]
    fn each_bucket_leaves_at_its_own_best_depth() {
        let (graph, answers, truth) = leaves_and_corners();
        let val = targets((0..101).filter(|u| u % 2 == 0), &truth);
        let all = targets(0..101, &truth);
        assert_eq!(answers.accuracy(0, &all), 100.0 * 40.0 / 101.0);
        assert_eq!(answers.best_exit(&val), 1);
        for name in ["degree", "core", "walks", "degree+core"] {
            let structure = Structure::new(&graph, &[kind(name)]).unwrap();
            let policy = Policy::learn(kind(name), &structure, &answers, &val).unwrap();
            let exits = policy.exits(&structure, &answers).unwrap();
            let expected: Vec<usize> = (0..101).map(|u| usize::from(!(1..=40).contains(&u))).collect();
            // The hub has a core number of 1 and 40 walks of two steps, as its leaves do.
            let differ = (0..101).filter(|&u| exits[u] != expected[u]).collect::<Vec<usize>>();
            assert!(
                differ.is_empty() || (["core", "walks"].contains(&name) && differ == [0]),
                "{name}: {differ:?} in {policy:?}"
            );
            assert!(answers.policy_accuracy(&exits, &all) >= 99.0, "{name}");
            let again = serde_json::from_str(&serde_json::to_string(&policy).unwrap()).unwrap();
            assert_eq!(policy, again);
        }
    }

    #[test]
    fn values_are_cut_without_splitting_ties() {
        assert_eq!(cuts_of(&[4.0, 1.0, 3.0, 2.0], 2), [3.0]);
        assert_eq!(cuts_of(&[4.0, 1.0, 3.0, 2.0], 4), [2.0, 3.0, 4.0]);
        assert_eq!(cuts_of(&[1.0, 1.0, 1.0, 2.0], 2), [0.0; 0], "a cut among the ones would split them");
        assert_eq!(cuts_of(&[1.0, 1.0, 1.0, 2.0], 4), [2.0]);
        assert_eq!(cuts_of(&[7.0; 5], 3), [0.0; 0]);
        assert_eq!(cuts_of(&[1.0, 2.0], 9), [2.0], "more buckets than nodes");
        assert_eq!(cuts_of(&[], 3), [0.0; 0]);
        let (a, b) = ([1.0, 5.0, 9.0], [2.0, 1.0, 2.0]);
        let cuts = [vec![5.0, 9.0], vec![2.0]];
        assert_eq!([0, 1, 2].map(|u| bucket(&[&a, &b], &cuts, u)), [1, 2, 5]);
    }

    #[test]
    fn ties_and_empty_buckets_go_to_the_exit_that_is_best_overall() {
        // Exit 2 is right on items 0 to 3, exit 1 on 0 to 2, exit 0 on 0 alone. Bucket 0 holds item 0, where all tie.
        let hits = [vec![true, false, false, false], vec![true, true, true, false], vec![true; 4]];
        assert_eq!(exits_by_bucket(&hits, &[0, 1, 1, 1], 3, &|_| true), [2, 2, 2]);
        let hits = [vec![true, false, true], vec![false, true, true]];
        assert_eq!(exits_by_bucket(&hits, &[0, 1, 1], 3, &|_| true), [0, 1, 0], "of equals overall, the first");
    }

    #[test]
    fn odd_cases_have_defined_results() {
        let truth: Vec<u32> = (0..6).map(|u| u % 2).collect();
        let wrong: Vec<u32> = truth.iter().map(|c| 1 - c).collect();
        let (val, none) = (targets([0, 1, 2], &truth), targets([], &truth));
        let constant = cycle(6).unwrap();
        let one_exit = sure(std::slice::from_ref(&truth), 2);
        let two_exits = sure(&[wrong, truth.clone()], 2);
        for kind in Kind::ALL {
            let structure = Structure::new(&constant, &[kind]).unwrap();
            let exits = |answers: &Answers, val: &Targets| {
                let policy = Policy::learn(kind, &structure, answers, val).unwrap();
                policy.exits(&structure, answers).unwrap()
            };
            assert_eq!(exits(&one_exit, &val), [0; 6], "{kind} of L = 0");
            assert_eq!(exits(&two_exits, &none), [1; 6], "{kind} without validation nodes");
            if matches!(kind, Kind::Buckets(_) | Kind::Confidence) {
                assert_eq!(exits(&two_exits, &val), [1; 6], "{kind} of a constant centrality is one bucket");
            }
        }
        // Two nodes, ten buckets at most.
        let pair = star(2).unwrap();
        let structure = Structure::new(&pair, &[kind("pagerank")]).unwrap();
        let answers = sure(&[vec![0, 0], vec![1, 1]], 2);
        let policy = Policy::learn(kind("pagerank"), &structure, &answers, &targets([0], &[1, 1])).unwrap();
        assert_eq!(policy.exits(&structure, &answers).unwrap(), [1, 1]);
    }

    #[test]
    fn confident_nodes_leave_early() {
        // Exit 0 is right and sure about the even nodes, wrong and unsure about the odd; exit 1 is right about the odd.
        let truth: Vec<u32> = (0..40).map(|u| (u / 2) % 2).collect();
        let row = |class: u32, by: f32| if class == 0 { [by, 0.0] } else { [0.0, by] };
        let exit = |right_on_even: bool| -> Vec<f32> {
            (0..40u32)
                .flat_map(|u| match (u % 2 == 0) == right_on_even {
                    true => row(truth[u as usize], 4.0),
                    false => row(1 - truth[u as usize], 0.5),
                })
                .collect()
        };
        let answers = Answers::from_rows(vec![exit(true), exit(false)], 40, 2);
        let graph = cycle(40).unwrap();
        let structure = Structure::new(&graph, &[]).unwrap();
        let val = targets(0..20, &truth);
        for kind in [Kind::Confidence, Kind::MostConfident] {
            let policy = Policy::learn(kind, &structure, &answers, &val).unwrap();
            let exits = policy.exits(&structure, &answers).unwrap();
            assert_eq!(exits, (0..40).map(|u| u % 2).collect::<Vec<usize>>(), "{kind}: {policy:?}");
            assert_eq!(answers.policy_accuracy(&exits, &targets(20..40, &truth)), 100.0);
        }
    }

    #[test]
    fn a_pool_trusts_whom_experience_trusts_and_learns_offsets() {
        // Exit 0 always says 0, exit 1 is right; the truth is 1 three times in four.
        let truth: Vec<u32> = (0..80).map(|u| u32::from(u % 4 != 0)).collect();
        let answers = sure(&[vec![0; 80], truth.clone()], 2);
        let graph = cycle(80).unwrap();
        let structure = Structure::new(&graph, &[]).unwrap();
        for kind in [Kind::Mixture, Kind::Blend, Kind::Pool, Kind::Echo] {
            let policy = Policy::learn(kind, &structure, &answers, &targets(0..40, &truth)).unwrap();
            let exits = policy.exits(&structure, &answers).unwrap();
            assert_eq!(answers.policy_accuracy(&exits, &targets(40..80, &truth)), 100.0, "{kind}");
            assert_eq!(exits[0], 0, "both answer 0: the node leaves at the first");
        }
    }

    #[test]
    fn a_policy_of_other_exits_is_refused() {
        let graph = cycle(4).unwrap();
        let structure = Structure::new(&graph, &[kind("degree")]).unwrap();
        let answers = sure(&[vec![0; 4], vec![1; 4]], 2);
        for broken in [
            r#"{"single":{"exit":2}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[[1.0]],"exits":[0]}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[],"exits":[0]}}"#,
            r#"{"buckets":{"centralities":"degree","cuts":[[]],"exits":[7]}}"#,
            r#"{"confidence":{"inverse_temperatures":[1.0],"threshold":0.5,"otherwise":0}}"#,
            r#"{"most-confident":{"inverse_temperatures":[1.0]}}"#,
            r#"{"mixture":{"inverse_temperatures":[1.0,1.0],"weights":[1.0]}}"#,
            r#"{"pool":{"hears":"offsets","coefficients":[1.0]}}"#,
        ] {
            let policy: Policy = serde_json::from_str(broken).unwrap();
            let e = policy.exits(&structure, &answers).unwrap_err().to_string();
            assert!(e.contains("does not fit 2 exits and 2 classes"), "{broken}: {e}");
        }
    }

    #[test]
    fn names_are_read_back_and_wrong_ones_named() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse::<Kind>().unwrap(), kind);
        }
        let refusal = |name: &str| name.parse::<Kind>().unwrap_err().to_string();
        assert_eq!(refusal("mixtur"), "unknown policy 'mixtur'; did you mean mixture?");
        assert!(refusal("degree+degree").contains("names degree twice"));
        assert!(refusal("betweenness").contains("known: degree, core, walks, pagerank, confidence"));
    }

    /// No exit and no policy is ever right more often than the oracle, on any graph, scores and nodes; and learning is
    /// repeatable.
    #[test]
    fn the_oracle_bounds_everything() {
        for case in 0..24 {
            let rng = &mut stream(1, "oracle test", case);
            let edges: Vec<(u32, u32)> =
                (0..case * 3).map(|_| (rng.random_range(0..30), rng.random_range(0..30))).collect();
            let graph = Graph::from_edges(30, edges).unwrap().0;
            let scores = (0..3).map(|_| (0..120).map(|_| rng.random_range(-3f32..3.0)).collect()).collect();
            let answers = Answers::from_rows(scores, 30, 4);
            let labels = Labels::new((0..30).map(|_| Some(rng.random_range(0..4))).collect(), 4).unwrap();
            let num_val = rng.random_range(0..20u32);
            let val = Targets::new(&(0..num_val).collect::<Vec<_>>(), &labels);
            let test = Targets::new(&(num_val..30).collect::<Vec<_>>(), &labels);
            let structure = Structure::new(&graph, &Kind::ALL).unwrap();
            let oracle = answers.oracle_accuracy(&test);
            assert!((0..3).all(|exit| answers.accuracy(exit, &test) <= oracle), "case {case}");
            for kind in Kind::ALL {
                let policy = Policy::learn(kind, &structure, &answers, &val).unwrap();
                let exits = policy.exits(&structure, &answers).unwrap();
                assert!(answers.policy_accuracy(&exits, &test) <= oracle, "{kind}, case {case}");
                assert_eq!(policy, Policy::learn(kind, &structure, &answers, &val).unwrap(), "{kind}, case {case}");
            }
        }
    }
}
