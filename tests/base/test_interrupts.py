"""Ctrl-C ends a call at once: no item of work is begun after it, nothing wrong is kept, no file is half written."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.linalg import eigh

import heatess as he
from heatess.base import blocks, pool
from heatess.base.progress import Progress
from heatess.cli import main
from heatess.spaces.discrete.dense_eigenpairs import eigenpairs
from heatess.spaces.discrete.graded_eigenpairs import singular
from heatess.spaces.discrete.laplacian import Laplacian

ITEMS = 1000

POOLS = {
    "share_out": lambda do: blocks.share_out(range(ITEMS), lambda _, item: do(item), 2),
    "in_lanes": lambda do: blocks.in_lanes(range(ITEMS), lambda _, item: do(item), 8, 2),
    "map_rows": lambda do: blocks.map_rows(lambda part: do(part.start), ITEMS, 1),
    "one inside another": lambda do: blocks.share_out(
        [0, 1], lambda _, item: blocks.share_out(range(ITEMS), lambda _, item: do(item), 2), 2
    ),
    "a loop of its own": lambda do: pool.apart(lambda: [do(item) for item in pool.until_stopped(range(ITEMS))]),
}


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C is heard, also in a process that was started in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", POOLS)
def test_after_an_interrupt_no_item_is_begun(kind, monkeypatch):
    monkeypatch.setenv("HEATESS_NUM_THREADS", "2")
    begun = []

    def do(item):
        begun.append(item)
        if len(begun) == 5:
            _thread.interrupt_main()
        time.sleep(0.002)

    with pytest.raises(KeyboardInterrupt):
        POOLS[kind](do)
    assert not pool.still_working()
    assert len(begun) < ITEMS / 2
    POOLS[kind](lambda item: begun.append(item))  # the next call is not stopped
    assert len(begun) >= ITEMS


def test_a_call_that_cannot_be_stopped_is_left_alone(monkeypatch):
    monkeypatch.setattr(pool, "MOMENT", 0.0)
    end, ended = threading.Event(), threading.Event()

    def long():
        _thread.interrupt_main()
        end.wait(30)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        pool.apart(long)
    assert pool.still_working()
    end.set()
    assert ended.wait(30)
    while pool.still_working():
        time.sleep(0.001)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("caught", [False, True])
@pytest.mark.slow
def test_a_process_ends_without_a_call_that_it_left_or_waits_for_it(caught):
    """A compiled call that came back while Python ends would abort the process."""
    lines = ["pool.apart(time.sleep, 0.7 if caught else 30)"]
    if caught:
        lines = ["try:", f"    {lines[0]}", "except KeyboardInterrupt:", "    print('left', pool.still_working())"]
    code = f"""
