//! Runs a program in any language as a model: gnarl starts it and sends requests over standard
//! input and output, one JSON object on one line each way.
//!
//! | gnarl writes | the program responds |
//! | --- | --- |
//! | `{"hello":1}` | `{"num_classes":C}` |
//! | `{"num_nodes":n,"edges":[[u,v],…],"features":{"shape":[n,k],"rows":[…],"cols":[…],"values":[…]}}` | `{"scores":[[…],…]}` |
//!
//! Every undirected edge is written once; features are the non-zero entries, or `null` for a graph
//! without features. Scores are n rows of C numbers before the softmax; logarithms of probabilities
//! are valid scores. `{"error":"…"}` in place of a response ends the session. The program should
//! read lines until its input ends, then exit; its standard error is shown when it fails. A program
//! that exceeds the time limit is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gnarl_graph::{DenseMatrix, Features, Graph};
use serde::Deserialize;
use serde_json::json;

use crate::classifier::Classifier;
use gnarl_graph::{Error, Result};

/// A running program as a classifier. It is killed when this is dropped.
#[derive(Debug)]
pub struct External {
    name: String,
    num_classes: usize,
    process: Mutex<Process>,
}

impl External {
    /// Starts a program: its name and arguments. `limit` is the time limit of a response.
    pub fn start(command: &[String], limit: Duration) -> Result<Self> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(failure("external model", "there is no program to start"));
        };
        let mut process = Process::start(program, arguments, limit)?;
        let hello: Hello = process.ask(program, &json!({ "hello": 1 }), 1)?;
        match hello.num_classes {
            1.. => Ok(Self {
                name: program.clone(),
                num_classes: hello.num_classes,
                process: Mutex::new(process),
            }),
            0 => Err(process.fails(program, "it reports 0 classes")),
        }
    }
}

impl Classifier for External {
    fn num_classes(&self) -> usize {
        self.num_classes
    }

    fn scores(&self, graph: &Graph) -> Result<DenseMatrix<f32>> {
        let mut process = self.process.lock().unwrap_or_else(|e| e.into_inner());
        let (rows, classes) = (graph.num_nodes(), self.num_classes);
        let response: Scores =
            process.ask(&self.name, &request(graph), rows.saturating_mul(classes))?;
        let scores = response
            .checked(rows, classes)
            .map_err(|what| process.fails(&self.name, &what))?;
        DenseMatrix::new(rows, classes, scores)
    }
}

#[derive(Deserialize)]
struct Hello {
    num_classes: usize,
}

#[derive(Deserialize)]
struct Scores {
    /// Some programs write NaN as `null`.
    scores: Vec<Vec<Option<f32>>>,
}

impl Scores {
    /// Returns the scores one after the other if there is a number for each node and class;
    /// otherwise an error message.
    fn checked(self, rows: usize, classes: usize) -> std::result::Result<Vec<f32>, String> {
        if self.scores.len() != rows {
            return Err(format!(
                "it gave {} rows of scores for {rows} nodes",
                self.scores.len()
            ));
        }
        for (node, row) in self.scores.iter().enumerate() {
            if row.len() != classes {
                return Err(format!(
                    "it gave {} scores for node {node}, {classes} classes were announced",
                    row.len()
                ));
            }
            if let Some(score) = row.iter().flatten().find(|score| score.is_nan()) {
                return Err(format!("it gave the score {score} for node {node}"));
            }
            if row.iter().any(Option::is_none) {
                return Err(format!(
                    "it gave a score that is not a number for node {node}"
                ));
            }
        }
        Ok(self.scores.into_iter().flatten().flatten().collect())
    }
}

