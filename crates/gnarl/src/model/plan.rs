//! Resolves a model into a plan with nothing left open. Invalid combinations, and options without
//! an effect, are refused here.

use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::sample::Fanout;
use gnarl_graph::{Error, Result};

use super::{FitOptions, Model, combine};
use crate::augment::Augment;
use gnarl_nn::depth::{Depth, Kind};
use gnarl_nn::features::{FeatureKind, FeatureScaling, Scaler};
use gnarl_nn::networks::{Backbone, Capability, NetworkConfig, NetworkOptions, NetworkSetting};
use gnarl_nn::operator::{Cgso, Initialisation, OperatorChoice};
use gnarl_nn::train::{Sampling, StepSchedule, TrainConfig, TrainingOptions, TrainingSetting};
use gnarl_robust::inference::PerturbationTarget;

/// A model for a task, with nothing left open.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The task: node or graph classification.
    pub task: Task,
    /// The model, with every option that applies filled in.
    pub model: Model,
    /// The network.
    pub network: NetworkConfig,
    /// Its training.
    pub training: TrainConfig,
    /// Sampling of neighbourhoods in one graph; none if training uses the whole graph.
    pub sampling: Option<Sampling>,
    /// Feature scaling.
    pub features: FeatureScaling,
}

impl Plan {
    /// Returns the plan with features scaled in this way.
    pub(super) fn scaled_by(&self, scaler: &Scaler) -> Self {
        let scaling = scaler.scaling();
        Self {
            model: self.model.features(scaling),
            features: scaling,
            ..self.clone()
        }
    }

    /// Returns the candidate feature scalings, the default first. A requested scaling is the only
    /// candidate. Otherwise the columns decide, and for words on one graph the validation nodes.
    pub(super) fn scalings(&self, kind: FeatureKind) -> Vec<FeatureScaling> {
        // GIN sums what it aggregates: counts of words are mostly better than shares.
        let counts = self.task == Task::Graph || self.network.backbone.is(Backbone::GIN);
        match (self.features, kind) {
            (FeatureScaling::Auto, FeatureKind::Continuous) => vec![FeatureScaling::Standardised],
            (FeatureScaling::Auto, FeatureKind::Words) if self.task == Task::Node => {
                let mut both = vec![FeatureScaling::RowNormalised, FeatureScaling::AsLoaded];
                both.rotate_left(usize::from(counts));
                both
            }
            (FeatureScaling::Auto, _) => vec![FeatureScaling::AsLoaded],
            (asked, _) => vec![asked],
        }
    }

    /// Refuses options of a study that would not change this model, and settings of the model that
    /// only such a study uses.
    pub(super) fn check_options(&self, options: &FitOptions) -> Result<()> {
        if options.corruption.is_some() && self.task == Task::Node {
            return Err(Error::unsupported(
                "corruption",
                "is of the training graphs of a set, and this is one graph",
            ));
        }
        if let Augment::Gratin(gratin) = self.model.augment
            && gratin.select.is_none()
            && gratin.uses_network_influence()
            && !options.study_influence
        {
            let why = "belongs to select, which is not set; choose the share of the sampled vectors to keep";
            return Err(Error::unsupported("influence-layers", why));
        }
        if options.study_influence && self.model.depth.exits().is_some() {
            let why = "the influence of vectors is studied on a classifier of one head; leave the depth fixed";
            return Err(Error::unsupported("influence", why));
        }
        Ok(())
    }

    /// Refuses additional policies to report that cannot decide for this task.
    pub fn check_policies(&self, policies: &[Kind]) -> Result<()> {
        policies
            .iter()
            .try_for_each(|policy| combine::check_policy(self.task, *policy))
    }

