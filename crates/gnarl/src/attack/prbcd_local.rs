//! PRBCD for one node at a time (Geisler et al. 2021, "local" attacks): each target is misled by
//! flips of its own, found by the gradient of its own margin through the model itself, where
//! [`nettack`](super::nettack) goes by a linear stand-in.
//!
//! New edges have an end at the target or at one of its neighbours: of two convolutions no other
//! pair reaches the target but by degrees. Any edge may go. Targets are attacked one after the
//! other on one graph, as by Nettack, each with its own budget.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use gnarl_graph::{Error as GraphError, Graph};
use serde::{Deserialize, Serialize};

use super::block::{self, Search};
use super::loss::{Loss, Objective};
use super::method::{Flip, Method, Part, Scene};
use super::pgd_features::LOSS;
use super::prbcd::{BLOCK, Prbcd, check_block};
use crate::error::Result;
use crate::perturb::{Budget, flipped};

/// How targets are misled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrbcdLocal {
    /// Flips for each target.
    pub budget: usize,
    /// What is climbed.
    pub loss: Loss,
    /// Epochs for each target, the last fifth of them in steps that shrink.
    pub epochs: usize,
    /// Pairs without an edge in a block.
    pub block: usize,
}

impl PrbcdLocal {
    /// So many flips for each target, sought in fifty epochs.
    pub const fn budget(flips: usize) -> Self {
        Self {
            budget: flips,
            loss: Loss::Margin,
            epochs: 50,
            block: 250_000,
        }
    }

    fn search(&self) -> Prbcd {
        let settling = self.epochs / 5;
        Prbcd {
            loss: self.loss,
            epochs: self.epochs - settling,
            settling,
            block: self.block,
            ..Prbcd::default()
        }
    }
}

impl Default for PrbcdLocal {
    fn default() -> Self {
        Self::budget(5)
    }
}

impl Choice for PrbcdLocal {
    const NAME: &'static str = "prbcd-local";
    const ABOUT: &'static str =
        "a few flips at each of some targets, by gradient ascent on blocks of pairs (local PRBCD)";
    const SETTINGS: &'static [Setting] = &[
        Setting::new(
            "budget",
            "X",
            "how much may change: flips for each target [default: 5]",
        )
        .at_most(1 << 20),
        LOSS,
        Setting::new("epochs", "N", "epochs for each target [default: 50]").flag("attack-epochs"),
        BLOCK,
    ];

    fn check(&self) -> gnarl_graph::Result<()> {
        if self.budget > 1 << 20 {
            return Err(GraphError::setting(
                "budget",
                format!("{} flips for each target are too many", self.budget),
            ));
        }
        check_block(self.block)?;
        self.search().check()
    }
}

impl Method for PrbcdLocal {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(scene, seed)?.0)
    }

    fn attack_in_order(&self, scene: &Scene<'_>, seed: u64) -> Result<(Graph, Option<Vec<Flip>>)> {
        let (model, targets) = (
            scene.see_through::<Self>()?.0,
            scene.some_targets::<Self>()?,
        );
        let mut graph = scene.graph.clone();
        let mut order = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            if scene.stopped() {
                break;
            }
            let rng = &mut stream(seed, "prbcd local", i as u64);
            let clean = model.scores(&graph)?;
            let objective = Objective::new(
                self.loss,
                std::slice::from_ref(target),
                clean.data(),
                clean.num_cols(),
            );
            let ends = graph
                .neighbours(target.0)
                .iter()
                .copied()
                .chain([target.0])
                .collect();
            let here = Scene {
                graph: &graph,
                ..*scene
            };
            let search = Search::at_ends::<Self>(&here, clean.data(), self.block, ends, rng)?;
            let found = self
                .search()
                .seek(scene, search, &objective, self.budget, rng)?;
            order.extend(found.iter().map(|&(u, v)| Flip {
                part: Part::Edge(u, v),
                target: Some(target.0),
            }));
            graph = flipped(&graph, &found)?;
        }
        Ok((graph, Some(order)))
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        Ok(Budget::PerTarget(self.budget))
    }

    fn unit(&self) -> &'static str {
        "flips for each target"
    }

    fn is_targeted(&self) -> bool {
        true
    }

    fn needs_node_classes(&self) -> bool {
        true
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block)
    }

    fn passes(&self) -> f64 {
        self.search().passes()
    }

    fn needs_gradients(&self) -> bool {
        true
    }

    fn judges_by_answers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Attack;
    use crate::attack::nettack::Nettack;
    use crate::attack::testing::{graph, targets, trained, training};
    use crate::classifier::Classifier;
    use crate::nn::Backbone;

    /// An attacker who sees the model misleads at least as many targets as one who goes by a
    /// stand-in, with as many flips each.
    #[test]
    fn the_model_itself_is_a_better_guide_than_a_stand_in() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let right = |scores: &gnarl_graph::DenseMatrix<f32>, &(u, class): &(u32, u32)| {
            let row = scores.row(u as usize);
            (0..row.len()).all(|c| c == class as usize || row[c] < row[class as usize])
        };
        let clean = model.scores(&graph).unwrap();
        let some: Vec<(u32, u32)> = targets(&graph)
            .into_iter()
            .filter(|target| right(&clean, target))
            .take(12)
            .collect();
        let training = training(&graph);
        let scene = Scene {
            graph: &graph,
            model: Some(&model),
            targets: &some,
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        let left = |attack: Attack| {
            let attacked = attack.run(&scene, 3).unwrap();
            let scores = model.scores(&attacked.graph).unwrap();
            assert!(
                attacked
                    .flips
                    .iter()
                    .all(|flip| some.iter().any(|&(u, _)| flip.target == Some(u)))
            );
            some.iter().filter(|target| right(&scores, target)).count()
        };
        let ours = left(
            PrbcdLocal {
                epochs: 20,
                ..PrbcdLocal::budget(4)
            }
            .into(),
        );
        let by_stand_in = left(
            Nettack {
                degree_test: false,
                ..Nettack::budget(4)
            }
            .into(),
        );
        assert!(
            ours <= by_stand_in && ours < some.len() / 2,
            "{ours} of {} left, by nettack {by_stand_in}",
            some.len()
        );
    }
}
