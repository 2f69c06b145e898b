//! Columnar tables: reads Parquet and Arrow's file format (also called Feather, version 2) batch by
//! batch, and writes Parquet.
//!
//! In an edge table the ends are the columns titled `source` and `target` (or any of the titles
//! that an edge list may have), else the first two columns; a column `weight` is read. Ids are
//! integers or strings. Other tables (features, labels, splits) are read as an equal table in text
//! would be.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float32Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::edge_sink::{EdgeSink, NameIndex, Streamed, is_id_title, is_weight_title, sane_end};
use super::text;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::graph::MAX_NODES;

/// A column of a table to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Strings.
    Text(Vec<String>),
    /// Numbers.
    Numbers(Vec<f32>),
}

/// Writes a table as a Parquet file, compressed by zstd. Fails if columns differ in length.
pub fn parquet(columns: Vec<(String, Column)>) -> Result<Vec<u8>> {
    let fault = |e: &dyn std::fmt::Display| Error::argument("parquet", one_line(e));
    let array = |(title, column): (String, Column)| -> (String, ArrayRef) {
        match column {
            Column::Text(values) => (title, Arc::new(StringArray::from(values))),
            Column::Numbers(values) => (title, Arc::new(Float32Array::from(values))),
        }
    };
    let batch =
        RecordBatch::try_from_iter(columns.into_iter().map(array)).map_err(|e| fault(&e))?;
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))
        .map_err(|e| fault(&e))?;
    writer.write(&batch).map_err(|e| fault(&e))?;
    writer.into_inner().map_err(|e| fault(&e))
}

/// Number of rows read at once.
const ROWS: usize = 1 << 16;

/// Returns true if a file is a columnar table, by its extension.
pub(super) fn is_columnar(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(ending.as_str(), "parquet" | "arrow" | "feather" | "ipc")
}

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>>;

/// Returns the batches of a file, and the number of rows in its metadata.
fn batches(path: &Path) -> Result<Batches> {
    let fault = |e: &dyn std::fmt::Display| Error::data(path, "whole file", one_line(e));
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"))
    {
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let builder = guarded(path, || {
            parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)
        })?;
        let builder = builder.map_err(|e| fault(&e))?;
        // The reader does not check these and panics if they are wrong.
        let within = |start: i64, length: i64| {
            start >= 0 && length >= 0 && start.saturating_add(length) as u64 <= size
        };
        for column in builder
            .metadata()
            .row_groups()
            .iter()
            .flat_map(|group| group.columns())
        {
            let start = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            if !within(start, column.compressed_size()) || column.data_page_offset() < 0 {
                return Err(fault(&"a column that lies outside the file"));
            }
        }
        let reader =
            guarded(path, || builder.with_batch_size(ROWS).build())?.map_err(|e| fault(&e))?;
        return Ok(Box::new(Guarded {
            path: path.to_path_buf(),
            batches: reader,
        }));
    }
    let reader = guarded(path, || arrow_ipc::reader::FileReader::try_new(file, None))?
        .map_err(|e| fault(&e))?;
    Ok(Box::new(Guarded {
        path: path.to_path_buf(),
        batches: reader,
    }))
}

/// Runs a reader, and returns an error if it panics at unexpected bytes.
fn guarded<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    let read = std::panic::AssertUnwindSafe(read);
    std::panic::catch_unwind(read)
        .map_err(|_| Error::data(path, "whole file", one_line(&"it cannot be read")))
}

/// Batches of a reader that may panic.
struct Guarded<I> {
    path: std::path::PathBuf,
    batches: I,
}

impl<I: Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>> Iterator
    for Guarded<I>
{
    type Item = I::Item;

    fn next(&mut self) -> Option<Self::Item> {
        match guarded(&self.path, || self.batches.next()) {
            Ok(batch) => batch,
            Err(e) => Some(Err(arrow_schema::ArrowError::ParseError(e.to_string()))),
        }
    }
}

fn one_line(e: &dyn std::fmt::Display) -> String {
    format!(
        "not a table by columns, or a damaged one ({})",
        e.to_string().replace(['\n', '\r'], " ")
    )
}

/// Columns of ids and weights.
struct Places {
    ends: [usize; 2],
    weight: Option<usize>,
    dropped: Vec<String>,
}

impl Places {
    fn find(path: &Path, batch: &RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let titles: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        if titles.len() < 2 {
            let what = format!(
                "{} columns, one for each end of an edge is expected",
                titles.len()
            );
            return Err(Error::data(path, "columns", what));
        }
        let known: Vec<usize> = (0..titles.len())
            .filter(|&i| is_id_title(titles[i]))
            .collect();
        let ends = match known[..] {
            [u, v] => [u, v],
            _ => [0, 1],
        };
        let weight = (0..titles.len()).find(|i| !ends.contains(i) && is_weight_title(titles[*i]));
        let rest = (0..titles.len()).filter(|i| !ends.contains(i) && Some(*i) != weight);
        Ok(Self {
            ends,
            weight,
            dropped: rest.map(|i| titles[i].to_string()).collect(),
        })
    }
}

