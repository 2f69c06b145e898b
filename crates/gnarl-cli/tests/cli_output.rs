//! Tests conventions of a good command line: all common scores, model selection, embeddings, data
//! formats, silence, timings, completions and man pages.

use crate::common;
use std::path::Path;

use common::{gnarl, json, mean, refusal, text, words, write_rings};
use serde_json::Value;

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

const SHORT: [&str; 9] = [
    "train", "--data", "karate", "--model", "gcn", "--epochs", "8", "--runs", "5",
];

#[test]
fn scores_are_reported_per_class() {
    let report = json(&SHORT);
    let classes = report["by_class"]["classes"].as_array().unwrap();
    let confusion: Vec<Vec<u64>> =
        serde_json::from_value(report["by_class"]["confusion"].clone()).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    // Five runs over the 22 test members of karate's split.
    assert_eq!(confusion.iter().flatten().sum::<u64>(), 110);
    let right: u64 = (0..4).map(|c| confusion[c][c]).sum();
    assert!(
        (100.0 * right as f64 / 110.0 - mean(&report["test_accuracy"])).abs() < 1e-9,
        "{report}"
    );
    for (c, class) in classes.iter().enumerate() {
        let (support, predicted) = (
            confusion[c].iter().sum::<u64>(),
            confusion.iter().map(|row| row[c]).sum::<u64>(),
        );
        assert_eq!(
            (&class["support"], &class["predicted"]),
            (&support.into(), &predicted.into())
        );
        assert!((number(&class["recall"]) - confusion[c][c] as f64 / support as f64).abs() < 1e-12);
        if predicted > 0 {
            assert!(
                (number(&class["precision"]) - confusion[c][c] as f64 / predicted as f64).abs()
                    < 1e-12
            );
        }
    }
    let recalls: f64 = classes
        .iter()
        .map(|class| number(&class["recall"]))
        .sum::<f64>()
        / 4.0;
    assert!(
        (100.0 * recalls - mean(&report["balanced_accuracy"])).abs() < 1e-9,
        "every run has the same test members"
    );
    assert!(
        (0.0..=100.0).contains(&mean(&report["macro_f1"])) && mean(&report["roc_auc"]) > 50.0,
        "{report}"
    );
    let words = text(&SHORT);
    assert!(
        words.contains("balanced accuracy, macro F1, ROC AUC") && words.contains("precision, %"),
        "{words}"
    );
}

/// With seed 1 the last run is best on validation members, and the first is not.
#[test]
fn the_requested_run_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.safetensors");
    let kept = |which: &[&str]| {
        let report = json(&[&SHORT[..], &["--seed", "1", "--save", path(&file)], which].concat());
        let saved = json(&["predict", "--load", path(&file), "--data", "karate"]);
        let runs = report["runs"].as_array().unwrap().clone();
        (runs, saved["test_accuracy"].as_f64().unwrap())
    };
    let (runs, first) = kept(&[]);
    let (_, best) = kept(&["--save-run", "best"]);
    let of = |run: &serde_json::Value, what: &str| run[what].as_f64().unwrap();
    let most = runs
        .iter()
        .map(|run| of(run, "val_accuracy"))
        .fold(0.0, f64::max);
    let expected = runs
        .iter()
        .find(|run| of(run, "val_accuracy") == most)
        .unwrap();
    assert_eq!(
        (first, best),
        (of(&runs[0], "test_accuracy"), of(expected, "test_accuracy"))
    );
    assert_ne!(first, best);
    let e = refusal(&[&SHORT[..], &["--save-run", "best"]].concat());
    assert!(e.contains("--save <FILE>"), "{e}");
}