    /// Refuses a set whose features do not change with the structure, for a backbone that uses
    /// features alone.
    pub(super) fn check_features(&self, own_features: bool) -> Result<()> {
        let method = self.model.augment.method();
        if !own_features
            && self.model.inference.method().part() == Some(PerturbationTarget::Features)
        {
            let why = format!(
                "{} samples features, and the graphs have no features of their own; choose structure",
                self.model.inference
            );
            return Err(Error::unsupported("inference-target", why));
        }
        if !own_features && matches!(self.model.augment, Augment::FeatureMask(_)) {
            let why = format!(
                "{} masks features, and the graphs have none of their own",
                self.model.augment
            );
            return Err(Error::unsupported("augment", why));
        }
        if !self.model.backbone.provides(Capability::MessagePassing)
            && method.transform().is_some()
            && method.keeps_nodes()
            && !method.works_on_features()
        {
            let why = format!(
                "{} would not see the changed edges of {}",
                self.model.backbone, self.model.augment
            );
            return Err(Error::unsupported("augment", why));
        }
        Ok(())
    }

    /// Returns true if constrained weights in all layers are compared with an unconstrained head,
    /// because the head is open.
    pub(super) fn leaves_head_open(&self) -> bool {
        head_is_open(&self.model, &self.network, self.task)
    }

    /// Returns true if open choices are selected by a cheaper model than the one to be trained. The
    /// cheaper model has a fixed depth instead of exits, and fewer epochs on sets of graphs. On
    /// small data its accuracy says too little, and the full model trains quickly. Sampled
    /// neighbourhoods are excluded: they have a number of hops that another depth does not have.
    pub(super) fn uses_proxy_runs(&self, content: &Content) -> bool {
        let long = self.task == Task::Graph || self.model.depth.exits().is_some();
        long && self.sampling.is_none() && content.num_items() >= MIN_ITEMS_FOR_PROXIES
    }

    /// Returns the plan of the cheaper model.
    pub(super) fn proxy(&self) -> gnarl_graph::Result<Plan> {
        let mut quicker = self.model.depth(Depth::default());
        if self.task == Task::Graph {
            quicker.training.epochs = Some(self.training.epochs.div_ceil(PROXY_EPOCHS_DIVISOR));
        }
        quicker.plan(self.task)
    }

    /// Returns the number of trainings of `epochs` epochs that fitting takes, for progress.
    /// Selection of the feature scaling on this data may take more than one.
    pub fn trainings(&self, content: Option<&Content>) -> usize {
        let each = match self.model.depth.exits() {
            Some(exits) => exits.scheme.num_trainings(exits.max_depth),
            None if !self.network.backbone.provides(Capability::JointTraining) => {
                self.network.layers + 1
            }
            None => 1,
        };
        let kind = match content {
            Some(Content::Graph(graph)) => FeatureKind::of([graph].into_iter()),
            Some(Content::Graphs(_)) | None => FeatureKind::Plain,
        };
        let with_head = if self.leaves_head_open() {
            self.scalings(kind).len()
        } else {
            0
        };
        let tried =
            self.model.operator.candidates().len() + self.scalings(kind).len() - 1 + with_head;
        let selects_by_proxy = content.is_some_and(|content| self.uses_proxy_runs(content));
        let whole = if self.task == Task::Graph {
            tried.div_ceil(PROXY_EPOCHS_DIVISOR)
        } else {
            tried
        };
        if selects_by_proxy && tried > 1 {
            whole + each
        } else {
            tried * each
        }
    }
}

impl Model {
    /// Refuses invalid combinations and options without an effect, and fills in open options.
    pub fn plan(&self, task: Task) -> gnarl_graph::Result<Plan> {
        self.check_choices()?;
        check_settings(self, task)?;
        let inference = if task == Task::Graph {
            self.inference.on_sets()
        } else {
            self.inference
        };
        let network = network(self, task);
        let training = training(self, &network, task);
        let features = self.features.unwrap_or(FeatureScaling::Auto);
        let sampling = sampling(self, &network)?;
        let model = Self {
            features: Some(features),
            network: self.filled_network(&network, task),
            training: self.filled_training(&network, &training, sampling, task),
            inference,
            ..*self
        };
        let plan = Plan {
            task,
            model,
            network,
            training,
            sampling,
            features,
        };
        checkable(&plan).check()?;
        plan.training.check()?;
        Ok(plan)
    }

