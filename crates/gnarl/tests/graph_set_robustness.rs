//! Attacks, inference and robustness around the graphs of a set, end to end, on generated graphs.

use crate::support;

use gnarl::prelude::*;
use gnarl::study::attack::{AttackRun, AttackStudy, Mode};
use gnarl::study::robustness::{RobustnessCallbacks, RobustnessStudy};
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::random::stream;
use gnarl_graph::{CsrMatrix, DenseMatrix, generate};
use gnarl_nn::networks::Capability;
use gnarl_nn::train::Callbacks;
use gnarl_robust::attack::gaussian::Gaussian;
use gnarl_robust::attack::genetic::Genetic;
use gnarl_robust::attack::grbcd::Grbcd;
use gnarl_robust::attack::pgd_features::PgdFeatures;
use gnarl_robust::attack::pgd_structure::PgdStructure;
use gnarl_robust::attack::prbcd::Prbcd;
use gnarl_robust::attack::random_flips::RandomFlips;
use gnarl_robust::attack::{Attack, AttackInput, Property, Requirement};
use gnarl_robust::classifier::Classifier;
use gnarl_robust::inference::PerturbationTarget;
use gnarl_robust::perturb::{Ball, FlipLaw, Norm, Sampler};
use gnarl_robust::robustness::{Region, Settings};
use proptest::prelude::*;
use rand::RngExt;
use support::{bytes, on_threads};

const COLUMNS: usize = 6;

/// Cycles whose nodes are mostly of types 0 and 1, and stars mostly of types 2 and 3, one-hot.
fn graph(i: usize) -> Graph {
    let n = 5 + i / 2 % 8;
    let graph = if i.is_multiple_of(2) {
        generate::cycle(n).unwrap()
    } else {
        generate::star(n).unwrap()
    };
    let rng = &mut stream(i as u64, "kinds", 0);
    let own = if i.is_multiple_of(2) { 0 } else { 2 };
    let kind = |_| {
        if rng.random_bool(0.8) {
            own + rng.random_range(0..2)
        } else {
            rng.random_range(0..COLUMNS as u32)
        }
    };
    let kinds = CsrMatrix::new(
        COLUMNS,
        (0..=n as u64).collect(),
        (0..n).map(kind).collect(),
        vec![1f32; n],
    );
    graph
        .with_features(Features::Sparse(kinds.unwrap()))
        .unwrap()
}

