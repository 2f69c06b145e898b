//! Estimates the expected robustness of a classifier by sampling ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947)): `Adv_eps[f] = P(d_Y(f(G~, X~), f(G, X)) > sigma)` over
//! perturbed inputs sampled from a region around the input.

use gnarl_graph::limits::{MOST, check_count};
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{DenseMatrix, Error as GraphError, Features, Graph};
use rayon::prelude::*;
use serde::Serialize;

use super::callbacks::SampleCallbacks;
use super::prediction::{Moved, Prediction, ScoreDistances};
use super::region::Region;
use crate::classifier::{Classifier, Reduced, WhiteBox, to_matrix};
use crate::perturb::{Ball, FlipBall, Norm, ReducedBall, Sampler, flipped};
use gnarl_graph::Result;
use gnarl_nn::networks::{Input, Propagation};
use gnarl_tensor::{Device, Tensor};

/// Quantile of the normal distribution that leaves 2.5 % above it.
const Z95: f64 = 1.959_963_984_540_054;
/// Number of rows whose perturbations are sampled whole at a time, if only a projection is kept.
const BLOCK: usize = 256;

impl Region {
    /// Samples the graph's edges anew; `None` if they stay.
    fn sample_graph(&self, graph: &Graph, rng: &mut Rng) -> gnarl_graph::Result<Option<Graph>> {
        let Some((flips, law)) = self.flips() else {
            return Ok(None);
        };
        flipped(
            graph,
            &FlipBall::new(graph.num_nodes(), flips, law)?.sample(rng),
        )
        .map(Some)
    }
}

/// Settings of the estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The region that inputs are sampled from.
    pub region: Region,
    /// Number of perturbed inputs of each graph.
    pub samples: usize,
    /// Distances that count as a success of the attacker, each above 0.
    pub sigmas: Vec<f64>,
    /// Seed of the samples.
    pub seed: u64,
}

impl Settings {
    /// Refuses settings without meaning, and a region that does not fit the graph.
    pub fn check(&self, graph: &Graph) -> gnarl_graph::Result<()> {
        let refuse = |what: String| Err(GraphError::argument("robustness", what));
        if self.samples == 0 {
            return refuse("at least 1 sample is needed".into());
        }
        check_count("samples", self.samples as u64, MOST)?;
        if let Some(s) = self.sigmas.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return refuse(format!("sigma {s} must be a finite number above 0"));
        }
        if graph.num_nodes() == 0 {
            return refuse("the graph has no nodes".into());
        }
        if self.region.ball().is_some() && graph.features().is_none_or(|f| f.num_cols() == 0) {
            let what = "the graph has no features to perturb, only edges to flip";
            return Err(GraphError::missing(
                "robustness",
                what,
                "choose the target structure",
            ));
        }
        let ball = self
            .region
            .flips()
            .map(|(flips, law)| FlipBall::new(graph.num_nodes(), flips, law));
        ball.transpose().map(|_| ())
    }
}

/// Frequency of distances above a threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exceedance {
    /// The threshold.
    pub sigma: f64,
    /// Share of samples beyond it: the estimate of `Adv_eps[f]`.
    #[serde(rename = "estimate")]
    pub probability: f64,
    /// Its 95 % interval ([Wilson 1927](https://doi.org/10.1080/01621459.1927.10502953)).
    #[serde(rename = "ci")]
    pub interval: [f64; 2],
}

/// The result of sampling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Number of perturbed inputs, of all graphs.
    pub samples: usize,
    /// Mean scaled distance.
    pub mean: f64,
    /// Standard error of the mean; `None` for a single sample.
    pub standard_error: Option<f64>,
    /// The mean's 95 % interval, by the normal distribution.
    #[serde(rename = "ci")]
    pub interval: Option<[f64; 2]>,
    /// Largest scaled distance of a sample.
    pub largest: f64,
    /// Exceedances of each sigma.
    #[serde(rename = "adv")]
    pub exceedances: Vec<Exceedance>,
    /// Mean share of predictions whose class changed.
    pub changed: f64,
    /// Largest distances of scores of a sample.
    pub scores: ScoreDistances,
    /// The scaled distance of every sample.
    #[serde(skip)]
    pub distances: Vec<f64>,
}

