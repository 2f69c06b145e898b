//! The data axis end to end, on generated graphs: augmentations in graph space, influence, selection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gnarl::augment::network_influence::{Items, NetworkInfluence};
use gnarl::augment::{Augment, AugmentSettings, Components, Copies, Corruption, Density, Draws, Through};
use gnarl::features::FeatureScaling;
use gnarl::nn::{Backbone, GraphClassifier, Param, Pass};
use gnarl::operator::OperatorChoice;
use gnarl::task::graph::{
    self, Evaluation, GraphConfig, GraphPreparation, NodeFeatures, PreparedSet, Run, TrainingCorruption,
};
use gnarl::task::recipe::Recipe;
use gnarl::train::{Epoch, Keep, TrainConfig, Watch};
use gnarl_graph::random::stream;
use gnarl_graph::{Graph, GraphSet, Labels, Split, generate};
use rand::RngExt;

fn quiet(stop: &AtomicBool) -> Watch<'_> {
    fn nothing(_: usize, _: &Epoch) {}
    Watch { on_epoch: &nothing, stop }
}

/// Random graphs of two densities that overlap: neither class can be learned without mistakes.
fn sparse_and_dense(count: usize) -> GraphSet {
    let graph = |i: usize| {
        let n = 8 + i % 5;
        let p = stream(i as u64, "density", 0).random_range(0.15..0.4) + if i.is_multiple_of(2) { 0.0 } else { 0.15 };
        generate::erdos_renyi(n, p, i as u64).unwrap()
    };
    let labels = Labels::new((0..count as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
    GraphSet::new((0..count).map(graph).collect(), labels, None).unwrap()
}

fn config(set: &GraphSet, backbone: Backbone, epochs: usize) -> GraphConfig {
    let (mut classifier, training, _) = Recipe::Default.graph_settings(backbone);
    classifier.network.hidden = 6;
    let node_features = NodeFeatures::of(set.graphs());
    GraphConfig {
        classifier,
        preparation: GraphPreparation {
            operator: OperatorChoice::Usual,
            features: FeatureScaling::AsLoaded,
            node_features,
        },
        training: TrainConfig { epochs, ..training },
        batch_size: 16,
        corruption: None,
        augment: Augment::None,
        head_epochs: 10,
        components: Components::Fixed(2),
        augmentation: AugmentSettings::default(),
    }
}

fn all_runs(set: &GraphSet, config: &GraphConfig) -> Vec<Run> {
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(set, config, 5).unwrap();
    let folds = Split::folds(set.labels(), 4, 5).unwrap();
    graph::runs(&prepared, config, &folds, 1, 5, &quiet(&stop)).unwrap()
}

/// Everything but times.
fn results(runs: &[Run]) -> Vec<(f64, f64, Vec<Epoch>, Vec<f32>)> {
    let of = |r: &Run| (r.test_accuracy, r.val_accuracy, r.trained.curve.clone(), r.test_probabilities.data().to_vec());
    runs.iter().map(of).collect()
}

fn in_graph_space() -> impl Iterator<Item = (&'static str, Augment)> {
    Augment::ALL.into_iter().filter(|(_, augment)| augment.uses_graphs())
}

#[test]
fn every_augmentation_trains_repeats_and_ignores_threads() {
    let set = sparse_and_dense(40);
    let plain = results(&all_runs(&set, &config(&set, Backbone::Gcn, 4)));
    let mut seen = vec![plain];
    for (name, augment) in Augment::ALL.into_iter().skip(1) {
        for copies in [Copies::EachEpoch, Copies::Fixed] {
            if copies == Copies::Fixed && !augment.uses_graphs() {
                continue;
            }
            let augmentation = AugmentSettings { copies, ..AugmentSettings::default() };
            let config = GraphConfig { augment, augmentation, ..config(&set, Backbone::Gcn, 4) };
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| all_runs(&set, &config))
            };
            let runs = run(1);
            assert_eq!(results(&runs), results(&run(3)), "{name}, {copies:?}");
            assert!(runs.iter().all(|r| r.copy_seconds.is_some() == augment.uses_graphs()), "{name}");
            let found = results(&runs);
            assert!(!seen.contains(&found), "{name}, {copies:?} is like another");
            seen.push(found);
        }
    }
}

#[test]
fn strength_zero_changes_nothing_and_one_does() {
    let set = sparse_and_dense(40);
    let plain = config(&set, Backbone::Gin, 3);
    let with = |augment, strength| {
        let augmentation = AugmentSettings { strength: Some(strength), ..AugmentSettings::default() };
        results(&all_runs(&set, &GraphConfig { augment, augmentation, ..plain.clone() }))
    };
    let none = results(&all_runs(&set, &plain));
    for (name, augment) in in_graph_space() {
        if augment != Augment::Subgraph {
            assert_eq!(with(augment, 0.0), none, "{name}");
        }
        assert_ne!(with(augment, 0.6), none, "{name}");
    }
}

