//! PRBCD (Geisler et al. 2021, "Robustness of Graph Neural Networks at Scale"): projected gradient
//! ascent on a random block of pairs.
//!
//! In the first epochs the block is drawn anew after every step but for pairs that are in use; then
//! it stays and steps shrink. The best state that was seen, by its largest variables taken as whole
//! flips, is gone on from; in the end whole flips are drawn from the variables, and the best draw
//! is kept. Every edge is in the block besides: drawn from all pairs, edges would hardly ever be
//! seen, and what an attacker may remove would go unused. Memory grows with edges plus block.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{Error as GraphError, Graph};
use serde::{Deserialize, Serialize};

use super::block::{self, MAX_BLOCK, Search, State, ascend};
use super::loss::{Loss, Objective};
use super::method::{Method, OF_EDGES, Scene, TENTH, edges};
use super::pgd_features::LOSS;
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, Pair, flipped};

/// How flips are sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Prbcd {
    /// Share of the edges.
    pub budget: f64,
    /// What is climbed.
    pub loss: Loss,
    /// Epochs with a new block each, and epochs with the last one.
    pub epochs: usize,
    /// Epochs with the last block, in steps that shrink.
    pub settling: usize,
    /// Pairs without an edge in a block.
    pub block: usize,
    /// Draws of whole flips at the end.
    pub roundings: usize,
}

impl Prbcd {
    /// With this share of the edges and the published search: 100 epochs of new blocks, 25 to
    /// settle, 20 draws.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            loss: Loss::Margin,
            epochs: 100,
            settling: 25,
            block: 250_000,
            roundings: 20,
        }
    }
}

impl Default for Prbcd {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

/// The setting of a block.
pub(super) const BLOCK: Setting = Setting::new(
    "block",
    "PAIRS",
    "pairs without an edge that are looked at together [default: 50000; of prbcd, grbcd 250000]",
)
.at_most(MAX_BLOCK as u64);

impl Choice for Prbcd {
    const NAME: &'static str = "prbcd";
    const ABOUT: &'static str = "gradient ascent on random blocks of pairs (PRBCD)";
    const SETTINGS: &'static [Setting] = &[
        OF_EDGES,
        LOSS,
        Setting::new("epochs", "N", "epochs with a new block each [default: 100]")
            .flag("attack-epochs"),
        Setting::new(
            "settling",
            "N",
            "epochs with the last block, in steps that shrink [default: 25]",
        ),
        BLOCK,
        Setting::new(
            "roundings",
            "N",
            "draws of whole flips at the end, of which the best is kept [default: 20]",
        ),
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget)?;
        check_block(self.block)?;
        for (name, count, least) in [
            ("attack-epochs", self.epochs, 1),
            ("settling", self.settling, 0),
            ("roundings", self.roundings, 1),
        ] {
            if !(least..=1_000_000).contains(&count) {
                return Err(GraphError::setting(
                    name,
                    format!("{count} must lie in {least} to 1000000"),
                ));
            }
        }
        Ok(())
    }
}

/// Refuses a block that no machine holds.
pub(super) fn check_block(block: usize) -> gnarl_graph::Result<()> {
    match block > MAX_BLOCK {
        true => Err(GraphError::setting(
            "block",
            format!("{block} pairs: at most {MAX_BLOCK} can be held"),
        )),
        false => Ok(()),
    }
}

/// The mass that a step moves, as a share of the budget.
const STEP: f64 = 0.3;

impl Method for Prbcd {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let model = scene.see_through::<Self>()?.0;
        let targets = scene.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(scene.graph);
        if flips == 0 {
            return Ok(scene.graph.clone());
        }
        let clean = model.scores(scene.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "prbcd", 0);
        let search = Search::new::<Self>(scene, clean.data(), self.block, rng)?;
        Ok(flipped(
            scene.graph,
            &self.seek(scene, search, &objective, flips, rng)?,
        )?)
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block)
    }

    fn passes(&self) -> f64 {
        2.0 * (self.epochs + self.settling) as f64 + self.roundings as f64
    }

    fn needs_gradients(&self) -> bool {
        true
    }

    fn judges_by_answers(&self) -> bool {
        true
    }
}

impl Prbcd {
    /// The search itself: at most so many flips.
    pub(super) fn seek(
        &self,
        scene: &Scene<'_>,
        mut search: Search<'_>,
        objective: &Objective<'_>,
        flips: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Pair>> {
        let mut best: Option<(_, State)> = None;
        for epoch in 0..self.epochs + self.settling {
            if scene.stopped() {
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
            let standing = objective.standing(&search.scores_of(&search.largest(flips))?);
            if best.as_ref().is_none_or(|(least, _)| standing.beats(least)) {
                best = Some((standing, search.state()));
            }
            if epoch + 1 < self.epochs {
                search.exchange(rng)?;
            }
        }
        if let Some((_, state)) = best {
            search.restore(state);
        }
        search.round(objective, flips, self.roundings, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::dice::Dice;
    use crate::attack::grbcd::Grbcd;
    use crate::attack::testing::{accuracy, graph, targets, trained};
    use crate::attack::{Attack, Attacked, Part};
    use crate::nn::Backbone;

    fn run(attack: impl Into<Attack>, graph: &Graph, seed: u64) -> (Attacked, f64) {
        let (model, targets) = (trained(graph, Backbone::Gcn), targets(graph));
        let labels = graph.labels();
        let scene = Scene {
            graph,
            model: Some(&model),
            targets: &targets,
            labels,
            training: &[],
            stop: None,
        };
        let attacked = attack.into().run(&scene, seed).unwrap();
        let accuracy = accuracy(&model, graph, &attacked.graph);
        (attacked, accuracy)
    }

    #[test]
    fn both_ways_beat_classes_known_to_chance() {
        let graph = graph(1);
        let (_, by_dice) = run(Dice::default(), &graph, 2);
        let prbcd = Prbcd {
            epochs: 25,
            settling: 8,
            block: 3000,
            ..Prbcd::default()
        };
        let grbcd = Grbcd {
            steps: 20,
            block: 3000,
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
                block: 3000,
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
            roundings: 0,
            ..Prbcd::default()
        }
        .check()
        .unwrap_err()
        .to_string();
        assert_eq!(e, "roundings: 0 must lie in 1 to 1000000");
    }
}
