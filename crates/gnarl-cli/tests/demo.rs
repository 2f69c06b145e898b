//! `gnarl` alone.

mod common;
use std::path::Path;
use std::sync::OnceLock;

use common::{close, gnarl, one_object, refusal};
use serde_json::Value;

/// Standard output of the demo in a folder; it says nothing else.
fn demo(folder: &Path, args: &[&str]) -> String {
    let run = gnarl(args).current_dir(folder).assert().success().stderr("");
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// The JSON and the page of one run with two threads, made once.
fn found() -> &'static (Value, String) {
    static FOUND: OnceLock<(Value, String)> = OnceLock::new();
    FOUND.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let json = one_object(&demo(dir.path(), &["--json", "--threads", "2"]));
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert_eq!(left, ["gnarl-report.html"], "the page and nothing else");
        (json, std::fs::read_to_string(dir.path().join("gnarl-report.html")).unwrap())
    })
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Kipf and Welling's point about this very graph: the ties tell communities apart.
#[test]
fn a_trained_gcn_beats_the_largest_community_by_forty_points() {
    let (report, _) = found();
    let mean = |accuracy: &Value| accuracy["mean"].as_f64().unwrap();
    let row = |model: &str| report["rows"].as_array().unwrap().iter().find(|row| row["model"] == model).unwrap();
    let (plain, majority) = (mean(&row("GCN")["test_accuracy"]), mean(&report["majority"]));
    assert!(plain > majority + 40.0, "{plain} against {majority}");
    // 12 of 34 belong to the largest; where 2 of each have been taken to train, 10 of 26 are left.
    assert!((30.0..45.0).contains(&majority), "{majority}");
    // Features that only name the member say nothing of members not trained on.
    assert!(mean(&row("MLP")["test_accuracy"]) < plain - 30.0, "{}", row("MLP"));
}

#[test]
fn differences_are_paired_with_the_plain_gcn() {
    let (report, _) = found();
    let rows = report["rows"].as_array().unwrap();
    let plain = numbers(&rows[0]["test_accuracy"]["runs"]);
    assert_eq!((&rows[0]["axis"], &rows[0]["minus_plain"], plain.len()), (&"plain".into(), &Value::Null, 20));
    for row in &rows[1..] {
        let differences: Vec<f64> =
            numbers(&row["test_accuracy"]["runs"]).iter().zip(&plain).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / 20.0;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 19.0;
        let told = &row["minus_plain"];
        assert!((told["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{row}");
        assert!((told["standard_error"].as_f64().unwrap() - (variance / 20.0).sqrt()).abs() < 1e-9, "{row}");
        assert!(row["epoch_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
    let protocol = &report["protocol"];
    let sizes = ["train_per_class", "validate", "test"].map(|part| protocol[part].as_u64().unwrap());
    assert_eq!(sizes, [2, 8, 18], "of 34 members in four communities");
}

#[test]
fn the_page_has_its_pictures_and_needs_nothing_else() {
    let (report, page) = found();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    let rows = report["rows"].as_array().unwrap();
    // The club once large and once per row, two charts of curves, one of dots.
    assert_eq!(page.matches("<svg ").count(), 1 + rows.len() + 2 + 1);
    assert_eq!(page.matches("class=\"node\"").count(), 34 * (1 + rows.len()));
    assert_eq!(page.matches("<polyline ").count(), 2 * rows.len());
    for what in ["Validation accuracy, mean", "Training loss, mean", "Test accuracy of every split", "stroke-dasharray"]
    {
        assert!(page.contains(what), "{what}");
    }
    for row in rows {
        let name = format!("{}, {}", row["model"].as_str().unwrap(), row["operator"].as_str().unwrap());
        let mean = format!("{name}: {:.1} %", row["test_accuracy"]["mean"].as_f64().unwrap());
        assert!(page.contains(&mean), "{mean}");
    }
    assert!(page.contains("33, 0, 32"), "the first by PageRank");
    // The name of SVG's namespace looks like an address and is none.
    let own = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for foreign in ["<script", "http:", "https:", "src=", "href=", "NaN"] {
        assert!(!own.contains(foreign), "{foreign}");
    }
}

#[test]
fn threads_change_no_figure_and_the_page_goes_where_it_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let without_times = |mut report: Value| {
        for row in report["rows"].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove("epoch_ms").unwrap();
        }
        report.as_object_mut().unwrap().remove("report").unwrap();
        report
    };
    let alone = one_object(&demo(dir.path(), &["--json", "--threads", "1", "--out", "club.html"]));
    assert_eq!(alone["report"], "club.html");
    assert_eq!(without_times(alone), without_times(found().0.clone()));
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["club.html"]);
}

#[test]
fn a_page_that_cannot_be_written_is_said_before_anything_is_trained() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let nowhere = format!("{folder}/no/such/page.html");
    let e = refusal(&["--out", &nowhere]);
    assert!(e.contains(&format!("the report cannot be written to {nowhere}: ")), "{e}");
    assert!(e.ends_with("name another place with --out FILE"), "{e}");
    assert_eq!(refusal(&["--out", &nowhere, "--json"]), e);
    let e = refusal(&["--out", folder]);
    assert!(e.contains("it is a folder"), "{e}");
    let e = refusal(&["--out", "x.html", "data", "list"]);
    assert!(e.contains("--out before a command does not apply"), "{e}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_comes_next_works() {
    let commands = found().0["next"].as_array().unwrap();
    assert!(commands.len() >= 3);
    for command in commands {
        let words: Vec<&str> = command.as_str().unwrap().split_whitespace().skip(1).collect();
        gnarl(&words).assert().success();
    }
}

/// NumPy's `eigvalsh` on karate's normalised Laplacian.
#[test]
fn the_gap_of_karate_is_known() {
    let (report, _) = found();
    let degree = &report["graphs"][0]["gaps"][0];
    assert_eq!(degree["centrality"], "degree");
    assert!((degree["gap"].as_f64().unwrap() - 0.132272329).abs() < 1e-9, "{degree}");
    let core = &report["graphs"][0]["gaps"][1];
    assert!((core["gap"].as_f64().unwrap() - 0.177814703).abs() < 1e-9, "{core}");
    assert!(close(report["graphs"][0]["stats"]["mean_degree"].as_f64().unwrap(), 156.0 / 34.0));
}
