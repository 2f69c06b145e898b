//! Atomic file writes: a file is written completely or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file under a temporary name in its folder and renames it. A reader sees the old file or
/// the new one, never half of it, and a failure leaves nothing behind. The temporary name is unique
/// to this call.
///
/// If the path is a link, its target is made or replaced and the link stays. An existing device or
/// pipe is written into. A folder is refused.
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// let file = dir.path().join("answer.txt");
/// gnarl_graph::files::write_atomically(&file, "42")?;
/// assert_eq!(std::fs::read_to_string(&file).unwrap(), "42");
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn write_atomically(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let fail = |e: std::io::Error| Error::io(path, e);
    match Target::of(path)? {
        Target::Stream => {
            let mut stream = std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(fail)?;
            stream
                .write_all(bytes.as_ref())
                .and_then(|()| stream.flush())
                .map_err(fail)
        }
        Target::File(target) => {
            let mut file = temporary(&target).map_err(fail)?;
            file.write_all(bytes.as_ref()).map_err(fail)?;
            file.as_file().sync_all().map_err(fail)?;
            file.persist(&target).map_err(|e| fail(e.error))?;
            Ok(())
        }
    }
}

/// Fails if [`write_atomically`] could not write, before hours are spent on the content. The check
/// leaves nothing behind, and a pipe is not opened.
pub fn check_writable(path: &Path) -> Result<()> {
    match Target::of(path)? {
        Target::Stream => Ok(()),
        Target::File(target) => temporary(&target).map(drop).map_err(|e| Error::io(path, e)),
    }
}

/// Target of a path to be written.
enum Target {
    /// A regular file, there or not yet.
    File(PathBuf),
    /// A device, a pipe or an open file of this process: bytes go into it.
    Stream,
}

impl Target {
    fn of(path: &Path) -> Result<Self> {
        let fail = |e: std::io::Error| Error::io(path, e);
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                Err(Error::data(path, "output", "a folder, a file is expected"))
            }
            Ok(there) if !there.is_file() || is_open_file(path) => Ok(Self::Stream),
            Ok(_) => Ok(Self::File(std::fs::canonicalize(path).map_err(fail)?)),
            Err(_) => {
                let target = end_of_links(path).map_err(fail)?;
                match target.file_name() {
                    None => Err(Error::data(path, "output", "no file name")),
                    Some(_) => Ok(Self::File(target)),
                }
            }
        }
    }
}

/// Returns true if a path is the system's name for a file that this process has open, such as
/// `/dev/stdout`: other writers use it as well.
fn is_open_file(path: &Path) -> bool {
    ["/proc", "/dev/fd", "/dev/stdout", "/dev/stderr"]
        .iter()
        .any(|system| path.starts_with(system))
}

/// Resolves links whose target does not exist.
fn end_of_links(path: &Path) -> std::io::Result<PathBuf> {
    /// Maximum number of links, as in Linux.
    const MOST_LINKS: usize = 40;
    let mut at = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&at) {
            Ok(next) => at = at.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(at),
        }
    }
    Err(std::io::Error::other("links that lead in a circle"))
}

/// Makes a new file in the target's folder, with the target's permissions, or default permissions.
fn temporary(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
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
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap())
            .collect();
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
        assert!(
            e.ends_with("folder: output: a folder, a file is expected"),
            "{e}"
        );
        let e = write_atomically(&dir.path().join("no/such.csv"), "x")
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("no/such.csv: ") && e.contains("No such file"),
            "{e}"
        );
        assert_eq!(names(dir.path()), ["folder"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&target, &link).unwrap();
        write_atomically(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o640,
            "permissions stay"
        );
        let fresh = dir.path().join("fresh");
        fs::write(dir.path().join("plain"), "").unwrap();
        write_atomically(&fresh, "x").unwrap();
        let mode = |name: &str| {
            fs::metadata(dir.path().join(name))
                .unwrap()
                .permissions()
                .mode()
        };
        assert_eq!(mode("fresh"), mode("plain"), "a new file is like any other");
        let nowhere = dir.path().join("nowhere");
        symlink("made", &nowhere).unwrap();
        write_atomically(&nowhere, "later").unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join("made")).unwrap(),
            "later",
            "a link to what is not there yet"
        );
        assert!(fs::symlink_metadata(&nowhere).unwrap().is_symlink());
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        symlink(&one, &other).unwrap();
        symlink(&other, &one).unwrap();
        let e = write_atomically(&one, "x").unwrap_err().to_string();
        assert!(e.ends_with("links that lead in a circle"), "{e}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_pipes_are_written_into_and_stay_what_they_are() {
        use std::os::unix::fs::FileTypeExt;
        let is_device = |path: &str| {
            fs::symlink_metadata(path)
                .unwrap()
                .file_type()
                .is_char_device()
        };
        write_atomically(Path::new("/dev/null"), "x").unwrap();
        check_writable(Path::new("/dev/full")).unwrap();
        let e = write_atomically(Path::new("/dev/full"), "x")
            .unwrap_err()
            .to_string();
        assert!(e.starts_with("/dev/full: No space left"), "{e}");
        assert!(is_device("/dev/null") && is_device("/dev/full"));

        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        check_writable(&pipe).unwrap();
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).unwrap())
        };
        write_atomically(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(names(dir.path()), ["pipe"]);
    }

    /// Many writes at once, with a file in the way that was once the temporary name: each file is
    /// complete, and there is nothing else.
    #[test]
    fn parallel_writes_do_not_mix() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.csv.part"), "not ours").unwrap();
        let file = dir.path().join("a.csv");
        std::thread::scope(|scope| {
            for i in 0..16 {
                let file = &file;
                scope.spawn(move || {
                    (0..20)
                        .for_each(|_| write_atomically(file, format!("{i}").repeat(5000)).unwrap())
                });
            }
        });
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            (0..16).any(|i| text == format!("{i}").repeat(5000)),
            "{} bytes of several",
            text.len()
        );
        assert_eq!(
            fs::read_to_string(dir.path().join("a.csv.part")).unwrap(),
            "not ours"
        );
        assert_eq!(names(dir.path()), ["a.csv", "a.csv.part"]);
    }

    #[test]
    fn places_are_tried_without_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        check_writable(&dir.path().join("new.csv")).unwrap();
        let old = dir.path().join("old.csv");
        fs::write(&old, "old").unwrap();
        check_writable(&old).unwrap();
        assert_eq!(
            (fs::read_to_string(&old).unwrap(), names(dir.path())),
            ("old".into(), vec!["old.csv".to_string()])
        );
        let e = check_writable(&dir.path().join("no/such.csv"))
            .unwrap_err()
            .to_string();
        assert!(
            e.contains("no/such.csv: ") && e.contains("No such file"),
            "{e}"
        );
        assert!(
            check_writable(dir.path())
                .unwrap_err()
                .to_string()
                .contains("a folder")
        );
    }
}
