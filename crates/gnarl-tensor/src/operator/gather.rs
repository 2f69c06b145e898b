//! Product of an operator with given values and a dense matrix.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::activation::Dropout;
use crate::array::Tensor;
use crate::buffer::Buffer;
use crate::device::OnDevice;
use crate::element::Float;
use crate::error::{Result, bail};
use crate::kernels::Rows;
use crate::pattern::Pattern;
use crate::tape::{Sinks, Target};

const OP: &str = "operator";

/// Returns the rows and columns of a product's result; fails if the shapes do not fit.
pub(super) fn check(
    pattern: &Pattern,
    heads: usize,
    x: &Tensor,
    bias: Option<&Tensor>,
) -> Result<(usize, usize)> {
    let (x_rows, width) = x.dims2()?;
    if x_rows != pattern.num_cols() {
        bail!(
            "{OP}: {} × {} applied to {x_rows} rows",
            pattern.num_rows(),
            pattern.num_cols()
        );
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

/// Computes the product with given values, with optional ReLU and dropout.
pub(super) fn product<T: OnDevice>(
    rows: Rows<'_, T>,
    x: &Tensor,
    bias: Option<&Tensor>,
    activation: Option<Dropout>,
) -> Result<Tensor> {
    let (num_rows, width) = check(rows.pattern, rows.heads, x, bias)?;
    let kernels = x.device().kernels::<T>();
    let (x, bias) = (x.values::<T>()?, bias.map(Tensor::values::<T>).transpose()?);
    let fill = |out: &mut [MaybeUninit<T>]| {
        (kernels.sparse_product)(
            rows,
            &x,
            width,
            bias.as_deref(),
            activation,
            Target::Write(out),
        );
    };
    // SAFETY: the product writes every value.
    Ok(unsafe { Tensor::filled((num_rows, width), fill) })
}

/// Adds the product with `x`, whose shapes are known to fit, to the gradient of input `i`.
pub(super) fn product_to<T: OnDevice>(
    rows: Rows<'_, T>,
    x: &Tensor,
    i: usize,
    to: &mut Sinks<'_>,
) -> Result<()> {
    let (_, width) = check(rows.pattern, rows.heads, x, None)?;
    let kernels = x.device().kernels::<T>();
    let x = x.values::<T>()?;
    // SAFETY: the product writes every value.
    unsafe {
        to.fill::<T>(i, |target| {
            (kernels.sparse_product)(rows, &x, width, None, None, target)
        })
    }
}

/// Returns `heads` values per entry, in the order of the transposed pattern.
pub(super) fn permuted<T: Float>(values: &[T], heads: usize, entry_of: &[u32]) -> Buffer<T> {
    const ENTRIES: usize = 4096;
    assert_eq!(
        values.len(),
        heads * entry_of.len(),
        "values of the entries"
    );
    let part = |(out, entries): (&mut [MaybeUninit<T>], &[u32])| match heads {
        1 => out
            .iter_mut()
            .zip(entries)
            .for_each(|(out, &k)| _ = out.write(values[k as usize])),
        _ => {
            for (out, &k) in out.chunks_exact_mut(heads).zip(entries) {
                let from = &values[k as usize * heads..(k as usize + 1) * heads];
                // Short runs: a loop, and no call for each.
                for h in 0..heads {
                    out[h].write(from[h]);
                }
            }
        }
    };
    let fill = |out: &mut [MaybeUninit<T>]| {
        out.par_chunks_mut(heads * ENTRIES)
            .zip(entry_of.par_chunks(ENTRIES))
            .for_each(part);
    };
    // SAFETY: there are as many values as entries and heads, and each is written.
    unsafe { Buffer::filled(values.len(), fill) }
}
