//! Graph classification end to end, on generated graphs.

use std::sync::atomic::AtomicBool;

use gnarl::augment::{Augment, AugmentSettings, Augmentation, Components, Copies, Corruption, GraphTransform};
use gnarl::features::FeatureScaling;
use gnarl::nn::{Backbone, ClassifierConfig, GraphClassifier, Head, NetworkConfig, Pass, Readout, Shape};
use gnarl::operator::OperatorChoice;
use gnarl::operator::{Cgso, Initialisation};
use gnarl::task::graph::{
    self, GraphConfig, GraphData, GraphPreparation, HeadTraining, NodeFeatures, PreparedSet, Run, TrainingCorruption,
    Vectors, train_head,
};
use gnarl::task::recipe::Recipe;
use gnarl::train::{Checkpoint, Epoch, Keep, Stored, TrainConfig, Watch};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::random::{Rng, stream};
use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph, GraphSet, Labels, Split, generate};
use rand::RngExt;
use rand::seq::SliceRandom;

fn quiet(stop: &AtomicBool) -> Watch<'_> {
    fn nothing(_: usize, _: &Epoch) {}
    Watch { on_epoch: &nothing, stop }
}

/// Cycles and stars of 4 to 9 nodes, in turn: degrees tell them apart.
fn cycles_and_stars(count: usize) -> GraphSet {
    let graph = |i: usize| {
        let n = 4 + i / 2 % 6;
        if i.is_multiple_of(2) { generate::cycle(n).unwrap() } else { generate::star(n).unwrap() }
    };
    let labels = Labels::new((0..count as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
    GraphSet::new((0..count).map(graph).collect(), labels, None).unwrap()
}

/// Graphs of every odd kind: none, one and several nodes, no edges, two parts, a dense one.
fn odd_graphs() -> Vec<Graph> {
    let two_parts = Graph::from_edges(6, [(0, 1), (1, 2), (0, 2), (4, 5)]).unwrap().0;
    vec![
        generate::star(6).unwrap(),
        Graph::empty(0).unwrap(),
        Graph::empty(1).unwrap(),
        two_parts,
        Graph::empty(3).unwrap(),
        generate::erdos_renyi(12, 0.6, 1).unwrap(),
        generate::path(2).unwrap(),
    ]
}

fn with_features(graphs: Vec<Graph>, sparse: bool) -> Vec<Graph> {
    let features = |(i, graph): (usize, Graph)| {
        let rng = &mut stream(i as u64, "graph test features", 0);
        let dense: Vec<f32> = (0..5 * graph.num_nodes()).map(|_| rng.random_range(0.1..1.0)).collect();
        let dense = DenseMatrix::new(graph.num_nodes(), 5, dense).unwrap();
        let features = if sparse { Features::Sparse(CsrMatrix::from_dense(&dense)) } else { Features::Dense(dense) };
        graph.with_features(features).unwrap()
    };
    graphs.into_iter().enumerate().map(features).collect()
}

fn preparation(graphs: &[Graph], operator: OperatorChoice) -> GraphPreparation {
    GraphPreparation { operator, features: FeatureScaling::AsLoaded, node_features: NodeFeatures::of(graphs) }
}

fn classifier_config(backbone: Backbone) -> ClassifierConfig {
    let network = NetworkConfig { hidden: 8, heads: 2, dropout: 0.0, ..NetworkConfig::new(backbone) };
    let heads = if matches!(backbone, Backbone::Gat | Backbone::GatV2) { 2 } else { 1 };
    ClassifierConfig { network: NetworkConfig { heads, ..network }, readout: Readout::Mean, head_dropout: 0.0 }
}

fn classifier(data: &GraphData, config: ClassifierConfig) -> GraphClassifier {
    let scalars = data.propagation().scalars();
    GraphClassifier::new(&config, &Shape::new(data.in_dim(), 3, 1.1).with_scalars(&scalars), 7).unwrap()
}

fn scores(classifier: &GraphClassifier, data: &GraphData, graphs: &[u32], size: usize) -> Vec<Vec<f32>> {
    graph::scores(classifier, &data.batches(graphs, size).unwrap()).unwrap().to_vec2().unwrap()
}

fn assert_close(a: &[Vec<f32>], b: &[Vec<f32>], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().flatten().zip(b.iter().flatten()).enumerate() {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{what}, value {i}: {a}, not {b}");
    }
}

fn backbones() -> impl Iterator<Item = (&'static str, Backbone)> {
    Backbone::ALL.into_iter().filter(|(_, backbone)| *backbone != Backbone::AdaGcn)
}

/// The usual operator, a classical one that is not symmetric, and learned ones, whose PageRank is each graph's own.
fn operators(backbone: Backbone) -> Vec<OperatorChoice> {
    let learned = |centrality: &str| {
        let init = Initialisation::Of(ClassicalOperator::SignlessLaplacian);
        OperatorChoice::Cgso(Cgso { centrality: centrality.parse().unwrap(), init })
    };
    let mut all = vec![OperatorChoice::Usual, OperatorChoice::Classical(ClassicalOperator::RandomWalkLaplacian)];
    if backbone.fixed_operator().is_none() {
        all.extend([learned("pagerank"), learned("degree+core")]);
    }
    all
}

/// The odd graphs with features; without the lone node where PageRank is asked for, which has no value there.
fn odd_graphs_for(operator: OperatorChoice, sparse: bool) -> Vec<Graph> {
    let mut graphs = odd_graphs();
    if operator.to_string().contains("pagerank") {
        graphs[2] = generate::path(3).unwrap();
    }
    with_features(graphs, sparse)
}

#[test]
fn a_batch_gives_what_its_graphs_give_alone() {
    for (name, backbone) in backbones() {
        for (sparse, batch_norm) in [(true, false), (false, true)] {
            for operator in operators(backbone) {
                let graphs = odd_graphs_for(operator, sparse);
                let preparation = preparation(&graphs, operator);
                let data = GraphData::new(&graphs, backbone, &preparation).unwrap();
                let mut config = classifier_config(backbone);
                config.network.batch_norm = batch_norm;
                let classifier = classifier(&data, config);
                let twice = if let OperatorChoice::Cgso(_) = operator { &[][..] } else { &[0] };
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
                assert_close(&scores(&classifier, &data, &order, 3), &alone, &format!("{name} in threes"));
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
                let scores = classifier.scores(&data.batch(ids).unwrap(), &Pass::evaluation(&weights)).unwrap();
                let rows = std::sync::Arc::new((0..ids.len() as u32).collect());
                let classes = std::sync::Arc::new(ids.iter().map(|&g| classes[g as usize]).collect());
                let loss = gnarl::tensor::masked_cross_entropy(&scores, &rows, &classes).unwrap();
                let grads = loss.backward().unwrap();
                let of = |p: &gnarl::nn::Param| match grads.get(&p.var) {
                    Some(grad) => grad.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
                    None => vec![0.0; p.var.elem_count()],
                };
                classifier.params().list().iter().flat_map(of).collect()
            };
            let together = gradients(&[0, 1, 2, 3, 4, 5, 6]);
            assert!(together.iter().any(|g| g.abs() > 1e-3), "{name}: something is learned");
            let mut mean = vec![0f32; together.len()];
            for g in 0..7 {
                gradients(&[g]).iter().zip(&mut mean).for_each(|(g, mean)| *mean += g / 7.0);
            }
            assert_close(&[together], &[mean], &format!("{name} on {operator}"));
        }
    }
}

#[test]
fn the_order_of_nodes_does_not_matter() {
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
        for (_, readout) in Readout::ALL {
            let preparation = preparation(&graphs, OperatorChoice::Usual);
            let [a, b] = [&graphs, &permuted].map(|graphs| GraphData::new(graphs, backbone, &preparation).unwrap());
            let classifier = classifier(&a, ClassifierConfig { readout, ..classifier_config(backbone) });
            assert_close(
                &scores(&classifier, &a, &all, 99),
                &scores(&classifier, &b, &all, 99),
                &format!("{name}, {readout}"),
            );
        }
    }
}

fn config(set: &GraphSet, backbone: Backbone, epochs: usize) -> GraphConfig {
    let (mut classifier, training, _) = Recipe::Default.graph_settings(backbone);
    classifier.network.hidden = 8;
    GraphConfig {
        classifier,
        preparation: preparation(set.graphs(), OperatorChoice::Usual),
        training: TrainConfig { epochs, ..training },
        batch_size: 8,
        corruption: None,
        augment: Augment::None,
        head_epochs: 20,
        components: Components::Fixed(3),
        augmentation: AugmentSettings::default(),
    }
}

fn all_runs(set: &GraphSet, config: &GraphConfig, folds: usize, inits: usize) -> Vec<Run> {
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(set, config, 5).unwrap();
    let folds = Split::folds(set.labels(), folds, 5).unwrap();
    graph::runs(&prepared, config, &folds, inits, 5, &quiet(&stop)).unwrap()
}

/// What can be compared of runs: everything but times.
fn results(runs: &[Run]) -> Vec<(u64, String, f64, f64, Vec<Epoch>, usize)> {
    let of = |run: &Run| {
        let Run { seed, split, test_accuracy, val_accuracy, trained, .. } = run.clone();
        (seed, split, test_accuracy, val_accuracy, trained.curve, trained.kept_epoch)
    };
    runs.iter().map(of).collect()
}

fn mean_test(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.test_accuracy).sum::<f64>() / runs.len() as f64
}

