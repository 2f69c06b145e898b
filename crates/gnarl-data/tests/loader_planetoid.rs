//! Tests the Planetoid loader on the real files, on a small dataset written here, and on malicious
//! files.

use crate::fuzz;

use std::cell::Cell;
use std::path::Path;

use gnarl_data::planetoid;
use gnarl_graph::{BuildReport, Features, Graph};
use gnarl_testing::{data_dir, needs_data};

// ---- The real files. STATS.json was made with SciPy and NetworkX.

/// Expected values of one dataset in STATS.json, and of its split in README.md.
struct Facts {
    name: &'static str,
    nodes: usize,
    edges: usize,
    self_loops: u64,
    features: usize,
    nonzeros: usize,
    class_counts: &'static [usize],
    homophily: f64,
    unlabelled: usize,
    split: [usize; 3],
}

needs_data!(
    fn real_files_reproduce_their_facts() {
        let data = data_dir();
        let all = [
            Facts {
                name: "cora",
                nodes: 2708,
                edges: 5278,
                self_loops: 0,
                features: 1433,
                nonzeros: 49_216,
                class_counts: &[351, 217, 418, 818, 426, 298, 180],
                homophily: 0.8099658961727927,
                unlabelled: 0,
                split: [140, 500, 1000],
            },
            Facts {
                name: "citeseer",
                nodes: 3327,
                edges: 4552,
                self_loops: 124,
                features: 3703,
                nonzeros: 105_165,
                class_counts: &[264, 590, 668, 701, 596, 508],
                homophily: 0.7355008787346221,
                unlabelled: 15,
                split: [120, 500, 1000],
            },
        ];
        for facts in all {
            let (g, report) = planetoid::load(&data.join("planetoid"), facts.name).unwrap();
            assert_eq!(
                (g.num_nodes(), g.num_edges()),
                (facts.nodes, facts.edges),
                "{}",
                facts.name
            );
            assert_eq!(report.self_loop_nodes, facts.self_loops, "{}", facts.name);
            let features = g.features().unwrap();
            assert!(matches!(features, Features::Sparse(_)));
            assert_eq!(
                (features.num_cols(), features.num_nonzeros()),
                (facts.features, facts.nonzeros),
                "{}",
                facts.name
            );
            let labels = g.labels().unwrap();
            let unlabelled: Vec<u32> = (0..g.num_nodes() as u32)
                .filter(|&u| labels.get(u).is_none())
                .collect();
            assert_eq!(unlabelled.len(), facts.unlabelled, "{}", facts.name);
            // STATS.json takes the position of the largest entry, so it counts a row of zeros as
            // class 0.
            let mut counts = labels.counts();
            counts[0] += facts.unlabelled;
            assert_eq!(counts, facts.class_counts, "{}", facts.name);
            let class = |u| labels.get(u).unwrap_or(0);
            let same = g.edges().filter(|&(u, v)| class(u) == class(v)).count();
            assert!(
                (same as f64 / g.num_edges() as f64 - facts.homophily).abs() < 1e-12,
                "{}",
                facts.name
            );
            let split = g.split("public").unwrap();
            assert_eq!(
                [split.train().len(), split.val().len(), split.test().len()],
                facts.split,
                "{}",
                facts.name
            );
            assert_eq!(
                split.val()[0] as usize,
                facts.split[0],
                "validation follows training"
            );
            assert!(split.test().iter().all(|&u| labels.get(u).is_some()));
        }
    }

    fn citeseers_holes_are_nodes_with_edges_and_nothing_else() {
        let data = data_dir();
        let (g, report) = planetoid::load(&data.join("planetoid"), "CiteSeer").unwrap();
        let Features::Sparse(features) = g.features().unwrap() else {
            panic!("sparse features")
        };
        // Ids between 2312 and 3326 that are missing in test.index.
        let holes = [
            2407, 2489, 2553, 2682, 2781, 2953, 3042, 3063, 3212, 3214, 3250, 3292, 3305, 3306,
            3309,
        ];
        for u in holes {
            assert_eq!(
                (g.labels().unwrap().get(u), features.row(u as usize).0.len()),
                (None, 0)
            );
            assert!(g.degree(u) > 0);
        }
        assert_eq!(g.neighbours(3212), [1392, 2857]);
        // Its 124 self-loops each occur twice in the file.
        assert_eq!(
            (
                report.edges_given,
                report.self_loops,
                report.self_loop_nodes
            ),
            (9464, 248, 124)
        );
    }
);

