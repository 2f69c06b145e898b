//! Figures in pages of text: blocks between two comments are made from the figures that are kept, so that none can go stale.
//!
//! ```text
//! <!-- results tab:gin_feature_attacks; rows clean: GIN | clean: GIORN; columns Cora | CiteSeer -->
//! <!-- end of results -->
//! ```
//!
//! has these rows and columns of a table. Where a table names its rows `attack: model`, `; in Cora; rows GIN | GIORN; columns clean | PGD` shows one dataset, models
//! down and attacks across.

use gnarl::thesis::report::{CellReport, Report as TableReport, Thesis};
use gnarl_graph::{Error, Result};

const START: &str = "<!-- results ";
const END: &str = "<!-- end of results -->";

/// The page with every block made anew.
pub fn filled(page: &str, reports: &[TableReport]) -> Result<String> {
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
        let block = Block::of(asked).and_then(|block| block.table(reports)).map_err(faulty)?;
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
        match block.rows.is_empty() || block.columns.is_empty() {
            true => Err("rows and columns must be named".to_string()),
            false => Ok(block),
        }
    }

    fn table(&self, reports: &[TableReport]) -> std::result::Result<String, String> {
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

    #[test]
    fn blocks_are_made_anew_and_the_rest_stays() {
        let asked = "<!-- results tab:gin_feature_attacks; in Cora; rows GIN | GIORN; columns clean | psi 1.0 -->";
        let page = format!("above\n{asked}\nold\n{END}\nbelow\n");
        let made = filled(&page, &reports()).unwrap();
        assert!(made.starts_with(&format!("above\n{asked}\n\n| | clean | psi 1.0 |\n")), "{made}");
        assert!(made.ends_with(&format!("{END}\nbelow\n")) && !made.contains("old"), "{made}");
        assert_eq!(made.lines().filter(|line| line.starts_with("| GI")).count(), 2);
        assert_eq!(filled(&made, &reports()).unwrap(), made, "once is enough");
        let by_rows = "<!-- results tab:gin_feature_attacks; rows clean: GIN; columns Cora | CiteSeer -->";
        assert!(filled(&format!("{by_rows}\n{END}\n"), &reports()).unwrap().contains("| clean: GIN | 7"));
    }

    #[test]
    fn what_is_not_there_is_said_with_its_line() {
        let refused = |asked: &str, end: &str| {
            filled(&format!("a\n<!-- results {asked} -->\n{end}\n"), &reports()).unwrap_err().to_string()
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
