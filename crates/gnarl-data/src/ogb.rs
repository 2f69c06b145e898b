//! OGB's csv folder ([Hu et al. 2020](https://arxiv.org/abs/2005.00687)): ogbn-arxiv, and
//! arxiv-year on the same files.
//!
//! | file | a line |
//! | --- | --- |
//! | `raw/num-node-list.csv.gz`, `raw/num-edge-list.csv.gz` | one number |
//! | `raw/edge.csv.gz` | an arc `u,v`, counted from 0 |
//! | `raw/node-feat.csv.gz` (optional) | the features of a node |
//! | `raw/node-label.csv.gz` | the class of a node; empty or `nan` for none |
//! | `raw/node_year.csv.gz` | the year of a node, for [`load_arxiv_year`] |
//! | `split/time/{train,valid,test}.csv.gz` (optional) | the id of a node |
//!
//! Files without `.gz` are read as well. They are streamed line by line and counted against the two
//! lists, so memory grows with their real size; files with an excessive compression ratio are
//! refused.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::npz::integer_labels;
use super::text::{self, at_line, parse, parse_f32, parse_id, quoted};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph, MAX_NODES};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::DenseMatrix;
use gnarl_graph::split::Split;

/// Number of classes of arxiv-year.
const YEAR_CLASSES: usize = 5;
/// Largest file after decompression, in bytes.
const MAX_BYTES: u64 = 16 << 30;
/// Largest file that is read at any compression ratio, in bytes.
const SMALL_BYTES: u64 = 64 << 20;
/// Largest compression ratio of larger files.
const MAX_RATIO: u64 = 1000;
/// Longest line in bytes: a million features.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Loads a node dataset from its folder: graph, features, labels and the split `time`.
///
/// Citations point one way in the files; the graph is undirected.
pub fn load(dir: &Path) -> Result<(Graph, BuildReport)> {
    load_from(&Folder::Disk(dir.to_path_buf()))
}

fn load_from(folder: &Folder) -> Result<(Graph, BuildReport)> {
    let num_nodes = read_count(folder, "raw/num-node-list.csv")?;
    // Labels come first: they confirm the listed number of nodes before memory for the nodes is
    // allocated.
    let labels = read_column(
        folder,
        "raw/node-label.csv",
        num_nodes,
        |path, line, field| match field {
            "" | "nan" | "NaN" => Ok(None),
            _ => parse(path, line, field, "a class").map(Some),
        },
    )?;
    let (graph, report) = read_graph(folder, num_nodes)?;
    let graph = graph.with_labels(integer_labels(labels))?;
    let graph = match read_split(folder, num_nodes)? {
        Some(split) => graph.with_splits(vec![split])?,
        None => graph,
    };
    Ok((graph, report))
}

/// Loads arxiv-year ([Lim et al. 2021](https://arxiv.org/abs/2110.14446)): the graph and features
/// of ogbn-arxiv, with the publication year as class, cut into five by [`even_quantile_labels`]. It
/// has no split: the split by time would leak the class.
pub fn load_arxiv_year(dir: &Path) -> Result<(Graph, BuildReport)> {
    load_arxiv_year_from(&Folder::Disk(dir.to_path_buf()))
}

fn load_arxiv_year_from(folder: &Folder) -> Result<(Graph, BuildReport)> {
    let num_nodes = read_count(folder, "raw/num-node-list.csv")?;
    let years: Vec<i32> = read_column(
        folder,
        "raw/node_year.csv",
        num_nodes,
        |path, line, field| parse(path, line, field, "a year"),
    )?;
    let years: Vec<f64> = years.into_iter().map(f64::from).collect();
    let (graph, report) = read_graph(folder, num_nodes)?;
    Ok((
        graph.with_labels(even_quantile_labels(&years, YEAR_CLASSES)?)?,
        report,
    ))
}

