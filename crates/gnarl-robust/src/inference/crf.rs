//! The update of RobustCRF ([Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399)).
//!
//! Around an input a, L neighbours b are sampled, and
//!
//! ```text
//! Y~_a = (σ Y_a + (1 - σ) Σ_b g_ab Y~_b) / (σ + (1 - σ) Σ_b g_ab),
//! ```
//!
//! where every `Y~_b` is the result of K - 1 updates around b: `1 + L + … + L^K` evaluations of the
//! model. With σ = 0, K = 1 and g = 1 it is randomised smoothing.

use gnarl_graph::random::{Rng, mix, stream};
use gnarl_graph::settings::{Bounds, check_value};
use gnarl_graph::{DenseMatrix, Graph};
use rayon::prelude::*;

use crate::classifier::Classifier;
use gnarl_graph::{Error, Result};
use gnarl_nn::train::argmax;
use gnarl_tensor::elementary::exponentials;

/// Samples neighbours of an input.
pub trait Neighbourhood: Sync {
    /// Returns a neighbour of `centre` and their similarity, at least zero; `prediction` is the model's
    /// prediction at the centre. `None` if the centre is its own and only neighbour: then the model
    /// is not evaluated again.
    fn sample(
        &self,
        centre: &Graph,
        prediction: &DenseMatrix<f32>,
        rng: &mut Rng,
    ) -> Result<Option<(Graph, f64)>>;

    /// Returns a sampler around one centre, with exactly the samples of [`sample`](Self::sample);
    /// shared work is done once.
    fn sampler<'a>(
        &'a self,
        centre: &'a Graph,
        prediction: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        Ok(Box::new(move |rng| self.sample(centre, prediction, rng)))
    }
}

/// Sampler of neighbours of a fixed centre, with their similarity.
pub type NeighbourSampler<'a, Input = Graph> =
    Box<dyn Fn(&mut Rng) -> Result<Option<(Input, f64)>> + Sync + 'a>;

/// The allowed values of σ.
const SIGMA: Option<Bounds> = Some(Bounds {
    least: Some((0.0, true)),
    most: Some((1.0, true)),
});

/// Settings of the update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crf {
    /// L: number of neighbours sampled around an input.
    pub samples: usize,
    /// K: number of iterations.
    pub iterations: usize,
    /// σ: the weight of the model's own prediction against those on its neighbours.
    pub sigma: f64,
    /// Hard voting: the model's prediction is one for its class and zero for the others, instead of
    /// the softmax of its scores.
    pub hard_voting: bool,
    /// Stops as soon as no remaining neighbour can change any node's class. The classes are those
    /// of the whole update; the distributions are not.
    pub stop_early: bool,
}

impl Crf {
    /// Returns the published settings, L = 5 and K = 2.
    pub fn new(sigma: f64) -> Self {
        Self {
            samples: 5,
            iterations: 2,
            sigma,
            hard_voting: false,
            stop_early: false,
        }
    }

    /// Returns the settings of randomised smoothing: the plain average over neighbours.
    pub fn smoothing(samples: usize) -> Self {
        Self {
            samples,
            iterations: 1,
            sigma: 0.0,
            hard_voting: true,
            stop_early: false,
        }
    }

    /// Returns the number of evaluations of the model, if every neighbour is an input of its own.
    pub fn evaluations(&self) -> usize {
        (0..=self.iterations)
            .map(|k| self.samples.saturating_pow(k as u32))
            .fold(0, usize::saturating_add)
    }

