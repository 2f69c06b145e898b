//! Search over random blocks of node pairs (Geisler et al. 2021,
//! [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)), shared by the gradient attacks on edges.
//!
//! Every edge and a block of pairs without an edge have a flip variable in 0 to 1 ([`Relaxed`]).
//! Pairs at zero are replaced by new ones, so that many more pairs are tried than are held. Memory
//! grows with edges plus block size, never with nodes squared.

use std::collections::HashSet;

use gnarl_graph::Graph;
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::Rng;
use gnarl_graph::settings::Choice;
use rand::RngExt;
use rand::seq::index::sample;

use super::loss::Objective;
use super::method::{AttackInput, refused, without_gradients};
use crate::classifier::{AttackPath, Classifier, Relaxed, WhiteBox};
use crate::perturb::{Pair, flipped, sample_pairs};
use gnarl_graph::Result;
use gnarl_nn::networks::{DefaultOperator, Input};
use gnarl_nn::operator::OperatorChoice;
use gnarl_tensor::{DType, Device, Pairs, Tensor, Var};

/// Largest block: entries of a pattern have 32-bit indices, and every pair has two entries.
pub(super) const MAX_BLOCK: usize = 1 << 29;
/// Largest value of an unused variable.
const UNUSED: f32 = 1e-6;

/// Number of pairs of the first block by which a relaxation is tested.
const TRIED: usize = 10_000;

/// Memory of a pair: its ends, its variable and gradient, and the two entries of the relaxed
/// operator with their positions, values and gradients.
const BYTES_OF_PAIR: f64 = 80.0;

/// Returns the memory in bytes of a search over a graph's edges and a block of pairs, if all of
/// them are part of the operator; less if pairs stay outside the operator.
pub(super) fn bytes(graph: &Graph, block_size: usize) -> f64 {
    let pairs = graph.num_nodes() as f64 * graph.num_nodes().saturating_sub(1) as f64 / 2.0;
    BYTES_OF_PAIR * (graph.num_edges() as f64 + block_size as f64).min(pairs)
}

/// The state of a search.
pub(super) struct Search<'a> {
    model: &'a dyn Classifier,
    through: AttackPath<'a>,
    graph: &'a Graph,
    input: Input,
    kind: ClassicalOperator,
    block: usize,
    /// One end of every new pair; empty if any two nodes may be joined.
    ends: Vec<u32>,
    /// Every edge, then the block.
    pairs: Vec<Pair>,
    /// One variable for each of the pairs.
    pub flips: Vec<f32>,
    /// True if pairs may stay outside the operator: the network uses the operator in products
    /// alone.
    allows_absent: bool,
}

/// The gradient of a function of the scores.
type ByScores<'a> = dyn Fn(&[f32]) -> Vec<f32> + 'a;

/// A saved state: the variables of edges, and of candidates in use.
pub(super) struct State {
    candidates: Vec<Pair>,
    flips: Vec<f32>,
}

impl<'a> Search<'a> {
    /// Starts a search with a first block of pairs. `clean` are the scores of the clean graph,
    /// which the relaxation must reproduce if gradients are taken of them.
    pub fn new<A: Choice>(
        input: &AttackInput<'a>,
        clean: &[f32],
        block: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        Self::at_ends::<A>(input, clean, block, Vec::new(), rng)
    }

