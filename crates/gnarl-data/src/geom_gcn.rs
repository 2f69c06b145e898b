//! Geom-GCN's files ([Pei et al. 2020](https://arxiv.org/abs/2002.05287)): WebKB's Cornell, Texas
//! and Wisconsin, Wikipedia's Chameleon and Squirrel, with ten public splits.
//!
//! `out1_graph_edges.txt` holds one directed edge per line, with self-loops and duplicates.
//! `out1_node_feature_label.txt` holds one node per line: id, comma-separated features, class,
//! separated by tabs. Both start with a header line. The splits are 48 / 32 / 20 %, despite their
//! file names.

use std::path::Path;

use crate::npz::NpzArchive;
use crate::text;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::CsrMatrix;
use gnarl_graph::split::Split;

/// Largest number of features of a node, 2^24: later steps allocate memory for each.
const MAX_FEATURES: usize = 1 << 24;
/// Number of public splits per dataset.
const NUM_SPLITS: usize = 10;

/// Loads the graph in `dir` and the splits `NAME_split_0.6_0.2_{0..9}.npz` in `splits_dir`, called
/// `geom-gcn-0` to `geom-gcn-9`. A graph without any of these files loads without splits; a graph
/// with only some of them does not.
pub fn load(dir: &Path, splits_dir: &Path, name: &str) -> Result<(Graph, BuildReport)> {
    let nodes_file = dir.join("out1_node_feature_label.txt");
    let (features, labels) = parse_nodes(&nodes_file, &text::read(&nodes_file)?)?;
    let edges_file = dir.join("out1_graph_edges.txt");
    let edges = parse_edges(&edges_file, &text::read(&edges_file)?, labels.len())?;
    let splits = read_splits(splits_dir, &name.to_lowercase(), labels.len())?;
    let (graph, report) = Graph::from_edges(labels.len(), edges)?;
    let graph = graph
        .with_features(Features::Sparse(features))?
        .with_labels(labels)?
        .with_splits(splits)?;
    Ok((graph, report))
}

/// Returns the lines after the header, which must begin with `node_id`: a file without one would
/// lose its first line.
fn body<'a>(path: &Path, text: &'a str) -> Result<impl Iterator<Item = (usize, &'a str)> + Clone> {
    let mut lines = text::lines(text);
    match lines.next() {
        Some((_, header)) if header.starts_with("node_id") => Ok(lines),
        Some((line, _)) => Err(text::at_line(
            path,
            line,
            "the header is missing, a line that begins with 'node_id'",
        )),
        None => Err(text::at_line(
            path,
            1,
            "the file is empty, a line that begins with 'node_id' is expected",
        )),
    }
}

/// The line of one node.
struct NodeLine {
    line: usize,
    cols: Vec<u32>,
    values: Vec<f32>,
    class: u32,
}

/// Parses features and classes of the nodes, whose lines may come in any order.
fn parse_nodes(path: &Path, text: &str) -> Result<(CsrMatrix<f32>, Labels)> {
    let lines = body(path, text)?;
    let num_nodes = lines.clone().count();
    let mut nodes: Vec<Option<NodeLine>> = (0..num_nodes).map(|_| None).collect();
    let mut num_cols = None;
    for (line, content) in lines {
        let &[id, features, class] = &content.splitn(4, '\t').collect::<Vec<_>>()[..] else {
            return Err(text::at_line(
                path,
                line,
                "three fields separated by tabs are expected: id, features, class",
            ));
        };
        let id = text::parse_id(path, line, id, "a node id", 0..num_nodes as u64)?;
        let (cols, values, width) = parse_features(path, line, features)?;
        let expected = *num_cols.get_or_insert(width);
        if width != expected {
            return Err(text::at_line(
                path,
                line,
                format!("{width} features, the lines above have {expected}"),
            ));
        }
        let class = text::parse_id(path, line, class, "a class", 0..u64::from(u32::MAX))?;
        let slot = &mut nodes[id as usize];
        if let Some(first) = slot {
            return Err(text::at_line(
                path,
                line,
                format!("node {id} stands on line {} already", first.line),
            ));
        }
        *slot = Some(NodeLine {
            line,
            cols,
            values,
            class,
        });
    }

    let nodes = nodes.into_iter().flatten();
    let (mut offsets, mut indices, mut values, mut classes) =
        (vec![0u64], Vec::new(), Vec::new(), Vec::new());
    for node in nodes {
        indices.extend(node.cols);
        values.extend(node.values);
        offsets.push(indices.len() as u64);
        classes.push(Some(i64::from(node.class)));
    }
    let features = CsrMatrix::from_parts(num_cols.unwrap_or(0), offsets, indices, values);
    Ok((features, Labels::from_values(classes)))
}