/// Estimates the robustness of a classifier around one graph. Samples run in parallel; the result
/// does not depend on the number of threads.
///
/// For a network whose first step is linear and narrower than the features ([`WhiteBox::reduced`]),
/// perturbations are never held whole: in L2 balls only their coordinates are sampled
/// ([`ReducedBall`]), in others they are sampled and projected a few rows at a time.
pub fn estimate(
    classifier: &dyn Classifier,
    graph: &Graph,
    settings: &Settings,
) -> Result<Estimate> {
    finished(estimate_watched(
        classifier,
        graph,
        settings,
        SampleCallbacks::quiet(),
    )?)
}

/// Estimates with progress calls; `None` if it was stopped.
pub fn estimate_watched(
    classifier: &dyn Classifier,
    graph: &Graph,
    settings: &Settings,
    callbacks: SampleCallbacks<'_>,
) -> Result<Option<Estimate>> {
    // If degrees stand for features, another graph has another input.
    let Some(model) = classifier
        .white_box()
        .filter(|model| !model.reads_degrees())
    else {
        return over(
            std::slice::from_ref(graph),
            |graph| classifier.scores(graph),
            settings,
            callbacks,
        );
    };
    settings.check(graph)?;
    let subject = Subject::new(model, graph)?;
    let base = Prediction::new(subject.scores(None, None)?)?;
    let one = |sample: usize| -> Result<Moved> {
        let rng = &mut generator(settings.seed, sample);
        let other = settings.region.sample_graph(graph, rng)?;
        let input = settings
            .region
            .ball()
            .map(|ball| subject.moved_input(ball, rng))
            .transpose()?;
        base.distance(&Prediction::new(
            subject.scores(other.as_ref(), input.as_ref())?,
        )?)
    };
    sampled(settings.samples, one, settings, callbacks)
}

/// Runs samples in parallel, until they are stopped.
fn sampled(
    count: usize,
    one: impl Fn(usize) -> Result<Moved> + Sync,
    settings: &Settings,
    callbacks: SampleCallbacks<'_>,
) -> Result<Option<Estimate>> {
    let watched = |sample: usize| -> Result<Option<Moved>> {
        if callbacks.stopped() {
            return Ok(None);
        }
        let moved = one(sample)?;
        (callbacks.on_samples)(1);
        Ok(Some(moved))
    };
    let all = (0..count)
        .into_par_iter()
        .map(watched)
        .collect::<Result<Option<Vec<Moved>>>>()?;
    Ok(all.map(|moved| summary(moved, &settings.sigmas)))
}

/// The result of an estimate that cannot be stopped.
fn finished(estimate: Option<Estimate>) -> Result<Estimate> {
    estimate.ok_or_else(|| GraphError::argument("robustness", "stopped before its end"))
}

/// Estimates any function from graphs to scores, averaged over graphs with `samples` perturbed
/// inputs each: the scores of a node task have a row for each node, those of a graph task one row.
pub fn estimate_over<F>(graphs: &[Graph], scores: F, settings: &Settings) -> Result<Estimate>
where
    F: Fn(&Graph) -> Result<DenseMatrix<f32>> + Sync,
{
    finished(over(graphs, scores, settings, SampleCallbacks::quiet())?)
}

fn over<F>(
    graphs: &[Graph],
    scores: F,
    settings: &Settings,
    callbacks: SampleCallbacks<'_>,
) -> Result<Option<Estimate>>
where
    F: Fn(&Graph) -> Result<DenseMatrix<f32>> + Sync,
{
    if graphs.is_empty() {
        return Err(GraphError::argument(
            "robustness",
            "there is no graph to perturb",
        ));
    }
    graphs.iter().try_for_each(|graph| settings.check(graph))?;
    let bases = graphs
        .par_iter()
        .map(|graph| Prediction::new(scores(graph)?))
        .collect::<Result<Vec<_>>>()?;
    let one = |sample: usize| -> Result<Moved> {
        let (graph, base) = (
            &graphs[sample / settings.samples],
            &bases[sample / settings.samples],
        );
        let rng = &mut generator(settings.seed, sample);
        let mut moved = settings
            .region
            .sample_graph(graph, rng)?
            .unwrap_or_else(|| graph.clone());
        if let Some(ball) = settings.region.ball() {
            moved = moved_features(&moved, ball, rng)?;
        }
        base.distance(&Prediction::new(scores(&moved)?)?)
    };
    sampled(graphs.len() * settings.samples, one, settings, callbacks)
}

