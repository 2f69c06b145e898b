//! A dataset with its splits, on which models are fitted and evaluated.

use std::path::Path;

use super::registry::Protocol;
use super::{Content, Dataset, data_dir, load, protocol_folds, splits_by};
use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::Graph;
use gnarl_graph::labels::Labels;
use gnarl_graph::random::mix;
use gnarl_graph::split::Split;

gnarl_graph::named! {
    /// A part of a split.
    pub enum Part as "part" {
        /// Nodes or graphs to train on.
        Train = "train",
        /// Nodes or graphs to select hyperparameters on.
        Validation = "validation",
        /// Nodes or graphs to report results on.
        Test = "test",
    }
}

gnarl_graph::named! {
    /// The task: node or graph classification.
    pub enum Task as "task" {
        /// The nodes of one graph.
        Node = "node",
        /// The graphs of a set.
        Graph = "graph",
    }
}

impl Part {
    /// Returns the nodes or graphs of this part of a split.
    pub fn of(self, split: &Split) -> &[u32] {
        match self {
            Part::Train => split.train(),
            Part::Validation => split.val(),
            Part::Test => split.test(),
        }
    }
}

/// A dataset with the splits of a protocol: nodes of one graph, or folds of a set.
#[derive(Debug, Clone)]
pub struct Benchmark {
    /// The dataset's name.
    pub name: String,
    /// The graph or set that is split; a protocol may keep only the largest component of a graph.
    pub content: Content,
    /// The splits, at least one.
    pub splits: Vec<Split>,
}

impl Benchmark {
    /// Returns the content with split `i`; indices beyond the last split wrap around.
    pub fn split(&self, i: usize) -> SplitData {
        let split = self.splits[i % self.splits.len()].clone();
        SplitData {
            name: self.name.clone(),
            content: self.content.clone(),
            split,
        }
    }

    /// Returns the first split alone, for a single fit.
    pub fn first(&self) -> SplitData {
        self.split(0)
    }
}

/// A graph or a set with its training, validation and test parts: the input of a fit.
#[derive(Debug, Clone)]
pub struct SplitData {
    /// The dataset's name.
    pub name: String,
    /// The graph or the set.
    pub content: Content,
    /// Parts of its nodes or graphs.
    pub split: Split,
}

impl Content {
    /// Returns the task: node classification for a graph, graph classification for a set.
    pub fn task(&self) -> Task {
        match self {
            Content::Graph(_) => Task::Node,
            Content::Graphs(_) => Task::Graph,
        }
    }

    /// Returns the number of nodes of a graph, or of graphs of a set.
    pub fn num_items(&self) -> usize {
        match self {
            Content::Graph(graph) => graph.num_nodes(),
            Content::Graphs(set) => set.len(),
        }
    }

    /// Returns the classes of its nodes or graphs, if they are known.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            Content::Graph(graph) => graph.labels(),
            Content::Graphs(set) => Some(set.labels()),
        }
    }

    /// Returns the graph; a set is an error.
    pub fn graph(&self) -> Result<&Graph> {
        match self {
            Content::Graph(graph) => Ok(graph),
            Content::Graphs(set) => Err(Error::argument(
                "dataset",
                format!("a set of {} graphs, where one graph is needed", set.len()),
            )),
        }
    }

    /// Returns a hash of the content: of structure, weights and features, not of labels or splits.
    /// It is equal on every machine.
    pub fn fingerprint(&self) -> u64 {
        match self {
            Content::Graph(graph) => fingerprint(graph),
            Content::Graphs(set) => set
                .graphs()
                .iter()
                .fold(mix(set.len() as u64), |h, g| mix(h ^ fingerprint(g))),
        }
    }
}

fn fingerprint(graph: &Graph) -> u64 {
    let mut hash = mix(graph.num_nodes() as u64);
    let mut add = |word: u64| hash = mix(hash ^ word);
    for u in 0..graph.num_nodes() as u32 {
        add(graph.degree(u) as u64);
        graph.neighbours(u).iter().for_each(|&v| add(u64::from(v)));
    }
    graph
        .weights()
        .into_iter()
        .flatten()
        .for_each(|w| add(w.to_bits()));
    match graph.num_features() {
        None => add(0),
        Some(columns) => add(columns as u64),
    }
    for (first, features) in graph.feature_blocks() {
        // Stored zeros are not part of the features.
        let mut entry = |row: usize, column: u32, value: f32| {
            if value != 0.0 {
                add((row as u64 + u64::from(first)) << 32 | u64::from(column));
                add(u64::from(value.to_bits()));
            }
        };
        match &*features {
            Features::Dense(m) => {
                for i in 0..m.num_rows() {
                    (0u32..).zip(m.row(i)).for_each(|(c, v)| entry(i, c, *v));
                }
            }
            Features::Sparse(m) => {
                for i in 0..m.num_rows() {
                    let (columns, values) = m.row(i);
                    columns
                        .iter()
                        .zip(values)
                        .for_each(|(c, v)| entry(i, *c, *v));
                }
            }
        }
    }
    hash
}

impl Dataset {
    /// Loads a dataset by name or path ([`load()`]) from the default folder ([`data_dir`]).
    ///
    /// ```
    /// let karate = gnarl_data::Dataset::load("karate")?;
    /// assert_eq!(karate.split(0)?.split.train().len(), 4);
    /// # Ok::<(), gnarl_graph::Error>(())
    /// ```
    pub fn load(name_or_path: &str) -> Result<Self> {
        load(name_or_path, &data_dir(None), 0)
    }

