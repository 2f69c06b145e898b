//! Stand-in for downloads in a build without the feature `download`: every fetch fails.

use std::path::Path;

use gnarl_graph::error::{Error, Result};

use super::{Outcome, Progress};
use crate::registry::RemoteFile;

/// Settings of downloads, which this build does not support.
#[derive(Debug, Default)]
pub struct Downloader(());

impl Downloader {
    /// Makes a downloader whose fetches fail.
    pub fn new() -> Self {
        Self(())
    }

    /// Makes a downloader whose fetches fail.
    pub fn loopback() -> Self {
        Self(())
    }

    /// Downloads files into the data folder, in a build with the feature `download`.
    ///
    /// # Errors
    ///
    /// Always: this build lacks the feature `download`.
    pub fn fetch(
        &self,
        _files: &[RemoteFile],
        _data_dir: &Path,
        _progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        let what = "this build downloads no files: enable the feature download of gnarl-data";
        Err(Error::unsupported("download", what))
    }
}
