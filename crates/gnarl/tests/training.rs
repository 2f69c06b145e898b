//! Node classification end to end, on the embedded graph.

use std::sync::atomic::AtomicBool;

use gnarl::features::FeatureScaling;
use gnarl::nn::{Backbone, NetworkConfig};
use gnarl::operator::OperatorChoice;
use gnarl::task::node::{self, Preparation, Prepared};
use gnarl::train::{Checkpoint, Epoch, TrainConfig, Watch, predict};
use gnarl_graph::{Graph, Labels, Split, generate};

const AS_IS: Preparation = Preparation { operator: OperatorChoice::Usual, features: FeatureScaling::AsLoaded };

fn embedded() -> Graph {
    generate::csbm(&generate::CsbmConfig::default(), 0).unwrap()
}

fn quiet(stop: &AtomicBool) -> Watch<'_> {
    fn nothing(_: usize, _: &Epoch) {}
    Watch { on_epoch: &nothing, stop }
}

fn epochs(epochs: usize) -> TrainConfig {
    TrainConfig { epochs, ..TrainConfig::default() }
}

#[test]
fn every_backbone_beats_the_majority_class() {
    let graph = embedded();
    let labels = graph.labels().unwrap();
    let majority = 100.0 * *labels.counts().iter().max().unwrap() as f64 / labels.len() as f64;
    let stop = AtomicBool::new(false);
    for (name, backbone) in Backbone::ALL {
        let prepared = Prepared::new(&graph, backbone, AS_IS).unwrap();
        let network = NetworkConfig {
            hidden: 32,
            heads: NetworkConfig::new(backbone).heads.min(4),
            ..NetworkConfig::new(backbone)
        };
        let (run, _) = node::run(&prepared, &network, &epochs(100), &graph.splits()[0], 1, &quiet(&stop)).unwrap();
        // An MLP sees noisy features alone; everything that passes messages must do far better than a constant answer.
        let margin = if backbone == Backbone::Mlp { 8.0 } else { 30.0 };
        assert!(run.test_accuracy > majority + margin, "{name}: {} against {majority}", run.test_accuracy);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let graph = embedded();
    for backbone in [Backbone::Gcn, Backbone::GatV2, Backbone::Gin] {
        let weights = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let stop = AtomicBool::new(false);
                let prepared = Prepared::new(&graph, backbone, AS_IS).unwrap();
                let config = NetworkConfig::new(backbone);
                let (run, network) =
                    node::run(&prepared, &config, &epochs(20), &graph.splits()[0], 3, &quiet(&stop)).unwrap();
                let bits: Vec<u32> = network
                    .params()
                    .list()
                    .iter()
                    .flat_map(|p| p.var.flatten_all().unwrap().to_vec1::<f32>().unwrap())
                    .map(f32::to_bits)
                    .collect();
                (run.test_accuracy, bits)
            })
        };
        assert_eq!(weights(1), weights(2), "{backbone}");
    }
}

#[test]
fn runs_side_by_side_are_runs_one_by_one() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    let prepared = Prepared::new(&graph, Backbone::Gcn, AS_IS).unwrap();
    let config = NetworkConfig::new(Backbone::Gcn);
    let splits = graph.splits();
    let together = node::runs(&prepared, &config, &epochs(30), splits, 3, 5, &quiet(&stop)).unwrap();
    for (i, run) in together.iter().enumerate() {
        let (alone, _) = node::run(&prepared, &config, &epochs(30), &splits[0], 5 + i as u64, &quiet(&stop)).unwrap();
        assert_eq!((run.test_accuracy, &run.trained.curve), (alone.test_accuracy, &alone.trained.curve));
    }
    assert_ne!(together[0].trained.curve, together[1].trained.curve, "another seed, another run");
}

#[test]
fn a_checkpoint_predicts_what_the_model_did() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    let dir = tempfile::tempdir().unwrap();
    for (name, backbone) in Backbone::ALL {
        let prepared = Prepared::new(&graph, backbone, AS_IS).unwrap();
        let config = NetworkConfig { hidden: 16, heads: 1, batch_norm: true, ..NetworkConfig::new(backbone) };
        let (_, network) = node::run(&prepared, &config, &epochs(5), &graph.splits()[0], 1, &quiet(&stop)).unwrap();
        let file = dir.path().join(format!("{name}.safetensors"));
        let preparation = serde_json::to_value(AS_IS).unwrap();
        Checkpoint::new(&network, "csbm", prepared.mean_log_degree, preparation).save(&network, &file).unwrap();
        let (found, again) = Checkpoint::load(&file).unwrap();
        assert_eq!(found.network, config);
        let scores =
            |network| predict(network, &prepared.propagation, &prepared.input).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(scores(&network), scores(&again), "{name}");
    }
    let broken = dir.path().join("broken.safetensors");
    std::fs::write(&broken, b"not a checkpoint").unwrap();
    let e = Checkpoint::load(&broken).unwrap_err().to_string();
    assert!(e.contains("broken.safetensors") && e.contains("not a safetensors file"), "{e}");
}

