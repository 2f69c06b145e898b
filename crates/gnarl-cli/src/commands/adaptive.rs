//! `gnarl train --depth admp-st|admp-alm`: an exit at every layer, and policies that say where a node leaves.

use std::path::Path;
use std::str::FromStr;

use clap::Args;
use gnarl::depth::{Kind, Scheme, Structure};
use gnarl::task::depth::{self as task, DepthConfig, DepthRun};
use gnarl::task::node::{Prepared, Settled};
use gnarl::train::Watch;
use gnarl_graph::metrics::{PairedDifference, paired_difference};
use gnarl_graph::{Graph, Split};
use serde::Serialize;

use super::train::{Accuracy, Config, ModelArgs};
use crate::output;
use crate::{interrupt, progress};

/// The depth axis on the command line.
#[derive(Debug, Clone, Args)]
pub struct DepthArgs {
    /// fixed, or exits at every layer trained one after the other (admp-st) or all at once (admp-alm)
    #[arg(long, default_value = "fixed")]
    pub depth: DepthName,
    /// Of admp: the last exit [default: 5]
    #[arg(long, value_name = "L")]
    pub max_depth: Option<usize>,
    /// Of admp: where nodes leave, the first being the model's own: degree, core, walks, pagerank, two of them as in
    /// degree+core, confidence, most-confident, mixture, blend, pool, echo, or all [default: all, with pool its own]
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    pub policy: Vec<PolicyName>,
}

/// What `--depth` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DepthName {
    Fixed,
    Adaptive(Scheme),
}

impl FromStr for DepthName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("fixed") {
            return Ok(DepthName::Fixed);
        }
        let known = || std::iter::once("fixed").chain(Scheme::ALL.iter().map(|scheme| scheme.name()));
        name.parse().map(DepthName::Adaptive).map_err(|_| gnarl_graph::Error::unknown("depth", name, known()))
    }
}

/// What `--policy` may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyName {
    All,
    One(Kind),
}

impl FromStr for PolicyName {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("all") { Ok(PolicyName::All) } else { name.parse().map(PolicyName::One) }
    }
}

/// An adaptive depth, with nothing left open.
#[derive(Debug, Clone, Serialize)]
pub struct Adaptive {
    pub scheme: Scheme,
    pub max_depth: usize,
    pub policies: Vec<Kind>,
    /// The model's own policy.
    pub own: Kind,
}

/// Deeper than any study goes: exits cost memory.
const DEEPEST: usize = 1000;

impl DepthArgs {
    /// Fails where anything but a fixed depth was asked for: exits are places where nodes leave.
    pub fn refuse_on_graph_sets(&self) -> gnarl_graph::Result<()> {
        let refuse = |op: &'static str| {
            Err(gnarl_graph::Error::argument(
                op,
                "belongs to graphs whose nodes are classified; a set of graphs has a fixed depth, --layers",
            ))
        };
        match self {
            DepthArgs { depth: DepthName::Adaptive(_), .. } => refuse("--depth"),
            DepthArgs { max_depth: Some(_), .. } => refuse("--max-depth"),
            DepthArgs { policy, .. } if !policy.is_empty() => refuse("--policy"),
            _ => Ok(()),
        }
    }

    /// What was asked for; `None` for a fixed depth, to which the other options do not belong.
    pub fn adaptive(&self, model: &ModelArgs) -> gnarl_graph::Result<Option<Adaptive>> {
        let refuse = |op: &'static str, what: &str| Err(gnarl_graph::Error::argument(op, what));
        let DepthName::Adaptive(scheme) = self.depth else {
            if self.max_depth.is_some() {
                return refuse("--max-depth", "belongs to --depth admp-st or admp-alm; a fixed depth is --layers");
            }
            if !self.policy.is_empty() {
                return refuse("--policy", "belongs to --depth admp-st or admp-alm, which was not asked for");
            }
            return Ok(None);
        };
        if model.layers.is_some() {
            return refuse("--layers", "belongs to a fixed depth; the last exit is --max-depth");
        }
        let max_depth = self.max_depth.unwrap_or(5);
        if max_depth > DEEPEST {
            return refuse("--max-depth", &format!("{max_depth} is more than {DEEPEST}"));
        }
        let mut policies: Vec<Kind> = Vec::new();
        for name in if self.policy.is_empty() { &[PolicyName::All] } else { &self.policy[..] } {
            let more = match name {
                PolicyName::All => Kind::ALL.to_vec(),
                PolicyName::One(kind) => vec![*kind],
            };
            for kind in more {
                if !policies.contains(&kind) {
                    policies.push(kind);
                }
            }
        }
        let own = match self.policy.first() {
            Some(PolicyName::One(kind)) => *kind,
            _ => Kind::Pool,
        };
        Ok(Some(Adaptive { scheme, max_depth, policies, own }))
    }
}

impl Adaptive {
    /// The library's settings for it.
    pub fn config(&self, config: &Config) -> DepthConfig {
        DepthConfig {
            scheme: self.scheme,
            network: config.network.clone(),
            training: config.training.clone(),
            policies: self.policies.clone(),
            own: self.policies.iter().position(|kind| *kind == self.own).unwrap_or(0),
        }
    }
}

