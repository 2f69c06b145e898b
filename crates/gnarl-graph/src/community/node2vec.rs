//! node2vec ([Grover and Leskovec 2016](https://arxiv.org/abs/1607.00653)): embeddings in which
//! nodes that co-occur on random walks are close, learned by skip-gram with negative sampling
//! ([Mikolov et al. 2013](https://arxiv.org/abs/1310.4546)).

use rand::RngExt;
use rand::seq::SliceRandom;

use super::refuse_negative_weights;
use crate::centrality::degrees;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::DenseMatrix;
use crate::random::{Rng, stream};

const OP: &str = "node2vec";

/// Range of `p` and `q`: steps are sampled by rejection, whose cost is the spread of the biases.
const BIAS_RANGE: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Settings of [`node2vec`].
#[derive(Debug, Clone, PartialEq)]
pub struct Node2vec {
    /// Dimensions of the embedding.
    pub dim: usize,
    /// Number of nodes on a walk.
    pub walk_length: usize,
    /// Number of walks that start at each node.
    pub walks_per_node: usize,
    /// Context window: the largest distance on a walk at which two nodes co-occur.
    pub window: usize,
    /// Return parameter: large values keep a walk from going straight back.
    pub p: f64,
    /// In-out parameter: large values keep a walk near where it was.
    pub q: f64,
    /// Number of negative samples per co-occurrence.
    pub negative: usize,
    /// Initial learning rate; it falls linearly to a 250th.
    pub learning_rate: f32,
}

impl Default for Node2vec {
    /// Settings of the published program: 128 dimensions, ten walks of 80 nodes from each node,
    /// window 10, p = q = 1, one epoch; five negative samples and learning rate 0.025 as in
    /// word2vec.
    fn default() -> Self {
        Self {
            dim: 128,
            walk_length: 80,
            walks_per_node: 10,
            window: 10,
            p: 1.0,
            q: 1.0,
            negative: 5,
            learning_rate: 0.025,
        }
    }
}

impl Node2vec {
    fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::argument(OP, what));
        let sizes = [
            ("dim", self.dim),
            ("walk_length", self.walk_length),
            ("walks_per_node", self.walks_per_node),
            ("window", self.window),
            ("negative", self.negative),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return refuse(format!("{name} 0, at least 1 is needed"));
        }
        for (name, value) in [("p", self.p), ("q", self.q)] {
            if !BIAS_RANGE.contains(&value) {
                return refuse(format!(
                    "{name} {value} must be from {} to {}",
                    BIAS_RANGE.start(),
                    BIAS_RANGE.end()
                ));
            }
        }
        if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) {
            return refuse(format!(
                "learning rate {} must be above 0",
                self.learning_rate
            ));
        }
        Ok(())
    }
}

/// Computes an embedding of every node, n × `dim`. An isolated node keeps its random initial
/// embedding.
///
/// Walks are sampled as they are needed, and negative samples in proportion to degree^(3/4), so
/// memory is O(n dim + m). One thread works in one order: the seed fixes every coordinate. O(n ·
/// walks_per_node · walk_length · window · negative · dim). Fails for negative weights, settings
/// out of range, and a graph without edges.
pub fn node2vec(graph: &Graph, settings: &Node2vec, seed: u64) -> Result<DenseMatrix<f64>> {
    settings.check()?;
    refuse_negative_weights(OP, graph)?;
    if degrees(graph).iter().sum::<f64>() == 0.0 {
        return Err(Error::unsupported(
            OP,
            "the graph has no edges, so no walk leaves its node",
        ));
    }
    let (n, dim) = (graph.num_nodes(), settings.dim);
    let walker = Walker::new(graph, settings);
    let mut model = SkipGram::new(graph, settings, seed);
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut walk = Vec::with_capacity(settings.walk_length);
    let rng = &mut stream(seed, OP, 0);
    let total = (n * settings.walks_per_node) as f32;
    for round in 0..settings.walks_per_node {
        order.shuffle(rng);
        for (i, &start) in order.iter().enumerate() {
            let done = (round * n + i) as f32 / total;
            walker.walk(start, &mut walk, rng);
            model.learn(
                &walk,
                settings.learning_rate * (1.0 - done).max(1.0 / 250.0),
                rng,
            );
        }
    }
    DenseMatrix::new(n, dim, model.input.into_iter().map(f64::from).collect())
}

/// Samples biased walks of second order.
struct Walker<'a> {
    graph: &'a Graph,
    settings: &'a Node2vec,
    /// Cumulative weights of each row, one value per arc; empty if all edges have weight one.
    sums: Vec<f64>,
    largest_bias: f64,
}

impl<'a> Walker<'a> {
    fn new(graph: &'a Graph, settings: &'a Node2vec) -> Self {
        let mut sums = graph.weights().map_or_else(Vec::new, <[f64]>::to_vec);
        if !sums.is_empty() {
            for u in 0..graph.num_nodes() as u32 {
                let mut sum = 0.0;
                for k in graph.arc_range(u) {
                    sum += sums[k];
                    sums[k] = sum;
                }
            }
        }
        let largest_bias = (1.0 / settings.p).max(1.0).max(1.0 / settings.q);
        Self {
            graph,
            settings,
            sums,
            largest_bias,
        }
    }

