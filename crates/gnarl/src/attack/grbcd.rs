//! GRBCD (Geisler et al. 2021): the greedy way through random blocks of pairs. In every step the
//! pairs of a fresh block with the steepest slope are flipped for good, so many that the budget is
//! spent at the end.
//!
//! Every edge is in the block besides, as in [`prbcd`](super::prbcd).

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use gnarl_graph::{Error as GraphError, Graph};
use serde::{Deserialize, Serialize};

use super::block::{self, Search};
use super::loss::{Loss, Objective};
use super::method::{Flip, Method, OF_EDGES, Part, Scene, TENTH, edges};
use super::pgd_features::{LOSS, STEPS};
use super::prbcd::{BLOCK, check_block};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, Pair, flipped};

/// How flips are sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Grbcd {
    /// Share of the edges.
    pub budget: f64,
    /// What is climbed.
    pub loss: Loss,
    /// Steps, each with a block of its own; of fewer flips than steps, one flip in each.
    pub steps: usize,
    /// Pairs without an edge in a block.
    pub block: usize,
}

impl Grbcd {
    /// With this share of the edges, in a hundred steps.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            loss: Loss::Margin,
            steps: 100,
            block: 250_000,
        }
    }
}

impl Default for Grbcd {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for Grbcd {
    const NAME: &'static str = "grbcd";
    const ABOUT: &'static str =
        "the steepest pairs of random blocks, flipped one after the other (GRBCD)";
    const SETTINGS: &'static [Setting] = &[OF_EDGES, LOSS, STEPS, BLOCK];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget)?;
        check_block(self.block)?;
        match self.steps {
            0 => Err(GraphError::setting("steps", "must be at least 1")),
            _ => Ok(()),
        }
    }
}

impl Method for Grbcd {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(scene, seed)?.0)
    }

    fn attack_in_order(&self, scene: &Scene<'_>, seed: u64) -> Result<(Graph, Option<Vec<Flip>>)> {
        let model = scene.see_through::<Self>()?.0;
        let targets = scene.some_targets::<Self>()?;
        let budget = EdgeShare::new(self.budget)?.flips(scene.graph);
        let clean = model.scores(scene.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "grbcd", 0);
        let mut search = Search::new::<Self>(scene, clean.data(), self.block, rng)?;
        let mut order: Vec<Pair> = Vec::with_capacity(budget);
        let steps = self.steps.min(budget);
        for step in 0..steps {
            if scene.stopped() {
                break;
            }
            if step > 0 {
                search.exchange(rng)?;
            }
            let slope = search.gradient(&objective)?;
            // What is left of the budget, spread over the steps that are left.
            let count = (budget - order.len()).div_ceil(steps - step);
            let is_open = |&i: &usize| search.flips[i] == 0.0 && slope[i] > 0.0;
            let mut steepest: Vec<usize> = (0..slope.len()).filter(is_open).collect();
            steepest.sort_by(|&a, &b| slope[b].total_cmp(&slope[a]).then(a.cmp(&b)));
            steepest.truncate(count);
            order.extend(steepest.iter().map(|&i| search.pairs()[i]));
            steepest.iter().for_each(|&i| search.flips[i] = 1.0);
        }
        let flips = order
            .iter()
            .map(|&(u, v)| Flip {
                part: Part::Edge(u, v),
                target: None,
            })
            .collect();
        Ok((flipped(scene.graph, &order)?, Some(flips)))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block)
    }

    fn passes(&self) -> f64 {
        2.0 * self.steps as f64
    }

    fn needs_gradients(&self) -> bool {
        true
    }
}
