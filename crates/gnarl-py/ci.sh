#!/usr/bin/env bash
# The Python package as people get it: a wheel, installed into an environment of its own, and everything run against that.
# PYTHON names another interpreter. Where there is none, or no index of packages, that is said and nothing is checked.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
python=${PYTHON:-python3}
place=${CARGO_TARGET_DIR:-$root/target}/python

skip() { echo "the Python package is not checked: $*" >&2; exit 0; }
say() { printf -- '-- %s (%s s)\n' "$*" "$SECONDS" >&2; }

"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "no Python of 3.10 or later with venv"
rm -rf "$place"
"$python" -m venv "$place/env"
env=$place/env/bin
"$env/pip" install -q --disable-pip-version-check 'maturin>=1.9,<2' || skip "maturin could not be installed"

say 'the wheel'
# Of what `cargo test --workspace` has compiled already; WHEEL=release is the one that is given away.
"$env/maturin" build -q --profile "${WHEEL:-dev}" --out "$place/wheels" --interpreter "$env/python"
wheel=("$place"/wheels/*.whl)
size=$(stat -c %s "${wheel[0]}")
[ "${WHEEL:-dev}" = dev ] || [ "$size" -lt 15000000 ] || { echo "the wheel has $size bytes, more than 15 MB" >&2; exit 1; }

say 'installing it'
"$env/pip" install -q --disable-pip-version-check "${wheel[0]}[test]"

say 'tests, notebooks, types and stubs'
"$env/python" -m pytest tests -p no:cacheprovider
say 'docstrings'
"$env/python" -m pytest --pyargs gnarl --doctest-modules -p no:cacheprovider -c pyproject.toml
say "done: a wheel of $size bytes"
