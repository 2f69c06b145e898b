#!/usr/bin/env bash
# Ends gnarl by SIGKILL at random moments of imports, trainings, saving, tables and downloads, so many times each, and looks at what is left:
#
#     bash scripts/kill.sh 100
#
# Ends with a table for docs/reliability.md, and with 1 where something half-written was under a final name, or something that went on ended
# otherwise than what was never disturbed.
set -euo pipefail
cd "$(dirname "$0")/.."

export GNARL_KILLS=${1:-100}
log=$(mktemp)
status=0
cargo test --workspace --test commands -- --nocapture --test-threads 1 crash_recovery::killed_ 2>&1 | tee "$log" || status=1
cargo test --workspace --test data -- --nocapture download::downloads_survive_kills 2>&1 | tee -a "$log" || status=1
printf '\n| killed while | kills | came too late | what was found |\n| --- | ---: | ---: | --- |\n'
sed -n 's/^.*killed | /| /p' "$log"
rm "$log"
exit $status
