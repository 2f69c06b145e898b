//! Barabási–Albert graphs ([Barabási and Albert 1999](https://arxiv.org/abs/cond-mat/9910332)):
//! preferential attachment.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::check_size;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::{Rng, stream};

/// Samples a graph grown by preferential attachment: a star of `r + 1` nodes, then node by node.
/// Each is joined to `r` distinct earlier nodes sampled in proportion to their degree. `(n - r) ·
/// r` edges; O(n r) expected.
///
/// The process is that of NetworkX's `barabasi_albert_graph(n, r)`. Fails unless `1 <= r < n`.
///
/// ```
/// let g = gnarl_graph::generate::barabasi_albert(100, 5, 7)?;
/// assert_eq!(g.num_edges(), 95 * 5);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn barabasi_albert(n: usize, r: usize, seed: u64) -> Result<Graph> {
    const OP: &str = "barabasi_albert";
    check_attachment(OP, n, r)?;
    Ok(Graph::from_edges(n, attach(&mut stream(seed, OP, 0), n, r))?.0)
}

/// Fails unless `1 <= r < n` and the graph fits.
pub(super) fn check_attachment(op: &'static str, n: usize, r: usize) -> Result<()> {
    if r < 1 || r >= n {
        let what = format!(
            "{n} nodes of {r} new edges each: r must be at least 1 and below the number of nodes"
        );
        return Err(Error::argument(op, what));
    }
    check_size(op, n, (n - r) as f64 * r as f64)
}

/// Samples the edges of the process, in order.
pub(super) fn attach(rng: &mut Rng, n: usize, r: usize) -> Vec<(u32, u32)> {
    let mut edges = Vec::with_capacity((n - r) * r);
    // Every node occurs once per edge it has, so a uniform sample is one in proportion to degree.
    let mut ends: Vec<u32> = Vec::with_capacity(2 * (n - r) * r);
    let mut join = |ends: &mut Vec<u32>, u, v| {
        edges.push((u, v));
        ends.extend([u, v]);
    };
    for leaf in 1..=r as u32 {
        join(&mut ends, 0, leaf);
    }
    // The last node that sampled each one as its neighbour.
    let mut drawn_by = vec![0u32; n];
    for new in r as u32 + 1..n as u32 {
        let before = ends.len();
        let mut missing = r;
        while missing > 0 {
            let old = ends[rng.random_range(0..before)];
            if drawn_by[old as usize] != new {
                drawn_by[old as usize] = new;
                join(&mut ends, new, old);
                missing -= 1;
            }
        }
    }
    edges
}

/// Samples edges like PyTorch Geometric's `barabasi_albert_graph`, loops and repeats among them.
/// The first `r` nodes are joined by a random permutation. Each further node samples `r` ends, with
/// replacement, from a list that already holds it `r` times.
pub(super) fn attach_with_repeats(rng: &mut Rng, n: usize, r: usize) -> Vec<(u32, u32)> {
    let mut permutation: Vec<u32> = (0..r as u32).collect();
    permutation.shuffle(rng);
    let mut edges: Vec<(u32, u32)> = (0..r as u32).zip(permutation).collect();
    let mut ends: Vec<u32> = Vec::with_capacity(2 * n * r);
    ends.extend(edges.iter().flat_map(|&(u, v)| [u, v]));
    for new in r as u32..n as u32 {
        ends.extend(std::iter::repeat_n(new, r));
        let before = ends.len();
        for _ in 0..r {
            let end = ends[rng.random_range(0..before)];
            edges.push((new, end));
            ends.push(end);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::components;

    #[test]
    fn edge_counts_and_smallest_degrees() {
        for (n, r) in [(2, 1), (10, 1), (10, 9), (100, 5), (100, 15)] {
            let g = barabasi_albert(n, r, 3).unwrap();
            assert_eq!(g.num_edges(), (n - r) * r, "n {n}, r {r}");
            assert!((r as u32 + 1..n as u32).all(|u| g.degree(u) >= r));
            assert_eq!(components(&g).count(), 1);
        }
    }

    #[test]
    fn attachment_is_in_proportion_to_degree() {
        // After the star 0-1, node 2 picks 0 or 1; node 3 picks the middle of the path, which has
        // degree 2 of 4, in half of the graphs. 20,000 graphs: 4 sigma = 0.0142.
        let hubs = (0..20_000).filter(|&s| {
            let g = barabasi_albert(4, 1, s).unwrap();
            (0..4).any(|u| g.degree(u) == 3)
        });
        let share = hubs.count() as f64 / 20_000.0;
        assert!((share - 0.5).abs() < 0.0142, "{share}");
    }

    #[test]
    fn the_largest_degree_matches_networkx() {
        // networkx 3.6.1:
        //
        // np.mean([max(d for _, d in nx.barabasi_albert_graph(200, 3, seed=s).degree()) for s in
        // range(2000)])
        //
        // gives 42.96, with a standard deviation of 7.34 between graphs. 400 graphs and those 2000:
        // 4 sigma = 1.61.
        let largest = |s| {
            let g = barabasi_albert(200, 3, s).unwrap();
            (0..200).map(|u| g.degree(u)).max().unwrap()
        };
        let mean = (0..400).map(largest).sum::<usize>() as f64 / 400.0;
        assert!((mean - 42.96).abs() < 1.61, "{mean}");
    }

    #[test]
    fn bad_sizes_say_why_and_the_seed_fixes_the_graph() {
        for (n, r) in [(0, 0), (0, 1), (1, 1), (5, 0), (5, 5), (5, 6)] {
            let e = barabasi_albert(n, r, 0).unwrap_err().to_string();
            assert!(
                e.contains(&format!(
                    "{n} nodes of {r} new edges each: r must be at least 1"
                )),
                "{e}"
            );
        }
        assert!(
            barabasi_albert(1 << 29, 8, 0)
                .unwrap_err()
                .to_string()
                .contains("at most 536870912 edges")
        );
        let edges = |seed| {
            barabasi_albert(50, 3, seed)
                .unwrap()
                .edges()
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }
}
