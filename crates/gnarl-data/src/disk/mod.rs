//! A graph on disk: a folder of plain `.npy` arrays with a small description, memory-mapped when
//! opened.
//!
//! | file | contents |
//! | --- | --- |
//! | `graph.json` | the description: counts, classes, names of splits, type, shape and CRC-32 of every array |
//! | `offsets.npy` | `<i8`, n + 1: node u owns neighbours `offsets[u]..offsets[u + 1]` |
//! | `neighbours.npy` | `<i4` (`<u4` beyond 2^31 nodes), both arcs of every edge, ascending within a node |
//! | `weights.npy` | `<f8`, one for each arc, where edges have weights |
//! | `features.npy` | `<f4`, `<f2` or `\|u1`, n rows |
//! | `feature_scale.npy` | `<f4`, two rows: scale and offset of each column of 8-bit features |
//! | `feature_offsets.npy`, `feature_columns.npy`, `feature_values.npy` | sparse features, instead of `features.npy` |
//! | `labels.npy` | `<i4`, a class or -1 |
//! | `splits.npy` | `\|u1`, a row for each split: 0 for none, 1 train, 2 validation, 3 test |
//! | `name_offsets.npy`, `name_bytes.npy` | names of nodes, one string after the other |
//! | `verified.json` | sizes and times of the files at their last check |
//!
//! NumPy opens each with `numpy.load(file, mmap_mode="r")`; offsets and neighbours are the CSR
//! arrays that DGL and SciPy take.
//!
//! Opening checks headers and sizes. If a file differs in size or time from its last check, its
//! checksum is first compared with the description, and the rows are checked to form a graph. A
//! damaged folder is refused with the name of the file. [`verify`] checks everything regardless of
//! the times.

mod import;
mod npy;
mod sort;
mod writer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

pub use self::import::{FeatureType, ImportOptions, ImportReport, import};

use self::npy::{HEADER_BYTES, check_header};
use self::writer::{FolderWriter, item_bytes};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::{Features, NodeFeatures, Packed, PackedRows};
use gnarl_graph::graph::{BuildReport, Graph, MAX_NODES, is_simple};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};
use gnarl_graph::split::Split;
use gnarl_graph::stored::{Plain, Stored};

/// Name of the description file.
pub const DESCRIPTION: &str = "graph.json";

/// Name of the file that records the last check.
const STAMP: &str = "verified.json";

const FORMAT: &str = "gnarl-graph";
const VERSION: u32 = 1;

/// Largest description read, in bytes: it has names of classes and splits, not of nodes.
const MAX_DESCRIPTION_BYTES: u64 = 64 << 20;

/// Contents of `graph.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    format: String,
    version: u32,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// Number of feature columns, if there are features.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub features: Option<usize>,
    /// Names of the classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub classes: Option<Vec<String>>,
    /// Names of the splits.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub splits: Vec<String>,
    /// Edges dropped to make the graph undirected and simple.
    pub report: BuildReport,
    arrays: BTreeMap<String, ArrayEntry>,
}

/// Expected type, shape and checksum of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayEntry {
    descr: String,
    shape: Vec<usize>,
    /// Checksum of the array's numbers; the header follows from the two fields above.
    crc32: u32,
}

impl ArrayEntry {
    fn count(&self) -> Option<usize> {
        self.shape
            .iter()
            .try_fold(1usize, |product, &d| product.checked_mul(d))
    }
}

impl Description {
    fn new(nodes: usize, edges: usize, report: BuildReport) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            nodes,
            edges,
            features: None,
            classes: None,
            splits: Vec::new(),
            report,
            arrays: BTreeMap::new(),
        }
    }

    fn read(dir: &Path) -> Result<Self> {
        let at = dir.join(DESCRIPTION);
        let bytes = super::text::read_bytes(&at, MAX_DESCRIPTION_BYTES)?;
        let description: Self = serde_json::from_slice(&bytes).map_err(|e| {
            Error::data(&at, "description", format!("{e}; import the folder again"))
        })?;
        let fault = |what: String| Err(Error::data(&at, "description", what));
        if (description.format.as_str(), description.version) != (FORMAT, VERSION) {
            let (format, version) = (
                super::text::quoted(&description.format),
                description.version,
            );
            return fault(format!(
                "{format} of version {version}, {FORMAT} of version {VERSION} is read"
            ));
        }
        if description.nodes > MAX_NODES {
            return fault(format!(
                "{} nodes, at most {MAX_NODES} fit",
                description.nodes
            ));
        }
        let is_name = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        match description.arrays.keys().find(|name| !is_name(name)) {
            Some(name) => fault(format!("no array is called {}", super::text::quoted(name))),
            None => Ok(description),
        }
    }
}

