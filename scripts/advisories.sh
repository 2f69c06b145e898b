#!/usr/bin/env bash
# Security advisories, unmaintained crates, licences, sources and duplicates of the dependencies, by cargo-deny (deny.toml) or cargo-audit. Skips with a
# message if neither is installed, or if the database of rustsec.org cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

if cargo deny --version > /dev/null 2>&1; then
    if ! cargo deny fetch db; then
        echo 'advisories: skipped, the database cannot be fetched' >&2
        exit 0
    fi
    cargo deny check --disable-fetch
elif cargo audit --version > /dev/null 2>&1; then
    # What cannot be fetched may be here from another time; what is neither is no answer.
    cargo audit --deny unmaintained || {
        [ -d "${CARGO_HOME:-$HOME/.cargo}/advisory-db" ] && exit 1
        echo 'advisories: skipped, the database cannot be fetched' >&2
    }
else
    echo 'advisories: skipped, neither cargo-deny nor cargo-audit is installed' >&2
fi
