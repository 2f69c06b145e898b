//! One Gaussian for a few vectors. With fewer vectors than numbers in them the sample covariance is flat, and nothing is drawn beside
//! the plane they span; Ledoit and Wolf (2004) draw it towards a multiple of the identity, by as much as the vectors themselves say.

use gnarl_graph::{DenseMatrix, Result};

use super::{Mixture, MixtureSettings};

/// The Gaussian of these points, its covariance shrunken.
pub fn shrunken(points: &DenseMatrix<f64>) -> Result<Mixture> {
    let mean = mean(points);
    let covariance = ledoit_wolf(&deviations(points, &mean));
    Mixture::one_gaussian(points, mean, covariance)
}

/// The Gaussian about the mean of these points with a covariance that all classes share: that of `deviations`, the vectors of every class
/// minus their class' mean, shrunken. A class of few vectors borrows the shape of the others.
pub fn shared(points: &DenseMatrix<f64>, deviations: &DenseMatrix<f64>) -> Result<Mixture> {
    Mixture::one_gaussian(points, mean(points), ledoit_wolf(deviations))
}

/// The mean of the rows; zeros where there are none.
pub fn mean(points: &DenseMatrix<f64>) -> Vec<f64> {
    let mut mean = vec![0f64; points.num_cols()];
    for i in 0..points.num_rows() {
        mean.iter_mut().zip(points.row(i)).for_each(|(m, x)| *m += x);
    }
    mean.iter_mut().for_each(|m| *m /= points.num_rows().max(1) as f64);
    mean
}

/// The rows minus a vector.
pub fn deviations(points: &DenseMatrix<f64>, from: &[f64]) -> DenseMatrix<f64> {
    let less = |i: usize| points.row(i).iter().zip(from).map(|(x, m)| x - m);
    let data = (0..points.num_rows()).flat_map(less).collect();
    DenseMatrix::new(points.num_rows(), points.num_cols(), data).expect("as many numbers as before")
}

/// Ledoit and Wolf's covariance of rows of mean zero, by rows: `(1 - s) S + s m I`, where `S` is theirs, `m` the mean of its diagonal, and `s` the
/// least share that the expected squared error asks for. On its diagonal the λ of mixtures. O(rows · dim²).
fn ledoit_wolf(rows: &DenseMatrix<f64>) -> Vec<f64> {
    let (n, d) = (rows.num_rows().max(1) as f64, rows.num_cols());
    let mut sample = vec![0f64; d * d];
    let mut fourth_moments = 0.0;
    for i in 0..rows.num_rows() {
        let row = rows.row(i);
        fourth_moments += row.iter().map(|x| x * x).sum::<f64>().powi(2);
        for (a, x) in row.iter().enumerate() {
            sample[a * d..(a + 1) * d].iter_mut().zip(row).for_each(|(s, y)| *s += x * y / n);
        }
    }
    let scale = (0..d).map(|a| sample[a * d + a]).sum::<f64>() / d.max(1) as f64;
    let squares = sample.iter().map(|s| s * s).sum::<f64>();
    let from_target = squares - d as f64 * scale * scale;
    let of_rows = ((fourth_moments / n - squares) / n).min(from_target);
    let share = if from_target > 0.0 { (of_rows / from_target).clamp(0.0, 1.0) } else { 0.0 };
    sample.iter_mut().for_each(|s| *s *= 1.0 - share);
    (0..d).for_each(|a| sample[a * d + a] += share * scale + MixtureSettings::new(1).regularisation);
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::density::Density;

    #[test]
    fn degenerate_points_have_a_gaussian_too() {
        let same = DenseMatrix::new(3, 2, vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0]).unwrap();
        for points in [same.clone(), same.select_rows(&[0])] {
            let gaussian = shrunken(&points).unwrap();
            assert_eq!(gaussian.components()[0].mean, [1.0, 2.0]);
            assert_eq!(gaussian.components()[0].covariance, [1e-6, 0.0, 0.0, 1e-6]);
            assert!(gaussian.log_density(&[1.0, 2.0]).is_finite());
        }
    }

    #[test]
    fn a_class_borrows_the_shape_of_the_others() {
        // Deviations along the first axis alone: the lone point's Gaussian is wide there.
        let deviations = DenseMatrix::new(40, 2, (0..80).map(|i| [-3.0, 0.1, 3.0, -0.1][i % 4]).collect()).unwrap();
        let lone = DenseMatrix::new(1, 2, vec![7.0, 7.0]).unwrap();
        let gaussian = shared(&lone, &deviations).unwrap();
        let covariance = &gaussian.components()[0].covariance;
        assert!(covariance[0] > 8.0 && covariance[3] < 0.5, "{covariance:?}");
        assert_eq!(gaussian.components()[0].mean, [7.0, 7.0]);
    }
}
