//! Projected gradient ascent on edges: the topology attack of Xu et al. (2019,
//! [arXiv:1906.04214](https://arxiv.org/abs/1906.04214)), on random blocks of node pairs as in
//! PRBCD (Geisler et al. 2021, [arXiv:2110.14038](https://arxiv.org/abs/2110.14038)).
//!
//! Every edge and a block of pairs without an edge have a flip variable in 0 to 1 (`block`). A step
//! follows the gradient of the loss, then projects to variables whose sum is at most the budget. In
//! the first part of the search, pairs at zero are replaced by new ones, so that many more pairs are
//! tried than are held. In the end discrete perturbations are sampled with the variables as
//! probabilities, the largest variables are tried as well, and the best perturbation is kept. Memory
//! grows with edges plus block size, never with nodes squared.
//!
//! If degrees stand in for features (a graph of a set), the ascent keeps them fixed. The final
//! samples are evaluated with the degrees of the flipped graph, and as many uniform samples are
//! tried in addition.

use gnarl_graph::Graph;
use gnarl_graph::random::stream;
use gnarl_graph::sets::Set;
use gnarl_graph::settings::Settings;
use serde::{Deserialize, Serialize};

use super::block::{MAX_BLOCK, Search, ascend};
use super::loss::{Loss, Objective};
use super::method::{AttackInput, Method, Property, Requirement, edges};
use crate::perturb::{Budget, EdgeShare, flipped};
use gnarl_graph::Result;

/// Projected gradient ascent on edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(
    name = "pgd-structure",
    about = "projected gradient ascent on edges (PGD)",
    constant
)]
pub struct PgdStructure {
    /// Budget as a share of the edges, rounded down to whole flips.
    #[setting(default = 0.1, range = 0.0..=1.0)]
    pub budget: f64,
    /// Loss to maximise.
    #[setting(default = Loss::Margin)]
    pub loss: Loss,
    /// Number of steps of gradient ascent.
    #[setting(default = 100, range = 1..)]
    pub steps: usize,
    /// Number of node pairs without an edge that are optimised at once.
    #[setting(default = 50_000, range = ..=MAX_BLOCK, was = "block")]
    pub block_size: usize,
    /// Number of discrete perturbations sampled at the end, of which the best is kept.
    #[setting(default = 20, range = 1.., was = "roundings")]
    pub final_samples: usize,
}

impl PgdStructure {
    /// Returns the attack with this share of the edges and the default search; 20 final samples are
    /// those of Xu et al.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            ..Self::DEFAULT
        }
    }
}

/// Size of the first step: the sum of its changes, as a share of the budget.
const FIRST_STEP: f64 = 0.3;
/// Share of the search in which the block is resampled, and the steps between two resamplings.
const EXPLORING: f64 = 0.7;
const EXCHANGE_EVERY: usize = 3;

