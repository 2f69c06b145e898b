"""Writes the expected values that crates/gnarl-graph/tests/golden*.rs read, from tools we did not write.

Run tests/golden/make.sh. Every file names its tools, their versions and the call behind each key. Where two tools can
answer, both are asked, and the file is written only if they agree.
"""

import os
import pickle
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import scipy
import scipy.linalg
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from golden import OUT, ROOT, write


# ---------------------------------------------------------------------------------------------- graphs


def random_graphs():
    """Graphs small enough to store, each with what could go wrong: isolated nodes, parts, weights, symmetry."""

    def weighted(graph, seed):
        # Quarters, so that sums and products of a few weights are exact and walk counts can be compared exactly.
        rng = np.random.default_rng(seed)
        for u, v in sorted(graph.edges):
            graph[u][v]["weight"] = int(rng.integers(1, 20)) / 4
        return graph

    karate = nx.karate_club_graph()
    plain_karate = nx.Graph()
    plain_karate.add_nodes_from(karate)
    plain_karate.add_edges_from(karate.edges())
    parts = nx.disjoint_union(nx.gnp_random_graph(16, 0.3, seed=3), nx.cycle_graph(7))
    return [
        ("karate", "nx.karate_club_graph() without weights", plain_karate),
        ("karate_weighted", "nx.karate_club_graph()", karate),
        ("gnp_isolated", "nx.gnp_random_graph(40, 0.05, seed=1)", nx.gnp_random_graph(40, 0.05, seed=1)),
        ("two_components", "nx.disjoint_union(nx.gnp_random_graph(16, 0.3, seed=3), nx.cycle_graph(7))", parts),
        ("barabasi_albert", "nx.barabasi_albert_graph(45, 3, seed=2)", nx.barabasi_albert_graph(45, 3, seed=2)),
        ("weighted", "nx.gnp_random_graph(24, 0.15, seed=5), weights in quarters",
         weighted(nx.gnp_random_graph(24, 0.15, seed=5), 5)),
        ("tree", "nx.balanced_tree(2, 4)", nx.balanced_tree(2, 4)),
        ("complete", "nx.complete_graph(9)", nx.complete_graph(9)),
        ("star", "nx.star_graph(11)", nx.star_graph(11)),
        ("empty", "nx.empty_graph(4)", nx.empty_graph(4)),
    ]


def adjacency(graph):
    return nx.to_numpy_array(graph, nodelist=range(len(graph)), weight="weight", dtype=np.float64)


def exact_pagerank(graph):
    """NetworkX's PageRank, checked against a dense solve of its definition."""
    n = len(graph)
    # NetworkX stops at n * tol.
    scores = nx.pagerank(graph, alpha=0.85, tol=1e-14 / n, max_iter=1000)
    scores = np.array([scores[u] for u in range(n)])
    a = adjacency(graph)
    out = a.sum(axis=1)
    walk = np.where(out[:, None] > 0, a / np.where(out > 0, out, 1)[:, None], 1 / n)
    solved = np.linalg.solve(np.eye(n) - 0.85 * walk.T, np.full(n, 0.15 / n))
    assert np.abs(scores - solved).max() < 1e-13, np.abs(scores - solved).max()
    return scores


def core_numbers(graph):
    cores = nx.core_number(graph)
    cores = [cores[u] for u in range(len(graph))]
    other = igraph.Graph(n=len(graph), edges=list(graph.edges())).coreness()
    assert cores == other
    return cores


def walk_counts(graph, length):
    counts = np.ones(len(graph))
    a = adjacency(graph)
    for _ in range(length):
        counts = a @ counts
    return counts


def component_of(graph):
    """For each node the number of its component, components numbered by their smallest node."""
    of = [0] * len(graph)
    for i, nodes in enumerate(sorted(nx.connected_components(graph), key=min)):
        for u in nodes:
            of[u] = i
    return of


def modularities(graph):
    """Three partitions, two resolutions. NetworkX divides by zero where there are no edges."""
    if graph.number_of_edges() == 0:
        return []
    n = len(graph)
    rng = np.random.default_rng(11)
    greedy = nx.community.greedy_modularity_communities(graph, weight="weight")
    found = [0] * n
    for i, nodes in enumerate(greedy):
        for u in nodes:
            found[u] = i
    rows = []
    for communities in (found, rng.integers(0, 4, n).tolist(), [0] * n):
        sets = [{u for u in range(n) if communities[u] == c} for c in sorted(set(communities))]
        for resolution in (1.0, 0.5):
            value = nx.community.modularity(graph, sets, weight="weight", resolution=resolution)
            rows.append({"communities": communities, "resolution": resolution, "value": value})
    return rows


