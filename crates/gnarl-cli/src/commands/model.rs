//! Model options of the command line, which all come from the library's lists.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use gnarl::model::{Model, Section};
use gnarl_data::Task;
use gnarl_data::registry::Protocol;
use gnarl_data::{Benchmark, Dataset};
use gnarl_graph::Error;
use gnarl_graph::settings::SettingText;
use gnarl_nn::depth::Kind;
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_thesis::Recipe;

use super::load;
use crate::global::Global;
use crate::options::{choice_option, setting_option};

/// Model and data options, shared by the commands that train.
#[derive(Debug, Clone, Args)]
pub struct ModelArgs {
    /// Dataset: a name of `gnarl data list`, `karate`, `csbm`, `sbbam`, or a path to your own files
    #[arg(long, value_name = "NAME")]
    pub data: String,
    /// Split protocol: the dataset's own (own), or a random split of the largest component into 10,
    /// 10 and 80 per cent (largest-component), as in published attacks on edges
    #[arg(long, default_value = "own")]
    pub protocol: ProtocolName,
    #[arg(long, value_name = "NAME", value_delimiter = ',', help = help_of_model())]
    pub model: Vec<Backbone>,
    /// Spec file in TOML that describes the model, in place of --model; options override it
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub spec: Option<PathBuf>,
    /// Write the model that this command line describes as TOML, and run nothing
    #[arg(long)]
    pub print_spec: bool,
    /// Recipe for settings left open: default (the library's, for every dataset), thesis (studies
    /// of CGSO, ADMP-GNN and GRATIN), thesis-ch5 (study of GCORN) or thesis-ch6 (study of
    /// RobustCRF)
    #[arg(long, default_value = "default")]
    pub recipe: Recipe,
    #[arg(long, value_name = "SCALING", help = help_of_features())]
    pub features: Option<String>,
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', help = help_of_policy())]
    pub policy: Vec<PolicyName>,
    #[command(flatten)]
    pub options: ModelOptions,
}

gnarl_graph::named! {
    /// Split protocols of `--protocol`.
    pub enum ProtocolName as "protocol" {
        /// The dataset's own protocol.
        Own = "own",
        /// Random tenths of the largest component.
        LargestComponent = "largest-component",
    }
}

/// Values of `--policy`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyName {
    All,
    One(Kind),
}

impl std::str::FromStr for PolicyName {
    type Err = Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        if name.eq_ignore_ascii_case("all") {
            Ok(PolicyName::All)
        } else {
            name.parse().map(PolicyName::One)
        }
    }
}

/// Axes and settings that were given, by their flags.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions(pub Vec<SettingText>);

/// Options that are defined elsewhere.
const ELSEWHERE: [&str; 2] = ["model", "policy"];

fn flags(section: &Section) -> impl Iterator<Item = &'static str> {
    section
        .axis
        .into_iter()
        .chain(section.settings.iter().map(|s| s.flag))
        .filter(|flag| !ELSEWHERE.contains(flag))
}

/// Returns the help that lists the networks.
fn help_of_model() -> String {
    let names: Vec<&str> = Backbone::LIST.iter().map(|entry| entry.name).collect();
    format!("Network: {}", names.join(", "))
}

/// Returns the help that lists the feature scalings.
fn help_of_features() -> String {
    let names: Vec<&str> = FeatureScaling::ALL
        .iter()
        .map(|scaling| scaling.name())
        .collect();
    format!(
        "Feature scaling: {}; auto standardises continuous columns and selects the scaling of word counts by validation \
         accuracy [default: auto, or the recipe's]",
        names.join(", ")
    )
}

/// Returns the help that lists the policies.
fn help_of_policy() -> String {
    let names = Kind::ALL.map(|kind| kind.to_string()).join(", ");
    let default = Kind::USUAL;
    format!(
        "Policies that select the exit of each node or graph: {names}, or all; the first is the model's own, and the others are \
         reported next to it [default: all, with {default} as the model's own]; size applies to sets of graphs, echo and \
         pagerank to one graph; on sets, the other policies average over a graph's nodes"
    )
}