    /// Starts a search whose new pairs end at these nodes; at any nodes if there are none.
    pub fn at_ends<A: Choice>(
        input: &AttackInput<'a>,
        clean: &[f32],
        block: usize,
        ends: Vec<u32>,
        rng: &mut Rng,
    ) -> Result<Self> {
        let (model, through) = input.see_through::<A>()?;
        let (graph, network) = (input.graph, through.network);
        let kind = match (
            network.operator(),
            network.network().config().backbone.default_operator(),
        ) {
            (OperatorChoice::Classical(kind), _)
            | (OperatorChoice::Default, DefaultOperator::Classical(kind)) => kind,
            // A learned operator needs the pairs of the relaxation alone.
            (OperatorChoice::Cgso(_), _) if through.defense.is_some() => {
                ClassicalOperator::NORMALISED_ADJACENCY
            }
            (OperatorChoice::Default, _) | (OperatorChoice::Cgso(_), _) => {
                return Err(not_relaxable::<A>(network));
            }
        };
        let mut search = Self {
            model,
            through,
            graph,
            input: network.input(graph)?,
            kind,
            block,
            ends,
            pairs: graph.edges().collect(),
            flips: vec![0.0; graph.num_edges()],
            allows_absent: false,
        };
        search.exchange(rng)?;
        match model.followed() {
            Some(followed) => search.check_relaxation::<A>(followed.scores(graph)?.data())?,
            None => search.check_relaxation::<A>(clean)?,
        }
        Ok(search)
    }

    /// Returns the state: the variables in use.
    pub fn state(&self) -> State {
        let edges = self.graph.num_edges();
        let kept: Vec<usize> = (0..self.flips.len())
            .filter(|&i| i < edges || self.flips[i] > UNUSED)
            .collect();
        State {
            candidates: kept[edges..].iter().map(|&i| self.pairs[i]).collect(),
            flips: kept.iter().map(|&i| self.flips[i]).collect(),
        }
    }

    /// Restores a state. Pairs that were not in use are gone until the next exchange.
    pub fn restore(&mut self, state: State) {
        self.pairs.truncate(self.graph.num_edges());
        self.pairs.extend(state.candidates);
        self.flips = state.flips;
    }

