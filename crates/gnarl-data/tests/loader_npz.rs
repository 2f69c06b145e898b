//! The NumPy zip reader and the CSR loader: real files against their published facts, small files
//! by hand, bad files.

use crate::fuzz;
use crate::npy;

use std::path::Path;

use gnarl_data::npz::{self, Array, NpzArchive};
use gnarl_graph::{Features, Graph};
use gnarl_testing::{data_dir, needs_data};
use npy::{f4_matrix, f4s, i4s, i8s, npy, npz_bytes, write_npz};

needs_data!(
    fn real_files_have_the_published_facts() {
        let data = data_dir();
        let stats: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(data.join("STATS.json")).unwrap())
                .unwrap();
        let sets = [
            ("amazon_electronics_photo", true),
            ("amazon_electronics_computers", true),
            ("ms_academic_cs", true),
            ("ms_academic_phy", true),
            ("cora_ml", false),
            ("polblogs", false),
        ];
        for (name, binarise) in sets {
            let (graph, report) =
                npz::load(&data.join("npz").join(format!("{name}.npz")), binarise).unwrap();
            let fact = |key: &str| stats[name][key].clone();
            assert_eq!(graph.num_nodes(), fact("nodes"), "{name}");
            assert_eq!(graph.num_edges(), fact("undirected_edges"), "{name}");
            assert_eq!(
                serde_json::json!(report.self_loop_nodes),
                fact("self_loops_in_file"),
                "{name}"
            );
            assert_eq!(
                serde_json::json!(graph.features().map(Features::num_cols)),
                fact("features"),
                "{name}"
            );
            assert_eq!(
                serde_json::json!(graph.features().map(Features::num_nonzeros)),
                fact("feature_nonzeros"),
                "{name}"
            );
            assert_eq!(
                serde_json::json!(graph.labels().unwrap().counts()),
                fact("class_counts"),
                "{name}"
            );
            let ones = graph
                .features()
                .is_some_and(|f| f.values().iter().all(|&v| v == 1.0));
            assert_eq!(ones, binarise, "{name}");
            let max_degree = (0..graph.num_nodes() as u32)
                .map(|u| graph.degree(u))
                .max()
                .unwrap();
            assert_eq!(max_degree, fact("max_degree"), "{name}");
        }
    }
);

/// Returns four nodes, arcs 0→1, 1→0, 1→2, 3→3, the last a self-loop; features 2×3 with a stored
/// zero; labels 5, 7, 5, 7.
fn small() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("adj_data", f4s(&[1.0; 4])),
        ("adj_indices", i4s(&[1, 0, 2, 3])),
        ("adj_indptr", i4s(&[0, 1, 3, 3, 4])),
        ("adj_shape", i8s(&[4, 4])),
        ("attr_data", f4s(&[0.5, 2.0, 0.0, -3.0])),
        ("attr_indices", i4s(&[2, 0, 1, 1])),
        ("attr_indptr", i4s(&[0, 2, 3, 3, 4])),
        ("attr_shape", i8s(&[4, 3])),
        ("labels", i8s(&[5, 7, 5, 7])),
    ]
}

