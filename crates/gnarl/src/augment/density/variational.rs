//! Gaussian mixtures by variational Bayes (Bishop 2006, section 10.2; Blei and Jordan 2006,
//! [doi:10.1214/06-BA104](https://doi.org/10.1214/06-BA104)).
//!
//! The weights come from a truncated stick-breaking process, and each component has a normal-Wishart
//! prior with the mean and the covariance of all points. Components that the points do not need end
//! with a weight near zero. The priors, the order of the steps and the lower bound are those of
//! scikit-learn's `BayesianGaussianMixture` with its defaults. Samples and densities are those of the
//! mixture with the posterior's mean weights, means and covariances.

use gnarl_graph::community::{KMeans, kmeans};
use gnarl_graph::settings::Settings;
use gnarl_graph::{DenseMatrix, Error, Result};
use serde::{Deserialize, Serialize};

use super::gaussian::{deviations, mean};
use super::gaussian_mixture::{Component, maximise, responsibilities};
use super::special::{digamma, ln_beta, ln_gamma};
use super::{Components, Estimator, FitReport, FittedDensity, GaussianMixture, MixtureSettings};

/// Fits a Gaussian mixture to each class by variational Bayes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(deny_unknown_fields)]
#[choice(
    name = "variational",
    about = "Gaussian mixture by variational Bayes",
    constant
)]
pub struct Variational {
    /// Largest number of components, or auto for 10.
    #[setting(default = Components::Auto)]
    pub components: Components,
}

/// Largest number of components for `auto`: the prior empties those that are not needed.
pub const MOST: usize = 10;

impl Estimator for Variational {
    fn fit(
        &self,
        points: &DenseMatrix<f64>,
        _: &DenseMatrix<f64>,
        seed: u64,
    ) -> Result<Box<dyn FittedDensity>> {
        let most = match self.components {
            Components::Fixed(count) => count,
            Components::Auto => MOST,
        };
        let settings = MixtureSettings::new(most);
        settings.check(points)?;
        let start = kmeans(
            points,
            &KMeans::new(most.min(points.num_rows())).with_n_init(1),
            seed,
        )?;
        Ok(Box::new(fit_from(points, &settings, &start.of)?))
    }
}

/// The prior of every Gaussian.
struct Prior {
    mean: Vec<f64>,
    /// Covariance of all points, by rows.
    covariance: Vec<f64>,
    /// Prior count of a piece of the stick, in addition to its points.
    concentration: f64,
}

/// Number of points that the prior's mean counts as.
const MEAN_PRECISION: f64 = 1.0;

/// Posterior of the Gaussians after an iteration.
struct Posterior {
    /// Both parameters of each break of the stick.
    sticks: Vec<(f64, f64)>,
    mean_precisions: Vec<f64>,
    degrees: Vec<f64>,
    /// Means and expected covariances, with weight one.
    gaussians: Vec<Component>,
}

