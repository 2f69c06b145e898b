//! Prints reports, as tables for people or as one JSON object for programs.

use std::io::Write;
use std::path::Path;

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use gnarl_graph::Error;
use gnarl_graph::metrics::PairedDifference;
use serde::Serialize;

use crate::global::Global;

/// Result of a command: its fields are the JSON, `text` is the same for people.
pub trait Report: Serialize {
    /// Formats tables and short lines, ending with a newline.
    fn text(&self) -> String;

    /// Returns the error with which the command ends once the report is printed, if there is one.
    fn complaint(self) -> Option<anyhow::Error>
    where
        Self: Sized,
    {
        None
    }
}

/// One of two kinds of report.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Either<L, R> {
    Left(L),
    Right(R),
}

impl<L: Report, R: Report> Report for Either<L, R> {
    fn text(&self) -> String {
        match self {
            Either::Left(report) => report.text(),
            Either::Right(report) => report.text(),
        }
    }

    fn complaint(self) -> Option<anyhow::Error> {
        match self {
            Either::Left(report) => report.complaint(),
            Either::Right(report) => report.complaint(),
        }
    }
}

/// Prints a report on standard output, and fails with its complaint if there is one.
pub fn print(global: &Global, report: impl Report) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if global.json {
        serde_json::to_writer_pretty(&mut out, &report).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    } else if !global.quiet {
        out.write_all(report.text().as_bytes())?;
    }
    out.flush()?;
    report.complaint().map_or(Ok(()), Err)
}

/// Returns true if the error only means that the reader of our output has gone, as in `gnarl … |
/// head`.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes a file atomically: whole or not at all.
pub fn write_whole(file: &Path, content: impl AsRef<[u8]>) -> gnarl_graph::Result<()> {
    gnarl_graph::files::write_atomically(file, content)
}

/// Fails if a file could not be written, before hours are spent on its contents; `option` is the
/// option that named it.
pub fn check_place(option: &str, file: &Path) -> gnarl_graph::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let refuse = |what: String| Err(Error::setting(option, what));
    match (file.is_dir(), folder.is_dir()) {
        (true, _) => refuse(format!("{} is a folder; name a file", file.display())),
        (_, false) => refuse(format!(
            "{}: there is no folder {}",
            file.display(),
            folder.display()
        )),
        _ => gnarl_graph::files::check_writable(file).or_else(|e| refuse(e.to_string())),
    }
}

/// Builds a table with a ruled header. Columns whose header starts with `>` hold numbers and are
/// right-aligned.
pub fn table(headers: &[&str]) -> Table {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let mut table = Table::new();
    table
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(headers.iter().map(|h| h.strip_prefix('>').unwrap_or(h)));
    for (i, header) in headers.iter().enumerate() {
        if let Some(column) = table.column_mut(i).filter(|_| header.starts_with('>')) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Width of a table of prose in columns if no terminal has a width.
const WIDTH_OF_PROSE: u16 = 110;

/// Wraps a table of long words and sentences, even if its reader is no terminal or a very wide one.
pub fn keep_narrow(table: &mut Table) {
    let width = table
        .width()
        .map_or(WIDTH_OF_PROSE, |width| width.min(WIDTH_OF_PROSE));
    table.set_width(width);
    // Names are copied, so they are not wrapped.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
}

/// Builds a table of names and their values, without a header.
pub fn pairs<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_content_arrangement(ContentArrangement::Dynamic);
    for (name, value) in rows {
        table.add_row([Cell::new(name), Cell::new(value)]);
    }
    table
}

/// Renders a table without trailing blanks, ending with a newline.
pub fn render(table: &Table) -> String {
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// Formats a whole number with thousands separators.
pub fn count(number: u64) -> String {
    group(&number.to_string())
}

/// Formats a number to four significant digits: separators if it is large, an exponent if it is
/// tiny or huge.
pub fn real(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    if number == 0.0 {
        return "0".to_string();
    }
    // Rounding first determines the magnitude: 9999.6 is 10,000.
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    let magnitude = rounded.abs().log10().floor() as i32;
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return group(&format!("{number:.0}"));
    }
    match magnitude {
        -3..=2 => format!("{number:.*}", (3 - magnitude) as usize),
        3..=14 => group(&format!("{number:.0}")),
        _ => format!("{number:.3e}"),
    }
}

/// Formats a paired difference with its standard error, with a star if it is significant.
pub fn difference(of: &PairedDifference) -> String {
    let PairedDifference {
        mean,
        standard_error,
        ..
    } = of;
    let clear = if of.is_clear() { " *" } else { "" };
    if standard_error.is_finite() {
        format!("{mean:+.2} ± {standard_error:.2}{clear}")
    } else {
        format!("{mean:+.2}")
    }
}

/// Groups digits in threes, with the sign in front.
fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    let mut grouped = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats counts as a line of bars, one per bin; every non-empty bin is visible.
pub fn bars(counts: &[usize]) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    counts
        .iter()
        .map(|&c| {
            if c == 0 {
                ' '
            } else {
                LEVELS[(c * LEVELS.len()).div_ceil(most).max(1) - 1]
            }
        })
        .collect()
}

/// Describes in how many of the runs the inference rule's assumption about clean inputs failed its
/// test on the training data; `None` without such a test.
pub fn assumption_test(failed: Option<usize>, runs: usize) -> Option<String> {
    match failed? {
        0 => Some("its assumption about clean inputs held on the training data".into()),
        all if all == runs => Some(
            "its assumption about clean inputs failed on the training data: predictions are plain"
                .into(),
        ),
        some => Some(format!(
            "its assumption about clean inputs failed in {some} of {runs} runs: predictions there are plain"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_four_digits() {
        assert_eq!(
            [0, 999, 1000, 1234567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        let cases = [
            (0.0, "0"),
            (3.0, "3"),
            (-2485.0, "-2,485"),
            (0.8099658961727927, "0.8100"),
            (42.52511078286558, "42.53"),
            (999.96, "1,000"),
            (9999.6, "10,000"),
            (31880.91, "31,881"),
            (-0.001444, "-0.001444"),
            (0.0001444, "1.444e-4"),
            (-3e-17, "-3.000e-17"),
            (1e300, "1.000e300"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        for (number, expected) in cases {
            assert_eq!(real(number), expected, "{number:?}");
        }
    }

    #[test]
    fn bars_show_every_bin_that_is_not_empty() {
        assert_eq!(bars(&[8, 0, 1, 1000]), "▁ ▁█");
        assert_eq!(bars(&[4, 8]), "▄█");
        assert_eq!(bars(&[]), "");
        assert_eq!(bars(&[0]), " ");
    }
}
