//! Training loop: full-batch steps, batches of graphs or sampled neighbourhoods, best-validation
//! weights, early stopping, learning curves, and resuming from a journal.

mod class_weights;
mod field;
mod journal;
mod mixing;
mod sampled;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gnarl_graph::random::mix;
use gnarl_graph::sample::Fanout;
use gnarl_graph::settings::{Kind, Settings, Value};
use gnarl_graph::{Labels, Split};
use serde::{Deserialize, Serialize};

pub use class_weights::{ClassWeights, PerClass};
#[doc(hidden)]
pub use field::{Dependencies, ReceptiveField};
pub use journal::Journal;
#[doc(hidden)]
pub use journal::fuzz_entry;
pub use mixing::{MixedIn, Mixer, Mixing, mixed_cross_entropy};
pub use sampled::{Batches, SampledProblem, Sampling, sampled_accuracy, train_sampled};

use crate::networks::{Group, Input, Network, Param, Params, Pass, Propagation};
use gnarl_graph::{Error, Result};
use gnarl_tensor::{
    Adam, AdamSettings, GradStore, Tensor, class_weighted_cross_entropy, masked_cross_entropy,
};
use journal::State;

/// Training settings.
#[derive(Debug, Clone, PartialEq, Serialize, Settings)]
#[partial(TrainingOptions, TrainingSetting)]
pub struct TrainConfig {
    /// Training epochs.
    #[setting(default = 200, range = 1..=1_000_000_000, open = "200; 300 for sets of graphs")]
    pub epochs: usize,
    /// Learning rate of Adam.
    #[setting(default = 0.01, above = 0.0, flag = "lr")]
    pub learning_rate: f64,
    /// Learning rate of the exponents of cgso.
    #[setting(
        default = 0.005,
        above = 0.0,
        flag = "exponent-lr",
        open = "0.005; 0.0002 from near"
    )]
    pub exponent_learning_rate: f64,
    /// Learning rate of the other scalars of cgso.
    #[setting(
        default = 0.01,
        above = 0.0,
        flag = "scalar-lr",
        open = "0.01; 0.0004 from near"
    )]
    pub scalar_learning_rate: f64,
    /// L2 decay, added to the gradient.
    #[setting(
        default = 5e-4,
        range = 0.0..,
        open = "5e-4; 0.01 for orthonormal, 0.02 for parseval, 0.05 for sgc"
    )]
    pub weight_decay: f64,
    /// Step schedule of the learning rate: its factor every so many epochs, as in 50:0.6.
    #[setting(flag = "lr-step", open = "none; 100:0.5 for sets of graphs")]
    pub schedule: Option<StepSchedule>,
    /// Epoch whose weights are kept.
    #[setting(default = Keep::BestValidation)]
    pub keep: Keep,
    /// Epochs without a lower validation loss after which training stops; needs validation nodes or
    /// graphs.
    #[setting(range = 1..)]
    pub patience: Option<usize>,
    /// Class weights in the loss: balanced, or one number per class, as in 1,5,2.5.
    #[setting(default = ClassWeights::None)]
    #[serde(default, skip_serializing_if = "ClassWeights::is_none")]
    pub class_weights: ClassWeights,
    /// Graphs per training step, for sets of graphs.
    #[setting(default = 256, range = 1..)]
    #[serde(skip)]
    pub batch_size: usize,
    /// Training nodes per step on sampled neighbourhoods, for one graph.
    #[setting(range = 1.., open = "full-batch training; 1024 with a fanout")]
    #[serde(skip)]
    pub batch_nodes: Option<usize>,
    /// Sampled neighbours per layer, the last layer first, or `all`, for one graph.
    #[setting(open = "15,10 and then 5 with batch-nodes")]
    #[serde(skip)]
    pub fanout: Option<Fanout>,
}

/// Step schedule of the learning rate. Stored as `50:0.6`: every 50 epochs the learning rate is
/// multiplied by 0.6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepSchedule {
    /// Number of epochs between steps.
    pub every: usize,
    /// Factor of the learning rate.
    pub factor: f64,
}

