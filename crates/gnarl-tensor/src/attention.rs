//! Attention scores per entry and head, without storing a feature vector per entry.
//!
//! [GAT (Veličković et al. 2018)](https://arxiv.org/abs/1710.10903): `e_ij = LeakyReLU(s_i + t_j)`.
//! [GATv2 (Brody et al. 2022)](https://arxiv.org/abs/2105.14491): `e_ij = aᵀ LeakyReLU(r_i + l_j)`.
//! Here i is the row (the receiver) and j the column (the sender).

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::kernels::{self, HEAD_WIDTH, HEADS, WIDTH, of_each_column, sums_of_heads};
use crate::pattern::Pattern;
use crate::simd::simd_dispatch;
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// Computes `LeakyReLU(rows[i] + cols[j])` for each entry and head: `[entries, heads]` from two
/// `[nodes, heads]` tensors.
pub fn additive_scores(
    pattern: &Arc<Pattern>,
    rows: &Tensor,
    cols: &Tensor,
    slope: f32,
) -> Result<Tensor> {
    apply(
        Additive {
            pattern: pattern.clone(),
            slope,
        },
        &[rows, cols],
    )
}

#[inline(always)]
fn leaky<T: Float>(x: T, slope: T) -> T {
    if x > T::ZERO { x } else { slope * x }
}

/// Computes LeakyReLU in tensor operations.
fn leaky_of(x: &Tensor, slope: f32) -> Result<Tensor> {
    x.gt(0.0)?.where_cond(x, &x.affine(f64::from(slope), 0.0)?)
}

/// Computes `rows[i] + cols[j]` for each entry.
fn entry_sums(pattern: &Pattern, rows: &Tensor, cols: &Tensor) -> Result<Tensor> {
    let (of_row, of_col) = (
        Tensor::indices(pattern.entry_rows()),
        Tensor::indices(pattern.indices().to_vec()),
    );
    rows.index_select(&of_row, 0)?
        .add(&cols.index_select(&of_col, 0)?)
}

#[derive(Clone)]
pub(crate) struct Additive {
    pattern: Arc<Pattern>,
    slope: f32,
}

impl Operation for Additive {
    fn name(&self) -> &'static str {
        "additive scores"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let p = &*self.pattern;
        let ((num_rows, heads), (num_cols, col_heads)) = (inputs[0].dims2()?, inputs[1].dims2()?);
        if num_rows != p.num_rows() || num_cols != p.num_cols() || heads != col_heads {
            bail!(
                "{}: {num_rows} × {heads} and {num_cols} × {col_heads} scores",
                self.name()
            );
        }
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let (r, c) = (inputs[0].values::<T>()?, inputs[1].values::<T>()?);
            let slope = T::of(f64::from(self.slope));
            let fill = |out: &mut [MaybeUninit<T>]| p.for_entry_blocks(out, heads, |rows, out| {
                let mut slots = out.chunks_exact_mut(heads.max(1));
                for row in rows {
                    let r = &r[row * heads..(row + 1) * heads];
                    for (k, slot) in p.row(row).zip(&mut slots) {
                        let c = &c[p.indices()[k] as usize * heads..][..heads];
                        for ((slot, r), c) in slot.iter_mut().zip(r).zip(c) {
                            slot.write(leaky(*r + *c, slope));
                        }
                    }
                }
            });
            // SAFETY: the rows have all entries, and each is written.
            Ok(unsafe { Tensor::filled::<T>((p.num_entries(), heads), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        at.by_parts(grad, |inputs| {
            leaky_of(
                &entry_sums(&self.pattern, &inputs[0], &inputs[1])?,
                self.slope,
            )
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (_, heads) = at.output.dims2()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let (s, g) = (at.output.values::<T>()?, grad.values::<T>()?);
            let slope = T::of(f64::from(self.slope));
            if to.wants(0) {
                let whole = AdditiveGrad { pattern: &self.pattern, entry_of: None, s: &s, g: &g, heads, slope };
                // SAFETY: every row is written.
                unsafe { to.fill::<T>(0, |target| whole.write(target))? };
            }
            if to.wants(1) {
                let t = self.pattern.transposed();
                let entry_of = Some(&t.entry_of[..]);
                let whole = AdditiveGrad { pattern: &t.pattern, entry_of, s: &s, g: &g, heads, slope };
                // SAFETY: as above.
                unsafe { to.fill::<T>(1, |target| whole.write(target))? };
            }
        });
        Ok(())
    }
}

/// Sum of `g · LeakyReLU'(score)` over the entries of a row or a column. For slopes above zero, the
/// sign of a score tells the side of the kink.
struct AdditiveGrad<'a, T> {
    pattern: &'a Pattern,
    entry_of: Option<&'a [u32]>,
    s: &'a [T],
    g: &'a [T],
    heads: usize,
    slope: T,
}

impl<T: Float> AdditiveGrad<'_, T> {
    fn write(&self, target: Target<'_, T>) {
        let heads = self.heads;
        target.for_row_blocks(self.pattern, heads, |rows, out| {
            for (row, out) in rows.zip(out.initialised().chunks_exact_mut(heads.max(1))) {
                for k in self.pattern.row(row) {
                    let k = self.entry_of.map_or(k, |map| map[k] as usize);
                    for (head, out) in out.iter_mut().enumerate() {
                        let (s, g) = (self.s[k * heads + head], self.g[k * heads + head]);
                        *out += if s > T::ZERO { g } else { g * self.slope };
                    }
                }
            }
        });
    }
}

