//! Tests adaptive depth ([ADMP-GNN](https://arxiv.org/abs/2509.01170)) from the command line.

use crate::common;
use common::{json, mean, refusal, text};
use serde_json::Value;

const TRAIN: [&str; 9] = [
    "train", "--data", "csbm", "--model", "gcn", "--epochs", "15", "--hidden", "8",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TRAIN[..], more].concat()
}

#[test]
fn exits_policies_and_the_oracle_are_reported() {
    for scheme in ["admp-st", "admp-alm"] {
        let report = json(&with(&[
            "--depth",
            scheme,
            "--max-depth",
            "3",
            "--runs",
            "2",
        ]));
        let exits = report["exit_accuracy"].as_array().unwrap();
        assert_eq!(exits.len(), 4);
        let oracle = mean(&report["oracle_accuracy"]);
        assert!(exits.iter().all(|exit| mean(exit) <= oracle), "{scheme}");
        let policies = report["policy_accuracy"].as_object().unwrap();
        assert!(
            policies.len() >= 10
                && policies.contains_key("pagerank")
                && policies.contains_key("degree+core")
        );
        for (name, policy) in policies {
            assert!(mean(policy) <= oracle, "{name}");
            let difference = mean(policy) - mean(&report["single_layer_accuracy"]);
            assert!(
                (mean(&policy["minus_single"]) - difference).abs() < 1e-9,
                "{name}"
            );
            assert!(
                policy["minus_single"]["standard_error"].as_f64().unwrap() >= 0.0,
                "{name}"
            );
        }
        assert_eq!(
            report["test_accuracy"]["mean"], policies["pool"]["mean"],
            "the model's own policy"
        );
        let taken: f64 = report["taken"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_f64().unwrap())
            .sum();
        assert!(
            (taken - 1000.0).abs() < 1e-6,
            "every node takes one exit: {taken}"
        );
        let trainings = if scheme == "admp-st" { 4 } else { 1 };
        assert_eq!(
            report["runs"][1]["trained"].as_array().unwrap().len(),
            trainings
        );
        assert_eq!(report["config"]["model"]["depth"]["kind"], scheme);
    }
    let shown = text(&with(&[
        "--depth",
        "admp-st",
        "--max-depth",
        "1",
        "--policy",
        "core,confidence",
    ]));
    assert!(
        shown.contains("core (the model's own)")
            && shown.contains("oracle")
            && shown.contains("nodes taking it")
    );
    assert!(
        json(&TRAIN).get("exit_accuracy").is_none(),
        "a fixed depth has none"
    );
}

#[test]
fn a_saved_model_predicts_the_same_exits() {
    let dir = tempfile::tempdir().unwrap();
    for (policy, more) in [
        ("core", &[][..]),
        (
            "echo",
            &[
                "--operator",
                "cgso",
                "--centrality",
                "degree",
                "--init",
                "a-hat",
            ][..],
        ),
        ("mixture", &["--max-depth", "0"][..]),
    ] {
        let file = dir.path().join(format!("{policy}.safetensors"));
        let file = file.to_str().unwrap();
        let args = ["--depth", "admp-st", "--policy", policy, "--save", file];
        let trained = json(&[&TRAIN[..], &args, more].concat());
        let predicted = json(&["predict", "--load", file, "--data", "csbm"]);
        assert_eq!(
            predicted["test_accuracy"], trained["test_accuracy"]["runs"][0],
            "{policy}"
        );
        let counts = |report: &Value| -> Vec<f64> {
            report["taken"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_f64().unwrap())
                .collect()
        };
        assert_eq!(counts(&predicted), counts(&trained), "{policy}");
        assert!(text(&["predict", "--load", file, "--data", "csbm"]).contains("nodes taking it"));
    }
}

#[test]
fn one_exit_is_a_linear_map() {
    let report = json(&with(&["--depth", "admp-st", "--max-depth", "0"]));
    assert_eq!(report["exit_accuracy"].as_array().unwrap().len(), 1);
    // Offsets of classes may still change a prediction.
    let chooses = |name: &&String| !["offsets", "pool"].contains(&name.as_str());
    for (name, policy) in report["policy_accuracy"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| chooses(name))
    {
        assert_eq!(
            policy["mean"], report["oracle_accuracy"]["mean"],
            "{name}: there is nothing to choose"
        );
    }
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    let e = refusal(&with(&["--depth", "admp-sq"]));
    assert!(
        e.contains("unknown depth 'admp-sq'; did you mean admp-st"),
        "{e}"
    );
    let e = refusal(&with(&["--depth", "admp-st", "--policy", "betweenness"]));
    assert!(
        e.contains(
            "unknown policy 'betweenness'; known: degree, core, walks, pagerank, size, confidence"
        ),
        "{e}"
    );
    let e = refusal(&with(&["--depth", "admp-st", "--policy", "core+core"]));
    assert!(e.contains("names core twice"), "{e}");
    let e = refusal(&with(&["--depth", "admp-st", "--layers", "3"]));
    assert!(
        e.contains("layers: needs a fixed depth, and the depth is admp-st"),
        "{e}"
    );
    let e = refusal(&with(&["--max-depth", "3"]));
    assert!(
        e.contains("max-depth: belongs to admp-st and admp-alm, and the depth is fixed"),
        "{e}"
    );
    let e = refusal(&with(&["--policy", "core"]));
    assert!(
        e.contains("policy: belongs to admp-st and admp-alm, and the depth is fixed"),
        "{e}"
    );
    let e = refusal(&[
        "train", "--data", "csbm", "--model", "sgc", "--depth", "admp-st",
    ]);
    assert!(e.contains("admp-st needs exits, which sgc lacks"), "{e}");
}
