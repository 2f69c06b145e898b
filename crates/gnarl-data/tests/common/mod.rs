//! Locates the real datasets for tests, with a message if there are none. The tests of other crates
//! include this file.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the folder of real datasets: `GNARL_TEST_DATA`, else `../shared/data` next to the
/// repository.
fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("GNARL_TEST_DATA").map_or(beside, PathBuf::from)
}

/// Returns the folder of real datasets, or `None` for a test to return at once. The output of
/// `cargo test` shows that.
pub fn real_data() -> Option<PathBuf> {
    let dir = folder();
    if dir.is_dir() {
        return Some(dir);
    }
    let test = std::thread::current()
        .name()
        .unwrap_or("a test")
        .to_string();
    say(&format!(
        "skipped: {test} needs the real datasets, and {} is no folder (set GNARL_TEST_DATA)",
        dir.display()
    ));
    None
}

/// Counts the tests of this crate that need the real datasets and reports if they were run; one
/// test of each crate calls it.
pub fn summary() -> usize {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = std::fs::read_dir(&tests)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|e| e == "rs"));
    let is_use =
        |line: &&str| line.starts_with("    let Some(") && line.ends_with("() else { return };");
    let count = sources
        .map(|file| {
            std::fs::read_to_string(file)
                .unwrap()
                .lines()
                .filter(is_use)
                .count()
        })
        .sum();
    let dir = folder();
    if !dir.is_dir() {
        say(&format!(
            "skipped: {count} tests of {}: no datasets in {}",
            env!("CARGO_PKG_NAME"),
            dir.display()
        ));
    }
    count
}

/// Writes directly to standard error: libtest captures the output of `eprintln!` in tests that
/// pass.
fn say(line: &str) {
    // An error of a closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "{line}");
}
