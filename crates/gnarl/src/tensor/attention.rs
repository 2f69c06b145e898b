//! Attention scores per entry and head, without ever storing a feature vector per entry.
//!
//! GAT (Veličković et al. 2018): `e_ij = LeakyReLU(s_i + t_j)`. GATv2 (Brody et al. 2022):
//! `e_ij = aᵀ LeakyReLU(r_i + l_j)`. Here i is the row, the receiver, and j the column, the sender.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::pattern::Pattern;
use super::simd::simd_dispatch;
use super::{floats, matrix_shape};

/// `LeakyReLU(rows[i] + cols[j])` for each entry and head: `[entries, heads]` from two `[nodes, heads]` tensors.
pub fn additive_scores(pattern: &Arc<Pattern>, rows: &Tensor, cols: &Tensor, slope: f32) -> Result<Tensor> {
    rows.contiguous()?.apply_op2(&cols.contiguous()?, Additive { pattern: pattern.clone(), slope })
}

#[inline(always)]
fn leaky(x: f32, slope: f32) -> f32 {
    if x > 0.0 { x } else { slope * x }
}

fn leaky_slope(x: f32, slope: f32) -> f32 {
    if x > 0.0 { 1.0 } else { slope }
}

#[derive(Clone)]
struct Additive {
    pattern: Arc<Pattern>,
    slope: f32,
}

impl CustomOp2 for Additive {
    fn name(&self) -> &'static str {
        "additive scores"
    }

    fn cpu_fwd(&self, r: &CpuStorage, lr: &Layout, c: &CpuStorage, lc: &Layout) -> Result<(CpuStorage, Shape)> {
        let p = &*self.pattern;
        let ((num_rows, heads), (num_cols, col_heads)) =
            (matrix_shape(self.name(), lr)?, matrix_shape(self.name(), lc)?);
        if num_rows != p.num_rows() || num_cols != p.num_cols() || heads != col_heads {
            bail!("{}: {num_rows} × {heads} and {num_cols} × {col_heads} scores", self.name());
        }
        let (r, c) = (floats(self.name(), r, lr)?, floats(self.name(), c, lc)?);
        let mut out = vec![0f32; p.num_entries() * heads];
        p.for_entry_blocks(&mut out, heads, |rows, out| {
            let mut slots = out.chunks_exact_mut(heads.max(1));
            for row in rows {
                let r = &r[row * heads..(row + 1) * heads];
                for (k, slot) in p.row(row).zip(&mut slots) {
                    let c = &c[p.indices()[k] as usize * heads..][..heads];
                    for ((slot, r), c) in slot.iter_mut().zip(r).zip(c) {
                        *slot = leaky(r + c, self.slope);
                    }
                }
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((p.num_entries(), heads))))
    }

    /// The sign of a score tells on which side of the kink it lies, for slopes above zero.
    fn bwd(&self, r: &Tensor, c: &Tensor, scores: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let to = |x: &Tensor, by_column: bool| -> Result<Option<Tensor>> {
            if !x.track_op() {
                return Ok(None);
            }
            Ok(Some(scores.apply_op2_no_bwd(&grad, &AdditiveGrad { op: self.clone(), by_column })?))
        };
        Ok((to(r, false)?, to(c, true)?))
    }
}

/// The sum over a row's (or a column's) entries of `g · LeakyReLU'(score)`.
struct AdditiveGrad {
    op: Additive,
    by_column: bool,
}

impl CustomOp2 for AdditiveGrad {
    fn name(&self) -> &'static str {
        "gradient of additive scores"
    }

    fn cpu_fwd(&self, s: &CpuStorage, ls: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, heads) = matrix_shape(self.name(), ls)?;
        let (s, g) = (floats(self.name(), s, ls)?, floats(self.name(), g, lg)?);
        let transposed = self.op.pattern.transposed();
        let p = if self.by_column { &*transposed.pattern } else { &*self.op.pattern };
        let entry = |k: usize| if self.by_column { transposed.entry_of[k] as usize } else { k };
        let mut out = vec![0f32; p.num_rows() * heads];
        p.for_row_blocks(&mut out, heads, |rows, out| {
            for (row, out) in rows.zip(out.chunks_exact_mut(heads.max(1))) {
                for k in p.row(row).map(entry) {
                    for (head, out) in out.iter_mut().enumerate() {
                        let at = k * heads + head;
                        *out += g[at] * leaky_slope(s[at], self.op.slope);
                    }
                }
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((p.num_rows(), heads))))
    }
}

/// `aᵀ LeakyReLU(rows[i] + cols[j])` for each entry and head: `[entries, heads]` from `rows` and `cols` of shape
/// `[nodes, heads · dim]` and `attention` of shape `[heads, dim]`.
pub fn gatv2_scores(
    pattern: &Arc<Pattern>,
    rows: &Tensor,
    cols: &Tensor,
    attention: &Tensor,
    slope: f32,
) -> Result<Tensor> {
    let op = GatV2 { pattern: pattern.clone(), slope };
    rows.contiguous()?.apply_op3(&cols.contiguous()?, &attention.contiguous()?, op)
}

