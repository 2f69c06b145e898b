//! Parameter initialisation: constant, Glorot, Kaiming and orthogonal.

use gnarl_graph::random::Rng;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// Initialisation rule of a parameter. For matrices the shape is `[in, out]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// One constant everywhere.
    Constant(f32),
    /// Uniform in ±sqrt(6 / (in + out)) (Glorot and Bengio 2010), the default of GCN, GAT and SGC
    /// in PyTorch Geometric.
    Glorot,
    /// Uniform in ±1 / sqrt(in): PyTorch's default for linear layers (He et al. 2015 with a = sqrt
    /// 5).
    Kaiming {
        /// Fan-in, which a bias must take from its matrix.
        fan_in: usize,
    },
    /// Uniform within ± this value.
    Uniform(f32),
    /// Orthonormal columns, or rows for a wide matrix ([Saxe et al.
    /// 2014](https://arxiv.org/abs/1312.6120)).
    Orthogonal,
}

impl Init {
    /// Returns the values, row by row.
    pub fn values(self, shape: &[usize], rng: &mut Rng) -> Vec<f32> {
        let count = shape.iter().product();
        let mut uniform = |bound: f32| {
            (0..count)
                .map(|_| (rng.random::<f32>() * 2.0 - 1.0) * bound)
                .collect()
        };
        match self {
            Init::Constant(value) => vec![value; count],
            Init::Uniform(bound) => uniform(bound),
            Init::Kaiming { fan_in } => uniform(1.0 / (fan_in.max(1) as f32).sqrt()),
            Init::Glorot => {
                let (rows, cols) = (
                    shape.first().copied().unwrap_or(1),
                    shape.last().copied().unwrap_or(1),
                );
                uniform((6.0 / (rows + cols).max(1) as f32).sqrt())
            }
            Init::Orthogonal => orthogonal(shape, rng),
        }
    }
}

/// Computes an orthogonal matrix by Gram–Schmidt (twice, for full precision) on Gaussian vectors
/// along the shorter side. A QR decomposition would give other signs, hence other networks than
/// those of the published figures.
fn orthogonal(shape: &[usize], rng: &mut Rng) -> Vec<f32> {
    let (rows, cols) = (shape[0], shape[1..].iter().product::<usize>());
    let (count, length) = (rows.min(cols), rows.max(cols));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    while basis.len() < count {
        let mut v: Vec<f64> = (0..length).map(|_| StandardNormal.sample(rng)).collect();
        for _ in 0..2 {
            for b in &basis {
                let overlap: f64 = b.iter().zip(&v).map(|(x, y)| x * y).sum();
                v.iter_mut().zip(b).for_each(|(x, y)| *x -= overlap * y);
            }
        }
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 1e-6 {
            basis.push(v.into_iter().map(|x| x / norm).collect());
        }
    }
    let at = |r: usize, c: usize| {
        if rows >= cols {
            basis[c][r]
        } else {
            basis[r][c]
        }
    };
    (0..rows)
        .flat_map(|r| (0..cols).map(move |c| (r, c)))
        .map(|(r, c)| at(r, c) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    #[test]
    fn ranges_follow_the_papers() {
        let rng = || stream(1, "init", 0);
        let largest = |v: Vec<f32>| v.into_iter().fold(0f32, |m, x| m.max(x.abs()));
        let glorot = largest(Init::Glorot.values(&[300, 100], &mut rng()));
        assert!(glorot <= (6f32 / 400.0).sqrt() && glorot > 0.99 * (6f32 / 400.0).sqrt());
        let kaiming = largest(Init::Kaiming { fan_in: 400 }.values(&[400, 50], &mut rng()));
        assert!(kaiming <= 0.05 && kaiming > 0.0495);
        assert_eq!(Init::Constant(2.0).values(&[2], &mut rng()), [2.0, 2.0]);
    }

    #[test]
    fn orthogonal_columns_or_rows() {
        for (rows, cols) in [(20, 6), (6, 20), (5, 5)] {
            let w = Init::Orthogonal.values(&[rows, cols], &mut stream(2, "init", 0));
            let vector = |i: usize| -> Vec<f32> {
                if rows >= cols {
                    (0..rows).map(|r| w[r * cols + i]).collect()
                } else {
                    w[i * cols..(i + 1) * cols].to_vec()
                }
            };
            for i in 0..rows.min(cols) {
                for j in 0..=i {
                    let dot: f32 = vector(i).iter().zip(vector(j)).map(|(a, b)| a * b).sum();
                    assert!(
                        (dot - f32::from(u8::from(i == j))).abs() < 1e-5,
                        "{rows} × {cols}: {i} · {j} = {dot}"
                    );
                }
            }
        }
    }
}