impl fmt::Display for StepSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.every, self.factor)
    }
}

impl FromStr for StepSchedule {
    type Err = gnarl_graph::Error;

    fn from_str(text: &str) -> gnarl_graph::Result<Self> {
        let wrong = || {
            Error::argument(
                "schedule",
                format!("'{text}' is not EPOCHS:FACTOR, as in 50:0.6"),
            )
        };
        let (every, factor) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self {
            every: every.parse().map_err(|_| wrong())?,
            factor: factor.parse().map_err(|_| wrong())?,
        })
    }
}

impl TryFrom<String> for StepSchedule {
    type Error = gnarl_graph::Error;

    fn try_from(text: String) -> gnarl_graph::Result<Self> {
        text.parse()
    }
}

impl From<StepSchedule> for String {
    fn from(schedule: StepSchedule) -> Self {
        schedule.to_string()
    }
}

gnarl_graph::named! {
    /// Weights that training ends with.
    pub enum Keep as "weights to keep" {
        /// Weights of the epoch with the best validation accuracy; ties go to the lowest validation
        /// loss.
        BestValidation = "best-validation",
        /// Weights of the last epoch.
        Last = "last",
    }
}

impl TrainConfig {
    /// Returns the learning rate of a parameter group.
    pub fn rate(&self, group: Group) -> f64 {
        match group {
            Group::Exponent => self.exponent_learning_rate,
            Group::Scalar => self.scalar_learning_rate,
            Group::Weight | Group::Free | Group::Bias | Group::Statistic => self.learning_rate,
        }
    }

    /// Checks the settings; an error names the range.
    pub fn check(&self) -> Result<()> {
        self.check_ranges()?;
        match self.schedule {
            Some(schedule) => Ok(schedule.check()?),
            None => Ok(()),
        }
    }
}

impl StepSchedule {
    fn check(&self) -> gnarl_graph::Result<()> {
        if self.every > 0 && self.factor > 0.0 && self.factor.is_finite() {
            return Ok(());
        }
        let why = format!("'{self}' needs at least one epoch and a factor above 0, as in 50:0.6");
        Err(Error::setting("lr-step", why))
    }
}

impl Value for StepSchedule {
    const KIND: Kind = Kind::Text("EPOCHS:FACTOR");
}

/// Result of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Training loss before the step, or the mean over an epoch's steps.
    pub loss: f32,
    /// Validation loss and accuracy after the epoch; `None` without validation nodes or graphs.
    /// Stored as `val_loss` and `val_accuracy`.
    #[serde(flatten)]
    pub validation: Option<Validation>,
}

impl Epoch {
    /// Returns the validation accuracy after the epoch, per cent; `None` without validation nodes
    /// or graphs.
    pub fn val_accuracy(&self) -> Option<f64> {
        self.validation.map(|validation| validation.accuracy)
    }
}

/// Validation loss and accuracy of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Validation loss.
    #[serde(rename = "val_loss")]
    pub loss: f32,
    /// Validation accuracy, per cent.
    #[serde(rename = "val_accuracy")]
    pub accuracy: f64,
}

impl Validation {
    /// Returns true for a higher accuracy, or an equal accuracy and a lower loss.
    fn is_better_than(&self, other: &Self) -> bool {
        (self.accuracy, -self.loss) > (other.accuracy, -other.loss)
    }
}

/// Result of one training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trained {
    /// One entry per completed epoch.
    pub curve: Vec<Epoch>,
    /// Epoch of the selected weights, from 1.
    pub kept_epoch: usize,
    /// Median training time of an epoch in milliseconds: forward, backward, update, and preparing
    /// its batches.
    pub epoch_ms: f64,
    /// True if it was stopped from outside.
    pub interrupted: bool,
}

/// Callbacks of the loop: progress, cancellation and the journal.
#[derive(Clone, Copy)]
pub struct Callbacks<'a> {
    /// Called after every epoch.
    pub on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync),
    /// Cancellation flag: ends training after the current epoch and keeps the result so far.
    pub stop: &'a AtomicBool,
    /// Journal of checkpoints, from which interrupted trainings are resumed.
    pub journal: Option<&'a Journal>,
}

