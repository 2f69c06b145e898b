//! Python classes of graphs and sets of graphs.

use gnarl_data::registry::{self, Entry};
use gnarl_data::{Content, Dataset};
use gnarl_data::{Sources, data_dir, load};
use gnarl_graph::{BuildReport, CsrMatrix, DenseMatrix, Features, Graph, GraphSet, Labels, Split};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{dense, ids, offsets, reals, shared, shared_matrix, sparse};
use crate::errors::{raised, wrong};
use crate::work;

/// The Python module that converts objects of other libraries to arguments of this one, and back.
const CONVERT: &str = "gnarl._convert";

/// Undirected, simple graph with features, classes and splits. It is immutable.
///
/// Edges in both directions and repeated edges are one edge; self-loops are dropped. `dropped` counts
/// both. If an edge has two weights, the first is used, with a warning.
///
/// Parameters
/// ----------
/// data : object
///     NumPy `edge_index` of shape (2, n_edges) or a tensor of PyTorch; list of pairs; SciPy sparse
///     adjacency matrix; table of edges of pandas, polars or Arrow; NetworkX graph; `Data` of PyTorch
///     Geometric, or a mapping with the same names; name of a dataset or a path; or a Graph.
/// num_nodes : int, default=None
///     Number of nodes of a list of edges. None: that of `x` or `y`, or the largest id plus one.
/// x : array-like or sparse matrix of shape (n_nodes, n_features), default=None
///     Features.
/// y : array-like of shape (n_nodes,), default=None
///     Classes. NaN, None, empty text and -1 are missing (-1 and 1 alone are two classes).
/// edge_weight : array-like of shape (n_edges,), default=None
///     Weights of a list of edges.
/// train_mask, val_mask, test_mask : array-like, default=None
///     Split, as boolean masks, indices or slices.
/// node_names : sequence of str, default=None
///     Names of the nodes.
/// name : str, default=None
///     Name of the graph.
///
/// Raises
/// ------
/// ValueError
///     For data that is not read as a graph, and for parts that do not fit. The message names the
///     argument and the position.
///
/// Examples
/// --------
/// >>> import gnarl
/// >>> gnarl.Graph([(0, 1), (1, 2), (2, 0)], y=["a", "b", "a"])
/// Graph("graph": 3 nodes, 3 edges, 2 classes)
#[pyclass(frozen, module = "gnarl", name = "Graph", weakref)]
#[derive(Clone)]
pub struct PyGraph {
    pub name: String,
    pub graph: Graph,
    pub entry: Option<&'static Entry>,
    /// True if its features are scaled as a fitted model needs them.
    pub scaled: bool,
    pub report: BuildReport,
}

impl PyGraph {
    /// Makes a graph of the user's own.
    pub fn of(graph: Graph, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            graph,
            entry: None,
            scaled: false,
            report: BuildReport::default(),
        }
    }

    fn dense_features(&self) -> Option<&DenseMatrix<f32>> {
        match self.graph.features() {
            Some(Features::Dense(matrix)) => Some(matrix),
            _ => None,
        }
    }

    fn sparse_features(&self) -> Option<&CsrMatrix<f32>> {
        match self.graph.features() {
            Some(Features::Sparse(matrix)) => Some(matrix),
            _ => None,
        }
    }

    /// Returns a copy with another graph in its place.
    pub fn with_graph(&self, graph: Graph) -> Self {
        Self {
            graph,
            ..self.clone()
        }
    }
}

/// A part of a split as Python passes it.
pub type Parts<'py> = (
    String,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

/// Row boundaries, columns and values of a sparse matrix, and how many columns it has.
type SparseParts<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    usize,
);

/// Makes a split of these parts.
pub fn split_of((name, train, val, test): &Parts<'_>) -> PyResult<Split> {
    let split = Split::new(
        name,
        ids(train, "training nodes or graphs")?,
        ids(val, "validation nodes or graphs")?,
        ids(test, "test nodes or graphs")?,
    );
    split.map_err(raised)
}

/// A split as returned to Python.
pub type GivenSplit<'py> = (
    String,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

pub fn given_split<'py>(py: Python<'py>, split: &Split) -> GivenSplit<'py> {
    let part = |items: &[u32]| PyArray1::from_iter(py, items.iter().map(|&i| i64::from(i)));
    (
        split.name().to_string(),
        part(split.train()),
        part(split.val()),
        part(split.test()),
    )
}

