#!/usr/bin/env bash
# The compiler for the project's own crates, with the instruments by which libFuzzer sees where an input went. It stands between cargo and rustc
# (RUSTC_WORKSPACE_WRAPPER): what the project depends on is not compiled a second time.
#
# A macro runs inside the compiler, which has no libFuzzer to report to: it is compiled as it always is.
for argument in "$@"; do
    [ "$argument" = proc-macro ] && exec "$@"
done
exec "$@" \
    -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
