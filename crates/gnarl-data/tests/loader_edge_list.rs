//! Tests the loader of users' own graphs: every layout by hand, bad files, and the cost of typing
//! errors.

use crate::fuzz;

use gnarl_data::edge_list::{self, EdgeFile};
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

/// Returns the message of the error, from the file's name on.
fn message<T>(result: Result<T>) -> String {
    let Err(e) = result else { panic!("loaded") };
    let text = e.to_string();
    assert!(!text.contains('\n'), "{text}");
    let at = [
        "my.edges",
        "edges.",
        "features.",
        "labels.",
        "splits.",
        "nodes.",
    ]
    .iter()
    .filter_map(|name| text.find(name))
    .min();
    text[at.unwrap_or_else(|| panic!("no file name in {text}"))..].to_string()
}

#[test]
fn every_separator_header_and_comment() {
    let expected = EdgeFile {
        num_nodes: 8,
        edges: vec![(0, 1), (7, 1), (2, 2)],
        ..EdgeFile::default()
    };
    for text in [
        "0,1\n7,1\n2,2\n",
        "0\t1\n7\t1\n2\t2",
        "0 1\r\n7 1\r\n2 2\r\n",
        "  0   1  \n\n\n7 \t 1\n2 , 2",
        "# comment\n% another\nfrom,to\n0,1\n#7,7\n7,1\n \n2,2\n%",
        "source target\n0 1\n7 1\n2 2\n",
        "\u{feff}source,target\n0,1\n007,1\n2,2\n",
        "\"from\",\"to\"\r\n\"0\",\"1\"\r\n\"7\",\"1\"\r\n2,2\r\n",
        "who,whom\n\"0\",1\n7,1\n2,2\n",
    ] {
        assert_eq!(edges(text).unwrap(), expected, "{text:?}");
    }
    let weighted = EdgeFile {
        weights: Some(vec![0.5, -2.0, 1e3]),
        ..expected
    };
    for text in [
        "0,1,0.5\n7,1,-2\n2,2,1e3\n",
        "u v w\n0 1 .5\n7 1 -2.0 \n2 2 1000\r\n",
        "0\t1\t+0.5\n7\t1\t-2\n2\t2\t1E3",
    ] {
        assert_eq!(edges(text).unwrap(), weighted, "{text:?}");
    }
    for text in ["", "\n\n", "# nothing\n", "from,to\n", "from,to"] {
        assert_eq!(edges(text).unwrap(), EdgeFile::default(), "{text:?}");
    }
}

#[test]
fn an_edge_file_alone_is_a_graph() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("anything");
    std::fs::write(&path, "0 1\n1 0\n1 2\n2 2\n4 0\n").unwrap();
    let (graph, report, _) = edge_list::load(&path).unwrap();
    assert_eq!(
        (graph.num_nodes(), graph.edges().collect::<Vec<_>>()),
        (5, vec![(0, 1), (0, 4), (1, 2)])
    );
    assert_eq!(
        (report.edges_given, report.self_loops, report.duplicates),
        (5, 1, 1)
    );
    assert!(graph.weights().is_none() && graph.features().is_none() && graph.labels().is_none());
    std::fs::write(&path, "0 1 2.5\n1 0 9\n1 2 4\n").unwrap();
    let (graph, report, _) = edge_list::load(&path).unwrap();
    assert_eq!(
        graph.weighted_edges().collect::<Vec<_>>(),
        [(0, 1, 2.5), (1, 2, 4.0)]
    );
    assert_eq!(report.conflicting_weights, 1);
}

#[test]
fn a_folder_has_features_labels_and_splits() {
    let (graph, _) = load(&[
        ("edges.csv", "0,1\n1,2\n"),
        ("features.csv", "a,b\n0.5,1\n2,-3\n0,0\n4,4\n"),
        ("labels.csv", "3\n-1\n5\n3\n"),
        ("splits.csv", "node,split,part\n0,mine,train\n2,mine,val\n3,mine,test\n1,other,Test\n0,other,validation\n"),
    ])
    .unwrap();
    assert_eq!(
        (graph.num_nodes(), graph.num_edges()),
        (4, 2),
        "features make a fourth node"
    );
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [0.5, 1.0, 2.0, -3.0, 0.0, 0.0, 4.0, 4.0]
    );
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [Some(0), None, Some(1), Some(0)]);
    assert_eq!((labels.name(0), labels.name(1)), ("3".into(), "5".into()));
    let names: Vec<&str> = graph.splits().iter().map(|s| s.name()).collect();
    assert_eq!(names, ["mine", "other"]);
    let s = graph.split("mine").unwrap();
    assert_eq!(
        (s.train(), s.val(), s.test()),
        (&[0][..], &[2][..], &[3][..])
    );
    let s = graph.split("other").unwrap();
    assert_eq!(
        (s.train(), s.val(), s.test()),
        (&[][..], &[0][..], &[1][..])
    );
}

