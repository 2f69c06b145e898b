//! The Facebook100 and LINKX loaders: small archives by hand, every optional part, bad archives.

use crate::fuzz;
use crate::npy;

use gnarl_data::linkx;
use gnarl_graph::{BuildReport, Features, Graph, Result};
use npy::{f4_matrix, f4s, i4s, i8_matrix, i8s, npy, npz_bytes, write_npz};

type Members = Vec<(&'static str, Vec<u8>)>;

/// Returns four people; node 3 has no known gender.
fn facebook() -> Members {
    let info = [
        [1, 2, 10, 0, 5, 2006, 7],
        [2, 1, 20, 0, 5, 2007, 9],
        [1, 2, 10, 3, 0, 2006, 0],
        [6, 0, 20, 0, 5, 2008, 7],
    ];
    vec![
        ("edge_index", i8_matrix(5, &[0, 1, 1, 3, 2, 1, 0, 2, 3, 3])),
        ("local_info", i8_matrix(7, info.as_flattened())),
    ]
}

/// Returns three nodes in a path, one unlabelled.
fn plain() -> Members {
    vec![
        ("edge_index", i8_matrix(2, &[0, 1, 1, 2])),
        ("node_feat", f4_matrix(2, &[0.5, 1.0, -2.0, 0.0, 3.0, 4.0])),
        ("label", i8s(&[1, -1, 0])),
    ]
}

fn with(mut members: Members, name: &'static str, bytes: Vec<u8>) -> Members {
    members.retain(|m| m.0 != name);
    members.push((name, bytes));
    members
}

fn without(mut members: Members, name: &str) -> Members {
    members.retain(|m| m.0 != name);
    members
}

fn load(members: Members, facebook100: bool) -> Result<(Graph, BuildReport)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    write_npz(&path, &members);
    if facebook100 {
        linkx::load_facebook100(&path)
    } else {
        linkx::load(&path)
    }
}

fn message(result: Result<(Graph, BuildReport)>) -> String {
    let text = result.unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text[text.find("g.npz").unwrap()..].to_string()
}

#[test]
fn facebook_columns_become_features_and_classes() {
    let (graph, report) = load(facebook(), true).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(
        (report.edges_given, report.duplicates, report.self_loops),
        (5, 1, 1)
    );
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [Some(1), Some(0), Some(1), None]);
    assert_eq!((labels.num_classes(), labels.name(0)), (2, "1".into()));
    // Flags 1 2 6 | majors 10 20 | second majors 0 3 | dorms 0 5 | years 2006 2007 2008 | schools 0
    // 7 9.
    let features = graph.features().unwrap();
    assert!(matches!(features, Features::Sparse(_)));
    let expected = [
        [1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1],
        [1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0],
        [0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0],
    ];
    let expected: Vec<f32> = expected.as_flattened().iter().map(|&v| v as f32).collect();
    assert_eq!(features.num_cols(), 15);
    assert_eq!(features.to_dense().data(), expected);
    assert!(graph.splits().is_empty());
}

#[test]
fn linkx_arrays_in_every_layout() {
    let (graph, _) = load(plain(), false).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(graph.labels().unwrap().classes(), [Some(1), None, Some(0)]);
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [0.5, 1.0, -2.0, 0.0, 3.0, 4.0]
    );

    let mut sparse = without(without(plain(), "node_feat"), "edge_index");
    sparse.extend([
        ("adj_indices", i4s(&[1, 2])),
        ("adj_indptr", i4s(&[0, 1, 2, 2])),
        ("adj_shape", i8s(&[3, 3])),
        ("attr_data", f4s(&[2.0, 0.25])),
        ("attr_indices", i4s(&[4, 0])),
        ("attr_indptr", i4s(&[0, 1, 1, 2])),
        ("attr_shape", i8s(&[3, 5])),
    ]);
    let (graph, _) = load(sparse, false).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    let Some(Features::Sparse(f)) = graph.features() else {
        panic!("sparse features")
    };
    assert_eq!(
        (f.get(0, 4), f.get(2, 0), f.num_entries(), f.num_cols()),
        (Some(2.0), Some(0.25), 2, 5)
    );

    let (bare, _) = load(without(plain(), "node_feat"), false).unwrap();
    assert!(bare.features().is_none());
    let column = npy(
        "<i8",
        true,
        "(3, 1)",
        &[1i64, 0, 1]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    );
    assert_eq!(
        load(with(plain(), "label", column), false)
            .unwrap()
            .0
            .labels()
            .unwrap()
            .counts(),
        [1, 2]
    );
}

