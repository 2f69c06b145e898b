//! Sparsity pattern of a matrix: rows, columns, and how the rows are distributed over threads.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gnarl_graph::CsrMatrix;
use rayon::prelude::*;

use crate::error::{Result, bail};

/// Sparsity pattern of an operator or of sparse features, in compressed rows.
///
/// Kernels work on blocks of rows with about equal numbers of entries. The blocks depend on the
/// pattern alone, and one thread computes every output row in one order: results are the same for
/// any number of threads.
#[derive(Debug, Clone)]
pub struct Pattern {
    num_cols: usize,
    offsets: Vec<usize>,
    /// Column indices, shared with the matrix of the pattern.
    indices: Arc<Vec<u32>>,
    blocks: Vec<usize>,
    transposed: OnceLock<Transposed>,
}

/// Transposed pattern, and the original entry of each of its entries.
#[derive(Debug, Clone)]
pub struct Transposed {
    /// Pattern with columns as rows.
    pub pattern: Arc<Pattern>,
    /// Entry `k` of the transposed pattern is entry `entry_of[k]` of the original.
    pub entry_of: Vec<u32>,
}

/// New numbering of columns.
#[derive(Debug)]
pub(crate) struct ColumnNumbers {
    of_column: Option<Vec<u32>>,
    count: usize,
}

impl ColumnNumbers {
    /// Numbers the columns `chosen`, in their order, of `num_cols`.
    pub fn new(chosen: &[u32], num_cols: usize) -> Self {
        let mut numbers = vec![u32::MAX; num_cols];
        for (i, &column) in chosen.iter().enumerate() {
            numbers[column as usize] = i as u32;
        }
        Self {
            of_column: Some(numbers),
            count: chosen.len(),
        }
    }

    /// Keeps the numbers of all columns.
    pub fn same(num_cols: usize) -> Self {
        Self {
            of_column: None,
            count: num_cols,
        }
    }

    fn of(&self, column: u32) -> Result<u32> {
        match self
            .of_column
            .as_ref()
            .map_or(column, |numbers| numbers[column as usize])
        {
            u32::MAX => bail!(
                "operator: node {column} is a neighbour, but not among the {} nodes chosen",
                self.count
            ),
            number => Ok(number),
        }
    }
}

/// Maximal number of blocks per pattern: enough to balance some dozens of threads.
const MAX_BLOCKS: usize = 128;
/// Entries plus rows below which a block is not worth a task of its own.
const MIN_BLOCK_WORK: usize = 1024;

/// Values touched below which another thread is assumed to cost more than it saves.
pub(crate) const MIN_PARALLEL_WORK: usize = 1 << 18;

impl Pattern {
    /// Returns the pattern of a sparse matrix.
    pub fn of<T: Copy>(matrix: &CsrMatrix<T>) -> Self {
        let offsets = matrix.offsets().iter().map(|&o| o as usize).collect();
        Self::sharing(matrix.num_cols(), offsets, matrix.indices_in_memory())
    }

    /// Returns true if the pattern was built from this matrix, or from one that shares its column
    /// indices.
    pub(crate) fn is_of<T: Copy>(&self, matrix: &CsrMatrix<T>) -> bool {
        std::ptr::eq(self.indices(), matrix.indices())
            && (self.num_cols, self.num_rows()) == (matrix.num_cols(), matrix.num_rows())
            && self
                .offsets
                .iter()
                .zip(matrix.offsets())
                .all(|(&here, &there)| here as u64 == there)
    }

    /// Builds a pattern from valid rows: offsets from 0 to the number of indices, indices below
    /// `num_cols`.
    ///
    /// # Panics
    /// Panics if they are not valid, or if there are 2^32 entries or more.
    pub fn new(num_cols: usize, offsets: Vec<usize>, indices: Vec<u32>) -> Self {
        Self::sharing(num_cols, offsets, indices.into())
    }

    fn sharing(num_cols: usize, offsets: Vec<usize>, indices: Arc<Vec<u32>>) -> Self {
        assert!(
            Self::is_valid(num_cols, &offsets, &indices),
            "pattern entries"
        );
        assert!(
            indices.len() < u32::MAX as usize,
            "a pattern holds fewer than 2^32 entries"
        );
        let blocks = balanced_blocks(&offsets);
        Self {
            num_cols,
            offsets,
            indices,
            blocks,
            transposed: OnceLock::new(),
        }
    }

