//! Spectra of graph operators: eigenvalues and eigenvectors, the spectrum of the Markov averaging
//! operator `M = V⁻¹ A`, its moments, bound and gap, Cheeger constants and the inequalities between
//! them.
//!
//! | module | contents |
//! | --- | --- |
//! | `eigen` | all eigenvalues or eigenpairs of a symmetric sparse matrix, dense, one connected block at a time |
//! | `lanczos` | a few extreme eigenpairs of a large symmetric operator, from its products alone |
//! | `markov` | the centrality operators: similar symmetric problem, moments, bound, gap |
//! | `cheeger` | Cheeger constants, exact for small graphs and upper bounds by sweep cuts for larger ones |
//! | `energy` | Dirichlet energies of a graph's features and classes |
//! | `report` | all of it for one graph and one centrality, with the inequalities and their slack |
//!
//! Everything is in `f64`, and no result depends on the number of threads.

mod cheeger;
mod eigen;
mod energy;
mod lanczos;
mod markov;
mod report;

pub use self::cheeger::{Boundary, Cut, EXACT_CHEEGER_NODES, cheeger_exact, cheeger_upper_bound};
pub use self::eigen::{Eigenpairs, symmetric_eigenpairs, symmetric_eigenvalues};
pub use self::energy::{Energies, Energy, energies};
pub use self::lanczos::{EigenSettings, SymmetricOperator, Which, eigenpairs, sparse_eigenpairs};
pub use self::markov::{
    EigenvalueBound, Gap, Moments, centrality_eigenpairs, centrality_laplacian, eigenvalue_bound,
    gap, markov_symmetric, moments,
};
pub use self::report::{
    CheegerReport, Inequality, OperatorSpectrum, ReportSettings, Source, SpectrumReport, num_parts,
    report, report_watched,
};

/// Graphs with known spectra, and random ones.
#[cfg(test)]
mod samples {
    use rand::RngExt;

    use crate::graph::Graph;
    use crate::random::stream;

    pub fn path(n: u32) -> Graph {
        Graph::from_edges(n as usize, (1..n).map(|u| (u - 1, u)))
            .unwrap()
            .0
    }

    pub fn cycle(n: u32) -> Graph {
        Graph::from_edges(n as usize, (0..n).map(|u| (u, (u + 1) % n)))
            .unwrap()
            .0
    }

    pub fn complete(n: u32) -> Graph {
        Graph::from_edges(
            n as usize,
            (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))),
        )
        .unwrap()
        .0
    }

    /// Returns a star with node 0 in the middle.
    pub fn star(n: u32) -> Graph {
        complete_bipartite(1, n - 1)
    }

    pub fn complete_bipartite(a: u32, b: u32) -> Graph {
        Graph::from_edges(
            (a + b) as usize,
            (0..a).flat_map(|u| (a..a + b).map(move |v| (u, v))),
        )
        .unwrap()
        .0
    }

    /// Returns disjoint copies of a graph.
    pub fn disjoint(graph: &Graph, copies: u32) -> Graph {
        let n = graph.num_nodes() as u32;
        let edges =
            (0..copies).flat_map(|c| graph.edges().map(move |(u, v)| (c * n + u, c * n + v)));
        Graph::from_edges((copies * n) as usize, edges.collect::<Vec<_>>())
            .unwrap()
            .0
    }

    /// Samples `m` pairs of nodes.
    pub fn random(n: u32, m: usize, seed: u64) -> Graph {
        let mut rng = stream(seed, "test graph", 0);
        let edges: Vec<(u32, u32)> = (0..m)
            .map(|_| (rng.random_range(0..n), rng.random_range(0..n)))
            .collect();
        Graph::from_edges(n as usize, edges).unwrap().0
    }

    /// Asserts that two lists agree to `tolerance`.
    pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (i, (f, e)) in found.iter().zip(expected).enumerate() {
            assert!((f - e).abs() <= tolerance, "value {i}: {f} instead of {e}");
        }
    }
}
