//! Tests the Geom-GCN loader on the real files, on a small dataset written here, and on malicious
//! files.

use crate::fuzz;

use std::cell::Cell;
use std::io::{Cursor, Write};
use std::path::Path;

use gnarl_data::geom_gcn;
use gnarl_graph::{BuildReport, Features, Graph};
use gnarl_testing::{data_dir, needs_data};

// ---- The real files. STATS.json was made with SciPy and NetworkX; lines and self-loops are
// counted in the files.

/// Name, nodes, lines of edges, undirected edges, self-loops, features, non-zeros, nodes per class.
type Facts = (
    &'static str,
    usize,
    u64,
    usize,
    u64,
    usize,
    usize,
    [usize; 5],
);

const FACTS: [Facts; 5] = [
    (
        "cornell",
        183,
        277,
        277,
        0,
        1703,
        17_240,
        [38, 16, 30, 82, 17],
    ),
    (
        "texas",
        183,
        325,
        279,
        16,
        1703,
        15_266,
        [33, 1, 18, 101, 30],
    ),
    (
        "wisconsin",
        251,
        515,
        450,
        16,
        1703,
        24_057,
        [10, 70, 118, 32, 21],
    ),
    (
        "chameleon",
        2277,
        36_101,
        31_371,
        50,
        2325,
        29_157,
        [456, 460, 453, 521, 387],
    ),
    (
        "squirrel",
        5201,
        217_073,
        198_353,
        140,
        2089,
        93_477,
        [1042, 1040, 1039, 1040, 1040],
    ),
];

needs_data!(
    fn real_files_reproduce_their_facts() {
        let data = data_dir();
        let data = data.join("geom-gcn");
        for (name, nodes, lines, edges, self_loops, num_features, nonzeros, class_counts) in FACTS {
            let (g, report) = geom_gcn::load(&data.join(name), &data.join("splits"), name).unwrap();
            assert_eq!((g.num_nodes(), g.num_edges()), (nodes, edges), "{name}");
            assert_eq!(
                (
                    report.edges_given,
                    report.self_loops,
                    report.self_loop_nodes
                ),
                (lines, self_loops, self_loops)
            );
            assert_eq!(
                report.duplicates,
                lines - self_loops - edges as u64,
                "{name}"
            );
            let features = g.features().unwrap();
            assert!(matches!(features, Features::Sparse(_)));
            assert_eq!(
                (features.num_cols(), features.num_nonzeros()),
                (num_features, nonzeros),
                "{name}"
            );
            assert_eq!(g.labels().unwrap().counts(), class_counts, "{name}");

            assert_eq!(g.splits().len(), 10, "{name}");
            for (k, split) in g.splits().iter().enumerate() {
                assert_eq!(split.name(), format!("geom-gcn-{k}"));
                let sizes = [split.train().len(), split.val().len(), split.test().len()];
                assert_eq!(sizes.iter().sum::<usize>(), nodes, "{name} {k}");
                for (size, share) in sizes.into_iter().zip([0.48, 0.32, 0.20]) {
                    let percent = 100.0 * size as f64 / nodes as f64;
                    assert!(
                        (percent - 100.0 * share).abs() < 1.0,
                        "{name} {k}: {percent} %"
                    );
                }
            }
            let trains: Vec<_> = g.splits().iter().map(|s| s.train()).collect();
            assert!(
                (1..10).all(|k| trains[k] != trains[k - 1]),
                "ten different splits of {name}"
            );
        }
    }
);

// ---- A small dataset: lines out of order, one self-loop, one duplicate, values that are not 0
// or 1.

const NODES: &str =
    "node_id\tfeature\tlabel\n2\t0,0,0\t1\r\n0\t1,0,0.5\t0\n\n1\t0,1,1\t2\n3\t0,0,-2\t1\n";
