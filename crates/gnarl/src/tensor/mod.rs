//! Sparse kernels as candle operations, and the optimiser.
//!
//! One type carries the message passing: an [`Operator`] is a sparse [`Pattern`] plus a value (or one per head) for each
//! entry, and the values may be a tensor that takes gradients. A GCN's are constants, attention's come from a softmax, a
//! structural attack's are the variables; sparse node features are an operator too, applied to a weight matrix. One
//! kernel, [`Operator::apply`], serves all of them, with gradients to the dense side and to every value.
//!
//! Every kernel computes an output row on one thread in one order: results do not depend on the number of threads.

mod activation;
mod adam;
mod attention;
mod bias;
mod dense;
pub(crate) mod elementary;
mod factored;
mod kernels;
mod loss;
mod operator;
mod pattern;
mod segment;
pub(crate) mod simd;
#[cfg(test)]
pub(crate) mod testing;

pub use activation::{Dropout, dropout, relu, relu_dropout};
pub use adam::{Adam, AdamSettings};
pub use attention::{additive_scores, gatv2_scores};
pub use bias::add_bias;
pub use dense::affine;
pub use factored::Skeleton;
pub use loss::{masked_cross_entropy, soft_cross_entropy};
pub use operator::{Operator, constant_convolution, dense_convolution, sampled_products};
pub use pattern::{Pattern, Transposed};
pub use segment::{Extreme, gather_cols, scatter_rows, segment_extreme, segment_softmax};
pub(crate) use simd::simd_dispatch;

use std::mem::MaybeUninit;

use candle_core::{CpuStorage, Layout, Result, bail};

/// The values of a contiguous `f32` argument.
fn floats<'a>(op: &str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let Some((from, to)) = layout.contiguous_offsets() else { bail!("{op}: the argument must be contiguous") };
    // A part of an empty matrix may begin beyond its end.
    Ok(if from == to { &[] } else { &storage.as_slice::<f32>()?[from..to] })
}

/// Rows and columns of a matrix argument.
fn matrix_shape(op: &str, layout: &Layout) -> Result<(usize, usize)> {
    match *layout.dims() {
        [rows, cols] => Ok((rows, cols)),
        ref dims => bail!("{op}: a matrix is expected, not a tensor of shape {dims:?}"),
    }
}

/// A vector of `len` values that `fill` writes, without writing zeros first.
///
/// # Safety
/// `fill` writes every value.
unsafe fn filled(len: usize, fill: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<f32> {
    let mut out = Vec::with_capacity(len);
    fill(&mut out.spare_capacity_mut()[..len]);
    // SAFETY: there is room for `len` values, and the caller's promise is that `fill` has written them.
    unsafe { out.set_len(len) };
    out
}
