//! Operations over the entries of each row: softmax, maximum, minimum, median, and moving values
//! between nodes and entries.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use crate::array::Tensor;
use crate::element::{Float, by_precision};
use crate::error::{Result, bail};
use crate::operator::Operator;
use crate::pattern::Pattern;
use crate::simd::simd_dispatch;
use crate::tape::{Computed, Gradients, Operation, Sinks, Target, apply};

/// Computes the softmax of `scores` (`[entries, heads]`) over the entries of each row, head by
/// head.
pub fn segment_softmax(pattern: &Arc<Pattern>, scores: &Tensor) -> Result<Tensor> {
    check_entries("segment softmax", pattern, scores)?;
    apply(
        SegmentSoftmax {
            pattern: pattern.clone(),
        },
        &[scores],
    )
}

fn check_entries(op: &str, pattern: &Pattern, x: &Tensor) -> Result<usize> {
    let (entries, width) = x.dims2()?;
    if entries != pattern.num_entries() {
        bail!("{op}: {entries} rows for {} entries", pattern.num_entries());
    }
    Ok(width)
}

pub(crate) struct SegmentSoftmax {
    pattern: Arc<Pattern>,
}

simd_dispatch! {
    /// Computes the softmax of each row's scores, head by head. The heads of an entry are computed
    /// together, the exponentials of all rows at once.
    fn softmax_rows<T: Float>(
        pattern: &Pattern,
        rows: Range<usize>,
        scores: &[T],
        heads: usize,
        out: &mut [MaybeUninit<T>],
    ) {
        let (base, step) = (pattern.offsets()[rows.start] * heads, heads.max(1));
        let values = |row: usize| pattern.row(row).start * heads..pattern.row(row).end * heads;
        assert_eq!(out.len(), pattern.offsets()[rows.end] * heads - base, "values of the entries");
        let mut of_heads = vec![T::LOWEST; heads];
        for row in rows.clone() {
            let entries = values(row);
            let (scores, out) = (&scores[entries.clone()], &mut out[entries.start - base..entries.end - base]);
            of_heads.fill(T::LOWEST);
            for scores in scores.chunks_exact(step) {
                of_heads.iter_mut().zip(scores).for_each(|(largest, score)| *largest = largest.larger(*score));
            }
            for (out, scores) in out.chunks_exact_mut(step).zip(scores.chunks_exact(step)) {
                for ((out, score), largest) in out.iter_mut().zip(scores).zip(&of_heads) {
                    out.write(*score - *largest);
                }
            }
        }
        // SAFETY: the rows have all entries of this part, as was checked, and both types have one
        // layout.
        let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [T]) };
        out.iter_mut().for_each(|e| *e = e.fast_exp());
        for row in rows {
            let entries = values(row);
            let out = &mut out[entries.start - base..entries.end - base];
            of_heads.fill(T::ZERO);
            for out in out.chunks_exact(step) {
                of_heads.iter_mut().zip(out).for_each(|(total, e)| *total += *e);
            }
            of_heads.iter_mut().for_each(|total| *total = T::ONE / *total);
            for out in out.chunks_exact_mut(step) {
                out.iter_mut().zip(&of_heads).for_each(|(e, share)| *e = *e * *share);
            }
        }
    }
}

