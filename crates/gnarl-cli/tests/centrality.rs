//! Tests `gnarl centrality`. Expected numbers: NetworkX 3 on `karate_club_graph()` without its
//! weights.

use crate::common;
use common::{close, json, refusal, text};

fn karate(kind: &str) -> serde_json::Value {
    json(&["centrality", "--data", "karate", "--kind", kind])
}

fn max(report: &serde_json::Value) -> f64 {
    report["summary"]["max"].as_f64().unwrap()
}

#[test]
fn centralities_of_karate_agree_with_networkx() {
    let degree = karate("degree");
    assert_eq!(
        (&degree["nodes"], &degree["edges"]),
        (&34.into(), &78.into())
    );
    assert_eq!(degree["top"][0]["node"], 33);
    assert_eq!(max(&degree), 17.0);
    assert!(close(
        degree["summary"]["mean"].as_f64().unwrap(),
        2.0 * 78.0 / 34.0
    ));
    assert_eq!(degree["values"].as_array().unwrap().len(), 34);

    let core = karate("core");
    assert_eq!(
        (max(&core), core["summary"]["min"].as_f64()),
        (4.0, Some(1.0))
    );
    assert_eq!(core["values"][11], 1.0, "node 11 hangs on one edge");

    let pagerank = karate("pagerank");
    let top: Vec<u64> = pagerank["top"].as_array().unwrap()[..3]
        .iter()
        .map(|t| t["node"].as_u64().unwrap())
        .collect();
    assert_eq!(top, [33, 0, 32]);
    assert!(
        close(max(&pagerank), 0.1009191823325516),
        "{}",
        max(&pagerank)
    );

    assert_eq!(max(&karate("walks")), 69.0);
    assert_eq!(max(&karate("walks:3")), 654.0);
    assert_eq!(karate("walks:3")["kind"], "walks:3");
}

#[test]
fn text_output_has_a_summary_and_the_top_nodes() {
    let shown = text(&[
        "centrality",
        "--data",
        "karate",
        "--kind",
        "degree",
        "--top",
        "2",
    ]);
    assert!(
        shown.starts_with("degree of karate: 34 nodes, 78 edges\nmin 1   mean 4.588   max 17\n"),
        "{shown}"
    );
    let last: Vec<Vec<&str>> = shown
        .lines()
        .rev()
        .take(2)
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(last, [["0", "16"], ["33", "17"]]);
    assert!(!shown.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn every_value_is_written_to_csv() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("core.csv");
    let path = file.to_str().unwrap();
    let report = json(&[
        "centrality",
        "--data",
        "karate",
        "--kind",
        "core",
        "--output",
        path,
    ]);
    assert_eq!(report["output"], path);
    let csv = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[1], lines[12]),
        (35, "node,core", "0,4", "11,1")
    );
    assert_eq!(
        std::fs::read_dir(&dir).unwrap().count(),
        1,
        "nothing temporary stays"
    );

    let nowhere = dir.path().join("no/such/folder.csv");
    let e = refusal(&[
        "centrality",
        "--data",
        "karate",
        "--kind",
        "core",
        "--output",
        nowhere.to_str().unwrap(),
    ]);
    assert!(
        e.contains("--output: ") && e.contains("folder.csv: there is no folder"),
        "{e}"
    );
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let e = refusal(&[
        "centrality",
        "--data",
        "karate",
        "--kind",
        "core",
        "--output",
        folder.to_str().unwrap(),
    ]);
    assert!(e.contains(folder.to_str().unwrap()), "{e}");
    assert_eq!(
        std::fs::read_dir(&dir).unwrap().count(),
        2,
        "nothing temporary stays after an error either"
    );
}

#[test]
fn output_has_node_names() {
    let dir = tempfile::tempdir().unwrap();
    let (edges, output) = (dir.path().join("edges.csv"), dir.path().join("degree.csv"));
    std::fs::write(&edges, "user_183,\"Doe, Jo\"\n\"Doe, Jo\",x\n").unwrap();
    let args = [
        "centrality",
        "--data",
        edges.to_str().unwrap(),
        "--kind",
        "degree",
        "--output",
        output.to_str().unwrap(),
    ];
    assert_eq!(
        json(&args)["top"][0],
        serde_json::json!({"node": "Doe, Jo", "value": 2.0})
    );
    assert_eq!(
        std::fs::read_to_string(&output).unwrap(),
        "node,degree\nuser_183,1\n\"Doe, Jo\",2\nx,1\n"
    );
    assert!(text(&args[..5]).contains("user_183"));
}

#[test]
fn walks_that_overflow_are_an_error() {
    let e = refusal(&["centrality", "--data", "karate", "--kind", "walks:1000"]);
    assert!(
        e.contains("too many for a 64-bit float; use a shorter length"),
        "{e}"
    );
}

#[test]
fn centralities_of_generated_graphs() {
    for data in ["csbm", "sbbam"] {
        let report = json(&["centrality", "--data", data, "--kind", "pagerank"]);
        let sum: f64 = report["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-9, "{data}: {sum}");
    }
}
