//! Columnar tables: reads Parquet and Arrow's file format (also called Feather, version 2) batch by
//! batch, and writes Parquet.
//!
//! In an edge table the ends are the columns titled `source` and `target` (or any of the titles
//! that an edge list may have), else the first two columns; a column `weight` is read. Ids are
//! integers or strings. Other tables (features, labels, splits) are read as an equal table in text
//! would be.
//!
//! The feature `parquet` switches the formats on. Without it every function fails with an
//! [`Error::Unsupported`](gnarl_graph::Error::Unsupported) that names the feature.

#[cfg(feature = "parquet")]
mod batches;
#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod edges;
#[cfg(feature = "parquet")]
mod table;
#[cfg(feature = "parquet")]
mod values;

use std::path::Path;

use gnarl_graph::error::Result;

use super::text;

#[cfg(not(feature = "parquet"))]
use self::disabled::as_text;
#[cfg(not(feature = "parquet"))]
pub use self::disabled::parquet;
#[cfg(not(feature = "parquet"))]
pub(super) use self::disabled::{is_weighted, stream_edges};
#[cfg(feature = "parquet")]
pub(super) use self::edges::{is_weighted, stream_edges};
#[cfg(feature = "parquet")]
use self::table::as_text;
#[cfg(feature = "parquet")]
pub use self::table::parquet;

/// A column of a table to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Strings.
    Text(Vec<String>),
    /// Numbers.
    Numbers(Vec<f32>),
}

/// Returns true if a file is a columnar table, by its extension.
pub(super) fn is_columnar(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(ending.as_str(), "parquet" | "arrow" | "feather" | "ipc")
}

/// Reads a table as text, from a text file or a columnar one.
pub(super) fn read_text(path: &Path) -> Result<String> {
    if is_columnar(path) {
        as_text(path)
    } else {
        text::read(path)
    }
}