/// Computes `aᵀ LeakyReLU(rows[i] + cols[j])` for each entry and head: `[entries, heads]` from
/// `rows` and `cols` of shape `[nodes, heads · dim]` and `attention` of shape `[heads, dim]`.
pub fn gatv2_scores(
    pattern: &Arc<Pattern>,
    rows: &Tensor,
    cols: &Tensor,
    attention: &Tensor,
    slope: f32,
) -> Result<Tensor> {
    apply(
        GatV2 {
            pattern: pattern.clone(),
            slope,
        },
        &[rows, cols, attention],
    )
}

#[derive(Clone)]
pub(crate) struct GatV2 {
    pattern: Arc<Pattern>,
    slope: f32,
}

/// Computes `Σ_f a_f LeakyReLU(x_f + y_f)`, the score of one head.
#[inline(always)]
fn leaky_product<T: Float>(x: &[T], y: &[T], a: &[T], slope: T) -> T {
    const LANES: usize = 8;
    let mut sums = [T::ZERO; LANES];
    let ((x, x_rest), (y, y_rest), (a, a_rest)) = (
        x.as_chunks::<LANES>(),
        y.as_chunks::<LANES>(),
        a.as_chunks::<LANES>(),
    );
    for ((x, y), a) in x.iter().zip(y).zip(a) {
        for l in 0..LANES {
            sums[l] = a[l].mul_add(leaky(x[l] + y[l], slope), sums[l]);
        }
    }
    let rest = x_rest.iter().zip(y_rest).zip(a_rest);
    let tail: T = rest.map(|((x, y), a)| *a * leaky(*x + *y, slope)).sum();
    sums.into_iter().sum::<T>() + tail
}

/// Arguments of the GATv2 scores as slices.
#[derive(Clone, Copy)]
struct Heads<'a, T> {
    pattern: &'a Pattern,
    rows: &'a [T],
    cols: &'a [T],
    attention: &'a [T],
    heads: usize,
    dim: usize,
    slope: T,
}

impl<T> Heads<'_, T> {
    #[inline(always)]
    fn width(&self) -> usize {
        self.heads * self.dim
    }

    #[inline(always)]
    fn part(&self, head: usize) -> Range<usize> {
        head * self.dim..(head + 1) * self.dim
    }
}

