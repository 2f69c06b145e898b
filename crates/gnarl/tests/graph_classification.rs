//! Graph classification end to end, on generated graphs.

use crate::support;

use gnarl::augment::{Components, Copies, Corruption};
use gnarl::model::batches::{HeadTraining, Vectors, scores as scores_of, train_head};
use gnarl::model::graph_data::{GraphData, GraphPreparation, NodeFeatures};
use gnarl::model::{FitOptions, TrainingCorruption};
use gnarl::prelude::*;
use gnarl::study::train::{Run, TrainResult, TrainStudy};
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::random::stream;
use gnarl_graph::{CsrMatrix, DenseMatrix, generate};
use gnarl_nn::depth::Exits;
use gnarl_nn::features::one_hot_degrees;
use gnarl_nn::networks::{Capability, GraphClassifier, Head, NetworkConfig, Pass, Readout};
use gnarl_nn::operator::Initialisation;
use gnarl_nn::train::{Callbacks, Epoch, Journal, Keep, TrainConfig};
use rand::RngExt;
use rand::seq::SliceRandom;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::{
    bytes, cycles_and_stars, folds_of, odd_graphs, odd_sets, on_threads, set_of, small,
    with_short_head,
};

fn with_features(graphs: Vec<Graph>, sparse: bool) -> Vec<Graph> {
    let features = |(i, graph): (usize, Graph)| {
        let rng = &mut stream(i as u64, "graph test features", 0);
        let dense: Vec<f32> = (0..5 * graph.num_nodes())
            .map(|_| rng.random_range(0.1..1.0))
            .collect();
        let dense = DenseMatrix::new(graph.num_nodes(), 5, dense).unwrap();
        let features = if sparse {
            Features::Sparse(CsrMatrix::from_dense(&dense))
        } else {
            Features::Dense(dense)
        };
        graph.with_features(features).unwrap()
    };
    graphs.into_iter().enumerate().map(features).collect()
}

fn preparation(graphs: &[Graph], operator: OperatorChoice) -> GraphPreparation {
    GraphPreparation {
        operator,
        features: gnarl_nn::features::Scaler::AsLoaded,
        node_features: NodeFeatures::of(graphs),
    }
}

fn classifier_config(backbone: Backbone) -> NetworkConfig {
    NetworkConfig {
        hidden: 8,
        dropout: 0.0,
        readout: Readout::Mean,
        head_dropout: 0.0,
        ..NetworkConfig::new(backbone.where_taken("heads", 2))
    }
}

fn classifier(data: &GraphData, config: NetworkConfig) -> GraphClassifier {
    GraphClassifier::new(&config, &data.shape(3), 7).unwrap()
}

fn scores(
    classifier: &GraphClassifier,
    data: &GraphData,
    graphs: &[u32],
    size: usize,
) -> Vec<Vec<f32>> {
    scores_of(classifier, &data.batches(graphs, size).unwrap())
        .unwrap()
        .to_vec2()
        .unwrap()
}

fn assert_close(a: &[Vec<f32>], b: &[Vec<f32>], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().flatten().zip(b.iter().flatten()).enumerate() {
        assert!(
            (a - b).abs() <= 1e-5 * (1.0 + b.abs()),
            "{what}, value {i}: {a}, not {b}"
        );
    }
}

fn backbones() -> impl Iterator<Item = (&'static str, Backbone)> {
    Backbone::named().filter(|(_, backbone)| backbone.provides(Capability::GraphSets))
}

/// Default operator, a classical operator that is not symmetric, and learned operators, whose
/// PageRank is computed per graph.
fn operators(backbone: Backbone) -> Vec<OperatorChoice> {
    let learned = |centrality: &str| {
        let init = Initialisation::Of(ClassicalOperator::SIGNLESS_LAPLACIAN);
        OperatorChoice::Cgso(Cgso {
            centrality: centrality.parse().unwrap(),
            init,
        })
    };
    let mut all = vec![
        OperatorChoice::Default,
        OperatorChoice::Classical(ClassicalOperator::RANDOM_WALK_LAPLACIAN),
    ];
    if backbone.fixed_operator().is_none() {
        all.extend([learned("pagerank"), learned("degree+core")]);
    }
    all
}

