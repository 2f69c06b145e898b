//! Reads the edge file: integers are parsed in parallel; if not all ids are integers, they are
//! names.
//!
//! Ten million edges are parsed in pieces that do not depend on the number of threads. A file that
//! the fast reader does not support, since it has names, quotation marks or more columns, is read
//! row by row.

use std::path::Path;

use rayon::prelude::*;

use super::table::{Table, is_data, is_header, refuse_binary};
use crate::columnar;
use crate::edge_sink::{
    EdgeSink, NameIndex, Streamed, TITLES, is_one_of, is_weight_title, sane_end,
};
use crate::text::{self, at_line, parse_id, quoted};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

/// Number of bytes parsed by one task.
const PIECE_BYTES: usize = 1 << 20;

/// An edge file as stored: edges in file order, self-loops and duplicates included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EdgeFile {
    /// The largest id plus one, or the number of names.
    pub num_nodes: usize,
    /// Both ends of each edge.
    pub edges: Vec<(u32, u32)>,
    /// The column of weights, if there is one.
    pub weights: Option<Vec<f64>>,
    /// Names of the nodes, in order of first occurrence; `None` if ids are integers.
    pub names: Option<Vec<String>>,
    /// Titles of columns that are neither ids nor weights.
    pub columns_dropped: Vec<String>,
}

/// Reads an edge file.
///
/// Ids that are not all integers of at least 0 are names; negative or malformed numbers are errors.
/// Fails at the first line that is no edge. Also fails at an id that is implausibly large for the
/// number of edges: more than 100 times that number, plus a million.
pub fn read_edges(path: &Path) -> Result<EdgeFile> {
    if columnar::is_columnar(path) {
        let mut all = Collected::default();
        let known = columnar::stream_edges(path, &mut all)?;
        let weights = columnar::is_weighted(path)?.then_some(all.weights);
        let Streamed {
            num_nodes,
            names,
            columns_dropped,
            ..
        } = known;
        return Ok(EdgeFile {
            num_nodes,
            edges: all.edges,
            weights,
            names,
            columns_dropped,
        });
    }
    parse_edges(path, &text::read_bytes(path, text::MAX_TEXT_BYTES)?)
}

/// A sink that keeps all edges.
#[derive(Default)]
struct Collected {
    edges: Vec<(u32, u32)>,
    weights: Vec<f64>,
}

