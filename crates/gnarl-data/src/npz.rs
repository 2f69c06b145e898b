//! NumPy zip archives: a reader for untrusted input, and the CSR layout of Amazon, Coauthor, CoraML
//! and PolBlogs.
//!
//! A graph file holds `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` and `labels`. If it has
//! features, it also holds these four members with `attr_` (or one dense `attr_matrix`). Older
//! files spell `adj_matrix_…` or `adj_matrix.…`. Adjacencies may be directed: they are symmetrised,
//! and self-loops and duplicates dropped. `adj_data` is not read, and every stored entry is an edge
//! of weight one: the public files hold nothing but ones.
//!
//! Archives are untrusted input. Sizes in a header allocate nothing: the shape must account for the
//! member's bytes exactly, arrays grow as bytes arrive, and members with an excessive compression
//! ratio are refused. Object arrays are Python pickles, which can run code, and are never read.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};

/// Largest member that is decompressed, in bytes.
const MAX_MEMBER_BYTES: u64 = 16 << 30;
/// Largest member that is read at any compression ratio, in bytes.
const SMALL_MEMBER_BYTES: u64 = 64 << 20;
/// Largest compression ratio of larger members.
const MAX_RATIO: u64 = 1000;
/// Largest header, in bytes; NumPy itself refuses headers beyond 10,000 characters.
const MAX_HEADER_BYTES: u64 = 10_000;

/// Loads a graph; `binarise` sets every non-zero feature to one and drops stored zeros, as the
/// Amazon and Coauthor graphs need. Features stay sparse; a file without attributes gives a graph
/// without features.
///
/// Labels that are not already `0..C` are renumbered in ascending order. O(entries).
pub fn load(path: &Path, binarise: bool) -> Result<(Graph, BuildReport)> {
    load_from(&mut NpzArchive::open(path)?, binarise)
}

pub(super) fn load_from(archive: &mut NpzArchive, binarise: bool) -> Result<(Graph, BuildReport)> {
    let Some(adjacency) = Pattern::read(archive, "adj")? else {
        return Err(archive.fault(
            "adj_indptr",
            "missing, a graph needs adj_indices, adj_indptr and adj_shape",
        ));
    };
    let (graph, report) = adjacency.into_graph(archive)?;
    let graph = match read_attributes(archive, binarise)? {
        Some(features) => graph
            .with_features(features)
            .map_err(|e| archive.fault("attr_shape", e.to_string()))?,
        None => graph,
    };
    let graph = if archive.has("labels") {
        let labels = archive.i64s("labels")?.data;
        let labels = integer_labels(labels.into_iter().map(Some).collect());
        graph
            .with_labels(labels)
            .map_err(|e| archive.fault("labels", e.to_string()))?
    } else {
        graph
    };
    Ok((graph, report))
}

/// Returns true if an archive has an adjacency in this layout.
pub(super) fn is_graph(archive: &NpzArchive) -> bool {
    SPELLINGS
        .iter()
        .any(|middle| archive.has(&format!("adj{middle}indptr")))
}

/// Separators between `adj` or `attr` and the part's name.
const SPELLINGS: [&str; 3] = ["_", "_matrix_", "_matrix."];

/// Reads `attr_*`, sparse or dense, if present.
pub(super) fn read_attributes(
    archive: &mut NpzArchive,
    binarise: bool,
) -> Result<Option<Features>> {
    if let Some(pattern) = Pattern::read(archive, "attr")? {
        let member = format!("{}data", pattern.prefix);
        let values = archive.f32s(&member)?.data;
        return Ok(Some(Features::Sparse(
            pattern.into_matrix(archive, values, binarise)?,
        )));
    }
    if !archive.has("attr_matrix") {
        return Ok(None);
    }
    let mut dense = archive.dense_f32s("attr_matrix")?;
    if binarise {
        let ones = dense
            .data()
            .iter()
            .map(|&v| f32::from(u8::from(v != 0.0)))
            .collect();
        dense = DenseMatrix::new(dense.num_rows(), dense.num_cols(), ones)?;
    }
    Ok(Some(Features::Dense(dense)))
}

/// Makes classes from integers: kept if they are already `0..C`, else renumbered in ascending
/// order.
pub(super) fn integer_labels(values: Vec<Option<i64>>) -> Labels {
    let labels = Labels::from_values(values.iter().copied());
    let unchanged = labels
        .classes()
        .iter()
        .zip(&values)
        .all(|(class, value)| class.map(i64::from) == *value);
    if !unchanged {
        return labels;
    }
    Labels::new(labels.classes().to_vec(), labels.num_classes())
        .expect("classes were in range with names")
}