#[test]
fn a_loss_out_of_range_ends_with_advice() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    let prepared = Prepared::new(&graph, Backbone::Gcn, AS_IS).unwrap();
    let config = NetworkConfig::new(Backbone::Gcn);
    let wild = TrainConfig { learning_rate: 1e38, ..epochs(20) };
    let e = node::run(&prepared, &config, &wild, &graph.splits()[0], 1, &quiet(&stop)).unwrap_err().to_string();
    assert!(
        e.contains("the loss became") && e.contains("at epoch") && e.contains("a smaller learning rate than"),
        "{e}"
    );
}

#[test]
fn what_cannot_train_is_refused() {
    let stop = AtomicBool::new(false);
    let graph = Graph::from_edges(4, [(0, 1), (2, 3)]).unwrap().0;
    let e = Prepared::new(&graph, Backbone::Gcn, AS_IS).unwrap_err().to_string();
    assert!(e.contains("no labels"), "{e}");
    let graph = graph.with_labels(Labels::new(vec![None, Some(0), Some(1), None], 2).unwrap()).unwrap();
    let prepared = Prepared::new(&graph, Backbone::Gcn, AS_IS).unwrap();
    let config = NetworkConfig::new(Backbone::Gcn);
    let split = Split::new("blank", vec![0, 3], vec![1], vec![2]).unwrap();
    let e = node::run(&prepared, &config, &epochs(5), &split, 1, &quiet(&stop)).unwrap_err().to_string();
    assert!(e.contains("split blank has no labelled training items"), "{e}");
    for bad in [
        NetworkConfig { hidden: 0, ..config.clone() },
        NetworkConfig { dropout: 1.0, ..config.clone() },
        NetworkConfig { layers: 0, ..config.clone() },
        NetworkConfig { heads: 3, ..NetworkConfig::new(Backbone::Gat) },
    ] {
        assert!(prepared.network(&bad, 1).is_err(), "{bad:?}");
    }
    for bad in [
        TrainConfig { epochs: 0, ..epochs(1) },
        TrainConfig { learning_rate: f64::NAN, ..epochs(1) },
        TrainConfig { weight_decay: -1.0, ..epochs(1) },
        TrainConfig { patience: Some(0), ..epochs(1) },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn a_stop_ends_after_the_epoch_and_patience_ends_early() {
    let graph = embedded();
    let prepared = Prepared::new(&graph, Backbone::Gcn, AS_IS).unwrap();
    let config = NetworkConfig::new(Backbone::Gcn);
    let stop = AtomicBool::new(true);
    let (run, _) = node::run(&prepared, &config, &epochs(50), &graph.splits()[0], 1, &quiet(&stop)).unwrap();
    assert_eq!((run.trained.curve.len(), run.trained.interrupted), (1, true));
    let stop = AtomicBool::new(false);
    let impatient = TrainConfig { patience: Some(5), learning_rate: 0.1, ..epochs(500) };
    let (run, _) = node::run(&prepared, &config, &impatient, &graph.splits()[0], 1, &quiet(&stop)).unwrap();
    assert!(run.trained.curve.len() < 500 && !run.trained.interrupted, "{}", run.trained.curve.len());
}

#[test]
fn renaming_nodes_renames_predictions() {
    let graph = embedded();
    let n = graph.num_nodes() as u32;
    let order: Vec<u32> = (0..n).map(|u| (u * 7 + 3) % n).collect();
    let permuted = graph.permute(&order).unwrap();
    for (name, backbone) in Backbone::ALL {
        let config = NetworkConfig { hidden: 16, heads: 1, ..NetworkConfig::new(backbone) };
        let scores = |graph: &Graph| {
            let prepared = Prepared::new(graph, backbone, AS_IS).unwrap();
            let network = prepared.network(&config, 4).unwrap();
            predict(&network, &prepared.propagation, &prepared.input).unwrap().to_vec2::<f32>().unwrap()
        };
        let (here, there) = (scores(&graph), scores(&permuted));
        for u in 0..n as usize {
            for (a, b) in here[u].iter().zip(&there[order[u] as usize]) {
                assert!((a - b).abs() < 1e-4 * (1.0 + a.abs()), "{name} node {u}: {a} against {b}");
            }
        }
    }
}
