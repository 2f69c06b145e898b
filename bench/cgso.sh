#!/usr/bin/env bash
# What learning the operator costs: the epoch of a GCN with a fixed and with learned operators.
#     bench/cgso.sh DATA_DIR [ROUNDS]
# They run in turn, each in a fresh process. Prints the median and the least of the rounds, and ratios of medians and of
# the least, which a busy machine disturbs least.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-15}"
cd "$(dirname "$0")/.."
cargo build --release --workspace
gnarl="${CARGO_TARGET_DIR:-target}/release/gnarl"
times="$(mktemp)"
trap 'rm -f "$times"' EXIT

epoch() {
    local dataset="$1" name="$2"
    shift 2
    "$gnarl" bench epoch --data-dir "$data" --data "$dataset" --model gcn --json "$@" |
        sed -n "s/.*\"epoch_ms\": \([0-9.]*\).*/$dataset $name \1/p" >> "$times"
}
for _ in $(seq "$rounds"); do
    for run in "cora 150" "cs 25"; do
        read -r dataset epochs <<< "$run"
        epoch "$dataset" fixed --epochs "$epochs"
        for centrality in degree degree+core; do
            epoch "$dataset" "$centrality" --epochs "$epochs" --operator cgso --centrality "$centrality"
        done
    done
done

echo "| dataset | operator | median, ms | least, ms | ratio of medians | ratio of the least |"
echo "| --- | --- | ---: | ---: | ---: | ---: |"
for dataset in cora cs; do
    for name in fixed degree degree+core; do
        grep -F "$dataset $name " "$times" | cut -d' ' -f3 | sort -g |
            awk -v d="$dataset" -v n="$name" '{ v[NR] = $1 } END { print d, n, v[int((NR + 1) / 2)], v[1] }'
    done | awk '$2 == "fixed" { m = $3; l = $4 }
        { printf "| %s | %s | %.2f | %.2f | %.2f | %.2f |\n", $1, $2, $3, $4, $3 / m, $4 / l }'
done
