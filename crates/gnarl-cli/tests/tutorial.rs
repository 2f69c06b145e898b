//! Runs docs/five-minutes.md as a newcomer would: every command of the page in one folder, one
//! after the other.

use crate::common;
use std::path::Path;
use std::process::Command;

use common::server::Running;
use common::transcript::assert_transcript;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Tolerance of a measured figure: each is over 53 or 265 test nodes, and another processor rounds
/// differently. The defence of the page gains almost twice as much.
const SLACK: f64 = 3.0;
const SLACK_OF_PROBABILITIES: f64 = 0.05;

/// Returns the tolerance of a line: lines of a table have spaces between the columns, lines of a
/// CSV file none.
fn slack(line: &str) -> Option<f64> {
    let is_csv = line.contains(',') && !line.contains(' ');
    (line.contains('.') || line.contains('…')).then_some(if is_csv {
        SLACK_OF_PROBABILITIES
    } else {
        SLACK
    })
}

/// Returns the output of a command in the shell, with the program under its name on the path.
fn shell(folder: &Path, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_gnarl")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("GNARL_DATA", "no-such-folder");
    let run = shell.output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(
        run.status.success() && said.is_empty(),
        "{command}\nends with {}\n{said}",
        run.status
    );
    String::from_utf8(run.stdout).unwrap()
}

/// Returns the page's fenced blocks in their order: the language and the lines.
fn fenced(page: &str) -> Vec<(&str, &str)> {
    page.split("\n```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

#[test]
fn every_command_of_the_tutorial_prints_what_it_shows() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/five-minutes.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for (language, block) in fenced(&page) {
        match language {
            // The program is built and on the path, so only the agreement with the README is
            // checked.
            "text" => {
                assert_eq!(block, "cargo install --path crates/gnarl-cli");
                assert!(
                    std::fs::read_to_string(Path::new(ROOT).join("README.md"))
                        .unwrap()
                        .contains(block)
                );
            }
            "sh" => assert_eq!(
                shell(folder.path(), block),
                "",
                "what prints something is shown with it"
            ),
            "console" => {
                for part in format!("\n{block}\n").split("\n$ ").skip(1) {
                    let (command, shown) = part.split_once('\n').unwrap();
                    let printed = match command.strip_prefix("gnarl explore ") {
                        Some(args) => {
                            explored(folder.path(), &args.split_whitespace().collect::<Vec<_>>())
                        }
                        None => shell(folder.path(), command),
                    };
                    assert_transcript(command, &printed, shown.trim_end_matches('\n'), slack);
                    seen.push(
                        command
                            .split_whitespace()
                            .take(2)
                            .collect::<Vec<_>>()
                            .join(" "),
                    );
                }
            }
            other => panic!("a block of {other:?} is not run"),
        }
    }
    for step in [
        "gnarl data",
        "gnarl train",
        "gnarl predict",
        "gnarl explore",
        "gnarl attack",
        "gnarl certify",
    ] {
        assert!(
            seen.iter().any(|command| command == step),
            "the page has no {step}: {seen:?}"
        );
    }
    let predictions = std::fs::read_to_string(folder.path().join("predictions.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 301);
    for line in predictions.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let sum: f64 = fields[2..].iter().map(|p| p.parse::<f64>().unwrap()).sum();
        assert!(
            (sum - 1.0).abs() < 1e-5 && ["lab", "sales", "works"].contains(&fields[1]),
            "{line}"
        );
    }
}

/// Returns the output of `gnarl explore`; its page must have the graph with its names.
fn explored(folder: &Path, args: &[&str]) -> String {
    let running = Running::new(folder, args, 1);
    let (status, page) = running.ask("GET", &format!("/{}/", running.secret), "");
    assert_eq!(status, 200);
    assert!(
        page.contains("data-component=\"graph\"") && page.contains("jon.22"),
        "the page is not of this graph"
    );
    let told = running.told.clone();
    assert!(running.ended());
    told
}
