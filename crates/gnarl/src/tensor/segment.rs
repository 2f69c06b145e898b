//! Operations over the entries of each row: softmax, extremes, and moving values between nodes and entries.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor, bail};

use super::operator::Operator;
use super::pattern::Pattern;
use super::{floats, matrix_shape};

/// Softmax of `scores` (`[entries, heads]`) over the entries of each row, head by head.
pub fn segment_softmax(pattern: &Arc<Pattern>, scores: &Tensor) -> Result<Tensor> {
    check_entries("segment softmax", pattern, scores)?;
    scores.contiguous()?.apply_op1(SegmentSoftmax { pattern: pattern.clone() })
}

fn check_entries(op: &str, pattern: &Pattern, x: &Tensor) -> Result<usize> {
    let (entries, width) = x.dims2()?;
    if entries != pattern.num_entries() {
        bail!("{op}: {entries} rows for {} entries", pattern.num_entries());
    }
    Ok(width)
}

struct SegmentSoftmax {
    pattern: Arc<Pattern>,
}

impl CustomOp1 for SegmentSoftmax {
    fn name(&self) -> &'static str {
        "segment softmax"
    }

    fn cpu_fwd(&self, scores: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, heads) = matrix_shape(self.name(), layout)?;
        let scores = floats(self.name(), scores, layout)?;
        let mut out = vec![0f32; scores.len()];
        self.pattern.for_entry_blocks(&mut out, heads, |rows, out| {
            let base = self.pattern.offsets()[rows.start];
            for row in rows {
                let entries = self.pattern.row(row);
                for head in 0..heads {
                    let score = |k: usize| scores[k * heads + head];
                    let largest = entries.clone().map(score).fold(f32::NEG_INFINITY, f32::max);
                    let mut total = 0f32;
                    for k in entries.clone() {
                        let e = (score(k) - largest).exp();
                        out[(k - base) * heads + head] = e;
                        total += e;
                    }
                    for k in entries.clone() {
                        out[(k - base) * heads + head] /= total;
                    }
                }
            }
        });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _scores: &Tensor, result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let op = SegmentSoftmaxGrad { pattern: self.pattern.clone() };
        Ok(Some(result.apply_op2_no_bwd(&grad.contiguous()?, &op)?))
    }
}

/// `p · (g - Σ p g)` over each row.
struct SegmentSoftmaxGrad {
    pattern: Arc<Pattern>,
}

impl CustomOp2 for SegmentSoftmaxGrad {
    fn name(&self) -> &'static str {
        "gradient of segment softmax"
    }

    fn cpu_fwd(&self, p: &CpuStorage, lp: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, heads) = matrix_shape(self.name(), lp)?;
        let (p, g) = (floats(self.name(), p, lp)?, floats(self.name(), g, lg)?);
        let mut out = vec![0f32; p.len()];
        self.pattern.for_entry_blocks(&mut out, heads, |rows, out| {
            let base = self.pattern.offsets()[rows.start];
            for row in rows {
                let entries = self.pattern.row(row);
                for head in 0..heads {
                    let mean: f32 = entries.clone().map(|k| p[k * heads + head] * g[k * heads + head]).sum();
                    for k in entries.clone() {
                        let at = k * heads + head;
                        out[(k - base) * heads + head] = p[at] * (g[at] - mean);
                    }
                }
            }
        });
        Ok((CpuStorage::F32(out), lp.shape().clone()))
    }
}

/// For each entry the row of `x` that its column names: `[entries, width]`. Its gradient is [`scatter_rows`] transposed.
pub fn gather_cols(pattern: &Arc<Pattern>, x: &Tensor) -> Result<Tensor> {
    let k = pattern.num_entries();
    let one_per_row = Pattern::new(pattern.num_cols(), (0..=k).collect(), pattern.indices().to_vec());
    Operator::from_pattern(Arc::new(one_per_row)).apply(x)
}

