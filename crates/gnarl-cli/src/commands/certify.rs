//! `gnarl certify`: what no attacker within a radius can change of a model's answers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use gnarl::model::Model;
use gnarl::perturb::Norm;
use gnarl::robustness::certify::{Noise, Rule, Scope, Threat};
use gnarl::study::certify::{
    Asked, Attempts, Cell, Certificate, Certified, CertifyStudy, CertifyWatch, Method, Radius,
    SmoothingSettings, Survived, Target, binarised,
};
use gnarl::study::{Accuracy, forecast};
use gnarl::thesis::Recipe;
use gnarl::train::Watch;
use gnarl_graph::dataset::Task;
use gnarl_graph::{Content, Error, GraphSet};
use serde::Serialize;

use super::dry_run::{DryRun, Instead};
use super::model::{ModelArgs, ProtocolName};
use super::train::SpecReport;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Either, Report, real};
use crate::plot::{self, HeatMap, HeatMaps, Line, LineChart, Point};
use crate::progress;

const CERTIFICATE: &str = "The certificate";

/// `gnarl certify`
#[derive(Debug, Args)]
pub struct CertifyArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// smoothing (noise and votes, any model), lipschitz (margins of gcn, gin, sgc, mlp), exact
    /// (edges under appnp and sgc), convex (flips of binary features under gcn); several side by
    /// side, or all that apply to the target
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', required = true, help_heading = CERTIFICATE)]
    pub method: Vec<MethodName>,
    /// What an attacker changes: features, edges, or both (smoothing)
    /// [default: edges of exact, else features; edges where there are none]
    #[arg(long, help_heading = CERTIFICATE)]
    pub target: Option<Target>,
    /// Take features that are not zero for ones before anything is trained, as studies of binary
    /// features do with counts and weights
    #[arg(long, help_heading = CERTIFICATE)]
    pub binary: bool,
    /// Of smoothing: how often a 0 becomes a 1
    /// [default: 0.01 of features, 0.0001 of edges, 0.01 of those of sets]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub p_plus: Option<f64>,
    /// Of smoothing: how often a 1 becomes a 0 [default: 0.6 of features, 0.4 of edges]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub p_minus: Option<f64>,
    /// Of smoothing both: how often an edge comes [default: 0.0001, of sets 0.01]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub edge_p_plus: Option<f64>,
    /// Of smoothing both: how often an edge goes [default: 0.4]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub edge_p_minus: Option<f64>,
    /// Of smoothing: Gaussian noise of this deviation on features that are numbers, in place of
    /// flips
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub gaussian: Option<f64>,
    /// Of smoothing: draws that bound probabilities [default: 10000]
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub samples: Option<usize>,
    /// Of smoothing: draws of their own that choose each node's class [default: 1000]
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub selection: Option<usize>,
    /// Of smoothing: how often a certificate may be wrong [default: 0.01]
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub alpha: Option<f64>,
    /// Of smoothing: let alpha be for all test nodes at once, each with an equal share
    #[arg(long, help_heading = CERTIFICATE)]
    pub simultaneous: bool,
    /// Of smoothing: two-class (a class must keep more than half) or multi-class (more than any
    /// other) [default: two-class]
    #[arg(long, value_name = "KIND", help_heading = CERTIFICATE)]
    pub certificate: Option<Rule>,
    /// Of lipschitz on features: the norm, 1, 2, inf, or any number of at least 1 [default: 2]
    #[arg(long, value_name = "P", help_heading = CERTIFICATE)]
    pub norm: Option<Norm>,
    /// Of lipschitz on features: whose features move: one node's, whichever (one), every node's,
    /// each by the radius (every), or all together by the norm of the matrix (total) [default: one]
    #[arg(long, help_heading = CERTIFICATE)]
    pub scope: Option<Scope>,
    /// Of lipschitz on features: the radii
    /// [default: 0 to 0.5 of the median L2 norm of a node's features]
    #[arg(long, value_name = "X,…", value_delimiter = ',', allow_hyphen_values = true, help_heading = CERTIFICATE)]
    pub epsilon: Vec<f64>,
    /// Of flips by lipschitz, exact and convex: the largest number looked at [default: 10]
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub max_radius: Option<usize>,
    /// Of exact: which edges change: remove, add or both [default: remove, of all both]
    #[arg(long, help_heading = CERTIFICATE)]
    pub threat: Option<Threat>,
    /// Of convex: the most flips of one node [default: as many as in all]
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub local: Option<usize>,
    /// Attack so many test nodes by nettack, one at a time, and show what survives above what is
    /// certified
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub attacked: Option<usize>,
    /// Attack nodes inside the radii of every certificate without samples, so many times for each,
    /// and count those that change a class
    #[arg(long, value_name = "N", help_heading = CERTIFICATE)]
    pub attempts: Option<usize>,
    /// Runs, each a network of its own; of a set, folds
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
    /// Print what would be run and about how long it would take, by a few epochs of each model; run
    /// nothing
    #[arg(long, conflicts_with = "print_spec")]
    pub dry_run: bool,
    /// Write the shares to STEM.csv, STEM.svg and STEM.png; of smoothing by flips a heat map, and
    /// its edges as STEM-curves.svg and .png
    #[arg(long, value_name = "STEM")]
    pub output: Option<PathBuf>,
    /// Write class and radius of every test node, or test graph, of the first run to FILE.csv
    #[arg(long, value_name = "FILE.csv")]
    pub nodes: Option<PathBuf>,
}