/// All runs and the number of trained values; the first run's model is written where asked.
pub fn train(
    config: &mut Config,
    graph: &Graph,
    splits: &[Split],
    save: Option<&Path>,
) -> anyhow::Result<(Settled<DepthRun>, usize)> {
    let adaptive = config.depth.clone().expect("this is the way of adaptive depths");
    let depth = adaptive.config(config);
    let trainings = adaptive.scheme.num_trainings(adaptive.max_depth) * config.preparation.operator.candidates();
    let again = usize::from(save.is_some());
    let steps = (trainings * (config.runs + again) * config.training.epochs) as u64;
    let bar = progress::steps(&format!("{} of {} on {}", adaptive.scheme, config.network.backbone, config.data), steps);
    let watch = Watch { on_epoch: &|_, _| bar.inc(1), stop: interrupt::flag() };
    let settled = task::settled_runs(graph, config.preparation, &depth, splits, config.runs, config.seed, &watch)?;
    config.preparation = settled.preparation;
    if let Some(file) = save {
        save_first(&settled.prepared, config, &depth, graph, &splits[0], &watch, file)?;
    }
    let parameters = settled.prepared.exits(&config.network, 0)?.params().num_trained();
    bar.finish_and_clear();
    Ok((settled, parameters))
}

/// The first run once more, which is the same run, to keep its exits and its policy.
fn save_first(
    prepared: &Prepared,
    config: &Config,
    depth: &DepthConfig,
    graph: &Graph,
    split: &Split,
    watch: &Watch<'_>,
    file: &Path,
) -> anyhow::Result<()> {
    let depth = DepthConfig { policies: vec![depth.policies[depth.own]], own: 0, ..depth.clone() };
    let structure = Structure::new(graph, &depth.policies)?;
    let (_, exits, policy) = task::run(prepared, &structure, &depth, split, config.seed, watch)?;
    let preparation = serde_json::to_value(config.preparation)?;
    let checkpoint = exits.checkpoint(&policy, &config.data, prepared.mean_log_degree, preparation)?;
    Ok(checkpoint.save_params(exits.params(), file)?)
}

/// Accuracies of a network with exits, over runs.
#[derive(Debug, Serialize)]
pub struct DepthReport {
    /// Of every exit.
    exit_accuracy: Vec<Accuracy>,
    /// Of every policy.
    #[serde(serialize_with = "as_object")]
    policy_accuracy: Vec<(String, PolicyAccuracy)>,
    /// Of the layer with the best validation accuracy in each run.
    single_layer_accuracy: Accuracy,
    /// Where any exit is right.
    oracle_accuracy: Accuracy,
    /// The model's own policy.
    policy: String,
    /// Nodes that leave at each exit under it, on average over runs.
    leave_at: Vec<f64>,
    /// Seconds of training alone, all runs' together.
    training_seconds: f64,
}

/// A policy over runs, and against the single best layer of the same runs.
#[derive(Debug, Serialize)]
struct PolicyAccuracy {
    #[serde(flatten)]
    accuracy: Accuracy,
    minus_single: PairedDifference,
}

fn as_object<S: serde::Serializer>(pairs: &[(String, PolicyAccuracy)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl DepthReport {
    pub fn new(config: &Config, runs: &[DepthRun]) -> gnarl_graph::Result<Self> {
        let depth = config.depth.as_ref().expect("this is the way of adaptive depths");
        let over = |f: &dyn Fn(&DepthRun) -> f64| runs.iter().map(f).collect::<Vec<f64>>();
        let single = over(&|run| run.single_layer_accuracy());
        let policy_accuracy = depth.policies.iter().enumerate().map(|(i, kind)| {
            let values = over(&|run| run.policy_accuracy[i]);
            let minus_single = paired_difference(&values, &single)?;
            Ok((kind.to_string(), PolicyAccuracy { accuracy: Accuracy::of(values)?, minus_single }))
        });
        let exits = 0..=depth.max_depth;
        let mean_leaving = |exit| over(&|run| run.leave_at[exit] as f64).iter().sum::<f64>() / runs.len().max(1) as f64;
        Ok(Self {
            exit_accuracy: exits
                .clone()
                .map(|l| Accuracy::of(over(&|run| run.exit_accuracy[l])))
                .collect::<Result<_, _>>()?,
            policy_accuracy: policy_accuracy.collect::<gnarl_graph::Result<_>>()?,
            single_layer_accuracy: Accuracy::of(single)?,
            oracle_accuracy: Accuracy::of(over(&|run| run.oracle_accuracy))?,
            policy: depth.own.to_string(),
            leave_at: exits.map(mean_leaving).collect(),
            training_seconds: over(&|run| run.training_seconds).iter().sum(),
        })
    }

    /// Two tables: exits, and policies against the single best layer.
    pub fn text(&self) -> String {
        let mut exits = output::table(&["exit", ">test accuracy", ">nodes leaving"]);
        for (l, (accuracy, nodes)) in self.exit_accuracy.iter().zip(&self.leave_at).enumerate() {
            exits.add_row([l.to_string(), accuracy.text(), output::real((10.0 * nodes).round() / 10.0)]);
        }
        let mut policies = output::table(&["policy", ">test accuracy", ">minus single layer"]);
        policies.add_row(["single layer, best on validation".into(), self.single_layer_accuracy.text(), "-".into()]);
        for (name, PolicyAccuracy { accuracy, minus_single }) in &self.policy_accuracy {
            let PairedDifference { mean, standard_error, .. } = *minus_single;
            let clear = if minus_single.is_clear() { " *" } else { "" };
            let difference = match standard_error.is_finite() {
                true => format!("{mean:+.2} ± {standard_error:.2}{clear}"),
                false => format!("{mean:+.2}"),
            };
            let own = if *name == self.policy { " (the model's own)" } else { "" };
            policies.add_row([format!("{name}{own}"), accuracy.text(), difference]);
        }
        policies.add_row(["oracle".into(), self.oracle_accuracy.text(), String::new()]);
        format!("\n{}\n{}", output::render(&exits), output::render(&policies))
    }
}
