//! PageRank by conjugate gradients.
//!
//! The definition is the standard one, column-stochastic throughout. A walk follows a random edge
//! with probability `damping`; otherwise, or from a node without edges, it jumps to a uniformly
//! random node:
//!
//! ```text
//! x = damping · (A D⁻¹ x + dangling mass / n) + (1 - damping) / n,   sum x = 1.
//! ```
//!
//! Both jumps land uniformly, so x is proportional to the solution of
//! `(I - damping · A D⁻¹) y = 1`. In an undirected graph `z = D^-1/2 y` turns that into a symmetric
//! positive definite system with eigenvalues in `[1 - damping, 1 + damping]`, which conjugate
//! gradients solve in a fraction of the power method's iterations.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Measure;
use super::degree::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::settings::Settings;

/// PageRank with the default [`PageRankSettings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Settings)]
#[choice(name = "pagerank", about = "PageRank with damping 0.85", constant)]
pub struct PageRank {}

impl Measure for PageRank {
    fn scores(&self, graph: &Graph) -> Result<Vec<f64>> {
        pagerank(graph, &PageRankSettings::default())
    }

    /// Returns `1 / (1 - PR)`. For a graph of one node, whose PageRank is 1, that is infinite: an
    /// error.
    fn values(&self, graph: &Graph) -> Result<Vec<f64>> {
        let mut values = self.scores(graph)?;
        for v in &mut values {
            *v = 1.0 / (1.0 - *v);
        }
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::unsupported(
                "centrality pagerank",
                "1 / (1 - PR) is infinite on a graph of one node; choose another centrality",
            ));
        }
        Ok(values)
    }
}

/// Settings of [`pagerank`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRankSettings {
    /// Probability of following an edge; 0.85 in Brin and Page (1998).
    pub damping: f64,
    /// Bound on the L1 error of the scores.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Default for PageRankSettings {
    fn default() -> Self {
        Self {
            damping: 0.85,
            tolerance: 1e-12,
            max_iterations: 1000,
        }
    }
}

/// Rows per block of a reduction. Blocks are summed one by one and then in order, so the result
/// does not depend on the number of threads.
const BLOCK: usize = 4096;

/// Returns the PageRank of every node; the scores sum to one.
///
/// Fails for a damping outside `[0, 1)`, for negative weights, and if the tolerance is not reached.
///
/// ```
/// use gnarl_graph::{centrality::{pagerank, PageRankSettings}, Graph};
/// let star = Graph::from_edges(4, [(0, 1), (0, 2), (0, 3)])?.0;
/// let pr = pagerank(&star, &PageRankSettings::default())?;
/// assert!(pr[0] > 0.47 && (pr.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn pagerank(graph: &Graph, settings: &PageRankSettings) -> Result<Vec<f64>> {
    const OP: &str = "pagerank";
    let PageRankSettings {
        damping,
        tolerance,
        max_iterations,
    } = *settings;
    if !(0.0..1.0).contains(&damping) {
        return Err(Error::argument(
            OP,
            format!("damping {damping} must be at least 0 and below 1"),
        ));
    }
    if tolerance.is_nan() || tolerance <= 0.0 {
        return Err(Error::argument(
            OP,
            format!("tolerance {tolerance} must be above 0"),
        ));
    }
    if let Some(w) = graph.weights().and_then(|w| w.iter().find(|w| **w < 0.0)) {
        return Err(Error::unsupported(
            OP,
            format!("weight {w} is negative, a random walk needs weights of at least 0"),
        ));
    }
    let n = graph.num_nodes();
    if n == 0 {
        return Ok(Vec::new());
    }

    // A node without edges keeps its right-hand side: its scale is one and its row of the operator
    // is zero.
    let root_degree: Vec<f64> = degrees(graph)
        .into_par_iter()
        .map(|d| if d > 0.0 { d.sqrt() } else { 1.0 })
        .collect();
    let mut z = vec![0.0; n];
    let mut residual: Vec<f64> = root_degree.par_iter().map(|s| 1.0 / s).collect();
    let mut direction = residual.clone();
    let mut scaled = vec![0.0; n];
    let mut image = vec![0.0; n];
    let mut energy = dot(&residual, &residual);
    // In these units the scores sum to at least n, and an L1 residual of r leaves an L1 error of at
    // most r / (1 - damping).
    let goal = tolerance * (1.0 - damping) * n as f64;

    for _ in 0..max_iterations {
        if scaled_l1(&residual, &root_degree) <= goal {
            return Ok(normalised(z, &root_degree));
        }
        apply(
            graph,
            damping,
            &root_degree,
            &direction,
            &mut scaled,
            &mut image,
        );
        let step = energy / dot(&direction, &image);
        z.par_iter_mut()
            .zip(&direction)
            .for_each(|(z, d)| *z += step * d);
        residual
            .par_iter_mut()
            .zip(&image)
            .for_each(|(r, q)| *r -= step * q);
        let next = dot(&residual, &residual);
        let keep = next / energy;
        direction
            .par_iter_mut()
            .zip(&residual)
            .for_each(|(d, r)| *d = r + keep * *d);
        energy = next;
    }
    let residual = scaled_l1(&residual, &root_degree) / ((1.0 - damping) * n as f64);
    Err(Error::NotConverged {
        op: OP,
        iterations: max_iterations,
        residual,
        tolerance,
    })
}

