//! Influence functions (Koh and Liang 2017, [arXiv:1703.04730](https://arxiv.org/abs/1703.04730);
//! GRATIN, [arXiv:2411.08638](https://arxiv.org/abs/2411.08638)): the effect of one more training
//! sample on the loss on a set, without training again.
//!
//! With a weight ε on the candidate's loss, the loss on a set moves by
//! `d ℓ_set / d ε = - g_setᵀ H⁻¹ g_candidate`. The gradients `g` and the Hessian `H` of the
//! training loss are taken at its minimum. The influence here is the average over the set with the
//! sign of GRATIN, `g_setᵀ H⁻¹ g_candidate`: positive if the candidate helps. A candidate added to
//! N training samples has `ε = 1 / N`.
//!
//! For the head, [`HeadInfluence`] is exact: `H` in closed form at the minimum found by Newton's
//! method, solved by Cholesky. If `H` is too large to store, it is only multiplied
//! ([`hessian_product`], a finite difference of gradients) and solved by [`conjugate_gradients`].
//! [`NetworkInfluence`](super::network_influence::NetworkInfluence) does so for whole networks,
//! with the positive semidefinite part of the Hessian.

use gnarl_graph::{DenseMatrix, Error, Result};
use gnarl_linalg::cholesky_solve;

const OP: &str = "influence";

/// Vectors with their classes.
#[derive(Debug, Clone, Copy)]
pub struct Labelled<'a> {
    /// The vectors, one per row.
    pub vectors: &'a DenseMatrix<f64>,
    /// Class of each row.
    pub classes: &'a [u32],
}

impl<'a> Labelled<'a> {
    fn rows(self) -> impl Iterator<Item = (&'a [f64], usize)> {
        (0..self.classes.len()).map(move |i| (self.vectors.row(i), self.classes[i] as usize))
    }

    fn check(self, what: &str, latent_dim: usize, num_classes: usize) -> Result<()> {
        let refuse = |what: String| Err(Error::argument(OP, what));
        if self.vectors.num_rows() != self.classes.len() {
            return refuse(format!(
                "{} {what} vectors, but {} classes",
                self.vectors.num_rows(),
                self.classes.len()
            ));
        }
        if self.vectors.num_cols() != latent_dim {
            return refuse(format!(
                "{what} vectors of {} numbers, not {latent_dim}",
                self.vectors.num_cols()
            ));
        }
        if let Some(class) = self
            .classes
            .iter()
            .find(|&&class| class as usize >= num_classes)
        {
            return refuse(format!(
                "a {what} vector of class {class}, but there are {num_classes} classes"
            ));
        }
        match self.vectors.data().iter().find(|x| !x.is_finite()) {
            Some(x) => refuse(format!("a {what} vector has a value of {x}")),
            None => Ok(()),
        }
    }
}

/// Softmax regression, `p(c | x) ∝ exp(w_c · x + b_c)`, at the minimum of
/// `mean cross-entropy + decay / 2 · ‖(w, b)‖²`: the limit of training a head without dropout.
#[derive(Debug, Clone)]
pub struct HeadInfluence {
    latent_dim: usize,
    num_classes: usize,
    decay: f64,
    /// The weights `w_c` and `b_c`, class by class.
    parameters: Vec<f64>,
    /// The Hessian, column-major.
    hessian: Vec<f64>,
}

/// Largest number of weights whose Hessian is stored: half a gigabyte, and most of a minute to
/// solve.
const MOST_WEIGHTS: usize = 1 << 13;
/// Largest number of Newton steps.
const NEWTON_STEPS: usize = 200;
/// Predicted gain of a step at the minimum, as a share of the loss.
const NEWTON_TOLERANCE: f64 = 1e-14;

