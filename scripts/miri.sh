#!/usr/bin/env bash
# The tests of buffers, patterns, shapes, arrays and sparse kernels under Miri, which knows every byte's history: the parts of the engine without
# intrinsics (`scripts/memcheck.sh` has the rest). It needs a nightly toolchain with the component miri, and takes minutes.
#
# Under Miri's older rules (Stacked Borrows) crossbeam-epoch, below rayon, is an error by itself; whatever starts threads is run under the newer
# ones (Tree Borrows).
set -euo pipefail
cd "$(dirname "$0")/.."
common='-Zmiri-disable-isolation -Zmiri-ignore-leaks'

check() {
    local flags=$1
    shift
    MIRIFLAGS="$common $flags" cargo +nightly miri test --target-dir target/miri --package gnarl-tensor --lib -- --test-threads 1 "$@"
}

check '' array:: buffer:: kernels::
check '-Zmiri-tree-borrows -Zmiri-permissive-provenance' pattern:: shape::
