"""Garbage into every public function: Python's exceptions come out, on one line, never a panic and never a crash."""

from __future__ import annotations

import os
import warnings
from typing import Any

import gnarl
import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

numbers = st.one_of(st.integers(-3, 40), st.sampled_from([2**31, 2**40, -(2**63), 2**70]), st.floats(), st.booleans())
names = st.sampled_from(
    ["", "gcn", "degree", "core", "walks:0", "walks:99", "cgso", "admp-st", "orthonormal", "robust-crf", "clean-crf", "gratin", "A", "L_sym", "H",
     "dice", "gaussian", "random-add", "louvain", "walktrap", "mixture", "shared", "features", "structure", "karate", "level", "nothing\n", "é"]
)  # fmt: skip
arrays = st.one_of(
    hnp.arrays(st.sampled_from([np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.bool_, np.complex64]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)),
    hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(0, 12)), elements=st.integers(-1, 8)),
    hnp.arrays(np.float64, st.tuples(st.integers(0, 8), st.integers(0, 4)), elements=st.floats(-5, 5)),
)
matrices = st.builds(
    lambda a, dtype: sp.csr_array(np.clip(np.nan_to_num(a, nan=3.0), -9, 9).astype(dtype)),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6))),
    st.sampled_from([np.float64, np.int8, np.float32]),
)
graphs = st.one_of(
    st.builds(lambda n, p, s: gnarl.erdos_renyi(n, p, random_state=s), st.integers(0, 12), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 9)),
    st.builds(lambda n, s: gnarl.csbm(n, 2, 3, mean_degree=2, random_state=s), st.integers(20, 40), st.integers(0, 9)),
    st.just(gnarl.load("karate")),
)
anything: st.SearchStrategy[Any] = st.one_of(
    numbers, names, arrays, matrices, graphs, st.none(), st.lists(numbers, max_size=4), st.lists(st.tuples(numbers, numbers), max_size=5), st.text(max_size=5),
    st.dictionaries(st.sampled_from(["edge_index", "x", "y"]), arrays, max_size=3), st.builds(object),
)  # fmt: skip

#: What may come out. Everything else, a panic above all, is a fault of ours.
FINE = (ValueError, TypeError, OverflowError, IndexError, KeyError, ArithmeticError, AttributeError, OSError)
#: The same garbage every time, so that a change is what a failure tells of; GNARL_ANY_GARBAGE=1 draws other.
same = not os.environ.get("GNARL_ANY_GARBAGE")
many = settings(max_examples=120, deadline=None, derandomize=same, suppress_health_check=list(HealthCheck))
few = settings(max_examples=50, deadline=None, derandomize=same, suppress_health_check=list(HealthCheck))


def survive(function: Any, *arguments: Any, **keywords: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*arguments, **keywords)
        except FINE as error:
            assert "fault in gnarl" not in str(error), repr(error)


@many
@given(anything, anything, anything, anything, anything)
def test_graphs(data: Any, x: Any, y: Any, mask: Any, weight: Any) -> None:
    survive(gnarl.Graph, data)
    survive(gnarl.Graph, data, x=x, y=y, train_mask=mask, edge_weight=weight)
    survive(gnarl.Graph, data, num_nodes=x)
    survive(gnarl.GraphSet, data, y)
    survive(gnarl.GraphSet, [data, x], y, train=mask)


@many
@given(graphs, anything, anything, anything)
def test_parts(graph: gnarl.Graph, a: Any, b: Any, c: Any) -> None:
    survive(gnarl.centrality, graph, a)
    survive(gnarl.centrality, a, "core")
    survive(gnarl.operator, graph, a, centrality=b, e2=c)
    survive(gnarl.eigenpairs, graph, "L_sym", a)
    survive(gnarl.eigenpairs, graph, a, 2, which=b, centrality=c)
    survive(gnarl.communities, graph, a, b, n_init=3, random_state=c)
    survive(gnarl.communities, graph, "cgso", a, n_init=2, e2=b)
    survive(gnarl.modularity, graph, a, b)
    survive(gnarl.describe, a)
    survive(graph.subgraph, a)
    survive(graph.neighbours, a)
    survive(gnarl.rewire, graph, a)


