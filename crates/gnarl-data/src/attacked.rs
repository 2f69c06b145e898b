//! Attacked graphs from the literature: Cora, CiteSeer, PolBlogs, CoraML and PubMed after
//! [Metattack](https://arxiv.org/abs/1902.08412) and after
//! [Nettack](https://arxiv.org/abs/1805.07984), as published with Pro-GNN ([Jin et al.
//! 2020](https://arxiv.org/abs/2005.10203)). Their split is the one that this literature shares.
//!
//! | name | graph |
//! | --- | --- |
//! | `cora-metattack-0` | the largest component, unchanged, with that split |
//! | `cora-metattack-0.05` to `-0.25` | after Metattack with that share of the edges |
//! | `cora-nettack-1` to `-5` | after Nettack with so many flips for each of its targets, which are the test nodes |
//!
//! Nodes are those of the largest component in the order of the base file; an attacked adjacency is
//! a SciPy matrix over them. PubMed's base is Planetoid's, which is connected.

use std::path::Path;

use serde::Deserialize;

use super::edge_list::EdgeFile;
use super::registry::{Citation, Entry, Expected, Format, Protocol, RemoteFile, Task};
use super::{npz, planetoid, scipy};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::split::Split;

const FOLDER: &str = "attacked";

const JIN: Citation = Citation {
    authors: "W. Jin, Y. Ma, X. Liu, X. Tang, S. Wang, J. Tang",
    title: "Graph Structure Learning for Robust Graph Neural Networks",
    venue: "KDD",
    year: 2020,
};

/// Returns the checksum of a file that was verified.
const fn checksum(name: &str) -> Option<&'static str> {
    let mut i = 0;
    while i < CHECKSUMS.len() {
        if same(CHECKSUMS[i].0, name) {
            return Some(CHECKSUMS[i].1);
        }
        i += 1;
    }
    None
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

const CHECKSUMS: &[(&str, &str)] = &[
    (
        "cora.npz",
        "398a5c8f949a4f2a3c8fb248f777d2756c654de714762d6a18c04eaa19a96271",
    ),
    (
        "cora_meta_adj_0.05.npz",
        "bfb6ed914acbae726906ff0aa09b5ae70713849dcc637d8f08eeb27c0ef24c1f",
    ),
    (
        "cora_meta_adj_0.1.npz",
        "fbb6b1485cdfa93ae23501f950b43f4dc96eb09099f5fec3d67b93a92394dbd7",
    ),
    (
        "cora_meta_adj_0.15.npz",
        "f22e02303c239ba236acf3c214e4ff8e2539d68992737e2d909d02a96eabfc88",
    ),
    (
        "cora_meta_adj_0.2.npz",
        "adbe44b4014bc183525d8f55f2173c091fad9cc5c97e01a08a423ee6ceea8caa",
    ),
    (
        "cora_meta_adj_0.25.npz",
        "2e0e4eb2293a48f9a54c612bb1ac36b7ef4e643626acf4c159792b2cb6b534d8",
    ),
    (
        "cora_nettack_adj_1.0.npz",
        "34bebc2f07bd6d6c26d60aeaa04468188c473d3166461e591f5118b554533a2e",
    ),
    (
        "cora_nettack_adj_2.0.npz",
        "fee90b13ccf0c23b14e0cf087ce41e584bc0c964436853894c01cde48f54fb80",
    ),
    (
        "cora_nettack_adj_3.0.npz",
        "aa333452e7852f75a26c8d77b73b6d905406253cabc46338a1e96f3cafda2557",
    ),
    (
        "cora_nettack_adj_4.0.npz",
        "12782aff23c81c44c2b15fd0e2fb31f953ae32814c4c4b8ab0452481c312150f",
    ),
    (
        "cora_nettack_adj_5.0.npz",
        "f0e64db018d3278ecba60a999091b9f3c1bab0b5a07a3bf3e97995cfaa5e71ef",
    ),
    (
        "cora_nettacked_nodes.json",
        "09ac6e4debd2c0dd4288e1130349da6547bfe971864a82d717e782f2f7953cbf",
    ),
    (
        "cora_prognn_splits.json",
        "40a3e7e4025c349095d425c597a9db53b2ddd2437f0d5ccf7b46417d912f1db0",
    ),
];

/// A file of the Pro-GNN repository.
macro_rules! published {
    ($folder:literal, $name:expr) => {
        RemoteFile {
            url: concat!(
                "https://raw.githubusercontent.com/ChandlerBang/Pro-GNN/master/",
                $folder,
                "/",
                $name
            ),
            path: concat!("attacked/", $name),
            sha256: checksum($name),
            unpack: None,
        }
    };
}

