//! The kernels of a device, in one table: the seam at which another device would come in.
//!
//! Operations, shapes and the tape ask a tensor's device for its table and call what is in it; none
//! of them knows what is behind. The CPU's is the only one. What an operation does value by value
//! in a few lines it does itself, over the values in the program's own memory: docs/engine.md says
//! which those are and how a table that is loaded at start would fit in.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::activation::Dropout;
use crate::element::{Device, Float};
use crate::gemm::dense_product;
use crate::kernels::{self, CHUNK, Rows};
use crate::pattern::{MIN_PARALLEL_WORK, Pattern};
use crate::tape::Target;

/// What a device computes, in one precision. Targets are written in full, or added to where they
/// hold a sum.
#[allow(
    clippy::type_complexity,
    reason = "a table of functions is made of their types"
)]
pub(crate) struct Kernels<T: Float> {
    /// `P · x (+ bias)`, x of so many columns, through ReLU and dropout where asked (of what is not
    /// added).
    pub sparse_product: fn(Rows<'_, T>, &[T], usize, Option<&[T]>, Option<Dropout>, Target<'_, T>),
    /// For each entry and head the inner product of a row of the first and of the second matrix, of
    /// so many columns.
    pub sampled_products: fn(&Pattern, usize, [&[T]; 2], usize, Target<'_, T>),
    /// For each pair of nodes the inner products of one's row of the first and the other's of the
    /// second matrix, both ways, added; of so many columns.
    pub pair_products: fn(&[(u32, u32)], [&[T]; 2], usize, Target<'_, T>),
    /// `a · b`, each transposed where asked; rows, inner and columns of the product.
    pub dense_product: fn([&[T]; 2], [bool; 2], (usize, usize, usize), Target<'_, T>),
    /// The sum of each of so many columns.
    pub column_sums: fn(&[T], usize) -> Vec<T>,
    /// ReLU, then dropout.
    pub relu_dropout: fn(&[T], Dropout, &mut [MaybeUninit<T>]),
    /// Dropout alone.
    pub dropout: fn(&[T], Dropout, &mut [MaybeUninit<T>]),
    /// The second, scaled, where the first is positive.
    pub gate: fn(&[T], &[T], T, &mut [MaybeUninit<T>]),
    /// The same in place of the second.
    pub gate_in_place: fn(&[T], &mut [T], T),
}

/// A precision that devices have kernels for.
pub(crate) trait OnDevice: Float {
    /// The CPU's table.
    fn cpu() -> &'static Kernels<Self>;
}

impl Device {
    /// The kernels of this device.
    pub(crate) fn kernels<T: OnDevice>(self) -> &'static Kernels<T> {
        match self {
            Device::Cpu => T::cpu(),
        }
    }
}

macro_rules! on_cpu {
    ($ty:ident) => {
        impl OnDevice for $ty {
            fn cpu() -> &'static Kernels<Self> {
                static CPU: Kernels<$ty> = Kernels {
                    sparse_product,
                    sampled_products,
                    pair_products,
                    dense_product,
                    column_sums: kernels::column_sums,
                    relu_dropout,
                    dropout,
                    gate,
                    gate_in_place,
                };
                &CPU
            }
        }
    };
}

on_cpu!(f32);
on_cpu!(f64);

/// Blocks of rows for each thread where a product goes over a dense matrix once for each of them:
/// enough to share the work.
const BLOCKS_OF_A_THREAD: usize = 4;

/// The one place where sparse meets dense.
fn sparse_product<T: Float>(
    rows: Rows<'_, T>,
    x: &[T],
    width: usize,
    bias: Option<&[T]>,
    activation: Option<Dropout>,
    target: Target<'_, T>,
) {
    let (out, add) = target.split();
    let at_most = match rows.tile(width) {
        // Every block goes over all of `x`, tile by tile.
        Some(_) => BLOCKS_OF_A_THREAD * rayon::current_num_threads(),
        None => usize::MAX,
    };
    rows.pattern
        .for_few_row_blocks(at_most, out, width, |range, out| {
            let first = (range.start * width) as u64;
            kernels::gather_rows(rows, range, x, width, bias, add, out);
            if let Some(d) = activation {
                // SAFETY: these rows were just written, and both types have one layout.
                let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) };
                kernels::relu_dropout_in_place(out, first, d.key, d.threshold(), d.scale());
            }
        });
}

