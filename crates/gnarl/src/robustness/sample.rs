//! Uniform perturbations of features: `Z` with `max_i ||Z_i||_p <= epsilon`.
//!
//! That set is a product of balls, one for each row, so a uniform point of it is a uniform point of each ball. A uniform
//! point of an L_p ball in K dimensions is a direction times a radius `epsilon u^(1/K)`; the direction is that of a vector of
//! independent coordinates with density `exp(-|t|^p)` (Schechtman and Zinn 1990; Barthe et al. 2005), and for p = infinity
//! that of a point of a cube's surface.
//!
//! The thesis draws the largest of the rows' norms with the density of a single row's, and its directions, from a random
//! partition of [0, 1], are uniform for p = 1 and p = infinity alone (erratum 9). That is [`Sampler::Thesis`].

use std::fmt;
use std::str::FromStr;

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Result};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Exp1, Gamma, StandardNormal};
use serde::{Serialize, Serializer};

use crate::tensor::elementary::standard_normals;

/// The norm of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Norm {
    /// `(Σ |z|^p)^(1/p)`, p at least 1.
    P(f64),
    /// The largest `|z|`.
    Infinity,
}

impl Norm {
    /// Of a row.
    pub fn of(self, row: &[f64]) -> f64 {
        match self {
            Norm::Infinity => row.iter().fold(0.0, |m, z| m.max(z.abs())),
            Norm::P(1.0) => row.iter().map(|z| z.abs()).sum(),
            Norm::P(2.0) => row.iter().map(|z| z * z).sum::<f64>().sqrt(),
            Norm::P(p) if p.fract() == 0.0 && p < 64.0 => {
                row.iter().map(|z| z.abs().powi(p as i32)).sum::<f64>().powf(1.0 / p)
            }
            Norm::P(p) => row.iter().map(|z| z.abs().powf(p)).sum::<f64>().powf(1.0 / p),
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Norm::P(p) => p.fmt(f),
            Norm::Infinity => f.write_str("inf"),
        }
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity") {
            return Ok(Norm::Infinity);
        }
        match name.parse::<f64>() {
            Ok(p) if p.is_finite() && p >= 1.0 => Ok(Norm::P(p)),
            _ => Err(Error::argument("norm", format!("'{name}' is not a number of at least 1, nor inf"))),
        }
    }
}

impl Serialize for Norm {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// How points of a ball are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampler {
    /// Uniformly.
    #[default]
    Exact,
    /// As the thesis' appendix does, for its figures.
    Thesis,
}

impl FromStr for Sampler {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name.to_lowercase().as_str() {
            "exact" => Ok(Sampler::Exact),
            "thesis" => Ok(Sampler::Thesis),
            _ => Err(Error::unknown("sampler", name, ["exact", "thesis"])),
        }
    }
}

/// Refuses a radius that is none.
pub(super) fn check_radius(epsilon: f64) -> Result<()> {
    if epsilon.is_finite() && epsilon >= 0.0 {
        return Ok(());
    }
    Err(Error::argument("robustness", format!("epsilon {epsilon} must be a finite number of at least 0")))
}

/// The perturbations whose every row has norm at most epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    norm: Norm,
    epsilon: f64,
    sampler: Sampler,
}

impl Ball {
    /// Refuses a radius below 0 or not finite, and a p below 1.
    pub fn new(norm: Norm, epsilon: f64, sampler: Sampler) -> Result<Self> {
        check_radius(epsilon)?;
        if let Norm::P(p) = norm
            && !(p.is_finite() && p >= 1.0)
        {
            return Err(Error::argument("robustness", format!("the norm's p is {p}, at least 1 is needed")));
        }
        Ok(Self { norm, epsilon, sampler })
    }

    /// The norm of a row.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// The radius.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// How it is drawn from.
    pub fn sampler(&self) -> Sampler {
        self.sampler
    }

    /// The norms of `rows` rows of `dim` entries: independent, or, in the thesis' sampler, all below that of one of them.
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