/// The unusual graphs with features; without the isolated node if PageRank is used, which is
/// undefined there.
fn odd_graphs_for(operator: OperatorChoice, sparse: bool) -> Vec<Graph> {
    let mut graphs = odd_graphs();
    if operator.to_string().contains("pagerank") {
        graphs[2] = generate::path(3).unwrap();
    }
    with_features(graphs, sparse)
}

#[test]
fn a_batch_has_the_scores_of_its_graphs() {
    for (name, backbone) in backbones() {
        for (sparse, batch_norm) in [(true, false), (false, true)] {
            for operator in operators(backbone) {
                let graphs = odd_graphs_for(operator, sparse);
                let preparation = preparation(&graphs, operator);
                let data = GraphData::new(&graphs, backbone, &preparation).unwrap();
                let mut config = classifier_config(backbone);
                config.backbone = config.backbone.where_taken("batch-norm", batch_norm);
                let classifier = classifier(&data, config);
                let twice = if let OperatorChoice::Cgso(_) = operator {
                    &[][..]
                } else {
                    &[0]
                };
                let order = [&[5, 0, 3, 1, 2, 6, 4], twice].concat();
                let batched = scores(&classifier, &data, &order, order.len());
                let alone: Vec<Vec<f32>> = order
                    .iter()
                    .map(|&g| {
                        let alone = &graphs[g as usize..=g as usize];
                        let alone = GraphData::new(alone, backbone, &preparation).unwrap();
                        scores(&classifier, &alone, &[0], 1).swap_remove(0)
                    })
                    .collect();
                assert_close(&batched, &alone, &format!("{name} on {operator}"));
                assert_close(
                    &scores(&classifier, &data, &order, 3),
                    &alone,
                    &format!("{name} in threes"),
                );
            }
        }
    }
}

#[test]
fn gradients_of_a_batch_are_the_mean_of_its_graphs() {
    let classes = [0u32, 2, 1, 1, 0, 2, 0];
    for (name, backbone) in backbones() {
        for operator in operators(backbone) {
            let graphs = odd_graphs_for(operator, true);
            let data = GraphData::new(&graphs, backbone, &preparation(&graphs, operator)).unwrap();
            let classifier = classifier(&data, classifier_config(backbone));
            let gradients = |ids: &[u32]| -> Vec<f32> {
                let weights = classifier.params().weights().unwrap();
                let scores = classifier
                    .scores(&data.batch(ids).unwrap(), &Pass::evaluation(&weights))
                    .unwrap();
                let rows = std::sync::Arc::new((0..ids.len() as u32).collect());
                let classes =
                    std::sync::Arc::new(ids.iter().map(|&g| classes[g as usize]).collect());
                let loss = gnarl_tensor::masked_cross_entropy(&scores, &rows, &classes).unwrap();
                let grads = loss.backward().unwrap();
                let of = |p: &gnarl_nn::networks::Param| match grads.get(&p.var) {
                    Some(grad) => grad.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
                    None => vec![0.0; p.var.elem_count()],
                };
                classifier.params().list().iter().flat_map(of).collect()
            };
            let together = gradients(&[0, 1, 2, 3, 4, 5, 6]);
            assert!(
                together.iter().any(|g| g.abs() > 1e-3),
                "{name}: something is learned"
            );
            let mut mean = vec![0f32; together.len()];
            for g in 0..7 {
                gradients(&[g])
                    .iter()
                    .zip(&mut mean)
                    .for_each(|(g, mean)| *mean += g / 7.0);
            }
            assert_close(&[together], &[mean], &format!("{name} on {operator}"));
        }
    }
}