impl Callbacks<'static> {
    /// Returns callbacks that do nothing.
    pub fn quiet() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            on_epoch: &|_, _| (),
            stop: &NEVER,
            journal: None,
        }
    }
}

impl<'a> Callbacks<'a> {
    /// Returns callbacks that only stop when the flag is set.
    pub fn stopped_by(stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch: &|_, _| (),
            stop,
            journal: None,
        }
    }

    /// Returns callbacks that report every epoch and stop when the flag is set.
    pub fn new(on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync), stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch,
            stop,
            journal: None,
        }
    }

    /// Adds a journal, if there is one.
    pub fn with_journal(self, journal: Option<&'a Journal>) -> Self {
        Self { journal, ..self }
    }

    /// Returns the callbacks without progress reports.
    pub fn silent(&self) -> Self {
        Self {
            on_epoch: &|_, _| (),
            ..*self
        }
    }

    /// Returns true if a stop was requested.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Default for Callbacks<'static> {
    fn default() -> Self {
        Self::quiet()
    }
}

/// Nodes or graphs of a split with their classes, as inputs of the loss.
#[derive(Debug, Clone)]
pub struct Targets {
    /// Indices of the nodes or graphs.
    pub items: Arc<Vec<u32>>,
    /// Their classes.
    pub classes: Arc<Vec<u32>>,
    /// Weight of each node or graph, by its class; all equal if there is none.
    pub weights: Option<Arc<Vec<f32>>>,
}

impl Targets {
    /// Selects the labelled ones among `items`.
    pub fn new(items: &[u32], labels: &Labels) -> Self {
        let labelled: Vec<(u32, u32)> = items
            .iter()
            .filter_map(|&i| labels.get(i).map(|c| (i, c)))
            .collect();
        Self {
            items: Arc::new(labelled.iter().map(|(i, _)| *i).collect()),
            classes: Arc::new(labelled.iter().map(|(_, c)| *c).collect()),
            weights: None,
        }
    }

    /// Adds class weights.
    pub fn weighing(self, weights: &Option<Arc<Vec<f32>>>) -> Self {
        Self {
            weights: weights.clone(),
            ..self
        }
    }

    fn weight(&self, class: u32) -> f64 {
        self.weights
            .as_ref()
            .and_then(|weights| weights.get(class as usize))
            .map_or(1.0, |weight| f64::from(*weight))
    }

    /// Returns the total weight: the number of nodes or graphs if there are no class weights.
    pub fn total_weight(&self) -> f64 {
        self.classes.iter().map(|&class| self.weight(class)).sum()
    }

    /// Computes the weighted mean cross-entropy.
    pub fn cross_entropy(&self, scores: &Tensor) -> gnarl_tensor::Result<Tensor> {
        match &self.weights {
            None => masked_cross_entropy(scores, &self.items, &self.classes),
            Some(weights) => {
                class_weighted_cross_entropy(scores, &self.items, &self.classes, weights)
            }
        }
    }

    /// Computes the weighted accuracy, per cent: the class of the largest score is compared with
    /// the label; of equal scores the first class counts.
    pub fn accuracy(&self, scores: &Tensor) -> Result<f64> {
        let (_, width) = scores.dims2()?;
        let scores = scores.flatten_all()?.to_vec1::<f32>()?;
        let right = self
            .items
            .iter()
            .zip(self.classes.iter())
            .filter(|&(&i, &c)| {
                argmax(&scores[i as usize * width..(i as usize + 1) * width]) == c as usize
            });
        let right: f64 = right.map(|(_, &class)| self.weight(class)).sum();
        let total = self.total_weight();
        Ok(if total > 0.0 {
            100.0 * right / total
        } else {
            0.0
        })
    }
}

/// Returns the position of the largest value, the first of equal values.
pub fn argmax(scores: &[f32]) -> usize {
    scores
        .iter()
        .enumerate()
        .fold(0, |best, (i, s)| if *s > scores[best] { i } else { best })
}

