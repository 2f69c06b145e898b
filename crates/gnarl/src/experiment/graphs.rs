//! Graph classifiers as cells of a table (ch. 7): which, what it is trained on, and which figure a row shows.
//!
//! The runs of a cell are the folds of its set, and its settings the defaults of `gnarl train`: its figures are those of that
//! command with the same recipe, `--runs` and `--inits`. Cells that show seconds train on one core, one fold after the other,
//! so that nothing else is counted in.

use std::sync::atomic::{AtomicBool, Ordering};

use gnarl_graph::dataset::registry::{self, Protocol};
use gnarl_graph::dataset::{self, Dataset};
use gnarl_graph::{Error, GraphSet};
use serde::{Deserialize, Serialize};

use super::cell::{Measured, Nothing, Runs};
use super::table::{Measure, Spec};
use crate::augment::{Augment, AugmentSettings, Components, Copies, Corruption, Density, density};
use crate::error::Result;
use crate::nn::{Backbone, ClassifierConfig, Readout};
use crate::task::graph::{self, GraphConfig, GraphPreparation, NodeFeatures, PreparedSet, Run, TrainingCorruption};
use crate::task::node::Preparation;
use crate::task::recipe::Recipe;
use crate::train::Watch;

/// A classifier and what it is trained on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classifier {
    /// The network.
    pub backbone: Backbone,
    /// The data axis.
    pub augment: Augment,
    /// Of changed graphs: how often a training graph is changed.
    pub copies: Copies,
    /// Of GRATIN: what new vectors are drawn from.
    pub density: Density,
    /// The share of the training graphs' edges that is changed at random.
    pub corrupted: Option<f64>,
    /// Deviation of the noise on hidden representations while training.
    pub noise: f32,
}

impl Classifier {
    /// A network trained on the training graphs as they are.
    pub const fn new(backbone: Backbone) -> Self {
        let (augment, copies, density) = (Augment::None, Copies::EachEpoch, Density::Mixture(density::Mixture::new()));
        Self { backbone, augment, copies, density, corrupted: None, noise: 0.0 }
    }

    /// With an augmentation; changed graphs are made anew in every epoch.
    pub const fn with(self, augment: Augment) -> Self {
        Self { augment, ..self }
    }

    /// With one changed graph beside each training graph, for all epochs.
    pub const fn with_one(self, augment: Augment) -> Self {
        Self { augment, copies: Copies::Fixed, ..self }
    }

    /// With new vectors from this density in place of a mixture.
    pub const fn drawn_from(self, density: Density) -> Self {
        Self { density, ..self }
    }

    /// On training graphs with this share of their edges changed at random.
    pub const fn corrupted(self, share: f64) -> Self {
        Self { corrupted: Some(share), ..self }
    }

    /// With noise on hidden representations: NoisyGNN, with the deviation of ch. 5's.
    pub const fn noisy(self) -> Self {
        Self { noise: 0.1, ..self }
    }

    /// The runs of this classifier on a set, with what a recipe says. Folds are runs: there are no more of them.
    pub(super) fn runs(
        self,
        measure: Measure,
        dataset: &str,
        recipe: Recipe,
        runs: usize,
        seed: u64,
    ) -> Result<Runs<OnGraphs>> {
        // Where features come from is for the graphs to say, once they are there.
        let config = recipe.graph_config(dataset, self.backbone, self.augment, NodeFeatures::Own);
        let GraphConfig { classifier, preparation, training, batch_size, augment, head_epochs, components, .. } =
            config;
        let ClassifierConfig { mut network, readout, head_dropout } = classifier;
        network.noise = self.noise;
        let GraphPreparation { operator, features, .. } = preparation;
        let edges = self.corrupted.map(Corruption::new).transpose()?;
        let more = OnGraphs {
            readout,
            head_dropout,
            batch_size,
            corruption: edges.map(|edges| TrainingCorruption { edges, keep_degrees: false }),
            augment,
            augmentation: AugmentSettings { copies: self.copies, density: self.density, ..config.augmentation },
            head_epochs,
            components: self.density.components(components),
            inits: inits(dataset),
            timed: measure.is_seconds(),
        };
        let folds = match registry::get(dataset).map(|entry| entry.protocol) {
            Some(Protocol::Folds(folds)) => folds,
            _ => usize::MAX,
        };
        let preparation = Preparation { operator, features };
        let runs = Runs { recipe, preparation, network, training, more: Nothing {}, runs: runs.min(folds), seed };
        Ok(runs.with(more))
    }

    /// What is wrong with a row that shows this of it, if anything.
    pub(super) fn flaw(self, measure: Measure) -> Option<String> {
        let is_shown = match measure {
            Measure::TestAccuracy | Measure::TrainingSeconds => true,
            Measure::AugmentationSeconds => self.augment.uses_graphs() || self.augment.retrains_head(),
            _ => false,
        };
        if !is_shown {
            return Some(format!("shows {measure:?}, which {} does not have", self.augment));
        }
        if !matches!(self.density, Density::Mixture(_)) && self.augment != Augment::Gratin {
            return Some(format!("draws from {}, which {} does not do", self.density, self.augment));
        }
        self.corrupted.and_then(|share| Corruption::new(share).err()).map(|e| e.to_string())
    }
}

/// A classifier's test accuracy.
pub const fn accuracy(classifier: Classifier) -> Spec {
    Spec::Graphs { classifier, measure: Measure::TestAccuracy }
}

