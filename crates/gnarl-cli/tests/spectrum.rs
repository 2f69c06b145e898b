//! Tests `gnarl spectrum`. Expected numbers: NumPy's `eigvalsh` on `networkx.karate_club_graph()`
//! without its weights.

use crate::common;
use common::{json, text};
use serde_json::Value;

fn karate(centrality: &str) -> Value {
    json(&["spectrum", "--data", "karate", "--centrality", centrality])
}

fn near(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() - expected).abs() < 1e-8
}

fn operator<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["operators"]
        .as_array()
        .unwrap()
        .iter()
        .find(|o| o["operator"] == name)
        .unwrap()
}

#[test]
fn eigenvalues_of_karate_agree_with_numpy() {
    let report = karate("core");
    assert_eq!(
        (&report["data"], &report["centrality"]),
        (&"karate".into(), &"core".into())
    );
    let a = operator(&report, "A");
    assert!(
        near(&a["smallest"][0], -4.48722919) && near(&a["largest"][0], 6.72569773),
        "{a}"
    );
    assert_eq!(a["all"].as_array().unwrap().len(), 34);
    let l_sym = operator(&report, "L_sym");
    assert!(
        near(&l_sym["smallest"][1], 0.132272329) && near(&l_sym["largest"][0], 1.71461135),
        "{l_sym}"
    );
    let m = &report["markov"];
    assert!(
        near(&m["smallest"][0], -1.41156546) && near(&m["largest"][0], 1.94224329),
        "{m}"
    );
    assert!(near(&report["gap"]["laplacian"], 0.177814703));
    assert!(
        near(&report["bound"]["value"], 4.25),
        "the largest degree over core number"
    );
    assert!(
        near(&report["moments"]["mean"], 0.0),
        "no self-loops, no trace"
    );
}

#[test]
fn corrected_inequalities_hold() {
    for centrality in ["degree", "core", "pagerank", "walks"] {
        let report = karate(centrality);
        let inequalities = report["inequalities"].as_array().unwrap();
        let corrected: Vec<&Value> = inequalities
            .iter()
            .filter(|i| i["source"] == "corrected" && i["applies"] == true)
            .collect();
        assert!(!corrected.is_empty(), "{centrality}");
        assert!(
            corrected.iter().all(|i| i["holds"] == true),
            "{centrality}: {inequalities:?}"
        );
        assert!(
            inequalities.iter().any(|i| i["source"] == "published"),
            "{centrality}: the thesis' version is reported"
        );
    }
}

#[test]
fn energies_count_the_edges_that_differ() {
    let energy = &karate("degree")["dirichlet_energy"];
    // One-hot rows of two classes differ by 2. 21 of the 78 edges join two communities, and all
    // edges join two identity rows.
    assert!(near(&energy["labels"]["unnormalised"], 42.0), "{energy}");
    assert!(near(&energy["features"]["unnormalised"], 156.0), "{energy}");
}

#[test]
fn text_output_has_the_numbers_of_json() {
    let shown = text(&[
        "spectrum",
        "--data",
        "karate",
        "--centrality",
        "core",
        "--extremes",
        "2",
    ]);
    assert!(
        shown.starts_with("spectrum of karate: 34 nodes, 78 edges; V from core\n"),
        "{shown}"
    );
    let row = |name: &str| {
        let row = shown
            .lines()
            .find(|l| l.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("{name} in {shown}"));
        row.split_whitespace()
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("A "), ["A", "-4.487", "-3.448", "6.726", "4.977"]);
    assert_eq!(row("L_rw"), ["L_rw", "0", "0.1323", "1.715", "1.612"]);
    assert!(row("bound on").contains(&"4.250".to_string()));
    assert!(
        shown.contains("✓ holds") && !shown.contains('\u{1b}'),
        "{shown}"
    );
}

#[test]
fn options_change_the_result() {
    let report = json(&[
        "spectrum",
        "--data",
        "karate",
        "--centrality",
        "core",
        "--extremes",
        "3",
    ]);
    assert_eq!(report["markov"]["largest"].as_array().unwrap().len(), 3);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("two.txt");
    std::fs::write(&file, "0 1\n2 3\n3 4\n4 2\n").unwrap();
    let path = file.to_str().unwrap();
    let whole = json(&["spectrum", "--data", path, "--centrality", "degree"]);
    assert_eq!(
        (&whole["num_nodes"], &whole["gap"]["laplacian"]),
        (&5.into(), &0.0.into())
    );
    let part = json(&[
        "spectrum",
        "--data",
        path,
        "--centrality",
        "degree",
        "--largest-component",
    ]);
    assert_eq!(part["num_nodes"], 3);
    assert!(near(&part["gap"]["laplacian"], 1.5), "a triangle's");
}
