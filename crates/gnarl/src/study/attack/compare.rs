//! Compares several models under one attack at several budgets, on the same splits and, if the
//! attack does not depend on the evaluated model, on the same inputs.

use gnarl_data::Content;
use gnarl_data::{Benchmark, Task};
use gnarl_graph::Graph;
use serde::Serialize;

use super::{
    AttackResult, AttackRun, AttackStudy, AttackedGraphStudy, AttackerAccess, LabelKnowledge, Mode,
    Targets, attack_without_model,
};
use crate::model::Model;
use crate::study::summary::Accuracy;
use gnarl_graph::Result;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::{Attack, Attacked, Part, Property, Requirement};
use gnarl_robust::perturb::{Budget, Pair, flipped};

/// Models, and an attack on each of them at each budget.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The models with their names.
    pub models: Vec<(String, Model)>,
    /// The attack, once for each budget.
    pub attacks: Vec<Attack>,
    /// The attacked phase: evasion or poisoning.
    pub mode: Mode,
    /// The attacker's surrogate (transfer attack).
    pub surrogate: Option<Backbone>,
    /// The predictions that are attacked and evaluated.
    pub targets: Targets,
    /// The class labels that the attacker has.
    pub labels: LabelKnowledge,
    /// The attacker's access to the inference.
    pub access: AttackerAccess,
    /// Number of runs of each model.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// One model at one budget.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Cell {
    /// Index of the model.
    pub model: usize,
    /// Index of the attack.
    pub budget: usize,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of a model at a budget.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case", untagged)]
pub enum Outcome {
    /// The model was evaluated.
    Evaluated {
        /// Accuracy on clean inputs, with the model's inference.
        clean_accuracy: Accuracy,
        /// Accuracy on attacked inputs.
        attacked_accuracy: Accuracy,
        /// True if the attack was adaptive.
        adaptive: bool,
        /// Mean number of flipped edges and changed feature entries; noise changes all entries.
        flips: f64,
        /// Mean seconds of an attack; `None` if inputs are shared.
        attack_seconds: f64,
    },
    /// The attack does not apply to the model.
    Refused {
        /// The reason.
        refused: String,
    },
}

impl Comparison {
    /// Returns true if all models are evaluated on one attacked graph for each budget: the attack
    /// depends on none of them, and there is one split.
    fn shares_inputs(&self, on: &Benchmark) -> bool {
        let targets_known = matches!(self.targets, Targets::Nodes(_));
        self.attacks.iter().all(|attack| {
            attack.needs(Requirement::LoadedFeatures)
                && (targets_known || !attack.has(Property::Targeted))
        }) && self.labels == LabelKnowledge::True
            && on.splits.len() == 1
            && on.content.task() == Task::Node
    }

    /// Runs every cell, with a call after each. Cells not reached before a requested stop are left
    /// out.
    pub fn run(
        &self,
        on: &Benchmark,
        watch: &Callbacks<'_>,
        mut on_done: impl FnMut(&Cell),
    ) -> Result<Vec<Cell>> {
        let shared = match (&on.content, self.shares_inputs(on)) {
            (Content::Graph(graph), true) => Some(self.shared_inputs(graph, on, watch)?),
            _ => None,
        };
        let mut cells = Vec::new();
        for (model, (_, value)) in self.models.iter().enumerate() {
            for (budget, attack) in self.attacks.iter().enumerate() {
                if watch.stopped() {
                    return Ok(cells);
                }
                let given = shared.as_ref().map(|all| (&all[budget], value));
                let outcome = match given {
                    Some((attacked, value)) => self.on_shared(value, attacked, on, watch),
                    None => self.on_own(value, attack, on, watch),
                };
                let outcome = match outcome {
                    Ok(Some(outcome)) => outcome,
                    Ok(None) => return Ok(cells),
                    Err(e) if e.is_refusal() => Outcome::Refused {
                        refused: e.to_string(),
                    },
                    Err(e) => return Err(e),
                };
                let cell = Cell {
                    model,
                    budget,
                    outcome,
                };
                on_done(&cell);
                cells.push(cell);
            }
        }
        Ok(cells)
    }

    /// Attacks the graph once for each budget. For an attack that selects its flips one after the
    /// other, the smaller budgets are the first flips of the largest.
    fn shared_inputs(
        &self,
        graph: &Graph,
        on: &Benchmark,
        watch: &Callbacks<'_>,
    ) -> Result<Vec<Attacked>> {
        let make = |attack: &Attack| {
            attack_without_model(
                graph,
                attack,
                &self.targets,
                &on.splits[0],
                self.seed,
                watch.stop,
            )
        };
        let sizes: Option<Vec<usize>> = self
            .attacks
            .iter()
            .map(
                |attack| match (attack.budget(), attack.has(Property::Greedy)) {
                    (Ok(Budget::Edges(share)), true) => Some(share.flips(graph)),
                    _ => None,
                },
            )
            .collect();
        let Some(sizes) = sizes else {
            return self.attacks.iter().map(make).collect();
        };
        let largest = (0..sizes.len()).max_by_key(|&i| sizes[i]).unwrap_or(0);
        let whole = make(&self.attacks[largest])?;
        let first = |&count: &usize| {
            let pairs: Vec<Pair> = whole
                .flips
                .iter()
                .take(count)
                .filter_map(|flip| match flip.part {
                    Part::Edge(u, v) => Some((u, v)),
                    Part::Feature(..) => None,
                })
                .collect();
            Attacked::new(graph, flipped(graph, &pairs)?)
        };
        sizes.iter().map(first).collect()
    }