impl<T: Float> Heads<'_, T> {
    fn is_eight_by_eight(&self) -> bool {
        (self.heads, self.dim) == (HEADS, HEAD_WIDTH)
    }

    /// Returns the row of the other side for an entry, for the default of eight heads of eight.
    #[inline(always)]
    fn eight_by_eight_column(&self, k: usize) -> &[T; WIDTH] {
        &self.cols.as_chunks().0[self.pattern.indices()[k] as usize]
    }

    /// Computes the scores of a row's entries, for eight heads of eight.
    #[inline(always)]
    fn eight_by_eight_scores(&self, row: usize, out: &mut [MaybeUninit<T>]) {
        let attention: &[T; WIDTH] = &self.attention.as_chunks().0[0];
        let own: &[T; WIDTH] = &self.rows.as_chunks().0[row];
        for (k, out) in self.pattern.row(row).zip(out.as_chunks_mut::<HEADS>().0) {
            let other = self.eight_by_eight_column(k);
            let mut products = [T::ZERO; WIDTH];
            for c in 0..WIDTH {
                products[c] = attention[c].mul_add(leaky(own[c] + other[c], self.slope), T::ZERO);
            }
            for (out, sum) in out.iter_mut().zip(sums_of_heads(&products)) {
                out.write(sum);
            }
        }
    }

    /// Adds the gradients of a row's entries to `sums`, for eight heads of eight.
    #[inline(always)]
    fn eight_by_eight_grads(
        &self,
        row: usize,
        entry_of: Option<&[u32]>,
        g: &[T],
        mut sums: [T; WIDTH],
    ) -> [T; WIDTH] {
        let attention: &[T; WIDTH] = &self.attention.as_chunks().0[0];
        let (own, g): (&[T; WIDTH], &[[T; HEADS]]) =
            (&self.rows.as_chunks().0[row], g.as_chunks().0);
        for k in self.pattern.row(row) {
            let other = self.eight_by_eight_column(k);
            let g = of_each_column(&g[entry_of.map_or(k, |map| map[k] as usize)]);
            for c in 0..WIDTH {
                let d = if own[c] + other[c] > T::ZERO {
                    g[c]
                } else {
                    g[c] * self.slope
                };
                sums[c] = d.mul_add(attention[c], sums[c]);
            }
        }
        sums
    }

    /// Adds the gradients of a row's entries to the attention vectors' sums, for eight heads of
    /// eight.
    #[inline(always)]
    fn eight_by_eight_attention_grads(
        &self,
        row: usize,
        g: &[T],
        mut sums: [T; WIDTH],
    ) -> [T; WIDTH] {
        let (own, g): (&[T; WIDTH], &[[T; HEADS]]) =
            (&self.rows.as_chunks().0[row], g.as_chunks().0);
        for k in self.pattern.row(row) {
            let other = self.eight_by_eight_column(k);
            let g = of_each_column(&g[k]);
            for c in 0..WIDTH {
                sums[c] = g[c].mul_add(leaky(own[c] + other[c], self.slope), sums[c]);
            }
        }
        sums
    }
}

