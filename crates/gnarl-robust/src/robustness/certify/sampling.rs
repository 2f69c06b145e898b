//! Samples noisy copies of bits fast: rare flips are skipped to, and nothing is sampled twice.
//!
//! For many bits that flip with probability p, the distance to the next flip is geometric, and the
//! distances are independent. If p is not tiny, they come from a table of the distribution in whole
//! 64-bit numbers. For a row of features with few additions, their number, which is binomial, is
//! sampled first, and then as many different places. This avoids branches that a processor cannot
//! predict.

use gnarl_graph::random::Rng;
use gnarl_graph::{Error, Features, Graph, Result};
use rand::{Rng as _, RngExt};

use super::sparse_smoothing::FlipNoise;

/// Distances between events of probability p.
#[derive(Debug, Clone)]
pub(super) struct Skips {
    p: f64,
    /// Distribution `P(distance <= g)` in units of 2^-64.
    law: Vec<u64>,
    /// For the first ten bits of a number: the smallest distance that it can stand for.
    guide: Vec<u32>,
}

const GUIDE_BITS: u32 = 10;
/// Below this probability a table would be long, and there is little to sample.
const TABLE_FROM: f64 = 1e-3;

impl Skips {
    pub fn new(p: f64) -> Self {
        let mut law = Vec::new();
        if (TABLE_FROM..1.0).contains(&p) {
            loop {
                let reached = -((law.len() + 1) as f64 * (-p).ln_1p()).exp_m1();
                let last = law.last().copied().unwrap_or(0);
                let next = (reached * 2f64.powi(64)) as u64;
                // A value beyond the table is sampled anew from its end: the distribution is
                // memoryless.
                if reached > 0.999_99 || next <= last {
                    break;
                }
                law.push(next);
            }
        }
        Self {
            p,
            guide: guide(&law),
            law,
        }
    }

    /// Number of bits that stay before the next flip; `u64::MAX` if none ever flips.
    #[inline]
    pub fn next(&self, rng: &mut Rng) -> u64 {
        if self.law.is_empty() {
            return self.next_by_logarithm(rng);
        }
        let mut passed = 0u64;
        loop {
            let u = rng.next_u64();
            let mut at = self.guide[(u >> (64 - GUIDE_BITS)) as usize] as usize;
            while at < self.law.len() && u >= self.law[at] {
                at += 1;
            }
            if at < self.law.len() {
                return passed + at as u64;
            }
            passed += self.law.len() as u64;
        }
    }

    fn next_by_logarithm(&self, rng: &mut Rng) -> u64 {
        if self.p <= 0.0 || self.p >= 1.0 {
            return if self.p <= 0.0 { u64::MAX } else { 0 };
        }
        // In (0, 1]: its logarithm is finite.
        let u = 1.0 - rng.random::<f64>();
        (u.ln() / (-self.p).ln_1p()) as u64
    }
}

/// For the first bits of a number: the smallest index in a distribution, as sums in units of 2^-64,
/// that it can stand for.
fn guide(law: &[u64]) -> Vec<u32> {
    let mut at = 0;
    let starts = (0..1u64 << GUIDE_BITS).map(|i| i << (64 - GUIDE_BITS));
    let place = |start| {
        while at < law.len() && law[at] <= start {
            at += 1;
        }
        at as u32
    };
    starts.map(place).collect()
}

/// Number of some bits that flip: the binomial distribution in whole 64-bit numbers.
#[derive(Debug)]
struct FlipCount {
    /// The smallest count whose probability is at least 2^-64.
    first: u32,
    /// Distribution `P(count <= first + i)` in units of 2^-64; the last entry stands for all the
    /// rest.
    law: Vec<u64>,
    /// For the first ten bits of a number: the smallest index in the distribution that it can stand
    /// for.
    guide: Vec<u32>,
}

