//! Planetoid's files ([Yang, Cohen and Salakhutdinov 2016](https://arxiv.org/abs/1603.08861)):
//! Cora, CiteSeer and PubMed with the public split.
//!
//! | file | contents |
//! | --- | --- |
//! | `ind.NAME.allx`, `ally` | features and one-hot classes of the nodes `0, 1, …` that are not for testing |
//! | `ind.NAME.x`, `y` | features and classes of the training nodes, which come first among these |
//! | `ind.NAME.tx`, `ty` | features and classes of the test nodes, in the order of `test.index` |
//! | `ind.NAME.test.index` | the test nodes' ids, one a line |
//! | `ind.NAME.graph` | a dict from node to neighbours; it repeats edges and holds self-loops |
//!
//! CiteSeer's test ids have 15 gaps. These nodes exist, with edges, but without features or label.

use std::path::{Path, PathBuf};

use crate::pickle::{self, Array, Object};
use crate::text;
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph, MAX_NODES};
use gnarl_graph::labels::Labels;
use gnarl_graph::matrix::CsrMatrix;
use gnarl_graph::split::Split;

/// Largest pickle read in bytes, 64 MiB; PubMed's largest has 11 MB.
const MAX_PICKLE_BYTES: u64 = 64 << 20;

/// Number of validation nodes of the public split, which follow the training nodes.
const NUM_VAL: usize = 500;

/// Loads `ind.NAME.*` from `dir`, with one split called `public`.
///
/// The split trains on the rows of `x`, validates on the next 500 (fewer where `allx` ends) and
/// tests on `test.index`.
pub fn load(dir: &Path, name: &str) -> Result<(Graph, BuildReport)> {
    let file = |part: &str| dir.join(format!("ind.{}.{part}", name.to_lowercase()));
    let allx = Part::read(file("allx"), file("ally"))?;
    let x = Part::read(file("x"), file("y"))?;
    let tx = Part::read(file("tx"), file("ty"))?;
    x.check_like(&allx)?;
    tx.check_like(&allx)?;
    let (num_train, num_known) = (x.classes.len(), allx.classes.len());
    if num_train > num_known {
        let what = format!("{num_train} rows, but allx, which holds them too, has {num_known}");
        return Err(Error::data(&x.features_file, "csr_matrix", what));
    }

    let index_file = file("test.index");
    let test = parse_test_index(&index_file, &text::read(&index_file)?, num_known)?;
    if test.len() != tx.classes.len() {
        let what = format!("{} ids, but tx has {} rows", test.len(), tx.classes.len());
        return Err(Error::data(&index_file, "whole file", what));
    }
    let lists_file = file("graph");
    let lists = read_lists(&lists_file)?;
    let num_nodes = check_nodes(&lists_file, &lists, num_known, &test)?;

    let (features, classes) = assemble(&allx, &tx, &test, num_nodes);
    let edges = lists
        .iter()
        .flat_map(|(u, list)| list.iter().map(|&v| (*u as u32, v as u32)));
    let val = num_train..(num_train + NUM_VAL).min(num_known);
    let ids = |range: std::ops::Range<usize>| range.map(|u| u as u32).collect();
    let split = Split::new("public", ids(0..num_train), ids(val), test)?;
    let (graph, report) = Graph::from_edges(num_nodes, edges)?;
    let graph = graph
        .with_features(Features::Sparse(features))?
        .with_labels(Labels::new(classes, allx.num_classes)?)?
        .with_splits(vec![split])?;
    Ok((graph, report))
}

/// Features and classes of some of the nodes.
struct Part {
    features_file: PathBuf,
    classes_file: PathBuf,
    features: CsrMatrix<f32>,
    classes: Vec<Option<u32>>,
    num_classes: usize,
}

impl Part {
    fn read(features_file: PathBuf, classes_file: PathBuf) -> Result<Self> {
        let features = match read_pickle(&features_file)? {
            Object::Csr(features) => features,
            _ => {
                return Err(Error::data(
                    &features_file,
                    "whole file",
                    "a csr_matrix is expected",
                ));
            }
        };
        let (classes, num_classes) = match read_pickle(&classes_file)? {
            Object::Array(array) => one_hot_classes(&classes_file, &array)?,
            _ => {
                return Err(Error::data(
                    &classes_file,
                    "whole file",
                    "an array is expected",
                ));
            }
        };
        if features.num_rows() != classes.len() {
            let what = format!(
                "{} rows of classes for {} rows of features",
                classes.len(),
                features.num_rows()
            );
            return Err(Error::data(&classes_file, "array", what));
        }
        Ok(Self {
            features_file,
            classes_file,
            features,
            classes,
            num_classes,
        })
    }

    /// Fails if the widths differ from those of `allx` and `ally`.
    fn check_like(&self, all: &Self) -> Result<()> {
        let (cols, all_cols) = (self.features.num_cols(), all.features.num_cols());
        if cols != all_cols {
            let what = format!("{cols} features, but allx has {all_cols}");
            return Err(Error::data(&self.features_file, "csr_matrix", what));
        }
        if self.num_classes != all.num_classes {
            let what = format!(
                "{} classes, but ally has {}",
                self.num_classes, all.num_classes
            );
            return Err(Error::data(&self.classes_file, "array", what));
        }
        Ok(())
    }
}

fn read_pickle(path: &Path) -> Result<Object> {
    pickle::parse(path, &text::read_bytes(path, MAX_PICKLE_BYTES)?)
}

