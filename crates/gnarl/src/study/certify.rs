//! What no attacker within a radius can change of a model's answers: the share of test nodes that a certificate holds, and the share that it
//! holds and that are right, radius by radius.

use std::time::Instant;

use gnarl_graph::dataset::Benchmark;
use gnarl_graph::limits::{MOST, check_count};
use gnarl_graph::{Content, CsrMatrix, Error, Features, Graph, named};
use rayon::prelude::*;
use serde::Serialize;

use super::summary::Accuracy;
use crate::attack::nettack::{Nettack, Parts};
use crate::attack::{Attack, Scene};
use crate::classifier::{Classifier, WhiteBox};
use crate::error::Result;
use crate::inference::{Defended, Perturbed};
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model, Plan};
use crate::nn::Backbone;
use crate::perturb::{Norm, rows::row_norms};
use crate::robustness::certify::probability::normal_quantile;
use crate::robustness::certify::{
    BinaryGcn, Certainty, FlipNoise, Flips, Lipschitz, Noise, Propagated, Regions, Rule, SampleWatch, Scope, Smoothed,
    Threat, largest,
};
use crate::train::{Watch, argmax, median};

/// The graph with ones where its features are not zero.
pub fn binarised(graph: &Graph) -> gnarl_graph::Result<Graph> {
    let Some(features) = graph.features() else { return Ok(graph.clone()) };
    let sparse = match features {
        Features::Sparse(m) => m.clone(),
        Features::Dense(m) => CsrMatrix::from_dense(m),
    };
    let ones = sparse.map(|v| if v == 0.0 { 0.0 } else { 1.0 });
    graph.clone().with_features(Features::Sparse(ones))
}

/// A certificate with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum Certificate {
    /// Of the smoothed classifier, by samples.
    Smoothing(SmoothingSettings),
    /// From margins and how far a network stretches features.
    LipschitzFeatures {
        /// The norm of what moves.
        norm: Norm,
        /// Whose features move.
        scope: Scope,
        /// The radii; where there are none, [`SHARES`] of the median norm of a node's features.
        radii: Vec<f64>,
    },
    /// The same for flips of binary features: k of them are k apart in L1 and the root of k in L2.
    LipschitzFlips {
        /// The most flips that are looked at.
        most: usize,
    },
    /// The same for flips of edges.
    LipschitzEdges {
        /// The most flips that are looked at.
        most: usize,
    },
    /// Flips of edges under models that predict, then propagate.
    Exact {
        /// Which edges change.
        threat: Threat,
        /// The largest local budget that is looked at.
        most: usize,
    },
    /// Flips of binary features under a GCN.
    Convex {
        /// The most flips of one node; `None` for as many as in all.
        local: Option<usize>,
        /// The most flips in all that are looked at.
        most: usize,
    },
}

/// Radii of features where none are given, as shares of the median norm of a node's features.
pub const SHARES: [f64; 7] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// How samples are drawn and what is concluded from them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothingSettings {
    /// The noise.
    pub noise: Noise,
    /// Draws that choose each node's class.
    pub selection: usize,
    /// Further draws that bound its probability.
    pub samples: usize,
    /// How often a certificate may be wrong.
    pub alpha: f64,
    /// When a class stands.
    pub rule: Rule,
    /// Whether alpha is for all test nodes at once: each then has an equal share of it (Bonferroni).
    pub simultaneous: bool,
}

/// The most radii of one sort that smoothing looks at.
const MOST_FLIPS: usize = 60;
/// The literature draws up to a million.
const MOST_DRAWS: u64 = 100 * MOST;

impl SmoothingSettings {
    /// Refuses what no samples can answer.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(Error::argument("alpha", format!("{} is no level, above 0 and below 1", self.alpha)));
        }
        if let Noise::Gaussian(sigma) = self.noise
            && !(sigma > 0.0 && sigma < 1e6)
        {
            return Err(Error::argument("sigma", format!("{sigma} is no deviation, above 0 and below a million")));
        }
        if self.selection == 0 {
            return Err(Error::argument("selection", "0 draws choose no class; at least 1 is needed"));
        }
        check_count("selection", self.selection as u64, MOST_DRAWS)?;
        check_count("samples", self.samples as u64, MOST_DRAWS)?;
        self.check_samples(self.alpha, 2)
    }

    /// Refuses samples that certify nothing even where all agree.
    fn check_samples(&self, alpha: f64, num_classes: usize) -> gnarl_graph::Result<()> {
        let best = Certainty::unanimous(num_classes, self.samples, alpha, self.rule);
        if Regions::new(&[]).certify(&best, self.rule) {
            return Ok(());
        }
        let what = format!(
            "{} samples certify nothing: even where all of them agree, a class' probability is bounded by {:.3} only at level {alpha}",
            self.samples, best.lower
        );
        Err(Error::argument("samples", what))
    }
}