// ---- A pickle writer, as small as the files need.

mod write {
    //! Opcodes of protocol 2, as Python 2 wrote them.

    pub fn string(text: &[u8]) -> Vec<u8> {
        let mut out = match u8::try_from(text.len()) {
            Ok(size) => vec![b'U', size],
            Err(_) => [&b"T"[..], &(text.len() as u32).to_le_bytes()].concat(),
        };
        out.extend_from_slice(text);
        out
    }

    pub fn int(i: i64) -> Vec<u8> {
        match i {
            0..256 => vec![b'K', i as u8],
            256..65536 => [&b"M"[..], &(i as u16).to_le_bytes()].concat(),
            _ if i32::try_from(i).is_ok() => [&b"J"[..], &(i as i32).to_le_bytes()].concat(),
            _ => [&b"\x8a\x08"[..], &i.to_le_bytes()].concat(),
        }
    }

    pub fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
        [&b"("[..], &items.concat(), b"t"].concat()
    }

    pub fn array(dtype: &str, shape: &[i64], data: &[u8]) -> Vec<u8> {
        let shape: Vec<Vec<u8>> = shape.iter().map(|&d| int(d)).collect();
        let dtype_state = tuple(&[
            int(3),
            string(b"<"),
            b"NNN".to_vec(),
            int(-1),
            int(-1),
            int(0),
        ]);
        let dtype = [
            &b"cnumpy\ndtype\n"[..],
            &string(dtype.as_bytes()),
            &int(0),
            &int(1),
            b"\x87R",
            &dtype_state,
            b"b",
        ]
        .concat();
        let state = tuple(&[int(1), tuple(&shape), dtype, b"\x89".to_vec(), string(data)]);
        [
            &b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"[..],
            &int(0),
            b"\x85",
            &string(b"b"),
            b"\x87R",
            &state,
            b"b",
        ]
        .concat()
    }

    pub fn i4(values: &[i32]) -> Vec<u8> {
        array(
            "i4",
            &[values.len() as i64],
            &values
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<_>>(),
        )
    }

    pub fn f4(values: &[f32]) -> Vec<u8> {
        array(
            "f4",
            &[values.len() as i64],
            &values
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<_>>(),
        )
    }

    /// Returns a CSR matrix from its parts, consistent or not.
    pub fn csr_of(shape: [i64; 2], indptr: Vec<u8>, indices: Vec<u8>, data: Vec<u8>) -> Vec<u8> {
        let shape = [int(shape[0]), int(shape[1]), b"\x86".to_vec()].concat();
        let state: Vec<u8> = [
            ("format", string(b"csr")),
            ("_shape", shape),
            ("indptr", indptr),
            ("indices", indices),
            ("data", data),
        ]
        .into_iter()
        .flat_map(|(key, value)| [string(key.as_bytes()), value].concat())
        .collect();
        pickle(
            &[
                &b"cscipy.sparse.csr\ncsr_matrix\n)\x81}("[..],
                &state,
                b"ub",
            ]
            .concat(),
        )
    }

    pub fn csr(num_cols: usize, rows: &[&[(i32, f32)]]) -> Vec<u8> {
        let mut indptr = vec![0];
        rows.iter()
            .for_each(|row| indptr.push(indptr[indptr.len() - 1] + row.len() as i32));
        let (indices, data): (Vec<i32>, Vec<f32>) = rows.concat().into_iter().unzip();
        csr_of(
            [rows.len() as i64, num_cols as i64],
            i4(&indptr),
            i4(&indices),
            f4(&data),
        )
    }

    pub fn one_hot(rows: &[&[i32]]) -> Vec<u8> {
        let data: Vec<u8> = rows.concat().iter().flat_map(|v| v.to_le_bytes()).collect();
        pickle(&array(
            "i4",
            &[rows.len() as i64, rows[0].len() as i64],
            &data,
        ))
    }

    pub fn lists(lists: &[(i64, &[i64])]) -> Vec<u8> {
        let items: Vec<u8> = lists
            .iter()
            .flat_map(|(key, list)| {
                let entries: Vec<u8> = list.iter().flat_map(|&v| int(v)).collect();
                [&int(*key)[..], b"](", &entries, b"e"].concat()
            })
            .collect();
        pickle(
            &[
                &b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R("[..],
                &items,
                b"u",
            ]
            .concat(),
        )
    }

    pub fn pickle(body: &[u8]) -> Vec<u8> {
        [b"\x80\x02", body, b"."].concat()
    }
}

