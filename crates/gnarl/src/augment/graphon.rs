//! Graphons: the common structure of graphs of one kind, of any size. A graphon W gives two
//! positions x, y in [0, 1] the edge probability `W(x, y)` (Lovász 2012,
//! [doi:10.1090/coll/060](https://doi.org/10.1090/coll/060)); here it is constant on the cells of a
//! grid.
//!
//! [`Graphon::estimate`] estimates it for a class of graphs in three steps:
//!
//! 1. Nodes are sorted.
//! 2. Adjacency matrices are averaged over the cells of that order.
//! 3. Singular values at the level of noise are cut off (Chatterjee 2015,
//!    [arXiv:1212.1247](https://arxiv.org/abs/1212.1247)).
//!
//! An order that depends on the averaged edges makes equal rows look different: the node that
//! happens to have the most edges always comes first. So each pair of nodes is randomly put into
//! one of two halves; one half gives the order, the other half gives the averages, and then the
//! halves change roles. The order is by degree or by the second eigenvector, which separates blocks
//! of equal degrees: the order with the larger likelihood of the other half. From either initial
//! order, nodes are then moved a few times. A node moves to the cell where the current graphon
//! gives its edges of the first half the largest likelihood.

use gnarl_graph::random::{Rng, mix};
use gnarl_graph::{Error, Graph, Result};
use gnarl_linalg::symmetric_eigen;
use rand::RngExt;
use rayon::prelude::*;

/// Largest number of cells per side.
const FINEST: usize = 100;
/// Number of steps of power iteration for an eigenvector.
const POWER_STEPS: usize = 40;
/// Number of times that nodes are moved.
const ROUNDS: usize = 2;
/// Smallest edge probability, and smallest probability of no edge.
const MIN_PROBABILITY: f64 = 1e-3;
/// Threshold of singular values, slightly above twice the noise, as in Chatterjee.
const ABOVE_NOISE: f64 = 2.02;

/// A graphon that is constant on the cells of a square grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Graphon {
    cells: usize,
    /// Edge probability of each cell, by rows; symmetric.
    values: Vec<f64>,
}

/// Key that nodes are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Degree,
    SecondEigenvector,
}

/// Number of edges and pairs of nodes in each cell.
struct Counts {
    edges: Vec<f64>,
    pairs: Vec<f64>,
}

impl Graphon {
    /// Returns the graphon with these edge probabilities on cells, by rows.
    pub fn new(cells: usize, values: Vec<f64>) -> Result<Self> {
        let symmetric =
            || (0..cells * cells).all(|at| values[at] == values[(at % cells) * cells + at / cells]);
        let chances = values.iter().all(|p| (0.0..=1.0).contains(p));
        if cells == 0 || values.len() != cells * cells || !chances || !symmetric() {
            let what = format!(
                "{} values for {cells} cells a side; a symmetric matrix of probabilities is needed",
                values.len()
            );
            return Err(Error::argument("graphon", what));
        }
        Ok(Self { cells, values })
    }

    /// Estimates the graphon of graphs of one kind, with as many cells per side as their median
    /// number of nodes, at most 100. O(nodes² + edges · cells) per graph, and O(cells³).
    pub fn estimate(graphs: &[&Graph], seed: u64) -> Result<Self> {
        let mut sizes: Vec<usize> = graphs
            .iter()
            .map(|g| g.num_nodes())
            .filter(|&n| n > 0)
            .collect();
        sizes.sort_unstable();
        let cells = sizes
            .get(sizes.len() / 2)
            .map_or(1, |&n| n.clamp(1, FINEST));
        let halves = |(i, graph): (usize, &&Graph)| {
            let seed = mix(seed ^ mix(i as u64));
            [false, true].map(|half| Half::new(graph, half, seed))
        };
        let halved: Vec<[Half; 2]> = graphs.par_iter().enumerate().map(halves).collect();
        let ordered = |order: Order| {
            let place =
                |half: &[Half; 2]| [0, 1].map(|h| half[h].places(&half[h].keys(order), cells));
            let placed: Vec<[Vec<usize>; 2]> = halved.par_iter().map(place).collect();
            (Counts::of(&halved, &placed, cells), placed)
        };
        let (by_degree, by_vector) = (ordered(Order::Degree), ordered(Order::SecondEigenvector));
        let is_better = by_vector.0.log_likelihood() > by_degree.0.log_likelihood();
        let (mut counts, mut placed) = if is_better { by_vector } else { by_degree };
        for _ in 0..ROUNDS {
            let now = LogChances::of(&counts.denoised(cells)?);
            let anew = |(half, placed): (&[Half; 2], &[Vec<usize>; 2])| {
                [0, 1].map(|h| half[h].places(&half[h].likeliest(&placed[h], &now), cells))
            };
            placed = halved.par_iter().zip(&placed).map(anew).collect();
            counts = Counts::of(&halved, &placed, cells);
        }
        counts.denoised(cells)
    }