/// The graph of sample `sample` of [`estimate`]; `None` if only features move.
pub fn sampled_graph(graph: &Graph, settings: &Settings, sample: usize) -> Result<Option<Graph>> {
    settings
        .region
        .sample_graph(graph, &mut generator(settings.seed, sample))
}

fn generator(seed: u64, sample: usize) -> Rng {
    stream(seed, "robustness", sample as u64)
}

/// The graph with a point of the ball added to its features.
fn moved_features(graph: &Graph, ball: &Ball, rng: &mut Rng) -> Result<Graph> {
    let Some(features) = graph.features() else {
        return Ok(graph.clone());
    };
    let moved = ball.sample_around(features, rng);
    check_finite(moved.data())?;
    graph.clone().with_features(Features::Dense(moved))
}

/// Refuses features that are NaN or infinite: a ReLU turns NaN into zero, so they would pass for
/// features that move nothing.
fn check_finite(input: &[f32]) -> Result<()> {
    if input.iter().all(|x| x.is_finite()) {
        Ok(())
    } else {
        let what = "perturbed features are not all finite: their predictions cannot be compared";
        Err(GraphError::argument("robustness", what))
    }
}

/// A network on a graph, with everything that samples share.
struct Subject<'a> {
    model: &'a WhiteBox,
    propagation: Propagation,
    input: NetworkInput<'a>,
    nodes: usize,
    features: usize,
}

/// The features, or the part that the network uses.
enum NetworkInput<'a> {
    Whole(Input),
    Reduced(&'a Reduced, Tensor),
}

impl<'a> Subject<'a> {
    fn new(model: &'a WhiteBox, graph: &Graph) -> Result<Self> {
        let input = model.input(graph)?;
        let features = input.dim();
        let input = match model.reduced()? {
            Some(reduced) => NetworkInput::Reduced(reduced, reduced.coordinates(&input)?),
            None => NetworkInput::Whole(input),
        };
        Ok(Self {
            model,
            propagation: model.propagation(graph)?,
            input,
            nodes: graph.num_nodes(),
            features,
        })
    }

    /// Scores, on another graph or from another input if given.
    fn scores(&self, graph: Option<&Graph>, input: Option<&Tensor>) -> Result<DenseMatrix<f32>> {
        let other = graph
            .map(|graph| self.model.propagation(graph))
            .transpose()?;
        let propagation = other.as_ref().unwrap_or(&self.propagation);
        to_matrix(&match (&self.input, input) {
            (NetworkInput::Reduced(reduced, known), moved) => {
                self.model
                    .forward_reduced(reduced, propagation, moved.unwrap_or(known))?
            }
            (NetworkInput::Whole(_), Some(moved)) => self
                .model
                .forward(propagation, &Input::Dense(moved.clone()))?,
            (NetworkInput::Whole(known), None) => self.model.forward(propagation, known)?,
        })
    }

    /// The input moved by a point of the ball.
    fn moved_input(&self, ball: &Ball, rng: &mut Rng) -> Result<Tensor> {
        let moved = match &self.input {
            NetworkInput::Reduced(reduced, known) => {
                (known + self.reduced_noise(reduced, ball, rng)?)?
            }
            NetworkInput::Whole(known) => {
                let mut noise = vec![0f32; self.nodes * self.features];
                ball.fill_rows(&ball.radii(self.nodes, self.features, rng), &mut noise, rng);
                (known.to_dense()?
                    + Tensor::from_vec(noise, (self.nodes, self.features), &Device::Cpu)?)?
            }
        };
        check_finite(&moved.flatten_all()?.to_vec1::<f32>()?)?;
        Ok(moved)
    }