fn sampled_products<T: Float>(
    p: &Pattern,
    heads: usize,
    [a, b]: [&[T]; 2],
    width: usize,
    target: Target<'_, T>,
) {
    let (out, add) = target.split();
    p.for_entry_blocks(out, heads, |range, out| {
        kernels::sampled_products(p, heads, range, a, b, width, add, out)
    });
}

fn pair_products<T: Float>(
    pairs: &[(u32, u32)],
    [a, b]: [&[T]; 2],
    width: usize,
    target: Target<'_, T>,
) {
    const PAIRS: usize = 4096;
    let (out, add) = target.split();
    assert_eq!(out.len(), pairs.len(), "a product for each pair");
    // Far more pairs than nodes: rows that fill whole registers are worth a copy.
    let padded = width.next_multiple_of(kernels::PAIR_LANES);
    let copy = |x: &[T]| {
        let mut copy = vec![T::ZERO; x.len() / width.max(1) * padded];
        copy.chunks_exact_mut(padded)
            .zip(x.chunks_exact(width))
            .for_each(|(to, from)| to[..width].copy_from_slice(from));
        copy
    };
    let copies = (width != padded).then(|| [copy(a), copy(b)]);
    let [a, b] = copies.as_ref().map_or([a, b], |[a, b]| [a, b]);
    let parts = out.par_chunks_mut(PAIRS).zip(pairs.par_chunks(PAIRS));
    parts.for_each(|(out, pairs)| kernels::pair_products(pairs, a, b, padded, add, out));
}

/// Works on chunks side by side where there are many values.
fn in_chunks<T: Float>(
    x: &[T],
    out: &mut [MaybeUninit<T>],
    work: impl Fn(usize, &[T], &mut [MaybeUninit<T>]) + Sync,
) {
    assert_eq!(x.len(), out.len(), "values of a result");
    if x.len() < MIN_PARALLEL_WORK {
        return work(0, x, out);
    }
    let chunks = out
        .par_chunks_mut(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .enumerate();
    chunks.for_each(|(i, (out, x))| work(i * CHUNK, x, out));
}

fn relu_dropout<T: Float>(x: &[T], d: Dropout, out: &mut [MaybeUninit<T>]) {
    in_chunks(x, out, |first, x, out| {
        kernels::relu_dropout(x, first as u64, d.key, d.threshold(), d.scale(), out)
    });
}

fn dropout<T: Float>(x: &[T], d: Dropout, out: &mut [MaybeUninit<T>]) {
    in_chunks(x, out, |first, x, out| {
        kernels::dropout(x, first as u64, d.key, d.threshold(), d.scale(), out)
    });
}

fn gate<T: Float>(result: &[T], x: &[T], scale: T, out: &mut [MaybeUninit<T>]) {
    in_chunks(result, out, |first, result, out| {
        kernels::relu_dropout_grad(result, &x[first..first + result.len()], scale, out);
    });
}

fn gate_in_place<T: Float>(result: &[T], x: &mut [T], scale: T) {
    assert_eq!(result.len(), x.len(), "values of a gate");
    if x.len() < MIN_PARALLEL_WORK {
        return kernels::relu_dropout_grad_in_place(result, x, scale);
    }
    let parts = x.par_chunks_mut(CHUNK).zip(result.par_chunks(CHUNK));
    parts.for_each(|(x, result)| kernels::relu_dropout_grad_in_place(result, x, scale));
}
