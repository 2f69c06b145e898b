//! Downloads a dataset's files over HTTPS. Interrupted downloads resume, checksums are compared,
//! and no file is ever incomplete.
//!
//! Everything unfinished has a name that ends in `.part`: a download `FILE.part`, an archive
//! `FOLDER.zip.part` and its content `FOLDER.part/`. A file gets its final name in one step, after
//! its checksum was compared and its bytes were written to disk. An interruption therefore leaves
//! `.part` files only, and the next call resumes from them.
//!
//! The feature `download` switches downloads on. Without it every fetch fails with an
//! [`Error::Unsupported`](gnarl_graph::Error::Unsupported) that names the feature.

#[cfg(not(feature = "download"))]
mod disabled;
#[cfg(feature = "download")]
mod http;
#[cfg(feature = "download")]
mod unpack;

use std::path::{Path, PathBuf};

use gnarl_graph::error::Result;

use crate::registry::Entry;

#[cfg(not(feature = "download"))]
pub use self::disabled::Downloader;
#[cfg(feature = "download")]
pub use self::http::Downloader;

/// Progress callbacks of a download. Files are downloaded one at a time.
pub trait Progress: Sync {
    /// Called when a file begins or restarts; `total` bytes if the server sends it.
    fn begin(&self, file: &str, total: Option<u64>);
    /// Called when this many more bytes have arrived.
    fn advance(&self, bytes: u64);
    /// Called when the file ends, successfully or not.
    fn end(&self);
}

/// A [`Progress`] that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// Result of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The file, or the folder of an archive.
    pub path: PathBuf,
    /// State of the file: present before, or downloaded.
    pub state: State,
    /// True if its checksum was compared.
    pub verified: bool,
}

/// State of a file after a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The file was present before.
    Present,
    /// The file was downloaded; `bytes` were received by this call.
    Downloaded {
        /// Number of bytes received by this call.
        bytes: u64,
    },
}

/// Downloads the missing files of a dataset into the data folder, over HTTPS.
///
/// A present file is kept, unless its checksum is known and differs. Errors name the address and
/// the remedy.
pub fn fetch(entry: &Entry, data_dir: &Path, progress: &dyn Progress) -> Result<Vec<Outcome>> {
    Downloader::new().fetch(entry.files, data_dir, progress)
}