    /// Builds a pattern from parts of a valid one, without the checks of [`new`](Self::new).
    ///
    /// # Safety
    /// The offsets rise from 0 to the number of indices, and every index is below `num_cols`:
    /// kernels read memory by them unchecked.
    pub(crate) unsafe fn new_unchecked(
        num_cols: usize,
        offsets: Vec<usize>,
        indices: Vec<u32>,
    ) -> Self {
        debug_assert!(
            Self::is_valid(num_cols, &offsets, &indices),
            "pattern entries"
        );
        assert!(
            indices.len() < u32::MAX as usize,
            "a pattern holds fewer than 2^32 entries"
        );
        let blocks = balanced_blocks(&offsets);
        Self {
            num_cols,
            offsets,
            indices: indices.into(),
            blocks,
            transposed: OnceLock::new(),
        }
    }

    fn is_valid(num_cols: usize, offsets: &[usize], indices: &[u32]) -> bool {
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&indices.len());
        ends && offsets.is_sorted() && indices.iter().all(|&c| (c as usize) < num_cols)
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the number of columns.
    pub fn num_cols(&self) -> usize {
        self.num_cols
    }

    /// Returns the number of entries.
    pub fn num_entries(&self) -> usize {
        self.indices.len()
    }

    /// Returns the row boundaries.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the column of each entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns the entries of a row.
    pub fn row(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }

    /// Returns the row of each entry.
    #[doc(hidden)]
    pub fn entry_rows(&self) -> Vec<u32> {
        (0..self.num_rows())
            .flat_map(|row| self.row(row).map(move |_| row as u32))
            .collect()
    }

    /// Returns these rows with renumbered columns, and the original entries. Entries keep their
    /// order within a row. Fails for a column without a new number.
    pub(crate) fn restricted(
        &self,
        rows: &[u32],
        columns: &ColumnNumbers,
    ) -> Result<(Pattern, Vec<u32>)> {
        let mut offsets = vec![0];
        let mut entries: Vec<u32> = Vec::new();
        for &row in rows {
            entries.extend(self.row(row as usize).map(|k| k as u32));
            offsets.push(entries.len());
        }
        let indices = entries
            .iter()
            .map(|&k| columns.of(self.indices[k as usize]))
            .collect::<Result<_>>()?;
        Ok((Pattern::new(columns.count, offsets, indices), entries))
    }

    /// Returns the transposed pattern, computed on first use and kept.
    pub fn transposed(&self) -> &Transposed {
        self.transposed.get_or_init(|| {
            let mut offsets = vec![0usize; self.num_cols + 1];
            for &c in self.indices.iter() {
                offsets[c as usize + 1] += 1;
            }
            for c in 0..self.num_cols {
                offsets[c + 1] += offsets[c];
            }
            let mut cursor = offsets.clone();
            let mut indices = vec![0u32; self.indices.len()];
            let mut entry_of = vec![0u32; self.indices.len()];
            for row in 0..self.num_rows() {
                for k in self.row(row) {
                    let slot = &mut cursor[self.indices[k] as usize];
                    indices[*slot] = row as u32;
                    entry_of[*slot] = k as u32;
                    *slot += 1;
                }
            }
            let pattern = Arc::new(Pattern::new(self.num_rows(), offsets, indices));
            Transposed { pattern, entry_of }
        })
    }

    /// Runs `work` on each block of rows in parallel, with the rows and their part of `out`
    /// (`width` values a row).
    pub fn for_row_blocks<T: Send>(
        &self,
        out: &mut [T],
        width: usize,
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        self.for_few_row_blocks(usize::MAX, out, width, work);
    }

    /// Runs [`for_row_blocks`](Self::for_row_blocks) on at most this many blocks.
    pub(crate) fn for_few_row_blocks<T: Send>(
        &self,
        at_most: usize,
        out: &mut [T],
        width: usize,
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        assert_eq!(out.len(), self.num_rows() * width, "output length");
        self.for_blocks(at_most, out, width, |rows| rows * width, work);
    }

    /// Runs `work` on each block of rows in parallel, with the rows and their entries' part of
    /// `out` (`width` values an entry).
    pub fn for_entry_blocks<T: Send>(
        &self,
        out: &mut [T],
        width: usize,
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        assert_eq!(out.len(), self.num_entries() * width, "output length");
        self.for_blocks(
            usize::MAX,
            out,
            width,
            |row| self.offsets[row] * width,
            work,
        );
    }

