//! HTTP server of a page for one reader: it serves one secret folder on this machine and nothing
//! else.
//!
//! It supports as little HTTP as a browser needs: one small request for each connection, within a
//! few seconds. It refuses a request that lacks the secret, comes from another origin, or is too
//! large or too slow. A refused request does not delay others: requests are read in parallel and
//! answered one after the other.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Size limits of the head and the body of a request, in bytes.
const MOST_HEAD: usize = 8 << 10;
const MOST_BODY: usize = 64 << 10;
/// Largest number of requests read at the same time.
const MOST_READERS: usize = 16;
/// Time limit for receiving a request, and for sending a response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval between checks for a stop request.
const PULSE: Duration = Duration::from_millis(20);

/// Request that contains the secret.
#[derive(Debug)]
pub struct Request {
    /// Method: `GET` or `POST`.
    pub method: String,
    /// Path after the secret folder.
    pub path: String,
    /// Body of the request.
    pub body: Vec<u8>,
}

/// HTTP response.
#[derive(Debug)]
pub struct Response {
    /// Status: 200, or the reason of a refusal.
    pub status: u16,
    /// Content type.
    pub kind: &'static str,
    /// Body of the response.
    pub body: String,
}

impl Response {
    /// Builds a response with a page.
    pub fn page(body: String) -> Self {
        Self {
            status: 200,
            kind: "text/html; charset=utf-8",
            body,
        }
    }

    /// Builds a response with a JSON object.
    pub fn json(body: String) -> Self {
        Self {
            status: 200,
            kind: "application/json",
            body,
        }
    }

    /// Builds a refusal with its reason in a line.
    pub fn refused(status: u16, why: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{why}\n"),
        }
    }
}

/// Server bound to an address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    at: SocketAddr,
    secret: String,
}

/// Returns 128 unpredictable bits, from the keys that the system gives every process for its hash
/// tables. They do not affect results, so no seed determines them.
fn secret() -> String {
    let part = |number: u64| RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", part(1), part(2))
}

impl Server {
    /// Binds to an address; port 0 takes a free one.
    pub fn bind(host: IpAddr, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind((host, port))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            at: listener.local_addr()?,
            listener,
            secret: secret(),
        })
    }

    /// Returns the address to open in a browser.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.at, self.secret)
    }

    /// Responds until the user requests a stop, or until this number of responses.
    pub fn run(
        &self,
        stop: &AtomicBool,
        most: Option<usize>,
        respond: impl Fn(&Request) -> Response,
    ) -> std::io::Result<()> {
        let (sender, arrived) = channel::<(TcpStream, Result<Request, Response>)>();
        let readers = Arc::new(AtomicUsize::new(0));
        let mut responses = 0;
        while !stop.load(Ordering::Relaxed) && most.is_none_or(|most| responses < most) {
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) if readers.load(Ordering::Relaxed) < MOST_READERS => {
                        let (sender, readers, check) =
                            (sender.clone(), Arc::clone(&readers), self.check());
                        readers.fetch_add(1, Ordering::Relaxed);
                        std::thread::spawn(move || {
                            let mut stream = stream;
                            let request = read(&mut stream).and_then(check);
                            readers.fetch_sub(1, Ordering::Relaxed);
                            // After the end of the server nobody receives the request.
                            let _ = sender.send((stream, request));
                        });
                    }
                    // Too many at once: this one is dropped, and may be sent again.
                    Ok(_) => (),
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                    // A client that closed the connection before the response is no reason to end.
                    Err(e) if e.kind() == std::io::ErrorKind::ConnectionAborted => (),
                    Err(e) => return Err(e),
                }
            }
            match arrived.recv_timeout(PULSE) {
                Ok((mut stream, request)) => {
                    let found = match request {
                        Ok(request) => {
                            responses += 1;
                            respond(&request)
                        }
                        Err(refused) => refused,
                    };
                    // A client that has gone gets no response.
                    let _ = write(&mut stream, &found);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    /// Checks a request: it must be for this host and within the secret folder.
    fn check(
        &self,
    ) -> impl Fn((Request, Option<String>)) -> Result<Request, Response> + Send + 'static {
        let (port, secret) = (self.at.port(), self.secret.clone());
        let hosts = [self.at.to_string(), format!("localhost:{port}")];
        // A server on every address of the machine cannot know the names that others use for it.
        let any_host = self.at.ip().is_unspecified();
        move |(mut request, host)| {
            // A page of another origin whose name resolves here would still send that name.
            if !any_host && !host.is_some_and(|host| hosts.contains(&host.to_lowercase())) {
                return Err(Response::refused(403, "not for this host"));
            }
            let nothing = || Response::refused(404, "not found");
            let path = request
                .path
                .strip_prefix('/')
                .and_then(|rest| rest.split_once('/'))
                .ok_or_else(nothing)?;
            let is_secret = path.0.len() == secret.len()
                && path
                    .0
                    .bytes()
                    .zip(secret.bytes())
                    .fold(0, |differs, (a, b)| differs | (a ^ b))
                    == 0;
            if !is_secret {
                return Err(nothing());
            }
            request.path = path.1.to_string();
            Ok(request)
        }
    }
}

