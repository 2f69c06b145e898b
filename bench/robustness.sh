#!/usr/bin/env bash
# What orthonormal weights cost in training, and what RobustCRF costs in inference.
#     bench/robustness.sh DATA_DIR [ROUNDS]
# Epochs of free and orthonormal weights run in turn, each in a fresh process; an inference is measured in turn with plain forward
# passes in one process. Prints medians and ratios.
set -euo pipefail
data="$(realpath "${1:?the folder of datasets}")"
rounds="${2:-9}"
cd "$(dirname "$0")/.."
cargo build --release --workspace
gnarl="${CARGO_TARGET_DIR:-target}/release/gnarl"
times="$(mktemp)"
trap 'rm -f "$times"' EXIT

number() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p"; }
epoch() {
    "$gnarl" bench epoch --data-dir "$data" --data "$1" --model "$2" --recipe thesis-ch5 --weights "$3" --json |
        number epoch_ms | sed "s/^/$1 $2 $3 /" >> "$times"
}
for _ in $(seq "$rounds"); do
    for run in "cora gcn" "cora gin" "citeseer gcn"; do
        read -r dataset model <<< "$run"
        for weights in free orthonormal parseval; do epoch "$dataset" "$model" "$weights"; done
    done
done
echo "| dataset | model | weights | median, ms | least, ms | ratio of medians | ratio of the least |"
echo "| --- | --- | --- | ---: | ---: | ---: | ---: |"
for run in "cora gcn" "cora gin" "citeseer gcn"; do
    for weights in free orthonormal parseval; do
        grep -F "$run $weights " "$times" | cut -d' ' -f4 | sort -g |
            awk -v d="$run" -v n="$weights" '{ v[NR] = $1 } END { print d, n, v[int((NR + 1) / 2)], v[1] }'
    done | awk '$3 == "free" { m = $4; l = $5 }
        { printf "| %s | %s | %s | %.2f | %.2f | %.2f | %.2f |\n", $1, $2, $3, $4, $5, $4 / m, $5 / l }'
done

echo
echo "| dataset | neighbours | updates | evaluations | forward pass, ms | inference, ms | passes in that time |"
echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
for run in "cora 2 1" "cora 5 1" "cora 5 2" "cora 10 2" "cora 5 3" "citeseer 5 2" "cs 5 2"; do
    read -r dataset neighbours updates <<< "$run"
    report="$("$gnarl" bench inference --data-dir "$data" --data "$dataset" --model gcn --recipe thesis-ch6 --epochs 20 \
        --inference robust-crf --crf-samples "$neighbours" --crf-iterations "$updates" --json)"
    echo "$dataset $neighbours $updates $(number evaluations <<< "$report") $(number plain_ms <<< "$report") $(number inference_ms <<< "$report")" |
        awk '{ printf "| %s | %d | %d | %d | %.2f | %.1f | %.1f |\n", $1, $2, $3, $4, $5, $6, $6 / $5 }'
done
