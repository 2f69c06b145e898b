//! `gnarl bench`: measures the time of training epochs and of inference on this machine.

use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use gnarl::model::Model;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_nn::operator::OperatorChoice;
use gnarl_nn::train::{Keep, median};
use gnarl_robust::inference::Inference;
use serde::Serialize;

use super::growth::GrowthArgs;
use super::model::ModelArgs;
use super::study::StudyOutput;
use crate::global::Global;
use crate::output::{Report, real};

/// Subcommands of `gnarl bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure the median milliseconds of one training epoch: forward, backward, update
    Epoch(Box<EpochArgs>),
    /// Measure the milliseconds of a forward pass and of an inference over a neighbourhood, in turn
    Inference(Box<InferenceBenchArgs>),
    /// Measure how the time of an epoch grows with the graph, on random graphs of one mean degree
    Growth(GrowthArgs),
}

/// Arguments of `gnarl bench epoch`.
#[derive(Debug, Args)]
pub struct EpochArgs {
    #[command(flatten)]
    pub model: ModelArgs,
}

/// Arguments of `gnarl bench inference`.
#[derive(Debug, Args)]
pub struct InferenceBenchArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Number of measurements of each
    #[arg(long, default_value_t = 51, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub rounds: usize,
}

/// Result of `gnarl bench inference`.
#[derive(Debug, Serialize)]
pub struct InferenceBenchReport {
    data: String,
    model: String,
    /// Median milliseconds of a plain forward pass.
    plain_ms: f64,
    /// Median milliseconds of the inference rule, including its sampling.
    inference_ms: f64,
    /// Number of model evaluations.
    evaluations: usize,
    /// Number of plain forward passes in the time of one inference.
    plain_passes: f64,
    threads: usize,
    inference: Inference,
}

/// Number of forward passes in a row. The first pass after an inference reads from memory what the
/// inference evicted from the caches.
const PASSES: usize = 8;

/// Fits, then measures forward passes and inferences in turn.
pub fn inference(
    global: &Global,
    args: &InferenceBenchArgs,
) -> anyhow::Result<InferenceBenchReport> {
    let (data, benchmark) = args.model.benchmark(global, 1)?;
    let model = args.model.model(&data.name, benchmark.content.task())?;
    if model.inference.is_plain() {
        let what = "the model has no inference rule; choose one with --inference robust-crf, smoothing or clean-crf";
        return Err(gnarl_graph::Error::argument("bench inference", what).into());
    }
    let fitted = model.fit(&benchmark.first(), global.seed)?;
    let graph = fitted.prepared(benchmark.content.graph()?)?;
    let network = fitted.network()?;
    let Some(white) = network.white_box() else {
        let what = "a forward pass is measured on a plain network without exits; leave --depth out";
        return Err(gnarl_graph::Error::argument("bench inference", what).into());
    };
    // The other inputs of a plain pass are computed once, as a server would.
    let (propagation, input) = (white.propagation(&graph)?, white.input(&graph)?);
    let (mut plain, mut with_rule) = (Vec::new(), Vec::new());
    let timed = |times: &mut Vec<f64>, work: &dyn Fn() -> gnarl_graph::Result<()>| {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        gnarl_graph::Result::Ok(())
    };
    for _ in 0..args.rounds {
        for _ in 0..PASSES {
            timed(&mut plain, &|| {
                white.forward(&propagation, &input).map(drop)
            })?;
        }
        timed(&mut with_rule, &|| {
            fitted
                .fitted_inference()
                .predict(network, &graph, global.seed)
                .map(drop)
        })?;
    }
    let (plain_ms, inference_ms) = (median(plain), median(with_rule));
    Ok(InferenceBenchReport {
        data: data.name,
        model: model.backbone.to_string(),
        plain_ms,
        inference_ms,
        evaluations: model.inference.evaluations(),
        plain_passes: inference_ms / plain_ms,
        threads: rayon::current_num_threads(),
        inference: model.inference,
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

/// Result of `gnarl bench epoch`.
#[derive(Debug, Serialize)]
pub struct EpochReport {
    data: String,
    model: String,
    /// Median milliseconds of one training epoch; for a set, over the training graphs of the first
    /// fold.
    epoch_ms: f64,
    epochs: usize,
    threads: usize,
    parameters: usize,
    /// Number of training nodes or graphs.
    train_size: usize,
    config: Model,
}

/// Trains once and reports the median epoch.
pub fn epoch(global: &Global, args: &EpochArgs) -> anyhow::Result<StudyOutput<EpochReport>> {
    let (data, benchmark) = args.model.benchmark(global, 1)?;
    let task = benchmark.content.task();
    let mut model = args.model.model(&data.name, task)?;
    if let OperatorChoice::Cgso(cgso) = model.operator
        && model.operator.candidates().len() > 1
    {
        // The initialisation of the operator does not change the cost of an epoch.
        model.operator = cgso.from(ClassicalOperator::NORMALISED_ADJACENCY).into();
    }
    model.training.keep = Some(Keep::Last);
    if args.model.print_spec {
        return StudyOutput::spec(&model, task);
    }
    let on = benchmark.first();
    let fitted = model.fit(&on, global.seed)?;
    Ok(StudyOutput::Report(EpochReport {
        data: data.name,
        model: model.backbone.to_string(),
        epoch_ms: median(fitted.report().trained.iter().map(|t| t.epoch_ms).collect()),
        epochs: fitted.plan().training.epochs,
        threads: rayon::current_num_threads(),
        parameters: fitted.num_parameters(),
        train_size: on.split.train().len(),
        config: *fitted.model(),
    }))
}

impl Report for EpochReport {
    fn text(&self) -> String {
        format!(
            "{} on {}: {} ms an epoch ({} threads)\n",
            self.model,
            self.data,
            real(self.epoch_ms),
            self.threads
        )
    }
}
