//! Tests `gnarl data` without a network: list, info and check. Expected numbers: NetworkX 3 on
//! `karate_club_graph()`, with the four communities of greatest modularity as classes.

use crate::common;
use common::{close, gnarl, json, one_object, refusal, text};

#[test]
fn the_list_names_every_dataset_and_none_is_here() {
    let report = json(&["data", "list"]);
    let datasets = report["datasets"].as_array().unwrap();
    for name in [
        "citeseer",
        "pubmed",
        "squirrel",
        "amazon_electronics_photo",
        "ogbn-arxiv",
        "penn94",
        "PROTEINS",
    ] {
        let entry = datasets
            .iter()
            .find(|d| d["name"].as_str().unwrap().eq_ignore_ascii_case(name));
        let entry = entry.unwrap_or_else(|| panic!("{name} is not listed"));
        assert_eq!(
            (&entry["present"], &entry["embedded"]),
            (&false.into(), &false.into()),
            "{name}"
        );
    }
    for name in ["cora", "MUTAG"] {
        let entry = datasets.iter().find(|d| d["name"] == name).unwrap();
        assert_eq!(
            (&entry["present"], &entry["embedded"]),
            (&false.into(), &true.into()),
            "a copy is in the program"
        );
    }
    let karate = datasets
        .iter()
        .find(|d| d["name"] == "karate")
        .expect("embedded graphs are listed too");
    assert_eq!(karate["present"], true);

    let shown = text(&["data", "list"]);
    let cora = shown
        .lines()
        .find(|l| l.trim_start().starts_with("cora "))
        .unwrap();
    for part in ["2,708", "5,278", "1,433", "7"] {
        assert!(
            cora.split_whitespace().any(|word| word == part),
            "{part} in {cora}"
        );
    }
    assert!(cora.ends_with("built in"), "{cora}");
    let citeseer = shown
        .lines()
        .find(|l| l.trim_start().starts_with("citeseer "))
        .unwrap();
    assert!(citeseer.ends_with(" no"), "{citeseer}");
}

#[test]
fn info_gives_citation_counts_and_files() {
    let info = json(&["data", "info", "Cora"]);
    assert_eq!(info["name"], "cora");
    assert_eq!(info["expected"]["nodes"], 2708);
    assert_eq!(
        info["expected"]["undirected_edges"], 5278,
        "not the thesis' 5,208"
    );
    assert!(!info["files"].as_array().unwrap().is_empty());
    assert_eq!(
        (&info["present"], &info["embedded"]),
        (&false.into(), &true.into())
    );
    let shown = text(&["data", "info", "mutag"]);
    assert!(
        shown.contains("a copy is part of the program") && shown.contains("Debnath"),
        "{shown}"
    );
    let shown = text(&["data", "info", "photo"]);
    assert!(
        shown.contains("amazon_electronics_photo") && shown.contains("119,081"),
        "{shown}"
    );
}

#[test]
fn info_knows_the_graphs_that_need_no_files() {
    let info = json(&["data", "info", "Karate"]);
    assert_eq!(
        (&info["name"], &info["nodes"], &info["undirected_edges"]),
        (&"karate".into(), &34.into(), &78.into())
    );
    assert_eq!(
        (&info["present"], &info["splits"]),
        (&true.into(), &1.into())
    );
    let shown = text(&["data", "info", "karate"]);
    assert!(
        shown.contains("Zachary 1977")
            && shown.contains("34 nodes, 78 undirected edges, 34 features"),
        "{shown}"
    );
    for name in ["csbm", "sbbam"] {
        assert!(
            text(&["data", "info", name]).contains("sampled with the seed"),
            "{name}"
        );
    }
    assert!(refusal(&["data", "info", "karat"]).contains("did you mean karate"));
}

