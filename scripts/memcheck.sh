#!/usr/bin/env bash
# The tests of what has unsafe code, under valgrind: memory that is read before it was written or after it was given back, and what lies beyond an
# end, are errors. Kernels run in the widest form that valgrind knows (AVX2), and in the plain one.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind > /dev/null || { echo "valgrind is needed, and is not installed" >&2; exit 1; }
built=$(cargo test --workspace --no-run 2>&1) || { echo "$built" >&2; exit 1; }

# An executable by the end of its line in cargo's list.
made() { sed -n "s|.*Executable $1 (\(.*/$2-[0-9a-f]*\))|$PWD/\1|p" <<< "$built"; }

# The folder of a package, its executable, and the names of tests.
check() {
    local package=$1 program=$2
    shift 2
    echo "-- $package: $*"
    (cd "crates/$package" && CARGO_MANIFEST_DIR=$PWD valgrind --quiet --error-exitcode=9 "$program" --test-threads 1 "$@" | tail -n 2)
}

check gnarl-tensor "$(made 'unittests src/lib.rs' gnarl_tensor)"
check gnarl "$(made 'unittests src/lib.rs' gnarl)" operations
check gnarl "$(made 'tests/library.rs' library)" engine::
check gnarl-graph "$(made 'unittests src/lib.rs' gnarl_graph)" stored:: matrix::
echo "no errors"