/// What `--method` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MethodName {
    All,
    One(Method),
}

impl std::str::FromStr for MethodName {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("all") {
            Ok(MethodName::All)
        } else {
            name.parse().map(MethodName::One)
        }
    }
}

/// Everything needed to run it again.
#[derive(Debug, Serialize)]
struct Config {
    data: String,
    protocol: ProtocolName,
    recipe: Recipe,
    model: Model,
    binary: bool,
    runs: usize,
    seed: u64,
}

/// Of smoothing: what it was asked.
#[derive(Debug, Serialize)]
struct SmoothingReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    p_plus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p_minus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge_p_plus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge_p_minus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaussian: Option<f64>,
    samples: usize,
    selection: usize,
    alpha: f64,
    simultaneous: bool,
    certificate: Rule,
}

/// What `gnarl certify` found.
#[derive(Debug, Serialize)]
pub struct CertifyReport {
    data: String,
    model: String,
    target: Target,
    /// The first certificate.
    #[serde(flatten)]
    first: Certified,
    /// The others, where several were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Certified>,
    /// Certificates that do not apply, of `--method all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    survived: Vec<Survived>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<Attempts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothing: Option<SmoothingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_accuracy: Option<Accuracy>,
    /// Test nodes, or test graphs.
    judged: usize,
    /// The median L2 norm of a node's features, as the network takes them.
    median_norm: f64,
    train_seconds: f64,
    total_seconds: f64,
    config: Config,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// Whether nodes or graphs are certified.
    #[serde(skip)]
    item: &'static str,
    /// What a radius is, in words.
    #[serde(skip)]
    meanings: Vec<String>,
}

impl CertifyArgs {
    /// The methods by name; of `all` those that have anything to say of a target.
    fn methods(&self, target: Target) -> Vec<Method> {
        let of = |name: &MethodName| match (name, target) {
            (MethodName::One(method), _) => vec![*method],
            (MethodName::All, Target::Features) => {
                vec![Method::Smoothing, Method::Lipschitz, Method::Convex]
            }
            (MethodName::All, Target::Edges) => {
                vec![Method::Smoothing, Method::Lipschitz, Method::Exact]
            }
            (MethodName::All, Target::Both) => vec![Method::Smoothing],
        };
        let mut methods: Vec<Method> = Vec::new();
        for method in self.method.iter().flat_map(of) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }

