"""Choices of a model as objects. Their names, types, defaults and help are generated from the library's lists."""

from __future__ import annotations

import functools
import inspect
import json
import keyword as _python
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gnarl import _gnarl
from gnarl._numpy import np

if TYPE_CHECKING:
    from gnarl._gnarl import Graph
    from gnarl._models import Defended
    from gnarl._typing import GraphLike, GraphSetLike, MaskLike, ModelLike, RandomState

#: Every choice and setting of the library, as JSON.
LISTS: dict[str, Any] = json.loads(_gnarl.model_sections())

#: Spelling of words in the names of classes.
_SPELLING = {
    **{name: name.upper() for name in ("admp", "alm", "appnp", "cgso", "crf", "gat", "gcn", "gcnii", "gin", "gnn", "gpr", "h2gcn", "jk")},
    **{name: name.upper() for name in ("lstm", "mlp", "pna", "rgcn", "rung", "sage", "sgc", "st")},
    **{"adagcn": "AdaGCN", "airgnn": "AirGNN", "evennet": "EvenNet", "gatv2": "GATv2", "gnnguard": "GNNGuard"},
    **{"dropedge": "DropEdge", "dropnode": "DropNode"},
}


def keyword(flag: str) -> str:
    """Returns the keyword for an option of the command line; a reserved word of Python gets an underscore."""
    name = flag.replace("-", "_")
    return f"{name}_" if _python.iskeyword(name) else name


def text_of(value: Any, what: str) -> str:
    """Returns a value in the notation of the command line."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(np.shape(value)) == 1:
        return ",".join(text_of(entry, what) for entry in value)
    raise ValueError(f"{what}: {value!r} is neither a number nor text")


def rename(name: str) -> str:
    """Returns the name of the class for a choice: RobustCRF for ``robust-crf``."""
    return "".join(_SPELLING.get(word, word.capitalize()) for word in name.split("-"))


_TYPES: dict[str, type] = {"count": int, "real": float, "switch": bool}
#: Types of the placeholders in the form of a text.
_FORMS: dict[str, type] = {"N": int, "X": float}


@dataclass(frozen=True)
class Setting:
    """A declared setting."""

    #: The name in files.
    name: str
    #: The option of the command line, without the hyphens.
    flag: str
    #: Description.
    about: str
    #: Description with the allowed names, the range and the default.
    help: str
    #: count, real, switch, name or text.
    kind: str
    #: The form of a text, such as N|auto.
    form: str | None
    #: The values of a name.
    names: tuple[str, ...]
    #: The allowed values of a number, such as ``in [0, 1]``.
    range: str | None
    #: The default.
    default: Any
    #: True if None is allowed.
    optional: bool
    #: The meaning of None.
    open: str | None
    #: An earlier name.
    was: str | None

    @classmethod
    def read(cls, declared: Mapping[str, Any]) -> Setting:
        """Reads a setting from the library's lists."""
        known = {name: declared[name] for name in cls.__dataclass_fields__}
        return cls(**{**known, "names": tuple(declared["names"])})

    @property
    def keyword(self) -> str:
        """The keyword of the class."""
        return keyword(self.name)

    def types(self) -> list[tuple[str, Any]]:
        """Returns the types of its values, each as written in a stub and as an object."""
        if self.kind == "name":
            return [literal(self.names)]
        if self.form == "X,…":
            return [("float", float), ("Iterable[float]", Iterable[float]), ("str", str)]
        if self.kind == "text":
            words = (self.form or "").split("|")
            found = {_FORMS[word] for word in words if word in _FORMS}
            if isinstance(self.default, (int, float)):
                found.add(type(self.default))
            numbers = [(of.__name__, of) for of in (int, float) if of in found]
            texts = [word for word in words if word not in _FORMS]
            if not all(word.islower() for word in texts):
                return [*numbers, ("str", str)]
            return [*numbers, *([literal(texts)] if texts else [])]
        of = _TYPES[self.kind]
        return [(of.__name__, of)]


def literal(names: Iterable[str]) -> tuple[str, Any]:
    """Returns the type of a value that is one of some names."""
    names = tuple(names)
    return f"Literal[{', '.join(quoted(name) for name in names)}]", Literal[names]


