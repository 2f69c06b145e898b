//! What a model can be told beside its axes, and what a study asks of its fitting. Everything is
//! optional: what is left open takes the usual value of the backbone, the task and the depth, and
//! what does not apply is refused ([`plan`](super::plan)).

use gnarl_graph::names::Setting;
use gnarl_graph::sample::Fanout;
use serde::{Deserialize, Serialize};

use crate::augment::Corruption;
use crate::nn::{NetworkOption, Readout};
use crate::train::{ClassWeights, Keep, StepSchedule};

/// The shape of the network.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NetworkOptions {
    /// Width of hidden representations (with several attention heads side by side: the total).
    pub hidden: Option<usize>,
    /// Rounds of message passing.
    pub layers: Option<usize>,
    /// Dropout between layers.
    pub dropout: Option<f64>,
    /// Dropout of the input features.
    pub input_dropout: Option<f64>,
    /// Attention heads of hidden layers.
    pub heads: Option<usize>,
    /// Dropout of attention coefficients.
    pub attention_dropout: Option<f64>,
    /// Batch normalisation inside GIN's perceptrons.
    pub batch_norm: Option<bool>,
    /// Steps of propagation behind the prediction.
    pub propagation_steps: Option<usize>,
    /// The share of the prediction kept at each of them.
    pub teleport: Option<f64>,
    /// Whether layers add an offset.
    pub bias: Option<bool>,
    /// Whether a stack of layers ends in a linear map.
    pub head: Option<bool>,
    /// Whether the maps that the weights axis works on start orthonormal.
    pub orthogonal_start: Option<bool>,
    /// Deviation of the noise on hidden representations while training.
    pub noise: Option<f64>,
    /// Whether scores are multiplied by a factor that their first spread sets.
    pub gain: Option<bool>,
    /// The number that a robust model's paper tunes.
    pub level: Option<f64>,
    /// Of sets of graphs: from nodes to graphs.
    pub readout: Option<Readout>,
    /// Of sets of graphs: dropout of graph vectors before the head.
    pub head_dropout: Option<f64>,
}

impl NetworkOptions {
    /// By the names they are stored under.
    pub const SETTINGS: &'static [Setting] = &[
        Setting::new("hidden", "N", "width of hidden layers [default: 64; of sets of graphs 32]"),
        Setting::new(
            "layers",
            "N",
            "rounds of message passing; the ways of combining layers may have none [default: 2]",
        )
        .at_most(10_000),
        Setting::new("dropout", "RATE", "dropout between layers [default: 0.5; of sets of graphs 0]"),
        Setting::new("input-dropout", "RATE", "dropout of the input features [default: 0]"),
        Setting::new("heads", "N", "attention heads of hidden layers [default: 8]").at_most(10_000),
        Setting::new("attention-dropout", "RATE", "dropout of attention coefficients [default: 0]"),
        Setting::new("batch-norm", "BOOL", "batch normalisation inside GIN's perceptrons [default: false]"),
        Setting::new(
            "propagation-steps",
            "N",
            "of appnp, rung, elastic-gnn, evennet and airgnn: steps of propagation behind the prediction [default: 10]",
        )
        .at_most(10_000),
        Setting::new(
            "teleport",
            "SHARE",
            "of appnp and rung: share of the prediction kept at each step; of evennet: what its weights start from [default: 0.1]",
        ),
        Setting::new("bias", "BOOL", "whether the layers of gcn and gin add an offset [default: true]"),
        Setting::new(
            "head",
            "BOOL",
            "end a stack of layers in a linear map [default: false; of one graph true where gratin or retrain has nothing else to train again; of bounded weights settled on validation nodes]",
        ),
        Setting::new("orthogonal-start", "BOOL", "start the weights orthonormal [default: false]"),
        Setting::new("noise", "DEVIATION", "noise on hidden representations while training, NoisyGCN [default: 0]"),
        Setting::new(
            "gain",
            "BOOL",
            "of one graph: a factor on scores, set by their first spread [default: true for sgc and for bounded weights without a head]",
        ),
        Setting::new(
            "level",
            "X",
            "what a robust model's paper tunes: gamma of rung [default: 3], temperature of soft-median [0.2], least similarity of gnnguard [0.1], lambda of elastic-gnn [3] and airgnn [0.5], share of the kernel of gcn-k [0.5]",
        ),
        Setting::new("readout", "KIND", "of sets of graphs: mean, sum or max over nodes [default: mean]"),
        Setting::new(
            "head-dropout",
            "RATE",
            "of sets of graphs: dropout of graph vectors before the head [default: 0.5]",
        ),
    ];

    /// The options of the network itself that were set.
    pub fn set(&self) -> impl Iterator<Item = NetworkOption> {
        use NetworkOption as O;
        let all = [
            (O::Hidden, self.hidden.is_some()),
            (O::Layers, self.layers.is_some()),
            (O::Dropout, self.dropout.is_some()),
            (O::InputDropout, self.input_dropout.is_some()),
            (O::Heads, self.heads.is_some()),
            (O::AttentionDropout, self.attention_dropout.is_some()),
            (O::BatchNorm, self.batch_norm.is_some()),
            (O::PropagationSteps, self.propagation_steps.is_some()),
            (O::Teleport, self.teleport.is_some()),
            (O::Bias, self.bias.is_some()),
            (O::Head, self.head.is_some()),
            (O::OrthogonalStart, self.orthogonal_start.is_some()),
            (O::Noise, self.noise.is_some()),
            (O::Gain, self.gain.is_some()),
            (O::Level, self.level.is_some()),
        ];
        all.into_iter()
            .filter(|(_, set)| *set)
            .map(|(option, _)| option)
    }

    /// The same with an option left open.
    pub fn without(mut self, option: NetworkOption) -> Self {
        match option {
            NetworkOption::Hidden => self.hidden = None,
            NetworkOption::Layers => self.layers = None,
            NetworkOption::Dropout => self.dropout = None,
            NetworkOption::InputDropout => self.input_dropout = None,
            NetworkOption::Heads => self.heads = None,
            NetworkOption::AttentionDropout => self.attention_dropout = None,
            NetworkOption::BatchNorm => self.batch_norm = None,
            NetworkOption::PropagationSteps => self.propagation_steps = None,
            NetworkOption::Teleport => self.teleport = None,
            NetworkOption::Bias => self.bias = None,
            NetworkOption::Head => self.head = None,
            NetworkOption::OrthogonalStart => self.orthogonal_start = None,
            NetworkOption::Noise => self.noise = None,
            NetworkOption::Gain => self.gain = None,
            NetworkOption::Level => self.level = None,
        }
        self
    }
}

