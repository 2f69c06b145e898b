//! One cell of a table: the full configuration behind it, running it, and keeping what it found.
//!
//! A finished cell is a file `HASH.json`, where the hash is that of its configuration. The file repeats the
//! configuration, and a cell is taken from a file only where that is the one wanted, so that neither another setting nor a
//! collision of hashes can lend a cell a figure that is not its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gnarl_graph::centrality::Centrality;
use gnarl_graph::dataset::{self, Loaded};
use serde::{Deserialize, Serialize};

use super::table::{Measure, Property, Spec};
use crate::depth::{Kind, Scheme};
use crate::error::{Error, Result};
use crate::nn::{Backbone, NetworkConfig};
use crate::operator::Centralities;
use crate::task;
use crate::task::depth::{DepthConfig, DepthRun};
use crate::task::node::{self, OperatorChoice, Preparation, Run};
use crate::task::recipe::Recipe;
use crate::train::{TrainConfig, Watch};

/// Raised when the same configuration comes to mean something else: older cells are then run again.
const VERSION: u32 = 1;

/// Everything that decides what a cell finds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    version: u32,
    /// The dataset, by its registry name.
    pub dataset: String,
    /// What is done with it.
    pub work: Work,
}

/// What is done in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// Runs of node classification: run `i` takes split `i` and seed `seed + i`.
    NodeClassification {
        /// Whose settings these are.
        recipe: Recipe,
        /// How the graph is made ready.
        preparation: Preparation,
        /// The network.
        network: NetworkConfig,
        /// Its training.
        training: TrainConfig,
        /// How many runs.
        runs: usize,
        /// The first run's seed.
        seed: u64,
    },
    /// Runs of node classification with an exit at every layer, and the thesis' policies on top.
    AdaptiveDepth {
        /// Whose settings these are.
        recipe: Recipe,
        /// How the graph is made ready.
        preparation: Preparation,
        /// The network; `layers` is its last exit.
        network: NetworkConfig,
        /// The training of a stage.
        training: TrainConfig,
        /// How the exits are trained.
        scheme: Scheme,
        /// How many runs.
        runs: usize,
        /// The first run's seed.
        seed: u64,
    },
    /// A property of the graph.
    Property(Property),
}

/// The last exit of the thesis' networks.
const MAX_DEPTH: usize = 5;

/// What a cell found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub operator: Option<LearnedOperator>,
    /// What the exits came to, of a network that has them at every layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<ByDepth>,
}

impl Measured {
    /// The same with the figures of one measure, where there are several to choose from.
    pub fn through(mut self, measure: Option<Measure>) -> Self {
        if let (Some(depth), Some(measure)) = (&self.depth, measure) {
            self.values = depth.of(measure);
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

/// The content of a cell's file.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    config: CellConfig,
    measured: Measured,
}

impl CellConfig {
    /// The cell of a spec on a dataset (by registry name), with a recipe's settings.
    pub fn new(spec: Spec, dataset: &str, recipe: Recipe, runs: usize, seed: u64) -> Self {
        let work = match spec {
            Spec::Property(property) => Work::Property(property),
            Spec::NodeClassification { backbone, operator } => {
                let (network, training, features) = recipe.settings(dataset, backbone);
                let preparation = Preparation { operator, features };
                Work::NodeClassification { recipe, preparation, network, training, runs, seed }
            }
            Spec::FixedDepth { backbone, layers } => {
                let backbone = if layers == 0 { Backbone::Mlp } else { backbone };
                let (network, training, features) = recipe.depth_settings(dataset, backbone, layers.max(1));
                let preparation = Preparation { operator: OperatorChoice::Usual, features };
                Work::NodeClassification { recipe, preparation, network, training, runs, seed }
            }
            Spec::AdaptiveDepth { backbone, scheme, .. } => {
                let (network, training, features) = recipe.depth_settings(dataset, backbone, MAX_DEPTH);
                let preparation = Preparation { operator: OperatorChoice::Usual, features };
                Work::AdaptiveDepth { recipe, preparation, network, training, scheme, runs, seed }
            }
        };
        Self { version: VERSION, dataset: dataset.to_string(), work }
    }

    /// Where it is kept under `folder`.
    pub fn file(&self, folder: &Path) -> Result<PathBuf> {
        Ok(folder.join(format!("{:016x}.json", fnv1a(self.text()?.as_bytes()))))
    }

    fn text(&self) -> Result<String> {
        // Cannot fail for these types; an error is kinder than a promise.
        serde_json::to_string(self).map_err(|e| gnarl_graph::Error::argument("cell", e.to_string()).into())
    }

    /// What an earlier run found for exactly this configuration; `None` where there is no such file, or it is broken or
    /// belongs to another configuration.
    pub fn stored(&self, folder: &Path) -> Result<Option<Measured>> {
        let Ok(text) = std::fs::read(self.file(folder)?) else { return Ok(None) };
        let stored = serde_json::from_slice::<Stored>(&text).ok();
        Ok(stored.filter(|stored| stored.config == *self).map(|stored| stored.measured))
    }

    /// Keeps what was found, under a temporary name first: a file is there whole or not at all. Returns it as it will be
    /// read, where a number may differ in its last bit: a run that is continued prints what one in a go would have.
    pub fn store(&self, measured: Measured, folder: &Path) -> Result<Measured> {
        let file = self.file(folder)?;
        let stored = Stored { config: self.clone(), measured };
        let text = serde_json::to_string_pretty(&stored)
            .map_err(|e| Error::Graph(gnarl_graph::Error::argument("cell", e.to_string())))?;
        let temporary = file.with_extension(format!("{}.part", std::process::id()));
        let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &file));
        written.map_err(|source| {
            // Best effort: the error to report is the first one.
            let _ = std::fs::remove_file(&temporary);
            Error::Graph(gnarl_graph::Error::io(&file, source))
        })?;
        Ok(self.stored(folder)?.unwrap_or(stored.measured))
    }

