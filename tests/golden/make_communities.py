"""Writes communities.json: what igraph, scikit-learn and SciPy say about communities. Run tests/golden/make.sh.

Greedy methods break ties by the order of the nodes. Memberships are written only for graphs on which igraph gives the
same answer however the nodes are numbered; on the others any right implementation may differ.
"""

import os
import pickle
import random
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from sklearn.cluster import KMeans

from golden import ROOT, write

CALLS = {
    "fast_greedy": "Graph.community_fastgreedy(weights).as_clustering().membership, null where it depends on the numbering",
    "walktrap": "Graph.community_walktrap(weights, steps=4).as_clustering().membership, likewise",
    "fast_greedy_modularity, walktrap_modularity": "Graph.modularity(membership, weights), mean over numberings",
    "louvain_modularity": "Graph.community_multilevel(weights).modularity, mean over ten numberings",
    "kmeans": "KMeans(k, n_init=100, tol=0, random_state=0).fit(points).inertia_",
    "cora_eigenvectors": "scipy.sparse.linalg.eigs(V^e2 A V^e3, k=4, which='LR', tol=1e-13) on the largest component, "
    "each of length one with its largest entry positive, at every 55th node",
}


def canonical(membership):
    names = {}
    return tuple(names.setdefault(c, len(names)) for c in membership)


def numberings(graph, weights, tries):
    """The same graph with its nodes in other orders, and how to read a membership of it."""
    n = graph.vcount()
    for seed in range(tries):
        order = list(range(n))
        random.Random(seed).shuffle(order)
        other = igraph.Graph(n=n, edges=[(order[u], order[v]) for u, v in graph.get_edgelist()])
        yield other, lambda membership: canonical(membership[order[u]] for u in range(n))


def greedy(graph, weights, run):
    """The membership where it is one, and the mean modularity."""
    found, qualities = set(), []
    for other, read in numberings(graph, weights, 30):
        membership = run(other).as_clustering().membership
        found.add(read(membership))
        qualities.append(other.modularity(membership, weights=weights))
    return (list(found.pop()) if len(found) == 1 else None), float(np.mean(qualities))


def louvain(graph, weights=None):
    random.seed(1)
    values = [g.community_multilevel(weights=weights).modularity for g, _ in numberings(graph, weights, 10)]
    return float(np.mean(values))


def sbbam_like(seed):
    """Three Barabási–Albert blocks of 40 nodes, r = 3, 5, 8, joined with probability 0.1."""
    rng = np.random.default_rng(seed)
    blocks = [nx.barabasi_albert_graph(40, r, seed=seed + r) for r in (3, 5, 8)]
    graph = nx.disjoint_union_all(blocks)
    for u in range(120):
        for v in range(u + 1, 120):
            if u // 40 != v // 40 and rng.random() < 0.1:
                graph.add_edge(u, v)
    return graph


def cases():
    yield "karate", "nx.karate_club_graph() without weights", nx.karate_club_graph(), None
    for seed in (0, 1):
        yield f"planted {seed}", f"nx.planted_partition_graph(4, 12, 0.6, 0.05, seed={seed})", \
            nx.planted_partition_graph(4, 12, 0.6, 0.05, seed=seed), None
    florentine = nx.convert_node_labels_to_integers(nx.florentine_families_graph())
    yield "florentine", "nx.florentine_families_graph()", florentine, None
    miserables = nx.convert_node_labels_to_integers(nx.les_miserables_graph())
    yield "les miserables", "nx.les_miserables_graph() without weights", miserables, None
    parts = nx.disjoint_union(nx.planted_partition_graph(2, 9, 0.7, 0.1, seed=4), nx.empty_graph(3))
    yield "isolated nodes", "nx.planted_partition_graph(2, 9, 0.7, 0.1, seed=4) and three nodes", parts, None
    yield "barabasi albert", "nx.barabasi_albert_graph(60, 3, seed=1)", nx.barabasi_albert_graph(60, 3, seed=1), None
    yield "barabasi albert, weighted", "the same, weights 0.5 + random", nx.barabasi_albert_graph(60, 3, seed=1), 1
    yield "gnp, weighted", "nx.gnp_random_graph(50, 0.12, seed=0), weights 0.5 + random", \
        nx.gnp_random_graph(50, 0.12, seed=0), 2
    yield "sbbam", "sbbam_like(0)", sbbam_like(0), None
    yield "sbbam, weighted", "sbbam_like(0), weights 0.5 + random", sbbam_like(0), 3