/// Splits values into classes of about equal size, as LINKX does. Class `k` holds the values from
/// the `k / num_classes` quantile up to but without the next one; the first class holds everything
/// below too. Quantiles interpolate linearly, as NumPy's do. Equal values stay together, so classes
/// can differ in size and even be empty.
pub fn even_quantile_labels(values: &[f64], num_classes: usize) -> Result<Labels> {
    const OP: &str = "even_quantile_labels";
    if num_classes == 0 {
        return Err(Error::argument(OP, "0 classes, at least 1 is needed"));
    }
    if let Some(i) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::argument(
            OP,
            format!("value {i} is {}, all must be finite", values[i]),
        ));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let bounds: Vec<f64> = if sorted.is_empty() {
        Vec::new()
    } else {
        (1..num_classes)
            .map(|k| quantile(&sorted, k as f64 / num_classes as f64))
            .collect()
    };
    let class = |v: f64| bounds.partition_point(|&bound| bound <= v) as u32;
    Labels::new(
        values.iter().map(|&v| Some(class(v))).collect(),
        num_classes,
    )
}

/// Returns the quantile `q` of ascending values, interpolated linearly.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * q;
    let low = sorted[at.floor() as usize];
    let high = sorted[at.ceil() as usize];
    low + (high - low) * at.fract()
}

/// Reads the graph with its features.
fn read_graph(folder: &Folder, num_nodes: usize) -> Result<(Graph, BuildReport)> {
    let num_edges = read_count(folder, "raw/num-edge-list.csv")?;
    let range = 0..num_nodes as u64;
    let edges = read_column(folder, "raw/edge.csv", num_edges, |path, line, row| {
        let Some((u, v)) = row.split_once(',') else {
            return Err(at_line(
                path,
                line,
                format!("{} is not an arc 'u,v'", quoted(row)),
            ));
        };
        let node = |field| parse_id(path, line, field, "a node id", range.clone());
        Ok((node(u)?, node(v)?))
    })?;
    let (graph, report) = Graph::from_edges(num_nodes, edges)?;
    match read_features(folder, num_nodes)? {
        Some(features) => Ok((graph.with_features(features)?, report)),
        None => Ok((graph, report)),
    }
}

fn read_features(folder: &Folder, num_nodes: usize) -> Result<Option<Features>> {
    const FILE: &str = "raw/node-feat.csv";
    if folder.find(FILE).is_none() {
        return Ok(None);
    }
    let mut data: Vec<f32> = Vec::new();
    let mut num_cols = None;
    read_column(folder, FILE, num_nodes, |path, line, row| {
        let before = data.len();
        for field in row.split(',') {
            data.push(parse_f32(path, line, field, "a feature")?);
        }
        let found = data.len() - before;
        match *num_cols.get_or_insert(found) {
            expected if expected == found => Ok(()),
            expected => Err(at_line(
                path,
                line,
                format!("{found} features, but the rows before have {expected}"),
            )),
        }
    })?;
    Ok(Some(Features::Dense(DenseMatrix::new(
        num_nodes,
        num_cols.unwrap_or(0),
        data,
    )?)))
}

/// Reads the split by time, `None` if none of its files is present.
fn read_split(folder: &Folder, num_nodes: usize) -> Result<Option<Split>> {
    let files = ["train", "valid", "test"].map(|part| format!("split/time/{part}.csv"));
    if files.iter().all(|file| folder.find(file).is_none()) {
        return Ok(None);
    }
    let ids = |file: &String| -> Result<Vec<u32>> {
        let mut rows = folder.open(file)?;
        let mut ids = Vec::new();
        while let Some((path, line, row)) = rows.next()? {
            // A split names a node once, so a longer file is rejected before it is large.
            if ids.len() == num_nodes {
                return Err(at_line(
                    path,
                    line,
                    format!("more than {num_nodes} rows, the number of nodes"),
                ));
            }
            ids.push(parse_id(path, line, row, "a node id", 0..num_nodes as u64)?);
        }
        Ok(ids)
    };
    let [train, val, test] = [ids(&files[0])?, ids(&files[1])?, ids(&files[2])?];
    let split = Split::new("time", train, val, test)
        .map_err(|e| folder.fault("split/time", e.to_string()))?;
    Ok(Some(split))
}

