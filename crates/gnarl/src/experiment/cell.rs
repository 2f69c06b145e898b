//! One cell of a table: the full configuration behind it, running it, and keeping what it found.
//!
//! A finished cell is a file `HASH.json`, where the hash is that of its configuration. The file repeats the
//! configuration, and a cell is taken from a file only where that is the one wanted, so that neither another setting nor a
//! collision of hashes can lend a cell a figure that is not its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gnarl_graph::centrality::Centrality;
use gnarl_graph::dataset::{self, Dataset};
use gnarl_graph::generate::{Halves, sparse_dense_halves};
use gnarl_graph::{Graph, Split};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::attacked::{ByAttack, UnderAttack};
use super::graphs::{OnGraphs, Times};
use super::table::{MAX_DEPTH, Measure, Property, SetProperty, Spec};
use crate::depth::{Kind, Scheme};
use crate::error::{Error, Result};
use crate::nn::{Backbone, NetworkConfig};
use crate::operator::Centralities;
use crate::operator::OperatorChoice;
use crate::task;
use crate::task::depth::{DepthConfig, DepthRun};
use crate::task::node::{self, Preparation, Prepared, Run};
use crate::task::recipe::Recipe;
use crate::train::{Targets, TrainConfig, Watch, predict};

/// Raised when the same configuration comes to mean something else: older cells are then run again.
const VERSION: u32 = 1;

/// Nodes of the joined halves, as in the thesis.
const HALVES_NODES: usize = 5000;

/// Everything that decides what a cell finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellConfig {
    version: u32,
    /// The dataset, by its registry name.
    pub dataset: String,
    /// What is done with it.
    pub work: Work,
}

/// What is done in a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Runs of node classification: run `i` takes split `i` and seed `seed + i`.
    NodeClassification(Runs),
    /// Such runs at every depth from 0 to that of the network, and the best depth.
    BestDepth(Runs),
    /// Runs on joined sparse and dense halves of the graph: run `i` draws halves and split by seed `seed + i`.
    Halves(Runs<Joined>),
    /// Runs of node classification with an exit at every layer, and the thesis' policies on top.
    AdaptiveDepth(Runs<Exits>),
    /// Attacks on trained models: run `i` takes split `i` and seed `seed + i`.
    Attacked(Runs<UnderAttack>),
    /// Runs of graph classification: run `i` takes fold `i`.
    Graphs(Runs<OnGraphs>),
    /// A property of the graph.
    Property(Property),
    /// A property of the set of graphs.
    SetProperty(SetProperty),
    /// Nothing: what the thesis has here is not in gnarl.
    Missing(&'static str),
}

/// A network, trained so many times, and what a kind of work adds to that. The order of the fields is part of a cell's name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runs<More = Nothing> {
    /// Whose settings these are.
    pub recipe: Recipe,
    /// How the graph is made ready.
    pub preparation: Preparation,
    /// The network.
    pub network: NetworkConfig,
    /// Its training.
    pub training: TrainConfig,
    /// What this kind of work needs besides.
    #[serde(flatten)]
    pub more: More,
    /// How many runs.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
}

/// Nothing besides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nothing {}

/// Of joined halves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Joined {
    /// Nodes of the two halves together.
    pub nodes: usize,
}

/// Of exits at every layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exits {
    /// How they are trained.
    pub scheme: Scheme,
}

impl Runs {
    /// The same with what a kind of work adds.
    pub(super) fn with<More>(self, more: More) -> Runs<More> {
        let Runs { recipe, preparation, network, training, runs, seed, .. } = self;
        Runs { recipe, preparation, network, training, more, runs, seed }
    }
}

impl<More> Runs<More> {
    /// Width times epochs, over all runs.
    fn effort(&self) -> f64 {
        (self.network.hidden * self.training.epochs * self.runs) as f64
    }
}