/// Returns the non-zero columns and values, and the number of fields.
fn parse_features(path: &Path, line: usize, fields: &str) -> Result<(Vec<u32>, Vec<f32>, usize)> {
    let (mut cols, mut values, mut width) = (Vec::new(), Vec::new(), 0);
    for field in fields.split(',') {
        let value = match field {
            "0" => 0.0,
            "1" => 1.0,
            other => text::parse_f32(path, line, other, "a feature")?,
        };
        if value != 0.0 {
            cols.push(width as u32);
            values.push(value);
        }
        width += 1;
    }
    if width > MAX_FEATURES {
        return Err(text::at_line(
            path,
            line,
            format!("{width} features, at most {MAX_FEATURES} are read"),
        ));
    }
    Ok((cols, values, width))
}

fn parse_edges(path: &Path, text: &str, num_nodes: usize) -> Result<Vec<(u32, u32)>> {
    let edge = |(line, content): (usize, &str)| {
        let mut fields = content.split_whitespace();
        let (Some(u), Some(v), None) = (fields.next(), fields.next(), fields.next()) else {
            return Err(text::at_line(path, line, "two node ids are expected"));
        };
        let id = |field| text::parse_id(path, line, field, "a node id", 0..num_nodes as u64);
        Ok((id(u)?, id(v)?))
    };
    body(path, text)?.map(edge).collect()
}

fn read_splits(dir: &Path, name: &str, num_nodes: usize) -> Result<Vec<Split>> {
    let files: Vec<_> = (0..NUM_SPLITS)
        .map(|k| dir.join(format!("{name}_split_0.6_0.2_{k}.npz")))
        .collect();
    if files.iter().all(|file| !file.exists()) {
        return Ok(Vec::new());
    }
    if let Some(missing) = files.iter().find(|file| !file.exists()) {
        let what = "this split is missing though others are there; fetch all ten, or remove them to load without";
        return Err(Error::data(missing, "whole file", what));
    }
    files
        .iter()
        .enumerate()
        .map(|(k, file)| read_split(file, format!("geom-gcn-{k}"), num_nodes))
        .collect()
}

fn read_split(path: &Path, name: String, num_nodes: usize) -> Result<Split> {
    let mut archive = NpzArchive::open(path)?;
    let mut part = |member: &str| read_mask(&mut archive, member, num_nodes);
    Split::new(
        name,
        part("train_mask")?,
        part("val_mask")?,
        part("test_mask")?,
    )
    .map_err(|e| Error::data(path, "masks", e.to_string()))
}

/// Reads the nodes marked by a mask of one boolean per node.
fn read_mask(archive: &mut NpzArchive, member: &str, num_nodes: usize) -> Result<Vec<u32>> {
    let mask = archive.bools(member)?;
    if mask.shape != [num_nodes] {
        return Err(archive.fault(
            member,
            format!(
                "shape {:?}, [{num_nodes}] is expected: one per node",
                mask.shape
            ),
        ));
    }
    Ok((0..num_nodes as u32)
        .filter(|&u| mask.data[u as usize])
        .collect())
}

/// Fuzzing: any content of the node file.
#[doc(hidden)]
pub fn fuzz_nodes(bytes: &[u8]) -> Result<()> {
    parse_nodes(Path::new("fuzz.txt"), &String::from_utf8_lossy(bytes)).map(drop)
}

/// Fuzzing: any content of the edge file.
#[doc(hidden)]
pub fn fuzz_edges(bytes: &[u8]) -> Result<()> {
    parse_edges(Path::new("fuzz.txt"), &String::from_utf8_lossy(bytes), 100).map(drop)
}

/// Fuzzing: any content of a split file.
#[doc(hidden)]
pub fn fuzz_split(bytes: &[u8], num_nodes: usize) -> Result<()> {
    let mut archive = NpzArchive::from_bytes(Path::new("fuzz.npz"), bytes)?;
    read_mask(&mut archive, "train_mask", num_nodes).map(drop)
}
