//! Figures in pages of text: blocks between two comments are made from the figures that are kept, so that none can go stale.
//!
//! ```text
//! <!-- results tab:gin_feature_attacks; rows clean: GIN | clean: GIORN; columns Cora | CiteSeer -->
//! <!-- end of results -->
//! ```
//!
//! has these rows and columns of a table. Where a table names its rows `attack: model`, `; in Cora; rows GIN | GIORN; columns clean | PGD` shows one dataset, models
//! down and attacks across. `<!-- results axes-cora -->` has what is kept of another study ([`Quoted`]), or the rows and columns of it that are named.

use std::collections::BTreeMap;

use gnarl::thesis::quoted::Quoted;
use gnarl::thesis::report::{CellReport, Report as TableReport, Thesis};
use gnarl_graph::{Error, Result};

const START: &str = "<!-- results ";
const END: &str = "<!-- end of results -->";

/// The page with every block made anew.
pub fn filled(page: &str, reports: &[TableReport], studies: &BTreeMap<String, Quoted>) -> Result<String> {
    let mut text = String::with_capacity(page.len());
    let mut lines = page.lines().enumerate();
    let mut blocks = 0;
    while let Some((at, line)) = lines.next() {
        text += line;
        text.push('\n');
        let Some(asked) = line.strip_prefix(START).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let faulty = |what: String| Error::argument("fill", format!("line {}: {what}", at + 1));
        if !lines.by_ref().any(|(_, line)| line == END) {
            return Err(faulty(format!("a block of results has no end; {END} is expected after it")));
        }
        blocks += 1;
        let block = Block::of(asked).and_then(|block| block.table(reports, studies)).map_err(faulty)?;
        text += &format!("\n{block}\n{END}\n");
    }
    match blocks {
        0 => Err(Error::argument(
            "fill",
            format!("no block to fill: a line with {START}TABLE; rows …; columns … --> starts one"),
        )),
        _ => Ok(text),
    }
}

/// What a block shows.
struct Block<'a> {
    table: &'a str,
    dataset: Option<&'a str>,
    rows: Vec<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> Block<'a> {
    fn of(asked: &'a str) -> std::result::Result<Self, String> {
        let mut parts = asked.split(';').map(str::trim);
        let mut block =
            Self { table: parts.next().unwrap_or(""), dataset: None, rows: Vec::new(), columns: Vec::new() };
        let list = |text: &'a str| text.split('|').map(str::trim).collect::<Vec<_>>();
        for part in parts {
            match part.split_once(' ') {
                Some(("in", dataset)) => block.dataset = Some(dataset.trim()),
                Some(("rows", rows)) => block.rows = list(rows),
                Some(("columns", columns)) => block.columns = list(columns),
                _ => return Err(format!("{part:?} is none of in, rows and columns")),
            }
        }
        Ok(block)
    }

    fn table(
        &self,
        reports: &[TableReport],
        studies: &BTreeMap<String, Quoted>,
    ) -> std::result::Result<String, String> {
        match studies.get(self.table) {
            Some(study) => self.of_study(study),
            None => self.of_table(reports),
        }
    }

    /// A study as it is kept, or some of its rows, by their first cells, and of its columns.
    fn of_study(&self, study: &Quoted) -> std::result::Result<String, String> {
        let place = |name: &&str| {
            let found = study.columns.iter().position(|column| column == name);
            found.ok_or_else(|| format!("{} has no column {name}", self.table))
        };
        let columns: Vec<usize> = match self.columns.is_empty() {
            true => (0..study.columns.len()).collect(),
            false => self.columns.iter().map(place).collect::<std::result::Result<_, _>>()?,
        };
        let row = |name: &&str| {
            let found = study.rows.iter().find(|row| row.first().is_some_and(|cell| cell == name));
            found.ok_or_else(|| format!("{} has no row {name:?}", self.table))
        };
        let rows: Vec<&Vec<String>> = match self.rows.is_empty() {
            true => study.rows.iter().collect(),
            false => self.rows.iter().map(row).collect::<std::result::Result<_, _>>()?,
        };
        let line = |cells: Vec<&str>| format!("|{}\n", cells.iter().map(|cell| padded(cell)).collect::<String>());
        let ruler = columns.iter().map(|&c| if holds_numbers(&rows, c) { "---:" } else { "---" }).collect();
        let mut text = line(columns.iter().map(|&c| study.columns[c].as_str()).collect()) + &line(ruler);
        for row in rows {
            text += &line(columns.iter().map(|&c| row[c].as_str()).collect());
        }
        Ok(text)
    }

    fn of_table(&self, reports: &[TableReport]) -> std::result::Result<String, String> {
        if self.rows.is_empty() || self.columns.is_empty() {
            return Err("rows and columns must be named".to_string());
        }
        let report = reports.iter().find(|report| report.table == self.table);
        let report = report.ok_or_else(|| format!("there is no table {}", self.table))?;
        let mut text = format!("| | {} |\n| --- |{}\n", self.columns.join(" | "), " ---: |".repeat(self.columns.len()));
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

/// ` cell |`, and of an empty cell no more than one blank.
fn padded(cell: &str) -> String {
    if cell.is_empty() { " |".to_string() } else { format!(" {cell} |") }
}

/// Whether a column's cells are numbers, with units at most, which stand to the right.
fn holds_numbers(rows: &[&Vec<String>], column: usize) -> bool {
    let is_number = |cell: &str| {
        let is_word = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count() > 2;
        let starts = cell.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
        starts && !cell.split_whitespace().any(is_word)
    };
    let mut cells = rows.iter().map(|row| row[column].as_str()).filter(|cell| !matches!(*cell, "" | "-")).peekable();
    column > 0 && cells.peek().is_some() && cells.all(is_number)
}

/// The first row of this name is the one with the thesis' settings.
fn cell<'a>(report: &'a TableReport, label: &str, column: &str) -> std::result::Result<&'a CellReport, String> {
    let place = report.columns.iter().position(|of| *of == column);
    let place = place.ok_or_else(|| format!("{} has no column {column}", report.table))?;
    let row = report.rows.iter().find(|row| row.label == label);
    Ok(&row.ok_or_else(|| format!("{} has no row {label:?}", report.table))?.cells[place])
}

