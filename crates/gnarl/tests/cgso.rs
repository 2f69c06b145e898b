//! Learnable operators end to end: every backbone, files, threads, and the selection of the
//! initialisation.

use crate::support;

use gnarl::model::FitOptions;
use gnarl::prelude::*;
use gnarl::study::train::{Run, TrainStudy};
use gnarl_data::Benchmark;
use gnarl_nn::networks::{Network, NetworkConfig};
use gnarl_nn::operator::{Initialisation, Prepared};
use gnarl_nn::train::{Callbacks, predict};
use support::{bytes, embedded, on_graph, on_threads, small};

fn cgso(centrality: &str, init: &str) -> Cgso {
    Cgso {
        centrality: centrality.parse().unwrap(),
        init: init.parse().unwrap(),
    }
}

fn network(graph: &Graph, prepared: &Prepared, backbone: Backbone, seed: u64) -> Network {
    let config = NetworkConfig {
        hidden: 16,
        ..NetworkConfig::new(backbone.where_taken("heads", 4))
    };
    Network::new(
        &config,
        &prepared.shape(graph.labels().unwrap().num_classes()),
        seed,
    )
    .unwrap()
}

const LEARNING: [Backbone; 8] = [
    Backbone::GCN,
    Backbone::GAT,
    Backbone::GATV2,
    Backbone::GIN,
    Backbone::SAGE,
    Backbone::SGC,
    Backbone::APPNP,
    Backbone::H2GCN,
];

/// Untrained and with V = D, the network equals that with the classical operator, for each of the
/// seven: no node of this graph is isolated. `A_hat` divides by the degrees without the self-loop
/// (see `Scalars::of`) and is another matrix.
#[test]
fn an_untrained_cgcn_is_a_gcn() {
    let graph = embedded();
    assert!((0..graph.num_nodes() as u32).all(|u| graph.degree(u) > 0));
    for backbone in [Backbone::GCN, Backbone::SGC, Backbone::SAGE] {
        for op in ClassicalOperator::ALL
            .into_iter()
            .filter(|op| *op != ClassicalOperator::NORMALISED_ADJACENCY)
        {
            let scores = |operator: OperatorChoice| {
                let prepared = Prepared::new(&graph, backbone, operator).unwrap();
                let network = network(&graph, &prepared, backbone, 3);
                let scores = predict(&network, &prepared.propagation, &prepared.input).unwrap();
                scores.flatten_all().unwrap().to_vec1::<f32>().unwrap()
            };
            let ours = scores(cgso("degree", &op.to_string()).into());
            let plain = scores(op.into());
            let size = plain.iter().fold(0f32, |size, x| size.max(x.abs()));
            for (a, b) in ours.iter().zip(&plain) {
                assert!(
                    (a - b).abs() <= 1e-6 * size,
                    "{backbone} with {op}: {a} against {b}"
                );
            }
        }
    }
}

#[test]
fn every_backbone_learns_its_operator() {
    let data = on_graph(embedded());
    for backbone in LEARNING {
        for centrality in ["core", "degree+pagerank"] {
            let operator = cgso(centrality, "L_sym");
            let fitted = small(backbone, 16)
                .operator(operator)
                .epochs(12)
                .fit(&data, 1)
                .unwrap();
            let (learned, start) = (&fitted.report().operator, operator.scalars());
            assert_eq!(
                (learned.len(), start.len()),
                if centrality == "core" {
                    (7, 7)
                } else {
                    (14, 14)
                }
            );
            for ((name, learned), start) in learned.iter().zip(&start) {
                assert!(learned.is_finite() && *name == start.name);
                // PageRank's v is so close to one that its exponents hardly matter; e1 has no
                // gradient until m1 leaves zero.
                let moves = !name.contains('e');
                assert!(
                    !moves || (learned - f64::from(start.start)).abs() > 1e-4,
                    "{backbone} {centrality}: {name}"
                );
            }
        }
    }
    let refused = |backbone: Backbone| {
        Model::new(backbone)
            .operator(cgso("core", "A"))
            .fit(&data, 1)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(Backbone::MLP),
        "operator: cgso, core, from A needs message passing, which mlp lacks; models that have it: every model but mlp"
    );
    let e = refused(Backbone::PNA);
    assert!(
        e.starts_with("operator: pna does not use an operator's values"),
        "{e}"
    );
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let data = on_graph(embedded());
    for backbone in [Backbone::GCN, Backbone::GATV2] {
        let model = Model::new(backbone)
            .features(FeatureScaling::AsLoaded)
            .operator(cgso("degree+walks", "H"))
            .epochs(10);
        let learned = |threads| on_threads(threads, || bytes(&model.fit(&data, 3).unwrap()));
        assert_eq!(learned(1), learned(2), "{backbone}");
    }
}