/// Fits a mixture from an initial cluster for each point. O(points · components · dim²) per
/// iteration.
pub fn fit_from(
    points: &DenseMatrix<f64>,
    settings: &MixtureSettings,
    clusters: &[u32],
) -> Result<GaussianMixture> {
    settings.check(points)?;
    let (n, d) = (points.num_rows(), points.num_cols());
    let count = settings.components.min(n);
    if clusters.len() != n || clusters.iter().any(|&c| c as usize >= count) {
        let what = format!(
            "an initialisation by {count} clusters needs the cluster of each of {n} points"
        );
        return Err(Error::argument("variational mixture", what));
    }
    let prior = Prior::of(points, count, settings.regularisation);
    let mut shares = vec![0f64; n * count];
    clusters
        .iter()
        .enumerate()
        .for_each(|(i, &c)| shares[i * count + c as usize] = 1.0);
    let mut posterior = Posterior::of(points, &shares, &prior, count, settings.regularisation)?;
    let (mut curve, mut converged) = (Vec::new(), false);
    for _ in 0..settings.max_iterations {
        responsibilities(points, &posterior.expected(d), &mut shares);
        posterior = Posterior::of(points, &shares, &prior, count, settings.regularisation)?;
        curve.push(posterior.lower_bound(&shares, d));
        if let [.., before, now] = curve[..]
            && (now - before).abs() < settings.tolerance
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
    posterior.into_mixture(report)
}

impl Prior {
    fn of(points: &DenseMatrix<f64>, count: usize, lambda: f64) -> Self {
        let (n, d) = (points.num_rows(), points.num_cols());
        let mean = mean(points);
        let about = deviations(points, &mean);
        let mut covariance = vec![0f64; d * d];
        for i in 0..n {
            let row = about.row(i);
            for (a, x) in row.iter().enumerate() {
                covariance[a * d..(a + 1) * d]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(s, y)| *s += x * y);
            }
        }
        covariance
            .iter_mut()
            .for_each(|s| *s /= (n - 1).max(1) as f64);
        // With a constant coordinate, a Gaussian without points would be singular.
        (0..d).for_each(|a| covariance[a * d + a] += lambda);
        Self {
            mean,
            covariance,
            concentration: 1.0 / count as f64,
        }
    }
}

impl Posterior {
    fn of(
        points: &DenseMatrix<f64>,
        shares: &[f64],
        prior: &Prior,
        count: usize,
        lambda: f64,
    ) -> Result<Self> {
        let (n, d) = (points.num_rows() as f64, points.num_cols());
        let found = maximise(points, shares, count, lambda)?;
        let sizes: Vec<f64> = found.iter().map(|c| c.weight * n).collect();
        let mut behind = 0.0;
        let mut sticks: Vec<(f64, f64)> = Vec::with_capacity(count);
        for size in sizes.iter().rev() {
            sticks.push((1.0 + size, prior.concentration + behind));
            behind += size;
        }
        sticks.reverse();
        let (mut mean_precisions, mut degrees, mut gaussians) =
            (Vec::new(), Vec::new(), Vec::new());
        for (component, size) in found.iter().zip(&sizes) {
            let precision = MEAN_PRECISION + size;
            let freedom = d as f64 + size;
            let pulled = |(own, all): (&f64, &f64)| (MEAN_PRECISION * all + size * own) / precision;
            let mean = component.mean.iter().zip(&prior.mean).map(pulled).collect();
            let away: Vec<f64> = component
                .mean
                .iter()
                .zip(&prior.mean)
                .map(|(own, all)| own - all)
                .collect();
            let pull = size * MEAN_PRECISION / precision;
            let entry = |at: usize| {
                let spread = pull * away[at / d] * away[at % d];
                (prior.covariance[at] + size * component.covariance[at] + spread) / freedom
            };
            gaussians.push(Component::new(1.0, mean, (0..d * d).map(entry).collect())?);
            mean_precisions.push(precision);
            degrees.push(freedom);
        }
        Ok(Self {
            sticks,
            mean_precisions,
            degrees,
            gaussians,
        })
    }

    /// Returns the Gaussians with the expected logarithms of their weights and precisions in the
    /// place of the logarithms themselves.
    fn expected(&self, d: usize) -> Vec<Component> {
        let mut left = 0.0;
        let one = |k: usize| {
            let (a, b) = self.sticks[k];
            let both = digamma(a + b);
            let log_weight = digamma(a) - both + left;
            left += digamma(b) - both;
            let freedom = self.degrees[k];
            let spread: f64 = (0..d).map(|i| digamma(0.5 * (freedom - i as f64))).sum();
            let log_lambda = d as f64 * 2f64.ln() + spread;
            let offset = log_weight - 0.5 * d as f64 * freedom.ln()
                + 0.5 * (log_lambda - d as f64 / self.mean_precisions[k]);
            self.gaussians[k].raised(offset)
        };
        (0..self.gaussians.len()).map(one).collect()
    }

