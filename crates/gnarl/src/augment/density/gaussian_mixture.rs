//! Gaussian mixtures with full covariances by expectation maximisation (Dempster et al. 1977,
//! [doi:10.1111/j.2517-6161.1977.tb01600.x](https://doi.org/10.1111/j.2517-6161.1977.tb01600.x)), in
//! f64.
//!
//! `p(x) = Σ_k w_k N(x; μ_k, Σ_k)`. Starting from the clusters of one k-means++ initialisation,
//! each iteration computes the responsibilities `r_ik ∝ w_k N(x_i; μ_k, Σ_k)` and then
//! `w_k = Σ_i r_ik / n`, `μ_k = Σ_i r_ik x_i / n_k`,
//! `Σ_k = Σ_i r_ik (x_i - μ_k)(x_i - μ_k)ᵀ / n_k + λ I`. It ends when the mean log-likelihood gains
//! less than the tolerance. Settings and order of steps are those of scikit-learn's
//! `GaussianMixture`. Without λ the log-likelihood never falls; with λ it may fall by the effect of
//! λ.

use std::f64::consts::TAU;

use gnarl_graph::community::{KMeans, kmeans};
use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Error, Result};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::{FitReport, FittedDensity};
use gnarl_tensor::simd_dispatch;

const OP: &str = "mixture";

/// Settings of the fit of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixtureSettings {
    /// Number of components; at most the number of points is used.
    pub components: usize,
    /// Largest number of iterations.
    pub max_iterations: usize,
    /// Gain of the mean log-likelihood below which the fit ends.
    pub tolerance: f64,
    /// λ, added to the diagonal of every covariance.
    pub regularisation: f64,
}

impl MixtureSettings {
    /// Returns settings with this number of components, and scikit-learn's 100 iterations,
    /// tolerance of 1e-3 and λ of 1e-6.
    #[must_use]
    pub fn new(components: usize) -> Self {
        Self {
            components,
            max_iterations: 100,
            tolerance: 1e-3,
            regularisation: 1e-6,
        }
    }

    pub(super) fn check(&self, points: &DenseMatrix<f64>) -> Result<()> {
        let refuse = |what: String| Err(Error::argument(OP, what));
        if points.num_rows() == 0 || points.num_cols() == 0 {
            return refuse(format!(
                "{} points of {} numbers, at least one is needed",
                points.num_rows(),
                points.num_cols()
            ));
        }
        if let Some(i) = points.data().iter().position(|x| !x.is_finite()) {
            return refuse(format!(
                "point {} has a value of {}",
                i / points.num_cols(),
                points.data()[i]
            ));
        }
        if self.components == 0 || self.max_iterations == 0 {
            return refuse("at least one component and one iteration are needed".into());
        }
        if !(self.tolerance >= 0.0 && self.regularisation > 0.0 && self.regularisation.is_finite())
        {
            let what = format!(
                "a tolerance of {} and a regularisation of {}; the first must be at least 0, the second above 0",
                self.tolerance, self.regularisation
            );
            return refuse(what);
        }
        Ok(())
    }
}

/// One Gaussian of a mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Weight of the Gaussian in the mixture.
    pub weight: f64,
    /// Mean of the Gaussian.
    pub mean: Vec<f64>,
    /// Covariance of the Gaussian, by rows.
    pub covariance: Vec<f64>,
    /// The lower triangle L with `L Lᵀ` = covariance, by columns.
    factor: Vec<f64>,
    /// Inverse of the factor, by columns.
    inverse: Vec<f64>,
    /// The constant `ln(weight) - (d ln 2π + ln det) / 2`.
    log_scale: f64,
}

/// A fitted mixture.
#[derive(Debug, Clone)]
pub struct GaussianMixture {
    components: Vec<Component>,
    dim: usize,
    report: FitReport,
}

impl GaussianMixture {
    /// Fits a mixture to the rows of `points`. O(points · components · dim²) per iteration.
    pub fn fit(points: &DenseMatrix<f64>, settings: &MixtureSettings, seed: u64) -> Result<Self> {
        settings.check(points)?;
        let components = settings.components.min(points.num_rows());
        let clusters = kmeans(points, &KMeans::new(components).with_n_init(1), seed)?;
        Self::fit_from(points, settings, &clusters.of)
    }

