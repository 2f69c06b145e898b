#!/usr/bin/env bash
# A program for any Linux on x86-64, in one file that needs nothing of the system: a static build (musl), packed with completions, pages
# for `man` and licences, and the checksum beside it.
#
#     bash scripts/release.sh [FOLDER]      writes FOLDER/gnarl-VERSION-x86_64-linux.tar.gz and .sha256 [target/dist]
#
# It needs `rustup target add x86_64-unknown-linux-musl`, and for the parts in C (allocator, zstd, TLS) musl-gcc, of the package musl-tools on
# Debian and its kin; Python 3 for the licences.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-musl
out=${1:-target/dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name="gnarl-$version-x86_64-linux"

die() { echo "error: $*" >&2; exit 1; }
command -v musl-gcc > /dev/null || die 'musl-gcc is missing; on Debian: apt-get install musl-tools'
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || die "the target is missing: rustup target add $target"

CC_x86_64_unknown_linux_musl=musl-gcc cargo build --release --locked -p gnarl-cli --bin gnarl --target "$target"
program=${CARGO_TARGET_DIR:-target}/$target/release/gnarl

# What starts with a loader is not static.
if readelf -l "$program" | grep -q INTERP; then
    die "$program asks for a loader: it is not static"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder="$work/$name"
mkdir -p "$folder/completions" "$folder/man"
cp "$program" "$folder/gnarl"
strip "$folder/gnarl"
"$folder/gnarl" completions bash > "$folder/completions/gnarl.bash"
"$folder/gnarl" completions zsh > "$folder/completions/_gnarl"
"$folder/gnarl" completions fish > "$folder/completions/gnarl.fish"
"$folder/gnarl" man --out "$folder/man" --quiet
cp LICENSE-MIT LICENSE-APACHE "$folder/"
cp crates/gnarl-data/src/embedded/README.md "$folder/DATA.md"
python3 scripts/licences.py gnarl-cli "$target" > "$folder/THIRD-PARTY.txt"

# What is packed works: it trains, away from the repository.
(cd "$work" && GNARL_DATA=none "$folder/gnarl" train --data karate --model gcn --epochs 5 --quiet)

mkdir -p "$out"
# The same files make the same archive, whenever and by whomever it is packed.
tar --sort=name --mtime='UTC 2020-01-01' --owner=0 --group=0 --numeric-owner -C "$work" -c "$name" | gzip -9n > "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
ls -l "$out/$name.tar.gz" "$out/$name.tar.gz.sha256"