    /// Refuses settings that are invalid or would take too long.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(Error::argument("inference", what));
        check_value("crf-sigma", &self.sigma, SIGMA)?;
        if self.sigma == 0.0 && (self.samples == 0 || self.iterations == 0) {
            return refuse("with a sigma of 0 there is no prediction without samples and iterations; use at least 1 of each".into());
        }
        if self.evaluations() > MOST_EVALUATIONS {
            let (l, k) = (self.samples, self.iterations);
            return refuse(format!(
                "{l} samples and {k} iterations need more than {MOST_EVALUATIONS} evaluations of the model; use fewer"
            ));
        }
        Ok(())
    }

    /// Returns the class distribution of every node.
    pub fn predict(
        &self,
        model: &dyn Classifier,
        neighbourhood: &dyn Neighbourhood,
        graph: &Graph,
        seed: u64,
    ) -> Result<DenseMatrix<f32>> {
        self.check()?;
        let by_graphs = ByGraphs {
            crf: self,
            model,
            neighbourhood,
        };
        let own = by_graphs.evaluate(graph)?;
        self.update(&by_graphs, graph, own, self.iterations, seed)
    }

    /// Runs `updates` updates around a centre. The samples of a place in the tree depend on its
    /// path alone, so the order of the subtrees does not change the result.
    pub(super) fn update<T: Tree>(
        &self,
        tree: &T,
        centre: &T::Input,
        own: DenseMatrix<f32>,
        updates: usize,
        path: u64,
    ) -> Result<DenseMatrix<f32>> {
        if updates == 0 || self.sigma == 1.0 {
            return Ok(own);
        }
        let sample = tree.sampler(centre, &own)?;
        let neighbour_prediction = |i: usize| -> Result<Option<(f64, DenseMatrix<f32>)>> {
            let (path, mut rng) = neighbour_stream(path, i);
            let Some((neighbour, similarity)) = sample(&mut rng)? else {
                return Ok(None);
            };
            let prediction = tree.evaluate(&neighbour)?;
            Ok(Some((
                similarity,
                self.update(tree, &neighbour, prediction, updates - 1, path)?,
            )))
        };
        let mut agreed = Agreement::new(&own, self.sigma);
        if self.stop_early {
            for i in 0..self.samples {
                if agreed.is_settled(self.samples - i) {
                    break;
                }
                agreed.add(neighbour_prediction(i)?.as_ref(), &own);
            }
        } else {
            let predictions: Vec<_> = (0..self.samples)
                .into_par_iter()
                .map(neighbour_prediction)
                .collect::<Result<_>>()?;
            predictions
                .iter()
                .for_each(|prediction| agreed.add(prediction.as_ref(), &own));
        }
        agreed.distributions(&own)
    }

    /// Returns the prediction for these scores: the softmax, or one-hot classes.
    pub(super) fn output(&self, mut scores: DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        if scores.data().iter().any(|s| s.is_nan()) {
            return Err(Error::argument("inference", "the model predicts NaN"));
        }
        if !self.hard_voting {
            softmax_rows(&mut scores);
            return Ok(scores);
        }
        for i in 0..scores.num_rows() {
            let row = scores.row_mut(i);
            let class = argmax(row);
            row.iter_mut()
                .enumerate()
                .for_each(|(c, s)| *s = f32::from(u8::from(c == class)));
        }
        Ok(scores)
    }
}

/// Returns the path of a place's neighbour and the random stream that it is sampled with.
pub(super) fn neighbour_stream(path: u64, neighbour: usize) -> (u64, Rng) {
    let path = mix(path ^ mix(neighbour as u64 + 1));
    (path, stream(path, "crf", 0))
}

/// Largest number of evaluations, more than any study needs: a typing error should not run for
/// days.
const MOST_EVALUATIONS: usize = 1_000_000;

/// Replaces every row of scores by its softmax.
fn softmax_rows(scores: &mut DenseMatrix<f32>) {
    let (rows, width) = (scores.num_rows(), scores.num_cols());
    let mut flat = scores.data().to_vec();
    for row in flat.chunks_exact_mut(width.max(1)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // An infinite score gets all of the probability.
        row.iter_mut()
            .for_each(|s| *s = if *s == largest { 0.0 } else { *s - largest });
    }
    exponentials(&mut flat);
    for (i, row) in flat.chunks_exact(width.max(1)).enumerate().take(rows) {
        let total: f32 = row.iter().sum();
        scores
            .row_mut(i)
            .iter_mut()
            .zip(row)
            .for_each(|(s, e)| *s = e / total);
    }
}

/// Inputs of the update: graphs, or a shorter representation if a model allows it.
pub(super) trait Tree: Sync {
    /// An input.
    type Input: Sync;

    /// Returns the model's prediction.
    fn evaluate(&self, input: &Self::Input) -> Result<DenseMatrix<f32>>;

    /// Returns a sampler, as [`Neighbourhood::sampler`].
    fn sampler<'a>(
        &'a self,
        centre: &'a Self::Input,
        prediction: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a, Self::Input>>;
}

struct ByGraphs<'a> {
    crf: &'a Crf,
    model: &'a dyn Classifier,
    neighbourhood: &'a dyn Neighbourhood,
}

