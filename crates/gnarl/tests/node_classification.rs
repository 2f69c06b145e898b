//! Node classification end to end, on the embedded graph.

use crate::support;

use std::sync::atomic::AtomicBool;

use gnarl::model::{FitOptions, NetworkOptions, TrainingOptions};
use gnarl::prelude::*;
use gnarl::study::train::TrainStudy;
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::DenseMatrix;
use gnarl_graph::metrics::ClassScores;
use gnarl_graph::random::stream;
use gnarl_nn::networks::{Network, NetworkConfig};
use gnarl_nn::operator::Prepared;
use gnarl_nn::train::{Callbacks, ClassWeights, predict};
use rand::RngExt;
use support::{bytes, embedded, on_graph, on_threads, small, test_accuracy};

fn gcn() -> Model {
    Model::new(Backbone::GCN).features(FeatureScaling::AsLoaded)
}

#[test]
fn every_backbone_beats_the_majority_class() {
    let data = on_graph(embedded());
    let labels = data.content.labels().unwrap();
    let majority = 100.0 * *labels.counts().iter().max().unwrap() as f64 / labels.len() as f64;
    for (name, backbone) in Backbone::named() {
        let mut model = small(backbone, 32).epochs(100);
        // This graph is denser than those that elastic-gnn's default smoothing was tuned on.
        if let Backbone::ElasticGnn(_) = backbone {
            model.backbone = backbone.where_taken("lambda", 1.0);
        }
        let accuracy = test_accuracy(&model.fit(&data, 1).unwrap(), &data);
        // An MLP uses noisy features alone; every message-passing network must do far better than a
        // constant prediction. The kernel of gcn-k is computed from the same noisy features.
        let margin = match backbone {
            Backbone::Mlp(_) => 8.0,
            Backbone::GcnK(_) => 20.0,
            _ => 30.0,
        };
        assert!(
            accuracy > majority + margin,
            "{name}: {accuracy} against {majority}"
        );
    }
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let data = on_graph(embedded());
    for backbone in [Backbone::GCN, Backbone::GATV2, Backbone::GIN] {
        let model = Model::new(backbone)
            .features(FeatureScaling::AsLoaded)
            .epochs(20);
        let weights = |threads| on_threads(threads, || bytes(&model.fit(&data, 3).unwrap()));
        assert_eq!(weights(1), weights(2), "{backbone}");
    }
}

#[test]
fn parallel_runs_equal_sequential_runs() {
    let data = on_graph(embedded());
    let benchmark = Benchmark {
        name: "csbm".into(),
        content: data.content.clone(),
        splits: vec![data.split.clone()],
    };
    let model = gcn().epochs(30);
    let study = TrainStudy {
        runs: 3,
        seed: 5,
        ..TrainStudy::new(model)
    };
    let together = study.run(&benchmark, &Callbacks::quiet()).unwrap();
    assert_eq!((together.runs.len(), together.unfinished), (3, 0));
    let ready = model
        .ready("csbm", &data.content, FitOptions::default())
        .unwrap();
    for (i, run) in together.runs.iter().enumerate() {
        let alone = ready
            .fit(&data.split, 5 + i as u64, &Callbacks::quiet())
            .unwrap();
        assert_eq!(run.test_accuracy, Some(test_accuracy(&alone, &data)));
        assert_eq!(run.fit.trained[0].curve, alone.report().trained[0].curve);
        // Preparing the graph once or for every fit gives the same result.
        assert_eq!(
            bytes(&alone),
            bytes(
                &model
                    .fit(
                        &SplitData {
                            name: "csbm".into(),
                            ..data.clone()
                        },
                        5 + i as u64
                    )
                    .unwrap()
            )
        );
    }
    assert_ne!(
        together.runs[0].fit.trained[0].curve, together.runs[1].fit.trained[0].curve,
        "another seed, another run"
    );
}

