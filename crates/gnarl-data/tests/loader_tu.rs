//! The TU loader: real sets against their published facts, a small set by hand, bad files.

use crate::fuzz;

use std::path::Path;

use gnarl_data::tu;
use gnarl_graph::{BuildReport, Features, GraphSet};
use gnarl_testing::{data_dir, needs_data};
use serde_json::json;

needs_data!(
    fn real_sets_have_the_published_facts() {
        let data = data_dir();
        let stats: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(data.join("STATS.json")).unwrap())
                .unwrap();
        for name in [
            "MUTAG",
            "PROTEINS",
            "IMDB-BINARY",
            "IMDB-MULTI",
            "NCI1",
            "DD",
        ] {
            let dir = data.join("tu");
            let (set, report, _) =
                tu::load(&dir.join(name), Some(&dir.join("splits")), name).unwrap();
            let fact = |key: &str| &stats[name][key];
            assert_eq!(set.len(), *fact("graphs"), "{name}");
            assert_eq!(set.num_nodes(), *fact("nodes"), "{name}");
            assert_eq!(
                set.num_edges() as f64 / set.len() as f64,
                *fact("mean_undirected_edges"),
                "{name}"
            );
            assert_eq!(set.labels().num_classes(), *fact("classes"), "{name}");
            let counts = set.labels().counts();
            let counts: serde_json::Map<String, serde_json::Value> = counts
                .iter()
                .enumerate()
                .map(|(c, &k)| (set.labels().name(c as u32), json!(k)))
                .collect();
            assert_eq!(json!(counts), *fact("class_counts"), "{name}");
            assert_eq!(json!(set.num_node_labels()), *fact("node_labels"), "{name}");
            let degrees = set
                .graphs()
                .iter()
                .flat_map(|g| (0..g.num_nodes() as u32).map(|u| g.degree(u)));
            assert_eq!(degrees.max().unwrap(), *fact("max_degree"), "{name}");
            assert!(report.edges_given >= 2 * set.num_edges() as u64, "{name}");
            for graph in set.graphs() {
                let dims = graph.features().map(|f| (f.num_cols(), f.num_nonzeros()));
                assert_eq!(
                    dims,
                    set.num_node_labels().map(|k| (k, graph.num_nodes())),
                    "{name}"
                );
            }
            let folds = if ["DD", "NCI1", "PROTEINS"].contains(&name) {
                10
            } else {
                0
            };
            assert_eq!(set.splits().len(), folds, "{name}");
            let mut tested: Vec<u32> = set
                .splits()
                .iter()
                .flat_map(|s| s.test().to_vec())
                .collect();
            tested.sort_unstable();
            if folds > 0 {
                assert_eq!(
                    tested,
                    (0..set.len() as u32).collect::<Vec<_>>(),
                    "{name}: folds test every graph once"
                );
                assert_eq!(set.splits()[3].name(), "errica-3");
            }
        }
    }
);

/// Three graphs: a path of three nodes labelled 5 9 5, an edge with a self-loop labelled 7 5, a
/// lone node labelled 9.
const SMALL: [(&str, &str); 4] = [
    ("T_A.txt", "1, 2\n2, 1\n2,3\n3 , 2\n4, 5\n5, 4\n5, 5\n"),
    ("T_graph_indicator.txt", "1\n1\n1\n2\n2\n3\n"),
    ("T_graph_labels.txt", "-1\n1\n-1\n"),
    ("T_node_labels.txt", "5\n9\n5\r\n7\n5\n9"),
];
const FOLDS: &str = r#"[{"test": [0], "model_selection": [{"train": [2], "validation": [1]}]},
 {"test": [1], "model_selection": [{"train": [0], "validation": [2]}]}]"#;

fn load(files: &[(&str, &str)]) -> gnarl_graph::Result<(GraphSet, BuildReport)> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    tu::load(dir.path(), Some(dir.path()), "T").map(|(set, report, _)| (set, report))
}

