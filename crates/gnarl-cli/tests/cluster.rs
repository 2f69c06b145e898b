//! Tests `gnarl cluster`.

use crate::common;
use common::{json, refusal, text};
use gnarl_testing::{data_dir, needs_data};
use serde_json::Value;

fn mean(report: &Value, key: &str) -> f64 {
    report[key]["mean"].as_f64().unwrap()
}

/// Published AMI on SBBAM graphs: core 35.8 ± 4.7, degree 23.3 ± 3.4. Over 20 graphs the mean is
/// off by 4.2 and 3.0 at four standard errors, and the graphs are the same for both.
#[test]
fn core_numbers_recover_blocks_better_than_degrees() {
    let with = |centrality| {
        json(&[
            "cluster",
            "--data",
            "sbbam",
            "--graphs",
            "20",
            "--n-init",
            "20",
            "--centrality",
            centrality,
        ])
    };
    let (core, degree) = (with("core"), with("degree"));
    assert!((mean(&core, "ami") - 35.8).abs() < 4.2, "{}", core["ami"]);
    assert!(
        (mean(&degree, "ami") - 23.3).abs() < 3.0,
        "{}",
        degree["ami"]
    );
    assert_eq!(core["ami"]["runs"].as_array().unwrap().len(), 20);
    assert!(core["ari"]["std"].as_f64().unwrap() > 0.0);
    let config = &core["config"];
    assert_eq!(
        (&config["method"], &config["graphs"], &config["n_init"]),
        (&"cgso".into(), &20.into(), &20.into())
    );
    assert_eq!(
        (&config["e2"], &config["e3"], &config["clusters"]),
        (&(-0.5).into(), &(-0.5).into(), &3.into())
    );
    assert_eq!(
        (&config["centrality"], &config["attachment"]),
        (&serde_json::json!(["core"]), &"repeated".into())
    );
    // Blocks with all their edges are easier to separate.
    let distinct = json(&[
        "cluster",
        "--data",
        "sbbam",
        "--graphs",
        "20",
        "--n-init",
        "20",
        "--attachment",
        "distinct",
    ]);
    assert!(
        mean(&distinct, "ami") > mean(&core, "ami") + 8.0,
        "{}",
        distinct["ami"]
    );
}

#[test]
fn every_method_runs_on_karate() {
    // NetworkX and igraph: greedy modularity finds 3 communities, Walktrap 5
    // (tests/golden/communities.json).
    for (method, clusters) in [
        ("fast-greedy", 3.0),
        ("walktrap", 5.0),
        ("cgso", 4.0),
        ("node2vec", 4.0),
    ] {
        let report = json(&["cluster", "--data", "karate", "--method", method]);
        assert_eq!(mean(&report, "clusters"), clusters, "{method}");
        assert!(mean(&report, "ami") > 10.0, "{method}: {}", report["ami"]);
        assert_eq!(report["nodes"], 34);
    }
    // Karate's labels are the communities of largest modularity, which Louvain maximises.
    let louvain = json(&[
        "cluster", "--data", "karate", "--method", "louvain", "--runs", "3",
    ]);
    assert!(mean(&louvain, "ami") > 70.0, "{louvain}");
    assert_eq!(louvain["config"]["clusters"], Value::Null);
    let cut = json(&[
        "cluster",
        "--data",
        "karate",
        "--method",
        "walktrap",
        "--clusters",
        "2",
    ]);
    assert_eq!(mean(&cut, "clusters"), 2.0);
}

#[test]
fn clustering_depends_on_the_seed_and_not_on_threads() {
    for (method, data) in [
        ("cgso", "csbm"),
        ("louvain", "csbm"),
        ("node2vec", "karate"),
    ] {
        let with = |threads, seed| {
            let args = [
                "cluster",
                "--data",
                data,
                "--method",
                method,
                "--threads",
                threads,
                "--seed",
                seed,
            ];
            let report = json(&[&args[..], &["--truth", "core"]].concat());
            (report["ami"].clone(), report["ari"].clone())
        };
        assert_eq!(with("1", "3"), with("2", "3"), "{method}");
        if data == "csbm" {
            assert_ne!(with("1", "3"), with("1", "4"), "{method}");
        }
    }
}