impl HeadInfluence {
    /// Finds the minimum on training vectors. `decay` must be above 0: without it the minimum is
    /// not unique, since adding a number to all scores changes nothing. O(N C² d² + (C d)³) per
    /// step, with about ten steps.
    pub fn new(train: Labelled<'_>, num_classes: usize, decay: f64) -> Result<Self> {
        let latent_dim = train.vectors.num_cols();
        train.check("training", latent_dim, num_classes)?;
        if train.classes.is_empty() {
            return Err(Error::argument(OP, "there are no training vectors"));
        }
        if !(decay > 0.0 && decay.is_finite()) {
            return Err(Error::argument(
                OP,
                format!("weight decay must be > 0 for a unique minimum (got {decay})"),
            ));
        }
        let num_weights = num_classes * (latent_dim + 1);
        if num_weights > MOST_WEIGHTS {
            let what = format!(
                "a head of {num_weights} weights; the matrix of their second derivatives is too large above {MOST_WEIGHTS}: take fewer columns, or influence-layers network, which stores none"
            );
            return Err(Error::argument(OP, what));
        }
        let parameters = vec![0.0; num_weights];
        let mut head = Self {
            latent_dim,
            num_classes,
            decay,
            parameters,
            hessian: Vec::new(),
        };
        head.minimise(train)?;
        Ok(head)
    }

    /// Minimises by Newton's method with halved steps: the loss is strictly convex.
    fn minimise(&mut self, train: Labelled<'_>) -> Result<()> {
        let mut loss = self.objective(train);
        for _ in 0..NEWTON_STEPS {
            let gradient = self.objective_gradient(train);
            self.hessian = self.hessian_at(train);
            let step = self.solve(&gradient)?;
            let decrease = dot(&gradient, &step);
            if decrease <= NEWTON_TOLERANCE * (1.0 + loss) {
                return Ok(());
            }
            let from = self.parameters.clone();
            let mut length = 1.0;
            loop {
                self.parameters = from
                    .iter()
                    .zip(&step)
                    .map(|(p, s)| p - length * s)
                    .collect();
                let now = self.objective(train);
                if now <= loss - 1e-4 * length * decrease {
                    loss = now;
                    break;
                }
                length /= 2.0;
                if length < 1e-10 {
                    // The remaining gain is below rounding.
                    self.parameters = from;
                    return Ok(());
                }
            }
        }
        Err(Error::argument(
            OP,
            format!("the head's loss has no minimum within {NEWTON_STEPS} Newton steps"),
        ))
    }

    /// Returns `w_c` and then `b_c`, class by class.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Returns the Hessian of the training loss at the minimum, column-major.
    pub fn hessian(&self) -> &[f64] {
        &self.hessian
    }

    /// Returns the mean cross-entropy of vectors, without the decay.
    pub fn loss(&self, on: Labelled<'_>) -> Result<f64> {
        on.check("set", self.latent_dim, self.num_classes)?;
        Ok(self.mean_loss(on))
    }

    fn mean_loss(&self, on: Labelled<'_>) -> f64 {
        let one = |(x, class): (&[f64], usize)| -self.log_probabilities(x)[class];
        on.rows().map(one).sum::<f64>() / on.classes.len().max(1) as f64
    }

    fn objective(&self, train: Labelled<'_>) -> f64 {
        self.mean_loss(train) + self.decay / 2.0 * dot(&self.parameters, &self.parameters)
    }

    fn objective_gradient(&self, train: Labelled<'_>) -> Vec<f64> {
        let mut gradient = self.mean_gradient(train);
        gradient
            .iter_mut()
            .zip(&self.parameters)
            .for_each(|(g, p)| *g += self.decay * p);
        gradient
    }

    fn log_probabilities(&self, x: &[f64]) -> Vec<f64> {
        let width = self.latent_dim + 1;
        let score = |w: &[f64]| dot(&w[..self.latent_dim], x) + w[self.latent_dim];
        let scores: Vec<f64> = self.parameters.chunks(width).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = scores.iter().map(|s| (s - largest).exp()).sum::<f64>().ln();
        scores.iter().map(|s| s - largest - log_sum).collect()
    }

    /// Returns the gradient of one vector's loss by the class scores: `p - one-hot(class)`.
    fn residual(&self, x: &[f64], class: usize) -> Vec<f64> {
        let mut residual: Vec<f64> = self
            .log_probabilities(x)
            .into_iter()
            .map(f64::exp)
            .collect();
        residual[class] -= 1.0;
        residual
    }

