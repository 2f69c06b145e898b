//! The Markov averaging operator `M = V⁻¹ A` and the fixed centrality operators `V^e2 A V^e3`
//! (CGSOs, [Abbahaddou et al. 2024](https://arxiv.org/abs/2411.04655)): spectrum, moments, bound
//! and gap.
//!
//! A zero in `v` counts as one, as in
//! [`centrality_operator`](crate::operator::centrality_operator). PageRank and core numbers come
//! from [`centrality`](crate::centrality), which uses the standard stochastic matrix and prunes to
//! a fixed point.

use super::eigen::Eigenpairs;
use super::lanczos::{EigenSettings, Which, block_extremes, sparse_eigenpairs};
use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::CsrMatrix;
use crate::operator::{assemble, centrality_operator, powers};
use crate::properties::components;

/// Threshold for zero eigenvalues of `I - M`, relative to the larger of one and `|λ(M)|`.
const ZERO: f64 = 1e-9;

/// Returns `V^-1/2 A V^-1/2`, the symmetric matrix with the spectrum of `M = V⁻¹ A`.
pub fn markov_symmetric(graph: &Graph, v: &[f64]) -> Result<CsrMatrix<f64>> {
    symmetric_operator(graph, v, -0.5)
}

/// Returns `V^e A V^e`, equal to its transpose to the last bit.
fn symmetric_operator(graph: &Graph, v: &[f64], e: f64) -> Result<CsrMatrix<f64>> {
    let p = powers(graph, v, e)?;
    Ok(assemble(
        graph,
        |_| 0.0,
        |u, w, weight| weight * (p[u] * p[w]),
    ))
}

/// Returns `V^-1/2 (D - A) V^-1/2`, the symmetric matrix with the spectrum of the centrality
/// Laplacian `L_v = V⁻¹ (D - A)`.
///
/// An eigenvector `u` of it gives the eigenvector `V^-1/2 u` of `L_v`.
pub fn centrality_laplacian(graph: &Graph, v: &[f64]) -> Result<CsrMatrix<f64>> {
    let (p, degree) = (powers(graph, v, -0.5)?, degrees(graph));
    Ok(assemble(
        graph,
        |u| degree[u] * (p[u] * p[u]),
        |u, w, weight| -(weight * (p[u] * p[w])),
    ))
}

/// Computes the `k` eigenpairs of `V^e2 A V^e3` at one end of its spectrum, eigenvectors of unit
/// length.
///
/// The published experiments gave this non-symmetric matrix to a symmetric solver. Here the similar
/// `V^s A V^s` with `s = (e2 + e3) / 2` is solved, and its eigenvectors are transformed by
/// `V^((e2 - e3) / 2)`.
pub fn centrality_eigenpairs(
    graph: &Graph,
    v: &[f64],
    e2: f64,
    e3: f64,
    k: usize,
    which: Which,
) -> Result<Eigenpairs> {
    let similar = symmetric_operator(graph, v, (e2 + e3) / 2.0)?;
    let pairs = sparse_eigenpairs(&similar, k, which, &EigenSettings::default())?;
    if e2 == e3 {
        return Ok(pairs);
    }
    let back = powers(graph, v, (e2 - e3) / 2.0)?;
    let columns = (0..k).map(|j| {
        let x = pairs
            .vector(j)
            .iter()
            .zip(&back)
            .map(|(x, b)| x * b)
            .collect();
        (pairs.values[j], x)
    });
    let operator = centrality_operator(graph, v, e2, e3)?;
    Ok(Eigenpairs::from_columns(
        graph.num_nodes(),
        columns.collect(),
        |x, y| operator.mul_vec_into(x, y),
    ))
}

/// Mean and standard deviation of the spectrum of `M`, from traces, next to the values of the
/// published formulas.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Moments {
    /// Mean of the eigenvalues, `trace(M) / n`.
    pub mean: f64,
    /// Second moment of the eigenvalues, `trace(M²) / n`.
    pub second_moment: f64,
    /// Standard deviation of the eigenvalues.
    pub standard_deviation: f64,
    /// Published mean, `(1/n) Σ 1/v(i)`.
    pub published_mean: f64,
    /// Published standard deviation; `None` if its formula has a negative number under the root.
    pub published_standard_deviation: Option<f64>,
}

