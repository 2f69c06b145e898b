//! Projected gradient ascent on edges: the relaxation of Xu et al. (2019), on random blocks of
//! pairs as in PRBCD (Geisler et al. 2021).
//!
//! Every edge and a block of pairs without an edge have a flip variable in 0 to 1 (the room's
//! `block`). A step goes along the gradient of the loss and back to variables that sum to at most
//! the budget. In the first part of the search pairs that were left at zero make room for new ones,
//! so that many more are seen than are held. In the end the variables are rounded: whole flips are
//! drawn with them as probabilities, the largest ones are tried besides, and the best rounding is
//! kept. Memory grows with edges plus block, never with nodes squared.
//!
//! Of a graph of a set whose degrees stand for features, the ascent takes these as they are;
//! roundings are judged by the flipped graph's own, and as many draws of any pairs besides.

use gnarl_graph::names::{Choice, Setting};
use gnarl_graph::random::stream;
use gnarl_graph::{Error as GraphError, Graph};
use serde::{Deserialize, Serialize};

use super::block::{Search, ascend};
use super::loss::{Loss, Objective};
use super::method::{Method, OF_EDGES, Scene, TENTH, edges};
use super::pgd_features::{LOSS, STEPS};
use super::prbcd::{BLOCK, check_block};
use crate::error::Result;
use crate::perturb::{Budget, EdgeShare, flipped};

/// How flips are sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PgdStructure {
    /// Share of the edges.
    pub budget: f64,
    /// What is climbed.
    pub loss: Loss,
    /// Steps of ascent.
    pub steps: usize,
    /// Pairs without an edge that have a variable at a time.
    pub block: usize,
    /// Roundings of the variables to whole flips, of which the best is kept.
    pub roundings: usize,
}

impl PgdStructure {
    /// With this share of the edges and the usual search; 20 roundings are Xu et al.'s.
    pub const fn budget(budget: f64) -> Self {
        Self {
            budget,
            loss: Loss::Margin,
            steps: 100,
            block: 50_000,
            roundings: 20,
        }
    }
}

impl Default for PgdStructure {
    fn default() -> Self {
        Self::budget(TENTH)
    }
}

impl Choice for PgdStructure {
    const NAME: &'static str = "pgd-structure";
    const ABOUT: &'static str = "gradient ascent on edges";
    const SETTINGS: &'static [Setting] = &[
        OF_EDGES,
        LOSS,
        STEPS,
        BLOCK,
        Setting::new(
            "roundings",
            "N",
            "roundings to whole flips, of which the best is kept [default: 20]",
        ),
    ];

    /// Refuses a search of nothing and a block that no machine holds.
    fn check(&self) -> gnarl_graph::Result<()> {
        edges(self.budget)?;
        for (name, count) in [("steps", self.steps), ("roundings", self.roundings)] {
            if count == 0 {
                return Err(GraphError::setting(name, "must be at least 1"));
            }
        }
        check_block(self.block)
    }
}

/// The mass that the first step moves, as a share of the budget.
const FIRST_STEP: f64 = 0.3;
/// The part of the search in which new pairs come in, and the steps between two exchanges.
const EXPLORING: f64 = 0.7;
const EXCHANGE_EVERY: usize = 3;

impl Method for PgdStructure {
    fn attack(&self, scene: &Scene<'_>, seed: u64) -> Result<Graph> {
        let model = scene.see_through::<Self>()?.0;
        let targets = scene.some_targets::<Self>()?;
        let flips = EdgeShare::new(self.budget)?.flips(scene.graph);
        if flips == 0 {
            return Ok(scene.graph.clone());
        }
        let clean = model.scores(scene.graph)?;
        let objective = Objective::new(self.loss, targets, clean.data(), clean.num_cols());
        let rng = &mut stream(seed, "pgd structure", 0);
        let mut search = Search::new::<Self>(scene, clean.data(), self.block, rng)?;

        let exploring = (EXPLORING * self.steps as f64) as usize;
        for step in 0..self.steps {
            if scene.stopped() {
                break;
            }
            if step > 0 && step < exploring && step % EXCHANGE_EVERY == 0 {
                search.exchange(rng)?;
            }
            let slope = search.gradient(&objective)?;
            // A long first part to explore, then steps that shrink so that the variables settle.
            let late = step.saturating_sub(exploring) as f64;
            ascend(
                &mut search.flips,
                &slope,
                flips,
                FIRST_STEP / (1.0 + late).sqrt(),
            );
        }
        Ok(flipped(
            scene.graph,
            &search.round(&objective, flips, self.roundings, rng)?,
        )?)
    }

    fn budget(&self) -> gnarl_graph::Result<Budget> {
        edges(self.budget)
    }