    fn mean_gradient(&self, on: Labelled<'_>) -> Vec<f64> {
        let width = self.latent_dim + 1;
        let mut gradient = vec![0.0; self.parameters.len()];
        for (x, class) in on.rows() {
            for (row, r) in gradient.chunks_mut(width).zip(self.residual(x, class)) {
                row[..self.latent_dim]
                    .iter_mut()
                    .zip(x)
                    .for_each(|(g, x)| *g += r * x);
                row[self.latent_dim] += r;
            }
        }
        gradient
            .iter_mut()
            .for_each(|g| *g /= on.classes.len().max(1) as f64);
        gradient
    }

    /// Returns `mean of (diag(p) - p pᵀ) ⊗ (x, 1)(x, 1)ᵀ + decay · I`, on and below the diagonal.
    fn hessian_at(&self, train: Labelled<'_>) -> Vec<f64> {
        let (width, size) = (self.latent_dim + 1, self.parameters.len());
        let mut hessian = vec![0.0; size * size];
        for (x, _) in train.rows() {
            let p: Vec<f64> = self
                .log_probabilities(x)
                .into_iter()
                .map(f64::exp)
                .collect();
            let with_one = |j: usize| if j < self.latent_dim { x[j] } else { 1.0 };
            for a in 0..self.num_classes {
                for b in a..self.num_classes {
                    let both = if a == b {
                        p[a] * (1.0 - p[a])
                    } else {
                        -p[a] * p[b]
                    };
                    for j in 0..width {
                        let column = &mut hessian[(a * width + j) * size + b * width..][..width];
                        let scale = both * with_one(j);
                        column[..self.latent_dim]
                            .iter_mut()
                            .zip(x)
                            .for_each(|(h, x)| *h += scale * x);
                        column[self.latent_dim] += scale;
                    }
                }
            }
        }
        let count = train.classes.len().max(1) as f64;
        hessian.iter_mut().for_each(|h| *h /= count);
        (0..size).for_each(|i| hessian[i * size + i] += self.decay);
        for column in 0..size {
            for row in 0..column {
                hessian[column * size + row] = hessian[row * size + column];
            }
        }
        hessian
    }

    fn solve(&self, rhs: &[f64]) -> Result<Vec<f64>> {
        cholesky_solve(rhs.len(), &self.hessian, rhs).map_err(|_| {
            let what =
                "the head's Hessian is not positive definite in f64; scale the vectors down or use a larger decay";
            Error::argument(OP, what)
        })
    }

    /// Returns the mean gradient of a set, and `H⁻¹` times it. One solution serves any number of
    /// candidates.
    pub fn direction(&self, set: Labelled<'_>) -> Result<Direction> {
        set.check("set", self.latent_dim, self.num_classes)?;
        if set.classes.is_empty() {
            return Err(Error::argument(
                OP,
                "the influence on an empty set is not defined",
            ));
        }
        let gradient = self.mean_gradient(set);
        Ok(Direction {
            solution: self.solve(&gradient)?,
            gradient,
        })
    }

    /// Returns the influence of each candidate on the set of a direction, positive if it helps. O(C
    /// d) each.
    pub fn of(&self, candidates: Labelled<'_>, on: &Direction) -> Result<Vec<f64>> {
        candidates.check("candidate", self.latent_dim, self.num_classes)?;
        let width = self.latent_dim + 1;
        let one = |(x, class): (&[f64], usize)| {
            let along = |v: &[f64]| dot(&v[..self.latent_dim], x) + v[self.latent_dim];
            let residual = self.residual(x, class);
            residual
                .iter()
                .zip(on.solution.chunks(width))
                .map(|(r, v)| r * along(v))
                .sum()
        };
        Ok(candidates.rows().map(one).collect())
    }
}

/// Direction of parameters that reduces a set's loss: see [`HeadInfluence::direction`].
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// The gradient `g`.
    pub gradient: Vec<f64>,
    /// The solution `H⁻¹ g`.
    pub solution: Vec<f64>,
}

/// Stopping criteria of conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CgSettings {
    /// Largest number of iterations.
    pub max_iterations: usize,
    /// Tolerance of the residual, as a share of the right-hand side.
    pub tolerance: f64,
}

/// Result of conjugate gradients.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CgSolution {
    /// The solution.
    pub x: Vec<f64>,
    /// Number of iterations.
    pub iterations: usize,
    /// The residual's norm as a share of the right-hand side's.
    pub residual: f64,
    /// True if a direction of non-positive curvature was found: the matrix is not positive
    /// definite, and `x` is the last iterate.
    pub negative_curvature: bool,
}