/// Returns the class of each one-hot row, none for a row of zeros, and the number of classes.
fn one_hot_classes(path: &Path, array: &Array) -> Result<(Vec<Option<u32>>, usize)> {
    let (rows, num_classes) = match array.shape[..] {
        [rows, num_classes] if num_classes > 0 => (rows, num_classes),
        _ => {
            let what = format!(
                "shape {:?}, a row per node and a column per class are expected",
                array.shape
            );
            return Err(Error::data(path, "array", what));
        }
    };
    let class_of = |row: usize| {
        let mut class = None;
        for (c, value) in array.row(row).enumerate() {
            if value == 1.0 && class.is_none() {
                class = Some(c as u32);
            } else if value != 0.0 {
                return Err(Error::data(
                    path,
                    format!("row {row}"),
                    format!("column {c} is {value}: not one-hot"),
                ));
            }
        }
        Ok(class)
    };
    Ok(((0..rows).map(class_of).collect::<Result<_>>()?, num_classes))
}

/// Parses the test ids in file order: each once, none below the number of rows of `allx`.
fn parse_test_index(path: &Path, text: &str, num_known: usize) -> Result<Vec<u32>> {
    let range = num_known as u64..MAX_NODES as u64;
    let mut first_line = std::collections::HashMap::new();
    text::lines(text)
        .map(|(line, field)| {
            let id = text::parse_id(path, line, field, "a test node's id", range.clone())?;
            match first_line.insert(id, line) {
                None => Ok(id),
                Some(first) => Err(text::at_line(
                    path,
                    line,
                    format!("id {id} stands on line {first} already"),
                )),
            }
        })
        .collect()
}

/// Neighbours by node, in file order.
type Lists = Vec<(i64, Vec<i64>)>;

fn read_lists(path: &Path) -> Result<Lists> {
    match read_pickle(path)? {
        Object::Lists(lists) => Ok(lists),
        _ => Err(Error::data(
            path,
            "whole file",
            "a dict of lists is expected",
        )),
    }
}

/// Returns the number of nodes: up to the last with features. A node without features must have a
/// list, so that a huge test id is an error and not a huge graph.
fn check_nodes(path: &Path, lists: &Lists, num_known: usize, test: &[u32]) -> Result<usize> {
    let num_nodes = test
        .iter()
        .max()
        .map_or(num_known, |&last| last as usize + 1);
    let num_holes = num_nodes - num_known - test.len();
    if num_holes > lists.len() {
        let what = format!(
            "{num_holes} ids are missing from test.index below {num_nodes}, more than there are lists"
        );
        return Err(Error::data(path, "whole file", what));
    }
    let mut described = vec![false; num_nodes];
    described[..num_known].fill(true);
    test.iter().for_each(|&u| described[u as usize] = true);
    let mut listed = vec![false; num_nodes];
    for (u, list) in lists {
        let refuse = |what: String| Err(Error::data(path, format!("node {u}"), what));
        let in_range = |u: i64| (0..num_nodes as i64).contains(&u);
        if !in_range(*u) {
            return refuse(format!(
                "there are {num_nodes} nodes by allx and test.index"
            ));
        }
        if let Some(v) = list.iter().find(|&&v| !in_range(v)) {
            return refuse(format!(
                "neighbour {v} is out of range, there are {num_nodes} nodes by allx and test.index"
            ));
        }
        if std::mem::replace(&mut listed[*u as usize], true) {
            return refuse("it has two lists of neighbours".into());
        }
    }
    match (0..num_nodes).find(|&u| !described[u] && !listed[u]) {
        Some(u) => Err(Error::data(
            path,
            format!("node {u}"),
            "it stands in neither allx nor test.index nor graph",
        )),
        None => Ok(num_nodes),
    }
}

/// Assembles features and classes of all nodes: those of `allx`, then those of `tx` at their test
/// ids, and nothing for the missing ids.
fn assemble(
    allx: &Part,
    tx: &Part,
    test: &[u32],
    num_nodes: usize,
) -> (CsrMatrix<f32>, Vec<Option<u32>>) {
    let mut row_of = vec![None; num_nodes];
    for (row, &u) in test.iter().enumerate() {
        row_of[u as usize] = Some(row);
    }
    let mut classes = allx.classes.clone();
    let mut offsets = allx.features.offsets().to_vec();
    let mut indices = allx.features.indices().to_vec();
    let mut values = allx.features.values().to_vec();
    for row in &row_of[allx.classes.len()..] {
        if let Some(row) = *row {
            indices.extend_from_slice(tx.features.row(row).0);
            values.extend_from_slice(tx.features.row(row).1);
        }
        classes.push(row.and_then(|row| tx.classes[row]));
        offsets.push(indices.len() as u64);
    }
    (
        CsrMatrix::from_parts(allx.features.num_cols(), offsets, indices, values),
        classes,
    )
}

/// Fuzzing: any content of a pickle.
#[doc(hidden)]
pub fn fuzz_pickle(bytes: &[u8]) -> Result<()> {
    let path = Path::new("ind.fuzz");
    match pickle::parse(path, bytes)? {
        Object::Array(array) => one_hot_classes(path, &array).map(drop),
        Object::Lists(lists) => check_nodes(path, &lists, 1, &[1, 3]).map(drop),
        Object::Csr(_) => Ok(()),
    }
}

/// Fuzzing: any content of `test.index`.
#[doc(hidden)]
pub fn fuzz_test_index(bytes: &[u8]) -> Result<()> {
    let path = Path::new("ind.fuzz.test.index");
    let text = String::from_utf8_lossy(bytes);
    let test = parse_test_index(path, &text, 2)?;
    check_nodes(path, &vec![(1, vec![0])], 2, &test).map(drop)
}