import atexit, os, signal, threading, time
from heatess.base import pool
caught, pool.MOMENT = {caught}, 0
atexit.register(lambda: print("end", pool.still_working()))
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
"""
    found = subprocess.run(
        [sys.executable, "-c", "\n".join([code, *lines])], capture_output=True, text=True, timeout=20
    )
    assert found.returncode == (0 if caught else -signal.SIGINT)
    assert found.stdout == ("left True\nend False\n" if caught else "end False\n")
    assert found.stderr.endswith("" if caught else "KeyboardInterrupt\n")


def test_threads_raise_what_their_work_raises_the_first_of_several(monkeypatch):
    def fail(k):
        raise ValueError(f"item {k}")

    for run in (lambda: pool.on_threads(fail, 3), lambda: blocks.in_order(fail, [0, 1, 2])):
        with pytest.raises(ValueError, match="item 0"):
            run()
    with blocks.threads(3):
        assert pool.on_threads(lambda _: blocks.thread_count(), 2) == [3, 3]


def test_after_an_interrupt_a_graph_gives_the_right_number(monkeypatch):
    graph, same = (he.Graph(sparse.diags_array([np.ones(99)] * 2, offsets=[1, -1])) for _ in range(2))
    right, dense = he.gess([0, 40, 99], space=same, time=3.0), Laplacian._dense

    def interrupted(self):
        _thread.interrupt_main()
        time.sleep(0.2)
        return dense(self)

    monkeypatch.setattr(Laplacian, "_dense", interrupted)
    with pytest.raises(KeyboardInterrupt):
        he.gess([0, 40, 99], space=graph, time=3.0)
    monkeypatch.setattr(Laplacian, "_dense", dense)
    assert he.gess([0, 40, 99], space=graph, time=3.0) == right


def test_a_compiled_run_ends_between_two_steps():
    from heatess.compiled.krylov import local

    flow = he.Graph(sparse.diags_array([np.ones(99)] * 2, offsets=[1, -1]))._laplacian.flow
    for stopped, steps in ((0, 7), (1, 0)):
        mark, queue, alpha, beta = np.full(100, -1, np.int32), np.empty(100, np.int32), *np.zeros((2, 7))
        start = np.array([50], np.int32), np.ones(1)
        found = local(*flow.arrays, *start, 9, 1e-13, np.full(1, stopped, np.uint8), mark, queue, alpha, beta)
        assert found[0] == np.count_nonzero(alpha) == steps


def test_singular_values_are_found_while_python_listens():
    """A call that holds Python's lock cannot be ended from another thread."""
    moments, ended = [], threading.Event()

    def listen():
        while not ended.wait(0.001):
            moments.append(time.monotonic())

    matrix = np.random.default_rng(1).standard_normal((400, 400)) * np.geomspace(1e-200, 1, 400)
    listener = threading.Thread(target=listen)
    listener.start()
    start = time.monotonic()
    values, vectors = singular(matrix)
    within = [moment for moment in moments if moment < start + 0.9 * (time.monotonic() - start)]
    ended.set()
    listener.join()
    assert sum(moment > start for moment in within) > 3
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(400), atol=1e-12)
    logs = np.linalg.slogdet(matrix / np.geomspace(1e-200, 1, 400))[1] + np.log(np.geomspace(1e-200, 1, 400)).sum()
    assert np.log(values).sum() == pytest.approx(logs, abs=1e-9)  # the smallest is about 1e-200


@pytest.mark.slow
def test_eigenpairs_with_a_metric_are_those_of_scipy():
    rng = np.random.default_rng(1)
    matrix, metric = (part @ part.T + np.eye(300) for part in rng.standard_normal((2, 300, 300)) / 10)
    values, vectors = eigenpairs(matrix, metric)
    np.testing.assert_allclose(values, eigh(matrix, metric, eigvals_only=True), rtol=1e-11)
    np.testing.assert_allclose(vectors.T @ metric @ vectors, np.eye(300), atol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, metric @ vectors * values, atol=1e-11)


def test_the_command_line_says_in_one_line_that_it_was_interrupted(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", he.samplers.uniform(300, dim=8, rng=1))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("heatess.engines.pairs.add_tile", interrupted)
    found = CliRunner().invoke(main, ["profile", str(tmp_path / "x.npy"), "--json", str(tmp_path / "out.json"), "-q"])
    assert found.exit_code == 130
    assert found.stderr == "heatess: interrupted; no file was left half written\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_no_half_of_a_progress_bar_is_left(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def loop():
        for item in Progress(True).track(range(10), "pairs"):
            if item == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop()
    bar = capsys.readouterr().err
    assert "pairs" in bar
    assert "pairs" not in bar.rpartition("\r\033[K")[2]


@pytest.mark.slow
def test_a_process_ends_soon_after_the_signal(tmp_path):
    np.save(tmp_path / "x.npy", he.samplers.uniform(60_000, dim=8, rng=1))
    command = [sys.executable, "-m", "heatess", "profile", "x.npy", "--json", "out.json", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=15)  # all pairs take longer
    assert process.returncode == 130
    assert said == ("", "heatess: interrupted; no file was left half written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
