//! Dense linear algebra behind plain functions on slices.
//!
//! faer's solvers are generic and take a minute to compile for each crate that calls them. Called from here they are
//! compiled once, and the crates above stay quick to build. Everything runs on one thread, so that the number of threads
//! cannot change the rounding.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::cholesky::llt::solve::{solve_in_place_scratch, solve_in_place_with_conj};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Col, Conj, Mat, MatRef, Par};

/// A solver that did not converge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoConvergence;

/// Eigenvalues, ascending, and where asked for the eigenvectors (column-major) of a symmetric matrix of `n` rows.
///
/// `matrix` is column-major; what stands above the diagonal is not read. O(n³).
///
/// # Panics
/// If there are not `n * n` values.
///
/// ```
/// let (values, vectors) = gnarl_linalg::symmetric_eigen(2, &[2.0, 1.0, 1.0, 2.0], true).unwrap();
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// assert!((vectors[2] - vectors[3]).abs() < 1e-15);
/// ```
pub fn symmetric_eigen(n: usize, matrix: &[f64], with_vectors: bool) -> Result<(Vec<f64>, Vec<f64>), NoConvergence> {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    if n == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut values = Col::<f64>::zeros(n);
    let mut vectors = if with_vectors { Mat::<f64>::zeros(n, n) } else { Mat::new() };
    let compute = if with_vectors { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, compute, Par::Seq, Default::default()));
    self_adjoint_evd(
        MatRef::from_column_major_slice(matrix, n, n),
        values.as_mut().as_diagonal_mut(),
        with_vectors.then(|| vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| NoConvergence)?;
    let columns = (0..vectors.ncols()).flat_map(|j| (0..n).map(move |i| (i, j))).map(|at| vectors[at]).collect();
    Ok(((0..n).map(|i| values[i]).collect(), columns))
}

/// A matrix that is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPositiveDefinite;

/// Solves `A x = b` for a symmetric positive definite matrix of `n` rows, by its Cholesky factor.
///
/// `matrix` is column-major; what stands above the diagonal is not read. O(n³).
///
/// # Panics
/// If there are not `n * n` and `n` values.
///
/// ```
/// let x = gnarl_linalg::cholesky_solve(2, &[4.0, 2.0, 2.0, 3.0], &[8.0, 8.0]).unwrap();
/// assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
/// assert!(gnarl_linalg::cholesky_solve(1, &[-1.0], &[1.0]).is_err());
/// ```
pub fn cholesky_solve(n: usize, matrix: &[f64], right: &[f64]) -> Result<Vec<f64>, NotPositiveDefinite> {
    assert_eq!((matrix.len(), right.len()), (n * n, n), "a square matrix and as many values as rows");
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut factor = MatRef::from_column_major_slice(matrix, n, n).to_owned();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    cholesky_in_place(factor.as_mut(), Default::default(), Par::Seq, stack, Default::default())
        .map_err(|_| NotPositiveDefinite)?;
    let mut x = MatRef::from_column_major_slice(right, n, 1).to_owned();
    let mut memory = MemBuffer::new(solve_in_place_scratch::<f64>(n, 1, Par::Seq));
    solve_in_place_with_conj(factor.as_ref(), Conj::No, x.as_mut(), Par::Seq, MemStack::new(&mut memory));
    let x: Vec<f64> = (0..n).map(|i| x[(i, 0)]).collect();
    // A NaN passes the factorisation's comparisons.
    if x.iter().all(|x| x.is_finite()) { Ok(x) } else { Err(NotPositiveDefinite) }
}