    /// Returns the variables in use, the largest first, ties by pair: the order does not depend on
    /// the search.
    pub fn largest(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.flips.len())
            .filter(|&i| self.flips[i] > UNUSED)
            .collect();
        order.sort_by(|&a, &b| self.flips[b].total_cmp(&self.flips[a]).then(a.cmp(&b)));
        order.truncate(count);
        order
    }

    /// Returns the pairs that have a variable; the first are the edges.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Replaces unused pairs by new ones, without pairs that the model would drop.
    pub fn exchange(&mut self, rng: &mut Rng) -> Result<()> {
        let State {
            mut candidates,
            flips,
        } = self.state();
        let room = self.block.saturating_sub(candidates.len());
        let sampled = if self.ends.is_empty() {
            sample_pairs_anywhere(self.graph, room, &candidates, rng)
        } else {
            sample_pairs_at(self.graph, &self.ends, room, &candidates, rng)
        };
        candidates.extend(match self.model.keeps_edges(self.graph, &sampled)? {
            Some(stays) => sampled
                .into_iter()
                .zip(stays)
                .filter_map(|(pair, stays)| stays.then_some(pair))
                .collect(),
            None => sampled,
        });
        self.restore(State { candidates, flips });
        self.flips.resize(self.pairs.len(), 0.0);
        Ok(())
    }

    /// Returns the scores with flip variables for the edges and these candidates.
    fn forward(&self, candidates: &[Pair], flips: &Tensor) -> Result<Tensor> {
        let relaxed = Relaxed::new(self.graph, self.kind, candidates)?;
        let propagation =
            self.through.filter(self.graph, &relaxed)?(&relaxed, &relaxed.weights(flips)?)?;
        self.through.network.forward(&propagation, &self.input)
    }

    /// Tests the relaxation. A network may use more of an operator than its values: attention over
    /// the pattern, counts of neighbours, a second operator. Then absent pairs change the scores,
    /// and the relaxation is refused. If a network uses an operator in more than products, pairs
    /// outside the operator have no gradient, and all pairs must be part of it.
    fn check_relaxation<A: Choice>(&mut self, clean: &[f32]) -> Result<()> {
        let refusal = |search: &Self| not_relaxable::<A>(search.through.network);
        let edges = self.graph.num_edges();
        let pairs = &self.pairs[..self.pairs.len().min(edges + TRIED)];
        let flips = Tensor::zeros(pairs.len(), DType::F32, &Device::Cpu)?;
        let scores = self
            .forward(&pairs[edges..], &flips)
            .map_err(|_| refusal(self))?;
        let scores = scores.flatten_all()?.to_vec1::<f32>()?;
        if !are_close(&scores, clean, 1.0) {
            return Err(refusal(self));
        }
        if self.through.defense.is_none() {
            // A point where some edges and some candidates are partly flipped; the gradient of the
            // squared scores.
            let flips: Vec<f32> = (0..pairs.len())
                .map(|i| if i % 5 == 0 { 0.3 } else { 0.0 })
                .collect();
            let whole = self.slopes_of_all(pairs, &flips, &<[f32]>::to_vec)?;
            let with_absent = self.slopes_with_absent(pairs, &flips, &<[f32]>::to_vec);
            self.allows_absent =
                with_absent.is_ok_and(|with_absent| are_close(&with_absent, &whole, 0.0));
        }
        Ok(())
    }

    /// Returns the gradient of the objective by the variables.
    pub fn gradient(&self, objective: &Objective<'_>) -> Result<Vec<f32>> {
        let by_scores = |scores: &[f32]| objective.value_and_gradient(scores).1;
        if self.allows_absent {
            self.slopes_with_absent(&self.pairs, &self.flips, &by_scores)
        } else {
            self.slopes_of_all(&self.pairs, &self.flips, &by_scores)
        }
    }

    /// Returns the gradient by the variables of edges and candidates, from the gradient by the
    /// scores.
    fn slopes_of_all(
        &self,
        pairs: &[Pair],
        flips: &[f32],
        by_scores: &ByScores<'_>,
    ) -> Result<Vec<f32>> {
        let flips = variable(flips)?;
        let scores = self.forward(&pairs[self.graph.num_edges()..], flips.as_tensor())?;
        Ok(slopes(scores, by_scores, [&flips])?.concat())
    }

    /// Returns the gradient with pairs at zero, which are nearly all, outside the operator: only
    /// their gradients are computed.
    fn slopes_with_absent(
        &self,
        pairs: &[Pair],
        flips: &[f32],
        by_scores: &ByScores<'_>,
    ) -> Result<Vec<f32>> {
        let edges = self.graph.num_edges();
        let is_absent = |i: usize| i >= edges && flips[i] == 0.0;
        let candidates = |absent: bool| -> Vec<Pair> {
            (edges..pairs.len())
                .filter(|&i| is_absent(i) == absent)
                .map(|i| pairs[i])
                .collect()
        };
        let relaxed = Relaxed::new(self.graph, self.kind, &candidates(false))?;
        let absent = Pairs::new(self.graph.num_nodes(), candidates(true))?;
        let used: Vec<f32> = (0..pairs.len())
            .filter(|&i| !is_absent(i))
            .map(|i| flips[i])
            .collect();
        let (flips, none) = (
            variable(&used)?,
            variable(&vec![0.0; pairs.len() - used.len()])?,
        );
        let operator = relaxed.operator_with_absent(&relaxed.weights(&flips)?, &absent, &none)?;
        let scores = self
            .through
            .network
            .forward(&operator.into(), &self.input)?;
        let mut found = slopes(scores, by_scores, [&flips, &none])?.map(Vec::into_iter);
        let next = |i| {
            found[usize::from(is_absent(i))]
                .next()
                .expect("a slope for each variable")
        };
        Ok((0..pairs.len()).map(next).collect())
    }

    /// Returns the scores of the graph with these flips.
    pub fn scores_of(&self, chosen: &[usize]) -> Result<Vec<f32>> {
        let pairs: Vec<Pair> = chosen.iter().map(|&i| self.pairs[i]).collect();
        Ok(self
            .model
            .scores(&flipped(self.graph, &pairs)?)?
            .data()
            .to_vec())
    }

    /// Returns the best discrete perturbation: the largest variables, or one of `final_samples`
    /// samples with the variables as probabilities, each within the budget.
    pub fn round(
        &self,
        objective: &Objective<'_>,
        budget: usize,
        final_samples: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Pair>> {
        let order = self.largest(usize::MAX);
        let mut best = (objective.value(&self.scores_of(&[])?), Vec::new());
        // If features depend on edges, the gradient does not include their change: uniform samples
        // are tried in addition.
        let blind = if self.through.network.reads_degrees() {
            final_samples
        } else {
            0
        };
        for sample_index in 0..=final_samples + blind {
            let mut chosen: Vec<usize> = match sample_index {
                0 => order.clone(),
                _ if sample_index > final_samples => {
                    sample(rng, self.flips.len(), budget.min(self.flips.len())).into_vec()
                }
                _ => order
                    .iter()
                    .copied()
                    .filter(|&i| rng.random::<f32>() < self.flips[i])
                    .collect(),
            };
            chosen.truncate(budget);
            let value = objective.value(&self.scores_of(&chosen)?);
            if value.beats(&best.0) {
                best = (value, chosen);
            }
        }
        Ok(best.1.into_iter().map(|i| self.pairs[i]).collect())
    }
}

