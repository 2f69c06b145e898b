//! Unpacking of archives, and files moved into their final places in one step.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use gnarl_graph::error::{Error, Result};

/// Largest number of files in an archive.
const MAX_MEMBERS: usize = 10_000;

/// Unpacks a zip into `FOLDER.part`, checks that the members are present and renames it to
/// `folder`.
///
/// Members with a path out of the folder and links are refused, as is more than `limit` bytes in
/// total.
pub(super) fn unpack(archive: &Path, folder: &Path, members: &[&str], limit: u64) -> Result<()> {
    let staging = with_suffix(folder, ".part");
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(|e| Error::io(&staging, e))?;
    }
    let unpacked = extract(archive, &staging, limit).and_then(|()| {
        match members.iter().find(|m| !staging.join(m).is_file()) {
            None => Ok(()),
            Some(missing) => Err(Error::data(
                archive,
                format!("member {missing}"),
                "missing from the archive",
            )),
        }
    });
    let moved = unpacked.and_then(|()| move_into_place(&staging, folder));
    if staging.exists() {
        let _ = fs::remove_dir_all(&staging);
    }
    moved
}

fn extract(archive: &Path, staging: &Path, limit: u64) -> Result<()> {
    let bad = |place: String, what: String| Error::data(archive, place, what);
    let broken =
        |e: zip::result::ZipError| bad("whole file".into(), format!("not a readable zip: {e}"));
    let file = File::open(archive).map_err(|e| Error::io(archive, e))?;
    let mut zip = zip::ZipArchive::new(io::BufReader::new(file)).map_err(broken)?;
    if zip.len() > MAX_MEMBERS {
        return Err(bad(
            "whole file".into(),
            format!("{} members, at most {MAX_MEMBERS} are unpacked", zip.len()),
        ));
    }
    let mut paths = Vec::with_capacity(zip.len());
    for i in 0..zip.len() {
        let member = zip.by_index(i).map_err(broken)?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        if member.is_symlink() {
            return Err(bad(
                format!("member {name}"),
                "is a link, which is not unpacked".into(),
            ));
        }
        let path = safe_path(&name).ok_or_else(|| {
            bad(
                format!("member {name}"),
                "would be written outside its folder".into(),
            )
        })?;
        paths.push((path, member.is_dir()));
    }
    let top = common_top(&paths);
    let mut left = limit;
    for (i, (path, is_dir)) in paths.iter().enumerate() {
        let inner = top
            .as_ref()
            .and_then(|t| path.strip_prefix(t).ok())
            .unwrap_or(path);
        let path = staging.join(inner);
        let folder = if *is_dir {
            &path
        } else {
            path.parent().expect("staging is above")
        };
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        if *is_dir {
            continue;
        }
        let member = zip.by_index(i).map_err(broken)?;
        let mut to = File::create(&path).map_err(|e| Error::io(&path, e))?;
        // The size in a header is not reliable: the bytes written are counted.
        let written = io::copy(&mut member.take(left + 1), &mut to).map_err(|e| {
            bad(
                format!("member {}", paths[i].0.display()),
                format!("cannot be unpacked: {e}"),
            )
        })?;
        left = left.checked_sub(written).ok_or_else(|| {
            bad(
                "whole file".into(),
                format!("unpacks to more than {limit} bytes, no dataset is that large"),
            )
        })?;
        to.sync_all().map_err(|e| Error::io(&path, e))?;
    }
    Ok(())
}

/// Returns a member's path, `None` if it is absolute or leads out of the folder on any system.
fn safe_path(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['\\', ':', '\0']) {
        return None;
    }
    let normal = |c| match c {
        Component::Normal(part) => Some(Some(part)),
        Component::CurDir => Some(None),
        _ => None,
    };
    let parts: Option<Vec<_>> = Path::new(name).components().map(normal).collect();
    Some(parts?.into_iter().flatten().collect())
}

/// Returns the folder that contains all members, if there is one.
fn common_top(paths: &[(PathBuf, bool)]) -> Option<PathBuf> {
    let top = |path: &Path| path.iter().next().map(PathBuf::from);
    let first = top(&paths.first()?.0)?;
    let is_inside =
        |(path, is_dir): &(PathBuf, bool)| path.starts_with(&first) && (*is_dir || *path != first);
    paths.iter().all(is_inside).then_some(first)
}

/// Renames `staging` to the folder in one step, or moves file by file into an existing folder.
fn move_into_place(staging: &Path, folder: &Path) -> Result<()> {
    if !folder.exists() {
        return rename(staging, folder);
    }
    for entry in fs::read_dir(staging).map_err(|e| Error::io(staging, e))? {
        let from = entry.map_err(|e| Error::io(staging, e))?.path();
        let to = folder.join(from.file_name().expect("a folder's entries have names"));
        if from.is_dir() {
            move_into_place(&from, &to)?;
        } else {
            rename(&from, &to)?;
        }
    }
    Ok(())
}

/// Appends a suffix to a path.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Renames, and syncs the folder to disk on systems that support it.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, e))?;
    if let Some(Ok(folder)) = to.parent().map(File::open) {
        // Best effort: not every system lets a folder be synced.
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn paths_stay_inside() {
        for bad in [
            "../x",
            "a/../../x",
            "/etc/x",
            "C:\\x",
            "a\\..\\x",
            "",
            "c:x",
        ] {
            assert_eq!(safe_path(bad), None, "{bad}");
        }
        assert_eq!(safe_path("a/b.txt"), Some(PathBuf::from("a/b.txt")));
    }

    #[test]
    fn only_a_folder_that_holds_everything_is_a_top() {
        let top = |names: &[&str]| {
            let paths: Vec<_> = names
                .iter()
                .map(|n| (PathBuf::from(n), n.ends_with('/')))
                .collect();
            common_top(&paths).map(|p| p.display().to_string())
        };
        assert_eq!(top(&["a/", "a/x", "a/b/y"]).as_deref(), Some("a"));
        assert_eq!(top(&["a/b/x"]).as_deref(), Some("a"));
        assert_eq!(top(&["a/x", "b/y"]), None);
        assert_eq!(top(&["x"]), None);
        assert_eq!(top(&[]), None);
    }

    #[test]
    fn an_archive_may_not_unpack_to_more_than_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("a.zip.part");
        let mut zip = zip::ZipWriter::new(File::create(&archive).unwrap());
        zip.start_file("a/zeros", zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(&[0; 100_000]).unwrap();
        zip.finish().unwrap();
        let folder = dir.path().join("a");
        let e = unpack(&archive, &folder, &[], 99_999)
            .unwrap_err()
            .to_string();
        assert!(e.contains("unpacks to more than 99999 bytes"), "{e}");
        assert!(!folder.exists() && !dir.path().join("a.part").exists());
        unpack(&archive, &folder, &["zeros"], 100_000).unwrap();
        assert_eq!(fs::metadata(folder.join("zeros")).unwrap().len(), 100_000);
    }
}