/// The pattern of a CSR matrix, checked: `offsets` rise from 0 to the number of `indices`, which
/// are below `num_cols`.
pub(super) struct Pattern {
    prefix: String,
    num_cols: usize,
    offsets: Vec<u64>,
    indices: Vec<u32>,
}

impl Pattern {
    /// Reads `NAME_indices`, `NAME_indptr` and `NAME_shape`; `None` if there is no `indptr` under
    /// any spelling.
    pub(super) fn read(archive: &mut NpzArchive, name: &str) -> Result<Option<Self>> {
        let spellings = SPELLINGS.map(|middle| format!("{name}{middle}"));
        let Some(prefix) = spellings
            .into_iter()
            .find(|p| archive.has(&format!("{p}indptr")))
        else {
            return Ok(None);
        };
        let member = |part: &str| format!("{prefix}{part}");
        let shape = archive.u64s(&member("shape"))?.data;
        let &[num_rows, num_cols] = &shape[..] else {
            return Err(archive.fault(
                &member("shape"),
                format!("{} numbers, rows and columns are expected", shape.len()),
            ));
        };
        let offsets = archive.u64s(&member("indptr"))?.data;
        if num_rows.checked_add(1) != Some(offsets.len() as u64) {
            let what = format!(
                "{} row boundaries, but {num_rows} rows need one more than that",
                offsets.len()
            );
            return Err(archive.fault(&member("indptr"), what));
        }
        if let Some(i) = offsets.windows(2).position(|w| w[0] > w[1]) {
            let what = format!("falls from {} to {} at row {i}", offsets[i], offsets[i + 1]);
            return Err(archive.fault(&member("indptr"), what));
        }
        let indices = archive.ids(&member("indices"), num_cols)?.data;
        if offsets[0] != 0 || offsets[num_rows as usize] != indices.len() as u64 {
            let (first, last) = (offsets[0], offsets[num_rows as usize]);
            let what = format!(
                "runs from {first} to {last}, but there are {} indices",
                indices.len()
            );
            return Err(archive.fault(&member("indptr"), what));
        }
        let Ok(num_cols) = u32::try_from(num_cols) else {
            return Err(archive.fault(
                &member("shape"),
                format!("{num_cols} columns, at most {} fit", u32::MAX),
            ));
        };
        Ok(Some(Self {
            prefix,
            num_cols: num_cols as usize,
            offsets,
            indices,
        }))
    }

    fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Builds a graph in which every stored entry is an edge of weight one.
    pub(super) fn into_graph(self, archive: &NpzArchive) -> Result<(Graph, BuildReport)> {
        let n = self.num_rows();
        let place = format!("{}shape", self.prefix);
        if self.num_cols != n {
            let what = format!(
                "{n} rows and {} columns, an adjacency must be square",
                self.num_cols
            );
            return Err(archive.fault(&place, what));
        }
        let rows = (0..n).flat_map(|u| {
            let row = self.offsets[u] as usize..self.offsets[u + 1] as usize;
            self.indices[row].iter().map(move |&v| (u as u32, v))
        });
        Graph::from_edges(n, rows).map_err(|e| archive.fault(&place, e.to_string()))
    }

    /// Returns the matrix with these values, one per index.
    fn into_matrix(
        self,
        archive: &NpzArchive,
        mut values: Vec<f32>,
        binarise: bool,
    ) -> Result<CsrMatrix<f32>> {
        let (mut offsets, mut indices) = (self.offsets, self.indices);
        if values.len() != indices.len() {
            let what = format!("{} values for {} indices", values.len(), indices.len());
            return Err(archive.fault(&format!("{}data", self.prefix), what));
        }
        if binarise {
            let mut kept = 0;
            let mut start = 0;
            for row in 1..offsets.len() {
                let end = offsets[row] as usize;
                for k in start..end {
                    if values[k] != 0.0 {
                        indices[kept] = indices[k];
                        kept += 1;
                    }
                }
                start = end;
                offsets[row] = kept as u64;
            }
            indices.truncate(kept);
            values = vec![1.0; kept];
        }
        CsrMatrix::new(self.num_cols, offsets, indices, values)
            .map_err(|e| archive.fault(&format!("{}indices", self.prefix), e.to_string()))
    }
}

