//! `gnarl attack`: train a model, change its graph within a budget, and say how many of its answers turn wrong.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use gnarl::attack::{Attack, Loss};
use gnarl::inference::{Choice, Part};
use gnarl::nn::Backbone;
use gnarl::perturb::{Norm, Scope};
use gnarl::task::attack::{AttackRun, AttackStudy, DefendedRun, Known, Mode};
use gnarl::task::{depth, node};
use gnarl::train::{Watch, median};
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::{Graph, Split};
use serde::Serialize;

use super::adaptive::DepthArgs;
use super::inference::InferenceArgs;
use super::train::{Accuracy, Config, ModelArgs, load_for};
use crate::args::Global;
use crate::output::{self, Report, real};
use crate::{interrupt, progress};

/// `gnarl attack`
#[derive(Debug, Args)]
pub struct AttackArgs {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub depth: DepthArgs,
    #[command(flatten)]
    pub attack: AttackOptions,
    #[command(flatten)]
    pub inference: InferenceArgs,
    /// Runs, each with its own seed and, where there are several, its own split
    #[arg(long, default_value_t = 1, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub runs: usize,
}

/// The attack.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The attack")]
pub struct AttackOptions {
    /// gaussian, pgd-features, pgd-structure, dice, random-flips, random-add or random-remove
    #[arg(long, value_name = "KIND")]
    pub attack: Attack,
    /// How much may change: psi of gaussian, a share of the features' norm for pgd-features, a share of the edges for the others
    /// [default: the thesis', 0.5, 0.15 and 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub budget: Option<f64>,
    /// evasion (a trained model's input is attacked) or poisoning (the graph it is trained on)
    #[arg(long, default_value = "evasion")]
    pub mode: Mode,
    /// Let the attacker look into a GCN of their own instead of the model; when poisoning that is always so
    #[arg(long)]
    pub surrogate: bool,
    /// What the attacker takes for the classes of nodes that are not for training: true, or predicted by the model looked into
    #[arg(long, value_name = "KIND", default_value = "true")]
    pub labels: Known,
    /// Of pgd-features: the norm of the budget, 2 or inf [default: 2]
    #[arg(long)]
    pub norm: Option<Norm>,
    /// Of pgd-features: whether every node has a budget or the whole matrix one: node or matrix [default: node]
    #[arg(long)]
    pub scope: Option<Scope>,
    /// Of pgd: what is climbed, margin or cross-entropy [default: margin]
    #[arg(long)]
    pub loss: Option<Loss>,
    /// Of pgd: steps of ascent [default: 100]
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// Of pgd-features: starting points [default: 2]
    #[arg(long, value_name = "N")]
    pub starts: Option<usize>,
    /// Of pgd-features: share of a node's features that may move; below one half a defence by the median sees nothing [default: 1]
    #[arg(long, value_name = "SHARE")]
    pub support: Option<f64>,
    /// Of pgd-structure: pairs without an edge that are looked at together [default: 50000]
    #[arg(long, value_name = "PAIRS")]
    pub block: Option<usize>,
    /// Of pgd-structure: roundings to whole flips, of which the best is kept [default: 20]
    #[arg(long, value_name = "N")]
    pub roundings: Option<usize>,
}

impl AttackOptions {
    fn attack(&self) -> gnarl_graph::Result<Attack> {
        fn text<T: ToString>(value: Option<T>) -> Option<String> {
            value.map(|value| value.to_string())
        }
        let given = [
            ("budget", text(self.budget)),
            ("norm", text(self.norm)),
            ("scope", text(self.scope)),
            ("loss", text(self.loss)),
            ("steps", text(self.steps)),
            ("starts", text(self.starts)),
            ("support", text(self.support)),
            ("block", text(self.block)),
            ("roundings", text(self.roundings)),
        ];
        let given: Vec<_> = given.into_iter().filter_map(|(name, text)| Some((name.to_string(), text?))).collect();
        self.attack.with(&given)
    }
}

/// Everything needed to run it again.
#[derive(Debug, Serialize)]
pub struct AttackConfig {
    #[serde(flatten)]
    model: Config,
    attack: Attack,
    mode: Mode,
    surrogate: bool,
    labels: Known,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference: Option<Choice>,
    inference_tuned: bool,
}