/// Returns true if a folder holds a graph of this format.
pub fn is_folder(path: &Path) -> bool {
    path.join(DESCRIPTION).is_file()
}

/// Opens a folder. This takes milliseconds if the folder is unchanged since its last check;
/// otherwise everything is read once.
pub fn open(dir: &Path) -> Result<(Graph, BuildReport)> {
    let folder = Folder::new(dir)?;
    let known = std::fs::read_to_string(dir.join(STAMP))
        .is_ok_and(|known| stamp(dir, &folder.description).is_ok_and(|now| now == known));
    if !known {
        folder.check_sums()?;
        folder.check_graph()?;
        // A read-only folder is checked every time.
        if let Ok(now) = stamp(dir, &folder.description) {
            let _ = gnarl_graph::files::write_atomically(&dir.join(STAMP), now);
        }
    }
    Ok((folder.graph()?, folder.description.report))
}

/// Reads every number of a folder and fails if one differs from the description.
pub fn verify(dir: &Path) -> Result<Description> {
    let folder = Folder::new(dir)?;
    folder.check_sums()?;
    folder.check_graph()?;
    folder.graph()?;
    Ok(folder.description)
}

/// Returns sizes and times of the files, and the checksum of the description itself.
fn stamp(dir: &Path, description: &Description) -> Result<String> {
    let mut files: BTreeMap<String, (u64, u128)> = BTreeMap::new();
    for name in description.arrays.keys() {
        let path = dir.join(format!("{name}.npy"));
        let there = std::fs::metadata(&path).map_err(|e| Error::io(&path, e))?;
        let modified = there
            .modified()
            .ok()
            .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        files.insert(
            name.clone(),
            (there.len(), modified.map_or(0, |t| t.as_nanos())),
        );
    }
    let described = serde_json::to_vec(description).expect("plain data");
    Ok(serde_json::to_string(&(crc32fast::hash(&described), files)).expect("plain data"))
}

/// A folder whose description was read.
struct Folder {
    dir: PathBuf,
    description: Description,
}

impl Folder {
    /// Reads the description and checks the header and the size of every array.
    fn new(dir: &Path) -> Result<Self> {
        let description = Description::read(dir)?;
        let folder = Self {
            dir: dir.to_path_buf(),
            description,
        };
        for (name, entry) in &folder.description.arrays {
            let (path, mut file) = folder.file(name)?;
            check_header(&path, &mut file, &entry.descr, &entry.shape)?;
            let bytes = entry
                .count()
                .and_then(|count| count.checked_mul(item_bytes(&entry.descr)));
            let size = file.metadata().map_err(|e| Error::io(&path, e))?.len();
            if bytes.and_then(|bytes| bytes.checked_add(HEADER_BYTES)) != usize::try_from(size).ok()
            {
                let what = format!(
                    "{size} bytes, which are not those of shape {:?}; import the folder again",
                    entry.shape
                );
                return Err(Error::data(&path, "whole file", what));
            }
        }
        Ok(folder)
    }

    fn file(&self, name: &str) -> Result<(PathBuf, File)> {
        let path = self.dir.join(format!("{name}.npy"));
        let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
        Ok((path, file))
    }

    fn fault(&self, name: &str, what: impl Into<String>) -> Error {
        Error::data(&self.dir.join(format!("{name}.npy")), "whole file", what)
    }

    fn has(&self, name: &str) -> bool {
        self.description.arrays.contains_key(name)
    }

