//! GRATIN (Abbahaddou et al. 2025, [arXiv:2411.08638](https://arxiv.org/abs/2411.08638)): a fresh
//! head is trained on the latent vectors of the training data and on samples of a density. The
//! density is fitted to the latent vectors of each class of training graphs or nodes, by default a
//! Gaussian mixture. Each class gets as many samples as it has vectors, or so many that all classes
//! are of the same size.

use gnarl_graph::random::{mix, stream};
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::density::gaussian::{deviations, mean};
use super::density::{Components, Density, FitReport, Mixture};
use super::retrain::HEAD_EPOCHS;
use super::{Augmentation, FreshHead, InfluenceLayers, Samples};
use gnarl_tensor::simd_dispatch;

/// Samples latent vectors of every class for a fresh head.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "gratin",
    about = "trains a fresh head on latent vectors and on samples of densities fitted to them",
    check = Self::components_fit_the_density,
    constant
)]
pub struct Gratin {
    /// Density of the latent vectors of a class.
    #[setting(default = Density::Mixture(Mixture::DEFAULT))]
    pub density: Density,
    /// Number of components of the mixture of a class, or auto for the best one by BIC.
    #[setting(open = "auto")]
    pub components: Option<Components>,
    /// Number of latent vectors of each class to add: repeated by retrain, sampled by gratin.
    #[setting(default = Samples::AsMany, flag = "augment-samples", was = "draws")]
    pub samples: Samples,
    /// Share of the sampled vectors to keep: those with the largest influence on validation nodes
    /// or graphs.
    #[setting(range = 0.0..=1.0, open = "all, without computing influences")]
    pub select: Option<f64>,
    /// Layers whose parameters influence is computed with: the head exactly, or the whole network
    /// by conjugate gradients.
    #[setting(default = InfluenceLayers::Head, was = "through")]
    pub influence_layers: InfluenceLayers,
    /// Number of training epochs of the fresh head.
    #[setting(default = HEAD_EPOCHS, range = 1..)]
    pub head_epochs: usize,
}

impl Gratin {
    /// Returns the density with its number of components, and the number of samples.
    pub fn sampling(&self) -> DensitySampling {
        let density = self.components.map_or(self.density, |components| {
            self.density.with_components(components)
        });
        DensitySampling {
            density,
            samples: self.samples,
        }
    }

    /// Returns true if influence is computed with the parameters of the whole network.
    pub fn uses_network_influence(&self) -> bool {
        self.influence_layers == InfluenceLayers::Network
    }

    fn components_fit_the_density(&self) -> Result<()> {
        if self.components.is_some() && !self.density.takes_components() {
            let what = format!(
                "belongs to mixture and variational, and the density is {}",
                self.density
            );
            return Err(Error::argument("components", what));
        }
        Ok(())
    }
}

impl Augmentation for Gratin {
    fn fresh_head(&self) -> Option<FreshHead> {
        Some(FreshHead {
            epochs: self.head_epochs,
            samples: self.samples,
            sampled: Some(*self),
        })
    }
}

/// Sampled vectors with their classes and fits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampledVectors {
    /// One vector per row, class by class.
    pub vectors: DenseMatrix<f64>,
    /// Their classes.
    pub classes: Vec<u32>,
    /// Report of the fit of each class; none for a class without vectors.
    pub fits: Vec<FitReport>,
}

/// A density and the number of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensitySampling {
    /// The density to fit.
    pub density: Density,
    /// Number of samples of each class.
    pub samples: Samples,
}

