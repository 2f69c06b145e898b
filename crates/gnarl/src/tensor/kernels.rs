//! The inner loops: plain slices in, plain slices out, compiled for wide registers (see [`super::simd`]).

use std::ops::Range;

use super::simd::simd_dispatch;

/// A view of sparse rows: boundaries, columns, and `heads` values per entry.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub offsets: &'a [usize],
    pub indices: &'a [u32],
    /// `heads` values for each entry.
    pub values: &'a [f32],
    pub heads: usize,
}

simd_dispatch! {
    /// `out[r] = bias + Σ_k values[k] · x[column of k]` for each row, `width` values a row; head `h` scales its own
    /// `width / heads` columns.
    pub(crate) fn gather_rows(rows: Rows<'_>, range: Range<usize>, x: &[f32], width: usize, bias: Option<&[f32]>, out: &mut [f32]) {
        let head_width = width / rows.heads;
        for (i, row) in range.enumerate() {
            let entries = rows.offsets[row]..rows.offsets[row + 1];
            let out = &mut out[i * width..(i + 1) * width];
            for head in 0..rows.heads {
                let (from, to) = (head * head_width, (head + 1) * head_width);
                let mut c = from;
                while c + 64 <= to {
                    gather_columns::<64>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 64;
                }
                if c + 32 <= to {
                    gather_columns::<32>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 32;
                }
                if c + 16 <= to {
                    gather_columns::<16>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 16;
                }
                if c + 8 <= to {
                    gather_columns::<8>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 8;
                }
                if c + 4 <= to {
                    gather_columns::<4>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 4;
                }
                while c < to {
                    gather_columns::<1>(rows, entries.clone(), head, x, width, c, bias, out);
                    c += 1;
                }
            }
        }
    }
}

/// Columns `c..c + B` of one output row: B sums held in registers while the row's entries go by.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn gather_columns<const B: usize>(
    rows: Rows<'_>,
    entries: Range<usize>,
    head: usize,
    x: &[f32],
    width: usize,
    c: usize,
    bias: Option<&[f32]>,
    out: &mut [f32],
) {
    let mut sum: [f32; B] = match bias {
        Some(bias) => load(bias, c),
        None => [0.0; B],
    };
    let last = entries.end;
    for k in entries {
        if B >= 16 && k + AHEAD < last {
            prefetch::<B>(x, rows.indices[k + AHEAD] as usize * width + c);
        }
        let value = rows.values[k * rows.heads + head];
        let from: [f32; B] = load(x, rows.indices[k] as usize * width + c);
        for b in 0..B {
            sum[b] = value.mul_add(from[b], sum[b]);
        }
    }
    out[c..c + B].copy_from_slice(&sum);
}

/// How many entries ahead rows are fetched into the cache: which row comes next is known long before it is needed.
const AHEAD: usize = 6;

