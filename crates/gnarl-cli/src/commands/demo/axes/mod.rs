//! `gnarl` without a command: measures the five axes on Cora, each alone and all together.
//!
//! Inputs are clean, under noise and under flipped edges. The page also shows an exit for every
//! node, a certificate, and augmentation on MUTAG. All results come from the studies of the
//! library, on data that is part of the program.
//!
//! | file | contents |
//! | --- | --- |
//! | `text` | the printed text |
//! | `page` | the HTML page |

mod page;
mod text;

use std::path::Path;
use std::time::Instant;

use gnarl::augment::Gratin;
use gnarl::model::{Fitted, Model};
use gnarl::study::Accuracy;
use gnarl::study::axes::{AxesStudy, Switched, UnderAttacks, Which};
use gnarl::study::certify::{
    CertifiedNode, CertifyCallbacks, CertifyResult, CertifyStudy, Lipschitz, Radius, Target,
};
use gnarl::study::portrait::{Portrait, Walk, portrait, walk};
use gnarl::study::train::{AugmentationReport, DepthReport, TrainStudy};
use gnarl_data::{Benchmark, Content};
use gnarl_data::{Task, protocol_folds, protocol_splits};
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Graph, Split};
use gnarl_nn::depth::{Exits, Kind};
use gnarl_nn::networks::Backbone;
use gnarl_nn::operator::{Cgso, Initialisation};
use gnarl_nn::train::Callbacks;
use gnarl_nn::weights::Orthonormal;
use gnarl_robust::attack::Attack;
use gnarl_robust::attack::dice::Dice;
use gnarl_robust::attack::gaussian::Gaussian;
use gnarl_robust::attack::grbcd::Grbcd;
use serde::Serialize;

use super::{check_writable, refuse};
use crate::commands::load;
use crate::global::Global;
use crate::interrupt::{self, Interrupted};
use crate::{output, progress};

/// Number of runs of every row on Cora; all rows have the same seeds.
const RUNS: usize = 3;
/// Number of epochs of every training: fewer than the default of 200, so that all of it takes less
/// than a minute.
const EPOCHS: usize = 80;
/// Last exit of the model with all axes together, which also has a fixed initialisation of the
/// operator. Six exits, each with an initialisation selected among all, would take minutes.
const LAST_OF_ALL: usize = 2;
const INIT_OF_ALL: Initialisation = Initialisation::Of(ClassicalOperator::NORMALISED_ADJACENCY);
/// Noise budget of [GCORN](https://arxiv.org/abs/2404.17947)'s study, and the share of edges that
/// DICE removes within classes and adds between them.
const NOISE: f64 = 0.5;
const FLIPS: f64 = 0.1;
/// Share of the edges that the attack on the page flips, and the number of graph states shown.
const WALKED: f64 = 0.05;
const WALK_STEPS: usize = 24;
/// Number of propagation steps among which adaptive depth chooses.
const STEPS: usize = 3;
/// Number of parts, for progress.
const PARTS: usize = 5;

/// Suggested next commands.
const NEXT: [(&str, &str); 5] = [
    (
        "gnarl train --data cora --model gcn --depth admp-st",
        "train one of these rows, with every setting",
    ),
    (
        "gnarl advise --data cora --runs 2",
        "recommend axes, without test labels",
    ),
    (
        "gnarl attack --data cora --model gcn --attack dice",
        "measure the accuracy under an attack on edges",
    ),
    (
        "gnarl --tour karate",
        "train plain models on the karate club (34 nodes)",
    ),
    (
        "gnarl data list",
        "list all datasets; `gnarl data get NAME` downloads one",
    ),
];

/// Results of the tour.
#[derive(Debug, Serialize)]
pub struct AxesTour {
    seed: u64,
    runs: usize,
    epochs: usize,
    cora: CoraFacts,
    noise: Attack,
    flips: Attack,
    rows: Vec<Row>,
    depth: DepthReport,
    certificates: Vec<CertificateRow>,
    mutag: MutagReport,
    /// Attack on the first plain model, flip by flip.
    walk: Walk,
    /// File of the page.
    report: String,
    /// Seconds of the whole tour.
    seconds: f64,
    next: Vec<&'static str>,
}

