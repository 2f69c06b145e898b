//! Generates results in pages of text. Blocks between two comments are made from stored results, so
//! that none can become outdated.
//!
//! ```text
//! <!-- results tab:gin_feature_attacks; rows clean: GIN | clean: GIORN; columns Cora | CiteSeer -->
//! <!-- end of results -->
//! ```
//!
//! has these rows and columns of a table. If a table names its rows `attack: model`,
//! `; in Cora; rows GIN | GIORN; columns clean | PGD` shows one dataset, models down and attacks
//! across. `<!-- results axes-cora -->` has the stored results of another study ([`PublishedStudy`]), or
//! its named rows and columns.

use std::collections::BTreeMap;
use std::path::Path;

use gnarl_graph::{Error, Result};
use gnarl_thesis::kept::ResultStore;
use gnarl_thesis::quoted::PublishedStudy;
use gnarl_thesis::report::{CellReport, Report as TableReport, Thesis};

use crate::output::real;

const START: &str = "<!-- results ";
const END: &str = "<!-- end of results -->";

/// Returns the page with every block generated again; the rest of it stays, including its line
/// endings. A block in a code example is ignored.
pub fn filled(
    file: &Path,
    page: &str,
    reports: &[TableReport],
    studies: &BTreeMap<String, PublishedStudy>,
    store: &ResultStore,
) -> Result<String> {
    let line_end = if page.contains("\r\n") { "\r\n" } else { "\n" };
    let mut made: Vec<String> = Vec::new();
    let mut lines = page.lines().enumerate();
    let (mut blocks, mut in_code) = (0, false);
    while let Some((at, line)) = lines.next() {
        made.push(line.to_string());
        in_code ^= line.trim_start().starts_with("```");
        let Some(request) = line
            .strip_prefix(START)
            .and_then(|rest| rest.strip_suffix(" -->"))
        else {
            continue;
        };
        if in_code {
            continue;
        }
        let faulty = |what: String| {
            Error::argument(
                "--fill",
                format!("{}, line {}: {what}", file.display(), at + 1),
            )
        };
        let next = lines.find(|(_, line)| *line == END || line.starts_with(START));
        if next.is_none_or(|(_, line)| line != END) {
            return Err(faulty(format!(
                "the block of results that starts here has no end before the next: {END}"
            )));
        }
        blocks += 1;
        let block = Block::of(request)
            .and_then(|block| block.table(reports, studies, store))
            .map_err(faulty)?;
        made.push(String::new());
        made.extend(block.lines().map(str::to_string));
        made.extend([String::new(), END.to_string()]);
    }
    if blocks == 0 {
        let what = format!(
            "{} has no block to fill: a line with {START}NAME --> starts one, {END} ends it",
            file.display()
        );
        return Err(Error::argument("--fill", what));
    }
    let last = if page.ends_with('\n') { line_end } else { "" };
    Ok(made.join(line_end) + last)
}

/// Escapes text for a cell of a Markdown table, which a bar would end.
pub fn in_cell(text: &str) -> String {
    text.replace("\\|", "|").replace('|', "\\|")
}

