//! Tests the baselines of adaptive depth, which combine layers in other ways, from the command
//! line.

use crate::common;
use common::{json, mean, refusal};

const NAMES: [&str; 10] = [
    "jk-cat",
    "jk-max",
    "jk-lstm",
    "jk-cat-gin",
    "jk-max-gin",
    "jk-lstm-gin",
    "gcnii",
    "gpr-gnn",
    "gpr-gin",
    "adagcn",
];

fn train<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "train", "--data", "csbm", "--model", model, "--epochs", "60", "--hidden", "16", "--lr",
        "0.03",
    ];
    [&args[..], more].concat()
}

#[test]
fn every_baseline_trains_at_every_depth() {
    for name in NAMES {
        for layers in ["0", "1", "3"] {
            let report = json(&train(name, &["--layers", layers]));
            assert_eq!(report["model"], name);
            let backbone = &report["config"]["model"]["backbone"];
            assert!(*backbone == name || backbone["kind"] == name, "{backbone}");
            assert_eq!(
                report["config"]["model"]["network"]["layers"].to_string(),
                layers,
                "{name}"
            );
            // Four classes of equal size: 25 % by chance, with a standard error of about 2 on 500
            // nodes.
            assert!(
                mean(&report["test_accuracy"]) > 35.0,
                "{name} of {layers} layers: {}",
                report["test_accuracy"]
            );
        }
    }
    assert!(
        refusal(&train("gcn", &["--layers", "0"]))
            .contains("--layers must be >= 1 for gcn (got 0)")
    );
    assert!(refusal(&train("jk-sum", &[])).contains("unknown model 'jk-sum'; did you mean jk-"));
}

#[test]
fn adagcn_trains_a_learner_for_every_depth() {
    let report = json(&train("adagcn", &["--layers", "3"]));
    assert_eq!(
        report["runs"][0]["trained"][0]["epochs"], 240,
        "60 epochs for each of depths 0 to 3"
    );
    let one = json(&train("adagcn", &["--layers", "0"]));
    assert_eq!(
        report["parameters"].as_u64().unwrap(),
        4 * one["parameters"].as_u64().unwrap()
    );
}

#[test]
fn operators_can_be_named_and_learned() {
    for name in ["jk-lstm", "gcnii", "gpr-gnn", "adagcn"] {
        json(&train(name, &["--operator", "H"]));
    }
    let learned = json(&train(
        "gcnii",
        &[
            "--operator",
            "cgso",
            "--centrality",
            "core",
            "--init",
            "a-hat",
        ],
    ));
    assert_eq!(learned["operator_parameters"].as_object().unwrap().len(), 7);
    let e = refusal(&train(
        "adagcn",
        &["--operator", "cgso", "--centrality", "core"],
    ));
    assert!(
        e.contains("adagcn trains one learner after the other"),
        "{e}"
    );
}

#[test]
fn a_saved_baseline_predicts_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["jk-lstm", "gcnii", "gpr-gin", "adagcn"] {
        let file = dir.path().join(format!("{name}.safetensors"));
        let file = file.to_str().unwrap();
        let trained = json(&train(name, &["--save", file]));
        let predicted = json(&["predict", "--load", file, "--data", "csbm"]);
        assert_eq!(
            predicted["test_accuracy"], trained["test_accuracy"]["mean"],
            "{name}"
        );
    }
    assert!(
        json(&["bench", "epoch", "--data", "karate", "--model", "jk-lstm"])["epoch_ms"]
            .as_f64()
            .unwrap()
            > 0.0
    );
}