#[test]
fn permutation_invariance() {
    let graphs = with_features(odd_graphs(), false);
    let permuted: Vec<Graph> = graphs
        .iter()
        .map(|graph| {
            let mut order: Vec<u32> = (0..graph.num_nodes() as u32).collect();
            order.shuffle(&mut stream(3, "graph test order", 0));
            graph.permute(&order).unwrap()
        })
        .collect();
    let all: Vec<u32> = (0..graphs.len() as u32).collect();
    for (name, backbone) in backbones() {
        for &readout in Readout::ALL {
            let preparation = preparation(&graphs, OperatorChoice::Default);
            let [a, b] = [&graphs, &permuted]
                .map(|graphs| GraphData::new(graphs, backbone, &preparation).unwrap());
            let classifier = classifier(
                &a,
                NetworkConfig {
                    readout,
                    ..classifier_config(backbone)
                },
            );
            assert_close(
                &scores(&classifier, &a, &all, 99),
                &scores(&classifier, &b, &all, 99),
                &format!("{name}, {readout}"),
            );
        }
    }
}

/// Model with eight hidden units, in batches of eight.
fn model(backbone: Backbone, epochs: usize) -> Model {
    let mut model = small(backbone, 8).epochs(epochs);
    model.training.batch_size = Some(8);
    model
}

/// Quick settings of GRATIN.
fn gratin() -> Augment {
    Gratin {
        components: Some(Components::Fixed(3)),
        head_epochs: 20,
        ..Gratin::DEFAULT
    }
    .into()
}

fn retrain() -> Augment {
    Retrain {
        head_epochs: 20,
        ..Retrain::DEFAULT
    }
    .into()
}

fn study(set: &GraphSet, model: Model, folds: usize, inits: usize) -> TrainResult {
    study_with(set, model, folds, inits, None)
}

fn study_with(
    set: &GraphSet,
    model: Model,
    folds: usize,
    inits: usize,
    corruption: Option<TrainingCorruption>,
) -> TrainResult {
    let options = FitOptions {
        corruption,
        corruption_seed: 5,
        ..FitOptions::default()
    };
    let study = TrainStudy {
        inits,
        seed: 5,
        options,
        ..TrainStudy::new(model)
    };
    study
        .run(&folds_of(set, folds, 5), &Callbacks::quiet())
        .unwrap()
}

/// Comparable part of runs: everything except times.
type Comparable = (
    u64,
    String,
    Option<f64>,
    Option<f64>,
    Vec<Epoch>,
    usize,
    Vec<f32>,
);

fn results(result: &TrainResult) -> Vec<Comparable> {
    let of = |run: &Run| {
        let Run {
            seed,
            split,
            test_accuracy,
            fit,
            test_probabilities,
            ..
        } = run.clone();
        let trained = &fit.trained[0];
        let (curve, kept) = (trained.curve.clone(), trained.kept_epoch);
        (
            seed,
            split,
            test_accuracy,
            fit.val_accuracy,
            curve,
            kept,
            test_probabilities.data().to_vec(),
        )
    };
    result.runs.iter().map(of).collect()
}

fn mean_test(result: &TrainResult) -> f64 {
    result.test_accuracy().unwrap().unwrap().mean
}

#[test]
fn every_fold_separates_cycles_from_stars() {
    let set = cycles_and_stars(48);
    for backbone in [Backbone::GCN, Backbone::GIN] {
        let result = study(&set, model(backbone, 60), 6, 2);
        let seeds: Vec<u64> = result.runs.iter().map(|run| run.seed).collect();
        assert_eq!(
            seeds,
            [5, 11, 6, 12, 7, 13, 8, 14, 9, 15, 10, 16],
            "fold by fold, each initialisation its own"
        );
        assert_eq!(mean_test(&result), 100.0, "{backbone}");
        assert_eq!(
            result.over(|run| Some(run.seed as f64)).unwrap(),
            [8.0, 9.0, 10.0, 11.0, 12.0, 13.0]
        );
    }
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let set = cycles_and_stars(40);
    for (backbone, augment) in [
        (Backbone::GCN, Augment::default()),
        (Backbone::GIN, gratin()),
    ] {
        let model = model(backbone, 6).augment(augment);
        let run = |threads| on_threads(threads, || results(&study(&set, model, 4, 2)));
        assert_eq!(run(1), run(3), "{backbone}");
    }
    // Steps of several parts, dropout between layers, and one step which stays.
    let set = cycles_and_stars(260);
    for batch_size in [130, 1000] {
        let mut model = model(Backbone::GIN, 3);
        (model.training.batch_size, model.network.dropout) = (Some(batch_size), Some(0.3));
        let run = |threads| on_threads(threads, || results(&study(&set, model, 4, 1)));
        assert_eq!(run(1), run(3), "{batch_size}");
    }
}

