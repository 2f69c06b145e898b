//! Rows, blocks and sums of an operator, as used by batches of graphs and receptive fields.

use std::ops::Range;
use std::sync::Arc;

use super::constant::Constants;
use super::{Operator, Values};
use crate::array::Tensor;
use crate::element::Device;
use crate::error::{Result, bail};
use crate::pattern::{ColumnNumbers, Pattern};

impl Operator {
    /// Returns rows `order[..rows]` of the operator, with columns numbered by their place in
    /// `order`. The first `rows` of these nodes aggregate over the first `cols`, which must include
    /// all their neighbours. Entries keep their order within a row.
    pub fn restricted(&self, order: &[u32], rows: usize, cols: usize) -> Result<Self> {
        self.rows_by(
            &order[..rows],
            &ColumnNumbers::new(&order[..cols], self.num_cols()),
        )
    }

    /// Returns these rows, in this order.
    pub fn select_rows(&self, rows: &[u32]) -> Result<Self> {
        self.rows_by(rows, &ColumnNumbers::same(self.num_cols()))
    }

    /// Returns the first `rows` rows. A constant operator keeps the first such part, since a
    /// network requests it again.
    pub fn head(&self, rows: usize) -> Result<Self> {
        let make = || self.select_rows(&(0..rows as u32).collect::<Vec<_>>());
        match &self.values {
            Values::Ones(c) | Values::Constant(c) => match c.head.get() {
                Some(head) if head.num_rows() == rows => Ok(head.clone()),
                Some(_) => make(),
                None => {
                    let head = make()?;
                    // If another thread was first with another part, that part stays.
                    let _ = c.head.set(head.clone());
                    Ok(head)
                }
            },
            Values::Variable(_)
            | Values::AdditionalPairs(..)
            | Values::Factored(_)
            | Values::LowRank(_) => make(),
        }
    }

    /// Tests if a constant operator is its own transpose and stores the result. Its blocks, and
    /// gradients through them, then never need a transposition. Any other operator stays as it is.
    /// O(entries).
    pub fn with_symmetry_detected(self) -> Self {
        let (Values::Ones(c) | Values::Constant(c)) = &self.values else {
            return self;
        };
        let transposed = self.pattern.transposed();
        let is_symmetric = transposed.pattern.offsets() == self.pattern.offsets()
            && transposed.pattern.indices() == self.pattern.indices()
            && transposed
                .entry_of
                .iter()
                .zip(&c.values)
                .all(|(&k, v)| c.values[k as usize] == *v);
        if !is_symmetric {
            return self;
        }
        let noted = Constants::with_symmetry(c.values.clone(), true);
        let values = if self.is_pattern_only() {
            Values::Ones(noted)
        } else {
            Values::Constant(noted)
        };
        Self {
            pattern: self.pattern,
            values,
        }
    }

    /// Returns the diagonal blocks of these ranges of nodes, in order: a batch of graphs from an
    /// operator over all of them. Fails if a block has an entry outside itself. O(rows + entries).
    pub fn diagonal_blocks(&self, ranges: &[Range<usize>]) -> Result<Self> {
        self.ranges(ranges, true)
    }

    /// Returns the rows of these ranges, in order, with unchanged columns.
    pub fn row_ranges(&self, ranges: &[Range<usize>]) -> Result<Self> {
        self.ranges(ranges, false)
    }

