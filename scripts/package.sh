#!/usr/bin/env bash
# Packs every published crate, offline. `--verify` builds each one from its archive, too.
# gnarl-cli is not published: it has the commands of gnarl-thesis.
set -euo pipefail
cd "$(dirname "$0")/.."
verify=--no-verify
[ "${1:-}" = --verify ] && verify=
published=$(cargo metadata --format-version 1 --no-deps --offline |
    python3 -c 'import json, sys; print(*("-p " + p["name"] for p in json.load(sys.stdin)["packages"] if p["publish"] != []))')
# shellcheck disable=SC2086
cargo package --offline --allow-dirty $verify $published
