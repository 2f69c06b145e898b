//! Helpers of several test files: data that needs no files, small models, and models as bytes.
#![allow(dead_code)]

use gnarl::prelude::*;
use gnarl_data::Benchmark;
use gnarl_graph::generate;
use gnarl_nn::networks::NetworkSetting;

/// The embedded graph of two classes, with its one split.
pub fn embedded() -> Graph {
    generate::csbm(&generate::CsbmConfig::default(), 0).unwrap()
}

/// Cycles and stars of 4 to 9 nodes, in turn: degrees separate them.
pub fn cycles_and_stars(count: usize) -> GraphSet {
    let graph = |i: usize| {
        let n = 4 + i / 2 % 6;
        if i.is_multiple_of(2) {
            generate::cycle(n).unwrap()
        } else {
            generate::star(n).unwrap()
        }
    };
    let labels = Labels::new((0..count as u32).map(|i| Some(i % 2)).collect(), 2).unwrap();
    GraphSet::new((0..count).map(graph).collect(), labels, None).unwrap()
}

/// Graphs of every unusual kind: zero, one and several nodes, no edges, two components, a dense
/// one.
pub fn odd_graphs() -> Vec<Graph> {
    let two_parts = Graph::from_edges(6, [(0, 1), (1, 2), (0, 2), (4, 5)])
        .unwrap()
        .0;
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

/// A set of graphs with these classes.
pub fn set_of(graphs: Vec<Graph>, classes: &[Option<i64>]) -> GraphSet {
    GraphSet::new(graphs, Labels::from_values(classes.iter().copied()), None).unwrap()
}

/// Sets of 21 unusual graphs of two classes: all kinds in turn, graphs without nodes, and graphs of
/// one node.
pub fn odd_sets() -> [GraphSet; 3] {
    let classes: Vec<Option<i64>> = (0..21).map(|i| Some(i % 2)).collect();
    let repeated = |graphs: &[Graph]| graphs.iter().cycle().take(21).cloned().collect::<Vec<_>>();
    [
        repeated(&odd_graphs()),
        repeated(&[Graph::empty(0).unwrap()]),
        repeated(&[Graph::empty(1).unwrap()]),
    ]
    .map(|graphs| set_of(graphs, &classes))
}

/// An augmentation whose new head, if any, is trained for two epochs.
pub fn with_short_head(augment: Augment) -> Augment {
    match augment.method().fresh_head() {
        Some(_) => augment.with(&[("head-epochs".into(), "2".into())]).unwrap(),
        None => augment,
    }
}

/// A graph with its first split.
pub fn on_graph(graph: Graph) -> SplitData {
    let split = graph.splits()[0].clone();
    SplitData {
        name: "graph".into(),
        content: Content::Graph(graph),
        split,
    }
}

/// A set with folds of one seed.
pub fn folds_of(set: &GraphSet, count: usize, seed: u64) -> Benchmark {
    let splits = Split::folds(set.labels(), count, seed).unwrap();
    Benchmark {
        name: "set".into(),
        content: Content::Graphs(set.clone()),
        splits,
    }
}

/// Model on unscaled features, with this width and few heads if it has these settings.
pub fn small(backbone: Backbone, hidden: usize) -> Model {
    let mut model = Model::new(backbone).features(FeatureScaling::AsLoaded);
    model.network.hidden = backbone.takes(NetworkSetting::Hidden).then_some(hidden);
    model.backbone = model.backbone.where_taken("heads", 2);
    model
}

/// Fitted model as bytes: its file.
pub fn bytes(fitted: &Fitted) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.safetensors");
    fitted.save(&file).unwrap();
    std::fs::read(file).unwrap()
}

/// Accuracy on the test nodes or graphs, per cent.
pub fn test_accuracy(fitted: &Fitted, on: &SplitData) -> f64 {
    let predictions = fitted.predict(&on.content).unwrap();
    fitted
        .accuracy_on(&predictions, &on.content, on.split.test())
        .unwrap()
        .unwrap()
}

/// Runs work on this many threads.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
        .install(work)
}
