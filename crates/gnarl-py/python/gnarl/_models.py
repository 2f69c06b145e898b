"""Models of one's own and gnarl's: attacked, measured and defended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gnarl import _gnarl
from gnarl._axes import LISTS, InferenceChoice, keyword, parameters, renamed, text_of
from gnarl._convert import class_names, html_table, to_codes, to_graph, to_graph_set, to_items
from gnarl._estimators import _Estimator, seed_of, threads_of
from gnarl._numpy import np

if TYPE_CHECKING:
    from gnarl._choices import AttackName, AttackSettings, CertificateName, CertificateSettings
    from numpy.typing import NDArray
    from typing_extensions import Unpack


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
    >>> safer = gnarl.RobustCRF(samples=3, iterations=1, radius=0.1)(mine)
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


def _attack_settings(kind: str, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings of an attack by the names they are stored under."""
    entry = next((entry for entry in LISTS["attacks"] if entry["name"] == kind.lower()), None)
    known = {keyword(s[by]): s["name"] for s in (entry or {"settings": []})["settings"] for by in ("flag", "name")}
    for name in settings:
        new = None if name in known else renamed(name, [LISTS["attacks"]])
        if new is not None:
            raise ValueError(f"{kind}: {name} is now {new}")
    return [(known.get(k, k.replace("_", "-")), text_of(v, k)) for k, v in settings.items() if v is not None]


def attack(
    graph: Any,
    kind: AttackName,
    model: Any = None,
    *,
    targets: Any = None,
    y: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **settings: Unpack[AttackSettings],
) -> Attacked:
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


def _document_attack() -> None:
    """Gives ``attack`` its documentation, the settings of every attack included."""
    kinds = [f"``{entry['name']}`` ({entry['about']})" for entry in LISTS["attacks"]]
    doc = """Changes a graph within a budget so that predictions of a model become wrong.

Parameters
----------
graph : Graph
    Graph to attack, or anything that :class:`gnarl.Graph` reads.
kind : str
    Attack: KINDS.
model : optional
    Fitted model, or a function from a graph to scores. Attacks that follow gradients need a fitted model of gnarl's.
targets : array-like, default=None
    Nodes to mislead: by default the labelled test nodes of the model's split or the graph's, else all labelled ones.
y : array-like, default=None
    Classes that the attacker takes the nodes for, by default the graph's. For a model of whole graphs, the class of the graph.
random_state : int or generator, default=None
    Seed of all random numbers.
n_jobs : int, default=None
    Number of threads; None and -1 are all cores.
SETTINGS

Returns
-------
Attacked
    Attacked graph, and how it differs from the one before.

Examples
--------
>>> import gnarl
>>> gnarl.attack(gnarl.load("karate"), "random-remove", budget=0.1).removed.shape
(7, 2)
"""
    attack.__doc__ = doc.replace("KINDS", ", ".join(kinds)).replace("SETTINGS", parameters(LISTS["attacks"]))


_document_attack()


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
    target: Literal["features", "structure", "both"] | None = None,
    norm: float | Literal["inf"] | None = None,
    flips: int | None = None,
    samples: int = 100,
    sigma: float | Sequence[float] = (0.1, 0.25, 0.5),
    sampler: Literal["exact", "thesis"] = "exact",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Robustness:
    """Estimates how far a model's predictions move when its input is perturbed.

    Networks of gnarl's that are stacks of GCN or GIN layers get upper bounds, too.

    Parameters
    ----------
    model : estimator or function
        Fitted model, or a function from a graph to scores.
    graph : Graph
        Graph to perturb, or anything that :class:`gnarl.Graph` reads.
    epsilon : float, default=1.0
        Radius around the features of every node, or the largest number of flipped edges for ``target="structure"``.
    target : {"features", "structure", "both"}, default=None
        Part of the input that is perturbed. None: features, structure where there are none.
    norm : float or {"inf"}, default=None
        Norm of a node's perturbation, at least 1. None: 2.
    flips : int, default=None
        Largest number of flipped edges for ``target="both"``.
    samples : int, default=100
        Number of perturbed inputs.
    sigma : float or sequence of float, default=(0.1, 0.25, 0.5)
        Distances that count as a success of an attacker.
    sampler : {"exact", "thesis"}, default="exact"
        Sampler of perturbations.
    random_state : int or generator, default=None
        Seed of all random numbers.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Returns
    -------
    Robustness
        Estimates and bounds.

    Examples
    --------
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
    norm_name = None if norm is None else "inf" if isinstance(norm, float) and np.isinf(norm) else text_of(norm, "norm")
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
    """Changes within a radius that do not change a model's predictions."""

    #: Name of the certificate.
    method: str
    #: Part of the input that an attacker changes: features, edges or both.
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
    method: CertificateName = "smoothing",
    *,
    target: Literal["features", "edges", "both"] | None = None,
    items: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **settings: Unpack[CertificateSettings],
) -> Certificates:
    core = model if isinstance(model, Defended) else subject(model)
    data: Any = graph
    if not isinstance(data, (_gnarl.Graph, _gnarl.GraphSet)):
        is_set = isinstance(core, _gnarl.Fitted) and core.task == "graph"
        data = to_graph_set(graph) if is_set else to_graph(graph)
    size = data.num_nodes if isinstance(data, _gnarl.Graph) else len(data)
    chosen = None if items is None else to_items(items, size, "items")
    given = [(name.replace("_", "-"), text_of(value, name)) for name, value in settings.items() if value is not None]
    text, of, classes, radius, deletions = _gnarl.certify(
        core, data, str(method), given, None if target is None else str(target), chosen, seed_of(random_state), threads_of(n_jobs)
    )
    found = json.loads(text)
    return Certificates(
        method=found["method"],
        target=found["target"],
        items=of,
        classes=classes,
        radius=radius,
        deletions=deletions,
        shares=found["certified"],
        smoothed_accuracy=found["smoothed_accuracy"],
    )


def _document_certify() -> None:
    """Gives ``certify`` its documentation, the settings of every certificate included."""
    methods = [f"``{entry['name']}`` ({entry['about']})" for entry in LISTS["certificates"]]
    doc = """Certifies predictions: no change of the input within a radius changes the predicted class.

Parameters
----------
model : estimator or function
    Fitted model, or a function from a graph to scores, which smoothing certifies.
graph : Graph
    Graph to certify, or anything that :class:`gnarl.Graph` reads; a set of graphs for a model of whole graphs.
method : str, default="smoothing"
    Certificate: METHODS.
target : {"features", "edges", "both"}, default=None
    Part of the input that an attacker changes. None: features; edges if the method covers edges alone or there are no features.
items : array-like, default=None
    Nodes, or graphs of the set, to certify. None: the test items of the data that the model was fitted to, all items of other data.
random_state : int or generator, default=None
    Seed of all random numbers.
n_jobs : int, default=None
    Number of threads; None and -1 are all cores.
SETTINGS

Returns
-------
Certificates
    Class and radius of every item, and the certified shares by radius.

Examples
--------
>>> import gnarl
>>> karate = gnarl.load("karate")
>>> model = gnarl.NodeClassifier("appnp", epochs=20).fit(karate)
>>> found = gnarl.certify(model, karate, "exact", max_radius=3)
>>> len(found.radius) == len(found.items), bool((found.radius <= 3).all())
(True, True)
"""
    certify.__doc__ = doc.replace("METHODS", ", ".join(methods)).replace("SETTINGS", parameters(LISTS["certificates"]))


_document_certify()