/// The file of the unperturbed graph; PubMed's are Planetoid's.
macro_rules! base {
    ("pubmed", $part:literal) => {
        RemoteFile {
            url: concat!(
                "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.",
                $part
            ),
            path: concat!("planetoid/ind.pubmed.", $part),
            sha256: None,
            unpack: None,
        }
    };
    ($base:literal) => {
        RemoteFile {
            url: concat!(
                "https://raw.githubusercontent.com/danielzuegner/gnn-meta-attack/master/data/",
                $base,
                ".npz"
            ),
            path: concat!("attacked/", $base, ".npz"),
            sha256: checksum(concat!($base, ".npz")),
            unpack: None,
        }
    };
}

macro_rules! entry {
    ($base:tt, $name:expr, $title:expr, $expected:expr, [$($file:expr),+]) => {
        Entry {
            name: $name,
            aliases: &[],
            title: $title,
            task: Task::Node,
            format: Format::Attacked,
            citation: JIN,
            files: entry!(@files $base, $($file),+),
            expected: $expected,
            protocol: Protocol::Published,
            binarise: false,
            licence: "MIT",
            note: None,
        }
    };
    (@files "pubmed", $($file:expr),+) => {
        &[
            base!("pubmed", "x"), base!("pubmed", "y"), base!("pubmed", "tx"), base!("pubmed", "ty"),
            base!("pubmed", "allx"), base!("pubmed", "ally"), base!("pubmed", "graph"), base!("pubmed", "test.index"),
            $($file),+
        ]
    };
    (@files $base:literal, $($file:expr),+) => { &[base!($base), $($file),+] };
}

/// The eleven graphs made from one base graph.
macro_rules! family {
    ($base:tt, $title:literal, $expected:expr) => {
        [
            entry!($base, concat!($base, "-metattack-0"), concat!($title, ", largest component, before any attack"), $expected,
                [published!("splits", concat!($base, "_prognn_splits.json"))]),
            family!(@meta $base, $title, $expected, "0.05"),
            family!(@meta $base, $title, $expected, "0.1"),
            family!(@meta $base, $title, $expected, "0.15"),
            family!(@meta $base, $title, $expected, "0.2"),
            family!(@meta $base, $title, $expected, "0.25"),
            family!(@nettack $base, $title, $expected, "1"),
            family!(@nettack $base, $title, $expected, "2"),
            family!(@nettack $base, $title, $expected, "3"),
            family!(@nettack $base, $title, $expected, "4"),
            family!(@nettack $base, $title, $expected, "5"),
        ]
    };
    (@meta $base:tt, $title:literal, $expected:expr, $rate:literal) => {
        entry!($base, concat!($base, "-metattack-", $rate), concat!($title, " after Metattack with ", $rate, " of the edges"), $expected, [
            published!("splits", concat!($base, "_prognn_splits.json")),
            published!("meta", concat!($base, "_meta_adj_", $rate, ".npz"))
        ])
    };
    (@nettack $base:tt, $title:literal, $expected:expr, $flips:literal) => {
        entry!($base, concat!($base, "-nettack-", $flips), concat!($title, " after Nettack, flips for each target: ", $flips), $expected, [
            published!("nettack", concat!($base, "_nettacked_nodes.json")),
            published!("nettack", concat!($base, "_nettack_adj_", $flips, ".0.npz"))
        ])
    };
}

const fn sizes(nodes: usize, features: Option<usize>, classes: usize) -> Expected {
    Expected {
        nodes,
        undirected_edges: None,
        features,
        classes,
        graphs: None,
    }
}

/// All entries, by base graph.
pub const FAMILIES: [[Entry; 11]; 5] = [
    family!("cora", "Cora", sizes(2485, Some(1433), 7)),
    family!("citeseer", "CiteSeer", sizes(2110, Some(3703), 6)),
    family!("polblogs", "PolBlogs", sizes(1222, None, 2)),
    family!("cora_ml", "CoraML", sizes(2810, Some(2879), 7)),
    family!("pubmed", "PubMed", sizes(19717, Some(500), 3)),
];

/// Splits and targets as they are published.
#[derive(Deserialize)]
struct Published {
    idx_train: Vec<u32>,
    idx_val: Vec<u32>,
    idx_test: Vec<u32>,
    /// Target nodes of Nettack.
    attacked_test_nodes: Option<Vec<u32>>,
}