/// The sum over each row's entries of `x` (`[entries, width]`): `[rows, width]`.
pub fn scatter_rows(pattern: &Arc<Pattern>, x: &Tensor) -> Result<Tensor> {
    check_entries("scatter rows", pattern, x)?;
    let k = pattern.num_entries();
    let entries_as_cols = Pattern::new(k, pattern.offsets().to_vec(), (0..k as u32).collect());
    Operator::from_pattern(Arc::new(entries_as_cols)).apply(x)
}

/// Which end of each row's values is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// The largest or smallest value over the neighbours of each row, column by column; zero for a row without entries.
/// Of equals the first in the row takes the whole gradient; a NaN among them is the result.
pub fn segment_extreme(pattern: &Arc<Pattern>, x: &Tensor, which: Extreme) -> Result<Tensor> {
    x.contiguous()?.apply_op1(SegmentExtreme { pattern: pattern.clone(), which })
}

struct SegmentExtreme {
    pattern: Arc<Pattern>,
    which: Extreme,
}

impl SegmentExtreme {
    /// The column of the winning entry of a row, for one feature.
    fn winner(&self, row: usize, x: &[f32], width: usize, c: usize) -> Option<u32> {
        let value = |col: u32| x[col as usize * width + c];
        let cols = &self.pattern.indices()[self.pattern.row(row)];
        cols.iter().copied().reduce(|best, col| {
            let better = match self.which {
                Extreme::Max => value(col) > value(best),
                Extreme::Min => value(col) < value(best),
            };
            if better || value(col).is_nan() { col } else { best }
        })
    }
}

impl CustomOp1 for SegmentExtreme {
    fn name(&self) -> &'static str {
        "segment extreme"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = matrix_shape(self.name(), layout)?;
        if rows != self.pattern.num_cols() {
            bail!("{}: {rows} rows for {} columns", self.name(), self.pattern.num_cols());
        }
        let x = floats(self.name(), x, layout)?;
        let mut out = vec![0f32; self.pattern.num_rows() * width];
        self.pattern.for_row_blocks(&mut out, width, |rows, out| {
            for (row, out) in rows.zip(out.chunks_exact_mut(width.max(1))) {
                for (c, out) in out.iter_mut().enumerate() {
                    *out = self.winner(row, x, width, c).map_or(0.0, |col| x[col as usize * width + c]);
                }
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((self.pattern.num_rows(), width))))
    }

    fn bwd(&self, x: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let op = SegmentExtremeGrad(SegmentExtreme { pattern: self.pattern.clone(), which: self.which });
        Ok(Some(x.apply_op2_no_bwd(&grad.contiguous()?, &op)?))
    }
}

struct SegmentExtremeGrad(SegmentExtreme);