    /// A row of norm `radius`.
    pub fn fill_row(&self, radius: f64, row: &mut [f64], rng: &mut Rng) {
        if row.is_empty() {
            return;
        }
        match (self.norm, self.sampler) {
            (Norm::Infinity, _) => {
                row.iter_mut().for_each(|z| *z = 2.0 * rng.random::<f64>() - 1.0);
                let outermost = rng.random_range(0..row.len());
                row[outermost] = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
                row.iter_mut().for_each(|z| *z *= radius);
                return;
            }
            (Norm::P(p), Sampler::Thesis) => {
                // The parts of [0, 1] between sorted uniforms are exponentials divided by their sum.
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
                row.iter_mut().for_each(|z| *z = larger.sample(rng).powf(1.0 / p) * rng.random::<f64>());
                with_signs(row, rng);
            }
        }
        let length = self.norm.of(row);
        // All coordinates are zero with probability zero, and then any point is as good.
        let scale = if length > 0.0 { radius / length } else { 0.0 };
        row.iter_mut().for_each(|z| *z *= scale);
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

/// What a network hears of a uniform point of an L2 ball, drawn without drawing the rest.
///
/// A network that first maps K features linearly hears of a row z only its coordinates in the space those maps look at, h of
/// them ([`Reduced`](crate::classifier::Reduced)). A uniform z is `epsilon u^(1/K) g / |g|` with g Gaussian in any
/// orthonormal basis: take h coordinates of g in the heard space, and of the other K - h only the sum of their squares, which
/// is chi-square. The law of what is heard is exact, and a row costs h draws instead of K.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReducedBall {
    epsilon: f64,
    features: usize,
    heard: usize,
}

/// What else there is to know of a row that was drawn through [`ReducedBall::row_and_beyond`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beyond {
    /// The coordinate along one unit vector orthogonal to the heard space; zero where that space is all there is.
    pub along: f64,
    /// The squared norm of the whole row.
    pub squared_norm: f64,
}

impl ReducedBall {
    /// Rows of `features` entries, of which `heard` coordinates matter.
    pub fn new(epsilon: f64, features: usize, heard: usize) -> Result<Self> {
        check_radius(epsilon)?;
        if heard > features {
            let what = format!("{heard} coordinates heard of {features} features");
            return Err(Error::argument("robustness", what));
        }
        Ok(Self { epsilon, features, heard })
    }

    /// The heard coordinates of a row.
    pub fn row(&self, heard: &mut [f32], rng: &mut Rng) {
        let mut beyond = chi_square(self.features - self.heard, rng);
        self.scaled(heard, &mut beyond, rng);
    }

    /// The heard coordinates of a row, its coordinate along any one unit vector orthogonal to the heard space, and its squared
    /// norm: with x = x_heard + x_rest, the product `z · x` is that of the heard coordinates plus `along · |x_rest|`.
    pub fn row_and_beyond(&self, heard: &mut [f32], rng: &mut Rng) -> Beyond {
        let rest = self.features - self.heard;
        let along: f64 = if rest > 0 { rng.sample(StandardNormal) } else { 0.0 };
        let mut beyond = along * along + chi_square(rest.saturating_sub(1), rng);
        let scale = self.scaled(heard, &mut beyond, rng);
        Beyond { along: along * scale, squared_norm: beyond * scale * scale }
    }

    /// [`row_and_beyond`](Self::row_and_beyond) for many rows at once, `[rows, heard]`: the same law from other draws, faster.
    pub fn rows_and_beyond(&self, heard: &mut [f32], rng: &mut Rng) -> Vec<Beyond> {
        let rest = self.features - self.heard;
        let rows = heard.len() / self.heard.max(1);
        standard_normals(rng.random(), heard);
        let mut along = vec![0f32; if rest > 0 { rows } else { 0 }];
        standard_normals(rng.random(), &mut along);
        along.resize(rows, 0.0);
        let others = (rest > 1).then(|| ChiSquared::new((rest - 1) as f64).expect("at least one degree of freedom"));
        let mut beyond = Vec::with_capacity(rows);
        for (row, along) in heard.chunks_exact_mut(self.heard.max(1)).zip(along) {
            let along = f64::from(along);
            let inside: f32 = row.iter().map(|z| z * z).sum();
            let squares = f64::from(inside) + along * along + others.map_or(0.0, |law| law.sample(rng));
            // u^(1/K) is exp(-e / K) with e exponential.
            let e: f64 = rng.sample(Exp1);
            let radius = self.epsilon * (-e / self.features.max(1) as f64).exp();
            let scale = if squares > 0.0 { radius / squares.sqrt() } else { 0.0 };
            row.iter_mut().for_each(|z| *z *= scale as f32);
            beyond.push(Beyond { along: along * scale, squared_norm: squares * scale * scale });
        }
        beyond
    }

    /// Draws the heard coordinates, adds their squares to `squares`, scales them, and returns the scale.
    fn scaled(&self, heard: &mut [f32], squares: &mut f64, rng: &mut Rng) -> f64 {
        debug_assert_eq!(heard.len(), self.heard);
        for z in heard.iter_mut() {
            let g: f64 = rng.sample(StandardNormal);
            *squares += g * g;
            *z = g as f32;
        }
        let radius = self.epsilon * rng.random::<f64>().powf(1.0 / self.features.max(1) as f64);
        let scale = if *squares > 0.0 { radius / squares.sqrt() } else { 0.0 };
        heard.iter_mut().for_each(|z| *z = (f64::from(*z) * scale) as f32);
        scale
    }
}

