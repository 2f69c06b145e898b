//! Data axis on the latent vectors of one graph's training nodes: Manifold-Mixup, and new heads
//! with or without GRATIN's vectors.

use crate::support;

use std::collections::BTreeMap;

use gnarl::augment::{Components, Samples};
use gnarl::model::FitOptions;
use gnarl::prelude::*;
use gnarl_data::Task;
use gnarl_nn::networks::{Network, NetworkConfig, NetworkSetting, Pass};
use gnarl_nn::operator::Prepared;
use gnarl_nn::train::{Callbacks, predict};
use support::{bytes, embedded, on_graph, on_threads, small, test_accuracy};

const GRATIN: Gratin = Gratin {
    components: Some(Components::Fixed(1)),
    head_epochs: 10,
    ..Gratin::DEFAULT
};
const RETRAIN: Retrain = Retrain {
    head_epochs: 10,
    ..Retrain::DEFAULT
};

fn on() -> SplitData {
    on_graph(embedded())
}

/// Values of a fitted model's parameters, by name.
fn values(fitted: &Fitted) -> BTreeMap<String, Vec<u8>> {
    let bytes = bytes(fitted);
    let found = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let params = found
        .tensors()
        .into_iter()
        .filter(|(name, _)| !name.starts_with("split."));
    params.map(|(name, t)| (name, t.data().to_vec())).collect()
}

/// Models that have a head on one graph.
fn headed() -> impl Iterator<Item = Backbone> {
    Backbone::named()
        .map(|(_, backbone)| backbone)
        .filter(|backbone| backbone.can_have_head())
}

/// Graph with other training and validation nodes.
fn split(train: &[u32], val: &[u32]) -> SplitData {
    let on = on();
    let split = Split::new(
        "own",
        train.to_vec(),
        val.to_vec(),
        on.split.test().to_vec(),
    )
    .unwrap();
    SplitData { split, ..on }
}

/// Training nodes of one class, in order.
fn of_class(on: &SplitData, class: u32) -> Vec<u32> {
    let labels = on.content.labels().unwrap();
    on.split
        .train()
        .iter()
        .copied()
        .filter(|&u| labels.get(u) == Some(class))
        .collect()
}

#[test]
fn retraining_changes_only_the_head() {
    let on = on();
    for backbone in headed() {
        let after = small(backbone, 6)
            .epochs(8)
            .augment(GRATIN)
            .fit(&on, 1)
            .unwrap();
        let head = after.plan().network.head;
        assert_eq!(
            head,
            !backbone.has_head(true),
            "{backbone}: given one where there is none"
        );
        let mut plain = small(backbone, 6).epochs(8);
        plain.network.head = head.then_some(true);
        let before = plain.fit(&on, 1).unwrap();
        let (before_values, after_values) = (values(&before), values(&after));
        assert!(before_values.keys().eq(after_values.keys()), "{backbone}");
        let changed = before_values
            .iter()
            .filter(|(name, value)| after_values[*name] != **value);
        let changed: Vec<&str> = changed.map(|(name, _)| name.as_str()).collect();
        let of_head = |name: &&str| {
            ["output.", "classify.", "layers.1."]
                .iter()
                .any(|head| name.starts_with(head))
        };
        assert!(
            !changed.is_empty() && changed.iter().all(of_head) && changed.len() <= 2,
            "{backbone}: {changed:?}"
        );
        let report = after.report().fresh_head.as_ref().unwrap();
        assert_eq!(
            report.none_test_accuracy,
            test_accuracy(&before, &on),
            "{backbone}"
        );
        assert_eq!(
            Some(report.none_val_accuracy),
            before.report().val_accuracy,
            "{backbone}"
        );
        let sampled = report.sampled.as_ref().unwrap();
        assert_eq!(
            (sampled.sampled, sampled.kept),
            (on.split.train().len(), on.split.train().len()),
            "{backbone}"
        );
    }
}

/// The vectors before the head and the head together are the network; this includes the last map of
/// layers.
#[test]
fn the_head_on_latent_vectors_is_the_network() {
    let on = on();
    let Content::Graph(graph) = &on.content else {
        panic!("one graph")
    };
    for backbone in headed() {
        for head in [false, true] {
            if head && !backbone.takes(NetworkSetting::Head) || !head && !backbone.has_head(true) {
                continue;
            }
            let prepared = Prepared::new(graph, backbone, OperatorChoice::Default).unwrap();
            let config = NetworkConfig {
                head,
                hidden: 6,
                ..NetworkConfig::new(backbone.where_taken("heads", 2))
            };
            let network = Network::new(&config, &prepared.shape(2), 1).unwrap();
            let (propagation, input) = (&prepared.propagation, &prepared.input);
            let scores = predict(&network, propagation, input).unwrap();
            let own = network.head().unwrap();
            let latent = network.latent(propagation, input).unwrap();
            let weights = network.params().weights().unwrap();
            let by_hand = own.forward(&latent, &Pass::evaluation(&weights)).unwrap();
            let far = (scores - by_hand)
                .unwrap()
                .abs()
                .unwrap()
                .max_all()
                .unwrap()
                .to_scalar::<f32>()
                .unwrap();
            assert!(far < 1e-5, "{backbone}, head {head}: {far}");
        }
    }
}