/// Fits the density to each class and samples from it.
pub fn sample_vectors(
    vectors: &DenseMatrix<f64>,
    classes: &[u32],
    sampling: &DensitySampling,
    seed: u64,
) -> Result<SampledVectors> {
    if vectors.num_rows() != classes.len() {
        let what = format!(
            "{} vectors, but {} classes",
            vectors.num_rows(),
            classes.len()
        );
        return Err(Error::argument("gratin", what));
    }
    let counts = sampling.samples.of_classes(classes);
    let rows_of = |class: u32| {
        (0..classes.len() as u32)
            .filter(|&i| classes[i as usize] == class)
            .collect()
    };
    let rows: Vec<Vec<u32>> = (0..counts.len() as u32).map(rows_of).collect();
    let points: Vec<DenseMatrix<f64>> = rows.iter().map(|rows| vectors.select_rows(rows)).collect();
    let about_mean = |points: &DenseMatrix<f64>| deviations(points, &mean(points)).data().to_vec();
    let about_means = points.iter().flat_map(about_mean).collect();
    let about_means = DenseMatrix::new(classes.len(), vectors.num_cols(), about_means)?;
    let (mut data, mut of, mut fits) = (
        Vec::with_capacity(vectors.data().len()),
        Vec::new(),
        Vec::new(),
    );
    for (class, points) in (0..)
        .zip(&points)
        .filter(|(_, points)| points.num_rows() > 0)
    {
        let seed_of_class = mix(seed ^ mix(u64::from(class)));
        let density = sampling
            .density
            .method()
            .fit(points, &about_means, seed_of_class)?;
        let rng = &mut stream(seed, "gratin draws", u64::from(class));
        for _ in 0..counts[class as usize] {
            data.extend(density.sample(rng));
            of.push(class);
        }
        fits.push(density.report().clone());
    }
    Ok(SampledVectors {
        vectors: DenseMatrix::new(of.len(), vectors.num_cols(), data)?,
        classes: of,
        fits,
    })
}

/// Returns the mean distance between a sampled vector and the original ones of its class, over all
/// such pairs: the term of the paper's bound on the generalisation error that can be computed. Zero
/// without pairs. O(n² d) for classes of n.
pub fn mean_distance(
    new: &DenseMatrix<f64>,
    new_classes: &[u32],
    old: &DenseMatrix<f64>,
    old_classes: &[u32],
) -> f64 {
    mean_over_pairs(new_classes, old_classes, |i, j| {
        Some(distance(new.row(i), old.row(j)))
    })
}

/// Returns the mean distance between two different vectors of a class, to compare with
/// [`mean_distance`].
pub fn mean_spread(vectors: &DenseMatrix<f64>, classes: &[u32]) -> f64 {
    let apart = |i: usize, j: usize| (i != j).then(|| distance(vectors.row(i), vectors.row(j)));
    mean_over_pairs(classes, classes, apart)
}

/// Computes rows in parallel and sums them in order: the thread count does not change the rounding.
fn mean_over_pairs(
    a: &[u32],
    b: &[u32],
    value: impl Fn(usize, usize) -> Option<f64> + Sync,
) -> f64 {
    let of_row = |i: usize| {
        let pairs = (0..b.len())
            .filter(|&j| a[i] == b[j])
            .filter_map(|j| value(i, j));
        pairs.fold((0.0, 0usize), |(sum, count), x| (sum + x, count + 1))
    };
    let rows: Vec<(f64, usize)> = (0..a.len()).into_par_iter().map(of_row).collect();
    let (sum, count) = rows
        .iter()
        .fold((0.0, 0), |(sum, count), row| (sum + row.0, count + row.1));
    sum / count.max(1) as f64
}

