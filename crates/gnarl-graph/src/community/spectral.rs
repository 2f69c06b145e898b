//! Spectral clustering with centrality graph shift operators (CGSOs, [Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2411.04655)): k-means on the eigenvectors of the C largest
//! eigenvalues of `V^e2 A V^e3`, one row of coordinates per node.
//!
//! The published runs gave this non-symmetric matrix to a symmetric solver. Here the similar `V^s A
//! V^s` with `s = (e2 + e3) / 2` is solved, and its eigenvectors are transformed by `V^((e2 - e3) /
//! 2)`. Exponents with equal sums share the eigenproblem: [`SpectralBasis`] is solved once for all
//! of them.

use super::kmeans::{KMeans, kmeans};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::DenseMatrix;
use crate::operator::powers;
use crate::spectrum::{Eigenpairs, Which, centrality_eigenpairs};

const OP: &str = "spectral clustering";

/// Eigenvectors of the largest eigenvalues of `V^s A V^s`, from which the eigenvectors of every
/// `V^e2 A V^e3` with `e2 + e3 = 2s` follow.
#[derive(Debug, Clone)]
pub struct SpectralBasis {
    pairs: Eigenpairs,
    s: f64,
}

impl SpectralBasis {
    /// Solves for the `count` largest eigenvalues with `s = half_sum`; `v` as in
    /// [`centrality_operator`](crate::operator::centrality_operator).
    ///
    /// Fails if there are fewer nodes than that, no edges, or a power out of range. A disconnected
    /// graph is no error: its eigenvectors are the eigenvectors of its components, so parts with
    /// small eigenvalues share the coordinates zero.
    pub fn new(graph: &Graph, v: &[f64], half_sum: f64, count: usize) -> Result<Self> {
        if graph.num_edges() == 0 {
            return Err(Error::unsupported(
                OP,
                "the graph has no edges, so every direction is an eigenvector",
            ));
        }
        if count == 0 || count > graph.num_nodes() {
            let n = graph.num_nodes();
            return Err(Error::argument(
                OP,
                format!("{count} clusters of {n} nodes, from 1 to {n} are possible"),
            ));
        }
        let pairs = centrality_eigenpairs(graph, v, half_sum, half_sum, count, Which::Largest)?;
        Ok(Self { pairs, s: half_sum })
    }

    /// Returns the eigenvalues, descending: those of every operator that shares the basis.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.pairs.values
    }

    /// Returns a row of coordinates for each node: the eigenvectors of `V^e2 A V^e3`, each of unit
    /// length, with `e2 = s + half_difference` and `e3 = s - half_difference`.
    pub fn embedding(
        &self,
        graph: &Graph,
        v: &[f64],
        half_difference: f64,
    ) -> Result<DenseMatrix<f64>> {
        let mut rows = self.pairs.vectors.clone();
        if half_difference == 0.0 {
            return Ok(rows);
        }
        let back = powers(graph, v, half_difference)?;
        let mut squares = vec![0.0; rows.num_cols()];
        for i in 0..rows.num_rows() {
            for (x, square) in rows.row_mut(i).iter_mut().zip(&mut squares) {
                *x *= back[i];
                *square += *x * *x;
            }
        }
        let lengths: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
        if lengths.iter().any(|l| !(l.is_finite() && *l > 0.0)) {
            let (e2, e3) = (self.s + half_difference, self.s - half_difference);
            return Err(Error::argument(
                OP,
                format!("exponents {e2} and {e3} take the eigenvectors out of range"),
            ));
        }
        for i in 0..rows.num_rows() {
            rows.row_mut(i)
                .iter_mut()
                .zip(&lengths)
                .for_each(|(x, length)| *x /= length);
        }
        Ok(rows)
    }
}

