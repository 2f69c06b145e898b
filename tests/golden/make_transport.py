"""Writes transport.json: what Python Optimal Transport says about transport, fused Gromov-Wasserstein distances and barycentres.

Run tests/golden/make.sh. Barycentres of real graphs need the datasets and are left as they are without them.

Molecules have nodes that nothing tells apart, so that transport problems inside have many answers, and which one is taken decides where the
search ends: noise of 1e-10 on the features moves the objective that POT reports by several percent. Every graph therefore has one more
feature, 0.1 sin(5 (j + 1)) for its node j, which does tell them apart. "noise" is how much POT's objective then still moves, relative, over three
draws of such noise; "plain" are its objectives without that feature, with noise.
"""

import os
from pathlib import Path

import golden
import networkx as nx
import numpy as np
import ot

golden.VERSIONS = {**{k: v for k, v in golden.VERSIONS.items() if k in ("numpy", "networkx")}, "ot": ot.__version__}
START = "structure 0.5 + 0.5 sin(3 (i + 1) (k + 1)), features 0.5 + 0.5 cos(7 (i + 1) + 3 (f + 1))"
CALLS = {
    "transport": "ot.emd2(rows, columns, cost)",
    "distances": "ot.gromov.fused_gromov_wasserstein2(ot.dist(x, y), a, b, alpha=alpha)",
    "barycentres": f"ot.gromov.fgw_barycenters(num_nodes, ..., lambdas=[1 - weight, weight], alpha=alpha, warmstartT=warm), "
    f"start: {START}; "
    "value: the weighted sum at the last couplings, structure and features",
    "real": "the same of graphs of TU sets with one-hot node labels and 0.1 sin(5 (j + 1)) as features",
}


def transports():
    rng = np.random.default_rng(1)
    rows = []
    for name, n, m, draw in (
        ("uniform, as many", 10, 10, lambda shape: rng.normal(size=shape)),
        ("uniform, fewer columns", 15, 9, lambda shape: rng.random(shape)),
        ("any masses", 12, 17, lambda shape: rng.random(shape)),
        ("masses of zero", 11, 13, lambda shape: rng.random(shape)),
        ("ties", 16, 12, lambda shape: rng.integers(0, 4, shape).astype(float)),
        ("one row", 1, 6, lambda shape: rng.random(shape)),
        ("large costs", 8, 8, lambda shape: 1e9 * rng.random(shape)),
    ):
        cost = np.round(draw((n, m)), 4)
        a, b = np.ones(n), np.ones(m)
        if name in ("any masses", "masses of zero", "one row", "large costs"):
            a, b = rng.integers(1, 50, n).astype(float), rng.integers(1, 50, m).astype(float)
        if name == "masses of zero":
            a[[0, 4, 5]], b[[2, 12]] = 0, 0
        a, b = a / a.sum(), b / b.sum()
        rows.append({"name": name, "rows": a, "columns": b, "cost": cost, "value": ot.emd2(a, b, cost)})
    return rows


def small_graphs():
    rng = np.random.default_rng(2)
    for graph in (
        nx.barabasi_albert_graph(9, 2, seed=1),
        nx.gnp_random_graph(7, 0.4, seed=2),
        nx.cycle_graph(6),
        nx.path_graph(10),
        nx.star_graph(4),
    ):
        yield nx.to_numpy_array(graph), np.round(rng.normal(size=(len(graph), 2)), 4)


def distances(graphs):
    rows = []
    for first, second in ((0, 1), (1, 3), (2, 4), (3, 0)):
        for alpha in (0, 0.3, 0.5, 0.9):
            (a, x), (b, y) = graphs[first], graphs[second]
            value = ot.gromov.fused_gromov_wasserstein2(ot.dist(x, y), a, b, alpha=alpha)
            rows.append({"first": first, "second": second, "alpha": alpha, "value": value})
    return rows