small = st.one_of(st.integers(-2, 30), st.floats(-1, 2), names, st.none(), st.lists(st.integers(-1, 6), max_size=4), st.just(float("nan")))


@many
@given(small, small, small, anything)
def test_generators(a: Any, b: Any, c: Any, seed: Any) -> None:
    for function in (gnarl.erdos_renyi, gnarl.gnm, gnarl.barabasi_albert, gnarl.grid):
        survive(function, a, b)
    for function in (gnarl.path, gnarl.cycle, gnarl.star, gnarl.complete, gnarl.configuration_model):
        survive(function, a)
    survive(gnarl.sbm, a, b)
    survive(gnarl.sbm, [3, 4], seed)
    survive(gnarl.csbm, a, b, 4, homophily=c, random_state=seed)
    survive(gnarl.sbbam, a, b, c)
    survive(gnarl.erdos_renyi, 5, 0.5, random_state=seed)


@few
@given(arrays, anything, names, anything, anything)
def test_vectors(X: Any, y: Any, name: str, components: Any, samples: Any) -> None:
    survive(gnarl.density, X)
    survive(gnarl.density, X, name, components=components if not isinstance(components, int) or components < 50 else 3)
    survive(gnarl.gratin, X, y, density=name)
    survive(gnarl.gratin, np.arange(12.0).reshape(6, 2), y, samples=samples, density="shrunken")
    survive(gnarl.influence, X, y, X, y, X, y)
    survive(gnarl.influence, np.eye(3), [0, 1, 1], X, y, np.eye(3), [0, 1, 1], decay=components)


@few
@given(graphs, anything, anything, anything, st.sampled_from(sorted(gnarl.NodeClassifier().get_params())))
def test_estimators(graph: gnarl.Graph, a: Any, b: Any, mask: Any, parameter: str) -> None:
    few_epochs = {"epochs": 2} if parameter != "epochs" else {}
    if not (parameter in ("epochs", "hidden", "layers", "max_depth", "heads", "head_epochs", "propagation_steps", "n_jobs") and isinstance(a, (int, float)) and not isinstance(a, bool) and a > 40):
        survive(lambda: gnarl.NodeClassifier(**{**few_epochs, parameter: a}).fit(graph))
    survive(lambda: gnarl.NodeClassifier(epochs=2).fit(graph, a, train_mask=mask, val_mask=b))
    survive(lambda: gnarl.NodeClassifier(epochs=2).fit(a, b))
    survive(lambda: gnarl.GraphClassifier(epochs=2).fit(a, b, train=mask))
    survive(gnarl.NodeClassifier.load, a)
    model = gnarl.NodeClassifier(epochs=2).fit(gnarl.load("karate"))
    for method in (model.predict, model.predict_proba, model.score, model.operator_matrix):
        survive(method, a)
    survive(model.score, graph, a, mask=b)


@few
@given(graphs, anything, anything, names, numbers)
def test_models(graph: gnarl.Graph, a: Any, b: Any, name: str, number: Any) -> None:
    model = gnarl.NodeClassifier(epochs=2).fit(gnarl.load("karate"))
    survive(gnarl.attack, graph, name, budget=number)
    survive(gnarl.attack, graph, "dice", a, targets=b)
    survive(gnarl.attack, a, "random-flips", model, y=b)
    survive(gnarl.attack, graph, "random-add", lambda g: a, budget=0.1)
    survive(gnarl.robustness, model, graph, number if not isinstance(number, int) or number < 100 else 2, samples=3)
    survive(gnarl.robustness, model, "karate", 0.5, samples=2, sigma=a, norm=b)
    survive(gnarl.robustness, lambda g: a, graph, 0.5, samples=3, target=name)
    survive(gnarl.certify, model, graph, name, target=name, items=a, radii=b)
    survive(gnarl.certify, lambda g: a, graph, samples=number, alpha=b, p_plus=number)
    survive(lambda: gnarl.RobustCRF(samples=2, iterations=1, radius=a, sigma=b)(model).predict(graph))
    survive(lambda: gnarl.CleanCRF()(model, a, train_mask=b))
    survive(lambda: gnarl.Jaccard(threshold=a)(graph))
