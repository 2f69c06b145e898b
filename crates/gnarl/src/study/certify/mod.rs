//! Certifies predictions. For each radius: the share of test nodes or test graphs whose class no
//! attacker within it can change, and the share that is certified and correct.
//!
//! | file | what |
//! | --- | --- |
//! | [`smoothing`], [`lipschitz`], [`exact`], [`convex`] | the entries of [`Certificate`] |
//! | [`method`] | the interface of a certificate: targets, required properties, table rows |
//! | [`threat`] | threat models: the part of the input that changes, and the rows of a table |
//! | [`request`] | requested certificates: names, and settings as text |
//! | `nodes`, `sets` | a fitted model on its graph, and on the graphs of a set |
//! | `attempts` | attacks inside certified radii |
//! | `tables`, `sampling` | from radii, and from samples, to shares |
//! | `result`, `report` | the result, its JSON and its CSV |
//!
//! To add a certificate: one file with its settings and its [`Method`], and one line in
//! [`Certificate`].
//!
//! ```
//! use gnarl::graph::generate::{CsbmConfig, csbm};
//! use gnarl::prelude::*;
//! use gnarl::study::certify::{CertifyCallbacks, CertifyStudy, Lipschitz, Target};
//! let data = Dataset::from_graph("blocks", csbm(&CsbmConfig::default(), 0)?);
//! let model = Model::new(Backbone::GCN).weights(Orthonormal::default()).epochs(20);
//! let study = CertifyStudy::new(model, Target::Features, [Lipschitz::default()]);
//! let found = study.run(&data.benchmark(0, 1)?, &CertifyCallbacks::quiet())?;
//! for row in &found.certificates[0].certified {
//!     println!("{:?}: {:.0} % certified", row.radius, 100.0 * row.share);
//! }
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

mod attempts;
#[doc(hidden)]
pub mod convex;
#[doc(hidden)]
pub mod exact;
#[doc(hidden)]
pub mod lipschitz;
#[doc(hidden)]
pub mod method;
mod nodes;
mod radii;
mod report;
#[doc(hidden)]
pub mod request;
mod result;
mod sampling;
mod sets;
#[doc(hidden)]
pub mod smoothing;
mod tables;
#[doc(hidden)]
pub mod threat;

use std::time::Instant;

use gnarl_data::Content;
use gnarl_data::{Benchmark, Task};
use gnarl_graph::{CsrMatrix, Error, Features, Graph, GraphSet};

use self::attempts::{Trial, attempts};
use self::method::{AnyModel, CertifyInput};
use self::nodes::Nodes;
use self::sets::Graphs;
use self::tables::{Items, Series, mean_of};
use super::summary::test_accuracy;
use crate::model::fit::{FitOptions, Ready};
use crate::model::{Fitted, Model};
use gnarl_graph::Result;
use gnarl_nn::train::Callbacks;
use gnarl_robust::classifier::Classifier;
use gnarl_robust::robustness::certify::SampleCallbacks;

pub use self::convex::Convex;
pub use self::exact::Exact;
pub use self::lipschitz::{Lipschitz, SHARES};
pub use self::method::{Method, Requirement};
pub use self::radii::RadiusList;
pub use self::report::CertifyReport;
pub use self::request::{MethodName, Request};
pub use self::result::{Attempts, Cell, Certified, CertifiedNode, CertifyResult, Radius, Survived};
pub use self::smoothing::Smoothing;
pub use self::threat::{Rows, Target, ThreatModel};

gnarl_graph::choices! {
    /// A certificate: changes of the input within a radius do not change the predicted class.
    #[non_exhaustive]
    pub enum Certificate: dyn Method as "certificate" {
        Smoothing(smoothing::Smoothing),
        Lipschitz(lipschitz::Lipschitz),
        Exact(exact::Exact),
        Convex(convex::Convex),
    }
}

