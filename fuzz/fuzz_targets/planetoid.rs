//! Fuzzes Planetoid files: a pickle, or the list of test nodes.
#![no_main]

use gnarl_data::planetoid;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = planetoid::fuzz_pickle(data);
    let _ = planetoid::fuzz_test_index(data);
});
