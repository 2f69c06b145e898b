//! `gnarl train`: train a model on a dataset, over several runs, and say how well it does.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use gnarl::nn::{Backbone, NetworkConfig};
use gnarl::task::node::{self, FeatureScaling, OperatorChoice, Preparation, Prepared, Run};
use gnarl::task::recipe::Recipe;
use gnarl::train::{Checkpoint, StepSchedule, TrainConfig, Watch, median};
use gnarl_graph::metrics::mean_std;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Graph, Split};
use serde::Serialize;

use super::load;
use crate::args::Global;
use crate::output::{self, Report, real};
use crate::{interrupt, progress};

/// What fixes a model and its training: shared by the commands that train.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// gcn, gat, gatv2, gin, sage, sgc, appnp, pna, h2gcn or mlp
    #[arg(long)]
    pub model: Backbone,
    /// Settings to start from: default (the best known) or thesis
    #[arg(long, default_value = "default")]
    pub recipe: Recipe,
    /// Operator: A, L, Q, L_rw, L_sym, A_hat or H [default: the one of the model's paper]
    #[arg(long, value_name = "NAME")]
    pub operator: Option<ClassicalOperator>,
    /// as-loaded or row-normalised [default: by recipe]
    #[arg(long, value_name = "SCALING")]
    pub features: Option<FeatureScaling>,
    /// Width of hidden layers [default: by recipe]
    #[arg(long)]
    pub hidden: Option<usize>,
    /// Rounds of message passing [default: 2]
    #[arg(long)]
    pub layers: Option<usize>,
    /// Dropout between layers [default: by recipe]
    #[arg(long)]
    pub dropout: Option<f32>,
    /// Dropout of the input features [default: 0]
    #[arg(long)]
    pub input_dropout: Option<f32>,
    /// Attention heads of hidden layers [default: 8]
    #[arg(long)]
    pub heads: Option<usize>,
    /// Dropout of attention coefficients [default: 0]
    #[arg(long)]
    pub attention_dropout: Option<f32>,
    /// Batch normalisation inside GIN's perceptrons
    #[arg(long)]
    pub batch_norm: bool,
    /// Training epochs [default: 200]
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Learning rate [default: 0.01]
    #[arg(long)]
    pub lr: Option<f64>,
    /// L2 decay [default: 5e-4]
    #[arg(long)]
    pub weight_decay: Option<f64>,
    /// Multiply the learning rate by FACTOR every EPOCHS epochs, as in 50:0.6
    #[arg(long, value_name = "EPOCHS:FACTOR", value_parser = parse_schedule)]
    pub lr_step: Option<StepSchedule>,
    /// Stop after this many epochs without a lower validation loss
    #[arg(long)]
    pub patience: Option<usize>,
}

fn parse_schedule(text: &str) -> Result<StepSchedule, String> {
    let wrong = || format!("'{text}' is not EPOCHS:FACTOR, as in 50:0.6");
    let (every, factor) = text.split_once(':').ok_or_else(wrong)?;
    Ok(StepSchedule { every: every.parse().map_err(|_| wrong())?, factor: factor.parse().map_err(|_| wrong())? })
}

/// Everything needed to run it again.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    pub data: String,
    pub recipe: Recipe,
    pub preparation: Preparation,
    pub network: NetworkConfig,
    pub training: TrainConfig,
    pub runs: usize,
    pub seed: u64,
}

impl ModelArgs {
    /// The recipe's settings with what the user said put over them.
    pub fn config(&self, dataset: &str, runs: usize, seed: u64) -> Config {
        let (mut network, mut training, scaling) = self.recipe.settings(dataset, self.model);
        fn set<T: Copy>(slot: &mut T, asked: Option<T>) {
            if let Some(asked) = asked {
                *slot = asked;
            }
        }
        set(&mut network.hidden, self.hidden);
        set(&mut network.layers, self.layers);
        set(&mut network.dropout, self.dropout);
        set(&mut network.input_dropout, self.input_dropout);
        set(&mut network.heads, self.heads);
        set(&mut network.attention_dropout, self.attention_dropout);
        network.batch_norm |= self.batch_norm;
        set(&mut training.epochs, self.epochs);
        set(&mut training.learning_rate, self.lr);
        set(&mut training.weight_decay, self.weight_decay);
        training.schedule = self.lr_step.or(training.schedule);
        training.patience = self.patience.or(training.patience);
        let operator = self.operator.map_or(OperatorChoice::Usual, OperatorChoice::Classical);
        let preparation = Preparation { operator, features: self.features.unwrap_or(scaling) };
        Config { data: dataset.to_string(), recipe: self.recipe, preparation, network, training, runs, seed }
    }
}

/// `gnarl train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    /// Runs, each with its own seed and, where there are several, its own split
    #[arg(long, default_value_t = 1, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
    /// Write the first run's model to this safetensors file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Put every run's learning curve into the JSON
    #[arg(long)]
    pub curves: bool,
}

/// Mean, sample deviation and each run.
#[derive(Debug, Clone, Serialize)]
pub struct Accuracy {
    pub mean: f64,
    pub std: f64,
    pub runs: Vec<f64>,
}

