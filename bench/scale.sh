#!/usr/bin/env bash
# gnarl against DGL: an epoch of GraphSAGE on sampled neighbourhoods of a graph of a million nodes and ten million edges.
#     bench/scale.sh [ROUNDS]
# The two run in turn, each in a fresh process, on the same arrays and with the same two threads: gnarl maps them from the
# disk, DGL has them in memory. DGL is compared in the fastest of its forms (bench/scale_side.py), which the first round
# finds. What an epoch is: 15 and 10 neighbours of 1,024 training nodes a step, 128 features, 64 hidden numbers, no validation.
# The loaders alone are compared too (crates/gnarl-data/examples/loader.rs). Prints the table of ratios and writes bench/out/sampled.json.
# Needs Python 3.11 and 2 GB in the temporary folder; installs DGL and PyTorch into bench/.venv-scale.
# NODES, EDGES and EPOCHS (3) make it smaller or longer; FORM ("graphbolt 1") fixes DGL's form; WORK is a folder in which
# the graph is kept between calls; VENV is another Python environment; GNARL, LARGE and LOADER are binaries that are built already.
set -euo pipefail
rounds="${1:-2}"
cd "$(dirname "$0")/.."
nodes="${NODES:-1000000}" edges="${EDGES:-10000000}" epochs="${EPOCHS:-3}" venv="${VENV:-bench/.venv-scale}"
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 DGLBACKEND=pytorch

if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
fi
if ! "$venv/bin/python" -c 'import dgl' 2>/dev/null; then
    "$venv/bin/pip" install --quiet --requirement bench/requirements-scale.txt
fi
if [ -z "${GNARL:-}" ]; then
    cargo build --release --workspace --bins --example large --example loader
fi
gnarl="${GNARL:-${CARGO_TARGET_DIR:-target}/release/gnarl}"
large="${LARGE:-${CARGO_TARGET_DIR:-target}/release/examples/large}"
loader="${LOADER:-${CARGO_TARGET_DIR:-target}/release/examples/loader}"

if [ -n "${WORK:-}" ]; then
    mkdir -p "$WORK"
    dir="$WORK"
else
    dir="$(mktemp -d)"
    trap 'rm -rf "$dir"' EXIT
fi
if [ ! -d "$dir/graph" ]; then
    "$large" "$dir/made" "$nodes" "$edges" 128 10
    "$gnarl" data import "$dir/made/edges.tsv" --features-from "$dir/made/features.npy" --labels-from "$dir/made/labels.csv" \
        --splits-from "$dir/made/splits.csv" --out "$dir/graph" >&2
    rm -r "$dir/made"
fi

mkdir -p bench/out
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    "$venv/bin/python" bench/scale_side.py measure "$dir/graph" "$epochs" >"$dir/dgl.$round.json"
    FORM="$("$venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["form"])' "$dir/dgl.$round.json")"
    export FORM
    "$gnarl" train --data "$dir/graph" --model sage --batch-nodes 1024 --fanout 15,10 --hidden 64 --epochs "$epochs" \
        --features as-loaded --json >"$dir/gnarl.$round.json"
    "$loader" "$dir/graph" 1024 "$epochs" >"$dir/loader.$round.json"
    cat "$dir/dgl.$round.json" "$dir/loader.$round.json"
    "$venv/bin/python" -c 'import json, sys; print(json.dumps({"library": "gnarl", "training_seconds": json.load(open(sys.argv[1]))["epoch_ms"] / 1e3}))' \
        "$dir/gnarl.$round.json"
done
"$venv/bin/python" bench/scale_side.py compare "$dir" "$rounds" bench/out/sampled.json
