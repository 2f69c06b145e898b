//! Node features: sparse or dense, as they were loaded; on disk also packed into fewer bits.

use std::sync::OnceLock;

use half::f16;
use rayon::prelude::*;

use crate::matrix::{CsrMatrix, DenseMatrix};
use crate::stored::Stored;

/// One row of `f32` features per node.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Compressed rows: Cora's are 98.7 % zeros.
    Sparse(CsrMatrix<f32>),
    /// Dense rows.
    Dense(DenseMatrix<f32>),
}

impl Features {
    /// Returns the number of rows, one per node.
    pub fn num_rows(&self) -> usize {
        match self {
            Features::Sparse(m) => m.num_rows(),
            Features::Dense(m) => m.num_rows(),
        }
    }

    /// Returns the number of features.
    pub fn num_cols(&self) -> usize {
        match self {
            Features::Sparse(m) => m.num_cols(),
            Features::Dense(m) => m.num_cols(),
        }
    }

    /// Returns the number of non-zero values.
    pub fn num_nonzeros(&self) -> usize {
        self.values().iter().filter(|&&v| v != 0.0).count()
    }

    /// Returns every stored value.
    pub fn values(&self) -> &[f32] {
        match self {
            Features::Sparse(m) => m.values(),
            Features::Dense(m) => m.data(),
        }
    }

    /// Selects the rows named by `rows`, in that order.
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        match self {
            Features::Sparse(m) => Features::Sparse(m.select_rows(rows)),
            Features::Dense(m) => Features::Dense(m.select_rows(rows)),
        }
    }

    /// Returns a dense copy.
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

/// Dense rows in fewer bits than `f32`, as a file may store them.
#[derive(Debug)]
pub struct PackedRows {
    /// The numbers, row by row.
    pub numbers: Packed,
    /// Number of columns.
    pub num_cols: usize,
}

/// Numbers in fewer bits.
#[derive(Debug)]
pub enum Packed {
    /// IEEE half precision, as bits.
    Half(Stored<u16>),
    /// Bytes that stand for `offset + scale * byte`, with a scale and an offset for each column.
    Byte {
        /// The bytes.
        bytes: Stored<u8>,
        /// Scale of each column.
        scale: Vec<f32>,
        /// Offset of each column.
        offset: Vec<f32>,
    },
}

impl PackedRows {
    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        let numbers = match &self.numbers {
            Packed::Half(bits) => bits.len(),
            Packed::Byte { bytes, .. } => bytes.len(),
        };
        numbers.checked_div(self.num_cols).unwrap_or(0)
    }

    /// Unpacks one row.
    pub fn unpack_row(&self, row: usize, out: &mut [f32]) {
        let range = row * self.num_cols..(row + 1) * self.num_cols;
        match &self.numbers {
            Packed::Half(bits) => {
                out.iter_mut()
                    .zip(&*bits.part(range))
                    .for_each(|(x, &bits)| *x = f16::from_bits(bits).to_f32());
            }
            Packed::Byte {
                bytes,
                scale,
                offset,
            } => {
                let columns = scale.iter().zip(offset);
                out.iter_mut()
                    .zip(&*bytes.part(range))
                    .zip(columns)
                    .for_each(|((x, &byte), (scale, offset))| {
                        *x = offset + scale * f32::from(byte)
                    });
            }
        }
    }

    /// Unpacks some rows.
    pub fn unpack(&self, rows: &[u32]) -> DenseMatrix<f32> {
        gathered(rows, self.num_cols, |row, out| self.unpack_row(row, out))
    }

    fn release(&self) {
        match &self.numbers {
            Packed::Half(bits) => bits.release(),
            Packed::Byte { bytes, .. } => bytes.release(),
        }
    }
}

/// Gathers rows in a dense matrix, each written by `fill`.
fn gathered(
    rows: &[u32],
    num_cols: usize,
    fill: impl Fn(usize, &mut [f32]) + Sync,
) -> DenseMatrix<f32> {
    let mut data = vec![0f32; rows.len() * num_cols];
    if num_cols > 0 {
        let chunk = 256;
        data.par_chunks_mut(chunk * num_cols)
            .zip(rows.par_chunks(chunk))
            .for_each(|(data, rows)| {
                data.chunks_exact_mut(num_cols)
                    .zip(rows)
                    .for_each(|(out, &row)| fill(row as usize, out));
            });
    }
    DenseMatrix::new(rows.len(), num_cols, data).expect("as many as were made")
}