impl Certificate {
    /// Refuses settings that mean nothing, before anything is trained.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        match self {
            Certificate::Smoothing(settings) => settings.check(),
            Certificate::LipschitzFeatures { norm, radii, .. } => {
                norm.check()?;
                match radii.iter().find(|r| !(r.is_finite() && **r >= 0.0)) {
                    Some(r) => Err(Error::argument("epsilon", format!("{r} is no radius, at least 0"))),
                    None => Ok(()),
                }
            }
            Certificate::Convex { local: Some(0), .. } => {
                Err(Error::argument("local", "0 flips of a node change nothing; at least 1 is needed"))
            }
            Certificate::LipschitzFlips { .. }
            | Certificate::LipschitzEdges { .. }
            | Certificate::Exact { .. }
            | Certificate::Convex { .. } => Ok(()),
        }
    }

    /// Its method's name.
    pub fn method(&self) -> Method {
        match self {
            Certificate::Smoothing(_) => Method::Smoothing,
            Certificate::LipschitzFeatures { .. }
            | Certificate::LipschitzFlips { .. }
            | Certificate::LipschitzEdges { .. } => Method::Lipschitz,
            Certificate::Exact { .. } => Method::Exact,
            Certificate::Convex { .. } => Method::Convex,
        }
    }

    /// Why it says nothing about a model, as far as that is known before it is fitted.
    pub fn refusal(&self, plan: &Plan) -> Option<String> {
        let backbone = plan.model.backbone;
        let covered: &[Backbone] = match self.method() {
            Method::Smoothing => return None,
            Method::Lipschitz => &[Backbone::Gcn, Backbone::Gin, Backbone::Sgc, Backbone::Mlp],
            Method::Exact => &[Backbone::Appnp, Backbone::Sgc],
            Method::Convex => &[Backbone::Gcn],
        };
        let names: Vec<String> = covered.iter().map(ToString::to_string).collect();
        let why = format!("{} is left out: it covers {}, not {backbone}", self.method(), names.join(", "));
        (!covered.contains(&backbone)).then_some(why)
    }

    /// The part of the input that moves, which is what an inference looks around in.
    pub fn moved_part(&self) -> Perturbed {
        match self {
            Certificate::Smoothing(SmoothingSettings { noise: Noise::Edges(_), .. })
            | Certificate::LipschitzEdges { .. }
            | Certificate::Exact { .. } => Perturbed::Structure,
            _ => Perturbed::Features,
        }
    }
}

named! {
    /// A way to certify.
    pub enum Method as "method" {
        /// Noise and votes: for any classifier.
        Smoothing = "smoothing",
        /// Margins over how far a network stretches.
        Lipschitz = "lipschitz",
        /// The worst of all edges for models that predict, then propagate.
        Exact = "exact",
        /// Lines around activations, for flips of binary features.
        Convex = "convex",
    }
}

/// How far an attacker may go.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Radius {
    /// A distance, or a number of flips.
    One {
        /// The radius.
        radius: f64,
    },
    /// Flips of features or of edges.
    Flips {
        /// Zeros that become ones.
        r_add: usize,
        /// Ones that become zeros.
        r_delete: usize,
    },
    /// Flips of both.
    Both {
        /// Of features: zeros that become ones.
        r_add: usize,
        /// Of features: ones that become zeros.
        r_delete: usize,
        /// Edges that come.
        edges_add: usize,
        /// Edges that go.
        edges_delete: usize,
    },
}

/// What is certified at a radius, shares of the test nodes from 0 to 1, means over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cell {
    /// How far an attacker may go.
    #[serde(flatten)]
    pub radius: Radius,
    /// Nodes whose class no attacker within it changes.
    pub share: f64,
    /// Those of them whose class is right.
    pub accurate_share: f64,
}