    /// Fits a mixture from an initial cluster for each point, below the number of components.
    pub fn fit_from(
        points: &DenseMatrix<f64>,
        settings: &MixtureSettings,
        clusters: &[u32],
    ) -> Result<Self> {
        settings.check(points)?;
        let (n, d) = (points.num_rows(), points.num_cols());
        let count = settings.components.min(n);
        if clusters.len() != n || clusters.iter().any(|&c| c as usize >= count) {
            return Err(Error::argument(
                OP,
                format!(
                    "an initialisation by {count} clusters needs the cluster of each of {n} points"
                ),
            ));
        }
        let mut shares = vec![0f64; n * count];
        clusters
            .iter()
            .enumerate()
            .for_each(|(i, &c)| shares[i * count + c as usize] = 1.0);
        let mut components = maximise(points, &shares, count, settings.regularisation)?;
        let mut curve: Vec<f64> = Vec::new();
        let mut converged = false;
        for _ in 0..settings.max_iterations {
            curve.push(responsibilities(points, &components, &mut shares));
            components = maximise(points, &shares, count, settings.regularisation)?;
            if let [.., before, now] = curve[..]
                && now - before < settings.tolerance
            {
                converged = true;
                break;
            }
        }
        let parameters = count * (d + d * (d + 1) / 2) + count - 1;
        let report = FitReport {
            points: n,
            components: count,
            parameters,
            curve,
            converged,
            warning: None,
        };
        Ok(Self {
            components,
            dim: d,
            report,
        })
    }

    /// Returns one given Gaussian as a mixture, with its report on the points that it was fitted
    /// to.
    pub(super) fn one_gaussian(
        points: &DenseMatrix<f64>,
        mean: Vec<f64>,
        covariance: Vec<f64>,
    ) -> Result<Self> {
        MixtureSettings::new(1).check(points)?;
        let (n, d) = (points.num_rows(), points.num_cols());
        let components = vec![Component::new(1.0, mean, covariance)?];
        let parameters = d + d * (d + 1) / 2;
        let report = FitReport {
            points: n,
            components: 1,
            parameters,
            curve: Vec::new(),
            converged: true,
            warning: None,
        };
        let mut gaussian = Self {
            components,
            dim: d,
            report,
        };
        let likelihood = (0..n)
            .map(|i| gaussian.log_density(points.row(i)))
            .sum::<f64>()
            / n as f64;
        gaussian.report.curve.push(likelihood);
        Ok(gaussian)
    }

    /// Returns the mixture of Gaussians that were fitted elsewhere, at least one.
    pub(super) fn of_components(components: Vec<Component>, report: FitReport) -> Self {
        Self {
            dim: components[0].mean.len(),
            components,
            report,
        }
    }

    /// Returns the logarithm of the density at a vector of `dim` numbers.
    pub fn log_density(&self, x: &[f64]) -> f64 {
        let mut scratch = vec![0f64; self.dim];
        let logs: Vec<f64> = self
            .components
            .iter()
            .map(|c| c.log_term(x, &mut scratch))
            .collect();
        log_sum(&logs)
    }

    /// Returns the Gaussians of the mixture.
    pub fn components(&self) -> &[Component] {
        &self.components
    }
}

impl FittedDensity for GaussianMixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        let mut left = rng.random::<f64>();
        let chosen = self.components.iter().find(|c| {
            left -= c.weight;
            left < 0.0
        });
        // The weights may sum to a little less than one.
        let chosen = chosen.unwrap_or(&self.components[self.components.len() - 1]);
        let mut x = chosen.mean.clone();
        for (j, column) in chosen.factor.chunks_exact(self.dim).enumerate() {
            let normal: f64 = StandardNormal.sample(rng);
            x[j..]
                .iter_mut()
                .zip(&column[j..])
                .for_each(|(x, l)| *x += l * normal);
        }
        x
    }

    fn log_density(&self, x: &[f64]) -> Option<f64> {
        Some(GaussianMixture::log_density(self, x))
    }

    fn report(&self) -> &FitReport {
        &self.report
    }
}