#[test]
fn rows_may_name_their_node() {
    let (graph, _) = load(&[
        ("edges.tsv", "0\t1\n"),
        ("features.txt", "Node f1 f2\n2 5 6\n0 1 2\n1 3 4\n"),
        ("labels.tsv", "node\tlabel\n2\tred\n0\tdeep blue\n"),
    ])
    .unwrap();
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
    let labels = graph.labels().unwrap();
    assert_eq!(labels.classes(), [Some(0), None, Some(1)]);
    assert_eq!(
        (labels.name(0), labels.name(1)),
        ("deep blue".into(), "red".into())
    );
}

#[test]
fn labels_in_every_layout() {
    let classes = |text: &str| {
        let (graph, _) = load(&[("edges.csv", "0,1\n1,2\n"), ("labels.csv", text)]).unwrap();
        let labels = graph.labels().unwrap().clone();
        labels
            .classes()
            .iter()
            .map(|c| c.map(|c| labels.name(c)))
            .collect::<Vec<_>>()
    };
    let name = |s: &str| Some(s.to_string());
    assert_eq!(classes("0\n1\n0\n"), [name("0"), name("1"), name("0")]);
    assert_eq!(classes("label\nb\n\na"), [name("b"), None, name("a")]);
    assert_eq!(
        classes("New York\n?\nParis\n\n\n"),
        [name("New York"), None, name("Paris")]
    );
    assert_eq!(classes("# who\n0,x\n2,\n1,?\n"), [name("x"), None, None]);
    assert_eq!(classes("2 y\n\n1 -1\n0 x\n"), [name("x"), None, name("y")]);
    assert_eq!(
        classes("id,kind\n1,7\n2,10\n"),
        [None, name("7"), name("10")],
        "numbers sort as numbers"
    );
    assert_eq!(classes("\n4\n4"), [None, name("4"), name("4")]);
}

#[test]
fn many_edges_stay_in_order() {
    let text: String = (0..200_000)
        .map(|i| format!("{} {}\n", i % 1000, (i * 7) % 999))
        .collect();
    let file = edges(&text).unwrap();
    assert_eq!(file.num_nodes, 1000);
    assert!(
        file.edges
            .iter()
            .copied()
            .eq((0..200_000u32).map(|i| (i % 1000, (i * 7) % 999)))
    );
}

