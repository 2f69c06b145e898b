#!/usr/bin/env python3
"""Compiles and runs what CONTRIBUTING.md shows: python3 scripts/contributing.py

Applies every diff of CONTRIBUTING.md to a copy of the sources, builds the copy, and runs it: help, schema, spec files and
refusals must have what was added.
"""

import os
import re
import shutil
import subprocess
import sys
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


def unoptimised(tree):
    """Leaves out optimisation and debug symbols of the copy's own crates, and renames its program.

    Dependencies are those of the tests; only the copy itself is compiled.
    """
    manifest = tree / "Cargo.toml"
    own = "|".join(folder.name for folder in (tree / "crates").iterdir())
    text = re.sub(rf"^(\[profile\.dev\.package\.(?:{own})\]\nopt-level = )\d", r"\g<1>0", manifest.read_text(), flags=re.M)
    text = text.replace('[profile.dev]\nopt-level = 1\ndebug = "line-tables-only"', "[profile.dev]\nopt-level = 0\ndebug = false")
    manifest.write_text(text)
    program = tree / "crates/gnarl-cli/Cargo.toml"
    program.write_text(program.read_text().replace('[[bin]]\nname = "gnarl"', '[[bin]]\nname = "contributing"'))


# A command, and texts that its output must have.
SHOWN = [
    (["train", "--help"], ["--laziness", "Probability of staying at a node", "[default: 0.5]"]),
    (["attack", "--help"], ["crowd-hub", "random edges at the node of the largest degree"]),
    (["certify", "--help"], ["--max-removals", "Largest number of removed edges"]),
    (["schema", "model"], ['"laziness"', '"agreement"', '"triangles"']),
    (["train", "--data", "karate", "--model", "lazy", "--laziness", "0.25", "--print-spec"], ['kind = "lazy"', "laziness = 0.25"]),
    (["train", "--data", "karate", "--model", "lazy", "--laziness", "0.25", "--epochs", "3", "--runs", "1"], ["test"]),
    (["train", "--data", "karate", "--depth", "admp-alm", "--policy", "agreement", "--epochs", "3", "--runs", "1"], ["agreement"]),
    (["attack", "--data", "karate", "--attack", "crowd-hub", "--epochs", "3", "--runs", "1"], ["crowd-hub"]),
    (["certify", "--data", "karate", "--method", "isolated", "--target", "edges", "--epochs", "3", "--runs", "1"], ["isolated"]),
]
REFUSED = [
    (["train", "--data", "karate", "--model", "lazy", "--laziness", "2"], "--laziness must be in [0, 1] (got 2)"),
    (["train", "--data", "karate", "--model", "gcn", "--laziness", "0.2"], "belongs to lazy"),
]


def check(program):
    """Runs the program with what was added."""
    for arguments, texts in SHOWN:
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        shown = done.stdout + done.stderr
        flat = " ".join(shown.split())
        missing = [text for text in texts if text not in shown and text not in flat]
        if done.returncode or missing:
            sys.exit(f"gnarl {' '.join(arguments)}: exit code {done.returncode}, no {missing} in\n{shown}")
    for arguments, text in REFUSED:
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        if done.returncode != 2 or text not in done.stderr:
            sys.exit(f"gnarl {' '.join(arguments)}: exit code {done.returncode}, not {text!r}: {done.stderr}")


def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    tree = target / "contributing"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT).decode().split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file() and not name.startswith("results/"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    count = 0
    for name, lines in patches((ROOT / "CONTRIBUTING.md").read_text()):
        apply(tree, name, lines)
        count += 1
    unoptimised(tree)
    build = ["cargo", "build", "--workspace", "--bin", "contributing"]
    subprocess.run(build, cwd=tree, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True)
    check(target / "debug/contributing")
    print(f"CONTRIBUTING.md: {count} files of its diffs compile, and the program has what they add")


if __name__ == "__main__":
    main()
