//! GRBCD, greedy randomised block coordinate descent (Geisler et al. 2021,
//! [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)): each step samples a new block of node
//! pairs and flips the pairs with the largest gradients, so that the budget is spent at the end.
//!
//! Every edge is part of the search in addition to the block, as in [`prbcd`](super::prbcd).

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::block::{self, MAX_BLOCK, Search};
use super::loss::{Loss, Objective};
use super::method::{AttackInput, Flip, Method, Part, Requirement, edges};
use crate::perturb::{Budget, EdgeShare, Pair, flipped};
use gnarl_graph::Result;

/// Flips the pairs with the largest gradients of random blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "grbcd",
    about = "greedy randomised block coordinate descent on edges (GRBCD)",
    constant
)]
pub struct Grbcd {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of greedy steps, each on a new random block; at most one step for each flip.
    #[setting(default = 100, range = 1..)]
    pub steps: usize,
    /// Number of node pairs without an edge that are optimised at once.
    #[setting(default = 250_000, range = ..=MAX_BLOCK, was = "block")]
    pub block_size: usize,
}

impl Grbcd {
    /// Returns the attack with this share of the edges, in a hundred steps.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }
}

impl Method for Grbcd {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(input, seed)?.0)
    }

    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        let model = input.see_through::<Self>()?.0;
        let targets = input.some_targets::<Self>()?;
        let budget = EdgeShare::new(self.budget)?.flips(input.graph);
        let clean = model.scores(input.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "grbcd", 0);
        let mut search = Search::new::<Self>(input, clean.data(), self.block_size, rng)?;
        let mut order: Vec<Pair> = Vec::with_capacity(budget);
        let steps = self.steps.min(budget);
        for step in 0..steps {
            if input.stopped() {
                break;
            }
            if step > 0 {
                search.exchange(rng)?;
            }
            let slope = search.gradient(&objective)?;
            // The rest of the budget is spread over the remaining steps.
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
        Ok((flipped(input.graph, &order)?, Some(flips)))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block_size)
    }

    fn passes(&self) -> f64 {
        2.0 * self.steps as f64
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Gradients])
    }
}