const EDGES: &str = "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n3\t1\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(nodes: &[u8], edges: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("out1_node_feature_label.txt"), nodes).unwrap();
        std::fs::write(dir.path().join("out1_graph_edges.txt"), edges).unwrap();
        Self(dir)
    }

    fn with_splits(self, splits: impl IntoIterator<Item = (usize, Vec<u8>)>) -> Self {
        for (k, bytes) in splits {
            std::fs::write(
                self.0.path().join(format!("small_split_0.6_0.2_{k}.npz")),
                bytes,
            )
            .unwrap();
        }
        self
    }

    fn load(&self) -> gnarl_graph::Result<(Graph, BuildReport)> {
        geom_gcn::load(self.0.path(), self.0.path(), "Small")
    }

    /// Returns the message, without the folder.
    fn message(&self) -> String {
        let message = self.load().unwrap_err().to_string();
        assert!(!message.contains('\n'), "one line: {message}");
        let dir = format!("{}{}", self.0.path().display(), std::path::MAIN_SEPARATOR);
        message
            .strip_prefix(&dir)
            .expect("the file is named")
            .to_string()
    }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [
        b"\x93NUMPY\x01\x00",
        &(header.len() as u16).to_le_bytes()[..],
        header.as_bytes(),
        data,
    ]
    .concat()
}

fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(
            format!("{name}.npy"),
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn masks(train: [u8; 4], val: [u8; 4], test: [u8; 4]) -> Vec<u8> {
    let member = |mask: [u8; 4]| npy("|u1", "(4,)", &mask);
    npz(&[
        ("train_mask", member(train)),
        ("val_mask", member(val)),
        ("test_mask", npy("|b1", "(4,)", &test)),
    ])
}

fn good_masks() -> Vec<u8> {
    masks([1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0])
}

#[test]
fn every_value_of_a_small_dataset_arrives() {
    let folder = Folder::new(NODES.as_bytes(), EDGES.as_bytes());
    let (g, report) = folder.load().unwrap();
    assert_eq!(g.edges().collect::<Vec<_>>(), [(0, 1), (1, 3)]);
    let expected = BuildReport {
        edges_given: 4,
        self_loops: 1,
        self_loop_nodes: 1,
        duplicates: 1,
        ..report
    };
    assert_eq!(report, expected);
    let features = g.features().unwrap();
    assert_eq!(
        features.to_dense().data(),
        [1.0, 0.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0]
    );
    assert_eq!(
        features.values().len(),
        5,
        "only what is not zero is stored"
    );
    assert_eq!(
        g.labels().unwrap().classes(),
        [Some(0), Some(2), Some(1), Some(1)]
    );
    assert!(g.splits().is_empty(), "no split files, no splits");

    let other = masks([0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]);
    let folder =
        folder.with_splits((0..10).map(|k| (k, if k == 3 { other.clone() } else { good_masks() })));
    let (g, _) = folder.load().unwrap();
    let split = g.split("geom-gcn-3").unwrap();
    assert_eq!(
        (split.train(), split.val(), split.test()),
        (&[1, 2][..], &[0][..], &[3][..])
    );
    let split = g.split("geom-gcn-9").unwrap();
    assert_eq!(
        (split.train(), split.val(), split.test()),
        (&[0, 3][..], &[1][..], &[2][..])
    );
}

// ---- Invalid or malicious files.

#[test]
fn absent_files_are_named() {
    for name in ["out1_node_feature_label.txt", "out1_graph_edges.txt"] {
        let folder = Folder::new(NODES.as_bytes(), EDGES.as_bytes());
        std::fs::remove_file(folder.0.path().join(name)).unwrap();
        assert!(folder.message().starts_with(&format!("{name}: ")));
    }
    let some = (0..10)
        .filter(|k| ![4, 7].contains(k))
        .map(|k| (k, good_masks()));
    let message = Folder::new(NODES.as_bytes(), EDGES.as_bytes())
        .with_splits(some)
        .message();
    assert_eq!(
        message,
        "small_split_0.6_0.2_4.npz: whole file: this split is missing though others are there; \
         fetch all ten, or remove them to load without"
    );
}

/// Files of nodes, and what the error says.
const WRONG_NODES: [(&str, &str); 13] = [
    (
        "",
        "line 1: the file is empty, a line that begins with 'node_id' is expected",
    ),
    (
        "0\t1\t0\n",
        "line 1: the header is missing, a line that begins with 'node_id'",
    ),
    (
        "node_id\n0\t1\t0\n2\t1\t0\n",
        "line 3: '2' is not a node id, a whole number from 0 to 1 is expected",
    ),
    (
        "node_id\n0\t1\t0\n-1\t1\t0\n",
        "line 3: '-1' is not a node id, a whole number from 0 to 1 is expected",
    ),
    (
        "node_id\n0\t1\t0\n99999999999999999999\t1\t0\n",
        "line 3: '99999999999999999999' is not a node id, a whole number from 0 to 1 is expected",
    ),
    (
        "node_id\n1\t1\t0\n\n1\t1\t0\n",
        "line 4: node 1 stands on line 2 already",
    ),
    (
        "node_id\n0\t1,0\t0\n1\t1\t0\n",
        "line 3: 1 features, the lines above have 2",
    ),
    (
        "node_id\n0\t1,NaN\t0\n",
        "line 2: 'NaN' is not a feature, a finite number is expected",
    ),
    (
        "node_id\n0\t1,1e40\t0\n",
        "line 2: '1e40' is not a feature, a finite number is expected",
    ),
    (
        "node_id\n0\t1,,0\t0\n",
        "line 2: '' is not a feature, a finite number is expected",
    ),
    (
        "node_id\n0\t1\tx\n",
        "line 2: 'x' is not a class, a whole number from 0 to 4294967294 is expected",
    ),
    (
        "node_id\n0\t1\n",
        "line 2: three fields separated by tabs are expected: id, features, class",
    ),
    (
        "node_id\n0\t1\t0\t0\n",
        "line 2: three fields separated by tabs are expected: id, features, class",
    ),
];

/// Files of edges between four nodes, and what the error says.
const WRONG_EDGES: [(&str, &str); 6] = [
    (
        "",
        "line 1: the file is empty, a line that begins with 'node_id' is expected",
    ),
    (
        "0\t1\n",
        "line 1: the header is missing, a line that begins with 'node_id'",
    ),
    (
        "node_id\n0\t4\n",
        "line 2: '4' is not a node id, a whole number from 0 to 3 is expected",
    ),
    (
        "node_id\n0\t1\n-1\t0\n",
        "line 3: '-1' is not a node id, a whole number from 0 to 3 is expected",
    ),
    ("node_id\n0\n", "line 2: two node ids are expected"),
    ("node_id\n0\t1\t2\n", "line 2: two node ids are expected"),
];

#[test]
fn errors_name_the_line() {
    for (lines, expected) in WRONG_NODES {
        let message = Folder::new(lines.as_bytes(), EDGES.as_bytes()).message();
        assert_eq!(message, format!("out1_node_feature_label.txt: {expected}"));
    }
    for (lines, expected) in WRONG_EDGES {
        let message = Folder::new(NODES.as_bytes(), lines.as_bytes()).message();
        assert_eq!(message, format!("out1_graph_edges.txt: {expected}"));
    }
    let message = Folder::new(b"node_id\n\xff", EDGES.as_bytes()).message();
    assert_eq!(
        message,
        "out1_node_feature_label.txt: line 2: byte 0xff is not UTF-8, a text file is expected"
    );
}

#[test]
fn a_huge_class_does_not_make_a_huge_table() {
    let folder = Folder::new(b"node_id\n0\t1\t4294967294\n1\t0\t7\n", b"node_id\n0\t1\n");
    let (g, _) = folder.load().unwrap();
    let labels = g.labels().unwrap();
    assert_eq!(
        (labels.num_classes(), labels.get(0), labels.name(1)),
        (2, Some(1), "4294967294".to_string())
    );
}

#[test]
fn wrong_masks_are_named() {
    // Invalid arrays themselves are tested with the npz reader.
    let train = |bytes: Vec<u8>| npz(&[("train_mask", bytes)]);
    for (bytes, expected) in [
        (
            masks([1, 1, 0, 0], [0, 1, 0, 0], [0; 4]),
            "masks: split geom-gcn-0: node or graph 1 is in it twice",
        ),
        (
            masks([1, 2, 0, 0], [0; 4], [0; 4]),
            "member train_mask: value 1 is 2, which does not fit here",
        ),
        (
            train(npy("|u1", "(3,)", &[1, 0, 0])),
            "member train_mask: shape [3], [4] is expected: one per node",
        ),
        (train(npy("|u1", "(4,)", &[0; 3])), "member train_mask: "),
        (train(Vec::new()), "member train_mask: "),
        (
            npz(&[("val_mask", npy("|u1", "(4,)", &[0; 4]))]),
            "member train_mask: ",
        ),
        (b"PK".to_vec(), ""),
        (Vec::new(), ""),
    ] {
        let files = (0..10).map(|k| (k, if k == 0 { bytes.clone() } else { good_masks() }));
        let message = Folder::new(NODES.as_bytes(), EDGES.as_bytes())
            .with_splits(files)
            .message();
        assert!(
            message.starts_with(&format!("small_split_0.6_0.2_0.npz: {expected}")),
            "{message}"
        );
    }
}

#[test]
fn every_truncated_split_is_an_error() {
    let bytes = good_masks();
    geom_gcn::fuzz_split(&bytes, 4).unwrap();
    for end in 0..bytes.len() {
        assert!(
            geom_gcn::fuzz_split(&bytes[..end], 4).is_err(),
            "{end} of {} bytes",
            bytes.len()
        );
    }
}

#[test]
fn truncated_text_is_an_error_or_a_smaller_graph() {
    for end in 0..NODES.len() {
        let _ = geom_gcn::fuzz_nodes(&NODES.as_bytes()[..end]);
    }
    // Without its last line the file names a node that is not there.
    let cut = NODES.len() - "3\t0,0,-2\t1\n".len();
    geom_gcn::fuzz_nodes(&NODES.as_bytes()[..cut]).unwrap();
    let message = Folder::new(&NODES.as_bytes()[..cut], EDGES.as_bytes()).message();
    assert!(
        message.starts_with("out1_graph_edges.txt: line 5: '3' is not a node id"),
        "{message}"
    );
}

#[test]
fn mutated_files_never_panic() {
    let nodes = count_refused(NODES.as_bytes(), |bytes| {
        geom_gcn::fuzz_nodes(bytes).is_err()
    });
    let edges = count_refused(EDGES.as_bytes(), |bytes| {
        geom_gcn::fuzz_edges(bytes).is_err()
    });
    let split = count_refused(&good_masks(), |bytes| {
        geom_gcn::fuzz_split(bytes, 4).is_err()
    });
    let refused = [nodes, edges, split];
    assert!(
        refused.iter().all(|r| (500..3000).contains(r)),
        "some must break, not all: {refused:?}"
    );
}

/// Returns the number of refused files among 3,000 damaged copies.
fn count_refused(good: &[u8], refuses: impl Fn(&[u8]) -> bool) -> usize {
    let refused = Cell::new(0);
    fuzz::mutations(&[good.to_vec()], 3000, |bytes| {
        refused.set(refused.get() + usize::from(refuses(bytes)))
    });
    refused.get()
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let nowhere = Path::new("nowhere");
    assert!(
        geom_gcn::load(nowhere, nowhere, "small")
            .unwrap_err()
            .to_string()
            .starts_with("nowhere")
    );
}