impl Tree for ByGraphs<'_> {
    type Input = Graph;

    fn evaluate(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        self.crf.output(self.model.scores(graph)?)
    }

    fn sampler<'a>(
        &'a self,
        centre: &'a Graph,
        prediction: &'a DenseMatrix<f32>,
    ) -> Result<NeighbourSampler<'a>> {
        self.neighbourhood.sampler(centre, prediction)
    }
}

/// The sums of an update.
struct Agreement {
    sums: Vec<f64>,
    total: f64,
    width: usize,
    sigma: f64,
}

impl Agreement {
    fn new(own: &DenseMatrix<f32>, sigma: f64) -> Self {
        let sums = own.data().iter().map(|&p| sigma * f64::from(p)).collect();
        Self {
            sums,
            total: sigma,
            width: own.num_cols(),
            sigma,
        }
    }

    /// Adds a neighbour's prediction; without a neighbour, the centre is its own.
    fn add(&mut self, neighbour: Option<&(f64, DenseMatrix<f32>)>, own: &DenseMatrix<f32>) {
        let (similarity, prediction) = neighbour.map_or((1.0, own), |(similarity, prediction)| {
            (*similarity, prediction)
        });
        let weight = (1.0 - self.sigma) * similarity;
        self.sums
            .iter_mut()
            .zip(prediction.data())
            .for_each(|(sum, &p)| *sum += weight * f64::from(p));
        self.total += weight;
    }

