//! Reports which of a user's files were read and which were not: nothing is dropped silently.

use std::path::Path;

use serde::Serialize;

/// Files that were read and files that were not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Sources {
    /// Files that were read, with their contents.
    pub used: Vec<Source>,
    /// Files and columns that were not read, and why.
    pub unused: Vec<Source>,
}

/// A file and a remark about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The file's name, without its folder.
    pub file: String,
    /// Contents of the file, or the reason why it was not read.
    pub what: String,
}

impl Sources {
    pub(super) fn used(&mut self, path: &Path, what: impl Into<String>) {
        self.used.push(Source {
            file: file_name(path),
            what: what.into(),
        });
    }

    pub(super) fn unused(&mut self, path: &Path, what: impl Into<String>) {
        self.unused.push(Source {
            file: file_name(path),
            what: what.into(),
        });
    }

    /// Records the files of a folder that are not recorded yet; `why` gives the reason. Hidden
    /// files do not count.
    pub(super) fn leave_the_rest(&mut self, dir: &Path, why: &str) {
        let Ok(files) = std::fs::read_dir(dir) else {
            return;
        };
        let mut rest: Vec<String> = files
            .filter_map(|file| Some(file.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        let is_named = |file: &str| {
            self.used
                .iter()
                .chain(&self.unused)
                .any(|named| named.file == file)
        };
        rest.retain(|file| !file.starts_with('.') && !is_named(file));
        rest.sort_unstable();
        for file in rest {
            self.unused(Path::new(&file), why);
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