/// With none of the sampled vectors kept, the model is the control, parameter by parameter.
#[test]
fn zero_samples_are_the_control() {
    let on = on();
    for samples in [Samples::AsMany, Samples::Level] {
        let fit = |augment: Augment| {
            small(Backbone::GCN, 6)
                .epochs(8)
                .augment(augment)
                .fit(&on, 1)
                .unwrap()
        };
        let control = fit(Retrain { samples, ..RETRAIN }.into());
        let none = fit(Gratin {
            samples,
            select: Some(0.0),
            ..GRATIN
        }
        .into());
        let all = fit(Gratin { samples, ..GRATIN }.into());
        assert_eq!(values(&none), values(&control), "{samples}");
        assert_ne!(values(&all), values(&control), "{samples}");
        let known = all
            .report()
            .fresh_head
            .as_ref()
            .unwrap()
            .retrain_test_accuracy;
        assert_eq!(known, Some(test_accuracy(&control, &on)), "{samples}");
    }
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let on = on();
    for augment in [
        Augment::from(GRATIN),
        RETRAIN.into(),
        ManifoldMixup::default().into(),
    ] {
        let fit = || {
            bytes(
                &small(Backbone::GCN, 6)
                    .epochs(6)
                    .augment(augment)
                    .fit(&on, 1)
                    .unwrap(),
            )
        };
        assert_eq!(on_threads(1, fit), on_threads(4, fit), "{augment}");
    }
}

#[test]
fn mixup_changes_the_model_by_seed() {
    let on = on();
    for model in [
        small(Backbone::GCN, 6).epochs(6),
        small(Backbone::GCN, 6).epochs(6).depth(Exits::st(2)),
    ] {
        let mixup = model.augment(ManifoldMixup::default());
        let fit = |model: Model, seed: u64| values(&model.fit(&on, seed).unwrap());
        assert_ne!(fit(mixup, 1), fit(model, 1));
        assert_eq!(fit(mixup, 1), fit(mixup, 1));
        let weak = model.augment(ManifoldMixup { alpha: 0.1 });
        assert_ne!(
            fit(mixup, 1),
            fit(weak, 1),
            "weights are sampled with their alpha"
        );
    }
    let refused = small(Backbone::ADAGCN, 6)
        .augment(ManifoldMixup::default())
        .plan(Task::Node)
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("needs joint training, which adagcn lacks"),
        "{refused}"
    );
}

/// A new head has its own scale: the factor on scores of the previous head becomes one, and
/// predictions are the head's.
#[test]
fn the_gain_is_reset_with_the_head() {
    let on = on();
    for mut model in [
        small(Backbone::GCNII, 6).weights(Orthonormal::default()),
        small(Backbone::GCN, 6),
    ] {
        model.network.gain = Some(true);
        let fitted =
            |augment: Augment| values(&model.epochs(8).augment(augment).fit(&on, 1).unwrap());
        let factor = |values: &BTreeMap<String, Vec<u8>>| {
            f32::from_le_bytes(values["gain"][..4].try_into().unwrap())
        };
        assert_eq!(factor(&fitted(RETRAIN.into())), 0.0, "the logarithm of one");
        assert_eq!(factor(&fitted(GRATIN.into())), 0.0);
    }
}

/// Every other axis on, saved and loaded.
#[test]
fn sampled_vectors_combine_with_the_other_axes() {
    let on = on();
    let gcn = small(Backbone::GCN, 6).epochs(6);
    for (name, model) in [
        ("cgso", gcn.operator(Cgso::by(Centrality::DEGREE))),
        ("orthonormal", gcn.weights(Orthonormal::default())),
        ("parseval", gcn.weights(Parseval::default())),
        ("clean-crf", gcn.inference(CleanCrf::default())),
        ("jaccard", gcn.defense(Jaccard::default())),
    ] {
        for augment in [
            Augment::from(GRATIN),
            RETRAIN.into(),
            ManifoldMixup::default().into(),
        ] {
            let fitted = model.augment(augment).fit(&on, 1).unwrap();
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("model.safetensors");
            fitted.save(&file).unwrap();
            let loaded = Fitted::load(&file).unwrap();
            let answers = |fitted: &Fitted| fitted.predict(&on.content).unwrap().probabilities;
            assert_eq!(answers(&loaded), answers(&fitted), "{name}, {augment}");
        }
    }
}

