//! Random graphs, one module per model, and fixed shapes for tests and examples. Rewiring and the
//! joined halves of a real graph are here as well.
//!
//! A model takes its parameters and a seed and checks both before it allocates. Time and memory
//! grow with the nodes and edges of the result, never with the possible pairs.

mod barabasi_albert;
mod configuration;
mod csbm;
mod erdos_renyi;
mod halves;
mod sbbam;
mod sbm;
mod shapes;

pub use self::barabasi_albert::barabasi_albert;
pub use self::configuration::{configuration_model, rewire};
pub use self::csbm::{CsbmConfig, csbm};
pub use self::erdos_renyi::{erdos_renyi, gnm};
pub use self::halves::{Halves, sparse_dense_halves};
pub use self::sbbam::{Attachment, SbbamConfig, sbbam};
pub use self::sbm::{SbmConfig, sbm};
pub use self::shapes::{complete, cycle, grid, path, star};

use rand::RngExt;

use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::random::Rng;

/// Largest number of nodes, and of (expected) edges, for a generator: some 13 GB while the graph is
/// built.
pub const MAX_SIZE: u64 = 1 << 29;

/// Fails if this many nodes or edges would not fit.
fn check_size(op: &'static str, num_nodes: usize, num_edges: f64) -> Result<()> {
    if num_nodes as u64 > MAX_SIZE {
        return Err(Error::argument(
            op,
            format!("{num_nodes} nodes, at most {MAX_SIZE} are allowed"),
        ));
    }
    if num_edges > MAX_SIZE as f64 {
        let what = format!(
            "{num_nodes} nodes with some {num_edges:.0} edges, at most {MAX_SIZE} edges are allowed"
        );
        return Err(Error::argument(op, what));
    }
    Ok(())
}

/// Fails if `p` is not a probability.
fn check_probability(op: &'static str, name: &str, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(Error::argument(
        op,
        format!("{name} {p} must be a probability, from 0 to 1"),
    ))
}

/// Sums block sizes; `None` on overflow.
fn total_size(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s))
}

/// Returns the first node of each block, and the number of nodes at the end.
fn block_offsets(sizes: &[usize]) -> Vec<u32> {
    let mut offsets = vec![0u32];
    for &size in sizes {
        offsets.push(offsets[offsets.len() - 1] + size as u32);
    }
    offsets
}

/// Returns the block of each node as its label.
fn block_labels(sizes: &[usize]) -> Result<Labels> {
    let classes = sizes
        .iter()
        .enumerate()
        .flat_map(|(c, &size)| std::iter::repeat_n(Some(c as u32), size));
    Labels::new(classes.collect(), sizes.len())
}

/// Returns the number of unordered pairs of `n` elements.
fn num_pairs(n: usize) -> f64 {
    n as f64 * (n as f64 - 1.0).max(0.0) / 2.0
}

/// Samples each of `0..total` with probability `p`, ascending, by geometric skips: the cost is the
/// number kept, not `total`.
struct Bernoulli<'a> {
    rng: &'a mut Rng,
    log_miss: f64,
    next: u64,
    total: u64,
}

impl<'a> Bernoulli<'a> {
    fn new(rng: &'a mut Rng, total: u64, p: f64) -> Self {
        let total = if p > 0.0 { total } else { 0 };
        Self {
            rng,
            log_miss: (-p).ln_1p(),
            next: 0,
            total,
        }
    }
}

impl Iterator for Bernoulli<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // P(skip >= k) = (1 - p)^k. With p = 1 the logarithm is -infinity and every skip is zero.
        let skip = ((1.0 - self.rng.random::<f64>()).ln() / self.log_miss) as u64;
        let hit = self
            .next
            .checked_add(skip)
            .filter(|&hit| hit < self.total)?;
        self.next = hit + 1;
        Some(hit)
    }
}

/// Converts ascending indices of unordered pairs to the pairs `(w, v)`, `w < v`: index `v (v - 1) /
/// 2 + w`.
fn triangle(indices: impl Iterator<Item = u64>) -> impl Iterator<Item = (u32, u32)> {
    let (mut v, mut row_start) = (1u64, 0u64);
    indices.map(move |index| {
        while index - row_start >= v {
            row_start += v;
            v += 1;
        }
        ((index - row_start) as u32, v as u32)
    })
}

/// Samples pairs within one block of `size` nodes, each with probability `p`.
fn pairs_within(rng: &mut Rng, size: usize, p: f64) -> impl Iterator<Item = (u32, u32)> {
    let size = size as u64;
    triangle(Bernoulli::new(rng, size * size.saturating_sub(1) / 2, p))
}

/// Samples pairs of one node of each of two blocks, numbered within their blocks, each with
/// probability `p`.
fn pairs_between(
    rng: &mut Rng,
    rows: usize,
    cols: usize,
    p: f64,
) -> impl Iterator<Item = (u32, u32)> {
    let (rows, cols) = (rows as u64, cols as u64);
    Bernoulli::new(rng, rows * cols, p)
        .map(move |index| ((index / cols) as u32, (index % cols) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn pair_indices_run_through_the_triangle() {
        let expected: Vec<(u32, u32)> = (1..6).flat_map(|v| (0..v).map(move |w| (w, v))).collect();
        assert_eq!(triangle(0..15).collect::<Vec<_>>(), expected);
        assert_eq!(triangle([14].into_iter()).next(), Some((4, 5)));
    }

    #[test]
    fn every_index_is_kept_with_its_probability() {
        // 5 indices, 40,000 repetitions: a share is off by 4 sigma = 0.0098 at most at p = 0.4.
        let mut rng = stream(1, "test", 0);
        let mut kept = [0u32; 5];
        for _ in 0..40_000 {
            for i in Bernoulli::new(&mut rng, 5, 0.4) {
                kept[i as usize] += 1;
            }
        }
        for k in kept {
            assert!((f64::from(k) / 40_000.0 - 0.4).abs() < 0.0098, "{kept:?}");
        }
        assert_eq!(
            Bernoulli::new(&mut rng, 5, 1.0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4]
        );
        assert_eq!(Bernoulli::new(&mut rng, u64::MAX, 0.0).next(), None);
        assert_eq!(
            Bernoulli::new(&mut rng, 1000, 1e-300).next(),
            None,
            "the skip saturates"
        );
    }

    #[test]
    fn pairs_between_blocks_are_numbered_within_them() {
        let all: Vec<_> = pairs_between(&mut stream(0, "test", 0), 2, 3, 1.0).collect();
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(
            pairs_between(&mut stream(0, "test", 0), 2, 0, 1.0).count(),
            0
        );
    }
}
