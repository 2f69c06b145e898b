"""Graphs in and out, by whatever people have."""

from __future__ import annotations

import pickle
import time
from typing import Any

import gnarl
import numpy as np
import pandas
import pytest
import scipy.sparse as sp

EDGES = np.array([[0, 1, 2, 2, 3], [1, 0, 1, 2, 1]])  # an edge in both directions, and a self-loop
EXPECTED = [[0, 1], [1, 2], [1, 3]]


def edges(graph: gnarl.Graph) -> list[list[int]]:
    return graph.to_pandas()[["source", "target"]].to_numpy().tolist()


def adjacency(dtype: type = float) -> sp.csr_array:
    return sp.coo_array((np.ones(5, dtype=dtype), (EDGES[0], EDGES[1])), shape=(4, 4)).tocsr()


class Data:
    """What PyTorch Geometric's Data has, without it."""

    def __init__(self, **parts: object) -> None:
        self.__dict__.update(parts)


class Tensor:
    """What a tensor has, without PyTorch."""

    def __init__(self, array: object) -> None:
        self.array = np.asarray(array)
        self.shape = self.array.shape

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self.array


@pytest.mark.parametrize(
    "data",
    [
        EDGES,
        EDGES.astype(np.int32),
        EDGES.astype(np.uint8),
        np.asfortranarray(EDGES),
        [(0, 1), (2, 1), (3, 1)],
        adjacency(),
        adjacency(bool),
        adjacency().tocoo(),
        adjacency().tocsc(),
        sp.csr_matrix(adjacency()),
        pandas.DataFrame({"source": EDGES[0], "target": EDGES[1]}),
        pandas.DataFrame({"when": 5, "dst": EDGES[1], "src": EDGES[0]}),
        Data(edge_index=Tensor(EDGES)),
        {"edge_index": EDGES},
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_form_is_the_same_graph(data: object) -> None:
    graph = gnarl.Graph(data)
    assert edges(graph) == EXPECTED
    assert graph.weights is None


def test_networkx_there_and_back() -> None:
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    graph = gnarl.Graph(club)
    assert (graph.num_nodes, graph.num_edges) == (34, 78)
    back = graph.to_networkx()
    assert {(u, v): d["weight"] for u, v, d in back.edges(data=True)} == {
        (u, v): float(d["weight"]) for u, v, d in club.edges(data=True)
    }
    named = networkx.DiGraph([("ada", "bob"), ("bob", "ada"), ("bob", "cyd")])
    assert gnarl.Graph(named).node_names == ["ada", "bob", "cyd"]
    assert gnarl.Graph(named).num_edges == 2


def test_named_nodes_of_a_table() -> None:
    table = pandas.DataFrame({"from": ["b", "c"], "to": ["a", "b"], "weight": [2.0, 3.0]})
    graph = gnarl.Graph(table)
    assert graph.node_names == ["a", "b", "c"]
    assert graph.to_pandas().to_numpy().tolist() == [["a", "b", 2.0], ["b", "c", 3.0]]


class _Streamed:
    """Something that knows Arrow's C interface and nothing else."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrows_c_interface_is_enough() -> None:
    try:
        import pyarrow
    except ImportError:
        with pytest.raises(ValueError, match="needs pyarrow"):
            gnarl.Graph(_Streamed(None))
        return
    graph = gnarl.Graph(_Streamed(pyarrow.table({"source": [0, 1], "target": [1, 2]})))
    assert (graph.num_nodes, graph.num_edges) == (3, 2)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_tables_of_other_libraries(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    assert edges(gnarl.Graph(make({"source": EDGES[0].tolist(), "target": EDGES[1].tolist()}))) == EXPECTED
    assert gnarl.Graph(make({"u": ["a", "b"], "v": ["b", "c"]})).node_names == ["a", "b", "c"]


def test_pytorch_geometric_data_without_pytorch() -> None:
    data = Data(
        edge_index=Tensor(EDGES), x=Tensor(np.eye(4, 3)), y=Tensor([1, 0, 1, 0]), num_nodes=4,
        train_mask=Tensor([True, True, False, False]), val_mask=Tensor([False] * 4), test_mask=Tensor([False, False, True, True]),
    )  # fmt: skip
    graph = gnarl.Graph(data)
    assert graph.x.tolist() == np.eye(4, 3).tolist()
    assert graph.y.tolist() == [1, 0, 1, 0]
    (name, train, val, test) = graph.splits[0]
    assert (name, train.tolist(), val.tolist(), test.tolist()) == ("given", [0, 1], [], [2, 3])
    assert "torch" not in __import__("sys").modules


def test_ten_masks_side_by_side_are_ten_splits() -> None:
    masks = np.zeros((4, 10), dtype=bool)
    masks[1, 3] = True
    graph = gnarl.Graph(EDGES, train_mask=masks)
    assert len(graph.splits) == 10
    assert graph.splits[3][1].tolist() == [1]


def test_weights_and_stored_zeros() -> None:
    weighted = adjacency()
    weighted.data[:] = [2, 2, 3, 9, 4]
    graph = gnarl.Graph(weighted)
    assert graph.to_pandas()["weight"].tolist() == [2.0, 3.0, 4.0]
    weighted.data[2] = 0
    assert edges(gnarl.Graph(weighted)) == [[0, 1], [1, 3]], "a stored zero is no edge"
    with pytest.warns(UserWarning, match="1 edges were given with two weights"):
        gnarl.Graph([(0, 1), (1, 0)], edge_weight=[1.0, 2.0])


def test_what_was_dropped_is_counted() -> None:
    dropped = gnarl.Graph(EDGES).dropped
    assert (dropped["edges_given"], dropped["self_loops"], dropped["duplicates"]) == (5, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((np.array([[0, 1], [1, -3]]),), {}, "edge 1 has an end of -3"),
        ((np.array([[0.5, 1], [1, 0]]),), {}, "has dtype float64; integers"),
        ((np.zeros((3, 5), dtype=int),), {}, r"shape \(3, 5\)"),
        ((EDGES,), {"num_nodes": 2}, "edge 2 joins 2 and 1, but ids must be below the number of nodes, 2"),
        ((EDGES,), {"num_nodes": -1}, "num_nodes"),
        ((EDGES,), {"x": np.array([[1.0], [np.nan], [0], [0]])}, "row 1, column 0 is NaN"),
        ((EDGES,), {"x": np.array([[1.0], [1e300], [0], [0]])}, "row 1, column 0 is inf"),
        ((EDGES,), {"x": np.ones(4)}, r"x: has shape \(4,\)"),
        ((EDGES,), {"x": np.ones((5, 1)), "num_nodes": 4}, "x: 5 rows for 4 nodes"),
        ((EDGES,), {"x": np.array([["a"]] * 4)}, "x: has dtype"),
        ((EDGES,), {"y": [0, 1]}, "edge 2 joins 2 and 1"),
        ((EDGES,), {"y": [[0, 1]] * 4}, r"y: has shape \(4, 2\)"),
        ((EDGES,), {"y": [0.5, 1, 1, 1]}, "y: .*0.5"),
        ((EDGES,), {"train_mask": [True, False]}, "a mask of 2 for 4 nodes or graphs"),
        ((EDGES,), {"train_mask": [0, 9]}, "entry 1 is 9; there are 4 nodes or graphs"),
        ((EDGES,), {"train_mask": [0], "test_mask": [0]}, "node or graph 0 is in it twice"),
        ((EDGES,), {"edge_weight": [1.0]}, "edge_weight: shape"),
        ((EDGES,), {"edge_weight": [1.0, np.inf, 1, 1, 1]}, "entry 1 is inf"),
        ((sp.csr_array((3, 4)),), {}, "as many columns as rows"),
        ((object(),), {}, "cannot be read from object"),
        (("no-such-dataset",), {}, "unknown dataset 'no-such-dataset'"),
    ],
)
def test_errors_say_what_and_where(arguments: tuple, keywords: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        gnarl.Graph(*arguments, **keywords)
    assert "\n" not in str(caught.value)


def test_arrays_are_shared_and_cannot_be_written(blocks: gnarl.Graph) -> None:
    x = blocks.x
    assert np.shares_memory(x, blocks.x)
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 5
    indices = gnarl.cycle(5).indices  # the graph itself is gone
    assert sorted(indices.tolist()) == sorted([0, 1, 2, 3, 4] * 2)


def test_features_full_of_zeros_are_stored_without_them() -> None:
    x = np.zeros((300, 300), dtype=np.float32)
    x[np.arange(300), np.arange(300)] = np.arange(300)
    graph = gnarl.Graph(gnarl.cycle(300), x=x)
    assert graph._sparse_x is not None and (graph.x == x).all()
    assert (gnarl.Graph(gnarl.cycle(300), x=sp.csr_array(x)).x == x).all()


def test_pickles_are_equal(blocks: gnarl.Graph, karate: gnarl.Graph) -> None:
    for graph in (blocks, karate, gnarl.Graph([(0, 1)], edge_weight=[2.0], node_names=["a", "b"])):
        back = pickle.loads(pickle.dumps(graph))
        assert back == graph and hash(back) == hash(graph)
        assert (back.name, back.node_names, back.classes) == (graph.name, graph.node_names, graph.classes)
    graphs = gnarl.GraphSet([gnarl.cycle(4), gnarl.star(4)], ["c", "s"])
    back = pickle.loads(pickle.dumps(graphs))
    assert (back.classes, back.y.tolist(), back[1]) == (["c", "s"], [0, 1], graphs[1])


def test_people_can_read_it(karate: gnarl.Graph) -> None:
    assert repr(karate) == 'Graph("karate": 34 nodes, 78 edges, 34 features, 4 classes)'
    assert "<td>78</td>" in karate._repr_html_()
    assert repr(gnarl.GraphSet([karate], [1])) == 'GraphSet("graphs": 1 graphs, 34 nodes, 78 edges, 1 classes)'


def test_sets_of_graphs_of_any_kind() -> None:
    graphs = gnarl.GraphSet([EDGES, adjacency(), [(0, 1)]], ["a", "b", "a"])
    assert len(graphs) == 3 and graphs[-1].num_edges == 1
    with pytest.raises(IndexError, match="the set has 3"):
        graphs[3]
    with pytest.raises(ValueError, match="graph 1: edges: edge 0"):
        gnarl.GraphSet([[(0, 1)], [(0, -1)]], [0, 1])
    with pytest.raises(ValueError, match="2 classes for 1 graphs"):
        gnarl.GraphSet([EDGES], [0, 1])


def test_a_large_matrix_enters_quickly() -> None:
    """A million entries in a tenth of what ten million may take, with room for a machine that is busy."""
    n, rng = 100_000, np.random.default_rng(0)
    half = sp.coo_array((np.ones(500_000), (rng.integers(0, n, 500_000), rng.integers(0, n, 500_000))), shape=(n, n)).tocsr()
    both = (half + half.T).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    both.data[:] = 1
    both.sort_indices()
    best = 9.9
    for _ in range(5):
        start = time.perf_counter()
        graph = gnarl.Graph(both)
        best = min(best, time.perf_counter() - start)
    assert (graph.indices == both.indices).all() and graph.num_edges == both.nnz // 2
    assert best < 0.3


def test_numbers_that_would_take_all_memory_are_refused() -> None:
    with pytest.raises(ValueError, match="node id 2147483648 in 1 edges"):
        gnarl.Graph([(0, 2**31)])
    with pytest.raises(ValueError, match="GB of memory"):
        gnarl.Graph([(0, 1)], num_nodes=2**31)
    assert gnarl.Graph([(0, 1)], num_nodes=10**6).num_nodes == 10**6