// ---- A small dataset: four nodes in allx, two of them in x; test nodes 6 and 4 in that order, 5
// missing.

const PARTS: [&str; 8] = ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"];

fn small() -> Vec<Vec<u8>> {
    let all: [&[(i32, f32)]; 4] = [&[(0, 1.0)], &[(2, 0.5), (1, 2.0)], &[], &[(2, 4.0)]];
    let all_classes: [&[i32]; 4] = [&[0, 1], &[1, 0], &[0, 0], &[0, 1]];
    vec![
        write::csr(3, &all[..2]),
        write::one_hot(&all_classes[..2]),
        write::csr(3, &[&[(1, 6.0)], &[(0, 4.5)]]),
        write::one_hot(&[&[1, 0], &[0, 1]]),
        write::csr(3, &all),
        write::one_hot(&all_classes),
        write::lists(&[
            (0, &[1, 1, 0]),
            (1, &[0, 0]),
            (2, &[]),
            (3, &[6]),
            (4, &[6]),
            (5, &[0]),
            (6, &[3, 4]),
        ]),
        b"6\n4\n".to_vec(),
    ]
}

fn load(files: &[Vec<u8>]) -> gnarl_graph::Result<(Graph, BuildReport)> {
    let dir = tempfile::tempdir().unwrap();
    for (part, bytes) in PARTS.iter().zip(files) {
        std::fs::write(dir.path().join(format!("ind.small.{part}")), bytes).unwrap();
    }
    planetoid::load(dir.path(), "Small")
}

/// Returns the message of the small dataset with one file replaced, without the folder.
fn message_with(part: &str, bytes: Vec<u8>) -> String {
    let mut files = small();
    files[PARTS.iter().position(|p| *p == part).unwrap()] = bytes;
    let message = load(&files).unwrap_err().to_string();
    assert!(!message.contains('\n'), "one line: {message}");
    let start = message.find("ind.small.").expect("the file is named");
    message[start + "ind.small.".len()..].to_string()
}

#[test]
fn every_value_of_a_small_dataset_arrives() {
    let (g, report) = load(&small()).unwrap();
    assert_eq!(g.num_nodes(), 7);
    assert_eq!(
        g.edges().collect::<Vec<_>>(),
        [(0, 1), (0, 5), (3, 6), (4, 6)]
    );
    let expected = BuildReport {
        edges_given: 10,
        self_loops: 1,
        self_loop_nodes: 1,
        duplicates: 5,
        ..report
    };
    assert_eq!(report, expected);
    let features = g.features().unwrap().to_dense();
    #[rustfmt::skip]
    assert_eq!(features.data(), [
        1.0, 0.0, 0.0,  0.0, 2.0, 0.5,  0.0, 0.0, 0.0,  0.0, 0.0, 4.0,
        4.5, 0.0, 0.0,  0.0, 0.0, 0.0,  0.0, 6.0, 0.0,
    ]);
    let classes = g.labels().unwrap().classes();
    assert_eq!(
        classes,
        [Some(1), Some(0), None, Some(1), Some(1), None, Some(0)]
    );
    assert_eq!(g.labels().unwrap().num_classes(), 2);
    let split = g.split("public").unwrap();
    assert_eq!(
        (split.train(), split.val(), split.test()),
        (&[0, 1][..], &[2, 3][..], &[4, 6][..])
    );
}

/// An `array` of shape (1, 1) and value 1 as Python 3 with a recent NumPy writes it at protocol 2.
const PYTHON3_ARRAY: &[u8] =
    b"\x80\x02cnumpy._core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02\
    c_codecs\nencode\nq\x03X\x01\x00\x00\x00bq\x04X\x06\x00\x00\x00latin1q\x05\x86q\x06Rq\x07\x87q\x08Rq\t(K\x01K\x01\
    K\x01\x86q\ncnumpy\ndtype\nq\x0bX\x02\x00\x00\x00u1q\x0c\x89\x88\x87q\rRq\x0e(K\x03X\x01\x00\x00\x00|q\x0fNNN\
    J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x10b\x89h\x03X\x01\x00\x00\x00\x01q\x11h\x05\x86q\x12Rq\x13tq\x14b.";

