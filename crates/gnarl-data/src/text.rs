//! Shared code of the text formats: whole files, numbered lines, and fields whose errors name file,
//! line and remedy.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use gnarl_graph::error::{Error, Result};

/// Largest text file read, 8 GiB: more than any dataset here, less than would exhaust a machine.
pub const MAX_TEXT_BYTES: u64 = 8 << 30;

/// Reads a whole UTF-8 text file of at most [`MAX_TEXT_BYTES`], without its byte-order mark. A file
/// that is not UTF-8 is an error naming the line.
pub fn read(path: &Path) -> Result<String> {
    let bytes = read_bytes(path, MAX_TEXT_BYTES)?;
    let mut text =
        String::from_utf8(bytes).map_err(|e| not_text(path, e.as_bytes(), e.utf8_error()))?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the bytes of a file as text; fails as [`read`] does.
pub fn utf8<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| not_text(path, bytes, e))
}

fn not_text(path: &Path, bytes: &[u8], error: std::str::Utf8Error) -> Error {
    let good = error.valid_up_to();
    let line = 1 + bytes[..good].iter().filter(|&&b| b == b'\n').count();
    at_line(
        path,
        line,
        format!(
            "byte 0x{:02x} is not UTF-8, a text file is expected",
            bytes[good]
        ),
    )
}

/// Reads a whole file, refusing one of more than `limit` bytes before reading it.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let too_large = |size| {
        Error::data(
            path,
            "whole file",
            format!("{size} bytes, at most {limit} are read"),
        )
    };
    if size > limit {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // A file may grow while it is read, and a pipe reports that it is empty.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io(path, e))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Returns the non-blank lines, each with its number in the file (from 1), without spaces or `'\r'`
/// at either end.
///
/// Tabs stay: they separate fields, which may be empty.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    text.split('\n')
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim_matches([' ', '\r'])))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Returns an error at a line of a file.
pub fn at_line(path: &Path, line: usize, what: impl Into<String>) -> Error {
    Error::data(path, format!("line {line}"), what)
}

/// Parses one field; `what` is its name with an article, e.g. `"a class"`.
pub fn parse<T: FromStr>(path: &Path, line: usize, field: &str, what: &str) -> Result<T> {
    field
        .trim()
        .parse()
        .map_err(|_| at_line(path, line, format!("{} is not {what}", quoted(field))))
}

/// Parses one finite number; NaN and infinities are errors.
pub fn parse_f32(path: &Path, line: usize, field: &str, what: &str) -> Result<f32> {
    match field.trim().parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(at_line(
            path,
            line,
            format!(
                "{} is not {what}, a finite number is expected",
                quoted(field)
            ),
        )),
    }
}

/// Parses a whole number within `range`; `what` is its name with an article, e.g. `"a node id"`.
pub fn parse_id(
    path: &Path,
    line: usize,
    field: &str,
    what: &str,
    range: Range<u64>,
) -> Result<u32> {
    let end = range.end.min(1 << 32);
    match field.trim().parse::<u64>() {
        Ok(id) if (range.start..end).contains(&id) => Ok(id as u32),
        _ if range.start >= end => Err(at_line(
            path,
            line,
            format!("{} where no id can stand", quoted(field)),
        )),
        _ => {
            let expected = format!(
                "a whole number from {} to {} is expected",
                range.start,
                end - 1
            );
            Err(at_line(
                path,
                line,
                format!("{} is not {what}, {expected}", quoted(field)),
            ))
        }
    }
}

/// Formats a field for a one-line message: quoted, control characters escaped, cut after 40
/// characters.
pub fn quoted(field: &str) -> String {
    let mut shown: String = field
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect();
    if field.chars().nth(40).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn lines_keep_their_numbers() {
        let got: Vec<_> = lines("a\tb\t\r\n\n  \r\n c \n\t\nd").collect();
        assert_eq!(got, [(1, "a\tb\t"), (4, "c"), (6, "d")]);
        assert_eq!(lines("").count(), 0);
    }

    #[test]
    fn fields_that_do_not_parse_say_what_is_expected() {
        let path = Path::new("f.txt");
        assert_eq!(parse::<u32>(path, 3, " 7", "a class").unwrap(), 7);
        assert_eq!(
            message(parse::<u32>(path, 3, "-7", "a class")),
            "f.txt: line 3: '-7' is not a class"
        );
        assert_eq!(parse_f32(path, 1, "1e-3", "a feature").unwrap(), 1e-3);
        for bad in ["NaN", "inf", "1e99", "", "1,0"] {
            assert_eq!(
                message(parse_f32(path, 1, bad, "a feature")),
                format!("f.txt: line 1: '{bad}' is not a feature, a finite number is expected")
            );
        }
    }

    #[test]
    fn ids_stay_within_their_range() {
        let path = Path::new("f.txt");
        assert_eq!(
            parse_id(path, 1, "4294967294", "a node id", 0..u64::from(u32::MAX)).unwrap(),
            u32::MAX - 1
        );
        for bad in ["x7", "-1", "4294967295", "99999999999999999999999", "1.5"] {
            assert_eq!(
                message(parse_id(path, 12, bad, "a node id", 0..u64::from(u32::MAX))),
                format!(
                    "f.txt: line 12: '{bad}' is not a node id, a whole number from 0 to 4294967294 is expected"
                )
            );
        }
        assert!(
            message(parse_id(path, 2, "0", "a graph id", 1..4))
                .ends_with("from 1 to 3 is expected")
        );
        assert_eq!(
            message(parse_id(path, 2, "0", "a node id", 0..0)),
            "f.txt: line 2: '0' where no id can stand"
        );
        assert!(
            parse_id(path, 2, "4294967296", "a node id", 0..u64::MAX).is_err(),
            "ids are 32 bits wide"
        );
    }

    #[test]
    fn long_or_odd_fields_stay_on_one_line() {
        assert_eq!(quoted("a\nb"), r"'a\nb'");
        assert_eq!(quoted(&"x".repeat(41)), format!("'{}…'", "x".repeat(40)));
    }

    #[test]
    fn files_are_checked_before_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.txt");
        std::fs::write(&path, b"ok\nb\xffd\n").unwrap();
        assert!(
            message(read(&path))
                .ends_with("f.txt: line 2: byte 0xff is not UTF-8, a text file is expected")
        );
        assert!(
            message(read_bytes(&path, 6))
                .ends_with("f.txt: whole file: 7 bytes, at most 6 are read")
        );
        assert_eq!(read_bytes(&path, 7).unwrap(), b"ok\nb\xffd\n");
        std::fs::write(&path, "\u{feff}1\n").unwrap();
        assert_eq!(read(&path).unwrap(), "1\n");
        assert!(message(read(&dir.path().join("absent"))).contains("absent: "));
    }
}
