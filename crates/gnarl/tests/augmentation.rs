//! Data axis end to end, on generated graphs: augmentations in graph space, influence, selection.

use crate::support;

use std::sync::Arc;

use gnarl::augment::network_influence::{Items, NetworkInfluence};
use gnarl::augment::{Components, Copies, Corruption, Density, InfluenceLayers, Samples};
use gnarl::model::batches::{Evaluation, TrainingSet, scores as scores_of, train_classifier};
use gnarl::model::graph_data::{GraphData, GraphPreparation, NodeFeatures};
use gnarl::model::heads::SampleReport;
use gnarl::model::{FitOptions, TrainingCorruption};
use gnarl::prelude::*;
use gnarl::study::train::{Run, TrainResult, TrainStudy};
use gnarl_data::Benchmark;
use gnarl_data::Task;
use gnarl_graph::generate;
use gnarl_graph::random::stream;
use gnarl_nn::networks::{GraphClassifier, Param, Pass};
use gnarl_nn::train::{Callbacks, Epoch, Keep};
use rand::RngExt;
use support::{folds_of, on_threads, small};

/// Random graphs of two overlapping densities: neither class can be learned without errors.
fn sparse_and_dense(count: usize) -> GraphSet {
    let graph = |i: usize| {
        let n = 8 + i % 5;
        let p = stream(i as u64, "density", 0).random_range(0.15..0.4)
            + if i.is_multiple_of(2) { 0.0 } else { 0.15 };
        generate::erdos_renyi(n, p, i as u64).unwrap()
    };
    let labels = Labels::new((0..count as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
    GraphSet::new((0..count).map(graph).collect(), labels, None).unwrap()
}

/// Model with six hidden units, in batches of sixteen.
fn model(backbone: Backbone, epochs: usize) -> Model {
    let mut model = small(backbone, 6).epochs(epochs);
    model.training.batch_size = Some(16);
    model
}

/// Quick settings of GRATIN.
const GRATIN: Gratin = Gratin {
    components: Some(Components::Fixed(2)),
    head_epochs: 10,
    ..Gratin::DEFAULT
};
const RETRAIN: Retrain = Retrain {
    head_epochs: 10,
    ..Retrain::DEFAULT
};

/// Every augmentation of sets without features of their own, with quick settings for those that
/// train a new head.
fn augmentations() -> impl Iterator<Item = Augment> {
    Augment::all()
        .filter(|augment| !matches!(augment, Augment::FeatureMask(_)))
        .map(|augment| match augment {
            Augment::Gratin(_) => GRATIN.into(),
            Augment::Retrain(_) => RETRAIN.into(),
            other => other,
        })
}

fn makes_graphs(augment: &Augment) -> bool {
    augment.method().transform().is_some()
}

fn with(augment: Augment, setting: &str, value: &str) -> Augment {
    augment.with(&[(setting.into(), value.into())]).unwrap()
}

fn study_on(on: &Benchmark, model: Model, options: FitOptions) -> TrainResult {
    TrainStudy {
        seed: 5,
        options,
        ..TrainStudy::new(model)
    }
    .run(on, &Callbacks::quiet())
    .unwrap()
}

fn study(set: &GraphSet, model: Model) -> TrainResult {
    study_on(&folds_of(set, 4, 5), model, FitOptions::default())
}

/// Accuracies on test and validation graphs, the learning curve, and the distributions of test
/// graphs.
type Outcome = (Option<f64>, Option<f64>, Vec<Epoch>, Vec<f32>);

/// Results of a run without times.
fn results(result: &TrainResult) -> Vec<Outcome> {
    let of = |r: &Run| {
        (
            r.test_accuracy,
            r.fit.val_accuracy,
            r.fit.trained[0].curve.clone(),
            r.test_probabilities.data().to_vec(),
        )
    };
    result.runs.iter().map(of).collect()
}

#[test]
fn every_augmentation_is_deterministic() {
    let set = sparse_and_dense(40);
    let mut seen = vec![results(&study(&set, model(Backbone::GCN, 4)))];
    for augment in augmentations().skip(1) {
        let both = [Copies::EachEpoch, Copies::Fixed].map(|copies| with_copies(augment, copies));
        for augment in both.into_iter().flatten() {
            let model = model(Backbone::GCN, 4).augment(augment);
            let run = |threads| on_threads(threads, || study(&set, model));
            let result = run(1);
            let found = results(&result);
            assert_eq!(found, results(&run(3)), "{augment:?}");
            let made_copies = |run: &Run| run.fit.copy_seconds.is_some();
            assert!(
                result
                    .runs
                    .iter()
                    .all(|run| made_copies(run) == makes_graphs(&augment)),
                "{augment:?}"
            );
            assert!(!seen.contains(&found), "{augment:?} is like another");
            seen.push(found);
        }
    }
    assert!(seen.len() > Augment::LIST.len());
}

/// Sets the copies. An augmentation that makes no copies is returned only once, for `EachEpoch`.
fn with_copies(augment: Augment, copies: Copies) -> Option<Augment> {
    if makes_graphs(&augment) {
        Some(with(augment, "copies", copies.name()))
    } else {
        (copies == Copies::EachEpoch).then_some(augment)
    }
}

/// Name of the augmentation's one real setting that changes graphs.
fn strength_of(augment: &Augment) -> &'static str {
    let mut settings = augment.info().settings.iter();
    let real = settings.find(|setting| matches!(setting.kind, gnarl_graph::settings::Kind::Real));
    real.unwrap().name
}

#[test]
fn augmentation_strength_zero_is_the_identity() {
    let set = sparse_and_dense(40);
    let plain = model(Backbone::GIN, 3);
    let none = results(&study(&set, plain));
    for augment in augmentations().filter(makes_graphs) {
        // Copies replace the graphs: additional copies are more graphs, even if they are equal.
        let augment = with(augment, "copies", "each-epoch");
        let by = |value: &str| {
            let augment = with(augment, strength_of(&augment), value);
            results(&study(&set, plain.augment(augment)))
        };
        // Parts of graphs, and resampled graphs, differ even so.
        if !matches!(augment, Augment::Subgraph(_) | Augment::GMixup(_)) {
            assert_eq!(by("0"), none, "{augment}");
        }
        assert_ne!(by("0.6"), none, "{augment}");
    }
}

/// With α near 0 every share is all or nothing. A vector and its label are a graph's own, or both
/// another's, and the loss of one batch of all graphs is that without mixing. In between it
/// differs.
#[test]
fn mixup_mixes_labels_with_vectors() {
    let set = sparse_and_dense(40);
    let mut plain = model(Backbone::GCN, 1);
    (plain.network.head_dropout, plain.training.batch_size) = (Some(0.0), Some(64));
    let losses = |augment: Augment| -> Vec<f32> {
        study(&set, plain.augment(augment))
            .runs
            .iter()
            .map(|run| run.fit.trained[0].curve[0].loss)
            .collect()
    };
    let mixup = |alpha: &str| losses(with(ManifoldMixup::default().into(), "alpha", alpha));
    let none = losses(Augment::default());
    let far = |found: Vec<f32>| {
        found
            .iter()
            .zip(&none)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max)
    };
    assert!(far(mixup("1e-4")) < 1e-6);
    assert!(far(mixup("100")) > 1e-3);
}

