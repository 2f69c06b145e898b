//! One forward pass.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::{Crf, Inference, Method, PerturbationTarget, Prior, SamplingRegion};

/// Predicts by one forward pass: the softmax of the model's scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "plain", about = "one forward pass")]
pub struct Plain {}

impl Method for Plain {
    fn on(&self, _: PerturbationTarget) -> Inference {
        (*self).into()
    }

    fn update(&self) -> Option<Crf> {
        None
    }

    fn sampling_region<'a>(&self, _: Option<&'a Prior>) -> Option<SamplingRegion<'a>> {
        None
    }
}
