#!/usr/bin/env bash
# Makes the golden files again, in a virtual environment of their own. Tests read the files and never need Python.
#     tests/golden/make.sh
# Cora's file, communities.json and transport.json need the real data: GNARL_TEST_DATA, else ../shared/data beside the repository.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -x .venv/bin/python ]; then
    python3 -m venv .venv
fi
.venv/bin/pip install --quiet --requirement requirements.txt
.venv/bin/python make.py
.venv/bin/python make_classes.py
.venv/bin/python make_communities.py
.venv/bin/python make_mixtures.py
.venv/bin/python make_transport.py
.venv/bin/python make_written.py
