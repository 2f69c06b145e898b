//! Fuzzes SciPy's sparse matrices: adjacency and features.
#![no_main]

use gnarl_data::scipy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    scipy::fuzz_scipy(data);
});
