//! [`Graph`]: an undirected simple graph in compressed sparse rows, with its node data.
//!
//! Every edge is stored as two arcs, one in each endpoint's row, so a row is a whole neighbourhood.
//! A graph is immutable: operations return a new one and share unchanged parts (features, labels)
//! without a copy.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use crate::components::Components;
use crate::error::{Error, Result};
use crate::features::{Features, NodeFeatures};
use crate::labels::Labels;
use crate::split::Split;
use crate::stored::Stored;

/// Largest number of nodes: ids are `u32`, and one value is kept free.
pub const MAX_NODES: usize = u32::MAX as usize - 1;

/// Edges dropped by construction to make the graph undirected and simple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct BuildReport {
    /// Number of edges given.
    pub edges_given: u64,
    /// Number of given edges that joined a node to itself.
    pub self_loops: u64,
    /// Number of nodes with at least one given self-loop.
    pub self_loop_nodes: u64,
    /// Number of given edges that repeat an earlier one, in either direction.
    pub duplicates: u64,
    /// Number of duplicates whose weight differs from the weight kept (the first given).
    pub conflicting_weights: u64,
}

/// Compressed rows that do not form a graph as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Row boundaries.
    pub offsets: Vec<u64>,
    /// Target node of each arc.
    pub targets: Vec<u32>,
    /// Weight of each arc.
    pub weights: Option<Vec<f64>>,
}

/// An immutable undirected simple graph: adjacency, optional weights, features, labels, node names
/// and named splits.
///
/// ```
/// use gnarl_graph::Graph;
/// // A triangle with a tail; (1, 0) repeats (0, 1) and (2, 2) is a self-loop.
/// let (g, report) = Graph::from_edges(5, [(0, 1), (1, 0), (1, 2), (2, 0), (2, 2), (2, 3)])?;
/// assert_eq!((g.num_nodes(), g.num_edges(), g.num_arcs()), (5, 4, 8));
/// assert_eq!(g.neighbours(2), [0, 1, 3]);
/// assert_eq!((report.duplicates, report.self_loops), (1, 1));
/// # Ok::<(), gnarl_graph::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    offsets: Arc<Stored<u64>>,
    targets: Arc<Stored<u32>>,
    weights: Option<Arc<Stored<f64>>>,
    features: Option<Arc<NodeFeatures>>,
    labels: Option<Arc<Labels>>,
    node_names: Option<Arc<Vec<String>>>,
    splits: Arc<Vec<Split>>,
}

impl Graph {
    /// Builds a graph from any iterator of edges in O(n + m), dropping self-loops and duplicates
    /// and reporting both.
    ///
    /// Fails if an id is `num_nodes` or more, naming the edge.
    pub fn from_edges(
        num_nodes: usize,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(Self, BuildReport)> {
        Builder::<()>::collect(num_nodes, edges.into_iter().map(|(u, v)| (u, v, ())))?.build()
    }

    /// Builds a graph like [`from_edges`](Self::from_edges) with a finite weight per edge; the
    /// first weight of duplicates is kept.
    pub fn from_weighted_edges(
        num_nodes: usize,
        edges: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<(Self, BuildReport)> {
        Builder::<f64>::collect(num_nodes, edges)?.build()
    }

    /// Wraps compressed rows that already form a graph. Every row is ascending and without its own
    /// node, every arc has its reverse, and weights are finite and equal in both directions. O(n +
    /// m), and no copy. Other rows are returned, for [`from_edges`](Self::from_edges) to put in
    /// order, or for an error.
    ///
    /// ```
    /// let path = gnarl_graph::Graph::from_rows_as_they_are(vec![0, 1, 3, 4], vec![1, 0, 2, 1], None).unwrap();
    /// assert_eq!(path.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    /// assert!(gnarl_graph::Graph::from_rows_as_they_are(vec![0, 1, 1], vec![1], None).is_err(), "one direction alone");
    /// ```
    pub fn from_rows_as_they_are(
        offsets: Vec<u64>,
        targets: Vec<u32>,
        weights: Option<Vec<f64>>,
    ) -> std::result::Result<Self, Rows> {
        if is_simple(&offsets, &targets, weights.as_deref()) {
            Ok(Self::from_rows(offsets, targets, weights))
        } else {
            Err(Rows {
                offsets,
                targets,
                weights,
            })
        }
    }

    /// Makes a graph without edges.
    pub fn empty(num_nodes: usize) -> Result<Self> {
        Ok(Self::from_edges(num_nodes, [])?.0)
    }

    /// Wraps symmetric sorted rows that are valid by construction.
    fn from_rows(offsets: Vec<u64>, targets: Vec<u32>, weights: Option<Vec<f64>>) -> Self {
        Self::from_stored(offsets.into(), targets.into(), weights.map(Stored::from))
    }

    /// Wraps symmetric sorted rows that are valid by construction and may be in a file.
    #[doc(hidden)]
    pub fn from_stored(
        offsets: Stored<u64>,
        targets: Stored<u32>,
        weights: Option<Stored<f64>>,
    ) -> Self {
        debug_assert_eq!(offsets.last().copied(), Some(targets.len() as u64));
        Self {
            offsets: Arc::new(offsets),
            targets: Arc::new(targets),
            weights: weights.map(Arc::new),
            features: None,
            labels: None,
            node_names: None,
            splits: Arc::new(Vec::new()),
        }
    }

    /// Returns the number of nodes, `n`.
    pub fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the number of undirected edges, `m`.
    pub fn num_edges(&self) -> usize {
        self.targets.len() / 2
    }

    /// Returns the number of stored directed entries, `2m`.
    pub fn num_arcs(&self) -> usize {
        self.targets.len()
    }

    /// Returns row boundaries: node `u` owns arcs `offsets[u]..offsets[u + 1]`.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the target of each arc, ascending within a row.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Returns the weight of each arc, in the order of [`targets`](Self::targets); `None` if all
    /// edges have weight one.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref().map(|weights| &**weights)
    }

    /// Returns the arcs of one node.
    pub fn arc_range(&self, u: u32) -> std::ops::Range<usize> {
        self.offsets[u as usize] as usize..self.offsets[u as usize + 1] as usize
    }

    /// Returns the neighbours of `u`, ascending.
    pub fn neighbours(&self, u: u32) -> &[u32] {
        &self.targets[self.arc_range(u)]
    }

    /// Returns the number of neighbours of `u`.
    pub fn degree(&self, u: u32) -> usize {
        self.arc_range(u).len()
    }

    /// Returns the weights towards each neighbour of `u`, `None` if all edges have weight one.
    pub fn neighbour_weights(&self, u: u32) -> Option<&[f64]> {
        self.weights.as_ref().map(|w| &w[self.arc_range(u)])
    }

    /// Returns the weight of arc `k`, one if the graph is unweighted.
    pub fn arc_weight(&self, k: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[k])
    }

