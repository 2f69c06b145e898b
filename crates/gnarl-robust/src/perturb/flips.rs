//! Random edge flips within a radius: a flip adds or removes an edge.
//!
//! With N = n(n-1)/2 pairs, C(N, d) graphs have distance d, so that nearly all graphs of a ball lie
//! at its largest distance. RobustCRF ([Abbahaddou et al. 2024](https://arxiv.org/abs/2411.05399))
//! samples the distance d with probability C(r, d) / 2^r instead; both laws are here. Time and
//! memory grow with the edges and the flips, never with N.

use std::collections::HashSet;

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Graph, Result, named};
use rand::RngExt;
use rand_distr::{Binomial, Distribution};

use super::Pair;

/// Maximal number of flips: the weights of all distances are kept in memory.
const MAX_RADIUS: usize = 1 << 26;

named! {
    /// Distribution of the distance from the centre.
    #[derive(Default)]
    pub enum FlipLaw as "law of flips" {
        /// Every graph of the ball has the same probability.
        #[default]
        Uniform = "uniform",
        /// Distance d with probability C(r, d) / 2^r, then a uniform graph at that distance, as in
        /// RobustCRF.
        Binomial = "binomial",
    }
}

/// Graphs on `n` nodes within `radius` flips of one of them.
#[derive(Debug, Clone)]
pub struct FlipBall {
    num_nodes: usize,
    radius: usize,
    distance: Distance,
}

#[derive(Debug, Clone)]
enum Distance {
    /// Share of graphs up to each distance.
    Uniform(Vec<f64>),
    Binomial(Binomial),
}

impl FlipBall {
    /// Fails if there are fewer pairs than flips.
    pub fn new(num_nodes: usize, radius: usize, law: FlipLaw) -> Result<Self> {
        let pairs = num_pairs(num_nodes);
        if radius as u64 > pairs || radius > MAX_RADIUS {
            let most = pairs.min(MAX_RADIUS as u64);
            let what = format!(
                "{radius} flips on {num_nodes} nodes with {pairs} pairs, at most {most} are allowed"
            );
            return Err(Error::argument("perturbation", what));
        }
        let distance = match law {
            FlipLaw::Uniform => Distance::Uniform(shares(pairs as f64, radius)),
            FlipLaw::Binomial => Distance::Binomial(
                Binomial::new(radius as u64, 0.5).expect("one half is a probability"),
            ),
        };
        Ok(Self {
            num_nodes,
            radius,
            distance,
        })
    }

    /// Returns the maximal number of flips.
    pub fn radius(&self) -> usize {
        self.radius
    }

    /// Samples a number of flips from the law.
    pub fn sample_distance(&self, rng: &mut Rng) -> usize {
        match &self.distance {
            Distance::Uniform(shares) => {
                let u: f64 = rng.random();
                shares.partition_point(|&share| share <= u).min(self.radius)
            }
            Distance::Binomial(law) => law.sample(rng) as usize,
        }
    }

    /// Samples distinct pairs to flip, with their number from the law.
    pub fn sample(&self, rng: &mut Rng) -> Vec<Pair> {
        let count = self.sample_distance(rng) as u64;
        // Floyd's subset algorithm: as many steps as there are flips, whatever the number of pairs.
        let pairs = num_pairs(self.num_nodes);
        let mut seen = HashSet::with_capacity(count as usize);
        let mut chosen = Vec::with_capacity(count as usize);
        for last in pairs - count..pairs {
            let sampled = rng.random_range(0..=last);
            let index = if seen.insert(sampled) { sampled } else { last };
            seen.insert(index);
            chosen.push(pair(index));
        }
        chosen
    }
}

/// Returns the graph with these distinct pairs flipped; added edges have weight one.
pub fn flipped(graph: &Graph, pairs: &[Pair]) -> Result<Graph> {
    let (gone, new): (Vec<_>, Vec<_>) = pairs
        .iter()
        .copied()
        .partition(|&(u, v)| graph.has_edge(u, v));
    Ok(graph.remove_edges(&gone)?.add_edges(&new)?.0)
}

fn num_pairs(num_nodes: usize) -> u64 {
    let n = num_nodes as u64;
    n * n.saturating_sub(1) / 2
}

