//! The control of every augmentation in latent space (GRATIN, Abbahaddou et al. 2025,
//! [arXiv:2411.08638](https://arxiv.org/abs/2411.08638)): a fresh head is trained on the original
//! latent vectors, for as many steps as with the augmentation.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::{Augmentation, FreshHead, Samples};

/// Trains a fresh head on the original latent vectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "retrain",
    about = "trains a fresh head on the original latent vectors: the control of gratin",
    constant
)]
pub struct Retrain {
    /// Number of latent vectors of each class to add: repeated by retrain, sampled by gratin.
    #[setting(default = Samples::AsMany, flag = "augment-samples", was = "draws")]
    pub samples: Samples,
    /// Number of training epochs of the fresh head.
    #[setting(default = HEAD_EPOCHS, range = 1..)]
    pub head_epochs: usize,
}

/// Number of training epochs of a fresh head, as in the paper.
pub(super) const HEAD_EPOCHS: usize = 100;

impl Augmentation for Retrain {
    fn fresh_head(&self) -> Option<FreshHead> {
        Some(FreshHead {
            epochs: self.head_epochs,
            samples: self.samples,
            sampled: None,
        })
    }
}