impl Work {
    /// How much is done with each entry of the graph, to judge the time left by: width times epochs, over all that is trained.
    pub(super) fn effort(&self) -> f64 {
        match self {
            Work::Property(_) | Work::SetProperty(_) => 1.0,
            Work::Missing(_) => 0.0,
            Work::NodeClassification(runs) => runs.effort() * runs.preparation.operator.candidates() as f64,
            Work::BestDepth(runs) => runs.effort() * (runs.network.layers + 1) as f64,
            Work::Halves(runs) => runs.effort(),
            Work::AdaptiveDepth(runs) => runs.effort() * runs.more.scheme.num_trainings(runs.network.layers) as f64,
            Work::Attacked(runs) => runs.effort() * runs.trainings() as f64,
            Work::Graphs(runs) => runs.effort() * runs.trainings(),
        }
    }
}

/// What a cell found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The figure of each run, in order; one for a property.
    pub values: Vec<f64>,
    /// The split of each run.
    pub splits: Vec<String>,
    /// Validation accuracy by epoch, of the first run.
    pub curve: Vec<f64>,
    /// Seconds it took.
    pub seconds: f64,
    /// What a learnable operator came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Box<LearnedOperator>>,
    /// Further figures of the same runs, by name: another choice of depth, a part of the test nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<(String, Vec<f64>)>,
    /// What the exits came to, of a network that has them at every layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Box<ByDepth>>,
    /// What an attack came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacked: Option<Box<ByAttack>>,
    /// How long graph classification took, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Box<Times>>,
}

impl Measured {
    /// The same with the figures of one measure, where there are several to choose from.
    pub fn through(mut self, measure: Option<Measure>) -> Self {
        let Some(measure) = measure else { return self };
        if let Some(depth) = &self.depth {
            self.values = depth.of(measure);
        }
        if let Some(attacked) = &self.attacked {
            (self.values, self.parts) = (attacked.of(measure), attacked.parts(measure));
        }
        if let Some((times, values)) = self.times.as_ref().and_then(|times| Some((times, times.of(measure)?))) {
            (self.parts, self.values) = (times.parts(measure), values);
        }
        self
    }
}

/// Test accuracies of a network with exits, each a list over runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByDepth {
    /// Of every exit.
    pub exits: Vec<Vec<f64>>,
    /// Of the layer with the best validation accuracy.
    pub single_layer: Vec<f64>,
    /// Of the policies by [`Centrality::ALL`], in that order.
    pub policies: Vec<Vec<f64>>,
    /// Where any exit is right.
    pub oracle: Vec<f64>,
}

impl ByDepth {
    fn new(runs: &[DepthRun]) -> Self {
        let over = |f: &dyn Fn(&DepthRun) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
        Self {
            exits: (0..=MAX_DEPTH).map(|l| over(&|run| run.exit_accuracy[l])).collect(),
            single_layer: over(&|run| run.single_layer_accuracy()),
            policies: (0..Centrality::ALL.len()).map(|i| over(&|run| run.policy_accuracy[i])).collect(),
            oracle: over(&|run| run.oracle_accuracy),
        }
    }

    fn of(&self, measure: Measure) -> Vec<f64> {
        let total = |values: &&Vec<f64>| values.iter().sum::<f64>();
        let found = match measure {
            Measure::Exit(l) => self.exits.get(l),
            Measure::BestExit => self.exits.iter().max_by(|a, b| total(a).total_cmp(&total(b))),
            Measure::SingleLayer => Some(&self.single_layer),
            Measure::Policy(kind) => {
                Centrality::ALL.iter().position(|c| *c == kind).and_then(|at| self.policies.get(at))
            }
            Measure::Oracle => Some(&self.oracle),
            Measure::Clean(_) | Measure::Attacked(_) | Measure::TestAccuracy => None,
            Measure::AugmentationSeconds | Measure::TrainingSeconds => None,
        };
        found.cloned().unwrap_or_default()
    }
}

/// A learnable operator, after the runs of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedOperator {
    /// Where the scalars started, chosen on validation accuracy where the table leaves it open.
    pub init: String,
    /// Each scalar with its value in every run.
    pub scalars: Vec<(String, Vec<f64>)>,
}

