//! Kernel table of a device: the interface that another device would implement.
//!
//! Operations, shapes and the tape look up the table of a tensor's device and call its kernels;
//! they do not depend on the implementation. The CPU's table is the only one. Short value-by-value
//! operations run over the values in the program's own memory: docs/engine.md lists them and
//! describes how a table loaded at start would fit in.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::activation::Dropout;
use crate::element::{Device, Float};
use crate::gemm::dense_product;
use crate::kernels::{self, CHUNK, Rows};
use crate::pattern::{MIN_PARALLEL_WORK, Pattern};
use crate::tape::Target;

/// Kernels of a device in one precision. Targets are written in full, or added to if they hold a
/// sum.
#[allow(
    clippy::type_complexity,
    reason = "a table of functions is made of their types"
)]
pub(crate) struct Kernels<T: Float> {
    /// `P · x (+ bias)` for an x of this many columns, with optional ReLU and dropout (unless the
    /// result is added).
    pub sparse_product: fn(Rows<'_, T>, &[T], usize, Option<&[T]>, Option<Dropout>, Target<'_, T>),
    /// Inner product of a row of the first matrix and a row of the second, of this many columns,
    /// for each entry and head.
    pub sampled_products: fn(&Pattern, usize, [&[T]; 2], usize, Target<'_, T>),
    /// Sum of two inner products for each pair of nodes `(u, v)`: row u of the first matrix with
    /// row v of the second, and row v with row u; of this many columns.
    pub pair_products: fn(&[(u32, u32)], [&[T]; 2], usize, Target<'_, T>),
    /// `a · b`, each optionally transposed; with rows, inner size and columns of the product.
    pub dense_product: fn([&[T]; 2], [bool; 2], (usize, usize, usize), Target<'_, T>),
    /// Sum of each column, for this many columns.
    pub column_sums: fn(&[T], usize) -> Vec<T>,
    /// ReLU, then dropout.
    pub relu_dropout: fn(&[T], Dropout, &mut [MaybeUninit<T>]),
    /// Dropout alone.
    pub dropout: fn(&[T], Dropout, &mut [MaybeUninit<T>]),
    /// Second argument, scaled, where the first is positive.
    pub gate: fn(&[T], &[T], T, &mut [MaybeUninit<T>]),
    /// `gate` that writes in place of its second argument.
    pub gate_in_place: fn(&[T], &mut [T], T),
}

/// Precision that devices have kernels for.
pub(crate) trait OnDevice: Float {
    /// Returns the CPU's table.
    fn cpu() -> &'static Kernels<Self>;
}

impl Device {
    /// Returns the kernels of this device.
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

/// Blocks of rows per thread, for products that pass over a dense matrix once per block: enough to
/// balance the work.
const BLOCKS_OF_A_THREAD: usize = 4;

/// Computes sparse × dense products; every such product goes through this function.
fn sparse_product<T: Float>(
    rows: Rows<'_, T>,
    x: &[T],
    width: usize,
    bias: Option<&[T]>,
    activation: Option<Dropout>,
    target: Target<'_, T>,
) {
    let at_most = match rows.tile(width) {
        // Every block passes over all of `x`, tile by tile.
        Some(_) => BLOCKS_OF_A_THREAD * rayon::current_num_threads(),
        None => usize::MAX,
    };
    target.for_few_row_blocks(rows.pattern, at_most, width, |range, mut out| {
        let first = (range.start * width) as u64;
        let len = out.len();
        kernels::gather_rows(rows, range, x, width, bias, out.part(0..len));
        if let Some(d) = activation {
            // SAFETY: these rows were just written.
            let out = unsafe { out.assume_written() };
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
    target.for_entry_blocks(p, heads, |range, out| {
        kernels::sampled_products(p, heads, range, a, b, width, out)
    });
}

fn pair_products<T: Float>(
    pairs: &[(u32, u32)],
    [a, b]: [&[T]; 2],
    width: usize,
    target: Target<'_, T>,
) {
    const PAIRS: usize = 4096;
    assert_eq!(target.len(), pairs.len(), "a product for each pair");
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
    target.for_chunks(PAIRS, |i, out| {
        let pairs = &pairs[i * PAIRS..][..out.len()];
        kernels::pair_products(pairs, a, b, padded, out);
    });
}

/// Works on chunks in parallel if there are many values.
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
