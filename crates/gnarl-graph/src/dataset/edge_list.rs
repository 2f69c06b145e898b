//! A user's own graph: an edge list, with features, labels and splits beside it where there are any.
//!
//! A path to a file is read as edges alone; a path to a folder may hold (each as `.csv`, `.tsv` or `.txt`):
//!
//! | file | a line |
//! | --- | --- |
//! | `edges` (also `.edges`) | `u,v` or `u,v,weight` |
//! | `features` | the features of one node, in order; or `node,…` under a header that starts with `node` |
//! | `labels` | the class of one node, in order; or `node,class` |
//! | `splits` | `node,split,part`, where part is `train`, `val` or `test` |
//!
//! Fields are separated by commas, tabs or spaces; lines that start with `#` or `%` are comments; a first line without
//! numbers is a header. Nodes are numbered from 0 without large gaps, and there are as many as the largest id or the
//! longest of the files says. A class is a number or a name; an empty one, `-1` or `?` means unlabelled (blank lines at
//! the end of a file do not count). Edges are undirected: self-loops and duplicates are dropped and reported, of
//! duplicates the first weight is kept. Quoted fields are not understood.
//!
//! Ten million edges are parsed in parallel, in pieces that do not depend on the number of threads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::npz::integer_labels;
use super::text::{self, at_line, parse_f32, parse_id, quoted};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::{BuildReport, Graph, MAX_NODES};
use crate::labels::Labels;
use crate::matrix::DenseMatrix;
use crate::split::Split;

/// Bytes parsed by one task.
const PIECE_BYTES: usize = 1 << 20;
/// More splits than this are a mistake in the file.
const MAX_SPLITS: usize = 1000;

/// Loads a graph from an edge file or from a folder of the files above. O(bytes).
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// std::fs::write(dir.path().join("edges.csv"), "# a path\nfrom,to\n0,1\n1,2\n")?;
/// std::fs::write(dir.path().join("labels.csv"), "cat\ndog\n?\n")?;
/// let (graph, _) = gnarl_graph::dataset::edge_list::load(dir.path()).unwrap();
/// assert_eq!((graph.num_nodes(), graph.num_edges()), (3, 2));
/// assert_eq!(graph.labels().unwrap().name(1), "dog");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn load(path: &Path) -> Result<(Graph, BuildReport)> {
    if !path.is_dir() {
        return Files { edges: Some(read_edges(path)?), ..Files::default() }.build();
    }
    let Some(edges) = find(path, "edges")? else {
        return Err(Error::data(
            path,
            "folder",
            "no edges.csv, edges.tsv, edges.txt or edges.edges in it, and no NAME_A.txt of a set of graphs",
        ));
    };
    let table = |stem| find(path, stem)?.map(Table::read).transpose();
    Files {
        edges: Some(read_edges(&edges)?),
        features: table("features")?,
        labels: table("labels")?,
        splits: table("splits")?,
    }
    .build()
}

/// The file of that stem, `None` where there is none; two of them are an error.
fn find(dir: &Path, stem: &str) -> Result<Option<PathBuf>> {
    let mut found =
        ["csv", "tsv", "txt", "edges"].iter().map(|e| dir.join(format!("{stem}.{e}"))).filter(|p| p.exists());
    let first = found.next();
    match (&first, found.next()) {
        (Some(first), Some(second)) => {
            Err(Error::data(&second, "folder", format!("{} is there too, keep one of them", first.display())))
        }
        _ => Ok(first),
    }
}

/// An edge file as it stands: edges in file order, self-loops and duplicates included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EdgeFile {
    /// The largest id plus one.
    pub num_nodes: usize,
    /// Both ends of each line's edge.
    pub edges: Vec<(u32, u32)>,
    /// The third column, where there is one.
    pub weights: Option<Vec<f64>>,
}

/// Reads an edge file.
///
/// Fails at the first line that is no edge, and where an id is so large for the number of edges that it must be a
/// mistake: more than 100 times that number, plus a million.
pub fn read_edges(path: &Path) -> Result<EdgeFile> {
    parse_edges(path, &text::read_bytes(path, text::MAX_TEXT_BYTES)?)
}

