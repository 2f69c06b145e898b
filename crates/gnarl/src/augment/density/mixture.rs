//! Gaussian mixtures with full covariances, fitted by expectation maximisation (Dempster et al. 1977,
//! [doi:10.1111/j.2517-6161.1977.tb01600.x](https://doi.org/10.1111/j.2517-6161.1977.tb01600.x)): the
//! density of GRATIN.

use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Result};
use serde::{Deserialize, Serialize};

use super::{Components, Estimator, FittedDensity};

/// Fits a Gaussian mixture to each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(
    name = "mixture",
    about = "Gaussian mixture by expectation maximisation",
    constant
)]
pub struct Mixture {
    /// Number of components, or auto for the best one by BIC.
    #[setting(default = Components::Auto)]
    pub components: Components,
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
