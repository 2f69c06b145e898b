//! Tests `gnarl` without a command, and the tour of the karate club.

use crate::common;
use std::path::Path;
use std::sync::OnceLock;

use common::{close, gnarl, one_object, refusal};
use serde_json::Value;

/// Returns the standard output of the demo in a folder; standard error must be empty.
fn demo(folder: &Path, args: &[&str]) -> String {
    let run = gnarl(args)
        .current_dir(folder)
        .assert()
        .success()
        .stderr("");
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// Returns the JSON and the page of one run with two threads.
fn made(args: &[&str]) -> (Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let json = one_object(&demo(
        dir.path(),
        &[args, &["--json", "--threads", "2"]].concat(),
    ));
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    assert_eq!(left, ["gnarl-report.html"], "the page and nothing else");
    (
        json,
        std::fs::read_to_string(dir.path().join("gnarl-report.html")).unwrap(),
    )
}

/// Returns the run of the karate tour, computed once.
fn found() -> &'static (Value, String) {
    static FOUND: OnceLock<(Value, String)> = OnceLock::new();
    FOUND.get_or_init(|| made(&["--tour", "karate"]))
}

/// Returns the run of the five-axes tour, computed once. A few epochs are enough to test its
/// structure.
fn axes() -> &'static (Value, String) {
    static FOUND: OnceLock<(Value, String)> = OnceLock::new();
    FOUND.get_or_init(|| made(&["--rough", "3"]))
}

/// Returns the data of every component of a page, with its kind.
fn components(page: &str) -> Vec<(String, Value)> {
    let after = |text: &'_ str, start: &str, end: &str| -> String {
        text.split_once(start)
            .and_then(|(_, rest)| rest.split_once(end))
            .unwrap()
            .0
            .to_string()
    };
    page.split("data-component=\"")
        .skip(1)
        .filter(|part| part.contains("data-from=\""))
        .map(|part| {
            let id = after(part, "data-from=\"", "\"");
            let json = after(page, &format!("id=\"{id}\">"), "</script>");
            (
                part.split('"').next().unwrap().to_string(),
                serde_json::from_str(&json).unwrap(),
            )
        })
        .collect()
}

fn assert_alone(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    // The namespace of SVG looks like an address but is not fetched.
    let own = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http:", "https:", " src=", "href=\"h", "@import"] {
        assert!(!own.contains(foreign), "{foreign}");
    }
    assert!(
        own.contains("default-src 'none'"),
        "its policy lets nothing in"
    );
}

/// Asserts that differences are taken run by run and their mean is the difference of the means.
fn assert_paired(ours: &Value, plain: &Value, told: &Value) {
    let differences: Vec<f64> = numbers(&ours["runs"])
        .iter()
        .zip(&numbers(&plain["runs"]))
        .map(|(a, b)| a - b)
        .collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    assert!(
        (told["mean"].as_f64().unwrap() - mean).abs() < 1e-9,
        "{told}"
    );
    assert!(
        (told["standard_error"].as_f64().unwrap() - (variance / n).sqrt()).abs() < 1e-9,
        "{told}"
    );
}

#[test]
fn the_tour_reports_every_axis_clean_and_attacked() {
    let (report, _) = axes();
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["axis"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "plain",
            "operator",
            "depth",
            "weights",
            "inference",
            "data",
            "all"
        ]
    );
    for (i, row) in rows.iter().enumerate() {
        for part in ["clean", "noise", "flips"] {
            let judged = &row[part];
            assert_eq!(numbers(&judged["runs"]).len(), 3, "{row}");
            assert_eq!(judged.get("minus_plain").is_some(), i > 0, "{row}");
            if i > 0 {
                assert_paired(judged, &rows[0][part], &judged["minus_plain"]);
            }
        }
    }
    let cora = &report["cora"];
    let sizes = [
        "nodes", "edges", "words", "classes", "train", "validate", "test",
    ]
    .map(|k| cora[k].as_u64().unwrap());
    assert_eq!(sizes, [2708, 5278, 1433, 7, 140, 500, 1000]);
}