fn parse_edges(path: &Path, bytes: &[u8]) -> Result<EdgeFile> {
    let (body, weighted) = find_body(bytes);
    let pieces: Vec<(usize, &[u8])> = split_at_lines(bytes, body);
    let parts: Vec<std::result::Result<Part, usize>> =
        pieces.par_iter().map(|(_, piece)| parse_piece(piece, weighted)).collect();

    let mut num_edges = 0;
    for ((start, _), part) in pieces.iter().zip(&parts) {
        match part {
            Ok(part) => num_edges += part.edges.len(),
            Err(at) => return Err(explain(path, bytes, start + at, weighted)),
        }
    }
    let mut edges = Vec::with_capacity(num_edges);
    let mut weights = weighted.then(|| Vec::with_capacity(num_edges));
    let mut largest = None;
    for part in parts.into_iter().flatten() {
        edges.extend_from_slice(&part.edges);
        if let Some(weights) = &mut weights {
            weights.extend_from_slice(&part.weights);
        }
        largest = largest.max(part.largest);
    }
    let limit = sane_end(num_edges);
    if largest.is_some_and(|id| u64::from(id) >= limit) {
        let beyond = |&(u, v): &(u32, u32)| u64::from(u.max(v)) >= limit;
        let k = edges.iter().position(beyond).expect("the largest id is that of an edge");
        let (u, v) = edges[k];
        return Err(sparse_ids(path, line_of_edge(bytes, body, k), u.max(v), num_edges));
    }
    Ok(EdgeFile { num_nodes: largest.map_or(0, |id| id as usize + 1), edges, weights })
}

/// Ids below this are believed in a file of that many rows.
fn sane_end(num_rows: usize) -> u64 {
    (100 * num_rows as u64 + 1_000_001).min(MAX_NODES as u64)
}

fn sparse_ids(path: &Path, line: usize, id: u32, num_rows: usize) -> Error {
    let what = format!("node id {id} in a file of {num_rows} rows");
    at_line(path, line, format!("{what}: nodes are numbered 0, 1, 2, … without large gaps, renumber them"))
}

/// Where the edges start, after a header if there is one, and whether the first of them has a weight.
fn find_body(bytes: &[u8]) -> (usize, bool) {
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut body = at;
    let mut header_allowed = true;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = String::from_utf8_lossy(&bytes[at..end]);
        if is_data(&bytes[at..end]) {
            let mut fields = Vec::new();
            split_fields(&line, &mut fields);
            if !(header_allowed && is_header(&fields)) {
                return (body, fields.len() > 2);
            }
            header_allowed = false;
            body = end;
        }
        at = end + 1;
    }
    (body.min(bytes.len()), false)
}

/// The position of the next line break, or the end.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |found| at + found)
}

/// Whether a line is neither blank nor a comment.
fn is_data(line: &[u8]) -> bool {
    let first = line.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    !matches!(first, None | Some(b'#' | b'%'))
}

/// A first line without a single number.
fn is_header(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.parse::<f64>().is_err())
}

/// Splits at commas, else at tabs, else at spaces; spaces around a field go.
fn split_fields<'a>(line: &'a str, fields: &mut Vec<&'a str>) {
    fields.clear();
    let line = line.trim_matches([' ', '\r']);
    if line.contains(',') {
        fields.extend(line.split(',').map(str::trim));
    } else if line.contains('\t') {
        fields.extend(line.split('\t').map(str::trim));
    } else {
        fields.extend(line.split_ascii_whitespace());
    }
}

/// Pieces of about [`PIECE_BYTES`] that end with a line, each with its position.
fn split_at_lines(bytes: &[u8], body: usize) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    let mut start = body;
    while start < bytes.len() {
        let end = (line_end(bytes, (start + PIECE_BYTES).min(bytes.len())) + 1).min(bytes.len());
        pieces.push((start, &bytes[start..end]));
        start = end;
    }
    pieces
}

/// The edges of one piece.
#[derive(Default)]
struct Part {
    edges: Vec<(u32, u32)>,
    weights: Vec<f64>,
    largest: Option<u32>,
}

