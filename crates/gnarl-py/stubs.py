"""Writes the stubs of what is made from the library's lists: python stubs.py; with --check, only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from gnarl import _axes, _estimators

HERE = Path(__file__).parent / "python" / "gnarl"
HEAD = '"""Made by stubs.py from the library\'s own lists."""\n\n'


def choices() -> str:
    lines = [HEAD + "from typing import Any\n\nfrom gnarl._axes import Choice, DefenseChoice, InferenceChoice\n"]
    lines.append(f"__all__ = {list(_axes.CHOICES)!r}\n".replace("'", '"'))
    for name, cls in _axes.CHOICES.items():
        settings = "".join(f", {setting}: Any = None" for setting in cls._settings)
        star = ", *" if settings else ""
        lines.append(f"class {name}({cls.__mro__[1].__name__}):\n    def __init__(self{star}{settings}) -> None: ...")
        lines.extend(f"    {setting}: Any" for setting in cls._settings)
        lines.append("")
    return "\n".join(lines)


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
from typing import Any

import numpy as np
from gnarl._axes import Choice, Progress
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
TYPES = {
    "model": "str | None",
    "spec": "str | os.PathLike[str] | None",
    "recipe": "str",
    "random_state": "Any",
    "n_jobs": "int | None",
    "progress": "bool | Progress",
    "validation_fraction": "float",
}


def kind(name: str) -> str:
    for section in _axes.LISTS["sections"]:
        if section["axis"] == _axes.FLAGS[name]:
            return "str | Choice | None"
        for setting in section["settings"]:
            if setting["flag"] == _axes.FLAGS[name]:
                return {"BOOL": "bool | None", "N": "int | None"}.get(setting["value"], "str | float | None")
    return "str | None"


def estimators() -> str:
    text = HEAD + SHARED
    for cls in (_estimators.NodeClassifier, _estimators.GraphClassifier):
        keywords = {name: (kind(name), "None") for name in _axes.FLAGS}
        keywords.update({name: (TYPES[name], repr(default).replace("'", '"')) for name, default in cls._others.items()})
        text += f"\nclass {cls.__name__}(_Estimator):\n    def __init__(\n        self,\n        model: {TYPES['model']} = None,\n        *,\n"
        text += "".join(f"        {name}: {of} = {default},\n" for name, (of, default) in keywords.items())
        text += "    ) -> None: ...\n    model: str | None\n"
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
