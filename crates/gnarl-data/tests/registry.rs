//! Every entry of the registry is complete, safe to download and, if the figures are present,
//! correct.

use std::collections::HashSet;
use std::path::{Component, Path};

use gnarl_data::registry::{self, DATASETS, Format, Protocol, Task, Unpack};
use gnarl_testing::{data_dir, needs_data};
use serde_json::{Value, json};

#[test]
fn the_thesis_datasets_are_all_there() {
    let node: Vec<&str> = DATASETS
        .iter()
        .filter(|e| e.task == Task::Node)
        .map(|e| e.name)
        .collect();
    let graph: Vec<&str> = DATASETS
        .iter()
        .filter(|e| e.task == Task::Graph)
        .map(|e| e.name)
        .collect();
    assert_eq!((node.len(), graph.len()), (19, 6), "{node:?} {graph:?}");
}

#[test]
fn names_are_unique() {
    let mut seen = HashSet::new();
    for name in registry::names() {
        assert!(
            seen.insert(name.to_lowercase().replace('_', "-")),
            "{name} stands twice"
        );
        assert!(
            !["karate", "sbbam", "csbm"].contains(&name),
            "{name} is generated or embedded"
        );
    }
}

#[test]
fn names_are_case_insensitive() {
    for (given, name) in [
        ("Cora", "cora"),
        ("CS", "ms_academic_cs"),
        ("Physics", "ms_academic_phy"),
        ("photo", "amazon_electronics_photo"),
        ("COMPUTERS", "amazon_electronics_computers"),
        ("CoraML", "cora_ml"),
        ("cora-ml", "cora_ml"),
        ("arxiv", "ogbn-arxiv"),
        ("mutag", "MUTAG"),
        ("imdb_binary", "IMDB-BINARY"),
    ] {
        assert_eq!(registry::find(given).unwrap().name, name);
    }
    let e = registry::find("siteseer").unwrap_err().to_string();
    assert_eq!(e, "unknown dataset 'siteseer'; did you mean citeseer?");
    assert!(registry::get("zzz").is_none());
}

#[test]
fn every_entry_is_complete() {
    for e in DATASETS {
        let c = e.citation;
        assert!(
            !c.authors.is_empty() && !c.title.is_empty() && !c.venue.is_empty(),
            "{}",
            e.name
        );
        assert!((1977..=2025).contains(&c.year), "{}: {}", e.name, c.year);
        assert!(c.to_string().ends_with(&format!(", {}", c.year)));
        assert!(
            !e.title.is_empty() && !e.licence.is_empty() && !e.files.is_empty(),
            "{}",
            e.name
        );
        assert!(
            e.expected.nodes > 0 && e.expected.classes >= 2,
            "{}",
            e.name
        );
        assert_eq!(
            e.expected.graphs.is_some(),
            e.task == Task::Graph,
            "{}",
            e.name
        );
        assert_eq!(
            matches!(e.protocol, Protocol::Folds(_)),
            e.task == Task::Graph,
            "{}",
            e.name
        );
        // Entries that need a conversion after the download have a note about it.
        let converted = matches!(e.format, Format::Linkx | Format::Facebook100);
        assert_eq!(
            e.note.is_some_and(|n| n.contains("mat_to_npz.py")),
            converted,
            "{}",
            e.name
        );
        // Only Amazon and Coauthor have values other than 0 and 1 cut down.
        let shchur = ["ms_academic", "amazon"]
            .iter()
            .any(|p| e.name.starts_with(p));
        assert_eq!(e.binarise, shchur, "{}", e.name);
    }
}

#[test]
fn downloads_are_safe() {
    for e in DATASETS {
        let mut paths = HashSet::new();
        for f in e.files {
            assert!(
                f.url.starts_with("https://") && !f.url.contains([' ', '?', '#']),
                "{}",
                f.url
            );
            assert!(paths.insert(f.path), "{}: {} stands twice", e.name, f.path);
            for path in f.provides() {
                let inside = Path::new(&path)
                    .components()
                    .all(|c| matches!(c, Component::Normal(_)));
                assert!(
                    inside && !path.contains('\\') && !path.ends_with(".part"),
                    "{path}"
                );
            }
            if let Some(sha) = f.sha256 {
                assert_eq!(sha.len(), 64, "{}", f.path);
                assert!(
                    sha.bytes()
                        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
                    "{sha}"
                );
            }
            match f.unpack {
                Some(Unpack::Zip { members }) => {
                    assert!(f.url.ends_with(".zip") && !members.is_empty())
                }
                None => assert_eq!(
                    f.url.rsplit('.').next(),
                    f.path.rsplit('.').next(),
                    "{}",
                    f.url
                ),
            }
        }
    }
}

