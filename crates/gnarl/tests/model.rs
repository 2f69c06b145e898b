//! Models as a whole: no option is ignored, invalid combinations are refused in one place, and a
//! file stores the complete model.
//!
//! Every setting is changed for every backbone, on one graph and on a set, on every axis. The
//! change is either refused in one line, or the fitted model differs.

use crate::support;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use gnarl::model::Section;
use gnarl::prelude::*;
use gnarl_data::Task;
use gnarl_graph::random::stream;
use gnarl_graph::settings::{Setting, SettingText};
use gnarl_graph::{DenseMatrix, generate};
use gnarl_nn::depth::Kind;
use gnarl_nn::networks::{Capability, DefaultOperator, NetworkSetting};
use gnarl_robust::inference::PerturbationTarget;
use rand::RngExt;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;
use support::bytes;

const NUM_COLUMNS: usize = 12;

/// Word features of two classes: each node has some of its class's half of the columns, and fewer
/// of the other half.
fn words(classes: &[u32], seed: u64) -> Features {
    let rng = &mut stream(seed, "words of two classes", 0);
    let mut word = |class: u32, column: usize| {
        let is_own = (column < NUM_COLUMNS / 2) == (class == 0);
        f32::from(u8::from(rng.random_bool(if is_own { 0.5 } else { 0.2 })))
    };
    let data = classes
        .iter()
        .flat_map(|&c| (0..NUM_COLUMNS).map(move |column| (c, column)));
    let data: Vec<f32> = data.map(|(class, column)| word(class, column)).collect();
    Features::Dense(DenseMatrix::new(classes.len(), NUM_COLUMNS, data).unwrap())
}

/// Nodes or graphs are in turn training, validation and test data. Validation labels are flipped:
/// training increases the validation loss from the first epoch on, so that the selected epoch and
/// the patience matter.
fn in_turn(count: u32) -> Split {
    // One is left out: a class with fewer training nodes or graphs is balanced.
    let part = |k: u32| {
        (1..count)
            .filter(|i| i / 2 % 4 == k || k == 2 && i / 2 % 4 == 3)
            .collect()
    };
    Split::new("in turn", part(0), part(1), part(2)).unwrap()
}

fn told(classes: &[u32], split: &Split) -> Labels {
    let told = |(i, &c): (usize, &u32)| {
        Some(if split.val().contains(&(i as u32)) {
            1 - c
        } else {
            c
        })
    };
    Labels::new(classes.iter().enumerate().map(told).collect(), 2).unwrap()
}

/// Graph of two classes, 40 nodes, and word features.
fn one_graph() -> SplitData {
    let config = generate::CsbmConfig {
        num_nodes: 40,
        num_classes: 2,
        mean_degree: 5.0,
        ..Default::default()
    };
    let graph = generate::csbm(&config, 1).unwrap();
    let classes: Vec<u32> = (0..40)
        .map(|u| graph.labels().unwrap().get(u).unwrap())
        .collect();
    let split = in_turn(40);
    let graph = graph
        .with_features(words(&classes, 2))
        .unwrap()
        .with_labels(told(&classes, &split))
        .unwrap();
    SplitData {
        name: "one graph".into(),
        content: Content::Graph(graph),
        split,
    }
}

/// Graphs of two classes: one with many edges, one with few, each with word features.
fn a_set() -> SplitData {
    let classes: Vec<u32> = (0..32).map(|i| i % 2).collect();
    let graph = |i: u32| {
        let n = 5 + i as usize % 4;
        let graph =
            generate::erdos_renyi(n, if i.is_multiple_of(2) { 0.3 } else { 0.7 }, u64::from(i))
                .unwrap();
        graph
            .with_features(words(&vec![i % 2; n], u64::from(i)))
            .unwrap()
    };
    let split = in_turn(32);
    let set = GraphSet::new((0..32).map(graph).collect(), told(&classes, &split), None).unwrap();
    SplitData {
        name: "a set".into(),
        content: Content::Graphs(set),
        split,
    }
}

/// Model that is fitted quickly.
fn tiny(backbone: Backbone, task: Task) -> Model {
    let mut model = Model::new(backbone).epochs(4);
    model.network.hidden = backbone.takes(NetworkSetting::Hidden).then_some(8);
    model.backbone = model.backbone.where_taken("heads", 2);
    model.training.batch_size = (task == Task::Graph).then_some(4);
    // After four epochs scores are small: with airgnn's default slack nothing would remain of the
    // neighbours' influence.
    if let Backbone::AirGnn(_) = backbone {
        model.backbone = backbone.where_taken("lambda", 0.02);
    }
    model
}

