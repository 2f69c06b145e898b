//! Tests `gnarl robustness` from the command line.

use crate::common;
use common::{json, refusal, text};
use serde_json::Value;

const SMALL: [&str; 9] = [
    "robustness",
    "--data",
    "csbm",
    "--model",
    "gcn",
    "--epochs",
    "15",
    "--hidden",
    "8",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn curves_have_estimates_intervals_and_bounds() {
    let report = json(&with(&[
        "--epsilon",
        "0,0.5,5",
        "--samples",
        "40",
        "--sigma",
        "0.02,0.2",
        "--runs",
        "2",
    ]));
    assert_eq!(report["test_accuracy"]["runs"].as_array().unwrap().len(), 2);
    assert!(report["config"]["model"]["network"].is_object() && number(&report["seconds"]) > 0.0);
    let curve = report["curve"].as_array().unwrap();
    assert_eq!(curve.len(), 3);
    let mut before = -1.0;
    for point in curve {
        let mean = number(&point["mean"]);
        assert!(mean > before, "answers move further in larger balls");
        before = mean;
        assert_eq!(point["samples"], 80);
        assert!(number(&point["ci"][0]) <= mean && mean <= number(&point["ci"][1]));
        for adv in point["adv"].as_array().unwrap() {
            let (low, estimate, high) = (
                number(&adv["ci"][0]),
                number(&adv["estimate"]),
                number(&adv["ci"][1]),
            );
            assert!(
                0.0 <= low && low <= estimate && estimate <= high && high <= 1.0,
                "{adv}"
            );
        }
        let bounds = point["bounds"].as_array().unwrap();
        let distances: Vec<&str> = bounds
            .iter()
            .map(|b| b["distance"].as_str().unwrap())
            .collect();
        assert_eq!(distances, ["l1", "l2", "linf", "scaled"]);
        assert!(
            bounds
                .iter()
                .all(|b| number(&b["largest_sampled"]) <= number(&b["sound"])),
            "{bounds:?}"
        );
    }
    assert_eq!(
        number(&curve[0]["mean"]),
        0.0,
        "nothing moves in a ball of radius 0"
    );
    assert_eq!(number(&curve[0]["bounds"][1]["sound"]), 0.0);
    assert_eq!(number(&curve[2]["adv"][0]["estimate"]), 1.0);
}

#[test]
fn perturbations_of_structure_and_both() {
    let structure = json(&with(&[
        "--target",
        "structure",
        "--epsilon",
        "0,30",
        "--samples",
        "10",
    ]));
    assert!(structure.get("norm").is_none());
    let bounds = &structure["curve"][1]["bounds"];
    assert!(number(&bounds[1]["operator_distance"]) > 0.0, "{bounds}");
    for b in bounds.as_array().unwrap() {
        assert!(
            number(&b["largest_sampled"]) > 0.0
                && number(&b["largest_sampled"]) <= number(&b["sound"]),
            "{b}"
        );
    }
    let both = [
        "--target",
        "both",
        "--flips",
        "30",
        "--epsilon",
        "0.5",
        "--samples",
        "10",
        "--sampler",
        "thesis",
    ];
    let both = json(&with(&[&both[..], &["--norm", "inf"]].concat()));
    assert_eq!(
        (&both["norm"], &both["sampler"]),
        (&"inf".into(), &"thesis".into())
    );
    assert!(number(&both["curve"][0]["mean"]) > number(&structure["curve"][1]["mean"]));
    let flat = [
        "robustness",
        "--data",
        "karate",
        "--model",
        "gin",
        "--epochs",
        "5",
        "--target",
        "structure",
    ];
    let karate = text(&[&flat[..], &["--epsilon", "3", "--samples", "5"]].concat());
    assert!(
        karate.contains("up to epsilon flipped edges, uniform")
            && karate.contains("scores, Frobenius"),
        "{karate}"
    );
}

#[test]
fn curves_are_plotted_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let stem = dir.path().join("curve");
    let shown = text(&with(&[
        "--epsilon",
        "1,4",
        "--samples",
        "5",
        "--output",
        stem.to_str().unwrap(),
    ]));
    assert!(
        shown.contains("written: ") && shown.contains("curve.png"),
        "{shown}"
    );
    let csv = std::fs::read_to_string(dir.path().join("curve.csv")).unwrap();
    let mut lines = csv.lines();
    let header = lines.next().unwrap();
    assert!(
        header.starts_with(
            "epsilon,mean,mean_low,mean_high,largest,changed,bound,adv_0.1,adv_0.1_low"
        ),
        "{header}"
    );
    let columns = header.split(',').count();
    assert_eq!(lines.clone().count(), 2);
    assert!(lines.all(|line| line.split(',').count() == columns
        && line.split(',').all(|x| x.parse::<f64>().is_ok())));
    assert!(
        std::fs::read_to_string(dir.path().join("curve.svg"))
            .unwrap()
            .contains("P(d &gt; 0.1)")
    );
    assert!(
        std::fs::read(dir.path().join("curve.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn a_network_without_bounds_still_has_an_estimate() {
    let gat = [
        "robustness",
        "--data",
        "csbm",
        "--model",
        "gat",
        "--epochs",
        "3",
        "--epsilon",
        "1",
        "--samples",
        "3",
    ];
    let report = json(&gat);
    assert!(
        report["no_bounds"]
            .as_str()
            .unwrap()
            .contains("no bound covers gat"),
        "{report}"
    );
    assert!(number(&report["curve"][0]["mean"]) > 0.0);
    let shown = text(&gat);
    assert!(
        shown.contains("no bound covers gat: they cover gcn, gin, sgc and mlp"),
        "{shown}"
    );
}

#[test]
fn wrong_radii_are_refused_before_training() {
    for (more, expected) in [
        (
            &["--epsilon", "-1"][..],
            "epsilon -1 must be a finite number of at least 0",
        ),
        (
            &["--epsilon", "1,NaN"],
            "epsilon NaN must be a finite number of at least 0",
        ),
        (&["--epsilon", "1", "--samples", "0"], "at least 1 sample"),
        (
            &["--epsilon", "1", "--sigma", "0"],
            "sigma 0 must be a finite number above 0",
        ),
        (
            &["--epsilon", "1", "--norm", "0.5"],
            "'0.5' is not a number of at least 1, nor inf",
        ),
        (
            &["--epsilon", "1e40"],
            "epsilon 1e40 is beyond single precision: at most 1e19 is allowed",
        ),
        (
            &["--epsilon", "1.5", "--target", "structure"],
            "--epsilon must be a whole number of flips (got 1.5)",
        ),
        (
            &["--epsilon", "1", "--target", "structure", "--norm", "2"],
            "--norm: belongs to features, and target structure leaves them as they are",
        ),
        (
            &["--epsilon", "1", "--target", "both"],
            "--flips: belongs to target both, which needs it",
        ),
        (
            &["--epsilon", "1", "--flips", "2"],
            "--flips: belongs to target both, which needs it",
        ),
        (
            &["--epsilon", "1e12", "--target", "structure"],
            "1000000000000 flips on 1000 nodes",
        ),
        (
            &["--epsilon", "1", "--sampler", "exakt"],
            "did you mean exact?",
        ),
    ] {
        let line = refusal(&with(more));
        assert!(line.contains(expected), "{line}");
    }
}
