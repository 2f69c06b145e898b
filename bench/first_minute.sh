#!/usr/bin/env bash
# `gnarl` alone, as somebody sees it who has just built it: seconds, memory, and whether it prints what the README says, to half a point.
# Writes what it found to bench/results/first-minute.md. Run it on a machine that does nothing else: bash bench/first_minute.sh
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --workspace
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
program="$PWD/target/release/gnarl"
(cd "$work" && python3 - "$program" <<'PY'
import resource, subprocess, sys, time
start = time.monotonic()
with open("printed.txt", "w") as out:
    subprocess.run([sys.argv[1], "--threads", "2"], stdout=out, check=True, env={"GNARL_DATA": "none", "PATH": "/usr/bin:/bin"})
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open("cost.txt", "w") as out:
    print(f"{time.monotonic() - start:.1f} s, {used.ru_maxrss / 1024:.0f} MB, {used.ru_utime + used.ru_stime:.1f} s of processors, two threads", file=out)
PY
)
python3 - "$work/printed.txt" <<'PY'
import re, sys
printed = open(sys.argv[1]).read().splitlines()
readme = open("README.md").read()
shown = readme.split("```console\n$ gnarl\n")[1].split("```")[0].splitlines()
number = re.compile(r"[-+]?\d[\d,]*\.?\d*|…(?=[ ,%])")
far = 0
for ours, theirs in zip(printed, shown):
    if ours.startswith("─"):
        continue
    words = lambda line: [w for w in number.sub("#", line).split() if w != "*"]
    # The README may leave a figure open.
    values = lambda line: [float("nan") if v == "…" else float(v.replace(",", "").rstrip(".")) for v in number.findall(line)]
    if words(ours) != words(theirs):
        sys.exit(f"the README says\n{theirs}\nand what is printed is\n{ours}")
    far = max([far, *(abs(a - b) for a, b in zip(values(ours), values(theirs)) if a == a and b == b)])
if len(printed) != len(shown):
    sys.exit(f"{len(printed)} lines are printed, the README has {len(shown)}")
print(f"as the README says, the largest difference of a figure {far:g}")
PY
mkdir -p bench/results
{ echo "gnarl, $(git rev-parse --short HEAD), $(nproc) processors, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)"; cat "$work/cost.txt"; } | tee bench/results/first-minute.md