/// Differences between fitted models: everything except the settings themselves, and times.
#[derive(PartialEq)]
struct Seen {
    params: BTreeMap<String, (Vec<usize>, Vec<u8>)>,
    probabilities: Vec<u32>,
    exits: Option<Vec<usize>>,
    policy: String,
    learned_of_inputs: Value,
    /// Settings of the inference rule after fitting, as tuned.
    tuned: Option<Value>,
    report: Value,
}

impl Seen {
    fn of(model: &Model, on: &SplitData) -> gnarl_graph::Result<Self> {
        let fitted = model.fit(on, 3)?;
        let predictions = fitted.predict(&on.content)?;
        // For one of the inference rules, inputs that look clean are their own neighbours.
        let noisy = fitted.predict(&with_noise(&on.content))?.probabilities;
        let mut reading = serde_json::to_value(fitted.fitted_inference()).unwrap();
        let tunes = model.inference.tunes();
        Ok(Self {
            params: tensors(&bytes(&fitted)),
            probabilities: predictions
                .probabilities
                .data()
                .iter()
                .chain(noisy.data())
                .map(|p| p.to_bits())
                .collect(),
            exits: predictions.exits,
            policy: format!("{:?}", fitted.policy()),
            learned_of_inputs: reading["prior"].take(),
            tuned: tunes.then(|| reading["inference"].take()),
            report: without_times(serde_json::to_value(fitted.report()).unwrap()),
        })
    }
}

/// Content with noise on features.
fn with_noise(content: &Content) -> Content {
    let rng = &mut stream(1, "noise on words", 0);
    let mut noisy = |graph: &Graph| {
        let Some(Features::Dense(words)) = graph.features() else {
            return graph.clone();
        };
        let noisy = words
            .data()
            .iter()
            .map(|x| x + rng.random_range(-0.3f32..0.3))
            .collect();
        let noisy = DenseMatrix::new(words.num_rows(), words.num_cols(), noisy).unwrap();
        graph.clone().with_features(Features::Dense(noisy)).unwrap()
    };
    match content {
        Content::Graph(graph) => Content::Graph(noisy(graph)),
        Content::Graphs(set) => {
            let graphs = set.graphs().iter().map(noisy).collect();
            Content::Graphs(GraphSet::new(graphs, set.labels().clone(), None).unwrap())
        }
    }
}

fn tensors(bytes: &[u8]) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let found = safetensors::SafeTensors::deserialize(bytes).unwrap();
    found
        .tensors()
        .into_iter()
        .map(|(name, t)| (name, (t.shape().to_vec(), t.data().to_vec())))
        .collect()
}

fn without_times(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .filter(|(name, _)| !name.contains("seconds") && name != "epoch_ms");
            Value::Object(
                kept.map(|(name, value)| (name, without_times(value)))
                    .collect(),
            )
        }
        Value::Array(parts) => Value::Array(parts.into_iter().map(without_times).collect()),
        other => other,
    }
}

/// Values of settings for which one more, or half, is not suitable: names, open settings, and
/// numbers that must have an effect.
const OTHER_VALUES: &[(&str, &str)] = &[
    ("batch-nodes", "3"),
    ("exponent-lr", "0.003"),
    ("scalar-lr", "0.003"),
    ("fanout", "2,1"),
    ("heads", "4"),
    ("layers", "3"),
    ("readout", "sum"),
    ("lr-step", "1:0.5"),
    ("keep", "last"),
    ("patience", "1"),
    ("class-weights", "1,3"),
    ("centrality", "core"),
    ("init", "L"),
    ("policy", "confidence"),
    ("order", "1"),
    ("iterations", "2"),
    ("scaling", "published"),
    ("inference-target", "structure"),
    ("inference-target", "features"),
    ("jaccard-threshold", "0.4"),
    ("lambda", "0.6"),
    ("gamma", "0.6"),
    ("temperature", "0.6"),
    ("similarity-threshold", "0.6"),
    ("kernel-weight", "0.6"),
    // EvenNet takes propagation steps by twos.
    ("propagation-steps", "12"),
    ("svd-rank", "5"),
    ("svd-min-degree", "1"),
    ("gdc-k", "5"),
    ("good-at-threshold", "0"),
    ("crf-sigma", "0.3"),
    ("radius", "0.7"),
    ("crf-iterations", "3"),
    ("flip-distribution", "uniform"),
    ("density", "shrunken"),
    ("components", "3"),
    ("augment-samples", "level"),
    ("select", "0.5"),
    ("influence-layers", "network"),
    ("copies", "fixed"),
    ("copies", "each-epoch"),
];