    /// Returns true if `u` and `v` are joined. O(log degree).
    pub fn has_edge(&self, u: u32, v: u32) -> bool {
        self.neighbours(u).binary_search(&v).is_ok()
    }

    /// Returns every edge once, as `(u, v)` with `u < v`, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.num_nodes() as u32).flat_map(move |u| {
            self.neighbours(u)
                .iter()
                .filter(move |&&v| u < v)
                .map(move |&v| (u, v))
        })
    }

    /// Returns every edge once with its weight, as `(u, v, w)` with `u < v`.
    pub fn weighted_edges(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        (0..self.num_nodes() as u32).flat_map(move |u| {
            self.arc_range(u)
                .filter(move |&k| u < self.targets[k])
                .map(move |k| (u, self.targets[k], self.arc_weight(k)))
        })
    }

    /// Returns the node features, as loaded.
    pub fn features(&self) -> Option<&Features> {
        self.features.as_deref().map(NodeFeatures::whole)
    }

    /// Returns the features of some nodes, in their order. Features of other nodes are not read,
    /// which matters for a graph on disk.
    pub fn features_of(&self, nodes: &[u32]) -> Option<Features> {
        self.features.as_deref().map(|features| features.of(nodes))
    }

    /// Returns all features in blocks, with the first node of each. Features in memory are one
    /// block. Features in a file are several blocks of rows, so that a pass over them does not need
    /// memory for all.
    pub fn feature_blocks(&self) -> impl Iterator<Item = (u32, Cow<'_, Features>)> + '_ {
        const ROWS: usize = 1 << 13;
        let whole = self.features.is_some() && !self.is_on_disk();
        let from_file = if self.features.is_some() && !whole {
            self.num_nodes().div_ceil(ROWS)
        } else {
            0
        };
        let one = whole
            .then(|| self.features())
            .flatten()
            .map(|features| (0, Cow::Borrowed(features)));
        one.into_iter()
            .chain((0..from_file).filter_map(move |block| {
                let nodes: Vec<u32> = (block * ROWS..((block + 1) * ROWS).min(self.num_nodes()))
                    .map(|u| u as u32)
                    .collect();
                if block % 64 == 63 {
                    self.release();
                }
                Some((nodes[0], Cow::Owned(self.features_of(&nodes)?)))
            }))
    }

    /// Returns the number of features of each node, `None` if there are none.
    pub fn num_features(&self) -> Option<usize> {
        self.features.as_deref().map(NodeFeatures::num_cols)
    }

    /// Returns true if its edges are in a file.
    pub fn is_on_disk(&self) -> bool {
        self.targets.is_mapped()
    }

    /// Returns the memory of mapped arrays to the system; they are read again when they are
    /// accessed.
    pub fn release(&self) {
        self.targets.release();
        if let Some(weights) = &self.weights {
            weights.release();
        }
        if let Some(features) = &self.features {
            features.release();
        }
    }

    /// Returns the node labels.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_deref()
    }

    /// Returns the names of the nodes in the user's files, `None` if nodes have numbers only.
    pub fn node_names(&self) -> Option<&[String]> {
        self.node_names.as_deref().map(Vec::as_slice)
    }

    /// Returns the name of node `u`, or its number if nodes have no names.
    pub fn node_name(&self, u: u32) -> String {
        self.node_names
            .as_ref()
            .map_or_else(|| u.to_string(), |names| names[u as usize].clone())
    }

    /// Returns the named splits.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Returns the split of that name.
    pub fn split(&self, name: &str) -> Result<&Split> {
        self.splits
            .iter()
            .find(|s| s.name() == name)
            .ok_or_else(|| Error::unknown("split", name, self.splits.iter().map(|s| s.name())))
    }

    /// Returns the size of the adjacency in bytes: offsets, targets and weights.
    pub fn adjacency_bytes(&self) -> usize {
        self.offsets.len() * 8
            + self.targets.len() * 4
            + self.weights.as_ref().map_or(0, |w| w.len() * 8)
    }

    /// Replaces the features, one row per node.
    pub fn with_features(self, features: Features) -> Result<Self> {
        self.with_node_features(NodeFeatures::from(features))
    }

    /// Replaces the features, which may be packed.
    #[doc(hidden)]
    pub fn with_node_features(mut self, features: NodeFeatures) -> Result<Self> {
        self.check_rows("features", features.num_rows())?;
        self.features = Some(Arc::new(features));
        Ok(self)
    }

    /// Replaces the labels, one per node.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        self.check_rows("labels", labels.len())?;
        self.labels = Some(Arc::new(labels));
        Ok(self)
    }

    /// Names each node; the names must differ.
    ///
    /// ```
    /// let path = gnarl_graph::Graph::from_edges(3, [(0, 1), (1, 2)])?.0;
    /// assert_eq!(path.node_name(2), "2");
    /// let path = path.with_node_names(["ada", "bob", "cyd"].map(String::from).to_vec())?;
    /// assert_eq!(path.subgraph(&[2, 0])?.node_name(0), "cyd");
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn with_node_names(mut self, names: Vec<String>) -> Result<Self> {
        self.check_rows("names", names.len())?;
        let mut seen = std::collections::HashSet::with_capacity(names.len());
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(Error::argument(
                "graph",
                format!("two nodes are called '{twice}'"),
            ));
        }
        self.node_names = Some(Arc::new(names));
        Ok(self)
    }

    /// Replaces the splits; their names must differ.
    pub fn with_splits(mut self, splits: Vec<Split>) -> Result<Self> {
        for (i, split) in splits.iter().enumerate() {
            split.check_range(self.num_nodes())?;
            if splits[..i].iter().any(|s| s.name() == split.name()) {
                return Err(Error::argument(
                    "graph",
                    format!("two splits are called {}", split.name()),
                ));
            }
        }
        self.splits = Arc::new(splits);
        Ok(self)
    }

    fn check_rows(&self, what: &str, rows: usize) -> Result<()> {
        if rows == self.num_nodes() {
            return Ok(());
        }
        Err(Error::argument(
            "graph",
            format!(
                "{what} for {rows} nodes, but the graph has {}",
                self.num_nodes()
            ),
        ))
    }

    /// Returns the subgraph induced by `nodes`, which become `0, 1, …` in the order given;
    /// features, labels, names and splits follow.
    ///
    /// Fails if a node is out of range or named twice. O(n + the nodes' degrees).
    pub fn subgraph(&self, nodes: &[u32]) -> Result<Self> {
        const OUTSIDE: u32 = u32::MAX;
        let mut new_id = vec![OUTSIDE; self.num_nodes()];
        for (i, &u) in nodes.iter().enumerate() {
            let slot = new_id
                .get_mut(u as usize)
                .ok_or_else(|| out_of_range("Graph::subgraph", u, self.num_nodes()))?;
            if *slot != OUTSIDE {
                return Err(Error::argument(
                    "Graph::subgraph",
                    format!("node {u} is named twice"),
                ));
            }
            *slot = i as u32;
        }
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0u64);
        let mut targets = Vec::new();
        let mut weights = self.weights.as_ref().map(|_| Vec::new());
        let mut row: Vec<(u32, f64)> = Vec::new();
        for &u in nodes {
            row.clear();
            let inside = self
                .arc_range(u)
                .map(|k| (new_id[self.targets[k] as usize], self.arc_weight(k)));
            row.extend(inside.filter(|(v, _)| *v != OUTSIDE));
            row.sort_unstable_by_key(|(v, _)| *v);
            targets.extend(row.iter().map(|(v, _)| *v));
            if let Some(w) = &mut weights {
                w.extend(row.iter().map(|(_, x)| *x));
            }
            offsets.push(targets.len() as u64);
        }
        let mut sub = Self::from_rows(offsets, targets, weights);
        sub.features = self
            .features_of(nodes)
            .map(|features| Arc::new(features.into()));
        sub.labels = self.labels.as_ref().map(|l| Arc::new(l.select(nodes)));
        let names_of =
            |names: &Arc<Vec<String>>| nodes.iter().map(|&u| names[u as usize].clone()).collect();
        sub.node_names = self
            .node_names
            .as_ref()
            .map(|names| Arc::new(names_of(names)));
        let translate = |u: u32| Some(new_id[u as usize]).filter(|&v| v != OUTSIDE);
        sub.splits = Arc::new(self.splits.iter().map(|s| s.translate(translate)).collect());
        Ok(sub)
    }

    /// Renumbers the nodes: node `u` becomes `new_ids[u]`. Fails unless `new_ids` is a permutation.
    pub fn permute(&self, new_ids: &[u32]) -> Result<Self> {
        let n = self.num_nodes();
        let mut order = vec![u32::MAX; n];
        if new_ids.len() != n {
            return Err(Error::argument(
                "Graph::permute",
                format!("{} new ids for {n} nodes", new_ids.len()),
            ));
        }
        for (old, &new) in new_ids.iter().enumerate() {
            match order.get_mut(new as usize) {
                None => return Err(out_of_range("Graph::permute", new, n)),
                Some(slot) if *slot != u32::MAX => {
                    return Err(Error::argument(
                        "Graph::permute",
                        format!("two nodes would become {new}"),
                    ));
                }
                Some(slot) => *slot = old as u32,
            }
        }
        self.subgraph(&order)
    }

    /// Returns the subgraph of the largest component (the one with the smallest node id in case of
    /// ties), and the old id of each node.
    pub fn largest_component(&self) -> (Self, Vec<u32>) {
        let components = Components::of_rows(&self.offsets, &self.targets);
        let Some(largest) = components.largest() else {
            return (self.clone(), Vec::new());
        };
        let nodes: Vec<u32> = (0..self.num_nodes() as u32)
            .filter(|&u| components.of(u) == largest)
            .collect();
        let sub = self
            .subgraph(&nodes)
            .expect("component nodes are valid and distinct");
        (sub, nodes)
    }

    /// Replaces the edges by unweighted ones, keeping the nodes and their data. Loops and
    /// duplicates are dropped.
    pub fn with_edges(&self, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self> {
        let mut graph = Self::from_edges(self.num_nodes(), edges)?.0;
        graph.carry_from(self);
        Ok(graph)
    }

    /// Adds edges in a new graph (with weight one in a weighted graph); the report counts existing
    /// ones.
    pub fn add_edges(&self, edges: &[(u32, u32)]) -> Result<(Self, BuildReport)> {
        let (mut graph, mut report) = if self.weights.is_some() {
            Self::from_weighted_edges(
                self.num_nodes(),
                self.weighted_edges()
                    .chain(edges.iter().map(|&(u, v)| (u, v, 1.0))),
            )?
        } else {
            Self::from_edges(self.num_nodes(), self.edges().chain(edges.iter().copied()))?
        };
        report.edges_given = edges.len() as u64;
        graph.carry_from(self);
        Ok((graph, report))
    }

    /// Removes edges in a new graph. Fails if one of them is not in the graph.
    pub fn remove_edges(&self, edges: &[(u32, u32)]) -> Result<Self> {
        let mut gone = vec![false; self.num_arcs()];
        for &(u, v) in edges {
            let n = self.num_nodes();
            if u as usize >= n || v as usize >= n {
                return Err(out_of_range("Graph::remove_edges", u.max(v), n));
            }
            for (from, to) in [(u, v), (v, u)] {
                let Ok(place) = self.neighbours(from).binary_search(&to) else {
                    return Err(Error::argument(
                        "Graph::remove_edges",
                        format!("there is no edge between {u} and {v}"),
                    ));
                };
                gone[self.arc_range(from).start + place] = true;
            }
        }
        let mut offsets = Vec::with_capacity(self.offsets.len());
        offsets.push(0u64);
        let mut targets = Vec::with_capacity(self.targets.len());
        let mut weights = self
            .weights
            .as_ref()
            .map(|_| Vec::with_capacity(targets.capacity()));
        for u in 0..self.num_nodes() as u32 {
            for k in self.arc_range(u) {
                if !gone[k] {
                    targets.push(self.targets[k]);
                    if let Some(w) = &mut weights {
                        w.push(self.arc_weight(k));
                    }
                }
            }
            offsets.push(targets.len() as u64);
        }
        let mut graph = Self::from_rows(offsets, targets, weights);
        graph.carry_from(self);
        Ok(graph)
    }

    /// Shares the other graph's features, labels, names and splits.
    pub(crate) fn carry_from(&mut self, other: &Self) {
        self.features = other.features.clone();
        self.labels = other.labels.clone();
        self.node_names = other.node_names.clone();
        self.splits = other.splits.clone();
    }
}