impl FlipCount {
    /// Computes the distribution from the most likely count both ways, until the rest is below the
    /// numbers' precision.
    fn new(bits: usize, p: f64) -> Self {
        let mode = (((bits + 1) as f64 * p) as usize).min(bits);
        let odds = p / (1.0 - p);
        let mut up = vec![1.0];
        for k in mode..bits {
            let next = up[up.len() - 1] * odds * (bits - k) as f64 / (k + 1) as f64;
            if next < 1e-22 {
                break;
            }
            up.push(next);
        }
        let mut down = Vec::new();
        let mut last = 1.0;
        for k in (0..mode).rev() {
            last *= (k + 1) as f64 / (odds * (bits - k) as f64);
            if last < 1e-22 {
                break;
            }
            down.push(last);
        }
        let total = up.iter().chain(&down).sum::<f64>();
        let mut reached = 0.0;
        let mut law: Vec<u64> = down
            .iter()
            .rev()
            .chain(&up)
            .map(|weight| {
                reached += weight / total;
                (reached * 2f64.powi(64)) as u64
            })
            .collect();
        if let Some(last) = law.last_mut() {
            *last = u64::MAX;
        }
        Self {
            first: (mode - down.len()) as u32,
            guide: guide(&law),
            law,
        }
    }

    #[inline]
    fn sample(&self, rng: &mut Rng) -> u32 {
        let u = rng.next_u64();
        let last = self.law.len() - 1;
        let mut at = self.guide[(u >> (64 - GUIDE_BITS)) as usize] as usize;
        while at < last && u >= self.law[at] {
            at += 1;
        }
        self.first + at as u32
    }
}

/// Up to this probability of an addition, additions are counted first and placed then. A place that
/// is taken is sampled again, which is rare if few are taken.
const COUNTED_UP_TO: f64 = 0.1;

/// Bits in rows, mostly zeros, and their flip noise.
#[derive(Debug)]
pub(super) struct NoisyRows {
    num_cols: usize,
    offsets: Vec<usize>,
    ones: Vec<u32>,
    /// One bit for each cell, rows in whole words.
    is_one: Vec<u64>,
    words: usize,
    added: Skips,
    places: Places,
    /// Distributions by a row's number of ones, if additions are counted first.
    counts: Vec<Option<FlipCount>>,
    /// Numbers of 64 bits below this keep a one.
    kept_below: u64,
    keeps_all: bool,
}

impl NoisyRows {
    /// Reads the features of a graph; fails if they are not zeros and ones.
    pub fn of(graph: &Graph, noise: FlipNoise) -> Result<Self> {
        let Some(features) = graph.features() else {
            let what = "the graph has no features to flip";
            return Err(Error::missing(
                "certify",
                what,
                "--target edges flips edges",
            ));
        };
        if let Some(v) = features.values().iter().find(|&&v| v != 0.0 && v != 1.0) {
            let what = format!(
                "flips need features of 0 or 1, and one is {v}; --binary makes them so, --gaussian X adds noise to features of any value"
            );
            return Err(Error::unsupported("certify", what));
        }
        let (rows, num_cols) = (features.num_rows(), features.num_cols());
        let (mut offsets, mut ones) = (vec![0], Vec::new());
        for u in 0..rows {
            match features {
                Features::Sparse(m) => {
                    let (cols, values) = m.row(u);
                    ones.extend(
                        cols.iter()
                            .zip(values)
                            .filter(|&(_, &v)| v != 0.0)
                            .map(|(&c, _)| c),
                    );
                }
                Features::Dense(m) => {
                    ones.extend(
                        m.row(u)
                            .iter()
                            .enumerate()
                            .filter(|&(_, &v)| v != 0.0)
                            .map(|(c, _)| c as u32),
                    );
                }
            }
            offsets.push(ones.len());
        }
        let words = num_cols.div_ceil(64);
        let mut is_one = vec![0u64; rows * words];
        let mut counts: Vec<Option<FlipCount>> = Vec::new();
        for u in 0..rows {
            let own = &ones[offsets[u]..offsets[u + 1]];
            own.iter()
                .for_each(|&c| is_one[u * words + c as usize / 64] |= 1 << (c % 64));
            if noise.p_plus > 0.0 && noise.p_plus <= COUNTED_UP_TO {
                counts.resize_with(counts.len().max(own.len() + 1), || None);
                counts[own.len()]
                    .get_or_insert_with(|| FlipCount::new(num_cols - own.len(), noise.p_plus));
            }
        }
        let keep = 1.0 - noise.p_minus;
        Ok(Self {
            num_cols,
            offsets,
            ones,
            is_one,
            words,
            added: Skips::new(noise.p_plus),
            places: Places::new(num_cols),
            counts,
            kept_below: (keep * 2f64.powi(64)) as u64,
            keeps_all: keep >= 1.0,
        })
    }

