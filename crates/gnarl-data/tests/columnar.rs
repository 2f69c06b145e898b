//! Parquet and Arrow tables written by pyarrow (`tests/golden/make_columnar.py`), as edges, labels
//! and features.

use std::path::{Path, PathBuf};

use gnarl_data::disk::{self, ImportOptions};
use gnarl_data::edge_list;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/columnar")
        .join(name)
}

#[test]
fn tables_with_names_weights_and_features() {
    let (graph, report, sources) = edge_list::load(&golden("named")).unwrap();
    assert_eq!((graph.num_nodes(), graph.num_edges()), (5, 4));
    assert_eq!(
        (
            report.self_loops,
            report.duplicates,
            report.conflicting_weights
        ),
        (1, 1, 1)
    );
    let node = |name: &str| {
        graph
            .node_names()
            .unwrap()
            .iter()
            .position(|known| known == name)
            .unwrap() as u32
    };
    let (ada, bob, celik) = (node("ada"), node("bob"), node("çelik"));
    assert_eq!(graph.neighbour_weights(celik), Some(&[2.0][..]));
    assert_eq!(
        graph
            .weighted_edges()
            .find(|&(u, v, _)| (u, v) == (ada.min(bob), ada.max(bob)))
            .unwrap()
            .2,
        0.5
    );
    let labels = graph.labels().unwrap();
    assert_eq!(
        (labels.get(ada).map(|c| labels.name(c)), labels.get(celik)),
        (Some("cat".to_string()), None)
    );
    // Rows stood in the opposite order.
    assert_eq!(
        graph.features().unwrap().select_rows(&[bob]).values(),
        [0.75, 1.0, 1.25]
    );
    assert!(
        sources
            .unused
            .iter()
            .any(|unused| unused.what.contains("since")),
        "{sources:?}"
    );
    // The imported graph is equal.
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let source = golden("named");
    disk::import(
        source.to_str().unwrap(),
        dir.path(),
        0,
        &out,
        &ImportOptions::default(),
        &mut |_, _, _| (),
    )
    .unwrap();
    let (opened, dropped) = disk::open(&out).unwrap();
    assert_eq!(
        (opened.targets(), opened.weights(), dropped),
        (graph.targets(), graph.weights(), report)
    );
    assert_eq!(
        (opened.features(), opened.node_names()),
        (graph.features(), graph.node_names())
    );
}

#[test]
fn ids_of_any_integer_type_number_the_nodes() {
    let (graph, ..) = edge_list::load(&golden("numbered/edges.parquet")).unwrap();
    assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    assert!(graph.node_names().is_none());
}

#[test]
fn tables_without_edges_are_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.parquet");
    std::fs::write(&junk, b"PAR1 but nothing else PAR1").unwrap();
    let whole = std::fs::read(golden("numbered/edges.parquet")).unwrap();
    let cut = dir.path().join("cut.parquet");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let arrow = dir.path().join("junk.arrow");
    std::fs::write(&arrow, [7; 64]).unwrap();
    for (file, what) in [
        (
            golden("broken/hole.parquet"),
            "row 2: an edge without one of its ends",
        ),
        (golden("broken/one.parquet"), "1 columns, one for each end"),
        (
            golden("broken/negative.parquet"),
            "row 2: -1 is not a node id",
        ),
        (junk, "damaged"),
        (cut, "damaged"),
        (arrow, "damaged"),
    ] {
        let e = edge_list::load(&file).unwrap_err().to_string();
        assert!(e.contains(what) && !e.contains('\n'), "{e}");
    }
}

/// Every byte of a small file flipped: a result or an error, and never a panic.
#[test]
fn damaged_tables_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["numbered/edges.parquet", "named/features.arrow"] {
        let whole = std::fs::read(golden(name)).unwrap();
        let ending = name.rsplit('.').next().unwrap();
        let file = dir.path().join(format!("damaged.{ending}"));
        for at in (0..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            std::fs::write(&file, bytes).unwrap();
            let _ = edge_list::load(&file);
        }
    }
}
