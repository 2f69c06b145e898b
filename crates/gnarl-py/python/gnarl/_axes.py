"""Choices on the five axes as objects, made from the library's own lists: names, settings and help are those of the command line."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gnarl import _gnarl
from gnarl._numpy import np

if TYPE_CHECKING:
    from gnarl._gnarl import Graph
    from gnarl._models import Defended

#: Everything a model can be told.
LISTS: dict[str, Any] = json.loads(_gnarl.model_sections())

#: Words that the names of classes write in their own way.
_SPELLING = {"crf": "CRF", "dropedge": "DropEdge", "dropnode": "DropNode", "cgso": "CGSO", "admp": "ADMP", "st": "ST", "alm": "ALM"}


def keyword(flag: str) -> str:
    """An option of the command line as a keyword."""
    return flag.replace("-", "_")


def text_of(value: Any, what: str) -> str:
    """A value as the command line would have it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    raise ValueError(f"{what}: {value!r} is neither a number nor text")


def rename(name: str) -> str:
    """The class for a choice: ``robust-crf`` is RobustCRF."""
    return "".join(_SPELLING.get(word, word.capitalize()) for word in name.split("-"))


class Choice:
    """A choice on an axis with its settings: hand it to an estimator in the place of its name.

    >>> import gnarl
    >>> gnarl.CGSO(centrality="core")
    CGSO(centrality='core')
    >>> gnarl.NodeClassifier(operator=gnarl.CGSO(centrality="core")).get_params()["operator__centrality"]
    'core'
    """

    axis: str = ""
    kind: str = ""
    _settings: Mapping[str, str] = {}

    def __init__(self, **settings: Any) -> None:
        stray = next((name for name in settings if name not in self._settings), None)
        if stray is not None:
            known = ", ".join(self._settings) or "none"
            raise TypeError(f"{type(self).__name__}: unknown setting '{stray}'; its settings are: {known}")
        for name in self._settings:
            setattr(self, name, settings.get(name))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; None where the usual one applies."""
        return {name: getattr(self, name) for name in self._settings}

    def set_params(self, **params: Any) -> Choice:
        """Changes settings."""
        for name, value in params.items():
            if name not in self._settings:
                raise ValueError(f"{type(self).__name__}: unknown setting '{name}'")
            setattr(self, name, value)
        return self

    def _given(self) -> list[tuple[str, str]]:
        """The settings that were made, by the flags of the command line."""
        made = ((flag, getattr(self, name), name) for name, flag in self._settings.items())
        return [(flag, text_of(value, name)) for flag, value, name in made if value is not None]

    def _stored(self) -> list[tuple[str, str]]:
        """The settings that were made, by the names they are stored under."""
        names = {setting["flag"]: setting["name"] for section in LISTS["sections"] for setting in section["settings"]}
        return [(names[flag], text) for flag, text in self._given()]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Choice) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((type(self), *(str(value) for value in self.get_params().values())))

    def __repr__(self) -> str:
        made = (f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({', '.join(made)})"


class InferenceChoice(Choice):
    """How answers are read off a model. Called with a model, ours or any function from a Graph to scores, it defends it."""

    def __call__(
        self,
        model: Any,
        graph: Graph | Any = None,
        *,
        train_mask: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Defended:
        """The model with its answers read off like this.

        ``graph`` is what the model was trained on, a graph or a list of graphs: clean-crf learns from it what clean inputs look like.
        """
        from gnarl._models import Defended

        return Defended(model, self, graph, train_mask=train_mask, random_state=random_state, n_jobs=n_jobs)


class DefenseChoice(Choice):
    """What is done to a graph before a model sees it. Called with a graph, it gives the graph after it."""

    def __call__(self, graph: Any) -> Graph:
        """The graph after the defence."""
        from gnarl._convert import to_graph

        return _gnarl.purified(to_graph(graph), self.kind, self._stored())


def _make() -> dict[str, type[Choice]]:
    bases = {"inference": InferenceChoice, "defense": DefenseChoice}
    made: dict[str, type[Choice]] = {}
    for section in LISTS["sections"]:
        axis = section["axis"]
        if axis is None:
            continue
        names = [("cgso", "an operator learned from node centralities")] if axis == "operator" else section["names"]
        for name, about in names:
            taken = [s for s in section["settings"] if axis == "operator" or any(name in who for who, _ in s["takers"])]
            settings = {keyword(s["name"]): s["flag"] for s in taken}
            what = {s["flag"]: next((about for who, about in s["takers"] if name in who), s["about"]) for s in taken}
            lines = [f"    {k}: {what[flag]}" for k, flag in settings.items()]
            doc = f"``{axis}={name!r}``: {about}." + ("\n\n    Settings:\n\n" + "\n".join(lines) if lines else "")
            parameters = [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=None) for k in settings]
            space: dict[str, Any] = {"axis": axis, "kind": name, "_settings": settings, "__doc__": doc, "__module__": "gnarl"}
            called = rename(name)
            if called in made or called in ("None", "Fixed", "Free", "Plain"):
                continue
            cls = type(called, (bases.get(axis, Choice),), space)
            cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
            made[called] = cls
    return made


CHOICES = _make()


def options_of(axes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was said about a model by flags: names, numbers and choices."""
    given: list[tuple[str, str]] = []
    for name, value in axes.items():
        if value is None:
            continue
        flag = FLAGS[name]
        if isinstance(value, Choice):
            if value.axis != flag:
                raise ValueError(f"{flag}: {value!r} is a choice of {value.axis}")
            given.append((flag, value.kind))
            given.extend(value._given())
        else:
            given.append((flag, text_of(value, name)))
    return given


#: Every keyword of a model and its flag.
FLAGS: dict[str, str] = {"features": "features"}
for _section in LISTS["sections"]:
    if _section["axis"] is not None:
        FLAGS[keyword(_section["axis"])] = _section["axis"]
for _section in LISTS["sections"]:
    FLAGS.update({keyword(setting["flag"]): setting["flag"] for setting in _section["settings"]})


def help_of(name: str) -> str:
    """A line on a keyword."""
    if name == "features":
        return "what is done to features: " + ", ".join(LISTS["features"])
    for section in LISTS["sections"]:
        if section["axis"] == FLAGS[name]:
            return ", ".join(f"{n} ({about})" if about else n for n, about in section["names"])
        for setting in section["settings"]:
            if setting["flag"] == FLAGS[name]:
                if not setting["takers"]:
                    return str(setting["about"])
                return "; ".join(f"of {', '.join(who)}: {about}" for who, about in setting["takers"])
    return ""


Progress = Callable[[int, int, "float | None", "float | None"], object]
