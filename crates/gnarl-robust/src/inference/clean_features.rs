//! Neighbours sampled from the posterior of the clean features of a noisy input (new in gnarl).
//!
//! Features of words are mostly zero, and the other entries have few values. The prior is learned
//! from the training nodes' features: how often each column is not zero, and the values. In a noisy
//! input the zeros are no longer zero, and their spread is the standard deviation of the noise. A
//! neighbour is then sampled from the posterior of every entry by Bayes' rule, `x = v + noise` with
//! `v` zero or one of the values. An input without noise is its own neighbour, so predictions on
//! clean inputs do not change.
//!
//! This form of the features is an assumption, and it is tested on the training graph before it is
//! used ([`CleanFeatures::tested`]). The prior depends on the training nodes alone; the spread of
//! the noise is estimated from the input, not given by the attack. A perturbation of a few selected
//! entries is not detected, because it is not spread over the zeros.

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::balls::dense_features;
use super::crf::{Crf, NeighbourSampler, Neighbourhood};
use super::trial::Trial;
use super::{CleanPrior, PerturbationTarget};
use crate::classifier::Classifier;
use gnarl_graph::{Error, Result};

/// Subject of the errors of this module.
const OP: &str = "clean features";

/// Prior of clean features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CleanFeatures {
    /// Odds of a non-zero entry, for every column.
    odds: Vec<f64>,
    /// The values of non-zero entries, equally likely.
    values: Vec<f64>,
    /// The spread around zero of clean features.
    spread: f64,
    /// The sum of absolute values of every clean row, if all have the same sum.
    row_total: Option<f64>,
    /// Largest standard deviation of noise to correct: above it, an input is its own neighbour.
    /// Infinite if untested; stored as nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trusted: Option<f64>,
}

/// Number of values kept to describe non-zero entries.
const NUM_VALUES: usize = 64;
/// Number of training nodes that the overall rate counts as, in the rate of one column.
const PRIOR_NODES: f64 = 20.0;
/// Number of cells of the table of likelihood ratios.
const CELLS: usize = 4096;
/// Smallest probability that is not treated as zero: of a million entries, none would be sampled.
const NEVER: f64 = 1e-7;

impl CleanFeatures {
    /// Learns the prior from the features of these nodes, which must be clean.
    pub fn fit(graph: &Graph, nodes: &[u32]) -> Result<Self> {
        let Some(features) = graph.features() else {
            return Err(Error::argument(
                OP,
                "the graph has no features to learn from",
            ));
        };
        if nodes.is_empty() {
            return Err(Error::argument(
                OP,
                "there are no training nodes to learn from",
            ));
        }
        Self::fit_rows(&match features {
            Features::Sparse(m) => m.select_rows(nodes),
            Features::Dense(m) => CsrMatrix::from_dense(&m.select_rows(nodes)),
        })
    }

    /// Learns the prior from the features of all nodes of some graphs, which must be clean.
    pub fn fit_graphs(graphs: &[&Graph]) -> Result<Self> {
        let features = graphs.iter().filter_map(|graph| graph.features());
        let columns = features.clone().next().map_or(0, Features::num_cols);
        let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for features in features {
            let rows = match features {
                Features::Sparse(m) => m.clone(),
                Features::Dense(m) => CsrMatrix::from_dense(m),
            };
            let first = values.len() as u64;
            offsets.extend(rows.offsets()[1..].iter().map(|o| first + o));
            indices.extend_from_slice(rows.indices());
            values.extend_from_slice(rows.values());
        }
        if offsets.len() == 1 {
            return Err(Error::argument(
                OP,
                "there are no features of training graphs to learn from",
            ));
        }
        Self::fit_rows(&CsrMatrix::new(columns, offsets, indices, values)?)
    }

