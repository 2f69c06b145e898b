//! The product of an operator with given values and a dense matrix: the one place where sparse meets dense.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::tensor::activation::Dropout;
use crate::tensor::array::Tensor;
use crate::tensor::element::Float;
use crate::tensor::fault::{Result, bail};
use crate::tensor::kernels::{self, Rows};
use crate::tensor::pattern::Pattern;
use crate::tensor::tape::Target;

const OP: &str = "operator";

/// Rows and columns of the result of a product, where its shapes fit.
pub(super) fn check(pattern: &Pattern, heads: usize, x: &Tensor, bias: Option<&Tensor>) -> Result<(usize, usize)> {
    let (x_rows, width) = x.dims2()?;
    if x_rows != pattern.num_cols() {
        bail!("{OP}: {} × {} applied to {x_rows} rows", pattern.num_rows(), pattern.num_cols());
    }
    if width % heads != 0 {
        bail!("{OP}: {width} columns cannot be shared by {heads} heads");
    }
    if let Some(bias) = bias
        && bias.dims() != [width]
    {
        bail!("{OP}: a bias of {} for {width} columns", bias.elem_count());
    }
    Ok((pattern.num_rows(), width))
}

/// The product with given values, through ReLU and dropout where asked.
pub(super) fn product<T: Float>(
    rows: Rows<'_, T>,
    x: &Tensor,
    bias: Option<&Tensor>,
    activation: Option<Dropout>,
) -> Result<Tensor> {
    let (num_rows, width) = check(rows.pattern, rows.heads, x, bias)?;
    let (x, bias) = (x.values::<T>()?, bias.map(Tensor::values::<T>).transpose()?);
    let fill = |out: &mut [MaybeUninit<T>]| {
        rows.pattern.for_row_blocks(out, width, |range, out| {
            let first = (range.start * width) as u64;
            kernels::gather_rows(rows, range, &x, width, bias.as_deref(), false, out);
            if let Some(d) = activation {
                // SAFETY: these rows were just written, and both types have one layout.
                let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) };
                kernels::relu_dropout_in_place(out, first, d.key, d.threshold(), d.scale());
            }
        });
    };
    // SAFETY: the blocks are all rows, and the kernel writes every value of its rows.
    Ok(unsafe { Tensor::filled((num_rows, width), fill) })
}

/// Writes the product to a target or adds it, where the shapes are known to fit.
pub(super) fn product_to<T: Float>(rows: Rows<'_, T>, x: &[T], width: usize, target: Target<'_, T>) {
    let (out, add) = target.split();
    rows.pattern.for_row_blocks(out, width, |range, out| {
        kernels::gather_rows(rows, range, x, width, None, add, out);
    });
}

/// `heads` values per entry, in the order of the transposed pattern.
pub(super) fn permuted<T: Float>(values: &[T], heads: usize, entry_of: &[u32]) -> Vec<T> {
    let mut out = vec![T::ZERO; values.len()];
    out.par_chunks_mut(heads * 4096).zip(entry_of.par_chunks(4096)).for_each(|(out, entries)| {
        for (out, &k) in out.chunks_exact_mut(heads).zip(entries) {
            out.copy_from_slice(&values[k as usize * heads..(k as usize + 1) * heads]);
        }
    });
    out
}