/// A model, and certificates of its answers.
#[derive(Debug, Clone)]
pub struct CertifyStudy {
    /// The model.
    pub model: Model,
    /// At least one; the first says what an inference looks around in.
    pub certificates: Vec<Certificate>,
    /// Attack so many test nodes one by one at every number of flips that the certificates look at; none for no attack.
    pub attacked: usize,
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

/// What one certificate came to.
#[derive(Debug, Clone, Serialize)]
pub struct Certified {
    /// By which method.
    pub method: Method,
    /// By radius.
    pub certified: Vec<Cell>,
    /// Of smoothing by flips of one sort: by their number, whichever they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_flips: Vec<Cell>,
    /// The largest radius at which a test node is certified in some run.
    pub max_radius: Option<Radius>,
    /// Of smoothing by flips: the largest radii that so many samples certify at all, when all of them agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certifiable: Option<Radius>,
    /// Of smoothing: the accuracy of the smoothed classifier, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_accuracy: Option<f64>,
    /// The largest, and the median, radius of a test node in the first run, of certificates that have one number for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_radius: Option<f64>,
    /// The radius or the class of each test node in the first run.
    #[serde(skip)]
    pub nodes: Vec<CertifiedNode>,
    /// Seconds, training apart.
    pub seconds: f64,
}

/// A test node of the first run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CertifiedNode {
    /// Which.
    pub node: u32,
    /// The class that is certified.
    pub class: usize,
    /// Its true class, where it is known.
    pub truth: Option<u32>,
    /// The largest radius; of smoothing by flips that of additions.
    pub radius: f64,
    /// Of smoothing by flips: the most deletions.
    pub deletions: Option<usize>,
}

/// What survives an attack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Survived {
    /// Flips for each node.
    pub radius: f64,
    /// The share of the attacked nodes whose class stays.
    pub share: f64,
    /// Those of them that are right.
    pub accurate_share: f64,
}

/// What a study found.
#[derive(Debug)]
pub struct CertifyResult {
    /// Of the model itself on test nodes, per cent.
    pub test_accuracy: Option<Accuracy>,
    /// In the order of the certificates.
    pub certificates: Vec<Certified>,
    /// By the attack.
    pub survived: Vec<Survived>,
    /// How many nodes were judged in the first run.
    pub judged: usize,
    /// The median L2 norm of a node's features, as the network takes them.
    pub median_norm: f64,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// Whether it was stopped before its end: then what there is counts for nothing.
    pub interrupted: bool,
}