#[test]
fn other_pickle_protocols_and_layouts_are_read() {
    planetoid::fuzz_pickle(PYTHON3_ARRAY).unwrap();
    // Contiguous columns and eight-byte floats: both test nodes are of class 0.
    let mut files = small();
    let rows: Vec<u8> = [1.0f64, 1.0, 0.0, 0.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    files[3] = write::pickle(&write::array("f8", &[2, 2], &rows));
    let at = files[3].iter().rposition(|&b| b == 0x89).unwrap();
    files[3][at] = 0x88;
    let classes = load(&files).unwrap().0.labels().unwrap().classes().to_vec();
    assert_eq!((classes[4], classes[6]), (Some(0), Some(0)));
    // Protocol 0 integers, stored values and dicts; SciPy's newer module.
    files[6] = b"(dp0\nI0\n(lp1\nI1\nasI1\n(lp2\nL0L\nasI5\n]s.".to_vec();
    let text = b"scipy.sparse.csr";
    let start = files[0]
        .windows(text.len())
        .position(|w| w == text)
        .unwrap();
    files[0].insert(start + b"scipy.sparse.".len(), b'_');
    let (g, _) = load(&files).unwrap();
    assert_eq!(g.edges().collect::<Vec<_>>(), [(0, 1)]);
}

// ---- Invalid or malicious files.

#[test]
fn absent_files_are_named() {
    for (i, part) in PARTS.iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        for (j, bytes) in small().iter().enumerate().filter(|(j, _)| *j != i) {
            std::fs::write(dir.path().join(format!("ind.small.{}", PARTS[j])), bytes).unwrap();
        }
        let message = planetoid::load(dir.path(), "small")
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(&format!("ind.small.{part}: ")),
            "{message}"
        );
    }
}

#[test]
fn classes_that_run_code_are_refused() {
    for (class, shown) in [
        ("os\nsystem", "os.system"),
        ("builtins\neval", "builtins.eval"),
        ("numpy\nload", "numpy.load"),
    ] {
        let bytes = [b"\x80\x02c", class.as_bytes(), b"\nU\x02ls\x85R."].concat();
        let expected = format!("x: byte 2: class {shown} is not allowed in a Planetoid file");
        assert_eq!(message_with("x", bytes), expected);
    }
    // Allowed classes do only what the files need.
    let message = message_with(
        "graph",
        write::pickle(b"ccollections\ndefaultdict\ncnumpy\ndtype\n\x85R"),
    );
    assert_eq!(
        message,
        "graph: byte 41: DefaultDict is called with arguments of another kind"
    );
    let message = message_with("graph", write::pickle(b"cnumpy\nndarray\n)\x81"));
    assert_eq!(
        message,
        "graph: byte 18: an object is made that is not an empty csr_matrix"
    );
}

#[test]
fn other_opcodes_are_refused() {
    for (bytes, expected) in [
        (
            &b"\x80\x04."[..],
            "byte 0: pickle protocol 4, at most 3 is read",
        ),
        (
            b"\x80\x02P1\n.",
            "byte 2: opcode 0x50 ('P') is not used by Planetoid files",
        ),
        (
            b"\x80\x02\xff",
            "byte 2: opcode 0xff ('ÿ') is not used by Planetoid files",
        ),
        (b"\x80\x02", "byte 2: the file ends before the pickle does"),
        (b"", "byte 0: the file ends before the pickle does"),
        (b"\x80\x02.", "byte 2: a value is used that is not there"),
        (
            b"\x80\x02K\x01K\x02.",
            "byte 6: the pickle ends with values left over",
        ),
        (
            b"\x80\x02}.}",
            "byte 3: 1 bytes after the end of the pickle",
        ),
        (
            b"\x80\x02K\x01.",
            "byte 4: the pickle holds neither a csr_matrix nor an array nor a dict",
        ),
        (
            b"\x80\x02h\x07.",
            "byte 2: value 7 is used before it is stored",
        ),
        (b"\x80\x02t.", "byte 2: a mark is used that is not there"),
        (
            b"\x80\x02K\x01(a.",
            "byte 5: a value is used that is not there",
        ),
        (
            b"\x80\x02K\x01K\x02a.",
            "byte 6: an item is appended to what is not a list",
        ),
        (b"\x80\x02}(K\x01u.", "byte 6: a key without a value"),
        (
            b"\x80\x02K\x01}b.",
            "byte 5: a state is set on what has none",
        ),
        (b"Ix\n.", "byte 0: 'x' is not an integer of 64 bits"),
        (
            b"\x80\x02\x8a\x09",
            "byte 2: an integer of 9 bytes, at most 8 are read",
        ),
        (b"cos", "byte 0: a line without an end"),
        (
            b"\x80\x02}(K\x01Nu.",
            "byte 8: the dict is not one from integers to lists",
        ),
        (
            b"\x80\x02}(K\x01]Nau.",
            "byte 10: the list of key 1 holds what is not an integer",
        ),
    ] {
        assert_eq!(
            message_with("graph", bytes.to_vec()),
            format!("graph: {expected}")
        );
    }
}