#[test]
fn retraining_the_head_is_a_control() {
    let set = cycles_and_stars(40);
    let with = |augment: Augment| study(&set, model(Backbone::GCN, 15).augment(augment), 4, 1);
    let (plain, retrained, drawn) = (with(Augment::default()), with(retrain()), with(gratin()));
    for (plain, fresh) in plain
        .runs
        .iter()
        .chain(&plain.runs)
        .zip(retrained.runs.iter().chain(&drawn.runs))
    {
        let before = fresh.fit.fresh_head.as_ref().unwrap();
        assert_eq!(
            Some(before.none_test_accuracy),
            plain.test_accuracy,
            "the same training before it"
        );
        assert_eq!(Some(before.none_val_accuracy), plain.fit.val_accuracy);
        assert_eq!(plain.fit.trained[0].curve, fresh.fit.trained[0].curve);
        assert_ne!(
            plain.test_probabilities.data(),
            fresh.test_probabilities.data(),
            "the head is another"
        );
        assert!(plain.fit.fresh_head.is_none());
    }
    for (retrained, drawn) in retrained.runs.iter().zip(&drawn.runs) {
        let control = drawn.fit.fresh_head.as_ref().unwrap().retrain_test_accuracy;
        assert_eq!(
            control, retrained.test_accuracy,
            "the control of drawn vectors is retraining"
        );
    }
    assert_eq!([mean_test(&retrained), mean_test(&drawn)], [100.0, 100.0]);
}

#[test]
fn the_head_is_trained_for_its_epochs() {
    let vectors = |values: &[f32], classes: &[u32]| Vectors {
        latent: gnarl_tensor::Tensor::from_slice(
            values,
            (classes.len(), 1),
            &gnarl_tensor::Device::Cpu,
        )
        .unwrap(),
        classes: classes.to_vec(),
    };
    let on = vectors(&[1.0, -1.0, 2.0, -2.0], &[0, 1, 0, 1]);
    // Adam changes a weight by the learning rate in each step while the sign of its gradient stays.
    let moved = |epochs, steps| {
        let fresh = Head::new(1, 2, 0.0, 3).unwrap();
        let weight = |head: &Head| {
            head.params().list()[0]
                .var
                .flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap()[0]
        };
        let (before, training) = (
            weight(&fresh),
            HeadTraining {
                epochs,
                batch_size: 4,
                steps,
            },
        );
        let config = TrainConfig {
            weight_decay: 0.0,
            keep: Keep::Last,
            ..TrainConfig::default()
        };
        let (head, trained) =
            train_head(fresh, &on, &on, training, &config, 1, &Callbacks::quiet()).unwrap();
        assert_eq!(trained.curve.len(), epochs);
        (weight(&head) - before) / 0.01
    };
    assert!((moved(1, None) - 1.0).abs() < 0.02 && (moved(2, None) - 2.0).abs() < 0.05);
    assert!(
        (moved(1, Some(3)) - 3.0).abs() < 0.1,
        "three passes in one epoch"
    );
    let none = vectors(&[], &[]);
    let fresh = Head::new(1, 2, 0.0, 3).unwrap();
    let training = HeadTraining {
        epochs: 1,
        batch_size: 4,
        steps: None,
    };
    let e = train_head(
        fresh,
        &none,
        &on,
        training,
        &TrainConfig::default(),
        1,
        &Callbacks::quiet(),
    )
    .unwrap_err();
    assert_eq!(
        e.to_string(),
        "graph classification: there are no labelled graphs to train on"
    );
}

