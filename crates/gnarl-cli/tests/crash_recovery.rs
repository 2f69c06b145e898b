//! Kills the program by SIGKILL at many moments: no half-written file has a final name, and a
//! resumed program ends as if it had not been killed. Also tests two programs in one folder, full
//! disks, and folders without write permission.
//!
//! Each kind has a few kills; `GNARL_KILLS=100` makes a hundred (`scripts/kill.sh 100` does so and
//! prints a table). Kills that came after the end are not counted.
#![cfg(unix)]

use crate::common;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{json, one_object, refusal, text, words, write_rings, write_set};
use gnarl_graph::random::mix;
use serde_json::Value;

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Returns the requested number of kills of each kind.
fn wanted() -> usize {
    std::env::var("GNARL_KILLS").map_or(4, |count| count.parse().expect("GNARL_KILLS is a number"))
}

/// Kills of one kind: their number and times.
struct Kills {
    what: &'static str,
    /// Duration of the undisturbed work.
    took: Duration,
    tries: u64,
    kills: usize,
    too_late: usize,
}

impl Kills {
    /// Measures the work once: these arguments, to the end.
    fn of(what: &'static str, args: &[&str]) -> Self {
        let start = Instant::now();
        text(args);
        Self {
            what,
            took: start.elapsed(),
            tries: 0,
            kills: 0,
            too_late: 0,
        }
    }

    /// Returns true if more kills are to come.
    fn go_on(&self) -> bool {
        assert!(
            self.too_late < 10 * wanted() + 20,
            "{}: every kill comes too late",
            self.what
        );
        self.kills < wanted()
    }

    /// Returns a moment from the start to a little after the end; every other one is in the last
    /// fifth, when results are written.
    fn moment(&mut self) -> Duration {
        self.tries += 1;
        let share =
            (mix(mix(self.tries) ^ self.what.len() as u64) >> 11) as f64 / (1u64 << 53) as f64;
        self.took.mul_f64(if self.tries.is_multiple_of(2) {
            0.8 + 0.25 * share
        } else {
            share
        })
    }

    /// Starts the program and kills it at such a moment.
    fn kill(&mut self, args: &[&str]) {
        let after = self.moment();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gnarl"))
            .env("GNARL_DATA", "no-such-folder")
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(after);
        match child.try_wait().unwrap() {
            Some(ended) => {
                assert!(
                    ended.success(),
                    "{}: {args:?} ended with {ended}",
                    self.what
                );
                self.too_late += 1;
                // The machine may have been busy during the measurement.
                self.took = self.took.mul_f64(0.95);
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                self.kills += 1;
            }
        }
    }

    /// Prints the line that `scripts/kill.sh` puts into its table.
    fn tell(self, found: &str) {
        println!(
            "killed | {} | {} | {} | {found} |",
            self.what, self.kills, self.too_late
        );
    }
}

/// Returns every file of a folder with its bytes. Temporary names, which a kill may leave, are left
/// out, as is the time stamp of an import's last check.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if !entry.file_name().to_str().unwrap().starts_with('.')
                && entry.file_name() != "verified.json"
            {
                let name = entry.path().strip_prefix(folder).unwrap().to_path_buf();
                found.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// An import is there whole or not at all, and the remains of a killed import do not disturb the
/// next one.
#[test]
fn killed_imports_leave_no_partial_graph() {
    let dir = tempfile::tempdir().unwrap();
    let edges = dir.path().join("edges.csv");
    let lines: String = (0..80_000u64)
        .map(|i| format!("{},{}\n", i * 7919 % 20_021, i * 104_729 % 20_023))
        .collect();
    std::fs::write(&edges, lines).unwrap();
    let (whole, out) = (dir.path().join("whole"), dir.path().join("out"));
    let args = |out: &'static str| ["data", "import", "edges.csv", "--memory", "1", "--out", out];
    let full = |args: [&'static str; 7]| {
        args.map(|word| match word {
            "edges.csv" => path(&edges).to_string(),
            "whole" => path(&whole).to_string(),
            "out" => path(&out).to_string(),
            other => other.to_string(),
        })
    };
    let run = full(args("whole"));
    let mut kills = Kills::of("import", &run.each_ref().map(String::as_str));
    let expected = contents(&whole);
    let run = full(args("out"));
    let run = run.each_ref().map(String::as_str);
    let mut whole_ones = 0;
    while kills.go_on() {
        kills.kill(&run);
        whole_ones += usize::from(out.exists());
        if !out.exists() {
            text(&run);
        }
        assert!(contents(&out) == expected, "what is there is another graph");
        std::fs::remove_dir_all(&out).unwrap();
    }
    kills.tell(&format!("{whole_ones} were there whole, the others not at all; every second try the same to the byte"));
}

/// Removes the values that change from run to run: seconds, and the time when a cell was made.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !(name.contains("seconds") || name.contains("time") || name.contains("_ms"))
            });
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => (),
    }
}

