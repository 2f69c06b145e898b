//! The largest singular value of a sparse matrix, by Lanczos' algorithm on `MᵀM`.
//!
//! Only the largest eigenvalue is needed, for which the three-term recurrence needs no
//! reorthogonalisation: lost orthogonality adds copies of converged eigenvalues, never false ones
//! (Paige 1980).

use rand::RngExt;
use rand_distr::StandardNormal;

use crate::error::{Error, Result};
use crate::matrix::CsrMatrix;
use crate::random::stream;

/// Allowed residual, relative to the largest eigenvalue of `MᵀM`; the eigenvalue's own error is
/// about its square.
const TOLERANCE: f64 = 1e-9;
const MAX_STEPS: usize = 10_000;

/// Computes the spectral norm. The starting vector is fixed, so the result is deterministic.
pub(super) fn spectral_norm(matrix: &CsrMatrix<f64>) -> Result<f64> {
    // Squares of very small or large values would leave the range of a float: the largest is scaled
    // to one.
    let size = matrix
        .values()
        .iter()
        .fold(0.0, |size: f64, v| size.max(v.abs()));
    if size == 0.0 {
        return Ok(0.0);
    }
    let matrix = matrix.map(|v| v / size);
    let transposed = matrix.transpose();
    let n = matrix.num_cols();
    let mut rng = stream(0, "spectral norm", 0);
    let mut v: Vec<f64> = (0..n).map(|_| rng.sample(StandardNormal)).collect();
    normalise(&mut v);
    let mut previous = vec![0.0; n];
    let mut tridiagonal = Tridiagonal {
        diagonal: Vec::new(),
        off: Vec::new(),
    };
    let mut residual = f64::NAN;
    let mut next_check = 8;
    for step in 1..=MAX_STEPS {
        let mut w = transposed.mul_vec(&matrix.mul_vec(&v));
        if let Some(&beta) = tridiagonal.off.last() {
            w.iter_mut()
                .zip(&previous)
                .for_each(|(w, p)| *w -= beta * p);
        }
        let alpha = dot(&w, &v);
        w.iter_mut().zip(&v).for_each(|(w, v)| *w -= alpha * v);
        let beta = dot(&w, &w).sqrt();
        tridiagonal.diagonal.push(alpha);
        // Checks at growing intervals: all of them together cost about as much as the last.
        let exhausted = beta <= f64::EPSILON * tridiagonal.bound();
        if step == next_check || exhausted {
            next_check += next_check / 4;
            let (largest, last) = tridiagonal.largest();
            residual = beta * last / largest;
            if residual <= TOLERANCE || exhausted {
                return Ok(size * largest.sqrt());
            }
        }
        tridiagonal.off.push(beta);
        previous = std::mem::replace(&mut v, w);
        normalise(&mut v);
    }
    Err(Error::NotConverged {
        op: "spectral distance",
        iterations: MAX_STEPS,
        residual,
        tolerance: TOLERANCE,
    })
}