    /// Loads a dataset by name or path from this data folder.
    pub fn load_from(name_or_path: &str, folder: &Path) -> Result<Self> {
        load(name_or_path, folder, 0)
    }

    /// Makes a dataset from your own graph.
    pub fn from_graph(name: impl Into<String>, graph: Graph) -> Self {
        Self {
            name: name.into(),
            content: Content::Graph(graph),
            report: Default::default(),
            entry: None,
            sources: Default::default(),
        }
    }

    /// Makes a dataset from your own set of graphs.
    pub fn from_graphs(name: impl Into<String>, set: gnarl_graph::GraphSet) -> Self {
        Self {
            name: name.into(),
            content: Content::Graphs(set),
            report: Default::default(),
            entry: None,
            sources: Default::default(),
        }
    }

    /// Returns split `i` of the dataset's protocol. Random splits use seed `i`; a set of graphs
    /// uses fold `i` of seed 0.
    pub fn split(&self, i: usize) -> Result<SplitData> {
        let drawn_by = match self.content {
            Content::Graph(_) => i as u64,
            Content::Graphs(_) => 0,
        };
        let benchmark = self.benchmark(drawn_by, i + 1)?;
        let at = if benchmark.splits.len() > i { i } else { 0 };
        // The first random split is the one of the seed; published splits are numbered.
        let is_drawn = matches!(self.content, Content::Graph(_))
            && benchmark.splits[0].name().ends_with(&format!("seed-{i}"));
        Ok(benchmark.split(if is_drawn { 0 } else { at }))
    }

    /// Returns the dataset with up to `count` splits of its own protocol. Random splits use seeds
    /// `seed`, `seed + 1`, …; a set of graphs gives up to so many folds of one seed.
    pub fn benchmark(&self, seed: u64, count: usize) -> Result<Benchmark> {
        self.benchmark_by(self.entry.map(|entry| entry.protocol), seed, count)
    }

    /// Returns the dataset with splits of another protocol; a set keeps the folds of its own
    /// protocol.
    pub fn benchmark_by(
        &self,
        protocol: Option<Protocol>,
        seed: u64,
        count: usize,
    ) -> Result<Benchmark> {
        let (content, splits) = match &self.content {
            Content::Graph(_) => {
                let (graph, splits) = splits_by(self, protocol, seed, count)?;
                (Content::Graph(graph), splits)
            }
            Content::Graphs(_) => (self.content.clone(), protocol_folds(self, seed, count)?),
        };
        if splits.is_empty() {
            let what = format!("{} has no splits", self.name);
            return Err(Error::missing("dataset", what, "choose another protocol"));
        }
        Ok(Benchmark {
            name: self.name.clone(),
            content,
            splits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_graph::matrix::{CsrMatrix, DenseMatrix};

    fn path(weights: bool) -> Graph {
        if weights {
            let edges = [(0, 1, 1.0), (1, 2, 2.0)];
            Graph::from_weighted_edges(3, edges).unwrap().0
        } else {
            Graph::from_edges(3, [(0, 1), (1, 2)]).unwrap().0
        }
    }

    #[test]
    fn fingerprints_tell_graphs_apart_by_what_they_are() {
        let print = |graph: Graph| Content::Graph(graph).fingerprint();
        let plain = print(path(false));
        assert_eq!(
            plain,
            print(
                path(false)
                    .with_labels(Labels::new(vec![Some(0); 3], 1).unwrap())
                    .unwrap()
            )
        );
        let dense = DenseMatrix::new(3, 2, vec![0.0, 1.0, 0.0, 0.0, 2.0, 0.0]).unwrap();
        let sparse = CsrMatrix::from_dense(&dense);
        let with = |f: Features| print(path(false).with_features(f).unwrap());
        assert_eq!(
            with(Features::Dense(dense)),
            with(Features::Sparse(sparse)),
            "however it is stored"
        );
        let others = [
            print(path(true)),
            print(Graph::from_edges(3, [(0, 1), (0, 2)]).unwrap().0),
            print(Graph::from_edges(4, [(0, 1), (1, 2)]).unwrap().0),
            with(Features::Dense(
                DenseMatrix::new(3, 1, vec![0.0; 3]).unwrap(),
            )),
            with(Features::Dense(
                DenseMatrix::new(3, 1, vec![0.0, 0.0, 1e-30]).unwrap(),
            )),
        ];
        assert!(others.iter().all(|other| *other != plain));
    }

    #[test]
    fn drawn_splits_are_told_apart_by_their_number() {
        let labels = Labels::new((0..30).map(|u| Some(u % 3)).collect(), 3).unwrap();
        let graph = Graph::empty(30).unwrap().with_labels(labels).unwrap();
        let data = Dataset::from_graph("mine", graph);
        let train = |i| data.split(i).unwrap().split.train().to_vec();
        assert_ne!(train(0), train(1));
        assert_eq!(
            train(1),
            data.benchmark(0, 2).unwrap().split(1).split.train()
        );
        let karate = Dataset::load("karate").unwrap();
        assert_eq!(
            karate.split(3).unwrap().split,
            karate.split(0).unwrap().split,
            "there is one"
        );
        assert_eq!(
            Part::Test.of(&karate.split(0).unwrap().split).len(),
            34 - 4 - 8,
            "four train, eight validate"
        );
    }
}
