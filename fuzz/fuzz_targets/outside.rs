//! What a program behind `--external` answers, line by line.
#![no_main]

use gnarl_robust::inference::external::fuzz_answers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzz_answers(data);
});
