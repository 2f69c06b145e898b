//! Tests a user's own archives: SciPy's layout byte by byte as `scipy.sparse.save_npz` writes it,
//! the layouts recognised by their members, and refused archives.

use crate::fuzz;
use crate::npy;

use std::path::Path;

use gnarl_data::{Dataset, edge_list, load, npz_writer, scipy};
use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph, Result};
use npy::{f4_matrix, f4s, i4s, i8s, npz_bytes, write_npz};

type Members = Vec<(&'static str, Vec<u8>)>;

/// Returns a word as NumPy stores `np.array(b"csr")`.
fn word(text: &str) -> Vec<u8> {
    npy::npy(&format!("|S{}", text.len()), false, "()", text.as_bytes())
}

fn load_archive(members: &[(&str, Vec<u8>)]) -> Result<Dataset> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.npz");
    write_npz(&path, members);
    load(path.to_str().unwrap(), Path::new("."), 0)
}

fn graph(members: &[(&str, Vec<u8>)]) -> Graph {
    load_archive(members).unwrap().graph().unwrap().clone()
}

/// Returns the part of the message after the file.
fn refusal(members: &[(&str, Vec<u8>)]) -> String {
    let e = load_archive(members).unwrap_err().to_string();
    assert!(!e.contains('\n'), "{e}");
    e[e.find("mine.npz: ").unwrap() + "mine.npz: ".len()..].to_string()
}

/// Returns the path 0-1-2 in three formats, one direction stored, 1-2 with weight 2.
fn path(format: &'static str) -> Members {
    let mut members = vec![
        ("format", word(format)),
        ("shape", i8s(&[3, 3])),
        ("data", f4s(&[1.0, 2.0])),
    ];
    members.extend(match format {
        "csr" => [("indices", i4s(&[1, 2])), ("indptr", i4s(&[0, 1, 2, 2]))],
        "csc" => [("indices", i4s(&[0, 1])), ("indptr", i4s(&[0, 0, 1, 2]))],
        _ => [("row", i4s(&[0, 1])), ("col", i4s(&[1, 2]))],
    });
    members
}

#[test]
fn every_format_gives_the_same_graph() {
    for format in ["csr", "csc", "coo"] {
        let graph = graph(&path(format));
        let edges: Vec<_> = graph.weighted_edges().collect();
        assert_eq!(
            (graph.num_nodes(), edges),
            (3, vec![(0, 1, 1.0), (1, 2, 2.0)]),
            "{format}"
        );
    }
    let mut unicode = path("csr");
    let letters: Vec<u8> = "csr"
        .chars()
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    unicode[0].1 = npy::npy("<U3", false, "()", &letters);
    assert_eq!(graph(&unicode).num_edges(), 2);
}

#[test]
fn explicit_zeros_unit_weights_and_duplicate_entries() {
    let with = |row: &[i32], col: &[i32], data: &[f32]| {
        graph(&[
            ("format", word("coo")),
            ("shape", i8s(&[4, 4])),
            ("row", i4s(row)),
            ("col", i4s(col)),
            ("data", f4s(data)),
        ])
    };
    let plain = with(&[0, 1, 2], &[1, 0, 3], &[1.0, 1.0, 0.0]);
    assert_eq!(
        (plain.num_nodes(), plain.num_edges(), plain.weights()),
        (4, 1, None)
    );
    let summed = with(&[0, 0, 1], &[1, 1, 2], &[1.0, 2.5, 1.0]);
    assert_eq!(
        summed.weighted_edges().collect::<Vec<_>>(),
        [(0, 1, 3.5), (1, 2, 1.0)]
    );
}

#[test]
fn layouts_are_recognised_by_their_members() {
    let adjacency = || {
        vec![
            ("adj_data", f4s(&[1.0, 1.0])),
            ("adj_indices", i4s(&[1, 0])),
            ("adj_indptr", i4s(&[0, 1, 2])),
            ("adj_shape", i8s(&[2, 2])),
        ]
    };
    let mut members = adjacency();
    members.extend([("labels", i8s(&[0, 1])), ("extra", i8s(&[7]))]);
    let loaded = load_archive(&members).unwrap();
    let graph = loaded.graph().unwrap();
    assert_eq!(
        (graph.num_edges(), graph.labels().unwrap().num_classes()),
        (1, 2)
    );
    let unused: Vec<&str> = loaded
        .sources
        .unused
        .iter()
        .map(|s| s.what.as_str())
        .collect();
    assert!(unused.contains(&"member extra not read"), "{unused:?}");

    let mut members = adjacency();
    members.push(("label", i8s(&[-1, 4])));
    let graph = self::graph(&members);
    assert_eq!(
        graph.labels().unwrap().get(0),
        None,
        "LINKX: -1 is unlabelled"
    );
}