impl Method for PgdStructure {
    fn attack(&self, input: &AttackInput<'_>, seed: u64) -> Result<Graph> {
        let model = input.see_through::<Self>()?.0;
        let targets = input.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(input.graph);
        if flips == 0 {
            return Ok(input.graph.clone());
        }
        let clean = model.scores(input.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "pgd structure", 0);
        let mut search = Search::new::<Self>(input, clean.data(), self.block_size, rng)?;

        let exploring = (EXPLORING * self.steps as f64) as usize;
        for step in 0..self.steps {
            if input.stopped() {
                break;
            }
            if step > 0 && step < exploring && step % EXCHANGE_EVERY == 0 {
                search.exchange(rng)?;
            }
            let slope = search.gradient(&objective)?;
            // A long first part explores; then the steps shrink so that the variables converge.
            let late = step.saturating_sub(exploring) as f64;
            ascend(
                &mut search.flips,
                &slope,
                flips,
                FIRST_STEP / (1.0 + late).sqrt(),
            );
        }
        flipped(
            input.graph,
            &search.round(&objective, flips, self.final_samples, rng)?,
        )
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn passes(&self) -> f64 {
        2.0 * self.steps as f64 + self.final_samples as f64
    }

    fn needs(&self) -> Set<Requirement> {
        Requirement::set(&[Requirement::Gradients])
    }

    fn properties(&self) -> Set<Property> {
        Property::set(&[Property::BlackBox])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::dice::Dice;
    use crate::attack::pgd_features::PgdFeatures;
    use crate::attack::random_flips::RandomFlips;
    use crate::attack::random_remove::RandomRemove;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained, untrained_with};
    use crate::attack::{Attack, Attacked};
    use crate::classifier::{Classifier, FromFn, WhiteBox};
    use gnarl_graph::operator::ClassicalOperator;
    use gnarl_graph::settings::Choice;
    use gnarl_nn::networks::Backbone;
    use gnarl_nn::operator::{Cgso, Initialisation, OperatorChoice};

    fn run(
        model: &dyn Classifier,
        graph: &Graph,
        attack: impl Into<Attack>,
        seed: u64,
    ) -> Result<Attacked> {
        let targets = targets(graph);
        let input = AttackInput {
            graph,
            model: Some(model),
            targets: &targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        };
        attack.into().run(&input, seed)
    }

    const QUICK: PgdStructure = PgdStructure {
        steps: 30,
        block_size: 3000,
        ..PgdStructure::budget(0.1)
    };

    #[test]
    fn pgd_beats_dice_and_random_flips() {
        let graph = graph(1);
        let flips = graph.num_edges() / 10;
        for backbone in [Backbone::GCN, Backbone::SAGE] {
            let model = trained(&graph, backbone);
            let of = |attack: Attack| run(&model, &graph, attack, 2).unwrap();
            let attacked = of(QUICK.into());
            assert!(
                attacked.change.num_flips() <= flips && attacked.change.num_flips() > flips / 2
            );
            let by_pgd = accuracy(&model, &graph, &attacked.graph);
            for other in [
                Dice::default().into(),
                RandomFlips::default().into(),
                Attack::from(RandomRemove::default()),
            ] {
                let by_other = accuracy(&model, &graph, &of(other).graph);
                assert!(
                    by_pgd < by_other - 5.0,
                    "{backbone}: {by_pgd} against {by_other} by {other}"
                );
            }
        }
    }

    #[test]
    fn every_classical_operator_can_be_attacked() {
        let graph = graph(4);
        let loss = |model: &WhiteBox, at: &Graph| {
            let (targets, clean) = (targets(&graph), model.scores(&graph).unwrap());
            let objective = Objective::new(Loss::Margin, &targets, clean.data(), clean.num_cols());
            objective.value(model.scores(at).unwrap().data()).loss
        };
        for kind in ClassicalOperator::ALL {
            let model = untrained_with(&graph, Backbone::GCN, OperatorChoice::Classical(kind));
            let attacked = run(&model, &graph, QUICK, 1).unwrap();
            assert!(attacked.change.num_flips() > 0, "{kind}");
            assert!(
                loss(&model, &attacked.graph) > loss(&model, &graph),
                "{kind}"
            );
        }
    }

    #[test]
    fn what_has_no_gradient_is_refused_in_one_line_and_what_passes_no_messages_is_left_alone() {
        let graph = graph(1);
        for backbone in [
            Backbone::GAT,
            Backbone::GATV2,
            Backbone::H2GCN,
            Backbone::PNA,
        ] {
            let e = run(&untrained(&graph, backbone), &graph, QUICK, 1)
                .unwrap_err()
                .to_string();
            assert!(
                e.starts_with(&format!(
                    "attack: pgd-structure follows gradients to single edges, which {backbone} "
                )),
                "{e}"
            );
            assert!(
                e.contains("through a surrogate")
                    && e.contains("dice, random-flips")
                    && !e.contains('\n'),
                "{e}"
            );
        }
        let values = OperatorChoice::Classical(ClassicalOperator::NORMALISED_ADJACENCY);
        for (backbone, operator) in [(Backbone::GAT, values), (Backbone::PNA, values)] {
            let model = untrained_with(&graph, backbone, operator);
            let e = run(&model, &graph, QUICK, 1).unwrap_err().to_string();
            assert!(
                e.contains("follows gradients to single edges"),
                "{backbone} {operator}: {e}"
            );
        }
        let closed = FromFn {
            num_classes: 3,
            function: |g: &Graph| trained(g, Backbone::GCN).scores(g),
        };
        for attack in [QUICK.into(), Attack::from(PgdFeatures::default())] {
            let e = run(&closed, &graph, attack, 1).unwrap_err().to_string();
            assert!(
                e.contains("this model has none") && e.contains("through a surrogate"),
                "{e}"
            );
        }
        assert!(run(&closed, &graph, Dice::default(), 1).is_ok());
        let mlp = run(&untrained(&graph, Backbone::MLP), &graph, QUICK, 1).unwrap();
        assert_eq!(mlp.change.num_flips(), 0);
    }

    /// Centralities are constant: the same scores without flips, and a gradient by every pair.
    #[test]
    fn learned_operators_are_seen_through() {
        let graph = graph(1);
        for centrality in ["degree", "core", "closed-degree"] {
            let init = Initialisation::Of(ClassicalOperator::NORMALISED_ADJACENCY);
            let operator = OperatorChoice::Cgso(Cgso {
                centrality: centrality.parse().unwrap(),
                init,
            });
            let model = untrained_with(&graph, Backbone::GCN, operator);
            let scores = model.scores(&graph).unwrap();
            // The current predictions are the classes: every change is a loss.
            let own: Vec<(u32, u32)> = (0..200)
                .map(|u| (u, gnarl_nn::train::argmax(scores.row(u as usize)) as u32))
                .collect();
            let of = |attack: Attack| {
                let input = AttackInput {
                    graph: &graph,
                    model: Some(&model),
                    targets: &own,
                    labels: graph.labels(),
                    training: &[],
                    stop: None,
                };
                let attacked = attack.run(&input, 1).unwrap();
                assert!(attacked.change.num_flips() > 0);
                let after = model.scores(&attacked.graph).unwrap();
                own.iter()
                    .filter(|(u, c)| gnarl_nn::train::argmax(after.row(*u as usize)) == *c as usize)
                    .count()
            };
            let (sought, any) = (
                of(QUICK.into()),
                of(RandomFlips::budget(QUICK.budget).into()),
            );
            assert!(
                sought + 5 < any,
                "{centrality}: {sought} predictions stay, under random flips {any}"
            );
        }
    }

    #[test]
    fn every_setting_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::GCN);
        let of = |pgd: PgdStructure| {
            let change = run(&model, &graph, pgd, 2).unwrap().change;
            (change.added, change.removed)
        };
        let base = of(QUICK);
        assert_eq!(of(QUICK), base);
        for other in [
            PgdStructure { steps: 3, ..QUICK },
            PgdStructure {
                block_size: 100,
                ..QUICK
            },
            PgdStructure {
                loss: Loss::CrossEntropy,
                ..QUICK
            },
            PgdStructure {
                budget: 0.05,
                ..QUICK
            },
        ] {
            assert_ne!(of(other), base, "{other:?}");
        }
        let no_block = of(PgdStructure {
            block_size: 0,
            ..QUICK
        });
        assert!(
            no_block.0.is_empty() && !no_block.1.is_empty(),
            "edges alone"
        );
        let refusal = |pgd: PgdStructure| pgd.check().unwrap_err().to_string();
        assert_eq!(
            refusal(PgdStructure {
                final_samples: 0,
                ..QUICK
            }),
            "final-samples must be in [1, 1000000] (got 0)"
        );
        assert_eq!(
            refusal(PgdStructure { steps: 0, ..QUICK }),
            "steps must be in [1, 1000000] (got 0)"
        );
        let e = refusal(PgdStructure {
            block_size: 1 << 40,
            ..QUICK
        });
        assert_eq!(e, "block-size must be <= 536870912 (got 1099511627776)");
    }
}
