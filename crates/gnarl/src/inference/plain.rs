//! One forward pass.

use gnarl_graph::names::Choice;
use serde::{Deserialize, Serialize};

use super::{Around, Crf, Inference, Method, Perturbed, Prior};

/// One forward pass: the softmax of the model's scores.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Plain {}

impl Choice for Plain {
    const NAME: &'static str = "plain";
    const ABOUT: &'static str = "one forward pass";
}

impl Method for Plain {
    fn on(&self, _: Perturbed) -> Inference {
        (*self).into()
    }

    fn update(&self) -> Option<Crf> {
        None
    }

    fn around<'a>(&self, _: Option<&'a Prior>) -> Option<Around<'a>> {
        None
    }
}
