"""Ray on loopback with real processes: tasks in order, workers that share a training, and one that is killed."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gnarl
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("default")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    # Errors about metrics that nobody gathers are not ours.
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("ray") / "csbm"
    assert gnarl._gnarl.run_command(["gnarl", "data", "import", "csbm", "--out", str(out)]) == 0
    return str(out)


def model(**more: Any) -> gnarl.NodeClassifier:
    return gnarl.NodeClassifier("sage", batch_nodes=32, fanout="5,5", epochs=6, dropout=0, random_state=3, **more)


def test_seeds_and_grids_are_what_one_process_gives(cluster: None, folder: str) -> None:
    from gnarl import ray as gray

    found = gray.seeds(gnarl.NodeClassifier("gcn", epochs=20), folder, [0, 1, 2])
    for seed, run in enumerate(found):
        alone = gnarl.NodeClassifier("gcn", epochs=20, random_state=seed, n_jobs=1).fit(folder)
        assert run["seed"] == seed and run["score"] == alone.score(folder)
    rows = gray.grid(gnarl.NodeClassifier("gcn", epochs=10), folder, {"hidden": [2, 16], "lr": [0.05]})
    assert len(rows) == 2 and rows[0]["val_accuracy"] >= rows[1]["val_accuracy"]


def test_workers_make_the_steps_of_one(cluster: None, folder: str) -> None:
    from gnarl import ray as gray

    curves = {count: gray.fit_shared(model(), folder, workers=count) for count in (1, 2, 4)}
    one = np.array(curves[1].losses)
    assert len(one) > 12 and one[-1] < one[0]
    for count in (2, 4):
        np.testing.assert_allclose(curves[count].losses, one, atol=2e-3)
    assert curves[2].model.score(folder) > 0.5


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(cluster: None, folder: str) -> None:
    from gnarl import ray as gray

    whole = gray.fit_shared(model(), folder, workers=2)
    steps: list[int] = []

    def kill_one(step: int, _loss: float, team: list[Any]) -> None:
        steps.append(step)
        if step == 5:
            os.kill(ray.get(team[1].pid.remote()), signal.SIGKILL)

    cut = gray.fit_shared(model(), folder, workers=2, on_step=kill_one)
    assert cut.replaced == 1
    np.testing.assert_allclose(cut.losses, whole.losses, atol=1e-4)
    assert steps == list(range(1, len(whole.losses) + 1)), "no step was made twice"


def test_what_cannot_be_shared_is_refused(cluster: None, folder: str) -> None:
    from gnarl import ray as gray

    with pytest.raises(ValueError, match="workers"):
        gray.fit_shared(model(), folder, workers=0)
    with pytest.raises(Exception, match="give batch-nodes"):
        gray.fit_shared(gnarl.NodeClassifier("gcn"), folder, workers=1)


def test_cells_of_a_table_are_shared_among_tasks(cluster: None, tmp_path: Path, data_folder: Path) -> None:
    from gnarl import ray as gray

    assert gray.map_tasks(lambda base, power: base**power, [(2, 3), (3, 2)]) == [8, 9]
    with pytest.raises(ValueError, match="workers"):
        gray.reproduce("cgsO:tab:graph_prop", workers=0, out=tmp_path)

    def cells(place: Path) -> dict[str, str]:
        return {file.name: file.read_text() for file in place.rglob("*.json")}

    more = ["--columns", "cora"]
    gray.reproduce("cgsO:tab:graph_prop", workers=2, out=tmp_path / "two", data_dir=data_folder, more=more)
    gray.reproduce("cgsO:tab:graph_prop", workers=1, out=tmp_path / "one", data_dir=data_folder, more=more)
    two, one = cells(tmp_path / "two"), cells(tmp_path / "one")
    assert two and set(two) == set(one)
