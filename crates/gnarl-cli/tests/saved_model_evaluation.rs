//! Tests how a saved model is evaluated: on nodes or graphs held out in training, with classes
//! matched by name.

use crate::common;
use std::collections::HashMap;
use std::path::Path;

use common::{header, json, mean, refusal, text, write_rings};
use serde_json::Value;

/// Writes a ring of 60 nodes without features and with random classes: a network can memorise them,
/// but not generalise.
fn write_drawn_labels(folder: &Path) -> HashMap<String, String> {
    let mut state = 12345u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ["x", "y", "z"][(state >> 33) as usize % 3].to_string()
    };
    let classes: HashMap<String, String> = (0..60).map(|u| (u.to_string(), draw())).collect();
    let edges: String = (0..60).map(|u| format!("{u},{}\n", (u + 1) % 60)).collect();
    let labels: String = (0..60)
        .map(|u| format!("{u},{}\n", classes[&u.to_string()]))
        .collect();
    std::fs::write(folder.join("edges.csv"), edges).unwrap();
    std::fs::write(folder.join("labels.csv"), labels).unwrap();
    classes
}

/// Returns the accuracy in per cent of a file of predictions.
fn right(csv: &Path, class_of: impl Fn(&str) -> String) -> f64 {
    let lines: Vec<String> = std::fs::read_to_string(csv)
        .unwrap()
        .lines()
        .skip(1)
        .map(String::from)
        .collect();
    let is_right = |line: &&String| {
        let mut fields = line.split(',');
        let (node, class) = (fields.next().unwrap(), fields.next().unwrap());
        class == class_of(node)
    };
    100.0 * lines.iter().filter(is_right).count() as f64 / lines.len() as f64
}

#[test]
fn a_saved_model_is_evaluated_on_its_own_test_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let classes = write_drawn_labels(dir.path());
    let (data, file, csv) = (
        dir.path().to_str().unwrap(),
        dir.path().join("m"),
        dir.path().join("p.csv"),
    );
    let file = file.to_str().unwrap();
    let args = [
        "train", "--data", data, "--model", "mlp", "--seed", "5", "--save", file, "--epochs", "100",
    ];
    let trained = json(&[&args[..], &["--dropout", "0"]].concat());
    let predicted = json(&[
        "predict",
        "--load",
        file,
        "--data",
        data,
        "--output",
        csv.to_str().unwrap(),
    ]);
    assert_eq!(
        predicted["test_accuracy"],
        trained["test_accuracy"]["runs"][0]
    );
    let of_all = right(&csv, |node| classes[node].clone());
    assert!(
        of_all > mean(&trained["test_accuracy"]) + 20.0,
        "{of_all}: it knows what it was trained on by heart"
    );
    assert!(text(&["predict", "--load", file, "--data", data]).contains(", test accuracy "));

    // The graph differs by an edge: no record says which of its nodes the model was trained on.
    std::fs::write(
        dir.path().join("edges.csv"),
        (0..59)
            .map(|u| format!("{u},{}\n", u + 1))
            .collect::<String>(),
    )
    .unwrap();
    let other = json(&["predict", "--load", file, "--data", data]);
    assert!(
        other.get("test_accuracy").is_none() && other["accuracy"].is_number(),
        "{other}"
    );
    let shown = text(&["predict", "--load", file, "--data", data]);
    assert!(
        shown.contains("on all labelled nodes") && shown.contains("no test nodes are known"),
        "{shown}"
    );
}

/// Trains on rings of red, green and blue, and saves the model.
fn three_colours(dir: &Path, more: &[&str]) -> (String, Value) {
    let folder = dir.join("colours");
    write_rings(&folder, &[("red", 0), ("green", 1), ("blue", 2)], 15);
    let file = dir
        .join("colours.safetensors")
        .to_str()
        .unwrap()
        .to_string();
    let args = [
        "train",
        "--data",
        folder.to_str().unwrap(),
        "--model",
        "gcn",
        "--epochs",
        "100",
        "--save",
        &file,
    ];
    let trained = json(&[&args[..], more].concat());
    (file, trained)
}