fn variable(values: &[f32]) -> Result<Var> {
    Ok(Var::from_tensor(&Tensor::from_slice(
        values,
        values.len(),
        &Device::Cpu,
    )?)?)
}

/// Returns true if numbers differ by at most a thousandth of the largest, or of `at_least`.
fn are_close(a: &[f32], b: &[f32], at_least: f32) -> bool {
    let size = b.iter().fold(at_least, |m, z| m.max(z.abs()));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-3 * size)
}

/// Returns the gradients by some variables, from the gradient by the scores.
fn slopes<const N: usize>(
    scores: Tensor,
    by_scores: &ByScores<'_>,
    of: [&Var; N],
) -> Result<[Vec<f32>; N]> {
    let slope = by_scores(&scores.flatten_all()?.to_vec1::<f32>()?);
    let slope = Tensor::from_vec(slope, scores.shape(), &Device::Cpu)?;
    let grads = (scores * slope)?.sum_all()?.backward()?;
    let mut found = [const { Vec::new() }; N];
    for (found, of) in found.iter_mut().zip(of) {
        // A network without message passing has none.
        *found = grads
            .get(of)
            .map_or_else(|| Ok(vec![0.0; of.elem_count()]), Tensor::to_vec1::<f32>)?;
    }
    Ok(found)
}

/// Samples up to `count` pairs without an edge, none of them in use, uniformly over all such sets.
fn sample_pairs_anywhere(graph: &Graph, count: usize, used: &[Pair], rng: &mut Rng) -> Vec<Pair> {
    let n = graph.num_nodes() as u64;
    let free =
        (n * n.saturating_sub(1) / 2).saturating_sub((graph.num_edges() + used.len()) as u64);
    if (count as u64) > free / DENSE {
        let mut taken: HashSet<Pair> = used.iter().copied().collect();
        let apart = |u: u32, v: u32| !graph.has_edge(u, v);
        return sample_pairs(graph.num_nodes(), count, apart, &mut taken, rng);
    }
    // Few of these pairs are sampled twice: removing duplicates later is faster than remembering
    // each. A pair is one number, its ends one after the other.
    let bits = u64::BITS - n.leading_zeros();
    let key = |u: u32, v: u32| u64::from(u) << bits | u64::from(v);
    let ends = |key: u64| ((key >> bits) as u32, (key & ((1 << bits) - 1)) as u32);
    let mut used: Vec<u64> = used.iter().map(|&(u, v)| key(u, v)).collect();
    used.sort_unstable();
    // The first samples, and the few later ones that replace unusable ones.
    let (mut sampled, mut late): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    while sampled.len() + late.len() < count {
        let one = |_| {
            let (u, v) = (
                rng.random_range(0..n as u32),
                rng.random_range(0..n as u32 - 1),
            );
            let v = if v >= u { v + 1 } else { v };
            key(u.min(v), u.max(v))
        };
        let mut fresh: Vec<u64> = (0..count - sampled.len() - late.len()).map(one).collect();
        sort_by_digits(&mut fresh, 2 * bits);
        fresh.dedup();
        drop_all(&mut fresh, graph.edges().map(|(u, v)| key(u, v)));
        drop_all(&mut fresh, used.iter().copied());
        if sampled.is_empty() {
            sampled = fresh;
            continue;
        }
        fresh.retain(|key| sampled.binary_search(key).is_err() && late.binary_search(key).is_err());
        late.extend(fresh);
        late.sort_unstable();
    }
    // Two sorted runs: the sort merges them.
    sampled.extend(late);
    sampled.sort();
    sampled.into_iter().map(ends).collect()
}

