//! Uniform perturbations of features: samples of `Z` with `max_i ||Z_i||_p <= epsilon`.
//!
//! That set is a product of balls, one for each row, so a uniform point consists of a uniform point
//! of each ball. A uniform point of an L_p ball in K dimensions is a direction times a radius
//! `epsilon u^(1/K)`. The direction is that of a vector of independent coordinates with density
//! `exp(-|t|^p)` (Schechtman and Zinn 1990; Barthe et al. 2005), and for p = infinity that of a
//! point of a cube's surface.
//!
//! [`Sampler::Thesis`] is the stratified sampler described for GCORN ([Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2404.17947)). It samples the largest of the rows' norms with the
//! density of a single row's norm. Its directions, from a random partition of [0, 1], are uniform
//! for p = 1 and p = infinity alone.

use gnarl_graph::random::Rng;
use gnarl_graph::{DenseMatrix, Error, Features, Result, named};
use rand::RngExt;
use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};

use super::Norm;

named! {
    /// Sampler of the points of a ball.
    #[derive(Default)]
    pub enum Sampler as "sampler" {
        /// Uniform distribution.
        #[default]
        Exact = "exact",
        /// Stratified sampler described for GCORN, which reproduces its figures.
        Thesis = "thesis",
    }
}

/// Largest radius. Features are single precision, whose range ends at 3.4e38. The square root
/// leaves a network the same range for its products, so that no sum of them overflows, and no ReLU
/// turns an overflow into zero.
pub const LARGEST_RADIUS: f64 = 1e19;

/// Checks that a radius is valid and within the range of single precision.
pub fn check_radius(epsilon: f64) -> Result<()> {
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        let what = format!("epsilon {epsilon} must be a finite number of at least 0");
        return Err(Error::argument("perturbation", what));
    }
    if epsilon > LARGEST_RADIUS {
        let what = format!(
            "epsilon {epsilon:e} is beyond single precision: at most {LARGEST_RADIUS:e} is allowed"
        );
        return Err(Error::argument("perturbation", what));
    }
    Ok(())
}

/// Perturbations whose every row has norm at most epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    norm: Norm,
    epsilon: f64,
    sampler: Sampler,
}

impl Ball {
    /// Fails for a radius below 0, not finite or above [`LARGEST_RADIUS`], and for a p below 1.
    pub fn new(norm: Norm, epsilon: f64, sampler: Sampler) -> Result<Self> {
        check_radius(epsilon)?;
        norm.check()?;
        Ok(Self {
            norm,
            epsilon,
            sampler,
        })
    }

    /// Returns the norm of a row.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// Returns the radius.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Returns the sampler.
    pub fn sampler(&self) -> Sampler {
        self.sampler
    }

    /// Samples the norms of `rows` rows of `dim` entries: independent, or, in [`Sampler::Thesis`],
    /// all below the norm of one of them.
    pub fn radii(&self, rows: usize, dim: usize, rng: &mut Rng) -> Vec<f64> {
        let mut radius = |most: f64| most * rng.random::<f64>().powf(1.0 / dim.max(1) as f64);
        match self.sampler {
            Sampler::Exact => (0..rows).map(|_| radius(self.epsilon)).collect(),
            Sampler::Thesis => {
                let largest = radius(self.epsilon);
                let mut radii: Vec<f64> = (0..rows).map(|_| radius(largest)).collect();
                if rows > 0 {
                    radii[rng.random_range(0..rows)] = largest;
                }
                radii
            }
        }
    }

    /// Samples a row of norm `radius`.
    pub fn fill_row(&self, radius: f64, row: &mut [f64], rng: &mut Rng) {
        if row.is_empty() {
            return;
        }
        match (self.norm, self.sampler) {
            (Norm::Infinity, _) => {
                row.iter_mut()
                    .for_each(|z| *z = 2.0 * rng.random::<f64>() - 1.0);
                let outermost = rng.random_range(0..row.len());
                row[outermost] = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
                row.iter_mut().for_each(|z| *z *= radius);
                return;
            }
            (Norm::P(p), Sampler::Thesis) => {
                // The parts of [0, 1] between sorted uniforms are exponentials divided by their
                // sum.
                row.iter_mut().for_each(|z| *z = rng.sample::<f64, _>(Exp1));
                let total: f64 = row.iter().sum();
                row.iter_mut().for_each(|z| *z = (*z / total).powf(1.0 / p));
                with_signs(row, rng);
            }
            (Norm::P(2.0), _) => row.iter_mut().for_each(|z| *z = rng.sample(StandardNormal)),
            (Norm::P(1.0), _) => {
                row.iter_mut().for_each(|z| *z = rng.sample(Exp1));
                with_signs(row, rng);
            }
            (Norm::P(p), _) => {
                // |t|^p has the law Gamma(1/p), which is Gamma(1 + 1/p) times u^p: one power less.
                let larger = Gamma::new(1.0 + 1.0 / p, 1.0).expect("p is at least 1 and finite");
                row.iter_mut()
                    .for_each(|z| *z = larger.sample(rng).powf(1.0 / p) * rng.random::<f64>());
                with_signs(row, rng);
            }
        }
        let length = self.norm.of(row.iter().copied());
        // All coordinates are zero with probability zero, and then any point is as good.
        let scale = if length > 0.0 { radius / length } else { 0.0 };
        row.iter_mut().for_each(|z| *z *= scale);
    }

