//! What no attacker within a radius can change of a model's answers: the share of test nodes (of a
//! set, test graphs) that a certificate holds, and the share that it holds and that are right,
//! radius by radius.

mod attempts;
mod nodes;
mod result;
mod sets;
mod settings;
mod tables;

use std::time::Instant;

use gnarl_graph::dataset::Benchmark;
use gnarl_graph::{Content, CsrMatrix, Error, Features, Graph};

use self::attempts::attempts;
use self::nodes::{Subject, there_are};
use self::sets::TestGraphs;
use self::tables::{Items, Series, mean_of};
use super::summary::Accuracy;
use crate::classifier::Classifier;
use crate::error::Result;
use crate::features::Scaler;
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use crate::robustness::certify::{SampleWatch, Smoothed};
use crate::train::Watch;

pub use self::result::{Attempts, Cell, Certified, CertifiedNode, CertifyResult, Radius, Survived};
pub use self::settings::{Asked, Certificate, Method, SHARES, SmoothingSettings, Target};

/// The graph with ones where its features are not zero.
pub fn binarised(graph: &Graph) -> gnarl_graph::Result<Graph> {
    let Some(features) = graph.features() else {
        return Ok(graph.clone());
    };
    let sparse = match features {
        Features::Sparse(m) => m.clone(),
        Features::Dense(m) => CsrMatrix::from_dense(m),
    };
    let ones = sparse.map(|v| if v == 0.0 { 0.0 } else { 1.0 });
    graph.clone().with_features(Features::Sparse(ones))
}

/// A model, and certificates of its answers.
#[derive(Debug, Clone)]
pub struct CertifyStudy {
    /// The model.
    pub model: Model,
    /// At least one; the first says what an inference looks around in.
    pub certificates: Vec<Certificate>,
    /// Attack so many test nodes one by one at every number of flips that the certificates look at;
    /// none for no attack.
    pub attacked: usize,
    /// Attack nodes of the first run inside the radii of every certificate without samples, so many
    /// times, and count those that break.
    pub attempts: usize,
    /// How many networks: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

/// Who is told while a study runs.
pub struct CertifyWatch<'a> {
    /// The training.
    pub training: Watch<'a>,
    /// Called with how many samples were drawn.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
}