/// Makes labels from codes, -1 for none, and the classes' names.
fn labels_of(codes: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<Labels> {
    let typed = codes
        .cast::<PyArray1<i64>>()
        .map_err(|_| wrong("y: classes must be coded by int64 numbers"))?;
    let typed = numpy::PyArrayMethods::readonly(typed);
    let codes = typed.as_slice().map_err(|_| wrong("y: not contiguous"))?;
    let classes = codes.iter().map(|&c| u32::try_from(c).ok()).collect();
    Labels::new(classes, names.len())
        .and_then(|labels| labels.with_names(names))
        .map_err(raised)
}

fn given_labels<'py>(py: Python<'py>, labels: &Labels) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, labels.classes().iter().map(|c| c.map_or(-1, i64::from)))
}

fn names_of(labels: &Labels) -> Vec<String> {
    (0..labels.num_classes() as u32)
        .map(|c| labels.name(c))
        .collect()
}

#[pymethods]
impl PyGraph {
    /// Makes a graph from a supported object.
    #[new]
    #[pyo3(signature = (data, **keywords))]
    fn new(data: &Bound<'_, PyAny>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let graph = data
            .py()
            .import(CONVERT)?
            .call_method("to_graph", (data,), keywords)?;
        Ok(graph.cast::<Self>()?.get().clone())
    }

    /// Makes a graph from pairs of nodes, in any order and direction.
    #[staticmethod]
    #[pyo3(signature = (num_nodes, rows, columns, weights=None))]
    fn _from_edges(
        py: Python<'_>,
        num_nodes: usize,
        rows: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (rows, columns) = (ids(rows, "edges")?, ids(columns, "edges")?);
        let weights = weights
            .map(|weights| reals(weights, "edge weights"))
            .transpose()?;
        if rows.len() != columns.len() || weights.as_ref().is_some_and(|w| w.len() != rows.len()) {
            return Err(wrong(
                "edges: there must be as many first ends, second ends and weights",
            ));
        }
        let made = py.detach(move || {
            let pairs = rows.iter().zip(&columns).map(|(&u, &v)| (u, v));
            match weights {
                None => Graph::from_edges(num_nodes, pairs),
                Some(weights) => Graph::from_weighted_edges(
                    num_nodes,
                    pairs.zip(weights).map(|((u, v), w)| (u, v, w)),
                ),
            }
        });
        let (graph, report) = made.map_err(raised)?;
        Ok(Self {
            report,
            ..Self::of(graph, "graph")
        })
    }

    /// Makes a graph from compressed rows.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, weights=None))]
    fn _from_csr(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (offsets, targets) = (offsets(indptr, "indptr")?, ids(indices, "indices")?);
        let weights = weights
            .map(|weights| reals(weights, "edge weights"))
            .transpose()?;
        if !offsets.is_sorted()
            || offsets.first() != Some(&0)
            || offsets.last() != Some(&(targets.len() as u64))
        {
            return Err(wrong(format!(
                "indptr: it must rise from 0 to the number of entries, {}",
                targets.len()
            )));
        }
        if weights.as_ref().is_some_and(|w| w.len() != targets.len()) {
            return Err(wrong("edge weights: there must be one for each entry"));
        }
        let (graph, report) =
            work::quietly(py, None, move || {
                match Graph::from_rows_as_they_are(offsets, targets, weights) {
                    Ok(graph) => Ok((graph, BuildReport::default())),
                    Err(rows) => {
                        let n = rows.offsets.len() - 1;
                        let ends =
                            |u: usize| rows.offsets[u] as usize..rows.offsets[u + 1] as usize;
                        let pairs = (0..n).flat_map(|u| ends(u).map(move |k| (u as u32, k)));
                        Ok(match &rows.weights {
                            None => Graph::from_edges(n, pairs.map(|(u, k)| (u, rows.targets[k])))?,
                            Some(w) => Graph::from_weighted_edges(
                                n,
                                pairs.map(|(u, k)| (u, rows.targets[k], w[k])),
                            )?,
                        })
                    }
                }
            })?;
        Ok(Self {
            report,
            ..Self::of(graph, "graph")
        })
    }

