//! Lanczos solver for a few extreme eigenpairs of a large symmetric operator, from its products
//! with vectors alone.
//!
//! The method is band Lanczos with thick restarts and full reorthogonalisation (Wu and Simon 2000,
//! with the starting block of Ruhe 1979). The band is as wide as the number of requested
//! eigenpairs. A Krylov space grown from one vector holds one eigenvector of a multiple eigenvalue;
//! one grown from k random vectors holds k. If eigenvalues cluster at the requested end, such as a
//! Laplacian's near zero, the search continues with a Chebyshev polynomial of the operator (Zhou
//! and Saad 2007). Faer's own partial solver is not used: it finds largest magnitudes only, stops
//! at a breakdown, and panics on small operators.

use gnarl_linalg::{add_multiple, dot};
use rand::RngExt;
use rayon::prelude::*;

use super::eigen::{Block, Eigenpairs, blocks, check_symmetric, dense_columns, dense_eigen};
use crate::error::{Error, Result};
use crate::matrix::CsrMatrix;
use crate::random::stream;

const OP: &str = "eigenpairs";

/// Largest number of rows of an operator that is solved densely.
const DENSE_ROWS: usize = 200;

/// A symmetric linear map defined by its action on vectors.
pub trait SymmetricOperator {
    /// Returns the number of rows.
    fn dim(&self) -> usize;

    /// Computes `y = A x`. It must be deterministic, and symmetric: `x·Ay = y·Ax`.
    fn apply(&self, x: &[f64], y: &mut [f64]);
}

impl SymmetricOperator for CsrMatrix<f64> {
    fn dim(&self) -> usize {
        self.num_rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.mul_vec_into(x, y);
    }
}

/// The end of the spectrum to find, and the order of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Largest eigenvalues, descending.
    Largest,
    /// Smallest eigenvalues, ascending.
    Smallest,
    /// Eigenvalues of largest absolute value, descending in it.
    LargestMagnitude,
}

impl Which {
    /// Ranks an eigenvalue: higher ranks come first.
    fn rank(self, value: f64) -> f64 {
        match self {
            Which::Largest => value,
            Which::Smallest => -value,
            Which::LargestMagnitude => value.abs(),
        }
    }
}

/// Stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EigenSettings {
    /// Relative residual of accepted pairs, `‖A x - λ x‖ <= tolerance · ‖A‖`; the error of λ is at
    /// most that, and typically its square.
    pub tolerance: f64,
    /// Maximum number of products of the operator with a vector.
    pub max_products: usize,
}

impl Default for EigenSettings {
    /// Default settings: tolerance 1e-10, at most 200,000 products.
    fn default() -> Self {
        Self {
            tolerance: 1e-10,
            max_products: 200_000,
        }
    }
}

impl EigenSettings {
    fn check(&self) -> Result<()> {
        if self.tolerance > 0.0 && self.tolerance < 1.0 {
            return Ok(());
        }
        Err(Error::argument(
            OP,
            format!("tolerance {} is not between 0 and 1", self.tolerance),
        ))
    }
}

