//! Tests downloads from a small server on loopback: resume, checksums, archives, and the files left
//! after a failure.

use std::fs;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gnarl_data::download::{Downloader, Outcome, Progress, Silent, State};
use gnarl_data::registry::{RemoteFile, Unpack};
use gnarl_graph::Error;

/// A response of the server: status line, further headers, body, and the number of bytes of the
/// body that it sends.
struct Reply {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
    sent: usize,
}

fn ok(body: &[u8]) -> Reply {
    Reply {
        status: "200 OK",
        headers: String::new(),
        body: body.to_vec(),
        sent: body.len(),
    }
}

fn partial(whole: &[u8], from: usize) -> Reply {
    let headers = format!(
        "Content-Range: bytes {from}-{}/{}\r\n",
        whole.len() - 1,
        whole.len()
    );
    Reply {
        status: "206 Partial Content",
        headers,
        body: whole[from..].to_vec(),
        sent: whole.len() - from,
    }
}

fn status(status: &'static str) -> Reply {
    Reply { status, ..ok(b"") }
}

impl Reply {
    fn cut_after(mut self, bytes: usize) -> Self {
        self.sent = bytes;
        self
    }
}

/// A server that sends the given responses in order, then ends; it also ends after ten seconds
/// without a request.
struct Server {
    port: u16,
    thread: JoinHandle<Vec<Option<String>>>,
}

impl Server {
    fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let thread = std::thread::spawn(move || {
            let mut ranges = Vec::new();
            for reply in replies {
                let Some(stream) = accept(&listener) else {
                    break;
                };
                ranges.push(answer(stream, &reply));
            }
            ranges
        });
        Self { port, thread }
    }

    /// Makes a file on this server. It is leaked, since the registry's are static.
    fn file(&self, path: &'static str, sha256: Option<&'static str>) -> RemoteFile {
        let url = Box::leak(format!("http://127.0.0.1:{}/{path}", self.port).into_boxed_str());
        RemoteFile {
            url,
            path,
            sha256,
            unpack: None,
        }
    }

    fn zip(&self, path: &'static str, members: &'static [&'static str]) -> RemoteFile {
        RemoteFile {
            unpack: Some(Unpack::Zip { members }),
            ..self.file(path, None)
        }
    }

    /// Returns the `Range` header of each request.
    fn ranges(self) -> Vec<Option<String>> {
        self.thread.join().unwrap()
    }
}

fn accept(listener: &TcpListener) -> Option<TcpStream> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return Some(stream);
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    None
}

fn answer(mut stream: TcpStream, reply: &Reply) -> Option<String> {
    let mut range = None;
    for line in BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok)
    {
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("range")
        {
            range = Some(value.trim().to_string());
        }
    }
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        reply.status,
        reply.body.len(),
        reply.headers
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&reply.body[..reply.sent]).unwrap();
    range
}

fn fetch(file: RemoteFile, dir: &Path) -> Result<Outcome, Error> {
    Downloader::loopback()
        .fetch(&[file], dir, &Silent)
        .map(|mut outcomes| outcomes.remove(0))
}

/// Returns 10,000 bytes and their SHA-256, by `python3 -c "…bytes(i * 7 % 251 for i in
/// range(10000))…" | sha256sum`.
fn content() -> (Vec<u8>, &'static str) {
    let bytes = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
    (
        bytes,
        "c3d5cea5e36f10537bb7aeb14e6740a973a9dd5b55c22347d465693f1ded4ced",
    )
}

/// Every file below the folder, as sorted relative paths.
fn files_in(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(dir).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_file_is_downloaded_once() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    let server = Server::start(vec![ok(&body)]);
    let file = server.file("npz/a.npz", Some(sha));
    let outcome = fetch(file, dir.path()).unwrap();
    assert_eq!(outcome.state, State::Downloaded { bytes: 10_000 });
    assert!(outcome.verified);
    assert_eq!(fs::read(dir.path().join("npz/a.npz")).unwrap(), body);
    assert_eq!(files_in(dir.path()), ["npz/a.npz"]);
    assert_eq!(server.ranges(), [None]);

    // The server has ended: only a file that is taken as present can succeed now.
    let again = fetch(file, dir.path()).unwrap();
    assert_eq!((again.state, again.verified), (State::Present, true));
    let unchecked = RemoteFile {
        sha256: None,
        ..file
    };
    assert!(!fetch(unchecked, dir.path()).unwrap().verified);
}

