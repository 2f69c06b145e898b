//! Mixup of latent vectors (Wang et al. 2021,
//! [doi:10.1145/3442381.3449796](https://doi.org/10.1145/3442381.3449796); Manifold Mixup, Verma et
//! al. 2019, [arXiv:1806.05236](https://arxiv.org/abs/1806.05236)): in every training step the
//! latent vectors of the step's graphs or training nodes are mixed with each other, and their labels
//! with the same weights.
//!
//! `h̃_i = λ h_i + (1 - λ) h_π(i)` with one `λ ~ Beta(α, α)` and one random permutation π for each
//! step. `α = 1` is the uniform distribution.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use gnarl_graph::{Error, Result};
use rand::seq::SliceRandom;
use rand_distr::{Beta, Distribution};
use serde::{Deserialize, Serialize};

use super::Augmentation;
use gnarl_nn::train::Mixing;

/// Mixes latent vectors in every training step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "manifold-mixup",
    about = "mixes latent vectors in every training step",
    constant
)]
pub struct ManifoldMixup {
    /// Parameter α of the Beta distribution of the mixing weight λ.
    #[setting(default = 1.0, above = 0.0, flag = "mixup-alpha", was = "strength")]
    pub alpha: f64,
}

impl Augmentation for ManifoldMixup {
    fn mixup(&self) -> Option<ManifoldMixup> {
        Some(*self)
    }
}

impl ManifoldMixup {
    fn weights(&self) -> Result<Beta<f64>> {
        self.check_ranges()?;
        Beta::new(self.alpha, self.alpha).map_err(|e| Error::argument("mixup-alpha", e.to_string()))
    }

    /// Samples the partners and the weight of a step with `count` nodes or graphs.
    pub fn sample(&self, count: usize, rng: &mut Rng) -> Result<Mixing> {
        let weights = self.weights()?;
        let mut partners: Vec<u32> = (0..count as u32).collect();
        partners.shuffle(rng);
        Ok(Mixing {
            partners,
            kept: weights.sample(rng),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use gnarl_graph::settings::Choice;

    #[test]
    fn shares_are_beta_and_partners_an_order() {
        for (alpha, variance) in [(1.0, 1.0 / 12.0), (0.2, 1.0 / 5.6), (4.0, 1.0 / 36.0)] {
            let mixup = ManifoldMixup { alpha };
            let samples: Vec<Mixing> = (0..4000)
                .map(|i| mixup.sample(5, &mut stream(i, "mixup test", 0)).unwrap())
                .collect();
            let mean = samples.iter().map(|d| d.kept).sum::<f64>() / 4000.0;
            let spread = samples.iter().map(|d| (d.kept - 0.5).powi(2)).sum::<f64>() / 4000.0;
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
            let mut partners = samples[0].partners.clone();
            partners.sort_unstable();
            assert_eq!(partners, [0, 1, 2, 3, 4]);
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let e = ManifoldMixup { alpha: bad }
                .check()
                .unwrap_err()
                .to_string();
            assert_eq!(e, format!("mixup-alpha must be > 0 (got {bad})"));
        }
    }
}
