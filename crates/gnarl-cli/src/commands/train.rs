//! `gnarl train`: train a model on a dataset, over several runs, and say how well it does.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use gnarl::features::FeatureScaling;
use gnarl::nn::{Backbone, NetworkConfig};
use gnarl::operator::OperatorChoice;
use gnarl::operator::{Centralities, Cgso, Initialisation};
use gnarl::task::depth::DepthRun;
use gnarl::task::node::{self, Preparation, Prepared, Run, Settled, Tried};
use gnarl::task::recipe::Recipe;
use gnarl::train::{Checkpoint, StepSchedule, TrainConfig, Watch, median};
use gnarl_graph::dataset::registry::Protocol;
use gnarl_graph::dataset::{Content, Dataset};
use gnarl_graph::metrics::mean_std;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Graph, Split};
use serde::Serialize;

use super::adaptive::{self, Adaptive, DepthArgs, DepthReport};
use super::graphs::{self, ClassifierArgs, SetReport, StudyArgs};
use super::weights::WeightsArgs;
use super::{OnData, load};
use crate::args::Global;
use crate::output::{self, Report, real};
use crate::{interrupt, progress};

/// What fixes a model and its training: shared by the commands that train.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// A dataset of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Split nodes by the dataset's own protocol (own), or its largest component at random into 10, 10 and 80 per cent
    /// (largest-component), as the thesis does for attacks on edges
    #[arg(long, default_value = "own")]
    pub protocol: ProtocolName,
    /// gcn, gat, gatv2, gin, sage, sgc, appnp, pna, h2gcn or mlp; or a way of combining layers: jk-cat, jk-max, jk-lstm (each also with
    /// -gin), gcnii, gpr-gnn, gpr-gin, adagcn; or the defence rgcn
    #[arg(long)]
    pub model: Backbone,
    /// Settings to start from: default (the best known), thesis (its ch. 3 and 4), thesis-ch5 or thesis-ch6 (its studies of
    /// robustness)
    #[arg(long, default_value = "default")]
    pub recipe: Recipe,
    /// Operator: A, L, Q, L_rw, L_sym, A_hat, H, or cgso to learn one [default: the one of the model's paper]
    #[arg(long, value_name = "NAME")]
    pub operator: Option<OperatorName>,
    /// Of cgso: degree, core, pagerank, walks or walks:LENGTH, or two of them summed, as in degree+core
    #[arg(long, value_name = "KIND[+KIND]")]
    pub centrality: Option<Centralities>,
    /// Of cgso: the operator it starts as, or auto for the best on validation nodes [default: auto]
    #[arg(long, value_name = "NAME")]
    pub init: Option<Initialisation>,
    /// as-loaded or row-normalised [default: by recipe]
    #[arg(long, value_name = "SCALING")]
    pub features: Option<FeatureScaling>,
    /// Width of hidden layers [default: by recipe]
    #[arg(long)]
    pub hidden: Option<usize>,
    /// Rounds of message passing; the ways of combining layers may have none [default: 2]
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
    #[command(flatten)]
    pub weights: WeightsArgs,
    /// Training epochs [default: 200]
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Learning rate [default: 0.01]
    #[arg(long)]
    pub lr: Option<f64>,
    /// Learning rate of cgso's exponents [default: 0.005]
    #[arg(long)]
    pub exponent_lr: Option<f64>,
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

/// What `--protocol` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolName {
    Own,
    LargestComponent,
}

impl FromStr for ProtocolName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        match name.to_lowercase().as_str() {
            "own" => Ok(ProtocolName::Own),
            "largest-component" => Ok(ProtocolName::LargestComponent),
            _ => Err(gnarl_graph::Error::unknown("protocol", name, ["own", "largest-component"])),
        }
    }
}

/// What `--operator` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OperatorName {
    Classical(ClassicalOperator),
    Cgso,
}

impl FromStr for OperatorName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("cgso") {
            return Ok(OperatorName::Cgso);
        }
        let known: Vec<String> = ClassicalOperator::ALL.iter().map(ToString::to_string).collect();
        let known = known.iter().map(String::as_str).chain(["cgso"]);
        name.parse().map(OperatorName::Classical).map_err(|_| gnarl_graph::Error::unknown("operator", name, known))
    }
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
    pub protocol: ProtocolName,
    pub recipe: Recipe,
    pub preparation: Preparation,
    pub network: NetworkConfig,
    pub training: TrainConfig,
    /// Where the network has an exit at every layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<Adaptive>,
    pub runs: usize,
    pub seed: u64,
}