impl CertifyStudy {
    /// Epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(on.content.task())?;
        Ok(plan.trainings(Some(&on.content)) as u64 * plan.training.epochs as u64 * self.runs as u64)
    }

    /// Samples of all runs together, for progress.
    pub fn samples(&self) -> u64 {
        let of = |certificate: &Certificate| match certificate {
            Certificate::Smoothing(settings) => (settings.selection + settings.samples) as u64,
            _ => 0,
        };
        self.certificates.iter().map(of).sum::<u64>() * self.runs as u64
    }

    /// Refuses what means nothing, before anything is trained.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        if self.runs == 0 || self.certificates.is_empty() {
            return Err(Error::argument("certify", "at least one run and one certificate are needed"));
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
        let Content::Graph(graph) = &on.content else {
            let what = "certificates are for the nodes of one graph, and this is a set of graphs";
            return Err(Error::argument("certify", what).into());
        };
        let ready = self.model.ready(&on.name, &on.content, FitOptions::default())?;
        ready.plan().check_demand(&on.name, &on.content, self.runs as f64, self.samples() as f64)?;
        let one = |ready: &Ready, i: usize| {
            let (split, seed) = (&on.splits[i % on.splits.len()], self.seed.wrapping_add(i as u64));
            ready.fit(split, seed, &watch.training)
        };
        let fitted = (0..self.runs).map(|i| one(&ready, i)).collect::<Result<Vec<Fitted>>>()?;
        let train_seconds = start.elapsed().as_secs_f64();
        let accuracies = fitted.iter().map(|model| {
            let predictions = model.predict(&on.content)?;
            model.accuracy_on(&predictions, &on.content, model.trained_on().split.test())
        });
        let test_accuracy = Accuracy::of_all(accuracies.collect::<Result<Vec<_>>>()?.into_iter())?;
        let subjects = fitted.iter().map(|model| Subject::new(model, graph)).collect::<Result<Vec<_>>>()?;
        let mut result = CertifyResult {
            test_accuracy,
            certificates: Vec::new(),
            survived: Vec::new(),
            judged: subjects.first().map_or(0, |s| s.test.len()),
            median_norm: subjects.first().map_or(0.0, |s| s.median_norm),
            train_seconds,
            seconds: 0.0,
            interrupted: watch.training.stopped(),
        };
        for certificate in &self.certificates {
            let begun = Instant::now();
            let mut series = Vec::new();
            for subject in &subjects {
                let samples = SampleWatch { on_samples: watch.on_samples, stop: watch.training.stop };
                match subject.certify(certificate, subjects[0].median_norm, samples)? {
                    Some(found) if !watch.training.stopped() => series.push(found),
                    _ => result.interrupted = true,
                }
            }
            if result.interrupted {
                break;
            }
            let seconds = begun.elapsed().as_secs_f64();
            result.certificates.extend(mean_of(certificate.method(), series, seconds));
        }
        if self.attacked > 0 && !result.interrupted {
            result.survived = self.attack(&subjects[0], watch)?;
        }
        result.interrupted |= watch.training.stopped();
        result.seconds = start.elapsed().as_secs_f64();
        Ok(result)
    }

    /// Nettack on test nodes of the first run, one at a time, with every number of flips.
    fn attack(&self, subject: &Subject<'_>, watch: &CertifyWatch<'_>) -> Result<Vec<Survived>> {
        let (mut most, mut on_features) = (0, false);
        for certificate in &self.certificates {
            let looked_at = match certificate {
                Certificate::LipschitzEdges { most } | Certificate::Exact { most, .. } => *most,
                Certificate::LipschitzFlips { most } | Certificate::Convex { most, .. } => *most,
                _ => continue,
            };
            most = most.max(looked_at);
            on_features |= certificate.moved_part() == Perturbed::Features;
        }
        let parts = if on_features { Parts::Features } else { Parts::Structure };
        let network = subject.network()?;
        let clean = network.scores(&subject.scaled)?;
        let step = (subject.test.len() / self.attacked.max(1)).max(1);
        let targets: Vec<u32> = subject.test.iter().copied().step_by(step).take(self.attacked).collect();
        let split = &subject.fitted.trained_on().split;
        let labels = subject.scaled.labels();
        let known =
            |nodes: &[u32]| -> Vec<(u32, u32)> { nodes.iter().filter_map(|&u| Some((u, labels?.get(u)?))).collect() };
        let training = known(split.train());
        let survives = |&u: &u32, radius: usize| -> Result<(bool, bool)> {
            let class = argmax(clean.row(u as usize));
            let target = [(u, class as u32)];
            let attack = Attack::Nettack(Nettack { budget: radius, parts, degree_test: false });
            let scene = Scene {
                graph: &subject.scaled,
                model: Some(network),
                targets: &target,
                labels,
                training: &training,
                stop: Some(watch.training.stop),
            };
            let attacked = attack.run(&scene, self.seed)?;
            let stands = argmax(network.scores(&attacked.graph)?.row(u as usize)) == class;
            Ok((stands, stands && subject.is_right(u, class)))
        };
        let mut survived = Vec::new();
        for radius in 0..=most {
            if watch.training.stopped() {
                break;
            }
            let found = targets.par_iter().map(|u| survives(u, radius)).collect::<Result<Vec<_>>>()?;
            let share = |of: fn(&(bool, bool)) -> bool| {
                found.iter().filter(|f| of(f)).count() as f64 / found.len().max(1) as f64
            };
            survived.push(Survived { radius: radius as f64, share: share(|f| f.0), accurate_share: share(|f| f.1) });
        }
        Ok(survived)
    }
}