/// Seconds of its augmentation.
pub const fn augmentation_time(classifier: Classifier) -> Spec {
    Spec::Graphs { classifier, measure: Measure::AugmentationSeconds }
}

/// Seconds of its training, augmentation included.
pub const fn graph_training_time(classifier: Classifier) -> Spec {
    Spec::Graphs { classifier, measure: Measure::TrainingSeconds }
}

/// Initialisations of each fold. One of MUTAG tests on eighteen graphs, where one more or less right is five points.
fn inits(dataset: &str) -> usize {
    if dataset == "MUTAG" { 3 } else { 1 }
}

/// What a cell needs to know of graph classification.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnGraphs {
    /// From nodes to graphs.
    pub readout: Readout,
    /// Dropout of graph vectors before the head.
    pub head_dropout: f32,
    /// Graphs in a training step.
    pub batch_size: usize,
    /// What is done to the structure of training graphs.
    pub corruption: Option<TrainingCorruption>,
    /// The data axis.
    pub augment: Augment,
    /// What it is told beside.
    pub augmentation: AugmentSettings,
    /// Epochs of a fresh head, where the data axis trains one.
    pub head_epochs: usize,
    /// Of GRATIN: Gaussians in a class' mixture.
    pub components: Components,
    /// Initialisations of each fold, which counts with their mean.
    pub inits: usize,
    /// Whether seconds are what is looked for.
    pub timed: bool,
}

impl Runs<OnGraphs> {
    /// The same for the graphs of a set, as the task wants it.
    fn config(&self, set: &GraphSet) -> GraphConfig {
        let Preparation { operator, features } = self.preparation;
        let OnGraphs { readout, head_dropout, batch_size, corruption, augment, .. } = self.more;
        let OnGraphs { augmentation, head_epochs, components, .. } = self.more;
        GraphConfig {
            classifier: ClassifierConfig { network: self.network.clone(), readout, head_dropout },
            preparation: GraphPreparation { operator, features, node_features: NodeFeatures::of(set.graphs()) },
            training: self.training.clone(),
            batch_size,
            corruption,
            augment,
            head_epochs,
            components,
            augmentation,
        }
    }

    /// Trainings of the same size in one run, to judge the time left by.
    pub(super) fn trainings(&self) -> f64 {
        let is_doubled = self.more.augment.uses_graphs() && self.more.augmentation.copies == Copies::Fixed;
        self.more.inits as f64 * if is_doubled { 2.0 } else { 1.0 }
    }

    /// Trains on the set's folds. `None` where stopped.
    pub(super) fn classify(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        let set = loaded.graph_set()?;
        let (config, inits) = (self.config(set), self.more.inits);
        let folds = dataset::protocol_folds(loaded, self.seed, self.runs)?;
        let prepared = PreparedSet::new(set, &config, self.seed)?;
        let watch = Watch { on_epoch: &|_, _| (), stop };
        let train = || graph::runs(&prepared, &config, &folds, inits, self.seed, &watch);
        // Threads that wait inside one run start another within it, and its seconds would count as the first one's.
        let done = if self.more.timed { on_one_core(train)? } else { train()? };
        if stop.load(Ordering::Relaxed) || done.iter().any(|run| run.trained.interrupted) {
            return Ok(None);
        }
        Ok(Some(Measured {
            values: graph::by_fold(&done, inits, |run| run.test_accuracy),
            splits: folds.iter().map(|fold| fold.name().to_string()).collect(),
            curve: done[0].trained.curve.iter().map(|epoch| epoch.val_accuracy).collect(),
            times: self.more.timed.then(|| Box::new(Times::new(&done, inits, self.more.augmentation.copies))),
            ..Measured::default()
        }))
    }
}

fn on_one_core<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|e| Error::argument("seconds on one core", e.to_string()))?.install(work)
}

/// Seconds of graph classification, each a list over folds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Of one augmentation of the training graphs: one copy of each, or new vectors and a fresh head.
    pub augmentation: Vec<f64>,
    /// Of all of them: copies are made for every epoch.
    pub augmentations: Vec<f64>,
    /// Of a run, augmentations included.
    pub training: Vec<f64>,
}

impl Times {
    fn new(runs: &[Run], inits: usize, copies: Copies) -> Self {
        // Copies of every epoch, and once before the first.
        let times = |run: &Run| match (run.copy_seconds, copies) {
            (Some(_), Copies::EachEpoch) => run.trained.curve.len() + 1,
            _ => 1,
        };
        let head = |run: &Run| run.fresh_head.as_ref().map_or(0.0, |before| before.seconds);
        let all = |run: &Run| run.copy_seconds.unwrap_or(0.0) + head(run);
        Self {
            augmentation: graph::by_fold(runs, inits, |run| all(run) / times(run) as f64),
            augmentations: graph::by_fold(runs, inits, all),
            training: graph::by_fold(runs, inits, |run| run.seconds),
        }
    }

    /// The figures of a measure; `None` for one that is not of seconds.
    pub(super) fn of(&self, measure: Measure) -> Option<Vec<f64>> {
        match measure {
            Measure::AugmentationSeconds => Some(self.augmentation.clone()),
            Measure::TrainingSeconds => Some(self.training.clone()),
            _ => None,
        }
    }

    /// Further figures beside a measure.
    pub(super) fn parts(&self, measure: Measure) -> Vec<(String, Vec<f64>)> {
        match measure {
            Measure::AugmentationSeconds if self.augmentations != self.augmentation => {
                vec![("in all epochs".into(), self.augmentations.clone())]
            }
            _ => Vec::new(),
        }
    }
}
