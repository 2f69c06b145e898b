//! Exits on sets of graphs: their computations, their training, and unusual sets.

use crate::support;

use gnarl::augment::{Components, Copies};
use gnarl::model::FitOptions;
use gnarl::model::batches::{Evaluation, TrainingSet, head_scores, scores, train_classifier};
use gnarl::model::graph_data::{GraphData, GraphPreparation, NodeFeatures};
use gnarl::prelude::*;
use gnarl::study::train::{Run, TrainResult, TrainStudy};
use gnarl_data::Task;
use gnarl_nn::depth::{ExitClassifier, Kind, Scheme};
use gnarl_nn::networks::{Capability, GraphClassifier, GraphModel, NetworkConfig, Params, Readout};
use gnarl_nn::operator::Initialisation;
use gnarl_nn::train::{Callbacks, Keep, TrainConfig};
use support::{
    bytes, cycles_and_stars, folds_of, odd_graphs, odd_sets, on_threads, set_of, small,
    with_short_head,
};

fn data_of(graphs: &[Graph], backbone: Backbone, operator: OperatorChoice) -> GraphData {
    let features = gnarl_nn::features::Scaler::AsLoaded;
    let preparation = GraphPreparation {
        operator,
        features,
        node_features: NodeFeatures::of(graphs),
    };
    GraphData::new(graphs, backbone, &preparation).unwrap()
}

fn config(backbone: Backbone, layers: usize) -> NetworkConfig {
    let network = NetworkConfig {
        hidden: 6,
        layers,
        dropout: 0.0,
        ..NetworkConfig::new(backbone.where_taken("heads", 1))
    };
    NetworkConfig {
        readout: Readout::Sum,
        head_dropout: 0.5,
        ..network
    }
}

fn values(params: &Params) -> Vec<Vec<f32>> {
    params
        .list()
        .iter()
        .map(|p| p.var.flatten_all().unwrap().to_vec1().unwrap())
        .collect()
}

/// Copies the weights of exit `l` to a plain classifier of `l` layers.
fn plant(exits: &ExitClassifier, l: usize, plain: &GraphClassifier) {
    for p in plain.params().list() {
        let name = match p.name.strip_prefix("operator.") {
            Some(scalar) => format!("operator.{l}.{scalar}"),
            None => p.name.replace("head.", &format!("heads.{l}.")),
        };
        let from = exits.params().list().iter().find(|q| q.name == name);
        p.var
            .set(
                from.unwrap_or_else(|| panic!("{name} is not among the exits'"))
                    .var
                    .as_tensor(),
            )
            .unwrap();
    }
}

fn assert_close(found: &gnarl_tensor::Tensor, expected: &gnarl_tensor::Tensor, what: &str) {
    let rows = |t: &gnarl_tensor::Tensor| t.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let (found, expected) = (rows(found), rows(expected));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(&expected) {
        assert!(
            (a - b).abs() <= 1e-6 * (1.0 + b.abs()),
            "{what}: {a}, not {b}"
        );
    }
}

