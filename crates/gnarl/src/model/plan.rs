//! From a model as somebody wrote it to one with nothing left open: the one place that refuses
//! combinations that cannot be, and options that would change nothing.

use gnarl_graph::dataset::Task;
use gnarl_graph::names::{check_counts, fields, listed};
use gnarl_graph::sample::Fanout;
use gnarl_graph::{Content, Error, Result};

use super::{FitOptions, Model, NetworkOptions, TrainingOptions};
use crate::augment::{Augment, Copies, Through};
use crate::defense::Defense;
use crate::depth::{Depth, Kind, Scheme};
use crate::features::{FeatureKind, FeatureScaling, Scaler};
use crate::inference::{Inference, Perturbed};
use crate::nn::{Backbone, ClassifierConfig, NetworkConfig, NetworkOption, Readout, UsualOperator};
use crate::operator::{Cgso, Initialisation, OperatorChoice};
use crate::train::{Sampling, StepSchedule, TrainConfig};

/// A model for a task, with nothing left open.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is classified.
    pub task: Task,
    /// The model, with every option that applies filled in.
    pub model: Model,
    /// The network.
    pub network: NetworkConfig,
    /// Its training.
    pub training: TrainConfig,
    /// Of sets of graphs: graphs in a training step.
    pub batch_size: usize,
    /// Of one graph: how neighbourhoods are drawn; none where training is on the whole graph.
    pub sampling: Option<Sampling>,
    /// Of sets of graphs: from nodes to graphs.
    pub readout: Readout,
    /// Of sets of graphs: dropout of graph vectors before the head.
    pub head_dropout: f32,
    /// What is done to features.
    pub features: FeatureScaling,
}

impl Plan {
    /// Of sets of graphs: the classifier's shape.
    pub fn classifier(&self) -> ClassifierConfig {
        ClassifierConfig {
            network: self.network.clone(),
            readout: self.readout,
            head_dropout: self.head_dropout,
        }
    }

    /// The same with features scaled in this way, which settles what was left open.
    pub(super) fn scaled_by(&self, scaler: &Scaler) -> Self {
        let scaling = scaler.scaling();
        Self {
            model: self.model.features(scaling),
            features: scaling,
            ..self.clone()
        }
    }