    /// Returns the rows of ranges; for diagonal blocks, columns count from the first node of the
    /// first block.
    fn ranges(&self, ranges: &[Range<usize>], as_blocks: bool) -> Result<Self> {
        let p = &*self.pattern;
        if let Some(range) = ranges
            .iter()
            .find(|r| r.start > r.end || r.end > p.num_rows())
        {
            bail!(
                "operator: rows {} to {} of {}",
                range.start,
                range.end,
                p.num_rows()
            );
        }
        let entries = |range: &Range<usize>| p.offsets()[range.start]..p.offsets()[range.end];
        let rows = ranges.iter().map(Range::len).sum::<usize>();
        let count = ranges
            .iter()
            .map(|range| entries(range).len())
            .sum::<usize>();
        let (mut offsets, mut indices) = (Vec::with_capacity(rows + 1), Vec::with_capacity(count));
        offsets.push(0);
        for range in ranges {
            let (from, to, first) = (p.offsets()[range.start], indices.len(), offsets.len() - 1);
            offsets.extend(
                p.offsets()[range.start + 1..=range.end]
                    .iter()
                    .map(|&o| o - from + to),
            );
            let columns = &p.indices()[entries(range)];
            if !as_blocks {
                indices.extend_from_slice(columns);
                continue;
            }
            if let Some(c) = columns.iter().find(|&&c| !range.contains(&(c as usize))) {
                bail!(
                    "operator: the block of nodes {} to {} has an entry of node {c} beyond itself",
                    range.start,
                    range.end
                );
            }
            indices.extend(
                columns
                    .iter()
                    .map(|&c| c - range.start as u32 + first as u32),
            );
        }
        let num_cols = if as_blocks { rows } else { self.num_cols() };
        // SAFETY: the offsets are those of valid rows, moved to follow each other. The indices are
        // those of valid rows, or lie in their block, as was checked, and then in the rows so far.
        let pattern = Arc::new(unsafe { Pattern::new_unchecked(num_cols, offsets, indices) });
        let picked = |values: &[f32]| {
            let mut out = Vec::with_capacity(count);
            ranges
                .iter()
                .for_each(|range| out.extend_from_slice(&values[entries(range)]));
            out
        };
        let values = match &self.values {
            Values::Ones(_) => return Ok(Self::from_pattern(pattern)),
            Values::Constant(c) => Values::Constant(Constants::with_symmetry(
                picked(&c.values),
                c.symmetric && as_blocks,
            )),
            Values::LowRank(_) => return without_entries(),
            Values::AdditionalPairs(..) => {
                bail!("operator: an operator with additional pairs has no rows or blocks")
            }
            Values::Variable(_) | Values::Factored(_) => {
                let entries: Vec<u32> = ranges
                    .iter()
                    .flat_map(|range| entries(range).map(|k| k as u32))
                    .collect();
                let entries = Tensor::from_vec(entries, count, &Device::Cpu)?;
                Values::Variable(self.values()?.index_select(&entries, 0)?)
            }
        };
        Ok(Self { pattern, values })
    }

    /// Returns the operator plus the identity, so that every node counts itself once more; `None`
    /// if its values may take gradients. Computed once and kept.
    pub fn with_self_loops(&self) -> Option<Self> {
        let (Values::Ones(c) | Values::Constant(c)) = &self.values else {
            return None;
        };
        let make = || {
            let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in 0..self.num_rows() {
                let (entries, first) = (self.pattern.row(row), indices.len());
                indices.extend_from_slice(&self.pattern.indices()[entries.clone()]);
                values.extend_from_slice(&c.values[entries]);
                match indices[first..].iter().position(|&col| col as usize == row) {
                    Some(own) => values[first + own] += 1.0,
                    None => {
                        indices.push(row as u32);
                        values.push(1.0);
                    }
                }
                offsets.push(indices.len());
            }
            let symmetric = c.symmetric && self.num_rows() == self.num_cols();
            let pattern = Arc::new(Pattern::new(self.num_cols(), offsets, indices));
            Self {
                pattern,
                values: Values::Constant(Constants::with_symmetry(values, symmetric)),
            }
        };
        Some(c.with_self_loops.get_or_init(make).clone())
    }

    fn rows_by(&self, rows: &[u32], columns: &ColumnNumbers) -> Result<Self> {
        let (pattern, entries) = self.pattern.restricted(rows, columns)?;
        let pattern = Arc::new(pattern);
        let values = match &self.values {
            Values::Ones(_) => return Ok(Self::from_pattern(pattern)),
            Values::Constant(c) => Values::Constant(Constants::new(
                entries.iter().map(|&k| c.values[k as usize]).collect(),
            )),
            Values::LowRank(_) => return without_entries(),
            Values::AdditionalPairs(..) => {
                bail!("operator: an operator with additional pairs has no rows or blocks")
            }
            Values::Variable(_) | Values::Factored(_) => {
                let entries = Tensor::from_slice(&entries, entries.len(), &Device::Cpu)?;
                Values::Variable(self.values()?.index_select(&entries, 0)?)
            }
        };
        Ok(Self { pattern, values })
    }

    /// Stores the result of [`with_self_loops`](Self::with_self_loops), if it is known already.
    #[doc(hidden)]
    pub fn cache_with_self_loops(&self, with_self_loops: Operator) {
        if let Some(own) = self.constants() {
            let _ = own.with_self_loops.set(with_self_loops);
        }
    }
}

