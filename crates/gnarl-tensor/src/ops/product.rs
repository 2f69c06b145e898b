//! Matrix product, with either side transposed, and the dense products of fused operations.

use crate::array::Tensor;
use crate::device::OnDevice;
use crate::element::by_precision;
use crate::error::{Result, bail};
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// `a · b`, each optionally transposed. Its gradients are matrix products as well.
#[derive(Clone, Copy)]
pub(crate) struct MatMul {
    transposed: [bool; 2],
}

impl MatMul {
    fn shape(self, a: &Tensor, b: &Tensor) -> Result<(usize, usize, usize)> {
        let oriented = |(rows, cols), transposed| {
            if transposed {
                (cols, rows)
            } else {
                (rows, cols)
            }
        };
        let ((rows, inner), (b_rows, width)) = (
            oriented(a.dims2()?, self.transposed[0]),
            oriented(b.dims2()?, self.transposed[1]),
        );
        if inner != b_rows {
            bail!("matmul: {rows} × {inner} by {b_rows} × {width}");
        }
        Ok((rows, inner, width))
    }

    /// Returns the product that computes the gradient of the first factor, of the gradient and b,
    /// and true if b comes first.
    fn to_first(self) -> (Self, bool) {
        match self.transposed {
            [false, b] => (
                Self {
                    transposed: [false, !b],
                },
                false,
            ),
            [true, b] => (
                Self {
                    transposed: [b, true],
                },
                true,
            ),
        }
    }

    /// Returns the product that computes the gradient of the second factor, of a and the gradient,
    /// and true if the gradient comes first.
    fn to_second(self) -> (Self, bool) {
        match self.transposed {
            [a, false] => (
                Self {
                    transposed: [!a, false],
                },
                false,
            ),
            [a, true] => (
                Self {
                    transposed: [true, a],
                },
                true,
            ),
        }
    }

    /// Writes the product, or adds it.
    fn write<T: OnDevice>(self, a: &Tensor, b: &Tensor, target: Target<'_, T>) -> Result<()> {
        let (rows, inner, width) = self.shape(a, b)?;
        let kernels = a.device().kernels::<T>();
        let (a, b) = (a.values::<T>()?, b.values::<T>()?);
        (kernels.dense_product)([&a, &b], self.transposed, (rows, inner, width), target);
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
            // SAFETY: a product that is not added to anything writes every value; an error is
            // returned before it is read.
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
                let (op, swapped) = self.to_first();
                let (left, right) = if swapped { (b, &grad) } else { (&grad, b) };
                product_to::<T>(op, left, right, 0, to)?;
            }
            if to.wants(1) {
                let (op, swapped) = self.to_second();
                let (left, right) = if swapped { (&grad, a) } else { (a, &grad) };
                product_to::<T>(op, left, right, 1, to)?;
            }
        });
        Ok(())
    }
}

/// Adds a product to the gradient of input `i`.
fn product_to<T: OnDevice>(
    op: MatMul,
    left: &Tensor,
    right: &Tensor,
    i: usize,
    to: &mut Sinks<'_>,
) -> Result<()> {
    op.shape(left, right)?;
    left.values::<T>()?;
    right.values::<T>()?;
    // SAFETY: shapes and kinds fit, so the product is written in full.
    unsafe { to.fill::<T>(i, |target| _ = op.write(left, right, target)) }
}

impl Tensor {
    /// Computes the product of two matrices.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        apply(
            MatMul {
                transposed: [false, false],
            },
            &[self, other],
        )
    }

    /// Computes the product of two matrices, each transposed if its flag is set.
    #[doc(hidden)]
    pub fn matmul_transposed(&self, other: &Tensor, transposed: [bool; 2]) -> Result<Tensor> {
        apply(MatMul { transposed }, &[self, other])
    }
}

/// Adds `g · wᵀ` to the gradient of input `i`.
pub(crate) fn by_transposed_to(g: &Tensor, w: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    by_precision!("product", g.dtype(), T => product_to::<T>(MatMul { transposed: [false, true] }, g, w, i, to))
}

/// Adds `xᵀ · g` to the gradient of input `i`.
pub(crate) fn transposed_by_to(x: &Tensor, g: &Tensor, i: usize, to: &mut Sinks<'_>) -> Result<()> {
    by_precision!("product", g.dtype(), T => product_to::<T>(MatMul { transposed: [true, false] }, x, g, i, to))
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for MatMul {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for (rows, inner, width) in [
                (3, 4, 5),
                (1, 7, 1),
                (0, 3, 2),
                (3, 0, 2),
                (2, 3, 0),
                (17, 1, 9),
            ] {
                for transposed in [[false, false], [true, false], [false, true], [true, true]] {
                    let a = if transposed[0] {
                        [inner, rows]
                    } else {
                        [rows, inner]
                    };
                    let b = if transposed[1] {
                        [width, inner]
                    } else {
                        [inner, width]
                    };
                    examples.push(Example::of(&[&a, &b], move |v| {
                        apply(MatMul { transposed }, &[&v[0], &v[1]])
                    }));
                }
            }
            examples
        }
    }
}