/// Training input of an epoch, if it differs from the validation input.
#[derive(Default)]
pub struct EpochInput {
    /// Propagation of the epoch; `None` for the unchanged propagation.
    pub propagation: Option<Propagation>,
    /// True if that propagation has new edges, so that nodes may have new neighbours.
    pub new_edges: bool,
    /// Features of the nodes; `None` for the unchanged features.
    pub input: Option<Input>,
}

/// Samples the training input of an epoch, counted from 1.
pub type EpochSampler<'a> = &'a (dyn Fn(usize) -> Result<EpochInput> + Sync);

/// Training task on one graph.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Message-passing operators.
    pub propagation: &'a Propagation,
    /// Features of the nodes.
    pub input: &'a Input,
    /// Classes of the nodes.
    pub labels: &'a Labels,
    /// Training and validation nodes.
    pub split: &'a Split,
    /// Sampler of a new graph for every training epoch, if any. Validation uses the unchanged
    /// graph.
    pub anew: Option<EpochSampler<'a>>,
    /// Sampler of the mixup of the training nodes' last vectors in every epoch, if any.
    pub mixing: Option<Mixer<'a>>,
}

impl<'a> Problem<'a> {
    /// Returns a task with the same propagation in every epoch.
    pub fn new(
        propagation: &'a Propagation,
        input: &'a Input,
        labels: &'a Labels,
        split: &'a Split,
    ) -> Self {
        Self {
            propagation,
            input,
            labels,
            split,
            anew: None,
            mixing: None,
        }
    }

    /// Returns the labelled training and validation nodes; a split without labelled training nodes
    /// is refused.
    pub fn targets(&self) -> Result<[Targets; 2]> {
        let [train_on, validate_on] =
            [self.split.train(), self.split.val()].map(|items| Targets::new(items, self.labels));
        if train_on.items.is_empty() {
            let what = format!("split {} has no labelled training items", self.split.name());
            return Err(Error::missing("training", what, "name another split"));
        }
        Ok([train_on, validate_on])
    }
}

/// Model that the loop can train: a network, a stage of one whose earlier layers are frozen, or a
/// network with several exits.
pub trait Model {
    /// Returns its parameters.
    fn params(&self) -> &Params;

    /// Returns the trained parameters, by position; the others are never changed.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Returns the number of hops within which nodes can influence a node's scores; `None` if every
    /// node may.
    fn reach(&self) -> Option<usize>;

    /// Computes class scores before the softmax, one matrix for each output. For a restricted task
    /// ([`Propagation::rounds`]), at least the rows of the targets, which come first.
    fn scores(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> gnarl_tensor::Result<Vec<Tensor>>;

    /// Initialises the data-dependent values before the first step, from the training nodes.
    fn start(&self, _propagation: &Propagation, _x: &Input) -> gnarl_tensor::Result<()> {
        Ok(())
    }

    /// Computes the loss to minimise: the cross-entropy, summed over the outputs.
    fn loss(&self, scores: &[Tensor], targets: &Targets) -> gnarl_tensor::Result<Tensor> {
        let mut losses = scores.iter().map(|scores| targets.cross_entropy(scores));
        let Some(first) = losses.next() else {
            gnarl_tensor::bail!("a model that answers nowhere")
        };
        losses.try_fold(first?, |sum, loss| sum + loss?)
    }
}

impl Model for Network {
    fn params(&self) -> &Params {
        self.params()
    }

    fn reach(&self) -> Option<usize> {
        self.reach()
    }

    fn scores(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> gnarl_tensor::Result<Vec<Tensor>> {
        Ok(vec![self.forward(propagation, x, pass)?])
    }

    fn start(&self, propagation: &Propagation, x: &Input) -> gnarl_tensor::Result<()> {
        let Some(gain) = self.gain() else {
            return Ok(());
        };
        let weights = self.params().weights()?.detached();
        gain.start(
            self.params(),
            &self.forward(propagation, x, &Pass::evaluation(&weights))?,
        )
    }
}

/// Training task of the loop: a model on its training data, with one or several steps per epoch.
pub trait TrainingTask {
    /// Returns the model's parameters.
    fn params(&self) -> &Params;

