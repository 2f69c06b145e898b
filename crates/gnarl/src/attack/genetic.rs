//! An attacker who asks and never looks inside: sets of flips that are bred (after the genetic
//! attack of Dai et al. 2018). For models without gradients, from outside too; all it needs are
//! answers.
//!
//! Every member of the population is a whole budget of flips. Of each generation the better half
//! stays; the others are children, who take each flip from one of two parents, the parents being
//! the better of two drawn at random, and draw a share of their flips anew. New flips are drawn
//! where they may do harm: an edge of a target goes or a pair with a target comes, by the rule of
//! [`dice`](super::dice) where classes are known. The best set of flips there ever was is the
//! result, which is never worse than doing nothing.

use std::collections::BTreeSet;

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{Error as GraphError, Graph};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::loss::{Loss, Objective, Standing};
use super::method::{Method, OF_EDGES, Scene, TENTH, edges, refused};
use super::pgd_features::LOSS;
use crate::classifier::Classifier;
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, Pair, flipped};

/// How flips are bred.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Genetic {
    /// Share of the edges.
    pub budget: f64,
    /// What is climbed.
    pub loss: Loss,
    /// Sets of flips in a generation.
    pub population: usize,
    /// How often they are bred.
    pub generations: usize,
    /// The share of a child's flips that are drawn anew.
    pub mutation: f64,
}

impl Genetic {
    /// With this share of the edges: 40 generations of 24.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            loss: Loss::Margin,
            population: 24,
            generations: 40,
            mutation: 0.1,
        }
    }
}

impl Default for Genetic {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for Genetic {
    const NAME: &'static str = "genetic";
    const ABOUT: &'static str = "edges by breeding, from answers alone";
    const SETTINGS: &'static [Setting] = &[
        OF_EDGES,
        LOSS,
        Setting::new(
            "population",
            "N",
            "sets of flips in a generation [default: 24]",
        ),
        Setting::new("generations", "N", "how often they are bred [default: 40]"),
        Setting::new(
            "mutation",
            "SHARE",
            "the share of a child's flips that are drawn anew [default: 0.1]",
        ),
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget)?;
        if self.population < 4 {
            return Err(GraphError::setting(
                "population",
                format!("{} sets breed nothing; at least 4", self.population),
            ));
        }
        if !(0.0..=1.0).contains(&self.mutation) {
            return Err(GraphError::setting(
                "mutation",
                format!("{} is no share, 0 to 1", self.mutation),
            ));
        }
        Ok(())
    }
}

impl Method for Genetic {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let model = scene
            .model
            .ok_or_else(|| refused("genetic asks a model, and there is none"))?;
        let targets = scene.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(scene.graph);
        let clean = model.scores(scene.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        // One row of scores is of the graph: every node of it counts.
        let nursery = Nursery::new(scene, flips, clean.num_rows() == 1);
        let judged = |flips: BTreeSet<Pair>| Member::judged(scene.graph, model, &objective, flips);
        let first =
            (0..self.population).map(|i| nursery.drawn(&mut stream(seed, "genetic", i as u64)));
        let first: Vec<BTreeSet<Pair>> = first.collect();
        let mut all = first
            .into_par_iter()
            .map(judged)
            .collect::<Result<Vec<_>>>()?;
        rank(&mut all);
        for generation in 1..=self.generations {
            if scene.stopped() {
                break;
            }
            let kept = self.population / 2;
            let child = |i: usize| {
                let rng = &mut stream(seed, "genetic", (generation * self.population + i) as u64);
                nursery.child(&all, self.mutation, rng)
            };
            let children: Vec<BTreeSet<Pair>> = (kept..self.population).map(child).collect();
            let children = children
                .into_par_iter()
                .map(judged)
                .collect::<Result<Vec<_>>>()?;
            all.truncate(kept);
            all.extend(children);
            rank(&mut all);
        }
        let nothing = objective.standing(clean.data());
        match all
            .into_iter()
            .next()
            .filter(|best| best.standing.beats(&nothing))
        {
            Some(best) => Ok(flipped(
                scene.graph,
                &best.flips.into_iter().collect::<Vec<_>>(),
            )?),
            None => Ok(scene.graph.clone()),
        }
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn asks_model(&self) -> bool {
        true
    }

    fn judges_by_answers(&self) -> bool {
        true
    }

    fn passes(&self) -> f64 {
        self.population as f64 * (1.0 + 0.5 * self.generations as f64)
    }
}

/// A set of flips and how it stands.
struct Member {
    flips: BTreeSet<Pair>,
    standing: Standing,
}

impl Member {
    fn judged(
        graph: &Graph,
        model: &dyn Classifier,
        objective: &Objective<'_>,
        flips: BTreeSet<Pair>,
    ) -> Result<Self> {
        let changed = flipped(graph, &flips.iter().copied().collect::<Vec<_>>())?;
        let standing = objective.standing(model.scores(&changed)?.data());
        Ok(Self { flips, standing })
    }
}

/// The best first; equals stay in their order.
fn rank(all: &mut [Member]) {
    all.sort_by(|a, b| {
        a.standing
            .right
            .cmp(&b.standing.right)
            .then(b.standing.loss.total_cmp(&a.standing.loss))
    });
}

/// Where flips come from.
struct Nursery<'a> {
    scene: &'a Scene<'a>,
    /// Nodes at which flips are drawn: the targets, or all where a graph is the target.
    ends: Vec<u32>,
    flips: usize,
}