#[test]
fn text_output_has_the_numbers_of_json() {
    let shown = text(&[
        "cluster", "--data", "sbbam", "--graphs", "2", "--n-init", "5",
    ]);
    let report = json(&[
        "cluster", "--data", "sbbam", "--graphs", "2", "--n-init", "5",
    ]);
    assert!(shown.starts_with("cgso on sbbam: 2 graphs of 300 nodes\nV from core, e2 = -0.5, e3 = -0.5, 3 clusters, 5 restarts of k-means\n"), "{shown}");
    let ami = format!(
        "{:.2} ± {:.2}",
        mean(&report, "ami"),
        report["ami"]["std"].as_f64().unwrap()
    );
    assert!(
        shown.contains("against the blocks") && shown.contains(&ami),
        "{ami} in {shown}"
    );
}

#[test]
fn grid_search_is_plotted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/folder");
    let grid = |extra: &[&str]| {
        let args = [
            "cluster",
            "--data",
            "karate",
            "--grid",
            "--step",
            "0.5",
            "--n-init",
            "10",
            "--out",
            out.to_str().unwrap(),
        ];
        json(&[&args[..], extra].concat())
    };
    let report = grid(&["--centrality", "degree,core"]);
    assert_eq!(report["grids"].as_array().unwrap().len(), 2);
    assert_eq!(report["grids"][1]["cells"].as_array().unwrap().len(), 49);
    // Karate's core numbers are 1, 2, 3 and 4.
    assert_eq!(
        (&report["config"]["clusters"], &report["config"]["truth"]),
        (&4.into(), &"core".into())
    );
    let names: Vec<&str> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 5);
    let csv = std::fs::read_to_string(names[0]).unwrap();
    assert_eq!(
        (csv.lines().count(), csv.lines().next()),
        (99, Some("centrality,e2,e3,ami,ami_std,ari,ari_std"))
    );
    let cell = &report["grids"][0]["cells"][15];
    let line = csv.lines().nth(16).unwrap();
    assert!(
        line.starts_with(&format!("degree,-0.5,-1,{}", cell["ami"])),
        "{line}"
    );
    let svg = std::fs::read_to_string(names[1]).unwrap();
    assert!(svg.contains("against its core numbers") && svg.contains("AMI, %"));
    assert!(std::fs::read(names[4]).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(
        std::fs::read_dir(&out).unwrap().count(),
        5,
        "nothing else is left"
    );
    // The cell equals the result of the plain command.
    let plain = json(&[
        "cluster",
        "--data",
        "karate",
        "--centrality",
        "degree",
        "--e2",
        "-0.5",
        "--e3",
        "-1",
        "--n-init",
        "10",
        "--truth",
        "core",
    ]);
    assert!(
        (mean(&plain, "ami") - cell["ami"].as_f64().unwrap()).abs() < 1e-9,
        "{plain}"
    );
}

#[test]
fn options_without_effect_are_refused() {
    let sbbam = |extra: &[&str]| refusal(&[&["cluster", "--data", "sbbam"], extra].concat());
    let karate = |extra: &[&str]| refusal(&[&["cluster", "--data", "karate"], extra].concat());
    let e = sbbam(&["--method", "louvain", "--centrality", "core"]);
    assert_eq!(
        e,
        "error: --centrality: does not apply: only cgso has a centrality"
    );
    let e = sbbam(&["--method", "walktrap", "--e2", "-1"]);
    assert_eq!(
        e,
        "error: --e2, --e3: does not apply: only cgso has exponents"
    );
    let e = sbbam(&["--method", "louvain", "--n-init", "3"]);
    assert_eq!(
        e,
        "error: --n-init: does not apply: only cgso and node2vec end with k-means"
    );
    let e = sbbam(&["--method", "louvain", "--clusters", "3"]);
    assert_eq!(
        e,
        "error: --clusters: does not apply: louvain determines the number of clusters"
    );
    let e = sbbam(&["--truth", "core"]);
    assert_eq!(
        e,
        "error: --truth: does not apply: the ground truth of sbbam is its blocks"
    );
    let e = karate(&["--graphs", "3"]);
    assert_eq!(
        e,
        "error: --graphs: does not apply: only --data sbbam samples several graphs, and --grid uses one"
    );
    let e = karate(&["--attachment", "distinct"]);
    assert_eq!(
        e,
        "error: --attachment: does not apply: only --data sbbam has blocks that grow"
    );
    let e = sbbam(&["--attachment", "distinkt"]);
    assert!(
        e.contains("unknown attachment 'distinkt'; did you mean distinct?"),
        "{e}"
    );
    let e = karate(&["--centrality", "core,degree"]);
    assert_eq!(
        e,
        "error: --centrality: does not apply: several centralities need --grid"
    );
    assert!(karate(&["--step", "0.5"]).contains("--grid"));
    assert!(karate(&["--grid", "--e2", "0.5"]).contains("--grid"));
    let e = karate(&["--grid", "--step", "0"]);
    assert!(
        e.contains("exponents from -1.5 to 1.5 by 0: between 1 and 1,000 of them are possible"),
        "{e}"
    );
    let e = karate(&["--method", "louvan"]);
    assert!(
        e.contains("unknown method 'louvan'; did you mean louvain?"),
        "{e}"
    );
    let e = karate(&["--truth", "cores"]);
    assert!(
        e.contains("unknown truth 'cores'; did you mean core?"),
        "{e}"
    );
    let e = karate(&["--clusters", "35"]);
    assert_eq!(
        e,
        "error: spectral clustering: 35 clusters of 34 nodes, from 1 to 34 are possible"
    );
    let e = karate(&["--e2", "1e9"]);
    assert!(e.contains("out of range"), "{e}");
}