    /// Runs it on its dataset. `None` where `stop` was set before all runs were done.
    pub fn run(&self, loaded: &Loaded, stop: &AtomicBool) -> Result<Option<Measured>> {
        let start = Instant::now();
        let (mut operator, mut depth) = (None, None);
        let (values, splits, curve) = match &self.work {
            Work::Property(property) => (vec![property.of(loaded.graph()?)?], Vec::new(), Vec::new()),
            Work::NodeClassification { preparation, network, training, runs, seed, .. } => {
                let (graph, splits) = dataset::protocol_splits(loaded, *seed, *runs)?;
                let watch = Watch { on_epoch: &|_, _| (), stop };
                let settled =
                    node::settled_runs(&graph, *preparation, network, training, &splits, *runs, *seed, &watch)?;
                let done = settled.runs;
                if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.trained.interrupted) {
                    return Ok(None);
                }
                operator = LearnedOperator::of(&settled.preparation, &done);
                let curve = done[0].trained.curve.iter().map(|epoch| epoch.val_accuracy).collect();
                (
                    done.iter().map(|run| run.test_accuracy).collect(),
                    done.into_iter().map(|run| run.split).collect(),
                    curve,
                )
            }
            Work::AdaptiveDepth { preparation, network, training, scheme, runs, seed, .. } => {
                let (graph, splits) = dataset::protocol_splits(loaded, *seed, *runs)?;
                let watch = Watch { on_epoch: &|_, _| (), stop };
                let policies = Centrality::ALL.map(|c| Kind::Buckets(Centralities::one(c))).to_vec();
                let (network, training) = (network.clone(), training.clone());
                let config = DepthConfig { scheme: *scheme, network, training, policies, own: 0 };
                let done =
                    task::depth::settled_runs(&graph, *preparation, &config, &splits, *runs, *seed, &watch)?.runs;
                if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.trained.iter().any(|t| t.interrupted)) {
                    return Ok(None);
                }
                let found = depth.insert(ByDepth::new(&done));
                let last = done[0].trained.last().map_or(&[][..], |trained| &trained.curve);
                let curve = last.iter().map(|epoch| epoch.val_accuracy).collect();
                (found.single_layer.clone(), done.into_iter().map(|run| run.split).collect(), curve)
            }
        };
        Ok(Some(Measured { values, splits, curve, seconds: start.elapsed().as_secs_f64(), operator, depth }))
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every version, which the standard library's hasher does not promise.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::table::vanilla;

    /// The test vectors of the FNV authors.
    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_stored_cell_serves_its_own_configuration_alone() {
        let dir = tempfile::tempdir().unwrap();
        let config = CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 10, 0);
        let measured = Measured {
            values: vec![81.3, 80.9],
            splits: vec!["public".into()],
            curve: vec![50.5],
            seconds: 1.5,
            operator: None,
            depth: None,
        };
        assert_eq!(config.stored(dir.path()).unwrap(), None);
        assert_eq!(config.store(measured.clone(), dir.path()).unwrap(), measured);
        assert_eq!(config.stored(dir.path()).unwrap(), Some(measured));
        for other in [
            CellConfig::new(vanilla(Backbone::Gin), "cora", Recipe::Thesis, 10, 0),
            CellConfig::new(vanilla(Backbone::Gcn), "citeseer", Recipe::Thesis, 10, 0),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Default, 10, 0),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 3, 0),
            CellConfig::new(vanilla(Backbone::Gcn), "cora", Recipe::Thesis, 10, 1),
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
        let measured =
            Measured { values: vec![], splits: vec![], curve: vec![], seconds: 0.0, operator: None, depth: None };
        assert!(config.store(measured, &nowhere).unwrap_err().to_string().contains("no/such/folder"));
    }
}
