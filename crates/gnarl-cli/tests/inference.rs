//! Tests the inference axis from the command line.

use crate::common;
use common::{json, mean, refusal, text};

const MODEL: [&str; 8] = [
    "--data", "csbm", "--model", "gcn", "--epochs", "30", "--hidden", "8",
];

fn attack<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["attack"], &MODEL[..], more].concat()
}

#[test]
fn attacks_are_evaluated_with_and_without_inference_on_the_same_inputs() {
    let bare = json(&attack(&[
        "--attack", "gaussian", "--budget", "1", "--runs", "3",
    ]));
    for kind in ["robust-crf", "smoothing", "clean-crf"] {
        for (attacked, part) in [("gaussian", "features"), ("dice", "structure")] {
            let report = json(&attack(&[
                "--attack",
                attacked,
                "--runs",
                "3",
                "--inference",
                kind,
                "--crf-samples",
                "3",
            ]));
            assert_eq!(
                report["config"]["model"]["inference"]["target"], part,
                "{kind}: the part that is attacked"
            );
            let defended = &report["defended"];
            let difference =
                mean(&defended["attacked_accuracy"]) - mean(&report["attacked_accuracy"]);
            assert!(
                (difference - mean(&defended["attacked_difference"])).abs() < 1e-9,
                "{kind} under {attacked}"
            );
            assert!(
                defended["attacked_difference"]["standard_error"]
                    .as_f64()
                    .unwrap()
                    >= 0.0
            );
        }
    }
    // With all weight on the model's own prediction, the results equal those of a plain forward
    // pass.
    let own = json(&attack(&[
        "--attack",
        "gaussian",
        "--budget",
        "1",
        "--runs",
        "3",
        "--inference",
        "robust-crf",
        "--crf-sigma",
        "1",
    ]));
    assert_eq!(own["attacked_accuracy"], bare["attacked_accuracy"]);
    assert_eq!(
        own["defended"]["attacked_accuracy"],
        bare["attacked_accuracy"]
    );
    let shown = text(&attack(&[
        "--attack",
        "dice",
        "--inference",
        "clean-crf",
        "--runs",
        "2",
    ]));
    assert!(
        shown.contains("clean-crf") && shown.contains("(+0.00 ± 0.00)"),
        "{shown}"
    );
}

#[test]
fn inference_runs_with_tuning_robustness_and_other_axes() {
    let tuned = json(&attack(&[
        "--attack",
        "gaussian",
        "--inference",
        "robust-crf",
        "--inference-tune",
        "--crf-iterations",
        "1",
    ]));
    assert_eq!(tuned["config"]["model"]["inference"]["tune"], true);
    let deep = json(&attack(&[
        "--attack",
        "dice",
        "--inference",
        "robust-crf",
        "--depth",
        "admp-st",
        "--max-depth",
        "2",
        "--policy",
        "degree",
        "--weights",
        "orthonormal",
    ]));
    assert!(
        (mean(&deep["defended"]["clean_accuracy"]) - mean(&deep["clean_accuracy"])).abs() < 15.0,
        "{deep}"
    );
    let robustness = [
        &["robustness"],
        &MODEL[..],
        &[
            "--epsilon",
            "1",
            "--samples",
            "5",
            "--inference",
            "robust-crf",
        ],
    ]
    .concat();
    let report = json(&robustness);
    assert!(
        report["no_bounds"]
            .as_str()
            .unwrap()
            .contains("plain forward pass")
    );
    let plain = json(
        &[
            &["robustness"],
            &MODEL[..],
            &["--epsilon", "1", "--samples", "5"],
        ]
        .concat(),
    );
    assert_ne!(
        report["curve"][0]["mean"], plain["curve"][0]["mean"],
        "the neighbours were not asked"
    );
    let bench = json(
        &[
            &["bench", "inference"],
            &MODEL[..],
            &["--inference", "robust-crf", "--rounds", "2"],
        ]
        .concat(),
    );
    assert_eq!(bench["evaluations"], 31);
}

#[test]
fn a_saved_model_keeps_its_inference() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    let file = file.to_str().unwrap();
    json(&[&["train"], &MODEL[..], &["--save", file]].concat());
    let plain = json(&["predict", "--load", file, "--data", "csbm"]);
    let own = json(&[
        "predict",
        "--load",
        file,
        "--data",
        "csbm",
        "--inference",
        "robust-crf",
        "--crf-sigma",
        "1",
    ]);
    assert_eq!(plain["predictions"], own["predictions"]);
    assert_eq!(plain["test_accuracy"], own["plain_test_accuracy"]);
    assert_eq!(own["inference"]["kind"], "robust-crf");
    let noisy = json(&[
        "predict",
        "--load",
        file,
        "--data",
        "csbm",
        "--inference",
        "smoothing",
        "--radius",
        "50",
    ]);
    assert_ne!(plain["predictions"], noisy["predictions"]);
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    for (arguments, expected) in [
        (
            attack(&["--attack", "dice", "--crf-sigma", "0.5"]),
            "crf-sigma: belongs to robust-crf and clean-crf, and the inference is plain",
        ),
        (
            attack(&[
                "--attack",
                "dice",
                "--inference",
                "robust-crf",
                "--crf-sigma",
                "2",
            ]),
            "crf-sigma must be in [0, 1] (got 2)",
        ),
        (
            attack(&[
                "--attack",
                "dice",
                "--inference",
                "robust-crf",
                "--radius",
                "nan",
            ]),
            "radius must be a number",
        ),
        (
            attack(&[
                "--attack",
                "dice",
                "--inference",
                "clean-crf",
                "--radius",
                "1",
            ]),
            "the inference is clean-crf",
        ),
        (
            attack(&[
                "--attack",
                "dice",
                "--inference",
                "robust-crf",
                "--crf-samples",
                "100",
                "--crf-iterations",
                "9",
            ]),
            "evaluations",
        ),
        (
            vec![
                "predict",
                "--data",
                "karate",
                "--external",
                "/no/such/program",
            ],
            "cannot be started",
        ),
        (
            vec![
                "predict",
                "--data",
                "karate",
                "--external",
                "true",
                "--time-limit",
                "nan",
            ],
            "--time-limit",
        ),
    ] {
        let line = refusal(&arguments);
        assert!(line.contains(expected), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn an_external_model_is_defended_and_its_failures_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, body: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, body).unwrap();
        format!("sh {}", file.display())
    };
    let row = "[0.5, 2, 1, 0]";
    let rows = vec![row; 34].join(", ");
    let steady = script(
        "steady.sh",
        &format!(
            "read hello; echo '{{\"num_classes\": 4}}'; while read request; do echo '{{\"scores\": [{rows}]}}'; done\n"
        ),
    );
    let report = json(&[
        "predict",
        "--external",
        &steady,
        "--data",
        "karate",
        "--inference",
        "robust-crf",
        "--inference-target",
        "structure",
    ]);
    assert_eq!(
        report["class_counts"],
        serde_json::json!([
            {"class": "0", "count": 0}, {"class": "1", "count": 34}, {"class": "2", "count": 0}, {"class": "3", "count": 0}
        ])
    );
    let hangs = script(
        "hangs.sh",
        "read hello; echo '{\"num_classes\": 4}'; read request; sleep 20\n",
    );
    let line = refusal(&[
        "predict",
        "--external",
        &hangs,
        "--data",
        "karate",
        "--time-limit",
        "0.5",
    ]);
    assert!(line.contains("no response within 500ms"), "{line}");
}