/// With α near 0 every share is all or nothing: a vector and its label are a graph's own, or both another's, and the loss of one batch of
/// all graphs is that without mixing. In between it is not.
#[test]
fn labels_are_mixed_as_vectors_are() {
    let set = sparse_and_dense(40);
    let mut plain = config(&set, Backbone::Gcn, 1);
    plain.classifier.head_dropout = 0.0;
    plain.batch_size = 64;
    let losses = |augment, strength| -> Vec<f32> {
        let augmentation = AugmentSettings { strength, ..AugmentSettings::default() };
        let runs = all_runs(&set, &GraphConfig { augment, augmentation, ..plain.clone() });
        runs.iter().map(|run| run.trained.curve[0].loss).collect()
    };
    let none = losses(Augment::None, None);
    let far = |found: Vec<f32>| found.iter().zip(&none).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far(losses(Augment::ManifoldMixup, Some(1e-4))) < 1e-6);
    assert!(far(losses(Augment::ManifoldMixup, Some(100.0))) > 1e-3);
}

#[test]
fn corruption_goes_with_every_augmentation() {
    let set = sparse_and_dense(32);
    for (name, augment) in Augment::ALL {
        for (share, keep_degrees) in [(0.1, false), (0.2, false), (0.2, true)] {
            let corruption = Some(TrainingCorruption { edges: Corruption::new(share).unwrap(), keep_degrees });
            let corrupted = GraphConfig { augment, corruption, ..config(&set, Backbone::Gcn, 2) };
            let runs = all_runs(&set, &corrupted);
            assert!(runs.iter().all(|r| r.trained.curve.iter().all(|e| e.loss.is_finite())), "{name}");
            let clean = GraphConfig { corruption: None, ..corrupted };
            assert_ne!(results(&runs), results(&all_runs(&set, &clean)), "{name}: it reaches what is trained on");
        }
    }
}

#[test]
fn odd_sets_are_defined() {
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
    for set in [set(twenty(&odd), 2), set(twenty(&odd[..1]), 2), set(twenty(&odd[1..2]), 2), set(twenty(&odd), 1)] {
        for (name, augment) in Augment::ALL {
            for through in [Through::Head, Through::Network] {
                let select = (augment == Augment::Gratin).then_some(0.5);
                let augmentation = AugmentSettings { select, through, study: true, ..AugmentSettings::default() };
                let config = GraphConfig { augment, augmentation, head_epochs: 2, ..config(&set, Backbone::Gcn, 2) };
                for run in all_runs(&set, &config) {
                    assert!(run.trained.curve.iter().all(|e| e.loss.is_finite()), "{name}");
                    assert!(run.test_probabilities.data().iter().all(|p| p.is_finite()), "{name}");
                }
            }
        }
    }
    // One graph to train on: every partner is itself.
    let one = sparse_and_dense(4);
    let stop = AtomicBool::new(false);
    let split = Split::new("one", vec![0], vec![1], vec![2, 3]).unwrap();
    for (name, augment) in Augment::ALL {
        let config = GraphConfig { augment, ..config(&one, Backbone::Gcn, 2) };
        let prepared = PreparedSet::new(&one, &config, 5).unwrap();
        let (run, _) = graph::run(&prepared, &config, &split, 5, &quiet(&stop)).unwrap();
        assert_eq!(run.trained.curve.len(), 2, "{name}");
    }
    let no_validation = Split::new("none", vec![0, 1], vec![], vec![2]).unwrap();
    let augmentation = AugmentSettings { select: Some(0.5), ..AugmentSettings::default() };
    let config = GraphConfig { augment: Augment::Gratin, augmentation, ..config(&one, Backbone::Gcn, 2) };
    let prepared = PreparedSet::new(&one, &config, 5).unwrap();
    let e = graph::run(&prepared, &config, &no_validation, 5, &quiet(&stop)).unwrap_err().to_string();
    assert_eq!(e, "influence: an influence on an empty set; there must be a graph in it");
}