#[test]
fn lines_that_are_no_edges() {
    let bad = |text: &str| message(edges(text));
    assert_eq!(
        bad("0,1\n0,-1\n"),
        "my.edges: line 2: '-1' is not a node id, a whole number from 0 to 4294967293 is expected"
    );
    assert!(bad("0,1\n# c\n\n-1,2\n").starts_with("my.edges: line 4: '-1' is not a node id"));
    assert!(
        bad("0,1\n1,4294967295\n").starts_with("my.edges: line 2: '4294967295' is not a node id")
    );
    assert!(bad("0,1\n1,99999999999999999999999\n").contains("is not a node id"));
    assert!(bad("0,1\n1.5,2\n").contains("line 2: '1.5' is not a node id"));
    assert!(
        bad("0,1\n\"-1\",\"2\"\n").contains("line 2: '-1' is not a node id"),
        "a number in quotes is one too"
    );
    assert!(bad("a,b\nc,\n").ends_with("line 2: a node without a name, 'u,v' is expected"));
    assert!(bad("a,b\nc,d,e\n").ends_with("line 2: a weight 'e', but the edges before have none"));
    assert!(
        bad("a,b,heavy\nc,d,light\n")
            .ends_with("line 2: 'light' is not a weight, a finite number is expected")
    );
    assert!(
        bad("some words that are no edges\nat all\n")
            .contains("line 2: 2 fields, but the header has 6")
    );
    assert!(bad("u,v,weight,when\n0,1,2\n").ends_with("line 2: 3 fields, but the header has 4"));
    assert!(
        bad("0,1\n2\n").ends_with("line 2: '2' has 1 fields, 'u,v' or 'u,v,weight' is expected")
    );
    assert!(bad("0,1,1,1\n").contains("line 1: '0,1,1,1' has 4 fields"));
    assert!(
        bad("0,1\n2,3,0.5\n").ends_with("line 2: a weight '0.5', but the edges before have none")
    );
    assert!(bad("0,1,1\n2,3\n").ends_with("line 2: no weight, but the edges before have one"));
    for weight in ["nan", "inf", "-inf", "1e999", "heavy", ""] {
        let expected = format!("line 2: '{weight}' is not a weight, a finite number is expected");
        assert!(
            bad(&format!("0,1,1\n2,3,{weight}\n")).ends_with(&expected),
            "{weight}"
        );
    }
    for text in ["0,1,1\n2,3,1e39\n", "a,b,1\nc,d,-1e39\n"] {
        assert!(
            bad(text).contains("1e39' is too large for a weight, at most 3.4028235e38 fits"),
            "{text}"
        );
    }
    assert!(bad("0,1\n0,,1\n").contains("line 2: a weight '1'"));
    assert!(bad("0,1\n0;1\n").contains("line 2: '0;1' has 1 fields"));
    let junk = |bytes: &[u8]| message(edges(bytes));
    assert!(
        junk(b"0,1\n\xff\xfe,1\n")
            .ends_with("line 2: byte 0xff is not UTF-8, a text file is expected")
    );
    assert!(
        junk(b"\x89PNG\r\n\x1a\n")
            .ends_with("line 1: byte 0x89 is not UTF-8, a text file is expected")
    );
    assert!(
        junk(b"PK\x03\x04 x\n0,1\n")
            .ends_with("line 1: byte 0x03 is in no text, a text file is expected")
    );
    assert!(
        junk(b"PK\x03\x04 x").ends_with("line 1: byte 0x03 is in no text, a text file is expected")
    );
    let e = edge_list::load(std::path::Path::new("no/such/my.edges"));
    assert!(message(e).starts_with("my.edges: No such file"));
}

#[test]
fn a_mistyped_node_id_does_not_exhaust_memory() {
    let text = "0 1\n\n1 2\n3 4000000000\n2 3\n";
    assert_eq!(
        message(edges(text)),
        "my.edges: line 4: node id 4000000000 in a file of 4 rows: nodes are numbered 0, 1, 2, … without large gaps, \
         renumber them"
    );
    assert_eq!(
        edges("0 1000100\n").unwrap().num_nodes,
        1_000_101,
        "100 × 1 line + 1,000,000 is still allowed"
    );
    assert!(message(edges("u v\n0 1000101\n")).starts_with("my.edges: line 2: node id 1000101"));
    let bad = |name, text: &str| message(load(&[("edges.csv", "0,1\n"), (name, text)]));
    assert!(
        bad("labels.csv", "0,a\n3000000000,b\n")
            .starts_with("labels.csv: line 2: node id 3000000000 in a file of 2")
    );
    assert!(
        bad("features.csv", "node,a\n3000000000,1\n")
            .contains("features.csv: line 2: node id 3000000000")
    );
}

#[test]
fn a_few_labels_in_a_large_graph_are_fine() {
    let edges: String = (0..20_000)
        .map(|i| format!("{} {}\n", i * 140, i))
        .collect();
    let (graph, _) = load(&[("edges.txt", &edges), ("labels.txt", "2799860 a\n")]).unwrap();
    assert_eq!(graph.num_nodes(), 2_799_861);
    assert_eq!(graph.labels().unwrap().counts(), [1]);
}