impl Component {
    /// Returns a Gaussian with this covariance, by rows. For large numbers, rounding may exceed the
    /// smallest eigenvalue: the diagonal is then raised by the smallest sufficient multiple of its
    /// mean. Fails if that is more than rounding explains.
    pub(super) fn new(weight: f64, mean: Vec<f64>, mut covariance: Vec<f64>) -> Result<Self> {
        let d = mean.len();
        let size = (0..d).map(|i| covariance[i * d + i]).sum::<f64>() / d.max(1) as f64;
        let mut lifted = 0.0;
        let factor = [0.0, 1e-14, 1e-12, 1e-10, 1e-8]
            .into_iter()
            .find_map(|lift| {
                (0..d).for_each(|i| covariance[i * d + i] += (lift - lifted) * size);
                lifted = lift;
                cholesky(d, &covariance)
            });
        let Some(factor) = factor else {
            let what = "a covariance lost its positive definiteness; fewer components or a larger regularisation keep it";
            return Err(Error::argument(OP, what));
        };
        let log_det: f64 = (0..d).map(|i| 2.0 * factor[i * d + i].ln()).sum();
        let log_scale = weight.ln() - 0.5 * (d as f64 * TAU.ln() + log_det);
        let inverse = inverse_of(d, &factor);
        Ok(Self {
            weight,
            mean,
            covariance,
            factor,
            inverse,
            log_scale,
        })
    }

    /// Returns the logarithm of the covariance's determinant.
    pub(super) fn log_determinant(&self) -> f64 {
        let d = self.mean.len();
        (0..d).map(|i| 2.0 * self.factor[i * d + i].ln()).sum()
    }

    /// Returns the component with its log-density raised by a constant.
    pub(super) fn raised(&self, by: f64) -> Self {
        Self {
            log_scale: self.log_scale + by,
            ..self.clone()
        }
    }

    /// Returns `ln(weight · N(x; mean, covariance))`.
    fn log_term(&self, x: &[f64], scratch: &mut [f64]) -> f64 {
        self.log_scale - 0.5 * square_from(&self.inverse, &self.mean, x, scratch)
    }
}

simd_dispatch! {
    /// Returns `|M (x - mean)|²` for a matrix M by columns.
    fn square_from(columns: &[f64], mean: &[f64], x: &[f64], product: &mut [f64]) -> f64 {
        product.fill(0.0);
        for ((column, x), m) in columns.chunks_exact(mean.len()).zip(x).zip(mean) {
            let away = x - m;
            product.iter_mut().zip(column).for_each(|(p, c)| *p += c * away);
        }
        product.iter().map(|p| p * p).sum()
    }
}

simd_dispatch! {
    /// Adds the lower triangle of `weight · v vᵀ`.
    fn add_square(weight: f64, v: &[f64], lower: &mut [f64]) {
        let d = v.len();
        for r in 0..d {
            let scaled = weight * v[r];
            lower[r * d..=r * d + r].iter_mut().zip(v).for_each(|(sum, x)| *sum += scaled * x);
        }
    }
}

/// Computes the responsibilities and returns the mean log-likelihood of a point.
pub(super) fn responsibilities(
    points: &DenseMatrix<f64>,
    components: &[Component],
    shares: &mut [f64],
) -> f64 {
    let one = |(i, shares): (usize, &mut [f64])| {
        let mut scratch = vec![0f64; points.num_cols()];
        for (share, component) in shares.iter_mut().zip(components) {
            *share = component.log_term(points.row(i), &mut scratch);
        }
        let total = log_sum(shares);
        shares
            .iter_mut()
            .for_each(|share| *share = (*share - total).exp());
        total
    };
    let logs: Vec<f64> = shares
        .par_chunks_mut(components.len())
        .with_min_len(64)
        .enumerate()
        .map(one)
        .collect();
    logs.iter().sum::<f64>() / points.num_rows() as f64
}

/// Returns the components that maximise the likelihood under the responsibilities.
pub(super) fn maximise(
    points: &DenseMatrix<f64>,
    shares: &[f64],
    count: usize,
    lambda: f64,
) -> Result<Vec<Component>> {
    let (n, d) = (points.num_rows(), points.num_cols());
    let one = |k: usize| {
        let share = |i: usize| shares[i * count + k];
        // A component without points keeps a small weight, as in scikit-learn.
        let total = (0..n).map(share).sum::<f64>() + 10.0 * f64::EPSILON;
        // Most points have a responsibility below rounding in most components; they are left out of
        // the sums.
        let belongs = |i: &usize| share(*i) > f64::EPSILON * total;
        let mut mean = vec![0f64; d];
        for i in (0..n).filter(belongs) {
            mean.iter_mut()
                .zip(points.row(i))
                .for_each(|(m, x)| *m += share(i) * x);
        }
        mean.iter_mut().for_each(|m| *m /= total);
        let mut covariance = vec![0f64; d * d];
        let mut away = vec![0f64; d];
        for i in (0..n).filter(belongs) {
            away.iter_mut()
                .zip(points.row(i))
                .zip(&mean)
                .for_each(|((a, x), m)| *a = x - m);
            add_square(share(i), &away, &mut covariance);
        }
        for r in 0..d {
            for c in 0..=r {
                covariance[r * d + c] /= total;
                covariance[c * d + r] = covariance[r * d + c];
            }
            covariance[r * d + r] += lambda;
        }
        Component::new(total / n as f64, mean, covariance)
    };
    (0..count).into_par_iter().map(one).collect()
}