#[test]
fn corruption_goes_with_every_augmentation() {
    let set = sparse_and_dense(32);
    let on = folds_of(&set, 4, 5);
    for augment in augmentations() {
        let model = model(Backbone::GCN, 2).augment(augment);
        let mut seen = vec![results(&study_on(&on, model, FitOptions::default()))];
        for (share, keep_degrees) in [(0.1, false), (0.2, false), (0.2, true)] {
            let corruption = Some(TrainingCorruption {
                edges: Corruption::new(share).unwrap(),
                keep_degrees,
            });
            let found = study_on(
                &on,
                model,
                FitOptions {
                    corruption,
                    corruption_seed: 5,
                    ..FitOptions::default()
                },
            );
            assert!(
                found
                    .runs
                    .iter()
                    .all(|r| r.fit.trained[0].curve.iter().all(|e| e.loss.is_finite())),
                "{augment}"
            );
            let found = results(&found);
            assert!(
                !seen.contains(&found),
                "{augment}, {share}: it reaches what is trained on"
            );
            seen.push(found);
        }
    }
}

#[test]
fn augmentation_of_unusual_sets_stays_finite() {
    let odd = [
        Graph::empty(0).unwrap(),
        Graph::empty(1).unwrap(),
        generate::star(5).unwrap(),
        Graph::empty(4).unwrap(),
        generate::complete(5).unwrap(),
    ];
    let set = |graphs: Vec<Graph>, classes: i64| {
        let labels = Labels::from_values((0..graphs.len() as i64).map(|i| Some(i % classes)));
        GraphSet::new(graphs, labels, None).unwrap()
    };
    let twenty = |of: &[Graph]| of.iter().cycle().take(20).cloned().collect::<Vec<_>>();
    let influence = FitOptions {
        study_influence: true,
        ..FitOptions::default()
    };
    for set in [
        set(twenty(&odd), 2),
        set(twenty(&odd[..1]), 2),
        set(twenty(&odd[1..2]), 2),
        set(twenty(&odd), 1),
    ] {
        let on = folds_of(&set, 4, 5);
        let selecting = |influence_layers| {
            Augment::from(Gratin {
                select: Some(0.5),
                influence_layers,
                head_epochs: 2,
                ..GRATIN
            })
        };
        for augment in
            augmentations().chain([InfluenceLayers::Head, InfluenceLayers::Network].map(selecting))
        {
            for run in study_on(&on, model(Backbone::GCN, 2).augment(augment), influence).runs {
                assert!(
                    run.fit.trained[0].curve.iter().all(|e| e.loss.is_finite()),
                    "{augment}"
                );
                assert!(
                    run.test_probabilities.data().iter().all(|p| p.is_finite()),
                    "{augment}"
                );
            }
        }
    }
    // One graph to train on: every partner is itself.
    let one = sparse_and_dense(4);
    let on = |split: Split| SplitData {
        name: "four".into(),
        content: Content::Graphs(one.clone()),
        split,
    };
    let of_one = on(Split::new("one", vec![0], vec![1], vec![2, 3]).unwrap());
    for augment in augmentations() {
        let fitted = model(Backbone::GCN, 2)
            .augment(augment)
            .fit(&of_one, 5)
            .unwrap();
        assert_eq!(fitted.report().trained[0].curve.len(), 2, "{augment}");
    }
    let no_validation = on(Split::new("none", vec![0, 1], vec![], vec![2]).unwrap());
    let selecting = Gratin {
        select: Some(0.5),
        ..GRATIN
    };
    let e = model(Backbone::GCN, 2)
        .augment(selecting)
        .fit(&no_validation, 5)
        .unwrap_err()
        .to_string();
    assert_eq!(e, "influence: the influence on an empty set is not defined");
}