/// Binarises features: ones where they are not zero.
pub fn binarised(content: &Content) -> gnarl_graph::Result<Content> {
    Ok(match content {
        Content::Graph(graph) => Content::Graph(binarised_graph(graph)?),
        Content::Graphs(set) => {
            let graphs = set.graphs().iter().map(binarised_graph);
            let graphs = graphs.collect::<gnarl_graph::Result<Vec<_>>>()?;
            let labels = set.labels().clone();
            Content::Graphs(GraphSet::new(graphs, labels, set.num_node_labels())?)
        }
    })
}

fn binarised_graph(graph: &Graph) -> gnarl_graph::Result<Graph> {
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

/// Certifies the predictions of a model.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CertifyStudy {
    /// The model.
    pub model: Model,
    /// The part of the input that an attacker changes.
    pub target: Target,
    /// At least one certificate.
    pub certificates: Vec<Certificate>,
    /// Number of test nodes to attack one by one, at every number of flips of the certificates; 0
    /// for no attack.
    pub attacked: usize,
    /// Number of attacks on nodes of the first run inside the radii of every certificate without
    /// samples; the attacks that succeed are counted.
    pub attempts: usize,
    /// Number of networks: run `i` takes split `i` (in turn) and seed `seed + i`.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// Callbacks while a study runs.
pub struct CertifyCallbacks<'a> {
    /// Callbacks of the training.
    pub training: Callbacks<'a>,
    /// Called with the number of new samples.
    pub on_samples: &'a (dyn Fn(usize) + Sync),
}

impl CertifyCallbacks<'_> {
    /// No progress and no cancellation.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            training: Callbacks::quiet(),
            on_samples: &|_| (),
        }
    }
}

impl CertifyStudy {
    /// Certificates of one run with seed 0, without attacks.
    #[must_use]
    pub fn new(
        model: Model,
        target: Target,
        certificates: impl IntoIterator<Item = impl Into<Certificate>>,
    ) -> Self {
        Self {
            model,
            target,
            certificates: certificates.into_iter().map(Into::into).collect(),
            attacked: 0,
            attempts: 0,
            runs: 1,
            seed: 0,
        }
    }

    /// Sets the number of test nodes to attack one by one.
    #[must_use]
    pub fn attacked(self, attacked: usize) -> Self {
        Self { attacked, ..self }
    }

    /// Sets the number of attacks inside certified radii.
    #[must_use]
    pub fn attempts(self, attempts: usize) -> Self {
        Self { attempts, ..self }
    }

