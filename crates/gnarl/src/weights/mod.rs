//! The weights axis: how far a layer can stretch its input (thesis ch. 5, "Enhancing the Robustness of Graph Convolutional
//! Networks").
//!
//! | file | what |
//! | --- | --- |
//! | `orthonormal` | every convolution's matrix replaced by a matrix with orthonormal columns or rows (GCORN, GIORN) |
//! | `parseval` | a step towards orthonormal matrices after every update (Cissé et al. 2017) |
//!
//! A choice of this axis works on the matrices of linear maps between representations ([`Group::Weight`](crate::nn::Group)),
//! once per step, whatever the backbone and the operator. To add one: a file here, an entry in [`WeightsChoice`].

mod orthonormal;
mod parseval;

use std::fmt;

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

pub use orthonormal::{Orthonormal, Scaling, departure, orthonormal};
pub use parseval::Parseval;

/// What is asked of a network's weights.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightsChoice {
    /// Nothing.
    #[default]
    Free,
    /// A forward pass sees their orthonormal projection.
    Orthonormal(Orthonormal),
    /// Every update is followed by a step towards orthonormal ones.
    Parseval(Parseval),
}

impl WeightsChoice {
    /// Whether nothing is asked.
    pub fn is_free(&self) -> bool {
        *self == WeightsChoice::Free
    }

    /// Refuses settings that mean nothing, naming the range.
    pub fn check(&self) -> gnarl_graph::Result<()> {
        match self {
            WeightsChoice::Free => Ok(()),
            WeightsChoice::Orthonormal(settings) => settings.check(),
            WeightsChoice::Parseval(settings) => settings.check(),
        }
    }

    /// What a forward pass sees of a weight.
    pub(crate) fn seen(&self, weight: &Tensor) -> Result<Tensor> {
        match self {
            WeightsChoice::Orthonormal(settings) => orthonormal(weight, *settings),
            WeightsChoice::Free | WeightsChoice::Parseval(_) => Ok(weight.clone()),
        }
    }

    /// The value a weight gets after an update; `None` where it keeps the one it has.
    pub(crate) fn after_update(&self, weight: &Tensor) -> Result<Option<Tensor>> {
        match self {
            WeightsChoice::Parseval(settings) => settings.step(weight).map(Some),
            WeightsChoice::Free | WeightsChoice::Orthonormal(_) => Ok(None),
        }
    }
}

impl fmt::Display for WeightsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WeightsChoice::Free => "free",
            WeightsChoice::Orthonormal(_) => "orthonormal",
            WeightsChoice::Parseval(_) => "parseval",
        })
    }
}
