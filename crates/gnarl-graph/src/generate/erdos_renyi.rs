//! Erdős–Rényi graphs: every pair with one probability, or a fixed number of edges.

use rand::RngExt;

use super::{check_probability, check_size, num_pairs, pairs_within, triangle};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::{Rng, stream};

/// Samples `G(n, p)`: each pair of `n` nodes joined with probability `p`, independently. O(n + m)
/// expected.
///
/// ```
/// let g = gnarl_graph::generate::erdos_renyi(1000, 0.01, 7)?;
/// assert_eq!(g.num_nodes(), 1000);
/// assert!((g.num_edges() as f64 - 4995.0).abs() < 300.0);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn erdos_renyi(n: usize, p: f64, seed: u64) -> Result<Graph> {
    const OP: &str = "erdos_renyi";
    check_probability(OP, "p", p)?;
    check_size(OP, n, p * num_pairs(n))?;
    Ok(Graph::from_edges(n, pairs_within(&mut stream(seed, OP, 0), n, p))?.0)
}

/// Samples `G(n, m)`: uniform among the graphs with `n` nodes and exactly `m` edges. O(n + m log m)
/// expected.
pub fn gnm(n: usize, m: usize, seed: u64) -> Result<Graph> {
    const OP: &str = "gnm";
    check_size(OP, n, m as f64)?;
    let total = n as u64 * (n as u64).saturating_sub(1) / 2;
    let m = m as u64;
    if m > total {
        return Err(Error::argument(
            OP,
            format!("{m} edges, but {n} nodes have only {total} pairs"),
        ));
    }
    let mut rng = stream(seed, OP, 0);
    // Beyond half of all pairs it is cheaper to sample the pairs without an edge.
    let graph = if m <= total / 2 {
        Graph::from_edges(n, triangle(distinct(&mut rng, total, m).into_iter()))
    } else {
        let mut apart = distinct(&mut rng, total, total - m).into_iter().peekable();
        Graph::from_edges(
            n,
            triangle((0..total).filter(|index| apart.next_if_eq(index).is_none())),
        )
    };
    Ok(graph?.0)
}

/// Samples `count` distinct numbers below `total`, ascending; `count` is at most half of `total`.
///
/// Each pass samples as many numbers as are missing: the result is one sequence of samples stopped
/// at the `count`-th distinct one, so every set is equally likely.
fn distinct(rng: &mut Rng, total: u64, count: u64) -> Vec<u64> {
    let mut drawn = Vec::with_capacity(count as usize);
    while (drawn.len() as u64) < count {
        let missing = count - drawn.len() as u64;
        drawn.extend((0..missing).map(|_| rng.random_range(0..total)));
        drawn.sort_unstable();
        drawn.dedup();
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_counts_are_binomial() {
        // 40 seeds of 200 nodes at p = 0.05: the mean count has standard deviation sqrt(19900 ·
        // 0.05 · 0.95 / 40) = 4.861.
        let mean = (0..40)
            .map(|s| erdos_renyi(200, 0.05, s).unwrap().num_edges())
            .sum::<usize>() as f64
            / 40.0;
        assert!((mean - 995.0).abs() < 4.0 * 4.861, "{mean}");
        // Dense graphs take the same path.
        let mean = (0..40)
            .map(|s| erdos_renyi(60, 0.9, s).unwrap().num_edges())
            .sum::<usize>() as f64
            / 40.0;
        assert!(
            (mean - 1593.0).abs() < 4.0 * (1770.0f64 * 0.09 / 40.0).sqrt(),
            "{mean}"
        );
    }

    #[test]
    fn every_pair_is_as_likely() {
        // 6 nodes, p = 0.3, 20,000 graphs: each pair's share within 4 sigma = 0.013.
        let mut joined = [[0u32; 6]; 6];
        for seed in 0..20_000 {
            for (u, v) in erdos_renyi(6, 0.3, seed).unwrap().edges() {
                joined[u as usize][v as usize] += 1;
            }
        }
        for (u, v) in (0..6).flat_map(|v| (0..v).map(move |u| (u, v))) {
            assert!(
                (f64::from(joined[u][v]) / 20_000.0 - 0.3).abs() < 0.013,
                "{u} {v}: {}",
                joined[u][v]
            );
        }
    }

    #[test]
    fn exactly_m_edges_and_every_set_as_likely() {
        for m in [0, 1, 30, 60, 89, 90] {
            assert_eq!(gnm(14, m, 3).unwrap().num_edges(), m);
        }
        // 2 of the 6 pairs of 4 nodes, and 4 of them: 15 sets each, 15,000 samples, 4 sigma = 122.
        for m in [2, 4] {
            let mut seen = std::collections::BTreeMap::new();
            for seed in 0..15_000 {
                *seen
                    .entry(gnm(4, m, seed).unwrap().edges().collect::<Vec<_>>())
                    .or_insert(0i32) += 1;
            }
            assert_eq!(seen.len(), 15);
            assert!(seen.values().all(|&k| (k - 1000).abs() < 122), "{seen:?}");
        }
        let e = gnm(4, 7, 0).unwrap_err().to_string();
        assert_eq!(e, "gnm: 7 edges, but 4 nodes have only 6 pairs");
    }

    #[test]
    fn the_seed_fixes_the_graph() {
        let edges = |seed| {
            erdos_renyi(50, 0.1, seed)
                .unwrap()
                .edges()
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
        let edges = |seed| gnm(50, 100, seed).unwrap().edges().collect::<Vec<_>>();
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }

    #[test]
    fn edges_of_the_range() {
        for n in [0, 1] {
            assert_eq!(erdos_renyi(n, 0.5, 0).unwrap().num_nodes(), n);
            assert_eq!(gnm(n, 0, 0).unwrap().num_nodes(), n);
        }
        assert_eq!(erdos_renyi(10, 0.0, 0).unwrap().num_edges(), 0);
        assert_eq!(erdos_renyi(10, 1.0, 0).unwrap().num_edges(), 45);
        for bad in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            let e = erdos_renyi(10, bad, 0).unwrap_err().to_string();
            assert_eq!(
                e,
                format!("erdos_renyi: p {bad} must be a probability, from 0 to 1")
            );
        }
    }

    #[test]
    fn huge_ones_are_refused_and_sparse_ones_are_quick() {
        for refused in [
            erdos_renyi(1_000_000, 0.5, 0),
            erdos_renyi(1 << 30, 0.0, 0),
            gnm(100_000, 1 << 30, 0),
        ] {
            assert!(
                refused
                    .unwrap_err()
                    .to_string()
                    .contains("at most 536870912")
            );
        }
        // 2·10¹¹ pairs: flipping a coin for each would take minutes.
        let g = erdos_renyi(600_000, 1e-6, 0).unwrap();
        assert!(
            (g.num_edges() as f64 - 180_000.0).abs() < 4.0 * 424.3,
            "{}",
            g.num_edges()
        );
    }
}
