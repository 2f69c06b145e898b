//! Training settings.

use std::fmt;
use std::str::FromStr;

use gnarl_graph::sample::Fanout;
use gnarl_graph::settings::{Kind, Settings, Value};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Serialize};

use super::ClassWeights;
use crate::networks::Group;

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
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
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
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
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
            Some(schedule) => schedule.check(),
            None => Ok(()),
        }
    }
}

impl StepSchedule {
    fn check(&self) -> Result<()> {
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
