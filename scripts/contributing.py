#!/usr/bin/env python3
"""Compiles and runs what CONTRIBUTING.md shows: python3 scripts/contributing.py

Applies every diff of CONTRIBUTING.md to a copy of the sources, checks the copy, and asks it for the
help and the schema of what was added.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def patches(text):
    """File by file, the lines of its diff."""
    for block in re.findall(r"```diff\n(.*?)```", text, re.S):
        for part in re.split(r"^\+\+\+ ", block, flags=re.M)[1:]:
            name, _, body = part.partition("\n")
            yield name.strip(), body.splitlines()


def apply(tree, name, lines):
    """Applies the diff of one file: a new file, or hunks that are found by their context."""
    file = tree / name
    if not any(line.startswith("@@") for line in lines):
        file.write_text("\n".join(line[1:] for line in lines) + "\n")
        return
    text = file.read_text()
    hunks = "\n".join(lines).split("@@\n")[1:]
    for hunk in hunks:
        kept = hunk.rstrip("\n").split("\n")
        before = "\n".join(line[1:] for line in kept if not line.startswith("+"))
        after = "\n".join(line[1:] for line in kept if not line.startswith("-"))
        if text.count(before) != 1:
            sys.exit(f"CONTRIBUTING.md: this context is {text.count(before)} times in {name}:\n{before}")
        text = text.replace(before, after)
    file.write_text(text)


def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "gnarl"
        tree.mkdir()
        tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT).decode().split("\0")
        for name in filter(None, tracked):
            if (ROOT / name).is_file() and not name.startswith("results/"):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, tree / name)
        count = 0
        for name, lines in patches((ROOT / "CONTRIBUTING.md").read_text()):
            apply(tree, name, lines)
            count += 1
        env = {**os.environ, "CARGO_TARGET_DIR": str(target / "contributing")}
        subprocess.run(["cargo", "check", "-p", "gnarl"], cwd=tree, env=env, check=True)
    print(f"CONTRIBUTING.md: {count} files of its diffs compile")


if __name__ == "__main__":
    main()