def graph_results(name, call, graph):
    n = len(graph)
    edges = sorted((min(e), max(e)) for e in graph.edges())
    row = {"name": name, "call": call, "num_nodes": n, "edges": edges}
    if nx.is_weighted(graph) and edges:
        row["weights"] = [graph[u][v]["weight"] for u, v in edges]
    degrees = dict(graph.degree(weight="weight"))
    row["degree"] = [degrees[u] for u in range(n)]
    row["core"] = core_numbers(graph)
    row["pagerank"] = exact_pagerank(graph)
    row["walks"] = [walk_counts(graph, length) for length in (1, 2, 3, 4)]
    row["component_of"] = component_of(graph)
    row["diameter"] = nx.diameter(graph) if nx.is_connected(graph) else None
    row["density"] = nx.density(graph)
    row["modularity"] = modularities(graph)
    return row


GRAPH_CALLS = {
    "degree": "graph.degree(weight='weight')",
    "core": "nx.core_number(graph), equal to igraph's Graph.coreness()",
    "pagerank": "nx.pagerank(graph, alpha=0.85, tol=1e-14 / n, max_iter=1000), equal to numpy.linalg.solve to 1e-13",
    "walks": "numpy: A @ ... @ ones, lengths 1 to 4",
    "component_of": "nx.connected_components(graph), numbered by smallest node",
    "diameter": "nx.diameter(graph), null where the graph is not connected",
    "density": "nx.density(graph)",
    "modularity": "nx.community.modularity(graph, communities, weight='weight', resolution=resolution)",
}


# ---------------------------------------------------------------------------------------------- spectra


def classical_operators(a):
    """The seven operators by their formulas; nodes without edges give zero rows, but for A_hat's self-loop."""
    n = len(a)
    degree = a.sum(axis=1)
    alive = degree > 0
    inverse = np.where(alive, 1 / np.where(alive, degree, 1), 0)
    root = np.sqrt(inverse)
    eye, eye_alive = np.eye(n), np.diag(alive.astype(float))
    shifted = 1 / np.sqrt(degree + 1)
    return {
        "A": a,
        "L": np.diag(degree) - a,
        "Q": np.diag(degree) + a,
        "L_rw": eye_alive - inverse[:, None] * a,
        "L_sym": eye_alive - root[:, None] * a * root[None, :],
        "A_hat": shifted[:, None] * (a + eye) * shifted[None, :],
        "H": inverse[:, None] * a,
    }


def centrality_values(graph):
    """The diagonal of V for each centrality, PageRank as 1 / (1 - PR), zeros replaced by one."""
    degrees = adjacency(graph).sum(axis=1)
    values = {
        "degree": degrees,
        "core": np.array(core_numbers(graph), dtype=float),
        "pagerank": 1 / (1 - exact_pagerank(graph)),
        "walks": walk_counts(graph, 2),
    }
    return {name: np.where(v == 0, 1, v) for name, v in values.items()}


def real_eigenvalues(matrix):
    """Ascending; a matrix that is only similar to a symmetric one goes through the general solver."""
    if np.array_equal(matrix, matrix.T):
        return np.linalg.eigvalsh(matrix)
    values = np.linalg.eigvals(matrix)
    assert np.abs(values.imag).max() < 1e-12
    return np.sort(values.real)


def spectra(name, graph):
    a = adjacency(graph)
    row = {"name": name, "classical": {}, "markov": {}}
    for operator, matrix in classical_operators(a).items():
        row["classical"][operator] = real_eigenvalues(matrix)
    for centrality, v in centrality_values(graph).items():
        values = scipy.linalg.eigh(a, np.diag(v), eigvals_only=True)
        assert np.abs(values - real_eigenvalues(a / v[:, None])).max() < 1e-11
        row["markov"][centrality] = values
    return row


# ---------------------------------------------------------------------------------------------- Cora


def load_cora(folder):
    with open(folder / "planetoid/ind.cora.graph", "rb") as file:
        neighbours = pickle.load(file)  # A file of the public benchmark: a dict of lists.
    graph = nx.Graph()
    graph.add_nodes_from(range(len(neighbours)))
    graph.add_edges_from((u, v) for u, row in neighbours.items() for v in row if u != v)
    return graph


def cora_pagerank(graph):
    scores = nx.pagerank(graph, alpha=0.85, tol=1e-15, max_iter=1000)
    scores = np.array([scores[u] for u in range(len(graph))])
    other = igraph.Graph(n=len(graph), edges=list(graph.edges())).pagerank(damping=0.85)
    assert np.abs(scores - other).max() < 1e-10
    return scores


def histogram(values):
    return [[int(value), int(count)] for value, count in zip(*np.unique(values, return_counts=True))]


def cora_results(graph):
    nodes = list(range(0, len(graph), 55))
    scores = cora_pagerank(graph)
    top = np.argsort(-scores, kind="stable")[:20]
    components = [len(c) for c in nx.connected_components(graph)]
    largest = sorted(max(nx.connected_components(graph), key=len))
    sub = nx.relabel_nodes(graph.subgraph(largest), {u: i for i, u in enumerate(largest)})
    return {
        "num_nodes": len(graph),
        "num_edges": graph.number_of_edges(),
        "density": nx.density(graph),
        "core": "".join(str(c) for c in core_numbers(graph)),
        "component_sizes": histogram(components),
        "pagerank_top": [[int(u), scores[u]] for u in top],
        "nodes": nodes,
        "pagerank": scores[nodes],
        "walks": [walk_counts(graph, length)[nodes] for length in (1, 2, 3, 4)],
        "largest_component": {"num_nodes": len(sub), "num_edges": sub.number_of_edges(), "diameter": nx.diameter(sub)},
        "spectra": cora_spectra(sub),
    }