fn with(
    mut members: Vec<(&'static str, Vec<u8>)>,
    name: &'static str,
    bytes: Vec<u8>,
) -> Vec<(&'static str, Vec<u8>)> {
    members.retain(|m| m.0 != name);
    members.push((name, bytes));
    members
}

fn without(
    mut members: Vec<(&'static str, Vec<u8>)>,
    prefix: &str,
) -> Vec<(&'static str, Vec<u8>)> {
    members.retain(|m| !m.0.starts_with(prefix));
    members
}

fn load(members: &[(&str, Vec<u8>)], binarise: bool) -> gnarl_graph::Result<Graph> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    write_npz(&path, members);
    Ok(npz::load(&path, binarise)?.0)
}

/// Returns the message of the error, from the file's name on.
fn message<T>(result: gnarl_graph::Result<T>) -> String {
    let Err(e) = result else { panic!("loaded") };
    let text = e.to_string();
    assert!(!text.contains('\n'), "{text}");
    text[text
        .find("g.npz")
        .unwrap_or_else(|| panic!("no file name in {text}"))..]
        .to_string()
}

#[test]
fn a_small_file_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    write_npz(&path, &small());
    let (graph, report) = npz::load(&path, false).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(
        (report.edges_given, report.self_loops, report.duplicates),
        (4, 1, 1)
    );
    let Some(Features::Sparse(f)) = graph.features() else {
        panic!("sparse features")
    };
    assert_eq!(f.num_entries(), 4, "stored zeros stay");
    assert_eq!(
        f.to_dense_rows(),
        [[2.0, 0.0, 0.5], [0.0; 3], [0.0; 3], [0.0, -3.0, 0.0]]
    );
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [0, 1, 0, 1].map(Some));
    assert_eq!(labels.name(1), "7");

    let (graph, _) = npz::load(&path, true).unwrap();
    let Some(Features::Sparse(f)) = graph.features() else {
        panic!("sparse features")
    };
    assert_eq!(f.num_entries(), 3, "stored zeros go");
    assert_eq!(
        f.to_dense_rows(),
        [[1.0, 0.0, 1.0], [0.0; 3], [0.0; 3], [0.0, 1.0, 0.0]]
    );
}

trait Rows {
    fn to_dense_rows(&self) -> Vec<[f32; 3]>;
}
impl Rows for gnarl_graph::CsrMatrix<f32> {
    fn to_dense_rows(&self) -> Vec<[f32; 3]> {
        let get = |i, j| self.get(i, j).unwrap_or(0.0);
        (0..self.num_rows())
            .map(|i| [get(i, 0), get(i, 1), get(i, 2)])
            .collect()
    }
}

#[test]
fn optional_parts_and_other_spellings() {
    let bare = load(&without(without(small(), "attr"), "labels"), false).unwrap();
    assert!(bare.features().is_none() && bare.labels().is_none());
    let dense = with(
        without(small(), "attr"),
        "attr_matrix",
        f4_matrix(2, &[1.0, 0.0, 2.0, 0.5, 0.0, 0.0, 7.0, -1.0]),
    );
    let graph = load(&dense, false).unwrap();
    assert_eq!(graph.features().unwrap().to_dense().row(1), [2.0, 0.5]);
    let graph = load(&dense, true).unwrap();
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    );
    let plain = load(&with(small(), "labels", i8s(&[1, 0, 2, 1])), false).unwrap();
    assert_eq!(plain.labels().unwrap().classes(), [1, 0, 2, 1].map(Some));
    for middle in ["_matrix_", "_matrix."] {
        let renamed: Vec<(String, Vec<u8>)> = small()
            .into_iter()
            .map(|(name, bytes)| (name.replacen('_', middle, 1), bytes))
            .collect();
        let renamed: Vec<(&str, Vec<u8>)> = renamed
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.clone()))
            .collect();
        let graph = load(&renamed, false).unwrap();
        assert_eq!(
            (graph.num_edges(), graph.features().unwrap().num_nonzeros()),
            (2, 3)
        );
    }
}

fn open(members: &[(&str, Vec<u8>)], compressed: bool) -> NpzArchive {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    std::fs::write(&path, npz_bytes(members, compressed)).unwrap();
    NpzArchive::open(&path).unwrap()
}