/// Returns true if compressed rows form a graph: every row ascending and every arc with its
/// reverse. Read row by row, the arcs upwards reach each node in the order of its own arcs
/// downwards, so that a place in every row is all that is looked up. Ranges of nodes that are
/// reached are looked at side by side.
#[doc(hidden)]
pub fn is_simple(offsets: &[u64], targets: &[u32], weights: Option<&[f64]>) -> bool {
    let arcs = targets.len();
    let in_order = offsets.first() == Some(&0)
        && offsets.last() == Some(&(arcs as u64))
        && offsets.is_sorted();
    let n = offsets.len().saturating_sub(1);
    if !in_order || n > MAX_NODES || weights.is_some_and(|w| w.len() != arcs || !w.iter().all(fits))
    {
        return false;
    }
    // Start of the upward arcs of a node, if its row is in order.
    let upwards = |u: usize| -> Option<u64> {
        let row = &targets[offsets[u] as usize..offsets[u + 1] as usize];
        let fits = row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&v| (v as usize) < n);
        let below = row.partition_point(|&v| (v as usize) < u);
        (fits && row.get(below) != Some(&(u as u32))).then_some(offsets[u] + below as u64)
    };
    let upwards: Option<Vec<u64>> = (0..n)
        .into_par_iter()
        .with_min_len(4096)
        .map(upwards)
        .collect();
    let Some(upwards) = upwards else { return false };
    let parts = rayon::current_num_threads().clamp(1, MAX_PARTS);
    let is_answered = |part: usize| {
        let (low, high) = (part * n / parts, (part + 1) * n / parts);
        let mut next = offsets[low..high].to_vec();
        for u in 0..high {
            let row = upwards[u] as usize..offsets[u + 1] as usize;
            let start = if u < low {
                targets[row.clone()].partition_point(|&v| (v as usize) < low)
            } else {
                0
            };
            for k in row.start + start..row.end {
                let v = targets[k] as usize;
                if v >= high {
                    break;
                }
                let back = next[v - low];
                if back >= upwards[v] || targets[back as usize] != u as u32 {
                    return false;
                }
                if weights.is_some_and(|w| w[k] != w[back as usize]) {
                    return false;
                }
                next[v - low] = back + 1;
            }
        }
        next == upwards[low..high]
    };
    (0..parts).into_par_iter().all(is_answered)
}