#[test]
fn divergence_is_reported_with_advice() {
    let mut wild = gcn().epochs(20);
    wild.training.learning_rate = Some(1e38);
    let e = wild.fit(&on_graph(embedded()), 1).unwrap_err().to_string();
    assert!(
        e.contains("the loss became")
            && e.contains("at epoch")
            && e.contains("a smaller learning rate than"),
        "{e}"
    );
    assert!(
        e.contains(", as `") && e.contains("not finite, in shape ["),
        "names the operation: {e}"
    );
}

/// If neither is given, constrained weights are compared with the same weights and an unconstrained
/// head on validation nodes. The selected model equals, to the bit, the one trained with that
/// choice given.
#[test]
fn the_head_is_selected_on_validation_nodes() {
    let data = on_graph(embedded());
    for weights in ["orthonormal", "parseval"] {
        let mut open = gcn().epochs(30);
        open.weights = weights.parse().unwrap();
        let fitted = open.fit(&data, 1).unwrap();
        let tried: Vec<_> = fitted.report().trials_of("head").collect();
        let accuracies: Vec<f64> = tried
            .iter()
            .filter_map(|tried| tried.val_accuracy)
            .collect();
        assert_eq!(
            tried
                .iter()
                .map(|tried| tried.value.as_str())
                .collect::<Vec<_>>(),
            ["false", "true"]
        );
        let share = accuracies[0] / 100.0;
        let error = 100.0 * (share * (1.0 - share) / data.split.val().len() as f64).sqrt();
        let expected = accuracies[1] > accuracies[0] + error;
        assert_eq!(
            fitted.model().network.head,
            Some(expected),
            "{weights}: {accuracies:?}"
        );
        let mut said = open;
        said.network.head = Some(expected);
        let said = said.fit(&data, 1).unwrap();
        assert!(
            said.report().trials_of("head").next().is_none(),
            "nothing was left open"
        );
        assert_eq!(bytes(&said), bytes(&fitted), "{weights}");
        // Neither if a factor is given, nor with exits, which have a head each.
        let mut gain = open;
        gain.network.gain = Some(false);
        assert!(
            gain.fit(&data, 1)
                .unwrap()
                .report()
                .trials_of("head")
                .next()
                .is_none()
        );
        let mut exits = open.epochs(3);
        exits.depth = "admp-st".parse().unwrap();
        assert!(
            exits
                .fit(&data, 1)
                .unwrap()
                .report()
                .trials_of("head")
                .next()
                .is_none()
        );
    }
}

/// Four nodes and two edges, without labels.
fn unlabelled() -> Graph {
    Graph::from_edges(4, [(0, 1), (2, 3)]).unwrap().0
}

/// Four nodes with labels of two nodes, none of them a training node.
fn without_training_labels() -> Graph {
    let labels = Labels::new(vec![None, Some(0), Some(1), None], 2).unwrap();
    unlabelled().with_labels(labels).unwrap()
}

/// Returns the one line with which training on two blank nodes is refused.
fn training_error(graph: Graph, model: Model) -> String {
    let on = SplitData {
        name: "own".into(),
        content: Content::Graph(graph),
        split: Split::new("blank", vec![0, 3], vec![1], vec![2]).unwrap(),
    };
    let e = model.fit(&on, 1).unwrap_err().to_string();
    assert!(!e.contains('\n'), "{e}");
    e
}

#[test]
fn graphs_without_training_labels_are_refused() {
    assert_eq!(
        training_error(unlabelled(), gcn()),
        "fit: the graph has no labels to learn from; take a graph with labels"
    );
    assert_eq!(
        training_error(Graph::empty(0).unwrap(), gcn()),
        "fit: the graph has no nodes"
    );
    let e = training_error(without_training_labels(), gcn());
    assert!(
        e.contains("split blank has no labelled training nodes"),
        "{e}"
    );
}