/// How the model is trained.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TrainingOptions {
    /// Passes over the training set.
    pub epochs: Option<usize>,
    /// Adam's learning rate.
    pub learning_rate: Option<f64>,
    /// Learning rate of a learnable operator's exponents.
    pub exponent_learning_rate: Option<f64>,
    /// Learning rate of a learnable operator's other scalars.
    pub scalar_learning_rate: Option<f64>,
    /// L2 decay, added to the gradient.
    pub weight_decay: Option<f64>,
    /// The learning rate times a factor every so many epochs.
    pub schedule: Option<StepSchedule>,
    /// Which epoch's weights are kept.
    pub keep: Option<Keep>,
    /// Stop after this many epochs without a lower validation loss.
    pub patience: Option<usize>,
    /// What training items count by their classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<ClassWeights>,
    /// Of sets of graphs: graphs in a training step.
    pub batch_size: Option<usize>,
    /// Of one graph: training nodes in a step, on sampled neighbourhoods.
    pub batch_nodes: Option<usize>,
    /// Of one graph: neighbours that are drawn in each round, the one nearest to the answer first.
    pub fanout: Option<Fanout>,
}

impl TrainingOptions {
    /// By the names they are stored under.
    pub const SETTINGS: &'static [Setting] = &[
        Setting::new("epochs", "N", "training epochs [default: 200; of sets of graphs 300]").at_most(1_000_000_000),
        Setting::new("learning-rate", "X", "learning rate [default: 0.01]").flag("lr"),
        Setting::new("exponent-learning-rate", "X", "learning rate of cgso's exponents [default: 0.005; from near 0.0002]").flag("exponent-lr"),
        Setting::new("scalar-learning-rate", "X", "learning rate of cgso's other scalars [default: 0.01; from near 0.0004]").flag("scalar-lr"),
        Setting::new("weight-decay", "X", "L2 decay [default: 5e-4; of orthonormal 0.01, of parseval 0.02, of sgc 0.05]"),
        Setting::new("schedule", "EPOCHS:FACTOR", "multiply the learning rate by FACTOR every EPOCHS epochs, as in 50:0.6 [default: none; of sets of graphs 100:0.5]").flag("lr-step"),
        Setting::new("keep", "WHICH", "weights to keep: best-validation or last [default: best-validation]"),
        Setting::new("patience", "N", "stop after this many epochs without a lower validation loss"),
        Setting::new(
            "class-weights",
            "HOW",
            "what training items count by their classes: balanced, each class the same; or a weight for each, as in 1,5,2.5 [default: none]",
        ),
        Setting::new("batch-size", "N", "of sets of graphs: graphs in a training step [default: 256]"),
        Setting::new(
            "batch-nodes",
            "N",
            "of one graph: training nodes in a step, on sampled neighbourhoods [default: all, on the whole graph; with a fanout 1024]",
        ),
        Setting::new(
            "fanout",
            "N,N",
            "of one graph: neighbours drawn in each round, the one nearest to the answer first, or `all` [default with batch-nodes: 15,10 and 5 beyond]",
        ),
    ];
}

/// What a study asks of fitting beside the model itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FitOptions {
    /// Of sets: random changes of the training graphs' edges.
    pub corruption: Option<TrainingCorruption>,
    /// What corruption is drawn from: the same for every fold and method of a study.
    pub corruption_seed: u64,
    /// Of drawn vectors: find out the influence of each and what keeping the best does.
    pub study_influence: bool,
}

/// Corruption of the training graphs; validation and test graphs stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainingCorruption {
    /// Which edges change.
    pub edges: Corruption,
    /// Whether one-hot degrees stay those of the graph before it; else they are those of the
    /// corrupted one.
    pub keep_degrees: bool,
}