/// Other settings that a setting needs to have an effect. The order of the projection does not
/// matter after convergence. A head that keeps its first epoch does not depend on the number of
/// epochs. With small steps every epoch may be better than the last.
const BESIDE: &[(&str, &[(&str, &str)])] = &[
    ("keep", &[("lr", "0.3"), ("epochs", "20")]),
    ("patience", &[("lr", "0.3"), ("epochs", "20")]),
    (
        "stop-early",
        &[("lr", "0.3"), ("epochs", "20"), ("crf-sigma", "0.999")],
    ),
    ("order", &[("iterations", "1")]),
    ("scaling", &[("iterations", "1")]),
    ("head-epochs", &[("keep", "last")]),
];

/// Returns another value for a setting.
fn other_value(setting: &Setting, value: &Value) -> String {
    let is_other = |other: &str| value.as_str() != Some(other);
    if let Some((_, other)) = OTHER_VALUES
        .iter()
        .find(|(flag, other)| *flag == setting.flag && is_other(other))
    {
        return other.to_string();
    }
    match value {
        Value::Bool(is) => (!is).to_string(),
        Value::Number(n) => match n.as_u64() {
            Some(whole) => (whole + 1).to_string(),
            None => (n.as_f64().unwrap() / 2.0).to_string(),
        },
        other => panic!(
            "{}: {other} has no other value; add one to the table",
            setting.flag
        ),
    }
}

/// Returns the value of a setting in a model with nothing left open. If the model is refused, it is
/// the given value; if the setting does not apply, it is that of some model to which it applies.
fn value_of(model: &Model, section: &str, setting: &Setting, task: Task) -> Value {
    let of = |model: &Model| {
        let value = serde_json::to_value(model).unwrap()[section][setting.name].clone();
        Some(value).filter(|value| !value.is_null())
    };
    let filled = |model: &Model, task: Task| of(&model.plan(task).ok()?.model);
    let elsewhere = || {
        let models = Backbone::named().flat_map(|(_, backbone)| {
            [
                Model::new(backbone),
                Model::new(backbone).operator(Cgso::by(Centrality::DEGREE)),
            ]
        });
        models
            .flat_map(|model| [filled(&model, Task::Node), filled(&model, Task::Graph)])
            .flatten()
            .next()
    };
    let value = filled(model, task)
        .or_else(|| of(model))
        .or_else(elsewhere)
        .unwrap_or(Value::Null);
    // Zero has no half.
    if value.as_f64() == Some(0.0) && !value.is_u64() {
        Value::from(0.6)
    } else {
        value
    }
}

fn given(options: &[(&str, &str)]) -> Vec<SettingText> {
    options
        .iter()
        .map(|(flag, value)| (flag.to_string(), value.to_string()))
        .collect()
}

