//! Dense layer `x · W + b`, with optional ReLU and dropout, as one operation. Separate operations
//! would each store a result and a gradient as wide as the layer.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use crate::activation::{Dropout, before_activation, relu_dropout};
use crate::array::Tensor;
use crate::bias::column_sums_to;
use crate::element::by_precision;
use crate::error::{Result, bail};
use crate::gemm::product_into;
use crate::kernels;
use crate::ops::product::{by_transposed_to, transposed_by_to};
use crate::pattern::MIN_PARALLEL_WORK;
use crate::tape::{Computed, Gradients, Operation, Sinks, apply};

/// Computes `x · weight + bias`, `[rows, out]` from `[rows, in]`, `[in, out]` and `[out]`, and
/// optionally `dropout(relu(…))` of it.
pub fn affine(
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    activation: Option<Dropout>,
) -> Result<Tensor> {
    apply(
        AffineMap {
            activation: activation.map(Dropout::check).transpose()?,
        },
        &[x, weight, bias],
    )
}

pub(crate) struct AffineMap {
    activation: Option<Dropout>,
}

/// Rows per task.
const ROWS: usize = 512;

impl Operation for AffineMap {
    fn name(&self) -> &'static str {
        "affine map"
    }

    /// Block by block of rows: the product is still in the cache when the bias is added.
    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let [x, w, bias] = inputs else {
            bail!("{}: three inputs are expected", self.name())
        };
        let ((rows, inner), (w_rows, width)) = (x.dims2()?, w.dims2()?);
        if inner != w_rows || bias.dims() != [width] {
            bail!(
                "{}: {rows} × {inner} by {w_rows} × {width} with a bias of {}",
                self.name(),
                bias.elem_count()
            );
        }
        by_precision!(self.name(), x.dtype(), T => {
            let (x, w, bias) = (x.values::<T>()?, w.values::<T>()?, bias.values::<T>()?);
            let block = |(i, out): (usize, &mut [MaybeUninit<T>])| {
                let count = out.len() / width;
                let part = &x[i * ROWS * inner..][..count * inner];
                let out = product_into((part, &w), (count, inner, width), out);
                match self.activation {
                    None => out.chunks_exact_mut(width).for_each(|row| kernels::add_rows(&bias, row)),
                    Some(d) => {
                        let first = (i * ROWS * width) as u64;
                        kernels::bias_relu_dropout_in_place(out, &bias, first, d.key, d.threshold(), d.scale());
                    }
                }
            };
            let fill = |out: &mut [MaybeUninit<T>]| {
                if out.is_empty() {
                } else if rows * inner * width < MIN_PARALLEL_WORK {
                    out.chunks_mut(ROWS * width).enumerate().for_each(block);
                } else {
                    out.par_chunks_mut(ROWS * width).enumerate().for_each(block);
                }
            };
            // SAFETY: the blocks are all rows, and a product writes each of them in full.
            Ok(unsafe { Tensor::filled::<T>((rows, width), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            let y = inputs[0].matmul(&inputs[1])?.broadcast_add(&inputs[2])?;
            self.activation
                .map_or(Ok(y.clone()), |dropout| relu_dropout(&y, dropout))
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let grad = match self.activation {
            Some(dropout) => before_activation(at.output, grad, dropout)?,
            None => grad,
        };
        column_sums_to(&grad, 2, to)?;
        if to.wants(0) {
            by_transposed_to(&grad, &at.inputs[1], 0, to)?;
        }
        if to.wants(1) {
            transposed_by_to(&at.inputs[0], &grad, 1, to)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples};

    impl Examples for AffineMap {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for (rows, inner, width) in [(3, 4, 5), (0, 3, 2), (1, 7, 1), (2, 0, 3), (6, 1, 17)] {
                for dropout in [None, Some(Dropout { rate: 0.3, key: 4 })] {
                    let shapes: [&[usize]; 3] = [&[rows, inner], &[inner, width], &[width]];
                    examples.push(Example::of(&shapes, move |v| {
                        affine(&v[0], &v[1], &v[2], dropout)
                    }));
                }
            }
            examples
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Var;
    use crate::relu_dropout;
    use crate::testing::{check_gradients, random};

    fn assert_close(a: &Tensor, b: &Tensor) {
        let diff = (a - b)
            .unwrap()
            .abs()
            .unwrap()
            .max_all()
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!(diff < 1e-5, "differs by {diff}");
    }

    #[test]
    fn equals_its_parts_in_value_and_gradient() {
        for (rows, inner, width) in [(1, 1, 1), (7, 5, 3), (1200, 9, 250), (5000, 6, 4)] {
            let dropout = Dropout { rate: 0.3, key: 4 };
            let vars = [
                random(&[rows, inner], 1),
                random(&[inner, width], 2),
                random(&[width], 3),
            ]
            .map(|t| Var::from_tensor(&t).unwrap());
            let [x, w, b] = &vars;
            let plain = x.matmul(w).unwrap().broadcast_add(b).unwrap();
            assert_close(&affine(x, w, b, None).unwrap(), &plain);
            let (fused, parts) = (
                affine(x, w, b, Some(dropout)).unwrap(),
                relu_dropout(&plain, dropout).unwrap(),
            );
            assert_close(&fused, &parts);
            let gradients = |y: &Tensor| {
                let grads = (y * random(&[rows, width], 5))
                    .unwrap()
                    .mean_all()
                    .unwrap()
                    .backward()
                    .unwrap();
                vars.each_ref().map(|v| grads.get(v).unwrap().clone())
            };
            gradients(&fused)
                .iter()
                .zip(&gradients(&parts))
                .for_each(|(a, b)| assert_close(a, b));
        }
        check_gradients(
            &[random(&[5, 4], 1), random(&[4, 3], 2), random(&[3], 3)],
            |v| affine(&v[0], &v[1], &v[2], None),
        );
    }

    #[test]
    fn no_rows_and_wrong_shapes() {
        let (w, b) = (random(&[4, 3], 1), random(&[3], 2));
        assert_eq!(
            affine(&random(&[0, 4], 1), &w, &b, None).unwrap().dims(),
            [0, 3]
        );
        let e = affine(&random(&[2, 5], 1), &w, &b, None)
            .unwrap_err()
            .to_string();
        assert!(e.contains("2 × 5 by 4 × 3 with a bias of 3"), "{e}");
    }
}
