//! Inner loops over plain slices, compiled for wide registers (see [`crate::simd`]).

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use crate::element::Float;
use crate::pattern::{MIN_PARALLEL_WORK, Pattern};
use crate::simd::simd_dispatch;
use crate::target::{Target, overwritten};

/// Sparse rows and `heads` values for each of their entries.
///
/// The pattern guarantees that every column is below `num_cols`; therefore the loops below need no
/// check per entry.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub pattern: &'a Pattern,
    /// `heads` values for each entry.
    pub values: &'a [T],
    pub heads: usize,
}

impl<T: Float> Rows<'_, T> {
    /// Returns the number of rows of `x` to process per tile, if tiling pays at this width. Tiling
    /// pays if `x` is larger than a core's own cache and rows have so many entries that a cached
    /// tile is read often (docs/performance.md).
    pub(crate) fn tile(&self, width: usize) -> Option<usize> {
        let (bytes, pattern) = (width * size_of::<T>(), self.pattern);
        let tile = NEAR_BYTES / bytes.max(1);
        let tiles = pattern.num_cols().div_ceil(tile.max(1));
        let pays = tiles > 2 && pattern.num_entries() >= TILE_ENTRIES * tiles * pattern.num_rows();
        (self.heads == 1 && width >= 16 && tile > 0 && pays).then_some(tile)
    }
}

/// Half of a core's own cache, which is a megabyte on most current machines. Data that fits is not
/// prefetched: the prefetch costs more than the wait.
const NEAR_BYTES: usize = 512 << 10;
/// Entries per row from which the processor's own prefetching suffices.
const LONG_ROW: usize = 20;
/// Entries of a row per tile from which storing and reloading its sums costs less than tiling
/// saves.
const TILE_ENTRIES: usize = 64;
/// Bytes of sums kept from tile to tile.
const SUM_BYTES: usize = 128 << 10;

simd_dispatch! {
    /// Computes `out[r] = bias + Σ_k values[k] · x[column of k]` for each row, `width` values a
    /// row; head `h` scales its own `width / heads` columns. Every value of `out` is written or
    /// added to.
    pub(crate) fn gather_rows<T: Float>(
        rows: Rows<'_, T>,
        range: Range<usize>,
        x: &[T],
        width: usize,
        bias: Option<&[T]>,
        out: Target<'_, T>,
    ) {
        assert!(range.start <= range.end && range.end <= rows.pattern.num_rows(), "rows of the pattern");
        assert_eq!(rows.values.len(), rows.pattern.num_entries() * rows.heads, "values of the entries");
        assert_eq!(x.len(), rows.pattern.num_cols() * width, "a row of x for each column");
        assert_eq!(out.len(), range.len() * width, "a row of the result for each row");
        assert!(bias.is_none_or(|bias| bias.len() == width), "a bias for each column");
        assert!(width.is_multiple_of(rows.heads), "as many columns for each head");
        let mut out = out;
        let far = size_of_val(x) > NEAR_BYTES;
        let fetch = far && rows.pattern.num_entries() < LONG_ROW * rows.pattern.num_rows();
        let gather = Gather { rows, x, width, bias };
        let head_width = width / rows.heads;
        // SAFETY: the lengths were just checked, and every part lies within the width.
        unsafe {
            if rows.heads == HEADS && head_width == HEAD_WIDTH {
                return gather.eight_heads(range, fetch, &mut out);
            }
            let tile = rows.tile(width);
            for head in 0..rows.heads {
                let (mut from, end) = (head * head_width, (head + 1) * head_width);
                while from < end {
                    let part = Part { head, from, used: end - from };
                    from += match part.used {
                        64.. => gather.columns::<64>(range.clone(), part, fetch, tile, &mut out),
                        33.. => gather.up_to_twice::<32>(range.clone(), part, fetch, &mut out),
                        32 => gather.columns::<32>(range.clone(), part, fetch, tile, &mut out),
                        17.. => gather.up_to_twice::<16>(range.clone(), part, fetch, &mut out),
                        16 => gather.columns::<16>(range.clone(), part, fetch, tile, &mut out),
                        9.. => gather.up_to_twice::<8>(range.clone(), part, fetch, &mut out),
                        8 => gather.columns::<8>(range.clone(), part, fetch, None, &mut out),
                        5.. => gather.up_to_twice::<4>(range.clone(), part, fetch, &mut out),
                        4 => gather.columns::<4>(range.clone(), part, fetch, None, &mut out),
                        3 => gather.up_to_twice::<2>(range.clone(), part, fetch, &mut out),
                        2 => gather.columns::<2>(range.clone(), part, fetch, None, &mut out),
                        _ => gather.columns::<1>(range.clone(), part, fetch, None, &mut out),
                    };
                }
            }
        }
    }
}

