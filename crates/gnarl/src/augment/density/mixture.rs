//! The thesis' density: a mixture of Gaussians with full covariances for each class.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::{DenseMatrix, Result};
use serde::{Deserialize, Serialize};

use super::{Components, Estimator, FittedDensity};

/// A Gaussian mixture for each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    /// How many Gaussians.
    pub components: Components,
}

impl Mixture {
    /// As many Gaussians as Schwarz' criterion says.
    pub const fn new() -> Self {
        Self {
            components: Components::Auto,
        }
    }
}

impl Default for Mixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Choice for Mixture {
    const NAME: &'static str = "mixture";
    const ABOUT: &'static str = "a mixture of Gaussians for each class";
    const SETTINGS: &'static [Setting] = &[Setting::new(
        "components",
        "N|auto",
        "Gaussians of a class, or auto for the best by BIC [auto]",
    )];
}

impl Estimator for Mixture {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        seed: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(self.components.fit(points, seed)?))
    }
}
