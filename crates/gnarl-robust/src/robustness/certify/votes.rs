//! Counts the predictions of a classifier on noisy copies of its input, class by class.
//!
//! Sample i has the generator `stream(seed, purpose, i)` and votes are whole numbers, so neither
//! threads nor their order change a count. Samples run in parallel blocks.
//!
//! Results that a sample does not change are not computed again. Noise on features leaves the
//! operator alone. A stack of GCN or GIN layers, SGC and MLP apply one map to features: for a noisy
//! copy only the rows of its weight that belong to the copy's ones are summed, and the copy itself
//! is never built. Gaussian noise is sampled in the few coordinates that the first map uses
//! ([`Reduced`]), where it is Gaussian, too.

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{CsrMatrix, DenseMatrix, Error as GraphError, Features, Graph};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::sampling::{NoisyEdges, NoisyRows};
use super::sparse_smoothing::FlipNoise;
use crate::classifier::{Classifier, Reduced, WhiteBox, to_matrix};
use crate::robustness::bounds::plan::Plan;
use crate::robustness::callbacks::SampleCallbacks;
use gnarl_graph::{Error, Result};
use gnarl_nn::features::Scaler;
use gnarl_nn::networks::{Input, Pass, Propagation};
use gnarl_nn::train::argmax;
use gnarl_tensor::{Device, Tensor, simd_dispatch};

/// Noise on an input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Binary features flip, as they are loaded.
    Features(FlipNoise),
    /// Edges flip.
    Edges(FlipNoise),
    /// Features and edges flip at once.
    Both {
        /// Noise of features.
        features: FlipNoise,
        /// Noise of edges.
        edges: FlipNoise,
    },
    /// Every entry of the features, as the network takes them, gets Gaussian noise of this standard
    /// deviation.
    Gaussian(f64),
}

/// Votes for each class on each node or graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Votes {
    /// Number of samples.
    pub samples: usize,
    num_classes: usize,
    counts: Vec<u32>,
}

impl Votes {
    /// The votes on one node or graph, class by class.
    pub fn of(&self, item: usize) -> &[u32] {
        &self.counts[item * self.num_classes..(item + 1) * self.num_classes]
    }

    /// Number of rows with votes: the graph's nodes, or one for the graph.
    pub fn num_items(&self) -> usize {
        self.counts.len() / self.num_classes.max(1)
    }

    /// The first of the classes with most votes on a node or graph.
    pub fn winner(&self, item: usize) -> usize {
        self.of(item).iter().enumerate().fold(
            0,
            |best, (c, &n)| if n > self.of(item)[best] { c } else { best },
        )
    }
}

/// Number of samples of one block.
const BLOCK: usize = 32;

/// A classifier, and the scaling of its features after the noise.
#[derive(Clone, Copy)]
pub struct Smoothed<'a> {
    /// The classifier, on graphs whose features are scaled.
    pub model: &'a dyn Classifier,
    /// The scaling; [`Scaler::AsLoaded`] for a classifier that takes them as they are.
    pub scaler: &'a Scaler,
}