#[test]
fn the_filtering_curve_joins_the_control_and_gratin() {
    let set = sparse_and_dense(60);
    let plain = config(&set, Backbone::Gcn, 8);
    let with = |augment, select, study, through| {
        let augmentation = AugmentSettings { select, study, through, ..AugmentSettings::default() };
        all_runs(&set, &GraphConfig { augment, augmentation, ..plain.clone() })
    };
    let retrain = with(Augment::Retrain, None, false, Through::Head);
    let gratin = with(Augment::Gratin, None, false, Through::Head);
    let half = with(Augment::Gratin, Some(0.5), false, Through::Head);
    for through in [Through::Head, Through::Network] {
        let studied = with(Augment::Gratin, None, true, through);
        assert_eq!(results(&studied), results(&gratin), "looking changes nothing");
        for (i, run) in studied.iter().enumerate() {
            assert_eq!(
                run.fresh_head.as_ref().unwrap().retrain_test_accuracy,
                Some(retrain[i].test_accuracy),
                "its own control"
            );
            let drawn = run.fresh_head.as_ref().unwrap().drawn.as_ref().unwrap();
            let study = drawn.influence.as_ref().unwrap();
            let n = drawn.drawn;
            assert_eq!((drawn.kept, study.on_validation.len(), study.on_test.len()), (n, n, n));
            assert!(study.on_validation.iter().any(|x| *x > 0.0) && study.on_validation.iter().any(|x| *x < 0.0));
            assert!(drawn.distance > 0.0 && drawn.original_distance > 0.0);
            assert_eq!(study.filtering.len(), 11);
            let ends = [study.filtering[0], study.filtering[10]].map(|f| (f.kept, f.test_accuracy, f.val_accuracy));
            let of = |run: &Run, kept| (kept, run.test_accuracy, run.val_accuracy);
            assert_eq!(ends, [of(&retrain[i], 0), of(&gratin[i], n)], "nothing kept is the control, all is GRATIN");
            if through == Through::Head {
                let f = study.filtering[5];
                assert_eq!((f.kept, f.test_accuracy, f.val_accuracy), of(&half[i], n / 2), "and half is --select 0.5");
                assert_eq!(half[i].fresh_head.as_ref().unwrap().drawn.as_ref().unwrap().kept, n / 2);
            }
        }
    }
    let augmentation = AugmentSettings { select: Some(1.5), ..AugmentSettings::default() };
    let config = GraphConfig { augment: Augment::Gratin, augmentation, ..plain };
    let prepared = PreparedSet::new(&set, &config, 5).unwrap();
    let stop = AtomicBool::new(false);
    let fold = &Split::folds(set.labels(), 4, 5).unwrap()[0];
    let e = graph::run(&prepared, &config, fold, 5, &quiet(&stop)).unwrap_err().to_string();
    assert_eq!(e, "selection: a share of 1.5 candidates; it must lie in 0 to 1");
}

#[test]
fn levelled_classes_have_a_control_of_their_own() {
    let set = sparse_and_dense(60);
    let plain = config(&set, Backbone::Gcn, 8);
    let folds = Split::folds(set.labels(), 4, 5).unwrap();
    let uneven: Vec<Split> = folds.iter().map(|fold| fold.fewer(set.labels(), &[12, 3], 1).unwrap()).collect();
    let stop = AtomicBool::new(false);
    let with = |augment, density, draws| {
        let augmentation = AugmentSettings { density, draws, ..AugmentSettings::default() };
        let config = GraphConfig { augment, augmentation, ..plain.clone() };
        let prepared = PreparedSet::new(&set, &config, 5).unwrap();
        graph::runs(&prepared, &config, &uneven, 1, 5, &quiet(&stop)).unwrap()
    };
    let as_many = with(Augment::Retrain, Density::Mixture(Default::default()), Draws::AsMany);
    let level = with(Augment::Retrain, Density::Mixture(Default::default()), Draws::Level);
    assert_ne!(results(&as_many), results(&level), "repeating the rare class changes its head");
    for density in Density::all() {
        let name = density.name();
        let gratin = with(Augment::Gratin, density, Draws::Level);
        for (run, control) in gratin.iter().zip(&level) {
            let before = run.fresh_head.as_ref().unwrap();
            assert_eq!(before.retrain_test_accuracy, Some(control.test_accuracy), "{name}");
            let drawn = before.drawn.as_ref().unwrap();
            assert_eq!((drawn.drawn, drawn.kept), (12 + 21, 12 + 21), "{name}: 24 of each with those that are there");
        }
    }
}

/// The gradient of a mean cross-entropy at the classifier's parameters, one after the other.
fn gradient(classifier: &GraphClassifier, on: &Evaluation, item: Option<usize>) -> Vec<f64> {
    let weights = classifier.params().weights().unwrap();
    let pass = Pass::evaluation(&weights);
    let scores: Vec<_> = on.batches().iter().map(|batch| classifier.scores(batch, &pass).unwrap()).collect();
    let scores = candle_core::Tensor::cat(&scores, 0).unwrap();
    let rows: Vec<u32> = item.map_or_else(|| (0..on.classes().len() as u32).collect(), |i| vec![i as u32]);
    let classes = rows.iter().map(|&i| on.classes()[i as usize]).collect();
    let loss = gnarl::tensor::masked_cross_entropy(&scores, &Arc::new(rows), &Arc::new(classes)).unwrap();
    let grads = loss.backward().unwrap();
    let of = |p: &Param| match grads.get(&p.var) {
        Some(grad) => grad.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
        None => vec![0.0; p.var.elem_count()],
    };
    classifier.params().list().iter().flat_map(of).map(f64::from).collect()
}