def quoted(value: object) -> str:
    """Returns a value as a stub writes it, text in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def either(types: Iterable[tuple[str, Any]], optional: bool = False) -> tuple[str, Any]:
    """Returns the union of types, as written in a stub and as an object."""
    found = dict(types)
    if optional:
        found["None"] = None
    return " | ".join(found), functools.reduce(operator.or_, found.values())


class Choice:
    """A choice with its settings, which an estimator takes in place of the name of the choice.

    Parameters
    ----------
    **settings
        Settings of the choice by name. The subclasses list them with their defaults.

    Raises
    ------
    TypeError
        For an unknown setting. A setting that was renamed is named with its new name.

    Examples
    --------
    >>> import gnarl
    >>> gnarl.CGSO(centrality="core")
    CGSO(centrality='core')
    >>> gnarl.NodeClassifier(operator=gnarl.CGSO(centrality="core")).get_params()["operator__centrality"]
    'core'
    """

    axis: str = ""
    kind: str = ""
    _settings: Mapping[str, Setting] = {}

    def __init__(self, **settings: Any) -> None:
        for name in settings:
            if name not in self._settings:
                raise TypeError(f"{type(self).__name__}: {_unknown(name, self._settings)}")
        for name, setting in self._settings.items():
            setattr(self, name, settings.get(name, setting.default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the settings by name.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        dict
            Value of each setting.
        """
        return {name: getattr(self, name) for name in self._settings}

    def set_params(self, **params: Any) -> Choice:
        """Changes settings.

        Parameters
        ----------
        **params
            New values by name.

        Returns
        -------
        Choice
            This object.

        Raises
        ------
        ValueError
            For an unknown setting.
        """
        for name, value in params.items():
            if name not in self._settings:
                raise ValueError(f"{type(self).__name__}: {_unknown(name, self._settings)}")
            setattr(self, name, value)
        return self

    def _changed(self) -> list[tuple[Setting, Any]]:
        """Returns the settings that differ from their defaults."""
        values = ((name, setting, getattr(self, name)) for name, setting in self._settings.items())
        return [(setting, value) for _, setting, value in values if value is not None and not _same(value, setting.default)]

    def _options(self) -> list[tuple[str, str]]:
        """Returns the settings that differ from their defaults, by the options of the command line."""
        return [(setting.flag, text_of(value, setting.keyword)) for setting, value in self._changed()]

    def _stored(self) -> list[tuple[str, str]]:
        """Returns the settings that differ from their defaults, by the names they are stored under."""
        return [(setting.name, text_of(value, setting.keyword)) for setting, value in self._changed()]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Choice) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((type(self), *(str(value) for value in self.get_params().values())))

    def __repr__(self) -> str:
        changed = (f"{setting.keyword}={value!r}" for setting, value in self._changed())
        return f"{type(self).__name__}({', '.join(changed)})"


def _same(value: Any, default: Any) -> bool:
    """Returns True if a value is the default; arrays and other objects never are."""
    return isinstance(value, (bool, int, float, str)) and bool(value == default)


def _unknown(name: str, settings: Mapping[str, Setting]) -> str:
    """Returns the error message for a setting that a choice does not have."""
    renamed = next((known for known, setting in settings.items() if setting.was and keyword(setting.was) == name), None)
    if renamed is not None:
        return f"{name} is now {renamed}"
    return f"unknown setting '{name}'; its settings are: {', '.join(settings) or 'none'}"


class ModelChoice(Choice):
    """Network with its settings."""


class OperatorChoice(Choice):
    """Message-passing operator with its settings."""


class DepthChoice(Choice):
    """Adaptive depth: exits after several layers, and the policy that chooses one for each node or graph."""


class WeightsChoice(Choice):
    """Constraint on the weights of the layers."""


class AugmentChoice(Choice):
    """Training-data augmentation with its settings."""