    fn fit_rows(rows: &CsrMatrix<f32>) -> Result<Self> {
        let (num_rows, cols) = (rows.num_rows(), rows.num_cols());
        let mut values: Vec<f64> = rows
            .values()
            .iter()
            .filter(|v| **v != 0.0)
            .map(|&v| f64::from(v))
            .collect();
        if values.is_empty() {
            return Err(Error::argument(
                OP,
                "all features of the training nodes are zero",
            ));
        }
        let rate = values.len() as f64 / (num_rows * cols) as f64;
        let mut counts = vec![0.0; cols];
        let nonzero = rows
            .indices()
            .iter()
            .zip(rows.values())
            .filter(|(_, v)| **v != 0.0);
        nonzero.for_each(|(&c, _)| counts[c as usize] += 1.0);
        let odds = counts.iter().map(|count| {
            let rate = (count + PRIOR_NODES * rate) / (num_rows as f64 + PRIOR_NODES);
            rate / (1.0 - rate).max(f64::MIN_POSITIVE)
        });
        let totals: Vec<f64> = (0..num_rows)
            .map(|i| rows.row(i).1.iter().map(|v| f64::from(v.abs())).sum())
            .filter(|total| *total > 0.0)
            .collect();
        let one_total = totals
            .iter()
            .all(|total| (total / totals[0] - 1.0).abs() < 1e-3);
        let spread = spread_around_zero(values.iter().copied(), num_rows * cols);
        values.sort_unstable_by(f64::total_cmp);
        let quantile = |i: usize| values[(2 * i + 1) * values.len() / (2 * NUM_VALUES)];
        let kept = if values.len() <= NUM_VALUES {
            values.clone()
        } else {
            (0..NUM_VALUES).map(quantile).collect()
        };
        Ok(Self {
            odds: odds.collect(),
            values: kept,
            spread,
            row_total: one_total.then(|| totals[0]),
            trusted: None,
        })
    }

    /// Tests the prior on the graphs that it was learned from, and limits its use to the noise
    /// levels that pass. Noise is added to their features. Predictions with neighbours must agree
    /// with those on clean features more often than predictions without, by more than the standard
    /// error of that difference. Features that are mostly not zero are not features of words, and
    /// fail.
    pub fn tested(self, model: &dyn Classifier, graphs: &[&Graph], crf: &Crf) -> Result<Self> {
        let mut trusted = 0.0;
        if self.spread == 0.0 {
            let clean = Trial::clean(model, graphs)?;
            let crf = Crf {
                samples: crf.samples.min(TRIAL_NEIGHBOURS),
                stop_early: false,
                ..*crf
            };
            let row = mean_row_norm(graphs) / (self.odds.len().max(1) as f64).sqrt();
            let untested = Self {
                trusted: None,
                ..self.clone()
            };
            for level in TRIAL_LEVELS {
                let standard_deviation = level * row;
                let noisy = |(i, graph): (usize, &&Graph)| with_noise(graph, i, standard_deviation);
                let noisy = graphs
                    .iter()
                    .enumerate()
                    .map(noisy)
                    .collect::<Result<Vec<_>>>()?;
                let trial = Trial::new(model, &untested, &crf, &noisy, &clean)?;
                if trial.harms() {
                    break;
                }
                if trial.helps() {
                    trusted = standard_deviation;
                }
            }
        }
        Ok(Self {
            trusted: Some(trusted),
            ..self
        })
    }

    /// Returns the estimated standard deviation of noise on features: the spread of their zeros,
    /// beyond the spread of clean zeros.
    pub fn noise(&self, features: &Features) -> f64 {
        let (rows, cols) = (features.num_rows(), features.num_cols());
        let seen = match features {
            Features::Dense(m) => {
                spread_around_zero(m.data().iter().map(|&v| f64::from(v)), rows * cols)
            }
            Features::Sparse(m) => {
                spread_around_zero(m.values().iter().map(|&v| f64::from(v)), rows * cols)
            }
        };
        (seen * seen - self.spread * self.spread).max(0.0).sqrt()
    }
}

/// Norms of a row's noise to test, as multiples of the row's norm.
const TRIAL_LEVELS: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Number of neighbours of an input in a test: enough to see an effect.
const TRIAL_NEIGHBOURS: usize = 3;
/// Extrapolation factor: between two tested levels, the method is used up to this multiple of the
/// lower one.
const BEYOND: f64 = 1.25;

fn mean_row_norm(graphs: &[&Graph]) -> f64 {
    let features = || graphs.iter().filter_map(|graph| graph.features());
    let square = |&v: &f32| f64::from(v).powi(2);
    let squares: f64 = features()
        .map(|f| f.values().iter().map(square).sum::<f64>())
        .sum();
    let rows: usize = features().map(Features::num_rows).sum();
    (squares / rows.max(1) as f64).sqrt()
}

/// Returns graph `place` of the training graphs with Gaussian noise on every feature, the same for
/// every model.
fn with_noise(graph: &Graph, place: usize, standard_deviation: f64) -> Result<Graph> {
    let mut noisy = dense_features(graph)?;
    for i in 0..noisy.num_rows() {
        let rng = &mut stream(place as u64, "a trial of clean features", i as u64);
        noisy.row_mut(i).iter_mut().for_each(|x| {
            let z: f64 = StandardNormal.sample(rng);
            *x += (standard_deviation * z) as f32;
        });
    }
    graph.clone().with_features(Features::Dense(noisy))
}

