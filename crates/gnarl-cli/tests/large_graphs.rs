//! Tests graphs on disk, sampled neighbourhoods, checkpoints and plans from the command line.
//! `crash_recovery` tests the files that a kill leaves.

use crate::common;
use std::path::Path;

use common::{json, mean, refusal, text, write_rings};

fn rings(dir: &Path) -> (String, String) {
    let (own, disk) = (dir.join("own"), dir.join("disk"));
    write_rings(&own, &[("red", 0), ("green", 1), ("blue", 2)], 40);
    let name = |path: &Path| path.to_str().unwrap().to_string();
    (name(&own), name(&disk))
}

#[test]
fn a_graph_on_disk_trains_to_the_same_model() {
    let dir = tempfile::tempdir().unwrap();
    let (own, disk) = rings(dir.path());
    let imported = json(&["data", "import", &own, "--out", &disk]);
    assert_eq!(
        (
            &imported["nodes"],
            &imported["edges"],
            &imported["features"]
        ),
        (&120.into(), &123.into(), &3.into())
    );
    let train = |data: &str| {
        json(&[
            "train",
            "--data",
            data,
            "--model",
            "sage",
            "--epochs",
            "30",
            "--features",
            "as-loaded",
        ])
    };
    let (in_memory, on_disk) = (train(&own), train(&disk));
    assert_eq!(in_memory["test_accuracy"], on_disk["test_accuracy"]);
    assert!(text(&["data", "check", &disk]).contains("120"));
    // Centralities, and a model trained by sampling, whose predictions have node names.
    assert_eq!(
        json(&["centrality", "--data", &own, "--kind", "core"])["mean"],
        json(&["centrality", "--data", &disk, "--kind", "core"])["mean"]
    );
    let (model, csv) = (dir.path().join("m.safetensors"), dir.path().join("p.csv"));
    let (model, csv) = (model.to_str().unwrap(), csv.to_str().unwrap());
    let sampled = [
        "--batch-nodes",
        "16",
        "--fanout",
        "3,2",
        "--epochs",
        "60",
        "--save",
        model,
    ];
    let trained = json(&[&["train", "--data", &disk, "--model", "sage"], &sampled[..]].concat());
    assert!(
        mean(&trained["test_accuracy"]) > 80.0,
        "{}",
        trained["test_accuracy"]
    );
    assert_eq!(trained["config"]["model"]["training"]["fanout"], "3,2");
    let predicted = json(&["predict", "--load", model, "--data", &disk, "--output", csv]);
    assert_eq!(
        predicted["test_accuracy"],
        trained["test_accuracy"]["runs"][0]
    );
    assert!(std::fs::read_to_string(csv).unwrap().contains("\nblue-7,"));
    // The same model on the same graph in memory has the same predictions.
    assert_eq!(
        json(&["predict", "--load", model, "--data", &own])["test_accuracy"],
        predicted["test_accuracy"]
    );
}

#[test]
fn sampling_does_not_depend_on_the_number_of_threads() {
    let args = [
        "train",
        "--data",
        "csbm",
        "--batch-nodes",
        "32",
        "--epochs",
        "4",
        "--curves",
    ];
    for model in [
        &["--model", "gat"][..],
        &[
            "--model",
            "gcn",
            "--operator",
            "cgso",
            "--init",
            "A_hat",
            "--augment",
            "dropedge",
        ],
    ] {
        let curve = |threads: &str| {
            json(&[&args, model, &["--threads", threads]].concat())["runs"][0]["trained"][0]["curve"].clone()
        };
        let (one, three) = (curve("1"), curve("3"));
        assert!(
            one.as_array().is_some_and(|curve| curve.len() == 4),
            "{one}"
        );
        assert_eq!(one, three);
    }
}

#[test]
fn options_without_sampling_support_are_refused_in_one_line() {
    let train = |more: &[&str]| {
        refusal(&[&["train", "--data", "karate", "--batch-nodes", "8"], more].concat())
    };
    for (more, what) in [
        (
            &["--model", "appnp"][..],
            "models that have it: gcn, gat, gatv2, gin and sage",
        ),
        (
            &["--model", "gcn", "--fanout", "3,2,1"],
            "3,2,1 is for 3 layers, and the network has 2",
        ),
        (&["--model", "gcn", "--fanout", "0"], "without neighbours"),
        (
            &["--model", "gcn", "--depth", "admp-st"],
            "needs a fixed depth or admp-alm, and the depth is admp-st",
        ),
        (
            &["--model", "gcn", "--augment", "gratin"],
            "needs no augmentation or dropedge, and the augmentation is gratin",
        ),
        (
            &["--model", "gcn", "--inference", "robust-crf"],
            "needs plain inference, and the inference is robust-crf",
        ),
        (
            &["--model", "gcn", "--defense", "jaccard"],
            "needs no preprocessing defence, and the defence is jaccard",
        ),
    ] {
        let line = train(more);
        assert!(line.contains(what), "{line}");
    }
    assert!(
        refusal(&[
            "train",
            "--data",
            "karate",
            "--model",
            "gcn",
            "--batch-nodes",
            "0"
        ])
        .contains("--batch-nodes must be in [1, 1000000] (got 0)")
    );
    assert!(
        refusal(&["data", "import", "karate", "--out", "/no/such/folder/x"])
            .contains("No such file")
    );
    assert!(
        refusal(&["train", "--data", "karate", "--model", "gcn", "--resume"])
            .contains("--checkpoint")
    );
}

#[test]
fn exits_are_trained_on_sampled_neighbourhoods() {
    let args = [
        "train",
        "--data",
        "csbm",
        "--model",
        "gcn",
        "--depth",
        "admp-alm",
        "--max-depth",
        "2",
        "--batch-nodes",
        "40",
    ];
    let report = json(&[&args[..], &["--epochs", "30"]].concat());
    assert!(
        mean(&report["test_accuracy"]) > 60.0,
        "{}",
        report["test_accuracy"]
    );
}

#[test]
fn plan_reports_what_fits_in_memory() {
    let args = [
        "plan",
        "--nodes",
        "10000000",
        "--edges",
        "50000000",
        "--features",
        "16",
    ];
    let plan = json(&args);
    let gigabytes = |way: &str| plan[way]["bytes"].as_f64().unwrap() / 1e9;
    assert!((4.0..30.0).contains(&gigabytes("full_batch")), "{plan}");
    assert!(gigabytes("mini_batch") < 2.0, "{plan}");
    assert!(text(&args).contains("sampled, sage, fan-out 15,10"));
    assert!(refusal(&[&args[..], &["--fanout", "3"]].concat()).contains("3 has 1 hops"));
    assert!(
        refusal(&[&args[..], &["--train-share", "2"]].concat())
            .contains("--train-share must be > 0 and <= 1 (got 2)")
    );
}

/// A training does not overwrite checkpoints without `--resume`, and does not resume from those of
/// another training.
#[test]
fn checkpoints_of_another_training_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("checkpoints");
    let args = [
        "train",
        "--data",
        "karate",
        "--model",
        "gcn",
        "--epochs",
        "20",
        "--checkpoint",
        folder.to_str().unwrap(),
    ];
    text(&args);
    let refused = refusal(&args);
    assert!(refused.contains("continue with --resume"), "{refused}");
    let other = refusal(&[&args[..], &["--resume", "--seed", "9"]].concat());
    assert!(other.contains("belong to another run"), "{other}");
}