/// Rows and columns that a block shows.
struct Block<'a> {
    table: &'a str,
    dataset: Option<&'a str>,
    rows: Vec<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> Block<'a> {
    fn of(request: &'a str) -> std::result::Result<Self, String> {
        let mut parts = request.split(';').map(str::trim);
        let mut block = Self {
            table: parts.next().unwrap_or(""),
            dataset: None,
            rows: Vec::new(),
            columns: Vec::new(),
        };
        let list = |text: &'a str| text.split('|').map(str::trim).collect::<Vec<_>>();
        for part in parts {
            match part.split_once(' ') {
                Some(("in", dataset)) if block.dataset.is_none() => {
                    block.dataset = Some(dataset.trim())
                }
                Some(("rows", rows)) if block.rows.is_empty() => block.rows = list(rows),
                Some(("columns", columns)) if block.columns.is_empty() => {
                    block.columns = list(columns)
                }
                Some(("in" | "rows" | "columns", _)) => {
                    return Err(format!("{part:?} is given twice"));
                }
                _ => return Err(format!("{part:?} is none of in, rows and columns")),
            }
        }
        Ok(block)
    }

    fn table(
        &self,
        reports: &[TableReport],
        studies: &BTreeMap<String, PublishedStudy>,
        store: &ResultStore,
    ) -> std::result::Result<String, String> {
        if let Some(study) = studies.get(self.table) {
            return self.of_study(study);
        }
        match reports.iter().find(|report| report.table == self.table) {
            Some(report) if store.is_stale(report.table) => Err(format!(
                "the figures of {} were computed by another version of the numerics: run it again",
                self.table
            )),
            Some(report) => self.of_table(report),
            None => {
                let known = reports
                    .iter()
                    .map(|report| report.table)
                    .chain(studies.keys().map(String::as_str));
                Err(Error::unknown("table or study", self.table, known).to_string())
            }
        }
    }

    /// Formats a stored study, or some of its rows, by their first cells, and of its columns.
    fn of_study(&self, study: &PublishedStudy) -> std::result::Result<String, String> {
        if self.dataset.is_some() {
            return Err(format!(
                "{} is a study, which has no single dataset: leave out in",
                self.table
            ));
        }
        let place = |name: &&str| {
            let found = study.columns.iter().position(|column| column == name);
            found.ok_or_else(|| format!("{} has no column {name}", self.table))
        };
        let columns: Vec<usize> = if self.columns.is_empty() {
            (0..study.columns.len()).collect()
        } else {
            let named = self.columns.iter().map(place);
            named.collect::<std::result::Result<_, _>>()?
        };
        let row = |name: &&str| {
            let found = study
                .rows
                .iter()
                .find(|row| row.first().is_some_and(|cell| cell == name));
            found.ok_or_else(|| format!("{} has no row {name:?}", self.table))
        };
        let rows: Vec<&Vec<String>> = if self.rows.is_empty() {
            study.rows.iter().collect()
        } else {
            let named = self.rows.iter().map(row);
            named.collect::<std::result::Result<_, _>>()?
        };
        let line = |cells: Vec<&str>| {
            format!(
                "|{}\n",
                cells.iter().map(|cell| padded(cell)).collect::<String>()
            )
        };
        let ruler = columns
            .iter()
            .map(|&c| {
                if holds_numbers(&rows, c) {
                    "---:"
                } else {
                    "---"
                }
            })
            .collect();
        let mut text =
            line(columns.iter().map(|&c| study.columns[c].as_str()).collect()) + &line(ruler);
        for row in rows {
            text += &line(columns.iter().map(|&c| row[c].as_str()).collect());
        }
        Ok(text)
    }

    fn of_table(&self, report: &TableReport) -> std::result::Result<String, String> {
        if self.rows.is_empty() || self.columns.is_empty() {
            return Err("rows and columns must be named".to_string());
        }
        let mut text = format!(
            "| | {} |\n| --- |{}\n",
            self.columns.join(" | "),
            " ---: |".repeat(self.columns.len())
        );
        for row in &self.rows {
            text += &format!("| {row} |");
            for column in &self.columns {
                let (label, dataset) = match self.dataset {
                    Some(dataset) => (format!("{column}: {row}"), dataset),
                    None => (row.to_string(), *column),
                };
                text += &format!(" {} |", figure(cell(report, &label, dataset)?));
            }
            text.push('\n');
        }
        Ok(text)
    }
}

/// Formats a padded cell, ` cell |`; an empty cell has one blank at most.
fn padded(cell: &str) -> String {
    if cell.is_empty() {
        " |".to_string()
    } else {
        format!(" {} |", in_cell(cell))
    }
}

/// Returns true if the cells of a column are numbers, possibly with units; they are right-aligned.
fn holds_numbers(rows: &[&Vec<String>], column: usize) -> bool {
    let is_number = |cell: &str| {
        let is_word = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count() > 2;
        let starts = cell
            .trim_start_matches(['+', '-'])
            .starts_with(|c: char| c.is_ascii_digit());
        starts && !cell.split_whitespace().any(is_word)
    };
    let mut cells = rows
        .iter()
        .map(|row| row[column].as_str())
        .filter(|cell| !matches!(*cell, "" | "-"))
        .peekable();
    column > 0 && cells.peek().is_some() && cells.all(is_number)
}

/// Finds a cell by row label and column. The first row of a label is the one with the published
/// settings.
fn cell<'a>(
    report: &'a TableReport,
    label: &str,
    column: &str,
) -> std::result::Result<&'a CellReport, String> {
    let place = report.columns.iter().position(|of| *of == column);
    let place = place.ok_or_else(|| format!("{} has no column {column}", report.table))?;
    let row = report.rows.iter().find(|row| row.label == label);
    Ok(&row
        .ok_or_else(|| format!("{} has no row {label:?}", report.table))?
        .cells[place])
}