#[test]
fn errors_of_feature_label_and_split_files_name_the_line() {
    let bad = |name, text: &str| message(load(&[("edges.csv", "0,1\n1,2\n"), (name, text)]));
    assert_eq!(
        bad("features.csv", "1,2\n3,4\n"),
        "features.csv: whole file: 2 rows, but there are 3 nodes, one row each is expected"
    );
    assert!(
        bad("features.csv", "1,2\n3\n5,6\n")
            .ends_with("line 2: 1 features, but the rows before have 2")
    );
    assert!(
        bad("features.csv", "1,2\n3,NaN\n5,6\n")
            .contains("line 2: 'NaN' is not a feature, a finite number")
    );
    assert!(bad("features.csv", "1,2\n3,x\n5,6\n").contains("line 2: 'x' is not a feature"));
    assert!(
        bad("features.csv", "node,a\n0,1\n2,1\n")
            .ends_with("whole file: node 1 has no row, but there are 3 nodes")
    );
    assert!(
        bad("features.csv", "node,a\n0,1\n0,1\n1,1\n")
            .ends_with("line 3: node 0 has a row already, on line 2")
    );
    assert!(
        bad("features.csv", "node,a,b\n0,1\n")
            .ends_with("line 2: 1 features, but the header has 2")
    );
    assert!(
        bad("features.csv", "1e39,1\n")
            .contains("line 1: '1e39' is not a feature, a finite number")
    );
    assert!(bad("features.csv", "node,a\n-1,1\n").contains("line 2: '-1' is not a node id"));
    assert!(
        bad("labels.csv", "1\n2\n")
            .ends_with("2 rows, but there are 3 nodes, one row each is expected")
    );
    assert!(
        bad("labels.csv", "0,1\n0,2\n")
            .ends_with("labels.csv: line 2: node 0 has a row already, on line 1")
    );
    assert!(bad("labels.csv", "0,a,b\n").contains("line 1: 3 fields, 2 are expected"));
    assert!(bad("labels.csv", "0,1\nx,2\n").contains("labels.csv: line 2: 'x' is not a node id"));
    assert!(
        bad("splits.csv", "0,a\n").ends_with("splits.csv: line 1: 'a' is not train, val or test")
    );
    assert!(
        bad("splits.csv", "0\n")
            .ends_with("line 1: '0' is neither 'node,part' nor 'node,split,part'")
    );
    assert!(
        bad("splits.csv", "0,a,training\n")
            .ends_with("line 1: 'training' is not train, val or test")
    );
    assert!(
        bad("splits.csv", "3,a,train\n")
            .contains("line 1: '3' is not a node id, a whole number from 0 to 2")
    );
    assert!(
        bad("splits.csv", "0,a,train\n0,a,test\n")
            .ends_with("split a: node or graph 0 is in it twice")
    );
    let many: String = (0..1001).map(|i| format!("0,s{i},train\n")).collect();
    assert!(bad("splits.csv", &many).ends_with("line 1001: more than 1000 splits"));
    assert!(message(load(&[("edges.csv", ""), ("edges.txt", "")])).contains("keep one of them"));
    assert!(message(load(&[("labels.csv", "")])).contains("edges.csv, edges.tsv"));
}

#[test]
fn node_names_are_kept() {
    let (graph, report) = load(&[
        (
            "edges.csv",
            "source,target,weight\r\nuser_183,\"Doe, Jo\",2\r\n\"Doe, Jo\",x,0.5\r\nx,user_183,1\r\nx,x,1\r\n",
        ),
        ("features.csv", "\u{feff}node,age,size\nx,1,2\n\"Doe, Jo\",3,4\nalone,5,6\nuser_183,7,8\n"),
        ("labels.csv", "node,class\nalone,red\nuser_183,deep blue\nx,?\n"),
        ("splits.csv", "node,part\nuser_183,train\nalone,test\n"),
    ])
    .unwrap();
    assert_eq!(
        graph.node_names().unwrap(),
        ["user_183", "Doe, Jo", "x", "alone"]
    );
    assert_eq!(
        graph.weighted_edges().collect::<Vec<_>>(),
        [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 0.5)]
    );
    assert_eq!((report.self_loops, graph.degree(3)), (1, 0));
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [7.0, 8.0, 3.0, 4.0, 1.0, 2.0, 5.0, 6.0]
    );
    let labels = graph.labels().unwrap();
    assert_eq!(
        labels.classes(),
        [Some(0), None, None, Some(1)],
        "labels may be missing"
    );
    assert_eq!(
        (labels.name(0), labels.name(1)),
        ("deep blue".into(), "red".into())
    );
    assert_eq!(
        (
            graph.split("own").unwrap().train(),
            graph.split("own").unwrap().test()
        ),
        (&[0][..], &[3][..])
    );
}

