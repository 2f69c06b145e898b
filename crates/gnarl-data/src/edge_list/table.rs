//! A delimited text file as rows, each with its line number. Quoted fields, CRLF, a byte-order mark
//! and comments are supported.

use std::path::{Path, PathBuf};

use crate::columnar;
use crate::text::{self, at_line};
use gnarl_graph::error::{Error, Result};

/// A text file of rows.
pub(super) struct Table {
    pub path: PathBuf,
    /// The rows alone, one a line, without comments and blank lines.
    rows: String,
    /// The line of each row in the file.
    lines: Vec<usize>,
    delimiter: u8,
}

impl Table {
    pub fn read(path: PathBuf) -> Result<Self> {
        let text = columnar::read_text(&path)?;
        Self::parse(path, &text)
    }

    /// Parses the rows. Fails if the text has bytes of no text file: bytes of an image, an archive
    /// or a spreadsheet.
    pub fn parse(path: PathBuf, text: &str) -> Result<Self> {
        refuse_binary(&path, text)?;
        let mut rows = String::with_capacity(text.len() + 1);
        let mut lines = Vec::new();
        for (line, row) in
            text::lines(without_mark(text)).filter(|(_, row)| is_data(row.as_bytes()))
        {
            rows.push_str(row);
            rows.push('\n');
            lines.push(line);
        }
        let delimiter = delimiter(rows.split('\n').next().unwrap_or_default());
        Ok(Self {
            path,
            rows,
            lines,
            delimiter,
        })
    }

    pub fn num_rows(&self) -> usize {
        self.lines.len()
    }

    /// Returns the fields of the first row; none if there is no row.
    pub fn first(&self) -> Result<Vec<String>> {
        let mut first = Vec::new();
        self.each_row_of(
            self.rows.split_inclusive('\n').next().unwrap_or_default(),
            |_, fields| {
                first.extend(fields.iter().map(|field| field.to_string()));
                Ok(())
            },
        )?;
        Ok(first)
    }

    /// Calls `visit` with the line and the fields of every row.
    pub fn each_row(&self, visit: impl FnMut(usize, &[&str]) -> Result<()>) -> Result<()> {
        self.each_row_of(&self.rows, visit)
    }

