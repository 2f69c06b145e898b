//! The training loop: steps over a whole graph, batches of graphs or sampled neighbourhoods,
//! best-validation weights, early stopping, learning curves, and a journal from which a training
//! that was cut off goes on.

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

use gnarl_graph::names::{Kind, Settings, Value};
use gnarl_graph::random::mix;
use gnarl_graph::sample::Fanout;
use gnarl_graph::{Labels, Split};
use serde::{Deserialize, Serialize};

pub use class_weights::{ClassWeights, Each};
#[doc(hidden)]
pub use field::{Field, Reach};
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

/// The settings of training.
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
    /// Epochs without a lower validation loss after which training stops; needs validation items.
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

/// A step schedule. Stored as `50:0.6`: every 50 epochs the learning rate times 0.6.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepSchedule {
    /// Epochs between steps.
    pub every: usize,
    /// What the learning rate is multiplied by.
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
    /// Which weights training ends with.
    pub enum Keep as "weights to keep" {
        /// Those of the best validation accuracy, of equals the lowest validation loss.
        BestValidation = "best-validation",
        /// Those of the last epoch.
        Last = "last",
    }
}

impl TrainConfig {
    /// The learning rate of a kind of parameter.
    pub fn rate(&self, group: Group) -> f64 {
        match group {
            Group::Exponent => self.exponent_learning_rate,
            Group::Scalar => self.scalar_learning_rate,
            Group::Weight | Group::Free | Group::Bias | Group::Statistic => self.learning_rate,
        }
    }

    /// Refuses settings that cannot train, naming the range.
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

/// What one epoch came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Training loss before the step, or the mean over an epoch's steps.
    pub loss: f32,
    /// What the model is worth after it; `None` without validation items. Stored as `val_loss` and
    /// `val_accuracy`.
    #[serde(flatten)]
    pub validation: Option<Validation>,
}

impl Epoch {
    /// Validation accuracy after it, per cent; `None` without validation items.
    pub fn val_accuracy(&self) -> Option<f64> {
        self.validation.map(|validation| validation.accuracy)
    }
}

/// A model on the validation items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Its loss.
    #[serde(rename = "val_loss")]
    pub loss: f32,
    /// Its accuracy, per cent.
    #[serde(rename = "val_accuracy")]
    pub accuracy: f64,
}

impl Validation {
    /// The higher accuracy, of equals the lower loss.
    fn is_better_than(&self, other: &Self) -> bool {
        (self.accuracy, -self.loss) > (other.accuracy, -other.loss)
    }
}

/// The result of one training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trained {
    /// One entry per epoch done.
    pub curve: Vec<Epoch>,
    /// The epoch whose weights the network now has, from 1.
    pub kept_epoch: usize,
    /// Median milliseconds of an epoch's training: forward, backward, update, and making its
    /// batches.
    pub epoch_ms: f64,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

/// What the loop tells and asks while it runs.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called after every epoch.
    pub on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync),
    /// Set to end after the current epoch, keeping what is done.
    pub stop: &'a AtomicBool,
    /// Where trainings are written down as they go, to go on from when they are cut off.
    pub journal: Option<&'a Journal>,
}

impl Watch<'static> {
    /// Tells nobody and is never stopped.
    pub fn quiet() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            on_epoch: &|_, _| (),
            stop: &NEVER,
            journal: None,
        }
    }
}

impl<'a> Watch<'a> {
    /// Tells nobody and stops when the flag is set.
    pub fn stopped_by(stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch: &|_, _| (),
            stop,
            journal: None,
        }
    }

    /// Tells of every epoch and stops when the flag is set.
    pub fn new(on_epoch: &'a (dyn Fn(usize, &Epoch) + Sync), stop: &'a AtomicBool) -> Self {
        Self {
            on_epoch,
            stop,
            journal: None,
        }
    }

    /// The same, written down in a journal where there is one.
    pub fn with_journal(self, journal: Option<&'a Journal>) -> Self {
        Self { journal, ..self }
    }

    /// The same without telling.
    pub fn silent(&self) -> Self {
        Self {
            on_epoch: &|_, _| (),
            ..*self
        }
    }

    /// Whether somebody asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Default for Watch<'static> {
    fn default() -> Self {
        Self::quiet()
    }
}