/// Computes the `k` eigenpairs of a symmetric sparse matrix at one end of its spectrum, each
/// connected block solved on its own.
///
/// Blocks of at most 200 rows are solved densely, larger ones as [`eigenpairs`] does. Every copy of
/// a multiple eigenvalue is found, for any number of components.
///
/// ```
/// use gnarl_graph::{operator::ClassicalOperator, spectrum::{sparse_eigenpairs, EigenSettings, Which}, Graph};
/// // Two components: the Laplacian has a zero for each.
/// let g = Graph::from_edges(4, [(0, 1), (2, 3)])?.0;
/// let l = ClassicalOperator::LAPLACIAN.matrix(&g)?;
/// let pairs = sparse_eigenpairs(&l, 3, Which::Smallest, &EigenSettings::default())?;
/// for (value, expected) in pairs.values.iter().zip([0.0, 0.0, 2.0]) {
///     assert!((value - expected).abs() < 1e-14);
/// }
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn sparse_eigenpairs(
    matrix: &CsrMatrix<f64>,
    k: usize,
    which: Which,
    settings: &EigenSettings,
) -> Result<Eigenpairs> {
    check_symmetric(matrix)?;
    check_count(matrix.num_rows(), k)?;
    let n = matrix.num_rows();
    let blocks = blocks(matrix);
    let mut found: Vec<(f64, usize, Vec<f64>)> = Vec::new();
    for (b, block) in blocks.iter().enumerate() {
        let pairs = block_columns(&block.matrix, k.min(block.nodes.len()), which, settings)?;
        found.extend(pairs.into_iter().map(|(value, x)| (value, b, x)));
        // Keep memory at k columns for any number of blocks.
        found.sort_by(|x, y| which.rank(y.0).total_cmp(&which.rank(x.0)));
        found.truncate(k);
    }
    let pairs = found
        .into_iter()
        .map(|(value, b, x)| (value, blocks[b].lift(&x, n)))
        .collect();
    Ok(Eigenpairs::from_columns(n, pairs, |x, y| {
        matrix.mul_vec_into(x, y)
    }))
}

/// Computes the `k` eigenvalues at one end of each connected block of a symmetric matrix, blocks
/// ordered by their smallest row.
pub(super) fn block_extremes(
    matrix: &CsrMatrix<f64>,
    k: usize,
    which: Which,
    settings: &EigenSettings,
) -> Result<Vec<Vec<f64>>> {
    check_symmetric(matrix)?;
    let values = |block: Block| -> Result<Vec<f64>> {
        let pairs = block_columns(&block.matrix, k.min(block.nodes.len()), which, settings)?;
        Ok(pairs.into_iter().map(|(value, _)| value).collect())
    };
    blocks(matrix).into_iter().map(values).collect()
}

/// Computes the `k` eigenpairs of one block.
fn block_columns(
    matrix: &CsrMatrix<f64>,
    k: usize,
    which: Which,
    settings: &EigenSettings,
) -> Result<Vec<(f64, Vec<f64>)>> {
    if use_dense(matrix.num_rows(), k) {
        let (values, columns) = dense_columns(matrix)?;
        return Ok(select(values.into_iter().zip(columns).collect(), k, which));
    }
    lanczos(matrix, k, which, settings)
}

/// Computes the `k` eigenpairs of a symmetric operator at one end of its spectrum.
///
/// Each restart costs about `4k + 40` products and orthogonalisations of length n; memory is
/// `9k + 80` vectors. Multiplicities up to `k` are found. Operators of at most 200 rows, or with
/// `k` close to their size, are solved densely. Fails with [`Error::NotConverged`] if the tolerance
/// is not reached.
pub fn eigenpairs(
    op: &dyn SymmetricOperator,
    k: usize,
    which: Which,
    settings: &EigenSettings,
) -> Result<Eigenpairs> {
    let n = op.dim();
    check_count(n, k)?;
    let pairs = if use_dense(n, k) {
        let (mut unit, mut image) = (vec![0.0; n], vec![0.0; n]);
        let columns = |write: &mut dyn FnMut(usize, usize, f64)| {
            for j in 0..n {
                unit[j] = 1.0;
                op.apply(&unit, &mut image);
                unit[j] = 0.0;
                image
                    .iter()
                    .enumerate()
                    .for_each(|(i, &value)| write(i, j, value));
            }
        };
        let (values, vectors) = dense_eigen(n, columns, true)?;
        select(values.into_iter().zip(vectors).collect(), k, which)
    } else {
        lanczos(op, k, which, settings)?
    };
    Ok(Eigenpairs::from_columns(n, pairs, |x, y| op.apply(x, y)))
}

fn check_count(n: usize, k: usize) -> Result<()> {
    if k <= n {
        Ok(())
    } else {
        Err(Error::argument(
            OP,
            format!("{k} eigenpairs of an operator with {n} rows"),
        ))
    }
}

