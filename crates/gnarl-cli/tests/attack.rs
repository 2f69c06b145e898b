//! Tests attacks from the command line.

use crate::common;
use common::{assert_refused, gnarl, json, mean, text, words};
use gnarl_testing::{data_dir, needs_data};

const ATTACK: [&str; 9] = [
    "attack", "--data", "csbm", "--model", "gcn", "--epochs", "30", "--hidden", "8",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ATTACK[..], more].concat()
}

/// An attack whose estimate exceeds the memory is refused with the estimate, and runs with
/// `--force`.
#[test]
fn memory_estimates_above_the_limit_are_refused_without_force() {
    let words = with(&["--attack", "random-add"]);
    let refused = gnarl(&words)
        .env("GNARL_MEMORY", "1K")
        .assert()
        .code(2)
        .stdout("");
    let e = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(
        e.starts_with("error: memory: gcn on csbm needs at least "),
        "{e}"
    );
    let forced = gnarl(&[&words[..], &["--force"]].concat())
        .env("GNARL_MEMORY", "1K")
        .assert()
        .success();
    let said = String::from_utf8(forced.get_output().stderr.clone()).unwrap();
    assert!(
        said.starts_with("forced: memory: gcn on csbm needs at least ")
            && said.lines().count() == 1,
        "{said}"
    );
    let silent = gnarl(&[&words[..], &["--force", "--quiet"]].concat())
        .env("GNARL_MEMORY", "1K")
        .assert()
        .success();
    assert_eq!(silent.get_output().stderr, b"");
    let block = with(&[
        "--attack",
        "prbcd",
        "--block-size",
        "1000",
        "--attack-epochs",
        "2",
        "--finetune-epochs",
        "1",
        "--force",
    ]);
    gnarl(&block).env("GNARL_MEMORY", "1K").assert().success();
}

#[test]
fn every_attack_reports_its_perturbations() {
    for (kind, more) in [
        ("gaussian", &["--budget", "1"][..]),
        ("pgd-features", &["--steps", "20"]),
        ("pgd-structure", &["--steps", "10", "--block-size", "5000"]),
        ("dice", &[]),
        ("random-flips", &[]),
        ("random-add", &[]),
        ("random-remove", &[]),
    ] {
        let report = json(&with(&[&["--attack", kind, "--runs", "2"], more].concat()));
        assert_eq!(
            (report["attack"].as_str(), report["config"]["mode"].as_str()),
            (Some(kind), Some("evasion"))
        );
        let (clean, attacked) = (
            mean(&report["clean_accuracy"]),
            mean(&report["attacked_accuracy"]),
        );
        assert_eq!(report["clean_accuracy"], report["test_accuracy"]);
        assert!(attacked <= clean + 1.0, "{kind}: {clean} to {attacked}");
        assert!(
            (0.0..=100.0).contains(&mean(&report["success_rate"])),
            "{kind}"
        );
        let runs = report["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        for run in runs {
            let flips =
                run["edges_added"].as_u64().unwrap() + run["edges_removed"].as_u64().unwrap();
            let moved = run["features"]["nodes"].as_u64().unwrap();
            let on_features = kind == "gaussian" || kind == "pgd-features";
            assert_eq!(
                (flips == 0, moved == 0),
                (on_features, !on_features),
                "{kind}: {run}"
            );
        }
    }
    let shown = text(&with(&["--attack", "dice"]));
    assert!(
        shown.contains("attacked accuracy") && shown.contains("dice, 0.1 of the edges"),
        "{shown}"
    );
}

#[test]
fn zero_budget_keeps_the_accuracy_of_train() {
    let trained = json(&[
        "train", "--data", "csbm", "--model", "gcn", "--epochs", "30", "--hidden", "8", "--runs",
        "2",
    ]);
    for mode in ["evasion", "poisoning"] {
        let report = json(&with(&[
            "--attack", "gaussian", "--budget", "0", "--runs", "2", "--mode", mode,
        ]));
        assert_eq!(report["clean_accuracy"], trained["test_accuracy"]);
        assert_eq!(
            report["attacked_accuracy"], trained["test_accuracy"],
            "{mode}"
        );
        assert_eq!(mean(&report["success_rate"]), 0.0);
    }
}

#[test]
fn attacks_run_with_poisoning_surrogates_and_other_axes() {
    for more in [
        &[
            "--attack",
            "dice",
            "--mode",
            "poisoning",
            "--labels",
            "predicted",
        ][..],
        &[
            "--attack",
            "pgd-features",
            "--mode",
            "poisoning",
            "--steps",
            "5",
        ],
        &[
            "--attack",
            "pgd-features",
            "--surrogate",
            "--steps",
            "5",
            "--norm",
            "linf",
        ],
        &[
            "--attack",
            "pgd-features",
            "--steps",
            "5",
            "--operator",
            "cgso",
            "--centrality",
            "degree",
            "--init",
            "H",
        ],
        &[
            "--attack",
            "pgd-structure",
            "--steps",
            "5",
            "--weights",
            "orthonormal",
            "--operator",
            "H",
        ],
        &["--attack", "gaussian", "--recipe", "thesis-ch5"],
        &[
            "--attack",
            "dice",
            "--depth",
            "admp-st",
            "--max-depth",
            "2",
            "--policy",
            "core",
        ],
    ] {
        let report = json(&with(more));
        assert!(mean(&report["clean_accuracy"]) > 30.0, "{more:?}");
    }
}

