//! Mean and shrunken covariance of one Gaussian for few vectors (Ledoit and Wolf 2004,
//! [doi:10.1016/S0047-259X(03)00096-4](https://doi.org/10.1016/S0047-259X(03)00096-4)). With fewer
//! vectors than dimensions the sample covariance is singular; shrinkage moves it towards a multiple
//! of the identity, by an amount that is estimated from the vectors.

use gnarl_graph::DenseMatrix;

use super::MixtureSettings;

/// Returns the mean of the rows; zeros without rows.
pub fn mean(points: &DenseMatrix<f64>) -> Vec<f64> {
    let mut mean = vec![0f64; points.num_cols()];
    for i in 0..points.num_rows() {
        mean.iter_mut()
            .zip(points.row(i))
            .for_each(|(m, x)| *m += x);
    }
    mean.iter_mut()
        .for_each(|m| *m /= points.num_rows().max(1) as f64);
    mean
}

/// Returns the rows minus a vector.
pub fn deviations(points: &DenseMatrix<f64>, from: &[f64]) -> DenseMatrix<f64> {
    let mut less = points.clone();
    for i in 0..points.num_rows() {
        less.row_mut(i)
            .iter_mut()
            .zip(from)
            .for_each(|(x, m)| *x -= m);
    }
    less
}

/// Returns the Ledoit-Wolf covariance of rows of mean zero, by rows: `(1 - s) S + s m I`. `S` is
/// the sample covariance, `m` the mean of its diagonal, and `s` the share that minimises the
/// expected squared error. λ of mixtures is added to its diagonal. O(rows · dim²).
pub(super) fn ledoit_wolf(rows: &DenseMatrix<f64>) -> Vec<f64> {
    let (n, d) = (rows.num_rows().max(1) as f64, rows.num_cols());
    let mut sample = vec![0f64; d * d];
    let mut fourth_moments = 0.0;
    for i in 0..rows.num_rows() {
        let row = rows.row(i);
        fourth_moments += row.iter().map(|x| x * x).sum::<f64>().powi(2);
        for (a, x) in row.iter().enumerate() {
            sample[a * d..(a + 1) * d]
                .iter_mut()
                .zip(row)
                .for_each(|(s, y)| *s += x * y / n);
        }
    }
    let scale = (0..d).map(|a| sample[a * d + a]).sum::<f64>() / d.max(1) as f64;
    let squares = sample.iter().map(|s| s * s).sum::<f64>();
    let from_target = squares - d as f64 * scale * scale;
    let of_rows = ((fourth_moments / n - squares) / n).min(from_target);
    let share = if from_target > 0.0 {
        (of_rows / from_target).clamp(0.0, 1.0)
    } else {
        0.0
    };
    sample.iter_mut().for_each(|s| *s *= 1.0 - share);
    (0..d)
        .for_each(|a| sample[a * d + a] += share * scale + MixtureSettings::new(1).regularisation);
    sample
}
