#!/usr/bin/env bash
# Makes the golden file of the layers again, in a virtual environment of its own (PyTorch is large, so it is not the one
# of make.sh). Tests read the file and never need Python.
#     tests/golden/make_layers.sh
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -x .venv-layers/bin/python ]; then
    python3 -m venv .venv-layers
fi
.venv-layers/bin/pip install --quiet --requirement requirements-layers.txt
.venv-layers/bin/python make_layers.py
