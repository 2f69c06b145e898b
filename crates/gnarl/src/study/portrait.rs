//! Describes one fitted model node by node: predictions, confidence, exits, confusion matrix,
//! calibration, an embedding (PCA), and an attack as a walk from flip to flip.
//!
//! It covers one run and has no standard deviation: it is for inspection. Claims about a model
//! belong in the other studies.

use gnarl_data::Content;
use gnarl_graph::{DenseMatrix, Graph, Split};
use gnarl_linalg::symmetric_eigen;
use serde::Serialize;

use super::attack::{LabelKnowledge, evade, predicted_classes};
use crate::model::Fitted;
use gnarl_graph::{Error, Result};
use gnarl_robust::attack::{Attack, Flip, Part};
use gnarl_robust::perturb::{Pair, flipped};

/// The predictions of a fitted model on the nodes of a graph.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Portrait {
    /// The predicted class of every node.
    pub predicted: Vec<u32>,
    /// Probability of the predicted class, from 0 to 1.
    pub confidence: Vec<f32>,
    /// Difference to the probability of the next class, from 0 to 1.
    pub margin: Vec<f32>,
    /// Predictions of each exit, for a model with exits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exits: Option<ExitPortrait>,
    /// Confusion matrix of the labelled test nodes: by true class, then by predicted class.
    pub confusion: Vec<Vec<usize>>,
    /// Calibration on the labelled test nodes.
    pub calibration: Calibration,
    /// Position of every node in the plane, by its distribution over classes.
    #[serde(skip)]
    pub plane: Vec<[f32; 2]>,
}

/// Predictions of every exit.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ExitPortrait {
    /// Number of exits.
    pub num_exits: usize,
    /// Predicted class of every exit; the exits of a node are consecutive.
    #[serde(skip)]
    pub predicted: Vec<u32>,
    /// Probability of that class, from 0 to 1, in the same order.
    #[serde(skip)]
    pub confidence: Vec<f32>,
    /// The exit that each node uses.
    pub taken: Vec<usize>,
}

/// Calibration: confidence of predictions against their accuracy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Calibration {
    /// Ten bins of equal width.
    pub bins: Vec<CalibrationBin>,
    /// Expected calibration error ([Naeini et al. 2015](https://doi.org/10.1609/aaai.v29i1.9602)),
    /// from 0 to 1: the mean over predictions of the distance between the confidence and the
    /// accuracy of their bin.
    pub error: f64,
}

/// Predictions of about the same confidence.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct CalibrationBin {
    /// Number of predictions.
    pub count: usize,
    /// Mean confidence, from 0 to 1.
    pub confidence: f64,
    /// Accuracy: the share of correct predictions.
    pub accuracy: f64,
}

const BINS: usize = 10;

impl Calibration {
    /// Computes the calibration from the confidence and the correctness of each prediction.
    #[must_use]
    pub fn of(predictions: impl IntoIterator<Item = (f32, bool)>) -> Self {
        let mut sums = [(0usize, 0.0, 0usize); BINS];
        for (confidence, correct) in predictions {
            let bin = ((f64::from(confidence) * BINS as f64) as usize).min(BINS - 1);
            let (count, sum, hits) = &mut sums[bin];
            *count += 1;
            *sum += f64::from(confidence);
            *hits += usize::from(correct);
        }
        let total = sums.iter().map(|(count, ..)| count).sum::<usize>().max(1) as f64;
        let bin = |&(count, confidence, hits): &(usize, f64, usize)| {
            let of = count.max(1) as f64;
            CalibrationBin {
                count,
                confidence: confidence / of,
                accuracy: hits as f64 / of,
            }
        };
        let bins: Vec<CalibrationBin> = sums.iter().map(bin).collect();
        let error = bins
            .iter()
            .map(|b| b.count as f64 / total * (b.confidence - b.accuracy).abs())
            .sum();
        Self { bins, error }
    }
}