/// Copies replace the training graphs in every epoch, or are added to them permanently.
#[test]
fn augmented_copies_replace_training_graphs() {
    let set = cycles_and_stars(40);
    let plain = model(Backbone::GCN, 6);
    let with = |augment: Augment| results(&study(&set, plain.augment(augment), 4, 1));
    let drop = |p, copies| with(DropEdge { p, copies }.into());
    let none = with(Augment::default());
    assert_eq!(
        drop(0.0, Copies::EachEpoch),
        none,
        "copies that change nothing change nothing"
    );
    assert_ne!(drop(0.0, Copies::Fixed), none, "twice as many steps");
    for copies in [Copies::Fixed, Copies::EachEpoch] {
        assert_ne!(
            drop(1.0, copies),
            drop(0.0, copies),
            "{copies}: graphs without edges"
        );
    }
    let fresh = drop(0.5, Copies::EachEpoch);
    assert_ne!(
        fresh,
        drop(0.5, Copies::Fixed),
        "fresh copies differ from the first"
    );
    assert_eq!(fresh, drop(0.5, Copies::EachEpoch), "the same seed again");
}

/// One-hot degrees behave as features from the start; resampled graphs have new ones.
#[test]
fn nodes_of_copies_keep_the_degrees_that_described_them() {
    let set = cycles_and_stars(40);
    let degrees = NodeFeatures::of(set.graphs()).degrees().unwrap();
    let described = |graph: &Graph| {
        graph
            .clone()
            .with_features(one_hot_degrees(graph, degrees))
            .unwrap()
    };
    let described = set.graphs().iter().map(described).collect();
    let described = GraphSet::new(described, set.labels().clone(), None).unwrap();
    let augments = Augment::all().filter(|augment| augment.method().transform().is_some());
    // Masks need features of the data's own.
    for augment in augments.filter(|augment| !matches!(augment, Augment::FeatureMask(_))) {
        let model = model(Backbone::GCN, 4).augment(augment);
        let (by_degrees, by_features) = (
            results(&study(&set, model, 4, 1)),
            results(&study(&described, model, 4, 1)),
        );
        let is_new = matches!(augment, Augment::GMixup(_) | Augment::GeoMix(_));
        assert_eq!(by_degrees == by_features, !is_new, "{augment}");
    }
}

/// One step of several parts, and several steps: everything that is sampled per epoch is resumed.
#[test]
fn an_interrupted_training_resumes_to_the_same_model() {
    let set = cycles_and_stars(104);
    let augments = [
        Augment::default(),
        gratin(),
        DropEdge::default().into(),
        Augment::ManifoldMixup(Default::default()),
    ];
    let mut models: Vec<Model> = augments
        .into_iter()
        .map(|augment| small(Backbone::GCN, 8).augment(augment))
        .collect();
    models.extend([Exits::st(2), Exits::alm(2)].map(|exits| small(Backbone::GIN, 8).depth(exits)));
    for (model, batch_size) in models
        .into_iter()
        .flat_map(|model| [(model, 256), (model, 30)])
    {
        let mut model = model.epochs(9);
        (model.training.batch_size, model.training.keep) = (Some(batch_size), Some(Keep::Last));
        let what = format!("{} by {} in {batch_size}", model.augment, model.depth);
        let study = TrainStudy {
            seed: 5,
            ..TrainStudy::new(model)
        };
        let (folds, dir) = (folds_of(&set, 3, 5), tempfile::tempdir().unwrap());
        let journal = |resume| {
            Journal::open(dir.path(), Duration::ZERO, serde_json::json!({}), resume).unwrap()
        };
        let (begun, stop) = (journal(false), AtomicBool::new(false));
        // Folds run in parallel, and a fold that is not so far stays stopped with the others.
        let stop_there = |epoch: usize, _: &Epoch| _ = stop.fetch_or(epoch >= 4, Ordering::Relaxed);
        let cut = study.run(
            &folds,
            &Callbacks::new(&stop_there, &stop).with_journal(Some(&begun)),
        );
        let whole = |cut: &TrainResult| results(cut).iter().filter(|run| run.4.len() == 9).count();
        assert!(cut.as_ref().map_or(0, whole) < 3, "{what}: it was cut off");
        let goes_on = journal(true);
        let again = study
            .run(&folds, &Callbacks::quiet().with_journal(Some(&goes_on)))
            .unwrap();
        assert_eq!(
            results(&again),
            results(&study.run(&folds, &Callbacks::quiet()).unwrap()),
            "{what}"
        );
    }
}