/// Kills and resumes a training with checkpoints again and again: it must save the bytes, and
/// report the results, of an undisturbed training.
fn training(what: &'static str, more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (whole, saved, folder) = (
        dir.path().join("whole"),
        dir.path().join("saved"),
        dir.path().join("checkpoints"),
    );
    let plain = [&["train", "--data", "csbm", "--curves"], more].concat();
    let report = |args: &[&str]| {
        let mut report = json(args);
        without_times(&mut report);
        report
    };
    let undisturbed = report(&plain);
    let mut kills = Kills::of(what, &[&plain[..], &["--save", path(&whole)]].concat());
    let expected = std::fs::read(&whole).unwrap();
    let (mut chains, mut early) = (0, 0);
    while kills.go_on() {
        // At most four kills in a row, then the training runs to its end.
        for turn in 0..5 {
            let resume = if folder.join("journal.json").exists() {
                &["--resume"][..]
            } else {
                &[]
            };
            let more = [
                "--checkpoint",
                path(&folder),
                "--checkpoint-every",
                "0",
                "--save",
                path(&saved),
            ];
            let args = [&plain[..], &more, resume].concat();
            if turn < 4 && kills.go_on() {
                kills.kill(&args);
            } else {
                text(&args);
            }
            match std::fs::read(&saved) {
                Ok(bytes) => assert!(bytes == expected, "the saved model is another"),
                Err(_) => early += 1,
            }
            if saved.exists() {
                break;
            }
        }
        chains += 1;
        let resumed = [&plain[..], &["--checkpoint", path(&folder), "--resume"]].concat();
        assert_eq!(report(&resumed), undisturbed);
        std::fs::remove_file(&saved).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }
    kills.tell(&format!(
        "{chains} models the same to the byte, none under its name {early} times before"
    ));
}

#[test]
fn killed_trainings_resume_to_the_same_model() {
    training(
        "training with checkpoints",
        &["--model", "gcn", "--epochs", "60", "--runs", "2"],
    );
}

#[test]
fn killed_trainings_with_lipschitz_constraints_resume() {
    training(
        "training of orthonormal weights",
        &[
            "--model",
            "gcn",
            "--weights",
            "orthonormal",
            "--epochs",
            "40",
        ],
    );
}

#[test]
fn killed_trainings_on_sampled_neighbourhoods_resume() {
    training(
        "training on neighbourhoods",
        &["--model", "sage", "--batch-nodes", "16", "--epochs", "20"],
    );
}

#[test]
fn killed_trainings_with_exits_resume() {
    training(
        "training of exits",
        &[
            "--model",
            "gcn",
            "--depth",
            "admp-st",
            "--max-depth",
            "2",
            "--epochs",
            "20",
        ],
    );
}

/// After saving over an older model, the file has the old model or the new one.
#[test]
fn killed_saves_keep_the_old_or_the_new_model() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.safetensors");
    let args = |seed: &'static str| {
        [
            "train",
            "--data",
            "karate",
            "--model",
            "gcn",
            "--epochs",
            "5",
            "--save",
            path(&file),
            "--seed",
            seed,
        ]
    };
    text(&args("1"));
    let old = std::fs::read(&file).unwrap();
    let mut kills = Kills::of("saving over an older model", &args("2"));
    let new = std::fs::read(&file).unwrap();
    assert!(old != new);
    let mut new_ones = 0;
    while kills.go_on() {
        std::fs::write(&file, &old).unwrap();
        kills.kill(&args("2"));
        let found = std::fs::read(&file).unwrap();
        assert!(
            found == old || found == new,
            "neither the old model nor the new one"
        );
        new_ones += usize::from(found == new);
    }
    let was_old = kills.tries as usize - new_ones;
    kills.tell(&format!(
        "{was_old} times the old model, {new_ones} times the new one"
    ));
}

