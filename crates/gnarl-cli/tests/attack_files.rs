//! Tests attacked graphs as files, target nodes, and several models at several budgets.

use std::path::Path;

use crate::common;
use common::{json, mean, refusal, text, words};
use gnarl_testing::{data_dir, needs_data};
use serde_json::Value;

const MODEL: [&str; 8] = [
    "--data", "csbm", "--model", "gcn", "--epochs", "30", "--hidden", "8",
];

fn attack<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["attack"][..], &MODEL, more].concat()
}

#[test]
fn written_attacks_are_evaluated_alike_and_list_their_flips() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("attacked.npz");
    let name = file.to_str().unwrap();
    for (kind, more) in [
        ("dice", &["--budget", "0.1"][..]),
        (
            "mettack",
            &[
                "--budget",
                "0.02",
                "--inner-steps",
                "10",
                "--mode",
                "poisoning",
            ],
        ),
        ("nettack", &["--budget", "2", "--degree-test", "false"]),
        (
            "grbcd",
            &["--budget", "0.05", "--steps", "5", "--block-size", "2000"],
        ),
    ] {
        let made = json(&attack(
            &[&["--attack", kind, "--write", name], more].concat(),
        ));
        let csv = std::fs::read_to_string(dir.path().join("attacked.csv")).unwrap();
        let lines: Vec<&str> = csv.lines().skip(1).collect();
        assert_eq!(
            lines.len() as f64,
            made["flips"].as_f64().unwrap(),
            "{kind}"
        );
        assert!(
            lines
                .iter()
                .all(|line| line.contains(",add,") || line.contains(",remove,")),
            "{kind}: {csv}"
        );
        assert_eq!(
            lines.iter().all(|line| !line.ends_with(',')),
            kind == "nettack",
            "targets are named: {csv}"
        );
        if kind == "nettack" {
            continue;
        }
        let mode = if kind == "mettack" {
            "poisoning"
        } else {
            "evasion"
        };
        let judged = json(&attack(&["--on", name, "--mode", mode]));
        assert_eq!(judged["attack"], "given");
        assert_eq!(
            judged["attacked_accuracy"], made["attacked_accuracy"],
            "{kind}"
        );
        assert_eq!(judged["clean_accuracy"], made["clean_accuracy"], "{kind}");
    }
    // The file contains attacked features, too.
    json(&attack(&[
        "--attack",
        "gaussian",
        "--budget",
        "2",
        "--write",
        name,
        "--features",
        "as-loaded",
    ]));
    let noisy = json(&attack(&["--on", name, "--features", "as-loaded"]));
    assert!(noisy["runs"][0]["features"]["nodes"].as_u64().unwrap() > 0);
}

/// Returns the accuracy and the perturbation of the first run.
fn first_run(report: &Value) -> [Value; 4] {
    let run = &report["runs"][0];
    [
        "attacked_accuracy",
        "features",
        "edges_added",
        "edges_removed",
    ]
    .map(|key| run[key].clone())
}

#[test]
fn attacked_features_in_a_file_give_the_accuracy_of_the_attack() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("attacked.npz");
    let name = file.to_str().unwrap();
    for scaling in ["row-normalised", "standardised", "as-loaded"] {
        for (kind, mode) in [
            ("gaussian", "evasion"),
            ("pgd-features", "evasion"),
            ("gaussian", "poisoning"),
        ] {
            let common = ["--features", scaling, "--mode", mode];
            let made = json(&attack(
                &[
                    &["--attack", kind, "--budget", "0.3", "--write", name],
                    &common[..],
                ]
                .concat(),
            ));
            let judged = json(&attack(&[&["--on", name], &common[..]].concat()));
            assert_eq!(
                first_run(&judged),
                first_run(&made),
                "{kind}, {scaling}, {mode}"
            );
        }
    }
    json(&attack(&[
        "--attack",
        "gaussian",
        "--write",
        name,
        "--features",
        "standardised",
    ]));
    let e = refusal(&attack(&["--on", name, "--features", "as-loaded"]));
    assert!(
        e.contains("are standardised") && e.contains("--features standardised"),
        "{e}"
    );
}