/// Parses one piece; fails with the position of the first line that is no edge. Says nothing about why: that is
/// [`explain`]'s work, so that this stays fast.
fn parse_piece(bytes: &[u8], weighted: bool) -> std::result::Result<Part, usize> {
    const SHORTEST_LINE: usize = 4;
    let mut part = Part { edges: Vec::with_capacity(bytes.len() / (3 * SHORTEST_LINE)), ..Part::default() };
    let mut at = 0;
    while at < bytes.len() {
        let line = at;
        at = skip_blanks(bytes, at);
        match bytes.get(at) {
            None => break,
            Some(b'\n') => {
                at += 1;
                continue;
            }
            Some(b'#' | b'%') => {
                at = line_end(bytes, at);
                continue;
            }
            Some(_) => {}
        }
        let edge = (|| {
            let u = parse_digits(bytes, &mut at)?;
            skip_separator(bytes, &mut at)?;
            let v = parse_digits(bytes, &mut at)?;
            if weighted {
                skip_separator(bytes, &mut at)?;
                part.weights.push(parse_weight(bytes, &mut at)?);
            }
            at = skip_blanks(bytes, at);
            matches!(bytes.get(at), None | Some(b'\n')).then_some((u, v))
        })();
        let (u, v) = edge.ok_or(line)?;
        part.edges.push((u, v));
        part.largest = part.largest.max(Some(u.max(v)));
    }
    Ok(part)
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Blanks, at most one comma, blanks; at least one of them.
fn skip_separator(bytes: &[u8], at: &mut usize) -> Option<()> {
    let start = *at;
    *at = skip_blanks(bytes, *at);
    if bytes.get(*at) == Some(&b',') {
        *at = skip_blanks(bytes, *at + 1);
    }
    (*at > start).then_some(())
}

/// A whole number that fits a node id.
fn parse_digits(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let start = *at;
    let mut id = 0u64;
    while let Some(digit) = bytes.get(*at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        id = id * 10 + u64::from(digit);
        if id >= MAX_NODES as u64 {
            return None;
        }
        *at += 1;
    }
    (*at > start).then_some(id as u32)
}

fn parse_weight(bytes: &[u8], at: &mut usize) -> Option<f64> {
    let length = bytes[*at..].iter().position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b','));
    let field = &bytes[*at..length.map_or(bytes.len(), |length| *at + length)];
    *at += field.len();
    let weight: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    weight.is_finite().then_some(weight)
}

/// Why the line at `start` is no edge.
fn explain(path: &Path, bytes: &[u8], start: usize, weighted: bool) -> Error {
    let line = 1 + bytes[..start].iter().filter(|&&b| b == b'\n').count();
    let text = String::from_utf8_lossy(&bytes[start..line_end(bytes, start)]);
    let mut fields = Vec::new();
    split_fields(&text, &mut fields);
    let fault = |what: String| at_line(path, line, what);
    match (fields.len(), weighted) {
        (2, true) => return fault("no weight, but the edges before have one".into()),
        (3, false) => return fault(format!("a weight {}, but the edges before have none", quoted(fields[2]))),
        (2 | 3, _) => {}
        (n, _) => return fault(format!("{} has {n} fields, 'u,v' or 'u,v,weight' is expected", quoted(text.trim()))),
    }
    for field in &fields[..2] {
        if let Err(e) = parse_id(path, line, field, "a node id", 0..MAX_NODES as u64) {
            return e;
        }
    }
    match fields.get(2).map(|field| (field, field.parse::<f64>())) {
        Some((field, Err(_))) => fault(format!("{} is not a weight, a finite number is expected", quoted(field))),
        Some((field, Ok(w))) if !w.is_finite() => {
            fault(format!("{} is not a weight, a finite number is expected", quoted(field)))
        }
        _ => fault(format!("{} is not an edge, 'u,v' is expected", quoted(text.trim()))),
    }
}

/// The line of the `k`-th edge.
fn line_of_edge(bytes: &[u8], body: usize, k: usize) -> usize {
    let before = bytes[..body].iter().filter(|&&b| b == b'\n').count();
    let mut data = bytes[body..].split(|&b| b == b'\n').enumerate().filter(|(_, line)| is_data(line));
    before + 1 + data.nth(k).map_or(0, |(i, _)| i)
}

/// A text file of rows.
struct Table {
    path: PathBuf,
    text: String,
}