#[test]
fn exit_l_is_a_plain_classifier_of_l_layers() {
    let learned = OperatorChoice::Cgso(Cgso {
        centrality: "degree+core".parse().unwrap(),
        init: Initialisation::Of(ClassicalOperator::SIGNLESS_LAPLACIAN),
    });
    let graphs = odd_graphs();
    let all: Vec<u32> = (0..graphs.len() as u32).collect();
    for (name, backbone) in Backbone::named().filter(|(_, b)| b.provides(Capability::Exits)) {
        for (operator, batch_norm) in [
            (OperatorChoice::Default, false),
            (OperatorChoice::Default, true),
            (learned, false),
        ] {
            if backbone.is(Backbone::MLP) && operator == learned {
                continue;
            }
            let data = data_of(&graphs, backbone, operator);
            let config = |layers| {
                let mut config = config(backbone, layers);
                config.backbone = config.backbone.where_taken("batch-norm", batch_norm);
                config
            };
            let exits = ExitClassifier::new(&config(3), &data.shape(3), 7).unwrap();
            // Batches of two, with a batch without nodes among them.
            let found = head_scores(&exits, &data.batches(&all, 2).unwrap()).unwrap();
            assert_eq!(
                (found.len(), exits.num_outputs(), exits.max_depth()),
                (4, 4, 3)
            );
            for (l, found) in found.iter().enumerate().skip(1) {
                let plain = GraphClassifier::new(&config(l), &data.shape(3), 1).unwrap();
                plant(&exits, l, &plain);
                let expected = scores(&plain, &data.batches(&all, 7).unwrap()).unwrap();
                assert_close(found, &expected, &format!("{name} on {operator}, exit {l}"));
                let one = head_scores(&exits.exit(l), &data.batches(&all, 7).unwrap()).unwrap();
                assert_close(
                    &one[0],
                    &expected,
                    &format!("{name} on {operator}, exit {l} by itself"),
                );
            }
            // Exit 0 by hand: the sum of one-hot degrees counts nodes by their degree.
            let value = |name: &str| {
                let p = exits
                    .params()
                    .list()
                    .iter()
                    .find(|p| p.name == name)
                    .unwrap();
                p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            };
            let (weight, bias) = (value("heads.0.weight"), value("heads.0.bias"));
            let rows = found[0].to_vec2::<f32>().unwrap();
            for (graph, row) in graphs.iter().zip(rows) {
                for (class, found) in row.iter().enumerate() {
                    let of = |u: u32| weight[graph.degree(u) * 3 + class];
                    let expected = bias[class] + (0..graph.num_nodes() as u32).map(of).sum::<f32>();
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{name}, exit 0: {found}, not {expected}"
                    );
                }
            }
        }
    }
}

fn training() -> TrainConfig {
    TrainConfig {
        epochs: 6,
        keep: Keep::Last,
        ..TrainConfig::default()
    }
}

/// With equal initial weights and random samples, the stage of exit 1 ends in the state of a plain
/// one-layer classifier, bit by bit. Nothing else changes.
#[test]
fn a_stage_trains_like_a_plain_classifier() {
    let set = cycles_and_stars(150);
    for (backbone, batch_norm) in [
        (Backbone::GCN, false),
        (Backbone::GIN, false),
        (Backbone::GIN, true),
    ] {
        let data = &data_of(set.graphs(), backbone, OperatorChoice::Default);
        let mut config = config(backbone, 1);
        config.backbone = config.backbone.where_taken("batch-norm", batch_norm);
        let deep = NetworkConfig {
            layers: 3,
            ..config.clone()
        };
        let exits = ExitClassifier::new(&deep, &data.shape(2), 7).unwrap();
        let plain = GraphClassifier::new(&config, &data.shape(2), 1).unwrap();
        plant(&exits, 1, &plain);
        let before = values(exits.params());
        let graphs: Vec<u32> = (0..150).collect();
        let classes: Vec<u32> = graphs.iter().map(|g| g % 2).collect();
        let on = TrainingSet {
            data,
            graphs: &graphs[..140],
            classes: &classes[..140],
            mixed: &[],
            epoch_graphs: None,
            mixup: None,
        };
        let val = Evaluation::new(data, &graphs[140..], &classes[140..]).unwrap();
        let train = |model: &dyn GraphModel| {
            train_classifier(model, &on, &val, &training(), 70, 5, &Callbacks::quiet())
                .unwrap()
                .curve
        };
        assert_eq!(train(&exits.stage(1)), train(&plain));
        let after = values(exits.params());
        plant(
            &exits,
            1,
            &GraphClassifier::new(&config, &data.shape(2), 1).unwrap(),
        );
        let own = exits.stage(1).trained();
        let shared: Vec<Vec<f32>> = values(plain.params());
        assert_eq!(after[own.clone()], shared[..], "{backbone}");
        for (i, p) in exits.params().list().iter().enumerate() {
            assert_eq!(before[i] != after[i], own.contains(&i), "{}", p.name);
        }
    }
}

fn model(backbone: Backbone, epochs: usize) -> Model {
    let mut model = small(backbone, 8).epochs(epochs);
    model.training.batch_size = Some(8);
    model
}