    /// The ways of scaling features to try, the usual one first. What was asked for is the only
    /// one; else columns decide, and of words on one graph the validation nodes.
    pub(super) fn scalings(&self, kind: FeatureKind) -> Vec<FeatureScaling> {
        // GIN adds up what it aggregates: counts of words are mostly better than shares.
        let counts = self.task == Task::Graph || self.network.backbone == Backbone::Gin;
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

    /// Refuses what a study asks of fitting beside the model, where it would change nothing, and
    /// what of the model only such a study looks at.
    pub(super) fn check_asked(&self, options: &FitOptions) -> Result<()> {
        if options.corruption.is_some() && self.task == Task::Node {
            return Err(Error::setting(
                "corruption",
                "is of the training graphs of a set, and this is one graph",
            ));
        }
        if let Augment::Gratin(gratin) = self.model.augment
            && gratin.select.is_none()
            && gratin.through != Through::Head
            && !options.study_influence
        {
            let why = "says how influence is found, and nothing is selected by it; say what share to select";
            return Err(Error::setting("through", why));
        }
        if options.study_influence && self.model.depth.exits().is_some() {
            let why = "the influence of vectors is studied on a classifier of one head; leave the depth fixed";
            return Err(Error::setting("influence", why));
        }
        Ok(())
    }

    /// Refuses policies to report beside the model's own that have nothing to say of its items.
    pub fn check_policies(&self, policies: &[Kind]) -> Result<()> {
        policies
            .iter()
            .try_for_each(|policy| policy_of(self.task, *policy))
    }

    /// Refuses a set whose features a changed structure leaves as they are, for a backbone that
    /// sees nothing else.
    pub(super) fn check_features(&self, own_features: bool) -> Result<()> {
        let method = self.model.augment.method();
        if !own_features && self.model.inference.method().part() == Some(Perturbed::Features) {
            let why = format!(
                "{} looks around among features, and the graphs have none of their own; let neighbours differ in structure",
                self.model.inference
            );
            return Err(Error::setting("inference-on", why));
        }
        if !own_features && matches!(self.model.augment, Augment::FeatureMask(_)) {
            let why = format!(
                "{} masks features, and the graphs have none of their own",
                self.model.augment
            );
            return Err(Error::setting("augment", why));
        }
        if !self.model.backbone.uses_operator()
            && method.transform().is_some()
            && method.keeps_nodes()
            && !method.works_on_features()
        {
            let why = format!(
                "{} would not see the changed edges of {}",
                self.model.backbone, self.model.augment
            );
            return Err(Error::setting("augment", why));
        }
        Ok(())
    }

    /// Whether bounded weights all the way are held against the same with a free head: where nobody
    /// said which.
    pub(super) fn leaves_head_open(&self) -> bool {
        head_is_open(&self.model, &self.network, self.task)
    }

    /// Whether what is left open is settled by a quicker model than the one to be trained: the same
    /// at a fixed depth where it has exits, and for fewer epochs on sets of graphs. On few items a
    /// quicker one tells too little, and there everything is soon trained. Sampled neighbourhoods
    /// are drawn for a number of rounds that another depth does not have.
    pub(super) fn scouts(&self, content: &Content) -> bool {
        let long = self.task == Task::Graph || self.model.depth.exits().is_some();
        long && self.sampling.is_none() && content.num_items() >= WORTH_SCOUTING
    }

    /// The quicker model.
    pub(super) fn scout(&self) -> crate::Result<Plan> {
        let mut quicker = self.model.depth(Depth::default());
        if self.task == Task::Graph {
            quicker.training.epochs = Some(self.training.epochs.div_ceil(SCOUTING_SHARE));
        }
        quicker.plan(self.task)
    }

    /// Trainings of `epochs` epochs that fitting comes to, for progress; on this, whose features
    /// may take more than one.
    pub fn trainings(&self, content: Option<&Content>) -> usize {
        let each = match self.model.depth.exits() {
            Some(exits) => exits.scheme.num_trainings(exits.last),
            None if self.network.backbone.has_learners() => self.network.layers + 1,
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
        let scouted = content.is_some_and(|content| self.scouts(content));
        let whole = if self.task == Task::Graph {
            tried.div_ceil(SCOUTING_SHARE)
        } else {
            tried
        };
        if scouted && tried > 1 {
            whole + each
        } else {
            tried * each
        }
    }
}

impl Model {
    /// Refuses what cannot be or would change nothing, and fills in what was left open.
    pub fn plan(&self, task: Task) -> crate::Result<Plan> {
        self.check_choices()?;
        refuse(self, task)?;
        let inference = if task == Task::Graph {
            self.inference.on_sets()
        } else {
            self.inference
        };
        let network = network(self, task);
        let training = training(self, &network, task);
        let features = self.features.unwrap_or(FeatureScaling::Auto);
        let of_sets = |value| {
            if task == Task::Graph {
                Some(value)
            } else {
                None
            }
        };
        let readout = self.network.readout.unwrap_or(Readout::Mean);
        let head_dropout = self.network.head_dropout.unwrap_or(HEAD_DROPOUT);
        let batch_size = self.training.batch_size.unwrap_or(BATCH_SIZE);
        let sampling = sampling(self, &network)?;
        let takes = |option| applies(self, option);
        // Starts that are still to be tried have rates of their own.
        let starts = matches!(self.operator, OperatorChoice::Cgso(Cgso { init, .. }) if init != Initialisation::Auto);
        let rate = |given: Option<f64>, usual| given.or(starts.then_some(usual));
        // So do a head, and what stands in its place.
        let settles_head = head_is_open(self, &network, task);
        let model = Self {
            features: Some(features),
            network: NetworkOptions {
                hidden: takes(NetworkOption::Hidden).then_some(network.hidden),
                layers: takes(NetworkOption::Layers).then_some(network.layers),
                dropout: takes(NetworkOption::Dropout).then_some(rounded(network.dropout)),
                input_dropout: takes(NetworkOption::InputDropout)
                    .then_some(rounded(network.input_dropout)),
                heads: takes(NetworkOption::Heads).then_some(network.heads),
                attention_dropout: takes(NetworkOption::AttentionDropout)
                    .then_some(rounded(network.attention_dropout)),
                batch_norm: takes(NetworkOption::BatchNorm).then_some(network.batch_norm),
                propagation_steps: takes(NetworkOption::PropagationSteps)
                    .then_some(network.appnp_steps),
                teleport: takes(NetworkOption::Teleport).then_some(network.appnp_alpha),
                bias: takes(NetworkOption::Bias).then_some(network.bias),
                head: (takes(NetworkOption::Head) && !settles_head).then_some(network.head),
                orthogonal_start: takes(NetworkOption::OrthogonalStart)
                    .then_some(network.orthogonal_start),
                noise: takes(NetworkOption::Noise).then_some(rounded(network.noise)),
                gain: (task == Task::Node && takes(NetworkOption::Gain) && !settles_head)
                    .then_some(network.gain),
                level: takes(NetworkOption::Level).then_some(network.level),
                readout: if task == Task::Graph {
                    Some(readout)
                } else {
                    None
                },
                head_dropout: of_sets(head_dropout),
            },
            training: TrainingOptions {
                epochs: Some(training.epochs),
                learning_rate: Some(training.learning_rate),
                exponent_learning_rate: rate(
                    self.training.exponent_learning_rate,
                    training.exponent_learning_rate,
                ),
                scalar_learning_rate: rate(
                    self.training.scalar_learning_rate,
                    training.scalar_learning_rate,
                ),
                weight_decay: self
                    .training
                    .weight_decay
                    .or((!settles_head).then_some(training.weight_decay)),
                schedule: training.schedule,
                keep: Some(training.keep),
                patience: training.patience,
                class_weights: Some(training.class_weights).filter(|weights| !weights.is_none()),
                batch_size: (task == Task::Graph).then_some(batch_size),
                batch_nodes: sampling.map(|sampling| sampling.batch_nodes),
                fanout: sampling.map(|sampling| sampling.fanout),
            },
            inference,
            ..*self
        };
        let plan = Plan {
            task,
            model,
            network,
            training,
            batch_size,
            sampling,
            readout,
            head_dropout: head_dropout as f32,
            features,
        };
        match task {
            Task::Node => checkable(&plan).check()?,
            Task::Graph => ClassifierConfig {
                network: checkable(&plan),
                ..plan.classifier()
            }
            .check()?,
        }
        plan.training.check()?;
        if plan.batch_size == 0 {
            return Err(
                Error::argument("batch-size", "batches of 0 graphs; at least 1 is needed").into(),
            );
        }
        Ok(plan)
    }

    /// Refuses settings of the axes that mean nothing: those that were read are checked already,
    /// those of a program are not.
    fn check_choices(&self) -> Result<()> {
        self.depth.check()?;
        self.weights.check()?;
        check_counts(NetworkOptions::SETTINGS, &fields(&self.network)?)?;
        check_counts(TrainingOptions::SETTINGS, &fields(&self.training)?)?;
        self.inference.check()?;
        self.augment.check()?;
        self.defense.check()
    }

    fn learns_operator(&self) -> bool {
        matches!(self.operator, OperatorChoice::Cgso(_))
    }
}

/// Items from which on a plain network settles what a model with exits leaves open.
const WORTH_SCOUTING: usize = 1000;
/// Of the epochs on sets of graphs, one in so many is what a scout is trained for: before the first
/// halving of the learning rate.
const SCOUTING_SHARE: usize = 6;
const HEAD_DROPOUT: f64 = 0.5;
/// As in ch. 7's published runs.
const BATCH_SIZE: usize = 256;

/// The number that was written, where 32 bits had made it another.
fn rounded(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

/// The network's shape: two layers of 64 with dropout 0.5 on one graph, of 32 without on sets
/// (thesis ch. 7).
fn network(model: &Model, task: Task) -> NetworkConfig {
    let options = &model.network;
    let mut network = NetworkConfig::new(model.backbone);
    if task == Task::Graph {
        (network.hidden, network.dropout) = (32, 0.0);
    }
    let set = |slot: &mut f32, value: Option<f64>| *slot = value.map_or(*slot, |x| x as f32);
    network.hidden = options.hidden.unwrap_or(network.hidden);
    network.layers = match model.depth.exits() {
        Some(exits) => exits.last,
        None => options.layers.unwrap_or(network.layers),
    };
    set(&mut network.dropout, options.dropout);
    set(&mut network.input_dropout, options.input_dropout);
    network.heads = options.heads.unwrap_or(network.heads);
    set(&mut network.attention_dropout, options.attention_dropout);
    network.batch_norm = options.batch_norm.unwrap_or(network.batch_norm);
    network.appnp_steps = options.propagation_steps.unwrap_or(network.appnp_steps);
    network.appnp_alpha = options.teleport.unwrap_or(network.appnp_alpha);
    network.bias = options.bias.unwrap_or(network.bias);
    // A head that is trained again has to be there first.
    let trains_again = task == Task::Node && model.augment.method().fresh_head().is_some();
    let needs_head = trains_again && !model.backbone.has_head(model.weights.is_free());
    network.head = options
        .head
        .unwrap_or(needs_head && model.backbone.takes(NetworkOption::Head));
    network.orthogonal_start = options.orthogonal_start.unwrap_or(network.orthogonal_start);
    set(&mut network.noise, options.noise);
    network.level = options.level.unwrap_or(network.level);
    network.weights = model.weights;
    // The head of a set's classifier is free and finds its own scale.
    network.gain = options
        .gain
        .unwrap_or(task == Task::Node && network.needs_gain());
    network
}

/// Its training: 200 epochs on one graph; 300 on sets, the learning rate halved every 100 (thesis
/// ch. 7).
fn training(model: &Model, network: &NetworkConfig, task: Task) -> TrainConfig {
    let options = &model.training;
    let mut training = TrainConfig::default();
    if task == Task::Graph {
        training.epochs = 300;
        training.schedule = Some(StepSchedule {
            every: 100,
            factor: 0.5,
        });
    }
    training.epochs = options.epochs.unwrap_or(training.epochs);
    training.learning_rate = options.learning_rate.unwrap_or(training.learning_rate);
    if let OperatorChoice::Cgso(Cgso {
        init: Initialisation::Near,
        ..
    }) = model.operator
    {
        training.exponent_learning_rate /= Initialisation::SLOWER;
        training.scalar_learning_rate /= Initialisation::SLOWER;
    }
    training.exponent_learning_rate = options
        .exponent_learning_rate
        .unwrap_or(training.exponent_learning_rate);
    training.scalar_learning_rate = options
        .scalar_learning_rate
        .unwrap_or(training.scalar_learning_rate);
    if network.gain {
        training.weight_decay = model.weights.method().decay();
    }
    training.weight_decay = options.weight_decay.unwrap_or(training.weight_decay);
    training.schedule = options.schedule.or(training.schedule);
    training.keep = options.keep.unwrap_or(training.keep);
    training.patience = options.patience.or(training.patience);
    training.class_weights = options.class_weights.unwrap_or(training.class_weights);
    training
}

/// Training nodes in a step, where neighbourhoods are drawn and nothing is said.
const BATCH_NODES: usize = 1024;
/// Neighbours drawn in the first rounds; [`FURTHER`] in the others.
const FANOUT: [usize; 2] = [15, 10];
const FURTHER: usize = 5;

/// How neighbourhoods are drawn, where they are: in as many rounds as the network has.
fn sampling(model: &Model, network: &NetworkConfig) -> Result<Option<Sampling>> {
    let TrainingOptions {
        batch_nodes,
        fanout,
        ..
    } = model.training;
    if batch_nodes.is_none() && fanout.is_none() {
        return Ok(None);
    }
    let rounds = network.layers;
    let usual: Vec<usize> = (0..rounds)
        .map(|i| FANOUT.get(i).copied().unwrap_or(FURTHER))
        .collect();
    let fanout = match fanout {
        Some(fanout) => fanout,
        None => Fanout::new(&usual)?,
    };
    if fanout.rounds() != rounds {
        let why = format!(
            "{fanout} is for {} rounds of message passing, and there are {rounds}",
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
        Augment::DropEdge(drop) => drop.strength,
        _ => 0.0,
    };
    Ok(Some(Sampling {
        batch_nodes,
        fanout,
        dropped_edges,
    }))
}

/// The sentence for what sampled neighbourhoods leave no room for.
fn refuse_sampling(model: &Model, task: Task) -> Result<()> {
    let TrainingOptions {
        batch_nodes,
        fanout,
        ..
    } = model.training;
    let setting = match (batch_nodes, fanout) {
        (Some(_), _) => "batch-nodes",
        (None, Some(_)) => "fanout",
        (None, None) => return Ok(()),
    };
    let no = |why: String| Err(Error::setting(setting, why));
    if task == Task::Graph {
        return no(
            "belongs to one graph, and this is a set; its batches are of graphs, batch-size".into(),
        );
    }
    if !model.backbone.can_be_sampled() {
        let known: Vec<&str> = Backbone::ALL
            .iter()
            .filter(|(_, b)| b.can_be_sampled())
            .map(|(name, _)| *name)
            .collect();
        let known = listed(&known);
        return no(format!(
            "{} is not trained on sampled neighbourhoods; take one of {known}",
            model.backbone
        ));
    }
    if let Some(exits) = model
        .depth
        .exits()
        .filter(|exits| exits.scheme != Scheme::AdmpAlm)
    {
        let why = format!(
            "{} trains layer after layer on the whole graph; admp-alm trains all exits at once",
            exits.scheme
        );
        return no(why);
    }
    if !matches!(model.augment, Augment::Nothing(_) | Augment::DropEdge(_)) {
        return no(format!(
            "{} works on the whole graph; with sampled neighbourhoods dropedge is possible",
            model.augment
        ));
    }
    if !matches!(model.inference, Inference::Plain(_)) {
        return no(format!(
            "{} asks for the whole graph many times over; load the trained model to read it so",
            model.inference
        ));
    }
    if !matches!(model.defense, Defense::Nothing(_)) {
        return no(format!(
            "{} makes another graph first; import that one",
            model.defense
        ));
    }
    Ok(())
}

/// The sentence for what leaves no room for weights of classes.
fn refuse_class_weights(model: &Model) -> Result<()> {
    if model
        .training
        .class_weights
        .is_none_or(|weights| weights.is_none())
    {
        return Ok(());
    }
    let (augment, method) = (model.augment, model.augment.method());
    let no = |why: String| Err(Error::setting("class-weights", why));
    if model.backbone.has_learners() {
        return no(format!(
            "{} has a weight for each node of its own, by who got it wrong",
            model.backbone
        ));
    }
    if method.mixes_classes() {
        return no(format!(
            "with {augment} an item is of two classes; take another augmentation"
        ));
    }
    if method.fresh_head().is_some() {
        return no(format!(
            "{augment} trains a head again, which would not see them; its draws say how often a class is there"
        ));
    }
    Ok(())
}

/// The network to be checked: one with exits has at least one layer to be checked by.
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

/// Refuses a policy that has nothing to say of a task's items.
fn policy_of(task: Task, policy: Kind) -> Result<()> {
    match policy.refused_on(task) {
        Some(why) => Err(Error::setting("policy", format!("{policy} {why}"))),
        None => Ok(()),
    }
}

/// Whether an option of the network changes anything in this model.
fn applies(model: &Model, option: NetworkOption) -> bool {
    let has_exits = model.depth.exits().is_some();
    let of_one_exit = matches!(
        option,
        NetworkOption::Layers | NetworkOption::Head | NetworkOption::Noise
    );
    model.backbone.takes(option) && !(has_exits && of_one_exit)
}

/// Whether a network of bounded weights all the way could have a free head in the place of a factor
/// on its scores, and nobody said which.
fn head_is_open(model: &Model, network: &NetworkConfig, task: Task) -> bool {
    let is_said = model.network.head.is_some() || model.network.gain.is_some();
    let is_bounded = network.gain && !network.weights.is_free() && !network.head;
    let is_sampled = model.training.batch_nodes.is_some() || model.training.fanout.is_some();
    !is_said
        && task == Task::Node
        && is_bounded
        && !is_sampled
        && applies(model, NetworkOption::Head)
}

/// The sentence for a network on one graph that has no head to be trained again.
fn refuse_fresh_head(model: &Model) -> Result<()> {
    let Model {
        backbone, augment, ..
    } = *model;
    let no = |setting: &str, why: String| Err(Error::setting(setting, why));
    if let Some(exits) = model.depth.exits() {
        return no(
            "augment",
            format!(
                "{augment} trains one head again, and {} has one at every exit",
                exits.scheme
            ),
        );
    }
    if !backbone.can_have_head() {
        let known: Vec<&str> = Backbone::ALL
            .iter()
            .filter(|(_, b)| b.can_have_head())
            .map(|(name, _)| *name)
            .collect();
        let known = listed(&known);
        let why = format!(
            "{backbone} has no head on one graph for {augment} to train again; take one of {known}"
        );
        return no("augment", why);
    }
    if model.network.head == Some(false) && !backbone.has_head(model.weights.is_free()) {
        return no(
            "head",
            format!(
                "{augment} trains it again, and {backbone} of {} weights has no other",
                model.weights
            ),
        );
    }
    match augment {
        Augment::Gratin(gratin) if gratin.through == Through::Network => no(
            "through",
            "influence goes through the network on sets of graphs; on one graph, through the head"
                .into(),
        ),
        _ => Ok(()),
    }
}

/// The sentence for what cannot be, or would change nothing.
fn refuse(model: &Model, task: Task) -> Result<()> {
    let backbone = model.backbone;
    let no = |setting: &str, why: String| Err(Error::setting(setting, why));
    if let Some(option) = model.network.set().find(|option| !applies(model, *option)) {
        if backbone.takes(option) && option == NetworkOption::Layers {
            return no(
                "layers",
                "belongs to a fixed depth; the last exit is max-depth".into(),
            );
        }
        if backbone.takes(option) {
            return no(
                option.name(),
                format!("belongs to a fixed depth, and the depth is {}", model.depth),
            );
        }
        let takers: Vec<&str> = Backbone::ALL
            .iter()
            .filter(|(_, b)| b.takes(option))
            .map(|(name, _)| *name)
            .collect();
        return no(
            option.name(),
            format!(
                "belongs to {}, and the model is {backbone}",
                listed(&takers)
            ),
        );
    }
    if !backbone.uses_operator() && model.operator != OperatorChoice::Usual {
        return no(
            "operator",
            format!("{backbone} passes no messages: an operator would change nothing"),
        );
    }
    if let OperatorChoice::Classical(operator) = model.operator
        && !backbone.uses_operator_values()
        && backbone.usual_operator() != UsualOperator::Classical(operator)
    {
        return no(
            "operator",
            format!("{backbone} does not use an operator's values and has the paper's alone"),
        );
    }
    if !backbone.uses_operator() && !model.defense.is_nothing() {
        return no(
            "defense",
            format!("{backbone} passes no messages: without some edges it would be the same"),
        );
    }
    if model.defense.method().travel().is_some() {
        let name = model.defense;
        if task == Task::Graph {
            let why = format!(
                "{name} is of the edges of one graph, and these are many; take another for a set of graphs"
            );
            return no("defense", why);
        }
        let (is_known, leaves): (fn(Backbone) -> bool, &str) = match model.defense {
            Defense::Svd(_) => (Backbone::applies_alone, "leaves none"),
            _ => (hears_values, "has pairs with weights in their place"),
        };
        if !is_known(backbone) {
            let known: Vec<&str> = Backbone::ALL
                .iter()
                .filter(|(_, b)| is_known(*b))
                .map(|(name, _)| *name)
                .collect();
            let why = format!(
                "{backbone} looks at single edges, and {name} {leaves}; take one of {}",
                listed(&known)
            );
            return no("defense", why);
        }
        if model.operator != OperatorChoice::Usual {
            return no(
                "operator",
                format!(
                    "{name} makes an operator of its own, and {} would not be seen",
                    model.operator
                ),
            );
        }
        if model.depth.exits().is_some() {
            return no(
                "defense",
                format!(
                    "{name} is for a fixed depth, and the depth is {}",
                    model.depth
                ),
            );
        }
    }
    if !backbone.uses_operator() && model.inference.method().part() == Some(Perturbed::Structure) {
        return no(
            "inference",
            format!("{backbone} passes no messages: neighbours with other edges have its answer"),
        );
    }
    if task == Task::Graph && !model.inference.method().works_on_sets() {
        let why = "tells edges by the answers of their ends, and a graph of a set has one answer in all; take another";
        return no("inference", format!("{} {why}", model.inference));
    }
    if let Some((setting, why)) = model.inference.method().idle() {
        return no(setting, why.into());
    }
    if let (true, Some(why)) = (model.learns_operator(), backbone.fixed_operator()) {
        return no("operator", format!("{backbone} {why}"));
    }
    let rates = [
        ("exponent-lr", model.training.exponent_learning_rate),
        ("scalar-lr", model.training.scalar_learning_rate),
    ];
    if let Some((rate, _)) = rates
        .iter()
        .find(|(_, given)| given.is_some() && !model.learns_operator())
    {
        return no(
            rate,
            format!(
                "belongs to a learned operator, cgso, and the operator is {}",
                model.operator
            ),
        );
    }
    if let Some(exits) = model.depth.exits() {
        if !backbone.can_have_exits() {
            let known: Vec<&str> = Backbone::ALL
                .iter()
                .filter(|(_, b)| b.can_have_exits())
                .map(|(name, _)| *name)
                .collect();
            let known = listed(&known);
            return no(
                "depth",
                format!(
                    "{backbone} is not a stack of layers with room for exits; take one of {known}"
                ),
            );
        }
        policy_of(task, exits.policy)?;
        if let Augment::Gratin(gratin) = model.augment
            && gratin.through == Through::Network
        {
            return no(
                "through",
                "network goes through a classifier of one head; with exits take head".into(),
            );
        }
    }
    if model.augment.method().fresh_head().is_some() && task == Task::Node {
        refuse_fresh_head(model)?;
    }
    if model.augment.method().mixup().is_some() && task == Task::Node && backbone.has_learners() {
        return no(
            "augment",
            format!("{backbone} is trained one learner after the other and has no vectors to mix"),
        );
    }
    if let (Some((_, copies)), Task::Node) = (model.augment.method().transform(), task) {
        if !model.augment.method().keeps_nodes() {
            return no(
                "augment",
                format!(
                    "{} changes which nodes there are and needs a set of graphs",
                    model.augment
                ),
            );
        }
        if copies == Copies::Fixed {
            return no(
                "copies",
                "of one graph a copy takes the graph's place: each-epoch is the only way".into(),
            );
        }
        let sees_features = model.augment.method().works_on_features();
        if backbone.has_learners() || !backbone.uses_operator() && !sees_features {
            return no(
                "augment",
                format!("{backbone} would not see what {} changes", model.augment),
            );
        }
    }
    refuse_sampling(model, task)?;
    refuse_class_weights(model)?;
    match task {
        Task::Node => {
            let of_sets = [
                ("readout", model.network.readout.is_some()),
                ("head-dropout", model.network.head_dropout.is_some()),
                ("batch-size", model.training.batch_size.is_some()),
            ];
            if let Some((setting, _)) = of_sets.iter().find(|(_, set)| *set) {
                return no(
                    setting,
                    "belongs to sets of graphs, and this is one graph".into(),
                );
            }
        }
        Task::Graph => {
            if model.network.gain.is_some() {
                return no(
                    "gain",
                    "belongs to one graph: the head that reads classes off graphs finds its own scale".into(),
                );
            }
            if backbone.has_learners() {
                return no(
                    "model",
                    format!(
                        "{backbone} is trained one learner after the other on the nodes of one graph; choose another for a set of graphs"
                    ),
                );
            }
            if !backbone.works_on_sets() {
                let why = "compares all nodes of one graph with each other; choose another for a set of graphs";
                return no("model", format!("{backbone} {why}"));
            }
        }
    }
    Ok(())
}

/// Whether a network goes by an operator's values alone, so that any weighted pairs may take the
/// place of edges.
fn hears_values(backbone: Backbone) -> bool {
    backbone.uses_operator()
        && backbone.uses_operator_values()
        && matches!(backbone.usual_operator(), UsualOperator::Classical(_))
}
