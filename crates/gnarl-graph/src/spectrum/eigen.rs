//! Dense eigenproblems of symmetric sparse matrices.
//!
//! The matrix is first split into the connected blocks of its pattern, whose spectra make up its
//! own: eigenvectors of a block, extended by zeros, are eigenvectors of the matrix. Each block is
//! solved by faer on one thread, so that the number of threads cannot change the rounding.

use crate::error::{Error, Result};
use crate::matrix::{CsrMatrix, DenseMatrix};

const OP: &str = "eigenvalues";

/// Number of rows of the largest block that is solved densely: three matrices of this size take 6
/// GiB.
const MAX_DENSE_ROWS: usize = 16_384;

/// Eigenvalues, their eigenvectors, and the residual of each pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenpairs {
    /// Eigenvalues, in the requested order.
    pub values: Vec<f64>,
    /// Eigenvectors: column `j` belongs to `values[j]`, of unit length, its largest entry positive.
    /// Shape n × k.
    pub vectors: DenseMatrix<f64>,
    /// Residual `‖A x - λ x‖` of each pair.
    pub residuals: Vec<f64>,
}

/// Computes all eigenvalues of a symmetric matrix, ascending. O(s³) for a largest connected block
/// of s rows.
///
/// Fails if the matrix is not square, not symmetric, or holds NaN or infinity.
///
/// ```
/// use gnarl_graph::{operator::ClassicalOperator, spectrum::symmetric_eigenvalues, Graph};
/// let k3 = Graph::from_edges(3, [(0, 1), (0, 2), (1, 2)])?.0;
/// let values = symmetric_eigenvalues(&ClassicalOperator::ADJACENCY.matrix(&k3)?)?;
/// for (value, expected) in values.iter().zip([-1.0, -1.0, 2.0]) {
///     assert!((value - expected).abs() < 1e-14);
/// }
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn symmetric_eigenvalues(matrix: &CsrMatrix<f64>) -> Result<Vec<f64>> {
    check_symmetric(matrix)?;
    let mut values = Vec::with_capacity(matrix.num_rows());
    for block in blocks(matrix) {
        values.extend(
            dense_eigen(
                block.nodes.len(),
                |write| write_lower(&block.matrix, write),
                false,
            )?
            .0,
        );
    }
    values.sort_by(f64::total_cmp);
    Ok(values)
}

/// Computes all eigenpairs of a symmetric matrix, eigenvalues ascending. O(s³) for a largest
/// connected block of s rows, and n² values of memory. Fails as [`symmetric_eigenvalues`] does.
pub fn symmetric_eigenpairs(matrix: &CsrMatrix<f64>) -> Result<Eigenpairs> {
    check_symmetric(matrix)?;
    let mut pairs = Vec::with_capacity(matrix.num_rows());
    for block in blocks(matrix) {
        let (values, vectors) = dense_columns(&block.matrix)?;
        pairs.extend(
            values
                .into_iter()
                .zip(vectors)
                .map(|(value, x)| (value, block.lift(&x, matrix.num_rows()))),
        );
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Eigenpairs::from_columns(
        matrix.num_rows(),
        pairs,
        |x, y| matrix.mul_vec_into(x, y),
    ))
}

impl Eigenpairs {
    /// Collects columns, normalising their length and sign and computing their residuals.
    pub(super) fn from_columns(
        n: usize,
        pairs: Vec<(f64, Vec<f64>)>,
        apply: impl Fn(&[f64], &mut [f64]),
    ) -> Self {
        let k = pairs.len();
        let (mut values, mut residuals) = (Vec::with_capacity(k), Vec::with_capacity(k));
        let mut vectors = DenseMatrix::zeros(n, k);
        let mut image = vec![0.0; n];
        for (j, (value, mut x)) in pairs.into_iter().enumerate() {
            normalise(&mut x);
            apply(&x, &mut image);
            values.push(value);
            residuals.push(
                image
                    .iter()
                    .zip(&x)
                    .map(|(y, x)| (y - value * x).powi(2))
                    .sum::<f64>()
                    .sqrt(),
            );
            for (i, &xi) in x.iter().enumerate() {
                vectors.row_mut(i)[j] = xi;
            }
        }
        Self {
            values,
            vectors,
            residuals,
        }
    }