    /// Refuses what is for the nodes of one graph.
    fn check_set(&self, name: &str) -> gnarl_graph::Result<()> {
        let refuse = |option: &'static str, what: &str| {
            Err(Error::argument(
                option,
                format!("{what}, and {name} is a set of graphs"),
            ))
        };
        for method in [Method::Exact, Method::Convex] {
            if self.method.contains(&MethodName::One(method)) {
                return refuse(
                    "--method",
                    &format!("{method} certifies the nodes of one graph"),
                );
            }
        }
        if self.attacked.is_some() {
            return refuse("--attacked", "attacks the nodes of one graph");
        }
        if self.attempts.is_some() {
            return refuse("--attempts", "attacks the nodes of one graph");
        }
        Ok(())
    }

    fn is_all(&self) -> bool {
        self.method.contains(&MethodName::All)
    }

    /// What is attacked where nobody said.
    fn target(&self, content: Option<&Content>) -> Target {
        let only_exact = self
            .method
            .iter()
            .all(|m| *m == MethodName::One(Method::Exact));
        let has_features = match content {
            None => true,
            Some(Content::Graph(graph)) => graph.features().is_some(),
            Some(Content::Graphs(set)) => {
                set.graphs().iter().any(|graph| graph.features().is_some())
            }
        };
        let usual = if only_exact || !has_features {
            Target::Edges
        } else {
            Target::Features
        };
        self.target.unwrap_or(usual)
    }

    /// Options of methods that were not asked for are refused, not ignored.
    fn check_options(&self, target: Target) -> gnarl_graph::Result<()> {
        let methods = self.methods(target);
        let flips_features = target == Target::Features && self.is_all();
        let lipschitz =
            methods.contains(&Method::Lipschitz) && target == Target::Features && !flips_features;
        let counts = methods
            .iter()
            .any(|m| matches!(m, Method::Exact | Method::Convex))
            || (methods.contains(&Method::Lipschitz) && !lipschitz);
        let smoothing = methods.contains(&Method::Smoothing);
        let of_flips = smoothing && self.gaussian.is_none();
        let given: [(&'static str, bool, bool, &str); 15] = [
            (
                "--p-plus",
                self.p_plus.is_some(),
                of_flips,
                "smoothing by flips",
            ),
            (
                "--p-minus",
                self.p_minus.is_some(),
                of_flips,
                "smoothing by flips",
            ),
            (
                "--edge-p-plus",
                self.edge_p_plus.is_some(),
                of_flips && target == Target::Both,
                "smoothing of --target both",
            ),
            (
                "--edge-p-minus",
                self.edge_p_minus.is_some(),
                of_flips && target == Target::Both,
                "smoothing of --target both",
            ),
            (
                "--gaussian",
                self.gaussian.is_some(),
                smoothing && target == Target::Features,
                "smoothing of features",
            ),
            ("--samples", self.samples.is_some(), smoothing, "smoothing"),
            (
                "--selection",
                self.selection.is_some(),
                smoothing,
                "smoothing",
            ),
            ("--alpha", self.alpha.is_some(), smoothing, "smoothing"),
            ("--simultaneous", self.simultaneous, smoothing, "smoothing"),
            (
                "--certificate",
                self.certificate.is_some(),
                smoothing,
                "smoothing",
            ),
            (
                "--norm",
                self.norm.is_some(),
                lipschitz,
                "lipschitz on features",
            ),
            (
                "--scope",
                self.scope.is_some(),
                lipschitz,
                "lipschitz on features",
            ),
            (
                "--epsilon",
                !self.epsilon.is_empty(),
                lipschitz,
                "lipschitz on features",
            ),
            (
                "--max-radius",
                self.max_radius.is_some(),
                counts,
                "flips by lipschitz, exact and convex",
            ),
            (
                "--threat",
                self.threat.is_some(),
                methods.contains(&Method::Exact),
                "exact",
            ),
        ];
        for (name, is_given, applies, whose) in given {
            if is_given && !applies {
                return Err(Error::argument(name, format!("belongs to {whose}")));
            }
        }
        if self.local.is_some() && !methods.contains(&Method::Convex) {
            return Err(Error::argument("--local", "belongs to convex"));
        }
        if self.attempts.is_some() && methods.iter().all(|m| *m == Method::Smoothing) {
            return Err(Error::argument(
                "--attempts",
                "belongs to lipschitz, exact and convex",
            ));
        }
        if self.attacked.is_some() && !counts {
            return Err(Error::argument(
                "--attacked",
                "belongs to flips by lipschitz, exact and convex",
            ));
        }
        Ok(())
    }

    /// The certificates, checked before anything is loaded.
    fn certificates(&self, target: Target, task: Task) -> gnarl_graph::Result<Vec<Certificate>> {
        self.check_options(target)?;
        let asked = Asked {
            p_plus: self.p_plus,
            p_minus: self.p_minus,
            edge_p_plus: self.edge_p_plus,
            edge_p_minus: self.edge_p_minus,
            gaussian: self.gaussian,
            samples: self.samples,
            selection: self.selection,
            alpha: self.alpha,
            simultaneous: self.simultaneous,
            rule: self.certificate,
            norm: self.norm,
            scope: self.scope,
            radii: self.epsilon.clone(),
            // Side by side with others that count flips.
            counted: self.is_all() && task == Task::Node,
            max_radius: self.max_radius,
            threat: self.threat.or(self.is_all().then_some(Threat::Both)),
            local: self.local,
        };
        self.methods(target)
            .into_iter()
            .map(|method| asked.certificate(method, target, task))
            .collect()
    }
}