#[test]
fn the_tour_reports_depth_certificates_and_graph_sets() {
    let (report, _) = axes();
    let depth = &report["depth"];
    assert_eq!(
        depth["exit_accuracy"].as_array().unwrap().len(),
        4,
        "after 0 to 3 rounds"
    );
    let taken: f64 = numbers(&depth["taken"]).iter().sum();
    assert!(
        (taken - 2708.0).abs() < 1e-6,
        "every paper stops somewhere: {taken}"
    );
    for certificate in report["certificates"].as_array().unwrap() {
        let certified: Vec<f64> = certificate["certified"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["mean"].as_f64().unwrap())
            .collect();
        assert!(
            certified.is_sorted_by(|a, b| a >= b),
            "no larger radius certifies more: {certified:?}"
        );
        // At radius 0 nothing moves: every correct prediction is certified.
        assert!(
            (certified[0] - certificate["accuracy"]["mean"].as_f64().unwrap()).abs() < 1e-9,
            "{certificate}"
        );
    }
    let mutag = &report["mutag"];
    assert_eq!(
        (
            mutag["graphs"].as_u64(),
            numbers(&mutag["with"]["runs"]).len()
        ),
        (Some(188), 10)
    );
    let augmentation = &mutag["augmentation"];
    assert_paired(
        &mutag["with"],
        &augmentation["none_test_accuracy"],
        &augmentation["minus_none"],
    );
}

