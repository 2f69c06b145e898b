use gnarl_data::{Benchmark, Content};
use gnarl_graph::generate::{CsbmConfig, csbm};
use gnarl_graph::{Graph, Result};

use super::attacker::labels_with_predictions;
use super::*;
use crate::model::Model;
use gnarl_nn::depth::Exits;
use gnarl_nn::features::FeatureScaling;
use gnarl_nn::networks::Backbone;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::Attack;
use gnarl_robust::attack::dice::Dice;
use gnarl_robust::attack::gaussian::Gaussian;
use gnarl_robust::attack::genetic::Genetic;
use gnarl_robust::attack::grbcd::Grbcd;
use gnarl_robust::attack::mettack::Mettack;
use gnarl_robust::attack::pgd_features::PgdFeatures;
use gnarl_robust::attack::pgd_structure::PgdStructure;
use gnarl_robust::attack::prbcd::Prbcd;
use gnarl_robust::classifier::FromFn;
use gnarl_robust::defense::Jaccard;
use gnarl_robust::inference::CleanCrf;

fn benchmark() -> Benchmark {
    let config = CsbmConfig {
        num_nodes: 300,
        num_classes: 3,
        num_features: 16,
        ..CsbmConfig::default()
    };
    let graph = csbm(&config, 1).unwrap();
    let splits = graph.splits().to_vec();
    Benchmark {
        name: "csbm".into(),
        content: Content::Graph(graph),
        splits,
    }
}

fn study(attack: impl Into<Attack>, mode: Mode) -> AttackStudy {
    let attack = match attack.into() {
        Attack::PgdStructure(pgd) => PgdStructure {
            steps: 20,
            block_size: 3000,
            ..pgd
        }
        .into(),
        Attack::Prbcd(prbcd) => Prbcd {
            epochs: 15,
            finetune_epochs: 5,
            block_size: 3000,
            ..prbcd
        }
        .into(),
        Attack::Grbcd(grbcd) => Grbcd {
            steps: 20,
            block_size: 3000,
            ..grbcd
        }
        .into(),
        Attack::Mettack(mettack) => Mettack {
            inner_steps: 20,
            flips_per_step: 10,
            ..mettack
        }
        .into(),
        Attack::Genetic(genetic) => Genetic {
            population_size: 6,
            generations: 4,
            ..genetic
        }
        .into(),
        other => other,
    };
    let model = Model::new(Backbone::GCN)
        .features(FeatureScaling::AsLoaded)
        .hidden(8)
        .epochs(40);
    AttackStudy::new(model, attack).mode(mode).runs(2).seed(1)
}

fn runs(study: &AttackStudy) -> Result<Vec<AttackRun>> {
    Ok(study.run(&benchmark(), &Callbacks::quiet())?.runs)
}

fn mean(runs: &[AttackRun], f: fn(&AttackRun) -> f64) -> f64 {
    runs.iter().map(f).sum::<f64>() / runs.len() as f64
}

#[test]
fn accuracies_by_hand() {
    let nodes = [(0, 1), (1, 0), (2, 1), (3, 2)];
    let found = AttackAccuracy::new(&[1, 0, 1, 0], &[1, 1, 0, 2], &nodes);
    assert_eq!(
        (found.clean_accuracy, found.attacked_accuracy),
        (75.0, 50.0)
    );
    assert!(
        (found.success_rate - 200.0 / 3.0).abs() < 1e-9,
        "two of three fell, the one that rose does not count"
    );
    assert_eq!(AttackAccuracy::new(&[0], &[0], &[(0, 1)]).success_rate, 0.0);
}

#[test]
fn every_attack_runs_in_both_modes() {
    for attack in Attack::all() {
        for mode in [Mode::Evasion, Mode::Poisoning] {
            let study = study(attack, mode);
            let runs = runs(&study).unwrap();
            assert_eq!(runs.len(), 2);
            for run in &runs {
                assert!(run.clean_accuracy > 60.0, "{attack}: {run:?}");
                let changed = run.edges_added + run.edges_removed + run.features.nodes;
                assert!(changed > 0, "{attack}: {run:?}");
            }
            let none = |name: &str| (name.to_string(), "0".to_string());
            let is_amount = |name: &&str| ["budget", "psi"].contains(name);
            let amounts = attack
                .info()
                .settings
                .iter()
                .map(|setting| setting.name)
                .filter(is_amount);
            let nothing = attack.with(&amounts.map(none).collect::<Vec<_>>()).unwrap();
            for run in self::runs(&AttackStudy {
                attack: nothing,
                ..study
            })
            .unwrap()
            {
                assert_eq!(
                    (run.clean_accuracy, run.success_rate),
                    (run.attacked_accuracy, 0.0),
                    "{attack} {mode}"
                );
            }
        }
    }
}

