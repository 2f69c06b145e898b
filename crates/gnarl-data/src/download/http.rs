//! Requests over HTTPS, with resume and checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use gnarl_graph::error::{Error, Result};
use sha2::{Digest, Sha256};
use ureq::Body;
use ureq::http::{HeaderMap, Response, StatusCode, header};

use super::unpack::{rename, unpack, with_suffix};
use super::{Outcome, Progress, State};
use crate::registry::{RemoteFile, Unpack};

/// Largest download and largest unpacked archive, in bytes: many times the size of any dataset
/// here.
const MAX_BYTES: u64 = 8 << 30;
/// Number of requests per file before giving up.
const ATTEMPTS: u32 = 5;

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
        match Reply::of(&response, have) {
            Reply::Complete => Ok(Attempt::Complete),
            Reply::Content { start, total } => {
                target.set_len(start).map_err(on_disk)?;
                target.seek(SeekFrom::Start(start)).map_err(on_disk)?;
                progress.begin(file.path, total);
                progress.advance(start);
                let copied = copy(&mut limited(response), target, progress);
                progress.end();
                *received += copied.bytes;
                let missing = total.is_some_and(|total| start + copied.bytes < total);
                match copied.broken {
                    None if missing => Ok(Attempt::Broken("the connection was cut".into())),
                    None => Ok(Attempt::Complete),
                    Some(Broken::Net(e)) => Ok(Attempt::Broken(e.to_string())),
                    Some(Broken::Disk(e)) => Err(on_disk(e)),
                }
            }
            Reply::Mismatch => {
                target.set_len(0).map_err(on_disk)?;
                let why = "the server would not continue the download";
                Ok(Attempt::Broken(why.into()))
            }
            Reply::Temporary(status) => {
                Ok(Attempt::Broken(format!("the server responded {status}")))
            }
            Reply::Refused(status) => {
                let what = format!(
                    "the server responded {status}; the file may have moved: get it elsewhere and put it at {}",
                    file.path
                );
                Err(download_error(file, what))
            }
        }
    }
}

/// Response of a server to a request for the bytes of a file that are missing.
enum Reply {
    /// No bytes are missing.
    Complete,
    /// The bytes from `start` on, of a file of `total` bytes if the server sends the size.
    Content { start: u64, total: Option<u64> },
    /// The partial file does not match the server's: the download restarts.
    Mismatch,
    /// A failure that another attempt may change.
    Temporary(StatusCode),
    /// A failure that no further attempt can change.
    Refused(StatusCode),
}

impl Reply {
    /// Reads a response; `have` is the size of the partial file.
    fn of(response: &Response<Body>, have: u64) -> Self {
        match (response.status(), content_range(response.headers())) {
            (StatusCode::OK, _) => Reply::Content {
                start: 0,
                total: response.body().content_length(),
            },
            (StatusCode::PARTIAL_CONTENT, Some((Some(start), total))) if start == have => {
                Reply::Content { start, total }
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some((None, Some(total)))) if total == have => {
                Reply::Complete
            }
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) if have > 0 => {
                Reply::Mismatch
            }
            (status, _) if is_temporary(status) => Reply::Temporary(status),
            (status, _) => Reply::Refused(status),
        }
    }
}

/// Returns the body of a response, of at most [`MAX_BYTES`].
fn limited(response: Response<Body>) -> impl Read {
    let body = response.into_body().into_with_config();
    body.limit(MAX_BYTES).reader()
}

/// Result of a request.
enum Attempt {
    Complete,
    Broken(String),
}

/// Bytes of a response that were copied to a file, and the failure that ended the copy.
struct Copied {
    bytes: u64,
    broken: Option<Broken>,
}

/// The side of a copy that failed.
enum Broken {
    Net(io::Error),
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

/// Copies all of `from` to `to`, and reports progress.
fn copy(from: &mut impl Read, to: &mut File, progress: &dyn Progress) -> Copied {
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    let broken = loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break None,
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => break Some(Broken::Net(e)),
        };
        if let Err(e) = to.write_all(&buffer[..read]) {
            break Some(Broken::Disk(e));
        }
        bytes += read as u64;
        progress.advance(read as u64);
    };
    Copied { bytes, broken }
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
fn is_temporary(status: StatusCode) -> bool {
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
}