    fn passes(&self) -> f64 {
        2.0 * self.steps as f64 + self.roundings as f64
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
    use crate::attack::dice::Dice;
    use crate::attack::pgd_features::PgdFeatures;
    use crate::attack::random_flips::RandomFlips;
    use crate::attack::random_remove::RandomRemove;
    use crate::attack::testing::{accuracy, graph, targets, trained, untrained, untrained_with};
    use crate::attack::{Attack, Attacked};
    use crate::classifier::{Classifier, FromFn, WhiteBox};
    use crate::nn::Backbone;
    use crate::operator::{Cgso, Initialisation, OperatorChoice};
    use gnarl_graph::operator::ClassicalOperator;

    fn run(
        model: &dyn Classifier,
        graph: &Graph,
        attack: impl Into<Attack>,
        seed: u64,
    ) -> Result<Attacked> {
        let targets = targets(graph);
        let scene = Scene {
            graph,
            model: Some(model),
            targets: &targets,
            labels: graph.labels(),
            training: &[],
            stop: None,
        };
        attack.into().run(&scene, seed)
    }

    const QUICK: PgdStructure = PgdStructure {
        steps: 30,
        block: 3000,
        ..PgdStructure::budget(0.1)
    };

    #[test]
    fn it_beats_dice_and_chance() {
        let graph = graph(1);
        let flips = graph.num_edges() / 10;
        for backbone in [Backbone::Gcn, Backbone::Sage] {
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
            objective.standing(model.scores(at).unwrap().data()).loss
        };
        for kind in ClassicalOperator::ALL {
            let model = untrained_with(&graph, Backbone::Gcn, OperatorChoice::Classical(kind));
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
            Backbone::Gat,
            Backbone::GatV2,
            Backbone::H2gcn,
            Backbone::Pna,
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
        let values = OperatorChoice::Classical(ClassicalOperator::NormalisedAdjacency);
        for (backbone, operator) in [(Backbone::Gat, values), (Backbone::Pna, values)] {
            let model = untrained_with(&graph, backbone, operator);
            let e = run(&model, &graph, QUICK, 1).unwrap_err().to_string();
            assert!(
                e.contains("follows gradients to single edges"),
                "{backbone} {operator}: {e}"
            );
        }
        let closed = FromFn {
            num_classes: 3,
            function: |g: &Graph| trained(g, Backbone::Gcn).scores(g),
        };
        for attack in [QUICK.into(), Attack::from(PgdFeatures::default())] {
            let e = run(&closed, &graph, attack, 1).unwrap_err().to_string();
            assert!(
                e.contains("this model has none to give") && e.contains("through a surrogate"),
                "{e}"
            );
        }
        assert!(run(&closed, &graph, Dice::default(), 1).is_ok());
        let mlp = run(&untrained(&graph, Backbone::Mlp), &graph, QUICK, 1).unwrap();
        assert_eq!(mlp.change.num_flips(), 0);
    }

    /// Centralities are held: the same scores as long as nothing is flipped, and a slope by every
    /// pair.
    #[test]
    fn learned_operators_are_seen_through() {
        let graph = graph(1);
        for centrality in ["degree", "core", "closed-degree"] {
            let init = Initialisation::Of(ClassicalOperator::NormalisedAdjacency);
            let operator = OperatorChoice::Cgso(Cgso {
                centrality: centrality.parse().unwrap(),
                init,
            });
            let model = untrained_with(&graph, Backbone::Gcn, operator);
            let scores = model.scores(&graph).unwrap();
            // What the model says now is right: every change is a loss.
            let own: Vec<(u32, u32)> = (0..200)
                .map(|u| (u, crate::train::argmax(scores.row(u as usize)) as u32))
                .collect();
            let of = |attack: Attack| {
                let scene = Scene {
                    graph: &graph,
                    model: Some(&model),
                    targets: &own,
                    labels: graph.labels(),
                    training: &[],
                    stop: None,
                };
                let attacked = attack.run(&scene, 1).unwrap();
                assert!(attacked.change.num_flips() > 0);
                let after = model.scores(&attacked.graph).unwrap();
                own.iter()
                    .filter(|(u, c)| crate::train::argmax(after.row(*u as usize)) == *c as usize)
                    .count()
            };
            let (sought, any) = (
                of(QUICK.into()),
                of(RandomFlips::budget(QUICK.budget).into()),
            );
            assert!(
                sought + 5 < any,
                "{centrality}: {sought} answers stay, of flips at random {any}"
            );
        }
    }

    #[test]
    fn every_setting_matters() {
        let graph = graph(1);
        let model = trained(&graph, Backbone::Gcn);
        let of = |pgd: PgdStructure| {
            let change = run(&model, &graph, pgd, 2).unwrap().change;
            (change.added, change.removed)
        };
        let base = of(QUICK);
        assert_eq!(of(QUICK), base);
        for other in [
            PgdStructure { steps: 3, ..QUICK },
            PgdStructure {
                block: 100,
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
        let no_block = of(PgdStructure { block: 0, ..QUICK });
        assert!(
            no_block.0.is_empty() && !no_block.1.is_empty(),
            "edges alone"
        );
        let refusal = |pgd: PgdStructure| pgd.check().unwrap_err().to_string();
        assert_eq!(
            refusal(PgdStructure {
                roundings: 0,
                ..QUICK
            }),
            "roundings: must be at least 1"
        );
        assert_eq!(
            refusal(PgdStructure { steps: 0, ..QUICK }),
            "steps: must be at least 1"
        );
        let e = refusal(PgdStructure {
            block: 1 << 40,
            ..QUICK
        });
        assert_eq!(
            e,
            "block: 1099511627776 pairs: at most 536870912 can be held"
        );
    }
}
