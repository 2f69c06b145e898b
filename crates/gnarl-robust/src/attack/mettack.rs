//! Metattack (Zügner and Günnemann 2019, [arXiv:1902.08412](https://arxiv.org/abs/1902.08412)):
//! poisoning by edge flips, chosen by the meta-gradient: the gradient of the trained model's loss
//! with respect to the graph that it is trained on.
//!
//! For each flip the linear surrogate (`linear`) is trained again on the graph so far. Its loss is
//! differentiated through every step of that training with respect to every node pair. Meta-Self
//! maximises the loss of unlabelled nodes, with the classes that the surrogate predicts on the
//! clean graph. Meta-Train maximises the loss of the training nodes.
//!
//! The gradient by the n² entries of Â is a sum of products of thin matrices. With `S = Â² X`,
//! `G = ∂L/∂S` and R the rows of G that come from training, `G = E Wᵀ + R`, so that
//! `∂L/∂Â = E (ÂXW)ᵀ + (ÂE)(XW)ᵀ + R (ÂX)ᵀ + (ÂR) Xᵀ`: its largest entries are found tile by tile,
//! and memory grows with edges, features and training nodes, never with n².

use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{CsrMatrix, Graph, named};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::degrees::DegreeTest;
use super::linear::{Maps, Propagated, features_of, softmax, through_training, times, train};
use super::method::{
    AttackInput, Flip, MAX_FLIPS, Method, Part, Property, Requirement, edges, refused,
};
use crate::perturb::{Budget, EdgeShare, Pair, flipped};
use gnarl_graph::Result;
use gnarl_tensor::{Device, Tensor, simd_dispatch};

named! {
    /// The nodes whose loss is maximised.
    pub enum Meta as "meta" {
        /// Unlabelled nodes, with the classes that the surrogate predicts (Meta-Self).
        Own = "self",
        /// Training nodes (Meta-Train).
        Train = "train",
    }
}

/// The largest number of steps of the surrogate's training.
pub(super) const MAX_INNER_STEPS: usize = 10_000;

/// Flips edges by the meta-gradient through the training of a surrogate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "mettack",
    about = "poisoned edges by meta-gradients (Metattack)",
    constant
)]
pub struct Mettack {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Nodes whose loss is maximised, unlabelled nodes (Meta-Self) or training nodes (Meta-Train).
    #[setting(default = Meta::Own)]
    pub meta: Meta,
    /// Likelihood-ratio test that keeps the degree distribution unchanged.
    #[setting(default = false, was = "likelihood")]
    pub degree_test: bool,
    /// Number of steps of the surrogate's training.
    #[setting(default = 100, range = 1..=MAX_INNER_STEPS)]
    pub inner_steps: usize,
    /// Number of flips for each meta-gradient; more than one is an approximation.
    #[setting(default = 1, range = 1..=MAX_FLIPS, was = "at-once")]
    pub flips_per_step: usize,
}

impl Mettack {
    /// Returns Meta-Self with this share of the edges, one flip at a time.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }
}

impl Method for Mettack {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(input, seed)?.0)
    }

    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        let flips = EdgeShare::new(self.budget)?.flips(input.graph);
        let mut search = Search::new(self, input, seed)?;
        while search.flips.len() < flips && !input.stopped() {
            let found = search.best(self.flips_per_step.min(flips - search.flips.len()))?;
            if found.is_empty() {
                break;
            }
            search.make(&found)?;
        }
        let flips = search.flips.iter().map(|&(u, v)| Flip {
            part: Part::Edge(u, v),
            target: None,
        });
        Ok((search.graph.clone(), Some(flips.collect())))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::TrainingNodes, Requirement::LoadedFeatures])
    }

    /// Flips that are chosen one at a time do not depend on the budget.
    fn properties(&self) -> Set<Property> {
        if self.flips_per_step == 1 {
            Property::set(&[Property::Greedy])
        } else {
            Set::EMPTY
        }
    }
}

/// Number of rows and columns of a tile of pairs.
const TILE: usize = 512;

/// The state of the search.
struct Search {
    settings: Mettack,
    seed: u64,
    graph: Graph,
    x: CsrMatrix<f32>,
    classes: usize,
    /// Training nodes, ascending, and their classes.
    trained: Vec<u32>,
    trained_classes: Vec<u32>,
    /// Nodes whose loss is maximised, and their classes in that loss.
    maximised: Vec<(u32, u32)>,
    test: Option<DegreeTest>,
    flips: Vec<Pair>,
}