/// Runs [`gather_rows`] over initialised values.
pub(crate) fn gather_rows_over<T: Float>(
    rows: Rows<'_, T>,
    range: Range<usize>,
    x: &[T],
    width: usize,
    out: &mut [T],
) {
    // SAFETY: sums are written, which are initialised.
    let out = unsafe { overwritten(out) };
    gather_rows(rows, range, x, width, None, out);
}

/// Eight heads of eight are the default of attention layers. They have loops of their own over all
/// columns at once, with bounds known to the compiler, so that sums stay in registers.
pub(crate) const HEADS: usize = 8;
pub(crate) const HEAD_WIDTH: usize = 8;
pub(crate) const WIDTH: usize = HEADS * HEAD_WIDTH;

/// Repeats a head's value for each of its columns.
#[inline(always)]
pub(crate) fn of_each_column<T: Float>(values: &[T; HEADS]) -> [T; WIDTH] {
    std::array::from_fn(|c| values[c / HEAD_WIDTH])
}

/// Sums each head's columns in order; all heads in parallel lanes.
#[inline(always)]
pub(crate) fn sums_of_heads<T: Float>(products: &[T; WIDTH]) -> [T; HEADS] {
    let mut sums = [T::ZERO; HEADS];
    for c in 0..HEAD_WIDTH {
        for head in 0..HEADS {
            sums[head] += products[head * HEAD_WIDTH + c];
        }
    }
    sums
}

/// Arguments of [`gather_rows`].
#[derive(Clone, Copy)]
struct Gather<'a, T> {
    rows: Rows<'a, T>,
    x: &'a [T],
    width: usize,
    bias: Option<&'a [T]>,
}

/// Columns `from..from + used` of one head.
#[derive(Clone, Copy)]
struct Part {
    head: usize,
    from: usize,
    used: usize,
}

