"""Where golden files go and how they are written."""

import json
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import scipy
import sklearn

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"
# Files that tests on real datasets read; the others belong to gnarl-graph.
OF_DATA = {"communities.json", "cora.json", "transport.json"}
VERSIONS = {module.__name__: module.__version__ for module in (np, scipy, nx, igraph, sklearn)}


def plain(value):
    """Arrays as lists; whole numbers without a point, so that counts read as counts."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (int, np.integer)) or value is None or isinstance(value, str):
        return int(value) if isinstance(value, np.integer) else value
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def write(name, calls, content):
    """One line per key of each record, so that a change shows where it is."""
    head = {"made_by": "tests/golden/make.sh", "versions": VERSIONS, "calls": calls}
    lines = []
    for key, value in {**head, **content}.items():
        value = plain(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            records = [",\n   ".join(f"{json.dumps(k)}: {compact(v)}" for k, v in record.items()) for record in value]
            lines.append(f"{json.dumps(key)}: [\n  {{" + "},\n  {".join(records) + "}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {compact(value)}")
    crate = "gnarl-data" if name in OF_DATA else "gnarl-graph"
    path = CRATES / crate / "tests/golden" / name
    path.write_text("{\n " + ",\n ".join(lines) + "\n}\n")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def compact(value):
    return json.dumps(value, separators=(",", ":"))
