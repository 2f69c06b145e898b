"""Many machines through Ray: seeds, folds, grids and tables as tasks, and one training shared among workers. Needs ``gnarl[ray]``.

Scheduling, retries and moving data are Ray's. ``ray.init(...)`` decides where things run; where nobody called it, it is called with its
usual settings. Graphs are named by dataset or by the path of a folder that ``gnarl data import`` made, which every machine must see:
only names and gradients travel.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnarl import _gnarl
from gnarl._convert import to_graph
from gnarl._estimators import NodeClassifier, seed_of

try:
    import ray
except ImportError as error:  # pragma: no cover - where Ray is not installed
    raise ImportError("gnarl.ray needs Ray: pip install 'gnarl[ray]'") from error

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
    """The function of each of some tuples of arguments, as Ray tasks, in their order; at most ``at_once`` at a time. A task whose worker dies
    is run again."""
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


def seeds(model: NodeClassifier, graph: Any, random_states: Iterable[int], *, cpus: float = 1) -> list[dict[str, Any]]:
    """The model fitted once for each seed: its score and its validation accuracy.

    ``graph`` is best a name or a path: then every worker opens it itself.
    """
    params = model.get_params(deep=False)
    return map_tasks(_fit_one, [(params, graph, int(seed)) for seed in random_states], cpus=cpus)


def grid(
    model: NodeClassifier,
    graph: Any,
    settings: Mapping[str, Sequence[Any]],
    random_states: Iterable[int] = (0,),
    *,
    cpus: float = 1,
) -> list[dict[str, Any]]:
    """Every combination of settings with every seed, best mean validation accuracy first. Test nodes have no say in the order."""
    names = list(settings)
    points = [dict(zip(names, values)) for values in itertools.product(*settings.values())]
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


#: Shares of a table's cells for each of several workers.
SHARES = 6


def _shard(words: list[str], shard: str) -> int:
    # A process of its own: the command prints, and its threads end with it.
    import subprocess
    import sys

    command = [sys.executable, "-m", "gnarl._cli", *words, "--shard", shard, "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"gnarl {' '.join(words)} --shard {shard}: {done.stderr.strip()}")
    return done.returncode


def reproduce(tables: str, *, workers: int, out: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None = None, more: Sequence[str] = ()) -> None:
    """The cells of tables of the thesis, shared among so many tasks at a time. Each writes its cells to ``out``, which all must see; what is
    there is not run again, so a task whose worker died goes on where it was. ``gnarl reproduce TABLES --out OUT`` then prints them."""
    if workers < 1:
        raise ValueError(f"workers: {workers} do nothing; at least 1 is needed")
    words = ["reproduce", tables, "--out", os.fspath(out), *more]
    if data_dir is not None:
        words += ["--data-dir", os.fspath(data_dir)]
    # Cells differ in length, so there are more shares than workers: who is done early takes the next.
    shares = workers * SHARES if workers > 1 else 1
    map_tasks(_shard, [(words, f"{i + 1}/{shares}") for i in range(shares)], at_once=workers)


class _Worker:
    """One copy of a model on its way."""

    def __init__(self, graph: Any, words: dict[str, Any], split: Any, seed: int, n_jobs: int | None) -> None:
        self.training = _gnarl.SharedTraining(to_graph(graph), words, split, seed, n_jobs)

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
    """What a shared training came to."""

    model: NodeClassifier
    """The fitted model."""
    losses: list[float] = field(default_factory=list)
    """The loss of every step, over all workers."""
    replaced: int = 0
    """Workers that died and were replaced."""


def fit_shared(
    model: NodeClassifier,
    graph: Any,
    *,
    workers: int = 2,
    cpus: float = 1,
    train_mask: Any = None,
    val_mask: Any = None,
    test_mask: Any = None,
    on_step: Callable[[int, float, list[Any]], None] | None = None,
) -> SharedFit:
    """One training on sampled neighbourhoods, shared among workers.

    Every worker opens the graph (best a name or a path) and has a copy of the weights; of each step's nodes it takes its share, gradients
    are averaged, and all make the same step. With the same batches two workers give what one gives, but for rounding and the masks of
    dropout. A worker that dies is replaced, takes over the state of one that lives, and its share of the step is computed again: nothing
    that was done is lost. Where all of them die at once, training goes on from the state of the last epoch.

    ``on_step`` is called with the number of the step, its loss, and the actors.
    """
    from gnarl._convert import given_split

    if workers < 1:
        raise ValueError(f"workers: {workers} do nothing; at least 1 is needed")
    _started()
    split = None
    if train_mask is not None:
        split = given_split(train_mask, val_mask, test_mask, to_graph(graph).num_nodes)
    arguments = (graph, model._words(), split, seed_of(model.random_state), 1)  # type: ignore[attr-defined]
    actor = ray.remote(num_cpus=cpus, max_restarts=0)(_Worker)
    team = [actor.remote(*arguments) for _ in range(workers)]
    epochs, steps = ray.get(team[0].plan.remote())
    kept = ray.get(team[0].state.remote())
    fit = SharedFit(model)

    def ask(calls: list[Any]) -> list[Any]:
        """What each call gives; the error itself for those whose worker died."""
        answers: list[Any] = []
        for call in calls:
            try:
                answers.append(ray.get(call))
            except ray.exceptions.RayActorError as error:
                answers.append(error)
        return answers

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
        parts = ask([worker.gradients.remote(epoch, step, i, workers) for i, worker in enumerate(team)])
        dead = [i for i, part in enumerate(parts) if isinstance(part, Exception)]
        if dead:
            state = living_state(dead)
            if state is None:
                # Nobody is left who knows the last steps.
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
        lost = [i for i, answer in enumerate(ask([worker.step.remote(shared) for worker in team])) if isinstance(answer, Exception)]
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
            gone = [i for i, a in enumerate(ask([worker.end_epoch.remote(epoch) for worker in team])) if isinstance(a, Exception)]
            epoch, step = epoch + 1, 0
            state = living_state(gone)
            if state is not None:
                kept, where = state, (epoch, step)
                replace(gone, state)
    finished = ask([team[0].finish.remote()])[0]
    if isinstance(finished, Exception):
        replace([0], kept)
        finished = ray.get(team[0].finish.remote())
    for worker in team:
        ray.kill(worker)
    model._take(_gnarl.Fitted.from_bytes(finished))
    return fit
