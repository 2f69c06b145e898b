//! Weights axis: constraints on the Lipschitz constant of a layer.
//!
//! | file | contents |
//! | --- | --- |
//! | `orthonormal` | weight matrices with orthonormal columns or rows (GCORN, Abbahaddou et al. 2024, [arXiv:2404.17947](https://arxiv.org/abs/2404.17947)) |
//! | `parseval` | a step towards orthonormal matrices after every update (Cissé et al. 2017, [arXiv:1704.08847](https://arxiv.org/abs/1704.08847)) |
//!
//! A constraint applies to the matrices of linear maps between representations
//! ([`Group::Weight`](crate::networks::Group)), once per step, for every backbone and operator. To add one:
//! a file here, a line in [`WeightsChoice`].

mod orthonormal;
mod parseval;

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use gnarl_tensor::{Result, Tensor};

#[doc(hidden)]
pub use orthonormal::Bjorck;
pub use orthonormal::{Orthonormal, Scaling, departure, orthonormal};
pub use parseval::Parseval;

gnarl_graph::choices! {
    /// Constraint on the weights of a network.
    pub enum WeightsChoice: dyn Constraint as "kind of weights" {
        Free(Free),
        Orthonormal(Orthonormal),
        Parseval(Parseval),
    }
}

/// Constraint on weight matrices.
pub trait Constraint {
    /// Computes the weight that a forward pass uses.
    fn parametrize(&self, weight: &Tensor) -> Result<Tensor> {
        Ok(weight.clone())
    }

    /// Computes the value of a weight after an update; `None` if it does not change.
    fn after_update(&self, _weight: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// Returns the default weight decay of networks with a factor on the scores. The factor carries
    /// their scale, so the decay may be much larger than elsewhere (docs/weights.md).
    fn decay(&self) -> f64 {
        0.05
    }
}

/// Leaves the weights unconstrained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "free", about = "unconstrained weights")]
pub struct Free {}

impl Constraint for Free {}

impl Default for WeightsChoice {
    fn default() -> Self {
        Self::FREE
    }
}

impl WeightsChoice {
    /// Unconstrained weights.
    pub const FREE: Self = WeightsChoice::Free(Free {});

    /// Returns true for unconstrained weights.
    pub fn is_unconstrained(&self) -> bool {
        matches!(self, WeightsChoice::Free(_))
    }

    /// The weight that a forward pass uses.
    #[doc(hidden)]
    pub fn parametrize(&self, weight: &Tensor) -> Result<Tensor> {
        self.method().parametrize(weight)
    }

    /// The value of a weight after an update; `None` if it stays as it is.
    #[doc(hidden)]
    pub fn after_update(&self, weight: &Tensor) -> Result<Option<Tensor>> {
        self.method().after_update(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound() {
        gnarl_graph::settings::assert_listed(
            WeightsChoice::LIST,
            WeightsChoice::all().map(|choice| choice.stored()),
        );
    }
}