fn table(dir: &Path, data: &str, out: &Path) -> Vec<String> {
    let words = [
        "reproduce",
        "results_gcn",
        "--rows",
        "no aug",
        "--runs",
        "2",
        "--columns",
        "mutag",
    ];
    let out = dir.join(out);
    let folders = ["--data-dir", data, "--out", path(&out)];
    words
        .iter()
        .chain(&folders)
        .map(|word| word.to_string())
        .collect()
}

/// A killed and resumed table has the figures of an undisturbed one, and every stored cell is
/// whole.
#[test]
fn killed_tables_are_continued() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    write_set(&data, "MUTAG", 24, true);
    let (whole, out) = (dir.path().join("whole"), dir.path().join("out"));
    let args = table(dir.path(), path(&data), &whole);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut kills = Kills::of("reproduce", &args);
    let report = |args: &[&str]| {
        let mut report = json(args);
        without_times(&mut report);
        report["rows"].take()
    };
    let expected = report(&args);
    assert_eq!(expected[0]["cells"][0]["status"], "measured", "{expected}");
    let args = table(dir.path(), path(&data), &out);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (mut ended, mut cells) = (0, 0);
    while kills.go_on() {
        kills.kill(&args);
        for (name, bytes) in if out.exists() {
            contents(&out)
        } else {
            BTreeMap::new()
        } {
            if name.extension().is_some_and(|ending| ending == "json") {
                one_object(&String::from_utf8(bytes).unwrap());
                cells += 1;
            }
        }
        assert_eq!(
            report(&args),
            expected,
            "what went on is not what was never disturbed"
        );
        ended += 1;
        std::fs::remove_dir_all(&out).unwrap();
    }
    kills.tell(&format!(
        "{ended} tables with the same figures, {cells} files of cells and tables read on the way"
    ));
}

/// Two programs make one table in one folder, and two save under one name.
#[test]
fn two_programs_in_one_folder_give_the_same_results() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    write_set(&data, "MUTAG", 24, true);
    let (alone, shared) = (dir.path().join("alone"), dir.path().join("shared"));
    let report = |out: &Path| {
        let args = table(dir.path(), path(&data), out);
        let mut report = json(&args.iter().map(String::as_str).collect::<Vec<_>>());
        without_times(&mut report);
        report["rows"].take()
    };
    let expected = report(&alone);
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| report(&shared)));
        both.into_iter()
            .for_each(|one| assert_eq!(one.join().unwrap(), expected));
    });
    assert_eq!(report(&shared), expected);
    let names = |folder: &Path| contents(folder).into_keys().collect::<Vec<_>>();
    assert_eq!(
        names(&shared),
        names(&alone),
        "one file for each cell and table, and nothing else"
    );

    // Checkpoints in one folder belong to one run: the second program is refused, or both end with
    // the same model.
    let checkpoints = dir.path().join("checkpoints");
    let train = [
        "train",
        "--data",
        "csbm",
        "--model",
        "gcn",
        "--epochs",
        "40",
        "--checkpoint",
        path(&checkpoints),
    ];
    let saved = [dir.path().join("a"), dir.path().join("b")];
    std::thread::scope(|scope| {
        let both = saved.each_ref().map(|file| {
            let args = [
                &train[..],
                &["--checkpoint-every", "0", "--save", path(file)],
            ]
            .concat();
            scope.spawn(move || common::gnarl(&args).output().unwrap())
        });
        let both = both.map(|one| one.join().unwrap());
        for run in &both {
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success() || said.contains("--resume"), "{said}");
        }
        assert!(both.iter().any(|run| run.status.success()));
    });
    let bytes: Vec<Vec<u8>> = saved
        .iter()
        .filter_map(|file| std::fs::read(file).ok())
        .collect();
    assert!(
        bytes.iter().all(|model| *model == bytes[0]),
        "two models of one run"
    );
}

