"""Models of one's own and gnarl's: attacked, measured and defended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gnarl import _gnarl
from gnarl._axes import LISTS, InferenceChoice, keyword, text_of
from gnarl._convert import class_names, html_table, to_codes, to_graph, to_graph_set, to_items
from gnarl._estimators import _Estimator, seed_of, threads_of
from gnarl._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def subject(model: Any) -> Any:
    """A model as the extension takes it: fitted, defended, or a function."""
    if isinstance(model, _Estimator):
        return model._fitted()
    if isinstance(model, Defended):
        return model.core
    return model


class Defended:
    """A model whose answers are read off by an inference over a neighbourhood of its input.

    It is a model again, a function from a graph to scores, and can be attacked, measured and defended itself.

    >>> import gnarl, numpy as np
    >>> karate = gnarl.load("karate")
    >>> mine = lambda graph: np.eye(4)[np.arange(graph.num_nodes) % 4] + graph.x[:, :4]
    >>> safer = gnarl.RobustCRF(neighbours=3, updates=1, radius=0.1)(mine)
    >>> safer.predict_proba(karate).shape
    (34, 4)
    """

    def __init__(
        self,
        model: Any,
        inference: InferenceChoice,
        graph: Any = None,
        *,
        train_mask: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        if graph is None:
            clean = []
        elif isinstance(graph, (list, tuple, _gnarl.GraphSet)) and not (isinstance(graph, (list, tuple)) and graph and isinstance(graph[0], tuple)):
            clean = [to_graph(graph[i]) for i in range(len(graph))]
        else:
            clean = [to_graph(graph)]
        train = None if train_mask is None or not clean else to_items(train_mask, clean[0].num_nodes, "train_mask")
        self.model, self.inference = model, inference
        self.classes_ = getattr(model, "classes_", None)
        self.core = _gnarl.Defended(
            subject(model), inference.kind, inference._stored(), clean, train, seed_of(random_state), threads_of(n_jobs)
        )

    def predict_proba(self, graph: Any) -> NDArray[np.float32]:
        """Distributions over the classes: a row for each node, or one for the graph."""
        return self.core.probabilities(to_graph(graph))

    def predict(self, graph: Any) -> NDArray[Any]:
        """The most likely classes, by their place where the model does not name them."""
        places = self.predict_proba(graph).argmax(axis=1)
        return places if self.classes_ is None else np.asarray(self.classes_[places])

    def __call__(self, graph: Any) -> NDArray[np.float32]:
        """Scores: the logarithms of the distributions."""
        return np.log(np.maximum(self.predict_proba(graph), np.finfo(np.float32).tiny))

    @property
    def trusted(self) -> float | None:
        """How far an inference that tests its own assumption may be trusted; None where nothing was tested."""
        return self.core.trusted

    def __repr__(self) -> str:
        return f"{self.inference!r}({self.model!r})"


@dataclass(frozen=True)
class Attacked:
    """An attacked graph and how it differs from the one before."""

    #: The graph after the attack. Where features were attacked through a model of gnarl's, they are as that model takes them.
    graph: _gnarl.Graph
    #: Edges that are new, one a row.
    added: NDArray[np.int64]
    #: Edges that are gone, one a row.
    removed: NDArray[np.int64]
    #: How far features moved.
    features: dict[str, float] = field(default_factory=dict)

    @property
    def flips(self) -> NDArray[np.int64]:
        """Edges that are new or gone."""
        return np.concatenate([self.added, self.removed])

    def __repr__(self) -> str:
        moved = self.features.get("nodes", 0)
        return f"Attacked({self.graph!r}: {len(self.added)} edges new, {len(self.removed)} gone, features of {moved} nodes moved)"


def _attack_settings(kind: str, settings: dict[str, Any]) -> list[tuple[str, str]]:
    entry = next((entry for entry in LISTS["attacks"] if entry["name"] == kind.lower()), None)
    known = {keyword(s[by]): s["name"] for s in (entry or {"settings": []})["settings"] for by in ("name", "flag")}
    return [(known.get(k, k.replace("_", "-")), text_of(v, k)) for k, v in settings.items() if v is not None]


def attack(
    graph: Any,
    kind: str,
    model: Any = None,
    *,
    targets: Any = None,
    y: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **settings: Any,
) -> Attacked:
    """Changes a graph within a budget so that a model's answers turn wrong.

    ``kind`` is an attack of ``gnarl attack``: gaussian, pgd-features, pgd-structure, dice, random-flips, …; ``settings`` are its options,
    ``budget`` first of all. Those that follow gradients need a fitted model of gnarl's. ``targets`` are the nodes that are to be
    misled, by default the labelled test nodes of the model's split or the graph's, else all labelled ones; ``y`` are the classes that the
    attacker takes the nodes for, by default the graph's. Of a model of whole graphs, ``y`` is the class of the graph.

    >>> import gnarl
    >>> attack(gnarl.load("karate"), "random-remove", budget=0.1).removed.shape
    (7, 2)
    """
    graph = to_graph(graph)
    if not isinstance(kind, str):
        raise ValueError(f"attack: {kind!r} is not the name of one")
    core = model if isinstance(model, Defended) else subject(model)
    pairs: list[tuple[int, int]] = []
    training: list[tuple[int, int]] = []
    if getattr(model, "_task", "node") == "graph":
        if y is not None:
            place = class_names(model.classes_).index(str(y)) if str(y) in class_names(model.classes_) else None
            if place is None:
                raise ValueError(f"y: {y!r} is not a class of the model")
            pairs = [(0, place)]
    else:
        if y is not None:
            codes, classes = to_codes(y)
            if len(codes) != graph.num_nodes:
                raise ValueError(f"y: {len(codes)} classes for {graph.num_nodes} nodes")
            graph = graph._replace(y=(codes, class_names(classes)))
        pairs, training = _targets(graph, core, targets)
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    made, added, removed, features = _gnarl.attack(graph, kind, _attack_settings(kind, settings), core, pairs, training, seed, threads)
    return Attacked(made, added, removed, json.loads(features))


def _targets(graph: _gnarl.Graph, core: Any, targets: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The nodes to mislead and those that train, with the classes that they are taken for."""
    codes = graph.y
    if codes is None:
        if targets is not None:
            raise ValueError("targets: the graph has no classes; hand over y")
        return [], []
    split = graph.splits[0] if graph.splits else None
    if isinstance(core, _gnarl.Fitted) and core.recognises(graph):
        split = core.split
    train = np.zeros(0, dtype=np.int64) if split is None else split[1]
    if targets is not None:
        nodes = to_items(targets, graph.num_nodes, "targets")
    elif split is not None and len(split[3]):
        nodes = split[3]
    else:
        nodes = np.arange(graph.num_nodes)
    names = graph.classes
    place = {i: i for i in range(len(names))}
    if isinstance(core, _gnarl.Fitted):
        known = core.classes
        place = {i: known.index(name) for i, name in enumerate(names) if name in known}
    pairs, training = ([(int(u), place[int(codes[u])]) for u in part if int(codes[u]) in place] for part in (nodes, train))
    return pairs, training


