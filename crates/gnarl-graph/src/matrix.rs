//! The two matrix types of graphs: compressed sparse rows and dense rows.
//!
//! Features are `f32` and stay sparse or dense as they were loaded; operators are `f64` and always
//! sparse.

use crate::error::{Error, Result};
use crate::stored::Stored;

/// A compressed-sparse-row matrix: sorted column ids within each row, no duplicates.
///
/// Row `i` owns entries `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix<T> {
    num_cols: usize,
    offsets: Stored<u64>,
    indices: Stored<u32>,
    values: Stored<T>,
}

impl<T: Copy> CsrMatrix<T> {
    /// Checks and wraps ready arrays. Unsorted rows are sorted; duplicate columns in a row are an
    /// error.
    ///
    /// ```
    /// use gnarl_graph::CsrMatrix;
    /// let m = CsrMatrix::new(3, vec![0, 2, 2], vec![2, 0], vec![5.0, 1.0])?;
    /// assert_eq!(m.row(0), (&[0, 2][..], &[1.0, 5.0][..]));
    /// assert_eq!(m.row(1).0.len(), 0);
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn new(
        num_cols: usize,
        offsets: Vec<u64>,
        mut indices: Vec<u32>,
        mut values: Vec<T>,
    ) -> Result<Self> {
        let refuse = |what: String| Err(Error::argument("CsrMatrix::new", what));
        if offsets.first() != Some(&0) {
            return refuse(format!(
                "offsets must start with 0, not {:?}",
                offsets.first()
            ));
        }
        if let Some(i) = offsets.windows(2).position(|w| w[0] > w[1]) {
            return refuse(format!(
                "offsets fall from {} to {} at row {i}",
                offsets[i],
                offsets[i + 1]
            ));
        }
        let end = offsets[offsets.len() - 1];
        if end != indices.len() as u64 || indices.len() != values.len() {
            return refuse(format!(
                "offsets end at {end}, with {} column ids and {} values",
                indices.len(),
                values.len()
            ));
        }
        for row in 0..offsets.len() - 1 {
            let range = offsets[row] as usize..offsets[row + 1] as usize;
            let cols = &indices[range.clone()];
            if let Some(&c) = cols.iter().find(|&&c| c as usize >= num_cols) {
                return refuse(format!(
                    "row {row} has column {c}, but there are {num_cols} columns"
                ));
            }
            if !cols.is_sorted() {
                let mut entries: Vec<(u32, T)> =
                    range.clone().map(|k| (indices[k], values[k])).collect();
                entries.sort_by_key(|e| e.0);
                for (k, (c, v)) in range.clone().zip(entries) {
                    indices[k] = c;
                    values[k] = v;
                }
            }
            if let Some(w) = indices[range].windows(2).find(|w| w[0] == w[1]) {
                return refuse(format!("row {row} has column {} twice", w[0]));
            }
        }
        Ok(Self::from_parts(num_cols, offsets, indices, values))
    }