def results(name, call, graph, weight_seed):
    edges = sorted((min(e), max(e)) for e in graph.edges())
    row = {"name": name, "call": call, "num_nodes": len(graph), "edges": edges}
    weights = None
    if weight_seed is not None:
        weights = [round(float(w), 6) for w in np.random.default_rng(weight_seed).random(len(edges)) + 0.5]
        row["weights"] = weights
    g = igraph.Graph(n=len(graph), edges=edges)
    row["fast_greedy"], row["fast_greedy_modularity"] = \
        greedy(g, weights, lambda h: h.community_fastgreedy(weights=weights))
    row["walktrap"], row["walktrap_modularity"] = \
        greedy(g, weights, lambda h: h.community_walktrap(weights=weights, steps=4))
    row["louvain_modularity"] = louvain(g, weights)
    return row


def kmeans_cases():
    rng = np.random.default_rng(3)
    rows = []
    for n, d, k in ((60, 2, 3), (80, 3, 5), (50, 6, 8)):
        centres = rng.normal(size=(k, d)) * 2
        points = np.round(centres[rng.integers(0, k, n)] + rng.normal(size=(n, d)), 3)
        inertia = KMeans(k, n_init=100, tol=0, random_state=0).fit(points).inertia_
        rows.append({"k": k, "points": points, "inertia": float(inertia)})
    return rows


def read_cora(folder):
    with open(folder / "planetoid/ind.cora.graph", "rb") as file:
        neighbours = pickle.load(file)  # A file of the public benchmark: a dict of lists.
    return len(neighbours), {(min(u, v), max(u, v)) for u, row in neighbours.items() for v in row if u != v}


def read_npz(file):
    with np.load(file, allow_pickle=False) as data:
        shape = tuple(data["adj_shape"])
        a = scipy.sparse.csr_matrix((data["adj_data"], data["adj_indices"], data["adj_indptr"]), shape=shape).tocoo()
    return shape[0], {(min(u, v), max(u, v)) for u, v in zip(a.row.tolist(), a.col.tolist()) if u != v}


def cora_eigenvectors(n, edges):
    g = igraph.Graph(n=n, edges=sorted(edges))
    largest = sorted(max(g.connected_components(), key=len))
    g = g.induced_subgraph(largest)
    a = scipy.sparse.csr_matrix(np.array(g.get_adjacency().data, dtype=float))
    degree = np.asarray(a.sum(axis=1)).ravel()
    centralities = {
        "degree": degree,
        "core": np.array(g.coreness(), dtype=float),
        "pagerank": 1 / (1 - np.array(g.pagerank(damping=0.85))),
        "walks": a @ degree,
    }
    nodes = list(range(0, g.vcount(), 55))
    rows = []
    for name, v in centralities.items():
        for e2, e3 in ((-0.5, -0.5), (-1.0, 0.0), (0.5, -1.0)):
            operator = scipy.sparse.diags(v**e2) @ a @ scipy.sparse.diags(v**e3)
            values, vectors = scipy.sparse.linalg.eigs(operator, k=6, which="LR", tol=1e-13, maxiter=100000, ncv=80)
            order = np.argsort(-values.real)
            values, vectors = values[order], vectors[:, order]
            assert np.abs(values.imag).max() < 1e-10 and np.abs(vectors.imag).max() < 1e-8
            # Close eigenvalues mix their eigenvectors.
            assert np.diff(values.real)[:4].max() < -1e-4 * values[0].real, (name, e2, e3, values)
            columns = []
            for x in vectors.real[:, :4].T:
                x = x / np.linalg.norm(x)
                columns.append(np.round((x * np.sign(x[np.abs(x).argmax()]))[nodes], 10))
            rows.append({"centrality": name, "e2": e2, "e3": e3, "values": values.real[:4], "columns": columns})
    return {"nodes": nodes, "rows": rows}


def main():
    content = {"graphs": [results(*case) for case in cases()], "kmeans": kmeans_cases()}
    data = Path(os.environ.get("GNARL_TEST_DATA", ROOT.parent / "shared/data"))
    if not data.is_dir():
        raise SystemExit(f"communities.json left as it is: no datasets in {data} (set GNARL_TEST_DATA)")
    cora = read_cora(data)
    photo = read_npz(data / "npz/amazon_electronics_photo.npz")
    content["louvain"] = {
        name: louvain(igraph.Graph(n=n, edges=sorted(edges))) for name, (n, edges) in (("cora", cora), ("photo", photo))
    }
    content["cora_eigenvectors"] = cora_eigenvectors(*cora)
    write("communities.json", CALLS, content)


main()