fn use_dense(n: usize, k: usize) -> bool {
    n <= DENSE_ROWS || 2 * basis_size(k) > n
}

/// Returns the number of processed basis vectors before a restart.
fn basis_size(k: usize) -> usize {
    8 * k + 80
}

/// Returns the `k` first pairs by rank.
fn select(mut pairs: Vec<(f64, Vec<f64>)>, k: usize, which: Which) -> Vec<(f64, Vec<f64>)> {
    pairs.sort_by(|a, b| which.rank(b.0).total_cmp(&which.rank(a.0)));
    pairs.truncate(k);
    pairs
}

/// An orthonormal basis of which the first `processed` columns have been multiplied, and the
/// projected operator `T`, with `A V = V T` on the processed columns. The remaining `band` columns
/// are the front.
struct Krylov {
    basis: Vec<Vec<f64>>,
    processed: usize,
    band: usize,
    size: usize,
    /// Projected operator, row-major, `size + band` wide.
    projected: Vec<f64>,
    draws: u64,
}

/// Eigenpairs of the projected operator, by rank.
struct Ritz {
    values: Vec<f64>,
    coefficients: Vec<Vec<f64>>,
    /// Components of the operator's image outside the processed space, as coefficients on the
    /// front.
    leaks: Vec<Vec<f64>>,
}

impl Krylov {
    /// Starts from these orthonormal columns, extended to `band` by random ones; restarts at `size`
    /// columns.
    fn new(n: usize, start: Vec<Vec<f64>>, band: usize, size: usize) -> Self {
        let projected = vec![0.0; (size + band) * (size + band)];
        let mut state = Self {
            basis: start,
            processed: 0,
            band,
            size,
            projected,
            draws: 0,
        };
        while state.basis.len() < band {
            state.push_random(n);
        }
        state
    }

    /// Appends a random unit vector orthogonal to the basis.
    fn push_random(&mut self, n: usize) {
        loop {
            let mut rng = stream(0, "lanczos", self.draws);
            self.draws += 1;
            let mut x: Vec<f64> = (0..n).map(|_| rng.random::<f64>() - 0.5).collect();
            let before = norm(&x);
            orthogonalise(&self.basis, &mut x);
            let after = norm(&x);
            // The basis never spans more than half of the space, so a few samples are enough.
            if after > 1e-8 * before {
                x.iter_mut().for_each(|v| *v /= after);
                self.basis.push(x);
                return;
            }
        }
    }

    /// Grows the basis to its full size; returns the number of products.
    fn fill(&mut self, op: &dyn SymmetricOperator) -> usize {
        let before = self.processed;
        while self.processed < self.size {
            self.process(op);
        }
        self.size - before
    }

    /// Multiplies the next column and appends the new direction of the product.
    fn process(&mut self, op: &dyn SymmetricOperator) {
        let (j, next) = (self.processed, self.basis.len());
        let mut w = vec![0.0; op.dim()];
        op.apply(&self.basis[j], &mut w);
        let whole = norm(&w);
        let coefficients = orthogonalise(&self.basis, &mut w);
        for (i, h) in coefficients.into_iter().enumerate() {
            self.set(i, j, h);
        }
        let length = norm(&w);
        if length > 1e-14 * whole {
            w.iter_mut().for_each(|v| *v /= length);
            if length < 1e-8 * whole {
                // A short remainder is largely rounding, and its component in the basis grew as it
                // was scaled up.
                orthogonalise(&self.basis, &mut w);
                let again = norm(&w);
                w.iter_mut().for_each(|v| *v /= again);
            }
            self.basis.push(w);
            self.set(next, j, length);
        } else {
            // The space is invariant: continue in a new direction.
            self.push_random(op.dim());
            self.set(next, j, 0.0);
        }
        self.processed += 1;
    }

