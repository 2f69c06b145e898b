#!/usr/bin/env python3
"""Lists the third-party crates in a program of this workspace, with their licences and licence texts.

    python3 scripts/licences.py gnarl-cli x86_64-unknown-linux-musl > notices.txt
    python3 scripts/licences.py gnarl-py x86_64-unknown-linux-gnu > THIRD-PARTY.txt

THIRD-PARTY.txt is part of the Python package; write it again after a change of Cargo.lock. The script calls `cargo metadata` and needs
no network if the crates were downloaded before. A text that several crates have is printed once.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

IS_LICENCE = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
IS_CODE = {".rs", ".c", ".h", ".cc", ".py", ".pl", ".sh", ".toml", ".json"}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def described(target):
    """What cargo says of all packages and of who needs whom, on one platform."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def built_into(metadata, program):
    """The packages that end in a program: what it needs, directly or by way of others, tests and build scripts apart."""
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    found, open_ = set(), [id_ for id_, package in packages.items() if package["name"] == program]
    if not open_:
        sys.exit(f"error: no package is called {program}")
    while open_:
        id_ = open_.pop()
        if id_ not in found:
            found.add(id_)
            kinds = lambda need: {kind["kind"] for kind in need["dep_kinds"]}
            open_.extend(need["pkg"] for need in needs[id_] if None in kinds(need))
    return sorted((packages[id_] for id_ in found), key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence files of a package, those of the C sources that it brings along among them."""
    folder = pathlib.Path(package["manifest_path"]).parent
    is_text = lambda path: path.is_file() and IS_LICENCE.match(path.name) and path.suffix.lower() not in IS_CODE
    files = (path for path in sorted(folder.rglob("*")) if is_text(path))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def main(program, target):
    others = [package for package in built_into(described(target), program) if package["source"]]
    brought, silent = collections.OrderedDict(), []
    print(f"Third-party crates in {program}: {len(others)}.\n")
    for package in others:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package['license'] or 'see its file'}")
        found = texts(package)
        for text in found:
            brought.setdefault(text, []).append(name)
        if not found:
            silent.append(name)
    if silent:
        print(f"\nWithout a licence text, under the licence above: {', '.join(silent)}.")
    for text, names in brought.items():
        print(f"\n{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n\n{text}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