def barycentre(first, second, num_nodes, weight, alpha, warm=False):
    """Structure, features and objective."""
    i = np.arange(1, num_nodes + 1)
    columns = np.arange(1, first[1].shape[1] + 1)
    x, c, log = ot.gromov.fgw_barycenters(
        num_nodes, [first[1], second[1]], [first[0], second[0]], lambdas=[1 - weight, weight], alpha=alpha, log=True,
        warmstartT=warm,
        init_C=0.5 + 0.5 * np.sin(3 * np.outer(i, i)), init_X=0.5 + 0.5 * np.cos(7 * i[:, None] + 3 * columns[None]),
    )
    p = np.full(num_nodes, 1 / num_nodes)
    value = 0.0
    for share, (b, y), plan in zip((1 - weight, weight), (first, second), log["T"]):
        q = plan.sum(axis=0)
        structure = p @ c**2 @ p + q @ b**2 @ q - 2 * np.sum((c @ plan @ b) * plan)
        value += share * ((1 - alpha) * np.sum(ot.dist(x, y) * plan) + alpha * structure)
    return c, x, value, len(log["err_feature"])


def barycentres(graphs):
    rows = []
    cases = ((0, 1, 8, 0.3, 0.5), (3, 2, 6, 0.5, 0.2), (1, 4, 5, 0.1, 0.8), (0, 3, 10, 0.6, 0.9))
    for first, second, num_nodes, weight, alpha in cases:
        for warm in (False, True):
            c, x, value, rounds = barycentre(graphs[first], graphs[second], num_nodes, weight, alpha, warm)
            rows.append({
                "first": first, "second": second, "num_nodes": num_nodes, "weight": weight, "alpha": alpha, "warm": warm,
                "value": value, "rounds": rounds, "structure": np.round(c, 8), "features": np.round(x, 8),
            })
    return rows


def read_set(folder, name):
    """The graphs of a TU set: adjacency matrix and one-hot node labels."""
    read = lambda what, **how: np.loadtxt(folder / f"tu/{name}/{name}_{what}.txt", dtype=int, **how)
    of = read("graph_indicator") - 1
    labels = read("node_labels")
    start = np.searchsorted(of, np.arange(of.max() + 2))
    one_hot = (labels[:, None] == np.unique(labels)[None]).astype(float)
    graphs = [(np.zeros((e - s, e - s)), one_hot[s:e]) for s, e in zip(start, start[1:])]
    for u, v in read("A", delimiter=",") - 1:
        if u != v:
            a, s = graphs[of[u]][0], start[of[u]]
            a[u - s, v - s] = a[v - s, u - s] = 1
    return graphs


def told_apart(graph):
    mark = 0.1 * np.sin(5 * np.arange(1, len(graph[0]) + 1))
    return graph[0], np.hstack([graph[1], mark[:, None]])


def with_noise(graph, rng):
    return graph[0], graph[1] + 1e-10 * rng.normal(size=graph[1].shape)


def real(folder):
    rows = []
    for name, pairs in (
        ("MUTAG", ((3, 20), (10, 33), (17, 46), (24, 59), (31, 72))),
        ("PROTEINS", ((100, 200), (307, 411), (514, 622), (721, 833), (928, 1044))),
    ):
        graphs = read_set(folder, name)
        for k, (first, second) in enumerate(pairs):
            weight, alpha = (0.1, 0.2, 0.3, 0.4, 0.5)[k], (0.5, 0.8, 0.2, 0.5, 0.9)[k]
            a, b = graphs[first], graphs[second]
            num_nodes = round((1 - weight) * len(a[0]) + weight * len(b[0]))
            run = lambda a, b: barycentre(a, b, num_nodes, weight, alpha)
            _, _, value, rounds = run(told_apart(a), told_apart(b))
            noisy = lambda seed, change: run(*(with_noise(change(g), np.random.default_rng(seed)) for g in (a, b)))[2]
            noise = max(abs(noisy(seed, told_apart) / value - 1) for seed in range(3))
            rows.append({
                "set": name, "first": first, "second": second, "nodes": [len(a[0]), len(b[0])], "num_nodes": num_nodes,
                "weight": weight, "alpha": alpha, "value": value, "rounds": rounds, "noise": noise,
                "plain": [noisy(seed, lambda g: g) for seed in range(5)],
            })
    return rows


def main():
    graphs = list(small_graphs())
    data = Path(os.environ.get("GNARL_TEST_DATA", golden.ROOT.parent / "shared/data"))
    if not data.is_dir():
        raise SystemExit(f"transport.json left as it is: no datasets in {data} (set GNARL_TEST_DATA)")
    golden.write("transport.json", CALLS, {
        "transport": transports(),
        "graphs": [{"structure": a, "features": x} for a, x in graphs],
        "distances": distances(graphs),
        "barycentres": barycentres(graphs),
        "real": real(data),
    })


main()
