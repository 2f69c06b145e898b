//! What every test of the command line needs.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// The program, blind to the data folder of whoever runs the tests.
pub fn gnarl(args: &[&str]) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("gnarl");
    command.env("GNARL_DATA", "no-such-folder").args(args);
    command
}

/// Standard output of a run that must succeed and say nothing on standard error.
pub fn text(args: &[&str]) -> String {
    let run = gnarl(args).assert().success().stderr("");
    String::from_utf8(run.get_output().stdout.clone()).unwrap()
}

/// The one JSON object that a successful run prints.
pub fn json(args: &[&str]) -> Value {
    one_object(&text(&[args, &["--json"]].concat()))
}

/// Reads exactly one object: `from_str` refuses anything after it.
pub fn one_object(stdout: &str) -> Value {
    let value: Value = serde_json::from_str(stdout).unwrap_or_else(|e| panic!("{e} in {stdout}"));
    assert!(value.is_object(), "{stdout}");
    value
}

/// The one line on standard error of a run that must exit with 2 and print nothing else.
pub fn refusal(args: &[&str]) -> String {
    let run = gnarl(args).assert().code(2).stdout("");
    let line = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert_eq!(line.matches('\n').count(), 1, "not one line: {line}");
    assert!(line.starts_with("error: ") && line.ends_with('\n'), "{line}");
    line.trim_end().to_string()
}

/// Numbers equal to 1e-9 of their size.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The folder of real datasets: `GNARL_TEST_DATA`, else `../shared/data` beside the repository.
pub fn real_data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let dir = std::env::var_os("GNARL_TEST_DATA").map_or(beside, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no datasets in {} (set GNARL_TEST_DATA)", dir.display());
    None
}