/// Number of kept vectors, and accuracies on test and validation graphs.
type Point = (usize, Option<f64>, Option<f64>);

/// The point of a filtering curve that a run with so many vectors gives.
fn point_of_run(run: &Run, kept: usize) -> Point {
    (kept, run.test_accuracy, run.fit.val_accuracy)
}

/// Vectors that GRATIN sampled for a run.
fn sampled(run: &Run) -> &SampleReport {
    run.fit
        .fresh_head
        .as_ref()
        .unwrap()
        .sampled
        .as_ref()
        .unwrap()
}

/// The filtering curve starts at the control without vectors and ends at GRATIN with all of them.
#[test]
fn the_filtering_curve_joins_the_control_and_gratin() {
    let set = sparse_and_dense(60);
    let on = folds_of(&set, 4, 5);
    let with = |augment: Augment, study_influence| {
        let options = FitOptions {
            study_influence,
            ..FitOptions::default()
        };
        study_on(&on, model(Backbone::GCN, 8).augment(augment), options)
    };
    let selected = Gratin {
        select: Some(0.5),
        ..GRATIN
    };
    let retrain = with(RETRAIN.into(), false);
    let gratin = with(GRATIN.into(), false);
    let half = with(selected.into(), false);
    for influence_layers in [InfluenceLayers::Head, InfluenceLayers::Network] {
        let selecting = Gratin {
            influence_layers,
            ..GRATIN
        };
        let studied = with(selecting.into(), true);
        assert_eq!(
            results(&studied),
            results(&gratin),
            "looking changes nothing"
        );
        for (i, run) in studied.runs.iter().enumerate() {
            let fresh = run.fit.fresh_head.as_ref().unwrap();
            assert_eq!(
                fresh.retrain_test_accuracy, retrain.runs[i].test_accuracy,
                "its own control"
            );
            let vectors = sampled(run);
            let study = vectors.influence.as_ref().unwrap();
            let n = vectors.sampled;
            assert_eq!(
                (vectors.kept, study.on_validation.len(), study.on_test.len()),
                (n, n, n)
            );
            assert!(
                study.on_validation.iter().any(|x| *x > 0.0)
                    && study.on_validation.iter().any(|x| *x < 0.0)
            );
            assert!(vectors.distance > 0.0 && vectors.original_distance > 0.0);
            assert_eq!(study.filtering.len(), 11);
            let point = |f: usize| -> Point {
                let f = study.filtering[f];
                (f.kept, Some(f.test_accuracy), Some(f.val_accuracy))
            };
            assert_eq!(
                [point(0), point(10)],
                [
                    point_of_run(&retrain.runs[i], 0),
                    point_of_run(&gratin.runs[i], n)
                ],
                "nothing kept is the control, all is GRATIN"
            );
            if influence_layers == InfluenceLayers::Head {
                let half = &half.runs[i];
                assert_eq!(
                    point(5),
                    point_of_run(half, n / 2),
                    "and half is a selection of 0.5"
                );
                assert_eq!(sampled(half).kept, n / 2);
            }
        }
    }
}