    /// `Z Q` for a point Z of the ball, `[nodes, coordinates]`.
    fn reduced_noise(&self, reduced: &Reduced, ball: &Ball, rng: &mut Rng) -> Result<Tensor> {
        let dim = reduced.dim();
        if (ball.norm(), ball.sampler()) == (Norm::L2, Sampler::Exact) {
            let ball = ReducedBall::new(ball.epsilon(), self.features, dim)?;
            let mut noise = vec![0f32; self.nodes * dim];
            noise
                .chunks_exact_mut(dim)
                .for_each(|row| ball.row(row, rng));
            return Ok(Tensor::from_vec(noise, (self.nodes, dim), &Device::Cpu)?);
        }
        let radii = ball.radii(self.nodes, self.features, rng);
        let projected = radii.chunks(BLOCK).map(|radii| {
            let mut noise = vec![0f32; radii.len() * self.features];
            ball.fill_rows(radii, &mut noise, rng);
            Tensor::from_vec(noise, (radii.len(), self.features), &Device::Cpu)?
                .matmul(&reduced.basis)
        });
        let blocks = projected.collect::<gnarl_tensor::Result<Vec<_>>>()?;
        Ok(Tensor::cat(&blocks, 0)?)
    }
}

fn summary(moved: Vec<Moved>, sigmas: &[f64]) -> Estimate {
    let distances: Vec<f64> = moved.iter().map(|m| m.scaled).collect();
    let mut scores = ScoreDistances::default();
    for m in &moved {
        scores.l1 = scores.l1.max(m.scores.l1);
        scores.l2 = scores.l2.max(m.scores.l2);
        scores.linf = scores.linf.max(m.scores.linf);
    }
    let changed = moved.iter().map(|m| m.changed).sum::<f64>() / moved.len() as f64;
    Estimate {
        changed,
        scores,
        ..Estimate::of(distances, sigmas)
    }
}