/// Predicts every node of the graph of a benchmark and evaluates on the test nodes of the split.
/// Fails for a set of graphs.
pub fn portrait(fitted: &Fitted, content: &Content, split: &Split) -> Result<Portrait> {
    let graph = content.graph()?;
    let predictions = fitted.predict(content)?;
    let rows = &predictions.probabilities;
    let (mut confidence, mut margin) = (
        Vec::with_capacity(rows.num_rows()),
        Vec::with_capacity(rows.num_rows()),
    );
    for u in 0..rows.num_rows() {
        let mut sorted = rows.row(u).to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        confidence.push(sorted.first().copied().unwrap_or(0.0));
        margin.push(sorted.first().copied().unwrap_or(0.0) - sorted.get(1).copied().unwrap_or(0.0));
    }
    let classes = fitted.classes().len();
    let mut confusion = vec![vec![0; classes]; classes];
    let mut evaluated = Vec::new();
    if let Some(labels) = graph.labels() {
        let known = fitted.matched(labels);
        for &u in split.test() {
            let Some(truth) = labels.get(u).and_then(|class| known[class as usize]) else {
                continue;
            };
            let predicted = predictions.classes[u as usize];
            confusion[truth as usize][predicted as usize] += 1;
            evaluated.push((confidence[u as usize], truth == predicted));
        }
    }
    let exits = match (fitted.exit_predictions(content)?, predictions.exits) {
        (Some(exit_predictions), Some(taken)) => {
            let each = || {
                (0..graph.num_nodes())
                    .flat_map(|u| (0..exit_predictions.num_exits()).map(move |exit| (exit, u)))
            };
            Some(ExitPortrait {
                num_exits: exit_predictions.num_exits(),
                predicted: each()
                    .map(|(exit, u)| exit_predictions.class(exit, u))
                    .collect(),
                confidence: each()
                    .map(|(exit, u)| exit_predictions.probability(exit, u) as f32)
                    .collect(),
                taken,
            })
        }
        _ => None,
    };
    Ok(Portrait {
        plane: plane(rows)?,
        predicted: predictions.classes,
        confidence,
        margin,
        exits,
        confusion,
        calibration: Calibration::of(evaluated),
    })
}

/// Projects distributions on the two directions in which their square roots vary most (PCA):
/// distances between these roots are Hellinger distances. O(n · classes²). The sign of a direction
/// is fixed by its largest entry, so that a picture does not turn over.
fn plane(rows: &DenseMatrix<f32>) -> Result<Vec<[f32; 2]>> {
    let (n, c) = (rows.num_rows(), rows.num_cols());
    let root = |u: usize, k: usize| f64::from(rows.row(u)[k].max(0.0)).sqrt();
    let mean: Vec<f64> = (0..c)
        .map(|k| (0..n).map(|u| root(u, k)).sum::<f64>() / n.max(1) as f64)
        .collect();
    let mut covariance = vec![0.0; c * c];
    for u in 0..n {
        for i in 0..c {
            for j in 0..c {
                covariance[i * c + j] += (root(u, i) - mean[i]) * (root(u, j) - mean[j]);
            }
        }
    }
    let failed = |_| Error::Internal {
        op: "portrait",
        what: "the eigenvectors of the predictions were not found".into(),
    };
    let (_, vectors) = symmetric_eigen(c, &covariance, true).map_err(failed)?;
    // Eigenvalues ascend; the vectors are stored one after another.
    let direction = |from_last: usize| -> Vec<f64> {
        let Some(column) = c.checked_sub(1 + from_last) else {
            return vec![0.0; c];
        };
        let direction: Vec<f64> = vectors[column * c..(column + 1) * c].to_vec();
        let largest =
            direction.iter().copied().fold(
                0.0,
                |a: f64, b| if b.abs() > a.abs() + 1e-12 { b } else { a },
            );
        direction
            .iter()
            .map(|v| v * if largest < 0.0 { -1.0 } else { 1.0 })
            .collect()
    };
    let directions = [direction(0), direction(1)];
    let place = |u: usize| {
        let along =
            |d: &Vec<f64>| (0..c).map(|k| d[k] * (root(u, k) - mean[k])).sum::<f64>() as f32;
        [along(&directions[0]), along(&directions[1])]
    };
    Ok((0..n).map(place).collect())
}

