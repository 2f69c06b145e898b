//! Fuzzes NumPy zips with CSR arrays.
#![no_main]

use gnarl_data::npz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    npz::fuzz_npz(data);
});