impl LearnedOperator {
    fn of(preparation: &Preparation, runs: &[Run]) -> Option<Self> {
        let OperatorChoice::Cgso(config) = preparation.operator else { return None };
        let first = &runs.first()?.operator;
        let of_runs = |i: usize| runs.iter().map(|run| run.operator[i].1).collect();
        let scalars = first.iter().enumerate().map(|(i, (name, _))| (name.clone(), of_runs(i))).collect();
        Some(Self { init: config.init.to_string(), scalars })
    }
}

/// The content of a cell's file, as it is written.
#[derive(Serialize)]
struct Stored<'a> {
    config: &'a CellConfig,
    measured: &'a Measured,
}

/// The same as it is read. Whose cell it is shows in the text of the configuration, which no setting has to be read back from.
#[derive(Deserialize)]
struct Kept {
    config: serde_json::Value,
    measured: Measured,
}

impl CellConfig {
    /// The cell of a spec on a dataset (by registry name), with a recipe's settings.
    ///
    /// Fails for an attack whose budget means nothing, and for a share of corrupted edges that is none.
    pub fn new(spec: Spec, dataset: &str, recipe: Recipe, runs: usize, seed: u64) -> Result<Self> {
        let chapter_4 = |backbone: Backbone, depth: usize| {
            let (network, training, features) = recipe.depth_settings(dataset, backbone, depth);
            let preparation = Preparation { operator: OperatorChoice::Usual, features };
            Runs { recipe, preparation, network: at_depth(&network, depth), training, more: Nothing {}, runs, seed }
        };
        let work = match spec {
            Spec::Property(property) => Work::Property(property),
            Spec::SetProperty(property) => Work::SetProperty(property),
            Spec::Graphs { classifier, measure } => {
                Work::Graphs(classifier.runs(measure, dataset, recipe, runs, seed)?)
            }
            Spec::Missing(what) => Work::Missing(what),
            Spec::Attacked { model, threat, .. } => {
                Work::Attacked(model.runs(dataset, recipe, runs, seed).with(UnderAttack::new(threat, dataset)?))
            }
            Spec::BestDepth { backbone } => Work::BestDepth(chapter_4(backbone, MAX_DEPTH)),
            Spec::Halves { depth } => {
                Work::Halves(chapter_4(Backbone::Gcn, depth).with(Joined { nodes: HALVES_NODES }))
            }
            Spec::NodeClassification { backbone, operator } => {
                let (network, training, features) = recipe.settings(dataset, backbone);
                let preparation = Preparation { operator, features };
                Work::NodeClassification(Runs { recipe, preparation, network, training, more: Nothing {}, runs, seed })
            }
            Spec::FixedDepth { backbone, layers } => Work::NodeClassification(chapter_4(backbone, layers)),
            Spec::AdaptiveDepth { backbone, scheme, .. } => {
                Work::AdaptiveDepth(chapter_4(backbone, MAX_DEPTH).with(Exits { scheme }))
            }
        };
        Ok(Self { version: VERSION, dataset: dataset.to_string(), work })
    }

    /// Where it is kept under `folder`.
    pub fn file(&self, folder: &Path) -> Result<PathBuf> {
        Ok(folder.join(format!("{:016x}.json", fnv1a(self.text()?.as_bytes()))))
    }

    fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(unspeakable)
    }

    /// What an earlier run found for exactly this configuration; `None` where there is no such file, or it is broken or
    /// belongs to another configuration.
    pub fn stored(&self, folder: &Path) -> Result<Option<Measured>> {
        let Ok(text) = std::fs::read(self.file(folder)?) else { return Ok(None) };
        let own: serde_json::Value = serde_json::from_str(&self.text()?).map_err(unspeakable)?;
        let kept = serde_json::from_slice::<Kept>(&text).ok();
        Ok(kept.filter(|kept| kept.config == own).map(|kept| kept.measured))
    }

    /// Keeps what was found, under a temporary name first: a file is there whole or not at all. Returns it as it will be
    /// read, where a number may differ in its last bit: a run that is continued prints what one in a go would have.
    pub fn store(&self, measured: Measured, folder: &Path) -> Result<Measured> {
        let file = self.file(folder)?;
        let text = serde_json::to_string_pretty(&Stored { config: self, measured: &measured }).map_err(unspeakable)?;
        let temporary = file.with_extension(format!("{}.part", std::process::id()));
        let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &file));
        written.map_err(|source| {
            // Best effort: the error to report is the first one.
            let _ = std::fs::remove_file(&temporary);
            Error::Graph(gnarl_graph::Error::io(&file, source))
        })?;
        Ok(self.stored(folder)?.unwrap_or(measured))
    }

    /// Runs it on its dataset. `None` where `stop` was set before all runs were done.
    pub fn run(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        let start = Instant::now();
        let found = match &self.work {
            Work::Property(property) => {
                let graph = loaded.graph()?;
                let (values, parts) = (vec![property.of(graph)?], property.parts(graph));
                Some(Measured { values, parts, ..Measured::default() })
            }
            Work::SetProperty(property) => {
                Some(Measured { values: vec![property.of(loaded.graph_set()?)], ..Measured::default() })
            }
            Work::NodeClassification(runs) => classify(loaded, runs, stop)?.map(|(found, _)| found),
            Work::BestDepth(runs) => best_depth(loaded, runs, stop)?,
            Work::Halves(runs) => halves(loaded.graph()?, runs, stop)?,
            Work::AdaptiveDepth(runs) => adaptive_depth(loaded, runs, stop)?,
            Work::Attacked(runs) => runs.attack(loaded, stop)?,
            Work::Graphs(runs) => runs.classify(loaded, stop)?,
            Work::Missing(what) => return Err(gnarl_graph::Error::argument("cell", *what).into()),
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(found.map(|found| Measured { seconds, ..found }))
    }
}

/// Cannot happen for the types of a cell; an error is kinder than a promise.
fn unspeakable(e: serde_json::Error) -> Error {
    Error::Graph(gnarl_graph::Error::argument("cell", e.to_string()))
}

/// Runs with an exit at every layer; the figure is that of the best layer on validation nodes. `None` where stopped.
fn adaptive_depth(loaded: &Dataset, setting: &Runs<Exits>, stop: &AtomicBool) -> Result<Option<Measured>> {
    let Runs { preparation, network, training, more: Exits { scheme }, runs, seed, .. } = setting;
    let policies = Centrality::ALL.map(|c| Kind::Buckets(Centralities::one(c))).to_vec();
    let (network, training) = (network.clone(), training.clone());
    let config = DepthConfig { scheme: *scheme, network, training, policies, own: 0 };
    let (graph, splits) = dataset::protocol_splits(loaded, *seed, *runs)?;
    let watch = Watch { on_epoch: &|_, _| (), stop };
    let done = task::depth::settled_runs(&graph, *preparation, &config, &splits, *runs, *seed, &watch)?.runs;
    if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.trained.iter().any(|t| t.interrupted)) {
        return Ok(None);
    }
    let depth = ByDepth::new(&done);
    let last = done[0].trained.last().map_or(&[][..], |trained| &trained.curve);
    Ok(Some(Measured {
        values: depth.single_layer.clone(),
        curve: last.iter().map(|epoch| epoch.val_accuracy).collect(),
        splits: done.into_iter().map(|run| run.split).collect(),
        depth: Some(Box::new(depth)),
        ..Measured::default()
    }))
}

/// Runs on the dataset's splits, and their mean validation accuracy. `None` where stopped.
fn classify(loaded: &Dataset, setting: &Runs, stop: &AtomicBool) -> Result<Option<(Measured, f64)>> {
    let Runs { preparation, network, training, runs, seed, .. } = setting;
    let (graph, splits) = dataset::protocol_splits(loaded, *seed, *runs)?;
    let watch = Watch { on_epoch: &|_, _| (), stop };
    let settled = node::settled_runs(&graph, *preparation, network, training, &splits, *runs, *seed, &watch)?;
    let done = settled.runs;
    if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.trained.interrupted) {
        return Ok(None);
    }
    let val_accuracy = done.iter().map(|run| run.val_accuracy).sum::<f64>() / done.len().max(1) as f64;
    let found = Measured {
        operator: LearnedOperator::of(&settled.preparation, &done).map(Box::new),
        curve: done[0].trained.curve.iter().map(|epoch| epoch.val_accuracy).collect(),
        values: done.iter().map(|run| run.test_accuracy).collect(),
        splits: done.into_iter().map(|run| run.split).collect(),
        ..Measured::default()
    };
    Ok(Some((found, val_accuracy)))
}