    pub fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn num_cols(&self) -> usize {
        self.num_cols
    }

    /// Samples a noisy copy, row by row: `with_row` gets the columns of its ones, in no order.
    pub fn sample(&self, rng: &mut Rng, mut with_row: impl FnMut(usize, &[u32])) {
        let mut row = vec![0u32; self.num_cols];
        let mut taken = vec![0u64; self.words];
        // A local generator stays in registers over a row.
        let caller = rng;
        let rng = &mut caller.clone();
        for u in 0..self.num_rows() {
            let own = &self.ones[self.offsets[u]..self.offsets[u + 1]];
            let mut count = self.keep(own, rng, &mut row);
            let known = &self.is_one[u * self.words..(u + 1) * self.words];
            match self.counts.get(own.len()) {
                Some(Some(law)) => {
                    taken.copy_from_slice(known);
                    let wanted = count + law.sample(rng) as usize;
                    self.places.sample(&mut row[count..wanted], &mut taken, rng);
                    count = wanted;
                }
                _ => {
                    let mut next = self.added.next(rng);
                    while next < self.num_cols as u64 {
                        if known[(next / 64) as usize] >> (next % 64) & 1 == 0 {
                            row[count] = next as u32;
                            count += 1;
                        }
                        next = next.saturating_add(1).saturating_add(self.added.next(rng));
                    }
                }
            }
            with_row(u, &row[..count]);
        }
        *caller = rng.clone();
    }

    /// Writes the ones that stay, and returns their number.
    #[inline]
    fn keep(&self, own: &[u32], rng: &mut Rng, row: &mut [u32]) -> usize {
        if self.keeps_all {
            row[..own.len()].copy_from_slice(own);
            return own.len();
        }
        let mut count = 0;
        for chunk in own.chunks(64) {
            // One bit of a number for each of up to 64 ones: bit by bit, a number below 2^64 is
            // compared with the probability to stay.
            let mut undecided = u64::MAX >> (64 - chunk.len());
            let (mut stay, mut below) = (0u64, self.kept_below);
            while undecided != 0 && below != 0 {
                let bits = rng.next_u64();
                if below >> 63 == 1 {
                    stay |= undecided & !bits;
                    undecided &= bits;
                } else {
                    undecided &= !bits;
                }
                below <<= 1;
            }
            while stay != 0 {
                row[count] = chunk[stay.trailing_zeros() as usize];
                count += 1;
                stay &= stay - 1;
            }
        }
        count
    }
}

/// Uniform places below a number ([Lemire 2019](https://arxiv.org/abs/1805.10941)): by a product of
/// 32 bits, sampled again where that would favour some.
#[derive(Debug, Clone, Copy)]
struct Places {
    most: u32,
    /// Products whose lower half is below this are sampled again.
    favoured: u32,
}

impl Places {
    fn new(most: usize) -> Self {
        let most = most as u32;
        Self {
            most,
            favoured: most.wrapping_neg().checked_rem(most).unwrap_or(0),
        }
    }

    /// Fills `out` with different places that are not taken, and takes them. A number of 64 bits
    /// gives two places.
    #[inline]
    fn sample(self, out: &mut [u32], taken: &mut [u64], rng: &mut Rng) {
        let mut bits = 0;
        let mut is_second = false;
        for slot in out {
            *slot = loop {
                bits = if is_second {
                    bits >> 32
                } else {
                    rng.next_u64()
                };
                is_second = !is_second;
                let product = (bits & 0xffff_ffff) * u64::from(self.most);
                let place = (product >> 32) as u32;
                let (word, bit) = (&mut taken[place as usize / 64], 1u64 << (place % 64));
                if product as u32 >= self.favoured && *word & bit == 0 {
                    *word |= bit;
                    break place;
                }
            };
        }
    }
}

