//! Fuzzes OGB's csv folder.
#![no_main]

use gnarl_data::ogb;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ogb::fuzz_ogb(data);
});