#[test]
fn selected_shares_outside_0_to_1_are_refused() {
    let selecting = Gratin {
        select: Some(1.5),
        ..GRATIN
    };
    let on = folds_of(&sparse_and_dense(60), 4, 5);
    let e = model(Backbone::GCN, 8)
        .augment(selecting)
        .fit(&on.first(), 5)
        .unwrap_err()
        .to_string();
    assert_eq!(e, "select must be in [0, 1] (got 1.5)");
}

#[test]
fn oversampling_has_its_own_control() {
    let set = sparse_and_dense(60);
    let mut uneven = folds_of(&set, 4, 5);
    for fold in &mut uneven.splits {
        *fold = fold.fewer(set.labels(), &[12, 3], 1).unwrap();
    }
    let with = |augment: Augment| {
        study_on(
            &uneven,
            model(Backbone::GCN, 8).augment(augment),
            FitOptions::default(),
        )
    };
    let as_many = with(RETRAIN.into());
    let level = with(
        Retrain {
            samples: Samples::Level,
            ..RETRAIN
        }
        .into(),
    );
    assert_ne!(
        results(&as_many),
        results(&level),
        "repeating the rare class changes its head"
    );
    for density in Density::all() {
        let name = density.name();
        let components = GRATIN.components.filter(|_| density.takes_components());
        let gratin = with(
            Gratin {
                density,
                components,
                samples: Samples::Level,
                ..GRATIN
            }
            .into(),
        );
        for (run, control) in gratin.runs.iter().zip(&level.runs) {
            let fresh = run.fit.fresh_head.as_ref().unwrap();
            assert_eq!(fresh.retrain_test_accuracy, control.test_accuracy, "{name}");
            let sampled = fresh.sampled.as_ref().unwrap();
            assert_eq!(
                (sampled.sampled, sampled.kept),
                (12 + 21, 12 + 21),
                "{name}: 24 of each with those that are there"
            );
        }
    }
}

