//! Loading by name: every figure of the reference statistics is reproduced, and datasets that
//! cannot be loaded give a reason.

use std::path::Path;

use gnarl_data::{Content, facts, load, protocol_folds, protocol_splits};
use gnarl_graph::Error;
use gnarl_testing::{data_dir, needs_data};
use serde_json::Value;

/// Compares integers and keys exactly, other numbers to 1e-9 of their size.
fn assert_same(expected: &Value, found: &Value, at: &str) {
    match (expected, found) {
        (Value::Object(e), Value::Object(f)) => {
            assert_eq!(
                e.keys().collect::<Vec<_>>(),
                f.keys().collect::<Vec<_>>(),
                "{at}: keys and their order"
            );
            for (key, value) in e {
                assert_same(value, &f[key], &format!("{at}.{key}"));
            }
        }
        (Value::Array(e), Value::Array(f)) => {
            assert_eq!(e.len(), f.len(), "{at}");
            for (i, (e, f)) in e.iter().zip(f).enumerate() {
                assert_same(e, f, &format!("{at}[{i}]"));
            }
        }
        (Value::Number(e), Value::Number(f)) if e.is_f64() => {
            let (e, f) = (e.as_f64().unwrap(), f.as_f64().unwrap());
            assert!(
                (e - f).abs() <= 1e-9 * e.abs(),
                "{at}: {e} expected, {f} found"
            );
        }
        _ => assert_eq!(expected, found, "{at}"),
    }
}

needs_data!(
    fn statistics_agree_with_reference_tools() {
        let dir = data_dir();
        let stats: Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join("STATS.json")).unwrap())
                .unwrap();
        for (name, expected) in stats.as_object().unwrap() {
            let loaded = load(name, &dir, 0).unwrap();
            let mut found = match &loaded.content {
                Content::Graph(graph) => {
                    facts::node_facts(graph, &loaded.report, &loaded.name).unwrap()
                }
                Content::Graphs(set) => facts::graph_set_facts(set),
            };
            assert_eq!(
                facts::mismatches(loaded.entry.unwrap(), &found),
                [],
                "{name}"
            );
            // The one key that the reference lacks, and the one dataset that has it.
            let unlabelled = found.as_object_mut().unwrap().shift_remove("unlabelled");
            assert_eq!(
                unlabelled.and_then(|u| u.as_u64()),
                (name == "citeseer").then_some(15),
                "{name}"
            );
            assert_same(expected, &found, name);
        }
    }

    fn protocols_fit_the_real_datasets() {
        let dir = data_dir();
        for (name, nodes, sizes) in [
            ("cora", 2708, (140, 500, 1000)),
            ("citeseer", 3327, (120, 500, 1000)),
            ("photo", 7650, (160, 500, 1000)),
            ("polblogs", 1222, (122, 122, 978)),
            ("texas", 183, (87, 59, 37)),
        ] {
            let (graph, splits) = protocol_splits(&load(name, &dir, 0).unwrap(), 0, 1).unwrap();
            let s = &splits[0];
            assert_eq!(
                (
                    graph.num_nodes(),
                    (s.train().len(), s.val().len(), s.test().len())
                ),
                (nodes, sizes),
                "{name}"
            );
        }
        let mutag = load("mutag", &dir, 0).unwrap();
        let folds = protocol_folds(&mutag, 0, 10).unwrap();
        assert_eq!(folds.iter().map(|s| s.test().len()).sum::<usize>(), 188);
    }
);

#[test]
fn generated_datasets_load_without_files() {
    let nowhere = Path::new("no such folder");
    let karate = load("Karate", nowhere, 0).unwrap();
    assert_eq!(
        (karate.name.as_str(), karate.graph().unwrap().num_nodes()),
        ("karate", 34)
    );
    // Three blocks of 100 nodes.
    assert_eq!(
        load("sbbam", nowhere, 1)
            .unwrap()
            .graph()
            .unwrap()
            .num_nodes(),
        300
    );
    let edges = |seed| {
        load("csbm", nowhere, seed)
            .unwrap()
            .graph()
            .unwrap()
            .edges()
            .collect::<Vec<_>>()
    };
    assert_eq!(edges(1), edges(1));
    assert_ne!(edges(1), edges(2));
}

#[test]
fn a_path_is_read_as_an_edge_list() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.csv");
    std::fs::write(&file, "0,1\n1,2\n2,2\n").unwrap();
    let loaded = load(file.to_str().unwrap(), Path::new("."), 0).unwrap();
    assert_eq!(
        (
            loaded.graph().unwrap().num_edges(),
            loaded.report.self_loops
        ),
        (2, 1)
    );
    assert!(loaded.entry.is_none());
    assert!(loaded.graph_set().is_err());
    assert!(matches!(
        load("./no-such-file.csv", Path::new("."), 0),
        Err(Error::Io { .. })
    ));
}

#[test]
fn missing_datasets_say_how_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let e = load("Photo", dir.path(), 0).unwrap_err().to_string();
    assert!(
        e.starts_with("dataset amazon_electronics_photo is not in "),
        "{e}"
    );
    assert!(
        e.contains("npz/amazon_electronics_photo.npz is missing; run `gnarl data get amazon_electronics_photo`"),
        "{e}"
    );
    let genius = || load("genius", dir.path(), 0).unwrap_err().to_string();
    assert!(
        genius().contains("linkx/genius.npz is missing; run `gnarl data get genius`"),
        "{}",
        genius()
    );
    std::fs::create_dir(dir.path().join("linkx")).unwrap();
    std::fs::write(dir.path().join("linkx/genius.mat"), "").unwrap();
    assert!(
        genius().contains("genius.mat: linkx/genius.npz is missing: the download is a MATLAB file"),
        "{}",
        genius()
    );
    let e = load("karrate", dir.path(), 0).unwrap_err().to_string();
    assert_eq!(e, "unknown dataset 'karrate'; did you mean karate?");
}
