//! Wrong command lines: exit code 2, one line that says what and what to do, nothing on standard output.

mod common;
use common::{gnarl, json, refusal, text};

#[test]
fn flags_that_are_wrong_are_named() {
    let e = refusal(&["--threads", "0"]);
    assert!(e.contains("'0' for '--threads <N>'") && e.contains("1..=4096"), "{e}");
    let e = refusal(&["--seed", "NaN"]);
    assert!(e.contains("invalid value 'NaN' for '--seed <N>'"), "{e}");
    let e = refusal(&["--seed", "-1"]);
    assert!(e.contains("-1"), "{e}");
    let e = refusal(&["--frobnicate"]);
    assert!(e.contains("unexpected argument '--frobnicate'") && e.ends_with("try --help"), "{e}");
    let e = refusal(&["centralty"]);
    assert!(e.contains("centralty") && e.contains("'centrality'"), "{e}");
    let e = refusal(&["data"]);
    assert!(e.contains("a subcommand is missing"), "{e}");
    let e = refusal(&["centrality", "--data", "karate", "--kind", "eigen"]);
    assert!(e.contains("unknown centrality 'eigen'; known: degree, core, pagerank, walks"), "{e}");
    let e = refusal(&["centrality", "--data", "karate", "--kind", "walks:-1"]);
    assert!(e.contains("walk length '-1' is not a whole number"), "{e}");
    let e = refusal(&["centrality", "--kind", "core"]);
    assert!(e.contains("--data <NAME>"), "{e}");
    let e = refusal(&["spectrum", "--data", "karate", "--centrality", "core", "--extremes", "0"]);
    assert!(e.contains("'0' for '--extremes <K>'"), "{e}");
    let e = refusal(&["data", "get"]);
    assert!(e.contains("<NAME>"), "{e}");
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [&["--help"][..], &["data", "--help"], &["centrality", "--help"], &["spectrum", "--help"]] {
        let help = text(args);
        assert!(help.contains("--json") && help.contains("--data-dir"), "{help}");
    }
    assert!(text(&["--version"]).starts_with("gnarl 0."));
}

#[test]
fn datasets_that_nobody_knows_get_a_suggestion() {
    for command in [
        &["data", "info", "corra"][..],
        &["data", "check", "corra"],
        &["data", "get", "corra"],
        &["centrality", "--kind", "core", "--data", "corra"],
        &["spectrum", "--centrality", "core", "--data", "corra"],
    ] {
        let e = refusal(command);
        assert!(e.contains("unknown dataset 'corra'; did you mean cora"), "{e}");
        assert_eq!(refusal(&[command, &["--json"]].concat()), e, "the same with --json");
    }
}

#[test]
fn datasets_that_are_not_there_say_how_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let e = refusal(&["centrality", "--kind", "core", "--data", "cora", "--data-dir", folder]);
    assert!(e.contains("dataset cora is not in") && e.contains(folder) && e.contains("`gnarl data get cora`"), "{e}");
    let by_variable = gnarl(&["data", "check", "cora"]).env("GNARL_DATA", folder).assert().code(2);
    assert!(String::from_utf8_lossy(&by_variable.get_output().stderr).contains(folder));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for command in [
        &["centrality", "--data", "csbm", "--kind", "pagerank"][..],
        &["spectrum", "--data", "csbm", "--centrality", "walks"],
        &["data", "check", "csbm"],
    ] {
        let with = |threads| json(&[command, &["--threads", threads]].concat());
        assert_eq!(with("1"), with("2"), "{command:?}");
    }
}

#[test]
fn the_seed_changes_what_is_drawn() {
    let with = |seed| json(&["centrality", "--data", "csbm", "--kind", "pagerank", "--seed", seed])["values"].clone();
    assert_eq!(with("3"), with("3"));
    assert_ne!(with("3"), with("4"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
        .args(["centrality", "--data", "sbbam", "--kind", "pagerank", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert_eq!(said, "");
}