#[test]
fn huge_lengths_are_refused_before_anything_is_allocated() {
    let message = message_with("y", write::pickle(b"T\xff\xff\xff\x7fabc"));
    assert_eq!(
        message,
        "y: byte 2: 2147483647 more bytes are announced, but 4 are left"
    );
    let message = message_with(
        "y",
        write::pickle(&write::array("i4", &[1 << 31, 1 << 31], b"abcd")),
    );
    assert!(
        message.ends_with(
            "an array of shape [2147483648, 2147483648] and 4 bytes each, but 4 bytes of data"
        ),
        "{message}"
    );
    let message = message_with(
        "y",
        write::pickle(&write::array("i4", &[i64::MAX, i64::MAX], b"")),
    );
    assert!(message.contains("but 0 bytes of data"), "{message}");
    let message = message_with("y", write::pickle(&write::array("i4", &[1 << 40, 0], b"")));
    assert_eq!(
        message,
        "y: array: shape [1099511627776, 0], a row per node and a column per class are expected"
    );
    let message = message_with("y", write::pickle(&write::array("i4", &[-1, 2], b"")));
    assert!(
        message.ends_with("-1 is not the length of a dimension"),
        "{message}"
    );
    let wide = write::csr_of(
        [0, 1 << 40],
        write::i4(&[0]),
        write::i4(&[]),
        write::f4(&[]),
    );
    assert_eq!(
        message_with("x", wide),
        "x: csr_matrix: 1099511627776 columns, at most 16777216 are read"
    );
    let tall = write::csr_of(
        [i64::MAX, 3],
        write::i4(&[0]),
        write::i4(&[]),
        write::f4(&[]),
    );
    assert_eq!(
        message_with("x", tall),
        "x: csr_matrix: indptr has 1 entries for 9223372036854775807 rows"
    );
}

#[test]
fn expanding_pickles_are_refused() {
    // Nesting and cycles: a million brackets, and a list that contains itself.
    let deep = [
        &b"\x80\x02"[..],
        &b"]".repeat(1_000_000),
        &b"a".repeat(999_999),
        b".",
    ]
    .concat();
    assert!(message_with("graph", deep).ends_with("neither a csr_matrix nor an array nor a dict"));
    let cycle = write::pickle(b"]q\x00h\x00a");
    assert!(message_with("graph", cycle).ends_with("neither a csr_matrix nor an array nor a dict"));
    // One list of 1,000 under 1,000 keys would be a million neighbours.
    let keys: Vec<u8> = (0..1000)
        .flat_map(|k| [&write::int(k)[..], b"h\x00"].concat())
        .collect();
    let shared = [
        &b"}(K\x00]("[..],
        &b"K\x01".repeat(1000),
        b"eq\x00",
        &keys[4..],
        b"u",
    ]
    .concat();
    assert!(
        message_with("graph", write::pickle(&shared))
            .ends_with("the lists of the dict are longer than the file")
    );
    // One text encoded repeatedly.
    let again = b"h\x01h\x00h\x02\x86R".repeat(100);
    let text = [
        &b"(X\xe8\x03\x00\x00"[..],
        &b"a".repeat(1000),
        b"q\x00c_codecs\nencode\nq\x01U\x06latin1q\x02",
    ]
    .concat();
    let message = message_with(
        "graph",
        write::pickle(&[text, again, b"l".to_vec()].concat()),
    );
    assert!(
        message.ends_with("more text is encoded than the file holds"),
        "{message}"
    );
}

