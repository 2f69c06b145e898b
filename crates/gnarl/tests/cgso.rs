//! Learnable operators end to end: every backbone, checkpoints, threads, and the choice of the initialisation.

use std::sync::atomic::AtomicBool;

use gnarl::features::FeatureScaling;
use gnarl::nn::{Backbone, NetworkConfig};
use gnarl::operator::OperatorChoice;
use gnarl::operator::{Cgso, Initialisation};
use gnarl::task::node::{self, Preparation, Prepared};
use gnarl::train::{Checkpoint, Epoch, TrainConfig, Watch, predict};
use gnarl_graph::operator::ClassicalOperator;
use gnarl_graph::{Graph, generate};

fn embedded() -> Graph {
    generate::csbm(&generate::CsbmConfig::default(), 0).unwrap()
}

fn preparation(centrality: &str, init: &str) -> Preparation {
    let config = Cgso { centrality: centrality.parse().unwrap(), init: init.parse().unwrap() };
    Preparation { operator: OperatorChoice::Cgso(config), features: FeatureScaling::AsLoaded }
}

fn quiet(stop: &AtomicBool) -> Watch<'_> {
    fn nothing(_: usize, _: &Epoch) {}
    Watch { on_epoch: &nothing, stop }
}

fn epochs(epochs: usize) -> TrainConfig {
    TrainConfig { epochs, ..TrainConfig::default() }
}

fn network(backbone: Backbone) -> NetworkConfig {
    NetworkConfig { hidden: 16, heads: NetworkConfig::new(backbone).heads.min(4), ..NetworkConfig::new(backbone) }
}

const LISTENING: [Backbone; 8] = [
    Backbone::Gcn,
    Backbone::Gat,
    Backbone::GatV2,
    Backbone::Gin,
    Backbone::Sage,
    Backbone::Sgc,
    Backbone::Appnp,
    Backbone::H2gcn,
];

/// Untrained and with V = D, the network is the one with the classical operator, for each of the seven: no node of this
/// graph is alone. `A_hat` divides by the degrees without the self-loop (see `Scalars::of`) and is another matrix.
#[test]
fn an_untrained_cgcn_is_a_gcn() {
    let graph = embedded();
    assert!((0..graph.num_nodes() as u32).all(|u| graph.degree(u) > 0));
    for backbone in [Backbone::Gcn, Backbone::Sgc, Backbone::Sage] {
        for op in ClassicalOperator::ALL.into_iter().filter(|op| *op != ClassicalOperator::NormalisedAdjacency) {
            let scores = |preparation: Preparation| {
                let prepared = Prepared::new(&graph, backbone, preparation).unwrap();
                let network = prepared.network(&network(backbone), 3).unwrap();
                let scores = predict(&network, &prepared.propagation, &prepared.input).unwrap();
                scores.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            };
            let ours = scores(preparation("degree", &op.to_string()));
            let plain = scores(Preparation { operator: OperatorChoice::Classical(op), ..preparation("degree", "A") });
            let size = plain.iter().fold(0f32, |size, x| size.max(x.abs()));
            for (a, b) in ours.iter().zip(&plain) {
                assert!((a - b).abs() <= 1e-6 * size, "{backbone} with {op}: {a} against {b}");
            }
        }
    }
}