    fn check_sums(&self) -> Result<()> {
        for (name, entry) in &self.description.arrays {
            let (path, mut file) = self.file(name)?;
            let fail = |e| Error::io(&path, e);
            let mut buffer = vec![0; 1 << 20];
            file.read_exact(&mut buffer[..HEADER_BYTES]).map_err(fail)?;
            let mut crc = crc32fast::Hasher::new();
            loop {
                match file.read(&mut buffer).map_err(fail)? {
                    0 => break,
                    read => crc.update(&buffer[..read]),
                }
            }
            if crc.finalize() != entry.crc32 {
                return Err(self.fault(
                    name,
                    "its numbers are not those that were written; import the folder again",
                ));
            }
        }
        Ok(())
    }

    /// Refuses arrays with the right checksums that are no graph: such a folder was made by hand.
    fn check_graph(&self) -> Result<()> {
        let n = self.description.nodes;
        let (offsets, targets) = (self.map::<u64>("offsets")?, self.map::<u32>("neighbours")?);
        let weights = self
            .has("weights")
            .then(|| self.map::<f64>("weights"))
            .transpose()?;
        if !is_simple(&offsets, &targets, weights.as_deref()) {
            let what = "with the offsets they are no undirected graph: rows ascending, no loops, every arc with its reverse";
            return Err(self.fault("neighbours", what));
        }
        if self.has("features") && self.description.arrays["features"].descr == "<f4" {
            let features = self.map::<f32>("features")?;
            if let Some(at) = features.iter().position(|x| !x.is_finite()) {
                return Err(self.fault("features", format!("number {at} is not finite")));
            }
        }
        if self.has("feature_columns") {
            let (columns, values) = (
                self.map::<u32>("feature_columns")?,
                self.map::<f32>("feature_values")?,
            );
            let width = self.description.features.unwrap_or(0);
            CsrMatrix::new(
                width,
                self.map::<u64>("feature_offsets")?.to_vec(),
                columns.to_vec(),
                values.to_vec(),
            )
            .map_err(|e| self.fault("feature_columns", e.to_string()))?;
            if let Some(at) = values.iter().position(|x| !x.is_finite()) {
                return Err(self.fault("feature_values", format!("number {at} is not finite")));
            }
        }
        if self.has("name_offsets") {
            let (bounds, bytes) = (
                self.map::<u64>("name_offsets")?,
                self.map::<u8>("name_bytes")?,
            );
            let in_order = bounds.len() == n + 1
                && bounds.is_sorted()
                && bounds.last() == Some(&(bytes.len() as u64));
            if !in_order || bounds.first() != Some(&0) {
                return Err(self.fault("name_offsets", "they do not bound the names"));
            }
        }
        Ok(())
    }

    /// Maps an array, which must have this type and the shape that the counts imply.
    fn map<T: Plain>(&self, name: &str) -> Result<Stored<T>> {
        let description = &self.description;
        let Some(entry) = description.arrays.get(name) else {
            return Err(Error::data(
                &self.dir.join(DESCRIPTION),
                "description",
                format!("no array {name}"),
            ));
        };
        let (n, arcs) = (description.nodes, 2 * description.edges);
        let width = description.features.unwrap_or(0);
        let (descrs, shape): (&[&str], Option<Vec<usize>>) = match name {
            "offsets" | "feature_offsets" | "name_offsets" => (&["<i8"], Some(vec![n + 1])),
            "neighbours" => (&["<i4", "<u4"], Some(vec![arcs])),
            "weights" => (&["<f8"], Some(vec![arcs])),
            "features" => (&["<f4", "<f2", "|u1"], Some(vec![n, width])),
            "feature_scale" => (&["<f4"], Some(vec![2, width])),
            "feature_columns" => (&["<i4"], None),
            "feature_values" => (&["<f4"], None),
            "labels" => (&["<i4"], Some(vec![n])),
            "splits" => (&["|u1"], Some(vec![description.splits.len(), n])),
            "name_bytes" => (&["|u1"], None),
            _ => return Err(self.fault(name, "no array of that name is known")),
        };
        let fits = descrs.contains(&entry.descr.as_str())
            && item_bytes(&entry.descr) == std::mem::size_of::<T>()
            && shape.is_none_or(|shape| shape == entry.shape);
        let Some(count) = entry.count().filter(|_| fits) else {
            let what = format!(
                "{} of shape {:?} does not fit the description",
                entry.descr, entry.shape
            );
            return Err(self.fault(name, what));
        };
        let (path, file) = self.file(name)?;
        Stored::map(&path, &file, HEADER_BYTES, count)
    }

