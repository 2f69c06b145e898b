#!/usr/bin/env bash
# What exits cost: sequential training (ST) with L = 5 against six separate trainings of depths 0 to 5 and against training
# all exits at once (ALM), each of the same number of epochs.
#     bench/depth.sh DATA_DIR [ROUNDS] [DATASET]
# The three run in turn, each in a fresh process on one thread; seconds are of training alone. Prints medians and ratios.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-5}"
dataset="${3:-cora}"
cd "$(dirname "$0")/.."
if [ -z "${GNARL:-}" ]; then
    cargo build --release --workspace
    GNARL="${CARGO_TARGET_DIR:-target}/release/gnarl"
fi
train() { "$GNARL" train --data-dir "$data" --data "$dataset" --threads 1 --epochs 200 --json "$@"; }
exits() { train --model gcn --policy degree --depth "$1" | sed -n 's/.*"training_seconds": \([0-9.]*\).*/\1/p' | tail -n 1; }
# A network of no layer is a linear map: a perceptron of one layer.
plain() { train "$@" | sed -n 's/^ *"seconds": \([0-9.]*\).*/\1/p' | tail -n 1; }
six() {
    { plain --model mlp --layers 1; for depth in 1 2 3 4 5; do plain --model gcn --layers "$depth"; done; } |
        awk '{ s += $1 } END { print s }'
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

st="" alm="" separate=""
for _ in $(seq "$rounds"); do
    st+="$(exits admp-st)"$'\n'
    alm+="$(exits admp-alm)"$'\n'
    separate+="$(six)"$'\n'
done
s="$(printf %s "$st" | median)" a="$(printf %s "$alm" | median)" p="$(printf %s "$separate" | median)"
echo "| dataset | ST, s | six trainings, s | ALM, s | ST / six | ST / ALM |"
echo "| --- | ---: | ---: | ---: | ---: | ---: |"
awk -v d="$dataset" -v s="$s" -v a="$a" -v p="$p" \
    'BEGIN { printf "| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", d, s, p, a, s / p, s / a }'
