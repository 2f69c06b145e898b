"""Writes the stubs of what is made from the library's lists: python stubs.py; with --check, only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from gnarl import _axes, _estimators

HERE = Path(__file__).parent / "python" / "gnarl"
#: The names of types by the lists that they come from.
SINGULAR = {"attacks": "Attack", "certificates": "Certificate", "densities": "Density"}
HEAD = '"""Made by stubs.py from the library\'s own lists."""\n\n'


def written(settings: list[_axes.Setting]) -> tuple[str, str]:
    """The type of a setting, with None where it may be left open, and its default."""
    optional = any(setting.optional for setting in settings)
    of = _axes.either((of for setting in settings for of in setting.types()), optional)[0]
    return of, _axes.quoted(settings[0].default)


def choices() -> str:
    bases = sorted({cls.__mro__[1].__name__ for cls in _axes.CHOICES.values()})
    lines = [HEAD + f"from collections.abc import Iterable\nfrom typing import Literal, TypeAlias, TypedDict\n\nfrom gnarl._axes import {', '.join(bases)}\n"]
    lines.append(f"__all__ = {list(_axes.CHOICES)!r}\n".replace("'", '"'))
    for name, cls in _axes.CHOICES.items():
        types = {keyword: written([setting]) for keyword, setting in cls._settings.items()}
        settings = "".join(f", {keyword}: {of} = {default}" for keyword, (of, default) in types.items())
        star = ", *" if settings else ""
        lines.append(f"class {name}({cls.__mro__[1].__name__}):\n    def __init__(self{star}{settings}) -> None: ...")
        lines.extend(f"    {keyword}: {of}" for keyword, (of, _) in types.items())
        lines.append("")
    return "\n".join([*lines, *names()])


def names() -> list[str]:
    """Names and settings of functions that are no choices of a model: attacks and certificates, and the names of densities."""
    lines = []
    for what in ("attacks", "certificates", "densities"):
        known = ", ".join(_axes.quoted(entry["name"]) for entry in _axes.LISTS[what])
        lines.append(f"{SINGULAR[what]}Name: TypeAlias = Literal[{known}]")
    for what in ("attacks", "certificates"):
        settings: dict[str, list[_axes.Setting]] = {}
        for entry in _axes.LISTS[what]:
            for setting in map(_axes.Setting.read, entry["settings"]):
                settings.setdefault(setting.keyword, []).append(setting)
        lines.append(f"\nclass {SINGULAR[what]}Settings(TypedDict, total=False):")
        lines.extend(f"    {keyword}: {written(of)[0]}" for keyword, of in settings.items())
    return [*lines, ""]


METHODS = {
    "NodeClassifier": """
    def fit(self, graph: Any, y: Any = None, *, train_mask: Any = None, val_mask: Any = None, test_mask: Any = None) -> NodeClassifier: ...
    def predict(self, graph: Any) -> NDArray[Any]: ...
    def predict_proba(self, graph: Any) -> NDArray[np.float32]: ...
    def predict_exits(self, graph: Any) -> NDArray[np.int64] | None: ...
    def score(self, graph: Any, y: Any = None, *, mask: Any = None) -> float: ...
    def operator_matrix(self, graph: Any) -> Any: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> NodeClassifier: ...
""",
    "GraphClassifier": """
    def fit(self, graphs: Any, y: Any = None, *, train: Any = None, val: Any = None, test: Any = None) -> GraphClassifier: ...
    def predict(self, graphs: Any) -> NDArray[Any]: ...
    def predict_proba(self, graphs: Any) -> NDArray[np.float32]: ...
    def score(self, graphs: Any, y: Any = None) -> float: ...
    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> GraphClassifier: ...
""",
}
SHARED = """import os
from typing import Any, Literal

import numpy as np
from gnarl._axes import BASES, Progress
from gnarl._gnarl import Fitted
from numpy.typing import NDArray

class NotFittedError(ValueError, AttributeError): ...

def seed_of(random_state: Any) -> int: ...
def threads_of(n_jobs: Any) -> int | None: ...

class _Estimator:
    fitted_: Fitted
    classes_: NDArray[Any]
    n_features_in_: int
    n_iter_: int
    report_: dict[str, Any]
    operator_: dict[str, float]
    history_: dict[str, NDArray[Any]]
    exits_: NDArray[np.int64] | None
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Any: ...
    def spec_(self, dataset: str = "") -> str: ...
    def save(self, file: str | os.PathLike[str]) -> None: ...
    def _fitted(self) -> Fitted: ...
"""

def estimators() -> str:
    used = sorted(base.__name__ for axis, base in _axes.BASES.items() if axis == "model" or axis in _axes.FLAGS.values())
    text = HEAD + SHARED.replace("BASES", ", ".join(used))
    for cls in (_estimators.NodeClassifier, _estimators.GraphClassifier):
        model = _axes.type_of("model")[0]
        keywords = {name: (_axes.type_of(name)[0], "None") for name in _axes.FLAGS}
        keywords.update({name: (_estimators.TYPES[name], _axes.quoted(default)) for name, default in cls._others.items()})
        text += f"\nclass {cls.__name__}(_Estimator):\n    def __init__(\n        self,\n        model: {model} = None,\n        *,\n"
        text += "".join(f"        {name}: {of} = {default},\n" for name, (of, default) in keywords.items())
        text += f"    ) -> None: ...\n    model: {model}\n"
        text += "".join(f"    {name}: {of}\n" for name, (of, _) in keywords.items())
        text += METHODS[cls.__name__].lstrip("\n")
    return text


def main() -> int:
    stale = []
    for name, text in (("_choices.pyi", choices()), ("_estimators.pyi", estimators())):
        file = HERE / name
        if not file.exists() or file.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"{', '.join(stale)}: not what the library's lists say; run python stubs.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