fn study(set: &GraphSet, model: Model, folds: usize) -> TrainResult {
    let policies = Kind::all_of(Task::Graph);
    let study = TrainStudy {
        seed: 5,
        policies,
        options: FitOptions::default(),
        ..TrainStudy::new(model)
    };
    study
        .run(&folds_of(set, folds, 5), &Callbacks::quiet())
        .unwrap()
}

fn both(last: usize) -> [Exits; 2] {
    [Exits::st(last), Exits::alm(last)]
}

#[test]
fn exits_separate_cycles_from_stars() {
    let set = cycles_and_stars(60);
    for exits in both(2) {
        let result = study(&set, model(Backbone::GIN, 60).depth(exits), 5);
        assert_eq!(
            result.test_accuracy().unwrap().unwrap().mean,
            100.0,
            "{:?}",
            exits.scheme
        );
        let report = result
            .depth(&Kind::all_of(Task::Graph), exits.policy)
            .unwrap()
            .unwrap();
        assert_eq!(
            (report.exit_accuracy.len(), report.policy_accuracy.len()),
            (3, 11)
        );
        assert_eq!(
            report.taken.iter().sum::<f64>(),
            60.0,
            "every graph takes an exit"
        );
        assert_eq!(
            result.runs[0].fit.trained.len(),
            exits.scheme.num_trainings(2)
        );
        assert!(
            result
                .runs
                .iter()
                .all(|run| run.fit.val_accuracy == Some(100.0))
        );
    }
}

/// The first exits of a deep classifier are those of a shallow one, batch statistics and resampled
/// graphs included.
#[test]
fn later_stages_keep_earlier_exits() {
    let on = folds_of(&cycles_and_stars(40), 4, 5).first();
    let copies = DropNode {
        p: 0.3,
        copies: Copies::EachEpoch,
    };
    for (batch_norm, augment) in [
        (false, Augment::default()),
        (true, Augment::default()),
        (false, copies.into()),
        (false, ManifoldMixup::default().into()),
    ] {
        let mut gin = model(Backbone::GIN, 4).augment(augment);
        gin.backbone = gin.backbone.where_taken("batch-norm", batch_norm);
        let of = |exits: Exits| tensors(&gin.depth(exits).fit(&on, 3).unwrap());
        let (shallow, deep) = (of(Exits::st(1)), of(Exits::st(3)));
        assert!(shallow.len() > 4);
        for (name, tensor) in &shallow {
            let again = &deep.iter().find(|(known, _)| known == name).unwrap().1;
            assert_eq!(tensor, again, "{name}, {augment}");
        }
        let (shallow, deep) = (of(Exits::alm(1)), of(Exits::alm(3)));
        assert!(
            shallow.iter().any(|one| !deep.contains(one)),
            "all at once, deeper exits pull at earlier layers"
        );
    }
}

fn tensors(fitted: &Fitted) -> Vec<(String, Vec<u8>)> {
    let bytes = bytes(fitted);
    let found = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut all: Vec<_> = found
        .tensors()
        .into_iter()
        .map(|(name, t)| (name, t.data().to_vec()))
        .collect();
    all.retain(|(name, _)| !name.starts_with("split."));
    all
}

type Seen = (
    Option<f64>,
    Option<f64>,
    Vec<Vec<f64>>,
    Vec<usize>,
    Vec<u32>,
);

/// Comparable part of runs: everything except times.
fn seen(run: &Run) -> Seen {
    let exits = run.exits.clone().unwrap();
    let lists = vec![
        exits.exit_accuracy,
        exits.exit_val_accuracy,
        exits.policy_accuracy,
        exits.policy_val_accuracy,
    ];
    let bits = run
        .test_probabilities
        .data()
        .iter()
        .map(|p| p.to_bits())
        .collect();
    (
        run.test_accuracy,
        run.fit.val_accuracy,
        lists,
        exits.taken,
        bits,
    )
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    for (count, batch_size) in [(40, 8), (200, 130)] {
        let set = cycles_and_stars(count);
        for exits in both(2) {
            let mut model = model(Backbone::GIN, 3).depth(exits);
            (model.training.batch_size, model.network.dropout) = (Some(batch_size), Some(0.3));
            let run = |threads| {
                on_threads(threads, || {
                    study(&set, model, 3)
                        .runs
                        .iter()
                        .map(seen)
                        .collect::<Vec<_>>()
                })
            };
            assert_eq!(run(1), run(3), "{count} graphs, {:?}", exits.scheme);
        }
    }
}