    /// Replaces some parts.
    #[pyo3(signature = (*, name=None, x=None, sparse_x=None, y=None, splits=None, node_names=None, scaled=None, registered=None))]
    #[allow(clippy::too_many_arguments)]
    fn _replace(
        &self,
        name: Option<String>,
        x: Option<&Bound<'_, PyAny>>,
        sparse_x: Option<SparseParts<'_>>,
        y: Option<(Bound<'_, PyAny>, Vec<String>)>,
        splits: Option<Vec<Parts<'_>>>,
        node_names: Option<Vec<String>>,
        scaled: Option<bool>,
        registered: Option<bool>,
    ) -> PyResult<Self> {
        let mut new = self.clone();
        if let Some(name) = name {
            new.name = name;
        }
        if let Some(x) = x {
            new.graph = new
                .graph
                .with_features(Features::Dense(dense(x, "x")?))
                .map_err(raised)?;
        }
        if let Some((indptr, indices, data, columns)) = sparse_x {
            let matrix = sparse((&indptr, &indices, &data), columns, "x")?;
            new.graph = new
                .graph
                .with_features(Features::Sparse(matrix))
                .map_err(raised)?;
        }
        if let Some((codes, names)) = y {
            new.graph = new
                .graph
                .with_labels(labels_of(&codes, names)?)
                .map_err(raised)?;
        }
        if let Some(splits) = splits {
            let splits = splits.iter().map(split_of).collect::<PyResult<Vec<_>>>()?;
            new.graph = new.graph.with_splits(splits).map_err(raised)?;
        }
        if let Some(names) = node_names {
            new.graph = new.graph.with_node_names(names).map_err(raised)?;
        }
        new.scaled = scaled.unwrap_or(new.scaled);
        if let Some(registered) = registered {
            new.entry = if registered {
                registry::get(&new.name)
            } else {
                None
            };
        }
        Ok(new)
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Number of nodes.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.graph.num_nodes()
    }

    /// Number of undirected edges.
    #[getter]
    fn num_edges(&self) -> usize {
        self.graph.num_edges()
    }

    /// Number of feature columns; 0 without features.
    #[getter]
    fn num_features(&self) -> usize {
        self.graph.features().map_or(0, Features::num_cols)
    }

    /// True if its splits are the standard splits of its dataset.
    #[getter]
    fn registered(&self) -> bool {
        self.entry.is_some()
    }

    /// True if its features are scaled as a fitted model needs them: a model then does not scale
    /// them again.
    #[getter]
    fn scaled(&self) -> bool {
        self.scaled
    }

    /// Row boundaries: node u owns the entries indptr[u] to indptr[u + 1] of indices.
    #[getter]
    fn indptr<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        shared(slf, |own| own.graph.offsets())
    }