/// Reads the only number of a list.
fn read_count(folder: &Folder, file: &str) -> Result<usize> {
    let mut rows = folder.open(file)?;
    let path = rows.path.clone();
    let Some((_, line, row)) = rows.next()? else {
        return Err(at_line(&path, 1, "empty, a number is expected"));
    };
    let count = parse_id(&path, line, row, "a count", 0..MAX_NODES as u64)? as usize;
    if let Some((_, line, _)) = rows.next()? {
        return Err(at_line(
            &path,
            line,
            "a second graph, only datasets of one graph are read",
        ));
    }
    Ok(count)
}

/// Reads a file of exactly `num_rows` rows through `parse`.
fn read_column<T>(
    folder: &Folder,
    file: &str,
    num_rows: usize,
    mut parse: impl FnMut(&Path, usize, &str) -> Result<T>,
) -> Result<Vec<T>> {
    let mut rows = folder.open(file)?;
    let mut values = Vec::new();
    while let Some((path, line, row)) = rows.next()? {
        if values.len() == num_rows {
            return Err(at_line(
                path,
                line,
                format!("one row too many, {num_rows} are expected from the raw/num-* lists"),
            ));
        }
        values.push(parse(path, line, row)?);
    }
    if values.len() < num_rows {
        let what = format!(
            "{} rows, but the raw/num-* lists say {num_rows}",
            values.len()
        );
        return Err(Error::data(&rows.path, "whole file", what));
    }
    Ok(values)
}

/// Source of the files: disk, or memory for tests and fuzzing.
enum Folder<'a> {
    Disk(PathBuf),
    Memory(HashMap<&'a str, &'a [u8]>),
}

impl Folder<'_> {
    /// Returns the path of a csv file or of its `.gz`, `None` if neither is present.
    fn find(&self, file: &str) -> Option<PathBuf> {
        match self {
            Folder::Memory(files) => files.contains_key(file).then(|| file.into()),
            Folder::Disk(dir) => {
                let candidates = [dir.join(format!("{file}.gz")), dir.join(file)];
                candidates.into_iter().find(|path| path.exists())
            }
        }
    }

    fn open(&self, file: &str) -> Result<Rows> {
        let Some(path) = self.find(file) else {
            let missing =
                std::io::Error::new(ErrorKind::NotFound, "no such file, with or without .gz");
            return Err(match self {
                Folder::Disk(dir) => Error::io(&dir.join(file), missing),
                Folder::Memory(_) => Error::io(Path::new(file), missing),
            });
        };
        let (num_bytes, source): (u64, Box<dyn Read>) = match self {
            Folder::Memory(files) => (
                files[file].len() as u64,
                Box::new(Cursor::new(files[file].to_vec())),
            ),
            Folder::Disk(_) => {
                let opened = File::open(&path).map_err(|e| Error::io(&path, e))?;
                (
                    opened.metadata().map_err(|e| Error::io(&path, e))?.len(),
                    Box::new(opened),
                )
            }
        };
        let gz = path.extension().is_some_and(|e| e == "gz");
        Ok(if gz {
            Rows::compressed(path, num_bytes, source)
        } else {
            Rows::plain(path, source)
        })
    }

    fn fault(&self, place: &str, what: String) -> Error {
        match self {
            Folder::Disk(dir) => Error::data(&dir.join(place), "whole split", what),
            Folder::Memory(_) => Error::data(Path::new(place), "whole split", what),
        }
    }
}

/// The lines of one file, one at a time.
struct Rows {
    path: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    limit: u64,
    bytes_read: u64,
    line: usize,
    buffer: Vec<u8>,
}

impl Rows {
    fn plain(path: PathBuf, source: Box<dyn Read>) -> Self {
        Self {
            path,
            reader: BufReader::with_capacity(1 << 16, source),
            limit: text::MAX_TEXT_BYTES,
            bytes_read: 0,
            line: 0,
            buffer: Vec::new(),
        }
    }