@dataclass(frozen=True)
class Robustness:
    """How far a model's answers move when its input does, by sampling, and how far they ever can."""

    #: Where inputs were drawn from.
    target: str
    #: The radius.
    epsilon: float
    #: The mean scaled distance between answers.
    mean: float
    #: Its 95 % interval; None of a single sample.
    ci: tuple[float, float] | None
    #: The largest scaled distance seen.
    largest: float
    #: For each distance: how often it was exceeded, and the 95 % interval.
    adv: dict[float, tuple[float, tuple[float, float]]]
    #: The mean share of answers whose class changed.
    changed: float
    #: Upper bounds by distance: l1, l2, linf of scores, and scaled.
    bounds: dict[str, float]
    #: Why there are none, where there are none.
    no_bounds: str | None
    #: The scaled distance of every sample.
    distances: NDArray[np.float64] = field(repr=False)

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("mean distance", f"{self.mean:.4g}"), ("largest", f"{self.largest:.4g}"), ("answers changed", f"{self.changed:.2%}")]
        rows += [(f"beyond {sigma:g}", f"{share:.3g}") for sigma, (share, _) in self.adv.items()]
        rows += [(f"bound on {name}", f"{bound:.4g}") for name, bound in self.bounds.items()]
        return html_table(f"Robustness within {self.epsilon:g} of {self.target}", rows)


