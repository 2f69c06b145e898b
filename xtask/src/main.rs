//! Development tasks: `cargo xtask TASK`.
//!
//! Every task that CI runs has a name here, so that one command repeats it.

#![forbid(unsafe_code)]

mod api;
mod lines;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TASKS: &[(&str, &str, Task)] = &[
    ("ci", "everything that CI runs", Task::Shell("bash .ci/run")),
    ("format", "formats the code", Task::Shell("cargo fmt --all")),
    (
        "lint",
        "lints of all crates and tests",
        Task::Shell("cargo clippy --workspace --all-targets -- -D warnings"),
    ),
    (
        "test",
        "all tests of Rust",
        Task::Shell("cargo test --workspace"),
    ),
    (
        "browser",
        "the pages in a browser",
        Task::Shell("bash crates/gnarl-cli/tests/browser/run.sh"),
    ),
    (
        "docs",
        "the API documentation, without warnings",
        Task::Shell("RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --workspace"),
    ),
    (
        "contributing",
        "the diffs of CONTRIBUTING.md, applied and compiled",
        Task::Shell("python3 scripts/contributing.py"),
    ),
    (
        "package",
        "the crates as they are published",
        Task::Shell("bash scripts/package.sh"),
    ),
    (
        "fuzz",
        "20 seconds of every fuzz target",
        Task::Shell("python3 fuzz/seeds.py && SEED=1 bash fuzz/run.sh 20"),
    ),
    (
        "python",
        "the Python wheel and its tests",
        Task::Shell("bash crates/gnarl-py/ci.sh"),
    ),
    (
        "words",
        "terminology in docs, help and errors",
        Task::Check(words::check),
    ),
    (
        "api",
        "public items of the crate gnarl",
        Task::Check(api::check),
    ),
    (
        "lines",
        "lines of code per crate",
        Task::Check(lines::print),
    ),
];

/// A task: a command line, or a function that returns its complaints.
enum Task {
    Shell(&'static str),
    Check(fn(&Path) -> Result<Vec<String>, String>),
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, _, task)) = TASKS.iter().find(|(task, ..)| *task == name) else {
        println!("cargo xtask TASK\n");
        for (task, about, _) in TASKS {
            println!("  {task:14}{about}");
        }
        return ExitCode::from(if name.is_empty() { 0 } else { 2 });
    };
    match run(task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(task: &Task) -> Result<bool, String> {
    match task {
        Task::Shell(line) => {
            let status = Command::new("bash")
                .args(["-c", line])
                .current_dir(root())
                .status();
            Ok(status.map_err(|e| format!("bash: {e}"))?.success())
        }
        Task::Check(check) => {
            let complaints = check(&root())?;
            for complaint in &complaints {
                eprintln!("{complaint}");
            }
            Ok(complaints.is_empty())
        }
    }
}

/// Returns the files under a folder with one of these extensions, sorted.
fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    open.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|e| extensions.iter().any(|known| e == *known))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