/// Statistics of Cora.
#[derive(Debug, Serialize)]
struct CoraFacts {
    nodes: usize,
    edges: usize,
    words: usize,
    classes: usize,
    train: usize,
    validate: usize,
    test: usize,
}

/// Accuracy of a combination of axes, clean and attacked. Differences are to the plain row, run by
/// run.
#[derive(Debug, Serialize)]
struct Row {
    axis: &'static str,
    choice: String,
    clean: WithDifference,
    noise: WithDifference,
    flips: WithDifference,
    seconds: f64,
    /// Mean validation accuracy by epoch of the last training of each run; empty for rows with
    /// several trainings.
    #[serde(skip)]
    curve: Vec<f64>,
}

/// Accuracy over runs, and its difference to the plain row.
#[derive(Debug, Serialize)]
struct WithDifference {
    #[serde(flatten)]
    accuracy: Accuracy,
    #[serde(skip_serializing_if = "Option::is_none")]
    minus_plain: Option<PairedDifference>,
}

/// Certificate of a model, over runs.
#[derive(Debug, Serialize)]
struct CertificateRow {
    weights: &'static str,
    /// Test accuracy of the same models.
    accuracy: Accuracy,
    /// Radii: perturbation of the features of one paper, as a share of the median norm.
    shares: Vec<f64>,
    radii: Vec<f64>,
    /// Certified accuracy at each radius: per cent of test nodes that are correct and cannot
    /// change.
    certified: Vec<Accuracy>,
    /// Difference to the plain row's certified accuracy, run by run.
    #[serde(skip_serializing_if = "Option::is_none")]
    minus_plain: Option<Vec<PairedDifference>>,
    #[serde(skip)]
    nodes: Vec<CertifiedNode>,
}

/// Results of GIN on MUTAG.
#[derive(Debug, Serialize)]
struct MutagReport {
    graphs: usize,
    folds: usize,
    epochs: usize,
    with: Accuracy,
    augmentation: AugmentationReport,
}

/// Reports on standard error which part is running, one line each, if a terminal shows it.
struct Progress {
    start: Instant,
    part: usize,
    quiet: bool,
}

impl Progress {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            part: 0,
            quiet: !progress::is_watched(),
        }
    }

    fn next(&mut self, what: &str) {
        self.part += 1;
        if !self.quiet {
            eprintln!(
                "[{}/{PARTS}, {:>2.0} s] {what}",
                self.part,
                self.start.elapsed().as_secs_f64()
            );
        }
    }

    /// Returns the error of a tour that is stopped in the current part.
    fn interrupted(&self) -> Interrupted {
        Interrupted {
            finished: self.part - 1,
            requested: PARTS,
        }
    }
}

