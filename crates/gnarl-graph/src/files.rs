//! Files that are there whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file under a temporary name beside it and renames: a reader sees the old file or the new one, never half of it,
/// and a failure leaves nothing behind.
///
/// Where the path is a link, the file it leads to is replaced and the link stays. What is there and is no regular file,
/// such as a folder, a device or a pipe, is refused.
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// let file = dir.path().join("answer.txt");
/// gnarl_graph::files::write_atomically(&file, "42")?;
/// assert_eq!(std::fs::read_to_string(&file).unwrap(), "42");
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn write_atomically(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let target = target_of(path)?;
    let fail = |e: std::io::Error| Error::io(path, e);
    let mut file = temporary(&target).map_err(fail)?;
    file.write_all(bytes.as_ref()).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(&target).map_err(|e| fail(e.error))?;
    Ok(())
}

/// The regular file to write: what a link leads to, or the path itself.
fn target_of(path: &Path) -> Result<PathBuf> {
    let fail = |e: std::io::Error| Error::io(path, e);
    let target = match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => std::fs::canonicalize(path).map_err(fail)?,
        _ => path.to_path_buf(),
    };
    if target.file_name().is_none() {
        return Err(Error::data(path, "output", "no file name"));
    }
    match std::fs::metadata(&target) {
        Ok(there) if there.is_dir() => Err(Error::data(path, "output", "a folder, a file is expected")),
        Ok(there) if !there.is_file() => Err(Error::data(path, "output", "a device or a pipe, a file is expected")),
        _ => Ok(target),
    }
}

/// A new file beside the target, with the permissions that file has, or those that any new one gets.
fn temporary(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = tempfile::Builder::new();
    name.prefix(".gnarl-").suffix(".part");
    match std::fs::metadata(target) {
        Ok(there) => name.permissions(there.permissions()).tempfile_in(folder),
        // tempfile alone would keep others from reading it.
        Err(_) => name.make_in(folder, |path| std::fs::File::create_new(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_made_and_replaced_and_nothing_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.csv");
        write_atomically(&file, "one").unwrap();
        write_atomically(&file, "two").unwrap();
        assert_eq!(
            (fs::read_to_string(&file).unwrap(), names(dir.path())),
            ("two".to_string(), vec!["a.csv".to_string()])
        );
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let e = write_atomically(&folder, "x").unwrap_err().to_string();
        assert!(e.ends_with("folder: output: a folder, a file is expected"), "{e}");
        let e = write_atomically(&dir.path().join("no/such.csv"), "x").unwrap_err().to_string();
        assert!(e.contains("no/such.csv: ") && e.contains("No such file"), "{e}");
        assert_eq!(names(dir.path()), ["folder"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&target, &link).unwrap();
        write_atomically(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640, "permissions stay");
        let fresh = dir.path().join("fresh");
        fs::write(dir.path().join("plain"), "").unwrap();
        write_atomically(&fresh, "x").unwrap();
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("fresh"), mode("plain"), "a new file is like any other");
        let e = write_atomically(Path::new("/dev/null"), "x").unwrap_err().to_string();
        assert_eq!(e, "/dev/null: output: a device or a pipe, a file is expected");
    }
}
