#!/usr/bin/env python3
"""Runs cheap cells of results/ again and compares every run, digit by digit.

    python3 scripts/rerun.py [--program target/release/gnarl] [--cells 30] [--seconds 20]

It takes one cell of each table, the cheapest first, then a second one of each, until there are enough.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def is_time(table, cell):
    """True for a cell of seconds, which differ from run to run."""
    return ", s: " in cell["row"] or table == "inference_time"


def cells(limit):
    """For each table its cells of at most `limit` seconds, cheapest first."""
    for file in sorted((ROOT / "results").glob("*.json")):
        table = json.loads(file.read_text())
        cheap = [c for c in table["cells"] if c.get("seconds", limit) < limit and c.get("recipe") in ("thesis", "default") and not is_time(file.stem, c)]
        yield file.stem, table, sorted(cheap, key=lambda c: c["seconds"])


def run(program, table, kept, cell, folder):
    """Returns the figures of a cell, run anew."""
    command = [program, "reproduce", table, "--columns", cell["column"], "--rows", cell["row"], "--recipe", cell["recipe"],
               "--runs", str(kept["runs"]), "--seed", str(kept["seed"]), "--out", folder, "--results", f"{folder}/results", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    again = json.loads(Path(folder, "results", f"{table}.json").read_text())
    for found in again["cells"]:
        if (found["row"], found["column"], found["recipe"]) == (cell["row"], cell["column"], cell["recipe"]):
            return found["runs"]
    return "not in the results"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "target/release/gnarl"))
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    tables = [(name, kept, cheap) for name, kept, cheap in cells(args.seconds) if cheap]
    wrong = count = 0
    rank = 0
    while count < args.cells and any(rank < len(cheap) for *_, cheap in tables):
        for name, kept, cheap in tables:
            if rank >= len(cheap) or count == args.cells:
                continue
            cell = cheap[rank]
            with tempfile.TemporaryDirectory() as folder:
                again = run(args.program, name, kept, cell, folder)
            same = again == cell["runs"]
            count += 1
            wrong += not same
            print("same" if same else "OTHER", kept["table"], "|", cell["row"], "|", cell["column"], f"{cell['seconds']:.1f} s", flush=True)
            if not same:
                print("   kept ", cell["runs"], "\n   again", again, flush=True)
        rank += 1
    print(f"{count} cells, {wrong} with other figures")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
