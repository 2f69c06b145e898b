//! Test helpers of several files: data that needs no files, small models, and models as bytes.
#![allow(dead_code)]

use gnarl::prelude::*;
use gnarl_data::Benchmark;
use gnarl_graph::generate;
use gnarl_nn::networks::NetworkSetting;

/// The embedded graph of two classes, with its one split.
pub fn embedded() -> Graph {
    generate::csbm(&generate::CsbmConfig::default(), 0).unwrap()
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