/// Parses a line, or returns an error message.
fn understood<T: for<'de> Deserialize<'de>>(line: &str) -> std::result::Result<T, String> {
    // NaN and Infinity are not JSON, but many programs write them.
    let value: serde_json::Value = serde_json::from_str(&line.replace("NaN", "null"))
        .map_err(|e| format!("its response is not JSON: {e}"))?;
    match value.get("error") {
        Some(what) => Err(format!("it reports: {what}")),
        None => serde_json::from_value(value)
            .map_err(|e| format!("its response does not follow the protocol: {e}")),
    }
}

/// Fuzzing: parses any response of a program, for three nodes and two classes.
#[doc(hidden)]
pub fn fuzz_responses(mut data: &[u8]) {
    let longest = AtomicUsize::new(6 * BYTES_OF_NUMBER + SHORT_RESPONSE);
    while let Ok(Some(line)) = read_line(&mut data, &longest) {
        let _ = understood::<Hello>(&line);
        let _ = understood::<Scores>(&line).and_then(|scores| scores.checked(3, 2));
    }
}

fn request(graph: &Graph) -> serde_json::Value {
    let edges: Vec<(u32, u32)> = graph.edges().collect();
    let features = graph.features().map(|features| {
        let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut note = |i: usize, j: usize, v: f32| {
            if v != 0.0 {
                rows.push(i);
                cols.push(j);
                values.push(v);
            }
        };
        for i in 0..features.num_rows() {
            match features {
                Features::Dense(m) => m.row(i).iter().enumerate().for_each(|(j, &v)| note(i, j, v)),
                Features::Sparse(m) => {
                    let (columns, values) = m.row(i);
                    columns.iter().zip(values).for_each(|(&j, &v)| note(i, j as usize, v));
                }
            }
        }
        json!({ "shape": [features.num_rows(), features.num_cols()], "rows": rows, "cols": cols, "values": values })
    });
    json!({ "num_nodes": graph.num_nodes(), "edges": edges, "features": features })
}

/// Number of bytes of a program's standard error that are kept.
const LAST_WORDS: usize = 2000;
/// Largest number of bytes of a response without its scores.
const SHORT_RESPONSE: usize = 1 << 16;
/// Largest number of bytes of a score: a number of 17 digits with its sign, exponent, comma and
/// blanks needs less.
const BYTES_OF_NUMBER: usize = 64;

/// Reads one line, without its end; `None` at the end of the output. Fails for a line that is
/// longer than any response, without storing more of it.
fn read_line(output: &mut impl BufRead, longest: &AtomicUsize) -> std::io::Result<Option<String>> {
    let fail = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    let mut line = Vec::new();
    loop {
        let piece = output.fill_buf()?;
        let (taken, ended) = match piece.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        line.extend_from_slice(&piece[..taken]);
        output.consume(taken);
        let longest = longest.load(Ordering::Relaxed);
        if line.len() > longest {
            return Err(fail(format!(
                "a line of more than {longest} bytes, longer than any valid response"
            )));
        }
        if ended && line.is_empty() {
            return Ok(None);
        }
        if ended {
            line.truncate(line.len() - usize::from(line.ends_with(b"\n")));
            return String::from_utf8(line)
                .map(Some)
                .map_err(|e| fail(e.to_string()));
        }
    }
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// Closed if the program has failed.
    input: Option<ChildStdin>,
    lines: Receiver<std::io::Result<String>>,
    /// Largest number of bytes of the expected response.
    longest: Arc<AtomicUsize>,
    last_words: Arc<Mutex<Vec<u8>>>,
    limit: Duration,
}

