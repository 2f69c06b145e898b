#!/usr/bin/env bash
# Makes the pages and tries them in Chromium: bash crates/gnarl-cli/tests/browser/run.sh
# Needs Node with npm and Chromium. As root it installs Debian's Chromium where there is none; playwright-core and axe-core go to a folder that is thrown away.
# Says that it skips where something cannot be had. CHROMIUM names another browser, SHOTS a folder for pictures, GNARL a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/../../../.."

skip() { echo "skipped: the pages were not tried in a browser: $*" >&2; exit 0; }

command -v node >/dev/null && command -v npm >/dev/null || skip "there is no Node with npm"
chromium="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [ -z "$chromium" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing Chromium" >&2
    timeout 300 sh -c 'apt-get update && apt-get install -y --no-install-recommends chromium' >/dev/null 2>&1 || skip "Chromium could not be installed"
    chromium="$(command -v chromium || true)"
fi
[ -n "$chromium" ] || skip "there is no Chromium"

work="$(mktemp -d)"
explorer=
trap '[ -z "$explorer" ] || kill "$explorer" 2>/dev/null || true; rm -rf "$work"' EXIT
echo '{"private":true}' >"$work/package.json"
(cd "$work" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 timeout 180 npm install --no-audit --no-fund --silent playwright-core@1 axe-core@4) ||
    skip "playwright-core and axe-core could not be fetched"

# A few epochs: the figures are worth nothing, the pages are the same.
gnarl="${GNARL:-target/debug/gnarl}"
[ -x "$gnarl" ] || cargo build --workspace
"$gnarl" --rough 8 --out "$work/axes.html" >/dev/null
"$gnarl" --tour karate --rough 8 --out "$work/karate.html" >/dev/null
"$gnarl" report --out "$work/results.html" >/dev/null
"$gnarl" train --data karate --model gcn --depth admp-st --epochs 20 --page "$work/model.html" >/dev/null
"$gnarl" attack --data karate --model gcn --attack dice --budget 0.2 --epochs 20 --page "$work/attack.html" >/dev/null
"$gnarl" robustness --data karate --model gcn --epochs 20 --samples 20 --epsilon 0.5,1,2 --page "$work/robustness.html" >/dev/null

"$gnarl" explore --data karate --epochs 60 --json >"$work/explorer" &
explorer=$!
for _ in $(seq 100); do [ -s "$work/explorer" ] && break; sleep 0.1; done
live="$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$work/explorer")"

LIVE="$live" CHROMIUM="$chromium" timeout 500 node crates/gnarl-cli/tests/browser/check.mjs "$work" "$work/axes.html" "$work/karate.html" "$work/results.html" \
    "$work/model.html" "$work/attack.html" "$work/robustness.html"
