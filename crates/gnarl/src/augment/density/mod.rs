//! Densities of latent vectors (thesis ch. 7, "GRATIN", and the ablation's other ways to estimate one).
//!
//! | file | what |
//! | --- | --- |
//! | [`mixture`], [`components`] | Gaussian mixtures with full covariances, by EM; how many Gaussians they have |
//! | [`gaussian`] | one Gaussian, its covariance shrunken, of a class alone or shared by all |
//!
//! Each is fitted to points and then a [`Density`]: it draws, says how likely a point is, and tells how the fit went. [`DensityKind`] is the one
//! list of them.

pub mod components;
pub mod gaussian;
pub mod mixture;

use std::fmt;
use std::str::FromStr;

use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Error, Result};
use serde::{Deserialize, Serialize};

pub use components::Components;
pub use mixture::{Mixture, MixtureSettings};

/// Which density is fitted to the vectors of a class. Stored by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DensityKind {
    /// A Gaussian mixture with full covariances.
    Mixture,
    /// One Gaussian with a shrunken covariance.
    Shrunken,
    /// One Gaussian with a shrunken covariance that all classes share.
    Shared,
}

impl DensityKind {
    /// Every choice with its name: the one list that help, parsing and tests come from.
    pub const ALL: [(&'static str, DensityKind); 3] =
        [("mixture", DensityKind::Mixture), ("shrunken", DensityKind::Shrunken), ("shared", DensityKind::Shared)];

    /// What it is, in words.
    pub fn about(self) -> &'static str {
        match self {
            DensityKind::Mixture => "a mixture of Gaussians for each class",
            DensityKind::Shrunken => "one Gaussian a class, shrunken",
            DensityKind::Shared => "one Gaussian a class, their shrunken covariance shared",
        }
    }

    /// Whether somebody says how many components it has.
    pub fn takes_components(self) -> bool {
        self == DensityKind::Mixture
    }

    /// How many components it has, of those that a mixture would have.
    pub fn components(self, of_mixture: Components) -> Components {
        if self.takes_components() { of_mixture } else { Components::Fixed(1) }
    }

    /// Fits one to the points of a class. `deviations` are the points of all classes minus their class' mean; `components` is for mixtures.
    pub fn fit(
        self,
        points: &DenseMatrix<f64>,
        deviations: &DenseMatrix<f64>,
        components: Components,
        seed: u64,
    ) -> Result<Box<dyn Density>> {
        Ok(Box::new(match self {
            DensityKind::Mixture => components.fit(points, seed)?,
            DensityKind::Shrunken => gaussian::shrunken(points)?,
            DensityKind::Shared => gaussian::shared(points, deviations)?,
        }))
    }
}

impl fmt::Display for DensityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::ALL.iter().find(|(_, kind)| kind == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl FromStr for DensityKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let known = || Self::ALL.iter().map(|(known, _)| *known);
        found.map(|(_, kind)| *kind).ok_or_else(|| Error::unknown("density", name, known()))
    }
}

impl TryFrom<String> for DensityKind {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<DensityKind> for String {
    fn from(kind: DensityKind) -> Self {
        kind.to_string()
    }
}

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