simd_dispatch! {
    /// Computes the scores of a block of rows: `heads` values per entry.
    fn score_rows<T: Float>(h: Heads<'_, T>, range: Range<usize>, out: &mut [MaybeUninit<T>]) {
        let width = h.width();
        let mut slot = 0;
        for row in range {
            if h.is_eight_by_eight() {
                let end = slot + h.pattern.row(row).len() * HEADS;
                h.eight_by_eight_scores(row, &mut out[slot..end]);
                slot = end;
                continue;
            }
            let r = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                kernels::prefetch_row(h.cols, h.pattern, k, width);
                let c = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                for head in 0..h.heads {
                    let part = h.part(head);
                    out[slot].write(leaky_product(&r[part.clone()], &c[part.clone()], &h.attention[part], h.slope));
                    slot += 1;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Computes the gradient to the side whose rows the pattern lists:
    /// `Σ_k g_k · a · LeakyReLU'(own + other)`. `entry_of` maps each entry to its score if the
    /// pattern is transposed.
    fn grad_rows<T: Float>(
        h: Heads<'_, T>,
        range: Range<usize>,
        entry_of: Option<&[u32]>,
        g: &[T],
        out: Target<'_, T>,
    ) {
        let (width, mut out) = (h.width(), out);
        for (i, row) in range.enumerate() {
            let out = out.part(i * width..(i + 1) * width).initialised();
            if h.is_eight_by_eight() && let Ok(sums) = <&mut [T; WIDTH]>::try_from(&mut *out) {
                *sums = h.eight_by_eight_grads(row, entry_of, g, *sums);
                continue;
            }
            let own = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                kernels::prefetch_row(h.cols, h.pattern, k, width);
                let other = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                let entry = entry_of.map_or(k, |map| map[k] as usize);
                for head in 0..h.heads {
                    let g = g[entry * h.heads + head];
                    let part = h.part(head);
                    let (own, other, a) = (&own[part.clone()], &other[part.clone()], &h.attention[part.clone()]);
                    for (((o, x), y), a) in out[part].iter_mut().zip(own).zip(other).zip(a) {
                        let d = if *x + *y > T::ZERO { g } else { g * h.slope };
                        *o = d.mul_add(*a, *o);
                    }
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds `Σ_k g_k · LeakyReLU(r + c)` over a block of rows: the gradient to the attention
    /// vectors.
    fn attention_grad_rows<T: Float>(h: Heads<'_, T>, range: Range<usize>, g: &[T], out: &mut [T]) {
        let width = h.width();
        if h.is_eight_by_eight() && let Ok(sums) = <&mut [T; WIDTH]>::try_from(&mut *out) {
            for row in range {
                *sums = h.eight_by_eight_attention_grads(row, g, *sums);
            }
            return;
        }
        for row in range {
            let r = &h.rows[row * width..(row + 1) * width];
            for k in h.pattern.row(row) {
                kernels::prefetch_row(h.cols, h.pattern, k, width);
                let c = &h.cols[h.pattern.indices()[k] as usize * width..][..width];
                for head in 0..h.heads {
                    let g = g[k * h.heads + head];
                    let part = h.part(head);
                    for ((o, x), y) in out[part.clone()].iter_mut().zip(&r[part.clone()]).zip(&c[part]) {
                        *o = g.mul_add(leaky(*x + *y, h.slope), *o);
                    }
                }
            }
        }
    }
}

impl Operation for GatV2 {
    fn name(&self) -> &'static str {
        "gatv2 scores"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let p = &*self.pattern;
        let ((num_rows, width), (num_cols, col_width)) = (inputs[0].dims2()?, inputs[1].dims2()?);
        let (heads, dim) = inputs[2].dims2()?;
        if num_rows != p.num_rows()
            || num_cols != p.num_cols()
            || width != col_width
            || width != heads * dim
        {
            bail!(
                "{}: {num_rows} × {width} and {num_cols} × {col_width} with {heads} heads of {dim}",
                self.name()
            );
        }
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let (rows, cols, attention) =
                (inputs[0].values::<T>()?, inputs[1].values::<T>()?, inputs[2].values::<T>()?);
            let slope = T::of(f64::from(self.slope));
            let h = Heads { pattern: p, rows: &rows, cols: &cols, attention: &attention, heads, dim, slope };
            let fill = |out: &mut [MaybeUninit<T>]| p.for_entry_blocks(out, heads, |range, out| score_rows(h, range, out));
            // SAFETY: the rows have all entries, and each is written.
            Ok(unsafe { Tensor::filled::<T>((p.num_entries(), heads), fill) })
        })
    }

    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (heads, dim) = at.inputs[2].dims2()?;
        at.by_parts(grad, |inputs| {
            let activated = leaky_of(
                &entry_sums(&self.pattern, &inputs[0], &inputs[1])?,
                self.slope,
            )?;
            activated
                .reshape((self.pattern.num_entries(), heads, dim))?
                .broadcast_mul(&inputs[2])?
                .sum(2)
        })
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (_, width) = at.inputs[0].dims2()?;
        let (heads, dim) = at.inputs[2].dims2()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let (r, c, a) =
                (at.inputs[0].values::<T>()?, at.inputs[1].values::<T>()?, at.inputs[2].values::<T>()?);
            let (g, slope) = (grad.values::<T>()?, T::of(f64::from(self.slope)));
            let h = Heads { pattern: &self.pattern, rows: &r, cols: &c, attention: &a, heads, dim, slope };
            if to.wants(0) {
                // SAFETY: every row is written.
                unsafe {
                    to.fill::<T>(0, |target| {
                        target.for_row_blocks(h.pattern, width, |range, out| grad_rows(h, range, None, &g, out));
                    })?;
                }
            }
            if to.wants(1) {
                let transposed = self.pattern.transposed();
                let h = Heads { pattern: &transposed.pattern, rows: &c, cols: &r, ..h };
                // SAFETY: every row is written.
                unsafe {
                    to.fill::<T>(1, |target| {
                        target.for_row_blocks(h.pattern, width, |range, out| {
                            grad_rows(h, range, Some(&transposed.entry_of), &g, out);
                        });
                    })?;
                }
            }
            if to.wants(2) {
                let total = attention_gradient(h, &g);
                to.give(2, Tensor::from_vec(total, (heads, dim), grad.device())?)?;
            }
        });
        Ok(())
    }
}