    /// The neighbours of every node, ascending, one node after the other.
    #[getter]
    fn indices<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        shared(slf, |own| own.graph.targets())
    }

    /// The weight of each entry of indices; None if all edges have weight one.
    #[getter]
    fn weights<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        if slf.get().graph.weights().is_none() {
            return Ok(None);
        }
        shared(slf, |own| own.graph.weights().unwrap_or_default()).map(Some)
    }

    /// Both directions of every edge, int64, shape (2, 2 * num_edges), as in PyTorch Geometric.
    #[getter]
    fn edge_index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let graph = &self.graph;
        let from = (0..graph.num_nodes() as u32)
            .flat_map(|u| graph.neighbours(u).iter().map(move |_| i64::from(u)));
        let to = graph.targets().iter().map(|&v| i64::from(v));
        let both: Vec<i64> = from.chain(to).collect();
        numpy::PyArrayMethods::reshape(&PyArray1::from_vec(py, both), [2, graph.num_arcs()])
    }

    /// Dense features; None for sparse features and without features.
    #[getter]
    fn _dense_x<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        shared_matrix(slf, PyGraph::dense_features)
    }

    /// Sparse features: row boundaries, columns, values and the number of columns.
    #[getter]
    #[allow(clippy::type_complexity)]
    fn _sparse_x<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<
        Option<(
            Bound<'py, PyArray1<u64>>,
            Bound<'py, PyArray1<u32>>,
            Bound<'py, PyArray1<f32>>,
            usize,
        )>,
    > {
        let Some(matrix) = slf.get().sparse_features() else {
            return Ok(None);
        };
        let num_cols = matrix.num_cols();
        Ok(Some((
            shared(slf, |own| {
                own.sparse_features().map_or(&[], CsrMatrix::offsets)
            })?,
            shared(slf, |own| {
                own.sparse_features().map_or(&[], CsrMatrix::indices)
            })?,
            shared(slf, |own| {
                own.sparse_features().map_or(&[], CsrMatrix::values)
            })?,
            num_cols,
        )))
    }

    /// Features as a dense NumPy array; None without features.
    #[getter]
    fn x<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match slf.get().graph.features() {
            None => Ok(None),
            Some(Features::Dense(_)) => {
                let matrix = shared_matrix(slf, PyGraph::dense_features)?;
                Ok(matrix.map(Bound::into_any))
            }
            Some(sparse) => Ok(Some(
                crate::arrays::given(slf.py(), &sparse.to_dense())?.into_any(),
            )),
        }
    }

    /// The class of each node by its index among the classes, -1 for none; None for a graph without
    /// labels.
    #[getter]
    fn y<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        self.graph.labels().map(|labels| given_labels(py, labels))
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.graph.labels().map_or_else(Vec::new, names_of)
    }

    /// Names of the nodes; None if nodes have numbers only.
    #[getter]
    fn node_names(&self) -> Option<Vec<String>> {
        self.graph.node_names().map(<[String]>::to_vec)
    }

    /// Its own splits: name, training, validation and test nodes.
    #[getter]
    fn splits<'py>(&self, py: Python<'py>) -> Vec<GivenSplit<'py>> {
        self.graph
            .splits()
            .iter()
            .map(|split| given_split(py, split))
            .collect()
    }

    /// Edges dropped to make it undirected and simple.
    #[getter]
    fn dropped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dropped = PyDict::new(py);
        dropped.set_item("edges_given", self.report.edges_given)?;
        dropped.set_item("self_loops", self.report.self_loops)?;
        dropped.set_item("duplicates", self.report.duplicates)?;
        dropped.set_item("conflicting_weights", self.report.conflicting_weights)?;
        Ok(dropped)
    }

    /// Returns the graph and the split that a fit without masks uses.
    ///
    /// Parameters
    /// ----------
    /// seed : int, default=0
    ///     Seed of a random split.
    ///
    /// Returns
    /// -------
    /// graph : Graph
    ///     Graph of the dataset's protocol, possibly its largest component.
    /// split : tuple
    ///     Name of the split, and its training, validation and test nodes.
    #[pyo3(signature = (seed=0))]
    fn protocol<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<(Self, GivenSplit<'py>)> {
        let first =
            dataset(&self.name, Content::Graph(self.graph.clone()), self.entry).benchmark(seed, 1);
        let first = first.map_err(raised)?.first();
        let graph = first.content.graph().map_err(raised)?.clone();
        Ok((self.with_graph(graph), given_split(py, &first.split)))
    }

    /// Returns the neighbours of a node.
    ///
    /// Parameters
    /// ----------
    /// node : int
    ///     Node.
    ///
    /// Returns
    /// -------
    /// ndarray of int64
    ///     Neighbours, ascending.
    ///
    /// Raises
    /// ------
    /// IndexError
    ///     If there is no such node.
    fn neighbours<'py>(&self, py: Python<'py>, node: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if node >= self.graph.num_nodes() {
            return Err(PyIndexError::new_err(format!(
                "node {node}: the graph has {}",
                self.graph.num_nodes()
            )));
        }
        Ok(PyArray1::from_iter(
            py,
            self.graph
                .neighbours(node as u32)
                .iter()
                .map(|&v| i64::from(v)),
        ))
    }

    /// Returns the largest component.
    fn largest_component(&self) -> Self {
        self.with_graph(self.graph.largest_component().0)
    }

    /// Returns the subgraph induced by some nodes, in that order.
    ///
    /// Parameters
    /// ----------
    /// nodes : array-like
    ///     Nodes, as indices or a boolean mask.
    ///
    /// Returns
    /// -------
    /// Graph
    ///     Subgraph.
    fn subgraph(&self, nodes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let nodes = nodes
            .py()
            .import(CONVERT)?
            .call_method1("to_items", (nodes, self.graph.num_nodes(), "nodes"))?;
        Ok(self.with_graph(
            self.graph
                .subgraph(&ids(&nodes, "nodes")?)
                .map_err(raised)?,
        ))
    }

    /// Returns the adjacency as a scipy.sparse.csr_array, float64.
    fn to_scipy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(CONVERT)?.call_method1("to_scipy", (slf,))
    }

    /// Returns a networkx.Graph with x and y as attributes of its nodes.
    fn to_networkx<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import(CONVERT)?
            .call_method1("to_networkx", (slf,))
    }

    /// Returns a torch_geometric.data.Data with x, y, edge_index and masks.
    fn to_pyg<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(CONVERT)?.call_method1("to_pyg", (slf,))
    }

    /// Returns a pandas.DataFrame with one row for each edge.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(CONVERT)?.call_method1("to_pandas", (slf,))
    }

    fn __len__(&self) -> usize {
        self.graph.num_nodes()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else {
            return false;
        };
        let (a, b) = (&self.graph, &other.get().graph);
        let same_rows =
            a.offsets() == b.offsets() && a.targets() == b.targets() && a.weights() == b.weights();
        let labels = |graph: &Graph| {
            graph
                .labels()
                .map(|labels| (labels.classes().to_vec(), names_of(labels)))
        };
        same_rows
            && a.features() == b.features()
            && labels(a) == labels(b)
            && a.splits() == b.splits()
    }

    fn __hash__(&self) -> u64 {
        Content::Graph(self.graph.clone()).fingerprint()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import(CONVERT)?
            .call_method1("reduce_graph", (slf,))
    }

    fn __repr__(&self) -> String {
        let mut text = format!(
            "Graph({:?}: {} nodes, {} edges",
            self.name,
            self.num_nodes(),
            self.num_edges()
        );
        if self.graph.weights().is_some() {
            text += ", weighted";
        }
        if let Some(features) = self.graph.features() {
            text += &format!(", {} features", features.num_cols());
        }
        if self.scaled {
            text += " as a model takes them";
        }
        if let Some(labels) = self.graph.labels() {
            text += &format!(", {} classes", labels.num_classes());
        }
        text + ")"
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import(CONVERT)?
            .call_method1("html_of_graph", (slf,))
    }
}

