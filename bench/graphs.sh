#!/usr/bin/env bash
# gnarl against PyTorch Geometric on sets of graphs: the median epoch of GCN and GIN over the training graphs of a fold.
#     bench/graphs.sh DATA_DIR [ROUNDS]
# The two run in turn, each in a fresh process, on the same files and with the same two threads: batches of 256 graphs in a new
# order every epoch, two layers, hidden 32, mean readout, dropout 0.5, a linear head, Adam. Prints a table of ratios and writes
# bench/out/graphs.json. Needs Python 3; installs PyTorch and PyTorch Geometric into bench/.venv-pyg, or takes the Python that
# PYG_PYTHON names. DATASETS (proteins) and MODELS (gcn) say what is measured; MEASURE_SECONDS (12) is how long each of PyTorch
# Geometric's forms is measured at most.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-3}"
cd "$(dirname "$0")/.."
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2

python="${PYG_PYTHON:-bench/.venv-pyg/bin/python}"
if [ -z "${PYG_PYTHON:-}" ]; then
    [ -x "$python" ] || python3 -m venv bench/.venv-pyg
    bench/.venv-pyg/bin/pip install --quiet --requirement bench/requirements-pyg.txt
fi
cargo build --release --workspace
mkdir -p bench/out
"$python" bench/graphs_side.py compare "$data" "$rounds" bench/out/graphs.json "${CARGO_TARGET_DIR:-target}/release/gnarl"