    fn graph(&self) -> Result<Graph> {
        let (offsets, targets) = (self.map::<u64>("offsets")?, self.map::<u32>("neighbours")?);
        if offsets.last() != Some(&(targets.len() as u64)) {
            return Err(self.fault("offsets", "they do not end where the neighbours do"));
        }
        let weights = self
            .has("weights")
            .then(|| self.map("weights"))
            .transpose()?;
        let mut graph = Graph::from_stored(offsets, targets, weights);
        if let Some(features) = self.features()? {
            graph = graph.with_node_features(features)?;
        }
        if let Some(labels) = self.labels()? {
            graph = graph.with_labels(labels)?;
        }
        if self.has("name_offsets") {
            graph = graph.with_node_names(self.names()?)?;
        }
        graph.with_splits(self.splits()?)
    }

    fn features(&self) -> Result<Option<NodeFeatures>> {
        let (n, width) = (
            self.description.nodes,
            self.description.features.unwrap_or(0),
        );
        if self.has("feature_columns") {
            let (offsets, columns) = (
                self.map::<u64>("feature_offsets")?,
                self.map::<u32>("feature_columns")?,
            );
            let values = self.map::<f32>("feature_values")?;
            if offsets.last() != Some(&(columns.len() as u64)) || columns.len() != values.len() {
                return Err(self.fault(
                    "feature_offsets",
                    "they do not end where the columns and values do",
                ));
            }
            let matrix = CsrMatrix::from_parts(width, offsets, columns, values);
            return Ok(Some(Features::Sparse(matrix).into()));
        }
        let Some(entry) = self.description.arrays.get("features") else {
            return Ok(None);
        };
        Ok(Some(match entry.descr.as_str() {
            "<f2" => PackedRows {
                numbers: Packed::Half(self.map("features")?),
                num_cols: width,
            }
            .into(),
            "|u1" => {
                let bytes = self.map("features")?;
                let levels = self.map::<f32>("feature_scale")?;
                let (scale, offset) = levels.split_at(width);
                let numbers = Packed::Byte {
                    bytes,
                    scale: scale.to_vec(),
                    offset: offset.to_vec(),
                };
                PackedRows {
                    numbers,
                    num_cols: width,
                }
                .into()
            }
            _ => Features::Dense(DenseMatrix::from_stored(n, width, self.map("features")?)?).into(),
        }))
    }

    fn labels(&self) -> Result<Option<Labels>> {
        let Some(classes) = &self.description.classes else {
            return Ok(None);
        };
        let found = self.map::<i32>("labels")?;
        let class = |&c: &i32| u32::try_from(c).ok();
        let labels = Labels::new(found.iter().map(class).collect(), classes.len())
            .map_err(|e| self.fault("labels", e.to_string()))?;
        Ok(Some(labels.with_names(classes.clone())?))
    }

    fn splits(&self) -> Result<Vec<Split>> {
        let names = &self.description.splits;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let parts = self.map::<u8>("splits")?;
        if let Some(at) = parts.iter().position(|part| *part > 3) {
            return Err(self.fault(
                "splits",
                format!("number {at} is {}, at most 3 is one", parts[at]),
            ));
        }
        let of = |k: usize, part: u8| {
            let row = &parts[k * self.description.nodes..(k + 1) * self.description.nodes];
            (0u32..)
                .zip(row)
                .filter(|(_, p)| **p == part)
                .map(|(u, _)| u)
                .collect::<Vec<u32>>()
        };
        names
            .iter()
            .enumerate()
            .map(|(k, name)| Split::new(name, of(k, 1), of(k, 2), of(k, 3)))
            .collect()
    }

    fn names(&self) -> Result<Vec<String>> {
        let (bounds, bytes) = (
            self.map::<u64>("name_offsets")?,
            self.map::<u8>("name_bytes")?,
        );
        let name = |w: &[u64]| {
            let text = bytes
                .get(w[0] as usize..w[1] as usize)
                .and_then(|name| std::str::from_utf8(name).ok());
            text.map(str::to_string)
                .ok_or_else(|| self.fault("name_bytes", "a name that is no text"))
        };
        bounds.windows(2).map(name).collect()
    }
}

