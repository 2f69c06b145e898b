"""Estimators in scikit-learn's manner. scikit-learn itself is not needed."""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from gnarl import _gnarl
from gnarl._axes import FLAGS, LISTS, Choice, help_of, literal, options_of, parameter, renamed_of_model, type_of
from gnarl._convert import class_names, given_split, html_table, named_classes, to_codes, to_graph, to_graph_set
from gnarl._numpy import np

if TYPE_CHECKING:
    import logging

    from numpy.typing import NDArray


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked before it was fitted."""


def _not_fitted(estimator: object) -> Exception:
    what = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError as Theirs

        return Theirs(what)
    return NotFittedError(what)


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn takes for one; None is 0, so that results come out the same twice."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, (bool, np.bool_)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state: {random_state} is not a seed; it must lie in 0 to 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63 - 1))
    raise ValueError(f"random_state: {random_state!r} is neither a whole number nor a generator of NumPy's")


def threads_of(n_jobs: Any) -> int | None:
    """Threads; None and -1 are all cores. Their number changes no result."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise ValueError(f"n_jobs: {n_jobs!r} is not a number of threads, nor -1 for all cores")
    return int(n_jobs)


class _Bar:
    """Progress as tqdm shows it, where it is installed, else as lines on standard error."""

    def __init__(self, what: str) -> None:
        self.what, self.bar, self.done, self.told = what, None, 0, -1
        try:
            from tqdm.auto import tqdm

            self.bar = tqdm(desc=what, unit="epoch", leave=False)
        except ImportError:
            pass

    def __call__(self, done: int, total: int, loss: float | None, accuracy: float | None) -> None:
        if self.bar is not None:
            self.bar.total = total
            self.bar.update(done - self.done)
            if loss is not None:
                self.bar.set_postfix(loss=f"{loss:.3f}", val=None if accuracy is None else f"{accuracy:.1f}%", refresh=False)
        elif 10 * done // max(total, 1) > self.told:
            self.told = 10 * done // max(total, 1)
            print(f"{self.what}: epoch {done} of {total}", file=sys.stderr)
        self.done = done

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _log() -> logging.Logger:
    """What is told about fitting goes here; silent unless somebody listens."""
    import logging

    return logging.getLogger("gnarl")


def _told(report: dict[str, Any]) -> list[str]:
    """What fitting came to and what it settled on, a line each."""
    epochs = sum(len(training["curve"]) for training in report["trained"])
    accuracy = report.get("val_accuracy")
    known = "" if accuracy is None else f", validation accuracy {accuracy:.1f} %"
    lines = [f"fitted in {report['seconds']:.2f} s: {epochs} epochs{known}"]
    trials = report.get("trials", [])
    for setting in dict.fromkeys(trial["setting"] for trial in trials):
        of = [trial for trial in trials if trial["setting"] == setting]
        found = [(trial["value"], trial.get("val_accuracy")) for trial in of]
        words = ", ".join(f"{value} {'diverged' if accuracy is None else f'{accuracy:.1f} %'}" for value, accuracy in found)
        lines.append(f"{setting} selected on validation items: {words}")
    trusted = report.get("trusted")
    if trusted is not None:
        lines.append(f"the inference trusts its assumption by {trusted:.2f}")
    if report.get("interrupted"):
        lines.append("interrupted: the best weights so far are kept")
    return lines


_OTHERS: dict[str, Any] = {"spec": None, "recipe": "default", "random_state": None, "n_jobs": None, "progress": False}
_ABOUT = {
    "spec": "A model as TOML, a file or its text, in the place of model; other keywords are put over it",
    "recipe": "Source of defaults: default (the best known), thesis, thesis-ch5 or thesis-ch6",
    "random_state": "Seed of all random numbers, or a generator of NumPy's that gives one; None is 0",
    "n_jobs": "Number of threads; None and -1 are all cores. It changes no result",
    "progress": "True for a bar, or a function of the epochs done, all of them, the loss and the validation accuracy",
    "validation_fraction": "Share of the graphs that chooses the epoch, where no validation graphs are named",
}
#: The types of parameters that are not settings of a model.
TYPES = {
    "spec": "str | os.PathLike[str] | None",
    "recipe": literal(LISTS["recipes"])[0],
    "random_state": "int | np.integer[Any] | np.random.Generator | np.random.RandomState | None",
    "n_jobs": "int | None",
    "progress": "bool | Progress",
    "validation_fraction": "float",
}