/// Computes `out = (I - damping · D^-1/2 A D^-1/2) x`; `scaled` is scratch for `D^-1/2 x`.
fn apply(
    graph: &Graph,
    damping: f64,
    root_degree: &[f64],
    x: &[f64],
    scaled: &mut [f64],
    out: &mut [f64],
) {
    scaled
        .par_iter_mut()
        .zip(x)
        .zip(root_degree)
        .for_each(|((s, x), d)| *s = x / d);
    let scaled = &*scaled;
    out.par_iter_mut()
        .enumerate()
        .with_min_len(BLOCK)
        .for_each(|(u, out)| {
            let neighbours = graph.neighbours(u as u32);
            let sum: f64 = match graph.neighbour_weights(u as u32) {
                None => neighbours.iter().map(|&v| scaled[v as usize]).sum(),
                Some(weights) => neighbours
                    .iter()
                    .zip(weights)
                    .map(|(&v, w)| w * scaled[v as usize])
                    .sum(),
            };
            *out = x[u] - damping * sum / root_degree[u];
        });
}

/// Returns the scores: `D^1/2 z` scaled to sum to one.
fn normalised(mut z: Vec<f64>, root_degree: &[f64]) -> Vec<f64> {
    z.par_iter_mut().zip(root_degree).for_each(|(z, d)| *z *= d);
    let total = dot_with(&z, &z, |x, _| x);
    z.par_iter_mut().for_each(|x| *x /= total);
    z
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_with(a, b, |x, y| x * y)
}

fn scaled_l1(a: &[f64], scale: &[f64]) -> f64 {
    dot_with(a, scale, |x, s| (x * s).abs())
}

/// Sums `f` over pairs, block by block in a fixed order.
fn dot_with(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    let block = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(&x, &y)| f(x, y)).sum::<f64>();
    let sums: Vec<f64> = a
        .par_chunks(BLOCK)
        .zip(b.par_chunks(BLOCK))
        .map(block)
        .collect();
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Iterates the definition as NetworkX does.
    fn by_power(graph: &Graph, damping: f64) -> Vec<f64> {
        let n = graph.num_nodes();
        let degree = degrees(graph);
        let mut x = vec![1.0 / n as f64; n];
        for _ in 0..2000 {
            let dangling: f64 = (0..n).filter(|&u| degree[u] == 0.0).map(|u| x[u]).sum();
            let mut next = vec![(damping * dangling + 1.0 - damping) / n as f64; n];
            for (u, v, w) in graph.weighted_edges() {
                let (u, v) = (u as usize, v as usize);
                if degree[v] > 0.0 {
                    next[u] += damping * w * x[v] / degree[v];
                }
                if degree[u] > 0.0 {
                    next[v] += damping * w * x[u] / degree[u];
                }
            }
            x = next;
        }
        x
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn equals_the_power_method(edges in prop::collection::vec((0u32..12, 0u32..12, 0u8..4), 0..40), damping in 0.0f64..0.95) {
            let g = Graph::from_weighted_edges(12, edges.into_iter().map(|(u, v, w)| (u, v, f64::from(w)))).unwrap().0;
            let got = pagerank(&g, &PageRankSettings { damping, ..PageRankSettings::default() }).unwrap();
            for (a, b) in got.iter().zip(by_power(&g, damping)) {
                prop_assert!((a - b).abs() < 1e-11, "{} against {}", a, b);
            }
        }
    }

    #[test]
    fn edge_cases() {
        let settings = PageRankSettings::default();
        assert!(
            pagerank(&Graph::empty(0).unwrap(), &settings)
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            pagerank(&Graph::empty(4).unwrap(), &settings).unwrap(),
            [0.25; 4]
        );
        let g = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        for bad in [1.0, -0.1, f64::NAN] {
            assert!(
                pagerank(
                    &g,
                    &PageRankSettings {
                        damping: bad,
                        ..settings
                    }
                )
                .is_err(),
                "damping {bad}"
            );
        }
        assert!(
            pagerank(
                &g,
                &PageRankSettings {
                    tolerance: 0.0,
                    ..settings
                }
            )
            .is_err()
        );
        let path = Graph::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
            .unwrap()
            .0;
        let e = pagerank(
            &path,
            &PageRankSettings {
                max_iterations: 1,
                ..settings
            },
        )
        .unwrap_err()
        .to_string();
        assert!(e.contains("no convergence after 1 iterations"), "{e}");
        let negative = Graph::from_weighted_edges(2, [(0, 1, -1.0)]).unwrap().0;
        assert!(
            pagerank(&negative, &settings)
                .unwrap_err()
                .to_string()
                .contains("weight -1 is negative")
        );
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let edges = (0..20_000u32).map(|i| (i, (i.wrapping_mul(2_654_435_761) >> 7) % 20_000));
        let g = Graph::from_edges(20_000, edges).unwrap().0;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| pagerank(&g, &PageRankSettings::default()).unwrap())
        };
        assert_eq!(on(1), on(3));
    }
}