/// The best depth on test nodes, as the thesis chose it, and on validation nodes; of equals the shallower.
fn best_depth(loaded: &Dataset, deepest: &Runs, stop: &AtomicBool) -> Result<Option<Measured>> {
    let mut by_depth: Vec<(Measured, f64)> = Vec::new();
    for depth in 0..=deepest.network.layers {
        let setting = Runs { network: at_depth(&deepest.network, depth), ..deepest.clone() };
        let Some(found) = classify(loaded, &setting, stop)? else { return Ok(None) };
        by_depth.push(found);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let tests: Vec<f64> = by_depth.iter().map(|(found, _)| mean(&found.values)).collect();
    let vals: Vec<f64> = by_depth.iter().map(|(_, val)| *val).collect();
    let (on_test, on_val) = (first_best(&tests), first_best(&vals));
    let part = |name: &str, depth: usize| (format!("{name} [{depth}]"), by_depth[depth].0.values.clone());
    let parts = vec![part("on test", on_test), part("on validation", on_val)];
    Ok(Some(Measured { parts, ..by_depth.swap_remove(on_test).0 }))
}

fn first_best(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Accuracy on the test nodes of joined halves, and of each half.
fn halves(graph: &Graph, setting: &Runs<Joined>, stop: &AtomicBool) -> Result<Option<Measured>> {
    let Runs { preparation, network, training, more, .. } = setting;
    let one = |i: usize| -> Result<(Run, [f64; 2])> {
        let seed = setting.seed.wrapping_add(i as u64);
        let Halves { graph, num_sparse, .. } = sparse_dense_halves(graph, more.nodes, seed)?;
        let prepared = Prepared::new(&graph, network.backbone, *preparation)?;
        // Ch. 3's protocol for the two graphs the halves come from.
        let split = Split::per_class(&prepared.labels, 20, 500, 1000, seed)?;
        let watch = Watch { on_epoch: &|_, _| (), stop };
        let (run, trained) = node::run(&prepared, network, training, &split, seed, &watch)?;
        let scores = predict(&trained, &prepared.propagation, &prepared.input)?;
        let (sparse, dense): (Vec<u32>, Vec<u32>) = split.test().iter().partition(|&&u| (u as usize) < num_sparse);
        let accuracy = |items: &[u32]| Targets::new(items, &prepared.labels).accuracy(&scores);
        Ok((run, [accuracy(&sparse)?, accuracy(&dense)?]))
    };
    let done = (0..setting.runs).into_par_iter().map(one).collect::<Result<Vec<_>>>()?;
    if stop.load(Ordering::Relaxed) || done.iter().any(|(run, _)| run.trained.interrupted) {
        return Ok(None);
    }
    let part = |name: &str, i: usize| (name.to_string(), done.iter().map(|(_, parts)| parts[i]).collect());
    Ok(Some(Measured {
        values: done.iter().map(|(run, _)| run.test_accuracy).collect(),
        splits: done.iter().map(|(run, _)| run.split.clone()).collect(),
        curve: done[0].0.trained.curve.iter().map(|epoch| epoch.val_accuracy).collect(),
        parts: vec![part("sparse half", 0), part("dense half", 1)],
        ..Measured::default()
    }))
}

/// The same network with so many layers; a plain stack of none is a linear map of the features.
pub fn at_depth(network: &NetworkConfig, depth: usize) -> NetworkConfig {
    let linear = depth == 0 && matches!(network.backbone, Backbone::Gcn | Backbone::Gin);
    let backbone = if linear { Backbone::Mlp } else { network.backbone };
    NetworkConfig { backbone, layers: depth, ..network.clone() }
}

/// FNV-1a, 64 bits: the same on every machine and in every version, which the standard library's hasher does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::Augment;
    use crate::augment::density::{Density, Shared};
    use crate::experiment::graphs::{Classifier, accuracy};
    use crate::experiment::table::{best_depth, gcn, st, vanilla};

    /// The test vectors of the FNV authors.
    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn no_layers_are_a_linear_map_and_the_first_of_equals_is_best() {
        let at = |backbone, depth| at_depth(&NetworkConfig::new(backbone), depth);
        assert_eq!((at(Backbone::Gin, 0).backbone, at(Backbone::Gin, 0).layers), (Backbone::Mlp, 0));
        assert_eq!((at(Backbone::Gcn, 4).backbone, at(Backbone::Gcn, 4).layers), (Backbone::Gcn, 4));
        assert_eq!((at(Backbone::Gcnii, 0).backbone, at(Backbone::Gcnii, 0).layers), (Backbone::Gcnii, 0));
        assert_eq!((first_best(&[1.0, 3.0, 3.0, 2.0]), first_best(&[5.0])), (1, 0));
    }

    /// Names of cells as they were before the kinds of work came to share [`Runs`]: what was kept then is found now.
    #[test]
    fn names_of_kept_cells_stay() {
        let name = |spec, dataset| {
            let file = CellConfig::new(spec, dataset, Recipe::Thesis, 10, 0).unwrap().file(Path::new("")).unwrap();
            file.display().to_string()
        };
        let adjacency = gcn(gnarl_graph::operator::ClassicalOperator::Adjacency);
        assert_eq!(name(adjacency, "cornell"), "bd3d97b9d3c154fc.json");
        assert_eq!(name(best_depth(Backbone::Gcnii), "cora"), "8ac5ca4188a7ffbc.json");
        assert_eq!(name(Spec::Halves { depth: 0 }, "amazon_electronics_photo"), "7ca9976293c896e9.json");
        assert_eq!(name(st(Backbone::Gcn, Measure::Exit(0)), "cora"), "f73822bdb3ce5a57.json");
        // GRATIN as it was before a row could say what it draws from: the mixture's row is the same cell.
        let gratin = Classifier::new(Backbone::Gcn).with(Augment::Gratin);
        assert_eq!(name(accuracy(gratin), "MUTAG"), "ac8aba1ff8af3d68.json");
        let shared = accuracy(gratin.drawn_from(Density::Shared(Shared {})));
        assert_ne!(name(shared, "MUTAG"), name(accuracy(gratin), "MUTAG"));
    }

    #[test]
    fn a_stored_cell_serves_its_own_configuration_alone() {
        let dir = tempfile::tempdir().unwrap();
        let config = CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 10, 0).unwrap();
        let measured = Measured {
            values: vec![81.3, 80.9],
            splits: vec!["public".into()],
            curve: vec![50.5],
            seconds: 1.5,
            parts: vec![("sparse half".into(), vec![80.0, 81.0])],
            ..Measured::default()
        };
        assert_eq!(config.stored(dir.path()).unwrap(), None);
        assert_eq!(config.store(measured.clone(), dir.path()).unwrap(), measured);
        assert_eq!(config.stored(dir.path()).unwrap(), Some(measured));
        for other in [
            CellConfig::new(vanilla(Backbone::Gin), "cora", Recipe::Thesis, 10, 0).unwrap(),
            CellConfig::new(vanilla(Backbone::Gcn), "citeseer", Recipe::Thesis, 10, 0).unwrap(),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Default, 10, 0).unwrap(),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 3, 0).unwrap(),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 10, 1).unwrap(),
        ] {
            assert_ne!(other.file(dir.path()).unwrap(), config.file(dir.path()).unwrap());
            // Even under the other's name, the file says whose it is.
            std::fs::copy(config.file(dir.path()).unwrap(), other.file(dir.path()).unwrap()).unwrap();
            assert_eq!(other.stored(dir.path()).unwrap(), None, "{other:?}");
        }
        let file = config.file(dir.path()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert_eq!(config.stored(dir.path()).unwrap(), None, "half a file is no cell");
        let nowhere = dir.path().join("no/such/folder");
        assert!(config.store(Measured::default(), &nowhere).unwrap_err().to_string().contains("no/such/folder"));
    }
}
