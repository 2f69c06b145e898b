//! Graphs on disk, sampled neighbourhoods, checkpoints and plans, from the command line; and what a kill at any moment leaves.

mod common;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{json, mean, one_object, refusal, text, write_rings};
use serde_json::Value;

fn rings(dir: &Path) -> (String, String) {
    let (own, disk) = (dir.join("own"), dir.join("disk"));
    write_rings(&own, &[("red", 0), ("green", 1), ("blue", 2)], 40);
    let name = |path: &Path| path.to_str().unwrap().to_string();
    (name(&own), name(&disk))
}

#[test]
fn a_graph_on_disk_trains_to_the_same_model_and_is_answered_by_names() {
    let dir = tempfile::tempdir().unwrap();
    let (own, disk) = rings(dir.path());
    let imported = json(&["data", "import", &own, "--out", &disk]);
    assert_eq!((&imported["nodes"], &imported["edges"], &imported["features"]), (&120.into(), &123.into(), &3.into()));
    let train =
        |data: &str| json(&["train", "--data", data, "--model", "sage", "--epochs", "30", "--features", "as-loaded"]);
    let (in_memory, on_disk) = (train(&own), train(&disk));
    assert_eq!(in_memory["test_accuracy"], on_disk["test_accuracy"]);
    assert!(text(&["data", "check", &disk]).contains("120"));
    // Centralities, and a model by sampling, whose predictions have names.
    assert_eq!(
        json(&["centrality", "--data", &own, "--kind", "core"])["mean"],
        json(&["centrality", "--data", &disk, "--kind", "core"])["mean"]
    );
    let (model, csv) = (dir.path().join("m.safetensors"), dir.path().join("p.csv"));
    let (model, csv) = (model.to_str().unwrap(), csv.to_str().unwrap());
    let sampled = ["--batch-nodes", "16", "--fanout", "3,2", "--epochs", "60", "--save", model];
    let trained = json(&[&["train", "--data", &disk, "--model", "sage"], &sampled[..]].concat());
    assert!(mean(&trained["test_accuracy"]) > 80.0, "{}", trained["test_accuracy"]);
    assert_eq!(trained["config"]["model"]["training"]["fanout"], "3,2");
    let predicted = json(&["predict", "--load", model, "--data", &disk, "--output", csv]);
    assert_eq!(predicted["test_accuracy"], trained["test_accuracy"]["runs"][0]);
    assert!(std::fs::read_to_string(csv).unwrap().contains("\nblue-7,"));
    // The same model on the same graph in memory says the same.
    assert_eq!(json(&["predict", "--load", model, "--data", &own])["test_accuracy"], predicted["test_accuracy"]);
}

#[test]
fn sampling_does_not_depend_on_the_number_of_threads() {
    let args = ["train", "--data", "csbm", "--batch-nodes", "32", "--epochs", "4", "--curves"];
    for model in
        [&["--model", "gat"][..], &["--model", "gcn", "--operator", "cgso", "--init", "A_hat", "--augment", "dropedge"]]
    {
        let curve = |threads: &str| {
            json(&[&args, model, &["--threads", threads]].concat())["runs"][0]["trained"][0]["curve"].clone()
        };
        let (one, three) = (curve("1"), curve("3"));
        assert!(one.as_array().is_some_and(|curve| curve.len() == 4), "{one}");
        assert_eq!(one, three);
    }
}

#[test]
fn what_sampling_leaves_no_room_for_is_refused_in_one_line() {
    let train = |more: &[&str]| refusal(&[&["train", "--data", "karate", "--batch-nodes", "8"], more].concat());
    for (more, what) in [
        (&["--model", "appnp"][..], "take one of gcn, gat, gatv2, gin and sage"),
        (&["--model", "gcn", "--fanout", "3,2,1"], "3,2,1 is for 3 rounds of message passing, and there are 2"),
        (&["--model", "gcn", "--fanout", "0"], "hears nobody"),
        (&["--model", "gcn", "--depth", "admp-st"], "admp-alm trains all exits at once"),
        (&["--model", "gcn", "--augment", "gratin"], "dropedge is possible"),
        (&["--model", "gcn", "--inference", "robust-crf"], "whole graph"),
        (&["--model", "gcn", "--defense", "jaccard"], "another graph first"),
    ] {
        let line = train(more);
        assert!(line.contains(what), "{line}");
    }
    assert!(refusal(&["train", "--data", "karate", "--model", "gcn", "--batch-nodes", "0"]).contains("at least 1"));
    assert!(refusal(&["data", "import", "karate", "--out", "/no/such/folder/x"]).contains("No such file"));
    assert!(refusal(&["train", "--data", "karate", "--model", "gcn", "--resume"]).contains("--checkpoint"));
}

#[test]
fn exits_are_trained_on_neighbourhoods_too() {
    let args =
        ["train", "--data", "csbm", "--model", "gcn", "--depth", "admp-alm", "--max-depth", "2", "--batch-nodes", "40"];
    let report = json(&[&args[..], &["--epochs", "30"]].concat());
    assert!(mean(&report["test_accuracy"]) > 60.0, "{}", report["test_accuracy"]);
}