    /// Runs [`for_row_blocks`](Self::for_row_blocks) with two outputs of different widths.
    pub fn for_row_block_pairs<T: Send, U: Send>(
        &self,
        first: (&mut [T], usize),
        second: (&mut [U], usize),
        work: impl Fn(Range<usize>, &mut [T], &mut [U]) + Sync,
    ) {
        let ((mut a, a_width), (mut b, b_width)) = (first, second);
        assert!(
            a.len() == self.num_rows() * a_width && b.len() == self.num_rows() * b_width,
            "output lengths"
        );
        if self.runs_alone(a_width) {
            return work(0..self.num_rows(), a, b);
        }
        let mut parts = Vec::with_capacity(self.blocks.len());
        for bounds in self.blocks.windows(2) {
            let rows = bounds[1] - bounds[0];
            let ((a_part, a_rest), (b_part, b_rest)) = (
                a.split_at_mut(rows * a_width),
                b.split_at_mut(rows * b_width),
            );
            parts.push((bounds[0]..bounds[1], a_part, b_part));
            (a, b) = (a_rest, b_rest);
        }
        parts
            .into_par_iter()
            .for_each(|(rows, a, b)| work(rows, a, b));
    }

    /// Returns true if work of this width on every entry is too small for several threads.
    fn runs_alone(&self, width: usize) -> bool {
        self.blocks.len() <= 2 || (self.num_entries() + self.num_rows()) * width < MIN_PARALLEL_WORK
    }

    fn for_blocks<T: Send>(
        &self,
        at_most: usize,
        out: &mut [T],
        width: usize,
        position: impl Fn(usize) -> usize,
        work: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) {
        if self.runs_alone(width) {
            return work(0..self.num_rows(), out);
        }
        let mut parts = Vec::with_capacity(self.blocks.len());
        let mut rest = out;
        let count = self.blocks.len() - 1;
        for first in (0..count).step_by(count.div_ceil(at_most)) {
            let rows = self.blocks[first]..self.blocks[count.min(first + count.div_ceil(at_most))];
            let (part, tail) = rest.split_at_mut(position(rows.end) - position(rows.start));
            parts.push((rows, part));
            rest = tail;
        }
        parts
            .into_par_iter()
            .for_each(|(rows, part)| work(rows, part));
    }
}

/// Returns row boundaries of blocks with about equal entries plus rows.
fn balanced_blocks(offsets: &[usize]) -> Vec<usize> {
    let num_rows = offsets.len() - 1;
    let work_before = |row: usize| offsets[row] + row;
    let total = work_before(num_rows);
    let count = (total / MIN_BLOCK_WORK).clamp(1, MAX_BLOCKS);
    let mut blocks = vec![0];
    for b in 1..count {
        let goal = total * b / count;
        let rows: usize = partition_rows(num_rows, |row| work_before(row) < goal);
        if rows > *blocks.last().expect("never empty") && rows < num_rows {
            blocks.push(rows);
        }
    }
    blocks.push(num_rows);
    blocks
}

/// Returns the first row in `0..num_rows` for which `before` is false.
fn partition_rows(num_rows: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, num_rows);
    while low < high {
        let middle = (low + high) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_mirrors_every_entry() {
        let p = Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]);
        let t = p.transposed();
        assert_eq!(t.pattern.offsets(), [0, 1, 2, 3]);
        assert_eq!(t.pattern.indices(), [0, 2, 0]);
        assert_eq!(t.entry_of, [0, 2, 1]);
        assert_eq!((t.pattern.num_rows(), t.pattern.num_cols()), (3, 3));
    }

    #[test]
    fn blocks_cover_all_rows_once_and_share_the_work() {
        let offsets: Vec<usize> = (0..=20_000)
            .map(|r| if r > 500 { r + 50_000 } else { r })
            .collect();
        let blocks = balanced_blocks(&offsets);
        assert_eq!((blocks[0], *blocks.last().unwrap()), (0, 20_000));
        assert!(blocks.windows(2).all(|w| w[0] < w[1]));
        let heaviest = blocks
            .windows(2)
            .map(|w| offsets[w[1]] - offsets[w[0]])
            .max()
            .unwrap();
        assert!(
            heaviest <= 50_000 + 2 * 70_000 / 68,
            "{heaviest}: only the one heavy row stands out"
        );
        assert_eq!(balanced_blocks(&[0]), [0, 0]);
    }

    #[test]
    fn few_blocks_cover_all_rows_once() {
        let pattern = Pattern::new(1, (0..=20_000).collect(), vec![0; 20_000]);
        for at_most in [1, 2, 3, 8, usize::MAX] {
            let seen = std::sync::Mutex::new(Vec::new());
            let mut out = vec![0u8; 20_000 * 16];
            pattern.for_few_row_blocks(at_most, &mut out, 16, |rows, out| {
                assert_eq!(out.len(), rows.len() * 16);
                out.fill(1);
                seen.lock().unwrap().push(rows);
            });
            assert!(
                out.iter().all(|&x| x == 1) && seen.into_inner().unwrap().len() <= at_most,
                "{at_most}"
            );
        }
    }
}