/// Returns `ln Σ exp(x)`.
pub(super) fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + logs.iter().map(|x| (x - largest).exp()).sum::<f64>().ln()
}

/// Returns the lower triangle L, by columns, with `L Lᵀ` = matrix; `None` if the matrix is not
/// positive definite. O(d³).
fn cholesky(d: usize, matrix: &[f64]) -> Option<Vec<f64>> {
    let mut columns = matrix.to_vec();
    for j in 0..d {
        let (before, rest) = columns.split_at_mut(j * d);
        let column = &mut rest[..d];
        for other in before.chunks_exact(d) {
            let scale = other[j];
            column[j..]
                .iter_mut()
                .zip(&other[j..])
                .for_each(|(c, l)| *c -= scale * l);
        }
        if column[j].is_nan() || column[j] <= 0.0 {
            return None;
        }
        let scale = 1.0 / column[j].sqrt();
        column[j..].iter_mut().for_each(|c| *c *= scale);
        column[..j].fill(0.0);
    }
    Some(columns)
}

/// Returns the inverse of a lower triangle, both by columns. O(d³).
fn inverse_of(d: usize, triangle: &[f64]) -> Vec<f64> {
    let mut inverse = vec![0f64; d * d];
    for (c, column) in inverse.chunks_exact_mut(d).enumerate() {
        column[c] = 1.0;
        for j in c..d {
            let solved = column[j] / triangle[j * d + j];
            column[j] = solved;
            let below = &triangle[j * d + j + 1..(j + 1) * d];
            column[j + 1..]
                .iter_mut()
                .zip(below)
                .for_each(|(x, l)| *x -= l * solved);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    fn matrix(rows: &[&[f64]]) -> DenseMatrix<f64> {
        DenseMatrix::new(rows.len(), rows[0].len(), rows.concat()).unwrap()
    }

    /// Samples points of two Gaussians with correlated coordinates.
    fn two_clouds(n: usize, seed: u64) -> DenseMatrix<f64> {
        let rng = &mut stream(seed, "mixture test", 0);
        let mut data = Vec::new();
        for i in 0..n {
            let (a, b): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
            let (x, y) = if i % 3 == 0 { (5.0, -3.0) } else { (-4.0, 2.0) };
            data.extend([x + a, y + 0.8 * a + 0.6 * b]);
        }
        DenseMatrix::new(n, 2, data).unwrap()
    }

    #[test]
    fn one_component_is_the_sample_mean_and_covariance() {
        // Mean (2, 1); mean squares around it: (4 + 0 + 4) / 3 and (1 + 4 + 1) / 3; products: (2 +
        // 0 - 2) / 3.
        let points = matrix(&[&[0.0, 0.0], &[2.0, 3.0], &[4.0, 0.0]]);
        let fitted = GaussianMixture::fit(&points, &MixtureSettings::new(1), 1).unwrap();
        let Component {
            weight,
            mean,
            covariance,
            ..
        } = &fitted.components()[0];
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(*weight, 1.0) && close(mean[0], 2.0) && close(mean[1], 1.0));
        assert!(
            close(covariance[0], 8.0 / 3.0 + 1e-6)
                && close(covariance[3], 2.0 + 1e-6)
                && close(covariance[1], 0.0)
        );
        // ln of 1 / (2π sqrt(16/3)) at the mean.
        let at_mean = -(TAU * (16f64 / 3.0).sqrt()).ln();
        assert!((fitted.log_density(&[2.0, 1.0]) - at_mean).abs() < 1e-5);
        assert_eq!(fitted.report().parameters, 5);
    }

    #[test]
    fn finds_two_clouds_and_draws_from_them() {
        let fitted =
            GaussianMixture::fit(&two_clouds(3000, 1), &MixtureSettings::new(2), 2).unwrap();
        let mut components = fitted.components().to_vec();
        components.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let near = |got: &[f64], expected: &[f64], tolerance: f64| {
            got.iter()
                .zip(expected)
                .all(|(g, e)| (g - e).abs() < tolerance)
        };
        assert!((components[0].weight - 1.0 / 3.0).abs() < 0.01);
        assert!(
            near(&components[0].mean, &[5.0, -3.0], 0.12)
                && near(&components[1].mean, &[-4.0, 2.0], 0.12)
        );
        assert!(
            components
                .iter()
                .all(|c| near(&c.covariance, &[1.0, 0.8, 0.8, 1.0], 0.15))
        );
        // Moments of samples against those of the mixture: mean Σ w μ, five standard errors.
        let rng = &mut stream(3, "mixture test", 1);
        let samples: Vec<Vec<f64>> = (0..20_000).map(|_| fitted.sample(rng)).collect();
        let mean = |c: usize| samples.iter().map(|x| x[c]).sum::<f64>() / 20_000.0;
        let expected = |c: usize| {
            fitted
                .components()
                .iter()
                .map(|k| k.weight * k.mean[c])
                .sum::<f64>()
        };
        assert!((mean(0) - expected(0)).abs() < 5.0 * 4.4 / 20_000f64.sqrt());
        assert!((mean(1) - expected(1)).abs() < 5.0 * 2.6 / 20_000f64.sqrt());
        let right = samples.iter().filter(|x| x[0] > 0.5);
        let slope: Vec<(f64, f64)> = right.map(|x| (x[0] - 5.0, x[1] + 3.0)).collect();
        let covariance = slope.iter().map(|(a, b)| a * b).sum::<f64>() / slope.len() as f64;
        assert!((covariance - 0.8).abs() < 0.1, "{covariance}");
    }

    #[test]
    fn the_log_likelihood_never_falls() {
        for seed in 0..20 {
            let points = two_clouds(60, seed);
            for components in [1, 2, 5, 9] {
                let settings = MixtureSettings {
                    tolerance: 0.0,
                    ..MixtureSettings::new(components)
                };
                let fitted = GaussianMixture::fit(&points, &settings, seed).unwrap();
                let curve = &fitted.report().curve;
                assert!(
                    curve.windows(2).all(|w| w[1] > w[0] - 1e-4),
                    "seed {seed}: {curve:?}"
                );
            }
        }
    }

    #[test]
    fn odd_points() {
        // More components than points, one point, equal points, a constant coordinate.
        for (rows, components, left) in [
            (vec![[1.0, 2.0], [3.0, 4.0]], 10, 2),
            (vec![[1.0, 2.0]], 3, 1),
            (vec![[1.0, 2.0]; 5], 3, 3),
            (vec![[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]], 2, 2),
        ] {
            let points = DenseMatrix::new(rows.len(), 2, rows.concat()).unwrap();
            let fitted =
                GaussianMixture::fit(&points, &MixtureSettings::new(components), 1).unwrap();
            assert_eq!(fitted.report().components, left);
            let x = fitted.sample(&mut stream(1, "mixture test", 2));
            assert!(x.iter().all(|v| v.is_finite()) && fitted.log_density(&x).is_finite());
        }
        let refusal = |points: &DenseMatrix<f64>, settings| {
            GaussianMixture::fit(points, &settings, 1)
                .unwrap_err()
                .to_string()
        };
        let none = DenseMatrix::new(0, 2, vec![]).unwrap();
        assert_eq!(
            refusal(&none, MixtureSettings::new(1)),
            "mixture: 0 points of 2 numbers, at least one is needed"
        );
        let nan = matrix(&[&[0.0, 1.0], &[f64::NAN, 0.0]]);
        assert_eq!(
            refusal(&nan, MixtureSettings::new(1)),
            "mixture: point 1 has a value of NaN"
        );
        let one = matrix(&[&[0.0]]);
        assert!(refusal(&one, MixtureSettings::new(0)).contains("at least one component"));
        let settings = MixtureSettings {
            regularisation: 0.0,
            ..MixtureSettings::new(1)
        };
        assert!(refusal(&one, settings).contains("the second above 0"));
        let e = GaussianMixture::fit_from(&one, &MixtureSettings::new(1), &[1])
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("an initialisation by 1 clusters needs the cluster of each of 1 points"),
            "{e}"
        );
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let points = two_clouds(500, 4);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                GaussianMixture::fit(&points, &MixtureSettings::new(4), 5)
                    .unwrap()
                    .report()
                    .clone()
            })
        };
        assert_eq!(run(1), run(3));
    }
}
