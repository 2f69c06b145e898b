//! Local PRBCD (Geisler et al. 2021, [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)): each
//! target has flips of its own, found by the gradient of its margin through the attacked model.
//! [`nettack`](super::nettack) uses a linear surrogate instead.
//!
//! New edges end at the target or at one of its neighbours: with two convolutions no other pair
//! reaches the target except through degrees. Any edge may be removed. Targets are attacked one
//! after the other on one graph, as in Nettack, each with its own budget.

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::block::{self, MAX_BLOCK, Search};
use super::loss::{Loss, Objective};
use super::method::{AttackInput, Flip, MAX_FLIPS, Method, Part, Property, Requirement};
use super::prbcd::Prbcd;
use crate::perturb::{Budget, flipped};
use gnarl_graph::Result;

/// Projected gradient ascent on random blocks of node pairs, one target at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "prbcd-local",
    about = "a few flips for each target, by PRBCD on its own margin (local PRBCD)",
    constant
)]
pub struct PrbcdLocal {
    /// Budget as a number of flips for each target.
    #[setting(default = 5, range = ..=MAX_FLIPS)]
    pub budget: usize,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of epochs for each target, the last fifth of them for fine-tuning.
    #[setting(default = 50, range = 1.., flag = "attack-epochs")]
    pub epochs: usize,
    /// Number of node pairs without an edge that are optimised at once.
    #[setting(default = 250_000, range = ..=MAX_BLOCK, was = "block")]
    pub block_size: usize,
}

impl PrbcdLocal {
    /// Returns the attack with this number of flips for each target, in fifty epochs.
    pub const fn budget(flips: usize) -> Self {
        Self {
            budget: flips,
            ..Self::DEFAULT
        }
    }

    fn search(&self) -> Prbcd {
        let finetune_epochs = self.epochs / 5;
        Prbcd {
            loss: self.loss,
            epochs: self.epochs - finetune_epochs,
            finetune_epochs,
            block_size: self.block_size,
            ..Prbcd::default()
        }
    }
}

impl Method for PrbcdLocal {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        Ok(self.attack_in_order(input, seed)?.0)
    }

    fn attack_in_order(
        &self,
        input: &AttackInput<'_>,
        seed: u64,
    ) -> Result<(Graph, Option<Vec<Flip>>)> {
        let (model, targets) = (
            input.see_through::<Self>()?.0,
            input.some_targets::<Self>()?,
        );
        let mut graph = input.graph.clone();
        let mut order = Vec::new();
        for (i, target) in targets.iter().enumerate() {
            if input.stopped() {
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
            let here = AttackInput {
                graph: &graph,
                ..*input
            };
            let search = Search::at_ends::<Self>(&here, clean.data(), self.block_size, ends, rng)?;
            let found = self
                .search()
                .seek(input, search, &objective, self.budget, rng)?;
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

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Gradients, Requirement::Labels])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::Targeted, Property::BlackBox])
    }

    fn bytes(&self, graph: &Graph) -> f64 {
        block::bytes(graph, self.block_size)
    }

    fn passes(&self) -> f64 {
        self.search().passes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Attack;
    use crate::attack::nettack::Nettack;
    use crate::attack::testing::{graph, targets, trained, training};
    use crate::classifier::Classifier;
    use gnarl_nn::networks::Backbone;

    /// Gradients of the attacked model change at least as many predictions as a surrogate does, with
    /// as many flips each.
    #[test]
    fn the_model_itself_is_a_better_guide_than_a_surrogate() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let correct = |scores: &gnarl_graph::DenseMatrix<f32>, &(u, class): &(u32, u32)| {
            let row = scores.row(u as usize);
            (0..row.len()).all(|c| c == class as usize || row[c] < row[class as usize])
        };
        let clean = model.scores(&graph).unwrap();
        let some: Vec<(u32, u32)> = targets(&graph)
            .into_iter()
            .filter(|target| correct(&clean, target))
            .take(12)
            .collect();
        let training = training(&graph);
        let input = AttackInput {
            graph: &graph,
            model: Some(&model),
            targets: &some,
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        let left = |attack: Attack| {
            let attacked = attack.run(&input, 3).unwrap();
            let scores = model.scores(&attacked.graph).unwrap();
            assert!(
                attacked
                    .flips
                    .iter()
                    .all(|flip| some.iter().any(|&(u, _)| flip.target == Some(u)))
            );
            some.iter()
                .filter(|target| correct(&scores, target))
                .count()
        };
        let ours = left(
            PrbcdLocal {
                epochs: 20,
                ..PrbcdLocal::budget(4)
            }
            .into(),
        );
        let by_surrogate = left(
            Nettack {
                degree_test: false,
                ..Nettack::budget(4)
            }
            .into(),
        );
        assert!(
            ours <= by_surrogate && ours < some.len() / 2,
            "{ours} of {} left, by nettack {by_surrogate}",
            some.len()
        );
    }
}
