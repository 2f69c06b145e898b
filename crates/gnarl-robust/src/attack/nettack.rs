//! Nettack (Zügner et al. 2018, [arXiv:1805.07984](https://arxiv.org/abs/1805.07984)): each target
//! is misclassified by flips of its own edges, and of its own binary features. It chooses the flips
//! that reduce the margin of a linear surrogate (`linear`) most.
//!
//! The scores after a flip of a pair with the target are exact at the cost of a few sums: with
//! `Z = X W₁ W₂`, degrees `d` that count the node itself and `s_k = Σ_{j ∈ N[k]} Z_j / √d_j`, the
//! target's scores are `d_v^-1/2 Σ_{k ∈ N[v]} s_k / d_k`, and a flip changes d at two nodes and one
//! term. A flip is allowed if degrees pass the likelihood-ratio test (`degrees`) and no node loses
//! its last edge. A feature may be added if it co-occurs with enough of the target's features.
//!
//! Targets are attacked one after the other on one graph, as the published attacked graphs were
//! made, each with its own budget.

use std::collections::HashSet;

use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph, named};
use serde::{Deserialize, Serialize};

use super::degrees::DegreeTest;
use super::linear::{Maps, Propagated, features_of, times, train};
use super::method::{AttackInput, Flip, MAX_FLIPS, Method, Part, Property, Requirement, refused};
use crate::perturb::{Budget, Pair, flipped};
use gnarl_graph::{Error, Result};

named! {
    /// The part of the input that Nettack perturbs.
    pub enum Parts as "part to perturb" {
        /// Edges at the target.
        Structure = "structure",
        /// Features of the target.
        Features = "features",
        /// Edges and features, whichever reduces the margin more.
        Both = "both",
    }
}

/// Flips edges and binary features of each target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "nettack",
    about = "a few flips for each target, by a linear surrogate (Nettack)",
    constant
)]
pub struct Nettack {
    /// Budget as a number of flips for each target.
    #[setting(default = 5, range = ..=MAX_FLIPS)]
    pub budget: usize,
    /// Part of the input to perturb.
    #[setting(default = Parts::Structure, was = "parts")]
    pub perturb: Parts,
    /// Likelihood-ratio test that keeps the degree distribution unchanged.
    #[setting(default = true)]
    pub degree_test: bool,
}

impl Nettack {
    /// Returns the attack with this number of flips of edges for each target, within the degree
    /// test.
    pub const fn budget(flips: usize) -> Self {
        Self {
            budget: flips,
            ..Self::DEFAULT
        }
    }
}

/// Number of steps of the surrogate's training.
const STEPS: usize = 200;

impl Method for Nettack {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(input, seed)?.0)
    }

    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        let targets = input.some_targets::<Self>()?;
        let mut state = State::new(self, input, seed)?;
        for &(target, class) in targets {
            for _ in 0..self.budget {
                if input.stopped() || !state.flip_worst(target, class as usize) {
                    break;
                }
            }
        }
        Ok((state.attacked(input.graph)?, Some(state.flips)))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        Ok(Budget::PerTarget(self.budget))
    }

    fn unit(&self) -> &'static str {
        "flips for each target"
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::TrainingNodes, Requirement::LoadedFeatures])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::Targeted])
    }
}

/// The graph with the flips so far.
struct State {
    settings: Nettack,
    neighbours: Vec<Vec<u32>>,
    /// Columns of each node's features, ascending, and nodes of each column on the clean graph.
    words: Vec<Vec<u32>>,
    nodes_of: Vec<Vec<u32>>,
    /// The product `W₁ W₂` in units of a feature, by rows, and `Z`.
    w: Vec<f32>,
    z: Vec<f32>,
    classes: usize,
    test: DegreeTest,
    seen: HashSet<Part>,
    flips: Vec<Flip>,
}

