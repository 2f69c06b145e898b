//! Adversarial attacks: small changes to a graph's features or edges that make a model's
//! predictions wrong.
//!
//! | file | content |
//! | --- | --- |
//! | [`gaussian`] | Gaussian noise on every feature |
//! | [`pgd_features`] | projected gradient ascent on features (PGD) |
//! | [`pgd_structure`] | projected gradient ascent on edges, then discrete samples (PGD) |
//! | [`prbcd`], [`grbcd`] | gradient attacks on random blocks of pairs, projected or greedy |
//! | [`prbcd_local`] | PRBCD on the margin of each target |
//! | [`nettack`] | a few flips for each target, by a linear surrogate |
//! | [`mettack`] | poisoned edges by meta-gradients through training |
//! | [`dice`] | edges within a class removed, edges between classes added |
//! | [`random_flips`], [`random_add`], [`random_remove`] | random edges |
//! | [`genetic`] | edges by a genetic algorithm, from predictions alone |
//! | [`combined`] | edges by `mettack`, and Gaussian noise on features |
//! | [`method`] | the interface: requirements, properties, input and result |
//! | [`loss`] | the loss that gradient attacks maximise |
//! | `linear` | the linear surrogate, and the derivative through its training |
//! | `degrees` | the likelihood-ratio test of the degree distribution |
//! | `block` | the search over random blocks of pairs |
//!
//! An attack turns an [`AttackInput`] into an [`Attacked`] graph. [`Attack::run`] checks that the
//! result keeps its budget ([`Budget`]) and is a valid graph. To add an attack, write a file here
//! with its settings, which implement [`Choice`] and [`Method`], and add a line to the list below.
//!
//! [`Choice`]: gnarl_graph::settings::Choice
//!
//! ```
//! use gnarl_robust::attack::{dice::Dice, Attack, AttackInput};
//! use gnarl_graph::generate::{CsbmConfig, csbm};
//! let graph = csbm(&CsbmConfig::default(), 0)?;
//! let attack = Attack::from(Dice::budget(0.1));
//! let attacked = attack.run(&AttackInput::new(&graph, &[]), 1)?;
//! assert_eq!(attacked.change.num_flips(), graph.num_edges() / 10);
//! assert_eq!("dice".parse::<Attack>()?.with(&[("budget".into(), "0.1".into())])?, attack);
//! # Ok::<(), gnarl_graph::Error>(())
//! ```

mod block;
pub mod combined;
mod degrees;
pub mod dice;
pub mod gaussian;
pub mod genetic;
pub mod grbcd;
mod linear;
pub mod loss;
pub mod method;
pub mod mettack;
pub mod nettack;
pub mod pgd_features;
pub mod pgd_structure;
pub mod prbcd;
pub mod prbcd_local;
pub mod random_add;
pub mod random_flips;
pub mod random_remove;
#[cfg(test)]
mod testing;

use gnarl_graph::choices;
use gnarl_graph::limits::Demand;

pub use loss::Loss;
pub use method::{AttackInput, Attacked, Flip, Method, Part, Property, Requirement};

use crate::perturb::Budget;
use gnarl_graph::Result;

choices! {
    /// An attack with its budget and settings.
    pub enum Attack: dyn Method as "attack" {
        Gaussian(gaussian::Gaussian),
        PgdFeatures(pgd_features::PgdFeatures),
        PgdStructure(pgd_structure::PgdStructure),
        Dice(dice::Dice),
        RandomFlips(random_flips::RandomFlips),
        RandomAdd(random_add::RandomAdd),
        RandomRemove(random_remove::RandomRemove),
        Nettack(nettack::Nettack),
        Mettack(mettack::Mettack),
        Prbcd(prbcd::Prbcd),
        Grbcd(grbcd::Grbcd),
        Genetic(genetic::Genetic),
        PrbcdLocal(prbcd_local::PrbcdLocal),
        Combined(combined::Combined),
    }
}

impl Attack {
    /// Returns the budget. Fails for an invalid number.
    pub fn budget(&self) -> gnarl_graph::Result<Budget> {
        self.method().budget()
    }

