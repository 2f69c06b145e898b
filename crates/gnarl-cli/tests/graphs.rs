//! Tests sets of graphs from the command line, with small files in the TU format.

use crate::common;

use common::{header, json, mean, real_data, refusal, text, write_set};
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
fn folds_are_the_runs() {
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
fn degrees_stand_in_for_features_and_corruption_says_which() {
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
fn the_control_stands_beside_none() {
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
fn a_set_of_ones_own_is_a_folder() {
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

#[test]
fn a_rare_class_is_levelled() {
    let dir = sets();
    let rare = ["--per-class", "6", "--rare", "2", "--runs", "4"];
    let with = |more: &[&str]| json(&args(&dir, "mutag", &[&rare[..], more].concat()));
    let names = |report: &Value| -> Vec<String> {
        (0..4)
            .map(|i| report["runs"][i]["split"].as_str().unwrap().to_string())
            .collect()
    };
    let control = with(&["--augment", "retrain", "--augment-samples", "level"]);
    for (i, name) in names(&control).iter().enumerate() {
        assert!(
            name.ends_with(["-2+6-per-class", "-6+2-per-class"][i % 2]),
            "{name}: each class in turn"
        );
    }
    assert_eq!(
        (&control["config"]["per_class"], &control["config"]["rare"]),
        (&6.into(), &2.into())
    );
    for density in ["mixture", "shrunken", "shared"] {
        let report = with(&[
            "--augment",
            "gratin",
            "--augment-samples",
            "level",
            "--density",
            density,
        ]);
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
        let difference = report["test_accuracy"]["mean"].as_f64().unwrap()
            - control["test_accuracy"]["mean"].as_f64().unwrap();
        assert!(
            (found["minus_retrain"]["mean"].as_f64().unwrap() - difference).abs() < 1e-9,
            "{density}"
        );
        let drawn = &report["runs"][0]["fresh_head"]["drawn"];
        assert_eq!(drawn["drawn"], 16, "12 of each with the 8 that are there");
        let fit = &drawn["fits"][1];
        assert_eq!((&fit["points"], &fit["components"]), (&6.into(), &1.into()));
        // From the control to all vectors, whatever their number.
        let stem = dir.path().join(density).display().to_string();
        let more = [
            "--augment",
            "gratin",
            "--augment-samples",
            "level",
            "--density",
            density,
            "--influence",
            &stem,
        ];
        let studied = with(&more);
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
    let level = [
        "--augment",
        "gratin",
        "--augment-samples",
        "level",
        "--density",
        "shared",
    ];
    let shown = text(&args(&dir, "mutag", &[&rare[..], &level].concat()));
    assert!(
        shown.contains("at most 6 of each class, 2 of one class in turn"),
        "{shown}"
    );
    let drawn =
        "one Gaussian a class, their shrunken covariance shared; up to twice the largest class";
    assert!(shown.contains(drawn), "{shown}");
    let shown = text(&args(
        &dir,
        "mutag",
        &["--augment", "gratin", "--runs", "2"],
    ));
    assert!(shown.contains("minus retrain"), "{shown}");
}

#[test]
fn every_augmentation_is_reached_by_name() {
    let dir = sets();
    let mut seen = Vec::new();
    for name in [
        "none",
        "dropedge",
        "dropnode",
        "subgraph",
        "submix",
        "geomix",
        "g-mixup",
        "manifold-mixup",
        "configuration",
    ] {
        let report = json(&args(
            &dir,
            "imdb-binary",
            &["--augment", name, "--runs", "2"],
        ));
        assert_eq!(report["config"]["model"]["augment"]["kind"], name);
        assert_eq!(
            report["runs"][0]["copy_seconds"].is_number(),
            !["none", "manifold-mixup"].contains(&name),
            "{name}"
        );
        let augment = &report["config"]["model"]["augment"];
        let (setting, value) = match name {
            "none" => ("p", None),
            "submix" => ("swap-ratio", Some(0.4)),
            "geomix" => ("max-lambda", Some(0.5)),
            "g-mixup" => ("max-lambda", Some(0.2)),
            "manifold-mixup" => ("alpha", Some(1.0)),
            "subgraph" => ("drop-ratio", Some(0.2)),
            _ => ("p", Some(0.2)),
        };
        assert_eq!(augment[setting].as_f64(), value, "{name}");
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
    let shown = text(&args(
        &dir,
        "mutag",
        &[
            "--augment",
            "dropnode",
            "--copies",
            "fixed",
            "--runs",
            "1",
            "--p",
            "0.5",
        ],
    ));
    assert!(
        shown.contains("dropnode with p 0.5, one copy of each training graph, beside them"),
        "{shown}"
    );
    let curves = |p| {
        json(&args(
            &dir,
            "mutag",
            &["--augment", "dropnode", "--p", p, "--runs", "1", "--curves"],
        ))
    };
    assert_ne!(
        curves("0.5")["runs"][0]["trained"],
        curves("0.1")["runs"][0]["trained"]
    );
    let shown = text(&args(
        &dir,
        "mutag",
        &["--augment", "submix", "--corrupt", "0.2", "--runs", "1"],
    ));
    assert!(
        shown.contains("submix with swap-ratio 0.4, new copies in every epoch")
            && shown.contains("corrupted"),
        "{shown}"
    );
}

#[test]
fn influence_selects_and_is_drawn() {
    let dir = sets();
    let stem = dir.path().join("found");
    let stem = stem.to_str().unwrap();
    let base = ["--augment", "gratin", "--runs", "3"];
    let half = json(&args(
        &dir,
        "mutag",
        &[&base[..], &["--select", "0.5"]].concat(),
    ));
    // 32 of 40 graphs train; as many vectors are sampled.
    assert_eq!(half["runs"][0]["fresh_head"]["drawn"]["kept"], 16);
    assert_eq!(half["config"]["model"]["augment"]["select"], 0.5);
    assert!(
        half["augmentation"]["latent_distance"]["drawn"]["mean"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    let all = |more: &[&str]| {
        json(&args(&dir, "mutag", &[&base[..], more].concat()))["test_accuracy"].take()
    };
    assert_eq!(all(&["--select", "1"]), all(&[]));
    for through in ["head", "network"] {
        let more = [
            "--influence",
            stem,
            "--influence-layers",
            through,
            "--histograms",
            stem,
        ];
        let report = json(&args(&dir, "mutag", &[&base[..], &more].concat()));
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
        let mut names: Vec<String> = report["written"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f.as_str().unwrap().into())
            .collect();
        assert_eq!(names.len(), 10);
        for name in names.drain(..) {
            let content = std::fs::read(&name).unwrap();
            match &name[name.len() - 3..] {
                "svg" => assert!(
                    String::from_utf8(content).unwrap().contains("gin on MUTAG"),
                    "{name}"
                ),
                "png" => assert_eq!(&content[1..4], b"PNG"),
                _ => assert!(content.len() > 100, "{name}"),
            }
        }
        let candidates = std::fs::read_to_string(format!("{stem}.csv")).unwrap();
        assert_eq!(
            (candidates.lines().count(), candidates.lines().next()),
            (97, Some("run,class,on_validation,on_test"))
        );
        assert_eq!(
            std::fs::read_to_string(format!("{stem}-filter.csv"))
                .unwrap()
                .lines()
                .count(),
            12
        );
    }
    let shown = text(&args(
        &dir,
        "mutag",
        &[&base[..], &["--influence", stem, "--select", "0.25"]].concat(),
    ));
    for part in [
        "drawn vectors: ",
        "minus retrain",
        "found-filter.svg",
        "mean distance of a drawn vector",
        "25 % kept by influence",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn a_saved_classifier_predicts_as_it_was_trained() {
    let dir = sets();
    let file = dir.path().join("model.safetensors");
    let (file, folder) = (file.to_str().unwrap(), dir.path().to_str().unwrap());
    for (data, more) in [
        ("mutag", &["--batch-norm", "--augment", "retrain"][..]),
        (
            "imdb-binary",
            &[
                "--operator",
                "cgso",
                "--centrality",
                "degree",
                "--init",
                "a",
            ][..],
        ),
    ] {
        let trained = json(&args(
            &dir,
            data,
            &[&["--runs", "2", "--save", file], more].concat(),
        ));
        let predicted = json(&[
            "predict",
            "--load",
            file,
            "--data",
            data,
            "--data-dir",
            folder,
        ]);
        assert_eq!(
            predicted["test_accuracy"], trained["test_accuracy"]["runs"][0],
            "{data}"
        );
        let counted: u64 = predicted["class_counts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["items"].as_u64().unwrap())
            .sum();
        assert_eq!(
            (&predicted["items"], &predicted["item"], counted),
            (&40.into(), &"graph".into(), 40)
        );
        let shown = text(&[
            "predict",
            "--load",
            file,
            "--data",
            data,
            "--data-dir",
            folder,
        ]);
        assert!(
            shown.contains("40 graphs, ") && shown.contains("of those held out for testing"),
            "{shown}"
        );
    }
    let e = refusal(&[
        "predict",
        "--load",
        file,
        "--data",
        "mutag",
        "--data-dir",
        folder,
    ]);
    assert!(
        e.contains("predict: the graphs have 2 features a node, the model takes 8"),
        "{e}"
    );
    let e = refusal(&["predict", "--load", file, "--data", "karate"]);
    assert!(
        e.contains("predict: the model classifies graphs of a set, and this is one graph"),
        "{e}"
    );
    let nodes = dir.path().join("nodes.safetensors");
    let nodes = nodes.to_str().unwrap();
    json(&[
        "train", "--data", "karate", "--model", "gcn", "--epochs", "2", "--save", nodes,
    ]);
    let e = refusal(&[
        "predict",
        "--load",
        nodes,
        "--data",
        "mutag",
        "--data-dir",
        folder,
    ]);
    assert!(
        e.contains("predict: the model classifies the nodes of one graph, and this is a set"),
        "{e}"
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
            &report["training_items"],
            &report["config"]["training"]["batch-size"]
        ),
        (&32.into(), &256.into())
    );
    assert!(text(&bench).starts_with("gcn on IMDB-BINARY: "));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let dir = sets();
    let fail = |more: &[&str]| refusal(&args(&dir, "mutag", more));
    assert!(
        fail(&["--augment", "retrian"])
            .contains("unknown augmentation 'retrian'; did you mean retrain")
    );
    assert!(fail(&["--keep-degrees"]).contains("not provided: --corrupt <SHARE>"));
    assert!(
        fail(&["--head-epochs", "3"])
            .contains("head-epochs: belongs to retrain and gratin, and the augmentation is none")
    );
    assert!(
        fail(&["--components", "3"])
            .contains("components: belongs to gratin, and the augmentation is none")
    );
    assert!(
        fail(&["--augment", "gratin", "--components", "0"])
            .contains("components: '0' is neither a number of at least 1 nor auto")
    );
    let one = &[
        "--augment",
        "gratin",
        "--density",
        "shared",
        "--components",
        "3",
    ];
    assert!(
        fail(one)
            .contains("components: belongs to mixture and variational, and the density is shared")
    );
    assert!(
        fail(&["--density", "shared"])
            .contains("density: belongs to gratin, and the augmentation is none")
    );
    assert!(
        fail(&["--augment-samples", "level"]).contains(
            "augment-samples: belongs to retrain and gratin, and the augmentation is none"
        )
    );
    assert!(
        fail(&["--augment", "gratin", "--augment-samples", "levl"])
            .contains("unknown number of draws 'levl'; did you mean level")
    );
    assert!(fail(&["--rare", "2"]).contains("--per-class"));
    assert!(
        fail(&["--runs", "11"])
            .contains("--runs: 11 runs; of a set each is a fold, and MUTAG has 10")
    );
    let more = &["--per-class", "2", "--rare", "2"];
    assert!(fail(more).contains("--rare: 2 items are not fewer than --per-class 2"));
    assert!(
        fail(&["--select", "0.5"])
            .contains("select: belongs to gratin, and the augmentation is none")
    );
    assert!(
        fail(&["--augment", "dropedge", "--influence", "x"])
            .contains("--influence: belongs to gratin, and the augmentation is dropedge")
    );
    assert!(
        fail(&["--augment", "gratin", "--influence-layers", "network"])
            .contains("--influence-layers: belongs to --select and --influence")
    );
    assert!(
        fail(&["--augment", "gratin", "--select", "2"])
            .contains("select must be in [0, 1] (got 2)")
    );
    assert!(
        fail(&["--augment", "dropedge", "--p", "1.5"]).contains("p must be in [0, 1] (got 1.5)")
    );
    assert!(
        fail(&["--augment", "manifold-mixup", "--mixup-alpha", "0"])
            .contains("mixup-alpha must be > 0 (got 0)")
    );
    assert!(
        fail(&["--augment", "gratin", "--p", "0.5"])
            .contains("p: belongs to dropedge, dropnode, feature-mask and configuration")
    );
    assert!(fail(&["--augment", "manifold-mixup", "--copies", "fixed"]).contains(
        "copies: belongs to dropedge, dropnode, feature-mask, subgraph, submix, geomix, configuration and g-mixup"
    ));
    assert!(
        fail(&["--augment", "dropedge", "--copies", "many"])
            .contains("unknown copies 'many'; known: fixed, each-epoch")
    );
    assert!(
        fail(&[
            "--augment",
            "gratin",
            "--select",
            "1",
            "--influence-layers",
            "neck"
        ])
        .contains("unknown layers 'neck'; known: head, network")
    );
    assert!(fail(&["--corrupt", "2"]).contains("share of edges must be in [0, 1] (got 2)"));
    assert!(
        fail(&["--depth", "admp-st", "--policy", "echo"])
            .contains("policy: echo uses the predictions for a node's neighbours")
    );
    assert!(fail(&["--depth", "admp-st", "--policy", "pagerank"]).contains("use size"));
    assert!(
        fail(&["--head-dropout", "1"]).contains("head dropout 1 must be at least 0 and below 1")
    );
    assert!(fail(&["--readout", "typical"]).contains("readout: 'typical' does not fit"));
    let folder = dir.path().to_str().unwrap();
    let e = refusal(&[
        "train",
        "--data",
        "mutag",
        "--model",
        "adagcn",
        "--data-dir",
        folder,
    ]);
    assert!(
        e.contains("adagcn is trained one learner after the other"),
        "{e}"
    );
    for (option, value) in [("--inits", "2"), ("--corrupt", "0.1")] {
        let e = refusal(&["train", "--data", "karate", "--model", "gcn", option, value]);
        assert!(
            e.contains(&format!(
                "{option}: belongs to sets of graphs, and karate is one graph"
            )),
            "{e}"
        );
    }
    for (option, value) in [
        ("batch-size", "2"),
        ("readout", "sum"),
        ("head-dropout", "0.1"),
    ] {
        let e = refusal(&[
            "train",
            "--data",
            "karate",
            "--model",
            "gcn",
            &format!("--{option}"),
            value,
        ]);
        assert!(
            e.contains(&format!(
                "{option}: belongs to sets of graphs, and this is one graph"
            )),
            "{e}"
        );
    }
    for (more, what) in [
        (
            ["--model", "sgc"],
            "augment: sgc has no head on one graph for retrain to train again; take one of gcn",
        ),
        (
            ["--depth", "admp-st"],
            "augment: retrain trains one head again, and admp-st has one at every exit",
        ),
    ] {
        let model: &[&str] = if more[0] == "--model" {
            &[]
        } else {
            &["--model", "gcn"]
        };
        let e = refusal(
            &[
                &["train", "--data", "karate", "--augment", "retrain"],
                model,
                &more,
            ]
            .concat(),
        );
        assert!(e.contains(what), "{e}");
    }
    let e = refusal(&args(
        &dir,
        "imdb-binary",
        &[
            "--inference",
            "robust-crf",
            "--inference-target",
            "features",
        ],
    ));
    assert!(
        e.contains(
            "inference-target: robust-crf samples features, and the graphs have no features"
        ),
        "{e}"
    );
    assert!(
        fail(&["--protocol", "largest-component"])
            .contains("largest-component splits the nodes of one graph")
    );
    for data in ["mutag", "imdb-binary"] {
        let e = refusal(&args(&dir, data, &["--features", "row-normalised"]));
        assert!(
            e.contains(
                "features: row-normalised would change nothing: every node's features are one-hot"
            ),
            "{e}"
        );
    }
    write_set(dir.path(), "MUTAG", 6, true);
    assert!(fail(&[]).contains(
        "10 folds of 6 labelled items: there must be at least 3 folds and an item for each"
    ));
}

#[test]
fn mutag_is_learned() {
    let Some(dir) = real_data() else { return };
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

#[test]
fn a_cell_of_a_table_is_what_train_gives() {
    let dir = sets();
    let (data, out) = (dir.path().to_str().unwrap(), dir.path().join("out"));
    let out = out.to_str().unwrap();
    for (table, train) in [
        (
            ["results_gcn", "mutag", "no aug"],
            &["--model", "gcn", "--inits", "3"][..],
        ),
        (
            ["results_gin", "mutag", "gratin"],
            &["--model", "gin", "--inits", "3", "--augment", "gratin"],
        ),
        (
            ["results_gin", "imdb-binary", "retrain"],
            &["--model", "gin", "--augment", "retrain"],
        ),
        (
            ["results_gcn", "imdb-binary", "submix"],
            &["--model", "gcn", "--augment", "submix"],
        ),
        (
            ["results_gin_classic_baselines", "imdb-binary", "dropnode"],
            &[
                "--model",
                "gin",
                "--augment",
                "dropnode",
                "--copies",
                "fixed",
            ],
        ),
        (
            ["results_structure_corr", "imdb-binary", "10 %: dropedge"],
            &[
                "--model",
                "gcn",
                "--augment",
                "dropedge",
                "--corrupt",
                "0.1",
            ],
        ),
        (
            ["results_structure_corr", "imdb-binary", "20 %: noisy"],
            &["--model", "gcn", "--noise", "0.1", "--corrupt", "0.2"],
        ),
        (
            ["ablation_gcn", "imdb-binary", "shrunken"],
            &[
                "--model",
                "gcn",
                "--augment",
                "gratin",
                "--density",
                "shrunken",
            ],
        ),
        (
            ["ablation_gin", "mutag", "shared"],
            &[
                "--model",
                "gin",
                "--inits",
                "3",
                "--augment",
                "gratin",
                "--density",
                "shared",
            ],
        ),
        (
            ["ablation_gin", "mutag", "gmm w/ em"],
            &["--model", "gin", "--inits", "3", "--augment", "gratin"],
        ),
        (
            ["config_models", "imdb-binary", "config models w/ gin"],
            &["--model", "gin", "--augment", "configuration"],
        ),
    ] {
        let (cell, trained) = cell_and_training(data, out, table, train);
        assert_eq!(
            cell["ours"]["runs"], trained["test_accuracy"]["runs"],
            "{table:?}"
        );
        let (work, config) = (&cell["config"]["work"]["graphs"], &trained["config"]);
        for key in ["recipe", "model", "corruption", "inits", "seed"] {
            assert_eq!(work[key], config[key], "{table:?}: {key}");
        }
    }
    let shown = text(&[
        "reproduce",
        "complexity",
        "--columns",
        "mutag",
        "--rows",
        "DropEdge",
        "--runs",
        "1",
        "--out",
        out,
        "--data-dir",
        data,
    ]);
    assert!(
        shown.contains("in all epochs: ") && shown.contains("596.8"),
        "{shown}"
    );
}

#[test]
fn gratin_stands_minus_none_and_minus_retrain() {
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

#[test]
fn a_cell_of_mutag_is_what_train_gives() {
    let Some(data) = real_data() else { return };
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

#[test]
fn exits_and_policies_of_graphs_are_reported_and_saved() {
    let dir = sets();
    let file = dir.path().join("exits.safetensors");
    let file = file.to_str().unwrap();
    for scheme in ["admp-st", "admp-alm"] {
        let depth = [
            "--depth",
            scheme,
            "--max-depth",
            "2",
            "--runs",
            "3",
            "--inits",
            "2",
            "--save",
            file,
        ];
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
        let folder = dir.path().to_str().unwrap();
        let predict = |data| {
            json(&[
                "predict",
                "--load",
                file,
                "--data",
                data,
                "--data-dir",
                folder,
            ])
        };
        let predicted = predict("mutag");
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
    let shown = text(&args(
        &dir,
        "imdb-binary",
        &[
            "--depth",
            "admp-st",
            "--max-depth",
            "1",
            "--policy",
            "size,pool",
        ],
    ));
    assert!(
        shown.contains("size (the model's own)") && shown.contains("graphs taking it"),
        "{shown}"
    );
    let e = refusal(&[
        "train", "--data", "karate", "--model", "gin", "--depth", "admp-st", "--policy", "size",
    ]);
    assert!(
        e.contains("size compares the sizes of the graphs of a set, and this is one graph"),
        "{e}"
    );
    let e = refusal(&[
        "train",
        "--data",
        "karate",
        "--model",
        "gin",
        "--depth",
        "admp-st",
        "--policy",
        "pool,size",
    ]);
    assert!(
        e.contains("size compares the sizes of the graphs of a set, and this is one graph"),
        "{e}"
    );
}

/// Runs attacks, inference rules and robustness on sets, with defaults.
#[test]
fn sets_are_attacked_defended_and_measured() {
    let dir = sets();
    let folder = dir.path().to_str().unwrap();
    let on = |command: &'static str, data: &'static str, more: &[&'static str]| {
        let common = [
            command,
            "--data",
            data,
            "--model",
            "gin",
            "--epochs",
            "20",
            "--hidden",
            "8",
            "--data-dir",
            folder,
        ];
        common
            .iter()
            .chain(more)
            .map(|s| s.to_string())
            .collect::<Vec<String>>()
    };
    let run = |words: Vec<String>| json(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let noisy = run(on(
        "attack",
        "mutag",
        &["--attack", "gaussian", "--inference", "clean-crf"],
    ));
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
    let flips = run(on(
        "attack",
        "imdb-binary",
        &["--attack", "random-flips", "--budget", "0.5", "--runs", "2"],
    ));
    assert_eq!(flips["runs"].as_array().unwrap().len(), 2);
    assert!(
        flips["runs"][0]["edges_removed"].as_u64().unwrap()
            + flips["runs"][0]["edges_added"].as_u64().unwrap()
            > 0
    );
    let several = run(on(
        "attack",
        "mutag",
        &[
            "--attack",
            "random-flips",
            "--budget",
            "0,0.5",
            "--runs",
            "2",
        ],
    ));
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
    for (data, target) in [("mutag", "features"), ("imdb-binary", "structure")] {
        let found = run(on("robustness", data, &["--samples", "5"]));
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
    let axes = run(on(
        "axes",
        "mutag",
        &["--alone", "--attack", "gaussian", "--runs", "2"],
    ));
    assert!(axes.to_string().contains("attacked_minus_plain"), "{axes}");
    let refused =
        |words: Vec<String>| refusal(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let e = refused(on("attack", "imdb-binary", &["--attack", "gaussian"]));
    assert!(
        e.contains("gaussian changes features, and the graphs have none of their own; attack their edges by"),
        "{e}"
    );
    let e = refused(on("attack", "mutag", &["--attack", "dice"]));
    assert!(
        e.contains("dice needs the classes of nodes, and the graphs of a set have none"),
        "{e}"
    );
    let file = dir.path().join("kept.safetensors");
    let file = file.to_str().unwrap();
    json(&args(
        &dir,
        "mutag",
        &["--runs", "1", "--inference", "robust-crf", "--save", file],
    ));
    let kept = json(&[
        "predict",
        "--load",
        file,
        "--data",
        "mutag",
        "--data-dir",
        folder,
    ]);
    assert_eq!(kept["inference"]["kind"], "robust-crf");
    assert!(kept["plain_test_accuracy"].is_number(), "{kept}");
    let other = json(&[
        "predict",
        "--load",
        file,
        "--data",
        "mutag",
        "--data-dir",
        folder,
        "--inference",
        "clean-crf",
    ]);
    assert_eq!(other["inference"]["kind"], "clean-crf");
}
