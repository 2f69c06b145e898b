//! Checks terminology: first lines of doc comments, words in help, errors and reports, and keys of
//! printed JSON.
//!
//! A first line stands alone in rustdoc and in `--help`, so it must not begin with a word that
//! points elsewhere. Strings that users read have the terms of the field.

use std::path::Path;

use super::files;

/// Words that no first doc line begins with.
const FIRST: [&str; 8] = [
    "Of", "Where", "The same", "Those", "What", "Whether", "How", "But for",
];

/// Private terms and the term of the field. A term in lower case is searched as a whole word in
/// every string of the library, the command line and the Python module, tests apart.
const TERMS: &[(&str, &str)] = &[
    ("answers", "predictions"),
    ("likewise", "repeat the statement"),
    ("mistaken for", "predicted as"),
    ("rounds of message passing", "layers or propagation steps"),
    ("travel by", "propagate with"),
    ("hears", "receives messages from"),
    ("drawn from the seed", "sampled"),
    ("settling", "fine-tuning epochs"),
    ("what is climbed", "loss to maximise"),
    ("evening out", "oversampling"),
    ("the thesis", "the name of the method or its paper"),
    ("how far answers", "sensitivity of predictions"),
];

/// Private names that no serialised key has: neither a `serde(rename = "…")` nor a key of `json!`.
const KEYS: [&str; 13] = [
    "drawn",
    "trusted",
    "untrusted_runs",
    "judged",
    "judged_items",
    "seen",
    "thesis_exceeded",
    "looks",
    "sure",
    "said",
    "item",
    "items",
    "deviation",
];

/// Files whose keys are read back from stored files, with the key and the reason.
const STORED_KEYS: &[(&str, &str, &str)] = &[(
    "crates/gnarl-nn/src/features.rs",
    "deviation",
    "metadata of saved models",
)];

/// Returns the places that break a rule.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for file in files(&root.join("crates"), &["rs"])? {
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file);
        let place = |line: usize| format!("{}:{}", name.display(), line + 1);
        for line in first_lines(&text) {
            complaints.push(format!(
                "{}: begin the first line with its purpose",
                place(line)
            ));
        }
        let is_read_by_users = file.components().any(|c| c.as_os_str() == "src")
            && !name.starts_with("crates/gnarl-thesis");
        if is_read_by_users {
            for (line, term, instead) in terms(&text) {
                complaints.push(format!("{}: `{term}`: write {instead}", place(line)));
            }
            for (line, key) in keys(&text) {
                let is_stored = STORED_KEYS
                    .iter()
                    .any(|(file, stored, _)| name == Path::new(file) && *stored == key);
                if !is_stored {
                    complaints.push(format!(
                        "{}: key `{key}`: write the field's name",
                        place(line)
                    ));
                }
            }
        }
    }
    Ok(complaints)
}

/// Returns the first lines of doc comments that begin with one of [`FIRST`].
fn first_lines(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let mark = line.get(..3).unwrap_or_default();
        if (mark == "///" || mark == "//!") && mark != before {
            let words = line[3..].trim_start();
            let is_barred = |first: &str| {
                words
                    .strip_prefix(first)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            };
            if FIRST.iter().any(|first| is_barred(first)) {
                found.push(number);
            }
        }
        before = if mark == "///" || mark == "//!" {
            mark
        } else {
            ""
        };
    }
    found
}

/// Returns the private terms in string literals, with their lines; tests are left out.
fn terms(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let text = text
        .find("#[cfg(test)]\nmod tests")
        .map_or(text, |at| &text[..at]);
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (line, words) in strings(text) {
        // The earlier name of a renamed setting is refused with the new one.
        if lines.get(line).is_some_and(|line| line.contains("was = ")) {
            continue;
        }
        let words = words.to_lowercase();
        for &(term, instead) in TERMS {
            if contains_word(&words, term) {
                found.push((line, term, instead));
            }
        }
    }
    found
}

/// Returns the serialised keys that are among [`KEYS`], with their lines.
fn keys(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        for key in KEYS {
            let is_renamed = line.contains(&format!("rename = \"{key}\""));
            if is_renamed || line.contains(&format!("\"{key}\": ")) {
                found.push((number, key));
            }
        }
    }
    found
}

fn contains_word(text: &str, term: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(term).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + term.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Returns the string literals of a source file and their lines.
fn strings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = text.char_indices().peekable();
    let mut line = 0;
    while let Some((at, c)) = rest.next() {
        match c {
            '\n' => line += 1,
            '/' if text[at..].starts_with("//") => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            '\'' => skip_character(text, at, &mut rest),
            '"' => {
                let hashes = text[..at].bytes().rev().take_while(|b| *b == b'#').count();
                let is_raw = text[..at - hashes].ends_with('r');
                let end = format!("\"{}", "#".repeat(hashes));
                let start = line;
                let mut literal = String::new();
                while let Some((at, c)) = rest.next() {
                    line += usize::from(c == '\n');
                    if is_raw && text[at..].starts_with(&end) || !is_raw && c == '"' {
                        break;
                    }
                    literal.push(c);
                    if !is_raw && c == '\\' {
                        let escaped = rest.next();
                        line += usize::from(escaped.is_some_and(|(_, c)| c == '\n'));
                    }
                }
                found.push((start, literal));
            }
            _ => {}
        }
    }
    found
}

/// Skips a character literal; a lifetime is left alone.
fn skip_character(
    text: &str,
    at: usize,
    rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
) {
    let mut ahead = text[at + 1..].chars();
    let length = match (ahead.next(), ahead.next()) {
        (Some('\\'), _) => text[at + 3..].find('\'').map(|end| end + 3),
        (Some(c), Some('\'')) => Some(c.len_utf8() + 1),
        _ => None,
    };
    if let Some(length) = length {
        while rest.next_if(|(place, _)| *place <= at + length).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_have_the_terms_of_the_field() {
        let complaints = check(&crate::root()).unwrap();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    #[test]
    fn barred_first_lines_are_found() {
        let text =
            "/// Of a graph.\n/// Of it.\nfn a() {}\n    /// Office hours.\n/// Where it is.\n";
        assert_eq!(first_lines(text), [0]);
        assert_eq!(first_lines("fn a() {}\n//! How so.\n"), [1]);
    }

    #[test]
    fn terms_are_found_in_strings_alone() {
        let text = "// answers\nlet a = \"the answers\"; let b = 'a'; let c = '\"'; // \"answers\"\nf(r#\"x \"hears\" y\"#);\n";
        let found: Vec<_> = terms(text)
            .into_iter()
            .map(|(line, term, _)| (line, term))
            .collect();
        assert_eq!(found, [(1, "answers"), (2, "hears")]);
        assert!(terms("let a = \"unanswers answers_of\";").is_empty());
    }

    #[test]
    fn private_keys_are_found() {
        let text =
            "#[serde(rename = \"drawn\", default)]\nlet a = \"drawn\";\njson!({\"looks\": 1})\n";
        assert_eq!(keys(text), [(0, "drawn"), (2, "looks")]);
    }
}