#[test]
fn sampling_with_rare_and_missing_classes() {
    let all = on();
    let (zeros, ones) = (of_class(&all, 0), of_class(&all, 1));
    let val = all.split.val().to_vec();
    let level = Gratin {
        samples: Samples::Level,
        ..GRATIN
    };
    for density in gnarl::augment::Density::all() {
        let components = density.takes_components().then_some(Components::Auto);
        let model = small(Backbone::GCN, 6).epochs(6).augment(Gratin {
            density,
            components,
            ..level
        });
        // A class with one node, a class without nodes, and no validation nodes.
        for (what, train, val, drawn) in [
            (
                "one of a class",
                [&zeros[..], &ones[..1]].concat(),
                &val[..],
                3 * zeros.len() - 1,
            ),
            ("one class", zeros.clone(), &val[..], zeros.len()),
            (
                "no validation",
                [&zeros[..4], &ones[..4]].concat(),
                &[][..],
                8,
            ),
            ("one node", zeros[..1].to_vec(), &[][..], 1),
        ] {
            let on = split(&train, val);
            let fitted = model.fit(&on, 1).unwrap();
            let report = fitted
                .report()
                .fresh_head
                .as_ref()
                .unwrap()
                .sampled
                .as_ref()
                .unwrap();
            assert_eq!(report.sampled, drawn, "{density}, {what}");
            assert!(fitted.predict(&on.content).is_ok(), "{density}, {what}");
        }
    }
    let mixup = small(Backbone::GCN, 6)
        .epochs(6)
        .augment(ManifoldMixup::default());
    let plain = small(Backbone::GCN, 6).epochs(6);
    let alone = split(&zeros[..1], &val);
    let answers = |model: Model| {
        model
            .fit(&alone, 1)
            .unwrap()
            .predict(&alone.content)
            .unwrap()
            .probabilities
    };
    let (mixed, plain) = (answers(mixup), answers(plain));
    let far = mixed
        .data()
        .iter()
        .zip(plain.data())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(far < 1e-4, "one node has nobody to be mixed with: {far}");
    let nobody = split(&[], &val);
    for augment in [Augment::from(GRATIN), ManifoldMixup::default().into()] {
        let e = small(Backbone::GCN, 6)
            .augment(augment)
            .fit(&nobody, 1)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("no labelled training nodes") && !e.contains('\n'),
            "{e}"
        );
    }
}

/// Influence through the head selects vectors as on sets; its study ranges from the control to all
/// sampled vectors.
#[test]
fn influence_selects_sampled_vectors() {
    let on = on();
    let half = Gratin {
        select: Some(0.5),
        ..GRATIN
    };
    let fitted = small(Backbone::GCN, 6)
        .epochs(8)
        .augment(half)
        .fit(&on, 1)
        .unwrap();
    let sampled = fitted
        .report()
        .fresh_head
        .as_ref()
        .unwrap()
        .sampled
        .clone()
        .unwrap();
    assert_eq!(sampled.kept, sampled.sampled.div_ceil(2));
    let model = small(Backbone::GCN, 6).epochs(8).augment(GRATIN);
    let options = FitOptions {
        study_influence: true,
        ..FitOptions::default()
    };
    let ready = model.ready("graph", &on.content, options).unwrap();
    let studied = ready.fit(&on.split, 1, &Callbacks::quiet()).unwrap();
    let report = studied.report().fresh_head.clone().unwrap();
    let study = report.sampled.unwrap().influence.unwrap();
    assert_eq!(
        (study.on_validation.len(), study.on_test.len()),
        (on.split.train().len(), on.split.train().len())
    );
    assert_eq!(
        Some(study.filtering[0].test_accuracy),
        report.retrain_test_accuracy
    );
    assert_eq!(
        study.filtering[10].test_accuracy,
        test_accuracy(&studied, &on)
    );
    let nobody = split(on.split.train(), &[]);
    let e = small(Backbone::GCN, 6)
        .epochs(4)
        .augment(half)
        .fit(&nobody, 1)
        .unwrap_err()
        .to_string();
    assert_eq!(e, "influence: the influence on an empty set is not defined");
}

#[test]
fn networks_without_a_head_are_refused_in_one_line() {
    for (_, backbone) in Backbone::named() {
        let refused = small(backbone, 6)
            .augment(GRATIN)
            .plan(Task::Node)
            .err()
            .map(|e| e.to_string());
        assert_eq!(
            refused.is_none(),
            backbone.can_have_head(),
            "{backbone}: {refused:?}"
        );
        if let Some(why) = refused {
            assert!(
                why.contains(&format!(
                    "gratin needs a head that can be trained again, which {backbone} lacks"
                )),
                "{why}"
            );
        }
    }
    let gcn = small(Backbone::GCN, 6).augment(GRATIN);
    let mut headless = gcn.weights(Orthonormal::default());
    headless.network.head = Some(false);
    let mut free = gcn;
    free.network.head = Some(false);
    assert_eq!(
        free.plan(Task::Node).unwrap(),
        gcn.plan(Task::Node).unwrap(),
        "its last layer has a map of its own"
    );
    let through = gcn.augment(Gratin {
        select: Some(0.5),
        influence_layers: gnarl::augment::InfluenceLayers::Network,
        ..GRATIN
    });
    for (model, why) in [
        (
            headless,
            "head: gratin retrains it, and gcn with orthonormal weights has no other",
        ),
        (
            gcn.depth(Exits::st(2)),
            "augment: gratin needs a fixed depth, and the depth is admp-st",
        ),
        (
            through,
            "influence-layers: the influence of the network needs a set of graphs, and this is one graph",
        ),
    ] {
        assert_eq!(model.plan(Task::Node).unwrap_err().to_string(), why);
    }
}
