//! Every test file and fuzz target is part of a program: cargo does not compile a file that no
//! manifest and no `mod` line names, and its tests never fail.

use std::path::{Path, PathBuf};

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the Rust files of a folder, without their ending.
fn stems(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|ending| ending == "rs"));
    sources
        .map(|file| file.file_stem().unwrap().to_str().unwrap().to_string())
        .collect()
}

/// Returns the names of the programs of one kind, `test` or `bin`, in a manifest.
fn programs(manifest: &Path, kind: &str) -> Vec<String> {
    let manifest: toml::Table =
        toml::from_str(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    let listed = manifest.get(kind).and_then(|list| list.as_array());
    listed
        .into_iter()
        .flatten()
        .map(|program| program["name"].as_str().unwrap().to_string())
        .collect()
}

/// Returns the crates with a folder of Rust tests.
fn crates_with_tests() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(CRATES)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    crates
        .filter(|folder| folder.join("tests").is_dir() && !stems(&folder.join("tests")).is_empty())
        .collect()
}

#[test]
fn every_test_file_is_compiled() {
    let crates = crates_with_tests();
    assert!(crates.len() >= 5, "{crates:?}");
    for folder in crates {
        let tests = folder.join("tests");
        let roots = programs(&folder.join("Cargo.toml"), "test");
        let modules: String = roots
            .iter()
            .map(|root| std::fs::read_to_string(tests.join(root).with_extension("rs")).unwrap())
            .collect();
        for file in stems(&tests) {
            let line = format!("mod {file};");
            assert!(
                roots.contains(&file) || modules.lines().any(|l| l == line),
                "no program of {} has the line {line}",
                tests.display()
            );
        }
    }
}

#[test]
fn every_fuzz_target_is_compiled() {
    let fuzz = Path::new(CRATES).join("../fuzz");
    let mut targets = stems(&fuzz.join("fuzz_targets"));
    targets.sort();
    let mut compiled = programs(&fuzz.join("Cargo.toml"), "bin");
    compiled.sort();
    assert_eq!(compiled, targets);
}
