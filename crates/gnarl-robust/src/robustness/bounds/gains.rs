//! Operator norms of linear maps on rows, between L1, L2 and L-infinity.

use crate::perturb::Norm;
use gnarl_graph::Result;
use gnarl_tensor::{DType, Tensor};

/// Largest width of a matrix whose largest singular value is computed; for wider ones,
/// `sqrt(||W||_1 ||W||_inf)` bounds it.
const WIDEST: usize = 2048;

/// Operator norms of a linear map `x → x W`, from each of L1, L2, L-infinity to each.
#[derive(Debug, Clone)]
pub(in crate::robustness) struct Gains {
    /// `table[a][b]`: `||x W||_b <= table[a][b] ||x||_a`.
    table: [[f64; 3]; 3],
}

impl Gains {
    pub fn of(weight: &Tensor) -> Result<Self> {
        let (ins, outs) = weight.dims2()?;
        let w = weight.to_dtype(DType::F64)?;
        let values = w.flatten_all()?.to_vec1::<f64>()?;
        let mut rows = vec![[0.0; 3]; ins];
        let mut cols = vec![[0.0; 3]; outs];
        for (k, v) in values.iter().enumerate() {
            for sums in [&mut rows[k / outs], &mut cols[k % outs]] {
                *sums = [sums[0] + v.abs(), sums[1] + v * v, sums[2].max(v.abs())];
            }
        }
        for sums in rows.iter_mut().chain(&mut cols) {
            sums[1] = sums[1].sqrt();
        }
        let most = |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm]).fold(0.0, f64::max);
        let length =
            |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm] * s[norm]).sum::<f64>().sqrt();
        let sum = |of: &[[f64; 3]], norm: usize| of.iter().map(|s| s[norm]).sum::<f64>();
        let spectral = spectral_norm(&w, most(&rows, 0), most(&cols, 0))?;
        let (root_in, root_out) = ((ins as f64).sqrt(), (outs as f64).sqrt());
        // To L-infinity, a column at a time: Hölder. From L1, a row at a time: the extreme points
        // of the ball.
        let table = [
            [most(&rows, 0), most(&rows, 1), most(&rows, 2)],
            [
                length(&rows, 0).min(root_out * spectral),
                spectral,
                most(&cols, 1),
            ],
            [
                sum(&cols, 0),
                length(&cols, 0).min(root_in * spectral).min(sum(&rows, 1)),
                most(&cols, 0),
            ],
        ];
        Ok(Self { table })
    }

    /// Bounds in the three norms after the map, from the bounds before it.
    pub fn after(&self, reached: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|b| {
            (0..3)
                .map(|a| reached[a] * self.table[a][b])
                .fold(f64::INFINITY, f64::min)
        })
    }

    /// Largest singular value.
    pub fn spectral(&self) -> f64 {
        self.table[1][1]
    }

    /// Largest absolute column sum: the L1 norm of `h → W h`.
    pub fn thesis_l1(&self) -> f64 {
        self.table[2][2]
    }

    /// Largest absolute row sum: the L-infinity norm of `h → W h`.
    pub fn thesis_linf(&self) -> f64 {
        self.table[0][0]
    }
}

/// Bounds in L1, L2 and L-infinity of a row of `dim` entries whose L_p norm is one.
pub(in crate::robustness) fn start(norm: Norm, dim: usize) -> [f64; 3] {
    let inverse = match norm {
        Norm::P(p) => 1.0 / p,
        Norm::Infinity => 0.0,
    };
    [1.0f64, 0.5, 0.0].map(|target| (dim as f64).powf((target - inverse).max(0.0)))
}

/// Largest singular value, or an upper bound if that is too expensive.
fn spectral_norm(w: &Tensor, row_sum: f64, col_sum: f64) -> Result<f64> {
    let (rows, cols) = w.dims2()?;
    let above = (row_sum * col_sum).sqrt();
    let side = rows.min(cols);
    if side == 0 || side > WIDEST {
        return Ok(above);
    }
    let gram = if cols <= rows {
        w.t()?.matmul(w)?
    } else {
        w.matmul(&w.t()?)?
    };
    match gnarl_linalg::symmetric_eigen(side, &gram.flatten_all()?.to_vec1::<f64>()?, false) {
        Ok((values, _)) => Ok(values.into_iter().fold(0.0, f64::max).sqrt().min(above)),
        Err(_) => Ok(above),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_tensor::Device;

    /// W = [[3, 0], [4, 5]]: rows of L1 norms 3 and 9, columns of 7 and 5, WᵀW with eigenvalues 45
    /// and 5.
    #[test]
    fn a_matrix_by_hand() {
        let weight = Tensor::from_vec(vec![3f32, 0.0, 4.0, 5.0], (2, 2), &Device::Cpu).unwrap();
        let gains = Gains::of(&weight).unwrap();
        let expected = [
            [9.0, 41f64.sqrt(), 5.0],
            [90f64.sqrt(), 45f64.sqrt(), 5.0],
            [12.0, 74f64.sqrt(), 7.0],
        ];
        for (row, expected) in gains.table.iter().zip(expected) {
            assert!(
                row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
                "{row:?}, not {expected:?}"
            );
        }
        assert_eq!((gains.thesis_l1(), gains.thesis_linf()), (7.0, 9.0));
        // A row of L2 norm one in four dimensions: 2 in L1; of L-infinity norm one: 4 and 2.
        assert_eq!(start(Norm::L2, 4), [2.0, 1.0, 1.0]);
        assert_eq!(start(Norm::Infinity, 4), [4.0, 2.0, 1.0]);
    }
}
