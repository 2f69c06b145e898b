#!/usr/bin/env bash
# What learning the operator costs: the median epoch of a GCN with a learned and with a fixed operator.
#     bench/cgso.sh DATA_DIR [ROUNDS]
# The two run in turn, each in a fresh process. Prints the medians over the rounds and their ratio.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-7}"
cd "$(dirname "$0")/.."
cargo build --release --package gnarl-cli
gnarl="${CARGO_TARGET_DIR:-target}/release/gnarl"
epoch() { "$gnarl" bench epoch --data-dir "$data" --model gcn --json "$@" | sed -n 's/.*"epoch_ms": \([0-9.]*\).*/\1/p'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo "| dataset | centrality | fixed, ms | learned, ms | ratio |"
echo "| --- | --- | ---: | ---: | ---: |"
for dataset in cora cs; do
    for centrality in degree degree+core; do
        fixed="" learned=""
        for _ in $(seq "$rounds"); do
            fixed+="$(epoch --data "$dataset" --epochs 100)"$'\n'
            learned+="$(epoch --data "$dataset" --epochs 100 --operator cgso --centrality "$centrality")"$'\n'
        done
        f="$(printf %s "$fixed" | median)" l="$(printf %s "$learned" | median)"
        awk -v d="$dataset" -v c="$centrality" -v f="$f" -v l="$l" \
            'BEGIN { printf "| %s | %s | %.2f | %.2f | %.2f |\n", d, c, f, l, l / f }'
    done
done