#[test]
fn other_archives_are_refused_in_one_line() {
    let e = refusal(&[("x", i8s(&[1])), ("y", i8s(&[1]))]);
    assert!(
        e.starts_with("archive: members x, y: a graph has adj_indices"),
        "{e}"
    );
    let with = |member: &str, value: Vec<u8>| {
        let mut members = path("csr");
        members.iter_mut().find(|m| m.0 == member).unwrap().1 = value;
        refusal(&members)
    };
    assert_eq!(
        with("format", word("dia")),
        "member format: 'dia' is not read, save the matrix as csr, csc or coo"
    );
    assert_eq!(
        with("shape", i8s(&[3, 4])),
        "member shape: 3 rows and 4 columns, an adjacency must be square"
    );
    assert_eq!(
        with("indices", i4s(&[1, 3])),
        "member indices: value 1 is 3, which does not fit here"
    );
    assert!(
        with("indptr", i4s(&[0, 2, 1, 2]))
            .starts_with("member indptr: not the 4 bounds, rising from 0 to 2")
    );
    assert!(with("data", f4s(&[1.0])).starts_with("member data: 1 values for 2 rows"));
    assert_eq!(
        with("data", f4s(&[1.0, f32::NAN])),
        "member data: value 1 is NaN, which does not fit here"
    );
    let wide = npy::npy(
        "<f8",
        false,
        "(2,)",
        &[1.0f64, 1e39]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    );
    assert!(with("data", wide).starts_with("member data: value 1 is 1000000000000000"));
    assert_eq!(
        with("data", npy::npy("|S3", false, "(2,)", b"abcdef")),
        "member data: an array of text, numbers are expected"
    );
    let mut twice = path("coo");
    twice[2].1 = f4s(&[3e38, 3e38]);
    (twice[3].1, twice[4].1) = (i4s(&[0, 0]), i4s(&[1, 1]));
    assert!(refusal(&twice).starts_with("member data: row 0, column 1 sums to 6.0000000"));
    let mut huge = path("coo");
    huge[1].1 = i8s(&[4_000_000_000, 4_000_000_000]);
    assert!(
        refusal(&huge).starts_with("member shape: 4000000000 rows for 2 values"),
        "a shape does not cost the memory"
    );
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.npz");
    std::fs::write(&junk, "0,1\n").unwrap();
    let e = load(junk.to_str().unwrap(), Path::new("."), 0)
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("junk.npz: zip directory: not a NumPy zip archive"),
        "{e}"
    );
}

#[test]
fn folders_may_hold_archives() {
    let folder = |features: Members, edges: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("edges.csv"), edges).unwrap();
        write_npz(&dir.path().join("features.npz"), &features);
        edge_list::load(dir.path()).map(|(graph, ..)| graph)
    };
    let dense = || vec![("arr_0", f4_matrix(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))];
    let graph = folder(dense(), "0,1\n").unwrap();
    assert_eq!(graph.num_nodes(), 3, "a row is a node");
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
    let sparse = vec![
        ("format", word("csc")),
        ("shape", i8s(&[3, 2])),
        ("indices", i4s(&[2, 0])),
        ("indptr", i4s(&[0, 1, 2])),
        ("data", f4s(&[5.0, 7.0])),
    ];
    let graph = folder(sparse, "0,1\n").unwrap();
    assert!(matches!(graph.features(), Some(Features::Sparse(_))));
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [0.0, 7.0, 0.0, 0.0, 5.0, 0.0]
    );
    let fail = |features, edges| folder(features, edges).unwrap_err().to_string();
    assert!(fail(dense(), "0,9\n").ends_with(
        "features.npz: whole file: 3 rows, but there are 10 nodes, one row each is expected"
    ));
    assert!(
        fail(dense(), "a,b\n").contains(
            "features.npz: whole file: its rows stand in order, and nodes go by name here"
        )
    );
    assert!(
        fail(vec![("a", i8s(&[1])), ("b", i8s(&[1]))], "0,1\n")
            .ends_with("members: a, b: a SciPy matrix or one array is expected")
    );

    let dir = tempfile::tempdir().unwrap();
    write_npz(&dir.path().join("edges.npz"), &path("csr"));
    std::fs::write(dir.path().join("labels.csv"), "x\ny\nx\n").unwrap();
    let (graph, ..) = edge_list::load(dir.path()).unwrap();
    assert_eq!(
        (graph.num_edges(), graph.labels().unwrap().name(1)),
        (2, "y".into())
    );
}

#[test]
fn damaged_bytes_never_panic() {
    let seeds: Vec<Vec<u8>> = ["csr", "csc", "coo"]
        .map(|format| npz_bytes(&path(format), false))
        .to_vec();
    fuzz::mutations(&seeds, 3000, scipy::fuzz_scipy);
}

/// Archives written by gnarl and read by SciPy (`tests/golden/make_written.py`): gnarl writes equal
/// bytes from the arrays that SciPy read.
#[test]
fn written_archives_equal_scipys() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(golden.join("written.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let archives = found["archives"].as_array().unwrap();
    assert_eq!(archives.len(), 2);
    let dir = tempfile::tempdir().unwrap();
    for archive in archives {
        let (number, whole) = (
            |v: &serde_json::Value| v.as_f64().unwrap(),
            |v: &serde_json::Value| v.as_u64().unwrap(),
        );
        let edges = archive["edges"].as_array().unwrap().iter();
        let edges = edges.map(|edge| {
            (
                whole(&edge[0]) as u32,
                whole(&edge[1]) as u32,
                number(&edge[2]),
            )
        });
        let (nodes, columns) = (
            whole(&archive["nodes"]) as usize,
            whole(&archive["columns"]) as usize,
        );
        let values = archive["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| number(v) as f32)
            .collect();
        let dense = DenseMatrix::new(nodes, columns, values).unwrap();
        let features = match archive["kind"].as_str() {
            Some("sparse") => Features::Sparse(CsrMatrix::from_dense(&dense)),
            _ => Features::Dense(dense),
        };
        let graph = Graph::from_weighted_edges(nodes, edges)
            .unwrap()
            .0
            .with_features(features)
            .unwrap();
        let (file, name) = (
            dir.path().join("again.npz"),
            archive["file"].as_str().unwrap(),
        );
        npz_writer::save(&file, &graph).unwrap();
        assert_eq!(
            std::fs::read(&file).unwrap(),
            std::fs::read(golden.join("written").join(name)).unwrap(),
            "{name}"
        );
    }
}