fn set(count: usize) -> GraphSet {
    let labels = Labels::new((0..count as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
    GraphSet::new((0..count).map(graph).collect(), labels, None).unwrap()
}

fn bare(set: &GraphSet) -> GraphSet {
    let without = |g: &Graph| Graph::from_edges(g.num_nodes(), g.edges()).unwrap().0;
    GraphSet::new(
        set.graphs().iter().map(without).collect(),
        set.labels().clone(),
        None,
    )
    .unwrap()
}

/// Half of the graphs train, a quarter each validates and tests, in turn.
fn benchmark(set: GraphSet) -> Benchmark {
    let part = |k: &[u32]| {
        (0..set.len() as u32)
            .filter(|i| k.contains(&(i / 2 % 4)))
            .collect()
    };
    let split = Split::new("in turn", part(&[0, 1]), part(&[2]), part(&[3])).unwrap();
    Benchmark {
        name: "kinds".into(),
        content: Content::Graphs(set),
        splits: vec![split],
    }
}

fn model(backbone: Backbone) -> Model {
    Model::new(backbone).hidden(8).epochs(40)
}

fn study(model: Model, attack: impl Into<Attack>, mode: Mode) -> AttackStudy {
    AttackStudy::new(model, attack).mode(mode).runs(2).seed(1)
}

fn runs(study: &AttackStudy, on: &Benchmark) -> gnarl_graph::Result<Vec<AttackRun>> {
    Ok(study.run(on, &Callbacks::quiet())?.runs)
}

/// Every attack of a set with this budget and few steps.
fn quick(budget: f64) -> Vec<Attack> {
    let on_sets = Attack::all().filter(|attack| {
        !attack.needs(Requirement::Labels) && !attack.needs(Requirement::TrainingNodes)
    });
    let sized = |attack: Attack| {
        attack
            .with(&[("budget".into(), budget.to_string())])
            .unwrap()
    };
    let short = |attack: Attack| match attack {
        Attack::PgdFeatures(pgd) => PgdFeatures { steps: 8, ..pgd }.into(),
        Attack::PgdStructure(pgd) => PgdStructure {
            steps: 8,
            block_size: 40,
            final_samples: 4,
            ..pgd
        }
        .into(),
        Attack::Prbcd(prbcd) => Prbcd {
            epochs: 6,
            finetune_epochs: 2,
            block_size: 40,
            final_samples: 4,
            ..prbcd
        }
        .into(),
        Attack::Grbcd(grbcd) => Grbcd {
            steps: 6,
            block_size: 40,
            ..grbcd
        }
        .into(),
        Attack::Genetic(genetic) => Genetic {
            population_size: 4,
            generations: 2,
            ..genetic
        }
        .into(),
        other => other,
    };
    on_sets.map(|attack| short(sized(attack))).collect()
}

#[test]
fn every_attack_runs_in_both_modes() {
    let on = benchmark(set(48));
    for attack in quick(0.4) {
        for mode in [Mode::Evasion, Mode::Poisoning] {
            for backbone in [Backbone::GCN, Backbone::GIN] {
                let study = study(model(backbone), attack, mode);
                for run in runs(&study, &on).unwrap() {
                    assert!(run.clean_accuracy > 70.0, "{attack} {backbone}: {run:?}");
                    let flips = run.edges_added + run.edges_removed;
                    let moved = if attack.has(Property::Features) {
                        run.features.nodes
                    } else {
                        flips
                    };
                    assert!(moved > 0, "{attack} {mode} {backbone}: {run:?}");
                }
            }
            let nothing = attack.with(&[("budget".into(), "0".into())]).unwrap();
            for run in runs(&study(model(Backbone::GIN), nothing, mode), &on).unwrap() {
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
fn gradient_attacks_beat_noise_and_transfer() {
    let on = benchmark(set(96));
    let after = |study: &AttackStudy| {
        let runs = runs(study, &on).unwrap();
        runs.iter().map(|r| r.attacked_accuracy).sum::<f64>() / runs.len() as f64
    };
    let pgd = study(
        model(Backbone::GIN),
        PgdFeatures {
            steps: 30,
            ..PgdFeatures::budget(0.7)
        },
        Mode::Evasion,
    );
    let noise = study(model(Backbone::GIN), Gaussian::budget(0.7), Mode::Evasion);
    assert!(
        after(&pgd) < after(&noise) - 20.0,
        "{} against {}",
        after(&pgd),
        after(&noise)
    );
    let through = pgd.clone().surrogate(Backbone::GCN);
    assert!(
        after(&through) < after(&noise),
        "{} through a surrogate",
        after(&through)
    );
    let edges = PgdStructure {
        steps: 30,
        block_size: 100,
        ..PgdStructure::budget(0.3)
    };
    let (edges, chance) = (
        study(model(Backbone::GIN), edges, Mode::Evasion),
        study(
            model(Backbone::GIN),
            RandomFlips::budget(0.3),
            Mode::Evasion,
        ),
    );
    let bare = benchmark(bare(&set(96)));
    let on_bare = |study: &AttackStudy| {
        runs(study, &bare)
            .unwrap()
            .iter()
            .map(|r| r.attacked_accuracy)
            .sum::<f64>()
    };
    assert!(
        on_bare(&edges) < on_bare(&chance),
        "where degrees are the features, edges decide"
    );
}

#[test]
fn unsupported_attacks_on_sets_are_refused_in_one_line() {
    let fail = |attack: &str, on: &Benchmark| {
        let study = study(
            model(Backbone::GIN),
            attack.parse::<Attack>().unwrap(),
            Mode::Evasion,
        );
        let e = runs(&study, on).unwrap_err().to_string();
        assert!(!e.contains('\n'), "{e}");
        e
    };
    let (own, bare) = (benchmark(set(16)), benchmark(bare(&set(16))));
    let e = fail("dice", &own);
    assert!(
        e.contains("needs the classes of nodes") && e.contains("pgd-structure, random-flips"),
        "{e}"
    );
    for attack in ["gaussian", "pgd-features"] {
        let e = fail(attack, &bare);
        assert!(
            e.contains("none of their own") && e.contains("random-flips") && !e.contains("dice"),
            "{e}"
        );
    }
    let around = |inference: Inference| {
        model(Backbone::GIN)
            .inference(inference)
            .fit(&bare.split(0), 1)
    };
    let on_features = RobustCrf {
        target: Some(PerturbationTarget::Features),
        ..RobustCrf::default()
    };
    assert!(
        around(on_features.into())
            .unwrap_err()
            .to_string()
            .starts_with("inference-target: ")
    );
    // By default, it perturbs edges.
    let open = around(RobustCrf::default().into()).unwrap();
    assert_eq!(
        open.fitted_inference().inference().method().part(),
        Some(PerturbationTarget::Structure)
    );
}

/// The prediction for a single graph equals its prediction in a batch.
#[test]
fn single_graphs_have_the_scores_of_the_batch() {
    for set in [set(16), bare(&set(16))] {
        let on = benchmark(set);
        for (name, backbone) in Backbone::named().filter(|(_, b)| b.provides(Capability::GraphSets))
        {
            for operator in [
                OperatorChoice::Default,
                Cgso {
                    init: "A".parse().unwrap(),
                    ..Cgso::by(Centrality::DEGREE)
                }
                .into(),
            ] {
                let mut tiny = Model::new(backbone).epochs(3).operator(operator);
                tiny.backbone = backbone.where_taken("batch-norm", true);
                if tiny.plan(Task::Graph).is_err() {
                    continue;
                }
                let fitted = tiny.fit(&on.split(0), 1).unwrap();
                let batch = fitted.predict(&on.content).unwrap().probabilities;
                let Content::Graphs(set) = &on.content else {
                    panic!("a set")
                };
                for (i, graph) in set.graphs().iter().enumerate() {
                    let alone = fitted.scores(graph).unwrap();
                    let apart = alone
                        .data()
                        .iter()
                        .zip(batch.row(i))
                        .map(|(a, b)| (a.exp() - b).abs());
                    assert!(
                        apart.fold(0.0, f32::max) < 1e-4,
                        "{name} {operator:?}, graph {i}"
                    );
                }
            }
        }
    }
}

/// Predictions of a GIN with this inference rule, trained on the first split.
fn predictions(on: &Benchmark, inference: Inference) -> Predictions {
    model(Backbone::GIN)
        .inference(inference)
        .fit(&on.split(0), 1)
        .unwrap()
        .predict(&on.content)
        .unwrap()
}

/// Every inference rule, with every kind of perturbation.
#[test]
fn every_inference_rule_predicts_graphs_and_is_saved() {
    let on = benchmark(set(40));
    let plain = predictions(&on, Inference::default());
    let dir = tempfile::tempdir().unwrap();
    let on_sets =
        |inference: &Inference| !inference.is_plain() && inference.method().works_on_sets();
    for inference in Inference::all().filter(on_sets) {
        for &part in PerturbationTarget::ALL {
            let fitted = model(Backbone::GIN)
                .inference(inference.on(part))
                .fit(&on.split(0), 1)
                .unwrap();
            let found = fitted.predict(&on.content).unwrap();
            assert!(
                found
                    .probabilities
                    .data()
                    .chunks(2)
                    .all(|p| (p[0] + p[1] - 1.0).abs() < 1e-4)
            );
            assert_eq!(
                fitted.predict_plain(&on.content).unwrap().classes,
                plain.classes
            );
            let file = dir.path().join("model");
            fitted.save(&file).unwrap();
            let loaded = Fitted::load(&file).unwrap();
            assert_eq!(
                loaded.predict(&on.content).unwrap().probabilities.data(),
                found.probabilities.data()
            );
            assert_eq!(bytes(&loaded), bytes(&fitted), "{inference} {part}");
            let bits = |threads| {
                on_threads(threads, || {
                    fitted
                        .predict(&on.content)
                        .unwrap()
                        .probabilities
                        .data()
                        .to_vec()
                })
            };
            assert_eq!(bits(1), bits(2), "{inference} {part}");
        }
    }
}

#[test]
fn inference_without_perturbations_is_the_plain_prediction() {
    let benchmark = benchmark(set(40));
    let plain = predictions(&benchmark, Inference::default());
    let assert_plain = |inference: Inference| {
        let found = predictions(&benchmark, inference);
        let apart = found
            .probabilities
            .data()
            .iter()
            .zip(plain.probabilities.data())
            .map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-5, "{inference:?}");
    };
    for &on in PerturbationTarget::ALL {
        let crf = RobustCrf {
            target: Some(on),
            ..RobustCrf::default()
        };
        for crf in [
            RobustCrf {
                radius: Some(0.0),
                ..crf
            },
            RobustCrf { samples: 0, ..crf },
            RobustCrf {
                sigma: Some(1.0),
                ..crf
            },
        ] {
            assert_plain(crf.into());
        }
        let smoothing = Smoothing {
            target: Some(on),
            radius: Some(0.0),
            hard_voting: false,
            ..Smoothing::default()
        };
        assert_plain(smoothing.into());
        let crf = CleanCrf {
            target: Some(on),
            samples: 0,
            ..CleanCrf::default()
        };
        assert_plain(crf.into());
    }
    // One-hot features without noise are their own neighbours.
    assert_plain(CleanCrf::default().into());
}

#[test]
fn node_level_inference_is_refused_on_sets() {
    let on = benchmark(set(40));
    let e = model(Backbone::GIN)
        .inference(GoodAt::default())
        .fit(&on.split(0), 1)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("good-at needs one graph, and this is a set of graphs") && !e.contains('\n'),
        "{e}"
    );
}

#[test]
fn tuning_uses_validation_graphs() {
    let on = benchmark(set(40));
    let tuned = model(Backbone::GIN).inference(RobustCrf {
        tune: true,
        ..RobustCrf::default()
    });
    let Inference::RobustCrf(found) = tuned
        .fit(&on.split(0), 1)
        .unwrap()
        .fitted_inference()
        .inference()
    else {
        panic!("crf")
    };
    assert!(found.sigma.is_some() && found.radius.is_some(), "{found:?}");
    let split = &on.splits[0];
    let without = Split::new(
        "no validation",
        split.train().to_vec(),
        vec![],
        split.test().to_vec(),
    )
    .unwrap();
    let e = tuned
        .fit(
            &SplitData {
                split: without,
                ..on.split(0)
            },
            1,
        )
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("labelled validation graphs, and there are none"),
        "{e}"
    );
}

#[test]
fn clean_crf_raises_accuracy_on_noisy_graphs_only() {
    let on = benchmark(set(240));
    let guarded = study(
        model(Backbone::GIN).inference(CleanCrf::default()),
        Gaussian::budget(1.0),
        Mode::Evasion,
    );
    let found = runs(&guarded, &on).unwrap();
    for run in &found {
        let defended = run.defended.unwrap();
        assert_eq!(defended.clean_accuracy, run.clean_accuracy);
        assert!(defended.tested_limit.is_some());
    }
    let mean =
        |f: &dyn Fn(&AttackRun) -> f64| found.iter().map(f).sum::<f64>() / found.len() as f64;
    let (bare, mended) = (
        mean(&|r| r.attacked_accuracy),
        mean(&|r| r.defended.unwrap().attacked_accuracy),
    );
    assert!(mended >= bare, "{bare} to {mended}");
}

fn region(flips: bool) -> Region {
    if flips {
        Region::Structure {
            flips: 40,
            law: FlipLaw::Uniform,
        }
    } else {
        Region::Features(Ball::new(Norm::L2, 0.5, Sampler::Exact).unwrap())
    }
}

fn robustness(
    model: Model,
    flips: bool,
    on: &Benchmark,
) -> gnarl_graph::Result<gnarl::study::robustness::RobustnessResult> {
    let settings = Settings {
        region: region(flips),
        samples: 6,
        sigmas: vec![0.1],
        seed: 1,
    };
    let study = RobustnessStudy::new(model, [settings]).runs(2).seed(1);
    study.run(on, &RobustnessCallbacks::quiet())
}

/// Robustness of the classes of test graphs, with bounds that no sample violates; more flips than a
/// graph has pairs mean all pairs.
#[test]
fn robustness_is_measured_around_test_graphs() {
    let on = benchmark(set(32));
    for flips in [false, true] {
        for backbone in [Backbone::GCN, Backbone::GIN] {
            let found = robustness(model(backbone), flips, &on).unwrap();
            let radius = &found.curve[0];
            assert_eq!(radius.pooled.samples, 2 * 6 * on.splits[0].test().len());
            assert!(
                radius.pooled.mean > 0.0 && found.no_bounds.is_none() && radius.bounds.len() >= 3
            );
            assert!(
                radius
                    .bounds
                    .iter()
                    .all(|b| b.largest_sampled <= b.sound * (1.0 + 1e-6) && b.sound > 0.0),
                "{:?}",
                radius.bounds
            );
        }
    }
    let crf = robustness(
        model(Backbone::GIN).inference(RobustCrf::default()),
        false,
        &on,
    )
    .unwrap();
    assert!(
        crf.no_bounds.unwrap().contains("plain forward pass") && crf.curve[0].pooled.mean > 0.0
    );
    let bare = benchmark(bare(&set(32)));
    let e = robustness(model(Backbone::GIN), false, &bare)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("no features to perturb, only edges to flip"),
        "{e}"
    );
    let flipped = robustness(model(Backbone::GIN), true, &bare).unwrap();
    assert!(
        flipped.curve[0].pooled.mean > 0.0
            && flipped
                .no_bounds
                .unwrap()
                .contains("degrees are the features")
    );
}

/// No nodes, one node, no edges, one class, one graph to test.
#[test]
fn attacks_on_unusual_sets() {
    let odd = |n: usize, edges: &[(u32, u32)]| {
        let features = Features::Dense(DenseMatrix::new(n, 2, vec![1.0; 2 * n]).unwrap());
        Graph::from_edges(n, edges.iter().copied())
            .unwrap()
            .0
            .with_features(features)
            .unwrap()
    };
    let graphs = vec![
        odd(0, &[]),
        odd(1, &[]),
        odd(3, &[]),
        odd(2, &[(0, 1)]),
        odd(0, &[]),
        odd(4, &[(0, 1), (1, 2)]),
    ];
    for num_classes in [1u32, 2] {
        let labels = Labels::new(
            (0..6).map(|i| Some(i % num_classes)).collect(),
            num_classes as usize,
        )
        .unwrap();
        let set = GraphSet::new(graphs.clone(), labels, None).unwrap();
        let split = Split::new("odd", vec![0, 1, 2], vec![3], vec![4, 5]).unwrap();
        for content in [set.clone(), bare(&set)].map(Content::Graphs) {
            let own =
                matches!(&content, Content::Graphs(set) if set.graphs()[0].features().is_some());
            let on = Benchmark {
                name: "odd".into(),
                content,
                splits: vec![split.clone()],
            };
            for attack in quick(1.0)
                .into_iter()
                .filter(|attack| own || !attack.has(Property::Features))
            {
                for mode in [Mode::Evasion, Mode::Poisoning] {
                    let found = runs(&study(model(Backbone::GIN), attack, mode), &on);
                    assert!(
                        found.is_ok(),
                        "{attack} {mode} of {num_classes} classes: {:?}",
                        found.err()
                    );
                }
            }
            for inference in Inference::all().filter(|inference| inference.method().works_on_sets())
            {
                for &part in PerturbationTarget::ALL
                    .iter()
                    .filter(|&&part| own || part == PerturbationTarget::Structure)
                {
                    let fitted = model(Backbone::GCN)
                        .inference(inference.on(part))
                        .fit(&on.split(0), 1);
                    let found = fitted.and_then(|fitted| fitted.predict(&on.content));
                    assert!(found.is_ok(), "{inference} {part}: {:?}", found.err());
                }
            }
            assert!(robustness(model(Backbone::GIN), true, &on).is_ok());
        }
    }
}

fn any_set() -> impl Strategy<Value = Vec<Graph>> {
    let edges = prop::collection::vec((0u32..10, 0u32..10), 0..24);
    let one = (0usize..10, edges, prop::collection::vec(-2f32..2.0, 30)).prop_map(
        |(n, edges, values)| {
            let inside = edges
                .into_iter()
                .filter(|&(u, v)| (u as usize) < n && (v as usize) < n);
            let features =
                Features::Dense(DenseMatrix::new(n, 3, values[..3 * n].to_vec()).unwrap());
            Graph::from_edges(n, inside)
                .unwrap()
                .0
                .with_features(features)
                .unwrap()
        },
    );
    prop::collection::vec(one, 4..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Budgets of each graph: flips are a share of its own edges, rounded down, and every node's
    /// own norm bounds its change.
    #[test]
    fn every_graph_keeps_its_budget(graphs in any_set(), share in 0f64..1.0, seed in any::<u64>()) {
        let labels = Labels::new((0..graphs.len() as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
        let set = GraphSet::new(graphs, labels, None).unwrap();
        let split = Split::new("all", vec![0, 1], vec![2], vec![3]).unwrap();
        let on = SplitData { name: "any".into(), content: Content::Graphs(set.clone()), split };
        let fitted = Model::new(Backbone::GIN).features(FeatureScaling::AsLoaded).hidden(4).epochs(2).fit(&on, 1).unwrap();
        let victim = fitted.attack_target();
        for attack in quick(share) {
            for graph in set.graphs() {
                let input = AttackInput { graph, model: Some(&victim), targets: &[(0, 1)], labels: None, training: &[], stop: None };
                let attacked = attack.run(&input, seed).map_err(|e| TestCaseError::fail(format!("{attack}: {e}")))?;
                let allowed = (share * graph.num_edges() as f64 * (1.0 + 1e-12)).floor() as usize;
                prop_assert!(attacked.change.num_flips() <= allowed, "{}", attack);
                if let Attack::PgdFeatures(_) = attack {
                    let norm = |x: &[f32]| x.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
                    let (before, after) = (graph.features().unwrap().to_dense(), attacked.graph.features().unwrap().to_dense());
                    for u in 0..graph.num_nodes() {
                        let apart: Vec<f32> = before.row(u).iter().zip(after.row(u)).map(|(a, b)| a - b).collect();
                        prop_assert!(norm(&apart) <= share * norm(before.row(u)) * (1.0 + 1e-5) + 1e-7);
                    }
                }
            }
        }
    }
}
