//! Tables by columns: Parquet and Arrow's file format (also called Feather, version 2), read batch after batch; and tables written as Parquet.
//!
//! Of edges the columns are those titled `source` and `target` (or any of the titles that an edge list may have), else the first two; a
//! column `weight` counts. Ids are integers or texts. Other tables (features, labels, splits) are read as the same table in text would be.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float32Array, RecordBatch, StringArray};
use arrow_cast::{cast, display::array_value_to_string};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::edge_sink::{EdgeSink, NameIndex, Streamed, is_id_title, is_weight_title, sane_end};
use super::text;
use crate::error::{Error, Result};
use crate::graph::MAX_NODES;

/// A column of a table that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Words.
    Text(Vec<String>),
    /// Numbers.
    Numbers(Vec<f32>),
}

/// A table as a Parquet file, compressed by zstd. Fails where columns are not equally long.
pub fn parquet(columns: Vec<(String, Column)>) -> Result<Vec<u8>> {
    let fault = |e: &dyn std::fmt::Display| Error::argument("parquet", one_line(e));
    let array = |(title, column): (String, Column)| -> (String, ArrayRef) {
        match column {
            Column::Text(values) => (title, Arc::new(StringArray::from(values))),
            Column::Numbers(values) => (title, Arc::new(Float32Array::from(values))),
        }
    };
    let batch = RecordBatch::try_from_iter(columns.into_iter().map(array)).map_err(|e| fault(&e))?;
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).map_err(|e| fault(&e))?;
    writer.write(&batch).map_err(|e| fault(&e))?;
    writer.into_inner().map_err(|e| fault(&e))
}

/// Rows read at once.
const ROWS: usize = 1 << 16;

/// Whether a file is a table by columns, by its ending.
pub(super) fn is_columnar(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    matches!(ending.as_str(), "parquet" | "arrow" | "feather" | "ipc")
}

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>>;

/// The batches of a file, and how many rows it says it has.
fn batches(path: &Path) -> Result<Batches> {
    let fault = |e: &dyn std::fmt::Display| Error::data(path, "whole file", one_line(e));
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet")) {
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let builder = guarded(path, || parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file))?;
        let builder = builder.map_err(|e| fault(&e))?;
        // The reader takes these on trust and panics where they are not so.
        let within = |start: i64, length: i64| start >= 0 && length >= 0 && start.saturating_add(length) as u64 <= size;
        for column in builder.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            if !within(start, column.compressed_size()) || column.data_page_offset() < 0 {
                return Err(fault(&"a column that lies outside the file"));
            }
        }
        let reader = guarded(path, || builder.with_batch_size(ROWS).build())?.map_err(|e| fault(&e))?;
        return Ok(Box::new(Guarded { path: path.to_path_buf(), batches: reader }));
    }
    let reader = guarded(path, || arrow_ipc::reader::FileReader::try_new(file, None))?.map_err(|e| fault(&e))?;
    Ok(Box::new(Guarded { path: path.to_path_buf(), batches: reader }))
}

/// What a reader gives; where it panics at bytes that it did not expect, an error.
fn guarded<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    let read = std::panic::AssertUnwindSafe(read);
    std::panic::catch_unwind(read).map_err(|_| Error::data(path, "whole file", one_line(&"it cannot be read")))
}

/// Batches of a reader that may panic.
struct Guarded<I> {
    path: std::path::PathBuf,
    batches: I,
}

impl<I: Iterator<Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>>> Iterator for Guarded<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<Self::Item> {
        match guarded(&self.path, || self.batches.next()) {
            Ok(batch) => batch,
            Err(e) => Some(Err(arrow_schema::ArrowError::ParseError(e.to_string()))),
        }
    }
}

fn one_line(e: &dyn std::fmt::Display) -> String {
    format!("not a table by columns, or a damaged one ({})", e.to_string().replace(['\n', '\r'], " "))
}

/// Where ids and weights are.
struct Places {
    ends: [usize; 2],
    weight: Option<usize>,
    dropped: Vec<String>,
}

impl Places {
    fn find(path: &Path, batch: &RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let titles: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        if titles.len() < 2 {
            let what = format!("{} columns, one for each end of an edge is expected", titles.len());
            return Err(Error::data(path, "columns", what));
        }
        let known: Vec<usize> = (0..titles.len()).filter(|&i| is_id_title(titles[i])).collect();
        let ends = match known[..] {
            [u, v] => [u, v],
            _ => [0, 1],
        };
        let weight = (0..titles.len()).find(|i| !ends.contains(i) && is_weight_title(titles[*i]));
        let rest = (0..titles.len()).filter(|i| !ends.contains(i) && Some(*i) != weight);
        Ok(Self { ends, weight, dropped: rest.map(|i| titles[i].to_string()).collect() })
    }
}