#[test]
fn a_saved_model_keeps_its_learned_operator() {
    let data = on_graph(embedded());
    let graph = data.content.graph().unwrap();
    let operator = cgso("degree+core", "L_rw");
    let fitted = small(Backbone::GCN, 16)
        .operator(operator)
        .epochs(10)
        .fit(&data, 1)
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cgcn.safetensors");
    fitted.save(&file).unwrap();
    let loaded = Fitted::load(&file).unwrap();
    assert_eq!(loaded.model(), fitted.model());
    assert_eq!(loaded.model().operator, operator.into());
    let scalars = |fitted: &Fitted| {
        fitted
            .network()
            .unwrap()
            .white_box()
            .unwrap()
            .network()
            .operator_scalars()
            .unwrap()
    };
    assert_eq!(scalars(&loaded), fitted.report().operator);
    let probabilities = |fitted: &Fitted| fitted.predict(&data.content).unwrap().probabilities;
    assert_eq!(probabilities(&loaded), probabilities(&fitted));
    // Scalars on a fixed operator, and a learnable operator without scalars, are errors.
    let fixed = Prepared::new(graph, Backbone::GCN, OperatorChoice::Default).unwrap();
    let with_scalars = loaded.network().unwrap().white_box().unwrap().network();
    let e = predict(with_scalars, &fixed.propagation, &fixed.input)
        .unwrap_err()
        .to_string();
    assert!(e.contains("the operator is not learned"), "{e}");
    let plain = network(graph, &fixed, Backbone::GCN, 1);
    let learnable = Prepared::new(graph, Backbone::GCN, operator.into()).unwrap();
    let e = predict(&plain, &learnable.propagation, &learnable.input)
        .unwrap_err()
        .to_string();
    assert!(e.contains("no scalars for it"), "{e}");
}

/// Each fit tries the seven initialisations and selects the best on its validation nodes; ties go
/// to the first. The final model is that of the named initialisation.
#[test]
fn the_initialisation_is_the_best_on_validation_nodes() {
    let data = on_graph(embedded());
    let by = |init: &str| {
        small(Backbone::GCN, 16)
            .operator(cgso("degree", init))
            .epochs(15)
    };
    let ready = by("auto")
        .ready("graph", &data.content, FitOptions::default())
        .unwrap();
    for seed in [5, 6] {
        let settled = ready.fit(&data.split, seed, &Callbacks::quiet()).unwrap();
        let tried: Vec<_> = settled.report().trials_of("init").collect();
        let names: Vec<String> = tried.iter().map(|t| t.value.clone()).collect();
        assert_eq!(names, ClassicalOperator::ALL.map(|op| op.to_string()));
        let OperatorChoice::Cgso(Cgso {
            init: Initialisation::Of(chosen),
            ..
        }) = settled.model().operator
        else {
            panic!("nothing was settled: {:?}", settled.model())
        };
        let best = tried
            .iter()
            .filter_map(|t| t.val_accuracy)
            .fold(0.0, f64::max);
        let first_best = tried.iter().find(|t| t.val_accuracy == Some(best)).unwrap();
        assert_eq!(first_best.value, chosen.to_string());
        assert_eq!(settled.report().val_accuracy, Some(best));
        let alone = by(&chosen.to_string()).fit(&data, seed).unwrap();
        assert!(alone.report().trials.is_empty());
        assert_eq!(
            bytes(&alone),
            bytes(&settled),
            "the model is that of the named initialisation"
        );
        // The validation accuracy of each of the seven equals that of the named initialisation.
        for t in tried {
            let named = by(&t.value).fit(&data, seed).unwrap();
            assert_eq!(named.report().val_accuracy, t.val_accuracy, "{}", t.value);
        }
    }
    let benchmark = Benchmark {
        name: "graph".into(),
        content: data.content.clone(),
        splits: vec![data.split.clone()],
    };
    let study = TrainStudy {
        runs: 2,
        seed: 5,
        ..TrainStudy::new(by("auto"))
    };
    let result = study.run(&benchmark, &Callbacks::quiet()).unwrap();
    let reports = result.initialisations();
    assert_eq!(reports.iter().map(|report| report.chosen).sum::<usize>(), 2);
    for report in &reports {
        let of = |run: &Run| {
            run.fit
                .trials_of("init")
                .find(|t| t.value == report.init)
                .unwrap()
                .val_accuracy
                .unwrap()
        };
        let mean = result.runs.iter().map(of).sum::<f64>() / 2.0;
        assert!((report.val_accuracy.unwrap() - mean).abs() < 1e-9);
        assert_eq!(
            report.chosen,
            result
                .runs
                .iter()
                .filter(|run| run.init.as_ref() == Some(&report.init))
                .count()
        );
    }
}
