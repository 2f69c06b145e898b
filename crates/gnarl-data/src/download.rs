//! Downloads a dataset's files over HTTPS. Interrupted downloads resume, checksums are compared,
//! and no file is ever incomplete.
//!
//! Everything unfinished has a name that ends in `.part`: a download `FILE.part`, an archive
//! `FOLDER.zip.part` and its content `FOLDER.part/`. A file gets its final name in one step, after
//! its checksum was compared and its bytes were written to disk. An interruption therefore leaves
//! `.part` files only, and the next call resumes from them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, StatusCode, header};

use crate::registry::{Entry, RemoteFile, Unpack};
use gnarl_graph::error::{Error, Result};

/// Largest download and largest unpacked archive, in bytes: many times the size of any dataset
/// here.
const MAX_BYTES: u64 = 8 << 30;
/// Largest number of files in an archive.
const MAX_MEMBERS: usize = 10_000;
/// Number of requests per file before giving up.
const ATTEMPTS: u32 = 5;

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

/// Settings of downloads.
pub struct Downloader {
    agent: ureq::Agent,
    first_wait: Duration,
    local: bool,
}

impl Default for Downloader {
    fn default() -> Self {
        Self::new()
    }
}

impl Downloader {
    /// Makes a downloader for HTTPS alone, also after redirects. The timeout is 30 seconds without
    /// data; the first retry waits a second.
    pub fn new() -> Self {
        let config = ureq::Agent::config_builder().https_only(true);
        Self {
            agent: with_limits(config).new_agent(),
            first_wait: Duration::from_secs(1),
            local: false,
        }
    }

    /// Makes a downloader for plain HTTP to this machine, without proxy or waits between attempts:
    /// for tests and mirrors on loopback. Any other address is refused.
    pub fn loopback() -> Self {
        let config = ureq::Agent::config_builder().proxy(None).max_redirects(0);
        Self {
            agent: with_limits(config).new_agent(),
            first_wait: Duration::ZERO,
            local: true,
        }
    }

    /// Downloads the missing ones of these files into the data folder.
    pub fn fetch(
        &self,
        files: &[RemoteFile],
        data_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        files
            .iter()
            .map(|file| self.fetch_one(file, data_dir, progress))
            .collect()
    }

    fn fetch_one(
        &self,
        file: &RemoteFile,
        data_dir: &Path,
        progress: &dyn Progress,
    ) -> Result<Outcome> {
        let path = data_dir.join(file.path);
        let part = match file.unpack {
            None => with_suffix(&path, ".part"),
            Some(Unpack::Zip { .. }) => with_suffix(&path, ".zip.part"),
        };
        if let Some(verified) = is_present(file, data_dir)? {
            // A call that was killed before its cleanup may have left it, and it is no longer
            // needed.
            if part.is_file() && open_locked(&part).is_ok() {
                let _ = fs::remove_file(&part);
            }
            return Ok(Outcome {
                path,
                state: State::Present,
                verified,
            });
        }
        let folder = part.parent().expect("a joined path has a parent");
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let bytes = self
            .download(file, &part, progress)
            .inspect_err(|_| remove_if_empty(&part))?;
        match file.unpack {
            None => rename(&part, &path)?,
            Some(Unpack::Zip { members }) => {
                unpack(&part, &path, members, MAX_BYTES).inspect_err(|_| {
                    // An archive that cannot be unpacked cannot be resumed either.
                    let _ = fs::remove_file(&part);
                })?;
                fs::remove_file(&part).map_err(|e| Error::io(&part, e))?;
            }
        }
        Ok(Outcome {
            path,
            state: State::Downloaded { bytes },
            verified: file.sha256.is_some(),
        })
    }

    /// Fills `part` with the whole file, checked and on disk; returns the number of bytes received.
    fn download(&self, file: &RemoteFile, part: &Path, progress: &dyn Progress) -> Result<u64> {
        let mut target = open_locked(part)?;
        let mut resumed = target.metadata().map_err(|e| Error::io(part, e))?.len() > 0;
        let mut received = 0;
        loop {
            received += self.complete(file, part, &mut target, progress)?;
            target.sync_all().map_err(|e| Error::io(part, e))?;
            let Some(expected) = file.sha256 else {
                return Ok(received);
            };
            let found = sha256(&mut target).map_err(|e| Error::io(part, e))?;
            if found == expected {
                return Ok(received);
            }
            if !resumed {
                let _ = fs::remove_file(part);
                let what = format!(
                    "checksum mismatch: SHA-256 {expected} expected, {found} received; try again, and if it stays the \
                     file at that address has changed: get it elsewhere and put it at {}",
                    file.path
                );
                return Err(download_error(file, what));
            }
            // The beginning came from an earlier call and may be of another version: retry from the
            // start.
            resumed = false;
            target.set_len(0).map_err(|e| Error::io(part, e))?;
        }
    }

