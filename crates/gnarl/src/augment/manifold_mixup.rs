//! Manifold-Mixup (Wang et al. 2021; thesis ch. 7, baselines): in every training step the items'
//! latent vectors are mixed with those of other items of the step, graphs of a batch or training
//! nodes of one graph, and their labels in the same proportion.
//!
//! `h̃_i = λ h_i + (1 - λ) h_π(i)` with one `λ ~ Beta(α, α)` and one random order π a step. With α
//! = 1 every λ is as likely.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Result};
use rand::seq::SliceRandom;
use rand_distr::{Beta, Distribution};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use crate::train::Mixing;

/// Latent vectors mixed while training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ManifoldMixup {
    /// α of the Beta distribution that λ is drawn from, above 0.
    pub strength: f64,
}

impl Default for ManifoldMixup {
    fn default() -> Self {
        Self { strength: 1.0 }
    }
}

impl Choice for ManifoldMixup {
    const NAME: &'static str = "manifold-mixup";
    const ABOUT: &'static str = "latent vectors mixed in every step of training";
    const SETTINGS: &'static [Setting] = &[Setting::new(
        "strength",
        "X",
        "alpha of the Beta distribution that shares are drawn from [default: 1]",
    )];

    fn check(&self) -> Result<()> {
        self.shares().map(|_| ())
    }
}

impl Augmentation for ManifoldMixup {
    fn mixup(&self) -> Option<ManifoldMixup> {
        Some(*self)
    }
}

impl ManifoldMixup {
    fn shares(&self) -> Result<Beta<f64>> {
        match Beta::new(self.strength, self.strength) {
            Ok(shares) if self.strength.is_finite() => Ok(shares),
            _ => Err(Error::argument(
                "manifold-mixup",
                format!("a strength of {}; it must be above 0", self.strength),
            )),
        }
    }

    /// Draws for a step of `count` items.
    pub fn draw(&self, count: usize, rng: &mut Rng) -> Result<Mixing> {
        let shares = self.shares()?;
        let mut partners: Vec<u32> = (0..count as u32).collect();
        partners.shuffle(rng);
        Ok(Mixing {
            partners,
            kept: shares.sample(rng),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    #[test]
    fn shares_are_beta_and_partners_an_order() {
        for (alpha, variance) in [(1.0, 1.0 / 12.0), (0.2, 1.0 / 5.6), (4.0, 1.0 / 36.0)] {
            let mixup = ManifoldMixup { strength: alpha };
            let draws: Vec<Mixing> = (0..4000)
                .map(|i| mixup.draw(5, &mut stream(i, "mixup test", 0)).unwrap())
                .collect();
            let mean = draws.iter().map(|d| d.kept).sum::<f64>() / 4000.0;
            let spread = draws.iter().map(|d| (d.kept - 0.5).powi(2)).sum::<f64>() / 4000.0;
            // A Beta(α, α) has mean 1/2 and variance 1 / (4 (2α + 1)); five standard errors of the
            // mean.
            assert!(
                (mean - 0.5).abs() < 5.0 * f64::sqrt(variance / 4000.0),
                "{alpha}: {mean}"
            );
            assert!(
                (spread / variance - 1.0).abs() < 0.1,
                "{alpha}: {spread}, not {variance}"
            );
            let mut partners = draws[0].partners.clone();
            partners.sort_unstable();
            assert_eq!(partners, [0, 1, 2, 3, 4]);
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let e = ManifoldMixup { strength: bad }
                .check()
                .unwrap_err()
                .to_string();
            assert_eq!(
                e,
                format!("manifold-mixup: a strength of {bad}; it must be above 0")
            );
        }
    }
}
