"""Distributed runs with Ray: seeds, grids and tables as tasks, and data-parallel training. Install ``gnarl-gnn[ray]``.

Ray schedules tasks, retries them and moves data. ``ray.init(...)`` chooses the cluster; without it, Ray is started on this machine. Name
graphs by dataset, or by the path of a folder of ``gnarl data import`` that every machine can read: then only names and gradients are sent.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnarl import _gnarl
from gnarl._convert import to_graph
from gnarl._estimators import NodeClassifier, seed_of

if TYPE_CHECKING:
    from gnarl._typing import GraphLike, MaskLike

try:
    import ray
except ImportError as error:  # pragma: no cover - where Ray is not installed
    raise ImportError("gnarl.ray needs Ray: pip install 'gnarl-gnn[ray]'") from error

__all__ = ["SharedFit", "fit_shared", "grid", "map_tasks", "reproduce", "seeds"]


def _started() -> None:
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)


def map_tasks(
    function: Callable[..., Any],
    arguments: Iterable[Sequence[Any]],
    *,
    cpus: float = 1,
    retries: int = 3,
    at_once: int | None = None,
) -> list[Any]:
    """Calls a function with each tuple of arguments, as Ray tasks. A task whose worker dies is run again.

    Parameters
    ----------
    function : callable
        Function to call.
    arguments : iterable of tuple
        Arguments of each call.
    cpus : float, default=1
        Cores of a task.
    retries : int, default=3
        Maximum number of retries of a task.
    at_once : int, default=None
        Maximum number of tasks at a time. None: no limit.

    Returns
    -------
    list
        Result of each call, in the order of the arguments.
    """
    _started()
    remote = ray.remote(num_cpus=cpus, max_retries=retries)(function)
    tasks: list[Any] = []
    running: list[Any] = []
    for each in arguments:
        if at_once is not None and len(running) >= at_once:
            done, running = ray.wait(running, num_returns=1)
            ray.get(done)
        tasks.append(remote.remote(*each))
        running.append(tasks[-1])
    found: list[Any] = ray.get(tasks)
    return found


def _fit_one(params: dict[str, Any], graph: Any, seed: int) -> dict[str, Any]:
    model = NodeClassifier(**{**params, "random_state": seed, "n_jobs": 1}).fit(graph)
    return {"seed": seed, "score": model.score(graph), "val_accuracy": model.report_.get("val_accuracy")}


def seeds(model: NodeClassifier, graph: GraphLike, random_states: Iterable[int], *, cpus: float = 1) -> list[dict[str, Any]]:
    """Fits a model once for each seed.

    Parameters
    ----------
    model : NodeClassifier
        Model.
    graph : Graph or str
        Graph. A name or a path is loaded by every worker itself.
    random_states : iterable of int
        Seeds.
    cpus : float, default=1
        Cores of a task.

    Returns
    -------
    list of dict
        For each seed: ``seed``, ``score`` (accuracy) and ``val_accuracy``.
    """
    params = model.get_params(deep=False)
    return map_tasks(_fit_one, [(params, graph, int(seed)) for seed in random_states], cpus=cpus)


def grid(
    model: NodeClassifier,
    graph: GraphLike,
    settings: Mapping[str, Sequence[Any]],
    random_states: Iterable[int] = (0,),
    *,
    cpus: float = 1,
) -> list[dict[str, Any]]:
    """Fits a model with every combination of settings and every seed.

    Parameters
    ----------
    model : NodeClassifier
        Model.
    graph : Graph or str
        Graph. A name or a path is loaded by every worker itself.
    settings : mapping of str to sequence
        Values of each parameter.
    random_states : iterable of int, default=(0,)
        Seeds.
    cpus : float, default=1
        Cores of a task.

    Returns
    -------
    list of dict
        For each combination: ``settings``, the mean ``val_accuracy``, the mean ``score`` and all ``runs``. The combination with the
        highest validation accuracy comes first; test nodes do not influence the order.
    """
    names = list(settings)
    points = [dict(zip(names, values, strict=True)) for values in itertools.product(*settings.values())]
    all_seeds = [int(seed) for seed in random_states]
    jobs = [({**model.get_params(deep=False), **point}, graph, seed) for point in points for seed in all_seeds]
    found = map_tasks(_fit_one, jobs, cpus=cpus)
    rows = []
    for i, point in enumerate(points):
        runs = found[i * len(all_seeds) : (i + 1) * len(all_seeds)]
        known = [run["val_accuracy"] for run in runs if run["val_accuracy"] is not None]
        mean = float(np.mean(known)) if known else float("nan")
        rows.append({"settings": point, "val_accuracy": mean, "score": float(np.mean([run["score"] for run in runs])), "runs": runs})
    return sorted(rows, key=lambda row: -np.nan_to_num(row["val_accuracy"], nan=-np.inf))


#: Number of shards of a table's cells per worker.
SHARDS = 6


def _shard(arguments: list[str], shard: str) -> int:
    # A process of its own, since the command prints and starts threads.
    import subprocess
    import sys

    command = [sys.executable, "-m", "gnarl._cli", *arguments, "--shard", shard, "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"gnarl {' '.join(arguments)} --shard {shard}: {done.stderr.strip()}")
    return done.returncode


def reproduce(
    tables: str,
    *,
    workers: int,
    out: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
    more: Sequence[str] = (),
) -> None:
    """Computes the cells of published tables in parallel tasks; ``gnarl reproduce TABLES --out OUT`` then prints the tables.

    A task writes its cells to ``out`` and skips cells that are there already, so a retried task continues where it stopped.

    Parameters
    ----------
    tables : str
        Names of tables, as for ``gnarl reproduce``.
    workers : int
        Number of tasks at a time.
    out : path-like
        Folder of the results, which every machine can write.
    data_dir : path-like, default=None
        Folder of the datasets.
    more : sequence of str, default=()
        Further options of ``gnarl reproduce``.

    Raises
    ------
    ValueError
        For fewer than one worker.
    RuntimeError
        If a task fails.
    """
    if workers < 1:
        raise ValueError(f"workers: {workers}; at least 1 is needed")
    arguments = ["reproduce", tables, "--out", os.fspath(out), *more]
    if data_dir is not None:
        arguments += ["--data-dir", os.fspath(data_dir)]
    # Cells differ in length, so there are more shards than workers: a worker that is done takes the next.
    shards = workers * SHARDS if workers > 1 else 1
    map_tasks(_shard, [(arguments, f"{i + 1}/{shards}") for i in range(shards)], at_once=workers)


class _Worker:
    """Replica of a model in data-parallel training."""

    def __init__(self, graph: Any, description: dict[str, Any], split: Any, seed: int, n_jobs: int | None) -> None:
        self.training = _gnarl.SharedTraining(to_graph(graph), description, split, seed, n_jobs)

    def plan(self) -> tuple[int, int]:
        return self.training.plan()

    def gradients(self, epoch: int, step: int, worker: int, workers: int) -> tuple[float, NDArray[np.float32], int]:
        return self.training.gradients(epoch, step, worker, workers)

    def step(self, gradients: NDArray[np.float32]) -> None:
        self.training.step(np.ascontiguousarray(gradients))

    def end_epoch(self, epoch: int) -> None:
        self.training.end_epoch(epoch)

    def state(self) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        return self.training.state()

    def restore(self, state: tuple[NDArray[np.float32], NDArray[np.float64]]) -> None:
        values, rates = state
        self.training.restore(np.ascontiguousarray(values), np.ascontiguousarray(rates))

    def pid(self) -> int:
        return os.getpid()

    def finish(self) -> bytes:
        return self.training.finish().to_bytes()


@dataclass
class SharedFit:
    """Result of data-parallel training.

    Attributes
    ----------
    model : NodeClassifier
        Fitted model.
    losses : list of float
        Loss of every step over all workers.
    replaced : int
        Number of workers that died and were replaced.
    """

    model: NodeClassifier
    losses: list[float] = field(default_factory=list)
    replaced: int = 0


def fit_shared(
    model: NodeClassifier,
    graph: GraphLike,
    *,
    workers: int = 2,
    cpus: float = 1,
    train_mask: MaskLike | None = None,
    val_mask: MaskLike | None = None,
    test_mask: MaskLike | None = None,
    on_step: Callable[[int, float, list[Any]], None] | None = None,
) -> SharedFit:
    """Trains one model on sampled neighbourhoods by several workers (data-parallel training).

    Every worker has a replica of the model and computes the gradients of its share of a batch; the averaged gradients update all replicas.
    Two workers compute the same losses as one, except for rounding and dropout masks. A worker that dies is replaced: it copies the state
    of another worker and computes its share again. If all workers die, training continues from the last epoch.

    Parameters
    ----------
    model : NodeClassifier
        Model with ``batch_nodes``.
    graph : Graph or str
        Graph. A name or a path is loaded by every worker itself.
    workers : int, default=2
        Number of workers.
    cpus : float, default=1
        Cores of a worker.
    train_mask, val_mask, test_mask : array-like, default=None
        Split; without ``train_mask``, that of the graph or the dataset.
    on_step : callable, default=None
        Called after each step with its number, its loss and the Ray actors.

    Returns
    -------
    SharedFit
        Fitted model and losses.

    Raises
    ------
    ValueError
        For fewer than one worker, and for a model without ``batch_nodes``.
    """
    from gnarl._convert import given_split

    if workers < 1:
        raise ValueError(f"workers: {workers}; at least 1 is needed")
    _started()
    split = None
    if train_mask is not None:
        split = given_split(train_mask, val_mask, test_mask, to_graph(graph).num_nodes)
    arguments = (graph, model._description(), split, seed_of(model.random_state), 1)  # type: ignore[attr-defined]
    actor = ray.remote(num_cpus=cpus, max_restarts=0)(_Worker)
    team = [actor.remote(*arguments) for _ in range(workers)]
    epochs, steps = ray.get(team[0].plan.remote())
    kept = ray.get(team[0].state.remote())
    fit = SharedFit(model)

    def results_of(calls: list[Any]) -> list[Any]:
        """Returns the result of each call, or the error if its worker died."""
        results: list[Any] = []
        for call in calls:
            try:
                results.append(ray.get(call))
            except ray.exceptions.RayActorError as error:
                results.append(error)
        return results

    def replace(dead: list[int], state: Any) -> None:
        for i in dead:
            team[i] = actor.remote(*arguments)
            ray.get(team[i].restore.remote(state))
            fit.replaced += 1

    def living_state(dead: list[int]) -> Any:
        for i in range(workers):
            if i not in dead:
                try:
                    return ray.get(team[i].state.remote())
                except ray.exceptions.RayActorError:
                    continue
        return None

    epoch, step = 1, 0
    where = (1, 0)
    while epoch <= epochs:
        parts = results_of([worker.gradients.remote(epoch, step, i, workers) for i, worker in enumerate(team)])
        dead = [i for i, part in enumerate(parts) if isinstance(part, Exception)]
        if dead:
            state = living_state(dead)
            if state is None:
                # No worker has the state of the last steps.
                replace(list(range(workers)), kept)
                epoch, step = where
                del fit.losses[(epoch - 1) * steps :]
            else:
                replace(dead, state)
            continue
        nodes = sum(count for _, _, count in parts)
        mean = np.zeros_like(parts[0][1])
        for _, gradients, count in parts:
            mean += gradients * np.float32(count / nodes)
        loss = float(sum(loss * count for loss, _, count in parts) / nodes)
        shared = ray.put(mean)
        lost = [i for i, result in enumerate(results_of([worker.step.remote(shared) for worker in team])) if isinstance(result, Exception)]
        if lost:
            state = living_state(lost)
            if state is None:
                replace(list(range(workers)), kept)
                epoch, step = where
                del fit.losses[(epoch - 1) * steps :]
                continue
            replace(lost, state)
        fit.losses.append(loss)
        if on_step is not None:
            on_step(len(fit.losses), loss, team)
        step += 1
        if step == steps:
            gone = [i for i, a in enumerate(results_of([worker.end_epoch.remote(epoch) for worker in team])) if isinstance(a, Exception)]
            epoch, step = epoch + 1, 0
            state = living_state(gone)
            if state is not None:
                kept, where = state, (epoch, step)
                replace(gone, state)
    finished = results_of([team[0].finish.remote()])[0]
    if isinstance(finished, Exception):
        replace([0], kept)
        finished = ray.get(team[0].finish.remote())
    for worker in team:
        ray.kill(worker)
    model._take(_gnarl.Fitted.from_bytes(finished))
    return fit
