#!/usr/bin/env bash
# Known holes of what we build on, and crates that nobody looks after any more: cargo-deny or cargo-audit, whichever is there, with the database of
# rustsec.org. Says that it skips where neither is there, or where the database cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

if cargo deny --version > /dev/null 2>&1; then
    if ! cargo deny --all-features fetch db; then
        echo 'advisories: skipped, the database cannot be fetched' >&2
        exit 0
    fi
    cargo deny --all-features check --disable-fetch advisories
elif cargo audit --version > /dev/null 2>&1; then
    # What cannot be fetched may be here from another time; what is neither is no answer.
    cargo audit --deny unmaintained || {
        [ -d "${CARGO_HOME:-$HOME/.cargo}/advisory-db" ] && exit 1
        echo 'advisories: skipped, the database cannot be fetched' >&2
    }
else
    echo 'advisories: skipped, neither cargo-deny nor cargo-audit is installed' >&2
fi
