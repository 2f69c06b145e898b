//! Kernel density estimation (Parzen 1962,
//! [doi:10.1214/aoms/1177704472](https://doi.org/10.1214/aoms/1177704472)): a Gaussian at every point.
//!
//! `p(x) = 1/n Σ_i N(x; x_i, h² I)`. The bandwidth h is the one of [`bandwidths`] with the largest
//! leave-one-out likelihood. A sample is a random point plus Gaussian noise, which is exact.

use std::f64::consts::TAU;

use gnarl_graph::random::{Rng, stream};
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Result};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::gaussian::{deviations, mean};
use super::gaussian_mixture::log_sum;
use super::{Estimator, FitReport, FittedDensity, MixtureSettings};

/// Places a Gaussian kernel at every vector of a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "kernel", about = "Gaussian kernel density estimate")]
pub struct Kernel {}

/// Largest number of points in the selection of the bandwidth: their distances are stored.
const CHOSEN_BY: usize = 2000;

/// Number of candidate bandwidths.
const TRIED: usize = 31;

impl Estimator for Kernel {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        seed: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(KernelDensity::fit(points, seed)?))
    }
}

/// A fitted kernel density.
#[derive(Debug, Clone)]
pub struct KernelDensity {
    points: DenseMatrix<f64>,
    bandwidth: f64,
    report: FitReport,
}

/// Returns the candidate bandwidths: from a hundredth of the mean spread of a coordinate to ten
/// times it, in equal ratios. One tiny bandwidth if all points are equal.
pub fn bandwidths(points: &DenseMatrix<f64>) -> Vec<f64> {
    let about = deviations(points, &mean(points));
    let spread =
        (about.data().iter().map(|x| x * x).sum::<f64>() / about.data().len().max(1) as f64).sqrt();
    if spread == 0.0 {
        return vec![MixtureSettings::new(1).regularisation.sqrt()];
    }
    (0..TRIED)
        .map(|k| spread * 10f64.powf(-2.0 + 3.0 * k as f64 / (TRIED - 1) as f64))
        .collect()
}

impl KernelDensity {
    /// Fits the density of these points with the best bandwidth. O(n² d) for n points, at most
    /// 2,000 of them, sampled by the seed.
    pub fn fit(points: &DenseMatrix<f64>, seed: u64) -> Result<Self> {
        MixtureSettings::new(1).check(points)?;
        let rng = &mut stream(seed, "kernel bandwidth", 0);
        let mut chosen: Vec<u32> = (0..points.num_rows() as u32).collect();
        if chosen.len() > CHOSEN_BY {
            (0..CHOSEN_BY).for_each(|i| chosen.swap(i, rng.random_range(i..points.num_rows())));
            chosen.truncate(CHOSEN_BY);
        }
        let among = points.select_rows(&chosen);
        let (n, d) = (among.num_rows(), among.num_cols());
        let square = |i: usize, j: usize| {
            among
                .row(i)
                .iter()
                .zip(among.row(j))
                .map(|(a, b)| (a - b) * (a - b))
                .sum()
        };
        let squares: Vec<Vec<f64>> = (0..n)
            .into_par_iter()
            .map(|i| (0..n).map(|j| square(i, j)).collect())
            .collect();
        // A single point has no other point to evaluate: its own kernel is used.
        let log_likelihood = |&h: &f64| {
            let of = |i: usize| {
                let others = (0..n)
                    .filter(|&j| j != i || n == 1)
                    .map(|j| -squares[i][j] / (2.0 * h * h));
                log_sum(&others.collect::<Vec<_>>())
                    - ((n - 1).max(1) as f64).ln()
                    - 0.5 * d as f64 * (TAU * h * h).ln()
            };
            (0..n).map(of).sum::<f64>() / n as f64
        };
        let tried = bandwidths(points);
        let found: Vec<f64> = tried.par_iter().map(log_likelihood).collect();
        let best =
            (0..tried.len()).fold(0, |best, k| if found[k] > found[best] { k } else { best });
        let report = FitReport {
            points: points.num_rows(),
            components: points.num_rows(),
            parameters: 1,
            curve: vec![found[best]],
            converged: true,
            warning: None,
        };
        Ok(Self {
            points: points.clone(),
            bandwidth: tried[best],
            report,
        })
    }

    /// Returns the standard deviation of every Gaussian.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }
}

impl FittedDensity for KernelDensity {
    fn dim(&self) -> usize {
        self.points.num_cols()
    }

    fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        let about = self.points.row(rng.random_range(0..self.points.num_rows()));
        let noise = |rng: &mut Rng| -> f64 { StandardNormal.sample(rng) };
        about
            .iter()
            .map(|x| x + self.bandwidth * noise(rng))
            .collect()
    }

    fn log_density(&self, x: &[f64]) -> Option<f64> {
        let (n, h) = (self.points.num_rows(), self.bandwidth);
        let square = |i: usize| {
            self.points
                .row(i)
                .iter()
                .zip(x)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
        };
        let logs: Vec<f64> = (0..n).map(|i| -square(i) / (2.0 * h * h)).collect();
        Some(log_sum(&logs) - (n as f64).ln() - 0.5 * self.dim() as f64 * (TAU * h * h).ln())
    }

    fn report(&self) -> &FitReport {
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_and_equal_points_have_a_density_too() {
        for rows in [1, 4] {
            let points = DenseMatrix::new(rows, 2, [1.0, 2.0].repeat(rows)).unwrap();
            let fitted = KernelDensity::fit(&points, 1).unwrap();
            let x = fitted.sample(&mut stream(1, "kernel test", 0));
            assert!((x[0] - 1.0).abs() < 0.01 && fitted.log_density(&x).unwrap().is_finite());
        }
        let none = DenseMatrix::new(0, 2, vec![]).unwrap();
        assert!(KernelDensity::fit(&none, 1).is_err());
    }

    #[test]
    fn the_bandwidth_is_near_what_is_best_for_a_normal_distribution() {
        let rng = &mut stream(2, "kernel test", 1);
        let data: Vec<f64> = (0..2500)
            .map(|_| 3.0 * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng))
            .collect();
        let fitted = KernelDensity::fit(&DenseMatrix::new(2500, 1, data).unwrap(), 1).unwrap();
        // Silverman's rule: 1.06 σ n^(-1/5) is 0.67 here; a step of the grid is a factor of 1.26.
        assert!(
            (0.4..1.0).contains(&fitted.bandwidth()),
            "{}",
            fitted.bandwidth()
        );
    }
}