/// Draws of a pair before a member stays smaller than the budget: on a graph with nothing left to
/// flip.
const TRIES: usize = 50;

impl<'a> Nursery<'a> {
    fn new(scene: &'a Scene<'a>, flips: usize, of_graph: bool) -> Self {
        let nodes = scene.graph.num_nodes() as u32;
        let ends = match of_graph {
            true => (0..nodes).collect(),
            false => scene
                .targets
                .iter()
                .map(|&(u, _)| u)
                .filter(|u| *u < nodes)
                .collect(),
        };
        Self { scene, ends, flips }
    }

    /// A pair that may do harm.
    fn pair(&self, rng: &mut Rng) -> Option<Pair> {
        let (graph, labels) = (self.scene.graph, self.scene.labels);
        let class = |u: u32| labels.and_then(|labels| labels.get(u));
        let &u = self.ends.choose(rng)?;
        let (v, goes) = match graph.neighbours(u).choose(rng) {
            Some(&v) if rng.random_bool(0.5) => (v, true),
            _ => (rng.random_range(0..graph.num_nodes() as u32), false),
        };
        // Of known classes: edges within one go, edges between two come.
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

    fn drawn(&self, rng: &mut Rng) -> BTreeSet<Pair> {
        self.fill(BTreeSet::new(), rng)
    }

    /// Each flip of one parent or the other, some drawn anew.
    fn child(&self, all: &[Member], mutation: f64, rng: &mut Rng) -> BTreeSet<Pair> {
        // Members stand in order: of two drawn the first is the better.
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
    use crate::nn::Backbone;
    use gnarl_graph::DenseMatrix;

    fn run(model: &dyn Classifier, graph: &Graph, genetic: Genetic, seed: u64) -> Attacked {
        let targets = targets(graph);
        let scene = Scene {
            graph,
            model: Some(model),
            targets: &targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        };
        Attack::from(genetic).run(&scene, seed).unwrap()
    }

    /// A model of which nothing but answers is known.
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
    fn breeding_beats_drawing_and_needs_no_gradients() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::Gcn);
        let quick = Genetic {
            population: 12,
            generations: 12,
            ..Genetic::budget(0.1)
        };
        let bred = run(&Closed(&model), &graph, quick, 1);
        let drawn = run(
            &Closed(&model),
            &graph,
            Genetic {
                generations: 0,
                ..quick
            },
            1,
        );
        let [clean, drawn, bred_accuracy] =
            [&graph, &drawn.graph, &bred.graph].map(|at| accuracy(&model, &graph, at));
        assert!(
            bred_accuracy < drawn && drawn <= clean,
            "{clean} {drawn} {bred_accuracy}"
        );
        assert!(bred.change.num_flips() <= graph.num_edges() / 10 && bred.change.num_flips() > 0);
        assert_eq!(
            run(&Closed(&model), &graph, quick, 1).flips,
            bred.flips,
            "the same seed, the same flips"
        );
    }

    #[test]
    fn a_graph_with_nothing_to_flip_and_wrong_settings() {
        let graph = graph(3);
        let model = trained(&graph, Backbone::Gcn);
        // Everything of the budget: each member stops where nothing is left to draw.
        let all = run(
            &model,
            &graph,
            Genetic {
                population: 4,
                generations: 1,
                ..Genetic::budget(1.0)
            },
            0,
        );
        assert!(all.change.num_flips() <= graph.num_edges());
        for (wrong, why) in [
            (
                Genetic {
                    population: 2,
                    ..Genetic::default()
                },
                "at least 4",
            ),
            (
                Genetic {
                    mutation: 1.5,
                    ..Genetic::default()
                },
                "no share",
            ),
        ] {
            let e = Attack::from(wrong).check().unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
    }
}