#[test]
fn a_cut_connection_is_resumed_where_it_broke_off() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    let server = Server::start(vec![
        ok(&body).cut_after(4_000),
        partial(&body, 4_000).cut_after(1),
        partial(&body, 4_001),
    ]);
    let outcome = fetch(server.file("a", Some(sha)), dir.path()).unwrap();
    assert_eq!(
        outcome.state,
        State::Downloaded { bytes: 10_000 },
        "no byte came twice"
    );
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
    assert_eq!(
        server.ranges(),
        [None, Some("bytes=4000-".into()), Some("bytes=4001-".into())]
    );
}

#[test]
fn an_earlier_part_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    fs::write(dir.path().join("a.part"), &body[..3_000]).unwrap();
    let server = Server::start(vec![partial(&body, 3_000)]);
    let outcome = fetch(server.file("a", Some(sha)), dir.path()).unwrap();
    assert_eq!(outcome.state, State::Downloaded { bytes: 7_000 });
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
    assert_eq!(server.ranges(), [Some("bytes=3000-".into())]);
}

#[test]
fn a_server_that_ignores_ranges_starts_over() {
    let dir = tempfile::tempdir().unwrap();
    let (body, _) = content();
    fs::write(dir.path().join("a.part"), [9; 20_000]).unwrap();
    let server = Server::start(vec![ok(&body)]);
    fetch(server.file("a", None), dir.path()).unwrap();
    assert_eq!(
        fs::read(dir.path().join("a")).unwrap(),
        body,
        "no longer than the file, no byte of the old part"
    );
    assert_eq!(server.ranges(), [Some("bytes=20000-".into())]);
}

#[test]
fn a_part_that_is_complete_needs_no_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    fs::write(dir.path().join("a.part"), &body).unwrap();
    let complete = Reply {
        headers: "Content-Range: bytes */10000\r\n".into(),
        ..status("416 Range Not Satisfiable")
    };
    let server = Server::start(vec![complete]);
    let outcome = fetch(server.file("a", Some(sha)), dir.path()).unwrap();
    assert_eq!(outcome.state, State::Downloaded { bytes: 0 });
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
}

#[test]
fn a_part_that_is_too_long_is_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    fs::write(dir.path().join("a.part"), [9; 20_000]).unwrap();
    let beyond = Reply {
        headers: "Content-Range: bytes */10000\r\n".into(),
        ..status("416 Range Not Satisfiable")
    };
    let server = Server::start(vec![beyond, ok(&body)]);
    fetch(server.file("a", Some(sha)), dir.path()).unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
    assert_eq!(server.ranges(), [Some("bytes=20000-".into()), None]);
}

#[test]
fn a_part_of_another_version_is_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    fs::write(dir.path().join("a.part"), [9; 3_000]).unwrap();
    let server = Server::start(vec![partial(&body, 3_000), ok(&body)]);
    fetch(server.file("a", Some(sha)), dir.path()).unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
    assert_eq!(server.ranges(), [Some("bytes=3000-".into()), None]);
}

#[test]
fn a_wrong_checksum_is_an_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (body, sha) = content();
    let server = Server::start(vec![ok(&body[1..])]);
    let e = fetch(server.file("a", Some(sha)), dir.path())
        .unwrap_err()
        .to_string();
    assert!(e.starts_with("download of http://127.0.0.1:"), "{e}");
    assert!(e.contains(&format!("SHA-256 {sha} expected, c6acf0ddbf733b900d1fb53ed091363804992b433f523f8fd9ed44f37ca2d0e2 received; try again")), "{e}");
    assert!(
        files_in(dir.path()).is_empty(),
        "{:?}",
        files_in(dir.path())
    );

    // An existing file stays unchanged until a valid one replaces it.
    fs::write(dir.path().join("a"), b"old").unwrap();
    let server = Server::start(vec![ok(&body[1..]), ok(&body)]);
    let file = server.file("a", Some(sha));
    assert!(fetch(file, dir.path()).is_err());
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"old");
    fetch(file, dir.path()).unwrap();
    assert_eq!(fs::read(dir.path().join("a")).unwrap(), body);
}

