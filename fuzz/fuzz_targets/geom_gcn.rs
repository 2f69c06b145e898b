//! Fuzzes Geom-GCN files: the text of nodes, the text of edges, or a split.
#![no_main]

use gnarl_data::geom_gcn;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = geom_gcn::fuzz_nodes(data);
    let _ = geom_gcn::fuzz_edges(data);
    let _ = geom_gcn::fuzz_split(data, 100);
});