#[test]
fn corruption_reaches_training_graphs_alone_and_degrees_by_choice() {
    let set = cycles_and_stars(40);
    let model = model(Backbone::GCN, 4);
    let corruption = |share, keep_degrees| TrainingCorruption {
        edges: Corruption::new(share).unwrap(),
        keep_degrees,
    };
    let corrupted = |share, keep_degrees| {
        results(&study_with(
            &set,
            model,
            4,
            1,
            Some(corruption(share, keep_degrees)),
        ))
    };
    let as_is = results(&study(&set, model, 4, 1));
    assert_eq!(
        corrupted(0.0, false),
        as_is,
        "no share of edges is no change"
    );
    assert_eq!(corrupted(0.0, true), as_is);
    assert_ne!(corrupted(0.4, false), as_is);
    assert_ne!(
        corrupted(0.4, false),
        corrupted(0.4, true),
        "what degrees are of matters"
    );
    // A network without message passing depends on edges through degrees alone.
    for keep_degrees in [false, true] {
        let options = FitOptions {
            corruption: Some(corruption(0.4, keep_degrees)),
            ..FitOptions::default()
        };
        let on = folds_of(&set, 4, 5).first();
        let ready = small(Backbone::MLP, 8)
            .epochs(2)
            .ready(&on.name, &on.content, options);
        match ready {
            Ok(_) => assert!(!keep_degrees),
            Err(e) => assert!(
                keep_degrees && e.to_string().contains("corrupt: mlp would not see"),
                "{e}"
            ),
        }
    }
    // Validation graphs are not corrupted: the accuracy that fitting reports is that of the
    // unchanged graphs.
    let on = folds_of(&set, 4, 5).first();
    let options = FitOptions {
        corruption: Some(corruption(1.0, false)),
        corruption_seed: 5,
        ..FitOptions::default()
    };
    let ready = small(Backbone::GCN, 8)
        .epochs(40)
        .ready(&on.name, &on.content, options)
        .unwrap();
    let fitted = ready.fit(&on.split, 5, &Callbacks::quiet()).unwrap();
    let predictions = fitted.predict(&on.content).unwrap();
    assert_eq!(
        fitted.report().val_accuracy,
        fitted
            .accuracy_on(&predictions, &on.content, on.split.val())
            .unwrap()
    );
    let last = fitted.report().trained[0].curve[fitted.report().trained[0].kept_epoch - 1]
        .validation
        .unwrap();
    assert_eq!(Some(last.accuracy), fitted.report().val_accuracy);
}

#[test]
fn a_saved_classifier_predicts_the_same() {
    let set = cycles_and_stars(30);
    let on = folds_of(&set, 3, 5).first();
    let dir = tempfile::tempdir().unwrap();
    for backbone in [Backbone::GIN, Backbone::PNA, Backbone::GATV2] {
        let mut model = model(backbone, 3);
        model.backbone = model.backbone.where_taken("batch-norm", true);
        let fitted = model.fit(&on, 1).unwrap();
        let file = dir.path().join(format!("{backbone}.safetensors"));
        fitted.save(&file).unwrap();
        let again = Fitted::load(&file).unwrap();
        assert_eq!((again.model(), again.task()), (fitted.model(), Task::Graph));
        let probabilities = |fitted: &Fitted| fitted.predict(&on.content).unwrap().probabilities;
        assert_eq!(probabilities(&again), probabilities(&fitted), "{backbone}");
        assert_eq!(bytes(&again), bytes(&fitted), "{backbone}");
        let e = again
            .predict(&Content::Graph(set.graphs()[0].clone()))
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "predict: the model classifies graphs of a set, and this is one graph"
        );
    }
}