/// Returns true if a file of edges has weights.
pub(super) fn is_weighted(path: &Path) -> Result<bool> {
    match batches(path)?.next() {
        Some(batch) => {
            let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
            Ok(Places::find(path, &batch)?.weight.is_some())
        }
        None => Ok(false),
    }
}

/// Passes every edge of a file to the sink.
pub(super) fn stream_edges(path: &Path, sink: &mut dyn EdgeSink) -> Result<Streamed> {
    let size = std::fs::metadata(path)
        .map_err(|e| Error::io(path, e))?
        .len();
    let mut known = Streamed::default();
    let mut names: Option<NameIndex> = None;
    let (mut places, mut largest) = (None, None);
    let mut edges = Vec::with_capacity(ROWS);
    for batch in batches(path)? {
        let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
        if places.is_none() {
            let found = Places::find(path, &batch)?;
            known.columns_dropped = found.dropped.clone();
            if found
                .ends
                .iter()
                .any(|&end| !batch.column(end).data_type().is_integer())
            {
                names = Some(NameIndex::default());
            }
            places = Some(found);
        }
        let Some(places) = &places else { continue };
        edges.clear();
        let row = |i: usize| known.num_rows + i as u64 + 1;
        let missing = |i: usize| {
            Error::data(
                path,
                format!("row {}", row(i)),
                "an edge without one of its ends",
            )
        };
        match &mut names {
            None => {
                let [Some(us), Some(vs)] = places.ends.map(|end| integers(batch.column(end)))
                else {
                    return Err(Error::data(path, "columns", "ids that are no integers"));
                };
                for (i, (u, v)) in us.into_iter().zip(vs).enumerate() {
                    let id = |value: Option<i128>| match value.map(u64::try_from) {
                        None => Err(missing(i)),
                        Some(Ok(id)) if id < MAX_NODES as u64 => Ok(id as u32),
                        Some(_) => {
                            let what = format!("{} is not a node id", value.unwrap_or_default());
                            Err(Error::data(path, format!("row {}", row(i)), what))
                        }
                    };
                    let (u, v) = (id(u)?, id(v)?);
                    largest = largest.max(Some(u.max(v)));
                    edges.push((u, v));
                }
            }
            Some(names) => {
                let name = |column: &ArrayRef, i: usize| -> Result<String> {
                    if column.is_null(i) {
                        return Err(missing(i));
                    }
                    value_as_text(column, i).map_err(|what| Error::data(path, "columns", what))
                };
                let [us, vs] = places.ends.map(|end| batch.column(end));
                for i in 0..batch.num_rows() {
                    edges.push((
                        names.get_or_add(&name(us, i)?),
                        names.get_or_add(&name(vs, i)?),
                    ));
                }
            }
        }
        let weights = match places.weight {
            None => Vec::new(),
            Some(column) => weights(path, batch.column(column), known.num_rows)?,
        };
        known.num_rows += batch.num_rows() as u64;
        sink.take(&edges, &weights)?;
        sink.tell((size / 2).min(16 * known.num_rows));
    }
    if let Some(id) = largest.filter(|id| u64::from(*id) >= sane_end(known.num_rows as usize)) {
        let what = format!("node id {id} in a file of {} rows", known.num_rows);
        let what =
            format!("{what}: nodes are numbered 0, 1, 2, … without large gaps, renumber them");
        return Err(Error::data(path, "whole file", what));
    }
    known.num_nodes = names
        .as_ref()
        .map_or(largest.map_or(0, |id| id as usize + 1), NameIndex::len);
    known.names = names.map(NameIndex::into_names);
    Ok(known)
}

fn weights(path: &Path, column: &ArrayRef, before: u64) -> Result<Vec<f64>> {
    let unread = || {
        Error::data(
            path,
            "weights",
            format!("a column of {} is not one of numbers", column.data_type()),
        )
    };
    let weight = |(i, value): (usize, Option<f64>)| {
        let what = "a weight is missing or not a finite number that fits 32 bits";
        let fits = value.filter(|value| value.abs() <= f64::from(f32::MAX));
        fits.ok_or_else(|| Error::data(path, format!("row {}", before + i as u64 + 1), what))
    };
    numbers(column)
        .ok_or_else(unread)?
        .into_iter()
        .enumerate()
        .map(weight)
        .collect()
}

/// The values of a column of primitives of one type, `None` for a missing value.
macro_rules! values {
    ($column:expr, $kind:ty, $into:expr) => {
        $column
            .as_primitive::<$kind>()
            .iter()
            .map(|value| value.map($into))
            .collect()
    };
}