/// An attack on edges as a walk: its flips in order, and their effect after some of them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Walk {
    /// Node pairs, and true if an edge was added.
    #[serde(skip)]
    pub flips: Vec<(Pair, bool)>,
    /// The steps, from no flips to all of them.
    pub steps: Vec<WalkStep>,
}

/// The effect of so many flips.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct WalkStep {
    /// Number of flips.
    pub flips: usize,
    /// Accuracy on the test nodes, in per cent.
    pub accuracy: f64,
    /// Nodes whose prediction differs from that before the attack, with the new prediction.
    #[serde(skip)]
    pub turned: Vec<(u32, u32)>,
}

/// Attacks the test nodes of a fitted model by flips of edges, through the model itself. Evaluates
/// plain predictions after each of about `steps` equal parts of the flips.
pub fn walk(
    fitted: &Fitted,
    graph: &Graph,
    split: &Split,
    attack: &Attack,
    seed: u64,
    steps: usize,
) -> Result<Walk> {
    let (scaled, model) = (fitted.scaled(graph)?, fitted.attack_target());
    let (attacked, _) = evade(
        &scaled,
        &model,
        None,
        attack,
        LabelKnowledge::True,
        split,
        seed,
    )?;
    walk_along(fitted, graph, split, &attacked.flips, steps)
}