/// Moves parameter `at` of the flat list by `by`.
fn nudge(classifier: &GraphClassifier, mut at: usize, by: f32) {
    for p in classifier.params().list() {
        if at < p.var.elem_count() {
            let mut values = p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            values[at] += by;
            let moved = candle_core::Tensor::from_vec(values, p.var.dims(), &candle_core::Device::Cpu).unwrap();
            return p.var.set(&moved).unwrap();
        }
        at -= p.var.elem_count();
    }
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |v: &[f64]| v.iter().map(|x| x - v.iter().sum::<f64>() / v.len() as f64).collect::<Vec<_>>();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a, b) = (centred(a), centred(b));
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// Products, conjugate gradients and directional differences against the whole Fisher information, entry by entry, and gradients of single
/// graphs.
#[test]
fn influence_through_the_network_is_that_of_the_whole_fisher_information() {
    let set = sparse_and_dense(80);
    let mut config = config(&set, Backbone::Gcn, 150);
    config.classifier.network.hidden = 4;
    config.classifier.head_dropout = 0.0;
    config.training.keep = Keep::Last;
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(&set, &config, 5).unwrap();
    let fold = &Split::folds(set.labels(), 4, 5).unwrap()[0];
    let (_, classifier) = graph::run(&prepared, &config, fold, 5, &quiet(&stop)).unwrap();
    let part = |graphs: &[u32]| {
        let classes: Vec<u32> = graphs.iter().map(|&g| set.labels().get(g).unwrap()).collect();
        Evaluation::new(&prepared.data, graphs, &classes).unwrap()
    };
    let (train, val, test) = (part(fold.train()), part(fold.val()), part(fold.test()));
    let decay = config.training.weight_decay;
    let network = NetworkInfluence::new(&classifier, train.batches(), train.classes(), decay).unwrap();
    let n = network.num_parameters();
    assert_eq!(n, classifier.params().num_trained());
    let direction = network.direction(val.batches(), val.classes()).unwrap();
    assert!(direction.residual < 0.01, "{}", direction.residual);
    let graphs = network.of(Items::Graphs(test.batches()), test.classes(), &direction).unwrap();
    let vectors = network.of(Items::Vectors(&test.latent(&classifier).unwrap()), test.classes(), &direction).unwrap();

    // mean of Jᵀ (diag(p) - p pᵀ) J, each column of the Jacobian by a difference of scores.
    const H: f32 = 2e-3;
    let scores = || graph::scores(&classifier, train.batches()).unwrap().to_vec2::<f32>().unwrap();
    let jacobian: Vec<Vec<f64>> = (0..n)
        .map(|j| {
            nudge(&classifier, j, H);
            let ahead = scores().concat();
            nudge(&classifier, j, -2.0 * H);
            let behind = scores().concat();
            nudge(&classifier, j, H);
            ahead.iter().zip(&behind).map(|(a, b)| f64::from(a - b) / (2.0 * f64::from(H))).collect()
        })
        .collect();
    let mut fisher = vec![0.0; n * n];
    let count = train.classes().len();
    for (i, z) in scores().iter().enumerate() {
        let p = 1.0 / (1.0 + f64::from(z[1] - z[0]).exp());
        // Of two classes: p (1 - p) times the square of the difference of scores.
        let apart: Vec<f64> = jacobian.iter().map(|column| column[2 * i] - column[2 * i + 1]).collect();
        for a in 0..n {
            for b in 0..n {
                fisher[a * n + b] += p * (1.0 - p) * apart[a] * apart[b] / count as f64;
            }
        }
    }
    (0..n).for_each(|j| fisher[j * n + j] += decay + direction.damping);
    let solution = gnarl_linalg::cholesky_solve(n, &fisher, &gradient(&classifier, &val, None)).unwrap();
    let dot = |g: &[f64], from: usize| g[from..].iter().zip(&solution[from..]).map(|(g, x)| g * x).sum::<f64>();
    let of_item = |from: usize| -> Vec<f64> {
        (0..test.classes().len()).map(|i| dot(&gradient(&classifier, &test, Some(i)), from)).collect()
    };
    let head_from = n - (4 + 1) * 2;
    for (found, expected, what) in [(&graphs, of_item(0), "graphs"), (&vectors, of_item(head_from), "vectors")] {
        assert!(correlation(found, &expected) > 0.99, "{what}: {found:?}, not {expected:?}");
        let sizes = [&found[..], &expected].map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt());
        assert!((sizes[0] / sizes[1] - 1.0).abs() < 0.1, "{what}: {sizes:?}");
    }
}