#[test]
fn inconsistent_matrices_are_refused() {
    let parts = |shape, indptr: &[i32], indices: &[i32], data: &[f32]| {
        write::csr_of(
            shape,
            write::i4(indptr),
            write::i4(indices),
            write::f4(data),
        )
    };
    for (bytes, expected) in [
        (
            parts([2, 3], &[0, 1], &[0], &[1.0]),
            "indptr has 2 entries for 2 rows",
        ),
        (
            parts([2, 3], &[0, 2, 1], &[0], &[1.0]),
            "offsets fall from 2 to 1 at row 1",
        ),
        (
            parts([2, 3], &[0, -1, 1], &[0], &[1.0]),
            "entry 1 of indptr is -1",
        ),
        (
            parts([2, 3], &[1, 1, 1], &[0], &[1.0]),
            "offsets must start with 0, not Some(1)",
        ),
        (
            parts([2, 3], &[0, 1, 1], &[3], &[1.0]),
            "entry 0 of indices is 3, but there are 3 columns",
        ),
        (
            parts([2, 3], &[0, 1, 1], &[-1], &[1.0]),
            "entry 0 of indices is -1, but there are 3 columns",
        ),
        (
            parts([2, 3], &[0, 1, 2], &[0, 0], &[1.0]),
            "offsets end at 2, with 2 column ids and 1 values",
        ),
        (
            parts([2, 3], &[0, 2, 2], &[1, 1], &[1.0, 1.0]),
            "row 0 has column 1 twice",
        ),
        (
            parts([2, 3], &[0, 1, 1], &[0], &[f32::NAN]),
            "entry 0 of data is NaN, a finite number is expected",
        ),
        (
            parts([2, 3], &[0, 1, 1], &[0], &[f32::INFINITY]),
            "entry 0 of data is inf, a finite number is expected",
        ),
        (
            write::csr_of([2, 3], write::f4(&[0.0; 3]), write::i4(&[]), write::f4(&[])),
            "indptr or indices are not integers",
        ),
        (
            write::csr_of([2, 3], write::int(1), write::i4(&[]), write::f4(&[])),
            "its indptr is not an array of one dimension",
        ),
        (
            write::pickle(b"cscipy.sparse.csr\ncsr_matrix\n)\x81}b"),
            "it has no shape",
        ),
    ] {
        assert_eq!(
            message_with("x", bytes),
            format!("x: csr_matrix: {expected}")
        );
    }
    let large = write::array("f8", &[1], &1e300f64.to_le_bytes());
    let bytes = write::csr_of([1, 1], write::i4(&[0, 1]), write::i4(&[0]), large);
    assert!(
        message_with("x", bytes).contains("entry 0 of data is 1"),
        "too large for f32"
    );
    let text = write::pickle(&write::array("S4", &[1], b"abcd"));
    assert!(message_with("x", text).ends_with("array elements of type 'S4', numbers are expected"));
    let mut big_endian = write::one_hot(&[&[1, 0], &[0, 1]]);
    let at = big_endian.iter().position(|&b| b == b'<').unwrap();
    big_endian[at] = b'>';
    assert!(message_with("y", big_endian).ends_with("array elements are not little-endian"));
}

