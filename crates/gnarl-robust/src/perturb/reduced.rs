//! Direct sampling of a uniform point of an L2 ball in the subspace that a network's first linear
//! maps use.
//!
//! A network that first maps K features linearly depends on a row z only through its h coordinates
//! in the row space of those maps. A uniform z is `epsilon u^(1/K) g / |g|` with g Gaussian in any
//! orthonormal basis. It suffices to sample h coordinates of g in that space, and only the sum of
//! squares of the other K - h, which is chi-square. The distribution of the coordinates is exact,
//! and a row costs h samples instead of K.

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Result};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Exp1, StandardNormal};

use super::ball::check_radius;
use gnarl_tensor::elementary::standard_normals;

/// L2 ball projected onto some coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReducedBall {
    epsilon: f64,
    features: usize,
    dim: usize,
}

/// Further values of a row that was sampled by [`ReducedBall::row_and_beyond`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowDetails {
    /// Coordinate along one unit vector orthogonal to the coordinates' space; zero if that space is
    /// the whole space.
    pub along: f64,
    /// Squared norm of the whole row.
    pub squared_norm: f64,
}

impl ReducedBall {
    /// Builds the projection of rows of `features` entries onto `dim` coordinates.
    pub fn new(epsilon: f64, features: usize, dim: usize) -> Result<Self> {
        check_radius(epsilon)?;
        if dim > features {
            let what = format!(
                "{dim} coordinates of {features} features: there are no more than features"
            );
            return Err(Error::argument("perturbation", what));
        }
        Ok(Self {
            epsilon,
            features,
            dim,
        })
    }

    /// Samples the coordinates of a row.
    pub fn row(&self, coordinates: &mut [f32], rng: &mut Rng) {
        let mut beyond = chi_square(self.features - self.dim, rng);
        self.scaled(coordinates, &mut beyond, rng);
    }

    /// Samples the coordinates of a row, its coordinate along any one unit vector orthogonal to
    /// their space, and its squared norm. With x = x_projected + x_rest, the product `z · x` is
    /// that of the coordinates plus `along · |x_rest|`.
    pub fn row_and_beyond(&self, coordinates: &mut [f32], rng: &mut Rng) -> RowDetails {
        let rest = self.features - self.dim;
        let along: f64 = if rest > 0 {
            rng.sample(StandardNormal)
        } else {
            0.0
        };
        let mut beyond = along * along + chi_square(rest.saturating_sub(1), rng);
        let scale = self.scaled(coordinates, &mut beyond, rng);
        RowDetails {
            along: along * scale,
            squared_norm: beyond * scale * scale,
        }
    }

    /// Samples many rows at once as [`row_and_beyond`](Self::row_and_beyond) does, `[rows, dim]`:
    /// the same distribution from other samples, faster.
    pub fn rows_and_beyond(&self, coordinates: &mut [f32], rng: &mut Rng) -> Vec<RowDetails> {
        let rest = self.features - self.dim;
        let rows = coordinates.len() / self.dim.max(1);
        standard_normals(rng.random(), coordinates);
        let mut along = vec![0f32; if rest > 0 { rows } else { 0 }];
        standard_normals(rng.random(), &mut along);
        along.resize(rows, 0.0);
        let others = (rest > 1)
            .then(|| ChiSquared::new((rest - 1) as f64).expect("at least one degree of freedom"));
        let mut beyond = Vec::with_capacity(rows);
        for (row, along) in coordinates.chunks_exact_mut(self.dim.max(1)).zip(along) {
            let along = f64::from(along);
            let inside: f32 = row.iter().map(|z| z * z).sum();
            let squares =
                f64::from(inside) + along * along + others.map_or(0.0, |law| law.sample(rng));
            // u^(1/K) is exp(-e / K) with e exponential.
            let e: f64 = rng.sample(Exp1);
            let radius = self.epsilon * (-e / self.features.max(1) as f64).exp();
            let scale = if squares > 0.0 {
                radius / squares.sqrt()
            } else {
                0.0
            };
            row.iter_mut().for_each(|z| *z *= scale as f32);
            beyond.push(RowDetails {
                along: along * scale,
                squared_norm: squares * scale * scale,
            });
        }
        beyond
    }