/// Evaluates predictions along flips that were found before; flips of features are left out.
pub fn walk_along(
    fitted: &Fitted,
    graph: &Graph,
    split: &Split,
    flips: &[Flip],
    steps: usize,
) -> Result<Walk> {
    let (scaled, model) = (fitted.scaled(graph)?, fitted.attack_target());
    let edge = |part: Part| match part {
        Part::Edge(u, v) => Some(((u, v), !graph.has_edge(u, v))),
        Part::Feature(..) => None,
    };
    let flips: Vec<(Pair, bool)> = flips.iter().filter_map(|flip| edge(flip.part)).collect();
    let labels = graph.labels().ok_or_else(|| {
        Error::missing(
            "walk",
            "the graph has no labels",
            "take a graph with labels",
        )
    })?;
    let known = fitted.matched(labels);
    let items: Vec<(u32, u32)> = (split.test().iter())
        .filter_map(|&u| Some((u, known[labels.get(u)? as usize]?)))
        .collect();
    let before = predicted_classes(&model, &scaled)?;
    let mut counts: Vec<usize> = (0..=steps)
        .map(|i| i * flips.len() / steps.max(1))
        .collect();
    counts.dedup();
    let step = |count: usize| {
        let pairs: Vec<Pair> = flips[..count].iter().map(|(pair, _)| *pair).collect();
        let after = predicted_classes(&model, &flipped(&scaled, &pairs)?)?;
        let correct = items
            .iter()
            .filter(|(u, class)| after[*u as usize] == *class as usize)
            .count();
        let turned = (0..after.len())
            .filter(|&u| after[u] != before[u])
            .map(|u| (u as u32, after[u] as u32));
        let accuracy = 100.0 * correct as f64 / items.len().max(1) as f64;
        Ok(WalkStep {
            flips: count,
            accuracy,
            turned: turned.collect(),
        })
    };
    let steps = counts.into_iter().map(step).collect::<Result<Vec<_>>>()?;
    Ok(Walk { flips, steps })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use gnarl_data::{Benchmark, Part as Of};
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_nn::depth::Exits;
    use gnarl_nn::networks::Backbone;
    use gnarl_robust::attack::grbcd::Grbcd;

    fn benchmark() -> Benchmark {
        let config = CsbmConfig {
            num_nodes: 300,
            num_classes: 3,
            num_features: 16,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 1).unwrap();
        let splits = graph.splits().to_vec();
        Benchmark {
            name: "csbm".into(),
            content: Content::Graph(graph),
            splits,
        }
    }

    /// Two predictions of confidence 0.95, one correct: 0.45 apart. Two of 0.65, both correct: 0.35
    /// apart. The mean is 0.4.
    #[test]
    fn calibration_by_hand() {
        let found = Calibration::of([(0.95, true), (0.95, false), (0.65, true), (0.65, true)]);
        assert!((found.error - 0.4).abs() < 1e-6, "{found:?}");
        assert_eq!(
            (
                found.bins[9].count,
                found.bins[6].count,
                found.bins[9].accuracy
            ),
            (2, 2, 0.5)
        );
        assert_eq!(Calibration::of([(1.0, true)]).bins[9].count, 1);
        assert_eq!(Calibration::of([]).error, 0.0);
    }

    #[test]
    fn a_portrait_agrees_with_the_model() {
        let on = benchmark();
        let fitted = Model::new(Backbone::GCN)
            .hidden(8)
            .epochs(40)
            .depth(Exits::st(2))
            .fit(&on.split(0), 1)
            .unwrap();
        let split = &on.splits[0];
        let found = portrait(&fitted, &on.content, split).unwrap();
        let correct: usize = (0..3).map(|c| found.confusion[c][c]).sum();
        let all: usize = found.confusion.iter().flatten().sum();
        let predictions = fitted.predict(&on.content).unwrap();
        let told = fitted
            .accuracy_on(&predictions, &on.content, Of::Test.of(split))
            .unwrap()
            .unwrap();
        assert!((100.0 * correct as f64 / all as f64 - told).abs() < 1e-9);
        assert_eq!(all, split.test().len());
        let exits = found.exits.unwrap();
        assert_eq!(
            (
                exits.num_exits,
                exits.predicted.len(),
                exits.confidence.len()
            ),
            (3, 900, 900)
        );
        assert!(
            found
                .margin
                .iter()
                .zip(&found.confidence)
                .all(|(m, s)| (0.0..=*s).contains(m))
        );
        // Classes with different distributions have different places.
        let place = |c: u32| {
            let of: Vec<[f32; 2]> = (0..300)
                .filter(|&u| found.predicted[u] == c)
                .map(|u| found.plane[u])
                .collect();
            [0, 1].map(|k| of.iter().map(|p| p[k]).sum::<f32>() / of.len() as f32)
        };
        let apart = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        assert!(apart(place(0), place(1)) > 0.3 && apart(place(1), place(2)) > 0.3);
    }

    #[test]
    fn a_walk_begins_at_the_model_and_ends_with_all_flips() {
        let on = benchmark();
        let graph = on.content.graph().unwrap();
        let fitted = Model::new(Backbone::GCN)
            .hidden(8)
            .epochs(40)
            .fit(&on.split(0), 1)
            .unwrap();
        let attack = Grbcd {
            steps: 20,
            block_size: 3000,
            ..Grbcd::budget(0.1)
        }
        .into();
        let found = walk(&fitted, graph, &on.splits[0], &attack, 1, 5).unwrap();
        let (first, last) = (&found.steps[0], &found.steps[found.steps.len() - 1]);
        assert_eq!(
            (first.flips, first.turned.len(), found.steps.len()),
            (0, 0, 6)
        );
        assert_eq!(last.flips, found.flips.len());
        assert!(
            last.accuracy < first.accuracy - 3.0 && !last.turned.is_empty(),
            "{found:?}"
        );
        assert!(
            found
                .flips
                .iter()
                .all(|&((u, v), added)| graph.has_edge(u, v) != added)
        );
    }
}