/// Fits, then certifies.
pub fn run(global: &Global, args: &CertifyArgs) -> anyhow::Result<Either<Instead, CertifyReport>> {
    // A wrong option should not wait for the data.
    args.certificates(args.target(None), Task::Node)?;
    let (data, mut benchmark) = args.model.benchmark(global, args.runs)?;
    if args.binary {
        benchmark.content = match &benchmark.content {
            Content::Graph(graph) => Content::Graph(binarised(graph)?),
            Content::Graphs(set) => {
                let graphs = set
                    .graphs()
                    .iter()
                    .map(binarised)
                    .collect::<gnarl_graph::Result<Vec<_>>>()?;
                Content::Graphs(GraphSet::new(
                    graphs,
                    set.labels().clone(),
                    set.num_node_labels(),
                )?)
            }
        };
    }
    let task = benchmark.content.task();
    if task == Task::Graph {
        args.check_set(&data.name)?;
    }
    let target = args.target(Some(&benchmark.content));
    let mut certificates = args.certificates(target, task)?;
    let part = certificates.first().map(Certificate::moved_part);
    let model = args
        .model
        .model_with(&data.name, task, |model| match part {
            Some(part) => model.inference(model.inference.on(part)),
            None => model,
        })?;
    if args.model.print_spec {
        return Ok(Either::Left(Either::Left(SpecReport::new(&model, task)?)));
    }
    let plan = model.plan(task)?;
    let mut refused = Vec::new();
    if args.is_all() {
        certificates.retain(|certificate| match certificate.refusal(&plan) {
            Some(why) => {
                refused.push(why);
                false
            }
            None => true,
        });
    }
    let item = if task == Task::Node { "node" } else { "graph" };
    let meanings = certificates
        .iter()
        .map(|certificate| meaning(certificate, target, item))
        .collect();
    let smoothing = certificates
        .iter()
        .find_map(|certificate| match certificate {
            Certificate::Smoothing(settings) => Some(SmoothingReport::new(settings)),
            _ => None,
        });
    let study = CertifyStudy {
        model,
        certificates,
        attacked: args.attacked.unwrap_or(0),
        attempts: args.attempts.unwrap_or(0),
        runs: args.runs,
        seed: global.seed,
    };
    study.check()?;
    if args.dry_run {
        let passes = forecast::passes(&benchmark.content, study.samples(&benchmark));
        let methods: Vec<String> = study
            .certificates
            .iter()
            .map(|c| c.method().to_string())
            .collect();
        let name = format!("{}, {}", model.backbone, methods.join(" and "));
        let cell = forecast::Planned {
            name,
            model: Ok(model),
            fits: args.runs,
            passes,
        };
        let left_out = "certificates that draw no samples, and attacks".to_string();
        let planned = DryRun::new(global, "certify", &benchmark, &[cell], Some(left_out))?;
        return Ok(Either::Left(Either::Right(planned)));
    }
    let bar = progress::steps(
        &format!("{} on {}", model.backbone, data.name),
        study.epochs(&benchmark)? + study.samples(&benchmark),
    );
    let on_epoch = |_: usize, _: &_| bar.inc(1);
    let watch = CertifyWatch {
        training: Watch::new(&on_epoch, interrupt::flag()),
        on_samples: &|count| bar.inc(count as u64),
    };
    let result = study.run(&benchmark, &watch)?;
    bar.finish_and_clear();
    let mut found = result.certificates.into_iter();
    let (Some(first), false) = (found.next(), result.interrupted) else {
        return Err(Interrupted {
            finished: 0,
            asked: study.certificates.len(),
        }
        .into());
    };
    let mut report = CertifyReport {
        data: data.name.clone(),
        model: model.backbone.to_string(),
        target,
        first,
        others: found.collect(),
        refused,
        survived: result.survived,
        attempts: result.attempts,
        smoothing,
        test_accuracy: result.test_accuracy,
        judged: result.judged,
        item,
        median_norm: result.median_norm,
        train_seconds: result.train_seconds,
        total_seconds: result.seconds,
        config: Config {
            data: data.name,
            protocol: args.model.protocol,
            recipe: args.model.recipe,
            model: plan.model,
            binary: args.binary,
            runs: args.runs,
            seed: global.seed,
        },
        files: Vec::new(),
        meanings,
    };
    if let Some(stem) = &args.output {
        report.write(stem)?;
    }
    if let Some(file) = &args.nodes {
        output::write_whole(file, report.nodes(&benchmark.content))?;
        report.files.push(file.display().to_string());
    }
    Ok(Either::Right(report))
}