impl Table {
    fn read(path: PathBuf) -> Result<Self> {
        Ok(Self { text: text::read(&path)?, path })
    }

    /// Rows that are neither blank nor comments, numbered.
    fn rows(&self) -> impl Iterator<Item = (usize, &str)> {
        text::lines(self.text()).filter(|(_, line)| is_data(line.as_bytes()))
    }

    fn text(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Parses the id of a node; it may lie beyond the edges' ids, but not by much for a file of that many rows.
    fn node(&self, line: usize, field: &str, num_known: usize, num_rows: usize) -> Result<u32> {
        let id = parse_id(&self.path, line, field, "a node id", 0..MAX_NODES as u64)?;
        if u64::from(id) >= sane_end(num_rows).max(num_known as u64) {
            return Err(sparse_ids(&self.path, line, id, num_rows));
        }
        Ok(id)
    }

    fn fault(&self, what: impl Into<String>) -> Error {
        Error::data(&self.path, "whole file", what)
    }
}

/// What a row is about: the next node, or the one it names.
#[derive(Default)]
struct RowNodes {
    ids: Option<Vec<u32>>,
    num_rows: usize,
}

impl RowNodes {
    /// The least number of nodes that has room for all rows.
    fn num_nodes(&self) -> usize {
        match &self.ids {
            Some(ids) => ids.iter().max().map_or(0, |&id| id as usize + 1),
            None => self.num_rows,
        }
    }

    /// The row of each node. Fails where rows in order do not match the nodes, or two rows name one node.
    fn row_of(&self, table: &Table, num_nodes: usize) -> Result<Vec<Option<u32>>> {
        let Some(ids) = &self.ids else {
            if self.num_rows != num_nodes {
                let rows = self.num_rows;
                return Err(
                    table.fault(format!("{rows} rows, but there are {num_nodes} nodes, one row each is expected"))
                );
            }
            return Ok((0..num_nodes as u32).map(Some).collect());
        };
        let mut rows = vec![None; num_nodes];
        for (row, &id) in ids.iter().enumerate() {
            if rows[id as usize].replace(row as u32).is_some() {
                return Err(table.fault(format!("node {id} has two rows")));
            }
        }
        Ok(rows)
    }
}

/// Everything a graph consists of.
#[derive(Default)]
struct Files {
    edges: Option<EdgeFile>,
    features: Option<Table>,
    labels: Option<Table>,
    splits: Option<Table>,
}

impl Files {
    fn build(self) -> Result<(Graph, BuildReport)> {
        let edges = self.edges.unwrap_or_default();
        let features = self.features.as_ref().map(|t| parse_features(t, edges.num_nodes)).transpose()?;
        let labels = self.labels.as_ref().map(|t| parse_labels(t, edges.num_nodes)).transpose()?;
        let from_features = features.as_ref().map_or(0, |f| f.nodes.num_nodes());
        let from_labels = labels.as_ref().map_or(0, |l| l.nodes.num_nodes());
        let n = edges.num_nodes.max(from_features).max(from_labels);

        let (mut graph, report) = match edges.weights {
            None => Graph::from_edges(n, edges.edges)?,
            Some(weights) => {
                Graph::from_weighted_edges(n, edges.edges.into_iter().zip(weights).map(|((u, v), w)| (u, v, w)))?
            }
        };
        if let (Some(table), Some(rows)) = (&self.features, features) {
            graph = graph.with_features(rows.build(table, n)?)?;
        }
        if let (Some(table), Some(rows)) = (&self.labels, labels) {
            graph = graph.with_labels(rows.build(table, n)?)?;
        }
        if let Some(table) = &self.splits {
            graph = graph.with_splits(parse_splits(table, n)?)?;
        }
        Ok((graph, report))
    }
}

/// The rows of a features file.
struct FeatureRows {
    nodes: RowNodes,
    num_cols: usize,
    values: Vec<f32>,
}

fn parse_features(table: &Table, num_known: usize) -> Result<FeatureRows> {
    let total = table.rows().count();
    let mut rows = FeatureRows { nodes: RowNodes::default(), num_cols: 0, values: Vec::new() };
    let mut fields = Vec::new();
    let mut header_allowed = true;
    for (line, row) in table.rows() {
        split_fields(row, &mut fields);
        let named = fields[0].eq_ignore_ascii_case("node");
        if std::mem::take(&mut header_allowed) && (named || is_header(&fields)) {
            rows.nodes.ids = named.then(Vec::new);
            continue;
        }
        let values = match &mut rows.nodes.ids {
            Some(ids) => {
                ids.push(table.node(line, fields[0], num_known, total)?);
                &fields[1..]
            }
            None => &fields[..],
        };
        if rows.nodes.num_rows == 0 {
            rows.num_cols = values.len();
        } else if values.len() != rows.num_cols {
            let what = format!("{} features, but the rows before have {}", values.len(), rows.num_cols);
            return Err(at_line(&table.path, line, what));
        }
        for field in values {
            rows.values.push(parse_f32(&table.path, line, field, "a feature")?);
        }
        rows.nodes.num_rows += 1;
    }
    Ok(rows)
}

impl FeatureRows {
    fn build(self, table: &Table, num_nodes: usize) -> Result<Features> {
        let order = self.nodes.row_of(table, num_nodes)?;
        if let Some(node) = order.iter().position(Option::is_none) {
            return Err(table.fault(format!("node {node} has no row, but there are {num_nodes} nodes")));
        }
        let matrix = DenseMatrix::new(self.nodes.num_rows, self.num_cols, self.values)?;
        let order: Vec<u32> = order.into_iter().flatten().collect();
        Ok(Features::Dense(if order.is_sorted() { matrix } else { matrix.select_rows(&order) }))
    }
}

/// The rows of a labels file, `None` for unlabelled.
struct LabelRows<'a> {
    nodes: RowNodes,
    classes: Vec<Option<&'a str>>,
}