/// Set of graphs with one class each. It is immutable and indexed like a list.
///
/// Parameters
/// ----------
/// graphs : list
///     Graphs, or anything that `gnarl.Graph` reads.
/// y : array-like of shape (n_graphs,), default=None
///     Class of each graph; None for the attribute `y` of graphs of PyTorch Geometric.
/// name : str, default=None
///     Name of the set.
/// train, val, test : array-like, default=None
///     Split, as masks or indices.
///
/// Raises
/// ------
/// ValueError
///     For an item that is not read as a graph, and for classes of another length.
///
/// Examples
/// --------
/// >>> import gnarl
/// >>> gnarl.GraphSet([[(0, 1)], [(0, 1), (1, 2)]], [0, 1])
/// GraphSet("graphs": 2 graphs, 5 nodes, 3 edges, 2 classes)
#[pyclass(frozen, module = "gnarl", name = "GraphSet", weakref)]
#[derive(Clone)]
pub struct PyGraphSet {
    pub name: String,
    pub set: GraphSet,
    pub entry: Option<&'static Entry>,
}

#[pymethods]
impl PyGraphSet {
    /// Makes a set from graphs of any kind and a label for each.
    #[new]
    #[pyo3(signature = (graphs, y=None, **keywords))]
    fn new(
        graphs: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let set =
            graphs
                .py()
                .import(CONVERT)?
                .call_method("to_graph_set", (graphs, y), keywords)?;
        Ok(set.cast::<Self>()?.get().clone())
    }

    #[staticmethod]
    #[pyo3(signature = (graphs, codes, names, name, splits, registered=false))]
    fn _from_graphs(
        graphs: Vec<Bound<'_, PyGraph>>,
        codes: &Bound<'_, PyAny>,
        names: Vec<String>,
        name: String,
        splits: Vec<Parts<'_>>,
        registered: bool,
    ) -> PyResult<Self> {
        let graphs = graphs
            .iter()
            .map(|graph| graph.get().graph.clone())
            .collect();
        let set = GraphSet::new(graphs, labels_of(codes, names)?, None);
        let splits = splits.iter().map(split_of).collect::<PyResult<Vec<_>>>()?;
        let set = set
            .and_then(|set| set.with_splits(splits))
            .map_err(raised)?;
        let entry = if registered {
            registry::get(&name)
        } else {
            None
        };
        Ok(Self { name, set, entry })
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// True if its folds are the standard folds of its dataset.
    #[getter]
    fn registered(&self) -> bool {
        self.entry.is_some()
    }

    /// The class of each graph by its index among the classes, -1 for none.
    #[getter]
    fn y<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        given_labels(py, self.set.labels())
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        names_of(self.set.labels())
    }

