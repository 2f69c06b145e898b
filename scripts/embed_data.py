#!/usr/bin/env python3
"""Makes the two datasets that are part of the program from their public files.

    python scripts/embed_data.py FOLDER crates/gnarl-data/src/embedded

FOLDER holds planetoid/ind.cora.* and tu/MUTAG/MUTAG_*.txt, as `gnarl data get cora mutag` fetches them. Needs NumPy and SciPy, which
the pickles are made of. It reads the files by itself and not with gnarl's loaders, so that the test which compares the two
(crates/gnarl-data/tests/embedded.rs) can find either of them wrong.

What it writes, compressed by zlib, is a row of numbers without sign, seven bits to the byte, the lowest first, the eighth bit for
"more follows". Cora: what reading dropped (edges given, self-loops, nodes with one, repetitions), nodes, columns, classes, the class of
each node, the split (how many train, how many validate, then the test nodes as a list), for each node the list of larger neighbours,
for each node the list of words. MUTAG: what reading dropped, graphs, node labels, the class of each graph as the file has it (twice
the number, or one less than twice its size where it is negative), then for each graph its nodes, their labels, and for each node the list of larger neighbours. A list is its length and the distance
of each member, in ascending order, from the one before (the first from 0).
"""

import pickle
import sys
import zlib
from pathlib import Path


def varint(number):
    assert number >= 0
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


class Writer:
    def __init__(self):
        self.bytes = bytearray()

    def put(self, *numbers):
        for number in numbers:
            self.bytes += varint(int(number))

    def put_list(self, members):
        members = sorted(int(m) for m in members)
        assert len(set(members)) == len(members)
        self.put(len(members))
        before = 0
        for member in members:
            self.put(member - before)
            before = member

    def write(self, file):
        packed = zlib.compress(bytes(self.bytes), 9)
        file.write_bytes(packed)
        print(f"{file}: {len(packed):,} bytes")


def simple(arcs):
    """Pairs u < v, and what was dropped on the way."""
    pairs, loops, loop_nodes, given = set(), 0, set(), 0
    for u, v in arcs:
        given += 1
        if u == v:
            loops += 1
            loop_nodes.add(u)
        else:
            pairs.add((min(u, v), max(u, v)))
    return pairs, (given, loops, len(loop_nodes), given - loops - len(pairs))


def larger_neighbours(pairs, num_nodes):
    lists = [[] for _ in range(num_nodes)]
    for u, v in pairs:
        lists[u].append(v)
    return lists


def cora(folder, out):
    def read(part):
        with open(folder / f"ind.cora.{part}", "rb") as file:
            return pickle.load(file, encoding="latin1")

    x, allx, ally, tx, ty, graph = (read(part) for part in ("x", "allx", "ally", "tx", "ty", "graph"))
    test = [int(line) for line in (folder / "ind.cora.test.index").read_text().split()]
    num_nodes, num_known = len(graph), allx.shape[0]
    assert sorted(test) == list(range(num_known, num_nodes))
    rows, classes = [None] * num_nodes, [None] * num_nodes
    for u in range(num_known):
        rows[u], classes[u] = allx[u], ally[u].argmax()
    for i, u in enumerate(test):
        rows[u], classes[u] = tx[i], ty[i].argmax()
    pairs, dropped = simple((u, v) for u, list_ in graph.items() for v in list_)
    w = Writer()
    w.put(*dropped)
    w.put(num_nodes, allx.shape[1], ally.shape[1])
    w.put(*classes)
    w.put(x.shape[0], 500)
    w.put_list(test)
    for list_ in larger_neighbours(pairs, num_nodes):
        w.put_list(list_)
    for row in rows:
        assert (row.data == 1).all(), "a word is there or is not"
        w.put_list(row.indices)
    w.write(out / "cora.bin")


def mutag(folder, out):
    def numbers(part):
        return [[int(n) for n in line.split(",")] for line in (folder / f"MUTAG_{part}.txt").read_text().split("\n") if line.strip()]

    graph_of = [g - 1 for (g,) in numbers("graph_indicator")]
    assert graph_of == sorted(graph_of), "nodes of a graph stand together"
    classes = [c for (c,) in numbers("graph_labels")]
    labels = [c for (c,) in numbers("node_labels")]
    assert set(labels) == set(range(max(labels) + 1))
    pairs, dropped = simple((u - 1, v - 1) for u, v in numbers("A"))
    assert all(graph_of[u] == graph_of[v] for u, v in pairs)
    lists = larger_neighbours(pairs, len(graph_of))
    w = Writer()
    w.put(*dropped)
    w.put(len(classes), max(labels) + 1)
    w.put(*(2 * c if c >= 0 else -2 * c - 1 for c in classes))
    first = 0
    for g in range(len(classes)):
        size = graph_of.count(g)
        w.put(size)
        w.put(*labels[first : first + size])
        for u in range(first, first + size):
            w.put_list(v - first for v in lists[u])
        first += size
    w.write(out / "mutag.bin")


if __name__ == "__main__":
    data, out = (Path(word) for word in sys.argv[1:])
    cora(data / "planetoid", out)
    mutag(data / "tu" / "MUTAG", out)
