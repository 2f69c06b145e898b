"""Conversions of graphs and arrays of other libraries to gnarl's, and back.

Other libraries are recognised by the attributes of their objects, and are not imported.
"""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gnarl import _gnarl
from gnarl._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnarl._gnarl import Graph, GraphSet

    Split = tuple[str, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


#: Dense features of at least this many numbers are stored as a sparse matrix if at most an eighth is not zero.
_LARGE = 1 << 16


def to_array(value: Any, what: str) -> NDArray[Any]:
    """Returns an array-like as a NumPy array, without a copy if memory can be shared."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach()
        if hasattr(value, "cpu"):
            value = value.cpu()
        return np.asarray(value.numpy())
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.asarray(np.from_dlpack(value))
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{what}: cannot be read as an array ({error})") from None


def to_whole(value: Any, what: str) -> NDArray[Any]:
    """Returns integers in one of the types that need no conversion."""
    array = to_array(value, what)
    if array.size == 0:
        return np.ascontiguousarray(array.reshape(array.shape), dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what}: has dtype {array.dtype}; integers are needed")
    if array.dtype.itemsize < 4 or not array.dtype.isnative:
        array = array.astype(np.int64)
    return np.ascontiguousarray(array)


def to_items(value: Any, count: int, what: str) -> NDArray[np.int64]:
    """Returns the indices that a mask, a slice or indices of ``count`` nodes or graphs select."""
    if isinstance(value, slice):
        return np.arange(count, dtype=np.int64)[value]
    if isinstance(value, range):
        value = list(value)
    array = to_array(value, what)
    if array.ndim != 1:
        raise ValueError(f"{what}: has shape {array.shape}; one row of a mask or of indices is needed")
    if array.dtype == np.bool_:
        if len(array) != count:
            raise ValueError(f"{what}: a mask of {len(array)} for {count} nodes or graphs")
        return np.flatnonzero(array).astype(np.int64)
    items = to_whole(array, what).astype(np.int64)
    wrong = np.flatnonzero((items < 0) | (items >= count))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"{what}: entry {at} is {items[at]}; there are {count} nodes or graphs")
    return items


def to_matrix(value: Any, what: str) -> NDArray[np.float64]:
    """Returns a matrix of float64 numbers, row by row."""
    array = to_array(value, what)
    if array.ndim != 2:
        raise ValueError(f"{what}: has shape {array.shape}; one row for each vector is needed")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what}: has dtype {array.dtype}; numbers are needed")
    return np.ascontiguousarray(array, dtype=np.float64)


def to_scores(value: Any) -> NDArray[np.float32]:
    """Returns the scores of a user's model as a matrix."""
    array = to_array(value, "scores of the model")
    if array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"scores of the model: shape {array.shape} and dtype {array.dtype}; a number for each node and class is needed"
        )
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _has_class(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns a mask of labelled nodes or graphs: -1 means unlabelled, unless -1 and 1 are the only values and thus two classes."""
    without = np.asarray(numbers == -1)
    if without.any() and (without | (numbers == 1)).all() and not without.all():
        return np.ones(len(numbers), dtype=bool)
    return ~without


def to_codes(y: Any, what: str = "y") -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Returns the index of each class among the distinct ones, and these; -1 for NaN, None, empty text, and -1 next to numbers other than 1."""
    array = to_array(y, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what}: has shape {array.shape}; one class for each node or graph is needed")
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
        whole = array[known]
        odd = np.flatnonzero(~(np.isfinite(whole) & (whole == np.floor(whole))))
        if len(odd):
            raise ValueError(f"{what}: Unknown label type: {whole[odd[0]]!r} is not a class; classes are integers or text")
        known[known] = _has_class(whole)
        values: NDArray[Any] = array[known].astype(np.int64)
    elif array.dtype.kind == "b":
        known = np.ones(len(array), dtype=bool)
        values = array
    elif array.dtype.kind in "iu":
        known = _has_class(array)
        values = array[known]
    elif array.dtype.kind in "OUS":
        known = np.array([not (v is None or v == "" or v != v) for v in array.tolist()], dtype=bool)
        values = array[known]
        kinds = {type(v) for v in values.tolist()}
        if array.dtype.kind == "O":
            if not kinds <= {int, str, bool, np.int64, np.int32, np.str_} or len({k in (str, np.str_) for k in kinds}) > 1:
                raise ValueError(f"{what}: classes must be all integers or all text, not {sorted(k.__name__ for k in kinds)}")
            values = np.array(values.tolist()) if len(values) else values.astype(np.int64)
    else:
        raise ValueError(f"{what}: has dtype {array.dtype}; classes are integers or text")
    classes, of = np.unique(values, return_inverse=True)
    codes = np.full(len(array), -1, dtype=np.int64)
    codes[known] = of
    return codes, classes


def class_names(classes: Iterable[Any]) -> list[str]:
    """Returns classes as text."""
    return [value.decode() if isinstance(value, bytes) else str(value) for value in np.asarray(list(classes)).tolist()]


def named_classes(names: Sequence[str]) -> NDArray[Any]:
    """Returns classes from their names: integers if all names are."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names, dtype=str)
    return np.array(numbers, dtype=np.int64) if [str(n) for n in numbers] == list(names) else np.array(names, dtype=str)


def with_features(graph: Graph, x: Any) -> Graph:
    """Returns the graph with these features."""
    if hasattr(x, "tocsr") and hasattr(x, "nnz"):
        csr = x.tocsr()
        if csr.dtype.kind not in "biuf":
            raise ValueError(f"x: has dtype {csr.dtype}; numbers are needed")
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        if csr.shape[0] != graph.num_nodes:
            raise ValueError(f"x: {csr.shape[0]} rows for {graph.num_nodes} nodes")
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(csr.data, dtype=np.float32)
        return graph._replace(sparse_x=(to_whole(csr.indptr, "x"), to_whole(csr.indices, "x"), values, int(csr.shape[1])))
    array = to_array(x, "x")
    if array.ndim != 2:
        raise ValueError(f"x: has shape {array.shape}; one row of features for each node is needed")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"x: has dtype {array.dtype}; numbers are needed")
    if array.shape[0] != graph.num_nodes:
        raise ValueError(f"x: {array.shape[0]} rows for {graph.num_nodes} nodes")
    with np.errstate(over="ignore"):
        dense = np.ascontiguousarray(array, dtype=np.float32)
    if dense.size >= _LARGE and np.count_nonzero(dense) <= dense.size // 8:
        rows, columns = np.nonzero(dense)
        offsets = np.zeros(dense.shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=dense.shape[0]), out=offsets[1:])
        return graph._replace(sparse_x=(offsets, columns.astype(np.int64), dense[rows, columns], dense.shape[1]))
    return graph._replace(x=dense)


def _masks(parts: Sequence[Any], count: int, what: str) -> list[Split]:
    """Returns the splits of masks or indices; PyTorch Geometric stores several splits as columns."""
    arrays = [None if part is None else part if isinstance(part, (slice, range)) else to_array(part, what) for part in parts]
    columns = [a.shape[1] for a in arrays if isinstance(a, np.ndarray) and a.ndim == 2 and a.dtype == np.bool_]
    none = np.zeros(0, dtype=np.int64)

    def part(a: Any, name: str, column: int) -> NDArray[np.int64]:
        if a is None:
            return none
        if isinstance(a, np.ndarray) and a.ndim == 2 and a.dtype == np.bool_:
            a = a[:, column]
        return to_items(a, count, name)

    names = ["train_mask", "val_mask", "test_mask"]
    splits = []
    for i in range(columns[0] if columns else 1):
        train, val, test = (part(a, name, i) for a, name in zip(arrays, names, strict=True))
        splits.append(("given" if not columns else f"given-{i}", train, val, test))
    return splits


def given_split(train: Any, val: Any, test: Any, count: int) -> Split | None:
    """Returns the split of masks or indices; None if all are None."""
    if train is None and val is None and test is None:
        return None
    if train is None:
        raise ValueError("train_mask: is needed with val_mask and test_mask")
    return _masks([train, val, test], count, "masks")[0]


#: Largest number of nodes that is accepted without a proportional number of edges.
_MANY = 2**27


def _edges(rows: Any, columns: Any, weight: Any, num_nodes: int | None) -> Graph:
    rows, columns = to_whole(rows, "edges"), to_whole(columns, "edges")
    if rows.shape != columns.shape or rows.ndim != 1:
        raise ValueError(f"edges: {rows.shape} first ends and {columns.shape} second ends")
    for side in (rows, columns):
        if len(side) and int(side.min()) < 0:
            at = int(np.argmin(side))
            raise ValueError(f"edges: edge {at} has an end of {side[at]}; ids of nodes are at least 0")
    plausible = 100 * len(rows) + 1_000_001
    if num_nodes is None:
        num_nodes = max((int(side.max()) for side in (rows, columns) if len(side)), default=-1) + 1
        if num_nodes > plausible:
            raise ValueError(f"edges: node id {num_nodes - 1} in {len(rows)} edges; number nodes 0, 1, 2, … without large gaps, or give num_nodes")
    elif num_nodes > max(plausible, _MANY):
        raise ValueError(f"num_nodes: {num_nodes} nodes for {len(rows)} edges would take {16 * num_nodes / 1e9:.0f} GB of memory")
    if weight is not None:
        weight = to_array(weight, "edge_weight")
        if weight.ndim == 2 and weight.shape[1] == 1:
            weight = weight[:, 0]
        if weight.dtype.kind not in "biuf" or weight.shape != rows.shape:
            raise ValueError(f"edge_weight: shape {weight.shape} and dtype {weight.dtype} for {len(rows)} edges")
        weight = None if (weight == 1).all() else np.ascontiguousarray(weight, dtype=np.float64)
    return _gnarl.Graph._from_edges(int(num_nodes), rows, columns, weight)


def _from_scipy(data: Any) -> Graph:
    if data.shape[0] != data.shape[1]:
        raise ValueError(f"adjacency: has shape {data.shape}; there must be as many columns as rows")
    if data.dtype.kind not in "biuf":
        raise ValueError(f"adjacency: has dtype {data.dtype}; numbers are needed")
    csr = data.tocsr()
    values = csr.data
    if values.dtype.kind == "b":
        keep, values = values, None
    else:
        keep, is_plain = None, bool((values == 1).all())
        if not is_plain and not np.count_nonzero(values) == len(values):
            keep = values != 0
        values = None if is_plain else np.ascontiguousarray(values, dtype=np.float64)
    if keep is not None and not keep.all():  # a stored zero is no edge
        csr = csr.copy()
        csr.eliminate_zeros()
        values = None if values is None else np.ascontiguousarray(csr.data, dtype=np.float64)
    return _gnarl.Graph._from_csr(to_whole(csr.indptr, "indptr"), to_whole(csr.indices, "indices"), values)


def _from_table(data: Any, num_nodes: int | None) -> Graph:
    names = [str(name) for name in getattr(data, "column_names", None) or list(data.columns)]
    if len(names) < 2:
        raise ValueError(f"edge table: has the columns {names}; two for the ends of an edge are needed")
    known = {name.lower(): name for name in names}

    def column(name: str) -> NDArray[Any]:
        found = data[name]
        return to_array(found.to_numpy() if hasattr(found, "to_numpy") else found, name)

    first = next((known[n] for n in ("source", "src", "from", "u") if n in known), names[0])
    second = next((known[n] for n in ("target", "dst", "to", "v") if n in known and known[n] != first), None)
    second = second or next(name for name in names if name != first)
    weight = next((column(known[n]) for n in ("weight", "edge_weight", "w") if n in known), None)
    u, v = column(first), column(second)
    if u.dtype.kind in "iu" and v.dtype.kind in "iu":
        return _edges(u, v, weight, num_nodes)
    if any(x is None or x != x for x in [*u.tolist(), *v.tolist()]):
        raise ValueError("edge table: an end of an edge is missing")
    called, ends = np.unique(np.array([str(x) for x in [*u.tolist(), *v.tolist()]]), return_inverse=True)
    graph = _edges(ends[: len(u)], ends[len(u) :], weight, len(called))
    return graph._replace(node_names=called.tolist())


def _arrow_table(data: Any) -> Any:
    """Returns an object with the C stream interface of Arrow as a table of pyarrow over the same memory."""
    try:
        import pyarrow
    except ImportError:
        raise ValueError(f"edge table: reading Arrow from {type(data).__name__} needs pyarrow: pip install pyarrow") from None
    return pyarrow.table(data)


def _from_networkx(data: Any) -> Graph:
    nodes = list(data.nodes)
    index = {node: i for i, node in enumerate(nodes)}
    edges = list(data.edges(data=True))
    weighted = any("weight" in attributes for _, _, attributes in edges)
    ends = np.array([(index[u], index[v]) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
    weight = np.array([a.get("weight", 1.0) for _, _, a in edges], dtype=np.float64) if weighted else None
    graph = _edges(ends[:, 0], ends[:, 1], weight, len(nodes))
    if nodes != list(range(len(nodes))):
        graph = graph._replace(node_names=[str(node) for node in nodes])
    attributes = [data.nodes[node] for node in nodes]
    if nodes and all("x" in a for a in attributes):
        graph = with_features(graph, np.array([np.asarray(a["x"], dtype=np.float32) for a in attributes]))
    if nodes and any("y" in a for a in attributes):
        codes, classes = to_codes([a.get("y") for a in attributes])
        graph = graph._replace(y=(codes, class_names(classes)))
    return graph


def _from_parts(data: Any, keywords: dict[str, Any]) -> Graph:
    """Returns the graph of an object or a mapping with ``edge_index``, such as ``Data`` of PyTorch Geometric."""
    get: Callable[[str], Any] = data.get if isinstance(data, Mapping) else lambda name: getattr(data, name, None)
    edge_index = get("edge_index")
    if edge_index is None and get("adj_t") is not None:
        raise ValueError("data: has adj_t and no edge_index; convert it back with ToSparseTensor's inverse")
    for name in ("x", "y", "train_mask", "val_mask", "test_mask", "edge_weight"):
        if keywords.get(name) is None:
            keywords[name] = get(name)
    if keywords.get("num_nodes") is None:
        x = keywords.get("x")
        keywords["num_nodes"] = int(x.shape[0]) if x is not None and hasattr(x, "shape") else get("num_nodes")
    return _from_array(to_array(edge_index, "edge_index"), keywords)


def _from_array(array: NDArray[Any], keywords: dict[str, Any], pairs: bool = False) -> Graph:
    if array.size == 0:
        array = np.zeros((2, 0), dtype=np.int64)
    elif array.ndim != 2 or 2 not in array.shape:
        raise ValueError(f"edge_index: has shape {array.shape}; two rows, the ends of every edge, are needed")
    elif array.shape[0] != 2 or pairs:
        array = array.T
    return _edges(array[0], array[1], keywords.get("edge_weight"), keywords.get("num_nodes"))


def _count(value: Any) -> int | None:
    """Returns the number of rows, if there are rows."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(value) if hasattr(value, "__len__") else None


def to_graph(
    data: Any,
    *,
    num_nodes: int | None = None,
    x: Any = None,
    y: Any = None,
    edge_weight: Any = None,
    train_mask: Any = None,
    val_mask: Any = None,
    test_mask: Any = None,
    node_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Graph:
    """Returns a :class:`gnarl.Graph` from an object that holds a graph.

    :class:`gnarl.Graph` documents the parameters and the objects that are read.

    Parameters
    ----------
    data : object
        Object that holds the edges.
    num_nodes, x, y, edge_weight, train_mask, val_mask, test_mask, node_names, name : optional
        Further parts of the graph.

    Returns
    -------
    Graph
        Graph.

    Raises
    ------
    ValueError
        For an object that is not read as a graph, and for parts that do not fit; the message names the argument and the position.

    Examples
    --------
    >>> import numpy as np
    >>> to_graph(np.array([[0, 1, 2], [1, 2, 0]]), x=np.eye(3), y=["a", "b", "a"])
    Graph("graph": 3 nodes, 3 edges, 3 features, 2 classes)
    >>> to_graph([(0, 1), (1, -2)])
    Traceback (most recent call last):
    ...
    ValueError: edges: edge 1 has an end of -2; ids of nodes are at least 0
    """
    if num_nodes is not None:
        if isinstance(num_nodes, (bool, np.bool_)) or not isinstance(num_nodes, (int, np.integer)) or not 0 <= num_nodes < 2**32 - 1:
            raise ValueError(f"num_nodes: {num_nodes!r} is not a number of nodes")
        num_nodes = int(num_nodes)
    keywords: dict[str, Any] = {
        "num_nodes": num_nodes, "x": x, "y": y, "edge_weight": edge_weight,
        "train_mask": train_mask, "val_mask": val_mask, "test_mask": test_mask,
    }  # fmt: skip
    if keywords["num_nodes"] is None:
        keywords["num_nodes"] = _count(y if x is None else x)
    plain = False
    if isinstance(data, _gnarl.Graph):
        graph, plain = data, True
    elif isinstance(data, (str, os.PathLike)):
        loaded = _gnarl.load(os.fspath(data))
        if not isinstance(loaded, _gnarl.Graph):
            raise ValueError(f"{data}: is a set of graphs, and one graph is needed")
        graph, plain = loaded, True
    elif hasattr(data, "tocsr") and hasattr(data, "nnz"):
        graph, plain = _from_scipy(data), True
    elif hasattr(data, "adj") and hasattr(data, "is_directed") and hasattr(data, "nodes"):
        graph, plain = _from_networkx(data), True
    elif isinstance(data, Mapping) or hasattr(data, "edge_index"):
        graph = _from_parts(data, keywords)
    elif hasattr(data, "column_names") or hasattr(data, "columns") and hasattr(data, "shape"):
        graph = _from_table(data, keywords["num_nodes"])
    elif hasattr(data, "__arrow_c_stream__"):
        graph = _from_table(_arrow_table(data), keywords["num_nodes"])
    elif isinstance(data, (list, tuple, set, frozenset)):
        graph = _from_array(to_array(list(data), "edges"), keywords, pairs=True)
    elif hasattr(data, "__array__") or hasattr(data, "__dlpack__") or hasattr(data, "detach"):
        graph = _from_array(to_array(data, "edge_index"), keywords)
    else:
        raise ValueError(f"graph: cannot be read from {type(data).__name__}; see help(gnarl.Graph)")
    if plain and (edge_weight is not None or num_nodes not in (None, graph.num_nodes)):
        raise ValueError("num_nodes and edge_weight: belong to lists of edges, and this is a whole graph")
    if graph.dropped["conflicting_weights"]:
        warnings.warn(f"{graph.dropped['conflicting_weights']} edges were given with two weights; the first is kept", stacklevel=2)
    if keywords["x"] is not None:
        graph = with_features(graph, keywords["x"])
    if keywords["y"] is not None:
        codes, classes = to_codes(keywords["y"])
        if len(codes) != graph.num_nodes:
            raise ValueError(f"y: {len(codes)} classes for {graph.num_nodes} nodes")
        graph = graph._replace(y=(codes, class_names(classes)))
    masks = [keywords[part] for part in ("train_mask", "val_mask", "test_mask")]
    if any(mask is not None for mask in masks):
        graph = graph._replace(splits=_masks(masks, graph.num_nodes, "masks"), registered=False)
    if node_names is not None:
        graph = graph._replace(node_names=[str(n) for n in node_names])
    return graph if name is None else graph._replace(name=str(name), registered=False)


def to_graph_set(graphs: Any, y: Any = None, *, name: str | None = None, train: Any = None, val: Any = None, test: Any = None) -> GraphSet:
    """Returns a :class:`gnarl.GraphSet` from graphs of any kind and a class for each; graphs of PyTorch Geometric have it as ``y``.

    Parameters
    ----------
    graphs : list
        Graphs, or anything that :class:`gnarl.Graph` reads.
    y : array-like, default=None
        Class of each graph.
    name : str, default=None
        Name of the set.
    train, val, test : array-like, default=None
        Split, as masks or indices.

    Returns
    -------
    GraphSet
        Set of graphs.

    Raises
    ------
    ValueError
        For an item that is not read as a graph, and for classes of another length.

    Examples
    --------
    >>> to_graph_set([[(0, 1)], [(0, 1), (1, 2)]], [0, 1])
    GraphSet("graphs": 2 graphs, 5 nodes, 3 edges, 2 classes)
    """
    if isinstance(graphs, (str, os.PathLike)):
        graphs = _gnarl.load(os.fspath(graphs))
        if not isinstance(graphs, _gnarl.GraphSet):
            raise ValueError("graphs: this is one graph, and a set is needed")
    if isinstance(graphs, _gnarl.GraphSet) and y is None and train is None and val is None and test is None and name is None:
        return graphs
    if not hasattr(graphs, "__len__") or not hasattr(graphs, "__getitem__") or isinstance(graphs, (Mapping, bytes, _gnarl.Graph)):
        if isinstance(graphs, (Mapping, bytes, str, _gnarl.Graph)) or not hasattr(graphs, "__iter__"):
            raise ValueError(f"graphs: a list of graphs is needed, not {type(graphs).__name__}")
        graphs = list(graphs)
    items = [graphs[i] for i in range(len(graphs))]
    if y is None and isinstance(graphs, _gnarl.GraphSet):
        codes, names = graphs.y, graphs.classes
    else:
        if y is None and items and all(getattr(g, "y", None) is not None and not isinstance(g, _gnarl.Graph) for g in items):
            y = [to_array(g.y, "y").reshape(-1)[0] for g in items]
        if y is None:
            codes, names = np.full(len(items), -1, dtype=np.int64), []
        else:
            codes, classes = to_codes(y)
            names = class_names(classes)
    if len(codes) != len(items):
        raise ValueError(f"y: {len(codes)} classes for {len(items)} graphs")
    result = []
    for i, item in enumerate(items):
        try:
            if not isinstance(item, _gnarl.Graph) and hasattr(item, "edge_index"):
                result.append(to_graph({"edge_index": item.edge_index, "x": item.x, "num_nodes": getattr(item, "num_nodes", None)}))
            else:
                result.append(to_graph(item))
        except ValueError as error:
            raise ValueError(f"graph {i}: {error}") from None
    splits = []
    split = given_split(train, val, test, len(items))
    if split is not None:
        splits.append(split)
    elif isinstance(graphs, _gnarl.GraphSet):
        splits = graphs.splits
    own = graphs if isinstance(graphs, _gnarl.GraphSet) else None
    name = name or (own.name if own is not None else "graphs")
    registered = own is not None and own.registered and name == own.name and split is None
    return _gnarl.GraphSet._from_graphs(result, codes, names, name, splits, registered)


def to_scipy(graph: Graph) -> Any:
    """Returns the adjacency matrix as ``scipy.sparse.csr_array``."""
    from scipy.sparse import csr_array

    weights = graph.weights
    data = np.ones(2 * graph.num_edges) if weights is None else np.array(weights)
    shape = (graph.num_nodes, graph.num_nodes)
    return csr_array((data, graph.indices.astype(np.int64), graph.indptr.astype(np.int64)), shape=shape)


def csr_of(parts: tuple[Any, Any, Any, tuple[int, int]]) -> Any:
    """Returns a ``scipy.sparse.csr_array`` from its arrays."""
    from scipy.sparse import csr_array

    offsets, indices, values, shape = parts
    return csr_array((values, indices, offsets), shape=shape)


def to_networkx(graph: Graph) -> Any:
    """Returns a ``networkx.Graph``."""
    import networkx

    result = networkx.Graph(name=graph.name)
    names = graph.node_names or list(range(graph.num_nodes))
    result.add_nodes_from(names)
    u, v = _once(graph)
    weights = graph.weights
    if weights is None:
        result.add_edges_from((names[a], names[b]) for a, b in zip(u.tolist(), v.tolist(), strict=True))
    else:
        upper = weights[_is_upper(graph)]
        result.add_weighted_edges_from((names[a], names[b], w) for a, b, w in zip(u.tolist(), v.tolist(), upper.tolist(), strict=True))
    x, y, classes = graph.x, graph.y, named_classes(graph.classes)
    for i, node in enumerate(names):
        if x is not None:
            result.nodes[node]["x"] = x[i]
        if y is not None and y[i] >= 0:
            result.nodes[node]["y"] = classes[y[i]].item()
    return result


def _is_upper(graph: Graph) -> NDArray[np.bool_]:
    from_, to = graph.edge_index
    return np.asarray(from_ < to)


def _once(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from_, to = graph.edge_index
    upper = from_ < to
    return from_[upper], to[upper]


def to_pandas(graph: Graph) -> Any:
    """Returns a ``pandas.DataFrame`` of edges."""
    import pandas

    u, v = _once(graph)
    names = graph.node_names
    ends = (u, v) if names is None else (np.array(names)[u], np.array(names)[v])
    table = {"source": ends[0], "target": ends[1]}
    if graph.weights is not None:
        table["weight"] = graph.weights[_is_upper(graph)]
    return pandas.DataFrame(table)


def to_pyg(graph: Graph) -> Any:
    """Returns a ``torch_geometric.data.Data``."""
    import torch
    from torch_geometric.data import Data

    result = Data(edge_index=torch.from_numpy(graph.edge_index), num_nodes=graph.num_nodes)
    x, y, weights = graph.x, graph.y, graph.weights
    if x is not None:
        result.x = torch.from_numpy(np.array(x))
    if y is not None:
        result.y = torch.from_numpy(y)
    if weights is not None:
        result.edge_weight = torch.from_numpy(np.array(weights)).float()
    splits = graph.splits
    for column, part in ((1, "train_mask"), (2, "val_mask"), (3, "test_mask")):
        if splits:
            mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
            mask[torch.from_numpy(splits[0][column])] = True
            result[part] = mask
    return result


def reduce_graph(graph: Graph) -> tuple[Any, tuple[dict[str, Any]]]:
    """Returns the pickled state of a graph."""
    sparse = graph._sparse_x
    dense = graph._dense_x
    weights = graph.weights
    state = {
        "indptr": np.array(graph.indptr), "indices": np.array(graph.indices),
        "weights": None if weights is None else np.array(weights),
        "x": None if dense is None else np.array(dense),
        "sparse_x": None if sparse is None else (*(np.array(part) for part in sparse[:3]), sparse[3]),
        "y": None if graph.y is None else (graph.y, graph.classes),
        "splits": graph.splits, "node_names": graph.node_names, "name": graph.name, "registered": graph.registered,
        "scaled": graph.scaled,
    }  # fmt: skip
    return rebuild_graph, (state,)


def rebuild_graph(state: dict[str, Any]) -> Graph:
    """Returns a graph from its pickled state."""
    state = dict(state)
    graph = _gnarl.Graph._from_csr(state.pop("indptr"), state.pop("indices"), state.pop("weights"))
    return graph._replace(**state)


def reduce_graph_set(graphs: GraphSet) -> tuple[Any, tuple[Any, ...]]:
    """Returns the pickled state of a set of graphs."""
    items = [graphs[i] for i in range(len(graphs))]
    return _gnarl.GraphSet._from_graphs, (items, graphs.y, graphs.classes, graphs.name, graphs.splits, graphs.registered)


def html_of_graph(graph: Graph) -> str:
    """Returns a table for notebooks."""
    rows: list[tuple[str, Any]] = [("nodes", graph.num_nodes), ("edges", graph.num_edges)]
    rows += [("features", graph.num_features), ("classes", len(graph.classes)), ("splits", len(graph.splits))]
    return html_table(f"Graph {graph.name}", rows)


def html_table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Returns an HTML table of names and values with a title."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(str(k))}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows)
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"