#[test]
fn predict_reports_scores_and_writes_embeddings() {
    let dir = tempfile::tempdir().unwrap();
    let (model, data) = (dir.path().join("m.safetensors"), dir.path().join("rings"));
    write_rings(&data, &[("red", 0), ("blue", 1)], 15);
    let train = [
        "train",
        "--data",
        path(&data),
        "--model",
        "gcn",
        "--hidden",
        "7",
        "--epochs",
        "20",
    ];
    text(&[&train[..], &["--save", path(&model)]].concat());
    let (npy, csv) = (dir.path().join("e.npy"), dir.path().join("e.csv"));
    let predict = ["predict", "--load", path(&model), "--data", path(&data)];
    let report = json(&[&predict[..], &["--embeddings", path(&npy)]].concat());
    assert_eq!(report["by_class"]["classes"][0]["class"], "blue");
    assert_eq!(report["embeddings"]["width"], 7);
    assert!(report["roc_auc"].is_number() && report["balanced_accuracy"].is_number());
    // 128 bytes of head, then 30 rows of 7 numbers.
    let array = std::fs::read(&npy).unwrap();
    assert!(
        array.starts_with(b"\x93NUMPY") && array.len() == 128 + 30 * 7 * 4,
        "{}",
        array.len()
    );
    text(&[&predict[..], &["--embeddings", path(&csv)]].concat());
    let rows = std::fs::read_to_string(&csv).unwrap();
    let first: Vec<&str> = rows.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(
        (rows.lines().count(), first.len(), first[0]),
        (31, 8, "red-0")
    );
    let number = f32::from_le_bytes(array[128..132].try_into().unwrap());
    assert_eq!(
        first[1].parse::<f32>().unwrap(),
        number,
        "both forms hold the same"
    );
    let e = refusal(&[&predict[..], &["--embeddings", "e.txt"]].concat());
    assert!(e.contains("ends in .npy or .csv"), "{e}");
}

#[test]
fn converted_data_trains_to_the_same_result() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("karate");
    assert!(text(&["data", "convert", "karate", path(&out)]).contains("labels.csv"));
    let accuracy = |data: &str| {
        let args = ["train", "--data", data, "--model", "gcn", "--epochs", "20"];
        mean(&json(&args)["test_accuracy"])
    };
    assert_eq!(accuracy(path(&out)), accuracy("karate"));
    let edges = dir.path().join("edges.tsv");
    assert!(text(&["data", "convert", path(&out), path(&edges)]).contains("left out"));
    assert_eq!(std::fs::read_to_string(&edges).unwrap().lines().count(), 79);
    let e = refusal(&["data", "convert", "karate", path(&out)]);
    assert!(e.contains("the folder is not empty"), "{e}");
}

#[test]
fn quiet_and_timings_options() {
    assert_eq!(text(&["data", "info", "karate", "--quiet"]), "");
    let object = json(&["data", "info", "karate", "--quiet"]);
    assert_eq!(object["name"], "karate", "--json is asked for");
    let run = gnarl(&[
        "centrality",
        "--data",
        "karate",
        "--kind",
        "degree",
        "--verbose",
    ])
    .assert()
    .success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let parts: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_suffix(" s")?.split(": ").next())
        .collect();
    assert_eq!(
        parts,
        ["loading karate", "degree of karate", "all"],
        "{said}"
    );
    let e = refusal(&["data", "list", "--quiet", "--verbose"]);
    assert!(e.contains("--quiet") && e.contains("--verbose"), "{e}");
    let help = gnarl(&["train", "--help"])
        .env("NO_COLOR", "1")
        .assert()
        .success();
    assert!(!help.get_output().stdout.contains(&0x1b), "no escapes");
}

#[test]
fn completions_and_man_pages_have_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&["completions", shell]);
        assert!(
            ["robustness", "save-run", "convert"]
                .iter()
                .all(|word| script.contains(word)),
            "{shell}"
        );
    }
    assert!(refusal(&["completions", "tcsh"]).contains("tcsh"));
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("man1");
    assert!(text(&["man", "--out", path(&out)]).contains("gnarl-advise.1"));
    let pages: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    for page in [
        "gnarl.1",
        "gnarl-train.1",
        "gnarl-data-convert.1",
        "gnarl-bench-epoch.1",
    ] {
        assert!(pages.iter().any(|p| p == page), "{page} of {pages:?}");
    }
    let page = std::fs::read_to_string(out.join("gnarl-train.1")).unwrap();
    assert!(
        page.contains("orthonormal") && page.contains(".TH gnarl-train"),
        "{page}"
    );
}

