//! `x · W + b` for a dense x, through ReLU and dropout where asked, as one operation: separate ones would each store a
//! result and a gradient as wide as the layer.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::activation::{Dropout, relu_dropout_gradient};
use super::operator::column_sums;
use super::pattern::MIN_PARALLEL_WORK;
use super::{floats, kernels, matrix_shape};

/// `x · weight + bias`, `[rows, out]` from `[rows, in]`, `[in, out]` and `[out]`; `dropout(relu(…))` of it where asked.
pub fn affine(x: &Tensor, weight: &Tensor, bias: &Tensor, activation: Option<Dropout>) -> Result<Tensor> {
    let op = Affine { activation: activation.map(Dropout::check).transpose()? };
    x.contiguous()?.apply_op3(&weight.contiguous()?, &bias.contiguous()?, op)
}

struct Affine {
    activation: Option<Dropout>,
}

/// Rows a task works on.
const ROWS: usize = 512;

impl CustomOp3 for Affine {
    fn name(&self) -> &'static str {
        "affine map"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        lx: &Layout,
        w: &CpuStorage,
        lw: &Layout,
        b: &CpuStorage,
        lb: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ((rows, inner), (w_rows, width)) = (matrix_shape(self.name(), lx)?, matrix_shape(self.name(), lw)?);
        let (x, w) = (floats(self.name(), x, lx)?, floats(self.name(), w, lw)?);
        let bias = floats(self.name(), b, lb)?;
        if inner != w_rows || bias.len() != width {
            bail!("{}: {rows} × {inner} by {w_rows} × {width} with a bias of {}", self.name(), bias.len());
        }
        let mut out = bias.repeat(rows);
        add_product((x, w), (rows, inner, width), &mut out);
        if let Some(d) = self.activation {
            let activate = |(i, part): (usize, &mut [f32])| {
                let first = (i * ROWS * width) as u64;
                kernels::relu_dropout_in_place(part, first, d.key, d.threshold(), d.scale());
            };
            if out.len() < MIN_PARALLEL_WORK {
                activate((0, &mut out));
            } else {
                out.par_chunks_mut(ROWS * width).enumerate().for_each(activate);
            }
        }
        Ok((CpuStorage::F32(out), Shape::from((rows, width))))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _b: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = match self.activation {
            Some(dropout) => relu_dropout_gradient(result, grad, dropout)?,
            None => grad.contiguous()?,
        };
        let to_x = if x.track_op() { Some(grad.matmul(&w.t()?)?) } else { None };
        let to_w = if w.track_op() { Some(x.t()?.matmul(&grad)?) } else { None };
        Ok((to_x, to_w, Some(column_sums(&grad)?)))
    }
}

/// Adds `x · w` to `out`, all stored by rows: `rows × inner` by `inner × width`.
pub(super) fn add_product((x, w): (&[f32], &[f32]), (rows, inner, width): (usize, usize, usize), out: &mut [f32]) {
    assert!(x.len() == rows * inner && w.len() == inner * width && out.len() == rows * width, "shapes of a product");
    if out.is_empty() {
        return;
    }
    let threads = if rows * inner * width < MIN_PARALLEL_WORK { 1 } else { rayon::current_num_threads() };
    let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    // SAFETY: the three matrices are stored by rows, and their lengths are those of their shapes.
    unsafe {
        gemm::gemm(
            rows,
            width,
            inner,
            out.as_mut_ptr(),
            1,
            width as isize,
            true,
            x.as_ptr(),
            1,
            inner as isize,
            w.as_ptr(),
            1,
            width as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::relu_dropout;
    use crate::tensor::testing::{check_gradients, random};
    use candle_core::Var;

    fn assert_close(a: &Tensor, b: &Tensor) {
        let diff = (a - b).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
        assert!(diff < 1e-5, "differs by {diff}");
    }

    #[test]
    fn equals_its_parts_in_value_and_gradient() {
        for (rows, inner, width) in [(1, 1, 1), (7, 5, 3), (1200, 9, 250)] {
            let draw = Dropout { rate: 0.3, key: 4 };
            let vars = [random(&[rows, inner], 1), random(&[inner, width], 2), random(&[width], 3)]
                .map(|t| Var::from_tensor(&t).unwrap());
            let [x, w, b] = &vars;
            let plain = x.matmul(w).unwrap().broadcast_add(b).unwrap();
            assert_close(&affine(x, w, b, None).unwrap(), &plain);
            let (fused, parts) = (affine(x, w, b, Some(draw)).unwrap(), relu_dropout(&plain, draw).unwrap());
            assert_close(&fused, &parts);
            let gradients = |y: &Tensor| {
                let grads = (y * random(&[rows, width], 5)).unwrap().mean_all().unwrap().backward().unwrap();
                vars.each_ref().map(|v| grads.get(v).unwrap().clone())
            };
            gradients(&fused).iter().zip(&gradients(&parts)).for_each(|(a, b)| assert_close(a, b));
        }
        check_gradients(&[random(&[5, 4], 1), random(&[4, 3], 2), random(&[3], 3)], |v| {
            affine(&v[0], &v[1], &v[2], None)
        });
    }

    #[test]
    fn no_rows_and_wrong_shapes() {
        let (w, b) = (random(&[4, 3], 1), random(&[3], 2));
        assert_eq!(affine(&random(&[0, 4], 1), &w, &b, None).unwrap().dims(), [0, 3]);
        let e = affine(&random(&[2, 5], 1), &w, &b, None).unwrap_err().to_string();
        assert!(e.contains("2 × 5 by 4 × 3 with a bias of 3"), "{e}");
    }
}
