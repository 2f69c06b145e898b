//! Tests graphs on disk: an opened graph equals the written one, a damaged folder is refused by the
//! name of the file, and imported text of any size gives the graph that loading it gives.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gnarl_data::disk::{self, FeatureType, ImportOptions};
use gnarl_data::{Dataset, load};
use gnarl_graph::{CsrMatrix, DenseMatrix, Features, Graph, Labels, Split};

fn quiet() -> impl FnMut(&str, u64, u64) {
    |_, _, _| ()
}

/// Returns a graph with weights, sparse or dense features, labels with a gap, names and two splits.
fn furnished(dense: bool) -> Graph {
    let edges = [(0, 1, 0.5), (1, 2, 2.0), (2, 4, -1.5), (0, 4, 3.0)];
    let values = DenseMatrix::new(
        5,
        3,
        (0..15)
            .map(|i| if i % 4 == 0 { 0.0 } else { i as f32 / 8.0 })
            .collect(),
    )
    .unwrap();
    let features = if dense {
        Features::Dense(values)
    } else {
        Features::Sparse(CsrMatrix::from_dense(&values))
    };
    let labels = Labels::new(vec![Some(0), None, Some(1), Some(1), Some(0)], 2).unwrap();
    let labels = labels.with_names(vec!["cat".into(), "dog".into()]).unwrap();
    let splits = vec![
        Split::new("first", vec![0], vec![2], vec![3, 4]).unwrap(),
        Split::new("second", vec![4, 3], vec![], vec![0]).unwrap(),
    ];
    Graph::from_weighted_edges(5, edges)
        .unwrap()
        .0
        .with_features(features)
        .unwrap()
        .with_labels(labels)
        .unwrap()
        .with_node_names(
            ["ada", "bob", "çelik", "dan", "eve"]
                .map(String::from)
                .to_vec(),
        )
        .unwrap()
        .with_splits(splits)
        .unwrap()
}

fn assert_same(a: &Graph, b: &Graph) {
    assert_eq!(a.offsets(), b.offsets());
    assert_eq!(a.targets(), b.targets());
    assert_eq!(a.weights(), b.weights());
    assert_eq!(a.features(), b.features());
    assert_eq!(a.labels(), b.labels());
    assert_eq!(a.node_names(), b.node_names());
    assert_eq!(a.splits(), b.splits());
}

#[test]
fn a_written_graph_is_read_back_completely() {
    let dir = tempfile::tempdir().unwrap();
    for (name, graph) in [
        ("dense", furnished(true)),
        ("sparse", furnished(false)),
        ("empty", Graph::empty(0).unwrap()),
        ("alone", Graph::empty(1).unwrap()),
    ] {
        let folder = dir.path().join(name);
        disk::write(&graph, &folder, &ImportOptions::default()).unwrap();
        let (opened, _) = disk::open(&folder).unwrap();
        assert_same(&graph, &opened);
        assert_eq!(opened.is_on_disk(), graph.num_edges() > 0, "{name}");
        // By its path it is a dataset like any other.
        let Dataset { content, .. } = load(folder.to_str().unwrap(), dir.path(), 0).unwrap();
        assert_eq!(content.task(), gnarl_data::Task::Node);
        let e = disk::write(&graph, &folder, &ImportOptions::default())
            .unwrap_err()
            .to_string();
        assert!(e.contains("is there already"), "{e}");
    }
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 4, "nothing else is left behind: {left:?}");
}

#[test]
fn features_in_fewer_bits_are_close_and_read_row_by_row() {
    let dir = tempfile::tempdir().unwrap();
    let graph = furnished(true);
    let exact = graph.features().unwrap().values().to_vec();
    for (kind, off) in [(FeatureType::F16, 1e-3), (FeatureType::U8, 2.0 / 255.0)] {
        let folder = dir.path().join(kind.to_string());
        disk::write(
            &graph,
            &folder,
            &ImportOptions {
                features: kind,
                ..Default::default()
            },
        )
        .unwrap();
        let (opened, _) = disk::open(&folder).unwrap();
        assert_eq!(opened.num_features(), Some(3));
        let some = opened.features_of(&[4, 1]).unwrap();
        for (row, u) in [4, 1].into_iter().enumerate() {
            for c in 0..3 {
                let (got, expected) = (some.values()[3 * row + c], exact[3 * u + c]);
                assert!(
                    (got - expected).abs() <= off,
                    "{kind}: {got} against {expected}"
                );
            }
        }
        assert_eq!(
            opened.features_of(&[0, 1, 2, 3, 4]).unwrap(),
            *opened.features().unwrap()
        );
    }
    // Whole numbers up to 255 are exact in a byte.
    let counts = Features::Dense(
        DenseMatrix::new(5, 2, (0..10).map(|i| (25 * i) as f32).collect()).unwrap(),
    );
    let graph = Graph::empty(5)
        .unwrap()
        .with_features(counts.clone())
        .unwrap();
    let folder = dir.path().join("counts");
    disk::write(
        &graph,
        &folder,
        &ImportOptions {
            features: FeatureType::U8,
            ..Default::default()
        },
    )
    .unwrap();
    assert_eq!(*disk::open(&folder).unwrap().0.features().unwrap(), counts);
    // Values that do not fit are refused, not rounded to infinity; sparse features have no packed
    // form.
    let large = Features::Dense(DenseMatrix::new(5, 1, vec![1e6; 5]).unwrap());
    let graph = Graph::empty(5).unwrap().with_features(large).unwrap();
    let half = ImportOptions {
        features: FeatureType::F16,
        ..Default::default()
    };
    let e = disk::write(&graph, &dir.path().join("large"), &half)
        .unwrap_err()
        .to_string();
    assert!(e.contains("1000000 does not fit f16"), "{e}");
    let e = disk::write(&furnished(false), &dir.path().join("s"), &half)
        .unwrap_err()
        .to_string();
    assert!(e.contains("these are sparse"), "{e}");
    assert!(!dir.path().join("large").exists() && !dir.path().join("s").exists());
}