    /// Returns true if `left` more neighbours, each of similarity at most one, can change no node's
    /// class.
    fn is_settled(&self, left: usize) -> bool {
        let most = (1.0 - self.sigma) * left as f64;
        self.sums.chunks_exact(self.width.max(1)).all(|row| {
            let (mut first, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for &sum in row {
                if sum > first {
                    (first, second) = (sum, first);
                } else if sum > second {
                    second = sum;
                }
            }
            first - second > most
        })
    }

    fn distributions(self, own: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        if self.total <= 0.0 {
            // Every similarity is zero, and the model's own prediction has no weight: only its own
            // prediction is left.
            return Ok(own.clone());
        }
        let data = self
            .sums
            .iter()
            .map(|sum| (sum / self.total) as f32)
            .collect();
        DenseMatrix::new(own.num_rows(), own.num_cols(), data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use gnarl_graph::Features;

    fn two_nodes(values: [f32; 2]) -> Graph {
        let features = Features::Dense(DenseMatrix::new(2, 1, values.to_vec()).unwrap());
        Graph::from_edges(2, [(0, 1)])
            .unwrap()
            .0
            .with_features(features)
            .unwrap()
    }

    fn values(graph: &Graph) -> Vec<f32> {
        let Some(Features::Dense(m)) = graph.features() else {
            panic!("dense features")
        };
        m.data().to_vec()
    }

    /// A model whose softmax is (p, 1 - p) with p the node's only feature.
    fn model() -> impl Classifier {
        FromFn {
            num_classes: 2,
            function: |graph: &Graph| {
                let scores = values(graph)
                    .iter()
                    .flat_map(|&p| [p.ln(), (1.0 - p).ln()])
                    .collect();
                DenseMatrix::new(2, 2, scores)
            },
        }
    }

    /// Adds the number of features sampled so far, in steps of 0.1; the similarity is `g`.
    struct Steps {
        by: f32,
        similarity: f64,
    }

    impl Neighbourhood for Steps {
        fn sample(
            &self,
            centre: &Graph,
            _: &DenseMatrix<f32>,
            _: &mut Rng,
        ) -> Result<Option<(Graph, f64)>> {
            let at = values(centre);
            Ok(Some((
                two_nodes([at[0] + self.by, at[1] - self.by]),
                self.similarity,
            )))
        }
    }

    fn predict(crf: Crf, neighbourhood: &dyn Neighbourhood) -> Vec<f32> {
        crf.predict(&model(), neighbourhood, &two_nodes([0.3, 0.6]), 1)
            .unwrap()
            .data()
            .to_vec()
    }

    fn assert_close(found: &[f32], expected: &[f32], what: &str) {
        let off = found
            .iter()
            .zip(expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(off < 1e-6, "{what}: {found:?}, not {expected:?}");
    }

    #[test]
    fn one_update_by_hand() {
        // (0.9 · 0.3 + 0.1 · 2 · 0.5 · 0.4) / (0.9 + 0.1 · 2 · 0.5) = 0.31, and from 0.6 the same
        // downwards.
        let crf = Crf {
            samples: 2,
            iterations: 1,
            ..Crf::new(0.9)
        };
        let found = predict(
            crf,
            &Steps {
                by: 0.1,
                similarity: 0.5,
            },
        );
        assert_close(&found, &[0.31, 0.69, 0.59, 0.41], "one update");
    }

    #[test]
    fn two_updates_by_hand() {
        // Around 0.4: (0.5 · 0.4 + 0.5 · 0.5) / 1 = 0.45; around 0.3: (0.5 · 0.3 + 0.5 · 0.45) / 1
        // = 0.375.
        let crf = Crf {
            samples: 1,
            iterations: 2,
            ..Crf::new(0.5)
        };
        let found = predict(
            crf,
            &Steps {
                by: 0.1,
                similarity: 1.0,
            },
        );
        assert_close(&found, &[0.375, 0.625, 0.525, 0.475], "two updates");
    }

    #[test]
    fn with_sigma_one_it_is_the_model() {
        assert_close(
            &predict(
                Crf::new(1.0),
                &Steps {
                    by: 0.1,
                    similarity: 1.0,
                },
            ),
            &[0.3, 0.7, 0.6, 0.4],
            "sigma 1",
        );
        assert_close(
            &predict(
                Crf::new(0.2),
                &Steps {
                    by: 0.0,
                    similarity: 0.7,
                },
            ),
            &[0.3, 0.7, 0.6, 0.4],
            "radius 0",
        );
    }

    /// Adds 0.05 or 0.1, by the stream.
    struct Coin;

    impl Neighbourhood for Coin {
        fn sample(
            &self,
            centre: &Graph,
            _: &DenseMatrix<f32>,
            rng: &mut Rng,
        ) -> Result<Option<(Graph, f64)>> {
            use rand::RngExt;
            let by = if rng.random::<bool>() { 0.05 } else { 0.1 };
            let at = values(centre);
            Ok(Some((two_nodes([at[0] + by, at[1] + by]), 1.0)))
        }
    }

    #[test]
    fn smoothing_is_the_plain_average() {
        let crf = Crf {
            hard_voting: false,
            ..Crf::smoothing(400)
        };
        let found = predict(crf, &Coin);
        // 400 coin tosses: 6 standard errors of the mean are 0.0075.
        assert!(
            (found[0] - 0.375).abs() < 0.0075 && (found[2] - 0.675).abs() < 0.0075,
            "{found:?}"
        );
        let hard = predict(Crf::smoothing(400), &Coin);
        assert_eq!(hard[..], [0.0, 1.0, 1.0, 0.0]);
        assert!(
            found
                .chunks(2)
                .all(|row| (row[0] + row[1] - 1.0).abs() < 1e-6),
            "rows stay distributions"
        );
    }

    #[test]
    fn the_seed_fixes_the_prediction_whatever_the_threads() {
        let crf = Crf {
            samples: 4,
            iterations: 3,
            ..Crf::new(0.3)
        };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| predict(crf, &Coin))
        };
        assert_eq!(with(1), with(2));
        let other = crf
            .predict(&model(), &Coin, &two_nodes([0.3, 0.6]), 2)
            .unwrap();
        assert_ne!(other.data(), with(1));
    }

    #[test]
    fn stopping_early_changes_no_class() {
        for sigma in [0.0, 0.3, 0.8] {
            let crf = Crf {
                samples: 6,
                iterations: 2,
                ..Crf::new(sigma)
            };
            let early = Crf {
                stop_early: true,
                ..crf
            };
            let classes = |found: Vec<f32>| found.chunks(2).map(argmax).collect::<Vec<_>>();
            assert_eq!(
                classes(predict(crf, &Coin)),
                classes(predict(early, &Coin)),
                "sigma {sigma}"
            );
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (crf, what) in [
            (Crf::new(f64::NAN), "crf-sigma must be in [0, 1] (got NaN)"),
            (Crf::new(1.1), "crf-sigma must be in [0, 1] (got 1.1)"),
            (
                Crf {
                    samples: 0,
                    ..Crf::new(0.0)
                },
                "there is no prediction without",
            ),
            (
                Crf {
                    samples: 100,
                    iterations: 9,
                    ..Crf::new(0.5)
                },
                "evaluations",
            ),
        ] {
            let e = crf.check().unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        }
        assert_eq!(Crf::new(0.5).evaluations(), 31);
    }
}