    /// Returns the number of cells per side.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the edge probability of two positions in [0, 1].
    pub fn at(&self, x: f64, y: f64) -> f64 {
        let cell = |x: f64| ((x * self.cells as f64) as usize).min(self.cells - 1);
        self.values[cell(x) * self.cells + cell(y)]
    }

    /// Returns `(1 - share) · self + share · other`, on the finer grid of the two.
    #[must_use]
    pub fn mixed(&self, other: &Graphon, share: f64) -> Self {
        let cells = self.cells.max(other.cells);
        let middle = |k: usize| (k as f64 + 0.5) / cells as f64;
        let value = |at: usize| {
            let (x, y) = (middle(at / cells), middle(at % cells));
            (1.0 - share) * self.at(x, y) + share * other.at(x, y)
        };
        Self {
            cells,
            values: (0..cells * cells).map(value).collect(),
        }
    }

    /// Returns the position of node `i` of `n`, the same for every sample: sampled graphs have the
    /// expected number of nodes in each cell.
    pub fn place(i: usize, n: usize) -> f64 {
        (i as f64 + 0.5) / n.max(1) as f64
    }

    /// Samples the edges of a graph of `n` nodes, node `i` at [`place`](Self::place) `i`.
    /// O(cells² + edges): pairs are skipped, not visited.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Vec<(u32, u32)> {
        let mut first = vec![n; self.cells + 1];
        for i in (0..n).rev() {
            let cell = ((Self::place(i, n) * self.cells as f64) as usize).min(self.cells - 1);
            first[..=cell].iter_mut().for_each(|start| *start = i);
        }
        let mut edges = Vec::new();
        for a in 0..self.cells {
            for b in a..self.cells {
                let (rows, columns) = (first[a + 1] - first[a], first[b + 1] - first[b]);
                let pairs = if a == b {
                    rows * rows.saturating_sub(1) / 2
                } else {
                    rows * columns
                };
                let chance = self.values[a * self.cells + b];
                for_each_hit(pairs, chance, rng, |k| {
                    let (u, v) = if a == b {
                        pair_of(k)
                    } else {
                        (k / columns, k % columns)
                    };
                    edges.push(((first[a] + u) as u32, (first[b] + v) as u32));
                });
            }
        }
        edges
    }
}

/// Returns the k-th pair `u > v` of some nodes: (1, 0), (2, 0), (2, 1), (3, 0), …
fn pair_of(k: usize) -> (usize, usize) {
    let mut u = ((((8 * k + 1) as f64).sqrt() + 1.0) / 2.0) as usize;
    // The root may be off by rounding.
    while u * (u - 1) / 2 > k {
        u -= 1;
    }
    while u * (u + 1) / 2 <= k {
        u += 1;
    }
    (u, k - u * (u - 1) / 2)
}

/// Calls `hit` for each of `count` independent trials that succeeds with this probability.
fn for_each_hit(count: usize, chance: f64, rng: &mut Rng, mut hit: impl FnMut(usize)) {
    if chance <= 0.0 || count == 0 {
        return;
    }
    if chance >= 1.0 {
        return (0..count).for_each(hit);
    }
    let log_miss = (1.0 - chance).ln();
    let mut at = 0usize;
    loop {
        let misses = ((1.0 - rng.random::<f64>()).ln() / log_miss).min(count as f64) as usize;
        at = at.saturating_add(misses);
        if at >= count {
            return;
        }
        hit(at);
        at += 1;
    }
}

impl Counts {
    /// Counts the pairs of each half in the cells given by the other half. Counts are whole
    /// numbers, so the order of additions among threads does not matter.
    fn of(halved: &[[Half; 2]], placed: &[[Vec<usize>; 2]], cells: usize) -> Self {
        let none = || Self {
            edges: vec![0.0; cells * cells],
            pairs: vec![0.0; cells * cells],
        };
        let with = |mut counts: Self, (half, placed): (&[Half; 2], &[Vec<usize>; 2])| {
            let both_ways = |sums: &mut [f64], a: usize, b: usize| {
                sums[a * cells + b] += 1.0;
                sums[b * cells + a] += 1.0;
            };
            for (cell, other) in placed.iter().zip([&half[1], &half[0]]) {
                let of = |&(u, v): &(u32, u32)| (cell[u as usize], cell[v as usize]);
                other
                    .edges
                    .iter()
                    .map(of)
                    .for_each(|(a, b)| both_ways(&mut counts.edges, a, b));
            }
            for v in 0..placed[0].len() {
                for u in 0..v {
                    let cell = &placed[usize::from(!in_half(u as u32, v as u32, half[0].seed))];
                    both_ways(&mut counts.pairs, cell[u], cell[v]);
                }
            }
            counts
        };
        let sum = |mut all: Self, some: Self| {
            all.edges
                .iter_mut()
                .zip(&some.edges)
                .for_each(|(all, some)| *all += some);
            all.pairs
                .iter_mut()
                .zip(&some.pairs)
                .for_each(|(all, some)| *all += some);
            all
        };
        halved
            .par_iter()
            .zip(placed)
            .with_min_len(16)
            .fold(none, with)
            .reduce(none, sum)
    }

