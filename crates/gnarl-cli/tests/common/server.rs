//! Starts `gnarl explore` and sends requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Server that ends after a number of responses, and with the test at the latest.
pub struct Running {
    child: Child,
    /// First line that the server printed.
    pub told: String,
    pub host: String,
    pub secret: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself if the test succeeded.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts `gnarl explore` in a folder, with or without `--json`.
    pub fn new(folder: &Path, args: &[&str], requests: usize) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gnarl"));
        command
            .current_dir(folder)
            .env("GNARL_DATA", "no-such-folder")
            .arg("explore")
            .args(args);
        let mut child = command
            .args(["--max-requests", &requests.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut told)
            .unwrap();
        let url = match serde_json::from_str::<Value>(&told) {
            Ok(object) => object["url"].as_str().unwrap().to_string(),
            Err(_) => told
                .split_whitespace()
                .nth(1)
                .expect("open URL in a browser")
                .to_string(),
        };
        let (host, rest) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            child,
            host: host.to_string(),
            secret: rest.trim_end_matches('/').to_string(),
            told,
        }
    }

    /// Sends a request and returns status and body of the response.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_string(),
        )
    }

    pub fn change(&self, body: &str) -> (u16, String) {
        self.ask("POST", &format!("/{}/change", self.secret), body)
    }

    pub fn ended(mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}