#[test]
fn the_first_missing_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let missing = |name: &str| registry::find(name).unwrap().first_missing(dir.path());
    assert_eq!(missing("cora").as_deref(), Some("planetoid/ind.cora.x"));
    assert_eq!(
        missing("penn94").as_deref(),
        Some("linkx/penn94.npz"),
        "the converted file, not the download"
    );
    assert_eq!(missing("MUTAG").as_deref(), Some("tu/MUTAG/MUTAG_A.txt"));
    assert_eq!(
        missing("arxiv-year").as_deref(),
        Some("ogb/arxiv/raw/num-node-list.csv.gz")
    );
    let raw = dir.path().join("ogb/arxiv/raw");
    std::fs::create_dir_all(&raw).unwrap();
    std::fs::write(raw.join("num-node-list.csv"), "").unwrap();
    assert_eq!(
        missing("arxiv-year").as_deref(),
        Some("ogb/arxiv/raw/num-edge-list.csv.gz"),
        "uncompressed will do"
    );
    std::fs::create_dir_all(dir.path().join("npz")).unwrap();
    std::fs::write(dir.path().join("npz/polblogs.npz"), "").unwrap();
    assert_eq!(missing("polblogs"), None);
}

needs_data!(
    fn sizes_agree_with_the_reference_figures() {
        let dir = data_dir();
        let stats: Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join("STATS.json")).unwrap())
                .unwrap();
        for (name, facts) in stats.as_object().unwrap() {
            let entry = registry::find(name).unwrap();
            assert_eq!(entry.name, name);
            let e = entry.expected;
            assert_eq!(json!(e.nodes), facts["nodes"], "{name}");
            assert_eq!(json!(e.classes), facts["classes"], "{name}");
            match e.graphs {
                None => {
                    assert_eq!(
                        json!(e.undirected_edges),
                        facts["undirected_edges"],
                        "{name}"
                    );
                    assert_eq!(json!(e.features), facts["features"], "{name}");
                }
                Some(graphs) => {
                    assert_eq!(json!(graphs), facts["graphs"], "{name}");
                    assert_eq!(json!(e.features), facts["node_labels"], "{name}");
                    let mean = e.undirected_edges.unwrap() as f64 / graphs as f64;
                    assert!(
                        (mean - facts["mean_undirected_edges"].as_f64().unwrap()).abs() < 1e-9,
                        "{name}"
                    );
                }
            }
            assert_eq!(entry.first_missing(&dir), None, "{name}");
        }
        assert!(
            stats.as_object().unwrap().len() >= 19,
            "13 node datasets and 6 graph sets at least were compared"
        );
    }

    fn checksums_are_those_of_the_files() {
        use gnarl_data::download::{Downloader, Silent, State};
        let dir = data_dir();
        // The real files are only read: downloads are written elsewhere.
        let copy = tempfile::tempdir().unwrap();
        // PubMed's feature rows may have been rebuilt from a copy with fewer digits.
        let may_differ = ["x", "tx", "allx"].map(|part| format!("planetoid/ind.pubmed.{part}"));
        let mut verified = 0;
        for file in DATASETS.iter().flat_map(|e| e.files) {
            if file.unpack.is_none() && file.sha256.is_some() && dir.join(file.path).is_file() {
                let path = copy.path().join(file.path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::copy(dir.join(file.path), &path).unwrap();
                // A checksum that differs would start a download, which the loopback downloader
                // refuses.
                let outcome = match Downloader::loopback().fetch(&[*file], copy.path(), &Silent) {
                    Err(_) if may_differ.iter().any(|known| known == file.path) => continue,
                    outcome => outcome.unwrap().remove(0),
                };
                assert_eq!(
                    (outcome.state, outcome.verified),
                    (State::Present, true),
                    "{}",
                    file.path
                );
                verified += 1;
            }
        }
        assert!(verified >= 16, "{verified}");
    }
);
