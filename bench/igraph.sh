#!/usr/bin/env bash
# gnarl against python-igraph on one graph of a million nodes and ten million edges.
#     bench/igraph.sh [ROUNDS]
# The two tools run in turn, each in a fresh process, on the same edges and with the same two threads. Prints the table
# of ratios and writes bench/out/scale.json. Needs Python 3, 6 GB of memory and 400 MB in the temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds="${1:-3}"
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2

if [ ! -x bench/.venv/bin/python ]; then
    python3 -m venv bench/.venv
fi
bench/.venv/bin/pip install --quiet --requirement bench/requirements.txt
cargo build --release --package gnarl-data --example scale
gnarl="${CARGO_TARGET_DIR:-target}/release/examples/scale"

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
"$gnarl" make "$dir"
mkdir -p bench/out
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    bench/.venv/bin/python bench/igraph_side.py measure "$dir" >"$dir/igraph.$round.json"
    "$gnarl" measure "$dir" >"$dir/gnarl.$round.json"
done
bench/.venv/bin/python bench/igraph_side.py compare "$dir" "$rounds" bench/out/scale.json