impl State {
    fn new(settings: &Nettack, input: &AttackInput<'_>, seed: u64) -> Result<Self> {
        let graph = input.graph;
        if graph.weights().is_some() {
            return Err(refused(
                "nettack flips whole edges, and this graph has weights",
            ));
        }
        let classes = input.labels.map_or(0, |labels| labels.num_classes());
        if input.training.is_empty() || classes < 2 {
            let what = "nettack trains a surrogate, and there are no training nodes of two classes";
            return Err(Error::missing("attack", what, "name another split"));
        }
        let on_features = settings.perturb != Parts::Structure;
        let is_binary = graph
            .features()
            .is_some_and(|f| f.values().iter().all(|&v| v == 0.0 || v == 1.0));
        if on_features && !is_binary {
            let what = match graph.features() {
                Some(_) => "the graph's have other values",
                None => "the graph has none",
            };
            return Err(refused(format!(
                "nettack flips binary features, and {what}; --perturb structure flips edges alone"
            )));
        }
        let x = features_of(graph);
        let propagated = Propagated::new(graph, &x)?;
        let (nodes, wanted): (Vec<u32>, Vec<u32>) = input.training.iter().copied().unzip();
        let start = Maps::sample(x.num_cols(), classes, &mut stream(seed, "nettack", 0))?;
        let trained = train(&propagated.rows(&nodes)?, &wanted, start, STEPS)?;
        let w = trained.end.product()?.flatten_all()?.to_vec1::<f32>()?;
        let words = if on_features {
            (0..graph.num_nodes()).map(|u| support(&x, u)).collect()
        } else {
            Vec::new()
        };
        let mut nodes_of = vec![Vec::new(); if on_features { x.num_cols() } else { 0 }];
        for (u, words) in words.iter().enumerate() {
            words
                .iter()
                .for_each(|&f: &u32| nodes_of[f as usize].push(u as u32));
        }
        Ok(Self {
            settings: *settings,
            neighbours: (0..graph.num_nodes() as u32)
                .map(|u| graph.neighbours(u).to_vec())
                .collect(),
            words,
            nodes_of,
            z: times(&x, &w, classes),
            w,
            classes,
            test: DegreeTest::new(graph),
            seen: HashSet::new(),
            flips: Vec::new(),
        })
    }

    /// Returns a node's degree, the node itself counted.
    fn degree(&self, u: u32) -> f64 {
        (self.neighbours[u as usize].len() + 1) as f64
    }