impl CustomOp2 for SegmentExtremeGrad {
    fn name(&self) -> &'static str {
        "gradient of segment extreme"
    }

    fn cpu_fwd(&self, x: &CpuStorage, lx: &Layout, g: &CpuStorage, lg: &Layout) -> Result<(CpuStorage, Shape)> {
        let (_, width) = matrix_shape(self.name(), lx)?;
        let (x, g) = (floats(self.name(), x, lx)?, floats(self.name(), g, lg)?);
        let pattern = &self.0.pattern;
        // Winners by output row, then each input row collects from the rows it may have won: no two threads write alike.
        let mut winners = vec![u32::MAX; pattern.num_rows() * width];
        pattern.for_row_blocks(&mut winners, width, |rows, winners| {
            for (row, winners) in rows.zip(winners.chunks_exact_mut(width.max(1))) {
                for (c, winner) in winners.iter_mut().enumerate() {
                    *winner = self.0.winner(row, x, width, c).unwrap_or(u32::MAX);
                }
            }
        });
        let transposed = &pattern.transposed().pattern;
        let mut out = vec![0f32; x.len()];
        transposed.for_row_blocks(&mut out, width, |cols, out| {
            for (col, out) in cols.zip(out.chunks_exact_mut(width.max(1))) {
                for k in transposed.row(col) {
                    let row = transposed.indices()[k] as usize;
                    for c in 0..width {
                        if winners[row * width + c] == col as u32 {
                            out[c] += g[row * width + c];
                        }
                    }
                }
            }
        });
        Ok((CpuStorage::F32(out), lx.shape().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::testing::{check_gradients, random, random_pattern};
    use candle_core::Device;

    #[test]
    fn softmax_rows_sum_to_one_and_survive_large_scores() {
        let op = random_pattern(8, 8, 0.4, 1);
        let scores = (random(&[op.num_entries(), 3], 2) * 200.0).unwrap();
        let p = segment_softmax(op.pattern(), &scores).unwrap();
        let sums = scatter_rows(op.pattern(), &p).unwrap().to_vec2::<f32>().unwrap();
        for (row, sums) in sums.iter().enumerate() {
            let expected = if op.pattern().row(row).is_empty() { 0.0 } else { 1.0 };
            assert!(sums.iter().all(|s| (s - expected).abs() < 1e-5), "row {row}: {sums:?}");
        }
    }

    #[test]
    fn gather_and_scatter_by_hand() {
        let p = Arc::new(Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]));
        let x = Tensor::new(&[[1f32, 10.0], [2.0, 20.0], [3.0, 30.0]], &Device::Cpu).unwrap();
        let gathered = gather_cols(&p, &x).unwrap();
        assert_eq!(gathered.to_vec2::<f32>().unwrap(), [[1.0, 10.0], [3.0, 30.0], [2.0, 20.0]]);
        let scattered = scatter_rows(&p, &gathered).unwrap();
        assert_eq!(scattered.to_vec2::<f32>().unwrap(), [[4.0, 40.0], [0.0, 0.0], [2.0, 20.0]]);
    }

    #[test]
    fn extremes_by_hand() {
        let p = Arc::new(Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]));
        let x = Tensor::new(&[[1f32, 40.0], [2.0, 20.0], [3.0, 30.0]], &Device::Cpu).unwrap();
        let rows = |which| segment_extreme(&p, &x, which).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(rows(Extreme::Max), [[3.0, 40.0], [0.0, 0.0], [2.0, 20.0]]);
        assert_eq!(rows(Extreme::Min), [[1.0, 30.0], [0.0, 0.0], [2.0, 20.0]]);
    }

    #[test]
    fn a_nan_among_the_values_is_the_extreme() {
        let p = Arc::new(Pattern::new(3, vec![0, 3, 5], vec![0, 1, 2, 0, 2]));
        for at in 0..3 {
            let x: Vec<f32> = (0..3).map(|i| if i == at { f32::NAN } else { i as f32 }).collect();
            let x = Tensor::from_vec(x, (3, 1), &Device::Cpu).unwrap();
            for which in [Extreme::Max, Extreme::Min] {
                let y = segment_extreme(&p, &x, which).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert_eq!([y[0].is_nan(), y[1].is_nan()], [true, at != 1], "{which:?}, {at}");
            }
        }
    }

    #[test]
    fn gradients() {
        let op = random_pattern(7, 6, 0.5, 3);
        let p = op.pattern();
        check_gradients(&[random(&[op.num_entries(), 2], 4)], |v| segment_softmax(p, &v[0]));
        check_gradients(&[random(&[6, 3], 5)], |v| gather_cols(p, &v[0]));
        check_gradients(&[random(&[op.num_entries(), 3], 6)], |v| scatter_rows(p, &v[0]));
        // Values far apart, so that a step never changes the winner.
        let spread: Vec<f32> = (0..18).map(|i| ((i * 7) % 18) as f32 * 0.1).collect();
        let spread = Tensor::from_vec(spread, (6, 3), &Device::Cpu).unwrap();
        for which in [Extreme::Max, Extreme::Min] {
            check_gradients(std::slice::from_ref(&spread), |v| segment_extreme(p, &v[0], which));
        }
    }
}
