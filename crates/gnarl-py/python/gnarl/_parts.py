"""Centralities, operators, spectra, communities, generators and datasets; densities and influence of vectors without graphs."""

from __future__ import annotations

import json
import os
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
    from gnarl._typing import GraphLike, RandomState
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array


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


def centrality(graph: GraphLike, kind: str = "degree", *, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Computes the centrality of every node.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    kind : str, default="degree"
        Centrality: ``degree``, ``core``, ``pagerank``, ``walks``, or ``walks:3`` for walks of a given length.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Centrality of each node.

    Raises
    ------
    ValueError
        For an unknown centrality.

    Examples
    --------
    >>> centrality([(0, 1), (1, 2), (2, 0), (2, 3)], "core").tolist()
    [2.0, 2.0, 2.0, 1.0]
    """
    return _gnarl.centrality(to_graph(graph), _name(kind, "kind"), threads_of(n_jobs))


def operator(
    graph: GraphLike, kind: str = "A_hat", *, centrality: str | None = None, e2: float = -0.5, e3: float = -0.5
) -> csr_array:
    """Computes a graph shift operator.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    kind : str, default="A_hat"
        Classical operator: A, L, Q, L_rw, L_sym, A_hat or H.
    centrality : str, default=None
        Centrality with values V, for the operator ``V^e2 A V^e3`` in place of a classical one.
    e2, e3 : float, default=-0.5
        Exponents of the centrality on the left and on the right.

    Returns
    -------
    scipy.sparse.csr_array
        Operator.

    Raises
    ------
    ValueError
        For an unknown operator or centrality.

    Examples
    --------
    >>> operator([(0, 1), (1, 2)], "H").toarray()[1].tolist()
    [0.5, 0.0, 0.5]
    """
    graph = to_graph(graph)
    if centrality is not None:
        exponents = _number(e2, "e2"), _number(e3, "e3")
        return csr_of(_gnarl.centrality_operator(graph, _name(centrality, "centrality"), *exponents))
    return csr_of(_gnarl.operator(graph, _name(kind, "kind")))


def eigenpairs(
    graph: GraphLike,
    kind: str = "L_sym",
    k: int = 6,
    *,
    which: Literal["smallest", "largest", "magnitude"] = "smallest",
    centrality: str | None = None,
    e2: float = -0.5,
    e3: float = -0.5,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Computes eigenvalues at one end of an operator's spectrum, and their eigenvectors.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    kind : str, default="L_sym"
        Symmetric classical operator, such as A, L, Q, L_sym or A_hat.
    k : int, default=6
        Number of eigenvalues.
    which : {"smallest", "largest", "magnitude"}, default="smallest"
        End of the spectrum; ``magnitude`` for the largest absolute values.
    centrality : str, default=None
        Centrality with values V, for the operator ``V^e2 A V^e3`` in place of a classical one.
    e2, e3 : float, default=-0.5
        Exponents of the centrality on the left and on the right.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues.
    vectors : ndarray of shape (n_nodes, k)
        Eigenvectors as columns.

    Raises
    ------
    ValueError
        For an unknown operator and for more eigenvalues than nodes.
    ArithmeticError
        If the iteration does not converge.

    Examples
    --------
    >>> values, vectors = eigenpairs([(0, 1), (2, 3)], "L", 2)
    >>> values.round(9).tolist()
    [0.0, 0.0]
    """
    graph, k = to_graph(graph), _whole(k, "k")
    if centrality is None:
        return _gnarl.eigenpairs(graph, _name(kind, "kind"), k, _name(which, "which"), None, threads_of(n_jobs))
    exponents = _number(e2, "e2"), _number(e3, "e3")
    return _gnarl.eigenpairs(graph, _name(centrality, "centrality"), k, _name(which, "which"), exponents, threads_of(n_jobs))


def spectrum(graph: GraphLike, centrality: str = "degree", *, n_jobs: int | None = None) -> dict[str, Any]:
    """Computes the spectra of the classical operators and of a centrality operator.

    The report also has the spectral gap, the Cheeger constant and the bounds between them.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    centrality : str, default="degree"
        Centrality, as in :func:`centrality`.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    dict
        Report; the keys are those of ``gnarl spectrum --json``.

    Raises
    ------
    ValueError
        For an unknown centrality.

    Examples
    --------
    >>> spectrum([(0, 1), (1, 2)])["num_edges"]
    2
    """
    found: dict[str, Any] = json.loads(_gnarl.spectrum_report(to_graph(graph), _name(centrality, "centrality"), threads_of(n_jobs)))
    return found


def communities(
    graph: GraphLike,
    method: Literal["louvain", "fast-greedy", "walktrap", "cgso", "node2vec"] = "louvain",
    n_clusters: int | None = None,
    *,
    centrality: str | None = None,
    e2: float | None = None,
    e3: float | None = None,
    n_init: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Detects the communities of a graph.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    method : {"louvain", "fast-greedy", "walktrap", "cgso", "node2vec"}, default="louvain"
        Method; ``cgso`` is spectral clustering with a centrality operator.
    n_clusters : int, default=None
        Number of communities, which ``louvain`` finds itself.
    centrality : str, default=None
        Centrality of ``cgso``.
    e2, e3 : float, default=None
        Exponents of the centrality of ``cgso``.
    n_init : int, default=None
        Number of restarts of k-means, for the methods that end with it.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Community of each node.

    Raises
    ------
    ValueError
        For an unknown method, and for settings that do not belong to it.

    Examples
    --------
    >>> communities([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)], "walktrap", 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    count = None if n_clusters is None else _whole(n_clusters, "n_clusters")
    init = None if n_init is None else _whole(n_init, "n_init")
    exponents = None if e2 is None else _number(e2, "e2"), None if e3 is None else _number(e3, "e3")
    kind = None if centrality is None else _name(centrality, "centrality")
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    return _gnarl.communities(to_graph(graph), _name(method, "method"), count, kind, *exponents, init, seed, threads)


def modularity(graph: GraphLike, communities: ArrayLike, resolution: float = 1.0) -> float:
    """Computes Newman's modularity of communities.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    communities : array-like of shape (n_nodes,)
        Community of each node.
    resolution : float, default=1.0
        Weight of the expected number of edges.

    Returns
    -------
    float
        Modularity.

    Raises
    ------
    ValueError
        For communities of another length.

    Examples
    --------
    >>> round(modularity([(0, 1), (2, 3)], [0, 0, 1, 1]), 3)
    0.5
    """
    graph = to_graph(graph)
    found = to_whole(communities, "communities")
    if found.shape != (graph.num_nodes,):
        raise ValueError(f"communities: shape {found.shape} for {graph.num_nodes} nodes")
    return _gnarl.modularity(graph, np.unique(found, return_inverse=True)[1].astype(np.int64), _number(resolution, "resolution"))


def describe(graph: GraphLike) -> dict[str, int | float | None]:
    """Computes statistics of a graph: density, components, degrees and homophily.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.

    Returns
    -------
    dict of str to number
        Statistics by name; homophily is None without labels.

    Examples
    --------
    >>> describe([(0, 1), (1, 2)])["components"]
    1
    """
    return _gnarl.describe(to_graph(graph))


def _generated(kind: str, random_state: RandomState = None, **settings: Any) -> Graph:
    return _gnarl.generate(kind, settings, seed_of(random_state))


def erdos_renyi(n: int, p: float, *, random_state: RandomState = None) -> Graph:
    """Samples an Erdős–Rényi graph, in which every pair of nodes has an edge with probability p.

    Parameters
    ----------
    n : int
        Number of nodes.
    p : float
        Probability of an edge.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For a probability outside [0, 1].

    Examples
    --------
    >>> erdos_renyi(10, 1.0)
    Graph("erdos_renyi": 10 nodes, 45 edges)
    """
    return _generated("erdos_renyi", random_state, n=_whole(n, "n"), p=_number(p, "p"))


def gnm(n: int, m: int, *, random_state: RandomState = None) -> Graph:
    """Samples a graph uniformly among those with n nodes and m edges.

    Parameters
    ----------
    n : int
        Number of nodes.
    m : int
        Number of edges.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For more edges than pairs of nodes.

    Examples
    --------
    >>> gnm(10, 7).num_edges
    7
    """
    return _generated("gnm", random_state, n=_whole(n, "n"), m=_whole(m, "m"))


def barabasi_albert(n: int, r: int, *, random_state: RandomState = None) -> Graph:
    """Samples a Barabási–Albert graph by preferential attachment.

    Parameters
    ----------
    n : int
        Number of nodes.
    r : int
        Number of edges of a new node.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For fewer nodes than edges of a new node.

    Examples
    --------
    >>> barabasi_albert(20, 2).num_nodes
    20
    """
    return _generated("barabasi_albert", random_state, n=_whole(n, "n"), r=_whole(r, "r"))


def configuration_model(degrees: Sequence[int], *, random_state: RandomState = None) -> Graph:
    """Samples a simple graph with given degrees.

    Parameters
    ----------
    degrees : sequence of int
        Degree of each node.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For degrees that no simple graph has.

    Examples
    --------
    >>> configuration_model([1, 1]).num_edges
    1
    """
    return _generated("configuration_model", random_state, degrees=[_whole(d, "degrees") for d in degrees])


def sbm(block_sizes: Sequence[int], probabilities: ArrayLike, *, random_state: RandomState = None) -> Graph:
    """Samples a graph of a stochastic block model.

    Parameters
    ----------
    block_sizes : sequence of int
        Number of nodes of each block.
    probabilities : array-like of shape (n_blocks, n_blocks)
        Probability of an edge between nodes of two blocks.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For probabilities that are not symmetric or outside [0, 1].

    Examples
    --------
    >>> sbm([3, 3], [[1, 0], [0, 1]]).num_edges
    6
    """
    rows = to_matrix(probabilities, "probabilities").tolist()
    return _generated("sbm", random_state, block_sizes=[_whole(b, "block_sizes") for b in block_sizes], probabilities=rows)


def csbm(
    num_nodes: int = 1000,
    num_classes: int = 4,
    num_features: int = 32,
    *,
    mean_degree: float = 8.0,
    homophily: float = 0.75,
    separation: float = 0.2,
    noise: float = 1.0,
    random_state: RandomState = None,
) -> Graph:
    """Samples a graph of a contextual stochastic block model: blocks differ in edges and in features.

    The graph has classes and a split.

    Parameters
    ----------
    num_nodes : int, default=1000
        Number of nodes.
    num_classes : int, default=4
        Number of blocks, which are the classes.
    num_features : int, default=32
        Number of features.
    mean_degree : float, default=8.0
        Expected degree of a node.
    homophily : float, default=0.75
        Expected share of edges within a block.
    separation : float, default=0.2
        Norm of the mean features of a block.
    noise : float, default=1.0
        Expected norm of the noise on the features of a node.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For settings out of range.

    Examples
    --------
    >>> csbm(100).num_features
    32
    """
    whole = {"num_nodes": num_nodes, "num_classes": num_classes, "num_features": num_features}
    real = {"mean_degree": mean_degree, "homophily": homophily, "separation": separation, "noise": noise}
    settings = {**{k: _whole(v, k) for k, v in whole.items()}, **{k: _number(v, k) for k, v in real.items()}}
    return _generated("csbm", random_state, **settings)


def sbbam(
    block_sizes: Sequence[int] = (100, 100, 100),
    r: Sequence[int] = (5, 10, 15),
    p_between: float = 0.1,
    *,
    attachment: Literal["distinct", "repeated"] = "distinct",
    random_state: RandomState = None,
) -> Graph:
    """Samples a stochastic block Barabási–Albert graph: blocks of several densities with edges between them.

    Parameters
    ----------
    block_sizes : sequence of int, default=(100, 100, 100)
        Number of nodes of each block.
    r : sequence of int, default=(5, 10, 15)
        Number of edges of a new node, for each block.
    p_between : float, default=0.1
        Probability of an edge between nodes of two blocks.
    attachment : {"distinct", "repeated"}, default="distinct"
        Preferential attachment to distinct nodes, or with replacement, after which repeated edges are removed.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Sampled graph.

    Raises
    ------
    ValueError
        For settings out of range.

    Examples
    --------
    >>> sbbam().num_nodes
    300
    """
    sizes, edges = [_whole(b, "block_sizes") for b in block_sizes], [_whole(e, "r") for e in r]
    between = _number(p_between, "p_between")
    return _generated("sbbam", random_state, block_sizes=sizes, r=edges, p_between=between, attachment=_name(attachment, "attachment"))


def complete(n: int) -> Graph:
    """Returns the complete graph, with all pairs of nodes as edges.

    Parameters
    ----------
    n : int
        Number of nodes.

    Returns
    -------
    Graph
        Graph.

    Examples
    --------
    >>> complete(4).num_edges
    6
    """
    return _generated("complete", n=_whole(n, "n"))


def path(n: int) -> Graph:
    """Returns a path.

    Parameters
    ----------
    n : int
        Number of nodes.

    Returns
    -------
    Graph
        Graph.

    Examples
    --------
    >>> path(4).num_edges
    3
    """
    return _generated("path", n=_whole(n, "n"))


def cycle(n: int) -> Graph:
    """Returns a cycle.

    Parameters
    ----------
    n : int
        Number of nodes.

    Returns
    -------
    Graph
        Graph.

    Examples
    --------
    >>> cycle(4).num_edges
    4
    """
    return _generated("cycle", n=_whole(n, "n"))


def star(n: int) -> Graph:
    """Returns a star, with one node connected to all others.

    Parameters
    ----------
    n : int
        Number of nodes.

    Returns
    -------
    Graph
        Graph.

    Examples
    --------
    >>> star(4).num_edges
    3
    """
    return _generated("star", n=_whole(n, "n"))


def grid(rows: int, columns: int) -> Graph:
    """Returns a rectangular grid, with edges between adjacent nodes.

    Parameters
    ----------
    rows : int
        Number of rows.
    columns : int
        Number of columns.

    Returns
    -------
    Graph
        Graph.

    Examples
    --------
    >>> grid(2, 3).num_edges
    7
    """
    return _generated("grid", rows=_whole(rows, "rows"), columns=_whole(columns, "columns"))


def rewire(graph: GraphLike, share: float, *, random_state: RandomState = None) -> Graph:
    """Rewires a share of the edges of a graph; degrees stay equal.

    Parameters
    ----------
    graph : Graph
        Graph, or anything that :class:`gnarl.Graph` reads.
    share : float
        Share of the edges, 0 to 1.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.

    Returns
    -------
    Graph
        Rewired graph.

    Raises
    ------
    ValueError
        For a share outside [0, 1].

    Examples
    --------
    >>> rewire(cycle(10), 0.5).num_edges
    10
    """
    return _generated("rewire", random_state, graph=to_graph(graph), share=_number(share, "share"))


def density(
    X: ArrayLike,
    kind: DensityName = "mixture",
    *,
    components: int | Literal["auto"] | None = None,
    random_state: RandomState = None,
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

    Raises
    ------
    ValueError
        For an unknown density, no vectors, and components of a density that is no mixture.

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
    X: ArrayLike,
    y: ArrayLike,
    *,
    density: DensityName = "mixture",
    components: int | Literal["auto"] | None = None,
    samples: Literal["as-many", "level"] = "as-many",
    random_state: RandomState = None,
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

    Raises
    ------
    ValueError
        For an unknown density and for classes of another length.

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
    X: ArrayLike,
    y: ArrayLike,
    X_on: ArrayLike,
    y_on: ArrayLike,
    X_new: ArrayLike,
    y_new: ArrayLike,
    *,
    decay: float = 5e-4,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Computes the influence of additional training vectors on the loss of a softmax regression.

    Parameters
    ----------
    X, y : array-like
        Training vectors and their classes.
    X_on, y_on : array-like
        Vectors and classes on which the loss is computed.
    X_new, y_new : array-like
        Candidates and their classes.
    decay : float, default=5e-4
        Weight decay of the regression.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    ndarray of shape (n_candidates,)
        Influence of each candidate; positive if it lowers the loss.

    Raises
    ------
    ValueError
        For classes that no training vector has.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [-1.0]])
    >>> (influence(X, [0, 1], [[1.0]], [0], [[1.0], [1.0]], [0, 1], decay=0.1) > 0).tolist()
    [True, False]
    """
    codes, classes = to_codes(y)

    def labelled(vectors: Any, of: Any, what: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        found, own = to_codes(of, what)
        names = [str(c) for c in classes.tolist()]
        index = [names.index(str(c)) if str(c) in names else -1 for c in own.tolist()]
        coded = np.array([index[c] if c >= 0 else -1 for c in found], dtype=np.int64)
        if (coded < 0).any():
            raise ValueError(f"{what}: the class of vector {int(np.argmin(coded))} is no class of the training vectors")
        matrix = to_matrix(vectors, what)
        if len(matrix) != len(coded):
            raise ValueError(f"{what}: {len(coded)} classes for {len(matrix)} vectors")
        return matrix, coded

    sets = labelled(X, y, "y"), labelled(X_on, y_on, "y_on"), labelled(X_new, y_new, "y_new")
    return _gnarl.influence(*sets, len(classes), _number(decay, "decay"), threads_of(n_jobs))


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None, random_state: RandomState = None) -> Graph | _gnarl.GraphSet:
    """Loads a dataset by name, or the files at a path.

    ``gnarl data get NAME`` downloads a dataset. The datasets karate, csbm and sbbam need no files.

    Parameters
    ----------
    name : str
        Name of a dataset (see :func:`datasets`), or a path.
    data_dir : path-like, default=None
        Folder of the files. None: ``GNARL_DATA`` if set, else the data folder of the platform.
    random_state : int or generator, default=None
        Seed of generated datasets; None is 0.

    Returns
    -------
    Graph or GraphSet
        Dataset.

    Raises
    ------
    FileNotFoundError
        If the files are missing.
    ValueError
        For an unknown name and for files that cannot be read.

    Examples
    --------
    >>> load("karate")
    Graph("karate": 34 nodes, 78 edges, 34 features, 4 classes)
    """
    return _gnarl.load(_name(name, "dataset"), None if data_dir is None else os.fspath(data_dir), seed_of(random_state))


def datasets() -> tuple[str, ...]:
    """Returns the names of the known datasets.

    Returns
    -------
    tuple of str
        Names, the built-in datasets first.

    Examples
    --------
    >>> "cora" in datasets()
    True
    """
    return tuple(_gnarl.dataset_names())
