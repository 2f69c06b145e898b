//! Tests a model as a file: `--print-spec` and `--spec`.

use crate::common;
use common::{json, refusal, text};
use gnarl_testing::{data_dir, needs_data};

/// Prints the spec of a command line and trains by it; both trainings must be equal.
fn same_by_spec(data: &[&str], model: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.toml");
    let spec = text(&[&["train"], data, model, &["--print-spec"]].concat());
    std::fs::write(&file, &spec).unwrap();
    let told = json(&[&["train"], data, model].concat());
    let read = json(&[&["train"], data, &["--spec", file.to_str().unwrap()]].concat());
    assert_eq!(read["test_accuracy"], told["test_accuracy"], "{spec}");
    assert_eq!(read["config"]["model"], told["config"]["model"], "{spec}");
    assert_eq!(
        text(
            &[
                &["train"],
                data,
                &["--spec", file.to_str().unwrap(), "--print-spec"]
            ]
            .concat()
        ),
        spec
    );
}

const FIVE_AXES: [&str; 29] = [
    "--model",
    "gcn",
    "--epochs",
    "10",
    "--hidden",
    "8",
    "--lr",
    "0.02",
    "--lr-step",
    "5:0.5",
    "--operator",
    "cgso",
    "--centrality",
    "core",
    "--init",
    "A_hat",
    "--depth",
    "admp-st",
    "--max-depth",
    "2",
    "--weights",
    "orthonormal",
    "--order",
    "3",
    "--inference",
    "robust-crf",
    "--augment",
    "dropedge",
    "--p=0.1",
];

#[test]
fn a_printed_spec_trains_the_same_model() {
    same_by_spec(
        &["--data", "karate"],
        &[
            "--model", "gatv2", "--epochs", "20", "--heads", "2", "--hidden", "8",
        ],
    );
    same_by_spec(
        &["--data", "csbm"],
        &["--model", "gcn", "--epochs", "10", "--recipe", "thesis"],
    );
    same_by_spec(
        &["--data", "karate"],
        &[&FIVE_AXES[..], &["--policy", "core"]].concat(),
    );
}

#[test]
fn options_override_a_spec() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.toml");
    let spec = |content: &str| {
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_string()
    };
    let path = spec("backbone = \"gcn\"\n[training]\nepochs = 7\n");
    let report = json(&[
        "train", "--data", "karate", "--spec", &path, "--hidden", "5",
    ]);
    let model = &report["config"]["model"];
    assert_eq!(
        (&model["training"]["epochs"], &model["network"]["hidden"]),
        (&7.into(), &5.into())
    );
    let e = refusal(&[
        "train", "--data", "karate", "--spec", &path, "--model", "gcn",
    ]);
    assert!(e.contains("--spec") && e.contains("--model"), "{e}");
    let e = refusal(&[
        "train",
        "--data",
        "karate",
        "--spec",
        &spec("backbone = \"gcn\"\nhiden = 3\n"),
    ]);
    assert!(
        e.contains("model.toml") && e.contains("line 2") && e.contains("hiden"),
        "{e}"
    );
    let e = refusal(&["train", "--data", "karate", "--spec", "no-such-file.toml"]);
    assert!(e.contains("no-such-file.toml: "), "{e}");
    let e = refusal(&["train", "--data", "karate"]);
    assert!(e.contains("--model: name a model"), "{e}");
    for command in [
        &["attack", "--attack", "dice"][..],
        &["robustness", "--epsilon", "1"],
        &["bench", "epoch"],
    ] {
        let shown = text(
            &[
                command,
                &["--data", "karate", "--model", "sgc", "--print-spec"],
            ]
            .concat(),
        );
        assert!(
            shown.starts_with("backbone = \"sgc\"\n"),
            "{command:?}: {shown}"
        );
    }
}

needs_data!(
    fn a_printed_spec_trains_the_same_model_on_sets() {
        let dir = data_dir();
        let data = [
            "--data",
            "MUTAG",
            "--data-dir",
            dir.to_str().unwrap(),
            "--runs",
            "2",
        ];
        same_by_spec(
            &data,
            &[
                "--model",
                "gin",
                "--epochs",
                "5",
                "--augment",
                "gratin",
                "--head-epochs",
                "5",
            ],
        );
        same_by_spec(
            &data,
            &[
                "--model",
                "gcn",
                "--epochs",
                "5",
                "--head",
                "true",
                "--augment",
                "submix",
            ],
        );
    }
);