/// An array of any number of dimensions, in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array<T> {
    /// Length of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// Values, last dimension fastest.
    pub data: Vec<T>,
}

/// An open NumPy zip archive (`.npz`).
///
/// Members are named without their `.npy`. Each read converts from any numeric type in the file,
/// and refuses values that the requested type cannot hold.
pub struct NpzArchive {
    path: PathBuf,
    num_bytes: u64,
    zip: ZipArchive<Box<dyn Source>>,
    /// Names of the members that have been read.
    read: HashSet<String>,
}

/// Source of an archive's bytes: a file, or memory.
trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

impl NpzArchive {
    /// Opens an archive and checks its list of members: no duplicate names, no path that leaves the
    /// archive.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let num_bytes = file.metadata().map_err(|e| Error::io(path, e))?.len();
        Self::from_source(path, num_bytes, Box::new(BufReader::new(file)))
    }

    /// Opens the archive in `bytes`; errors name `path`.
    pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::from_source(
            path,
            bytes.len() as u64,
            Box::new(Cursor::new(bytes.to_vec())),
        )
    }

    fn from_source(path: &Path, num_bytes: u64, source: Box<dyn Source>) -> Result<Self> {
        let zip = ZipArchive::new(source).map_err(|e| match e {
            ZipError::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => Error::io(path, e),
            e => Error::data(
                path,
                "zip directory",
                format!("not a NumPy zip archive, or a damaged one ({e})"),
            ),
        })?;
        if zip.has_duplicate_names() {
            return Err(Error::data(
                path,
                "zip directory",
                "two members have the same name",
            ));
        }
        for raw in zip.file_names_raw() {
            let name = String::from_utf8_lossy(raw);
            if leaves_the_archive(&name) {
                let name = super::text::quoted(&name);
                return Err(Error::data(
                    path,
                    format!("member {name}"),
                    "a name outside the archive is refused",
                ));
            }
        }
        Ok(Self {
            path: path.to_path_buf(),
            num_bytes,
            zip,
            read: HashSet::new(),
        })
    }

    /// Returns true if there is a member of that name.
    pub fn has(&self, member: &str) -> bool {
        self.zip.index_for_name(&format!("{member}.npy")).is_some()
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all members, sorted.
    pub fn members(&self) -> Vec<String> {
        let plain = |raw: &[u8]| {
            let name = String::from_utf8_lossy(raw);
            name.strip_suffix(".npy").unwrap_or(&name).to_string()
        };
        let mut names: Vec<String> = self.zip.file_names_raw().map(plain).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of the members that have not been read.
    pub(super) fn members_not_read(&self) -> Vec<String> {
        self.members()
            .into_iter()
            .filter(|member| !self.read.contains(member))
            .collect()
    }

    /// Reads a member that is one word, such as the `format` of a SciPy matrix.
    pub fn text(&mut self, member: &str) -> Result<String> {
        let fault = |what: String| Error::data(&self.path, format!("member {member}"), what);
        self.read.insert(member.to_string());
        let index = self
            .zip
            .index_for_name(&format!("{member}.npy"))
            .ok_or_else(|| fault("missing".into()))?;
        let entry = self
            .zip
            .by_index(index)
            .map_err(|e| fault(format!("cannot be opened ({e})")))?;
        let size = entry.size().min(2 * MAX_HEADER_BYTES);
        let mut reader = entry.take(size);
        let (header, header_bytes) = Header::read(&mut reader, size).map_err(fault)?;
        let count = header.num_items(size - header_bytes).map_err(fault)?;
        if count != 1 || !matches!(header.kind, Kind::Bytes | Kind::Unicode) {
            return Err(fault("not one word".into()));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|e| {
            fault(format!(
                "cannot be decompressed ({e}), fetch the file again"
            ))
        })?;
        let step = if header.kind == Kind::Unicode { 4 } else { 1 };
        // A word of ASCII has one non-zero byte per character, in any byte order.
        let letters = bytes
            .chunks(step)
            .map(|c| c.iter().copied().find(|&b| b != 0))
            .take_while(Option::is_some);
        Ok(letters.flatten().map(char::from).collect())
    }

    /// Reads a member as `f64`s that an `f32` could hold: finite, and not too large.
    pub(super) fn f32_sized(&mut self, member: &str) -> Result<Array<f64>> {
        self.read(member, |value| value.to_f32().map(|_| value.to_f64()))
    }

    /// Reads a member as finite `f32`s.
    pub fn f32s(&mut self, member: &str) -> Result<Array<f32>> {
        self.read(member, |value| value.to_f32())
    }

    /// Reads a member as `i64`s; floats must be whole.
    pub fn i64s(&mut self, member: &str) -> Result<Array<i64>> {
        self.read(member, |value| {
            value.to_i128().and_then(|v| i64::try_from(v).ok())
        })
    }

    /// Reads a member as `u64`s; floats must be whole, nothing negative.
    pub fn u64s(&mut self, member: &str) -> Result<Array<u64>> {
        self.read(member, |value| {
            value.to_i128().and_then(|v| u64::try_from(v).ok())
        })
    }

    /// Reads a member as `bool`s; numbers must be 0 or 1.
    pub fn bools(&mut self, member: &str) -> Result<Array<bool>> {
        self.read(member, |value| match value.to_i128() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        })
    }

    /// Reads a member as ids below `end`.
    pub(super) fn ids(&mut self, member: &str, end: u64) -> Result<Array<u32>> {
        let end = i128::from(end.min(1 << 32));
        self.read(member, move |value| {
            value
                .to_i128()
                .filter(|v| (0..end).contains(v))
                .map(|v| v as u32)
        })
    }

    /// Reads a two-dimensional member as finite `f32`s.
    pub(super) fn dense_f32s(&mut self, member: &str) -> Result<DenseMatrix<f32>> {
        let array = self.f32s(member)?;
        let &[rows, cols] = &array.shape[..] else {
            return Err(self.fault(
                member,
                format!(
                    "{} dimensions, rows and columns are expected",
                    array.shape.len()
                ),
            ));
        };
        DenseMatrix::new(rows, cols, array.data).map_err(|e| self.fault(member, e.to_string()))
    }

    /// Returns an error at a member of this archive.
    pub(super) fn fault(&self, member: &str, what: impl Into<String>) -> Error {
        Error::data(&self.path, format!("member {member}"), what)
    }

    /// Reads a member through `convert`, which returns `None` for a value that does not fit.
    fn read<T: Copy>(
        &mut self,
        member: &str,
        convert: impl Fn(Value) -> Option<T>,
    ) -> Result<Array<T>> {
        self.read.insert(member.to_string());
        let fault = |what: String| Error::data(&self.path, format!("member {member}"), what);
        let damaged = |e: std::io::Error| {
            fault(format!(
                "cannot be decompressed ({e}), fetch the file again"
            ))
        };
        let index = self
            .zip
            .index_for_name(&format!("{member}.npy"))
            .ok_or_else(|| fault("missing".into()))?;
        let entry = self
            .zip
            .by_index(index)
            .map_err(|e| fault(format!("cannot be opened ({e})")))?;
        let size = entry.size();
        check_size(size, entry.compressed_size(), self.num_bytes).map_err(fault)?;

        // One extra byte detects a member longer than declared; reading to the end verifies the
        // checksum.
        let mut reader = BufReader::with_capacity(1 << 16, entry.take(size + 1));
        let (header, header_bytes) = Header::read(&mut reader, size).map_err(fault)?;
        let count = header.num_items(size - header_bytes).map_err(fault)?;
        if matches!(header.kind, Kind::Bytes | Kind::Unicode) {
            return Err(fault("an array of text, numbers are expected".into()));
        }
        let data = read_items(&mut reader, &header, count, convert).map_err(|e| match e {
            ItemFault::Io(e) => damaged(e),
            ItemFault::Value(at, value) => {
                fault(format!("value {at} is {value}, which does not fit here"))
            }
        })?;
        if reader.read(&mut [0]).map_err(damaged)? != 0 {
            return Err(fault(format!("longer than the {size} bytes it claims")));
        }
        let data = if header.fortran {
            from_columns(&data, &header.shape).map_err(fault)?
        } else {
            data
        };
        Ok(Array {
            shape: header.shape,
            data,
        })
    }
}

