//! Imports any readable graph into a folder on disk. Edge files are read in blocks and sorted on
//! disk, so memory is bounded by [`ImportOptions::memory_bytes`] and a few numbers per node.
//! Datasets and archives are loaded first.

use std::path::{Path, PathBuf};

use half::f16;

use super::sort::{ArcSorter, Load};
use super::writer::FolderWriter;
use super::{Description, id_descr, write, write_carried};
use crate::edge_list::{Beside, is_weighted, stream_edges};
use crate::edge_sink::{EdgeSink, Streamed};
use crate::npz::NpyFile;
use crate::{Content, Sources, load, load::looks_like_a_path};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph, MAX_NODES};

gnarl_graph::named! {
    /// Number type of stored dense features.
    pub enum FeatureType as "feature type" {
        /// 32-bit floats, the type of all computations.
        F32 = "f32",
        /// 16-bit floats: three digits, values up to 65,504.
        F16 = "f16",
        /// 8-bit integers: 256 steps between the smallest and the largest value of each column;
        /// whole numbers up to 255 stay exact.
        U8 = "u8",
    }
}

/// Options of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportOptions {
    /// Number type of stored dense features.
    pub features: FeatureType,
    /// Memory for sorting edges, in bytes; further edges go to temporary files next to the folder.
    pub memory_bytes: usize,
    /// File of features: text, `.npz` or a `.npy` with one row per node.
    pub features_at: Option<PathBuf>,
    /// File of labels.
    pub labels_at: Option<PathBuf>,
    /// File of splits.
    pub splits_at: Option<PathBuf>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            features: FeatureType::F32,
            memory_bytes: 1 << 30,
            features_at: None,
            labels_at: None,
            splits_at: None,
        }
    }
}

/// Summary of an import.
#[derive(Debug, serde::Serialize)]
pub struct ImportReport {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// Number of feature columns.
    pub features: Option<usize>,
    /// Number of classes.
    pub classes: Option<usize>,
    /// Number of named splits.
    pub splits: usize,
    /// Self-loops, duplicates and other edges dropped to make the graph undirected and simple.
    pub dropped: BuildReport,
    /// Files and columns that were read and not read.
    pub sources: Sources,
}

/// Progress callback: gets the current step, the amount done, and the total.
pub type Tell<'a> = &'a mut dyn FnMut(&str, u64, u64);

/// Imports a dataset by name, an edge file, or a folder of a user's own files. The folder must not
/// exist yet; it appears only when it is complete.
pub fn import(
    source: &str,
    data_dir: &Path,
    seed: u64,
    out: &Path,
    options: &ImportOptions,
    tell: Tell<'_>,
) -> Result<ImportReport> {
    let path = Path::new(source);
    let is_own = crate::registry::get(source).is_none() && looks_like_a_path(source);
    if is_own && !super::is_folder(path) && crate::tu::name_in(path)?.is_none() {
        let (edges_at, mut beside) = Beside::find(path)?;
        beside.features = options.features_at.clone().or(beside.features);
        beside.labels = options.labels_at.clone().or(beside.labels);
        beside.splits = options.splits_at.clone().or(beside.splits);
        if !edges_at
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("npz"))
        {
            return if is_weighted(&edges_at)? {
                import_text::<f64>(&edges_at, beside, out, options, tell)
            } else {
                import_text::<()>(&edges_at, beside, out, options, tell)
            };
        }
    }
    let beside = [&options.features_at, &options.labels_at, &options.splits_at];
    if let Some(file) = beside.into_iter().flatten().next() {
        let what = format!(
            "{source} has its own features, labels and splits; a file beside it is for edges in a text file"
        );
        return Err(Error::data(file, "import", what));
    }
    tell("reading", 0, 0);
    let dataset = load(source, data_dir, seed)?;
    let Content::Graph(graph) = &dataset.content else {
        let what = format!(
            "{} is a set of graphs, and a folder holds one graph",
            dataset.name
        );
        return Err(Error::argument("import", what));
    };
    tell("writing", 0, 0);
    let description = write(graph, out, options)?;
    Ok(report(&description, dataset.report, dataset.sources))
}

fn report(description: &Description, dropped: BuildReport, sources: Sources) -> ImportReport {
    ImportReport {
        nodes: description.nodes,
        edges: description.edges,
        features: description.features,
        classes: description.classes.as_ref().map(Vec::len),
        splits: description.splits.len(),
        dropped,
        sources,
    }
}

