//! Helpers shared by the tests of the command line.
#![allow(dead_code, unused_imports, reason = "each test file uses some of it")]

use std::fmt::Write;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

pub mod server;
pub mod transcript;

/// Returns a command of the program that does not see the data folder of the person who runs the
/// tests.
pub fn gnarl(args: &[&str]) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("gnarl");
    command.env("GNARL_DATA", "no-such-folder").args(args);
    command
}

/// Returns the standard output of a run that must succeed with an empty standard error.
pub fn text(args: &[&str]) -> String {
    let run = gnarl(args).assert().success().stderr("");
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// Returns the one JSON object that a successful run prints.
pub fn json(args: &[&str]) -> Value {
    one_object(&text(&[args, &["--json"]].concat()))
}

/// Parses exactly one object: `from_str` refuses anything after it.
pub fn one_object(stdout: &str) -> Value {
    let value: Value = serde_json::from_str(stdout).unwrap_or_else(|e| panic!("{e} in {stdout}"));
    assert!(value.is_object(), "{stdout}");
    value
}

/// Returns the one line on standard error of a run that must exit with 2 and print nothing else.
pub fn refusal(args: &[&str]) -> String {
    let run = gnarl(args).assert().code(2).stdout("");
    let line = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert_eq!(line.matches('\n').count(), 1, "not one line: {line}");
    assert!(
        line.starts_with("error: ") && line.ends_with('\n'),
        "{line}"
    );
    line.trim_end().to_string()
}

/// Asserts that a run is refused in one line that contains all of these parts.
#[track_caller]
pub fn assert_refused(args: &[&str], parts: &[&str]) {
    let line = refusal(args);
    for part in parts {
        assert!(line.contains(part), "{args:?}: not '{part}' but {line}");
    }
}

/// Splits a command line at its spaces.
pub fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Returns true if two numbers are equal to 1e-9 of their size.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Returns the mean of an accuracy over runs.
#[track_caller]
pub fn mean(value: &Value) -> f64 {
    value["mean"]
        .as_f64()
        .unwrap_or_else(|| panic!("{value} has no mean"))
}

/// Writes a folder with a user's own graph: a ring of `size` nodes for each class, with
/// neighbouring rings joined by an edge. There are three feature columns. The column of the class
/// (its second field) is the largest for four nodes of five. Nodes are called `CLASS-NUMBER`.
pub fn write_rings(folder: &Path, classes: &[(&str, usize)], size: usize) {
    std::fs::create_dir_all(folder).unwrap();
    let node =
        |class: usize, i: usize| format!("{}-{}", classes[class % classes.len()].0, i % size);
    let (mut edges, mut labels, mut features) = (
        String::new(),
        String::from("node,class\n"),
        String::from("node,a,b,c\n"),
    );
    for (c, (class, column)) in classes.iter().enumerate() {
        for i in 0..size {
            edges += &format!("{},{}\n", node(c, i), node(c, i + 1));
            labels += &format!("{},{class}\n", node(c, i));
            let shown = if i % 5 == 0 {
                (column + 1) % 3
            } else {
                *column
            };
            let row = [0, 1, 2].map(|f| if f == shown { "1" } else { "0.2" });
            features += &format!("{},{}\n", node(c, i), row.join(","));
        }
        edges += &format!("{},{}\n", node(c, 0), node(c + 1, 2));
    }
    std::fs::write(folder.join("edges.csv"), edges).unwrap();
    std::fs::write(folder.join("labels.csv"), labels).unwrap();
    std::fs::write(folder.join("features.csv"), features).unwrap();
}

/// Writes `count` cycles and stars in turn as the set `name`, with classes 1 and -1 in blocks as in
/// TU files.
pub fn write_set(dir: &Path, name: &str, count: usize, node_labels: bool) {
    let folder = dir.join("tu").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(dir.join("tu/splits")).unwrap();
    let [mut arcs, mut indicator, mut labels, mut nodes] = [const { String::new() }; 4];
    let mut first = 1;
    for g in 0..count {
        let (n, is_cycle) = (4 + g % 5, 2 * g < count);
        for u in 0..n {
            let other = if is_cycle { (u + 1) % n } else { 0 };
            if u != other {
                writeln!(
                    arcs,
                    "{}, {}\n{}, {}",
                    first + u,
                    first + other,
                    first + other,
                    first + u
                )
                .unwrap();
            }
            writeln!(indicator, "{}", g + 1).unwrap();
            writeln!(nodes, "{}", if u == 0 && !is_cycle { 7 } else { 3 }).unwrap();
        }
        writeln!(labels, "{}", if is_cycle { 1 } else { -1 }).unwrap();
        first += n;
    }
    let write = |part: &str, text: &str| {
        std::fs::write(folder.join(format!("{name}_{part}.txt")), text).unwrap()
    };
    write("A", &arcs);
    write("graph_indicator", &indicator);
    write("graph_labels", &labels);
    if node_labels {
        write("node_labels", &nodes);
    }
    std::fs::write(dir.join(format!("tu/splits/{name}_splits.json")), "[]").unwrap();
}

/// Returns the header of a saved model, and the offset of its data.
pub fn header(saved: &[u8]) -> (Value, usize) {
    let length = u64::from_le_bytes(saved[..8].try_into().unwrap()) as usize;
    (
        serde_json::from_slice(&saved[8..8 + length]).unwrap(),
        8 + length,
    )
}
