"""Estimators with the interface of scikit-learn, which itself is not needed."""

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

    from gnarl._typing import GraphLike, GraphSetLike, MaskLike, RandomState
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array
    from typing_extensions import Self


class NotFittedError(ValueError, AttributeError):
    """Raised by an estimator that is used before it is fitted.

    If scikit-learn is loaded, its exception of the same name is raised instead.
    """


def _not_fitted(estimator: object) -> Exception:
    what = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError as Theirs

        return Theirs(what)
    return NotFittedError(what)


def seed_of(random_state: RandomState) -> int:
    """Returns the seed of a ``random_state`` of scikit-learn; None is 0, so that results are reproducible."""
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
    raise ValueError(f"random_state: {random_state!r} is neither an integer nor a generator of NumPy")


def threads_of(n_jobs: int | None) -> int | None:
    """Returns the number of threads, None for all cores. It changes no result."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise ValueError(f"n_jobs: {n_jobs!r} is not a number of threads, nor -1 for all cores")
    return int(n_jobs)


class _Bar:
    """Progress bar of tqdm if it is installed, else lines on standard error."""

    def __init__(self, what: str) -> None:
        self.what, self.bar, self.done, self.printed = what, None, 0, -1
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
        elif 10 * done // max(total, 1) > self.printed:
            self.printed = 10 * done // max(total, 1)
            print(f"{self.what}: epoch {done} of {total}", file=sys.stderr)
        self.done = done

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _log() -> logging.Logger:
    """Returns the logger of fits; silent unless a handler is added."""
    import logging

    return logging.getLogger("gnarl")


def _summary(report: dict[str, Any]) -> list[str]:
    """Returns lines on the result of a fit and on the settings it selected."""
    epochs = sum(len(training["curve"]) for training in report["trained"])
    accuracy = report.get("val_accuracy")
    known = "" if accuracy is None else f", validation accuracy {accuracy:.1f} %"
    lines = [f"fitted in {report['seconds']:.2f} s: {epochs} epochs{known}"]
    trials = report.get("trials", [])
    for setting in dict.fromkeys(trial["setting"] for trial in trials):
        of = [trial for trial in trials if trial["setting"] == setting]
        found = [(trial["value"], trial.get("val_accuracy")) for trial in of]
        words = ", ".join(f"{value} {'diverged' if accuracy is None else f'{accuracy:.1f} %'}" for value, accuracy in found)
        lines.append(f"{setting} selected on validation data: {words}")
    limit = report.get("tested_limit")
    if limit is not None:
        lines.append(f"the assumption of the inference rule held up to a perturbation of {limit:.2f}")
    if report.get("interrupted"):
        lines.append("interrupted: the best weights so far are kept")
    return lines


_OTHERS: dict[str, Any] = {"spec": None, "recipe": "default", "random_state": None, "n_jobs": None, "progress": False}
_ABOUT = {
    "spec": "Model as TOML, a file or its text, in place of model; other keywords override it",
    "recipe": "Source of defaults: default (the best known), thesis, thesis-ch5 or thesis-ch6",
    "random_state": "Seed of all random numbers, or a generator of NumPy that gives one; None is 0",
    "n_jobs": "Number of threads; None and -1 are all cores. It changes no result",
    "progress": "True for a progress bar, or a function of the number of epochs done, their total, the loss and the validation accuracy",
    "validation_fraction": "Share of the training graphs held out for validation if no validation graphs are given",
}
#: The types of parameters that are not settings of a model.
TYPES = {
    "spec": "str | os.PathLike[str] | None",
    "recipe": literal(LISTS["recipes"])[0],
    "random_state": "RandomState",
    "n_jobs": "int | None",
    "progress": "bool | Progress",
    "validation_fraction": "float",
}

#: Types in the documentation, where they differ from those of the signature.
_TYPES_IN_WORDS = {"spec": "path-like or str", "random_state": "int or generator", "progress": "bool or callable"}


def _signature(others: dict[str, Any]) -> inspect.Signature:
    only, either = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", either)]
    parameters.append(inspect.Parameter("model", either, default=None, annotation=type_of("model")[1]))
    parameters += [inspect.Parameter(name, only, default=None, annotation=type_of(name)[1]) for name in FLAGS]
    parameters += [inspect.Parameter(name, only, default=default, annotation=TYPES[name]) for name, default in others.items()]
    return inspect.Signature(parameters)


class _Estimator:
    """Base class of the estimators. Parameters are the options of the command line, with underscores."""

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
        """Returns the parameters by name; settings of choices are named ``axis__setting``.

        Parameters
        ----------
        deep : bool, default=True
            True to include the settings of choices.

        Returns
        -------
        dict
            Value of each parameter.
        """
        found = {name: getattr(self, name) for name in self._get_param_names()}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Choice):
                    found.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Changes parameters.

        Parameters
        ----------
        **params
            New values by name; settings of choices are named ``axis__setting``.

        Returns
        -------
        estimator
            This object.

        Raises
        ------
        ValueError
            For an unknown parameter.
        """
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

    def _description(self) -> dict[str, Any]:
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
            model, options = model.kind, model._options()
        if model is not None and not isinstance(model, str):
            raise ValueError(f"model: {model!r} is neither the name of a network nor a choice such as gnarl.APPNP()")
        axes = {name: getattr(self, name) for name in FLAGS}
        recipe = self.recipe  # type: ignore[attr-defined]
        if not isinstance(recipe, str):
            raise ValueError(f"recipe: {recipe!r} is not the name of one")
        return {"backbone": model, "spec": spec, "options": options + options_of(axes), "recipe": recipe}

    def spec_(self, dataset: str = "") -> str:
        """Returns the model of these parameters with all defaults filled in, as TOML for ``spec=`` and ``--spec``.

        Parameters
        ----------
        dataset : str, default=""
            Name of a dataset, for recipes with settings for each dataset.

        Returns
        -------
        str
            Model as TOML.

        Raises
        ------
        ValueError
            For parameters that do not fit together.
        """
        return _gnarl.spec(self._description(), dataset, self._task)

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
            fitted = _gnarl.fit(data, self._description(), split, seed, threads, progress)
        finally:
            if bar is not None:
                bar.close()
        self._take(fitted, classes)
        for line in _summary(self.report_):
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
        """Writes the fitted model to a safetensors file, equal to that of ``gnarl train --save``.

        Parameters
        ----------
        file : path-like
            File to write.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        OSError
            If the file cannot be written.
        """
        self._fitted().save(os.fspath(file))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Reads a fitted model from a file of ``save`` or ``gnarl train --save``.

        Parameters
        ----------
        file : path-like
            File to read.

        Returns
        -------
        estimator
            Fitted estimator.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file holds no model, or a model of the other task.
        """
        fitted = _gnarl.Fitted.load(os.fspath(file))
        if fitted.task != cls._task:
            other = "NodeClassifier" if fitted.task == "node" else "GraphClassifier"
            raise ValueError(f"{os.fspath(file)}: is a model of {fitted.task}s; load it as a {other}")
        new = cls(spec=fitted.spec)  # type: ignore[call-arg]
        new._take(fitted)
        return new

    # -- representation

    def __repr__(self) -> str:
        defaults = {**{name: None for name in FLAGS}, "model": None, **self._others}
        values = ((name, getattr(self, name)) for name in ["model", *FLAGS, *self._others])
        changed = (f"{name}={value!r}" for name, value in values if value is not defaults[name] and value != defaults[name])
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [(k, v) for k, v in self.get_params(deep=False).items() if v is not None and v is not False]
        if "fitted_" in self.__dict__:
            rows += [("parameters", self.fitted_.num_parameters), ("classes", len(self.classes_)), ("fitted to", self.fitted_.dataset)]
        return html_table(type(self).__name__, rows)

    # -- predictions

    def _predictions(self, data: _gnarl.Graph | _gnarl.GraphSet) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64] | None]:
        return self._fitted().predict(data, n_jobs=threads_of(self.n_jobs))  # type: ignore[attr-defined]


class NodeClassifier(_Estimator):
    _task = "node"
    _others = dict(_OTHERS)

    def __init__(self, model: Any = None, **keywords: Any) -> None:
        self._set_all(model, keywords)

    def fit(
        self,
        graph: GraphLike,
        y: ArrayLike | None = None,
        *,
        train_mask: MaskLike | None = None,
        val_mask: MaskLike | None = None,
        test_mask: MaskLike | None = None,
    ) -> Self:
        """Fits the model to the training nodes of a graph.

        Without masks, the split is that of the graph, or the first of the dataset's protocol as on the command line.

        Parameters
        ----------
        graph : Graph
            Graph, or anything that :class:`gnarl.Graph` reads.
        y : array-like of shape (n_nodes,), default=None
            Classes of the nodes; None for those of the graph.
        train_mask : array-like, default=None
            Training nodes, as a boolean mask, indices or a slice.
        val_mask : array-like, default=None
            Validation nodes, which select epochs, feature scalings and policies.
        test_mask : array-like, default=None
            Test nodes, on which :meth:`score` computes the accuracy.

        Returns
        -------
        NodeClassifier
            This estimator, fitted.

        Raises
        ------
        ValueError
            For data or parameters that do not fit together.
        ArithmeticError
            If training diverges.
        """
        graph = to_graph(graph)
        classes = None
        if y is not None:
            codes, classes = to_codes(y)
            if len(codes) != graph.num_nodes:
                raise ValueError(f"y: {len(codes)} classes for {graph.num_nodes} nodes")
            graph = graph._replace(y=(codes, class_names(classes)))
        if graph.y is None:
            raise ValueError("y: the graph has no classes; requires y to be passed")
        split = given_split(train_mask, val_mask, test_mask, graph.num_nodes)
        self._fit(graph, split, classes)
        if self.fitted_.num_exits > 1:
            on = self.fitted_.recognised(graph)
            self.exits_ = self._predictions(graph if on is None else on)[2]
        return self

    def predict(self, graph: GraphLike) -> NDArray[Any]:
        """Predicts the class of every node.

        Parameters
        ----------
        graph : Graph
            Graph with the features that the model was fitted to, or anything that :class:`gnarl.Graph` reads.

        Returns
        -------
        ndarray of shape (n_nodes,)
            Predicted classes.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            For a graph with another number of features.
        """
        self._fitted()
        return np.asarray(self.classes_[self._predictions(to_graph(graph))[0]])

    def predict_proba(self, graph: GraphLike) -> NDArray[np.float32]:
        """Predicts the distribution over ``classes_`` for every node.

        Parameters
        ----------
        graph : Graph
            Graph, as for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_nodes, n_classes)
            Probability of each class.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        self._fitted()
        return self._predictions(to_graph(graph))[1]

    def predict_exits(self, graph: GraphLike) -> NDArray[np.int64] | None:
        """Returns the exit that every node uses in a model with exits.

        Parameters
        ----------
        graph : Graph
            Graph, as for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_nodes,) or None
            Exit of each node; None for a model without exits.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        self._fitted()
        return self._predictions(to_graph(graph))[2]

    def score(self, graph: GraphLike, y: ArrayLike | None = None, *, mask: MaskLike | None = None) -> float:
        """Computes the accuracy.

        Parameters
        ----------
        graph : Graph
            Graph, as for :meth:`predict`.
        y : array-like of shape (n_nodes,), default=None
            Classes of the nodes; None for those of the graph.
        mask : array-like, default=None
            Nodes to evaluate. None: the test nodes of the graph that the model was fitted to, all labelled nodes of another graph.

        Returns
        -------
        float
            Share of correct predictions, 0 to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If none of the nodes has a class.
        """
        fitted, graph = self._fitted(), to_graph(graph)
        own = fitted.recognised(graph) if mask is None and y is None else None
        if own is not None and len(fitted.split[3]):
            graph, items = own, fitted.split[3]
        else:
            split = given_split(slice(None) if mask is None else mask, None, None, graph.num_nodes)
            assert split is not None
            items = split[1]
        return _accuracy(self.classes_[self._predictions(graph)[0]], graph.y, named_classes(graph.classes), y, items)

    def operator_matrix(self, graph: GraphLike) -> csr_array:
        """Returns the message-passing operator on a graph, with its learned scalars.

        Parameters
        ----------
        graph : Graph
            Graph, as for :meth:`predict`.

        Returns
        -------
        scipy.sparse.csr_array
            Operator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            For a model with exits, which has an operator for each.
        """
        from gnarl._convert import csr_of

        return csr_of(self._fitted().operator(to_graph(graph)))


class GraphClassifier(_Estimator):
    _task = "graph"
    _others = {**_OTHERS, "validation_fraction": 0.1}

    def __init__(self, model: Any = None, **keywords: Any) -> None:
        self._set_all(model, keywords)

    def fit(
        self,
        graphs: GraphSetLike,
        y: ArrayLike | None = None,
        *,
        train: MaskLike | None = None,
        val: MaskLike | None = None,
        test: MaskLike | None = None,
    ) -> Self:
        """Fits the model to graphs with one class each.

        Without masks, a loaded dataset uses its first fold as on the command line. Other graphs are all used for training except for
        ``validation_fraction``, which selects the epoch.

        Parameters
        ----------
        graphs : GraphSet or list of Graph
            Graphs, or anything that :class:`gnarl.Graph` reads.
        y : array-like of shape (n_graphs,), default=None
            Classes of the graphs; None for those of the set.
        train : array-like, default=None
            Training graphs, as a boolean mask, indices or a slice.
        val : array-like, default=None
            Validation graphs, which select epochs, feature scalings and policies.
        test : array-like, default=None
            Test graphs, on which :meth:`score` computes the accuracy.

        Returns
        -------
        GraphClassifier
            This estimator, fitted.

        Raises
        ------
        ValueError
            For data or parameters that do not fit together.
        ArithmeticError
            If training diverges.
        """
        given = to_graph_set(graphs, y)
        classes = None if y is None else to_codes(y)[1]
        if not given.classes:
            raise ValueError("y: the graphs have no classes; requires y to be passed")
        split = given_split(train, val, test, len(given))
        if split is None and not (given.registered or given.splits):
            split = self._held_out(given)
        self._fit(given, split, classes)
        if self.fitted_.num_exits > 1:
            self.exits_ = self._predictions(given)[2]
        return self

    def _held_out(self, given: _gnarl.GraphSet) -> Any:
        share = self.validation_fraction  # type: ignore[attr-defined]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
            raise ValueError(f"validation_fraction: {share!r} is not a share of at least 0 and below 1")
        codes = given.y
        order = np.flatnonzero(codes >= 0)
        np.random.default_rng(seed_of(self.random_state)).shuffle(order)  # type: ignore[attr-defined]
        # Sorted by class, so that every class has its share.
        order = order[np.argsort(codes[order], kind="stable")]
        every = round(1 / share) if share else len(order) + 1
        held = np.zeros(len(order), dtype=bool)
        held[every - 1 :: max(every, 2)] = True
        return ("held back", np.sort(order[~held]), np.sort(order[held]), np.zeros(0, dtype=np.int64))

    def predict(self, graphs: GraphSetLike) -> NDArray[Any]:
        """Predicts the class of every graph.

        Parameters
        ----------
        graphs : GraphSet or list of Graph
            Graphs with the features that the model was fitted to, or anything that :class:`gnarl.Graph` reads.

        Returns
        -------
        ndarray of shape (n_graphs,)
            Predicted classes.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            For graphs with another number of features.
        """
        self._fitted()
        return np.asarray(self.classes_[self._predictions(_as_set(graphs))[0]])

    def predict_proba(self, graphs: GraphSetLike) -> NDArray[np.float32]:
        """Predicts the distribution over ``classes_`` for every graph.

        Parameters
        ----------
        graphs : GraphSet or list of Graph
            Graphs, as for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_graphs, n_classes)
            Probability of each class.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        self._fitted()
        return self._predictions(_as_set(graphs))[1]

    def score(self, graphs: GraphSetLike, y: ArrayLike | None = None) -> float:
        """Computes the accuracy on the test graphs of the set that the model was fitted to, or on all labelled graphs of another set.

        Parameters
        ----------
        graphs : GraphSet or list of Graph
            Graphs, as for :meth:`predict`.
        y : array-like of shape (n_graphs,), default=None
            Classes of the graphs; None for those of the set.

        Returns
        -------
        float
            Share of correct predictions, 0 to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If none of the graphs has a class.
        """
        fitted = self._fitted()
        given = to_graph_set(graphs) if y is None else _as_set(graphs)
        items: Any = np.arange(len(given))
        if y is None and fitted.recognises(given) and len(fitted.split[3]):
            items = fitted.split[3]
        return _accuracy(self.classes_[self._predictions(given)[0]], given.y, named_classes(given.classes), y, items)