#[test]
fn a_first_line_of_names_is_a_header_or_an_edge() {
    let names = |text: &str| edges(text).unwrap().names.unwrap();
    assert_eq!(names("ada bob\nbob cyd\n"), ["ada", "bob", "cyd"]);
    assert_eq!(names("Source,Target\nada,bob\n"), ["ada", "bob"]);
    assert_eq!(
        names("u,v\nv,w\n"),
        ["u", "v", "w"],
        "v is a node below, so it is no title"
    );
    assert_eq!(
        names("person,friend,strength\nada,bob,1\n"),
        ["ada", "bob"],
        "a weight is a number"
    );
    assert_eq!(
        names("0,1\n0,x\n"),
        ["0", "1", "x"],
        "one name makes names of all"
    );
    let file = edges("from,to,year,weight,note\na,b,1999,2,\"x, y\"\n").unwrap();
    assert_eq!(
        (file.weights.unwrap(), file.columns_dropped),
        (vec![2.0], vec!["year".to_string(), "note".into()])
    );
    assert_eq!(
        edges("from,to,year,kind\n0,4,1999,x\n").unwrap().num_nodes,
        5
    );
    for text in [
        "from,to,year\n0,4,1999\n",
        "from,to,year\na,b,1999\n",
        "a b year\n0 4 1999\n",
    ] {
        let file = edges(text).unwrap();
        assert_eq!(
            (file.weights, file.columns_dropped),
            (None, vec!["year".to_string()]),
            "{text}"
        );
    }
    assert_eq!(
        edges("from,to,W\n0,4,1999\n").unwrap().weights,
        Some(vec![1999.0])
    );
    assert_eq!(
        edges("0,4,1999\n").unwrap().weights,
        Some(vec![1999.0]),
        "without titles it is a weight"
    );
    assert!(
        edges("ada,bob,friend\nbob,cyd,foe\n").is_err(),
        "a third column of words under no titles"
    );
}

#[test]
fn names_need_rows_by_name() {
    let bad =
        |name, text: &str| message(load(&[("edges.csv", "ada,bob\nbob,cyd\n"), (name, text)]));
    let expected = "whole file: nodes go by name here, such as 'ada': a header whose first column is 'node' is needed, and a \
                    name in each row";
    assert_eq!(
        bad("features.csv", "1,2\n3,4\n5,6\n"),
        format!("features.csv: {expected}")
    );
    assert_eq!(
        bad("labels.csv", "x\ny\nz\n"),
        format!("labels.csv: {expected}")
    );
    assert_eq!(
        bad("labels.csv", "ada,x\nbob,y\n"),
        format!("labels.csv: {expected}")
    );
    assert_eq!(
        bad("features.csv", "node,f\nada,1\nbbo,2\ncyd,3\n"),
        "features.csv: whole file: node 'bob' has no row, but there are 4 nodes"
    );
    assert!(
        bad("features.csv", "node,f\nada,1\nada,2\n")
            .ends_with("line 3: node 'ada' has a row already, on line 2")
    );
    assert!(bad("labels.csv", "node,c\nada,1\n,2\n").ends_with("line 3: a node without a name"));
    assert!(
        bad("splits.csv", "dan,s,train\n")
            .ends_with("line 1: 'dan' is no node of the edges, features or labels")
    );
    let numbers = message(load(&[
        ("edges.csv", "0,1\n"),
        ("labels.csv", "node,class\nada,1\n"),
    ]));
    assert!(
        numbers.contains("labels.csv: line 2: 'ada' is not a node id"),
        "names where numbers are needed: {numbers}"
    );
}