    /// Returns the trained parameters, by position; the others are never changed.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Prepares an epoch, counted from 1, and returns its number of steps. The first step of the
    /// epoch is `from`, which is 0 unless an interrupted training is resumed.
    fn begin(&mut self, epoch: usize, from: usize) -> Result<usize>;

    /// Computes the loss of a step of this epoch, from 0, and its gradients.
    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)>;

    /// Returns true if there are validation nodes or graphs.
    fn has_validation(&self) -> bool;

    /// Evaluates the model on the validation nodes or graphs; only called if there are some.
    fn validate(&self) -> Result<Validation>;
}

/// Trains `model` on the training nodes and selects weights on the validation nodes. `seed` fixes
/// every random sample.
pub fn train(
    model: &impl Model,
    problem: &Problem<'_>,
    config: &TrainConfig,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Trained> {
    let Problem {
        propagation, input, ..
    } = *problem;
    let targets = problem.targets()?;
    let weights = config
        .class_weights
        .of(&targets[0].classes, problem.labels.num_classes())?;
    let [targets, validate_on] = targets.map(|targets| targets.weighing(&weights));
    let validate_on = ReceptiveField::new(propagation, input, &validate_on, model.reach())?;
    let reach = Dependencies::new(propagation, input, &targets, model.reach());
    let train_on = reach.field(propagation, input)?;
    let anew = problem.anew.map(|make| Drawn {
        make,
        targets,
        reach,
        whole: (propagation, input),
        input: train_on.input.clone(),
    });
    model.start(&train_on.propagation, &train_on.input)?;
    let mixer = problem.mixing;
    fit_loop(
        &mut WholeGraph {
            model,
            train_on,
            validate_on,
            anew,
            mixer,
            mixing: None,
        },
        config,
        seed,
        watch,
    )
}

/// Full-batch training: all training nodes of one graph in every step.
struct WholeGraph<'a, M> {
    model: &'a M,
    train_on: ReceptiveField,
    validate_on: ReceptiveField,
    anew: Option<Drawn<'a>>,
    mixer: Option<Mixer<'a>>,
    /// Mixup of the epoch, if any.
    mixing: Option<Mixing>,
}

/// Sampler of a new graph for every epoch. If a new graph has no additional edges, its nodes stay
/// those of the whole graph's field. Inputs are then restricted, and transposed for their
/// gradients, once.
struct Drawn<'a> {
    make: EpochSampler<'a>,
    targets: Targets,
    reach: Dependencies,
    /// Unchanged input of an epoch: the message passing and inputs of the whole graph; `input` has
    /// the field's inputs.
    whole: (&'a Propagation, &'a Input),
    input: Input,
}

impl Drawn<'_> {
    fn field(&self, epoch: usize, hops: Option<usize>) -> Result<ReceptiveField> {
        let EpochInput {
            propagation,
            new_edges,
            input,
        } = (self.make)(epoch)?;
        let propagation = propagation.as_ref().unwrap_or(self.whole.0);
        if new_edges {
            return Ok(ReceptiveField::new(
                propagation,
                input.as_ref().unwrap_or(self.whole.1),
                &self.targets,
                hops,
            )?);
        }
        let input = match &input {
            Some(own) => self.reach.input(own)?,
            None => self.input.clone(),
        };
        Ok(self.reach.field_of(propagation, input)?)
    }
}