impl Args for ModelOptions {
    fn augment_args(mut command: Command) -> Command {
        for section in Model::sections() {
            let axis = section.axis.filter(|axis| !ELSEWHERE.contains(axis));
            if let Some(option) = axis.and_then(|_| choice_option(&section)) {
                let default = section.names.first().map_or("", |(name, _)| name);
                let names = option.get_help().map(ToString::to_string);
                let help = format!("{} [default: {default}]", names.unwrap_or_default());
                command = command.arg(option.help(help));
            }
            for setting in &section.settings {
                if !ELSEWHERE.contains(&setting.flag) {
                    command = command.arg(setting_option(&section, setting));
                }
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ModelOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Vec::new();
        for section in Model::sections() {
            for flag in flags(&section) {
                if let Some(text) = matches.get_one::<String>(flag) {
                    options.push((flag.to_string(), text.clone()));
                }
            }
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ModelArgs {
    /// Loads the dataset and makes a benchmark of it, by its own protocol or the requested one.
    pub fn benchmark(&self, global: &Global, count: usize) -> anyhow::Result<(Dataset, Benchmark)> {
        self.benchmark_of(global, count, count)
    }

    /// Makes a benchmark with so many splits of one graph, or so many folds of a set; the largest
    /// number stands for all folds.
    pub fn benchmark_of(
        &self,
        global: &Global,
        splits: usize,
        folds: usize,
    ) -> anyhow::Result<(Dataset, Benchmark)> {
        let data = load(global, &self.data)?;
        let count = if data.content.task() == Task::Node {
            splits
        } else {
            folds
        };
        let benchmark = match (self.protocol, data.content.task()) {
            (ProtocolName::Own, _) => data.benchmark(global.seed, count)?,
            (ProtocolName::LargestComponent, Task::Node) => {
                let protocol = Protocol::LargestComponentFractions {
                    train: 0.1,
                    val: 0.1,
                };
                data.benchmark_by(Some(protocol), global.seed, count)?
            }
            (ProtocolName::LargestComponent, Task::Graph) => {
                let what = format!(
                    "largest-component splits the nodes of one graph, and {} is a set of graphs",
                    data.name
                );
                return Err(Error::argument("--protocol", what).into());
            }
        };
        let has = benchmark.splits.len();
        if data.content.task() == Task::Graph && folds != usize::MAX && folds > has {
            let what = format!(
                "{folds} runs need as many folds, and {} has {has}; name at most {has}",
                data.name
            );
            return Err(Error::argument("--runs", what).into());
        }
        Ok((data, benchmark))
    }

    /// Sets the model if none was named.
    pub fn or_model(&self, default: Backbone) -> Self {
        if self.model.is_empty() && self.spec.is_none() {
            self.with_model(default)
        } else {
            self.clone()
        }
    }

    /// Replaces the named models by one.
    pub fn with_model(&self, model: Backbone) -> Self {
        Self {
            model: vec![model],
            ..self.clone()
        }
    }

    /// Selects one of several named models, with those network settings that it takes. A setting
    /// that none of the models takes stays, so that it is refused.
    pub fn one_of_several(&self, backbone: Backbone, task: Task) -> Self {
        let network: Vec<&str> = Model::sections()
            .into_iter()
            .filter(|section| matches!(section.axis, None | Some("model")))
            .flat_map(|section| {
                section
                    .settings
                    .iter()
                    .map(|setting| setting.flag)
                    .collect::<Vec<_>>()
            })
            .collect();
        let fits = |backbone: &Backbone, option: &SettingText| {
            Model::new(*backbone)
                .over(std::slice::from_ref(option))
                .is_ok_and(|model| model.plan(task).is_ok())
        };
        let is_taken = |option: &SettingText| {
            !network.contains(&option.0.as_str())
                || fits(&backbone, option)
                || !self.model.iter().any(|other| fits(other, option))
        };
        let options = self
            .options
            .0
            .iter()
            .filter(|option| is_taken(option))
            .cloned()
            .collect();
        Self {
            options: ModelOptions(options),
            ..self.with_model(backbone)
        }
    }

    /// Returns the described model, with the recipe's values for open settings.
    pub fn model(&self, dataset: &str, task: Task) -> anyhow::Result<Model> {
        self.model_with(dataset, task, |model| model)
    }

    /// Returns the described model after a change that precedes the recipe.
    pub fn model_with(
        &self,
        dataset: &str,
        task: Task,
        adapt: impl Fn(Model) -> Model,
    ) -> anyhow::Result<Model> {
        let described = match (&self.spec, &self.model[..]) {
            (Some(file), _) => {
                let text = std::fs::read_to_string(file).map_err(|e| Error::io(file, e))?;
                Model::from_toml(&text)
                    .map_err(|e| anyhow::Error::from(e).context(format!("{}", file.display())))?
            }
            (None, [backbone]) => Model::new(*backbone),
            (None, []) => {
                return Err(
                    Error::argument("--model", "name a model, or a file with --spec").into(),
                );
            }
            (None, _) => {
                let what =
                    "takes one model; `gnarl attack --model A,B --attack …` compares several";
                return Err(Error::argument("--model", what).into());
            }
        };
        let mut options = self.options.0.clone();
        options.extend(
            self.features
                .iter()
                .map(|name| ("features".to_string(), name.clone())),
        );
        match self.policy.first() {
            Some(PolicyName::One(kind)) => options.push(("policy".into(), kind.to_string())),
            // The library refuses a policy for a model of fixed depth.
            Some(PolicyName::All) => options.push(("policy".into(), Kind::USUAL.to_string())),
            None => (),
        }
        Ok(self
            .recipe
            .fill(adapt(described.over(&options)?), dataset, task))
    }

    /// Returns the policies to report for a model with exits; none for a model of fixed depth.
    pub fn policies(&self, model: &Model, task: Task) -> Vec<Kind> {
        let Some(exits) = model.depth.exits() else {
            return Vec::new();
        };
        let mut policies: Vec<Kind> = Vec::new();
        let named = if self.policy.is_empty() {
            &[PolicyName::All][..]
        } else {
            &self.policy
        };
        for name in named {
            let more = match name {
                PolicyName::All => Kind::all_of(task),
                PolicyName::One(kind) => vec![*kind],
            };
            more.into_iter().for_each(|kind| {
                if !policies.contains(&kind) {
                    policies.push(kind)
                }
            });
        }
        if !policies.contains(&exits.policy) {
            policies.push(exits.policy);
        }
        policies
    }
}