    /// Samples the coordinates, adds their squares to `squares`, scales them, and returns the
    /// scale.
    fn scaled(&self, coordinates: &mut [f32], squares: &mut f64, rng: &mut Rng) -> f64 {
        debug_assert_eq!(coordinates.len(), self.dim);
        for z in coordinates.iter_mut() {
            let g: f64 = rng.sample(StandardNormal);
            *squares += g * g;
            *z = g as f32;
        }
        let radius = self.epsilon * rng.random::<f64>().powf(1.0 / self.features.max(1) as f64);
        let scale = if *squares > 0.0 {
            radius / squares.sqrt()
        } else {
            0.0
        };
        coordinates
            .iter_mut()
            .for_each(|z| *z = (f64::from(*z) * scale) as f32);
        scale
    }
}

/// Samples the sum of the squares of `count` standard Gaussians.
fn chi_square(count: usize, rng: &mut Rng) -> f64 {
    if count == 0 {
        return 0.0;
    }
    ChiSquared::new(count as f64)
        .expect("at least one degree of freedom")
        .sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perturb::{Ball, Norm, Sampler};
    use crate::testing::{critical, kolmogorov, kolmogorov_two};
    use gnarl_graph::random::stream;

    const SAMPLES: usize = 6000;

    /// Samples whole uniform points of the ball.
    fn whole_rows(dim: usize) -> Vec<Vec<f64>> {
        let ball = Ball::new(Norm::L2, 2.5, Sampler::Exact).unwrap();
        let rng = &mut stream(7, "ball test", 0);
        let mut row = vec![0.0; dim];
        let mut sample = || {
            let radius = ball.radii(1, dim, rng)[0];
            ball.fill_row(radius, &mut row, rng);
            row.clone()
        };
        (0..SAMPLES).map(|_| sample()).collect()
    }

    #[test]
    fn coordinates_have_the_law_of_a_projection() {
        let (features, dim) = (9, 3);
        let whole = whole_rows(features);
        let ball = ReducedBall::new(2.5, features, dim).unwrap();
        let rng = &mut stream(8, "ball test", 0);
        let (mut plain, mut beyond) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            let mut row = [0f32; 3];
            ball.row(&mut row, rng);
            plain.push(row.map(f64::from));
            let more = ball.row_and_beyond(&mut row, rng);
            beyond.push((row.map(f64::from), more));
        }
        let compare = |what: &str, reduced: Vec<f64>, of_whole: &dyn Fn(&[f64]) -> f64| {
            let full: Vec<f64> = whole.iter().map(|row| of_whole(row)).collect();
            let (gap, limit) = (kolmogorov_two(&reduced, &full), critical(SAMPLES / 2));
            assert!(gap < limit, "{what}: {gap} against {limit}");
        };
        let (l2, x) = (Norm::L2, [0.3, -1.0, 0.7]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        compare("a coordinate", plain.iter().map(|z| z[1]).collect(), &|z| {
            z[1]
        });
        compare(
            "the projected norm",
            plain.iter().map(|z| l2.of(*z)).collect(),
            &|z| l2.of(z[..3].iter().copied()),
        );
        compare(
            "the projected norm with more",
            beyond.iter().map(|(z, _)| l2.of(*z)).collect(),
            &|z| l2.of(z[..3].iter().copied()),
        );
        compare(
            "the whole norm",
            beyond.iter().map(|(_, b)| b.squared_norm).collect(),
            &|z| dot(z, z),
        );
        compare(
            "a product",
            beyond
                .iter()
                .map(|(z, b)| dot(z, &x) + 2.0 * b.along)
                .collect(),
            &|z| dot(&z[..3], &x) + 2.0 * z[5],
        );
        let share = |z: &[f64], along: f64, squares: f64| (dot(z, &x) + along) / squares.sqrt();
        compare(
            "a product over the norm",
            beyond
                .iter()
                .map(|(z, b)| share(z, b.along, b.squared_norm))
                .collect(),
            &|z| share(&z[..3], z[5], dot(z, z)),
        );
    }

    #[test]
    fn nothing_is_left_out_where_the_coordinates_are_all() {
        let ball = ReducedBall::new(1.0, 2, 2).unwrap();
        let rng = &mut stream(9, "ball test", 0);
        let mut row = [0f32; 2];
        let squares: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                let beyond = ball.row_and_beyond(&mut row, rng);
                assert_eq!(beyond.along, 0.0);
                assert!(
                    (beyond.squared_norm - f64::from(row[0] * row[0] + row[1] * row[1])).abs()
                        < 1e-6
                );
                beyond.squared_norm
            })
            .collect();
        assert!(
            kolmogorov(&squares, |s| s) < critical(SAMPLES),
            "in a disc r² is uniform"
        );
        let e = ReducedBall::new(1.0, 2, 3).unwrap_err().to_string();
        assert!(e.contains("3 coordinates of 2 features"), "{e}");
    }
}