#[test]
fn cycles_are_told_from_stars_by_every_fold() {
    let set = cycles_and_stars(48);
    for backbone in [Backbone::Gcn, Backbone::Gin] {
        let runs = all_runs(&set, &config(&set, backbone, 60), 6, 2);
        assert_eq!(runs.len(), 12);
        let seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
        assert_eq!(seeds, [5, 11, 6, 12, 7, 13, 8, 14, 9, 15, 10, 16], "fold by fold, each initialisation its own");
        assert_eq!(mean_test(&runs), 100.0, "{backbone}");
        assert_eq!(graph::by_fold(&runs, 2, |run| run.seed as f64), [8.0, 9.0, 10.0, 11.0, 12.0, 13.0]);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let set = cycles_and_stars(40);
    for (backbone, augment) in [(Backbone::Gcn, Augment::None), (Backbone::Gin, Augment::Gratin)] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let config = GraphConfig { augment, ..config(&set, backbone, 6) };
            pool.install(|| results(&all_runs(&set, &config, 4, 2)))
        };
        assert_eq!(run(1), run(3), "{backbone}");
    }
    // Steps of several parts, dropout between layers, and one step which stays.
    let set = cycles_and_stars(260);
    for batch_size in [130, 1000] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut config = GraphConfig { batch_size, ..config(&set, Backbone::Gin, 3) };
            config.classifier.network.dropout = 0.3;
            pool.install(|| results(&all_runs(&set, &config, 4, 1)))
        };
        assert_eq!(run(1), run(3), "{batch_size}");
    }
}