/// Loads an entry of [`FAMILIES`] from the data folder.
pub fn load(entry: &Entry, data_dir: &Path) -> Result<(Graph, BuildReport)> {
    let base = &entry.name[..entry
        .name
        .find("-metattack")
        .or(entry.name.find("-nettack"))
        .unwrap_or(entry.name.len())];
    let (whole, report) = match base {
        "pubmed" => planetoid::load(&data_dir.join("planetoid"), base)?,
        _ => npz::load(&data_dir.join(FOLDER).join(format!("{base}.npz")), false)?,
    };
    let clean = whole.with_splits(Vec::new())?.largest_component().0;
    let with = |part: &str| {
        entry
            .files
            .iter()
            .map(|file| file.path)
            .find(|path| path.contains(part))
    };
    let graph = match with("_adj_") {
        None => clean,
        Some(path) => with_edges_of(&clean, &data_dir.join(path))?,
    };
    let Some(split_file) = with(".json").map(|path| data_dir.join(path)) else {
        return Ok((graph, report));
    };
    let split = read_split(&split_file, graph.num_nodes())?;
    Ok((graph.with_splits(vec![split])?, report))
}

/// Replaces the edges of a graph by the edges of an attacked adjacency: a SciPy matrix in the
/// graph's order of nodes. Weights of the matrix are not read. In a weighted graph, edges that stay
/// keep their weights and new edges have weight one, as in every attack.
pub fn with_edges_of(graph: &Graph, path: &Path) -> Result<Graph> {
    onto(graph, path, scipy::read_edges(path)?)
}

fn onto(graph: &Graph, path: &Path, edges: EdgeFile) -> Result<Graph> {
    if edges.num_nodes != graph.num_nodes() {
        let what = format!(
            "an adjacency of {} nodes, and the graph has {}",
            edges.num_nodes,
            graph.num_nodes()
        );
        return Err(Error::data(path, "shape", what));
    }
    let attacked = graph.with_edges(edges.edges)?;
    if graph.weights().is_none() {
        return Ok(attacked);
    }
    let gone: Vec<_> = graph
        .edges()
        .filter(|&(u, v)| !attacked.has_edge(u, v))
        .collect();
    let new: Vec<_> = attacked
        .edges()
        .filter(|&(u, v)| !graph.has_edge(u, v))
        .collect();
    Ok(graph.remove_edges(&gone)?.add_edges(&new)?.0)
}

/// An attacked graph as read from a file.
#[derive(Debug, Clone)]
pub struct Read {
    /// The nodes of the original graph, with the file's edges and features.
    pub graph: Graph,
    /// Scaling of the features that the file declares as already applied.
    pub scaling: Option<String>,
    /// Entries of the file that were ignored or interpreted in another way.
    pub notes: Vec<String>,
}