impl Search {
    fn new(settings: &Mettack, input: &AttackInput<'_>, seed: u64) -> Result<Self> {
        let graph = input.graph.clone();
        if graph.weights().is_some() {
            return Err(refused(
                "mettack flips whole edges, and this graph has weights",
            ));
        }
        let mut training = input.training.to_vec();
        training.sort_unstable();
        let classes = input.labels.map_or(0, |labels| labels.num_classes());
        if training.is_empty() || classes < 2 {
            return Err(refused(
                "mettack poisons training, and there are no training nodes of two classes",
            ));
        }
        let (trained, trained_classes): (Vec<u32>, Vec<u32>) = training.iter().copied().unzip();
        let mut search = Self {
            settings: *settings,
            seed,
            x: features_of(&graph),
            classes,
            test: settings.degree_test.then(|| DegreeTest::new(&graph)),
            graph,
            trained,
            trained_classes,
            maximised: Vec::new(),
            flips: Vec::new(),
        };
        search.maximised = match settings.meta {
            Meta::Train => training,
            Meta::Own => search.own_classes()?,
        };
        Ok(search)
    }

    /// Returns the classes that the surrogate predicts for nodes outside its training set.
    fn own_classes(&self) -> Result<Vec<(u32, u32)>> {
        let propagated = Propagated::new(&self.graph, &self.x)?;
        let training = self.train(&propagated.rows(&self.trained)?, OWN_CLASSES)?;
        let scores = self.scores(&propagated, &training.end)?;
        let others =
            (0..self.graph.num_nodes() as u32).filter(|u| self.trained.binary_search(u).is_err());
        let class = |u: u32| {
            let row = &scores[u as usize * self.classes..(u as usize + 1) * self.classes];
            (u, gnarl_nn::train::argmax(row) as u32)
        };
        Ok(others.map(class).collect())
    }

    fn train(&self, s: &Tensor, index: u64) -> Result<super::linear::Training> {
        let start = Maps::sample(
            self.x.num_cols(),
            self.classes,
            &mut stream(self.seed, "mettack", index),
        )?;
        train(s, &self.trained_classes, start, self.settings.inner_steps)
    }

    /// Returns `Â² X W₁ W₂`, by rows.
    fn scores(&self, propagated: &Propagated, maps: &Maps) -> Result<Vec<f32>> {
        let w = maps.product()?.flatten_all()?.to_vec1::<f32>()?;
        let once = times(&propagated.ax, &w, self.classes);
        Ok(times(&propagated.a, &once, self.classes))
    }

    /// Returns the meta-gradient, after a training from initial weights number `index`.
    fn derivative(&self, index: u64) -> Result<Derivative<'_>> {
        let (n, width) = (self.graph.num_nodes(), self.classes);
        let propagated = Propagated::new(&self.graph, &self.x)?;
        let s = propagated.rows(&self.trained)?;
        let training = self.train(&s, index)?;
        let end = &training.end;
        // E: the gradient of the maximised loss with respect to the scores.
        let mut e = softmax(self.scores(&propagated, end)?, width);
        let mut class_of = vec![None; n];
        self.maximised
            .iter()
            .for_each(|&(u, c)| class_of[u as usize] = Some(c as usize));
        let count = self.maximised.len().max(1) as f32;
        for (row, class) in e.chunks_mut(width).zip(&class_of) {
            match class {
                Some(c) => {
                    row[*c] -= 1.0;
                    row.iter_mut().for_each(|v| *v /= count);
                }
                None => row.fill(0.0),
            }
        }
        let ae = times(&propagated.a, &e, width);
        // ∂L/∂W = Xᵀ Â² E, which the two maps share.
        let aae = times(&propagated.a, &ae, width);
        let by_w = Tensor::from_vec(
            transposed_times(&self.x, &aae, width),
            (self.x.num_cols(), width),
            &Device::Cpu,
        )?;
        let by_end = Maps {
            first: by_w.matmul_transposed(&end.second, [false, true])?,
            second: end.first.matmul_transposed(&by_w, [true, false])?,
        };
        let r = through_training(&s, &training, by_end)?;
        let w = end.product()?.flatten_all()?.to_vec1::<f32>()?;
        let thin = Thin {
            e,
            ae,
            xw: times(&self.x, &w, width),
            axw: times(&propagated.ax, &w, width),
            width,
        };
        Ok(Derivative::new(self, propagated, thin, r))
    }

    /// Returns the best flips, the best first.
    fn best(&self, count: usize) -> Result<Vec<Pair>> {
        let derivative = self.derivative(self.flips.len() as u64)?;
        let mut found = derivative.best(count, &|pair, joins| self.allows(pair, joins));
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(found
            .into_iter()
            .take(count)
            .map(|(_, pair)| pair)
            .collect())
    }

    /// Returns true if no node loses its last edge, no pair is flipped twice, and degrees pass the
    /// test if it is on.
    fn allows(&self, pair: Pair, joins: bool) -> bool {
        let degree = |u: u32| self.graph.neighbours(u).len();
        (joins || (degree(pair.0) > 1 && degree(pair.1) > 1))
            && !self.flips.contains(&pair)
            && self
                .test
                .as_ref()
                .is_none_or(|test| test.allows(pair, joins))
    }

    /// Makes the flips that are still allowed after the flips before them.
    fn make(&mut self, found: &[Pair]) -> Result<()> {
        for (i, &pair) in found.iter().enumerate() {
            let joins = !self.graph.has_edge(pair.0, pair.1);
            if i > 0 && !self.allows(pair, joins) {
                continue;
            }
            if let Some(test) = &mut self.test {
                test.flip(pair, joins);
            }
            self.graph = flipped(&self.graph, &[pair])?;
            self.flips.push(pair);
        }
        Ok(())
    }
}