#[test]
fn a_fresh_head_is_a_control_of_its_own() {
    let set = cycles_and_stars(40);
    let plain = config(&set, Backbone::Gcn, 15);
    let with = |augment| all_runs(&set, &GraphConfig { augment, ..plain.clone() }, 4, 1);
    let (retrained, drawn) = (with(Augment::Retrain), with(Augment::Gratin));
    let plain = all_runs(&set, &plain, 4, 1);
    assert!(mean_test(&drawn) >= 90.0, "{}", mean_test(&drawn));
    for (plain, retrained) in plain.iter().chain(&plain).zip(retrained.iter().chain(&drawn)) {
        let before = retrained.fresh_head.as_ref().unwrap();
        assert_eq!(before.none_test_accuracy, plain.test_accuracy, "the same training before it");
        assert_eq!(plain.trained.curve, retrained.trained.curve);
        assert!(plain.fresh_head.is_none());
    }
    assert!(mean_test(&retrained) >= 90.0, "{}", mean_test(&retrained));
}

#[test]
fn a_head_takes_as_many_steps_as_asked() {
    let vectors = |values: &[f32], classes: &[u32]| Vectors {
        latent: candle_core::Tensor::from_slice(values, (classes.len(), 1), &candle_core::Device::Cpu).unwrap(),
        classes: classes.to_vec(),
    };
    let on = vectors(&[1.0, -1.0, 2.0, -2.0], &[0, 1, 0, 1]);
    let stop = AtomicBool::new(false);
    // Adam moves a weight by the learning rate in each step while the sign of its gradient stays.
    let moved = |epochs, steps| {
        let fresh = Head::new(1, 2, 0.0, 3).unwrap();
        let weight = |head: &Head| head.params().list()[0].var.flatten_all().unwrap().to_vec1::<f32>().unwrap()[0];
        let (before, training) = (weight(&fresh), HeadTraining { epochs, batch_size: 4, steps });
        let config = TrainConfig { weight_decay: 0.0, keep: Keep::Last, ..TrainConfig::default() };
        let (head, trained) = train_head(fresh, &on, &on, training, &config, 1, &quiet(&stop)).unwrap();
        assert_eq!(trained.curve.len(), epochs);
        (weight(&head) - before) / 0.01
    };
    assert!((moved(1, None) - 1.0).abs() < 0.02 && (moved(2, None) - 2.0).abs() < 0.05);
    assert!((moved(1, Some(3)) - 3.0).abs() < 0.1, "three passes in one epoch");
    let none = vectors(&[], &[]);
    let fresh = Head::new(1, 2, 0.0, 3).unwrap();
    let training = HeadTraining { epochs: 1, batch_size: 4, steps: None };
    let e = train_head(fresh, &none, &on, training, &TrainConfig::default(), 1, &quiet(&stop)).unwrap_err();
    assert_eq!(e.to_string(), "graph classification: there are no labelled graphs to train on");
}