    fn each_row_of(
        &self,
        rows: &str,
        mut visit: impl FnMut(usize, &[&str]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = reader(rows, self.delimiter);
        let mut record = csv::StringRecord::new();
        while reader
            .read_record(&mut record)
            .map_err(|e| self.fault(e.to_string()))?
        {
            let row = record.position().map_or(0, |at| at.line() as usize - 1);
            let line = self.lines.get(row).copied().unwrap_or(row + 1);
            // Spaces come in runs; between commas or tabs an empty field is one.
            let mut fields: Vec<&str> = record
                .iter()
                .filter(|f| self.delimiter != b' ' || !f.is_empty())
                .collect();
            // A pair of quotation marks alone is a row as well: one empty field.
            if fields.is_empty() {
                fields.push("");
            }
            if fields.iter().any(|field| field.contains('\n')) {
                return Err(at_line(
                    &self.path,
                    line,
                    "a quotation mark is not closed on its line",
                ));
            }
            visit(line, &fields)?;
        }
        Ok(())
    }

    /// Returns these columns of the rows below the first, if they are wanted, under a header that
    /// starts with `node`. The rows keep their line numbers.
    pub fn columns(
        &self,
        columns: &[usize],
        title: &str,
        wanted: impl Fn(&[&str]) -> bool,
    ) -> Result<Self> {
        let mut rows = csv::WriterBuilder::new().from_writer(Vec::new());
        let mut lines = Vec::new();
        self.each_row(|line, fields| {
            let titles = std::iter::once("node").chain(columns.iter().skip(1).map(|_| title));
            let written = match lines.is_empty() {
                true => rows.write_record(titles),
                false if !wanted(fields) => return Ok(()),
                false => rows.write_record(columns.iter().map(|&at| fields[at])),
            };
            lines.push(line);
            written.map_err(|e| self.fault(e.to_string()))
        })?;
        let rows = rows.into_inner().map_err(|e| self.fault(e.to_string()))?;
        let rows = String::from_utf8(rows).map_err(|e| self.fault(e.to_string()))?;
        Ok(Self {
            path: self.path.clone(),
            rows,
            lines,
            delimiter: b',',
        })
    }

    /// Returns true if fields are separated by spaces, which names may contain as well.
    pub fn is_spaced(&self) -> bool {
        self.delimiter == b' '
    }

    pub fn fault(&self, what: impl Into<String>) -> Error {
        Error::data(&self.path, "whole file", what)
    }
}

fn reader(rows: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .trim(csv::Trim::All)
        .from_reader(rows.as_bytes())
}

/// Returns the delimiter of a row: commas, else tabs, else spaces.
fn delimiter(row: &str) -> u8 {
    match row {
        _ if row.contains(',') => b',',
        _ if row.contains('\t') => b'\t',
        _ => b' ',
    }
}

/// Returns a text without the byte-order mark that some programs write.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns a field without the quotation marks around it.
pub(super) fn unquoted(field: &str) -> String {
    if !field.starts_with('"') {
        return field.to_string();
    }
    // A tab is in no line of one column, so the whole line is one field.
    let mut record = csv::StringRecord::new();
    match reader(field, b'\t').read_record(&mut record) {
        Ok(true) => record.get(0).unwrap_or_default().to_string(),
        _ => field.to_string(),
    }
}

/// Returns true if a line is neither blank nor a comment.
pub(super) fn is_data(line: &[u8]) -> bool {
    let first = line.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    !matches!(first, None | Some(b'#' | b'%'))
}

/// Returns true if the fields of a first line contain no number.
pub(super) fn is_header<T: AsRef<str>>(fields: &[T]) -> bool {
    fields
        .iter()
        .all(|field| field.as_ref().parse::<f64>().is_err())
}

pub(super) fn refuse_binary(path: &Path, text: &str) -> Result<()> {
    let odd = |b: u8| (b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r')) || b == 0x7f;
    match text.bytes().position(odd) {
        None => Ok(()),
        Some(at) => {
            let line = 1 + text.as_bytes()[..at]
                .iter()
                .filter(|&&b| b == b'\n')
                .count();
            let what = format!(
                "byte 0x{:02x} is in no text, a text file is expected",
                text.as_bytes()[at]
            );
            Err(at_line(path, line, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<(usize, Vec<String>)>> {
        let table = Table::parse("t.csv".into(), text)?;
        let mut all = Vec::new();
        table.each_row(|line, fields| {
            all.push((line, fields.iter().map(|f| f.to_string()).collect()));
            Ok(())
        })?;
        assert_eq!(
            all.first()
                .map_or(vec![], |(_, first): &(usize, Vec<String>)| first.clone()),
            table.first()?
        );
        Ok(all)
    }

    #[test]
    fn rows_keep_their_lines_and_quoted_fields_their_commas() {
        let got = rows("\u{feff}# who\r\n\r\n\"Doe, Jo\",2\r\n  % c\r\n\"say \"\"hi\"\"\", 3 \r\n")
            .unwrap();
        assert_eq!(
            got,
            [
                (3, vec!["Doe, Jo".into(), "2".into()]),
                (5, vec!["say \"hi\"".into(), "3".into()])
            ]
        );
        assert_eq!(
            rows("a   \"b c\"\n\td e").unwrap(),
            [
                (1, vec!["a".to_string(), "b c".into()]),
                (2, vec!["d".to_string(), "e".into()])
            ]
        );
        assert_eq!(rows("a\t\tb").unwrap()[0].1, ["a", "", "b"]);
        assert!(rows("").unwrap().is_empty());
        assert_eq!(rows("a b\n\"\"\n").unwrap()[1], (2, vec![String::new()]));
    }

    #[test]
    fn invalid_tables_are_refused() {
        let e = rows("a,\"b\nc,d\n").unwrap_err().to_string();
        assert_eq!(
            e,
            "t.csv: line 1: a quotation mark is not closed on its line"
        );
        let e = rows("a,b\nPK\u{3}\u{4}").unwrap_err().to_string();
        assert_eq!(
            e,
            "t.csv: line 2: byte 0x03 is in no text, a text file is expected"
        );
    }
}
