//! Tests Ctrl-C and the signals of a system shutdown: finished runs are counted, and the exit code
//! names the signal.
#![cfg(unix)]

use crate::common;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::one_object;

/// Runs the program and interrupts it after a delay. `None` if the signal came before the handler
/// was installed, or too late.
fn interrupted(args: &[&str], after: Duration) -> Option<Output> {
    ended_by("INT", args, after)
}

/// Returns true if SIGINT is ignored here, as in a background job of a shell. The program then also
/// ignores it and runs to its end, so there is nothing to test.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let ignored = mask.is_some_and(|mask| mask >> 1 & 1 == 1);
    if ignored {
        eprintln!("skipped: SIGINT is ignored here");
    }
    ignored
}

/// Runs the program and ends it by another signal.
fn ended_by(signal: &str, args: &[&str], after: Duration) -> Option<Output> {
    let child = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let pid = child.id().to_string();
    Command::new("kill")
        .args([&format!("-{signal}"), &pid])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.signal().is_none() && !output.status.success()).then_some(output)
}

fn one_line(stderr: &[u8]) -> String {
    let said = String::from_utf8(stderr.to_vec()).unwrap();
    assert_eq!(said.matches('\n').count(), 1, "{said}");
    said
}

/// Number of tries. Each waits longer, because the start-up time depends on the machine.
const TRIES: u64 = 12;
const TRAIN: [&str; 9] = [
    "train",
    "--data",
    "karate",
    "--model",
    "gcn",
    "--runs",
    "6",
    "--threads",
    "1",
];

#[test]
fn an_interrupt_before_the_first_run_reports_nothing() {
    if is_ignored() {
        return;
    }
    let args = [&TRAIN[..], &["--epochs", "10000000", "--json"]].concat();
    let output = (1..TRIES)
        .find_map(|tries| interrupted(&args, Duration::from_millis(700 * tries)))
        .expect("interrupted in time");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(output.stdout, b"");
    assert_eq!(
        one_line(&output.stderr),
        "error: interrupted: 0 of 6 runs were finished; the others do not count\n"
    );
}

#[test]
fn an_interrupt_reports_finished_runs() {
    if is_ignored() {
        return;
    }
    let args = [
        &TRAIN[..5],
        &["--threads", "1", "--epochs", "150", "--json"],
    ]
    .concat();
    let few = [&args[..], &["--runs", "3"]].concat();
    let whole = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
        .args(few)
        .output()
        .unwrap();
    let whole = one_object(&String::from_utf8(whole.stdout).unwrap());
    // More runs than any machine finishes.
    let args = [&args[..], &["--runs", "100000"]].concat();
    let found = (1..TRIES).find_map(|tries| {
        let output = interrupted(&args, Duration::from_millis(700 * tries))?;
        assert_eq!(output.status.code(), Some(130));
        (!output.stdout.is_empty()).then_some(output)
    });
    let output = found.expect("interrupted after the first run");
    let report = one_object(&String::from_utf8(output.stdout).unwrap());
    let finished = report["runs"].as_array().unwrap().len();
    assert!((1..100_000).contains(&finished), "{finished}");
    assert_eq!(
        (&report["interrupted"], &report["unfinished_runs"]),
        (&true.into(), &(100_000 - finished).into())
    );
    let expected = format!(
        "error: interrupted: {finished} of 100000 runs were finished; the others do not count\n"
    );
    assert_eq!(one_line(&output.stderr), expected);
    // Finished runs have the results of an uninterrupted command.
    for (run, same) in report["runs"]
        .as_array()
        .unwrap()
        .iter()
        .zip(whole["runs"].as_array().unwrap())
    {
        assert_eq!(
            (&run["seed"], &run["test_accuracy"]),
            (&same["seed"], &same["test_accuracy"])
        );
        assert_eq!(run["trained"][0]["epochs"], 150);
    }
}

/// Tests the signals of a shutdown and of a closed terminal: finished runs are reported and saved.
#[test]
fn termination_signals_save_like_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let file = dir.path().join(format!("{signal}.safetensors"));
        let runs = [
            &TRAIN[..5],
            &[
                "--runs",
                "100000",
                "--threads",
                "1",
                "--epochs",
                "50",
                "--json",
                "--save",
            ],
        ]
        .concat();
        let args = [&runs[..], &[file.to_str().unwrap()]].concat();
        let found = (1..TRIES).find_map(|tries| {
            let output = ended_by(signal, &args, Duration::from_millis(700 * tries))?;
            (!output.stdout.is_empty()).then_some(output)
        });
        let output = found.expect("ended after the first run");
        assert_eq!(output.status.code(), Some(code));
        let report = one_object(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(report["interrupted"], true);
        assert!(one_line(&output.stderr).starts_with("error: interrupted: "));
        assert!(file.is_file(), "{signal}: the first model is saved");
    }
}

/// Takes a hundred thousand samples: the first Ctrl-C ends them.
#[test]
fn samples_end_with_the_first_interrupt() {
    if is_ignored() {
        return;
    }
    let args = [
        "robustness",
        "--data",
        "csbm",
        "--model",
        "gcn",
        "--epochs",
        "2",
        "--samples",
        "1000000",
        "--json",
    ];
    let output = (1..TRIES)
        .find_map(|tries| interrupted(&args, Duration::from_millis(900 * tries)))
        .expect("interrupted in time");
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(130), &b""[..])
    );
    assert_eq!(
        one_line(&output.stderr),
        "error: interrupted: 0 of 2 runs were finished; the others do not count\n"
    );
}