impl Smoothed<'_> {
    /// Counts votes over `samples` samples of a purpose. `None` if it was stopped. Fails if the
    /// noise does not fit the graph, and with the errors of the classifier.
    pub fn votes(
        &self,
        graph: &Graph,
        noise: Noise,
        samples: usize,
        (seed, purpose): (u64, &str),
        callbacks: SampleCallbacks<'_>,
    ) -> Result<Option<Votes>> {
        let scorer = self.scorer(graph, noise)?;
        let num_classes = self.model.num_classes();
        let block = |first: usize| -> Result<Vec<u32>> {
            let mut counts = Vec::new();
            for i in first..samples.min(first + BLOCK) {
                if callbacks.stopped() {
                    return Ok(counts);
                }
                let scores = scorer.scores(&mut stream(seed, purpose, i as u64))?;
                count(&scores, num_classes, &mut counts)?;
            }
            (callbacks.on_samples)(samples.min(first + BLOCK) - first);
            Ok(counts)
        };
        let added = |mut a: Vec<u32>, b: Vec<u32>| {
            if a.len() < b.len() {
                return b
                    .into_iter()
                    .enumerate()
                    .map(|(i, x)| x + a.get(i).copied().unwrap_or(0))
                    .collect();
            }
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let firsts = (0..samples.div_ceil(BLOCK))
            .into_par_iter()
            .map(|b| b * BLOCK);
        let counts = firsts
            .map(block)
            .try_reduce(Vec::new, |a, b| Ok(added(a, b)))?;
        let stopped = callbacks.stopped();
        Ok((!stopped).then_some(Votes {
            samples,
            num_classes,
            counts,
        }))
    }

    /// The cheapest way from a sample to scores.
    fn scorer<'b>(&'b self, graph: &'b Graph, noise: Noise) -> Result<Box<dyn Scorer + 'b>> {
        if graph.num_nodes() == 0 {
            return Err(GraphError::argument("certify", "the graph has no nodes"));
        }
        let network = self
            .model
            .white_box()
            .filter(|network| !network.reads_degrees());
        Ok(match (noise, network) {
            (Noise::Features(noise), network) => {
                let rows = NoisyRows::of(graph, noise)?;
                match network {
                    Some(network) if self.is_row_wise() && network.graph_classifier().is_none() => {
                        match AddedUp::new(
                            network,
                            graph,
                            &rows,
                            *self.scaler == Scaler::RowNormalised,
                        )? {
                            Some(known) => Box::new(OfRows { rows, known }),
                            None => Box::new(self.with_features(graph, rows, Some(network))?),
                        }
                    }
                    network => Box::new(self.with_features(graph, rows, network)?),
                }
            }
            (Noise::Edges(noise), _) => Box::new(OfEdges {
                smoothed: *self,
                graph: self.scaler.scaled(graph)?,
                edges: NoisyEdges::of(graph, noise)?,
            }),
            (Noise::Both { features, edges }, _) => Box::new(OfBoth {
                smoothed: *self,
                graph,
                rows: NoisyRows::of(graph, features)?,
                edges: NoisyEdges::of(graph, edges)?,
            }),
            (Noise::Gaussian(standard_deviation), network) => {
                let graph = self.scaler.scaled(graph)?;
                if graph.features().is_none() {
                    return Err(no_features());
                }
                let reduced = network
                    .map(|network| GaussianCoordinates::new(network, &graph, standard_deviation))
                    .transpose()?;
                match reduced.flatten() {
                    Some(known) => Box::new(known),
                    None => Box::new(OfNumbers {
                        model: self.model,
                        graph,
                        standard_deviation,
                    }),
                }
            }
        })
    }

    /// Returns true if scaling multiplies whole rows.
    fn is_row_wise(&self) -> bool {
        *self.scaler == Scaler::RowNormalised || self.scaler.is_idle()
    }

    fn with_features<'b>(
        &'b self,
        graph: &'b Graph,
        rows: NoisyRows,
        network: Option<&'b WhiteBox>,
    ) -> Result<OfFeatures<'b>> {
        let network = network
            .map(|network| Ok::<_, Error>((network, network.propagation(graph)?)))
            .transpose()?;
        Ok(OfFeatures {
            smoothed: *self,
            graph,
            rows,
            network,
        })
    }
}

fn count(scores: &DenseMatrix<f32>, num_classes: usize, counts: &mut Vec<u32>) -> Result<()> {
    if scores.num_cols() != num_classes || num_classes == 0 {
        let what = format!(
            "the model gave {} scores, and has {num_classes} classes",
            scores.num_cols()
        );
        return Err(GraphError::argument("certify", what));
    }
    if counts.is_empty() {
        *counts = vec![0; scores.num_rows() * num_classes];
    }
    if counts.len() != scores.data().len() {
        let what = "the model's scores for a noisy input have another shape";
        return Err(GraphError::argument("certify", what));
    }
    for u in 0..scores.num_rows() {
        counts[u * num_classes + argmax(scores.row(u))] += 1;
    }
    Ok(())
}

/// Computes the scores of one sample from a generator.
trait Scorer: Sync {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>>;
}

/// Feature flips, if the network's first map is a sum of rows.
struct OfRows<'a> {
    rows: NoisyRows,
    known: AddedUp<'a>,
}

impl Scorer for OfRows<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        let width = self.known.width;
        let mut messages = vec![0f32; self.rows.num_rows() * width];
        self.rows.sample(rng, |u, cols| {
            let out = &mut messages[u * width..(u + 1) * width];
            add_rows(cols, &self.known.weight, out);
            if self.known.normalised && !cols.is_empty() {
                let share = 1.0 / cols.len() as f32;
                out.iter_mut().for_each(|m| *m *= share);
            }
        });
        let messages = Tensor::from_vec(messages, (self.rows.num_rows(), width), &Device::Cpu)?;
        let AddedUp {
            network,
            plan,
            propagation,
            ..
        } = &self.known;
        to_matrix(&plan.scores(network, propagation, messages)?)
    }
}

