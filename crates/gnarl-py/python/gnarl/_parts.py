"""Parts of the library one by one: what can be said about a graph, where graphs come from, and vectors without graphs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from gnarl import _gnarl
from gnarl._axes import text_of
from gnarl._convert import csr_of, to_codes, to_graph, to_matrix, to_whole
from gnarl._estimators import seed_of, threads_of
from gnarl._gnarl import Graph
from gnarl._numpy import np

if TYPE_CHECKING:
    from gnarl._choices import DensityName
    from numpy.typing import NDArray


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what}: {value!r} is not a number") from None


def _whole(value: Any, what: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not 0 <= value < 2**48:
        raise ValueError(f"{what}: {value!r} is not a whole number of at least 0")
    return int(value)


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what}: {value!r} is not a name")
    return value


def centrality(graph: Any, kind: str = "degree", *, n_jobs: int | None = None) -> NDArray[np.float64]:
    """How central each node is: ``degree``, ``core``, ``pagerank``, ``walks`` or ``walks:3``.

    >>> centrality([(0, 1), (1, 2), (2, 0), (2, 3)], "core").tolist()
    [2.0, 2.0, 2.0, 1.0]
    """
    return _gnarl.centrality(to_graph(graph), _name(kind, "kind"), threads_of(n_jobs))


def operator(graph: Any, kind: str = "A_hat", *, centrality: str | None = None, e2: float = -0.5, e3: float = -0.5) -> Any:
    """A shift operator of a graph as ``scipy.sparse.csr_array``: a classical one by name (A, L, Q, L_rw, L_sym, A_hat, H), or
    ``V^e2 A V^e3`` for the values V of a centrality.

    >>> operator([(0, 1), (1, 2)], "H").toarray()[1].tolist()
    [0.5, 0.0, 0.5]
    """
    graph = to_graph(graph)
    if centrality is not None:
        exponents = _number(e2, "e2"), _number(e3, "e3")
        return csr_of(_gnarl.centrality_operator(graph, _name(centrality, "centrality"), *exponents))
    return csr_of(_gnarl.operator(graph, _name(kind, "kind")))


def eigenpairs(
    graph: Any,
    kind: str = "L_sym",
    k: int = 6,
    *,
    which: str = "smallest",
    centrality: str | None = None,
    e2: float = -0.5,
    e3: float = -0.5,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues at one end of an operator's spectrum (``smallest``, ``largest`` or ``magnitude``) and their vectors as columns.

    >>> values, vectors = eigenpairs([(0, 1), (2, 3)], "L", 2)
    >>> values.round(9).tolist()
    [0.0, 0.0]
    """
    graph, k = to_graph(graph), _whole(k, "k")
    if centrality is None:
        return _gnarl.eigenpairs(graph, _name(kind, "kind"), k, _name(which, "which"), None, threads_of(n_jobs))
    exponents = _number(e2, "e2"), _number(e3, "e3")
    return _gnarl.eigenpairs(graph, _name(centrality, "centrality"), k, _name(which, "which"), exponents, threads_of(n_jobs))


def spectrum(graph: Any, centrality: str = "degree", *, n_jobs: int | None = None) -> dict[str, Any]:
    """Spectra of the classical operators and of a centrality's, the gap, the Cheeger constant and the bounds between them.

    >>> spectrum([(0, 1), (1, 2)])["num_edges"]
    2
    """
    found: dict[str, Any] = json.loads(_gnarl.spectrum_report(to_graph(graph), _name(centrality, "centrality"), threads_of(n_jobs)))
    return found