    fn chance(&self, at: usize) -> f64 {
        if self.pairs[at] > 0.0 {
            (self.edges[at] / self.pairs[at]).min(1.0)
        } else {
            0.0
        }
    }

    /// Returns the edge probability of a cell. A cell without pairs, such as that of a node with
    /// itself, has the mean of the adjacent cells; zero would look like noise.
    fn chance_or_neighbours(&self, at: usize, cells: usize) -> f64 {
        if self.pairs[at] > 0.0 {
            return self.chance(at);
        }
        let (row, column) = (at / cells, at % cells);
        let beside = [
            column.checked_sub(1),
            Some(column + 1).filter(|&c| c < cells),
        ];
        let known: Vec<usize> = beside
            .into_iter()
            .flatten()
            .map(|c| row * cells + c)
            .collect();
        let known: Vec<f64> = known
            .into_iter()
            .filter(|&at| self.pairs[at] > 0.0)
            .map(|at| self.chance(at))
            .collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    }

    /// Returns the log-likelihood of all pairs under the probabilities of their cells.
    fn log_likelihood(&self) -> f64 {
        let entropy = |p: f64| {
            if p > 0.0 && p < 1.0 {
                p * p.ln() + (1.0 - p) * (1.0 - p).ln()
            } else {
                0.0
            }
        };
        (0..self.edges.len())
            .map(|at| self.pairs[at] * entropy(self.chance(at)))
            .sum()
    }

    /// Returns the graphon of these counts, without singular values at the level of noise.
    fn denoised(&self, cells: usize) -> Result<Graphon> {
        let chances: Vec<f64> = (0..cells * cells)
            .map(|at| self.chance_or_neighbours(at, cells))
            .collect();
        let variance = |at: usize| {
            if self.pairs[at] > 0.0 {
                chances[at] * (1.0 - chances[at]) / self.pairs[at]
            } else {
                0.0
            }
        };
        let noise = (0..cells * cells).map(variance).sum::<f64>() / (cells * cells) as f64;
        let threshold = ABOVE_NOISE * (cells as f64 * noise).sqrt();
        let (values, vectors) = symmetric_eigen(cells, &chances, true)
            .map_err(|_| Error::argument("graphon", "its eigenvalues were not found"))?;
        let largest = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
        let mut kept = vec![0f64; cells * cells];
        for (value, vector) in values.iter().zip(vectors.chunks_exact(cells)) {
            if value.abs() < threshold && value.abs() < largest {
                continue;
            }
            for (a, row) in kept.chunks_exact_mut(cells).enumerate() {
                row.iter_mut()
                    .zip(vector)
                    .for_each(|(sum, v)| *sum += value * vector[a] * v);
            }
        }
        // Rounding makes the two halves differ in their last bits.
        let value = |at: usize| {
            (0.5 * (kept[at] + kept[(at % cells) * cells + at / cells])).clamp(0.0, 1.0)
        };
        Ok(Graphon {
            cells,
            values: (0..cells * cells).map(value).collect(),
        })
    }
}

/// Returns the half of a pair of nodes, in either order.
fn in_half(u: u32, v: u32, seed: u64) -> bool {
    let (u, v) = (u.min(v), u.max(v));
    mix(seed ^ mix(u64::from(u) << 32 | u64::from(v))) & 1 == 1
}

/// One half of a graph's edges.
struct Half {
    edges: Vec<(u32, u32)>,
    degrees: Vec<f64>,
    seed: u64,
}

/// For each cell by rows, the log-probability that a pair of half the pairs is no edge, and the
/// change of it by an edge.
struct LogChances {
    cells: usize,
    none: Vec<f64>,
    edge: Vec<f64>,
}

