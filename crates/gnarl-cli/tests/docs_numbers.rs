//! Checks that every figure in the text of the README and the docs is stored in `results/`.
//!
//! A figure is a number with a decimal point, or a whole one with a measured unit (`28 times`, `7
//! %`, `12 s`), outside of code. It may stand in a block that `gnarl report --fill` generates.
//! Otherwise it must be among the figures of the studies, tables or claims that the page names,
//!
//! ```text
//! <!-- figures: axes-cora, tab:gin_feature_attacks, claims -->
//! ```
//!
//! or among the numbers that the page declares as given, not measured: settings, definitions,
//! published results.
//!
//! ```text
//! <!-- given: 0.85 64.4 -->
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gnarl_thesis::claims::CLAIMS;
use gnarl_thesis::kept::ResultStore;
use gnarl_thesis::quoted::PublishedStudy;
use gnarl_thesis::report::{Report, Thesis};
use gnarl_thesis::tables;

const UNITS: [&str; 13] = [
    "%", "per cent", "times", "ms", "s", "min", "h", "minutes", "hours", "seconds", "MB", "GB",
    "points",
];

/// Returns the text of a page that people read as prose or tables: no code, no comments, no
/// addresses, no generated blocks.
fn prose(page: &str) -> String {
    let mut text = String::new();
    let (mut in_code, mut in_block) = (false, false);
    for line in page.lines() {
        in_code ^= line.trim_start().starts_with("```");
        in_block |= line.starts_with("<!-- results ");
        in_block &= line != "<!-- end of results -->";
        let is_code = in_code || line.trim_start().starts_with("```") || line.starts_with("    ");
        if !is_code && !in_block && !line.starts_with("<!--") {
            text += line;
            text.push('\n');
        }
    }
    without_code_and_addresses(&text)
}

fn without_code_and_addresses(text: &str) -> String {
    let outside_code: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut kept = String::new();
    let mut rest = outside_code.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        kept += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    kept + rest
}

/// Returns the numbers of a text, each with the text behind it; signs and thousands separators are
/// left out.
fn numbers(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_word =
            |i: usize| bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_' || bytes[i] >= 128;
        if !bytes[at].is_ascii_digit() || (at > 0 && (is_word(at - 1) || bytes[at - 1] == b'.')) {
            at += 1;
            continue;
        }
        let start = at;
        let digit_after = |i: usize| bytes.get(i + 1).is_some_and(u8::is_ascii_digit);
        while at < bytes.len()
            && (bytes[at].is_ascii_digit() || (matches!(bytes[at], b'.' | b',') && digit_after(at)))
        {
            at += 1;
        }
        let ends_in_word =
            at < bytes.len() && (bytes[at].is_ascii_alphabetic() || bytes[at] == b'_');
        let number: String = text[start..at].chars().filter(|c| *c != ',').collect();
        // 1e-5 is a tolerance, 2.0.1 a version, 0.2x a name.
        if !ends_in_word && number.matches('.').count() <= 1 {
            found.push((number, &text[at..]));
        }
    }
    found
}

/// Returns the numbers of a text that are figures.
fn figures(text: &str) -> Vec<String> {
    let has_unit = |after: &str| {
        let after = after.strip_prefix([' ', '\n']).unwrap_or(after);
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        UNITS
            .iter()
            .any(|unit| after.strip_prefix(unit).is_some_and(ends))
    };
    let is_figure = |number: &str, after: &str| number.contains('.') || has_unit(after);
    numbers(text)
        .into_iter()
        .filter(|(number, after)| is_figure(number, after))
        .map(|(number, _)| number)
        .collect()
}

/// Returns the names that a page lists after `<!-- KEY: `.
fn named(page: &str, key: &str) -> Vec<String> {
    let start = format!("<!-- {key}:");
    let lines = page
        .lines()
        .filter_map(|line| line.strip_prefix(&start)?.strip_suffix("-->"));
    lines
        .flat_map(|line| {
            line.split([',', ' '])
                .filter(|word| !word.is_empty())
                .map(str::to_string)
        })
        .collect()
}

/// Everything in `results/`, as numbers in the forms in which they are quoted.
struct Results {
    studies: BTreeMap<String, PublishedStudy>,
    reports: Vec<Report>,
}

impl Results {
    fn read(root: &Path) -> Self {
        let folder = root.join("results");
        let store = ResultStore::read(&folder).unwrap();
        let reports = tables::all()
            .iter()
            .map(|table| store.report(table).unwrap())
            .collect();
        Self {
            studies: PublishedStudy::read_all(&folder).unwrap(),
            reports,
        }
    }