    fn ritz(&self, which: Which) -> Result<Ritz> {
        let size = self.size;
        let entries = |write: &mut dyn FnMut(usize, usize, f64)| {
            (0..size).for_each(|i| (0..=i).for_each(|j| write(i, j, self.get(i, j))));
        };
        let (values, columns) = dense_eigen(size, entries, true)?;
        let (values, coefficients): (Vec<f64>, Vec<Vec<f64>>) =
            select(values.into_iter().zip(columns).collect(), size, which)
                .into_iter()
                .unzip();
        let leak = |y: &Vec<f64>| {
            (size..size + self.band)
                .map(|i| dot(&self.row(i)[..size], y))
                .collect()
        };
        let leaks = coefficients.iter().map(leak).collect();
        Ok(Ritz {
            values,
            coefficients,
            leaks,
        })
    }

    /// Returns the first `count` Ritz vectors by rank.
    fn vectors(&self, ritz: &Ritz, count: usize) -> Vec<Vec<f64>> {
        ritz.coefficients[..count]
            .par_iter()
            .map(|y| combine(&self.basis[..self.size], y))
            .collect()
    }

    /// Shrinks the basis to the first Ritz vectors by rank and the front.
    fn restart(&mut self, ritz: &Ritz) {
        let kept = self.band + (self.size - self.band) / 2;
        let vectors = self.vectors(ritz, kept);
        let front = self.basis.split_off(self.size);
        self.basis = vectors.into_iter().chain(front).collect();
        self.projected.fill(0.0);
        for j in 0..kept {
            self.set(j, j, ritz.values[j]);
            for (i, &h) in ritz.leaks[j].iter().enumerate() {
                self.set(kept + i, j, h);
            }
        }
        self.processed = kept;
    }

    fn set(&mut self, i: usize, j: usize, value: f64) {
        let width = self.size + self.band;
        self.projected[i * width + j] = value;
        self.projected[j * width + i] = value;
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    fn row(&self, i: usize) -> &[f64] {
        let width = self.size + self.band;
        &self.projected[i * width..(i + 1) * width]
    }
}

/// A Chebyshev polynomial of an operator, small on `[center - half_width, center + half_width]` and
/// growing fast outside. Products are cheap compared with orthogonalisation. Spreading clustered
/// eigenvalues by many products per basis vector therefore pays off.
struct Filter<'a> {
    op: &'a dyn SymmetricOperator,
    center: f64,
    half_width: f64,
    degree: usize,
}

impl<'a> Filter<'a> {
    /// Maximum number of products per basis vector.
    const MAX_DEGREE: usize = 1000;

    /// Makes a filter that damps everything from `cut` to `far` and amplifies `wanted` a
    /// thousandfold above it.
    fn new(op: &'a dyn SymmetricOperator, wanted: f64, cut: f64, far: f64) -> Option<Self> {
        let (center, half_width) = ((cut + far) / 2.0, (far - cut).abs() / 2.0);
        let outside = ((wanted - center) / half_width).abs();
        if !(half_width > 0.0 && outside > 1.0 + 1e-12) {
            return None;
        }
        // Even, so that both ends of the spectrum are mapped upwards.
        let degree = 2 * (0.5 * 1000.0f64.acosh() / outside.acosh()).ceil() as usize;
        Some(Self {
            op,
            center,
            half_width,
            degree: degree.clamp(4, Self::MAX_DEGREE),
        })
    }
}

impl SymmetricOperator for Filter<'_> {
    fn dim(&self) -> usize {
        self.op.dim()
    }

    /// Applies the three-term recurrence `T_{j+1}(t) = 2 t T_j(t) - T_{j-1}(t)` at
    /// `t = (A - center) / half_width`.
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut previous = x.to_vec();
        let mut image = vec![0.0; x.len()];
        self.op.apply(x, &mut image);
        for ((y, image), x) in y.iter_mut().zip(&image).zip(x) {
            *y = (image - self.center * x) / self.half_width;
        }
        for _ in 1..self.degree {
            self.op.apply(y, &mut image);
            for ((y, previous), image) in y.iter_mut().zip(&mut previous).zip(&image) {
                let next = 2.0 * (image - self.center * *y) / self.half_width - *previous;
                *previous = std::mem::replace(y, next);
            }
        }
    }
}