    /// Returns the shared network settings, filled in if they apply and are decided.
    fn filled_network(&self, network: &NetworkConfig, task: Task) -> NetworkOptions {
        let selects_head = head_is_open(self, network, task);
        NetworkOptions::from(network).only(|setting| match setting {
            NetworkSetting::Head => applies(self, setting) && !selects_head,
            NetworkSetting::Gain => task == Task::Node && applies(self, setting) && !selects_head,
            NetworkSetting::Readout | NetworkSetting::HeadDropout => task == Task::Graph,
            _ => applies(self, setting),
        })
    }

    /// Returns the training settings, filled in if they are decided.
    fn filled_training(
        &self,
        network: &NetworkConfig,
        training: &TrainConfig,
        sampling: Option<Sampling>,
        task: Task,
    ) -> TrainingOptions {
        // Each candidate initialisation has its own learning rates. A head and the factor in its
        // place have their own weight decay.
        let starts = match self.operator {
            OperatorChoice::Cgso(cgso) => cgso.init != Initialisation::Auto,
            _ => false,
        };
        let selects_head = head_is_open(self, network, task);
        let given = self.training.set();
        let filled = TrainingOptions::from(training).only(|setting| match setting {
            _ if given.contains(&setting) => true,
            TrainingSetting::ExponentLearningRate | TrainingSetting::ScalarLearningRate => starts,
            TrainingSetting::WeightDecay => !selects_head,
            TrainingSetting::BatchSize => task == Task::Graph,
            _ => true,
        });
        TrainingOptions {
            class_weights: filled.class_weights.filter(|weights| !weights.is_none()),
            batch_nodes: sampling.map(|sampling| sampling.batch_nodes),
            fanout: sampling.map(|sampling| sampling.fanout),
            ..filled
        }
    }

    /// Refuses invalid settings of the axes. Parsed settings are checked already; settings from
    /// code are not.
    fn check_choices(&self) -> Result<()> {
        self.depth.check()?;
        self.weights.check()?;
        self.backbone.check()?;
        self.network.check()?;
        self.training.check()?;
        self.inference.check()?;
        self.augment.check()?;
        self.defense.check()
    }

    pub(super) fn learns_operator(&self) -> bool {
        matches!(self.operator, OperatorChoice::Cgso(_))
    }
}

/// Smallest number of nodes or graphs at which a cheaper model selects open choices.
const MIN_ITEMS_FOR_PROXIES: usize = 1000;
/// Divisor of the epochs of the cheaper model on sets of graphs: it ends before the first halving
/// of the learning rate.
const PROXY_EPOCHS_DIVISOR: usize = 6;

/// Returns the network's shape: by default two layers of 64 with dropout 0.5 on one graph, two of
/// 32 without dropout on sets, as in GRATIN.
fn network(model: &Model, task: Task) -> NetworkConfig {
    let options = &model.network;
    let mut default = NetworkConfig::new(model.backbone);
    if task == Task::Graph {
        (default.hidden, default.dropout) = (32, 0.0);
    }
    let mut network = options.resolve(&default);
    if let Some(exits) = model.depth.exits() {
        network.layers = exits.max_depth;
    }
    // A network must have a head before the head can be retrained.
    let trains_again = task == Task::Node && model.augment.method().fresh_head().is_some();
    let needs_head = trains_again && !model.backbone.has_head(model.weights.is_unconstrained());
    let can_have_head = model.backbone.takes(NetworkSetting::Head);
    network.head = options.head.unwrap_or(needs_head && can_have_head);
    network.weights = model.weights;
    // The head of a set's classifier is unconstrained and learns its own scale.
    let gain = task == Task::Node && network.needs_gain();
    network.gain = options.gain.unwrap_or(gain);
    network
}

/// Returns the training settings: by default 200 epochs on one graph; 300 on sets, with the
/// learning rate halved every 100, as in GRATIN.
fn training(model: &Model, network: &NetworkConfig, task: Task) -> TrainConfig {
    let mut default = TrainConfig::default();
    if task == Task::Graph {
        default.epochs = 300;
        default.schedule = Some(StepSchedule {
            every: 100,
            factor: 0.5,
        });
    }
    if let OperatorChoice::Cgso(Cgso {
        init: Initialisation::Near,
        ..
    }) = model.operator
    {
        default.exponent_learning_rate /= Initialisation::SLOWER;
        default.scalar_learning_rate /= Initialisation::SLOWER;
    }
    if network.gain {
        default.weight_decay = model.weights.method().decay();
    }
    model.training.resolve(&default)
}