    fn z(&self, u: u32) -> impl Iterator<Item = f64> + '_ {
        self.z[u as usize * self.classes..(u as usize + 1) * self.classes]
            .iter()
            .map(|&z| f64::from(z))
    }

    /// Returns `s_u`.
    fn sum_around(&self, u: u32) -> Vec<f64> {
        let mut sum = vec![0.0; self.classes];
        for v in self.neighbours[u as usize].iter().copied().chain([u]) {
            let scale = self.degree(v).sqrt();
            sum.iter_mut()
                .zip(self.z(v))
                .for_each(|(s, z)| *s += z / scale);
        }
        sum
    }

    /// Makes the allowed flip with the smallest margin of a target; returns false if there is none.
    fn flip_worst(&mut self, target: u32, class: usize) -> bool {
        let mut best: Option<(f64, Part)> = None;
        let mut offer = |margin: f64, part: Part| {
            if best.is_none_or(|(least, _)| margin < least) {
                best = Some((margin, part));
            }
        };
        let around = Neighbourhood::new(self, target);
        if self.settings.perturb != Parts::Features {
            for u in (0..self.neighbours.len() as u32).filter(|&u| u != target) {
                if self.allows_edge(target, u) {
                    offer(margin(&around.after_flip(u), class), edge(target, u));
                }
            }
        }
        if self.settings.perturb != Parts::Structure {
            let scores = around.scores();
            let weight = around.own_weight();
            for (f, adds) in self.allowed_words(target) {
                let sign = if adds { weight } else { -weight };
                let row = &self.w[f as usize * self.classes..(f as usize + 1) * self.classes];
                let moved: Vec<f64> = scores
                    .iter()
                    .zip(row)
                    .map(|(s, &w)| s + sign * f64::from(w))
                    .collect();
                offer(margin(&moved, class), Part::Feature(target, f));
            }
        }
        let Some((_, part)) = best else { return false };
        self.make(part);
        self.flips.push(Flip {
            part,
            target: Some(target),
        });
        true
    }

    fn allows_edge(&self, target: u32, u: u32) -> bool {
        let joins = self.neighbours[target as usize].binary_search(&u).is_err();
        let is_last = |v: u32| self.neighbours[v as usize].len() < 2;
        (joins || !(is_last(target) || is_last(u)))
            && !self.seen.contains(&edge(target, u))
            && (!self.settings.degree_test || self.test.allows((target, u), joins))
    }

    /// Returns the features of the target that may be flipped, each with true if it would be added.
    fn allowed_words(&self, target: u32) -> Vec<(u32, bool)> {
        let own = &self.words[target as usize];
        let mut together = vec![0.0; self.nodes_of.len()];
        let mut all = 0.0;
        for &f in own {
            let mut company: Vec<u32> = self.nodes_of[f as usize]
                .iter()
                .flat_map(|&u| self.words[u as usize].iter().copied())
                .collect();
            company.sort_unstable();
            company.dedup();
            let share = 1.0 / company.iter().filter(|&&g| g != f).count().max(1) as f64;
            all += share;
            company
                .iter()
                .filter(|&&g| g != f)
                .for_each(|&g| together[g as usize] += share);
        }
        let fits = |f: u32| {
            let has = own.binary_search(&f).is_ok();
            let fresh = !self.seen.contains(&Part::Feature(target, f));
            (fresh && (has || together[f as usize] > 0.5 * all)).then_some((f, !has))
        };
        (0..self.nodes_of.len() as u32).filter_map(fits).collect()
    }

    fn make(&mut self, part: Part) {
        self.seen.insert(part);
        match part {
            Part::Edge(u, v) => {
                let joins = self.neighbours[u as usize].binary_search(&v).is_err();
                self.test.flip((u, v), joins);
                for (a, b) in [(u, v), (v, u)] {
                    toggle(&mut self.neighbours[a as usize], b);
                }
            }
            Part::Feature(u, f) => {
                let comes = toggle(&mut self.words[u as usize], f);
                let sign = if comes { 1.0 } else { -1.0 };
                let row = &self.w[f as usize * self.classes..(f as usize + 1) * self.classes];
                let z = &mut self.z[u as usize * self.classes..(u as usize + 1) * self.classes];
                z.iter_mut().zip(row).for_each(|(z, w)| *z += sign * w);
            }
        }
    }

    /// Returns the graph with all flips made.
    fn attacked(&self, graph: &Graph) -> Result<Graph> {
        let edges = self.flips.iter().filter_map(|flip| match flip.part {
            Part::Edge(u, v) => Some((u, v)),
            Part::Feature(..) => None,
        });
        let attacked = flipped(graph, &edges.collect::<Vec<Pair>>())?;
        if self.settings.perturb == Parts::Structure {
            return Ok(attacked);
        }
        let columns = graph.features().map_or(0, Features::num_cols);
        let features = match graph.features() {
            Some(Features::Dense(_)) => {
                let mut dense = DenseMatrix::zeros(self.words.len(), columns);
                for (u, words) in self.words.iter().enumerate() {
                    words
                        .iter()
                        .for_each(|&f| dense.row_mut(u)[f as usize] = 1.0);
                }
                Features::Dense(dense)
            }
            _ => {
                let mut offsets = vec![0u64];
                offsets.extend(self.words.iter().scan(0u64, |total, words| {
                    *total += words.len() as u64;
                    Some(*total)
                }));
                let indices: Vec<u32> = self.words.concat();
                let values = vec![1.0; indices.len()];
                Features::Sparse(CsrMatrix::new(columns, offsets, indices, values)?)
            }
        };
        attacked.with_features(features)
    }
}

fn edge(u: u32, v: u32) -> Part {
    Part::Edge(u.min(v), u.max(v))
}

/// Inserts a value into an ascending list, or removes it; returns true if it was inserted.
fn toggle(list: &mut Vec<u32>, value: u32) -> bool {
    match list.binary_search(&value) {
        Ok(place) => {
            list.remove(place);
            false
        }
        Err(place) => {
            list.insert(place, value);
            true
        }
    }
}

fn support(x: &CsrMatrix<f32>, node: usize) -> Vec<u32> {
    let (columns, values) = x.row(node);
    let mut words: Vec<u32> = columns
        .iter()
        .zip(values)
        .filter(|(_, v)| **v != 0.0)
        .map(|(&c, _)| c)
        .collect();
    words.sort_unstable();
    words
}

/// Returns the margin of the true class.
fn margin(scores: &[f64], class: usize) -> f64 {
    let others = scores
        .iter()
        .enumerate()
        .filter(|(c, _)| *c != class)
        .map(|(_, &s)| s);
    scores[class] - others.fold(f64::NEG_INFINITY, f64::max)
}