impl LogChances {
    fn of(graphon: &Graphon) -> Self {
        let sure = |p: &f64| p.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY);
        let none = graphon
            .values
            .iter()
            .map(|p| (1.0 - sure(p)).ln())
            .collect();
        let edge = graphon
            .values
            .iter()
            .map(|p| sure(p).ln() - (1.0 - sure(p)).ln())
            .collect();
        Self {
            cells: graphon.cells,
            none,
            edge,
        }
    }
}

impl Half {
    fn new(graph: &Graph, half: bool, seed: u64) -> Self {
        let edges: Vec<(u32, u32)> = graph
            .edges()
            .filter(|&(u, v)| in_half(u, v, seed) == half)
            .collect();
        let mut degrees = vec![0f64; graph.num_nodes()];
        for &(u, v) in &edges {
            degrees[u as usize] += 1.0;
            degrees[v as usize] += 1.0;
        }
        Self {
            edges,
            degrees,
            seed,
        }
    }

    /// Returns the sort keys of nodes, the largest first.
    fn keys(&self, order: Order) -> Vec<f64> {
        match order {
            Order::Degree => self.degrees.clone(),
            Order::SecondEigenvector => second_eigenvector(&self.edges, &self.degrees, self.seed),
        }
    }

    /// Returns the cell of each node in the order of its keys.
    fn places(&self, keys: &[f64], cells: usize) -> Vec<usize> {
        let (n, seed) = (keys.len(), self.seed);
        let mut nodes: Vec<usize> = (0..n).collect();
        // Ties are broken at random: the order of a file may hold information that edges do not
        // have.
        nodes.sort_by(|&a, &b| {
            keys[b]
                .total_cmp(&keys[a])
                .then_with(|| mix(seed ^ a as u64).cmp(&mix(seed ^ b as u64)))
        });
        let mut cell = vec![0; n];
        nodes
            .iter()
            .enumerate()
            .for_each(|(rank, &u)| cell[u] = (rank * cells / n).min(cells - 1));
        cell
    }

    /// Returns minus the expected cell of each node, by the likelihood of its edges in each cell
    /// with all other nodes fixed. O(cells · (edges + cells)).
    fn likeliest(&self, cell: &[usize], now: &LogChances) -> Vec<f64> {
        let (n, cells) = (cell.len(), now.cells);
        let mut sizes = vec![0f64; cells];
        cell.iter().for_each(|&c| sizes[c] += 1.0);
        let without = |a: usize| {
            (0..cells)
                .map(|b| 0.5 * sizes[b] * now.none[a * cells + b])
                .sum::<f64>()
        };
        let base: Vec<f64> = (0..cells).map(without).collect();
        let mut logs: Vec<f64> = base.repeat(n);
        for &(u, v) in &self.edges {
            for (u, v) in [(u as usize, v as usize), (v as usize, u as usize)] {
                let row = &now.edge[cell[v] * cells..(cell[v] + 1) * cells];
                logs[u * cells..(u + 1) * cells]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(log, edge)| *log += edge);
            }
        }
        let expected = |logs: &[f64]| {
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            -weights
                .iter()
                .enumerate()
                .map(|(a, w)| a as f64 * w)
                .sum::<f64>()
                / total
        };
        logs.chunks_exact(cells).map(expected).collect()
    }
}