    /// Attacks a graph. A budget of zero changes nothing. The result is measured: a graph that
    /// exceeds the budget or is not valid is an internal error.
    pub fn run(&self, input: &AttackInput<'_>, seed: u64) -> Result<Attacked> {
        self.check()?;
        let budget = self.budget()?;
        if budget.is_zero() {
            return Attacked::new(input.graph, input.graph.clone());
        }
        let what = format!(
            "{self} on {} nodes and {} edges",
            input.graph.num_nodes(),
            input.graph.num_edges()
        );
        let demand = Demand::new(what).and_bytes(self.method().bytes(input.graph));
        demand.check("take a smaller --block-size")?;
        let (graph, order) = self.method().attack_in_order(input, seed)?;
        let attacked = Attacked::in_order(input.graph, graph, order)?;
        let allowed = budget.for_targets(input.targets.len());
        attacked
            .change
            .assert_within(&allowed, input.graph, &attacked.graph)?;
        Ok(attacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::WhiteBox;
    use crate::perturb::{FeatureChange, Norm, Scope};
    use gnarl_graph::settings::{SettingText, assert_listed};
    use gnarl_graph::{CsrMatrix, Features, Graph, Labels, Split};
    use gnarl_nn::networks::Backbone;
    use proptest::prelude::*;
    use testing::{graph, targets, trained, training, untrained};

    fn given(pairs: &[(&str, &str)]) -> Vec<SettingText> {
        pairs
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()))
            .collect()
    }

    /// Returns every attack with this budget and, if it searches, little work.
    fn quick(budget: f64) -> Vec<Attack> {
        let short = |attack: Attack| match attack {
            Attack::PgdFeatures(pgd) => pgd_features::PgdFeatures {
                steps: 3,
                restarts: 2,
                ..pgd
            }
            .into(),
            Attack::PgdStructure(pgd) => pgd_structure::PgdStructure {
                steps: 4,
                block_size: 20,
                final_samples: 3,
                ..pgd
            }
            .into(),
            Attack::Prbcd(prbcd) => prbcd::Prbcd {
                epochs: 4,
                finetune_epochs: 2,
                block_size: 20,
                final_samples: 3,
                ..prbcd
            }
            .into(),
            Attack::Grbcd(grbcd) => grbcd::Grbcd {
                steps: 4,
                block_size: 20,
                ..grbcd
            }
            .into(),
            Attack::Genetic(genetic) => genetic::Genetic {
                population_size: 4,
                generations: 2,
                ..genetic
            }
            .into(),
            Attack::Mettack(mettack) => mettack::Mettack {
                inner_steps: 4,
                flips_per_step: 3,
                ..mettack
            }
            .into(),
            Attack::Combined(combined) => combined::Combined {
                inner_steps: 4,
                flips_per_step: 3,
                ..combined
            }
            .into(),
            other => other,
        };
        // Budgets of targeted attacks are whole flips.
        let sized = |attack: Attack| match attack {
            Attack::Nettack(nettack) => nettack::Nettack {
                budget: (budget * 10.0) as usize,
                ..nettack
            }
            .into(),
            Attack::PrbcdLocal(local) => prbcd_local::PrbcdLocal {
                budget: (budget * 10.0) as usize,
                epochs: 4,
                block_size: 20,
                ..local
            }
            .into(),
            _ => attack
                .with(&given(&[("budget", &budget.to_string())]))
                .unwrap(),
        };
        Attack::all().map(|attack| short(sized(attack))).collect()
    }

    #[test]
    fn the_list_matches_stored_names() {
        assert_listed(Attack::LIST, Attack::all().map(|attack| attack.stored()));
        for attack in Attack::all() {
            attack.check().unwrap();
            let text = serde_json::to_string(&attack).unwrap();
            assert_eq!(
                serde_json::from_str::<Attack>(&text).unwrap(),
                attack,
                "{text}"
            );
            assert_eq!(
                attack.to_string().to_uppercase().parse::<Attack>().unwrap(),
                attack
            );
            let on_features = matches!(
                attack.budget().unwrap(),
                Budget::Noise(_) | Budget::Features(_) | Budget::Both(..)
            );
            assert_eq!(attack.has(Property::Features), on_features, "{attack}");
        }
        let e = "dise".parse::<Attack>().unwrap_err().to_string();
        assert!(
            e.contains("unknown attack 'dise'; did you mean dice"),
            "{e}"
        );
    }

