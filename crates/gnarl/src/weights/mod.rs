//! The weights axis: how far a layer can stretch its input (thesis ch. 5, "Enhancing the Robustness
//! of Graph Convolutional Networks").
//!
//! | file | what |
//! | --- | --- |
//! | `orthonormal` | every convolution's matrix replaced by a matrix with orthonormal columns or rows (GCORN, GIORN) |
//! | `parseval` | a step towards orthonormal matrices after every update (Cissé et al. 2017) |
//!
//! A choice of this axis works on the matrices of linear maps between representations
//! ([`Group::Weight`](crate::nn::Group)), once per step, whatever the backbone and the operator. To
//! add one: a file here, a line in [`WeightsChoice`].

mod orthonormal;
mod parseval;

use gnarl_graph::names::Choice;
use serde::{Deserialize, Serialize};

use crate::tensor::{Result, Tensor};

pub(crate) use orthonormal::Bjorck;
pub use orthonormal::{Orthonormal, Scaling, departure, orthonormal};
pub use parseval::Parseval;

gnarl_graph::choices! {
    /// What is asked of a network's weights.
    pub enum WeightsChoice: dyn Constraint as "kind of weights" {
        Free(Free),
        Orthonormal(Orthonormal),
        Parseval(Parseval),
    }
}

/// What a choice of this axis does to a matrix.
pub trait Constraint {
    /// What a forward pass sees of a weight.
    fn seen(&self, weight: &Tensor) -> Result<Tensor> {
        Ok(weight.clone())
    }

    /// The value a weight gets after an update; `None` where it keeps the one it has.
    fn after_update(&self, _weight: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// The usual decay of weights behind a factor on scores, which takes their scale out of their
    /// hands: it may be much larger than elsewhere (docs/weights.md).
    fn decay(&self) -> f64 {
        0.05
    }
}

/// Nothing is asked.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Free {}

impl Choice for Free {
    const NAME: &'static str = "free";
    const ABOUT: &'static str = "nothing is asked of them";
}

impl Constraint for Free {}

impl Default for WeightsChoice {
    fn default() -> Self {
        Self::FREE
    }
}

impl WeightsChoice {
    /// Nothing is asked.
    pub const FREE: Self = WeightsChoice::Free(Free {});

    /// Whether nothing is asked.
    pub fn is_free(&self) -> bool {
        matches!(self, WeightsChoice::Free(_))
    }

    /// What a forward pass sees of a weight.
    pub(crate) fn seen(&self, weight: &Tensor) -> Result<Tensor> {
        self.method().seen(weight)
    }

    /// The value a weight gets after an update; `None` where it keeps the one it has.
    pub(crate) fn after_update(&self, weight: &Tensor) -> Result<Option<Tensor>> {
        self.method().after_update(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound() {
        gnarl_graph::names::assert_listed(
            WeightsChoice::LIST,
            WeightsChoice::all().map(|choice| choice.stored()),
        );
    }
}