/// A new head for every exit: without it the runs are those of the same exits, and the control of
/// sampled vectors is retraining.
#[test]
fn every_exit_has_a_fresh_head() {
    let set = cycles_and_stars(40);
    let gratin = Gratin {
        components: Some(Components::Fixed(2)),
        head_epochs: 10,
        ..Gratin::DEFAULT
    };
    let retrain = Retrain {
        head_epochs: 10,
        ..Retrain::DEFAULT
    };
    for exits in both(2) {
        let with = |augment: Augment| {
            study(
                &set,
                model(Backbone::GCN, 8).depth(exits).augment(augment),
                4,
            )
            .runs
        };
        let (plain, retrained, drawn) = (
            with(Augment::default()),
            with(retrain.into()),
            with(gratin.into()),
        );
        for ((plain, retrained), drawn) in plain.iter().zip(&retrained).zip(&drawn) {
            let head = drawn.fit.fresh_head.as_ref().unwrap();
            assert_eq!(Some(head.none_test_accuracy), plain.test_accuracy);
            assert_eq!(Some(head.none_val_accuracy), plain.fit.val_accuracy);
            assert_eq!(head.retrain_test_accuracy, retrained.test_accuracy);
            assert!(
                head.sampled.as_ref().unwrap().sampled == 3 * 20,
                "three exits, one vector for each graph"
            );
            assert_ne!(
                plain.test_probabilities.data(),
                drawn.test_probabilities.data()
            );
        }
    }
}

#[test]
fn training_exits_on_unusual_graphs_stays_finite() {
    for set in odd_sets() {
        // Masks need features, and these graphs have none.
        for augment in Augment::all().filter(|augment| !matches!(augment, Augment::FeatureMask(_)))
        {
            for exits in both(2) {
                let gin = model(Backbone::GIN, 2).depth(exits);
                for run in study(&set, gin.augment(with_short_head(augment)), 3).runs {
                    assert!(
                        run.fit
                            .trained
                            .iter()
                            .flat_map(|t| &t.curve)
                            .all(|epoch| epoch.loss.is_finite())
                    );
                    assert!(
                        run.test_probabilities.data().iter().all(|p| p.is_finite()),
                        "{augment}"
                    );
                }
            }
        }
    }
    for exits in both(1) {
        let one_class = set_of(odd_graphs(), &[Some(4); 7]);
        let found = study(&one_class, model(Backbone::GIN, 2).depth(exits), 3);
        assert_eq!(found.test_accuracy().unwrap().unwrap().mean, 100.0);
    }
}

/// With one graph, and no data to learn a policy from, graphs take the last exit.
#[test]
fn one_training_graph_takes_the_last_exit() {
    let odd = odd_graphs();
    for exits in both(1) {
        let gin = model(Backbone::GIN, 2).depth(exits);
        let on = SplitData {
            name: "own".into(),
            content: Content::Graphs(set_of(odd[..1].to_vec(), &[Some(0)])),
            split: Split::new("only", vec![0], vec![], vec![]).unwrap(),
        };
        let fitted = gin.fit(&on, 0).unwrap();
        assert_eq!(
            (fitted.report().val_accuracy, fitted.num_exits()),
            (None, 2)
        );
        assert_eq!(fitted.predict(&on.content).unwrap().exits, Some(vec![1]));
        let answers = fitted.exit_predictions(&on.content).unwrap().unwrap();
        assert_eq!((answers.num_exits(), answers.class(1, 0)), (2, 0));
        assert!(
            fitted
                .exit_predictions(&Content::Graph(odd[0].clone()))
                .unwrap()
                .is_none()
        );
        let e = fitted
            .predict(&Content::Graph(odd[0].clone()))
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "predict: the model classifies graphs of a set, and this is one graph"
        );
        let nothing = Content::Graphs(set_of(vec![], &[]));
        assert_eq!(fitted.predict(&nothing).unwrap().exits, Some(vec![]));
        let none = SplitData {
            split: Split::new("none", vec![], vec![], vec![0]).unwrap(),
            ..on
        };
        let e = gin.fit(&none, 0).unwrap_err().to_string();
        assert_eq!(
            e,
            "graph classification: there are no labelled graphs to train on"
        );
    }
}

