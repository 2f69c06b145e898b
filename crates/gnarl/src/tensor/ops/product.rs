//! The matrix product, with either side transposed, and the dense products that fused operations are made of.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::tensor::array::Tensor;
use crate::tensor::element::{Float, by_precision};
use crate::tensor::fault::{Result, bail};
use crate::tensor::kernels;
use crate::tensor::pattern::MIN_PARALLEL_WORK;
use crate::tensor::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// `a · b`, each of them transposed where asked. Its gradients are of the same kind.
#[derive(Clone, Copy)]
pub(crate) struct MatMul {
    turned: [bool; 2],
}

impl MatMul {
    fn shape(self, a: &Tensor, b: &Tensor) -> Result<(usize, usize, usize)> {
        let turn = |(rows, cols), turned| if turned { (cols, rows) } else { (rows, cols) };
        let ((rows, inner), (b_rows, width)) = (turn(a.dims2()?, self.turned[0]), turn(b.dims2()?, self.turned[1]));
        if inner != b_rows {
            bail!("matmul: {rows} × {inner} by {b_rows} × {width}");
        }
        Ok((rows, inner, width))
    }

    /// The product that the gradient of the first and of the second factor is: which two of a, b and the gradient.
    fn to_first(self) -> (Self, bool) {
        match self.turned {
            [false, b] => (Self { turned: [false, !b] }, false),
            [true, b] => (Self { turned: [b, true] }, true),
        }
    }

    fn to_second(self) -> (Self, bool) {
        match self.turned {
            [a, false] => (Self { turned: [!a, false] }, false),
            [a, true] => (Self { turned: [true, a] }, true),
        }
    }

    /// Writes the product, or adds it.
    fn write<T: Float>(self, a: &Tensor, b: &Tensor, target: Target<'_, T>) -> Result<()> {
        let (rows, inner, width) = self.shape(a, b)?;
        let (a, b) = (a.values::<T>()?, b.values::<T>()?);
        match self.turned {
            [true, false] => transposed_product((&a, &b), (inner, rows, width), target),
            [turn_a, turn_b] => {
                let a = if turn_a { Factor::new(&a, inner, rows).transposed() } else { Factor::new(&a, rows, inner) };
                let b = if turn_b { Factor::new(&b, width, inner).transposed() } else { Factor::new(&b, inner, width) };
                let (out, add) = target.split();
                multiply(a, b, add, Threads::All, out);
            }
        }
        Ok(())
    }
}

impl Operation for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let (a, b) = (&inputs[0], &inputs[1]);
        let (rows, _, width) = self.shape(a, b)?;
        by_precision!(self.name(), a.dtype(), T => {
            let mut outcome = Ok(());
            // SAFETY: a product that is not added to anything writes every value; an error is returned before it is read.
            let y = unsafe {
                Tensor::filled::<T>((rows, width), |out| {
                    outcome = self.write(a, b, Target::Write(&mut *out));
                    if outcome.is_err() {
                        out.iter_mut().for_each(|out| _ = out.write(0.0));
                    }
                })
            };
            outcome.map(|()| y)
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (a, b) = (&at.inputs[0], &at.inputs[1]);
        let to_a = at.to(0, || match self.to_first() {
            (op, false) => apply(op, &[grad, b]),
            (op, true) => apply(op, &[b, grad]),
        })?;
        let to_b = at.to(1, || match self.to_second() {
            (op, false) => apply(op, &[a, grad]),
            (op, true) => apply(op, &[grad, a]),
        })?;
        Ok(vec![to_a, to_b])
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (a, b) = (&at.inputs[0], &at.inputs[1]);
        by_precision!(self.name(), grad.dtype(), T => {
            if to.wants(0) {
                let (op, turned) = self.to_first();
                let (left, right) = if turned { (b, &grad) } else { (&grad, b) };
                product_to::<T>(op, left, right, 0, to)?;
            }
            if to.wants(1) {
                let (op, turned) = self.to_second();
                let (left, right) = if turned { (&grad, a) } else { (a, &grad) };
                product_to::<T>(op, left, right, 1, to)?;
            }
        });
        Ok(())
    }
}

/// Adds a product to the gradient of input `i`.
fn product_to<T: Float>(op: MatMul, left: &Tensor, right: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    op.shape(left, right)?;
    left.values::<T>()?;
    right.values::<T>()?;
    // SAFETY: shapes and kinds fit, so the product is written in full.
    unsafe { to.fill::<T>(i, |target| _ = op.write(left, right, target)) }
}

impl Tensor {
    /// The product of two matrices.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        apply(MatMul { turned: [false, false] }, &[self, other])
    }
}

/// Adds `g · wᵀ` to the gradient of input `i`.
pub(crate) fn by_transposed_to(g: &Tensor, w: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    by_precision!("product", g.dtype(), T => product_to::<T>(MatMul { turned: [false, true] }, g, w, i, to))
}