simd_dispatch! {
    /// Adds up rows of a matrix whose rows are as wide as `out`.
    fn add_rows(rows: &[u32], matrix: &[f32], out: &mut [f32]) {
        let width = out.len();
        let mut from = 0;
        // Sums of 64, then of 16 columns, stay in registers over all rows.
        while from + 64 <= width {
            add_columns::<64>(rows, matrix, width, from, out);
            from += 64;
        }
        while from + 16 <= width {
            add_columns::<16>(rows, matrix, width, from, out);
            from += 16;
        }
        for &r in rows {
            let row = &matrix[r as usize * width..(r as usize + 1) * width];
            out[from..].iter_mut().zip(&row[from..]).for_each(|(o, w)| *o += w);
        }
    }
}

#[inline(always)]
fn add_columns<const N: usize>(
    rows: &[u32],
    matrix: &[f32],
    width: usize,
    from: usize,
    out: &mut [f32],
) {
    let mut sums = [0f32; N];
    for &r in rows {
        let at = r as usize * width + from;
        let row = &matrix[at..at + N];
        for k in 0..N {
            sums[k] += row[k];
        }
    }
    out[from..from + N].copy_from_slice(&sums);
}

/// A network that applies only its first map to features.
struct AddedUp<'a> {
    network: &'a WhiteBox,
    plan: Plan<'a>,
    propagation: Propagation,
    weight: Vec<f32>,
    width: usize,
    normalised: bool,
}

impl<'a> AddedUp<'a> {
    /// Makes it; `None` for a network of another kind.
    fn new(
        network: &'a WhiteBox,
        graph: &Graph,
        rows: &NoisyRows,
        normalised: bool,
    ) -> Result<Option<Self>> {
        let Ok(plan) = Plan::of(network) else {
            return Ok(None);
        };
        let Some(first) = plan.first() else {
            return Ok(None);
        };
        let (ins, width) = first.weight.dims2()?;
        if ins != rows.num_cols() {
            return Ok(None);
        }
        let weight = first.weight.flatten_all()?.to_vec1::<f32>()?;
        let propagation = network.propagation(graph)?;
        let pass = Pass::evaluation(network.weights());
        let propagation = network
            .network()
            .propagation(&propagation, &pass)?
            .into_owned();
        Ok(Some(Self {
            network,
            plan,
            propagation,
            weight,
            width,
            normalised,
        }))
    }
}

/// Feature flips; the operator of a network is computed once.
struct OfFeatures<'a> {
    smoothed: Smoothed<'a>,
    graph: &'a Graph,
    rows: NoisyRows,
    network: Option<(&'a WhiteBox, Propagation)>,
}

impl Scorer for OfFeatures<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        let features = self
            .smoothed
            .scaler
            .apply(&sampled_features(&self.rows, rng)?);
        match &self.network {
            Some((network, propagation)) => {
                to_matrix(&network.forward(propagation, &Input::from_features(&features)?)?)
            }
            None => self
                .smoothed
                .model
                .scores(&self.graph.clone().with_features(features)?),
        }
    }
}

fn sampled_features(rows: &NoisyRows, rng: &mut Rng) -> Result<Features> {
    let (mut offsets, mut indices) = (vec![0u64], Vec::new());
    rows.sample(rng, |_, cols| {
        let start = indices.len();
        indices.extend_from_slice(cols);
        indices[start..].sort_unstable();
        offsets.push(indices.len() as u64);
    });
    let values = vec![1f32; indices.len()];
    Ok(Features::Sparse(CsrMatrix::new(
        rows.num_cols(),
        offsets,
        indices,
        values,
    )?))
}

/// Edge flips.
struct OfEdges<'a> {
    smoothed: Smoothed<'a>,
    graph: Graph,
    edges: NoisyEdges,
}

impl Scorer for OfEdges<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        self.smoothed
            .model
            .scores(&self.edges.sample(&self.graph, rng)?)
    }
}

/// Feature and edge flips.
struct OfBoth<'a> {
    smoothed: Smoothed<'a>,
    graph: &'a Graph,
    rows: NoisyRows,
    edges: NoisyEdges,
}

impl Scorer for OfBoth<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        let features = self
            .smoothed
            .scaler
            .apply(&sampled_features(&self.rows, rng)?);
        self.smoothed.model.scores(
            &self
                .edges
                .sample(self.graph, rng)?
                .with_features(features)?,
        )
    }
}

/// Gaussian noise in the coordinates that a network uses.
struct GaussianCoordinates<'a> {
    network: &'a WhiteBox,
    propagation: Propagation,
    reduced: &'a Reduced,
    coordinates: Vec<f32>,
    rows: usize,
    standard_deviation: f64,
}

