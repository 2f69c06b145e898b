//! A bias on every row, and its gradient: the sum of each column.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::pattern::MIN_PARALLEL_WORK;
use super::{floats, kernels, matrix_shape};

/// `x + bias` on every row.
pub fn add_bias(x: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2(&bias.contiguous()?, AddBias)
}

struct AddBias;

impl CustomOp2 for AddBias {
    fn name(&self) -> &'static str {
        "add bias"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, width) = matrix_shape(self.name(), lx)?;
        let (x, bias) = (floats(self.name(), x, lx)?, floats(self.name(), b, lb)?);
        if bias.len() != width {
            bail!("{}: a bias of {} for {width} columns", self.name(), bias.len());
        }
        let mut out = x.to_vec();
        if width > 0 {
            out.par_chunks_mut(256 * width).for_each(|rows| {
                for row in rows.chunks_exact_mut(width) {
                    kernels::add_rows(bias, row);
                }
            });
        }
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }

    fn bwd(&self, _x: &Tensor, _b: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some(grad.clone()), Some(column_sums(grad)?)))
    }
}

/// The sum of each column, in a fixed order whatever the number of threads.
pub(crate) fn column_sums(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1_no_bwd(&ColumnSums)
}

struct ColumnSums;

impl CustomOp1 for ColumnSums {
    fn name(&self) -> &'static str {
        "column sums"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        const ROWS: usize = 512;
        let (_, width) = matrix_shape(self.name(), layout)?;
        let x = floats(self.name(), x, layout)?;
        let mut total = vec![0f32; width];
        if width > 0 {
            let sum_block = |block: &[f32]| {
                let mut sums = vec![0f32; width];
                kernels::add_rows(block, &mut sums);
                sums
            };
            // The same blocks and the same order on one thread or many.
            let blocks: Vec<Vec<f32>> = if x.len() < MIN_PARALLEL_WORK {
                x.chunks(ROWS * width).map(sum_block).collect()
            } else {
                x.par_chunks(ROWS * width).map(sum_block).collect()
            };
            for sums in &blocks {
                kernels::add_rows(sums, &mut total);
            }
        }
        Ok((CpuStorage::F32(total), Shape::from(width)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random};

    #[test]
    fn gradients_of_a_bias() {
        check_gradients(&[random(&[6, 4], 12), random(&[4], 13)], |v| add_bias(&v[0], &v[1])?.sqr());
    }
}