/// Adds `xᵀ · g` to the gradient of input `i`.
pub(crate) fn transposed_by_to(x: &Tensor, g: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    by_precision!("product", g.dtype(), T => product_to::<T>(MatMul { turned: [true, false] }, x, g, i, to))
}

/// `xᵀ · g` by blocks of rows, summed in their order: few outputs of many rows each would keep one thread busy alone.
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
    // Blocks much smaller than what comes out of them would cost more than they save.
    let height = ROWS.max(4 * inner.max(width));
    let whole = (Factor::new(x, rows, inner).transposed(), Factor::new(g, rows, width));
    if rows <= height || rows * inner * width < MIN_PARALLEL_WORK {
        return multiply(whole.0, whole.1, add, Threads::All, out);
    }
    let of_block = |(x, g): (&[T], &[T])| {
        let rows = x.len() / inner;
        let mut block = vec![T::ZERO; inner * width];
        let (x, g) = (Factor::new(x, rows, inner).transposed(), Factor::new(g, rows, width));
        multiply(x, g, false, Threads::One, as_uninit(&mut block));
        block
    };
    let blocks: Vec<Vec<T>> = x.par_chunks(height * inner).zip(g.par_chunks(height * width)).map(of_block).collect();
    let mut sums = blocks.into_iter();
    let mut total = sums.next().unwrap_or_default();
    sums.for_each(|block| kernels::add_rows(&block, &mut total));
    for (out, sum) in out.iter_mut().zip(&total) {
        // SAFETY: what is added to was written before.
        let before = if add { unsafe { out.assume_init() } } else { T::ZERO };
        out.write(before + *sum);
    }
}

fn as_uninit<T>(values: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: both types have one layout, and products write only proper values.
    unsafe { &mut *(std::ptr::from_mut(values) as *mut [MaybeUninit<T>]) }
}

/// Writes `x · w`, all stored by rows, `rows × inner` by `inner × width`, on this thread; gives what was written.
pub(crate) fn product_into<'a, T: Float>(
    (x, w): (&[T], &[T]),
    (rows, inner, width): (usize, usize, usize),
    out: &'a mut [MaybeUninit<T>],
) -> &'a mut [T] {
    multiply(Factor::new(x, rows, inner), Factor::new(w, inner, width), false, Threads::One, out);
    // SAFETY: a product that is not added to anything writes every value.
    unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) }
}

/// A matrix of a product: stored by rows, or the transpose of one that is.
#[derive(Clone, Copy)]
struct Factor<'a, T> {
    values: &'a [T],
    shape: (usize, usize),
    /// From one row to the next, and from one column to the next.
    strides: (isize, isize),
}

impl<'a, T> Factor<'a, T> {
    fn new(values: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(values.len(), rows * cols, "the shape of a matrix");
        Self { values, shape: (rows, cols), strides: (cols as isize, 1) }
    }

    fn transposed(self) -> Self {
        let ((rows, cols), (down, right)) = (self.shape, self.strides);
        Self { shape: (cols, rows), strides: (right, down), ..self }
    }
}

/// Who works on a product.
#[derive(Clone, Copy, PartialEq)]
enum Threads {
    One,
    All,
}

/// Writes `a · b` to `out`, by rows, or adds it to what is there, which is then initialised.
fn multiply<T: Float>(a: Factor<'_, T>, b: Factor<'_, T>, add: bool, threads: Threads, out: &mut [MaybeUninit<T>]) {
    let ((rows, inner), (b_rows, width)) = (a.shape, b.shape);
    assert!(inner == b_rows && out.len() == rows * width, "shapes of a product");
    if inner == 0 && !add {
        out.iter_mut().for_each(|o| _ = o.write(T::ZERO));
    }
    if out.is_empty() || inner == 0 {
        return;
    }
    let alone = threads == Threads::One || rows * inner * width < MIN_PARALLEL_WORK;
    let threads = if alone { 1 } else { rayon::current_num_threads() };
    let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    // SAFETY: the three matrices lie within their slices by their shapes and strides; `out` is read only where it is added to,
    // and written in full.
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

#[cfg(test)]
mod examples {
    use super::*;
    use crate::tensor::testing::{Example, Examples};

    impl Examples for MatMul {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for (rows, inner, width) in [(3, 4, 5), (1, 7, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0), (17, 1, 9)] {
                for turned in [[false, false], [true, false], [false, true], [true, true]] {
                    let a = if turned[0] { [inner, rows] } else { [rows, inner] };
                    let b = if turned[1] { [width, inner] } else { [inner, width] };
                    examples.push(Example::of(&[&a, &b], move |v| apply(MatMul { turned }, &[&v[0], &v[1]])));
                }
            }
            examples
        }
    }
}