    /// Published budgets: psi 0.5, 15 % of the features' norm, a tenth of the edges.
    #[test]
    fn the_usual_budgets_are_the_thesis() {
        let budgets: Vec<String> = Attack::all()
            .map(|attack| attack.budget().unwrap().to_string())
            .collect();
        let mut expected = vec!["psi = 0.5", "0.15 of each node's L2 norm"];
        expected.extend(["0.1 of the edges"; 5]);
        expected.push("5 flips for each target");
        expected.extend(["0.1 of the edges"; 4]);
        expected.extend(["5 flips for each target", "0.1 of the edges and psi = 0.5"]);
        assert_eq!(budgets, expected);
    }

    #[test]
    fn settings_that_do_not_belong_are_refused() {
        for (name, setting, expected) in [
            ("dice", ("norm", "l2"), "norm: belongs to pgd-features"),
            (
                "gaussian",
                ("steps", "3"),
                "steps: belongs to pgd-features, pgd-structure and grbcd",
            ),
            (
                "pgd-features",
                ("block-size", "3"),
                "block-size: belongs to pgd-structure, prbcd, grbcd and prbcd-local",
            ),
        ] {
            let e = name
                .parse::<Attack>()
                .unwrap()
                .with(&given(&[setting]))
                .unwrap_err()
                .to_string();
            assert_eq!(e, format!("{expected}, and the attack is {name}"));
        }
    }

    /// An untrained model, targets and training nodes of a small graph.
    struct Untrained {
        graph: Graph,
        model: WhiteBox,
        targets: Vec<(u32, u32)>,
        training: Vec<(u32, u32)>,
    }

    impl Untrained {
        fn new() -> Self {
            let graph = graph(1);
            Self {
                model: untrained(&graph, Backbone::GCN),
                targets: targets(&graph),
                training: training(&graph),
                graph,
            }
        }

