#!/usr/bin/env bash
# How far a step of GCN is from what the machine allows: bytes and operations of a step, counted, over the measured speed of copies and of
# dense products.
#     bench/bound.sh DATA_DIR
# On Photo (20 training nodes per class) and on a made-up graph of a million nodes. Prints the phases of a step, the bound and the measured time, and
# writes bench/out/bound.json. Needs Python 3; takes PyTorch for the machine's own speed from bench/.venv-pyg.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
cd "$(dirname "$0")/.."
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 PYTHONWARNINGS=ignore

if [ ! -x bench/.venv-pyg/bin/python ]; then
    python3 -m venv bench/.venv-pyg
fi
bench/.venv-pyg/bin/pip install --quiet --requirement bench/requirements-pyg.txt
cargo build --release
mkdir -p bench/out
bench/.venv-pyg/bin/python bench/bound_side.py "$data" bench/out/bound.json "${CARGO_TARGET_DIR:-target}/release/gnarl"