impl<M: Model> TrainingTask for WholeGraph<'_, M> {
    fn params(&self) -> &Params {
        self.model.params()
    }

    fn trained(&self) -> Range<usize> {
        self.model.trained()
    }

    fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
        if let Some(drawn) = &self.anew {
            self.train_on = drawn.field(epoch, self.model.reach())?;
        }
        self.mixing = self
            .mixer
            .map(|draw| draw(epoch, self.train_on.targets.items.len()))
            .transpose()?;
        Ok(1)
    }

    fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
        let scores = self
            .model
            .scores(&self.train_on.propagation, &self.train_on.input, pass)?;
        let loss = match &self.mixing {
            Some(mixing) => mixing.loss(&scores, &self.train_on.targets)?,
            None => self.model.loss(&scores, &self.train_on.targets)?,
        };
        // The scores keep all tensors that they were computed from in memory.
        drop(scores);
        gradients(loss, pass)
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.targets.items.is_empty()
    }

    /// With several outputs, the sum of the losses and the mean accuracy.
    fn validate(&self) -> Result<Validation> {
        let on = &self.validate_on.targets;
        let weights = self.model.params().weights()?.detached();
        let scores = self.model.scores(
            &self.validate_on.propagation,
            &self.validate_on.input,
            &Pass::evaluation(&weights),
        )?;
        let loss = self.model.loss(&scores, on)?.to_scalar::<f32>()?;
        let accuracies = scores
            .iter()
            .map(|scores| on.accuracy(scores))
            .collect::<Result<Vec<f64>>>()?;
        Ok(Validation {
            loss,
            accuracy: accuracies.iter().sum::<f64>() / accuracies.len() as f64,
        })
    }
}

/// Maximal time that an epoch continues after a stop was requested.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the training loop: steps, best-validation weights, early stopping. `seed` fixes every
/// random sample of the passes. A training with a checkpoint in the journal is resumed, or is
/// already finished.
pub fn fit_loop(
    task: &mut impl TrainingTask,
    config: &TrainConfig,
    seed: u64,
    watch: &Callbacks<'_>,
) -> Result<Trained> {
    config.check()?;
    if config.patience.is_some() && !task.has_validation() {
        let what = "patience needs validation items, and there are none";
        let remedy = "leave it out to train for every epoch";
        return Err(Error::missing("training", what, remedy));
    }
    let positions = task.trained();
    let mut adam = Adam::new(AdamSettings::default());
    for p in &task.params().list()[positions.clone()] {
        if p.group != Group::Statistic {
            adam.add(&p.var, config.rate(p.group), config.weight_decay);
        }
    }

    // A training that begins after a stop may depend on an incomplete one, as a head depends on a
    // network: nothing of it is written to the journal.
    let journal = watch.journal.filter(|_| !watch.stopped());
    let entry = journal
        .map(|journal| journal.entry(task.params(), config, seed))
        .transpose()?;
    let found = entry
        .as_ref()
        .map(|entry| entry.read(&task.params().list()[positions.clone()], &mut adam))
        .transpose()?;
    let (mut state, mut is_done) = found.flatten().unwrap_or_default();
    for (epoch, was) in (1..).zip(&state.curve) {
        (watch.on_epoch)(epoch, was);
    }
    let mut epoch_ms = Vec::with_capacity(config.epochs);
    let mut interrupted = false;
    for epoch in state.curve.len() + 1..=config.epochs {
        if is_done {
            break;
        }
        let start = Instant::now();
        let steps = task.begin(epoch, state.step)?;
        let params = task.params();
        let trained = &params.list()[positions.clone()];
        while state.step < steps {
            state.steps_done += 1;
            let weights = params.weights_training(&positions)?;
            let pass = Pass::training(&weights, mix(seed ^ mix(state.steps_done)));
            let (loss, grads) = match task.descend(state.step, &pass) {
                Err(Error::NotFinite { value, operation }) => {
                    if let Some(kept) = &state.kept {
                        restore(trained, &kept.snapshot)?;
                    }
                    let last_good = state.kept.as_ref().map_or(0, |kept| kept.epoch);
                    let learning_rate = config.learning_rate;
                    return Err(Error::Diverged {
                        loss: value,
                        operation,
                        epoch,
                        last_good,
                        learning_rate,
                    });
                }
                descended => descended?,
            };
            adam.step(&grads)?;
            params.constrain(&positions)?;
            params.apply_updates(pass.into_updates())?;
            state.total += loss;
            state.step += 1;
            let is_last = state.step == steps;
            if let Some(entry) = entry.as_ref().filter(|entry| !is_last && entry.is_due()) {
                entry.write(&state, trained, &adam, false)?;
            }
            // Short epochs are finished; nobody should wait for the end of a long one.
            if watch.stopped() && !is_last && start.elapsed() > PATIENCE {
                interrupted = true;
                break;
            }
        }
        if interrupted {
            if let Some(entry) = &entry {
                entry.write(&state, trained, &adam, false)?;
            }
            break;
        }
        epoch_ms.push(start.elapsed().as_secs_f64() * 1e3);
        if let Some(schedule) = config.schedule
            && epoch % schedule.every == 0
        {
            adam.scale_learning_rates(schedule.factor);
        }

        let validation = if task.has_validation() {
            Some(task.validate()?)
        } else {
            None
        };
        if is_worth_keeping(config.keep, &state.kept, validation) {
            state.kept = Some(BestWeights {
                epoch,
                validation,
                snapshot: snapshot(trained)?,
            });
        }
        if let Some(validation) = validation
            && state
                .lowest_loss
                .is_none_or(|(lowest, _)| validation.loss < lowest)
        {
            state.lowest_loss = Some((validation.loss, epoch));
        }
        let now = Epoch {
            loss: state.total / steps.max(1) as f32,
            validation,
        };
        state.end_epoch(now);
        (watch.on_epoch)(epoch, &now);
        interrupted = watch.stop.load(Ordering::Relaxed);
        let since_lowest = epoch - state.lowest_loss.map_or(0, |(_, epoch)| epoch);
        let patience_is_over = config
            .patience
            .is_some_and(|patience| since_lowest >= patience);
        is_done = patience_is_over || epoch == config.epochs;
        if let Some(entry) = entry
            .as_ref()
            .filter(|entry| is_done || interrupted || entry.is_due())
        {
            entry.write(&state, trained, &adam, is_done)?;
        }
        if interrupted || patience_is_over {
            break;
        }
    }
    let State { curve, kept, .. } = state;
    let kept_epoch = match &kept {
        Some(kept) => {
            restore(&task.params().list()[positions], &kept.snapshot)?;
            kept.epoch
        }
        None => curve.len(),
    };
    Ok(Trained {
        curve,
        kept_epoch,
        epoch_ms: median(epoch_ms),
        interrupted,
    })
}