/// Number of restarts on the operator itself before its filter takes over.
const PLAIN_RESTARTS: usize = 10;

fn lanczos(
    op: &dyn SymmetricOperator,
    k: usize,
    which: Which,
    settings: &EigenSettings,
) -> Result<Vec<(f64, Vec<f64>)>> {
    settings.check()?;
    if k == 0 {
        return Ok(Vec::new());
    }
    let n = op.dim();
    let mut state = Krylov::new(n, Vec::new(), k, basis_size(k));
    let mut filter: Option<Filter> = None;
    let (mut filterable, mut far) = (which != Which::LargestMagnitude, f64::NAN);
    let (mut products, mut scale, mut worst) = (0, 0.0f64, f64::INFINITY);
    for restart in 0.. {
        let ritz = match &filter {
            None => {
                products += state.fill(op);
                let ritz = state.ritz(which)?;
                scale = ritz.values.iter().fold(scale, |s, v| s.max(v.abs()));
                worst = ritz.leaks[..k]
                    .iter()
                    .map(|leak| norm(leak))
                    .fold(0.0, f64::max);
                ritz
            }
            Some(filter) => {
                products += filter.degree * state.fill(filter);
                state.ritz(Which::Largest)?
            }
        };
        if restart == 0 {
            // The opposite end is in reach before the first restart and slightly beyond its
            // estimate.
            let (end, leak) = (
                ritz.values[ritz.values.len() - 1],
                &ritz.leaks[ritz.leaks.len() - 1],
            );
            let margin = norm(leak) + 1e-3 * (end - ritz.values[0]).abs();
            far = if which == Which::Smallest {
                end + margin
            } else {
                end - margin
            };
        }
        if filter.is_some() || worst <= 0.5 * settings.tolerance * scale {
            let pairs = rayleigh_ritz(op, state.vectors(&ritz, k), which)?;
            products += k;
            worst = pairs
                .iter()
                .map(|(_, _, residual)| *residual)
                .fold(0.0, f64::max);
            if worst <= settings.tolerance * scale {
                let lifted = |f: &Filter| {
                    pairs
                        .iter()
                        .all(|(value, ..)| (value - far).abs() > 2.0 * f.half_width)
                };
                if filter.as_ref().is_none_or(lifted) {
                    return Ok(pairs.into_iter().map(|(value, x, _)| (value, x)).collect());
                }
                // An eigenvalue beyond `far` was amplified instead: the estimate of that end was
                // wrong.
                (filter, filterable) = (None, false);
                state = Krylov::new(n, Vec::new(), k, basis_size(k));
                continue;
            }
        }
        if products >= settings.max_products {
            break;
        }
        if restart == PLAIN_RESTARTS && filterable {
            filter = Filter::new(op, ritz.values[0], ritz.values[2 * k + 8], far);
            if filter.is_some() {
                state = Krylov::new(n, state.vectors(&ritz, k), k, 4 * k + 16);
                continue;
            }
        }
        state.restart(&ritz);
    }
    Err(Error::NotConverged {
        op: OP,
        iterations: products,
        residual: worst / scale.max(f64::MIN_POSITIVE),
        tolerance: settings.tolerance,
    })
}

/// Computes the eigenpairs of the operator restricted to the span of orthonormal columns, by rank,
/// each with the norm of its residual.
fn rayleigh_ritz(
    op: &dyn SymmetricOperator,
    columns: Vec<Vec<f64>>,
    which: Which,
) -> Result<Vec<(f64, Vec<f64>, f64)>> {
    let k = columns.len();
    let mut images = vec![vec![0.0; op.dim()]; k];
    columns
        .iter()
        .zip(&mut images)
        .for_each(|(x, y)| op.apply(x, y));
    let entries = |write: &mut dyn FnMut(usize, usize, f64)| {
        (0..k).for_each(|i| (0..=i).for_each(|j| write(i, j, dot(&columns[i], &images[j]))));
    };
    let (values, rotations) = dense_eigen(k, entries, true)?;
    let pairs = select(values.into_iter().zip(rotations).collect(), k, which);
    Ok(pairs
        .into_iter()
        .map(|(value, y)| {
            let (x, mut image) = (combine(&columns, &y), combine(&images, &y));
            image
                .iter_mut()
                .zip(&x)
                .for_each(|(image, x)| *image -= value * x);
            (value, x, norm(&image))
        })
        .collect())
}

