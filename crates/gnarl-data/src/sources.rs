//! What loading a user's own files read, and what lay beside them unread: nothing is dropped in
//! silence.

use std::path::Path;

use serde::Serialize;

/// What was read and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Sources {
    /// Files that were read, and what came of each.
    pub used: Vec<Source>,
    /// Files and columns that were not read, and why.
    pub unused: Vec<Source>,
}

/// A file and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The file's name, without its folder.
    pub file: String,
    /// What it gave, or why it did not.
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

    /// Notes the files of a folder of which nothing was said yet; `why` says what would have been.
    /// Hidden ones do not count.
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
