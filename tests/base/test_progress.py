"""Work that takes long says so, where somebody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import heatess as he
from heatess import readers
from heatess.base import progress
from heatess.base.progress import WAITING, Progress
from heatess.engines import pairs, plan
from heatess.readers import text
from space_cases import drawn


def shown() -> Progress:
    bar = Progress(False)
    bar.shown = True
    return bar


def test_compiling_is_told_once_and_only_to_those_who_look(capsys):
    import numba

    import heatess.compiled  # listens

    def compile_one() -> None:
        assert numba.njit(lambda x: x + x)(2.0) == 4.0

    assert heatess.compiled

    compile_one()
    with Progress(False).told():
        compile_one()
    assert capsys.readouterr().err == ""
    with shown().told():
        compile_one()
        compile_one()
    assert capsys.readouterr().err.count("compiling loops, once for this machine") == 1
    assert WAITING == []


@pytest.mark.slow
def test_what_has_no_bar_says_after_a_while_how_long_it_has_been_at_work(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with shown().told("modes"):
        time.sleep(0.3)
        with shown().meter(10, "pairs") as advance:
            capsys.readouterr()
            time.sleep(0.2)
            advance(10)
        assert "modes" not in capsys.readouterr().err
        time.sleep(0.3)
    said = capsys.readouterr().err
    assert "\r\033[Kheatess: modes, 1 s" in said or "\r\033[Kheatess: modes, 0 s" in said
    assert said.endswith("\r\033[K")
    with Progress(True).told("modes"):  # where nobody looks
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_function_that_takes_progress_is_timed(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    slow = progress.told(lambda *, progress=False: time.sleep(0.3))
    slow.__wrapped__.__name__ = "population_profile"
    slow(progress=True)
    assert "heatess: population profile, 0 s" in capsys.readouterr().err


def test_eigenpairs_that_take_long_are_told(capsys, monkeypatch):
    from heatess.spaces.discrete import laplacian

    monkeypatch.setattr(laplacian, "_WORTH_A_WORD", 0.0)
    with shown().told():
        he.heat_profile([0, 5, 9], space=he.Graph(np.eye(51, k=1) + np.eye(51, k=-1)), times=[1.0, 5.0])
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "finding 51 eigenpairs of 51 nodes, once for this space: about 0 s" in said


@pytest.mark.parametrize(
    ("space", "method"),
    [(he.Sphere(2), "spectral"), (he.Sphere(2), "local"), (he.Sphere(9), "pairwise"), (he.Hyperbolic(2), "pairwise")],
)
def test_whatever_takes_long_is_told_before_it_begins(space, method, capsys, monkeypatch):
    """By the plan, for every engine; a terminal is all that is needed."""
    monkeypatch.setattr(plan, "WORTH_A_WORD", -1.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    points = drawn(space, 300, np.random.default_rng(0))
    he.heat_profile(points, space=space, times=[1e-3], method=method, progress=True)
    assert f"heatess: 300 points on {space!r}: about 0 s" in capsys.readouterr().err


def test_a_bar_of_pairs_moves_often():
    """Tiles of 40,000 embeddings were two steps, half a minute each."""
    moved = []

    class Bar(Progress):
        @contextmanager
        def meter(self, length: int, label: str) -> Iterator[Callable[[int], None]]:
            yield moved.append

    space, n = he.Sphere(12), 8200
    measure = he.Measure(drawn(space, n, np.random.default_rng(0)), space=space)
    bar = Bar(True)
    bar.shown = True  # as on a terminal
    pairs.pair_moments(measure, space.pair_kernel, 3, 1e-8, bar)
    assert len(moved) == 3  # 45 tiles, 16 at once; there was one step


@pytest.mark.parametrize("suffix", ["csv", "txt", "parquet"])
def test_a_large_file_tells_how_much_of_it_is_read(tmp_path, monkeypatch, suffix):
    points = he.samplers.fibonacci(5000)
    file = tmp_path / f"cloud.{suffix}"
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
        import pandas

        pandas.DataFrame(points, columns=["x", "y", "z"]).to_parquet(file, row_group_size=1000)
    else:
        np.savetxt(file, points, delimiter="," if suffix == "csv" else " ", header="", comments="")
    shares = []

    @contextmanager
    def watched(self: Progress, label: str) -> Iterator[Callable[[float], None]]:
        assert self.shown == (len(shares) == 0)
        yield shares.append

    monkeypatch.setattr(Progress, "shares", watched)
    monkeypatch.setattr(Progress, "__init__", lambda self, wanted: setattr(self, "shown", bool(wanted)))
    monkeypatch.setattr(readers, "LARGE", 10_000)
    monkeypatch.setattr(text, "BYTES_AT_ONCE", 2**16)
    assert he.read(file, progress=True).n == 5000
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > (1 if suffix != "parquet" else 0)
    monkeypatch.setattr(readers, "LARGE", 10**9)
    he.read(file, progress=True)  # not large: nothing is shown


def test_a_bar_of_shares_ends_full(capsys):
    bar = shown()
    steps = []

    @contextmanager
    def meter(length: int, label: str) -> Iterator[Callable[[int], None]]:
        yield steps.append

    bar.meter = meter
    with bar.shares("read") as reach:
        for share in (0.1, 0.1, 0.5, 1.0):
            reach(share)
    assert steps == [100, 400, 500]
