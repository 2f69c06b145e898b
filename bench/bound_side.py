"""What a step of GCN must cost at least, and what it costs: see bench/bound.sh.

    bound_side.py DATA_DIR OUT.json GNARL_BINARY

A phase of the step has operations and bytes. Operands and results count once, at the speed of copies in memory, or of copies in a core's second cache where they
fit into it; rows that a sparse product gathers count once more for every entry, at the speed of the cache, since they could be there. A phase takes at least the
longer of its bytes and its operations; the bound of the step is the sum over its phases.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
import torch

from pyg_side import load

HIDDEN, FLOAT, CACHE = 64, 4, 1 << 20


def median_seconds(work, seconds=2.0):
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < seconds or len(times) < 5:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def copy_bandwidth(size, repeats):
    """Bytes read and written a second by two threads that copy blocks of so many bytes each."""
    blocks = [(np.ones(size // 4, np.float32), np.zeros(size // 4, np.float32)) for _ in range(2)]

    def copies(pair):
        for _ in range(repeats):
            np.copyto(pair[1], pair[0])

    with ThreadPoolExecutor(2) as pool:
        return 2 * 2 * size * repeats / median_seconds(lambda: list(pool.map(copies, blocks)))


def dense_rate():
    """Operations a second of a product of large matrices on two threads."""
    torch.set_num_threads(2)
    a, b = torch.rand(2048, 2048), torch.rand(2048, 2048)
    return 2 * 2048**3 / median_seconds(lambda: a @ b)


class Step:
    """Phases of a step: a name, its operations, its bytes in the cache and in memory."""

    def __init__(self, machine):
        self.machine, self.phases = machine, []

    def add(self, name, operations, operands):
        """Operands: how many numbers are touched, and how large the array is that they lie in."""
        speed = lambda size: self.machine["cache" if size * FLOAT <= CACHE else "memory"]
        moving = sum(touched * FLOAT / speed(size) for touched, size in operands)
        least = max(moving, operations / self.machine["dense"])
        self.phases.append({"phase": name, "operations": operations, "ms": least * 1e3, "by": "bytes" if moving >= least else "operations"})

    def sparse_product(self, name, entries, rows, width, other):
        """Entries times rows of another matrix: their places and values, that matrix, a gathered row for each entry, the results."""
        in_order = [(n, n) for n in (2 * entries, other * width, rows * width)]
        self.add(name, 2 * entries * width, [*in_order, (entries * width, 0)])

    def dense_product(self, name, rows, inner, width):
        self.add(name, 2 * rows * inner * width, [(n, n) for n in (rows * inner, inner * width, rows * width)])


def photo(machine, data_dir):
    """`Â₂ relu(Â₁ (X W₁))  W₂` on the receptive field of the training nodes; the operator behind the map where that is narrower."""
    features, adjacency, classes, train = load(data_dir, "photo")
    adjacency = adjacency + sp.identity(adjacency.shape[0], dtype=np.float32, format="csr")
    reach = lambda nodes: np.unique(adjacency[nodes].indices)
    hidden = reach(train)
    first = reach(hidden)
    inner, outer, of_features = adjacency[hidden].nnz, adjacency[train].nnz, features[first].nnz
    num_classes, columns = int(classes.max()) + 1, features.shape[1]
    step = Step(machine)
    step.sparse_product("X W", of_features, len(first), HIDDEN, columns)
    step.sparse_product("A (X W), bias, ReLU, dropout", inner, len(hidden), HIDDEN, len(first))
    step.dense_product("H W", len(hidden), HIDDEN, num_classes)
    step.sparse_product("A (H W), loss", outer, len(train), num_classes, len(hidden))
    step.sparse_product("to H W", outer, len(hidden), num_classes, len(train))
    step.dense_product("to W of the second layer", HIDDEN, len(hidden), num_classes)
    step.dense_product("to H", len(hidden), num_classes, HIDDEN)
    step.sparse_product("to X W", inner, len(first), HIDDEN, len(hidden))
    step.sparse_product("to W of the first layer", of_features, columns, HIDDEN, len(first))
    weights = columns * HIDDEN + HIDDEN * num_classes
    step.add("Adam", 12 * weights, [(7 * weights, 4 * weights)])
    return step.phases


def million(machine, nodes, edges):
    """`Â relu((Â X) W₁) W₂`: dense features whose aggregate is kept; half of the nodes train, so every node takes part."""
    columns, num_classes, entries = 32, 4, 2 * edges + nodes
    step = Step(machine)
    step.dense_product("(A X) W, bias, ReLU, dropout", nodes, columns, HIDDEN)
    step.dense_product("H W", nodes, HIDDEN, num_classes)
    step.sparse_product("A (H W), loss", entries // 2, nodes // 2, num_classes, nodes)
    step.sparse_product("to H W", entries // 2, nodes, num_classes, nodes // 2)
    step.dense_product("to W of the second layer", HIDDEN, nodes, num_classes)
    step.dense_product("to H", nodes, num_classes, HIDDEN)
    step.add("ReLU and dropout backwards", 2 * nodes * HIDDEN, [(2 * nodes * HIDDEN, nodes * HIDDEN)])
    step.dense_product("to W of the first layer", columns, nodes, HIDDEN)
    return step.phases


def gnarl_json(gnarl, *arguments):
    return json.loads(subprocess.run([gnarl, *arguments, "--json", "--threads", "2"], check=True, capture_output=True).stdout)


def main(data_dir, out_file, gnarl):
    machine = {"cache": copy_bandwidth(CACHE // 4, 400), "memory": copy_bandwidth(1 << 28, 1), "dense": dense_rate()}
    print(f"copies {machine['cache'] / 1e9:.1f} GB/s in the cache, {machine['memory'] / 1e9:.1f} in memory; dense products {machine['dense'] / 1e9:.0f} GFLOP/s")
    growth = gnarl_json(gnarl, "bench", "growth", "--sizes", "300000,1000000", "--rounds", "3")["sizes"][-1]
    epoch = gnarl_json(gnarl, "bench", "epoch", "--data", "photo", "--model", "gcn", "--epochs", "100", "--data-dir", data_dir)
    found = {
        "photo": (photo(machine, data_dir), epoch["epoch_ms"]),
        "a million nodes": (million(machine, growth["nodes"], growth["edges"]), growth["epoch_ms"]),
    }
    for name, (phases, measured) in found.items():
        bound = sum(phase["ms"] for phase in phases)
        print(f"\n{name}: {measured:.2f} ms, bound {bound:.2f} ms, {measured / bound:.2f} times")
        for phase in phases:
            print(f"  {phase['phase']:32} {phase['operations'] / 1e6:10.1f} Mop  at least {phase['ms']:8.3f} ms, by {phase['by']}")
    rows = [{"graph": name, "ms": measured, "phases": phases} for name, (phases, measured) in found.items()]
    with open(out_file + ".part", "w") as f:
        json.dump({"machine": {**machine, "cores": os.cpu_count()}, "rows": rows}, f, indent=1)
    os.replace(out_file + ".part", out_file)


if __name__ == "__main__":
    main(*sys.argv[1:4])
