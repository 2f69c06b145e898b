//! The OGB loader: a small folder by hand, packed and plain, bad folders.

use crate::fuzz;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use gnarl_data::ogb;
use gnarl_graph::{BuildReport, Graph, Result};

/// Five papers.
const SMALL: [(&str, &str); 9] = [
    ("raw/num-node-list.csv", "5\n"),
    ("raw/num-edge-list.csv", "4\n"),
    ("raw/edge.csv", "0,1\n1,2\n2,1\n4,4\n"),
    ("raw/node-label.csv", "3\n0\nnan\n3\n1\n"),
    ("raw/node_year.csv", "2010\n2012\n2014\n2016\n2018\n"),
    ("raw/node-feat.csv", "0.5,-1\n1e-3,2\n0,0\n3,4\n5,6\n"),
    ("split/time/train.csv", "1\n0\n"),
    ("split/time/valid.csv", "3\n"),
    ("split/time/test.csv", "4\n"),
];

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn folder(files: &[(&str, &str)], packed: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if packed {
            std::fs::write(dir.path().join(format!("{name}.gz")), gz(text.as_bytes())).unwrap();
        } else {
            std::fs::write(path, text).unwrap();
        }
    }
    dir
}

fn changed(name: &str, text: &str) -> Result<(Graph, BuildReport)> {
    let files = SMALL.map(|(file, old)| (file, if file == name { text } else { old }));
    ogb::load(folder(&files, true).path())
}

fn message<T>(result: Result<T>) -> String {
    let Err(e) = result else { panic!("loaded") };
    let text = e.to_string();
    assert!(!text.contains('\n'), "{text}");
    let at = text
        .find("raw/")
        .or_else(|| text.find("split/"))
        .unwrap_or_else(|| panic!("no file in {text}"));
    text[at..].to_string()
}

#[test]
fn a_small_folder_packed_and_plain() {
    for packed in [true, false] {
        let dir = folder(&SMALL, packed);
        let (graph, report) = ogb::load(dir.path()).unwrap();
        assert_eq!(
            (graph.num_nodes(), graph.edges().collect::<Vec<_>>()),
            (5, vec![(0, 1), (1, 2)])
        );
        assert_eq!(
            (report.edges_given, report.duplicates, report.self_loops),
            (4, 1, 1)
        );
        let labels = graph.labels().unwrap();
        assert_eq!(labels.classes(), [Some(2), Some(0), None, Some(2), Some(1)]);
        assert_eq!(labels.name(2), "3");
        let features = graph.features().unwrap().to_dense();
        assert_eq!(
            features.data(),
            [0.5, -1.0, 1e-3, 2.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0]
        );
        let split = graph.split("time").unwrap();
        assert_eq!(
            (split.train(), split.val(), split.test()),
            (&[0, 1][..], &[3][..], &[4][..])
        );

        let (graph, _) = ogb::load_arxiv_year(dir.path()).unwrap();
        assert_eq!(graph.labels().unwrap().classes(), [0, 1, 2, 3, 4].map(Some));
        assert_eq!(
            (graph.num_edges(), graph.features().unwrap().num_cols()),
            (2, 2)
        );
        assert!(
            graph.splits().is_empty(),
            "a split by time would give the class away"
        );
    }
}

#[test]
fn optional_parts_may_be_absent() {
    let (graph, _) = ogb::load(folder(&SMALL[..5], true).path()).unwrap();
    assert!(graph.features().is_none() && graph.splits().is_empty());
    for missing in 0..4 {
        let mut files = SMALL.to_vec();
        let (name, _) = files.remove(missing);
        let text = message(ogb::load(folder(&files, true).path()));
        assert_eq!(text, format!("{name}: no such file, with or without .gz"));
    }
    let no_valid = message(ogb::load(
        folder(&[&SMALL[..7], &SMALL[8..]].concat(), true).path(),
    ));
    assert_eq!(
        no_valid,
        "split/time/valid.csv: no such file, with or without .gz"
    );
    let no_year = message(ogb::load_arxiv_year(folder(&SMALL[..4], true).path()));
    assert_eq!(
        no_year,
        "raw/node_year.csv: no such file, with or without .gz"
    );
}