impl Process {
    fn start(program: &str, arguments: &[String], limit: Duration) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| failure(program, &format!("it cannot be started: {e}")))?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let longest = Arc::new(AtomicUsize::new(SHORT_RESPONSE));
        // Output without a request is not read.
        let (send, lines) = sync_channel(1);
        if let Some(output) = output {
            let longest = longest.clone();
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = read_line(&mut output, &longest).transpose() {
                    let ended = line.is_err();
                    if send.send(line).is_err() || ended {
                        break;
                    }
                }
            });
        }
        let last_words = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut errors) = errors {
            let kept = last_words.clone();
            thread::spawn(move || {
                let mut buffer = [0; 512];
                while let Ok(count @ 1..) = errors.read(&mut buffer) {
                    let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
                    kept.extend_from_slice(&buffer[..count]);
                    let surplus = kept.len().saturating_sub(LAST_WORDS);
                    kept.drain(..surplus);
                }
            });
        }
        Ok(Self {
            child,
            input,
            lines,
            longest,
            last_words,
            limit,
        })
    }

    /// Writes one line and reads one line. Writing has a time limit of its own: a program that does
    /// not read would block it.
    fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        name: &str,
        request: &serde_json::Value,
        numbers: usize,
    ) -> Result<T> {
        let longest = numbers
            .saturating_mul(BYTES_OF_NUMBER)
            .saturating_add(SHORT_RESPONSE);
        self.longest.store(longest, Ordering::Relaxed);
        let Some(mut input) = self.input.take() else {
            return Err(failure(name, "it has failed before"));
        };
        let (sent, written) = channel();
        let line = format!("{request}\n");
        thread::spawn(move || {
            let result = input
                .write_all(line.as_bytes())
                .and_then(|()| input.flush());
            // The receiver is gone if the program was given up.
            let _ = sent.send((result, input));
        });
        match written.recv_timeout(self.limit) {
            Ok((Ok(()), input)) => self.input = Some(input),
            Ok((Err(e), _)) => {
                return Err(self.fails(name, &format!("it does not take a request: {e}")));
            }
            Err(_) => {
                return Err(
                    self.fails(name, &format!("it took no request within {:?}", self.limit))
                );
            }
        }
        let line = match self.lines.recv_timeout(self.limit) {
            Ok(Ok(line)) => line,
            Ok(Err(e)) => {
                return Err(self.fails(name, &format!("its response cannot be read: {e}")));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(self.fails(
                    name,
                    &format!("it gave no response within {:?}", self.limit),
                ));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(self.fails(name, "it ended without a response"));
            }
        };
        understood(&line).map_err(|what| self.fails(name, &what))
    }

    /// Kills the program and returns an error with the end of its standard error.
    fn fails(&mut self, name: &str, what: &str) -> Error {
        self.end();
        let words = self.last_words.lock().unwrap_or_else(|e| e.into_inner());
        let words = String::from_utf8_lossy(&words);
        let words: Vec<&str> = words.split_whitespace().collect();
        if words.is_empty() {
            failure(name, what)
        } else {
            failure(
                name,
                &format!("{what}; its last words: {}", words.join(" ")),
            )
        }
    }

    fn end(&mut self) {
        self.input = None;
        // Already ended, or about to end: wait for it, so that no zombie process is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The end of its output is still in the pipe.
        thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn failure(name: &str, what: &str) -> Error {
    Error::argument("external model", format!("{name}: {what}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A shell script as a model.
    fn start(script: &str) -> Result<External> {
        let command = ["sh", "-c", script].map(String::from);
        External::start(&command, Duration::from_millis(800))
    }

    fn path() -> Graph {
        let features =
            Features::Dense(DenseMatrix::new(3, 2, vec![1.0, 0.0, 0.0, 2.5, 0.0, 0.0]).unwrap());
        Graph::from_edges(3, [(0, 1), (1, 2)])
            .unwrap()
            .0
            .with_features(features)
            .unwrap()
    }

    const HELLO: &str = "read hello; echo '{\"num_classes\": 2}'; read request; ";

    #[test]
    fn it_responds_to_requests() {
        // The response holds the length of the request, which shows that the program received it.
        let model =
            start(&format!("{HELLO} echo \"{{\\\"scores\\\": [[${{#request}}, 0], [0.5, -1], [1e3, 2]]}}\"; read end"))
                .unwrap();
        assert_eq!(model.num_classes(), 2);
        let scores = model.scores(&path()).unwrap();
        let sent = request(&path()).to_string();
        assert_eq!(scores.data(), [sent.len() as f32, 0.0, 0.5, -1.0, 1e3, 2.0]);
        for part in [
            "\"edges\":[[0,1],[1,2]]",
            "\"shape\":[3,2]",
            "\"rows\":[0,1]",
            "\"values\":[1.0,2.5]",
        ] {
            assert!(sent.contains(part), "{sent}");
        }
    }

    #[test]
    fn failures_are_reported_in_one_line_with_standard_error() {
        for (script, expected) in [
            ("echo no > /dev/stderr; exit 3", "last words: no"),
            (
                "read hello; echo '{\"num_classes\": 0}'",
                "reports 0 classes",
            ),
            ("read hello; echo hi", "is not JSON"),
            (
                "read hello; echo '{\"classes\": 2}'",
                "does not follow the protocol",
            ),
            (
                "read hello; echo '{\"error\": \"no weights\"}'",
                "it reports: \"no weights\"",
            ),
            ("sleep 5", "no response within"),
            (
                "read hello; while :; do printf xxxxxxxxxxxxxxxx; done",
                "a line of more than 65600 bytes",
            ),
        ] {
            let e = start(script).unwrap_err().to_string();
            assert!(e.contains(expected) && !e.contains('\n'), "{script}: {e}");
        }
        for (response, expected) in [
            (
                "echo '{\"scores\": [[1, 2]]}'",
                "1 rows of scores for 3 nodes",
            ),
            (
                "echo '{\"scores\": [[1, 2], [1], [1, 2]]}'",
                "1 scores for node 1",
            ),
            (
                "echo '{\"scores\": [[1, 2], [1, NaN], [1, 2]]}'",
                "not a number for node 1",
            ),
            ("echo tired >&2; exit 1", "last words: tired"),
            ("sleep 5", "no response within 800ms"),
            // Six scores of 64 bytes at most.
            (
                "while :; do printf '[[1, 2], '; done",
                "a line of more than 65920 bytes",
            ),
        ] {
            let model = start(&format!("{HELLO} {response}")).unwrap();
            let e = model.scores(&path()).unwrap_err().to_string();
            assert!(e.contains(expected) && !e.contains('\n'), "{response}: {e}");
            let e = model.scores(&path()).unwrap_err().to_string();
            assert!(e.contains("failed before"), "{e}");
        }
        let e = External::start(&["/no/such/program".into()], Duration::from_secs(1))
            .unwrap_err()
            .to_string();
        assert!(e.contains("cannot be started"), "{e}");
        assert!(External::start(&[], Duration::from_secs(1)).is_err());
    }

    /// Unrequested lines are not collected: the program blocks after a few.
    #[test]
    fn lines_without_end_are_not_collected() {
        let model = start(&format!(
            "{HELLO} while :; do echo '{{\"scores\": [[1, 2], [1, 2], [1, 2]]}}'; done"
        ))
        .unwrap();
        assert!(model.scores(&path()).is_ok());
        let longest = AtomicUsize::new(5);
        let mut text = "abc\nabcde\nabcd".as_bytes();
        assert_eq!(
            read_line(&mut text, &longest).unwrap().as_deref(),
            Some("abc")
        );
        assert!(
            read_line(&mut text, &longest).is_err(),
            "six bytes with the end of the line"
        );
        assert_eq!(
            read_line(&mut text, &longest).unwrap().as_deref(),
            Some("abcd"),
            "the last line needs no end"
        );
        assert_eq!(read_line(&mut text, &longest).unwrap(), None);
    }

    #[test]
    fn nothing_is_left_of_a_program() {
        let model = start(&format!("{HELLO} sleep 30")).unwrap();
        let id = model.process.lock().unwrap().child.id();
        drop(model);
        assert!(
            !std::path::Path::new(&format!("/proc/{id}")).exists(),
            "the program is still there"
        );
    }
}