def _as_set(graphs: Any) -> _gnarl.GraphSet:
    """Returns a set of graphs whose classes are not used."""
    if isinstance(graphs, _gnarl.GraphSet):
        return graphs
    return to_graph_set(graphs)


def _accuracy(predictions: NDArray[Any], codes: Any, classes: NDArray[Any], y: Any, items: NDArray[np.int64]) -> float:
    """Returns the share of correct predictions for these nodes or graphs."""
    if y is not None:
        codes, classes = to_codes(y)
        if len(codes) != len(predictions):
            raise ValueError(f"y: {len(codes)} classes for {len(predictions)} predictions")
    elif codes is None:
        raise ValueError("score: there are no classes to compare with; pass y")
    items = items[codes[items] >= 0]
    if not len(items):
        raise ValueError("score: none of these nodes or graphs has a class")
    truth = np.asarray(class_names(classes), dtype=object)[codes[items]]
    predicted = np.asarray(class_names(predictions[items]), dtype=object)
    return float(np.mean(truth == predicted))


def _parameters(cls: type[_Estimator]) -> str:
    """Returns the numpydoc entries of an estimator's parameters."""
    found = [parameter("model", type_of("model")[0], None, help_of("model") + "; gcn if neither model nor spec is given")]
    found += [parameter(name, type_of(name)[0], None, help_of(name)) for name in FLAGS]
    found += [parameter(name, _TYPES_IN_WORDS.get(name, TYPES[name]), default, _ABOUT[name]) for name, default in cls._others.items()]
    return "\n".join(found)