/// What a certificate promises, in words.
fn meaning(certificate: &Certificate, target: Target, item: &str) -> String {
    match certificate {
        Certificate::Smoothing(SmoothingSettings {
            noise: Noise::Gaussian(sigma),
            samples,
            alpha,
            ..
        }) => format!(
            "smoothing: features of all nodes moved by less than the radius (Frobenius), deviation {sigma}, {samples} samples, level {alpha}"
        ),
        Certificate::Smoothing(SmoothingSettings {
            samples,
            alpha,
            simultaneous,
            ..
        }) => {
            let what = match target {
                Target::Features => "r_add features added and r_delete deleted, anywhere",
                Target::Edges => "r_add edges added and r_delete deleted, anywhere",
                Target::Both => "features and edges flipped, anywhere",
            };
            let whose = if *simultaneous {
                format!("for all test {item}s at once")
            } else {
                format!("for each {item}")
            };
            format!("smoothing: {what}, {samples} samples, level {alpha} {whose}")
        }
        Certificate::LipschitzFeatures { norm, scope, .. } => {
            let whose = match scope {
                Scope::One => "of one node, whichever, moved",
                Scope::Every => "of every node moved, each",
                Scope::Total => "of all nodes together moved",
            };
            format!("lipschitz: features {whose} by less than the radius (L{norm})")
        }
        Certificate::LipschitzFlips { .. } => {
            "lipschitz: so many binary features flipped, anywhere".into()
        }
        Certificate::LipschitzEdges { .. } => "lipschitz: so many edges flipped, anywhere".into(),
        Certificate::Exact { threat, .. } => {
            let what = match threat {
                Threat::Both => "flipped",
                Threat::Remove => "removed",
                Threat::Add => "added",
            };
            format!("exact: so many edges {what} at every node")
        }
        Certificate::Convex { local, .. } => {
            let of_one = local.map_or(String::new(), |q| format!(", at most {q} of one node"));
            format!("convex: so many features flipped{of_one}")
        }
    }
}

impl SmoothingReport {
    fn new(settings: &SmoothingSettings) -> Self {
        let (mut flips, mut edges, mut gaussian) = (None, None, None);
        match settings.noise {
            Noise::Features(noise) | Noise::Edges(noise) => flips = Some(noise),
            Noise::Both {
                features,
                edges: of_edges,
            } => (flips, edges) = (Some(features), Some(of_edges)),
            Noise::Gaussian(sigma) => gaussian = Some(sigma),
        }
        Self {
            p_plus: flips.map(|n| n.p_plus),
            p_minus: flips.map(|n| n.p_minus),
            edge_p_plus: edges.map(|n| n.p_plus),
            edge_p_minus: edges.map(|n| n.p_minus),
            gaussian,
            samples: settings.samples,
            selection: settings.selection,
            alpha: settings.alpha,
            simultaneous: settings.simultaneous,
            certificate: settings.rule,
        }
    }
}