    /// Requests the file until all its bytes are in `target`, resuming after interruptions.
    fn complete(
        &self,
        file: &RemoteFile,
        part: &Path,
        target: &mut File,
        progress: &dyn Progress,
    ) -> Result<u64> {
        let mut received = 0;
        let mut wait = self.first_wait;
        for attempt in 1.. {
            match self.attempt(file, part, target, progress, &mut received)? {
                Attempt::Complete => break,
                Attempt::Broken(why) if attempt == ATTEMPTS => {
                    let kept = target.metadata().map_err(|e| Error::io(part, e))?.len();
                    let what = format!(
                        "{why}, {ATTEMPTS} times; check the connection and try again, the {kept} bytes so far are kept"
                    );
                    return Err(download_error(file, what));
                }
                Attempt::Broken(_) => std::thread::sleep(wait),
            }
            wait *= 2;
        }
        Ok(received)
    }

    /// Sends one request. Errors end the download, an interrupted attempt may be repeated.
    fn attempt(
        &self,
        file: &RemoteFile,
        part: &Path,
        target: &mut File,
        progress: &dyn Progress,
        received: &mut u64,
    ) -> Result<Attempt> {
        let on_disk = |e| Error::io(part, e);
        if self.local && !file.url.starts_with("http://127.0.0.1:") {
            return Err(download_error(file, "not an address on loopback"));
        }
        let have = target.seek(SeekFrom::End(0)).map_err(on_disk)?;
        let mut request = self.agent.get(file.url);
        if have > 0 {
            request = request.header(header::RANGE, format!("bytes={have}-"));
        }
        let response = match request.call() {
            Ok(response) => response,
            Err(e) if is_final(&e) => return Err(download_error(file, e.to_string())),
            Err(e) => return Ok(Attempt::Broken(e.to_string())),
        };
        let (start, total) = match (response.status(), content_range(response.headers())) {
            (StatusCode::OK, _) => (0, response.body().content_length()),
            (StatusCode::PARTIAL_CONTENT, Some((Some(first), total))) if first == have => {
                (have, total)
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some((None, Some(total)))) if total == have => {
                return Ok(Attempt::Complete);
            }
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) if have > 0 => {
                // The partial file does not match the server's: restart.
                target.set_len(0).map_err(on_disk)?;
                return Ok(Attempt::Broken(
                    "the server would not continue the download".into(),
                ));
            }
            (status, _) if is_passing(status) => {
                return Ok(Attempt::Broken(format!("the server answered {status}")));
            }
            (status, _) => {
                let what = format!(
                    "the server answered {status}; the file may have moved: get it elsewhere and put it at {}",
                    file.path
                );
                return Err(download_error(file, what));
            }
        };
        target.set_len(start).map_err(on_disk)?;
        target.seek(SeekFrom::Start(start)).map_err(on_disk)?;
        progress.begin(file.path, total);
        progress.advance(start);
        let mut body = response
            .into_body()
            .into_with_config()
            .limit(MAX_BYTES)
            .reader();
        let copied = copy(&mut body, target, progress);
        progress.end();
        match copied {
            Ok(bytes) => {
                *received += bytes;
                match total {
                    Some(total) if start + bytes < total => {
                        Ok(Attempt::Broken("the connection was cut".into()))
                    }
                    _ => Ok(Attempt::Complete),
                }
            }
            Err(Broken::Net(bytes, e)) => {
                *received += bytes;
                Ok(Attempt::Broken(e.to_string()))
            }
            Err(Broken::Disk(e)) => Err(on_disk(e)),
        }
    }
}

/// Result of a request.
enum Attempt {
    Complete,
    Broken(String),
}