#[derive(Clone)]
struct GatV2 {
    pattern: Arc<Pattern>,
    slope: f32,
}

/// `Σ_f a_f LeakyReLU(x_f + y_f)`, the score of one head.
#[inline(always)]
fn leaky_product(x: &[f32], y: &[f32], a: &[f32], slope: f32) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0f32; LANES];
    let ((x, x_rest), (y, y_rest), (a, a_rest)) =
        (x.as_chunks::<LANES>(), y.as_chunks::<LANES>(), a.as_chunks::<LANES>());
    for ((x, y), a) in x.iter().zip(y).zip(a) {
        for l in 0..LANES {
            sums[l] = a[l].mul_add(leaky(x[l] + y[l], slope), sums[l]);
        }
    }
    let tail: f32 = x_rest.iter().zip(y_rest).zip(a_rest).map(|((x, y), a)| a * leaky(x + y, slope)).sum();
    sums.iter().sum::<f32>() + tail
}

/// The arguments of GATv2's scores as slices.
#[derive(Clone, Copy)]
struct Heads<'a> {
    pattern: &'a Pattern,
    rows: &'a [f32],
    cols: &'a [f32],
    attention: &'a [f32],
    heads: usize,
    dim: usize,
    slope: f32,
}

impl Heads<'_> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.heads * self.dim
    }

    #[inline(always)]
    fn part(&self, head: usize) -> std::ops::Range<usize> {
        head * self.dim..(head + 1) * self.dim
    }
}

simd_dispatch! {
    /// The scores of a block of rows: `heads` values an entry.
    fn score_rows(h: Heads<'_>, range: std::ops::Range<usize>, out: &mut [f32]) {
        let width = h.width();
        let mut slot = 0;
        for row in range {
            let r = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                let c = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                for head in 0..h.heads {
                    out[slot] = leaky_product(&r[h.part(head)], &c[h.part(head)], &h.attention[h.part(head)], h.slope);
                    slot += 1;
                }
            }
        }
    }
}