/// Solves `A x = rhs` for a symmetric positive definite matrix, given its products (Hestenes and
/// Stiefel 1952).
pub fn conjugate_gradients<E>(
    mut apply: impl FnMut(&[f64]) -> std::result::Result<Vec<f64>, E>,
    rhs: &[f64],
    settings: CgSettings,
) -> std::result::Result<CgSolution, E> {
    let size = norm(rhs);
    let mut solution = CgSolution {
        x: vec![0.0; rhs.len()],
        iterations: 0,
        residual: 1.0,
        negative_curvature: false,
    };
    let (mut residual, mut direction) = (rhs.to_vec(), rhs.to_vec());
    let mut square = dot(&residual, &residual);
    while size > 0.0
        && solution.residual > settings.tolerance
        && solution.iterations < settings.max_iterations
    {
        let product = apply(&direction)?;
        let curvature = dot(&direction, &product);
        // Also if it is NaN.
        if curvature.is_nan() || curvature <= 0.0 {
            solution.negative_curvature = true;
            return Ok(solution);
        }
        let length = square / curvature;
        solution
            .x
            .iter_mut()
            .zip(&direction)
            .for_each(|(x, d)| *x += length * d);
        residual
            .iter_mut()
            .zip(&product)
            .for_each(|(r, p)| *r -= length * p);
        let before = std::mem::replace(&mut square, dot(&residual, &residual));
        direction = residual
            .iter()
            .zip(&direction)
            .map(|(r, d)| r + square / before * d)
            .collect();
        solution.iterations += 1;
        solution.residual = square.sqrt() / size;
    }
    if size == 0.0 {
        solution.residual = 0.0;
    }
    Ok(solution)
}

/// Returns `H v` as the central difference `(∇(θ + h v) - ∇(θ - h v)) / 2h` of a gradient, with
/// `h = step · (1 + ‖θ‖) / ‖v‖`.
pub fn hessian_product<E>(
    mut gradient: impl FnMut(&[f64]) -> std::result::Result<Vec<f64>, E>,
    at: &[f64],
    v: &[f64],
    step: f64,
) -> std::result::Result<Vec<f64>, E> {
    let length = norm(v);
    if length == 0.0 {
        return Ok(vec![0.0; v.len()]);
    }
    let h = step * (1.0 + norm(at)) / length;
    let ahead = gradient(&moved(at, v, h))?;
    let behind = gradient(&moved(at, v, -h))?;
    Ok(ahead
        .iter()
        .zip(&behind)
        .map(|(a, b)| (a - b) / (2.0 * h))
        .collect())
}

/// Returns `at + h v`.
fn moved(at: &[f64], v: &[f64], h: f64) -> Vec<f64> {
    at.iter().zip(v).map(|(p, v)| p + h * v).collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Selects by influence: returns the positions of the `round(share · n)` candidates with the
/// largest influence, ascending; of equals the first. Fails for an invalid `share`.
///
/// ```
/// let best = gnarl::augment::influence::select(&[0.1, -2.0, 0.7, 0.1], 0.5)?;
/// assert_eq!(best, [0, 2]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn select(influence: &[f64], share: f64) -> Result<Vec<u32>> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::argument(
            "selection",
            format!("share of candidates must be in [0, 1] (got {share})"),
        ));
    }
    let mut order: Vec<u32> = (0..influence.len() as u32).collect();
    order.sort_by(|&a, &b| influence[b as usize].total_cmp(&influence[a as usize]));
    order.truncate((share * influence.len() as f64).round() as usize);
    order.sort_unstable();
    Ok(order)
}