fn import_text<L: EdgeLoad>(
    edges_at: &Path,
    beside: Beside,
    out: &Path,
    options: &ImportOptions,
    tell: Tell<'_>,
) -> Result<ImportReport> {
    let mut writer = FolderWriter::new(out)?;
    let size = std::fs::metadata(edges_at)
        .map_err(|e| Error::io(edges_at, e))?
        .len();
    let mut sources = Sources::default();

    let new_sorter = || ArcSorter::<L>::new(writer.scratch(), options.memory_bytes);
    let mut arcs = Arcs {
        sorter: new_sorter(),
        make: &new_sorter,
        loops: Vec::new(),
        report: BuildReport::default(),
        size,
        tell,
    };
    let streamed = stream_edges(edges_at, &mut arcs)?;
    let Arcs {
        sorter,
        mut loops,
        mut report,
        tell,
        ..
    } = arcs;
    loops.sort_unstable();
    loops.dedup();
    report.self_loop_nodes = loops.len() as u64;
    let how = if streamed.names.is_some() {
        "edges, nodes by name"
    } else {
        "edges, nodes by number"
    };
    sources.used(edges_at, how);
    if !streamed.columns_dropped.is_empty() {
        let dropped = streamed.columns_dropped.join(", ");
        sources.unused(
            edges_at,
            format!("columns {dropped} not read: neither node nor weight"),
        );
    }

    tell("reading what nodes carry", 0, 0);
    let rows = beside
        .features
        .as_deref()
        .filter(|path| is_npy(path))
        .map(NpyRows::open)
        .transpose()?;
    check_features(&beside, &streamed, rows.as_ref(), options)?;
    let nodes = beside.graph(
        &streamed,
        rows.as_ref().map(|rows| rows.num_rows),
        &mut sources,
    )?;
    let n = nodes.num_nodes();
    if let Some(rows) = &rows {
        if rows.num_rows != n {
            let what = format!(
                "{} rows, but there are {n} nodes, one row each is expected",
                rows.num_rows
            );
            return Err(Error::data(&rows.path, "whole file", what));
        }
        sources.used(
            &rows.path,
            format!("{} features of each node", rows.num_cols),
        );
    }

    let num_arcs = write_arcs(&mut writer, sorter, n, &mut report, tell)?;
    let mut description = Description::new(n, num_arcs / 2, report);
    match &rows {
        Some(rows) => {
            tell("features", 0, 0);
            write_dense(&mut writer, rows, options.features, &mut description)?;
        }
        None => write_features(&mut writer, &nodes, options, &mut description)?,
    }
    write_carried(&mut writer, &nodes, &mut description)?;
    writer.finish(description)?;
    Ok(self::report(&Description::read(out)?, report, sources))
}

/// Refuses text that would have to be in memory as a whole, and rows in order if nodes have names.
fn check_features(
    beside: &Beside,
    edges: &Streamed,
    rows: Option<&NpyRows>,
    options: &ImportOptions,
) -> Result<()> {
    let Some(path) = &beside.features else {
        return Ok(());
    };
    if rows.is_some() {
        return match &edges.names {
            Some(_) => {
                let what = "its rows stand in order, and nodes go by name here; give a features.csv with a column node instead";
                Err(Error::data(path, "whole file", what))
            }
            None => Ok(()),
        };
    }
    let size = std::fs::metadata(path)
        .map_err(|e| Error::io(path, e))?
        .len();
    if size > options.memory_bytes as u64 {
        let what = format!(
            "{size} bytes of features are read into memory, and {} are allowed; save them as a .npy of one row a node, or allow more memory",
            options.memory_bytes
        );
        return Err(Error::data(path, "whole file", what));
    }
    Ok(())
}

fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}

/// The payload of an edge as read from a file: nothing or a weight.
trait EdgeLoad: Load + PartialEq {
    fn of(weights: &[f64], i: usize) -> Self;
}

impl EdgeLoad for () {
    fn of(_: &[f64], _: usize) {}
}

impl EdgeLoad for f64 {
    fn of(weights: &[f64], i: usize) -> Self {
        weights[i]
    }
}

/// Passes edges to a sorter, in both directions.
struct Arcs<'a, 'b, L> {
    sorter: ArcSorter<L>,
    make: &'a dyn Fn() -> ArcSorter<L>,
    loops: Vec<u32>,
    report: BuildReport,
    size: u64,
    tell: Tell<'b>,
}

