//! Genetic algorithm over sets of edge flips (after Dai et al. 2018,
//! [arXiv:1806.02371](https://arxiv.org/abs/1806.02371)): a black-box attack, which needs the
//! predictions of a model and no gradients.
//!
//! Every member of the population is a set of flips that spends the whole budget. The better half
//! of a generation survives. The others are replaced by children of two parents, each the better of
//! two random members: a child takes each flip from one of its parents, and a share of its flips is
//! sampled anew (mutation). New flips are sampled at the targets: an edge of a target is removed or
//! an edge to a target is added, by the rule of [`dice`](super::dice) where classes are known. The
//! best set of flips over all generations is the result, which is never worse than no change.

use std::collections::BTreeSet;

use gnarl_graph::Graph;
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::loss::{Loss, Objective, ObjectiveValue};
use super::method::{AttackInput, Method, Property, Requirement, edges};
use crate::classifier::Classifier;
use crate::perturb::{Budget, EdgeShare, Pair, flipped};
use gnarl_graph::{Error, Result};

/// Searches for edge flips with a genetic algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "genetic",
    about = "edges by a genetic algorithm, from predictions alone",
    constant
)]
pub struct Genetic {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of sets of flips in a generation.
    #[setting(default = 24, range = 4.., was = "population")]
    pub population_size: usize,
    /// Number of generations.
    #[setting(default = 40)]
    pub generations: usize,
    /// Share of a child's flips that are resampled.
    #[setting(default = 0.1, range = 0.0..=1.0, was = "mutation")]
    pub mutation_rate: f64,
}

impl Genetic {
    /// Returns the attack with this share of the edges: 40 generations of 24 members.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }
}

impl Method for Genetic {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let model = input.model.ok_or_else(|| {
            let what = "genetic needs the predictions of a model, and there is none";
            Error::missing("attack", what, "name a model")
        })?;
        let targets = input.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(input.graph);
        let clean = model.scores(input.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        // One row of scores is the prediction for the graph: every node of it counts.
        let nursery = Nursery::new(input, flips, clean.num_rows() == 1);
        let evaluated =
            |flips: BTreeSet<Pair>| Member::evaluated(input.graph, model, &objective, flips);
        let first = (0..self.population_size)
            .map(|i| nursery.sampled(&mut stream(seed, "genetic", i as u64)));
        let first: Vec<BTreeSet<Pair>> = first.collect();
        let mut all = first
            .into_par_iter()
            .map(evaluated)
            .collect::<Result<Vec<_>>>()?;
        rank(&mut all);
        for generation in 1..=self.generations {
            if input.stopped() {
                break;
            }
            let kept = self.population_size / 2;
            let child = |i: usize| {
                let rng = &mut stream(
                    seed,
                    "genetic",
                    (generation * self.population_size + i) as u64,
                );
                nursery.child(&all, self.mutation_rate, rng)
            };
            let children: Vec<BTreeSet<Pair>> = (kept..self.population_size).map(child).collect();
            let children = children
                .into_par_iter()
                .map(evaluated)
                .collect::<Result<Vec<_>>>()?;
            all.truncate(kept);
            all.extend(children);
            rank(&mut all);
        }
        let nothing = objective.value(clean.data());
        match all
            .into_iter()
            .next()
            .filter(|best| best.value.beats(&nothing))
        {
            Some(best) => Ok(flipped(
                input.graph,
                &best.flips.into_iter().collect::<Vec<_>>(),
            )?),
            None => Ok(input.graph.clone()),
        }
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Predictions])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::BlackBox])
    }

    fn passes(&self) -> f64 {
        self.population_size as f64 * (1.0 + 0.5 * self.generations as f64)
    }
}

/// A set of flips and its loss.
struct Member {
    flips: BTreeSet<Pair>,
    value: ObjectiveValue,
}

impl Member {
    fn evaluated(
        graph: &Graph,
        model: &dyn Classifier,
        objective: &Objective<'_>,
        flips: BTreeSet<Pair>,
    ) -> Result<Self> {
        let changed = flipped(graph, &flips.iter().copied().collect::<Vec<_>>())?;
        let value = objective.value(model.scores(&changed)?.data());
        Ok(Self { flips, value })
    }
}

/// Sorts members, the best first; equals stay in their order.
fn rank(all: &mut [Member]) {
    all.sort_by(|a, b| {
        a.value
            .correct
            .cmp(&b.value.correct)
            .then(b.value.loss.total_cmp(&a.value.loss))
    });
}

/// The source of new flips.
struct Nursery<'a> {
    input: &'a AttackInput<'a>,
    /// Nodes at which flips are sampled: the targets, or all nodes if a graph is the target.
    ends: Vec<u32>,
    flips: usize,
}

/// Rejected samples per flip of the budget, after which a member stays smaller than the budget.
const TRIES: usize = 50;

