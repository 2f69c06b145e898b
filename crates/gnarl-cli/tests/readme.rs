//! Checks that the README shows what the program prints.

use crate::common;
use common::gnarl;
use common::transcript::{assert_transcript, blocks};

/// Tolerance of a measured number. Another processor rounds differently, so of the 360 nodes that
/// twenty splits of karate test, two may be classified differently. A model without its row's axis
/// differs by several times as much.
const SLACK: f64 = 0.6;

/// Runs every `$ gnarl …` of the README's console blocks. A word `…` marks the numbers next to it
/// as measured.
#[test]
fn every_command_prints_what_the_readme_says() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let blocks = blocks(&readme, "console");
    assert!(blocks.len() >= 3, "the tour is gone");
    for block in blocks {
        let (command, expected) = block.split_once('\n').unwrap();
        let words: Vec<&str> = command
            .strip_prefix("$ gnarl")
            .expect("a command")
            .split_whitespace()
            .collect();
        // The whole demo is too slow for a test; `tests/demo.rs` compares its words, and
        // `bench/first_minute.sh` its results.
        if words.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = gnarl(&words).current_dir(folder.path()).assert().success();
        let printed = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        assert_transcript(command, &printed, expected, |line| {
            line.contains(" …").then_some(SLACK)
        });
    }
}

/// Tests the comparison itself, which other pages use as well.
#[test]
fn only_measured_numbers_may_differ() {
    let is_shown = |printed: &str, shown: &str, slack: Option<f64>| {
        std::panic::catch_unwind(|| assert_transcript("a command", printed, shown, |_| slack))
            .is_ok()
    };
    assert!(is_shown(
        "GCN 10 steps 93.9 ± 6.7 (+1.50)",
        "GCN 10 steps 94.4 ± 6.7 (+1.0)",
        Some(0.6)
    ));
    for other in [
        "GCN 11 steps 94.4",
        "GCN 10 steps 95.0",
        "GIN 10 steps 94.4",
        "GCN 10 steps 94.4 94.4",
        "GCN 10 steps",
    ] {
        assert!(!is_shown(other, "GCN 10 steps 94.4", Some(0.5)), "{other}");
    }
    assert!(!is_shown("GCN 10 steps 94.3", "GCN 10 steps 94.4", None));
    assert!(is_shown(
        "at http://here:80/ or",
        "at http://here:…/ or",
        Some(0.0)
    ));
    assert!(!is_shown(
        "at http://there:80/ or",
        "at http://here:…/ or",
        Some(0.0)
    ));
    let printed = "one\ntwo\nthree\nfour\n";
    assert!(is_shown(printed, "one\n…\nfour\n", None) && is_shown(printed, "one\n…\n", None));
    for shown in ["one\n…\nfive\n", "one\ntwo\nthree\n", "two\n…\n"] {
        assert!(!is_shown(printed, shown, None), "{shown}");
    }
}
