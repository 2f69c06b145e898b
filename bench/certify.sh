#!/usr/bin/env bash
# Samples of sparse smoothing per second: a GCN of 64 units on Cora-ML's features, gnarl and the published code's steps in PyTorch, one after the other on as
# many threads. Needs bench/.venv-pyg (see bench/pyg.sh) and the data folder: GNARL_DATA=FOLDER bash bench/certify.sh [SAMPLES] [THREADS]
set -euo pipefail
cd "$(dirname "$0")/.."
samples="${1:-20000}"
threads="${2:-2}"
python="${PYTHON:-bench/.venv-pyg/bin/python}"
gnarl="${GNARL:-target/release/gnarl}"
export OMP_NUM_THREADS="$threads"
"$gnarl" certify --data cora_ml --binary --model gcn --hidden 64 --method smoothing --samples "$samples" --selection 1 --threads "$threads" --json |
    python3 -c "import json, sys; r = json.load(sys.stdin); print('gnarl, ms a sample:', 1000 * r['seconds'] / $samples)"
"$python" bench/certify_side.py "$GNARL_DATA/npz/cora_ml.npz" 100 10 "$threads" 2>/dev/null |
    python3 -c "import sys; print('PyTorch, ms a sample:', 1000 * float(sys.stdin.read()))"