/// Returns pair number `index` in the order (0,1), (0,2), (1,2), (0,3), …
fn pair(index: u64) -> Pair {
    // The root may be off by one where it is large.
    let mut v = ((1.0 + (1.0 + 8.0 * index as f64).sqrt()) / 2.0) as u64;
    while v * (v - 1) / 2 > index {
        v -= 1;
    }
    while v * (v + 1) / 2 <= index {
        v += 1;
    }
    ((index - v * (v - 1) / 2) as u32, v as u32)
}

/// Computes `Σ_{i <= d} C(N, i) / Σ_{i <= r} C(N, i)` for d from 0 to r. The numbers themselves
/// overflow; their logarithms do not.
fn shares(pairs: f64, radius: usize) -> Vec<f64> {
    let mut logs = vec![0.0];
    for d in 1..=radius {
        logs.push(logs[d - 1] + ((pairs - d as f64 + 1.0) / d as f64).ln());
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for log in &mut logs {
        total += (*log - largest).exp();
        *log = total;
    }
    logs.iter_mut().for_each(|share| *share /= total);
    logs
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::path;
    use gnarl_graph::random::stream;
    use std::collections::HashMap;

    #[test]
    fn pairs_are_numbered_once() {
        let first: Vec<_> = (0..6).map(pair).collect();
        assert_eq!(first, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]);
        let n = u64::from(u32::MAX);
        assert_eq!(pair(n * (n - 1) / 2 - 1), (u32::MAX - 2, u32::MAX - 1));
        assert_eq!(pair(n * (n - 1) / 2), (0, u32::MAX));
    }

    /// Within two flips of the path 0–1–2–3 there are 1 + 6 + 15 graphs.
    #[test]
    fn every_graph_of_a_small_ball_is_as_likely() {
        let graph = path(4).unwrap();
        let ball = FlipBall::new(4, 2, FlipLaw::Uniform).unwrap();
        let rng = &mut stream(1, "flip test", 0);
        let mut seen: HashMap<Vec<(u32, u32)>, usize> = HashMap::new();
        let samples = 22_000;
        for _ in 0..samples {
            *seen
                .entry(
                    flipped(&graph, &ball.sample(rng))
                        .unwrap()
                        .edges()
                        .collect(),
                )
                .or_default() += 1;
        }
        assert_eq!(seen.len(), 22);
        // Chi-square with 21 degrees of freedom exceeds 46.8 once in a thousand seeds.
        let squares: f64 = seen
            .values()
            .map(|&c| (c as f64 - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(squares < 46.8, "{squares}");
    }

    #[test]
    fn the_thesis_law_of_the_distance() {
        let ball = FlipBall::new(100, 4, FlipLaw::Binomial).unwrap();
        let rng = &mut stream(2, "flip test", 0);
        let mut counts = [0usize; 5];
        (0..16_000).for_each(|_| counts[ball.sample(rng).len()] += 1);
        let expected = [1000.0, 4000.0, 6000.0, 4000.0, 1000.0];
        let squares: f64 = counts
            .iter()
            .zip(expected)
            .map(|(&c, e)| (c as f64 - e).powi(2) / e)
            .sum();
        assert!(squares < 18.5, "{counts:?}");
    }

    /// C(1000, 1) / C(1000, 2) is 2 / 999; with millions of nodes and flips nothing overflows.
    #[test]
    fn shares_stay_numbers() {
        let small = shares(1000.0, 2);
        let total = 1.0 + 1000.0 + 499_500.0;
        assert!(
            (small[0] - 1.0 / total).abs() < 1e-15 && (small[1] - 1001.0 / total).abs() < 1e-12
        );
        let large = FlipBall::new(4_000_000, 1_000_000, FlipLaw::Uniform).unwrap();
        let d = large.sample_distance(&mut stream(3, "flip test", 0));
        assert!((999_990..=1_000_000).contains(&d), "{d}");
    }

    #[test]
    fn more_flips_than_pairs_are_refused() {
        let e = FlipBall::new(1, 1, FlipLaw::Uniform)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("1 flips on 1 nodes with 0 pairs, at most 0"),
            "{e}"
        );
        let all = FlipBall::new(3, 3, FlipLaw::Uniform).unwrap();
        let rng = &mut stream(4, "flip test", 0);
        let most = (0..200).map(|_| all.sample(rng).len()).max();
        assert_eq!(most, Some(3));
        assert!(
            FlipBall::new(0, 0, FlipLaw::Binomial)
                .unwrap()
                .sample(rng)
                .is_empty()
        );
    }
}