impl Operation for SegmentSoftmax {
    fn name(&self) -> &'static str {
        "segment softmax"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let (entries, heads) = inputs[0].dims2()?;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let scores = inputs[0].values::<T>()?;
            let fill = |out: &mut [MaybeUninit<T>]| {
                self.pattern.for_entry_blocks(out, heads, |rows, out| softmax_rows(&self.pattern, rows, &scores, heads, out));
            };
            // SAFETY: the rows have all entries, and each is written.
            Ok(unsafe { Tensor::filled::<T>((entries, heads), fill) })
        })
    }

    /// `p · (g - Σ p g)` over each row.
    fn backward(&self, at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        let (p, weighted) = (at.output, at.output.mul(grad)?);
        let of_row = scatter_rows(&self.pattern, &weighted)?
            .index_select(&Tensor::indices(self.pattern.entry_rows()), 0)?;
        Ok(vec![Some(weighted.sub(&p.mul(&of_row)?)?)])
    }

    fn accumulate(&self, at: &Computed<'_>, grad: Tensor, to: &mut Sinks<'_>) -> Result<()> {
        let (_, heads) = at.output.dims2()?;
        by_precision!(self.name(), grad.dtype(), T => {
            let (p, g) = (at.output.values::<T>()?, grad.values::<T>()?);
            // SAFETY: the rows have all entries, and each is written.
            unsafe {
                to.fill::<T>(0, |target| {
                    target.for_entry_blocks(&self.pattern, heads, |rows, out| {
                        softmax_grad_rows(&self.pattern, rows, &p, &g, heads, out);
                    });
                })
            }
        })
    }
}

simd_dispatch! {
    /// Computes `p · (g - Σ p g)` over each row, written or added; the heads of an entry are
    /// computed together.
    fn softmax_grad_rows<T: Float>(
        pattern: &Pattern,
        rows: Range<usize>,
        p: &[T],
        g: &[T],
        heads: usize,
        out: Target<'_, T>,
    ) {
        let mut out = out;
        let base = pattern.offsets()[rows.start] * heads;
        let step = heads.max(1);
        let mut means = vec![T::ZERO; heads];
        for row in rows {
            let entries = pattern.row(row).start * heads..pattern.row(row).end * heads;
            let (p, g) = (&p[entries.clone()], &g[entries.clone()]);
            let mut out = out.part(entries.start - base..entries.end - base);
            means.fill(T::ZERO);
            for (p, g) in p.chunks_exact(step).zip(g.chunks_exact(step)) {
                means.iter_mut().zip(p).zip(g).for_each(|((mean, p), g)| *mean += *p * *g);
            }
            for (i, (p, g)) in p.chunks_exact(step).zip(g.chunks_exact(step)).enumerate() {
                let products = p.iter().zip(g).zip(&means).map(|((p, g), mean)| *p * (*g - *mean));
                out.part(i * step..(i + 1) * step).add(products);
            }
        }
    }
}

/// Returns the row of `x` for the column of each entry: `[entries, width]`. Its gradient is
/// [`scatter_rows`] transposed.
pub fn gather_cols(pattern: &Arc<Pattern>, x: &Tensor) -> Result<Tensor> {
    let k = pattern.num_entries();
    let one_per_row = Pattern::new(
        pattern.num_cols(),
        (0..=k).collect(),
        pattern.indices().to_vec(),
    );
    Operator::from_pattern(Arc::new(one_per_row)).apply(x)
}

/// Sums `x` (`[entries, width]`) over each row's entries: `[rows, width]`.
pub fn scatter_rows(pattern: &Arc<Pattern>, x: &Tensor) -> Result<Tensor> {
    check_entries("scatter rows", pattern, x)?;
    let k = pattern.num_entries();
    let entries_as_cols = Pattern::new(k, pattern.offsets().to_vec(), (0..k as u32).collect());
    Operator::from_pattern(Arc::new(entries_as_cols)).apply(x)
}

/// Extreme value of each row: maximum or minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

/// Computes the largest or smallest value over the neighbours of each row, column by column; zero
/// for a row without entries. The first of equal values in the row takes the whole gradient. If a
/// value is NaN, the result is NaN.
pub fn segment_extreme(pattern: &Arc<Pattern>, x: &Tensor, which: Extreme) -> Result<Tensor> {
    let (rows, width) = x.dims2()?;
    if rows != pattern.num_cols() {
        bail!(
            "segment extreme: {rows} rows for {} columns",
            pattern.num_cols()
        );
    }
    let mut selected = vec![NONE; pattern.num_rows() * width];
    by_precision!("segment extreme", x.dtype(), T => {
        let x = x.values::<T>()?;
        pattern.for_row_blocks(&mut selected, width, |rows, selected| {
            for (row, selected) in rows.zip(selected.chunks_exact_mut(width.max(1))) {
                for (c, selected) in selected.iter_mut().enumerate() {
                    *selected = extreme(pattern, which, row, &x[..], (width, c)).unwrap_or(NONE);
                }
            }
        });
    });
    apply(
        SelectExtremes(Selected {
            pattern: pattern.clone(),
            of_row: Arc::new(selected),
            width,
        }),
        &[x],
    )
}