#[test]
fn the_page_of_the_tour_is_complete_and_self_contained() {
    let (report, page) = axes();
    assert_alone(page);
    let all = components(page);
    let kinds: Vec<&str> = all.iter().map(|(kind, _)| kind.as_str()).collect();
    for (kind, count) in [
        ("graph", 1),
        ("dots", 4),
        ("lines", 4),
        ("confusion", 2),
        ("calibration", 1),
        ("scatter", 1),
    ] {
        assert_eq!(
            kinds.iter().filter(|k| **k == kind).count(),
            count,
            "{kind} in {kinds:?}"
        );
    }
    let graph = &all.iter().find(|(kind, _)| kind == "graph").unwrap().1;
    let len = |key: &str| graph[key].as_array().unwrap().len();
    assert_eq!(
        (
            len("x"),
            len("y"),
            len("edges"),
            len("truth"),
            len("predicted")
        ),
        (2708, 2708, 2 * 5278, 2708, 2708)
    );
    let channels: Vec<&str> = graph["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        channels,
        ["class", "predicted", "exit", "margin", "radius", "pagerank"]
    );
    let attack = &graph["attack"];
    // Five per cent of 5,278 edges, three numbers each.
    assert_eq!(attack["flips"].as_array().unwrap().len(), 3 * 263);
    let steps = attack["steps"].as_array().unwrap();
    assert_eq!(
        (&steps[0]["flips"], &steps[steps.len() - 1]["flips"]),
        (&0.into(), &263.into())
    );
    assert_eq!(
        report["walk"]["steps"].as_array().unwrap().len(),
        steps.len()
    );
    let calibration = &all
        .iter()
        .find(|(kind, _)| kind == "calibration")
        .unwrap()
        .1;
    let answers: u64 = calibration["bins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin["count"].as_u64().unwrap())
        .sum();
    assert_eq!(answers, 1000, "every test paper");
}

/// Masks every number of a line and drops marks of significance: the form that lines share if only
/// results differ.
fn form(line: &str) -> Vec<String> {
    // `…,` stands for a number followed by a comma; numbers that are not results are written out.
    let is_figure = |word: &str| {
        word.contains(|c: char| c.is_ascii_digit()) || word.trim_end_matches(',') == "…"
    };
    let masked = |word: &str| {
        if is_figure(word) {
            "#".to_string()
        } else {
            word.to_string()
        }
    };
    line.split_whitespace()
        .filter(|word| *word != "*")
        .map(masked)
        .collect()
}

/// Runs the first-minute demo for a few epochs, because the whole demo is too slow for a test. It
/// must print the README's words, whatever the results, and one thread must give the page of two,
/// byte for byte. `bench/first_minute.sh` runs the whole demo and compares the results, too.
#[test]
fn output_matches_the_readme_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let printed = demo(dir.path(), &["--rough", "3", "--threads", "1"]);
    assert_eq!(
        std::fs::read_to_string(dir.path().join("gnarl-report.html")).unwrap(),
        axes().1
    );
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let shown = readme
        .split("```console\n$ gnarl\n")
        .nth(1)
        .expect("the promise")
        .split("```")
        .next()
        .unwrap();
    // The rule under a table's head is as long as its cells are wide.
    let is_rule = |line: &&str| line.starts_with('─');
    let forms = |text: &str| {
        text.lines()
            .filter(|line| !is_rule(line))
            .map(form)
            .collect::<Vec<_>>()
    };
    assert_eq!(forms(&printed), forms(shown), "{printed}");
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

/// Reproduces the observation of [Kipf and Welling 2017](https://arxiv.org/abs/1609.02907) on this
/// graph: the edges separate the communities.
#[test]
fn a_trained_gcn_beats_the_largest_community_by_forty_points() {
    let (report, _) = found();
    let mean = |accuracy: &Value| accuracy["mean"].as_f64().unwrap();
    let row = |model: &str| {
        report["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["model"] == model)
            .unwrap()
    };
    let (plain, majority) = (
        mean(&row("GCN")["test_accuracy"]),
        mean(&report["majority"]),
    );
    assert!(plain > majority + 40.0, "{plain} against {majority}");
    // 12 of 34 members belong to the largest community; after 2 of each are taken for training, 10
    // of 26 are left.
    assert!((30.0..45.0).contains(&majority), "{majority}");
    // One-hot features, which only identify the member, carry no information about members outside
    // the training set.
    assert!(
        mean(&row("MLP")["test_accuracy"]) < plain - 30.0,
        "{}",
        row("MLP")
    );
}

#[test]
fn differences_are_paired_with_the_plain_gcn() {
    let (report, _) = found();
    let rows = report["rows"].as_array().unwrap();
    let plain = numbers(&rows[0]["test_accuracy"]["runs"]);
    assert_eq!(
        (&rows[0]["axis"], &rows[0]["minus_plain"], plain.len()),
        (&"plain".into(), &Value::Null, 20)
    );
    for row in &rows[1..] {
        let differences: Vec<f64> = numbers(&row["test_accuracy"]["runs"])
            .iter()
            .zip(&plain)
            .map(|(a, b)| a - b)
            .collect();
        let mean = differences.iter().sum::<f64>() / 20.0;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 19.0;
        let told = &row["minus_plain"];
        assert!(
            (told["mean"].as_f64().unwrap() - mean).abs() < 1e-9,
            "{row}"
        );
        assert!(
            (told["standard_error"].as_f64().unwrap() - (variance / 20.0).sqrt()).abs() < 1e-9,
            "{row}"
        );
        assert!(row["epoch_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
    let protocol = &report["protocol"];
    let sizes =
        ["train_per_class", "validate", "test"].map(|part| protocol[part].as_u64().unwrap());
    assert_eq!(sizes, [2, 8, 18], "of 34 members in four communities");
}

#[test]
fn the_page_of_karate_is_complete_and_self_contained() {
    let (report, page) = found();
    assert_alone(page);
    let rows = report["rows"].as_array().unwrap();
    // The graph is drawn once large and once per row, with two charts of curves and one of dots.
    assert_eq!(page.matches("<svg ").count(), 1 + rows.len());
    assert_eq!(
        page.matches("class=\"node\"").count(),
        34 * (1 + rows.len())
    );
    let all = components(page);
    assert_eq!(
        all.iter()
            .map(|(kind, _)| kind.as_str())
            .collect::<Vec<_>>(),
        ["dots", "lines", "lines"]
    );
    for (_, lines) in &all[1..] {
        assert_eq!(lines["series"].as_array().unwrap().len(), rows.len());
    }
    for what in [
        "Validation accuracy, mean",
        "Training loss, mean",
        "Test accuracy of every split",
        "stroke-dasharray",
    ] {
        assert!(page.contains(what), "{what}");
    }
    for row in rows {
        let name = format!(
            "{}, {}",
            row["model"].as_str().unwrap(),
            row["operator"].as_str().unwrap()
        );
        let mean = format!(
            "{name}: {:.1} %",
            row["test_accuracy"]["mean"].as_f64().unwrap()
        );
        assert!(page.contains(&mean), "{mean}");
    }
    assert!(page.contains("33, 0, 32"), "the first by PageRank");
}

#[test]
fn the_page_is_written_where_asked_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let without_times = |mut report: Value| {
        for row in report["rows"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("epoch_ms").unwrap();
        }
        report.as_object_mut().unwrap().remove("report").unwrap();
        report
    };
    let alone = one_object(&demo(
        dir.path(),
        &[
            "--tour",
            "karate",
            "--json",
            "--threads",
            "1",
            "--out",
            "club.html",
        ],
    ));
    assert_eq!(alone["report"], "club.html");
    assert_eq!(without_times(alone), without_times(found().0.clone()));
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    assert_eq!(left, ["club.html"]);
}

#[test]
fn an_unwritable_page_is_refused_before_training() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let nowhere = format!("{folder}/no/such/page.html");
    let e = refusal(&["--out", &nowhere]);
    assert!(
        e.contains(&format!("the report cannot be written to {nowhere}: ")),
        "{e}"
    );
    assert!(e.ends_with("name another place with --out FILE"), "{e}");
    assert_eq!(refusal(&["--out", &nowhere, "--json"]), e);
    let e = refusal(&["--out", folder]);
    assert!(e.contains("it is a folder"), "{e}");
    let e = refusal(&["--out", "x.html", "data", "list"]);
    assert!(e.contains("--out before a command does not apply"), "{e}");
    let e = refusal(&["--tour", "karate", "data", "list"]);
    assert!(e.contains("--tour is for gnarl without a command"), "{e}");
    let e = refusal(&["--tour", "carate"]);
    assert!(e.contains("did you mean karate"), "{e}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn suggested_commands_run() {
    let commands = found().0["next"].as_array().unwrap();
    assert!(commands.len() >= 3);
    // The commands suggested by the axes tour are only parsed: they take long.
    for command in axes().0["next"].as_array().unwrap() {
        let words: Vec<&str> = command
            .as_str()
            .unwrap()
            .split_whitespace()
            .skip(1)
            .collect();
        gnarl(&[&words[..], &["--help"]].concat())
            .assert()
            .success();
    }
    for command in commands {
        let words: Vec<&str> = command
            .as_str()
            .unwrap()
            .split_whitespace()
            .skip(1)
            .collect();
        gnarl(&words).assert().success();
    }
}

/// Expected value: NumPy's `eigvalsh` on karate's normalised Laplacian.
#[test]
fn spectral_gap_of_karate_agrees_with_numpy() {
    let (report, _) = found();
    let degree = &report["graphs"][0]["gaps"][0];
    assert_eq!(degree["centrality"], "degree");
    assert!(
        (degree["gap"].as_f64().unwrap() - 0.132272329).abs() < 1e-9,
        "{degree}"
    );
    let core = &report["graphs"][0]["gaps"][1];
    assert!(
        (core["gap"].as_f64().unwrap() - 0.177814703).abs() < 1e-9,
        "{core}"
    );
    assert!(close(
        report["graphs"][0]["stats"]["mean_degree"]
            .as_f64()
            .unwrap(),
        156.0 / 34.0
    ));
}
