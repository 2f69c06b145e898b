//! Tests of the public interface of gnarl-data, in one program: it is linked once.

#[path = "common/fuzz.rs"]
mod fuzz;
#[path = "../../gnarl-graph/tests/common/golden.rs"]
mod golden_values;
#[path = "common/npy.rs"]
mod npy;

#[cfg(feature = "parquet")]
mod columnar;
mod dataset_statistics;
mod disk;
#[cfg(feature = "download")]
mod download;
mod embedded;
#[cfg(not(all(feature = "download", feature = "parquet")))]
mod features;
mod golden_communities;
mod golden_cora;
mod golden_transport;
mod loader_edge_list;
mod loader_geom_gcn;
mod loader_linkx;
mod loader_npz;
mod loader_ogb;
mod loader_planetoid;
mod loader_scipy;
mod loader_tu;
mod registry;