impl<T: Float> Gather<'_, T> {
    /// Computes `B` columns of each output row; returns `B`.
    ///
    /// # Safety
    /// The lengths are as [`gather_rows`] checks them, and `part` has `B` columns within the width.
    #[inline(always)]
    unsafe fn columns<const B: usize>(
        &self,
        range: Range<usize>,
        part: Part,
        fetch: bool,
        tile: Option<usize>,
        out: &mut Target<'_, T>,
    ) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(tile) = tile.filter(|_| B >= 16) {
                self.by_tiles::<B>(range, part, tile, out);
            } else if fetch {
                self.by_rows::<B, false, true>(range, part, out);
            } else {
                self.by_rows::<B, false, false>(range, part, out);
            }
        }
        B
    }

    /// Computes all columns of a part that has more than `B` and at most twice as many; returns
    /// their number. Its first and its last `B` columns are computed together, the overlap twice.
    ///
    /// # Safety
    /// The lengths are as [`gather_rows`] checks them, and `part` lies within the width.
    #[inline(always)]
    unsafe fn up_to_twice<const B: usize>(
        &self,
        range: Range<usize>,
        part: Part,
        fetch: bool,
        out: &mut Target<'_, T>,
    ) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            if fetch {
                self.by_rows::<B, true, true>(range, part, out);
            } else {
                self.by_rows::<B, true, false>(range, part, out);
            }
        }
        part.used
    }

    /// Returns the initial sums of `B` columns.
    #[inline(always)]
    fn start<const B: usize>(&self, from: usize) -> [T; B] {
        let mut start = [T::ZERO; B];
        if let Some(bias) = self.bias {
            start.copy_from_slice(&bias[from..from + B]);
        }
        start
    }

    /// Computes row by row: the sums stay in registers while a row's entries are added. `FETCH`:
    /// rows of `x` are prefetched.
    ///
    /// # Safety
    /// As for [`columns`](Self::columns); with `TWO`, as for [`up_to_twice`](Self::up_to_twice).
    #[inline(always)]
    unsafe fn by_rows<const B: usize, const TWO: bool, const FETCH: bool>(
        &self,
        range: Range<usize>,
        part: Part,
        out: &mut Target<'_, T>,
    ) {
        let last = if TWO {
            part.from + part.used - B
        } else {
            part.from
        };
        let (start, start_last) = (self.start::<B>(part.from), self.start::<B>(last));
        for (i, row) in range.enumerate() {
            // Two sums, so that a product need not wait for the previous one.
            let mut even = (start, start_last);
            let mut odd = ([T::ZERO; B], [T::ZERO; B]);
            let entries = self.rows.pattern.row(row);
            let (mut k, end) = (entries.start, entries.end);
            // SAFETY: k and k + 1 are entries of the row.
            unsafe {
                while k + 1 < end {
                    self.add_entry::<B, TWO, FETCH>(k, part, last, &mut even);
                    self.add_entry::<B, TWO, FETCH>(k + 1, part, last, &mut odd);
                    k += 2;
                }
                if k < end {
                    self.add_entry::<B, TWO, FETCH>(k, part, last, &mut even);
                }
            }
            for b in 0..B {
                even.0[b] += odd.0[b];
                even.1[b] += odd.1[b];
            }
            let mut out = out.part(i * self.width..(i + 1) * self.width);
            if TWO {
                // The second store writes the overlap of both.
                out.part(part.from..last).store(&even.0[..last - part.from]);
                out.part(last..last + B).store(&even.1);
            } else {
                out.part(part.from..part.from + B).store(&even.0);
            }
        }
    }

    /// Computes the sums of `by_rows`, to the last bit, tile by tile of `x`: the entries of a row
    /// up to the end of a tile, then those of the next row. The two sums of each row are kept for
    /// the next tile. Every row's entries come in their order, so unsorted columns only cost time.
    ///
    /// # Safety
    /// As for [`columns`](Self::columns).
    #[inline(always)]
    unsafe fn by_tiles<const B: usize>(
        &self,
        range: Range<usize>,
        part: Part,
        tile: usize,
        out: &mut Target<'_, T>,
    ) {
        let (pattern, start) = (self.rows.pattern, self.start::<B>(part.from));
        let at_once = (SUM_BYTES / (2 * B * size_of::<T>()))
            .min(range.len())
            .max(1);
        let mut sums = vec![[[T::ZERO; B]; 2]; at_once];
        let mut next = vec![0; at_once];
        for first in range.clone().step_by(at_once) {
            let rows = first..range.end.min(first + at_once);
            for (i, row) in rows.clone().enumerate() {
                (sums[i], next[i]) = ([start, [T::ZERO; B]], pattern.row(row).start);
            }
            for limit in (0..pattern.num_cols())
                .step_by(tile)
                .map(|from| from + tile)
            {
                for (i, row) in rows.clone().enumerate() {
                    let (mut k, entries) = (next[i], pattern.row(row));
                    let stop = if limit < pattern.num_cols() {
                        let candidates = &pattern.indices()[k..entries.end.min(k + tile)];
                        k + candidates.partition_point(|&column| (column as usize) < limit)
                    } else {
                        entries.end
                    };
                    let [mut even, mut odd] = sums[i];
                    // SAFETY: k and k + 1 are entries of the row.
                    unsafe {
                        if (k - entries.start) % 2 == 1 && k < stop {
                            self.add_columns(k, part.head, part.from, &mut odd);
                            k += 1;
                        }
                        while k + 1 < stop {
                            self.add_columns(k, part.head, part.from, &mut even);
                            self.add_columns(k + 1, part.head, part.from, &mut odd);
                            k += 2;
                        }
                        if k < stop {
                            self.add_columns(k, part.head, part.from, &mut even);
                        }
                    }
                    (sums[i], next[i]) = ([even, odd], stop);
                }
            }
            for ([even, odd], row) in sums.iter_mut().zip(rows) {
                for b in 0..B {
                    even[b] += odd[b];
                }
                let at = (row - range.start) * self.width + part.from;
                out.part(at..at + B).store(even);
            }
        }
    }

    /// Adds entry `k`'s products to the sums of `B` columns and, with `TWO`, of the `B` columns
    /// from `last` on.
    ///
    /// # Safety
    /// As for [`by_rows`](Self::by_rows); `k` is an entry of the pattern, and `last + B` within the
    /// width.
    #[inline(always)]
    unsafe fn add_entry<const B: usize, const TWO: bool, const FETCH: bool>(
        &self,
        k: usize,
        part: Part,
        last: usize,
        sums: &mut ([T; B], [T; B]),
    ) {
        let indices = self.rows.pattern.indices();
        // SAFETY: k is an entry and its column is below num_cols, so the row of x is there.
        unsafe {
            if FETCH {
                let next = *indices.get_unchecked((k + AHEAD).min(indices.len() - 1)) as usize
                    * self.width;
                prefetch::<T, B>(self.x, next + part.from);
                if TWO {
                    prefetch::<T, B>(self.x, next + last);
                }
            }
            self.add_columns(k, part.head, part.from, &mut sums.0);
            if TWO {
                self.add_columns(k, part.head, last, &mut sums.1);
            }
        }
    }

    /// Adds entry `k`'s products to the sums of `B` columns.
    ///
    /// # Safety
    /// `k` is an entry of the pattern, and `from + B` within the width.
    #[inline(always)]
    unsafe fn add_columns<const B: usize>(
        &self,
        k: usize,
        head: usize,
        from: usize,
        sum: &mut [T; B],
    ) {
        // SAFETY: k is an entry and its column is below num_cols, so the row of x is there.
        let (value, x): (T, [T; B]) = unsafe {
            let column = *self.rows.pattern.indices().get_unchecked(k) as usize;
            let value = *self.rows.values.get_unchecked(k * self.rows.heads + head);
            (value, read(self.x, column * self.width + from))
        };
        for b in 0..B {
            sum[b] = value.mul_add(x[b], sum[b]);
        }
    }

    /// Computes all eight heads of eight columns at once.
    ///
    /// # Safety
    /// As for [`columns`](Self::columns), with eight heads and 64 columns.
    #[inline(always)]
    unsafe fn eight_heads(&self, range: Range<usize>, fetch: bool, out: &mut Target<'_, T>) {
        let indices = self.rows.pattern.indices();
        let fetch_until = if fetch {
            indices.len().saturating_sub(AHEAD)
        } else {
            0
        };
        for (i, row) in range.enumerate() {
            let mut sum: [T; WIDTH] = self.bias.map_or([T::ZERO; WIDTH], cut);
            for k in self.rows.pattern.row(row) {
                if k < fetch_until {
                    prefetch::<T, WIDTH>(self.x, indices[k + AHEAD] as usize * WIDTH);
                }
                // SAFETY: k is an entry, with eight values, and its column's row of x has 64.
                let (values, from): ([T; HEADS], [T; WIDTH]) = unsafe {
                    (
                        read(self.rows.values, k * HEADS),
                        read(self.x, *indices.get_unchecked(k) as usize * WIDTH),
                    )
                };
                let values = of_each_column(&values);
                for c in 0..WIDTH {
                    sum[c] = values[c].mul_add(from[c], sum[c]);
                }
            }
            out.part(i * WIDTH..(i + 1) * WIDTH).store(&sum);
        }
    }
}

