//! Stochastic block model (Holland et al. 1983): pairs are joined with a probability given by their
//! blocks.

use super::{
    block_labels, block_offsets, check_probability, check_size, num_pairs, pairs_between,
    pairs_within, total_size,
};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::random::stream;

const OP: &str = "sbm";

/// Parameters of [`sbm`].
#[derive(Debug, Clone, PartialEq)]
pub struct SbmConfig {
    /// Number of nodes in each block; block 0 has the first ids.
    pub block_sizes: Vec<usize>,
    /// Probability of joining a node of block i to one of block j, `probabilities[i][j]`;
    /// symmetric.
    pub probabilities: Vec<Vec<f64>>,
}

impl SbmConfig {
    /// Makes equal blocks with one probability inside and one between them.
    pub fn planted(num_blocks: usize, block_size: usize, inside: f64, between: f64) -> Self {
        let row = |i| {
            (0..num_blocks)
                .map(|j| if i == j { inside } else { between })
                .collect()
        };
        Self {
            block_sizes: vec![block_size; num_blocks],
            probabilities: (0..num_blocks).map(row).collect(),
        }
    }

    /// Fails unless the matrix is square, symmetric and of probabilities, and the graph fits.
    pub fn check(&self) -> Result<()> {
        let (sizes, p) = (&self.block_sizes, &self.probabilities);
        let k = sizes.len();
        if p.len() != k || p.iter().any(|row| row.len() != k) {
            let shape: Vec<usize> = p.iter().map(Vec::len).collect();
            return Err(Error::argument(
                OP,
                format!("{k} blocks need {k} rows of {k} probabilities, not {shape:?}"),
            ));
        }
        let n = total_size(sizes)
            .ok_or_else(|| Error::argument(OP, "the block sizes are too large to add up"))?;
        let mut expected = 0.0;
        for i in 0..k {
            for j in 0..=i {
                check_probability(OP, &format!("probabilities[{i}][{j}]"), p[i][j])?;
                if p[i][j] != p[j][i] {
                    let what = format!(
                        "probabilities[{i}][{j}] is {} and probabilities[{j}][{i}] is {}, but they must be equal",
                        p[i][j], p[j][i]
                    );
                    return Err(Error::argument(OP, what));
                }
                let pairs = if i == j {
                    num_pairs(sizes[i])
                } else {
                    sizes[i] as f64 * sizes[j] as f64
                };
                expected += p[i][j] * pairs;
            }
        }
        check_size(OP, n, expected)
    }
}

/// Samples a graph of the stochastic block model, labelled with its blocks. O(n + m + blocks²)
/// expected.
pub fn sbm(config: &SbmConfig, seed: u64) -> Result<Graph> {
    config.check()?;
    let SbmConfig {
        block_sizes: sizes,
        probabilities: p,
    } = config;
    let start = block_offsets(sizes);
    let k = sizes.len();
    let mut edges = Vec::new();
    for i in 0..k {
        for j in 0..=i {
            let rng = &mut stream(seed, OP, (i * k + j) as u64);
            if i == j {
                edges.extend(
                    pairs_within(rng, sizes[i], p[i][i]).map(|(u, v)| (start[i] + u, start[i] + v)),
                );
            } else {
                let pairs = pairs_between(rng, sizes[i], sizes[j], p[i][j]);
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

    fn config() -> SbmConfig {
        SbmConfig {
            block_sizes: vec![30, 0, 50, 20],
            probabilities: vec![
                vec![0.5, 0.9, 0.1, 0.0],
                vec![0.9, 0.9, 0.9, 0.9],
                vec![0.1, 0.9, 0.2, 0.05],
                vec![0.0, 0.9, 0.05, 1.0],
            ],
        }
    }

    #[test]
    fn each_block_pair_has_its_share() {
        let seeds = 50;
        let mut counts = [[0u32; 4]; 4];
        for seed in 0..seeds {
            let g = sbm(&config(), seed).unwrap();
            let labels = g.labels().unwrap();
            assert_eq!(labels.counts(), [30, 0, 50, 20]);
            for (u, v) in g.edges() {
                let (i, j) = (
                    labels.get(u).unwrap() as usize,
                    labels.get(v).unwrap() as usize,
                );
                counts[i.min(j)][i.max(j)] += 1;
            }
        }
        // (block, block, pairs, p); 4 sigma of the count over all seeds.
        for (i, j, pairs, p) in [
            (0, 0, 435.0, 0.5),
            (0, 2, 1500.0, 0.1),
            (2, 2, 1225.0, 0.2),
            (2, 3, 1000.0, 0.05),
            (3, 3, 190.0, 1.0),
        ] {
            let trials = pairs * f64::from(seeds as u32);
            let slack = 4.0 * (trials * p * (1.0 - p)).sqrt();
            let got = f64::from(counts[i][j]);
            assert!(
                (got - trials * p).abs() <= slack,
                "{i} {j}: {got} against {} ± {slack}",
                trials * p
            );
        }
        assert_eq!(counts[0][3], 0);
    }

    #[test]
    fn planted_blocks_and_the_seed() {
        let blocks = SbmConfig::planted(3, 20, 1.0, 0.0);
        assert_eq!(sbm(&blocks, 0).unwrap().num_edges(), 3 * 190);
        let edges = |seed| sbm(&config(), seed).unwrap().edges().collect::<Vec<_>>();
        assert_eq!(edges(5), edges(5));
        assert_ne!(edges(5), edges(6));
        assert_eq!(
            sbm(&SbmConfig::planted(0, 0, 0.0, 0.0), 0)
                .unwrap()
                .num_nodes(),
            0
        );
    }

    #[test]
    fn bad_configs_say_why() {
        let fault = |change: fn(&mut SbmConfig)| {
            let mut bad = config();
            change(&mut bad);
            sbm(&bad, 0).unwrap_err().to_string()
        };
        assert!(
            fault(|c| c.probabilities[2][0] = 0.3)
                .contains("probabilities[2][0] is 0.3 and probabilities[0][2] is 0.1")
        );
        assert!(
            fault(|c| c.probabilities[1][1] = f64::NAN)
                .contains("probabilities[1][1] NaN must be a probability")
        );
        assert!(
            fault(|c| c.probabilities[0].truncate(3))
                .contains("4 blocks need 4 rows of 4 probabilities")
        );
        assert!(fault(|c| c.block_sizes = vec![usize::MAX; 4]).contains("too large to add up"));
        assert!(fault(|c| c.block_sizes[2] = 10_000_000).contains("at most 536870912 edges"));
    }
}