_ATTRIBUTES = """classes_ : ndarray
    Class labels.
history_ : dict of str to ndarray
    Loss, validation loss and validation accuracy of every epoch.
operator_ : dict of str to float
    Learned scalars of the message-passing operator.
exits_ : ndarray or None
    Exit of every node or graph of the training data, for a model with exits.
n_features_in_ : int
    Number of features of a node.
n_iter_ : int
    Number of training epochs, over all trainings of the fit.
report_ : dict
    Report of the fit.
fitted_ : Fitted
    Fitted model."""


def _document(cls: type[_Estimator], what: str, example: str) -> None:
    parts = [
        what,
        "Parameters are the options of the command line; None means the default of the recipe. A choice is a name or an object with\n"
        "its settings, such as ``gnarl.RobustCRF(samples=3)``.",
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
    "Graph neural network that classifies the nodes of a graph.",
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
    "Graph neural network that classifies graphs.",
    """>>> import gnarl
>>> graphs = [gnarl.cycle(6 + i % 3) if i % 2 else gnarl.star(6 + i % 3) for i in range(20)]
>>> model = gnarl.GraphClassifier("gin", epochs=40).fit(graphs, [i % 2 for i in range(20)])
>>> model.score(graphs, [i % 2 for i in range(20)]) > 0.9
True""",
)
