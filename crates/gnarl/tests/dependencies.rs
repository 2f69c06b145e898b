//! Licences and sources of dependencies. `deny.toml` has the same rules for cargo-deny, which also
//! lists duplicates and advisories.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Licences that require attribution only.
const ALLOWED: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "0BSD",
];

/// Other licences, each for one crate.
const ALLOWED_FOR: [(&str, &str, &str); 4] = [
    (
        "libfuzzer-sys",
        "NCSA",
        "as MIT and BSD are; for fuzzing, and part of no program that is given away",
    ),
    (
        "option-ext",
        "MPL-2.0",
        "asks for changes to its own files alone, and we make none",
    ),
    ("tiny-keccak", "CC0-1.0", "given away; a build script's"),
    (
        "webpki-roots",
        "CDLA-Permissive-2.0",
        "data: the certificates that downloads trust",
    ),
];

#[test]
fn licences_are_permissive() {
    let packages = metadata();
    assert!(packages.len() > 50, "{} packages", packages.len());
    let mut wrong = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let own = |licence: &str| {
            ALLOWED_FOR
                .iter()
                .any(|(known, allowed, _)| *known == name && *allowed == licence)
        };
        match package["license"].as_str() {
            Some(licence) if is_allowed(licence, &|one| ALLOWED.contains(&one) || own(one)) => {}
            licence => wrong.push(format!("{name}: {}", licence.unwrap_or("no licence"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As in other tools: OR leaves the choice, AND requires both, and the old slash is an OR.
#[test]
fn licence_expressions_are_parsed() {
    let allowed =
        |expression: &str| is_allowed(expression, &|one| ["MIT", "X WITH y"].contains(&one));
    for good in [
        "MIT",
        "GPL OR MIT",
        "GPL/MIT",
        "MIT AND X WITH y",
        "(GPL OR MIT) AND X WITH y",
        "MIT AND (GPL OR MIT)",
    ] {
        assert!(allowed(good), "{good}");
    }
    for bad in [
        "",
        "GPL",
        "X",
        "MIT AND GPL",
        "(MIT OR GPL) AND GPL",
        "GPL OR MIT AND GPL",
        "MIT OR",
        "MIT GPL",
        "(MIT",
    ] {
        assert!(!allowed(bad), "{bad}");
    }
}

/// Every package is part of this workspace, or from the one registry with a checksum: none from a
/// repository or an address.
#[test]
fn packages_come_from_one_registry() {
    let locked = locked();
    let sources: BTreeSet<&str> = locked
        .iter()
        .filter_map(|package| package.get("source")?.as_str())
        .collect();
    assert!(
        sources.len() == 1 && sources.iter().all(|source| source.starts_with("registry+")),
        "{sources:?}"
    );
    for package in &locked {
        let name = package["name"].as_str().unwrap();
        assert_eq!(
            package.contains_key("source"),
            package.contains_key("checksum"),
            "{name}"
        );
        assert!(
            package.contains_key("source") != (name.starts_with("gnarl") || name == "xtask"),
            "{name}"
        );
    }
}

/// The packages of Cargo.lock.
fn locked() -> Vec<toml::Table> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("Cargo.lock")).unwrap();
    let lock: toml::Table = toml::from_str(&text).unwrap();
    lock["package"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package.as_table().unwrap().clone())
        .collect()
}

/// Output of `cargo metadata` for every package that is built on this machine. Packages of other
/// systems may be absent.
fn metadata() -> Vec<Value> {
    let version = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into()))
        .arg("-vV")
        .output()
        .unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--offline",
        "--filter-platform",
        host,
    ]);
    let run = cargo.current_dir(ROOT).output().unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let told: Value = serde_json::from_slice(&run.stdout).unwrap();
    told["packages"].as_array().unwrap().clone()
}

/// True if an SPDX expression leaves a choice that is allowed.
fn is_allowed(expression: &str, one: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    either(&words, &mut at, one) == Some(true) && at == words.len()
}

/// `a OR b`; `None` if it cannot be parsed.
fn either(words: &[&str], at: &mut usize, one: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut allowed = both(words, at, one)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        allowed |= both(words, at, one)?;
    }
    Some(allowed)
}

/// `a AND b`, which binds closer.
fn both(words: &[&str], at: &mut usize, one: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut allowed = licence(words, at, one)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        allowed &= licence(words, at, one)?;
    }
    Some(allowed)
}

/// A name, a name with an exception, or an expression in brackets.
fn licence(words: &[&str], at: &mut usize, one: &dyn Fn(&str) -> bool) -> Option<bool> {
    let first = *words.get(*at)?;
    *at += 1;
    match (first, words.get(*at)) {
        ("(", _) => {
            let inside = either(words, at, one)?;
            *at += 1;
            (words.get(*at - 1) == Some(&")")).then_some(inside)
        }
        ("OR" | "AND" | "WITH" | ")", _) => None,
        (name, Some(&"WITH")) => {
            let exception = *words.get(*at + 1)?;
            *at += 2;
            Some(one(&format!("{name} WITH {exception}")))
        }
        (name, _) => Some(one(name)),
    }
}
