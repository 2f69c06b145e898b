//! Values that take gradients, and the product with them; the gradient to a value is an inner product of two rows,
//! sampled where entries are.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::gather::{permuted, product};
use crate::tensor::bias::column_sums;
use crate::tensor::pattern::Pattern;
use crate::tensor::{floats, kernels, matrix_shape};

/// `P(values) · x (+ bias)`; the gradient to a value is the inner product of the rows it joins.
pub(super) struct ApplyVariable {
    pub(super) pattern: Arc<Pattern>,
}

impl ApplyVariable {
    fn forward(
        &self,
        values: (&CpuStorage, &Layout),
        x: (&CpuStorage, &Layout),
        bias: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        let values = floats("operator", values.0, values.1)?;
        let heads = heads_of(&self.pattern, values.len());
        product(&self.pattern, values, heads, x, bias, None)
    }

    fn backward(&self, values: &Tensor, x: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let to_values = if values.track_op() {
            Some(
                sampled_products_no_bwd(&self.pattern, grad, x, heads_of(&self.pattern, values.elem_count()))?
                    .reshape(values.shape())?,
            )
        } else {
            None
        };
        let to_x = if x.track_op() {
            let op = ApplyTransposed { pattern: self.pattern.clone() };
            Some(values.apply_op2_no_bwd(grad, &op)?)
        } else {
            None
        };
        Ok((to_values, to_x))
    }
}

fn heads_of(pattern: &Pattern, num_values: usize) -> usize {
    (num_values / pattern.num_entries().max(1)).max(1)
}

impl CustomOp2 for ApplyVariable {
    fn name(&self) -> &'static str {
        "operator with variable values"
    }

    fn cpu_fwd(&self, v: &CpuStorage, lv: &Layout, x: &CpuStorage, lx: &Layout) -> Result<(CpuStorage, Shape)> {
        self.forward((v, lv), (x, lx), None)
    }

    fn bwd(&self, v: &Tensor, x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        self.backward(v, x, &grad.contiguous()?)
    }
}

impl CustomOp3 for ApplyVariable {
    fn name(&self) -> &'static str {
        "operator with variable values and bias"
    }

    fn cpu_fwd(
        &self,
        v: &CpuStorage,
        lv: &Layout,
        x: &CpuStorage,
        lx: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.forward((v, lv), (x, lx), Some((b, lb)))
    }

    fn bwd(
        &self,
        v: &Tensor,
        x: &Tensor,
        _b: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let (to_values, to_x) = self.backward(v, x, &grad)?;
        Ok((to_values, to_x, Some(column_sums(&grad)?)))
    }
}

/// `P(values)ᵀ · g`, for gradients.
struct ApplyTransposed {
    pattern: Arc<Pattern>,
}

impl CustomOp2 for ApplyTransposed {
    fn name(&self) -> &'static str {
        "transposed operator"
    }

    fn cpu_fwd(&self, v: &CpuStorage, lv: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let values = floats(self.name(), v, lv)?;
        let heads = heads_of(&self.pattern, values.len());
        let transposed = self.pattern.transposed();
        product(&transposed.pattern, &permuted(values, heads, &transposed.entry_of), heads, (g, lg), None, None)
    }
}

/// For each entry of the pattern the inner product of `a`'s row and `b`'s row: the dense product `a · bᵀ` sampled where
/// entries are. With several heads the columns are shared out and there is one product per head: `[entries, heads]`.
pub fn sampled_products(pattern: &Arc<Pattern>, a: &Tensor, b: &Tensor, heads: usize) -> Result<Tensor> {
    a.contiguous()?.apply_op2(&b.contiguous()?, SampledProducts { pattern: pattern.clone(), heads })
}

fn sampled_products_no_bwd(pattern: &Arc<Pattern>, a: &Tensor, b: &Tensor, heads: usize) -> Result<Tensor> {
    a.contiguous()?.apply_op2_no_bwd(&b.contiguous()?, &SampledProducts { pattern: pattern.clone(), heads })
}

struct SampledProducts {
    pattern: Arc<Pattern>,
    heads: usize,
}

impl CustomOp2 for SampledProducts {
    fn name(&self) -> &'static str {
        "sampled products"
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((a_rows, width), (b_rows, b_width)) = (matrix_shape(self.name(), la)?, matrix_shape(self.name(), lb)?);
        let p = &*self.pattern;
        if a_rows != p.num_rows() || b_rows != p.num_cols() || width != b_width || width % self.heads != 0 {
            bail!(
                "{}: {a_rows} × {width} and {b_rows} × {b_width} on a {} × {} pattern with {} heads",
                self.name(),
                p.num_rows(),
                p.num_cols(),
                self.heads
            );
        }
        let (a, b) = (floats(self.name(), a, la)?, floats(self.name(), b, lb)?);
        let mut out = vec![0f32; p.num_entries() * self.heads];
        p.for_entry_blocks(&mut out, self.heads, |range, out| {
            kernels::sampled_products(p, self.heads, range, a, b, width, out);
        });
        Ok((CpuStorage::F32(out), Shape::from((p.num_entries(), self.heads))))
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let to_a = grad.apply_op2_no_bwd(b, &ApplyVariable { pattern: self.pattern.clone() })?;
        let to_b = grad.apply_op2_no_bwd(a, &ApplyTransposed { pattern: self.pattern.clone() })?;
        Ok((Some(to_a), Some(to_b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random, random_pattern};

    #[test]
    fn gradients_of_sampled_products() {
        let op = random_pattern(6, 5, 0.5, 11);
        check_gradients(&[random(&[6, 4], 12), random(&[5, 4], 13)], |v| {
            sampled_products(op.pattern(), &v[0], &v[1], 2)
        });
    }
}