/// Leaves a graph as it is, or takes all its edges.
#[derive(Debug)]
struct Cut {
    everything: bool,
}

impl GraphTransform for Cut {
    fn apply(&self, graph: &Graph, _rng: &mut Rng) -> gnarl_graph::Result<Graph> {
        if self.everything { Graph::empty(graph.num_nodes()) } else { Ok(graph.clone()) }
    }
}

#[test]
fn copies_of_training_graphs_take_their_place() {
    let set = cycles_and_stars(40);
    let config = config(&set, Backbone::Gcn, 6);
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(&set, &config, 5).unwrap();
    let fold = &Split::folds(set.labels(), 4, 5).unwrap()[0];
    let run = |augmentation: Option<Augmentation<'_>>| {
        let run = graph::run_augmented(&prepared, &config, augmentation, fold, 5, &quiet(&stop)).unwrap().0;
        results(&[run])
    };
    let with = |transform: &dyn GraphTransform, copies, keep_originals| {
        run(Some(Augmentation { transform, copies, keep_originals }))
    };
    let plain = run(None);
    let (same, edgeless) = (Cut { everything: false }, Cut { everything: true });
    for copies in [Copies::Fixed, Copies::EachEpoch] {
        assert_eq!(with(&same, copies, false), plain, "{copies:?}: copies that change nothing change nothing");
        assert_ne!(with(&edgeless, copies, false), plain, "{copies:?}");
        assert_ne!(with(&same, copies, true), plain, "{copies:?}: twice as many steps");
    }
    let noise = Corruption::new(0.5).unwrap();
    let (fixed, fresh) = (with(&noise, Copies::Fixed, false), with(&noise, Copies::EachEpoch, false));
    assert_ne!(fixed, fresh, "fresh copies differ from the first");
    assert_eq!(fresh, with(&noise, Copies::EachEpoch, false), "the same seed again");
}