/// The file has as many flipped features as the attack made, however the model scales them.
#[test]
fn flipped_features_in_a_file_are_those_of_the_attack() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let (binary, targets, file) = (at("binary"), at("one"), at("attacked.npz"));
    common::write_rings(binary.as_ref(), &[("red", 0), ("blue", 1)], 20);
    let features = std::fs::read_to_string(at("binary/features.csv")).unwrap();
    std::fs::write(at("binary/features.csv"), features.replace("0.2", "0")).unwrap();
    std::fs::write(&targets, "red-3\n").unwrap();
    let on = |more: &[&str]| {
        let base = words("attack --model gcn --epochs 20 --features row-normalised");
        json(&[&base[..], &["--data", &binary, "--targets", &targets], more].concat())
    };
    let nettack = words("--attack nettack --perturb features --budget 1");
    let made = on(&[&nettack[..], &["--write", &file]].concat());
    // A second feature is added next to the first: after scaling, both entries of the row change.
    assert_eq!(made["flips"].as_f64(), Some(1.0), "{made}");
    assert_eq!(first_run(&on(&["--on", &file])), first_run(&made));
}

/// Writes a graph of 60 nodes and two classes with weighted edges.
fn write_weighted(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    let (mut edges, mut labels) = (
        String::from("source,target,weight\n"),
        String::from("node,label\n"),
    );
    for u in 0..60 {
        let weight = 0.05 + f64::from(u * 7 % 11);
        edges += &format!(
            "{u},{},{weight}\n{u},{},{}\n",
            (u + 2) % 60,
            (u + 7) % 60,
            weight / 9.0
        );
        labels += &format!("{u},{}\n", u % 2);
    }
    std::fs::write(folder.join("edges.csv"), edges).unwrap();
    std::fs::write(folder.join("labels.csv"), labels).unwrap();
}

#[test]
fn an_attacked_weighted_graph_in_a_file_keeps_its_weights() {
    let dir = tempfile::tempdir().unwrap();
    let (file, own) = (dir.path().join("attacked.npz"), dir.path().join("weighted"));
    write_weighted(&own);
    let on = |more: &[&str]| {
        let base = words("attack --model sgc --epochs 30");
        json(&[&base[..], &["--data", own.to_str().unwrap()], more].concat())
    };
    let name = file.to_str().unwrap();
    for kind in ["random-flips", "random-add", "prbcd"] {
        let made = on(&["--attack", kind, "--budget", "0.3", "--write", name]);
        assert!(made["flips"].as_f64().unwrap() > 10.0, "{kind}");
        assert_eq!(first_run(&on(&["--on", name])), first_run(&made), "{kind}");
    }
}

/// Target nodes are read, and flips are listed, by the names of the user's own files.
#[test]
fn targets_and_flips_use_node_names() {
    let dir = tempfile::tempdir().unwrap();
    common::write_rings(dir.path(), &[("red", 0), ("blue", 1)], 20);
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let edges = std::fs::read_to_string(at("edges.csv")).unwrap();
    let node = edges
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap()
        .to_string();
    assert!(node.parse::<u32>().is_err(), "nodes have names: {node}");
    std::fs::write(at("targets"), format!("{node}\n")).unwrap();
    let folder = dir.path().to_str().unwrap();
    let (targets, written) = (at("targets"), at("out.npz"));
    let base = [
        "attack",
        "--data",
        folder,
        "--model",
        "gcn",
        "--epochs",
        "10",
        "--attack",
        "nettack",
        "--degree-test",
        "false",
    ];
    let made = json(
        &[
            &base[..],
            &["--budget", "2", "--targets", &targets, "--write", &written],
        ]
        .concat(),
    );
    assert_eq!(made["flips"].as_f64(), Some(2.0));
    let csv = std::fs::read_to_string(at("out.csv")).unwrap();
    assert!(
        csv.lines()
            .skip(1)
            .all(|line| line.ends_with(&format!(",{node}"))),
        "{csv}"
    );
    std::fs::write(at("targets"), "nobody\n").unwrap();
    let e = refusal(&[&base[..], &["--targets", &targets]].concat());
    assert!(
        e.contains("line 1")
            && e.contains("'nobody' is not a node: a node's name, or its number, is expected"),
        "{e}"
    );
}