/// Returns arrays of every type and byte order.
fn arrays_of_every_type() -> [(&'static str, Vec<u8>); 9] {
    let le = |v: &[i16]| v.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let be = |v: &[i16]| v.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>();
    let be8 = [0.5f64, -2.0]
        .iter()
        .flat_map(|v| v.to_be_bytes())
        .collect::<Vec<_>>();
    [
        ("little", npy("<i2", false, "(3,)", &le(&[1, -2, 300]))),
        ("big", npy(">i2", false, "(3,)", &be(&[1, -2, 300]))),
        ("bytes", npy("|u1", false, "(2, 2)", &[1, 2, 3, 255])),
        (
            "columns",
            npy("<i2", true, "(2, 3)", &le(&[1, 4, 2, 5, 3, 6])),
        ),
        ("doubles", npy(">f8", false, "(2,)", &be8)),
        ("mask", npy("|b1", false, "(3,)", &[1, 0, 1])),
        ("scalar", npy("<i2", false, "()", &le(&[9]))),
        ("empty", npy("<i8", false, "(0,)", &[])),
        (
            "unsigned",
            npy("<u8", false, "(1,)", &u64::MAX.to_le_bytes()),
        ),
    ]
}

#[test]
fn every_type_and_order_is_read() {
    for compressed in [false, true] {
        let mut a = open(&arrays_of_every_type(), compressed);
        assert_eq!(
            a.i64s("little").unwrap(),
            Array {
                shape: vec![3],
                data: vec![1, -2, 300]
            }
        );
        assert_eq!(a.i64s("big").unwrap().data, [1, -2, 300]);
        assert_eq!(
            a.u64s("bytes").unwrap(),
            Array {
                shape: vec![2, 2],
                data: vec![1, 2, 3, 255]
            }
        );
        assert_eq!(
            a.f32s("columns").unwrap(),
            Array {
                shape: vec![2, 3],
                data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
            }
        );
        assert_eq!(a.f32s("doubles").unwrap().data, [0.5, -2.0]);
        assert_eq!(a.bools("mask").unwrap().data, [true, false, true]);
        assert_eq!(a.i64s("mask").unwrap().data, [1, 0, 1]);
        assert_eq!(
            a.i64s("scalar").unwrap(),
            Array {
                shape: vec![],
                data: vec![9]
            }
        );
        assert_eq!(
            a.f32s("empty").unwrap(),
            Array {
                shape: vec![0],
                data: vec![]
            }
        );
        assert_eq!(a.u64s("unsigned").unwrap().data, [u64::MAX]);
        assert!(a.has("mask") && !a.has("nothing"));
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for compressed in [false, true] {
        let mut a = open(&arrays_of_every_type(), compressed);
        assert_eq!(
            message(a.u64s("little")),
            "g.npz: member little: value 1 is -2, which does not fit here"
        );
        assert_eq!(
            message(a.i64s("doubles")),
            "g.npz: member doubles: value 0 is 0.5, which does not fit here"
        );
        assert!(message(a.i64s("unsigned")).contains("value 0 is 18446744073709551615"));
        assert_eq!(
            message(a.bools("bytes")),
            "g.npz: member bytes: value 1 is 2, which does not fit here"
        );
        assert_eq!(
            message(a.bools("nothing")),
            "g.npz: member nothing: missing"
        );
    }
}

#[test]
fn arrays_longer_than_a_buffer_are_whole() {
    let long: Vec<i32> = (0..100_000).collect();
    let mut a = open(&[("long", i4s(&long))], true);
    assert!(a.i64s("long").unwrap().data.iter().copied().eq(0..100_000));
}

#[test]
fn errors_name_the_member() {
    let bad = |name, bytes| message(load(&with(small(), name, bytes), false));
    assert_eq!(
        message(load(&without(small(), "adj_indptr"), false)),
        "g.npz: member adj_indptr: missing, a graph needs adj_indices, adj_indptr and adj_shape"
    );
    assert_eq!(
        message(load(&without(small(), "adj_indices"), false)),
        "g.npz: member adj_indices: missing"
    );
    assert_eq!(
        bad("adj_indices", i4s(&[1, 0, 4, 3])),
        "g.npz: member adj_indices: value 2 is 4, which does not fit here"
    );
    assert!(bad("adj_indices", i4s(&[1, 0, -1, 3])).contains("value 2 is -1"));
    assert!(
        bad("adj_indices", i4s(&[1, 0, 2])).ends_with("runs from 0 to 4, but there are 3 indices")
    );
    assert!(
        bad("adj_indptr", i4s(&[0, 3, 1, 3, 4]))
            .ends_with("member adj_indptr: falls from 3 to 1 at row 1")
    );
    assert!(
        bad("adj_indptr", i4s(&[1, 1, 3, 3, 4]))
            .ends_with("runs from 1 to 4, but there are 4 indices")
    );
    assert!(
        bad("adj_shape", i8s(&[5, 5])).contains("member adj_indptr: 5 row boundaries, but 5 rows")
    );
    assert!(bad("adj_shape", i8s(&[-1, 4])).contains("member adj_shape: value 0 is -1"));
    assert!(
        bad("adj_shape", i8s(&[4]))
            .ends_with("member adj_shape: 1 numbers, rows and columns are expected")
    );
    assert!(
        bad("adj_shape", i8s(&[4, 7]))
            .ends_with("4 rows and 7 columns, an adjacency must be square")
    );
    assert!(bad("adj_shape", i8s(&[i64::MAX, i64::MAX])).contains("member adj_indptr"));
    assert!(
        bad("attr_shape", i8s(&[4, 1 << 40]))
            .ends_with("1099511627776 columns, at most 4294967295 fit")
    );
    assert!(
        bad("attr_data", f4s(&[0.5, 2.0])).ends_with("member attr_data: 2 values for 4 indices")
    );
    assert!(
        bad("attr_data", f4s(&[0.5, f32::NAN, 0.0, 1.0]))
            .contains("member attr_data: value 1 is NaN")
    );
    assert!(
        bad("attr_data", f4s(&[0.5, f32::INFINITY, 0.0, 1.0]))
            .contains("member attr_data: value 1 is inf")
    );
    assert!(bad("attr_indices", i4s(&[2, 2, 1, 1])).contains("member attr_indices"));
    assert!(
        bad("labels", i8s(&[0, 1]))
            .contains("member labels: graph: labels for 2 nodes, but the graph has 4")
    );
    assert!(bad("labels", f4s(&[0.0, 1.0, 0.5, 0.0])).contains("member labels: value 2 is 0.5"));
}

#[test]
fn hostile_members_are_refused() {
    let bad = |bytes: Vec<u8>| message(load(&with(small(), "labels", bytes), false));
    let data = [0u8; 32];
    assert!(
        bad(npy("|O", false, "(4,)", &data)).contains("member labels: an array of Python objects")
    );
    assert!(bad(npy("<c8", false, "(4,)", &data)).contains("type '<c8' is not read"));
    for shape in [
        "(18446744073709551615, 2)",
        "(4611686018427387905, 4)",
        "(3,)",
        "(5,)",
    ] {
        assert!(
            bad(npy("<i8", false, shape, &data)).contains("does not account for the 32 bytes"),
            "{shape}"
        );
    }
    assert!(bad(npy("<i8", false, "(-4,)", &data)).contains("shape (-4) is not one"));
    assert!(bad(npy("<i8", true, "(2, 2, 1)", &data)).contains("at most two are read"));
    assert!(bad(b"\x93NUMPY\x09\x00".to_vec()).contains("format version 9"));
    assert!(
        bad(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec())
            .contains("a header of 4294967295 bytes")
    );
    assert!(bad(b"\x93NUM".to_vec()).contains("ends within its header"));
    assert!(bad(b"PK\x03\x04 nothing".to_vec()).contains("not a NumPy array"));
    assert!(bad(vec![]).contains("ends within its header"));
}

#[test]
fn hostile_archives_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        message(NpzArchive::open(&path))
    };
    assert!(open(b"").contains("zip directory: not a NumPy zip archive"));
    assert!(open(b"not a zip at all").contains("zip directory: not a NumPy zip archive"));
    assert!(
        open(&npz_bytes(&[("../evil", i4s(&[1]))], false))
            .contains("member '../evil.npy': a name outside")
    );
    assert!(
        open(&npz_bytes(&[("/evil", i4s(&[1]))], false))
            .contains("member '/evil.npy': a name outside")
    );

    // Two members of one name: write two names of equal length, then rename one in place.
    let mut twice = npz_bytes(&[("aaaa", i4s(&[1])), ("bbbb", i4s(&[2]))], false);
    while let Some(at) = twice.windows(4).position(|w| w == b"bbbb") {
        twice[at..at + 4].copy_from_slice(b"aaaa");
    }
    assert!(open(&twice).ends_with("zip directory: two members have the same name"));

    assert!(
        message(NpzArchive::open(Path::new("no/such/g.npz"))).starts_with("g.npz: No such file")
    );
}

