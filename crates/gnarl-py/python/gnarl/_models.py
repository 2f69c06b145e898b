"""Attacks, robustness, certificates and defences of gnarl's models and of any function from a graph to scores."""

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
    from gnarl._typing import GraphLike, GraphSetLike, MaskLike, ModelLike, RandomState
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack


def subject(model: Any) -> Any:
    """Returns a model as the extension takes it: fitted, with an inference rule, or a function."""
    if isinstance(model, _Estimator):
        return model._fitted()
    if isinstance(model, Defended):
        return model.core
    return model


class Defended:
    """Model with an inference rule.

    It is a function from a graph to scores, like the model itself, and can be attacked, measured and defended in turn.

    Parameters
    ----------
    model : estimator or callable
        Fitted model, or a function from a graph to scores.
    inference : InferenceChoice
        Inference rule with its settings.
    graph : Graph or list of Graph, default=None
        Training data of the model, from which some rules estimate the distribution of clean inputs.
    train_mask : array-like, default=None
        Training nodes of the graph.
    random_state : int or generator, default=None
        Seed of all random numbers; None is 0.
    n_jobs : int, default=None
        Number of threads; None and -1 are all cores.

    Attributes
    ----------
    model : estimator or callable
        Model without the rule.
    inference : InferenceChoice
        Inference rule.
    classes_ : ndarray or None
        Class labels, if the model has them.

    Raises
    ------
    ValueError
        For a rule that needs training data if none is given.

    Examples
    --------
    >>> import gnarl, numpy as np
    >>> karate = gnarl.load("karate")
    >>> mine = lambda graph: np.eye(4)[np.arange(graph.num_nodes) % 4] + graph.x[:, :4]
    >>> safer = gnarl.RobustCRF(samples=3, iterations=1, radius=0.1)(mine)
    >>> safer.predict_proba(karate).shape
    (34, 4)
    """

    def __init__(
        self,
        model: ModelLike,
        inference: InferenceChoice,
        graph: GraphLike | GraphSetLike | None = None,
        *,
        train_mask: MaskLike | None = None,
        random_state: RandomState = None,
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

    def predict_proba(self, graph: GraphLike) -> NDArray[np.float32]:
        """Predicts the distribution over the classes.

        Parameters
        ----------
        graph : Graph
            Graph, or anything that :class:`gnarl.Graph` reads.

        Returns
        -------
        ndarray of shape (n_nodes, n_classes)
            Probability of each class; one row for a model of whole graphs.
        """
        return self.core.probabilities(to_graph(graph))

    def predict(self, graph: GraphLike) -> NDArray[Any]:
        """Predicts the most likely classes.

        Parameters
        ----------
        graph : Graph
            Graph, or anything that :class:`gnarl.Graph` reads.

        Returns
        -------
        ndarray of shape (n_nodes,)
            Predicted classes, as indices if the model has no ``classes_``; one for a model of whole graphs.
        """
        indices = self.predict_proba(graph).argmax(axis=1)
        return indices if self.classes_ is None else np.asarray(self.classes_[indices])

    def __call__(self, graph: GraphLike) -> NDArray[np.float32]:
        """Computes scores: the logarithms of :meth:`predict_proba`."""
        return np.log(np.maximum(self.predict_proba(graph), np.finfo(np.float32).tiny))

    @property
    def perturbation_limit(self) -> float | None:
        """Largest perturbation under which the assumption of the inference rule held in its own test.

        It is a standard deviation of noise or a share of added edges; None for a rule without such a test.
        """
        return self.core.perturbation_limit

    def __repr__(self) -> str:
        return f"{self.inference!r}({self.model!r})"


@dataclass(frozen=True)
class Attacked:
    """Result of an attack.

    Attributes
    ----------
    graph : Graph
        Attacked graph. If the attack changed features through a model of gnarl's, they are scaled as that model takes them.
    added : ndarray of shape (n_added, 2)
        Added edges.
    removed : ndarray of shape (n_removed, 2)
        Removed edges.
    features : dict of str to float
        Sizes of the feature changes.
    """

    graph: _gnarl.Graph
    added: NDArray[np.int64]
    removed: NDArray[np.int64]
    features: dict[str, float] = field(default_factory=dict)

    @property
    def flips(self) -> NDArray[np.int64]:
        """Added and removed edges, one per row."""
        return np.concatenate([self.added, self.removed])

    def __repr__(self) -> str:
        changed = self.features.get("nodes", 0)
        return f"Attacked({self.graph!r}: {len(self.added)} edges added, {len(self.removed)} removed, features of {changed} nodes changed)"


def _attack_settings(kind: str, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the settings of an attack by the names they are stored under."""
    entry = next((entry for entry in LISTS["attacks"] if entry["name"] == kind.lower()), None)
    known = {keyword(s[by]): s["name"] for s in (entry or {"settings": []})["settings"] for by in ("flag", "name")}
    for name in settings:
        new = None if name in known else renamed(name, [LISTS["attacks"]])
        if new is not None:
            raise TypeError(f"{kind}: {name} is now {new}")
    return [(known.get(k, k.replace("_", "-")), text_of(v, k)) for k, v in settings.items() if v is not None]


def attack(
    graph: GraphLike,
    kind: AttackName,
    model: ModelLike | None = None,
    *,
    targets: MaskLike | None = None,
    y: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **settings: Unpack[AttackSettings],
) -> Attacked:
    graph = to_graph(graph)
    if not isinstance(kind, str):
        raise ValueError(f"attack: {kind!r} is not the name of an attack")
    core = model if isinstance(model, Defended) else subject(model)
    pairs: list[tuple[int, int]] = []
    training: list[tuple[int, int]] = []
    if getattr(model, "_task", "node") == "graph":
        if y is not None:
            names = class_names(model.classes_)  # type: ignore[union-attr]
            if str(y) not in names:
                raise ValueError(f"y: {y!r} is not a class of the model")
            pairs = [(0, names.index(str(y)))]
    else:
        if y is not None:
            codes, classes = to_codes(y)
            if len(codes) != graph.num_nodes:
                raise ValueError(f"y: {len(codes)} classes for {graph.num_nodes} nodes")
            graph = graph._replace(y=(codes, class_names(classes)))
        pairs, training = _targets(graph, core, targets)
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    attacked, added, removed, features = _gnarl.attack(graph, kind, _attack_settings(kind, settings), core, pairs, training, seed, threads)
    return Attacked(attacked, added, removed, json.loads(features))


def _targets(graph: _gnarl.Graph, core: Any, targets: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the target nodes and the training nodes, with the classes that the attacker assumes."""
    codes = graph.y
    if codes is None:
        if targets is not None:
            raise ValueError("targets: the graph has no classes; pass y")
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
    index = {i: i for i in range(len(names))}
    if isinstance(core, _gnarl.Fitted):
        known = core.classes
        index = {i: known.index(name) for i, name in enumerate(names) if name in known}
    pairs, training = ([(int(u), index[int(codes[u])]) for u in part if int(codes[u]) in index] for part in (nodes, train))
    return pairs, training


def _document_attack() -> None:
    """Gives ``attack`` its documentation, the settings of every attack included."""
    kinds = [f"``{entry['name']}`` ({entry['about']})" for entry in LISTS["attacks"]]
    doc = """Changes a graph within a budget so that a model misclassifies its nodes.

Parameters
----------
graph : Graph
    Graph to attack, or anything that :class:`gnarl.Graph` reads.
kind : str
    Attack: KINDS.
model : optional
    Fitted model, or a function from a graph to scores. Gradient-based attacks need a fitted model of gnarl's.
targets : array-like, default=None
    Nodes to attack. None: the labelled test nodes of the model's split or of the graph's, else all labelled nodes.
y : array-like, default=None
    Classes that the attacker assumes. None: those of the graph. For a model of whole graphs, the class of the graph.
random_state : int or generator, default=None
    Seed of all random numbers.
n_jobs : int, default=None
    Number of threads; None and -1 are all cores.
SETTINGS

Returns
-------
Attacked
    Attacked graph, with the added and removed edges.

Raises
------
TypeError
    For a setting that was renamed; the message has its new name.
ValueError
    For an unknown attack or setting, and for a model that the attack cannot use.

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
    """Sensitivity of a model to perturbations of its input: estimates by sampling, and upper bounds.

    Attributes
    ----------
    target : str
        Perturbed part of the input: features, structure or both.
    epsilon : float
        Radius.
    mean : float
        Mean scaled distance between the predictions of the clean and the perturbed input.
    ci : tuple of float or None
        95 % confidence interval of the mean; None for a single sample.
    largest : float
        Largest scaled distance of a sample.
    adv : dict of float to tuple
        For each distance in ``sigma``, the share of samples that exceed it, with a 95 % confidence interval.
    changed : float
        Mean share of predictions whose class changed.
    bounds : dict of str to float
        Upper bounds on the l1, l2 and linf distance of the scores and on the scaled distance.
    no_bounds : str or None
        Reason why there are no bounds.
    distances : ndarray
        Scaled distance of every sample.
    """

    target: str
    epsilon: float
    mean: float
    ci: tuple[float, float] | None
    largest: float
    adv: dict[float, tuple[float, tuple[float, float]]]
    changed: float
    bounds: dict[str, float]
    no_bounds: str | None
    distances: NDArray[np.float64] = field(repr=False)

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [("mean distance", f"{self.mean:.4g}"), ("largest", f"{self.largest:.4g}")]
        rows += [("predictions changed", f"{self.changed:.2%}")]
        rows += [(f"beyond {sigma:g}", f"{share:.3g}") for sigma, (share, _) in self.adv.items()]
        rows += [(f"bound on {name}", f"{bound:.4g}") for name, bound in self.bounds.items()]
        return html_table(f"Robustness within {self.epsilon:g} of {self.target}", rows)


def robustness(
    model: ModelLike,
    graph: GraphLike,
    epsilon: float = 1.0,
    *,
    target: Literal["features", "structure", "both"] | None = None,
    norm: float | Literal["inf"] | None = None,
    flips: int | None = None,
    samples: int = 100,
    sigma: float | Sequence[float] = (0.1, 0.25, 0.5),
    sampler: Literal["exact", "thesis"] = "exact",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Robustness:
    """Estimates by sampling how much a model's predictions change when its input is perturbed.

    Stacks of GCN or GIN layers of gnarl's have upper bounds in addition.

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

    Raises
    ------
    ValueError
        For settings that do not belong to the target, and for a radius or distances out of range.

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
    options = {
        "target": str(target), "epsilon": radius, "norm": norm_name, "flips": flips, "sampler": str(sampler),
        "samples": int(samples), "sigmas": sigmas, "seed": seed_of(random_state),
    }  # fmt: skip
    text, distances = _gnarl.robustness(subject(model), graph, options, threads_of(n_jobs))
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
    """Certified predictions: no change of the input within the radius changes the predicted class.

    Attributes
    ----------
    method : str
        Certificate.
    target : str
        Part of the input that an attacker changes: features, edges or both.
    items : ndarray of shape (n_items,)
        Certified nodes of the graph, or graphs of the set.
    classes : ndarray of shape (n_items,)
        Certified class of each, as an index; for smoothing, the prediction of the smoothed model.
    radius : ndarray of shape (n_items,)
        Certified radius of each; for smoothing by flips, the number of added bits or edges.
    deletions : ndarray of shape (n_items,) or None
        Number of removed bits or edges, for smoothing by flips.
    shares : list of dict
        For each radius, the certified share (``share``) and the certified accuracy (``accurate_share``).
    smoothed_accuracy : float or None
        Accuracy of the smoothed model in per cent, for smoothing.
    """

    method: str
    target: str
    items: NDArray[np.int64] = field(repr=False)
    classes: NDArray[np.int64] = field(repr=False)
    radius: NDArray[np.float64] = field(repr=False)
    deletions: NDArray[np.int64] | None = field(repr=False)
    shares: list[dict[str, float]] = field(repr=False)
    smoothed_accuracy: float | None

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = []
        for share in self.shares[:12]:
            radius = ", ".join(f"{name} {value:g}" for name, value in share.items() if not name.endswith("share"))
            rows.append((radius, f"{share['share']:.1%} certified, {share['accurate_share']:.1%} certified and correct"))
        return html_table(f"Certified by {self.method} against changed {self.target}", rows)


def certify(
    model: ModelLike,
    graph: GraphLike | GraphSetLike,
    method: CertificateName = "smoothing",
    *,
    target: Literal["features", "edges", "both"] | None = None,
    items: MaskLike | None = None,
    random_state: RandomState = None,
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
    known = {keyword(setting["name"]) for entry in LISTS["certificates"] for setting in entry["settings"]}
    for name in settings:
        new = None if name in known else renamed(name, [LISTS["certificates"]])
        if new is not None:
            raise TypeError(f"{method}: {name} is now {new}")
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
    doc = """Certifies predictions: computes a radius within which no change of the input changes the predicted class.

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
    Nodes, or graphs of the set, to certify. None: the test nodes or graphs of the data that the model was fitted to, all of other data.
random_state : int or generator, default=None
    Seed of all random numbers.
n_jobs : int, default=None
    Number of threads; None and -1 are all cores.
SETTINGS

Returns
-------
Certificates
    Class and radius of every node or graph, and the certified shares by radius.

Raises
------
TypeError
    For a setting that was renamed; the message has its new name.
ValueError
    For an unknown certificate or setting, and for a model that the certificate does not cover.

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