impl EdgeSink for Collected {
    fn take(&mut self, edges: &[(u32, u32)], weights: &[f64]) -> Result<()> {
        self.edges.extend_from_slice(edges);
        self.weights.extend_from_slice(weights);
        Ok(())
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn advance(&mut self, _: u64) {}
}

pub(super) fn parse_edges(path: &Path, bytes: &[u8]) -> Result<EdgeFile> {
    let start = find_body(bytes);
    match parse_numbers(path, bytes, &start)? {
        Some(file) => Ok(file),
        None => parse_rows(&Table::parse(path.to_path_buf(), text::utf8(path, bytes)?)?),
    }
}

/// Parses a file of integers, with or without weights; `None` if it is something else.
fn parse_numbers(path: &Path, bytes: &[u8], start: &Start) -> Result<Option<EdgeFile>> {
    let Start { body, weighted, .. } = *start;
    if let Some(header) = &start.header {
        if needs_rows(header) || body >= bytes.len() {
            return Ok(None);
        }
        refuse_binary(path, text::utf8(path, &bytes[..body])?)?;
    }
    let pieces: Vec<(usize, &[u8])> = split_at_lines(bytes, body);
    let parts: Vec<std::result::Result<Part, usize>> = pieces
        .par_iter()
        .map(|(_, piece)| parse_piece(piece, weighted))
        .collect();

    let mut num_edges = 0;
    for ((start, _), part) in pieces.iter().zip(&parts) {
        match part {
            Ok(part) => num_edges += part.edges.len(),
            Err(at) if may_be_named(bytes, start + at) => return Ok(None),
            Err(at) => return Err(explain(path, bytes, start + at, weighted, 0)),
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
        let k = edges
            .iter()
            .position(beyond)
            .expect("the largest id is that of an edge");
        let (u, v) = edges[k];
        return Err(sparse_ids(
            path,
            line_of_edge(bytes, body, k),
            u.max(v),
            num_edges,
        ));
    }
    Ok(Some(EdgeFile {
        num_nodes: largest.map_or(0, |id| id as usize + 1),
        edges,
        weights,
        ..EdgeFile::default()
    }))
}

/// Returns true if the line at `start` may be one for the row reader.
pub(super) fn may_be_named(bytes: &[u8], start: usize) -> bool {
    let text = String::from_utf8_lossy(&bytes[start..line_end(bytes, start)]);
    let mut fields = Vec::new();
    split_fields(&text, &mut fields);
    text.contains('"')
        || (fields.len() > 1 && fields[..2].iter().any(|id| id.parse::<f64>().is_err()))
}

pub(super) fn sparse_ids(path: &Path, line: usize, id: u32, num_rows: usize) -> Error {
    let what = format!("node id {id} in a file of {num_rows} rows");
    at_line(
        path,
        line,
        format!("{what}: nodes are numbered 0, 1, 2, … without large gaps, renumber them"),
    )
}

/// The first lines of an edge file.
#[derive(Debug, PartialEq)]
pub(super) struct Start {
    /// Byte offset of the first edge.
    pub body: usize,
    /// True if the first edge has a weight.
    pub weighted: bool,
    /// The first line, if it has no number.
    pub header: Option<Vec<String>>,
}

/// Returns true if only the row reader can interpret the columns below these titles: more columns,
/// or a third column that is not called a weight.
pub(super) fn needs_rows(titles: &[String]) -> bool {
    let is_other = |title: &String| !is_weight_title(title);
    titles.len() > 3
        || titles.get(2).is_some_and(is_other)
        || titles.iter().any(|title| title.contains('"'))
}

pub(super) fn find_body(bytes: &[u8]) -> Start {
    let mut at = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let mut body = at;
    let mut header: Option<Vec<String>> = None;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        if is_data(&bytes[at..end]) {
            let line = String::from_utf8_lossy(&bytes[at..end]);
            let mut fields = Vec::new();
            split_fields(&line, &mut fields);
            if header.is_some() || !is_header(&fields) {
                return Start {
                    body,
                    weighted: fields.len() > 2,
                    header,
                };
            }
            header = Some(fields.iter().map(|field| field.to_string()).collect());
            body = end;
        }
        at = end + 1;
    }
    Start {
        body: if header.is_some() {
            bytes.len()
        } else {
            body.min(bytes.len())
        },
        weighted: false,
        header,
    }
}

/// Returns the position of the next line break, or the end.
fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |found| at + found)
}

/// Splits at commas, else at tabs, else at spaces; spaces around a field are trimmed.
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

/// Splits into pieces of about [`PIECE_BYTES`] that end with a line, each with its position.
pub(super) fn split_at_lines(bytes: &[u8], body: usize) -> Vec<(usize, &[u8])> {
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
pub(super) struct Part {
    pub edges: Vec<(u32, u32)>,
    pub weights: Vec<f64>,
    pub largest: Option<u32>,
}

/// Parses one piece; fails with the position of the first line that is no edge. The reason is left
/// to [`explain`], so that this stays fast.
pub(super) fn parse_piece(bytes: &[u8], weighted: bool) -> std::result::Result<Part, usize> {
    const SHORTEST_LINE: usize = 4;
    let mut part = Part {
        edges: Vec::with_capacity(bytes.len() / (3 * SHORTEST_LINE)),
        ..Part::default()
    };
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

/// Skips blanks, at most one comma, and blanks; at least one of them must be there.
fn skip_separator(bytes: &[u8], at: &mut usize) -> Option<()> {
    let start = *at;
    *at = skip_blanks(bytes, *at);
    if bytes.get(*at) == Some(&b',') {
        *at = skip_blanks(bytes, *at + 1);
    }
    (*at > start).then_some(())
}

/// Parses a whole number that fits a node id.
fn parse_digits(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let start = *at;
    let mut id = 0u64;
    while let Some(digit) = bytes
        .get(*at)
        .map(|b| b.wrapping_sub(b'0'))
        .filter(|&d| d < 10)
    {
        id = id * 10 + u64::from(digit);
        if id >= MAX_NODES as u64 {
            return None;
        }
        *at += 1;
    }
    (*at > start).then_some(id as u32)
}

fn parse_weight(bytes: &[u8], at: &mut usize) -> Option<f64> {
    let length = bytes[*at..]
        .iter()
        .position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b','));
    let field = &bytes[*at..length.map_or(bytes.len(), |length| *at + length)];
    *at += field.len();
    let weight: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    is_weight(weight).then_some(weight)
}

/// Returns true if a weight fits 32 bits, in which networks compute; a larger weight would become
/// infinite.
fn is_weight(weight: f64) -> bool {
    weight.abs() <= f64::from(f32::MAX)
}