fn flip(path: &Path, at: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at as usize] ^= 4;
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&bytes).unwrap();
}

fn written(dir: &Path) -> PathBuf {
    let folder = dir.join("graph");
    disk::write(&furnished(true), &folder, &ImportOptions::default()).unwrap();
    folder
}

#[test]
fn a_folder_with_a_bit_flipped_or_cut_short_is_refused_by_the_name_of_the_file() {
    let names: Vec<String> = {
        let dir = tempfile::tempdir().unwrap();
        let folder = written(dir.path());
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap());
        files.filter(|name| name.ends_with(".npy")).collect()
    };
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names {
        let size = {
            let dir = tempfile::tempdir().unwrap();
            fs::metadata(written(dir.path()).join(&name)).unwrap().len()
        };
        // Every byte of the numbers, and some of the header.
        for at in [0, 8, 20, 60].into_iter().chain(128..size) {
            let dir = tempfile::tempdir().unwrap();
            let folder = written(dir.path());
            flip(&folder.join(&name), at);
            let e = disk::open(&folder).unwrap_err().to_string();
            assert!(e.contains(&name), "byte {at}: {e}");
            let e = disk::verify(&folder).unwrap_err().to_string();
            assert!(e.contains(&name), "byte {at}: {e}");
        }
        let dir = tempfile::tempdir().unwrap();
        let folder = written(dir.path());
        let file = fs::OpenOptions::new()
            .write(true)
            .open(folder.join(&name))
            .unwrap();
        file.set_len(size - 1).unwrap();
        let e = disk::open(&folder).unwrap_err().to_string();
        assert!(e.contains(&name), "{e}");
        fs::remove_file(folder.join(&name)).unwrap();
        let e = disk::open(&folder).unwrap_err().to_string();
        assert!(e.contains(&name), "{e}");
    }
}

#[test]
fn a_description_with_any_bit_flipped_never_gives_another_graph() {
    let dir = tempfile::tempdir().unwrap();
    let folder = written(dir.path());
    let whole = fs::read(folder.join("graph.json")).unwrap();
    let graph = furnished(true);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(folder.join("graph.json"), &bytes).unwrap();
        if let Ok((opened, _)) = disk::open(&folder) {
            // What is no array may be called otherwise: a class, a split, what was dropped.
            assert_eq!(opened.targets(), graph.targets(), "byte {at}");
            assert_eq!(opened.features(), graph.features(), "byte {at}");
        }
    }
}

/// Returns the text of a graph with loops, duplicates and weights, larger than the memory it is
/// sorted in.
fn long_text(named: bool) -> String {
    let call = |u: u64| {
        if named {
            format!("user_{u}")
        } else {
            u.to_string()
        }
    };
    let mut text = String::from(if named {
        "source,target,weight\n"
    } else {
        "# made up\n"
    });
    let mut state = 7u64;
    for i in 0..20_000u64 {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let (u, v) = ((state >> 33) % 300, (state >> 13) % 300);
        text.push_str(&format!("{},{},{}\n", call(u), call(v), i % 9));
    }
    text
}