def communities(
    graph: Any,
    method: str = "louvain",
    n_clusters: int | None = None,
    *,
    centrality: str | None = None,
    e2: float | None = None,
    e3: float | None = None,
    n_init: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """The community of each node by ``louvain``, ``fast-greedy``, ``walktrap``, ``cgso`` (spectral, by a centrality) or ``node2vec``.

    >>> communities([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)], "walktrap", 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    count = None if n_clusters is None else _whole(n_clusters, "n_clusters")
    init = None if n_init is None else _whole(n_init, "n_init")
    exponents = None if e2 is None else _number(e2, "e2"), None if e3 is None else _number(e3, "e3")
    kind = None if centrality is None else _name(centrality, "centrality")
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    return _gnarl.communities(to_graph(graph), _name(method, "method"), count, kind, *exponents, init, seed, threads)


def modularity(graph: Any, communities: Any, resolution: float = 1.0) -> float:
    """Newman's modularity of communities.

    >>> round(modularity([(0, 1), (2, 3)], [0, 0, 1, 1]), 3)
    0.5
    """
    graph = to_graph(graph)
    found = to_whole(communities, "communities")
    if found.shape != (graph.num_nodes,):
        raise ValueError(f"communities: shape {found.shape} for {graph.num_nodes} nodes")
    return _gnarl.modularity(graph, np.unique(found, return_inverse=True)[1].astype(np.int64), _number(resolution, "resolution"))


def describe(graph: Any) -> dict[str, Any]:
    """A graph in numbers: density, components, degrees, homophily.

    >>> describe([(0, 1), (1, 2)])["components"]
    1
    """
    return _gnarl.describe(to_graph(graph))


def _drawn(kind: str, random_state: Any = None, **settings: Any) -> Graph:
    return _gnarl.generate(kind, settings, seed_of(random_state))


def erdos_renyi(n: int, p: float, *, random_state: Any = None) -> Graph:
    """Every pair of n nodes is joined with probability p.

    >>> erdos_renyi(10, 1.0)
    Graph("erdos_renyi": 10 nodes, 45 edges)
    """
    return _drawn("erdos_renyi", random_state, n=_whole(n, "n"), p=_number(p, "p"))


def gnm(n: int, m: int, *, random_state: Any = None) -> Graph:
    """n nodes and m edges, every such graph as likely.

    >>> gnm(10, 7).num_edges
    7
    """
    return _drawn("gnm", random_state, n=_whole(n, "n"), m=_whole(m, "m"))


def barabasi_albert(n: int, r: int, *, random_state: Any = None) -> Graph:
    """Preferential attachment: every new node brings r edges.

    >>> barabasi_albert(20, 2).num_nodes
    20
    """
    return _drawn("barabasi_albert", random_state, n=_whole(n, "n"), r=_whole(r, "r"))


def configuration_model(degrees: Sequence[int], *, random_state: Any = None) -> Graph:
    """A simple graph with these degrees, but for what loops and repeats cost.

    >>> configuration_model([1, 1]).num_edges
    1
    """
    return _drawn("configuration_model", random_state, degrees=[_whole(d, "degrees") for d in degrees])


def sbm(block_sizes: Sequence[int], probabilities: Any, *, random_state: Any = None) -> Graph:
    """A stochastic block model: two nodes are joined with the probability of their blocks.

    >>> sbm([3, 3], [[1, 0], [0, 1]]).num_edges
    6
    """
    rows = to_matrix(probabilities, "probabilities").tolist()
    return _drawn("sbm", random_state, block_sizes=[_whole(b, "block_sizes") for b in block_sizes], probabilities=rows)


def csbm(
    num_nodes: int = 1000,
    num_classes: int = 4,
    num_features: int = 32,
    *,
    mean_degree: float = 8.0,
    homophily: float = 0.75,
    separation: float = 0.2,
    noise: float = 1.0,
    random_state: Any = None,
) -> Graph:
    """Blocks that show in edges and in features, with classes and a split.

    >>> csbm(100).num_features
    32
    """
    whole = {"num_nodes": num_nodes, "num_classes": num_classes, "num_features": num_features}
    real = {"mean_degree": mean_degree, "homophily": homophily, "separation": separation, "noise": noise}
    settings = {**{k: _whole(v, k) for k, v in whole.items()}, **{k: _number(v, k) for k, v in real.items()}}
    return _drawn("csbm", random_state, **settings)


def sbbam(
    block_sizes: Sequence[int] = (100, 100, 100),
    r: Sequence[int] = (5, 10, 15),
    p_between: float = 0.1,
    *,
    attachment: str = "distinct",
    random_state: Any = None,
) -> Graph:
    """Barabási–Albert blocks of several densities and edges between them.

    >>> sbbam().num_nodes
    300
    """
    sizes, edges = [_whole(b, "block_sizes") for b in block_sizes], [_whole(e, "r") for e in r]
    between = _number(p_between, "p_between")
    return _drawn("sbbam", random_state, block_sizes=sizes, r=edges, p_between=between, attachment=_name(attachment, "attachment"))


def complete(n: int) -> Graph:
    """All pairs joined.

    >>> complete(4).num_edges
    6
    """
    return _drawn("complete", n=_whole(n, "n"))


def path(n: int) -> Graph:
    """One node after the other.

    >>> path(4).num_edges
    3
    """
    return _drawn("path", n=_whole(n, "n"))


def cycle(n: int) -> Graph:
    """A path whose ends are joined.

    >>> cycle(4).num_edges
    4
    """
    return _drawn("cycle", n=_whole(n, "n"))


def star(n: int) -> Graph:
    """One node joined to all others.

    >>> star(4).num_edges
    3
    """
    return _drawn("star", n=_whole(n, "n"))


def grid(rows: int, columns: int) -> Graph:
    """A rectangle of nodes, each joined to those beside it.

    >>> grid(2, 3).num_edges
    7
    """
    return _drawn("grid", rows=_whole(rows, "rows"), columns=_whole(columns, "columns"))


def rewire(graph: Any, share: float, *, random_state: Any = None) -> Graph:
    """The graph with a share of its edges exchanged so that degrees stay.

    >>> rewire(cycle(10), 0.5).num_edges
    10
    """
    return _drawn("rewire", random_state, graph=to_graph(graph), share=_number(share, "share"))


def density(
    X: Any,
    kind: DensityName = "mixture",
    *,
    components: int | Literal["auto"] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> _gnarl.Density:
    """Fits a density to the rows of a matrix.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Vectors.
    kind : {"mixture", "variational", "shrunken", "shared", "kernel", "copula", "gan"}, default="mixture"
        Density; a mixture is of Gaussians. ``gan`` is sampled from and has no ``log_density``.
    components : int or {"auto"}, default=None
        Number of Gaussians in a mixture. None: the best one by BIC.
    random_state : int or generator, default=None
        Seed of all random numbers.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    Density
        Fitted density.

    Examples
    --------
    >>> import numpy as np
    >>> fitted = density(np.random.default_rng(0).normal(size=(200, 2)), "shrunken")
    >>> fitted.sample(3).shape, fitted.log_density(np.zeros((1, 2))).shape
    ((3, 2), (1,))
    """
    count = None if components is None else text_of(components, "components")
    return _gnarl.Density(to_matrix(X, "X"), _name(kind, "density"), count, seed_of(random_state), threads_of(n_jobs))


def gratin(
    X: Any,
    y: Any,
    *,
    density: DensityName = "mixture",
    components: int | Literal["auto"] | None = None,
    samples: Literal["as-many", "level"] = "as-many",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Samples new vectors of each class by GRATIN, from a density fitted to the vectors of the class.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Vectors.
    y : array-like of shape (n_samples,)
        Classes.
    density : {"mixture", "variational", "shrunken", "shared", "kernel", "copula", "gan"}, default="mixture"
        Density of the vectors of a class.
    components : int or {"auto"}, default=None
        Number of Gaussians in a mixture. None: the best one by BIC.
    samples : {"as-many", "level"}, default="as-many"
        Number of vectors to sample: as many as a class has, or oversampling, after which all classes have the same size.
    random_state : int or generator, default=None
        Seed of all random numbers.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    vectors : ndarray
        New vectors.
    classes : ndarray
        Classes of the new vectors.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> new, of = gratin(X, ["a"] * 20 + ["b"] * 10, density="shrunken", samples="level")
    >>> new.shape, int((of == "a").sum()), int((of == "b").sum())
    ((50, 4), 20, 30)
    """
    vectors = to_matrix(X, "X")
    codes, classes = to_codes(y)
    if len(codes) != len(vectors):
        raise ValueError(f"y: {len(codes)} classes for {len(vectors)} vectors")
    known = codes >= 0
    count = None if components is None else text_of(components, "components")
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    new, of, _ = _gnarl.gratin(vectors[known], codes[known], _name(density, "density"), count, _name(samples, "samples"), seed, threads)
    return new, np.asarray(classes[of])


def influence(
    X: Any, y: Any, X_on: Any, y_on: Any, X_new: Any, y_new: Any, *, decay: float = 5e-4, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """What one more training vector would do to the loss of a softmax regression on a set, for each new vector: positive where it helps.

    >>> import numpy as np
    >>> X = np.array([[1.0], [-1.0]])
    >>> (influence(X, [0, 1], [[1.0]], [0], [[1.0], [1.0]], [0, 1], decay=0.1) > 0).tolist()
    [True, False]
    """
    codes, classes = to_codes(y)

    def labelled(vectors: Any, of: Any, what: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        found, own = to_codes(of, what)
        names = [str(c) for c in classes.tolist()]
        place = [names.index(str(c)) if str(c) in names else -1 for c in own.tolist()]
        coded = np.array([place[c] if c >= 0 else -1 for c in found], dtype=np.int64)
        if (coded < 0).any():
            raise ValueError(f"{what}: vector {int(np.argmin(coded))} has no class that training vectors have")
        matrix = to_matrix(vectors, what)
        if len(matrix) != len(coded):
            raise ValueError(f"{what}: {len(coded)} classes for {len(matrix)} vectors")
        return matrix, coded

    sets = labelled(X, y, "y"), labelled(X_on, y_on, "y_on"), labelled(X_new, y_new, "y_new")
    return _gnarl.influence(*sets, len(classes), _number(decay, "decay"), threads_of(n_jobs))


def load(name: str, *, data_dir: str | None = None, random_state: Any = None) -> Graph | _gnarl.GraphSet:
    """A dataset by name (``datasets()`` lists them) or a path to one's own files; karate, csbm and sbbam need none.

    Files are looked for in ``data_dir``, else ``GNARL_DATA``, else the platform's data folder, where ``gnarl data get NAME`` puts them.

    >>> load("karate")
    Graph("karate": 34 nodes, 78 edges, 34 features, 4 classes)
    """
    return _gnarl.load(_name(name, "dataset"), data_dir, seed_of(random_state))


def datasets() -> tuple[str, ...]:
    """The names of known datasets.

    >>> "cora" in datasets()
    True
    """
    return tuple(_gnarl.dataset_names())