/// Predictions are read back as the classes of a user's own graph, which a Parquet file may hold.
#[test]
fn predictions_are_written_as_parquet() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    json(&[&SHORT[..], &["--save", path(&file("m.safetensors"))]].concat());
    let predict = [
        "predict",
        "--load",
        path(&file("m.safetensors")),
        "--data",
        "karate",
        "--output",
    ]
    .map(String::from);
    let words = |to: &Path| {
        predict
            .iter()
            .map(String::as_str)
            .chain([path(to)])
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let run = |to: &Path| json(&words(to).iter().map(String::as_str).collect::<Vec<_>>());
    let mine = file("mine");
    std::fs::create_dir(&mine).unwrap();
    let report = run(&mine.join("labels.parquet"));
    run(&file("p.csv"));
    let csv = std::fs::read_to_string(file("p.csv")).unwrap();
    assert_eq!(csv.lines().count(), 35);
    let edges: String = (0..33).map(|u| format!("{u},{}\n", u + 1)).collect();
    std::fs::write(mine.join("edges.csv"), edges).unwrap();
    let read = json(&["data", "check", path(&mine)]);
    let said = report["class_counts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|class| class["count"] != 0)
        .count();
    assert_eq!(
        read["stats"]["classes"].as_u64(),
        Some(said as u64),
        "{read}"
    );
    let bytes = std::fs::read(mine.join("labels.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    // The description of a user's own files equals that of `data check`.
    assert_eq!(json(&["data", "info", path(&mine)]), read);
    let e = refusal(&["data", "info", path(&file("nowhere"))]);
    assert!(e.contains("unknown dataset"), "{e}");
}

const DRY_RUN: &str = "--data karate --epochs 20 --runs 2 --dry-run";

/// Returns the plan of a command on karate.
fn plan(line: &str) -> Value {
    json(&[words(line), words(DRY_RUN)].concat())
}

/// Returns the names of a plan's cells.
fn cell_names(plan: &Value) -> Vec<&str> {
    let cells = plan["cells"].as_array().unwrap();
    cells.iter().map(|c| c["name"].as_str().unwrap()).collect()
}

#[test]
fn dry_runs_of_axes_name_refused_cells() {
    let axes = plan("axes --model gcn --alone --attack dice");
    assert_eq!(
        (axes["cells"].as_array().unwrap().len(), &axes["fits"]),
        (7, &14.into()),
        "{axes}"
    );
    assert_eq!(
        (&axes["cells"][0]["epochs"], &axes["left_out"]),
        (&40.into(), &"the attacks".into())
    );
    let on_mlp = plan("axes --model mlp --alone");
    let cgso = &on_mlp["cells"][1];
    assert!(
        cgso["refused"]
            .as_str()
            .unwrap()
            .contains("needs message passing")
            && cgso["fits"] == 0,
        "{cgso}"
    );
    let e = refusal(&[words("axes --model gcn --print-spec"), words(DRY_RUN)].concat());
    assert!(e.contains("--print-spec") && e.contains("--dry-run"), "{e}");
}

#[test]
fn dry_runs_of_attacks_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plot = dir.path().join("plot");
    let compared = words("attack --model gcn,gin --attack dice --budget 0.1,0.2 --plot");
    let attack = json(&[&compared[..], &[path(&plot)], &words(DRY_RUN)].concat());
    let names = cell_names(&attack);
    assert_eq!(
        (names.len(), names[0], names[5]),
        (
            6,
            "gcn, dice, 0.1 of the edges",
            "mlp, dice, 0.2 of the edges"
        )
    );
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "nothing is written"
    );
    let poisoned = plan("attack --model gcn --attack dice --mode poisoning");
    assert_eq!(
        poisoned["fits"], 4,
        "a model of the clean graph and one of the poisoned, twice"
    );
}

#[test]
fn dry_runs_count_the_forward_passes_of_robustness() {
    let certify = plan("certify --model gcn --method smoothing --samples 100 --selection 10");
    assert_eq!(
        (&certify["cells"][0]["passes"], &certify["epochs"]),
        (&220.0.into(), &40.into()),
        "{certify}"
    );
    let robustness = plan("robustness --model gcn --epsilon 1,2,3 --samples 5");
    assert_eq!(robustness["cells"][0]["passes"], 30.0, "{robustness}");
    let advise = plan("advise");
    assert_eq!(
        cell_names(&advise)[..3],
        ["plain", "mlp, without edges", "cgso"],
        "{advise}"
    );
    assert!(advise["seconds"].as_f64().unwrap() > 0.0);

    let shown = text(&[words("robustness --model gcn"), words(DRY_RUN)].concat());
    assert!(
        shown.starts_with("robustness on karate would fit 2 models, 40 epochs in all"),
        "{shown}"
    );
    assert!(
        shown.contains("without the bounds") && shown.contains("; nothing was run"),
        "{shown}"
    );
}