#[test]
fn splits_have_a_run_per_row() {
    let mut members = plain();
    members.extend([
        ("train_idx", i8_matrix(1, &[2, 0])),
        ("val_idx", i8_matrix(1, &[1, 1])),
        ("test_idx", i8_matrix(1, &[0, 2])),
    ]);
    let (graph, _) = load(members.clone(), false).unwrap();
    let split = graph.split("linkx-1").unwrap();
    assert_eq!(
        (split.train(), split.val(), split.test()),
        (&[0][..], &[1][..], &[2][..])
    );
    assert_eq!(graph.splits().len(), 2);
    let single = with(
        with(
            with(members.clone(), "train_idx", i8s(&[1])),
            "val_idx",
            i8s(&[0]),
        ),
        "test_idx",
        i8s(&[2]),
    );
    assert_eq!(
        load(single, false)
            .unwrap()
            .0
            .split("linkx-0")
            .unwrap()
            .train(),
        [1]
    );

    let bad = |name, bytes| message(load(with(members.clone(), name, bytes), false));
    assert!(
        bad("val_idx", i8_matrix(1, &[1])).ends_with("member val_idx: 1 runs, but train_idx has 2")
    );
    assert!(
        bad("val_idx", i8_matrix(1, &[2, 1]))
            .contains("split linkx-0: node or graph 2 is in it twice")
    );
    assert!(bad("val_idx", i8_matrix(1, &[1, 3])).contains("member val_idx: value 1 is 3"));
    assert!(
        bad("val_idx", npy("<i8", false, "(1000000000000, 0)", &[])).contains("at most 1000 runs")
    );
    assert!(
        message(load(without(members.clone(), "test_idx"), false))
            .ends_with("member test_idx: missing")
    );
}

#[test]
fn errors_name_the_array() {
    let bad = |name, bytes| message(load(with(plain(), name, bytes), false));
    assert_eq!(
        bad("edge_index", i8_matrix(2, &[0, 3, 1, 2])),
        "g.npz: member edge_index: value 1 is 3, which does not fit here"
    );
    assert!(
        bad("edge_index", i8_matrix(2, &[0, -1, 1, 2]))
            .contains("member edge_index: value 1 is -1")
    );
    assert!(
        bad("edge_index", i8_matrix(2, &[0, 1, 1, 2, 0, 0]))
            .ends_with("shape [3, 2], two rows of node ids are expected")
    );
    assert!(bad("edge_index", i8s(&[0, 1])).contains("shape [2], two rows"));
    assert!(
        bad(
            "node_feat",
            f4_matrix(2, &[1.0, f32::NAN, 0.0, 0.0, 0.0, 0.0])
        )
        .contains("member node_feat: value 1 is NaN")
    );
    assert!(
        bad("node_feat", f4_matrix(2, &[1.0; 4]))
            .contains("member node_feat: graph: features for 2 nodes")
    );
    assert!(bad("node_feat", f4s(&[1.0; 3])).contains("member node_feat: 1 dimensions"));
    assert!(
        bad(
            "node_feat",
            npy("<f4", false, "(18446744073709551615, 0)", &[])
        )
        .contains("member node_feat")
    );
    assert!(message(load(without(plain(), "label"), false)).ends_with("member label: missing"));
    assert!(
        message(load(without(plain(), "edge_index"), false))
            .contains("there is no adj_indptr either")
    );
    let mut short = without(plain(), "edge_index");
    short.extend([
        ("adj_indices", i4s(&[1])),
        ("adj_indptr", i4s(&[0, 1, 1])),
        ("adj_shape", i8s(&[2, 2])),
    ]);
    assert!(
        message(load(short, false)).ends_with("member adj_shape: 2 nodes, but 3 are described")
    );
    let info = message(load(
        with(facebook(), "local_info", i8_matrix(6, &[0; 12])),
        true,
    ));
    assert!(
        info.ends_with("member local_info: shape [2, 6], a row of 7 numbers per node is expected"),
        "{info}"
    );
    let object = npy("|O", false, "(3,)", b"\x80\x02]q\x00.");
    assert!(bad("label", object).contains("member label: an array of Python objects"));
}

#[test]
fn damaged_bytes_never_panic() {
    let mut full = plain();
    full.extend([
        ("train_idx", i8_matrix(1, &[2, 0])),
        ("val_idx", i8_matrix(1, &[1, 1])),
        ("test_idx", i8_matrix(1, &[0, 2])),
    ]);
    let seeds = [npz_bytes(&facebook(), false), npz_bytes(&full, false)];
    fuzz::mutations(&seeds, 3000, linkx::fuzz_linkx);
}