/// Test of a model's settings: the number that changed it, and the failures.
struct Walk<'a> {
    on: &'a SplitData,
    changed: usize,
    refused: usize,
    wrong: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(on: &'a SplitData) -> Self {
        Self {
            on,
            changed: 0,
            refused: 0,
            wrong: Vec::new(),
        }
    }

    /// Returns a fitted model, or nothing if it is refused in one line.
    fn seen(&mut self, what: &str, model: gnarl_graph::Result<Model>) -> Option<Seen> {
        match model.and_then(|model| Seen::of(&model, self.on)) {
            Ok(seen) => Some(seen),
            Err(e) => {
                let e = e.to_string();
                self.refused += 1;
                if e.is_empty() || e.contains('\n') {
                    self.wrong.push(format!("{what}: refused by '{e}'"));
                }
                None
            }
        }
    }

    fn compare(&mut self, what: &str, before: &Seen, after: Option<Seen>) {
        match after {
            Some(after) if after == *before => self.wrong.push(format!("{what}: changes nothing")),
            Some(_) => self.changed += 1,
            None => {}
        }
    }

    /// Changes every one of these settings.
    fn settings(&mut self, model: &Model, what: &str, section: &str, settings: &[Setting]) {
        let usual = self.seen(what, Ok(*model));
        for setting in settings {
            let value = other_value(
                setting,
                &value_of(model, section, setting, self.on.content.task()),
            );
            let beside = BESIDE
                .iter()
                .find(|(flag, _)| *flag == setting.flag)
                .map_or(&[][..], |(_, beside)| beside);
            let what = format!("{what}, {} {value}", setting.flag);
            let before = model.over(&given(beside));
            let after = before
                .as_ref()
                .ok()
                .map(|model| model.over(&given(&[(setting.flag, &value)])));
            let before = if beside.is_empty() {
                None
            } else {
                self.seen(&what, before)
            };
            let Some(after) = after else { continue };
            let after = self.seen(&what, after);
            if let Some(before) = before.as_ref().or(usual.as_ref()) {
                self.compare(&what, before, after);
            } else if after.is_some() {
                self.wrong
                    .push(format!("{what}: fits what cannot be fitted without it"));
            }
        }
    }

    fn backbone(&mut self, backbone: Backbone) {
        let task = self.on.content.task();
        let plain = tiny(backbone, task);
        let name = format!("{backbone} on {}", self.on.name);
        let Some(seen) = self.seen(&name, Ok(plain)) else {
            return;
        };
        let usual = plain.fit(self.on, 3).unwrap().scaler().scaling();
        for &other in FeatureScaling::ALL
            .iter()
            .filter(|scaling| ![usual, FeatureScaling::Auto].contains(scaling))
        {
            let scaled = self.seen(&name, Ok(plain.features(other)));
            self.compare(&format!("{name}, features {other}"), &seen, scaled);
        }
        for Section {
            axis,
            title,
            names,
            settings,
            ..
        } in Model::sections()
        {
            let Some(axis) = axis else {
                let section = if title == "Training" {
                    "training"
                } else {
                    "network"
                };
                self.settings(&plain, &name, section, &settings);
                continue;
            };
            if axis == "model" {
                self.settings(&plain, &name, "backbone", backbone.info().settings);
                continue;
            }
            for (choice, _) in names {
                let what = format!("{name}, {axis} {choice}");
                let mut options = vec![(axis, choice.as_str())];
                options.extend(
                    QUICK
                        .iter()
                        .filter(|(of, ..)| *of == choice)
                        .map(|(_, flag, value)| (*flag, *value)),
                );
                let chosen = plain.over(&given(&options)).unwrap();
                let after = if chosen == plain {
                    None
                } else {
                    self.seen(&what, Ok(chosen))
                };
                let is_usual = choice
                    .parse()
                    .is_ok_and(|op| backbone.default_operator() == DefaultOperator::Classical(op));
                if after.is_some() && !is_usual {
                    self.compare(&what, &seen, after);
                }
                let own: Vec<Setting> = own_settings(axis, &choice, &settings);
                self.settings(&chosen, &what, axis, &own);
                // Exits and learned operators change which other settings apply.
                if choice == "admp-st" || choice == "cgso" {
                    for (section, title) in [("network", "The network"), ("training", "Training")] {
                        let rest = Model::sections()
                            .into_iter()
                            .find(|section| section.title == title)
                            .unwrap();
                        self.settings(&chosen, &what, section, &rest.settings);
                    }
                }
            }
        }
    }
}

/// Choices that would take long, or leave open what is decided elsewhere.
const QUICK: &[(&str, &str, &str)] = &[
    ("admp-st", "max-depth", "2"),
    ("admp-alm", "max-depth", "2"),
    ("cgso", "init", "A"),
    ("smoothing", "crf-samples", "8"),
    // If all neighbours have one class, one more changes nothing.
    ("smoothing", "hard-voting", "false"),
    // Without the check, these rules are used even if they prove nothing on so small a graph.
    ("clean-crf", "inference-check", "false"),
    ("good-at", "inference-check", "false"),
    ("good-at", "good-at-detectors", "2"),
    ("configuration", "p", "0.8"),
    ("retrain", "head-epochs", "3"),
    ("gratin", "head-epochs", "3"),
];