/// Clusters the nodes by k-means on the eigenvectors of the largest eigenvalues of `V^e2 A V^e3`,
/// one eigenvector per cluster.
///
/// Fails as [`SpectralBasis::new`] and [`kmeans`] do.
///
/// ```
/// use gnarl_graph::{centrality::degrees, community::{spectral_clustering, KMeans}, Graph};
/// // Two triangles joined by an edge.
/// let g = Graph::from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)])?.0;
/// let found = spectral_clustering(&g, &degrees(&g), (-0.5, -0.5), &KMeans::new(2), 7)?;
/// assert!(found[..3].iter().all(|c| *c == found[0]) && found[3..].iter().all(|c| *c != found[0]));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn spectral_clustering(
    graph: &Graph,
    v: &[f64],
    (e2, e3): (f64, f64),
    settings: &KMeans,
    seed: u64,
) -> Result<Vec<u32>> {
    let basis = SpectralBasis::new(graph, v, (e2 + e3) / 2.0, settings.clusters)?;
    Ok(kmeans(&basis.embedding(graph, v, (e2 - e3) / 2.0)?, settings, seed)?.of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centrality::Centrality;
    use crate::generate::{SbbamConfig, sbbam};
    use crate::metrics::adjusted_rand_index;
    use crate::operator::centrality_operator;

    /// Every column must solve `V^e2 A V^e3 x = λ x`, however it was computed.
    #[test]
    fn columns_are_eigenvectors_of_the_operator_itself() {
        let g = sbbam(&SbbamConfig::default(), 3).unwrap();
        for centrality in Centrality::ALL {
            let v = centrality.values(&g).unwrap();
            for (e2, e3) in [(-0.5, -0.5), (-1.0, 0.0), (0.25, -1.25), (1.5, 0.5)] {
                let basis = SpectralBasis::new(&g, &v, (e2 + e3) / 2.0, 4).unwrap();
                let rows = basis.embedding(&g, &v, (e2 - e3) / 2.0).unwrap();
                let operator = centrality_operator(&g, &v, e2, e3).unwrap();
                for (j, value) in basis.eigenvalues().iter().enumerate() {
                    let x: Vec<f64> = (0..300).map(|i| rows.row(i)[j]).collect();
                    let length: f64 = x.iter().map(|x| x * x).sum();
                    assert!((length - 1.0).abs() < 1e-12);
                    let image = operator.mul_vec(&x);
                    let off = image
                        .iter()
                        .zip(&x)
                        .map(|(y, x)| (y - value * x).powi(2))
                        .sum::<f64>()
                        .sqrt();
                    assert!(
                        off < 1e-7 * basis.eigenvalues()[0].abs(),
                        "{centrality} {e2} {e3}: {off} of {value}"
                    );
                }
            }
        }
    }

    #[test]
    fn permutation_equivariance() {
        let g = sbbam(&SbbamConfig::default(), 5).unwrap();
        let new_ids: Vec<u32> = (0..300).map(|u| (u * 7 + 11) % 300).collect();
        let h = g.permute(&new_ids).unwrap();
        let rows = |g: &Graph| {
            let v = Centrality::CORE.values(g).unwrap();
            SpectralBasis::new(g, &v, -0.25, 3)
                .unwrap()
                .embedding(g, &v, 0.5)
                .unwrap()
        };
        let (of_g, of_h) = (rows(&g), rows(&h));
        for j in 0..3 {
            let sign = (of_g.row(0)[j] * of_h.row(new_ids[0] as usize)[j]).signum();
            for u in 0..300 {
                assert!(
                    (of_g.row(u)[j] - sign * of_h.row(new_ids[u] as usize)[j]).abs() < 1e-8,
                    "node {u}, column {j}"
                );
            }
        }
    }

    #[test]
    fn isolated_nodes_and_parts_have_an_answer_and_the_impossible_an_error() {
        // Two triangles and an isolated node: eigenvalue 2 twice, and 0.
        let g = Graph::from_edges(7, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
            .unwrap()
            .0;
        let v = Centrality::CORE.values(&g).unwrap();
        let of = spectral_clustering(&g, &v, (-0.5, -0.5), &KMeans::new(3), 0).unwrap();
        assert_eq!(
            adjusted_rand_index(&of, &[0, 0, 0, 1, 1, 1, 2]).unwrap(),
            1.0,
            "{of:?}"
        );

        let fault = |g: &Graph, k, e| {
            let v = Centrality::DEGREE.values(g).unwrap();
            spectral_clustering(g, &v, e, &KMeans::new(k), 0)
                .unwrap_err()
                .to_string()
        };
        let half = (-0.5, -0.5);
        assert_eq!(
            fault(&g, 8, half),
            "spectral clustering: 8 clusters of 7 nodes, from 1 to 7 are possible"
        );
        assert_eq!(
            fault(&g, 0, half),
            "spectral clustering: 0 clusters of 7 nodes, from 1 to 7 are possible"
        );
        for n in [0, 1, 5] {
            let e = fault(&Graph::empty(n).unwrap(), 1, half);
            assert_eq!(
                e,
                "spectral clustering: the graph has no edges, so every direction is an eigenvector"
            );
        }
        assert!(fault(&g, 2, (f64::NAN, 0.0)).contains("out of range"));
        assert!(fault(&g, 2, (4000.0, 0.0)).contains("out of range"));
    }
}