impl Estimate {
    /// The estimate from scaled distances alone; for several estimates together, from all of their
    /// distances.
    pub fn of(distances: Vec<f64>, sigmas: &[f64]) -> Self {
        let samples = distances.len();
        let count = samples as f64;
        let mean = distances.iter().sum::<f64>() / count;
        let squares: f64 = distances.iter().map(|d| (d - mean) * (d - mean)).sum();
        let standard_error = (samples > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        let exceedance = |&sigma: &f64| {
            let beyond = distances.iter().filter(|d| **d > sigma).count();
            Exceedance {
                sigma,
                probability: beyond as f64 / count,
                interval: wilson(beyond, samples),
            }
        };
        Self {
            samples,
            mean,
            standard_error,
            interval: standard_error.map(|se| [mean - Z95 * se, mean + Z95 * se]),
            largest: distances.iter().copied().fold(0.0, f64::max),
            exceedances: sigmas.iter().map(exceedance).collect(),
            changed: f64::NAN,
            scores: ScoreDistances::default(),
            distances,
        }
    }
}

/// The 95 % interval of the probability of `hits` in `of` trials ([Wilson
/// 1927](https://doi.org/10.1080/01621459.1927.10502953)).
pub fn wilson(hits: usize, of: usize) -> [f64; 2] {
    let (n, share) = (of as f64, hits as f64 / of as f64);
    let z2 = Z95 * Z95;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    // With no hits or all hits, an end is exact, and rounding must not cross it.
    let low = if hits == 0 { 0.0 } else { centre - half };
    let high = if hits == of { 1.0 } else { centre + half };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::FromFn;
    use crate::perturb::FlipLaw;
    use crate::testing::{critical, kolmogorov, kolmogorov_two};
    use gnarl_graph::Labels;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_nn::networks::{Backbone, Network, NetworkConfig};
    use gnarl_nn::operator::OperatorChoice;
    use rand::RngExt;

    fn features(norm: Norm, epsilon: f64, samples: usize) -> Settings {
        let ball = Ball::new(norm, epsilon, Sampler::Exact).unwrap();
        Settings {
            region: Region::Features(ball),
            samples,
            sigmas: vec![0.1],
            seed: 1,
        }
    }

    /// Nodes without edges, with features of zero.
    fn blank(nodes: usize, dim: usize) -> Graph {
        Graph::empty(nodes)
            .unwrap()
            .with_features(Features::Dense(DenseMatrix::zeros(nodes, dim)))
            .unwrap()
    }

    /// Two classes with probabilities `1/2 ± 0.4 x_0`: linear in the features.
    fn linear(graph: &Graph) -> Result<DenseMatrix<f32>> {
        let x = graph.features().unwrap().to_dense();
        let scores = (0..x.num_rows())
            .flat_map(|i| [0.5 + 0.4 * x.row(i)[0], 0.5 - 0.4 * x.row(i)[0]].map(f32::ln));
        DenseMatrix::new(x.num_rows(), 2, scores.collect())
    }

    /// A random graph with an isolated node, 30 features and 3 classes.
    fn random_graph() -> Graph {
        let rng = &mut stream(3, "estimate test", 0);
        let graph = erdos_renyi(20, 0.2, 3).unwrap();
        let isolated: Vec<(u32, u32)> = graph.neighbours(0).iter().map(|&v| (0, v)).collect();
        let values: Vec<f32> = (0..20 * 30).map(|_| rng.random::<f32>() - 0.4).collect();
        let labels = Labels::new((0..20).map(|i| Some(i % 3)).collect(), 3).unwrap();
        let graph = graph
            .remove_edges(&isolated)
            .unwrap()
            .with_labels(labels)
            .unwrap();
        graph
            .with_features(Features::Dense(DenseMatrix::new(20, 30, values).unwrap()))
            .unwrap()
    }

    fn network(backbone: Backbone) -> WhiteBox {
        let config = NetworkConfig {
            hidden: 8,
            ..NetworkConfig::new(backbone.where_taken("heads", 2))
        };
        WhiteBox::new(
            Network::new(&config, &gnarl_nn::networks::Shape::new(30, 3, 1.0), 5).unwrap(),
            OperatorChoice::Default,
        )
        .unwrap()
    }

    /// Every sample is reported, by both ways; after a stop at ten, there is no result.
    #[test]
    fn samples_are_reported_and_can_be_stopped() {
        use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
        let (graph, settings) = (random_graph(), features(Norm::L2, 0.5, 200));
        let outside = FromFn {
            num_classes: 2,
            function: linear,
        };
        let models: [&dyn Classifier; 2] = [&network(Backbone::GCN), &outside];
        for model in models {
            for (most, finished) in [(usize::MAX, true), (10, false)] {
                let (reported, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
                let on_samples = |count: usize| {
                    if reported.fetch_add(count, Ordering::Relaxed) + count >= most {
                        stop.store(true, Ordering::Relaxed);
                    }
                };
                let callbacks = SampleCallbacks {
                    on_samples: &on_samples,
                    stop: &stop,
                };
                let found = estimate_watched(model, &graph, &settings, callbacks).unwrap();
                assert_eq!(found.is_some(), finished);
                let reported = reported.load(Ordering::Relaxed);
                assert!(
                    if finished {
                        reported == 200
                    } else {
                        (10..200).contains(&reported)
                    },
                    "{reported}"
                );
            }
        }
        let e = settings.clone();
        let e = Settings {
            samples: 2_000_000,
            ..e
        }
        .check(&graph)
        .unwrap_err()
        .to_string();
        assert!(e.starts_with("samples: 2000000 is beyond 1000000"), "{e}");
    }

    /// One coordinate of a uniform point of the ball in three dimensions:
    /// `P(|z| <= t) = (3t - t³) / 2`, `E|z| = 3/8`. The probabilities move by `0.4 |z| sqrt 2`,
    /// which is divided by 2.
    #[test]
    fn a_linear_model_has_its_closed_form() {
        let model = FromFn {
            num_classes: 2,
            function: linear,
        };
        let scale = 0.4 / 2f64.sqrt();
        let cdf = |d: f64| (3.0 * (d / scale) - (d / scale).powi(3)) / 2.0;
        let settings = Settings {
            sigmas: vec![0.05, 0.1, 0.2],
            ..features(Norm::L2, 1.0, 8000)
        };
        let found = estimate(&model, &blank(1, 3), &settings).unwrap();
        assert!(kolmogorov(&found.distances, cdf) < critical(8000));
        assert!((found.mean - scale * 0.375).abs() < 4.0 * found.standard_error.unwrap());
        for e in &found.exceedances {
            let truth = 1.0 - cdf(e.sigma);
            assert!(
                (e.interval[0]..=e.interval[1]).contains(&truth),
                "{e:?} against {truth}"
            );
            assert!(e.interval[1] - e.interval[0] < 0.025, "{e:?}");
        }
        // Two rows: E d² = 2 · scale² E z² / 2, and E z² = 1/5.
        let two = estimate(&model, &blank(2, 3), &settings).unwrap();
        let squares = two.distances.iter().map(|d| d * d).sum::<f64>() / 8000.0;
        assert!((squares - scale * scale / 5.0).abs() < 0.001, "{squares}");
    }

    #[test]
    fn reduced_and_whole_features_agree_in_law() {
        let graph = random_graph();
        for backbone in [Backbone::GCN, Backbone::GIN, Backbone::GAT] {
            let model = network(backbone);
            assert!(model.reduced().unwrap().is_some_and(|r| r.dim() == 8));
            let fast = estimate(&model, &graph, &features(Norm::L2, 3.0, 1500)).unwrap();
            let whole = FromFn {
                num_classes: 3,
                function: |graph: &Graph| model.scores(graph),
            };
            let slow = estimate(
                &whole,
                &graph,
                &Settings {
                    seed: 2,
                    ..features(Norm::L2, 3.0, 1500)
                },
            )
            .unwrap();
            let (gap, limit) = (
                kolmogorov_two(&fast.distances, &slow.distances),
                critical(750),
            );
            assert!(gap < limit, "{backbone}: {gap} against {limit}");
            let wrong = estimate(&model, &graph, &features(Norm::L2, 3.6, 1500)).unwrap();
            assert!(
                kolmogorov_two(&wrong.distances, &slow.distances) > 2.0 * limit,
                "{backbone}: the test is blind"
            );
        }
    }

    /// In other norms both paths use the same samples and give the same distances.
    #[test]
    fn projecting_block_by_block_changes_nothing() {
        let (graph, model) = (random_graph(), network(Backbone::GCN));
        let whole = FromFn {
            num_classes: 3,
            function: |graph: &Graph| model.scores(graph),
        };
        for norm in [Norm::L1, Norm::P(3.0), Norm::Infinity] {
            for sampler in [Sampler::Exact, Sampler::Thesis] {
                let region = Region::Features(Ball::new(norm, 2.0, sampler).unwrap());
                let settings = Settings {
                    region,
                    ..features(norm, 2.0, 5)
                };
                let fast = estimate(&model, &graph, &settings).unwrap();
                let slow = estimate(&whole, &graph, &settings).unwrap();
                for (a, b) in fast.distances.iter().zip(&slow.distances) {
                    assert!(
                        (a - b).abs() < 1e-5 * b && *b > 0.0,
                        "p = {norm}: {a} and {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn flips_move_predictions_the_same_on_both_paths() {
        let (graph, model) = (random_graph(), network(Backbone::GCN));
        let region = Region::Structure {
            flips: 5,
            law: FlipLaw::Uniform,
        };
        let settings = Settings {
            region,
            ..features(Norm::L2, 1.0, 20)
        };
        let fast = estimate(&model, &graph, &settings).unwrap();
        let whole = FromFn {
            num_classes: 3,
            function: |graph: &Graph| model.scores(graph),
        };
        let slow = estimate(&whole, &graph, &settings).unwrap();
        assert!(fast.mean > 0.0);
        for (sample, (a, b)) in fast.distances.iter().zip(&slow.distances).enumerate() {
            assert!((a - b).abs() < 1e-5, "{a} and {b}");
            let sampled = sampled_graph(&graph, &settings, sample).unwrap().unwrap();
            let base = Prediction::new(model.scores(&graph).unwrap()).unwrap();
            let moved = base
                .distance(&Prediction::new(model.scores(&sampled).unwrap()).unwrap())
                .unwrap();
            assert!(
                (moved.scaled - b).abs() < 1e-9,
                "sample {sample} is another graph"
            );
        }
        let none = Region::Structure {
            flips: 0,
            law: FlipLaw::Binomial,
        };
        assert_eq!(
            estimate(
                &model,
                &graph,
                &Settings {
                    region: none,
                    ..settings
                }
            )
            .unwrap()
            .largest,
            0.0
        );
    }

    #[test]
    fn graph_tasks_average_over_graphs() {
        let graphs = [blank(3, 2), blank(5, 2)];
        // One row: class probabilities from the mean of the first feature.
        let scores = |graph: &Graph| -> Result<DenseMatrix<f32>> {
            let x = graph.features().unwrap().to_dense();
            let mean = (0..x.num_rows()).map(|i| x.row(i)[0]).sum::<f32>() / x.num_rows() as f32;
            DenseMatrix::new(1, 2, vec![mean, -mean])
        };
        let found = estimate_over(&graphs, scores, &features(Norm::Infinity, 1.0, 400)).unwrap();
        assert_eq!(found.samples, 800);
        // The mean of n uniforms on [-1, 1] has variance 1 / 3n: the larger graph moves less.
        let mean = |distances: &[f64]| distances.iter().sum::<f64>() / distances.len() as f64;
        let (small, large) = (mean(&found.distances[..400]), mean(&found.distances[400..]));
        let ratio = small / large;
        assert!((ratio - (5f64 / 3.0).sqrt()).abs() < 0.15, "{ratio}");
        assert!(
            estimate_over(&[], scores, &features(Norm::L2, 1.0, 1))
                .unwrap_err()
                .to_string()
                .contains("no graph")
        );
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let (graph, model) = (random_graph(), network(Backbone::GCN));
        let bits = |threads| -> Vec<u64> {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let found =
                pool.install(|| estimate(&model, &graph, &features(Norm::L2, 3.0, 9)).unwrap());
            found.distances.iter().map(|d| d.to_bits()).collect()
        };
        assert_eq!(bits(1), bits(3));
    }

    #[test]
    fn the_ends_of_every_range() {
        let (graph, model) = (random_graph(), network(Backbone::GCN));
        let none = estimate(&model, &graph, &features(Norm::L2, 0.0, 3)).unwrap();
        assert_eq!(
            (
                none.mean,
                none.largest,
                none.changed,
                none.exceedances[0].probability
            ),
            (0.0, 0.0, 0.0, 0.0)
        );
        assert_eq!(none.exceedances[0].interval[0], 0.0);
        let one = estimate(&model, &graph, &features(Norm::L2, 3.0, 1)).unwrap();
        assert_eq!((one.standard_error, one.interval), (None, None));
        assert_eq!(one.mean, one.largest);
        let refused = |settings: &Settings, graph: &Graph| {
            let any = FromFn {
                num_classes: 2,
                function: linear,
            };
            estimate(&any, graph, settings).unwrap_err().to_string()
        };
        assert!(refused(&features(Norm::L2, 1.0, 0), &blank(1, 3)).contains("at least 1 sample"));
        for sigma in [0.0, -1.0, f64::NAN] {
            let settings = Settings {
                sigmas: vec![sigma],
                ..features(Norm::L2, 1.0, 1)
            };
            assert!(refused(&settings, &blank(1, 3)).contains("must be a finite number above 0"));
        }
        let bare = Graph::empty(2).unwrap();
        assert!(
            refused(&features(Norm::L2, 1.0, 1), &bare)
                .contains("no features to perturb, only edges to flip")
        );
        let flips = Region::Structure {
            flips: 2,
            law: FlipLaw::Uniform,
        };
        let settings = Settings {
            region: flips,
            ..features(Norm::L2, 1.0, 1)
        };
        assert!(refused(&settings, &blank(2, 3)).contains("2 flips on 2 nodes with 1 pairs"));
        let broken = FromFn {
            num_classes: 2,
            function: |_: &Graph| DenseMatrix::new(1, 2, vec![f32::NAN; 2]),
        };
        let e = estimate(&broken, &blank(1, 3), &features(Norm::L2, 1.0, 1))
            .unwrap_err()
            .to_string();
        assert!(e.contains("scores are not all finite"), "{e}");
        // A prediction that does not use features is finite all the same.
        let constant = FromFn {
            num_classes: 2,
            function: |_: &Graph| DenseMatrix::new(1, 2, vec![0.0; 2]),
        };
        let infinite = Features::Dense(DenseMatrix::new(1, 1, vec![f32::INFINITY]).unwrap());
        let infinite = Graph::empty(1).unwrap().with_features(infinite).unwrap();
        let e = estimate(&constant, &infinite, &features(Norm::L2, 1.0, 1))
            .unwrap_err()
            .to_string();
        assert!(e.contains("perturbed features are not all finite"), "{e}");
    }

    /// From R: `binom::binom.wilson(8, 10)` is 0.4901625 to 0.9433178, and for 0 in 20 the upper
    /// end is 0.1611252.
    #[test]
    fn wilson_by_reference() {
        let close =
            |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-6;
        assert!(
            close(wilson(8, 10), [0.490_162_5, 0.943_317_8]),
            "{:?}",
            wilson(8, 10)
        );
        assert!(
            close(wilson(0, 20), [0.0, 0.161_125_2]),
            "{:?}",
            wilson(0, 20)
        );
        assert_eq!(wilson(5, 5)[1], 1.0);
    }
}