/// Means over runs, cell by cell; the rest is the first run's.
fn mean_of(method: Method, series: Vec<Series>, seconds: f64) -> Option<Certified> {
    let runs = series.len() as f64;
    let smoothed: Option<Vec<f64>> = series.iter().map(|s| s.smoothed_accuracy).collect();
    let all: Vec<Vec<Cell>> = series.iter().map(|s| s.cells.clone()).collect();
    let by_flips: Vec<Vec<Cell>> = series.iter().map(|s| s.by_flips.clone()).collect();
    let first = series.into_iter().next()?;
    let certified = means(first.cells, &all);
    let by_flips = means(first.by_flips, &by_flips);
    let stood: Vec<&Cell> = certified.iter().filter(|cell| cell.share > 0.0).collect();
    let max_radius = match stood.first().map(|cell| cell.radius) {
        None => None,
        Some(Radius::One { .. }) => stood.last().map(|cell| cell.radius),
        Some(_) => {
            let most = |of: fn(&Radius) -> [usize; 4], k: usize| {
                let alone = |r: &[usize; 4]| (0..4).all(|i| i == k || r[i] == 0);
                stood.iter().map(|c| of(&c.radius)).filter(alone).map(|r| r[k]).max().unwrap_or(0)
            };
            let all = [0, 1, 2, 3].map(|k| most(Radius::flips, k));
            let is_both = matches!(certified.first().map(|c| c.radius), Some(Radius::Both { .. }));
            Some(Radius::of_flips(all, is_both))
        }
    };
    let radii: Vec<f64> = first.nodes.iter().map(|n| n.radius).collect();
    Some(Certified {
        method,
        certified,
        by_flips,
        max_radius,
        certifiable: first.certifiable,
        smoothed_accuracy: smoothed.map(|all| all.iter().sum::<f64>() / runs),
        median_radius: (method == Method::Lipschitz && !radii.is_empty()).then(|| median(radii)),
        nodes: first.nodes,
        seconds,
    })
}

/// The cells of the first run with the means of all.
fn means(mut first: Vec<Cell>, all: &[Vec<Cell>]) -> Vec<Cell> {
    for (i, cell) in first.iter_mut().enumerate() {
        let mean =
            |of: fn(&Cell) -> f64| all.iter().filter_map(|cells| cells.get(i)).map(of).sum::<f64>() / all.len() as f64;
        (cell.share, cell.accurate_share) = (mean(|c| c.share), mean(|c| c.accurate_share));
    }
    first
}

impl Radius {
    /// Additions and deletions of features, or of whatever flips alone, then of edges.
    fn flips(&self) -> [usize; 4] {
        match *self {
            Radius::One { .. } => [0; 4],
            Radius::Flips { r_add, r_delete } => [r_add, r_delete, 0, 0],
            Radius::Both { r_add, r_delete, edges_add, edges_delete } => [r_add, r_delete, edges_add, edges_delete],
        }
    }

    fn of_flips([r_add, r_delete, edges_add, edges_delete]: [usize; 4], is_both: bool) -> Self {
        match is_both {
            true => Radius::Both { r_add, r_delete, edges_add, edges_delete },
            false => Radius::Flips { r_add, r_delete },
        }
    }
}

/// One run's answer to one certificate.
struct Series {
    cells: Vec<Cell>,
    by_flips: Vec<Cell>,
    certifiable: Option<Radius>,
    smoothed_accuracy: Option<f64>,
    nodes: Vec<CertifiedNode>,
}

/// A fitted model on its graph.
struct Subject<'a> {
    fitted: &'a Fitted,
    bare: crate::model::fitted::Bare<'a>,
    graph: &'a Graph,
    scaled: Graph,
    /// Test nodes, and the class of each node in the model's own order, where it is known.
    test: Vec<u32>,
    truth: Vec<Option<u32>>,
    median_norm: f64,
}

impl<'a> Subject<'a> {
    fn new(fitted: &'a Fitted, graph: &'a Graph) -> Result<Self> {
        let scaled = fitted.scaled(graph)?;
        let truth = match graph.labels() {
            Some(labels) => {
                let matched = fitted.matched(labels);
                let of = |u: u32| labels.get(u).and_then(|c| matched.get(c as usize).copied().flatten());
                (0..graph.num_nodes() as u32).map(of).collect()
            }
            None => vec![None; graph.num_nodes()],
        };
        let test = fitted.trained_on().split.test().to_vec();
        if test.is_empty() {
            return Err(Error::argument("certify", "the split has no test nodes to certify").into());
        }
        let median_norm = scaled.features().map_or(0.0, |features| median(row_norms(features, Norm::L2)));
        Ok(Self { fitted, bare: fitted.bare(), graph, scaled, test, truth, median_norm })
    }

    fn network(&self) -> Result<&WhiteBox> {
        let what = "only smoothing certifies models with exits or a defence; the others look into a plain network";
        self.bare.white_box().ok_or_else(|| Error::argument("method", what).into())
    }

    fn is_right(&self, u: u32, class: usize) -> bool {
        self.truth[u as usize] == Some(class as u32)
    }

