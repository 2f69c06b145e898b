//! The loader of users' own graphs: every layout by hand, bad files, and what a typing error must not cost.

#[path = "common/fuzz.rs"]
mod fuzz;

use gnarl_graph::dataset::edge_list::{self, EdgeFile};
use gnarl_graph::{BuildReport, Graph, Result};

fn load(files: &[(&str, &str)]) -> Result<(Graph, BuildReport)> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    edge_list::load(dir.path()).map(|(graph, report, _)| (graph, report))
}

fn edges(text: impl AsRef<[u8]>) -> Result<EdgeFile> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.edges");
    std::fs::write(&path, text).unwrap();
    edge_list::read_edges(&path)
}

/// The message of the error, from the file's name on.
fn message<T>(result: Result<T>) -> String {
    let Err(e) = result else { panic!("loaded") };
    let text = e.to_string();
    assert!(!text.contains('\n'), "{text}");
    let at = ["my.edges", "edges.", "features.", "labels.", "splits."].iter().filter_map(|name| text.find(name)).min();
    text[at.unwrap_or_else(|| panic!("no file name in {text}"))..].to_string()
}

#[test]
fn every_separator_header_and_comment() {
    let expected = EdgeFile { num_nodes: 8, edges: vec![(0, 1), (7, 1), (2, 2)], weights: None };
    for text in [
        "0,1\n7,1\n2,2\n",
        "0\t1\n7\t1\n2\t2",
        "0 1\r\n7 1\r\n2 2\r\n",
        "  0   1  \n\n\n7 \t 1\n2 , 2",
        "# comment\n% another\nfrom,to\n0,1\n#7,7\n7,1\n \n2,2\n%",
        "source target\n0 1\n7 1\n2 2\n",
        "\u{feff}source,target\n0,1\n007,1\n2,2\n",
    ] {
        assert_eq!(edges(text).unwrap(), expected, "{text:?}");
    }
    let weighted = EdgeFile { weights: Some(vec![0.5, -2.0, 1e3]), ..expected };
    for text in
        ["0,1,0.5\n7,1,-2\n2,2,1e3\n", "u v w\n0 1 .5\n7 1 -2.0 \n2 2 1000\r\n", "0\t1\t+0.5\n7\t1\t-2\n2\t2\t1E3"]
    {
        assert_eq!(edges(text).unwrap(), weighted, "{text:?}");
    }
    for text in ["", "\n\n", "# nothing\n", "from,to\n", "from,to"] {
        assert_eq!(edges(text).unwrap(), EdgeFile::default(), "{text:?}");
    }
}

#[test]
fn a_file_alone_is_a_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("anything");
    std::fs::write(&path, "0 1\n1 0\n1 2\n2 2\n4 0\n").unwrap();
    let (graph, report, _) = edge_list::load(&path).unwrap();
    assert_eq!((graph.num_nodes(), graph.edges().collect::<Vec<_>>()), (5, vec![(0, 1), (0, 4), (1, 2)]));
    assert_eq!((report.edges_given, report.self_loops, report.duplicates), (5, 1, 1));
    assert!(graph.weights().is_none() && graph.features().is_none() && graph.labels().is_none());
    std::fs::write(&path, "0 1 2.5\n1 0 9\n1 2 4\n").unwrap();
    let (graph, report, _) = edge_list::load(&path).unwrap();
    assert_eq!(graph.weighted_edges().collect::<Vec<_>>(), [(0, 1, 2.5), (1, 2, 4.0)]);
    assert_eq!(report.conflicting_weights, 1);
}

#[test]
fn a_folder_holds_the_rest() {
    let (graph, _) = load(&[
        ("edges.csv", "0,1\n1,2\n"),
        ("features.csv", "a,b\n0.5,1\n2,-3\n0,0\n4,4\n"),
        ("labels.csv", "3\n-1\n5\n3\n"),
        ("splits.csv", "node,split,part\n0,mine,train\n2,mine,val\n3,mine,test\n1,other,Test\n0,other,validation\n"),
    ])
    .unwrap();
    assert_eq!((graph.num_nodes(), graph.num_edges()), (4, 2), "features make a fourth node");
    assert_eq!(graph.features().unwrap().to_dense().data(), [0.5, 1.0, 2.0, -3.0, 0.0, 0.0, 4.0, 4.0]);
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [Some(0), None, Some(1), Some(0)]);
    assert_eq!((labels.name(0), labels.name(1)), ("3".into(), "5".into()));
    let names: Vec<&str> = graph.splits().iter().map(|s| s.name()).collect();
    assert_eq!(names, ["mine", "other"]);
    let s = graph.split("mine").unwrap();
    assert_eq!((s.train(), s.val(), s.test()), (&[0][..], &[2][..], &[3][..]));
    let s = graph.split("other").unwrap();
    assert_eq!((s.train(), s.val(), s.test()), (&[][..], &[0][..], &[1][..]));
}

