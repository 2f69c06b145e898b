//! Real datasets: the registry, downloads, and one loader per file format.
//!
//! | module | contents |
//! | --- | --- |
//! | [`registry`] | every registered dataset: names, citation, counts, format, addresses, checksums |
//! | [`mod@load`] | from a name or a path to a dataset |
//! | [`disk`] | a graph on disk: a folder of mapped arrays, and its import from other forms |
//! | [`download`] | fetching over HTTPS with resume, checksum and unpacking |
//! | [`embedded`] | Zachary's karate club, and copies of Cora and MUTAG: they need no files |
//! | [`planetoid`] | `ind.NAME.*` pickles (Cora, CiteSeer, PubMed) |
//! | [`geom_gcn`] | tab-separated text and ten splits (WebKB, Chameleon, Squirrel) |
//! | [`npz`] | NumPy zips with CSR arrays (Amazon, Coauthor, CoraML, PolBlogs) |
//! | [`npz_writer`] | writes a graph as an archive that SciPy reads |
//! | [`writer`] | writes a dataset in the forms of a user's own files |
//! | [`linkx`] | Facebook100 and LINKX arrays (Penn94, genius, deezer-europe) |
//! | [`ogb`] | OGB's csv folder (ogbn-arxiv, arxiv-year) |
//! | [`tu`] | TU graph-classification text |
//! | [`attacked`] | attacked graphs from the literature |
//! | `edge_sink` | shared parts of all edge readers |
//! | [`columnar`] | Parquet and Arrow files instead of text |
//! | [`edge_list`] | a user's own edge list, features and labels |
//! | [`scipy`] | a user's own archive: a SciPy matrix, or a layout of the above |
//! | [`sources`] | the files of a user that were read, and those that were not |
//! | [`facts`] | statistics printed by `gnarl data check` |
//! | [`protocol`] | the default splits of each dataset |
//! | [`benchmark`] | a dataset with its splits, on which models are fitted and evaluated |
//!
//! | feature | switches on |
//! | --- | --- |
//! | `parquet` | Parquet and Arrow files ([`columnar`]) |
//! | `download` | datasets over HTTPS ([`download`]) |
//!
//! Both are off by default: without them no TLS and no Arrow library is compiled, and files and
//! downloads are refused by an error that names the feature.

pub mod attacked;
pub mod benchmark;
pub mod columnar;
pub mod disk;
pub mod download;
pub mod edge_list;
mod edge_sink;
pub mod embedded;
pub mod facts;
pub mod geom_gcn;
pub mod linkx;
pub mod load;
pub mod npz;
pub mod npz_writer;
pub mod ogb;
mod pickle;
pub mod planetoid;
pub mod protocol;
pub mod registry;
pub mod scipy;
pub mod sources;
pub mod text;
pub mod tu;
pub mod writer;

pub use self::benchmark::{Benchmark, Part, SplitData, Task};
pub use self::load::{data_dir, load};
pub use self::protocol::{protocol_folds, protocol_splits, splits_by};
pub use self::sources::{Source, Sources};

use gnarl_graph::error::{Error, Result};
use gnarl_graph::features::Features;
use gnarl_graph::graph::{BuildReport, Graph};
use gnarl_graph::graph_set::GraphSet;
use gnarl_graph::matrix::CsrMatrix;

/// A graph for node classification, or a set of graphs for graph classification.
#[derive(Debug, Clone)]
pub enum Content {
    /// One graph.
    Graph(Graph),
    /// Many graphs.
    Graphs(GraphSet),
}

/// A dataset as loaded.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Name in the registry, `karate`, a generator's name, or the path it was read from.
    pub name: String,
    /// The loaded graph or set.
    pub content: Content,
    /// Edges dropped to make the graph undirected and simple.
    pub report: BuildReport,
    /// Registry entry, if there is one.
    pub entry: Option<&'static registry::Entry>,
    /// Files of the user that were read and not read.
    pub sources: Sources,
}

impl Dataset {
    /// Returns the graph of a node dataset; a set of graphs is an error.
    pub fn graph(&self) -> Result<&Graph> {
        match &self.content {
            Content::Graph(graph) => Ok(graph),
            Content::Graphs(_) => Err(Error::unsupported(
                "dataset",
                format!("{} is a set of graphs, one graph is needed", self.name),
            )),
        }
    }

    /// Returns the graphs of a graph dataset; a single graph is an error.
    pub fn graph_set(&self) -> Result<&GraphSet> {
        match &self.content {
            Content::Graphs(set) => Ok(set),
            Content::Graph(_) => Err(Error::unsupported(
                "dataset",
                format!("{} is one graph, a set of graphs is needed", self.name),
            )),
        }
    }
}

/// Returns the graph with the identity as features, instead of any it has: the model input on
/// PolBlogs, which has no features.
///
/// Take the largest component first if the protocol requires it: there is one feature per node.
pub fn with_identity_features(graph: Graph) -> Graph {
    let identity = Features::Sparse(CsrMatrix::identity(graph.num_nodes()));
    graph
        .with_features(identity)
        .expect("the identity has a row per node")
}

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