#[test]
fn an_import_in_little_memory_gives_what_loading_gives() {
    for named in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("own");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("edges.csv"), long_text(named)).unwrap();
        if named {
            fs::write(
                source.join("labels.csv"),
                "node,class\nuser_5,a\nuser_7,b\nnobody,a\n",
            )
            .unwrap();
            fs::write(
                source.join("splits.csv"),
                "node,part\nuser_5,train\nuser_7,test\n",
            )
            .unwrap();
        } else {
            let rows: String = (0..300).map(|u| format!("{u}.5,{}\n", u % 3)).collect();
            fs::write(source.join("features.csv"), rows).unwrap();
        }
        let loaded = load(source.to_str().unwrap(), dir.path(), 0).unwrap();
        for memory_bytes in [1 << 14, 1 << 30] {
            let out = dir.path().join(format!("out-{memory_bytes}"));
            let options = ImportOptions {
                memory_bytes,
                ..Default::default()
            };
            let report = disk::import(
                source.to_str().unwrap(),
                dir.path(),
                0,
                &out,
                &options,
                &mut quiet(),
            )
            .unwrap();
            assert_same(loaded.graph().unwrap(), &disk::open(&out).unwrap().0);
            assert_eq!(report.dropped, loaded.report);
            assert!(report.dropped.self_loops > 0 && report.dropped.duplicates > 0);
            assert!(report.dropped.conflicting_weights > 0);
        }
    }
}

#[test]
fn features_come_from_numpy_files_of_any_number_type() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("edges.txt"), "0 1\n1 2\n").unwrap();
    let npy = |descr: &str, shape: &str, bytes: &[u8]| {
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        header.push_str(&" ".repeat(117 - header.len()));
        let mut all = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        all.extend(header.bytes().chain([b'\n']));
        all.extend(bytes);
        all
    };
    let f8: Vec<u8> = (0..8)
        .flat_map(|i| (f64::from(i) / 4.0).to_le_bytes())
        .collect();
    let source = dir.path().join("edges.txt");
    let features_at = dir.path().join("x.npy");
    let options = ImportOptions {
        features_at: Some(features_at.clone()),
        ..Default::default()
    };
    let run = |out: &str| {
        disk::import(
            source.to_str().unwrap(),
            dir.path(),
            0,
            &dir.path().join(out),
            &options,
            &mut quiet(),
        )
    };
    fs::write(&features_at, npy("<f8", "(4, 2)", &f8)).unwrap();
    let report = run("a").unwrap();
    assert_eq!(
        (report.nodes, report.features),
        (4, Some(2)),
        "a row more than there are ids is a node without edges"
    );
    let opened = disk::open(&dir.path().join("a")).unwrap().0;
    assert_eq!(
        opened.features().unwrap().values(),
        [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
    );
    for (bytes, what) in [
        (
            npy("<f8", "(2, 2)", &f8[..32]),
            "2 rows, but there are 3 nodes",
        ),
        (npy("<f8", "(8,)", &f8), "a row for each node is expected"),
        (npy("<f8", "(9, 2)", &f8), "does not account for"),
        (
            npy("<f8", "(3, 1)", &[f64::NAN.to_le_bytes(); 3].concat()),
            "is not a finite number",
        ),
        (b"PK".to_vec(), "ends within its header"),
    ] {
        fs::write(&features_at, bytes).unwrap();
        let e = run("b").unwrap_err().to_string();
        assert!(e.contains("x.npy") && e.contains(what), "{e}");
        assert!(!dir.path().join("b").exists());
    }
}

#[test]
fn failed_imports_leave_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let long_line = "7".repeat(40 << 20);
    let far = format!("{}5,-1\n", "1,2\n".repeat(9_000_000));
    for (source, what) in [
        (at("junk.txt", "\u{1}\u{2}\u{3} \u{4}\n"), "is in no text"),
        (at("half.csv", "0,1\n2\n"), "line 2"),
        (at("far.csv", &far), "line 9000001: '-1' is not a node id"),
        (at("gap.csv", "0,4000000000\n"), "without large gaps"),
        (at("long.csv", &long_line), "longer than"),
        (at("quote.csv", "a,\"b\nc,d\n"), "quotation mark"),
        ("nowhere.csv".into(), "No such file"),
        ("mutga".into(), "unknown dataset"),
    ] {
        let out = dir.path().join("out");
        let e = disk::import(
            &source,
            dir.path(),
            0,
            &out,
            &ImportOptions::default(),
            &mut quiet(),
        )
        .unwrap_err();
        assert!(e.to_string().contains(what), "{e}");
        assert!(!e.to_string().contains('\n'), "{e}");
        assert!(!out.exists());
    }
    let hidden = fs::read_dir(dir.path()).unwrap().filter(|f| {
        f.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".gnarl")
    });
    assert_eq!(hidden.count(), 0, "temporary folders go with the failure");
}

#[test]
fn any_bytes_give_a_graph_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = written(dir.path());
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let parts = [
        read("graph.json"),
        read("offsets.npy"),
        read("neighbours.npy"),
    ];
    disk::fuzz_folder(&parts.join(&0));
    disk::fuzz_folder(b"");
    disk::fuzz_folder(
        br#"{"format":"gnarl-graph","version":1,"nodes":18446744073709551615,"edges":9}"#,
    );
}