impl<'a> Nursery<'a> {
    fn new(input: &'a AttackInput<'a>, flips: usize, of_graph: bool) -> Self {
        let nodes = input.graph.num_nodes() as u32;
        let ends = if of_graph {
            (0..nodes).collect()
        } else {
            input
                .targets
                .iter()
                .map(|&(u, _)| u)
                .filter(|u| *u < nodes)
                .collect()
        };
        Self { input, ends, flips }
    }

    /// Samples a pair at a target; `None` if it is not a useful flip.
    fn pair(&self, rng: &mut Rng) -> Option<Pair> {
        let (graph, labels) = (self.input.graph, self.input.labels);
        let class = |u: u32| labels.and_then(|labels| labels.get(u));
        let &u = self.ends.choose(rng)?;
        let (v, goes) = match graph.neighbours(u).choose(rng) {
            Some(&v) if rng.random_bool(0.5) => (v, true),
            _ => (rng.random_range(0..graph.num_nodes() as u32), false),
        };
        // If classes are known, edges within a class are removed, edges between classes added.
        let fits = match (class(u), class(v)) {
            (Some(a), Some(b)) => (a == b) == goes,
            _ => true,
        };
        (u != v && fits && graph.has_edge(u, v) == goes).then_some((u.min(v), u.max(v)))
    }

    fn fill(&self, mut flips: BTreeSet<Pair>, rng: &mut Rng) -> BTreeSet<Pair> {
        let mut misses = 0;
        while flips.len() < self.flips && misses < TRIES * self.flips {
            if !self.pair(rng).is_some_and(|pair| flips.insert(pair)) {
                misses += 1;
            }
        }
        flips
    }

    fn sampled(&self, rng: &mut Rng) -> BTreeSet<Pair> {
        self.fill(BTreeSet::new(), rng)
    }

    /// Returns a child: each flip from one of two parents, some sampled anew.
    fn child(&self, all: &[Member], mutation: f64, rng: &mut Rng) -> BTreeSet<Pair> {
        // Members are sorted, so the smaller index of two is the better member.
        let mut parent = || {
            &all[rng
                .random_range(0..all.len())
                .min(rng.random_range(0..all.len()))]
            .flips
        };
        let (one, other) = (parent(), parent());
        let mut pool: Vec<Pair> = one.union(other).copied().collect();
        let mut flips = BTreeSet::new();
        while flips.len() < self.flips && !pool.is_empty() {
            let pair = pool.swap_remove(rng.random_range(0..pool.len()));
            if !rng.random_bool(mutation) {
                flips.insert(pair);
            }
        }
        self.fill(flips, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::testing::{accuracy, graph, targets, trained};
    use crate::attack::{Attack, Attacked};
    use gnarl_graph::DenseMatrix;
    use gnarl_nn::networks::Backbone;

    fn run(model: &dyn Classifier, graph: &Graph, genetic: Genetic, seed: u64) -> Attacked {
        let targets = targets(graph);
        let input = AttackInput {
            graph,
            model: Some(model),
            targets: &targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        };
        Attack::from(genetic).run(&input, seed).unwrap()
    }

    /// A model that gives predictions and no gradients.
    struct Closed<'a>(&'a dyn Classifier);

    impl Classifier for Closed<'_> {
        fn num_classes(&self) -> usize {
            self.0.num_classes()
        }

        fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
            self.0.scores(graph)
        }
    }

    #[test]
    fn crossover_beats_random_sampling_and_needs_no_gradients() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::GCN);
        let quick = Genetic {
            population_size: 12,
            generations: 12,
            ..Genetic::budget(0.1)
        };
        let bred = run(&Closed(&model), &graph, quick, 1);
        let sampled = run(
            &Closed(&model),
            &graph,
            Genetic {
                generations: 0,
                ..quick
            },
            1,
        );
        let [clean, sampled, bred_accuracy] =
            [&graph, &sampled.graph, &bred.graph].map(|at| accuracy(&model, &graph, at));
        assert!(
            bred_accuracy < sampled && sampled <= clean,
            "{clean} {sampled} {bred_accuracy}"
        );
        assert!(bred.change.num_flips() <= graph.num_edges() / 10 && bred.change.num_flips() > 0);
        assert_eq!(
            run(&Closed(&model), &graph, quick, 1).flips,
            bred.flips,
            "the same seed, the same flips"
        );
    }

    #[test]
    fn exhausted_flips_and_invalid_settings() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::GCN);
        // A budget of all edges: each member stops where no flip is left to sample.
        let all = run(
            &model,
            &graph,
            Genetic {
                population_size: 4,
                generations: 1,
                ..Genetic::budget(1.0)
            },
            0,
        );
        assert!(all.change.num_flips() <= graph.num_edges());
        for (wrong, why) in [
            (
                Genetic {
                    population_size: 2,
                    ..Genetic::default()
                },
                "population-size must be in [4, 1000000] (got 2)",
            ),
            (
                Genetic {
                    mutation_rate: 1.5,
                    ..Genetic::default()
                },
                "mutation-rate must be in [0, 1] (got 1.5)",
            ),
        ] {
            let e = Attack::from(wrong).check().unwrap_err().to_string();
            assert_eq!(e, why);
        }
    }
}