/// Ours, and the thesis' in brackets.
fn figure(cell: &CellReport) -> String {
    let ours = cell.ours.as_ref().map_or_else(|| "-".to_string(), |ours| format!("{:.1} ± {:.1}", ours.mean, ours.std));
    match cell.thesis {
        Thesis::Accuracy { mean, .. } | Thesis::Value { mean, .. } => format!("{ours} ({mean:.1})"),
        _ => ours,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl::thesis::kept::Shelf;
    use gnarl::thesis::tables;

    fn reports() -> Vec<TableReport> {
        let table = tables::ALL.iter().find(|table| table.name == "tab:gin_feature_attacks").unwrap();
        let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        vec![Shelf::read(&results).unwrap().report(table).unwrap()]
    }

    fn studies() -> BTreeMap<String, Quoted> {
        let cells = |row: &[&str]| row.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let study = Quoted {
            says: "What axes give.".into(),
            commands: vec!["gnarl axes".into()],
            numerics: 1,
            columns: cells(&["switched on", "clean", "why"]),
            rows: vec![cells(&["plain", "81.1 ± 0.7", "as it is"]), cells(&["cgso", "-", ""])],
        };
        BTreeMap::from([("axes".to_string(), study)])
    }

    #[test]
    fn a_study_is_shown_whole_or_in_part() {
        let block = |asked: &str| filled(&format!("<!-- results {asked} -->\n{END}\n"), &[], &studies());
        let whole = "\n| switched on | clean | why |\n| --- | ---: | --- |\n| plain | 81.1 ± 0.7 | as it is |\n| cgso | - | |\n\n";
        assert!(block("axes").unwrap().contains(whole), "{}", block("axes").unwrap());
        let part = block("axes; rows cgso; columns clean | switched on").unwrap();
        assert!(part.contains("| clean | switched on |\n| --- | --- |\n| - | cgso |\n"), "{part}");
        for (asked, why) in [("axes; rows gin", "axes has no row \"gin\""), ("axes; columns b", "axes has no column b")]
        {
            assert!(block(asked).unwrap_err().to_string().contains(why));
        }
    }

    #[test]
    fn blocks_are_made_anew_and_the_rest_stays() {
        let asked = "<!-- results tab:gin_feature_attacks; in Cora; rows GIN | GIORN; columns clean | psi 1.0 -->";
        let page = format!("above\n{asked}\nold\n{END}\nbelow\n");
        let made = filled(&page, &reports(), &studies()).unwrap();
        assert!(made.starts_with(&format!("above\n{asked}\n\n| | clean | psi 1.0 |\n")), "{made}");
        assert!(made.ends_with(&format!("{END}\nbelow\n")) && !made.contains("old"), "{made}");
        assert_eq!(made.lines().filter(|line| line.starts_with("| GI")).count(), 2);
        assert_eq!(filled(&made, &reports(), &studies()).unwrap(), made, "once is enough");
        let by_rows = "<!-- results tab:gin_feature_attacks; rows clean: GIN; columns Cora | CiteSeer -->";
        assert!(filled(&format!("{by_rows}\n{END}\n"), &reports(), &studies()).unwrap().contains("| clean: GIN | 7"));
    }

    #[test]
    fn what_is_not_there_is_said_with_its_line() {
        let refused = |asked: &str, end: &str| {
            filled(&format!("a\n<!-- results {asked} -->\n{end}\n"), &reports(), &studies()).unwrap_err().to_string()
        };
        let table = "tab:gin_feature_attacks";
        for (asked, why) in [
            ("tab:none; rows a; columns b".to_string(), "line 2: there is no table tab:none"),
            (format!("{table}; rows a"), "line 2: rows and columns must be named"),
            (format!("{table}; rows a; columns Cora"), "has no row \"a\""),
            (format!("{table}; rows clean: GIN; columns Moon"), "has no column Moon"),
            (format!("{table}; row a"), "\"row a\" is none of"),
        ] {
            assert!(refused(&asked, END).contains(why), "{}", refused(&asked, END));
        }
        assert!(refused(&format!("{table}; rows a; columns b"), "").contains("has no end"));
    }
}