/// Returns the standard deviation of a Gaussian whose absolute values have the median of these
/// entries, padded with zeros up to `count`.
fn spread_around_zero(entries: impl Iterator<Item = f64>, count: usize) -> f64 {
    let mut sizes: Vec<f64> = entries.map(f64::abs).filter(|v| *v > 0.0).collect();
    let zeros = count - sizes.len();
    let middle = count / 2;
    if count == 0 || middle < zeros {
        return 0.0;
    }
    let (_, median, _) = sizes.select_nth_unstable_by(middle - zeros, f64::total_cmp);
    // Median of |z| of a standard Gaussian.
    *median / 0.674_489_750_196_081_7
}

/// Likelihood ratio of a zero against a non-zero entry, and the entry's value if it is not zero, as
/// functions of the observed value.
struct Table {
    from: f64,
    step: f64,
    /// The likelihood ratio and the mean value, cell by cell.
    cells: Vec<(f64, f64)>,
}

impl Table {
    fn new(values: &[f64], noise: f64, from: f64, to: f64) -> Self {
        let step = ((to - from) / (CELLS - 1) as f64).max(f64::MIN_POSITIVE);
        let cell = |i: usize| {
            let x = from + i as f64 * step;
            let logarithm = |v: f64| (2.0 * x * v - v * v) / (2.0 * noise * noise);
            // Relative to the largest, so that nothing overflows for a small noise.
            let largest = values
                .iter()
                .map(|&v| logarithm(v))
                .fold(f64::NEG_INFINITY, f64::max);
            let (mut ratio, mut mean) = (0.0, 0.0);
            for &v in values {
                let weight = (logarithm(v) - largest).exp() / values.len() as f64;
                ratio += weight;
                mean += weight * v;
            }
            ((-(largest + ratio.ln())).exp(), mean / ratio)
        };
        Self {
            from,
            step,
            cells: (0..CELLS).map(cell).collect(),
        }
    }

    fn at(&self, x: f64) -> (f64, f64) {
        let place = (((x - self.from) / self.step) as usize).min(CELLS - 1);
        self.cells[place]
    }
}

impl CleanPrior for CleanFeatures {
    fn part(&self) -> PerturbationTarget {
        PerturbationTarget::Features
    }

    fn check(&self) -> Result<()> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let what = match self {
            _ if self.odds.is_empty() || !self.odds.iter().all(|&odds| positive(odds)) => {
                "odds of every feature above 0"
            }
            _ if self.values.is_empty() || self.values.len() > NUM_VALUES => {
                "1 to 64 values that are not zero"
            }
            _ if !self.values.iter().all(|v| v.is_finite() && *v != 0.0) => {
                "finite values that are not zero"
            }
            _ if !(self.spread.is_finite() && self.spread >= 0.0) => "a spread of at least 0",
            _ if self.row_total.is_some_and(|total| !positive(total)) => "a sum of rows above 0",
            _ if self
                .trusted
                .is_some_and(|noise| !(noise >= 0.0 && noise.is_finite())) =>
            {
                "a tested limit of at least 0"
            }
            _ => return Ok(()),
        };
        Err(Error::argument(OP, format!("stored ones need {what}")))
    }

    fn tested_limit(&self) -> Option<f64> {
        self.trusted
    }
}

impl Neighbourhood for CleanFeatures {
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
        _: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        let Some(features) = centre.features() else {
            return Err(Error::argument(OP, "the graph has no features"));
        };
        if features.num_cols() != self.odds.len() {
            let what = format!(
                "{} features, {} were learned from",
                features.num_cols(),
                self.odds.len()
            );
            return Err(Error::argument(OP, what));
        }
        let noise = self.noise(features);
        if noise <= f64::from(f32::EPSILON)
            || self.trusted.is_some_and(|trusted| noise > BEYOND * trusted)
        {
            return Ok(Box::new(|_| Ok(None)));
        }
        let seen = dense_features(centre)?;
        let (low, high) = seen
            .data()
            .iter()
            .fold((0f32, 0f32), |(low, high), &x| (low.min(x), high.max(x)));
        let table = Table::new(&self.values, noise, f64::from(low), f64::from(high));
        Ok(Box::new(move |rng| {
            let sampled = self.sampled(&seen, &table, rng)?;
            Ok(Some((
                centre.clone().with_features(Features::Sparse(sampled))?,
                1.0,
            )))
        }))
    }
}