fn leaves_the_archive(name: &str) -> bool {
    name.starts_with(['/', '\\'])
        || name.contains(':')
        || name.split(['/', '\\']).any(|part| part == "..")
}

fn check_size(size: u64, compressed: u64, archive: u64) -> std::result::Result<(), String> {
    if compressed > archive {
        return Err(format!(
            "claims {compressed} compressed bytes in a file of {archive}, fetch the file again"
        ));
    }
    if size > MAX_MEMBER_BYTES {
        return Err(format!(
            "claims {size} bytes, at most {MAX_MEMBER_BYTES} are read"
        ));
    }
    if size > SMALL_MEMBER_BYTES && size / MAX_RATIO > compressed {
        let what =
            format!("{compressed} bytes claim to hold {size}, more than {MAX_RATIO} times as many");
        return Err(format!(
            "{what}; if you trust the file, save it uncompressed with numpy.savez"
        ));
    }
    Ok(())
}

/// One number as stored, before conversion.
#[derive(Clone, Copy)]
enum Value {
    Whole(i128),
    Real(f64),
}

impl Value {
    fn to_f32(self) -> Option<f32> {
        let v = match self {
            Value::Whole(v) => v as f32,
            Value::Real(v) => v as f32,
        };
        v.is_finite().then_some(v)
    }