def cora_spectra(graph):
    """The eight smallest and the eight largest eigenvalues of each operator, ascending."""
    a = adjacency(graph)
    degree = np.diag(a.sum(axis=1))
    operators = classical_operators(a)
    ends = lambda values: np.concatenate([values[:8], values[-8:]])
    classical = {}
    for name, matrix in operators.items():
        if name == "L_rw":
            values = scipy.linalg.eigh(degree - a, degree, eigvals_only=True)
        elif name == "H":
            values = scipy.linalg.eigh(a, degree, eigvals_only=True)
        else:
            values = np.linalg.eigvalsh(matrix)
        classical[name] = ends(values)
    centralities = {
        "degree": a.sum(axis=1),
        "core": np.array(core_numbers(graph), dtype=float),
        "pagerank": 1 / (1 - cora_pagerank(graph)),
        "walks": walk_counts(graph, 2),
    }
    markov = {}
    for name, v in centralities.items():
        root = 1 / np.sqrt(v)
        markov[name] = ends(np.linalg.eigvalsh(root[:, None] * a * root[None, :]))
    return {"classical": classical, "markov": markov}


CORA_CALLS = {
    **GRAPH_CALLS,
    "core": "nx.core_number(graph), one digit per node, equal to igraph's Graph.coreness()",
    "component_sizes": "nx.connected_components(graph): [size, how many]",
    "pagerank": "nx.pagerank(graph, alpha=0.85, tol=1e-15, max_iter=1000), equal to igraph's to 1e-10",
    "spectra": "numpy.linalg.eigvalsh, scipy.linalg.eigh for L_rw = (L, D) and H = (A, D); largest component, "
    "8 smallest then 8 largest; markov: V^-1/2 A V^-1/2",
}


# ---------------------------------------------------------------------------------------------- clusterings


def clusterings():
    rng = np.random.default_rng(7)

    def pair(name, a, b):
        a, b = np.asarray(a, dtype=int), np.asarray(b, dtype=int)
        return {
            "name": name, "a": a, "b": b,
            "ami": float(adjusted_mutual_info_score(a, b, average_method="arithmetic")),
            "ari": float(adjusted_rand_score(a, b)),
        }

    truth = rng.integers(0, 6, 500)
    noisy = np.where(rng.random(500) < 0.3, rng.integers(0, 6, 500), truth)
    unbalanced = np.repeat([0, 1, 2, 3], [90, 6, 3, 1])
    return [
        pair("random", rng.integers(0, 4, 60), rng.integers(0, 4, 60)),
        pair("identical", [0, 0, 1, 1, 2, 2, 2], [0, 0, 1, 1, 2, 2, 2]),
        pair("permuted names", [0, 0, 1, 1, 2, 2, 2], [9, 9, 4, 4, 0, 0, 0]),
        pair("one cluster against many", [0] * 12, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
        pair("one cluster twice", [0] * 8, [3] * 8),
        pair("all singletons twice", range(10), range(10)[::-1]),
        pair("singletons against clusters", range(12), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
        pair("singletons against one cluster", range(6), [0] * 6),
        pair("empty", [], []),
        pair("one element", [0], [5]),
        pair("two elements apart", [0, 1], [0, 0]),
        pair("unbalanced", unbalanced, rng.permutation(unbalanced)),
        pair("unbalanced, a split cluster", unbalanced, np.where(np.arange(100) < 30, 7, unbalanced)),
        pair("worse than chance", [0, 0, 1, 1], [0, 1, 0, 1]),
        pair("500 items, 30 % noise", truth, noisy),
        pair("500 items, 6 against 40", truth, rng.integers(0, 40, 500)),
    ]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    graphs = random_graphs()
    write("graphs.json", GRAPH_CALLS, {"graphs": [graph_results(*row) for row in graphs]})
    spectrum_calls = {
        "classical": "numpy.linalg.eigvalsh, or eigvals where the operator is not symmetric, ascending",
        "markov": "scipy.linalg.eigh(A, V): the eigenvalues of V^-1 A, equal to numpy.linalg.eigvals to 1e-11",
    }
    write("spectra.json", spectrum_calls, {"graphs": [spectra(name, graph) for name, _, graph in graphs]})
    clustering_calls = {
        "ami": "sklearn.metrics.adjusted_mutual_info_score(a, b, average_method='arithmetic')",
        "ari": "sklearn.metrics.adjusted_rand_score(a, b)",
    }
    write("clusterings.json", clustering_calls, {"pairs": clusterings()})
    data = Path(os.environ.get("GNARL_TEST_DATA", ROOT.parent / "shared/data"))
    if data.is_dir():
        write("cora.json", CORA_CALLS, cora_results(load_cora(data)))
    else:
        print(f"cora.json left as it is: no datasets in {data} (set GNARL_TEST_DATA)")


main()
