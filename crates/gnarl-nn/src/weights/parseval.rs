//! Parseval regularisation (Cissé et al. 2017,
//! [arXiv:1704.08847](https://arxiv.org/abs/1704.08847)): after every update, `W ← (1 + β) W - β W WᵀW`, a
//! gradient step on `|WᵀW - I|²`. The rows of a wide matrix and the columns of a tall one become
//! orthonormal.

use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::Constraint;
use gnarl_tensor::{Result, Tensor};

/// Takes a step towards orthonormal weights after every update.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(
    name = "parseval",
    about = "a step towards orthonormal weights after every update"
)]
pub struct Parseval {
    /// Size of the step towards orthonormal weights after every update.
    // The default holds the weights of a network of 16 units near orthonormal at learning rate 0.01.
    // From a norm of one, a step of one half would overshoot.
    #[setting(default = 0.01, above = 0.0, below = 0.5, flag = "parseval-beta")]
    pub beta: f64,
}

impl Constraint for Parseval {
    /// A larger decay would work against the steps, which keep the size of the weights.
    fn decay(&self) -> f64 {
        0.02
    }

    fn after_update(&self, weight: &Tensor) -> Result<Option<Tensor>> {
        self.step(weight).map(Some)
    }
}

impl Parseval {
    pub(super) fn step(&self, weight: &Tensor) -> Result<Tensor> {
        let weight = weight.detach();
        let (rows, cols) = weight.dims2()?;
        let transposed = weight.t()?;
        let cubed = if rows >= cols {
            weight.matmul(&transposed.matmul(&weight)?)?
        } else {
            weight.matmul(&transposed)?.matmul(&weight)?
        };
        (&weight * (1.0 + self.beta))? - (cubed * self.beta)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::departure;
    use gnarl_tensor::testing::random;

    #[test]
    fn steps_lead_to_orthonormal_matrices() {
        for shape in [[20, 4], [4, 20], [6, 6]] {
            let mut weight = (random(&shape, 1) * 0.2).unwrap();
            let start = departure(&weight).unwrap();
            let settings = Parseval { beta: 0.1 };
            for _ in 0..400 {
                weight = settings.step(&weight).unwrap();
            }
            let end = departure(&weight).unwrap();
            assert!(start > 0.5 && end < 1e-3, "{shape:?}: {start} → {end}");
        }
        let e = Parseval { beta: f64::NAN }
            .check_ranges()
            .unwrap_err()
            .to_string();
        assert_eq!(e, "parseval-beta must be in (0, 0.5) (got NaN)");
    }
}