/// Gradient of a mean cross-entropy with respect to the classifier's parameters, concatenated.
fn gradient(classifier: &GraphClassifier, on: &Evaluation, item: Option<usize>) -> Vec<f64> {
    let weights = classifier.params().weights().unwrap();
    let pass = Pass::evaluation(&weights);
    let scores: Vec<_> = on
        .batches()
        .iter()
        .map(|batch| classifier.scores(batch, &pass).unwrap())
        .collect();
    let scores = gnarl_tensor::Tensor::cat(&scores, 0).unwrap();
    let rows: Vec<u32> = item.map_or_else(
        || (0..on.classes().len() as u32).collect(),
        |i| vec![i as u32],
    );
    let classes = rows.iter().map(|&i| on.classes()[i as usize]).collect();
    let loss =
        gnarl_tensor::masked_cross_entropy(&scores, &Arc::new(rows), &Arc::new(classes)).unwrap();
    let grads = loss.backward().unwrap();
    let of = |p: &Param| match grads.get(&p.var) {
        Some(grad) => grad.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
        None => vec![0.0; p.var.elem_count()],
    };
    classifier
        .params()
        .list()
        .iter()
        .flat_map(of)
        .map(f64::from)
        .collect()
}

/// Changes parameter `at` of the flat list by `by`.
fn nudge(classifier: &GraphClassifier, mut at: usize, by: f32) {
    for p in classifier.params().list() {
        if at < p.var.elem_count() {
            let mut values = p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            values[at] += by;
            let moved =
                gnarl_tensor::Tensor::from_vec(values, p.var.dims(), &gnarl_tensor::Device::Cpu)
                    .unwrap();
            return p.var.set(&moved).unwrap();
        }
        at -= p.var.elem_count();
    }
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |v: &[f64]| {
        v.iter()
            .map(|x| x - v.iter().sum::<f64>() / v.len() as f64)
            .collect::<Vec<_>>()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a, b) = (centred(a), centred(b));
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// A trained graph classifier with four hidden units, and the graphs of its fold.
struct Trained {
    classifier: GraphClassifier,
    train: Evaluation,
    val: Evaluation,
    test: Evaluation,
    weight_decay: f64,
}

fn trained() -> Trained {
    let set = sparse_and_dense(80);
    let mut model = model(Backbone::GCN, 150).hidden(4);
    (model.network.head_dropout, model.training.keep) = (Some(0.0), Some(Keep::Last));
    let plan = model.plan(Task::Graph).unwrap();
    let preparation = GraphPreparation::of(
        &plan,
        &gnarl_nn::features::Scaler::AsLoaded,
        NodeFeatures::of(set.graphs()),
    );
    let data = GraphData::new(set.graphs(), Backbone::GCN, &preparation).unwrap();
    let fold = &folds_of(&set, 4, 5).splits[0];
    let classes_of = |graphs: &[u32]| {
        graphs
            .iter()
            .map(|&g| set.labels().get(g).unwrap())
            .collect::<Vec<u32>>()
    };
    let part = |graphs: &[u32]| Evaluation::new(&data, graphs, &classes_of(graphs)).unwrap();
    let (train, val, test) = (part(fold.train()), part(fold.val()), part(fold.test()));
    let classifier = GraphClassifier::new(&plan.network, &data.shape(2), 5).unwrap();
    let (graphs, classes) = (fold.train(), classes_of(fold.train()));
    let on = TrainingSet {
        data: &data,
        graphs,
        classes: &classes,
        mixed: &[],
        epoch_graphs: None,
        mixup: None,
    };
    train_classifier(
        &classifier,
        &on,
        &val,
        &plan.training,
        plan.training.batch_size,
        5,
        &Callbacks::quiet(),
    )
    .unwrap();
    Trained {
        classifier,
        train,
        val,
        test,
        weight_decay: plan.training.weight_decay,
    }
}

/// Fisher information of a classifier of two classes, the mean of Jᵀ (diag(p) - p pᵀ) J; each
/// column of the Jacobian J is a difference of scores.
fn fisher_information(classifier: &GraphClassifier, on: &Evaluation) -> Vec<f64> {
    const H: f32 = 2e-3;
    let n = classifier.params().num_trained();
    let scores = || {
        scores_of(classifier, on.batches())
            .unwrap()
            .to_vec2::<f32>()
            .unwrap()
    };
    let jacobian: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            nudge(classifier, j, H);
            let ahead = scores().concat();
            nudge(classifier, j, -2.0 * H);
            let behind = scores().concat();
            nudge(classifier, j, H);
            ahead
                .iter()
                .zip(&behind)
                .map(|(a, b)| f64::from(a - b) / (2.0 * f64::from(H)))
                .collect()
        })
        .collect();
    let mut fisher = vec![0.0; n * n];
    let count = on.classes().len();
    for (i, z) in scores().iter().enumerate() {
        let p = 1.0 / (1.0 + f64::from(z[1] - z[0]).exp());
        // With two classes: p (1 - p) times the square of the difference of scores.
        let apart: Vec<f64> = jacobian
            .iter()
            .map(|column| column[2 * i] - column[2 * i + 1])
            .collect();
        for a in 0..n {
            for b in 0..n {
                fisher[a * n + b] += p * (1.0 - p) * apart[a] * apart[b] / count as f64;
            }
        }
    }
    fisher
}