#[test]
fn network_options_out_of_range_are_refused() {
    let network = NetworkOptions::default();
    for (bad, what) in [
        (
            NetworkOptions {
                hidden: Some(0),
                ..network
            },
            "hidden",
        ),
        (
            NetworkOptions {
                dropout: Some(1.0),
                ..network
            },
            "dropout",
        ),
        (
            NetworkOptions {
                layers: Some(0),
                ..network
            },
            "layer",
        ),
    ] {
        let model = Model {
            network: bad,
            ..gcn()
        };
        let e = training_error(without_training_labels(), model);
        assert!(e.contains(what), "{bad:?}: {e}");
    }
    let attention = Model::new(Backbone::GAT.where_taken("heads", 3));
    let e = training_error(without_training_labels(), attention);
    assert!(e.contains("heads"), "64 is not a multiple of 3: {e}");
}

#[test]
fn training_options_out_of_range_are_refused() {
    let training = TrainingOptions::default();
    for (bad, what) in [
        (
            TrainingOptions {
                epochs: Some(0),
                ..training
            },
            "epochs must be in [1, 1000000000] (got 0)",
        ),
        (
            TrainingOptions {
                learning_rate: Some(f64::NAN),
                ..training
            },
            "lr must be > 0 (got NaN)",
        ),
        (
            TrainingOptions {
                weight_decay: Some(-1.0),
                ..training
            },
            "weight-decay must be >= 0 (got -1)",
        ),
        (
            TrainingOptions {
                patience: Some(0),
                ..training
            },
            "patience must be in [1, 1000000] (got 0)",
        ),
    ] {
        let model = Model {
            training: bad,
            ..gcn()
        };
        let e = training_error(without_training_labels(), model);
        assert!(e.contains(what), "{bad:?}: {e}");
    }
}

#[test]
fn cancellation_and_early_stopping() {
    let data = on_graph(embedded());
    let stop = AtomicBool::new(true);
    let stopped = gcn()
        .epochs(50)
        .fit_watched(&data, 1, &Callbacks::stopped_by(&stop))
        .unwrap();
    assert_eq!(
        (
            stopped.report().trained[0].curve.len(),
            stopped.report().interrupted
        ),
        (1, true)
    );
    let mut impatient = gcn().epochs(500);
    (
        impatient.training.patience,
        impatient.training.learning_rate,
    ) = (Some(5), Some(0.1));
    let fitted = impatient.fit(&data, 1).unwrap();
    let curve = &fitted.report().trained[0].curve;
    assert!(
        curve.len() < 500 && !fitted.report().interrupted,
        "{}",
        curve.len()
    );
    // It ends five epochs after the lowest loss, not earlier and not later.
    let losses: Vec<f32> = curve
        .iter()
        .map(|epoch| epoch.validation.unwrap().loss)
        .collect();
    let lowest =
        (0..losses.len()).fold(0, |best, i| if losses[i] < losses[best] { i } else { best });
    assert_eq!(curve.len(), lowest + 1 + 5);
}

#[test]
fn permutation_equivariance() {
    let graph = embedded();
    let n = graph.num_nodes() as u32;
    let order: Vec<u32> = (0..n).map(|u| (u * 7 + 3) % n).collect();
    let permuted = graph.permute(&order).unwrap();
    for (name, backbone) in Backbone::named() {
        let config = NetworkConfig {
            hidden: 16,
            ..NetworkConfig::new(backbone.where_taken("heads", 1))
        };
        let scores = |graph: &Graph| {
            let prepared = Prepared::new(graph, backbone, OperatorChoice::Default).unwrap();
            let network = Network::new(
                &config,
                &prepared.shape(graph.labels().unwrap().num_classes()),
                4,
            )
            .unwrap();
            predict(&network, &prepared.propagation, &prepared.input)
                .unwrap()
                .to_vec2::<f32>()
                .unwrap()
        };
        let (here, there) = (scores(&graph), scores(&permuted));
        for u in 0..n as usize {
            for (a, b) in here[u].iter().zip(&there[order[u] as usize]) {
                // Row sums of gcn-k's kernel nearly cancel if features have both signs, and
                // rounding shows.
                let slack = if backbone.is(Backbone::GCN_K) {
                    1e-3
                } else {
                    1e-4
                };
                assert!(
                    (a - b).abs() < slack * (1.0 + a.abs()),
                    "{name} node {u}: {a} against {b}"
                );
            }
        }
    }
}