/// Computes the moments of the spectrum of `M = V⁻¹ A`, in O(n + m); `None` for a graph without
/// nodes.
///
/// Two published formulas are corrected. The mean is `(1/n) Σ a_ii / v(i)`, zero in a graph without
/// self-loops, instead of `(1/n) Σ 1/v(i)`. The second moment `(1/n) Σ a_ij² / (v(i) v(j))` is over
/// ordered pairs, each edge twice.
pub fn moments(graph: &Graph, v: &[f64]) -> Result<Option<Moments>> {
    let inverse = powers(graph, v, -1.0)?;
    let n = graph.num_nodes() as f64;
    if graph.num_nodes() == 0 {
        return Ok(None);
    }
    let per_edge = |(u, w, weight): (u32, u32, f64)| {
        weight * weight * inverse[u as usize] * inverse[w as usize]
    };
    let edges_once = graph.weighted_edges().map(per_edge).sum::<f64>() / n;
    // Graphs hold no self-loops, so the diagonal of A is zero.
    let (mean, second_moment) = (0.0f64, 2.0 * edges_once);
    let published_mean = inverse.iter().sum::<f64>() / n;
    let published_variance = edges_once - published_mean * published_mean;
    Ok(Some(Moments {
        mean,
        second_moment,
        standard_deviation: (second_moment - mean * mean).max(0.0).sqrt(),
        published_mean,
        published_standard_deviation: (published_variance >= 0.0)
            .then(|| published_variance.sqrt()),
    }))
}

/// A bound on the eigenvalues of `M`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct EigenvalueBound {
    /// Bound `max deg(i) / v(i)`: no eigenvalue of `M` exceeds it in absolute value. Zero for a
    /// graph without edges.
    pub value: f64,
    /// Published value, `min v(i) / deg(i)` over nodes with edges, which is no bound; `None` for a
    /// graph without edges.
    pub published: Option<f64>,
}

/// Computes the bound on the eigenvalues of `M = V⁻¹ A`: its largest absolute row sum, in O(n + m).
///
/// The published formula has the inverse, `min v(i) / deg(i)`, which is not a bound: with `V = D/2`
/// the largest eigenvalue is 2, and the inverse is 1/2.
pub fn eigenvalue_bound(graph: &Graph, v: &[f64]) -> Result<EigenvalueBound> {
    let v = powers(graph, v, 1.0)?;
    let mut bound = EigenvalueBound {
        value: 0.0,
        published: None,
    };
    for u in 0..graph.num_nodes() {
        let degree: f64 = graph
            .arc_range(u as u32)
            .map(|k| graph.arc_weight(k).abs())
            .sum();
        if degree > 0.0 {
            bound.value = bound.value.max(degree / v[u]);
            bound.published = Some(
                bound
                    .published
                    .map_or(v[u] / degree, |t| t.min(v[u] / degree)),
            );
        }
    }
    Ok(bound)
}

/// Spectral gaps: distances of the second eigenvalue from the first.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Gap {
    /// Number of connected components of the graph.
    pub num_components: usize,
    /// Second smallest eigenvalue `λ₁(L_v)` of `L_v = V⁻¹ (D - A)`: zero if the graph is
    /// disconnected, `None` if it has fewer than two nodes.
    pub laplacian: Option<f64>,
    /// Published gap, the smallest non-zero eigenvalue of `I - M`, which may be negative; `None` if
    /// there is none.
    pub published: Option<f64>,
}

/// Computes the spectral gap of a graph with non-negative weights.
///
/// The published gap, the smallest non-zero eigenvalue of `I - M`, is negative for `v < deg` and so
/// is no gap. `L_v` has the eigenvalue zero once for each component and is non-negative.
pub fn gap(graph: &Graph, v: &[f64], settings: &EigenSettings) -> Result<Gap> {
    let num_components = components(graph).count();
    let laplacian = match num_components {
        0 => None,
        1 if graph.num_nodes() == 1 => None,
        1 => Some(fiedler(graph, v, settings)?.0),
        _ => Some(0.0),
    };
    Ok(Gap {
        num_components,
        laplacian,
        published: published_gap(graph, v, settings)?,
    })
}

/// Computes `λ₁(L_v)` of a connected graph of at least two nodes and its eigenvector, by which
/// sweep cuts order the nodes.
pub(super) fn fiedler(
    graph: &Graph,
    v: &[f64],
    settings: &EigenSettings,
) -> Result<(f64, Vec<f64>)> {
    refuse_negative_weights(graph)?;
    let p = powers(graph, v, -0.5)?;
    let pairs = sparse_eigenpairs(
        &centrality_laplacian(graph, v)?,
        2,
        Which::Smallest,
        settings,
    )?;
    let scores = pairs.vector(1).iter().zip(&p).map(|(x, p)| x * p).collect();
    // The matrix has no negative eigenvalue; rounding may give -1e-17.
    Ok((pairs.values[1].max(0.0), scores))
}