/// Runs every part, writes the page, and returns the report.
pub fn run(global: &Global, file: &Path, rough: Option<usize>) -> anyhow::Result<AxesTour> {
    check_writable(file)?;
    let mut progress = Progress::new();
    let callbacks = Callbacks::stopped_by(interrupt::flag());
    let with_epochs = |model: Model| model.epochs(rough.unwrap_or(EPOCHS));
    let plain = with_epochs(Model::new(Backbone::GCN));

    let cora = cora(global)?;
    progress.next(
        "the five axes on Cora, each alone and all together: clean, with noise, with flipped edges",
    );
    let (plain_results, rows) = axes(plain, &cora, global.seed, &callbacks)
        .map_err(|e| finished(e, &callbacks, progress.interrupted()))?;

    progress.next("adaptive depth: an exit for every paper");
    let (depth, deep) = adaptive_depth(plain, &cora, global.seed, &callbacks)?
        .ok_or_else(|| progress.interrupted())?;

    progress.next("certified accuracy under changed words");
    let certificates = certificates(plain, &cora, global.seed, &callbacks)?;
    if callbacks.stopped() {
        return Err(progress.interrupted().into());
    }

    progress.next("MUTAG by GIN, with and without augmentation");
    let mutag = mutag(global, &with_epochs, &callbacks)?.ok_or_else(|| progress.interrupted())?;

    progress.next("an attack flip by flip, and the page");
    let first = &plain_results.models[0];
    let (graph, split) = (cora.content.graph()?, &cora.splits[0]);
    let walk = walk(
        first,
        graph,
        split,
        &walked_attack(rough.is_some()).into(),
        global.seed,
        WALK_STEPS,
    )?;
    let page_data = PageData {
        graph,
        split,
        plain: portrait(first, &cora.content, split)?,
        deep: portrait(&deep, &cora.content, split)?,
    };
    let mut report = AxesTour {
        seed: global.seed,
        runs: RUNS,
        epochs: plain.plan(Task::Node)?.training.epochs,
        cora: CoraFacts::of(graph, split),
        noise: Gaussian::budget(NOISE).into(),
        flips: Dice::budget(FLIPS).into(),
        rows,
        depth,
        certificates,
        mutag,
        walk,
        report: file.display().to_string(),
        seconds: 0.0,
        next: NEXT.map(|(command, _)| command).to_vec(),
    };
    if callbacks.stopped() {
        return Err(progress.interrupted().into());
    }
    output::write_whole(file, page::page(&report, &page_data)?)
        .map_err(|e| refuse(file, &e.to_string()))?;
    report.seconds = progress.start.elapsed().as_secs_f64();
    Ok(report)
}

/// Returns the attack that the page shows flip by flip; a rough one has fewer steps.
fn walked_attack(is_rough: bool) -> Grbcd {
    Grbcd {
        steps: if is_rough { 5 } else { 40 },
        block_size: 50_000,
        ..Grbcd::budget(WALKED)
    }
}

/// Trains a model with an exit for every depth; `None` if it was interrupted.
fn adaptive_depth(
    plain: Model,
    on: &Benchmark,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> anyhow::Result<Option<(DepthReport, Fitted)>> {
    let study = TrainStudy {
        runs: RUNS,
        seed,
        policies: vec![Kind::USUAL],
        ..TrainStudy::new(plain.depth(Exits::st(STEPS)))
    };
    let trained = study.run(on, callbacks)?;
    if trained.unfinished > 0 {
        return Ok(None);
    }
    let no_result = || anyhow::anyhow!("a model with exits has no results of its exits");
    let depth = trained
        .depth(&study.policies, Kind::USUAL)?
        .ok_or_else(no_result)?;
    Ok(Some((depth, trained.kept.ok_or_else(no_result)?)))
}

/// Data that the page shows in addition to the report: one run, node by node.
struct PageData<'a> {
    graph: &'a Graph,
    split: &'a Split,
    /// Portrait of the first plain model.
    plain: Portrait,
    /// Portrait of the first model with adaptive depth.
    deep: Portrait,
}

/// Returns the error, or the interruption if the user requested one.
fn finished(
    error: anyhow::Error,
    callbacks: &Callbacks<'_>,
    interrupted: Interrupted,
) -> anyhow::Error {
    if callbacks.stopped() {
        interrupted.into()
    } else {
        error
    }
}

impl CoraFacts {
    fn of(graph: &Graph, split: &Split) -> Self {
        Self {
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            words: graph.features().map_or(0, |f| f.num_cols()),
            classes: graph.labels().map_or(0, |l| l.num_classes()),
            train: split.train().len(),
            validate: split.val().len(),
            test: split.test().len(),
        }
    }
}

fn cora(global: &Global) -> anyhow::Result<Benchmark> {
    let loaded = load(global, "cora")?;
    let (graph, splits) = protocol_splits(&loaded, global.seed, RUNS)?;
    Ok(Benchmark {
        name: loaded.name,
        content: Content::Graph(graph),
        splits,
    })
}