    /// Evaluates a model on a graph that is attacked already.
    fn on_shared(
        &self,
        model: &Model,
        attacked: &Attacked,
        on: &Benchmark,
        watch: &Callbacks<'_>,
    ) -> Result<Option<Outcome>> {
        let study = AttackedGraphStudy::new(*model, self.mode)
            .features(attacked.features)
            .runs(self.runs)
            .seed(self.seed);
        outcome(
            &study.run(on, &attacked.graph, &self.targets, watch)?,
            false,
        )
    }

    /// Evaluates a model under an attack of its own.
    fn on_own(
        &self,
        model: &Model,
        attack: &Attack,
        on: &Benchmark,
        watch: &Callbacks<'_>,
    ) -> Result<Option<Outcome>> {
        let study = AttackStudy::new(*model, *attack)
            .mode(self.mode)
            .surrogate(self.surrogate)
            .targets(self.targets.clone())
            .labels(self.labels)
            .access(self.access)
            .runs(self.runs)
            .seed(self.seed);
        // With a budget of zero there is no attack.
        outcome(
            &study.run(on, watch)?,
            study.is_adaptive() && !attack.budget()?.is_zero(),
        )
    }
}

/// Returns `None` if runs were stopped before their end.
fn outcome(result: &AttackResult, adaptive: bool) -> Result<Option<Outcome>> {
    if result.unfinished > 0 {
        return Ok(None);
    }
    let count = result.runs.len().max(1) as f64;
    let mean = |f: &dyn Fn(&AttackRun) -> f64| result.runs.iter().map(f).sum::<f64>() / count;
    Ok(Some(Outcome::Evaluated {
        clean_accuracy: result.over(AttackRun::own_clean_accuracy)?,
        attacked_accuracy: result.over(AttackRun::own_attacked_accuracy)?,
        adaptive,
        flips: mean(&|run| (run.edges_added + run.edges_removed + run.features.entries) as f64),
        attack_seconds: mean(&|run| run.attack_seconds),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::generate::{CsbmConfig, csbm};
    use gnarl_nn::features::FeatureScaling;
    use gnarl_robust::attack::dice::Dice;
    use gnarl_robust::attack::mettack::Mettack;
    use gnarl_robust::attack::prbcd::Prbcd;

    fn compare(attacks: Vec<Attack>, mode: Mode, models: &[Backbone]) -> Vec<Cell> {
        let config = CsbmConfig {
            num_nodes: 200,
            num_classes: 3,
            num_features: 12,
            ..CsbmConfig::default()
        };
        let graph = csbm(&config, 1).unwrap();
        let splits = graph.splits().to_vec();
        let on = Benchmark {
            name: "csbm".into(),
            content: Content::Graph(graph),
            splits,
        };
        let model = |b: &Backbone| {
            Model::new(*b)
                .features(FeatureScaling::AsLoaded)
                .hidden(8)
                .epochs(30)
        };
        let comparison = Comparison {
            models: models.iter().map(|b| (b.to_string(), model(b))).collect(),
            attacks,
            mode,
            surrogate: None,
            targets: Targets::default(),
            labels: LabelKnowledge::True,
            access: AttackerAccess::Predictions,
            runs: 2,
            seed: 1,
        };
        comparison.run(&on, &Callbacks::quiet(), |_| ()).unwrap()
    }

    #[test]
    fn smaller_budgets_are_the_first_flips_of_the_largest() {
        let attack = |budget| {
            Attack::from(Mettack {
                inner_steps: 10,
                ..Mettack::budget(budget)
            })
        };
        let cells = compare(
            vec![attack(0.0), attack(0.05), attack(0.1)],
            Mode::Poisoning,
            &[Backbone::GCN, Backbone::MLP],
        );
        assert_eq!(cells.len(), 6);
        let flips: Vec<f64> = cells
            .iter()
            .map(|cell| match &cell.outcome {
                Outcome::Evaluated {
                    flips, adaptive, ..
                } => {
                    assert!(!adaptive);
                    *flips
                }
                Outcome::Refused { refused } => panic!("{refused}"),
            })
            .collect();
        assert!(
            flips[0] == 0.0 && flips[1] > 0.0 && (flips[2] - 2.0 * flips[1]).abs() <= 1.0,
            "{flips:?}"
        );
        assert_eq!(flips[..3], flips[3..]);
    }

    #[test]
    fn refused_attacks_do_not_end_the_comparison() {
        let prbcd = Prbcd {
            epochs: 4,
            finetune_epochs: 2,
            block_size: 500,
            ..Prbcd::budget(0.05)
        };
        let nothing = Prbcd {
            budget: 0.0,
            ..prbcd
        };
        let cells = compare(
            vec![nothing.into(), prbcd.into()],
            Mode::Evasion,
            &[Backbone::GCN, Backbone::GAT],
        );
        for at in [0, 2] {
            assert!(
                matches!(
                    &cells[at].outcome,
                    Outcome::Evaluated {
                        adaptive: false,
                        flips: 0.0,
                        ..
                    }
                ),
                "no attacker"
            );
        }
        let cells: Vec<Cell> = cells.into_iter().filter(|cell| cell.budget == 1).collect();
        assert!(matches!(
            &cells[0].outcome,
            Outcome::Evaluated { adaptive: true, .. }
        ));
        assert!(
            matches!(&cells[1].outcome, Outcome::Refused { refused } if refused.contains("follows gradients"))
        );
        let cells = compare(
            vec![Dice::budget(0.1).into()],
            Mode::Evasion,
            &[Backbone::GAT],
        );
        assert!(matches!(
            &cells[0].outcome,
            Outcome::Evaluated {
                adaptive: false,
                ..
            }
        ));
    }
}
