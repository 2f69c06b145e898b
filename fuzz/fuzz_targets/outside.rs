//! Fuzzes the output of a program behind `--external`, line by line.
#![no_main]

use gnarl_robust::inference::external::fuzz_responses;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzz_responses(data);
});
