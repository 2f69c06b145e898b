//! `gnarl bench epoch`: how long one training step takes here.

use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use gnarl::operator::Initialisation;
use gnarl::task::node::{Prepared, run as run_node};
use gnarl::train::{Keep, Watch};
use gnarl_graph::dataset::{Dataset, Loaded};
use gnarl_graph::operator::ClassicalOperator;
use serde::Serialize;

use super::graphs::{self, ClassifierArgs, SetEpochReport};
use super::growth::GrowthArgs;
use super::train::{ModelArgs, OperatorName, splits_of};
use super::{OnData, load};
use crate::args::Global;
use crate::output::{Report, real};

/// `gnarl bench …`
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Median milliseconds of one training epoch: forward, backward, update
    Epoch(Box<EpochArgs>),
    /// How the time of an epoch grows with the graph, on random graphs of one mean degree
    Growth(GrowthArgs),
}

/// `gnarl bench epoch`
#[derive(Debug, Args)]
pub struct EpochArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub classifier: ClassifierArgs,
}

/// What `gnarl bench epoch` found.
#[derive(Debug, Serialize)]
pub struct EpochReport {
    data: String,
    model: String,
    /// Median milliseconds of one training epoch.
    epoch_ms: f64,
    epochs: usize,
    threads: usize,
    parameters: usize,
    config: super::train::Config,
}

/// Trains once and reports the median step, or the median epoch over a set of graphs.
pub fn epoch(global: &Global, args: &EpochArgs) -> anyhow::Result<OnData<EpochReport, SetEpochReport>> {
    let loaded = load(global, &args.model.data)?;
    if matches!(loaded.dataset, Dataset::Graphs(_)) {
        return graphs::epoch(global, &args.model, &args.classifier, &loaded).map(OnData::Graphs);
    }
    args.classifier.refuse_on_one_graph(&loaded.name)?;
    epoch_of_nodes(global, args, loaded).map(OnData::OneGraph)
}

fn epoch_of_nodes(global: &Global, args: &EpochArgs, loaded: Loaded) -> anyhow::Result<EpochReport> {
    let (data, graph, splits) = splits_of(global, loaded, 1)?;
    let mut model = args.model.clone();
    if model.operator == Some(OperatorName::Cgso) {
        // Epochs cost the same from wherever they start.
        model.init.get_or_insert(Initialisation::Of(ClassicalOperator::NormalisedAdjacency));
    }
    let mut config = model.config(&data, 1, global.seed)?;
    config.training.keep = Keep::Last;
    let prepared = Prepared::new(&graph, config.network.backbone, config.preparation)?;
    let watch = Watch { on_epoch: &|_, _| (), stop: &AtomicBool::new(false) };
    let (run, network) = run_node(&prepared, &config.network, &config.training, &splits[0], global.seed, &watch)?;
    Ok(EpochReport {
        data,
        model: config.network.backbone.to_string(),
        epoch_ms: run.trained.epoch_ms,
        epochs: config.training.epochs,
        threads: rayon::current_num_threads(),
        parameters: network.params().num_trained(),
        config,
    })
}

impl Report for EpochReport {
    fn text(&self) -> String {
        format!("{} on {}: {} ms an epoch ({} threads)\n", self.model, self.data, real(self.epoch_ms), self.threads)
    }
}