fn without_entries() -> Result<Operator> {
    bail!(
        "operator: an operator of low rank has no rows or blocks: every node is connected to every other"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Var;
    use crate::testing::{assert_close, dense, random, random_pattern};

    #[test]
    fn parts_of_an_operator() {
        let op = random_pattern(6, 6, 0.4, 1);
        let m = dense(&op, 0, 1).to_vec2::<f32>().unwrap();
        let rows = |op: &Operator| dense(op, 0, 1).to_vec2::<f32>().unwrap();
        assert_eq!(
            rows(&op.select_rows(&[4, 1]).unwrap()),
            [m[4].clone(), m[1].clone()]
        );
        for size in [3, 3, 2] {
            assert_eq!(
                rows(&op.head(size).unwrap()),
                m[..size],
                "the cached part is not returned for another"
            );
        }
        // Every node in the order 5, 4, …, 0: rows and columns are reversed.
        let reversed = op.restricted(&[5, 4, 3, 2, 1, 0], 2, 6).unwrap();
        let reversed_row = |r: usize| m[r].iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(rows(&reversed), [reversed_row(5), reversed_row(4)]);
        let variable = op.with_values(&op.values().unwrap()).unwrap();
        assert_eq!(
            rows(&variable.restricted(&[5, 4, 3, 2, 1, 0], 2, 6).unwrap()),
            [reversed_row(5), reversed_row(4)]
        );
        let path = Operator::from_pattern(Arc::new(Pattern::new(
            3,
            vec![0, 1, 3, 4],
            vec![1, 0, 2, 1],
        )));
        let e = path.restricted(&[1, 0, 2], 1, 2).unwrap_err().to_string();
        assert!(e.contains("node 2 is a neighbour"), "{e}");
    }

    /// Two triangles of different weights and an isolated node, as one operator.
    fn three_blocks() -> Operator {
        let indices = vec![1, 2, 0, 2, 0, 1, 4, 5, 3, 5, 3, 4];
        let values: Vec<f32> = (0..12)
            .map(|k| {
                if k < 6 {
                    2.0
                } else {
                    [3.0, 4.0, 3.0, 5.0, 4.0, 5.0][k - 6]
                }
            })
            .collect();
        Operator::from_parts(
            Pattern::new(7, vec![0, 2, 4, 6, 8, 10, 12, 12], indices),
            values,
        )
    }

    #[test]
    fn blocks_are_parts_of_the_whole() {
        let op = three_blocks();
        let m = dense(&op, 0, 1).to_vec2::<f32>().unwrap();
        let ranges = [3..6, 6..7, 3..3, 0..3];
        let nodes: Vec<usize> = ranges.iter().cloned().flatten().collect();
        let expected: Vec<Vec<f32>> = nodes
            .iter()
            .map(|&r| nodes.iter().map(|&c| m[r][c]).collect())
            .collect();
        let variable = op.with_values(&op.values().unwrap()).unwrap();
        let gradients = |op: &Operator| {
            let x = Var::from_tensor(&random(&[7, 3], 1)).unwrap();
            let y = (op.apply(&x).unwrap() * random(&[7, 3], 2)).unwrap();
            y.sum_all()
                .unwrap()
                .backward()
                .unwrap()
                .get(&x)
                .unwrap()
                .clone()
        };
        let noted = op.clone().with_symmetry_detected();
        for op in [&op, &noted, &variable] {
            let blocks = op.diagonal_blocks(&ranges).unwrap();
            assert_eq!(dense(&blocks, 0, 1).to_vec2::<f32>().unwrap(), expected);
            let by_transposing = variable.diagonal_blocks(&ranges).unwrap();
            assert_close(&gradients(&blocks), &gradients(&by_transposing));
            let own = blocks.with_self_loops();
            assert!(own.is_none_or(|own| dense(&own, 0, 1).to_vec2::<f32>().unwrap()[0][0] == 1.0));
            let rows = dense(&op.row_ranges(&ranges).unwrap(), 0, 1)
                .to_vec2::<f32>()
                .unwrap();
            assert_eq!(
                rows,
                nodes.iter().map(|&r| m[r].clone()).collect::<Vec<_>>()
            );
        }
        let is_noted = |op: &Operator| matches!(&op.values, Values::Constant(c) if c.symmetric);
        assert!(is_noted(&noted.diagonal_blocks(&ranges).unwrap()) && !is_noted(&op));
        assert!(
            !is_noted(&noted.row_ranges(&ranges).unwrap()),
            "rows of a symmetric matrix are not symmetric"
        );
        assert!(
            !is_noted(&random_pattern(9, 9, 0.4, 1).with_symmetry_detected()),
            "its values differ across the diagonal"
        );
        assert!(
            op.diagonal_blocks(&[0..2, 3..6])
                .unwrap_err()
                .to_string()
                .contains("an entry of node 2 beyond itself")
        );
        assert!(
            op.diagonal_blocks(&[0..3, 6..8])
                .unwrap_err()
                .to_string()
                .contains("rows 6 to 8 of 7")
        );
        assert_eq!(op.diagonal_blocks(&[]).unwrap().num_rows(), 0);
    }

    #[test]
    fn the_identity_is_added_once() {
        // Row 0 has its own entry already; the operator is wider than high.
        let op = Operator::from_pattern(Arc::new(Pattern::new(3, vec![0, 2, 3], vec![0, 2, 0])));
        let rows = dense(&op.with_self_loops().unwrap(), 0, 1)
            .to_vec2::<f32>()
            .unwrap();
        assert_eq!(rows, [[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]);
        assert!(
            op.with_values(&op.values().unwrap())
                .unwrap()
                .with_self_loops()
                .is_none()
        );
    }
}
