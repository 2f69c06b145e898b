//! The data axis end to end, on generated graphs: augmentations in graph space, influence, selection.

use std::sync::atomic::AtomicBool;

use gnarl::augment::influence::{HeadInfluence, Labelled};
use gnarl::augment::network_influence::{Items, NetworkInfluence};
use gnarl::augment::{Augment, AugmentSettings, Components, Copies, Corruption, Through};
use gnarl::nn::Backbone;
use gnarl::task::graph::{
    self, Evaluation, GraphConfig, GraphPreparation, NodeFeatures, PreparedSet, Run, TrainingCorruption,
};
use gnarl::task::node::{FeatureScaling, OperatorChoice};
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
            let drawn = run.before.as_ref().unwrap().drawn.as_ref().unwrap();
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
                assert_eq!(half[i].before.as_ref().unwrap().drawn.as_ref().unwrap().kept, n / 2);
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

/// A network whose layers are frozen at the start of training would have the head's influence; here both are trained, so the two
/// rank candidates alike but not the same.
#[test]
fn the_network_and_the_head_rank_alike() {
    let set = sparse_and_dense(80);
    let mut config = config(&set, Backbone::Gcn, 120);
    config.classifier.head_dropout = 0.0;
    config.training.keep = Keep::Last;
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(&set, &config, 5).unwrap();
    let fold = &Split::folds(set.labels(), 4, 5).unwrap()[0];
    let (_, classifier) = graph::run(&prepared, &config, fold, 5, &quiet(&stop)).unwrap();
    let part = |graphs: &[u32]| {
        let classes: Vec<u32> = graphs.iter().map(|&g| set.labels().get(g).unwrap()).collect();
        Evaluation::new(&prepared.data, graphs, &classes, 16).unwrap()
    };
    let (train, val, test) = (part(fold.train()), part(fold.val()), part(fold.test()));
    let network =
        NetworkInfluence::new(&classifier, train.batches(), train.classes(), config.training.weight_decay).unwrap();
    assert_eq!(network.num_parameters(), classifier.params().num_trained());
    let direction = network.direction(val.batches(), val.classes()).unwrap();
    assert!(direction.residual < 0.05 && direction.damping >= 0.01, "{} {}", direction.residual, direction.damping);
    let graphs = network.of(Items::Graphs(test.batches()), test.classes(), &direction).unwrap();
    let latent = test.latent(&classifier).unwrap();
    let vectors = network.of(Items::Vectors(&latent), test.classes(), &direction).unwrap();
    assert_ne!(graphs, vectors, "graphs reach the layers, vectors the head alone");

    let [train, val, test] = [&train, &val, &test].map(|e| e.vectors(&classifier).unwrap());
    let matrices = [&train, &val, &test].map(|v| v.to_matrix().unwrap());
    let labelled = |i: usize, classes| Labelled { vectors: &matrices[i], classes };
    let head = HeadInfluence::new(labelled(0, &train.classes), 2, config.training.weight_decay).unwrap();
    let on = head.direction(labelled(1, &val.classes)).unwrap();
    let exact = head.of(labelled(2, &test.classes), &on).unwrap();
    let agreeing = exact.iter().zip(&vectors).filter(|(a, b)| a.signum() == b.signum()).count();
    assert!(agreeing * 10 >= exact.len() * 7, "{agreeing} of {}: {exact:?} {vectors:?}", exact.len());
}
