#!/usr/bin/env bash
# gnarl against PyTorch Geometric: the median epoch of GCN, GATv2 and GIN on four real datasets with few training
# nodes, and on four with most nodes training.
#     bench/pyg.sh DATA_DIR [ROUNDS]
# The two run in turn, each in a fresh process, on the same files and with the same two threads. Prints a table of ratios
# and writes bench/out/pyg.json. Needs Python 3; installs PyTorch and PyTorch Geometric into bench/.venv-pyg.
# MEASURE_SECONDS (12) is how long each of PyTorch Geometric's forms is measured at most.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-3}"
cd "$(dirname "$0")/.."
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 PYTHONWARNINGS=ignore

if [ ! -x bench/.venv-pyg/bin/python ]; then
    python3 -m venv bench/.venv-pyg
fi
bench/.venv-pyg/bin/pip install --quiet --requirement bench/requirements-pyg.txt
cargo build --release --workspace
mkdir -p bench/out
bench/.venv-pyg/bin/python bench/pyg_side.py compare "$data" "$rounds" bench/out/pyg.json "${CARGO_TARGET_DIR:-target}/release/gnarl"