#[test]
fn matrices_that_contradict_each_other_are_refused() {
    let one = write::one_hot(&[&[1, 0]]);
    for (part, bytes, expected) in [
        (
            "x",
            write::csr(4, &[&[], &[]]),
            "x: csr_matrix: 4 features, but allx has 3",
        ),
        (
            "tx",
            write::csr(2, &[&[], &[]]),
            "tx: csr_matrix: 2 features, but allx has 3",
        ),
        (
            "y",
            one.clone(),
            "y: array: 1 rows of classes for 2 rows of features",
        ),
        (
            "ally",
            one.clone(),
            "ally: array: 1 rows of classes for 4 rows of features",
        ),
        (
            "ty",
            write::one_hot(&[&[1, 0, 0], &[0, 1, 0]]),
            "ty: array: 3 classes, but ally has 2",
        ),
        (
            "ty",
            write::one_hot(&[&[1, 1], &[0, 1]]),
            "ty: row 0: column 1 is 1: not one-hot",
        ),
        (
            "ty",
            write::one_hot(&[&[1, 0], &[0, 2]]),
            "ty: row 1: column 1 is 2: not one-hot",
        ),
        ("x", one.clone(), "x: whole file: a csr_matrix is expected"),
        (
            "y",
            write::csr(3, &[&[], &[]]),
            "y: whole file: an array is expected",
        ),
        (
            "graph",
            one,
            "graph: whole file: a dict of lists is expected",
        ),
        (
            "y",
            write::pickle(&write::i4(&[1, 0])),
            "y: array: shape [2], a row per node and a column per class are expected",
        ),
    ] {
        assert_eq!(message_with(part, bytes), expected);
    }
    let mut files = small();
    files[0] = write::csr(3, &[&[][..]; 5]);
    files[1] = write::one_hot(&[&[1, 0][..]; 5]);
    let message = load(&files).unwrap_err().to_string();
    assert!(
        message.ends_with("ind.small.x: csr_matrix: 5 rows, but allx, which holds them too, has 4"),
        "{message}"
    );
}

#[test]
fn wrong_ids_of_test_nodes_are_refused() {
    for (text, expected) in [
        (
            &b"6\n"[..],
            "test.index: whole file: 1 ids, but tx has 2 rows",
        ),
        (
            b"6\n\n6\n",
            "test.index: line 3: id 6 stands on line 1 already",
        ),
        (
            b"6\n3\n",
            "test.index: line 2: '3' is not a test node's id, \
             a whole number from 4 to 4294967293 is expected",
        ),
        (
            b"6\n-4\n",
            "test.index: line 2: '-4' is not a test node's id, \
             a whole number from 4 to 4294967293 is expected",
        ),
        (
            b"6\n4294967293\n",
            "graph: whole file: 4294967288 ids are missing from test.index \
             below 4294967294, more than there are lists",
        ),
        (
            b"6\n\xff\n",
            "test.index: line 2: byte 0xff is not UTF-8, a text file is expected",
        ),
    ] {
        assert_eq!(message_with("test.index", text.to_vec()), expected);
    }
}

#[test]
fn wrong_lists_of_neighbours_are_refused() {
    for (lists, expected) in [
        (
            write::lists(&[(5, &[0]), (7, &[])]),
            "graph: node 7: there are 7 nodes by allx and test.index",
        ),
        (
            write::lists(&[(5, &[0]), (-1, &[])]),
            "graph: node -1: there are 7 nodes by allx and test.index",
        ),
        (
            write::lists(&[(5, &[1 << 40])]),
            "graph: node 5: neighbour 1099511627776 is out of range, \
             there are 7 nodes by allx and test.index",
        ),
        (
            write::lists(&[(5, &[]), (5, &[])]),
            "graph: node 5: it has two lists of neighbours",
        ),
        (
            write::lists(&[(4, &[])]),
            "graph: node 5: it stands in neither allx nor test.index nor graph",
        ),
    ] {
        assert_eq!(message_with("graph", lists), expected);
    }
}

#[test]
fn every_truncated_pickle_is_an_error() {
    for bytes in &small()[..7] {
        for end in 0..bytes.len() {
            let message = planetoid::fuzz_pickle(&bytes[..end])
                .unwrap_err()
                .to_string();
            assert!(message.starts_with("ind.fuzz: byte "), "{message}");
        }
    }
}

#[test]
fn mutated_files_never_panic() {
    let mut seeds = small();
    seeds.push(PYTHON3_ARRAY.to_vec());
    let index = seeds.remove(7);
    let refused = Cell::new(0);
    fuzz::mutations(&seeds, 8000, |bytes| {
        refused.set(refused.get() + usize::from(planetoid::fuzz_pickle(bytes).is_err()))
    });
    fuzz::mutations(&[index], 2000, |bytes| {
        drop(planetoid::fuzz_test_index(bytes))
    });
    assert!(
        (2000..8000).contains(&refused.get()),
        "mutations must break files, but not all of them: {refused:?}"
    );
}

#[test]
fn a_folder_in_place_of_a_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("ind.small.allx")).unwrap();
    let message = planetoid::load(dir.path(), "small")
        .unwrap_err()
        .to_string();
    assert!(message.contains("ind.small.allx"), "{message}");
    assert!(planetoid::load(Path::new("/nonexistent"), "small").is_err());
}