#[test]
fn sparse_features_as_text() {
    let with = |edges: &str, text: &str| load(&[("edges.csv", edges), ("features.csv", text)]);
    let (graph, _) = with(
        "0,1\n1,2\n",
        "node,column,value\n2,3,0.5\n0,0,1\n2,1,-1\n0,1,0\n",
    )
    .unwrap();
    let features = graph.features().unwrap();
    assert!(matches!(features, gnarl_graph::Features::Sparse(_)));
    let expected = [[1.0, 0.0, 0.0, 0.0], [0.0; 4], [0.0, -1.0, 0.0, 0.5]];
    assert_eq!(
        (features.to_dense().data(), features.num_nonzeros()),
        (expected.as_flattened(), 3)
    );
    let (graph, _) = with("a,b\n", "Node,Column,Value\nb,rust,2\nc,go,1\nb,go,3\n").unwrap();
    assert_eq!(graph.node_names().unwrap(), ["a", "b", "c"]);
    assert_eq!(
        graph.features().unwrap().to_dense().data(),
        [0.0, 0.0, 2.0, 3.0, 0.0, 1.0],
        "columns by name"
    );
    let bad = |text: &str| message(with("0,1\n", &format!("node,column,value\n{text}")));
    assert!(bad("0,1,2\n0,1,3\n").ends_with("line 3: node '0' has a value in column '1' already"));
    assert!(bad("0,1\n").ends_with("line 2: 2 fields, node, column and value are expected"));
    assert!(
        bad("0,1,inf\n").contains("line 2: 'inf' is not a feature, a finite number is expected")
    );
    assert!(bad("0,4000000000,1\n").contains("line 2: '4000000000' is not a column"));
}

#[test]
fn unread_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("edges.csv", "source,target,since\na,b,1\n"),
        (
            "labels.csv",
            "node,country,label,year\na,fr,x,1\nb,de,y,2\n",
        ),
        ("notes.md", "# mine"),
        (".hidden", ""),
        ("Features.csv", "node,f\na,1\n"),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let (graph, _, sources) = edge_list::load(dir.path()).unwrap();
    let say = |list: &[gnarl_data::Source]| {
        list.iter()
            .map(|s| format!("{}: {}", s.file, s.what))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        say(&sources.used),
        [
            "edges.csv: edges, nodes by name",
            "labels.csv: 2 classes, 2 of 2 nodes have one"
        ]
    );
    let unread = "not read: edges, features, labels, splits and nodes are, as .csv, .tsv, .txt, .npz, .parquet or .arrow";
    assert_eq!(
        say(&sources.unused),
        [
            "edges.csv: column since not read: neither node nor weight".to_string(),
            "labels.csv: columns country, year not read: neither node nor class".to_string(),
            format!("Features.csv: {unread}"),
            format!("notes.md: {unread}")
        ]
    );
    assert_eq!(
        (graph.features(), graph.labels().unwrap().name(0)),
        (None, "x".to_string())
    );
}

/// A single table instead of features, labels and splits; comments and blank lines keep their line
/// numbers in messages.
#[test]
fn a_node_table_has_features_labels_and_splits() {
    let by_name = ("edges.csv", "source,target\nada,\"b, c\"\n\"b, c\",dan\n");
    let table = "# people\nID,city,label,0,split,age\nada,Rome,red,0.5,train,30\n\ndan,Oslo,,1,val,-2\n\"b, c\",Rome,blue,0,,7\neve,Bonn,red,9,test,1e3\n";
    let (graph, _) = load(&[by_name, ("nodes.csv", table)]).unwrap();
    assert_eq!((graph.num_nodes(), graph.num_edges()), (4, 2));
    assert_eq!(graph.node_name(3), "eve", "a node without edges");
    let labels = graph.labels().unwrap();
    let named: Vec<Option<String>> = (0..4)
        .map(|u| labels.get(u).map(|class| labels.name(class)))
        .collect();
    assert_eq!(
        named,
        [
            Some("red".into()),
            Some("blue".into()),
            None,
            Some("red".into())
        ]
    );
    let features = graph.features().unwrap().to_dense();
    assert_eq!(features.data(), [0.5, 30.0, 0.0, 7.0, 1.0, -2.0, 9.0, 1e3]);
    let split = &graph.splits()[0];
    assert_eq!(
        [split.train(), split.val(), split.test()],
        [&[0u32][..], &[2], &[3]]
    );

    let numbered = [
        ("edges.tsv", "0\t1\n1\t2\n"),
        ("nodes.tsv", "\tclass\tx\n0\tb\t1\n1\ta\t2\n2\tb\t3\n"),
    ];
    let (graph, _) = load(&numbered).unwrap();
    assert_eq!(
        (graph.num_nodes(), graph.labels().unwrap().num_classes()),
        (3, 2)
    );
    assert_eq!(graph.features().unwrap().to_dense().data(), [1.0, 2.0, 3.0]);

    let bad = |text: &str| message(load(&[by_name, ("nodes.csv", text)]));
    assert_eq!(
        bad("id,label,x\nada,red,1\n\ndan,red\n"),
        "nodes.csv: line 4: 2 fields, but the header has 3"
    );
    let slip = bad("id,x\nada,1\ndan,o\n\"b, c\",2\n");
    assert_eq!(
        slip,
        "nodes.csv: line 3: 'o' is not a feature, a finite number is expected"
    );
    assert!(
        bad("id,x\nada,1\n").contains("has no row"),
        "every node needs its features"
    );
    assert!(bad("id,split\nada,often\n").contains("line 2: 'often' is not train, val or test"));
}