/// The items of a split with their classes, as the loss wants them.
#[derive(Debug, Clone)]
pub struct Targets {
    /// Item ids.
    pub items: Arc<Vec<u32>>,
    /// Their classes.
    pub classes: Arc<Vec<u32>>,
    /// What an item counts, by its class; all the same where there is nothing.
    pub weights: Option<Arc<Vec<f32>>>,
}

impl Targets {
    /// The labelled ones among `items`.
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

    /// The same, each item counting what its class does.
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

    /// What all items count together: their number where each counts the same.
    pub fn total_weight(&self) -> f64 {
        self.classes.iter().map(|&class| self.weight(class)).sum()
    }

    /// The mean cross-entropy of the items, by what they count.
    pub fn cross_entropy(&self, scores: &Tensor) -> gnarl_tensor::Result<Tensor> {
        match &self.weights {
            None => masked_cross_entropy(scores, &self.items, &self.classes),
            Some(weights) => {
                class_weighted_cross_entropy(scores, &self.items, &self.classes, weights)
            }
        }
    }

    /// Per cent of items, by what they count, whose largest score is their class; of equal scores
    /// the first class counts.
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

/// The position of the largest value, the first of equals.
pub fn argmax(scores: &[f32]) -> usize {
    scores
        .iter()
        .enumerate()
        .fold(0, |best, (i, s)| if *s > scores[best] { i } else { best })
}

/// What an epoch is trained on, where it is not what is validated on.
#[derive(Default)]
pub struct Scene {
    /// What messages travel by; `None` for what they always travel by.
    pub propagation: Option<Propagation>,
    /// Whether that has edges which are not there otherwise, so that nodes hear others than they
    /// always do.
    pub new_edges: bool,
    /// The nodes' features; `None` for those they always have.
    pub input: Option<Input>,
}

/// Makes the scene of an epoch, counted from 1.
pub type Anew<'a> = &'a (dyn Fn(usize) -> Result<Scene> + Sync);

/// What a network is trained on.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// What messages travel by.
    pub propagation: &'a Propagation,
    /// The nodes' features.
    pub input: &'a Input,
    /// The nodes' classes.
    pub labels: &'a Labels,
    /// Which nodes train and validate.
    pub split: &'a Split,
    /// Where every epoch of training has a graph of its own: which. Validation is on the graph as
    /// it is.
    pub anew: Option<Anew<'a>>,
    /// Where the vectors that training nodes' classes are read off are mixed with one another in
    /// every epoch: how.
    pub mixing: Option<Mixer<'a>>,
}

impl<'a> Problem<'a> {
    /// A problem whose messages travel alike in every epoch.
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

    /// The labelled training and validation items; a split without the former is refused.
    pub fn targets(&self) -> Result<[Targets; 2]> {
        let [train_on, validate_on] =
            [self.split.train(), self.split.val()].map(|items| Targets::new(items, self.labels));
        if train_on.items.is_empty() {
            let what = format!("split {} has no labelled training items", self.split.name());
            return Err(Error::argument("training", what));
        }
        Ok([train_on, validate_on])
    }
}

/// What the loop can train: a network, a stage of one whose earlier layers are frozen, a network
/// with several exits.
pub trait Model {
    /// Its parameters.
    fn params(&self) -> &Params;

    /// Which of them are trained, by position; the others are never touched.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// How many rounds away a node can be and still matter to a node's scores; `None` where every
    /// node may.
    fn reach(&self) -> Option<usize>;

    /// Class scores before the softmax, one matrix for each place where it answers. Of a restricted
    /// problem ([`Propagation::rounds`]) at least the rows of the targets, which come first.
    fn scores(
        &self,
        propagation: &Propagation,
        x: &Input,
        pass: &Pass<'_>,
    ) -> gnarl_tensor::Result<Vec<Tensor>>;

