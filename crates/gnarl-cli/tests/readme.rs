//! What the README shows is what the program prints.

mod common;
use common::gnarl;

/// How far a measured number may be from the README's: another processor rounds differently, and of the 360 nodes that twenty splits of
/// karate test, two more or less may come out right. A model without what its row says is off by several times as much.
const SLACK: f64 = 0.6;

/// Whether a printed line is the README's. A word `…` stands for any word, and says that the numbers beside it are measured.
fn is_as_shown(printed: Option<&str>, shown: &str) -> bool {
    let Some(printed) = printed else { return false };
    if !shown.contains(" …") {
        return printed == shown;
    }
    let number = |word: &str| word.parse::<f64>().ok();
    let same = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= SLACK,
        _ => a == b || b == "…",
    };
    // A mark of clarity may come and go with the numbers.
    let words = |line: &'_ str| line.split_whitespace().filter(|w| *w != "*").map(str::to_string).collect::<Vec<_>>();
    let (printed, shown) = (words(printed), words(shown));
    printed.len() == shown.len() && printed.iter().zip(&shown).all(|(a, b)| same((a, b)))
}

/// Runs every `$ gnarl …` of the README's console blocks. A line `…` stands for any number of lines.
#[test]
fn every_command_prints_what_the_readme_says() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```console\n").skip(1).map(|b| b.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3, "the tour is gone");
    for block in blocks {
        let (command, expected) = block.split_once('\n').unwrap();
        let words: Vec<&str> = command.strip_prefix("$ gnarl").expect("a command").split_whitespace().collect();
        // The first minute is too long for a test; `tests/demo.rs` compares its words, and `bench/first_minute.sh` its figures.
        if words.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let run = gnarl(&words).current_dir(folder.path()).assert().success();
        let printed = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        let mut rest = printed.lines().peekable();
        let mut skipping = false;
        for line in expected.lines() {
            if line == "…" {
                skipping = true;
                continue;
            }
            if skipping {
                while rest.peek().is_some_and(|l| !is_as_shown(Some(l), line)) {
                    rest.next();
                }
                skipping = false;
            }
            let next = rest.next();
            assert!(is_as_shown(next, line), "{command} prints\n{printed}\n{next:?}\nand not\n{line}");
        }
        assert!(skipping || rest.next().is_none(), "{command} prints more:\n{printed}");
    }
}