impl CertifyReport {
    fn all(&self) -> impl Iterator<Item = &Certified> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether it is one table of additions and deletions.
    fn grid(&self) -> Option<Grid<'_>> {
        if self.others.is_empty() && self.survived.is_empty() {
            Grid::of(&self.first.certified)
        } else {
            None
        }
    }

    fn write(&mut self, stem: &Path) -> anyhow::Result<()> {
        let title = format!("{} on {}: certified accuracy", self.model, self.data);
        self.files = match self.grid() {
            Some(grid) => {
                let map = HeatMaps {
                    title: title.clone(),
                    x_label: "deletions".into(),
                    y_label: "additions".into(),
                    value_label: "S, %".into(),
                    framed: true,
                    maps: vec![grid.heat_map()],
                };
                let mut files = plot::write_with_table(&map, self.csv(), stem)?;
                let mut curves = stem.as_os_str().to_os_string();
                curves.push("-curves");
                let drawn = plot::write(&grid.curves(title), Path::new(&curves))?;
                files.extend(drawn.iter().map(|file| file.display().to_string()));
                files
            }
            None => plot::write_with_table(&self.chart(title), self.csv(), stem)?,
        };
        Ok(())
    }

    fn csv(&self) -> String {
        let mut text = String::from(
            "method,radius,r_add,r_delete,edges_add,edges_delete,share,accurate_share\n",
        );
        // Writing to a string cannot fail.
        for certified in self.all() {
            for Cell {
                radius,
                share,
                accurate_share,
            } in &certified.certified
            {
                let place = match radius {
                    Radius::One { radius } => format!("{radius},,,,"),
                    Radius::Flips { r_add, r_delete } => format!(",{r_add},{r_delete},,"),
                    Radius::Both {
                        r_add,
                        r_delete,
                        edges_add,
                        edges_delete,
                    } => {
                        format!(",{r_add},{r_delete},{edges_add},{edges_delete}")
                    }
                };
                let _ = writeln!(
                    text,
                    "{},{place},{share},{accurate_share}",
                    certified.method
                );
            }
            for Cell {
                radius,
                share,
                accurate_share,
            } in &certified.by_flips
            {
                if let Radius::One { radius } = radius {
                    let _ = writeln!(
                        text,
                        "{} by flips,{radius},,,,,{share},{accurate_share}",
                        certified.method
                    );
                }
            }
        }
        for Survived {
            radius,
            share,
            accurate_share,
        } in &self.survived
        {
            let _ = writeln!(text, "nettack,{radius},,,,,{share},{accurate_share}");
        }
        text
    }

    fn nodes(&self, content: &Content) -> String {
        let (kind, labels) = match content {
            Content::Graph(graph) => ("node", graph.labels()),
            Content::Graphs(set) => ("graph", Some(set.labels())),
        };
        let mut text = format!("method,{kind},class,right,radius,deletions\n");
        let class = |class: usize| {
            labels.map_or_else(|| class.to_string(), |labels| labels.name(class as u32))
        };
        let item = |item: u32| match content {
            Content::Graph(graph) => graph.node_name(item),
            Content::Graphs(_) => item.to_string(),
        };
        for certified in self.all() {
            for n in &certified.nodes {
                let right = n.truth.map_or(String::new(), |truth| {
                    (truth as usize == n.class).to_string()
                });
                let deletions = n.deletions.map_or(String::new(), |d| d.to_string());
                let (node, class) = (item(n.node), class(n.class));
                let _ = writeln!(
                    text,
                    "{},{node},{class},{right},{},{deletions}",
                    certified.method, n.radius
                );
            }
        }
        text
    }

    fn chart(&self, title: String) -> LineChart {
        let mut lines: Vec<Line> = self.survived.is_empty().then(Vec::new).unwrap_or_else(|| {
            let point = |s: &Survived| Point {
                x: s.radius,
                y: 100.0 * s.accurate_share,
                band: None,
            };
            vec![Line {
                name: "survives nettack".into(),
                points: self.survived.iter().map(point).collect(),
            }]
        });
        for certified in self.all() {
            let cells = if certified.by_flips.is_empty() {
                &certified.certified
            } else {
                &certified.by_flips
            };
            let point = |cell: &Cell| match cell.radius {
                Radius::One { radius } => Some(Point {
                    x: radius,
                    y: 100.0 * cell.accurate_share,
                    band: None,
                }),
                _ => None,
            };
            lines.push(Line {
                name: certified.method.to_string(),
                points: cells.iter().filter_map(point).collect(),
            });
        }
        LineChart {
            title,
            x_label: "radius".into(),
            y_label: "certified and right, %".into(),
            lines,
        }
    }
}

/// S(r_a, r_d) as a table.
struct Grid<'a> {
    additions: usize,
    deletions: usize,
    cells: &'a [Cell],
}

impl<'a> Grid<'a> {
    fn of(cells: &'a [Cell]) -> Option<Self> {
        match cells.last()?.radius {
            Radius::Flips { r_add, r_delete } => Some(Self {
                additions: r_add,
                deletions: r_delete,
                cells,
            }),
            _ => None,
        }
    }

    fn at(&self, additions: usize, deletions: usize) -> f64 {
        100.0 * self.cells[additions * (self.deletions + 1) + deletions].accurate_share
    }

    fn heat_map(&self) -> HeatMap {
        let to = |most: usize| (0..=most).map(|i| i as f64).collect();
        HeatMap {
            title: "S(additions, deletions)".into(),
            x: to(self.deletions),
            y: to(self.additions),
            values: self
                .cells
                .iter()
                .map(|cell| 100.0 * cell.accurate_share)
                .collect(),
        }
    }

