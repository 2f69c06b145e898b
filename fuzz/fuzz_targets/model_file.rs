//! Fuzzes saved models.
#![no_main]

use gnarl::model::Fitted;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = Fitted::from_bytes(data, "fuzz");
});