#[test]
fn a_small_set_by_hand() {
    let mut files = SMALL.to_vec();
    files.push(("T_splits.json", FOLDS));
    let (set, report) = load(&files).unwrap();
    assert_eq!(
        report,
        BuildReport {
            edges_given: 7,
            self_loops: 1,
            self_loop_nodes: 1,
            duplicates: 3,
            ..report
        }
    );
    let edges: Vec<Vec<_>> = set.graphs().iter().map(|g| g.edges().collect()).collect();
    assert_eq!(edges, [vec![(0, 1), (1, 2)], vec![(0, 1)], vec![]]);
    assert_eq!(set.labels().classes(), [0, 1, 0].map(Some));
    assert_eq!(set.labels().name(0), "-1");
    assert_eq!(set.num_node_labels(), Some(3));
    let features = |i: usize| set.graphs()[i].features().unwrap();
    assert!(matches!(features(0), Features::Sparse(_)));
    assert_eq!(
        features(0).to_dense().data(),
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(
        features(1).to_dense().data(),
        [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(features(2).to_dense().data(), [0.0, 0.0, 1.0]);
    let split = &set.splits()[1];
    assert_eq!(
        (split.name(), split.train(), split.val(), split.test()),
        ("errica-1", &[0][..], &[2][..], &[1][..])
    );
}

#[test]
fn nodes_may_be_listed_in_any_order() {
    let mut files = SMALL.to_vec();
    files[0].1 = "1, 4\n4, 1\n2, 3";
    files[1].1 = "2\n1\n1\n2\n3\n1\n";
    let (set, _) = load(&files).unwrap();
    let edges: Vec<Vec<_>> = set.graphs().iter().map(|g| g.edges().collect()).collect();
    assert_eq!(edges, [vec![(0, 1)], vec![(0, 1)], vec![]]);
    assert_eq!(
        set.graphs()[0].features().unwrap().to_dense().data(),
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    );
}

#[test]
fn labels_and_attributes_are_both_features() {
    let attributes = (
        "T_node_attributes.txt",
        "0.5, 1\n-2, 1e1\n0,0\n1,1\n2,2\n3,3\n",
    );
    let mut files = SMALL.to_vec();
    files.push(attributes);
    let (set, _) = load(&files).unwrap();
    assert_eq!(set.num_node_labels(), Some(3));
    let features = set.graphs()[0].features().unwrap().to_dense();
    let expected = [
        [1.0, 0.0, 0.0, 0.5, 1.0],
        [0.0, 0.0, 1.0, -2.0, 10.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(
        features.data(),
        expected.as_flattened(),
        "one-hot labels 5, 7 and 9, then the two attributes"
    );
    files.remove(3);
    let (set, _) = load(&files).unwrap();
    assert_eq!(set.num_node_labels(), None);
    assert_eq!(
        set.graphs()[0].features().unwrap().to_dense().data(),
        [0.5, 1.0, -2.0, 10.0, 0.0, 0.0]
    );
    assert!(set.splits().is_empty());
    files.pop();
    assert!(load(&files).unwrap().0.graphs()[0].features().is_none());
}

#[test]
fn errors_name_file_and_line() {
    let bad = |which: usize, text: &str| {
        let mut files = SMALL.to_vec();
        files[which].1 = text;
        let e = load(&files).unwrap_err().to_string();
        assert!(!e.contains('\n'), "{e}");
        e[e.find("T_").unwrap()..].to_string()
    };
    assert!(bad(0, "1, 2\n1, 7\n").ends_with(
        "T_A.txt: line 2: ' 7' is not a node id, a whole number from 1 to 6 is expected"
    ));
    assert!(bad(0, "1, 2\n0, 1\n").contains("line 2: '0' is not a node id"));
    assert!(bad(0, "1, 2\n-1, 1\n").contains("line 2: '-1' is not a node id"));
    assert!(bad(0, "1, 99999999999999999999").contains("is not a node id"));
    assert!(bad(0, "1 2").ends_with("T_A.txt: line 1: '1 2' is not an arc 'u, v'"));
    assert!(bad(0, "1, 2, 3").contains("' 2, 3' is not a node id"));
    assert!(
        bad(0, "3, 4")
            .ends_with("T_A.txt: line 1: node 3 of graph 1 is joined to node 4 of graph 2")
    );
    assert!(bad(1, "1\n1\n4\n").contains(
        "T_graph_indicator.txt: line 3: '4' is not a graph id, a whole number from 1 to 3"
    ));
    assert!(
        bad(1, "1\n1\n1\n2\n2\n")
            .contains("T_node_labels.txt: whole file: 6 lines, but the graph indicator lists 5")
    );
    assert!(bad(2, "1\nx\n1").ends_with("T_graph_labels.txt: line 2: 'x' is not a graph label"));
    assert!(bad(2, "1\n2\n").contains("T_graph_indicator.txt: line 6: '3' is not a graph id"));
    assert!(bad(2, "").contains("T_graph_indicator.txt: line 1: '1' where no id can stand"));
    assert!(bad(3, "1\n2\n").contains("2 lines, but the graph indicator lists 6 nodes"));
    assert!(bad(3, "1\n2\n3.5\n").contains("line 3: '3.5' is not a node label"));
    // A line after an empty one would belong to another graph or node.
    assert!(bad(1, "1\n\n1\n").contains("T_graph_indicator.txt: line 2: empty"));
    assert!(bad(2, "1\n2\n\n3\n").contains("T_graph_labels.txt: line 3: empty"));
    assert!(bad(3, "1\n2\n\n\n3\n").contains("T_node_labels.txt: line 3: empty"));
    for missing in 0..3 {
        let mut files = SMALL.to_vec();
        let (name, _) = files.remove(missing);
        assert!(load(&files).unwrap_err().to_string().contains(name));
    }
    let absent = tu::load(Path::new("no/such"), None, "T")
        .unwrap_err()
        .to_string();
    assert!(absent.contains("T_A.txt: No such file"), "{absent}");
}

#[test]
fn errors_of_attributes_and_folds_name_file_and_line() {
    let bad = |name: &'static str, text: &str| {
        let mut files = SMALL.to_vec();
        files.remove(3);
        files.push((name, text));
        let e = load(&files).unwrap_err().to_string();
        e[e.find("T_").unwrap()..].to_string()
    };
    let attributes = |text: &str| bad("T_node_attributes.txt", text);
    assert!(
        attributes("1,2\n3\n")
            .ends_with("T_node_attributes.txt: line 2: 1 attributes, but the lines before have 2")
    );
    assert!(attributes("\n1,2\n").contains("line 1: empty"));
    assert!(
        attributes("1,2\n3,nan\n").contains("line 2: 'nan' is not an attribute, a finite number")
    );
    assert!(attributes("1,2\n").contains("1 lines, but the graph indicator lists 6"));
    let folds = |text: &str| bad("T_full_splits.json", text);
    assert!(
        folds("[{\"test\": [0],\n")
            .starts_with("T_full_splits.json: line 2: not a list of folds: EOF")
    );
    assert!(
        folds("[{\"test\": [-1], \"model_selection\": []}]")
            .contains("line 1: not a list of folds: invalid value")
    );
    assert!(
        folds("[{\"test\": [0], \"model_selection\": []}]")
            .contains("fold 0: model_selection is empty")
    );
    let fold = |test: &str| {
        folds(&format!(
            "[{{\"test\": [{test}], \"model_selection\": [{{\"train\": [1], \"validation\": [2]}}]}}]"
        ))
    };
    assert!(
        fold("3").ends_with("fold 0: split errica-0: node or graph 3 is in it, but there are 3")
    );
    assert!(fold("1").ends_with("fold 0: split errica-0: node or graph 1 is in it twice"));
}

#[test]
fn damaged_bytes_never_panic() {
    let small: Vec<&str> = SMALL
        .iter()
        .map(|f| f.1)
        .chain(["0.5, 1\n2, 3\n", FOLDS])
        .collect();
    let attributes = [
        SMALL[0].1,
        SMALL[1].1,
        SMALL[2].1,
        "",
        "1,2\n1,2\n1,2\n1,2\n1,2\n1,2\n",
        FOLDS,
    ];
    let seeds = [
        small.join("\0").into_bytes(),
        attributes.join("\0").into_bytes(),
    ];
    fuzz::mutations(&seeds, 5000, tu::fuzz_tu);
}