/// Number of entries ahead at which rows are prefetched: the next row is known long before it is
/// needed.
const AHEAD: usize = 8;

/// Prefetches the cache lines of `B` values; a hint, so any address is allowed.
#[inline(always)]
fn prefetch<T, const B: usize>(x: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..(B * size_of::<T>()).div_ceil(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fault; SSE is part of x86-64.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(
                x.as_ptr()
                    .wrapping_add(at + 64 / size_of::<T>() * line)
                    .cast(),
            )
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (x, at);
}

/// Prefetches the row of `x` of the entry `AHEAD` places after this one.
#[inline(always)]
pub(crate) fn prefetch_row<T>(x: &[T], pattern: &Pattern, entry: usize, width: usize) {
    if let Some(&next) = pattern.indices().get(entry + AHEAD) {
        let mut at = next as usize * width;
        let end = at + width;
        while at < end {
            prefetch::<T, 1>(x, at);
            at += 64 / size_of::<T>();
        }
    }
}

/// Reads `B` values from `at` on.
///
/// # Safety
/// They are within `x`.
#[inline(always)]
unsafe fn read<T: Float, const B: usize>(x: &[T], at: usize) -> [T; B] {
    debug_assert!(at + B <= x.len());
    // SAFETY: the caller's promise.
    unsafe { x.as_ptr().add(at).cast::<[T; B]>().read_unaligned() }
}

/// Returns up to `B` values, padded with zeros.
#[inline(always)]
fn cut<T: Float, const B: usize>(x: &[T]) -> [T; B] {
    std::array::from_fn(|b| x.get(b).copied().unwrap_or(T::ZERO))
}

simd_dispatch! {
    /// Computes the inner product of row `a[row]` and `b[column]` for each entry and head: `heads`
    /// values an entry.
    pub(crate) fn sampled_products<T: Float>(
        pattern: &Pattern,
        heads: usize,
        range: Range<usize>,
        a: &[T],
        b: &[T],
        width: usize,
        out: Target<'_, T>,
    ) {
        let head_width = width / heads;
        let (mut out, mut slot) = (out, 0);
        for row in range {
            let a = &a[row * width..(row + 1) * width];
            for k in pattern.row(row) {
                prefetch_row(b, pattern, k, width);
                let b = &b[pattern.indices()[k] as usize * width..][..width];
                if let (HEADS, Some((a, _)), Some((b, _))) = (heads, a.split_first_chunk(), b.split_first_chunk())
                    && width == WIDTH
                {
                    out.part(slot..slot + HEADS).store(&inner_products_of_heads(a, b));
                    slot += HEADS;
                    continue;
                }
                for head in 0..heads {
                    let columns = head * head_width..(head + 1) * head_width;
                    out.part(slot..slot + 1).store(&[inner_product(&a[columns.clone()], &b[columns])]);
                    slot += 1;
                }
            }
        }
    }
}

/// Computes the inner product of each head.
#[inline(always)]
fn inner_products_of_heads<T: Float>(a: &[T; WIDTH], b: &[T; WIDTH]) -> [T; HEADS] {
    let mut products = [T::ZERO; WIDTH];
    for c in 0..WIDTH {
        products[c] = a[c] * b[c];
    }
    sums_of_heads(&products)
}

/// Number of columns that [`pair_products`] processes at a time.
pub(crate) const PAIR_LANES: usize = 8;

simd_dispatch! {
    /// Computes `a_u · b_v + a_v · b_u` for each pair, of rows whose width is a multiple of
    /// [`PAIR_LANES`].
    pub(crate) fn pair_products<T: Float>(
        pairs: &[(u32, u32)],
        a: &[T],
        b: &[T],
        width: usize,
        out: Target<'_, T>,
    ) {
        let mut out = out;
        for (i, &(u, v)) in pairs.iter().enumerate() {
            let mut sums = [T::ZERO; PAIR_LANES];
            let there = lanes_of(a, u, width).iter().zip(lanes_of(b, v, width));
            let back = lanes_of(a, v, width).iter().zip(lanes_of(b, u, width));
            for ((a_u, b_v), (a_v, b_u)) in there.zip(back) {
                for l in 0..PAIR_LANES {
                    sums[l] = a_u[l].mul_add(b_v[l], a_v[l].mul_add(b_u[l], sums[l]));
                }
            }
            // In a fixed order, halves on halves.
            let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
            out.part(i..i + 1).store(&[((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))]);
        }
    }
}

/// Returns a node's row, `PAIR_LANES` columns at a time.
#[inline(always)]
fn lanes_of<T>(x: &[T], node: u32, width: usize) -> &[[T; PAIR_LANES]] {
    x[node as usize * width..][..width].as_chunks().0
}

/// Computes an inner product by sixteen running sums, then their total: wide, and in a fixed order.
#[inline(always)]
pub(crate) fn inner_product<T: Float>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 16;
    let mut sums = [T::ZERO; LANES];
    let (a_wide, a_rest) = a.as_chunks::<LANES>();
    let (b_wide, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_wide.iter().zip(b_wide) {
        for l in 0..LANES {
            sums[l] = a[l].mul_add(b[l], sums[l]);
        }
    }
    let tail: T = a_rest.iter().zip(b_rest).map(|(x, y)| *x * *y).sum();
    sums.into_iter().sum::<T>() + tail
}

simd_dispatch! {
    /// Adds each row of `x` to `out`.
    pub(crate) fn add_rows<T: Float>(x: &[T], out: &mut [T]) {
        for row in x.chunks_exact(out.len().max(1)) {
            for (o, x) in out.iter_mut().zip(row) {
                *o += *x;
            }
        }
    }
}

/// Values per parallel task.
pub(crate) const CHUNK: usize = 16 * 1024;

/// Adds values to others, in parallel if they are many.
pub(crate) fn add_to<T: Float>(x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len(), "values to add to");
    if x.len() < MIN_PARALLEL_WORK {
        return add_rows(x, out);
    }
    out.par_chunks_mut(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .for_each(|(out, x)| add_rows(x, out));
}

/// Computes the sum of each column, in an order that does not depend on the number of threads.
pub(crate) fn column_sums<T: Float>(x: &[T], width: usize) -> Vec<T> {
    const ROWS: usize = 512;
    let mut total = vec![T::ZERO; width];
    if width == 0 {
        return total;
    }
    let sum_block = |block: &[T]| {
        let mut sums = vec![T::ZERO; width];
        add_rows(block, &mut sums);
        sums
    };
    // The same blocks and the same order on one thread or many.
    let blocks: Vec<Vec<T>> = if x.len() < MIN_PARALLEL_WORK {
        x.chunks(ROWS * width).map(sum_block).collect()
    } else {
        x.par_chunks(ROWS * width).map(sum_block).collect()
    };
    for sums in &blocks {
        add_rows(sums, &mut total);
    }
    total
}

/// Computes `max(x, 0) · scale`; NaN stays NaN.
#[inline(always)]
fn scaled_relu<T: Float>(x: T, scale: T) -> T {
    if x <= T::ZERO { T::ZERO } else { x * scale }
}

simd_dispatch! {
    /// Applies ReLU, then dropout. Kept values are scaled by `scale`; `threshold` is the dropout
    /// probability times 2^32. NaN stays NaN, kept or dropped: a diverged network must show.
    pub(crate) fn relu_dropout<T: Float>(
        x: &[T],
        first: u64,
        key: u64,
        threshold: u32,
        scale: T,
        out: &mut [MaybeUninit<T>],
    ) {
        if threshold == 0 {
            return out.iter_mut().zip(x).for_each(|(o, x)| _ = o.write(scaled_relu(*x, scale)));
        }
        for (i, (o, x)) in out.iter_mut().zip(x).enumerate() {
            let keep = hash(first + i as u64, key) >= threshold;
            o.write(scaled_relu(*x, if keep { scale } else { T::ZERO }));
        }
    }
}

simd_dispatch! {
    /// Applies [`relu_dropout`] in place.
    pub(crate) fn relu_dropout_in_place<T: Float>(x: &mut [T], first: u64, key: u64, threshold: u32, scale: T) {
        if threshold == 0 {
            return x.iter_mut().for_each(|x| *x = scaled_relu(*x, scale));
        }
        for (i, x) in x.iter_mut().enumerate() {
            let keep = hash(first + i as u64, key) >= threshold;
            *x = scaled_relu(*x, if keep { scale } else { T::ZERO });
        }
    }
}

simd_dispatch! {
    /// Adds a bias to every row, then applies [`relu_dropout`], in place.
    pub(crate) fn bias_relu_dropout_in_place<T: Float>(
        x: &mut [T],
        bias: &[T],
        first: u64,
        key: u64,
        threshold: u32,
        scale: T,
    ) {
        let width = bias.len();
        for (row, x) in x.chunks_exact_mut(width.max(1)).enumerate() {
            if threshold == 0 {
                x.iter_mut().zip(bias).for_each(|(x, b)| *x = scaled_relu(*x + *b, scale));
                continue;
            }
            let first = first + (row * width) as u64;
            for (i, (x, b)) in x.iter_mut().zip(bias).enumerate() {
                let keep = hash(first + i as u64, key) >= threshold;
                *x = scaled_relu(*x + *b, if keep { scale } else { T::ZERO });
            }
        }
    }
}

simd_dispatch! {
    /// Applies dropout; NaN stays NaN, kept or dropped.
    pub(crate) fn dropout<T: Float>(
        x: &[T],
        first: u64,
        key: u64,
        threshold: u32,
        scale: T,
        out: &mut [MaybeUninit<T>],
    ) {
        for (i, (o, x)) in out.iter_mut().zip(x).enumerate() {
            let keep = hash(first + i as u64, key) >= threshold;
            o.write(if keep || x.is_nan() { *x * scale } else { T::ZERO });
        }
    }
}

simd_dispatch! {
    /// Computes the gradient of [`relu_dropout`]: `grad · scale` where the result is positive.
    pub(crate) fn relu_dropout_grad<T: Float>(result: &[T], grad: &[T], scale: T, out: &mut [MaybeUninit<T>]) {
        for ((o, r), g) in out.iter_mut().zip(result).zip(grad) {
            o.write(if *r > T::ZERO { *g * scale } else { T::ZERO });
        }
    }
}

simd_dispatch! {
    /// Computes [`relu_dropout_grad`] in place of the gradient.
    pub(crate) fn relu_dropout_grad_in_place<T: Float>(result: &[T], grad: &mut [T], scale: T) {
        for (g, r) in grad.iter_mut().zip(result) {
            *g = if *r > T::ZERO { *g * scale } else { T::ZERO };
        }
    }
}

/// Counter-based generator: returns 32 random bits for each index, by two rounds of multiply and
/// shift (Wellons' `lowbias32` constants) on the index mixed with the key.
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

/// Constants of one Adam step.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    pub learning_rate: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub epsilon: f32,
    /// L2 decay added to the gradient.
    pub decay: f32,
    /// `1 - beta1^t`
    pub correction1: f32,
    /// `sqrt(1 - beta2^t)`
    pub correction2: f32,
}