#[test]
fn invalid_attack_files_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let e = refusal(&attack(&["--attack", "dice", "--write", &at("x.csv")]));
    assert!(e.contains("a name that ends in .npz"), "{e}");
    let e = refusal(&attack(&[
        "--attack",
        "dice",
        "--write",
        &at("no/folder/x.npz"),
    ]));
    assert!(e.contains("there is no folder"), "{e}");
    std::fs::write(at("junk.npz"), "junk").unwrap();
    assert!(refusal(&attack(&["--on", &at("junk.npz")])).contains("junk.npz"));
    std::fs::write(at("targets"), "3\nx\n").unwrap();
    let e = refusal(&attack(&[
        "--attack",
        "nettack",
        "--targets",
        &at("targets"),
    ]));
    assert!(
        e.contains("line 2") && e.contains("'x' is not a node"),
        "{e}"
    );
    std::fs::write(at("targets"), "3\n5\n3\n").unwrap();
    let e = refusal(&attack(&[
        "--attack",
        "nettack",
        "--targets",
        &at("targets"),
    ]));
    assert!(
        e.contains("line 3") && e.contains("'3' is listed twice, also on line 1"),
        "{e}"
    );
    for strange in [&b"{\"a\": 1}"[..], b"[3, ", b"\xff\xfe", b""] {
        std::fs::write(at("targets"), strange).unwrap();
        let e = refusal(&attack(&[
            "--attack",
            "nettack",
            "--targets",
            &at("targets"),
        ]));
        assert!(
            e.contains("a list of nodes as JSON is expected, or one node on each line"),
            "{e}"
        );
    }
    std::fs::write(at("far.json"), "[5, 4000000]").unwrap();
    let e = refusal(&attack(&[
        "--attack",
        "nettack",
        "--targets",
        &at("far.json"),
    ]));
    assert!(e.contains("target 4000000"), "{e}");
    let e = refusal(&attack(&["--on", &at("x.npz"), "--attack", "dice"]));
    assert!(e.contains("cannot be used with"), "{e}");
    for (more, why) in [
        (&["--write", "y.npz"][..], "cannot be used with"),
        (&["--labels", "predicted"], "cannot be used with"),
        (&["--budget", "0.3"], "--budget: is a setting of --attack"),
        (
            &["--block-size", "5"],
            "--block-size: is a setting of --attack",
        ),
    ] {
        let e = refusal(&attack(&[&["--on", &at("x.npz")], more].concat()));
        assert!(e.contains(why), "{e}");
    }
    let e = refusal(&attack(&["--attack", "dice", "--plot", &at("curve")]));
    assert!(e.contains("--plot: plots a curve for each model"), "{e}");
    let e = refusal(&["train", "--data", "csbm", "--model", "gcn,gat"]);
    assert!(e.contains("takes one model"), "{e}");
}

#[test]
fn targets_come_from_the_file_or_forty_are_selected() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("targets.json");
    std::fs::write(&file, "{\"attacked_test_nodes\": [400, 401, 402, 403]}").unwrap();
    let few = [
        "--attack",
        "nettack",
        "--budget",
        "3",
        "--degree-test",
        "false",
    ];
    let chosen = json(&attack(
        &[&few[..], &["--targets", file.to_str().unwrap()]].concat(),
    ));
    assert_eq!(chosen["flips"].as_f64(), Some(12.0));
    let by_rule = json(&attack(&few));
    assert_eq!(by_rule["flips"].as_f64(), Some(120.0), "forty targets");
    assert_eq!(
        mean(&by_rule["clean_accuracy"]),
        100.0,
        "of those that are answered right"
    );
    assert!(
        mean(&by_rule["attacked_accuracy"]) < 80.0,
        "{}",
        by_rule["attacked_accuracy"]
    );
}

