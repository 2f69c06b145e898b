//! Dense linear algebra behind plain functions on slices.
//!
//! faer's solvers are generic and take a minute to compile for each crate that calls them. In this
//! crate they are compiled once, so dependent crates build quickly, and tests call optimised
//! solvers. Everything runs on one thread, so that the number of threads cannot change the
//! rounding.

use std::sync::LazyLock;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::cholesky::llt::solve::{solve_in_place_scratch, solve_in_place_with_conj};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::col_pivoting::factor::{qr_in_place, qr_in_place_scratch};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Col, Conj, Mat, MatRef, Par};
use pulp::Arch;

/// The widest registers of this machine, which the build's own target may not use.
static ARCH: LazyLock<Arch> = LazyLock::new(Arch::new);

/// The error of a solver that did not converge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoConvergence;

/// Computes eigenvalues, ascending, and optionally eigenvectors (column-major) of a symmetric
/// matrix of `n` rows.
///
/// `matrix` is column-major; entries above the diagonal are not read. O(n³).
///
/// # Panics
/// If there are not `n * n` values.
///
/// ```
/// let (values, vectors) = gnarl_linalg::symmetric_eigen(2, &[2.0, 1.0, 1.0, 2.0], true).unwrap();
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// assert!((vectors[2] - vectors[3]).abs() < 1e-15);
/// ```
pub fn symmetric_eigen(
    n: usize,
    matrix: &[f64],
    with_vectors: bool,
) -> Result<(Vec<f64>, Vec<f64>), NoConvergence> {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    if n == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut values = Col::<f64>::zeros(n);
    let mut vectors = if with_vectors {
        Mat::<f64>::zeros(n, n)
    } else {
        Mat::new()
    };
    let compute = if with_vectors {
        ComputeEigenvectors::Yes
    } else {
        ComputeEigenvectors::No
    };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(
        n,
        compute,
        Par::Seq,
        Default::default(),
    ));
    self_adjoint_evd(
        MatRef::from_column_major_slice(matrix, n, n),
        values.as_mut().as_diagonal_mut(),
        with_vectors.then(|| vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| NoConvergence)?;
    let columns = (0..vectors.ncols())
        .flat_map(|j| (0..n).map(move |i| (i, j)))
        .map(|at| vectors[at])
        .collect();
    Ok(((0..n).map(|i| values[i]).collect(), columns))
}

/// The error for a matrix that is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPositiveDefinite;

/// Solves `A x = b` for a symmetric positive definite matrix of `n` rows, by its Cholesky factor.
///
/// `matrix` is column-major; entries above the diagonal are not read. O(n³).
///
/// # Panics
/// If there are not `n * n` and `n` values.
///
/// ```
/// let x = gnarl_linalg::cholesky_solve(2, &[4.0, 2.0, 2.0, 3.0], &[8.0, 8.0]).unwrap();
/// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
/// assert!(gnarl_linalg::cholesky_solve(1, &[-1.0], &[1.0]).is_err());
/// ```
pub fn cholesky_solve(
    n: usize,
    matrix: &[f64],
    right: &[f64],
) -> Result<Vec<f64>, NotPositiveDefinite> {
    assert_eq!(
        (matrix.len(), right.len()),
        (n * n, n),
        "a square matrix and as many values as rows"
    );
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut factor = MatRef::from_column_major_slice(matrix, n, n).to_owned();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(
        n,
        Par::Seq,
        Default::default(),
    ));
    let stack = MemStack::new(&mut memory);
    cholesky_in_place(
        factor.as_mut(),
        Default::default(),
        Par::Seq,
        stack,
        Default::default(),
    )
    .map_err(|_| NotPositiveDefinite)?;
    let mut x = MatRef::from_column_major_slice(right, n, 1).to_owned();
    let mut memory = MemBuffer::new(solve_in_place_scratch::<f64>(n, 1, Par::Seq));
    solve_in_place_with_conj(
        factor.as_ref(),
        Conj::No,
        x.as_mut(),
        Par::Seq,
        MemStack::new(&mut memory),
    );
    let x: Vec<f64> = (0..n).map(|i| x[(i, 0)]).collect();
    // A NaN passes the factorisation's comparisons.
    if x.iter().all(|x| x.is_finite()) {
        Ok(x)
    } else {
        Err(NotPositiveDefinite)
    }
}

/// The error for a matrix with a value that is NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFinite;