def robustness(
    model: Any,
    graph: Any,
    epsilon: float = 1.0,
    *,
    target: str | None = None,
    norm: Any = 2,
    flips: int | None = None,
    samples: int = 100,
    sigma: Any = (0.1, 0.25, 0.5),
    sampler: str = "exact",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Robustness:
    """How far a model's answers move around a graph.

    Inputs are drawn from within ``epsilon`` of every node's features (``target="features"``), from ``epsilon`` flips of edges
    (``"structure"``), or from both with so many ``flips``. Networks of gnarl's that are stacks of GCN or GIN layers get bounds, too.

    >>> import gnarl
    >>> karate = gnarl.load("karate")
    >>> found = robustness(gnarl.NodeClassifier("gcn", epochs=20).fit(karate), karate, 1, target="structure", samples=20)
    >>> found.largest <= found.bounds["scaled"]
    True
    """
    graph = to_graph(graph)
    if target is None:
        target = "features" if graph.num_features else "structure"
    for name, number in (("samples", samples), *((("flips", flips),) if flips is not None else ())):
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)) or not 0 <= number < 2**31:
            raise ValueError(f"{name}: {number!r} is not a whole number of at least 0")
    try:
        sigmas = [float(s) for s in np.atleast_1d(sigma)]
        radius = float(epsilon)
    except (TypeError, ValueError):
        raise ValueError(f"epsilon and sigma: {epsilon!r} and {sigma!r} are not numbers") from None
    norm_name = "inf" if isinstance(norm, float) and np.isinf(norm) else text_of(norm, "norm")
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    text, distances = _gnarl.robustness(
        subject(model), graph, str(target), radius, int(samples), sigmas, norm_name, flips, str(sampler), seed, threads
    )
    found = json.loads(text)
    estimate = found["estimate"]
    ci = estimate["ci"]
    return Robustness(
        target=str(target),
        epsilon=radius,
        mean=estimate["mean"],
        ci=None if ci is None else (ci[0], ci[1]),
        largest=estimate["largest"],
        adv={one["sigma"]: (one["estimate"], (one["ci"][0], one["ci"][1])) for one in estimate["adv"]},
        changed=estimate["changed"],
        bounds={bound["distance"]: bound["sound"] for bound in found["bounds"]},
        no_bounds=found["no_bounds"],
        distances=distances,
    )


@dataclass(frozen=True)
class Certificates:
    """What no attacker within a radius can change of a model's answers."""

    #: smoothing, lipschitz, exact or convex.
    method: str
    #: What an attacker changes: features, edges or both.
    target: str
    #: The nodes of the graph, or graphs of the set, that were asked about.
    items: NDArray[np.int64] = field(repr=False)
    #: The class of each that is certified, as the model counts classes; of smoothing that of the smoothed model.
    classes: NDArray[np.int64] = field(repr=False)
    #: The radius of each; of smoothing by flips how many bits or edges may come.
    radius: NDArray[np.float64] = field(repr=False)
    #: Of smoothing by flips of one sort: how many may go.
    deletions: NDArray[np.int64] | None = field(repr=False)
    #: By radius: the share of the items that is certified, and the share that is certified and right.
    shares: list[dict[str, float]] = field(repr=False)
    #: Of smoothing: the accuracy of the smoothed model, per cent.
    smoothed_accuracy: float | None

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = []
        for share in self.shares[:12]:
            radius = ", ".join(f"{name} {value:g}" for name, value in share.items() if not name.endswith("share"))
            rows.append((radius, f"{share['share']:.1%} certified, {share['accurate_share']:.1%} and right"))
        return html_table(f"Certified by {self.method} against changed {self.target}", rows)


