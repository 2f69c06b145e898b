#!/usr/bin/env bash
# Builds the fuzz targets and runs each for so many seconds, as many at a time as there are cores, or as JOBS says:
#
#     bash fuzz/run.sh 60                    a minute each
#     JOBS=1 bash fuzz/run.sh 3600 npz spec  an hour each of two of them
#
# The usual compiler will do: its LLVM has the instruments that libFuzzer wants, and they are named below. Ends with a table of how many inputs each
# has seen, and with 1 where one of them broke something; the input lies in fuzz/artifacts then.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-60}
shift || true
if [ $# -gt 0 ]; then targets=("$@"); else
    mapfile -t targets < <(for file in fuzz_targets/*.rs; do basename "$file" .rs; done)
fi

if ! command -v c++ > /dev/null; then
    echo 'fuzzing: skipped, there is no C++ compiler to build libFuzzer with' >&2
    exit 0
fi

instruments=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
)
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="${instruments[*]}" cargo build --release --target "$host"

run() {
    local target=$1
    mkdir -p "corpus/$target" artifacts log
    local seeds=()
    [ -d "seeds/$target" ] && seeds=("seeds/$target")
    "target/$host/release/$target" "corpus/$target" "${seeds[@]}" -max_total_time="$seconds" -timeout=10 -report_slow_units=1 \
        -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="artifacts/$target-" > "log/$target" 2>&1
}
export -f run
export seconds host
status=0
# What targets write goes to memory where there is a place for it.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
printf '%s\n' "${targets[@]}" | xargs -P "${JOBS:-$(nproc)}" -I {} bash -c 'run {}' || status=1

printf '%-12s %12s %9s %8s  %s\n' target inputs seconds 'MB' 'broke something'
for target in "${targets[@]}"; do
    done_line=$(grep -E '^Done [0-9]+ runs' "log/$target" | tail -1 || true)
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "log/$target")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "log/$target")
    broke=$(compgen -G "artifacts/$target-[clot]*" > /dev/null && echo 'yes: fuzz/artifacts' || echo no)
    printf '%-12s %12s %9s %8s  %s\n' "$target" "${inputs:-?}" "$(sed -E 's/.* in ([0-9]+) second.*/\1/' <<< "${done_line:-?}")" "${peak:-?}" "$broke"
done
exit $status
