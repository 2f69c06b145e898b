//! `gnarl bench …`: how long things take here.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::{Args, Subcommand};
use gnarl::classifier::WhiteBox;
use gnarl::features::FeatureScaling;
use gnarl::inference::Inference;
use gnarl::operator::Initialisation;
use gnarl::task::node::{Preparation, Prepared, run as run_node};
use gnarl::train::{Keep, Watch, median};
use gnarl_graph::dataset::{Content, Dataset};
use gnarl_graph::operator::ClassicalOperator;
use serde::Serialize;

use super::graphs::{self, ClassifierArgs, SetEpochReport};
use super::growth::GrowthArgs;
use super::inference::InferenceArgs;
use super::train::{ModelArgs, OperatorName, load_for, splits_of};
use super::{OnData, load};
use crate::global::Global;
use crate::output::{Report, real};

/// `gnarl bench …`
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Median milliseconds of one training epoch: forward, backward, update
    Epoch(Box<EpochArgs>),
    /// Milliseconds of a forward pass and of an inference over a neighbourhood, in turn
    Inference(Box<InferenceBenchArgs>),
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

/// `gnarl bench inference`
#[derive(Debug, Args)]
pub struct InferenceBenchArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub inference: InferenceArgs,
    /// Times each is measured
    #[arg(long, default_value_t = 51, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub rounds: usize,
}

/// What `gnarl bench inference` found.
#[derive(Debug, Serialize)]
pub struct InferenceBenchReport {
    data: String,
    model: String,
    /// Median milliseconds of a plain forward pass.
    plain_ms: f64,
    /// The same of the inference, draws included.
    inference_ms: f64,
    /// Times the model is asked.
    evaluations: usize,
    /// Plain forward passes in the time of one inference.
    plain_passes: f64,
    threads: usize,
    inference: Inference,
}

/// Trains, then measures forward passes and inferences in turn.
pub fn inference(global: &Global, args: &InferenceBenchArgs) -> anyhow::Result<InferenceBenchReport> {
    let (data, graph, splits) = load_for(global, &args.model, 1)?;
    let Some(choice) = args.inference.choice(&data, None)? else {
        let what = "say which with --inference robust-crf, smoothing or clean-crf";
        return Err(gnarl_graph::Error::argument("bench inference", what).into());
    };
    let config = args.model.config(&data, 1, global.seed)?;
    let graph = config.preparation.features.scaled(&graph)?;
    let preparation = Preparation { features: FeatureScaling::AsLoaded, ..config.preparation };
    let prepared = Prepared::new(&graph, config.network.backbone, preparation)?;
    let watch = Watch { on_epoch: &|_, _| (), stop: &AtomicBool::new(false) };
    let (_, network) = run_node(&prepared, &config.network, &config.training, &splits[0], global.seed, &watch)?;
    let model = WhiteBox::new(network, preparation.operator)?;
    let reading = choice.fit(&model, &graph, splits[0].train())?;
    // What a plain pass needs besides the model is made once, as a server would.
    let (propagation, input) = (model.propagation(&graph)?, model.input(&graph)?);
    let (mut plain, mut agreed) = (Vec::new(), Vec::new());
    let timed = |times: &mut Vec<f64>, work: &dyn Fn() -> gnarl::Result<()>| {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        gnarl::Result::Ok(())
    };
    for _ in 0..args.rounds {
        timed(&mut plain, &|| model.forward(&propagation, &input).map(drop))?;
        timed(&mut agreed, &|| reading.answer(&model, &graph, global.seed).map(drop))?;
    }
    let (plain_ms, inference_ms) = (median(plain), median(agreed));
    Ok(InferenceBenchReport {
        data,
        model: config.network.backbone.to_string(),
        plain_ms,
        inference_ms,
        evaluations: choice.evaluations(),
        plain_passes: inference_ms / plain_ms,
        threads: rayon::current_num_threads(),
        inference: choice,
    })
}

impl Report for InferenceBenchReport {
    fn text(&self) -> String {
        format!(
            "{} on {}: a forward pass {} ms, {} {} ms: {} evaluations in the time of {} passes ({} threads)\n",
            self.model,
            self.data,
            real(self.plain_ms),
            self.inference,
            real(self.inference_ms),
            self.evaluations,
            real(self.plain_passes),
            self.threads
        )
    }
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
    if matches!(loaded.content, Content::Graphs(_)) {
        return graphs::epoch(global, &args.model, &args.classifier, &loaded).map(OnData::Graphs);
    }
    args.classifier.refuse_on_one_graph(&loaded.name)?;
    epoch_of_nodes(global, args, loaded).map(OnData::OneGraph)
}

fn epoch_of_nodes(global: &Global, args: &EpochArgs, loaded: Dataset) -> anyhow::Result<EpochReport> {
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