fn parse_labels(table: &Table, num_known: usize) -> Result<LabelRows<'_>> {
    let total = table.rows().count();
    let first = table.rows().next().map_or("", |(_, row)| row);
    let by_node = two_columns(first);
    let mut rows = LabelRows { nodes: RowNodes { ids: by_node.then(Vec::new), num_rows: 0 }, classes: Vec::new() };
    let mut header_allowed = true;
    // Blank rows count here where rows stand in order: such nodes are unlabelled.
    for (i, row) in table.text().trim_end().split('\n').enumerate() {
        let (line, row) = (i + 1, row.trim_matches([' ', '\r']));
        let blank = row.trim().is_empty();
        if (blank && (by_node || total == 0)) || (!blank && !is_data(row.as_bytes())) {
            continue;
        }
        let (node, class) = match by_node {
            true => row.split_once([',', '\t']).or_else(|| row.split_once(' ')).unwrap_or((row, "")),
            false => ("", row),
        };
        let class = class.trim();
        if !blank && std::mem::take(&mut header_allowed) {
            let is_title = match by_node {
                true => node.trim().parse::<f64>().is_err(),
                false => ["label", "labels", "class"].iter().any(|title| class.eq_ignore_ascii_case(title)),
            };
            if is_title {
                continue;
            }
        }
        if let Some(ids) = &mut rows.nodes.ids {
            ids.push(table.node(line, node.trim(), num_known, total)?);
        }
        rows.classes.push(Some(class).filter(|c| !matches!(*c, "" | "-1" | "?")));
        rows.nodes.num_rows += 1;
    }
    Ok(rows)
}

/// Whether a labels file's first row has a node beside the class. A space separates them only where the first field
/// can be a node: classes may have spaces in their names.
fn two_columns(first: &str) -> bool {
    let node_like = |field: &str| field.parse::<f64>().is_ok() || field.eq_ignore_ascii_case("node");
    first.contains([',', '\t']) || first.split_once(' ').is_some_and(|(field, _)| node_like(field))
}

impl LabelRows<'_> {
    fn build(self, table: &Table, num_nodes: usize) -> Result<Labels> {
        let rows = self.nodes.row_of(table, num_nodes)?;
        let class = |row: &Option<u32>| row.and_then(|row| self.classes[row as usize]);
        let number = |row| match class(row) {
            None => Some(None),
            Some(class) => class.parse().ok().map(Some),
        };
        if let Some(values) = rows.iter().map(number).collect() {
            return Ok(integer_labels(values));
        }
        let mut names: Vec<&str> = self.classes.iter().flatten().copied().collect();
        names.sort_unstable();
        names.dedup();
        let index = |name| names.binary_search(&name).expect("every name was collected") as u32;
        let classes = rows.iter().map(|row| class(row).map(index)).collect();
        Labels::new(classes, names.len())?.with_names(names.iter().map(|name| name.to_string()).collect())
    }
}