    /// Returns eigenvector `j` as its own vector.
    pub fn vector(&self, j: usize) -> Vec<f64> {
        (0..self.vectors.num_rows())
            .map(|i| self.vectors.row(i)[j])
            .collect()
    }
}

/// Scales to unit length with a positive largest entry; zero stays zero.
fn normalise(x: &mut [f64]) {
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let largest = x.iter().fold(
        0.0f64,
        |best, &v| if v.abs() > best.abs() { v } else { best },
    );
    if norm > 0.0 {
        let scale = 1.0 / norm * largest.signum();
        x.iter_mut().for_each(|v| *v *= scale);
    }
}

/// A connected block of a symmetric matrix: its rows, ascending, and the entries among them.
pub(super) struct Block {
    pub(super) nodes: Vec<u32>,
    pub(super) matrix: CsrMatrix<f64>,
}

impl Block {
    /// Extends a vector on the block to the whole matrix.
    pub(super) fn lift(&self, x: &[f64], n: usize) -> Vec<f64> {
        let mut whole = vec![0.0; n];
        for (&u, &value) in self.nodes.iter().zip(x) {
            whole[u as usize] = value;
        }
        whole
    }
}

/// Splits a square matrix with a symmetric pattern into connected blocks, ordered by their smallest
/// row. O(n + entries).
pub(super) fn blocks(matrix: &CsrMatrix<f64>) -> Vec<Block> {
    const UNSEEN: u32 = u32::MAX;
    let n = matrix.num_rows();
    let mut local = vec![UNSEEN; n];
    let mut found = Vec::new();
    for start in 0..n as u32 {
        if local[start as usize] != UNSEEN {
            continue;
        }
        local[start as usize] = 0;
        let mut nodes = vec![start];
        let mut next = 0;
        while next < nodes.len() {
            for &v in matrix.row(nodes[next] as usize).0 {
                if local[v as usize] == UNSEEN {
                    local[v as usize] = 0;
                    nodes.push(v);
                }
            }
            next += 1;
        }
        nodes.sort_unstable();
        for (i, &u) in nodes.iter().enumerate() {
            local[u as usize] = i as u32;
        }
        let (mut offsets, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for &u in &nodes {
            let (cols, entries) = matrix.row(u as usize);
            indices.extend(cols.iter().map(|&v| local[v as usize]));
            values.extend_from_slice(entries);
            offsets.push(indices.len() as u64);
        }
        let matrix = CsrMatrix::from_parts(nodes.len(), offsets, indices, values);
        found.push(Block { nodes, matrix });
    }
    found
}

/// Fails unless the matrix is finite and symmetric. Entries may differ from their mirror by
/// rounding.
pub(super) fn check_symmetric(matrix: &CsrMatrix<f64>) -> Result<()> {
    let n = matrix.num_rows();
    if matrix.num_cols() != n {
        return Err(Error::argument(
            OP,
            format!("a matrix of {n} by {} is not square", matrix.num_cols()),
        ));
    }
    let mut largest = 0.0f64;
    for i in 0..n {
        let (cols, values) = matrix.row(i);
        for (&j, &value) in cols.iter().zip(values) {
            if !value.is_finite() {
                return Err(Error::argument(
                    OP,
                    format!("entry ({i}, {j}) is {value}, finite values are needed"),
                ));
            }
            largest = largest.max(value.abs());
        }
    }
    for i in 0..n {
        let (cols, values) = matrix.row(i);
        for (&j, &value) in cols.iter().zip(values) {
            let mirror = matrix.get(j as usize, i as u32);
            if mirror.is_none_or(|m| (m - value).abs() > 1e-12 * largest) {
                let mirror = mirror.unwrap_or(0.0);
                let what = format!(
                    "the matrix is not symmetric: ({i}, {j}) holds {value}, ({j}, {i}) holds {mirror}"
                );
                return Err(Error::argument(OP, what));
            }
        }
    }
    Ok(())
}

/// Computes all eigenpairs of one block: eigenvalues ascending and a column for each.
pub(super) fn dense_columns(matrix: &CsrMatrix<f64>) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    dense_eigen(matrix.num_rows(), |write| write_lower(matrix, write), true)
}

