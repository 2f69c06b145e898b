//! Dense matrix products on the CPU.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::element::Float;
use crate::kernels;
use crate::pattern::MIN_PARALLEL_WORK;
use crate::target::{Target, overwritten};

/// Writes `a · b` to a target or adds it; `transposed` transposes a stored matrix. `shape` is that of
/// the product: rows, inner size, columns.
pub(crate) fn dense_product<T: Float>(
    [a, b]: [&[T]; 2],
    transposed: [bool; 2],
    (rows, inner, width): (usize, usize, usize),
    target: Target<'_, T>,
) {
    if transposed == [true, false] {
        return transposed_product((a, b), (inner, rows, width), target);
    }
    let a = if transposed[0] {
        Factor::new(a, inner, rows).transposed()
    } else {
        Factor::new(a, rows, inner)
    };
    let b = if transposed[1] {
        Factor::new(b, width, inner).transposed()
    } else {
        Factor::new(b, inner, width)
    };
    multiply(a, b, Threads::All, target);
}

/// Computes `xᵀ · g` by blocks of rows, summed in their order. Few outputs of many rows each would
/// otherwise occupy one thread alone.
fn transposed_product<T: Float>(
    (x, g): (&[T], &[T]),
    (rows, inner, width): (usize, usize, usize),
    target: Target<'_, T>,
) {
    const ROWS: usize = 2048;
    if inner * width * rows == 0 {
        target.initialised();
        return;
    }
    // Blocks much smaller than their output would cost more than they save.
    let height = ROWS.max(4 * inner.max(width));
    let whole = (
        Factor::new(x, rows, inner).transposed(),
        Factor::new(g, rows, width),
    );
    if rows <= height || rows * inner * width < MIN_PARALLEL_WORK {
        return multiply(whole.0, whole.1, Threads::All, target);
    }
    let of_block = |(x, g): (&[T], &[T])| {
        let rows = x.len() / inner;
        let mut block = vec![T::ZERO; inner * width];
        let (x, g) = (
            Factor::new(x, rows, inner).transposed(),
            Factor::new(g, rows, width),
        );
        // SAFETY: a product is written, which is initialised.
        multiply(x, g, Threads::One, unsafe { overwritten(&mut block) });
        block
    };
    let blocks: Vec<Vec<T>> = x
        .par_chunks(height * inner)
        .zip(g.par_chunks(height * width))
        .map(of_block)
        .collect();
    let mut sums = blocks.into_iter();
    let mut total = sums.next().unwrap_or_default();
    sums.for_each(|block| kernels::add_rows(&block, &mut total));
    target.add(total.into_iter());
}

/// Writes `x · w`, all stored by rows, `rows × inner` by `inner × width`, on this thread; returns
/// the written values.
pub(crate) fn product_into<'a, T: Float>(
    (x, w): (&[T], &[T]),
    (rows, inner, width): (usize, usize, usize),
    out: &'a mut [MaybeUninit<T>],
) -> &'a mut [T] {
    multiply(
        Factor::new(x, rows, inner),
        Factor::new(w, inner, width),
        Threads::One,
        Target::Write(&mut *out),
    );
    // SAFETY: a product that is not added to anything writes every value.
    unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) }
}

/// Factor of a product: a matrix stored by rows, or the transpose of one.
#[derive(Clone, Copy)]
struct Factor<'a, T> {
    values: &'a [T],
    shape: (usize, usize),
    /// Stride from one row to the next, and from one column to the next.
    strides: (isize, isize),
}

impl<'a, T> Factor<'a, T> {
    fn new(values: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(values.len(), rows * cols, "the shape of a matrix");
        Self {
            values,
            shape: (rows, cols),
            strides: (cols as isize, 1),
        }
    }

    fn transposed(self) -> Self {
        let ((rows, cols), (down, right)) = (self.shape, self.strides);
        Self {
            shape: (cols, rows),
            strides: (right, down),
            ..self
        }
    }
}

/// Threads that compute a product.
#[derive(Clone, Copy, PartialEq)]
enum Threads {
    One,
    All,
}

/// Writes `a · b` to `target`, by rows, or adds it to the values so far.
fn multiply<T: Float>(a: Factor<'_, T>, b: Factor<'_, T>, threads: Threads, target: Target<'_, T>) {
    let ((rows, inner), (b_rows, width)) = (a.shape, b.shape);
    assert!(
        inner == b_rows && target.len() == rows * width,
        "shapes of a product"
    );
    if rows * width == 0 || inner == 0 {
        target.initialised();
        return;
    }
    let (out, add): (*mut T, bool) = match target {
        Target::Write(out) => (out.as_mut_ptr().cast(), false),
        Target::Add(out) => (out.as_mut_ptr(), true),
    };
    let alone = threads == Threads::One || rows * inner * width < MIN_PARALLEL_WORK;
    let threads = if alone {
        1
    } else {
        rayon::current_num_threads()
    };
    let parallelism = if threads == 1 {
        gemm::Parallelism::None
    } else {
        gemm::Parallelism::Rayon(threads)
    };
    // SAFETY: the three matrices lie within their slices by their shapes and strides; `out` is read
    // only if it is added to, which initialised values alone are, and written in full.
    unsafe {
        gemm::gemm(
            rows,
            width,
            inner,
            out,
            1,
            width as isize,
            add,
            a.values.as_ptr(),
            a.strides.1,
            a.strides.0,
            b.values.as_ptr(),
            b.strides.1,
            b.strides.0,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}