#[test]
fn exits_of_depth_zero_are_a_readout_and_a_linear_map() {
    for exits in both(0) {
        let fitted = model(Backbone::GCN, 5)
            .depth(exits)
            .fit(&folds_of(&cycles_and_stars(30), 3, 5).first(), 1)
            .unwrap();
        assert_eq!((fitted.num_exits(), fitted.report().trained.len()), (1, 1));
        assert_eq!(fitted.num_parameters(), fitted.in_dim() * 2 + 2);
    }
}

#[test]
fn policies_without_effect_are_refused() {
    let refused = |policy: &str, task: Task| {
        let exits = Exits {
            scheme: Scheme::AdmpSt,
            max_depth: 2,
            policy: policy.parse().unwrap(),
        };
        Model::new(Backbone::GIN)
            .depth(exits)
            .plan(task)
            .unwrap_err()
            .to_string()
    };
    assert!(refused("size", Task::Node).contains("size compares the sizes of the graphs of a set"));
    assert!(refused("echo", Task::Graph).contains("graphs of a set have none"));
    for policy in ["pagerank", "walks+pagerank"] {
        assert!(refused(policy, Task::Graph).contains("use size"));
    }
    let set = cycles_and_stars(30);
    let beside = TrainStudy {
        policies: vec![Kind::Echo],
        ..TrainStudy::new(model(Backbone::GIN, 1).depth(Exits::st(1)))
    };
    let e = beside
        .run(&folds_of(&set, 3, 5), &Callbacks::quiet())
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("echo uses the predictions for a node's neighbours"),
        "{e}"
    );
    let through = Gratin {
        select: Some(0.5),
        influence_layers: gnarl::augment::InfluenceLayers::Network,
        ..Gratin::DEFAULT
    };
    let e = model(Backbone::GIN, 1)
        .depth(Exits::st(1))
        .augment(through)
        .plan(Task::Graph)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("the influence of the network needs a fixed depth"),
        "{e}"
    );
}

/// Predictions of one graph at a time, as in attacks and inference, equal those of the whole set.
#[test]
fn single_graphs_have_the_predictions_of_the_set() {
    let repeated: Vec<Graph> = (0..5).flat_map(|_| odd_graphs()).collect();
    let classes: Vec<Option<i64>> = (0..repeated.len() as i64).map(|i| Some(i % 2)).collect();
    let data = Dataset::from_graphs("shapes", set_of(repeated, &classes));
    let fitted = Model::new(Backbone::GIN)
        .depth(Exits::st(2))
        .epochs(20)
        .fit(&data.split(0).unwrap(), 1)
        .unwrap();
    let together = fitted.predict(&data.content).unwrap();
    let Content::Graphs(set) = &data.content else {
        unreachable!()
    };
    for (i, graph) in set.graphs().iter().enumerate() {
        let scores = fitted
            .network()
            .unwrap()
            .scores(&fitted.prepared(graph).unwrap())
            .unwrap();
        assert_eq!((scores.num_rows(), scores.num_cols()), (1, 2));
        let row = scores.row(0);
        let sum: f64 = row.iter().map(|&z| f64::from(z).exp()).sum();
        for (class, &z) in row.iter().enumerate() {
            let alone = f64::from(z).exp() / sum;
            let expected = f64::from(together.probabilities.row(i)[class]);
            assert!(
                (alone - expected).abs() < 1e-5,
                "graph {i}: {alone}, not {expected}"
            );
        }
    }
    let smoothed = fitted
        .with_inference(Smoothing::default().into(), &data.content, true)
        .unwrap();
    assert_eq!(
        smoothed.predict(&data.content).unwrap().classes.len(),
        set.len()
    );
}