/// The sums around a target from which its scores after one flip are computed.
struct Neighbourhood<'a> {
    state: &'a State,
    target: u32,
    /// The sum `Σ s_k / d_k` over the target's neighbours.
    sum: Vec<f64>,
    /// The sum `Σ 1 / d_k` over the target's neighbours.
    weights: f64,
    /// The sum `Σ 1 / d_k` over the common neighbours of each node and the target.
    shared: Vec<f64>,
    /// The sum `s` of the target.
    own: Vec<f64>,
}

impl<'a> Neighbourhood<'a> {
    fn new(state: &'a State, target: u32) -> Self {
        let mut sum = vec![0.0; state.classes];
        let (mut weights, mut shared) = (0.0, vec![0.0; state.neighbours.len()]);
        for &k in &state.neighbours[target as usize] {
            let share = 1.0 / state.degree(k);
            weights += share;
            sum.iter_mut()
                .zip(state.sum_around(k))
                .for_each(|(s, x)| *s += share * x);
            state.neighbours[k as usize]
                .iter()
                .for_each(|&u| shared[u as usize] += share);
        }
        Self {
            state,
            target,
            sum,
            weights,
            shared,
            own: state.sum_around(target),
        }
    }

    /// Returns the target's scores without a flip.
    fn scores(&self) -> Vec<f64> {
        let d = self.state.degree(self.target);
        self.sum
            .iter()
            .zip(&self.own)
            .map(|(s, own)| (s + own / d) / d.sqrt())
            .collect()
    }

    /// Returns the weight of a node's own features in its scores, `[Â²]_vv`.
    fn own_weight(&self) -> f64 {
        let d = self.state.degree(self.target);
        (self.weights + 1.0 / d) / d
    }