#[test]
fn damaged_archives_are_refused() {
    let whole = npz_bytes(&small(), true);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        message(npz::load(&path, false));
    }
    // A flipped bit in stored data, which only the checksum detects.
    let mut flipped = npz_bytes(&[("x", i4s(&[1, 2, 3]))], false);
    let at = flipped
        .windows(4)
        .position(|w| w == 2i32.to_le_bytes())
        .unwrap();
    flipped[at + 1] ^= 1;
    std::fs::write(&path, &flipped).unwrap();
    let text = message(NpzArchive::open(&path).unwrap().i64s("x"));
    assert!(
        text.contains("member x: cannot be decompressed (Invalid checksum"),
        "{text}"
    );
}

/// Sets bytes `at..at + 4` of every central and local header entry to a claimed size.
fn claim(bytes: &mut [u8], signature: &[u8], offset: usize, size: u32) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|w| w == signature) {
        at += found;
        bytes[at + offset..at + offset + 4].copy_from_slice(&size.to_le_bytes());
        at += 4;
    }
}

#[test]
fn decompression_bombs_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.npz");
    // A member that declares 4 GB and is smaller.
    let mut bytes = npz_bytes(&[("x", npy("<i4", false, "(1000000000,)", &[0; 64]))], true);
    claim(&mut bytes, b"PK\x01\x02", 24, 4_000_000_068);
    claim(&mut bytes, b"PK\x03\x04", 22, 4_000_000_068);
    std::fs::write(&path, &bytes).unwrap();
    let text = message(NpzArchive::open(&path).unwrap().i64s("x"));
    assert!(
        text.contains("more than 1000 times as many; if you trust the file"),
        "{text}"
    );
    // Below the limits, but the bytes are missing.
    let header = npy("<i4", false, "(15000000,)", &[]);
    let mut bytes = npz_bytes(&[("x", npy("<i4", false, "(15000000,)", &[0; 64]))], true);
    claim(
        &mut bytes,
        b"PK\x01\x02",
        24,
        60_000_000 + header.len() as u32,
    );
    claim(
        &mut bytes,
        b"PK\x03\x04",
        22,
        60_000_000 + header.len() as u32,
    );
    std::fs::write(&path, &bytes).unwrap();
    let text = message(NpzArchive::open(&path).unwrap().i64s("x"));
    assert!(text.contains("member x: cannot be decompressed"), "{text}");
    // Zeros that are present, and longer than declared.
    let mut bytes = npz_bytes(
        &[("x", npy("<i4", false, "(16,)", &vec![0; 80_000_000]))],
        true,
    );
    assert!(bytes.len() < 100_000);
    let claimed = 64 + npy("<i4", false, "(16,)", &[]).len() as u32;
    claim(&mut bytes, b"PK\x01\x02", 24, claimed);
    claim(&mut bytes, b"PK\x03\x04", 22, claimed);
    std::fs::write(&path, &bytes).unwrap();
    let text = message(NpzArchive::open(&path).unwrap().i64s("x"));
    assert!(text.contains("member x: cannot be decompressed"), "{text}");
}

#[test]
fn damaged_bytes_never_panic() {
    let seeds = [
        npz_bytes(&small(), false),
        npz_bytes(&small(), true),
        i8s(&[1, 2, 3]),
    ];
    fuzz::mutations(&seeds, 3000, npz::fuzz_npz);
}