/// Computes the smallest non-zero eigenvalue of `I - M`. The largest eigenvalue of `M` on a
/// component is simple, so the two largest of each component are enough to find it.
pub(super) fn published_gap(
    graph: &Graph,
    v: &[f64],
    settings: &EigenSettings,
) -> Result<Option<f64>> {
    let largest = block_extremes(&markov_symmetric(graph, v)?, 2, Which::Largest, settings)?;
    let gaps = largest
        .into_iter()
        .flatten()
        .filter(|mu| (1.0 - mu).abs() > ZERO * mu.abs().max(1.0))
        .map(|mu| 1.0 - mu);
    Ok(gaps.min_by(f64::total_cmp))
}

/// Fails for negative weights, for which cuts and Laplacians have another meaning.
pub(super) fn refuse_negative_weights(graph: &Graph) -> Result<()> {
    match graph.weighted_edges().find(|(_, _, w)| *w < 0.0) {
        None => Ok(()),
        Some((u, w, weight)) => Err(Error::unsupported(
            "spectrum",
            format!(
                "edge ({u}, {w}) has weight {weight}; gaps and Cheeger constants need weights of at least 0"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::eigen::symmetric_eigenvalues;
    use super::super::samples::*;
    use super::*;
    use crate::centrality::Centrality;

    const SETTINGS: EigenSettings = EigenSettings {
        tolerance: 1e-10,
        max_products: 200_000,
    };

    fn weighted_graph_and_centrality() -> impl Strategy<Value = (Graph, Vec<f64>)> {
        (1usize..14).prop_flat_map(|n| {
            let edge = (0..n as u32, 0..n as u32, 0.1f64..3.0);
            let graph = prop::collection::vec(edge, 0..40)
                .prop_map(move |edges| Graph::from_weighted_edges(n, edges).unwrap().0);
            (graph, prop::collection::vec(0.05f64..20.0, n))
        })
    }

    proptest! {
        #[test]
        fn eigenvalues_stay_below_the_bound_and_have_the_moments((g, v) in weighted_graph_and_centrality()) {
            let values = symmetric_eigenvalues(&markov_symmetric(&g, &v).unwrap()).unwrap();
            let bound = eigenvalue_bound(&g, &v).unwrap().value;
            for x in &values {
                prop_assert!(x.abs() <= bound * (1.0 + 1e-12), "{} exceeds {}", x, bound);
            }
            let n = values.len() as f64;
            let moments = moments(&g, &v).unwrap().unwrap();
            let (mean, second) = (values.iter().sum::<f64>() / n, values.iter().map(|x| x * x).sum::<f64>() / n);
            prop_assert!((mean - moments.mean).abs() < 1e-12 * bound.max(1.0));
            prop_assert!((second - moments.second_moment).abs() < 1e-12 * (bound * bound).max(1.0));
            prop_assert!(((second - mean * mean).max(0.0).sqrt() - moments.standard_deviation).abs() < 1e-6 * bound.max(1.0));
        }

        #[test]
        fn the_centrality_laplacian_counts_components((g, v) in weighted_graph_and_centrality()) {
            let values = symmetric_eigenvalues(&centrality_laplacian(&g, &v).unwrap()).unwrap();
            let scale = values.iter().fold(1.0f64, |s, x| s.max(*x));
            prop_assert!(values.iter().all(|x| *x > -1e-12 * scale));
            let zeros = values.iter().filter(|x| x.abs() < 1e-10 * scale).count();
            let gap = gap(&g, &v, &SETTINGS).unwrap();
            prop_assert_eq!(zeros, gap.num_components);
            match gap.laplacian {
                None => prop_assert_eq!(g.num_nodes(), 1),
                Some(l) => prop_assert!((l - values[1]).abs() < 1e-10 * scale),
            }
        }

        #[test]
        fn mapped_eigenvectors_solve_the_operator_itself(
            (g, v) in weighted_graph_and_centrality(), e2 in -1.5f64..1.5, e3 in -1.5f64..1.5
        ) {
            let k = g.num_nodes().min(3);
            let pairs = centrality_eigenpairs(&g, &v, e2, e3, k, Which::Largest).unwrap();
            let operator = centrality_operator(&g, &v, e2, e3).unwrap();
            let scale = operator.values().iter().fold(1.0f64, |s, x| s.max(x.abs()));
            for j in 0..k {
                let x = pairs.vector(j);
                prop_assert!((x.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
                for (y, x) in operator.mul_vec(&x).iter().zip(&x) {
                    prop_assert!((y - pairs.values[j] * x).abs() < 1e-9 * scale);
                }
            }
        }
    }

    #[test]
    fn the_published_bound_fails_where_v_is_half_the_degree() {
        let g = complete(5);
        let v: Vec<f64> = degrees(&g).iter().map(|d| d / 2.0).collect();
        let values = symmetric_eigenvalues(&markov_symmetric(&g, &v).unwrap()).unwrap();
        let bound = eigenvalue_bound(&g, &v).unwrap();
        // M = 2 D⁻¹ A has the eigenvalue 2, which the corrected bound reaches and the published one
        // of 1/2 does not.
        assert!((values[4] - 2.0).abs() < 1e-13);
        assert_eq!((bound.value, bound.published), (2.0, Some(0.5)));
    }

    #[test]
    fn i_minus_m_can_have_negative_eigenvalues() {
        // K4 with core numbers halved: M = A / 1.5 has the eigenvalues 2 and -2/3, I - M has -1 and
        // 5/3.
        let gap = gap(&complete(4), &[1.5; 4], &SETTINGS).unwrap();
        assert!((gap.published.unwrap() + 1.0).abs() < 1e-13);
        // L_v = (4 I - J) / 1.5 has 0 and 8/3.
        assert!((gap.laplacian.unwrap() - 8.0 / 3.0).abs() < 1e-13);
    }

    #[test]
    fn gaps_of_degree_are_those_of_the_random_walk() {
        // Path of three nodes: M has 1, 0, -1. Two paths and an isolated node: still 1 next to the
        // zeros.
        let one = gap(&path(3), &[1.0, 2.0, 1.0], &SETTINGS).unwrap();
        assert!(
            (one.laplacian.unwrap() - 1.0).abs() < 1e-14
                && (one.published.unwrap() - 1.0).abs() < 1e-14
        );
        let g = Graph::from_edges(7, [(0, 1), (1, 2), (3, 4), (4, 5)])
            .unwrap()
            .0;
        let two = gap(&g, &degrees(&g), &SETTINGS).unwrap();
        assert_eq!((two.num_components, two.laplacian), (3, Some(0.0)));
        assert!((two.published.unwrap() - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_published_mean_is_not_the_mean() {
        let g = cycle(4);
        let m = moments(&g, &Centrality::DEGREE.values(&g).unwrap())
            .unwrap()
            .unwrap();
        // M has 1, 0, 0, -1: mean 0, second moment 1/2. The published formulas: 1/2, and a variance
        // of 1/4 - 1/4.
        assert_eq!((m.mean, m.second_moment, m.published_mean), (0.0, 0.5, 0.5));
        assert_eq!(
            (m.standard_deviation, m.published_standard_deviation),
            (0.5f64.sqrt(), Some(0.0))
        );
        assert_eq!(
            moments(&path(2), &[1.0, 1.0])
                .unwrap()
                .unwrap()
                .published_standard_deviation,
            None
        );
        assert_eq!(moments(&Graph::empty(0).unwrap(), &[]).unwrap(), None);
    }

    #[test]
    fn centrality_eigenpairs_of_the_mean_operator() {
        // H = D⁻¹ A of a connected graph has the constant vector at the eigenvalue 1.
        let (g, _) = random(400, 1600, 3).largest_component();
        let pairs = centrality_eigenpairs(&g, &degrees(&g), -1.0, 0.0, 2, Which::Largest).unwrap();
        assert!((pairs.values[0] - 1.0).abs() < 1e-12);
        let constant = 1.0 / (g.num_nodes() as f64).sqrt();
        assert!(pairs.vector(0).iter().all(|x| (x - constant).abs() < 1e-9));
        assert!(pairs.residuals.iter().all(|r| *r < 1e-8));
    }

    #[test]
    fn bad_input_is_refused() {
        let g = Graph::from_weighted_edges(2, [(0, 1, -1.0)]).unwrap().0;
        let e = gap(&g, &[1.0, 1.0], &SETTINGS).unwrap_err().to_string();
        assert_eq!(
            e,
            "spectrum: edge (0, 1) has weight -1; gaps and Cheeger constants need weights of at least 0"
        );
        assert!(
            markov_symmetric(&g, &[1.0])
                .unwrap_err()
                .to_string()
                .contains("1 values for 2 nodes")
        );
        assert!(eigenvalue_bound(&g, &[1.0, -1.0]).is_err());
        assert!(centrality_eigenpairs(&g, &[1.0, 1.0], 0.0, 0.0, 3, Which::Largest).is_err());
    }
}