    /// Returns the target's scores after the pair with `u` is flipped.
    fn after_flip(&self, u: u32) -> Vec<f64> {
        let (state, v) = (self.state, self.target);
        let joined = state.neighbours[v as usize].binary_search(&u).is_ok();
        let by = if joined { -1.0 } else { 1.0 };
        let (dv, du) = (state.degree(v), state.degree(u));
        let (new_dv, new_du) = (dv + by, du + by);
        let (move_v, move_u) = (
            new_dv.powf(-0.5) - dv.powf(-0.5),
            new_du.powf(-0.5) - du.powf(-0.5),
        );
        let around_u = state.sum_around(u);
        let kept = self.weights - if joined { 1.0 / du } else { 0.0 };
        let mut scores = Vec::with_capacity(state.classes);
        for (c, (zv, zu)) in state.z(v).zip(state.z(u)).enumerate() {
            // Unchanged neighbours: the degrees of the target, and of the other node if they are
            // joined to it, change in their sums.
            let staying = self.sum[c] - if joined { around_u[c] / du } else { 0.0 };
            let mut sum = staying + zv * move_v * kept + zu * move_u * self.shared[u as usize];
            // The other node enters or leaves the sum of the target itself.
            let other = if joined {
                -zu * du.powf(-0.5)
            } else {
                zu * new_du.powf(-0.5)
            };
            sum += (self.own[c] + zv * move_v + other) / new_dv;
            if !joined {
                sum += (around_u[c] + zu * move_u + zv * new_dv.powf(-0.5)) / new_du;
            }
            scores.push(sum * new_dv.powf(-0.5));
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::graph;
    use crate::attack::{Attack, Attacked};

    fn training(graph: &Graph) -> Vec<(u32, u32)> {
        let labels = graph.labels().unwrap();
        graph.splits()[0]
            .train()
            .iter()
            .map(|&u| (u, labels.get(u).unwrap()))
            .collect()
    }

    /// Makes features binary: values above the median become one.
    fn binary(graph: Graph) -> Graph {
        let f = graph.features().unwrap();
        let dense = DenseMatrix::new(
            f.num_rows(),
            f.num_cols(),
            f.values()
                .iter()
                .map(|&v| f32::from(u8::from(v > 0.0)))
                .collect(),
        );
        graph
            .with_features(Features::Sparse(CsrMatrix::from_dense(&dense.unwrap())))
            .unwrap()
    }

    fn run(graph: &Graph, attack: Nettack, targets: &[(u32, u32)]) -> Result<Attacked> {
        let training = training(graph);
        let input = AttackInput {
            graph,
            model: None,
            targets,
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        Attack::from(attack).run(&input, 1)
    }

    /// Computes the scores of a node by the definition: two layers on the whole graph.
    fn scores_by_definition(state: &State, node: u32) -> Vec<f64> {
        let n = state.neighbours.len();
        let propagated = |h: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let one = |u: usize| {
                let mut row = vec![0.0; state.classes];
                for v in state.neighbours[u].iter().map(|&v| v as usize).chain([u]) {
                    let weight = 1.0 / (state.degree(u as u32) * state.degree(v as u32)).sqrt();
                    row.iter_mut()
                        .zip(&h[v])
                        .for_each(|(r, x)| *r += weight * x);
                }
                row
            };
            (0..n).map(one).collect()
        };
        let z: Vec<Vec<f64>> = (0..n as u32).map(|u| state.z(u).collect()).collect();
        propagated(&propagated(&z))[node as usize].clone()
    }

    #[test]
    fn incremental_scores_are_those_of_the_flipped_graph() {
        let graph = binary(graph(3));
        let training = training(&graph);
        let input = AttackInput {
            graph: &graph,
            model: None,
            targets: &[],
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        let settings = Nettack {
            perturb: Parts::Both,
            ..Nettack::default()
        };
        let close = |a: &[f64], b: &[f64]| {
            a.iter()
                .zip(b)
                .all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
        };
        for target in [0u32, 7, 31] {
            let state = State::new(&settings, &input, 2).unwrap();
            let around = Neighbourhood::new(&state, target);
            assert!(close(
                &around.scores(),
                &scores_by_definition(&state, target)
            ));
            for u in (0..200).filter(|&u| u != target) {
                let mut after = State::new(&settings, &input, 2).unwrap();
                after.make(edge(target, u));
                assert!(
                    close(&around.after_flip(u), &scores_by_definition(&after, target)),
                    "{target} {u}"
                );
            }
            let mut with_word = State::new(&settings, &input, 2).unwrap();
            let (f, adds) = state.allowed_words(target)[0];
            with_word.make(Part::Feature(target, f));
            let sign = if adds { 1.0 } else { -1.0 };
            let moved: Vec<f64> = around
                .scores()
                .iter()
                .enumerate()
                .map(|(c, s)| {
                    s + sign
                        * around.own_weight()
                        * f64::from(state.w[f as usize * state.classes + c])
                })
                .collect();
            let expected = scores_by_definition(&with_word, target);
            assert!(
                moved
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs())),
                "{moved:?} {expected:?}"
            );
        }
    }

    #[test]
    fn every_target_gets_its_flips_and_margins_fall() {
        let graph = binary(graph(1));
        let labels = graph.labels().unwrap();
        let targets: Vec<(u32, u32)> = (150..160).map(|u| (u, labels.get(u).unwrap())).collect();
        let free = Nettack {
            degree_test: false,
            ..Nettack::budget(3)
        };
        for parts in [Parts::Structure, Parts::Features, Parts::Both] {
            let attacked = run(
                &graph,
                Nettack {
                    perturb: parts,
                    ..free
                },
                &targets,
            )
            .unwrap();
            assert_eq!(attacked.flips.len(), 30, "{parts}");
            for &(target, _) in &targets {
                let own = attacked
                    .flips
                    .iter()
                    .filter(|flip| flip.target == Some(target));
                let touches = |flip: &&Flip| match flip.part {
                    Part::Edge(u, v) => u == target || v == target,
                    Part::Feature(u, _) => u == target,
                };
                assert_eq!(own.clone().filter(touches).count(), own.count(), "{parts}");
            }
            let change = &attacked.change;
            assert_eq!(change.num_flips() + change.features.entries, 30, "{parts}");
            assert_eq!(
                change.features.entries == 0,
                parts == Parts::Structure,
                "{parts}"
            );
        }
        let watched = run(&graph, Nettack::budget(3), &targets).unwrap();
        assert!(watched.flips.len() <= 30 && !watched.flips.is_empty());
        let e = run(&graph, Nettack::default(), &[])
            .unwrap_err()
            .to_string();
        assert!(e.contains("needs labelled target nodes"), "{e}");
        let dense = super::super::testing::graph(1);
        let e = run(
            &dense,
            Nettack {
                perturb: Parts::Both,
                ..free
            },
            &targets,
        )
        .unwrap_err()
        .to_string();
        assert!(
            e.contains("--perturb structure") && !e.contains('\n'),
            "{e}"
        );
    }
}