/// Index of the training that predicts the classes of unlabelled nodes.
const OWN_CLASSES: u64 = u64::MAX;

/// Returns `Xᵀ` times a dense matrix, by rows.
fn transposed_times(x: &CsrMatrix<f32>, dense: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0f32; x.num_cols() * width];
    for i in 0..x.num_rows() {
        let (columns, values) = x.row(i);
        let from = &dense[i * width..(i + 1) * width];
        for (&c, &v) in columns.iter().zip(values) {
            out[c as usize * width..(c as usize + 1) * width]
                .iter_mut()
                .zip(from)
                .for_each(|(o, e)| *o += v * e);
        }
    }
    out
}

/// The thin factors, by rows of nodes.
struct Thin {
    e: Vec<f32>,
    ae: Vec<f32>,
    xw: Vec<f32>,
    axw: Vec<f32>,
    width: usize,
}

/// A matrix over features with a row for each of some nodes, stored by features: the slice of a
/// feature over a range of nodes is contiguous.
struct ByFeature {
    nodes: Vec<u32>,
    values: Vec<f32>,
}

impl ByFeature {
    fn new(nodes: Vec<u32>, rows: &[f32], features: usize) -> Self {
        let count = nodes.len();
        let mut values = vec![0f32; rows.len()];
        for i in 0..count {
            for f in 0..features {
                values[f * count + i] = rows[i * features + f];
            }
        }
        Self { nodes, values }
    }

    /// Returns the places of the nodes in a range.
    fn within(&self, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let place = |end: usize| self.nodes.partition_point(|&u| (u as usize) < end);
        place(range.start)..place(range.end)
    }

    /// Returns the products of the rows at some places with a sparse row.
    fn products(
        &self,
        places: &std::ops::Range<usize>,
        (columns, values): (&[u32], &[f32]),
        out: &mut Vec<f32>,
    ) {
        out.clear();
        out.resize(places.len(), 0.0);
        for (&f, &v) in columns.iter().zip(values) {
            let from = &self.values[f as usize * self.nodes.len()..][places.clone()];
            out.iter_mut().zip(from).for_each(|(o, x)| *o += v * x);
        }
    }
}

/// The derivative by every pair, in factors.
struct Derivative<'a> {
    graph: &'a Graph,
    x: &'a CsrMatrix<f32>,
    propagated: Propagated,
    thin: Thin,
    /// R over the training nodes, and ÂR over them and their neighbours.
    r: ByFeature,
    ar: ByFeature,
    /// The derivative by one more edge through the degree of each node.
    by_degree: Vec<f32>,
}