#[test]
fn graphs_without_labels_or_clusters_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pair.txt");
    std::fs::write(&file, "0 1\n").unwrap();
    let path = file.to_str().unwrap();
    let e = refusal(&["cluster", "--data", path, "--truth", "labels"]);
    assert!(
        e.contains("has no labels; --truth core compares with core numbers"),
        "{e}"
    );
    let e = refusal(&["cluster", "--data", path]);
    assert!(
        e.contains("--clusters: ")
            && e.ends_with("cgso needs the number of clusters; name it with --clusters N"),
        "{e}"
    );
    let report = json(&["cluster", "--data", path, "--truth", "core"]);
    assert_eq!(mean(&report, "ami"), 100.0, "one core number, one cluster");
}

#[test]
fn memberships_are_reported_and_written() {
    // Two triangles joined by an edge, and a separate pair.
    let dir = tempfile::tempdir().unwrap();
    let (file, output) = (dir.path().join("own.csv"), dir.path().join("clusters.csv"));
    std::fs::write(&file, "x,y\na,b\nb,c\nc,a\nd,e\ne,f\nf,d\nc,d\n").unwrap();
    let args = [
        "cluster",
        "--data",
        file.to_str().unwrap(),
        "--method",
        "fast-greedy",
    ];
    let report = json(&[&args[..], &["--output", output.to_str().unwrap()]].concat());
    assert_eq!(
        (&report["ami"], &report["ari"], &report["config"]["truth"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        report["assignment"][2],
        serde_json::json!({"node": "a", "cluster": 1})
    );
    let csv = std::fs::read_to_string(&output).unwrap();
    assert_eq!(
        csv,
        "node,cluster\nx,0\ny,0\na,1\nb,1\nc,1\nd,2\ne,2\nf,2\n"
    );
    let shown = text(&args);
    assert!(shown.contains("no labels to compare with"), "{shown}");
    let ami = shown.lines().find(|line| line.contains("AMI")).unwrap();
    assert!(ami.trim_end().ends_with('-'), "{ami}");

    // Nodes keep the numbers of the whole graph.
    std::fs::write(&file, "0,1\n2,3\n3,4\n4,2\n").unwrap();
    let report = json(&[&args[..], &["--largest-component"]].concat());
    let nodes: Vec<&Value> = report["assignment"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["node"])
        .collect();
    assert_eq!(nodes, [2, 3, 4]);
    let karate = json(&["cluster", "--data", "karate", "--method", "louvain"]);
    assert_eq!(karate["assignment"].as_array().unwrap().len(), 34);
    let e = refusal(&[
        "cluster",
        "--data",
        "sbbam",
        "--output",
        output.to_str().unwrap(),
    ]);
    assert_eq!(
        e,
        "error: --output: does not apply: sbbam samples many graphs, whose nodes have no names"
    );
}

needs_data!(
    fn cora_by_core_numbers() {
        let data = data_dir();
        let args = [
            "cluster",
            "--data",
            "cora",
            "--truth",
            "core",
            "--largest-component",
            "--n-init",
            "20",
        ];
        let report = json(&[&args[..], &["--data-dir", data.to_str().unwrap()]].concat());
        assert_eq!(
            (&report["nodes"], &report["config"]["clusters"]),
            (&2485.into(), &4.into())
        );
    }
);