def _signature(others: dict[str, Any]) -> inspect.Signature:
    only, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", either)]
    parameters.append(inspect.Parameter("model", either, default=None, annotation=type_of("model")[1]))
    parameters += [inspect.Parameter(name, only, default=None, annotation=type_of(name)[1]) for name in FLAGS]
    parameters += [inspect.Parameter(name, only, default=default, annotation=TYPES[name]) for name, default in others.items()]
    return inspect.Signature(parameters)


class _Estimator:
    """What both estimators share. Parameters are those of the command line, with underscores."""

    _task = ""
    _others: dict[str, Any] = {}
    _estimator_type = "classifier"

    # -- parameters

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(["model", *FLAGS, *cls._others])

    def _set_all(self, model: Any, given: dict[str, Any]) -> None:
        self.model = model
        for name in FLAGS:
            setattr(self, name, given.pop(name, None))
        for name, default in type(self)._others.items():
            setattr(self, name, given.pop(name, default))
        for name in given:
            new = renamed_of_model(name)
            what = f"{name} is now {new}" if new else f"unknown keyword '{name}'; see help({type(self).__name__})"
            raise TypeError(f"{type(self).__name__}: {what}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; settings of choices as ``axis__setting``."""
        found = {name: getattr(self, name) for name in self._get_param_names()}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Choice):
                    found.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Any:
        """Changes parameters."""
        known = self._get_param_names()
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in known:
                raise ValueError(f"Invalid parameter {own!r} for estimator {type(self).__name__}. Valid parameters are: {known}.")
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def _words(self) -> dict[str, Any]:
        spec = self.spec  # type: ignore[attr-defined]
        if spec is not None:
            spec = os.fspath(spec)
            if "\n" not in spec and "=" not in spec:
                with open(spec, encoding="utf-8") as file:
                    spec = file.read()
        model, options = self.model, []
        if isinstance(model, Choice):
            if model.axis != "model":
                raise ValueError(f"model: {model!r} is a choice of {model.axis}")
            model, options = model.kind, model._given()
        if model is not None and not isinstance(model, str):
            raise ValueError(f"model: {model!r} is neither the name of a network nor a choice such as gnarl.APPNP()")
        axes = {name: getattr(self, name) for name in FLAGS}
        recipe = self.recipe  # type: ignore[attr-defined]
        if not isinstance(recipe, str):
            raise ValueError(f"recipe: {recipe!r} is not the name of one")
        return {"backbone": model, "spec": spec, "options": options + options_of(axes), "recipe": recipe}

    def spec_(self, dataset: str = "") -> str:
        """The model that these parameters mean, everything filled in, as TOML: what ``--spec`` and ``spec=`` read."""
        return _gnarl.spec(self._words(), dataset, self._task)

    # -- fitting

    def _fit(self, data: Any, split: Any, classes: NDArray[Any] | None) -> Any:
        progress, bar = self.progress, None  # type: ignore[attr-defined]
        if progress is True:
            progress = bar = _Bar(type(self).__name__)
        elif progress is False or progress is None:
            progress = None
        elif not callable(progress):
            raise ValueError(f"progress: {progress!r} is neither True, False nor a function")
        seed = seed_of(self.random_state)  # type: ignore[attr-defined]
        threads = threads_of(self.n_jobs)  # type: ignore[attr-defined]
        log = _log()
        log.info("fitting %s to %r, seed %d", self.model or "a model", data, seed)
        try:
            fitted = _gnarl.fit(data, self._words(), split, seed, threads, progress)
        finally:
            if bar is not None:
                bar.close()
        self._take(fitted, classes)
        for line in _told(self.report_):
            log.info("%s", line)
        return self

    def _take(self, fitted: _gnarl.Fitted, classes: NDArray[Any] | None = None) -> None:
        self.fitted_ = fitted
        names = fitted.classes
        self.classes_ = classes if classes is not None and class_names(classes) == names else named_classes(names)
        self.n_features_in_ = fitted.in_dim
        report = json.loads(fitted.report)
        self.report_ = report
        self.operator_ = dict(report.get("operator", {}))
        of = [(i, epoch) for i, training in enumerate(report["trained"]) for epoch in training["curve"]]
        number = lambda value: np.nan if value is None else value  # noqa: E731
        self.history_ = {
            "loss": np.array([number(epoch["loss"]) for _, epoch in of], dtype=np.float64),
            "val_loss": np.array([number(epoch.get("val_loss")) for _, epoch in of], dtype=np.float64),
            "val_accuracy": np.array([number(epoch.get("val_accuracy")) for _, epoch in of], dtype=np.float64),
            "training": np.array([i for i, _ in of], dtype=np.int64),
        }
        self.n_iter_ = len(of)
        self.exits_: NDArray[np.int64] | None = None

    def _fitted(self) -> _gnarl.Fitted:
        fitted = self.__dict__.get("fitted_")
        if fitted is None:
            raise _not_fitted(self)
        assert isinstance(fitted, _gnarl.Fitted)
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            classifier_tags=ClassifierTags(),
            regressor_tags=None,
            input_tags=InputTags(two_d_array=False),
            non_deterministic=False,
            no_validation=True,
        )

    # -- files

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the fitted model as one safetensors file, the same that ``gnarl train --save`` writes and ``gnarl predict`` reads."""
        self._fitted().save(os.fspath(file))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Any:
        """Reads what ``save`` or ``gnarl train --save`` wrote."""
        fitted = _gnarl.Fitted.load(os.fspath(file))
        if fitted.task != cls._task:
            other = "NodeClassifier" if fitted.task == "node" else "GraphClassifier"
            raise ValueError(f"{os.fspath(file)}: is a model of {fitted.task}s; load it as a {other}")
        new = cls(spec=fitted.spec)  # type: ignore[call-arg]
        new._take(fitted)
        return new

    # -- looks

    def __repr__(self) -> str:
        usual = {**{name: None for name in FLAGS}, "model": None, **self._others}
        made = ((name, getattr(self, name)) for name in ["model", *FLAGS, *self._others])
        words = ", ".join(f"{name}={value!r}" for name, value in made if value is not usual[name] and value != usual[name])
        return f"{type(self).__name__}({words})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [(k, v) for k, v in self.get_params(deep=False).items() if v is not None and v is not False]
        if "fitted_" in self.__dict__:
            rows += [("parameters", self.fitted_.num_parameters), ("classes", len(self.classes_)), ("fitted to", self.fitted_.dataset)]
        return html_table(type(self).__name__, rows)

    # -- answers

    def _answers(self, data: Any, plainly: bool = False) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64] | None]:
        return self._fitted().predict(data, plainly, threads_of(self.n_jobs))  # type: ignore[attr-defined]


class NodeClassifier(_Estimator):
    _task = "node"
    _others = dict(_OTHERS)

    def __init__(self, model: Any = None, **keywords: Any) -> None:
        self._set_all(model, keywords)

    def fit(self, graph: Any, y: Any = None, *, train_mask: Any = None, val_mask: Any = None, test_mask: Any = None) -> NodeClassifier:
        """Fits the model to the training nodes of a graph.

        ``graph`` is anything that :class:`gnarl.Graph` reads. Validation nodes choose among epochs, scalings and policies; test nodes are
        kept for :meth:`score`. Without masks, the graph's own splits are taken, or what the command line would take for the dataset.
        """
        graph = to_graph(graph)
        classes = None
        if y is not None:
            codes, classes = to_codes(y)
            if len(codes) != graph.num_nodes:
                raise ValueError(f"y: {len(codes)} classes for {graph.num_nodes} nodes")
            graph = graph._replace(y=(codes, class_names(classes)))
        if graph.y is None:
            raise ValueError("y: the graph has no classes to learn from; requires y to be passed")
        split = given_split(train_mask, val_mask, test_mask, graph.num_nodes)
        self._fit(graph, split, classes)
        if self.fitted_.num_exits > 1:
            on = self.fitted_.recognised(graph)
            self.exits_ = self._answers(graph if on is None else on)[2]
        return self

    def predict(self, graph: Any) -> NDArray[Any]:
        """The class of every node."""
        self._fitted()
        return np.asarray(self.classes_[self._answers(to_graph(graph))[0]])

    def predict_proba(self, graph: Any) -> NDArray[np.float32]:
        """A distribution over ``classes_`` for every node."""
        self._fitted()
        return self._answers(to_graph(graph))[1]

    def predict_exits(self, graph: Any) -> NDArray[np.int64] | None:
        """Of a model with exits: the one that every node takes."""
        self._fitted()
        return self._answers(to_graph(graph))[2]

    def score(self, graph: Any, y: Any = None, *, mask: Any = None) -> float:
        """The share of nodes that it is right about: of the mask, else of the test nodes of the graph it was fitted to, else of all
        that have a class."""
        fitted, graph = self._fitted(), to_graph(graph)
        own = fitted.recognised(graph) if mask is None and y is None else None
        if own is not None and len(fitted.split[3]):
            graph, items = own, fitted.split[3]
        else:
            split = given_split(slice(None) if mask is None else mask, None, None, graph.num_nodes)
            assert split is not None
            items = split[1]
        return _share(self.classes_[self._answers(graph)[0]], graph.y, named_classes(graph.classes), y, items)

    def operator_matrix(self, graph: Any) -> Any:
        """What messages travel by on a graph, with the scalars that were learned, as ``scipy.sparse.csr_array``."""
        from gnarl._convert import csr_of

        return csr_of(self._fitted().operator(to_graph(graph)))


class GraphClassifier(_Estimator):
    _task = "graph"
    _others = {**_OTHERS, "validation_fraction": 0.1}

    def __init__(self, model: Any = None, **keywords: Any) -> None:
        self._set_all(model, keywords)

    def fit(self, graphs: Any, y: Any = None, *, train: Any = None, val: Any = None, test: Any = None) -> GraphClassifier:
        """Fits the model to graphs, each with a class.

        ``graphs`` is a list of anything that :class:`gnarl.Graph` reads, or a :class:`gnarl.GraphSet`. Without masks or indices, a set
        that was loaded takes its first fold as the command line does; of other graphs all are trained on but for
        ``validation_fraction``, which chooses the epoch.
        """
        given = to_graph_set(graphs, y)
        classes = None if y is None else to_codes(y)[1]
        if not given.classes:
            raise ValueError("y: the graphs have no classes to learn from; requires y to be passed")
        split = given_split(train, val, test, len(given))
        if split is None and not (given.registered or given.splits):
            split = self._held_back(given)
        self._fit(given, split, classes)
        if self.fitted_.num_exits > 1:
            self.exits_ = self._answers(given)[2]
        return self

    def _held_back(self, given: _gnarl.GraphSet) -> Any:
        share = self.validation_fraction  # type: ignore[attr-defined]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            raise ValueError(f"validation_fraction: {share!r} is not a share of at least 0 and below 1")
        codes = given.y
        order = np.flatnonzero(codes >= 0)
        np.random.default_rng(seed_of(self.random_state)).shuffle(order)  # type: ignore[attr-defined]
        # Class after class, so that every class gives its share.
        order = order[np.argsort(codes[order], kind="stable")]
        every = round(1 / share) if share else len(order) + 1
        held = np.zeros(len(order), dtype=bool)
        held[every - 1 :: max(every, 2)] = True
        return ("held back", np.sort(order[~held]), np.sort(order[held]), np.zeros(0, dtype=np.int64))

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The class of every graph."""
        self._fitted()
        return np.asarray(self.classes_[self._answers(_as_set(graphs))[0]])

    def predict_proba(self, graphs: Any) -> NDArray[np.float32]:
        """A distribution over ``classes_`` for every graph."""
        self._fitted()
        return self._answers(_as_set(graphs))[1]

    def score(self, graphs: Any, y: Any = None) -> float:
        """The share of graphs that it is right about: of the test graphs of the set it was fitted to, else of all that have a class."""
        fitted = self._fitted()
        given = to_graph_set(graphs) if y is None else _as_set(graphs)
        items: Any = np.arange(len(given))
        if y is None and fitted.recognises(given) and len(fitted.split[3]):
            items = fitted.split[3]
        return _share(self.classes_[self._answers(given)[0]], given.y, named_classes(given.classes), y, items)