    /// Wraps arrays that are valid by construction.
    #[doc(hidden)]
    pub fn from_parts(
        num_cols: usize,
        offsets: impl Into<Stored<u64>>,
        indices: impl Into<Stored<u32>>,
        values: impl Into<Stored<T>>,
    ) -> Self {
        let (offsets, indices, values) = (offsets.into(), indices.into(), values.into());
        debug_assert_eq!(offsets.last().copied(), Some(indices.len() as u64));
        debug_assert_eq!(indices.len(), values.len());
        Self {
            num_cols,
            offsets,
            indices,
            values,
        }
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the number of columns.
    pub fn num_cols(&self) -> usize {
        self.num_cols
    }

    /// Returns the number of stored entries.
    pub fn num_entries(&self) -> usize {
        self.indices.len()
    }

    /// Returns row boundaries, `num_rows + 1` of them.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns column ids, row by row, ascending within a row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns values, in the order of [`indices`](Self::indices).
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns column ids and values of one row.
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.offsets[i] as usize..self.offsets[i + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Returns the value at `(i, j)`, `None` if nothing is stored there. O(log row length).
    pub fn get(&self, i: usize, j: u32) -> Option<T> {
        let (cols, values) = self.row(i);
        cols.binary_search(&j).ok().map(|k| values[k])
    }

    /// Replaces the values, one for each entry; the pattern is shared.
    ///
    /// # Panics
    /// If there are more or fewer values.
    pub fn with_values<U: Copy>(&self, values: Vec<U>) -> CsrMatrix<U> {
        assert_eq!(values.len(), self.values.len(), "a value for each entry");
        CsrMatrix {
            num_cols: self.num_cols,
            offsets: self.offsets.clone(),
            indices: self.indices.clone(),
            values: values.into(),
        }
    }

    /// Returns the columns of the entries, row by row, in memory.
    pub fn indices_in_memory(&self) -> std::sync::Arc<Vec<u32>> {
        self.indices.in_memory()
    }

    /// Maps each value; the pattern is shared.
    pub fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> CsrMatrix<U> {
        self.with_values(self.values.iter().map(|&v| f(v)).collect())
    }

    /// Returns the transpose, in O(rows + columns + entries).
    pub fn transpose(&self) -> Self {
        let mut offsets = vec![0u64; self.num_cols + 1];
        for &c in self.indices.iter() {
            offsets[c as usize + 1] += 1;
        }
        for i in 0..self.num_cols {
            offsets[i + 1] += offsets[i];
        }
        let mut cursor = offsets.clone();
        let mut indices = vec![0u32; self.indices.len()];
        let mut values = self.values.to_vec();
        for row in 0..self.num_rows() {
            let (cols, vals) = self.row(row);
            for (&c, &v) in cols.iter().zip(vals) {
                let slot = cursor[c as usize] as usize;
                cursor[c as usize] += 1;
                indices[slot] = row as u32;
                values[slot] = v;
            }
        }
        Self::from_parts(self.num_rows(), offsets, indices, values)
    }

    /// Selects the rows named by `rows`, in that order (repeats allowed).
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0u64);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for &r in rows {
            let (cols, vals) = self.row(r as usize);
            indices.extend_from_slice(cols);
            values.extend_from_slice(vals);
            offsets.push(indices.len() as u64);
        }
        Self::from_parts(self.num_cols, offsets, indices, values)
    }
}

impl CsrMatrix<f32> {
    /// Makes a sparse matrix of the non-zeros of a dense matrix.
    pub fn from_dense(dense: &DenseMatrix<f32>) -> Self {
        let mut offsets = Vec::with_capacity(dense.num_rows() + 1);
        offsets.push(0u64);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for i in 0..dense.num_rows() {
            for (c, &v) in dense.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(c as u32);
                values.push(v);
            }
            offsets.push(indices.len() as u64);
        }
        Self::from_parts(dense.num_cols(), offsets, indices, values)
    }
}

impl CsrMatrix<f64> {
    /// Computes `self * x`, rows in parallel; the result does not depend on the number of threads.
    pub fn mul_vec(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.num_rows()];
        self.mul_vec_into(x, &mut y);
        y
    }

    /// Computes `out = self * x`.
    ///
    /// # Panics
    /// If `x` is not as long as a row or `out` not as long as a column.
    pub fn mul_vec_into(&self, x: &[f64], out: &mut [f64]) {
        use rayon::prelude::*;
        assert_eq!(x.len(), self.num_cols, "mul_vec: vector length");
        assert_eq!(out.len(), self.num_rows(), "mul_vec: output length");
        out.par_iter_mut()
            .enumerate()
            .with_min_len(1024)
            .for_each(|(i, y)| {
                let (cols, values) = self.row(i);
                *y = cols
                    .iter()
                    .zip(values)
                    .map(|(&c, &v)| v * x[c as usize])
                    .sum();
            });
    }

    /// Sums each row.
    pub fn row_sums(&self) -> Vec<f64> {
        (0..self.num_rows())
            .map(|i| self.row(i).1.iter().sum())
            .collect()
    }

    /// Returns a row-major dense copy; for small matrices.
    pub fn to_dense(&self) -> DenseMatrix<f64> {
        let mut dense = DenseMatrix::zeros(self.num_rows(), self.num_cols);
        for i in 0..self.num_rows() {
            let (cols, values) = self.row(i);
            for (&c, &v) in cols.iter().zip(values) {
                dense.row_mut(i)[c as usize] = v;
            }
        }
        dense
    }

    /// Returns true if the matrix equals its transpose exactly.
    pub fn is_symmetric(&self) -> bool {
        self.num_rows() == self.num_cols && *self == self.transpose()
    }
}

impl<T: Copy + num::One> CsrMatrix<T> {
    /// Returns the identity of size `n`: the features of a graph that has none.
    pub fn identity(n: usize) -> Self {
        Self::from_parts(
            n,
            (0..=n as u64).collect::<Vec<_>>(),
            (0..n as u32).collect::<Vec<_>>(),
            vec![T::ONE; n],
        )
    }
}

