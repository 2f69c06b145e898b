//! The control of every augmentation in latent space: the training set as it is, then a fresh head
//! on its vectors, for as many steps as the augmentation has.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Augmentation, Draws, FreshHead};

/// A fresh head on the original vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Retrain {
    /// How many vectors of each class are repeated beside the original ones.
    pub draws: Draws,
    /// Epochs of the head.
    pub head_epochs: usize,
}

/// Epochs of a fresh head, thesis ch. 7.
pub(super) const HEAD_EPOCHS: usize = 100;

pub(super) const DRAWS: Setting = Setting::new(
    "draws",
    "HOW",
    "how many vectors of each class stand beside the original ones, repeated or drawn: as-many (as there are; retrain repeats none) or level (up to twice the items of the largest class) [default: as-many]",
);
pub(super) const EPOCHS: Setting = Setting::new(
    "head-epochs",
    "N",
    "epochs of the fresh head [default: 100]",
);

pub(super) fn check_epochs(epochs: usize) -> Result<()> {
    if epochs > 0 {
        Ok(())
    } else {
        Err(Error::argument(
            "head-epochs",
            "0 epochs; at least 1 is needed",
        ))
    }
}

impl Retrain {
    /// The thesis' setting.
    pub const fn new() -> Self {
        Self {
            draws: Draws::AsMany,
            head_epochs: HEAD_EPOCHS,
        }
    }
}

impl Default for Retrain {
    fn default() -> Self {
        Self::new()
    }
}

impl Choice for Retrain {
    const NAME: &'static str = "retrain";
    const ABOUT: &'static str =
        "the training set as it is, then a fresh head: the control of gratin";
    const SETTINGS: &'static [Setting] = &[DRAWS, EPOCHS];

    fn check(&self) -> Result<()> {
        check_epochs(self.head_epochs)
    }
}

impl Augmentation for Retrain {
    fn fresh_head(&self) -> Option<FreshHead> {
        Some(FreshHead {
            epochs: self.head_epochs,
            draws: self.draws,
            drawn: None,
        })
    }
}