/// Writes a graph in memory as a folder, which must not exist. The folder is written completely or
/// not at all.
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// let karate = gnarl_data::load("karate", dir.path(), 0)?;
/// let folder = dir.path().join("karate");
/// gnarl_data::disk::write(karate.graph()?, &folder, &Default::default())?;
/// let again = gnarl_data::disk::open(&folder)?.0;
/// assert!(again.is_on_disk() && again.edges().eq(karate.graph()?.edges()));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
pub fn write(graph: &Graph, dir: &Path, options: &ImportOptions) -> Result<Description> {
    let mut writer = FolderWriter::new(dir)?;
    let mut description =
        Description::new(graph.num_nodes(), graph.num_edges(), BuildReport::default());
    writer.whole(
        "offsets",
        "<i8",
        &[graph.num_nodes() + 1],
        graph.offsets().iter().map(|x| x.to_le_bytes()),
    )?;
    let targets = graph.targets();
    writer.whole(
        "neighbours",
        id_descr(graph.num_nodes()),
        &[targets.len()],
        targets.iter().map(|x| x.to_le_bytes()),
    )?;
    if let Some(weights) = graph.weights() {
        writer.whole(
            "weights",
            "<f8",
            &[weights.len()],
            weights.iter().map(|x| x.to_le_bytes()),
        )?;
    }
    import::write_features(&mut writer, graph, options, &mut description)?;
    write_carried(&mut writer, graph, &mut description)?;
    writer.finish(description)?;
    Description::read(dir)
}

/// Returns the type of node ids: signed if they fit, since most programs read that.
fn id_descr(num_nodes: usize) -> &'static str {
    if num_nodes <= i32::MAX as usize {
        "<i4"
    } else {
        "<u4"
    }
}

/// Writes labels, splits and names of a graph.
fn write_carried(
    writer: &mut FolderWriter,
    graph: &Graph,
    description: &mut Description,
) -> Result<()> {
    let n = graph.num_nodes();
    if let Some(labels) = graph.labels() {
        let class = |c: &Option<u32>| c.map_or(-1, |c| c as i32).to_le_bytes();
        writer.whole("labels", "<i4", &[n], labels.classes().iter().map(class))?;
        description.classes = Some(
            (0..labels.num_classes() as u32)
                .map(|c| labels.name(c))
                .collect(),
        );
    }
    if !graph.splits().is_empty() {
        let mut parts = vec![0u8; n * graph.splits().len()];
        for (k, split) in graph.splits().iter().enumerate() {
            for (part, ids) in [(1, split.train()), (2, split.val()), (3, split.test())] {
                ids.iter().for_each(|&u| parts[k * n + u as usize] = part);
            }
        }
        writer.whole(
            "splits",
            "|u1",
            &[graph.splits().len(), n],
            parts.iter().map(|x| [*x]),
        )?;
        description.splits = graph
            .splits()
            .iter()
            .map(|split| split.name().to_string())
            .collect();
    }
    if let Some(names) = graph.node_names() {
        let mut end = 0u64;
        let ends = names.iter().map(|name| {
            end += name.len() as u64;
            end
        });
        writer.whole(
            "name_offsets",
            "<i8",
            &[n + 1],
            std::iter::once(0).chain(ends).map(|x: u64| x.to_le_bytes()),
        )?;
        let bytes = names
            .iter()
            .flat_map(|name| name.bytes())
            .map(|byte| [byte]);
        writer.whole("name_bytes", "|u1", &[end as usize], bytes)?;
    }
    Ok(())
}

/// Opens a folder made from `data`, for fuzzing: arrays of a real folder with bytes changed give a
/// graph or an error.
#[doc(hidden)]
pub fn fuzz_folder(data: &[u8]) {
    let Ok(dir) = tempfile::tempdir() else { return };
    let mut parts = data.splitn(3, |&b| b == 0);
    let description = parts.next().unwrap_or_default();
    let _ = std::fs::write(dir.path().join(DESCRIPTION), description);
    for (name, bytes) in ["offsets.npy", "neighbours.npy"].into_iter().zip(parts) {
        let _ = std::fs::write(dir.path().join(name), bytes);
    }
    if let Ok((graph, _)) = open(dir.path()) {
        let _ = graph.edges().count();
    }
}