/// Computes an orthonormal basis of the columns of a matrix of `rows` × `cols`, by its QR
/// factorisation with column pivoting.
///
/// Both matrices are column-major. There are as many columns as the rank, none for a matrix of
/// zeros. A remainder of a column of at most `tolerance` times the norm of the longest column
/// counts as rounding. Equal matrices give equal bases. O(rows · cols · min(rows, cols)).
///
/// # Panics
/// If there are not `rows * cols` values.
///
/// ```
/// // (3, 4) and its double span a line.
/// let basis = gnarl_linalg::orthonormal_basis(2, 2, &[3.0, 4.0, 6.0, 8.0], 1e-9).unwrap();
/// assert_eq!(basis.len(), 2);
/// assert!((basis[0].abs() - 0.6).abs() < 1e-15 && (basis[1].abs() - 0.8).abs() < 1e-15);
/// ```
pub fn orthonormal_basis(
    rows: usize,
    cols: usize,
    matrix: &[f64],
    tolerance: f64,
) -> Result<Vec<f64>, NotFinite> {
    assert_eq!(matrix.len(), rows * cols, "a value for each row and column");
    if !matrix.iter().all(|value| value.is_finite()) {
        return Err(NotFinite);
    }
    let size = rows.min(cols);
    if size == 0 {
        return Ok(Vec::new());
    }
    let mut factor = MatRef::from_column_major_slice(matrix, rows, cols).to_owned();
    let block = recommended_block_size::<f64>(rows, cols);
    let mut coefficients = Mat::<f64>::zeros(block, size);
    let (mut order, mut order_inverse) = (vec![0usize; cols], vec![0usize; cols]);
    let mut memory = MemBuffer::new(qr_in_place_scratch::<usize, f64>(
        rows,
        cols,
        block,
        Par::Seq,
        Default::default(),
    ));
    qr_in_place(
        factor.as_mut(),
        coefficients.as_mut(),
        &mut order,
        &mut order_inverse,
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    // The diagonal of R descends: the first entry is the norm of the longest column, each further
    // one the remainder of a column after projection on the previous ones.
    let rest = |k: usize| factor[(k, k)].abs();
    let rank = (0..size)
        .take_while(|&k| rest(k) > tolerance * rest(0))
        .count();
    let mut basis = Mat::<f64>::identity(rows, rank);
    let scratch =
        apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(rows, block, rank);
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        factor.as_ref(),
        coefficients.as_ref(),
        Conj::No,
        basis.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
    );
    Ok((0..rank)
        .flat_map(|j| (0..rows).map(move |i| (i, j)))
        .map(|at| basis[at])
        .collect())
}

/// Adds `c` times `x` to `sum`, in the widest registers of the machine. Products are rounded before
/// they are added, so that the registers change no bit. Excess entries of the longer slice are
/// ignored.
///
/// ```
/// let mut sum = [1.0, 2.0, 3.0];
/// gnarl_linalg::add_multiple(&mut sum, 2.0, &[1.0, 0.0, -1.0]);
/// assert_eq!(sum, [3.0, 2.0, 1.0]);
/// ```
pub fn add_multiple(sum: &mut [f64], c: f64, x: &[f64]) {
    ARCH.dispatch(
        #[inline(always)]
        || sum.iter_mut().zip(x).for_each(|(s, x)| *s += c * x),
    );
}

/// Computes the inner product, in eight running sums that fit vector registers; the bits do not
/// depend on the registers.
///
/// # Panics
/// If one is longer than the other.
///
/// ```
/// assert_eq!(gnarl_linalg::dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "vectors of one length");
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail: f64 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let sums = ARCH.dispatch(
        #[inline(always)]
        || {
            let mut sums = [0.0f64; 8];
            for (a, b) in xs.zip(ys) {
                for i in 0..8 {
                    sums[i] += a[i] * b[i];
                }
            }
            sums
        },
    );
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    /// Asserts that columns are orthonormal, and that every column of the matrix is the sum of its
    /// projections on them.
    fn assert_spans(rows: usize, matrix: &[f64], basis: &[f64]) {
        let columns: Vec<&[f64]> = basis.chunks_exact(rows).collect();
        for (i, a) in columns.iter().enumerate() {
            for (j, b) in columns.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!(
                    (dot(a, b) - expected).abs() < 1e-12,
                    "columns {i} and {j}: {}",
                    dot(a, b)
                );
            }
        }
        for column in matrix.chunks_exact(rows) {
            let mut rest = column.to_vec();
            for known in &columns {
                let part = dot(known, column);
                rest.iter_mut()
                    .zip(*known)
                    .for_each(|(r, k)| *r -= part * k);
            }
            assert!(
                dot(&rest, &rest).sqrt() < 1e-10 * dot(column, column).sqrt().max(1.0),
                "{rest:?}"
            );
        }
    }

    /// Returns values that look random and do not repeat.
    fn scattered(count: usize) -> Vec<f64> {
        (0..count)
            .map(|i| ((i * i * 7 + i * 3 + 1) % 101) as f64 / 50.0 - 1.0)
            .collect()
    }

    #[test]
    fn a_basis_is_orthonormal_and_spans_the_columns() {
        for (rows, cols) in [(5, 3), (3, 5), (40, 70), (90, 33), (1, 4), (4, 1)] {
            let matrix = scattered(rows * cols);
            let basis = orthonormal_basis(rows, cols, &matrix, 1e-9).unwrap();
            assert_eq!(basis.len(), rows * rows.min(cols), "{rows} × {cols}");
            assert_spans(rows, &matrix, &basis);
            assert_eq!(basis, orthonormal_basis(rows, cols, &matrix, 1e-9).unwrap());
        }
    }

    #[test]
    fn dependent_columns_are_left_out() {
        // The third column is the first plus twice the second; the fourth is zero.
        let (a, b) = ([1.0, 2.0, 0.0, -1.0], [0.0, 1.0, 1.0, 3.0]);
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + 2.0 * b).collect();
        let matrix: Vec<f64> = a.into_iter().chain(b).chain(sum).chain([0.0; 4]).collect();
        let basis = orthonormal_basis(4, 4, &matrix, 1e-9).unwrap();
        assert_eq!(basis.len(), 2 * 4);
        assert_spans(4, &matrix, &basis);
    }

    #[test]
    fn bases_of_zero_and_nonfinite_matrices() {
        assert_eq!(orthonormal_basis(3, 2, &[0.0; 6], 1e-9).unwrap(), [0.0; 0]);
        assert_eq!(orthonormal_basis(0, 2, &[], 1e-9).unwrap(), [0.0; 0]);
        assert_eq!(
            orthonormal_basis(2, 1, &[1.0, f64::NAN], 1e-9),
            Err(NotFinite)
        );
    }
}

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