impl CertifyStudy {
    /// Epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(on.content.task())?;
        Ok(plan.trainings(Some(&on.content)) as u64
            * plan.training.epochs as u64
            * self.runs as u64)
    }

    /// Samples of all runs together, for progress.
    pub fn samples(&self, on: &Benchmark) -> u64 {
        let of = |certificate: &Certificate| match certificate {
            Certificate::Smoothing(settings) => (settings.selection + settings.samples) as u64,
            _ => 0,
        };
        let graphs = |i: usize| match on.content {
            Content::Graph(_) => 1,
            Content::Graphs(_) => on
                .splits
                .get(i % on.splits.len().max(1))
                .map_or(0, |split| split.test().len()),
        };
        let inputs: usize = (0..self.runs).map(graphs).sum();
        self.certificates.iter().map(of).sum::<u64>() * inputs as u64
    }

    /// Refuses what means nothing, before anything is trained.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        if self.runs == 0 || self.certificates.is_empty() {
            return Err(Error::argument(
                "certify",
                "at least one run and one certificate are needed",
            ));
        }
        self.certificates.iter().try_for_each(Certificate::check)?;
        let needs_network = |certificate: &Certificate| certificate.method() != Method::Smoothing;
        if !self.model.inference.is_plain() && self.certificates.iter().any(needs_network) {
            let what = "only smoothing certifies another inference than a plain forward pass; the others look into the network";
            return Err(Error::argument("method", what));
        }
        Ok(())
    }

    /// Fits, then certifies.
    pub fn run(&self, on: &Benchmark, watch: &CertifyWatch<'_>) -> Result<CertifyResult> {
        let start = Instant::now();
        self.check()?;
        if (self.attacked > 0 || self.attempts > 0) && matches!(on.content, Content::Graphs(_)) {
            let what =
                "the nodes of one graph are attacked one by one, and this is a set of graphs";
            return Err(Error::argument("certify", what).into());
        }
        let ready = self
            .model
            .ready(&on.name, &on.content, FitOptions::default())?;
        ready.plan().check_demand(
            &on.name,
            &on.content,
            self.runs as f64,
            self.samples(on) as f64,
        )?;
        let one = |ready: &Ready, i: usize| {
            let (split, seed) = (
                &on.splits[i % on.splits.len()],
                self.seed.wrapping_add(i as u64),
            );
            ready.fit(split, seed, &watch.training)
        };
        let fitted = (0..self.runs)
            .map(|i| one(&ready, i))
            .collect::<Result<Vec<Fitted>>>()?;
        let train_seconds = start.elapsed().as_secs_f64();
        let accuracies = fitted.iter().map(|model| {
            let predictions = model.predict(&on.content)?;
            model.accuracy_on(&predictions, &on.content, model.trained_on().split.test())
        });
        let test_accuracy = Accuracy::of_all(accuracies.collect::<Result<Vec<_>>>()?.into_iter())?;
        let subjects = fitted
            .iter()
            .map(|model| OnData::new(model, &on.content))
            .collect::<Result<Vec<_>>>()?;
        let mut result = CertifyResult {
            test_accuracy,
            certificates: Vec::new(),
            attempts: Vec::new(),
            survived: Vec::new(),
            judged: subjects.first().map_or(0, |s| s.items().test.len()),
            median_norm: subjects.first().map_or(0.0, OnData::median_norm),
            train_seconds,
            seconds: 0.0,
            interrupted: watch.training.stopped(),
        };
        for certificate in &self.certificates {
            let begun = Instant::now();
            let mut series: Vec<Series> = Vec::new();
            for subject in &subjects {
                let samples = SampleWatch {
                    on_samples: watch.on_samples,
                    stop: watch.training.stop,
                };
                match subject.certify(certificate, result.median_norm, samples)? {
                    Some(found) if !watch.training.stopped() => series.push(found),
                    _ => result.interrupted = true,
                }
            }
            if result.interrupted {
                break;
            }
            let seconds = begun.elapsed().as_secs_f64();
            if let (OnData::Nodes(subject), Some(first), true) =
                (&subjects[0], series.first(), self.attempts > 0)
            {
                let tried = attempts(
                    subject,
                    certificate,
                    &first.nodes,
                    self.attempts,
                    self.seed,
                    &watch.training,
                )?;
                result.attempts.extend(tried);
            }
            result
                .certificates
                .extend(mean_of(certificate.method(), series, seconds));
        }
        if let (OnData::Nodes(subject), true) =
            (&subjects[0], self.attacked > 0 && !result.interrupted)
        {
            result.survived = subject.attacked(
                &self.certificates,
                self.attacked,
                self.seed,
                &watch.training,
            )?;
        }
        result.interrupted |= watch.training.stopped();
        result.seconds = start.elapsed().as_secs_f64();
        Ok(result)
    }
}

/// One certificate of a fitted model for some items: nodes of a graph or graphs of a set; the test
/// items where none are named. `None` where it was stopped.
pub fn certify(
    fitted: &Fitted,
    content: &Content,
    certificate: &Certificate,
    items: Option<Vec<u32>>,
    watch: SampleWatch<'_>,
) -> Result<Option<Certified>> {
    let start = Instant::now();
    certificate.check()?;
    let items = items.unwrap_or_else(|| fitted.trained_on().split.test().to_vec());
    let subject = OnData::of(fitted, content, items)?;
    let series = subject.certify(certificate, subject.median_norm(), watch)?;
    let found = |series| {
        mean_of(
            certificate.method(),
            vec![series],
            start.elapsed().as_secs_f64(),
        )
    };
    Ok(series.and_then(found))
}

/// Smoothing of any classifier, for some nodes of a graph, or for 0 where it classifies the graph.
/// `None` where it was stopped.
pub fn certify_any(
    model: &dyn Classifier,
    graph: &Graph,
    settings: &SmoothingSettings,
    items: Vec<u32>,
    seed: u64,
    watch: SampleWatch<'_>,
) -> Result<Option<Certified>> {
    let start = Instant::now();
    settings.check()?;
    let truth = (0..graph.num_nodes().max(1) as u32)
        .map(|u| graph.labels().and_then(|labels| labels.get(u)))
        .collect();
    let items = Items::new(items, truth)?;
    let smoothed = Smoothed {
        model,
        scaler: &Scaler::AsLoaded,
    };
    let known = items.certainties(&smoothed, graph, settings, &items.test, (seed, ""), watch)?;
    let series =
        known.map(|known| items.smoothed(settings, model.num_classes(), there_are(graph), &known));
    Ok(series.and_then(|series| {
        mean_of(
            Method::Smoothing,
            vec![series],
            start.elapsed().as_secs_f64(),
        )
    }))
}