    /// Returns the lower bound on the log-likelihood of all points, up to a constant of the priors.
    fn lower_bound(&self, shares: &[f64], d: usize) -> f64 {
        let entropy: f64 = -shares
            .iter()
            .filter(|share| **share > 0.0)
            .map(|share| share * share.ln())
            .sum::<f64>();
        let wishart = |k: usize| {
            let freedom = self.degrees[k];
            let log_root =
                -0.5 * self.gaussians[k].log_determinant() - 0.5 * d as f64 * freedom.ln();
            let gammas: f64 = (0..d).map(|i| ln_gamma(0.5 * (freedom - i as f64))).sum();
            -(freedom * log_root + freedom * d as f64 * 0.5 * 2f64.ln() + gammas)
        };
        let norms: f64 = (0..self.gaussians.len()).map(wishart).sum();
        let sticks: f64 = self.sticks.iter().map(|&(a, b)| ln_beta(a, b)).sum();
        let precisions: f64 = self.mean_precisions.iter().map(|p| p.ln()).sum();
        entropy - norms + sticks - 0.5 * d as f64 * precisions
    }

    /// Returns the mixture of the mean weights, means and covariances.
    fn into_mixture(self, report: FitReport) -> Result<GaussianMixture> {
        let mut left = 1.0;
        let piece = |&(a, b): &(f64, f64)| {
            let weight = left * a / (a + b);
            left *= b / (a + b);
            weight
        };
        let weights: Vec<f64> = self.sticks.iter().map(piece).collect();
        let total: f64 = weights.iter().sum();
        let parts = self.gaussians.into_iter().zip(weights);
        let components = parts
            .map(|(c, weight)| Component::new(weight / total, c.mean, c.covariance))
            .collect::<Result<_>>()?;
        Ok(GaussianMixture::of_components(components, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn unneeded_components_get_no_weight() {
        let rng = &mut stream(1, "variational test", 0);
        let at = |i: usize| [8.0, -8.0][i % 2];
        let data: Vec<f64> = (0..800)
            .map(|i| {
                at(i / 2) + <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng)
            })
            .collect();
        let points = DenseMatrix::new(400, 2, data).unwrap();
        let fitted = Variational::DEFAULT.fit(&points, &points, 3).unwrap();
        assert_eq!(fitted.report().components, 10);
        let clusters: Vec<u32> = (0..400).map(|i| i % 10).collect();
        let mixture = fit_from(
            &points,
            &MixtureSettings {
                max_iterations: 500,
                ..MixtureSettings::new(10)
            },
            &clusters,
        )
        .unwrap();
        let heavy = mixture
            .components()
            .iter()
            .filter(|c| c.weight > 0.05)
            .count();
        assert!(heavy < 10, "{heavy} of ten have weight");
        let curve = &mixture.report().curve;
        assert!(
            curve.windows(2).all(|w| w[1] > w[0] - 1e-3),
            "the bound falls: {curve:?}"
        );
    }

    #[test]
    fn odd_points() {
        for rows in [
            vec![[1.0, 2.0]],
            vec![[1.0, 2.0]; 5],
            vec![[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]],
        ] {
            let points = DenseMatrix::new(rows.len(), 2, rows.concat()).unwrap();
            let fitted = Variational::DEFAULT.fit(&points, &points, 1).unwrap();
            let x = fitted.sample(&mut stream(1, "variational test", 1));
            assert!(x.iter().all(|v| v.is_finite()), "{x:?}");
        }
        let one = DenseMatrix::new(1, 1, vec![0.0]).unwrap();
        let e = fit_from(&one, &MixtureSettings::new(1), &[1])
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with("variational mixture: an initialisation by 1 clusters"),
            "{e}"
        );
        let nan = DenseMatrix::new(1, 1, vec![f64::NAN]).unwrap();
        assert!(Variational::DEFAULT.fit(&nan, &nan, 1).is_err());
    }
}