/// Lists what a graph cannot hold of these sorted entries as they are.
fn notes(graph: &Graph, file: &EdgeFile) -> Vec<String> {
    let many = |count: usize, what: &str| (count > 0).then(|| format!("{what}: {count}"));
    let loops = file.edges.iter().filter(|(u, v)| u == v).count();
    let one_way = file
        .edges
        .iter()
        .filter(|&&(u, v)| u != v && file.edges.binary_search(&(v, u)).is_err())
        .count();
    let weights = file.weights.is_some() && graph.weights().is_none();
    [
        many(
            one_way,
            "entries on one side of the diagonal alone, taken as edges all the same",
        ),
        many(loops, "entries on the diagonal, left out"),
        weights.then(|| "weights, left out: the graph has none".to_string()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Reads an attacked graph: the nodes of `graph` with the file's edges and, if the file has any
/// (`attr_`), its features.
pub fn read_onto(graph: &Graph, path: &Path) -> Result<Read> {
    let edges = scipy::read_edges(path)?;
    let notes = notes(graph, &edges);
    let attacked = onto(graph, path, edges)?;
    let read = |graph, scaling| {
        Ok(Read {
            graph,
            scaling,
            notes,
        })
    };
    let mut archive = npz::NpzArchive::open(path)?;
    match npz::read_attributes(&mut archive, false)? {
        None => read(attacked, None),
        Some(features) => {
            let expected = graph.features().map(gnarl_graph::Features::num_cols);
            if expected.is_some_and(|cols| cols != features.num_cols()) {
                let what = format!(
                    "{} features, and the graph has {}",
                    features.num_cols(),
                    expected.unwrap_or(0)
                );
                return Err(Error::data(path, "attr_shape", what));
            }
            let scaling = if archive.has("attr_scaling") {
                Some(archive.text("attr_scaling")?)
            } else {
                None
            };
            let attacked = attacked.with_features(features);
            read(
                attacked.map_err(|e| Error::data(path, "attr_shape", e.to_string()))?,
                scaling,
            )
        }
    }
}

fn read_split(path: &Path, num_nodes: usize) -> Result<Split> {
    let text =
        std::fs::read_to_string(path).map_err(|e| Error::data(path, "file", e.to_string()))?;
    let published: Published = serde_json::from_str(&text)
        .map_err(|e| Error::data(path, format!("line {}", e.line()), e.to_string()))?;
    let Published {
        idx_train,
        idx_val,
        idx_test,
        attacked_test_nodes,
    } = published;
    let test = attacked_test_nodes.unwrap_or(idx_test);
    if let Some(&u) = [&idx_train, &idx_val, &test]
        .into_iter()
        .flatten()
        .find(|&&u| u as usize >= num_nodes)
    {
        return Err(Error::data(
            path,
            "nodes",
            format!("node {u}, and the graph has {num_nodes}"),
        ));
    }
    Split::new("published", idx_train, idx_val, test)
        .map_err(|e| Error::data(path, "nodes", e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_graph_has_its_files_and_is_found() {
        for entry in FAMILIES.iter().flatten() {
            let adjacency = entry
                .files
                .iter()
                .filter(|file| file.path.contains("_adj_"))
                .count();
            assert_eq!(
                adjacency,
                usize::from(!entry.name.ends_with("-metattack-0")),
                "{}",
                entry.name
            );
            assert_eq!(
                entry
                    .files
                    .iter()
                    .filter(|file| file.path.ends_with(".json"))
                    .count(),
                1,
                "{}",
                entry.name
            );
            assert_eq!(
                super::super::registry::find(entry.name).unwrap().name,
                entry.name
            );
        }
        let known = FAMILIES[0]
            .iter()
            .flat_map(|entry| entry.files)
            .filter(|file| file.sha256.is_none())
            .count();
        assert_eq!(known, 0, "every file of Cora's is known");
    }

    #[test]
    fn a_split_beyond_the_graph_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("split.json");
        let fail = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_split(&path, 4).unwrap_err().to_string()
        };
        assert!(
            fail(r#"{"idx_train": [0], "idx_val": [1], "idx_test": [4]}"#)
                .contains("node 4, and the graph has 4")
        );
        assert!(fail(r#"{"idx_train": [0], "idx_val": [0], "idx_test": [1]}"#).contains("nodes"));
        assert!(fail("{").contains("line 1"));
        std::fs::write(
            &path,
            r#"{"idx_train": [0], "idx_val": [1], "idx_test": [2], "attacked_test_nodes": [3]}"#,
        )
        .unwrap();
        assert_eq!(read_split(&path, 4).unwrap().test(), [3]);
    }

    #[test]
    fn differences_from_the_file_are_reported() {
        let graph = Graph::from_edges(4, [(0, 1)]).unwrap().0;
        let file = |edges: &[(u32, u32)], weights| EdgeFile {
            num_nodes: 4,
            edges: edges.to_vec(),
            weights,
            ..EdgeFile::default()
        };
        assert!(notes(&graph, &file(&[(0, 1), (1, 0)], None)).is_empty());
        let said = notes(
            &graph,
            &file(&[(0, 1), (1, 1), (2, 1), (3, 3)], Some(vec![2.0; 4])),
        );
        assert_eq!(
            said,
            [
                "entries on one side of the diagonal alone, taken as edges all the same: 2",
                "entries on the diagonal, left out: 2",
                "weights, left out: the graph has none"
            ]
        );
        let weighted = Graph::from_weighted_edges(4, [(0, 1, 2.0)]).unwrap().0;
        assert!(notes(&weighted, &file(&[(0, 1), (1, 0)], Some(vec![2.0; 2]))).is_empty());
    }

    #[test]
    fn an_adjacency_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        let graph = Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0;
        super::super::npz_writer::save(&path, &graph).unwrap();
        let back = with_edges_of(&Graph::empty(3).unwrap(), &path).unwrap();
        assert_eq!(back.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        let e = with_edges_of(&Graph::empty(4).unwrap(), &path)
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("an adjacency of 3 nodes, and the graph has 4"),
            "{e}"
        );
    }
}