/// Maximum number of ranges checked in parallel: each goes through all rows before it.
const MAX_PARTS: usize = 8;

fn fits(weight: &f64) -> bool {
    weight.fault().is_none()
}

fn out_of_range(op: &'static str, id: u32, num_nodes: usize) -> Error {
    Error::argument(
        op,
        format!("node {id} is out of range, the graph has {num_nodes} nodes"),
    )
}

/// The payload of an edge while a graph is built: nothing, or a weight.
trait Payload: Copy + PartialEq + Default {
    /// Explains why the value cannot be a weight, if it cannot.
    fn fault(&self) -> Option<String>;
    /// Returns the stored weights, `None` for unweighted graphs.
    fn into_weights(values: Vec<Self>) -> Option<Vec<f64>>;
}

impl Payload for () {
    fn fault(&self) -> Option<String> {
        None
    }
    fn into_weights(_: Vec<()>) -> Option<Vec<f64>> {
        None
    }
}

impl Payload for f64 {
    fn fault(&self) -> Option<String> {
        if !self.is_finite() {
            return Some(format!("weight {self} is not finite"));
        }
        // Networks compute with 32 bits, in which it would become infinite.
        (self.abs() > f64::from(f32::MAX))
            .then(|| format!("weight {self:e} is too large, at most {:e} fits", f32::MAX))
    }
    fn into_weights(values: Vec<f64>) -> Option<Vec<f64>> {
        Some(values)
    }
}

