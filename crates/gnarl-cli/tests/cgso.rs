//! Tests learnable operators ([CGSO](https://arxiv.org/abs/2411.04655)) from the command line.

use crate::common;
use common::{json, refusal, text};

const TRAIN: [&str; 9] = [
    "train", "--data", "csbm", "--model", "gcn", "--epochs", "20", "--hidden", "8",
];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [&TRAIN[..], more].concat()
}

#[test]
fn every_classical_operator_has_a_name() {
    for name in ["A", "L", "Q", "l-rw", "L_sym", "a-hat", "h"] {
        let report = json(&[&TRAIN[..], &["--operator", name]].concat());
        let operator = report["config"]["model"]["operator"]
            .as_str()
            .unwrap()
            .to_string();
        assert_eq!(
            operator.to_lowercase(),
            name.to_lowercase().replace('-', "_")
        );
        assert!(report.get("operator_parameters").is_none());
    }
}

#[test]
fn scalars_are_reported_over_the_runs() {
    let report = json(&with(&[
        "--operator",
        "cgso",
        "--centrality",
        "core",
        "--init",
        "l-sym",
        "--runs",
        "2",
    ]));
    let scalars = report["operator_parameters"].as_object().unwrap();
    assert_eq!(
        scalars.keys().collect::<Vec<_>>(),
        ["m1", "m2", "m3", "e1", "e2", "e3", "a"]
    );
    for (name, scalar) in scalars {
        let runs: Vec<f64> = scalar["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r.as_f64().unwrap())
            .collect();
        assert_eq!(runs.len(), 2, "{name}");
        assert!(
            (scalar["mean"].as_f64().unwrap() - (runs[0] + runs[1]) / 2.0).abs() < 1e-9,
            "{name}"
        );
        assert_eq!(
            report["runs"][1]["operator"][name], scalar["runs"][1],
            "{name}"
        );
    }
    assert_eq!(report["config"]["model"]["operator"]["init"], "L_sym");
    let shown = text(&with(&[
        "--operator",
        "cgso",
        "--centrality",
        "degree+pagerank",
        "--init",
        "h",
    ]));
    assert!(
        shown.contains("cgso, degree+pagerank, from H") && shown.contains("pagerank.e3"),
        "{shown}"
    );
}

#[test]
fn automatic_initialisation_reports_its_trials() {
    let report = json(&with(&["--operator", "cgso", "--centrality", "degree"]));
    let tried = report["initialisations"].as_array().unwrap();
    assert_eq!(tried.len(), 7);
    let chosen = report["runs"][0]["init"].as_str().unwrap();
    let best = tried
        .iter()
        .map(|t| t["val_accuracy"].as_f64().unwrap())
        .fold(0.0, f64::max);
    assert_eq!(
        tried.iter().find(|t| t["init"] == chosen).unwrap()["val_accuracy"],
        best
    );
    let again = json(
        &[
            &TRAIN[..],
            &[
                "--operator",
                "cgso",
                "--centrality",
                "degree",
                "--init",
                chosen,
            ],
        ]
        .concat(),
    );
    assert_eq!(again["test_accuracy"], report["test_accuracy"]);
    assert_eq!(again["operator_parameters"], report["operator_parameters"]);
}

#[test]
fn a_saved_model_predicts_as_it_was_trained() {
    let dir = tempfile::tempdir().unwrap();
    for init in ["q", "auto"] {
        let file = dir.path().join(format!("{init}.safetensors"));
        let file = file.to_str().unwrap();
        let cgso = [
            "--operator",
            "cgso",
            "--centrality",
            "walks",
            "--init",
            init,
            "--save",
            file,
        ];
        let trained = json(&[&TRAIN[..], &cgso].concat());
        let predicted = json(&["predict", "--load", file, "--data", "csbm"]);
        assert_eq!(
            predicted["test_accuracy"], trained["test_accuracy"]["runs"][0],
            "{init}"
        );
    }
}

#[test]
fn bench_measures_learnable_operators() {
    let report = json(&[
        "bench",
        "epoch",
        "--data",
        "csbm",
        "--model",
        "gatv2",
        "--epochs",
        "3",
        "--operator",
        "cgso",
        "--centrality",
        "core",
    ]);
    assert!(report["epoch_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn energies_by_depth_are_printed_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("energy.csv");
    let args = [
        "energy",
        "--data",
        "karate",
        "--centrality",
        "core",
        "--depth",
        "5",
        "--output",
        file.to_str().unwrap(),
    ];
    let report = json(&args);
    let operators = report["operators"].as_array().unwrap();
    assert_eq!(
        (
            operators[0]["model"].as_str(),
            operators[1]["model"].as_str()
        ),
        (Some("SGC"), Some("CSGC core"))
    );
    let relative = |i: usize, depth: usize| {
        operators[i]["energies"][depth]["relative"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(
        relative(0, 0),
        relative(1, 0),
        "both start from the features"
    );
    assert!(
        (1..=5).all(|k| relative(0, k) < relative(0, k - 1)),
        "A_hat smooths"
    );
    let csv = std::fs::read_to_string(&file).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 6);
    assert!(
        csv.starts_with("model,depth,energy,relative\nSGC,0,"),
        "{csv}"
    );
    assert!(text(&args).contains("CSGC core"));
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    let report = json(&with(&["--operator", "cgso", "--init", "h"]));
    assert_eq!(
        report["config"]["model"]["operator"]["centrality"], "closed-degree",
        "the usual one"
    );
    let e = refusal(&with(&[
        "--operator",
        "cgso",
        "--centrality",
        "betweenness",
    ]));
    assert!(
        e.contains(
            "unknown centrality 'betweenness'; known: degree, core, pagerank, walks, closed-degree"
        ),
        "{e}"
    );
    let e = refusal(&with(&["--operator", "cgso", "--centrality", "core+core"]));
    assert!(e.contains("names core twice"), "{e}");
    let e = refusal(&with(&[
        "--operator",
        "cgso",
        "--centrality",
        "core",
        "--init",
        "l-sim",
    ]));
    assert!(e.contains("unknown initialisation 'l-sim'"), "{e}");
    let e = refusal(&with(&["--operator", "cgs"]));
    assert!(
        e.contains("unknown operator 'cgs'; did you mean cgso?"),
        "{e}"
    );
    let e = refusal(&with(&["--centrality", "core"]));
    assert!(
        e.contains("centrality: belongs to cgso, and the operator is default"),
        "{e}"
    );
    let e = refusal(&with(&["--operator", "A", "--init", "h"]));
    assert!(
        e.contains("init: belongs to cgso, and the operator is A"),
        "{e}"
    );
    let e = refusal(&[
        "train",
        "--data",
        "csbm",
        "--model",
        "mlp",
        "--operator",
        "cgso",
        "--centrality",
        "core",
    ]);
    assert!(
        e.contains(
            "needs message passing, which mlp lacks; models that have it: every model but mlp"
        ),
        "{e}"
    );
}