simd_dispatch! {
    /// Applies an Adam step with L2 decay added to the gradient, in place.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of many lengths, none and odd ones among them, columns in order or not.
    fn rows(num_cols: u32, sorted: bool) -> (Pattern, Vec<f32>) {
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        for length in [0, 1, 2, 7, 40, 0, 33, 64, 5] {
            let mut row: Vec<u32> = (0..length)
                .map(|k| (k * 37 + length * 11) % num_cols)
                .collect();
            if sorted {
                row.sort_unstable();
            }
            indices.extend(row);
            offsets.push(indices.len());
        }
        let values = (0..indices.len()).map(|k| (k as f32 * 0.7).sin()).collect();
        (Pattern::new(num_cols as usize, offsets, indices), values)
    }

    fn bits(out: &[f32]) -> Vec<u32> {
        out.iter().map(|value| value.to_bits()).collect()
    }

    /// Memory that is written or added to, as a test asks for.
    fn target(values: &mut [f32], add: bool) -> Target<'_, f32> {
        if add {
            Target::Add(values)
        } else {
            // SAFETY: the kernels write sums, which are initialised.
            unsafe { overwritten(values) }
        }
    }

    /// Every width is split into blocks differently; to the last bit each result is two running
    /// sums.
    #[test]
    fn every_width_is_two_running_sums() {
        let (pattern, _) = rows(71, false);
        // An interpreter takes a second for each.
        let step = if cfg!(miri) { 9 } else { 1 };
        let widths = (1..=70)
            .step_by(step)
            .chain([80, 100, 127, 130])
            .map(|width| (1, width));
        for (heads, width) in widths.chain([(2, 14), (3, 9), (8, 64)]) {
            let values: Vec<f32> = (0..pattern.num_entries() * heads)
                .map(|k| (k as f32 * 0.7).sin())
                .collect();
            let x: Vec<f32> = (0..71 * width).map(|i| (i as f32 * 0.3).cos()).collect();
            let bias: Vec<f32> = (0..width).map(|i| i as f32).collect();
            let rows = Rows {
                pattern: &pattern,
                values: &values,
                heads,
            };
            for (add, range) in [(false, 0..9), (true, 2..8)] {
                let mut out = vec![0.5; range.len() * width];
                let to = target(&mut out, add);
                gather_rows(rows, range.clone(), &x, width, Some(&bias), to);
                let mut expected = Vec::new();
                for row in range {
                    for column in 0..width {
                        let mut sums = [bias[column], 0.0];
                        for (i, k) in pattern.row(row).enumerate() {
                            let (value, at) = (
                                values[k * heads + column / (width / heads)],
                                pattern.indices()[k] as usize,
                            );
                            // Eight heads of eight have one sum, in a loop of their own.
                            let sum = &mut sums[if heads == HEADS { 0 } else { i % 2 }];
                            *sum = value.mul_add(x[at * width + column], *sum);
                        }
                        expected
                            .push((if add { 0.5 } else { 0.0 } + (sums[0] + sums[1])).to_bits());
                    }
                }
                assert_eq!(bits(&out), expected, "{heads} heads, {width} wide");
            }
        }
    }

    #[test]
    fn tiles_change_no_bit() {
        for (num_cols, sorted) in [(71, true), (71, false), (1, true), (64, false)] {
            let (pattern, values) = rows(num_cols, sorted);
            let rows = Rows {
                pattern: &pattern,
                values: &values,
                heads: 1,
            };
            let widths: &[usize] = if cfg!(miri) { &[33] } else { &[16, 33, 64, 80] };
            for &width in widths {
                let x: Vec<f32> = (0..num_cols as usize * width)
                    .map(|i| (i as f32 * 0.3).cos())
                    .collect();
                let bias: Vec<f32> = (0..width).map(|i| i as f32).collect();
                for (add, range) in [(false, 0..9), (true, 2..8), (false, 4..4)] {
                    let gather = Gather {
                        rows,
                        x: &x,
                        width,
                        bias: Some(&bias),
                    };
                    let part = Part {
                        head: 0,
                        from: 0,
                        used: width,
                    };
                    let out = vec![0.5; range.len() * width];
                    for tile in [1, 3, 32, 1000] {
                        let (mut plain, mut tiled) = (out.clone(), out.clone());
                        // SAFETY: a row of x for each column, and of the result for each row.
                        unsafe {
                            let mut to = target(&mut plain, add);
                            gather.by_rows::<16, false, false>(range.clone(), part, &mut to);
                            let mut to = target(&mut tiled, add);
                            gather.by_tiles::<16>(range.clone(), part, tile, &mut to);
                        }
                        assert_eq!(
                            bits(&tiled),
                            bits(&plain),
                            "{num_cols} columns, {width} wide, tiles of {tile}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_are_for_long_rows_of_what_is_far() {
        let of = |num_cols: usize, in_a_row: usize, width| {
            let indices = (0..2 * in_a_row).map(|k| (k % in_a_row) as u32).collect();
            let pattern = Pattern::new(num_cols, vec![0, in_a_row, 2 * in_a_row], indices);
            let values = vec![1.0f32; 2 * in_a_row];
            Rows {
                pattern: &pattern,
                values: &values,
                heads: 1,
            }
            .tile(width)
        };
        assert_eq!(of(7_000, 2_000, 64), Some(2048), "half a megabyte of rows");
        assert_eq!(of(7_000, 100, 64), None, "few entries a row");
        assert_eq!(of(700, 700, 64), None, "all of it is near");
        assert_eq!(of(7_000, 2_000, 8), None, "narrow");
        assert_eq!(of(0, 0, 64), None);
        assert_eq!(of(3, 3, 1 << 20), None, "one row is more than a tile");
    }
}