/// A fitted model on what it was fitted to.
enum OnData<'a> {
    Nodes(Subject<'a>),
    Graphs(TestGraphs<'a>),
}

impl<'a> OnData<'a> {
    /// On its test items.
    fn new(fitted: &'a Fitted, content: &'a Content) -> Result<Self> {
        Self::of(fitted, content, fitted.trained_on().split.test().to_vec())
    }

    fn of(fitted: &'a Fitted, content: &'a Content, items: Vec<u32>) -> Result<Self> {
        Ok(match content {
            Content::Graph(graph) => OnData::Nodes(Subject::new(fitted, graph, items)?),
            Content::Graphs(set) => OnData::Graphs(TestGraphs::new(fitted, set, items)?),
        })
    }

    fn items(&self) -> &Items {
        match self {
            OnData::Nodes(subject) => &subject.items,
            OnData::Graphs(graphs) => &graphs.items,
        }
    }

    fn median_norm(&self) -> f64 {
        match self {
            OnData::Nodes(subject) => subject.median_norm,
            OnData::Graphs(graphs) => graphs.median_norm,
        }
    }

    /// `None` where it was stopped.
    fn certify(
        &self,
        certificate: &Certificate,
        median_norm: f64,
        watch: SampleWatch<'_>,
    ) -> Result<Option<Series>> {
        match self {
            OnData::Nodes(subject) => subject.certify(certificate, median_norm, watch),
            OnData::Graphs(graphs) => graphs.certify(certificate, median_norm, watch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Backbone;
    use crate::perturb::{Norm, flipped};
    use crate::robustness::certify::{FlipNoise, Noise, Rule, Scope};
    use crate::train::argmax;
    use crate::weights::Orthonormal;
    use gnarl_graph::random::stream;
    use gnarl_graph::{DenseMatrix, GraphSet, Labels, Split};
    use rand::RngExt;

    /// Twenty graphs of five to eight nodes, cycles and paths in turn; features are zeros and ones,
    /// two of three the graph's class.
    fn small_set() -> Benchmark {
        let graph = |i: u32| {
            let n = 5 + i % 4;
            let mut edges: Vec<(u32, u32)> = (1..n).map(|u| (u - 1, u)).collect();
            edges.extend(i.is_multiple_of(2).then_some((0, n - 1)));
            let rng = &mut stream(7, "features", u64::from(i));
            let noise =
                |rng: &mut gnarl_graph::random::Rng| f32::from(u8::from(rng.random_bool(0.5)));
            let class = [(i % 2) as f32, 1.0 - (i % 2) as f32];
            let features = (0..n)
                .flat_map(|_| [class[0], class[1], noise(rng)])
                .collect();
            let features = Features::Dense(DenseMatrix::new(n as usize, 3, features).unwrap());
            Graph::from_edges(n as usize, edges)
                .unwrap()
                .0
                .with_features(features)
                .unwrap()
        };
        let labels = Labels::new((0..20).map(|i| Some(i % 2)).collect(), 2).unwrap();
        let set = GraphSet::new((0..20).map(graph).collect(), labels, None).unwrap();
        let split = Split::new(
            "0",
            (0..12).collect(),
            (12..15).collect(),
            (15..20).collect(),
        )
        .unwrap();
        Benchmark {
            name: "small".into(),
            content: Content::Graphs(set),
            splits: vec![split],
        }
    }

    fn study(backbone: Backbone, certificates: Vec<Certificate>) -> CertifyStudy {
        let model = Model::new(backbone).epochs(60);
        CertifyStudy {
            model,
            certificates,
            attacked: 0,
            attempts: 0,
            runs: 1,
            seed: 3,
        }
    }

    fn run(study: &CertifyStudy, on: &Benchmark) -> CertifyResult {
        study
            .run(
                on,
                &CertifyWatch {
                    training: Watch::quiet(),
                    on_samples: &|_| {},
                },
            )
            .unwrap()
    }

    /// Every flip, and every pair of flips, of a graph that is certified for so many.
    #[test]
    fn no_flips_within_its_radius_change_the_class_of_a_graph() {
        let on = small_set();
        let mut certified = 0;
        for backbone in [Backbone::Gcn, Backbone::Gin] {
            let model = Model::new(backbone)
                .epochs(60)
                .layers(1)
                .hidden(4)
                .weights(Orthonormal::default());
            let study = CertifyStudy {
                model,
                ..study(backbone, vec![Certificate::LipschitzEdges { most: 2 }])
            };
            let found = run(&study, &on);
            let fitted = study
                .model
                .ready(&on.name, &on.content, FitOptions::default())
                .unwrap();
            let fitted = fitted
                .fit(&on.splits[0], study.seed, &Watch::quiet())
                .unwrap();
            assert_eq!(found.certificates[0].nodes.len(), 5);
            let (bare, Content::Graphs(set)) = (fitted.bare(), &on.content) else {
                panic!("a set")
            };
            for node in found.certificates[0]
                .nodes
                .iter()
                .filter(|node| node.radius >= 1.0)
            {
                certified += 1;
                let graph = fitted.scaled(&set.graphs()[node.node as usize]).unwrap();
                let n = graph.num_nodes() as u32;
                let pairs: Vec<(u32, u32)> = (0..n)
                    .flat_map(|u| (u + 1..n).map(move |v| (u, v)))
                    .collect();
                for (i, &one) in pairs.iter().enumerate() {
                    let others = pairs[i + 1..].iter().filter(|_| node.radius >= 2.0);
                    for flips in
                        std::iter::once(vec![one]).chain(others.map(|&other| vec![one, other]))
                    {
                        let scores = bare.scores(&flipped(&graph, &flips).unwrap()).unwrap();
                        assert_eq!(
                            argmax(scores.row(0)),
                            node.class,
                            "{backbone}, graph {}, {flips:?}",
                            node.node
                        );
                    }
                }
            }
        }
        assert!(
            certified > 0,
            "nothing was certified, so that nothing was tested"
        );
    }

    #[test]
    fn graphs_are_certified_by_every_noise_and_by_moved_features() {
        let on = small_set();
        let flips = |plus, minus| FlipNoise::new(plus, minus).unwrap();
        let smoothing = |noise| {
            Certificate::Smoothing(SmoothingSettings {
                noise,
                selection: 50,
                samples: 400,
                alpha: 0.05,
                rule: Rule::TwoClass,
                simultaneous: false,
            })
        };
        let certificates = vec![
            smoothing(Noise::Edges(flips(0.02, 0.2))),
            smoothing(Noise::Features(flips(0.05, 0.3))),
            smoothing(Noise::Both {
                features: flips(0.05, 0.3),
                edges: flips(0.02, 0.2),
            }),
            smoothing(Noise::Gaussian(0.3)),
            Certificate::LipschitzFeatures {
                norm: Norm::L2,
                scope: Scope::One,
                radii: vec![0.0, 0.01, 10.0],
            },
        ];
        let study = study(Backbone::Gin, certificates);
        assert_eq!(study.samples(&on), 4 * 450 * 5);
        let found = run(&study, &on);
        assert_eq!((found.certificates.len(), found.judged), (5, 5));
        for certified in &found.certificates {
            assert!(
                certified
                    .certified
                    .iter()
                    .all(|cell| cell.accurate_share <= cell.share && cell.share <= 1.0)
            );
            assert!(certified.certified[0].share > 0.0, "{certified:?}");
        }
        let moved: Vec<f64> = found.certificates[4]
            .certified
            .iter()
            .map(|cell| cell.share)
            .collect();
        assert_eq!((moved[0], moved[2]), (1.0, 0.0));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        let again = pool.install(|| run(&study, &on));
        for (one, other) in found.certificates.iter().zip(&again.certificates) {
            assert_eq!(
                (&one.certified, &one.nodes),
                (&other.certified, &other.nodes)
            );
        }
        let exact = CertifyStudy {
            certificates: vec![Certificate::Convex {
                local: None,
                most: 2,
            }],
            ..study
        };
        let watch = CertifyWatch {
            training: Watch::quiet(),
            on_samples: &|_| {},
        };
        let e = exact.run(&on, &watch).unwrap_err().to_string();
        assert!(e.contains("convex is for the nodes of one graph"), "{e}");
    }
}