    fn to_f64(self) -> f64 {
        match self {
            Value::Whole(v) => v as f64,
            Value::Real(v) => v,
        }
    }

    fn to_i128(self) -> Option<i128> {
        match self {
            Value::Whole(v) => Some(v),
            // Floats beyond 2^63 represent no exact integer.
            Value::Real(v) => (v.fract() == 0.0 && v.abs() < 2f64.powi(63)).then_some(v as i128),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Value::Whole(v) => v.fmt(f),
            Value::Real(v) => v.fmt(f),
        }
    }
}

/// Number type of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// One-byte characters.
    Bytes,
    /// Four-byte characters.
    Unicode,
}

/// The header in front of an array's bytes.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    item_bytes: usize,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads magic, version and header, and returns their length within the member's `size` bytes.
    fn read(reader: &mut impl Read, size: u64) -> std::result::Result<(Self, u64), String> {
        let short = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                "ends within its header, fetch the file again".to_string()
            }
            _ => format!("cannot be decompressed ({e}), fetch the file again"),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(short)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err("not a NumPy array".into());
        }
        let length_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => {
                return Err(format!(
                    "NumPy format version {version}, only 1 to 3 are known"
                ));
            }
        };
        let mut length = [0; 4];
        reader
            .read_exact(&mut length[..length_bytes])
            .map_err(short)?;
        let length = u64::from(u32::from_le_bytes(length));
        let total = 8 + length_bytes as u64 + length;
        if length > MAX_HEADER_BYTES || total > size {
            return Err(format!(
                "a header of {length} bytes in a member of {size}, fetch the file again"
            ));
        }
        let mut text = vec![0; length as usize];
        reader.read_exact(&mut text).map_err(short)?;
        let text = String::from_utf8(text).map_err(|_| "a header that is not text".to_string())?;
        Ok((Self::parse(&text)?, total))
    }

    /// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`, the keys in any order.
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let unreadable = || format!("unreadable header {}", super::text::quoted(text.trim()));
        let body = text
            .trim()
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .ok_or_else(unreadable)?;
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut rest = body.trim();
        while !rest.is_empty() {
            let (key, after) = python_string(rest).ok_or_else(unreadable)?;
            rest = after
                .trim_start()
                .strip_prefix(':')
                .ok_or_else(unreadable)?
                .trim_start();
            rest = match key {
                "descr" if rest.starts_with('[') => {
                    return Err("a structured array, plain numbers are expected".into());
                }
                "descr" => {
                    let (value, after) = python_string(rest).ok_or_else(unreadable)?;
                    descr = Some(value);
                    after
                }
                "fortran_order" => {
                    let (value, after) = if let Some(after) = rest.strip_prefix("False") {
                        (false, after)
                    } else {
                        (true, rest.strip_prefix("True").ok_or_else(unreadable)?)
                    };
                    fortran = Some(value);
                    after
                }
                "shape" => {
                    let (inside, after) = rest
                        .strip_prefix('(')
                        .and_then(|r| r.split_once(')'))
                        .ok_or_else(unreadable)?;
                    shape = Some(python_shape(inside)?);
                    after
                }
                _ => return Err(unreadable()),
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err(unreadable());
        };
        let (kind, item_bytes, big_endian) = item_type(descr)?;
        Ok(Self {
            kind,
            item_bytes,
            big_endian,
            fortran,
            shape,
        })
    }

    /// Returns the number of items, which must account for exactly the `bytes` that follow the
    /// header.
    fn num_items(&self, bytes: u64) -> std::result::Result<usize, String> {
        let items = self
            .shape
            .iter()
            .try_fold(1usize, |product, &d| product.checked_mul(d));
        match items.and_then(|items| {
            items
                .checked_mul(self.item_bytes)
                .map(|needed| (items, needed as u64))
        }) {
            Some((items, needed)) if needed == bytes => Ok(items),
            _ => {
                let what = format!("shape {:?} of {}-byte numbers", self.shape, self.item_bytes);
                Err(format!(
                    "{what} does not account for the {bytes} bytes that follow"
                ))
            }
        }
    }
}