#[test]
fn rows_may_name_their_node() {
    let (graph, _) = load(&[
        ("edges.tsv", "0\t1\n"),
        ("features.txt", "Node f1 f2\n2 5 6\n0 1 2\n1 3 4\n"),
        ("labels.tsv", "node\tlabel\n2\tred\n0\tdeep blue\n"),
    ])
    .unwrap();
    assert_eq!(graph.features().unwrap().to_dense().data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [Some(0), None, Some(1)]);
    assert_eq!((labels.name(0), labels.name(1)), ("deep blue".into(), "red".into()));
}

#[test]
fn labels_in_every_layout() {
    let classes = |text: &str| {
        let (graph, _) = load(&[("edges.csv", "0,1\n1,2\n"), ("labels.csv", text)]).unwrap();
        let labels = graph.labels().unwrap().clone();
        labels.classes().iter().map(|c| c.map(|c| labels.name(c))).collect::<Vec<_>>()
    };
    let name = |s: &str| Some(s.to_string());
    assert_eq!(classes("0\n1\n0\n"), [name("0"), name("1"), name("0")]);
    assert_eq!(classes("label\nb\n\na"), [name("b"), None, name("a")]);
    assert_eq!(classes("New York\n?\nParis\n\n\n"), [name("New York"), None, name("Paris")]);
    assert_eq!(classes("# who\n0,x\n2,\n1,?\n"), [name("x"), None, None]);
    assert_eq!(classes("2 y\n\n1 -1\n0 x\n"), [name("x"), None, name("y")]);
    assert_eq!(classes("id,kind\n1,7\n2,10\n"), [None, name("7"), name("10")], "numbers sort as numbers");
    assert_eq!(classes("\n4\n4"), [None, name("4"), name("4")]);
}

#[test]
fn many_edges_stay_in_order() {
    let text: String = (0..200_000).map(|i| format!("{} {}\n", i % 1000, (i * 7) % 999)).collect();
    let file = edges(&text).unwrap();
    assert_eq!(file.num_nodes, 1000);
    assert!(file.edges.iter().copied().eq((0..200_000u32).map(|i| (i % 1000, (i * 7) % 999))));
}

#[test]
fn lines_that_are_no_edges() {
    let bad = |text: &str| message(edges(text));
    assert_eq!(
        bad("0,1\n0,x\n"),
        "my.edges: line 2: 'x' is not a node id, a whole number from 0 to 4294967293 is expected"
    );
    assert!(bad("0,1\n# c\n\n-1,2\n").starts_with("my.edges: line 4: '-1' is not a node id"));
    assert!(bad("0,1\n1,4294967295\n").starts_with("my.edges: line 2: '4294967295' is not a node id"));
    assert!(bad("0,1\n1,99999999999999999999999\n").contains("is not a node id"));
    assert!(bad("0,1\n1.5,2\n").contains("line 2: '1.5' is not a node id"));
    assert!(bad("x,1\n0,1\n").contains("line 1: 'x' is not a node id"), "half a header is a typing error");
    assert!(bad("from,to\nsource,target\n").contains("line 2: 'source' is not a node id"));
    assert!(bad("0,1\n2\n").ends_with("line 2: '2' has 1 fields, 'u,v' or 'u,v,weight' is expected"));
    assert!(bad("0,1,1,1\n").contains("line 1: '0,1,1,1' has 4 fields"));
    assert!(bad("0,1\n2,3,0.5\n").ends_with("line 2: a weight '0.5', but the edges before have none"));
    assert!(bad("0,1,1\n2,3\n").ends_with("line 2: no weight, but the edges before have one"));
    for weight in ["nan", "inf", "-inf", "1e999", "heavy", ""] {
        let expected = format!("line 2: '{weight}' is not a weight, a finite number is expected");
        assert!(bad(&format!("0,1,1\n2,3,{weight}\n")).ends_with(&expected), "{weight}");
    }
    assert!(bad("0,1\n0,,1\n").contains("line 2: a weight '1'"));
    assert!(bad("0,1\n0;1\n").contains("line 2: '0;1' has 1 fields"));
    assert!(message(edges(b"0,1\n\xff\xfe,1\n")).contains("line 2: "));
    let e = edge_list::load(std::path::Path::new("no/such/my.edges"));
    assert!(message(e).starts_with("my.edges: No such file"));
}