/// The side of a copy that failed; for the network, with the number of bytes received.
enum Broken {
    Net(u64, io::Error),
    Disk(io::Error),
}

fn with_limits(
    config: ureq::config::ConfigBuilder<ureq::typestate::AgentScope>,
) -> ureq::config::Config {
    config
        .http_status_as_error(false)
        // A compressed response has no ranges to resume at.
        .accept_encoding("identity")
        .user_agent(concat!("gnarl/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(Duration::from_secs(15)))
        .timeout_connect(Some(Duration::from_secs(15)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        .timeout_per_read(Some(Duration::from_secs(30)))
        .build()
}

fn copy(
    from: &mut impl Read,
    to: &mut File,
    progress: &dyn Progress,
) -> std::result::Result<u64, Broken> {
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Broken::Net(copied, e)),
        };
        to.write_all(&buffer[..read]).map_err(Broken::Disk)?;
        copied += read as u64;
        progress.advance(read as u64);
    }
}

/// Returns the first byte and the size from `bytes 5-9/10`, or the size from `bytes */10`.
fn content_range(headers: &HeaderMap) -> Option<(Option<u64>, Option<u64>)> {
    let value = headers
        .get(header::CONTENT_RANGE)?
        .to_str()
        .ok()?
        .trim()
        .strip_prefix("bytes")?;
    let (range, total) = value.trim().split_once('/')?;
    let total = total.trim().parse().ok();
    match range.split_once('-') {
        None => Some((None, total)),
        Some((first, _)) => Some((Some(first.trim().parse().ok()?), total)),
    }
}

/// Returns true for responses that another attempt may change.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

/// Returns true for failures that no further attempt can change.
fn is_final(error: &ureq::Error) -> bool {
    matches!(
        error,
        ureq::Error::BadUri(_) | ureq::Error::RequireHttpsOnly(_) | ureq::Error::TooManyRedirects
    )
}

fn download_error(file: &RemoteFile, what: impl Into<String>) -> Error {
    Error::Download {
        url: file.url.to_string(),
        what: what.into(),
    }
}

/// Returns `None` if the file must be downloaded; otherwise true if a checksum confirmed it.
fn is_present(file: &RemoteFile, data_dir: &Path) -> Result<Option<bool>> {
    if !file.provides().iter().all(|f| data_dir.join(f).is_file()) {
        return Ok(None);
    }
    let (None, Some(expected)) = (file.unpack, file.sha256) else {
        return Ok(Some(false));
    };
    let path = data_dir.join(file.path);
    let found = File::open(&path)
        .and_then(|mut f| sha256(&mut f))
        .map_err(|e| Error::io(&path, e))?;
    Ok((found == expected).then_some(true))
}

/// Opens a `.part` to resume, and locks it against other downloads.
fn open_locked(part: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(part);
    let file = file.map_err(|e| Error::io(part, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            let busy =
                io::Error::other("another download of this file is under way; wait for it to end");
            Err(Error::io(part, busy))
        }
        // Some network file systems have no locks; a single download needs none.
        Err(fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Computes the SHA-256 of the whole file in lower-case hex.
fn sha256(file: &mut File) -> io::Result<String> {
    use std::fmt::Write;
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok(hex)
}

fn remove_if_empty(part: &Path) {
    if fs::metadata(part).is_ok_and(|m| m.len() == 0) {
        let _ = fs::remove_file(part);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Renames, and syncs the folder to disk on systems that support it.
fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, e))?;
    if let Some(Ok(folder)) = to.parent().map(File::open) {
        // Best effort: not every system lets a folder be synced.
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Unpacks a zip into `FOLDER.part`, checks that the members are present and renames it to
/// `folder`.
///
/// Members with a path out of the folder and links are refused, as is more than `limit` bytes in
/// total.
fn unpack(archive: &Path, folder: &Path, members: &[&str], limit: u64) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_servers_write_them() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_RANGE, value.parse().unwrap());
            content_range(&headers)
        };
        assert_eq!(read("bytes 5-9/10"), Some((Some(5), Some(10))));
        assert_eq!(read("bytes 5-9/*"), Some((Some(5), None)));
        assert_eq!(read("bytes */10"), Some((None, Some(10))));
        assert_eq!(read("bytes x-9/10"), None);
        assert_eq!(read("items 5-9/10"), None);
    }

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
