//! Writes small NumPy zip archives, valid and invalid, byte by byte.
#![allow(dead_code)] // Each test file uses some of it.

use std::io::Write;
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Returns an array as stored in an archive, header and bytes.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Returns a one-dimensional array of little-endian `i4`.
pub fn i4s(values: &[i32]) -> Vec<u8> {
    npy(
        "<i4",
        false,
        &format!("({},)", values.len()),
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Returns a one-dimensional array of little-endian `i8`.
pub fn i8s(values: &[i64]) -> Vec<u8> {
    npy(
        "<i8",
        false,
        &format!("({},)", values.len()),
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Returns a matrix of little-endian `i8`.
pub fn i8_matrix(cols: usize, values: &[i64]) -> Vec<u8> {
    let shape = format!("({}, {cols})", values.len() / cols);
    npy(
        "<i8",
        false,
        &shape,
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Returns a one-dimensional array of little-endian `f4`.
pub fn f4s(values: &[f32]) -> Vec<u8> {
    npy(
        "<f4",
        false,
        &format!("({},)", values.len()),
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Returns a matrix of little-endian `f4`.
pub fn f4_matrix(cols: usize, values: &[f32]) -> Vec<u8> {
    let shape = format!("({}, {cols})", values.len() / cols);
    npy(
        "<f4",
        false,
        &shape,
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Returns the bytes of an archive of these members (`.npy` is added to their names).
pub fn npz_bytes(members: &[(&str, Vec<u8>)], compressed: bool) -> Vec<u8> {
    let method = if compressed {
        CompressionMethod::Deflated
    } else {
        CompressionMethod::Stored
    };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Writes an archive.
pub fn write_npz(path: &Path, members: &[(&str, Vec<u8>)]) {
    std::fs::write(path, npz_bytes(members, true)).unwrap();
}