/// Computes the weighted median over the neighbours of each row, column by column: the smallest
/// value that, with the values below it, has half of the row's weight. `weights`, one for each
/// entry and at least zero, weight the neighbours; the result is zero for a row without weight. The
/// gradient goes to the selected value, not to the weights. O(entries · width · log entries of a
/// row).
pub fn segment_median(pattern: &Arc<Pattern>, weights: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (rows, width) = x.dims2()?;
    if rows != pattern.num_cols() || weights.elem_count() != pattern.num_entries() {
        let (cols, entries) = (pattern.num_cols(), pattern.num_entries());
        bail!(
            "segment median: {rows} rows and {} weights for {cols} columns and {entries} entries",
            weights.elem_count()
        );
    }
    let mut selected = vec![NONE; pattern.num_rows() * width];
    by_precision!("segment median", x.dtype(), T => {
        let (x, weights) = (x.values::<T>()?, weights.values::<T>()?);
        let wide = |value: T| T::wide(value);
        pattern.for_row_blocks(&mut selected, width, |rows, selected| {
            let mut counted: Vec<(u32, f64)> = Vec::new();
            let mut sorted: Vec<(T, u32, f64)> = Vec::new();
            for (row, selected) in rows.zip(selected.chunks_exact_mut(width.max(1))) {
                counted.clear();
                let entries = pattern.row(row).map(|k| (pattern.indices()[k], wide(weights[k])));
                counted.extend(entries.filter(|(_, weight)| *weight > 0.0));
                // Equal halves stay equal whatever rounding does to them.
                let half = 0.5 * (1.0 - 1e-5) * counted.iter().map(|(_, weight)| weight).sum::<f64>();
                for (c, selected) in selected.iter_mut().enumerate() {
                    sorted.clear();
                    sorted.extend(counted.iter().map(|&(col, weight)| (x[col as usize * width + c], col, weight)));
                    sorted.sort_unstable_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1)));
                    let mut below = 0.0;
                    let first = sorted.iter().find(|(_, _, weight)| {
                        below += weight;
                        below >= half
                    });
                    *selected = first.map_or(NONE, |(_, col, _)| *col);
                }
            }
        });
    });
    apply(
        SelectExtremes(Selected {
            pattern: pattern.clone(),
            of_row: Arc::new(selected),
            width,
        }),
        &[x],
    )
}

/// Marks a row without entries, from which nothing is selected.
const NONE: u32 = u32::MAX;

/// Returns the column of the largest or smallest value of a row, for feature `c` of `width`.
fn extreme<T: Float>(
    pattern: &Pattern,
    which: Extreme,
    row: usize,
    x: &[T],
    (width, c): (usize, usize),
) -> Option<u32> {
    let value = |col: u32| x[col as usize * width + c];
    let cols = &pattern.indices()[pattern.row(row)];
    cols.iter().copied().reduce(|best, col| {
        let better = match which {
            Extreme::Max => value(col) > value(best),
            Extreme::Min => value(col) < value(best),
        };
        if better || value(col).is_nan() {
            col
        } else {
            best
        }
    })
}

/// Column selected for each value of the result.
#[derive(Clone)]
struct Selected {
    pattern: Arc<Pattern>,
    of_row: Arc<Vec<u32>>,
    width: usize,
}

/// Selected value for each row and column.
pub(crate) struct SelectExtremes(Selected);