/// Products, conjugate gradients and directional differences against the whole Fisher information,
/// entry by entry, and gradients of single graphs.
#[test]
fn influence_through_the_network_agrees_with_the_whole_fisher_information() {
    let Trained {
        classifier,
        train,
        val,
        test,
        weight_decay,
    } = trained();
    let network =
        NetworkInfluence::new(&classifier, train.batches(), train.classes(), weight_decay).unwrap();
    let n = network.num_parameters();
    assert_eq!(n, classifier.params().num_trained());
    let direction = network.direction(val.batches(), val.classes()).unwrap();
    assert!(direction.residual < 0.01, "{}", direction.residual);
    let graphs = network
        .of(Items::Graphs(test.batches()), test.classes(), &direction)
        .unwrap();
    let latent = test.latent(&classifier).unwrap();
    let vectors = network
        .of(Items::Vectors(&latent), test.classes(), &direction)
        .unwrap();

    let mut fisher = fisher_information(&classifier, &train);
    (0..n).for_each(|j| fisher[j * n + j] += weight_decay + direction.damping);
    let solution =
        gnarl_linalg::cholesky_solve(n, &fisher, &gradient(&classifier, &val, None)).unwrap();
    let dot = |g: &[f64], from: usize| {
        g[from..]
            .iter()
            .zip(&solution[from..])
            .map(|(g, x)| g * x)
            .sum::<f64>()
    };
    let of_item = |from: usize| -> Vec<f64> {
        (0..test.classes().len())
            .map(|i| dot(&gradient(&classifier, &test, Some(i)), from))
            .collect()
    };
    let head_from = n - (4 + 1) * 2;
    for (found, expected, what) in [
        (&graphs, of_item(0), "graphs"),
        (&vectors, of_item(head_from), "vectors"),
    ] {
        assert!(
            correlation(found, &expected) > 0.99,
            "{what}: {found:?}, not {expected:?}"
        );
        let sizes = [&found[..], &expected].map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt());
        assert!((sizes[0] / sizes[1] - 1.0).abs() < 0.1, "{what}: {sizes:?}");
    }
}
