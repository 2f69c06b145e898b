//! Writes a folder: arrays one after the other under a temporary name, then the description, then
//! the rename.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use super::npy::{HEADER_BYTES, header};
use super::{ArrayEntry, DESCRIPTION, Description, STAMP, stamp};
use gnarl_graph::error::{Error, Result};

/// A folder that is being written.
pub(super) struct FolderWriter {
    target: PathBuf,
    temporary: tempfile::TempDir,
    arrays: BTreeMap<String, ArrayEntry>,
}

impl FolderWriter {
    /// Makes a temporary folder. Fails if `target` exists already.
    pub fn new(target: &Path) -> Result<Self> {
        if target.symlink_metadata().is_ok() {
            return Err(Error::data(
                target,
                "output",
                "is there already; remove it or choose another name",
            ));
        }
        let temporary = tempfile::Builder::new()
            .prefix(".gnarl-")
            .suffix(".part")
            .tempdir_in(parent(target))
            .map_err(|e| Error::io(target, e))?;
        Ok(Self {
            target: target.to_path_buf(),
            temporary,
            arrays: BTreeMap::new(),
        })
    }

    /// Returns a folder for temporary files, on the disk of the target folder.
    pub fn scratch(&self) -> &Path {
        self.temporary.path()
    }

    /// Starts an array, written from its first number to its last.
    pub fn array(&self, name: &str, descr: &'static str) -> Result<ArrayWriter> {
        let path = self.temporary.path().join(format!("{name}.npy"));
        let file = File::create_new(&path).map_err(|e| Error::io(&path, e))?;
        let mut array = ArrayWriter {
            name: name.to_string(),
            path,
            descr,
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            crc: crc32fast::Hasher::new(),
            bytes: 0,
        };
        array
            .file
            .write_all(&[b' '; HEADER_BYTES])
            .map_err(|e| Error::io(&array.path, e))?;
        Ok(array)
    }

    /// Ends an array. Its shape must account for the numbers written.
    pub fn end(&mut self, mut array: ArrayWriter, shape: &[usize]) -> Result<()> {
        array.flush()?;
        let ArrayWriter {
            name,
            path,
            descr,
            mut file,
            crc,
            bytes,
            ..
        } = array;
        let fail = |e| Error::io(&path, e);
        let numbers: usize = shape.iter().product();
        debug_assert_eq!(bytes, (numbers * item_bytes(descr)) as u64, "{name}");
        file.rewind().map_err(fail)?;
        file.write_all(&header(descr, shape)).map_err(fail)?;
        file.sync_all().map_err(fail)?;
        self.arrays.insert(
            name,
            ArrayEntry {
                descr: descr.into(),
                shape: shape.to_vec(),
                crc32: crc.finalize(),
            },
        );
        Ok(())
    }

    /// Writes a whole array at once.
    pub fn whole<const N: usize>(
        &mut self,
        name: &str,
        descr: &'static str,
        shape: &[usize],
        values: impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        let mut array = self.array(name, descr)?;
        values
            .into_iter()
            .try_for_each(|value| array.write(&value))?;
        self.end(array, shape)
    }

    /// Writes the description and gives the folder its name.
    pub fn finish(self, mut description: Description) -> Result<()> {
        description.arrays = self.arrays;
        let folder = self.temporary.path();
        let at = folder.join(DESCRIPTION);
        let text = serde_json::to_string_pretty(&description).expect("plain data");
        std::fs::write(&at, text).map_err(|e| Error::io(&at, e))?;
        // A newly written folder needs no check when it is opened.
        std::fs::write(folder.join(STAMP), stamp(folder, &description)?)
            .map_err(|e| Error::io(&at, e))?;
        if self.target.symlink_metadata().is_ok() {
            return Err(Error::data(
                &self.target,
                "output",
                "somebody made it in the meantime; nothing was replaced",
            ));
        }
        let folder = self.temporary.keep();
        open_to_others(&folder);
        std::fs::rename(&folder, &self.target).map_err(|e| {
            let _ = std::fs::remove_dir_all(&folder);
            Error::io(&self.target, e)
        })
    }
}

fn parent(target: &Path) -> &Path {
    target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Gives the finished folder default permissions; a temporary folder is accessible to its owner
/// alone.
fn open_to_others(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if let Some(mode) = std::fs::metadata(parent(folder))
            .ok()
            .map(|m| m.permissions().mode() & 0o777)
        {
            let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode | 0o700));
        }
    }
}

/// Returns the bytes of a number of a type such as `<f4`.
pub(super) fn item_bytes(descr: &str) -> usize {
    descr
        .chars()
        .last()
        .and_then(|digit| digit.to_digit(10))
        .map_or(0, |bytes| bytes as usize)
}

/// Number of bytes buffered before they are added to the checksum and written.
const BUFFER_BYTES: usize = 1 << 20;

/// An array that is being written.
pub(super) struct ArrayWriter {
    name: String,
    path: PathBuf,
    descr: &'static str,
    file: File,
    buffer: Vec<u8>,
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl ArrayWriter {
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.crc.update(&self.buffer);
        self.bytes += self.buffer.len() as u64;
        self.file
            .write_all(&self.buffer)
            .map_err(|e| Error::io(&self.path, e))?;
        self.buffer.clear();
        Ok(())
    }
}
