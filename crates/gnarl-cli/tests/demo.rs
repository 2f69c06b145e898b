//! `gnarl` alone.

mod common;
use common::{close, gnarl, json, text};

#[test]
fn the_tour_shows_both_graphs_and_commands_that_work() {
    let shown = text(&[]);
    assert!(shown.contains("karate") && shown.contains("csbm") && shown.contains("33, 0, 32"), "{shown}");
    let report = json(&[]);
    for command in report["next"].as_array().unwrap() {
        let command = command.as_str().unwrap();
        assert!(shown.contains(command), "{command}");
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        gnarl(&words).assert().success();
    }
}

/// NumPy's `eigvalsh` on karate's normalised Laplacian.
#[test]
fn the_gap_of_karate_is_known() {
    let report = json(&[]);
    let degree = &report["graphs"][0]["gaps"][0];
    assert_eq!(degree["centrality"], "degree");
    assert!((degree["gap"].as_f64().unwrap() - 0.132272329).abs() < 1e-9, "{degree}");
    let core = &report["graphs"][0]["gaps"][1];
    assert!((core["gap"].as_f64().unwrap() - 0.177814703).abs() < 1e-9, "{core}");
    assert!(close(report["graphs"][0]["stats"]["mean_degree"].as_f64().unwrap(), 156.0 / 34.0));
}
