//! Tests `gnarl data check` on the real datasets, against statistics computed with SciPy and
//! NetworkX (`STATS.json`).

use crate::common;
use common::{close, gnarl, json, one_object, refusal};
use gnarl_testing::{data_dir, needs_data};
use serde_json::Value;

/// Compares integers exactly, floats to 1e-9 of their size, and containers element by element.
fn same(ours: &Value, known: &Value) -> bool {
    match (ours, known) {
        (Value::Number(a), Value::Number(b)) if a.is_u64() && b.is_u64() => a == b,
        (Value::Number(a), Value::Number(b)) => close(a.as_f64().unwrap(), b.as_f64().unwrap()),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && b.iter()
                    .all(|(key, b)| a.get(key).is_some_and(|a| same(a, b)))
        }
        _ => ours == known,
    }
}

needs_data!(
    fn every_fact_of_every_dataset() {
        let dir = data_dir();
        let known: Value =
            serde_json::from_slice(&std::fs::read(dir.join("STATS.json")).unwrap()).unwrap();
        let known = known.as_object().unwrap();
        assert!(
            known.len() >= 19,
            "13 node datasets and 6 graph sets at least"
        );
        for (name, facts) in known {
            let report = json(&["data", "check", name, "--data-dir", dir.to_str().unwrap()]);
            assert_eq!(
                report["mismatches"].as_array().unwrap().len(),
                0,
                "{name}: {}",
                report["mismatches"]
            );
            assert!(
                !report["expected"].as_object().unwrap().is_empty(),
                "{name}: the registry expects something"
            );
            for (key, value) in facts.as_object().unwrap() {
                let ours = &report["stats"][key];
                assert!(same(ours, value), "{name}: {key} is {ours}, not {value}");
            }
        }
    }

    fn names_have_aliases_and_no_case() {
        let dir = data_dir();
        for (alias, name) in [
            ("PHOTO", "amazon_electronics_photo"),
            ("Cornell", "cornell"),
            ("mutag", "MUTAG"),
        ] {
            let report = json(&["data", "check", alias, "--data-dir", dir.to_str().unwrap()]);
            assert_eq!(report["name"], name);
        }
    }

    fn centrality_needs_one_graph() {
        let dir = data_dir();
        for command in [["centrality", "--kind"], ["spectrum", "--centrality"]] {
            let e = refusal(&[
                command[0],
                command[1],
                "core",
                "--data",
                "MUTAG",
                "--data-dir",
                dir.to_str().unwrap(),
            ]);
            assert!(
                e.contains("MUTAG is a set of 188 graphs") && e.contains("needs one graph"),
                "{e}"
            );
        }
    }
);

/// Copies one Geom-GCN dataset, so that a test may damage it.
fn copy_of_cornell(dir: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for folder in ["geom-gcn/cornell", "geom-gcn/splits"] {
        std::fs::create_dir_all(copy.path().join(folder)).unwrap();
        for file in std::fs::read_dir(dir.join(folder)).unwrap() {
            let file = file.unwrap();
            if folder.ends_with("cornell")
                || file.file_name().to_string_lossy().starts_with("cornell")
            {
                std::fs::copy(file.path(), copy.path().join(folder).join(file.file_name()))
                    .unwrap();
            }
        }
    }
    copy
}

needs_data!(
    fn files_that_contradict_the_registry_exit_with_2() {
        let dir = data_dir();
        let copy = copy_of_cornell(&dir);
        let edges = copy.path().join("geom-gcn/cornell/out1_graph_edges.txt");
        let lines = std::fs::read_to_string(&edges).unwrap();
        let without_last: Vec<&str> = lines.trim_end().rsplitn(2, '\n').collect();
        std::fs::write(&edges, format!("{}\n", without_last[1])).unwrap();
        let args = [
            "data",
            "check",
            "cornell",
            "--data-dir",
            copy.path().to_str().unwrap(),
        ];
        let run = gnarl(&[&args[..], &["--json"]].concat()).assert().code(2);
        let report = one_object(&String::from_utf8_lossy(&run.get_output().stdout));
        assert_eq!(report["mismatches"][0]["key"], "undirected_edges");
        assert_eq!(report["mismatches"][0]["expected"], 277);
        assert_eq!(report["mismatches"][0]["found"], 276);
        let run = gnarl(&args).assert().code(2);
        assert!(String::from_utf8_lossy(&run.get_output().stdout).contains('✗'));
        let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert_eq!(said.lines().count(), 1, "{said}");
        let expected = "error: cornell: undirected_edges: 277 expected, 276 found; \
                        the files are not the published ones";
        assert!(said.starts_with(expected), "{said}");
    }

    fn a_corrupted_file_is_named() {
        let dir = data_dir();
        let copy = copy_of_cornell(&dir);
        let edges = copy.path().join("geom-gcn/cornell/out1_graph_edges.txt");
        std::fs::write(&edges, "node_id\tnode_id\n0\tx\n").unwrap();
        let e = refusal(&[
            "data",
            "check",
            "cornell",
            "--data-dir",
            copy.path().to_str().unwrap(),
        ]);
        assert!(e.contains("out1_graph_edges.txt: line 2"), "{e}");
    }
);
