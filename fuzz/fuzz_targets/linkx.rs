//! Fuzzes LINKX and Facebook100 arrays.
#![no_main]

use gnarl_data::linkx;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    linkx::fuzz_linkx(data);
});