/// Reads a column of integers of any width.
fn integers(column: &ArrayRef) -> Option<Vec<Option<i128>>> {
    Some(match column.data_type() {
        DataType::Int8 => values!(column, Int8Type, i128::from),
        DataType::Int16 => values!(column, Int16Type, i128::from),
        DataType::Int32 => values!(column, Int32Type, i128::from),
        DataType::Int64 => values!(column, Int64Type, i128::from),
        DataType::UInt8 => values!(column, UInt8Type, i128::from),
        DataType::UInt16 => values!(column, UInt16Type, i128::from),
        DataType::UInt32 => values!(column, UInt32Type, i128::from),
        DataType::UInt64 => values!(column, UInt64Type, i128::from),
        _ => return None,
    })
}

/// Reads a column of numbers; strings that are numbers are parsed.
fn numbers(column: &ArrayRef) -> Option<Vec<Option<f64>>> {
    Some(match column.data_type() {
        DataType::Float16 => values!(column, Float16Type, f64::from),
        DataType::Float32 => values!(column, Float32Type, f64::from),
        DataType::Float64 => values!(column, Float64Type, f64::from),
        DataType::Boolean => column
            .as_boolean()
            .iter()
            .map(|value| value.map(f64::from))
            .collect(),
        kind if kind.is_integer() => integers(column)?
            .into_iter()
            .map(|value| value.map(|value| value as f64))
            .collect(),
        kind if kind.is_string() => {
            let number = |i| {
                if column.is_null(i) {
                    None
                } else {
                    value_as_text(column, i).ok()?.trim().parse().ok()
                }
            };
            (0..column.len()).map(number).collect()
        }
        _ => return None,
    })
}

/// Returns one present value as a text file would have it; a value without such a form is an error
/// that names it.
fn value_as_text(column: &ArrayRef, i: usize) -> std::result::Result<String, String> {
    /// A value of a column of primitives, written out.
    macro_rules! written {
        ($kind:ty) => {
            column.as_primitive::<$kind>().value(i).to_string()
        };
    }
    Ok(match column.data_type() {
        DataType::Null => String::new(),
        DataType::Utf8 => column.as_string::<i32>().value(i).to_string(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(i).to_string(),
        DataType::Utf8View => column.as_string_view().value(i).to_string(),
        DataType::Boolean => column.as_boolean().value(i).to_string(),
        DataType::Int8 => written!(Int8Type),
        DataType::Int16 => written!(Int16Type),
        DataType::Int32 => written!(Int32Type),
        DataType::Int64 => written!(Int64Type),
        DataType::UInt8 => written!(UInt8Type),
        DataType::UInt16 => written!(UInt16Type),
        DataType::UInt32 => written!(UInt32Type),
        DataType::UInt64 => written!(UInt64Type),
        DataType::Float16 => written!(Float16Type),
        DataType::Float32 => written!(Float32Type),
        DataType::Float64 => written!(Float64Type),
        // pandas categories: a number that stands for a string.
        DataType::Dictionary(..) => {
            let words = column.as_any_dictionary();
            let place = integers(&words.keys().slice(i, 1)).and_then(|key| key[0]);
            let place = place
                .and_then(|at| usize::try_from(at).ok())
                .filter(|&at| at < words.values().len());
            return value_as_text(
                words.values(),
                place.ok_or("a category that the table does not name")?,
            );
        }
        kind => {
            return Err(format!(
                "a column of {kind} is neither one of numbers nor one of texts"
            ));
        }
    })
}

/// Reads a table as text, from a text file or a columnar one.
pub(super) fn read_text(path: &Path) -> Result<String> {
    if is_columnar(path) {
        as_text(path)
    } else {
        text::read(path)
    }
}

/// Converts a whole table to the text that the text readers accept: a header, then rows. Strings
/// are quoted.
fn as_text(path: &Path) -> Result<String> {
    let mut out = csv::WriterBuilder::new().from_writer(Vec::new());
    let fault = |e: &dyn std::fmt::Display| Error::data(path, "whole file", e.to_string());
    let mut is_first = true;
    for batch in batches(path)? {
        let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
        if std::mem::take(&mut is_first) {
            out.write_record(batch.schema().fields().iter().map(|field| field.name()))
                .map_err(|e| fault(&e))?;
        }
        for i in 0..batch.num_rows() {
            for column in batch.columns() {
                let text = match column.is_null(i) {
                    true => String::new(),
                    false => value_as_text(column, i).map_err(|e| fault(&e))?,
                };
                out.write_field(text).map_err(|e| fault(&e))?;
            }
            out.write_record(None::<&[u8]>).map_err(|e| fault(&e))?;
        }
    }
    let bytes = out.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}
