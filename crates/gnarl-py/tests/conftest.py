"""What tests share."""

from __future__ import annotations

import os
from pathlib import Path

import gnarl
import pytest

ROOT = Path(__file__).resolve().parents[3]


def data_dir() -> Path | None:
    """The folder of real datasets, where there is one."""
    places = [os.environ.get("GNARL_TEST_DATA"), os.environ.get("GNARL_DATA"), str(ROOT.parent / "shared" / "data")]
    return next((Path(place) for place in places if place and (Path(place) / "planetoid").is_dir()), None)


@pytest.fixture(scope="session")
def karate() -> gnarl.Graph:
    return gnarl.Graph("karate")


@pytest.fixture(scope="session")
def blocks() -> gnarl.Graph:
    """Four blocks with features, classes and a split."""
    return gnarl.csbm(200, random_state=0)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = data_dir()
    if folder is None:
        pytest.skip("no folder of datasets")
    return folder


@pytest.fixture(scope="session")
def cora(data_folder: Path) -> gnarl.Graph:
    return gnarl.load("cora", data_dir=str(data_folder))
