#!/usr/bin/env bash
# gnarl's PRBCD against PyTorch Geometric's: seconds and what is left of a GCN on Cora's largest component, 5 % of the edges, evasion.
#     bench/attack.sh DATA_DIR [RUNS]
# Both attack a GCN of 16 hidden units trained on the split that the literature shares, features as loaded, with the same block, epochs and
# two threads, in turn. Prints a table and writes bench/out/attack.json. Needs Python 3; installs PyTorch and PyTorch Geometric into
# bench/.venv-pyg; PYTHON names another interpreter that has them.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
runs="${2:-3}"
cd "$(dirname "$0")/.."
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2

python="${PYTHON:-bench/.venv-pyg/bin/python}"
if [ -z "${PYTHON:-}" ]; then
    [ -x "$python" ] || python3 -m venv bench/.venv-pyg
    bench/.venv-pyg/bin/pip install --quiet --requirement bench/requirements-pyg.txt
fi
cargo build --release
mkdir -p bench/out
"$python" bench/attack_side.py "$data" "$runs" bench/out/attack.json "${CARGO_TARGET_DIR:-target}/release/gnarl"