impl ModelArgs {
    /// The operator asked for; `--centrality` and `--init` are cgso's alone.
    pub fn operator(&self) -> gnarl_graph::Result<OperatorChoice> {
        let refuse = |op: &'static str, what: &str| Err(gnarl_graph::Error::argument(op, what));
        if self.operator == Some(OperatorName::Cgso) {
            let Some(centrality) = self.centrality else {
                return refuse(
                    "--operator cgso",
                    "needs --centrality degree, core, pagerank or walks, or two of them as in degree+core",
                );
            };
            let init = self.init.unwrap_or(Initialisation::Auto);
            return Ok(OperatorChoice::Cgso(Cgso { centrality, init }));
        }
        if self.centrality.is_some() {
            return refuse("--centrality", "belongs to --operator cgso, which was not asked for");
        }
        if self.init.is_some() {
            return refuse("--init", "belongs to --operator cgso, which was not asked for");
        }
        Ok(match self.operator {
            Some(OperatorName::Classical(op)) => OperatorChoice::Classical(op),
            _ => OperatorChoice::Usual,
        })
    }

    /// The recipe's settings with what the user said put over them.
    pub fn config(&self, dataset: &str, runs: usize, seed: u64) -> gnarl_graph::Result<Config> {
        self.config_with(dataset, None, runs, seed)
    }

    /// The same for a network with exits, where asked.
    pub fn config_with(
        &self,
        dataset: &str,
        depth: Option<Adaptive>,
        runs: usize,
        seed: u64,
    ) -> gnarl_graph::Result<Config> {
        let (mut network, mut training, scaling) = match &depth {
            None => self.recipe.settings(dataset, self.model),
            Some(depth) => self.recipe.depth_settings(dataset, self.model, depth.max_depth),
        };
        self.over_network(&mut network)?;
        self.over_training(&mut training);
        let preparation = Preparation { operator: self.operator()?, features: self.features.unwrap_or(scaling) };
        let (data, protocol, recipe) = (dataset.to_string(), self.protocol, self.recipe);
        Ok(Config { data, protocol, recipe, preparation, network, training, depth, runs, seed })
    }

    /// Puts what the user said over a network's settings.
    pub fn over_network(&self, network: &mut NetworkConfig) -> gnarl_graph::Result<()> {
        set(&mut network.hidden, self.hidden);
        set(&mut network.layers, self.layers);
        set(&mut network.dropout, self.dropout);
        set(&mut network.input_dropout, self.input_dropout);
        set(&mut network.heads, self.heads);
        set(&mut network.attention_dropout, self.attention_dropout);
        network.batch_norm |= self.batch_norm;
        self.weights.apply(network)
    }

    /// Puts what the user said over the settings of training.
    pub fn over_training(&self, training: &mut TrainConfig) {
        set(&mut training.epochs, self.epochs);
        set(&mut training.learning_rate, self.lr);
        set(&mut training.exponent_learning_rate, self.exponent_lr);
        set(&mut training.weight_decay, self.weight_decay);
        training.schedule = self.lr_step.or(training.schedule);
        training.patience = self.patience.or(training.patience);
    }
}

/// What the user said, where they did, in the place of what was there.
pub(super) fn set<T: Copy>(slot: &mut T, asked: Option<T>) {
    if let Some(asked) = asked {
        *slot = asked;
    }
}

/// `gnarl train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub depth: DepthArgs,
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    #[command(flatten)]
    pub study: StudyArgs,
    /// Runs, each with its own seed and, where there are several, its own split [default: 1; of a set of graphs, its folds]
    #[arg(long, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: Option<usize>,
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
    /// Accuracies of exits and policies.
    #[serde(flatten)]
    depth: Option<DepthReport>,
    /// What a learnable operator's scalars came to, over the runs.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    operator_parameters: Vec<(String, Accuracy)>,
    /// The initialisations tried, where it was for us to choose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    initialisations: Vec<Tried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved: Option<String>,
}