#[test]
fn separate_files_override_a_node_table() {
    let sources = |files: &[(&str, &str)]| {
        let dir = tempfile::tempdir().unwrap();
        files
            .iter()
            .for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        let (graph, _, sources) = edge_list::load(dir.path()).unwrap();
        (
            graph,
            sources
                .unused
                .iter()
                .map(|s| format!("{}: {}", s.file, s.what))
                .collect::<Vec<_>>(),
        )
    };
    let edges = ("edges.csv", "0,1\n1,2\n");
    let labels = ("labels.csv", "x\ny\nx\n");
    let (graph, unused) = sources(&[
        edges,
        labels,
        (
            "nodes.csv",
            "id,label,town,a\n0,q,Rome,1\n1,q,Oslo,2\n2,q,Bonn,3\n",
        ),
    ]);
    assert_eq!(graph.labels().unwrap().num_classes(), 2);
    assert_eq!(graph.features().unwrap().num_cols(), 1);
    let said = [
        "nodes.csv: column town not read: words, where features are numbers",
        "nodes.csv: column label not read: there is a file for it",
    ];
    assert_eq!(unused, said);
    let (graph, unused) = sources(&[edges, labels, ("nodes.csv", "0,1\n1,2\n")]);
    assert!(graph.features().is_none());
    assert_eq!(
        unused,
        ["nodes.csv: not read: its first line must name its columns, the first of them node or id"]
    );
}

#[test]
fn damaged_bytes_never_panic() {
    let parts = [
        "# c\nfrom,to\n0,1\n1,2\n3,3\n",
        "node,a,b\n0,1,2\n1,3,4\n2,5,6\n3,7,8\n",
        "0,x\n1,\n3,y\n",
        "0,s,train\n1,s,val\n",
        "id,label,a,b\n0,x,1,2\n3,y,5,6\n",
    ];
    let others = [
        "0 1 0.5\n1 2 2\r\n",
        "1\t2\n3\t4\n5\t6\n",
        "a\n\nb\n",
        "node split part\n2 s test\n",
    ];
    let named = [
        "source,target,weight\na,\"b, c\",1\nb,a,2\n",
        "node,column,value\na,x,1\nd,y,2\n",
        "node,kind,label\na,1,x\nb,2,y\n",
        "node,split,part\na,s,test\n",
        "node,b,split\na,1,train\nb,2,\n",
    ];
    let seeds = [
        parts.join("\0").into_bytes(),
        others.join("\0").into_bytes(),
        named.join("\0").into_bytes(),
    ];
    fuzz::mutations(&seeds, 5000, edge_list::fuzz_edge_list);
}

/// Inputs that fuzzing has found to break a reader.
#[test]
fn inputs_found_by_fuzzing_do_not_panic() {
    // Labels with a row of quotation marks alone.
    edge_list::fuzz_edge_list(b"0 1\n1 2\n2 0\n\x00\x001 0 0.5\n0 1 \"\"\r\r0\n\"");
    edge_list::fuzz_edge_list(b"0 1\n1 2\n2 0\n\x00\x000 a\n\"\"\n2 b\n");
    edge_list::fuzz_edge_list(
        b"0 1\n1 2\n2 0\n# a \"\"\",-3\n\x000\n1\x021 a remark\n\x001 0 0.5\n0 1 \"\"\r\r0\n\"",
    );
}