impl<'a> GaussianCoordinates<'a> {
    /// Makes it; `None` if the network uses all coordinates.
    fn new(network: &'a WhiteBox, graph: &Graph, standard_deviation: f64) -> Result<Option<Self>> {
        let Some(reduced) = network.reduced()? else {
            return Ok(None);
        };
        let coordinates = reduced
            .coordinates(&network.input(graph)?)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let (propagation, rows) = (network.propagation(graph)?, graph.num_nodes());
        Ok(Some(Self {
            network,
            propagation,
            reduced,
            coordinates,
            rows,
            standard_deviation,
        }))
    }
}

impl Scorer for GaussianCoordinates<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        let moved = with_gaussian(&self.coordinates, self.standard_deviation, rng);
        let moved = Tensor::from_vec(moved, (self.rows, self.reduced.dim()), &Device::Cpu)?;
        to_matrix(
            &self
                .network
                .forward_reduced(self.reduced, &self.propagation, &moved)?,
        )
    }
}

/// Gaussian noise on all features.
struct OfNumbers<'a> {
    model: &'a dyn Classifier,
    graph: Graph,
    standard_deviation: f64,
}

fn no_features() -> GraphError {
    GraphError::missing(
        "certify",
        "the graph has no features to put noise on",
        "--target edges flips edges",
    )
}

impl Scorer for OfNumbers<'_> {
    fn scores(&self, rng: &mut Rng) -> Result<DenseMatrix<f32>> {
        let Some(features) = self.graph.features() else {
            return Err(no_features());
        };
        let clean = features.to_dense();
        let moved = with_gaussian(clean.data(), self.standard_deviation, rng);
        let moved = DenseMatrix::new(clean.num_rows(), clean.num_cols(), moved)?;
        self.model
            .scores(&self.graph.clone().with_features(Features::Dense(moved))?)
    }
}