    /// `None` where it was stopped.
    fn certify(&self, certificate: &Certificate, median_norm: f64, watch: SampleWatch<'_>) -> Result<Option<Series>> {
        let whole = |most: usize| (0..=most).map(|r| r as f64).collect::<Vec<_>>();
        Ok(Some(match certificate {
            Certificate::Smoothing(settings) => return self.smooth(settings, watch),
            Certificate::LipschitzFeatures { norm, scope, radii } => {
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let reached = known.feature_radii(*norm, *scope)?;
                let radii = match radii.is_empty() {
                    true => SHARES.map(|share| share * median_norm).to_vec(),
                    false => radii.clone(),
                };
                self.series(
                    &radii,
                    |u| (known.class(u), reached[u]),
                    |radius, reached| radius == 0.0 || radius < reached,
                )
            }
            Certificate::LipschitzFlips { most } => {
                if !self.fitted.scaler().is_idle() {
                    let what = "flips of features are certified as the network takes them; --features as-loaded leaves them as they are";
                    return Err(Error::argument("lipschitz", what).into());
                }
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let in_l1 = known.feature_radii(Norm::L1, Scope::Total)?;
                let in_l2 = known.feature_radii(Norm::L2, Scope::Total)?;
                // The last number of flips whose distance is below a radius.
                let below = |r: f64| if r > 0.0 { (r.ceil() - 1.0).max(0.0) } else { 0.0 };
                let of = |u: usize| (known.class(u), below(in_l1[u]).max(below(in_l2[u] * in_l2[u])));
                self.series(&whole(*most), of, |r, reached| r <= reached)
            }
            Certificate::LipschitzEdges { most } => {
                let known = Lipschitz::new(self.network()?, &self.scaled)?;
                let reached = known.edge_radii(*most)?;
                self.series(&whole(*most), |u| (known.class(u), reached[u] as f64), |r, reached| r <= reached)
            }
            Certificate::Exact { threat, most } => {
                let network = self.network()?;
                let reached = Propagated::of_model(network, &self.scaled)?.radii(*threat, *most)?;
                let scores = network.scores(&self.scaled)?;
                // Where rounding decides between two classes, nothing is promised.
                let of = |u: usize| {
                    let class = argmax(scores.row(u));
                    (class, if class == reached[u].0 { reached[u].1 as f64 } else { 0.0 })
                };
                self.series(&whole(*most), of, |r, reached| r <= reached)
            }
            Certificate::Convex { local, most } => {
                let known = BinaryGcn::new(self.network()?, &self.scaled)?;
                let reached = known.radii(&self.test, local.unwrap_or(*most), *most);
                let place: std::collections::HashMap<u32, usize> =
                    self.test.iter().enumerate().map(|(i, &u)| (u, i)).collect();
                let of = |u: usize| (known.class(u), reached[place[&(u as u32)]] as f64);
                self.series(&whole(*most), of, |r, reached| r <= reached)
            }
        }))
    }

    /// Shares at radii, of certificates that have one number for each node.
    fn series(&self, radii: &[f64], of: impl Fn(usize) -> (usize, f64), holds: impl Fn(f64, f64) -> bool) -> Series {
        let nodes: Vec<CertifiedNode> = self
            .test
            .iter()
            .map(|&u| {
                let (class, radius) = of(u as usize);
                CertifiedNode { node: u, class, truth: self.truth[u as usize], radius, deletions: None }
            })
            .collect();
        let cell = |&radius: &f64| {
            let stand = nodes.iter().filter(|n| holds(radius, n.radius));
            self.cell(Radius::One { radius }, stand.map(|n| (n.node, n.class)))
        };
        Series {
            cells: radii.iter().map(cell).collect(),
            by_flips: Vec::new(),
            certifiable: None,
            smoothed_accuracy: None,
            nodes,
        }
    }

    fn cell(&self, radius: Radius, stand: impl Iterator<Item = (u32, usize)>) -> Cell {
        let (mut all, mut right) = (0usize, 0usize);
        for (u, class) in stand {
            all += 1;
            right += usize::from(self.is_right(u, class));
        }
        let share = |count: usize| count as f64 / self.test.len() as f64;
        Cell { radius, share: share(all), accurate_share: share(right) }
    }