impl Operation for SelectExtremes {
    fn name(&self) -> &'static str {
        "segment extreme"
    }

    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let Selected {
            pattern,
            of_row,
            width,
        } = &self.0;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let x = inputs[0].values::<T>()?;
            let value = |(i, &selected): (usize, &u32)| if selected == NONE { 0.0 } else { x[selected as usize * width + i % width] };
            let values: Vec<T> = of_row.iter().enumerate().map(value).collect();
            Tensor::from_vec(values, (pattern.num_rows(), *width), inputs[0].device())
        })
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(apply(ScatterExtremes(self.0.clone()), &[grad])?)])
    }
}

/// Sum of each row's values at the selected columns: the adjoint of selecting.
pub(crate) struct ScatterExtremes(Selected);

impl Operation for ScatterExtremes {
    fn name(&self) -> &'static str {
        "gradient of segment extreme"
    }

    /// Each column sums the rows that may have selected it: no two threads write to one place.
    fn forward(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let Selected {
            pattern,
            of_row,
            width,
        } = &self.0;
        let width = *width;
        by_precision!(self.name(), inputs[0].dtype(), T => {
            let g = inputs[0].values::<T>()?;
            let transposed = &pattern.transposed().pattern;
            let mut out = vec![0 as T; pattern.num_cols() * width];
            transposed.for_row_blocks(&mut out, width, |cols, out| {
                for (col, out) in cols.zip(out.chunks_exact_mut(width.max(1))) {
                    for k in transposed.row(col) {
                        let row = transposed.indices()[k] as usize;
                        for c in 0..width {
                            if of_row[row * width + c] == col as u32 {
                                out[c] += g[row * width + c];
                            }
                        }
                    }
                }
            });
            Tensor::from_vec(out, (pattern.num_cols(), width), inputs[0].device())
        })
    }

    fn backward(&self, _at: &Computed<'_>, grad: &Tensor) -> Result<Gradients> {
        Ok(vec![Some(apply(SelectExtremes(self.0.clone()), &[grad])?)])
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::testing::{Example, Examples, random_pattern};

    /// Patterns with and without empty rows, of one row, of one column, and without entries.
    fn patterns() -> Vec<Arc<Pattern>> {
        let some = [
            (7, 6, 0.5, 3),
            (1, 5, 0.6, 1),
            (5, 1, 0.5, 2),
            (3, 3, 0.0, 1),
            (4, 9, 0.9, 6),
        ];
        some.map(|(r, c, density, seed)| random_pattern(r, c, density, seed).pattern().clone())
            .into()
    }

    impl Examples for SegmentSoftmax {
        fn examples() -> Vec<Example> {
            let mut examples = Vec::new();
            for p in patterns() {
                for heads in [1, 3] {
                    let (shape, p) = ([p.num_entries(), heads], p.clone());
                    examples.push(Example::of(&[&shape], move |v| segment_softmax(&p, &v[0])));
                }
            }
            examples
        }
    }

    impl Examples for SelectExtremes {
        fn examples() -> Vec<Example> {
            let on = |p: Arc<Pattern>| {
                let shape = [p.num_cols(), 3];
                [Extreme::Max, Extreme::Min].map(|which| {
                    let p = p.clone();
                    Example::of(&[&shape], move |v| segment_extreme(&p, &v[0], which))
                })
            };
            patterns().into_iter().flat_map(on).collect()
        }
    }

    impl Examples for ScatterExtremes {
        fn examples() -> Vec<Example> {
            let p = patterns().remove(0);
            let of_row: Vec<u32> = (0..7)
                .map(|row| p.indices()[p.row(row)].first().copied().unwrap_or(NONE))
                .collect();
            let selected = Selected {
                pattern: p,
                of_row: Arc::new(of_row),
                width: 1,
            };
            vec![Example::of(&[&[7, 1]], move |v| {
                apply(ScatterExtremes(selected.clone()), &[&v[0]])
            })]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::testing::{check_gradients, random, random_pattern};

    #[test]
    fn softmax_rows_sum_to_one_and_survive_large_scores() {
        let op = random_pattern(8, 8, 0.4, 1);
        let scores = (random(&[op.num_entries(), 3], 2) * 200.0).unwrap();
        let p = segment_softmax(op.pattern(), &scores).unwrap();
        let sums = scatter_rows(op.pattern(), &p)
            .unwrap()
            .to_vec2::<f32>()
            .unwrap();
        for (row, sums) in sums.iter().enumerate() {
            let expected = if op.pattern().row(row).is_empty() {
                0.0
            } else {
                1.0
            };
            assert!(
                sums.iter().all(|s| (s - expected).abs() < 1e-5),
                "row {row}: {sums:?}"
            );
        }
    }

    #[test]
    fn gather_and_scatter_by_hand() {
        let p = Arc::new(Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]));
        let x = Tensor::new(&[[1f32, 10.0], [2.0, 20.0], [3.0, 30.0]], &Device::Cpu).unwrap();
        let gathered = gather_cols(&p, &x).unwrap();
        assert_eq!(
            gathered.to_vec2::<f32>().unwrap(),
            [[1.0, 10.0], [3.0, 30.0], [2.0, 20.0]]
        );
        let scattered = scatter_rows(&p, &gathered).unwrap();
        assert_eq!(
            scattered.to_vec2::<f32>().unwrap(),
            [[4.0, 40.0], [0.0, 0.0], [2.0, 20.0]]
        );
    }

    #[test]
    fn extremes_by_hand() {
        let p = Arc::new(Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]));
        let x = Tensor::new(&[[1f32, 40.0], [2.0, 20.0], [3.0, 30.0]], &Device::Cpu).unwrap();
        let rows = |which| {
            segment_extreme(&p, &x, which)
                .unwrap()
                .to_vec2::<f32>()
                .unwrap()
        };
        assert_eq!(rows(Extreme::Max), [[3.0, 40.0], [0.0, 0.0], [2.0, 20.0]]);
        assert_eq!(rows(Extreme::Min), [[1.0, 30.0], [0.0, 0.0], [2.0, 20.0]]);
    }

    #[test]
    fn a_nan_among_the_values_is_the_extreme() {
        let p = Arc::new(Pattern::new(3, vec![0, 3, 5], vec![0, 1, 2, 0, 2]));
        for at in 0..3 {
            let x: Vec<f32> = (0..3)
                .map(|i| if i == at { f32::NAN } else { i as f32 })
                .collect();
            let x = Tensor::from_vec(x, (3, 1), &Device::Cpu).unwrap();
            for which in [Extreme::Max, Extreme::Min] {
                let y = segment_extreme(&p, &x, which)
                    .unwrap()
                    .flatten_all()
                    .unwrap()
                    .to_vec1::<f32>()
                    .unwrap();
                assert_eq!(
                    [y[0].is_nan(), y[1].is_nan()],
                    [true, at != 1],
                    "{which:?}, {at}"
                );
            }
        }
    }

    #[test]
    fn gradients() {
        let op = random_pattern(7, 6, 0.5, 3);
        let p = op.pattern();
        check_gradients(&[random(&[op.num_entries(), 2], 4)], |v| {
            segment_softmax(p, &v[0])
        });
        check_gradients(&[random(&[6, 3], 5)], |v| gather_cols(p, &v[0]));
        check_gradients(&[random(&[op.num_entries(), 3], 6)], |v| {
            scatter_rows(p, &v[0])
        });
        // Values far apart, so that a step never changes the selected value.
        let spread: Vec<f32> = (0..18).map(|i| ((i * 7) % 18) as f32 * 0.1).collect();
        let spread = Tensor::from_vec(spread, (6, 3), &Device::Cpu).unwrap();
        for which in [Extreme::Max, Extreme::Min] {
            check_gradients(std::slice::from_ref(&spread), |v| {
                segment_extreme(p, &v[0], which)
            });
        }
    }
}