/// Writes the entries on and below the diagonal.
fn write_lower(matrix: &CsrMatrix<f64>, write: &mut dyn FnMut(usize, usize, f64)) {
    for i in 0..matrix.num_rows() {
        let (cols, values) = matrix.row(i);
        for (&j, &value) in cols
            .iter()
            .zip(values)
            .take_while(|(j, _)| **j as usize <= i)
        {
            write(i, j as usize, value);
        }
    }
}

/// Computes eigenvalues, ascending, and optionally eigenvectors of the symmetric matrix whose
/// entries `fill` writes; entries above the diagonal are not needed.
///
/// The matrix is scaled to a largest entry of one, so that entries near the ends of the range
/// neither overflow nor vanish.
pub(super) fn dense_eigen(
    n: usize,
    fill: impl FnOnce(&mut dyn FnMut(usize, usize, f64)),
    with_vectors: bool,
) -> Result<(Vec<f64>, Vec<Vec<f64>>)> {
    if n > MAX_DENSE_ROWS {
        let what = format!(
            "a connected block of {n} rows is too large for its whole spectrum (at most {MAX_DENSE_ROWS}); ask for a few extreme eigenvalues"
        );
        return Err(Error::argument(OP, what));
    }
    let mut a = vec![0.0; n * n];
    fill(&mut |i, j, value| a[j * n + i] = value);
    let mut scale = 0.0f64;
    for j in 0..n {
        for i in j..n {
            let value = a[j * n + i];
            if !value.is_finite() {
                return Err(Error::argument(
                    OP,
                    format!("entry ({i}, {j}) is {value}, finite values are needed"),
                ));
            }
            scale = scale.max(value.abs());
        }
    }
    if n <= 1 || scale == 0.0 {
        let unit = |j| (0..n).map(|i| f64::from(i == j)).collect();
        let diagonal = (0..n).map(|i| a[i * n + i]).collect();
        return Ok((
            diagonal,
            if with_vectors {
                (0..n).map(unit).collect()
            } else {
                vec![]
            },
        ));
    }
    a.iter_mut().for_each(|value| *value /= scale);
    let (mut values, vectors) =
        gnarl_linalg::symmetric_eigen(n, &a, with_vectors).map_err(|_| {
            Error::argument(
                OP,
                format!("the dense solver did not converge on a block of {n} rows"),
            )
        })?;
    values.iter_mut().for_each(|value| *value *= scale);
    Ok((
        values,
        vectors.chunks_exact(n).map(<[f64]>::to_vec).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::super::samples::*;
    use super::*;
    use crate::graph::Graph;
    use crate::operator::ClassicalOperator as Op;

    /// Compares with a closed form, given in any order (Brouwer and Haemers 2012, section 1.4).
    fn check(graph: &Graph, op: Op, mut expected: Vec<f64>) {
        expected.sort_by(f64::total_cmp);
        let matrix = op.matrix(graph).unwrap();
        assert_close(&symmetric_eigenvalues(&matrix).unwrap(), &expected, 1e-12);
        let pairs = symmetric_eigenpairs(&matrix).unwrap();
        assert_close(&pairs.values, &expected, 1e-12);
        assert!(pairs.residuals.iter().all(|&r| r < 1e-12));
        for i in 0..expected.len() {
            for j in 0..=i {
                let inner: f64 = pairs
                    .vector(i)
                    .iter()
                    .zip(pairs.vector(j))
                    .map(|(x, y)| x * y)
                    .sum();
                assert!((inner - f64::from(i == j)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn closed_forms() {
        let cos = |turn: f64| (PI * turn).cos();
        let n = 17;
        check(
            &complete(n),
            Op::ADJACENCY,
            (0..n).map(|j| if j == 0 { 16.0 } else { -1.0 }).collect(),
        );
        check(
            &complete(n),
            Op::LAPLACIAN,
            (0..n).map(|j| if j == 0 { 0.0 } else { 17.0 }).collect(),
        );
        check(
            &path(n),
            Op::ADJACENCY,
            (1..=n).map(|j| 2.0 * cos(j as f64 / 18.0)).collect(),
        );
        check(
            &path(n),
            Op::LAPLACIAN,
            (0..n).map(|j| 2.0 - 2.0 * cos(j as f64 / 17.0)).collect(),
        );
        check(
            &cycle(n),
            Op::SIGNLESS_LAPLACIAN,
            (0..n)
                .map(|j| 2.0 + 2.0 * cos(2.0 * j as f64 / 17.0))
                .collect(),
        );
        check(
            &cycle(n),
            Op::NORMALISED_ADJACENCY,
            (0..n)
                .map(|j| (1.0 + 2.0 * cos(2.0 * j as f64 / 17.0)) / 3.0)
                .collect(),
        );
        let mut star_values = vec![0.0; 15];
        star_values.extend([4.0, -4.0]);
        check(&star(n), Op::ADJACENCY, star_values);
        let mut bipartite = vec![1.0; 8];
        bipartite.extend([0.0, 2.0]);
        check(
            &complete_bipartite(4, 6),
            Op::SYMMETRIC_LAPLACIAN,
            bipartite,
        );
        check(
            &disjoint(&complete(3), 3),
            Op::LAPLACIAN,
            vec![0.0, 3.0, 3.0, 0.0, 3.0, 3.0, 0.0, 3.0, 3.0],
        );
    }

    #[test]
    fn small_and_empty_matrices() {
        let empty = Op::ADJACENCY.matrix(&Graph::empty(0).unwrap()).unwrap();
        assert!(symmetric_eigenvalues(&empty).unwrap().is_empty());
        assert_eq!(symmetric_eigenpairs(&empty).unwrap().vectors.num_rows(), 0);
        let zero = Op::ADJACENCY.matrix(&Graph::empty(3).unwrap()).unwrap();
        assert_eq!(symmetric_eigenvalues(&zero).unwrap(), [0.0; 3]);
        assert_eq!(
            symmetric_eigenpairs(&zero).unwrap().vectors,
            CsrMatrix::identity(3).to_dense()
        );
    }

    #[test]
    fn entries_at_the_ends_of_the_range() {
        for scale in [1e-290, 1e290] {
            let m = Op::ADJACENCY.matrix(&path(3)).unwrap().map(|x| scale * x);
            let values: Vec<f64> = symmetric_eigenvalues(&m)
                .unwrap()
                .iter()
                .map(|x| x / scale)
                .collect();
            assert_close(&values, &[-(2f64.sqrt()), 0.0, 2f64.sqrt()], 1e-14);
        }
    }

    #[test]
    fn nonsymmetric_and_nonfinite_matrices_are_refused() {
        let refused = |cols, offsets, indices, values| {
            let m = CsrMatrix::new(cols, offsets, indices, values).unwrap();
            let e = symmetric_eigenvalues(&m).unwrap_err().to_string();
            assert_eq!(e, symmetric_eigenpairs(&m).unwrap_err().to_string());
            e
        };
        assert_eq!(
            refused(2, vec![0, 1], vec![0], vec![1.0]),
            "eigenvalues: a matrix of 1 by 2 is not square"
        );
        let nan = refused(2, vec![0, 1, 2], vec![1, 0], vec![f64::NAN, f64::NAN]);
        assert_eq!(
            nan,
            "eigenvalues: entry (0, 1) is NaN, finite values are needed"
        );
        assert!(
            refused(1, vec![0, 1], vec![0], vec![f64::INFINITY]).contains("entry (0, 0) is inf")
        );
        let skew = refused(2, vec![0, 1, 2], vec![1, 0], vec![1.0, 2.0]);
        assert_eq!(
            skew,
            "eigenvalues: the matrix is not symmetric: (0, 1) holds 1, (1, 0) holds 2"
        );
        assert!(refused(2, vec![0, 1, 1], vec![1], vec![1.0]).contains("(1, 0) holds 0"));
    }

    #[test]
    fn too_large_a_block_is_refused_before_memory_is_asked_for() {
        let m = Op::ADJACENCY.matrix(&star(20_000)).unwrap();
        let e = symmetric_eigenvalues(&m).unwrap_err().to_string();
        assert!(
            e.contains("a connected block of 20000 rows is too large"),
            "{e}"
        );
        let many = Op::LAPLACIAN.matrix(&disjoint(&path(2), 10_000)).unwrap();
        let values = symmetric_eigenvalues(&many).unwrap();
        assert_close(
            &[values[0], values[9_999], values[10_000], values[19_999]],
            &[0.0, 0.0, 2.0, 2.0],
            1e-14,
        );
    }
}
