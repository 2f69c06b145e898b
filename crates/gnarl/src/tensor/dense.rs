//! `x · W + b` for a dense x, through ReLU and dropout where asked, as one operation: separate ones would each store a
//! result and a gradient as wide as the layer.

use std::mem::MaybeUninit;

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::activation::{Dropout, relu_dropout_gradient};
use super::bias::column_sums;
use super::pattern::MIN_PARALLEL_WORK;
use super::{filled, floats, kernels, matrix_shape};

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
        let to_x = if x.track_op() { Some(by_transposed(&grad, w)?) } else { None };
        let to_w = if w.track_op() { Some(transposed_by(x, &grad)?) } else { None };
        Ok((to_x, to_w, Some(column_sums(&grad)?)))
    }
}

/// `x · w`, all stored by rows: `rows × inner` by `inner × width`.
pub(super) fn product_of((x, w): (&[f32], &[f32]), (rows, inner, width): (usize, usize, usize)) -> Vec<f32> {
    product(Factor::new(x, rows, inner), Factor::new(w, inner, width), Threads::All)
}

/// Adds `x · w` to `out`.
fn add_product((x, w): (&[f32], &[f32]), (rows, inner, width): (usize, usize, usize), out: &mut [f32]) {
    // SAFETY: both types have one layout, and what is written is initialised.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<f32>]) };
    multiply(Factor::new(x, rows, inner), Factor::new(w, inner, width), true, Threads::All, out);
}

/// `g · wᵀ`, without a gradient of its own.
pub(super) fn by_transposed(g: &Tensor, w: &Tensor) -> Result<Tensor> {
    g.apply_op2_no_bwd(w, &ByTransposed)
}

/// `xᵀ · g`, without a gradient of its own.
pub(super) fn transposed_by(x: &Tensor, g: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2_no_bwd(g, &TransposedBy)
}

struct ByTransposed;

impl CustomOp2 for ByTransposed {
    fn name(&self) -> &'static str {
        "product with a transpose"
    }

    fn cpu_fwd(&self, g: &CpuStorage, lg: &Layout, w: &CpuStorage, lw: &Layout) -> Result<(CpuStorage, Shape)> {
        let ((rows, width), (inner, w_width)) = (matrix_shape(self.name(), lg)?, matrix_shape(self.name(), lw)?);
        if width != w_width {
            bail!("{}: {rows} × {width} by {w_width} × {inner}", self.name());
        }
        let (g, w) = (floats(self.name(), g, lg)?, floats(self.name(), w, lw)?);
        let transposed = Factor::new(w, inner, width).transposed();
        let out = product(Factor::new(g, rows, width), transposed, Threads::All);
        Ok((CpuStorage::F32(out), Shape::from((rows, inner))))
    }
}

struct TransposedBy;

impl CustomOp2 for TransposedBy {
    fn name(&self) -> &'static str {
        "product of a transpose"
    }

    /// By blocks of rows, summed in their order: few outputs of many rows each would keep one thread busy alone.
    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        const ROWS: usize = 2048;
        let ((rows, inner), (g_rows, width)) = (matrix_shape(self.name(), lx)?, matrix_shape(self.name(), lg)?);
        if rows != g_rows {
            bail!("{}: {inner} × {rows} by {g_rows} × {width}", self.name());
        }
        let (x, g) = (floats(self.name(), x, lx)?, floats(self.name(), g, lg)?);
        // Blocks much smaller than what comes out of them would cost more than they save.
        let height = ROWS.max(4 * inner.max(width));
        let threads = if rows <= height { Threads::All } else { Threads::One };
        let of_block = |(x, g): (&[f32], &[f32])| {
            let rows = x.len() / inner;
            let factors = (Factor::new(x, rows, inner).transposed(), Factor::new(g, rows, width));
            product(factors.0, factors.1, threads)
        };
        let shape = Shape::from((inner, width));
        if inner * width * rows == 0 {
            return Ok((CpuStorage::F32(vec![0.0; inner * width]), shape));
        }
        let blocks: Vec<Vec<f32>> = if rows * inner * width < MIN_PARALLEL_WORK {
            x.chunks(height * inner).zip(g.chunks(height * width)).map(of_block).collect()
        } else {
            x.par_chunks(height * inner).zip(g.par_chunks(height * width)).map(of_block).collect()
        };
        let mut sums = blocks.into_iter();
        let mut total = sums.next().unwrap_or_default();
        sums.for_each(|block| kernels::add_rows(&block, &mut total));
        Ok((CpuStorage::F32(total), shape))
    }
}

/// A matrix of a product: stored by rows, or the transpose of one that is.
#[derive(Clone, Copy)]
struct Factor<'a> {
    values: &'a [f32],
    shape: (usize, usize),
    /// From one row to the next, and from one column to the next.
    strides: (isize, isize),
}

impl<'a> Factor<'a> {
    fn new(values: &'a [f32], rows: usize, cols: usize) -> Self {
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

/// `a · b`, by rows.
fn product(a: Factor<'_>, b: Factor<'_>, threads: Threads) -> Vec<f32> {
    // SAFETY: a product that is not added to anything writes every value.
    unsafe { filled(a.shape.0 * b.shape.1, |out| multiply(a, b, false, threads, out)) }
}

/// Writes `a · b` to `out`, by rows, or adds it to what is there, which is then initialised.
fn multiply(a: Factor<'_>, b: Factor<'_>, add: bool, threads: Threads, out: &mut [MaybeUninit<f32>]) {
    let ((rows, inner), (b_rows, width)) = (a.shape, b.shape);
    assert!(inner == b_rows && out.len() == rows * width, "shapes of a product");
    if inner == 0 && !add {
        out.iter_mut().for_each(|o| _ = o.write(0.0));
    }
    if out.is_empty() || inner == 0 {
        return;
    }
    let alone = threads == Threads::One || rows * inner * width < MIN_PARALLEL_WORK;
    let threads = if alone { 1 } else { rayon::current_num_threads() };
    let parallelism = if threads == 1 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(threads) };
    // SAFETY: the three matrices lie within their slices by their shapes and strides; `out` is read only where it is added to, and
    // written in full.
    unsafe {
        gemm::gemm(
            rows,
            width,
            inner,
            out.as_mut_ptr().cast::<f32>(),
            1,
            width as isize,
            add,
            a.values.as_ptr(),
            a.strides.1,
            a.strides.0,
            b.values.as_ptr(),
            b.strides.1,
            b.strides.0,
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
        for (rows, inner, width) in [(1, 1, 1), (7, 5, 3), (1200, 9, 250), (5000, 6, 4)] {
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
