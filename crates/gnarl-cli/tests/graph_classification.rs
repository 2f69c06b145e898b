//! Tests sets of graphs from the command line, with small files in the TU format.

use crate::common;

use common::{assert_refused, header, json, mean, refusal, text, words, write_set};
use gnarl_testing::{data_dir, needs_data};
use serde_json::Value;
use tempfile::TempDir;

fn sets() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_set(dir.path(), "MUTAG", 40, true);
    write_set(dir.path(), "IMDB-BINARY", 40, false);
    dir
}

fn args<'a>(dir: &'a TempDir, data: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let dir = dir.path().to_str().unwrap();
    let common = [
        "train",
        "--data",
        data,
        "--model",
        "gin",
        "--epochs",
        "20",
        "--hidden",
        "8",
        "--data-dir",
        dir,
    ];
    [&common[..], more].concat()
}

fn values(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

#[test]
fn each_run_is_a_fold() {
    let dir = sets();
    let report = json(&args(
        &dir,
        "mutag",
        &["--inits", "2", "--batch-size", "10"],
    ));
    assert_eq!(
        (report["data"].as_str(), report["model"].as_str()),
        (Some("MUTAG"), Some("gin"))
    );
    let folds = values(&report["test_accuracy"]["runs"]);
    assert_eq!(
        (folds.len(), report["runs"].as_array().unwrap().len()),
        (10, 20)
    );
    assert!(
        (report["test_accuracy"]["mean"].as_f64().unwrap() - folds.iter().sum::<f64>() / 10.0)
            .abs()
            < 1e-9
    );
    let of_first: f64 = (0..2)
        .map(|r| report["runs"][r]["test_accuracy"].as_f64().unwrap())
        .sum();
    assert!(
        (folds[0] - of_first / 2.0).abs() < 1e-9,
        "a fold counts with the mean of its initialisations"
    );
    assert!(
        report["test_accuracy"]["mean"].as_f64().unwrap() > 90.0,
        "stars are not cycles"
    );
    for key in ["val_accuracy", "epoch_ms", "seconds", "parameters"] {
        assert!(!report[key].is_null(), "{key}");
    }
    let config = &report["config"];
    assert_eq!(
        (&config["folds"], &config["inits"]),
        (&10.into(), &2.into())
    );
    let model = &config["model"];
    assert_eq!(
        (
            &model["training"]["batch-size"],
            &model["network"]["readout"]
        ),
        (&10.into(), &"mean".into())
    );
    assert_eq!(model["augment"]["kind"], "none");
    assert!(report.get("augmentation").is_none());

    let threads = |n| {
        let mut report = json(&args(&dir, "mutag", &["--threads", n, "--runs", "3"]));
        ["test_accuracy", "val_accuracy", "config"].map(|key| report[key].take())
    };
    assert_eq!(threads("1"), threads("2"));
}

#[test]
fn degrees_replace_missing_features() {
    let dir = sets();
    let report = json(&args(&dir, "imdb-binary", &["--runs", "2"]));
    // Stars of 8 have a node of degree 7: columns for degrees 0 to 7, two layers of 8, and a head
    // for two classes.
    let (saved, path) = (
        dir.path().join("m"),
        dir.path().join("m").to_str().unwrap().to_string(),
    );
    json(&args(
        &dir,
        "imdb-binary",
        &["--runs", "1", "--save", &path],
    ));
    let (header, _) = header(&std::fs::read(saved).unwrap());
    let description: Value =
        serde_json::from_str(header["__metadata__"]["gnarl"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&description["in-dim"], &description["own-features"]),
        (&8.into(), &false.into())
    );
    let shown = text(&args(
        &dir,
        "imdb-binary",
        &["--runs", "1", "--corrupt", "0.2"],
    ));
    assert!(
        shown.contains("20 % of the training graphs' edges") && !shown.contains("degree features"),
        "{shown}"
    );
    let shown = text(&args(
        &dir,
        "imdb-binary",
        &["--runs", "1", "--corrupt", "0.2", "--keep-degrees"],
    ));
    assert!(
        shown.contains(
            "20 % of the training graphs' edges; degree features of the graphs before it"
        ),
        "{shown}"
    );
    let corrupted = json(&args(
        &dir,
        "imdb-binary",
        &["--runs", "2", "--corrupt", "0.5"],
    ));
    assert_eq!(corrupted["config"]["corruption"]["edges"]["share"], 0.5);
    assert_ne!(
        corrupted["runs"][0]["trained"],
        report["runs"][0]["trained"]
    );
}

#[test]
fn augmentations_are_compared_with_none() {
    let dir = sets();
    let plain = json(&args(&dir, "mutag", &[]));
    let report = json(&args(
        &dir,
        "mutag",
        &["--augment", "retrain", "--head-epochs", "30"],
    ));
    let found = &report["augmentation"];
    assert_eq!(
        found["none_test_accuracy"], plain["test_accuracy"],
        "the same trainings before it"
    );
    let difference = report["test_accuracy"]["mean"].as_f64().unwrap()
        - plain["test_accuracy"]["mean"].as_f64().unwrap();
    assert!((found["minus_none"]["mean"].as_f64().unwrap() - difference).abs() < 1e-9);
    assert!(found["minus_none"]["standard_error"].as_f64().unwrap() >= 0.0);
    let drawn = json(&args(
        &dir,
        "mutag",
        &["--augment", "gratin", "--runs", "2"],
    ));
    let augment = |report: &Value| report["config"]["model"]["augment"].clone();
    assert_eq!(
        (&augment(&drawn)["kind"], &augment(&drawn)["components"]),
        (&"gratin".into(), &Value::Null),
        "the library's own, whatever the set is called"
    );
    let drawn = json(&args(
        &dir,
        "mutag",
        &["--augment", "gratin", "--recipe", "thesis", "--runs", "2"],
    ));
    assert_eq!(augment(&drawn)["components"], "2", "the thesis' for MUTAG");
    let drawn = json(&args(
        &dir,
        "mutag",
        &["--augment", "gratin", "--components", "auto", "--runs", "2"],
    ));
    assert_eq!(augment(&drawn)["components"], "auto");
    let shown = text(&args(
        &dir,
        "mutag",
        &["--augment", "retrain", "--runs", "2"],
    ));
    assert!(
        shown.contains("minus none") && shown.contains("retrain"),
        "{shown}"
    );
}

#[test]
fn a_folder_of_tu_files_is_a_dataset() {
    let dir = sets();
    let known = json(&args(&dir, "mutag", &["--runs", "2"]));
    let own = dir.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    for part in ["A", "graph_indicator", "graph_labels", "node_labels"] {
        let from = dir.path().join(format!("tu/MUTAG/MUTAG_{part}.txt"));
        std::fs::copy(from, own.join(format!("Stars_{part}.txt"))).unwrap();
    }
    let report = json(&args(&dir, own.to_str().unwrap(), &["--runs", "2"]));
    assert_eq!(report["test_accuracy"], known["test_accuracy"]);
    assert_eq!(report["data"], own.to_str().unwrap());
    for part in ["A", "graph_indicator"] {
        std::fs::write(own.join(format!("Other_{part}.txt")), "").unwrap();
    }
    let e = refusal(&args(&dir, own.to_str().unwrap(), &[]));
    assert!(
        e.contains("two sets of graphs, Other and Stars; give each a folder"),
        "{e}"
    );
}

const RARE_CLASS: &str = "--per-class 6 --rare 2 --runs 4";
const LEVELLED: &str = "--augment gratin --augment-samples level --density";

#[test]
fn each_class_is_rare_in_turn() {
    let dir = sets();
    let control = words("--augment retrain --augment-samples level");
    let control = json(&args(&dir, "mutag", &[words(RARE_CLASS), control].concat()));
    for i in 0..4 {
        let name = control["runs"][i]["split"].as_str().unwrap();
        assert!(
            name.ends_with(["-2+6-per-class", "-6+2-per-class"][i % 2]),
            "{name}: each class in turn"
        );
    }
    assert_eq!(
        (&control["config"]["per_class"], &control["config"]["rare"]),
        (&6.into(), &2.into())
    );
    let level = [&words(RARE_CLASS)[..], &words(LEVELLED), &["shared"]].concat();
    let shown = text(&args(&dir, "mutag", &level));
    assert!(
        shown.contains("at most 6 of each class, 2 of one class in turn"),
        "{shown}"
    );
    let drawn =
        "one Gaussian for each class with a shared covariance; up to twice the largest class";
    assert!(shown.contains(drawn), "{shown}");
    let shown = text(&args(&dir, "mutag", &words("--augment gratin --runs 2")));
    assert!(shown.contains("minus retrain"), "{shown}");
}

#[test]
fn oversampling_to_equal_classes_is_compared_with_retraining() {
    let dir = sets();
    let with = |more: &[&str]| {
        json(&args(
            &dir,
            "mutag",
            &[&words(RARE_CLASS)[..], more].concat(),
        ))
    };
    let control = with(&words("--augment retrain --augment-samples level"));
    for density in ["mixture", "shrunken", "shared"] {
        let level = [&words(LEVELLED)[..], &[density]].concat();
        let report = with(&level);
        let settings = &report["config"]["model"]["augment"];
        assert_eq!(
            (&settings["density"]["kind"], &settings["samples"]),
            (&density.into(), &"level".into())
        );
        let found = &report["augmentation"];
        assert_eq!(
            found["retrain_test_accuracy"], control["test_accuracy"],
            "{density}"
        );
        let difference = mean(&report["test_accuracy"]) - mean(&control["test_accuracy"]);
        assert!(
            (mean(&found["minus_retrain"]) - difference).abs() < 1e-9,
            "{density}"
        );
        let drawn = &report["runs"][0]["fresh_head"]["sampled"];
        assert_eq!(drawn["sampled"], 16, "12 of each with the 8 that are there");
        let fit = &drawn["fits"][1];
        assert_eq!((&fit["points"], &fit["components"]), (&6.into(), &1.into()));
        // From the control to all vectors, whatever their number.
        let stem = dir.path().join(density).display().to_string();
        let studied = with(&[&level[..], &["--influence", &stem]].concat());
        let curve = studied["influence"]["filtering"].as_array().unwrap();
        assert_eq!(
            curve[0]["test_accuracy"], control["test_accuracy"],
            "{density}"
        );
        assert_eq!(
            curve[10]["test_accuracy"], report["test_accuracy"],
            "{density}"
        );
    }
}

/// Augmentations with a setting of each and its default value.
const AUGMENTATIONS: [(&str, &str, Option<f64>); 9] = [
    ("none", "p", None),
    ("dropedge", "p", Some(0.2)),
    ("dropnode", "p", Some(0.2)),
    ("subgraph", "drop-ratio", Some(0.2)),
    ("submix", "swap-ratio", Some(0.4)),
    ("geomix", "max-lambda", Some(0.5)),
    ("g-mixup", "max-lambda", Some(0.2)),
    ("manifold-mixup", "alpha", Some(1.0)),
    ("configuration", "p", Some(0.2)),
];

#[test]
fn every_augmentation_changes_training() {
    let dir = sets();
    let mut seen = Vec::new();
    for (name, setting, value) in AUGMENTATIONS {
        let report = json(&args(
            &dir,
            "imdb-binary",
            &["--augment", name, "--runs", "2"],
        ));
        let augment = &report["config"]["model"]["augment"];
        assert_eq!(augment["kind"], name);
        assert_eq!(augment[setting].as_f64(), value, "{name}");
        assert_eq!(
            report["runs"][0]["copy_seconds"].is_number(),
            !["none", "manifold-mixup"].contains(&name),
            "{name}"
        );
        let curve = json(&args(
            &dir,
            "imdb-binary",
            &["--augment", name, "--runs", "1", "--curves"],
        ));
        let losses = curve["runs"][0]["trained"][0]["curve"].clone();
        // All nodes of a cycle or star that keeps its degrees are alike.
        let expected = if name == "configuration" {
            &seen[..1]
        } else {
            &[]
        };
        let alike: Vec<&Value> = seen.iter().filter(|other| **other == losses).collect();
        assert_eq!(alike, expected.iter().collect::<Vec<_>>(), "{name}");
        seen.push(losses);
    }
}

#[test]
fn settings_of_augmentations_are_shown_and_change_training() {
    let dir = sets();
    let dropped = words("--augment dropnode --copies fixed --runs 1 --p 0.5");
    let shown = text(&args(&dir, "mutag", &dropped));
    assert!(
        shown.contains("dropnode with p 0.5, one copy of each training graph, added to them"),
        "{shown}"
    );
    let curves = |p| {
        let dropped = words("--augment dropnode --runs 1 --curves --p");
        json(&args(&dir, "mutag", &[&dropped[..], &[p]].concat()))
    };
    assert_ne!(
        curves("0.5")["runs"][0]["trained"],
        curves("0.1")["runs"][0]["trained"]
    );
    let mixed = words("--augment submix --corrupt 0.2 --runs 1");
    let shown = text(&args(&dir, "mutag", &mixed));
    assert!(
        shown.contains("submix with swap-ratio 0.4, new copies in every epoch")
            && shown.contains("corrupted"),
        "{shown}"
    );
}

const GRATIN: [&str; 4] = ["--augment", "gratin", "--runs", "3"];

/// Trains with GRATIN and these options on a set of 40 graphs.
fn gratin(dir: &TempDir, more: &[&str]) -> Value {
    json(&args(dir, "mutag", &[&GRATIN[..], more].concat()))
}

#[test]
fn influence_selects_sampled_vectors() {
    let dir = sets();
    let half = gratin(&dir, &["--select", "0.5"]);
    // 32 of 40 graphs train; as many vectors are sampled.
    assert_eq!(half["runs"][0]["fresh_head"]["sampled"]["kept"], 16);
    assert_eq!(half["config"]["model"]["augment"]["select"], 0.5);
    assert!(mean(&half["augmentation"]["latent_distance"]["sampled"]) > 0.0);
    assert_eq!(
        gratin(&dir, &["--select", "1"])["test_accuracy"],
        gratin(&dir, &[])["test_accuracy"]
    );
}

#[test]
fn influence_is_reported_and_plotted() {
    let dir = sets();
    let stem = dir.path().join("found").to_str().unwrap().to_string();
    let half = gratin(&dir, &["--select", "0.5"]);
    for through in ["head", "network"] {
        let files = ["--influence", &stem, "--histograms", &stem];
        let report = gratin(
            &dir,
            &[&files[..], &["--influence-layers", through]].concat(),
        );
        let influence = &report["influence"];
        assert_eq!(
            (
                influence["candidates"].as_u64(),
                report["config"]["model"]["augment"]["influence-layers"].as_str()
            ),
            (Some(96), Some(through))
        );
        assert_eq!(influence["filtering"].as_array().unwrap().len(), 11);
        assert_eq!(
            influence["filtering"][10]["test_accuracy"], report["test_accuracy"],
            "all of them is GRATIN"
        );
        if through == "head" {
            assert_eq!(
                influence["filtering"][5]["test_accuracy"], half["test_accuracy"],
                "{through}"
            );
        }
        let counted = |key: &str| values(&report[key]["counts"]).iter().sum::<f64>();
        assert_eq!(
            (counted("confidence"), counted("entropy")),
            (12.0, 12.0),
            "four test graphs a fold"
        );
        assert_pictures(&report, 10);
        let candidates = std::fs::read_to_string(format!("{stem}.csv")).unwrap();
        assert_eq!(
            (candidates.lines().count(), candidates.lines().next()),
            (97, Some("run,class,on_validation,on_test"))
        );
        let filtered = std::fs::read_to_string(format!("{stem}-filter.csv")).unwrap();
        assert_eq!(filtered.lines().count(), 12);
    }
    let select = ["--influence", &stem, "--select", "0.25"];
    let shown = text(&args(&dir, "mutag", &[&GRATIN[..], &select].concat()));
    for part in [
        "sampled vectors: ",
        "minus retrain",
        "found-filter.svg",
        "mean distance of a sampled vector",
        "25 % kept by influence",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

/// Asserts that so many files were written, none of them empty, and pictures with their title.
fn assert_pictures(report: &Value, count: usize) {
    let written = report["written"].as_array().unwrap();
    assert_eq!(written.len(), count);
    for name in written {
        let name = name.as_str().unwrap();
        let content = std::fs::read(name).unwrap();
        match &name[name.len() - 3..] {
            "svg" => assert!(
                String::from_utf8(content).unwrap().contains("gin on MUTAG"),
                "{name}"
            ),
            "png" => assert_eq!(&content[1..4], b"PNG"),
            _ => assert!(content.len() > 100, "{name}"),
        }
    }
}

/// Returns the command that predicts the classes of a set with a saved model.
fn predict<'a>(dir: &'a TempDir, model: &'a str, data: &'a str) -> Vec<&'a str> {
    let folder = dir.path().to_str().unwrap();
    vec![
        "predict",
        "--load",
        model,
        "--data",
        data,
        "--data-dir",
        folder,
    ]
}

#[test]
fn a_saved_classifier_predicts_as_it_was_trained() {
    let dir = sets();
    let file = dir.path().join("model.safetensors");
    let file = file.to_str().unwrap();
    for (data, more) in [
        ("mutag", "--batch-norm --augment retrain"),
        (
            "imdb-binary",
            "--operator cgso --centrality degree --init a",
        ),
    ] {
        let save = ["--runs", "2", "--save", file];
        let trained = json(&args(&dir, data, &[&save[..], &words(more)].concat()));
        let predicted = json(&predict(&dir, file, data));
        assert_eq!(
            predicted["test_accuracy"], trained["test_accuracy"]["runs"][0],
            "{data}"
        );
        let counted: u64 = predicted["class_counts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["count"].as_u64().unwrap())
            .sum();
        assert_eq!(
            (&predicted["num_predictions"], &predicted["task"], counted),
            (&40.into(), &"graph".into(), 40)
        );
        let shown = text(&predict(&dir, file, data));
        assert!(shown.contains("40 graphs, test accuracy "), "{shown}");
    }
}

#[test]
fn a_saved_classifier_refuses_other_data() {
    let dir = sets();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let (graphs, nodes) = (at("graphs.safetensors"), at("nodes.safetensors"));
    json(&args(
        &dir,
        "imdb-binary",
        &["--runs", "1", "--save", &graphs],
    ));
    assert_refused(
        &predict(&dir, &graphs, "mutag"),
        &["predict: the graphs have 2 features a node, the model takes 8"],
    );
    assert_refused(
        &["predict", "--load", &graphs, "--data", "karate"],
        &["predict: the model classifies graphs of a set, and this is one graph"],
    );
    let karate = words("train --data karate --model gcn --epochs 2 --save");
    json(&[&karate[..], &[&nodes]].concat());
    assert_refused(
        &predict(&dir, &nodes, "mutag"),
        &["predict: the model classifies the nodes of one graph, and this is a set"],
    );
}

#[test]
fn learned_operators_and_epochs() {
    let dir = sets();
    let learned = [
        "--operator",
        "cgso",
        "--centrality",
        "core",
        "--runs",
        "1",
        "--epochs",
        "3",
    ];
    let report = json(
        &[
            &[
                "train",
                "--data",
                "mutag",
                "--model",
                "gcn",
                "--data-dir",
                dir.path().to_str().unwrap(),
            ],
            &learned[..],
        ]
        .concat(),
    );
    assert_eq!(
        report["initialisations"].as_array().unwrap().len(),
        7,
        "each was tried"
    );
    assert!(report["operator_parameters"]["e2"]["mean"].is_number());
    let folder = dir.path().to_str().unwrap();
    let bench = [
        "bench",
        "epoch",
        "--data",
        "imdb-binary",
        "--model",
        "gcn",
        "--epochs",
        "3",
        "--data-dir",
        folder,
    ];
    let report = json(&bench);
    assert!(report["epoch_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (
            &report["train_size"],
            &report["config"]["training"]["batch-size"]
        ),
        (&32.into(), &256.into())
    );
    assert!(text(&bench).starts_with("gcn on IMDB-BINARY: "));
}

/// Options of `gnarl train` on a set that are refused, each with a part of the message.
const REFUSED: [(&str, &str); 29] = [
    (
        "--augment retrian",
        "unknown augmentation 'retrian'; did you mean retrain",
    ),
    ("--keep-degrees", "not provided: --corrupt <SHARE>"),
    (
        "--head-epochs 3",
        "head-epochs: belongs to retrain and gratin, and the augmentation is none",
    ),
    (
        "--components 3",
        "components: belongs to gratin, and the augmentation is none",
    ),
    (
        "--augment gratin --components 0",
        "components: '0' is neither a number of at least 1 nor auto",
    ),
    (
        "--augment gratin --density shared --components 3",
        "components: belongs to mixture and variational, and the density is shared",
    ),
    (
        "--density shared",
        "density: belongs to gratin, and the augmentation is none",
    ),
    (
        "--augment-samples level",
        "augment-samples: belongs to retrain and gratin, and the augmentation is none",
    ),
    (
        "--augment gratin --augment-samples levl",
        "unknown number of samples 'levl'; did you mean level",
    ),
    ("--rare 2", "--per-class"),
    (
        "--runs 11",
        "--runs: 11 runs need as many folds, and MUTAG has 10",
    ),
    (
        "--per-class 2 --rare 2",
        "--rare must be less than --per-class 2 (got 2)",
    ),
    (
        "--select 0.5",
        "select: belongs to gratin, and the augmentation is none",
    ),
    (
        "--augment dropedge --influence x",
        "--influence: belongs to gratin, and the augmentation is dropedge",
    ),
    (
        "--augment gratin --influence-layers network",
        "--influence-layers: belongs to --select and --influence",
    ),
    (
        "--augment gratin --select 2",
        "select must be in [0, 1] (got 2)",
    ),
    (
        "--augment dropedge --p 1.5",
        "p must be in [0, 1] (got 1.5)",
    ),
    (
        "--augment manifold-mixup --mixup-alpha 0",
        "mixup-alpha must be > 0 (got 0)",
    ),
    (
        "--augment gratin --p 0.5",
        "p: belongs to dropedge, dropnode, feature-mask and configuration",
    ),
    (
        "--augment manifold-mixup --copies fixed",
        "copies: belongs to dropedge, dropnode, feature-mask, subgraph, submix, geomix, \
         configuration and g-mixup",
    ),
    (
        "--augment dropedge --copies many",
        "unknown copies 'many'; known: fixed, each-epoch",
    ),
    (
        "--augment gratin --select 1 --influence-layers neck",
        "unknown layers 'neck'; known: head, network",
    ),
    ("--corrupt 2", "share of edges must be in [0, 1] (got 2)"),
    (
        "--depth admp-st --policy echo",
        "policy: echo uses the predictions for a node's neighbours",
    ),
    ("--depth admp-st --policy pagerank", "use size"),
    (
        "--head-dropout 1",
        "--head-dropout must be in [0, 1) (got 1)",
    ),
    ("--readout typical", "unknown readout 'typical'"),
    (
        "--protocol largest-component",
        "largest-component splits the nodes of one graph",
    ),
    (
        "--features row-normalised",
        "features: row-normalised would change nothing: every node's features are one-hot",
    ),
];

#[test]
fn wrong_options_are_refused_in_one_line() {
    let dir = sets();
    for (more, part) in REFUSED {
        assert_refused(&args(&dir, "mutag", &words(more)), &[part]);
    }
    let adagcn = words("train --data mutag --model adagcn --data-dir");
    assert_refused(
        &[&adagcn[..], &[dir.path().to_str().unwrap()]].concat(),
        &["adagcn does not classify sets of graphs"],
    );
    assert_refused(
        &args(
            &dir,
            "imdb-binary",
            &words("--inference robust-crf --inference-target features"),
        ),
        &["inference-target: robust-crf samples features, and the graphs have no features"],
    );
    assert_refused(
        &args(&dir, "imdb-binary", &words("--features row-normalised")),
        &["features: row-normalised would change nothing: every node's features are one-hot"],
    );
    write_set(dir.path(), "MUTAG", 6, true);
    assert_refused(
        &args(&dir, "mutag", &[]),
        &[
            "10 folds of 6 labelled nodes or graphs: there must be at least 3 folds and a node or graph for each",
        ],
    );
}

#[test]
fn options_of_sets_are_refused_on_one_graph() {
    let on_karate = |more: &str, part: &str| {
        let base = words("train --data karate");
        assert_refused(&[base, words(more)].concat(), &[part]);
    };
    for option in ["--inits 2", "--corrupt 0.1"] {
        let name = words(option)[0];
        on_karate(
            &format!("--model gcn {option}"),
            &format!("{name}: belongs to sets of graphs, and karate is one graph"),
        );
    }
    for option in ["batch-size 2", "readout sum", "head-dropout 0.1"] {
        let name = words(option)[0];
        on_karate(
            &format!("--model gcn --{option}"),
            &format!("{name}: needs a set of graphs, and this is one graph"),
        );
    }
    on_karate(
        "--augment retrain --model sgc",
        "augment: retrain needs a head that can be trained again, which sgc lacks",
    );
    on_karate(
        "--augment retrain --model gcn --depth admp-st",
        "augment: retrain needs a fixed depth, and the depth is admp-st",
    );
}

needs_data!(
    fn gin_beats_the_majority_class_on_mutag() {
        let dir = data_dir();
        let dir = dir.to_str().unwrap();
        let report = json(&[
            "train",
            "--data",
            "mutag",
            "--model",
            "gin",
            "--batch-norm",
            "--runs",
            "4",
            "--epochs",
            "60",
            "--data-dir",
            dir,
        ]);
        // Two thirds are mutagenic: 66.5 % for always predicting that class.
        assert!(
            mean(&report["test_accuracy"]) > 75.0,
            "{}",
            report["test_accuracy"]
        );
        // A linear map after the layers, as the networks of GCORN's study have.
        let common = [
            "train",
            "--data",
            "MUTAG",
            "--model",
            "gcn",
            "--runs",
            "4",
            "--epochs",
            "60",
            "--data-dir",
            dir,
        ];
        let (with, without) = (
            json(&[&common[..], &["--head", "true"]].concat()),
            json(&common),
        );
        assert!(
            with["parameters"].as_u64().unwrap() > without["parameters"].as_u64().unwrap(),
            "one map more"
        );
        assert!(
            mean(&with["test_accuracy"]) > 68.0,
            "{}",
            with["test_accuracy"]
        );
    }
);

/// Returns a cell of `gnarl reproduce`, and the result of `gnarl train` with the same options.
fn cell_and_training(dir: &str, out: &str, table: [&str; 3], train: &[&str]) -> (Value, Value) {
    let [table, column, row] = table;
    let common = [
        "--recipe",
        "default",
        "--runs",
        "2",
        "--seed",
        "5",
        "--data-dir",
        dir,
    ];
    let reproduce = [
        "reproduce",
        table,
        "--columns",
        column,
        "--rows",
        row,
        "--out",
        out,
    ];
    let report = json(&[&reproduce[..], &common].concat());
    assert_eq!(report["rows"].as_array().unwrap().len(), 1, "{report}");
    let cell = report["rows"][0]["cells"][0].clone();
    (
        cell,
        json(&[&["train", "--data", column][..], train, &common].concat()),
    )
}

/// Cells of tables: table, column and row, and the options of `gnarl train` that give the same.
const CELLS: [([&str; 3], &str); 11] = [
    (["results_gcn", "mutag", "no aug"], "--model gcn --inits 3"),
    (
        ["results_gin", "mutag", "gratin"],
        "--model gin --inits 3 --augment gratin",
    ),
    (
        ["results_gin", "imdb-binary", "retrain"],
        "--model gin --augment retrain",
    ),
    (
        ["results_gcn", "imdb-binary", "submix"],
        "--model gcn --augment submix",
    ),
    (
        ["results_gin_classic_baselines", "imdb-binary", "dropnode"],
        "--model gin --augment dropnode --copies fixed",
    ),
    (
        ["results_structure_corr", "imdb-binary", "10 %: dropedge"],
        "--model gcn --augment dropedge --corrupt 0.1",
    ),
    (
        ["results_structure_corr", "imdb-binary", "20 %: noisy"],
        "--model gcn --noise 0.1 --corrupt 0.2",
    ),
    (
        ["ablation_gcn", "imdb-binary", "shrunken"],
        "--model gcn --augment gratin --density shrunken",
    ),
    (
        ["ablation_gin", "mutag", "shared"],
        "--model gin --inits 3 --augment gratin --density shared",
    ),
    (
        ["ablation_gin", "mutag", "gmm w/ em"],
        "--model gin --inits 3 --augment gratin",
    ),
    (
        ["config_models", "imdb-binary", "config models w/ gin"],
        "--model gin --augment configuration",
    ),
];

#[test]
fn a_cell_of_a_table_is_the_result_of_train() {
    let dir = sets();
    let (data, out) = (dir.path().to_str().unwrap(), dir.path().join("out"));
    let out = out.to_str().unwrap();
    for (table, train) in CELLS {
        let (cell, trained) = cell_and_training(data, out, table, &words(train));
        assert_eq!(
            cell["ours"]["runs"], trained["test_accuracy"]["runs"],
            "{table:?}"
        );
        let (work, config) = (&cell["config"]["work"]["graphs"], &trained["config"]);
        for key in ["recipe", "corruption", "inits", "seed"] {
            assert_eq!(work[key], config[key], "{table:?}: {key}");
        }
        // Results name the default operator as they did when they were stored.
        let model =
            |value: &Value| serde_json::from_value::<gnarl::model::Model>(value.clone()).unwrap();
        assert_eq!(model(&work["model"]), model(&config["model"]), "{table:?}");
    }
    let times = words("reproduce complexity --columns mutag --rows DropEdge --runs 1");
    let shown = text(&[&times[..], &["--out", out, "--data-dir", data]].concat());
    assert!(
        shown.contains("in all epochs: ") && shown.contains("596.8"),
        "{shown}"
    );
}

#[test]
fn gratin_is_compared_with_none_and_retrain() {
    let dir = sets();
    let (data, out) = (dir.path().to_str().unwrap(), dir.path().join("out"));
    let common = [
        "--columns",
        "imdb-binary",
        "--runs",
        "2",
        "--data-dir",
        data,
        "--out",
        out.to_str().unwrap(),
    ];
    let report = json(&[&["reproduce", "results_gin"][..], &common].concat());
    let row = |label: &str| {
        report["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["label"] == label)
            .unwrap()
    };
    let mean = |label: &str| row(label)["cells"][0]["ours"]["mean"].as_f64().unwrap();
    let pairs = row("GRATIN")["cells"][0]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    for (pair, baseline) in pairs.iter().zip(["No Aug.", "retrain (ours)"]) {
        assert_eq!(pair["baseline"], baseline);
        let by_hand = mean("GRATIN") - mean(baseline);
        assert!(
            (pair["paired"]["mean"].as_f64().unwrap() - by_hand).abs() < 1e-9,
            "{pair}"
        );
    }
    assert!(
        (pairs[0]["claimed"]["mean"].as_f64().unwrap() - 1.4).abs() < 1e-9,
        "71.70 and 70.30 in the thesis"
    );
    assert_eq!(pairs[1]["claimed"], Value::Null);

    let shown = text(&[&["reproduce", "results_gin"][..], &common].concat());
    let page = std::fs::read_to_string(out.join("results_gin.html")).unwrap();
    for label in [
        "GRATIN minus No Aug.",
        "GRATIN minus retrain (ours)",
        "SubMix minus No Aug.",
    ] {
        assert!(
            shown.contains(label) && page.contains(label),
            "{label}: {shown}"
        );
    }
    assert!(
        shown.contains("run by run\n"),
        "no one row is the baseline of all: {shown}"
    );
    let csv = std::fs::read_to_string(out.join("results_gin.csv")).unwrap();
    assert!(
        csv.contains("\ngen:tab:results_gin,GRATIN minus retrain (ours),thesis,"),
        "{csv}"
    );

    // If all rows have the same baseline, the heading names it.
    let shown = text(&[&["reproduce", "ablation_GIN"][..], &common].concat());
    let compared = shown
        .split_once("run by run, minus retrain (ours)\n")
        .unwrap()
        .1;
    let compared = compared.split("each cell: ").next().unwrap();
    for label in [
        "GMM w/ EM",
        "Copula",
        "one Gaussian, shrunken (ours)",
        "one Gaussian, shared covariance (ours)",
    ] {
        assert!(compared.contains(label), "{label}: {shown}");
    }
}

needs_data!(
    fn a_cell_of_mutag_is_the_result_of_train() {
        let data = data_dir();
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().to_str().unwrap();
        let train = ["--model", "gcn", "--inits", "3", "--augment", "gratin"];
        let (cell, trained) = cell_and_training(
            data.to_str().unwrap(),
            out,
            ["gen:tab:results_gcn", "mutag", "gratin"],
            &train,
        );
        assert_eq!(cell["ours"]["runs"], trained["test_accuracy"]["runs"]);
        assert_eq!(
            (&cell["thesis"]["mean"], &cell["thesis"]["std"]),
            (&76.05.into(), &6.74.into())
        );
    }
);

#[test]
fn exits_and_policies_of_graphs_are_reported_and_saved() {
    let dir = sets();
    let file = dir.path().join("exits.safetensors");
    let file = file.to_str().unwrap();
    for scheme in ["admp-st", "admp-alm"] {
        let depth = words("--max-depth 2 --runs 3 --inits 2");
        let depth = [&depth[..], &["--depth", scheme, "--save", file]].concat();
        let report = json(&args(&dir, "mutag", &depth));
        let exits = report["exit_accuracy"].as_array().unwrap();
        assert_eq!(
            (exits.len(), exits[0]["runs"].as_array().unwrap().len()),
            (3, 3),
            "a value for each fold"
        );
        let policies = report["policy_accuracy"].as_object().unwrap();
        assert!(
            policies.contains_key("size")
                && policies.contains_key("core")
                && !policies.contains_key("echo")
        );
        assert_eq!(
            report["test_accuracy"]["mean"], policies["pool"]["mean"],
            "the model's own policy"
        );
        assert_eq!(
            values(&report["taken"]).iter().sum::<f64>(),
            40.0,
            "every graph takes an exit"
        );
        let predicted = json(&predict(&dir, file, "mutag"));
        assert_eq!(
            predicted["test_accuracy"], report["runs"][0]["test_accuracy"],
            "{scheme}"
        );
        assert_eq!(
            values(&predicted["taken"]),
            values(&report["runs"][0]["taken"]),
            "{scheme}"
        );
    }
}

#[test]
fn policies_by_graph_size_are_for_sets() {
    let dir = sets();
    let depth = words("--depth admp-st --max-depth 1 --policy size,pool");
    let shown = text(&args(&dir, "imdb-binary", &depth));
    assert!(
        shown.contains("size (the model's own)") && shown.contains("graphs taking it"),
        "{shown}"
    );
    for policy in ["size", "pool,size"] {
        let karate = words("train --data karate --model gin --depth admp-st --policy");
        assert_refused(
            &[&karate[..], &[policy]].concat(),
            &["size compares the sizes of the graphs of a set, and this is one graph"],
        );
    }
}

/// Returns a command on a set with a small GIN.
fn on_set<'a>(dir: &'a TempDir, command: &'a str, data: &'a str, more: &'a str) -> Vec<&'a str> {
    let folder = dir.path().to_str().unwrap();
    let base = [command, "--data", data, "--data-dir", folder];
    let model = words("--model gin --epochs 20 --hidden 8");
    [&base[..], &model, &words(more)].concat()
}

#[test]
fn sets_are_attacked() {
    let dir = sets();
    let attack = |data: &str, more: &str| json(&on_set(&dir, "attack", data, more));
    let noisy = attack("mutag", "--attack gaussian --inference clean-crf");
    assert_eq!(
        noisy["attacked_accuracy"]["runs"].as_array().unwrap().len(),
        10,
        "all folds"
    );
    assert!(noisy["runs"][0]["features"]["nodes"].as_u64().unwrap() > 0);
    assert!(
        mean(&noisy["defended"]["clean_difference"]).abs() < 1e-9,
        "clean graphs are their own neighbours"
    );
    let flips = attack("imdb-binary", "--attack random-flips --budget 0.5 --runs 2");
    assert_eq!(flips["runs"].as_array().unwrap().len(), 2);
    assert!(
        flips["runs"][0]["edges_removed"].as_u64().unwrap()
            + flips["runs"][0]["edges_added"].as_u64().unwrap()
            > 0
    );
    let several = attack("mutag", "--attack random-flips --budget 0,0.5 --runs 2");
    assert_eq!(several["models"], serde_json::json!(["gin", "mlp"]));
    for cell in several["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["model"] == 1)
    {
        assert_eq!(
            cell["attacked_accuracy"], cell["clean_accuracy"],
            "no edge misleads an MLP"
        );
    }
    assert_refused(
        &on_set(&dir, "attack", "imdb-binary", "--attack gaussian"),
        &[
            "gaussian changes features, and the graphs have none of their own; attack their edges by",
        ],
    );
    assert_refused(
        &on_set(&dir, "attack", "mutag", "--attack dice"),
        &["dice needs the classes of nodes, and the graphs of a set have none"],
    );
}

#[test]
fn robustness_is_estimated_on_sets() {
    let dir = sets();
    for (data, target) in [("mutag", "features"), ("imdb-binary", "structure")] {
        let found = json(&on_set(&dir, "robustness", data, "--samples 5"));
        assert_eq!(
            (
                found["target"].as_str(),
                found["curve"].as_array().unwrap().len()
            ),
            (Some(target), 2),
            "{data}"
        );
        assert!(found["curve"][1]["mean"].as_f64().unwrap() >= 0.0);
    }
    let alone = "--alone --attack gaussian --runs 2";
    let axes = json(&on_set(&dir, "axes", "mutag", alone));
    assert!(axes.to_string().contains("attacked_minus_plain"), "{axes}");
}

#[test]
fn a_saved_classifier_keeps_its_inference() {
    let dir = sets();
    let file = dir.path().join("kept.safetensors");
    let file = file.to_str().unwrap();
    let crf = words("--runs 1 --inference robust-crf --save");
    json(&args(&dir, "mutag", &[&crf[..], &[file]].concat()));
    let kept = json(&predict(&dir, file, "mutag"));
    assert_eq!(kept["inference"]["kind"], "robust-crf");
    assert!(kept["plain_test_accuracy"].is_number(), "{kept}");
    let other = words("--inference clean-crf");
    let other = json(&[predict(&dir, file, "mutag"), other].concat());
    assert_eq!(other["inference"]["kind"], "clean-crf");
}