    /// Its own splits.
    #[getter]
    fn splits<'py>(&self, py: Python<'py>) -> Vec<GivenSplit<'py>> {
        self.set
            .splits()
            .iter()
            .map(|split| given_split(py, split))
            .collect()
    }

    /// Returns the fold that a fit without masks uses.
    ///
    /// Parameters
    /// ----------
    /// seed : int, default=0
    ///     Seed of a random fold.
    ///
    /// Returns
    /// -------
    /// tuple
    ///     Name of the fold, and its training, validation and test graphs.
    #[pyo3(signature = (seed=0))]
    fn protocol<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<GivenSplit<'py>> {
        let first =
            dataset(&self.name, Content::Graphs(self.set.clone()), self.entry).benchmark(seed, 1);
        Ok(given_split(py, &first.map_err(raised)?.first().split))
    }

    fn __len__(&self) -> usize {
        self.set.len()
    }

    fn __getitem__(&self, at: isize) -> PyResult<PyGraph> {
        let place = if at < 0 {
            at + self.set.len() as isize
        } else {
            at
        };
        let found = usize::try_from(place)
            .ok()
            .and_then(|place| self.set.graphs().get(place));
        let found = found.ok_or_else(|| {
            PyIndexError::new_err(format!("graph {at}: the set has {}", self.set.len()))
        })?;
        Ok(PyGraph::of(
            found.clone(),
            format!("{}[{place}]", self.name),
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import(CONVERT)?
            .call_method1("reduce_graph_set", (slf,))
    }

    fn __repr__(&self) -> String {
        let (name, set) = (&self.name, &self.set);
        let counts = format!("{} nodes, {} edges", set.num_nodes(), set.num_edges());
        format!(
            "GraphSet({name:?}: {} graphs, {counts}, {} classes)",
            set.len(),
            set.labels().num_classes()
        )
    }
}

/// Makes a dataset of these parts.
pub fn dataset(name: &str, content: Content, entry: Option<&'static Entry>) -> Dataset {
    let report = BuildReport::default();
    Dataset {
        name: name.to_string(),
        content,
        report,
        entry,
        sources: Sources::default(),
    }
}

/// Input of a fit or a prediction: a graph or a set, with its name and its dataset.
pub struct Data {
    pub name: String,
    pub content: Content,
    pub entry: Option<&'static Entry>,
    pub scaled: bool,
}

/// Converts a graph or a set of graphs to data.
pub fn data(object: &Bound<'_, PyAny>) -> PyResult<Data> {
    if let Ok(graph) = object.cast::<PyGraph>() {
        let PyGraph {
            name,
            graph,
            entry,
            scaled,
            ..
        } = graph.get().clone();
        return Ok(Data {
            name,
            content: Content::Graph(graph),
            entry,
            scaled,
        });
    }
    if let Ok(set) = object.cast::<PyGraphSet>() {
        let PyGraphSet { name, set, entry } = set.get().clone();
        return Ok(Data {
            name,
            content: Content::Graphs(set),
            entry,
            scaled: false,
        });
    }
    Err(wrong(format!(
        "a Graph or a GraphSet is needed, not {}",
        object.get_type().name()?
    )))
}

/// Loads a dataset by name or path.
#[pyfunction]
#[pyo3(name = "load", signature = (name, data_dir=None, seed=0))]
pub fn load_dataset<'py>(
    py: Python<'py>,
    name: String,
    data_dir: Option<std::path::PathBuf>,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let folder = self::data_dir(data_dir.as_deref());
    let loaded = work::quietly(py, None, move || load(&name, &folder, seed))?;
    let Dataset {
        name,
        content,
        report,
        entry,
        ..
    } = loaded;
    Ok(match content {
        Content::Graph(graph) => Bound::new(
            py,
            PyGraph {
                name,
                graph,
                entry,
                scaled: false,
                report,
            },
        )?
        .into_any(),
        Content::Graphs(set) => Bound::new(py, PyGraphSet { name, set, entry })?.into_any(),
    })
}

/// Returns the names of the available datasets, the built-in ones first.
#[pyfunction]
pub fn dataset_names(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let names: Vec<&str> = gnarl_data::load::BUILT_IN
        .into_iter()
        .chain(registry::names())
        .collect();
    PyTuple::new(py, names)
}