/// Reads a request and its host, within [`PATIENCE`] and the size limits.
fn read(stream: &mut TcpStream) -> Result<(Request, Option<String>), Response> {
    let deadline = Instant::now() + PATIENCE;
    let broken = |_| Response::refused(400, "the request ended early");
    // A stream inherits the non-blocking mode of its listener.
    stream.set_nonblocking(false).map_err(broken)?;
    receive(|bytes: &mut Vec<u8>| {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Response::refused(408, "the request took too long"));
        }
        stream.set_read_timeout(Some(left)).map_err(broken)?;
        let mut part = [0; 4096];
        match stream.read(&mut part) {
            Ok(0) => Err(Response::refused(400, "the request ended early")),
            Ok(count) => {
                bytes.extend_from_slice(&part[..count]);
                Ok(())
            }
            Err(_) => Err(Response::refused(408, "the request took too long")),
        }
    })
}

/// Reads a request and its host from bytes that come in pieces, within the size limits; `more` adds
/// a piece, or fails with a reason.
fn receive(
    mut more: impl FnMut(&mut Vec<u8>) -> Result<(), Response>,
) -> Result<(Request, Option<String>), Response> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > MOST_HEAD {
            return Err(Response::refused(
                431,
                "the head of the request is too large",
            ));
        }
        more(&mut bytes)?;
    };
    let Head {
        method,
        path,
        host,
        length,
    } = head(&bytes[..end])?;
    if length > MOST_BODY {
        return Err(Response::refused(413, "the request is too large"));
    }
    let start = end + 4;
    while bytes.len() < start + length {
        more(&mut bytes)?;
    }
    let body = bytes[start..start + length].to_vec();
    Ok((Request { method, path, body }, host))
}

/// Fuzzing entry point: reads any bytes that a client may send, in pieces of up to 16 bytes.
#[doc(hidden)]
pub fn fuzz_request(data: &[u8]) {
    let mut pieces = data.chunks(16);
    let _ = receive(|bytes| match pieces.next() {
        Some(piece) => {
            bytes.extend_from_slice(piece);
            Ok(())
        }
        None => Err(Response::refused(400, "the request ended early")),
    });
}

struct Head {
    method: String,
    path: String,
    host: Option<String>,
    length: usize,
}

/// Parses the lines above a body.
fn head(bytes: &[u8]) -> Result<Head, Response> {
    let wrong = |what: &str| Response::refused(400, what);
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("the head is not text"))?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or("").split(' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(wrong("the first line is not a request"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Response::refused(505, "only HTTP/1 is supported"));
    }
    if !["GET", "POST"].contains(&method) {
        return Err(Response::refused(405, "only GET and POST are supported"));
    }
    let (mut host, mut length, mut kind) = (None, 0, "");
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| wrong("a line of the head has no name"))?;
        match name.to_ascii_lowercase().as_str() {
            "host" => host = Some(value.trim().to_string()),
            "content-length" => {
                length = value
                    .trim()
                    .parse()
                    .map_err(|_| wrong("the length is not a number"))?
            }
            "content-type" => kind = value.trim(),
            "transfer-encoding" => return Err(wrong("the body must come in one piece")),
            _ => (),
        }
    }
    // A form of another page cannot send JSON without a preflight request.
    if method == "POST" && !kind.starts_with("application/json") {
        return Err(Response::refused(415, "only application/json is supported"));
    }
    Ok(Head {
        method: method.to_string(),
        path: path.to_string(),
        host,
        length,
    })
}