impl<L: EdgeLoad> EdgeSink for Arcs<'_, '_, L> {
    fn take(&mut self, edges: &[(u32, u32)], weights: &[f64]) -> Result<()> {
        for (i, &(u, v)) in edges.iter().enumerate() {
            if u == v {
                self.report.self_loops += 1;
                self.loops.push(u);
                continue;
            }
            let load = L::of(weights, i);
            self.sorter.push(u, v, load)?;
            self.sorter.push(v, u, load)?;
        }
        self.report.edges_given += edges.len() as u64;
        // A file of self-loops has at most one per node.
        if self.loops.len() > 1 << 24 {
            self.loops.sort_unstable();
            self.loops.dedup();
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.sorter = (self.make)();
        self.loops.clear();
        self.report = BuildReport::default();
    }

    fn advance(&mut self, bytes: u64) {
        (self.tell)("reading edges", bytes, self.size);
    }
}

/// Merges sorted arcs into offsets, neighbours and weights; the first of duplicate arcs is kept.
fn write_arcs<L: EdgeLoad>(
    writer: &mut FolderWriter,
    sorter: ArcSorter<L>,
    n: usize,
    report: &mut BuildReport,
    tell: Tell<'_>,
) -> Result<usize> {
    if n > MAX_NODES {
        return Err(Error::argument(
            "import",
            format!("{n} nodes, at most {MAX_NODES} fit"),
        ));
    }
    let total = 2 * (report.edges_given - report.self_loops);
    let mut neighbours = writer.array("neighbours", id_descr(n))?;
    let mut weights = (L::BYTES > 0)
        .then(|| writer.array("weights", "<f8"))
        .transpose()?;
    let mut offsets = vec![0u64; n + 1];
    let (mut last, mut last_load) = (None, L::default());
    let (mut seen, mut kept, mut twice, mut in_conflict) = (0u64, 0usize, 0u64, 0u64);
    let mut bytes = Vec::new();
    sorter.finish(|u, v, load| {
        seen += 1;
        if seen.is_multiple_of(1 << 22) {
            tell("writing edges", seen, total);
        }
        if last == Some((u, v)) {
            twice += 1;
            in_conflict += u64::from(load != last_load);
            return Ok(());
        }
        (last, last_load) = (Some((u, v)), load);
        kept += 1;
        offsets[u as usize + 1] += 1;
        if let Some(weights) = &mut weights {
            bytes.clear();
            load.to_bytes(&mut bytes);
            weights.write(&bytes)?;
        }
        neighbours.write(&v.to_le_bytes())
    })?;
    (report.duplicates, report.conflicting_weights) = (twice / 2, in_conflict / 2);
    for u in 0..n {
        offsets[u + 1] += offsets[u];
    }
    writer.end(neighbours, &[kept])?;
    if let Some(weights) = weights {
        writer.end(weights, &[kept])?;
    }
    writer.whole(
        "offsets",
        "<i8",
        &[n + 1],
        offsets.iter().map(|x| x.to_le_bytes()),
    )?;
    Ok(kept)
}

/// Writes the features of a graph in memory.
pub(super) fn write_features(
    writer: &mut FolderWriter,
    graph: &Graph,
    options: &ImportOptions,
    description: &mut Description,
) -> Result<()> {
    match graph.features() {
        None => Ok(()),
        Some(Features::Sparse(_)) if options.features != FeatureType::F32 => {
            let what = format!(
                "{} is for dense features, and these are sparse: leave it out",
                options.features
            );
            Err(Error::argument("feature type", what))
        }
        Some(Features::Sparse(m)) => {
            description.features = Some(m.num_cols());
            let entries = [m.num_entries()];
            writer.whole(
                "feature_offsets",
                "<i8",
                &[m.num_rows() + 1],
                m.offsets().iter().map(|x| x.to_le_bytes()),
            )?;
            writer.whole(
                "feature_columns",
                "<i4",
                &entries,
                m.indices().iter().map(|x| x.to_le_bytes()),
            )?;
            writer.whole(
                "feature_values",
                "<f4",
                &entries,
                m.values().iter().map(|x| x.to_le_bytes()),
            )
        }
        Some(Features::Dense(m)) => {
            let rows = MemoryRows {
                data: m.data(),
                num_rows: m.num_rows(),
                num_cols: m.num_cols(),
            };
            write_dense(writer, &rows, options.features, description)
        }
    }
}

/// Rows that can be read more than once.
trait Rows {
    fn shape(&self) -> [usize; 2];
    /// Calls `visit` with some whole rows at a time.
    fn each(&self, visit: &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()>;
}

struct MemoryRows<'a> {
    data: &'a [f32],
    num_rows: usize,
    num_cols: usize,
}

impl Rows for MemoryRows<'_> {
    fn shape(&self) -> [usize; 2] {
        [self.num_rows, self.num_cols]
    }