impl<'a> Derivative<'a> {
    fn new(search: &'a Search, propagated: Propagated, thin: Thin, r: Vec<f32>) -> Self {
        let features = search.x.num_cols();
        let n = search.graph.num_nodes();
        let mut near: Vec<u32> = search.trained.clone();
        near.extend(
            search
                .trained
                .iter()
                .flat_map(|&u| search.graph.neighbours(u)),
        );
        near.sort_unstable();
        near.dedup();
        let mut ar = vec![0f32; near.len() * features];
        ar.par_chunks_mut(features.max(1))
            .zip(&near)
            .for_each(|(row, &u)| {
                let (columns, values) = propagated.a.row(u as usize);
                for (&v, &weight) in columns.iter().zip(values) {
                    if let Ok(k) = search.trained.binary_search(&v) {
                        row.iter_mut()
                            .zip(&r[k * features..(k + 1) * features])
                            .for_each(|(o, x)| *o += weight * x);
                    }
                }
            });
        let mut derivative = Self {
            graph: &search.graph,
            x: &search.x,
            thin,
            r: ByFeature::new(search.trained.clone(), &r, features),
            ar: ByFeature::new(near, &ar, features),
            propagated,
            by_degree: Vec::new(),
        };
        // d Â_ij / d degree_i = -Â_ij / (2 (degree_i + 1)), in its row and in its column.
        derivative.by_degree = (0..n)
            .into_par_iter()
            .map(|i| {
                let (columns, values) = derivative.propagated.a.row(i);
                let both = |&j: &u32| derivative.entry(i as u32, j) + derivative.entry(j, i as u32);
                let sum: f32 = columns.iter().zip(values).map(|(j, &v)| v * both(j)).sum();
                -0.5 * derivative.propagated.scales[i].powi(2) * sum
            })
            .collect();
        derivative
    }