#[test]
fn missing_node_labels_are_refused_with_the_graph() {
    let set = cycles_and_stars(30);
    let labelled = |graph: &Graph| {
        graph
            .clone()
            .with_features(one_hot_degrees(graph, 2))
            .unwrap()
    };
    let labelled: Vec<Graph> = set.graphs().iter().map(labelled).collect();
    let with_labels = GraphSet::new(labelled, set.labels().clone(), Some(3)).unwrap();
    let fitted = model(Backbone::GIN, 2)
        .fit(&folds_of(&with_labels, 3, 5).first(), 1)
        .unwrap();
    let e = fitted
        .predict(&Content::Graphs(set))
        .unwrap_err()
        .to_string();
    assert!(
        e.starts_with("predict: the nodes of graph 0 have no features, and the model takes 3"),
        "{e}"
    );
}

/// Empty graphs, isolated nodes, graphs without edges, for every backbone that predicts without
/// nodes.
#[test]
fn training_on_unusual_graphs_stays_finite() {
    for (name, backbone) in backbones() {
        for set in odd_sets() {
            // Masks need features, and these graphs have none.
            for augment in
                Augment::all().filter(|augment| !matches!(augment, Augment::FeatureMask(_)))
            {
                let mut model = model(backbone, 2).augment(with_short_head(augment));
                model.backbone = model.backbone.where_taken("batch-norm", true);
                // One-hot degrees as features stay if edges are removed.
                if backbone.is(Backbone::MLP)
                    && matches!(augment, Augment::DropEdge(_) | Augment::Configuration(_))
                {
                    let e = TrainStudy::new(model)
                        .run(&folds_of(&set, 3, 5), &Callbacks::quiet())
                        .unwrap_err();
                    assert!(
                        e.to_string()
                            .contains("mlp would not see the changed edges"),
                        "{e}"
                    );
                    continue;
                }
                for run in study(&set, model, 3, 1).runs {
                    assert!(
                        run.fit.trained[0]
                            .curve
                            .iter()
                            .all(|epoch| epoch.loss.is_finite()),
                        "{name}"
                    );
                    assert!(
                        run.test_probabilities.data().iter().all(|p| p.is_finite()),
                        "{name}"
                    );
                }
            }
        }
    }
    // One class: every graph is correct.
    let one_class = set_of(odd_graphs(), &[Some(4); 7]);
    assert_eq!(
        mean_test(&study(&one_class, model(Backbone::GCN, 2), 3, 1)),
        100.0
    );
}

/// A set with a split of its own.
fn own_split(set: &GraphSet, split: Split) -> SplitData {
    SplitData {
        name: "own".into(),
        content: Content::Graphs(set.clone()),
        split,
    }
}

#[test]
fn sets_without_training_graphs_are_refused() {
    let one = set_of(odd_graphs()[..1].to_vec(), &[Some(0)]);
    let e = Split::folds(one.labels(), 10, 0).unwrap_err().to_string();
    assert_eq!(
        e,
        "folds: 10 folds of 1 labelled nodes or graphs: there must be at least 3 folds and a node or graph for each"
    );
    let gcn = model(Backbone::GCN, 2);
    let none = Split::new("none", vec![], vec![], vec![0]).unwrap();
    let untrained = own_split(&one, none.clone());
    let e = gcn.fit(&untrained, 0).unwrap_err().to_string();
    assert_eq!(
        e,
        "graph classification: there are no labelled graphs to train on"
    );
    let e = Model::new(Backbone::ADAGCN)
        .fit(&untrained, 0)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("does not classify sets of graphs; take every model but"),
        "{e}"
    );
    let no_folds = Benchmark {
        name: "own".into(),
        content: Content::Graphs(one.clone()),
        splits: Vec::new(),
    };
    let e = TrainStudy::new(gcn)
        .run(&no_folds, &Callbacks::quiet())
        .unwrap_err()
        .to_string();
    assert_eq!(
        e,
        "train: the data has no split to train on; add one to the folder"
    );
    let unlabelled = own_split(&set_of(odd_graphs(), &[None; 7]), none);
    let e = gcn.fit(&unlabelled, 0).unwrap_err().to_string();
    assert_eq!(
        e,
        "fit: the set has no labelled graphs; take a set with labels"
    );
}