#[test]
fn a_surrogate_attacks_what_has_no_gradients_and_less_well_than_the_model_itself() {
    let through = |surrogate| AttackStudy {
        surrogate,
        ..study(PgdFeatures::budget(0.1), Mode::Evasion)
    };
    let (own, other) = (
        runs(&through(None)).unwrap(),
        runs(&through(Some(Backbone::GCN))).unwrap(),
    );
    let after = |runs: &[AttackRun]| mean(runs, |r| r.attacked_accuracy);
    assert!(
        after(&own) < after(&other),
        "{} against {}",
        after(&own),
        after(&other)
    );
    assert!(
        after(&other) < mean(&other, |r| r.clean_accuracy) - 5.0,
        "it carries over"
    );
    let on_edges = study(PgdStructure::budget(0.1), Mode::Evasion);
    let gat = AttackStudy {
        model: Model {
            backbone: Backbone::GAT,
            ..on_edges.model
        },
        ..on_edges
    };
    assert!(runs(&gat).unwrap_err().to_string().contains("surrogate"));
    assert!(
        runs(&AttackStudy {
            surrogate: Some(Backbone::GCN),
            ..gat
        })
        .is_ok()
    );
    let e = runs(&AttackStudy {
        surrogate: Some(Backbone::GCN),
        ..study(Dice::budget(0.1), Mode::Evasion)
    })
    .unwrap_err();
    assert_eq!(
        e.to_string(),
        "surrogate, transfer: dice with true labels evaluates no model; leave it out"
    );
}

/// A classifier with scores and no network inside, such as an inference rule around a model.
#[test]
fn any_classifier_can_be_attacked() {
    let (on, study) = (benchmark(), study(PgdFeatures::budget(0.5), Mode::Evasion));
    let (graph, split) = (on.content.graph().unwrap(), &on.splits[0]);
    let fitted = study.model.fit(&on.split(0), 1).unwrap();
    let inner = fitted.network().unwrap();
    let closed = FromFn {
        num_classes: 3,
        function: |g: &Graph| inner.scores(g),
    };
    let against = |surrogate| {
        evade(
            graph,
            &closed,
            surrogate,
            &study.attack,
            LabelKnowledge::True,
            split,
            1,
        )
    };
    assert!(
        against(None)
            .unwrap_err()
            .to_string()
            .contains("this model has none")
    );
    let (attacked, found) = against(Some(inner)).unwrap();
    assert!(
        found.success_rate > 20.0 && attacked.change.features.nodes > 0,
        "{found:?}"
    );
}

#[test]
fn a_model_with_exits_is_attacked_as_a_whole_and_through_a_surrogate() {
    let exits = |attack: Attack| {
        let study = study(attack, Mode::Evasion);
        AttackStudy {
            model: study
                .model
                .depth(Exits::st(3).policy("confidence".parse().unwrap())),
            ..study
        }
    };
    let noisy = runs(&exits(Gaussian::budget(3.0).into())).unwrap();
    assert!(
        mean(&noisy, |r| r.attacked_accuracy) < mean(&noisy, |r| r.clean_accuracy) - 5.0,
        "{noisy:?}"
    );
    let e = runs(&exits(PgdFeatures::budget(0.5).into()))
        .unwrap_err()
        .to_string();
    assert!(e.contains("this model has none"), "{e}");
    let through = runs(&AttackStudy {
        surrogate: Some(Backbone::GCN),
        ..exits(PgdFeatures::budget(0.5).into())
    })
    .unwrap();
    assert!(mean(&through, |r| r.success_rate) > 5.0, "{through:?}");
}

#[test]
fn inference_and_defences_are_evaluated_on_the_same_inputs() {
    let plain = study(Dice::budget(0.2), Mode::Evasion);
    let guarded = AttackStudy {
        model: plain.model.inference(CleanCrf::default()),
        ..plain.clone()
    };
    let (bare, guarded) = (runs(&plain).unwrap(), runs(&guarded).unwrap());
    for (bare, guarded) in bare.iter().zip(&guarded) {
        assert_eq!(
            bare.attacked_accuracy, guarded.attacked_accuracy,
            "made against the model without it"
        );
        assert!(bare.defended.is_none() && guarded.defended.is_some());
    }
    let on_features = study(PgdFeatures::budget(0.1), Mode::Evasion);
    let jaccard = AttackStudy {
        model: on_features.model.defense(Jaccard::default()),
        ..on_features
    };
    let e = runs(&jaccard).unwrap_err().to_string();
    assert!(
        e.contains("this model has none"),
        "an attacker cannot look through dropped edges: {e}"
    );
}

#[test]
fn predicted_labels_are_true_ones_on_training_nodes_alone() {
    let on = benchmark();
    let graph = on.content.graph().unwrap();
    let (truth, split) = (graph.labels().unwrap(), &on.splits[0]);
    let labels = labels_with_predictions(truth, &[2; 300], split).unwrap();
    assert!(split.train().iter().all(|&u| labels.get(u) == truth.get(u)));
    assert!(
        split
            .test()
            .iter()
            .chain(split.val())
            .all(|&u| labels.get(u) == Some(2))
    );
    // DICE uses classes: other labels give other flips, but the same number within the budget.
    let truthful = study(Dice::budget(0.1), Mode::Evasion);
    let predicted = AttackStudy {
        labels: LabelKnowledge::Predicted,
        ..truthful.clone()
    };
    let (truthful, predicted) = (runs(&truthful).unwrap(), runs(&predicted).unwrap());
    let count = |run: &AttackRun| run.edges_added + run.edges_removed;
    assert!(
        truthful
            .iter()
            .zip(&predicted)
            .all(|(a, b)| count(a) == count(b))
    );
    assert!(
        truthful
            .iter()
            .zip(&predicted)
            .any(|(a, b)| a.edges_added != b.edges_added
                || a.attacked_accuracy != b.attacked_accuracy)
    );
    let poisoning = AttackStudy {
        labels: LabelKnowledge::Predicted,
        ..study(Dice::budget(0.1), Mode::Poisoning)
    };
    assert_eq!(
        poisoning.epochs(&benchmark()).unwrap(),
        3 * 40 * 2,
        "the model twice and a surrogate, in two runs"
    );
}