pub fn as_object<S: serde::Serializer>(pairs: &[(String, Accuracy)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// The graph and the splits its dataset is judged by.
pub fn load_with_splits(global: &Global, name: &str, count: usize) -> anyhow::Result<(String, Graph, Vec<Split>)> {
    splits_of(global, load(global, name)?, count)
}

/// The same of a dataset that is loaded.
pub fn splits_of(global: &Global, loaded: Dataset, count: usize) -> anyhow::Result<(String, Graph, Vec<Split>)> {
    let (graph, splits) = gnarl_graph::dataset::protocol_splits(&loaded, global.seed, count)?;
    Ok((loaded.name, graph, splits))
}

/// The dataset of a model by the protocol asked for.
pub fn load_for(global: &Global, model: &ModelArgs, count: usize) -> anyhow::Result<(String, Graph, Vec<Split>)> {
    if model.protocol == ProtocolName::Own {
        return load_with_splits(global, &model.data, count);
    }
    let loaded = load(global, &model.data)?;
    let protocol = Protocol::LargestComponentFractions { train: 0.1, val: 0.1 };
    let (graph, splits) = gnarl_graph::dataset::splits_by(&loaded, Some(protocol), global.seed, count)?;
    Ok((loaded.name, graph, splits))
}

/// Trains and reports, on one graph or on a set of them.
pub fn run(global: &Global, args: &TrainArgs) -> anyhow::Result<OnData<TrainReport, SetReport>> {
    let start = Instant::now();
    let loaded = load(global, &args.model.data)?;
    if matches!(loaded.content, Content::Graphs(_)) {
        return graphs::train(global, args, &loaded, start).map(OnData::Graphs);
    }
    args.classifier.refuse_on_one_graph(&loaded.name)?;
    args.study.refuse_on_one_graph(&loaded.name)?;
    run_nodes(global, args, loaded, start).map(OnData::OneGraph)
}

fn run_nodes(global: &Global, args: &TrainArgs, loaded: Dataset, start: Instant) -> anyhow::Result<TrainReport> {
    let count = args.runs.unwrap_or(1);
    let (data, graph, splits) = splits_of(global, loaded, count)?;
    let depth = args.depth.adaptive(&args.model)?;
    let mut config = args.model.config_with(&data, depth, count, global.seed)?;
    config.training.check()?;
    if config.depth.is_some() {
        return run_adaptive(args, config, &graph, &splits, start);
    }
    config.network.check()?;

    let stop: &AtomicBool = interrupt::flag();
    let candidates = config.preparation.operator.candidates();
    // AdaGCN trains a learner for every depth, one after the other.
    let learners = if config.network.backbone == Backbone::AdaGcn { config.network.layers + 1 } else { 1 };
    let steps = (candidates * count * config.training.epochs * learners) as u64;
    let bar = progress::steps(&format!("{} on {data}", config.network.backbone), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop };
    let (network, training, seed) = (&config.network, &config.training, global.seed);
    let one_to_save = args.save.as_ref().filter(|_| candidates == 1);
    let Settled { preparation, prepared, runs, tried } = match one_to_save {
        None => node::settled_runs(&graph, config.preparation, network, training, &splits, count, seed, &watch)?,
        // The first run by itself, to keep its network; the others as they come.
        Some(file) => {
            let (preparation, prepared) =
                (config.preparation, Prepared::new(&graph, network.backbone, config.preparation)?);
            let mut runs = vec![run_and_save(&prepared, &config, &data, &splits[0], &watch, file)?];
            if count > 1 {
                let rest: Vec<Split> = (1..count).map(|i| splits[i % splits.len()].clone()).collect();
                let seed = seed.wrapping_add(1);
                runs.extend(node::runs(&prepared, network, training, &rest, count - 1, seed, &watch)?);
            }
            Settled { preparation, prepared, runs, tried: Vec::new() }
        }
    };
    config.preparation = preparation;
    // An initialisation had to be chosen first: its first run once more, which is the same run.
    if let Some(file) = args.save.as_ref().filter(|_| candidates > 1) {
        run_and_save(&prepared, &config, &data, &splits[0], &watch, file)?;
    }
    let parameters = prepared.network(&config.network, 0)?.params().num_trained();
    let saved = args.save.as_ref().map(|file| file.display().to_string());
    bar.finish_and_clear();

    let over = |f: fn(&Run) -> f64| Accuracy::of(runs.iter().map(f).collect());
    let scalars: Vec<_> = runs.iter().map(|run| &run.operator[..]).collect();
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
        operator_parameters: operator_parameters(&scalars)?,
        initialisations: tried,
        runs: runs.iter().map(|r| describe(r, &r.operator, args.curves)).collect::<Result<_, _>>()?,
        depth: None,
        saved,
    })
}