def certify(
    model: Any,
    graph: Any,
    method: str = "smoothing",
    *,
    target: str | None = None,
    items: Any = None,
    p_plus: float | None = None,
    p_minus: float | None = None,
    edge_p_plus: float | None = None,
    edge_p_minus: float | None = None,
    gaussian: float | None = None,
    samples: int | None = None,
    selection: int | None = None,
    alpha: float | None = None,
    simultaneous: bool = False,
    rule: str | None = None,
    norm: Any = None,
    scope: str | None = None,
    radii: Any = (),
    max_radius: int | None = None,
    threat: str | None = None,
    local: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Certificates:
    """What no attacker within a radius can change of a model's answers.

    ``method="smoothing"`` asks any model, a function from a graph to scores too, about noisy copies: bits of features or edges that flip
    (``p_plus``, ``p_minus``) or Gaussian noise (``gaussian``); its certificates are wrong at most as often as ``alpha``. ``"lipschitz"`` (gcn, gin,
    sgc, mlp), ``"exact"`` (edges under appnp and sgc) and ``"convex"`` (binary features under gcn) look into a network of gnarl's and are never wrong.
    ``items`` are the nodes, or the graphs of a set, that are asked about: the test ones where a fitted model knows them, else all.

    >>> import gnarl
    >>> karate = gnarl.load("karate")
    >>> model = gnarl.NodeClassifier("appnp", epochs=20).fit(karate)
    >>> found = certify(model, karate, "exact", max_radius=3)
    >>> len(found.radius) == len(found.items), bool((found.radius <= 3).all())
    (True, True)
    """
    core = model if isinstance(model, Defended) else subject(model)
    data: Any = graph
    if not isinstance(data, (_gnarl.Graph, _gnarl.GraphSet)):
        is_set = isinstance(core, _gnarl.Fitted) and core.task == "graph"
        data = to_graph_set(graph) if is_set else to_graph(graph)
    if target is None:
        has_features = not isinstance(data, _gnarl.Graph) or bool(data.num_features)
        target = "edges" if method == "exact" or not has_features else "features"
    settings = {
        "p_plus": p_plus,
        "p_minus": p_minus,
        "edge_p_plus": edge_p_plus,
        "edge_p_minus": edge_p_minus,
        "gaussian": gaussian,
        "samples": samples,
        "selection": selection,
        "alpha": alpha,
        "simultaneous": bool(simultaneous),
        "rule": rule,
        "norm": None if norm is None else "inf" if isinstance(norm, float) and np.isinf(norm) else text_of(norm, "norm"),
        "scope": scope,
        "radii": [float(r) for r in np.atleast_1d(np.asarray(radii, dtype=float))],
        "max_radius": max_radius,
        "threat": threat,
        "local": local,
    }
    size = data.num_nodes if isinstance(data, _gnarl.Graph) else len(data)
    chosen = None if items is None else to_items(items, size, "items")
    if chosen is None and isinstance(core, _gnarl.Fitted):
        held_out = core.split[3] if core.recognises(data) else ()
        chosen = held_out if len(held_out) else np.arange(size)
    text, of, classes, radius, deletions = _gnarl.certify(
        core, data, str(method), str(target), settings, chosen, seed_of(random_state), threads_of(n_jobs)
    )
    found = json.loads(text)
    return Certificates(
        method=str(method),
        target=str(target),
        items=of,
        classes=classes,
        radius=radius,
        deletions=deletions,
        shares=found["certified"],
        smoothed_accuracy=found["smoothed_accuracy"],
    )