    fn each(&self, visit: &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()> {
        self.data
            .chunks(4096 * self.num_cols.max(1))
            .try_for_each(visit)
    }
}

/// The rows of a `.npy` file of any number type.
struct NpyRows {
    path: PathBuf,
    num_rows: usize,
    num_cols: usize,
}

impl NpyRows {
    fn open(path: &Path) -> Result<Self> {
        let array = NpyFile::open(path)?;
        match *array.shape() {
            [num_rows, num_cols] => Ok(Self {
                path: path.to_path_buf(),
                num_rows,
                num_cols,
            }),
            ref shape => Err(Error::data(
                path,
                "header",
                format!("shape {shape:?}, a row for each node is expected"),
            )),
        }
    }
}

impl Rows for NpyRows {
    fn shape(&self) -> [usize; 2] {
        [self.num_rows, self.num_cols]
    }

    fn each(&self, visit: &mut dyn FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let mut array = NpyFile::open(&self.path)?;
        let at_once = 4096 * self.num_cols.max(1);
        let mut left = self.num_rows * self.num_cols;
        while left > 0 {
            let block = array.read_f32s(left.min(at_once))?;
            left -= block.len();
            visit(&block)?;
        }
        Ok(())
    }
}

fn write_dense(
    writer: &mut FolderWriter,
    rows: &dyn Rows,
    kind: FeatureType,
    description: &mut Description,
) -> Result<()> {
    let [n, width] = rows.shape();
    description.features = Some(width);
    let mut bytes = Vec::new();
    match kind {
        FeatureType::F32 => {
            let mut array = writer.array("features", "<f4")?;
            rows.each(&mut |block| {
                bytes.clear();
                block
                    .iter()
                    .for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
                array.write(&bytes)
            })?;
            writer.end(array, &[n, width])
        }
        FeatureType::F16 => {
            let mut array = writer.array("features", "<f2")?;
            rows.each(&mut |block| {
                bytes.clear();
                for x in block {
                    let half = f16::from_f32(*x);
                    if !half.is_finite() {
                        let what = format!(
                            "a feature of {x} does not fit f16, whose largest is 65504: take f32"
                        );
                        return Err(Error::argument("feature type", what));
                    }
                    bytes.extend_from_slice(&half.to_le_bytes());
                }
                array.write(&bytes)
            })?;
            writer.end(array, &[n, width])
        }
        FeatureType::U8 => {
            let levels = Levels::of(rows)?;
            let mut array = writer.array("features", "|u1")?;
            rows.each(&mut |block| {
                bytes.clear();
                bytes.extend(
                    block
                        .iter()
                        .enumerate()
                        .map(|(i, x)| levels.byte(i % width, *x)),
                );
                array.write(&bytes)
            })?;
            writer.end(array, &[n, width])?;
            let both = levels
                .scale
                .iter()
                .chain(&levels.least)
                .map(|x| x.to_le_bytes());
            writer.whole("feature_scale", "<f4", &[2, width], both)
        }
    }
}

/// Scale and offset of the bytes of each column.
struct Levels {
    scale: Vec<f32>,
    least: Vec<f32>,
}

impl Levels {
    fn of(rows: &dyn Rows) -> Result<Self> {
        let width = rows.shape()[1];
        let mut least = vec![f32::INFINITY; width];
        let mut largest = vec![f32::NEG_INFINITY; width];
        let mut whole = vec![true; width];
        rows.each(&mut |block| {
            for row in block.chunks_exact(width.max(1)) {
                for (c, x) in row.iter().enumerate() {
                    least[c] = least[c].min(*x);
                    largest[c] = largest[c].max(*x);
                    whole[c] &= x.fract() == 0.0 && (0.0..=255.0).contains(x);
                }
            }
            Ok(())
        })?;
        let mut scale = vec![1f32; width];
        for c in 0..width {
            if whole[c] || !least[c].is_finite() {
                least[c] = 0.0;
            } else {
                scale[c] = (largest[c] / 255.0 - least[c] / 255.0).max(f32::MIN_POSITIVE);
            }
        }
        Ok(Self { scale, least })
    }

    fn byte(&self, column: usize, x: f32) -> u8 {
        // The difference of two large values of opposite sign does not fit an f32.
        let steps = (f64::from(x) - f64::from(self.least[column])) / f64::from(self.scale[column]);
        steps.round().clamp(0.0, 255.0) as u8
    }
}