/// Returns a smooth density of values at `points` places between their ends, as `(value, density)`:
/// Gaussian kernels of Silverman's width `0.9 · min(σ, quartile range / 1.34) · n^(-1/5)`. Empty
/// for no values; one peak if all are equal.
pub fn density_curve(values: &[f64], points: usize) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let deviation = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    let quartiles = (sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4]) / 1.34;
    let spread = if quartiles > 0.0 {
        deviation.min(quartiles)
    } else {
        deviation
    };
    let same = 1e-3 * low.abs().max(1e-9);
    let width = if spread > 0.0 {
        0.9 * spread * n.powf(-0.2)
    } else {
        same
    };
    let (low, high) = (low - 3.0 * width, high + 3.0 * width);
    let density = |at: f64| {
        let near = sorted.partition_point(|&x| x < at - 9.0 * width)
            ..sorted.partition_point(|&x| x < at + 9.0 * width);
        let kernels: f64 = sorted[near]
            .iter()
            .map(|x| (-0.5 * ((at - x) / width).powi(2)).exp())
            .sum();
        kernels / (n * width * std::f64::consts::TAU.sqrt())
    };
    let place = |i: usize| low + (high - low) * i as f64 / points.max(2).saturating_sub(1) as f64;
    (0..points).map(|i| (place(i), density(place(i)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    /// Samples two or three overlapping clouds.
    fn clouds(count: usize, num_classes: u32, index: u64) -> (DenseMatrix<f64>, Vec<u32>) {
        let rng = &mut stream(3, "influence test", index);
        let classes: Vec<u32> = (0..count)
            .map(|_| rng.random_range(0..num_classes))
            .collect();
        let mut data = Vec::new();
        for &class in &classes {
            for j in 0..3 {
                let noise: f64 = StandardNormal.sample(rng);
                data.push(noise + if j == class { 1.2 } else { 0.0 });
            }
        }
        (DenseMatrix::new(count, 3, data).unwrap(), classes)
    }

    fn labelled(set: &(DenseMatrix<f64>, Vec<u32>)) -> Labelled<'_> {
        Labelled {
            vectors: &set.0,
            classes: &set.1,
        }
    }

    const DECAY: f64 = 0.01;

    /// Plain gradient descent on the weighted loss, independent of Newton's method.
    fn descend(items: &[(&[f64], usize, f64)], num_classes: usize) -> Vec<Vec<f64>> {
        let mut w = vec![vec![0.0; 4]; num_classes];
        for _ in 0..3000 {
            let mut step: Vec<Vec<f64>> = w
                .iter()
                .map(|w| w.iter().map(|w| DECAY * w).collect())
                .collect();
            for &(x, class, weight) in items {
                let p = softmax(&w, x);
                for (c, p) in p.into_iter().enumerate() {
                    let r = weight * (p - f64::from(u8::from(c == class)));
                    (0..3).for_each(|j| step[c][j] += r * x[j]);
                    step[c][3] += r;
                }
            }
            for (w, step) in w.iter_mut().flatten().zip(step.iter().flatten()) {
                *w -= 0.5 * step;
            }
        }
        w
    }

    fn softmax(w: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
        let scores: Vec<f64> = w
            .iter()
            .map(|w| (0..3).map(|j| w[j] * x[j]).sum::<f64>() + w[3])
            .collect();
        let all: f64 = scores.iter().map(|s| s.exp()).sum();
        scores.iter().map(|s| s.exp() / all).collect()
    }

    fn loss(w: &[Vec<f64>], on: Labelled<'_>) -> f64 {
        on.rows().map(|(x, c)| -softmax(w, x)[c].ln()).sum::<f64>() / on.classes.len() as f64
    }

    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let centred = |v: &[f64]| {
            v.iter()
                .map(|x| x - v.iter().sum::<f64>() / v.len() as f64)
                .collect::<Vec<_>>()
        };
        let (a, b) = (centred(a), centred(b));
        dot(&a, &b) / (norm(&a) * norm(&b))
    }

    #[test]
    fn influence_is_what_training_again_gives() {
        for num_classes in [2, 3] {
            let (train, test, new) = (
                clouds(60, num_classes, 0),
                clouds(40, num_classes, 1),
                clouds(25, num_classes, 2),
            );
            let head = HeadInfluence::new(labelled(&train), num_classes as usize, DECAY).unwrap();
            let on = head.direction(labelled(&test)).unwrap();
            let items: Vec<(&[f64], usize, f64)> = labelled(&train)
                .rows()
                .map(|(x, c)| (x, c, 1.0 / 60.0))
                .collect();
            let plain = descend(&items, num_classes as usize);
            let close = plain
                .iter()
                .flatten()
                .zip(head.parameters())
                .all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close, "two ways to the same minimum");
            assert!(
                (head.loss(labelled(&test)).unwrap() - loss(&plain, labelled(&test))).abs() < 1e-6
            );

            // One more sample each time, with the weight of a training sample.
            let gains: Vec<f64> = labelled(&new)
                .rows()
                .map(|(x, c)| {
                    let with = descend(
                        &[&items[..], &[(x, c, 1.0 / 60.0)]].concat(),
                        num_classes as usize,
                    );
                    loss(&plain, labelled(&test)) - loss(&with, labelled(&test))
                })
                .collect();
            let influence = head.of(labelled(&new), &on).unwrap();
            assert!(
                correlation(&influence, &gains) > 0.95,
                "{influence:?} {gains:?}"
            );
            let slope = dot(&influence, &gains) * 60.0 / dot(&influence, &influence);
            assert!(
                (0.8..1.2).contains(&slope),
                "a weight of 1 / 60 each: {slope}"
            );
            assert!(influence.iter().any(|i| *i > 0.0) && influence.iter().any(|i| *i < 0.0));

            // One training sample less.
            let losses: Vec<f64> = (0..25)
                .map(|i| {
                    let mut items = items.clone();
                    items.remove(i);
                    loss(&descend(&items, num_classes as usize), labelled(&test))
                        - loss(&plain, labelled(&test))
                })
                .collect();
            let influence = &head.of(labelled(&train), &on).unwrap()[..25];
            assert!(
                correlation(influence, &losses) > 0.95,
                "{influence:?} {losses:?}"
            );
        }
    }

    #[test]
    fn conjugate_gradients_agree_with_cholesky_on_the_head() {
        let (train, test) = (clouds(60, 3, 0), clouds(40, 3, 1));
        let head = HeadInfluence::new(labelled(&train), 3, DECAY).unwrap();
        let on = head.direction(labelled(&test)).unwrap();
        let settings = CgSettings {
            max_iterations: 200,
            tolerance: 1e-10,
        };
        let n = head.parameters().len();
        type Product<'a> = Box<dyn Fn(&[f64]) -> Result<Vec<f64>> + 'a>;
        let exact: Product<'_> = Box::new(|v: &[f64]| {
            Ok((0..n)
                .map(|i| (0..n).map(|j| head.hessian()[j * n + i] * v[j]).sum())
                .collect())
        });
        let differences: Product<'_> = Box::new(|v: &[f64]| {
            let gradient = |at: &[f64]| {
                let there = HeadInfluence {
                    parameters: at.to_vec(),
                    ..head.clone()
                };
                Ok(there.objective_gradient(labelled(&train)))
            };
            hessian_product(gradient, head.parameters(), v, 1e-5)
        });
        for (apply, tolerance) in [(exact, 1e-8), (differences, 1e-5)] {
            let found = conjugate_gradients(apply, &on.gradient, settings).unwrap();
            assert!(
                !found.negative_curvature && found.residual <= 1e-10,
                "{found:?}"
            );
            for (x, expected) in found.x.iter().zip(&on.solution) {
                assert!(
                    (x - expected).abs() <= tolerance * norm(&on.solution),
                    "{x}, not {expected}"
                );
            }
        }
        let negative = conjugate_gradients(
            |v| Ok::<_, Error>(v.iter().map(|v| -v).collect()),
            &[1.0, 2.0],
            settings,
        );
        assert!(negative.unwrap().negative_curvature);
        let nothing =
            conjugate_gradients(|v| Ok::<_, Error>(v.to_vec()), &[0.0], settings).unwrap();
        assert_eq!((nothing.x, nothing.residual), (vec![0.0], 0.0));
    }

    #[test]
    fn helpful_items_have_positive_influence() {
        // Two training points; the set is the first of them.
        let train = (DenseMatrix::new(2, 1, vec![1.0, -1.0]).unwrap(), vec![0, 1]);
        let set = (DenseMatrix::new(1, 1, vec![1.0]).unwrap(), vec![0]);
        let head = HeadInfluence::new(labelled(&train), 2, 0.1).unwrap();
        let on = head.direction(labelled(&set)).unwrap();
        let candidates = (DenseMatrix::new(2, 1, vec![1.0, 1.0]).unwrap(), vec![0, 1]);
        let influence = head.of(labelled(&candidates), &on).unwrap();
        assert!(influence[0] > 0.0 && influence[1] < 0.0, "{influence:?}");
    }

    #[test]
    fn the_best_are_kept_and_odd_cases_are_defined() {
        assert_eq!(select(&[3.0, 1.0, 2.0], 1.0).unwrap(), [0, 1, 2]);
        assert_eq!(
            select(&[3.0, 1.0, 2.0, 2.0], 0.5).unwrap(),
            [0, 2],
            "of equals the first"
        );
        assert!(select(&[3.0], 0.0).unwrap().is_empty() && select(&[], 0.5).unwrap().is_empty());
        let e = select(&[1.0], 1.5).unwrap_err().to_string();
        assert_eq!(
            e,
            "selection: share of candidates must be in [0, 1] (got 1.5)"
        );

        let set = clouds(10, 2, 0);
        let one_class = (set.0.clone(), vec![0; 10]);
        let head = HeadInfluence::new(labelled(&one_class), 1, DECAY).unwrap();
        let on = head.direction(labelled(&one_class)).unwrap();
        assert_eq!(
            head.of(labelled(&one_class), &on).unwrap(),
            [0.0; 10],
            "one class is always right"
        );
        let one = (DenseMatrix::new(1, 2, vec![0.0, 0.0]).unwrap(), vec![1]);
        let head = HeadInfluence::new(labelled(&one), 3, DECAY).unwrap();
        assert!(head.parameters().iter().all(|p| p.is_finite()));
        let far = (DenseMatrix::new(2, 1, vec![1e6, -1e6]).unwrap(), vec![0, 1]);
        assert!(
            HeadInfluence::new(labelled(&far), 2, 5e-4)
                .unwrap()
                .parameters()
                .iter()
                .all(|p| p.is_finite())
        );

        let none = (DenseMatrix::new(0, 3, vec![]).unwrap(), vec![]);
        let head = HeadInfluence::new(labelled(&set), 2, DECAY).unwrap();
        let e = |r: Result<Direction>| r.unwrap_err().to_string();
        assert_eq!(
            e(head.direction(labelled(&none))),
            "influence: the influence on an empty set is not defined"
        );
        let e = |train: &(DenseMatrix<f64>, Vec<u32>), decay| {
            HeadInfluence::new(labelled(train), 2, decay)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(e(&none, DECAY), "influence: there are no training vectors");
        assert_eq!(
            e(&set, 0.0),
            "influence: weight decay must be > 0 for a unique minimum (got 0)"
        );
        assert_eq!(
            e(&(set.0.clone(), vec![7; 10]), DECAY),
            "influence: a training vector of class 7, but there are 2 classes"
        );
        let wide = (DenseMatrix::zeros(1, MOST_WEIGHTS / 2), vec![0]);
        assert!(
            e(&wide, DECAY).contains("a head of 8194 weights"),
            "{}",
            e(&wide, DECAY)
        );
        let nan = (DenseMatrix::new(1, 1, vec![f64::NAN]).unwrap(), vec![0]);
        assert_eq!(
            e(&nan, DECAY),
            "influence: a training vector has a value of NaN"
        );
    }

    #[test]
    fn densities_integrate_to_one() {
        let rng = &mut stream(1, "density curve test", 0);
        let values: Vec<f64> = (0..2000).map(|_| StandardNormal.sample(rng)).collect();
        for values in [&values[..], &[2.0; 5], &[0.0], &[-1.0, 1.0]] {
            let curve = density_curve(values, 400);
            let area: f64 = curve
                .windows(2)
                .map(|w| (w[1].0 - w[0].0) * (w[0].1 + w[1].1) / 2.0)
                .sum();
            assert!((area - 1.0).abs() < 0.01, "{area}");
        }
        let curve = density_curve(&values, 201);
        let at_zero = curve
            .iter()
            .min_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
            .unwrap()
            .1;
        // The standard normal has density 0.399 there.
        assert!((at_zero - 0.399).abs() < 0.03, "{at_zero}");
        assert!(density_curve(&[], 10).is_empty());
    }
}