        fn input(&self) -> AttackInput<'_> {
            AttackInput {
                graph: &self.graph,
                model: Some(&self.model),
                targets: &self.targets,
                labels: self.graph.labels(),
                training: &self.training,
                stop: None,
            }
        }
    }

    #[test]
    fn a_budget_of_nothing_changes_nothing() {
        let untrained = Untrained::new();
        for attack in quick(0.0) {
            // For edges and features together, the number is that of the edges.
            let nothing = match attack {
                Attack::Combined(combined) => combined::Combined {
                    psi: 0.0,
                    ..combined
                }
                .into(),
                other => other,
            };
            let attacked = nothing.run(&untrained.input(), 1).unwrap();
            assert_eq!(attacked.change.num_flips(), 0, "{attack}");
            assert_eq!(
                attacked.change.features,
                FeatureChange::default(),
                "{attack}"
            );
            assert_eq!(
                attacked.graph.features(),
                untrained.graph.features(),
                "{attack}"
            );
        }
    }

    #[test]
    fn a_budget_out_of_range_is_refused() {
        for attack in quick(0.0) {
            let e = attack
                .with(&given(&[("budget", "-1")]))
                .unwrap_err()
                .to_string();
            let is_whole = matches!(attack, Attack::Nettack(_) | Attack::PrbcdLocal(_));
            let range = match attack.budget().unwrap() {
                _ if is_whole => "a whole number (got '-1')",
                Budget::Noise(_) | Budget::Features(_) => ">= 0 (got -1)",
                _ => "in [0, 1] (got -1)",
            };
            assert_eq!(e, format!("budget must be {range}"), "{attack}");
            let e = attack
                .with(&given(&[("budget", "NaN")]))
                .unwrap_err()
                .to_string();
            let number = if is_whole {
                "a whole number"
            } else {
                "a number"
            };
            assert_eq!(
                e,
                format!("budget must be {number} (got 'NaN')"),
                "{attack}"
            );
        }
    }

    #[test]
    fn a_bad_budget_from_code_is_refused() {
        let untrained = Untrained::new();
        // Settings from code, which no parser has checked, are refused when the attack runs.
        for bad in [f64::NAN, f64::INFINITY, 1e40] {
            for attack in [
                gaussian::Gaussian::budget(bad).into(),
                Attack::from(dice::Dice::budget(bad)),
            ] {
                assert!(
                    attack
                        .run(&untrained.input(), 1)
                        .unwrap_err()
                        .to_string()
                        .starts_with("budget"),
                    "{attack}: {bad}"
                );
            }
        }
    }

    #[test]
    fn targeted_attacks_without_targets_are_refused() {
        let untrained = Untrained::new();
        let no_targets = AttackInput {
            targets: &[],
            ..untrained.input()
        };
        for attack in quick(0.1)
            .into_iter()
            .filter(|attack| attack.needs(Requirement::Gradients))
        {
            let e = attack.run(&no_targets, 1).unwrap_err().to_string();
            assert!(e.contains("needs labelled target nodes"), "{e}");
        }
    }

    #[test]
    fn a_cancelled_attack_returns_its_best_perturbation() {
        let graph = graph(1);
        let (model, targets, training) = (
            trained(&graph, Backbone::GCN),
            targets(&graph),
            training(&graph),
        );
        let stop = std::sync::atomic::AtomicBool::new(true);
        let input = AttackInput {
            graph: &graph,
            model: Some(&model),
            targets: &targets,
            labels: graph.labels(),
            training: &training,
            stop: Some(&stop),
        };
        // Searches that would take days.
        let long = [
            pgd_features::PgdFeatures {
                steps: 1 << 40,
                restarts: 1 << 40,
                ..Default::default()
            }
            .into(),
            pgd_structure::PgdStructure {
                steps: 1 << 40,
                block_size: 20,
                ..Default::default()
            }
            .into(),
            prbcd::Prbcd {
                epochs: 1 << 40,
                block_size: 20,
                ..Default::default()
            }
            .into(),
            grbcd::Grbcd {
                steps: 1 << 40,
                block_size: 20,
                ..Default::default()
            }
            .into(),
            Attack::from(genetic::Genetic {
                generations: 1 << 40,
                ..Default::default()
            }),
        ];
        for attack in long {
            let (budget, found) = (
                attack.budget().unwrap(),
                attack.method().attack(&input, 1).unwrap(),
            );
            let change = crate::perturb::Change::between(&graph, &found).unwrap();
            change.assert_within(&budget, &graph, &found).unwrap();
        }
    }

    #[test]
    fn a_search_that_no_machine_holds_is_refused_with_its_estimate() {
        let nodes = 60_000;
        let graph = Graph::from_edges(nodes, [(0, 1)]).unwrap().0;
        let block = (1 << 29) - 1;
        for attack in [
            prbcd::Prbcd {
                block_size: block,
                ..Default::default()
            }
            .into(),
            Attack::from(grbcd::Grbcd {
                block_size: block,
                ..Default::default()
            }),
        ] {
            assert_eq!(
                attack.method().bytes(&graph),
                80.0 * (block + 1) as f64,
                "{attack}"
            );
        }
        let small = Graph::from_edges(4, [(0, 1)]).unwrap().0;
        assert_eq!(
            Attack::from(prbcd::Prbcd {
                block_size: block,
                ..Default::default()
            })
            .method()
            .bytes(&small),
            480.0,
            "all pairs"
        );
    }

    #[test]
    fn the_seed_decides_and_threads_do_not() {
        let graph = graph(1);
        let (model, targets, training) = (
            trained(&graph, Backbone::GCN),
            targets(&graph),
            training(&graph),
        );
        let input = AttackInput {
            graph: &graph,
            model: Some(&model),
            targets: &targets,
            labels: graph.labels(),
            training: &training,
            stop: None,
        };
        for attack in quick(0.1) {
            let outcome = |threads, seed| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let attacked = pool.install(|| attack.run(&input, seed).unwrap());
                let bits: Vec<u32> = attacked
                    .graph
                    .features()
                    .unwrap()
                    .values()
                    .iter()
                    .map(|v| v.to_bits())
                    .collect();
                (attacked.change.added, attacked.change.removed, bits)
            };
            let one = outcome(1, 7);
            assert_eq!(one, outcome(2, 7), "{attack}");
            // The first starting point of the ascent on features is the same for every seed.
            assert!(
                matches!(attack, Attack::PgdFeatures(_)) || one != outcome(2, 8),
                "{attack}"
            );
        }
    }

    fn any_graph() -> impl Strategy<Value = Graph> {
        let nodes = 4usize..14;
        let edges = prop::collection::vec((0u32..14, 0u32..14), 0..50);
        let values = prop::collection::vec(prop_oneof![Just(0f32), -3f32..3.0], 14 * 5);
        (nodes, edges, values, any::<bool>()).prop_map(|(n, edges, values, sparse)| {
            let inside = edges
                .into_iter()
                .filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let dense = gnarl_graph::DenseMatrix::new(n, 5, values[..n * 5].to_vec()).unwrap();
            let features = if sparse {
                Features::Sparse(CsrMatrix::from_dense(&dense))
            } else {
                Features::Dense(dense)
            };
            let labels = Labels::new(
                (0..n as u32)
                    .map(|u| (u % 5 != 4).then_some(u % 3))
                    .collect(),
                3,
            )
            .unwrap();
            let split = Split::new("only", vec![0], vec![1], (2..n as u32).collect()).unwrap();
            let graph = Graph::from_edges(n, inside).unwrap().0;
            let graph = graph
                .with_features(features)
                .unwrap()
                .with_labels(labels)
                .unwrap();
            graph.with_splits(vec![split]).unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// [`Attack::run`] checks its result. This test checks that there is a result, and counts
        /// the changes once more.
        #[test]
        fn budgets_are_kept_and_graphs_stay_valid(
            graph in any_graph(), share in 0f64..1.0, linf in any::<bool>(), whole in any::<bool>(), seed in any::<u64>()
        ) {
            let model = untrained(&graph, Backbone::GCN);
            let (targets, training) = (targets(&graph), training(&graph));
            let input = AttackInput { graph: &graph, model: Some(&model), targets: &targets, labels: graph.labels(), training: &training, stop: None };
            for attack in quick(share) {
                let attack = match attack {
                    Attack::PgdFeatures(pgd) => {
                        let norm = if linf { Norm::Infinity } else { Norm::L2 };
                        let scope = if whole { Scope::Matrix } else { Scope::Node };
                        pgd_features::PgdFeatures { norm, scope, ..pgd }.into()
                    }
                    other => other,
                };
                let attacked = attack.run(&input, seed);
                let Attacked { graph: after, change, .. } =
                    attacked.map_err(|e| TestCaseError::fail(format!("{attack}: {e}")))?;
                let allowed = match attack {
                    Attack::Nettack(nettack) => nettack.budget * targets.len(),
                    Attack::PrbcdLocal(local) => local.budget * targets.len(),
                    _ => (share * graph.num_edges() as f64).floor() as usize,
                };
                prop_assert!(change.num_flips() <= allowed, "{}: {} of {}", attack, change.num_flips(), allowed);
                prop_assert_eq!(after.num_edges() + change.removed.len(), graph.num_edges() + change.added.len());
                prop_assert_eq!(after.labels(), graph.labels());
                prop_assert_eq!(after.splits(), graph.splits());
                if matches!(attack, Attack::PgdFeatures(_)) {
                    let norm = |f: &Features| f.values().iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
                    let largest = |f: &Features| f.values().iter().fold(0f64, |m, &v| m.max(f64::from(v).abs()));
                    let before = graph.features().unwrap();
                    // Consequences of both scopes for the whole matrix.
                    if linf {
                        prop_assert!(change.features.linf <= share * largest(before) * (1.0 + 1e-9));
                    } else {
                        prop_assert!(change.features.l2 <= share * norm(before) * (1.0 + 1e-9));
                    }
                }
            }
        }
    }
}
