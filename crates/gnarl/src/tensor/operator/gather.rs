//! The product of an operator with given values and a dense matrix.

use std::mem::MaybeUninit;

use candle_core::{CpuStorage, Layout, Result, Shape, bail};
use rayon::prelude::*;

use crate::tensor::activation::Dropout;
use crate::tensor::kernels::{self, Rows};
use crate::tensor::pattern::Pattern;
use crate::tensor::{filled, floats, matrix_shape};

/// The product with given values: the one place where sparse meets dense.
pub(super) fn product(
    pattern: &Pattern,
    values: &[f32],
    heads: usize,
    x: (&CpuStorage, &Layout),
    bias: Option<(&CpuStorage, &Layout)>,
    activation: Option<Dropout>,
) -> Result<(CpuStorage, Shape)> {
    const OP: &str = "operator";
    let (x_rows, width) = matrix_shape(OP, x.1)?;
    if x_rows != pattern.num_cols() {
        bail!("{OP}: {} × {} applied to {x_rows} rows", pattern.num_rows(), pattern.num_cols());
    }
    if width % heads != 0 {
        bail!("{OP}: {width} columns cannot be shared by {heads} heads");
    }
    let x = floats(OP, x.0, x.1)?;
    let bias = bias.map(|(s, l)| floats(OP, s, l)).transpose()?;
    if let Some(bias) = bias
        && bias.len() != width
    {
        bail!("{OP}: a bias of {} for {width} columns", bias.len());
    }
    let rows = Rows { pattern, values, heads };
    let fill = |out: &mut [MaybeUninit<f32>]| {
        pattern.for_row_blocks(out, width, |range, out| {
            let first = (range.start * width) as u64;
            kernels::gather_rows(rows, range, x, width, bias, out);
            if let Some(d) = activation {
                // SAFETY: these rows were just written, and both types have one layout.
                let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [f32]) };
                kernels::relu_dropout_in_place(out, first, d.key, d.threshold(), d.scale());
            }
        });
    };
    // SAFETY: the blocks are all rows, and the kernel writes every value of its rows.
    let out = unsafe { filled(pattern.num_rows() * width, fill) };
    Ok((CpuStorage::F32(out), Shape::from((pattern.num_rows(), width))))
}

/// `heads` values per entry, in the order of the transposed pattern.
pub(super) fn permuted(values: &[f32], heads: usize, entry_of: &[u32]) -> Vec<f32> {
    let mut out = vec![0f32; values.len()];
    out.par_chunks_mut(heads * 4096).zip(entry_of.par_chunks(4096)).for_each(|(out, entries)| {
        for (out, &k) in out.chunks_exact_mut(heads).zip(entries) {
            out.copy_from_slice(&values[k as usize * heads..(k as usize + 1) * heads]);
        }
    });
    out
}