fn weighed(how: &str) -> Model {
    let mut model = gcn();
    model.training.class_weights = Some(how.parse::<ClassWeights>().unwrap());
    model
}

/// A ring for each remainder of 15, one of them the rare class, joined to one another, and features
/// that are more noise than class.
fn lopsided(seed: u64) -> SplitData {
    const NODES: u32 = 2700;
    let is_rare = |u: u32| u.is_multiple_of(15);
    let edges = (0..NODES).flat_map(|u| [(u, (u + 15) % NODES), (u, (7 * u + 1) % NODES)]);
    let rng = &mut stream(seed, "a rare class", 0);
    let mut row = |u: u32| {
        [(); 4].map(|()| f32::from(u8::from(is_rare(u))) * 0.4 + rng.random_range(-1f32..1.0))
    };
    let features =
        DenseMatrix::new(NODES as usize, 4, (0..NODES).flat_map(&mut row).collect()).unwrap();
    let labels = Labels::new((0..NODES).map(|u| Some(u32::from(is_rare(u)))).collect(), 2).unwrap();
    let graph = Graph::from_edges(NODES as usize, edges).unwrap().0;
    let graph = graph
        .with_features(Features::Dense(features))
        .unwrap()
        .with_labels(labels)
        .unwrap();
    let part = |of: u32| (0..NODES).filter(|u| u / 15 % 3 == of).collect::<Vec<_>>();
    let split = Split::new("by blocks", part(0), part(1), part(2)).unwrap();
    SplitData {
        name: "lopsided".into(),
        content: Content::Graph(graph),
        split,
    }
}

/// Balanced accuracy on the test nodes, and the recall of the rare class.
fn found(model: &Model, on: &SplitData) -> [f64; 2] {
    let predictions = model.fit(on, 1).unwrap().predict(&on.content).unwrap();
    let labels = on.content.labels().unwrap();
    let (truth, answers): (Vec<u32>, Vec<u32>) = on
        .split
        .test()
        .iter()
        .map(|&u| (labels.get(u).unwrap(), predictions.classes[u as usize]))
        .unzip();
    let scores = ClassScores::new(&truth, &answers, None, 2).unwrap();
    [scores.balanced_accuracy, scores.classes[1].recall]
}

#[test]
fn class_weights_raise_the_recall_of_a_rare_class() {
    for seed in [1, 2, 3] {
        let on = lopsided(seed);
        let [[plain, rarely], [balanced, often]] =
            [gcn(), weighed("balanced")].map(|model| found(&model, &on));
        println!(
            "seed {seed}: {rarely} of the rare class, balanced {often}; balanced accuracy {plain}, {balanced}"
        );
        assert!(
            often > rarely + 0.2,
            "seed {seed}: {rarely} of the rare class, balanced {often}"
        );
        assert!(
            balanced > plain + 0.05,
            "seed {seed}: balanced accuracy {plain}, balanced {balanced}"
        );
    }
}

/// Only the proportions of weights matter: ten times the weights of `balanced` give the same model
/// up to rounding.
#[test]
fn balanced_weights_come_from_training_nodes() {
    let on = lopsided(1);
    let labels = on.content.labels().unwrap();
    let count = |class| {
        on.split
            .train()
            .iter()
            .filter(|&&u| labels.get(u) == Some(class))
            .count() as f64
    };
    let written = weighed(&format!("{},{}", 10.0 / count(0), 10.0 / count(1)));
    let curve = |model: Model| {
        model.epochs(5).fit(&on, 1).unwrap().report().trained[0]
            .curve
            .clone()
    };
    for (a, b) in curve(weighed("balanced")).iter().zip(curve(written)) {
        assert!((a.loss - b.loss).abs() < 1e-4, "{a:?} against {b:?}");
    }
}