#[test]
fn counts_are_kept() {
    let rows = |name, text| message(changed(name, text));
    assert_eq!(
        rows("raw/edge.csv", "0,1\n1,2\n"),
        "raw/edge.csv.gz: whole file: 2 rows, but the raw/num-* lists say 4"
    );
    assert!(
        rows("raw/edge.csv", "0,1\n0,1\n0,1\n0,1\n0,1\n")
            .contains("edge.csv.gz: line 5: one row too many, 4 are")
    );
    assert!(rows("raw/node-label.csv", "1\n2\n").contains("node-label.csv.gz: whole file: 2 rows"));
    assert!(rows("raw/node-feat.csv", "1\n2\n").contains("node-feat.csv.gz: whole file: 2 rows"));
    assert!(
        rows("raw/num-node-list.csv", "6").contains("node-label.csv.gz: whole file: 5 rows, but")
    );
    assert!(
        rows("raw/num-node-list.csv", "4000000000")
            .contains("node-label.csv.gz: whole file: 5 rows, but")
    );
    assert!(
        rows("raw/num-node-list.csv", "-5")
            .contains("num-node-list.csv.gz: line 1: '-5' is not a count")
    );
    assert!(rows("raw/num-node-list.csv", "5000000000000").contains("is not a count"));
    assert!(
        rows("raw/num-node-list.csv", "5\n5\n")
            .contains("line 2: a second graph, only datasets of one graph")
    );
    assert!(rows("raw/num-edge-list.csv", "").contains("num-edge-list.csv.gz: line 1: empty"));
    assert!(
        rows("split/time/train.csv", "0\n0\n0\n0\n0\n0\n").contains("line 6: more than 5 rows")
    );
}

#[test]
fn errors_name_the_row() {
    let rows = |name, text| message(changed(name, text));
    assert_eq!(
        rows("raw/edge.csv", "0,1\n1,5\n0,1\n0,1\n"),
        "raw/edge.csv.gz: line 2: '5' is not a node id, a whole number from 0 to 4 is expected"
    );
    assert!(
        rows("raw/edge.csv", "0,1\n-1,2\n0,1\n0,1\n").contains("line 2: '-1' is not a node id")
    );
    assert!(rows("raw/edge.csv", "0 1\n").contains("line 1: '0 1' is not an arc 'u,v'"));
    assert!(rows("raw/node-feat.csv", "1,2\n1,NaN\n").contains("line 2: 'NaN' is not a feature"));
    assert!(
        rows("raw/node-feat.csv", "1,2\n1\n")
            .ends_with("line 2: 1 features, but the rows before have 2")
    );
    assert!(rows("raw/node-label.csv", "1\nx\n").ends_with("line 2: 'x' is not a class"));
    assert!(
        rows("split/time/test.csv", "9\n").contains("test.csv.gz: line 1: '9' is not a node id")
    );
    assert!(
        rows("split/time/test.csv", "1\n")
            .ends_with("split/time: whole split: split time: node or graph 1 is in it twice")
    );
    let mut files = SMALL;
    files[4].1 = "2010\n2011\nMMXII\n2013\n2014\n";
    assert!(
        message(ogb::load_arxiv_year(folder(&files, true).path()))
            .ends_with("line 3: 'MMXII' is not a year")
    );
}

#[test]
fn damaged_and_swollen_files_are_refused() {
    let dir = folder(&SMALL, true);
    let path = dir.path().join("raw/edge.csv.gz");
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(
            message(ogb::load(dir.path())).starts_with("raw/edge.csv.gz: "),
            "cut at {cut}"
        );
    }
    let mut flipped = whole.clone();
    let crc = flipped.len() - 6;
    flipped[crc] ^= 1;
    std::fs::write(&path, &flipped).unwrap();
    let text = message(ogb::load(dir.path()));
    assert!(text.contains("cannot be decompressed"), "{text}");
    std::fs::write(&path, "0,1\n").unwrap();
    assert!(message(ogb::load(dir.path())).contains("line 1: cannot be decompressed"));
    std::fs::write(&path, gz(b"0,\xff\n")).unwrap();
    assert!(message(ogb::load(dir.path())).contains("line 1: not UTF-8"));
    // Eighty million bytes in one line, and in eighty lines of many spaces.
    std::fs::write(&path, gz(&vec![b'1'; 80 << 20])).unwrap();
    assert!(
        message(ogb::load(dir.path())).ends_with("edge.csv.gz: line 1: longer than 16777216 bytes")
    );
    let row = [b"0".to_vec(), vec![b' '; 1 << 20], b"\n".to_vec()].concat();
    std::fs::write(
        dir.path().join("raw/num-node-list.csv.gz"),
        gz(b"4000000000"),
    )
    .unwrap();
    std::fs::write(
        dir.path().join("raw/node-label.csv.gz"),
        gz(&row.repeat(80)),
    )
    .unwrap();
    let text = message(ogb::load(dir.path()));
    assert!(
        text.contains("bytes after decompression, refused"),
        "{text}"
    );
}

#[test]
fn damaged_bytes_never_panic() {
    let text = SMALL.map(|f| f.1).join("\0").into_bytes();
    let seeds = [text.clone(), gz(&text)];
    fuzz::mutations(&seeds, 5000, ogb::fuzz_ogb);
}