#[test]
fn attacks_do_not_depend_on_the_number_of_threads() {
    for kind in ["gaussian", "pgd-features", "pgd-structure", "dice"] {
        let outcome = |threads| {
            let mut report = json(&with(&[
                "--attack",
                kind,
                "--runs",
                "2",
                "--threads",
                threads,
            ]));
            for run in report["runs"].as_array_mut().unwrap() {
                run.as_object_mut()
                    .unwrap()
                    .retain(|name, _| !name.contains("seconds") && name != "epoch_ms");
            }
            report["runs"].clone()
        };
        assert_eq!(outcome("1"), outcome("2"), "{kind}");
    }
}

/// Options of an attack that are refused, each with a part of the message.
const REFUSED: [(&str, &str); 11] = [
    (
        "--attack pdg-features",
        "unknown attack 'pdg-features'; did you mean pgd-features",
    ),
    (
        "--attack dice --budget 1.5",
        "budget must be in [0, 1] (got 1.5)",
    ),
    (
        "--attack dice --norm l2",
        "norm: belongs to pgd-features, and the attack is dice",
    ),
    (
        "--attack dice --surrogate",
        "surrogate, transfer: dice with true labels evaluates no model; leave it out",
    ),
    (
        "--attack random-flips --labels predicted",
        "labels: random-flips uses no labels; leave --labels out",
    ),
    (
        "--attack random-flips --surrogate",
        "random-flips evaluates no model",
    ),
    (
        "--attack prbcd --sees network",
        "--sees: network applies to a trained model with an inference rule",
    ),
    (
        "--attack dice --inference robust-crf --sees network",
        "--sees: network applies to a trained model with an inference rule",
    ),
    (
        "--attack dice --attack-epochs 3",
        "attack-epochs: belongs to prbcd and prbcd-local, and the attack is dice",
    ),
    ("--attack dice --mode evasive", "unknown mode 'evasive'"),
    (
        "--attack pgd-features --depth admp-st --max-depth 1",
        "pgd-features needs gradients with respect to features, and this model has none",
    ),
];

#[test]
fn wrong_options_are_refused_in_one_line() {
    for (more, part) in REFUSED {
        assert_refused(&with(&words(more)), &[part]);
    }
    assert_refused(
        &words("attack --data csbm --model gcn"),
        &["--attack <KIND>"],
    );
    assert_refused(
        &words("attack --data csbm --model gat --epochs 2 --attack pgd-structure"),
        &[
            "which gat with operator the paper's does not have",
            "through a surrogate",
        ],
    );
}

#[test]
fn wrong_budgets_are_refused_in_one_line() {
    for (bad, what) in [
        ("-1", "(got -1)"),
        ("NaN", "a number (got 'NaN')"),
        ("inf", "a number (got 'inf')"),
    ] {
        for kind in ["gaussian", "pgd-features", "dice"] {
            let args = with(&["--attack", kind, "--budget", bad]);
            assert_refused(&args, &["budget must be ", what]);
        }
    }
}

needs_data!(
    /// Reproduces the order of a published study on real data: noise hurts, and gradients hurt more
    /// than noise of the same length.
    fn pgd_lowers_accuracy_on_cora_more_than_gaussian_noise() {
        let dir = data_dir();
        let report = |kind: &str, budget: &str| {
            let args = [
                "attack",
                "--data",
                "cora",
                "--model",
                "gcn",
                "--recipe",
                "thesis-ch5",
                "--epochs",
                "60",
            ];
            let more = [
                "--attack",
                kind,
                "--budget",
                budget,
                "--data-dir",
                dir.to_str().unwrap(),
            ];
            json(&[&args[..], &more].concat())
        };
        let fall = |report: &serde_json::Value| {
            mean(&report["clean_accuracy"]) - mean(&report["attacked_accuracy"])
        };
        let length =
            |report: &serde_json::Value| report["runs"][0]["features"]["l2"].as_f64().unwrap();
        let noisy = report("gaussian", "0.5");
        assert!(
            mean(&noisy["clean_accuracy"]) > 70.0 && fall(&noisy) > 5.0,
            "{noisy}"
        );
        let gradients = report("pgd-features", "0.15");
        assert!(
            length(&gradients) < length(&noisy),
            "{} and {}",
            length(&gradients),
            length(&noisy)
        );
        assert!(
            fall(&gradients) > fall(&noisy) + 5.0,
            "{} and {}",
            fall(&gradients),
            fall(&noisy)
        );
    }
);