/// The constant one, which [`CsrMatrix::identity`] needs.
mod num {
    pub trait One {
        const ONE: Self;
    }
    impl One for f32 {
        const ONE: Self = 1.0;
    }
    impl One for f64 {
        const ONE: Self = 1.0;
    }
}

/// A dense row-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseMatrix<T> {
    num_rows: usize,
    num_cols: usize,
    data: Stored<T>,
}

impl<T: Copy + Default> DenseMatrix<T> {
    /// Wraps row-major data of `num_rows * num_cols` values.
    pub fn new(num_rows: usize, num_cols: usize, data: Vec<T>) -> Result<Self> {
        Self::from_stored(num_rows, num_cols, data.into())
    }

    /// Wraps row-major values that may be in a file.
    pub fn from_stored(num_rows: usize, num_cols: usize, data: Stored<T>) -> Result<Self> {
        if num_rows.checked_mul(num_cols) != Some(data.len()) {
            return Err(Error::argument(
                "DenseMatrix::new",
                format!(
                    "{num_rows} rows of {num_cols} need a value each, but there are {} values",
                    data.len()
                ),
            ));
        }
        Ok(Self {
            num_rows,
            num_cols,
            data,
        })
    }

    /// Makes a matrix of zeros.
    pub fn zeros(num_rows: usize, num_cols: usize) -> Self {
        Self {
            num_rows,
            num_cols,
            data: vec![T::default(); num_rows * num_cols].into(),
        }
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Returns the number of columns.
    pub fn num_cols(&self) -> usize {
        self.num_cols
    }

    /// Returns all values, row by row.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Returns all values, row by row, without a copy if they are in memory.
    pub fn into_data(self) -> Vec<T> {
        self.data.into_vec()
    }

    /// Returns all values as they are stored.
    pub fn stored(&self) -> &Stored<T> {
        &self.data
    }

    /// Returns one row.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.num_cols..(i + 1) * self.num_cols]
    }

    /// Returns one row, mutable.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        let num_cols = self.num_cols;
        &mut self.data.to_mut()[i * num_cols..(i + 1) * num_cols]
    }

    /// Selects the rows named by `rows`, in that order (repeats allowed).
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.num_cols);
        for &r in rows {
            data.extend_from_slice(self.row(r as usize));
        }
        Self {
            num_rows: rows.len(),
            num_cols: self.num_cols,
            data: data.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> CsrMatrix<f64> {
        CsrMatrix::new(3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).unwrap()
    }

    #[test]
    fn products_and_transpose_agree_by_hand() {
        let m = sample();
        assert_eq!(m.mul_vec(&[1.0, 10.0, 100.0]), [201.0, 0.0, 30.0]);
        assert_eq!(
            m.transpose().mul_vec(&[1.0, 10.0, 100.0]),
            [1.0, 300.0, 2.0]
        );
        assert_eq!(m.transpose().transpose(), m);
        assert_eq!(
            m.to_dense().data(),
            [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0]
        );
        assert_eq!((m.get(0, 2), m.get(1, 0)), (Some(2.0), None));
    }

    #[test]
    fn bad_arrays_are_refused_with_the_reason() {
        let bad = |n, o: Vec<u64>, i: Vec<u32>| {
            let v = vec![1.0f64; i.len()];
            CsrMatrix::new(n, o, i, v).unwrap_err().to_string()
        };
        assert!(bad(2, vec![1, 2], vec![0]).contains("start with 0"));
        assert!(bad(2, vec![0, 2, 1], vec![0]).contains("fall from 2 to 1 at row 1"));
        assert!(bad(2, vec![0, 5], vec![0]).contains("end at 5"));
        assert!(bad(2, vec![0, 1], vec![2]).contains("row 0 has column 2, but there are 2"));
        assert!(bad(2, vec![0, 2], vec![1, 1]).contains("column 1 twice"));
        assert!(DenseMatrix::new(2, 2, vec![0.0f32; 3]).is_err());
        assert!(DenseMatrix::<f32>::new(usize::MAX, 2, vec![]).is_err());
    }

    #[test]
    fn identity_multiplies_to_itself() {
        assert_eq!(
            CsrMatrix::<f64>::identity(3).mul_vec(&[1.0, 2.0, 3.0]),
            [1.0, 2.0, 3.0]
        );
        assert_eq!(CsrMatrix::<f32>::identity(0).num_rows(), 0);
    }
}