/// Weights that training would end with if it ended now.
#[derive(Debug)]
struct BestWeights {
    epoch: usize,
    validation: Option<Validation>,
    snapshot: Vec<Tensor>,
}

/// Returns true if the weights just validated replace the selected ones: never if the validation
/// loss is out of range.
fn is_worth_keeping(keep: Keep, kept: &Option<BestWeights>, now: Option<Validation>) -> bool {
    let Some(now) = now else { return true };
    let is_better = match (kept, keep) {
        (None, _) | (_, Keep::Last) => true,
        (Some(kept), Keep::BestValidation) => {
            kept.validation.is_none_or(|kept| now.is_better_than(&kept))
        }
    };
    is_better && now.loss.is_finite()
}

/// Adds the penalties of the pass to a loss, and computes its gradients.
pub fn gradients(loss: Tensor, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
    let loss = pass
        .take_penalties()
        .iter()
        .try_fold(loss, |sum, penalty| sum + penalty)?;
    Ok((loss.to_scalar::<f32>()?, loss.into_gradients()?))
}

/// Returns a copy of every value.
fn snapshot(trained: &[Param]) -> gnarl_tensor::Result<Vec<Tensor>> {
    trained.iter().map(|p| p.var.as_tensor().copy()).collect()
}

/// Restores a snapshot.
fn restore(trained: &[Param], snapshot: &[Tensor]) -> gnarl_tensor::Result<()> {
    trained
        .iter()
        .zip(snapshot)
        .try_for_each(|(p, value)| p.var.set(value))
}

/// Computes class scores without dropout, detached from any gradient.
pub fn predict(network: &Network, propagation: &Propagation, input: &Input) -> Result<Tensor> {
    let weights = network.params().weights()?.detached();
    Ok(network.forward(propagation, input, &Pass::evaluation(&weights))?)
}