/// Computes the gradient to the attention vectors: partial sums per block of rows, added in order.
fn attention_gradient<T: Float>(h: Heads<'_, T>, g: &[T]) -> Vec<T> {
    const ROWS: usize = 256;
    let num_rows = h.pattern.num_rows();
    let starts: Vec<usize> = (0..num_rows).step_by(ROWS).collect();
    let partial = |&start: &usize| {
        let mut sums = vec![T::ZERO; h.width()];
        attention_grad_rows(h, start..(start + ROWS).min(num_rows), g, &mut sums);
        sums
    };
    let partials: Vec<Vec<T>> = starts.par_iter().map(partial).collect();
    let mut total = vec![T::ZERO; h.width()];
    partials
        .iter()
        .for_each(|sums| kernels::add_rows(sums, &mut total));
    total
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern, random_wide};

    /// Patterns with and without empty rows, of one row, and without entries.
    fn patterns() -> Vec<Arc<Pattern>> {
        let some = [(5, 4, 0.6, 5), (1, 3, 0.9, 1), (3, 3, 0.0, 1)];
        some.map(|(r, c, density, seed)| random_pattern(r, c, density, seed).pattern().clone())
            .into()
    }

    /// Sums of two such tensors stay away from the kink: rows are halves of whole numbers, columns
    /// are off by 0.2.
    fn off_kink(shape: &[usize], shift: f64, seed: u64) -> Tensor {
        let halves = (random_wide(shape, seed) * 4.0).unwrap().round().unwrap();
        halves.affine(0.5, shift).unwrap()
    }

    impl Examples for Additive {
        fn examples() -> Vec<Example> {
            let on = |p: Arc<Pattern>| {
                let inputs = vec![
                    off_kink(&[p.num_rows(), 2], 0.0, 6),
                    off_kink(&[p.num_cols(), 2], 0.2, 7),
                ];
                Example::on(inputs, move |v| additive_scores(&p, &v[0], &v[1], 0.2))
            };
            patterns().into_iter().map(on).collect()
        }
    }

    impl Examples for GatV2 {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for (heads, dim) in [(2, 3), (1, 1), (3, 9)] {
                for p in patterns() {
                    let width = heads * dim;
                    let (rows, cols) = ([p.num_rows(), width], [p.num_cols(), width]);
                    let inputs = vec![
                        off_kink(&rows, 0.0, 8),
                        off_kink(&cols, 0.2, 9),
                        random_wide(&[heads, dim], 10),
                    ];
                    examples.push(Example::on(inputs, move |v| {
                        gatv2_scores(&p, &v[0], &v[1], &v[2], 0.2)
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
    use crate::testing::{check_gradients, random, random_pattern};

    #[test]
    fn gatv2_scores_by_their_formula() {
        let op = random_pattern(6, 5, 0.5, 1);
        let (r, c, a) = (
            random(&[6, 34], 2),
            random(&[5, 34], 3),
            random(&[2, 17], 4),
        );
        let scores = gatv2_scores(op.pattern(), &r, &c, &a, 0.2)
            .unwrap()
            .to_vec2::<f32>()
            .unwrap();
        let (r, c, a) = (
            r.to_vec2::<f32>().unwrap(),
            c.to_vec2::<f32>().unwrap(),
            a.to_vec2::<f32>().unwrap(),
        );
        for row in 0..6 {
            for k in op.pattern().row(row) {
                let col = op.pattern().indices()[k] as usize;
                for head in 0..2 {
                    let expected: f32 = (0..17)
                        .map(|f| {
                            a[head][f] * leaky(r[row][head * 17 + f] + c[col][head * 17 + f], 0.2)
                        })
                        .sum();
                    assert!((scores[k][head] - expected).abs() < 1e-5);
                }
            }
        }
    }

    /// Sums of two such tensors stay away from the kink: rows are multiples of 0.5, columns are off
    /// by 0.2.
    fn off_kink(shape: &[usize], shift: f32, seed: u64) -> Tensor {
        let x = (random(shape, seed) * 4.0).unwrap().round().unwrap();
        ((x * 0.5).unwrap() + f64::from(shift)).unwrap()
    }

    #[test]
    fn gradients() {
        let op = random_pattern(5, 4, 0.6, 5);
        let p = op.pattern();
        check_gradients(
            &[off_kink(&[5, 2], 0.0, 6), off_kink(&[4, 2], 0.2, 7)],
            |v| additive_scores(p, &v[0], &v[1], 0.2),
        );
        let inputs = [
            off_kink(&[5, 6], 0.0, 8),
            off_kink(&[4, 6], 0.2, 9),
            random(&[2, 3], 10),
        ];
        check_gradients(&inputs, |v| gatv2_scores(p, &v[0], &v[1], &v[2], 0.2));
        let eight_by_eight = [
            off_kink(&[5, WIDTH], 0.0, 11),
            off_kink(&[4, WIDTH], 0.2, 12),
            random(&[HEADS, HEAD_WIDTH], 13),
        ];
        check_gradients(&eight_by_eight, |v| {
            gatv2_scores(p, &v[0], &v[1], &v[2], 0.2)
        });
    }

    /// Eight heads of eight have a code path of their own with bit-identical results. One more
    /// head, whose scores are ignored, takes the general path.
    #[test]
    fn eight_heads_of_eight_have_the_same_bits_as_others() {
        let op = random_pattern(9, 7, 0.5, 14);
        let (r, c) = (
            random(&[9, WIDTH + HEAD_WIDTH], 15),
            random(&[7, WIDTH + HEAD_WIDTH], 16),
        );
        let attention = random(&[HEADS + 1, HEAD_WIDTH], 17);
        let weights = random(&[op.pattern().num_entries(), HEADS], 18);
        let of = |heads: usize| {
            let variables = [
                Var::from_tensor(&r.narrow(1, 0, heads * HEAD_WIDTH).unwrap()).unwrap(),
                Var::from_tensor(&c.narrow(1, 0, heads * HEAD_WIDTH).unwrap()).unwrap(),
                Var::from_tensor(&attention.narrow(0, 0, heads).unwrap()).unwrap(),
            ];
            let [r, c, a] = &variables;
            let scores = gatv2_scores(op.pattern(), r, c, a, 0.2)
                .unwrap()
                .narrow(1, 0, HEADS)
                .unwrap();
            let grads = (&scores * &weights)
                .unwrap()
                .sum_all()
                .unwrap()
                .backward()
                .unwrap();
            let grad = |at: usize| grads.get(&variables[at]).unwrap();
            let flat = |tensor: Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            [
                flat(scores),
                flat(grad(0).narrow(1, 0, WIDTH).unwrap()),
                flat(grad(1).narrow(1, 0, WIDTH).unwrap()),
                flat(grad(2).narrow(0, 0, HEADS).unwrap()),
            ]
        };
        let bits = |values: [Vec<f32>; 4]| {
            values.map(|part| part.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        assert_eq!(bits(of(HEADS)), bits(of(HEADS + 1)));
    }
}