/// What `gnarl attack` found.
#[derive(Debug, Serialize)]
pub struct AttackReport {
    data: String,
    model: String,
    attack: String,
    /// Of the clean model on the clean graph, as `gnarl train` says it.
    test_accuracy: Accuracy,
    val_accuracy: Accuracy,
    clean_accuracy: Accuracy,
    attacked_accuracy: Accuracy,
    /// Per cent of the test nodes that were right before and are wrong after.
    success_rate: Accuracy,
    /// The same inputs under the inference asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    defended: Option<DefendedReport>,
    /// Median milliseconds of a training step.
    epoch_ms: f64,
    /// Seconds of an attack, on average.
    attack_seconds: f64,
    seconds: f64,
    interrupted: bool,
    config: AttackConfig,
    runs: Vec<AttackRun>,
}

/// What another inference makes of the same inputs.
#[derive(Debug, Serialize)]
pub struct DefendedReport {
    clean_accuracy: Accuracy,
    attacked_accuracy: Accuracy,
    /// Defended minus bare, run by run.
    clean_difference: PairedDifference,
    attacked_difference: PairedDifference,
    /// Seconds of the two inferences of a run, on average.
    seconds: f64,
}

impl DefendedReport {
    fn of(runs: &[AttackRun]) -> gnarl_graph::Result<Option<Self>> {
        let Some(defended) = runs.iter().map(|run| run.defended).collect::<Option<Vec<DefendedRun>>>() else {
            return Ok(None);
        };
        let clean: Vec<f64> = defended.iter().map(|d| d.clean_accuracy).collect();
        let attacked: Vec<f64> = defended.iter().map(|d| d.attacked_accuracy).collect();
        let bare = |f: fn(&AttackRun) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
        Ok(Some(Self {
            clean_difference: paired_difference(&clean, &bare(|r| r.clean_accuracy))?,
            attacked_difference: paired_difference(&attacked, &bare(|r| r.attacked_accuracy))?,
            clean_accuracy: Accuracy::of(clean)?,
            attacked_accuracy: Accuracy::of(attacked)?,
            seconds: defended.iter().map(|d| d.seconds).sum::<f64>() / defended.len() as f64,
        }))
    }
}

/// Trains, attacks and reports.
pub fn run(global: &Global, args: &AttackArgs) -> anyhow::Result<AttackReport> {
    let start = Instant::now();
    // A wrong option should not wait for the data.
    let attack = args.attack.attack()?;
    let (data, graph, splits) = load_for(global, &args.model, args.runs)?;
    let adaptive = args.depth.adaptive(&args.model)?;
    let mut config = args.model.config_with(&data, adaptive, args.runs, global.seed)?;
    config.training.check()?;
    if config.depth.is_none() {
        config.network.check()?;
    }

    let AttackOptions { mode, surrogate, labels, .. } = args.attack;
    let stop: &AtomicBool = interrupt::flag();
    settle_operator(&mut config, &graph, &splits, stop)?;
    let exits = config.depth.as_ref().map(|depth| (depth.scheme, depth.own));
    let (operator, network, training) = (config.preparation.operator, config.network.clone(), config.training.clone());
    let part = if attack.method().changes_features() { Part::Features } else { Part::Structure };
    let inference = args.inference.choice(&data, Some(part))?;
    let tune = args.inference.inference_tune;
    let study =
        AttackStudy { operator, network, training, exits, attack, mode, surrogate, known: labels, inference, tune };
    study.check()?;

    // AdaGCN trains a learner for every depth, one after the other.
    let learners = match &config.depth {
        Some(depth) => depth.scheme.num_trainings(depth.max_depth),
        None if config.network.backbone == Backbone::AdaGcn => config.network.layers + 1,
        None => 1,
    };
    let steps = (args.runs * config.training.epochs * learners * study.trainings()) as u64;
    let bar = progress::steps(&format!("{attack} against {} on {data}", config.network.backbone), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop };
    // What is attacked is what is heard.
    let graph = config.preparation.features.scaled(&graph)?;
    let runs = study.runs(&graph, &splits, args.runs, global.seed, &watch)?;
    bar.finish_and_clear();

    let over = |f: fn(&AttackRun) -> f64| Accuracy::of(runs.iter().map(f).collect());
    Ok(AttackReport {
        data,
        model: config.network.backbone.to_string(),
        attack: attack.to_string(),
        test_accuracy: over(|r| r.clean_accuracy)?,
        val_accuracy: over(|r| r.val_accuracy)?,
        clean_accuracy: over(|r| r.clean_accuracy)?,
        attacked_accuracy: over(|r| r.attacked_accuracy)?,
        success_rate: over(|r| r.success_rate)?,
        defended: DefendedReport::of(&runs)?,
        epoch_ms: median(runs.iter().map(|r| r.epoch_ms).collect()),
        attack_seconds: runs.iter().map(|r| r.attack_seconds).sum::<f64>() / runs.len() as f64,
        seconds: start.elapsed().as_secs_f64(),
        interrupted: runs.iter().any(|r| r.interrupted),
        config: AttackConfig { model: config, attack, mode, surrogate, labels, inference, inference_tuned: tune },
        runs,
    })
}

