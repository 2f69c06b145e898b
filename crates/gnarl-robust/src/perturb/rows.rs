//! Rows of dense or sparse features: writing, norms, scaling and projection.

use gnarl_graph::Features;

use super::Norm;

/// Writes a row of features, including zeros, over `out`, which has as many entries as there are
/// features.
pub fn write_row(features: &Features, i: usize, out: &mut [f32]) {
    match features {
        Features::Dense(m) => out.copy_from_slice(m.row(i)),
        Features::Sparse(m) => {
            out.fill(0.0);
            let (cols, values) = m.row(i);
            for (&c, &v) in cols.iter().zip(values) {
                out[c as usize] = v;
            }
        }
    }
}

/// Computes the norm of every row.
pub fn row_norms(features: &Features, norm: Norm) -> Vec<f64> {
    let of = |row: &[f32]| norm.of(row.iter().map(|&x| f64::from(x)));
    match features {
        Features::Sparse(m) => (0..m.num_rows()).map(|i| of(m.row(i).1)).collect(),
        Features::Dense(m) => (0..m.num_rows()).map(|i| of(m.row(i))).collect(),
    }
}

/// Scales a row to this norm; zeros stay.
pub fn scale_to(row: &mut [f32], size: f64, norm: Norm) {
    let now = norm.of(row.iter().map(|&v| f64::from(v)));
    if now > 0.0 {
        let by = size / now;
        row.iter_mut()
            .for_each(|v| *v = (f64::from(*v) * by) as f32);
    }
}

/// Shortens a row to a norm of at most `radius`: to the nearest such point for L2 and L-infinity,
/// else to a point on the way to zero.
pub fn shrink_to(row: &mut [f32], radius: f64, norm: Norm) {
    match norm {
        Norm::Infinity => {
            let radius = radius as f32;
            row.iter_mut().for_each(|v| *v = v.clamp(-radius, radius));
        }
        Norm::P(_) => {
            if norm.of(row.iter().map(|&v| f64::from(v))) > radius {
                scale_to(row, radius, norm);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::{CsrMatrix, DenseMatrix};

    #[test]
    fn both_ways_to_store_give_the_same_rows() {
        let dense = DenseMatrix::new(2, 3, vec![3.0, 0.0, -4.0, 0.0, 2.0, 0.0]).unwrap();
        for features in [
            Features::Sparse(CsrMatrix::from_dense(&dense)),
            Features::Dense(dense),
        ] {
            let mut row = [9f32; 3];
            write_row(&features, 1, &mut row);
            assert_eq!(row, [0.0, 2.0, 0.0]);
            assert_eq!(row_norms(&features, Norm::L2), [5.0, 2.0]);
            assert_eq!(row_norms(&features, Norm::L1), [7.0, 2.0]);
        }
    }

    #[test]
    fn rows_are_scaled_and_shortened() {
        let of = |change: fn(&mut [f32], f64, Norm), size, norm| {
            let mut row = [3.0, -4.0];
            change(&mut row, size, norm);
            row
        };
        assert_eq!(of(scale_to, 10.0, Norm::L2), [6.0, -8.0]);
        assert_eq!(of(shrink_to, 10.0, Norm::L2), [3.0, -4.0]);
        assert_eq!(of(shrink_to, 2.5, Norm::L2), [1.5, -2.0]);
        assert_eq!(of(shrink_to, 3.5, Norm::Infinity), [3.0, -3.5]);
        let mut zeros = [0.0; 2];
        scale_to(&mut zeros, 1.0, Norm::L2);
        assert_eq!(zeros, [0.0; 2]);
    }
}