fn write(stream: &mut TcpStream, response: &Response) -> std::io::Result<()> {
    let Response { status, kind, body } = response;
    let reason = if *status == 200 { "OK" } else { "Refused" };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> u16 {
        super::head(head.as_bytes())
            .err()
            .map_or(200, |response| response.status)
    }

    #[test]
    fn heads_that_are_none_are_refused() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a"), 200);
        assert_eq!(
            status(
                "POST / HTTP/1.1\r\ncontent-type: application/json; charset=utf-8\r\nContent-Length: 3"
            ),
            200
        );
        for (head, expected) in [
            ("", 400),
            ("GET /", 400),
            ("GET / x HTTP/1.1", 400),
            ("GET / HTTP/2", 505),
            ("PUT / HTTP/1.1", 405),
            ("GET / HTTP/1.1\r\nno colon", 400),
            ("GET / HTTP/1.1\r\nContent-Length: many", 400),
            (
                "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999",
                400,
            ),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked", 400),
            ("POST / HTTP/1.1\r\nContent-Type: text/plain", 415),
        ] {
            assert_eq!(status(head), expected, "{head}");
        }
    }

    #[test]
    fn secrets_differ() {
        assert_eq!(secret().len(), 32);
        assert_ne!(secret(), secret());
    }

    /// Returns the response to these bytes.
    fn response_to(server: &Server, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(server.at).unwrap();
        // The server may close the connection before all bytes are sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut response = String::new();
        let _ = stream.read_to_string(&mut response);
        response.lines().next().unwrap_or("").to_string()
    }

    #[test]
    fn nothing_is_served_but_the_secret_folder() {
        let server = Server::bind(IpAddr::from([127, 0, 0, 1]), 0).unwrap();
        let (at, secret) = (server.at, server.secret.clone());
        assert_eq!(server.url(), format!("http://{at}/{secret}/"));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let echo = |request: &Request| {
                    Response::json(format!("{} {}", request.path, request.body.len()))
                };
                server.run(&AtomicBool::new(false), Some(2), echo).unwrap();
            });
            let ask = |path: &str, host: &str| {
                response_to(
                    &server,
                    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(),
                )
            };
            let here = at.to_string();
            assert_eq!(ask("/", &here), "HTTP/1.1 404 Refused");
            assert_eq!(ask("/favicon.ico", &here), "HTTP/1.1 404 Refused");
            assert_eq!(
                ask(&format!("/{}/", "0".repeat(32)), &here),
                "HTTP/1.1 404 Refused"
            );
            assert_eq!(
                ask(&format!("/{secret}/"), "evil.example"),
                "HTTP/1.1 403 Refused"
            );
            assert_eq!(
                response_to(&server, b"GET / HTTP/1.1\r\nHost"),
                "HTTP/1.1 400 Refused",
                "cut off"
            );
            assert_eq!(
                response_to(&server, &[b'x'; MOST_HEAD + 5000]),
                "HTTP/1.1 431 Refused"
            );
            let large = format!(
                "POST /{secret}/ HTTP/1.1\r\nHost: {here}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                MOST_BODY + 1
            );
            assert_eq!(
                response_to(&server, large.as_bytes()),
                "HTTP/1.1 413 Refused"
            );
            assert_eq!(
                response_to(&server, &[0xff, 0xfe, b'\r', b'\n', b'\r', b'\n']),
                "HTTP/1.1 400 Refused"
            );
            // The server ends after two responses.
            assert_eq!(ask(&format!("/{secret}/"), &here), "HTTP/1.1 200 OK");
            assert_eq!(
                ask(&format!("/{secret}/x"), &format!("localhost:{}", at.port())),
                "HTTP/1.1 200 OK"
            );
            running.join().unwrap();
        });
    }
}