/// Removes numbers from others, both ascending and without duplicates. Step sizes double, so the
/// numbers between two removed ones are skipped.
fn drop_all(keys: &mut Vec<u64>, gone: impl Iterator<Item = u64>) {
    // Keys up to `at` are below the next removed one; those up to `read` are at their new places,
    // the first `kept`.
    let (mut at, mut read, mut kept) = (0, 0, 0);
    for key in gone {
        if at == keys.len() {
            break;
        }
        let mut step = 1;
        while at + step < keys.len() && keys[at + step] < key {
            step *= 2;
        }
        let near = &keys[at..keys.len().min(at + step + 1)];
        at += near.partition_point(|&other| other < key);
        if keys.get(at) == Some(&key) {
            keys.copy_within(read..at, kept);
            kept += at - read;
            at += 1;
            read = at;
        }
    }
    keys.copy_within(read.., kept);
    keys.truncate(keys.len() - (read - kept));
}

/// Radix-sorts numbers of `bits` bits, twelve bits at a time from the lowest; the time does not
/// depend on their initial order.
fn sort_by_digits(keys: &mut Vec<u64>, bits: u32) {
    const DIGIT: u32 = 12;
    let mut sorted = vec![0; keys.len()];
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut places = [0usize; (1 << DIGIT) + 1];
        keys.iter().for_each(|&key| places[digit(key) + 1] += 1);
        (0..1 << DIGIT).for_each(|d| places[d + 1] += places[d]);
        for &key in keys.iter() {
            let place = &mut places[digit(key)];
            sorted[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut sorted);
    }
}

/// Samples up to `count` pairs without an edge that have one of these ends, none of them in use:
/// all such pairs if there are at most `count`.
fn sample_pairs_at(
    graph: &Graph,
    ends: &[u32],
    count: usize,
    used: &[Pair],
    rng: &mut Rng,
) -> Vec<Pair> {
    let n = graph.num_nodes();
    let used: HashSet<Pair> = used.iter().copied().collect();
    let of_place = |at: usize| {
        let (u, v) = (ends[at / n], (at % n) as u32);
        let pair = (u.min(v), u.max(v));
        (u != v && !graph.has_edge(u, v) && !used.contains(&pair)).then_some(pair)
    };
    let places = ends.len() * n;
    let mut sampled: Vec<Pair> = if places <= count {
        (0..places).filter_map(of_place).collect()
    } else {
        sample(rng, places, count)
            .into_iter()
            .filter_map(of_place)
            .collect()
    };
    sampled.sort_unstable();
    sampled.dedup();
    sampled
}

/// Divisor of the number of free pairs: larger blocks are sampled pair by pair.
const DENSE: u64 = 4;

fn not_relaxable<A: Choice>(model: &WhiteBox) -> gnarl_graph::Error {
    let (backbone, operator) = (model.network().config().backbone, model.operator());
    let what = format!(
        "follows gradients to single edges, which {backbone} with operator {operator} does not have"
    );
    refused(format!("{} {what}; {}", A::NAME, without_gradients()))
}