#[test]
fn corruption_reaches_training_graphs_alone_and_degrees_by_choice() {
    let set = cycles_and_stars(40);
    let plain = config(&set, Backbone::Gcn, 4);
    let corrupted = |share, keep_degrees| {
        let corruption = TrainingCorruption { edges: Corruption::new(share).unwrap(), keep_degrees };
        let config = GraphConfig { corruption: Some(corruption), ..plain.clone() };
        results(&all_runs(&set, &config, 4, 1))
    };
    let as_is = results(&all_runs(&set, &plain, 4, 1));
    assert_eq!(corrupted(0.0, false), as_is, "no share of edges is no change");
    assert_eq!(corrupted(0.0, true), as_is);
    assert_ne!(corrupted(0.4, false), as_is);
    assert_ne!(corrupted(0.4, false), corrupted(0.4, true), "what degrees are of matters");
    let config = GraphConfig {
        corruption: Some(TrainingCorruption { edges: Corruption::new(1.0).unwrap(), keep_degrees: false }),
        ..plain.clone()
    };
    let prepared = PreparedSet::new(&set, &config, 5).unwrap();
    let alone = GraphData::new(set.graphs(), Backbone::Gcn, &config.preparation).unwrap();
    let classifier = prepared.classifier(&config.classifier, 1).unwrap();
    let all: Vec<u32> = (0..40).collect();
    assert_eq!(scores(&classifier, &prepared.data, &all, 9), scores(&classifier, &alone, &all, 9), "test graphs");
    assert_ne!(scores(&classifier, prepared.training_data(), &all, 9), scores(&classifier, &alone, &all, 9));
}

#[test]
fn a_checkpoint_predicts_what_the_classifier_did() {
    let set = cycles_and_stars(30);
    let stop = AtomicBool::new(false);
    let dir = tempfile::tempdir().unwrap();
    for backbone in [Backbone::Gin, Backbone::Pna, Backbone::GatV2] {
        let mut config = config(&set, backbone, 3);
        config.classifier.network.batch_norm = true;
        let prepared = PreparedSet::new(&set, &config, 5).unwrap();
        let fold = &Split::folds(set.labels(), 3, 5).unwrap()[0];
        let (_, classifier) = graph::run(&prepared, &config, fold, 1, &quiet(&stop)).unwrap();
        let file = dir.path().join(format!("{backbone}.safetensors"));
        let preparation = serde_json::to_value(config.preparation).unwrap();
        let mean_log_degree = prepared.data.mean_log_degree();
        let checkpoint = Checkpoint::of_classifier(&classifier, "own", mean_log_degree, preparation);
        checkpoint.save_params(classifier.params(), &file).unwrap();
        let stored = Stored::read(&file).unwrap();
        let found: GraphPreparation = serde_json::from_value(stored.checkpoint.preparation.clone()).unwrap();
        assert_eq!(found, config.preparation);
        let again = stored.classifier().unwrap().unwrap();
        let all: Vec<u32> = (0..30).collect();
        assert_eq!(scores(&again, &prepared.data, &all, 9), scores(&classifier, &prepared.data, &all, 9));
        let e = Checkpoint::load(&file).unwrap_err().to_string();
        assert!(e.contains("a classifier of graphs, where one of nodes is expected"), "{e}");
    }
}

fn set_of(graphs: Vec<Graph>, classes: &[Option<i64>]) -> GraphSet {
    GraphSet::new(graphs, Labels::from_values(classes.iter().copied()), None).unwrap()
}

