//! Operator values that take gradients, and their product with a dense matrix. The gradient to a
//! value is an inner product of two rows, sampled at the entries.

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::gather::{check, permuted, product, product_to};
use crate::array::Tensor;
use crate::bias::column_sums_to;
use crate::element::by_precision;
use crate::error::{Result, bail};
use crate::kernels::Rows;
use crate::pattern::Pattern;
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// `P(values) · x (+ bias)`; the gradient to a value is the inner product of the rows it joins.
pub(crate) struct ApplyVariable {
    pub(super) pattern: Arc<Pattern>,
}

fn heads_of(pattern: &Pattern, values: &Tensor) -> usize {
    (values.elem_count() / pattern.num_entries().max(1)).max(1)
}

impl Operation for ApplyVariable {
    fn name(&self) -> &'static str {
        "operator with variable values"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let heads = heads_of(&self.pattern, &inputs[0]);
        by_precision!(self.name(), inputs[1].dtype(), T => {
            let values = inputs[0].values::<T>()?;
            let rows = Rows { pattern: &self.pattern, values: &values, heads };
            product(rows, &inputs[1], inputs.get(2), None)
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (values, x) = (&at.inputs[0], &at.inputs[1]);
        let to_values = at.to(0, || {
            sampled_products(&self.pattern, grad, x, heads_of(&self.pattern, values))?
                .reshape(values.shape())
        })?;
        let to_x = at.to(1, || {
            apply(
                ApplyTransposed {
                    pattern: self.pattern.clone(),
                },
                &[values, grad],
            )
        })?;
        let mut shares = vec![to_values, to_x];
        if at.inputs.len() > 2 {
            shares.push(at.to(2, || grad.sum(0))?);
        }
        Ok(shares)
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (values, x) = (&at.inputs[0], &at.inputs[1]);
        let heads = heads_of(&self.pattern, values);
        let (_, width) = check(&self.pattern, heads, x, None)?;
        if at.inputs.len() > 2 {
            column_sums_to(&grad, 2, to)?;
        }
        by_precision!(self.name(), grad.dtype(), T => {
            let kernels = grad.device().kernels::<T>();
            let (x, g) = (x.values::<T>()?, grad.values::<T>()?);
            if to.wants(0) {
                // SAFETY: every entry is written.
                unsafe { to.fill::<T>(0, |target| (kernels.sampled_products)(&self.pattern, heads, [&g, &x], width, target))? };
            }
            if to.wants(1) {
                let transposed = self.pattern.transposed();
                let values = permuted(&values.values::<T>()?, heads, &transposed.entry_of);
                let rows = Rows { pattern: &transposed.pattern, values: &values, heads };
                product_to(rows, &grad, 1, to)?;
            }
        });
        Ok(())
    }
}

/// `P(values)ᵀ · g`, for gradients.
pub(crate) struct ApplyTransposed {
    pub(super) pattern: Arc<Pattern>,
}

impl Operation for ApplyTransposed {
    fn name(&self) -> &'static str {
        "transposed operator"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let heads = heads_of(&self.pattern, &inputs[0]);
        let transposed = self.pattern.transposed();
        by_precision!(self.name(), inputs[1].dtype(), T => {
            let values = permuted(&inputs[0].values::<T>()?, heads, &transposed.entry_of);
            product(Rows { pattern: &transposed.pattern, values: &values, heads }, &inputs[1], None, None)
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (values, g) = (&at.inputs[0], &at.inputs[1]);
        let heads = heads_of(&self.pattern, values);
        let to_values = at.to(0, || {
            sampled_products(&self.pattern, g, grad, heads)?.reshape(values.shape())
        })?;
        Ok(vec![
            to_values,
            at.to(1, || {
                apply(
                    ApplyVariable {
                        pattern: self.pattern.clone(),
                    },
                    &[values, grad],
                )
            })?,
        ])
    }
}

/// Computes the inner product of `a`'s row and `b`'s row for each entry of the pattern: the dense
/// product `a · bᵀ` sampled at the entries. With several heads, the columns are split into one
/// product per head: `[entries, heads]`.
pub fn sampled_products(
    pattern: &Arc<Pattern>,
    a: &Tensor,
    b: &Tensor,
    heads: usize,
) -> Result<Tensor> {
    apply(
        SampledProducts {
            pattern: pattern.clone(),
            heads,
        },
        &[a, b],
    )
}

pub(crate) struct SampledProducts {
    pattern: Arc<Pattern>,
    heads: usize,
}

impl Operation for SampledProducts {
    fn name(&self) -> &'static str {
        "sampled products"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let ((a_rows, width), (b_rows, b_width)) = (inputs[0].dims2()?, inputs[1].dims2()?);
        let (p, heads) = (&*self.pattern, self.heads);
        if a_rows != p.num_rows()
            || b_rows != p.num_cols()
            || width != b_width
            || width % heads != 0
        {
            bail!(
                "{}: {a_rows} × {width} and {b_rows} × {b_width} on a {} × {} pattern with {heads} heads",
                self.name(),
                p.num_rows(),
                p.num_cols(),
            );
        }
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let kernels = inputs[0].device().kernels::<T>();
            let (a, b) = (inputs[0].values::<T>()?, inputs[1].values::<T>()?);
            let fill = |out: &mut [MaybeUninit<T>]| {
                (kernels.sampled_products)(p, heads, [&a, &b], width, Target::Write(out));
            };
            // SAFETY: the rows have all entries, and each is written.
            Ok(unsafe { Tensor::filled::<T>((p.num_entries(), heads), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (a, b) = (&at.inputs[0], &at.inputs[1]);
        let to_a = at.to(0, || {
            apply(
                ApplyVariable {
                    pattern: self.pattern.clone(),
                },
                &[grad, b],
            )
        })?;
        Ok(vec![
            to_a,
            at.to(1, || {
                apply(
                    ApplyTransposed {
                        pattern: self.pattern.clone(),
                    },
                    &[grad, a],
                )
            })?,
        ])
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern};

    /// Patterns, and the number of heads and columns.
    fn cases() -> Vec<(Arc<Pattern>, usize, usize)> {
        let some = [
            (9, 7, 0.4, 1, 4),
            (9, 7, 0.4, 2, 6),
            (1, 3, 0.9, 1, 1),
            (4, 1, 0.5, 8, 64),
            (3, 3, 0.0, 1, 2),
        ];
        some.map(|(r, c, density, heads, width)| {
            (
                random_pattern(r, c, density, 7).pattern().clone(),
                heads,
                width,
            )
        })
        .into()
    }

    impl Examples for ApplyVariable {
        fn examples() -> Vec<Example> {
            let on = |(p, heads, width): (Arc<Pattern>, usize, usize)| {
                let shapes: [&[usize]; 3] =
                    [&[p.num_entries(), heads], &[p.num_cols(), width], &[width]];
                let (plain, with_bias) = (p.clone(), p.clone());
                [
                    Example::of(&shapes[..2], move |v| {
                        apply(
                            ApplyVariable {
                                pattern: plain.clone(),
                            },
                            &[&v[0], &v[1]],
                        )
                    }),
                    Example::of(&shapes, move |v| {
                        apply(
                            ApplyVariable {
                                pattern: with_bias.clone(),
                            },
                            &[&v[0], &v[1], &v[2]],
                        )
                    }),
                ]
            };
            cases().into_iter().flat_map(on).collect()
        }
    }

    impl Examples for ApplyTransposed {
        fn examples() -> Vec<Example> {
            let on = |(p, heads, width): (Arc<Pattern>, usize, usize)| {
                let shapes: [&[usize]; 2] = [&[p.num_entries(), heads], &[p.num_rows(), width]];
                Example::of(&shapes, move |v| {
                    apply(ApplyTransposed { pattern: p.clone() }, &[&v[0], &v[1]])
                })
            };
            cases().into_iter().map(on).collect()
        }
    }

    impl Examples for SampledProducts {
        fn examples() -> Vec<Example> {
            let on = |(p, heads, width): (Arc<Pattern>, usize, usize)| {
                let shapes: [&[usize]; 2] = [&[p.num_rows(), width], &[p.num_cols(), width]];
                Example::of(&shapes, move |v| sampled_products(&p, &v[0], &v[1], heads))
            };
            cases().into_iter().map(on).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_gradients, random, random_pattern};

    #[test]
    fn gradients_of_sampled_products() {
        let op = random_pattern(6, 5, 0.5, 11);
        check_gradients(&[random(&[6, 4], 12), random(&[5, 4], 13)], |v| {
            sampled_products(op.pattern(), &v[0], &v[1], 2)
        });
    }
}
