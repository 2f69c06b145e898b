//! A Gaussian copula with empirical margins (Nelsen 2006,
//! [doi:10.1007/0-387-28678-0](https://doi.org/10.1007/0-387-28678-0)).
//!
//! Each coordinate has the empirical distribution of its values, linear between neighbouring values.
//! The dependence of the coordinates is that of a Gaussian: `z_ij = Φ⁻¹(rank_ij / (n + 1))` has the
//! correlation R, shrunken as by Ledoit and Wolf because a class has few vectors. A sample is
//! `z ~ N(0, R)`, mapped to the quantile `Φ(z_j)` of coordinate j: it stays within the range of the
//! data.

use gnarl_graph::random::Rng;
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Result};
use serde::{Deserialize, Serialize};

use super::gaussian::ledoit_wolf;
use super::special::{normal_cdf, normal_quantile};
use super::{Estimator, FitReport, FittedDensity, GaussianMixture, MixtureSettings};

/// Fits a Gaussian copula to each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "copula", about = "Gaussian copula with empirical margins")]
pub struct Copula {}

impl Estimator for Copula {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        _: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        Ok(Box::new(GaussianCopula::fit(points)?))
    }
}

/// A fitted copula.
#[derive(Debug, Clone)]
pub struct GaussianCopula {
    /// The sorted values of each coordinate.
    sorted: Vec<Vec<f64>>,
    /// The distribution `N(0, R)`.
    tie: GaussianMixture,
    report: FitReport,
}

impl GaussianCopula {
    /// Fits the copula to these points. O(n d (log n + d)).
    pub fn fit(points: &DenseMatrix<f64>) -> Result<Self> {
        MixtureSettings::new(1).check(points)?;
        let (n, d) = (points.num_rows(), points.num_cols());
        let mut scores = DenseMatrix::new(n, d, vec![0f64; n * d])?;
        let mut sorted = Vec::with_capacity(d);
        for j in 0..d {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| points.row(a)[j].total_cmp(&points.row(b)[j]));
            let values: Vec<f64> = order.iter().map(|&i| points.row(i)[j]).collect();
            let mut from = 0;
            while from < n {
                let same = values[from..]
                    .iter()
                    .take_while(|v| **v == values[from])
                    .count();
                // Equal values share the mean of their ranks, which start at one.
                let rank = from as f64 + (same as f64 + 1.0) / 2.0;
                let score = normal_quantile(rank / (n as f64 + 1.0));
                order[from..from + same]
                    .iter()
                    .for_each(|&i| scores.row_mut(i)[j] = score);
                from += same;
            }
            sorted.push(values);
        }
        let mut correlation = ledoit_wolf(&scores);
        let deviations: Vec<f64> = (0..d).map(|a| correlation[a * d + a].sqrt()).collect();
        for at in 0..d * d {
            correlation[at] /= deviations[at / d] * deviations[at % d];
        }
        (0..d).for_each(|a| correlation[a * d + a] = 1.0 + MixtureSettings::new(1).regularisation);
        let tie = GaussianMixture::one_gaussian(&scores, vec![0.0; d], correlation)?;
        let parameters = d * (d.max(1) - 1) / 2;
        let report = FitReport {
            points: n,
            components: 1,
            parameters,
            curve: Vec::new(),
            converged: true,
            warning: None,
        };
        Ok(Self {
            sorted,
            tie,
            report,
        })
    }

    /// Returns the correlation of the normal scores, by rows.
    pub fn correlation(&self) -> &[f64] {
        &self.tie.components()[0].covariance
    }
}

impl FittedDensity for GaussianCopula {
    fn dim(&self) -> usize {
        self.sorted.len()
    }

    fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        let z = self.tie.sample(rng);
        z.iter()
            .zip(&self.sorted)
            .map(|(z, sorted)| quantile(sorted, normal_cdf(*z)))
            .collect()
    }

    /// Returns `None` if a coordinate has equal values, which have a probability and no density.
    /// Minus infinity outside the observed range.
    fn log_density(&self, x: &[f64]) -> Option<f64> {
        if self
            .sorted
            .iter()
            .any(|sorted| sorted.len() < 2 || sorted.windows(2).any(|w| w[0] == w[1]))
        {
            return None;
        }
        let mut log_margins = 0.0;
        let mut z = Vec::with_capacity(x.len());
        for (x, sorted) in x.iter().zip(&self.sorted) {
            let steps = (sorted.len() - 1) as f64;
            if !(sorted[0]..=sorted[sorted.len() - 1]).contains(x) {
                return Some(f64::NEG_INFINITY);
            }
            let left = sorted
                .partition_point(|v| v <= x)
                .clamp(1, sorted.len() - 1)
                - 1;
            let width = sorted[left + 1] - sorted[left];
            let u = (left as f64 + (x - sorted[left]) / width) / steps;
            log_margins -= (steps * width).ln();
            // At the ends of the range the quantile is infinite; there the density is that of the
            // points just inside.
            z.push(normal_quantile(u.clamp(1e-12, 1.0 - 1e-12)));
        }
        let apart: f64 = z
            .iter()
            .map(|z| -0.5 * z * z - 0.5 * std::f64::consts::TAU.ln())
            .sum();
        Some(self.tie.log_density(&z) - apart + log_margins)
    }

    fn report(&self) -> &FitReport {
        &self.report
    }
}

/// Returns the quantile of sorted values at a share, linear between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let left = (at as usize).min(sorted.len() - 1);
    let right = (left + 1).min(sorted.len() - 1);
    sorted[left] + (at - left as f64) * (sorted[right] - sorted[left])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn draws_have_the_margins_and_the_order_of_the_points() {
        let rng = &mut stream(1, "copula test", 0);
        let mut data = Vec::new();
        for _ in 0..400 {
            let (a, b): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
            // A skewed margin, and a correlated one.
            data.extend([a.exp(), 5.0 - 2.0 * a + 0.5 * b]);
        }
        let points = DenseMatrix::new(400, 2, data).unwrap();
        let fitted = GaussianCopula::fit(&points).unwrap();
        assert!(fitted.correlation()[1] < -0.9, "{:?}", fitted.correlation());
        let samples: Vec<Vec<f64>> = (0..4000).map(|_| fitted.sample(rng)).collect();
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let mut seen: Vec<f64> = (0..400).map(|i| points.row(i)[0]).collect();
        let mut sampled: Vec<f64> = samples.iter().map(|x| x[0]).collect();
        let (seen, sampled) = (median(&mut seen), median(&mut sampled));
        assert!((seen - sampled).abs() < 0.15, "{seen} and {sampled}");
        assert!(
            samples.iter().all(|x| x[0] > 0.0),
            "no draw below what was seen"
        );
        let inside = fitted.log_density(points.row(7)).unwrap();
        assert!(inside.is_finite() && fitted.log_density(&[-1.0, 5.0]) == Some(f64::NEG_INFINITY));
    }

    #[test]
    fn equal_values_have_no_density_but_are_drawn() {
        let points = DenseMatrix::new(3, 2, vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0]).unwrap();
        let fitted = GaussianCopula::fit(&points).unwrap();
        let x = fitted.sample(&mut stream(1, "copula test", 1));
        assert!((1.0..=3.0).contains(&x[0]) && x[1] == 0.0);
        assert_eq!(fitted.log_density(&[2.0, 0.0]), None);
        let one = GaussianCopula::fit(&points.select_rows(&[1])).unwrap();
        assert_eq!(one.sample(&mut stream(1, "copula test", 2)), [2.0, 0.0]);
    }
}