def _as_set(graphs: Any) -> _gnarl.GraphSet:
    """A set whose classes do not matter."""
    if isinstance(graphs, _gnarl.GraphSet):
        return graphs
    return to_graph_set(graphs)


def _share(answers: NDArray[Any], codes: Any, classes: NDArray[Any], y: Any, items: NDArray[np.int64]) -> float:
    if y is not None:
        codes, classes = to_codes(y)
        if len(codes) != len(answers):
            raise ValueError(f"y: {len(codes)} classes for {len(answers)} items")
    elif codes is None:
        raise ValueError("score: there are no classes to compare with; hand over y")
    items = items[codes[items] >= 0]
    if not len(items):
        raise ValueError("score: none of these items has a class")
    truth = np.asarray(class_names(classes), dtype=object)[codes[items]]
    said = np.asarray(class_names(answers[items]), dtype=object)
    return float(np.mean(truth == said))


def _parameters(cls: type[_Estimator]) -> str:
    """The parameters of an estimator as numpydoc writes them."""
    found = [parameter("model", type_of("model")[0], None, help_of("model") + "; gcn where neither it nor spec names one")]
    found += [parameter(name, type_of(name)[0], None, help_of(name)) for name in FLAGS]
    found += [parameter(name, TYPES[name], default, _ABOUT[name]) for name, default in cls._others.items()]
    return "\n".join(found)