/// Explains why the line at `start` is no edge; the file has this many lines before these bytes.
pub(super) fn explain(
    path: &Path,
    bytes: &[u8],
    start: usize,
    weighted: bool,
    before: usize,
) -> Error {
    let line = before + 1 + bytes[..start].iter().filter(|&&b| b == b'\n').count();
    let text = String::from_utf8_lossy(&bytes[start..line_end(bytes, start)]);
    let mut fields = Vec::new();
    split_fields(&text, &mut fields);
    if let Err(e) = check_fields(path, line, &fields, if weighted { 3 } else { 2 }) {
        return e;
    }
    for field in &fields[..2] {
        if let Err(e) = parse_id(path, line, field, "a node id", 0..MAX_NODES as u64) {
            return e;
        }
    }
    match fields.get(2).map(|field| weight(path, line, field)) {
        Some(Err(e)) => e,
        _ => at_line(
            path,
            line,
            format!("{} is not an edge, 'u,v' is expected", quoted(text.trim())),
        ),
    }
}

/// Fails unless a row has as many fields as those before.
pub(super) fn check_fields(
    path: &Path,
    line: usize,
    fields: &[&str],
    expected: usize,
) -> Result<()> {
    let fault = |what: String| Err(at_line(path, line, what));
    match (fields.len(), expected) {
        (found, expected) if found == expected => Ok(()),
        (2, 3) => fault("no weight, but the edges before have one".into()),
        (3, 2) => fault(format!(
            "a weight {}, but the edges before have none",
            quoted(fields[2])
        )),
        (n, 2 | 3) => {
            let row = quoted(&fields.join(","));
            fault(format!(
                "{row} has {n} fields, 'u,v' or 'u,v,weight' is expected"
            ))
        }
        (n, expected) => fault(format!("{n} fields, but the header has {expected}")),
    }
}

pub(super) fn weight(path: &Path, line: usize, field: &str) -> Result<f64> {
    match field.parse::<f64>() {
        Ok(weight) if is_weight(weight) => Ok(weight),
        Ok(weight) if weight.is_finite() => {
            let what = format!(
                "{} is too large for a weight, at most {:e} fits",
                quoted(field),
                f32::MAX
            );
            Err(at_line(path, line, what))
        }
        _ => Err(at_line(
            path,
            line,
            format!(
                "{} is not a weight, a finite number is expected",
                quoted(field)
            ),
        )),
    }
}

/// Returns the line of the `k`-th edge.
fn line_of_edge(bytes: &[u8], body: usize, k: usize) -> usize {
    let before = bytes[..body].iter().filter(|&&b| b == b'\n').count();
    let mut data = bytes[body..]
        .split(|&b| b == b'\n')
        .enumerate()
        .filter(|(_, line)| is_data(line));
    before + 1 + data.nth(k).map_or(0, |(i, _)| i)
}

/// The role of each column, and true if the first row is a header.
pub(super) struct Columns {
    pub has_header: bool,
    pub count: usize,
    pub weight: Option<usize>,
    pub dropped: Vec<String>,
}

impl Columns {
    pub fn find(table: &Table) -> Result<Self> {
        let first = table.first()?;
        let plain = |has_header| Self {
            has_header,
            count: if first.len() > 2 { 3 } else { 2 },
            weight: (first.len() > 2).then_some(2),
            dropped: Vec::new(),
        };
        match first.len() {
            0 | 1 => Ok(plain(false)),
            2 => Ok(plain(Self::is_pair_of_titles(table, &first)?)),
            3 if first[2].parse::<f64>().is_err() => {
                // A year or a kind of edge under its title is no weight. Without titles for the ids
                // it may be an error.
                let is_other =
                    !is_weight_title(&first[2]) && Self::is_pair_of_titles(table, &first[..2])?;
                Ok(if is_other {
                    Self {
                        has_header: true,
                        count: 3,
                        weight: None,
                        dropped: vec![first[2].clone()],
                    }
                } else {
                    plain(true)
                })
            }
            3 => Ok(plain(false)),
            _ if is_header(&first) => {
                let weight = first
                    .iter()
                    .skip(2)
                    .position(|title| is_weight_title(title))
                    .map(|i| i + 2);
                let rest = first
                    .iter()
                    .enumerate()
                    .skip(2)
                    .filter(|(i, _)| Some(*i) != weight);
                let dropped = rest.map(|(_, title)| title.clone()).collect();
                Ok(Self {
                    has_header: true,
                    count: first.len(),
                    weight,
                    dropped,
                })
            }
            _ => Ok(plain(false)),
        }
    }