#[test]
fn classes_are_matched_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let (file, trained) = three_colours(dir.path(), &[]);
    assert!(
        mean(&trained["test_accuracy"]) > 80.0,
        "{}",
        trained["test_accuracy"]
    );
    // In any order of first occurrence or of names, at least one class changes its number.
    let other = dir.path().join("other");
    write_rings(
        &other,
        &[("zebra", 0), ("blue", 2), ("amber", 0), ("green", 1)],
        10,
    );
    let csv = dir.path().join("p.csv");
    let predicted = json(&[
        "predict",
        "--load",
        &file,
        "--data",
        other.to_str().unwrap(),
        "--output",
        csv.to_str().unwrap(),
    ]);
    let by_hand = right(&csv, |node| node.split('-').next().unwrap().to_string());
    assert!(
        (predicted["accuracy"].as_f64().unwrap() - by_hand).abs() < 1e-9,
        "{by_hand} in {}",
        predicted["accuracy"]
    );
    assert!(
        (40.0..=50.0).contains(&by_hand),
        "{by_hand}: blue and green are half of the nodes"
    );
    let mut unknown: Vec<&str> = predicted["unknown_classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    unknown.sort_unstable();
    assert_eq!(unknown, ["amber", "zebra"]);
    let shown = text(&[
        "predict",
        "--load",
        &file,
        "--data",
        other.to_str().unwrap(),
    ]);
    assert!(
        shown.contains("classes outside the model") && shown.contains("zebra"),
        "{shown}"
    );
}

#[test]
fn unlabelled_graphs_get_every_probability() {
    let dir = tempfile::tempdir().unwrap();
    let (file, trained) = three_colours(dir.path(), &[]);
    let folder = dir.path().join("colours");
    let csv = dir.path().join("p.csv");
    let args = [
        "predict",
        "--load",
        &file,
        "--data",
        folder.to_str().unwrap(),
        "--output",
        csv.to_str().unwrap(),
    ];
    let labelled = json(&args);
    assert_eq!(
        labelled["test_accuracy"],
        trained["test_accuracy"]["runs"][0]
    );

    let red_alone: String = (0..15).map(|i| format!("red-{i},red\n")).collect();
    std::fs::write(
        folder.join("labels.csv"),
        format!("node,class\n{red_alone}"),
    )
    .unwrap();
    let fewer = json(&args);
    assert_eq!(fewer["predictions"], labelled["predictions"]);
    assert!(
        fewer["test_accuracy"].is_number() && fewer.get("unknown_classes").is_none(),
        "{fewer}"
    );

    std::fs::remove_file(folder.join("labels.csv")).unwrap();
    let bare = json(&args);
    assert_eq!(bare["predictions"], labelled["predictions"]);
    assert!(
        bare.get("test_accuracy").is_none() && bare.get("accuracy").is_none(),
        "{bare}"
    );
    assert!(text(&args).contains(", no labels"));

    let written = std::fs::read_to_string(&csv).unwrap();
    let mut lines = written.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut classes = names[2..].to_vec();
    classes.sort_unstable();
    assert_eq!(
        (&names[..2], classes),
        (&["node", "class"][..], vec!["blue", "green", "red"])
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(
        (rows.len(), rows[0][0], rows[1][0]),
        (45, "red-0", "red-1"),
        "nodes keep their names"
    );
    for (row, predicted) in rows.iter().zip(bare["predictions"].as_array().unwrap()) {
        let shares: Vec<f64> = row[2..]
            .iter()
            .map(|share| share.parse().unwrap())
            .collect();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{row:?}");
        let largest = (0..3)
            .max_by(|&a, &b| shares[a].total_cmp(&shares[b]))
            .unwrap();
        assert_eq!(
            (row[1], &names[2 + largest]),
            (predicted.as_str().unwrap(), &row[1]),
            "{row:?}"
        );
    }
}

/// Writes a split of the rings whose nodes have these parts in turn.
fn write_split(folder: &Path, parts: &[&str]) {
    let mut lines = String::from("node,split,part\n");
    for class in ["red", "green", "blue"] {
        (0..15).for_each(|i| lines += &format!("{class}-{i},mine,{}\n", parts[i % parts.len()]));
    }
    std::fs::write(folder.join("splits.csv"), lines).unwrap();
}

#[test]
fn without_validation_nodes_the_last_weights_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("colours");
    write_rings(&folder, &[("red", 0), ("green", 1), ("blue", 2)], 15);
    let args = [
        "train",
        "--data",
        folder.to_str().unwrap(),
        "--model",
        "gcn",
        "--epochs",
        "100",
    ];
    write_split(&folder, &["train", "test", "val"]);
    let validated = json(&args);
    write_split(&folder, &["train", "test"]);
    let report = json(&args);
    assert!(
        report.get("val_accuracy").is_none(),
        "{}",
        report["val_accuracy"]
    );
    assert_eq!(report["runs"][0]["trained"][0]["kept_epoch"], 100);
    let (with, without) = (
        mean(&validated["test_accuracy"]),
        mean(&report["test_accuracy"]),
    );
    assert!(
        with > 80.0 && (with - without).abs() < 15.0,
        "{with} and {without}"
    );
    let row = |shown: &str, name: &str| {
        shown
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap()
            .to_string()
    };
    assert!(
        row(&text(&args), "validation accuracy")
            .trim_end()
            .ends_with(" -")
    );

    write_split(&folder, &["train", "val"]);
    let report = json(&args);
    assert!(
        report.get("test_accuracy").is_none() && report["val_accuracy"].is_object(),
        "{report}"
    );
    let shown = text(&args);
    assert!(
        row(&shown, "test accuracy").trim_end().ends_with(" -"),
        "{shown}"
    );
    let exits = json(&[&args[..], &["--depth", "admp-st", "--max-depth", "1"]].concat());
    assert!(
        exits.get("exit_accuracy").is_none() && exits.get("oracle_accuracy").is_none(),
        "{exits}"
    );
    let e = refusal(&[&["attack", "--attack", "dice"], &args[1..]].concat());
    assert!(
        e.contains("attack: split mine has no labelled test nodes to evaluate an attack by"),
        "{e}"
    );
}