    fn walk(&self, start: u32, walk: &mut Vec<u32>, rng: &mut Rng) {
        walk.clear();
        walk.push(start);
        while walk.len() < self.settings.walk_length {
            let Some(next) = self.step(walk, rng) else {
                return;
            };
            walk.push(next);
        }
    }

    /// Returns the next node; `None` if the node has no neighbours.
    fn step(&self, walk: &[u32], rng: &mut Rng) -> Option<u32> {
        let here = walk[walk.len() - 1];
        let plain = self.settings.p == 1.0 && self.settings.q == 1.0;
        let before = walk
            .len()
            .checked_sub(2)
            .map(|at| walk[at])
            .filter(|_| !plain);
        loop {
            let next = self.neighbour(here, rng)?;
            let Some(before) = before else {
                return Some(next);
            };
            let bias = if next == before {
                1.0 / self.settings.p
            } else if self.graph.has_edge(before, next) {
                1.0
            } else {
                1.0 / self.settings.q
            };
            if rng.random::<f64>() * self.largest_bias < bias {
                return Some(next);
            }
        }
    }

    /// Samples a neighbour in proportion to the weight of its edge.
    fn neighbour(&self, u: u32, rng: &mut Rng) -> Option<u32> {
        let range = self.graph.arc_range(u);
        if range.is_empty() {
            return None;
        }
        if self.sums.is_empty() {
            return Some(self.graph.targets()[rng.random_range(range)]);
        }
        let sums = &self.sums[range.clone()];
        let total = sums[sums.len() - 1];
        let target = rng.random::<f64>() * total;
        let at = sums.partition_point(|sum| *sum <= target);
        (total > 0.0).then(|| self.graph.targets()[range.start + at.min(sums.len() - 1)])
    }
}

/// Two vectors for each node, and the distribution of the negative samples.
struct SkipGram<'a> {
    settings: &'a Node2vec,
    /// Vectors of nodes as centres: the embedding.
    input: Vec<f32>,
    /// Vectors of nodes as contexts.
    output: Vec<f32>,
    /// Running sums of degree^(3/4).
    noise: Vec<f64>,
    gradient: Vec<f32>,
}

impl<'a> SkipGram<'a> {
    fn new(graph: &Graph, settings: &'a Node2vec, seed: u64) -> Self {
        let (n, dim) = (graph.num_nodes(), settings.dim);
        let rng = &mut stream(seed, "node2vec start", 0);
        let input = (0..n * dim)
            .map(|_| (rng.random::<f32>() - 0.5) / dim as f32)
            .collect();
        let mut sum = 0.0;
        let add = |d: f64| {
            sum += d.powf(0.75);
            sum
        };
        let noise = degrees(graph).into_iter().map(add).collect();
        Self {
            settings,
            input,
            output: vec![0.0; n * dim],
            noise,
            gradient: vec![0.0; dim],
        }
    }

    /// Runs one pass of gradient descent over the co-occurrences of a walk. The window is sampled
    /// anew at each node, from 1 to its largest, so that near nodes co-occur more often.
    fn learn(&mut self, walk: &[u32], rate: f32, rng: &mut Rng) {
        for (i, &u) in walk.iter().enumerate() {
            let reach = rng.random_range(1..=self.settings.window);
            for j in i.saturating_sub(reach)..(i + reach + 1).min(walk.len()) {
                if j != i {
                    self.meet(u, walk[j], rate, rng);
                }
            }
        }
    }

    /// Moves the embedding of `u` towards the output of `v` and away from the outputs of a few
    /// other nodes.
    fn meet(&mut self, u: u32, v: u32, rate: f32, rng: &mut Rng) {
        let dim = self.settings.dim;
        let x = &mut self.input[u as usize * dim..][..dim];
        self.gradient.fill(0.0);
        let largest = self.noise[self.noise.len() - 1];
        for contrast in 0..=self.settings.negative {
            let (other, wanted) = if contrast == 0 {
                (v, 1.0)
            } else {
                let target = rng.random::<f64>() * largest;
                let drawn = self.noise.partition_point(|sum| *sum <= target) as u32;
                if drawn == v {
                    continue;
                }
                (drawn, 0.0)
            };
            let y = &mut self.output[other as usize * dim..][..dim];
            let slope = rate * (wanted - 1.0 / (1.0 + (-dot(x, y)).exp()));
            for ((g, y), x) in self.gradient.iter_mut().zip(y).zip(x.iter()) {
                *g += slope * *y;
                *y += slope * x;
            }
        }
        x.iter_mut().zip(&self.gradient).for_each(|(x, g)| *x += g);
    }
}