/// Whether a file of edges has weights.
pub(super) fn is_weighted(path: &Path) -> Result<bool> {
    match batches(path)?.next() {
        Some(batch) => {
            let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
            Ok(Places::find(path, &batch)?.weight.is_some())
        }
        None => Ok(false),
    }
}

/// Gives every edge of a file to the sink.
pub(super) fn stream_edges(path: &Path, sink: &mut dyn EdgeSink) -> Result<Streamed> {
    let size = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
    let mut known = Streamed::default();
    let mut names: Option<NameIndex> = None;
    let (mut places, mut largest) = (None, None);
    let mut edges = Vec::with_capacity(ROWS);
    for batch in batches(path)? {
        let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
        if places.is_none() {
            let found = Places::find(path, &batch)?;
            known.columns_dropped = found.dropped.clone();
            if found.ends.iter().any(|&end| !batch.column(end).data_type().is_integer()) {
                names = Some(NameIndex::default());
            }
            places = Some(found);
        }
        let Some(places) = &places else { continue };
        edges.clear();
        let row = |i: usize| known.num_rows + i as u64 + 1;
        let missing = |i: usize| Error::data(path, format!("row {}", row(i)), "an edge without one of its ends");
        match &mut names {
            None => {
                let ids = places.ends.map(|end| cast(batch.column(end), &DataType::Int64));
                let [Ok(us), Ok(vs)] = ids else {
                    return Err(Error::data(path, "columns", "ids that are no integers"));
                };
                let (us, vs) = (us.as_primitive::<Int64Type>().clone(), vs.as_primitive::<Int64Type>().clone());
                for i in 0..batch.num_rows() {
                    if us.is_null(i) || vs.is_null(i) {
                        return Err(missing(i));
                    }
                    let id = |value: i64| match u64::try_from(value) {
                        Ok(id) if id < MAX_NODES as u64 => Ok(id as u32),
                        _ => Err(Error::data(path, format!("row {}", row(i)), format!("{value} is not a node id"))),
                    };
                    let (u, v) = (id(us.value(i))?, id(vs.value(i))?);
                    largest = largest.max(Some(u.max(v)));
                    edges.push((u, v));
                }
            }
            Some(names) => {
                let name = |column: &ArrayRef, i: usize| -> Result<String> {
                    if column.is_null(i) {
                        return Err(missing(i));
                    }
                    array_value_to_string(column, i).map_err(|e| Error::data(path, "columns", e.to_string()))
                };
                let [us, vs] = places.ends.map(|end| batch.column(end));
                for i in 0..batch.num_rows() {
                    edges.push((names.get_or_add(&name(us, i)?), names.get_or_add(&name(vs, i)?)));
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
        let what = format!("{what}: nodes are numbered 0, 1, 2, … without large gaps, renumber them");
        return Err(Error::data(path, "whole file", what));
    }
    known.num_nodes = names.as_ref().map_or(largest.map_or(0, |id| id as usize + 1), NameIndex::len);
    known.names = names.map(NameIndex::into_names);
    Ok(known)
}

fn weights(path: &Path, column: &ArrayRef, before: u64) -> Result<Vec<f64>> {
    let values = cast(column, &DataType::Float64).map_err(|e| Error::data(path, "weights", e.to_string()))?;
    let values = values.as_primitive::<Float64Type>();
    let weight = |i: usize| {
        let fits = !values.is_null(i) && values.value(i).abs() <= f64::from(f32::MAX);
        let what = "a weight is missing or not a finite number that fits 32 bits";
        fits.then(|| values.value(i)).ok_or_else(|| Error::data(path, format!("row {}", before + i as u64 + 1), what))
    };
    (0..values.len()).map(weight).collect()
}

/// A table as text: as it is, or by columns.
pub(super) fn read_text(path: &Path) -> Result<String> {
    if is_columnar(path) { as_text(path) } else { text::read(path) }
}

/// A whole table as the text that the readers of text take: a header, then rows. Texts stand in quotation marks.
fn as_text(path: &Path) -> Result<String> {
    let mut out = csv::WriterBuilder::new().from_writer(Vec::new());
    let fault = |e: &dyn std::fmt::Display| Error::data(path, "whole file", e.to_string());
    let mut is_first = true;
    for batch in batches(path)? {
        let batch = batch.map_err(|e| Error::data(path, "whole file", one_line(&e)))?;
        if std::mem::take(&mut is_first) {
            out.write_record(batch.schema().fields().iter().map(|field| field.name())).map_err(|e| fault(&e))?;
        }
        for i in 0..batch.num_rows() {
            for column in batch.columns() {
                let text = match column.is_null(i) {
                    true => String::new(),
                    false => array_value_to_string(column, i).map_err(|e| fault(&e))?,
                };
                out.write_field(text).map_err(|e| fault(&e))?;
            }
            out.write_record(None::<&[u8]>).map_err(|e| fault(&e))?;
        }
    }
    let bytes = out.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}
