#!/usr/bin/env bash
# `cargo install --path crates/gnarl-cli` from a clean place: a checkout of what is committed, an empty home, an empty folder to work in. Then the
# installed program has to train, save and predict there, and to write its pages for `man`.
#
#     bash scripts/install.sh            as users do, optimised
#     bash scripts/install.sh --debug    by the development profile, with what is built already where CARGO_TARGET_DIR says so
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/home" "$work/here"
git -C "$root" archive HEAD | tar -x -C "$work/source"
(cd "$work/source" && cargo install --locked --path crates/gnarl-cli --root "$work/home/.local" "$@")

cd "$work/here"
export HOME="$work/home" PATH="$work/home/.local/bin:$PATH"
unset GNARL_DATA XDG_DATA_HOME
[ "$(command -v gnarl)" = "$HOME/.local/bin/gnarl" ] || { echo "error: gnarl is not in $HOME/.local/bin" >&2; exit 1; }
gnarl --version
printf 'source,target\nann,bob\nbob,eve\neve,ann\nkim,lee\nlee,max\nmax,kim\nann,kim\n' > edges.csv
printf 'node,class\nann,a\nbob,a\neve,a\nkim,b\nlee,b\nmax,b\n' > labels.csv
mkdir own && mv edges.csv labels.csv own/
gnarl train --data own --model gcn --epochs 20 --save model.safetensors --quiet
gnarl predict --load model.safetensors --data own --output answers.csv --quiet
grep -q '^ann,' answers.csv || { echo 'error: nobody answered about ann' >&2; exit 1; }
gnarl man --out man --quiet
test -s man/gnarl.1
gnarl completions bash > completions
test -s completions
echo 'installed from a clean place: trains, saves, predicts'