    /// Returns true if the first row names the columns. Either the ids below it are integers and it
    /// has none, or both words are typical column titles and name no node.
    fn is_pair_of_titles(table: &Table, first: &[String]) -> Result<bool> {
        let (mut integers, mut known) = (
            is_header(first) && table.num_rows() > 1,
            first.iter().all(|t| is_one_of(t, &TITLES)),
        );
        let mut is_first = true;
        table.each_row(|_, fields| {
            if !std::mem::take(&mut is_first) {
                integers &= fields.iter().take(2).all(|id| is_integer(id));
                known &= !fields
                    .iter()
                    .take(2)
                    .any(|id| first.iter().any(|title| title == id));
            }
            Ok(())
        })?;
        Ok(integers || known)
    }
}

pub(super) fn is_integer(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())
}

/// Reads a file row by row.
fn parse_rows(table: &Table) -> Result<EdgeFile> {
    let columns = Columns::find(table)?;
    let path = &table.path;
    let mut names = NameIndex::default();
    let mut edges = Vec::with_capacity(table.num_rows());
    let mut lines = Vec::with_capacity(table.num_rows());
    let mut weights = columns.weight.map(|_| Vec::with_capacity(table.num_rows()));
    let mut is_first = true;
    table.each_row(|line, fields| {
        if std::mem::take(&mut is_first) && columns.has_header {
            return Ok(());
        }
        check_fields(path, line, fields, columns.count)?;
        if fields[..2].iter().any(|id| id.is_empty()) {
            return Err(at_line(
                path,
                line,
                "a node without a name, 'u,v' is expected",
            ));
        }
        edges.push((names.get_or_add(fields[0]), names.get_or_add(fields[1])));
        lines.push(line);
        if let (Some(weights), Some(column)) = (&mut weights, columns.weight) {
            weights.push(weight(path, line, fields[column])?);
        }
        Ok(())
    })?;
    let named = EdgeFile {
        num_nodes: names.len(),
        edges,
        weights,
        names: Some(names.into_names()),
        columns_dropped: columns.dropped,
    };
    numbered(path, &lines, named)
}

/// Converts ids to integers if all of them are integers.
fn numbered(path: &Path, lines: &[usize], mut file: EdgeFile) -> Result<EdgeFile> {
    let names = file.names.take().unwrap_or_default();
    if names.iter().any(|name| name.parse::<f64>().is_err()) {
        return Ok(EdgeFile {
            names: Some(names),
            ..file
        });
    }
    // All ids are numbers: an invalid one is an error, not a name.
    let limit = sane_end(lines.len());
    let mut largest = None;
    for ((u, v), &line) in file.edges.iter_mut().zip(lines) {
        for end in [u, v] {
            let id = parse_id(
                path,
                line,
                &names[*end as usize],
                "a node id",
                0..MAX_NODES as u64,
            )?;
            if u64::from(id) >= limit {
                return Err(sparse_ids(path, line, id, lines.len()));
            }
            largest = largest.max(Some(id));
            *end = id;
        }
    }
    file.num_nodes = largest.map_or(0, |id| id as usize + 1);
    Ok(file)
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
        text.push_str("# a comment\n3 4\n3 4\n5 -1\n");
        let e = parse_edges(Path::new("f"), text.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(
            e.starts_with(&format!(
                "f: line {}: '-1' is not a node id",
                PIECE_BYTES + 4
            )),
            "{e}"
        );
        let good = parse_edges(Path::new("f"), &text.as_bytes()[..text.len() - 5]).unwrap();
        assert_eq!((good.edges.len(), good.num_nodes), (PIECE_BYTES + 2, 5));
    }

    #[test]
    fn headers_have_no_numbers() {
        let found = |bytes: &[u8]| {
            let Start {
                body,
                weighted,
                header,
            } = find_body(bytes);
            (body, weighted, header.is_some())
        };
        assert_eq!(found(b"# c\n\nfrom,to\n0,1\n"), (12, false, true));
        assert_eq!(found(b"from to w\n0 1 2\n"), (9, true, true));
        assert_eq!(found(b"x,1\n0,1\n"), (0, false, false));
        assert_eq!(found(b"a,b"), (3, false, true));
        assert_eq!(found(b"\xef\xbb\xbf0,1"), (3, false, false));
        assert_eq!(found(b""), (0, false, false));
    }
}
