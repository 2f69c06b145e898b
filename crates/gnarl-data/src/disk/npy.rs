//! A single array in NumPy's `.npy` format, version 1, with a header of fixed length, so that the
//! header can be written last.

use std::io::Read;
use std::path::Path;

use gnarl_graph::error::{Error, Result};

/// Length of the header: more than any shape needs, and a multiple of 64, as NumPy aligns.
pub(super) const HEADER_BYTES: usize = 128;

/// Returns the header of an array. `descr` is NumPy's name of the type, such as `<f4`.
pub(super) fn header(descr: &str, shape: &[usize]) -> [u8; HEADER_BYTES] {
    let shape = match shape {
        [length] => format!("({length},)"),
        many => format!(
            "({})",
            many.iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = [b' '; HEADER_BYTES];
    bytes[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
    bytes[8..10].copy_from_slice(&((HEADER_BYTES - 10) as u16).to_le_bytes());
    bytes[10..10 + text.len()].copy_from_slice(text.as_bytes());
    bytes[HEADER_BYTES - 1] = b'\n';
    bytes
}

/// Refuses a file that does not start with this header.
pub(super) fn check_header(
    path: &Path,
    file: &mut impl Read,
    descr: &str,
    shape: &[usize],
) -> Result<()> {
    let mut found = [0; HEADER_BYTES];
    file.read_exact(&mut found).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            Error::data(path, "header", "the file ends within it, import it again")
        }
        _ => Error::io(path, e),
    })?;
    if found == header(descr, shape) {
        Ok(())
    } else {
        let what =
            format!("an array of {descr} and shape {shape:?} is expected; import the folder again");
        Err(Error::data(path, "header", what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_numpy() {
        for (shape, text) in [(&[3][..], "(3,)"), (&[4, 2], "(4, 2)"), (&[0, 7], "(0, 7)")] {
            let header = header("<f4", shape);
            let expected = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}");
            assert!(String::from_utf8_lossy(&header[10..]).starts_with(&expected));
            assert_eq!((header[8], header[9], header[127]), (118, 0, b'\n'));
            check_header(Path::new("a"), &mut &header[..], "<f4", shape).unwrap();
            assert!(check_header(Path::new("a"), &mut &header[..], "<f2", shape).is_err());
            assert!(check_header(Path::new("a"), &mut &header[..50], "<f4", shape).is_err());
        }
    }
}
