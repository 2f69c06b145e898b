//! Fuzzes a user's own edge list.
#![no_main]

use gnarl_data::edge_list;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    edge_list::fuzz_edge_list(data);
});