/// Skipped for root, who may write anywhere.
#[test]
fn folders_without_write_permission_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (own, closed) = (dir.path().join("own"), dir.path().join("closed"));
    write_rings(&own, &[("red", 0), ("blue", 1)], 12);
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(closed.join("probe"), "").is_ok() {
        eprintln!("skipped: whoever runs this may write into every folder");
        return;
    }
    let train = [
        "train",
        "--data",
        path(&own),
        "--model",
        "gcn",
        "--epochs",
        "100000000",
    ];
    for args in [
        [&train[..], &["--save", path(&closed.join("m"))]].concat(),
        [&train[..], &["--checkpoint", path(&closed.join("journal"))]].concat(),
        vec![
            "data",
            "import",
            path(&own),
            "--out",
            path(&closed.join("disk")),
        ],
        vec!["data", "convert", path(&own), path(&closed.join("out"))],
        vec![
            "reproduce",
            "graph_prop",
            "--out",
            path(&closed.join("out")),
        ],
    ] {
        let line = refusal(&args);
        assert!(
            line.contains("closed") && line.contains("ermission denied"),
            "{args:?}: {line}"
        );
    }
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), 0);
}

/// File system of a few pages, if the system can make one.
struct Tiny {
    folder: tempfile::TempDir,
}

impl Tiny {
    fn new(kilobytes: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={kilobytes}k"),
                "none",
                path(folder.path()),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match mount {
            Ok(status) if status.success() => Some(Self { folder }),
            _ => {
                eprintln!("skipped: no small disk can be made here");
                None
            }
        }
    }

    /// Fills the file system up to the last `kilobytes`.
    fn fill(&self, kilobytes: usize) {
        std::fs::write(self.folder.path().join("full"), vec![0; kilobytes << 10]).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

/// On a full disk every writer ends with one line that says so. Existing files stay, and no
/// half-written file is left.
#[test]
fn a_full_disk_is_reported_in_one_line() {
    let Some(disk) = Tiny::new(64) else { return };
    let dir = tempfile::tempdir().unwrap();
    let (own, model) = (dir.path().join("own"), dir.path().join("model.safetensors"));
    write_rings(&own, &[("red", 0), ("green", 1), ("blue", 2)], 400);
    let (own, model) = (path(&own), path(&model));
    let gcn = [&words("train --model gcn --epochs 2 --data")[..], &[own]].concat();
    text(&[&gcn[..], &["--save", model]].concat());
    let at = |name: &str| path(&disk.folder.path().join(name)).to_string();
    std::fs::write(at("old"), "what was here before").unwrap();
    // One page is left, which the file names alone would fill.
    disk.fill(56);
    let train = [&gcn[..], &["--hidden", "2000"]].concat();
    let journal = ["--checkpoint-every", "0", "--checkpoint"];
    let predict = ["predict", "--load", model, "--data", own];
    let core = ["centrality", "--data", own, "--kind", "core", "--output"];
    for (args, more, file) in [
        (&train[..], &["--save"][..], "m.safetensors"),
        (&train, &["--save"], "old"),
        (&train, &journal, "checkpoints"),
        (&predict, &["--output"], "p.csv"),
        (&predict, &["--output"], "old"),
        (&predict, &["--output"], "p.parquet"),
        (&predict, &["--embeddings"], "e.npy"),
        (&["data", "import", own], &["--out"], "disk"),
        (&["data", "convert", own], &[], "graph.csv"),
        (&core, &[], "c.csv"),
    ] {
        assert_full(&[args, more, &[&at(file)]].concat());
        assert_eq!(
            std::fs::read_to_string(at("old")).unwrap(),
            "what was here before",
            "{args:?}"
        );
        let left: Vec<String> = disk
            .names()
            .into_iter()
            .filter(|name| name != "checkpoints")
            .collect();
        assert_eq!(left, ["full", "old"], "{args:?}");
        if std::fs::exists(at("checkpoints")).unwrap() {
            std::fs::remove_dir_all(at("checkpoints")).unwrap();
        }
    }
}

/// Asserts that a run ends with one line that says that the disk is full.
#[track_caller]
fn assert_full(args: &[&str]) {
    let run = common::gnarl(args).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    let line = said.trim_end();
    assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
    assert!(
        line.starts_with("error: ") && !line.contains('\n') && line.contains("No space left"),
        "{args:?}: {said}"
    );
}