/// The sum of the squares of `count` standard Gaussians.
fn chi_square(count: usize, rng: &mut Rng) -> f64 {
    if count == 0 {
        return 0.0;
    }
    ChiSquared::new(count as f64).expect("at least one degree of freedom").sample(rng)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{critical, kolmogorov, kolmogorov_two};
    use super::*;
    use gnarl_graph::random::stream;

    const DRAWS: usize = 6000;
    const NORMS: [Norm; 4] = [Norm::P(1.0), Norm::P(2.0), Norm::P(3.0), Norm::Infinity];

    /// 3, 4 and 12 to the power 2.5 are 15.588, 32 and 498.831, whose sum to the power 0.4 is 12.4454.
    #[test]
    fn norms_by_hand() {
        let row = [3.0, -4.0, 12.0];
        let expected = [(Norm::P(1.0), 19.0), (Norm::P(2.0), 13.0), (Norm::P(2.5), 12.445_4), (Norm::Infinity, 12.0)];
        for (norm, expected) in expected.into_iter().chain([(Norm::P(3.0), 1819f64.cbrt())]) {
            assert!((norm.of(&row) - expected).abs() < 1e-3, "{norm}: {}", norm.of(&row));
        }
    }

    fn rows(norm: Norm, sampler: Sampler, dim: usize, seed: u64) -> Vec<Vec<f64>> {
        let ball = Ball::new(norm, 2.5, sampler).unwrap();
        let rng = &mut stream(seed, "ball test", 0);
        let mut row = vec![0.0; dim];
        let mut draw = || {
            let radius = ball.radii(1, dim, rng)[0];
            ball.fill_row(radius, &mut row, rng);
            row.clone()
        };
        (0..DRAWS).map(|_| draw()).collect()
    }

    #[test]
    fn radii_have_the_law_of_a_ball() {
        for norm in NORMS {
            for dim in [1, 2, 5, 40] {
                let radii: Vec<f64> = rows(norm, Sampler::Exact, dim, 1).iter().map(|row| norm.of(row) / 2.5).collect();
                assert!(radii.iter().all(|&r| r <= 1.0 + 1e-12), "p = {norm}");
                let gap = kolmogorov(&radii, |r| r.powi(dim as i32));
                assert!(gap < critical(DRAWS), "p = {norm}, {dim} dimensions: {gap}");
            }
        }
    }

    /// In p + 1 dimensions a coordinate's `|z|^p` has the law Beta(1/p, 2): `P(|z| <= t) = t (1 + 1/p - t^p / p)`.
    #[test]
    fn coordinates_have_the_law_of_a_uniform_point() {
        for norm in NORMS {
            let (dim, cdf): (usize, Box<dyn Fn(f64) -> f64>) = match norm {
                Norm::P(p) => (p as usize + 1, Box::new(move |t: f64| t * (1.0 + 1.0 / p - t.powf(p) / p))),
                Norm::Infinity => (4, Box::new(|t| t)),
            };
            let drawn = rows(norm, Sampler::Exact, dim, 2);
            for j in 0..dim {
                let sizes: Vec<f64> = drawn.iter().map(|row| row[j].abs() / 2.5).collect();
                let gap = kolmogorov(&sizes, &cdf);
                assert!(gap < critical(DRAWS), "p = {norm}, coordinate {j}: {gap}");
                let positive = drawn.iter().filter(|row| row[j] > 0.0).count() as f64 / DRAWS as f64;
                assert!((positive - 0.5).abs() < 0.03, "p = {norm}, coordinate {j}: {positive} are positive");
            }
        }
    }

    /// The thesis' partition of [0, 1] is right for p = 1 and the cube, and visibly wrong for p = 2 and 3.
    #[test]
    fn the_thesis_directions_are_uniform_for_one_and_infinity_alone() {
        for (norm, right) in NORMS.into_iter().zip([true, false, false, true]) {
            let first =
                |sampler, seed| -> Vec<f64> { rows(norm, sampler, 8, seed).iter().map(|row| row[0].abs()).collect() };
            let gap = kolmogorov_two(&first(Sampler::Thesis, 3), &first(Sampler::Exact, 4));
            let limit = critical(DRAWS / 2);
            assert_eq!(gap < limit, right, "p = {norm}: {gap} against {limit}");
            let norms = rows(norm, Sampler::Thesis, 8, 5);
            assert!(norms.iter().all(|row| norm.of(row) <= 2.5 + 1e-9), "p = {norm} leaves its ball");
        }
    }

    /// Of 50 uniform rows the largest norm has density 50 K r^(50 K - 1), not K r^(K - 1).
    #[test]
    fn the_largest_of_many_rows() {
        let largest = |sampler| -> Vec<f64> {
            let ball = Ball::new(Norm::P(2.0), 1.0, sampler).unwrap();
            let rng = &mut stream(6, "ball test", 0);
            (0..DRAWS).map(|_| ball.radii(50, 3, rng).into_iter().fold(0.0, f64::max)).collect()
        };
        assert!(kolmogorov(&largest(Sampler::Exact), |r| r.powi(150)) < critical(DRAWS));
        assert!(kolmogorov(&largest(Sampler::Thesis), |r| r.powi(3)) < critical(DRAWS));
    }

    #[test]
    fn what_is_heard_has_the_law_of_a_projection() {
        let (features, heard) = (9, 3);
        let whole = rows(Norm::P(2.0), Sampler::Exact, features, 7);
        let ball = ReducedBall::new(2.5, features, heard).unwrap();
        let rng = &mut stream(8, "ball test", 0);
        let (mut plain, mut beyond) = (Vec::new(), Vec::new());
        for _ in 0..DRAWS {
            let mut row = [0f32; 3];
            ball.row(&mut row, rng);
            plain.push(row.map(f64::from));
            let more = ball.row_and_beyond(&mut row, rng);
            beyond.push((row.map(f64::from), more));
        }
        let compare = |what: &str, reduced: Vec<f64>, of_whole: &dyn Fn(&[f64]) -> f64| {
            let full: Vec<f64> = whole.iter().map(|row| of_whole(row)).collect();
            let (gap, limit) = (kolmogorov_two(&reduced, &full), critical(DRAWS / 2));
            assert!(gap < limit, "{what}: {gap} against {limit}");
        };
        let (l2, x) = (Norm::P(2.0), [0.3, -1.0, 0.7]);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        compare("a coordinate", plain.iter().map(|z| z[1]).collect(), &|z| z[1]);
        compare("the heard norm", plain.iter().map(|z| l2.of(z)).collect(), &|z| l2.of(&z[..3]));
        compare("the heard norm with more", beyond.iter().map(|(z, _)| l2.of(z)).collect(), &|z| l2.of(&z[..3]));
        compare("the whole norm", beyond.iter().map(|(_, b)| b.squared_norm).collect(), &|z| dot(z, z));
        compare("a product", beyond.iter().map(|(z, b)| dot(z, &x) + 2.0 * b.along).collect(), &|z| {
            dot(&z[..3], &x) + 2.0 * z[5]
        });
        let share = |z: &[f64], along: f64, squares: f64| (dot(z, &x) + along) / squares.sqrt();
        compare(
            "a product over the norm",
            beyond.iter().map(|(z, b)| share(z, b.along, b.squared_norm)).collect(),
            &|z| share(&z[..3], z[5], dot(z, z)),
        );
    }

    #[test]
    fn nothing_left_unheard() {
        let ball = ReducedBall::new(1.0, 2, 2).unwrap();
        let rng = &mut stream(9, "ball test", 0);
        let mut row = [0f32; 2];
        let squares: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let beyond = ball.row_and_beyond(&mut row, rng);
                assert_eq!(beyond.along, 0.0);
                assert!((beyond.squared_norm - f64::from(row[0] * row[0] + row[1] * row[1])).abs() < 1e-6);
                beyond.squared_norm
            })
            .collect();
        assert!(kolmogorov(&squares, |s| s) < critical(DRAWS), "in a disc r² is uniform");
        let e = ReducedBall::new(1.0, 2, 3).unwrap_err().to_string();
        assert!(e.contains("3 coordinates heard of 2 features"), "{e}");
    }

    #[test]
    fn radii_and_norms_that_mean_nothing_are_refused() {
        for epsilon in [-1.0, f64::NAN, f64::INFINITY] {
            let e = Ball::new(Norm::P(2.0), epsilon, Sampler::Exact).unwrap_err().to_string();
            assert!(e.contains(&format!("epsilon {epsilon} must be a finite number of at least 0")), "{e}");
        }
        assert!(Ball::new(Norm::P(0.5), 1.0, Sampler::Exact).unwrap_err().to_string().contains("at least 1"));
        for name in ["0.5", "nan", "two", "-1"] {
            let e = name.parse::<Norm>().unwrap_err().to_string();
            assert!(e.contains(&format!("'{name}' is not a number of at least 1, nor inf")), "{e}");
        }
        assert_eq!(["1", "2.5", "INF"].map(|n| n.parse::<Norm>().unwrap().to_string()), ["1", "2.5", "inf"]);
        let zero = Ball::new(Norm::P(3.0), 0.0, Sampler::Exact).unwrap();
        let rng = &mut stream(1, "ball test", 0);
        let mut row = [1.0; 4];
        zero.fill_row(zero.radii(1, 4, rng)[0], &mut row, rng);
        assert_eq!(row, [0.0; 4]);
    }
}
