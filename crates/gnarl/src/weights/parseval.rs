//! Parseval regularisation (Cissé et al. 2017): after every update, `W ← (1 + β) W - β W WᵀW`, a
//! gradient step on `|WᵀW - I|²`. Of a wide matrix the rows are drawn together, of a tall one the
//! columns.

use gnarl_graph::names::{Choice, Setting};
use serde::{Deserialize, Serialize};

use super::Constraint;
use crate::tensor::{Result, Tensor};

/// Settings of the step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parseval {
    /// Its length.
    pub beta: f64,
}

impl Default for Parseval {
    /// Long enough to hold the weights of a network of 16 units near orthonormal at learning rate
    /// 0.01.
    fn default() -> Self {
        Self { beta: 0.01 }
    }
}

impl Choice for Parseval {
    const NAME: &'static str = "parseval";
    const ABOUT: &'static str = "every update is followed by a step towards orthonormal ones";
    const SETTINGS: &'static [Setting] = &[Setting::new(
        "beta",
        "BETA",
        "length of the step after every update [default: 0.01]",
    )
    .flag("parseval-beta")];

    /// Refuses steps that go nowhere or too far: from a norm of one, β of one half would overshoot.
    fn check(&self) -> gnarl_graph::Result<()> {
        if self.beta > 0.0 && self.beta < 0.5 {
            return Ok(());
        }
        let what = format!("parseval beta {} must be above 0 and below 0.5", self.beta);
        Err(gnarl_graph::Error::argument("weights", what))
    }
}

impl Constraint for Parseval {
    /// More of it would work against the steps that keep the weights' size.
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
    use crate::tensor::testing::random;
    use crate::weights::departure;

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
        let e = Parseval { beta: f64::NAN }.check().unwrap_err().to_string();
        assert!(e.contains("parseval beta NaN"), "{e}");
    }
}
