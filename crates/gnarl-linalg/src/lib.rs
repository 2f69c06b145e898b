//! Dense linear algebra behind plain functions on slices.
//!
//! faer's solvers are generic and take a minute to compile for each crate that calls them. Called from here they are
//! compiled once, and the crates above stay quick to build. Everything runs on one thread, so that the number of threads
//! cannot change the rounding.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Col, Mat, MatRef, Par};

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
