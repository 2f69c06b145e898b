#!/usr/bin/env bash
# Builds the fuzz targets and runs each for so many seconds, as many at a time as there are cores, or as JOBS says:
#
#     bash fuzz/run.sh 60                    a minute each
#     JOBS=1 bash fuzz/run.sh 3600 npz spec  an hour each of two of them
#     SEED=1 bash fuzz/run.sh 60             the same inputs every time, from the same corpus
#
# The usual compiler will do: its LLVM has the instruments that libFuzzer wants (fuzz/instrumented.sh). What the project depends on is taken from where
# `cargo test --workspace` has left it. Ends with a table of how many inputs each has seen, and with 1 where one of them broke something; the input lies
# in fuzz/artifacts then.
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

# Built as tests are, so that dependencies have the features that tests give them, and are there already.
programs=()
for target in "${targets[@]}"; do programs+=(--bin "$target"); done
declare -A program
# A build that fails ends the script here, with the compiler's own message as its last.
messages=$(RUSTC_WORKSPACE_WRAPPER=$PWD/instrumented.sh cargo test --workspace --features gnarl-fuzz/fuzzing --no-run "${programs[@]}" \
    --message-format json-render-diagnostics)
while IFS=$'\t' read -r target path; do program[$target]=$path; done < <(
    sed -nE 's/.*"reason":"compiler-artifact".*"name":"([a-z_]+)".*"executable":"([^"]+)".*/\1\t\2/p' <<< "$messages"
)

run() {
    local target=$1 program=$2
    mkdir -p "corpus/$target" artifacts log
    "$program" "corpus/$target" -seed="${SEED:-0}" -max_total_time="$seconds" -timeout=10 -report_slow_units=1 \
        -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="artifacts/$target-" > "log/$target" 2>&1
}
export -f run
export seconds
status=0
# What targets write goes to memory where there is a place for it.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
for target in "${targets[@]}"; do
    [ -n "${program[$target]:-}" ] || { echo "error: $target was not built" >&2; exit 1; }
    printf '%s\0%s\0' "$target" "${program[$target]}"
done | xargs -0 -n 2 -P "${JOBS:-$(nproc)}" bash -c 'run "$@"' run || status=1

printf '%-12s %12s %9s %8s  %s\n' target inputs seconds 'MB' 'broke something'
for target in "${targets[@]}"; do
    done_line=$(grep -E '^Done [0-9]+ runs' "log/$target" | tail -1 || true)
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "log/$target")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "log/$target")
    broke=$(compgen -G "artifacts/$target-[clot]*" > /dev/null && echo 'yes: fuzz/artifacts' || echo no)
    printf '%-12s %12s %9s %8s  %s\n' "$target" "${inputs:-?}" "$(sed -E 's/.* in ([0-9]+) second.*/\1/' <<< "${done_line:-?}")" "${peak:-?}" "$broke"
done
exit $status