#[test]
fn missing_files_are_reported_without_retries() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(vec![status("404 Not Found")]);
    let e = fetch(server.file("npz/a.npz", None), dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("the server responded 404 Not Found; the file may have moved"),
        "{e}"
    );
    assert!(e.ends_with("put it at npz/a.npz"), "{e}");
    assert_eq!(server.ranges().len(), 1, "no second request");
    assert!(files_in(dir.path()).is_empty());
}

#[test]
fn temporary_failures_are_retried_and_the_part_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (body, _) = content();
    let busy = || status("503 Service Unavailable");
    let server = Server::start(vec![
        busy(),
        ok(&body).cut_after(10),
        busy(),
        busy(),
        busy(),
    ]);
    let e = fetch(server.file("a", None), dir.path())
        .unwrap_err()
        .to_string();
    assert!(
        e.contains("the server responded 503 Service Unavailable, 5 times"),
        "{e}"
    );
    assert!(e.contains("the 10 bytes so far are kept"), "{e}");
    assert_eq!(server.ranges().len(), 5);
    assert_eq!(files_in(dir.path()), ["a.part"]);
}

#[test]
fn plain_http_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = RemoteFile {
        url: "http://127.0.0.1:9/a",
        path: "a",
        sha256: None,
        unpack: None,
    };
    let e = Downloader::new()
        .fetch(&[file], dir.path(), &Silent)
        .unwrap_err()
        .to_string();
    assert!(e.to_lowercase().contains("https"), "{e}");
    let far = RemoteFile {
        url: "http://example.invalid/a",
        ..file
    };
    let e = fetch(far, dir.path()).unwrap_err().to_string();
    assert!(e.contains("not an address on loopback"), "{e}");
    assert!(files_in(dir.path()).is_empty());
}

#[test]
fn two_downloads_of_one_file_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let other = fs::File::create(dir.path().join("a.part")).unwrap();
    other.lock().unwrap();
    let file = RemoteFile {
        url: "http://127.0.0.1:9/a",
        path: "a",
        sha256: None,
        unpack: None,
    };
    let e = fetch(file, dir.path()).unwrap_err().to_string();
    assert!(
        e.contains("another download of this file is under way"),
        "{e}"
    );
}

/// A kill between unpacking and cleanup left the archive of an earlier call: the next call removes
/// it.
#[test]
fn unpacked_files_need_no_archive() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("tu/X")).unwrap();
    fs::write(dir.path().join("tu/X/X_A.txt"), "1, 2\n").unwrap();
    fs::write(dir.path().join("tu/X.zip.part"), "packed").unwrap();
    let server = Server::start(vec![]);
    assert_eq!(
        fetch(server.zip("tu/X", &["X_A.txt"]), dir.path())
            .unwrap()
            .state,
        State::Present
    );
    assert_eq!(files_in(dir.path()), ["tu/X/X_A.txt"]);
}

