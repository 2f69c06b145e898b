//! Batches of rows of a Parquet or Arrow file.

use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;

use gnarl_graph::error::{Error, Result};

/// Number of rows read at once.
pub(super) const ROWS: usize = 1 << 16;

/// The batches of a file; every failure names the file.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Returns the batches of a file.
pub(super) fn batches(path: &Path) -> Result<Batches> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let is_parquet = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    if is_parquet {
        parquet_batches(path, file)
    } else {
        let reader = guarded(path, || arrow_ipc::reader::FileReader::try_new(file, None))?;
        let reader = reader.map_err(|e| unreadable(path, &e))?;
        Ok(Box::new(Guarded::new(path, reader)))
    }
}

fn parquet_batches(path: &Path, file: File) -> Result<Batches> {
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let builder = guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
    let builder = builder.map_err(|e| unreadable(path, &e))?;
    if !columns_lie_within(builder.metadata(), size) {
        return Err(unreadable(path, &"a column that lies outside the file"));
    }
    let reader = guarded(path, || builder.with_batch_size(ROWS).build())?;
    let reader = reader.map_err(|e| unreadable(path, &e))?;
    Ok(Box::new(Guarded::new(path, reader)))
}

/// Returns true if every column lies within a file of that many bytes. The reader of Parquet does
/// not check this, and panics if it is not so.
fn columns_lie_within(metadata: &ParquetMetaData, size: u64) -> bool {
    let within = |start: i64, length: i64| {
        start >= 0 && length >= 0 && start.saturating_add(length) as u64 <= size
    };
    let mut columns = metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns());
    columns.all(|column| {
        let data = column.data_page_offset();
        let start = column.dictionary_page_offset().unwrap_or(data);
        within(start, column.compressed_size()) && data >= 0
    })
}

/// Makes the error for a file that is no table, or a damaged one.
fn unreadable(path: &Path, e: &dyn Display) -> Error {
    Error::data(path, "whole file", one_line(e))
}

/// Describes a failure of the formats' libraries on one line.
pub(super) fn one_line(e: &dyn Display) -> String {
    format!(
        "not a table by columns, or a damaged one ({})",
        e.to_string().replace(['\n', '\r'], " ")
    )
}

/// Runs a reader, and returns an error if it panics at unexpected bytes.
fn guarded<T>(path: &Path, read: impl FnOnce() -> T) -> Result<T> {
    let read = std::panic::AssertUnwindSafe(read);
    std::panic::catch_unwind(read).map_err(|_| unreadable(path, &"it cannot be read"))
}

/// Batches of a reader that may panic.
struct Guarded<I> {
    path: PathBuf,
    batches: I,
}

impl<I> Guarded<I> {
    fn new(path: &Path, batches: I) -> Self {
        Self {
            path: path.to_path_buf(),
            batches,
        }
    }
}

impl<I: Iterator<Item = std::result::Result<RecordBatch, ArrowError>>> Iterator for Guarded<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match guarded(&self.path, || self.batches.next()) {
            Ok(batch) => batch?,
            Err(e) => Err(ArrowError::ParseError(e.to_string())),
        };
        Some(batch.map_err(|e| unreadable(&self.path, &e)))
    }
}