#[test]
fn a_plan_says_what_fits() {
    let args = ["plan", "--nodes", "10000000", "--edges", "50000000", "--features", "16"];
    let plan = json(&args);
    let gigabytes = |way: &str| plan[way]["bytes"].as_f64().unwrap() / 1e9;
    assert!((4.0..30.0).contains(&gigabytes("whole")), "{plan}");
    assert!(gigabytes("sampled") < 2.0, "{plan}");
    assert!(text(&args).contains("sampled, sage, fan-out 15,10"));
    assert!(refusal(&[&args[..], &["--fanout", "3"]].concat()).contains("3 is for 1 layers"));
    assert!(refusal(&[&args[..], &["--train-share", "2"]].concat()).contains("no share"));
}

/// Starts the program and ends it with SIGKILL after so long; says whether it was over before.
fn killed(args: &[&str], after: Duration) -> bool {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while start.elapsed() < after {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

fn without_times(mut report: Value) -> Value {
    report.as_object_mut().unwrap().retain(|name, _| !name.contains("seconds") && name != "epoch_ms");
    for run in report["runs"].as_array_mut().unwrap() {
        run.as_object_mut().unwrap().retain(|name, _| !name.contains("seconds"));
        for trained in run["trained"].as_array_mut().into_iter().flatten() {
            trained.as_object_mut().unwrap().remove("epoch_ms");
        }
    }
    report
}

/// Killed again and again at moments of all kinds, a training that goes on ends with the result of one that was never touched.
#[test]
fn trainings_survive_kills() {
    let dir = tempfile::tempdir().unwrap();
    for (name, more) in [
        ("whole", &["--model", "gcn", "--weights", "orthonormal", "--epochs", "150", "--runs", "2"][..]),
        ("sampled", &["--model", "sage", "--batch-nodes", "16", "--epochs", "40", "--runs", "2"]),
        ("exits", &["--model", "gcn", "--depth", "admp-st", "--max-depth", "3", "--epochs", "60"]),
    ] {
        let plain = [&["train", "--data", "csbm", "--curves", "--threads", "2"], more].concat();
        let start = Instant::now();
        let whole = json(&plain);
        let took = start.elapsed();
        let folder = dir.path().join(name);
        let checkpoints = ["--checkpoint", folder.to_str().unwrap(), "--checkpoint-every", "0"];
        let mut kills = 0;
        for share in [0.3, 0.05, 0.5, 0.2, 0.7, 0.4] {
            let resume = if folder.join("journal.json").exists() { &["--resume"][..] } else { &[] };
            kills += usize::from(!killed(&[&plain[..], &checkpoints, resume].concat(), took.mul_f64(share)));
        }
        assert!(kills > 2, "{name}: {kills} kills");
        let resume = if folder.join("journal.json").exists() { &["--resume"][..] } else { &[] };
        let again = text(&[&plain[..], &checkpoints, resume, &["--json"]].concat());
        assert_eq!(without_times(one_object(&again)), without_times(whole), "{name}");
        let refused = refusal(&[&plain[..], &checkpoints].concat());
        assert!(refused.contains("go on with --resume"), "{refused}");
        let other = refusal(&[&plain[..], &checkpoints, &["--resume", "--seed", "9"]].concat());
        assert!(other.contains("of another run"), "{other}");
    }
}

/// An import that is killed leaves nothing under the name that was asked for, or all of it.
#[test]
fn imports_survive_kills() {
    let dir = tempfile::tempdir().unwrap();
    let edges = dir.path().join("edges.csv");
    let lines: String = (0..400_000u64).map(|i| format!("{},{}\n", i * 7919 % 50_021, i * 104_729 % 50_023)).collect();
    std::fs::write(&edges, lines).unwrap();
    let start = Instant::now();
    let whole = dir.path().join("whole");
    let args = |out: &Path| {
        ["data", "import", edges.to_str().unwrap(), "--memory", "1", "--out", out.to_str().unwrap()].map(String::from)
    };
    let run = |out: &Path, after: Duration| killed(&args(out).each_ref().map(String::as_str), after);
    assert!(run(&whole, Duration::from_secs(60)));
    let took = start.elapsed();
    let facts = |folder: &Path| json(&["data", "check", folder.to_str().unwrap()])["stats"].clone();
    let expected = facts(&whole);
    let mut whole_ones = 0;
    for (i, share) in [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.5].into_iter().enumerate() {
        let out = dir.path().join(format!("out-{i}"));
        run(&out, took.mul_f64(share));
        if out.exists() {
            whole_ones += 1;
            let mut found = facts(&out);
            let mut expected = expected.clone();
            for facts in [&mut found, &mut expected] {
                facts.as_object_mut().unwrap().remove("name");
            }
            assert_eq!(found, expected);
        }
    }
    assert!((1..9).contains(&whole_ones), "{whole_ones} of 9 were finished");
}