simd_dispatch! {
    /// Computes a distance with eight running sums, then their total: vectorised, and in a fixed
    /// order.
    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
        let mut sums = [0f64; 8];
        for (a, b) in a.iter().zip(b) {
            for l in 0..8 {
                sums[l] += (a[l] - b[l]) * (a[l] - b[l]);
            }
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
        (sums.iter().sum::<f64>() + rest).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::density::{Components, Mixture, Shared};
    use rand_distr::{Distribution, StandardNormal};

    /// Class 0 around (0, 0), class 2 around (±20, 20), none of class 1.
    fn vectors() -> (DenseMatrix<f64>, Vec<u32>) {
        let rng = &mut stream(1, "gratin test", 0);
        let classes: Vec<u32> = (0..90).map(|i| if i % 3 == 0 { 0 } else { 2 }).collect();
        let centre = |i: usize| match (classes[i], i % 3) {
            (0, _) => (0.0, 0.0),
            (_, 1) => (20.0, 20.0),
            _ => (-20.0, 20.0),
        };
        let mut data = Vec::new();
        for i in 0..90 {
            let (a, b): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
            data.extend([centre(i).0 + a, centre(i).1 + b]);
        }
        (DenseMatrix::new(90, 2, data).unwrap(), classes)
    }

    fn as_many(components: Components) -> DensitySampling {
        DensitySampling {
            density: Mixture { components }.into(),
            samples: Samples::AsMany,
        }
    }

    #[test]
    fn every_density_draws_as_many_as_asked_for() {
        let (vectors, classes) = vectors();
        for density in Density::all() {
            let name = density.name();
            let sampling = DensitySampling {
                density: density.with_components(Components::Fixed(1)),
                samples: Samples::Level,
            };
            let sampled = sample_vectors(&vectors, &classes, &sampling, 3).unwrap();
            let of = |class: u32| sampled.classes.iter().filter(|&&c| c == class).count();
            assert_eq!(
                [of(0), of(1), of(2)],
                [90, 0, 60],
                "{name}: 120 with those that are there"
            );
            // Around the mean of the class, within four standard errors of ninety samples; the
            // shared covariance is wide like class 2.
            let original = (0..90).step_by(3).map(|i| vectors.row(i)[0]).sum::<f64>() / 30.0;
            let mean = (0..90).map(|i| sampled.vectors.row(i)[0]).sum::<f64>() / 90.0;
            let spread = (0..90)
                .map(|i| (sampled.vectors.row(i)[0] - original).powi(2))
                .sum::<f64>()
                / 90.0;
            // A generator learns the mean approximately, without a known error bound.
            let slack = if matches!(density, Density::Gan(_)) {
                0.5
            } else {
                0.0
            };
            assert!(
                (mean - original).abs() < slack + 4.0 * (spread / 90.0).sqrt(),
                "{name}: {mean} about {original}"
            );
            assert_eq!(
                spread > 50.0,
                density == Density::Shared(Shared {}),
                "{name}: {spread}"
            );
        }
    }

    #[test]
    fn as_many_of_each_class_from_where_the_class_is() {
        let (vectors, classes) = vectors();
        for components in [Components::Fixed(2), Components::Auto] {
            let sampling = &as_many(components);
            let sampled = sample_vectors(&vectors, &classes, sampling, 3).unwrap();
            assert_eq!(sampled.classes.iter().filter(|&&c| c == 0).count(), 30);
            assert_eq!(
                (
                    sampled.classes.len(),
                    sampled.vectors.num_rows(),
                    sampled.fits.len()
                ),
                (90, 90, 2)
            );
            for (i, &class) in sampled.classes.iter().enumerate() {
                let x = sampled.vectors.row(i);
                // Six standard deviations around the centres.
                let at_home = if class == 0 {
                    x[0].abs() < 6.0 && x[1].abs() < 6.0
                } else {
                    (x[0].abs() - 20.0).abs() < 6.0
                };
                assert!(at_home, "{components}: class {class} at {x:?}");
            }
            if components == Components::Auto {
                assert_eq!(
                    (sampled.fits[0].components, sampled.fits[1].components),
                    (1, 2),
                    "what made them"
                );
            }
            let again = sample_vectors(&vectors, &classes, sampling, 3).unwrap();
            assert_eq!(sampled.vectors, again.vectors);
            assert_ne!(
                sampled.vectors,
                sample_vectors(&vectors, &classes, sampling, 4)
                    .unwrap()
                    .vectors
            );
        }
    }

    #[test]
    fn distances_are_within_classes() {
        let old = DenseMatrix::new(3, 2, vec![0.0, 0.0, 6.0, 8.0, 100.0, 0.0]).unwrap();
        let new = DenseMatrix::new(2, 2, vec![3.0, 4.0, 100.0, 1.0]).unwrap();
        // The first is 5 from both of its class, the second 1 from its only one. The two of class 0
        // are 10 apart.
        assert_eq!(mean_distance(&new, &[0, 1], &old, &[0, 0, 1]), 11.0 / 3.0);
        assert_eq!(mean_spread(&old, &[0, 0, 1]), 10.0);
        assert_eq!(mean_spread(&old, &[0, 1, 2]), 0.0, "no pair of a class");
        assert_eq!(mean_distance(&new, &[7, 8], &old, &[0, 0, 1]), 0.0);
    }

    #[test]
    fn vectors_without_a_class_are_refused() {
        let (vectors, classes) = vectors();
        let e = sample_vectors(&vectors, &classes[1..], &as_many(Components::Auto), 0)
            .unwrap_err()
            .to_string();
        assert_eq!(e, "gratin: 90 vectors, but 89 classes");
    }
}
