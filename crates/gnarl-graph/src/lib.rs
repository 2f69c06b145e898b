//! Graphs, datasets, graph generators and graph statistics, without tensors: the base crate of
//! gnarl.
//!
//! | module | contents |
//! | --- | --- |
//! | [`graph`] | [`Graph`], an immutable undirected graph with features, labels and splits; [`GraphSet`] for many small ones |
//! | [`generate`] | random graphs, one module per model |
//! | [`centrality`] | degree, core number, PageRank, walk count |
//! | [`operator`] | classical and centrality shift operators as sparse matrices |
//! | [`spectrum`] | eigenvalues, gap, Cheeger constant, bounds |
//! | [`community`] | community detection: spectral clustering, Louvain, Fast Greedy, Walktrap, node2vec, k-means |
//! | [`properties`] | density, components, homophily, diameter, Dirichlet energy |
//! | [`sample`] | sampled neighbourhoods |
//! | [`distance`] | distances between graphs, with and without known alignment; transport and barycentres |
//! | [`metrics`] | accuracy, AMI, ARI, modularity, success rate, histograms |
//! | [`settings`] | settings and lists of choices: parsing, help, files and errors |
//! | [`sets`] | small sets over an enum: requirements, properties |
//! | [`random`] | random streams: one seed, a stream per purpose |
//! | [`files`] | atomic file writes |
//! | [`stored`] | numbers in memory or in a mapped file |
//! | [`limits`] | limits on memory, time and counts |
//!
//! A module uses the modules before it in this order, never later ones: error, random, limits,
//! sets, settings, files, stored and matrix; then features, labels, split, components, graph and graph
//! set; then properties, centrality, operator, sample, metrics, distance and generate; then
//! spectrum, dataset and community.
//!
//! # Terms
//!
//! `num_nodes` is n; `num_edges` counts undirected pairs, m; `num_arcs` counts stored directed
//! entries, 2m; `num_classes` is the number of labels; `budget` is the limit on an attack's
//! changes; a `split` names training, validation and test nodes or graphs.

// Derived code uses this crate's path.
extern crate self as gnarl_graph;

pub mod centrality;
pub mod community;
pub mod components;
pub mod distance;
pub mod error;
pub mod features;
pub mod files;
pub mod generate;
pub mod graph;
pub mod graph_set;
pub mod labels;
pub mod limits;
pub mod matrix;
pub mod metrics;
pub mod operator;
pub mod properties;
pub mod random;
pub mod sample;
pub mod sets;
pub mod settings;
pub mod spectrum;
pub mod split;
pub mod stored;

pub use error::{Error, Result};
pub use features::Features;
pub use graph::{BuildReport, Graph};
pub use graph_set::GraphSet;
pub use labels::Labels;
pub use matrix::{CsrMatrix, DenseMatrix};
pub use split::Split;

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
