//! Dense matrix products on the CPU.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::element::Float;
use crate::kernels;
use crate::pattern::MIN_PARALLEL_WORK;
use crate::tape::Target;

/// Writes `a · b` to a target or adds it; `turned` transposes a stored matrix. `shape` is that of
/// the product: rows, inner size, columns.
pub(crate) fn dense_product<T: Float>(
    [a, b]: [&[T]; 2],
    turned: [bool; 2],
    (rows, inner, width): (usize, usize, usize),
    target: Target<'_, T>,
) {
    if turned == [true, false] {
        return transposed_product((a, b), (inner, rows, width), target);
    }
    let a = if turned[0] {
        Factor::new(a, inner, rows).transposed()
    } else {
        Factor::new(a, rows, inner)
    };
    let b = if turned[1] {
        Factor::new(b, width, inner).transposed()
    } else {
        Factor::new(b, inner, width)
    };
    let (out, add) = target.split();
    multiply(a, b, add, Threads::All, out);
}

/// Computes `xᵀ · g` by blocks of rows, summed in their order. Few outputs of many rows each would
/// otherwise occupy one thread alone.
fn transposed_product<T: Float>(
    (x, g): (&[T], &[T]),
    (rows, inner, width): (usize, usize, usize),
    target: Target<'_, T>,
) {
    const ROWS: usize = 2048;
    let (out, add) = target.split();
    if inner * width * rows == 0 {
        if !add {
            out.iter_mut().for_each(|o| _ = o.write(T::ZERO));
        }
        return;
    }
    // Blocks much smaller than their output would cost more than they save.
    let height = ROWS.max(4 * inner.max(width));
    let whole = (
        Factor::new(x, rows, inner).transposed(),
        Factor::new(g, rows, width),
    );
    if rows <= height || rows * inner * width < MIN_PARALLEL_WORK {
        return multiply(whole.0, whole.1, add, Threads::All, out);
    }
    let of_block = |(x, g): (&[T], &[T])| {
        let rows = x.len() / inner;
        let mut block = vec![T::ZERO; inner * width];
        let (x, g) = (
            Factor::new(x, rows, inner).transposed(),
            Factor::new(g, rows, width),
        );
        multiply(x, g, false, Threads::One, as_uninit(&mut block));
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
    for (out, sum) in out.iter_mut().zip(&total) {
        // SAFETY: a target that is added to was written before.
        let before = if add {
            unsafe { out.assume_init() }
        } else {
            T::ZERO
        };
        out.write(before + *sum);
    }
}

fn as_uninit<T>(values: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: both types have one layout, and products write only proper values.
    unsafe { &mut *(std::ptr::from_mut(values) as *mut [MaybeUninit<T>]) }
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
        false,
        Threads::One,
        out,
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

/// Writes `a · b` to `out`, by rows, or adds it to the present values, which are then initialised.
fn multiply<T: Float>(
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    add: bool,
    threads: Threads,
    out: &mut [MaybeUninit<T>],
) {
    let ((rows, inner), (b_rows, width)) = (a.shape, b.shape);
    assert!(
        inner == b_rows && out.len() == rows * width,
        "shapes of a product"
    );
    if inner == 0 && !add {
        out.iter_mut().for_each(|o| _ = o.write(T::ZERO));
    }
    if out.is_empty() || inner == 0 {
        return;
    }
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
    // only if it is added to, and written in full.
    unsafe {
        gemm::gemm(
            rows,
            width,
            inner,
            out.as_mut_ptr().cast::<T>(),
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
