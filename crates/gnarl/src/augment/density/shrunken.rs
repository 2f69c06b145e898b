//! One Gaussian for each class with a shrunken covariance (Ledoit and Wolf 2004,
//! [doi:10.1016/S0047-259X(03)00096-4](https://doi.org/10.1016/S0047-259X(03)00096-4)): for classes
//! with few vectors.

use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Result};
use serde::{Deserialize, Serialize};

use super::gaussian::{deviations, ledoit_wolf, mean};
use super::{Estimator, FittedDensity, GaussianMixture};

/// Fits one Gaussian with a shrunken covariance to each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(
    name = "shrunken",
    about = "one Gaussian for each class with a shrunken covariance"
)]
pub struct Shrunken {}

impl Estimator for Shrunken {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        _: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(gaussian(points)?))
    }
}

/// Returns the Gaussian of these points with a shrunken covariance.
pub fn gaussian(points: &DenseMatrix<f64>) -> Result<GaussianMixture> {
    let mean = mean(points);
    let covariance = ledoit_wolf(&deviations(points, &mean));
    GaussianMixture::one_gaussian(points, mean, covariance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degenerate_points_have_a_gaussian_too() {
        let same = DenseMatrix::new(3, 2, vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).unwrap();
        for points in [same.clone(), same.select_rows(&[0])] {
            let gaussian = gaussian(&points).unwrap();
            assert_eq!(gaussian.components()[0].mean, [1.0, 2.0]);
            assert_eq!(gaussian.components()[0].covariance, [1e-6, 0.0, 0.0, 1e-6]);
            assert!(gaussian.log_density(&[1.0, 2.0]).is_finite());
        }
    }
}
