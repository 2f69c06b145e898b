//! The embedded copies of Cora and MUTAG equal the output of the loaders on the public files.

use std::path::Path;

use gnarl_data::load::is_embedded;
use gnarl_data::{Content, Dataset, facts, load, registry};
use gnarl_graph::{Error, Graph};
use gnarl_testing::{data_dir, needs_data};

fn without_files(name: &str) -> Dataset {
    load(name, Path::new("no-such-folder"), 0).unwrap()
}

fn assert_same(ours: &Graph, theirs: &Graph) {
    assert_eq!(ours.offsets(), theirs.offsets());
    assert_eq!(ours.targets(), theirs.targets());
    assert_eq!(ours.weights(), theirs.weights());
    assert_eq!(ours.features(), theirs.features());
    assert_eq!(ours.labels(), theirs.labels());
    assert_eq!(ours.splits(), theirs.splits());
    assert_eq!(ours.node_names(), theirs.node_names());
}

needs_data!(
    fn embedded_copies_equal_the_public_files() {
        let dir = data_dir();
        for name in ["cora", "mutag"] {
            let (ours, theirs) = (without_files(name), load(name, &dir, 0).unwrap());
            assert!(
                !is_embedded(theirs.entry.unwrap(), &dir),
                "the files come first"
            );
            assert_eq!((&ours.name, ours.report), (&theirs.name, theirs.report));
            match (&ours.content, &theirs.content) {
                (Content::Graph(ours), Content::Graph(theirs)) => assert_same(ours, theirs),
                (Content::Graphs(ours), Content::Graphs(theirs)) => {
                    assert_eq!(ours.labels(), theirs.labels());
                    assert_eq!(ours.num_node_labels(), theirs.num_node_labels());
                    assert_eq!((ours.len(), ours.splits()), (theirs.len(), theirs.splits()));
                    ours.graphs()
                        .iter()
                        .zip(theirs.graphs())
                        .for_each(|(a, b)| assert_same(a, b));
                }
                _ => panic!("{name}: one is a set and the other is not"),
            }
        }
    }
);

/// Checks sizes without the public files: the sizes in the registry, from another source, and the
/// public split.
#[test]
fn embedded_copies_have_the_known_sizes() {
    let cora = without_files("Cora");
    let graph = cora.graph().unwrap();
    let found = facts::node_facts(graph, &cora.report, "cora").unwrap();
    assert_eq!(facts::mismatches(cora.entry.unwrap(), &found), []);
    let split = graph.split("public").unwrap();
    assert_eq!(
        (split.train().len(), split.val().len(), split.test().len()),
        (140, 500, 1000)
    );
    // Twenty training nodes of each of the seven classes.
    let labels = graph.labels().unwrap().select(split.train());
    assert_eq!(labels.counts(), [20; 7]);
    let mutag = without_files("MUTAG");
    let set = mutag.graph_set().unwrap();
    assert_eq!(
        facts::mismatches(mutag.entry.unwrap(), &facts::graph_set_facts(set)),
        []
    );
    assert_eq!(set.labels().counts(), [63, 125]);
}

#[test]
fn embedded_copies_do_not_replace_incomplete_downloads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/embedded");
    let size = |file: &str| std::fs::metadata(folder.join(file)).unwrap().len();
    assert!(size("cora.bin") + size("mutag.bin") < 300_000);
    let told = std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(told.contains("Licence:") && told.contains("Sen") && told.contains("Debnath"));

    let dir = tempfile::tempdir().unwrap();
    assert!(is_embedded(registry::find("cora").unwrap(), dir.path()));
    assert!(!is_embedded(
        registry::find("citeseer").unwrap(),
        dir.path()
    ));
    std::fs::create_dir(dir.path().join("planetoid")).unwrap();
    std::fs::write(dir.path().join("planetoid/ind.cora.y"), "").unwrap();
    let e = load("cora", dir.path(), 0).unwrap_err();
    assert!(matches!(e, Error::Absent { .. }), "{e}");
}
