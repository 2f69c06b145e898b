//! Node features: sparse or dense, and they stay what they were when loaded.

use crate::matrix::{CsrMatrix, DenseMatrix};

/// One row of `f32` features per node.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Compressed rows: Cora's are 98.7 % zeros.
    Sparse(CsrMatrix<f32>),
    /// Dense rows.
    Dense(DenseMatrix<f32>),
}

impl Features {
    /// Number of rows, one per node.
    pub fn num_rows(&self) -> usize {
        match self {
            Features::Sparse(m) => m.num_rows(),
            Features::Dense(m) => m.num_rows(),
        }
    }

    /// Number of features.
    pub fn num_cols(&self) -> usize {
        match self {
            Features::Sparse(m) => m.num_cols(),
            Features::Dense(m) => m.num_cols(),
        }
    }

    /// Number of values that are not zero.
    pub fn num_nonzeros(&self) -> usize {
        self.values().iter().filter(|&&v| v != 0.0).count()
    }

    /// Every stored value.
    pub fn values(&self) -> &[f32] {
        match self {
            Features::Sparse(m) => m.values(),
            Features::Dense(m) => m.data(),
        }
    }

    /// The rows named by `rows`, in that order.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        match self {
            Features::Sparse(m) => Features::Sparse(m.select_rows(rows)),
            Features::Dense(m) => Features::Dense(m.select_rows(rows)),
        }
    }

    /// A dense copy.
    pub fn to_dense(&self) -> DenseMatrix<f32> {
        match self {
            Features::Dense(m) => m.clone(),
            Features::Sparse(m) => {
                let mut dense = DenseMatrix::zeros(m.num_rows(), m.num_cols());
                for i in 0..m.num_rows() {
                    let (cols, values) = m.row(i);
                    let row = dense.row_mut(i);
                    for (&c, &v) in cols.iter().zip(values) {
                        row[c as usize] = v;
                    }
                }
                dense
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_say_the_same() {
        let sparse = Features::Sparse(CsrMatrix::new(3, vec![0, 1, 3], vec![1, 0, 2], vec![5.0, 1.0, 0.0]).unwrap());
        let dense = Features::Dense(sparse.to_dense());
        assert_eq!(dense.to_dense().data(), [0.0, 5.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!((sparse.num_nonzeros(), dense.num_nonzeros()), (2, 2), "a stored zero does not count");
        assert_eq!(sparse.select_rows(&[1]).to_dense(), dense.select_rows(&[1]).to_dense());
    }
}