simd_dispatch! {
    /// The gradient to the side whose rows the pattern lists: `Σ_k g_k · a · LeakyReLU'(own + other)`. `entry_of` names the
    /// score of each entry where the pattern is the transposed one.
    fn grad_rows(h: Heads<'_>, range: std::ops::Range<usize>, entry_of: Option<&[u32]>, g: &[f32], out: &mut [f32]) {
        let width = h.width();
        for (i, row) in range.enumerate() {
            let out = &mut out[i * width..(i + 1) * width];
            let own = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                let other = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                let entry = entry_of.map_or(k, |map| map[k] as usize);
                for head in 0..h.heads {
                    let g = g[entry * h.heads + head];
                    let part = h.part(head);
                    let (own, other, a) = (&own[part.clone()], &other[part.clone()], &h.attention[part.clone()]);
                    for (((o, x), y), a) in out[part].iter_mut().zip(own).zip(other).zip(a) {
                        let d = if x + y > 0.0 { g } else { g * h.slope };
                        *o = d.mul_add(*a, *o);
                    }
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds `Σ_k g_k · LeakyReLU(r + c)` over a block of rows: the gradient to the attention vectors.
    fn attention_grad_rows(h: Heads<'_>, range: std::ops::Range<usize>, g: &[f32], out: &mut [f32]) {
        let width = h.width();
        for row in range {
            let r = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                let c = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                for head in 0..h.heads {
                    let g = g[k * h.heads + head];
                    let part = h.part(head);
                    for ((o, x), y) in out[part.clone()].iter_mut().zip(&r[part.clone()]).zip(&c[part]) {
                        *o = g.mul_add(leaky(x + y, h.slope), *o);
                    }
                }
            }
        }
    }
}

impl CustomOp3 for GatV2 {
    fn name(&self) -> &'static str {
        "gatv2 scores"
    }

    fn cpu_fwd(
        &self,
        r: &CpuStorage,
        lr: &Layout,
        c: &CpuStorage,
        lc: &Layout,
        a: &CpuStorage,
        la: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let p = &*self.pattern;
        let ((num_rows, width), (num_cols, col_width)) =
            (matrix_shape(self.name(), lr)?, matrix_shape(self.name(), lc)?);
        let (heads, dim) = matrix_shape(self.name(), la)?;
        if num_rows != p.num_rows() || num_cols != p.num_cols() || width != col_width || width != heads * dim {
            bail!("{}: {num_rows} × {width} and {num_cols} × {col_width} with {heads} heads of {dim}", self.name());
        }
        let (rows, cols, attention) =
            (floats(self.name(), r, lr)?, floats(self.name(), c, lc)?, floats(self.name(), a, la)?);
        let h = Heads { pattern: p, rows, cols, attention, heads, dim, slope: self.slope };
        let mut out = vec![0f32; p.num_entries() * heads];
        p.for_entry_blocks(&mut out, heads, |range, out| score_rows(h, range, out));
        Ok((CpuStorage::F32(out), Shape::from((p.num_entries(), heads))))
    }

    fn bwd(
        &self,
        r: &Tensor,
        c: &Tensor,
        a: &Tensor,
        _scores: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let side = |wanted: &Tensor, side: Side| -> Result<Option<Tensor>> {
            if !wanted.track_op() {
                return Ok(None);
            }
            let op = GatV2Grad { op: self.clone(), side, grad: grad.clone() };
            Ok(Some(r.apply_op3_no_bwd(c, a, &op)?))
        };
        Ok((side(r, Side::Rows)?, side(c, Side::Columns)?, side(a, Side::Attention)?))
    }
}

/// Which argument a gradient is for.
#[derive(Clone, Copy)]
enum Side {
    Rows,
    Columns,
    Attention,
}

struct GatV2Grad {
    op: GatV2,
    side: Side,
    grad: Tensor,
}

impl CustomOp3 for GatV2Grad {
    fn name(&self) -> &'static str {
        "gradient of gatv2 scores"
    }

    fn cpu_fwd(
        &self,
        r: &CpuStorage,
        lr: &Layout,
        c: &CpuStorage,
        lc: &Layout,
        a: &CpuStorage,
        la: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, width) = matrix_shape(self.name(), lr)?;
        let (heads, dim) = matrix_shape(self.name(), la)?;
        let (r, c, a) = (floats(self.name(), r, lr)?, floats(self.name(), c, lc)?, floats(self.name(), a, la)?);
        let (storage, layout) = self.grad.storage_and_layout();
        let candle_core::Storage::Cpu(storage) = &*storage else { bail!("{}: needs the CPU", self.name()) };
        let g = floats(self.name(), storage, layout)?;
        let h = Heads { pattern: &self.op.pattern, rows: r, cols: c, attention: a, heads, dim, slope: self.op.slope };
        match self.side {
            Side::Attention => {
                // Partial sums per block of rows, added in order.
                const ROWS: usize = 256;
                let num_rows = self.op.pattern.num_rows();
                let starts: Vec<usize> = (0..num_rows).step_by(ROWS).collect();
                let partial = |&start: &usize| {
                    let mut sums = vec![0f32; width];
                    attention_grad_rows(h, start..(start + ROWS).min(num_rows), g, &mut sums);
                    sums
                };
                let partials: Vec<Vec<f32>> = starts.par_iter().map(partial).collect();
                let mut total = vec![0f32; width];
                for sums in &partials {
                    super::kernels::add_rows(sums, &mut total);
                }
                Ok((CpuStorage::F32(total), la.shape().clone()))
            }
            Side::Rows => {
                let mut out = vec![0f32; h.pattern.num_rows() * width];
                h.pattern.for_row_blocks(&mut out, width, |range, out| grad_rows(h, range, None, g, out));
                Ok((CpuStorage::F32(out), lr.shape().clone()))
            }
            Side::Columns => {
                let transposed = self.op.pattern.transposed();
                let h = Heads { pattern: &transposed.pattern, rows: c, cols: r, ..h };
                let mut out = vec![0f32; h.pattern.num_rows() * width];
                h.pattern.for_row_blocks(&mut out, width, |range, out| {
                    grad_rows(h, range, Some(&transposed.entry_of), g, out)
                });
                Ok((CpuStorage::F32(out), lc.shape().clone()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random, random_pattern};

    #[test]
    fn gatv2_scores_by_their_formula() {
        let op = random_pattern(6, 5, 0.5, 1);
        let (r, c, a) = (random(&[6, 34], 2), random(&[5, 34], 3), random(&[2, 17], 4));
        let scores = gatv2_scores(op.pattern(), &r, &c, &a, 0.2).unwrap().to_vec2::<f32>().unwrap();
        let (r, c, a) = (r.to_vec2::<f32>().unwrap(), c.to_vec2::<f32>().unwrap(), a.to_vec2::<f32>().unwrap());
        for row in 0..6 {
            for k in op.pattern().row(row) {
                let col = op.pattern().indices()[k] as usize;
                for head in 0..2 {
                    let expected: f32 =
                        (0..17).map(|f| a[head][f] * leaky(r[row][head * 17 + f] + c[col][head * 17 + f], 0.2)).sum();
                    assert!((scores[k][head] - expected).abs() < 1e-5);
                }
            }
        }
    }

    /// Sums of these stay away from the kink: rows are multiples of 0.5, columns are off by 0.2.
    fn off_kink(shape: &[usize], shift: f32, seed: u64) -> Tensor {
        let x = (random(shape, seed) * 4.0).unwrap().round().unwrap();
        ((x * 0.5).unwrap() + f64::from(shift)).unwrap()
    }

    #[test]
    fn gradients() {
        let op = random_pattern(5, 4, 0.6, 5);
        let p = op.pattern();
        check_gradients(&[off_kink(&[5, 2], 0.0, 6), off_kink(&[4, 2], 0.2, 7)], |v| {
            additive_scores(p, &v[0], &v[1], 0.2)
        });
        let inputs = [off_kink(&[5, 6], 0.0, 8), off_kink(&[4, 6], 0.2, 9), random(&[2, 3], 10)];
        check_gradients(&inputs, |v| gatv2_scores(p, &v[0], &v[1], &v[2], 0.2));
    }
}