/// Returns an approximate eigenvector of the second largest eigenvalue of the adjacency, with the
/// sign that correlates with the degrees.
fn second_eigenvector(edges: &[(u32, u32)], degrees: &[f64], seed: u64) -> Vec<f64> {
    let n = degrees.len();
    let largest_degree = degrees.iter().copied().fold(0.0, f64::max);
    let start = |salt: u64| {
        (0..n)
            .map(|u| (mix(seed ^ salt ^ u as u64) >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
            .collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let without = |x: &mut Vec<f64>, other: &[f64]| {
        let along = dot(x, other);
        x.iter_mut().zip(other).for_each(|(x, o)| *x -= along * o);
        let norm = dot(x, x).sqrt().max(1e-300);
        x.iter_mut().for_each(|x| *x /= norm);
    };
    let iterate = |mut x: Vec<f64>, away_from: &[f64]| {
        for _ in 0..POWER_STEPS {
            // Shifted, so that the most negative eigenvalue does not dominate.
            let mut next: Vec<f64> = x.iter().map(|x| 0.5 * largest_degree * x).collect();
            for &(u, v) in edges {
                next[u as usize] += x[v as usize];
                next[v as usize] += x[u as usize];
            }
            without(&mut next, away_from);
            x = next;
        }
        x
    };
    let first = iterate(degrees.iter().map(|d| d + 1e-3).collect(), &vec![0.0; n]);
    let mut second: Vec<f64> = iterate(start(1), &first);
    let mean = degrees.iter().sum::<f64>() / n.max(1) as f64;
    if second
        .iter()
        .zip(degrees)
        .map(|(x, d)| x * (d - mean))
        .sum::<f64>()
        < 0.0
    {
        second.iter_mut().for_each(|x| *x = -*x);
    }
    second
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::random::stream;

    /// Samples graphs of a two-block graphon, with their nodes in random order.
    fn blocks(inside: [f64; 2], between: f64, graphs: usize, n: usize) -> (Graphon, Vec<Graph>) {
        let truth = Graphon::new(2, vec![inside[0], between, between, inside[1]]).unwrap();
        let sample = |i: usize| {
            let rng = &mut stream(5, "graphon test", i as u64);
            let mut name: Vec<u32> = (0..n as u32).collect();
            (0..n).for_each(|k| name.swap(k, rng.random_range(k..n)));
            let edges = truth
                .sample(n, rng)
                .into_iter()
                .map(|(u, v)| (name[u as usize], name[v as usize]));
            Graph::from_edges(n, edges).unwrap().0
        };
        (truth.clone(), (0..graphs).map(sample).collect())
    }

    fn error(a: &Graphon, b: &Graphon) -> f64 {
        let at = |k: usize| (k as f64 + 0.5) / 200.0;
        let squares = (0..200).flat_map(|i| (0..200).map(move |j| (at(i), at(j))));
        let sum: f64 = squares
            .map(|(x, y)| (a.at(x, y) - b.at(x, y)).powi(2))
            .sum();
        (sum / 40_000.0).sqrt()
    }

    #[test]
    fn two_blocks_are_found_whether_their_degrees_differ_or_not() {
        for (inside, between) in [([0.8, 0.3], 0.2), ([0.7, 0.7], 0.2), ([0.6, 0.1], 0.4)] {
            let (truth, graphs) = blocks(inside, between, 100, 100);
            let found = Graphon::estimate(&graphs.iter().collect::<Vec<_>>(), 1).unwrap();
            assert!(
                error(&found, &truth) < 0.05,
                "{inside:?}, {between}: {}",
                error(&found, &truth)
            );
        }
    }

    #[test]
    fn draws_have_the_chances_of_their_cells() {
        let graphon = Graphon::new(2, vec![0.9, 0.1, 0.1, 0.5]).unwrap();
        let rng = &mut stream(1, "graphon test", 0);
        let mut counts = [0usize; 3];
        for _ in 0..200 {
            for (u, v) in graphon.sample(20, rng) {
                assert!(u != v && u < 20 && v < 20);
                counts[usize::from(u >= 10) + usize::from(v >= 10)] += 1;
            }
        }
        // 45, 100 and 45 pairs, 200 times; five standard errors.
        for (count, (pairs, chance)) in
            counts
                .into_iter()
                .zip([(45.0, 0.9), (100.0, 0.1), (45.0, 0.5)])
        {
            let expected: f64 = 200.0 * pairs * chance;
            assert!(
                (count as f64 - expected).abs() < 5.0 * (expected * (1.0 - chance)).sqrt(),
                "{count}, not {expected}"
            );
        }
        assert_eq!(
            (0..6).map(pair_of).collect::<Vec<_>>(),
            [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
        );
        assert_eq!(Graphon::new(1, vec![1.0]).unwrap().sample(4, rng).len(), 6);
        assert!(
            Graphon::new(1, vec![0.0])
                .unwrap()
                .sample(4, rng)
                .is_empty()
        );
    }

    #[test]
    fn odd_graphs_have_a_graphon_too() {
        let empty = Graph::from_edges(0, []).unwrap().0;
        let alone = Graph::from_edges(1, []).unwrap().0;
        let pair = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        for graphs in [
            vec![],
            vec![&empty],
            vec![&alone, &empty],
            vec![&pair],
            vec![&pair, &alone, &empty],
        ] {
            let found = Graphon::estimate(&graphs, 1).unwrap();
            assert!(
                found
                    .sample(0, &mut stream(1, "graphon test", 1))
                    .is_empty()
            );
            assert!(found.values.iter().all(|p| (0.0..=1.0).contains(p)));
        }
        assert!(Graphon::new(2, vec![0.1; 3]).is_err() && Graphon::new(1, vec![1.5]).is_err());
        let mixed = Graphon::new(1, vec![1.0])
            .unwrap()
            .mixed(&Graphon::new(2, vec![0.0; 4]).unwrap(), 0.25);
        assert_eq!((mixed.cells(), mixed.at(0.9, 0.1)), (2, 0.75));
    }
}
