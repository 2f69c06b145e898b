#!/usr/bin/env bash
# Builds the Python package as users get it, installs it into an environment of its own and tests it there.
# PYTHON selects the interpreter, WHEEL=release the profile of releases. Without Python or a package index, the script says so and checks nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
python=${PYTHON:-python3}
place=${CARGO_TARGET_DIR:-$root/target}/python

skip() { echo "the Python package is not checked: $*" >&2; exit 0; }
say() { printf -- '-- %s (%s s)\n' "$*" "$SECONDS" >&2; }

"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "no Python of 3.10 or later with venv"
rm -rf "$place"
"$python" -m venv "$place/env"
env=$place/env/bin
"$env/pip" install -q --disable-pip-version-check 'maturin>=1.9,<2' 'twine>=6' || skip "maturin could not be installed"

say 'the source distribution'
"$env/python" scripts/licences.py gnarl-py x86_64-unknown-linux-gnu > "$place/THIRD-PARTY.txt"
cmp -s THIRD-PARTY.txt "$place/THIRD-PARTY.txt" || {
    echo "THIRD-PARTY.txt is out of date: python3 scripts/licences.py gnarl-py x86_64-unknown-linux-gnu > THIRD-PARTY.txt" >&2
    exit 1
}
"$env/maturin" sdist --out "$place/sdist"
"$env/twine" check --strict "$place"/sdist/*.tar.gz
mkdir "$place/unpacked"
tar -C "$place/unpacked" --strip-components 1 -xzf "$place"/sdist/*.tar.gz
cargo metadata --quiet --locked --offline --format-version 1 --manifest-path "$place/unpacked/Cargo.toml" > /dev/null

say 'the wheel'
# The development profile uses what `cargo test --workspace` compiled; releases use WHEEL=release.
"$env/maturin" build -q --profile "${WHEEL:-dev}" --out "$place/wheels" --interpreter "$env/python"
wheel=("$place"/wheels/*.whl)
size=$(stat -c %s "${wheel[0]}")
[ "${WHEEL:-dev}" = dev ] || [ "$size" -lt 15000000 ] || { echo "the wheel has $size bytes, more than 15 MB" >&2; exit 1; }
"$env/twine" check --strict "${wheel[0]}"

say 'installing it'
"$env/pip" install -q --disable-pip-version-check "${wheel[0]}[test]"

say 'tests, notebooks, types and stubs'
"$env/python" -m pytest crates/gnarl-py/tests -p no:cacheprovider
say 'docstrings'
# Away from the sources, so that the installed package is imported.
(cd "$place" && "$env/python" -m pytest --pyargs gnarl --doctest-modules -p no:cacheprovider -c "$root/pyproject.toml")
say "done: a wheel of $size bytes"