fn with_gaussian(values: &[f32], standard_deviation: f64, rng: &mut Rng) -> Vec<f32> {
    values
        .iter()
        .map(|v| v + (standard_deviation * rng.sample::<f64, _>(StandardNormal)) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use crate::robustness::bounds::testing::model;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_nn::networks::{Backbone, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;
    use std::sync::atomic::AtomicBool;

    fn quiet<R>(with: impl FnOnce(SampleCallbacks<'_>) -> R) -> R {
        with(SampleCallbacks::quiet())
    }

    fn binary_graph(nodes: usize, cols: usize) -> Graph {
        let rng = &mut stream(8, "votes test", 0);
        let values = (0..nodes * cols)
            .map(|_| f32::from(u8::from(rng.random::<f64>() < 0.3)))
            .collect();
        let features = Features::Dense(DenseMatrix::new(nodes, cols, values).unwrap());
        erdos_renyi(nodes, 0.2, 4)
            .unwrap()
            .with_features(features)
            .unwrap()
    }

    const NOISE: FlipNoise = FlipNoise {
        p_plus: 0.05,
        p_minus: 0.4,
    };

    /// Every shortcut gives the scores of the noisy graph itself, which only an outside classifier
    /// is given.
    #[test]
    fn shortcuts_are_the_classifier_on_noisy_graphs() {
        let graph = binary_graph(20, 70);
        let head = |backbone| matches!(backbone, Backbone::Gcn(_) | Backbone::Gin(_));
        for backbone in [
            Backbone::GCN,
            Backbone::GIN,
            Backbone::SGC,
            Backbone::MLP,
            Backbone::GAT,
            Backbone::SAGE,
        ] {
            for (layers, with_head) in [(1, false), (2, false), (3, true)] {
                let with_head = with_head && head(backbone);
                let config = NetworkConfig {
                    hidden: 20,
                    layers,
                    head: with_head,
                    ..NetworkConfig::new(backbone.where_taken("heads", 2))
                };
                let network = model(&config, 70, OperatorChoice::Default, 3);
                let outside = FromFn {
                    num_classes: 3,
                    function: |graph: &Graph| network.scores(graph),
                };
                for scaler in [Scaler::AsLoaded, Scaler::RowNormalised] {
                    for i in 0..4 {
                        let sampled = |model: &dyn Classifier| {
                            let smoothed = Smoothed {
                                model,
                                scaler: &scaler,
                            };
                            let scorer = smoothed.scorer(&graph, Noise::Features(NOISE)).unwrap();
                            scorer.scores(&mut stream(1, "votes test", i)).unwrap()
                        };
                        let (cheap, whole) = (sampled(&network), sampled(&outside));
                        for (a, b) in cheap.data().iter().zip(whole.data()) {
                            assert!(
                                (a - b).abs() < 1e-4 * b.abs().max(1.0),
                                "{backbone}, {layers}: {a}, not {b}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Scores from the sum of a node's features, its degree and a constant.
    fn by_features_and_degree(graph: &Graph) -> Result<DenseMatrix<f32>> {
        let x = graph.features().unwrap().to_dense();
        let row = |u: usize| {
            [
                x.row(u).iter().sum::<f32>() / 10.0,
                graph.degree(u as u32) as f32 / 2.5,
                0.9,
            ]
        };
        DenseMatrix::new(12, 3, (0..12).flat_map(row).collect())
    }

    /// Votes of 100 samples, computed by so many threads.
    fn votes_with_threads(
        model: &dyn Classifier,
        graph: &Graph,
        noise: Noise,
        threads: usize,
        seed: u64,
    ) -> Votes {
        let smoothed = Smoothed {
            model,
            scaler: &Scaler::AsLoaded,
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let votes = |w: SampleCallbacks<'_>| smoothed.votes(graph, noise, 100, (seed, "test"), w);
        pool.install(|| quiet(|w| votes(w).unwrap().unwrap()))
    }

    #[test]
    fn threads_change_no_vote_and_seeds_do() {
        let graph = binary_graph(12, 30);
        let network = model(
            &NetworkConfig {
                hidden: 8,
                ..NetworkConfig::new(Backbone::GCN)
            },
            30,
            OperatorChoice::Default,
            3,
        );
        // Its classes depend on features and on degrees.
        let outside = FromFn {
            num_classes: 3,
            function: by_features_and_degree,
        };
        let edges = FlipNoise {
            p_plus: 0.02,
            p_minus: 0.3,
        };
        let noises = [
            Noise::Features(NOISE),
            Noise::Edges(edges),
            Noise::Both {
                features: NOISE,
                edges,
            },
            Noise::Gaussian(0.5),
        ];
        for noise in noises {
            let votes = |model: &dyn Classifier, threads: usize, seed: u64| {
                votes_with_threads(model, &graph, noise, threads, seed)
            };
            assert_eq!(votes(&network, 1, 7), votes(&network, 3, 7), "{noise:?}");
            let one = votes(&outside, 1, 7);
            assert_eq!(one, votes(&outside, 3, 7), "{noise:?}");
            assert_ne!(one, votes(&outside, 1, 8), "{noise:?}");
            assert_eq!((one.num_items(), one.samples), (12, 100));
            assert!(
                (0..12).all(|u| one.of(u).iter().sum::<u32>() == 100),
                "every sample votes once on every node"
            );
            assert_eq!(one.of(3)[one.winner(3)], *one.of(3).iter().max().unwrap());
        }
        let smoothed = Smoothed {
            model: &network,
            scaler: &Scaler::AsLoaded,
        };
        let stopped = SampleCallbacks {
            on_samples: &|_| (),
            stop: &AtomicBool::new(true),
        };
        assert_eq!(
            smoothed
                .votes(&graph, noises[0], 100, (1, "test"), stopped)
                .unwrap(),
            None
        );
    }

    /// A classifier whose class is the first bit of a node: its votes are as frequent as the noise
    /// shows the bit.
    #[test]
    fn votes_are_shares_of_samples() {
        let graph = binary_graph(6, 4);
        let bits = graph.features().unwrap().to_dense();
        let function = |graph: &Graph| {
            let x = graph.features().unwrap().to_dense();
            let scores = (0..6).flat_map(|u| [0.5, x.row(u)[0]]).collect();
            DenseMatrix::new(6, 2, scores)
        };
        let first_bit = FromFn {
            num_classes: 2,
            function,
        };
        let smoothed = Smoothed {
            model: &first_bit,
            scaler: &Scaler::AsLoaded,
        };
        let samples = 20_000;
        let votes = quiet(|w| {
            smoothed
                .votes(&graph, Noise::Features(NOISE), samples, (3, "test"), w)
                .unwrap()
                .unwrap()
        });
        for u in 0..6 {
            let p = if bits.row(u)[0] == 1.0 {
                1.0 - NOISE.p_minus
            } else {
                NOISE.p_plus
            };
            let share = f64::from(votes.of(u)[1]) / samples as f64;
            assert!(
                (share - p).abs() < 5.0 * (p * (1.0 - p) / samples as f64).sqrt(),
                "{share}, not {p}"
            );
        }
    }
}
