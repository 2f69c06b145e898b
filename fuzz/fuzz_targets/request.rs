//! Fuzzes requests to `gnarl explore`.
#![no_main]

use gnarl_cli::fuzz_request;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzz_request(data);
});