#[test]
fn progress_counts_every_byte_once() {
    #[derive(Default)]
    struct Log(Mutex<Vec<String>>, Mutex<u64>);
    impl Progress for Log {
        fn begin(&self, file: &str, total: Option<u64>) {
            self.0
                .lock()
                .unwrap()
                .push(format!("begin {file} {total:?}"));
            *self.1.lock().unwrap() = 0;
        }
        fn advance(&self, bytes: u64) {
            *self.1.lock().unwrap() += bytes;
        }
        fn end(&self) {
            let bytes = *self.1.lock().unwrap();
            self.0.lock().unwrap().push(format!("end at {bytes}"));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (body, _) = content();
    let server = Server::start(vec![ok(&body).cut_after(4_000), partial(&body, 4_000)]);
    let log = Log::default();
    Downloader::loopback()
        .fetch(&[server.file("a", None)], dir.path(), &log)
        .unwrap();
    let expected = [
        "begin a Some(10000)",
        "end at 4000",
        "begin a Some(10000)",
        "end at 10000",
    ];
    assert_eq!(*log.0.lock().unwrap(), expected);
}

/// Makes a zip of these files; a name ending in `@` becomes a link to its content.
fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in files {
        match name.strip_suffix('@') {
            Some(link) => zip.add_symlink(link, *content, options).unwrap(),
            None => {
                zip.start_file(*name, options).unwrap();
                zip.write_all(content.as_bytes()).unwrap();
            }
        }
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn an_archive_becomes_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let archive = zip_of(&[
        ("X/X_A.txt", "1, 2\n"),
        ("X/README.txt", "hello"),
        ("X/raw/deep.txt", "deep"),
    ]);
    let server = Server::start(vec![ok(&archive)]);
    let file = server.zip("tu/X", &["X_A.txt", "raw/deep.txt"]);
    let outcome = fetch(file, dir.path()).unwrap();
    assert_eq!(outcome.path, dir.path().join("tu/X"));
    assert_eq!(
        files_in(dir.path()),
        ["tu/X/README.txt", "tu/X/X_A.txt", "tu/X/raw/deep.txt"]
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("tu/X/X_A.txt")).unwrap(),
        "1, 2\n"
    );
    assert_eq!(fetch(file, dir.path()).unwrap().state, State::Present);

    // A folder with a missing file is completed, other files in it stay.
    fs::remove_file(dir.path().join("tu/X/X_A.txt")).unwrap();
    fs::write(dir.path().join("tu/X/mine.txt"), "mine").unwrap();
    let server = Server::start(vec![ok(&archive)]);
    fetch(server.zip("tu/X", &["X_A.txt"]), dir.path()).unwrap();
    assert_eq!(
        files_in(dir.path()),
        [
            "tu/X/README.txt",
            "tu/X/X_A.txt",
            "tu/X/mine.txt",
            "tu/X/raw/deep.txt"
        ]
    );
}

#[test]
fn an_archive_cannot_write_outside_its_folder() {
    let evil: [(&[(&str, &str)], &str); 5] = [
        (
            &[("X/X_A.txt", "1"), ("../evil.txt", "!")],
            "member ../evil.txt: would be written outside its folder",
        ),
        (
            &[("X/../../evil.txt", "!")],
            "member X/../../evil.txt: would be written outside its folder",
        ),
        (
            &[("/tmp/gnarl-evil.txt", "!")],
            "would be written outside its folder",
        ),
        (
            &[("X/X_A.txt", "1"), ("X/link@", "/etc")],
            "member X/link: is a link, which is not unpacked",
        ),
        (
            &[("X/other.txt", "1")],
            "member X_A.txt: missing from the archive",
        ),
    ];
    for (files, expected) in evil {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let server = Server::start(vec![ok(&zip_of(files))]);
        let e = fetch(server.zip("tu/X", &["X_A.txt"]), &data)
            .unwrap_err()
            .to_string();
        assert!(e.contains(expected), "{e}");
        assert!(
            files_in(dir.path()).is_empty(),
            "{expected}: {:?}",
            files_in(dir.path())
        );
        assert!(!data.join("tu/X").exists());
    }
    assert!(!Path::new("/tmp/gnarl-evil.txt").exists());
}

#[test]
fn invalid_archives_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(vec![ok(b"<html>not here</html>")]);
    let e = fetch(server.zip("tu/X", &["X_A.txt"]), dir.path())
        .unwrap_err()
        .to_string();
    assert!(e.contains("not a readable zip"), "{e}");
    assert!(files_in(dir.path()).is_empty());
}

/// Serves a file and an archive slowly, from any offset, to clients that may vanish at any moment.
fn slow_server(file: Vec<u8>, archive: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut path, mut from) = (String::new(), 0);
            for line in BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map_while(Result::ok)
            {
                match line.to_lowercase().strip_prefix("range: bytes=") {
                    Some(range) => from = range.trim_end_matches('-').parse().unwrap(),
                    None if line.starts_with("GET ") => path = line,
                    None if line.is_empty() => break,
                    None => (),
                }
            }
            let body = if path.contains("archive") {
                &archive
            } else {
                &file
            };
            let total = body.len();
            let head = match from {
                0 => format!("HTTP/1.1 200 OK\r\nContent-Length: {total}\r\n"),
                _ if from >= total => format!(
                    "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nContent-Range: bytes */{total}\r\n"
                ),
                _ => format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{total}\r\n",
                    total - from,
                    total - 1
                ),
            };
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes());
            for piece in body[from.min(total)..].chunks(100) {
                if stream.write_all(piece).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    port
}

