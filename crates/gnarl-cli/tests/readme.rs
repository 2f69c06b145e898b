//! What the README shows is what the program prints.

mod common;
use common::gnarl;

/// Runs every `$ gnarl …` of the README's console blocks. A line `…` stands for any number of lines.
#[test]
fn every_command_prints_what_the_readme_says() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```console\n").skip(1).map(|b| b.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3, "the tour is gone");
    for block in blocks {
        let (command, expected) = block.split_once('\n').unwrap();
        let words: Vec<&str> = command.strip_prefix("$ gnarl").expect("a command").split_whitespace().collect();
        let run = gnarl(&words).assert().success();
        let printed = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        let mut rest = printed.lines().peekable();
        let mut skipping = false;
        for line in expected.lines() {
            if line == "…" {
                skipping = true;
                continue;
            }
            if skipping {
                while rest.peek().is_some_and(|l| *l != line) {
                    rest.next();
                }
                skipping = false;
            }
            assert_eq!(rest.next(), Some(line), "{command} prints\n{printed}");
        }
        assert!(skipping || rest.next().is_none(), "{command} prints more:\n{printed}");
    }
}