#[test]
fn a_typing_error_does_not_cost_the_memory() {
    let text = "0 1\n\n1 2\n3 4000000000\n2 3\n";
    assert_eq!(
        message(edges(text)),
        "my.edges: line 4: node id 4000000000 in a file of 4 rows: nodes are numbered 0, 1, 2, … without large gaps, \
         renumber them"
    );
    assert_eq!(edges("0 1000100\n").unwrap().num_nodes, 1_000_101, "100 × 1 line + 1,000,000 is still allowed");
    assert!(message(edges("u v\n0 1000101\n")).starts_with("my.edges: line 2: node id 1000101"));
    let bad = |name, text: &str| message(load(&[("edges.csv", "0,1\n"), (name, text)]));
    assert!(
        bad("labels.csv", "0,a\n3000000000,b\n").starts_with("labels.csv: line 2: node id 3000000000 in a file of 2")
    );
    assert!(bad("features.csv", "node,a\n3000000000,1\n").contains("features.csv: line 2: node id 3000000000"));
}

#[test]
fn a_few_labels_in_a_large_graph_are_fine() {
    let edges: String = (0..20_000).map(|i| format!("{} {}\n", i * 140, i)).collect();
    let (graph, _) = load(&[("edges.txt", &edges), ("labels.txt", "2799860 a\n")]).unwrap();
    assert_eq!(graph.num_nodes(), 2_799_861);
    assert_eq!(graph.labels().unwrap().counts(), [1]);
}

#[test]
fn wrong_companions_say_where() {
    let bad = |name, text: &str| message(load(&[("edges.csv", "0,1\n1,2\n"), (name, text)]));
    assert_eq!(
        bad("features.csv", "1,2\n3,4\n"),
        "features.csv: whole file: 2 rows, but there are 3 nodes, one row each is expected"
    );
    assert!(bad("features.csv", "1,2\n3\n5,6\n").ends_with("line 2: 1 features, but the rows before have 2"));
    assert!(bad("features.csv", "1,2\n3,NaN\n5,6\n").contains("line 2: 'NaN' is not a feature, a finite number"));
    assert!(bad("features.csv", "1,2\n3,x\n5,6\n").contains("line 2: 'x' is not a feature"));
    assert!(
        bad("features.csv", "node,a\n0,1\n2,1\n").ends_with("whole file: node 1 has no row, but there are 3 nodes")
    );
    assert!(bad("features.csv", "node,a\n0,1\n0,1\n1,1\n").ends_with("whole file: node 0 has two rows"));
    assert!(bad("features.csv", "node,a\n-1,1\n").contains("line 2: '-1' is not a node id"));
    assert!(bad("labels.csv", "1\n2\n").ends_with("2 rows, but there are 3 nodes, one row each is expected"));
    assert!(bad("labels.csv", "0,1\n0,2\n").ends_with("labels.csv: whole file: node 0 has two rows"));
    assert!(bad("labels.csv", "0,1\nx,2\n").contains("labels.csv: line 2: 'x' is not a node id"));
    assert!(bad("splits.csv", "0,a\n").ends_with("splits.csv: line 1: '0,a' is not 'node,split,part'"));
    assert!(bad("splits.csv", "0,a,training\n").ends_with("line 1: 'training' is not train, val or test"));
    assert!(bad("splits.csv", "3,a,train\n").contains("line 1: '3' is not a node id, a whole number from 0 to 2"));
    assert!(bad("splits.csv", "0,a,train\n0,a,test\n").ends_with("split a: item 0 is in it twice"));
    let many: String = (0..1001).map(|i| format!("0,s{i},train\n")).collect();
    assert!(bad("splits.csv", &many).ends_with("line 1001: more than 1000 splits"));
    assert!(message(load(&[("edges.csv", ""), ("edges.txt", "")])).contains("keep one of them"));
    assert!(message(load(&[("labels.csv", "")])).contains("edges.csv, edges.tsv"));
}

#[test]
fn damaged_bytes_never_panic() {
    let parts = [
        "# c\nfrom,to\n0,1\n1,2\n3,3\n",
        "node,a,b\n0,1,2\n1,3,4\n2,5,6\n3,7,8\n",
        "0,x\n1,\n3,y\n",
        "0,s,train\n1,s,val\n",
    ];
    let others = ["0 1 0.5\n1 2 2\r\n", "1\t2\n3\t4\n5\t6\n", "a\n\nb\n", "node split part\n2 s test\n"];
    let seeds = [parts.join("\0").into_bytes(), others.join("\0").into_bytes()];
    fuzz::mutations(&seeds, 5000, edge_list::fuzz_edge_list);
}
