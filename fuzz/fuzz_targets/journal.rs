//! Fuzzes files of a training's checkpoints.
#![no_main]

use gnarl_nn::train::fuzz_entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = fuzz_entry(data);
});
