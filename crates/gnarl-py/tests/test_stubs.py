"""Stubs say what is there, and programs that use them pass a type checker."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import gnarl
import pytest
from gnarl import _gnarl

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parents[1]


def parameters(function: ast.FunctionDef) -> list[str]:
    a = function.args
    names = [x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs]]
    names += [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    return [name for name in names if name not in ("self", "cls")]


def found(function: object) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls", "/")]


def test_the_extension_is_what_its_stub_says() -> None:
    stub = ast.parse((Path(gnarl.__file__).parent / "_gnarl.pyi").read_text())
    names = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))} | {"VERSION"}
    assert names == {name for name in vars(_gnarl) if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            assert parameters(node) == found(getattr(_gnarl, node.name)), node.name
        if isinstance(node, ast.ClassDef):
            cls = getattr(_gnarl, node.name)
            members = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
            kept = {"__new__", "__reduce__", "__repr__", "__len__", "__eq__", "__hash__", "__getitem__", "__call__"}
            own = {name for name in vars(cls) if not name.startswith("__") or name in kept}
            assert set(members) - {"__hash__"} == own - {"__hash__"} - ({"__new__"} - set(members)), node.name
            for name, item in members.items():
                if item.decorator_list and getattr(item.decorator_list[0], "id", "") == "property" or name.startswith("__"):
                    continue
                assert parameters(item) == found(getattr(cls, name)), f"{node.name}.{name}"


def test_generated_stubs_are_up_to_date() -> None:
    run = subprocess.run([sys.executable, str(HERE / "stubs.py"), "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_everything_has_a_docstring_and_public_names_are_there() -> None:
    for name in gnarl.__all__:
        assert hasattr(gnarl, name), name
        if name != "__version__":
            assert getattr(gnarl, name).__doc__, name


def test_programs_pass_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    programs = sorted((ROOT / "examples" / "python").glob("*.py"))
    assert programs
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path), *map(str, programs)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import gnarl\ngnarl.NodeClassifier(hiden=3)\ngnarl.RobustCRF(neighbors=3)\n")
    run = subprocess.run([*command[:-len(programs)], str(wrong)], capture_output=True, text=True)
    assert run.stdout.count("Unexpected keyword argument") == 2, run.stdout