class InferenceChoice(Choice):
    """Inference rule with its settings. Calling it with a model returns the model with this rule."""

    def __call__(
        self,
        model: ModelLike,
        graph: GraphLike | GraphSetLike | None = None,
        *,
        train_mask: MaskLike | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> Defended:
        """Returns the model with predictions by this rule.

        Parameters
        ----------
        model : estimator or callable
            Fitted model, or a function from a graph to scores.
        graph : Graph or list of Graph, default=None
            Training data of the model, from which clean-crf and good-at estimate the distribution of clean inputs.
        train_mask : array-like, default=None
            Training nodes of the graph.
        random_state : int or generator, default=None
            Seed of all random numbers; None is 0.
        n_jobs : int, default=None
            Number of threads; None and -1 are all cores.

        Returns
        -------
        Defended
            Model with this inference rule.
        """
        from gnarl._models import Defended

        return Defended(model, self, graph, train_mask=train_mask, random_state=random_state, n_jobs=n_jobs)


class DefenseChoice(Choice):
    """Defence that preprocesses graphs. Calling it with a graph returns the preprocessed graph."""

    def __call__(self, graph: GraphLike) -> Graph:
        """Returns the graph after the defence.

        Parameters
        ----------
        graph : Graph
            Graph, or anything that :class:`gnarl.Graph` reads.

        Returns
        -------
        Graph
            Preprocessed graph.
        """
        from gnarl._convert import to_graph

        return _gnarl.preprocessed(to_graph(graph), self.kind, self._stored())


#: Base class of the choices of each axis.
BASES: dict[str, type[Choice]] = {
    "model": ModelChoice,
    "operator": OperatorChoice,
    "depth": DepthChoice,
    "weights": WeightsChoice,
    "inference": InferenceChoice,
    "augment": AugmentChoice,
    "defense": DefenseChoice,
}
#: Choices without settings that are the default of their axis: these have names only.
_PLAIN = ("None", "Fixed", "Free", "Plain")


def sentence(text: str) -> str:
    """Returns text that begins with a capital letter and ends in a full stop."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def parameter(name: str, types: str, default: Any, text: str) -> str:
    """Returns the numpydoc entry of a parameter."""
    words = re.sub(r"Literal\[(.*?)\]", r"{\1}", types).replace(" | ", " or ")
    return f"{name} : {words}, default={quoted(default)}\n    {text.removesuffix('.')}."


def _documented(setting: Setting) -> str:
    """Returns the numpydoc entry of a setting."""
    text = setting.about
    if setting.range is not None:
        text += f", {setting.range}"
    if setting.open is not None:
        text += f". None: {setting.open}"
    return parameter(setting.keyword, either(setting.types(), setting.optional)[0], setting.default, text)


def _class_of(axis: str, entry: Mapping[str, Any]) -> type[Choice]:
    """Returns the class for an entry of a list."""
    name = entry["name"]
    declared = [Setting.read(setting) for setting in entry["settings"]]
    settings = {setting.keyword: setting for setting in declared}
    parts = [sentence(entry["about"]), f"The choice ``{axis}={name!r}`` with its settings."]
    if settings:
        parts.append("Parameters\n----------\n" + "\n".join(map(_documented, declared)))
    space: dict[str, Any] = {
        "axis": axis,
        "kind": name,
        "_settings": settings,
        "__doc__": "\n\n".join(parts).replace("\n", "\n    ").replace("    \n", "\n"),
        "__module__": "gnarl",
    }
    cls = type(rename(name), (BASES.get(axis, Choice),), space)
    cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                setting.keyword,
                inspect.Parameter.KEYWORD_ONLY,
                default=setting.default,
                annotation=either(setting.types(), setting.optional)[1],
            )
            for setting in declared
        ]
    )
    return cls


def _make() -> dict[str, type[Choice]]:
    made: dict[str, type[Choice]] = {}
    for section in LISTS["sections"]:
        for entry in section["choices"]:
            called = rename(entry["name"])
            # Classical operators are names and nothing more.
            if section["axis"] == "operator" and not entry["settings"]:
                continue
            if called not in made and called not in _PLAIN:
                made[called] = _class_of(section["axis"], entry)
    return made


CHOICES = _make()


def options_of(axes: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the options of the command line for the keywords of a model."""
    given: list[tuple[str, str]] = []
    for name, value in axes.items():
        if value is None:
            continue
        flag = FLAGS[name]
        if isinstance(value, Choice):
            if value.axis != flag:
                raise ValueError(f"{flag}: {value!r} is a choice of {value.axis}")
            given.append((flag, value.kind))
            given.extend(value._options())
        else:
            given.append((flag, text_of(value, name)))
    return given


def _flags() -> dict[str, str]:
    """Returns every keyword of a model and its option, without the network itself, which comes first."""
    axes = [section["axis"] for section in LISTS["sections"] if section["axis"] not in (None, "model")]
    settings = [setting["flag"] for section in LISTS["sections"] for setting in section["settings"]]
    return {keyword(flag): flag for flag in ("features", *axes, *settings)}


#: Keywords of a model and their options.
FLAGS: dict[str, str] = _flags()


def declared(name: str) -> list[Setting]:
    """Returns the settings behind a keyword of a model, one for each choice that has it."""
    found: list[Setting] = []
    for section in LISTS["sections"]:
        own = [setting for entry in section["choices"] for setting in entry["settings"]] or section["settings"]
        found += [Setting.read(setting) for setting in own if setting["flag"] == FLAGS.get(name)]
    return found


def names_of(axis: str) -> tuple[str, ...]:
    """Returns the names of the choices of an axis."""
    if axis == "features":
        return tuple(LISTS["features"])
    section = next((section for section in LISTS["sections"] if section["axis"] == axis), None)
    return tuple(name for name, _ in section["names"]) if section else ()


def type_of(name: str) -> tuple[str, Any]:
    """Returns the type of a keyword of a model, as written in a stub and as an object; None is always allowed."""
    axis = name if name == "model" else FLAGS[name]
    settings = declared(name)
    if settings:
        return either((of for setting in settings for of in setting.types()), optional=True)
    base = BASES.get(axis)
    classes = [(base.__name__, base)] if base else []
    return either([literal(names_of(axis)), *classes], optional=True)


def help_of(name: str) -> str:
    """Returns the help of a keyword of a model, equal to that of the command line."""
    if name == "features":
        return "Preprocessing of features: " + ", ".join(LISTS["features"])
    for section in LISTS["sections"]:
        if section["axis"] == (name if name == "model" else FLAGS[name]):
            return f"{section['title']}: " + ", ".join(f"{n} ({about})" if about else n for n, about in section["names"])
        for setting in section["settings"]:
            if setting["flag"] == FLAGS.get(name):
                return str(setting["help"])
    return ""


def parameters(entries: Iterable[Mapping[str, Any]]) -> str:
    """Returns the numpydoc entries of all settings of a list, with the choices that have them."""
    found: dict[str, list[tuple[str, Setting]]] = {}
    for entry in entries:
        for setting in map(Setting.read, entry["settings"]):
            found.setdefault(setting.keyword, []).append((entry["name"], setting))
    texts = []
    for name, owners in found.items():
        helps: dict[str, list[str]] = {}
        for owner, setting in owners:
            helps.setdefault(setting.help, []).append(owner)
        text = "; ".join(f"{', '.join(who)}: {what}" for what, who in helps.items())
        types = either((of for _, setting in owners for of in setting.types()), optional=True)[0]
        texts.append(parameter(name, types, None, text))
    return "\n".join(texts)


def renamed(name: str, lists: Iterable[Iterable[Mapping[str, Any]]]) -> str | None:
    """Returns the keywords that replaced an earlier one, with the choices that have them."""
    owners: dict[str, list[str]] = {}
    for entry in (entry for entries in lists for entry in entries):
        for setting in entry["settings"]:
            was, prefix = setting["was"], setting["flag"].removesuffix(setting["name"])
            if was is not None and name in (keyword(was), keyword(prefix + was)):
                owners.setdefault(keyword(setting["flag"]), []).append(entry["name"])
    each = (f"{new} of {', '.join(filter(None, names))}" if any(names) else new for new, names in owners.items())
    return "; ".join(each) or None


def renamed_of_model(name: str) -> str | None:
    """Returns the keywords of a model that replaced an earlier one."""
    shared = [{"name": "", "settings": section["settings"]} for section in LISTS["sections"] if not section["choices"]]
    return renamed(name, [*(section["choices"] for section in LISTS["sections"]), shared])


Progress = Callable[[int, int, "float | None", "float | None"], object]