/// Formats our result with the published one in brackets.
fn figure(cell: &CellReport) -> String {
    let per_cent = || {
        cell.ours.as_ref().map_or_else(
            || "-".to_string(),
            |ours| format!("{:.1} ± {:.1}", ours.mean, ours.std),
        )
    };
    match cell.thesis {
        Thesis::Accuracy { mean, .. } => format!("{} ({mean:.1})", per_cent()),
        // Numbers with units of their own have any magnitude.
        Thesis::Value { mean, .. } => {
            let ours = cell
                .ours
                .as_ref()
                .map_or_else(|| "-".to_string(), |ours| real(ours.mean));
            format!("{ours} ({})", real(mean))
        }
        _ => per_cent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_thesis::tables;

    fn fill(page: &str, reports: &[TableReport]) -> Result<String> {
        filled(
            Path::new("page.md"),
            page,
            reports,
            &studies(),
            &ResultStore::default(),
        )
    }

    fn reports() -> Vec<TableReport> {
        let table = tables::find("tab:gin_feature_attacks").unwrap();
        let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        vec![ResultStore::read(&results).unwrap().report(table).unwrap()]
    }

    fn studies() -> BTreeMap<String, PublishedStudy> {
        let cells = |row: &[&str]| row.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let study = PublishedStudy {
            says: "What axes give.".into(),
            commands: vec!["gnarl axes".into()],
            numerics: 1,
            columns: cells(&["switched on", "clean", "why"]),
            rows: vec![
                cells(&["plain", "81.1 ± 0.7", "as it is"]),
                cells(&["cgso", "-", ""]),
                cells(&["a|b", "-", "c\\|d"]),
            ],
        };
        BTreeMap::from([("axes".to_string(), study)])
    }

    #[test]
    fn a_study_is_shown_whole_or_in_part() {
        let block = |request: &str| fill(&format!("<!-- results {request} -->\n{END}\n"), &[]);
        let whole = "\n| switched on | clean | why |\n| --- | ---: | --- |\n| plain | 81.1 ± 0.7 | as it is |\n| cgso | - | |\n| a\\|b | - | c\\|d |\n\n";
        assert!(
            block("axes").unwrap().contains(whole),
            "{}",
            block("axes").unwrap()
        );
        let part = block("axes; rows cgso; columns clean | switched on").unwrap();
        assert!(
            part.contains("| clean | switched on |\n| --- | --- |\n| - | cgso |\n"),
            "{part}"
        );
        let page =
            "a\r\n<!-- results axes; rows cgso; columns clean -->\r\n<!-- end of results -->\r\nb";
        let made = fill(page, &[]).unwrap();
        assert!(
            made.starts_with("a\r\n<!-- results") && made.ends_with("-->\r\nb"),
            "lines end as they did: {made:?}"
        );
        assert_eq!(made.matches('\n').count(), made.matches("\r\n").count());
        let lost = "<!-- results axes -->\nof somebody's\n<!-- results axes -->\n<!-- end of results -->\n";
        assert!(
            fill(lost, &[])
                .unwrap_err()
                .to_string()
                .contains("page.md, line 1: the block of results")
        );
        let example = format!("```\n<!-- results no-such -->\n```\n<!-- results axes -->\n{END}\n");
        assert!(
            fill(&example, &[])
                .unwrap()
                .starts_with("```\n<!-- results no-such -->\n```\n")
        );
        for (request, why) in [
            ("axes; in Cora", "is a study, which has no single dataset"),
            ("axes; rows cgso; rows plain", "is given twice"),
            ("axis", "did you mean axes"),
        ] {
            let e = block(request).unwrap_err().to_string();
            assert!(e.contains(why), "{e}");
        }
        for (request, why) in [
            ("axes; rows gin", "axes has no row \"gin\""),
            ("axes; columns b", "axes has no column b"),
        ] {
            assert!(block(request).unwrap_err().to_string().contains(why));
        }
    }

    #[test]
    fn blocks_are_generated_again_and_the_rest_stays() {
        let request = "<!-- results tab:gin_feature_attacks; in Cora; rows GIN | GIORN; columns clean | psi 1.0 -->";
        let page = format!("above\n{request}\nold\n{END}\nbelow\n");
        let made = fill(&page, &reports()).unwrap();
        assert!(
            made.starts_with(&format!("above\n{request}\n\n| | clean | psi 1.0 |\n")),
            "{made}"
        );
        assert!(
            made.ends_with(&format!("{END}\nbelow\n")) && !made.contains("old"),
            "{made}"
        );
        assert_eq!(
            made.lines().filter(|line| line.starts_with("| GI")).count(),
            2
        );
        assert_eq!(fill(&made, &reports()).unwrap(), made, "once is enough");
        let by_rows =
            "<!-- results tab:gin_feature_attacks; rows clean: GIN; columns Cora | CiteSeer -->";
        assert!(
            fill(&format!("{by_rows}\n{END}\n"), &reports())
                .unwrap()
                .contains("| clean: GIN | 7")
        );
    }

    #[test]
    fn a_missing_row_is_refused_with_its_line() {
        let refused = |request: &str, end: &str| {
            fill(
                &format!("a\n<!-- results {request} -->\n{end}\n"),
                &reports(),
            )
            .unwrap_err()
            .to_string()
        };
        let table = "tab:gin_feature_attacks";
        for (request, why) in [
            (
                "tab:none; rows a; columns b".to_string(),
                "page.md, line 2: unknown table or study 'tab:none'",
            ),
            (
                format!("{table}; rows a"),
                "page.md, line 2: rows and columns must be named",
            ),
            (format!("{table}; rows a; columns Cora"), "has no row \"a\""),
            (
                format!("{table}; rows clean: GIN; columns Moon"),
                "has no column Moon",
            ),
            (format!("{table}; row a"), "\"row a\" is none of"),
        ] {
            assert!(
                refused(&request, END).contains(why),
                "{}",
                refused(&request, END)
            );
        }
        assert!(refused(&format!("{table}; rows a; columns b"), "").contains("has no end"));
    }
}