/// A single array in its own file (`.npy`), read sequentially.
pub(super) struct NpyFile {
    path: PathBuf,
    file: BufReader<File>,
    header: Header,
}

impl NpyFile {
    /// Reads the header. Fails if the shape does not account for the file's bytes, and for arrays
    /// that are not in C order.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let fault = |what: String| Error::data(path, "header", what);
        let (header, taken) = Header::read(&mut file, size).map_err(fault)?;
        header.num_items(size - taken).map_err(fault)?;
        if header.fortran && header.shape.len() > 1 {
            return Err(fault(
                "columns come first; save it with numpy.ascontiguousarray".into(),
            ));
        }
        if matches!(header.kind, Kind::Bytes | Kind::Unicode) {
            return Err(fault("an array of texts, numbers are expected".into()));
        }
        Ok(Self {
            path: path.to_path_buf(),
            file,
            header,
        })
    }

    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Reads the next numbers, which must be finite.
    pub fn read_f32s(&mut self, count: usize) -> Result<Vec<f32>> {
        read_items(&mut self.file, &self.header, count, Value::to_f32).map_err(
            |fault| match fault {
                ItemFault::Io(e) => Error::io(&self.path, e),
                ItemFault::Value(_, value) => Error::data(
                    &self.path,
                    "numbers",
                    format!("{value} is not a finite number that fits 32 bits"),
                ),
            },
        )
    }
}

/// Splits a quoted string without escapes off the front.
fn python_string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Parses `3, 2`, `3,` or nothing.
fn python_shape(inside: &str) -> std::result::Result<Vec<usize>, String> {
    let inside = inside.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Ok(Vec::new());
    }
    let length = |field: &str| {
        let field = field.trim();
        // Files written by Python 2 end long integers with L.
        field
            .strip_suffix('L')
            .unwrap_or(field)
            .parse()
            .map_err(|_| format!("shape ({inside}) is not one"))
    };
    inside.split(',').map(length).collect()
}

/// Returns kind, size and byte order of a type such as `<f4`.
fn item_type(descr: &str) -> std::result::Result<(Kind, usize, bool), String> {
    let unknown = || {
        format!(
            "type {} is not read, only booleans, integers, f2, f4 and f8",
            super::text::quoted(descr)
        )
    };
    let (order, name) = match descr.chars().next() {
        Some(c @ ('<' | '>' | '|' | '=')) => (c, &descr[1..]),
        _ => ('=', descr),
    };
    if name.starts_with('O') {
        return Err(
            "an array of Python objects, which are pickles and can run code: refused; \
                    save it as an array of numbers"
                .into(),
        );
    }
    let (kind, item_bytes) = match name {
        "b1" | "?" => (Kind::Bool, 1),
        "i1" => (Kind::Signed, 1),
        "i2" => (Kind::Signed, 2),
        "i4" => (Kind::Signed, 4),
        "i8" => (Kind::Signed, 8),
        "u1" => (Kind::Unsigned, 1),
        "u2" => (Kind::Unsigned, 2),
        "u4" => (Kind::Unsigned, 4),
        "u8" => (Kind::Unsigned, 8),
        "f2" => (Kind::Float, 2),
        "f4" => (Kind::Float, 4),
        "f8" => (Kind::Float, 8),
        _ if name.starts_with('S') => (Kind::Bytes, text_length(name).ok_or_else(unknown)?),
        _ if name.starts_with('U') => (Kind::Unicode, 4 * text_length(name).ok_or_else(unknown)?),
        _ => return Err(unknown()),
    };
    Ok((kind, item_bytes, order == '>'))
}

/// Returns the characters of a type such as `S3`.
fn text_length(name: &str) -> Option<usize> {
    name[1..]
        .parse()
        .ok()
        .filter(|length| (1..=1 << 20).contains(length))
}