    fn curves(&self, title: String) -> LineChart {
        let line = |name: &str, most: usize, of: &dyn Fn(usize) -> f64| Line {
            name: name.into(),
            points: (0..=most)
                .map(|r| Point {
                    x: r as f64,
                    y: of(r),
                    band: None,
                })
                .collect(),
        };
        LineChart {
            title,
            x_label: "radius, the other at 0".into(),
            y_label: "certified and right, %".into(),
            lines: vec![
                line("additions", self.additions, &|r| self.at(r, 0)),
                line("deletions", self.deletions, &|r| self.at(0, r)),
            ],
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn radius_text(radius: &Radius) -> String {
    match radius {
        Radius::One { radius } => real(*radius),
        Radius::Flips { r_add, r_delete } => format!("{r_add} additions, {r_delete} deletions"),
        Radius::Both {
            r_add,
            r_delete,
            edges_add,
            edges_delete,
        } => {
            format!("{r_add} and {r_delete} of features, {edges_add} and {edges_delete} of edges")
        }
    }
}

impl Report for CertifyReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} on {}: test accuracy {}, {} test {}s, {} run{}\n",
            self.model,
            self.data,
            self.test_accuracy
                .as_ref()
                .map_or_else(|| "-".into(), Accuracy::text),
            self.judged,
            self.item,
            self.config.runs,
            if self.config.runs == 1 { "" } else { "s" },
        );
        for (certified, meaning) in self.all().zip(&self.meanings) {
            text += &format!("\n{meaning}\n");
            if certified.median_radius.is_some() && self.target == Target::Features {
                text += &format!(
                    "median L2 norm of a node's features {}\n",
                    real(self.median_norm)
                );
            }
            if let Some(accuracy) = certified.smoothed_accuracy {
                text += &format!("accuracy of the smoothed classifier {accuracy:.2}\n");
            }
            if let Some(radius) = &certified.certifiable {
                text += &format!("these samples certify at most {}\n", radius_text(radius));
            }
            if let Some(radius) = &certified.max_radius {
                text += &format!(
                    "largest radius of a test {}: {}\n",
                    self.item,
                    radius_text(radius)
                );
            } else {
                text += &format!("no test {} is certified at any radius\n", self.item);
            }
            let table = match Grid::of(&certified.certified) {
                Some(grid) => {
                    text += "certified and right, %: additions down, deletions to the right\n";
                    let mut headers = vec![">".to_string()];
                    headers.extend((0..=grid.deletions).map(|d| format!(">{d}")));
                    let mut table =
                        output::table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
                    for a in 0..=grid.additions {
                        let cells = (0..=grid.deletions).map(|d| format!("{:.1}", grid.at(a, d)));
                        table.add_row(std::iter::once(a.to_string()).chain(cells));
                    }
                    table
                }
                None => {
                    let mut table =
                        output::table(&["radius", ">certified, %", ">certified and right, %"]);
                    for cell in &certified.certified {
                        table.add_row([
                            radius_text(&cell.radius),
                            percent(cell.share),
                            percent(cell.accurate_share),
                        ]);
                    }
                    table
                }
            };
            text += &output::render(&table);
        }
        if !self.survived.is_empty() {
            let mut table =
                output::table(&["flips", ">survive nettack, %", ">survive and right, %"]);
            for s in &self.survived {
                table.add_row([real(s.radius), percent(s.share), percent(s.accurate_share)]);
            }
            text += &format!(
                "\nnettack on test nodes, one at a time\n{}",
                output::render(&table)
            );
        }
        for Attempts {
            method,
            made,
            broken,
        } in &self.attempts
        {
            let found = if *broken == 0 {
                "none changed a class".into()
            } else {
                format!("{broken} CHANGED A CLASS")
            };
            text += &format!("\n{made} attacks inside radii of {method}: {found}\n");
        }
        for why in &self.refused {
            text += &format!("\n{why}\n");
        }
        let seconds: f64 = self.all().map(|certified| certified.seconds).sum();
        text += &format!(
            "\ntraining {} s, certificates {} s\n",
            real(self.train_seconds),
            real(seconds)
        );
        if !self.files.is_empty() {
            text += &format!("written: {}\n", self.files.join(", "));
        }
        text
    }
}
