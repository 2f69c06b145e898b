//! Stochastic block Barabási–Albert model (SBBAM, [Abbahaddou et al.
//! 2024](https://arxiv.org/abs/2411.04655)): Barabási–Albert blocks, each with its own density, and
//! uniform edges between them.

use super::barabasi_albert::{attach, attach_with_repeats, check_attachment};
use super::{
    block_labels, block_offsets, check_probability, check_size, pairs_between, total_size,
};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::stream;

const OP: &str = "sbbam";

crate::named! {
    /// The process that joins a new node of a block to earlier ones.
    pub enum Attachment as "attachment" {
        /// Joins a node to r distinct ones, as in [`barabasi_albert`](super::barabasi_albert()).
        Distinct = "distinct",
        /// Joins a node as in PyTorch Geometric's `barabasi_albert_graph`, which made the published
        /// graphs. It samples r ends with replacement, the node itself among them, and drops loops
        /// and repeats. A fifth of the (n - r) r edges is lost at r = 15, less at smaller r, so the
        /// blocks differ less.
        Repeated = "repeated",
    }
}

/// Parameters of [`sbbam`].
#[derive(Debug, Clone, PartialEq)]
pub struct SbbamConfig {
    /// Number of nodes in each block; block 0 has the first ids.
    pub block_sizes: Vec<usize>,
    /// Number of edges added by each new node of a block, one number per block.
    pub r: Vec<usize>,
    /// Probability of joining two nodes of different blocks.
    pub p_between: f64,
    /// Attachment process of the blocks.
    pub attachment: Attachment,
}

impl Default for SbbamConfig {
    /// Parameters described in the paper: three blocks of 100 nodes, r = 5, 10, 15, p = 0.1 between
    /// them.
    fn default() -> Self {
        Self {
            block_sizes: vec![100; 3],
            r: vec![5, 10, 15],
            p_between: 0.1,
            attachment: Attachment::Distinct,
        }
    }
}

impl SbbamConfig {
    /// Returns the parameters of the published graphs: [`Attachment::Repeated`].
    pub fn published() -> Self {
        Self {
            attachment: Attachment::Repeated,
            ..Self::default()
        }
    }

    /// Fails unless there is a valid r for each block, and the graph fits.
    pub fn check(&self) -> Result<()> {
        let Self {
            block_sizes: sizes,
            r,
            p_between,
            ..
        } = self;
        if sizes.len() != r.len() {
            return Err(Error::argument(
                OP,
                format!("{} blocks, but {} values of r", sizes.len(), r.len()),
            ));
        }
        check_probability(OP, "p_between", *p_between)?;
        let n = total_size(sizes)
            .ok_or_else(|| Error::argument(OP, "the block sizes are too large to add up"))?;
        for (&size, &r) in sizes.iter().zip(r) {
            check_attachment(OP, size, r)?;
        }
        let inside: f64 = sizes
            .iter()
            .zip(r)
            .map(|(&s, &r)| (s - r) as f64 * r as f64)
            .sum();
        let squares: f64 = sizes.iter().map(|&s| (s as f64).powi(2)).sum();
        check_size(
            OP,
            n,
            inside + p_between * ((n as f64).powi(2) - squares) / 2.0,
        )
    }
}

/// Samples a graph of the stochastic block Barabási–Albert model, labelled with its blocks. O(n +
/// m) expected.
///
/// ```
/// use gnarl_graph::generate::{sbbam, SbbamConfig};
/// let g = sbbam(&SbbamConfig::default(), 7)?;
/// assert_eq!(g.labels().unwrap().counts(), [100, 100, 100]);
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn sbbam(config: &SbbamConfig, seed: u64) -> Result<Graph> {
    config.check()?;
    let SbbamConfig {
        block_sizes: sizes,
        r,
        p_between,
        attachment,
    } = config;
    let grow = match attachment {
        Attachment::Distinct => attach,
        Attachment::Repeated => attach_with_repeats,
    };
    let start = block_offsets(sizes);
    let k = sizes.len();
    let mut edges = Vec::new();
    for i in 0..k {
        for j in 0..=i {
            let rng = &mut stream(seed, OP, (i * k + j) as u64);
            if i == j {
                edges.extend(
                    grow(rng, sizes[i], r[i])
                        .into_iter()
                        .map(|(u, v)| (start[i] + u, start[i] + v)),
                );
            } else {
                let pairs = pairs_between(rng, sizes[i], sizes[j], *p_between);
                edges.extend(pairs.map(|(u, v)| (start[i] + u, start[j] + v)));
            }
        }
    }
    Graph::from_edges(start[k] as usize, edges)?
        .0
        .with_labels(block_labels(sizes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_exact_counts_and_between_them_the_expected_ones() {
        let seeds = 50;
        let mut between = 0;
        for seed in 0..seeds {
            let g = sbbam(&SbbamConfig::default(), seed).unwrap();
            let labels = g.labels().unwrap();
            let mut inside = [0; 3];
            for (u, v) in g.edges() {
                match (labels.get(u), labels.get(v)) {
                    (a, b) if a == b => inside[a.unwrap() as usize] += 1,
                    _ => between += 1,
                }
            }
            assert_eq!(inside, [95 * 5, 90 * 10, 85 * 15]);
        }
        // 50 graphs of 30,000 pairs at 0.1: 4 sigma = 4 sqrt(1.5e6 · 0.09).
        assert!((f64::from(between) - 150_000.0).abs() < 1470.0, "{between}");
    }

    /// The process in NumPy, 3,000 blocks of each r: mean and standard deviation of their edges.
    /// 200 graphs: 4 sigma of both.
    #[test]
    fn repeated_ends_lose_edges_as_the_published_graphs_did() {
        let expected = [(433.49, 6.69), (771.08, 12.26), (1027.18, 17.48)];
        let mut inside = [0.0f64; 3];
        for seed in 0..200 {
            let g = sbbam(&SbbamConfig::published(), seed).unwrap();
            let labels = g.labels().unwrap();
            for (u, v) in g.edges().filter(|&(u, v)| labels.get(u) == labels.get(v)) {
                assert_ne!(u, v);
                inside[labels.get(u).unwrap() as usize] += 1.0 / 200.0;
            }
        }
        for (found, (expected, deviation)) in inside.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 4.0 * deviation / 200f64.sqrt() * 1.04,
                "{found} instead of {expected}"
            );
        }
    }

    #[test]
    fn bad_configs_say_why_and_the_seed_fixes_the_graph() {
        let fault = |change: fn(&mut SbbamConfig)| {
            let mut bad = SbbamConfig::default();
            change(&mut bad);
            sbbam(&bad, 0).unwrap_err().to_string()
        };
        assert_eq!(
            fault(|c| c.r.truncate(2)),
            "sbbam: 3 blocks, but 2 values of r"
        );
        assert!(fault(|c| c.r[1] = 100).contains("100 nodes of 100 new edges each"));
        assert!(fault(|c| c.p_between = -0.1).contains("p_between -0.1 must be a probability"));
        assert!(fault(|c| c.block_sizes = vec![1 << 25; 3]).contains("at most 536870912 edges"));
        assert!(fault(|c| c.block_sizes[0] = usize::MAX).contains("too large to add up"));
        let edges = |seed| {
            sbbam(&SbbamConfig::default(), seed)
                .unwrap()
                .edges()
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }
}
