//! All tests that use graphs and loaders through the public interface, in one program: it is linked
//! once, and no test waits for the last of another file.

mod common;
#[path = "common/fuzz.rs"]
mod fuzz;
#[path = "common/golden.rs"]
mod golden_values;
#[path = "common/npy.rs"]
mod npy;

mod columnar;
mod disk;
mod download;
mod embedded;
mod facts;
mod golden;
mod golden_communities;
mod golden_cora;
mod golden_metrics;
mod golden_spectrum;
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
mod skipped;
