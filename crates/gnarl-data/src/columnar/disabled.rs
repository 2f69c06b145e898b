//! Stand-ins for the readers and the writer in a build without the feature `parquet`: each fails.

use std::path::Path;

use gnarl_graph::error::{Error, Result};

use super::Column;
use crate::edge_sink::{EdgeSink, Streamed};

const READS: &str =
    "this build reads no Parquet or Arrow files: enable the feature parquet of gnarl-data";
const WRITES: &str = "this build writes no Parquet files: enable the feature parquet of gnarl-data";

fn unread<T>(path: &Path) -> Result<T> {
    Err(Error::unsupported(path.display().to_string(), READS))
}

/// Writes a table as a Parquet file, compressed by zstd.
///
/// # Errors
///
/// Always: this build lacks the feature `parquet`.
pub fn parquet(_columns: Vec<(String, Column)>) -> Result<Vec<u8>> {
    Err(Error::unsupported("parquet", WRITES))
}

pub(in crate::columnar) fn as_text(path: &Path) -> Result<String> {
    unread(path)
}

pub(crate) fn is_weighted(path: &Path) -> Result<bool> {
    unread(path)
}

pub(crate) fn stream_edges(path: &Path, _sink: &mut dyn EdgeSink) -> Result<Streamed> {
    unread(path)
}