/// Edges to be sorted into rows.
struct Builder<P> {
    num_nodes: usize,
    edges: Vec<(u32, u32)>,
    payloads: Vec<P>,
    report: BuildReport,
}

impl<P: Payload> Builder<P> {
    /// Checks and keeps every edge except self-loops.
    fn collect(num_nodes: usize, edges: impl IntoIterator<Item = (u32, u32, P)>) -> Result<Self> {
        const OP: &str = "Graph::from_edges";
        if num_nodes > MAX_NODES {
            return Err(Error::argument(
                OP,
                format!("{num_nodes} nodes, at most {MAX_NODES} fit"),
            ));
        }
        let edges = edges.into_iter();
        let mut kept = Vec::with_capacity(edges.size_hint().0);
        let mut payloads = Vec::with_capacity(edges.size_hint().0);
        let mut loops = Vec::new();
        let mut report = BuildReport::default();
        for (i, (u, v, payload)) in edges.enumerate() {
            if u as usize >= num_nodes || v as usize >= num_nodes {
                let what = format!(
                    "edge {i} joins {u} and {v}, but ids must be below the number of nodes, {num_nodes}"
                );
                return Err(Error::argument(OP, what));
            }
            if let Some(fault) = payload.fault() {
                return Err(Error::argument(
                    OP,
                    format!("edge {i} joins {u} and {v}: {fault}"),
                ));
            }
            report.edges_given += 1;
            if u == v {
                loops.push(u);
            } else {
                kept.push((u, v));
                payloads.push(payload);
            }
        }
        report.self_loops = loops.len() as u64;
        loops.sort_unstable();
        loops.dedup();
        report.self_loop_nodes = loops.len() as u64;
        Ok(Self {
            num_nodes,
            edges: kept,
            payloads,
            report,
        })
    }

