//! Tests `--page`: a page about a user's own model on their own graph.

use crate::common;
use common::{json, refusal};

#[test]
fn a_trained_model_has_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.html");
    let name = file.to_str().unwrap();
    let report = json(&[
        "train", "--data", "karate", "--model", "gcn", "--epochs", "12", "--runs", "2", "--page",
        name,
    ]);
    assert_eq!(report["written"][0], name);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains("<title>gcn on karate</title>"));
    for component in ["graph", "calibration", "confusion", "scatter", "lines"] {
        assert!(
            page.contains(&format!("data-component=\"{component}\"")),
            "{component}"
        );
    }
    assert!(
        !page.contains("src=\"http") && !page.contains("href=\"http"),
        "nothing is fetched"
    );
    // The page has the predictions of the exits for every node.
    let exits = [
        "train", "--data", "karate", "--model", "gcn", "--depth", "admp-st", "--epochs", "6",
        "--page", name,
    ];
    json(&exits);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("exit taken")
    );
}

#[test]
fn an_attack_has_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("attack.html");
    let name = file.to_str().unwrap();
    let base = [
        "attack", "--data", "karate", "--model", "gcn", "--epochs", "12", "--page", name,
    ];
    let report = json(&[&base[..], &["--attack", "dice", "--budget", "0.2"]].concat());
    assert_eq!(report["files"][0], name);
    let page = std::fs::read_to_string(&file).unwrap();
    let flips = report["flips"].as_f64().unwrap();
    assert!(
        flips > 0.0 && page.contains(&format!("after {flips} flips")),
        "{flips}"
    );
    assert!(page.contains("Accuracy by flips") && page.contains("\"attack\":{\"title\":\"dice\""));
    // Perturbed features give no sequence of edge flips.
    json(&[&base[..], &["--attack", "gaussian", "--budget", "0.5"]].concat());
    assert!(
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains("Accuracy by flips")
    );
}

#[test]
fn robustness_has_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("far.html");
    let name = file.to_str().unwrap();
    let base = [
        "robustness",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "6",
        "--samples",
        "20",
        "--page",
        name,
    ];
    let report = json(&[&base[..], &["--epsilon", "2,0.5"]].concat());
    assert_eq!(report["files"][0], name);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains("<title>gcn on karate: sensitivity of predictions</title>"));
    assert!(
        page.contains("\"values\":[0.5,2.0]"),
        "radii stand in their order"
    );
    assert!(page.contains("The samples of each radius") && page.contains("Upper bounds"));
    // Nothing moves within a radius of 0: there is no histogram, and no error.
    json(&[&base[..], &["--epsilon", "0"]].concat());
    assert!(
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains("The samples of each radius")
    );
    // Sets of graphs, and edges.
    json(&[
        "robustness",
        "--data",
        "mutag",
        "--model",
        "gin",
        "--epochs",
        "2",
        "--samples",
        "3",
        "--target",
        "structure",
        "--page",
        name,
    ]);
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("around each test graph")
    );
}

/// A single run has no standard error.
#[test]
fn one_run_has_no_standard_error() {
    let args = [
        "attack",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "6",
        "--attack",
        "dice",
        "--inference",
        "robust-crf",
    ];
    let shown = common::text(&args);
    assert!(
        shown.contains("robust-crf") && !shown.contains('±') && !shown.contains("inf)"),
        "{shown}"
    );
}

#[test]
fn commands_without_a_page_are_refused_before_training() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    let name = file.to_str().unwrap();
    let e = refusal(&["train", "--data", "mutag", "--model", "gin", "--page", name]);
    assert!(
        e.contains("--page") && e.contains("set of 188 graphs"),
        "{e}"
    );
    let attack = [
        "attack", "--data", "karate", "--model", "gcn", "--attack", "dice", "--page", name,
    ];
    let e = refusal(&[&attack[..], &["--mode", "poisoning"]].concat());
    assert!(e.contains("--page") && e.contains("poisoning"), "{e}");
    let e = refusal(&[&attack[..], &["--budget", "0.1,0.2"]].concat());
    assert!(e.contains("one model under one attack"), "{e}");
    let e = refusal(&[
        "train",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--page",
        "/no/such/folder/page.html",
    ]);
    assert!(e.contains("--page"), "{e}");
    assert!(!file.exists());
}