    /// Sets the number of networks.
    #[must_use]
    pub fn runs(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// Sets the seed of the first run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Number of epochs of all trainings together, for progress.
    pub fn epochs(&self, on: &Benchmark) -> Result<u64> {
        let plan = self.model.plan(on.content.task())?;
        Ok(plan.trainings(Some(&on.content)) as u64
            * plan.training.epochs as u64
            * self.runs as u64)
    }

    /// Number of samples of all runs together, for progress.
    pub fn samples(&self, on: &Benchmark) -> u64 {
        let of = |certificate: &Certificate| certificate.method().samples() as u64;
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

    fn threat(&self, on: &Benchmark) -> ThreatModel {
        ThreatModel {
            target: self.target,
            task: on.content.task(),
        }
    }

    /// Refuses settings without meaning, and models that a certificate does not cover, before
    /// training.
    pub fn check(&self, on: &Benchmark) -> Result<()> {
        if self.runs == 0 || self.certificates.is_empty() {
            let what = "at least one run and one certificate are needed";
            return Err(Error::argument("certify", what));
        }
        let threat = self.threat(on);
        let mut all = self.certificates.iter();
        all.try_for_each(|certificate| certificate.check_for(threat))?;
        self.check_attacks(on)?;
        let plan = self.model.plan(threat.task)?;
        let mut all = self.certificates.iter();
        all.try_for_each(|certificate| certificate.check_model(&plan, self.target))
    }

    /// Refuses attacks on certificates that have no radius to attack within.
    fn check_attacks(&self, on: &Benchmark) -> gnarl_graph::Result<()> {
        let threat = self.threat(on);
        let has = |fits: fn(Rows) -> bool| {
            let mut rows = self.certificates.iter().map(|c| c.method().rows(threat));
            rows.any(fits)
        };
        let names = || Certificate::names_of(|other| other.method().samples() == 0);
        for (option, count, fits, of) in [
            (
                "attempts",
                self.attempts,
                has(|rows| rows != Rows::Samples),
                "",
            ),
            (
                "attacked",
                self.attacked,
                has(|rows| matches!(rows, Rows::Flips(_))),
                "flips by ",
            ),
        ] {
            if count == 0 {
                continue;
            }
            if !fits {
                return Err(Error::unsupported(
                    option,
                    format!("belongs to {of}{}", names()),
                ));
            }
            if matches!(on.content, Content::Graphs(_)) {
                let name = &on.name;
                let what = format!("attacks the nodes of one graph, and {name} is a set of graphs");
                return Err(Error::unsupported(option, what));
            }
        }
        Ok(())
    }

    /// Fits the models, then certifies them.
    pub fn run(&self, on: &Benchmark, watch: &CertifyCallbacks<'_>) -> Result<CertifyResult> {
        let start = Instant::now();
        self.check(on)?;
        let fitted = self.fit(on, watch)?;
        let train_seconds = start.elapsed().as_secs_f64();
        let test_accuracy = test_accuracy(&fitted, &on.content)?;
        let subjects = fitted
            .iter()
            .map(|model| OnData::new(model, &on.content))
            .collect::<Result<Vec<_>>>()?;
        let mut result = CertifyResult {
            test_accuracy,
            certificates: Vec::new(),
            attempts: Vec::new(),
            survived: Vec::new(),
            evaluated: subjects.first().map_or(0, |s| s.items().test.len()),
            median_norm: subjects.first().map_or(0.0, OnData::median_norm),
            train_seconds,
            seconds: 0.0,
            interrupted: watch.training.stopped(),
        };
        for certificate in &self.certificates {
            self.certify(certificate, &subjects, watch, &mut result)?;
            if result.interrupted {
                break;
            }
        }
        if let (OnData::Nodes(nodes), true) =
            (&subjects[0], self.attacked > 0 && !result.interrupted)
        {
            result.survived = nodes.attacked(
                &self.certificates,
                self.threat(on),
                self.attacked,
                self.seed,
                &watch.training,
            )?;
        }
        result.interrupted |= watch.training.stopped();
        result.seconds = start.elapsed().as_secs_f64();
        Ok(result)
    }

    /// The model of every run.
    fn fit(&self, on: &Benchmark, watch: &CertifyCallbacks<'_>) -> Result<Vec<Fitted>> {
        let ready = self
            .model
            .ready(&on.name, &on.content, FitOptions::default())?;
        let (runs, samples) = (self.runs as f64, self.samples(on) as f64);
        ready
            .plan()
            .check_demand(&on.name, &on.content, runs, samples)?;
        let one = |ready: &Ready, i: usize| {
            let split = &on.splits[i % on.splits.len()];
            let seed = self.seed.wrapping_add(i as u64);
            ready.fit(split, seed, &watch.training)
        };
        (0..self.runs).map(|i| one(&ready, i)).collect()
    }

    /// Adds one certificate of every model to a result, with attacks inside its radii.
    fn certify(
        &self,
        certificate: &Certificate,
        subjects: &[OnData<'_>],
        watch: &CertifyCallbacks<'_>,
        result: &mut CertifyResult,
    ) -> Result<()> {
        let start = Instant::now();
        let input = CertifyInput {
            threat: ThreatModel {
                target: self.target,
                task: subjects[0].task(),
            },
            median_norm: result.median_norm,
            watch: SampleCallbacks {
                on_samples: watch.on_samples,
                stop: watch.training.stop,
            },
        };
        let mut series: Vec<Series> = Vec::new();
        for subject in subjects {
            match subject.certify(certificate, &input)? {
                Some(found) if !watch.training.stopped() => series.push(found),
                _ => result.interrupted = true,
            }
        }
        if result.interrupted {
            return Ok(());
        }
        let seconds = start.elapsed().as_secs_f64();
        if let (OnData::Nodes(nodes), Some(first), true) =
            (&subjects[0], series.first(), self.attempts > 0)
        {
            let trial = Trial {
                threat: input.threat,
                count: self.attempts,
                seed: self.seed,
            };
            let tried = attempts(nodes, certificate, &first.nodes, trial, &watch.training)?;
            result.attempts.extend(tried);
        }
        let found = mean_of(certificate, input.threat, series, seconds);
        result.certificates.extend(found);
        Ok(())
    }
}

/// Certifies a fitted model for some nodes of a graph or graphs of a set. If none are named, they
/// are the test part of the data that the model was trained on, and everything in other data.
/// `None` if it was stopped.
pub fn certify(
    fitted: &Fitted,
    content: &Content,
    certificate: &Certificate,
    target: Target,
    items: Option<Vec<u32>>,
    watch: SampleCallbacks<'_>,
) -> Result<Option<Certified>> {
    let start = Instant::now();
    let task = content.task();
    if task != fitted.task() {
        let what = format!(
            "the model classifies {}s, and this is no such data",
            fitted.task()
        );
        return Err(Error::unsupported("certify", what));
    }
    let threat = ThreatModel { target, task };
    certificate.check_for(threat)?;
    certificate.check_model(fitted.plan(), target)?;
    let items = items.unwrap_or_else(|| held_out(fitted, content));
    let subject = OnData::of(fitted, content, items)?;
    let input = CertifyInput {
        threat,
        median_norm: subject.median_norm(),
        watch,
    };
    let series = subject.certify(certificate, &input)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(series.and_then(|series| mean_of(certificate, threat, vec![series], seconds)))
}

/// The test nodes or graphs of the data that a model was trained on; everything in other data.
fn held_out(fitted: &Fitted, content: &Content) -> Vec<u32> {
    let trained_on = fitted.trained_on();
    let test = trained_on.split.test();
    if !test.is_empty() && trained_on.fingerprint == content.fingerprint() {
        test.to_vec()
    } else {
        (0..content.num_items() as u32).collect()
    }
}

/// Certifies any classifier for some nodes of a graph, or for 0 if it classifies the graph. Refuses
/// certificates that need a network. `None` if it was stopped.
pub fn certify_any(
    model: &dyn Classifier,
    graph: &Graph,
    certificate: &Certificate,
    target: Target,
    items: Vec<u32>,
    seed: u64,
    watch: SampleCallbacks<'_>,
) -> Result<Option<Certified>> {
    let start = Instant::now();
    let threat = ThreatModel {
        target,
        task: Task::Node,
    };
    certificate.check_for(threat)?;
    check_any(certificate)?;
    let label = |u: u32| graph.labels().and_then(|labels| labels.get(u));
    let truth = (0..graph.num_nodes().max(1) as u32).map(label).collect();
    let on = AnyModel {
        model,
        graph,
        items: Items::new(items, truth)?,
        seed,
    };
    let input = CertifyInput {
        threat,
        median_norm: 0.0,
        watch,
    };
    let series = certificate.method().on_any(&on, &input)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(series.and_then(|series| mean_of(certificate, threat, vec![series], seconds)))
}

/// Refuses certificates that do not cover every classifier.
pub fn check_any(certificate: &Certificate) -> gnarl_graph::Result<()> {
    if certificate.method().requires().is_empty() {
        return Ok(());
    }
    let others = Certificate::names_of(|other| other.method().requires().is_empty());
    let what = format!("{certificate} needs a network of gnarl; {others} covers any model");
    Err(Error::unsupported("method", what))
}

/// A fitted model on data.
enum OnData<'a> {
    Nodes(Nodes<'a>),
    Graphs(Graphs<'a>),
}

impl<'a> OnData<'a> {
    /// A fitted model on its test nodes or graphs.
    fn new(fitted: &'a Fitted, content: &'a Content) -> Result<Self> {
        Self::of(fitted, content, fitted.trained_on().split.test().to_vec())
    }

    fn of(fitted: &'a Fitted, content: &'a Content, items: Vec<u32>) -> Result<Self> {
        Ok(match content {
            Content::Graph(graph) => OnData::Nodes(Nodes::new(fitted, graph, items)?),
            Content::Graphs(set) => OnData::Graphs(Graphs::new(fitted, set, items)?),
        })
    }

    fn task(&self) -> Task {
        match self {
            OnData::Nodes(_) => Task::Node,
            OnData::Graphs(_) => Task::Graph,
        }
    }

    fn items(&self) -> &Items {
        match self {
            OnData::Nodes(nodes) => &nodes.items,
            OnData::Graphs(graphs) => &graphs.items,
        }
    }

    fn median_norm(&self) -> f64 {
        match self {
            OnData::Nodes(nodes) => nodes.median_norm,
            OnData::Graphs(graphs) => graphs.median_norm,
        }
    }

    /// Certifies the model; `None` if it was stopped.
    fn certify(
        &self,
        certificate: &Certificate,
        input: &CertifyInput<'_>,
    ) -> Result<Option<Series>> {
        match self {
            OnData::Nodes(nodes) => certificate.method().on_nodes(nodes, input),
            OnData::Graphs(graphs) => certificate.method().on_graphs(graphs, input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use gnarl_graph::{DenseMatrix, GraphSet, Labels, Split};
    use gnarl_nn::networks::Backbone;
    use gnarl_nn::train::argmax;
    use gnarl_nn::weights::Orthonormal;
    use gnarl_robust::perturb::flipped;
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

    fn study(backbone: Backbone, target: Target, certificates: Vec<Certificate>) -> CertifyStudy {
        let model = Model::new(backbone).epochs(60);
        CertifyStudy::new(model, target, certificates).seed(3)
    }

    fn run(study: &CertifyStudy, on: &Benchmark) -> CertifyResult {
        study.run(on, &CertifyCallbacks::quiet()).unwrap()
    }

    /// Every flip, and every pair of flips, of a graph that is certified for that number.
    #[test]
    fn no_flips_within_its_radius_change_the_class_of_a_graph() {
        let on = small_set();
        let mut certified = 0;
        for backbone in [Backbone::GCN, Backbone::GIN] {
            let model = Model::new(backbone)
                .epochs(60)
                .layers(1)
                .hidden(4)
                .weights(Orthonormal::default());
            let lipschitz = Lipschitz {
                max_radius: 2,
                ..Lipschitz::default()
            };
            let study = CertifyStudy {
                model,
                ..study(backbone, Target::Edges, vec![lipschitz.into()])
            };
            let found = run(&study, &on);
            let fitted = study
                .model
                .ready(&on.name, &on.content, FitOptions::default())
                .unwrap();
            let fitted = fitted
                .fit(&on.splits[0], study.seed, &Callbacks::quiet())
                .unwrap();
            assert_eq!(found.certificates[0].nodes.len(), 5);
            let (attack_target, Content::Graphs(set)) = (fitted.attack_target(), &on.content)
            else {
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
                        let scores = attack_target
                            .scores(&flipped(&graph, &flips).unwrap())
                            .unwrap();
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

    fn smoothing(p_plus: f64, p_minus: f64) -> Smoothing {
        Smoothing {
            p_plus: Some(p_plus),
            p_minus: Some(p_minus),
            selection: 50,
            samples: 400,
            alpha: 0.05,
            ..Smoothing::default()
        }
    }

    fn assert_falling(certified: &Certified) {
        let is_share = |cell: &Cell| cell.accurate_share <= cell.share && cell.share <= 1.0;
        assert!(certified.certified.iter().all(is_share), "{certified:?}");
        assert!(certified.certified[0].share > 0.0, "{certified:?}");
    }

    #[test]
    fn graphs_are_certified_by_every_noise_and_by_moved_features() {
        let on = small_set();
        let gaussian = Smoothing {
            gaussian: Some(0.3),
            p_plus: None,
            p_minus: None,
            ..smoothing(0.0, 0.0)
        };
        let lipschitz = Lipschitz {
            radii: Some(RadiusList::new(&[0.0, 0.01, 10.0]).unwrap()),
            ..Lipschitz::default()
        };
        let of_features = study(
            Backbone::GIN,
            Target::Features,
            vec![
                smoothing(0.05, 0.3).into(),
                gaussian.into(),
                lipschitz.into(),
            ],
        );
        assert_eq!(of_features.samples(&on), 2 * 450 * 5);
        let edges = study(
            Backbone::GIN,
            Target::Edges,
            vec![smoothing(0.02, 0.2).into()],
        );
        let of_both = Smoothing {
            edge_p_plus: Some(0.02),
            edge_p_minus: Some(0.2),
            ..smoothing(0.05, 0.3)
        };
        let both = study(Backbone::GIN, Target::Both, vec![of_both.into()]);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        for study in [&of_features, &edges, &both] {
            let found = run(study, &on);
            assert_eq!(
                (found.certificates.len(), found.evaluated),
                (study.certificates.len(), 5)
            );
            found.certificates.iter().for_each(assert_falling);
            let again = pool.install(|| run(study, &on));
            for (one, other) in found.certificates.iter().zip(&again.certificates) {
                assert_eq!(
                    (&one.certified, &one.nodes),
                    (&other.certified, &other.nodes)
                );
            }
            if let Some(moved) = found.certificates.get(2) {
                let shares: Vec<f64> = moved.certified.iter().map(|cell| cell.share).collect();
                assert_eq!((shares[0], shares[2]), (1.0, 0.0));
            }
        }
    }

    #[test]
    fn invalid_settings_are_refused_before_training() {
        let on = small_set();
        let refusal = |study: &CertifyStudy| study.check(&on).unwrap_err().to_string();
        let convex = study(
            Backbone::GCN,
            Target::Features,
            vec![Convex::default().into()],
        );
        let e = refusal(&convex);
        assert!(e.contains("convex covers the nodes of one graph, not a set of graphs"));
        let lipschitz = || vec![Lipschitz::default().into()];
        let e = refusal(&study(Backbone::GAT, Target::Edges, lipschitz()));
        assert_eq!(
            e,
            "method: lipschitz covers gcn, gin, sgc and mlp, not gat; smoothing covers this model"
        );
        let attempts = study(Backbone::GCN, Target::Features, lipschitz()).attempts(5);
        let e = refusal(&attempts);
        assert!(
            e.contains("attacks the nodes of one graph, and small is a set"),
            "{e}"
        );
        let attacked = study(Backbone::GCN, Target::Features, lipschitz()).attacked(5);
        let e = refusal(&attacked);
        assert_eq!(
            e,
            "attacked: belongs to flips by lipschitz, exact and convex"
        );
        let unused = Lipschitz {
            max_radius: 3,
            ..Lipschitz::default()
        };
        let e = refusal(&study(Backbone::GCN, Target::Features, vec![unused.into()]));
        assert!(e.starts_with("max-radius: belongs to flips"), "{e}");
    }

    #[test]
    fn the_list_says_what_is_stored() {
        gnarl_graph::settings::assert_listed(
            Certificate::LIST,
            Certificate::all().map(|c| c.stored()),
        );
        assert_eq!(
            Certificate::LIST.iter().map(|c| c.name).collect::<Vec<_>>(),
            ["smoothing", "lipschitz", "exact", "convex"]
        );
        for certificate in Certificate::all() {
            let text = serde_json::to_string(&certificate).unwrap();
            assert_eq!(
                serde_json::from_str::<Certificate>(&text).unwrap(),
                certificate,
                "{text}"
            );
            assert!(!certificate.method().targets().is_empty());
        }
    }
}