enum ItemFault {
    Io(std::io::Error),
    Value(usize, Value),
}

/// Reads `count` items, growing the array as their bytes arrive.
fn read_items<T: Copy>(
    reader: &mut impl Read,
    header: &Header,
    count: usize,
    convert: impl Fn(Value) -> Option<T>,
) -> std::result::Result<Vec<T>, ItemFault> {
    const ITEMS_AT_ONCE: usize = 1 << 13;
    let size = header.item_bytes;
    let mut data = Vec::with_capacity(count.min(1 << 20));
    let mut buffer = vec![0u8; count.min(ITEMS_AT_ONCE) * size];
    while data.len() < count {
        let bytes = &mut buffer[..(count - data.len()).min(ITEMS_AT_ONCE) * size];
        reader.read_exact(bytes).map_err(ItemFault::Io)?;
        if header.big_endian {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        for item in bytes.chunks_exact(size) {
            let value = decode(header.kind, item);
            data.push(convert(value).ok_or(ItemFault::Value(data.len(), value))?);
        }
    }
    Ok(data)
}

/// Decodes the number in the little-endian bytes of one item.
fn decode(kind: Kind, item: &[u8]) -> Value {
    let mut bytes = [0u8; 8];
    bytes[..item.len()].copy_from_slice(item);
    let unsigned = u64::from_le_bytes(bytes);
    match kind {
        Kind::Bool => Value::Whole(i128::from(unsigned != 0)),
        Kind::Unsigned => Value::Whole(i128::from(unsigned)),
        Kind::Signed => {
            let unused = 64 - 8 * item.len() as u32;
            Value::Whole(i128::from((unsigned << unused) as i64 >> unused))
        }
        Kind::Float if item.len() == 2 => {
            Value::Real(f64::from(half::f16::from_bits(unsigned as u16)))
        }
        Kind::Float if item.len() == 4 => Value::Real(f64::from(f32::from_bits(unsigned as u32))),
        Kind::Float => Value::Real(f64::from_bits(unsigned)),
        // Refused before items are read.
        Kind::Bytes | Kind::Unicode => Value::Real(f64::NAN),
    }
}

/// Converts column-major data to row-major order.
fn from_columns<T: Copy>(data: &[T], shape: &[usize]) -> std::result::Result<Vec<T>, String> {
    match *shape {
        [] | [_] => Ok(data.to_vec()),
        [rows, cols] => Ok((0..rows * cols)
            .map(|k| data[k % cols * rows + k / cols])
            .collect()),
        _ => Err(format!(
            "{} dimensions in Fortran order, at most two are read",
            shape.len()
        )),
    }
}

/// Loads a graph from the bytes of an archive, for fuzzing: any bytes give a graph or an error.
#[doc(hidden)]
pub fn fuzz_npz(data: &[u8]) {
    for binarise in [false, true] {
        if let Ok(mut archive) = NpzArchive::from_bytes(Path::new("fuzz.npz"), data) {
            let _ = load_from(&mut archive, binarise);
        }
    }
    if let Ok(mut archive) = NpzArchive::from_bytes(Path::new("fuzz.npz"), data) {
        let _ = (
            archive.bools("train_mask"),
            archive.f32s("attr_matrix"),
            archive.i64s("labels"),
        );
    }
    let _ = Header::read(&mut &data[..], data.len() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Header {
        Header::parse(text).unwrap()
    }

    #[test]
    fn headers_in_every_spelling() {
        let h = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }    \n");
        assert_eq!(
            (h.kind, h.item_bytes, h.big_endian, h.fortran),
            (Kind::Float, 4, false, false)
        );
        assert_eq!(h.shape, [3, 2]);
        let h = parse("{\"shape\": (7L,), 'fortran_order': True, 'descr':'>i8'}");
        assert_eq!(
            (h.kind, h.item_bytes, h.big_endian, h.fortran),
            (Kind::Signed, 8, true, true)
        );
        assert_eq!(h.shape, [7]);
        assert_eq!(
            parse("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").shape,
            [0usize; 0]
        );
    }

    #[test]
    fn headers_that_are_refused() {
        let refused = |text: &str| Header::parse(text).unwrap_err();
        assert!(
            refused("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}")
                .contains("can run code")
        );
        assert!(
            refused("{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}")
                .starts_with("type '<f16' is not")
        );
        assert!(
            refused("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}")
                .starts_with("type '<c8' is not")
        );
        assert!(
            refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}")
                .contains("structured")
        );
        assert!(
            refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}")
                .contains("shape (-3) is not one")
        );
        assert!(refused("{'descr': '<f4', 'shape': (3,)}").starts_with("unreadable header"));
        for text in [
            "",
            "{",
            "}",
            "{}",
            "{'",
            "{'descr'",
            "{'descr':",
            "{'x': 1}",
            "{'shape': (1}",
            "é",
        ] {
            assert!(refused(text).starts_with("unreadable header"), "{text}");
        }
    }

    #[test]
    fn shapes_must_account_for_the_bytes() {
        let shape = |s: &str| {
            parse(&format!(
                "{{'descr': '<f4', 'fortran_order': False, 'shape': {s}}}"
            ))
        };
        assert_eq!(shape("(3, 2)").num_items(24), Ok(6));
        assert_eq!(shape("()").num_items(4), Ok(1));
        assert!(
            shape("(3, 2)")
                .num_items(20)
                .unwrap_err()
                .contains("shape [3, 2] of 4-byte numbers")
        );
        for s in [
            "(18446744073709551615, 2)",
            "(18446744073709551615,)",
            "(4611686018427387904, 4)",
        ] {
            assert!(
                shape(s)
                    .num_items(0)
                    .unwrap_err()
                    .contains("does not account"),
                "{s}"
            );
        }
    }

    #[test]
    fn every_stored_type_decodes() {
        let whole = |kind, bytes: &[u8]| decode(kind, bytes).to_i128().unwrap();
        assert_eq!(whole(Kind::Signed, &(-3i8).to_le_bytes()), -3);
        assert_eq!(whole(Kind::Signed, &(-300i16).to_le_bytes()), -300);
        assert_eq!(
            whole(Kind::Signed, &i64::MIN.to_le_bytes()),
            i128::from(i64::MIN)
        );
        assert_eq!(
            whole(Kind::Unsigned, &u64::MAX.to_le_bytes()),
            i128::from(u64::MAX)
        );
        assert_eq!(whole(Kind::Bool, &[1]), 1);
        assert_eq!(whole(Kind::Float, &2.0f32.to_le_bytes()), 2);
        assert_eq!(
            decode(Kind::Float, &0.1f64.to_le_bytes()).to_f32(),
            Some(0.1)
        );
        assert_eq!(decode(Kind::Float, &0.5f64.to_le_bytes()).to_i128(), None);
        assert_eq!(decode(Kind::Float, &1e300f64.to_le_bytes()).to_f32(), None);
        assert_eq!(decode(Kind::Float, &f32::NAN.to_le_bytes()).to_i128(), None);
    }

    #[test]
    fn columns_become_rows() {
        assert_eq!(
            from_columns(&[1, 4, 2, 5, 3, 6], &[2, 3]),
            Ok(vec![1, 2, 3, 4, 5, 6])
        );
        assert!(from_columns(&[1], &[1, 1, 1]).is_err());
    }

    #[test]
    fn names_that_leave_the_archive() {
        for name in ["../x.npy", "a/../../x", "/etc/x", "\\x", "..\\x", "C:\\x"] {
            assert!(leaves_the_archive(name), "{name}");
        }
        assert!(!leaves_the_archive("adj..data.npy"));
    }

    #[test]
    fn sizes_beyond_reason_are_refused() {
        const MIB: u64 = 1 << 20;
        assert_eq!(check_size(64 * MIB, 1, 100), Ok(()));
        assert_eq!(check_size(100 * MIB, MIB, MIB), Ok(()));
        assert!(
            check_size(65 * MIB, 10_000, MIB)
                .unwrap_err()
                .contains("more than 1000 times")
        );
        assert!(
            check_size(17 << 30, 1 << 30, 1 << 31)
                .unwrap_err()
                .contains("at most 17179869184")
        );
        assert!(
            check_size(10, 200, 100)
                .unwrap_err()
                .contains("in a file of 100")
        );
    }

    #[test]
    fn labels_keep_their_numbers_where_they_can() {
        let plain = integer_labels(vec![Some(1), None, Some(0)]);
        assert_eq!(plain, Labels::new(vec![Some(1), None, Some(0)], 2).unwrap());
        let gaps = integer_labels(vec![Some(2), Some(0)]);
        assert_eq!((gaps.get(0), gaps.name(1)), (Some(1), "2".into()));
    }
}
