//! Reads an edge file block by block, for files larger than memory. It accepts the files of
//! [`read_edges`](super::read_edges), with equal messages.
//!
//! One difference: the first block alone, not the whole file, decides whether a first row of two
//! words is a header.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rayon::prelude::*;

use super::edges::{
    Columns, check_fields, explain, find_body, is_integer, may_be_named, needs_rows, parse_piece,
    sparse_ids, split_at_lines, weight,
};
use super::table::{Table, refuse_binary};
use crate::columnar;
use crate::edge_sink::{EdgeSink, NameIndex, Streamed, sane_end};
use crate::text::{self, at_line, parse_id};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

/// Number of bytes read at once.
const BLOCK_BYTES: usize = 32 << 20;

/// Largest length of a line of edges, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Returns true if the first edge of a file has a weight.
pub(crate) fn is_weighted(path: &Path) -> Result<bool> {
    if columnar::is_columnar(path) {
        return columnar::is_weighted(path);
    }
    let mut blocks = Blocks::open(path)?;
    let Some(block) = blocks.next()? else {
        return Ok(false);
    };
    let start = find_body(&block.bytes);
    if start
        .header
        .as_ref()
        .is_none_or(|header| !needs_rows(header))
    {
        return Ok(start.weighted);
    }
    Ok(Columns::find(&block.table(path)?)?.weight.is_some())
}

/// Passes every edge of a file to the sink. Fails as [`read_edges`](super::read_edges) does. Memory
/// holds one block and the names.
pub(crate) fn stream_edges(path: &Path, sink: &mut dyn EdgeSink) -> Result<Streamed> {
    if columnar::is_columnar(path) {
        return columnar::stream_edges(path, sink);
    }
    if let Some(streamed) = numbers(path, sink)? {
        return Ok(streamed);
    }
    for named in [false, true] {
        sink.reset();
        if let Some(streamed) = rows(path, sink, named)? {
            return Ok(streamed);
        }
    }
    Err(Error::data(path, "whole file", "no edges in it"))
}

/// Reads integers, with or without weights; `None` if it is something else.
fn numbers(path: &Path, sink: &mut dyn EdgeSink) -> Result<Option<Streamed>> {
    let mut blocks = Blocks::open(path)?;
    let mut known = Streamed::default();
    let (mut weighted, mut largest, mut is_first) = (false, None, true);
    while let Some(block) = blocks.next()? {
        let bytes = &block.bytes;
        let mut body = 0;
        if std::mem::take(&mut is_first) {
            let start = find_body(bytes);
            if let Some(header) = &start.header {
                if needs_rows(header) || start.body >= bytes.len() {
                    return Ok(None);
                }
                refuse_binary(path, text::utf8(path, &bytes[..start.body])?)?;
            }
            (body, weighted) = (start.body, start.weighted);
        }
        let pieces = split_at_lines(bytes, body);
        let parts: Vec<_> = pieces
            .par_iter()
            .map(|(_, piece)| parse_piece(piece, weighted))
            .collect();
        for ((start, _), part) in pieces.iter().zip(parts) {
            match part {
                Ok(part) => {
                    sink.take(&part.edges, &part.weights)?;
                    known.num_rows += part.edges.len() as u64;
                    largest = largest.max(part.largest);
                }
                Err(at) if may_be_named(bytes, start + at) => return Ok(None),
                Err(at) => {
                    return Err(explain(path, bytes, start + at, weighted, block.first_line));
                }
            }
        }
        sink.advance(blocks.done);
    }
    let limit = sane_end(known.num_rows as usize);
    if let Some(id) = largest.filter(|id| u64::from(*id) >= limit) {
        let what = format!("node id {id} in a file of {} rows", known.num_rows);
        let what =
            format!("{what}: nodes are numbered 0, 1, 2, … without large gaps, renumber them");
        return Err(Error::data(path, "whole file", what));
    }
    known.num_nodes = largest.map_or(0, |id| id as usize + 1);
    Ok(Some(known))
}

