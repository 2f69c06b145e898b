#!/usr/bin/env bash
# How the time of a GCN epoch grows from ten thousand to a million nodes at mean degree 10.
#     bench/growth.sh [ROUNDS]
# Prints the table and the exponent, and writes bench/results/growth.md and bench/out/growth.json. Needs 6 GB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds="${1:-3}"

cargo build --release
gnarl="${CARGO_TARGET_DIR:-target}/release/gnarl"
mkdir -p bench/out
"$gnarl" bench growth --rounds "$rounds" --json >bench/out/growth.json
python3 - "$rounds" "$(lscpu | sed -n 's/^Model name: *//p'), $(nproc) cores" <<'PYTHON'
import json, sys

rounds, machine = sys.argv[1:]
found = json.load(open("bench/out/growth.json"))
lines = [
    "# An epoch from ten thousand to a million nodes",
    "",
    f"    bench/growth.sh {rounds}",
    "",
    f"{machine}, {found['threads']} threads. Model {found['model']}; {found['graph']}.",
    f"Median of {rounds} rounds, each the median of its epochs.",
    "",
    "| nodes | edges | ms an epoch | ns a node | rounds, ms |",
    "| ---: | ---: | ---: | ---: | --- |",
]
for s in found["sizes"]:
    each = " ".join(f"{ms:.1f}" for ms in s["rounds_ms"])
    per_node = s["epoch_ms"] * 1e6 / s["nodes"]
    lines.append(f"| {s['nodes']:,} | {s['edges']:,} | {s['epoch_ms']:.1f} | {per_node:.0f} | {each} |")
lines += ["", f"Exponent of time over nodes, least squares on logarithms: **{found['exponent']:.3f}**."]
text = "\n".join(lines) + "\n"
open("bench/results/growth.md", "w").write(text)
print(text)
PYTHON