/// Settings that a choice accepts; the tests of the lists check that settings of others are
/// refused.
fn own_settings(axis: &str, choice: &str, settings: &[Setting]) -> Vec<Setting> {
    let stored = |list: &'static [gnarl_graph::settings::ChoiceInfo]| {
        list.iter()
            .find(|entry| entry.name == choice)
            .map_or(Vec::new(), |entry| entry.settings.to_vec())
    };
    match axis {
        "operator" if choice == "cgso" => settings.to_vec(),
        "depth" => stored(Depth::LIST),
        "weights" => stored(WeightsChoice::LIST),
        "inference" => stored(Inference::LIST),
        "augment" => stored(Augment::LIST),
        "defense" => stored(Defense::LIST),
        _ => Vec::new(),
    }
}

/// Settings that these small graphs do not depend on: no row of the low-rank adjacency has a
/// negative sum. A test of `defense::svd` has one by hand.
const NOT_HERE: &str = ", svd-min-degree 1";

/// Settings whose effect on one model is random: the best epoch may be the last, and no class may
/// ever be decided early. They must have an effect for most backbones.
const BY_CHANCE: [&str; 2] = [", keep last", ", stop-early true"];

fn assert_nothing_ignored(on: &SplitData, least: usize) {
    let walks = Backbone::all().collect::<Vec<_>>();
    let walks = walks.par_iter().map(|backbone| {
        let mut walk = Walk::new(on);
        walk.backbone(*backbone);
        walk
    });
    let walks: Vec<Walk<'_>> = walks.collect();
    let wrong = walks
        .iter()
        .flat_map(|walk| &walk.wrong)
        .map(String::as_str);
    let wrong: Vec<&str> = wrong.filter(|line| !line.contains(NOT_HERE)).collect();
    let by_chance = |line: &&str| BY_CHANCE.iter().any(|setting| line.contains(setting));
    let (spared, wrong): (Vec<&str>, Vec<&str>) = wrong.into_iter().partition(by_chance);
    for setting in BY_CHANCE {
        let count = walks
            .iter()
            .filter(|walk| walk.wrong.iter().any(|line| line.contains(setting)))
            .count();
        assert!(
            count < Backbone::LIST.len() / 2,
            "{setting}: {count} backbones without effect\n{}",
            spared.join("\n")
        );
    }
    let sum = |of: fn(&Walk<'_>) -> usize| walks.iter().map(of).sum::<usize>();
    let (changed, refused) = (sum(|walk| walk.changed), sum(|walk| walk.refused));
    assert!(
        wrong.is_empty(),
        "{} of {} settings:\n{}",
        wrong.len(),
        wrong.len() + changed + refused,
        wrong.join("\n")
    );
    assert!(
        changed > least && refused > least / 4,
        "{changed} changed the model, {refused} were refused"
    );
}

/// A long ring with chords and three training nodes. An epoch trains on a small part of the ring,
/// whose edges the epoch's own graph has moved. A defence overrides the operator there, too.
#[test]
fn resampled_graphs_use_their_own_receptive_field() {
    let n = 90u32;
    let edges = (0..n).flat_map(|u| [(u, (u + 1) % n), (u, (u + 7) % n)]);
    let classes: Vec<u32> = (0..n).map(|u| u % 2).collect();
    let split = Split::new("few", vec![0, 1, 2], (30..40).collect(), (50..60).collect()).unwrap();
    let graph = Graph::from_edges(n as usize, edges)
        .unwrap()
        .0
        .with_features(words(&classes, 3))
        .unwrap();
    let graph = graph.with_labels(told(&classes, &split)).unwrap();
    let on = SplitData {
        name: "a ring".into(),
        content: Content::Graph(graph),
        split,
    };
    let augments: Vec<Augment> = Augment::all()
        .filter(|augment| augment.method().transform().is_some() && augment.method().keeps_nodes())
        .collect();
    assert!(augments.len() >= 4);
    let mut models = Vec::new();
    for (_, backbone) in Backbone::named() {
        for augment in &augments {
            let model = tiny(backbone, Task::Node).augment(*augment);
            models.extend(Defense::all().map(|defense| model.defense(defense)));
        }
    }
    models.retain(|model| model.plan(Task::Node).is_ok());
    models.par_iter().for_each(|model| {
        if let Err(e) = model.fit(&on, 1) {
            panic!(
                "{} by {} with {}: {e}",
                model.backbone, model.augment, model.defense
            );
        }
    });
    assert!(models.len() > 100, "{}", models.len());
}

#[test]
fn no_option_is_ignored_on_one_graph() {
    assert_nothing_ignored(&one_graph(), 500);
}

#[test]
fn no_option_is_ignored_on_a_set() {
    assert_nothing_ignored(&a_set(), 400);
}

/// Saved and loaded, a model gives the same bits, and is saved to the same bytes again.
fn assert_kept(what: &str, model: Model, on: &SplitData) {
    let fitted = model.fit(on, 3).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.safetensors");
    fitted.save(&file).unwrap();
    let loaded = Fitted::load(&file).unwrap();
    let answers = |fitted: &Fitted| {
        let found = fitted.predict(&on.content).unwrap();
        let bits: Vec<u32> = found
            .probabilities
            .data()
            .iter()
            .map(|p| p.to_bits())
            .collect();
        (found.classes, bits, found.exits)
    };
    assert_eq!(answers(&loaded), answers(&fitted), "{what}");
    assert_eq!(
        (loaded.model(), loaded.classes()),
        (fitted.model(), fitted.classes()),
        "{what}"
    );
    assert_eq!(
        (loaded.trained_on(), loaded.seed()),
        (fitted.trained_on(), fitted.seed()),
        "{what}"
    );
    assert_eq!(bytes(&loaded), bytes(&fitted), "{what}");
}

#[test]
fn a_file_keeps_every_bit_of_networks_and_exits() {
    let (graph, set) = (one_graph(), a_set());
    for (name, backbone) in Backbone::named() {
        let mut model = tiny(backbone, Task::Node);
        model.backbone = model.backbone.where_taken("batch-norm", true);
        assert_kept(name, model, &graph);
        if backbone.provides(Capability::GraphSets) {
            let mut model = tiny(backbone, Task::Graph);
            model.backbone = model.backbone.where_taken("batch-norm", true);
            assert_kept(&format!("{name} of a set"), model, &set);
        }
    }
    let gcn = tiny(Backbone::GCN, Task::Node);
    for (on, model) in [(&graph, gcn), (&set, tiny(Backbone::GCN, Task::Graph))] {
        for policy in Kind::all_of(on.content.task()) {
            for exits in [Exits::st(2), Exits::alm(2)] {
                assert_kept(
                    &format!("{policy} on {}", on.name),
                    model.depth(exits.policy(policy)),
                    on,
                );
            }
        }
    }
}

#[test]
fn a_file_keeps_every_bit_of_inference() {
    let graph = one_graph();
    let gcn = tiny(Backbone::GCN, Task::Node);
    for inference in Inference::all() {
        for part in [PerturbationTarget::Features, PerturbationTarget::Structure] {
            assert_kept(
                &format!("{inference} on {part}"),
                gcn.inference(inference.on(part)),
                &graph,
            );
        }
        if !inference.is_plain() {
            let tuned = inference.with(&[("tune".into(), "true".into())]).unwrap();
            assert_kept(&format!("{inference}, tuned"), gcn.inference(tuned), &graph);
        }
    }
}

#[test]
fn a_file_keeps_every_bit_of_combined_axes() {
    let (graph, set) = (one_graph(), a_set());
    let gcn = tiny(Backbone::GCN, Task::Node);
    let gin = tiny(Backbone::GIN.where_taken("batch-norm", true), Task::Graph);
    assert_kept(
        "all axes on a set",
        gin.depth(Exits::st(2))
            .weights(Parseval::default())
            .augment(Gratin::default()),
        &set,
    );
    assert_kept(
        "cgso with exits on a set",
        tiny(Backbone::GCN, Task::Graph)
            .operator(Cgso::by(Centrality::DEGREE))
            .depth(Exits::alm(1)),
        &set,
    );
    for operator in ["L_sym", "cgso"] {
        let operator: OperatorChoice = operator.parse().unwrap();
        assert_kept(&operator.to_string(), gcn.operator(operator), &graph);
        assert_kept(
            &operator.to_string(),
            tiny(Backbone::GCN, Task::Graph).operator(operator),
            &set,
        );
    }
    for weights in WeightsChoice::all() {
        assert_kept(weights.name(), gcn.weights(weights), &graph);
    }
    assert_kept("jaccard", gcn.defense(Jaccard::default()), &graph);
    assert_kept(
        "gdc",
        gcn.defense("gdc".parse::<Defense>().unwrap()),
        &graph,
    );
    assert_kept(
        "gratin",
        tiny(Backbone::GCN, Task::Graph).augment(Gratin::default()),
        &set,
    );
    for augment in [
        Augment::from(Gratin::default()),
        Retrain::default().into(),
        ManifoldMixup::default().into(),
    ] {
        assert_kept(&format!("{augment} on nodes"), gcn.augment(augment), &graph);
    }
}

/// Returns a file with some of its tensors and its description changed.
fn rewritten(
    bytes: &[u8],
    file: &Path,
    change: impl Fn(&str, Vec<usize>, Vec<u8>) -> Option<(Vec<usize>, Vec<u8>)>,
    describe: impl Fn(String) -> String,
) {
    let (_, header) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let metadata: HashMap<String, String> = header.metadata().clone().unwrap();
    let metadata: HashMap<String, String> = metadata
        .into_iter()
        .map(|(key, text)| (key, describe(text)))
        .collect();
    let kept: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> =
        safetensors::SafeTensors::deserialize(bytes)
            .unwrap()
            .tensors()
            .into_iter()
            .filter_map(|(name, t)| {
                let (shape, data) = change(&name, t.shape().to_vec(), t.data().to_vec())?;
                Some((name, t.dtype(), shape, data))
            })
            .collect();
    let views = kept.iter().map(|(name, kind, shape, data)| {
        (name, TensorView::new(*kind, shape.clone(), data).unwrap())
    });
    std::fs::write(file, safetensors::serialize(views, Some(metadata)).unwrap()).unwrap();
}

#[test]
fn broken_files_are_refused_in_one_line() {
    let fitted = tiny(Backbone::GCN, Task::Node)
        .fit(&one_graph(), 3)
        .unwrap();
    let whole = bytes(&fitted);
    let weight = tensors(&whole)
        .into_keys()
        .find(|name| name.contains("weight"))
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.safetensors");
    let refused = |what: &str| {
        let e = Fitted::load(&file).unwrap_err().to_string();
        assert!(
            e.contains("model.safetensors") && e.contains(what) && !e.contains('\n'),
            "{e}"
        );
    };
    let same = |_: &str, shape: Vec<usize>, data: Vec<u8>| Some((shape, data));
    let as_it_is = |text: String| text;

    rewritten(&whole, &file, same, as_it_is);
    assert_eq!(
        bytes(&Fitted::load(&file).unwrap()),
        whole,
        "rewriting alone breaks nothing"
    );

    let nan = |name: &str, shape: Vec<usize>, mut data: Vec<u8>| {
        if name == weight {
            data[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
        }
        Some((shape, data))
    };
    rewritten(&whole, &file, nan, as_it_is);
    refused(&weight);
    let missing =
        |name: &str, shape: Vec<usize>, data: Vec<u8>| (name != weight).then_some((shape, data));
    rewritten(&whole, &file, missing, as_it_is);
    refused(&format!("parameter {weight} is missing"));
    let turned = |name: &str, mut shape: Vec<usize>, data: Vec<u8>| {
        if name == weight {
            shape.reverse();
        }
        Some((shape, data))
    };
    rewritten(&whole, &file, turned, as_it_is);
    refused(&format!(
        "parameter {weight} has shape [8, {NUM_COLUMNS}], [{NUM_COLUMNS}, 8] is expected"
    ));
    let no_split = |name: &str, shape: Vec<usize>, data: Vec<u8>| {
        (name != "split.test").then_some((shape, data))
    };
    rewritten(&whole, &file, no_split, as_it_is);
    refused("split.test is missing");

    rewritten(&whole, &file, same, |_| r#"{"version":1}"#.into());
    refused("version 1 of the format, and this gnarl reads 3; train and save the model again");
    rewritten(&whole, &file, same, |_| "{}".into());
    refused("its description is broken: missing field `version`");
    rewritten(&whole, &file, same, |text| {
        text.replace("\"classes\":[", "\"classes\":[\"third\",")
    });
    refused("is expected");
    rewritten(&whole, &file, same, |text| {
        text.replacen("\"gcn\"", "\"gnc\"", 1)
    });
    refused("unknown model 'gnc'");

    for length in [0, 7, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).unwrap();
        refused("");
    }
    std::fs::write(&file, b"not a model").unwrap();
    refused("not a safetensors file");
    let e = Fitted::load(dir.path().join("nowhere.safetensors"))
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("nowhere.safetensors") && !e.contains('\n'),
        "{e}"
    );
}