/// Reads row by row: integers between quotation marks or among more columns, or names. `None` if an
/// id is no integer and `named` is false.
fn rows(path: &Path, sink: &mut dyn EdgeSink, named: bool) -> Result<Option<Streamed>> {
    let mut blocks = Blocks::open(path)?;
    let mut names = NameIndex::default();
    let mut known = Streamed::default();
    let mut columns: Option<Columns> = None;
    let mut largest: Option<(u32, usize)> = None;
    let (mut edges, mut weights) = (Vec::new(), Vec::new());
    while let Some(block) = blocks.next()? {
        let table = block.table(path)?;
        let mut is_header = false;
        if columns.is_none() {
            let found = Columns::find(&table)?;
            (known.columns_dropped, is_header) = (found.dropped.clone(), found.has_header);
            columns = Some(found);
        }
        let Some(columns) = &columns else {
            return Ok(None);
        };
        edges.clear();
        weights.clear();
        let mut is_named = false;
        table.each_row(|row, fields| {
            let line = block.first_line + row;
            if std::mem::take(&mut is_header) || is_named {
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
            if let Some(column) = columns.weight {
                weights.push(weight(path, line, fields[column])?);
            }
            if named {
                edges.push((names.get_or_add(fields[0]), names.get_or_add(fields[1])));
                return Ok(());
            }
            if !fields[..2].iter().all(|id| is_integer(id)) {
                // A number that is no id is an error; a word is a name.
                if fields[..2].iter().all(|id| id.parse::<f64>().is_ok()) {
                    let odd = fields[..2].iter().find(|id| !is_integer(id)).unwrap_or(&"");
                    parse_id(path, line, odd, "a node id", 0..MAX_NODES as u64)?;
                }
                is_named = true;
                return Ok(());
            }
            let id = |field| parse_id(path, line, field, "a node id", 0..MAX_NODES as u64);
            let (u, v) = (id(fields[0])?, id(fields[1])?);
            largest = largest.max(Some((u.max(v), line)));
            edges.push((u, v));
            Ok(())
        })?;
        if is_named {
            return Ok(None);
        }
        known.num_rows += edges.len() as u64;
        sink.take(&edges, &weights)?;
        sink.advance(blocks.done);
    }
    if let Some((id, line)) =
        largest.filter(|(id, _)| u64::from(*id) >= sane_end(known.num_rows as usize))
    {
        return Err(sparse_ids(path, line, id, known.num_rows as usize));
    }
    known.num_nodes = if named {
        names.len()
    } else {
        largest.map_or(0, |(id, _)| id as usize + 1)
    };
    known.names = named.then(|| names.into_names());
    Ok(Some(known))
}

/// A file in blocks that end with a line.
struct Blocks {
    path: std::path::PathBuf,
    file: File,
    /// Bytes read beyond the last line break.
    rest: Vec<u8>,
    lines: usize,
    done: u64,
}

struct Block {
    bytes: Vec<u8>,
    /// Number of lines of the file before the block.
    first_line: usize,
}

impl Block {
    fn table(&self, path: &Path) -> Result<Table> {
        // UTF-8 sequences are not cut: blocks end with a line.
        Table::parse(path.to_path_buf(), text::utf8(path, &self.bytes)?)
    }
}

impl Blocks {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            rest: Vec::new(),
            lines: 0,
            done: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            let before = bytes.len();
            let wanted = (BLOCK_BYTES - before.min(BLOCK_BYTES)).max(LONGEST_LINE);
            let read = (&mut self.file)
                .take(wanted as u64)
                .read_to_end(&mut bytes)
                .map_err(|e| Error::io(&self.path, e))?;
            self.done += read as u64;
            if read < wanted {
                break;
            }
            if let Some(last) = bytes.iter().rposition(|&b| b == b'\n') {
                self.rest = bytes.split_off(last + 1);
                break;
            }
            if bytes.len() > BLOCK_BYTES {
                let what = format!(
                    "line {} is longer than {BLOCK_BYTES} bytes, a text file is expected",
                    self.lines + 1
                );
                return Err(Error::data(&self.path, "whole file", what));
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.lines;
        self.lines += bytes.iter().filter(|&&b| b == b'\n').count();
        Ok(Some(Block { bytes, first_line }))
    }
}
