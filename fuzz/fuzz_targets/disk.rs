//! Fuzzes folders of mapped arrays: a description, offsets and neighbours, separated by zero bytes.
#![no_main]

use gnarl_data::disk;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    disk::fuzz_folder(data);
});