const MEMBERS: [&str; 3] = ["X_A.txt", "X_graph_indicator.txt", "raw/deep.txt"];

/// Returns the file that the child of [`downloads_survive_kills`] downloads, by this name and port.
fn slow_file(kind: &str, port: u16) -> RemoteFile {
    let url = Box::leak(format!("http://127.0.0.1:{port}/{kind}").into_boxed_str());
    match kind {
        "archive" => RemoteFile {
            url,
            path: "tu/X",
            sha256: None,
            unpack: Some(Unpack::Zip { members: &MEMBERS }),
        },
        _ => RemoteFile {
            url,
            path: "a/file.bin",
            sha256: Some(content().1),
            unpack: None,
        },
    }
}

const CHILD: &str = "GNARL_TEST_DOWNLOADS";

/// No test of its own: the child process that [`downloads_survive_kills`] starts and kills.
#[test]
fn download_in_a_child_process() {
    let Ok(what) = std::env::var(CHILD) else {
        return;
    };
    let [kind, port, dir] = what.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{what}")
    };
    fetch(slow_file(kind, port.parse().unwrap()), Path::new(dir)).unwrap();
}

/// A download that is killed repeatedly at various moments resumes until it is complete; before
/// that, no file has its name. There are a few kills; `GNARL_KILLS=100` makes them a hundred of
/// each kind.
#[cfg(unix)]
#[test]
fn downloads_survive_kills() {
    let wanted: usize = std::env::var("GNARL_KILLS").map_or(4, |count| count.parse().unwrap());
    // This text compresses to half its size.
    let long: String = (0..300)
        .map(|i| format!("{:016x}\n", gnarl_graph::random::mix(i)))
        .collect();
    let files: Vec<(String, &str)> = MEMBERS
        .iter()
        .map(|name| (format!("X/{name}"), long.as_str()))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), *text))
        .collect();
    let port = slow_server(content().0, zip_of(&files));
    let mut members: Vec<String> = MEMBERS.iter().map(|name| format!("tu/X/{name}")).collect();
    members.sort();
    for (kind, expected) in [
        ("file", vec!["a/file.bin".to_string()]),
        ("archive", members),
    ] {
        let (mut kills, mut too_late, mut whole) = (0, 0, 0);
        let mut tries = 0u64;
        while kills < wanted {
            let dir = tempfile::tempdir().unwrap();
            // Up to three kills, then it may finish.
            for turn in 0..4 {
                let mut child = std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "download::download_in_a_child_process"])
                    .env(CHILD, format!("{kind} {port} {}", dir.path().display()))
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .spawn()
                    .unwrap();
                if turn < 3 && kills < wanted {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(
                        gnarl_graph::random::mix(tries) % 180,
                    ));
                    too_late += usize::from(child.try_wait().unwrap().is_some());
                    kills += usize::from(child.try_wait().unwrap().is_none());
                    let _ = child.kill();
                }
                let _ = child.wait().unwrap();
                let found = files_in(dir.path());
                let there = expected.iter().filter(|name| found.contains(name)).count();
                assert!(
                    there == 0 || there == expected.len(),
                    "half of an archive: {found:?}"
                );
            }
            assert_eq!(files_in(dir.path()), expected, "something else is left");
            for name in &expected {
                let bytes = fs::read(dir.path().join(name)).unwrap();
                assert!(
                    bytes
                        == if kind == "archive" {
                            long.as_bytes().to_vec()
                        } else {
                            content().0
                        },
                    "{name}"
                );
            }
            whole += 1;
        }
        println!(
            "killed | download of {} {kind} | {kills} | {too_late} | {whole} went on and were whole |",
            if kind == "file" { "a" } else { "an" }
        );
    }
}
