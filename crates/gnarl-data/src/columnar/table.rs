//! Whole tables: conversion to text, and Parquet files to write.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use gnarl_graph::error::{Error, Result};

use super::Column;
use super::batches::{batches, one_line};
use super::values::value_as_text;

/// Writes a table as a Parquet file, compressed by zstd.
///
/// # Errors
///
/// If columns differ in length.
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

/// Converts a whole table to the text that the text readers accept: a header, then rows. Strings
/// are quoted.
pub(in crate::columnar) fn as_text(path: &Path) -> Result<String> {
    let mut out = csv::WriterBuilder::new().from_writer(Vec::new());
    let fault = |e: &dyn std::fmt::Display| Error::data(path, "whole file", e.to_string());
    let mut is_first = true;
    for batch in batches(path)? {
        let batch = batch?;
        if std::mem::take(&mut is_first) {
            out.write_record(batch.schema().fields().iter().map(|field| field.name()))
                .map_err(|e| fault(&e))?;
        }
        for i in 0..batch.num_rows() {
            for column in batch.columns() {
                let text = if column.is_null(i) {
                    String::new()
                } else {
                    value_as_text(column, i).map_err(|e| fault(&e))?
                };
                out.write_field(text).map_err(|e| fault(&e))?;
            }
            out.write_record(None::<&[u8]>).map_err(|e| fault(&e))?;
        }
    }
    let bytes = out.into_inner().map_err(|e| fault(&e))?;
    String::from_utf8(bytes).map_err(|e| fault(&e))
}