/// The same with an exit at every layer.
fn run_adaptive(
    args: &TrainArgs,
    mut config: Config,
    graph: &Graph,
    splits: &[Split],
    start: Instant,
) -> anyhow::Result<TrainReport> {
    let (trained, parameters) = adaptive::train(&mut config, graph, splits, args.save.as_deref())?;
    let runs = &trained.runs;
    let over = |f: fn(&DepthRun) -> f64| Accuracy::of(runs.iter().map(f).collect());
    let scalars: Vec<_> = runs.iter().map(|run| &run.operator[..]).collect();
    Ok(TrainReport {
        data: config.data.clone(),
        model: config.network.backbone.to_string(),
        test_accuracy: over(|r| r.own_accuracy)?,
        val_accuracy: over(|r| r.own_val_accuracy)?,
        epoch_ms: median(runs.iter().flat_map(|r| r.trained.iter().map(|t| t.epoch_ms)).collect()),
        seconds: start.elapsed().as_secs_f64(),
        parameters,
        interrupted: runs.iter().any(|r| r.trained.iter().any(|t| t.interrupted)),
        operator_parameters: operator_parameters(&scalars)?,
        initialisations: trained.tried,
        runs: runs.iter().map(|r| describe(r, &r.operator, args.curves)).collect::<Result<_, _>>()?,
        depth: Some(DepthReport::new(&config, runs)?),
        config,
        saved: args.save.as_ref().map(|file| file.display().to_string()),
    })
}

fn run_and_save(
    prepared: &Prepared,
    config: &Config,
    data: &str,
    split: &Split,
    watch: &Watch<'_>,
    file: &Path,
) -> anyhow::Result<Run> {
    let (run, network) = node::run(prepared, &config.network, &config.training, split, config.seed, watch)?;
    let preparation = serde_json::to_value(config.preparation)?;
    Checkpoint::new(&network, data, prepared.mean_log_degree, preparation).save(&network, file)?;
    Ok(run)
}

/// Each scalar of a learnable operator over the runs.
pub fn operator_parameters(runs: &[&[(String, f64)]]) -> gnarl_graph::Result<Vec<(String, Accuracy)>> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let over_runs = |i: usize| Accuracy::of(runs.iter().map(|scalars| scalars[i].1).collect());
    first.iter().enumerate().map(|(i, (name, _))| Ok((name.clone(), over_runs(i)?))).collect()
}

/// One run for the JSON, with its curves where asked.
pub fn describe(
    run: &impl Serialize,
    scalars: &[(String, f64)],
    with_curve: bool,
) -> serde_json::Result<serde_json::Value> {
    let mut value = serde_json::to_value(run)?;
    if let Some(found) = value.get_mut("operator") {
        *found = scalars.iter().map(|(name, x)| (name.clone(), serde_json::Value::from(*x))).collect();
    }
    if !with_curve && let Some(trained) = value.get_mut("trained") {
        let trainings = match trained {
            serde_json::Value::Array(stages) => stages.iter_mut().collect(),
            one => vec![one],
        };
        for trained in trainings.into_iter().filter_map(|t| t.as_object_mut()) {
            let epochs = trained.remove("curve").and_then(|c| c.as_array().map(Vec::len));
            trained.insert("epochs".into(), epochs.into());
        }
    }
    Ok(value)
}

impl Report for TrainReport {
    fn text(&self) -> String {
        let c = &self.config;
        let mut rows = vec![
            ("test accuracy", self.test_accuracy.text()),
            ("validation accuracy", self.val_accuracy.text()),
            ("runs", self.test_accuracy.runs.len().to_string()),
            ("operator", c.preparation.operator.to_string()),
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
        let mut text = format!("{} on {}\n{}", self.model, self.data, output::render(&output::pairs(rows)));
        if let Some(depth) = &self.depth {
            text += &depth.text();
        }
        text + &learned_text(&self.operator_parameters, &self.initialisations)
    }
}

/// Tables of what a learnable operator came to and where it was tried to start; empty for a fixed one.
pub fn learned_text(parameters: &[(String, Accuracy)], tried: &[Tried]) -> String {
    let mut text = String::new();
    if !parameters.is_empty() {
        let mut table = output::table(&["learned", ">mean", ">std"]);
        for (name, Accuracy { mean, std, .. }) in parameters {
            table.add_row([name.clone(), format!("{mean:.3}"), format!("{std:.3}")]);
        }
        text += &format!("\n{}", output::render(&table));
    }
    if !tried.is_empty() {
        let mut table = output::table(&["initialisation tried", ">validation accuracy"]);
        for Tried { init, val_accuracy, .. } in tried {
            table.add_row([init.clone(), val_accuracy.map_or_else(|| "diverged".into(), |v| format!("{v:.2}"))]);
        }
        text += &format!("\n{}", output::render(&table));
    }
    text
}
