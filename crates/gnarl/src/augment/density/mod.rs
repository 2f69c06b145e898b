//! Densities of latent vectors (thesis ch. 7, "GRATIN", and the ablation's other ways to estimate one).
//!
//! | file | what |
//! | --- | --- |
//! | [`mixture`] | Gaussian mixtures with full covariances, by EM |
//!
//! Each is fitted to points and then a [`Density`]: it draws, says how likely a point is, and tells how the fit went.

pub mod mixture;

use gnarl_graph::random::Rng;
use serde::Serialize;

pub use mixture::{Mixture, MixtureSettings};

/// A probability density over vectors, fitted to some.
pub trait Density: std::fmt::Debug + Send + Sync {
    /// Numbers in a vector.
    fn dim(&self) -> usize;

    /// A vector drawn from it.
    fn sample(&self, rng: &mut Rng) -> Vec<f64>;

    /// The logarithm of the density at a vector of `dim` numbers.
    fn log_density(&self, x: &[f64]) -> f64;

    /// How the fit went.
    fn report(&self) -> &FitReport;
}

/// How a fit went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// Points fitted to.
    pub points: usize,
    /// Components, where there are any: no more than points.
    pub components: usize,
    /// Numbers that were fitted.
    pub parameters: usize,
    /// Mean log-likelihood of a point after each iteration.
    pub curve: Vec<f64>,
    /// Whether the last gain was below the tolerance.
    pub converged: bool,
}

impl FitReport {
    /// Mean log-likelihood of a point, as the last iteration had it.
    pub fn log_likelihood(&self) -> f64 {
        self.curve.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// Schwarz' criterion, `parameters · ln(points) - 2 · log-likelihood of all points`: the lower the better.
    pub fn bic(&self) -> f64 {
        self.parameters as f64 * (self.points as f64).ln() - 2.0 * self.points as f64 * self.log_likelihood()
    }
}