fn parse_splits(table: &Table, num_nodes: usize) -> Result<Vec<Split>> {
    let mut splits: Vec<(&str, [Vec<u32>; 3])> = Vec::new();
    let mut number: HashMap<&str, usize> = HashMap::new();
    let mut fields = Vec::new();
    let mut header_allowed = true;
    for (line, row) in table.rows() {
        split_fields(row, &mut fields);
        if std::mem::take(&mut header_allowed) && is_header(&fields) {
            continue;
        }
        let &[node, split, part] = &fields[..] else {
            return Err(at_line(&table.path, line, format!("{} is not 'node,split,part'", quoted(row))));
        };
        let id = parse_id(&table.path, line, node, "a node id", 0..num_nodes as u64)?;
        let part = match part.to_ascii_lowercase().as_str() {
            "train" => 0,
            "val" | "valid" | "validation" => 1,
            "test" => 2,
            _ => return Err(at_line(&table.path, line, format!("{} is not train, val or test", quoted(part)))),
        };
        let k = *number.entry(split).or_insert_with(|| {
            splits.push((split, Default::default()));
            splits.len() - 1
        });
        if splits.len() > MAX_SPLITS {
            return Err(at_line(&table.path, line, format!("more than {MAX_SPLITS} splits")));
        }
        splits[k].1[part].push(id);
    }
    splits
        .into_iter()
        .map(|(name, [train, val, test])| Split::new(name, train, val, test).map_err(|e| table.fault(e.to_string())))
        .collect()
}

/// Loads a graph from its files, separated by zero bytes in the order edges, features, labels, splits, for fuzzing: any
/// bytes give a graph or an error.
#[doc(hidden)]
pub fn fuzz_edge_list(data: &[u8]) {
    let path = Path::new("fuzz.csv");
    let mut parts = data.split(|&b| b == 0);
    let Ok(edges) = parse_edges(path, parts.next().unwrap_or_default()) else { return };
    let mut table = || {
        let text = parts.next().filter(|part| !part.is_empty()).map(String::from_utf8_lossy)?;
        Some(Table { path: path.to_path_buf(), text: text.into_owned() })
    };
    let (features, labels, splits) = (table(), table(), table());
    let _ = Files { edges: Some(edges), features, labels, splits }.build();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_file_and_end_with_lines() {
        let text = "12 345\n".repeat(PIECE_BYTES / 3);
        let pieces = split_at_lines(text.as_bytes(), 7);
        assert!(pieces.len() > 2);
        let mut at = 7;
        for (start, piece) in &pieces {
            assert_eq!((*start, piece.last()), (at, Some(&b'\n')));
            at += piece.len();
        }
        assert_eq!(at, text.len());
    }

    #[test]
    fn errors_far_into_a_file_name_their_line() {
        let mut text = "1 2\n".repeat(PIECE_BYTES);
        text.push_str("# a comment\n3 4\n3 4\n5 x\n");
        let e = parse_edges(Path::new("f"), text.as_bytes()).unwrap_err().to_string();
        assert!(e.starts_with(&format!("f: line {}: 'x' is not a node id", PIECE_BYTES + 4)), "{e}");
        let good = parse_edges(Path::new("f"), &text.as_bytes()[..text.len() - 4]).unwrap();
        assert_eq!((good.edges.len(), good.num_nodes), (PIECE_BYTES + 2, 5));
    }

    #[test]
    fn headers_have_no_numbers() {
        assert_eq!(find_body(b"# c\n\nfrom,to\n0,1\n"), (12, false));
        assert_eq!(find_body(b"from to w\n0 1 2\n"), (9, true));
        assert_eq!(find_body(b"x,1\n0,1\n"), (0, false));
        assert_eq!(find_body(b"a,b"), (3, false));
        assert_eq!(find_body(b"\xef\xbb\xbf0,1"), (3, false));
        assert_eq!(find_body(b""), (0, false));
    }
}