    fn compressed(path: PathBuf, num_bytes: u64, source: Box<dyn Read>) -> Self {
        let limit = SMALL_BYTES
            .max(num_bytes.saturating_mul(MAX_RATIO))
            .min(MAX_BYTES);
        Self {
            limit,
            ..Self::plain(path, Box::new(MultiGzDecoder::new(BufReader::new(source))))
        }
    }

    /// Returns the next line, with its file and number; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<(&Path, usize, &str)>> {
        self.buffer.clear();
        self.line += 1;
        let read = (&mut self.reader)
            .take(MAX_LINE_BYTES + 1)
            .read_until(b'\n', &mut self.buffer);
        let num_bytes = read.map_err(|e| match e.kind() {
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => at_line(
                &self.path,
                self.line,
                format!("cannot be decompressed ({e}), fetch the file again"),
            ),
            _ => Error::io(&self.path, e),
        })?;
        self.bytes_read += num_bytes as u64;
        if self.bytes_read > self.limit {
            let what = format!(
                "more than {} bytes after decompression, refused",
                self.limit
            );
            return Err(at_line(&self.path, self.line, what));
        }
        if num_bytes as u64 > MAX_LINE_BYTES {
            return Err(at_line(
                &self.path,
                self.line,
                format!("longer than {MAX_LINE_BYTES} bytes"),
            ));
        }
        let row = std::str::from_utf8(&self.buffer)
            .map_err(|_| at_line(&self.path, self.line, "not UTF-8, a text file is expected"))?;
        Ok((num_bytes > 0).then(|| (&self.path as &Path, self.line, row.trim())))
    }
}

/// Loads a dataset from its files, for fuzzing: any bytes give a graph or an error. The files are
/// separated by zero bytes in the order node count, edge count, edges, labels, years, features,
/// train, valid and test ids. The whole is also read as gzip.
#[doc(hidden)]
pub fn fuzz_ogb(data: &[u8]) {
    const FILES: [&str; 9] = [
        "raw/num-node-list.csv",
        "raw/num-edge-list.csv",
        "raw/edge.csv",
        "raw/node-label.csv",
        "raw/node_year.csv",
        "raw/node-feat.csv",
        "split/time/train.csv",
        "split/time/valid.csv",
        "split/time/test.csv",
    ];
    let folder = Folder::Memory(FILES.into_iter().zip(data.split(|&b| b == 0)).collect());
    let _ = load_from(&folder);
    let _ = load_arxiv_year_from(&folder);
    let mut rows = Rows::compressed(
        "fuzz.gz".into(),
        data.len() as u64,
        Box::new(Cursor::new(data.to_vec())),
    );
    while let Ok(Some(_)) = rows.next() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_as_numpy_has_them() {
        // numpy.nanquantile([1, 2, 4, 8, 16, 32, 64], [0.2, 0.4, 0.6, 0.8])
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let found = [0.2, 0.4, 0.6, 0.8].map(|q| quantile(&values, q));
        let expected = [2.4, 5.6, 12.8, 28.8];
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-12, "{f} {e}");
        }
    }

    #[test]
    fn year_classes_as_linkx_cuts_them() {
        // LINKX's even_quantile_labels on these years, five classes.
        let years = [
            2013, 2015, 2018, 2017, 2019, 2019, 2020, 2011, 2015, 2016, 2018, 2020, 2019,
        ]
        .map(f64::from);
        let labels = even_quantile_labels(&years, 5).unwrap();
        let classes: Vec<u32> = labels.classes().iter().flatten().copied().collect();
        assert_eq!(classes, [0, 1, 2, 2, 4, 4, 4, 0, 1, 1, 2, 4, 4]);
        let same = even_quantile_labels(&[7.0; 4], 5).unwrap();
        assert_eq!(
            (same.num_classes(), same.counts()),
            (5, vec![0, 0, 0, 0, 4])
        );
        assert!(even_quantile_labels(&[], 5).unwrap().is_empty());
        assert!(even_quantile_labels(&[1.0], 0).is_err());
        let e = even_quantile_labels(&[1.0, f64::NAN], 5)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "even_quantile_labels: value 1 is NaN, all must be finite"
        );
    }
}
