//! Fuzzes TU graph-classification text.
#![no_main]

use gnarl_data::tu;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tu::fuzz_tu(data);
});