    /// Chooses what depends on the data before the first step: it is shown the training items.
    fn start(&self, _propagation: &Propagation, _x: &Input) -> gnarl_tensor::Result<()> {
        Ok(())
    }

    /// What training minimises: the cross-entropy, summed over the answers.
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

/// What the loop walks through: a model on its training items, in one step an epoch or in several.
pub trait Course {
    /// The model's parameters.
    fn params(&self) -> &Params;

    /// Which of them are trained, by position; the others are never touched.
    fn trained(&self) -> Range<usize> {
        0..self.params().list().len()
    }

    /// Makes an epoch ready, counted from 1, and gives its number of steps. The first step asked
    /// for is `from`, which is 0 but where a training goes on that was cut off.
    fn begin(&mut self, epoch: usize, from: usize) -> Result<usize>;

    /// The loss of a step of this epoch, from 0, and its gradients.
    fn descend(&self, step: usize, pass: &Pass<'_>) -> Result<(f32, GradStore)>;

    /// Whether there are validation items.
    fn has_validation(&self) -> bool;

    /// The model as it is on the validation items; asked only where there are some.
    fn validate(&self) -> Result<Validation>;
}

/// Trains `model` on the training items, choosing weights on the validation items. `seed` fixes
/// every random draw.
pub fn train(
    model: &impl Model,
    problem: &Problem<'_>,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Trained> {
    let Problem {
        propagation, input, ..
    } = *problem;
    let targets = problem.targets()?;
    let weights = config
        .class_weights
        .of(&targets[0].classes, problem.labels.num_classes())?;
    let [targets, validate_on] = targets.map(|targets| targets.weighing(&weights));
    let validate_on = Field::new(propagation, input, &validate_on, model.reach())?;
    let reach = Reach::new(propagation, input, &targets, model.reach());
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
    follow(
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

/// All training nodes of one graph in every step.
struct WholeGraph<'a, M> {
    model: &'a M,
    train_on: Field,
    validate_on: Field,
    anew: Option<Drawn<'a>>,
    mixer: Option<Mixer<'a>>,
    /// How the epoch's items are mixed, where they are.
    mixing: Option<Mixing>,
}

/// Where every epoch has a graph of its own. Without edges that the whole one has not, its nodes
/// stay those of the whole graph's field, so that inputs are cut, and turned about for their
/// gradients, once.
struct Drawn<'a> {
    make: Anew<'a>,
    targets: Targets,
    reach: Reach,
    /// What an epoch has that has nothing of its own: the whole message passing, the whole graph's
    /// inputs, and the field's.
    whole: (&'a Propagation, &'a Input),
    input: Input,
}

impl Drawn<'_> {
    fn field(&self, epoch: usize, hops: Option<usize>) -> Result<Field> {
        let Scene {
            propagation,
            new_edges,
            input,
        } = (self.make)(epoch)?;
        let propagation = propagation.as_ref().unwrap_or(self.whole.0);
        if new_edges {
            return Ok(Field::new(
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

impl<M: Model> Course for WholeGraph<'_, M> {
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
        // Whoever holds the scores holds all they were computed from.
        drop(scores);
        gradients(loss, pass)
    }

    fn has_validation(&self) -> bool {
        !self.validate_on.targets.items.is_empty()
    }

    /// With several answers, the sum of the losses and the mean accuracy.
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

/// How long an epoch goes on when a stop was asked for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The loop itself: steps, best-validation weights, early stopping. `seed` fixes every random draw
/// of the passes. A training that the journal knows goes on where it was, or is done.
pub fn follow(
    course: &mut impl Course,
    config: &TrainConfig,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Trained> {
    config.check()?;
    if config.patience.is_some() && !course.has_validation() {
        let what = "patience needs validation items, and there are none: leave it out to train for every epoch";
        return Err(Error::argument("training", what));
    }
    let positions = course.trained();
    let mut adam = Adam::new(AdamSettings::default());
    for p in &course.params().list()[positions.clone()] {
        if p.group != Group::Statistic {
            adam.add(&p.var, config.rate(p.group), config.weight_decay);
        }
    }

    // What begins after a stop may follow from a training that did not come to its end, as a head
    // does from a network: nothing of it is written down.
    let journal = watch.journal.filter(|_| !watch.stopped());
    let entry = journal
        .map(|journal| journal.entry(course.params(), config, seed))
        .transpose()?;
    let found = entry
        .as_ref()
        .map(|entry| entry.read(&course.params().list()[positions.clone()], &mut adam))
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
        let steps = course.begin(epoch, state.step)?;
        let params = course.params();
        let trained = &params.list()[positions.clone()];
        while state.step < steps {
            state.steps_done += 1;
            let weights = params.weights_training(&positions)?;
            let pass = Pass::training(&weights, mix(seed ^ mix(state.steps_done)));
            let (loss, grads) = match course.descend(state.step, &pass) {
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
            // Short epochs are finished; of long ones nobody should have to wait for the end.
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

        let validation = if course.has_validation() {
            Some(course.validate()?)
        } else {
            None
        };
        if is_worth_keeping(config.keep, &state.kept, validation) {
            state.kept = Some(Kept {
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
            restore(&course.params().list()[positions], &kept.snapshot)?;
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

/// The weights that training would end with if it ended now.
#[derive(Debug)]
struct Kept {
    epoch: usize,
    validation: Option<Validation>,
    snapshot: Vec<Tensor>,
}

/// Whether the weights just validated replace those kept: never where the validation loss is out of
/// range.
fn is_worth_keeping(keep: Keep, kept: &Option<Kept>, now: Option<Validation>) -> bool {
    let Some(now) = now else { return true };
    let is_better = match (kept, keep) {
        (None, _) | (_, Keep::Last) => true,
        (Some(kept), Keep::BestValidation) => {
            kept.validation.is_none_or(|kept| now.is_better_than(&kept))
        }
    };
    is_better && now.loss.is_finite()
}

/// A loss with the penalties that its pass noted, and its gradients.
pub fn gradients(loss: Tensor, pass: &Pass<'_>) -> Result<(f32, GradStore)> {
    let loss = pass
        .take_penalties()
        .iter()
        .try_fold(loss, |sum, penalty| sum + penalty)?;
    Ok((loss.to_scalar::<f32>()?, loss.into_gradients()?))
}

/// A copy of every value.
fn snapshot(trained: &[Param]) -> gnarl_tensor::Result<Vec<Tensor>> {
    trained.iter().map(|p| p.var.as_tensor().copy()).collect()
}

/// Puts a snapshot back.
fn restore(trained: &[Param], snapshot: &[Tensor]) -> gnarl_tensor::Result<()> {
    trained
        .iter()
        .zip(snapshot)
        .try_for_each(|(p, value)| p.var.set(value))
}

/// Class scores without dropout, detached from any gradient.
pub fn predict(network: &Network, propagation: &Propagation, input: &Input) -> Result<Tensor> {
    let weights = network.params().weights()?.detached();
    Ok(network.forward(propagation, input, &Pass::evaluation(&weights))?)
}

/// The middle value; zero for none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::init::Init;

    /// One weight that starts at zero and moves by about the learning rate in every epoch;
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

    impl Course for Walk {
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
        follow(walk, &config, 1, &Watch::quiet()).unwrap()
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
        let e = follow(&mut Walk::new(&[]), &config, 1, &Watch::quiet())
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
        let watch = Watch {
            stop: &stop,
            ..Watch::quiet()
        };
        let trained = follow(&mut Walk::new(&[]), &TrainConfig::default(), 1, &watch).unwrap();
        assert_eq!((trained.curve.len(), trained.interrupted), (1, true));
    }
}