#[test]
fn every_backbone_learns_its_operator() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    for backbone in LISTENING {
        for centrality in ["core", "degree+pagerank"] {
            let prepared = Prepared::new(&graph, backbone, preparation(centrality, "L_sym")).unwrap();
            let (run, trained) =
                node::run(&prepared, &network(backbone), &epochs(12), &graph.splits()[0], 1, &quiet(&stop)).unwrap();
            let start = trained.scalars();
            assert_eq!(run.operator.len(), if centrality == "core" { 7 } else { 14 });
            for ((name, learned), start) in run.operator.iter().zip(&start) {
                assert!(learned.is_finite() && *name == start.name);
                // PageRank's v is so close to one that its exponents hardly matter; e1 waits for m1 to leave zero.
                let moves = !name.contains('e');
                assert!(!moves || (learned - f64::from(start.start)).abs() > 1e-4, "{backbone} {centrality}: {name}");
            }
        }
    }
    for deaf in [Backbone::Mlp, Backbone::Pna] {
        let e = Prepared::new(&graph, deaf, preparation("core", "A")).unwrap_err().to_string();
        assert!(e.contains("does not use an operator's values"), "{e}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let graph = embedded();
    for backbone in [Backbone::Gcn, Backbone::GatV2] {
        let learned = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let stop = AtomicBool::new(false);
                let prepared = Prepared::new(&graph, backbone, preparation("degree+walks", "H")).unwrap();
                let config = NetworkConfig::new(backbone);
                node::run(&prepared, &config, &epochs(10), &graph.splits()[0], 3, &quiet(&stop)).unwrap().0.operator
            })
        };
        assert_eq!(learned(1), learned(2), "{backbone}");
    }
}

#[test]
fn a_checkpoint_brings_the_learned_operator_back() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cgcn.safetensors");
    let how = preparation("degree+core", "L_rw");
    let prepared = Prepared::new(&graph, Backbone::Gcn, how).unwrap();
    let (run, trained) =
        node::run(&prepared, &network(Backbone::Gcn), &epochs(10), &graph.splits()[0], 1, &quiet(&stop)).unwrap();
    let description = serde_json::to_value(how).unwrap();
    Checkpoint::new(&trained, "csbm", prepared.mean_log_degree, description).save(&trained, &file).unwrap();
    let (checkpoint, loaded) = Checkpoint::load(&file).unwrap();
    assert_eq!(serde_json::from_value::<Preparation>(checkpoint.preparation).unwrap(), how);
    assert_eq!(loaded.operator_scalars().unwrap(), run.operator);
    let scores = |network| predict(network, &prepared.propagation, &prepared.input).unwrap().to_vec2::<f32>().unwrap();
    assert_eq!(scores(&loaded), scores(&trained));
    // A network with scalars on a fixed operator, and the other way round, is a mistake and not a guess.
    let fixed = Preparation { operator: OperatorChoice::Usual, ..how };
    let fixed = Prepared::new(&graph, Backbone::Gcn, fixed).unwrap();
    let e = predict(&loaded, &fixed.propagation, &fixed.input).unwrap_err().to_string();
    assert!(e.contains("the operator is not learned"), "{e}");
    let plain = fixed.network(&network(Backbone::Gcn), 1).unwrap();
    let e = predict(&plain, &prepared.propagation, &prepared.input).unwrap_err().to_string();
    assert!(e.contains("no scalars for it"), "{e}");
}

#[test]
fn the_initialisation_is_the_best_on_validation_nodes() {
    let graph = embedded();
    let stop = AtomicBool::new(false);
    let (config, training) = (network(Backbone::Gcn), epochs(15));
    let settle = |init: &str| {
        let how = preparation("degree", init);
        node::settled_runs(&graph, how, &config, &training, graph.splits(), 2, 5, &quiet(&stop)).unwrap()
    };
    let settled = settle("auto");
    assert_eq!(settled.tried.len(), 7);
    let best = settled.tried.iter().filter_map(|t| t.val_accuracy).fold(0.0, f64::max);
    let OperatorChoice::Cgso(Cgso { init: Initialisation::Of(chosen), .. }) = settled.preparation.operator else {
        panic!("nothing was settled: {:?}", settled.preparation)
    };
    let first_best = settled.tried.iter().find(|t| t.val_accuracy == Some(best)).unwrap();
    assert_eq!(first_best.init, chosen.to_string());
    let again = settle(&chosen.to_string());
    assert!(again.tried.is_empty());
    let accuracies = |runs: &[node::Run]| runs.iter().map(|r| (r.test_accuracy, r.val_accuracy)).collect::<Vec<_>>();
    assert_eq!(accuracies(&again.runs), accuracies(&settled.runs), "the runs are those of the named initialisation");
    let mean = settled.runs.iter().map(|r| r.val_accuracy).sum::<f64>() / 2.0;
    assert!((mean - best).abs() < 1e-9);
}