impl CleanFeatures {
    /// Samples clean features from their posterior, given the observed ones.
    fn sampled(
        &self,
        seen: &DenseMatrix<f32>,
        table: &Table,
        rng: &mut Rng,
    ) -> Result<CsrMatrix<f32>> {
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for i in 0..seen.num_rows() {
            let start = values.len();
            for (c, (&x, odds)) in seen.row(i).iter().zip(&self.odds).enumerate() {
                let (against, value) = table.at(f64::from(x));
                let chance = 1.0 / (1.0 + against / odds);
                if chance > NEVER && rng.random::<f64>() < chance {
                    columns.push(c as u32);
                    values.push(value as f32);
                }
            }
            if let Some(total) = self.row_total {
                let row = &mut values[start..];
                let now: f32 = row.iter().map(|v| v.abs()).sum();
                row.iter_mut().for_each(|v| *v *= total as f32 / now);
            }
            offsets.push(values.len() as u64);
        }
        CsrMatrix::new(seen.num_cols(), offsets, columns, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 nodes with 60 words, about five words each, rows summing to one.
    fn words() -> Graph {
        let rng = &mut stream(1, "words", 0);
        let mut data = vec![0f32; 300 * 60];
        for row in data.chunks_mut(60) {
            row.iter_mut()
                .for_each(|x| *x = f32::from(u8::from(rng.random::<f64>() < 0.08)));
            row[0] = 1.0;
            let total: f32 = row.iter().sum();
            row.iter_mut().for_each(|x| *x /= total);
        }
        let features = Features::Dense(DenseMatrix::new(300, 60, data).unwrap());
        Graph::empty(300).unwrap().with_features(features).unwrap()
    }

    fn with_noise(graph: &Graph, standard_deviation: f32) -> Graph {
        let rng = &mut stream(2, "noise", 0);
        let mut m = dense_features(graph).unwrap();
        for i in 0..m.num_rows() {
            m.row_mut(i).iter_mut().for_each(|x| {
                let z: f32 = StandardNormal.sample(rng);
                *x += standard_deviation * z;
            });
        }
        graph.clone().with_features(Features::Dense(m)).unwrap()
    }

    fn distance(a: &Graph, b: &Graph) -> f64 {
        let (a, b) = (dense_features(a).unwrap(), dense_features(b).unwrap());
        a.data()
            .iter()
            .zip(b.data())
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    #[test]
    fn a_clean_input_is_its_own_neighbour() {
        let graph = words();
        let prior = CleanFeatures::fit(&graph, &(0..100).collect::<Vec<_>>()).unwrap();
        let sample = prior
            .sample(
                &graph,
                &DenseMatrix::zeros(300, 2),
                &mut stream(1, "draw", 0),
            )
            .unwrap();
        assert!(sample.is_none());
    }

    #[test]
    fn noise_is_measured_and_taken_away() {
        let graph = words();
        let prior = CleanFeatures::fit(&graph, &(0..100).collect::<Vec<_>>()).unwrap();
        let noisy = with_noise(&graph, 0.03);
        let noise = prior.noise(noisy.features().unwrap());
        // A twelfth of the entries are not around zero, which makes the estimate a little larger.
        assert!((0.029..0.036).contains(&noise), "{noise}");
        let (near, similarity) = prior
            .sample(
                &noisy,
                &DenseMatrix::zeros(300, 2),
                &mut stream(1, "draw", 0),
            )
            .unwrap()
            .unwrap();
        assert_eq!(similarity, 1.0);
        let (before, after) = (distance(&graph, &noisy), distance(&graph, &near));
        assert!(after < 0.65 * before, "{before} → {after}");
        let Some(Features::Sparse(m)) = near.features() else {
            panic!("sparse features")
        };
        let totals = (0..300).map(|i| m.row(i).1.iter().sum::<f32>());
        assert!(
            totals
                .into_iter()
                .all(|t| (t - 1.0).abs() < 1e-5 || t == 0.0)
        );
    }

    #[test]
    fn invalid_training_features_are_refused() {
        let graph = words();
        for (graph, nodes, what) in [
            (Graph::empty(3).unwrap(), vec![0], "no features"),
            (graph.clone(), vec![], "no training nodes"),
            (with_zeros(), vec![0, 1], "are zero"),
        ] {
            let e = CleanFeatures::fit(&graph, &nodes).unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        }
        let prior = CleanFeatures::fit(&graph, &[0, 1]).unwrap();
        let e = prior
            .sample(
                &with_zeros(),
                &DenseMatrix::zeros(2, 2),
                &mut stream(1, "draw", 0),
            )
            .unwrap_err();
        assert!(
            e.to_string().contains("4 features, 60 were learned from"),
            "{e}"
        );
    }

    fn with_zeros() -> Graph {
        Graph::empty(2)
            .unwrap()
            .with_features(Features::Dense(DenseMatrix::zeros(2, 4)))
            .unwrap()
    }
}