_ATTRIBUTES = """classes_ : ndarray
    Class labels.
history_ : dict of str to ndarray
    Loss, validation loss and validation accuracy of every epoch.
operator_ : dict of str to float
    Learned scalars of the operator.
exits_ : ndarray or None
    Exits taken, for a model with exits.
report_ : dict
    Report of the fit.
fitted_ : Fitted
    Fitted model."""


def _document(cls: type[_Estimator], what: str, example: str) -> None:
    parts = [
        what,
        "Parameters are the options of the command line; None leaves one open. A choice is a name or an object with its settings,\n"
        "as ``gnarl.RobustCRF(samples=3)``.",
        f"Parameters\n----------\n{_parameters(cls)}",
        f"Attributes\n----------\n{_ATTRIBUTES}",
        f"Examples\n--------\n{example}",
    ]
    cls.__doc__ = "\n\n".join(parts)
    signature = _signature(cls._others)
    cls.__init__.__signature__ = signature  # type: ignore[attr-defined]
    cls.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]


_document(
    NodeClassifier,
    "Classifies the nodes of a graph.",
    """>>> import gnarl
>>> karate = gnarl.load("karate")
>>> model = gnarl.NodeClassifier("gcn", epochs=50).fit(karate)
>>> model.predict(karate).shape, model.classes_.tolist()
((34,), [0, 1, 2, 3])
>>> model.score(karate) > 0.5
True""",
)
_document(
    GraphClassifier,
    "Classifies the graphs of a set.",
    """>>> import gnarl
>>> graphs = [gnarl.cycle(6 + i % 3) if i % 2 else gnarl.star(6 + i % 3) for i in range(20)]
>>> model = gnarl.GraphClassifier("gin", epochs=40).fit(graphs, [i % 2 for i in range(20)])
>>> model.score(graphs, [i % 2 for i in range(20)]) > 0.9
True""",
)