/// Default number of training nodes in a step, if neighbourhoods are sampled.
const BATCH_NODES: usize = 1024;
/// Default number of sampled neighbours in the first hops; [`FURTHER`] in the others.
const FANOUT: [usize; 2] = [15, 10];
const FURTHER: usize = 5;

/// Returns the sampling of neighbourhoods, if requested: as many hops as the network has layers.
fn sampling(model: &Model, network: &NetworkConfig) -> Result<Option<Sampling>> {
    let TrainingOptions {
        batch_nodes,
        fanout,
        ..
    } = model.training;
    if batch_nodes.is_none() && fanout.is_none() {
        return Ok(None);
    }
    let hops = network.layers;
    let default: Vec<usize> = (0..hops)
        .map(|i| FANOUT.get(i).copied().unwrap_or(FURTHER))
        .collect();
    let fanout = match fanout {
        Some(fanout) => fanout,
        None => Fanout::new(&default)?,
    };
    if fanout.rounds() != hops {
        let why = format!(
            "{fanout} is for {} layers, and the network has {hops}",
            fanout.rounds()
        );
        return Err(Error::setting("fanout", why));
    }
    let batch_nodes = batch_nodes.unwrap_or(BATCH_NODES);
    if batch_nodes == 0 {
        return Err(Error::setting(
            "batch-nodes",
            "batches of 0 nodes; at least 1 is needed",
        ));
    }
    let dropped_edges = match model.augment {
        Augment::DropEdge(drop) => drop.p,
        _ => 0.0,
    };
    Ok(Some(Sampling {
        batch_nodes,
        fanout,
        dropped_edges,
    }))
}

/// Returns the network to check; a network with exits has at least one layer to check.
fn checkable(plan: &Plan) -> NetworkConfig {
    let layers = if plan.model.depth.exits().is_some() {
        plan.network.layers.max(1)
    } else {
        plan.network.layers
    };
    NetworkConfig {
        layers,
        ..plan.network.clone()
    }
}

/// Returns true if a network option changes anything in this model.
fn applies(model: &Model, option: NetworkSetting) -> bool {
    let has_exits = model.depth.exits().is_some();
    let of_one_exit = matches!(
        option,
        NetworkSetting::Layers | NetworkSetting::Head | NetworkSetting::Noise
    );
    model.backbone.takes(option) && !(has_exits && of_one_exit)
}

/// Returns true if an unconstrained head could replace the factor on the scores, and neither was
/// set. The network must have constrained weights in all layers.
fn head_is_open(model: &Model, network: &NetworkConfig, task: Task) -> bool {
    let is_given = model.network.head.is_some() || model.network.gain.is_some();
    let is_bounded = network.gain && !network.weights.is_unconstrained() && !network.head;
    let is_sampled = model.training.batch_nodes.is_some() || model.training.fanout.is_some();
    !is_given
        && task == Task::Node
        && is_bounded
        && !is_sampled
        && applies(model, NetworkSetting::Head)
}

/// Refuses contradictory settings and what the sets of [`combine`] do not allow.
fn check_settings(model: &Model, task: Task) -> Result<()> {
    let mut given = model.network.set().into_iter();
    if let Some(setting) = given.find(|setting| !model.backbone.takes(*setting)) {
        return Err(model.backbone.refuse(setting));
    }
    combine::check(model, task)?;
    if let Some((setting, why)) = model.inference.method().idle() {
        return Err(Error::unsupported(setting, why));
    }
    if let Some(exits) = model.depth.exits() {
        combine::check_policy(task, exits.policy)?;
    }
    let trains_head = task == Task::Node && model.augment.method().fresh_head().is_some();
    let has_head = model.backbone.has_head(model.weights.is_unconstrained());
    if trains_head && model.network.head == Some(false) && !has_head {
        let (backbone, augment, weights) = (model.backbone, model.augment, model.weights);
        let why =
            format!("{augment} retrains it, and {backbone} with {weights} weights has no other");
        return Err(Error::unsupported("head", why));
    }
    Ok(())
}