/// Returns the median; zero for no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::init::Init;

    /// One weight with initial value zero that moves by about the learning rate in every epoch;
    /// validation accuracies as given.
    struct Walk {
        params: Params,
        accuracies: Vec<f64>,
        epoch: usize,
    }

    impl Walk {
        fn new(accuracies: &[f64]) -> Self {
            let mut params = Params::default();
            let rng = &mut gnarl_graph::random::stream(1, "walk", 0);
            params
                .add("weight".into(), &[1], Init::Constant(0.0), Group::Bias, rng)
                .unwrap();
            Self {
                params,
                accuracies: accuracies.to_vec(),
                epoch: 0,
            }
        }

        fn weight(&self) -> f32 {
            self.params.list()[0].var.to_vec1::<f32>().unwrap()[0]
        }
    }

    impl TrainingTask for Walk {
        fn params(&self) -> &Params {
            &self.params
        }

        fn begin(&mut self, epoch: usize, _from: usize) -> Result<usize> {
            self.epoch = epoch;
            Ok(1)
        }

        fn descend(&self, _step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
            let (_, weight) = pass.weights().iter().next().unwrap();
            gradients(weight.neg()?.sum_all()?, pass)
        }

        fn has_validation(&self) -> bool {
            !self.accuracies.is_empty()
        }

        fn validate(&self) -> Result<Validation> {
            Ok(Validation {
                loss: 1.0,
                accuracy: self.accuracies[self.epoch - 1],
            })
        }
    }

    /// Adam's steps on a constant gradient are the learning rate each.
    fn train_walk(walk: &mut Walk, keep: Keep) -> Trained {
        let config = TrainConfig {
            epochs: 4,
            learning_rate: 1.0,
            weight_decay: 0.0,
            keep,
            ..TrainConfig::default()
        };
        fit_loop(walk, &config, 1, &Callbacks::quiet()).unwrap()
    }

    #[test]
    fn weights_are_kept_by_validation_and_without_it_the_last() {
        for (accuracies, keep, expected) in [
            (&[50.0, 70.0, 70.0, 60.0][..], Keep::BestValidation, 2),
            (&[50.0, 70.0, 70.0, 60.0], Keep::Last, 4),
            (&[], Keep::BestValidation, 4),
            (&[], Keep::Last, 4),
        ] {
            let mut walk = Walk::new(accuracies);
            let trained = train_walk(&mut walk, keep);
            assert_eq!(
                (trained.kept_epoch, trained.curve.len(), trained.interrupted),
                (expected, 4, false)
            );
            assert!(
                (walk.weight() - expected as f32).abs() < 1e-4,
                "{accuracies:?}: {}",
                walk.weight()
            );
            assert_eq!(trained.curve[0].val_accuracy(), accuracies.first().copied());
        }
    }

    #[test]
    fn epochs_are_stored_flat_and_without_what_was_not_measured() {
        let validation = Some(Validation {
            loss: 0.5,
            accuracy: 75.0,
        });
        let stored = serde_json::to_string(&Epoch {
            loss: 1.5,
            validation,
        })
        .unwrap();
        assert_eq!(stored, r#"{"loss":1.5,"val_loss":0.5,"val_accuracy":75.0}"#);
        assert_eq!(
            serde_json::to_string(&Epoch {
                loss: 1.5,
                validation: None
            })
            .unwrap(),
            r#"{"loss":1.5}"#
        );
    }

    #[test]
    fn patience_without_validation_items_is_refused() {
        let config = TrainConfig {
            patience: Some(3),
            ..TrainConfig::default()
        };
        let e = fit_loop(&mut Walk::new(&[]), &config, 1, &Callbacks::quiet())
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("training: patience needs validation items"),
            "{e}"
        );
    }

    #[test]
    fn a_stop_from_outside_is_told() {
        let stop = AtomicBool::new(true);
        let watch = Callbacks {
            stop: &stop,
            ..Callbacks::quiet()
        };
        let trained = fit_loop(&mut Walk::new(&[]), &TrainConfig::default(), 1, &watch).unwrap();
        assert_eq!((trained.curve.len(), trained.interrupted), (1, true));
    }
}