    fn smooth(&self, settings: &SmoothingSettings, watch: SampleWatch<'_>) -> Result<Option<Series>> {
        let &SmoothingSettings { noise, selection, samples, alpha, rule, simultaneous } = settings;
        let alpha = if simultaneous { alpha / self.test.len() as f64 } else { alpha };
        settings.check_samples(alpha, self.bare.num_classes())?;
        let defended = Defended { model: &self.bare, reading: self.fitted.reading(), seed: self.fitted.seed() };
        let model: &dyn Classifier = if self.fitted.reading().is_plain() { &self.bare } else { &defended };
        // What Gaussian noise is put on is scaled before; flips come before scaling.
        let smoothed = Smoothed { model, scaler: self.fitted.scaler() };
        let seed = self.fitted.seed();
        let draw = |count: usize, purpose: &str| smoothed.votes(self.graph, noise, count, (seed, purpose), watch);
        let (Some(chosen), Some(votes)) = (draw(selection, "selection")?, draw(samples, "estimation")?) else {
            return Ok(None);
        };
        let certainty = |u: u32| {
            let class = chosen.winner(u as usize);
            Certainty::new(class, votes.of(u as usize), samples, alpha, rule)
        };
        let known: Vec<(u32, Certainty)> = self.test.par_iter().map(|&u| (u, certainty(u))).collect();
        let right = known.iter().filter(|(u, c)| self.is_right(*u, c.class)).count();
        let best = Certainty::unanimous(self.bare.num_classes(), samples, alpha, rule);
        let mut series = match noise {
            Noise::Gaussian(sigma) => self.gaussian(sigma, &known, &best, rule),
            Noise::Features(noise) => self.flips(noise, self.cells_of_features(), &known, &best, rule),
            Noise::Edges(noise) => self.flips(noise, self.pairs_of_nodes(), &known, &best, rule),
            Noise::Both { features, edges } => self.both([features, edges], &known, &best, rule),
        };
        series.smoothed_accuracy = Some(100.0 * right as f64 / self.test.len() as f64);
        Ok(Some(series))
    }

    /// How many features can be added and deleted.
    fn cells_of_features(&self) -> Flips {
        let Some(features) = self.graph.features() else { return Flips::default() };
        let ones = features.num_nonzeros();
        Flips { additions: features.num_rows() * features.num_cols() - ones, deletions: ones }
    }

    /// How many edges can be added and deleted.
    fn pairs_of_nodes(&self) -> Flips {
        let (n, edges) = (self.graph.num_nodes(), self.graph.num_edges());
        Flips { additions: n * (n - 1) / 2 - edges, deletions: edges }
    }

    /// No further than there is something to flip, nor than a table is read.
    fn limits(&self, noise: FlipNoise, there_are: Flips, best: &Certainty, rule: Rule) -> Flips {
        let most =
            Flips { additions: there_are.additions.min(MOST_FLIPS), deletions: there_are.deletions.min(MOST_FLIPS) };
        largest(noise, best, rule, most)
    }

    fn flips(
        &self,
        noise: FlipNoise,
        there_are: Flips,
        known: &[(u32, Certainty)],
        best: &Certainty,
        rule: Rule,
    ) -> Series {
        let limits = self.limits(noise, there_are, best, rule);
        let grid: Vec<Flips> = (0..=limits.additions)
            .flat_map(|additions| (0..=limits.deletions).map(move |deletions| Flips { additions, deletions }))
            .collect();
        let stand = |flips: &Flips| -> Vec<bool> {
            let regions = Regions::new(&[(noise, *flips)]);
            known.iter().map(|(_, c)| regions.certify(c, rule)).collect()
        };
        let tables: Vec<Vec<bool>> = grid.par_iter().map(stand).collect();
        let cell = |(flips, stand): (&Flips, &Vec<bool>)| {
            let radius = Radius::Flips { r_add: flips.additions, r_delete: flips.deletions };
            let of = known.iter().zip(stand).filter(|(_, s)| **s).map(|((u, c), _)| (*u, c.class));
            self.cell(radius, of)
        };
        let node = |(i, (u, c)): (usize, &(u32, Certainty))| {
            let most = |of: fn(&Flips) -> usize, other: fn(&Flips) -> usize| {
                let alone = grid.iter().zip(&tables).filter(|(f, stand)| other(f) == 0 && stand[i]);
                alone.map(|(f, _)| of(f)).max().unwrap_or(0)
            };
            CertifiedNode {
                node: *u,
                class: c.class,
                truth: self.truth[*u as usize],
                radius: most(|f| f.additions, |f| f.deletions) as f64,
                deletions: Some(most(|f| f.deletions, |f| f.additions)),
            }
        };
        // By their number: whatever of them there are to flip, all ways must be certified.
        let by_number = |flips: usize| {
            let ways = (0..=flips).map(|a| (a, flips - a));
            let ways = ways.filter(|&(a, d)| a <= there_are.additions && d <= there_are.deletions);
            let tables: Option<Vec<&Vec<bool>>> = ways
                .map(|(a, d)| {
                    let inside = a <= limits.additions && d <= limits.deletions;
                    inside.then(|| &tables[a * (limits.deletions + 1) + d])
                })
                .collect();
            let all = |i: usize| tables.as_ref().is_some_and(|tables| tables.iter().all(|stand| stand[i]));
            let of = known.iter().enumerate().filter(|(i, _)| all(*i)).map(|(_, (u, c))| (*u, c.class));
            self.cell(Radius::One { radius: flips as f64 }, of)
        };
        Series {
            cells: grid.iter().zip(&tables).map(cell).collect(),
            by_flips: (0..=limits.additions.min(limits.deletions) + 1).map(by_number).collect(),
            certifiable: Some(Radius::Flips { r_add: limits.additions, r_delete: limits.deletions }),
            smoothed_accuracy: None,
            nodes: known.iter().enumerate().map(node).collect(),
        }
    }