/// Class weights on sampled neighbourhoods, with exits and on sets; `tests/model.rs` tests the
/// effect of every option.
#[test]
fn class_weights_reach_every_way_of_training() {
    let on = lopsided(1);
    let mut sampled = gcn().epochs(20);
    sampled.training.batch_nodes = Some(200);
    for model in [
        sampled,
        gcn().epochs(20).depth(Exits::st(2)),
        gcn().epochs(20).depth(Exits::alm(2)),
    ] {
        let mut balanced = model;
        balanced.training.class_weights = Some(ClassWeights::Balanced);
        let [[_, rarely], [_, often]] = [model, balanced].map(|model| found(&model, &on));
        assert!(
            often > rarely + 0.2,
            "{:?}: {rarely}, balanced {often}",
            model.depth
        );
    }
}

/// The reported validation accuracy is unweighted; neighbourhoods are small enough to be sampled
/// completely.
#[test]
fn accuracy_of_a_sampled_model_is_unweighted() {
    let on = lopsided(1);
    let mut model = weighed("balanced").epochs(20);
    model.training.batch_nodes = Some(200);
    let fitted = model.fit(&on, 1).unwrap();
    let (answers, labels) = (
        fitted.predict(&on.content).unwrap().classes,
        on.content.labels().unwrap(),
    );
    let right = on
        .split
        .val()
        .iter()
        .filter(|&&u| labels.get(u) == Some(answers[u as usize]))
        .count();
    let accuracy = 100.0 * right as f64 / on.split.val().len() as f64;
    assert!(
        (fitted.report().val_accuracy.unwrap() - accuracy).abs() < 1e-9,
        "{accuracy}, {:?}",
        fitted.report().val_accuracy
    );
    let trained = &fitted.report().trained[0];
    let weighed = trained.curve[trained.kept_epoch - 1]
        .val_accuracy()
        .unwrap();
    assert!(
        (weighed - accuracy).abs() > 0.1,
        "the curve weighs: {weighed}, {accuracy}"
    );
}

#[test]
fn class_weights_without_effect_are_refused() {
    let fail = |model: Model, task| model.plan(task).unwrap_err().to_string();
    let balanced = weighed("balanced");
    let learners = Model {
        backbone: Backbone::ADAGCN,
        ..balanced
    };
    assert_eq!(
        fail(learners, Task::Node),
        "class-weights: a loss with class weights needs joint training, which adagcn lacks; models that have it: every model but adagcn"
    );
    for name in [
        "manifold-mixup",
        "submix",
        "geomix",
        "g-mixup",
        "retrain",
        "gratin",
    ] {
        let augment: Augment = name.parse().unwrap();
        let e = fail(balanced.augment(augment), Task::Graph);
        assert!(
            e.starts_with("class-weights: ") && e.contains(name) && !e.contains('\n'),
            "{e}"
        );
    }
    let e = weighed("1,2,3")
        .fit(&lopsided(1), 1)
        .unwrap_err()
        .to_string();
    assert_eq!(
        e,
        "class-weights: 3 weights for 2 classes; give one for each"
    );
    // Class weights of `none` equal no class weights.
    assert_eq!(
        weighed("none").plan(Task::Node).unwrap(),
        gcn().plan(Task::Node).unwrap()
    );
    let text = balanced.to_toml().unwrap();
    assert!(text.contains("class-weights = \"balanced\""), "{text}");
    assert_eq!(Model::from_toml(&text).unwrap(), balanced);
}