/// Computes an inner product, in sums that the compiler can keep in vector registers.
fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0f32; 16];
    let (xs, ys) = (x.chunks_exact(16), y.chunks_exact(16));
    let tail: f32 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in xs.zip(ys) {
        for i in 0..16 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::community::{KMeans, kmeans};
    use crate::generate::{SbmConfig, sbm};
    use crate::metrics::adjusted_rand_index;

    #[test]
    fn planted_blocks_are_found() {
        let g = sbm(&SbmConfig::planted(3, 30, 0.5, 0.02), 4).unwrap();
        let small = Node2vec {
            dim: 16,
            walks_per_node: 20,
            learning_rate: 0.1,
            ..Node2vec::default()
        };
        let points = node2vec(&g, &small, 1).unwrap();
        let of = kmeans(&points, &KMeans::new(3), 1).unwrap().of;
        let truth: Vec<u32> = (0..90).map(|u| u / 30).collect();
        assert!(adjusted_rand_index(&of, &truth).unwrap() > 0.9);
        assert_eq!(points, node2vec(&g, &small, 1).unwrap());
        assert_ne!(points, node2vec(&g, &small, 2).unwrap());
    }

    /// A walk that came from 0 to 2 on a triangle with a tail 2-3 returns with bias 1/p, goes to 1
    /// with bias 1, and to 3 with bias 1/q. With 40,000 samples a share is off by 4 sigma = 0.01 at
    /// most.
    #[test]
    fn steps_have_their_bias() {
        let g = Graph::from_edges(4, [(0, 1), (0, 2), (1, 2), (2, 3)])
            .unwrap()
            .0;
        let weighted =
            Graph::from_weighted_edges(4, [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 1.0), (2, 3, 2.0)])
                .unwrap()
                .0;
        for (g, p, q, weights) in [
            (&g, 1.0, 1.0, [1.0, 1.0, 1.0]),
            (&g, 4.0, 0.5, [0.25, 1.0, 2.0]),
            (&weighted, 2.0, 0.5, [1.5, 1.0, 4.0]),
        ] {
            let settings = Node2vec {
                p,
                q,
                ..Node2vec::default()
            };
            let walker = Walker::new(g, &settings);
            let rng = &mut stream(1, "test", 0);
            let mut counts = [0u32; 4];
            for _ in 0..40_000 {
                counts[walker.step(&[0, 2], rng).unwrap() as usize] += 1;
            }
            let total: f64 = weights.iter().sum();
            for (node, weight) in [0, 1, 3].into_iter().zip(weights) {
                let share = f64::from(counts[node]) / 40_000.0;
                assert!(
                    (share - weight / total).abs() < 0.01,
                    "p {p}, q {q}, node {node}: {share}"
                );
            }
        }
    }

    /// One co-occurrence without effective negative samples: d/dx log sigmoid(x·y) = (1 - sigmoid)
    /// y.
    #[test]
    fn updates_follow_the_gradient() {
        let g = Graph::from_edges(2, [(0, 1)]).unwrap().0;
        let settings = Node2vec {
            dim: 2,
            negative: 1,
            ..Node2vec::default()
        };
        let mut model = SkipGram::new(&g, &settings, 0);
        model.input = vec![0.5, -1.0, 0.0, 0.0];
        model.output = vec![0.0, 0.0, 2.0, 1.0];
        // Negative samples are always the context node itself, and so are skipped.
        model.noise = vec![0.0, 1.0];
        model.meet(0, 1, 0.1, &mut stream(0, "test", 0));
        // x·y = 0, so the slope is 0.1 · 0.5.
        for (found, expected) in model.input.iter().zip([0.6, -0.95, 0.0, 0.0]) {
            assert!((found - expected).abs() < 1e-6, "{:?}", model.input);
        }
        for (found, expected) in model.output.iter().zip([0.0, 0.0, 2.025, 0.95]) {
            assert!((found - expected).abs() < 1e-6, "{:?}", model.output);
        }
    }

    #[test]
    fn isolated_nodes_keep_their_start_and_bad_settings_say_why() {
        let g = Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0;
        let settings = Node2vec {
            dim: 4,
            ..Node2vec::default()
        };
        let points = node2vec(&g, &settings, 3).unwrap();
        assert!(points.data().iter().all(|x| x.is_finite()));
        let start = SkipGram::new(&g, &settings, 3).input;
        assert!((0..4).all(|j| points.row(3)[j] == f64::from(start[12 + j])));
        let fault = |change: fn(&mut Node2vec)| {
            let mut bad = Node2vec::default();
            change(&mut bad);
            node2vec(&g, &bad, 0).unwrap_err().to_string()
        };
        assert_eq!(
            fault(|s| s.window = 0),
            "node2vec: window 0, at least 1 is needed"
        );
        assert_eq!(
            fault(|s| s.q = 0.0),
            "node2vec: q 0 must be from 0.01 to 100"
        );
        assert_eq!(
            fault(|s| s.learning_rate = f32::NAN),
            "node2vec: learning rate NaN must be above 0"
        );
        let e = node2vec(&Graph::empty(3).unwrap(), &settings, 0)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "node2vec: the graph has no edges, so no walk leaves its node"
        );
    }
}