impl Accuracy {
    pub fn of(values: Vec<f64>) -> gnarl_graph::Result<Self> {
        let summary = mean_std(&values)?;
        Ok(Self { mean: summary.mean, std: summary.std, runs: values })
    }

    /// `81.23 ± 0.45`
    pub fn text(&self) -> String {
        format!("{:.2} ± {:.2}", self.mean, self.std)
    }
}

/// What `gnarl train` found.
#[derive(Debug, Serialize)]
pub struct TrainReport {
    data: String,
    model: String,
    test_accuracy: Accuracy,
    val_accuracy: Accuracy,
    /// Median milliseconds of a training step.
    epoch_ms: f64,
    seconds: f64,
    parameters: usize,
    interrupted: bool,
    config: Config,
    runs: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
}

/// The graph and the splits its dataset is judged by.
pub fn load_with_splits(global: &Global, name: &str, count: usize) -> anyhow::Result<(String, Graph, Vec<Split>)> {
    let loaded = load(global, name)?;
    let (graph, splits) = gnarl_graph::dataset::protocol_splits(&loaded, global.seed, count)?;
    Ok((loaded.name, graph, splits))
}

/// Trains and reports.
pub fn run(global: &Global, args: &TrainArgs) -> anyhow::Result<TrainReport> {
    let start = Instant::now();
    let (data, graph, splits) = load_with_splits(global, &args.model.data, args.runs)?;
    let config = args.model.config(&data, args.runs, global.seed);
    config.network.check()?;
    config.training.check()?;
    let prepared = Prepared::new(&graph, config.network.backbone, config.preparation)?;
    let parameters = prepared.network(&config.network, 0)?.params().num_trained();

    let stop: &AtomicBool = interrupt::flag();
    let bar =
        progress::steps(&format!("{} on {data}", config.network.backbone), (args.runs * config.training.epochs) as u64);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop };
    let (runs, saved) = match &args.save {
        None => {
            (node::runs(&prepared, &config.network, &config.training, &splits, args.runs, global.seed, &watch)?, None)
        }
        Some(file) => {
            let (first, network) =
                node::run(&prepared, &config.network, &config.training, &splits[0], global.seed, &watch)?;
            let preparation = serde_json::to_value(config.preparation)?;
            Checkpoint::new(&network, &data, prepared.mean_log_degree, preparation).save(&network, file)?;
            let mut runs = vec![first];
            if args.runs > 1 {
                let rest: Vec<Split> = (1..args.runs).map(|i| splits[i % splits.len()].clone()).collect();
                let seed = global.seed.wrapping_add(1);
                runs.extend(node::runs(
                    &prepared,
                    &config.network,
                    &config.training,
                    &rest,
                    args.runs - 1,
                    seed,
                    &watch,
                )?);
            }
            (runs, Some(file.display().to_string()))
        }
    };
    bar.finish_and_clear();

    let over = |f: fn(&Run) -> f64| Accuracy::of(runs.iter().map(f).collect());
    Ok(TrainReport {
        data,
        model: config.network.backbone.to_string(),
        test_accuracy: over(|r| r.test_accuracy)?,
        val_accuracy: over(|r| r.val_accuracy)?,
        epoch_ms: median(runs.iter().map(|r| r.trained.epoch_ms).collect()),
        seconds: start.elapsed().as_secs_f64(),
        parameters,
        interrupted: runs.iter().any(|r| r.trained.interrupted),
        config,
        runs: runs.iter().map(|r| describe(r, args.curves)).collect::<Result<_, _>>()?,
        saved,
    })
}

/// One run for the JSON, with its curve where asked.
fn describe(run: &Run, with_curve: bool) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(run)?;
    if !with_curve && let Some(trained) = value.get_mut("trained").and_then(|t| t.as_object_mut()) {
        let epochs = trained.remove("curve").and_then(|c| c.as_array().map(Vec::len));
        trained.insert("epochs".into(), epochs.into());
    }
    Ok(value)
}

impl Report for TrainReport {
    fn text(&self) -> String {
        let c = &self.config;
        let operator = match c.preparation.operator {
            OperatorChoice::Usual => "the paper's".to_string(),
            OperatorChoice::Classical(op) => op.to_string(),
        };
        let mut rows = vec![
            ("test accuracy", self.test_accuracy.text()),
            ("validation accuracy", self.val_accuracy.text()),
            ("runs", self.test_accuracy.runs.len().to_string()),
            ("operator", operator),
            ("hidden, layers, dropout", format!("{}, {}, {}", c.network.hidden, c.network.layers, c.network.dropout)),
            ("epoch", format!("{} ms", real(self.epoch_ms))),
            ("all", format!("{} s", real(self.seconds))),
        ];
        if let Some(file) = &self.saved {
            rows.push(("saved", file.clone()));
        }
        if self.interrupted {
            rows.push(("interrupted", "yes: these are the epochs done so far".into()));
        }
        format!("{} on {}\n{}", self.model, self.data, output::render(&output::pairs(rows)))
    }
}