    /// Builds sorted rows in two linear passes, without a comparison sort. Both arcs of each edge
    /// are scattered into unsorted rows, which are then transposed. Since the arcs are symmetric,
    /// reading the rows in order and writing each entry to its target's row gives an equal matrix
    /// with every row sorted. Duplicates are then neighbours.
    fn build(self) -> Result<(Graph, BuildReport)> {
        let Self {
            num_nodes,
            edges,
            payloads,
            mut report,
        } = self;
        let mut offsets = vec![0u64; num_nodes + 1];
        for &(u, v) in &edges {
            offsets[u as usize + 1] += 1;
            offsets[v as usize + 1] += 1;
        }
        for i in 0..num_nodes {
            offsets[i + 1] += offsets[i];
        }
        let num_arcs = 2 * edges.len();
        let mut cursor = offsets[..num_nodes].to_vec();
        let mut place = |row: u32| {
            let slot = cursor[row as usize];
            cursor[row as usize] += 1;
            slot as usize
        };
        let mut rows = vec![0u32; num_arcs];
        let mut row_payloads = vec![P::default(); num_arcs];
        for (&(u, v), &p) in edges.iter().zip(&payloads) {
            for (from, to) in [(u, v), (v, u)] {
                let slot = place(from);
                rows[slot] = to;
                row_payloads[slot] = p;
            }
        }
        drop((edges, payloads));

        cursor.copy_from_slice(&offsets[..num_nodes]);
        let mut place = |row: u32| {
            let slot = cursor[row as usize];
            cursor[row as usize] += 1;
            slot as usize
        };
        let mut targets = vec![0u32; num_arcs];
        let mut values = vec![P::default(); num_arcs];
        for u in 0..num_nodes {
            for k in offsets[u] as usize..offsets[u + 1] as usize {
                let slot = place(rows[k]);
                targets[slot] = u as u32;
                values[slot] = row_payloads[k];
            }
        }
        drop((rows, row_payloads));

        // Compact in place. A row's duplicates are in the order given, so the first weight is kept
        // in both rows.
        let mut write = 0usize;
        let mut start = 0usize;
        for u in 0..num_nodes {
            let end = offsets[u + 1] as usize;
            let row_begin = write;
            for k in start..end {
                if write > row_begin && targets[write - 1] == targets[k] {
                    report.duplicates += 1;
                    report.conflicting_weights += u64::from(values[write - 1] != values[k]);
                } else {
                    targets[write] = targets[k];
                    values[write] = values[k];
                    write += 1;
                }
            }
            start = end;
            offsets[u + 1] = write as u64;
        }
        // Each dropped edge was counted in both its rows.
        report.duplicates /= 2;
        report.conflicting_weights /= 2;
        if write < num_arcs {
            targets.truncate(write);
            targets.shrink_to_fit();
            values.truncate(write);
            values.shrink_to_fit();
        }
        Ok((
            Graph::from_rows(offsets, targets, P::into_weights(values)),
            report,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn path(n: u32) -> Graph {
        Graph::from_edges(n as usize, (1..n).map(|v| (v - 1, v)))
            .unwrap()
            .0
    }

    proptest! {
        /// Rows are accepted as they are if and only if they equal the rows of the graph of their
        /// arcs.
        #[test]
        fn rows_are_taken_as_they_are_or_given_back(
            edges in prop::collection::vec((0u32..7, 0u32..7, 0u8..2), 0..20), broken in prop::option::of((any::<prop::sample::Index>(), 0u32..8)), weighted in any::<bool>()
        ) {
            let made = Graph::from_weighted_edges(7, edges.iter().map(|&(u, v, w)| (u, v, f64::from(w)))).unwrap().0;
            let (offsets, mut targets) = (made.offsets().to_vec(), made.targets().to_vec());
            let weights = made.weights().filter(|_| weighted).map(<[f64]>::to_vec);
            if let (Some((at, v)), false) = (&broken, targets.is_empty()) {
                let at = at.index(targets.len());
                targets[at] = *v;
            }
            let is_whole = targets == made.targets();
            match Graph::from_rows_as_they_are(offsets.clone(), targets.clone(), weights.clone()) {
                Ok(taken) => {
                    prop_assert!(is_whole, "{targets:?}");
                    prop_assert_eq!((taken.offsets(), taken.targets()), (made.offsets(), made.targets()));
                    prop_assert_eq!(taken.weights(), weights.as_deref());
                }
                Err(rows) => {
                    prop_assert!(!is_whole, "{targets:?}");
                    prop_assert_eq!(rows, Rows { offsets, targets, weights });
                }
            }
        }
    }

    #[test]
    fn rows_in_disorder_are_given_back() {
        let taken = |offsets: &[u64], targets: &[u32], weights: Option<&[f64]>| {
            Graph::from_rows_as_they_are(
                offsets.to_vec(),
                targets.to_vec(),
                weights.map(<[f64]>::to_vec),
            )
            .is_ok()
        };
        assert!(taken(&[0, 1, 2], &[1, 0], Some(&[2.0, 2.0])) && taken(&[0], &[], None));
        assert!(
            !taken(&[0, 1, 2], &[1, 0], Some(&[2.0, 3.0])),
            "two weights"
        );
        assert!(
            !taken(&[0, 1, 2], &[1, 0], Some(&[f64::NAN; 2]))
                && !taken(&[0, 1, 2], &[1, 0], Some(&[2.0]))
        );
        assert!(
            !taken(&[], &[], None)
                && !taken(&[1, 2], &[0], None)
                && !taken(&[0, 2, 1, 2], &[1, 0], None)
        );
        assert!(!taken(&[0, 1], &[0], None), "a loop");
        assert!(!taken(&[0, 2, 4], &[1, 1, 0, 0], None), "twice");
    }

    proptest! {
        #[test]
        fn rows_equal_a_map_of_first_weights(edges in prop::collection::vec((0u32..9, 0u32..9, 0u8..3), 0..60)) {
            let (g, report) = Graph::from_weighted_edges(9, edges.iter().map(|&(u, v, w)| (u, v, f64::from(w)))).unwrap();
            let mut expected = BTreeMap::new();
            let (mut duplicates, mut conflicts, mut loops) = (0, 0, 0);
            for &(u, v, w) in &edges {
                if u == v { loops += 1; continue; }
                match expected.entry((u.min(v), u.max(v))) {
                    std::collections::btree_map::Entry::Vacant(e) => { e.insert(f64::from(w)); }
                    std::collections::btree_map::Entry::Occupied(_) => duplicates += 1,
                }
            }
            // A conflict compares with the last kept entry, which is the first given.
            let mut first = BTreeMap::new();
            for &(u, v, w) in edges.iter().filter(|e| e.0 != e.1) {
                let kept = *first.entry((u.min(v), u.max(v))).or_insert(w);
                conflicts += u64::from(kept != w);
            }
            let got: BTreeMap<_, _> = g.weighted_edges().map(|(u, v, w)| ((u, v), w)).collect();
            prop_assert_eq!(got, expected);
            prop_assert_eq!((report.duplicates, report.conflicting_weights, report.self_loops), (duplicates, conflicts, loops));
            for u in 0..9u32 {
                prop_assert!(g.neighbours(u).is_sorted());
                for (k, &v) in g.arc_range(u).zip(g.neighbours(u)) {
                    let back = g.neighbours(v).binary_search(&u).unwrap();
                    prop_assert_eq!(g.arc_weight(k), g.neighbour_weights(v).unwrap()[back]);
                }
            }
        }

        #[test]
        fn permuting_there_and_back_changes_nothing(edges in prop::collection::vec((0u32..8, 0u32..8), 0..20), seed in any::<u64>()) {
            use rand::seq::SliceRandom;
            let g = Graph::from_edges(8, edges).unwrap().0;
            let mut p: Vec<u32> = (0..8).collect();
            p.shuffle(&mut crate::random::stream(seed, "test", 0));
            let mut inverse = vec![0u32; 8];
            for (old, &new) in p.iter().enumerate() { inverse[new as usize] = old as u32; }
            let there = g.permute(&p).unwrap();
            for (u, v) in g.edges() { prop_assert!(there.has_edge(p[u as usize], p[v as usize])); }
            let back = there.permute(&inverse).unwrap();
            prop_assert_eq!(back.targets(), g.targets());
            prop_assert_eq!(back.offsets(), g.offsets());
        }
    }

    #[test]
    fn edges_out_of_range_are_named() {
        let e = Graph::from_edges(3, [(0, 1), (1, 3)])
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "Graph::from_edges: edge 1 joins 1 and 3, but ids must be below the number of nodes, 3"
        );
        let e = Graph::from_weighted_edges(3, [(0, 1, f64::NAN)])
            .unwrap_err()
            .to_string();
        assert!(e.contains("weight NaN is not finite"), "{e}");
    }

    #[test]
    fn empty_and_single_graphs_are_fine() {
        for n in [0, 1] {
            let g = Graph::empty(n).unwrap();
            assert_eq!((g.num_nodes(), g.num_edges()), (n, 0));
            assert_eq!(g.largest_component().0.num_nodes(), n);
        }
    }

    #[test]
    fn subgraph_carries_features_labels_and_splits() {
        use crate::{CsrMatrix, DenseMatrix};
        let g = path(4)
            .with_features(Features::Dense(
                DenseMatrix::new(4, 1, vec![0.0, 1.0, 2.0, 3.0]).unwrap(),
            ))
            .unwrap()
            .with_labels(Labels::new(vec![Some(0), None, Some(1), Some(1)], 2).unwrap())
            .unwrap()
            .with_splits(vec![
                Split::new("public", vec![0], vec![2], vec![3]).unwrap(),
            ])
            .unwrap();
        let s = g.subgraph(&[3, 2, 1]).unwrap();
        assert_eq!(s.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(s.features().unwrap().to_dense().data(), [3.0, 2.0, 1.0]);
        assert_eq!(s.labels().unwrap().get(2), None);
        let split = s.split("public").unwrap();
        assert_eq!(
            (split.train(), split.val(), split.test()),
            (&[][..], &[1][..], &[0][..])
        );
        assert!(
            g.subgraph(&[1, 1])
                .unwrap_err()
                .to_string()
                .contains("named twice")
        );
        assert!(
            g.subgraph(&[4])
                .unwrap_err()
                .to_string()
                .contains("out of range")
        );
        assert!(
            g.with_features(Features::Sparse(CsrMatrix::identity(3)))
                .is_err()
        );
    }

    #[test]
    fn names_follow_their_nodes() {
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let g = Graph::from_edges(4, [(1, 2), (2, 3)])
            .unwrap()
            .0
            .with_node_names(names)
            .unwrap();
        assert_eq!(
            g.subgraph(&[3, 1]).unwrap().node_names().unwrap(),
            ["d", "b"]
        );
        assert_eq!(
            g.largest_component().0.node_names().unwrap(),
            ["b", "c", "d"]
        );
        assert_eq!(g.permute(&[3, 2, 1, 0]).unwrap().node_name(0), "d");
        assert_eq!(
            g.add_edges(&[(0, 1)])
                .unwrap()
                .0
                .remove_edges(&[(1, 2)])
                .unwrap()
                .node_name(0),
            "a"
        );
        let plain = path(2);
        assert_eq!(
            (plain.node_names(), plain.node_name(1)),
            (None, "1".to_string())
        );
        let e = plain
            .clone()
            .with_node_names(vec!["x".into(); 2])
            .unwrap_err()
            .to_string();
        assert_eq!(e, "graph: two nodes are called 'x'");
        let e = plain
            .with_node_names(vec!["x".into()])
            .unwrap_err()
            .to_string();
        assert_eq!(e, "graph: names for 1 nodes, but the graph has 2");
    }

    #[test]
    fn weights_that_32_bits_cannot_hold_are_refused() {
        let e = Graph::from_weighted_edges(2, [(0, 1, 1e39)])
            .unwrap_err()
            .to_string();
        assert!(
            e.ends_with(
                "edge 0 joins 0 and 1: weight 1e39 is too large, at most 3.4028235e38 fits"
            ),
            "{e}"
        );
        assert!(Graph::from_weighted_edges(2, [(0, 1, -3e38)]).is_ok());
    }

    #[test]
    fn adding_and_removing_edges_return_new_graphs() {
        let g = path(4);
        let (more, report) = g.add_edges(&[(3, 0), (0, 1), (2, 2)]).unwrap();
        assert_eq!(
            (
                more.num_edges(),
                report.duplicates,
                report.self_loops,
                report.edges_given
            ),
            (4, 1, 1, 3)
        );
        let less = more.remove_edges(&[(1, 0), (0, 1)]).unwrap();
        assert_eq!(less.edges().collect::<Vec<_>>(), [(0, 3), (1, 2), (2, 3)]);
        assert!(
            less.remove_edges(&[(0, 1)])
                .unwrap_err()
                .to_string()
                .contains("no edge between 0 and 1")
        );
        assert!(
            less.remove_edges(&[(0, 9)])
                .unwrap_err()
                .to_string()
                .contains("node 9 is out of range")
        );
        assert_eq!(g.num_edges(), 3);
    }

    #[test]
    fn the_largest_component_keeps_old_ids() {
        let g = Graph::from_edges(6, [(0, 1), (2, 3), (3, 4)]).unwrap().0;
        let (big, old) = g.largest_component();
        assert_eq!(old, [2, 3, 4]);
        assert_eq!(big.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    }

    #[test]
    fn permutations_are_checked() {
        assert!(
            path(3)
                .permute(&[0, 0, 1])
                .unwrap_err()
                .to_string()
                .contains("two nodes would become 0")
        );
        assert!(
            path(3)
                .permute(&[0, 1])
                .unwrap_err()
                .to_string()
                .contains("2 new ids for 3")
        );
        assert!(
            path(3)
                .permute(&[0, 1, 7])
                .unwrap_err()
                .to_string()
                .contains("node 7 is out of range")
        );
    }
}