#[test]
fn odd_sets_are_defined_or_refused_in_one_line() {
    // Empty graphs, lone nodes, graphs without edges, for every backbone that answers without a node to ask.
    let odd = odd_graphs();
    let classes: Vec<Option<i64>> = (0..21).map(|i| Some(i % 2)).collect();
    let repeated = |graphs: &[Graph]| graphs.iter().cycle().take(21).cloned().collect::<Vec<_>>();
    for (name, backbone) in backbones() {
        for graphs in [repeated(&odd), repeated(&[Graph::empty(0).unwrap()]), repeated(&[Graph::empty(1).unwrap()])] {
            let set = set_of(graphs, &classes);
            for (_, augment) in Augment::ALL {
                let config = GraphConfig { augment, head_epochs: 2, ..config(&set, backbone, 2) };
                let mut config = config;
                config.classifier.network.batch_norm = true;
                for run in all_runs(&set, &config, 3, 1) {
                    assert!(run.trained.curve.iter().all(|epoch| epoch.loss.is_finite()), "{name}");
                }
            }
        }
    }
    // One class: every graph is right.
    let one_class = set_of(odd.clone(), &[Some(4); 7]);
    assert_eq!(mean_test(&all_runs(&one_class, &config(&one_class, Backbone::Gcn, 2), 3, 1)), 100.0);

    let one = set_of(odd[..1].to_vec(), &[Some(0)]);
    let e = Split::folds(one.labels(), 10, 0).unwrap_err().to_string();
    assert_eq!(e, "folds: 10 folds of 1 labelled items: at least 3 and at most one item per fold");
    let stop = AtomicBool::new(false);
    let prepared = PreparedSet::new(&one, &config(&one, Backbone::Gcn, 2), 0).unwrap();
    let none = Split::new("none", vec![], vec![], vec![0]).unwrap();
    let one_config = config(&one, Backbone::Gcn, 2);
    let e = graph::run(&prepared, &one_config, &none, 0, &quiet(&stop)).unwrap_err().to_string();
    assert_eq!(e, "graph classification: there are no labelled graphs to train on");
    let e = graph::runs(&prepared, &one_config, &[], 1, 0, &quiet(&stop)).unwrap_err().to_string();
    assert_eq!(e, "graph classification: there is no fold to run on");
    let only = Split::new("only", vec![0], vec![], vec![]).unwrap();
    let run = graph::run(&prepared, &one_config, &only, 0, &quiet(&stop)).unwrap().0;
    assert_eq!((run.test_accuracy, run.trained.curve.len()), (0.0, 2), "nothing to test on, but it trains");

    let unlabelled = set_of(odd.clone(), &[None; 7]);
    let e = PreparedSet::new(&unlabelled, &config(&unlabelled, Backbone::Gcn, 2), 0).unwrap_err().to_string();
    assert_eq!(e, "graph classification: the set has no labelled graphs");
    let e = PreparedSet::new(&one, &one_config, 0).unwrap().classifier(
        &ClassifierConfig { network: NetworkConfig::new(Backbone::AdaGcn), ..one_config.classifier.clone() },
        0,
    );
    assert!(e.unwrap_err().to_string().contains("choose another model for a set of graphs"));
    let learned = operators(Backbone::Gcn)[2];
    let e = GraphData::new(&odd, Backbone::Gcn, &preparation(&odd, learned)).unwrap_err().to_string();
    assert_eq!(e, "centrality pagerank: 1 / (1 - PR) is infinite on a graph of one node");
    let data = GraphData::new(&odd[..2], Backbone::Gcn, &preparation(&odd, learned)).unwrap();
    let e = data.batch(&[1, 0, 1]).unwrap_err().to_string();
    assert_eq!(e, "graph classification: graph 1 stands twice in a batch for a learned operator");
    let e = GraphData::new(&odd, Backbone::Pna, &preparation(&odd, learned)).unwrap_err().to_string();
    assert!(e.starts_with("graph classification: pna does not use an operator's values"), "{e}");
}