    /// Samples rows of these norms, one after another, into `out`.
    pub fn fill_rows(&self, radii: &[f64], out: &mut [f32], rng: &mut Rng) {
        let dim = out.len() / radii.len().max(1);
        let mut row = vec![0.0; dim];
        for (out, &radius) in out.chunks_exact_mut(dim.max(1)).zip(radii) {
            self.fill_row(radius, &mut row, rng);
            out.iter_mut().zip(&row).for_each(|(o, z)| *o = *z as f32);
        }
    }

    /// Returns features perturbed by a point of the ball.
    pub fn sample_around(&self, features: &Features, rng: &mut Rng) -> DenseMatrix<f32> {
        let mut moved = features.to_dense();
        let radii = self.radii(moved.num_rows(), moved.num_cols(), rng);
        let mut row = vec![0.0; moved.num_cols()];
        for (i, radius) in radii.into_iter().enumerate() {
            self.fill_row(radius, &mut row, rng);
            moved
                .row_mut(i)
                .iter_mut()
                .zip(&row)
                .for_each(|(x, z)| *x += *z as f32);
        }
        moved
    }
}

fn with_signs(row: &mut [f64], rng: &mut Rng) {
    for signed in row.chunks_mut(64) {
        let mut bits: u64 = rng.random();
        for z in signed {
            *z = if bits & 1 == 1 { -*z } else { *z };
            bits >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{critical, kolmogorov, kolmogorov_two};
    use gnarl_graph::random::stream;

    const SAMPLES: usize = 6000;
    const NORMS: [Norm; 4] = [Norm::L1, Norm::L2, Norm::P(3.0), Norm::Infinity];

    fn rows(norm: Norm, sampler: Sampler, dim: usize, seed: u64) -> Vec<Vec<f64>> {
        let ball = Ball::new(norm, 2.5, sampler).unwrap();
        let rng = &mut stream(seed, "ball test", 0);
        let mut row = vec![0.0; dim];
        let mut sample = || {
            let radius = ball.radii(1, dim, rng)[0];
            ball.fill_row(radius, &mut row, rng);
            row.clone()
        };
        (0..SAMPLES).map(|_| sample()).collect()
    }

    #[test]
    fn radii_have_the_law_of_a_ball() {
        for norm in NORMS {
            for dim in [1, 2, 5, 40] {
                let radii: Vec<f64> = rows(norm, Sampler::Exact, dim, 1)
                    .iter()
                    .map(|row| norm.of(row.iter().copied()) / 2.5)
                    .collect();
                assert!(radii.iter().all(|&r| r <= 1.0 + 1e-12), "p = {norm}");
                let gap = kolmogorov(&radii, |r| r.powi(dim as i32));
                assert!(
                    gap < critical(SAMPLES),
                    "p = {norm}, {dim} dimensions: {gap}"
                );
            }
        }
    }

    /// In p + 1 dimensions a coordinate's `|z|^p` has the law Beta(1/p, 2):
    /// `P(|z| <= t) = t (1 + 1/p - t^p / p)`.
    #[test]
    fn coordinates_have_the_law_of_a_uniform_point() {
        for norm in NORMS {
            let (dim, cdf): (usize, Box<dyn Fn(f64) -> f64>) = match norm {
                Norm::P(p) => (
                    p as usize + 1,
                    Box::new(move |t: f64| t * (1.0 + 1.0 / p - t.powf(p) / p)),
                ),
                Norm::Infinity => (4, Box::new(|t| t)),
            };
            let sampled = rows(norm, Sampler::Exact, dim, 2);
            for j in 0..dim {
                let sizes: Vec<f64> = sampled.iter().map(|row| row[j].abs() / 2.5).collect();
                let gap = kolmogorov(&sizes, &cdf);
                assert!(gap < critical(SAMPLES), "p = {norm}, coordinate {j}: {gap}");
                let positive =
                    sampled.iter().filter(|row| row[j] > 0.0).count() as f64 / SAMPLES as f64;
                assert!(
                    (positive - 0.5).abs() < 0.03,
                    "p = {norm}, coordinate {j}: {positive} are positive"
                );
            }
        }
    }

    /// The random partition of [0, 1] is correct for p = 1 and the cube, and visibly wrong for p =
    /// 2 and 3.
    #[test]
    fn the_thesis_directions_are_uniform_for_one_and_infinity_alone() {
        for (norm, right) in NORMS.into_iter().zip([true, false, false, true]) {
            let first = |sampler, seed| -> Vec<f64> {
                rows(norm, sampler, 8, seed)
                    .iter()
                    .map(|row| row[0].abs())
                    .collect()
            };
            let gap = kolmogorov_two(&first(Sampler::Thesis, 3), &first(Sampler::Exact, 4));
            let limit = critical(SAMPLES / 2);
            assert_eq!(gap < limit, right, "p = {norm}: {gap} against {limit}");
            let norms = rows(norm, Sampler::Thesis, 8, 5);
            assert!(
                norms
                    .iter()
                    .all(|row| norm.of(row.iter().copied()) <= 2.5 + 1e-9),
                "p = {norm} leaves its ball"
            );
        }
    }

    /// The largest norm of 50 uniform rows has density 50 K r^(50 K - 1), not K r^(K - 1).
    #[test]
    fn the_largest_of_many_rows() {
        let largest = |sampler| -> Vec<f64> {
            let ball = Ball::new(Norm::L2, 1.0, sampler).unwrap();
            let rng = &mut stream(6, "ball test", 0);
            (0..SAMPLES)
                .map(|_| ball.radii(50, 3, rng).into_iter().fold(0.0, f64::max))
                .collect()
        };
        assert!(kolmogorov(&largest(Sampler::Exact), |r| r.powi(150)) < critical(SAMPLES));
        assert!(kolmogorov(&largest(Sampler::Thesis), |r| r.powi(3)) < critical(SAMPLES));
    }

    #[test]
    fn invalid_radii_and_norms_are_refused() {
        for epsilon in [-1.0, f64::NAN, f64::INFINITY] {
            let e = Ball::new(Norm::L2, epsilon, Sampler::Exact)
                .unwrap_err()
                .to_string();
            assert!(
                e.contains(&format!(
                    "epsilon {epsilon} must be a finite number of at least 0"
                )),
                "{e}"
            );
        }
        assert!(
            Ball::new(Norm::P(0.5), 1.0, Sampler::Exact)
                .unwrap_err()
                .to_string()
                .contains("at least 1")
        );
        let e = Ball::new(Norm::L2, 1e40, Sampler::Exact)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "perturbation: epsilon 1e40 is beyond single precision: at most 1e19 is allowed"
        );
        assert!(Ball::new(Norm::L2, LARGEST_RADIUS, Sampler::Exact).is_ok());
        let zero = Ball::new(Norm::P(3.0), 0.0, Sampler::Exact).unwrap();
        let rng = &mut stream(1, "ball test", 0);
        let mut row = [1.0; 4];
        zero.fill_row(zero.radii(1, 4, rng)[0], &mut row, rng);
        assert_eq!(row, [0.0; 4]);
    }

    #[test]
    fn features_stay_in_the_ball_around_them_and_leave_their_place() {
        let features =
            Features::Dense(DenseMatrix::new(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap());
        let ball = Ball::new(Norm::L1, 0.5, Sampler::Exact).unwrap();
        let moved = ball.sample_around(&features, &mut stream(2, "ball test", 0));
        for i in 0..3 {
            let apart = (0..2).map(|j| f64::from(moved.row(i)[j] - (2 * i + j + 1) as f32));
            let distance = Norm::L1.of(apart);
            assert!(
                distance > 1e-3 && distance <= 0.5 + 1e-6,
                "row {i}: {distance}"
            );
        }
        // The same samples, one after another.
        let rng = &mut stream(2, "ball test", 0);
        let mut noise = [0f32; 6];
        ball.fill_rows(&ball.radii(3, 2, rng), &mut noise, rng);
        let apart = |(k, z): (usize, &f32)| (moved.data()[k] - (k + 1) as f32 - z).abs();
        assert!(
            noise.iter().enumerate().map(apart).all(|d| d < 1e-6),
            "{noise:?}"
        );
    }
}