/// Asks for the cache lines of `B` values; a hint, so any address will do.
#[inline(always)]
fn prefetch<const B: usize>(x: &[f32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..B / 16 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fault; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(x.as_ptr().wrapping_add(at + 16 * line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, at);
}

#[inline(always)]
fn load<const B: usize>(from: &[f32], at: usize) -> [f32; B] {
    from[at..at + B].try_into().expect("a slice of B values")
}

simd_dispatch! {
    /// For each entry and head the inner product of row `a[row]` and `b[column]`: `heads` values an entry.
    pub(crate) fn sampled_products(rows: Rows<'_>, range: Range<usize>, a: &[f32], b: &[f32], width: usize, out: &mut [f32]) {
        let head_width = width / rows.heads;
        let mut slot = 0;
        for row in range {
            let a = &a[row * width..(row + 1) * width];
            for k in rows.offsets[row]..rows.offsets[row + 1] {
                let b = &b[rows.indices[k] as usize * width..][..width];
                for head in 0..rows.heads {
                    let columns = head * head_width..(head + 1) * head_width;
                    out[slot] = inner_product(&a[columns.clone()], &b[columns]);
                    slot += 1;
                }
            }
        }
    }
}

/// Sixteen running sums, then their total: wide, and in a fixed order.
#[inline(always)]
pub(crate) fn inner_product(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0f32; LANES];
    let (a_wide, a_rest) = a.as_chunks::<LANES>();
    let (b_wide, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_wide.iter().zip(b_wide) {
        for l in 0..LANES {
            sums[l] = a[l].mul_add(b[l], sums[l]);
        }
    }
    let tail: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + tail
}

simd_dispatch! {
    /// Adds each row of `x` to `out`.
    pub(crate) fn add_rows(x: &[f32], out: &mut [f32]) {
        for row in x.chunks_exact(out.len().max(1)) {
            for (o, x) in out.iter_mut().zip(row) {
                *o += x;
            }
        }
    }
}

simd_dispatch! {
    /// ReLU, then dropout: kept values are scaled by `scale`; `threshold` is the share dropped, of 2^32.
    pub(crate) fn relu_dropout(x: &[f32], first: u64, key: u64, threshold: u32, scale: f32, out: &mut [f32]) {
        for (i, (o, x)) in out.iter_mut().zip(x).enumerate() {
            let keep = hash(first + i as u64, key) >= threshold;
            *o = if keep && *x > 0.0 { x * scale } else { 0.0 };
        }
    }
}

simd_dispatch! {
    /// [`relu_dropout`] in place.
    pub(crate) fn relu_dropout_in_place(x: &mut [f32], first: u64, key: u64, threshold: u32, scale: f32) {
        for (i, x) in x.iter_mut().enumerate() {
            let keep = hash(first + i as u64, key) >= threshold;
            *x = if keep && *x > 0.0 { *x * scale } else { 0.0 };
        }
    }
}

simd_dispatch! {
    /// Dropout alone.
    pub(crate) fn dropout(x: &[f32], first: u64, key: u64, threshold: u32, scale: f32, out: &mut [f32]) {
        for (i, (o, x)) in out.iter_mut().zip(x).enumerate() {
            *o = if hash(first + i as u64, key) >= threshold { x * scale } else { 0.0 };
        }
    }
}

simd_dispatch! {
    /// The gradient of [`relu_dropout`]: `grad · scale` where the result is positive.
    pub(crate) fn relu_dropout_grad(result: &[f32], grad: &[f32], scale: f32, out: &mut [f32]) {
        for ((o, r), g) in out.iter_mut().zip(result).zip(grad) {
            *o = if *r > 0.0 { g * scale } else { 0.0 };
        }
    }
}

/// A counter-based generator: 32 random bits for each index, by two rounds of multiply and shift (Wellons' `lowbias32`
/// constants) on the index mixed with the key.
#[inline(always)]
fn hash(index: u64, key: u64) -> u32 {
    let mut h = (index as u32) ^ (key as u32);
    h = h.wrapping_add(((index >> 32) as u32).wrapping_mul(0x9e37_79b9));
    h ^= h >> 16;
    h = h.wrapping_mul(0x7feb_352d);
    h ^= h >> 15;
    h = h.wrapping_add((key >> 32) as u32);
    h = h.wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// One step of Adam's arithmetic: constants of the step.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    pub learning_rate: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub epsilon: f32,
    /// L2 decay, added to the gradient.
    pub decay: f32,
    /// `1 - beta1^t`
    pub correction1: f32,
    /// `sqrt(1 - beta2^t)`
    pub correction2: f32,
}

simd_dispatch! {
    /// Adam with L2 decay added to the gradient, in place.
    pub(crate) fn adam(step: AdamStep, grad: &[f32], weight: &mut [f32], first: &mut [f32], second: &mut [f32]) {
        let rate = step.learning_rate / step.correction1;
        for (((w, m), v), g) in weight.iter_mut().zip(first).zip(second).zip(grad) {
            let g = step.decay.mul_add(*w, *g);
            *m = step.beta1.mul_add(*m, (1.0 - step.beta1) * g);
            *v = step.beta2.mul_add(*v, (1.0 - step.beta2) * g * g);
            *w -= rate * *m / (v.sqrt() / step.correction2 + step.epsilon);
        }
    }
}