#[test]
fn check_gives_the_facts_of_karate() {
    let report = json(&["data", "check", "karate"]);
    let stats = &report["stats"];
    for (key, value) in [
        ("nodes", 34),
        ("undirected_edges", 78),
        ("classes", 4),
        ("isolated", 0),
        ("components", 1),
        ("largest_component", 34),
        ("max_degree", 17),
        ("max_core", 4),
        ("pagerank_argmax", 33),
    ] {
        assert_eq!(stats[key], value, "{key}");
    }
    assert!(close(
        stats["edge_homophily"].as_f64().unwrap(),
        57.0 / 78.0
    ));
    assert!(close(
        stats["mean_core"].as_f64().unwrap(),
        2.911764705882353
    ));
    assert!(close(
        stats["mean_walks_2"].as_f64().unwrap(),
        35.64705882352941
    ));
    assert!(close(
        stats["max_pagerank"].as_f64().unwrap(),
        0.1009191823325516
    ));
    assert_eq!(report["report"]["self_loops"], 0);
    assert_eq!(report["mismatches"].as_array().unwrap().len(), 0);
    assert!(text(&["data", "check", "karate"]).contains("0.7308"));
}

#[test]
fn several_datasets_are_checked_at_once() {
    let report = json(&["data", "check", "karate", "csbm"]);
    let names: Vec<&str> = report["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["karate", "csbm"]);
}

/// Writes a folder with a user's own graph: a triangle 0-1-2 with a tail 2-3, one repeated line and
/// one self-loop.
fn own_graph(edges: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("edges.csv"), edges).unwrap();
    std::fs::write(dir.path().join("labels.csv"), "0,a\n1,a\n2,b\n3,b\n").unwrap();
    dir
}

#[test]
fn a_graph_in_a_folder_is_checked_and_trained() {
    let dir = own_graph("0,1\n1,2\n2,0\n0,1\n2,3\n3,3\n");
    let path = dir.path().to_str().unwrap();
    let report = json(&["data", "check", path]);
    let stats = &report["stats"];
    assert_eq!(
        (
            &stats["nodes"],
            &stats["undirected_edges"],
            &stats["classes"]
        ),
        (&4.into(), &4.into(), &2.into())
    );
    assert_eq!(stats["edge_homophily"], 0.5);
    assert_eq!(
        (
            &report["report"]["duplicates"],
            &report["report"]["self_loops"]
        ),
        (&1.into(), &1.into())
    );

    let core = json(&["centrality", "--data", path, "--kind", "core"]);
    assert_eq!(core["values"], serde_json::json!([2.0, 2.0, 2.0, 1.0]));
    let spectrum = json(&["spectrum", "--data", path, "--centrality", "degree"]);
    assert_eq!(spectrum["num_nodes"], 4);
}

#[test]
fn check_says_what_of_own_files_was_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    std::fs::write(
        dir.path().join("edges.csv"),
        "source,target,weight,since\nada,bob,1,1999\nbob,cyd,2,2001\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("labels.csv"), "node,class\nada,x\n").unwrap();
    std::fs::write(dir.path().join("readme.md"), "mine").unwrap();
    let sources = &json(&["data", "check", path])["sources"];
    assert_eq!(
        sources["used"][0]["what"],
        "edges with weights, nodes by name"
    );
    assert_eq!(
        sources["used"][1]["what"],
        "1 classes, 1 of 3 nodes have one"
    );
    assert_eq!(
        sources["unused"][0]["what"],
        "column since not read: neither node nor weight"
    );
    assert_eq!(sources["unused"][1]["file"], "readme.md");
    let shown = text(&["data", "check", path]);
    assert!(
        shown.contains("used:\n  edges.csv: edges with weights")
            && shown.contains("not used:\n  edges.csv: column since")
    );
    assert!(json(&["data", "check", "karate"]).get("sources").is_none());
}

#[test]
fn a_wrong_line_in_own_files_is_named() {
    let dir = own_graph("0,1\n1,2,3,4\n");
    let e = refusal(&["data", "check", dir.path().to_str().unwrap()]);
    assert!(e.contains("edges.csv: line 2"), "{e}");
}

#[test]
fn refused_input_prints_no_json() {
    let dir = own_graph("0,1\n1,\n");
    let e = refusal(&["data", "check", dir.path().to_str().unwrap(), "--json"]);
    assert!(e.contains("edges.csv: line 2"), "{e}");
    let run = gnarl(&["data", "list", "--json"]).assert().success();
    one_object(&String::from_utf8_lossy(&run.get_output().stdout));
}
