//! Real data: what exists, how to fetch it, and one loader per file format.
//!
//! | file | what it reads |
//! | --- | --- |
//! | [`registry`] | every dataset of the thesis: names, citation, counts, format, addresses, checksums |
//! | [`mod@load`] | from a name or a path to a dataset |
//! | [`disk`] | a graph on disk: a folder of mapped arrays, and how one is made of anything else |
//! | [`download`] | fetching over HTTPS with resume, checksum and unpacking |
//! | [`embedded`] | Zachary's karate club, and copies of Cora and MUTAG: they need no file |
//! | [`planetoid`] | `ind.NAME.*` pickles (Cora, CiteSeer, PubMed) |
//! | [`geom_gcn`] | tab-separated text and ten splits (WebKB, Chameleon, Squirrel) |
//! | [`npz`] | NumPy zips with CSR arrays (Amazon, Coauthor, CoraML, PolBlogs) |
//! | [`npz_writer`] | writes a graph as an archive that SciPy reads |
//! | [`writer`] | writes a dataset in the forms that users bring their own in |
//! | [`linkx`] | Facebook100 and LINKX arrays (Penn94, genius, deezer-europe) |
//! | [`ogb`] | OGB's csv folder (ogbn-arxiv, arxiv-year) |
//! | [`tu`] | TU graph-classification text |
//! | [`attacked`] | the graphs of the literature on attacks |
//! | `edge_sink` | what readers of edges have in common |
//! | [`columnar`] | Parquet and Arrow files in the place of text |
//! | [`edge_list`] | a user's own edge list, features and labels |
//! | [`scipy`] | a user's own archive: a SciPy matrix, or a layout of the above |
//! | [`sources`] | what of a user's own files was read, and what was not |
//! | [`facts`] | the facts that `gnarl data check` prints |
//! | [`protocol`] | the splits the thesis judges each dataset by |
//! | [`benchmark`] | a dataset with its splits: what models are fitted on and judged by |

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

/// One graph whose nodes are classified, or many that are classified themselves.
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
    /// The registry's name, `karate`, a generator's name, or the path it was read from.
    pub name: String,
    /// What was loaded.
    pub content: Content,
    /// What was dropped to make it undirected and simple.
    pub report: BuildReport,
    /// Its registry entry, where it has one.
    pub entry: Option<&'static registry::Entry>,
    /// Of a user's own files: what was read, and what was not.
    pub sources: Sources,
}

impl Dataset {
    /// The one graph of a node dataset; a set of graphs is an error.
    pub fn graph(&self) -> Result<&Graph> {
        match &self.content {
            Content::Graph(graph) => Ok(graph),
            Content::Graphs(_) => Err(Error::argument(
                "dataset",
                format!("{} is a set of graphs, one graph is needed", self.name),
            )),
        }
    }

    /// The graphs of a graph dataset; a single graph is an error.
    pub fn graph_set(&self) -> Result<&GraphSet> {
        match &self.content {
            Content::Graphs(set) => Ok(set),
            Content::Graph(_) => Err(Error::argument(
                "dataset",
                format!("{} is one graph, a set of graphs is needed", self.name),
            )),
        }
    }
}

/// The same graph with the identity as features, instead of any it has: what models use on
/// PolBlogs, which has none.
///
/// Take the largest component first where the protocol asks for it: there is one feature per node.
pub fn with_identity_features(graph: Graph) -> Graph {
    let identity = Features::Sparse(CsrMatrix::identity(graph.num_nodes()));
    graph
        .with_features(identity)
        .expect("the identity has a row per node")
}