fn normalise(x: &mut [f64]) {
    let norm = dot(x, x).sqrt();
    x.iter_mut().for_each(|x| *x /= norm);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A symmetric tridiagonal matrix; `off[i]` couples rows `i` and `i + 1`, and is positive.
struct Tridiagonal {
    diagonal: Vec<f64>,
    off: Vec<f64>,
}

impl Tridiagonal {
    fn size(&self) -> usize {
        self.diagonal.len()
    }

    /// Returns a bound on all eigenvalues (Gershgorin).
    fn bound(&self) -> f64 {
        let off = |i: usize| self.off.get(i).copied().unwrap_or(0.0);
        let row = |i: usize| self.diagonal[i].abs() + off(i) + if i > 0 { off(i - 1) } else { 0.0 };
        (0..self.size()).map(row).fold(0.0, f64::max)
    }

    /// Returns the pivots of `self - shift`; all are negative if and only if `shift` is above every
    /// eigenvalue.
    fn pivots(&self, shift: f64) -> Vec<f64> {
        let mut pivots: Vec<f64> = Vec::with_capacity(self.size());
        for i in 0..self.size() {
            let coupling = if i > 0 {
                self.off[i - 1].powi(2) / pivots[i - 1]
            } else {
                0.0
            };
            pivots.push(self.diagonal[i] - shift - coupling);
        }
        pivots
    }

    /// Returns the largest eigenvalue, by bisection, and the magnitude of the last entry of its
    /// eigenvector, by inverse iteration.
    fn largest(&self) -> (f64, f64) {
        let above = |shift: f64| self.pivots(shift).iter().all(|&p| p < 0.0);
        let (mut low, mut high) = (0.0, self.bound() * (1.0 + 1e-12));
        while high - low > 2.0 * f64::EPSILON * high {
            let middle = low + (high - low) / 2.0;
            if above(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let pivots = self.pivots(high);
        let k = self.size();
        let mut x = vec![1.0; k];
        for _ in 0..3 {
            for i in 1..k {
                x[i] -= self.off[i - 1] / pivots[i - 1] * x[i - 1];
            }
            x[k - 1] /= pivots[k - 1];
            for i in (0..k - 1).rev() {
                x[i] = (x[i] - self.off[i] * x[i + 1]) / pivots[i];
            }
            normalise(&mut x);
        }
        (high, x[k - 1].abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense_norm(matrix: &CsrMatrix<f64>) -> f64 {
        // The largest singular value is the root of the largest eigenvalue of the Gram matrix.
        let dense = matrix.to_dense();
        let n = dense.num_cols();
        let dot = |i: usize, j: usize| {
            (0..dense.num_rows())
                .map(|r| dense.row(r)[i] * dense.row(r)[j])
                .sum()
        };
        let gram: Vec<f64> = (0..n * n).map(|k| dot(k / n, k % n)).collect();
        gnarl_linalg::symmetric_eigen(n, &gram, false).unwrap().0[n - 1]
            .max(0.0)
            .sqrt()
    }

    proptest! {
        #[test]
        fn equals_the_dense_singular_value(
            rows in 1usize..20, cols in 1usize..20, entries in prop::collection::vec((0usize..400, -3i8..4), 0..80)
        ) {
            let mut dense = vec![0.0; rows * cols];
            for (k, v) in entries { dense[k % (rows * cols)] = f64::from(v); }
            let offsets = (0..=rows).map(|i| (i * cols) as u64).collect();
            let indices = (0..rows * cols).map(|k| (k % cols) as u32).collect();
            let m = CsrMatrix::new(cols, offsets, indices, dense).unwrap();
            let (got, expected) = (spectral_norm(&m).unwrap(), dense_norm(&m));
            prop_assert!((got - expected).abs() <= 1e-10 * expected.max(1.0), "{} against {}", got, expected);
        }
    }

    #[test]
    fn known_spectra() {
        use crate::generate::{complete, cycle, path, star};
        let norm = |g: crate::Graph| {
            let a = crate::operator::ClassicalOperator::ADJACENCY
                .matrix(&g)
                .unwrap();
            spectral_norm(&a).unwrap()
        };
        assert!((norm(complete(200).unwrap()) - 199.0).abs() < 1e-9);
        assert!((norm(star(101).unwrap()) - 10.0).abs() < 1e-10, "±10 both");
        // Paths and cycles have clustered eigenvalues at the ends of the spectrum: 2 cos(π / (n +
        // 1)), and 2.
        let expected = 2.0 * (std::f64::consts::PI / 2001.0).cos();
        assert!(
            (norm(path(2000).unwrap()) - expected).abs() < 1e-9,
            "{}",
            norm(path(2000).unwrap()) - expected
        );
        assert!((norm(cycle(500).unwrap()) - 2.0).abs() < 1e-9);
        assert_eq!(norm(crate::Graph::empty(3).unwrap()), 0.0);
    }

    #[test]
    fn tiny_and_huge_values_keep_their_scale() {
        for size in [1e-100, 1e100] {
            let m =
                CsrMatrix::new(2, vec![0, 1, 2], vec![1, 0], vec![3.0 * size, 4.0 * size]).unwrap();
            assert!((spectral_norm(&m).unwrap() / size - 4.0).abs() < 1e-10);
        }
    }
}
