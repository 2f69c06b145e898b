//! PRBCD, projected randomised block coordinate descent (Geisler et al. 2021, "Robustness of Graph
//! Neural Networks at Scale", [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)): projected
//! gradient ascent on a random block of node pairs.
//!
//! 1. In the first epochs the block is resampled after every step; pairs in use stay.
//! 2. In the fine-tuning epochs the block is fixed and the learning rate shrinks. They start from
//!    the best state so far, judged by its largest variables as discrete flips.
//! 3. In the end discrete perturbations are sampled from the variables, and the best is kept.
//!
//! Every edge is part of the search in addition to the block: a block sampled from all pairs would
//! hardly ever contain an edge, and no edge could be removed. Memory grows with edges plus block
//! size.

use gnarl_graph::Graph;
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::block::{self, MAX_BLOCK, Search, State, ascend};
use super::loss::{Loss, Objective};
use super::method::{AttackInput, Method, Property, Requirement, edges};
use crate::perturb::{Budget, EdgeShare, Pair, flipped};
use gnarl_graph::Result;

/// Projected gradient ascent on random blocks of node pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "prbcd",
    about = "projected randomised block coordinate descent on edges (PRBCD)",
    constant
)]
pub struct Prbcd {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of epochs in which the random block is resampled.
    #[setting(default = 100, range = 1.., flag = "attack-epochs")]
    pub epochs: usize,
    /// Number of fine-tuning epochs on the last block, with a shrinking learning rate.
    #[setting(default = 25, was = "settling")]
    pub finetune_epochs: usize,
    /// Number of node pairs without an edge that are optimised at once.
    #[setting(default = 250_000, range = ..=MAX_BLOCK, was = "block")]
    pub block_size: usize,
    /// Number of discrete perturbations sampled at the end, of which the best is kept.
    #[setting(default = 20, range = 1.., was = "roundings")]
    pub final_samples: usize,
}

impl Prbcd {
    /// Returns the attack with this share of the edges and the published search: 100 epochs of new
    /// blocks, 25 of fine-tuning, 20 final samples.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }
}

/// Step size: the sum of the changes of a step, as a share of the budget.
const STEP: f64 = 0.3;

impl Method for Prbcd {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let model = input.see_through::<Self>()?.0;
        let targets = input.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(input.graph);
        if flips == 0 {
            return Ok(input.graph.clone());
        }
        let clean = model.scores(input.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "prbcd", 0);
        let search = Search::new::<Self>(input, clean.data(), self.block_size, rng)?;
        flipped(
            input.graph,
            &self.seek(input, search, &objective, flips, rng)?,
        )
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block_size)
    }

    fn passes(&self) -> f64 {
        2.0 * (self.epochs + self.finetune_epochs) as f64 + self.final_samples as f64
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Gradients])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::BlackBox])
    }
}

impl Prbcd {
    /// Runs the search for at most `flips` flips.
    pub(super) fn seek(
        &self,
        input: &AttackInput<'_>,
        mut search: Search<'_>,
        objective: &Objective<'_>,
        flips: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Pair>> {
        let mut best: Option<(_, State)> = None;
        for epoch in 0..self.epochs + self.finetune_epochs {
            if input.stopped() {
                break;
            }
            let late = epoch.saturating_sub(self.epochs);
            if epoch == self.epochs
                && let Some((_, state)) = best.take()
            {
                search.restore(state);
            }
            let slope = search.gradient(objective)?;
            ascend(
                &mut search.flips,
                &slope,
                flips,
                STEP / (1.0 + late as f64).sqrt(),
            );
            let value = objective.value(&search.scores_of(&search.largest(flips))?);
            if best.as_ref().is_none_or(|(least, _)| value.beats(least)) {
                best = Some((value, search.state()));
            }
            if epoch + 1 < self.epochs {
                search.exchange(rng)?;
            }
        }
        if let Some((_, state)) = best {
            search.restore(state);
        }
        search.round(objective, flips, self.final_samples, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::dice::Dice;
    use crate::attack::grbcd::Grbcd;
    use crate::attack::testing::{accuracy, graph, targets, trained};
    use crate::attack::{Attack, Attacked, Part};
    use gnarl_graph::settings::Choice;
    use gnarl_nn::networks::Backbone;

    fn run(attack: impl Into<Attack>, graph: &Graph, seed: u64) -> (Attacked, f64) {
        let (model, targets) = (trained(graph, Backbone::GCN), targets(graph));
        let labels = graph.labels();
        let input = AttackInput {
            graph,
            model: Some(&model),
            targets: &targets,
            labels,
            training: &[],
            stop: None,
        };
        let attacked = attack.into().run(&input, seed).unwrap();
        let accuracy = accuracy(&model, graph, &attacked.graph);
        (attacked, accuracy)
    }

    #[test]
    fn both_ways_beat_classes_known_to_chance() {
        let graph = graph(1);
        let (_, by_dice) = run(Dice::default(), &graph, 2);
        let prbcd = Prbcd {
            epochs: 25,
            finetune_epochs: 8,
            block_size: 3000,
            ..Prbcd::default()
        };
        let grbcd = Grbcd {
            steps: 20,
            block_size: 3000,
            ..Grbcd::default()
        };
        for attack in [Attack::from(prbcd), Attack::from(grbcd)] {
            let (attacked, left) = run(attack, &graph, 2);
            assert!(left < by_dice - 5.0, "{attack}: {left} against {by_dice}");
            let allowed = graph.num_edges() / 10;
            assert!(
                (allowed / 2..=allowed).contains(&attacked.change.num_flips()),
                "{attack}"
            );
        }
        for loss in [Loss::Masked, Loss::CrossEntropy] {
            let (_, left) = run(Prbcd { loss, ..prbcd }, &graph, 2);
            assert!(left < by_dice, "{loss}: {left} against {by_dice}");
        }
    }

    #[test]
    fn greedy_flips_come_in_their_order() {
        let graph = graph(1);
        let few = run(
            Grbcd {
                steps: 10,
                block_size: 3000,
                ..Grbcd::budget(0.05)
            },
            &graph,
            2,
        )
        .0;
        assert_eq!(few.flips.len(), few.change.num_flips());
        let is_new = |flip: &crate::attack::Flip| match flip.part {
            Part::Edge(u, v) => {
                few.change.added.contains(&(u, v)) || few.change.removed.contains(&(u, v))
            }
            Part::Feature(..) => false,
        };
        assert!(few.flips.iter().all(is_new));
        let e = Prbcd {
            final_samples: 0,
            ..Prbcd::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "final-samples must be in [1, 1000000] (got 0)");
    }
}