    /// Features alone, edges alone, and additions of both.
    fn both(&self, noise: [FlipNoise; 2], known: &[(u32, Certainty)], best: &Certainty, rule: Rule) -> Series {
        let of_features = self.limits(noise[0], self.cells_of_features(), best, rule);
        let of_edges = self.limits(noise[1], self.pairs_of_nodes(), best, rule);
        let mut grid: Vec<[usize; 4]> = vec![[0; 4]];
        grid.extend((1..=of_features.additions).map(|a| [a, 0, 0, 0]));
        grid.extend((1..=of_features.deletions).map(|d| [0, d, 0, 0]));
        grid.extend((1..=of_edges.additions).map(|a| [0, 0, a, 0]));
        grid.extend((1..=of_edges.deletions).map(|d| [0, 0, 0, d]));
        for a in 1..=of_features.additions {
            grid.extend((1..=of_edges.additions).map(|e| [a, 0, e, 0]));
        }
        for d in 1..=of_features.deletions {
            grid.extend((1..=of_edges.deletions).map(|e| [0, d, 0, e]));
        }
        let cell = |&[a, d, e, g]: &[usize; 4]| {
            let of_features = (noise[0], Flips { additions: a, deletions: d });
            let regions = Regions::new(&[of_features, (noise[1], Flips { additions: e, deletions: g })]);
            let stand = known.iter().filter(|(_, c)| regions.certify(c, rule)).map(|(u, c)| (*u, c.class));
            self.cell(Radius::of_flips([a, d, e, g], true), stand)
        };
        let cells = grid.par_iter().map(cell).collect();
        let certifiable = [of_features.additions, of_features.deletions, of_edges.additions, of_edges.deletions];
        Series {
            cells,
            by_flips: Vec::new(),
            certifiable: Some(Radius::of_flips(certifiable, true)),
            smoothed_accuracy: None,
            nodes: Vec::new(),
        }
    }

    /// Cohen et al. 2019: a class of probability at least p, every other at most q, stands all features within
    /// `sigma (Φ⁻¹(p) - Φ⁻¹(q)) / 2` of the input, in the Frobenius norm.
    fn gaussian(&self, sigma: f64, known: &[(u32, Certainty)], best: &Certainty, rule: Rule) -> Series {
        let radius = |c: &Certainty| {
            let upper = if rule == Rule::TwoClass { 1.0 - c.lower } else { c.upper };
            0.5 * sigma * (normal_quantile(c.lower) - normal_quantile(upper))
        };
        let farthest = radius(best);
        let radii: Vec<f64> = (0..=20).map(|i| farthest * f64::from(i) / 20.0).collect();
        let reached: std::collections::HashMap<u32, (usize, f64)> =
            known.iter().map(|(u, c)| (*u, (c.class, radius(c)))).collect();
        let of = |u: usize| reached.get(&(u as u32)).copied().unwrap_or((0, f64::NEG_INFINITY));
        // Nearly as far as unanimous votes lead counts as as far: both come from the same halving.
        self.series(&radii, of, |r, reached| r < reached || (r == farthest && reached >= farthest))
    }
}