/// Orthogonalises `w` against an orthonormal basis, twice for full precision; returns the
/// coefficients removed. Sums run in a fixed order for any number of threads.
fn orthogonalise(basis: &[Vec<f64>], w: &mut [f64]) -> Vec<f64> {
    const ROWS: usize = 2048;
    let mut total = vec![0.0; basis.len()];
    for _ in 0..2 {
        let dots: Vec<f64> = basis
            .par_iter()
            .with_min_len(8)
            .map(|v| dot(v, w))
            .collect();
        w.par_chunks_mut(ROWS).enumerate().for_each(|(c, part)| {
            let columns = basis.iter().map(|v| &v[c * ROWS..]);
            columns
                .zip(&dots)
                .for_each(|(column, h)| add_multiple(part, -h, column));
        });
        total.iter_mut().zip(dots).for_each(|(t, h)| *t += h);
    }
    total
}

/// Combines columns with these coefficients.
fn combine(columns: &[Vec<f64>], coefficients: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; columns[0].len()];
    columns
        .iter()
        .zip(coefficients)
        .for_each(|(column, &c)| add_multiple(&mut sum, c, column));
    sum
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::super::eigen::symmetric_eigenvalues;
    use super::super::samples::*;
    use super::*;
    use crate::graph::Graph;
    use crate::operator::ClassicalOperator as Op;

    const ALL: [Which; 3] = [Which::Largest, Which::Smallest, Which::LargestMagnitude];

    fn solve(graph: &Graph, op: Op, k: usize, which: Which) -> Eigenpairs {
        eigenpairs(
            &op.matrix(graph).unwrap(),
            k,
            which,
            &EigenSettings::default(),
        )
        .unwrap()
    }

    /// A matrix defined by its products alone, which are counted.
    struct Counted<'a>(&'a CsrMatrix<f64>, std::cell::Cell<usize>);

    impl SymmetricOperator for Counted<'_> {
        fn dim(&self) -> usize {
            self.0.num_rows()
        }

        fn apply(&self, x: &[f64], y: &mut [f64]) {
            self.1.set(self.1.get() + 1);
            self.0.mul_vec_into(x, y);
        }
    }

    #[test]
    fn closed_forms_beyond_the_dense_size() {
        let n = 400;
        let cos = |j: f64| 2.0 * (PI * j).cos();
        let largest = solve(&path(n), Op::ADJACENCY, 4, Which::Largest);
        assert_close(
            &largest.values,
            &[1.0, 2.0, 3.0, 4.0].map(|j| cos(j / 401.0)),
            1e-10,
        );
        // The clustered end, at which the filter takes over: the first eigenvalue is 6e-5 of an
        // operator of norm 4.
        let smallest = solve(&path(n), Op::LAPLACIAN, 4, Which::Smallest);
        assert_close(
            &smallest.values,
            &[0.0, 1.0, 2.0, 3.0].map(|j| 2.0 - cos(j / 400.0)),
            1e-10,
        );
        // Every eigenvalue of a cycle but the first is double.
        let largest = solve(&cycle(n), Op::ADJACENCY, 5, Which::Largest);
        assert_close(
            &largest.values,
            &[0.0, 1.0, 1.0, 2.0, 2.0].map(|j| cos(j / 200.0)),
            1e-10,
        );
        let root = 399f64.sqrt();
        let both = solve(&star(n), Op::ADJACENCY, 2, Which::LargestMagnitude).values;
        assert_close(
            &[both[0].min(both[1]), both[0].max(both[1])],
            &[-root, root],
            1e-9,
        );
        assert_close(
            &solve(&star(n), Op::LAPLACIAN, 2, Which::Largest).values,
            &[400.0, 1.0],
            1e-9,
        );
        let bipartite = complete_bipartite(150, 250);
        let root = 37_500f64.sqrt();
        assert_close(
            &solve(&bipartite, Op::ADJACENCY, 3, Which::Smallest).values,
            &[-root, 0.0, 0.0],
            1e-8,
        );
    }

    #[test]
    fn every_copy_of_a_multiple_eigenvalue() {
        let found = solve(&complete(300), Op::ADJACENCY, 6, Which::Smallest);
        assert_close(&found.values, &[-1.0; 6], 1e-9);
        for i in 0..6 {
            for j in 0..i {
                let inner = dot(&found.vector(i), &found.vector(j));
                assert!(
                    inner.abs() < 1e-9,
                    "eigenvectors {i} and {j} are not orthogonal: {inner}"
                );
            }
        }
        // Five equal components through the operator alone, and one block at a time.
        let graph = disjoint(&random(90, 300, 7).largest_component().0, 5);
        let matrix = Op::LAPLACIAN.matrix(&graph).unwrap();
        let expected = symmetric_eigenvalues(&matrix).unwrap();
        let whole = eigenpairs(&matrix, 7, Which::Smallest, &EigenSettings::default()).unwrap();
        let blocks =
            sparse_eigenpairs(&matrix, 7, Which::Smallest, &EigenSettings::default()).unwrap();
        assert_close(&whole.values, &expected[..7], 1e-9);
        assert_close(&blocks.values, &expected[..7], 1e-9);
        assert!(
            expected[4] < 1e-10 && expected[5] > 0.1,
            "five zeros, then a gap: {:?}",
            &expected[..7]
        );
    }

    #[test]
    fn agrees_with_the_dense_solver_on_random_graphs() {
        for (seed, n) in [(1, 300), (2, 400), (3, 500)] {
            // Sparse enough to leave isolated nodes and small components behind.
            let graph = random(n, 2 * n as usize, seed);
            for op in [
                Op::ADJACENCY,
                Op::LAPLACIAN,
                Op::SYMMETRIC_LAPLACIAN,
                Op::NORMALISED_ADJACENCY,
            ] {
                let matrix = op.matrix(&graph).unwrap();
                let all = symmetric_eigenvalues(&matrix).unwrap();
                for which in ALL {
                    let mut expected = all.clone();
                    expected.sort_by(|a, b| which.rank(*b).total_cmp(&which.rank(*a)));
                    for found in [
                        eigenpairs(&matrix, 8, which, &EigenSettings::default()).unwrap(),
                        sparse_eigenpairs(&matrix, 8, which, &EigenSettings::default()).unwrap(),
                    ] {
                        assert_close(&found.values, &expected[..8], 1e-9);
                        assert!(
                            found
                                .residuals
                                .iter()
                                .all(|r| *r <= 1e-10 * all[all.len() - 1].max(-all[0]) * 1.01)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let graph = random(3000, 9000, 5);
        let matrix = Op::LAPLACIAN.matrix(&graph).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                ALL.map(|which| eigenpairs(&matrix, 3, which, &EigenSettings::default()).unwrap())
            })
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn invariant_spaces_do_not_stop_the_search() {
        // All of these have a Krylov space of one or two dimensions for any starting vector.
        let n = 300;
        let zero = Op::ADJACENCY.matrix(&Graph::empty(n).unwrap()).unwrap();
        assert_close(
            &eigenpairs(&zero, 3, Which::Largest, &EigenSettings::default())
                .unwrap()
                .values,
            &[0.0; 3],
            0.0,
        );
        let identity = CsrMatrix::<f64>::identity(n);
        let found = eigenpairs(&identity, 3, Which::Smallest, &EigenSettings::default()).unwrap();
        assert_close(&found.values, &[1.0; 3], 1e-12);
        let pairs = Op::ADJACENCY.matrix(&disjoint(&path(2), 150)).unwrap();
        let found = eigenpairs(&pairs, 3, Which::Smallest, &EigenSettings::default()).unwrap();
        assert_close(&found.values, &[-1.0; 3], 1e-12);
    }

    #[test]
    fn small_operators_and_odd_requests() {
        let g = path(5);
        let m = Op::ADJACENCY.matrix(&g).unwrap();
        let settings = EigenSettings::default();
        let all = eigenpairs(&m, 5, Which::LargestMagnitude, &settings).unwrap();
        assert_close(
            &all.values.iter().map(|x| x.abs()).collect::<Vec<_>>(),
            &[3f64.sqrt(), 3f64.sqrt(), 1.0, 1.0, 0.0],
            1e-14,
        );
        assert!(
            eigenpairs(&m, 0, Which::Largest, &settings)
                .unwrap()
                .values
                .is_empty()
        );
        assert!(
            solve(&path(300), Op::ADJACENCY, 0, Which::Largest)
                .values
                .is_empty()
        );
        for e in [
            eigenpairs(&m, 6, Which::Largest, &settings),
            sparse_eigenpairs(&m, 6, Which::Largest, &settings),
        ] {
            assert_eq!(
                e.unwrap_err().to_string(),
                "eigenpairs: 6 eigenpairs of an operator with 5 rows"
            );
        }
        let loose = EigenSettings {
            tolerance: 0.0,
            ..settings
        };
        let big = Op::ADJACENCY.matrix(&path(300)).unwrap();
        let e = eigenpairs(&big, 1, Which::Largest, &loose)
            .unwrap_err()
            .to_string();
        assert_eq!(e, "eigenpairs: tolerance 0 is not between 0 and 1");
    }

    #[test]
    fn giving_up_says_how_far_it_came() {
        let m = Op::LAPLACIAN.matrix(&path(3000)).unwrap();
        let op = Counted(&m, Default::default());
        let few = EigenSettings {
            max_products: 100,
            ..EigenSettings::default()
        };
        let e = eigenpairs(&op, 1, Which::Smallest, &few).unwrap_err();
        match e {
            Error::NotConverged {
                iterations,
                residual,
                tolerance,
                ..
            } => {
                assert_eq!((iterations, tolerance), (op.1.get(), 1e-10));
                assert!((100..300).contains(&iterations), "{iterations}");
                assert!(residual > 1e-10 && residual < 1.0, "{residual}");
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_filter_is_a_chebyshev_polynomial_and_finds_crowded_ends() {
        for n in [1000, 2000] {
            let m = Op::LAPLACIAN.matrix(&path(n)).unwrap();
            let found = eigenpairs(&m, 2, Which::Smallest, &EigenSettings::default()).unwrap();
            let expected = 2.0 - 2.0 * (PI / n as f64).cos();
            assert!(
                (found.values[1] / expected - 1.0).abs() < 1e-6,
                "{} instead of {expected}",
                found.values[1]
            );
        }
        let m = Op::LAPLACIAN.matrix(&path(1000)).unwrap();
        let filter = Filter::new(&m, 0.0, 0.1, 4.0).unwrap();
        // cosh(degree · acosh(x)) at the wanted end, at most one in the damped interval.
        assert_eq!(filter.degree % 2, 0);
        let gain = (filter.degree as f64 * ((0.0 - 2.05) / 1.95f64).abs().acosh()).cosh();
        assert!((1000.0..4000.0).contains(&gain), "{gain}");
        let ones = vec![1.0; 1000];
        let mut image = vec![0.0; 1000];
        filter.apply(&ones, &mut image);
        assert!(
            image.iter().all(|y| (y / gain - 1.0).abs() < 1e-10),
            "{} instead of {gain}",
            image[0]
        );
    }
}
