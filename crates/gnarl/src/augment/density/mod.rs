//! Densities of latent vectors for GRATIN, and the ones that its ablation compares
//! ([arXiv:2411.08638](https://arxiv.org/abs/2411.08638)).
//!
//! | file | contents |
//! | --- | --- |
//! | [`mixture`], [`variational`], [`shrunken`], [`shared`], [`kernel`], [`copula`], [`gan`] | the choices of [`Density`], one file each |
//! | [`gaussian_mixture`], [`components`] | Gaussian mixtures by expectation maximisation; their number of components |
//! | [`gaussian`] | the mean and the shrunken covariance of one Gaussian |
//! | `special` | special functions |
//!
//! A density is fitted to points and is then a [`FittedDensity`]: it samples, evaluates the density
//! where it has one, and reports the fit. To add a density: one file that implements [`Estimator`],
//! one line in [`Density`].

#[doc(hidden)]
pub mod components;
#[doc(hidden)]
pub mod copula;
#[doc(hidden)]
pub mod gan;
#[doc(hidden)]
pub mod gaussian;
#[doc(hidden)]
pub mod gaussian_mixture;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod mixture;
#[doc(hidden)]
pub mod shared;
#[doc(hidden)]
pub mod shrunken;
mod special;
#[doc(hidden)]
pub mod variational;

use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Result};
use serde::Serialize;

pub use components::Components;
pub use copula::Copula;
pub use gan::Gan;
pub use gaussian_mixture::{GaussianMixture, MixtureSettings};
pub use kernel::Kernel;
pub use mixture::Mixture;
pub use shared::Shared;
pub use shrunken::Shrunken;
pub use variational::Variational;

gnarl_graph::choices! {
    /// The density that is fitted to the vectors of a class.
    #[non_exhaustive]
    pub enum Density: dyn Estimator as "density" {
        Mixture(mixture::Mixture),
        Variational(variational::Variational),
        Shrunken(shrunken::Shrunken),
        Shared(shared::Shared),
        Kernel(kernel::Kernel),
        Copula(copula::Copula),
        Gan(gan::Gan),
    }
}

/// A way to fit a density.
pub trait Estimator {
    /// Fits a density to the points of a class. `deviations` are the points of all classes minus
    /// the means of their classes.
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        deviations: &DenseMatrix<f64>,
        seed: u64,
    ) -> Result<Box<dyn FittedDensity>>;
}

impl Density {
    /// Returns true for a density with a number of components.
    pub fn takes_components(self) -> bool {
        matches!(self, Density::Mixture(_) | Density::Variational(_))
    }

    /// Returns the density with another number of components, if it has components.
    #[must_use]
    pub fn with_components(self, components: Components) -> Self {
        match self {
            Density::Mixture(_) => Mixture { components }.into(),
            Density::Variational(_) => Variational { components }.into(),
            other => other,
        }
    }
}

/// A probability density over vectors, fitted to some.
pub trait FittedDensity: std::fmt::Debug + Send + Sync {
    /// Returns the number of coordinates of a vector.
    fn dim(&self) -> usize;

    /// Samples a vector.
    fn sample(&self, rng: &mut Rng) -> Vec<f64>;

    /// Returns the logarithm of the density at a vector of `dim` numbers; `None` if the density can
    /// only be sampled.
    fn log_density(&self, x: &[f64]) -> Option<f64>;

    /// Returns the report of the fit.
    fn report(&self) -> &FitReport;
}

/// Report of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FitReport {
    /// Number of points that were fitted to.
    pub points: usize,
    /// Number of components; zero without components, and at most the number of points.
    pub components: usize,
    /// Number of fitted parameters.
    pub parameters: usize,
    /// Objective after each iteration: the mean log-likelihood of a point, the lower bound for all
    /// points in variational Bayes, or minus the critic's loss for a generator.
    pub curve: Vec<f64>,
    /// True if the last gain was below the tolerance.
    pub converged: bool,
    /// Warning, if the samples are all alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl FitReport {
    /// Returns the mean log-likelihood of a point at the last iteration.
    pub fn log_likelihood(&self) -> f64 {
        self.curve.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// Returns the BIC, `parameters · ln(points) - 2 · log-likelihood of all points`: lower is
    /// better.
    pub fn bic(&self) -> f64 {
        self.parameters as f64 * (self.points as f64).ln()
            - 2.0 * self.points as f64 * self.log_likelihood()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_says_what_is_stored() {
        gnarl_graph::settings::assert_listed(
            Density::LIST,
            Density::all().map(|density| density.stored()),
        );
        let ten = "mixture"
            .parse::<Density>()
            .unwrap()
            .with(&[("components".into(), "10".into())])
            .unwrap();
        assert_eq!(
            ten,
            Density::Mixture(Mixture {
                components: Components::Fixed(10)
            })
        );
        let text = serde_json::to_string(&ten).unwrap();
        assert_eq!(text, r#"{"kind":"mixture","components":"10"}"#);
        assert_eq!(serde_json::from_str::<Density>(&text).unwrap(), ten);
        let e = "mixtur".parse::<Density>().unwrap_err().to_string();
        assert!(
            e.contains("unknown density 'mixtur'; did you mean mixture"),
            "{e}"
        );
        let e = Density::from(Shared {})
            .with(&[("components".into(), "3".into())])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "components: belongs to mixture and variational, and the density is shared"
        );
        let e = ten
            .with(&[("components".into(), "0".into())])
            .unwrap_err()
            .to_string();
        assert!(e.contains("neither a number of at least 1 nor auto"), "{e}");
    }
}