/// The edges of a graph, and their flip noise.
#[derive(Debug)]
pub(super) struct NoisyEdges {
    edges: Vec<(u32, u32)>,
    pairs: u64,
    added: Skips,
    p_minus: f64,
}

impl NoisyEdges {
    pub fn of(graph: &Graph, noise: FlipNoise) -> Result<Self> {
        if graph.weights().is_some() {
            return Err(Error::unsupported(
                "certify",
                "edges are flipped in graphs without weights, and this one has some",
            ));
        }
        let n = graph.num_nodes() as u64;
        Ok(Self {
            edges: graph.edges().collect(),
            pairs: n * n.saturating_sub(1) / 2,
            added: Skips::new(noise.p_plus),
            p_minus: noise.p_minus,
        })
    }

    /// Samples a noisy copy of the graph.
    pub fn sample(&self, graph: &Graph, rng: &mut Rng) -> Result<Graph> {
        let mut edges = Vec::with_capacity(self.edges.len());
        edges.extend(
            self.edges
                .iter()
                .filter(|_| rng.random::<f64>() >= self.p_minus),
        );
        let mut at = self.added.next(rng);
        // Pairs in the order (0,1), (0,2), (1,2), (0,3), …, followed rather than computed: (at, v)
        // only grow.
        let (mut v, mut first) = (1u64, 0u64);
        while at < self.pairs {
            while first + v <= at {
                first += v;
                v += 1;
            }
            let pair = ((at - first) as u32, v as u32);
            if !graph.has_edge(pair.0, pair.1) {
                edges.push(pair);
            }
            at = at.saturating_add(1).saturating_add(self.added.next(rng));
        }
        graph.with_edges(edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::DenseMatrix;
    use gnarl_graph::generate::erdos_renyi;
    use gnarl_graph::random::stream;

    /// Distances are geometric: their mean and the share of zeros are within five standard errors.
    #[test]
    fn distances_are_geometric() {
        for p in [1e-4, 0.01, 0.3, 0.9] {
            let skips = Skips::new(p);
            let rng = &mut stream(3, "skips", 0);
            let count = 40_000;
            let sampled: Vec<u64> = (0..count).map(|_| skips.next(rng)).collect();
            let mean = sampled.iter().sum::<u64>() as f64 / f64::from(count);
            let standard_deviation = (1.0 - p).sqrt() / p / f64::from(count).sqrt();
            assert!(
                (mean - (1.0 - p) / p).abs() < 5.0 * standard_deviation,
                "{p}: {mean}"
            );
            let zeros = sampled.iter().filter(|&&g| g == 0).count() as f64 / f64::from(count);
            assert!(
                (zeros - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(count)).sqrt(),
                "{p}: {zeros}"
            );
        }
        let rng = &mut stream(3, "skips", 1);
        assert_eq!(
            (Skips::new(0.0).next(rng), Skips::new(1.0).next(rng)),
            (u64::MAX, 0)
        );
    }

    /// Counts are binomial: every probability against the formula.
    #[test]
    fn counts_are_binomial() {
        for (bits, p) in [(1, 0.05), (7, 0.02), (300, 0.01), (2000, 0.1), (0, 0.05)] {
            let law = FlipCount::new(bits, p);
            let mut choose = 1.0f64;
            let mut before = 0u64;
            for k in 0..=bits.min(60) {
                let expected = choose * p.powi(k as i32) * (1.0 - p).powi((bits - k) as i32);
                let at = (k as i64 - i64::from(law.first)).max(-1);
                let reached = if at < 0 {
                    0
                } else {
                    law.law.get(at as usize).copied().unwrap_or(u64::MAX)
                };
                let found = reached.saturating_sub(before) as f64 / 2f64.powi(64);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{k} of {bits}: {found}, not {expected}"
                );
                before = reached;
                choose *= (bits - k) as f64 / (k + 1) as f64;
            }
        }
    }

    /// Two different places of five, one of which is taken: every free place is equally likely.
    #[test]
    fn places_are_free_and_as_likely() {
        let rng = &mut stream(5, "places", 0);
        let (places, mut seen) = (Places::new(5), [0; 5]);
        for _ in 0..10_000 {
            let mut out = [0; 2];
            places.sample(&mut out, &mut [1 << 3], rng);
            assert_ne!(out[0], out[1]);
            out.iter().for_each(|&place| seen[place as usize] += 1);
        }
        assert_eq!(seen[3], 0);
        assert!(
            [0, 1, 2, 4]
                .iter()
                .all(|&i| (4800..5200).contains(&seen[i])),
            "{seen:?}"
        );
    }

    /// The frequency of ones in each cell of a small matrix, against its probability, within five
    /// standard errors.
    #[test]
    fn every_cell_flips_as_often_as_it_should() {
        let values = (0..5 * 13)
            .map(|k| f32::from(u8::from(k % 3 == 0)))
            .collect::<Vec<_>>();
        let features = Features::Dense(DenseMatrix::new(5, 13, values.clone()).unwrap());
        let graph = Graph::empty(5).unwrap().with_features(features).unwrap();
        for (p_plus, p_minus) in [(0.02, 0.6), (0.1, 0.5), (0.3, 0.1), (0.0, 1.0), (1.0, 0.0)] {
            let rows = NoisyRows::of(&graph, FlipNoise { p_plus, p_minus }).unwrap();
            let samples = 20_000;
            let mut seen = vec![0f64; values.len()];
            for i in 0..samples {
                rows.sample(&mut stream(1, "rows", i), |u, cols| {
                    let mut sorted = cols.to_vec();
                    sorted.sort_unstable();
                    sorted.dedup();
                    assert_eq!(sorted.len(), cols.len(), "a column once");
                    cols.iter().for_each(|&c| seen[u * 13 + c as usize] += 1.0);
                });
            }
            for (count, value) in seen.iter().zip(&values) {
                let p = if *value == 1.0 { 1.0 - p_minus } else { p_plus };
                let room = 5.0 * (p * (1.0 - p) / samples as f64).sqrt();
                assert!(
                    (count / samples as f64 - p).abs() <= room,
                    "{count} of {samples}, {p}"
                );
            }
        }
    }

    #[test]
    fn every_pair_flips_as_often_as_it_should() {
        let graph = erdos_renyi(9, 0.4, 5).unwrap();
        let (p_plus, p_minus) = (0.1, 0.3);
        let edges = NoisyEdges::of(&graph, FlipNoise { p_plus, p_minus }).unwrap();
        let mut seen = std::collections::HashMap::new();
        let samples = 20_000;
        for i in 0..samples {
            let sampled = edges.sample(&graph, &mut stream(1, "edges", i)).unwrap();
            sampled
                .edges()
                .for_each(|pair| *seen.entry(pair).or_insert(0.0) += 1.0);
        }
        for u in 0..9u32 {
            for v in u + 1..9 {
                let p = if graph.has_edge(u, v) {
                    1.0 - p_minus
                } else {
                    p_plus
                };
                let share = seen.get(&(u, v)).copied().unwrap_or(0.0) / samples as f64;
                assert!(
                    (share - p).abs() < 5.0 * (p * (1.0 - p) / samples as f64).sqrt(),
                    "({u}, {v}): {share}, {p}"
                );
            }
        }
    }

    #[test]
    fn features_that_are_not_binary_are_refused_in_one_line() {
        let noise = FlipNoise {
            p_plus: 0.1,
            p_minus: 0.1,
        };
        let graph = Graph::empty(2).unwrap();
        assert!(
            NoisyRows::of(&graph, noise)
                .unwrap_err()
                .to_string()
                .contains("no features")
        );
        let features = Features::Dense(DenseMatrix::new(2, 1, vec![1.0, 0.5]).unwrap());
        let e = NoisyRows::of(&graph.with_features(features).unwrap(), noise)
            .unwrap_err()
            .to_string();
        assert!(e.contains("one is 0.5") && !e.contains('\n'), "{e}");
    }
}