/// Runs the plain model, every axis alone at its defaults, and all axes with orthonormal weights, a
/// fixed initialisation of the operator and fewer exits.
fn axes(
    plain: Model,
    on: &Benchmark,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> anyhow::Result<(UnderAttacks, Vec<Row>)> {
    let study = |model: Model| {
        AxesStudy::new(model)
            .runs(RUNS)
            .seed(seed)
            .which(Which::Alone)
    };
    let choices: Vec<Switched> = Switched::all(Task::Node)
        .into_iter()
        .filter(|s| s.axis != "weights" || s.choice == "orthonormal")
        .collect();
    let mut combinations = vec![("plain", "GCN".to_string(), study(plain), Vec::new())];
    for &one in &choices {
        let axis = if one.axis == "augment" {
            "data"
        } else {
            one.axis
        };
        combinations.push((axis, one.choice.to_string(), study(plain), vec![one]));
    }
    let operator = Cgso {
        init: INIT_OF_ALL,
        ..Cgso::default()
    };
    let together = plain.operator(operator).depth(Exits::st(LAST_OF_ALL));
    let count = choices.len();
    let others = choices
        .into_iter()
        .filter(|s| !["operator", "depth"].contains(&s.axis))
        .collect();
    combinations.push(("all", format!("{count} together"), study(together), others));
    let attacks = [Gaussian::budget(NOISE).into(), Dice::budget(FLIPS).into()];
    let bar = progress::steps("  models", combinations.len() as u64);
    // The models of the other rows are dropped: together they take more memory than the rest.
    let (mut first, mut rows): (Option<UnderAttacks>, Vec<Row>) = (None, Vec::new());
    for (axis, choice, study, switched) in &combinations {
        let one = study.under_attacks(switched, &attacks, on, callbacks)?;
        rows.push(row(axis, choice, &one, first.as_ref())?);
        first.get_or_insert(one);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let first = first.ok_or_else(|| anyhow::anyhow!("no row was run"))?;
    Ok((first, rows))
}

/// Builds a row of the table; the plain row has no predecessor.
fn row(
    axis: &'static str,
    choice: &str,
    one: &UnderAttacks,
    plain: Option<&UnderAttacks>,
) -> anyhow::Result<Row> {
    let evaluated = |of: fn(&UnderAttacks) -> &Accuracy| -> anyhow::Result<WithDifference> {
        let minus = plain.map(|plain| paired_difference(&of(one).runs, &of(plain).runs));
        Ok(WithDifference {
            accuracy: of(one).clone(),
            minus_plain: minus.transpose()?,
        })
    };
    Ok(Row {
        axis,
        choice: choice.to_string(),
        clean: evaluated(|u| &u.clean)?,
        noise: evaluated(|u| &u.attacked[0])?,
        flips: evaluated(|u| &u.attacked[1])?,
        seconds: one.seconds,
        curve: curve(one),
    })
}

/// Returns the mean validation accuracy by epoch, over runs that trained once.
fn curve(one: &UnderAttacks) -> Vec<f64> {
    let curves: Option<Vec<Vec<f64>>> = (one.models.iter())
        .map(|model| match &model.report().trained[..] {
            [only] => only
                .curve
                .iter()
                .map(|epoch| epoch.val_accuracy())
                .collect(),
            _ => None,
        })
        .collect();
    let Some(curves) = curves else {
        return Vec::new();
    };
    let epochs = curves.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |epoch: usize| curves.iter().map(|c| c[epoch]).sum::<f64>() / curves.len() as f64;
    (0..epochs).map(mean).collect()
}

/// Certifies unconstrained and orthonormal weights: the largest perturbation of any one paper's features
/// under which no certified prediction can change.
fn certificates(
    plain: Model,
    on: &Benchmark,
    seed: u64,
    callbacks: &Callbacks<'_>,
) -> anyhow::Result<Vec<CertificateRow>> {
    let mut rows: Vec<CertificateRow> = Vec::new();
    for (weights, model) in [
        ("free", plain),
        ("orthonormal", plain.weights(Orthonormal::default())),
    ] {
        let results = (0..RUNS as u64)
            .map(|i| {
                let seed = seed.wrapping_add(i);
                let study =
                    CertifyStudy::new(model, Target::Features, [Lipschitz::default()]).seed(seed);
                Ok(study.run(
                    on,
                    &CertifyCallbacks {
                        training: callbacks.silent(),
                        on_samples: &|_| (),
                    },
                )?)
            })
            .collect::<anyhow::Result<Vec<CertifyResult>>>()?;
        if callbacks.stopped() {
            return Ok(rows);
        }
        let row = certificate_row(weights, results, rows.first())?;
        rows.push(row);
    }
    Ok(rows)
}

fn certificate_row(
    weights: &'static str,
    mut results: Vec<CertifyResult>,
    plain: Option<&CertificateRow>,
) -> anyhow::Result<CertificateRow> {
    let no_result = || anyhow::anyhow!("a certificate has no results");
    let first = results[0].certificates.first().ok_or_else(no_result)?;
    let radii: Vec<f64> = (first.certified.iter())
        .filter_map(|cell| match cell.radius {
            Radius::One { radius } => Some(radius),
            _ => None,
        })
        .collect();
    let median = results[0].median_norm;
    let certified = (0..radii.len())
        .map(|r| {
            let of = |result: &CertifyResult| {
                Some(
                    100.0
                        * result
                            .certificates
                            .first()?
                            .certified
                            .get(r)?
                            .accurate_share,
                )
            };
            Ok(Accuracy::of(
                results
                    .iter()
                    .map(of)
                    .collect::<Option<Vec<f64>>>()
                    .ok_or_else(no_result)?,
            )?)
        })
        .collect::<anyhow::Result<Vec<Accuracy>>>()?;
    let minus_plain = plain.map(|plain| {
        let pairs = certified.iter().zip(&plain.certified);
        pairs
            .map(|(ours, theirs)| paired_difference(&ours.runs, &theirs.runs))
            .collect::<gnarl_graph::Result<Vec<_>>>()
    });
    let accuracies = results
        .iter()
        .map(|r| r.test_accuracy.as_ref().map(|a| a.mean));
    Ok(CertificateRow {
        weights,
        accuracy: Accuracy::of_all(accuracies)?.ok_or_else(no_result)?,
        shares: radii.iter().map(|r| r / median).collect(),
        radii,
        certified,
        minus_plain: minus_plain.transpose()?,
        nodes: results[0].certificates.swap_remove(0).nodes,
    })
}

/// Trains GIN on the ten folds of MUTAG, with and without vectors sampled by
/// [GRATIN](https://arxiv.org/abs/2411.08638); `None` if it was interrupted.
fn mutag(
    global: &Global,
    with: &dyn Fn(Model) -> Model,
    callbacks: &Callbacks<'_>,
) -> anyhow::Result<Option<MutagReport>> {
    let loaded = load(global, "mutag")?;
    let splits = protocol_folds(&loaded, global.seed, 10)?;
    let on = Benchmark {
        name: loaded.name.clone(),
        content: loaded.content.clone(),
        splits,
    };
    let model = with(Model::new(Backbone::GIN).augment(Gratin::default()));
    let study = TrainStudy {
        seed: global.seed,
        ..TrainStudy::new(model)
    };
    let result = study.run(&on, callbacks)?;
    if result.unfinished > 0 {
        return Ok(None);
    }
    let no_result = || anyhow::anyhow!("the augmentation has no results");
    Ok(Some(MutagReport {
        graphs: on.content.num_items(),
        folds: on.splits.len(),
        epochs: model.plan(Task::Graph)?.training.epochs,
        with: result.test_accuracy()?.ok_or_else(no_result)?,
        augmentation: result.augmentation()?.ok_or_else(no_result)?,
    }))
}