/// The features of a graph: unpacked, or packed and unpacked once all of them are requested.
#[derive(Debug)]
#[doc(hidden)]
pub enum NodeFeatures {
    Whole(Features),
    Packed {
        rows: PackedRows,
        whole: OnceLock<Features>,
    },
}

impl From<Features> for NodeFeatures {
    fn from(features: Features) -> Self {
        Self::Whole(features)
    }
}

impl From<PackedRows> for NodeFeatures {
    fn from(rows: PackedRows) -> Self {
        Self::Packed {
            rows,
            whole: OnceLock::new(),
        }
    }
}

impl NodeFeatures {
    pub fn num_rows(&self) -> usize {
        match self {
            Self::Whole(features) => features.num_rows(),
            Self::Packed { rows, .. } => rows.num_rows(),
        }
    }

    pub fn num_cols(&self) -> usize {
        match self {
            Self::Whole(features) => features.num_cols(),
            Self::Packed { rows, .. } => rows.num_cols,
        }
    }

    /// Returns all features; packed ones are unpacked into memory the first time.
    pub fn whole(&self) -> &Features {
        match self {
            Self::Whole(features) => features,
            Self::Packed { rows, whole } => whole.get_or_init(|| {
                let all: Vec<u32> = (0..rows.num_rows() as u32).collect();
                Features::Dense(rows.unpack(&all))
            }),
        }
    }

    /// Returns the features of some nodes.
    pub fn of(&self, nodes: &[u32]) -> Features {
        match self {
            Self::Whole(Features::Dense(m)) => {
                Features::Dense(gathered(nodes, m.num_cols(), |row, out| {
                    out.copy_from_slice(
                        &m.stored()
                            .part(row * m.num_cols()..(row + 1) * m.num_cols()),
                    );
                }))
            }
            Self::Whole(features) => features.select_rows(nodes),
            Self::Packed { rows, .. } => Features::Dense(rows.unpack(nodes)),
        }
    }

    pub fn release(&self) {
        match self {
            Self::Whole(Features::Dense(m)) => m.stored().release(),
            Self::Whole(Features::Sparse(_)) => {}
            Self::Packed { rows, .. } => rows.release(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_say_the_same() {
        let sparse = Features::Sparse(
            CsrMatrix::new(3, vec![0, 1, 3], vec![1, 0, 2], vec![5.0, 1.0, 0.0]).unwrap(),
        );
        let dense = Features::Dense(sparse.to_dense());
        assert_eq!(dense.to_dense().data(), [0.0, 5.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(
            (sparse.num_nonzeros(), dense.num_nonzeros()),
            (2, 2),
            "a stored zero does not count"
        );
        assert_eq!(
            sparse.select_rows(&[1]).to_dense(),
            dense.select_rows(&[1]).to_dense()
        );
    }

    #[test]
    fn packed_rows_are_unpacked_one_by_one_and_all_at_once() {
        let half = Packed::Half(
            [0.5f32, -2.0, 1.0, 65504.0]
                .map(|x| f16::from_f32(x).to_bits())
                .to_vec()
                .into(),
        );
        let byte = Packed::Byte {
            bytes: vec![0, 255, 10, 1].into(),
            scale: vec![0.5, 2.0],
            offset: vec![-1.0, 0.0],
        };
        for (numbers, expected) in [
            (half, [0.5, -2.0, 1.0, 65504.0]),
            (byte, [-1.0, 510.0, 4.0, 2.0]),
        ] {
            let features = NodeFeatures::from(PackedRows {
                numbers,
                num_cols: 2,
            });
            assert_eq!((features.num_rows(), features.num_cols()), (2, 2));
            assert_eq!(
                features.of(&[1, 0, 1]).values(),
                [&expected[2..], &expected[..2], &expected[2..]].concat()
            );
            assert_eq!(features.whole().values(), expected);
        }
    }
}
