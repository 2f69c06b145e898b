#!/usr/bin/env bash
# gnarl's Nettack and Metattack against DeepRobust's: seconds a target and a flip on Cora's largest component with the published split.
#     bench/deeprobust.sh DATA_DIR [TARGETS] [FLIPS]
# Both attack the same graph in turn, on two threads: Nettack with five flips of edges at each of the first TARGETS (10) published nodes, Meta-Self with
# FLIPS (3) flips. Prints a table and writes bench/out/deeprobust.json. Needs Python 3; installs PyTorch and DeepRobust into bench/.venv-pyg; PYTHON names another
# interpreter that has them.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
targets="${2:-10}"
flips="${3:-3}"
cd "$(dirname "$0")/.."
export RAYON_NUM_THREADS=2 OMP_NUM_THREADS=2 MKL_NUM_THREADS=2 NUMBA_NUM_THREADS=2

python="${PYTHON:-bench/.venv-pyg/bin/python}"
if [ -z "${PYTHON:-}" ]; then
    [ -x "$python" ] || python3 -m venv bench/.venv-pyg
    bench/.venv-pyg/bin/pip install --quiet --requirement bench/requirements-pyg.txt scikit-learn numba networkx tqdm
    # What it asks for besides is for images and old releases.
    bench/.venv-pyg/bin/pip install --quiet --no-deps deeprobust==0.2.11
fi
cargo build --release
mkdir -p bench/out
"$python" bench/deeprobust_side.py "$data" "$targets" "$flips" bench/out/deeprobust.json "${CARGO_TARGET_DIR:-target}/release/gnarl"