#[test]
fn the_protocol_selects_training_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("two");
    write_rings(&folder, &[("red", 0), ("green", 1), ("blue", 2)], 10);
    // Ten more isolated nodes: 40 in all, 30 in the largest component.
    let (edges, labels, features) = (
        folder.join("edges.csv"),
        folder.join("labels.csv"),
        folder.join("features.csv"),
    );
    for (file, line) in [
        (&edges, "#-#,#+#\n"),
        (&labels, "#-#,red\n#+#,blue\n"),
        (&features, "#-#,1,0,0\n#+#,0,0,1\n"),
    ] {
        let more: String = (0..5)
            .map(|i| {
                line.replace("#-#", &format!("p{i}"))
                    .replace("#+#", &format!("q{i}"))
            })
            .collect();
        std::fs::write(file, std::fs::read_to_string(file).unwrap() + &more).unwrap();
    }
    let model = [
        "--data",
        folder.to_str().unwrap(),
        "--model",
        "gcn",
        "--epochs",
        "5",
    ];
    let saved = dir.path().join("m");
    let sizes = |protocol: &str| {
        let args = [
            &["train"],
            &model[..],
            &["--protocol", protocol, "--save", saved.to_str().unwrap()],
        ]
        .concat();
        assert_eq!(json(&args)["config"]["protocol"], protocol);
        let (header, _) = header(&std::fs::read(&saved).unwrap());
        ["train", "validation", "test"].map(|part| {
            header[format!("split.{part}")]["shape"][0]
                .as_u64()
                .unwrap()
        })
    };
    assert_eq!(sizes("own"), [24, 8, 8], "60, 20 and 20 per cent of 40");
    assert_eq!(
        sizes("largest-component"),
        [3, 3, 24],
        "10, 10 and 80 per cent of 30"
    );
    for (protocol, training) in [("own", 24), ("largest-component", 3)] {
        let report = json(&[&["bench", "epoch"], &model[..], &["--protocol", protocol]].concat());
        assert_eq!(report["train_size"], training, "{protocol}");
    }
}

/// The files were written by gnarl when all networks shared one list of settings, most of them
/// without a value; the tables are that program's own predictions.
#[test]
fn models_saved_before_networks_had_settings_of_their_own_predict_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/saved_models");
    let files = std::fs::read_dir(folder).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let models = files
        .iter()
        .filter(|file| file.extension().unwrap() == "safetensors");
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("now.csv");
    let mut count = 0;
    for model in models {
        let load = ["predict", "--load", model.to_str().unwrap()];
        let data = ["--data", "karate", "--output", output.to_str().unwrap()];
        text(&[&load[..], &data].concat());
        let (then, now) = (table(&model.with_extension("csv")), table(&output));
        assert_eq!(then.len(), now.len(), "{}", model.display());
        for (then, now) in then.iter().zip(&now) {
            let (then, now) = (then.split(','), now.split(','));
            for (column, (then, now)) in then.zip(now).enumerate() {
                // Probabilities follow the node and its class.
                let is_same = match (then.parse::<f32>(), now.parse::<f32>()) {
                    (Ok(then), Ok(now)) if column > 1 => (then - now).abs() < 1e-6,
                    _ => then == now,
                };
                assert!(is_same, "{}: {then}, now {now}", model.display());
            }
        }
        count += 1;
    }
    assert_eq!(count, 7);
}

fn table(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(str::to_string).collect()
}