#[test]
fn several_models_and_budgets_make_one_table_with_an_mlp() {
    let dir = tempfile::tempdir().unwrap();
    let stem = dir.path().join("curve");
    let base = words("attack --data csbm --epochs 30 --hidden 8 --runs 2");
    let compared = words("--model gcn,sgc --attack dice --budget 0,0.1,0.2");
    let plot = ["--plot", stem.to_str().unwrap()];
    let report = json(&[&base[..], &compared, &plot].concat());
    assert_eq!(report["models"], serde_json::json!(["gcn", "sgc", "mlp"]));
    assert_eq!(report["amounts"], serde_json::json!([0.0, 0.1, 0.2]));
    assert_eq!(
        (report["protocol"].as_str(), report["recipe"].as_str()),
        (Some("own"), Some("default"))
    );
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 9);
    for cell in cells
        .iter()
        .filter(|cell| cell["model"] == 2 || cell["budget"] == 0)
    {
        assert_eq!(
            cell["attacked_accuracy"], cell["clean_accuracy"],
            "no edge misleads an MLP, nothing changes at 0"
        );
    }
    for ending in ["csv", "svg", "png"] {
        assert!(stem.with_extension(ending).is_file(), "{ending}");
    }
    let csv = std::fs::read_to_string(stem.with_extension("csv")).unwrap();
    assert_eq!(csv.lines().count(), 10);
}

#[test]
fn a_table_of_models_says_which_attacks_are_adaptive() {
    let dir = tempfile::tempdir().unwrap();
    let prbcd = words("--attack prbcd --attack-epochs 5 --finetune-epochs 2 --block-size 2000");
    let base = words("attack --data csbm --epochs 30 --hidden 8 --runs 2 --model gcn,gat");
    let curve = dir.path().join("curve");
    let plot = ["--plot", curve.to_str().unwrap()];
    let shown = text(&[&base[..], &plot, &prbcd].concat());
    assert!(
        shown.contains("* adaptive") && shown.contains("gat: attack: prbcd follows gradients"),
        "{shown}"
    );
    let e = refusal(&attack(&["--attack", "prbcd", "--attack-epochs", "few"]));
    assert!(
        e.contains("attack-epochs must be a whole number (got 'few')"),
        "{e}"
    );
    let weaker = json(&attack(&[&prbcd[..], &["--transfer", "sgc"]].concat()));
    assert_eq!(
        (
            weaker["adaptive"].as_bool(),
            weaker["config"]["surrogate"].as_str()
        ),
        (Some(false), Some("sgc"))
    );
}

needs_data!(
    /// Published attacked graphs load with their split, and accuracy falls with the share of
    /// attacked edges.
    fn accuracy_falls_on_published_attacked_graphs() {
        let dir = data_dir();
        let accuracy = |name: &str| {
            let report = json(&[
                "train",
                "--data",
                name,
                "--model",
                "gcn",
                "--hidden",
                "16",
                "--features",
                "as-loaded",
                "--epochs",
                "100",
                "--data-dir",
                dir.to_str().unwrap(),
            ]);
            mean(&report["test_accuracy"])
        };
        let (clean, fifth) = (accuracy("cora-metattack-0"), accuracy("cora-metattack-0.2"));
        assert!(clean > 81.0 && fifth < clean - 10.0, "{clean} {fifth}");
        let facts = json(&[
            "data",
            "check",
            "cora-metattack-0.05",
            "--data-dir",
            dir.to_str().unwrap(),
        ]);
        assert_eq!(facts["stats"]["nodes"], 2485, "{facts}");
    }
);