/// Chooses the initialisation of a learnable operator where that is left open, as `gnarl train` does.
fn settle_operator(config: &mut Config, graph: &Graph, splits: &[Split], stop: &AtomicBool) -> anyhow::Result<()> {
    let candidates = config.preparation.operator.candidates();
    if candidates == 1 {
        return Ok(());
    }
    let steps = (candidates * config.runs * config.training.epochs) as u64;
    let bar = progress::steps(&format!("initialisations on {}", config.data), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop };
    let Config { preparation, network, training, runs, seed, .. } = &*config;
    config.preparation = match &config.depth {
        None => node::settled_runs(graph, *preparation, network, training, splits, *runs, *seed, &watch)?.preparation,
        Some(adaptive) => {
            depth::settled_runs(graph, *preparation, &adaptive.config(config), splits, *runs, *seed, &watch)?
                .preparation
        }
    };
    bar.finish_and_clear();
    Ok(())
}

impl Report for AttackReport {
    fn text(&self) -> String {
        let AttackConfig { model: config, attack, mode, surrogate, .. } = &self.config;
        let count = self.runs.len() as f64;
        let mean = |f: fn(&AttackRun) -> f64| self.runs.iter().map(f).sum::<f64>() / count;
        let mut rows = vec![
            ("clean accuracy", self.clean_accuracy.text()),
            ("attacked accuracy", self.attacked_accuracy.text()),
            ("success rate", self.success_rate.text()),
        ];
        if let (Some(defended), Some(choice)) = (&self.defended, &self.config.inference) {
            let line = |accuracy: &Accuracy, difference: &PairedDifference| {
                format!("{} ({:+.2} ± {:.2})", accuracy.text(), difference.mean, difference.standard_error)
            };
            rows.extend([
                ("inference", choice.kind.to_string()),
                ("  clean", line(&defended.clean_accuracy, &defended.clean_difference)),
                ("  attacked", line(&defended.attacked_accuracy, &defended.attacked_difference)),
            ]);
        }
        rows.extend([
            ("attack", attack.budget().map_or(attack.to_string(), |budget| format!("{attack}, {budget}"))),
            ("mode", if *surrogate { format!("{mode}, through a surrogate") } else { mode.to_string() }),
        ]);
        let (added, removed) = (mean(|r| r.edges_added as f64), mean(|r| r.edges_removed as f64));
        if added + removed > 0.0 {
            rows.push(("edges added, removed", format!("{}, {}", real(added), real(removed))));
        }
        let moved = mean(|r| r.features.l2);
        if moved > 0.0 {
            let largest = real(mean(|r| r.features.largest_l2));
            rows.push(("features moved by", format!("{} in all, {largest} at most for a node", real(moved))));
        }
        rows.extend([
            ("runs", self.runs.len().to_string()),
            ("operator", config.preparation.operator.to_string()),
            ("weights", config.network.weights.to_string()),
            ("attack took", format!("{} s", real(self.attack_seconds))),
            ("all", format!("{} s", real(self.seconds))),
        ]);
        if self.interrupted {
            rows.push(("interrupted", "yes: models were trained for the epochs done so far".into()));
        }
        format!("{} on {}\n{}", self.model, self.data, output::render(&output::pairs(rows)))
    }
}
