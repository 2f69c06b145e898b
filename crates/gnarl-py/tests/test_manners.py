"""The GIL, Ctrl-C, progress, processes, imports and memory."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import gnarl
import numpy as np
import pytest


def test_the_gil_is_released() -> None:
    graph = gnarl.csbm(3000, num_features=256)
    ticks: list[float] = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    gnarl.NodeClassifier("gcn", epochs=60).fit(graph)
    took = time.perf_counter() - start
    done.set()
    other.join()
    assert took > 0.05
    during = [t for t in ticks if start <= t <= start + took]
    assert len(during) > 0.1 * took / 0.002, f"{len(during)} ticks in {took:.2f} s"


INTERRUPTED = """
import signal, threading, time, os
import gnarl
graph = gnarl.csbm(3000, num_features=128)
{before}
asked = []
def press():
    asked.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.0, press).start()
try:
    {work}
    print("it ended by itself")
except KeyboardInterrupt:
    print("after", time.perf_counter() - asked[0])
print("sane", gnarl.NodeClassifier("gcn", epochs=3).fit(gnarl.load("karate")).score(gnarl.load("karate")) >= 0)
"""


@pytest.mark.parametrize(
    ("before", "work"),
    [
        ("", 'gnarl.NodeClassifier("gcn", epochs=1000000).fit(graph)'),
        ("model = lambda g: (time.sleep(0.01), g.x[:, :4])[1]", "gnarl.robustness(model, graph, 0.1, samples=100000)"),
        ('model = gnarl.NodeClassifier("gcn", epochs=2).fit(graph)', "gnarl.robustness(model, graph, 0.1, samples=100000)"),
    ],
    ids=["fit", "callback", "sampling"],
)
def test_ctrl_c_within_a_second(before: str, work: str) -> None:
    program = INTERRUPTED.format(before=before, work=work) + "os._exit(0)\n"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    lines = run.stdout.split("\n")
    assert lines[0].startswith("after ") and float(lines[0].split()[1]) < 1.0, run.stdout + run.stderr
    assert lines[1] == "sane True"


def test_progress_is_told() -> None:
    told: list[tuple] = []
    gnarl.NodeClassifier("gcn", epochs=400, progress=lambda *found: told.append(found)).fit(gnarl.csbm(2000))
    assert told and told[-1][0] >= 400 and told[-1][1] >= 400 and told[-1][2] > 0
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)

    class Enough(Exception):
        pass

    def enough(*_: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        gnarl.NodeClassifier("gcn", epochs=100000, progress=enough).fit(gnarl.csbm(2000))
    gnarl.NodeClassifier("gcn", epochs=5, progress=True).fit(gnarl.load("karate"))


def test_threads_change_no_result(blocks: gnarl.Graph) -> None:
    answers = [gnarl.NodeClassifier("gcn", epochs=10, n_jobs=n).fit(blocks).predict_proba(blocks) for n in (1, 2, 3, -1, None)]
    assert all((answer == answers[0]).all() for answer in answers)


def test_random_states(blocks: gnarl.Graph) -> None:
    fit = lambda state: gnarl.NodeClassifier("gcn", epochs=5, random_state=state).fit(blocks, train_mask=range(100)).predict_proba(blocks)  # noqa: E731
    assert (fit(None) == fit(0)).all() and (fit(1) == fit(np.int64(1))).all() and (fit(1) != fit(0)).any()
    assert (fit(np.random.RandomState(3)) == fit(np.random.RandomState(3))).all()
    assert (fit(np.random.default_rng(3)) == fit(np.random.default_rng(3))).all()


def _fit(seed: int) -> list[list[float]]:
    return gnarl.NodeClassifier("gcn", epochs=5, random_state=seed).fit(gnarl.csbm(200)).predict_proba(gnarl.csbm(200)).tolist()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes(start: str) -> None:
    import multiprocessing

    expected = _fit(1)  # threads are running when the processes start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(start).Pool(2) as pool:
            assert pool.map_async(_fit, [1, 1]).get(timeout=60) == [expected, expected]


def test_joblib_and_threads() -> None:
    from joblib import Parallel, delayed

    expected = _fit(2)
    assert Parallel(n_jobs=2, prefer="threads")(delayed(_fit)(2) for _ in range(4)) == [expected] * 4
    assert Parallel(n_jobs=2)(delayed(_fit)(2) for _ in range(2)) == [expected] * 2


def test_import_is_light() -> None:
    program = "import sys, gnarl; print([m for m in ('torch', 'scipy', 'pandas', 'networkx', 'sklearn', 'tqdm') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_command_is_there() -> None:
    run = subprocess.run([os.path.join(os.path.dirname(sys.executable), "gnarl"), "--version"], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.strip() == f"gnarl {gnarl.__version__}"
    run = subprocess.run([sys.executable, "-m", "gnarl._cli", "train"], capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.count("\n") == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_an_interrupt_without_work_is_pythons_own() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_fitting_settled_on_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    graph = gnarl.csbm(80, num_features=16)
    parts = {"train_mask": range(30), "val_mask": range(30, 60)}
    with caplog.at_level("INFO", logger="gnarl"):
        gnarl.NodeClassifier("gcn", epochs=3, hidden=8, weights="orthonormal", features="as-loaded").fit(graph, **parts)
    lines = [record.getMessage() for record in caplog.records if record.name == "gnarl"]
    assert lines[0].startswith("fitting gcn to Graph(") and "seed 0" in lines[0]
    assert lines[1].startswith("fitted in") and "3 epochs" in lines[1] and "validation accuracy" in lines[1]
    assert any(line.startswith("head selected on validation data: ") for line in lines), lines
    caplog.clear()
    with caplog.at_level("WARNING", logger="gnarl"):
        gnarl.NodeClassifier("gcn", epochs=2, hidden=8).fit(graph, **parts)
    assert not caplog.records, "silent unless somebody listens"


def test_numpy_waits_until_it_is_used() -> None:
    code = "import sys, gnarl; assert 'numpy' not in sys.modules, 'import'; gnarl.load('karate').x; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_a_thousand_models_leave_nothing_behind() -> None:
    graph = gnarl.csbm(60, num_features=16)

    def some(count: int) -> None:
        for seed in range(count):
            model = gnarl.NodeClassifier("gcn", epochs=2, hidden=8, n_jobs=1, random_state=seed).fit(graph, train_mask=range(30))
            model.predict_proba(graph)
            gnarl.robustness(lambda g: g.x[:, :4], graph, 0.1, samples=2, n_jobs=1)
        gc.collect()

    some(200)
    before = _resident()
    some(1000)
    grown = _resident() - before
    # A model of this size with its graph and answers is some 50 kB: a thousand of them would be 50 MB.
    assert grown < 12 << 20, f"{grown / 2**20:.1f} MB more"
