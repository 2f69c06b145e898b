//! Measures the distance between two predictions.
//!
//! A prediction is the matrix of class probabilities (softmax of the scores): one row for each
//! node, or one row for a whole graph in a graph task. The distance is the Frobenius norm of the
//! difference over `2 sqrt(rows)` ([Abbahaddou et al. 2024](https://arxiv.org/abs/2404.17947)). By
//! the triangle inequality it is in [0, 1]. Two distributions are at most sqrt 2 apart, so it is in
//! fact at most `1 / sqrt 2 = 0.707`.

use gnarl_graph::{DenseMatrix, Error as GraphError};
use serde::Serialize;

use gnarl_graph::Result;

/// Distances between two score matrices, as the bounds measure them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ScoreDistances {
    /// Sum over rows of their L1 norms.
    pub l1: f64,
    /// Frobenius norm.
    pub l2: f64,
    /// Largest absolute entry.
    pub linf: f64,
}

/// The prediction for one input.
pub(super) struct Prediction {
    scores: DenseMatrix<f32>,
    probabilities: Vec<f64>,
}

/// The distance of a prediction from another.
pub(super) struct Moved {
    pub(super) scaled: f64,
    pub(super) changed: f64,
    pub(super) scores: ScoreDistances,
}

impl Prediction {
    pub(super) fn new(scores: DenseMatrix<f32>) -> Result<Self> {
        if scores.data().iter().any(|s| !s.is_finite()) {
            let what = "the model's scores are not all finite: their distance is undefined";
            return Err(GraphError::argument("robustness", what));
        }
        let mut probabilities = Vec::with_capacity(scores.data().len());
        for i in 0..scores.num_rows() {
            let row = scores.row(i);
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let start = probabilities.len();
            probabilities.extend(row.iter().map(|&s| (f64::from(s) - f64::from(most)).exp()));
            let total: f64 = probabilities[start..].iter().sum();
            probabilities[start..].iter_mut().for_each(|p| *p /= total);
        }
        Ok(Self {
            scores,
            probabilities,
        })
    }

    pub(super) fn distance(&self, other: &Self) -> Result<Moved> {
        let (rows, cols) = (self.scores.num_rows(), self.scores.num_cols());
        if (other.scores.num_rows(), other.scores.num_cols()) != (rows, cols) {
            let what = "the model's scores for a perturbed input have another shape";
            return Err(GraphError::argument("robustness", what));
        }
        let mut scores = ScoreDistances::default();
        for (a, b) in self.scores.data().iter().zip(other.scores.data()) {
            let d = (f64::from(*a) - f64::from(*b)).abs();
            scores.l1 += d;
            scores.l2 += d * d;
            scores.linf = scores.linf.max(d);
        }
        scores.l2 = scores.l2.sqrt();
        let squares: f64 = self
            .probabilities
            .iter()
            .zip(&other.probabilities)
            .map(|(p, q)| (p - q) * (p - q))
            .sum();
        let changed = (0..rows)
            .filter(|&i| largest(self.scores.row(i)) != largest(other.scores.row(i)))
            .count();
        let rows = rows.max(1) as f64;
        Ok(Moved {
            scaled: squares.sqrt() / (2.0 * rows.sqrt()),
            changed: changed as f64 / rows,
            scores,
        })
    }
}

/// The first of the largest entries.
fn largest(row: &[f32]) -> usize {
    row.iter()
        .enumerate()
        .fold(0, |best, (i, s)| if *s > row[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distributions are at most sqrt 2 apart, so the scaled distance is at most 1 / sqrt 2.
    #[test]
    fn opposite_predictions_have_the_largest_distance() {
        let rows = |a: f32, b: f32| {
            Prediction::new(DenseMatrix::new(2, 2, vec![a, b, a, b]).unwrap()).unwrap()
        };
        let moved = rows(100.0, -100.0).distance(&rows(-100.0, 100.0)).unwrap();
        assert!((moved.scaled - 0.5f64.sqrt()).abs() < 1e-12 && moved.changed == 1.0);
        assert_eq!((moved.scores.l1, moved.scores.linf), (800.0, 200.0));
        assert!((moved.scores.l2 - 400.0).abs() < 1e-9);
    }

    /// The difference of scores at both ends of single precision overflows it.
    #[test]
    fn far_scores_have_a_finite_distance() {
        let row = |a: f32| Prediction::new(DenseMatrix::new(1, 2, vec![a, -a]).unwrap()).unwrap();
        let moved = row(f32::MAX).distance(&row(-f32::MAX)).unwrap();
        assert_eq!(moved.scores.linf, 2.0 * f64::from(f32::MAX));
        assert!(
            (moved.scaled - 0.5f64.sqrt()).abs() < 1e-12,
            "{}",
            moved.scaled
        );
        let e = Prediction::new(DenseMatrix::new(1, 2, vec![f32::INFINITY, 0.0]).unwrap())
            .err()
            .unwrap()
            .to_string();
        assert!(e.contains("scores are not all finite"), "{e}");
    }
}
