//! One Gaussian for each class with a covariance that all classes share, as in linear discriminant
//! analysis (Fisher 1936,
//! [doi:10.1111/j.1469-1809.1936.tb02137.x](https://doi.org/10.1111/j.1469-1809.1936.tb02137.x)),
//! shrunken by Ledoit and Wolf 2004
//! ([doi:10.1016/S0047-259X(03)00096-4](https://doi.org/10.1016/S0047-259X(03)00096-4)): for classes
//! with few vectors.

use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Result};
use serde::{Deserialize, Serialize};

use super::gaussian::{ledoit_wolf, mean};
use super::{Estimator, FittedDensity, GaussianMixture};

/// Fits one Gaussian to each class with a shrunken covariance that all classes share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(
    name = "shared",
    about = "one Gaussian for each class with a shared covariance"
)]
pub struct Shared {}

impl Estimator for Shared {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        deviations: &DenseMatrix<f64>,
        _: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(gaussian(points, deviations)?))
    }
}

/// Returns the Gaussian around the mean of these points with the shrunken covariance of
/// `deviations`, the vectors of every class minus the mean of their class.
pub fn gaussian(
    points: &DenseMatrix<f64>,
    deviations: &DenseMatrix<f64>,
) -> Result<GaussianMixture> {
    GaussianMixture::one_gaussian(points, mean(points), ledoit_wolf(deviations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_borrows_the_shape_of_the_others() {
        // The centred vectors vary along the first axis alone: the single point's Gaussian is wide
        // there.
        let deviations = DenseMatrix::new(
            40,
            2,
            (0..80).map(|i| [-3.0, 0.1, 3.0, -0.1][i % 4]).collect(),
        )
        .unwrap();
        let lone = DenseMatrix::new(1, 2, vec![7.0, 7.0]).unwrap();
        let gaussian = gaussian(&lone, &deviations).unwrap();
        let covariance = &gaussian.components()[0].covariance;
        assert!(covariance[0] > 8.0 && covariance[3] < 0.5, "{covariance:?}");
        assert_eq!(gaussian.components()[0].mean, [7.0, 7.0]);
    }
}