/// Makes a step along the gradient and projects back to variables in 0 to 1 that sum to at most the
/// budget. The step has a length at which the `budget` steepest variables gain `share · budget` in
/// total.
pub(super) fn ascend(flips: &mut [f32], slope: &[f32], budget: usize, share: f64) {
    let mut steepest: Vec<f32> = slope.iter().copied().filter(|&g| g > 0.0).collect();
    if steepest.len() > budget {
        steepest.select_nth_unstable_by(budget, |a, b| b.total_cmp(a));
        steepest.truncate(budget);
    }
    // In a fixed order, because a sum depends on the order.
    steepest.sort_unstable_by(|a, b| b.total_cmp(a));
    let total: f64 = steepest.iter().map(|&g| f64::from(g)).sum();
    if total > 0.0 {
        let by = share * budget as f64 / total;
        flips
            .iter_mut()
            .zip(slope)
            .for_each(|(p, &g)| *p += (by * f64::from(g)) as f32);
    }
    project(flips, budget as f64);
}

/// Projects on the nearest point with entries in 0 to 1 and a sum of at most `budget`: all entries
/// are lowered by the same amount, found by bisection, and clipped.
pub(super) fn project(flips: &mut [f32], budget: f64) {
    // Entries not above the amount add nothing to the sum and are not visited again.
    let mut above: Vec<f64> = flips
        .iter()
        .filter(|p| **p > 0.0)
        .map(|&p| f64::from(p))
        .collect();
    let sum = |above: &[f64], by: f64| above.iter().map(|p| (p - by).clamp(0.0, 1.0)).sum::<f64>();
    let mut by = 0.0;
    if sum(&above, 0.0) > budget {
        let (mut low, mut high) = (0.0, above.iter().copied().fold(0.0, f64::max));
        for _ in 0..60 {
            by = (low + high) / 2.0;
            if sum(&above, by) > budget {
                low = by;
                above.retain(|p| *p > low);
            } else {
                high = by;
            }
        }
        by = high;
    }
    flips
        .iter_mut()
        .for_each(|p| *p = (f64::from(*p) - by).clamp(0.0, 1.0) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::loss::Loss;
    use crate::attack::prbcd::Prbcd;
    use crate::attack::testing;
    use gnarl_nn::networks::Backbone;

    /// In every network, pairs at zero have the gradients that they have as part of the operator.
    #[test]
    fn slopes_are_those_of_a_relaxation_with_all_pairs() {
        let graph = testing::graph(1);
        let targets = testing::targets(&graph);
        for (backbone, seen) in [
            (Backbone::GCN, true),
            (Backbone::SGC, true),
            (Backbone::RUNG, false),
            (Backbone::GNNGUARD, false),
            (Backbone::SOFT_MEDIAN, false),
        ] {
            let model = testing::trained(&graph, backbone);
            let labels = graph.labels();
            let input = AttackInput {
                graph: &graph,
                model: Some(&model),
                targets: &targets,
                labels,
                training: &[],
                stop: None,
            };
            let clean = model.scores(&graph).unwrap();
            let objective = Objective::new(Loss::Margin, &targets, clean.data(), clean.num_cols());
            let rng = &mut gnarl_graph::random::stream(6, "slopes", 0);
            let mut search = Search::new::<Prbcd>(&input, clean.data(), 500, rng).unwrap();
            search.flips.iter_mut().step_by(7).for_each(|p| *p = 0.4);
            let by_scores = |scores: &[f32]| objective.value_and_gradient(scores).1;
            let whole = search
                .slopes_of_all(&search.pairs, &search.flips, &by_scores)
                .unwrap();
            assert!(
                are_close(&search.gradient(&objective).unwrap(), &whole, 0.0),
                "{backbone}"
            );
            assert_eq!(search.allows_absent, seen, "{backbone}");
            assert!(
                whole
                    .iter()
                    .skip(graph.num_edges())
                    .any(|&slope| slope != 0.0),
                "{backbone}"
            );
        }
    }

    /// If hardly any pair is free, all free pairs are returned, and the search ends.
    #[test]
    fn a_crowded_graph_has_few_pairs_to_sample() {
        let n = 12u32;
        let edges = (0..n)
            .flat_map(|u| (u + 1..n).map(move |v| (u, v)))
            .filter(|&pair| pair.1 != 11 || pair.0 > 2);
        let graph = Graph::from_edges(n as usize, edges).unwrap().0;
        let rng = &mut gnarl_graph::random::stream(1, "test", 0);
        let sampled = |used: &[Pair], rng: &mut Rng| {
            let mut sampled = sample_pairs_anywhere(&graph, 10, used, rng);
            sampled.sort_unstable();
            sampled
        };
        assert_eq!(sampled(&[], rng), [(0, 11), (1, 11), (2, 11)]);
        assert_eq!(sampled(&[(1, 11)], rng), [(0, 11), (2, 11)]);
        assert_eq!(sampled(&[(0, 11), (1, 11), (2, 11)], rng), []);
        let at = |ends: &[u32], rng: &mut Rng| sample_pairs_at(&graph, ends, 100, &[(2, 11)], rng);
        assert_eq!(
            (at(&[11, 0], rng), at(&[5], rng)),
            (vec![(0, 11), (1, 11)], vec![])
        );
    }

    #[test]
    fn numbers_are_taken_out_of_others() {
        let rng = &mut gnarl_graph::random::stream(5, "drop", 0);
        for (count, gone, most) in [
            (0, 3, 9),
            (3, 0, 9),
            (50, 200, 100),
            (300, 20, 1000),
            (300, 300, 400),
        ] {
            let mut some = |count: usize| {
                let sampled: std::collections::BTreeSet<u64> =
                    (0..count).map(|_| rng.random_range(0..most)).collect();
                sampled.into_iter().collect::<Vec<u64>>()
            };
            let (mut keys, gone) = (some(count), some(gone));
            let expected: Vec<u64> = keys
                .iter()
                .copied()
                .filter(|key| !gone.contains(key))
                .collect();
            drop_all(&mut keys, gone.into_iter());
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn digits_sort_as_numbers_do() {
        let rng = &mut gnarl_graph::random::stream(3, "digits", 0);
        for (count, bits) in [(0, 2), (1, 24), (500, 5), (3000, 24), (3000, 41), (100, 62)] {
            let mut keys: Vec<u64> = (0..count).map(|_| rng.random_range(0..1 << bits)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_by_digits(&mut keys, bits);
            assert_eq!(keys, expected, "{count} of {bits} bits");
        }
    }

    /// Uses the same random numbers as sampling pair by pair: no edge, nothing in use, no
    /// duplicates, in order, as many as requested.
    #[test]
    fn sampled_pairs_have_no_edge() {
        let graph = Graph::from_edges(
            60,
            (0..60u32).flat_map(|u| [(u, (u + 1) % 60), (u, (u + 7) % 60)]),
        )
        .unwrap()
        .0;
        let rng = &mut gnarl_graph::random::stream(4, "apart", 0);
        let used = [(0, 30), (5, 9), (2, 58)];
        for _ in 0..50 {
            let sampled = sample_pairs_anywhere(&graph, 400, &used, rng);
            assert!(sampled.is_sorted() && sampled.len() == 400);
            assert!(sampled.windows(2).all(|w| w[0] != w[1]));
            assert!(
                sampled
                    .iter()
                    .all(|pair| pair.0 < pair.1 && pair.1 < 60 && !graph.has_edge(pair.0, pair.1))
            );
            assert!(sampled.iter().all(|pair| !used.contains(pair)));
        }
    }

    #[test]
    fn projections_are_nearest_points() {
        let of = |mut values: Vec<f32>, budget| {
            project(&mut values, budget);
            values
        };
        assert_eq!(of(vec![0.5, -0.2, 3.0], 2.0), [0.5, 0.0, 1.0]);
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        // Lowered by 0.4: 1, 0.4, 0.1 and nothing.
        assert!(close(
            &of(vec![1.6, 0.8, 0.5, 0.3], 1.5),
            &[1.0, 0.4, 0.1, 0.0]
        ));
        assert!(close(&of(vec![1.0, 1.0], 1.0), &[0.5, 0.5]));
        assert!(of(vec![0.7; 9], 0.0).iter().all(|&p| p < 1e-6));
    }
}