#[test]
fn one_training_graph_without_test_graphs_is_enough() {
    let one = set_of(odd_graphs()[..1].to_vec(), &[Some(0)]);
    let only = own_split(&one, Split::new("only", vec![0], vec![], vec![]).unwrap());
    let fitted = model(Backbone::GCN, 2).fit(&only, 0).unwrap();
    assert_eq!(
        (
            fitted.report().val_accuracy,
            fitted.report().trained[0].curve.len()
        ),
        (None, 2),
        "yet it trains"
    );
    let predictions = fitted.predict(&only.content).unwrap();
    assert_eq!(
        fitted
            .accuracy_on(&predictions, &only.content, only.split.test())
            .unwrap(),
        None,
        "nothing to test on"
    );
}

#[test]
fn graphs_without_the_values_of_an_operator_are_refused() {
    let odd = odd_graphs();
    let learned = operators(Backbone::GCN)[2];
    let e = GraphData::new(&odd, Backbone::GCN, &preparation(&odd, learned))
        .unwrap_err()
        .to_string();
    assert_eq!(
        e,
        "centrality pagerank: 1 / (1 - PR) is infinite on a graph of one node; choose another centrality"
    );
    let data = GraphData::new(&odd[..2], Backbone::GCN, &preparation(&odd, learned)).unwrap();
    let e = data.batch(&[1, 0, 1]).unwrap_err().to_string();
    assert_eq!(
        e,
        "graph classification: graph 1 is twice in a batch for a learned operator"
    );
    let e = GraphData::new(&odd, Backbone::PNA, &preparation(&odd, learned))
        .unwrap_err()
        .to_string();
    assert!(
        e.starts_with("graph classification: pna does not use an operator's values"),
        "{e}"
    );
}

/// From 1,000 graphs on, initialisations of an operator are tried for a sixth of the epochs, and
/// the best is trained for all of them: the result equals that of the named initialisation.
#[test]
fn initialisations_are_tried_for_fewer_epochs_on_large_sets() {
    let by = |init: &str| {
        let operator = Cgso {
            init: init.parse().unwrap(),
            ..Cgso::default()
        };
        Model {
            features: None,
            ..small(Backbone::GIN, 4)
        }
        .operator(operator)
        .epochs(12)
    };
    for (count, epochs) in [(998, 8 * 12), (1000, 8 * 2 + 12)] {
        let set = cycles_and_stars(count);
        let split = Split::folds(set.labels(), 10, 3).unwrap().remove(0);
        let on = SplitData {
            name: "set".into(),
            content: Content::Graphs(set),
            split,
        };
        let (seen, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let tell = |_: usize, _: &Epoch| {
            seen.fetch_add(1, Ordering::Relaxed);
        };
        let settled = by("auto")
            .fit_watched(&on, 1, &Callbacks::new(&tell, &stop))
            .unwrap();
        assert_eq!(seen.into_inner(), epochs, "{count} graphs");
        assert_eq!(settled.report().trials.len(), 8);
        assert_eq!(settled.report().trained[0].curve.len(), 12);
        let OperatorChoice::Cgso(Cgso { init, .. }) = settled.model().operator else {
            panic!("nothing was settled")
        };
        let named = by(&init.to_string()).fit(&on, 1).unwrap();
        assert_eq!(bytes(&named), bytes(&settled), "{count} graphs");
    }
}