    /// Returns the numbers of a study, of a published table, or of the claims; `None` for an
    /// unknown name.
    fn of(&self, name: &str) -> Option<BTreeSet<String>> {
        if let Some(study) = self.studies.get(name) {
            let cells = study.rows.iter().flatten().chain(&study.columns);
            return Some(
                cells
                    .flat_map(|cell| numbers(cell))
                    .map(|(number, _)| number)
                    .collect(),
            );
        }
        let quoted = |values: Vec<f64>| {
            let digits =
                |value: f64| (0..=3).map(move |digits| format!("{:.digits$}", value.abs()));
            values
                .into_iter()
                .flat_map(digits)
                .collect::<BTreeSet<String>>()
        };
        if name == "claims" {
            let judged = CLAIMS.iter().map(|claim| claim.judge(&self.reports));
            let values =
                |j: gnarl_thesis::claims::VerdictReport| [j.mean, j.standard_error, j.claimed];
            return Some(quoted(judged.flat_map(values).flatten().collect()));
        }
        let report = self.reports.iter().find(|report| report.table == name)?;
        let mut values = Vec::new();
        for cell in report.rows.iter().flat_map(|row| &row.cells) {
            values.extend(cell.ours.iter().flat_map(|ours| [ours.mean, ours.std]));
            values.extend(
                cell.ours
                    .iter()
                    .flat_map(|ours| ours.parts.iter().map(|part| part.mean)),
            );
            let pairs = cell
                .pairs
                .iter()
                .flat_map(|pair| [pair.paired, pair.claimed])
                .flatten();
            values.extend(
                pairs
                    .chain(cell.difference)
                    .flat_map(|d| [Some(d.mean), d.standard_error])
                    .flatten(),
            );
            match cell.thesis {
                Thesis::Accuracy { mean, std } => values.extend([mean, std]),
                Thesis::Value { mean, .. } => values.push(mean),
                _ => {}
            }
        }
        Some(quoted(values))
    }

    /// Returns the errors of a page: missing sources, and figures that none of its sources has.
    fn faults(&self, page: &str) -> Vec<String> {
        let mut known: BTreeSet<String> = named(page, "given").into_iter().collect();
        let mut faults = Vec::new();
        for source in named(page, "figures") {
            match self.of(&source) {
                Some(numbers) => known.extend(numbers),
                None => faults.push(format!("there is no study, table or claims named {source}")),
            }
        }
        let text = prose(page);
        faults.extend(
            figures(&text)
                .into_iter()
                .filter(|figure| !known.contains(figure)),
        );
        faults
    }
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    // The page of results is generated whole, and another test checks it.
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == "md") && !path.ends_with("results.md")
    };
    let mut pages: Vec<PathBuf> = docs
        .filter(is_page)
        .chain([root.join("README.md")])
        .collect();
    pages.sort();
    pages
}

#[test]
fn every_number_in_the_docs_is_in_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let results = Results::read(&root);
    let mut faults = String::new();
    for path in pages(&root) {
        let page = std::fs::read_to_string(&path).unwrap();
        let of_page = results.faults(&page);
        if !of_page.is_empty() {
            faults += &format!(
                "{}: {}\n",
                path.file_name().unwrap().display(),
                of_page.join(", ")
            );
        }
    }
    assert!(
        faults.is_empty(),
        "figures that no study or table named by their page has, and that it does not say are given \
         (`<!-- figures: … -->`, `<!-- given: … -->`, CONTRIBUTING.md):\n{faults}"
    );
}

#[test]
fn a_stale_number_is_found() {
    let row = |cells: &[&str]| {
        cells
            .iter()
            .map(|cell| cell.to_string())
            .collect::<Vec<_>>()
    };
    let study = PublishedStudy {
        says: "What axes give.".into(),
        commands: vec!["gnarl axes".into()],
        numerics: 1,
        columns: row(&["switched on", "clean, %"]),
        rows: vec![
            row(&["plain", "81.14 ± 0.70"]),
            row(&["edges", "1,234.5"]),
            row(&["faster", "28 times"]),
        ],
    };
    let results = Results {
        studies: BTreeMap::from([("axes-cora".to_string(), study)]),
        reports: Vec::new(),
    };
    let head = "<!-- figures: axes-cora -->\n<!-- given: 0.85 -->\n";
    let faults = |text: &str| results.faults(&format!("{head}{text}"));
    let none: [String; 0] = [];
    assert_eq!(
        faults(
            "It is -81.14 ± 0.70, of 1,234.5 edges, and 28 times as fast; 0.85 is given, 17 nodes are counted."
        ),
        none
    );
    assert_eq!(
        faults("It is 81.15 or 29 times, **7 %**."),
        ["81.15", "29", "7"]
    );
    assert_eq!(
        faults(
            "Code is free: `9.9` and\n\n    gnarl train --budget 9.9\n\n[0.1.2](at/9.9) 1e-5\n```\n9.9 %\n```\n"
        ),
        none
    );
    assert_eq!(
        faults(
            "<!-- results axes-cora -->\n\n| plain | 9.99 |\n\n<!-- end of results -->\n| x | 9.98 |"
        ),
        ["9.98"]
    );
    let e = results.faults("<!-- figures: axes-moon -->\n");
    assert_eq!(e, ["there is no study, table or claims named axes-moon"]);
}