    /// Returns ∂L/∂Â at one entry.
    fn entry(&self, i: u32, j: u32) -> f32 {
        let w = self.thin.width;
        let row = |m: &'_ [f32], u: u32| -> std::ops::Range<usize> {
            debug_assert!(m.len() >= (u as usize + 1) * w);
            u as usize * w..(u as usize + 1) * w
        };
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        let thin = &self.thin;
        let mut sum = dot(&thin.e[row(&thin.e, i)], &thin.axw[row(&thin.axw, j)])
            + dot(&thin.ae[row(&thin.ae, i)], &thin.xw[row(&thin.xw, j)]);
        let mut out = Vec::new();
        for (factor, other) in [(&self.r, &self.propagated.ax), (&self.ar, self.x)] {
            if let Ok(k) = factor.nodes.binary_search(&i) {
                factor.products(&(k..k + 1), other.row(j as usize), &mut out);
                sum += out[0];
            }
        }
        sum
    }

    /// Returns the first-order change of the loss by flipping a pair.
    #[cfg(test)]
    fn gain(&self, (u, v): Pair) -> f32 {
        let scales = &self.propagated.scales;
        let by_weight =
            (self.entry(u, v) + self.entry(v, u)) * scales[u as usize] * scales[v as usize];
        let slope = by_weight + self.by_degree[u as usize] + self.by_degree[v as usize];
        if self.graph.has_edge(u, v) {
            -slope
        } else {
            slope
        }
    }

    /// Returns candidates for the best flips with their gains: those of every tile.
    fn best(&self, count: usize, allows: &(dyn Fn(Pair, bool) -> bool + Sync)) -> Vec<(f32, Pair)> {
        let n = self.graph.num_nodes();
        let starts: Vec<usize> = (0..n).step_by(TILE).collect();
        let range = |start: usize| start..(start + TILE).min(n);
        let tiles: Vec<_> = starts
            .iter()
            .flat_map(|&i| {
                starts
                    .iter()
                    .filter(move |&&j| j >= i)
                    .map(move |&j| (range(i), range(j)))
            })
            .collect();
        tiles
            .into_par_iter()
            .flat_map_iter(|(rows, cols)| self.best_of_tile(rows, cols, count, allows))
            .collect()
    }

    fn best_of_tile(
        &self,
        rows: std::ops::Range<usize>,
        cols: std::ops::Range<usize>,
        count: usize,
        allows: &(dyn Fn(Pair, bool) -> bool + Sync),
    ) -> Vec<(f32, Pair)> {
        let mut sums = vec![0f32; rows.len() * cols.len()];
        self.add_thin(&rows, &cols, &mut sums);
        self.add_wide(&rows, &cols, &mut sums);
        let scales = &self.propagated.scales;
        let mut best: Vec<(f32, Pair)> = Vec::with_capacity(count + 1);
        for (i, line) in rows.clone().zip(sums.chunks_mut(cols.len())) {
            let first = (i + 1).clamp(cols.start, cols.end);
            let line = &mut line[first - cols.start..];
            let others = (&scales[first..cols.end], &self.by_degree[first..cols.end]);
            to_gains(line, scales[i], self.by_degree[i], others.0, others.1);
            // Removing an edge removes its contribution.
            let neighbours = self.graph.neighbours(i as u32);
            let from = neighbours.partition_point(|&v| (v as usize) < first);
            let edges = &neighbours[from..]
                [..neighbours[from..].partition_point(|&v| (v as usize) < cols.end)];
            edges.iter().for_each(|&v| line[v as usize - first] *= -1.0);
            if best.len() == count && none_above(line, best[count - 1].0) {
                continue;
            }
            for (j, &gain) in (first..).zip(line.iter()) {
                if best.len() == count && gain <= best[count - 1].0 {
                    continue;
                }
                let pair = (i as u32, j as u32);
                if allows(pair, edges.binary_search(&pair.1).is_err()) {
                    let place = best.partition_point(|other| other.0 >= gain);
                    best.insert(place, (gain, pair));
                    best.truncate(count);
                }
            }
        }
        best
    }

    /// Adds `M + Mᵀ` of the thin factors.
    fn add_thin(
        &self,
        rows: &std::ops::Range<usize>,
        cols: &std::ops::Range<usize>,
        sums: &mut [f32],
    ) {
        let w = self.thin.width;
        let Thin { e, ae, xw, axw, .. } = &self.thin;
        let products = [(e, axw), (ae, xw), (axw, e), (xw, ae)];
        let right = products.iter().flat_map(|(_, right)| {
            let column = move |c: usize| cols.clone().map(move |j| right[j * w + c]);
            (0..w).flat_map(column)
        });
        let right: Vec<f32> = right.collect();
        let mut left = Vec::with_capacity(products.len() * w);
        for (i, line) in rows.clone().zip(sums.chunks_mut(cols.len())) {
            left.clear();
            products
                .iter()
                .for_each(|(of, _)| left.extend_from_slice(&of[i * w..(i + 1) * w]));
            add_products(&left, &right, line);
        }
    }

    /// Adds `M + Mᵀ` of the part that comes from training.
    fn add_wide(
        &self,
        rows: &std::ops::Range<usize>,
        cols: &std::ops::Range<usize>,
        sums: &mut [f32],
    ) {
        let mut out = Vec::new();
        for (factor, other) in [(&self.r, &self.propagated.ax), (&self.ar, self.x)] {
            let places = factor.within(rows);
            for (j, col) in cols.clone().enumerate() {
                factor.products(&places, other.row(col), &mut out);
                for (&u, &x) in factor.nodes[places.clone()].iter().zip(&out) {
                    sums[(u as usize - rows.start) * cols.len() + j] += x;
                }
            }
            let places = factor.within(cols);
            for (line, row) in sums.chunks_mut(cols.len()).zip(rows.clone()) {
                factor.products(&places, other.row(row), &mut out);
                for (&u, &x) in factor.nodes[places.clone()].iter().zip(&out) {
                    line[u as usize - cols.start] += x;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds columns, each times its factor, over the length of the sums.
    fn add_products(factors: &[f32], columns: &[f32], sums: &mut [f32]) {
        for (factor, column) in factors.iter().zip(columns.chunks_exact(sums.len())) {
            sums.iter_mut().zip(column).for_each(|(sum, x)| *sum += factor * x);
        }
    }
}

simd_dispatch! {
    /// Computes the change of the loss by joining a node to each of the others, from the
    /// derivatives by the node's entries.
    fn to_gains(sums: &mut [f32], scale: f32, by_degree: f32, scales: &[f32], by_degrees: &[f32]) {
        for ((sum, other), by_other) in sums.iter_mut().zip(scales).zip(by_degrees) {
            *sum = *sum * scale * other + by_degree + by_other;
        }
    }
}

simd_dispatch! {
    /// Returns true if no number exceeds the bound.
    fn none_above(values: &[f32], bound: f32) -> bool {
        values.iter().filter(|value| **value <= bound).count() == values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::{Attack, Attacked};
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_graph::settings::Choice;

    fn training_nodes(graph: &Graph) -> Vec<(u32, u32)> {
        let labels = graph.labels().unwrap();
        graph.splits()[0]
            .train()
            .iter()
            .map(|&u| (u, labels.get(u).unwrap()))
            .collect()
    }

    fn run(graph: &Graph, attack: Mettack, seed: u64) -> Attacked {
        let training = training_nodes(graph);
        let input = AttackInput {
            graph,
            model: None,
            targets: &[],
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        Attack::from(attack).run(&input, seed).unwrap()
    }

    /// Computes the trained loss as a function of a dense symmetric adjacency, in double precision,
    /// independently of the code above.
    fn loss(search: &Search, a: &[f64], index: u64) -> f64 {
        let (n, f, c) = (
            search.graph.num_nodes(),
            search.x.num_cols(),
            search.classes,
        );
        let x = search.x.map(f64::from).to_dense();
        let d: Vec<f64> = (0..n)
            .map(|i| 1.0 + (0..n).map(|j| a[i * n + j]).sum::<f64>())
            .collect();
        let hat = |i: usize, j: usize| {
            (a[i * n + j] + f64::from(u8::from(i == j))) / (d[i] * d[j]).sqrt()
        };
        let spread = |m: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n * f)
                .map(|k| (0..n).map(|j| hat(k / f, j) * m(j, k % f)).sum())
                .collect()
        };
        let once = spread(&|j, k| x.row(j)[k]);
        let s = spread(&|j, k| once[j * f + k]);
        let start = Maps::sample(f, c, &mut stream(search.seed, "mettack", index)).unwrap();
        let [mut w1, mut w2] = [&start.first, &start.second].map(|t| {
            t.flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap()
                .into_iter()
                .map(f64::from)
                .collect::<Vec<_>>()
        });
        let h = w2.len() / c;
        let (mut v1, mut v2) = (vec![0.0; w1.len()], vec![0.0; w2.len()]);
        let scores = |u: usize, w1: &[f64], w2: &[f64]| -> (Vec<f64>, Vec<f64>) {
            let hidden: Vec<f64> = (0..h)
                .map(|k| (0..f).map(|j| s[u * f + j] * w1[j * h + k]).sum())
                .collect();
            let z: Vec<f64> = (0..c)
                .map(|k| (0..h).map(|j| hidden[j] * w2[j * c + k]).sum())
                .collect();
            let total: f64 = z.iter().map(|z| z.exp()).sum();
            (hidden, z.iter().map(|z| z.exp() / total).collect())
        };
        for _ in 0..search.settings.inner_steps {
            let (mut g1, mut g2) = (vec![0.0; w1.len()], vec![0.0; w2.len()]);
            for (&u, &class) in search.trained.iter().zip(&search.trained_classes) {
                let (hidden, q) = scores(u as usize, &w1, &w2);
                for k in 0..c {
                    let slope = (q[k] - f64::from(u8::from(k == class as usize)))
                        / search.trained.len() as f64;
                    for j in 0..h {
                        g2[j * c + k] += hidden[j] * slope;
                        for i in 0..f {
                            g1[i * h + j] += s[u as usize * f + i] * slope * w2[j * c + k];
                        }
                    }
                }
            }
            for (w, v, g) in [(&mut w1, &mut v1, &g1), (&mut w2, &mut v2, &g2)] {
                for i in 0..w.len() {
                    v[i] = 0.9 * v[i] + g[i];
                    w[i] -= 0.1 * v[i];
                }
            }
        }
        let of = |&(u, class): &(u32, u32)| -scores(u as usize, &w1, &w2).1[class as usize].ln();
        search.maximised.iter().map(of).sum::<f64>() / search.maximised.len() as f64
    }

    #[test]
    fn the_derivative_is_that_of_finite_differences() {
        let config = CsbmConfig {
            num_nodes: 12,
            num_classes: 2,
            num_features: 5,
            mean_degree: 3.0,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 5).unwrap();
        let training: Vec<(u32, u32)> = (0..6)
            .map(|u| (u, graph.labels().unwrap().get(u).unwrap()))
            .collect();
        let input = AttackInput {
            graph: &graph,
            model: None,
            targets: &[],
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        for meta in [Meta::Own, Meta::Train] {
            let settings = Mettack {
                meta,
                inner_steps: 12,
                ..Mettack::default()
            };
            let search = Search::new(&settings, &input, 3).unwrap();
            let derivative = search.derivative(0).unwrap();
            let n = graph.num_nodes();
            let mut a = vec![0.0; n * n];
            for (u, v) in graph.edges() {
                a[u as usize * n + v as usize] = 1.0;
                a[v as usize * n + u as usize] = 1.0;
            }
            let mut largest = 0f64;
            for i in 0..n {
                for j in i + 1..n {
                    let at = |by: f64| {
                        let mut moved = a.clone();
                        moved[i * n + j] += by;
                        moved[j * n + i] += by;
                        loss(&search, &moved, 0)
                    };
                    let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
                    let expected = if a[i * n + j] > 0.0 { -slope } else { slope };
                    let gain = f64::from(derivative.gain((i as u32, j as u32)));
                    largest = largest.max(expected.abs());
                    assert!(
                        (gain - expected).abs() < 1e-4 + 1e-3 * expected.abs(),
                        "{meta} {i} {j}: {gain} {expected}"
                    );
                }
            }
            assert!(largest > 1e-3, "{meta}: derivatives of nothing");
            // Tiles find the same flips as all pairs.
            let all = (0..n as u32).flat_map(|i| (i + 1..n as u32).map(move |j| (i, j)));
            let allowed: Vec<Pair> = all
                .filter(|&p| search.allows(p, !graph.has_edge(p.0, p.1)))
                .collect();
            let best = allowed
                .iter()
                .map(|&p| derivative.gain(p))
                .fold(f32::NEG_INFINITY, f32::max);
            let found = search.best(1).unwrap()[0];
            assert!((derivative.gain(found) - best).abs() <= 1e-6 + 1e-5 * best.abs());
        }
    }

    /// Returns a matrix from its rows.
    fn matrix(values: Vec<f32>, columns: usize) -> gnarl_tensor::Result<Tensor> {
        let rows = values.len() / columns;
        Tensor::from_vec(values, (rows, columns), &Device::Cpu)
    }

    fn softmax(scores: &Tensor) -> gnarl_tensor::Result<Tensor> {
        let e = scores.exp()?;
        e.broadcast_div(&e.sum_keepdim(1)?)
    }

    /// Returns the one-hot rows of these classes.
    fn one_hot(classes: impl Iterator<Item = u32>, count: usize) -> gnarl_tensor::Result<Tensor> {
        let row = |c: u32| (0..count as u32).map(move |k| f32::from(u8::from(k == c)));
        matrix(classes.flat_map(row).collect(), count)
    }

    /// Returns the adjacency of a graph as a variable.
    fn dense_adjacency(graph: &Graph) -> gnarl_tensor::Result<gnarl_tensor::Var> {
        let n = graph.num_nodes();
        let mut entries = vec![0f32; n * n];
        for (u, v) in graph.edges() {
            entries[u as usize * n + v as usize] = 1.0;
            entries[v as usize * n + u as usize] = 1.0;
        }
        gnarl_tensor::Var::from_tensor(&matrix(entries, n)?)
    }

    /// Computes `A_hat² X` from the adjacency.
    fn dense_propagated(search: &Search, a: &Tensor) -> gnarl_tensor::Result<Tensor> {
        let n = search.graph.num_nodes();
        let own = (0..n * n).map(|k| f32::from(u8::from(k / n == k % n)));
        let own = matrix(own.collect(), n)?;
        let scale = a.sum_keepdim(1)?.affine(1.0, 1.0)?.powf(-0.5)?;
        let hat = a
            .add(&own)?
            .broadcast_mul(&scale)?
            .broadcast_mul(&scale.t()?)?;
        let x = search.x.map(f64::from).to_dense();
        let x = matrix(
            x.data().iter().map(|&v| v as f32).collect(),
            search.x.num_cols(),
        )?;
        hat.matmul(&hat.matmul(&x)?)
    }

    /// Trains the two maps of the surrogate on propagated features, step by step.
    fn dense_training(
        search: &Search,
        propagated: &Tensor,
        index: u64,
    ) -> gnarl_tensor::Result<(Tensor, Tensor)> {
        let rows = Tensor::from_slice(&search.trained, search.trained.len(), &Device::Cpu)?;
        let trained = propagated.index_select(&rows, 0)?;
        let truth = one_hot(search.trained_classes.iter().copied(), search.classes)?;
        let rng = &mut stream(search.seed, "mettack", index);
        let start = Maps::sample(search.x.num_cols(), search.classes, rng).unwrap();
        let (mut w1, mut w2) = (start.first, start.second);
        let (mut v1, mut v2) = (
            Tensor::zeros(w1.dims(), gnarl_tensor::DType::F32, &Device::Cpu)?,
            Tensor::zeros(w2.dims(), gnarl_tensor::DType::F32, &Device::Cpu)?,
        );
        for _ in 0..search.settings.inner_steps {
            let hidden = trained.matmul(&w1)?;
            let slope = softmax(&hidden.matmul(&w2)?)?
                .sub(&truth)?
                .affine(1.0 / search.trained.len() as f64, 0.0)?;
            v1 = v1
                .affine(0.9, 0.0)?
                .add(&trained.t()?.matmul(&slope.matmul(&w2.t()?)?)?)?;
            v2 = v2.affine(0.9, 0.0)?.add(&hidden.t()?.matmul(&slope)?)?;
            w1 = w1.sub(&v1.affine(0.1, 0.0)?)?;
            w2 = w2.sub(&v2.affine(0.1, 0.0)?)?;
        }
        Ok((w1, w2))
    }

    /// Computes the gain of joining each of all n² pairs in the trained loss: every entry of the
    /// adjacency is a variable, the training is written out step by step, and the tape goes back
    /// through all of it.
    fn dense_slopes(search: &Search, index: u64) -> gnarl_tensor::Result<Vec<f32>> {
        let n = search.graph.num_nodes();
        let a = dense_adjacency(&search.graph)?;
        let propagated = dense_propagated(search, a.as_tensor())?;
        let (w1, w2) = dense_training(search, &propagated, index)?;
        let nodes: Vec<u32> = search.maximised.iter().map(|&(u, _)| u).collect();
        let nodes = Tensor::from_slice(&nodes, nodes.len(), &Device::Cpu)?;
        let truth = one_hot(search.maximised.iter().map(|&(_, c)| c), search.classes)?;
        let scores = propagated
            .index_select(&nodes, 0)?
            .matmul(&w1)?
            .matmul(&w2)?;
        let correct = softmax(&scores)?.mul(&truth)?.sum(1)?;
        let slopes = correct.log()?.mean_all()?.neg()?.backward()?;
        let slopes = slopes
            .get(a.as_tensor())
            .expect("the loss depends on the graph")
            .flatten_all()?
            .to_vec1::<f32>()?;
        Ok((0..n * n)
            .map(|k| slopes[k] + slopes[k % n * n + k / n])
            .collect())
    }

    /// On Cora, the first flips equal those of a search with n² memory.
    #[test]
    fn the_first_flips_on_cora_are_those_of_a_dense_reference() {
        let loaded = gnarl_data::load("cora", std::path::Path::new("nowhere"), 0).unwrap();
        let graph = loaded.content.graph().unwrap();
        let training = training_nodes(graph);
        let input = AttackInput {
            graph,
            model: None,
            targets: &[],
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        let mut search = Search::new(&Mettack::default(), &input, 4).unwrap();
        let n = graph.num_nodes() as u32;
        for flip in 0..2 {
            let slopes = dense_slopes(&search, flip).unwrap();
            let gain = |(u, v): Pair| {
                let slope = slopes[u as usize * n as usize + v as usize];
                if search.graph.has_edge(u, v) {
                    -slope
                } else {
                    slope
                }
            };
            let all = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
            let allowed = all.filter(|&p| search.allows(p, !search.graph.has_edge(p.0, p.1)));
            let best = allowed
                .max_by(|&a, &b| gain(a).total_cmp(&gain(b)))
                .unwrap();
            let found = search.best(1).unwrap();
            assert_eq!(
                found,
                [best],
                "flip {flip}: {} and {}",
                gain(found[0]),
                gain(best)
            );
            search.make(&found).unwrap();
        }
    }

    #[test]
    fn budgets_are_spent_and_degrees_watched() {
        let config = CsbmConfig {
            num_nodes: 150,
            num_classes: 3,
            num_features: 8,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 2).unwrap();
        let flips = graph.num_edges() / 20;
        let plain = run(
            &graph,
            Mettack {
                inner_steps: 30,
                ..Mettack::budget(0.05)
            },
            1,
        );
        assert_eq!(
            (plain.change.num_flips(), plain.flips.len()),
            (flips, flips)
        );
        let several = run(
            &graph,
            Mettack {
                inner_steps: 30,
                flips_per_step: 5,
                ..Mettack::budget(0.05)
            },
            1,
        );
        assert_eq!(several.change.num_flips(), flips);
        let other = run(
            &graph,
            Mettack {
                inner_steps: 30,
                meta: Meta::Train,
                ..Mettack::budget(0.05)
            },
            1,
        );
        assert_ne!(other.change.added, plain.change.added);
        let watched = run(
            &graph,
            Mettack {
                inner_steps: 30,
                degree_test: true,
                ..Mettack::budget(0.05)
            },
            1,
        );
        assert!(watched.change.num_flips() <= flips);
        let mut test = DegreeTest::new(&graph);
        for flip in &watched.flips {
            let Part::Edge(u, v) = flip.part else {
                panic!("an edge")
            };
            assert!(test.allows((u, v), !graph.has_edge(u, v)));
            test.flip((u, v), !graph.has_edge(u, v));
        }
    }

    #[test]
    fn impossible_poisoning_is_refused() {
        let graph = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        let input = AttackInput {
            graph: &graph,
            model: None,
            targets: &[],
            labels: None,
            training: &[],
            stop: None,
        };
        let e = Attack::from(Mettack::budget(0.5))
            .run(&input, 0)
            .unwrap_err()
            .to_string();
        assert!(e.contains("no training nodes of two classes"), "{e}");
        let e = Mettack {
            flips_per_step: 0,
            ..Mettack::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "flips-per-step must be in [1, 1048576] (got 0)");
    }
}
