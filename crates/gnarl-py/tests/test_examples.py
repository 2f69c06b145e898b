"""Programs and notebooks run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted((ROOT / "examples" / "python").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_they_are_found() -> None:
    assert len(PROGRAMS) >= 3 and len(NOTEBOOKS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda file: file.stem)
def test_program(program: Path, tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore")
def test_notebook(notebook: Path, tmp_path: Path) -> None:
    from nbclient import NotebookClient

    read = nbformat.read(notebook, as_version=4)
    if any("torch" in (cell.source or "") for cell in read.cells if cell.cell_type == "code"):
        pytest.importorskip("torch_geometric")
    NotebookClient(read, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
